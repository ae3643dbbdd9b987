"""A robot computed a second time, from its description alone: what the rows of the papers are held against.

Newton's and Euler's laws body by body, in world axes, on NumPy and SciPy. Nothing here comes from `equations`,
`machine`, `algebra` or `forms`: a mistake there shows as a difference. It is slow and plain on purpose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.transform import Rotation

if TYPE_CHECKING:
    from ..model.types import Joint, Model
    from ..robot import Robot

Array = np.ndarray


def cross_matrix(w: Array) -> Array:
    """w^ with w^ u = w × u."""
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def cross(a: Array, b: Array) -> Array:
    """a × b; NumPy's own takes ten times as long on three numbers."""
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


def axial(W: Array) -> Array:
    """w of the skew part of W = w^."""
    return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2


def turned(rotation_vector: Array) -> Array:
    """exp(w^), 3×3."""
    return Rotation.from_rotvec(rotation_vector).as_matrix()


def rate(f: Callable[[float], Any], h: float = 1e-3) -> Any:
    """df/dt at 0 by central differences of sixth order."""
    return sum(w * (f(k * h) - f(-k * h)) for k, w in ((1, 45.0), (2, -9.0), (3, 1.0))) / (60.0 * h)


def second_rate(f: Callable[[float], Any], h: float = 5e-3) -> Any:
    """d²f/dt² at 0, of sixth order."""
    around = sum(w * (f(k * h) + f(-k * h)) for k, w in ((1, 270.0), (2, -27.0), (3, 2.0)))
    return (around - 490.0 * f(0.0)) / (180.0 * h * h)


@dataclass(frozen=True, eq=False)
class FrameMotion:
    """A frame: where it is and how it moves, in world axes.

    Attributes:
        R, p: orientation and origin.
        J: mixed Jacobian (linear over angular), (6, nv).
        V: twist J v, (6,).
        A: J̇ v, (6,).
    """

    R: Array
    p: Array
    J: Array
    V: Array
    A: Array

    def carried(self, R: Array, p: Array) -> FrameMotion:
        """A frame fixed to this one, at (R, p) in it."""
        if not p.any():
            return FrameMotion(self.R @ R, self.p, self.J, self.V, self.A)
        arm, w = self.R @ p, self.V[3:]
        J, V, A = self.J.copy(), self.V.copy(), self.A.copy()
        J[:3] -= cross_matrix(arm) @ self.J[3:]
        V[:3] += cross(w, arm)
        A[:3] += cross(self.A[3:], arm) + cross(w, cross(w, arm))
        return FrameMotion(self.R @ R, self.p + arm, J, V, A)

    @property
    def X(self) -> Array:
        """Pose, 4×4."""
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = self.R, self.p
        return X


