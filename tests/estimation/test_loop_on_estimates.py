"""Control on what sensors say: no controller here ever sees the true state."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from touch_table import heard_walk, pushed_stand, touches

import equipoise as eq
from bench import walk_trials
from bench.walk_trials import estimated_walk
from equipoise.simulate.estimated import on_estimates as on_options
from equipoise.simulate.replay import replay
from equipoise.simulate.scenarios import prepare, run_built
from equipoise.simulate.sensors import imu_frame

FEET = ("left foot", "right foot")


class Listener:
    """An estimator that keeps what it said of contacts and pushes; `touching` has the lightest touches."""

    def __init__(self, estimator):
        self.estimator, self.imu, self.contact_frames = estimator, estimator.imu, estimator.contact_frames
        self.touching, self.external = [], []

    def reset(self, q, v, t):
        self.estimator.reset(q, v, t)

    def __call__(self, t, *readings, **more):
        said = self.estimator(t, *readings, **more)
        touch = self.estimator.touch
        self.touching.append(list((self.estimator.touching if touch is None else touch.touching).values()))
        self.external.append(None if touch is None or touch.external is None else touch.external[:3])
        return said


def on_estimates(scenario, name, seed, *, watch=None, actuators=False, duration=None, **more):
    """(run, listener, what was prepared) with realistic sensors, without any at the feet."""
    built = prepare(scenario, robot=name)
    sensors = eq.Sensors.realistic()
    start = eq.Prior(1e-3, 1e-3, 1e-3, sensors.imu.gyroscope_bias, sensors.imu.accelerometer_bias)
    feet = list(built.controller.contacts)
    made = eq.Estimator(
        built.robot, imu_frame(built.robot), feet, noise=sensors.filter_noise(), prior=start, watch=watch
    )
    listener = Listener(made)
    options = dict(built.options) | more
    if actuators:
        options["actuators"] = eq.Actuators.realistic(built.robot)
    run = eq.simulate(
        built.robot,
        built.controller,
        duration=duration or built.duration,
        q0=built.start,
        seed=seed,
        estimator=listener,
        sensors=sensors,
        **options,
    )
    return run, listener


@pytest.mark.paper("X6")
def test_a_human_begins_to_squat_on_estimates():
    run, listener = on_estimates("stand_and_squat", "human", 0, duration=1.0)
    assert run.outcome == "completed"
    assert np.linalg.norm(run.estimates["q"][:, :3] - run.q[:, :3], axis=1).max() < 0.01
    assert np.array(listener.touching)[20:].all()  # no false loss


@pytest.mark.slow
@pytest.mark.paper("X6")
@pytest.mark.parametrize("name", ["human", "g1"])
@pytest.mark.parametrize("scenario", ["stand_and_squat", "step"])
@pytest.mark.parametrize("seed", range(2))
def test_scenarios_on_estimates(scenario, name, seed):
    run, _ = on_estimates(scenario, name, seed)
    assert run.outcome == "completed"
    assert np.linalg.norm(run.estimates["q"][-1, :3] - run.q[-1, :3]) < 0.02


@pytest.mark.slow
@pytest.mark.paper("X5")
@pytest.mark.parametrize("name", ["human", "g1"])
def test_touch_is_known_without_sensors_at_the_feet(name):
    """Touch down within 10 ms of where it lasts, no touch with a foot a centimetre up, no false loss of the other foot.

    A foot that bounces for some milliseconds with a few newtons has not touched: that is below what rates of joints
    show.
    """
    run, listener = on_estimates("step", name, 0)
    said, force = np.array(listener.touching), run.measured["right foot"][:, 2]
    assert said[20:, 0].all()
    height = run.robot.pose(run.q, run.contacts["right foot"].frame)[:, 2, 3]
    up = height > height[0] + 0.01
    assert up.sum() > 1000
    assert not said[up, 1].any()
    weight = run.robot.mass * 9.80665
    lasting = np.convolve(force, np.ones(20) / 20)[19:] > 0.02 * weight  # over the 20 ms from each row on
    back = np.flatnonzero(lasting & (force > 1) & (np.arange(len(force)) > np.flatnonzero(up)[-1]))[0]
    late = np.flatnonzero(said[back:, 1])[0]
    assert late <= 11  # the force is of the step after its row


@pytest.mark.slow
@pytest.mark.paper("X5")
@pytest.mark.parametrize("name", ["human", "g1"])
def test_touchdowns_of_a_walk_are_known_in_ten_milliseconds(name):
    """None is missed or late, none is felt in the air, and no foot that stands is lost; soles come down on an edge."""
    walker = eq.Walking(eq.load(name))
    run, _, said = heard_walk(walker, seed=0, metres=2.0)
    found = touches(run, said, [contact.name for contact in walker.contacts])
    assert run.outcome == "completed" and len(found.late) >= 6
    assert max(found.late) <= 10
    assert (found.in_the_air, found.lost) == (0, 0)


@pytest.mark.slow
@pytest.mark.paper("X5")
@pytest.mark.parametrize("name", ["human", "g1"])
def test_a_push_on_the_torso_is_measured(name):
    """20 N within 2 N after a tenth of a second, standing on estimates with realistic motors; one newton RMS."""
    run, external = pushed_stand(name, seed=0)
    assert run.outcome == "completed"
    assert np.abs(external[150:599, 0]).max() < 2
    after = external[700:, 0] - 20
    assert (np.abs(after) < 2).mean() > 0.99
    assert np.sqrt(np.square(after).mean()) < 1.2


@pytest.mark.paper("X6")
def test_scenarios_take_the_option():
    """The run carries readings and estimates, the drives follow the controller, and the verdict is that of any run."""
    built = prepare("push_recovery", overrides={"duration": 0.3, "disturbance.push": None})
    run = run_built(built, estimated=True)
    assert run.scenario["estimated"] and run.outcome == "completed"
    assert set(run.estimates) == {"q", "v"} and "gyroscope" in run.readings
    assert 0 < np.abs(run.estimates["q"][:, :3] - run.q[:, :3]).max() < 5e-3
    assert set(run.statuses.tolist()) == {"optimal"}  # of the controller behind the drives


@pytest.mark.paper("X6")
def test_soles_that_rock_do_not_fool_the_filter():
    """Weight moves to one foot, and the other tilts by hundredths: seen from it, the robot would roll."""
    built = prepare("step", overrides={"duration": 0.8})
    run, told = run_built(built, estimated=True), eq.Sensors.realistic().filter_noise()
    R = run.robot.pose(run.q, run.contacts["right foot"].frame)[:, :3, :3]
    assert np.linalg.norm(R[:, :, 2] - R[0, :, 2], axis=1).max() > 0.01
    errors = []
    for noise in (told, replace(told, rocking=0.0)):
        options = on_options(built.robot, list(built.controller.contacts))["estimator"]
        estimator = eq.Estimator(built.robot, options.imu, built.controller.contacts, noise=noise, prior=options.prior)
        errors.append(replay(run, estimator).velocity_error[200:].max())
    assert errors[0] < 0.012  # m/s, 1 ms of delay included
    assert errors[1] > 1.5 * errors[0]


def test_what_cannot_run_on_estimates_says_so():
    with pytest.raises(eq.ModelError, match="base is fixed"):
        run_built(prepare("bird"), estimated=True)


@pytest.mark.slow
@pytest.mark.paper("X6")
@pytest.mark.parametrize("scenario", ["table_reach", "push_recovery", "step", "walk"])
def test_scenarios_with_realistic_motors_too(scenario):
    assert run_built(prepare(scenario), seed=1, estimated=True).outcome == "completed"


@pytest.mark.paper("X6")
def test_a_robot_begins_to_walk_on_estimates():
    """Feet that come and go, known by the torques of the joints alone; drives with friction that the model does not
    know."""
    walker = eq.Walking(eq.load("human"))
    run, complaints = estimated_walk(walker, seed=0, metres=0.4)
    assert not complaints and run.q[-1, 0] - run.q[0, 0] > 0.3
    speed = 0.15 * np.sqrt(9.81 * walker.body.height)  # m/s, what the trial is to command
    late = run.t > 2.0
    assert run.v[late, 0].mean() == pytest.approx(speed, rel=0.15)
    assert np.linalg.norm(run.estimates["q"][-1, :3] - run.q[-1, :3]) < 0.03  # m, most of it height


@pytest.mark.paper("X6")
@pytest.mark.parametrize("share", [1.0, 1 / 9, 1.4])
def test_a_walk_on_estimates_must_have_the_speed_that_it_is_to_have(share, monkeypatch):
    """A walk at a ninth of its speed, or 40 % too fast, comes as far and knows where it is, and is no success."""
    walker = SimpleNamespace(
        body=SimpleNamespace(gains=SimpleNamespace(speed=3.0), front=np.array([1.0, 0.0, 0.0])), robot=None, q0=None,
        contacts=(), forget_commands=lambda: None, command=lambda *args, **options: None,
    )  # fmt: skip
    t = np.arange(0.0, 6.0, 1e-3)
    q, v = np.zeros((len(t), 7)), np.zeros((len(t), 6))
    q[:, 0], q[:, 3], v[:, 0] = share * 0.45 * t, 1.0, share * 0.45  # 0.45 m/s is 0.15 of 3
    run = SimpleNamespace(t=t, q=q, v=v, phases=(), outcome="completed")
    for name in ("driven", "varied_plant"):
        monkeypatch.setattr(walk_trials, name, lambda *args: None)
    monkeypatch.setattr(walk_trials, "on_estimates", lambda *args, **options: {})
    monkeypatch.setattr(walk_trials, "simulate", lambda *args, **options: run)
    _, complaints = estimated_walk(walker, seed=0)
    assert (not complaints) is (share == 1.0) and all("(wanted 0.45 m/s" in said for said in complaints)
    run.outcome = "fell"
    assert estimated_walk(walker, seed=0)[1] == ("fell",)


@pytest.mark.slow
@pytest.mark.paper("X6")
@pytest.mark.parametrize("name", ["human", "g1", "jvrc1"])
def test_a_walk_of_five_metres_on_estimates_ends_where_it_is_believed_to(name):
    run, complaints = estimated_walk(eq.Walking(eq.load(name)), seed=3)
    way = np.linalg.norm(run.q[-1, :2] - run.q[0, :2])
    off = np.linalg.norm(run.estimates["q"][-1, :3] - run.q[-1, :3])
    assert not complaints and way > 4.5 and off < 0.03 * way
