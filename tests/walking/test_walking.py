"""Robots walk: a short one in MuJoCo, a catch, and what the controller says of itself."""

from __future__ import annotations

import functools
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from snapshots import require_same_after_restore

import equipoise as eq
from bench.walk_trials import walk_course
from equipoise.machine.kernel import Kernel
from equipoise.simulate.walk_trials import DELAY, NOISE, mean_velocity, varied_plant
from equipoise.walking.footing import LIFT
from equipoise.walking.footsteps import Footstep
from equipoise.walking.gait import Command, Gait, Place
from equipoise.walking.machine import CLOSING, LAST, PACE, PELVIS, USED, Machine, Seen
from equipoise.walking.pendulum import within
from equipoise.walking.preview import CATCH_UP, FIRM, PREVIEW
from equipoise.walking.reach import Reach
from equipoise.walking.resistance import Resistance, ResistedTorques
from equipoise.walking.state import STEP
from equipoise.walking.step_plan import NEAREST, SIGMA, StepPlan
from equipoise.walking.swing import Swing
from equipoise.walking.whole_body import BRAKES, LIMIT, MIDDLE, QUICK, SLOWEST


@functools.cache
def made(name: str) -> eq.Walking:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eq.Walking(eq.load(name))


@pytest.fixture
def human():
    walker = made("human")
    walker.forget_commands().reset()
    return walker


