"""Contacts of a robot: what they hold, what they leave free, and the forces that they carry [ETH19].

A contact is a frame, or a point of a frame written (frame, point): any place of any body. Forces act on the robot.
Slides are counted by their headings, the title being the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ..algebra import quaternions, rigid
from ..algebra.arrays import times
from ..errors import ShapeError, unknown_name
from ..forms.constrained import CONSISTENCY, ConstrainedDynamics
from ..model.joints import Ball, Floating, Planar
from ..model.joints.axis import AxisJoint
from ..model.types import Joint, frozen

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
Contact = str | tuple[str, Sequence[float]]  # a frame, or a point in the axes of a frame
Kind = Literal["point", "frame"]
RANK_TOLERANCE = 1e-8  # of the largest singular value
AXES = "xyz"


# --- coordinates and points [ETH19, slides 5–6] ------------------------------------------------------------------------


def coordinate_rates(robot: Robot, q: Array) -> Array:
    """E with q̇ = E v, (…, nq, nv): generalised velocities are no derivatives where q holds quaternions.

    It is the inverse of E_fb [ETH19, slide 5], there u = E_fb q̇; on unit quaternions `velocity_from_rates` is E_fb itself.
    """
    q = np.asarray(q, dtype=float)
    if q.shape[-1:] != (robot.nq,):
        raise ShapeError(f"q has shape {q.shape}, wanted (…, {robot.nq})")
    E = np.zeros((*q.shape[:-1], robot.nq, robot.nv))
    for joint in robot.model.joints.values():
        if joint.moving and joint.mimic is None:
            E[..., joint.q, joint.v] = _joint_rates(joint, q[..., joint.q])
    return E


def velocity_from_rates(robot: Robot, q: Array) -> Array:
    """E_fb with v = E_fb q̇, (…, nv, nq), for rates that keep quaternions at unit length [ETH19, slide 5]."""
    return np.linalg.pinv(coordinate_rates(robot, q))


def _joint_rates(joint: Joint, q: Array) -> Array:
    integrate = type(joint.type).integrate
    if integrate in (AxisJoint.integrate, Planar.integrate):
        return np.eye(joint.type.nq)
    if integrate is Floating.integrate:
        E = np.zeros((*q.shape[:-1], 7, 6))
        E[..., :3, :3] = np.eye(3)
        E[..., 3:, 3:] = _quaternion_rates(q[..., 3:], left=True)
        return E
    if integrate is Ball.integrate:
        return _quaternion_rates(q, left=False)
    return _numeric_rates(joint, q)


def _quaternion_rates(q: Array, *, left: bool) -> Array:
    """Columns ½ e_i q, for angular velocity in the parent's axes, or ½ q e_i, in the child's."""
    turn = tuple(np.moveaxis(q, -1, 0))
    units = [(0.0, *axis) for axis in np.eye(3)]
    columns = [quaternions.product(e, turn) if left else quaternions.product(turn, e) for e in units]
    return 0.5 * np.stack([np.stack(np.broadcast_arrays(*column), axis=-1) for column in columns], axis=-1)


def _numeric_rates(joint: Joint, q: Array) -> Array:
    """Of a joint type that is a user's own: by differences of fourth order, good to 1e-12."""
    s, h = np.moveaxis(q, -1, 0), 1e-3

    def moved(i: int, step: float) -> Array:
        return np.stack(joint.type.integrate(s, step * np.eye(joint.type.nv)[i], quaternions.NUMBERS), axis=-1)

    def column(i: int) -> Array:
        return (8 * (moved(i, h) - moved(i, -h)) - (moved(i, 2 * h) - moved(i, -2 * h))) / (12 * h)

    return np.stack([column(i) for i in range(joint.type.nv)], axis=-1)


def point_jacobian(robot: Robot, q: Array, frame: str, point: Sequence[float] = (0.0, 0.0, 0.0)) -> Array:
    """J with ṙ = J v of a point fixed to a frame, (…, 3, nv) [ETH19, slide 6].

    Beneath a floating base its blocks are 1, −(r − p_B)^ and the part of the joints. The slide has the angular velocity in
    axes of the base, and so R_WB behind its second block; ours is in world axes.

    Args:
        point: m, in the axes of the frame.
    """
    return _contact_jacobian(robot, q, frame, point)[..., :3, :]


