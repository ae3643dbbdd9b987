"""The ready controller: what it is made of, its references, its commands, and that robots stand with it."""

from __future__ import annotations

import functools
import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.control.body_contacts import contacts_of_body, part_contacts
from equipoise.control.standing import COM, HEAD, SETTLED, _Way
from equipoise.model import shapes
from equipoise.simulate.trials import reach_of, trials


@functools.cache
def standing(name: str) -> eq.Standing:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eq.Standing(eq.load(name))


@pytest.fixture
def quadruped():
    made = standing("quadruped")
    made.reset()
    return made


@pytest.fixture
def human():
    made = standing("human")
    made.reset()
    return made


# --- references -------------------------------------------------------------------------------------------------------


def test_a_reference_begins_with_its_rate_and_ends_at_rest(rng):
    """Rates are derivatives of places, and a way that is left half way goes on without a jump."""
    first = _Way.still(rng.normal(size=3)).to(1.0, rng.normal(size=3), 0.8)
    goal = rng.normal(size=3)
    second = first.to(1.5, goal, 0.6)
    for before, after in zip(first.at(1.5), second.at(1.5), strict=True):
        assert_allclose(after, before, atol=1e-12)
    for way in (first, second):
        t = way.start + 0.3
        (x, v, a), h = way.at(t), 1e-5
        assert_allclose((way.at(t + h)[0] - way.at(t - h)[0]) / (2 * h), v, atol=1e-8)
        assert_allclose((way.at(t + h)[1] - way.at(t - h)[1]) / (2 * h), a, atol=1e-7)
    x, v, a = second.at(second.end)
    assert_allclose(x, goal, atol=1e-12)
    assert_allclose(np.concatenate([v, a]), 0.0, atol=1e-9)
    assert_allclose(second.at(9.0)[0], goal, atol=1e-12)
    assert_allclose(second.at(0.0)[0], second.at(1.5)[0], atol=1e-12)  # before it begins, where it begins


def test_commands_move_what_they_name(human):
    home = human.reference(COM, 0.0)
    human.squat(0.1, at=1.0, seconds=0.5)
    human.sway(0.02, -0.01, at=2.0, seconds=0.5)
    human.reach("left hand", by=(0.1, 0.0, 0.2), at=1.0)
    human.look(0.3, 0.1, at=1.0)
    assert human.waiting
    v = np.zeros(human.robot.nv)
    for t in (1.0, 2.0):
        human._clock.reset(t)
        human(t, human.q0, v)
    assert_allclose(human.reference(COM, 1.5), human.reference(COM, 1.9), atol=1e-12)
    assert_allclose(human.reference(COM, 3.0), home + np.array([0.02, -0.01, -0.1]), atol=1e-12)  # sway keeps the squat
    hand = human.robot.pose(human.q0, "left hand")[:3, 3]
    assert_allclose(human.reference("left hand", 9.0), hand + np.array([0.1, 0.0, 0.2]), atol=1e-12)
    human.stand(at=3.0)
    human._clock.reset(3.0)
    human(3.0, human.q0, v)
    assert_allclose(human.reference(COM, 9.0), home, atol=1e-12)
    assert_allclose(human.reference("left hand", 9.0), hand, atol=1e-12)
    assert_allclose(human.reference(HEAD, 9.0), 0.0, atol=1e-12)


def test_commands_before_the_run_survive_its_reset_and_a_second_run_starts_anew(quadruped):
    quadruped.squat(0.03, at=0.1)
    quadruped.reset()
    assert quadruped.waiting
    quadruped(0.2, quadruped.q0, np.zeros(quadruped.robot.nv))
    assert not quadruped.waiting
    quadruped.reset()
    assert not quadruped.waiting and quadruped.log == []


@pytest.mark.parametrize(
    "ask, said",
    [
        (lambda s: s.squat(np.nan), "depth is one finite number"),
        (lambda s: s.squat(0.1, seconds=0.0), "seconds is positive"),
        (lambda s: s.sway(0.1, "left"), "left is one finite number"),
        (lambda s: s.reach("third hand", by=(0, 0, 0)), "no hand named 'third hand'"),
        (lambda s: s.reach("left hand"), "either a target or"),
        (lambda s: s.reach("left hand", (0, 0)), "target is three finite numbers"),
        (lambda s: s.reference("left ear", 0.0), "no reference named 'left ear'"),
    ],
)
def test_commands_that_cannot_be_are_refused(human, ask, said):
    with pytest.raises(eq.EquipoiseError, match=said):
        ask(human)


def test_who_has_no_head_cannot_look(quadruped):
    with pytest.raises(eq.BodyError, match=r"\[parts.head\]"):
        quadruped.look(0.1)


def test_who_has_no_feet_cannot_stand():
    with pytest.raises(eq.BodyError, match="cannot stand.*profile"):
        eq.Standing(eq.load("ur5"))
    with pytest.raises(eq.BodyError, match="cannot stand"):
        eq.Standing(eq.load("arm7"))