def walked(walker, duration, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plant = varied_plant(walker, options.get("seed", 0))
        return eq.simulate(walker.robot, walker, plant, duration, q0=walker.q0, noise=NOISE, delay=DELAY, **options)


def test_a_human_walks_as_it_is_told(human):
    """0.4 m/s with noise, delay, wrong masses and drawn friction; every step of control is solved within all
    constraints."""
    human.command(0.4, at=0.1)
    before = dict(human.whole_body.controller.counts)
    run = walked(human, 4.0)
    assert run.outcome == "completed"
    ahead, left, turn = mean_velocity(run, 2.0, 4.0)
    assert abs(ahead - 0.4) < 0.15 * 0.4
    assert abs(left) < 0.05 and abs(turn) < 0.1
    counts = human.whole_body.controller.counts
    assert counts["errors"] == before["errors"] and counts["failed"] == before["failed"]
    assert human.machine.state.steps >= 5


def test_a_human_that_is_pushed_catches_itself_by_a_step(human):
    """A push that carries the capture point beyond the soles; without a step no sole can hold it."""
    torso = human.body.frames["torso"]
    speed = 0.6  # m/s, of the whole body: ξ moves by 0.19 m, soles end 0.13 m ahead of the middle
    push = eq.Push(torso, (speed * human.robot.mass / 0.1, 0.0, 0.0), 0.3, 0.1)
    run = walked(human, 3.0, pushes=[push])
    assert run.outcome == "completed"
    assert any("a step with" in text for _, text in human.log)
    assert any(text == "stands" for _, text in human.log)  # it came to rest; then it brings its feet together
    assert np.abs(run.v[-1, :3]).max() < 0.4
    assert human.robot.com(run.q[-1])[0] > human.robot.com(run.q[0])[0] + 0.05  # it went where it was pushed to


def test_the_first_steps_of_control_find_all_kernels_compiled(monkeypatch):
    """A kernel that is compiled in the loop takes seconds."""
    walker, wanted, code = eq.Walking(eq.load("human")), [], Kernel.code
    monkeypatch.setattr(Kernel, "code", lambda self, *a, **k: wanted.append(self.program.name) or code(self, *a, **k))
    walker.command(0.4)
    for k in range(3):
        walker(1e-3 * k, walker.q0, np.zeros(walker.robot.nv))
    assert wanted == []


def test_a_human_that_is_told_nothing_stands_still(human):
    run = walked(human, 1.0)
    assert run.outcome == "completed" and human.log == [] and human.machine.state.steps == 0
    assert np.abs(run.q[-1, :2] - run.q[0, :2]).max() < 0.02


def test_a_snapshot_goes_on_as_the_walk_did(human):
    human.command(0.3)
    require_same_after_restore(human, steps=700, at=500, again=60)


def test_a_state_that_is_none_is_answered_by_the_fallback(human):
    human(0.0, human.q0, np.zeros(human.robot.nv))
    bad = np.full(human.robot.nv, np.nan)
    solution = human(0.001, human.q0, bad)
    assert solution.status.fallback and np.isfinite(solution.torque).all()


@pytest.mark.parametrize("command", [(np.nan, 0, 0), (0, np.inf, 0)])
def test_a_command_that_is_none_is_refused(human, command):
    with pytest.raises(eq.ShapeError, match="finite"):
        human.command(*command)


def test_a_robot_without_feet_is_refused():
    with pytest.raises(eq.BodyError, match="cannot walk: that takes two flat feet, or four or six"):
        eq.Walking(eq.load("arm7"))


def test_a_base_on_joints_instead_of_a_free_one_is_told(tmp_path):
    """As some files for MuJoCo have it: three slides and three hinges on one body, between which there is no link."""
    axes = ("1 0 0", "0 1 0", "0 0 1")
    joints = [f'<joint name="{kind} {k}" type="{kind}" axis="{axis}"/>' for kind in ("slide", "hinge")
              for k, axis in enumerate(axes)]  # fmt: skip
    leg = """<body name="{0}" pos="0 {1} -0.1"><joint name="{0} hip" axis="0 1 0"/>
             <geom size="0.04" fromto="0 0 0 0 0 -0.4" type="capsule"/></body>"""
    legs = leg.format("left", 0.1) + leg.format("right", -0.1)
    trunk = f'<body name="trunk" pos="0 0 1">{"".join(joints)}<geom type="box" size="0.1 0.2 0.1"/>{legs}</body>'
    path = tmp_path / "held.xml"
    path.write_text(f'<mujoco model="held"><worldbody>{trunk}</worldbody></mujoco>')
    robot = eq.load(path)
    assert eq.Body.of(robot).parts["pelvis"].link == "trunk"
    with pytest.raises(eq.BodyError, match="its base is not free: .*<freejoint/> in its file instead of joints"):
        eq.Walking(robot)


def test_resistance_is_made_up_within_what_motors_give():
    damping, dry, most = np.array([0.0, 2.0, 2.0]), np.array([0.0, 0.1, 0.1]), np.array([np.inf, 50.0, 5.0])
    made_up = Resistance(damping, dry, most).made_up(np.array([1.0, 1.0, 4.0]), np.array([3.0, -1.0, 4.0]))
    assert_allclose(made_up, [1.0, 1.0 - 2.0 - 0.1, 5.0], atol=1e-9)


def test_motors_have_less_left_where_joints_resist():
    """|τ + d v| ≤ τ_max − f: driven motors are cut by what damping takes, those that brake have its help."""
    robot = eq.load("arm7", floating=False)
    n = robot.nv
    limits = ResistedTorques(np.full(n, 30.0), np.full(n, 5.0), np.full(n, 1.0))
    controller = eq.WholeBodyController(robot, [eq.PostureTask(target=robot.neutral() + 2.0, gain=100.0)], [], [limits])
    for speed in (4.0, -4.0):  # rad/s, towards the target and away from it: far more torque is wanted than there is
        torque = controller(0.0, robot.neutral(), np.full(n, speed)).torque
        assert np.isfinite(torque).all()
        assert_allclose(np.abs(torque + 5.0 * speed).max(), 29.0, atol=1e-6)
        assert (torque <= 29.0 - 5.0 * speed + 1e-6).all() and (torque >= -29.0 - 5.0 * speed - 1e-6).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["human", "g1", "jvrc1", "talos"])
def test_robots_follow_changing_commands(name):
    trial = walk_course(made(name), 0)
    assert trial.run.outcome == "completed"
    assert trial.good, [(leg.asked, leg.came) for leg in trial.legs]


