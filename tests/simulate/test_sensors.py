"""What sensors say: physics first, then their errors."""

from types import SimpleNamespace

import numpy as np
import pytest
import support
from numpy.testing import assert_allclose
from things import FEET, hold, quadruped

import equipoise as eq
from equipoise.simulate.contacts import ContactInfo
from equipoise.simulate.perception import Perception
from equipoise.simulate.plant import PlantState, make_plant
from equipoise.simulate.sensors import Sensors, SensorSuite, imu_frame

SOLES = [(foot, [(x, y, 0.0) for x in (-0.12, 0.12) for y in (-0.04, 0.04)]) for foot in ("left_foot", "right_foot")]


@pytest.fixture(scope="module")
def brick():
    """One free body with an IMU off its origin, turned."""
    robot = eq.RobotBuilder("brick").link("brick", mass=2.0, inertia=(0.03, 0.04, 0.05)).build()
    X = np.array([[0, 0, 1, 0.3], [1, 0, 0, -0.2], [0, 1, 0, 0.1], [0, 0, 0, 1.0]])
    return robot.with_frame("imu", "brick", X)


def suite(robot, sensors, contacts=None, seed=0, frame="imu"):
    return SensorSuite(robot, sensors, frame, contacts or {}, np.random.default_rng(seed))


def at_rest(robot, reads, steps, dt=1e-3):
    q = robot.neutral()
    return [reads.read(k * dt, PlantState(q, np.zeros(robot.nv), k * dt), np.zeros(robot.nv)) for k in range(steps)]


def test_at_rest_it_feels_its_weight(brick):
    for said in at_rest(brick, suite(brick, Sensors()), 5):
        R = brick.pose(brick.neutral(), "imu")[:3, :3]
        assert_allclose(R @ said.accelerometer, [0, 0, 9.80665], rtol=1e-14)
        assert_allclose(said.gyroscope, 0, atol=1e-15)


def test_in_free_fall_only_the_turn_is_felt(brick, rng):
    """The IMU swings about the centre of mass of a body that spins as it falls: it feels α × r + ω × (ω × r), no
    gravity."""
    plant, dt = make_plant("ideal", brick, [], ground=None), 1e-4
    q, v = brick.random_state(rng)
    state, reads = plant.reset(q, v), suite(brick, Sensors())
    reads.read(0.0, state, np.zeros(6))
    for k in range(1, 50):
        before, state = state, plant.step(np.zeros(6), dt)
        said = reads.read(k * dt, state, np.zeros(6))
        R0, R1 = (brick.pose(s.q, "imu")[:3, :3] for s in (before, state))
        felt = (R0 + R1) / 2 @ said.accelerometer
        w, arm = (before.v[3:] + state.v[3:]) / 2, brick.pose(state.q, "imu")[:3, 3] - state.q[:3]
        alpha = (state.v[3:] - before.v[3:]) / dt
        assert_allclose(felt, np.cross(alpha, arm) + np.cross(w, np.cross(w, arm)), atol=5e-3)
        assert_allclose((R0 + R1) / 2 @ said.gyroscope, w, atol=1e-6)


@pytest.mark.paper("X6")
def test_errors_have_the_size_that_is_asked(brick):
    sensors = Sensors(
        imu=dict(gyroscope_noise=0.01, gyroscope_walk=0.2, accelerometer_noise=0.05, accelerometer_bias=0.7)
    )
    said = at_rest(brick, suite(brick, sensors, seed=4), 20000)
    turns = np.array([s.gyroscope for s in said])
    forces = np.array([s.accelerometer for s in said])
    assert_allclose(forces.std(axis=0), 0.05 / np.sqrt(1e-3), rtol=0.03)
    # differences of a walk with white noise on it: 2 n² + w² dt
    expected = np.sqrt(2 * (0.01**2 / 1e-3) + 0.2**2 * 1e-3)
    assert_allclose(np.diff(turns, axis=0).std(axis=0), expected, rtol=0.03)
    starts = [at_rest(brick, suite(brick, sensors, seed=s), 1)[0].accelerometer for s in range(400)]
    assert_allclose(np.std(starts, axis=0), np.hypot(0.7, 0.05 / np.sqrt(1e-3)), rtol=0.12)