def point_bias(robot: Robot, q: Array, v: Array, frame: str, point: Sequence[float] = (0.0, 0.0, 0.0)) -> Array:
    """J̇v of the same point, (…, 3): its acceleration when a = 0."""
    return _contact_bias(robot, q, v, frame, point)[..., :3]


def _contact_jacobian(robot: Robot, q: Array, frame: str, point: Sequence[float]) -> Array:
    """Mixed Jacobian of the frame moved to a point of it, (…, 6, nv): velocities there are ṗ + ω × arm."""
    J = robot.jacobian(q, frame)
    if any(point):
        J[..., :3, :] -= rigid.skew(_arm(robot, q, frame, point)) @ J[..., 3:, :]
    return J


def _contact_bias(robot: Robot, q: Array, v: Array, frame: str, point: Sequence[float]) -> Array:
    """J̇v of the same, (…, 6): with what ω̇ does at a = 0, and the pull ω × (ω × arm) towards the axis."""
    bias = robot.bias_acceleration(q, v, frame)
    if any(point):
        arm, w = _arm(robot, q, frame, point), robot.velocity(q, v, frame)[..., 3:]
        bias[..., :3] += np.cross(bias[..., 3:], arm) + np.cross(w, np.cross(w, arm))
    return bias


def _arm(robot: Robot, q: Array, frame: str, point: Sequence[float]) -> Array:
    """The point from the frame's origin, in world axes."""
    place = np.asarray(point, dtype=float)
    if place.shape != (3,) or not np.isfinite(place).all():
        raise ShapeError(f"a point of frame {frame!r} is three finite numbers in metres, got {point!r}")
    return times(robot.pose(q, frame)[..., :3, :3], place)


# --- the stacked contact Jacobian [ETH19, slide 7] ---------------------------------------------------------------------


def contact_jacobian(robot: Robot, q: Array, contacts: Sequence[Contact], kind: Kind = "point", axes: str = AXES) -> Array:
    """J_c, contact above contact, (…, rows, nv): J_c v = 0 says that no contact moves [ETH19, slide 7].

    Args:
        contacts: frames, or points of frames.
        kind: "point" holds positions only; "frame" the orientation too.
        axes: world directions in which positions are held; "z" alone is a floor without friction.
    """
    q = np.asarray(q, dtype=float)
    rows = _held_rows(kind, axes)
    blocks = [_contact_jacobian(robot, q, *_parts(contact))[..., rows, :] for contact in contacts]
    return np.concatenate([np.zeros((*q.shape[:-1], 0, robot.nv)), *blocks], axis=-2)


def contact_bias(robot: Robot, q: Array, v: Array, contacts: Sequence[Contact], kind: Kind = "point", axes: str = AXES) -> Array:
    """J̇_c v, (…, rows): J_c a = −J̇_c v says that no contact accelerates."""
    q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
    rows = _held_rows(kind, axes)
    blocks = [_contact_bias(robot, q, v, *_parts(contact))[..., rows] for contact in contacts]
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    return np.concatenate([np.zeros((*batch, 0)), *blocks], axis=-1)


def _parts(contact: Contact) -> tuple[str, Sequence[float]]:
    return (contact, (0.0, 0.0, 0.0)) if isinstance(contact, str) else (contact[0], contact[1])


def _held_rows(kind: str, axes: str) -> list[int]:
    """Rows of a mixed Jacobian that a contact of this kind holds."""
    if kind not in ("point", "frame"):
        raise unknown_name("kind of contact", kind, ("point", "frame"))
    if not axes or not set(axes) <= set(AXES):
        raise ShapeError(f"axes names world directions in which contacts hold, some of 'xyz', got {axes!r}")
    return [AXES.index(axis) for axis in AXES if axis in axes] + ([3, 4, 5] if kind == "frame" else [])


