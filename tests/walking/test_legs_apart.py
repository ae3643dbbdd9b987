"""Legs do not meet: capsules around shins and feet, and what the constraint on them does to steps that would cross."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.geometry.capsules import Cloud
from equipoise.geometry.pairs import PairSet
from equipoise.simulate.mujoco_plant import MujocoPlant
from equipoise.walking import legs_apart, whole_body
from equipoise.walking.footsteps import Footstep
from equipoise.walking.gait import Place

FEET = ("left foot", "right foot")
NAMES = ("left_shank off right_shank", "left_shank off right foot", "left foot off right_shank", "feet apart")


@functools.cache
def human() -> eq.Walking:
    return eq.Walking(eq.load("human"))


@pytest.fixture
def walker():
    made = human()
    made.forget_commands().reset()
    yield made
    made.forget_commands().reset()


class Judge:
    """Least distance of the shins and feet of both legs, m, by MuJoCo and the robot's own collision shapes."""

    def __init__(self, walker: eq.Walking) -> None:
        import mujoco

        self.plant = MujocoPlant(walker.robot, walker.contacts, collision="links")
        self.plant.prepare(1e-3)
        self.place, self.measure, model = mujoco.mj_kinematics, mujoco.mj_geomDistance, self.plant.model
        shapes = {model.geom(k).name: k for k in range(model.ngeom)}
        self.pairs = [
            (shapes[f"link left_{a}/0"], shapes[f"link right_{b}/0"])
            for a in ("shank", "foot")
            for b in ("shank", "foot")
        ]

    def __call__(self, q: np.ndarray) -> np.ndarray:
        self.plant.reset(q, np.zeros(self.plant.robot.nv))
        model, data = self.plant.model, self.plant.data
        self.place(model, data)
        return np.array([self.measure(model, data, a, b, 1.0, None) for a, b in self.pairs])


# --- shapes -----------------------------------------------------------------------------------------------------------


def test_capsules_are_as_far_apart_as_the_shapes_of_the_description(walker, rng):
    """Shins side by side to a millimetre. The foot is a box 4 cm high in a capsule as high as wide, so it may be nearer
    by what is not box, and farther by corners that stick out: less than the distance that is kept."""
    judge = Judge(walker)
    pairs = PairSet(walker.robot, tuple(legs_apart.leg_pairs(walker.body, FEET)))
    joints = [f"{side}_hip_{axis}" for side in ("left", "right") for axis in ("roll", "yaw")]
    for _ in range(20):
        q = walker.q0.copy()
        q[:2] += rng.uniform(-1, 1, 2)
        for name in joints:
            q[walker.robot.joints[name].q] += rng.uniform(-0.15, 0.15)
        ours, theirs = pairs.distances(q), judge(q)
        assert abs(ours[0] - theirs[0]) < 1e-3
        assert (theirs > ours - legs_apart.SAFE).all()
        assert (theirs < ours + 2 * 0.048).all()


def test_a_robot_without_shapes_has_capsules_from_its_body(walker):
    model = walker.robot.model
    bare = replace(model, links={name: replace(x, collisions=(), visuals=()) for name, x in model.links.items()})
    body = replace(walker.body, robot=type(walker.robot)(bare, walker.robot.tree))
    own, without = legs_apart.shin(walker.body, FEET[0]), legs_apart.shin(body, FEET[0])
    width = np.ptp(np.array(walker.body.feet[FEET[0]].corners)[:, 1])
    assert without.radius == pytest.approx(width / 4) and own.radius == pytest.approx(0.05075)
    assert_allclose(without.a, own.a, atol=1e-9)  # from the knee on
    assert legs_apart.foot(body, FEET[0]).radius == pytest.approx(width / 2)


def test_capsules_that_are_too_wide_to_stand_with_are_narrower(walker, monkeypatch):
    """Shins as wide as they are apart: taken as what leaves them room with the feet as near as the plan may set them,
    and no other pair."""
    monkeypatch.setattr(legs_apart, "_sides", lambda *_: None)
    monkeypatch.setattr(legs_apart, "BARE", 1.7)
    pairs = legs_apart.leg_pairs(walker.body, FEET)
    apart = PairSet(walker.robot, tuple(pairs)).distances(walker.q0)
    closer = walker.gait.width - walker.gait.reach.nearest
    assert apart[0] == pytest.approx(legs_apart.SAFE + closer, abs=1e-6)
    assert pairs[3][0].radius == pytest.approx(0.048)


def test_a_shin_is_little_wider_than_the_sole_and_in_the_middle_of_its_shapes(walker, monkeypatch):
    for sides, radius, middle in (((0.05, 0.11), 0.03, 0.08), ((0.0, 0.3), 1.25 * 0.048, 0.15)):
        monkeypatch.setattr(legs_apart, "_sides", lambda *_, sides=sides: sides)
        made = legs_apart.shin(walker.body, FEET[0])
        X = walker.robot.pose(walker.q0, "left_shank")
        assert made.radius == pytest.approx(radius)
        assert [(X[:3, :3] @ p + X[:3, 3])[1] for p in (made.a, made.b)] == pytest.approx([middle, middle])


