"""A human body: 33 revolute joints, masses and inertias from published tables."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi
from typing import NamedTuple

import numpy as np

from ...algebra import rigid
from ..builder import ModelBuilder
from ..shapes import ORIGIN, Vector, box, capsule_between, combined
from ..types import Array, Inertia, Model, Shape
from .anthropometry import FOOT_BREADTH, HEEL_TO_ANKLE, HIP_SPACING, SHOULDER_SPACING, Measured, Person
from .parameters import JointRange, require_positive


class Range(NamedTuple):
    """Limits of a joint."""

    lower: float  # rad
    upper: float
    velocity: float  # rad/s
    effort: float  # N m, of a man of 75 kg and 1.75 m


# Of the body's middle and left side; on the right, roll and yaw are mirrored. Ranges are those of a supple adult,
# efforts
# those of a strong one: a handstand is within them.
RANGES = {
    "lumbar_pitch": Range(-0.5, 1.0, 6.0, 250.0),
    "lumbar_roll": Range(-0.5, 0.5, 6.0, 250.0),
    "lumbar_yaw": Range(-0.3, 0.3, 6.0, 150.0),
    "thorax_pitch": Range(-0.35, 0.6, 6.0, 250.0),
    "thorax_yaw": Range(-0.6, 0.6, 6.0, 150.0),
    "neck_yaw": Range(-1.3, 1.3, 8.0, 20.0),
    "neck_pitch": Range(-0.9, 0.9, 8.0, 20.0),
    "shoulder_pitch": Range(-3.2, 1.0, 12.0, 120.0),  # negative lifts the arm forward
    "shoulder_roll": Range(-0.5, 3.0, 12.0, 120.0),  # positive lifts the left arm sideways
    "shoulder_yaw": Range(-1.5, 1.2, 12.0, 60.0),
    "elbow": Range(-2.6, 0.0, 14.0, 80.0),  # negative bends
    "forearm_yaw": Range(-1.6, 1.6, 14.0, 30.0),  # negative turns the left palm backward
    "wrist_pitch": Range(-0.35, 0.6, 14.0, 40.0),  # negative tilts the hand towards the thumb
    "wrist_roll": Range(-1.4, 1.6, 14.0, 40.0),  # positive bends the left hand towards its back
    "hip_pitch": Range(-2.1, 0.4, 10.0, 200.0),  # negative lifts the leg forward
    "hip_roll": Range(-0.4, 0.75, 10.0, 200.0),
    "hip_yaw": Range(-0.6, 0.75, 10.0, 100.0),
    "knee": Range(0.0, 2.5, 12.0, 250.0),  # positive bends
    "ankle_pitch": Range(-0.6, 0.85, 10.0, 180.0),  # positive points the toes down
    "ankle_roll": Range(-0.5, 0.35, 10.0, 100.0),
}
AXES = {"roll": (1.0, 0.0, 0.0), "pitch": (0.0, 1.0, 0.0), "yaw": (0.0, 0.0, 1.0)}
STANDING = {"hip_pitch": -0.15, "knee": 0.4, "ankle_pitch": -0.25, "shoulder_roll": 0.1, "elbow": -0.25}
BALL_SHARE = 0.01  # of a segment's mass, in each ball at its joint
BALL_RADIUS = 0.02  # of height


def human(height: float = 1.75, mass: float = 75.0) -> Model:
    """A man of given height (m) and mass (kg), floating base "pelvis", 33 joints.

    Mass, centre of mass and inertia of every segment are those of de Leva (1996), Table 4; see `anthropometry` for the
    figures. Their mass fractions sum to one. The limits of the joints are ours, efforts growing with mass · height.

    At neutral he stands upright, arms hanging, palms towards the thighs; x is forward, y left, z up. Angles turn about
    these axes: roll about x, pitch about y, yaw about z. Links "left_foot" and "right_foot" have their frames on the
    sole, in its middle, with x to the toes and z into the foot; "left_hand" and "right_hand" on the palm, with x to the
    fingers and z into the hand. Corners "left_foot_corner_0" to "_3" (and of right_foot, left_hand, right_hand) go
    round the sole or palm counter-clockwise about z from the front left; "head_top" is the crown.
    """
    require_positive("human", height=height, mass=mass)
    person = Person(float(height), float(mass))
    body = _Body(person)
    body.trunk()
    for side in ("left", "right"):
        body.arm(side)
    for side in ("left", "right"):
        body.leg(side)
    return body.builder.standing(_standing(person)).model()


class _Body:
    """Adds the parts of one person to a builder. The radii of the capsules are ours; they are drawn and collide."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.builder = ModelBuilder("human")
        self.strength = person.mass * person.height / (75.0 * 1.75)

    def trunk(self) -> None:
        lower, middle = self.person.segment("lower_trunk"), self.person.segment("middle_trunk")
        upper, head = self.person.segment("upper_trunk"), self.person.segment("head")
        pelvis = _upright(lower)
        self.builder.link(
            "pelvis",
            mass=pelvis.mass,
            com=pelvis.com,
            inertia=pelvis.matrix,
            shapes=[self._across(lower, 0.02, 0.055)],
        )
        joints = ["lumbar_pitch", "lumbar_roll", "lumbar_yaw"]
        self._attach("pelvis", "abdomen", joints, _up(lower), _upright(middle), self._across(middle, 0.02, 0.052))
        joints = ["thorax_pitch", "thorax_yaw"]
        self._attach("abdomen", "thorax", joints, _up(middle), _upright(upper), self._across(upper, 0.012, 0.062))
        skull = 0.05 * self.person.height
        shape = capsule_between((0, 0, 0.45 * head.length), (0, 0, head.length - skull), skull)
        self._attach("thorax", "head", ["neck_yaw", "neck_pitch"], _up(upper), _upright(head), shape)
        self.builder.frame("head_top", "head", position=_up(head))

    def arm(self, side: str) -> None:
        left = 1.0 if side == "left" else -1.0
        upper, fore = self.person.segment("upper_arm"), self.person.segment("forearm")
        below = self.person.segment("lower_trunk").length + self.person.segment("middle_trunk").length
        shoulder = (0.0, left * SHOULDER_SPACING / 2 * self.person.height, self.person.shoulder_above_hip - below)
        joints = ["shoulder_pitch", "shoulder_roll", "shoulder_yaw"]
        self._attach("thorax", f"{side}_upper_arm", joints, shoulder, _hanging(upper), self._along(upper, 0.026), side)
        joints = ["elbow", "forearm_yaw"]
        turned = _hanging(fore, order=(1, 0, 2))  # the table's man shows his palms, ours turns them to his thighs
        self._attach(
            f"{side}_upper_arm", f"{side}_forearm", joints, _down(upper), turned, self._along(fore, 0.019), side
        )
        self._hand(side, left)

    def _hand(self, side: str, left: float) -> None:
        hand, breadth, thickness = self.person.segment("hand"), 0.048 * self.person.height, 0.016 * self.person.height
        self._attach(
            f"{side}_forearm",
            f"{side}_hand",
            ["wrist_pitch", "wrist_roll"],
            _down(self.person.segment("forearm")),
            _flat(hand, thickness / 2),
            box(hand.length, breadth, thickness, position=(0, 0, thickness / 2)),
            side,
            child_position=(0.0, -left * thickness / 2, -hand.length / 2),
            child_rpy=(0.0, pi / 2, left * pi / 2),
        )
        self._corners(f"{side}_hand", hand.length, breadth)

    def leg(self, side: str) -> None:
        left = 1.0 if side == "left" else -1.0
        thigh, shank = self.person.segment("thigh"), self.person.segment("shank")
        hip = (0.0, left * HIP_SPACING / 2 * self.person.height, 0.0)
        joints = ["hip_pitch", "hip_roll", "hip_yaw"]
        self._attach("pelvis", f"{side}_thigh", joints, hip, _hanging(thigh), self._along(thigh, 0.04), side)
        shape = self._along(shank, 0.029)
        self._attach(f"{side}_thigh", f"{side}_shank", ["knee"], _down(thigh), _hanging(shank), shape, side)
        foot, breadth, ankle = self.person.segment("foot"), FOOT_BREADTH * self.person.height, self.person.ankle_height
        self._attach(
            f"{side}_shank",
            f"{side}_foot",
            ["ankle_pitch", "ankle_roll"],
            _down(shank),
            _flat(foot, ankle / 2),
            box(foot.length, breadth, 0.6 * ankle, position=(0, 0, 0.3 * ankle)),
            side,
            child_position=((0.5 - HEEL_TO_ANKLE) * foot.length, 0.0, -ankle),
        )
        self._corners(f"{side}_foot", foot.length, breadth)

    def _attach(
        self,
        parent: str,
        link: str,
        joints: Sequence[str],
        position: Vector,
        inertia: Inertia,
        shape: Shape,
        side: str = "",
        child_position: Vector = ORIGIN,
        child_rpy: Vector = ORIGIN,
    ) -> None:
        """Hang a segment on joints that meet in one point.

        Between two of them stands a small ball, taken out of the segment and centred where the axes meet. However it
        turns, ball and rest together are the segment of the table; and where axes line up, the mass matrix stays
        positive definite.
        """
        names = [f"{side}_{joint}" if side else joint for joint in joints]
        chain = [parent, *(f"{name}_link" for name in names[:-1]), link]
        centre = rigid.rotation_from_rpy(*child_rpy).T @ -np.array(child_position)
        self._share(chain[1:], inertia, centre, shape)
        for i, (joint, name) in enumerate(zip(joints, names, strict=True)):
            first, last = i == 0, i == len(joints) - 1
            self.builder.joint(
                name,
                "revolute",
                chain[i],
                chain[i + 1],
                axis=AXES.get(joint.split("_")[-1], AXES["pitch"]),
                position=position if first else ORIGIN,
                child_position=child_position if last else ORIGIN,
                child_rpy=child_rpy if last else ORIGIN,
                **self._limits(joint, side),
            )

    def _share(self, links: Sequence[str], inertia: Inertia, centre: Array, shape: Shape) -> None:
        """Give all links but the last a ball, and the last what is left of the segment."""
        mass, radius = BALL_SHARE * inertia.mass, BALL_RADIUS * self.person.height
        ball = 0.4 * mass * radius**2 * np.eye(3)
        for link in links[:-1]:
            self.builder.link(link, mass=mass, inertia=ball, virtual=True)
        rest = combined([inertia], less=[Inertia(mass, centre, ball)] * (len(links) - 1))
        self.builder.link(
            links[-1],
            mass=rest.mass,
            com=rest.com,
            inertia=rest.matrix,
            shapes=[shape],
        )

    def _limits(self, joint: str, side: str) -> JointRange:
        limits = RANGES[joint]
        mirrored = side == "right" and joint.endswith(("roll", "yaw"))
        lower, upper = (-limits.upper, -limits.lower) if mirrored else (limits.lower, limits.upper)
        return JointRange(lower=lower, upper=upper, velocity=limits.velocity, effort=limits.effort * self.strength)

    def _across(self, segment: Measured, half: float, radius: float) -> Shape:
        y, z = half * self.person.height, segment.length / 2
        return capsule_between((0, -y, z), (0, y, z), radius * self.person.height)

    def _along(self, segment: Measured, radius: float) -> Shape:
        return capsule_between(ORIGIN, _down(segment), radius * self.person.height)

    def _corners(self, link: str, length: float, breadth: float) -> None:
        for i, (x, y) in enumerate([(1, 1), (-1, 1), (-1, -1), (1, -1)]):
            self.builder.frame(f"{link}_corner_{i}", link, position=(x * length / 2, y * breadth / 2, 0.0))