# --- decisions of the machine, on a body that only remembers what it is told ------------------------------------------

SOLE = np.array([[0.08, 0.03], [-0.08, 0.03], [-0.08, -0.03], [0.08, -0.03]])
SQUARE = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])


class Told:
    """Remembers the last heading, swing and height, and how trunk and arms are held."""

    steppers = feet = "left foot", "right foot"
    rolls = 0.3, 0.3
    weight = 300.0

    def brace(self, pushed):
        self.braced = pushed

    def stiffen(self, times, pelvis=1.0, com=1.0):
        self.stiff = times, pelvis, com

    def set_heading(self, yaw, rate):
        self.heading = yaw, rate

    def set_swing(self, foot, state, slope):
        self.swing = foot, state

    def set_com(self, height, acceleration):
        self.height = height

    def land(self, foot):
        self.landed = foot

    def share(self, foot, part):
        self.shared = foot, part


@pytest.fixture
def machine():
    reach = Reach(SQUARE, np.array([0.4, 0.4, 0.5, -0.1]), 0.4, 0.4, 0.1, 0.5)
    return Machine(
        Gait(3.5, 0.8, 0.2, 0.5, 0.25, 0.9, 0.06, 0.02, 0.05, 0.1, np.full(2, 40.0), reach), Told(), [SOLE, SOLE]
    )


def standing(yaws=(0.0, 0.0), t=0.0, com=(0.0, 0.0)):
    """Feet at their places, turned by `yaws`."""
    poses = []
    for y, yaw in zip((0.1, -0.1), yaws, strict=True):
        X = np.eye(4)
        X[:2, :2] = [[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]]
        X[1, 3] = y
        poses.append(X)
    return Seen(t, np.array([*com, 0.8]), np.zeros(3), np.array(com), (poses[0], poses[1]), {})


def test_slip_of_soles_is_undone(human):
    """With 100 1/s² of how far a sole is from where it stood."""
    q, v = human.q0.copy(), np.zeros(human.robot.nv)
    human(0.0, q, v)
    q[0] += 2e-3
    acceleration = human(1e-3, q, v).acceleration
    for foot in human.body.feet:
        assert_allclose(human.robot.jacobian(q, human.body.frames[foot])[0] @ acceleration, -0.2, atol=1e-3)


@pytest.mark.parametrize("stance", [0, 1])
def test_the_torso_looks_between_the_stance_foot_and_the_reference_of_the_other(machine, stance):
    swing = Swing(np.array([0.0, 0.1, 0.0, 0.4]), 0.0, 0.4, 0.05, 0.1)
    swing.state[1, 3] = 1.0
    machine.state.stance, machine.state.swing = stance, swing
    yaws = [0.0, 0.0]
    yaws[stance] = 0.2
    machine._face(standing(yaws))
    assert_allclose(machine.whole_body.heading, [0.3, 0.5], atol=1e-12)


@pytest.mark.parametrize(
    "start, goal, end", [(3.1, -3.1, 2 * np.pi - 3.1), (-3.1, 3.1, 3.1 - 2 * np.pi), (-3.1, 3.3, 3.3 - 2 * np.pi)]
)
def test_a_foot_turns_the_short_way(machine, start, goal, end):
    s = machine.state
    s.stance, s.goal_yaw, s.end = 1, goal, 0.4
    s.swing = Swing(np.array([0.0, 0.1, 0.0, start]), 0.0, 0.4, 0.05, 0.1)
    s.plan = StepPlan(np.array([0.1, 0.2]), 0.4, np.zeros(2), np.zeros(2), 0.0)
    seen = standing(t=0.01)
    machine._follow(seen, seen.place(1))
    assert_allclose(s.swing.goal, [0.1, 0.1, 0.0, end], atol=1e-12)