def test_feet_touch_as_their_parts_say():
    part = eq.Body.of(eq.load("human")).feet["left foot"]
    (flat,) = part_contacts("left foot", "left foot", part, 0.5)
    assert isinstance(flat, eq.FlatContact) and flat.friction == 0.5
    assert_allclose(flat.points, part.points, atol=1e-12)
    from equipoise.body import Part

    ends = part_contacts("f", "foot", Part("x", contact="line", corners=((0.1, 0.0), (-0.05, 0.0))), 0.5)
    assert [type(c) for c in ends] == [eq.PointContact] * 2
    assert_allclose([c.point for c in ends], [(0.1, 0, 0), (-0.05, 0, 0)])


def test_contacts_of_a_body_are_named_by_roles():
    body = eq.Body.of(eq.load("human"))
    assert [c.label for c in contacts_of_body(body)] == ["left foot", "right foot"]
    (hand,) = contacts_of_body(body, ["left hand"], friction=0.3)
    assert hand.frame == body.frames["left hand"] and hand.friction == 0.3
    with pytest.raises(eq.EquipoiseError, match="no part named 'tail'"):
        contacts_of_body(body, ["tail"])


def knees_of(robot):
    return [name for name in robot.joints if "knee" in name]


def test_a_robot_that_is_too_weak_is_told_which_joint_lacks_how_much():
    """The limits are those of the description; what is needed is what statics says of a quarter of the weight."""
    robot = eq.load("quadruped")
    with pytest.raises(eq.BodyError, match="is too weak to stand") as caught:
        eq.Standing(robot.with_limits(list(robot.joints), effort=2.0))
    q, knee = eq.Body.of(robot).standing, robot.joints["front_left_knee"].v.start
    arm = robot.jacobian(q, "front_left_foot")[2, knee]
    needed = abs(robot.gravity(q)[knee] - arm * robot.mass * 9.80665 / 4)
    said = re.search(r"'front_left_knee' needs ([\d.]+) N m and has 2\b", str(caught.value))
    assert_allclose(float(said[1]), needed, rtol=0.05)


def test_a_robot_a_little_too_weak_is_refused_too():
    robot = eq.load("quadruped")
    with pytest.raises(eq.BodyError, match="is too weak to stand: joint .*knee.* and has 10"):
        eq.Standing(robot.with_limits(knees_of(robot), effort=10.0))


def test_a_walker_that_is_too_weak_is_refused():
    robot = eq.load("quadruped")
    with pytest.raises(eq.BodyError, match="is too weak to stand: joint .*knee.* and has 2"):
        eq.Walking(robot.with_limits(list(robot.joints), effort=2.0))


def test_placeholders_are_the_only_limits_that_are_left_out():
    """A limit of zero where a motor is; the other limits stay as they are."""
    robot = eq.load("quadruped")
    knees = knees_of(robot)
    weak = robot.with_limits(knees, effort=0.0)
    with pytest.warns(eq.ModelWarning, match="placeholders.*taken as none: joint .*knee.* and has 0"):
        made = eq.Standing(weak)
    limits = {name: made.robot.limits.effort[made.robot.joints[name].v][0] for name in made.robot.joints}
    assert all(np.isinf(limits[name]) for name in knees)
    assert all(limits[name] == robot.limits.effort[robot.joints[name].v][0] for name in limits if name not in knees)
    solution = made(0.0, made.q0, np.zeros(made.robot.nv))
    assert np.abs(solution.acceleration).max() < 0.5
    assert made.log == [] and not made.waiting


def test_a_thousand_is_a_placeholder():
    heavy = eq.load("quadruped").with_inertia("trunk", mass=6000.0, inertia=(60.0, 180.0, 200.0))
    heavy = heavy.with_limits(list(heavy.joints), effort=1000.0)
    with pytest.warns(eq.ModelWarning, match="has 1e.03"):
        assert np.isinf(eq.Standing(heavy).robot.limits.effort).sum() >= 4


def test_legs_without_motors_cannot_stand():
    robot = eq.load("quadruped")
    knees = [name for name in robot.joints if "knee" in name]
    with pytest.raises(eq.BodyError, match=r"knee.*have no motors.*actuated="):
        eq.Standing(robot.with_passive(knees))


def test_two_point_feet_cannot_stand_still():
    builder = eq.RobotBuilder("points", floating=True)
    builder.link("trunk", mass=5.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1))
    for side, y in (("left", 0.1), ("right", -0.1)):
        parent, at = "trunk", (0.0, y, 0.0)
        for name, axis in (("roll", (1, 0, 0)), ("hip", (0, 1, 0)), ("knee", (0, 1, 0))):
            ball = [shapes.sphere(0.02, (0, 0, -0.3))] if name == "knee" else []
            builder.link(f"{side}_{name}", mass=0.5, com=(0, 0, -0.1), inertia=(0.01, 0.01, 0.01), shapes=ball)
            builder.joint(
                f"{side}_{name}_joint",
                "revolute",
                parent,
                f"{side}_{name}",
                axis=axis,
                position=at,
                lower=-2.0,
                upper=2.0,
            )
            parent, at = f"{side}_{name}", (0.0, 0.0, -0.3 if name == "hip" else 0.0)
    with pytest.raises(eq.BodyError, match=r"cannot stand still.*has to step.*corners"):
        eq.Standing(builder.build())


