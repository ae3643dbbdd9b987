"""Impacts: velocities jump when contacts close, in no time and so at one configuration [ETH19, slide 26].

    M (v⁺ − v⁻) = Jᵀ p,    J v⁺ = −e J v⁻

p is the impulse on the robot; the slide writes that by the robot, with the other sign. With e = 0 the contacts stay,
with e = 1 they rebound and no energy is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..algebra.arrays import times
from ..errors import StateError
from ..forms.constrained import CONSISTENCY, ConstrainedDynamics
from .contacts import AXES, Axes, Contact, Kind, contact_jacobian

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Impact:
    """What an impact does, at one state or a batch of states.

    Attributes:
        before, after: velocities v⁻ and v⁺, (…, nv).
        impulse: p, (…, rows), N s, on the robot; of least norm where contacts are redundant.
        dynamics: the change of velocity as constrained dynamics, with its rank.
    """

    before: Array
    after: Array
    impulse: Array
    dynamics: ConstrainedDynamics

    @property
    def change(self) -> Array:
        """Δv = v⁺ − v⁻."""
        return self.after - self.before

    @property
    def rank(self) -> int | Array:
        """Number of independent constraints that the contacts impose."""
        return self.dynamics.rank

    @property
    def contact_inertia(self) -> Array:
        """Λ_c = (J M⁻¹ Jᵀ)⁺, (…, rows, rows)."""
        return self.dynamics.constraint_inertia

    @property
    def energy_loss(self) -> float | Array:
        """Kinetic energy lost, J, from the velocities of the robot; ½ Δvᵀ M Δv when nothing rebounds [ETH19, slide
        26]."""
        M = self.dynamics.M
        return (_half_square(M, self.before) - _half_square(M, self.after))[()]

    @property
    def energy_loss_at_contacts(self) -> float | Array:
        """The same from the velocities of the contacts; ½ ṙ⁻ᵀ Λ_c ṙ⁻ when nothing rebounds [ETH19, slide 26]."""
        J, inertia = self.dynamics.A, self.contact_inertia
        return (_half_square(inertia, times(J, self.before)) - _half_square(inertia, times(J, self.after)))[()]


def _half_square(M: Array, v: Array) -> Array:
    return np.asarray(0.5 * np.einsum("...i,...ij,...j->...", v, M, v))


def impact(
    robot: Robot,
    q: Array,
    v: Array,
    contacts: Sequence[Contact],
    kind: Kind = "point",
    *,
    restitution: float | Array = 0.0,
    axes: Axes = AXES,
) -> Impact:
    """Velocity and impulse when contacts close at configuration q with velocity v [ETH19, slide 26].

    All contacts act in both directions: one that leaves the ground anyway should not be named.

    Args:
        contacts, kind, axes: as of `contact_jacobian`.
        restitution: e, between 0 and 1, one number or one for each row of the contact Jacobian. With different numbers
            the energy may rise: that is a known weakness of this law of impact, and `energy_loss` shows it.
    """
    return resolve_impact(
        robot.mass_matrix(q), contact_jacobian(robot, q, contacts, kind, axes), v, restitution=restitution
    )


def resolve_impact(
    M: Array, J: Array, v: Array, *, restitution: float | Array = 0.0, consistency: float = CONSISTENCY
) -> Impact:
    """The same from a mass matrix and a Jacobian of any constraint, such as a loop that snaps shut.

    Δv is the acceleration, and p the multiplier, of constrained dynamics without bias force and with J Δv = −(1 + e) J
    v⁻:

        p  = −(1 + e) Λ_c J v⁻
        v⁺ = v⁻ + M⁻¹ Jᵀ p  = N_c v⁻  for e = 0                            [ETH19, slide 26]
    """
    e = np.asarray(restitution, dtype=float)
    if not np.all((e >= 0) & (e <= 1)):
        raise StateError(
            f"restitution lies between 0 (the contact stays) and 1 (it rebounds in full), got {restitution!r}"
        )
    before = np.array(v, dtype=float)
    force = np.zeros(np.shape(M)[-1])
    dynamics = ConstrainedDynamics(M, force, J, -(1 + e) * times(np.asarray(J), before), consistency=consistency)
    after, impulse = before + dynamics.acceleration(force), dynamics.multipliers(force)
    for array in (before, after, impulse):
        array.flags.writeable = False
    return Impact(before, after, impulse, dynamics)
