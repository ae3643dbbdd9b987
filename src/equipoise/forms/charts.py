"""Charts of SO(3), and the equations of motion in their coordinates [BK12].

A chart is a mapping ρ from parameters θ to a rotation (or, for the unit dual quaternion, to a whole pose), with a constraint
C(θ) = 0 where it has more parameters than freedoms. A user writes ρ and C on symbols; everything else follows from them:
J_ω by [BK12, Eq. (10)], its rate, the derivatives of C, and the way back from a rotation to parameters.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algebra import quaternions
from ..algebra.arrays import times
from ..algebra.rigid import rpy_from_rotation, skew
from ..errors import ModelError, ShapeError, StateError
from ..machine.kernel import Kernel
from ..machine.program import Program
from ..machine.store import kernel_of
from .bases import COM
from .equations_of_motion import EquationsOfMotion

Array = np.ndarray
SINGULAR = 1e-6  # smallest singular value of J_ω at which a chart is said to have lost a direction


class Chart:
    """A chart of your own.

    Args:
        rho: function of a column of `dimension` symbols that returns the 3×3 rotation matrix (or, with `whole_pose`, the 4×4
            pose), as a CasADi expression.
        dimension: number of parameters d.
        constraint: function of the same symbols that returns C(θ), a column; None for a chart without constraint.
        whole_pose: ρ gives position and orientation.
        name: for messages.
    """

    def __init__(
        self,
        rho: Callable[[Any], Any],
        dimension: int,
        constraint: Callable[[Any], Any] | None = None,
        *,
        whole_pose: bool = False,
        name: str = "the chart",
    ) -> None:
        if dimension < 3:
            raise ModelError(f"{name}: a rotation needs at least three parameters, not {dimension}")
        self.rho, self.dimension, self.constraint = rho, dimension, constraint
        self.whole_pose, self.name = whole_pose, name

    @functools.cached_property
    def _kernel(self) -> Kernel:
        """(θ, θ̇) → X, dX/dθ, J, J̇, C, C_θ, Ċ_θ θ̇."""
        return kernel_of(_traced(self), strict=False)

    def at(self, theta: Array, rate: Array | None = None) -> ChartPoint:
        """Everything the chart says at parameters θ moving at rate θ̇."""
        theta = np.asarray(theta, dtype=float)
        if theta.shape[-1:] != (self.dimension,):
            raise ShapeError(f"{self.name} has {self.dimension} parameters, got an array of shape {theta.shape}")
        rate = np.zeros_like(theta) if rate is None else np.asarray(rate, dtype=float)
        return ChartPoint(theta, rate, *self._kernel(theta, rate))

    def parameters(self, X: Array) -> Array:
        """Parameters of a pose (4×4) or rotation (3×3): by Gauss–Newton on ρ(θ) = R, C(θ) = 0, from several starts."""
        target = np.asarray(X, dtype=float)
        goal = target if self.whole_pose else target[:3, :3]
        rng = np.random.default_rng(0)
        start = np.zeros(self.dimension)
        for _ in range(30):
            theta = self._refined(start, goal)
            if theta is not None:
                return theta
            start = rng.normal(size=self.dimension)
        raise StateError(f"{self.name}: no parameters were found for the rotation\n{goal}")

    def _refined(self, theta: Array, goal: Array) -> Array | None:
        for _ in range(60):
            point = self.at(theta)
            residual = np.concatenate([(point.X - goal).ravel(), np.atleast_1d(point.C)])
            if np.abs(residual).max() < 1e-13:
                return theta
            slope = np.vstack([point.dX.reshape(-1, self.dimension), point.C_theta.reshape(-1, self.dimension)])
            damping = 1e-3 * min(1.0, float(residual @ residual))
            theta = theta - np.linalg.solve(slope.T @ slope + damping * np.eye(self.dimension), slope.T @ residual)
        return theta if np.abs(residual).max() < 1e-10 else None

    def rates(self, theta: Array, V: Array) -> Array:
        """θ̇ for an angular velocity ω in world axes, or (ṗ, ω) of a whole pose: J θ̇ = V [BK12, Eq. (2)] and C_θ θ̇ = 0."""
        point = self.at(theta)
        rows = np.concatenate([point.J, point.C_theta.reshape(-1, self.dimension)])
        smallest = np.linalg.svd(rows, compute_uv=False)[-1]
        if smallest < SINGULAR:
            raise StateError(
                f"{self.name} is singular at θ = {np.round(theta, 6)}: its angular velocities span less than three directions "
                f"(smallest singular value {smallest:.1e}). UnitQuaternion and RotationMatrix have no singularity."
            )
        return np.linalg.lstsq(rows, np.concatenate([V, np.zeros(len(rows) - len(point.J))]))[0]


@dataclass(frozen=True, eq=False)
class ChartPoint:
    """A chart at one point. V = J θ̇ with V = ω in world axes, or (ṗ, ω) for a whole pose."""

    theta: Array
    rate: Array
    X: Array  # rotation or pose
    dX: Array  # its derivative: (3·3 or 4·4, d), entries row by row
    J: Array  # J_ω^global [BK12, Eq. (10)]
    J_dot: Array
    C: Array  # constraint
    C_theta: Array
    C_bias: Array  # Ċ_θ θ̇

    @property
    def J_base(self) -> Array:
        """J_ω^base = Rᵀ J_ω^global [BK12, Eq. (13)]: angular velocity in the axes of the body."""
        return np.swapaxes(self.X[..., :3, :3], -1, -2) @ self.J[..., -3:, :]

    @property
    def J_base_dot(self) -> Array:
        """Rate of J_base: Rᵀ (J̇ − ω^ J)."""
        R_T = np.swapaxes(self.X[..., :3, :3], -1, -2)
        w = times(self.J[..., -3:, :], self.rate)
        return R_T @ (self.J_dot[..., -3:, :] - skew(w) @ self.J[..., -3:, :])


def _traced(chart: Chart) -> Program:
    import casadi

    from ..equations.symbols import SX
    from ..machine.trace import trace

    theta, rate = SX.sym("theta", chart.dimension), SX.sym("rate", chart.dimension)
    X = SX(chart.rho(theta))
    size = 4 if chart.whole_pose else 3
    if X.shape != (size, size):
        raise ModelError(f"{chart.name}: ρ must return a {size}×{size} matrix, got {X.shape[0]}×{X.shape[1]}")
    columns = [X[:3, i] for i in range(3)]
    slopes = [casadi.jacobian(column, theta) for column in columns]
    J = sum(columns[k] @ columns[j].T @ slopes[i] for i, j, k in ((0, 1, 2), (2, 0, 1), (1, 2, 0)))  # [BK12, Eq. (10)]
    if chart.whole_pose:
        J = casadi.vertcat(casadi.jacobian(X[:3, 3], theta), J)
    C = SX(0, 1) if chart.constraint is None else casadi.vec(SX(chart.constraint(theta)))
    C_theta = casadi.jacobian(C, theta)

    def along(expression: Any) -> Any:
        return casadi.jtimes(expression, theta, rate)

    results = {
        "X": X, "dX": casadi.jacobian(casadi.vec(X.T), theta), "J": J, "J_dot": along(J),
        "C": C, "C_theta": C_theta, "C_bias": along(C_theta) @ rate,
    }  # fmt: skip
    m = C.shape[0]
    return trace(chart.name, {"theta": theta, "rate": rate}, results, shapes={"C": (m,), "C_bias": (m,)})


# --- built-in charts ------------------------------------------------------------------------------------------------


class RollPitchYaw(Chart):
    """R = Rz(yaw) Ry(pitch) Rx(roll), θ = (roll, pitch, yaw). Singular at pitch ±90°."""

    def __init__(self) -> None:
        def rho(theta: Any) -> Any:
            import casadi

            (cr, cp, cy), (sr, sp, sy) = ([f(theta[i]) for i in range(3)] for f in (casadi.cos, casadi.sin))
            rows = [
                [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                [-sp, cp * sr, cp * cr],
            ]
            return casadi.vertcat(*(casadi.horzcat(*row) for row in rows))

        super().__init__(rho, 3, name="RollPitchYaw")

    def parameters(self, X: Array) -> Array:
        return np.array(rpy_from_rotation(np.asarray(X)[:3, :3]))


def _unit(theta: Any) -> Any:
    """θᵀ θ − 1 [BK12, Eq. (28)]."""
    return theta.T @ theta - 1


def _quaternion_rotation(theta: Any) -> Any:
    """ρ for a quaternion of any length, so that J_ω is right off the unit sphere too."""
    from ..equations.symbols import SYMBOLS

    return quaternions.rotation([theta[i] for i in range(4)], SYMBOLS)


class UnitQuaternion(Chart):
    """θ = (w, x, y, z) with θᵀ θ = 1. No singularity."""

    def __init__(self) -> None:
        super().__init__(_quaternion_rotation, 4, _unit, name="UnitQuaternion")

    def parameters(self, X: Array) -> Array:
        return quaternions.from_rotation(np.asarray(X)[:3, :3])


class RotationMatrix(Chart):
    """θ = the nine entries of R, row by row, with the six independent entries of Rᵀ R = 1. No singularity."""

    def __init__(self) -> None:
        def matrix(theta: Any) -> Any:
            import casadi

            return casadi.reshape(theta, 3, 3).T

        def orthonormal(theta: Any) -> Any:
            import casadi

            E = matrix(theta).T @ matrix(theta)
            return casadi.vertcat(*(E[i, j] - float(i == j) for i in range(3) for j in range(i, 3)))

        super().__init__(matrix, 9, orthonormal, name="RotationMatrix")

    def parameters(self, X: Array) -> Array:
        return np.asarray(X)[:3, :3].ravel()


class DualQuaternion(Chart):
    """θ = the eight numbers of a unit dual quaternion x = r + ε ½ p r: the whole pose. No singularity."""

    def __init__(self) -> None:
        def rho(theta: Any) -> Any:
            import casadi

            r, dual = [theta[i] for i in range(4)], [theta[i] for i in range(4, 8)]
            p = quaternions.product([2 * d for d in dual], quaternions.conjugate(r))[1:]
            top = casadi.horzcat(_quaternion_rotation(theta), casadi.vertcat(*p))
            return casadi.vertcat(top, casadi.horzcat(0, 0, 0, 1))

        def unit(theta: Any) -> Any:
            import casadi

            return casadi.vertcat(theta[:4].T @ theta[:4] - 1, theta[:4].T @ theta[4:])

        super().__init__(rho, 8, unit, whole_pose=True, name="DualQuaternion")

    def parameters(self, X: Array) -> Array:
        X = np.asarray(X)
        r = quaternions.from_rotation(X[:3, :3])
        return np.concatenate([r, np.array(quaternions.product((0.0, *X[:3, 3]), tuple(r))) / 2])


# --- equations of motion ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ChartEquations:
    """M ÿ + N ẏ + g = φ + C_yᵀ λ with C_y ÿ + Ċ_y ẏ = 0, in y = (x₀, θ, joints) [BK12, Eq. (32)].

    Attributes:
        theta: parameters of the chart.
        y_dot: rates of all coordinates y.
        T, T_dot: v = T ẏ, a = T ÿ + Ṫ ẏ, v in the mixed variables of `form`.
        M, N, g: [BK12, Eqs. (25), (26)]; M has the rank of T, not more.
        C_y, C_bias: derivatives of the chart's constraint.
    """

    form: EquationsOfMotion
    chart: Chart
    theta: Array
    y_dot: Array
    T: Array
    T_dot: Array
    M: Array
    N: Array
    g: Array
    C_y: Array
    C_bias: Array

    def force(self, tau: Array) -> Array:
        """φ = Tᵀ tau: a generalised force in the chart's coordinates."""
        return self.T.T @ np.asarray(tau)

    def acceleration(self, tau: Array) -> Array:
        """ÿ under generalised force tau (nv numbers, mixed)."""
        return self.motion(self.force(tau))[0]

    def multiplier(self, tau: Array) -> Array:
        """λ of the chart's constraint [BK12, Eq. (33), with its sign mended]: zero, up to rounding.

        All terms of the equations are of the form Tᵀ x, and Tᵀ x = C_yᵀ λ has no other solution than zero, because the
        rows of T and C_y are independent. Only a force φ that is no Tᵀ tau, as `motion` takes it, needs a multiplier.
        """
        return self.motion(self.force(tau))[1]

    def motion(self, phi: Array) -> tuple[Array, Array]:
        """The optimality conditions of Gauss' principle [BK12, Eq. (31)].

        Args:
            phi: force in the chart's coordinates, (len(y_dot),): `force(tau)`, or one that may push off the constraint.

        Returns:
            ÿ, (len(y_dot),), and λ of the chart's constraint, (len(C_y),).
        """
        m, n = self.C_y.shape
        left = np.block([[self.M, -self.C_y.T], [self.C_y, np.zeros((m, m))]])
        right = np.concatenate([np.asarray(phi) - self.N @ self.y_dot - self.g, -self.C_bias])
        solution = np.linalg.solve(left, right)
        return solution[:n], solution[n:]

    @property
    def projector(self) -> Array:
        """A = 1 − C_yᵀ (C_y C_yᵀ)⁻¹ C_y: takes the multiplier out of the equations [BK12, Eq. (34)], for any chart."""
        if not len(self.C_y):
            return np.eye(len(self.y_dot))
        return np.eye(len(self.y_dot)) - self.C_y.T @ np.linalg.solve(self.C_y @ self.C_y.T, self.C_y)

    def inverse_dynamics(self, y_dotdot: Array) -> Array:
        """Generalised force tau (nv numbers, mixed) that gives ÿ."""
        return self.form.force(self.body_acceleration(y_dotdot))

    def body_acceleration(self, y_dotdot: Array) -> Array:
        """a = T ÿ + Ṫ ẏ: the same acceleration in the mixed variables."""
        return self.T @ np.asarray(y_dotdot) + self.T_dot @ self.y_dot

    def jacobian(self, J: Array) -> Array:
        """A Jacobian with respect to y, from one with respect to v [BK12, Eqs. (14)–(17)]."""
        return np.asarray(J) @ self.T

    def jacobian_rate(self, J: Array, J_dot: Array) -> Array:
        """Its rate: J̇ T + J Ṫ."""
        return np.asarray(J_dot) @ self.T + np.asarray(J) @ self.T_dot


