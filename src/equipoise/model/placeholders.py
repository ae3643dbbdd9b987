"""Numbers that writers of descriptions leave in until somebody knows better: named, and where they would mislead,
replaced."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .assemble import reassemble
from .joints import Prismatic
from .types import Joint, Model

Array = np.ndarray
ROUND_EFFORTS = 0.0, 1000.0  # N m: effort limits that exporters write where nobody knows better
NO_LIMIT = 1e6  # N m, N, rad/s or m/s: no joint reaches it
STILL = 5e-3  # rad; m for a prismatic joint, a tenth of it: a joint with less room hardly moves
WHOLE_ROBOT = 0.95  # of the mass, in one link of a robot with this many joints or more
MANY_JOINTS = 6


def without_placeholders(model: Model) -> tuple[Model, list[str]]:
    """The robot with limits that can be meant, and a sentence for every kind of placeholder.

    Limits of 1e6 and more, and velocity limits of zero, are none; so are effort limits of zero if no joint has another.
    Effort limits of 1000, ranges too small to move in, and one link with the mass of all, stay as they are.
    """
    joints = [joint for joint in model.joints.values() if joint.moving and joint.type.nv == 1 and joint.mimic is None]
    idle = all(joint.limits.effort == 0 for joint in joints)
    effort = [
        joint for joint in joints if NO_LIMIT <= joint.limits.effort < math.inf or (idle and joint.limits.effort == 0)
    ]
    round_effort = [joint for joint in joints if joint.limits.effort and joint.limits.effort in ROUND_EFFORTS]
    velocity = [joint for joint in joints if NO_LIMIT <= joint.limits.velocity < math.inf or joint.limits.velocity == 0]
    narrow = [joint for joint in joints if 0 < joint.limits.upper - joint.limits.lower < _room(joint)]
    doubts = [
        *_reported(
            "effort limits that are placeholders, taken as none", effort, [joint.limits.effort for joint in effort]
        ),
        *_reported(
            "effort limits that are most likely placeholders, used as limits but not to scale friction and noise",
            round_effort,
            [joint.limits.effort for joint in round_effort],
        ),
        *_reported(
            "velocity limits that are placeholders, taken as none",
            velocity,
            [joint.limits.velocity for joint in velocity],
        ),
        *_reported(
            "hardly any room to move, used as it is",
            narrow,
            [joint.limits.upper - joint.limits.lower for joint in narrow],
        ),
        *_lumped(model, len(joints)),
    ]

    free = {"effort": {joint.name for joint in effort}, "velocity": {joint.name for joint in velocity}}

    def change(joint: Joint) -> Joint:
        none = {what: math.inf for what, names in free.items() if joint.name in names}
        return replace(joint, limits=replace(joint.limits, **none)) if none else joint

    return (reassemble(model, change) if effort or velocity else model), doubts


def effort_share(share: float, efforts: Array) -> Array:
    """Returns a share of each effort limit, which measures its motor: 0 where no limit or a placeholder is stated."""
    return share * np.where(np.isfinite(efforts) & ~np.isin(efforts, ROUND_EFFORTS), efforts, 0.0)


def _room(joint: Joint) -> float:
    return STILL / 10 if isinstance(joint.type, Prismatic) else STILL


def _reported(what: str, joints: Sequence[Joint], values: Sequence[float]) -> list[str]:
    if not joints:
        return []
    shown = [f"{joint.name!r} ({value:g})" for joint, value in zip(joints, values, strict=True)]
    rest = "; …" if len(shown) > 6 else ""
    count = "1 joint has" if len(shown) == 1 else f"{len(shown)} joints have"
    return [f"{count} {what}: {'; '.join(shown[:6])}{rest}. robot.with_limits sets them"]


def _lumped(model: Model, joints: int) -> list[str]:
    heaviest = max(
        model.links.values(), key=lambda link: 0.0 if link.inertia is None else link.inertia.mass, default=None
    )
    if heaviest is None or heaviest.inertia is None or joints < MANY_JOINTS:
        return []
    mass = heaviest.inertia.mass
    if not mass > WHOLE_ROBOT * model.mass:
        return []
    share = f"{mass:g} of {model.mass:g} kg"
    return [
        f"link {heaviest.name!r} has {share}, most likely the whole robot's; used as it is. robot.with_inertia sets it"
    ]