@pytest.mark.parametrize("effort, expected", [(999.0, 9.99), (1000.0, 0.1), (np.inf, 0.1), (0.0, 0.1)])
def test_noise_of_torques_is_a_part_of_effort_limits_that_somebody_knew(arm_on_a_brick, effort, expected):
    """Placeholders are no measure of a sensor: what is left is the noise that all joints have."""
    robot = arm_on_a_brick.with_limits(["hinge"], effort=effort)
    reads = suite(robot, Sensors(torques={"noise": 0.1, "relative": 0.01}), frame="brick")
    state = PlantState(robot.neutral(), np.zeros(robot.nv), 0.0)
    felt = np.array([reads.read(k * 1e-3, state, np.zeros(robot.nv)).torques for k in range(500)])
    assert_allclose(felt.std(), expected, rtol=0.15)  # four deviations, of the deviation of 500 draws


def test_range_and_resolution(brick):
    loud = suite(brick, Sensors(imu=dict(gyroscope_noise=5.0, gyroscope_range=0.5, accelerometer_range=2.0)))
    said = at_rest(brick, loud, 200)
    assert max(np.abs(s.gyroscope).max() for s in said) == 0.5
    assert max(np.abs(s.accelerometer).max() for s in said) == 2.0
    arm = support.load("human")
    q = arm.standing()
    q[7:] += 0.1234567
    coarse = suite(arm, Sensors(encoders=dict(resolution=0.01)), frame="pelvis")
    joints = coarse.read(0.0, PlantState(q, np.zeros(arm.nv), 0.0), np.zeros(arm.nv)).joints
    assert_allclose(joints / 0.01, np.round(joints / 0.01), atol=1e-9)
    assert 1e-4 < np.abs(joints - q[7:]).max() <= 0.005 + 1e-12


def test_rate_and_delay(brick):
    """A sample each 4 ms, known 3 ms later."""
    reads = suite(brick, Sensors(imu=dict(rate=250.0, delay=0.003), encoders=dict(delay=0.002)))
    q, heard = brick.neutral(), []
    for k in range(40):
        v = np.array([0, 0, 0, 0, 0, 0.1 * k])
        heard.append(
            brick.pose(q, "imu")[:3, :3] @ reads.read(k * 1e-3, PlantState(q, v, k * 1e-3), np.zeros(6)).gyroscope
        )
    turns = np.array(heard)[:, 2]
    assert set(np.flatnonzero(np.diff(turns) > 0) % 4 + 1) == {3}
    # the mean of 0.1 k over the four milliseconds before k = 8, heard from k = 11 on
    assert_allclose(turns[11], 0.1 * np.mean([4.5, 5.5, 6.5, 7.5]), rtol=1e-12)


def test_forces_come_in_the_axes_of_the_foot(rng):
    human = support.load("human")
    contacts = {"left": ContactInfo("left_foot", np.zeros((1, 3)))}
    q, v = human.random_state(rng)
    wrench = rng.normal(size=6)
    reads = suite(human, Sensors(forces={}), contacts, frame="pelvis")
    said = reads.read(0.0, PlantState(q, v, 0.0, {"left": wrench}), np.arange(human.nv, dtype=float))
    R = human.pose(q, "left_foot")[:3, :3]
    assert_allclose(R @ said.forces["left"][:3], wrench[:3], atol=1e-12)
    assert_allclose(R @ said.forces["left"][3:], wrench[3:], atol=1e-12)
    assert_allclose(said.torques, np.arange(6, human.nv))
    assert_allclose(said.joint_rates, v[6:])


def test_the_imu_is_found():
    assert imu_frame(support.load("g1")) == "imu_in_pelvis"
    assert imu_frame(support.load("human")) == "pelvis"


def test_an_mjcf_site_is_an_imu():
    site = '<site name="imu" pos="0.1 0 0"/><site name="marker"/>'
    text = f'<mujoco><worldbody><body name="trunk"><freejoint/><geom size="0.1"/>{site}</body></worldbody></mujoco>'
    assert imu_frame(eq.load(text)) == "imu"


