"""Problems that cannot be solved as stated, made on purpose: each is named, something gives way, and control goes
on."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from bodies import FEET, monopod, standing, tripod
from numpy.testing import assert_allclose
from support import load

import equipoise as eq
from equipoise.control.controller.solution import ControlStatus

HOME = np.array([0.2, 0.6, -0.3, -1.2, 0.4, 0.8, 0.1])
SQUARE = ((1.0, -1.0), (1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0))


def tool(target=None, **options):
    return eq.FrameTask("tool", target, axes="position", **options)


def away(distance=10.0):
    """A goal far above the tool's place at home."""
    return load("arm7").pose(HOME, "tool")[:3, 3] + np.array([0, 0, distance])


def ball(centre, radius=0.1, **options):
    return eq.Sphere(centre, radius, **options)


@dataclass
class Kind:
    """A controller that is fine at first, what makes it infeasible, the names of the conflict, and what mends it."""

    spoil: Callable[[Any], None]
    names: tuple[str, ...]  # patterns: every name of the conflict fits one, and each fits some name
    mend: Callable[[Any], None]
    robot: Callable[[], eq.Robot] = lambda: load("arm7")
    tasks: Callable[[], list] = lambda: [eq.PostureTask()]
    contacts: Callable[[], list] = list
    constraints: Callable[[], list] = list
    options: dict = field(default_factory=dict)
    status: ControlStatus = ControlStatus.RELAXED

    def state(self):
        robot = self.robot()
        return (HOME if robot.nv == 7 else standing(robot)), np.zeros(robot.nv)


class Moving:
    """An obstacle that can be put somewhere else."""

    def __init__(self, radius=0.1) -> None:
        self.centre, self.radius = np.full(3, 5.0), radius

    def __call__(self, t):
        return eq.Sphere(self.centre, self.radius)

    def plane(self, t):
        return eq.Plane((0, 0, 1.0), self.centre[2])


def target(name, there, back=None):
    """Spoil by another target, mend by the old one."""
    return {
        "spoil": lambda c: c.set_target(name, there() if callable(there) else there),
        "mend": lambda c: c.set_target(name, back() if callable(back) else back),
    }


def bounds(feet, least, most):
    def spoil(controller):
        for foot in feet:
            controller.set_force_bounds(foot, least, most)

    def mend(controller):
        for foot in feet:
            controller.set_force_bounds(foot, 0.0, np.inf)

    return {"spoil": spoil, "mend": mend}


def com_shift(robot, by):
    return lambda: robot().com(standing(robot())) + np.array(by)


def feet():
    return [eq.PointContact(foot) for foot in FEET]


def on_feet(**changes):
    """A tripod whose centre of mass must obey."""
    made = {"robot": tripod, "contacts": feet, "tasks": lambda: [eq.CoMTask(hard=True, gain=20.0), eq.PostureTask()]}
    return made | {"constraints": lambda: [eq.TorqueLimits(limits=1e4)]} | changes


def obstacle(moving, spoil_to, back=(5.0, 5.0, 5.0)):
    def put(where):
        moving.centre = np.asarray(where() if callable(where) else where, dtype=float)

    return {"spoil": lambda c: put(spoil_to), "mend": lambda c: put(back)}


def at_tool():
    return load("arm7").pose(HOME, "tool")[:3, 3] + np.array([0.0, 0.0, 0.12])


BALL, FLOOR = Moving(), Moving()
FLOOR.centre = np.full(3, -2.0)
TOOL = eq.Sphere((0, 0, 0), 0.03, "tool")
UP = eq.Line((0, 0, 0), (0, 0, 1.0), "tool")