# --- analysis [ETH19, slides 8–14] -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ContactAnalysis:
    """What contacts hold, at one configuration [ETH19, slide 11].

    The contacts can push the base along `controllable` directions, so that actuators command them. Motions along
    `uncontrollable` ones no contact feels: whatever the joints do, gravity and momentum decide there.

    Attributes:
        contacts: names of the contacts.
        J: contact Jacobian J_c, (rows, nv).
        base: columns of the unactuated base in it.
        rank, base_rank: of J_c and of its base part J_c,b.
        controllable, uncontrollable: orthonormal bases of the base's velocities, (base, …): range of J_c,bᵀ and kernel of
            J_c,b, a metre counted as a radian.
        words: the uncontrollable directions, in words.
    """

    contacts: tuple[str, ...]
    J: Array
    base: tuple[int, ...]
    rank: int
    base_rank: int
    controllable: Array
    uncontrollable: Array
    words: tuple[str, ...]

    @property
    def internal_constraints(self) -> int:
        """rank J_c − rank J_c,b: constraints on the joints alone, and dimension of the internal forces."""
        return self.rank - self.base_rank

    @property
    def redundant(self) -> int:
        """Rows that repeat others: so many combinations of contact forces no motion can tell."""
        return len(self.J) - self.rank

    @property
    def base_controllable(self) -> bool:
        """Whether contacts can push the base in every direction: rank J_c,b is full."""
        return self.base_rank == len(self.base)

    def report(self) -> str:
        """The analysis as a few lines of text."""
        free = len(self.base) - self.base_rank
        lines = [
            f"contacts: {', '.join(self.contacts) or 'none'}",
            f"total constraints        {self.rank:3d}   rank J_c ({len(self.J)} rows, {self.redundant} redundant)",
            f"base constraints         {self.base_rank:3d}   rank J_c,b",
            f"internal constraints     {self.internal_constraints:3d}   rank J_c − rank J_c,b",
            f"uncontrollable directions{free:3d}   of {len(self.base)}",
            *(f"  {words}" for words in self.words),
        ]
        return "\n".join(lines)


def analyse_contacts(
    robot: Robot,
    q: Array,
    contacts: Sequence[Contact],
    kind: Kind = "point",
    *,
    axes: str = AXES,
    base: Sequence[str] | None = None,
    tolerance: float = RANK_TOLERANCE,
) -> ContactAnalysis:
    """Ranks, internal constraints and uncontrollable base directions of contacts [ETH19, slides 8–14].

    Args:
        q: one configuration, (nq,).
        contacts, kind, axes: as of `contact_jacobian`.
        base: joints that count as the unactuated base; the floating base if not given.
        tolerance: singular values below this part of the largest count as zero.
    """
    q = np.asarray(q, dtype=float)
    if q.ndim != 1:
        raise ShapeError(f"analyse_contacts looks at one configuration, q of shape ({robot.nq},), got {q.shape}")
    J = contact_jacobian(robot, q, contacts, kind, axes)
    columns = _base_columns(robot, base)
    J_b = J[:, columns]
    held, free = _range_and_kernel(J_b, tolerance, _largest(J))
    if base is None and robot.floating:
        places = {_label(contact): _place(robot, q, contact) for contact in contacts}
        words = _twists_in_words(free, q[:3], places)
    else:
        words = _joints_in_words(free, _column_names(robot, columns))
    rank = _range_and_kernel(J, tolerance)[0].shape[1]
    arrays = [frozen(x) for x in (J, held, free)]
    return ContactAnalysis(
        tuple(map(_label, contacts)), arrays[0], tuple(columns), rank, held.shape[1], arrays[1], arrays[2], words
    )


def _label(contact: Contact) -> str:
    if isinstance(contact, str):
        return contact
    return f"{contact[0]} ({', '.join(f'{x:g}' for x in contact[1])})"


def _place(robot: Robot, q: Array, contact: Contact) -> Array:
    frame, point = _parts(contact)
    return robot.pose(q, frame)[:3, 3] + _arm(robot, q, frame, point)


def _base_columns(robot: Robot, base: Sequence[str] | None) -> list[int]:
    if base is None:
        return list(range(6)) if robot.floating else []
    columns: list[int] = []
    for name in base:
        if name not in robot.joints:
            raise unknown_name("joint", name, robot.joints)
        columns.extend(range(robot.nv)[robot.joints[name].v])
    return columns


