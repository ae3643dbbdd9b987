"""Limits the centre of pressure to the part of a sole that is known to be on the ground."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..control.constraints import BoundedRows, Constraint
from ..control.item import NamedNumbers, Parameters, Setting, TaskError
from ..errors import unknown_name

if TYPE_CHECKING:
    from ..control.controller.context import Context
    from ..control.controller.scene import Scene

Array = np.ndarray
ANYWHERE = (-10.0, -10.0, 10.0, 10.0)  # m; larger than any sole
NORMAL, ROLL, PITCH = 2, 3, 4  # rows of f_z, τ_x, τ_y in the wrench of a flat contact


@dataclass(frozen=True, eq=False)
class PressureWithin(Constraint):
    """Keeps the centre of pressure of a flat contact inside a rectangle in the contact's axes; the bounds may change at
    run time.

    With p = (−τ_y, τ_x) / f_z, the rows are a f_z ≤ (−τ_y, τ_x) ≤ b f_z. They are linear, and hold trivially while
    the contact has no force.

    Args:
        contact: name of the contact.
        within: (4,) m, smallest x and y, largest x and y.
    """

    contact: str
    within: Setting = ANYWHERE

    @property
    def label(self) -> str:
        return self.name or f"pressure of {self.contact}"

    def row_names(self, context: Context) -> list[str]:
        return [f"{self.label} ({edge})" for edge in ("hind", "right", "front", "left")]

    def structure(self, context: Context) -> object:
        if self.contact not in context.contacts:
            raise unknown_name("contact", self.contact, context.contacts)
        return list(context.contacts).index(self.contact)

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        return {"within": Parameters(("within",), {"low": (2,), "high": (2,)}, self._edges)}

    def _edges(self, within: Any) -> tuple[Array, Array]:
        edges = np.asarray(within, dtype=float)
        if edges.shape != (4,) or not (edges[:2] < edges[2:]).all():
            raise TaskError(f"{self.label}: wanted least x, least y, largest x, largest y; got {within!r}")
        return edges[:2], edges[2:]

    def rows(self, scene: Scene, numbers: NamedNumbers) -> BoundedRows:
        from ..control.controller.scene import Affine
        from ..equations.symbols import constant, stack, zeros

        force = scene.force(self.contact).matrix
        normal, moments = force[NORMAL, :], stack(-force[PITCH, :], force[ROLL, :])
        rows = stack(numbers.low @ normal - moments, moments - numbers.high @ normal)
        return BoundedRows(Affine(rows, zeros(4)), constant(np.full(4, -np.inf)), zeros(4))


def pressed_at(X: Array, wrench: Array) -> Array:
    """Returns the centre of pressure, (2,) m, in the axes of a sole at pose X, from a wrench (6,) at its origin in
    world axes.
    """
    force, torque = X[:3, :3].T @ wrench[:3], X[:3, :3].T @ wrench[3:]
    return np.array([-torque[1], torque[0]]) / max(float(force[2]), 1e-9)