def _up(segment: Measured) -> tuple[float, float, float]:
    return (0.0, 0.0, segment.length)


def _down(segment: Measured) -> tuple[float, float, float]:
    return (0.0, 0.0, -segment.length)


def _upright(segment: Measured) -> Inertia:
    """Of a segment that stands on its second end point."""
    return Inertia(segment.mass, np.array([0.0, 0.0, segment.length - segment.com]), np.diag(segment.moments))


def _hanging(segment: Measured, order: tuple[int, int, int] = (0, 1, 2)) -> Inertia:
    """Of a segment that hangs from its first end point."""
    return Inertia(segment.mass, np.array([0.0, 0.0, -segment.com]), np.diag(segment.moments[list(order)]))


def _flat(segment: Measured, above: float) -> Inertia:
    """Of a hand or foot lying on its palm or sole, x along it: the table's sagittal axis is normal to the plate."""
    sagittal, transverse, longitudinal = segment.moments
    com = np.array([segment.com - segment.length / 2, 0.0, above])
    return Inertia(segment.mass, com, np.diag([longitudinal, transverse, sagittal]))


def _standing(person: Person) -> dict[str, float | Sequence[float]]:
    """Knees a little bent, soles flat on z = 0, centre of mass over them."""
    thigh, shank = person.segment("thigh").length, person.segment("shank").length
    pelvis = thigh * cos(STANDING["hip_pitch"]) + shank * cos(STANDING["ankle_pitch"]) + person.ankle_height
    posture: dict[str, float | Sequence[float]] = {"base": (0.0, 0.0, pelvis, 1.0, 0.0, 0.0, 0.0)}
    for joint, angle in STANDING.items():
        posture[f"left_{joint}"] = angle
        posture[f"right_{joint}"] = -angle if joint.endswith("roll") else angle
    return posture
