"""M a + C v + g = tau at one state, as a thing to hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class EquationsOfMotion:
    """M(q) a + C(q, v) v + g(q) = tau + Σ Jᵀ F, evaluated at one state (or a batch of states).

    Args:
        M: mass matrix, (…, nv, nv).
        C: Coriolis matrix with Ṁ − 2C skew, (…, nv, nv).
        g: gravity force, (…, nv).
        v: velocity, (…, nv), in `representation`.
    """

    M: Array
    C: Array
    g: Array
    v: Array
    representation: str = "mixed"

    def __post_init__(self) -> None:
        for name in ("M", "C", "g", "v"):
            array = np.array(getattr(self, name))
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def bias_force(self) -> Array:
        """C v + g."""
        return np.einsum("...ij,...j->...i", self.C, self.v) + self.g

    @property
    def kinetic_energy(self) -> Array:
        """½ vᵀ M v [TPN17, Eq. (11)]."""
        return 0.5 * np.einsum("...i,...ij,...j->...", self.v, self.M, self.v)

    def force(self, a: Array) -> Array:
        """Generalised force that gives acceleration a."""
        return np.einsum("...ij,...j->...i", self.M, a) + self.bias_force

    def acceleration(self, tau: Array) -> Array:
        """Acceleration under generalised force tau."""
        return np.linalg.solve(self.M, (np.asarray(tau) - self.bias_force)[..., None])[..., 0]