def _column_names(robot: Robot, columns: Sequence[int]) -> list[str]:
    owner = {i: joint for joint in robot.joints.values() if joint.mimic is None for i in range(robot.nv)[joint.v]}
    return [owner[i].name if owner[i].type.nv == 1 else f"{owner[i].name}[{i - owner[i].v.start}]" for i in columns if i in owner]


def _range_and_kernel(J: Array, tolerance: float, scale: float = 0.0) -> tuple[Array, Array]:
    """Orthonormal bases of the range of Jᵀ and of the kernel of J, as columns; `scale` is that of what J is a part of."""
    _, s, V_T = np.linalg.svd(J)
    rank = int(np.sum(s > tolerance * max(s.max(initial=0.0), scale)))
    return V_T[:rank].T, V_T[rank:].T


def _largest(J: Array) -> float:
    """Largest singular value: next to it, a part of J that ought to be zero is known to be rounding."""
    return float(np.linalg.norm(J, 2)) if J.size else 0.0


# --- directions in words -----------------------------------------------------------------------------------------------


def _twists_in_words(twists: Array, p_base: Array, places: dict[str, Array]) -> tuple[str, ...]:
    """A space of base twists, (6, k), as translations and rotations about lines and contacts."""
    if twists.shape[1] == 6:
        return ("every motion of the base: nothing holds the robot",)
    turning, still = _range_and_kernel(twists[3:], RANK_TOLERANCE)  # combinations that turn the base, and that do not
    slides = twists[:3] @ still
    turns = twists @ turning
    turns[:3] -= slides @ (slides.T @ turns[:3])  # what a free translation can do says nothing about the axis
    return (*_translations_in_words(slides), *_rotations_in_words(turns, slides, p_base, places))


def _translations_in_words(slides: Array) -> tuple[str, ...]:
    count = slides.shape[1]
    if count == 3:
        return ("translation in every direction",)
    if count == 2:
        normal = _direction(np.cross(slides[:, 0], slides[:, 1]))
        return ("horizontal translation, in both directions" if normal == "z" else f"translation in the plane across {normal}",)
    return tuple("vertical translation" if _direction(d) == "z" else f"translation along {_direction(d)}" for d in slides.T)


def _rotations_in_words(turns: Array, slides: Array, p_base: Array, places: dict[str, Array]) -> tuple[str, ...]:
    count = turns.shape[1]
    moved = {name: turns[:3] + np.cross(turns[3:], (p - p_base)[:, None], axis=0) for name, p in places.items()}
    on_axis = [name for name, v in moved.items() if np.allclose(v, 0.0, atol=1e-7)]
    fixed = [name for name, v in moved.items() if np.allclose(v, slides @ (slides.T @ v), atol=1e-7)]
    if count == 3:
        return (f"rotation about every axis through {fixed[0]}" if fixed else "rotation about every axis",)
    if count == 2 and fixed:
        across = _direction(np.cross(turns[3:, 0], turns[3:, 1]))
        return (f"rotation about every axis through {fixed[0]} across {across}",)
    if count == 1 and len(on_axis) > 1:
        return (f"rotation about the line through {', '.join(on_axis[:-1])} and {on_axis[-1]}",)
    return tuple(_screw_in_words(turn, slides, p_base, fixed) for turn in turns.T)


def _screw_in_words(turn: Array, slides: Array, p_base: Array, fixed: Sequence[str]) -> str:
    """One rotation: its axis, a place on it, and how far it advances."""
    v, w = turn[:3], turn[3:]
    axis = f"rotation about the {'vertical' if _direction(w) == 'z' else _direction(w)} axis"
    if np.linalg.matrix_rank(np.column_stack([slides, w])) == 3:
        return axis  # translations across the axis carry it anywhere
    pitch = float(v @ w / (w @ w))
    where = f"{axis} through {fixed[0] if fixed else _triple(p_base + np.cross(w, v) / (w @ w))}"
    return where if abs(pitch) < 1e-7 else f"{where}, advancing {pitch:.3g} m per radian"