def chart_equations(form: EquationsOfMotion, chart: Chart | type[Chart], joint: str | None) -> ChartEquations:
    """The equations of `form` (mixed) in the coordinates of a chart, for the base or for a ball joint."""
    chart = chart() if isinstance(chart, type) else chart  # type: ignore[call-arg]
    if form.v.ndim != 1:
        raise ShapeError("in_chart takes one state at a time")
    if joint is None:
        point, rows = _base_point(form, chart)
        J, J_dot = point.J, point.J_dot
    else:
        point, rows = _ball_point(form, chart, joint)
        J, J_dot = point.J_base, point.J_base_dot
    n, first, last = len(form.v), rows.start, rows.stop
    theta = slice(first, first + chart.dimension)
    size = theta.stop + n - last
    T, T_dot, C_y = np.zeros((n, size)), np.zeros((n, size)), np.zeros((len(point.C), size))
    T[:first, :first], T[last:, theta.stop :] = np.eye(first), np.eye(n - last)
    T[rows, theta], T_dot[rows, theta], C_y[:, theta] = J, J_dot, point.C_theta
    return ChartEquations(
        form, chart, point.theta, np.concatenate([form.v[:first], point.rate, form.v[last:]]), T, T_dot,
        T.T @ form.M @ T, T.T @ (form.M @ T_dot + form.C @ T), T.T @ form.g, C_y, point.C_bias,
    )  # fmt: skip