# --- standing ---------------------------------------------------------------------------------------------------------


def test_the_standing_posture_is_an_equilibrium(human):
    """At rest in the standing posture no acceleration is asked for, and the ground carries the weight."""
    solution = human(0.0, human.q0, np.zeros(human.robot.nv))
    assert solution.status.ok
    assert np.abs(solution.acceleration).max() < 0.5
    weight = human.robot.mass * 9.80665
    assert_allclose(sum(np.asarray(f)[2] for f in solution.forces.values()), weight, rtol=0.02)


def test_a_motion_that_falls_short_is_logged(quadruped):
    """A squat deeper than the legs allow says so, where before it said optimal."""
    quadruped.squat(5.0, at=0.0, seconds=0.2)
    v = np.zeros(quadruped.robot.nv)
    quadruped(0.0, quadruped.q0, v)
    quadruped._clock.reset(0.3 + SETTLED)
    quadruped(0.3 + SETTLED, quadruped.q0, v)
    assert any("short of its goal" in text for _, text in quadruped.log)


def test_not_a_number_does_not_raise(quadruped):
    quadruped.squat(0.02, at=0.0, seconds=0.1)
    quadruped(0.0, quadruped.q0, np.zeros(quadruped.robot.nv))
    solution = quadruped(2.0, np.full(quadruped.robot.nq, np.nan), np.zeros(quadruped.robot.nv))
    assert not solution.status.ok and np.isfinite(solution.torque).all()


def test_three_lines_from_a_description_to_a_standing_simulation():
    controller = eq.Standing(eq.load("quadruped"))
    run = eq.simulate(controller.robot, controller, q0=controller.q0, duration=1.0)
    assert run.outcome == "completed"
    assert_allclose(controller.robot.com(run.q[-1]), controller.reference(COM, 1.0), atol=2e-3)


@pytest.mark.slow
def test_the_built_in_quadruped_passes_all_trials(quadruped):
    """And they are trials: the squat is deep, and each push gives the momentum that it promises. That they pass is in
    test_cli too."""
    pushed = {"front": (-1, 0), "behind": (1, 0), "left": (0, -1), "right": (0, 1)}
    for trial in trials(quadruped):
        assert trial.good, (trial.name, trial.came, trial.wanted)
        com = quadruped.robot.com(trial.run.q)
        side = trial.name.removeprefix("pushed from ")
        if side in pushed:
            speed = np.diff(com[:, :2], axis=0) @ pushed[side] / 1e-3
            assert 0.02 < speed.max() / quadruped.body.gains.speed < 0.06  # 0.05 less what the feet take up meanwhile
        elif trial.name.startswith("squats"):
            assert com[0, 2] - com[-1, 2] > 0.06 * quadruped.body.leg_length


def test_short_arms_reach_half_their_length():
    assert reach_of(standing("human"), "left hand") == 0.3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["human", "g1", "jvrc1", "talos", "go2", "anymal_c", "solo12"])
def test_robots_pass_all_trials(name):
    for trial in trials(standing(name)):
        assert trial.good, (trial.name, trial.came, trial.wanted)


def test_a_run_starts_where_the_controller_says():
    """Nobody has to hand over `q0`; what is given comes first, and something else of that name is not taken for it."""
    controller = eq.Standing(eq.load("quadruped"))
    robot = controller.robot
    assert_allclose(eq.simulate(robot, controller, duration=0.002).q[0], controller.q0, atol=1e-12)
    other = robot.standing()
    assert np.abs(other - controller.q0).max() > 1e-3
    assert_allclose(eq.simulate(robot, controller, duration=0.002, q0=other).q[0], other, atol=1e-12)
    still = SimpleNamespace(torque=np.zeros(robot.nv))

    class Idle:
        q0 = "somewhere"

        def __call__(self, t, q, v):
            return still

    assert_allclose(eq.simulate(robot, Idle(), duration=0.002).q[0], other, atol=1e-12)


def test_constraints_that_forbid_the_standing_posture_are_named_not_the_legs():
    """The human's pelvis nearer to a foot than it may be: it is strong enough, and is not told that it is not."""
    high = [(eq.Sphere((0, 0, 0), 0.5, "pelvis"), eq.Sphere((0, 0, 0), 0.5, "left_foot"))]
    above = eq.SelfCollision(high, safe=0.1, name="height")
    with pytest.raises(eq.BodyError, match=r"moves it away.*height of pelvis and left_foot.*other constraints"):
        eq.Standing(eq.load("human"), constraints=[above])
