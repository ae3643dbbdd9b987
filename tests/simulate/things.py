"""Robots and controllers that the tests of the plants share."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import numpy as np

import equipoise as eq
from equipoise.simulate.plant import make_plant

G = 9.80665
HALF = 0.1  # half an edge of the crate
MASS = 2.0
FEET = ("front_left_foot", "front_right_foot", "hind_left_foot", "hind_right_foot")
SOLE = [(x, y, -HALF) for x in (-HALF, HALF) for y in (-HALF, HALF)]
LAWS = ("linear", "plate", "nonlinear")
TOUCHING = [("ideal", {}), ("hard", {}), ("mujoco", {}), *(("soft", {"law": law}) for law in LAWS)]
IDS = ["ideal", "hard", "mujoco", *(f"soft {law}" for law in LAWS)]


@functools.cache
def crate() -> eq.Robot:
    """One free body that stands on four points."""
    return eq.RobotBuilder("crate").link("crate", mass=MASS, inertia=(0.03, 0.04, 0.05)).build()


@functools.cache
def ball() -> eq.Robot:
    """One free body that touches with its centre."""
    return eq.RobotBuilder("ball").link("ball", mass=MASS, inertia=(0.01, 0.01, 0.01)).build()


@functools.cache
def mixture() -> eq.Robot:
    """A free base with every joint type behind it, oblique axes and all."""
    part = dict(mass=1.5, com=(0.1, -0.05, 0.2), inertia=(0.1, 0.12, 0.15))
    tilt = dict(position=(0.2, 0.3, -0.1), rpy=(0.4, -0.5, 0.6))
    builder = eq.RobotBuilder("mixture").link("trunk", **part)
    for name, kind, parent, axis in (
        ("arm", "revolute", "trunk", (1, 2, 3)),
        ("slider", "prismatic", "arm", (0, -1, 0)),
        ("ball", "ball", "trunk", None),
        ("wheel", "continuous", "ball", (0, 0, -1)),
        ("puck", "planar", "trunk", None),
    ):
        builder.link(name, **part)
        builder.joint(f"to_{name}", kind, parent, name, **tilt, **({} if axis is None else {"axis": axis}))
    return builder.build()


@functools.cache
def quadruped() -> eq.Robot:
    return eq.load("quadruped")


def nothing(robot: eq.Robot):
    """The controller that does nothing."""
    return lambda t, q, v: SimpleNamespace(torque=np.zeros(robot.nv))


def hold(robot: eq.Robot, q0: np.ndarray, stiffness: float = 300.0, damping: float = 6.0):
    """Springs and dampers that hold the joints."""
    joints = np.where(np.arange(robot.nv) >= 6, 1.0, 0.0)

    def controller(t, q, v):
        return SimpleNamespace(torque=-joints * (stiffness * robot.difference(q0, q) + damping * v))

    return controller


def crate_on(plant: str, *, height: float = HALF, v=(0.0,) * 6, rpy=(0.0, 0.0, 0.0), **options):
    """(plant, its start) with the crate on or above the ground."""
    made = make_plant(plant, crate(), [("crate", SOLE)], **options)
    q = crate().neutral()
    q[2] = height
    made.reset(q, np.array(v, dtype=float))
    return made


def steps(plant, count: int, dt: float = 1e-3, tau=None, each=lambda state: None):
    """The state after so many steps."""
    tau = np.zeros(plant.robot.nv) if tau is None else tau
    for _ in range(count):
        state = plant.step(tau, dt)
        each(state)
    return state