KINDS: dict[str, Kind] = {
    "hard task, torque limits": Kind(
        **target("tool", away),
        names=("tool task", r"torque limit of \w+"),
        tasks=lambda: [tool(hard=True), eq.PostureTask()],
        constraints=lambda: [eq.TorqueLimits()],
    ),
    "hard task, joint limits": Kind(
        **target("tool", away),
        names=("tool task", r"joint limit of \w+"),
        options={"level": "acceleration"},
        tasks=lambda: [tool(hard=True), eq.PostureTask()],
        constraints=lambda: [eq.JointLimits(acceleration=30.0)],
    ),
    "hard task, joint limits, velocities": Kind(
        **target("tool", away),
        names=("tool task", r"joint limit of \w+"),
        options={"level": "velocity"},
        tasks=lambda: [tool(hard=True), eq.PostureTask()],
        constraints=lambda: [eq.JointLimits()],
    ),
    "two hard tasks": Kind(
        **target("one", away),
        names=("one task", "two task"),
        options={"level": "acceleration"},
        tasks=lambda: [tool(name="one", hard=True), tool(name="two", hard=True), eq.PostureTask()],
    ),
    "hard task, obstacle": Kind(
        **target("tool", away),
        names=("tool task", "table"),
        options={"level": "acceleration"},
        tasks=lambda: [tool(hard=True), eq.PostureTask()],
        constraints=lambda: [
            eq.KeepIn(eq.Point((0, 0, 0), "tool"), eq.Plane((0, 0, 1.0), 0.0), safe=1.3, name="table")
        ],
    ),
    "hard task, region": Kind(
        **target("tool", lambda: away(0.5)),
        names=("tool task", "region"),
        options={"level": "acceleration"},
        tasks=lambda: [tool(hard=True, gain=50.0), eq.PostureTask()],
        constraints=lambda: [eq.KeepIn(TOOL, ball((0, 0, 0.3)), safe=1.4, name="region")],
    ),
    "floor and ceiling": Kind(
        **obstacle(FLOOR, lambda: (0, 0, 2.0), (0, 0, -2.0)),
        names=("floor", "ceiling"),
        options={"level": "acceleration"},
        constraints=lambda: [
            eq.KeepIn(eq.Point((0, 0, 0), "tool"), eq.Plane((0, 0, 1.0), 0.0), safe=1.5, name="ceiling"),
            eq.KeepOut(eq.Point((0, 0, 0), "tool"), FLOOR.plane, name="floor"),
        ],
    ),
    "obstacle, joint limits": Kind(
        **obstacle(BALL, at_tool),
        names=("ball", r"joint limit of \w+"),
        options={"level": "velocity"},
        constraints=lambda: [
            eq.KeepOut(TOOL, BALL, safe=0.5, name="ball", gains=eq.Gains.of_rates(200.0, 400.0)),
            eq.JointLimits(velocity=0.1),
        ],
    ),
    "gravity, torque limits, joint limits": Kind(
        spoil=lambda c: c.set("torque limit", limits=3.0),
        mend=lambda c: c.set("torque limit", limits=500.0),
        names=(r"torque limit of \w+", r"joint limit of \w+"),
        constraints=lambda: [eq.TorqueLimits(limits=500.0), eq.JointLimits(acceleration=1.0)],
    ),
    "hard orientation, cone": Kind(
        **target("turn", lambda: _turned()),
        names=("turn task", "cup"),
        options={"level": "acceleration"},
        tasks=lambda: [eq.FrameTask("tool", name="turn", axes="orientation", hard=True, gain=60.0), eq.PostureTask()],
        constraints=lambda: [eq.Cone(UP, eq.Line((0, 0, 0), _leaning()), 0.2, name="cup")],
    ),
    "hard momentum, its limits": Kind(
        **target("momentum", [3.0, 0, 0], 0.0),
        names=("momentum task", r"momentum limit \(x, angular\)"),
        robot=tripod,
        options={"level": "acceleration"},
        tasks=lambda: [eq.MomentumTask(0.0, hard=True, gain=900.0), eq.PostureTask()],
        constraints=lambda: [eq.MomentumLimits(angular=0.5)],
    ),
    "hard centre of mass, support": Kind(
        **target("centre of mass", com_shift(tripod, (5.0, 0, 0))),
        names=("centre of mass task", r"centre of mass in support.*"),
        **on_feet(options={"level": "acceleration"}, constraints=lambda: [eq.CoMInSupport(SQUARE)]),
    ),
    "hard centre of mass, friction": Kind(
        **target("centre of mass", com_shift(tripod, (0.2, 0, 0))),
        **on_feet(),
        names=("centre of mass task", r"foot_\d friction"),
    ),
    "feet cannot pull": Kind(
        **target("centre of mass", com_shift(tripod, (0, 0, -0.2))),
        **on_feet(),
        names=("centre of mass task", r"foot_\d (friction|normal force)"),
    ),
    "feet pressed too hard": Kind(
        **bounds(FEET, 100.0, 200.0), names=("centre of mass task", r"foot_\d normal force"), **on_feet()
    ),
    "too little allowed to stand": Kind(
        **bounds(FEET, 0.0, 20.0), names=("centre of mass task", r"foot_\d normal force"), **on_feet()
    ),
    "hard centre of mass, centre of pressure": Kind(
        **target("centre of mass", com_shift(monopod, (0.08, 0, 0))),
        robot=monopod,
        names=("centre of mass task", "angular task", "foot centre of pressure"),
        contacts=lambda: [eq.FlatContact("foot", friction=3.0)],
        tasks=lambda: [eq.CoMTask(hard=True), eq.MomentumTask(hard=True, name="angular"), eq.PostureTask()],
    ),
    "hard force, friction": Kind(
        spoil=lambda c: c.set_force_bounds("foot_0", 0.0, 1.0),
        mend=lambda c: c.set_force_bounds("foot_0", 0.0, np.inf),
        names=("push task", "foot_0 normal force"),
        robot=tripod,
        contacts=feet,
        tasks=lambda: [eq.ForceTask("foot_0", (3.0, 0, 20.0), name="push", hard=True), eq.CoMTask(), eq.PostureTask()],
    ),
    "hard torques, torque limits": Kind(
        spoil=lambda c: c.set("torque limit", limits=5.0),
        mend=lambda c: c.set("torque limit", limits=500.0),
        names=("torques task", r"torque limit of \w+"),
        tasks=lambda: [eq.TorqueTask(10.0, hard=True), eq.PostureTask()],
        constraints=lambda: [eq.TorqueLimits(limits=500.0)],
    ),
    "contacts that disagree": Kind(
        spoil=lambda c: _shift_anchor(c, "b", 0.01),
        mend=lambda c: _shift_anchor(c, "b", -0.01),
        names=("a holds", "b holds"),
        robot=tripod,
        options={"level": "acceleration"},
        contacts=lambda: [eq.PointContact("foot_0", name="a"), eq.PointContact("foot_0", name="b")],
    ),
    "hard posture, joint limits": Kind(
        **target("posture", HOME + 3.0),
        names=("posture task", r"joint limit of \w+"),
        options={"level": "acceleration"},
        tasks=lambda: [eq.PostureTask(hard=True, gain=20.0)],
        constraints=lambda: [eq.JointLimits(acceleration=50.0)],
    ),
    "hard relative pose, legs that touch": Kind(
        **target("close", lambda: np.eye(4)),
        names=("close task", r"self-collision of \w+ and \w+"),
        robot=tripod,
        options={"level": "acceleration"},
        tasks=lambda: [eq.RelativeTask("foot_0", "foot_1", name="close", hard=True, gain=40.0), eq.PostureTask()],
        constraints=lambda: [eq.SelfCollision([(_shank(0), _shank(1))], safe=0.1)],
    ),
    "feet let go last": Kind(
        **bounds(FEET, 0.0, 20.0),
        names=(r"foot_\d normal force", "fall", r"foot_\d (holds|friction)"),
        **on_feet(
            tasks=lambda: [eq.CoMTask(), eq.PostureTask()],
            constraints=lambda: [
                eq.KeepOut(
                    eq.Point((0, 0, 0), "trunk"),
                    eq.Plane((0, 0, 1.0), standing(tripod())[2]),
                    safe=-1e-3,
                    rank=0,
                    name="fall",
                    gains=eq.Gains.of_rates(20.0, 40.0),
                )
            ],
        ),
    ),
    "what never gives way": Kind(
        spoil=lambda c: c.set("torque limit", limits=3.0),
        mend=lambda c: c.set("torque limit", limits=500.0),
        names=(r"torque limit of \w+", r"joint limit of \w+"),
        status=ControlStatus.FAILED,
        constraints=lambda: [eq.TorqueLimits(limits=500.0), eq.JointLimits(acceleration=1.0, rank=0)],
    ),
}


