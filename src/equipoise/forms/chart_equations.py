"""The equations of motion in the coordinates of charts [BK12]: of the base, of ball joints, of free objects.

    M ÿ + N ẏ + g = φ + C_yᵀ λ,    C_y ÿ + Ċ_y ẏ = 0                                    [BK12, Eq. (32)]

M, N, g and φ all stand behind Tᵀ, with v = T ẏ, so the equation is Tᵀ (M a + h − tau) = C_yᵀ λ. The rows of T and of
C_y are independent: both sides are zero. λ vanishes in every motion, in the paper's [BK12, Eq. (33)] as here, but for
rounding; A of [BK12, Eq. (34)] takes it out whatever it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..algebra import quaternions
from ..algebra.arrays import times
from ..errors import ConstraintError, ModelError
from .bases import COM
from .charts import Chart, ChartPoint, as_instance

if TYPE_CHECKING:
    from .equations_of_motion import EquationsOfMotion

Array = np.ndarray
RANK_TOLERANCE = 1e-10  # of the largest singular value of C_y: rows below it repeat others
Charts = Mapping[str | None, Chart | type[Chart]]  # by joint; None is the base


@dataclass(frozen=True, eq=False)
class ChartEquations:
    """M ÿ + N ẏ + g = φ + C_yᵀ λ with C_y ÿ + Ċ_y ẏ = 0, in y = (x₀, θ, joints) [BK12, Eq. (32)], one state or a batch.

    Attributes:
        charts: by joint; None is the base.
        theta: parameters of all charts, (…, Σ d), in the order of the joints.
        y_dot: rates of all coordinates y, (…, ny).
        T, T_dot: v = T ẏ, a = T ÿ + Ṫ ẏ, v in the mixed variables of `form`, (…, nv, ny).
        M: [BK12, Eq. (25)], (…, ny, ny); it has the rank of T, not more.
        N: with N ẏ as of [BK12, Eq. (26)], (…, ny, ny). The matrix is another: it makes Ṁ − 2N skew, the paper's does
            not.
        g: gravity, (…, ny); the paper has it on the other side.
        C_y, C_bias: derivatives of the charts' constraints, (…, m, ny) and (…, m); rows may repeat each other.
    """

    form: EquationsOfMotion
    charts: Mapping[str | None, Chart]
    theta: Array
    y_dot: Array
    T: Array
    T_dot: Array
    M: Array
    N: Array
    g: Array
    C_y: Array
    C_bias: Array

    @property
    def chart(self) -> Chart:
        """The chart, or the first of several."""
        return next(iter(self.charts.values()))

    def force(self, tau: Array) -> Array:
        """φ = Tᵀ tau: a generalised force (…, nv) in the charts' coordinates, (…, ny)."""
        return times(np.swapaxes(self.T, -1, -2), tau)

    def acceleration(self, tau: Array) -> Array:
        """ÿ under generalised force tau (…, nv), mixed: (…, ny)."""
        return self.motion(self.force(tau))[0]

    def multiplier(self, tau: Array) -> Array:
        """λ of the charts' constraints, (…, m) [BK12, Eq. (33), with its sign mended]: zero, up to rounding.

        All terms of the equations are of the form Tᵀ x, and Tᵀ x = C_yᵀ λ has no other solution than zero, because the
        rows of T and C_y are independent. Only a force φ that is no Tᵀ tau, as `motion` takes it, needs a multiplier.
        """
        return self.motion(self.force(tau))[1]

    def motion(self, phi: Array) -> tuple[Array, Array]:
        """The optimality conditions of Gauss' principle [BK12, Eq. (31)], with independent rows in place of C_y.

        C_y = U diag(s) Vᵀ says no more than Vᵀ does; λ = U diag(1/s) λ' is the least that gives the same force.

        Args:
            phi: force in the charts' coordinates, (…, ny): `force(tau)`, or one that may push off the constraint.

        Returns:
            ÿ, (…, ny), and λ of the charts' constraints, (…, m).
        """
        U, s, V_T = self._independent
        m, n = V_T.shape[-2:]
        force = np.asarray(phi) - times(self.N, self.y_dot) - self.g
        bias = times(np.swapaxes(U, -1, -2), self.C_bias) / s
        left = np.zeros((*self.M.shape[:-2], n + m, n + m))
        left[..., :n, :n], left[..., n:, :n], left[..., :n, n:] = self.M, V_T, -np.swapaxes(V_T, -1, -2)
        solution = np.linalg.solve(left, np.concatenate([force, -bias], axis=-1)[..., None])[..., 0]
        return solution[..., :n], times(U, solution[..., n:] / s)

    @property
    def _independent(self) -> tuple[Array, Array, Array]:
        """U, s, Vᵀ of C_y without its zero singular values: as many everywhere in a batch."""
        U, s, V_T = np.linalg.svd(self.C_y, full_matrices=False)
        counts = np.sum(s > RANK_TOLERANCE * s.max(axis=-1, keepdims=True, initial=0.0), axis=-1)
        rank = int(np.max(counts, initial=0))
        if not np.all(counts == rank):
            raise ConstraintError(
                f"the charts' constraints have rank {counts.min()} at some states and {rank} at others"
            )
        return U[..., :rank], s[..., :rank], V_T[..., :rank, :]

    @property
    def projector(self) -> Array:
        """A = 1 − C_yᵀ (C_y C_yᵀ)⁺ C_y: takes the multiplier out of the equations [BK12, Eq. (34)], for any chart."""
        V_T = self._independent[2]
        return np.eye(V_T.shape[-1]) - np.swapaxes(V_T, -1, -2) @ V_T

    def inverse_dynamics(self, y_dotdot: Array) -> Array:
        """Generalised force tau (…, nv), mixed, that gives ÿ."""
        return self.form.force(self.body_acceleration(y_dotdot))

    def body_acceleration(self, y_dotdot: Array) -> Array:
        """a = T ÿ + Ṫ ẏ: the same acceleration in the mixed variables, (…, nv)."""
        return times(self.T, y_dotdot) + times(self.T_dot, self.y_dot)

    def jacobian(self, J: Array) -> Array:
        """A Jacobian with respect to y, from one with respect to v [BK12, Eqs. (14)–(17)]."""
        return np.asarray(J) @ self.T

    def jacobian_rate(self, J: Array, J_dot: Array) -> Array:
        """Its rate: J̇ T + J Ṫ."""
        return np.asarray(J_dot) @ self.T + np.asarray(J) @ self.T_dot


