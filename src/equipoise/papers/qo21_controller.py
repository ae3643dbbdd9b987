"""[QO21, Sec. 3.1, 4.2–4.3] The thesis's bounds and cones in the controller of the library: parts of rows Q3 and Q5.

The controller is called in closed loop and its accelerations or velocities are integrated by `path`; what comes of them
is looked at by `ReferenceState`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import Cone, FrameTask, PostureTask, WholeBodyController
from ..control.constraints import Constraint, JointCones, RestingBounds
from ..geometry.primitives import Line
from ..robot import Robot, load
from .reference import ReferenceState, path, turned
from .rows import Figure, largest, small

Array = np.ndarray
SPIN = np.array([0.3, -0.2, 0.1])  # rad/s, of an axis that turns


def _run(
    controller: WholeBodyController, q: Array, v: Array, dt: float, steps: int
) -> Iterator[tuple[float, Array, Array]]:
    """(t, q, v) of each step under what a controller commands."""
    robot = controller.robot
    for k in range(steps):
        solution = controller(k * dt, q, v)
        if controller.level == "velocity":
            v = solution.velocity
            q = path(robot, q, v)(dt)
        else:
            q, v = path(robot, q, v, solution.acceleration)(dt), v + dt * solution.acceleration
        yield (k + 1) * dt, q, v


def comes_to_rest(robot: Robot, q: Array, v: Array) -> Iterator[Figure]:
    """[QO21, Fig. 6.3]: within (3.4) joints stop with the tool; without it they go on after the tool has stopped."""
    dt, k = 5e-3, 5.0
    goal = ReferenceState(robot, q).frame("tool").p + np.array([0.05, -0.05, 0.03])
    ends = {}
    for what, bounds in (("with", [RestingBounds("tool", rate=k, axes="position")]), ("without", [])):
        task = FrameTask("tool", target=(goal, np.zeros(3)), axes="position", gain=4.0)
        controller = WholeBodyController(robot, [task], constraints=bounds, level="acceleration", dt=dt)
        *_, (_, at, u) = _run(controller, q, v, dt, 600)
        tool = ReferenceState(robot, at, u).frame("tool")
        ends[what] = largest(u), float(np.linalg.norm(tool.V[:3]))
    ratio = ends["with"][0] / largest(v)
    yield small("the controller within (3.4): joint speed after 3 s, of that at the start [Fig. 6.3]", ratio, 5e-3)
    still, goes_on = ends["without"][1] < 2e-2, ends["without"][0] / largest(v)
    ours = f"{goes_on:.2f}" + ("" if still else ", tool moves")
    yield Figure(
        "the controller without it: the same, the tool stands [Fig. 6.3]",
        "> 0.1",
        ours,
        still and goes_on > 0.1,
        "goes on",
    )


def against_the_ends() -> Iterator[Figure]:
    """Joints that are asked for what lies beyond their ends come near them and no farther, by cones alone."""
    robot = load("arm7")
    ends = {name: (j.limits.lower, j.limits.upper) for name, j in robot.joints.items() if j.limits.upper < np.pi}
    goal = robot.neutral()
    for k, name in enumerate(ends):
        goal[robot.joints[name].q] = ends[name][k % 2] + (0.5 if k % 2 else -0.5)
    for level, dt in (("velocity", 5e-3), ("acceleration", 5e-3)):
        cones = JointCones(list(ends))
        controller = WholeBodyController(robot, [PostureTask(goal, gain=3.0)], constraints=[cones], level=level, dt=dt)
        beyond, near = -np.inf, np.inf
        for _, at, _ in _run(controller, robot.neutral(), np.zeros(robot.nv), dt, 600):
            place = {name: float(at[robot.joints[name].q][0]) for name in ends}
            beyond = max(beyond, *(max(low - place[name], place[name] - high) for name, (low, high) in ends.items()))
        near = max(min(place[name] - low, high - place[name]) for name, (low, high) in ends.items())
        words = (
            f"{len(ends)} joints against their ends by cones, {level} level: rad beyond; rad left in the end [Sec. 4.3]"
        )
        yield Figure(words, "≤ 1e-6; < 0.05", f"{beyond:.1e}; {near:.3f}", beyond < 1e-6 and near < 0.05)


def turning_cone() -> Iterator[Figure]:
    """A cup upright about an axis that turns in the world, while the cone closes; the tool wants to turn away."""
    robot = load("arm7")
    q = robot.random_state(np.random.default_rng(3))[0]
    first = ReferenceState(robot, q).frame("tool")
    goal = np.eye(4)
    goal[:3, :3], goal[:3, 3] = turned(np.array([0.8, 0.0, 0.0])) @ first.R, first.p

    def axis(t: float) -> Line:
        return Line((0, 0, 0), tuple(turned(SPIN * t) @ first.R[:, 2]), None, np.concatenate([np.zeros(3), SPIN]))

    def opening(t: float) -> tuple[float, float]:
        return 0.3 - 0.05 * t, -0.05

    for level in ("velocity", "acceleration"):
        cone: Constraint = Cone(Line((0, 0, 0), (0, 0, 1), "tool"), axis, angle=opening)
        most, near = _tilts(
            robot, q, goal, cone, level, lambda t: turned(SPIN * t) @ first.R[:, 2], lambda t: opening(t)[0]
        )
        words = f"a cone that turns and closes, in the controller, {level} level: tilt of what is allowed [Eq. (4.33)]"
        yield Figure(words, "0.9 … 1.001", f"{most:.4f}", bool(most < 1 + 1e-3 and near > 0.9))


def _tilts(
    robot: Robot,
    q: Array,
    goal: Array,
    cone: Any,
    level: Any,
    up: Callable[[float], Array],
    allowed: Callable[[float], float],
) -> tuple[float, float]:
    """(largest tilt, tilt in the end), both of what is allowed then."""
    dt, tasks = 5e-3, [FrameTask("tool", target=goal, gain=4.0), PostureTask(weight=1e-4)]
    controller = WholeBodyController(robot, tasks, constraints=[cone], level=level, dt=dt)
    parts = []
    for t, at, _ in _run(controller, q, np.zeros(robot.nv), dt, 300):
        cosine = float(ReferenceState(robot, at).frame("tool").R[:, 2] @ up(t))
        parts.append(np.arccos(min(1.0, cosine)) / allowed(t))
    return max(parts), parts[-1]
