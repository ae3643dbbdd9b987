"""[BK12, Sec. VII] A robot and a free object as one system, moved by the robot's motors alone; and the inner forces of
[ETH19, slides 31–35]: a box is squeezed between two hands and carried along a path.

The controller knows the box as bodies without motors and the palms as contacts against it. The world it acts on here is
`ReferenceState` with the palms held to the box by constraints: forces that come out of those must be such as palms can
give.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..control.constraints import TorqueLimits
from ..control.contacts import FlatContact
from ..control.controller.controller import WholeBodyController
from ..control.tasks import FrameTask, PostureTask
from ..robot import Robot, RobotBuilder
from .perturbation import start as start_near
from .reference import ReferenceState, path
from .rows import Figure, apart, exactly, largest, small

Array = np.ndarray
SIDES = {"left": 1.0, "right": -1.0}
BOX_q, BOX_v = slice(0, 7), slice(0, 6)  # what floats comes first: here it is the box, the arms hang on a wall
HALF = 0.25  # m, of the box's width, and where the shoulders are
ARM = (
    ("pan", "z", 0.0),
    ("lift", "y", 0.0),
    ("roll", "x", 0.3),
    ("elbow", "y", 0.3),
    ("yaw", "z", 0.0),
    ("pitch", "y", 0.0),
    ("turn", "x", 0.08),
)
AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
BENT = {"lift": 0.5, "elbow": -1.0, "pitch": 0.5}  # hands level, in front of the shoulders
PALM = 0.005  # m, from the middle of a palm to its edges: so small that the centre of pressure comes to them
CORNERS = ((PALM, PALM), (-PALM, PALM), (-PALM, -PALM), (PALM, -PALM))  # m
SQUEEZE, FRICTION = 30.0, 0.6  # N, least normal force of a palm; coefficient
STEP, STEPS = 5e-3, 200


def holder() -> Robot:
    """Two arms of seven joints on a wall, and a box that floats free."""
    builder = RobotBuilder("two arms and a box", floating=False).link("wall")
    for side, sign in SIDES.items():
        parent, place = "wall", (0.0, sign * HALF, 0.0)
        for name, axis, length in ARM:
            link = f"{side}_{name}"
            builder.link(link, mass=1.0, com=(length / 2, 0, 0), inertia=(2e-3, 8e-3, 8e-3))
            builder.joint(
                link, "revolute", parent, link, axis=AXES[axis], position=place, lower=-2.5, upper=2.5, effort=80.0
            )
            parent, place = link, (length, 0.0, 0.0)
        builder.frame(f"{side}_hand", parent, position=place)
    builder.link("box", mass=2.0, com=(0.0, 0.02, 0.01), inertia=(0.05, 0.02, 0.05))
    builder.joint("free", "floating", None, "box")
    return builder.build()


def start(robot: Robot) -> Array:
    """Hands at the sides of the box."""
    q = robot.neutral()
    for name, joint in robot.joints.items():
        q[joint.q] = BENT.get(name.split("_")[-1], 0.0)
    q[BOX_q] = [*(robot.pose(q, "left_hand")[:3, 3] * [1, 0, 1]), 1, 0, 0, 0]
    return q


def carried() -> Iterator[Figure]:
    """Part of row B7."""
    robot = holder()
    q, v = start(robot), np.zeros(robot.nv)
    first = robot.pose(q, "box")
    law: dict[str, Any] = {"corners": CORNERS, "friction": FRICTION, "min_force": SQUEEZE}
    palms = [FlatContact(f"{side}_hand", against="box", normal=(0, sign, 0), **law) for side, sign in SIDES.items()]

    def way(t: float) -> tuple[Array, Array, Array]:
        X, w, r = first.copy(), 2 * np.pi, np.array([0.0, 0.03, 0.05])
        X[:3, 3] += r * (1 - np.cos(w * t)) / 2
        rate, acceleration = (
            np.concatenate([r * x, np.zeros(3)]) for x in (w * np.sin(w * t) / 2, w**2 * np.cos(w * t) / 2)
        )
        return X, rate, acceleration

    tasks = [FrameTask("box", target=way, gain=10.0), PostureTask(weight=1e-3)]
    controller = WholeBodyController(robot, tasks, palms, [TorqueLimits()], dt=STEP)
    errors, normals, slips, pushed, off, lawful, statuses = [], [], [], 0.0, 0.0, 0.0, set()
    pressure = 0.0
    q, v = start_near(robot, q, v, lambda q: _palms(ReferenceState(robot, q))[0])
    for k in range(STEPS):
        solution = controller(k * STEP, q, v)
        statuses.add(solution.status.name)
        pushed = max(pushed, float(np.abs(solution.torque[BOX_v]).max()))
        now = ReferenceState(robot, q, v)
        (J, bias), commanded = _palms(now), np.concatenate([solution.forces[f"{side}_hand"] for side in SIDES])
        # what has drifted is brought back within 50 ms, by the controller in another way: so the difference of 1e-3
        a, wrenches = now.held(solution.torque, J, bias + 20.0 * J @ v)
        lawful = max(lawful, apart(solution.torque + J.T @ commanded, now.force(solution.acceleration)))
        off = max(off, apart(a, solution.acceleration))
        q, v = path(robot, q, v, a)(STEP), v + STEP * a
        errors.append(np.linalg.norm(ReferenceState(robot, q).frame("box").p - way((k + 1) * STEP)[0][:3, 3]))
        for wrench, (side, sign) in zip(wrenches.reshape(2, 6), SIDES.items(), strict=True):
            force, moment = (now.frame(f"{side}_hand").R.T @ x for x in (wrench[:3], wrench[3:]))
            normals.append(sign * force[1])
            slips.append(np.hypot(force[0], force[2]) - FRICTION * sign * force[1])
            pressure = max(pressure, largest(moment[[0, 2]]) / abs(force[1]))
    ended = "a box between two palms: how every step ended; force on the box by a motor"
    yield exactly(ended, (statuses, pushed), ({"OPTIMAL"}, 0.0))
    yield small("commanded accelerations and forces: Newton and Euler, every step", lawful, 1e-9)
    yield small("acceleration under the torques − the commanded one, by its size, every step", off, 3e-3)
    words, edge = "centre of pressure of the palms off their middle at most, over their size", pressure / PALM
    yield Figure(words, "0.95 … 1.02", f"{edge:.3f}", 0.95 < edge < 1.02)
    yield small("it follows its path: m off at most, of a way of 58 mm", float(max(errors)), 2e-3)
    least = min(normals)
    yield Figure(
        "palms press, N at least: inner force [slide 35]",
        f"≥ 0.9 × {SQUEEZE:.0f}",
        f"{least:.1f}",
        least > 0.9 * SQUEEZE,
    )
    yield Figure("|F_t| − μ F_n of the palms at most, N", "≤ 0", f"{max(slips):.2f}", max(slips) < 1e-6)


def _palms(now: ReferenceState) -> tuple[Array, Array]:
    """(J, J̇v) of the hands against the box, rows of the left hand first."""
    rows, bias = [], []
    box = now.frame("box")
    for side in SIDES:
        hand = now.frame(f"{side}_hand")
        touched = now.frame("box", tuple(box.R.T @ (hand.p - box.p)))
        rows.append(hand.J - touched.J)
        bias.append(hand.A - touched.A)
    return np.concatenate(rows), np.concatenate(bias)