@dataclass(frozen=True, eq=False)
class _Block:
    """A chart at one joint: the rows of v that it replaces, and their Jacobian."""

    rows: slice
    chart: Chart
    point: ChartPoint
    J: Array
    J_dot: Array


def chart_equations(form: EquationsOfMotion, charts: Charts) -> ChartEquations:
    """The equations of `form` (mixed) in the coordinates of charts, by joint; None is the base."""
    chosen = {joint: as_instance(chart) for joint, chart in charts.items()}
    blocks = sorted((_block(form, chart, joint) for joint, chart in chosen.items()), key=lambda block: block.rows.start)
    if not blocks:
        raise ModelError("in_chart needs a chart: one, or one for each joint by name")
    batch, n = form.v.shape[:-1], form.v.shape[-1]
    size = n + sum(block.chart.dimension - (block.rows.stop - block.rows.start) for block in blocks)
    count = sum(block.point.C.shape[-1] for block in blocks)
    T, T_dot, C_y = (np.zeros((*batch, rows, size)) for rows in (n, n, count))
    rates, row, column, at = [], 0, 0, 0
    for block in blocks:
        kept, d, m = block.rows.start - row, block.chart.dimension, block.point.C.shape[-1]
        T[..., row : block.rows.start, column : column + kept] = np.eye(kept)
        rates += [form.v[..., row : block.rows.start], block.point.rate]
        theta = slice(column + kept, column + kept + d)
        T[..., block.rows, theta], T_dot[..., block.rows, theta] = block.J, block.J_dot
        C_y[..., at : at + m, theta] = block.point.C_theta
        row, column, at = block.rows.stop, theta.stop, at + m
    T[..., row:, column:] = np.eye(n - row)
    rates.append(form.v[..., row:])
    T_T = np.swapaxes(T, -1, -2)
    parameters, biases = ([getattr(block.point, name) for block in blocks] for name in ("theta", "C_bias"))
    return ChartEquations(
        form, chosen, np.concatenate(parameters, axis=-1), np.concatenate(rates, axis=-1), T, T_dot, T_T @ form.M @ T,
        T_T @ (form.M @ T_dot + form.C @ T), times(T_T, form.g), C_y, np.concatenate(biases, axis=-1),
    )  # fmt: skip


def _block(form: EquationsOfMotion, chart: Chart, joint: str | None) -> _Block:
    if joint is None:
        return _base_block(form, chart)
    made = form.origin.joint(joint)
    if made.type.name == "floating":
        return _floating_block(form, chart, form.origin.q[..., made.q], made.v)
    if made.type.name == "ball" and not chart.whole_pose:
        return _ball_block(form, chart, form.origin.q[..., made.q], made.v)
    raise ModelError(
        f"a chart of rotations goes with a ball joint or a free object; {joint!r} is {made.type.name}, the chart "
        f"{chart.name}"
    )


def _base_block(form: EquationsOfMotion, chart: Chart) -> _Block:
    if form.base is COM:
        raise ModelError(
            "the average velocity G belongs to no frame, so no chart describes it; take Compound(eq.COM) instead"
        )
    if not form.origin.floating:
        raise ModelError("a robot with a fixed base has no orientation to choose a chart for; name a ball joint")
    return _floating_block(form, chart, form.q[..., :7], slice(0, 6))


def _floating_block(form: EquationsOfMotion, chart: Chart, q: Array, v: slice) -> _Block:
    """A free body, in its mixed velocity: ω is in the axes of what it floats in."""
    X = np.zeros((*q.shape[:-1], 4, 4))
    X[..., :3, :3], X[..., :3, 3], X[..., 3, 3] = _rotation(q[..., 3:]), q[..., :3], 1.0
    rows = v if chart.whole_pose else slice(v.start + 3, v.stop)
    theta = chart.parameters(X)
    point = chart.at(theta, chart.rates(theta, form.v[..., rows]))
    return _Block(rows, chart, point, point.J, point.J_dot)


def _ball_block(form: EquationsOfMotion, chart: Chart, q: Array, v: slice) -> _Block:
    """A ball joint: its velocity is in the child's axes, the chart's in the parent's."""
    R = _rotation(q)
    theta = chart.parameters(R)
    point = chart.at(theta, chart.rates(theta, times(R, form.v[..., v])))
    return _Block(v, chart, point, point.J_base, point.J_base_dot)


def _rotation(quaternion: Array) -> Array:
    """(…, 3, 3) of (…, 4)."""
    return np.asarray(quaternions.rotation(tuple(np.moveaxis(quaternion, -1, 0))))
