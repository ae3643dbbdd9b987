"""Which limbs carry the robot, which of them are left, and which way it faces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..algebra.rigid import rotation_to
from ..model import names
from ..model.limbs import Limb, alike, limb_to, limbs_of, trunk_of
from ..model.skeleton import Skeleton
from ..model.wheels import slides_of, wheels_of
from .facing import Evidence, all_names, evidence, opposed, partners
from .patches import Patch, Surfaces, lowest_patch
from .roles import Named, arms_and_head, height, named, trunk_parts
from .symmetry import Symmetry, symmetry_of

Array = np.ndarray
TO_WRITE = 'if it has feet, name their links in its profile: [parts."left foot"] link = "…"'
UP = np.array([0.0, 0.0, 1.0])
DROP = 0.3  # of the reach: legs that drop less along z at zero may drop along another axis
LEVEL = 0.05  # of the reach: hips that are farther from one height are not level
STRAIGHT = 0.75  # of the reach: how much they must drop along that one
LOW = 0.25  # of the reach: how much higher than the lowest a limb may be and still carry
BELOW = 0.1  # of the reach: how far below the trunk feet can reach
ABOVE = 0.6  # of the reach: how far above the lowest point of the trunk legs may begin
RAISED = 0.5  # of the reach: limbs that point up farther at zero do not carry
SHORT = 0.2  # of the reach: how far from its end a leg may stand on the body before it
HANGS = 0.3  # of the reach: how far below the trunk a single leg is at zero
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
    """What somebody who knows the robot says of it; the rest is found.

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
    slides: tuple[str, ...]  # joints that stand for a base that drives
    torso: int
    pelvis: int
    findings: tuple[Finding, ...]


def anatomy_of(skeleton: Skeleton, hints: Hints | None = None) -> Anatomy:
    """Who is who, from the tree, its symmetry and its shapes; hints come first."""
    hints = hints or Hints()
    findings: list[Finding] = []
    skeleton, trunk, limbs, symmetry = _upright(skeleton, hints, findings)
    surfaces = Surfaces(skeleton)
    rolling = {} if hints.feet else wheels_of(limbs, surfaces.extent)
    wheels = {limb: skeleton.main_link(i) for limb, i in rolling.items()}
    legs, soles = _carriers(skeleton, surfaces, trunk, limbs, symmetry, tuple(wheels), hints, findings)
    slides = slides_of(skeleton) if not legs and not wheels else ()
    if slides:
        findings = [finding for finding in findings if finding.what != "feet"]
        findings.append(Finding("feet", "none", f"its base slides over the ground: {', '.join(slides)}", 0.9))
    turn = _turn(skeleton, symmetry, legs, soles, hints, findings)
    skeleton = Skeleton(skeleton.robot, turn @ skeleton.upright)
    surfaces = replace(surfaces, skeleton=skeleton)
    legs = [replace(leg, skeleton=skeleton) for leg in legs]
    limbs = [replace(limb, skeleton=skeleton) for limb in limbs]
    if hints.feet:
        feet: Named = list(zip(hints.feet, legs, soles, strict=True))
    else:
        feet = named(legs, soles, "foot")
    taken = {leg.chain[0] for leg in legs} | {wheel.chain[0] for wheel in wheels}
    arms, head = arms_and_head([limb for limb in limbs if limb.chain[0] not in taken], feet, trunk, skeleton)
    if hints.hands:
        hands: Named = [(role, limb_to(skeleton, trunk, body), None) for role, body in hints.hands.items()]
    else:
        hands = named(arms, None, "hand")
    torso, pelvis = trunk_parts(skeleton, trunk, feet, hands, head)
    head = None if head is not None and torso in head.chain else head
    _report(findings, feet, hands, head, tuple(wheels.values()), symmetry, skeleton)
    return Anatomy(
        skeleton, surfaces, trunk, tuple(limbs), tuple((role, leg) for role, leg, _ in feet),
        tuple(patch for _, _, patch in feet if patch is not None), tuple((role, arm) for role, arm, _ in hands), head,
        tuple(wheels.values()), slides, torso, pelvis, tuple(findings),
    )  # fmt: skip