def test_a_walk_that_is_slow_is_asked_for_more(machine):
    """In the axes of the walk: it heads along y and goes 0.3 m/s where 0.4 are asked for."""
    command, s = Command(0.4, 0.0, 0.0), machine.state
    s.heading = np.pi / 2
    for k in range(4):
        machine.preview.measure(s, standing(t=0.5 * k, com=(0.0, 0.15 * k)), command)
    assert_allclose(s.lag, [CATCH_UP * 0.1, 0.0], atol=1e-12)
    machine.preview.measure(s, standing(t=2.0, com=(0.0, 0.6)), Command())
    assert_allclose(s.lag, 0.0, atol=0)


def test_a_lag_that_shrinks_by_itself_is_let_be(machine):
    """Speeds of 0.2, 0.3, 0.35 m/s of 0.4 asked for, then 0.35 again; aside it drifts by a constant 0.02 m/s."""
    command, s, place, lags = Command(0.4, 0.0, 0.0), machine.state, np.zeros(2), []
    for k, v in enumerate((0.2, 0.2, 0.3, 0.3, 0.35, 0.35, 0.35, 0.35)):
        machine.preview.measure(s, standing(t=0.5 * k, com=place), command)
        lags.append(s.lag.copy())
        place = place + 0.5 * np.array([v, 0.02])
    assert_allclose([lag[0] for lag in lags[:7]], 0.0, atol=1e-12)
    assert_allclose(lags[7], [CATCH_UP * 0.05, -CATCH_UP * 0.02 * 5], atol=1e-12)


def test_the_lag_of_a_walk_that_turns_is_seen_from_where_it_headed(machine):
    """Half way through each stride."""
    command, s, place, seconds = Command(0.4, 0.0, 0.2), machine.state, np.zeros(2), 0.5
    for k in range(4):
        s.heading = 0.3 + 0.2 * seconds * k
        machine.preview.measure(s, standing(t=seconds * k, com=place), command)
        place = place + seconds * Place(0.0, 0.0, s.heading + 0.2 * seconds / 2).R @ (0.3, 0.02)
    assert_allclose(s.lag, CATCH_UP * np.array([0.1, -0.02]), atol=2e-4)  # strides are chords


@pytest.mark.parametrize("pushed, low", [(-np.inf, 0.06), (8.9, 0.0)])
def test_the_body_follows_a_foot_that_misses_the_ground(machine, pushed, low):
    """Twice as far as the foot has sunk, and within half a second; not while the robot catches itself."""
    s = machine.state
    s.mode, s.stance, s.pushed = STEP, 1, pushed
    s.swing = Swing(np.array([0.0, 0.1, 0.0, 0.0]), 8.0, 8.4, 0.05, 0.1)
    s.swing.late, s.swing.state[0, 2] = True, -0.03
    for _ in range(500):
        machine._rise(standing(t=9.0), 1e-3)
    assert_allclose(machine.whole_body.height, machine.gait.height - low, atol=1e-6)


@pytest.mark.parametrize(
    "late, above, touched", [(True, 2e-3, False), (True, 4e-3, True), (True, -1e-3, False), (False, 4e-3, False)]
)
def test_a_late_foot_that_does_not_go_down_with_its_reference_stands_on_something(machine, late, above, touched):
    """Where forces are not measured: by more than it lags behind its reference. The ground was expected 5 cm lower."""
    s = machine.state
    s.mode, s.stance = STEP, 1
    s.swing = Swing(np.array([0.0, 0.1, 0.0, 0.0]), 8.0, 8.4, 0.05, 0.1)
    s.swing.goal[2], s.swing.late, s.swing.state[0, 2] = -0.05, late, -above
    assert machine.touched(standing(t=8.5)) is touched


@pytest.mark.parametrize("braced, used", [(False, USED), (True, 1.0)])
def test_the_whole_sole_is_used_after_a_push_and_a_part_of_it_else(machine, braced, used):
    """ξ is half a foot ahead of the toes: pressure goes as far as it may."""
    s = machine.state
    s.mode, s.stance, s.braced, s.period = STEP, 1, braced, 0.5
    seen = replace(standing(t=0.2), xi=np.array([0.2, 0.0]))
    assert_allclose(machine._planned(seen, Command()).pressure[0], used * SOLE[0, 0], atol=1e-6)
    assert 0 < USED < 1