@pytest.mark.parametrize("radius", [0.03, 0.055])
def test_a_shin_wider_than_the_foot_ends_higher_by_as_much(walker, monkeypatch, radius):
    """So that its round end is no lower than that of one as wide as the foot, 0.048 m to each side."""
    ends = []
    for r in (0.048, radius):
        monkeypatch.setattr(legs_apart, "_sides", lambda *_, r=r: (0.08 - r, 0.08 + r))
        ends.append(legs_apart.shin(walker.body, FEET[0]))
    usual, made = ends
    along = (usual.a - usual.b) / np.linalg.norm(usual.a - usual.b)
    assert_allclose(made.a, usual.a, atol=1e-12)
    assert_allclose(made.b - usual.b, max(radius - 0.048, 0.0) * along, atol=1e-12)


def test_a_shin_is_as_wide_as_its_shapes_are_between_knee_and_ankle(walker, monkeypatch):
    """Not as what is above or below, unless there is nothing else."""
    X = walker.robot.pose(walker.q0, "left_shank")
    low, high = X[2, 3] - 0.1, X[2, 3] + 0.1
    places = np.array([[0.0, y, z] for y, z in ((0.2, high + 0.01), (0.05, low), (0.11, high), (-0.3, low - 0.01))])
    radii = np.array([0.0, 0.01, 0.02, 0.0])
    for rows, sides in (([0, 1, 2, 3], (0.04, 0.13)), ([0, 3], (-0.3, 0.2))):
        cloud = Cloud((places[rows] - X[:3, 3]) @ X[:3, :3], radii[rows], np.zeros((0, 2), dtype=int))
        monkeypatch.setattr(legs_apart, "cloud_of", lambda _, cloud=cloud: cloud)
        assert legs_apart._sides(walker.body, "left_shank", low, high) == pytest.approx(sides, abs=1e-9)


# --- steps ------------------------------------------------------------------------------------------------------------


def stepped(walker: eq.Walking, turn: float) -> tuple[float, set[str], str]:
    """A step of the left foot beside the right one, turned to the right: least distance of the legs by MuJoCo, the
    pairs that were active, and how the run ended."""
    walker.forget_commands().reset()
    beside = walker.gait.reach.nearest - walker.gait.width / 2
    walker.follow([Footstep(0, Place(0.0, beside, -turn))])
    active: set[str] = set()

    def controller(t, q, v):
        solution = walker(t, q, v)
        active.update(name for name in NAMES if name in solution.active)
        return solution

    controller.contacts, controller.observe = walker.contacts, walker.observe
    run = eq.simulate(walker.robot, controller, q0=walker.q0, duration=1.0)
    judge = Judge(walker)
    return min(float(judge(q).min()) for q in run.q[350::10]), active, run.outcome


def test_a_foot_that_is_turned_into_the_other_leg_stops_before_it(walker, monkeypatch):
    """A step is given within reach, but turned by 1 rad: its toes would be in the other foot, its knee in the other
    knee."""
    kept, active, outcome = stepped(walker, 1.0)
    assert kept > 0.0 and outcome == "completed" and active >= {"feet apart", "left_shank off right_shank"}
    for name in NAMES[:3]:
        walker.whole_body.controller.set(name, safe=legs_apart.ANY_DISTANCE)
    monkeypatch.setattr(whole_body, "SAFE", legs_apart.ANY_DISTANCE)
    try:
        crossed, active, _ = stepped(walker, 1.0)
    finally:
        for name in NAMES[:3]:
            walker.whole_body.controller.set(name, safe=legs_apart.SAFE)
    assert crossed < -0.03 and active == set()


def test_feet_that_both_carry_are_not_kept_apart(walker):
    """Nothing could move them; a foot that swings is."""

    def safe() -> float:
        return float(walker.whole_body.controller.settings.numbers("feet apart")["safe"])

    assert safe() == legs_apart.ANY_DISTANCE
    walker.whole_body.lift(0)
    assert safe() == legs_apart.SAFE
    walker.whole_body.land(0)
    assert safe() == legs_apart.ANY_DISTANCE
    walker.whole_body.fly()
    assert safe() == legs_apart.SAFE


def test_a_common_walk_is_never_held_back(walker):
    walker.command(0.3, 0.05, 0.3, at=0.05)
    margins, active = [], []
    q, v = walker.q0, np.zeros(walker.robot.nv)
    plant = MujocoPlant(walker.robot, walker.contacts)
    plant.prepare(1e-3)
    plant.reset(q, v)
    for k in range(1200):
        solution = walker(1e-3 * k, q, v)
        margins.append([solution.margins[name] for name in NAMES])
        active += [name for name in NAMES if name in solution.active]
        state = plant.step(solution.torque, 1e-3)
        q, v = state.q, state.v
        walker.observe(state.wrenches)
    assert walker.machine.state.steps >= 2 and active == []
    assert np.min(margins) > 0.02


def test_rates_fit_any_step_of_control(walker):
    """A slow loop gets slower gains instead of an error."""
    for dt in (1e-3, 5e-3, 2e-2):
        gains = legs_apart.legs_apart(walker.body, FEET, dt)[0].gains
        assert gains.slow <= gains.fast <= 0.5 / dt and gains.fastest * dt <= 0.5
    assert gains.slow == pytest.approx(25.0)
