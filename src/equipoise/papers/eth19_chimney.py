"""[ETH19, slides 31–35]: internal forces at work. A quadruped braces itself between two walls, as in a chimney.

Feet push outwards against walls that can only push back, with friction. The least torques that hold the body do not
press enough: all feet slip. Internal forces move nothing and press; torques chosen within the friction cones hold. In
motion the controller chooses them; the world it acts on is `ReferenceState` with the feet held by constraints, whose
forces must be such as walls can give.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..balance import SupportDynamics, support_dynamics
from ..control.closed_form.unilateral import UnilateralTorque, unilateral_torque
from ..control.constraints import TorqueLimits
from ..control.contacts import PointContact
from ..control.controller.controller import WholeBodyController
from ..control.qp import Status
from ..control.tasks import CoMTask, FrameTask, PostureTask
from ..robot import Robot, load
from .eth19 import FEET, rows_of_feet
from .reference import ReferenceState, path
from .rows import Figure, agree, apart, exactly, largest, small

Array = np.ndarray
FRICTION = 0.6
RISE, SECONDS, STEP = 0.06, 1.0, 4e-3  # m, s, s: how far the body goes up and comes back
BACK = 20.0  # 1/s: feet that have drifted are brought back, as by the controller
LEG = {"hip_roll": 1.1, "hip_pitch": 0.4, "knee": -0.8}  # rad, of a left leg; rolls of right ones are opposite


def wall_cone(inwards: float, friction: float = FRICTION) -> Array:
    """Rows over the force of a wall whose normal is ±y, each at most zero: a pyramid inside of the friction cone."""
    normal, across = np.array([0.0, inwards, 0.0]), (np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]))
    return np.array([sign * t - friction / np.sqrt(2) * normal for t in across for sign in (1.0, -1.0)])


def braced() -> tuple[Robot, Array, SupportDynamics]:
    """(robot, q with the feet far out to the sides, its support dynamics at rest)."""
    robot = load("quadruped")
    q = robot.neutral()
    q[2] = 1.0
    for foot in FEET:
        leg = foot.removesuffix("_foot")
        for name, angle in LEG.items():
            q[robot.joints[f"{leg}_{name}"].q] = -angle if name == "hip_roll" and "right" in leg else angle
    return robot, q, support_dynamics(robot, q, np.zeros(robot.nv), FEET)


def pressed(robot: Robot, q: Array, friction: float = FRICTION, limits: float = np.inf) -> UnilateralTorque:
    """The least torques that keep the robot at rest with the forces of all feet within the cones of the walls."""
    now, S_T = ReferenceState(robot, q), np.eye(robot.nv)[:, 6:]
    J, _ = rows_of_feet(now, FEET)
    sides = [-np.sign(now.frame(foot).p[1]) for foot in FEET]
    cone = np.zeros((4 * len(FEET), 3 * len(FEET)))
    for k, side in enumerate(sides):
        cone[4 * k : 4 * k + 4, 3 * k : 3 * k + 3] = wall_cone(float(side), friction)
    still = np.zeros(robot.nv)
    return unilateral_torque(robot.mass_matrix(q), robot.gravity(q), still, J, cone, B=S_T, limits=limits)


def _slip(robot: Robot, q: Array, forces: Array) -> float:
    """Largest |F_t| / F_n of the feet; infinite where one pulls."""
    now, worst = ReferenceState(robot, q), 0.0
    for foot, F in zip(FEET, forces.reshape(-1, 3), strict=True):
        normal = -float(np.sign(now.frame(foot).p[1])) * F[1]
        worst = max(worst, float(np.hypot(F[0], F[2]) / normal) if normal > 0 else np.inf)
    return worst


def chimney() -> Iterator[Figure]:
    """Of row H4."""
    robot, q, support = braced()
    now, S_T = ReferenceState(robot, q), np.eye(robot.nv)[:, 6:]
    J, _ = rows_of_feet(now, FEET)
    both = np.linalg.pinv(np.hstack([S_T, 1e-4 * J.T])) @ now.g  # the least torques, forces at hardly any price
    torque, force = both[: S_T.shape[1]], 1e-4 * both[S_T.shape[1] :]
    yield agree("between two walls: the least torques hold the body too", S_T @ torque + J.T @ force, now.g, 1e-7)
    slip = _slip(robot, q, force)
    yield Figure(
        "the least torques: |F_t| / F_n of the worst foot",
        f"> 1.2 μ = {1.2 * FRICTION:g}",
        f"{slip:.2g}",
        slip > 1.2 * FRICTION,
    )
    found = pressed(robot, q)
    yield agree(
        "torques within the cones: Newton and Euler, at rest", S_T @ found.torque + J.T @ found.multipliers, now.g, 1e-8
    )
    slip = _slip(robot, q, found.multipliers)
    yield Figure(
        "torques within the cones: |F_t| / F_n of the worst foot",
        f"≤ {FRICTION}",
        f"{slip:.3f}",
        slip < FRICTION + 1e-6,
    )
    press = float(np.abs(found.multipliers[1::3]).sum() / (robot.mass * np.linalg.norm(robot.model.gravity)))
    least = np.sqrt(2) / FRICTION  # friction alone carries the weight
    yield Figure(
        "press on both walls over the weight", f"≥ √2/μ = {least:.3f}", f"{press:.3f}", bool(press > least - 1e-6)
    )
    internal = found.multipliers - force
    basis = support.internal_forces
    off = internal - basis @ np.linalg.lstsq(basis, internal, rcond=None)[0]
    yield small("what they add is an internal force [slide 35]", largest(off) / largest(internal), 1e-6)
    yield agree(
        "and its torques are those of the null space", support.internal_torque(internal), found.torque - torque, 1e-6
    )
    yield from _climbing(robot, q)
    weak = pressed(robot, q, friction=0.1, limits=largest(found.torque))
    yield exactly("on ice with the same motors: the status", weak.status, Status.INFEASIBLE)


def _climbing(robot: Robot, q: Array) -> Iterator[Figure]:
    """The body goes up and comes back between the walls, once with friction known and once taken for plenty."""
    q0 = q
    first = ReferenceState(robot, q0)
    sides = np.array([-np.sign(first.frame(foot).p[1]) for foot in FEET])

    def way(t: float) -> tuple[Array, Array, Array]:
        w, up = 2 * np.pi / SECONDS, np.array([0.0, 0.0, RISE / 2])
        return first.com + up * (1 - np.cos(w * t)), up * w * np.sin(w * t), up * w**2 * np.cos(w * t)

    for what, friction in (("friction known", FRICTION), ("friction taken for plenty", 20.0)):
        feet = [
            PointContact(foot, normal=(0, side, 0), friction=friction) for foot, side in zip(FEET, sides, strict=True)
        ]
        tasks = [CoMTask(way, gain=10.0), FrameTask("trunk", axes="orientation", gain=10.0), PostureTask(q0)]
        controller = WholeBodyController(robot, tasks, feet, [TorqueLimits()], dt=STEP)
        q, v, slip, off, away = q0, np.zeros(robot.nv), 0.0, 0.0, 0.0
        for k in range(round(SECONDS / STEP)):
            solution, now = controller(k * STEP, q, v), ReferenceState(robot, q, v)
            J, bias = rows_of_feet(now, FEET)
            slipped = np.concatenate([now.frame(foot).p - first.frame(foot).p for foot in FEET])
            a, forces = now.held(solution.torque, J, bias + BACK * J @ v + BACK**2 / 4 * slipped)
            off, away = max(off, apart(a, solution.acceleration)), max(away, largest(now.com - way(k * STEP)[0]))
            slip = max(slip, _slip(robot, q, forces))
            middle = path(robot, q, v, a)(STEP / 2), v + STEP / 2 * a  # for an error of second order
            q, v = path(robot, q, middle[1])(STEP), v + STEP * a
        if friction == FRICTION:
            yield small(f"up and down between the walls, {what}: m off its path of {RISE:g} m", away, 4e-3)
            yield small(f"{what}: acceleration under the torques − the commanded one, by its size", off, 1e-9)
        good = slip < FRICTION + 1e-6 if friction == FRICTION else slip > 1.2 * FRICTION
        required = f"≤ {FRICTION}" if friction == FRICTION else f"> {1.2 * FRICTION:g}"
        yield Figure(f"{what}: |F_t| / F_n of the worst foot [slides 31–35]", required, f"{slip:.3f}", good)