@pytest.mark.parametrize("braced, quick", [(False, Machine.unhurried), (True, 1.0)])
def test_feet_are_thrown_after_a_push_only(machine, braced, quick):
    s = machine.state
    s.mode, s.stance, s.braced = STEP, 1, braced
    seen = standing(t=0.2)
    assert machine._flight(seen, seen.place(1), 0.3).quick == quick
    s.end = 0.5
    s.swing = Swing(np.array([0.0, 0.1, 0.0, 0.0]), 0.1, 0.5, 0.05, 0.1)
    assert machine._flight(seen, seen.place(1), 0.3).quick == quick
    assert 0 < Machine.unhurried < 1


def landing(machine, left: float, **state) -> Seen:
    """The right foot stands; the left one was told to land beside it and has `left` s to go."""
    s = machine.state
    s.mode, s.stance, s.since, s.period, s.end = STEP, 1, 0.0, 0.5, 0.5
    for name, value in state.items():
        setattr(s, name, value)
    s.swing = Swing(np.array([0.0, 0.06, 0.0, 0.0]), 0.1, 0.5, 0.05, 0.1)
    s.swing.state[1, :2] = 0.0, 0.5
    s.plan = StepPlan(np.array([0.0, 0.2]), left, np.zeros(2), np.zeros(2), 0.0)
    s.swing.goal = np.array([0.0, 0.1, 0.0, 0.0])
    return replace(standing(t=0.5 - left), xi=np.array([0.0, 0.07]))


@pytest.mark.parametrize(
    ("left", "state", "held"),
    [(0.03, {}, True), (0.03, {"braced": True}, False), (CLOSING / 3.5 + 2e-3, {}, False)],
)
def test_a_foot_about_to_land_is_not_sent_elsewhere(machine, left, state, held):
    """It lands where it was sent and no later; after a push, or sooner, a plan may send it on."""
    seen, s = landing(machine, left, **state), machine.state
    plan = machine._planned(seen, Command())
    solver, at = machine.planners[0].solver, machine.planners[0]
    near = solver.data["upper"][at._near] + solver.data["A"][at._near, SIGMA] * -np.exp(3.5 * left)
    latest = np.log(solver.data["upper"][at._sigma]) / 3.5
    assert (plan.excess <= 1e-9) and np.isfinite(plan.place).all()
    if held:
        assert_allclose(near, [NEAREST, 0.2 + NEAREST, NEAREST, NEAREST - 0.2], atol=1e-5)
        assert_allclose(latest, left + s.transfer / 2, atol=1e-9)
    else:
        assert latest > left + 0.1 and near[0] > 2 * NEAREST
    s.plan = replace(plan, place=np.array([0.0, 0.35]))
    machine._follow(seen, seen.place(1))
    assert_allclose(s.swing.goal[:2], [0.0, 0.1 if held else 0.25], atol=1e-12)


def test_a_foot_about_to_land_lands_when_the_plan_says(machine):
    """A little sooner or later than it was sent: it is not late for that."""
    seen, s = landing(machine, 0.04), machine.state
    s.swing.now, s.end = seen.t - 1e-3, 0.498
    machine._follow(seen, seen.place(1))
    assert s.swing.end == s.end and not s.swing.late


@pytest.mark.parametrize(("left", "over"), [(-0.02, False), (0.03, True)])
def test_a_foot_about_to_land_has_the_time_that_it_needs(machine, left, over):
    """When its time is over, and when it goes over something that it met: no plan is for the past."""
    seen, s = landing(machine, left), machine.state
    s.swing.until = seen.t - 0.01 if over else s.swing.until
    plan = machine._planned(seen, Command())
    assert plan.seconds >= (LIFT / 3.5 - 0.01 if over else LAST) - 1e-6
    assert (np.abs(plan.pressure) <= SOLE.max(axis=0) + 1e-6).all()


