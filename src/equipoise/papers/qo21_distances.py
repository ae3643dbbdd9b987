"""[QO21, Sec. 3.2] Distances of primitives against plane geometry on a path: row Q2."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from ..algebra import dual_quaternions as dq
from ..geometry.distances import angle, distance, distances_kernel
from ..geometry.primitives import Line, Plane, Point
from ..robot import Robot
from .reference import ReferenceState, path, rate, second_rate, turned
from .robots import one_of_each_joint
from .rows import Figure, agree, equal

Array = np.ndarray


def distances_of_primitives() -> Iterator[Figure]:
    """Primitives on a moving tool and in a moving world: values by geometry, rates by differences along the way."""
    robot = one_of_each_joint()
    robot = robot.with_frame(
        "tool", "revolute_link", dq.pose(dq.rotation((0.0, 0.6, 0.8), 0.7), (0.1, 0.2, 0.3)).matrix
    )
    rng = np.random.default_rng(0)
    q, v = robot.random_state(rng)
    a, (V, A) = rng.normal(size=robot.nv), rng.normal(size=(2, 6))
    origin, axis = Point((0, 0, 0), "tool"), Line((0, 0, 0), (0, 0, 1), "tool")
    point, line, plane = (Point((0.3, 0.4, 0.5), None, V, A), Line((0.5, 0, 1), (1, 2, 3), None, V, A),
                          Plane((1, 0, 1), 0.2, None, V, A))  # fmt: skip
    measured = {
        "point-to-point": distance(origin, point),
        "point-to-line": distance(origin, line),
        "point-to-plane": distance(origin, plane),
        "line-to-line": distance(axis, line),
        "line-to-line angle [Eq. 4.28]": angle(axis, line),
        "line-to-line angle [Eq. 4.26]": angle(axis, line, smooth=False),
    }
    now = distances_kernel(robot, list(measured.values()))(q, v)
    at, still = path(robot, q, v, a), path(robot, q, 0 * v)
    for k, (name, value) in enumerate(_by_geometry(V, A).items()):

        def along(way: Callable[[float], Array], f: Callable[..., float], t: float) -> float:
            tool = ReferenceState(robot, way(t)).frame("tool")
            return f(tool.p, tool.R[:, 2], t)

        yield agree(f"{name}: value", now.value[k], along(at, value, 0.0), 1e-12)
        yield agree(f"{name}: residual ζ, the robot still", now.residual[k], rate(partial(along, still, value)), 1e-8)
        yield agree(f"{name}: J v + ζ", now.rate(v)[k], rate(partial(along, at, value)), 1e-8)
        yield agree(f"{name}: J a + J̇v + ζ̇", now.acceleration(a)[k], second_rate(partial(along, at, value)), 1e-5)
    squared = ", ".join(name for name, d in measured.items() if d.squared)
    yield equal("squared in Table 3.1", squared, "point-to-point, point-to-line, line-to-line")
    yield from _parallel_lines(robot, q)
    one = distances_kernel(robot, [measured["line-to-line"]])
    gradient = [rate(lambda t, u=u: one(path(robot, q, u)(t), v).value[0]) for u in np.eye(robot.nv)]  # type: ignore[misc]
    yield agree("line-to-line: J by differences of the value", now.J[3], gradient, 1e-7)


def _parallel_lines(robot: Robot, q: Array) -> Iterator[Figure]:
    """Table 3.1 has a formula of its own for them; while both move they stay parallel, in line or opposite."""
    z, place = ReferenceState(robot, q).frame("tool").R[:, 2], np.array([0.3, -0.5, 0.9])
    v, a, (V, A) = np.zeros(robot.nv), np.zeros(robot.nv), np.array([[0.2, -0.4, 0.3], [0.5, 0.1, -0.6]])
    v[:3], v[3:6], a[:3] = (0.4, 0.1, -0.3), 0.7 * z, (-0.2, 0.6, 0.5)  # the base shifts and turns about the axis
    at = path(robot, q, v, a)

    def squared(t: float) -> float:
        r = ReferenceState(robot, at(t)).frame("tool").p - place - V * t - A * t * t / 2
        return float(r @ r - (r @ z) ** 2)

    for name, sign in (("parallel", 1.0), ("opposite", -1.0)):
        line = Line(tuple(place), tuple(sign * z), None, np.append(V, np.zeros(3)), np.append(A, np.zeros(3)))
        now = distances_kernel(robot, [distance(Line((0, 0, 0), (0, 0, 1), "tool"), line)])(q, v)
        ours = now.value[0], now.rate(v)[0], now.acceleration(a)[0]
        yield agree(
            f"{name} lines: value, rate, acceleration", ours, [squared(0.0), rate(squared), second_rate(squared)], 1e-6
        )


def _by_geometry(V: Array, A: Array) -> dict[str, Callable[[Array, Array, float], float]]:
    """Each distance of [QO21, Table 3.1], (4.28) and (4.26), of the tool at p with axis z, at a time."""
    l, n = np.array([1.0, 2.0, 3.0]) / np.sqrt(14), np.array([1.0, 0.0, 1.0]) / np.sqrt(2)

    def moved(p: Array, t: float) -> Array:
        return p + V[:3] * t + A[:3] * t * t / 2

    def swung(u: Array, t: float) -> Array:
        return turned(V[3:] * t + A[3:] * t * t / 2) @ u

    def between_lines(p: Array, z: Array, t: float) -> float:
        normal = np.cross(z, swung(l, t))
        return float((normal @ (p - moved(np.array([0.5, 0, 1.0]), t))) ** 2 / (normal @ normal))

    return {
        "point-to-point": lambda p, z, t: float(np.sum((p - moved(np.array([0.3, 0.4, 0.5]), t)) ** 2)),
        "point-to-line": lambda p, z, t: float(
            np.sum(np.cross(p - moved(np.array([0.5, 0, 1.0]), t), swung(l, t)) ** 2)
        ),
        "point-to-plane": lambda p, z, t: float((p - moved(0.2 * n, t)) @ swung(n, t)),
        "line-to-line": between_lines,
        "line-to-line angle [Eq. 4.28]": lambda p, z, t: float(np.sum((z - swung(l, t)) ** 2)),
        "line-to-line angle [Eq. 4.26]": lambda p, z, t: float(np.arccos(z @ swung(l, t))),
    }
