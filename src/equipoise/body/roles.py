"""Roles of limbs by their place: left and right, front and hind; which of those that do not carry are arms, which is
the head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..model import names
from ..model.limbs import Limb
from ..model.skeleton import Skeleton
from .patches import Patch
from .symmetry import symmetry_of

Named = list[tuple[str, Limb, Patch | None]]
ARM = 0.3  # of the longest limb's reach: shorter ones are no arms
HEAD = 4  # joints of a neck at most, where nothing else tells
# of the arms' reach: a limb between two arms that is shorter and ends above them is a neck, whatever its joints
SHORTER = 0.75
AWAY = 0.1  # of its reach: how far from the middle plane a limb without a mirror image is on a side


def height(skeleton: Skeleton, body: int) -> float:
    """m, of a body's centre of mass at zero."""
    return 0.0 if body < 0 else float((skeleton.rest.p[body] + skeleton.rest.R[body] @ skeleton.com[body])[2])


def named(limbs: Sequence[Limb], patches: Sequence[Patch] | None, word: str) -> Named:
    """Roles by place: sides by y, ends by x. Limbs in the middle plane have no side."""
    none: list[Patch | None] = [None] * len(limbs)
    given = list(zip(limbs, patches or none, strict=True))
    if len(given) == 1:
        return [(word, *given[0])]
    centre = float(np.mean([_side(limb) for limb in limbs])) if limbs else 0.0
    middle = [x for x in given if abs(_side(x[0]) - centre) < AWAY * x[0].reach and not _has_image(x[0], limbs)]
    left = sorted((x for x in given if x not in middle and _side(x[0]) >= centre), key=lambda x: -_along(x[0]))
    right = sorted((x for x in given if x not in middle and _side(x[0]) < centre), key=lambda x: -_along(x[0]))
    if len(left) != len(right):
        return [(f"{word} {k + 1}", *x) for k, x in enumerate(given)]
    ends = {1: ("",), 2: ("front ", "hind "), 3: ("front ", "middle ", "hind ")}.get(
        len(left), tuple(f"{k + 1}. " for k in range(len(left)))
    )
    rows: Named = []
    for end, one, other in zip(ends, left, right, strict=True):
        rows += [(f"left {end}{word}", *one), (f"right {end}{word}", *other)]
    return rows + [(word if len(middle) == 1 else f"{word} {k + 1}", *x) for k, x in enumerate(middle)]


def _side(limb: Limb) -> float:
    return float(limb.skeleton.rest.p[list(limb.chain)][:, 1].mean())


def _along(limb: Limb) -> float:
    return float(limb.shoulder[0])


def _has_image(limb: Limb, limbs: Sequence[Limb]) -> bool:
    return any(limb is one for pair in symmetry_of(limbs).pairs for one in pair.limbs)


def arms_and_head(
    rest: Sequence[Limb], feet: Named, trunk: tuple[int, ...], skeleton: Skeleton
) -> tuple[list[Limb], Limb | None]:
    """Long limbs with joints enough are arms; a short one in the middle and on top is the head."""
    longest = max((limb.reach for limb in [*rest, *(leg for _, leg, _ in feet)]), default=0.0)
    paired = [limb for pair in symmetry_of(rest).pairs for limb in pair.limbs] if rest else []
    arms, heads = [], []
    for limb in rest:
        lone = not any(limb is other for other in paired)
        only = lone and not paired and not feet
        above = lone and limb.tip[2] > max(height(skeleton, i) for i in trunk)
        if above and _is_neck(limb, paired):
            heads.append(limb)
        elif len(limb.chain) >= (2 if only or not lone else HEAD + 1) and limb.reach >= ARM * longest:
            arms.append(_without_gripper(limb))
        elif above and len(limb.chain) <= HEAD + 1:
            heads.append(limb)
    head = max(heads, key=lambda limb: limb.mass, default=None)
    return arms, head if head is None or arms or feet else None


def _is_neck(limb: Limb, paired: Sequence[Limb]) -> bool:
    """Whether a limb hangs on the same body as a pair of longer arms, between them, and ends above where they begin."""
    arms = [arm for arm in paired if arm.attached == limb.attached]
    if not arms or limb.reach > SHORTER * min(arm.reach for arm in arms):
        return False
    return bool(limb.tip[2] > max(arm.shoulder[2] for arm in arms))


def _without_gripper(limb: Limb) -> Limb:
    """The arm up to its wrist: sliding ends, ends that others mimic, and what names call a finger are the hand's
    own."""
    skeleton = limb.skeleton
    joints = skeleton.robot.model.joints
    followed = {joint.mimic.leader for joint in joints.values() if joint.mimic is not None}
    chain = list(limb.chain)
    while len(chain) > 3:
        name = skeleton.joint(chain[-1])
        light = skeleton.mass[chain[-1]] < 0.5 * skeleton.mass[chain[-2]] or len(chain) > 7
        own = joints[name].type.name == "prismatic" or name in followed or joints[name].mimic is not None
        if own or (light and names.is_finger(name, skeleton.main_link(chain[-1]))):
            chain.pop()
        else:
            break
    beyond = tuple(i for i in skeleton.subtree(chain[0]) if i not in chain)
    return replace(limb, chain=tuple(chain), beyond=beyond)


def trunk_parts(
    skeleton: Skeleton, trunk: tuple[int, ...], feet: Named, hands: Named, head: Limb | None
) -> tuple[int, int]:
    """(torso, pelvis): what arms or the head hang on, and what legs hang on."""
    pelvis = feet[0][1].attached if feet else skeleton.root
    if hands:
        return hands[0][1].attached, pelvis
    if head is not None:
        heaviest = max(head.chain, key=lambda i: float(skeleton.mass[i]))
        return (
            heaviest if len(head.chain) == 1 and skeleton.mass[heaviest] > 0.03 * skeleton.mass.sum() else head.attached
        ), pelvis
    return max(trunk, key=lambda i: height(skeleton, i)), pelvis
