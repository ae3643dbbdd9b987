"""The ideal plant: contacts are constraints that do not slip, open under tension and close with an impact.

While a contact is closed its points do not move, M a + h = tau + Jᵀ λ with J a = −J̇v, and the normal forces satisfy

    r̈_n ≥ 0,   λ_n ≥ 0,   r̈_n λ_n = 0                                  [ETH19, slide 20]

Friction is unlimited here; if a contact would need more friction than it has, an event is logged. Between events the
motion is integrated with fourth order, then positions and velocities are projected onto the constraints in the metric
of M, so that nothing drifts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import StateError
from ..geometry.primitives import GeometryError
from .contacts import axes_of
from .integrators import integrator as integrator_named
from .plant import NO_WRENCHES, OwnPlant, PlantState, Wrenches, require_finite
from .world import gaps, moves

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
TOUCHING = 1e-4  # m; a point that starts closer to the ground is in contact
BURIED = 5e-3  # m; a point that starts deeper in the ground is an error
CLOSES = 1e-9  # m of penetration at which an open point counts as landed
PULLS = 1e-9  # × largest force; a smaller tension is rounding
OPENS = 1e-7  # m/s², × (1 + |a|); a point that accelerates away faster has opened
SLOW = 1e-2  # m/s; slower impacts do not rebound, else a ball would bounce infinitely often
TURN = 0.02  # rad, largest rotation of a joint or the base in one integration step
EVENTS = 20  # openings and closings per step; after these, the rest of the step runs without events
RANK = 1e-12  # × largest eigenvalue of J M⁻¹ Jᵀ; smaller ones belong to redundant rows
FORCES_SOFTNESS = 1e-10  # × largest compliance; makes redundant normal forces unique


class IdealPlant(OwnPlant):
    """A plant whose contacts are ideal constraints.

    Args:
        contacts: frames or points that may touch, see `contacts_of`.
        restitution: coefficient of restitution e of impacts: 0, the contact stays, to 1, no energy is lost.
        integrator: "rk4", "midpoint" or "euler".
        ground, obstacles, friction: as for every plant; friction is only monitored.
    """

    t: float
    closed: Array
    v: Array
    restitution: float
    q: Array

    def __init__(
        self, robot: Robot, contacts: Any = (), *, restitution: float = 0.0, integrator: str = "rk4", **world: Any
    ) -> None:
        super().__init__(robot, contacts, **world)
        if not 0 <= restitution <= 1:
            raise StateError(f"restitution lies between 0 and 1, got {restitution!r}")
        if any(moves(solid) for solid in self.world):
            raise GeometryError(
                "the ideal plant holds points on what is at rest; for moving obstacles take plant='hard' or 'mujoco'"
            )
        self.restitution, self._integrate = restitution, integrator_named(integrator)
        self._free()

    def _free(self) -> None:
        k = self.points.count
        self.closed = np.zeros(k, dtype=bool)
        self._axes, self._anchors = np.zeros((k, 3, 3)), np.zeros((k, 3))
        self._slipping: set[str] = set()

    def reset(self, q: Array, v: Array) -> PlantState:
        """Resets the plant at time 0; points near the ground are in contact, and approaching ones end in an impact
        at once."""
        super().reset(q, v)
        self._free()
        _, places = self.points.arms(self.q)
        found = gaps(self.world, places, 0.0)
        deep = found.distance < -BURIED
        if deep.any():
            name = self.points.names[np.argmin(found.distance)]
            raise StateError(f"contact {name!r} starts {-found.distance.min():.3g} m inside the ground or an obstacle")
        touching = found.distance < TOUCHING
        if touching.any():
            self._close(touching, self.q)
            self.q, self.v = self._projected(self.q, self.v)
        return PlantState(self.q, self.v, self.t)

    # --- a step ---------------------------------------------------------------------------------------------------

    def step(self, tau: Array, dt: float, wrenches: Wrenches = NO_WRENCHES) -> PlantState:
        """Advances by dt under constant tau and constant pushes."""
        left, events, impulse = dt, list[str](), np.zeros((self.points.count, 3))
        for k in range(EVENTS):
            opened, forces = self._opened(tau, wrenches)
            events += [f"{name} leaves the ground" for name in opened]
            done, struck = self._advance(tau, wrenches, left, watch=k < EVENTS - 1)
            impulse += done * forces
            events += struck
            left -= done
            if left <= 1e-12 * dt:
                break
        mean = impulse / dt
        events += self._needs_friction(mean)
        arms, _ = self.points.arms(self.q)
        return PlantState(self.q, self.v, self.t, self.points.wrenches(mean, arms), tuple(events))

    def _advance(self, tau: Array, wrenches: Wrenches, h: float, *, watch: bool) -> tuple[float, list[str]]:
        """Moves for h seconds or until a point lands; returns (seconds moved, events)."""
        q, v = self._moved(tau, wrenches, h)
        leaving = bool(
            self._reached(self.q, self.t).any()
        )  # a point that left too slowly to clear the threshold; only its return counts as landing
        if not watch or not self._arrives(q, v, self.t + h, leaving):
            self.q, self.v, self.t = q, v, self.t + h
            return h, []
        low, high = 0.0, h
        while high - low > 1e-9 * h:
            middle = (low + high) / 2
            q, v = self._moved(tau, wrenches, middle)
            low, high = (low, middle) if self._arrives(q, v, self.t + middle, leaving) else (middle, high)
        self.q, self.v = self._moved(tau, wrenches, high)
        self.t += high
        return high, self._strike()

    def _moved(self, tau: Array, wrenches: Wrenches, h: float) -> tuple[Array, Array]:
        if h == 0.0:
            return self.q, self.v
        q, v, acceleration = self.q, self.v, self._acceleration(tau, wrenches)
        turning = np.abs(v[3:] if self.robot.floating else v).max(initial=0.0)
        count = max(1, int(np.ceil(turning * h / TURN)))
        for _ in range(count):
            q, v = self._integrate(self.robot, q, v, acceleration, h / count)
            require_finite(v)
            q, v = self._projected(q, v)
        return q, v

    # --- closed points --------------------------------------------------------------------------------------------

    def _held(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Returns the Jacobian rows (normal, tangents) of the closed points, (3k, nv), and their bias, (3k,)."""
        axes = self._axes[self.closed]
        arms, _ = self.points.arms(q)
        J = axes @ self.points.jacobian(q, arms)[self.closed]
        bias = np.einsum("kij,kj->ki", axes, self.points.bias(q, v, arms)[self.closed])
        return J.reshape(-1, self.robot.nv), bias.ravel()

    def _acceleration(self, tau: Array, wrenches: Wrenches) -> Callable[[Array, Array], Array]:
        robot = self.robot

        def free(q: Array, v: Array) -> Array:
            return robot.forward_dynamics(q, v, self.generalised(q, tau, wrenches))

        def held(q: Array, v: Array) -> Array:
            J, bias = self._held(q, v)
            M, force = robot.mass_matrix(q), self.generalised(q, tau, wrenches) - robot.bias_force(q, v)
            a = np.linalg.solve(M, force)
            return a - _Held(M, J).stop(J @ a + bias)

        return held if self.closed.any() else free

    def _projected(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Returns the nearest configuration and velocity, in the metric of M, that satisfy the closed contacts."""
        if not self.closed.any():
            return q, v
        for _ in range(2):  # Newton's method; the drift is small, so the second iteration only confirms
            arms, places = self.points.arms(q)
            axes, nv = self._axes[self.closed], self.robot.nv
            J = (axes @ self.points.jacobian(q, arms)[self.closed]).reshape(-1, nv)
            off = np.einsum("kij,kj->ki", axes, (places - self._anchors)[self.closed]).ravel()
            held = _Held(self.robot.mass_matrix(q), J)
            q, v = self.robot.integrate(q, held.stop(off), -1.0), v - held.stop(J @ v)
            if np.abs(off).max() < 1e-10:
                break
        return q, v

    # --- opening --------------------------------------------------------------------------------------------------

    def _opened(self, tau: Array, wrenches: Wrenches) -> tuple[list[str], Array]:
        """Opens points under tension; returns (names of contacts that left, forces at all points in world axes)."""
        before, forces = self.closed.copy(), np.zeros((self.points.count, 3))
        while self.closed.any():
            J, bias = self._held(self.q, self.v)
            M, h = self.robot.mass_matrix(self.q), self.robot.bias_force(self.q, self.v)
            force = self.generalised(self.q, tau, wrenches) - h
            lam, away = unilateral(M, J, J @ np.linalg.solve(M, force) + bias)
            if not away.any():
                forces[self.closed] = np.einsum("kij,ki->kj", self._axes[self.closed], lam.reshape(-1, 3))
                break
            self.closed[np.flatnonzero(self.closed)[away]] = False
        left = self.points.names[before & ~self.closed]
        return [n for n in dict.fromkeys(left) if not self.closed[self.points.parts[n]].any()], forces

    # --- closing --------------------------------------------------------------------------------------------------

    def _reached(self, q: Array, t: float) -> Array:
        """Returns which open points have landed."""
        if self.closed.all():
            return np.zeros_like(self.closed)
        return ~self.closed & (gaps(self.world, self.points.arms(q)[1], t).distance < -CLOSES)

    def _arrives(self, q: Array, v: Array, t: float, leaving: bool) -> bool:
        """Whether an open point has landed; with `leaving`, it must also be moving into the ground."""
        reached = self._reached(q, t)
        if leaving and reached.any():
            reached &= self._normal_speeds(q, v) <= 0
        return bool(reached.any())

    def _normal_speeds(self, q: Array, v: Array) -> Array:
        """Returns the speeds of all points away from the nearest surface, m/s."""
        arms, places = self.points.arms(q)
        return np.einsum("ki,kij,j->k", gaps(self.world, places, self.t).normal, self.points.jacobian(q, arms), v)

    def _close(self, which: Array, q: Array) -> None:
        _, places = self.points.arms(q)
        found = gaps(self.world, places, self.t)
        self._axes[which] = axes_of(found.normal[which])
        self._anchors[which] = (places - found.distance[:, None] * found.normal)[which]
        self.closed = self.closed | which

    def _strike(self) -> list[str]:
        """Applies the impact of the points that have landed, together with all closed ones [ETH19, slide 26].

        Impulses can only push: points that would be pulled open, and points that rebound open too.
        """
        arms, places = self.points.arms(self.q)
        found, J_all = gaps(self.world, places, self.t), self.points.jacobian(self.q, arms)
        struck = ~self.closed & (found.distance < CLOSES) & (self._normal_speeds(self.q, self.v) <= 0)
        self._close(struck, self.q)
        if not self.closed.any():
            return []
        J = (self._axes[self.closed] @ J_all[self.closed]).reshape(-1, self.robot.nv)
        speed = J @ self.v
        target = speed.copy()
        rebounds = speed[::3] < -SLOW
        target[::3] *= 1 + self.restitution * rebounds
        M = self.robot.mass_matrix(self.q)
        impulse, away = unilateral(M, J, target)
        self.v = self.v + np.linalg.solve(M, J.T @ impulse)
        leaving = away | (rebounds & (self.restitution > 0))
        names, fell = self.points.names[struck], speed[::3][struck[self.closed]]
        self.closed[np.flatnonzero(self.closed)[leaving]] = False
        self.q, self.v = self._projected(self.q, self.v)
        worst = {name: -fell[names == name].min() for name in dict.fromkeys(names)}
        return [f"{name} strikes the ground at {speed:.3g} m/s" for name, speed in worst.items()]

    def _needs_friction(self, forces: Array) -> list[str]:
        """Returns events for contacts whose force has left the friction cone, once per contact."""
        events = []
        for name, rows in self.points.parts.items():
            if name in self._slipping or not self.closed[rows].any():
                continue
            local = np.einsum("kij,kj->ki", self._axes[rows], forces[rows]).sum(0)
            needed = np.hypot(*local[1:]) / local[0] if local[0] > 1e-6 else 0.0
            if needed > self.contacts[name].friction * (1 + 1e-9):
                self._slipping.add(name)
                events.append(
                    f"{name} would slip: it needs friction {needed:.3g} and has {self.contacts[name].friction:.3g}"
                )
        return events


class _Held:
    """Projection by M and constraint rows J; a faster, less general `ConstrainedDynamics`."""

    def __init__(self, M: Array, J: Array) -> None:
        self._response = np.linalg.solve(M, J.T)
        values, self._axes = np.linalg.eigh(J @ self._response)
        kept = values > RANK * values[-1]
        self._inverse = np.where(kept, 1 / np.where(kept, values, 1.0), 0.0)

    def push(self, w: Array) -> Array:
        """Returns (J M⁻¹ Jᵀ)⁺ w, the minimum-norm forces that change the constraint rates by w."""
        return self._axes @ (self._inverse * (w @ self._axes))

    def stop(self, w: Array) -> Array:
        """Returns the smallest change of velocity, in the metric of M, that changes the constraint rates by w."""
        return self._response @ self.push(w)


def unilateral(M: Array, J: Array, free: Array) -> tuple[Array, Array]:
    """Returns forces λ with normal parts ≥ 0 that stop the motion `free` of the rows J, and which points open.

        J M⁻¹ Jᵀ λ + free = w,   w_n ≥ 0,  λ_n ≥ 0,  w_n λ_n = 0,   w_t = 0

    Rows come in threes: normal, tangent, tangent. First all points are closed, with minimum-norm forces; the
    inequalities
    are solved, as non-negative least squares in the metric of M, only if a point is under tension.
    """
    lam = -_Held(M, J).push(free)
    if (lam[::3] >= -PULLS * (1 + np.abs(lam).max())).all():
        return lam, np.zeros(len(lam) // 3, dtype=bool)
    from scipy.optimize import nnls

    B = np.linalg.solve(np.linalg.cholesky(M), J.T).T
    normal = np.arange(len(J)) % 3 == 0
    B_n, B_t = B[normal], B[~normal]
    w = np.linalg.lstsq(B, free, rcond=1e-10)[0]
    # projector onto directions that tangential forces cannot reach
    across = np.eye(B.shape[1]) - np.linalg.pinv(B_t, rcond=1e-10) @ B_t
    soft = np.sqrt(FORCES_SOFTNESS) * np.linalg.norm(B_n, 2)
    matrix = np.vstack([across @ B_n.T, soft * np.eye(len(B_n))])
    lam_n = nnls(matrix, np.concatenate([-across @ w, np.zeros(len(B_n))]))[0]
    lam = np.empty(len(J))
    lam[normal] = lam_n
    lam[~normal] = np.linalg.lstsq(B_t.T, -(B_n.T @ lam_n + w), rcond=1e-10)[0]
    leaves = B_n @ (B.T @ lam + w)
    return lam, (leaves > OPENS * (1 + np.abs(free).max())) & (lam_n <= 0)
