"""Contacts as a static posture sees them: where they must be, which forces they bear, and their rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...algebra.rigid import is_pose, rotation_to
from ...errors import ShapeError
from ...geometry.primitives import Plane
from ..body_contacts import Place
from ..contacts import Contact
from ..item import TaskError
from .places import middle
from .references import turn

if TYPE_CHECKING:
    from ...robot import Robot

Array = np.ndarray
LEVER = 0.3  # m along a normal: a point there tells where a sole should look, beside where it should be


@dataclass(frozen=True, eq=False)
class PlacedContact:
    """A contact at its place.

    Args:
        contact: which.
        where: pose (4×4) of its frame, place (3 numbers) of its point, or a `Plane` on which it may be anywhere.
        points: in the frame, (k, 3) m, drawn to their middle.
        normal: of the surface in the frame's axes, (3,); zero where the frame may turn on the contact.
        edges: of the friction pyramid, (e, 3), world axes, unit normal force; none where it carries nothing.
        least: normal force that it bears at least, in weights.
        most: at most.
    """

    contact: Contact
    where: Any
    points: Array
    normal: Array
    edges: Array
    least: float = 0.0
    most: float = np.inf

    @property
    def count(self) -> int:
        """Unknown forces."""
        return len(self.points) * len(self.edges)

    @property
    def frame(self) -> str:
        return self.contact.frame

    def rows(self, robot: Robot, q: Array) -> tuple[str, Array, Array]:
        """(kind, error, Jacobian): J δ should become the error."""
        X, J = robot.pose(q, self.frame), robot.jacobian(q, self.frame)
        name, arm = f"{self.contact.label} at its place", X[:3, :3] @ self.points.mean(0)
        J_middle = J[:3] + np.cross(J[3:], arm, axis=0)
        if isinstance(self.where, Plane):
            n, offset = self.where.normal, self.where.offset
            away, rows = [offset - n @ (X[:3, 3] + arm)], [n @ J_middle]
            if not self.contact.pivots:
                tilt, axes = shortest_turn(X[:3, :3] @ self.normal, n), rotation_to(n)[:, :2]
                away, rows = [*away, *(axes.T @ tilt)], [*rows, *(axes.T @ J[3:])]
            return name, np.array(away), np.array(rows)
        if self.where.shape == (3,):
            return name, self.where - X[:3, 3] - arm, J_middle
        return name, np.concatenate([self.where[:3, 3] - X[:3, 3], turn(X, self.where)]), J

    def places(self, X: Array) -> tuple[Array, Array]:
        """Points now, with the frame at X, and where they should be; a point along the normal is among them."""
        local = np.vstack([self.points, self.points.mean(0) + LEVER * self.normal])
        now = local @ X[:3, :3].T + X[:3, 3]
        if isinstance(self.where, Plane):
            n, offset = self.where.normal, self.where.offset
            centre = now[:-1].mean(0)
            foot = centre - (n @ centre - offset) * n
            return np.array([centre, now[-1]]), np.array([foot, foot + LEVER * n * np.linalg.norm(self.normal)])
        if self.where.shape == (3,):
            return now[:1], self.where[None]
        return now, local @ self.where[:3, :3].T + self.where[:3, 3]


def touch(robot: Robot, contact: Contact, where: Place, start: Array, support: float) -> PlacedContact:
    """A contact at a place, or where it is at `start` if that is None.

    Args:
        support: part of its size that forces may use, from its middle.
    """
    contact.check(robot)
    if not contact.rests:
        raise TaskError(
            f"{contact.label}: a {type(contact).__name__} cannot carry a robot at rest; give one that sticks"
        )
    if where is None:
        where = robot.pose(start, contact.frame)
    if isinstance(where, Plane):
        axes = rotation_to(where.normal)
    else:
        where = np.asarray(where, dtype=float)
        if contact.pivots and where.shape == (4, 4):
            where = middle(contact, where)
        _require_place(contact.label, where, (3,) if contact.pivots else (4, 4))
        axes = contact.surface_axes(np.eye(4) if contact.pivots else where)
    centre = contact.points.mean(0)
    points = centre + support * (contact.points - centre)
    normal = np.zeros(3) if contact.pivots else contact.normal_at(np.eye(4))
    return PlacedContact(contact, where, points, normal, contact.friction_edges @ axes.T)


def _require_place(label: str, where: Array, shape: tuple[int, ...]) -> None:
    good = where.shape == shape and np.isfinite(where).all() and (shape == (3,) or is_pose(where))
    if not good:
        wanted = "a place (3 numbers)" if shape == (3,) else "a pose (4×4)"
        raise ShapeError(f"{label}: wanted {wanted} in the world, a Plane or None; got {where!r}")


def shortest_turn(a: Array, b: Array) -> Array:
    """Rotation vector that turns unit vector a to b the shortest way."""
    axis, cosine = np.cross(a, b), float(a @ b)
    sine = float(np.linalg.norm(axis))
    if sine < 1e-12:
        if cosine > 0:
            return axis
        aside = np.eye(3)[np.abs(a).argmin()]
        axis = np.cross(a, aside)
        return np.pi * axis / np.linalg.norm(axis)
    return np.arctan2(sine, cosine) / sine * axis


def best_rotation(now: Array, then: Array) -> Array:
    """The rotation that takes points `now` nearest to `then`, both about their middles, (n, 3)."""
    U, _, V = np.linalg.svd(then.T @ now)
    return U @ np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ V))]) @ V
