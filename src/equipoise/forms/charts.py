"""Charts of SO(3) [BK12]; the equations of motion in their coordinates are in `chart_equations`.

A chart is a mapping ρ from parameters θ to a rotation (or, for the unit dual quaternion, to a whole pose), with a
constraint C(θ) = 0 where it has more parameters than freedoms. A user writes ρ and C; everything else follows from
them: J_ω by [BK12, Eq. (10)], its rate, the derivatives of C, and the way back from a rotation to parameters.
"""

from __future__ import annotations

import functools
import warnings
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

Array = np.ndarray
SINGULAR = 1e-6  # smallest singular value of J_ω at which a chart is said to have lost a direction


class Chart:
    """A chart of your own.

    Args:
        rho: function of θ that returns the 3×3 rotation matrix (or, with `whole_pose`, the 4×4 pose): plain arithmetic
            with NumPy's functions, or a CasADi expression. It is called with symbols, so it may not branch on values.
        dimension: number of parameters d.
        constraint: function of θ that returns C(θ), of any shape; rows may repeat each other. None for a chart without.
        whole_pose: ρ gives position and orientation.
        name: for messages.
    """

    rho: Callable[[Any], Any]
    constraint: Callable[[Any], Any] | None
    dimension: int
    whole_pose: bool
    name: str

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

    def on_symbols(self, theta: Any, rate: Any) -> dict[str, Any]:
        """What `ChartPoint` has, on CasADi's symbols: X, dX, J, J_dot, C, C_theta, C_bias."""
        import casadi

        from ..equations.symbols import SX

        X = _on_symbols(self, self.rho, theta)
        size = 4 if self.whole_pose else 3
        if X.shape != (size, size):
            raise ModelError(f"{self.name}: ρ must return a {size}×{size} matrix, got {X.shape[0]}×{X.shape[1]}")
        columns = [X[:3, i] for i in range(3)]
        slopes = [casadi.jacobian(column, theta) for column in columns]
        # [BK12, Eq. (10)]
        J = sum(columns[k] @ columns[j].T @ slopes[i] for i, j, k in ((0, 1, 2), (2, 0, 1), (1, 2, 0)))
        if self.whole_pose:
            J = casadi.vertcat(casadi.jacobian(X[:3, 3], theta), J)
        C = SX(0, 1) if self.constraint is None else casadi.vec(_on_symbols(self, self.constraint, theta).T)
        C_theta = casadi.jacobian(C, theta)

        def along(expression: Any) -> Any:
            return casadi.jtimes(expression, theta, rate)

        return {
            "X": X, "dX": casadi.jacobian(casadi.vec(X.T), theta), "J": J, "J_dot": along(J),
            "C": C, "C_theta": C_theta, "C_bias": along(C_theta) @ rate,
        }  # fmt: skip

    @functools.cached_property
    def _program(self) -> Program:
        return _traced(self)

    @property
    def constraints(self) -> int:
        """How many rows C(θ) has."""
        return int(next(x.shape[0] for x in self._program.outputs if x.name == "C"))

    @property
    def identity(self) -> bytes:
        """Equal for charts that say the same: the program of everything that is derived from ρ and C."""
        return self._program.to_bytes()

    @functools.cached_property
    def _kernel(self) -> Kernel:
        """(θ, θ̇) → X, dX/dθ, J, J̇, C, C_θ, Ċ_θ θ̇."""
        program = self._program
        self._require_as_written(program)
        return kernel_of(program, strict=False)

    def _require_as_written(self, program: Program) -> None:
        """What was traced is what ρ gives on numbers, where it takes numbers."""
        theta = np.random.default_rng(0).normal(size=self.dimension) / np.sqrt(self.dimension)
        traced = program.evaluate(theta, np.zeros(self.dimension))[0]
        try:
            written = np.array(self.rho(theta), dtype=float)
        except Exception:  # a function of CasADi's symbols only
            written = traced
        if not (np.isfinite(traced).all() and np.allclose(traced, written, rtol=1e-9, atol=1e-9)):
            raise ModelError(
                f"{self.name}: ρ on symbols is not ρ on numbers. It is called once with symbols, so it may not branch "
                "on θ, and takes its functions from NumPy or CasADi: np.cos, not math.cos."
            )

    def at(self, theta: Array, rate: Array | None = None) -> ChartPoint:
        """Everything the chart says at parameters θ moving at rate θ̇."""
        theta = np.asarray(theta, dtype=float)
        if theta.shape[-1:] != (self.dimension,):
            raise ShapeError(f"{self.name} has {self.dimension} parameters, got an array of shape {theta.shape}")
        rate = np.zeros_like(theta) if rate is None else np.asarray(rate, dtype=float)
        return ChartPoint(theta, rate, *self._kernel(theta, rate))

    def parameters(self, X: Array) -> Array:
        """θ of poses (…, 4, 4) or rotations (…, 3, 3), (…, d): by Gauss–Newton on ρ(θ) = R, C(θ) = 0, from several
        starts."""
        targets = np.asarray(X, dtype=float)
        goals = targets if self.whole_pose else targets[..., :3, :3]
        found = [self._sought(goal) for goal in goals.reshape(-1, *goals.shape[-2:])]
        return np.reshape(found, (*goals.shape[:-2], self.dimension))

    def _sought(self, goal: Array) -> Array:
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
            residual = np.concatenate([(point.X - goal).ravel(), point.C])
            if np.abs(residual).max() < 1e-13:
                return theta
            slope = np.vstack([point.dX, point.C_theta])
            damping = 1e-3 * min(1.0, float(residual @ residual))
            theta = theta - np.linalg.solve(slope.T @ slope + damping * np.eye(self.dimension), slope.T @ residual)
        return theta if np.abs(residual).max() < 1e-10 else None

    def rates(self, theta: Array, V: Array) -> Array:
        """θ̇ for an angular velocity ω in world axes, or (ṗ, ω) of a whole pose: J θ̇ = V [BK12, Eq. (2)] and C_θ θ̇ =
        0.

        Args:
            theta: parameters, (…, d).
            V: ω (…, 3), or (ṗ, ω) (…, 6) of a whole pose.

        Returns:
            θ̇, (…, d).
        """
        point = self.at(theta)
        rows = np.concatenate([point.J, point.C_theta], axis=-2)
        if rows.shape[-2] < self.dimension:
            raise ModelError(
                f"{self.name} has {self.dimension} parameters for {point.J.shape[-2]} freedoms: it needs a constraint "
                f"of {self.dimension - point.J.shape[-2]} rows or more, C(θ) = 0"
            )
        smallest = np.linalg.svd(rows, compute_uv=False)[..., -1]
        if not np.all(smallest >= SINGULAR):
            worst = np.reshape(theta, (-1, self.dimension))[np.argmin(smallest)]
            raise StateError(
                f"{self.name} is singular at θ = {np.round(worst, 6)}: its angular velocities span less than three "
                "directions "
                f"(smallest singular value {np.min(smallest):.1e}). UnitQuaternion and RotationMatrix have no "
                "singularity."
            )
        still = np.zeros((*point.theta.shape[:-1], point.C_theta.shape[-2]))
        return times(np.linalg.pinv(rows), np.concatenate([V, still], axis=-1))


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
    from ..equations.symbols import SX
    from ..machine.trace import trace

    theta, rate = SX.sym("theta", chart.dimension), SX.sym("rate", chart.dimension)
    results = chart.on_symbols(theta, rate)
    m = results["C"].shape[0]
    return trace(chart.name, {"theta": theta, "rate": rate}, results, shapes={"C": (m,), "C_bias": (m,)})


