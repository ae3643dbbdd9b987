"""Which limbs carry the robot, which of them are left, and which way it faces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..algebra.rigid import rotation_to
from . import names
from .facing import Evidence, evidence, opposed
from .limbs import Limb, limb_to, limbs_of, trunk_of
from .patches import Patch, Surfaces, lowest_patch
from .skeleton import Skeleton
from .symmetry import Symmetry, alike, symmetry_of
from .wheels import is_wheel

Array = np.ndarray
TO_WRITE = 'if it has feet, name their links in its profile: [parts."left foot"] link = "…"'
UP = np.array([0.0, 0.0, 1.0])
DROP = 0.3  # of the reach: legs that drop less along z at zero may drop along another axis
STRAIGHT = 0.75  # of the reach: how much they must drop along that one
LOW = 0.25  # of the reach: how much higher than the lowest a limb may be and still carry
BELOW = 0.1  # of the reach: how far below the trunk feet can reach
ABOVE = 0.6  # of the reach: how far above the lowest point of the trunk legs may begin
RAISED = 0.5  # of the reach: limbs that point up farther at zero do not carry
HANGS = 0.3  # of the reach: how far below the trunk a single leg is at zero
ARM = 0.3  # of the longest limb's reach: shorter ones are no arms
HEAD = 4  # joints of a neck at most
ANKLE = 5  # joints of a leg that can turn its foot


@dataclass(frozen=True)
class Finding:
    """What was found, why, and how sure it is: 1 is certain, below ½ is a guess."""

    what: str
    value: str
    reason: str
    confidence: float


@dataclass(frozen=True, eq=False)
class Hints:
    """What somebody who knows the robot says of it; what is not said is found.

    Attributes:
        up, front: (3,) in the base's axes.
        feet: role → (body, patch) of everything that carries. hands: role → body.
    """

    up: Array | None = None
    front: Array | None = None
    feet: Mapping[str, tuple[int, Patch]] = field(default_factory=dict)
    hands: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Anatomy:
    """Limbs of a robot by what they do; the skeleton is upright and faces +x, so that left is +y."""

    skeleton: Skeleton
    surfaces: Surfaces
    trunk: tuple[int, ...]
    limbs: tuple[Limb, ...]
    feet: tuple[tuple[str, Limb], ...]  # by role, front first, left before right
    soles: tuple[Patch, ...]
    hands: tuple[tuple[str, Limb], ...]
    head: Limb | None
    wheels: tuple[str, ...]  # links
    torso: int
    pelvis: int
    findings: tuple[Finding, ...]


def anatomy_of(skeleton: Skeleton, hints: Hints | None = None) -> Anatomy:
    """Who is who, from the tree, its symmetry and its shapes; hints come first."""
    hints = hints or Hints()
    findings: list[Finding] = []
    skeleton, trunk, limbs, symmetry = _upright(skeleton, hints, findings)
    surfaces = Surfaces(skeleton)
    wheels = tuple(limb for limb in limbs if is_wheel(limb, surfaces)) if not hints.feet else ()
    legs, soles = _carriers(skeleton, surfaces, trunk, limbs, symmetry, wheels, hints, findings)
    turn = _turn(skeleton, symmetry, legs, soles, hints, findings)
    skeleton = Skeleton(skeleton.robot, turn @ skeleton.upright)
    surfaces = replace(surfaces, skeleton=skeleton)
    legs = [replace(leg, skeleton=skeleton) for leg in legs]
    limbs = [replace(limb, skeleton=skeleton) for limb in limbs]
    if hints.feet:
        feet: Named = list(zip(hints.feet, legs, soles, strict=True))
    else:
        feet = _named(legs, soles, "foot")
    taken = {leg.chain[0] for leg in legs} | {wheel.chain[0] for wheel in wheels}
    arms, head = _arms_and_head([limb for limb in limbs if limb.chain[0] not in taken], feet, trunk, skeleton)
    if hints.hands:
        hands: Named = [(role, limb_to(skeleton, trunk, body), None) for role, body in hints.hands.items()]
    else:
        hands = _named(arms, None, "hand")
    torso, pelvis = _trunk_parts(skeleton, trunk, feet, hands, head)
    head = None if head is not None and torso in head.chain else head
    _report(findings, feet, hands, head, wheels, symmetry, skeleton)
    return Anatomy(
        skeleton, surfaces, trunk, tuple(limbs), tuple((role, leg) for role, leg, _ in feet),
        tuple(patch for _, _, patch in feet if patch is not None), tuple((role, arm) for role, arm, _ in hands), head,
        tuple(skeleton.main_link(limb.end) for limb in wheels), torso, pelvis, tuple(findings),
    )  # fmt: skip


def _carriers(
    skeleton: Skeleton, surfaces: Surfaces, trunk: tuple[int, ...], limbs: Sequence[Limb], symmetry: Symmetry,
    wheels: Sequence[Limb], hints: Hints, findings: list[Finding],
) -> tuple[list[Limb], list[Patch]]:  # fmt: skip
    """Legs down to what stands, and the patches they stand on."""
    if hints.feet:
        return [limb_to(skeleton, trunk, body) for body, _ in hints.feet.values()], [patch for _, patch in hints.feet.values()]
    legs = _legs(skeleton, surfaces, trunk, limbs, symmetry, wheels, findings)
    legs = [_to_the_ground(leg, surfaces) for leg in legs]
    return legs, [_sole(surfaces, leg, len(legs)) for leg in legs]


def _sole(surfaces: Surfaces, leg: Limb, feet: int) -> Patch:
    """The patch a leg stands on. Many legs without ankles stand on the lowest point of their ends, wherever that will be."""
    ankle = len(leg.chain) >= ANKLE or feet <= 2
    patch = lowest_patch(surfaces, leg.end, -leg.skeleton.rest.R[leg.end].T @ UP, leg.reach, turns=ankle)
    return patch if ankle else replace(patch, kind="point", polygon=patch.middle[None])


# --- up -----------------------------------------------------------------------------------------------------------------------


def _upright(skeleton: Skeleton, hints: Hints, findings: list[Finding]) -> tuple[Skeleton, tuple[int, ...], list[Limb], Symmetry]:
    """The skeleton with z up: the description's own z, unless its legs drop along another axis of the base."""
    trunk = trunk_of(skeleton)
    if hints.up is not None:
        skeleton = Skeleton(skeleton.robot, rotation_to(hints.up).T)
        limbs = limbs_of(skeleton, trunk)
        return skeleton, trunk, limbs, symmetry_of(limbs)
    limbs = limbs_of(skeleton, trunk)
    longest = max(alike(limbs), key=lambda c: (len(c) > 1, max(limb.reach for limb in c)), default=[])
    if len(longest) > 1:
        drop = -np.mean([(limb.tip - limb.shoulder) / max(limb.reach, 1e-9) for limb in longest], axis=0)
        axis = int(np.argmax(np.abs(drop)))
        up = np.sign(drop[axis]) * np.eye(3)[axis]
        if abs(drop[2]) < DROP and abs(drop[axis]) > STRAIGHT and _rises(skeleton, trunk, limbs, longest, up):
            skeleton = Skeleton(skeleton.robot, rotation_to(up).T @ skeleton.upright)
            limbs = limbs_of(skeleton, trunk)
            findings.append(
                Finding("up", "+-"[int(drop[axis] < 0)] + "xyz"[axis], "the longest limbs hang along it at zero", 0.8)
            )
    return skeleton, trunk, limbs, symmetry_of(limbs)