def _leaning():
    """A direction 0.15 rad from the tool's axis, in the world."""
    return load("arm7").pose(HOME, "tool")[:3, :3] @ [0.15, 0.0, 1.0]


def _turned():
    """The tool with its axis turned away from there by a right angle."""
    X = load("arm7").pose(HOME, "tool")
    X[:3, :3] = X[:3, :3] @ [[0.0, 0, -1], [0, 1, 0], [1, 0, 0]]
    return X


def _shank(k):
    return eq.Capsule((0, 0, 0), (0, 0, -0.3), 0.03, f"shank_{k}")


def _shift_anchor(controller, name, by):
    controller.settings.numbers(name)["anchor"][2, 3] += by


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def kind(request) -> Kind:
    return request.param


def test_there_are_twenty_kinds_and_more():
    assert len(KINDS) >= 20


def test_conflicts_are_named_and_control_goes_on(kind):
    robot = kind.robot()
    controller = eq.WholeBodyController(robot, kind.tasks(), kind.contacts(), kind.constraints(), **kind.options)
    q, v = kind.state()
    assert controller(0.0, q, v).status.ok
    kind.spoil(controller)
    spoilt = controller(0.001, q, v)
    assert spoilt.status is kind.status
    fits = [[bool(re.fullmatch(pattern, name)) for name in spoilt.conflict] for pattern in kind.names]
    assert all(any(row) for row in fits), (spoilt.conflict, kind.names)
    assert all(any(column) for column in zip(*fits, strict=True)), (spoilt.conflict, kind.names)
    words = spoilt.explain()
    assert f"Cannot hold together: {' × '.join(spoilt.conflict)}." in words
    assert np.isfinite(spoilt.torque).all() and np.isfinite(spoilt.acceleration).all()
    if spoilt.status is ControlStatus.RELAXED:
        assert spoilt.relaxed and "Relaxed: " in words
        assert all(amount > 0 for amount in spoilt.relaxed.values())
    else:
        assert "fallback" in words
    kind.mend(controller)
    mended = controller(0.002, q, v)
    assert mended.status.ok and not mended.conflict and not mended.relaxed
    assert controller.counts[kind.status.name.lower()] == 1 and controller.counts["optimal"] == 2


