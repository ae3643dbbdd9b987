"""Sequences of stances: the plan rests at every stop, the motion holds in MuJoCo, and what goes wrong is told."""

from __future__ import annotations

from types import SimpleNamespace

import human_contacts as hc
import numpy as np
import pytest
from bodies import numbers_of
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.control.stances.anchors import Anchors
from equipoise.control.stances.construction import tracked_frames
from equipoise.control.stances.contact_forces import PATIENCE, ContactForces
from equipoise.control.stances.events import EventKind, Outcome, Reason
from equipoise.control.stances.places import is_beyond, moved
from equipoise.control.stances.references import PoseTrajectory, StanceReference, bump, minimum_jerk
from equipoise.control.stances.stance import StanceError, Step, StepKind
from equipoise.control.stances.tracking import Pace, Tracker

FAST = {"speed": (0.3, 0.4, 1.5), "load_time": 0.15}
BOTH = ["left_foot", "right_foot"]


@pytest.fixture(scope="module")
def human():
    return eq.load("human")


@pytest.fixture(scope="module")
def feet(human):
    return [hc.flat(human, name) for name in BOTH]


@pytest.fixture(scope="module")
def foot(human):
    """Where the right foot stands."""
    return human.pose(human.standing(), "right_foot")


@pytest.fixture(scope="module")
def walk(human, feet, foot):
    """Two feet, the left one alone, two feet."""
    lifted = foot[:3, 3] + [0.02, 0.0, 0.05]
    stances = [
        eq.Stance(BOTH, name="both feet"),
        eq.Stance(["left_foot"], targets={"right_foot": lifted}, name="left foot", hold=0.1),
        eq.Stance(BOTH, places={"right_foot": foot}, name="both feet again", hold=0.0),
    ]
    return eq.Stances(human, stances, feet, **FAST)


# --- references -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("curve", [minimum_jerk, bump])
@pytest.mark.parametrize("x", [0.1, 0.37, 0.5, 0.93])
def test_derivatives_of_the_curves(curve, x):
    h = 1e-5
    before, here, after = (np.array(curve(x + k * h)) for k in (-1, 0, 1))
    assert_allclose(here[1:], (after[:2] - before[:2]) / (2 * h), rtol=1e-7, atol=1e-7)


def test_curves_rest_at_their_ends():
    assert minimum_jerk(0.0) == (0.0, 0.0, 0.0) and minimum_jerk(1.0) == (1.0, 0.0, 0.0)
    assert minimum_jerk(-1.0) == (0.0, 0.0, 0.0) and minimum_jerk(2.0) == (1.0, 0.0, 0.0)
    assert_allclose([minimum_jerk(1 - 1e-6), minimum_jerk(1e-6)], [[1, 0, 0], [0, 0, 0]], atol=1e-3)
    assert_allclose(bump(0.5), [1.0, 0.0, bump(0.5)[2]], atol=1e-12)
    assert_allclose([bump(1e-6), bump(1 - 1e-6)], 0.0, atol=1e-3)