def _rises(skeleton: Skeleton, trunk: tuple[int, ...], limbs: Sequence[Limb], legs: Sequence[Limb], up: Array) -> bool:
    """Whether the rest of the robot lies along `up` from the legs, rather than along z: arms may point ahead at zero."""
    places = [limb.shoulder for limb in limbs if limb not in legs] + [skeleton.rest.p[i] for i in trunk if i >= 0]
    above = np.mean(places, axis=0) - np.mean([leg.shoulder for leg in legs], axis=0)
    return bool(above @ up > max(above[2], 0.1 * legs[0].reach))


# --- feet ---------------------------------------------------------------------------------------------------------------------


def _legs(
    skeleton: Skeleton, surfaces: Surfaces, trunk: tuple[int, ...], limbs: Sequence[Limb], symmetry: Symmetry,
    wheels: Sequence[Limb], findings: list[Finding],
) -> list[Limb]:  # fmt: skip
    """The limbs that reach lowest, in pairs or classes, below everything of the trunk."""
    groups: list[list[Limb]] = [list(pair.limbs) for pair in symmetry.pairs if pair.one not in wheels]
    lone = [limb for limb in symmetry.middle if limb not in wheels]
    groups += [members for members in alike(lone) if len(members) > 2]
    groups = [g for g in groups if min(len(limb.chain) for limb in g) >= 2 and _carries(skeleton, trunk, g)]
    if wheels:
        ends = " at the ends of its legs" if min(len(limb.chain) for limb in wheels) > 2 else ""
        findings.append(Finding("feet", "none", f"it stands on {len(wheels)} wheels{ends}", 0.9))
        return []
    if not groups:
        return _one_leg(skeleton, surfaces, trunk, lone, findings)
    first = min(groups, key=_lowest)
    reach, floor = first[0].reach, _trunk_low(skeleton, surfaces, trunk)
    if _lowest(first) > floor - BELOW * reach or first[0].shoulder[2] > floor + ABOVE * reach:
        findings.append(Finding("feet", "none", f"no pair of limbs reaches below the trunk; {TO_WRITE}", 0.8))
        return []
    groups += [[limb] for limb in lone if any(limb in members and len(members) > 2 for members in alike([*first, *lone]))]
    legs = [g for g in groups if _lowest(g) < _lowest(first) + LOW * reach and 0.6 < g[0].reach / reach < 1.7]
    return list(dict.fromkeys(limb for g in legs for limb in g))