def _on_symbols(chart: Chart, function: Callable[[Any], Any], theta: Any) -> Any:
    """A user's function on symbols: as a CasADi column if it takes that, else as an array, as NumPy's functions want
    it."""
    import casadi

    from ..equations.symbols import SX

    entries = np.array([theta[i] for i in range(theta.shape[0])], dtype=object)
    reasons = []
    for argument in (theta, entries):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # CasADi's, of NumPy functions on its symbols
                result = function(argument)
            if isinstance(result, casadi.SX):
                return result
            rows = np.atleast_1d(np.asarray(result, dtype=object))
            rows = rows[:, None] if rows.ndim == 1 else rows
            return casadi.vertcat(*(casadi.horzcat(*map(SX, row)) for row in rows))
        except Exception as error:  # of code that is not ours: what it says is passed on
            reasons.append(f"{type(error).__name__}: {str(error).strip().splitlines()[0]}")
    raise ModelError(
        f"{chart.name}: its function does not run on symbols (as a CasADi column: {reasons[0]}; as an array: "
        f"{reasons[1]}). "
        "Write it with +, −, *, /, @ and functions of NumPy or CasADi."
    )


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
        R = np.asarray(X, dtype=float)[..., :3, :3]
        found = [rpy_from_rotation(one) for one in R.reshape(-1, 3, 3)]
        return np.reshape(found, (*R.shape[:-2], 3))


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
        return quaternions.from_rotation(np.asarray(X)[..., :3, :3])


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
        R = np.asarray(X, dtype=float)[..., :3, :3]
        return R.reshape(*R.shape[:-2], 9)


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
        X = np.asarray(X, dtype=float)
        r, p = quaternions.from_rotation(X[..., :3, :3]), np.moveaxis(X[..., :3, 3], -1, 0)
        dual = quaternions.product((np.zeros_like(p[0]), *p), tuple(np.moveaxis(r, -1, 0)))
        return np.concatenate([r, np.stack(dual, axis=-1) / 2], axis=-1)


BUILT_IN: dict[str, type[Chart]] = {
    k.__name__: k for k in (RollPitchYaw, UnitQuaternion, RotationMatrix, DualQuaternion)
}


def named(name: str | None) -> Chart | None:
    """The built-in chart of that name; None for none."""
    return None if name is None else as_instance(BUILT_IN[name])


def as_instance(chart: Chart | type[Chart]) -> Chart:
    """A chart; of a built-in chart that is given as a class the one instance, so that it is traced once."""
    return _shared(chart) if isinstance(chart, type) else chart  # type: ignore[arg-type]


@functools.cache
def _shared(kind: Callable[[], Chart]) -> Chart:
    return kind()
