"""Prioritised least squares over x = (u̇, F_c, τ): equation of motion, motion, force and torque tasks at any number of
levels.

    minimise ‖A_i x − b_i‖ for i = 1, 2, …, each among the minimisers of those before            [ETH19, slides 36–39]

Equalities only, in closed form; the levels of a `QuadraticProgram` go with inequalities and give the same numbers
without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...algebra.least_squares import largest_singular_value, null_space_projector, pseudo_inverse
from ...balance.support_dynamics import SupportDynamics
from ...errors import ShapeError, StateError
from ..qp import Rows
from .motions import Motion

Array = np.ndarray


def prioritised_least_squares(levels: Sequence[Rows], damping: float = 0.0) -> Array:
    """The shortest x that minimises ‖A₁ x − b₁‖, then among those ‖A₂ x − b₂‖, and so on, by projection.

        x_i = (A_i N_i)⁺ (b_i − A_i Σ_{k<i} N_k x_k),    x = Σ N_i x_i                            [ETH19, slide 39]

    N_i is the projector onto what all levels above leave free. No level disturbs one above it, also with damping, which
    bounds the steps of levels that conflict or are nearly singular.

    Args:
        levels: rows A x = b, first is most important; see `Rows.equal`.
        damping: of the pseudo-inverses, in the unit of the singular values of A_i.
    """
    if not levels:
        raise ShapeError("prioritised_least_squares: give at least one level")
    n = levels[0].A.shape[1]
    x, N = np.zeros(n), np.eye(n)
    for i, level in enumerate(levels, start=1):
        _require_equalities(i, level, n)
        A, scale = level.A @ N, largest_singular_value(level.A)
        x = x + N @ (pseudo_inverse(A, damping, scale=scale) @ (level.lower - level.A @ x))
        N = N @ null_space_projector(A, scale=scale)
    return x


def _require_equalities(i: int, level: Rows, n: int) -> None:
    if level.A.shape[1] != n:
        raise ShapeError(f"level {i} has {level.A.shape[1]} unknowns, wanted {n} as in the first")
    if not np.array_equal(level.lower, level.upper, equal_nan=True):
        raise ShapeError(
            f"level {i} has inequalities, which projections cannot keep: the levels of a QuadraticProgram can"
        )
    if not (np.isfinite(level.A).all() and np.isfinite(level.lower).all()):
        raise StateError(f"level {i} holds NaN or infinity")


@dataclass(frozen=True, eq=False)
class WholeBodySolution:
    """x taken apart, and what each level lacks."""

    acceleration: Array  # u̇, (nv,)
    force: Array  # F_c on the robot, (rows of J_c,)
    torque: Array  # of the actuators, (actuators,)
    residuals: tuple[Array, ...]  # A_i x − b_i of each level


@dataclass(frozen=True, eq=False)
class WholeBody:
    """Rows over x = (u̇, F_c, τ) for a robot on its contacts, at one state.

    The slides write M u̇ + b + g + J_cᵀ F_c = Sᵀ τ, the force by the robot; here F_c is the force **on** the robot.

    Args:
        support: from `balance.support_dynamics`.
    """

    support: SupportDynamics

    def __post_init__(self) -> None:
        if self.support.jacobian.ndim != 2:
            raise ShapeError(
                f"WholeBody looks at one state, J_c of two dimensions, got shape {self.support.jacobian.shape}"
            )

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of accelerations, contact forces and torques."""
        return self.support.jacobian.shape[1], self.support.jacobian.shape[0], len(self.support.S)

    def equation_of_motion(self) -> Rows:
        """[M  −J_cᵀ  −Sᵀ] x = −h [ETH19, slide 38]."""
        c = self.support.constrained
        return Rows.equal(np.hstack([c.M, -c.A.T, -self.support.S.T]), -c.h, ("equation of motion",) * len(c.h))

    def contacts(self) -> Rows:
        """[J_c  0  0] x = −J̇_c v: no contact accelerates."""
        c = self.support.constrained
        return self.motion(Motion(c.A, -c.b), np.zeros(len(c.b)), "contacts")

    def motion(self, motion: Motion, acceleration: ArrayLike, name: str = "motion") -> Rows:
        """[J  0  0] x = ẇ* − J̇v [ETH19, slide 38]."""
        return self._rows(0, motion.J, np.asarray(acceleration, dtype=float) - motion.bias, name)

    def posture(self, acceleration: ArrayLike, name: str = "posture") -> Rows:
        """[1  0  0] x = u̇*: of all velocities, the base included."""
        return self._rows(0, np.eye(self.sizes[0]), acceleration, name)

    def force(self, force: ArrayLike, which: Sequence[int] | None = None, name: str = "force") -> Rows:
        """[0  1  0] x = F_c* [ETH19, slide 38]; `which` are the rows of J_c meant, all if not given."""
        chosen = np.eye(self.sizes[1]) if which is None else np.eye(self.sizes[1])[list(which)]
        return self._rows(1, chosen, force, name)

    def torque(self, torque: ArrayLike | None = None, name: str = "torque") -> Rows:
        """[0  0  1] x = τ*, zero if not given [ETH19, slide 38]."""
        return self._rows(2, np.eye(self.sizes[2]), np.zeros(self.sizes[2]) if torque is None else torque, name)

    def _rows(self, part: int, A: Array, b: ArrayLike, name: str) -> Rows:
        blocks = [A if k == part else np.zeros((len(A), size)) for k, size in enumerate(self.sizes)]
        if A.shape[1] != self.sizes[part] or np.shape(b) != (len(A),):
            raise ShapeError(f"{name}: wanted {len(A)} targets for a matrix of {self.sizes[part]} columns, "
                             f"got {np.shape(b)} for one of shape {A.shape}")  # fmt: skip
        return Rows.equal(np.hstack(blocks), b, (name,) * len(A))

    def solve(self, levels: Sequence[Rows | Sequence[Rows]], damping: float = 0.0) -> WholeBodySolution:
        """Levels, first is most important; rows of one level may come in parts. `equation_of_motion()` belongs on
        top."""
        whole = [level if isinstance(level, Rows) else stacked(level) for level in levels]
        x = prioritised_least_squares(whole, damping)
        a, force, torque = np.split(x, np.cumsum(self.sizes)[:2])
        return WholeBodySolution(a, force, torque, tuple(level.A @ x - level.lower for level in whole))


def stacked(parts: Sequence[Rows]) -> Rows:
    """Rows of several tasks as one level."""
    A, lower, upper = (np.concatenate([getattr(part, side) for part in parts]) for side in ("A", "lower", "upper"))
    return Rows(A, lower, upper, tuple(name for part in parts for name in part.names))
