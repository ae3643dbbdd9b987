"""Which way a robot faces: evidence for and against a direction, added up.

The mirror plane leaves two directions. Soles are longer before the ankle than behind it; knees that bend one way only
take the foot back; names of sides and ends count where they are; what the base calls x counts least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..model import names
from ..model.limbs import Limb
from .patches import Patch

Array = np.ndarray
SOLE, KNEE, SIDES, ENDS, BASE = 2.5, 1.2, 1.5, 2.0, 1.0  # weights of the evidence
LEAN = 0.12  # of the sole's length, of both feet together: a middle nearer to the ankle says nothing
ONE_WAY = 0.5  # part of a knee's range on one side from which on it bends one way


@dataclass(frozen=True)
class Evidence:
    """One argument: positive for the direction asked about."""

    what: str
    weight: float


def evidence(front: Array, limbs: Sequence[Limb], patches: Sequence[Patch], base_x: Array) -> list[Evidence]:
    """All arguments that a robot faces `front` (unit, horizontal), rather than backwards.

    Args:
        limbs: that carry, and the patches that they stand on, in the same order.
        base_x: (3,) x axis of the base, upright.
    """
    found = [Evidence("x axis of the base", BASE * _sign(base_x @ front, 0.3))]
    if len(limbs) <= 2:
        lean = sum(_lean(leg, patch, front) for leg, patch in zip(limbs, patches, strict=True))
        bend = sum(_bend(leg, front) for leg in limbs)
        found.append(Evidence("soles reach farther to the front", SOLE * _sign(lean, LEAN)))
        found.append(Evidence("knees bend so that feet go back", KNEE * _sign(bend, ONE_WAY)))
    left = np.cross([0.0, 0.0, 1.0], front)
    found.append(Evidence("names of the sides", SIDES * _sided(limbs, left)))
    if len(limbs) > 2:
        found.append(Evidence("names of the ends", ENDS * _ended(limbs, front)))
    return [argument for argument in found if argument.weight != 0.0]


def _sign(value: float, least: float) -> float:
    return float(np.sign(value)) if abs(value) >= least else 0.0


def _lean(limb: Limb, patch: Patch, front: Array) -> float:
    """How far the middle of the sole is before the ankle, in its lengths."""
    if patch.kind == "point":
        return 0.0
    rest = limb.skeleton.rest
    along = (patch.polygon @ rest.R[limb.end].T) @ front
    length = float(np.ptp(along))
    return float((along.max() + along.min()) / 2) / length if length > 0 else 0.0


def _bend(limb: Limb, front: Array) -> float:
    """+½ if the knee's range takes the foot back from `front`, −½ if to it, of a limb; 0 if it bends both ways."""
    skeleton, left = limb.skeleton, np.cross([0.0, 0.0, 1.0], front)
    knee = knee_of(limb, left)
    if knee is None:
        return 0.0
    joint = skeleton.robot.model.joints[skeleton.joint(limb.chain[knee])]
    lower, upper = joint.limits.lower, joint.limits.upper
    if not (np.isfinite(lower) and np.isfinite(upper) and upper > lower):
        return 0.0
    body = skeleton.robot.tree.bodies[limb.chain[knee]]
    axis = body.multiplier * limb.axes[knee]
    hip, ankle = (
        skeleton.rest.p[limb.chain[k]] - skeleton.rest.p[limb.chain[knee]] for k in (0, _ankle(limb, knee, left))
    )
    straight = _straight(axis, hip, ankle)
    lean = max(upper - straight, 0.0) - max(straight - lower, 0.0)
    if abs(lean) < ONE_WAY * (upper - lower):
        return 0.0
    moved = np.cross(np.sign(lean) * axis, -hip)
    return -0.5 * float(np.sign(moved @ front))


def _straight(axis: Array, hip: Array, ankle: Array) -> float:
    """rad: the knee's turn from zero at which the ankle is farthest from the hip; places are seen from the knee."""
    across_hip, across_ankle = (x - axis * (axis @ x) for x in (-hip, ankle))
    return float(np.arctan2(axis @ np.cross(across_ankle, across_hip), across_ankle @ across_hip))


def _ankle(limb: Limb, knee: int, left: Array) -> int:
    """Index in the chain of the next joint across the leg's plane beyond the knee; the end where there is none."""
    return next((k for k in range(knee + 1, len(limb.chain)) if abs(limb.axes[k] @ left) > 0.9), len(limb.chain) - 1)


def opposed(limbs: Sequence[Limb], front: Array) -> bool:
    """Whether one knee may only bend forward and another only backward: limits of the wrong sign."""
    ways = {float(np.sign(_bend(limb, front))) for limb in limbs}
    return {1.0, -1.0} <= ways


def knee_of(limb: Limb, left: Array) -> int | None:
    """Index in the chain of the joint across the leg's plane that divides it best in two."""
    p = limb.skeleton.rest.p[list(limb.chain)]
    across = [k for k in range(1, len(limb.chain)) if abs(limb.axes[k] @ left) > 0.9]
    if not across:
        return None

    def shorter(k: int) -> float:
        return min(float(np.linalg.norm(p[k] - p[0])), float(np.linalg.norm(limb.tip - p[k])))

    return max(across, key=shorter)


def _sided(limbs: Sequence[Limb], left: Array) -> float:
    """+1 where limbs called left are on the left, −1 on the right."""
    votes = []
    for limb in limbs:
        others = [name for other in partners(limb, limbs) for name in all_names(other)]
        votes.append(names.side(all_names(limb), others) * np.sign(_centre(limb) @ left))
    return float(np.sign(sum(votes)))


def _ended(limbs: Sequence[Limb], front: Array) -> float:
    middle = np.mean([_centre(limb) for limb in limbs], axis=0)
    votes = [names.end(all_names(limb)) * np.sign((_centre(limb) - middle) @ front) for limb in limbs]
    return float(np.sign(sum(votes)))


def _centre(limb: Limb) -> Array:
    return limb.skeleton.rest.p[list(limb.chain)].mean(axis=0)


def partners(limb: Limb, limbs: Sequence[Limb]) -> list[Limb]:
    """Limbs that may be the same one of the other side."""
    return [other for other in limbs if other.chain[0] != limb.chain[0] and len(other.chain) == len(limb.chain)]


def all_names(limb: Limb) -> list[str]:
    """Names of its joints and links."""
    links = [name for body in limb.chain for name in limb.skeleton.links[body]]
    return [*limb.joints, *links]