def test_each_name_of_a_conflict_is_needed(kind):
    """Without any one of them the others can hold: nothing is named that has no part in it."""
    from equipoise.control.qp import DaqpSolver
    from equipoise.control.qp.conflicts import feasible, groups_of, only

    controller = eq.WholeBodyController(kind.robot(), kind.tasks(), kind.contacts(), kind.constraints(), **kind.options)
    q, v = kind.state()
    controller(0.0, q, v)
    kind.spoil(controller)
    solution = controller(0.001, q, v)
    kind.mend(controller)
    program = solution.program
    groups, solver = groups_of(program), DaqpSolver()
    assert not feasible(solver, only(program, (groups[name] for name in solution.conflict)))
    for left_out in solution.conflict:
        others = [groups[name] for name in solution.conflict if name != left_out]
        assert feasible(solver, only(program, others)), left_out


# --- what gives way in which order ------------------------------------------------------------------------------------


def test_higher_ranks_give_way_first(rng):
    """The same two regions with ranks swapped: only the one of the higher rank is left."""
    robot = load("arm7")
    where = robot.pose(HOME, "tool")[2, 3]
    for ranks in ((1, 2), (2, 1)):
        low, high = (
            kind(eq.Point((0, 0, 0), "tool"), eq.Plane((0, 0, 1.0), 0.0), safe=where + by, rank=rank, name=name,
                 gains=eq.Gains.of_rates(20.0, 40.0))
            for kind, by, rank, name in ((eq.KeepOut, 0.05, ranks[0], "above"), (eq.KeepIn, -0.05, ranks[1], "below"))
        )  # fmt: skip
        controller = eq.WholeBodyController(robot, [eq.PostureTask()], constraints=[low, high], level="acceleration")
        solution = controller(0.0, HOME, np.zeros(7))
        assert set(solution.conflict) == {"above", "below"}
        assert set(solution.relaxed) == {("above", "below")[np.argmax(ranks)]}
        assert "above starts 0.05 outside" in " ".join(map(str, solution.events))


@pytest.mark.parametrize("priorities", ["weighted", "strict"])
def test_what_does_not_give_way_still_holds(priorities):
    """A hard task gives way to the torque limits, which stay exact; strict priorities stay strict."""
    robot = load("arm7")
    tasks = [
        tool(away(), hard=True, name="far"),
        eq.FrameTask("tool", axes="orientation", priority=0),
        eq.PostureTask(priority=1),
    ]
    controller = eq.WholeBodyController(robot, tasks, constraints=[eq.TorqueLimits(scale=0.5)], priorities=priorities)
    solution = controller(0.0, HOME, np.zeros(7))
    assert solution.status is ControlStatus.RELAXED and set(solution.relaxed) == {"far task"}
    assert (np.abs(solution.torque) <= 0.5 * robot.limits.effort + 1e-6).all()
    assert_allclose(
        robot.inverse_dynamics(HOME, np.zeros(7), solution.acceleration), solution.torque, rtol=0, atol=1e-7
    )
    assert any(name.startswith("torque limit") for name in solution.active)


def test_a_hundred_steps_of_conflict_end_well(rng):
    """An arm asked for what it cannot do keeps its limits, and does it as soon as it can."""
    robot, dt = load("arm7"), 2e-3
    limits = [eq.TorqueLimits(), eq.JointLimits(acceleration=40.0)]
    controller = eq.WholeBodyController(robot, [tool(hard=True, gain=5.0), eq.PostureTask()], constraints=limits, dt=dt)
    q, v = HOME, np.zeros(7)
    controller(0.0, q, v)
    controller.set_target("tool", away(4.0))
    for k in range(100):
        if k == 60:
            controller.set_target("tool", None)
        solution = controller(k * dt, q, v)
        assert solution.status in (ControlStatus.OPTIMAL, ControlStatus.RELAXED)
        assert (np.abs(solution.torque) <= robot.limits.effort + 1e-6).all()
        q, v = q + v * dt + solution.acceleration * dt**2 / 2, v + solution.acceleration * dt
    assert controller.counts["relaxed"] > 10 and solution.status.ok
