"""A robot that stands on one frame: the equations of its joints, and the wrench that holds the frame [TPN17, Sec.
6]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .equations_of_motion import EquationsOfMotion

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class FixedSupport:
    """M s̈ + C ṡ + g = tau + Σ Jᵀ F of the joints s, while the frame F stands still [TPN17, Eqs. (46), (47)].

    Attributes:
        M, C, g, v: of the joints alone: (…, n, n), (…, n, n), (…, n), (…, n).
        frame: what stands still.
        free: the free-floating equations with base `frame`, at the velocity at which it stands still.
    """

    M: Array
    C: Array
    g: Array
    v: Array
    frame: str
    free: EquationsOfMotion

    @property
    def bias_force(self) -> Array:
        """C ṡ + g."""
        return np.einsum("...ij,...j->...i", self.C, self.v) + self.g

    def acceleration(self, tau: Array, external: Array | None = None) -> Array:
        """Joint accelerations under joint forces tau and generalised forces `external` (…, nv) of other contacts."""
        force = np.asarray(tau) - self.bias_force
        if external is not None:
            force = force + np.asarray(external)[..., 6:]
        return np.linalg.solve(self.M, force[..., None])[..., 0]

    def force(self, a: Array) -> Array:
        """Joint forces for joint accelerations a."""
        return np.einsum("...ij,...j->...i", self.M, np.asarray(a)) + self.bias_force

    def wrench(self, tau: Array, external: Array | None = None) -> Array:
        """Wrench on the robot that keeps the frame where it is [TPN17, Eq. (48)], mixed at the frame.

        In base F the constraint is "the first six accelerations are zero", so the first six rows of the equations of
        motion say what force that takes: no matrix J M⁻¹ Jᵀ has to be inverted.
        """
        s_dotdot = self.acceleration(tau, external)
        a = np.concatenate([np.zeros((*s_dotdot.shape[:-1], 6)), s_dotdot], axis=-1)
        needed = self.free.force(a)[..., :6]
        return needed if external is None else needed - np.asarray(external)[..., :6]

    def jacobian(self, J: Array) -> Array:
        """The Jacobian of the joints alone [TPN17, Eq. (47e)], from one in the variables of the robot's own base,
        mixed."""
        return self.free.jacobian_from(self.free.in_base(None), J)[..., 6:]

    def switch(self, frame: str) -> FixedSupport:
        """The same posture and joint rates, standing on another frame."""
        return fixed_support(self.free, frame)


def fixed_support(form: EquationsOfMotion, frame: str) -> FixedSupport:
    """Lemma 5. Only the joint rates of `form` count: with the frame at rest they decide the velocity of everything."""
    from .equations_of_motion import at_origin

    moving = at_origin(form.origin).in_base(frame)
    rates = moving.v[..., 6:]
    at_rest = np.concatenate([np.zeros_like(moving.v[..., :6]), rates], axis=-1)
    v = moving.in_base(None).velocity_from(moving, at_rest)
    origin = form.origin
    if not np.array_equal(v, origin.v):
        origin = replace(origin, v=v, C=origin.coriolis_matrix(origin.q, v))
    free = at_origin(origin).in_base(frame)
    return FixedSupport(free.M[..., 6:, 6:], free.C[..., 6:, 6:], free.g[..., 6:], rates, frame, free)
