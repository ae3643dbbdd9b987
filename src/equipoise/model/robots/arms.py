"""Arms bolted to the ground, and two of them on a torso. Our own designs, of the size and strength of common ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi

from ..builder import ModelBuilder
from ..shapes import ORIGIN, Vector, cylinder, cylinder_between
from ..types import Model
from .parameters import JointRange


@dataclass(frozen=True)
class Section:
    """One joint of an arm and the cylinder that it moves, along z of its frame."""

    axis: tuple[float, float, float]
    length: float  # m
    radius: float
    mass: float  # kg
    reach: float  # rad, to either side
    velocity: float  # rad/s
    effort: float  # N m


Y, Z = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

SIX = (
    Section(Z, 0.12, 0.075, 4.0, 2.9, 3.0, 180.0),
    Section(Y, 0.42, 0.060, 7.5, 2.2, 3.0, 180.0),
    Section(Y, 0.20, 0.050, 3.0, 2.6, 3.2, 100.0),
    Section(Z, 0.18, 0.045, 1.8, 2.9, 4.0, 40.0),  # the last three axes meet in one point
    Section(Y, 0.08, 0.040, 1.0, 2.1, 4.0, 40.0),
    Section(Z, 0.08, 0.035, 0.6, 3.1, 6.0, 20.0),
)
SEVEN = (
    Section(Z, 0.16, 0.070, 3.5, 2.9, 2.2, 180.0),
    Section(Y, 0.20, 0.065, 3.5, 2.0, 2.2, 180.0),
    Section(Z, 0.20, 0.060, 3.0, 2.9, 2.2, 120.0),
    Section(Y, 0.20, 0.055, 2.7, 2.1, 2.2, 120.0),
    Section(Z, 0.20, 0.050, 1.9, 2.9, 3.0, 60.0),
    Section(Y, 0.08, 0.045, 1.6, 2.1, 3.0, 40.0),
    Section(Z, 0.08, 0.035, 0.5, 3.0, 4.0, 40.0),
)
SIX_READY = (0.0, -0.4, pi / 2, 0.0, 0.4, 0.0)  # elbow bent, tool level
SEVEN_READY = (0.0, 0.4, 0.0, pi / 2 - 0.4, 0.0, 0.0, 0.0)
REACHING = (0.0, 0.6, 0.0, 1.2, 0.0, 0.0, 0.0)  # of arms that are mounted sideways: both hands forward


def arm6() -> Model:
    """Six joints (z y y, and a wrist z y z), 22 kg, fixed base, frame "tool". At zero the arm points straight up."""
    return _on_pedestal("arm6", SIX, SIX_READY)


def arm7() -> Model:
    """Seven joints (z y z, y, z y z) like an arm's, 21 kg, fixed base, frame "tool". Straight up at zero."""
    return _on_pedestal("arm7", SEVEN, SEVEN_READY)


def bimanual() -> Model:
    """Two seven-joint arms on a torso that turns about z, fixed base, frames "left_tool" and "right_tool".

    15 joints: torso_yaw, left_joint_1 … 7, right_joint_1 … 7. At zero the arms are stretched out to the sides.
    """
    builder = ModelBuilder("bimanual", floating=False)
    builder.link("base_link", mass=15.0, shapes=[cylinder(0.2, 0.1, position=(0, 0, 0.05))])
    add_torso(builder, "base_link", height=0.1, turning=True)
    return builder.model()


def add_torso(builder: ModelBuilder, parent: str, *, height: float, turning: bool) -> None:
    """A torso with two seven-joint arms; it turns about z, or is fixed."""
    builder.link("torso", mass=20.0, shapes=[cylinder(0.12, 0.9, position=(0, 0, 0.45))])
    bounds = JointRange(lower=-2.0, upper=2.0, velocity=1.5, effort=250.0)
    if turning:
        builder.joint("torso_yaw", "revolute", parent, "torso", position=(0, 0, height), **bounds)
    else:
        builder.joint("torso_mount", "fixed", parent, "torso", position=(0, 0, height))
    for side, left in (("left", 1.0), ("right", -1.0)):
        mount = (0.0, left * 0.12, 0.8)
        add_arm(builder, "torso", SEVEN, position=mount, rpy=(-left * pi / 2, 0.0, 0.0), prefix=f"{side}_")
        builder.standing(_posture(REACHING, f"{side}_"))


def add_arm(
    builder: ModelBuilder,
    parent: str,
    sections: Sequence[Section],
    *,
    position: Vector = ORIGIN,
    rpy: Vector = ORIGIN,
    prefix: str = "",
) -> None:
    """Mount an arm: links and joints `link_1`, `joint_1`, …, and a frame `tool` at its end, each with the prefix."""
    before = 0.0
    for i, section in enumerate(sections, start=1):
        shape = cylinder_between(ORIGIN, (0.0, 0.0, section.length), section.radius)
        builder.link(f"{prefix}link_{i}", mass=section.mass, shapes=[shape])
        builder.joint(
            f"{prefix}joint_{i}",
            "revolute",
            parent,
            f"{prefix}link_{i}",
            axis=section.axis,
            position=position if i == 1 else (0.0, 0.0, before),
            rpy=rpy if i == 1 else ORIGIN,
            lower=-section.reach,
            upper=section.reach,
            velocity=section.velocity,
            effort=section.effort,
        )
        parent, before = f"{prefix}link_{i}", section.length
    builder.frame(f"{prefix}tool", parent, position=(0.0, 0.0, before))


def _on_pedestal(name: str, sections: Sequence[Section], ready: Sequence[float]) -> Model:
    builder = ModelBuilder(name, floating=False)
    builder.link("base_link", mass=4.0, shapes=[cylinder(0.09, 0.1, position=(0, 0, 0.05))])
    add_arm(builder, "base_link", sections, position=(0.0, 0.0, 0.1))
    return builder.standing(_posture(ready)).model()


def _posture(angles: Sequence[float], prefix: str = "") -> dict[str, float | Sequence[float]]:
    return {f"{prefix}joint_{i}": angle for i, angle in enumerate(angles, start=1)}
