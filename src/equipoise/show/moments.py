"""What is to be seen at one moment besides the robot itself: support polygon, forces, friction cones, obstacles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ..algebra import rigid
from ..errors import ShapeError, unknown_name
from ..geometry.primitives import Primitive
from ..model.posture import link_poses
from ..model.types import Array
from ..robot import Robot
from ..simulate.world import Box, placed, reference
from .triangles import Surface, frame_pose, surfaces_of

ORANGE, RED, BLUE = (217, 72, 15), (201, 42, 42), (25, 113, 194)
FAR = 3.0  # m, half of what is drawn of a plane or a line without end
CONE_SIDES = 16


class ContactPlace(Protocol):
    """Where a contact is: a frame, points in it, and the friction there."""

    @property
    def frame(self) -> str: ...
    @property
    def points(self) -> Array: ...
    @property
    def friction(self) -> float: ...


@dataclass(frozen=True, eq=False)
class Moment:
    """A state of the robot and what acts on it."""

    t: float
    q: Array
    wrenches: Mapping[str, Array] = field(default_factory=dict)  # by contact, (6,) in world axes at the frame's origin


@dataclass(frozen=True, eq=False)
class Picture:
    """A moment in numbers ready to be drawn, all in the world."""

    poses: dict[str | None, Array]  # of the links
    com: Array  # (3,)
    ground: Array  # (3,) the point below the centre of mass
    polygon: Array  # (k, 3) corners, counter-clockwise; k = 0 without contacts
    forces: Array  # (m, 2, 3) start and end of arrows
    cones: Array  # (lines, 2, 3)


def picture(robot: Robot, moment: Moment, contacts: Mapping[str, ContactPlace]) -> Picture:
    """What the viewer draws at a moment. A force as large as the robot's weight is as long as the centre of mass is high."""
    poses = link_poses(robot.model, moment.q)
    com = centre_of_mass(robot, poses)
    acting = {name: np.asarray(F, dtype=float) for name, F in moment.wrenches.items() if np.isfinite(F).all()}
    places = {name: (frame_pose(_frame(robot, contacts[name]), poses), contacts[name]) for name in acting if name in contacts}
    corners = [points_in_world(X, contact) for X, contact in places.values()]
    floor = min((float(points[:, 2].min()) for points in corners), default=0.0)
    weight = robot.mass * float(np.linalg.norm(robot.model.gravity)) or 1.0
    scale = max(0.1, abs(com[2] - floor)) / weight
    arrows, cones = [], []
    for name, (X, contact) in places.items():
        F, n = acting[name], normals_in_world(X[None], contact, com)[0]
        p = centre_of_pressure(X, contact, n, F)
        arrows.append((p, p + scale * F[:3]))
        cones.append(cone(p, n, contact.friction, scale * max(0.0, float(n @ F[:3]))))
    return Picture(
        poses, com, np.array([com[0], com[1], floor]), support_polygon(corners, floor),
        np.array(arrows).reshape(-1, 2, 3), np.concatenate(cones) if cones else np.zeros((0, 2, 3)),
    )  # fmt: skip


def centre_of_mass(robot: Robot, poses: Mapping[str | None, Array]) -> Array:
    """From the poses of the links, which the drawing needs anyway: nothing to compile."""
    moment, mass = np.zeros(3), 0.0
    for name, link in robot.model.links.items():
        if link.inertia is not None:
            X = poses[name]
            moment += link.inertia.mass * (X[:3, :3] @ link.inertia.com + X[:3, 3])
            mass += link.inertia.mass
    return moment / mass if mass > 0 else moment


def _frame(robot: Robot, contact: ContactPlace) -> Any:
    if contact.frame not in robot.frames:
        raise unknown_name("frame", contact.frame, robot.frames)
    return robot.frames[contact.frame]


# --- contacts -------------------------------------------------------------------------------------------------------------


def points_in_world(X: Array, contact: ContactPlace) -> Array:
    """Points of a contact whose frame stands at X; the origin of the frame if it has none of its own."""
    points = np.atleast_2d(np.asarray(contact.points, dtype=float))
    points = points if points.size else np.zeros((1, 3))
    return points @ X[:3, :3].T + X[:3, 3]


