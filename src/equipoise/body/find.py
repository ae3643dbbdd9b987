"""Finding a body: the profile that is known, what the search adds to it, and the cache of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelError
from ..machine.cached import cached
from ..model.limbs import Limb
from ..model.skeleton import Skeleton, elastic_joints
from . import srdf
from .anatomy import Anatomy, Finding, Hints, anatomy_of
from .parts import Part, foot_part, has_no_wrist, link_part, palm_part, squared
from .patches import Patch
from .posture import StandingPosture, standing_posture
from .profile import BodyError, Profile, check, fits, read, text

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
KINDS = {1: "one-legged", 2: "biped", 3: "tripod", 4: "quadruped", 6: "hexapod"}
SOURCES = {"collision shapes": 0.9, "visual shapes": 0.8}  # how sure a sole from them is


def found(robot: Robot, profile: str | Path | None, *, search: bool = True) -> Profile:
    """All that is known of a robot's body and all that can be found."""
    known, where = _known(robot, profile, search)
    check(known, robot, where)
    if known.complete:
        return known
    return read(cached(_searched, robot, known, _semantics(robot)))


def _known(robot: Robot, profile: str | Path | None, search: bool) -> tuple[Profile, str]:
    """(what a file says, which file)."""
    if profile is not None:
        return read(profile), str(profile)
    source = robot.model.source
    if search and source is not None and Path(source).with_suffix(".toml").is_file():
        path = Path(source).with_suffix(".toml")
        return read(path), path.name
    if search:
        for shipped in resources.files(__package__).joinpath("profiles").iterdir():
            if shipped.name.endswith(".toml"):
                candidate = read(shipped.read_text(encoding="utf-8"))
                if fits(candidate, robot):
                    return candidate, shipped.name
    return Profile(), "profile"


def _semantics(robot: Robot) -> srdf.Semantics:
    source = robot.model.source
    path = srdf.beside(source) if source is not None else None
    if path is None:
        return srdf.Semantics()
    try:
        return srdf.read(path)
    except ModelError:
        return srdf.Semantics()


# --- the search -------------------------------------------------------------------------------------------------------


def _searched(robot: Robot, known: Profile, semantics: srdf.Semantics) -> str:
    """The whole profile as text."""
    skeleton = Skeleton(robot)
    anatomy = squared(anatomy_of(skeleton, _hints(skeleton, known)))
    fingers = known.fingers if known.fingers is not None else _fingers(anatomy)
    findings = [f for f in anatomy.findings if f.what not in known.parts]
    parts: dict[str, Part] = {}
    posture: Mapping[str, float] = known.standing
    motion = anatomy.skeleton.rest
    if anatomy.feet and robot.floating:
        preferred = {**_described(robot), **semantics.standing, **known.standing}
        preferred = {name: x for name, x in preferred.items() if name not in elastic_joints(robot)}
        stance = standing_posture(anatomy, [*fingers, *elastic_joints(robot)], preferred)
        findings += [*_about_standing(stance), *_about_springs(robot)]
        posture = _joints(robot, stance.q)
        motion = anatomy.skeleton.at(stance.q)
    for (role, leg), patch in zip(anatomy.feet, anatomy.soles, strict=True):
        parts[role] = foot_part(anatomy, leg, patch, motion)
        if role not in known.parts:
            findings.append(_about_sole(role, patch))
    for role, arm in anatomy.hands:
        parts[role] = palm_part(anatomy, role, arm, motion)
        if role not in known.parts and has_no_wrist(anatomy, arm):
            findings.append(_about_palm(role, parts[role].link))
    if robot.links:
        parts |= _trunk(anatomy)
    found = Profile(
        robot=robot.name,
        mass=round(robot.mass, 6),
        kind=known.kind or _kind(robot, anatomy),
        up=_three(anatomy.skeleton.upright.T @ [0.0, 0.0, 1.0]),
        front=_three(anatomy.skeleton.upright.T @ [1.0, 0.0, 0.0]),
        fingers=tuple(fingers),
        wheels=known.wheels or anatomy.wheels,
        parts=parts | {role: _with_joints(part, parts.get(role)) for role, part in known.parts.items()},
        standing=posture,
        touching=known.touching or tuple(p for p in semantics.touching if set(p) <= set(robot.links)),
        groups=known.groups or srdf.joints_of_groups(semantics, robot),
        findings=tuple(findings),
    )
    more = *_missing_shapes(anatomy), *_about_ends(semantics.ends, anatomy)
    return text(replace(found, findings=(*found.findings, *more)))


def _with_joints(known: Part, found: Part | None) -> Part:
    """Returns a part of a profile with the joints of its limb, where the profile does not name them."""
    return known if known.joints or found is None else replace(known, joints=found.joints)


def _hints(skeleton: Skeleton, known: Profile) -> Hints:
    """What a profile says, in the axes of the search."""
    feet, hands = {}, {}
    for role, part in known.parts.items():
        body, X = skeleton.robot.place(part.link)
        X = X @ part.X
        if "foot" in role.split():
            if body == skeleton.root:
                raise BodyError(
                    f"parts.{role!r}: link {part.link!r} is on the base itself; a foot is at the end of a chain of "
                    "joints"
                )
            kind = "point" if part.contact == "none" else part.contact
            points = part.points if len(part.points) else np.zeros((1, 3))
            feet[role] = body, Patch(kind, -X[:3, 2], points @ X[:3, :3].T + X[:3, 3], "profile")
        elif "hand" in role.split():
            hands[role] = body
    up, front = (None if x is None else np.array(x) for x in (known.up, known.front))
    return Hints(up, front, feet, hands)