def test_a_frames_twist_is_the_rate_of_its_pose(rng):
    from equipoise.algebra.rigid import rotation_about

    X, Y = np.eye(4), np.eye(4)
    X[:3, :3], X[:3, 3] = rotation_about(np.array([0.0, 0.6, 0.8]), 0.7), (0.1, 0.4, 0.9)
    Y[:3, :3], Y[:3, 3] = rotation_about(np.array([0.6, 0.0, 0.8]), 1.1), (0.3, -0.1, 0.2)
    sinking = {"descent": np.array([0.01, 0.02, -0.05]), "since": 1.4, "until": 1.7}
    path, h = PoseTrajectory(X, Y, np.array([0.0, 0.0, 0.05]), **sinking), 1e-6
    assert_allclose(path.at(0.0, 0.0, 2.0)[0], X, atol=1e-15)
    end = path.at(2.0, 0.0, 2.0)[0]
    assert_allclose(end[:3, :3], Y[:3, :3], atol=1e-15)
    assert_allclose(end[:3, 3], Y[:3, 3] + 0.3 * sinking["descent"], atol=1e-15)
    for t in (*rng.uniform(0.1, 1.9, 5), 1.55):
        (before, v0, _), (here, v, a), (after, v1, _) = (path.at(t + k * h, 0.0, 2.0) for k in (-1, 0, 1))
        assert_allclose(v[:3], (after - before)[:3, 3] / (2 * h), atol=1e-8)
        spin = (after - before)[:3, :3] @ here[:3, :3].T / (2 * h)
        assert_allclose(v[3:], [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-8)
        assert_allclose(a, (v1 - v0) / (2 * h), atol=1e-7)


def test_references_are_the_numbers_that_tasks_read(human, rng):
    """The quick way to a task's numbers gives what the task makes of postures on the manifold, with rates by
    differences."""
    (q, _), (to, _) = human.random_state(rng), human.random_state(rng)
    com, com_to, base = rng.normal(size=3), rng.normal(size=3), human.base_link
    now, h = StanceReference(human, 0.2, 1.3, q, to, com, com_to, {}), 1e-6
    for t in (0.1, 0.4, 1.0, 1.6):
        before, here, after = (now.posture_at(t + k * h) for k in (-1, 0, 1))
        v = human.difference(before, after) / (2 * h)
        numbers = numbers_of(human, eq.PostureTask(), "reference", target=(here, v))
        given = now.posture_numbers(t).numbers
        assert_allclose(given[: -human.nv + 6], numbers[: -human.nv + 6], atol=1e-8)
        pose = numbers_of(human, eq.FrameTask(base), "reference", target=(human.pose(here, base), v[:6]))
        assert_allclose(now.pose_numbers(now.base, t).numbers[:22], pose[:22], atol=1e-8)
        assert len(now.pose_numbers(now.base, t).numbers) == len(pose) == 28
        place, rate, acceleration = now.com_numbers(t).numbers.reshape(3, 3)
        around = [now.com_at(t + k * h) for k in (-1, 1)]
        assert_allclose(rate, (around[1][0] - around[0][0]) / (2 * h), atol=1e-8)
        assert_allclose(acceleration, (around[1][1] - around[0][1]) / (2 * h), atol=1e-7)
    assert_allclose(place, com_to, atol=1e-15)
    assert_allclose(human.difference(now.posture_at(1.6), to), 0.0, atol=1e-12)


def test_a_contact_has_moved_by_its_place_or_by_its_turn(human, feet):
    """A sole moves with its frame; a frame may turn about a point and has not moved."""
    from equipoise.algebra.rigid import rotation_about

    X = human.pose(human.standing(), "left_foot")
    Y, axis = X.copy(), np.array([0.0, 0.6, 0.8])
    Y[:3, :3] = rotation_about(axis, 0.3) @ X[:3, :3]
    Y[:3, 3] += (0.03, 0.0, -0.04)
    assert_allclose(moved(feet[0], X, Y), (0.05, 0.3), atol=1e-12)
    heel = eq.PointContact("left_foot", point=(-0.05, 0.01, 0.02))
    place = X[:3, :3] @ heel.points[0] + X[:3, 3]
    Y[:3, 3] = place - Y[:3, :3] @ heel.points[0] + (0.0, 0.004, 0.003)
    assert_allclose(moved(heel, X, Y), (0.005, 0.0), atol=1e-12)


def test_frames_are_lifted_on_long_ways_only(human, walk, feet):
    """From contact to contact by 1 cm along the ground, by 10 cm in an arc; timed by the way with its lift."""
    contacts = {foot.label: foot for foot in feet}
    pace = Pace(com=9.0, frames=0.5, joints=99.0, clearance=0.05, shortest=0.01, dt=1e-3)
    track = Tracker(human, walk.controller, contacts, {name: name for name in BOTH}, pace, 10.0)
    q = walk.q0
    track.begin(0.0, q, q)
    for way, lift in ((0.01, 0.0), (0.1, 0.05)):
        to = q.copy()
        to[0] += way
        step = Step(StepKind.MOVE, to, frozenset({"left_foot"}), frozenset({"right_foot"}), 0)
        track.follow(0.0, q, step, from_here=True)
        trajectory = track.now.frames["right_foot"]
        assert_allclose(trajectory.lift, [0.0, 0.0, lift], atol=1e-12)
        assert_allclose((trajectory.Y - trajectory.X)[:3, 3], [way, 0.0, 0.0], atol=1e-12)
        assert track.time(step, q, np.zeros(3), np.zeros(3)) == pytest.approx(1.875 * (way + 2 * lift) / 0.5)
    walk.reset()


@pytest.mark.paper("B6")
def test_a_limb_follows_one_reference(human, walk, feet):
    """The sole let go and the knee above it comes: only the knee is tracked, and the other foot goes on being tracked.
    After a push the frames that are tracked stay the same."""
    frames = {**{name: name for name in BOTH}, "knee": "left_shank"}
    contacts = {foot.label: foot for foot in feet} | {"knee": eq.PointContact("left_shank", name="knee")}
    pace = Pace(com=9.0, frames=0.5, joints=99.0, clearance=0.05, shortest=0.01, dt=1e-3)
    weights: dict[str, float] = {}
    told = SimpleNamespace(set_target=lambda name, target: None, set_weight=weights.__setitem__)
    track = Tracker(human, told, contacts, frames, pace, 10.0)
    q = walk.q0
    track.begin(0.0, q, q)
    track.targets = {name: human.pose(q, name) for name in BOTH}
    step = Step(StepKind.MOVE, q, frozenset(), frozenset({"knee"}), 0)
    track.follow(0.0, q, step, from_here=True)
    assert set(track.now.frames) == {*BOTH, "knee"}
    track.follow(0.0, q, step)
    assert set(track.now.frames) == set(track.targets) == {"right_foot", "knee"}
    assert weights == {"left_foot tracked": 0.0, "right_foot tracked": 10.0, "knee tracked": 10.0}


# --- the plan ---------------------------------------------------------------------------------------------------------


@pytest.mark.paper("B6")
def test_steps_of_the_way(walk):
    move, unload, touch, load, _ = StepKind
    assert [step.kind for step in walk.plan[1].way] == [move, unload, move]
    assert [step.kind for step in walk.plan[2].way] == [move, touch, load, move]
    assert walk.plan[1].way[1].changed == walk.plan[2].way[1].changed == {"right_foot"}
    assert walk.seconds > 1.0 and walk.steps == 7


@pytest.mark.paper("B6")
def test_before_a_foot_is_released_the_other_carries_alone(human, walk, feet):
    """The centre of mass lies above the left sole, with both soles where they were."""
    q = walk.plan[1].way[0].q
    for name in BOTH:
        assert_allclose(human.pose(q, name), human.pose(walk.q0, name), atol=1e-7)
    local = np.linalg.inv(human.pose(q, "left_foot")) @ np.append(human.com(q), 1.0)
    assert (np.abs(local[:2]) <= 0.4 * np.abs(feet[0].corners).max(0) + 1e-8).all()


def test_a_contact_is_made_again_where_it_was_made_last(human, feet, foot):
    """Not in the air, where its frame was lifted to."""
    lifted = foot[:3, 3] + [0.02, 0.0, 0.05]
    stances = [eq.Stance(BOTH), eq.Stance(BOTH[:1], targets={"right_foot": lifted}), eq.Stance(BOTH)]
    plan = eq.Stances(human, stances, feet).plan
    assert_allclose(human.pose(plan[1].q, "right_foot")[:3, 3], lifted, atol=1e-6)
    assert_allclose(human.pose(plan[2].q, "right_foot"), human.pose(plan[0].q, "right_foot"), atol=1e-6)


def test_a_stance_out_of_reach_is_told_before_anything_moves(human, feet):
    far = hc.flat_at(2.5, -0.1)
    with pytest.raises(StanceError, match="giant step.*right_foot at its place"):
        eq.Stances(human, [eq.Stance(BOTH), eq.Stance(BOTH, places={"right_foot": far}, name="giant step")], feet,
                   postures={"attempts": 1})  # fmt: skip


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("times", [{"seconds": x} for x in (0, -1.0, np.nan, np.inf, "fast")] + [
    {"hold": x} for x in (-1.0, np.nan, None)
])  # fmt: skip
def test_times_of_a_stance_that_cannot_be(human, feet, times, dynamic):
    ((what, given),) = times.items()
    with pytest.raises(StanceError, match=rf"stance 'late': {what} is how long .*; got {given!r}$"):
        eq.Stances(human, [eq.Stance(BOTH, human.standing(), "late", **times)], feet, dynamic=dynamic)


def test_stances_that_cannot_be(human, feet, foot):
    with pytest.raises(eq.UnknownNameError, match="right_foot"):
        eq.Stances(human, [eq.Stance(["right_fot"])], feet)
    with pytest.raises(StanceError, match="no contact"):
        eq.Stances(human, [eq.Stance([])], feet)
    with pytest.raises(StanceError, match="one or more"):
        eq.Stances(human, [], feet)
    with pytest.raises(StanceError, match="40 numbers"):
        eq.Stances(human, [eq.Stance(BOTH, np.zeros(3))], feet)
    jump = [eq.Stance(["left_foot"], human.standing(), "left"), eq.Stance(["right_foot"], human.standing(), "right")]
    with pytest.raises(StanceError, match="no contact stays"):
        eq.Stances(human, jump, feet)


# --- the motion -------------------------------------------------------------------------------------------------------


@pytest.mark.paper("B6")
def test_double_and_single_support_in_mujoco(human, walk):
    """[BK12, Sec. VI]: there and back in physics of others, 1 ms a step: no fall, every step solved, load shifted
    smoothly."""
    run = eq.simulate(human, walk, plant="mujoco", q0=walk.q0, duration=walk.seconds + 0.3)
    assert run.outcome == "completed" and walk.outcome is Outcome.COMPLETED and walk.progress == 1.0 and walk.done
    assert set(run.status_names) == {"optimal"}
    told = " | ".join(text for _, text in run.events)
    for event in (
        "force vanished: right_foot let go",
        "'left foot' reached",
        "contact made: right_foot",
        "'both feet again' reached",
    ):
        assert event in told
    times = {text: t for t, text in run.events}
    gone, back = times["force vanished: right_foot let go"], times["contact made: right_foot"]
    alone = (run.t > gone + 0.05) & (run.t < back - 0.05)
    assert np.abs(run.measured["right_foot"][alone, 2]).max() < 1.0  # N
    heights = np.array([human.pose(q, "right_foot")[2, 3] for q in run.q[alone][::20]])
    assert 0.045 < heights.max() < 0.12
    drift = [human.pose(q, "left_foot")[:3, 3] - human.pose(walk.q0, "left_foot")[:3, 3] for q in run.q[::100]]
    assert np.abs(drift).max() < 2e-3  # m
    unloading = (run.t > gone - 0.15) & (run.t < gone)
    assert np.abs(np.diff(run.forces["right_foot"][unloading, 2])).max() < 15  # N in a millisecond: no jump
    assert_allclose(run.com[-1], human.com(walk.plan[2].q), atol=5e-3)
    assert [(event.t, event.text) for event in walk.log] == [event for event in run.events if "torque" not in event[1]]


class Deaf:
    """A machine whose sense of one contact is lost for a while."""

    def __init__(self, machine, contact, start, end):
        self.machine, self.contact, self.start, self.end, self.t = machine, contact, start, end, 0.0
        self.dt, self.contacts, self.reset = machine.dt, machine.contacts, machine.reset

    def observe(self, wrenches):
        away = {self.contact: np.zeros(6)} if self.start <= self.t < self.end else {}
        self.machine.observe({**wrenches, **away} if wrenches else wrenches)

    def __call__(self, t, q, v):
        self.t = t
        return self.machine(t, q, v)


def test_a_lost_contact_is_made_again(human, walk):
    """The right foot feels nothing for 0.1 s although it should carry half of the weight."""
    run = eq.simulate(human, Deaf(walk, "right_foot", 0.02, 0.12), q0=walk.q0, duration=0.6)
    told = [event.text for event in walk.log]
    assert told[:2] == ["contact lost: right_foot carries nothing", "right_foot looks for the ground again"]
    assert "contact made: right_foot" in told and "right_foot carry" in told
    # forces may settle first, then must be away for a while
    assert walk.log[0].t == pytest.approx(2 * PATIENCE, abs=2e-3)
    assert (
        run.outcome == "completed" and walk.outcome is Outcome.RUNNING and walk.in_force == {"left_foot", "right_foot"}
    )


def test_where_nothing_carries_the_motion_is_ended(human, walk):
    """Both feet in the air: the machine gives up, says so, and slows the joints down."""
    q = walk.q0.copy()
    q[2] += 0.5
    walk.reset()
    v, none = np.full(human.nv, 0.1), {name: np.zeros(6) for name in BOTH}
    for k in range(600):
        walk.observe(none)
        solution = walk(k * 1e-3, q, v)
        if walk.done:
            break
    ended, failed = walk.log[-2:]
    assert walk.outcome is Outcome.FAILED and (ended.kind, failed.kind) == (EventKind.ENDED, EventKind.FAILED)
    assert failed.reason is Reason.CONTACT_LOST and failed.text in [f"failed: {name} is lost" for name in BOTH]
    walk.observe(none)
    solution = walk(1.0, q, v)
    assert walk.progress < 1.0 and walk.in_force == set()
    assert (solution.torque[6:] * v[6:] < 0).all() and not solution.torque[:6].any()  # slowed down, nothing else


def test_a_step_onto_nothing_goes_back(human, feet, foot, walk):
    """The second stance stands on a step that is not there: the foot searches, time runs out, the robot returns."""
    alone = walk.plan[1].q
    place = human.pose(walk.q0, "right_foot").copy()
    place[2, 3] += 0.08
    stances = [
        eq.Stance(["left_foot"], alone, "left foot"),
        eq.Stance(BOTH, places={"right_foot": place}, name="on the step"),
    ]
    machine = eq.Stances(human, stances, feet, time_out=0.3, **FAST)
    run = eq.simulate(human, machine, q0=alone, duration=2.9)
    told = " | ".join(event.text for event in machine.log)
    assert "time-out: right_foot found nothing to touch" in told and "going back to 'left foot'" in told
    assert run.outcome == "completed" and machine.outcome is Outcome.RETURNED and machine.stance == "left foot"


def test_a_push_is_answered(human, walk):
    """Six newton-seconds at the chest while both feet stand; the machine goes on."""
    run = eq.simulate(human, walk, q0=walk.q0, duration=0.7, pushes=[eq.Push("thorax", (0.0, -60.0, 0.0), 0.02, 0.1)])
    assert run.outcome == "completed" and walk.outcome is not Outcome.FAILED


def test_slips_are_held_and_then_ended(human, walk):
    """The state jumps sideways by more than the limit, again and again."""
    walk.reset()
    q = walk.q0.copy()
    for k in range(walk.retries + 2):
        walk(k * 0.01, q, np.zeros(human.nv))
        q[0] += 1.5 * walk.slip_limit
    kinds = [event.kind for event in walk.log]
    assert kinds.count(EventKind.SLIPPED) == walk.retries + 1 and kinds[1] is EventKind.HELD_HERE
    assert walk.outcome is Outcome.RUNNING and walk.log[-1].reason is Reason.KEEPS_SLIPPING  # it is held, and may stand
    assert walk.log[-1].text == "motion ended: left_foot keeps slipping"
    for k in range(111):
        walk(0.05 + k * 0.01, q, np.zeros(human.nv))
    assert walk.outcome in (Outcome.STOPPED, Outcome.FAILED)


def test_a_state_that_is_not_finite_does_not_raise(human, walk):
    walk.reset()
    walk(0.0, walk.q0, np.zeros(human.nv))
    solution = walk(0.001, np.full(human.nq, np.nan), np.zeros(human.nv))
    assert solution.status.fallback and np.isfinite(solution.torque).all()
    long = walk.q0.copy()
    long[3:7] *= 1.001
    assert walk(0.002, long, np.zeros(human.nv)).status.fallback
    assert walk(0.003, walk.q0, np.zeros(human.nv)).status.ok and not walk.log


@pytest.mark.parametrize("v", [None, "fast", np.zeros(3), [[1.0], [2.0, 3.0]]])
def test_what_is_no_velocity_raises_nothing_after_a_fall(human, walk, v):
    """Where the motion is ended, torques damp the joints; of what is no velocity they know no rates."""
    walk.reset()
    q = walk.q0.copy()
    for k in range(walk.retries + 2):
        walk(k * 0.01, q, np.zeros(human.nv))
        q[0] += 1.5 * walk.slip_limit
    assert walk.log[-1].kind is EventKind.ENDED
    before = walk.controller.counts["errors"]
    solution = walk(0.06, q, v)
    assert solution.status.fallback and np.isfinite(solution.torque).all()
    assert walk.controller.counts["errors"] == before


@pytest.mark.parametrize("stamps", [lambda k: 1.7e18 + 1e6 * k, lambda k: 1e-3 * k + 10.0 * (k == 5)])
def test_stances_go_on_by_their_own_clock(human, walk, stamps):
    """Of nanoseconds since 1970 each call is a period, and one wrong stamp changes nothing."""
    walk.reset()
    right = [walk(1e-3 * k, walk.q0, np.zeros(human.nv)).torque for k in range(20)]
    walk.reset()
    before = walk.controller.counts["errors"]
    told = [walk(stamps(k), walk.q0, np.zeros(human.nv)) for k in range(20)]
    assert walk.controller.counts["errors"] == before
    np.testing.assert_allclose([solution.torque for solution in told], right, atol=1e-3)  # N m
    assert [event.kind for event in walk.log] == [EventKind.TIME]


@pytest.mark.slow
@pytest.mark.paper("B6")
def test_handstand_on_two_hands_on_one_and_back_in_mujoco(human):
    """[BK12, Sec. VI]: hands as feet, nothing in the model or the controller knows the difference."""
    hands = [hc.flat(human, name) for name in ("left_hand", "right_hand")]
    places = dict(zip(hands, (hc.flat_at(0, 0.13), hc.flat_at(0, -0.13)), strict=True))
    q0 = eq.find_posture(human, places, posture=hc.HANDSTAND, support=0.5).q
    names = ["left_hand", "right_hand"]
    stances = [
        eq.Stance(names, q0, "two hands"),
        eq.Stance(["left_hand"], targets={"right_hand": [0, -0.13, 0.08]}, name="one hand", hold=0.3),
        eq.Stance(names, q0, "two hands again"),
    ]
    machine = eq.Stances(
        human, stances, hands, start=q0, speed=(0.08, 0.2, 0.5), postures={"support": 0.5, "strength": 0.85}
    )
    run = eq.simulate(human, machine, q0=machine.q0, duration=machine.seconds + 0.5)
    assert run.outcome == "completed" and machine.outcome is Outcome.COMPLETED
    alone = np.array([human.pose(q, "right_hand")[2, 3] for q in run.q]) > 0.05
    assert alone.sum() > 300 and np.abs(run.measured["right_hand"][alone, 2]).max() < 1.0
    assert (np.abs(run.torque) <= human.limits.effort * (1 + 1e-6)).all()


def test_a_target_is_met_by_its_frame_though_the_model_is_wrong(human, feet):
    """The true thorax is a third heavier than the controller thinks. The hand is tracked to its target itself: the
    posture alone would leave it 7 mm away."""
    from equipoise.simulate.plant import make_plant
    from equipoise.study.robustness import with_mass

    place = human.pose(human.standing(), "right_hand")[:3, 3] + [0.25, 0.0, 0.2]
    stances = [eq.Stance(BOTH), eq.Stance(BOTH, targets={"right_hand": place}, hold=0.5)]
    reach = eq.Stances(human, stances, feet, **FAST)
    plant = make_plant("mujoco", with_mass(human, "thorax", 1.3), feet)
    run = eq.simulate(human, reach, plant, reach.seconds + 0.5, q0=reach.q0)
    off = np.linalg.norm(human.pose(run.q[-1], "right_hand")[:3, 3] - place)
    assert run.outcome == "completed" and off < 3e-3
    posture = human.difference(reach.plan[1].q, run.q[-1])
    assert np.abs(posture).max() > 0.01  # the posture did give way


def test_tracked_frames_have_names_of_their_own(human, feet):
    """Two contacts may be on one frame, and a contact may be called as another frame is."""
    heel, toe = (
        eq.PointContact("left_foot", name=name, point=(x, 0, 0)) for name, x in (("heel", -0.05), ("toe", 0.1))
    )
    odd = eq.PointContact("right_foot", name="right_hand")
    stances = [eq.Stance(["heel"]), eq.Stance(["heel"], targets={"right_hand": np.zeros(3), "left_foot": np.zeros(3)})]
    frames, aims = tracked_frames([heel, toe, odd], stances)
    assert frames == {
        "heel": "left_foot", "toe": "left_foot", "right_hand": "right_foot", "frame right_hand": "right_hand"
    }  # fmt: skip
    assert aims[0] == frozenset() and {frames[name] for name in aims[1]} == {"right_hand", "left_foot"}
    both = [eq.FlatContact("left_foot", name="sole"), eq.PointContact("left_foot", name="heel"), feet[1]]
    machine = eq.Stances(human, [eq.Stance(["sole", "right_foot"])], both, **FAST)
    assert machine(0.0, machine.q0, np.full(human.nv, 1e-3)).status.ok


def test_contacts_that_are_off_are_told_at_the_first_call(human, walk, feet):
    """Elsewhere than planned by 3 cm; and one foot a centimetre above the plane of the other."""
    still = np.zeros(human.nv)
    walk.reset()
    q = walk.q0.copy()
    q[2] += 0.03
    solution = walk(0.0, q, still)
    assert [(event.kind, event.names) for event in walk.log] == [(EventKind.ELSEWHERE, (name,)) for name in BOTH]
    assert walk.log[0].distance == pytest.approx(0.03) and walk.log[0] in solution.events
    places = dict(zip(feet, (hc.flat_at(0, 0.09), hc.flat_at(0, -0.09, 0.01)), strict=True))
    uneven = eq.Stances(human, [eq.Stance(BOTH, eq.find_posture(human, places).q)], feet, **FAST)
    uneven(0.0, uneven.q0, still)
    (told,) = uneven.log
    assert (
        told.kind is EventKind.UNEVEN
        and told.names == ("right_foot",)
        and told.distance == pytest.approx(0.01, abs=1e-6)
    )
    walk.reset()
    walk(0.0, walk.q0, still)
    assert not walk.log


@pytest.mark.parametrize(("off", "told"), [(0.004, False), (0.006, True)])
def test_contacts_may_be_off_by_less_than_the_yield_of_a_sole(walk, human, off, told):
    walk.reset()
    q = walk.q0.copy()
    q[0] += off
    walk(0.0, q, np.zeros(human.nv))
    assert [event.kind for event in walk.log] == ([EventKind.ELSEWHERE] * 2 if told else [])


@pytest.mark.parametrize(("height", "told"), [(0.004, False), (0.006, True), (0.045, True), (0.055, False)])
def test_a_contact_in_the_air_is_told_from_a_step_of_stairs(human, feet, height, told):
    places = dict(zip(feet, (hc.flat_at(0, 0.09), hc.flat_at(0, -0.09, height)), strict=True))
    uneven = eq.Stances(human, [eq.Stance(BOTH, eq.find_posture(human, places).q)], feet, **FAST)
    uneven(0.0, uneven.q0, np.zeros(human.nv))
    assert [(event.kind, event.names) for event in uneven.log] == [(EventKind.UNEVEN, ("right_foot",))] * told


@pytest.mark.parametrize("pivots", [False, True])
def test_the_quick_look_at_contacts_says_what_the_exact_one_does(human, feet, pivots, rng):
    from equipoise.algebra.rigid import rotation_about

    contact = eq.PointContact("left_foot", point=(0.1, 0.02, -0.05)) if pivots else feet[0]
    X = human.pose(human.random_state(rng)[0], "left_foot")
    for _ in range(200):
        Y, axis = X.copy(), rng.normal(size=3)
        Y[:3, :3] = rotation_about(axis / np.linalg.norm(axis), rng.uniform(0, 0.3)) @ X[:3, :3]
        Y[:3, 3] += rng.normal(size=3) * 0.02
        distance, angle = moved(contact, X, Y)
        assert is_beyond(contact, X, Y, 0.03, 0.15) == (distance > 0.03 or angle > 0.15)
    Y[:] = np.nan
    assert is_beyond(contact, X, Y, 0.03, 0.15)


class Recorder:
    """Takes down what a controller is told."""

    def __init__(self):
        self.contacts, self.bounds = [], {}

    def set_contacts(self, names, q=None):
        self.contacts.append(list(names))

    def set_force_bounds(self, contact, least, most):
        self.bounds[contact] = (least, most)


def test_contacts_are_made_without_load_and_made_anew_by_letting_go(human, feet):
    told, contacts = Recorder(), {foot.label: foot for foot in feet}
    pace = Pace(1.0, 1.0, 1.0, 0.05, 0.1, 1e-3)
    forces = ContactForces(told, contacts, 700.0)
    anchors = Anchors(Tracker(human, told, contacts, {name: name for name in BOTH}, pace, 1.0), forces)
    q = human.standing()
    anchors.start(["left_foot"], q)
    assert told.bounds == dict.fromkeys(BOTH, (0.0, np.inf)) and told.contacts == [["left_foot"]]
    anchors.put(1.0, q, BOTH)
    assert (
        told.bounds["right_foot"] == (0.0, 0.0)
        and told.bounds["left_foot"] == (0.0, np.inf)
        and set(anchors) == set(BOTH)
    )
    forces.load("right_foot", 0.25)
    assert told.bounds["right_foot"] == (0.0, 0.25 * 2 * 700.0)
    forces.load("right_foot", 1.0)
    forces.remember("right_foot", None)
    forces.unload("right_foot", 0.25)
    assert told.bounds["right_foot"] == (0.0, pytest.approx(0.75 * 0.02 * 700.0))  # it had no load: a little
    anchors.renew(q, "left_foot")
    assert told.contacts[-2:] == [["right_foot"], BOTH]
    anchors.put(2.0, q, ["right_foot"])
    assert set(anchors) == {"right_foot"} and anchors.support.polygon.area == pytest.approx(0.0245, abs=2e-3)


def test_a_stance_is_held_as_long_as_it_says(human, walk, feet):
    """From q0 to q0 in 0.1 s, then 0.4 s there: reached at 0.5 s, completed a second later."""
    stances = [eq.Stance(BOTH, walk.q0), eq.Stance(BOTH, walk.q0, seconds=0.1, hold=0.4)]
    machine = eq.Stances(human, stances, feet, dt=0.01)
    for k in range(160):
        machine(0.01 * k, walk.q0, np.zeros(human.nv))
    reached, completed = machine.log
    assert reached.kind is EventKind.REACHED and reached.t == pytest.approx(0.5, abs=0.015)
    assert completed.kind is EventKind.COMPLETED and completed.t == pytest.approx(1.5, abs=0.03)


def test_a_motion_takes_as_long_as_its_fastest_part_needs(human, feet):
    """The peak of a minimum-jerk motion, 1.875 of its mean, has the speed of the pace: an elbow bent by 0.6 rad at 0.5
    rad/s."""
    q, contacts = human.standing(), {foot.label: foot for foot in feet}
    pace = Pace(1.0, 1.0, 0.5, 0.05, 0.1, 1e-3)
    tracker = Tracker(human, Recorder(), contacts, {name: name for name in BOTH}, pace, 1.0)
    elbow = next(joint for name, joint in human.joints.items() if "elbow" in name)
    bent = q.copy()
    bent[elbow.q] += 0.6
    step = Step(next(iter(StepKind)), bent, frozenset(BOTH), frozenset(), 0)
    assert tracker.time(step, q, human.com(q), human.com(q)) == pytest.approx(1.875 * 0.6 / 0.5)


def test_a_contact_has_vanished_when_it_carries_a_thousandth_for_a_while(human, feet):
    """Of a weight of 700 N: 0.5 N where 100 N were asked for is nothing, 1 N is something; nobody asked for 20 N."""
    q, contacts = human.standing(), {foot.label: foot for foot in feet}
    X = human.pose(q, "left_foot")
    up = contacts["left_foot"].normal_at(X)

    def vanished(seen, asked):
        forces = ContactForces(Recorder(), contacts, 700.0)
        forces.measured = {"left_foot": np.append(seen * up, np.zeros(3))}
        forces.last = SimpleNamespace(forces={"left_foot": np.append(asked * up, np.zeros(3))})
        assert not forces.vanished(1.0, "left_foot", X)  # it has only just begun
        return forces.vanished(1.0 + 1.01 * PATIENCE, "left_foot", X)

    assert vanished(0.5, 100.0) and not vanished(1.0, 100.0) and not vanished(0.5, 20.0)