def _base_point(form: EquationsOfMotion, chart: Chart) -> tuple[ChartPoint, slice]:
    if form.base is COM:
        raise ModelError("the average velocity G belongs to no frame, so no chart describes it; take Compound(eq.COM) instead")
    if not form.origin.floating:
        raise ModelError("a robot with a fixed base has no orientation to choose a chart for; name a ball joint")
    X = form.X
    if X is None:
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = quaternions.rotation(tuple(form.origin.q[3:7])), form.origin.q[:3]
    rows = slice(0, 6) if chart.whole_pose else slice(3, 6)
    theta = chart.parameters(X)
    return chart.at(theta, chart.rates(theta, form.v[rows])), rows


def _ball_point(form: EquationsOfMotion, chart: Chart, name: str) -> tuple[ChartPoint, slice]:
    joint = form.origin.joint(name)
    if joint.type.name != "ball" or chart.whole_pose:
        raise ModelError(f"a chart of rotations goes with a ball joint; {name!r} is {joint.type.name}, the chart {chart.name}")
    R = quaternions.rotation(tuple(form.origin.q[joint.q]))
    theta = chart.parameters(R)
    w = R @ form.v[joint.v]  # the joint's velocity is in the child's axes, the chart's in the parent's
    return chart.at(theta, chart.rates(theta, w)), joint.v
