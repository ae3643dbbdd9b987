"""[ETH19, slides 31–35]: internal forces at work. A quadruped braces itself between two walls, as in a chimney.

Feet push outwards against walls that can only push back, with friction. The least torques that hold the body do not
press enough: all feet slip. Internal forces move nothing and press; torques chosen within the friction cones hold.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..balance import SupportDynamics, support_dynamics
from ..control.closed_form.unilateral import UnilateralTorque, unilateral_torque
from ..control.qp import Status
from ..robot import Robot, load
from .reference import ReferenceState
from .rows import Figure, agree, exactly, largest, small

Array = np.ndarray
FEET = ("front_left_foot", "front_right_foot", "hind_left_foot", "hind_right_foot")
FRICTION = 0.6
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
    J = np.concatenate([now.frame(foot).J[:3] for foot in FEET])
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
    J = np.concatenate([now.frame(foot).J[:3] for foot in FEET])
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
    weak = pressed(robot, q, friction=0.1, limits=largest(found.torque))
    yield exactly("on ice with the same motors: the status", weak.status, Status.INFEASIBLE)