class ReferenceState:
    """A robot at one state.

    Args:
        robot: only its description (`robot.model`) is read.
        q, v: configuration and velocity, (nq,) and (nv,); at rest if v is not given.
    """

    model: Model
    links: dict[str, FrameMotion]

    def __init__(self, robot: Robot, q: Array, v: Array | None = None) -> None:
        self.model, self.q = robot.model, np.asarray(q, dtype=float)
        self.v = np.zeros(self.model.nv) if v is None else np.asarray(v, dtype=float)
        self.links = _links(self.model, self.q, self.v)

    def frame(self, name: str, point: Array | tuple[float, ...] = (0.0, 0.0, 0.0)) -> FrameMotion:
        """A frame, or a point of it with its axes."""
        frame = self.model.frames[name]
        at_link = _world(self.model.nv) if frame.parent is None else self.links[frame.parent]
        return at_link.carried(frame.X[:3, :3], frame.X[:3, 3]).carried(np.eye(3), np.asarray(point, dtype=float))

    @cached_property
    def bodies(self) -> list[tuple[float, Array, FrameMotion]]:
        """(mass, inertia about its centre of mass in world axes, motion of the centre of mass) of every link with
        mass."""
        found = []
        for name, link in self.model.links.items():
            if link.inertia is not None:
                at = self.links[name].carried(np.eye(3), link.inertia.com)
                found.append((link.inertia.mass, at.R @ link.inertia.matrix @ at.R.T, at))
        return found

    # --- equations of motion ------------------------------------------------------------------------------------

    @cached_property
    def M(self) -> Array:
        """Σ m Jᵀ J + J_ωᵀ I J_ω, (nv, nv)."""
        M = sum(m * at.J[:3].T @ at.J[:3] + at.J[3:].T @ inertia @ at.J[3:] for m, inertia, at in self.bodies)
        return np.asarray(M)

    @cached_property
    def g(self) -> Array:
        """Force that holds the robot against gravity, (nv,)."""
        return np.asarray(-sum(m * at.J[:3].T @ np.array(self.model.gravity) for m, _, at in self.bodies))

    @cached_property
    def h(self) -> Array:
        """Force that keeps v constant: C v + g, (nv,)."""
        return self.force(np.zeros(self.model.nv))

    def force(self, a: Array) -> Array:
        """Generalised force of a motion: Newton's law for every centre of mass, Euler's for every spin."""
        total = np.zeros(self.model.nv)
        for m, inertia, at in self.bodies:
            A, w = at.J @ a + at.A, at.V[3:]
            torque = inertia @ A[3:] + cross(w, inertia @ w)
            total += m * at.J[:3].T @ (A[:3] - np.array(self.model.gravity)) + at.J[3:].T @ torque
        return total

    def acceleration(self, tau: Array) -> Array:
        """Acceleration under a generalised force, (nv,)."""
        return np.linalg.solve(self.M, tau - self.h)

    def held(self, tau: Array, J: Array, bias: Array) -> tuple[Array, Array]:
        """(a, λ) of M a + h = tau + Jᵀ λ with J a + bias = 0, as one system."""
        K = np.block([[self.M, -J.T], [J, np.zeros((len(J), len(J)))]])
        found = np.linalg.solve(K, np.concatenate([tau - self.h, -bias]))
        return found[: self.model.nv], found[self.model.nv :]

    # --- the whole robot ----------------------------------------------------------------------------------------

    @cached_property
    def mass(self) -> float:
        return float(sum(m for m, _, _ in self.bodies))

    @cached_property
    def com(self) -> Array:
        return np.asarray(sum(m * at.p for m, _, at in self.bodies)) / self.mass

    @cached_property
    def com_jacobian(self) -> Array:
        return np.asarray(sum(m * at.J[:3] for m, _, at in self.bodies)) / self.mass

    @cached_property
    def com_bias(self) -> Array:
        return np.asarray(sum(m * at.A[:3] for m, _, at in self.bodies)) / self.mass

    @cached_property
    def momentum_matrix(self) -> Array:
        """(linear, angular about the centre of mass) momentum per velocity, (6, nv)."""
        angular = sum(
            m * cross_matrix(at.p - self.com) @ at.J[:3] + inertia @ at.J[3:] for m, inertia, at in self.bodies
        )
        return np.concatenate([self.mass * self.com_jacobian, np.asarray(angular)])

    @cached_property
    def locked_inertia(self) -> Array:
        """Of all bodies as one, about the centre of mass, (3, 3)."""
        arms = [(m, inertia, cross_matrix(at.p - self.com)) for m, inertia, at in self.bodies]
        return np.asarray(sum(inertia - m * r @ r for m, inertia, r in arms))

    @cached_property
    def kinetic_energy(self) -> float:
        parts = [m * at.V[:3] @ at.V[:3] + at.V[3:] @ inertia @ at.V[3:] for m, inertia, at in self.bodies]
        return float(sum(parts)) / 2

    @cached_property
    def potential_energy(self) -> float:
        return float(-self.mass * np.array(self.model.gravity) @ self.com)


def path(robot: Robot, q: Array, v: Array, a: Array | None = None) -> Callable[[float], Array]:
    """t → q(t) with velocity v and acceleration a at t = 0: joints one by one, rotations through exp."""
    a = np.zeros_like(v) if a is None else a

    def at(t: float) -> Array:
        moved, step = np.array(q, dtype=float), v * t + a * t * t / 2
        for joint in robot.model.joints.values():
            if joint.moving and joint.mimic is None:
                moved[joint.q] = _stepped(joint, moved[joint.q], step[joint.v])
        return moved

    return at


