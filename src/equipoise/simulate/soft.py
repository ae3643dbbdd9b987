"""The soft plant: the ground yields and pushes back. The three force laws of [ETH19, slide 17].

With x the depth of a point in the ground and ẋ its rate, forces on the robot and never pulling:

    "linear"     F = −k (r − r₀) − b ṙ      spring and damper from the place r₀ where the point touched, all directions
    "plate"      F_n = max(0, k z + b ż)    the same for the normal, on a plate without mass: where the robot leaves
                                            faster than the plate can follow (x < z), no force, and the plate goes back
                                            by itself
    "nonlinear"  F_n = k xⁿ + b xⁿ ẋ        no jump when the point touches

The first has friction of its own, springs that slip at the cone. The others take Coulomb friction with a slope
instead of its jump: below `slip_speed` the force grows with the speed, so on a slope they creep, slower than that.

Such equations are stiff. The step is Euler's, implicit in the contact forces linearised at its beginning:

    (M + h Jᵀ (D + h K) J) v⁺ = M v + h (tau − h(q, v) + Jᵀ (f + D ṙ)),    K = −∂f/∂r, D = −∂f/∂ṙ

It is stable at any stiffness, and takes energy away as a long step does. So each step is done once as a whole and once
in two halves: twice the second result less the first is of second order, and their difference says how long the next
step may be. A step that would carry a point into the ground ends where it touches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import StateError, unknown_name
from .contacts import axes_of
from .plant import NO_WRENCHES, OwnPlant, PlantState, Wrenches, require_finite
from .world import Gaps, gaps

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
TOUCH = 1e-9  # m, above the ground, at which a point counts as touching it
SHORTEST = 1 / 128  # of a step of the plant: a step of the method is not made shorter
REST_SPEED = 0.1  # m/s: slower motion is followed as well as this one
# law → stiffness k, damping b, of one point; about a millimetre under each of eight points of a 60 kg robot
LAWS = {"linear": (1e5, 1e3), "plate": (1e5, 1e3), "nonlinear": (2e6, 3e7)}


@dataclass(frozen=True, eq=False)
class _PointForces:
    """Forces on k points in contact axes (normal, tangent, tangent), and how they fall with place and velocity."""

    force: Array  # (k, 3)
    stiffness: Array  # (k, 3) diagonal of K
    damping: Array  # (k, 3) diagonal of D


class SoftPlant(OwnPlant):
    """Springs and dampers at the contact points.

    Args:
        contacts: frames or points that may touch, see `contacts_of`.
        law: "linear", "plate" or "nonlinear".
        stiffness, damping: k and b of one point; N/m and N s/m, or N/mⁿ and N s/mⁿ⁺¹ in the nonlinear law.
        exponent: n of the nonlinear law.
        slip_speed: m/s above which friction is Coulomb's.
        substeps: steps of the method in one step of the plant, at least.
        tolerance: relative error of the velocity that one step of the method may make; `np.inf` keeps all steps of one
            length.
        ground, obstacles, friction: as of every plant.
    """

    v: Array
    law: str
    substeps: int
    tolerance: float
    stiffness: float
    damping: float
    exponent: float
    slip_speed: float
    q: Any
    t: Any

    def __init__(
        self,
        robot: Robot,
        contacts: Any = (),
        *,
        law: str = "nonlinear",
        stiffness: float | None = None,
        damping: float | None = None,
        exponent: float = 1.5,
        slip_speed: float = 1e-3,
        substeps: int = 1,
        tolerance: float = 3e-4,
        **world: Any,
    ) -> None:
        super().__init__(robot, contacts, **world)
        if law not in LAWS:
            raise unknown_name("law of soft contact", law, LAWS)
        k, b = LAWS[law]
        self.law, self.substeps, self.tolerance = law, substeps, tolerance
        self.stiffness, self.damping = k if stiffness is None else stiffness, b if damping is None else damping
        self.exponent, self.slip_speed = exponent, slip_speed
        if not tolerance > 0:
            raise StateError(f"tolerance of the soft plant is a positive number, got {tolerance!r}")
        for name in ("stiffness", "exponent", "slip_speed", "damping"):
            if not 0 < getattr(self, name) < np.inf and not (name == "damping" and self.damping == 0):
                raise StateError(f"{name} of the soft plant is a positive number, got {getattr(self, name)!r}")
        self._plate, self._anchors = np.zeros(self.points.count), np.full((self.points.count, 3), np.nan)
        self._length = np.inf  # of the next step of the method, s

    def reset(self, q: Array, v: Array) -> PlantState:
        """Start anew at time 0 with the ground undeformed; a point that starts inside it has come straight down."""
        self._plate[:], self._anchors[:], self._length = 0.0, np.nan, np.inf
        return super().reset(q, v)

    def step(self, tau: Array, dt: float, wrenches: Wrenches = NO_WRENCHES) -> PlantState:
        """Advance by dt under constant tau, in as many steps of the method as the motion asks for."""
        total, left = np.zeros((self.points.count, 3)), dt
        length = min(self._length, dt / self.substeps)
        while left > 1e-12 * dt:
            h = left if length > left * (1 - 1e-9) else length
            forces, done, length = self._advance(tau, h, wrenches, dt)
            total += forces * (done / dt)
            left -= done
        self._length = length
        arms, _ = self.points.arms(self.q)
        return PlantState(self.q, self.v, self.t, self.points.wrenches(total, arms))

    def _advance(self, tau: Array, h: float, wrenches: Wrenches, dt: float) -> tuple[Array, float, float]:
        """One step, of length h or less: (mean forces at the points, its length, a good length for the next)."""
        before, start = self._kept(), self._heights()
        while True:
            whole = self._euler(tau, h, wrenches)
            q, v = self.q, self.v
            self._restore(before)
            halves = (self._euler(tau, h / 2, wrenches) + self._euler(tau, h / 2, wrenches)) / 2
            error = _largest(self.v - v) / (self.tolerance * (REST_SPEED + _largest(v)))
            short = h <= dt * SHORTEST * (1 + 1e-9)
            factor = min(4.0, max(0.2, 0.9 / np.sqrt(max(error, 1e-9))))
            if error > 1 and not short:
                h = max(h * factor, dt * SHORTEST)
                self._restore(before)
                continue
            self._extrapolate(q, v)
            touching = self._touching(start, h)
            if touching < h * (1 - 1e-6) and not short:
                h = max(touching, dt * SHORTEST)
                self._restore(before)
                continue
            require_finite(self.v)
            return 2 * halves - whole, h, min(h * factor, dt / self.substeps)

    def _extrapolate(self, q: Array, v: Array) -> None:
        """From the results of a whole step, q and v, and of its halves, where the plant is now, to one of second
        order."""
        pressed = self._plate <= -self._heights() * (1 + 1e-12)
        self.q = self.robot.integrate(self.q, self.robot.difference(q, self.q), 1.0)
        self.v = 2 * self.v - v
        if self.law == "plate" and pressed.any():
            self._plate[pressed] = np.maximum(-self._heights()[pressed], 0.0)  # a plate under a point goes with it

    def _touching(self, start: Array, h: float) -> float:
        """After how much of a step of length h the first point touches that did not at its start; h if none does."""
        if not np.isfinite(self.tolerance) or not self.points.count:
            return h
        end = self._heights()
        lands = (start > TOUCH) & (end < -TOUCH)
        if not lands.any():
            return h
        return float(np.min(h * (start[lands] + TOUCH / 2) / (start[lands] - end[lands])))

    def _heights(self) -> Array:
        """Distance of every point from what it may touch, (count,)."""
        return gaps(self.world, self.points.arms(self.q)[1], self.t).distance

    def _kept(self) -> tuple[Any, ...]:
        return self.q, self.v, self.t, self._plate.copy(), self._anchors.copy()

    def _restore(self, state: tuple[Any, ...]) -> None:
        self.q, self.v, self.t = state[:3]
        self._plate, self._anchors = state[3].copy(), state[4].copy()

    def _euler(self, tau: Array, h: float, wrenches: Wrenches) -> Array:
        """One implicit step; forces at all points in world axes."""
        robot, q = self.robot, self.q
        M = robot.mass_matrix(q)
        impulse = M @ self.v + h * (self.generalised(q, tau, wrenches) - robot.bias_force(q, self.v))
        arms, places = self.points.arms(q)
        found = gaps(self.world, places, self.t)
        down = found.distance < TOUCH
        self._anchors[~down] = np.nan
        forces = np.zeros((self.points.count, 3))
        if down.any():
            axes = axes_of(found.normal[down])
            J = axes @ self.points.jacobian(q, arms)[down]
            drag = np.einsum("kij,kj->ki", axes, found.velocity[down])
            u = J @ self.v - drag
            push = self._law(found, places, axes, u, down)
            slope = push.damping + h * push.stiffness
            flat = J.reshape(-1, robot.nv)
            M = M + h * flat.T @ (slope.ravel()[:, None] * flat)
            impulse = impulse + h * flat.T @ (push.force + push.damping * u + slope * drag).ravel()
            v = np.linalg.solve(M, impulse)
            forces[down] = np.einsum("kij,ki->kj", axes, push.force + push.damping * u - slope * (J @ v - drag))
        else:
            v = np.linalg.solve(M, impulse)
        self.q, self.v, self.t = robot.integrate(q, v, h), v, self.t + h
        self._relax(h)
        return forces

    # --- laws -----------------------------------------------------------------------------------------------------

    def _law(self, found: Gaps, places: Array, axes: Array, u: Array, down: Array) -> _PointForces:
        depth, rate = np.maximum(-found.distance[down], 0.0), -u[:, 0]
        k, b = self.stiffness, self.damping
        if self.law == "nonlinear":
            power = depth**self.exponent
            F = power * (k + b * rate)
            K, D = self.exponent * depth ** (self.exponent - 1) * (k + b * rate), b * power
        else:
            F = k * depth + b * rate
            K, D = np.full(len(depth), k), np.full(len(depth), b)
        touching = F > 0
        if self.law == "plate":
            touching &= depth >= self._plate[down] * (1 - 1e-12)
        F, K, D = (np.where(touching, x, 0.0) for x in (F, np.maximum(K, 0.0), D))
        tangential = self._springs if self.law == "linear" else self._sliding
        f_t, K_t, D_t = tangential(places, axes, u[:, 1:], self.points.friction[down] * F, down)
        return _PointForces(*(np.concatenate([n[:, None], t], axis=1) for n, t in ((F, f_t), (K, K_t), (D, D_t))))

    def _sliding(self, places: Array, axes: Array, u: Array, most: Array, down: Array) -> tuple[Array, Array, Array]:
        """Coulomb's law, with a slope below the slip speed. Its damping is the secant: however long the step, it only
        brakes."""
        D = (most / np.maximum(np.linalg.norm(u, axis=1), self.slip_speed))[:, None]
        return -D * u, np.zeros_like(u), np.broadcast_to(D, u.shape)

    def _springs(self, places: Array, axes: Array, u: Array, most: Array, down: Array) -> tuple[Array, Array, Array]:
        """Springs from where the points touched. Where they pull harder than friction holds, they slide along."""
        anchors = np.where(np.isnan(self._anchors[down]), places[down], self._anchors[down])
        stretch = np.einsum("kij,kj->ki", axes, places[down] - anchors)[:, 1:]
        wanted = -self.stiffness * stretch - self.damping * u
        size = np.linalg.norm(wanted, axis=1)
        slides = (size > most)[:, None]
        f = wanted * np.where(size > most, most / np.where(size > 0, size, 1.0), 1.0)[:, None]
        # of a sliding spring what its force says, without damping
        settled = np.where(slides, -f / self.stiffness, stretch)
        moved = np.concatenate([np.zeros((len(u), 1)), stretch - settled], axis=1)
        self._anchors[down] = anchors + np.einsum("kij,ki->kj", axes, moved)
        brake = (most / np.maximum(np.linalg.norm(u, axis=1), self.slip_speed))[:, None]
        K = np.where(slides, 0.0, self.stiffness) + 0 * u
        D = np.where(slides, np.minimum(brake, self.damping), self.damping) + 0 * u
        return f, K, D

    def _relax(self, h: float) -> None:
        """Plates go back by themselves, b ż = −k z, unless a point is on them."""
        if self.law != "plate" or not self.points.count:
            return
        depth = -gaps(self.world, self.points.arms(self.q)[1], self.t).distance
        fade = np.exp(-self.stiffness * h / self.damping) if self.damping > 0 else 0.0
        self._plate = np.maximum(self._plate * fade, np.maximum(depth, 0.0))


def _largest(x: Array) -> float:
    return float(np.max(np.abs(x), initial=0.0))
