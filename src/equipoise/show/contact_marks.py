"""What is drawn of contacts: normals, centres of pressure, friction cones, pressure on the soles, the region of
support."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np

from ..algebra import rigid
from ..model.types import Array

CONE_SIDES = 24
LEVEL = 0.02  # m and rad by which contacts on level ground may differ
ROUNDED = 200.0  # 1/m: places are told apart to 5 mm when the region of support is looked up


class ContactPlace(Protocol):
    """Where a contact is: a frame, points in it, and the friction there."""

    @property
    def frame(self) -> str: ...
    @property
    def points(self) -> Array: ...
    @property
    def friction(self) -> float: ...


def points_in_world(X: Array, contact: ContactPlace) -> Array:
    """Points of a contact whose frame stands at X; the origin of the frame if it has none of its own."""
    points = np.atleast_2d(np.asarray(contact.points, dtype=float))
    points = points if points.size else np.zeros((1, 3))
    return points @ X[:3, :3].T + X[:3, 3]


def normals_in_world(X: Array, contact: ContactPlace, com: Array) -> Array:
    """Unit normals, from the surface into the robot, for poses X (n, 4, 4) of the contact's frame, (n, 3).

    A controller's contacts say. A plant's contacts do not: three points or more span the surface, on whose side the
    centre of mass is; fewer are taken to stand on level ground.
    """
    given = getattr(contact, "normal_at", None)
    if given is not None:
        n = np.array([given(pose) for pose in X]).reshape(-1, 3)
    else:
        points = np.atleast_2d(np.asarray(contact.points, dtype=float))
        _, extents, axes = np.linalg.svd(points - points.mean(axis=0))
        if len(points) < 3 or extents[1] < 1e-6:
            return np.tile([0.0, 0.0, 1.0], (len(X), 1))
        n = X[:, :3, :3] @ axes[2]
        inward = np.einsum("ij,ij->i", n, com - (X[:, :3, :3] @ points.mean(axis=0) + X[:, :3, 3]))
        n = np.where(inward < 0, -1.0, 1.0)[:, None] * n
    return n / np.linalg.norm(n, axis=1, keepdims=True)


def centre_of_pressure(X: Array, contact: ContactPlace, n: Array, F: Array) -> Array:
    """The point of the contact's plane about which the wrench has no tilting torque: p with n × (τ − p × f) = 0.

    Kept near the contact's points: a grazing force would put it anywhere.
    """
    points = points_in_world(X, contact)
    middle = points.mean(axis=0)
    pressing = float(n @ F[:3])
    if pressing <= 1e-6 * max(1.0, float(np.linalg.norm(F))):
        return middle
    torque = F[3:] - np.cross(middle - X[:3, 3], F[:3])  # about the middle of the points
    off = np.cross(n, torque) / pressing
    reach = 1.2 * float(np.linalg.norm(points - middle, axis=1).max())
    return middle + off * min(1.0, reach / max(float(np.linalg.norm(off)), 1e-12))


def cone(apex: Array, normal: Array, friction: float, height: float) -> Array:
    """Lines of the friction cone |f_t| ≤ μ f_n with its tip at the apex, as high as the normal force, (lines, 2, 3)."""
    R = rigid.rotation_to(normal)
    angles = np.linspace(0, 2 * np.pi, CONE_SIDES, endpoint=False)
    rim = (
        height * np.stack([friction * np.cos(angles), friction * np.sin(angles), np.ones(CONE_SIDES)], axis=1) @ R.T
        + apex
    )
    spokes = np.stack([np.tile(apex, (CONE_SIDES // 2, 1)), rim[::2]], axis=1)
    return np.concatenate([spokes, np.stack([rim, np.roll(rim, -1, axis=0)], axis=1)])


def support_polygon(corners: Sequence[Array], height: float) -> Array:
    """Convex hull, seen from above, of the points of all contacts; at `height`. (k, 3), counter-clockwise."""
    if not corners:
        return np.zeros((0, 3))
    from scipy.spatial import ConvexHull, QhullError

    points = np.concatenate(list(corners))[:, :2]
    try:
        hull = points[ConvexHull(points).vertices]
    except (QhullError, ValueError):  # fewer than three points, or all on a line: its two ends
        along = points - points.mean(axis=0)
        direction = np.linalg.svd(along)[2][0]
        ends = along @ direction
        hull = points[[int(ends.argmin()), int(ends.argmax())]] if np.ptp(ends) > 0 else points[:1]
    return np.column_stack([hull, np.full(len(hull), height)])


def support_region(
    corners: Sequence[Array], normals: Sequence[Array], friction: Sequence[float], height: float
) -> Array:
    """Where the centre of mass may be at rest, at `height`, (k, 3): the hull of level contacts, else what friction
    allows.

    Args:
        corners: points of each contact, (n, 3) each, world.
        normals: of each contact, (3,), world.
    """
    if not corners:
        return np.zeros((0, 3))
    heights = np.concatenate([points[:, 2] for points in corners])
    if np.ptp(heights) < LEVEL and all(n[2] > np.cos(LEVEL) for n in normals):
        return support_polygon(corners, height)
    points = np.concatenate(list(corners))
    counts = [len(part) for part in corners]
    along = np.repeat(np.array(normals), counts, axis=0)
    found = _static_region(
        tuple(map(tuple, np.round(ROUNDED * points).astype(int).tolist())),
        tuple(map(tuple, np.round(along, 2).tolist())),
        tuple(np.repeat(friction, counts).tolist()),
    )
    return np.column_stack([found, np.full(len(found), height)])


@lru_cache(maxsize=256)
def _static_region(
    points: tuple[tuple[int, ...], ...], normals: tuple[tuple[float, ...], ...], mu: tuple[float, ...]
) -> Array:
    """Corners seen from above, (k, 2): a film shows the same few sets of contacts in most of its pictures."""
    from ..balance.static_balance import static_region
    from ..errors import EquipoiseError

    try:
        return static_region(
            np.array(points) / ROUNDED, np.array(normals), mu=np.array(mu), tolerance=0.01, reach=2.0
        ).vertices
    except EquipoiseError:  # contacts from which no region follows are drawn without one
        return np.zeros((0, 2))


def point_forces(points: Array, normal: Array, F: Array, origin: Array) -> Array:
    """How a wrench presses on its points, (n,) N ≥ 0: the forces that vary evenly over the plane and have its moments.

    Args:
        points: (n, 3) world.
        normal: (3,) unit, into the robot.
        F: wrench (force, torque) at `origin`, world axes.
    """
    pressing = float(normal @ F[:3])
    if pressing <= 0.0:
        return np.zeros(len(points))
    arms = points - points.mean(axis=0)
    torque = F[3:] - np.cross(points.mean(axis=0) - origin, F[:3])
    tangents = rigid.rotation_to(normal)[:, :2]
    rows = np.vstack(
        [np.ones(len(points)), np.cross(arms, normal) @ tangents[:, 0], np.cross(arms, normal) @ tangents[:, 1]]
    )
    forces = np.linalg.lstsq(rows, np.array([pressing, *(torque @ tangents)]), rcond=1e-9)[0]
    forces = np.maximum(forces, 0.0)  # beyond the edge a linear pressure would pull
    total = float(forces.sum())
    return forces * (pressing / total) if total > 0 else np.zeros(len(points))