def _lowest(group: Sequence[Limb]) -> float:
    """m: where the ends can go, straight down from their shoulders."""
    return min(float(limb.shoulder[2]) - limb.reach for limb in group)


def _carries(skeleton: Skeleton, trunk: tuple[int, ...], group: Sequence[Limb]) -> bool:
    """Whether a group hangs on the lowest part of the trunk, or near it, and does not point up."""
    if any(limb.tip[2] > limb.shoulder[2] + RAISED * limb.reach for limb in group):
        return False
    if len(trunk) == 1:
        return True
    height = {i: _height(skeleton, i) for i in trunk}
    return height[group[0].attached] <= min(height.values()) + LOW * group[0].reach


def _height(skeleton: Skeleton, body: int) -> float:
    """m, of a body's centre of mass at zero."""
    return 0.0 if body < 0 else float((skeleton.rest.p[body] + skeleton.rest.R[body] @ skeleton.com[body])[2])


def _trunk_low(skeleton: Skeleton, surfaces: Surfaces, trunk: tuple[int, ...]) -> float:
    """m: the lowest point of the trunk at zero."""
    return min(float(skeleton.rest.p[i][2]) - surfaces.extent(i, -skeleton.rest.R[i].T @ UP) for i in trunk)


def _one_leg(
    skeleton: Skeleton, surfaces: Surfaces, trunk: tuple[int, ...], lone: Sequence[Limb], findings: list[Finding]
) -> list[Limb]:
    long = [limb for limb in lone if len(limb.chain) >= 2]
    if skeleton.robot.floating and len(long) == 1:
        low = _trunk_low(skeleton, surfaces, trunk)
        light = long[0].mass < 0.5 * float(skeleton.mass.sum())
        if light and long[0].tip[2] < low - HANGS * long[0].reach:
            findings.append(Finding("feet", "one", "a single limb hangs below the trunk", 0.5))
            return long
    findings.append(Finding("feet", "none", f"no limbs come in pairs that reach the ground; {TO_WRITE}", 0.8))
    return []


def _to_the_ground(leg: Limb, surfaces: Surfaces) -> Limb:
    """The leg with the body as its end that is lowest at zero: a toe is too short, an ankle's rods do not carry."""
    skeleton = leg.skeleton
    below = [i for i in skeleton.subtree(leg.end) if i != leg.end]
    before = [leg.chain[-2]] if len(leg.chain) > 2 else []

    def lowest(i: int) -> float:
        return float(skeleton.rest.p[i][2]) - surfaces.extent(i, -skeleton.rest.R[i].T @ UP)

    candidates = [leg.end, *before, *below]
    floor = min(map(lowest, candidates))
    flush = [i for i in candidates if lowest(i) < floor + 0.03 * leg.reach]
    best = max(flush, key=lambda i: (skeleton.mass[i] >= 0.1 * skeleton.mass[leg.end], _area(surfaces, i, leg), i == leg.end))
    chain = [i for i in reversed(skeleton.robot.tree.ancestors(best)) if i in skeleton.subtree(leg.chain[0])]
    beyond = tuple(i for i in skeleton.subtree(leg.chain[0]) if i not in chain)
    return replace(leg, chain=tuple(chain), beyond=beyond)


