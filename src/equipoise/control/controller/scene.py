"""What tasks, contacts and constraints see of the robot: its quantities on symbols, each made once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...equations.symbols import SX, SYMBOLS, skew, stack, zeros

if TYPE_CHECKING:
    from ...robot import Robot


class Scene:
    """The robot at (q, v) on symbols. Twists are mixed: world axes, at the frame's origin; linear part first."""

    def __init__(self, robot: Robot) -> None:
        from ...equations.catalogue import SymbolicRobot

        self.robot = robot
        self.tree = robot.tree
        self.symbolic = SymbolicRobot(robot.tree, robot.place)
        self.q, self.v = SX.sym("q", robot.nq), SX.sym("v", robot.nv)
        self._made: dict[Any, Any] = {}

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    # --- frames ---------------------------------------------------------------------------------------------------

    def pose(self, frame: str) -> tuple[SX, SX]:
        """(R, p) of a frame in the world."""
        X = self._once(("pose", frame), lambda: self.symbolic.pose(self.q, frame))
        return X[:3, :3], X[:3, 3]

    def jacobian(self, frame: str) -> SX:
        """6×nv."""
        return self._once(("jacobian", frame), lambda: self.symbolic.jacobian(self.q, frame))

    def twist(self, frame: str) -> SX:
        return self._once(("twist", frame), lambda: self.symbolic.velocity(self.q, self.v, frame))

    def drift(self, frame: str) -> SX:
        """J̇ v: how the frame accelerates while a = 0."""
        return self._once(("drift", frame), lambda: self.symbolic.bias_acceleration(self.q, self.v, frame))

    def point(self, frame: str, s: SX) -> tuple[SX, SX, SX, SX]:
        """(position, Jacobian 3×nv, velocity, drift) of the point s, given in a frame's axes."""
        R, p = self.pose(frame)
        arm, J, V, A = R @ s, self.jacobian(frame), self.twist(frame), self.drift(frame)
        w = V[3:6]
        shift = -skew(arm)
        return p + arm, J[:3, :] + shift @ J[3:, :], V[:3] + shift @ w, A[:3] + shift @ A[3:] + skew(w) @ (skew(w) @ arm)

    # --- the whole robot --------------------------------------------------------------------------------------------

    @cached_property
    def com(self) -> SX:
        return self.symbolic.com(self.q)

    @cached_property
    def com_jacobian(self) -> SX:
        return self.symbolic.com_jacobian(self.q)

    @cached_property
    def com_drift(self) -> SX:
        return self.symbolic.com_bias(self.q, self.v)

    @cached_property
    def momentum_matrix(self) -> SX:
        return self.symbolic.momentum_matrix(self.q)

    @cached_property
    def momentum_drift(self) -> SX:
        return self.symbolic.momentum_bias(self.q, self.v)

    @cached_property
    def mass_matrix(self) -> SX:
        return self.symbolic.mass_matrix(self.q)

    @cached_property
    def bias_force(self) -> SX:
        return self.symbolic.bias_force(self.q, self.v)

    def difference(self, q_to: SX) -> SX:
        """The velocity that leads from q to another configuration in one second, (nv,)."""
        return self.symbolic.difference(self.q, q_to)

    def rows_of(self, y: SX) -> tuple[SX, SX]:
        """(J, J̇ v) of any function y(q), by differentiation along the motion."""
        import casadi

        from ...equations.manifold import coordinate_rates

        v = SX.sym("rate", self.tree.nv)
        y_dot = casadi.jtimes(y, self.q, coordinate_rates(self.tree, self.q, v))
        J = casadi.jacobian(y_dot, v)
        along = casadi.substitute(y_dot, v, self.v)
        return J, casadi.jtimes(along, self.q, coordinate_rates(self.tree, self.q, self.v))


def rotation_error(R: SX, R_to: SX) -> SX:
    """The rotation vector, in world axes, that turns R into R_to: log(R_to Rᵀ); at half a turn either of the two."""
    D = R_to @ R.T
    s = stack(D[2, 1] - D[1, 2], D[0, 2] - D[2, 0], D[1, 0] - D[0, 1]) / 2  # axis times sine
    cosine = (D[0, 0] + D[1, 1] + D[2, 2] - 1) / 2
    square = s.T @ s
    small = square < 1e-12
    sine = SYMBOLS.sqrt(SYMBOLS.where(small, 1.0, square))
    usual = s * SYMBOLS.where(small, 1 + square / 6, SYMBOLS.atan2(sine, cosine) / sine)  # near zero θ/sin θ is 1 + sin²θ/6
    return SYMBOLS.where(small * (cosine < 0), np.pi * _axis_of_half_turn(D), usual)


def _axis_of_half_turn(D: SX) -> SX:
    """n of D = 2 n nᵀ − 1: the longest column of D + 1."""
    columns = [D[:, k] + np.eye(3)[k] for k in range(3)]
    longest = columns[2]
    for k in (1, 0):
        others = [D[j, j] for j in range(3) if j != k]
        longest = SYMBOLS.where((D[k, k] >= others[0]) * (D[k, k] >= others[1]), columns[k], longest)
    return longest / SYMBOLS.sqrt(longest.T @ longest)


def matrix_of(entries: SX, rows: int, columns: int) -> SX:
    """A matrix from its entries, row by row."""
    M = zeros(rows, columns)
    for i in range(rows):
        for j in range(columns):
            M[i, j] = entries[i * columns + j]
    return M
