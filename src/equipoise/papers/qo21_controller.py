"""[QO21, Sec. 3.1, 4.2–4.3] The thesis's bounds and cones in the controller of the library: parts of rows Q3 and Q5.

The controller is called in closed loop and its accelerations or velocities are integrated by `path`; what comes of them
is looked at by `ReferenceState`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.spatial.transform import Rotation

from .. import Cone, FrameTask, PostureTask, WholeBodyController
from ..control.constraints import Constraint, JointCones, RestingBounds
from ..control.safety.vfi import Gains
from ..geometry.primitives import Line
from ..robot import Robot, load
from .commanded import Asked, Kept, Statement, barrier, towards
from .moving import Moving, direction, given, joints, point
from .reference import ReferenceState, path, turned
from .rows import Figure, largest, small

Array = np.ndarray
SPIN = np.array([0.3, -0.2, 0.1])  # rad/s, of an axis that turns


Step = tuple[float, Array, Array, Array]


def _run(controller: WholeBodyController, q: Array, v: Array, dt: float, steps: int) -> Iterator[Step]:
    """Yields (t, q, v, command) of each step under what a controller commands."""
    robot, second = controller.robot, controller.level != "velocity"
    for k in range(steps):
        solution = controller(k * dt, q, v)
        command = solution.acceleration if second else solution.velocity
        yield k * dt, q, v, command
        q, v = (path(robot, q, v, command)(dt), v + dt * command) if second else (path(robot, q, command)(dt), v)


def comes_to_rest(robot: Robot, q: Array, v: Array) -> Iterator[Figure]:
    """[QO21, Fig. 6.3]: within (3.4) joints stop with the tool; without it they go on after the tool has stopped."""
    dt, k = 5e-3, 5.0
    goal = ReferenceState(robot, q).frame("tool").p + np.array([0.05, -0.05, 0.03])
    ends = {}
    for what, bounds in (("with", [RestingBounds("tool", rate=k, axes="position")]), ("without", [])):
        task = FrameTask("tool", target=(goal, np.zeros(3)), axes="position", gain=4.0)
        controller = WholeBodyController(robot, [task], constraints=bounds, level="acceleration", dt=dt)
        stated, every = Statement(), slice(0, robot.nv)
        for _, at, u, a in _run(controller, q, v, dt, 600):
            now = ReferenceState(robot, at, u)
            tool, g = point(now, "tool"), float(np.linalg.norm(now.frame("tool").V[:3]))
            up, down = (Kept(sign * joints(now, every), k * (-g - sign * u)) for sign in (1.0, -1.0))
            stated.look(a, True, [Asked(tool, towards(tool, goal, 4.0, True))], [up, down] if bounds else [])
        ends[what] = largest(u), g
        yield from stated.figures(f"the controller {what} (3.4)", active=bool(bounds))
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
    robot, dt = load("arm7"), 5e-3
    ends = {name: (j.limits.lower, j.limits.upper) for name, j in robot.joints.items() if j.limits.upper < np.pi}
    goal = robot.neutral()
    for k, name in enumerate(ends):
        goal[robot.joints[name].q] = ends[name][k % 2] + (0.5 if k % 2 else -0.5)
    (lower, upper), places = np.array(list(ends.values())).T, [robot.joints[name].v.start for name in ends]
    for level in ("velocity", "acceleration"):
        second, stated = level == "acceleration", Statement()
        rules = [JointCones(list(ends), gains=Gains.of_rates(5.0, 20.0))]
        posture = PostureTask(goal, gain=3.0, weight=1e-3)
        controller = WholeBodyController(robot, [posture], constraints=rules, level=level, dt=dt)
        beyond = -np.inf
        for _, at, u, command in _run(controller, robot.neutral(), np.zeros(robot.nv), dt, 600):
            now = ReferenceState(robot, at, u)
            every, limited = joints(now, slice(0, 7)), joints(now, places)
            away = limited - given((lower + upper) / 2, robot.nv)
            cone = away.mapped(
                lambda x: 2 * np.cos(x) - 2 * np.cos((upper - lower) / 2), -2 * np.sin(away.x), -2 * np.cos(away.x)
            )
            asked = Asked(every, towards(every, goal, 3.0, second), 1e-3)
            stated.look(command, second, [asked], [barrier(cone, 5.0, 20.0, dt, second)])
            beyond = max(beyond, float(np.max([lower - limited.x, limited.x - upper])))
        near = float(np.max(np.minimum(limited.x - lower, upper - limited.x)))
        words = (
            f"{len(ends)} joints against their ends by cones, {level} level: rad beyond; rad left in the end [Sec. 4.3]"
        )
        yield Figure(words, "≤ 1e-6; < 0.05", f"{beyond:.1e}; {near:.3f}", beyond < 1e-6 and near < 0.05)
        yield from stated.figures(f"joints against their ends by cones, {level} level")


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

    cone: Constraint = Cone(Line((0, 0, 0), (0, 0, 1), "tool"), axis, angle=opening, gains=Gains.of_rates(5.0, 20.0))
    dt, tasks = 5e-3, [FrameTask("tool", target=goal, gain=4.0), PostureTask(q, weight=1e-4, gain=5.0)]
    for level in ("velocity", "acceleration"):
        second, stated, parts = level == "acceleration", Statement(), []
        controller = WholeBodyController(robot, tasks, constraints=[cone], level=level, dt=dt)
        for t, at, u, command in _run(controller, q, np.zeros(robot.nv), dt, 300):
            now = ReferenceState(robot, at, u)
            asked = [*_to_pose(now, goal, 4.0, second), _near(now, q, 5.0, second, 1e-4)]
            up, (allowed, closing) = turned(SPIN * t) @ first.R[:, 2], opening(t)
            turning = given(up, robot.nv, np.cross(SPIN, up), np.cross(SPIN, np.cross(SPIN, up)))
            off = direction(now, "tool", (0, 0, 1)) - turning
            chord = given(
                2 - 2 * np.cos(allowed), robot.nv, 2 * np.sin(allowed) * closing, 2 * np.cos(allowed) * closing**2
            )
            stated.look(command, second, asked, [barrier(chord - off.dot(off), 5.0, 20.0, dt, second)])
            parts.append(np.arccos(1 - off.dot(off).x[0] / 2) / allowed)
        words = f"a cone that turns and closes, in the controller, {level} level: tilt of what is allowed [Eq. (4.33)]"
        yield Figure(words, "0.9 … 1.001", f"{max(parts):.4f}", bool(max(parts) < 1 + 1e-3 and parts[-1] > 0.9))
        yield from stated.figures(f"a cone that turns and closes, {level} level")


def _to_pose(now: ReferenceState, goal: Array, k: float, second: bool) -> list[Asked]:
    """Returns what a task on the tool's pose asks for, place and turn."""
    tool, at = point(now, "tool"), now.frame("tool")
    turn = Rotation.from_matrix(goal[:3, :3] @ at.R.T).as_rotvec()
    turning = Moving(np.zeros(3), at.J[3:], at.V[3:], at.A[3:])
    return [Asked(tool, towards(tool, goal[:3, 3], k, second)), Asked(turning, towards(turning, turn, k, second))]


def _near(now: ReferenceState, q: Array, k: float, second: bool, weight: float) -> Asked:
    """Returns what a task on the posture asks for."""
    every = joints(now, slice(0, now.model.nv))
    return Asked(every, towards(every, q, k, second), weight)
