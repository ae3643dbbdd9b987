"""A small run made by hand: a human squats and raises an arm, feet on the ground."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

import equipoise as eq
from equipoise.simulate.contacts import ContactInfo

Array = np.ndarray
FEET = ("left_foot", "right_foot")
FRICTION = 0.7


@functools.cache
def human() -> eq.Robot:
    return eq.load("human")


def bent(s: float) -> Array:
    """Standing, with the knees bent and the left arm raised by s in [0, 1]; the soles stay where they are."""
    robot = human()
    q = robot.standing()
    sole = robot.pose(q, "left_foot")[:3, 3]
    angles = {"hip_pitch": -0.8 * s, "knee": 1.6 * s, "ankle_pitch": -0.8 * s}
    for side in ("left", "right"):
        for joint, angle in angles.items():
            q[robot.joints[f"{side}_{joint}"].q] += angle
    q[robot.joints["left_shoulder_pitch"].q] = -2.5 * s
    q[:3] += sole - robot.pose(q, "left_foot")[:3, 3]
    return q


def contacts() -> dict[str, ContactInfo]:
    corners = {foot: [human().frames[f"{foot}_corner_{k}"].X[:3, 3] for k in range(4)] for foot in FEET}
    return {foot: ContactInfo(foot, np.array(corners[foot]), FRICTION) for foot in FEET}


def squat(samples: int = 61, **changes: Any) -> eq.Run:
    """One second down; each foot carries half of the weight, with a force that leans sideways inside its cone."""
    robot, t = human(), np.linspace(0.0, 1.0, samples)
    q = np.stack([bent(s) for s in 0.5 - 0.5 * np.cos(np.pi * t)])
    half = robot.mass * 9.80665 / 2
    F = np.tile([0.0, 0.2 * half, half, 0.0, 0.0, 0.0], (samples, 1))
    forces = {"left_foot": F * [1, -1, 1, 1, 1, 1], "right_foot": F.copy()}
    torque = 6.0 * np.sin(np.linspace(0, 3, samples))[:, None] * np.ones(robot.nv)
    torque[:, :6] = 0.0
    parts = dict(
        robot=robot,
        t=t,
        q=q,
        v=np.zeros((samples, robot.nv)),
        torque=torque,
        acceleration=np.zeros((samples, robot.nv)),
        com=robot.com(q),
        forces=forces,
        contacts=contacts(),
        task_errors={"hand": np.exp(-3 * t), "posture": np.full(samples, 0.01)},
        margins={"knee limit": 0.5 - 0.3 * t},
        status=(np.arange(samples) >= samples - 5).astype(int),
        status_names=("optimal", "relaxed"),
        cycle_time=np.full(samples, 4e-4),
        events=((0.5, "halfway <b>"),),
        obstacles=(),
        scenario={},
        seed=3,
        outcome="completed",
    )
    return eq.Run(**(parts | changes))


def painted(robot: eq.Robot, color: tuple[float, float, float, float] = (1.0, 0.0, 1.0, 1.0)) -> eq.Robot:
    """The robot in a color that nothing else in the scene has, so that it can be found in a picture."""
    links = {
        name: replace(link, visuals=tuple(replace(s, color=color) for s in link.visuals),
                      collisions=tuple(replace(s, color=color) for s in link.collisions))
        for name, link in robot.model.links.items()
    }  # fmt: skip
    return eq.Robot(replace(robot.model, links=links), robot.tree)


def pinkish(picture: Array) -> Array:
    """Where the painted robot is: (height, width) of bools."""
    red, green, blue = np.moveaxis(picture.astype(int), -1, 0)
    return (red - green > 40) & (blue - green > 40)
