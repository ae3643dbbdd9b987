"""The hard plant: rigid contact with Coulomb friction by velocity-level time stepping (Moreau's midpoint rule).

    q_M = q + dt/2 v,   M (v⁺ − v) = dt (tau − h) + Jᵀ p,   q⁺ = q_M + dt/2 v⁺

where the impulses p over the step satisfy complementarity, 0 ≤ u_n + e u_n⁻ ⊥ p_n ≥ 0 [ETH19, slide 20], and Coulomb's
law. Impacts and lasting contact are treated alike, without event detection; remaining penetration is removed by
projection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import StateError
from ..forms.constrained import ConstrainedDynamics
from .cones import ConeSolution, solve_cones
from .contacts import axes_of
from .plant import NO_WRENCHES, OwnPlant, PlantState, Wrenches, require_finite
from .world import gaps

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
NEAR = 1e-5  # m; points closer to the ground enter the contact problem
SLOW = 1e-2  # m/s; slower approaches do not rebound
DOUBTFUL = 1e-6  # m/s; a larger residual of the contact problem is logged as an event


class HardPlant(OwnPlant):
    """A plant with rigid contacts, integrated by complementarity time stepping.

    Args:
        contacts: frames or points that may touch, see `contacts_of`.
        restitution: coefficient of restitution e of impacts, 0 to 1.
        substeps: integration steps in one step of the plant.
        ground, obstacles, friction: as for every plant.

    `solution` is the last contact problem's solution, with its residual.
    """

    v: Array
    restitution: float
    substeps: int
    q: Array
    t: float

    def __init__(
        self, robot: Robot, contacts: Any = (), *, restitution: float = 0.0, substeps: int = 1, **world: Any
    ) -> None:
        super().__init__(robot, contacts, **world)
        if not 0 <= restitution <= 1:
            raise StateError(f"restitution lies between 0 and 1, got {restitution!r}")
        self.restitution, self.substeps = restitution, substeps
        self.solution: ConeSolution | None = None
        self._impulse = np.zeros((self.points.count, 3))

    def reset(self, q: Array, v: Array) -> PlantState:
        """Resets the plant to a state at time 0 and forgets the last impulses."""
        self._impulse[:], self.solution = 0.0, None
        return super().reset(q, v)

    def step(self, tau: Array, dt: float, wrenches: Wrenches = NO_WRENCHES) -> PlantState:
        """Advances by dt under constant tau."""
        total, events = np.zeros((self.points.count, 3)), []
        for _ in range(self.substeps):
            total += self._substep(tau, dt / self.substeps, wrenches)
            if self.solution is not None and not self.solution.converged and self.solution.residual > DOUBTFUL:
                events.append(f"contact problem solved to {self.solution.residual:.1e} m/s only")
        arms, _ = self.points.arms(self.q)
        return PlantState(self.q, self.v, self.t, self.points.wrenches(total / dt, arms), tuple(events[:1]))

    def _substep(self, tau: Array, h: float, wrenches: Wrenches) -> Array:
        """Performs one step of Moreau's rule; returns the impulses at all points in world axes."""
        robot = self.robot
        q = robot.integrate(self.q, self.v, h / 2)
        M = robot.mass_matrix(q)
        force = self.generalised(q, tau, wrenches) - robot.bias_force(q, self.v)
        v = self.v + h * np.linalg.solve(M, force)
        require_finite(v)
        arms, places = self.points.arms(q)
        found = gaps(self.world, places, self.t + h / 2)
        near = found.distance <= NEAR
        impulses = np.zeros((self.points.count, 3))
        if near.any():
            axes = axes_of(found.normal[near])
            J = axes @ self.points.jacobian(q, arms)[near]
            drag = np.einsum("kij,kj->ki", axes, found.velocity[near])
            v, p = self._contact(M, J, v, drag, near, np.maximum(found.distance[near], 0.0) / h)
            impulses[near] = np.einsum("kij,ki->kj", axes, p)
        self._impulse[~near] = 0.0
        self.q, self.v, self.t = self._lifted(robot.integrate(q, v, h / 2), M, self.t + h), v, self.t + h
        return impulses

    def _contact(self, M: Array, J: Array, v: Array, drag: Array, near: Array, room: Array) -> tuple[Array, Array]:
        """Solves the contact problem; returns (velocity after, impulses (k, 3) in contact axes).

        Points that approach slowly may close their remaining gap within the step."""
        rows = J.reshape(-1, J.shape[-1])
        L = np.linalg.cholesky(M)
        B = np.linalg.solve(L, rows.T).T
        approach = (J @ self.v - drag)[:, 0]
        c = J @ v - drag
        c[:, 0] += np.where(approach < -SLOW, self.restitution * approach, room)
        self.solution = solve_cones(B @ B.T, c, self.points.friction[near], self._impulse[near])
        self._impulse[near] = self.solution.impulse
        return v + np.linalg.solve(L.T, B.T @ self.solution.impulse.ravel()), self.solution.impulse

    def _lifted(self, q: Array, M: Array, t: float) -> Array:
        """Moves penetrating points back to the surface by the smallest motion in the metric of M; returns q."""
        if not self.points.count:
            return q
        arms, places = self.points.arms(q)
        found = gaps(self.world, places, t)
        deep = found.distance < -1e-12
        if not deep.any():
            return q
        J = np.einsum("ki,kij->kj", found.normal[deep], self.points.jacobian(q, arms)[deep])
        still = np.zeros(self.robot.nv)
        lift = ConstrainedDynamics(M, still, J, -found.distance[deep], consistency=np.inf)
        return self.robot.integrate(q, lift.acceleration(still), 1.0)
