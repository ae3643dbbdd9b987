"""The sample field of AIST on JVRC-1: steps, a hand on a bar, a foot on a tilted block, a push against a wall, hops.

Their file is a timed list of contacts. `Stances` makes them in that order, at its own pace, and hops.
Our contacts are points that touch solids, so the hand does not close around the bar: it rests on it. Files (of
MultiContactController) are read where they are; nothing of them is copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.algebra.quaternions import rotation
from equipoise.algebra.rigid import pose, rotation_from_rpy, rpy_from_rotation
from equipoise.control.contacts import Contact, FlatContact, PointContact
from equipoise.control.stances.machine import Stances
from equipoise.control.stances.stance import Stance
from equipoise.errors import EquipoiseError
from equipoise.geometry.primitives import Capsule
from equipoise.model.xml import load, parse
from equipoise.simulate.world import Box, Solid
from equipoise.walking.walking import Walking

if TYPE_CHECKING:
    from equipoise.robot import Robot

Array = np.ndarray
MOTION, FIELD = "MotionSampleField.yaml", "SampleField.xml"
WANTED = 1.80, 0.0, 0.75  # m: where the base must end
FIRST, SECOND = "MCC::ConfigMotion1_", "MCC::ConfigMotion2_"
FRICTION = 0.45  # that the robot counts on
ROLES = {"LeftFoot": "left foot", "RightFoot": "right foot", "LeftHand": "left hand", "RightHand": "right hand"}
FEET = ("left foot", "right foot")
SPEED = (0.2, 0.5, 1.2)  # of the centre of mass, frames and joints, m/s and rad/s
INSIDE = 0.9  # of their soles


def solids_of(path: Path) -> tuple[Solid, ...]:
    """What stands on the field."""
    found: list[Solid] = []
    world = parse(load(path)).child("worldbody")
    for geom in [] if world is None else world.all("geom"):
        size, p, quat = (np.array((geom.get(key) or "").split(), dtype=float) for key in ("size", "pos", "quat"))
        R = np.asarray(rotation((quat / np.linalg.norm(quat)).tolist()))
        if geom.get("type") == "box":
            found.append(Box(tuple(2 * size), tuple(p), tuple(rpy_from_rotation(R))))
        else:
            along = R[:, 2] * size[1]
            found.append(Capsule(tuple(p - along), tuple(p + along), float(size[0])))
    return tuple(found)


def with_hands(robot: Robot, frames: Sequence[Mapping[str, Any]]) -> Robot:
    """The robot with their frames of the hands."""
    for frame in frames:
        robot = robot.with_frame(frame["name"], frame["parent"], pose(p=np.array(frame["X_p_f"]["translation"])))
    return robot


def contacts_of(walker: Walking, given: Mapping[str, Any]) -> list[Contact]:
    """Feet and hands with their corners; those of the feet are a little inside, on the block, which is just as long.
    The left hand is a point."""
    grasp, flat = (frame["name"] for frame in given["frames"])
    corners = {entry["name"]: np.array(entry["vertices"])[:, :2] for entry in given["Contacts"]["Surface"]}
    frames = walker.body.frames
    return [
        FlatContact(frames["left foot"], name="left foot", corners=INSIDE * corners["LeftFoot"], friction=FRICTION),
        FlatContact(frames["right foot"], name="right foot", corners=INSIDE * corners["RightFoot"], friction=FRICTION),
        PointContact(grasp, name="left hand", friction=FRICTION),
        FlatContact(flat, name="right hand", corners=corners["RightHand"], friction=FRICTION),
    ]


def stances_of(motion: Mapping[str, Any], bar: float) -> list[Stance]:
    """Their timed list of contacts and places of the centre of mass, one stance after the other.

    Args:
        bar: m, its radius: the hand is on it.
    """
    entries = [*motion["stepCommandList"], *motion["nominalCentroidalPoseList"]]
    made, carrying, at = [Stance(FEET, name="start")], list(FEET), dict[str, Array]()
    for entry in sorted(entries, key=_start):
        swing = entry.get("swingCommand", entry)
        if "limb" not in entry:  # of the centre of mass, from the middle of the feet
            aside = sum(float(at[foot][1, 3]) for foot in FEET) / 2 + float(entry["pose"]["translation"][1])
            made.append(Stance(tuple(carrying), com=[np.nan, aside, np.nan], name=f"leaning to {aside:.2f}"))
            continue
        role = ROLES[entry["limb"]]
        if swing["type"] == "Remove":
            carrying.remove(role)
            made.append(Stance(tuple(carrying), name=f"without the {role}"))
            continue
        at[role] = pose_of(entry["pose"])
        carrying = carrying if role in carrying else [*carrying, role]
        place = at[role][:3, 3] + [0.0, 0.0, bar] if role == "left hand" else at[role]
        made.append(Stance(tuple(carrying), places={role: place}, name=f"{role} at {at[role][:3, 3].tolist()}"))
    return made


def _start(entry: Mapping[str, Any]) -> float:
    """s, when an entry of their lists begins."""
    return float(entry["time"] if "time" in entry else entry.get("swingCommand", entry)["startTime"])


def pose_of(given: Mapping[str, Any]) -> Array:
    """(4, 4) of a place in their list; rotations there are roll, pitch and yaw."""
    rpy = given.get("rotation", (0.0, 0.0, 0.0))
    return pose(rotation_from_rpy(*map(float, rpy)), np.array(given["translation"], dtype=float))


def hops_of(motion: Mapping[str, Any]) -> list[float]:
    """s in the air of each hop: steps of one foot, while the other does the same."""
    steps = [step for step in motion["stepCommandList"] if step["limb"] == "LeftFoot"]
    return [float(step["endTime"]) - float(step["startTime"]) for step in steps]


@dataclass(frozen=True)
class Soles:
    """Where a robot touches in a plant."""

    robot: Robot
    contacts: Sequence[Contact]


def field_walk(folder: Path, name: str = "jvrc1") -> tuple[Stances, Soles, tuple[Solid, ...]]:
    """What walks the field, where it touches, and what stands there."""
    from equipoise.robot import load as load_robot

    listed = yaml_of(folder / MOTION)
    given, solids = listed["robots"][name], solids_of(folder / FIELD)
    bar = next(solid.radius for solid in solids if isinstance(solid, Capsule))
    walker = Walking(with_hands(load_robot(name), given["frames"]))
    first, second = (listed["states"][part]["configs"] for part in (FIRST, SECOND))
    contacts = contacts_of(walker, given)
    hops = [Stance(FEET, flight=seconds, name=f"hop of {seconds:g} s") for seconds in hops_of(second)]
    stances = [*stances_of(first, bar), *hops]
    walk = Stances(walker.robot, stances, contacts, start=walker.q0, speed=SPEED, catch=walker)
    return walk, Soles(walk.robot, [_plate(contact, walker.contacts) for contact in contacts]), solids


def yaml_of(path: Path) -> dict[str, Any]:
    """A file of theirs."""
    import yaml  # type: ignore[import-untyped]

    if not path.is_file():
        raise EquipoiseError(f"wanted the courses' file, got {str(path)!r}")
    return dict(yaml.safe_load(path.read_text()))


def _plate(contact: Contact, soles: Sequence[Contact]) -> Contact:
    """What touches in the plant: of a foot the corners of its sole, and those that are counted on within."""
    whole = [sole.points[:, :2] for sole in soles if sole.label == contact.label]
    if not whole:
        return contact
    corners = np.concatenate([contact.points[:, :2], *whole])
    return FlatContact(contact.frame, name=contact.label, corners=corners, friction=contact.friction)