def _direction(d: Array) -> str:
    """A direction by the axis it follows, or by its components."""
    unit = d / np.linalg.norm(d)
    largest = int(np.argmax(np.abs(unit)))
    if abs(unit[largest]) > 1 - 1e-9:
        return AXES[largest]
    return _triple(unit * np.sign(unit[largest]))


def _triple(x: Array) -> str:
    return f"({', '.join(f'{value:.3g}' for value in np.where(np.abs(x) < 1e-9, 0.0, x))})"


def _joints_in_words(free: Array, names: Sequence[str]) -> tuple[str, ...]:
    """Velocities of base joints that stay free: joints by name, and the count of what remains."""
    alone = [name for name, row in zip(names, free, strict=True) if np.isclose(row @ row, 1.0)]
    involved = [name for name, row in zip(names, free, strict=True) if name not in alone and row @ row > 1e-12]
    rest = free.shape[1] - len(alone)
    together = (f"{rest} of the combined motions of joints {', '.join(involved)}",) if rest else ()
    return (*(f"motion of joint {name}" for name in alone), *together)


# --- support [ETH19, slides 22–25 and 32] ------------------------------------------------------------------------------


class SupportTorque(NamedTuple):
    """Actuator torques for a wanted acceleration, with what they do."""

    torque: Array  # (…, actuators)
    contact_force: Array  # (…, rows), on the robot
    acceleration: Array  # (…, nv), what comes of it: the wanted one, where that is possible
    residual: Any  # (…), part of the wanted support-consistent force that no torque supplies, relative


@dataclass(frozen=True, eq=False)
class SupportDynamics:
    """M a + h = Sᵀ τ + J_cᵀ F with J_c a + J̇_c v = 0: a robot that stands on its contacts [ETH19, slides 22 and 32].

    The slides write −J_cᵀ F, the force by the robot; here F is the force **on** the robot.

    Attributes:
        constrained: the same as constrained dynamics.
        S: selection of the actuated velocities, (actuators, nv).
    """

    constrained: ConstrainedDynamics
    S: Array

    @property
    def jacobian(self) -> Array:
        """J_c, (…, rows, nv)."""
        return self.constrained.A

    @property
    def projector(self) -> Array:
        """N_c = 1 − M⁻¹ J_cᵀ (J_c M⁻¹ J_cᵀ)⁺ J_c, (…, nv, nv): J_c N_c = 0 and N_cᵀ J_cᵀ = 0."""
        return self.constrained.null_projector

    @property
    def consistent(self) -> tuple[Array, Array, Array]:
        """(N_cᵀ M, N_cᵀ h, N_cᵀ Sᵀ): support-consistent dynamics N_cᵀ M a + N_cᵀ h = N_cᵀ Sᵀ τ, free of contact forces."""
        N_T = np.swapaxes(self.projector, -1, -2)
        return N_T @ self.constrained.M, times(N_T, self.constrained.h), N_T @ self.S.T

    def acceleration(self, torque: Array) -> Array:
        """Acceleration under actuator torques, (…, nv)."""
        return self.constrained.acceleration(np.asarray(torque) @ self.S)

    def contact_force(self, torque: Array) -> Array:
        """F_c on the robot, (…, rows); the one of least norm where contacts are redundant.

        F_c = −(J_c M⁻¹ J_cᵀ)⁺ (J_c M⁻¹ (Sᵀ τ − h) + J̇_c v)          [ETH19, slide 22], sign turned
        """
        return self.constrained.multipliers(np.asarray(torque) @ self.S)

    @property
    def torque_null_space(self) -> Array:
        """Projector onto torques that change contact forces and no motion, (…, actuators, actuators) [ETH19, slide 32]."""
        B = self.consistent[2]
        return np.eye(len(self.S)) - self._inverse(B) @ B

    def inverse_dynamics(self, a: Array, torque: Array | None = None) -> SupportTorque:
        """Torques for acceleration a; of all that give it, those nearest to `torque` (to zero, if it is not given).

        τ = (N_cᵀ Sᵀ)⁺ N_cᵀ (M a + h) + 𝒩(N_cᵀ Sᵀ) τ₀                [ETH19, slide 32]

        An acceleration that the contacts forbid, or that lies along an uncontrollable direction, cannot be had: `residual`
        is then well above zero and `acceleration` says what comes instead.
        """
        N_T_M, N_T_h, B = self.consistent
        wanted = times(N_T_M, np.asarray(a, dtype=float)) + N_T_h
        inverse = self._inverse(B)
        tau = times(inverse, wanted)
        if torque is not None:
            start = np.asarray(torque, dtype=float)
            tau = tau + start - times(inverse, times(B, start))
        left = np.linalg.norm(wanted - times(B, tau), axis=-1)
        size = np.linalg.norm(wanted, axis=-1)
        residual = left / np.where(size > 0, size, 1.0)
        return SupportTorque(tau, self.contact_force(tau), self.acceleration(tau), residual[()])

    def _inverse(self, B: Array) -> Array:
        """(N_cᵀ Sᵀ)⁺; where the contacts leave no motion, N_cᵀ Sᵀ is rounding of S."""
        U, s, V_T = np.linalg.svd(B, full_matrices=False)
        kept = s > RANK_TOLERANCE * np.maximum(s.max(axis=-1, keepdims=True, initial=0.0), _largest(self.S))
        return (np.swapaxes(V_T, -1, -2) * np.where(kept, 1 / np.where(kept, s, 1.0), 0.0)[..., None, :]) @ np.swapaxes(U, -1, -2)

    @property
    def internal_forces(self) -> Array:
        """Orthonormal contact forces, (rows, k), that actuators can make and that move nothing; one state only.

        The robot pulls its own feet together: J_cᵀ F lies in the range of Sᵀ, so `internal_torque(F)` balances it. Their
        number k is that of the internal constraints. Combinations that do not even load an actuator are left out.
        """
        J = self.jacobian
        if J.ndim != 2:
            raise ShapeError(f"internal_forces looks at one state, J_c of two dimensions, got shape {J.shape}")
        scale = _largest(J)
        _, unactuated = _range_and_kernel(self.S, RANK_TOLERANCE)
        _, balanced = _range_and_kernel((J @ unactuated).T, RANK_TOLERANCE, scale)
        felt, _ = _range_and_kernel(J.T @ balanced, RANK_TOLERANCE, scale)
        return balanced @ felt

    def internal_torque(self, force: Array) -> Array:
        """Torques τ that balance an internal force: Sᵀ τ = −J_cᵀ F."""
        return -times(np.linalg.pinv(self.S.T), times(np.swapaxes(self.jacobian, -1, -2), np.asarray(force, dtype=float)))


