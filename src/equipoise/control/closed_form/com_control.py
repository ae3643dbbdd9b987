"""Balance first: tasks of the centre of mass, and what posture and hands may do besides [EB98, Sec. 5.2 and 6.2].

Pseudo-inverses are damped where their argument says so; projectors never are, so that a lower task leaves an upper one
alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from ...algebra.least_squares import null_space_projector, pseudo_inverse
from ...errors import ShapeError, unknown_name
from .motions import chosen_axes

if TYPE_CHECKING:
    from ...robot import Robot

Array = np.ndarray
FIRST = ("com", "effector")
DAMPING = 0.02  # m: of the pseudo-inverses of inverse kinematics, where the caller does not say


# --- errors that know their priority [EB98, Sec. 5.2.1] ---------------------------------------------------------------


def com_error(robot: Robot, q: Array, target: ArrayLike, axes: str = "xy") -> tuple[Array, Array]:
    """(e₁, J₁): the centre of mass, seen along world axes, less its target [EB98, Eq. (76)].

    Args:
        target: m, (k,), one for each axis.
    """
    rows = chosen_axes(axes)
    if np.shape(target)[-1:] != (len(rows),):
        raise ShapeError(f"the target of the centre of mass along {axes!r} has {len(rows)} numbers, got {target!r}")
    return robot.com(q)[..., rows] - target, robot.com_jacobian(q)[..., rows, :]


def prioritised_error(
    e_1: Array, J_1: Array, e_2: Array, J_2: Array, alpha: float = 1.0, *, damping: float = 0.0
) -> Array:
    """e₃ = J₁⁺ e₁ + α (1 − J₁⁺ J₁) J₂ᵀ e₂, (n,): minimises ½ e₂ᵀ e₂ where e₁ = 0 [EB98, Eq. (78)].

    Along q̇ = −λ e₃ the first error obeys ė₁ = −λ e₁, whatever the second wants.

    Args:
        e_1, J_1, e_2, J_2: (k₁,), (k₁, n), (k₂,), (k₂, n).
        alpha: weight of the second, α₁ > 0.
        damping: of J₁⁺.
    """
    return pseudo_inverse(J_1, damping) @ e_1 + alpha * null_space_projector(J_1) @ (J_2.T @ e_2)


def hand_error(e_4: Array, J_4: Array, gradient: Array, alpha: float = 1.0, *, damping: float = 0.0) -> Array:
    """e₂ = J₄⁺ e₄ + α (1 − J₄⁺ J₄) ∇u, (n,): the hand, and a posture where the hand leaves it free [EB98, Eq. (79)].

    An error in the coordinates themselves: in `prioritised_error` its J₂ is taken for 1, the paper's choice for J₃
    [EB98, Sec. 5.3].

    Args:
        e_4, J_4: hand less its goal, and its Jacobian.
        gradient: ∇u of a posture criterion, (n,).
        alpha: weight of the posture, α₂ > 0.
        damping: of J₄⁺.
    """
    return prioritised_error(e_4, J_4, gradient, np.eye(J_4.shape[1]), alpha, damping=damping)


def constrained_error(R: Array, e_3: Array, J_3: Array | None = None) -> Array:
    """e = R J₃ᵀ e₃, (n₁,): what constraints leave of the gradient of ½ e₃ᵀ e₃ [EB98, Eq. (77)].

    An output for `output_dynamics`. Where J₃ is not given it is taken for 1, as in [EB98, Sec. 5.3], so that J = R
    (87).

    Args:
        R: rows that span the null space of the constraints, `balance.com_dynamics.null_space_rows`, (n₁, n).
        e_3: from `prioritised_error` or `SafeEllipse.error`, (n,).
        J_3: ∂e₃/∂q, (n, n), such as `error_jacobian` or `SafeEllipse.exact_jacobian` gives.
    """
    return R @ (e_3 if J_3 is None else J_3.T @ e_3)


def error_jacobian(robot: Robot, q: Array, error: Callable[[Array], Array], step: float = 1e-3) -> Array:
    """∂e/∂q of any error, (k, nv), by differences of fourth order along the velocities.

    Args:
        q: one configuration, (nq,).
        error: of a configuration, (nq,) → (k,).
        step: rad or m.
    """

    def along(unit: Array) -> Array:
        e = [error(robot.integrate(q, unit, k * step)) for k in (1, -1, 2, -2)]
        return (8 * (e[0] - e[1]) - (e[2] - e[3])) / (12 * step)

    return np.stack([along(unit) for unit in np.eye(robot.nv)], axis=-1)


def curvature(robot: Robot, q: Array, jacobian: Callable[[Array], Array], weights: Array) -> Array:
    """Σ_i w_i ∂J_i/∂q, (nv, nv): the rows e_iᵀ ω_j of [EB98, Eq. (85)], by differences of a Jacobian.

    Args:
        jacobian: of a configuration, (nq,) → (k, nv).
        weights: w, (k,).
    """
    return error_jacobian(robot, q, lambda at: jacobian(at).T @ weights)


@dataclass(frozen=True, eq=False)
class PostureCriterion:
    """u(q) = ½ (q − q*)ᵀ W (q − q*) with W diagonal [EB98, Sec. 5.2.1]; q − q* is taken on the manifold.

    `near` and `mid_range` make the two criteria of the paper.

    Args:
        target: q*, (nq,).
        weight: diagonal of W, (nv,).
    """

    robot: Robot
    target: Array
    weight: Array

    @classmethod
    def near(cls, robot: Robot, q: Array) -> PostureCriterion:
        """Change the posture as little as possible: q* = q₀, W = 1; a floating base is free."""
        weight = np.ones(robot.nv)
        weight[: 6 if robot.floating else 0] = 0.0
        return cls(robot, np.array(q, dtype=float), weight)

    @classmethod
    def mid_range(cls, robot: Robot) -> PostureCriterion:
        """Keep joints in the middle of their range: W_ii = (q_max − q_min)⁻²; joints without limits are free."""
        lower, upper, target, weight = robot.limits.lower, robot.limits.upper, robot.neutral(), np.zeros(robot.nv)
        for joint in robot.joints.values():
            bounded = (
                joint.mimic is None and joint.type.nq == 1 and np.isfinite([*lower[joint.q], *upper[joint.q]]).all()
            )
            if bounded and (upper[joint.q] > lower[joint.q]).all():
                target[joint.q] = (lower[joint.q] + upper[joint.q]) / 2
                weight[joint.v] = (upper[joint.q] - lower[joint.q]) ** -2.0
        return cls(robot, target, weight)

    def value(self, q: Array) -> float:
        """u(q)."""
        away = self.robot.difference(self.target, q)
        return float(0.5 * self.weight @ away**2)

    def gradient(self, q: Array) -> Array:
        """∇u = W (q − q*), (nv,); exact for joints of one coordinate, the only ones that both criteria weigh fully."""
        return self.weight * self.robot.difference(self.target, q)


# --- a safe area instead of a point [EB98, Sec. 5.2.2] ----------------------------------------------------------------


@dataclass(frozen=True)
class SafeEllipse:
    """Inside the ellipse e₁ᵀ W e₁ = ρ² the centre of mass is free; outside a steep penalty drives it back [EB98, Eq.
    (80)–(82)].

    Args:
        radius: ρ, m: half-axis of the ellipse where W is 1.
        weight: W, (k, k), symmetric and positive definite; 1 if not given.
        stiffness: α > 0, in the units of e₂ᵀ e₂.
        exponent: τ ≥ 2; the larger, the sharper the border.
    """

    radius: float
    weight: ArrayLike | None = None
    stiffness: float = 1.0
    exponent: float = 8.0

    def __post_init__(self) -> None:
        if not (self.radius > 0 and self.stiffness > 0 and self.exponent >= 2):
            raise ShapeError(
                "a safe ellipse has radius > 0, stiffness > 0 and exponent ≥ 2, got "
                f"{self.radius!r}, {self.stiffness!r}, {self.exponent!r}"
            )
        if self.weight is not None and np.linalg.eigvalsh(np.asarray(self.weight, dtype=float)).min() <= 0:
            raise ShapeError(f"the weight of a safe ellipse is a positive definite matrix, got {self.weight!r}")

    def level(self, e_1: Array) -> float:
        """V = e₁ᵀ W e₁ / ρ²: below 1 inside, 1 on the border [EB98, Eq. (81)]."""
        return float(e_1 @ self.pull(e_1)) / self.radius**2

    def cost(self, e_1: Array, e_2: Array) -> float:
        """φ = ½ (e₂ᵀ e₂ + α V^τ) [EB98, Eq. (80)]."""
        return 0.5 * float(e_2 @ e_2 + self.stiffness * self.level(e_1) ** self.exponent)

    def error(self, e_1: Array, J_1: Array, e_2: Array, J_2: Array) -> Array:
        """e₃ = ∇φ = J₂ᵀ e₂ + (α τ / ρ²) V^(τ−1) J₁ᵀ W e₁, (n,) [EB98, Eq. (82)]."""
        slope = self.stiffness * self.exponent / self.radius**2 * self.level(e_1) ** (self.exponent - 1)
        return J_2.T @ e_2 + slope * (J_1.T @ self.pull(e_1))

    def jacobian(self, e_1: Array, J_1: Array, J_2: Array) -> Array:
        """∂e₃/∂q, (n, n), nearly: J₂ᵀJ₂ + (2 α τ (τ−1) / ρ⁴) V^(τ−2) J₁ᵀ W e₁ e₁ᵀ W J₁ [EB98, Eq. (91)].

        Curvature of J₁ and J₂ and the term with V^(τ−1) are left out, as in the paper, which also lacks the factor 2 of
        ∇V; `exact_jacobian` has them.
        """
        steep = self.stiffness * self.exponent * (self.exponent - 1) / self.radius**4
        g = J_1.T @ self.pull(e_1)
        return J_2.T @ J_2 + 2 * steep * self.level(e_1) ** (self.exponent - 2) * np.outer(g, g)

    def exact_jacobian(
        self, e_1: Array, J_1: Array, J_2: Array, curvature_1: Array | None = None, curvature_2: Array | None = None
    ) -> Array:
        """∂e₃/∂q, (n, n), in full [EB98, Eqs. (88)–(90)].

            K₂ + J₂ᵀJ₂ + (2 α τ (τ−1) / ρ⁴) V^(τ−2) J₁ᵀ W e₁ e₁ᵀ W J₁ + (α τ / ρ²) V^(τ−1) (J₁ᵀ W J₁ + K₁)

        Args:
            e_1, J_1, J_2: as of `error`.
            curvature_1: K₁ = Σ (W e₁)_i ∂J₁_i/∂q, (n, n), by `curvature`; zero for a mass whose Jacobian is constant.
            curvature_2: K₂ = Σ e₂_i ∂J₂_i/∂q, (n, n).
        """
        W = np.eye(len(e_1)) if self.weight is None else np.asarray(self.weight, dtype=float)
        slope = self.stiffness * self.exponent / self.radius**2 * self.level(e_1) ** (self.exponent - 1)
        bent = J_1.T @ W @ J_1 + (0.0 if curvature_1 is None else curvature_1)
        return self.jacobian(e_1, J_1, J_2) + slope * bent + (0.0 if curvature_2 is None else curvature_2)

    def pull(self, e_1: Array) -> Array:
        """W e₁, (k,): the weights of `curvature` for the centre of mass."""
        return np.asarray(e_1, dtype=float) if self.weight is None else np.asarray(self.weight, dtype=float) @ e_1


# --- kinematic control in either order [EB98, Sec. 6.2] ---------------------------------------------------------------


def prioritised_velocity(J_1: Array, w_1: Array, J_2: Array, w_2: Array, *, damping: float = 0.0) -> Array:
    """v = J₁⁺ w₁ + (1 − J₁⁺ J₁) J₂⁺ w₂, (nv,): the first task as it wants, the second as far as the first lets it.

    With the centre of mass first it is [EB98, Eq. (92)], with an end effector first [EB98, Eq. (93)]. To have the
    second task exactly where that is possible, `prioritised_least_squares` projects before it inverts.

    Args:
        J_1, w_1, J_2, w_2: Jacobians (k, nv) and wanted velocities (k,).
        damping: of both pseudo-inverses, in the unit of the singular values of J, m for positions.
    """
    return pseudo_inverse(J_1, damping) @ w_1 + null_space_projector(J_1) @ (pseudo_inverse(J_2, damping) @ w_2)


@dataclass(frozen=True, eq=False)
class ReachedPosture:
    """A posture found step by step."""

    q: Array  # (steps + 1, nq)
    com_error: Array  # (steps + 1,), m, distance of the centre of mass from its goal along the axes asked for
    effector_error: Array  # (steps + 1,), m


def reach(
    robot: Robot,
    q: Array,
    frame: str,
    goal: ArrayLike,
    com: ArrayLike,
    *,
    first: Literal["com", "effector"] | None = "com",
    axes: str = "xy",
    step: float = 0.1,
    steps: int = 300,
    damping: float = DAMPING,
) -> ReachedPosture:
    """Bring a frame to a place and the centre of mass above another, in either order of priority [EB98, Sec. 6.2].

    Each step moves q by `step` of what the errors ask for, q ← q ⊕ step · v with w = −e. A floating base is held where
    it is.

    Args:
        goal: m, in the world, (3,).
        com: m, (k,), along `axes`.
        first: "com" for [EB98, Eq. (92)], "effector" for (93), None for the effector alone, the left side of Fig. 12.
        axes: of the centre of mass: "xy" above a place, "x" above a line.
        step: part of the errors that one step takes away, in (0, 1].
        damping: m, of the pseudo-inverses.
    """
    if first is not None and first not in FIRST:
        raise unknown_name("task that may come first", first, FIRST)
    held = np.arange(robot.nv) < (6 if robot.floating else 0)
    path, errors = [np.array(q, dtype=float)], []
    for _ in range(steps + 1):
        now = path[-1]
        e_c, J_c = com_error(robot, now, com, axes)
        e_h, J_h = robot.pose(now, frame)[:3, 3] - goal, robot.jacobian(now, frame)[:3]
        errors.append((np.linalg.norm(e_c), np.linalg.norm(e_h)))
        J_c, J_h = np.where(held, 0.0, J_c), np.where(held, 0.0, J_h)
        tasks = {"com": (J_c, -e_c, J_h, -e_h), "effector": (J_h, -e_h, J_c, -e_c), None: (J_h, -e_h, J_c, 0 * e_c)}
        path.append(robot.integrate(now, prioritised_velocity(*tasks[first], damping=damping), step))
    com_errors, effector_errors = np.array(errors).T
    return ReachedPosture(np.array(path[:-1]), com_errors, effector_errors)