def test_pressure_goes_where_a_sole_across_an_edge_carries(machine):
    s, seen = machine.state, replace(standing(t=0.2), xi=np.array([0.0, -0.05]))
    s.mode, s.stance, s.period, s.felt = STEP, 1, 0.5, np.array([0.05, 0.02])
    s.swing = Swing(np.array([0.0, 0.1, 0.0, 0.0]), 0.1, 0.5, 0.05, 0.1)
    machine._stepping(seen, Command())
    off = s.pressure - seen.place(1).xy - s.felt
    assert (np.abs(off) <= MIDDLE * SOLE.max(axis=0) + 1e-9).all()
    assert_allclose(s.swing.goal[:2], seen.place(1).xy + s.plan.place, atol=1e-12)


@pytest.mark.parametrize("stance, yaw", [(1, 0.0), (0, 0.0), (1, 0.7)])
@pytest.mark.parametrize("felt", [(0.0, 0.02), (-0.05, -0.021)])
def test_a_plan_counts_on_pressure_where_a_sole_across_an_edge_carries(machine, stance, yaw, felt):
    """Pressure stays there, ξ leaves it as the pendulum says, and the next foot is within reach of this one."""
    s, side = machine.state, 1.0 if stance == 1 else -1.0
    s.mode, s.stance, s.period, s.heading, s.felt = STEP, stance, 0.5, yaw, np.array(felt)
    seen = standing((yaw, yaw), t=0.2)
    foot, xi = seen.place(stance), np.array([0.0, 0.05 * side])
    plan = machine._planned(replace(seen, xi=foot.xy + foot.R @ xi), Command())
    assert (np.abs(plan.pressure - felt) <= MIDDLE * SOLE.max(axis=0) + 1e-9).all()
    sigma = np.exp(3.5 * plan.seconds)
    assert_allclose(plan.place + plan.offset, plan.pressure + (xi - plan.pressure) * sigma, atol=1e-6)
    assert 0.1 - 1e-6 <= side * plan.place[1] <= 0.5 + 1e-6
    machine._begin(seen, stance)
    assert s.felt is None


@pytest.mark.parametrize("doubt", [{"felt": np.array([0.0, 0.02])}, {"rolling": True}])
def test_a_sole_that_was_doubted_is_trusted_when_its_step_ends(machine, doubt):
    """Else it would carry on that part of it for as long as the robot stands."""
    trusted = []
    machine.whole_body.trust = trusted.append
    s = machine.state
    s.mode, s.stance, s.period = STEP, 1, 0.5
    machine._touch_down(standing(t=0.5), Command(0.4, 0.0, 0.0))
    assert trusted == []
    s.mode, s.stance = STEP, 1
    for name, value in doubt.items():
        setattr(s, name, value)
    machine._touch_down(standing(t=1.0), Command(0.4, 0.0, 0.0))
    assert trusted == [1] and s.felt is None and not s.rolling


@pytest.mark.parametrize(("left", "steps"), [(0.1, PREVIEW), (0.3, 1)])
def test_a_walk_that_is_told_to_stop_late_in_a_step_stops_with_the_next(machine, left, steps):
    """A foot that has half its way behind it would be thrown to where the robot could rest."""
    s = machine.state
    s.mode, s.stance, s.period, s.end, s.command = STEP, 1, 0.5, 1.0, Command(1e-5)
    s.swing = Swing(np.array([0.0, 0.1, 0.0, 0.0]), 0.5, 1.0, 0.05, 0.1)
    s.plan = StepPlan(np.array([0.0, 0.2]), left, np.zeros(2), np.zeros(2), 0.0)
    machine.decide(standing(t=1.0 - left), Command(), 1e-3)
    assert s.command.still and s.goes_on is (steps > 1)
    assert len(machine.preview.places(s, standing(), s.command, 0.0)) == 1 + steps
    machine._begin(standing(t=1.0), 0)
    assert len(machine.preview.places(s, standing(), s.command, 0.0)) == 2


