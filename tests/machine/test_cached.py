"""`cached(function, *inputs)`: whatever runs while a result is computed is in its name."""

from __future__ import annotations

from cProfile import Profile
from inspect import CO_OPTIMIZED
from types import CodeType

import numpy as np
import pytest

import equipoise as eq
from equipoise.control.contacts import cones
from equipoise.control.qp.loops import main
from equipoise.estimation.touch import TouchObserver
from equipoise.forms.principles import dual_quaternion_jacobian
from equipoise.geometry.pairs import PairSet
from equipoise.machine import cached as module
from equipoise.machine import sources
from equipoise.machine.cached import UncacheableError, identity
from equipoise.simulate.batch import BatchSimulation
from equipoise.walking.leg_reach import reach_of_groups
from equipoise.walking.reach import reach_of

MODULES = {path: name for name, path in sources.Files().paths.items()}
OWN = {"equipoise.machine.cached", "equipoise.machine.cache", "equipoise.machine.sources"}


class Watch:
    """A cache in which nothing is found: profiles what runs between a miss and the writing of the result."""

    usable = True

    def __init__(self) -> None:
        self.results: list[tuple[frozenset[str], set[tuple[str, str]]]] = []
        self.roots: frozenset[str] = frozenset()
        self._open: list[tuple[frozenset[str], Profile]] = []
        self._inner: set[tuple[str, str]] = set()

    def read(self, name: str) -> None:
        if self._open:
            self._open[-1][1].disable()
        self._open.append((self.roots, Profile()))
        self._open[-1][1].enable()

    def write(self, name: str, data: bytes) -> None:
        roots, profile = self._open.pop()
        profile.disable()
        codes = [entry.code for entry in profile.getstats() if isinstance(entry.code, CodeType)]
        codes = [code for code in codes if code.co_flags & CO_OPTIMIZED]  # bodies of classes run when they are imported
        places = [(MODULES.get(code.co_filename), code.co_qualname.split(".")[0]) for code in codes]
        ran = {(place, name) for place, name in places if place and place not in OWN and name[0] != "<"}
        self.results.append((roots, ran))
        if self._open:
            self._open[-1][1].enable()

    def holds(self, name: str) -> bool:
        return False


@pytest.fixture
def watch(monkeypatch) -> Watch:
    found = Watch()

    def digest(roots: frozenset[str]) -> str:
        found.roots = roots
        return "0"

    monkeypatch.setattr(module, "shared_cache", lambda: found)
    monkeypatch.setattr(sources, "digest", digest)
    monkeypatch.setattr(sources, "unchanged", lambda: True)
    return found


def equations() -> None:
    robot = eq.load("quadruped")
    q, v = robot.random_state(np.random.default_rng(0))
    robot.kernel("forward_dynamics", None, "mixed")
    robot.kernel("difference_derivatives")
    robot.kernel("jacobian", next(iter(robot.links)), "body")
    robot.equations_of_motion(q, v).in_base(eq.COM)


def controllers() -> None:
    robot = eq.load("arm7")
    ball, floor = eq.Sphere((0, 0, 0), 0.05, "tool"), eq.Plane((0, 0, 1.0), -1.0)
    rows = [eq.TorqueLimits(), eq.JointLimits(), eq.KeepOut(ball, floor), eq.SelfCollision()]
    eq.WholeBodyController(robot, [eq.FrameTask("tool"), eq.PostureTask()], (), rows)
    walker = eq.load("quadruped")
    feet = [eq.PointContact(frame) for frame in walker.frames if frame.endswith("foot")]
    tasks = [eq.CoMTask(), eq.MomentumTask(), eq.PostureTask()]
    eq.WholeBodyController(walker, tasks, feet, chart=eq.charts.RollPitchYaw)
    eq.WholeBodyController(walker, tasks, feet, level="velocity", priorities="strict")


def shapes() -> None:
    robot = eq.load("arm7")
    robot_ball, ball = eq.Sphere((0, 0, 0), 0.05, "tool"), eq.Capsule((0, 0, 0), (0, 0, 1), 0.1)
    eq.distance(robot_ball, ball).on(robot)
    PairSet(robot, ((robot_ball, ball),))
    eq.geometry.self_collision_pairs(robot, samples=3)


def bodies() -> None:
    walker = eq.Body.of(eq.load("quadruped"))
    reach_of_groups(walker, np.array([walker.robot.pose(walker.standing, f.link)[:3, 3] for f in walker.feet.values()]))
    person = eq.Body.of(eq.load("human")).still()
    reach_of(person, 0.175, 0.97 * person.height)


def estimators() -> None:
    robot = eq.load("quadruped")
    feet = [frame for frame in robot.frames if frame.endswith("foot")]
    eq.Estimator(robot, next(iter(robot.links)), feet)
    TouchObserver(robot, feet)


def others() -> None:
    robot = eq.load("arm7")
    BatchSimulation(robot, {"tool": np.zeros((1, 3))})
    dual_quaternion_jacobian(robot, robot.neutral(), "tool")
    cones.wrench_cone("foot", np.array([[1.0, 1, 0], [-1, 1, 0], [-1, -1, 0], [1, -1, 0]]), np.eye(3) + 1.0)
    robot.gravity(robot.neutral())


def solver() -> None:
    main.compiled.__wrapped__()


SLOW = [pytest.param(work, marks=pytest.mark.slow) for work in (controllers, shapes, bodies, estimators, solver)]


@pytest.mark.parametrize("work", [equations, others, *SLOW])
def test_whatever_runs_for_a_result_is_in_its_name(watch, work):
    """Recorded while it runs, and held against what is read from the source."""
    work()
    files = sources.Files()
    assert watch.results and all(ran for _, ran in watch.results)
    for roots, ran in watch.results:
        reached = sources.reached(roots, files)
        named = {(place, name) for place, k in reached for name, at in files.module(place).defined.items() if k in at}
        assert ran <= named, (sorted(roots)[:3], sorted(ran - named))


# --- what is plain data -----------------------------------------------------------------------------------------------


class Own(eq.PostureTask):
    """A user's own."""


def test_equal_values_have_equal_names_and_others_have_others():
    robot, kinds = eq.load("arm7"), set()
    same = [robot, eq.load("arm7")]
    assert identity(same[0], kinds) == identity(same[1], set()) and "equipoise.model.tree:Tree" in kinds
    values = [1, 1.0, True, "1", b"1", None, (1,), [1], {"a": 1}, {"b": 1}, 0.0, -0.0, float("nan"), eq.PostureTask]
    values += [np.ones(1), np.ones(1, int), np.ones((1, 1)), np.zeros(99), np.zeros(98), robot, robot.with_armature()]
    values += [eq.load("planar_chain"), robot.with_frame("spot", "tool", np.eye(4))]
    assert len({repr(identity(x, set())) for x in values}) == len(values)


@pytest.mark.parametrize("value", [object(), np.array([object()]), lambda: 1, Own, Own(), [{"a": object()}]])
def test_what_cannot_be_told_apart_has_no_name(value):
    with pytest.raises(UncacheableError):
        identity(value, set())


@pytest.mark.parametrize("value", [b"\x00B", np.arange(6.0).reshape(2, 3), np.zeros((0, 4), np.int32), "text", [1, 2]])
def test_results_come_back(value):
    back = module._decoded(module._encoded(value))
    np.testing.assert_array_equal(back, value)
    assert type(back) is type(value) and getattr(back, "dtype", None) == getattr(value, "dtype", None)


def test_results_of_objects_that_json_does_not_know_are_refused():
    with pytest.raises(TypeError):
        module._encoded(object())