@pytest.mark.paper("X6")
@pytest.mark.parametrize("plant", ["mujoco", "hard", "ideal", "soft"])
def test_a_controller_sees_only_the_estimate(plant):
    """In every plant; the estimate stays by the truth, the same seed gives the same numbers, and the file keeps
    them."""
    dog = quadruped()
    q0, seen = dog.standing(), []

    def springs(t, q, v):
        seen.append(q)
        return hold(dog, q0)(t, q, v)

    sensors = Sensors.realistic(forces=True)
    estimator = eq.Estimator(dog, "trunk", FEET, noise=sensors.filter_noise())
    options = dict(plant=plant, duration=0.2, contacts=FEET, q0=q0, sensors=sensors, estimator=estimator)
    run = eq.simulate(dog, springs, seed=3, **options)
    assert run.outcome == "completed"
    assert_allclose(np.array(seen), run.estimates["q"])
    error = np.abs(run.estimates["q"][:, :3] - run.q[:, :3]).max()
    assert 0 < error < 5e-3
    assert all(estimator.touching.values())
    assert run.readings["gyroscope"].shape == (201, 3)
    assert run.readings[f"force of {FEET[0]}"].shape == (201, 6)
    assert np.abs(run.readings["torques"][5] - run.torque[3, 6:]).max() < 5  # a millisecond late, and noisy
    again = eq.simulate(dog, springs, seed=3, **options)
    assert_allclose(again.estimates["q"], run.estimates["q"], rtol=0, atol=0)
    other = eq.simulate(dog, springs, seed=4, **options)
    assert np.abs(other.readings["gyroscope"] - run.readings["gyroscope"]).max() > 0


def test_runs_keep_readings_and_estimates(tmp_path):
    human = support.load("human")
    estimator = eq.Estimator(human, "pelvis", ["left_foot", "right_foot"])
    nothing = lambda t, q, v: SimpleNamespace(torque=np.zeros(human.nv))  # noqa: E731
    run = eq.simulate(human, nothing, duration=0.01, contacts=SOLES, estimator=estimator)
    back = eq.Run.load(run.save(tmp_path / "run.npz"))
    for name in ("readings", "estimates"):
        for key, values in getattr(run, name).items():
            assert_allclose(getattr(back, name)[key], values, rtol=0, atol=0)
    assert set(back.readings) == {"gyroscope", "accelerometer", "joints", "joint_rates", "torques"}


def test_errors_teach():
    human = support.load("human")
    estimator = eq.Estimator(human, "pelvis", ["left_foot"])
    nothing = lambda t, q, v: SimpleNamespace(torque=np.zeros(human.nv))  # noqa: E731
    with pytest.raises(eq.ShapeError, match="estimator="):
        eq.simulate(human, nothing, sensors=Sensors(), contacts=SOLES)
    with pytest.raises(eq.ShapeError, match="true state"):
        eq.simulate(human, nothing, estimator=estimator, noise={"position": 1e-3}, contacts=SOLES)
    with pytest.raises(eq.ShapeError, match="realistic"):
        eq.simulate(human, nothing, estimator=estimator, sensors="good", contacts=SOLES)
    with pytest.raises(eq.ModelError, match="fixed base"):
        eq.simulate(support.load("arm7"), nothing, plant="ideal", estimator=estimator)
    with pytest.raises(eq.UnknownNameError, match="gyroscope_noise"):
        Sensors(imu={"gyro_noise": 1})
    with pytest.raises(eq.ShapeError, match="encoders"):
        Sensors(encoders=3)
    with pytest.raises(eq.StateError, match="delay"):
        Sensors(imu={"delay": -1})
    with pytest.raises(eq.StateError, match="gyroscope_noise"):
        Sensors(imu={"gyroscope_noise": np.nan})


def test_biases_of_the_accelerometer_walk(brick):
    """By w √dt in a step; without white noise its differences are the walk alone."""
    sensors = Sensors(imu=dict(accelerometer_walk=0.3, rate=1000.0))
    forces = np.array([s.accelerometer for s in at_rest(brick, suite(brick, sensors), 4000)])
    assert_allclose(np.diff(forces, axis=0).std(axis=0), 0.3 * np.sqrt(1e-3), rtol=0.06)  # five deviations of 4,000


