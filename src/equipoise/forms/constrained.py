"""Motion under constraints A a = b of any origin: contacts that stay, wheels that roll, loops that are closed.

    M a + h = tau + Aᵀ λ,    A a = b

The multipliers λ are the forces of the constraints, on the robot. Of all accelerations that the constraints allow,
Gauss' principle takes the one nearest to the free motion in the metric of M [QO21, Eq. (5.41)].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algebra.arrays import times
from ..errors import ConstraintError, ShapeError, StateError

if TYPE_CHECKING:
    pass

Array = np.ndarray
RANK_TOLERANCE = 1e-10  # of the largest singular value: directions below it do not count
CONSISTENCY = 1e-8  # how far b may lie outside the range of A, of 1 + |b|
SINGULAR_PIVOT = 1e-13  # of the diagonal: a smaller pivot of M is rounding


# --- constrained dynamics ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ConstrainedDynamics:
    """M a + h = tau + Aᵀ λ with A a = b, at one state or a batch of states. Frozen; factorised once, when made.

    Rows of A may repeat each other: the acceleration and the force Aᵀ λ are unique all the same, and of all λ that give
    this force the one of least Euclidean norm is taken. M may be singular as long as A holds every direction that has
    no inertia, as in the eight-parameter base of [QO21, Sec. 5.4.1].

    Args:
        M: mass matrix, (…, n, n).
        h: bias force, (…, n).
        A: constraint matrix, (…, m, n).
        b: wanted A a, (…, m): −J̇v for a constraint J v = 0.
        rank_tolerance: singular values of A M^(−1/2) below this part of the largest count as zero.
        consistency: greatest |b − A a| that is taken for rounding, of 1 + |b|; `np.inf` takes the least-squares
            compromise.

    Raises:
        ConstraintError: no acceleration satisfies A a = b, or none of M and A holds some direction.
    """

    M: Array
    h: Array
    A: Array
    b: Array
    rank_tolerance: float = RANK_TOLERANCE
    consistency: float = CONSISTENCY
    _factors: _Factors = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name, dimensions in (("M", 2), ("h", 1), ("A", 2), ("b", 1)):
            object.__setattr__(self, name, _frozen(name, getattr(self, name), dimensions))
        _require_shapes(self.M, self.h, self.A, self.b)
        object.__setattr__(self, "_factors", _factorised(self.M, self.A, self.rank_tolerance))
        _require_consistent(self._factors, self.A, self.b, self.consistency)

    # --- what the constraints are -------------------------------------------------------------------------------

    @property
    def rank(self) -> Any:
        """Number of independent constraints, (…)."""
        return self._factors.independent.sum(axis=-1)[()]

    @property
    def redundant(self) -> Any:
        """Number of rows that say nothing new, (…)."""
        return self.A.shape[-2] - self.rank

    @property
    def null_projector(self) -> Array:
        """N = 1 − M⁻¹ Aᵀ (A M⁻¹ Aᵀ)⁺ A, (…, n, n): velocities to those the constraints allow [ETH19, slide 22].

        N v is the nearest such velocity in the metric of M. Its transpose is Ω of [QO21, Eq. (5.47)].
        """
        W, V = self._factors.W, self._factors.independent[..., None] * self._factors.V_T
        inside = np.eye(W.shape[-1]) - _T(V) @ V
        return _T(W) @ inside @ self._factors.L_T

    @property
    def constraint_inertia(self) -> Array:
        """Λ = (A M⁻¹ Aᵀ)⁺, (…, m, m): the inertia that a force along the constraints feels [ETH19, slide 26]."""
        U, s = self._factors.U, self._factors.inverse_singular
        return (U * s[..., None, :] ** 2) @ _T(U)

    # --- motion -------------------------------------------------------------------------------------------------

    def acceleration(self, tau: Array) -> Array:
        """Acceleration under generalised force tau, (…, n), by the formula of Udwadia and Kalaba.

            a = a_free + M^(−1/2) (A M^(−1/2))⁺ (b − A a_free)          [QO21, Eq. (5.44)]

        Any square root serves; ours is the Cholesky factor.
        """
        free, missing = self._free(tau)
        f = self._factors
        pull = f.inverse_singular * times(_T(f.U), missing)
        return free + times(_T(f.W), times(_T(f.V_T), pull))

    def multipliers(self, tau: Array) -> Array:
        """λ = (A M⁻¹ Aᵀ)⁺ (b − A a_free), (…, m) [QO21, Eq. (B.3)]: forces of the constraints, on the robot."""
        _, missing = self._free(tau)
        f = self._factors
        return times(f.U, f.inverse_singular**2 * times(_T(f.U), missing))

    def constraint_force(self, tau: Array) -> Array:
        """Aᵀ λ, (…, n): unique, whatever the rank."""
        return times(_T(self.A), self.multipliers(tau))

    def kkt_solution(self, tau: Array) -> tuple[Array, Array]:
        """(a, λ) from the optimality conditions of Gauss' principle, with the pseudo-inverse where rows repeat.

            [M  Aᵀ] [ a]   [tau − h]
            [A  0 ] [−λ] = [   b   ]                               [QO21, Eqs. (5.41), (B.1)]

        The same numbers as `acceleration` and `multipliers` in one system of n + m: slower, and an independent check.
        """
        M, A = _together(self.M, self.A)
        m, n = A.shape[-2:]
        K = np.concatenate([np.concatenate([M, _T(A)], -1), np.concatenate([A, np.zeros((*A.shape[:-1], m))], -1)], -2)
        force, b = _together(np.asarray(tau, dtype=float) - self.h, self.b, core=1)
        solution = times(np.linalg.pinv(K, rcond=self.rank_tolerance, hermitian=True), np.concatenate([force, b], -1))
        return solution[..., :n], -solution[..., n:]

    def _free(self, tau: Array) -> tuple[Array, Array]:
        """(acceleration without the constraints, what it lacks to satisfy them)."""
        tau = np.asarray(tau, dtype=float)
        if tau.shape[-1:] != self.h.shape[-1:]:
            raise ShapeError(f"tau has shape {tau.shape}, wanted (…, {self.h.shape[-1]})")
        f = self._factors
        force = tau - self.h + f.shift[..., None] * times(_T(self.A), self.b)
        free = times(_T(f.W), times(f.W, force))
        return free, self.b - times(self.A, free)


@dataclass(frozen=True, eq=False)
class _Factors:
    """M = L Lᵀ, W = L⁻¹ and A Wᵀ = U diag(s) V_T; of its singular values those that count."""

    L_T: Array
    W: Array
    U: Array
    inverse_singular: Array  # 1/s, and 0 where s does not count
    V_T: Array
    independent: Array
    shift: Array  # M stands for M + shift AᵀA


def _factorised(M: Array, A: Array, tolerance: float) -> _Factors:
    M, A = _together(M, A)
    L, shift = _square_root(M, A)
    W = np.linalg.inv(L)
    U, s, V_T = np.linalg.svd(A @ _T(W), full_matrices=False)
    independent = s > tolerance * s.max(axis=-1, keepdims=True, initial=0.0)
    return _Factors(
        _T(L),
        W,
        U * independent[..., None, :],
        np.where(independent, 1 / np.where(independent, s, 1.0), 0.0),
        V_T,
        independent,
        shift,
    )


def _square_root(M: Array, A: Array) -> tuple[Array, Array]:
    """(L, w) with L Lᵀ = M, or M + w AᵀA where M alone is singular.

    On every acceleration with A a = b the term w Aᵀ(A a − b) is zero: adding it to the equations changes neither a nor
    λ, and gives inertia to directions in which only the constraints hold the coordinates.
    """
    none = np.zeros(M.shape[:-2])
    L = _cholesky(M)
    if L is not None:
        return L, none
    size = np.trace(_T(A) @ A, axis1=-2, axis2=-1)
    shift = none + np.trace(M, axis1=-2, axis2=-1) / np.where(size > 0, size, 1.0)
    L = _cholesky(M + shift[..., None, None] * (_T(A) @ A))
    if L is None:
        raise ConstraintError(
            "the mass matrix is singular in a direction that the constraints leave free: nothing decides the "
            "acceleration "
            "there. Check the inertias, or add the constraint that belongs to the redundant coordinates (a unit norm, "
            "say)."
        )
    return L, shift


def _cholesky(M: Array) -> Array | None:
    """The lower factor; None where M is not positive definite, rounding taken into account."""
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return None
    pivots = np.diagonal(L, axis1=-2, axis2=-1) ** 2
    return L if np.all(pivots > SINGULAR_PIVOT * np.diagonal(M, axis1=-2, axis2=-1)) else None


def _require_consistent(f: _Factors, A: Array, b: Array, consistency: float) -> None:
    """b lies in the range of A: some acceleration satisfies every row."""
    outside = b - times(f.U, times(_T(f.U), b))
    size = np.linalg.norm(outside, axis=-1)
    allowed = consistency * (1 + np.linalg.norm(b, axis=-1))
    if np.all(size <= allowed):
        return
    worst = int(np.argmax(size - allowed))
    left = outside.reshape(-1, outside.shape[-1])[worst]
    rows = [int(i) for i in np.argsort(-np.abs(left))[:6] if abs(left[i]) > 1e-3 * np.abs(left).max()]
    rank = int(np.broadcast_to(f.independent.sum(axis=-1), size.shape).flat[worst])
    raise ConstraintError(
        f"the constraints contradict each other: no acceleration gives A a = b. A has {A.shape[-2]} rows of rank "
        f"{rank}, "
        f"and b lies {size.flat[worst]:.3g} outside its range, mostly in rows {rows}. With redundant contacts this "
        "happens "
        "when the velocity does not keep them (A v ≠ 0): project it first, v = null_projector @ v, or leave the "
        "repeated rows out. consistency=np.inf takes the least-squares compromise."
    )


def _require_shapes(M: Array, h: Array, A: Array, b: Array) -> None:
    n, m = M.shape[-1], A.shape[-2]
    wanted = {"M": (M, (n, n)), "h": (h, (n,)), "A": (A, (m, n)), "b": (b, (m,))}
    for name, (array, shape) in wanted.items():
        if array.shape[-len(shape) :] != shape:
            raise ShapeError(f"{name} has shape {array.shape}, wanted (…, {', '.join(map(str, shape))}) beside M and A")
    try:
        np.broadcast_shapes(*(array.shape[: -len(shape)] for array, shape in wanted.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, (array, _) in wanted.items())
        raise ShapeError(f"the leading dimensions do not go together: {shapes}") from None


def _frozen(name: str, values: Any, dimensions: int) -> Array:
    array = np.array(values, dtype=float)
    if array.ndim < dimensions:
        raise ShapeError(f"{name} has shape {array.shape}, wanted {dimensions} dimensions or more")
    if not np.isfinite(array).all():
        raise StateError(f"{name} holds NaN or infinity")
    array.flags.writeable = False
    return array


def _T(matrix: Array) -> Array:
    return np.swapaxes(matrix, -1, -2)


def _together(x: Array, y: Array, core: int = 2) -> tuple[Array, Array]:
    """Both with the same leading dimensions."""
    batch = np.broadcast_shapes(x.shape[:-core], y.shape[:-core])
    return np.broadcast_to(x, (*batch, *x.shape[-core:])), np.broadcast_to(y, (*batch, *y.shape[-core:]))
