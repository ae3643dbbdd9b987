"""From a start to the nearest posture: steps of a quadratic program within a trust region.

Each step solves the problem to first order: first with the wanted posture and light torques as a faint preference, then
the rows alone, to rounding. A step counts only if the rows themselves, or near a solution the preference, get better.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..qp import DaqpSolver, QuadraticProgram
from .posture_problem import LIGHT, PostureIterate, Problem

if TYPE_CHECKING:
    from ...robot import Robot

Array = np.ndarray
DIFFERENCE = 1e-7  # rad and m: step of difference quotients, which only serve to find the way
CONVERGED = 1e-9  # of the scaled rows
NEAR = 1e-3  # of the scaled rows: as near as steps towards the wanted posture stay
RADIUS = 0.5  # rad and m: the first trust region
HEAVY = 1e4  # weight of the rows beside what is preferred
NEARBY = 1e-3  # of staying where it is
PROXIMAL = 1e-9  # the same where only the rows count
SMALL = 1e-2  # of forces (in weights)


@dataclass(frozen=True, eq=False)
class Descent:
    """Finds solutions of a problem."""

    problem: Problem
    solver: DaqpSolver = field(default_factory=DaqpSolver)

    @property
    def robot(self) -> Robot:
        return self.problem.robot

    def solved(self, q: Array, iterations: int) -> PostureIterate:
        """From a start to the nearest solution, or as near as it gets: with preferences, then the rows alone."""
        point = self.problem.at(q, np.zeros(self.problem.unknown_forces))
        for polishing in (False, True):
            point = self._descended(point, iterations // 2, polishing)
        return point

    def _descended(self, point: PostureIterate, iterations: int, polishing: bool) -> PostureIterate:
        radius = RADIUS
        for _ in range(iterations):
            if polishing and point.violation <= CONVERGED / 10:
                break
            delta, forces = self._step(point, radius, polishing)
            new = self.problem.at(self.problem.within(self.robot.integrate(point.q, delta)), forces)
            inside = new.violation <= NEAR and point.violation <= NEAR and not polishing
            better = (
                new.preference < point.preference - 1e-6 if inside else new.violation < point.violation * (1 - 1e-3)
            )
            if better:
                grown = np.abs(delta).max() > 0.9 * radius
                point, radius = new, min(2 * radius, 1.0) if grown else radius
            else:
                radius = min(radius, float(np.abs(delta).max())) / 4
            if radius < (1e-9 if polishing else 1e-4):
                break
        return point

    def _step(self, point: PostureIterate, radius: float, polishing: bool) -> tuple[Array, Array]:
        """(change of configuration, new forces): equalities as least squares, inequalities as rows.

        Rows that hold now must hold to first order, which no step at all does too; rows that do not get a slack of
        their own.
        """
        nv, count, q = self.robot.nv, self.problem.unknown_forces, point.q
        equal, error, rows, lower, upper = self._first_order(point)
        weight, near = (1.0, PROXIMAL) if polishing else (HEAVY, NEARBY)
        H = weight * equal.T @ equal + near * np.eye(nv + count)
        f = -weight * equal.T @ error
        f[nv:] -= near * point.forces
        if not polishing:
            A, b = self._preferred(q, rows[: len(self._limited)], upper[: len(self._limited)] - 1)
            H, f = H + A.T @ A, f - A.T @ b
        x_lower, x_upper, sums, least, most = self._hard(q, radius)
        now = rows[:, nv:] @ point.forces
        beyond = (now < lower - CONVERGED) | (now > upper + CONVERGED)
        broken = np.flatnonzero(beyond)
        slack, k = np.zeros((len(rows) + len(sums), len(broken))), len(broken)
        slack[broken, np.arange(k)] = 1.0
        free = np.full(k, np.inf)
        problem = QuadraticProgram(
            np.block([[H, np.zeros((len(H), k))], [np.zeros((k, len(H))), weight * np.eye(k)]]),
            np.concatenate([f, np.zeros(k)]),
            np.hstack([np.vstack([rows, sums]), slack]),
            np.concatenate([np.where(beyond, lower, np.minimum(lower, now)), least]),
            np.concatenate([np.where(beyond, upper, np.maximum(upper, now)), most]),
            np.concatenate([x_lower, -free]),
            np.concatenate([x_upper, free]),
        )
        answer = self.solver.solve(problem)
        if not np.isfinite(answer.x).all():
            return np.zeros(nv), point.forces
        return answer.x[:nv], np.maximum(answer.x[nv : nv + count], 0.0)

    def _first_order(self, point: PostureIterate) -> tuple[Array, Array, Array, Array, Array]:
        """Equalities A x = b, then rows with bounds (torques in parts of their limits, distances), in x = (δ, λ)."""
        nv, count, q, first = self.robot.nv, self.problem.unknown_forces, point.q, self.problem.first
        geometry, gaps = self.problem.geometry(q), self.problem.gaps(q)
        static, slope = self._static_rows(q, point.forces)
        columns = self.problem.force_columns(q)
        force_free = static - columns @ point.forces
        both, none = np.hstack([slope, columns]), np.zeros((0, nv))
        G = np.vstack([none, *(J for _, _, J in geometry)])
        D = np.vstack([none, *(J for _, _, J in gaps)])
        equal = np.vstack([np.hstack([G, np.zeros((len(G), count))]), both[:first] / self.problem.weight])
        error = np.concatenate([*(e for _, e, _ in geometry), -force_free[:first] / self.problem.weight])
        at, effort = self._limited, self.problem.effort[self._limited]
        torque = force_free[at] / effort
        gap = np.concatenate([np.zeros(0), *(d for _, d, _ in gaps)])
        rows = np.vstack([both[at] / effort[:, None], np.hstack([D, np.zeros((len(D), count))])])
        lower = np.concatenate([-1 - torque, -gap])
        return equal, error, rows, lower, np.concatenate([1 - torque, np.full(len(gap), np.inf)])

    @cached_property
    def _limited(self) -> Array:
        """Places in v of torques with a limit."""
        return np.flatnonzero(np.isfinite(self.problem.effort))

    def _static_rows(self, q: Array, forces: Array) -> tuple[Array, Array]:
        """g − Σ Jᵀ F and its derivative by q."""
        nv = self.robot.nv
        beside = self.robot.integrate(np.broadcast_to(q, (nv, len(q))).copy(), DIFFERENCE * np.eye(nv))
        here, there = self.problem.static(q, forces), self.problem.static(beside, forces)
        return here, (there - here).T / DIFFERENCE

    def _preferred(self, q: Array, torque_rows: Array, torque_room: Array) -> tuple[Array, Array]:
        """The wanted joints, light torques, small forces: A x near b."""
        nv, count, first = self.robot.nv, self.problem.unknown_forces, self.problem.first
        joints = np.hstack([np.eye(nv)[first:], np.zeros((nv - first, count))])
        away = self.robot.difference(q, self.problem.wanted)[first:]
        light = np.sqrt(LIGHT)
        forces = SMALL * np.hstack([np.zeros((count, nv)), np.eye(count)])
        A = np.vstack([joints, light * torque_rows, forces])
        return A, np.concatenate([away, light * torque_room, np.zeros(count)])

    def _hard(self, q: Array, radius: float) -> tuple[Array, Array, Array, Array, Array]:
        """Bounds of x by joint limits and the trust region; forces push; rows of what each contact bears with their
        bounds."""
        nv, count = self.robot.nv, self.problem.unknown_forces
        lower, upper = np.full(nv, -radius), np.full(nv, radius)
        in_v, in_q = self.problem.joint_positions
        lower[in_v] = np.minimum(np.maximum(lower[in_v], self.problem.lower[in_v] - q[in_q]), 0.0)
        upper[in_v] = np.maximum(np.minimum(upper[in_v], self.problem.upper[in_v] - q[in_q]), 0.0)
        sums, least, most = self.problem.normal_forces()
        rows = np.hstack([np.zeros((len(sums), nv)), sums])
        x_lower, x_upper = np.concatenate([lower, np.zeros(count)]), np.concatenate([upper, np.full(count, np.inf)])
        return x_lower, x_upper, rows, least, most

    def best_forces(self, q: Array) -> tuple[Array, bool]:
        """With q fixed all is linear: the lightest torques, exactly in balance; and whether such forces exist."""
        problem = self.problem
        count, first = problem.unknown_forces, problem.first
        if not count:
            return np.zeros(0), True
        g, columns = self.robot.gravity(q), problem.force_columns(q)
        effort = np.where(np.isfinite(problem.effort), problem.effort, problem.weight)[first:]
        T, t = columns[first:] / effort[:, None], g[first:] / effort
        sums, least, most = problem.normal_forces()
        room = np.where(np.isfinite(problem.effort[first:]), 1.0, np.inf)
        A = np.vstack([columns[:first] / problem.weight, T, sums])
        lower = np.concatenate([-g[:first] / problem.weight, -room - t, least])
        upper = np.concatenate([-g[:first] / problem.weight, room - t, most])
        program = QuadraticProgram(T.T @ T + 1e-4 * np.eye(count), T.T @ t, A, lower, upper, x_lower=np.zeros(count))
        result = self.solver.solve(program)
        return np.maximum(result.x, 0.0), bool(result.solved)