def test_a_foot_that_is_late_is_sent_on(machine):
    seen = landing(machine, 0.03)
    assert machine._lands(seen.t)
    machine.state.swing.late = True
    assert not machine._lands(seen.t)
    machine.state.swing = None
    assert not machine._lands(seen.t)


def test_long_steps_are_walked_as_much_lower_as_a_straight_leg_is_on_average(machine):
    """Over a step of 0.5 s at 0.5 m/s, the hip from half of it behind the foot to half of it ahead."""
    gait = machine.gait
    x = np.linspace(-0.125, 0.125, 20001)
    mean = np.mean(x**2 / (2 * gait.height))
    assert_allclose(gait.drop(Command(0.3, 0.4, 0.7)), mean, rtol=1e-3)
    machine.state.command = Command(0.3, 0.4, 0.7)
    machine._rise(standing(), 1e-3)
    assert_allclose(machine.whole_body.height, gait.height - mean, rtol=1e-6)


@pytest.mark.parametrize("period", [0.5, 0.35])
def test_steps_are_as_long_as_the_time_that_they_take(machine, period):
    """Steps have taken 1.1 of their time so far: at once, when the command asks for quicker ones, they are shorter."""
    s = machine.state
    s.mode, s.stance, s.pace, s.period = STEP, 1, 1.1, period
    places = machine.preview.places(s, standing(), Command(0.4, 0.0, 0.0), 0.0)
    assert_allclose(np.diff([place.x for place in places]), 0.4 * 1.1 * period, rtol=1e-12)


@pytest.mark.parametrize("period, took", [(0.5, 0.55), (0.35, 0.28)])
def test_the_pace_becomes_what_steps_take_of_their_time(machine, period, took):
    """By a part of what is missing in each step; forty of them leave 0.7⁴⁰ < 1e-6 of it."""
    s = machine.state
    s.mode, s.period = STEP, period
    for k in range(1, 41):
        machine._touch_down(standing(t=k * took), Command(0.4, 0.0, 0.0))
        if k == 1:
            assert_allclose(s.pace, 1.0 + PACE * (took / period - 1.0), rtol=1e-12)
    assert_allclose(s.pace, took / period, rtol=1e-6)


def test_the_trunk_is_held_while_it_walks_and_the_pelvis_after_a_push(machine):
    s, body = machine.state, machine.whole_body
    machine._watch(standing(), 1e-3)
    assert not hasattr(body, "stiff")  # as it stands, as usual
    s.mode = STEP
    machine._watch(standing(t=0.001), 1e-3)
    assert body.stiff == (machine.firm, 1.0, 1.0) and not body.braced and machine.firm > 1
    s.pushed = 0.001
    machine._watch(standing(t=0.002), 1e-3)
    assert body.stiff == (machine.caught, PELVIS, machine.caught) and body.braced and min(PELVIS, machine.caught) > 1
    machine._watch(standing(t=9.0), 1e-3)
    assert body.stiff == (machine.firm, 1.0, 1.0) and not body.braced


@pytest.mark.parametrize("pushed", [-np.inf, 0.0])
def test_after_a_hop_or_a_climb_the_trunk_is_let_go(machine, pushed):
    """A stand that begins anew knows what the body was told, and takes it back in its first call."""
    body = machine.whole_body
    machine.state.mode, machine.state.pushed = STEP, pushed
    machine._watch(standing(), 1e-3)
    assert body.stiff != (1.0, 1.0, 1.0) and body.braced == (pushed == 0.0)
    machine.state = machine.state.anew()
    machine._watch(standing(t=1e-3), 1e-3)
    assert body.stiff == (1.0, 1.0, 1.0) and not body.braced