def _area(surfaces: Surfaces, body: int, leg: Limb) -> float:
    patch = lowest_patch(surfaces, body, -leg.skeleton.rest.R[body].T @ UP, leg.reach)
    known = patch.kind == "flat" and len(surfaces.of(body)[0]) > 0
    return float(np.prod(np.sort(np.ptp(patch.polygon, axis=0))[1:])) if known else 0.0


# --- front and sides ----------------------------------------------------------------------------------------------------------


def _turn(
    skeleton: Skeleton, symmetry: Symmetry, legs: Sequence[Limb], soles: Sequence[Patch], hints: Hints, findings: list[Finding]
) -> Array:
    """Rotation about z that makes the robot face +x."""
    if hints.front is not None:
        x, y = (skeleton.upright @ hints.front)[:2] / np.linalg.norm((skeleton.upright @ hints.front)[:2])
        return np.array([[x, y, 0.0], [-y, x, 0.0], [0.0, 0.0, 1.0]])
    front = np.cross(symmetry.normal, UP)
    base_x = skeleton.upright[:, 0]
    if not symmetry.pairs and not legs:
        front = base_x * (1, 1, 0) if np.hypot(*base_x[:2]) > 0.5 else np.array([1.0, 0.0, 0.0])
    found = evidence(front, legs, soles, base_x)
    total = sum(argument.weight for argument in found)
    if total < 0:
        front, found = -front, [Evidence(a.what, -a.weight) for a in found]
    for_, against = (sum(max(s * a.weight, 0.0) for a in found) for s in (1, -1))
    certainty = 0.3 if for_ == 0 else for_ / (for_ + against) * min(1.0, 0.5 + for_ / 5)
    words = ", ".join(a.what for a in found if a.weight > 0) or "nothing speaks for either way"
    if against:
        words += "; against it: " + ", ".join(a.what for a in found if a.weight < 0)
    seen = skeleton.upright.T @ front
    findings.append(Finding("front", _direction(seen), words, round(certainty, 2)))
    if len(legs) == 2 and opposed(legs, front):
        findings.append(Finding("knees", "bend opposite ways", "limits of one have the other sign: see the description", 0.3))
    x, y = front[0], front[1]
    return np.array([[x, y, 0.0], [-y, x, 0.0], [0.0, 0.0, 1.0]])


def _direction(d: Array) -> str:
    """A direction in words: an axis of the base where it is one."""
    k = int(np.argmax(np.abs(d)))
    if abs(d[k]) > 0.999:
        return f"{'+-'[int(d[k] < 0)]}{'xyz'[k]} of the base"
    return "(" + ", ".join(f"{x:.2f}" for x in d) + ") in the base"


Named = list[tuple[str, Limb, Patch | None]]


def _named(limbs: Sequence[Limb], patches: Sequence[Patch] | None, word: str) -> Named:
    """Roles by place: sides by y, ends by x."""
    none: list[Patch | None] = [None] * len(limbs)
    given = list(zip(limbs, patches or none, strict=True))

    def side(limb: Limb) -> float:
        return float(limb.skeleton.rest.p[list(limb.chain)][:, 1].mean())

    def along(limb: Limb) -> float:
        return float(limb.shoulder[0])

    if len(given) == 1:
        return [(word, *given[0])]
    middle = float(np.mean([side(limb) for limb in limbs])) if limbs else 0.0
    left = sorted((x for x in given if side(x[0]) >= middle), key=lambda x: -along(x[0]))
    right = sorted((x for x in given if side(x[0]) < middle), key=lambda x: -along(x[0]))
    if len(left) != len(right):
        return [(f"{word} {k + 1}", *x) for k, x in enumerate(given)]
    ends = {1: ("",), 2: ("front ", "hind "), 3: ("front ", "middle ", "hind ")}.get(
        len(left), tuple(f"{k + 1}. " for k in range(len(left)))
    )
    rows: Named = []
    for end, one, other in zip(ends, left, right, strict=True):
        rows += [(f"left {end}{word}", *one), (f"right {end}{word}", *other)]
    return rows