def _carriers(
    skeleton: Skeleton, surfaces: Surfaces, trunk: tuple[int, ...], limbs: Sequence[Limb], symmetry: Symmetry,
    wheels: Sequence[Limb], hints: Hints, findings: list[Finding],
) -> tuple[list[Limb], list[Patch]]:  # fmt: skip
    """Legs down to what stands, and the patches they stand on."""
    if hints.feet:
        return [limb_to(skeleton, trunk, body) for body, _ in hints.feet.values()], [
            patch for _, patch in hints.feet.values()
        ]
    legs = _legs(skeleton, surfaces, trunk, limbs, symmetry, wheels, findings)
    legs = [_to_the_ground(leg, surfaces) for leg in legs]
    return legs, [_sole(surfaces, leg, len(legs)) for leg in legs]


def _sole(surfaces: Surfaces, leg: Limb, feet: int) -> Patch:
    """The patch a leg stands on. Many legs without ankles stand on the lowest point of their ends, wherever that will
    be."""
    ankle = len(leg.chain) >= ANKLE or feet <= 2
    patch = lowest_patch(surfaces, leg.end, -leg.skeleton.rest.R[leg.end].T @ UP, leg.reach, turns=ankle)
    return patch if ankle else replace(patch, kind="point", polygon=patch.middle[None])


# --- up ---------------------------------------------------------------------------------------------------------------


def _upright(
    skeleton: Skeleton, hints: Hints, findings: list[Finding]
) -> tuple[Skeleton, tuple[int, ...], list[Limb], Symmetry]:
    """The skeleton with z up: the description's own z, unless its legs drop along another axis of the base."""
    trunk = trunk_of(skeleton)
    if hints.up is not None:
        skeleton = Skeleton(skeleton.robot, rotation_to(hints.up).T)
        limbs = limbs_of(skeleton, trunk)
        return skeleton, trunk, limbs, symmetry_of(limbs)
    limbs = limbs_of(skeleton, trunk)
    for legs in sorted((c for c in alike(limbs) if len(c) > 1), key=lambda c: -max(limb.reach for limb in c)):
        drop = -np.mean([(limb.tip - limb.shoulder) / max(limb.reach, 1e-9) for limb in legs], axis=0)
        axis = int(np.argmax(np.abs(drop)))
        up = np.sign(drop[axis]) * np.eye(3)[axis]
        plain = abs(drop[2]) < DROP and abs(drop[axis]) > STRAIGHT
        slanted = len(legs) == len(limbs) > 2 and abs(drop[axis]) > 2 * abs(drop[2])  # knees bent at zero
        if (plain or slanted) and _rises(skeleton, trunk, limbs, legs, up):
            skeleton = Skeleton(skeleton.robot, rotation_to(up).T @ skeleton.upright)
            limbs = limbs_of(skeleton, trunk)
            findings.append(
                Finding("up", "+-"[int(drop[axis] < 0)] + "xyz"[axis], "the longest limbs hang along it at zero", 0.8)
            )
            break
    return skeleton, trunk, limbs, symmetry_of(limbs)


def _rises(skeleton: Skeleton, trunk: tuple[int, ...], limbs: Sequence[Limb], legs: Sequence[Limb], up: Array) -> bool:
    """Whether the rest of the robot lies along `up` from the legs, rather than along z: arms may point ahead at zero.

    Of a robot that is all legs the hips tell: they are level.
    """
    hips = np.array([leg.shoulder for leg in legs])
    if len(legs) > 2 and len(legs) == len(limbs):
        return bool(2 * np.ptp(hips @ up) < np.ptp(hips[:, 2]) > LEVEL * legs[0].reach)
    places = [limb.shoulder for limb in limbs if limb not in legs] + [skeleton.rest.p[i] for i in trunk if i >= 0]
    above = np.mean(places, axis=0) - np.mean([leg.shoulder for leg in legs], axis=0)
    return bool(above @ up > max(above[2], 0.1 * legs[0].reach))