def _fingers(anatomy: Anatomy) -> tuple[str, ...]:
    """Joints beyond the ends of limbs, and side branches of the arms and the head's parts."""
    skeleton = anatomy.skeleton
    joints = skeleton.robot.model.joints
    bodies = [i for _, limb in (*anatomy.feet, *anatomy.hands) for i in limb.beyond]
    if anatomy.head is not None:
        bodies += [*anatomy.head.beyond, *anatomy.head.chain[_head_at(skeleton, anatomy.head) + 1 :]]
    looped = {
        frame.parent for loop in skeleton.robot.model.loops.values() for frame in (loop.frame_a, loop.frame_b) if frame
    }
    tied = {
        i for name in looped if name is not None for i in skeleton.robot.tree.ancestors(skeleton.robot.place(name)[0])
    }
    return tuple(skeleton.joint(i) for i in bodies if joints[skeleton.joint(i)].mimic is None and i not in tied)


def _head_at(skeleton: Skeleton, head: Limb) -> int:
    """Index in the head's chain of its heaviest body: what follows are jaws and eyes."""
    return int(np.argmax(skeleton.mass[list(head.chain)]))


def _trunk(anatomy: Anatomy) -> dict[str, Part]:
    parts = {"torso": link_part(anatomy, anatomy.torso), "pelvis": link_part(anatomy, anatomy.pelvis)}
    if anatomy.head is not None:
        parts["head"] = link_part(anatomy, anatomy.head.chain[_head_at(anatomy.skeleton, anatomy.head)])
    return {role: part for role, part in parts.items() if part.link in anatomy.skeleton.robot.links}


def _kind(robot: Robot, anatomy: Anatomy) -> str:
    if anatomy.feet:
        return KINDS.get(len(anatomy.feet), f"{len(anatomy.feet)} legs")
    if anatomy.wheels or anatomy.slides:
        return "mobile manipulator" if anatomy.hands else "wheeled"
    return {0: "no limbs", 1: "arm"}.get(len(anatomy.hands), f"{len(anatomy.hands)} arms")


# --- reports -------------------------------------------------------------------------------------------------------


def _about_sole(role: str, patch: Patch) -> Finding:
    spans = sorted(np.ptp(patch.polygon, axis=0), reverse=True)[: 1 if patch.kind == "line" else 2]
    size = f"{patch.kind}, {' × '.join(f'{x * 1e3:.0f}' for x in spans)} mm" if patch.kind != "point" else "a point"
    sure = SOURCES.get(patch.source, 0.2)
    words = patch.source if sure >= 0.5 else f"{patch.source}; give corners in [parts.{role!r}]"
    return Finding(f"sole of the {role}", size, words, sure)


def _about_palm(role: str, link: str) -> Finding:
    reason = f"the arm ends in a forearm, without a wrist; give link, position and rpy of its palm in [parts.{role!r}]"
    return Finding(f"palm of the {role}", f"the end of {link}", reason, 0.4)


def _about_standing(stance: StandingPosture) -> list[Finding]:
    how = "the posture of the description" if stance.given else "by optimisation"
    off = (
        f"soles {stance.height * 1e3:.1f} mm and {stance.tilt:.3f} rad off, centre of mass "
        f"{stance.offset * 1e3:.0f} mm off"
    )
    findings = [Finding("standing", how, off, 0.9 if stance.good else 0.2)]
    if stance.collisions:
        names = ", ".join(f"{a} and {b}" for a, b in stance.collisions[:4])
        findings.append(
            Finding("self-collision", names, "arms touch in the standing posture; give it in [standing]", 0.4)
        )
    return findings


def _about_springs(robot: Robot) -> list[Finding]:
    names = elastic_joints(robot)
    reason = "nothing but springs holds them: locked where those are slack, as if they were stiff"
    return [Finding("springs", ", ".join(names), reason, 0.6)] if names else []


def _missing_shapes(anatomy: Anatomy) -> list[Finding]:
    doubts = list(dict.fromkeys(anatomy.surfaces.doubts))
    if not doubts:
        return []
    shown = "; ".join(doubts[:3]) + (f"; … ({len(doubts)} in all)" if len(doubts) > 3 else "")
    return [Finding("shapes", "incomplete", shown, 0.4)]


def _about_ends(ends: Sequence[str], anatomy: Anatomy) -> list[Finding]:
    """End effectors of an SRDF file: which part each is, and those where no limb that was found ends."""
    robot, found = anatomy.skeleton.robot, []
    for link in (link for link in ends if link in robot.links):
        body = robot.place(link)[0]
        roles = [role for role, limb in (*anatomy.feet, *anatomy.hands) if body in (limb.end, *limb.beyond)]
        reason = "an end effector of its SRDF file"
        if roles:
            found.append(Finding(f"end effector {link}", roles[0], reason, 0.9))
        else:
            todo = (
                f'{reason}, but no limb that was found ends there; if it is one, write [parts."left hand"] link = '
                f'"{link}"'
            )
            found.append(Finding(f"end effector {link}", "no part", todo, 0.4))
    return found


def _described(robot: Robot) -> dict[str, float]:
    """Joints of the description's own standing posture."""
    base = robot.model.base
    given = {n: x for n, x in robot.model.standing.items() if (base is None or n != base.name) and n in robot.joints}
    return {name: x[0] for name, x in given.items() if len(x) == 1 and robot.joints[name].mimic is None}


def _joints(robot: Robot, q: Array) -> dict[str, float]:
    single = {n: j for n, j in robot.joints.items() if j.mimic is None and j.type.nq == 1}
    return {name: round(float(q[joint.q.start]), 6) for name, joint in single.items() if abs(q[joint.q.start]) > 1e-6}


def _three(x: Array) -> tuple[float, float, float]:
    a, b, c = (round(float(v), 9) + 0.0 for v in x)
    return a, b, c
