"""What is drawn at one moment besides the robot itself: region of support, forces and cones, pressure, capture
point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import unknown_name
from ..model.posture import link_poses
from ..model.types import Array
from ..robot import Robot
from .contact_marks import (
    ContactPlace,
    centre_of_pressure,
    cone,
    normals_in_world,
    point_forces,
    points_in_world,
    support_region,
)
from .triangles import frame_pose

MOMENT = 1e-5  # s


@dataclass(frozen=True, eq=False)
class Moment:
    """A state of the robot and what acts on it."""

    t: float
    q: Array
    wrenches: Mapping[str, Array] = field(default_factory=dict)  # by contact, (6,) in world axes at the frame's origin
    com_velocity: Array | None = None  # (3,) m/s, for the capture point
    references: Mapping[str, Array] = field(default_factory=dict)  # by frame, (4, 4): where the controller wants it
    outlines: Mapping[str, Array] = field(default_factory=dict)  # by name, (k, 3): corners of what it draws


@dataclass(frozen=True, eq=False)
class Picture:
    """A moment in numbers ready to be drawn, all in the world."""

    poses: dict[str | None, Array]  # of the links
    com: Array  # (3,)
    ground: Array  # (3,) the point below the centre of mass
    polygon: Array  # (k, 3) corners of the region of support, counter-clockwise; k = 0 without contacts
    forces: Array  # (m, 2, 3) start and end of arrows
    cones: Array  # (lines, 2, 3)
    pressure: tuple[Array, Array, Array]  # points (n, 3), normals (n, 3), shares of the weight (n,)
    capture: Array | None  # (3,) where the robot would come to rest over one foot


@dataclass(frozen=True, eq=False)
class _Touch:
    """A contact that acts."""

    X: Array  # of its frame
    contact: ContactPlace
    points: Array  # (n, 3) world
    normal: Array  # (3,) world
    wrench: Array  # (6,)


def picture(robot: Robot, moment: Moment, contacts: Mapping[str, ContactPlace]) -> Picture:
    """What the viewer draws at a moment. A force as large as the robot's weight is as long as the centre of mass is
    high."""
    poses = link_poses(robot.model, moment.q)
    com = centre_of_mass(robot, poses)
    touches = list(_touches(robot, moment, contacts, poses, com))
    floor = min((float(touch.points[:, 2].min()) for touch in touches), default=0.0)
    gravity = float(np.linalg.norm(robot.model.gravity)) or 1.0
    weight = robot.mass * gravity or 1.0
    scale = max(0.1, abs(com[2] - floor)) / weight
    arrows, cones = [], [np.zeros((0, 2, 3))]
    for touch in touches:
        F, n = touch.wrench, touch.normal
        p = centre_of_pressure(touch.X, touch.contact, n, F)
        arrows.append((p, p + scale * F[:3]))
        cones.append(cone(p, n, touch.contact.friction, scale * max(0.0, float(n @ F[:3]))))
    region = support_region(
        [touch.points for touch in touches], [touch.normal for touch in touches],
        [touch.contact.friction for touch in touches], floor,
    )  # fmt: skip
    return Picture(
        poses,
        com,
        np.array([com[0], com[1], floor]),
        region,
        np.array(arrows).reshape(-1, 2, 3),
        np.concatenate(cones),
        _pressure(touches, weight),
        capture_point(com, moment.com_velocity, floor, gravity),
    )


def _touches(
    robot: Robot, moment: Moment, contacts: Mapping[str, ContactPlace], poses: Any, com: Array
) -> Iterator[_Touch]:
    for name, wrench in moment.wrenches.items():
        F = np.asarray(wrench, dtype=float)
        if name in contacts and np.isfinite(F).all():
            contact = contacts[name]
            X = frame_pose(_frame(robot, contact), poses)
            yield _Touch(X, contact, points_in_world(X, contact), normals_in_world(X[None], contact, com)[0], F)


def _pressure(touches: Sequence[_Touch], weight: float) -> tuple[Array, Array, Array]:
    points = [touch.points for touch in touches]
    normals = [np.tile(touch.normal, (len(touch.points), 1)) for touch in touches]
    shares = [point_forces(touch.points, touch.normal, touch.wrench, touch.X[:3, 3]) / weight for touch in touches]
    if not touches:
        return np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0)
    return np.concatenate(points), np.concatenate(normals), np.concatenate(shares)


def outline_segments(outlines: Mapping[str, Array], lift: float) -> Array:
    """Edges of closed outlines, (n, 2, 3), raised by so many metres."""
    edges = [np.stack([corners, np.roll(corners, -1, axis=0)], axis=1) for corners in outlines.values()]
    return np.concatenate([np.zeros((0, 2, 3)), *edges]) + np.array([0.0, 0.0, lift])


def capture_point(com: Array, velocity: Array | None, floor: float, gravity: float) -> Array | None:
    """ξ = c + ċ √(h/g) on the ground, (3,): where a point foot would bring a pendulum of height h to rest [KHMR20]."""
    if velocity is None or not np.isfinite(velocity).all() or com[2] <= floor:
        return None
    return np.array([*(com + np.sqrt((com[2] - floor) / gravity) * np.asarray(velocity))[:2], floor])


def com_velocity(robot: Robot, q: Array, v: Array) -> Array:
    """Of the centre of mass, (3,) m/s, from the poses of the links a moment later."""
    before, after = (centre_of_mass(robot, link_poses(robot.model, at)) for at in (q, robot.integrate(q, v, MOMENT)))
    return (after - before) / MOMENT


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