def normals_in_world(X: Array, contact: ContactPlace, com: Array) -> Array:
    """Unit normals, from the surface into the robot, for poses X (n, 4, 4) of the contact's frame, (n, 3).

    A controller's contacts say. A plant's contacts do not: three points or more span the surface, on whose side the centre of
    mass is; fewer are taken to stand on level ground.
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
    rim = height * np.stack([friction * np.cos(angles), friction * np.sin(angles), np.ones(CONE_SIDES)], axis=1) @ R.T + apex
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


# --- obstacles ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Obstacle:
    """A primitive or box, and how near the robot may come to it."""

    primitive: Primitive | Box
    safe_distance: float = 0.0  # m

    @classmethod
    def of(cls, thing: Any) -> Obstacle:
        """From a primitive or box, a pair (primitive, safe distance), or anything with these two attributes."""
        if isinstance(thing, Obstacle):
            return thing
        if isinstance(thing, Primitive | Box):
            return cls(thing)
        if isinstance(thing, tuple | list) and len(thing) == 2 and isinstance(thing[0], Primitive | Box):
            return cls(thing[0], float(thing[1]))
        primitive = getattr(thing, "primitive", None)
        if isinstance(primitive, Primitive | Box):
            return cls(primitive, float(getattr(thing, "safe_distance", 0.0) or 0.0))
        raise ShapeError(f"an obstacle is a primitive such as eq.Sphere, or a pair (primitive, safe distance); got {thing!r}")

    @classmethod
    def all_of(cls, run: Any) -> list[Obstacle]:
        """Those of a run, with their safe distances."""
        distances = tuple(run.safe_distances) + (0.0,) * (len(run.obstacles) - len(run.safe_distances))
        return [cls(thing, float(distance)) for thing, distance in zip(run.obstacles, distances, strict=True)]

    def surfaces(self) -> list[Surface]:
        """Its body, and around it the safe distance, half transparent; about its reference point."""
        solid = [Surface(s.vertices, s.faces, ORANGE, 0.9) for s in _body(self.primitive, 0.0)]
        halo = [Surface(s.vertices, s.faces, ORANGE, 0.2) for s in _body(self.primitive, self.safe_distance)]
        return solid + (halo if self.safe_distance > 0 else [])

    def pose(self, t: float, poses: Mapping[str | None, Array], robot: Robot) -> Array:
        """Where its reference point and axes are at time t: with its frame, or moving in the world from where it was at 0."""
        primitive, X = self.primitive, np.eye(4)
        X[:3, 3] = reference(primitive)
        if primitive.frame is not None:
            return frame_pose(robot.frames[primitive.frame], dict(poses)) @ X
        R, p, _ = placed(primitive, t)
        X[:3, :3], X[:3, 3] = R, X[:3, 3] + p
        return X


def _body(primitive: Primitive | Box, more: float) -> list[Surface]:
    """Surfaces of a primitive about its first point, thickened by `more`."""
    from ..model import shapes

    if isinstance(primitive, Box):
        sides = primitive.size + 2 * more
        return [s.at(rigid.pose(primitive.X[:3, :3])) for s in surfaces_of(shapes.box(*sides))]
    thin = 0.006
    radius = (primitive.thickness if primitive.thickness is not None else thin) + more
    if primitive.core == "point":
        return surfaces_of(shapes.sphere(max(radius, thin)))
    if primitive.core == "segment":
        end = primitive.points[1] - primitive.points[0]
        if np.linalg.norm(end) < 1e-9:
            return surfaces_of(shapes.sphere(max(radius, thin)))
        return surfaces_of(shapes.capsule_between((0.0, 0.0, 0.0), end, max(radius, thin)))
    along = primitive.directions[0]
    if primitive.core == "line":
        return surfaces_of(shapes.cylinder_between(-FAR * along, FAR * along, max(radius, thin)))
    sheet = surfaces_of(shapes.box(2 * FAR, 2 * FAR, 2e-3))
    return [s.at(rigid.pose(rigid.rotation_to(along), more * along)) for s in sheet]
