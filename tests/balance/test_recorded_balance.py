"""Recorded reports and refusals of balance, next to each other: what just can be, and what cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import records
from support import load

import equipoise as eq
from equipoise import balance

NAN, INF = float("nan"), float("inf")
FEET = ("front_left_foot", "front_right_foot", "hind_left_foot", "hind_right_foot")
SQUARE = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])


def quadruped() -> tuple[eq.Robot, np.ndarray, np.ndarray]:
    """The robot standing a little askew, and a velocity."""
    robot = load("quadruped")
    q = robot.integrate(robot.standing(), 0.1 * np.sin(np.arange(robot.nv)))
    return robot, q, np.cos(1.0 * np.arange(robot.nv))


def analysed(contacts: Any, kind: str = "point", upright: bool = True, **options: Any) -> Callable[[], Any]:
    """The report of contacts with its numbers that count."""

    def call() -> Any:
        robot, q, _ = quadruped()
        found = balance.analyse_contacts(robot, robot.standing() if upright else q, contacts, kind, **options)
        counts = [found.internal_constraints, found.redundant, found.base_controllable]
        return [found.report().splitlines(), list(found.words), list(found.contacts), counts]

    return call


def closed(kind: str, frame_a: str, frame_b: str, **options: Any) -> Callable[[], Any]:
    """An arm that is closed into a ring from a posture."""

    def call() -> Any:
        robot = load("arm6")
        loop = balance.closure(robot, kind, frame_a, frame_b)  # type: ignore[arg-type]
        q = 0.3 * np.cos(np.arange(6))
        rows = balance.loop_constraints(robot, q, np.sin(np.arange(6)), loops=[loop], baumgarte=3.0)
        found = {"J": rows.J, "bias": rows.bias, "violation": rows.violation}
        return found | {"q": balance.close_loops(robot, q, loops=[loop], **options)}

    return call


def flown(**options: Any) -> Callable[[], Any]:
    def call() -> Any:
        robot, q, v = quadruped()
        element = balance.Aerodynamic("trunk", **({"area": 0.3, "drag": 0.8, "lift": 0.5} | options))
        return [element.force(robot, q, v), element.wrench(robot, q, v), element.generalised_force(robot, q, v)]

    return call


def area(contacts: Any, fixed: Any = ()) -> Callable[[], Any]:
    def call() -> Any:
        robot, q, v = quadruped()
        found = balance.support_area(robot, q, v, contacts, fixed)
        return [found.value, found.J, found.J_dot_v, found.rate(v), found.polygon.vertices, found.polygon.indices]

    return call


def struck(contacts: Any = FEET, **options: Any) -> Callable[[], Any]:
    def call() -> Any:
        robot, q, v = quadruped()
        found = balance.impact(robot, q, v, contacts, **options)
        return [found.change, found.impulse, found.rank, found.energy_loss, found.energy_loss_at_contacts]

    return call


def held(contacts: Any, kind: str = "point", axes: Any = "xyz") -> Callable[[], Any]:
    def call() -> Any:
        robot, q, v = quadruped()
        return [
            balance.contact_jacobian(robot, q, contacts, kind, axes),  # type: ignore[arg-type]
            balance.contact_bias(robot, q, v, contacts, kind, axes),  # type: ignore[arg-type]
        ]

    return call


def supported(**options: Any) -> Callable[[], Any]:
    def call() -> Any:
        robot, q, v = quadruped()
        on = balance.support_dynamics(robot, q, v, FEET, **options)
        torque = on.inverse_dynamics(np.sin(np.arange(robot.nv)), 0.1 * np.ones(len(on.S)))
        internal = on.internal_forces
        return [
            torque.torque, torque.residual, torque.acceleration, torque.contact_force, internal.shape,
            on.torque_null_space, on.internal_torque(internal @ internal.T @ np.ones(12)), *on.consistent,
        ]  # fmt: skip

    return call


def ground(**options: Any) -> Callable[[], Any]:
    """Area and extent of a static region: its vertices are wherever the refinement put them."""

    def call() -> Any:
        points = [(0.0, 0, 0), (1, 0, 0), (0.5, 1, 0.2)]
        found = balance.static_region(**({"points": points} | options))
        return [round(found.area, 4), len(found.vertices) > 2, *map(float, found.vertices.min(0, initial=9.0).round(3))]

    return call


OWN = balance.RigidContact(FEET[1], kind="frame", axes="x")
UPWARDS = np.tile(np.array([[0.5, 0, 1], [-0.5, 0, 1], [0, 0.5, 1], [0, -0.5, 1]]), (2, 1, 1))
CALLS: dict[str, Callable[[], Any]] = {
    "no contact": analysed(()),
    "one foot": analysed(FEET[:1]),
    "two feet": analysed(FEET[:2]),
    "diagonal": analysed(FEET[::3]),
    "three feet": analysed(FEET[:3], upright=False),
    "all feet": analysed(FEET),
    "one sole": analysed(FEET[:1], "frame"),
    "on a smooth floor": analysed(FEET, axes="z"),
    "in a groove": analysed(FEET[:2], axes="yz"),
    "on a slope": analysed(FEET, axes=[(0.3, 0, 1)]),
    "a point of the trunk": analysed([("trunk", (0.1, 0, 0.2))]),
    "two kinds": analysed([FEET[0], OWN]),
    "base of joints": analysed(FEET[:1], base=["front_left_knee", "front_right_knee"]),
    "no such base": analysed(FEET, base=["nose"]),
    "coarse": analysed(FEET, upright=False, tolerance=0.3),
    "one trunk": analysed(["trunk"], "frame", upright=False),
    "trunk along a line": analysed([("trunk", (0, 0, 0)), ("trunk", (1, 0, 0))]),
    "batch": lambda: balance.analyse_contacts(load("quadruped"), np.zeros((2, 19)), FEET),
    "axes": held(FEET, axes="zx"),
    "axes none": held(FEET, axes=""),
    "axes w": held(FEET, axes="xw"),
    "axes 0": held(FEET, axes=[(0, 0, 0)]),
    "axes of two": held(FEET, axes=[(0, 1)]),
    "axes NaN": held(FEET, axes=[(0, 0, NAN)]),
    "kind": held(FEET, "line"),
    "frames": held([("trunk", (0.1, 0.2, 0.3))], "frame"),
    "point of two": held([("trunk", (0.1, 0.2))]),
    "point NaN": held([("trunk", (0, 0, NAN))]),
    "own kind": held([OWN]),
    "impact": struck(),
    "impact that rebounds": struck(restitution=0.5),
    "impact, rows": struck(restitution=np.linspace(0, 1, 12)),
    "impact 1": struck(restitution=1.0),
    "impact more": struck(restitution=1.1),
    "impact less": struck(restitution=-0.1),
    "impact NaN": struck(restitution=NAN),
    "sole": struck([("trunk", (0, 0, -0.1))], kind="frame"),
    "air": flown(),
    "wind": flown(wind=(3.0, 0, 1), up=(0.1, 0, 1), point=(0.1, 0.2, 0), density=1000.0),
    "area −": flown(area=-1.0),
    "density −": flown(density=-1.0),
    "drag −": flown(drag=-0.1),
    "lift ∞": flown(lift=INF),
    "lift −": flown(lift=-0.5),
    "up of two": flown(up=(0, 1)),
    "wind NaN": flown(wind=(0, 0, NAN)),
    "up along": flown(up=(0, 0, 0)),
    "area of feet": area(FEET),
    "area with a point": area([FEET[0], ("trunk", (0.4, 0, 0))], [(-0.3, 0.2, 5), (-0.3, -0.2, 0)]),
    "area of nothing": area(()),
    "area of fixed": area((), SQUARE),
    "polygon": lambda: balance.support_polygon([(0, 0), (1, 0), (0.5, 0), (1, 1), (0, 1), (0.5, 0.5), (1, 1)]).indices,
    "polygon, hair": lambda: [balance.support_polygon([*SQUARE, (0.5, d)]).indices for d in (-8e-10, -2e-9)],
    "polygon of one": lambda: balance.support_polygon([(2, 3, 4)]).rows,
    "polygon of two": lambda: balance.support_polygon([(2, 3), (4, 3)]).rows,
    "polygon of none": lambda: balance.SupportPolygon(np.zeros((0, 2)), np.zeros(0, int)).rows,
    "polygon, empty": lambda: balance.support_polygon(np.zeros((0, 2))),
    "polygon NaN": lambda: balance.support_polygon([(0, NAN)]),
    "polygon of fours": lambda: balance.support_polygon(np.zeros((2, 4))),
    "margins": lambda: balance.support_polygon(SQUARE).margins([(0.2, 0.3, 9), (2, 0.5, 0)]),
    "inside": lambda: [(p, 0.5) in balance.support_polygon(SQUARE) for p in (1.0, 1 + 5e-10, 1 + 2e-9)],
    "area of a polygon": lambda: [balance.polygon_area(SQUARE), balance.area_gradient(SQUARE)],
    "four points": lambda: balance.four_point_area((0, 0), (1, 0), (1.2, 0.9), (0.1, 0.8)),
    "four points, two in one": lambda: balance.four_point_area((0, 0), (0, 0), (1.2, 0.9), (0.1, 0.8)),
    "four points on a line": lambda: balance.four_point_area((0, 0), (1, 0), (0.5, 0.5), (0, 1)),
    "pressure": lambda: balance.centre_of_pressure(np.c_[SQUARE, np.zeros(4)], np.arange(12.0).reshape(4, 3)),
    "no pressure": lambda: balance.centre_of_pressure(np.zeros((1, 3)), np.zeros((1, 3))),
    "without moment": lambda: [
        balance.moment_free_point((1, 2, 3), (4, 5, up), (7, 8, 9), height=0.5) for up in (6.0, 0.0, -1.0)
    ],
    "region": ground(),
    "region, slippery": ground(mu=0.05, normals=[(0.3, 0, 1), (-0.3, 0, 1), (0, 0, 1)]),
    "region, weak": ground(largest=4.0),
    "region, too weak": ground(largest=3.0),
    "region, heavy": ground(largest=[40.0, 40.0, 20.0], mass=7.0),
    "region, wide": ground(
        mu=3.0, points=[(0, 0, 0), (1, 0, 0), (0.5, 0, 2)], normals=[(1, 0, 0.2), (-1, 0, 0.2), (0, 0, 1)], reach=2.0
    ),
    "region, coarse": ground(tolerance=0.1, sides=3),
    "region of pairs": ground(points=[(0, 0)]),
    "region, normal": ground(normals=(0, 0, 0)),
    "region, friction": ground(mu=-0.1),
    "region, sides": ground(sides=2),
    "region, frictionless": ground(mu=0.0),
    "wrenches": lambda: [
        round(x, 6)
        for x in sorted(balance.contact_wrenches([(0, 0, 0), (1, 0, 0)], UPWARDS, (1.0, 2.0), (0.5, 0, 1)).h)
    ],
    "wrenches, excess": lambda: (
        balance.contact_wrenches([(0, 0, 0), (1, 0, 0)], UPWARDS, (1.0, 2.0), (0.5, 0, 1)).excess(np.eye(6)).max(axis=1)
    ),
    "wrenches, edges": lambda: balance.contact_wrenches([(0, 0, 0)], UPWARDS, (1.0,), (0, 0, 0)),
    "wrenches, largest": lambda: balance.contact_wrenches([(0, 0, 0), (1, 0, 0)], UPWARDS, (1.0,), (0, 0, 0)),
    "wrenches, origin": lambda: balance.contact_wrenches([(0, 0, 0), (1, 0, 0)], UPWARDS, (1.0, 1.0), (0, 0)),
    "wrenches, ∞": lambda: balance.contact_wrenches([(0, 0, 0), (1, 0, 0)], UPWARDS, (1.0, INF), (0, 0, 0)),
    "wrenches of none": lambda: balance.contact_wrenches(np.zeros((0, 3)), np.zeros((0, 4, 3)), np.zeros(0), (0, 0, 0)),
    "one wrench": lambda: (
        balance.contact_wrenches([(0, 0, 0)], [[(0, 0, 1)]], (2.0,), (0, 0, 0))
        .excess([[0, 0, 1, 0, 0, 0], [0, 0, 3, 0, 0, 0], [0, 1, 1, 0, 0, 0]])
        .max(axis=1)
    ),
    "loop": closed("connect", "tool", "link_2"),
    "loop held": closed("connect", "tool", "link_2", held=list(load("arm6").joints)[:2]),
    "weld": closed("weld", "link_6", "link_3"),
    "loop of a nose": closed("connect", "tool", "nose"),
    "loop, glued": closed("glue", "tool", "link_2"),
    "loop held by a nose": closed("connect", "tool", "link_2", held=["nose"]),
    "loop too soon": closed("connect", "tool", "link_2", iterations=1),
    "loop that cannot": closed("connect", "tool", "link_2", held=list(load("arm6").joints)),
    "no loops": lambda: balance.loop_constraints(load("arm6"), np.zeros((2, 6)), np.zeros(6)).J.shape,
    "support": supported(),
    "support, some motors": supported(actuated=list(load("quadruped").joints)[:8]),
    "support, no motor": supported(actuated=["nose"]),
    "rates": lambda: balance.coordinate_rates(*quadruped()[:2], "body"),
    "rates, axes": lambda: balance.velocity_from_rates(*quadruped()[:2], "up"),
    "rates of two": lambda: balance.coordinate_rates(load("arm6"), np.zeros(2)),
    "turn": lambda: balance.base_turn(*quadruped()[:2]),
    "chain": lambda: [
        list(map(str, balance.equivalent_chain(load("planar_chain")).segments)),
        balance.equivalent_chain(load("planar_chain")).start,
    ],
    "chain, order": lambda: balance.equivalent_chain(load("planar_chain"), ["joint_1"]),
    "chain, names": lambda: balance.equivalent_chain(load("planar_chain"), ["nose"]),
    "chains": lambda: len(list(balance.all_chains(load("planar_chain")))),
    "torques of gravity": lambda: balance.gravity_torques(load("planar_chain"), np.array([0.1, 0.2, 0.3])),
    "torques of two": lambda: balance.gravity_torques(load("planar_chain"), np.zeros(2)),
    "torques NaN": lambda: balance.gravity_torques(load("planar_chain"), np.full(3, NAN)),
    "reduced": lambda: balance.reduced_dynamics(
        np.diag([1.0, 2, 3]), np.ones(3), np.array([[1.0, 1, 0]]), np.array([0.5]), np.array([1.0, 0, 2])
    ),
    "projected": lambda: balance.projected_dynamics(
        np.diag([1.0, 2, 3]), np.ones(3), np.array([[1.0, 1, 0]]), np.array([0.5])
    ),
    "reduced, contradiction": lambda: balance.reduced_dynamics(
        np.eye(2), np.ones(2), np.array([[1.0, 0], [2, 0]]), np.array([1.0, 1.0])
    ),
    "projected, no inertia": lambda: balance.projected_dynamics(
        np.diag([1.0, 0]), np.ones(2), np.array([[0.0, 1]]), np.zeros(1)
    ),
    "reduced, no inertia": lambda: balance.reduced_dynamics(
        np.diag([1.0, 0]), np.ones(2), np.array([[0.0, 1]]), np.zeros(1)
    ),
    "reduced, shape": lambda: balance.reduced_dynamics(np.eye(2), np.ones(3), np.eye(2), np.zeros(2)),
    "reduced NaN": lambda: balance.reduced_dynamics(np.eye(2), np.full(2, NAN), np.eye(2), np.zeros(2)),
    "zero moment": lambda: balance.zero_moment_point(*quadruped(), np.sin(np.arange(18)), height=0.1),
}


@pytest.mark.delicate
def test_recorded_balance():
    records.check("balance", {name: records.answer(call) for name, call in CALLS.items()}, rtol=1e-6, atol=1e-7)