def test_joints_brake_at_their_ends_by_what_their_own_motors_give(human):
    """Half of it: a light foot at once, a shank by its own knee, a trunk by no more than it must."""
    body = human.whole_body
    robot, names = human.robot, [f"{LIMIT} of {joint}" for joint in ("left_ankle_pitch", "left_knee", "lumbar_pitch")]
    rows = body.controller(0.0, human.q0, np.zeros(robot.nv)).program
    assert_allclose([rows.upper[rows.names.index(name)] for name in names], QUICK)  # far from them
    q, v = human.q0.copy(), np.zeros(robot.nv)
    for name in names:
        joint = robot.joints[name.removeprefix(f"{LIMIT} of ")]
        q[joint.q], v[joint.v] = joint.limits.upper - 0.05, 20.0  # too fast to stop
    body.lift(0)  # of feet that carry, joints have no ends
    rows = body.controller(1e-3, q, v).program
    found = [rows.upper[rows.names.index(name)] for name in names]
    inertia = np.diag(robot.mass_matrix(human.body.standing))
    knee = robot.joints["left_knee"].v
    assert_allclose(found, [-QUICK, -(BRAKES * robot.limits.effort[knee] / inertia[knee])[0], -SLOWEST], rtol=1e-9)
    held = abs(robot.gravity(q)[knee])  # by the same motor
    assert held > 0 and inertia[knee] * -found[1] + held < robot.limits.effort[knee]


def test_torso_and_pelvis_are_held_by_their_weights(human):
    weights = {}
    human.whole_body.controller.set_weight = lambda part, weight: weights.update({part: weight})
    try:
        human.whole_body.stiffen(2.0)
        usual = dict(weights)
        human.whole_body.stiffen(2.0, 3.0, 4.0)
    finally:
        del human.whole_body.controller.set_weight
    assert set(usual) == {"torso", "pelvis", "centre of mass"}
    assert_allclose(weights["centre of mass"], 4 * usual["centre of mass"], rtol=1e-12)
    assert_allclose(weights["pelvis"], 3 * usual["pelvis"], rtol=1e-12)
    assert_allclose(weights["torso"], usual["torso"], rtol=1e-12)


@pytest.mark.parametrize("stance, walked", [(0.2, 1), (0.0, 0)])
def test_a_tread_is_high_or_not_from_where_the_stance_foot_is(machine, stance, walked):
    """The foot beside it is brought up to it by a walk."""
    seen = standing()
    seen.poses[1][2, 3] = stance
    machine.state.queue = [Footstep(0, seen.place(0), 0.2)]
    assert len(machine.preview.given(machine.state, seen, 0)) == walked


@pytest.mark.parametrize(
    "end",
    [lambda machine, seen: machine._catch(seen), lambda machine, seen: machine._touch_down(seen, Command())],
    ids=["a catch", "touchdown"],
)
def test_feet_are_brought_together_just_there(machine, end):
    """The step that tidies weighs its place as much as one to a tread; no step after it does, nor one that catches."""
    s = machine.state
    s.period = 0.5
    apart = standing()
    apart.poses[0][0, 3] = 0.1
    s.hull, s.since = (SQUARE, np.ones(4)), -9.0
    assert machine._tidied(apart, np.zeros(2)) == ["brings its feet together"]
    assert machine.preview.wish(s, apart, Command(), 0.5, 0.5).firm == FIRM
    end(machine, apart)
    assert machine.preview.wish(s, apart, Command(), 0.5, 0.5).firm == 1.0


def test_pressure_is_cut_at_the_edge_and_never_goes_the_other_way():
    middle, out = np.zeros(2), np.array([2.0, 1.0])
    assert_allclose(within(SQUARE, np.ones(4), middle, out), [1.0, 0.5], atol=1e-12)
    assert_allclose(within(SQUARE, np.ones(4), middle, 0.2 * out), 0.2 * out, atol=1e-12)
    beyond = np.array([1.5, 0.0])  # a middle that is outside already
    assert_allclose(within(SQUARE, np.ones(4), beyond, np.array([2.0, 0.0])), beyond, atol=1e-12)