# --- one joint after the other ----------------------------------------------------------------------------------------


def _world(nv: int) -> FrameMotion:
    return FrameMotion(np.eye(3), np.zeros(3), np.zeros((6, nv)), np.zeros(6), np.zeros(6))


def _links(model: Model, q: Array, v: Array) -> dict[str, FrameMotion]:
    """Motion of every link, parents before children."""
    found: dict[str | None, FrameMotion] = {None: _world(model.nv)}
    waiting = list(model.joints.values())
    while waiting:
        ready = [joint for joint in waiting if joint.parent in found]
        for joint in ready:
            found[joint.child] = _moved(joint, found[joint.parent], q, v)
        waiting = [joint for joint in waiting if joint.child not in found]
    return {name: motion for name, motion in found.items() if name is not None}


def _moved(joint: Joint, parent: FrameMotion, q: Array, v: Array) -> FrameMotion:
    """The child of a joint: rigid placement, the joint's own motion, rigid tail."""
    at = parent.carried(joint.origin[:3, :3], joint.origin[:3, 3])
    if joint.moving:
        factor, offset = (1.0, 0.0) if joint.mimic is None else (joint.mimic.multiplier, joint.mimic.offset)
        at = _joint_moved(joint, at, factor * q[joint.q] + offset, factor, v)
    return at.carried(joint.tail[:3, :3], joint.tail[:3, 3])


def _joint_moved(joint: Joint, at: FrameMotion, s: Array, factor: float, v: Array) -> FrameMotion:
    """Beyond the joint: its slide adds a Coriolis term, its spin turns with the parent."""
    R, p, slide, spin = _kinematics(joint, s)
    child = at.carried(R, p)
    slide, spin = factor * at.R @ slide, factor * at.R @ spin
    J, V, A = child.J.copy(), child.V.copy(), child.A.copy()
    u, w, turn = slide @ v[joint.v], at.V[3:], spin @ v[joint.v]
    J[:3, joint.v] += slide
    J[3:, joint.v] += spin
    V += np.concatenate([u, turn])
    A += np.concatenate([2 * cross(w, u), cross(w, turn)])
    return FrameMotion(child.R, child.p, J, V, A)


def _kinematics(joint: Joint, s: Array) -> tuple[Array, Array, Array, Array]:
    """(R, p, velocity of the origin per rate, angular velocity per rate), all in the axes before the joint."""
    kind: Any = joint.type
    if kind.name == "floating":
        both = np.eye(6)
        return of_quaternion(s[3:]), s[:3], both[:3], both[3:]
    if kind.name == "ball":
        R = of_quaternion(s)
        return R, np.zeros(3), np.zeros((3, 3)), R
    if kind.name == "planar":
        return turned(np.array([0, 0, s[2]])), np.array([s[0], s[1], 0.0]), np.diag([1.0, 1, 0]), np.diag([0.0, 0, 1])
    axis = np.array(kind.axis, dtype=float).reshape(3, 1)
    if kind.name == "prismatic":
        return np.eye(3), axis[:, 0] * s[0], axis, 0 * axis
    return turned(axis[:, 0] * s[0]), np.zeros(3), 0 * axis, axis


def of_quaternion(wxyz: Array) -> Array:
    """Rotation, 3×3."""
    return Rotation.from_quat(wxyz, scalar_first=True).as_matrix()


def _stepped(joint: Joint, s: Array, step: Array) -> Array:
    if joint.type.name not in ("floating", "ball"):
        return s + step
    before, turn = Rotation.from_quat(s[-4:], scalar_first=True), Rotation.from_rotvec(step[-3:])
    after = turn * before if joint.type.name == "floating" else before * turn
    quaternion = after.as_quat(scalar_first=True)
    quaternion *= np.sign(quaternion @ s[-4:]) or 1.0  # stay on the same sheet
    return np.concatenate([s[:-4] + step[:-3], quaternion])