# --- feet -------------------------------------------------------------------------------------------------------------


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
    groups += [
        [limb] for limb in lone if any(limb in members and len(members) > 2 for members in alike([*first, *lone]))
    ]
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
    heights = {i: height(skeleton, i) for i in trunk}
    return heights[group[0].attached] <= min(heights.values()) + LOW * group[0].reach


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
    short = float(np.linalg.norm(skeleton.robot.tree.bodies[leg.end].p)) < SHORT * leg.reach  # a shank is no ankle
    before = [leg.chain[-2]] if len(leg.chain) > 2 and short else []

    def lowest(i: int) -> float:
        return float(skeleton.rest.p[i][2]) - surfaces.extent(i, -skeleton.rest.R[i].T @ UP)

    candidates = [leg.end, *before, *below]
    floor = min(map(lowest, candidates))
    flush = [i for i in candidates if lowest(i) < floor + 0.03 * leg.reach]
    best = max(
        flush, key=lambda i: (skeleton.mass[i] >= 0.1 * skeleton.mass[leg.end], _area(surfaces, i, leg), i == leg.end)
    )
    chain = [i for i in reversed(skeleton.robot.tree.ancestors(best)) if i in skeleton.subtree(leg.chain[0])]
    beyond = tuple(i for i in skeleton.subtree(leg.chain[0]) if i not in chain)
    return replace(leg, chain=tuple(chain), beyond=beyond)


def _area(surfaces: Surfaces, body: int, leg: Limb) -> float:
    patch = lowest_patch(surfaces, body, -leg.skeleton.rest.R[body].T @ UP, leg.reach)
    known = patch.kind == "flat" and len(surfaces.of(body)[0]) > 0
    return float(np.prod(np.sort(np.ptp(patch.polygon, axis=0))[1:])) if known else 0.0


# --- front and sides --------------------------------------------------------------------------------------------------


def _turn(
    skeleton: Skeleton,
    symmetry: Symmetry,
    legs: Sequence[Limb],
    soles: Sequence[Patch],
    hints: Hints,
    findings: list[Finding],
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
        findings.append(
            Finding("knees", "bend opposite ways", "limits of one have the other sign: see the description", 0.3)
        )
    x, y = front[0], front[1]
    return np.array([[x, y, 0.0], [-y, x, 0.0], [0.0, 0.0, 1.0]])


def _direction(d: Array) -> str:
    """A direction in words: an axis of the base where it is one."""
    k = int(np.argmax(np.abs(d)))
    if abs(d[k]) > 0.999:
        return f"{'+-'[int(d[k] < 0)]}{'xyz'[k]} of the base"
    return "(" + ", ".join(f"{x:.2f}" for x in d) + ") in the base"


def _report(
    findings: list[Finding], feet: Named, hands: Named, head: Limb | None, wheels: Sequence[str], symmetry: Symmetry,
    skeleton: Skeleton,
) -> None:  # fmt: skip
    sure = {limb.chain[0]: pair.score for pair in symmetry.pairs for limb in pair.limbs}
    rows = [limb for _, limb, _ in [*feet, *hands]]
    for role, limb, _ in [*feet, *hands]:
        score = sure.get(limb.chain[0], 0.5)
        how = "mirror image of the other side" if score > 0.5 else "no exact mirror image at zero"
        what = "reaches lowest" if "foot" in role else f"a chain of {len(limb.chain)} joints that does not carry"
        findings.append(Finding(role, skeleton.main_link(limb.end), f"{what}; {how}", round(min(score, 1.0), 2)))
        side = names.side(all_names(limb), [name for other in partners(limb, rows) for name in all_names(other)])
        if side and ((side > 0 and role.startswith("right")) or (side < 0 and role.startswith("left"))):
            findings.append(Finding(f"side of the {role}", role.split()[0], "its names say the other side", 0.3))
    if head is not None:
        findings.append(
            Finding("head", skeleton.main_link(head.end), "a short limb in the middle, above the trunk", 0.8)
        )
    for link in wheels:
        findings.append(Finding("wheel", link, "turns without limits about a level axis, low down", 0.8))
