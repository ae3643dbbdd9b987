"""Sequences of whole-body control problems with every kind of task, contact and constraint, and what came of them.

A scene is a controller and calls of it, one after the other: some feasible, some not, some with another set of
contacts, some after a wild sample. No number has its default value where another one makes sense.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from bodies import FEET, monopod, standing, tripod

import equipoise as eq
from equipoise.control import (
    AbsoluteCone,
    CoMEllipseTask,
    CoMInEllipse,
    JointCones,
    RestingBounds,
)
from equipoise.control.constraints.com_above import CoMAbove
from equipoise.control.constraints.points_inside import PointsInside
from equipoise.control.controller.solution import Solution
from equipoise.control.tasks import HullAreaTask, Rolling, SurfaceTask

Array = np.ndarray
GAINS = eq.Gains.of_rates(4.0, 18.0)
NEEDED = np.array([0.3, -0.2, 0.1])


class Scene(NamedTuple):
    """A controller and what happens to it: changes by the number of the call before which they are made."""

    controller: eq.WholeBodyController
    states: list[tuple[Array, Array]]
    changes: dict[int, Callable[[eq.WholeBodyController], Any]] = {}
    step: float = 0.01  # s from call to call


def wave(k: int, n: int, size: float) -> Array:
    """n numbers that differ from call to call."""
    return size * np.sin(1.7 * np.arange(n) + 0.9 * k + 0.3)


def states(robot: eq.Robot, q: Array, count: int = 6, spread: float = 0.05, speed: float = 0.2) -> list[Any]:
    """Configurations near q with velocities; the fourth call sees a wild sample, the fifth a tame one again."""
    made = []
    for k in range(count):
        v = wave(k, robot.nv, speed) * (60.0 if k == 3 else 1.0)
        made.append((robot.integrate(q, wave(k + 3, robot.nv, spread)), v))
    return made


# --- scenes -----------------------------------------------------------------------------------------------------------


def tripod_items() -> dict[str, Any]:
    """Three kinds of point contact, tasks of momentum, force and torque, limits of motors."""
    contacts = [
        eq.PointContact(FEET[0], friction=0.6, edges=5, min_force=2.0, max_force=150.0, stiffness=80.0, damping=15.0),
        eq.PointContact(FEET[1], point=(0.01, 0.02, -0.01), normal=(0.1, -0.2, 1.0), friction=lambda t: 0.5 + 0.1 * t),
        eq.PointContact(FEET[2], edges=6, inner=False, friction=0.4, name="third"),
    ]
    tasks = [
        eq.CoMTask(target=lambda t: ((0.02 + 0.1 * t, -0.01, 0.4), (0.1, 0.0, 0.02)), weight=3.0, gain=6.0,
                   offset=(0.003, -0.002, 0.001)),
        eq.FrameTask("trunk", axes="orientation", weight=(1.0, 2.0, 3.0), stiffness=30.0, damping=(9.0, 8.0, 7.0)),
        eq.MomentumTask(axes="rz x", target=(0.1, -0.2), weight=0.02, gain=4.0),
        eq.ForceTask(FEET[0], target=(1.0, -2.0, 40.0), weight=1e-3),
        eq.TorqueTask(weight=1e-4),
        eq.PostureTask(weight=0.2, gain=3.0),
    ]  # fmt: skip
    constraints = [
        eq.JointLimits(acceleration=60.0, margin=0.02, most=90.0),
        eq.TorqueLimits(scale=0.3, no_load_speed=9.0, corner_speed=2.0, power=150.0),
        eq.TorqueRate(6e3, rank=3),
        eq.MomentumLimits(linear=(2.0, np.inf, 3.0), angular=0.8, rate=20.0, rank=2),
        eq.CoMInSupport([(0.2, 0.0), (-0.1, 0.2), (-0.1, -0.2)], margin=0.03, gains=GAINS, variation=5.0, jump=1.0),
    ]
    return {"tasks": tasks, "contacts": contacts, "constraints": constraints}


def tripod_torque() -> Scene:
    robot = tripod()
    controller = eq.WholeBodyController(
        robot, **tripod_items(), dt=2e-3, force_weight=2e-6, motion_weight=3e-6, hold_damping=3.0, slip_limit=0.4
    )
    return Scene(controller, states(robot, standing(robot), 11), {
        2: lambda c: c.set_contacts([FEET[0], FEET[1]]),
        5: lambda c: c.set_contacts([FEET[0], FEET[1], "third"], standing(robot)),
        6: lambda c: c.set_force_bounds("third", 50.0, 60.0),
        7: lambda c: c.set("centre of mass", target=(0.3, 0.2, 0.5), weight=50.0),
        8: lambda c: (c.set("trunk", target=None, gain=2.0), c.correct_com((0.01, 0.02, 0.03))),
        9: lambda c: c.set_target("centre of mass", lambda t: "nowhere"),
    })  # fmt: skip


def tripod_strict() -> Scene:
    items = tripod_items()
    items["tasks"] = [
        eq.CoMTask(axes="x y", target=(0.05, 0.02, 0.0), hard=True, gain=4.0),
        eq.FrameTask("trunk", axes="z rx ry rz", priority=0, per="error"),
        eq.SupportAreaTask(tuple((foot, (0.0, 0.0, 0.01)) for foot in FEET), target=0.4, priority=1, gain=2.0),
        eq.PostureTask(priority=2),
    ]
    items["constraints"] = [eq.TorqueLimits(limits=70.0, rank=1), eq.JointLimits(acceleration=200.0, rank=2)]
    controller = eq.WholeBodyController(tripod(), **items, priorities="strict", slip_limit=0.4)
    return Scene(controller, states(tripod(), standing(tripod())), {
        2: lambda c: c.set_contacts(["third", FEET[0]]), 4: lambda c: c.set("torque limit", limits=9.0),
    })  # fmt: skip


def tripod_acceleration() -> Scene:
    robot = tripod()
    tasks = [
        eq.FrameTask("foot_0", axes="position", target=(0.55, 0.05, 0.1), gain=8.0),
        HullAreaTask("foot_1", points=((0.0, 0.0, 0.0), (0.02, 0.0, 0.0)), target=[0.2, -0.1, 0.05, 0.3, 0.04]),
        eq.PostureTask(weight=0.05, per="error"),
    ]
    moving = eq.Sphere((0.6, 0.0, 0.05), 0.1, velocity=(-0.2, 0.1, 0.0))
    constraints = [
        eq.KeepOut(eq.Capsule((0, 0, 0), (0, 0, -0.3), 0.03, frame="shank_0"), moving, safe=0.01, gains=GAINS),
        eq.KeepIn(eq.Point((0.0, 0.0, 0.0), frame="foot_1"), eq.Point((-0.3, 0.4, 0.0)), safe=lambda t: 0.4 + 0.1 * t,
                  braking=30.0, variation=2.0),
        eq.KeepOut(eq.Point((0.0, 0.0, 0.0), frame="foot_2"), eq.Plane((0, 0, 1), -0.02), jump=0.5, name="floor"),
        eq.Cone(eq.Line((0, 0, 0), (0, 0, 1), frame="trunk"), eq.Line((0, 0, 0), (0.1, 0, 1)), angle=0.25, gains=GAINS),
        JointCones(("lift_0", "knee_1"), margin=0.1, gains=GAINS, braking=40.0),
        RestingBounds("foot_0", rate=4.0, axes="x y z", velocity=(0.1, 0, 0, 0, 0, 0), rank=3),
    ]  # fmt: skip
    controller = eq.WholeBodyController(tripod(), tasks, (), constraints, "acceleration", hold_damping=2.0, dt=2e-3)
    return Scene(controller, states(robot, standing(robot), 5), {2: lambda c: c.set("floor", safe=0.3)})


def tripod_velocity() -> Scene:
    robot = tripod()
    tasks = [
        eq.FrameTask("foot_0", axes="x rz", target=(standing_pose("foot_0"), (0.1, 0, 0, 0, 0, 0.2)), priority=0),
        eq.SupportAreaTask(tuple((foot, (0.0, 0.0, 0.01)) for foot in FEET), target=0.3, priority=1),
        eq.MomentumTask(target=0.1, axes="orientation", priority=1, weight=0.5),
        eq.PostureTask(priority=2, gain=2.0),
    ]
    constraints = [
        eq.JointLimits(velocity=1.5), eq.MomentumLimits(linear=0.5),
        eq.CoMInSupport(((0.2, 0.0), (-0.1, 0.2), (-0.1, -0.2)), gains=GAINS, jump=1.0),
        eq.KeepOut(eq.Sphere((0, 0, 0), 0.05, frame="foot_2"), eq.Segment((-0.5, -0.4, 0), (-0.5, -0.4, 1)), safe=0.1),
    ]  # fmt: skip
    feet = [eq.PointContact(foot, stiffness=30.0) for foot in FEET[1:]]
    controller = eq.WholeBodyController(robot, tasks, feet, constraints, "velocity", "strict", dt=5e-3)
    return Scene(controller, states(robot, standing(robot), 5, speed=0.1), {2: lambda c: c.set_contacts(["foot_2"])})


def standing_pose(frame: str) -> Array:
    robot = tripod()
    X = robot.pose(standing(robot), frame).copy()
    X[:3, 3] += NEEDED / 10
    return X


def monopod_torque() -> Scene:
    robot = monopod()
    sole = ((0.12, 0.05), (0.12, -0.05), (-0.08, -0.05), (-0.08, 0.06))
    contact = eq.FlatContact(
        "foot", corners=sole, centre=(0.01, 0.005, 0.0), normal=(0.0, 0.05, 1.0), margin=0.005, friction=0.55, edges=6,
        min_force=20.0, max_force=400.0, stiffness=60.0, damping=12.0,
    )  # fmt: skip
    hand = robot.pose(standing(robot), "hand")[:3, 3]
    tasks = [
        CoMEllipseTask(target=(0.0, -0.02, 0.0), radius=0.04, shape=((1.0, 0.2), (0.2, 1.5)), exponent=4, weight=0.3),
        eq.PlaneTask(
            "hand", normal=(0.2, 0.1, 1.0), offset=0.05, point=(0.01, 0.0, 0.02), target=(hand[2] - 0.1, 0.05)
        ),
        SurfaceTask("trunk", target=(0.05, 0.0, 1.0, 0.8), normal=(0.0, 0.1, 1.0), point=(0.0, 0.1, 0.0), weight=0.4),
        eq.TorqueTask(target=1.0, weight=1e-3),
        eq.PostureTask(gain=4.0, weight=0.1),
    ]
    constraints = [
        CoMInEllipse((0.01, -0.01), radius=0.06, shape=((1.0, 0.1), (0.1, 0.8)), gains=GAINS, variation=1.0),
        PointsInside("hand", [(0.0, 0.0, 0.0), (0.05, 0.0, 0.0)], [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)],
                     lambda t: np.array([hand[0] - 0.05, hand[1] - 0.02])),
        CoMAbove(lambda t: np.array([[1.0, 0.0, -0.09, 0.3], [-1.0, 0.0, -0.1, 0.7], [0.0, 1.0, -0.1, 0.0]]), "hand",
                 [(0.0, 0.0, 0.0)], most=4, margin=0.01, gains=GAINS, jump=0.5),
        AbsoluteCone("hand", "trunk", axis=(0.0, 0.2, 1.0), direction=(0.1, 0.0, 1.0), angle=(0.6, 0.1, 0.2)),
        eq.TorqueLimits(rank=1), eq.JointLimits(position=(-2.0, 2.0), velocity=4.0, acceleration=80.0),
    ]  # fmt: skip
    controller = eq.WholeBodyController(robot, tasks, [contact], constraints, slip_limit=0.5)
    return Scene(controller, states(robot, standing(robot), 6, 0.03, 0.1), {
        2: lambda c: c.set("foot", max_force=60.0), 4: lambda c: c.set("foot", max_force=500.0, friction=0.2),
        5: lambda c: c.set_contacts([]),
    })  # fmt: skip


def monopod_sliding() -> Scene:
    robot = monopod()
    sliding = eq.SlidingContact("foot", direction=(1.0, 0.5, 0.3), friction=0.3, max_force=300.0)
    grip = eq.FlatContact("hand", against="trunk", corners=((0.02, 0.02), (-0.02, 0.02), (0.0, -0.03)), friction=0.9)
    tasks = [
        eq.FrameTask(
            "foot", name="slide", axes="x y rz", target=(robot.pose(standing(robot), "foot"), (0.1, 0.05, 0, 0, 0, 0.1))
        ),
        eq.RelativeTask("hand", "trunk", weight=0.1, target=(np.eye(4), (0.1, 0, 0, 0, 0.1, 0))),
        eq.AbsoluteTask("hand", "foot", weight=0.02),
        eq.PostureTask(weight=0.5),
    ]
    controller = eq.WholeBodyController(robot, tasks, [sliding, grip], [eq.TorqueLimits()], slip_limit=2.0)
    return Scene(controller, states(robot, standing(robot), 5, 0.02, 0.05), {2: lambda c: c.set_contacts(["foot"])})


def charted() -> Scene:
    robot = tripod()
    feet = [eq.PointContact(foot, friction=0.5) for foot in FEET]
    tasks = [eq.CoMTask(target=(0.02, 0.0, 0.4)), eq.PostureTask(weight=0.3)]
    controller = eq.WholeBodyController(
        robot,
        tasks,
        feet,
        [eq.TorqueLimits(scale=0.3), eq.JointLimits()],
        chart=eq.charts.UnitQuaternion,
        slip_limit=0.5,
    )
    return Scene(controller, states(robot, standing(robot), 3))


def wheeled() -> Scene:
    builder = eq.RobotBuilder("cart", floating=False).link("ground").link("platform", mass=8.0, inertia=(0.2, 0.2, 0.3))
    builder.joint("drive", "planar", "ground", "platform", position=(0, 0, 0.1), effort=100.0, velocity=3.0)
    builder.link("arm", mass=1.0, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02))
    builder.joint("turn", "revolute", "platform", "arm", axis=(0, 0, 1), lower=-2, upper=2, effort=20.0, velocity=2.0)
    builder.frame("tip", "arm", position=(0.4, 0, 0))
    robot = builder.build()
    tasks = [Rolling(damping=5.0), eq.FrameTask("tip", axes="x y", target=(1.0, 0.5, 0.1)), eq.PostureTask(weight=0.01)]
    controller = eq.WholeBodyController(robot, tasks, (), [eq.TorqueLimits(), eq.JointLimits(position=False)])
    return Scene(controller, states(robot, robot.neutral(), 4))


def contradiction() -> Scene:
    """Starts outside of limits and too fast for others, and what is never relaxed cannot hold."""
    robot = tripod()
    constraints = [
        eq.JointLimits(position=(-0.6, 0.45), velocity=0.5, acceleration=20.0, rank=0),
        eq.KeepOut(eq.Point((0, 0, 0), frame="foot_0"), eq.Plane((1, 0, 0), 0.6), gains=GAINS, rank=0, name="wall"),
        eq.KeepIn(eq.Point((0, 0, 0), frame="foot_0"), eq.Plane((1, 0, 0), 0.3), gains=GAINS, braking=2.0, name="door"),
        eq.KeepOut(eq.Point((0, 0, 0), frame="foot_1"), eq.Plane((0, 0, 1), -0.001), gains=GAINS, name="floor"),
        eq.KeepOut(
            eq.Point((0, 0, 0), frame="foot_2"), eq.Plane((0, 0, 1), -0.01), gains=GAINS, braking=2.0, name="ice"
        ),
        eq.KeepOut(eq.Point((0, 0, 0), frame="foot_0"), eq.Plane((0, 0, 1), 0.0), gains=GAINS, name="edge"),
    ]
    tasks = [eq.FrameTask("foot_0", name="ahead", axes="x", target=(0.5, 0, 0)), eq.PostureTask(weight=0.1)]
    controller = eq.WholeBodyController(robot, tasks, (), constraints, "acceleration")
    fast = np.zeros(robot.nv)
    fast[2], fast[8:] = -0.3, 0.6 * np.sign(wave(0, 7, 1.0))
    q = standing(robot)
    return Scene(controller, [(q, fast), (q, 0 * fast), (robot.integrate(q, wave(3, robot.nv, 0.1)), -fast)], {
        1: lambda c: c.set("door", safe=-0.4), 2: lambda c: (c.set("wall", safe=-2.0), c.set("door", safe=3.0)),
    })  # fmt: skip


def outweighed() -> Scene:
    """A task that never gets what it asks for, watched for more than a second; and a contact that slips away."""
    robot = tripod()
    q, X = standing(robot), standing_pose("foot_0")
    tasks = [eq.FrameTask("foot_0", name="lift", axes="z", target=X, weight=1e-2), eq.PostureTask(weight=3.0)]
    tasks.append(eq.FrameTask("foot_0", name="stay", axes="z", target=robot.pose(q, "foot_0")))
    controller = eq.WholeBodyController(
        robot, tasks, [eq.PointContact(FEET[1])], (), "acceleration", slip_limit=0.01, hold_damping=4.0
    )
    other = robot.integrate(q, wave(0, robot.nv, 0.2))
    states = [(q, np.zeros(robot.nv))] * 9 + [(robot.integrate(q, wave(k, robot.nv, 0.1)), q[1:]) for k in range(4)]
    return Scene(controller, states, {8: lambda c: (c.set("lift", weight=0.0), c.set_target("posture", other))}, 0.11)


SCENES: dict[str, Callable[[], Scene]] = {
    made.__name__: made
    for made in (
        tripod_torque, tripod_strict, tripod_acceleration, tripod_velocity, monopod_torque, monopod_sliding, charted,
        wheeled, contradiction, outweighed,
    )
}  # fmt: skip


# --- what is recorded -------------------------------------------------------------------------------------------------


def calls(scene: Scene) -> Iterator[Solution]:
    """The answers, one after the other; the last two calls see states that are none."""
    c = scene.controller
    for k, (q, v) in enumerate(scene.states):
        if k in scene.changes:
            scene.changes[k](c)
        yield c(scene.step * k, q, v)
    q, v = scene.states[0]
    yield c(2.0, q, np.full_like(v, np.nan))
    yield c(2.1, 1.01 * q if c.robot.floating else q[:-1], v)
    yield c(2.2, q, v)


def told(solution: Solution) -> list[str]:
    """The sentences of `explain` but for the residual; numbers that are rounding become zero."""
    lines = (line for line in solution.explain().splitlines() if not line.startswith("Largest KKT residual"))
    return [re.sub(r"\d(\.\d+)?e-[123]\d", "0", line) for line in lines]


def recorded(solution: Solution, before: dict[str, Any]) -> dict[str, Any]:
    """All that a solution says; `before` keeps the last command to joint drives."""
    command = solution.joint_command(30.0, 2.0)
    some = dict(list(zip(solution.step.structure.layout.context.robot.joints, (5.0, 6.0, 7.0), strict=False)))
    before["command"] = on = solution.joint_command(some, 1.5, previous=before.get("command"), leak=4.0)
    return {
        "position that goes on": on.position, "rate that goes on": on.velocity, "gains": [on.kp, on.kd], 
        "status": solution.status.name, "told": told(solution), "shown": repr(solution),
        "torque": solution.torque, "acceleration": solution.acceleration, "velocity": solution.velocity,
        "x": solution.x, "forces": dict(solution.forces), "active": list(solution.active),
        "relaxed": solution.relaxed, "margins": solution.margins, "errors": solution.task_errors,
        "multipliers": solution.multipliers, "multipliers of equalities": solution.step.multipliers_E,
        "position": command.position, "rate": command.velocity,
    }  # fmt: skip