def test_the_imu_turns_while_it_is_pushed(brick):
    """A sample is what a body feels on average over a step: here a force that turns in its axes, exactly known."""
    w, g, dt = 30.0, 9.80665, 1e-3
    reads, a = suite(brick, Sensors(), frame="brick"), np.array([2.0, -1.0, 0.5])
    for k in range(3):
        t = k * dt
        q = np.array(
            [*(0.5 * a * t * t), np.cos(w * t / 2), np.sin(w * t / 2), 0, 0]
        )  # about x, which gravity is across
        said = reads.read(t, PlantState(q, np.array([*(a * t), w, 0, 0]), t), np.zeros(6))
    s = np.linspace(t - dt, t, 2001)
    f = a + np.array([0, 0, g])
    felt = np.array([np.full_like(s, f[0]), np.cos(w * s) * f[1] + np.sin(w * s) * f[2],
                     np.cos(w * s) * f[2] - np.sin(w * s) * f[1]])  # fmt: skip
    assert_allclose(said.accelerometer, felt.mean(axis=1), atol=3e-3)  # (ω dt)² / 8 of the force; half a step is 0.15
    assert_allclose(said.gyroscope, [w, 0, 0], rtol=1e-3)


def test_a_clock_keeps_its_rate_where_steps_do_not_divide_it(arm_on_a_brick):
    """1 kHz in steps of 0.7 ms: 700 samples in 0.7 s, each with its own noise."""
    sensors = Sensors(encoders=dict(noise=1e-3, rate=1000.0))
    said = at_rest(arm_on_a_brick, suite(arm_on_a_brick, sensors, frame="brick"), 1000, dt=0.7e-3)
    assert len({float(s.joints[0]) for s in said}) == pytest.approx(700, abs=2)


def test_filters_are_told_what_rounding_does():
    """A step of the encoder's resolution is uniform noise, of its twelfth root."""
    sensors = Sensors(encoders=dict(noise=3e-4, resolution=1e-3))
    rounded = np.round(np.linspace(0, 1, 100_001) / 1e-3) * 1e-3 - np.linspace(0, 1, 100_001)
    assert_allclose(sensors.filter_noise().encoder, np.hypot(3e-4, rounded.std()), rtol=1e-3)


@pytest.fixture(scope="module")
def arm_on_a_brick():
    builder = eq.RobotBuilder("swing").link("brick", mass=2.0, inertia=(0.03, 0.04, 0.05))
    builder = builder.link("arm", mass=0.5, inertia=(0.01, 0.01, 0.01))
    return builder.joint("hinge", "revolute", "brick", "arm", axis=(0, 1, 0), lower=-2, upper=2, effort=5.0).build()


class Told:
    """An estimator that is where it is told, and keeps the forces it was given."""

    def __init__(self, robot, q):
        self.robot, self.imu, self.contact_frames, self.q = robot, "brick", {"foot": "brick", "hand": "arm"}, q

    def __call__(self, t, *readings, forces):
        self.forces = forces
        return self.q, np.zeros(self.robot.nv)


def test_measured_forces_go_to_the_contacts_of_their_frame_and_to_controllers_in_world_axes(arm_on_a_brick, rng):
    """Heel and toe of a plant are one contact of an estimator; force and torque turn with the estimated pose."""
    robot, (q, v) = arm_on_a_brick, arm_on_a_brick.random_state(rng)
    contacts = {name: ContactInfo("brick", np.zeros((1, 3))) for name in ("heel", "toe")}
    contacts["hand"] = ContactInfo("arm", np.zeros((1, 3)))
    wrenches = {name: rng.normal(size=6) for name in contacts}
    estimator = Told(robot, q)
    seen = Perception(robot, Sensors(forces={}), estimator, contacts, rng)
    seen.update(0.0, PlantState(q, v, 0.0, wrenches), np.zeros(robot.nv))
    R = {frame: robot.pose(q, frame)[:3, :3] for frame in ("brick", "arm")}
    both = wrenches["heel"] + wrenches["toe"]
    assert_allclose(estimator.forces["foot"], [*(R["brick"].T @ both[:3]), *(R["brick"].T @ both[3:])], atol=1e-12)
    assert_allclose(estimator.forces["hand"][3:], R["arm"].T @ wrenches["hand"][3:], atol=1e-12)
    for name, wrench in wrenches.items():
        assert_allclose(seen.wrenches()[name], wrench, atol=1e-12)  # the pose is the true one
