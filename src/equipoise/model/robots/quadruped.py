"""A four-legged robot with point feet, as in [ETH19]: our own design, of the size of common ones."""

from __future__ import annotations

from math import cos, pi, sin

from ..builder import ModelBuilder
from ..shapes import box, capsule_between, cylinder, cylinder_between, sphere
from ..types import Model
from .parameters import JointRange

LEGS = {"front_left": (1.0, 1.0), "front_right": (1.0, -1.0), "hind_left": (-1.0, 1.0), "hind_right": (-1.0, -1.0)}
HIP_X, HIP_Y = 0.28, 0.11  # m, hips from the middle of the trunk
HIP_WIDTH = 0.09  # m, from the hip to the plane of the leg
THIGH = SHANK = 0.28  # m
FOOT_RADIUS = 0.025
STANDING_PITCH = 0.7  # rad; with the knee at minus twice that, the foot is below the hip


def quadruped() -> Model:
    """Twelve joints, 27 kg, floating base "trunk".

    Each leg, "front_left" to "hind_right", has hip_roll (about x), hip_pitch and knee (about y). At neutral the legs
    hang straight down; `standing` bends the knees backward, feet on z = 0. Frames "front_left_foot", … are the lowest
    points of the ball feet, and have the axes of the trunk, in that posture.
    """
    builder = ModelBuilder("quadruped")
    builder.link("trunk", mass=14.0, shapes=[box(0.6, 0.2, 0.14)])
    for name, (front, left) in LEGS.items():
        _leg(builder, name, front, left)
    height = (THIGH + SHANK) * cos(STANDING_PITCH) + FOOT_RADIUS
    builder.standing({"base": (0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0)})
    for name in LEGS:
        builder.standing({f"{name}_hip_pitch": STANDING_PITCH, f"{name}_knee": -2 * STANDING_PITCH})
    return builder.model()


def _leg(builder: ModelBuilder, name: str, front: float, left: float) -> None:
    out = left * HIP_WIDTH
    builder.link(f"{name}_hip", mass=1.2, shapes=[cylinder_between((0, 0, 0), (0, out, 0), 0.045)])
    motor = cylinder(0.045, 0.05, rpy=(pi / 2, 0.0, 0.0))
    builder.link(f"{name}_thigh", mass=1.6, shapes=[motor, capsule_between((0, 0, 0), (0, 0, -THIGH), 0.03)])
    foot = sphere(FOOT_RADIUS, position=(0, 0, -SHANK))
    builder.link(f"{name}_shank", mass=0.45, shapes=[capsule_between((0, 0, 0), (0, 0, -SHANK), 0.018), foot])
    hip = (front * HIP_X, left * HIP_Y, 0.0)
    inward, outward = -0.5, 0.8
    lower, upper = (inward, outward) if left > 0 else (-outward, -inward)
    roll = JointRange(lower=lower, upper=upper, velocity=15.0, effort=80.0)
    links = ("trunk", f"{name}_hip", f"{name}_thigh", f"{name}_shank")
    builder.joint(f"{name}_hip_roll", "revolute", *links[0:2], axis=(1, 0, 0), position=hip, **roll)
    pitch = JointRange(lower=-1.5, upper=2.5, velocity=15.0, effort=80.0)
    builder.joint(f"{name}_hip_pitch", "revolute", *links[1:3], axis=(0, 1, 0), position=(0, out, 0), **pitch)
    knee = JointRange(lower=-2.6, upper=0.0, velocity=18.0, effort=120.0)
    builder.joint(f"{name}_knee", "revolute", *links[2:4], axis=(0, 1, 0), position=(0, 0, -THIGH), **knee)
    tilt = STANDING_PITCH - 2 * STANDING_PITCH  # of the shank when standing
    below = (FOOT_RADIUS * sin(tilt), 0.0, -SHANK - FOOT_RADIUS * cos(tilt))
    builder.frame(f"{name}_foot", f"{name}_shank", position=below, rpy=(0.0, -tilt, 0.0))
