"""[QO21, Sec. 4.4] The area of the support polygon and its Jacobian: row Q7."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.spatial import ConvexHull

from ..balance.support import area_gradient, four_point_area, support_area, support_polygon
from ..control.tasks import SupportAreaTask
from ..robot import Robot, load
from .commanded import task_law
from .reference import ReferenceState, path, rate, second_rate
from .rows import Figure, agree, exactly

Array = np.ndarray
CONTACTS = ("left_foot", "right_foot", "left_hand", "right_hand")


def support_polygon_area() -> Iterator[Figure]:
    a, b, c, d = np.array([[0.1, -0.1], [-0.15, -0.1], [-0.1, 0.6], [0.1, 0.1]])
    thesis, J_thesis = four_point_area(a, b, c, d)
    yield agree("area of four points [Eq. 4.41] against SciPy's hull", thesis, ConvexHull([a, b, c, d]).volume, 1e-12)
    slope = [rate(lambda t, u=u: ConvexHull([a, b, c + t * u, d]).volume) for u in np.eye(2)]  # type: ignore[misc]
    yield agree("its Jacobian [Eq. 4.52] by differences of the hull", J_thesis, slope, 1e-9)
    hull = support_polygon([a, b, c, d, (0.0, 0.1)])
    yield agree("the hull's own gradient", area_gradient(hull.vertices)[list(hull.indices).index(2)], slope, 1e-9)
    yield exactly("a point inside is no corner", sorted(hull.indices.tolist()), [0, 1, 2, 3])
    soles = np.array([[x, y] for x in (-0.1, 0.15) for y in (-0.14, -0.04, 0.04, 0.14)])
    rounded = soles + 1e-11 * np.random.default_rng(2).normal(size=soles.shape)
    yield agree("two soles side by side, to 11 digits", support_polygon(rounded).area, ConvexHull(rounded).volume, 1e-8)
    robot = load("human")
    q, v = robot.random_state(np.random.default_rng(0))
    a_joint = np.random.default_rng(1).normal(size=robot.nv)
    now, at = support_area(robot, q, v, CONTACTS), path(robot, q, v, a_joint)
    yield agree("hull of feet and hands: area", now.value, _hull(robot, q), 1e-11)
    yield agree("its rate J_A v [Eq. 4.54]", now.rate(v), rate(lambda t: _hull(robot, at(t)), 1e-4), 1e-7)
    yield agree(
        "its second rate J_A a + J̇_A v",
        now.J @ a_joint + now.J_dot_v,
        second_rate(lambda t: _hull(robot, at(t)), 1e-3),
        1e-4,
    )
    every = tuple((frame, (0.02, -0.03, 0.01)) for frame in CONTACTS)
    begin = _hull(robot, q, every[0][1])
    task = SupportAreaTask(every, target=begin + 0.1, gain=2.0)
    yield from task_law(robot, task, q, v, lambda now: np.array([_hull_at(now, every[0][1])]), np.array([0.1]), 2.0)
    yield from _enlarged(robot)


def _hull(robot: Robot, q: Array, place: tuple[float, ...] = (0.0, 0.0, 0.0)) -> float:
    return _hull_at(ReferenceState(robot, q), place)


def _hull_at(now: ReferenceState, place: tuple[float, ...]) -> float:
    """Returns the area of the hull of one point of each contact, m²."""
    return float(ConvexHull([now.frame(name, place).p[:2] for name in CONTACTS]).volume)


def _enlarged(robot: Robot) -> Iterator[Figure]:
    """[QO21, Sec. 4.4]: along J_Aᵀ, the base held, every step makes the polygon larger."""
    q = robot.standing()
    areas = [_hull(robot, q)]
    for _ in range(15):
        J = support_area(robot, q, np.zeros(robot.nv), CONTACTS).J.copy()
        J[:6] = 0.0
        q = robot.integrate(q, 0.05 * J / np.linalg.norm(J), 1.0)
        areas.append(_hull(robot, q))
    good = bool(np.all(np.diff(areas) > 0) and areas[-1] > 2 * areas[0])
    yield Figure(
        "area on the way along its gradient, m²",
        "grows in each step, > 2 times",
        f"{areas[0]:.3f} → {areas[-1]:.3f}",
        good,
    )
