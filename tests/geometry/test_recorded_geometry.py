"""Recorded primitives, fits and refusals of geometry, next to each other: what just can be, and what cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import records
from support import load

import equipoise as eq
from equipoise.geometry import capsules, distances_kernel, line_point_switch, smallest_capsule, target_region
from equipoise.geometry.distances import angle
from equipoise.geometry.motion import displacement
from equipoise.geometry.primitives import at_time

NAN, INF = float("nan"), float("inf")
O, X, Z = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
ARM = eq.Segment((0.1, 0, 0), (0.3, 0, 0), frame="link_3")


def moved(primitive: Any, t: float = 0.7) -> Callable[[], Any]:
    def call() -> Any:
        later = primitive.at(t)
        return {"was": repr(primitive), "is": later.parameters, "motion": primitive.motion, "velocity": later.velocity}

    return call


CALLS: dict[str, Callable[[], Any]] = {
    "point": moved(eq.Point((1, 2, 3), velocity=(0.1, 0.2, 0.3), acceleration=(1, 0, 0, 0.1, 0, 0))),
    "line": moved(eq.Line((1, 2, 3), (0, 3, 4), velocity=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6))),
    "segment": moved(eq.Segment((1, 2, 3), (2, 2, 4), velocity=(0, 0, 0.3, 0, 0.5, 0.6), acceleration=(0, 0, 1))),
    "plane": moved(eq.Plane((0, 3, 4), 0.5, velocity=(0, 0, 0.3, 0, 0.5, 0.6))),
    "plane at a hinge": moved(eq.Plane((0, 0, 2), 0.5, velocity=(0, 0, 0, 0.2, 0.5, 0), point=(1, 1, 0.5))),
    "sphere": moved(eq.Sphere((1, 2, 3), 0.4, acceleration=(0, 0, -9.81))),
    "capsule": moved(eq.Capsule((1, 2, 3), (1, 2, 4), 0.2, velocity=(0, 0, 0, 0, 0, 2.0))),
    "still": lambda: repr(eq.Sphere(O, 0.0, velocity=np.zeros(3)).at(3.0)),
    "on a frame": lambda: repr(eq.Capsule(O, X, 1.0, frame="hand").at(3.0)),
    "at a time": lambda: [repr(at_time(x, 2.0)) for x in (eq.Point(O, velocity=X), lambda t: eq.Point((t, 0, 0)))],
    "dual quaternions": lambda: [
        x.dual_quaternion.vec8 for x in (eq.Point((1, 2, 3)), eq.Line((1, 2, 3), X), eq.Plane(Z, 2.0))
    ],
    "moment": lambda: eq.Line((1, 2, 3), (0, 2, 0)).moment,
    "displacement": lambda: displacement(np.arange(1, 7) / 3, np.arange(6, 0, -1) / 5, 0.4),
    "displacement in no time": lambda: displacement(np.arange(1, 7) / 3, np.zeros(6), 0.0),
    "position of two": lambda: eq.Point((1, 2)),
    "position of text": lambda: eq.Point("here"),
    "position NaN": lambda: eq.Point((0, 0, NAN)),
    "position as a table": lambda: eq.Point(((1, 2, 3),)),
    "direction 0": lambda: eq.Line(O, O),
    "direction, a hair": lambda: eq.Line(O, (0, 0, 1.2e-12)).direction,
    "direction, less": lambda: eq.Line(O, (0, 0, 9e-13)),
    "direction, huge": lambda: eq.Line(O, (0, 3e200, 4e200)).direction,
    "radius −": lambda: eq.Sphere(O, -1e-9),
    "radius 0": lambda: eq.Sphere(O, 0).radius,
    "radius ∞": lambda: eq.Capsule(O, X, INF),
    "radius of two": lambda: eq.Sphere(O, (1, 2)),
    "radius of text": lambda: eq.Sphere(O, "1"),
    "offset of text": lambda: eq.Plane(Z, "1"),
    "offset of two": lambda: eq.Plane(Z, (1, 2)),
    "offset NaN": lambda: eq.Plane(Z, NAN),
    "off the plane": lambda: eq.Plane(Z, 1.0, point=(0, 0, 1.1)),
    "all but on the plane": lambda: eq.Plane(Z, 1.0, point=(0, 0, 1 + 1e-9)).point,
    "just off the plane": lambda: eq.Plane(Z, 1.0, point=(0, 0, 1 + 3e-9)),
    "frame": lambda: eq.Point(O, frame=3),
    "moving frame": lambda: eq.Point(O, frame="hand", velocity=X),
    "falling frame": lambda: eq.Point(O, frame="hand", acceleration=X),
    "velocity of four": lambda: eq.Point(O, velocity=(1, 2, 3, 4)),
    # distances
    "planes": lambda: eq.distance(eq.Plane(Z), eq.Plane(X)),
    "line and plane": lambda: eq.distance(eq.Line(O, X), eq.Plane(Z)),
    "squared with a radius": lambda: eq.distance(eq.Sphere(O, 1.0), eq.Point(X), squared=True),
    "squared with a plane": lambda: eq.distance(eq.Plane(Z), eq.Point(X), squared=True),
    "kinds": lambda: [
        [eq.distance(a, b).squared, eq.distance(a, b, squared=False).squared]
        for a in (eq.Point(O), eq.Line(O, X), eq.Segment(O, X), eq.Sphere(O, 1.0))
        for b in (eq.Point(X), eq.Segment(X, Z), eq.Capsule(X, Z, 0.1))
    ],
    "distance of numbers": lambda: eq.distance((1, 2, 3), eq.Point(O)),
    "angle": lambda: [angle(eq.Line(O, X), eq.Plane(Z), smooth=smooth).quantity for smooth in (True, False)],
    "angle of points": lambda: angle(eq.Point(O), eq.Line(O, X)),
    "no distances": lambda: distances_kernel(load("arm6"), []),
    "distances of text": lambda: distances_kernel(load("arm6"), ["far"]),
    "switch of points": lambda: line_point_switch(load("arm6"), eq.Point(O), ARM),
    "switch of lines": lambda: line_point_switch(load("arm6"), eq.Line(O, Z), eq.Line(O, X)),
    "switch in the world": lambda: line_point_switch(load("arm6"), eq.Line(O, Z), eq.Segment(O, X)),
    # regions and capsules
    "region": lambda: [repr(p) for p in target_region([O, X, (1, 1, 0), (0, 1, 0.2)])],
    "region the other way": lambda: [repr(p) for p in target_region([(0, 1, 0), (1, 1, 0), X, O], (0, 0, 2), "hand")],
    "region of two": lambda: target_region([O, X]),
    "region of pairs": lambda: target_region([(0, 0), (1, 0), (1, 1)]),
    "region NaN": lambda: target_region([O, X, (1, NAN, 0)]),
    "region on a line": lambda: target_region([O, X, (2, 0, 0)]),
    "region that turns in": lambda: target_region([O, (2, 0, 0), (0.5, 0.5, 0), (0, 2, 0)]),
    "no points": lambda: smallest_capsule(np.zeros((0, 3))),
    "points NaN": lambda: smallest_capsule([(0, 0, NAN)]),
    "radii −": lambda: smallest_capsule([O, X], (0.1, -0.1)),
    "one point": lambda: repr(smallest_capsule([(1, 2, 3)], 0.1, "hand")),
    "two points": lambda: repr(smallest_capsule([O, X], 0.1)),
    "volumes": lambda: [capsules.volume(x) for x in (eq.Sphere(O, 0.5), eq.Capsule(O, X, 0.5))],
    "directions": lambda: capsules.DIRECTIONS[[0, 1, 80, 159]],
}  # fmt: skip


def test_recorded_geometry():
    records.check("geometry", {name: records.answer(call) for name, call in CALLS.items()}, atol=1e-9)


CLOUDS = {
    "box": [(x, y, z) for x in (0, 0.3) for y in (0, 0.1) for z in (0, 0.12)],
    "slab": [(x, y, z) for x in (0, 0.5) for y in (0, 0.4) for z in (0, 0.02)],
    "stick": [(0.1 * k, 0.01 * (k % 2), 0.02 * (k % 3)) for k in range(9)],
    "triangle": [(0, 0, 0), (0.4, 0, 0), (0.1, 0.1, 0)],
    "tiny": [(0, 0, 0), (1e-10, 0, 0), (0, 1e-10, 0)],
}


@pytest.mark.delicate
def test_recorded_capsules():
    """Sizes of the fits: ends and radius may be anywhere on a flat minimum, the volume is what the search finds."""
    found = {}
    for name, points in CLOUDS.items():
        for radii in (0.0, np.linspace(0.01, 0.03, len(points))):
            shape = smallest_capsule(points, radii)
            found[f"{name}, {np.size(radii)} radii"] = [type(shape).__name__, capsules.volume(shape)]
    points = np.array([[np.cos(3 * k), np.sin(3 * k), 0.02 * k] for k in range(400)]) * 0.1
    found["many points"] = capsules.volume(smallest_capsule(points))
    records.check("capsules", found, rtol=2e-3, atol=1e-12)


def measured() -> list[Any]:
    """Pairs of all kinds between an arm and the world."""
    point, segment = eq.Point((0.05, 0.02, 0.1), "link_4"), eq.Segment((0, 0, 0.1), (0.1, 0, 0.3), "link_5")
    line, capsule = eq.Line((0, 0.1, 0), (0.3, 1, 0), "link_3"), eq.Capsule((0, 0, 0), (0, 0, 0.2), 0.05, "link_6")
    world = [
        eq.Point((1, 0.3, 0.2), velocity=(0.1, 0, 0.2)),
        eq.Line((0.5, 0.4, 0), (0.2, 0, 1), velocity=(0, 0.1, 0, 0.2, 0.1, 0)),
        eq.Segment((0.5, 0, 0), (0.5, 1, 0.3), acceleration=(0, 0, 1, 0, 1, 0)),
        eq.Plane((0.1, 0.2, 1), -0.4, velocity=(0, 0, 0.1, 0.3, 0, 0)),
        eq.Sphere((0.2, 0.5, 0.8), 0.1, velocity=(0.3, 0, 0)),
    ]
    pairs = [(a, b) for a in (point, segment, line, capsule) for b in world if not (a is line and b is world[3])]
    return [eq.distance(a, b) for a, b in pairs] + [angle(line, world[1]), angle(line, world[3], smooth=False)]


@pytest.mark.delicate
def test_recorded_distances():
    robot = load("arm6")
    kernel = distances_kernel(robot, measured())
    found = {}
    for k in range(3):
        q, v = np.sin(np.arange(6) + k), np.cos(2.0 * np.arange(6) + k)
        now = kernel(q, v)
        found[f"{k}"] = {
            "value": now.value, "rate": now.rate(v), "acceleration": now.acceleration(2 * v), "J": now.J,
            "residual": now.residual, "J_dot_v": now.J_dot_v, "residual_rate": now.residual_rate,
        }  # fmt: skip
    switch = line_point_switch(robot, eq.Line((0.3, 0.1, 0), (0, 0.2, 1)), eq.Segment(O, (0.1, 0, 0.2), "link_5"))
    for k in range(6):
        part, values = switch(np.sin(np.arange(6) + k), np.ones(6))
        found[f"switch {k}"] = [part, values.value, values.J]
    records.check("distances", found, rtol=1e-7, atol=1e-9)