def support_dynamics(
    robot: Robot,
    q: Array,
    v: Array,
    contacts: Sequence[Contact],
    kind: Kind = "point",
    *,
    axes: str = AXES,
    actuated: Sequence[str] | None = None,
    consistency: float = CONSISTENCY,
) -> SupportDynamics:
    """The dynamics of a robot on its contacts at a state; leading dimensions are batches.

    Args:
        contacts, kind, axes: as of `contact_jacobian`.
        actuated: joints with actuators; those of the robot (`Robot.actuated`) if not given.
        consistency: as of `ConstrainedDynamics`.
    """
    J = contact_jacobian(robot, q, contacts, kind, axes)
    bias = contact_bias(robot, q, v, contacts, kind, axes)
    M, h = robot.mass_matrix(q), robot.bias_force(q, v)
    constrained = ConstrainedDynamics(M, h, J, -bias, consistency=consistency)
    return SupportDynamics(constrained, frozen(selection(robot, actuated)))


def selection(robot: Robot, actuated: Sequence[str] | None = None) -> Array:
    """S with v_actuated = S v, (actuators, nv) [ETH19, slide 15]; by default that of the robot's own motors."""
    if actuated is None:
        return robot.selection_matrix
    rows = [np.zeros((0, robot.nv))]
    for name in actuated:
        if name not in robot.joints:
            raise unknown_name("joint", name, robot.joints)
        joint = robot.joints[name]
        rows.append((1.0 if joint.mimic is None else joint.mimic.multiplier) * np.eye(robot.nv)[joint.v])
    return np.concatenate(rows)
