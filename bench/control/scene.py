"""A problem with its numbers: robot, limits, references and a second of motion, the same for every side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from equipoise.robot import Robot, load

from .problem import BenchProblem

Array = np.ndarray
AMPLITUDE = 0.007  # rad, of the joints' motion around the posture


@dataclass(frozen=True, eq=False)
class BenchScene:
    """What a controller is given. Joint arrays leave out the base."""

    problem: BenchProblem
    robot: Robot
    q0: Array  # the posture, soles flat on the ground
    effort: Array  # N m
    velocity: Array  # rad/s
    lower: Array  # rad
    upper: Array
    posture: Array  # wanted joints
    com: Array  # wanted centre of mass
    frames: dict[str, Array]  # pose of every sole and hand that is to be kept
    q: Array  # states, (count, nq)
    v: Array  # (count, nv)

    @cached_property
    def urdf(self) -> str:
        """The robot without its shapes, so that no side looks for meshes."""
        from equipoise.model.urdf_writer import write_urdf

        bare = {name: replace(link, visuals=(), collisions=()) for name, link in self.robot.model.links.items()}
        return write_urdf(replace(self.robot.model, links=bare))

    def as_plain(self) -> dict[str, Any]:
        """Everything a peer needs, ready for JSON."""
        arrays = ("q0", "effort", "velocity", "lower", "upper", "posture", "com", "q", "v")
        plain: dict[str, Any] = {name: getattr(self, name).tolist() for name in arrays}
        plain["frames"] = {name: X.tolist() for name, X in self.frames.items()}
        joints = [name for name, joint in self.robot.joints.items() if joint.mimic is None]
        return {**plain, "problem": self.problem.as_plain(), "urdf": self.urdf, "joints": joints}


def build(problem: BenchProblem, *, count: int = 200, seed: int = 0, shuffled: bool = False) -> BenchScene:
    """The scene of a problem.

    Args:
        count: states, `problem.dt` apart as a control loop would see them.
        shuffled: in random order instead, so that nobody gains from the step before.
    """
    robot = _robot(problem)
    s0 = _joint_values(robot, problem.posture)
    q0 = _grounded(robot, problem, s0)
    soles = {name: robot.pose(q0, name) for name in problem.feet}
    q, v = _motion(robot, problem, q0, soles, count, seed)
    if shuffled:
        order = np.random.default_rng(seed).permutation(count)
        q, v = q[order], v[order]
    limits = robot.limits
    scale, own = _joint_values(robot, problem.effort_scale, 1.0), _joint_values(robot, problem.velocity_limit, np.nan)
    return BenchScene(
        problem, robot, q0,
        effort=limits.effort[6:] * scale,
        velocity=np.where(np.isnan(own), limits.velocity[6:], own),
        lower=limits.lower[7:],
        upper=limits.upper[7:],
        posture=s0 + _joint_values(robot, problem.posture_offset),
        com=robot.com(q0) + problem.com_offset,
        frames={**soles, **{name: robot.pose(q0, name) for name in problem.hands}},
        q=q, v=v,
    )  # fmt: skip


def _robot(problem: BenchProblem) -> Robot:
    robot = load(problem.robot, locked=problem.locked, gravity=problem.gravity)
    X = np.eye(4)
    X[:3, 3] = problem.sole[0]
    for frame, link in problem.feet.items():
        robot = robot.with_frame(frame, link, X)
    return robot


def _joint_values(robot: Robot, given: Any, default: float = 0.0) -> Array:
    values = np.full(robot.nv - 6, default)
    for name, x in given.items():
        values[robot.joints[name].v.start - 6] = x
    return values


def _grounded(robot: Robot, problem: BenchProblem, s0: Array) -> Array:
    """The posture with the first sole's height as the ground."""
    q = robot.neutral()
    q[7:] = s0
    q[2] -= robot.pose(q, next(iter(problem.feet)))[2, 3]
    return q


def _motion(
    robot: Robot, problem: BenchProblem, q0: Array, soles: dict[str, Array], count: int, seed: int
) -> tuple[Array, Array]:
    """Every joint swings around the posture; what moves the soles is taken away, from q and from v."""
    rng = np.random.default_rng(seed)
    n = robot.nv - 6
    phase, pulse = rng.uniform(0, 2 * np.pi, n), rng.uniform(1.0, 4.0, n)
    states = []
    q = q0
    for t in problem.dt * np.arange(count):
        q = np.concatenate([q[:7], q0[7:] + AMPLITUDE * np.sin(pulse * t + phase)])
        q = _onto_soles(robot, soles, q)
        wish = np.concatenate([np.zeros(6), AMPLITUDE * pulse * np.cos(pulse * t + phase)])
        J = np.concatenate([robot.jacobian(q, name) for name in soles])
        states.append((q, wish - np.linalg.pinv(J) @ (J @ wish)))
    return np.stack([q for q, _ in states]), np.stack([v for _, v in states])


def _onto_soles(robot: Robot, soles: dict[str, Array], q: Array) -> Array:
    """The nearest q with the soles where they should be, by Newton steps."""
    for _ in range(12):
        errors = []
        for name, X in soles.items():
            Y = robot.pose(q, name)
            turn = X[:3, :3] @ Y[:3, :3].T
            vee = 0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
            errors += [X[:3, 3] - Y[:3, 3], vee]
        error = np.concatenate(errors)
        if np.abs(error).max() < 1e-12:
            break
        J = np.concatenate([robot.jacobian(q, name) for name in soles])
        q = robot.integrate(q, np.linalg.pinv(J) @ error)
    return q
