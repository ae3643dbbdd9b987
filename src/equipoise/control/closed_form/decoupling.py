"""Decoupling control in output space: as many outputs e as there are freedoms, each a linear oscillator of its own
[EB98].

The robot obeys M a + N = B Γ + Cᵀ λ with C a + s = 0 (loops, contacts); the outputs obey ë = J a + f.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...algebra.least_squares import largest_singular_value, pseudo_inverse
from ...balance.com_dynamics import null_space_rows
from ...errors import ConstraintError, ShapeError

Array = np.ndarray
# smallest singular value of (C; J) over the largest for outputs and constraints to count as independent
INDEPENDENT = 1e-8


@dataclass(frozen=True, eq=False)
class OutputDynamics:
    """M' ë + f' = u with u = R B Γ: the dynamics seen from the outputs, at one state [EB98, Eq. (71)].

    Attributes:
        M: M' = R M K₂, (n₁, n₁) [EB98, Eq. (72)].
        f: f' = −R M (K₁ s + K₂ f) + R N, (n₁,); the paper prints the sign of K₁ s otherwise [EB98, Eq. (73)].
        RB: R B, (n₁, actuators) [EB98, Eq. (74)].
        K: (C; J)⁻¹ with a = K (−s; ë − f), (n, rows of C + n₁) [EB98, Eq. (68)–(70)].
        drift: what K is applied to at ë = 0, (−s; −f).
    """

    M: Array
    f: Array
    RB: Array
    K: Array
    drift: Array

    def actuation(self, acceleration: Array) -> Array:
        """u = M' ë* + f', (n₁,) [EB98, Eq. (71)]."""
        return self.M @ np.asarray(acceleration, dtype=float) + self.f

    def control(self, e: Array, e_dot: Array, K_p: ArrayLike, K_v: ArrayLike) -> Array:
        """u = M' (−K_p e − K_v ė) + f', (n₁,), so that ë = −K_p e − K_v ė [EB98, Eq. (75)].

        Args:
            e, e_dot: the outputs and ė = J v + ∂e/∂t, (n₁,).
            K_p, K_v: gains in 1/s² and 1/s: a number, one for each output, or a matrix.
        """
        return self.actuation(-_applied(K_p, e) - _applied(K_v, e_dot))

    def torque(self, u: Array, preferred: Array | None = None) -> Array:
        """Γ with R B Γ = u, (actuators,): of all, the one nearest to `preferred`, or the least if that is not given.

        Raises:
            ConstraintError: the actuators cannot make u.
        """
        start = np.zeros(self.RB.shape[1]) if preferred is None else np.asarray(preferred, dtype=float)
        lacking = np.asarray(u, dtype=float) - self.RB @ start
        torque = start + pseudo_inverse(self.RB) @ lacking
        missed = np.abs(self.RB @ torque - u).max(initial=0.0)
        if missed > 1e-8 * (1 + np.abs(u).max(initial=0.0)):
            raise ConstraintError(
                f"no actuator torques give R B Γ = u: it is missed by {missed:.3g}. R B has rank "
                f"{np.linalg.matrix_rank(self.RB)} for {len(self.M)} outputs: some output moves where no actuator "
                "pushes."
            )
        return torque

    def acceleration(self, e_ddot: Array) -> Array:
        """a = K (−s; ë − f), (n,): the motion of all coordinates [EB98, Eq. (68)], with the sign of s that (57)
        wants."""
        wanted = self.drift.copy()
        wanted[len(wanted) - len(self.M) :] += e_ddot
        return self.K @ wanted


def _applied(gain: ArrayLike, x: Array) -> Array:
    gain = np.asarray(gain, dtype=float)
    return gain @ x if gain.ndim == 2 else gain * np.asarray(x, dtype=float)


def output_dynamics(
    M: Array, N: Array, J: Array, f: Array, *, C: Array | None = None, s: Array | None = None, B: Array | None = None
) -> OutputDynamics:
    """The dynamics seen from outputs e with ë = J a + f, as many as the constraints leave freedoms [EB98, Eq.
    (66)–(74)].

    Args:
        M: mass matrix, (n, n).
        N: bias force C v + g, (n,).
        J, f: of the outputs, (n₁, n) and (n₁,): f = J̇v for outputs that do not depend on time.
        C, s: constraints C a + s = 0, (p, n) and (p,); none if not given. Rows may repeat each other.
        B: generalised forces per actuator, (n, actuators): Sᵀ; every coordinate has its own if not given.

    Raises:
        ConstraintError: outputs and constraints together do not decide the motion, or outputs repeat constraints.
    """
    n = len(M)
    C = np.zeros((0, n)) if C is None else np.asarray(C, dtype=float)
    s = np.zeros(len(C)) if s is None else np.asarray(s, dtype=float)
    B = np.eye(n) if B is None else np.asarray(B, dtype=float)
    J, f = np.asarray(J, dtype=float), np.asarray(f, dtype=float)
    if J.shape != (len(f), n) or C.shape != (len(s), n):
        raise ShapeError(
            f"J and C have {n} columns and one row per entry of f and s; got {J.shape}, {f.shape}, {C.shape}, {s.shape}"
        )
    R = null_space_rows(C) if len(C) else np.eye(n)
    K = _together_inverse(C, J, len(R))
    K_1, K_2 = K[:, : len(C)], K[:, len(C) :]
    return OutputDynamics(R @ M @ K_2, R @ N - R @ M @ (K_1 @ s + K_2 @ f), R @ B, K, np.concatenate([-s, -f]))


def slow_output_dynamics(
    M: Array, G: Array, J: Array, e_tt: Array | None = None, *, C: Array | None = None, B: Array | None = None
) -> OutputDynamics:
    """The same for slow motion: N is gravity alone, s = 0 and f is what the outputs do by themselves [EB98, Eq.
    (83)–(84)].

        f̂' = R G − R M K₂ ∂²e/∂t²

    The paper prints R M⁻¹ G and K₁ [EB98, Eq. (84)]; (73) gives the above.

    Args:
        M: the mass matrix or a simpler one, positive definite.
        G: gravity torques, (n,): `balance.gravity_torques`.
        e_tt: ∂²e/∂t², (n₁,); zero if not given.
    """
    return output_dynamics(M, G, J, np.zeros(len(J)) if e_tt is None else e_tt, C=C, B=B)


def _together_inverse(C: Array, J: Array, freedoms: int) -> Array:
    """K = (C; J)⁻¹ [EB98, Eq. (69)]; rows of C that repeat each other share their part."""
    if len(J) != freedoms:
        raise ConstraintError(
            f"the constraints leave {freedoms} freedoms, so {freedoms} outputs are wanted, got {len(J)}. "
            "Add outputs for what is left (a posture, say), or take those away that the constraints hold."
        )
    # each to its own scale, so that units of constraints and outputs have no say in what counts as independent
    sizes = [max(float(largest_singular_value(part)), np.finfo(float).tiny) for part in (C, J)]
    both = np.concatenate([part / size for part, size in zip((C, J), sizes, strict=True)])
    singular = np.linalg.svd(both, compute_uv=False)
    if len(singular) < C.shape[1] or singular[-1] < INDEPENDENT * singular[0]:
        raise ConstraintError(
            "outputs and constraints are not independent here: some motion changes neither, so the outputs cannot "
            "decide it "
            f"(smallest singular value of (C; J) over the largest: {singular[-1] / singular[0]:.1e}). Choose other "
            "outputs."
        )
    scaling = np.concatenate([np.full(len(part), size) for part, size in zip((C, J), sizes, strict=True)])
    return pseudo_inverse(both) / scaling