# --- the others ---------------------------------------------------------------------------------------------------------------


def _arms_and_head(
    rest: Sequence[Limb], feet: Named, trunk: tuple[int, ...], skeleton: Skeleton
) -> tuple[list[Limb], Limb | None]:
    """Long limbs with joints enough are arms; a short one in the middle and on top is the head."""
    longest = max((limb.reach for limb in [*rest, *(leg for _, leg, _ in feet)]), default=0.0)
    paired = [limb for pair in symmetry_of(rest).pairs for limb in pair.limbs] if rest else []
    arms, heads = [], []
    for limb in rest:
        lone = not any(limb is other for other in paired)
        only = lone and not paired and not feet
        if len(limb.chain) >= (2 if only or not lone else HEAD + 1) and limb.reach >= ARM * longest:
            arms.append(_without_gripper(limb))
        elif lone and len(limb.chain) <= HEAD + 1 and limb.tip[2] > max(_height(skeleton, i) for i in trunk):
            heads.append(limb)
    head = max(heads, key=lambda limb: limb.mass, default=None)
    return arms, head if head is None or arms or feet else None


def _without_gripper(limb: Limb) -> Limb:
    """The arm up to its wrist: sliding ends, ends that others mimic, and what names call a finger are the hand's own."""
    skeleton = limb.skeleton
    joints = skeleton.robot.model.joints
    followed = {joint.mimic.leader for joint in joints.values() if joint.mimic is not None}
    chain = list(limb.chain)
    while len(chain) > 3:
        name = skeleton.joint(chain[-1])
        light = skeleton.mass[chain[-1]] < 0.5 * skeleton.mass[chain[-2]] or len(chain) > 7
        own = joints[name].type.name == "prismatic" or name in followed or joints[name].mimic is not None
        if own or (light and names.is_finger(name)):
            chain.pop()
        else:
            break
    beyond = tuple(i for i in skeleton.subtree(chain[0]) if i not in chain)
    return replace(limb, chain=tuple(chain), beyond=beyond)


def _trunk_parts(skeleton: Skeleton, trunk: tuple[int, ...], feet: Named, hands: Named, head: Limb | None) -> tuple[int, int]:
    """(torso, pelvis): what arms or the head hang on, and what legs hang on."""
    pelvis = feet[0][1].attached if feet else skeleton.root
    if hands:
        return hands[0][1].attached, pelvis
    if head is not None:
        heaviest = max(head.chain, key=lambda i: float(skeleton.mass[i]))
        return (
            heaviest if len(head.chain) == 1 and skeleton.mass[heaviest] > 0.03 * skeleton.mass.sum() else head.attached
        ), pelvis
    return max(trunk, key=lambda i: _height(skeleton, i)), pelvis


def _report(
    findings: list[Finding], feet: Named, hands: Named, head: Limb | None, wheels: Sequence[Limb], symmetry: Symmetry,
    skeleton: Skeleton,
) -> None:  # fmt: skip
    sure = {limb.chain[0]: pair.score for pair in symmetry.pairs for limb in pair.limbs}
    for role, limb, _ in [*feet, *hands]:
        score = sure.get(limb.chain[0], 0.5)
        how = "mirror image of the other side" if score > 0.5 else "no exact mirror image at zero"
        what = "reaches lowest" if "foot" in role else f"a chain of {len(limb.chain)} joints that does not carry"
        findings.append(Finding(role, skeleton.main_link(limb.end), f"{what}; {how}", round(min(score, 1.0), 2)))
        said = names.side([*limb.joints, skeleton.main_link(limb.end)])
        if said and ((said > 0 and role.startswith("right")) or (said < 0 and role.startswith("left"))):
            findings.append(Finding(f"side of the {role}", role.split()[0], "its names say the other side", 0.3))
    if head is not None:
        findings.append(Finding("head", skeleton.main_link(head.end), "a short limb in the middle, above the trunk", 0.8))
    for limb in wheels:
        findings.append(Finding("wheel", skeleton.main_link(limb.end), "turns without limits about a level axis, low down", 0.8))
