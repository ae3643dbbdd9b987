"""Motion of the centre of mass and what follows from it: velocities, gravity torques, motion of closed chains.

The functions follow [EB98, Sec. 4 and Sec. 5.1.1] step by step, on plain arrays, to be read and to be compared with:
the compiled `robot.com_jacobian` and `robot.gravity` give the same numbers in microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular

from ..algebra.arrays import times
from ..algebra.quaternions import NUMBERS
from ..errors import ConstraintError, ShapeError, StateError
from ..forms.constrained import CONSISTENCY, RANK_TOLERANCE, ConstrainedDynamics
from ..model.tree import MovingBody, Tree
from ..model.types import frozen
from ..robot import Robot
from .chains import carried_masses

Array = np.ndarray

# --- augmented bodies ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AugmentedBodies:
    """For each moving joint, all that it carries as one rigid body, at one configuration or a batch [EB98, Sec. 4.1].

    Args:
        names: of the joints.
        mass: kg, m_a, (bodies,).
        pivot: m, origins of the moved joint frames in the world, (…, bodies, 3).
        centre: m, partial centres of mass M_a in the world, (…, bodies, 3); the pivot where a joint carries no mass.
        slide: velocity of the pivot per rate of the joint, for each body (…, 3, nv of the joint), in the world.
        spin: angular velocity per rate of the joint, likewise.
    """

    names: tuple[str, ...]
    mass: Array
    pivot: Array
    centre: Array
    slide: tuple[Array, ...]
    spin: tuple[Array, ...]


def augmented_bodies(robot: Robot, q: Array) -> AugmentedBodies:
    """The augmented body of every joint [EB98, Eq. (37)–(39)].

    Args:
        q: configurations, (…, nq).
    """
    tree, q = robot.tree, _configuration(robot, q)
    mass, moment = carried_masses(tree), []
    R, pivot, slide, spin = _outward(tree, q)
    for body, R_0k, p_0k in zip(tree.bodies, R, pivot, strict=True):
        moment.append(times(R_0k, body.h) + body.mass * p_0k)
    for i in reversed(range(len(tree.bodies))):
        if tree.bodies[i].parent >= 0:
            moment[tree.bodies[i].parent] = moment[tree.bodies[i].parent] + moment[i]
    centre = [moment[i] / m if m > 0 else pivot[i] for i, m in enumerate(mass)]
    names = tuple(body.name for body in tree.bodies)
    pivots, centres = (
        frozen(np.moveaxis(np.reshape(points, (-1, *q.shape[:-1], 3)), 0, -2)) for points in (pivot, centre)
    )
    return AugmentedBodies(names, frozen(mass), pivots, centres, tuple(map(frozen, slide)), tuple(map(frozen, spin)))


def kinetic_jacobian(robot: Robot, q: Array) -> Array:
    """J_M with ċ = J_M v, (…, 3, nv): every joint moves its augmented body, which is the share m_a / m of the mass.

        ċ = Σ_j (m_aj / m) (f_j × M_aj + h_j) q̇_j                    [EB98, Eq. (46)]

    f_j and h_j are the axes of turning and sliding; M_aj is seen from the joint. Followers add to the column of their
    leader. The same as `robot.com_jacobian(q)`.

    Args:
        q: configurations, (…, nq).
    """
    bodies, total = augmented_bodies(robot, q), robot.mass
    J = np.zeros((*np.shape(q)[:-1], 3, robot.nv))
    for i, body in enumerate(robot.tree.bodies):
        arm = (bodies.centre - bodies.pivot)[..., i, :, None]
        columns = np.cross(bodies.spin[i], arm, axis=-2) + bodies.slide[i]
        J[..., body.v] += body.multiplier * bodies.mass[i] / total * columns
    return J


def gravity_torques(robot: Robot, q: Array) -> Array:
    """Generalised force that holds the robot up against gravity, from the kinetic Jacobian, (…, nv).

        G = ∂E_p/∂q = −m J_Mᵀ g                                      [EB98, Eq. (48)–(50)]

    for any direction of g; the paper's is −z, which leaves the third row of J_M. The same as `robot.gravity(q)`.

    Args:
        q: configurations, (…, nq).
    """
    pull = robot.mass * np.array(robot.model.gravity)
    return -times(np.swapaxes(kinetic_jacobian(robot, q), -1, -2), pull)


def _outward(tree: Tree, q: Array) -> tuple[list[Array], list[Array], list[Array], list[Array]]:
    """(R_0k, p_0k, slide, spin) of all bodies in the world, parents first."""
    batch = q.shape[:-1]
    R: list[Array] = []
    p: list[Array] = []
    slide, spin = [], []
    for body in tree.bodies:
        R_parent = np.broadcast_to(np.eye(3), (*batch, 3, 3)) if body.parent < 0 else R[body.parent]
        p_parent = np.zeros((*batch, 3)) if body.parent < 0 else p[body.parent]
        R_J, p_J = body.joint.pose(_coordinates(body, q), NUMBERS)
        R_before = R_parent @ body.R
        R.append(R_before @ R_J)
        p.append(p_parent + times(R_parent, body.p) + times(R_before, np.broadcast_to(p_J, (*batch, 3))))
        slide.append(R_before @ body.joint.slide())
        spin.append((R_before if body.joint.spin_axes == "parent" else R[-1]) @ body.joint.spin())
    return R, p, slide, spin


def _coordinates(body: MovingBody, q: Array) -> list[Array]:
    coordinates = [q[..., i] for i in range(body.q.start, body.q.stop)]
    return [body.multiplier * x + body.offset for x in coordinates] if body.scaled else coordinates


def _configuration(robot: Robot, q: Array) -> Array:
    q = np.asarray(q, dtype=float)
    if q.ndim == 0 or q.shape[-1] != robot.nq:
        raise ShapeError(f"q of {robot.name!r} has {robot.nq} numbers, got an array of shape {q.shape}")
    if not np.isfinite(q).all():
        raise StateError(f"q of {robot.name!r} holds NaN or infinity")
    return q


# --- closed chains: motion under constraints -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ConstrainedMotion:
    """M a + h = tau + Jᵀ λ with J a + J̇v = 0, at one state or a batch of states.

    Args:
        acceleration: a, (…, nv).
        multipliers: λ, (…, rows of J): forces of the constraints on the robot. [EB98, Eq. (56)] has them by the robot,
            −λ.
        residual: greatest error left in either equation, (…), in their units: how far to trust the numbers.
    """

    acceleration: Array
    multipliers: Array
    residual: Array


def projected_dynamics(M: Array, h: Array, J: Array, Jdot_v: Array, tau: Array | None = None) -> ConstrainedMotion:
    """Motion under J a + J̇v = 0, by the projector P onto the motions that the constraints allow.

        a = P M⁻¹ (tau − h) − J† J̇v,    J† = M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁻¹,    P = 1 − J† J       [EB98, Eq. (60)–(62)]
        λ = −(J M⁻¹ Jᵀ)⁻¹ (J M⁻¹ (tau − h) + J̇v)                                      [EB98, Eq. (59)], sign ours

    The paper takes the constraints as independent. Here they may repeat each other: the inverse is then the
    pseudo-inverse. The acceleration and the force Jᵀ λ are unique all the same, and of all λ with that force it is the
    one of least norm.

    Args:
        M: mass matrix, (…, nv, nv).
        h: bias force, (…, nv).
        J: constraint Jacobian, C of the paper, (…, m, nv); of a closed chain, `loop_constraints` gives it.
        Jdot_v: J̇v, s of the paper, (…, m).
        tau: generalised force B Γ, (…, nv); zero if not given.

    Raises:
        ConstraintError: no acceleration satisfies all constraints.
    """
    M, h, J, Jdot_v, tau = _arguments(M, h, J, Jdot_v, tau)
    _require_inertia(M)
    system = ConstrainedDynamics(M, h, J, -Jdot_v)
    free = np.linalg.solve(M, (tau - h)[..., None])[..., 0]
    J_inverse = np.linalg.solve(M, np.swapaxes(J, -1, -2)) @ system.constraint_inertia
    P = np.eye(M.shape[-1]) - J_inverse @ J
    a = times(P, free) - times(J_inverse, Jdot_v)
    multipliers = -times(system.constraint_inertia, times(J, free) + Jdot_v)
    return ConstrainedMotion(a, multipliers, _residual(M, h, J, Jdot_v, tau, a, multipliers))


def reduced_dynamics(M: Array, h: Array, J: Array, Jdot_v: Array, tau: Array | None = None) -> ConstrainedMotion:
    """The same motion, from as many equations as there are freedoms left: those along the rows of R, a basis of J's
    null space.

        R (M a + h − tau) = 0,    J a + J̇v = 0                      [EB98, Eq. (66)]

    With a = a₀ + Rᵀ y and any a₀ that satisfies the constraints, R M Rᵀ y = R (tau − h − M a₀) is a system of nv −
    rank(J) equations. The multipliers are the least-norm solution of Jᵀ λ = M a + h − tau. Arguments and errors as in
    `projected_dynamics`.
    """
    M, h, J, Jdot_v, tau = _arguments(M, h, J, Jdot_v, tau)
    a, multipliers = np.zeros(h.shape), np.zeros(Jdot_v.shape)
    for i in np.ndindex(h.shape[:-1]):
        a[i] = _reduced(M[i], tau[i] - h[i], J[i], Jdot_v[i])
        multipliers[i] = np.linalg.lstsq(J[i].T, M[i] @ a[i] + h[i] - tau[i], rcond=RANK_TOLERANCE)[0]
    return ConstrainedMotion(a, multipliers, _residual(M, h, J, Jdot_v, tau, a, multipliers))


def null_space_rows(J: Array) -> Array:
    """R, (nv − rank(J), nv): independent rows with J Rᵀ = 0.

        R = [−(C₁⁻¹ C₂)ᵀ  1],    J = [C₁ C₂]                            [EB98, Eq. (64)–(65)]

    The paper assumes that the first columns of J, C₁, are independent. Here a pivoted QR factorisation picks columns
    that are, so that R is the paper's up to the order of the coordinates; where rows of J repeat each other C₁ has
    rank(J) rows.

    Args:
        J: constraint Jacobian, (m, nv).
    """
    split = _split(np.asarray(J, dtype=float))
    R = np.zeros((len(split.free), len(split.free) + len(split.bound)))
    R[:, split.bound] = -solve_triangular(split.T_1, split.T_2).T
    R[:, split.free] = np.eye(len(split.free))
    return R


@dataclass(frozen=True, eq=False)
class _Split:
    """J = Q [T₁ T₂] with the columns `bound` first, then `free`; T₁ triangular and regular."""

    Q: Array
    T_1: Array
    T_2: Array
    bound: Array
    free: Array


def _split(J: Array) -> _Split:
    Q, T, order = qr(J, mode="economic", pivoting=True)
    size = np.abs(np.diagonal(T))
    rank = int(np.sum(size > RANK_TOLERANCE * size.max(initial=0.0)))
    return _Split(Q[:, :rank], T[:rank, :rank], T[:rank, rank:], order[:rank], order[rank:])


def _reduced(M: Array, force: Array, J: Array, Jdot_v: Array) -> Array:
    """Acceleration of one state under the generalised force tau − h."""
    split = _split(J)
    inside = split.Q.T @ Jdot_v
    outside = Jdot_v - split.Q @ inside
    if np.linalg.norm(outside) > CONSISTENCY * (1 + np.linalg.norm(Jdot_v)):
        raise ConstraintError(
            f"the constraints contradict each other: J has {len(J)} rows of rank {len(split.bound)}, and no "
            "acceleration "
            f"satisfies J a + J̇v = 0; row {int(np.argmax(np.abs(outside)))} is missed by {np.abs(outside).max():.3g}. "
            "Rows that "
            "repeat each other must agree: is J v = 0, so that the state keeps them? If so, leave the repeated rows "
            "out."
        )
    R = null_space_rows(J)
    a_0 = np.zeros(len(M))
    a_0[split.bound] = -solve_triangular(split.T_1, inside)
    return a_0 + R.T @ np.linalg.solve(R @ M @ R.T, R @ (force - M @ a_0))


def _arguments(M: Array, h: Array, J: Array, Jdot_v: Array, tau: Array | None) -> tuple[Array, ...]:
    """All as finite arrays of matching shapes and one batch."""
    h = np.asarray(h, dtype=float)
    tau = np.zeros(h.shape) if tau is None else tau
    given = dict(M=M, h=h, J=J, Jdot_v=Jdot_v, tau=tau)
    arrays = {name: np.asarray(value, dtype=float) for name, value in given.items()}
    n, m = arrays["M"].shape[-1:], arrays["J"].shape[-2:-1]
    wanted = dict(M=n + n, h=n, J=m + n, Jdot_v=m, tau=n)
    for name, shape in wanted.items():
        array = arrays[name]
        if array.ndim < len(shape) or array.shape[-len(shape) :] != shape:
            raise ShapeError(f"{name} has shape {array.shape}, wanted (…, {', '.join(map(str, shape))}) beside M and J")
        if not np.isfinite(array).all():
            raise StateError(f"{name} holds NaN or infinity")
    batch = np.broadcast_shapes(*(arrays[name].shape[: -len(shape)] for name, shape in wanted.items()))
    return tuple(np.broadcast_to(arrays[name], (*batch, *shape)) for name, shape in wanted.items())


def _require_inertia(M: Array) -> None:
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        raise StateError(
            "M must be positive definite to be inverted. Where the constraints hold the directions that have no "
            "inertia, `reduced_dynamics` finds the motion without inverting it."
        ) from None


def _residual(M: Array, h: Array, J: Array, Jdot_v: Array, tau: Array, a: Array, multipliers: Array) -> Array:
    force = times(M, a) + h - tau - times(np.swapaxes(J, -1, -2), multipliers)
    motion = times(J, a) + Jdot_v
    return np.maximum(np.abs(force).max(axis=-1), np.abs(motion).max(axis=-1, initial=0.0))
