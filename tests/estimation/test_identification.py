"""Inertial parameters from motion: the regressor's law, bodies that can exist, fits on held-out motion."""

import numpy as np
import pytest
import support
from motions import excited, misdescribed, weighing
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.estimation import pseudo_inertia
from equipoise.estimation.identification import base_parameters, soft_sign
from equipoise.model.types import Mimic


@pytest.mark.paper("X7")
@pytest.mark.parametrize("name", ["arm7", "human", "quadruped"])
@pytest.mark.parametrize("representation", ["mixed", "body"])
def test_torques_are_linear_in_what_the_bodies_weigh(name, representation, rng):
    robot = support.load(name)
    q, v = robot.random_state(rng)
    a = rng.normal(size=robot.nv)
    Y = support.traced(robot, "regressor", q, v, a, representation=representation)
    tau = support.traced(robot, "inverse_dynamics", q, v, a, representation=representation)
    assert_allclose(Y @ robot.inertial_parameters, tau, atol=1e-9)


@pytest.mark.paper("X7")
def test_other_masses_have_the_same_regressor(rng):
    """Inverse dynamics of a robot with other masses is Y times these: an equation that never saw the regressor."""
    robot = support.load("arm7")
    other = misdescribed(robot, rng)
    assert abs(other.mass - robot.mass) > 0.1
    q, v = robot.random_state(rng)
    a = rng.normal(size=robot.nv)
    assert_allclose(robot.regressor(q, v, a) @ other.inertial_parameters, other.inverse_dynamics(q, v, a), atol=1e-10)
    batch = robot.regressor(np.tile(q, (9, 1)), np.tile(v, (9, 1)), np.tile(a, (9, 1)))
    assert_allclose(batch[4], robot.regressor(q, v, a), atol=1e-12)


def test_parameters_go_into_a_model_and_back(rng):
    for name in ("arm7", "human"):
        robot = support.load(name)
        wanted = misdescribed(robot, rng).inertial_parameters
        assert_allclose(weighing(robot, wanted).inertial_parameters, wanted, rtol=1e-9, atol=1e-12)
    with pytest.raises(eq.ShapeError, match="ten for each"):
        weighing(robot, wanted[:-1])


@pytest.mark.paper("X7")
def test_every_coordinate_is_a_body_and_every_body_has_coordinates(rng):
    for _ in range(50):
        theta = rng.normal(size=10)
        own, D = pseudo_inertia.body(theta)
        assert pseudo_inertia.is_physical(own)
        assert_allclose(pseudo_inertia.coordinates(own), theta, rtol=1e-5, atol=1e-5)
        step = 1e-6
        for k, e in enumerate(np.eye(10)):
            slope = (pseudo_inertia.body(theta + step * e)[0] - pseudo_inertia.body(theta - step * e)[0]) / (2 * step)
            assert_allclose(D[:, k], slope, rtol=1e-6, atol=1e-6 * np.abs(D).max())
    bad = own.copy()
    bad[4] = 3 * (own[7] + own[9])  # breaks the triangle inequality of moments of inertia
    assert not pseudo_inertia.is_physical(bad)
    assert not pseudo_inertia.is_physical(np.full(10, np.nan))


@pytest.mark.paper("X7")
def test_base_parameters_say_all_that_a_motion_shows(rng):
    robot = support.load("arm7")
    q, v, a = excited(robot, rng, 300)
    columns, K = base_parameters(robot, q, v, a)
    Y = robot.regressor(q, v, a)
    assert len(columns) < 70
    assert np.linalg.matrix_rank(Y.reshape(-1, 70)) == len(columns)
    pi = robot.inertial_parameters
    assert_allclose(Y[:, :, columns] @ (K @ pi), Y @ pi, atol=1e-8)


def check(robot, rng, rows, held_out):
    """(prediction error over the noise floor, mass error in %) with 5 % of noise on the torques."""
    start = misdescribed(robot, rng)
    q, v, a = excited(robot, rng, rows)
    tau = robot.inverse_dynamics(q, v, a)
    sigma = 0.05 * tau.std(axis=0)
    fit = eq.identify(start, q, v, a, tau + sigma * rng.normal(size=tau.shape))
    assert fit.physical
    assert_allclose(fit.noise, sigma, rtol=0.1)
    q, v, a = excited(robot, rng, held_out)
    truth = robot.inverse_dynamics(q, v, a)
    noisy = truth + sigma * rng.normal(size=truth.shape)
    said = fit.predict(q, v, a)
    assert_allclose(said, fit.robot.inverse_dynamics(q, v, a), atol=1e-6 * np.abs(truth).max())
    before = start.inverse_dynamics(q, v, a)
    assert np.square((said - truth) / sigma).mean() < 0.05 * np.square((before - truth) / sigma).mean()
    ratio = np.sqrt(np.square((said - noisy) / sigma).mean() / np.square((truth - noisy) / sigma).mean())
    return ratio, 100 * abs(fit.robot.mass / robot.mass - 1)


@pytest.mark.paper("X7")
def test_an_arm_is_identified():
    """To a percent of the noise floor; its mass to what the first joints' bodies, which no torque shows, leave open."""
    for seed in range(3):
        ratio, mass = check(support.load("arm7"), np.random.default_rng(seed), 4000, 1000)
        assert ratio < 1.01
        assert mass < 6


@pytest.mark.paper("X7")
def test_no_torque_of_an_arm_shows_what_its_first_links_weigh(rng):
    """Their masses are in none of the base parameters: no motion, however long or exact, tells an arm's mass."""
    robot = support.load("arm7")
    columns, K = base_parameters(robot, *excited(robot, rng, 300))
    shown = np.linalg.svd(K)[2][: len(columns)]
    share = [np.linalg.norm(shown[:, 10 * k]) for k in range(7)]
    assert_allclose(share[:2], 0, atol=1e-9)
    assert all(0.05 < part < 0.5 for part in share[2:])


@pytest.mark.paper("X7")
def test_the_mounting_of_an_arm_shows_its_mass():
    """What a force plate under it feels, to 5 %, and the torques: the arm as a robot whose base happens to rest."""
    arm, robot, rng = support.load("arm7"), eq.load("arm7", floating=True), np.random.default_rng(0)

    def motion(rows):
        q, v, a = excited(arm, rng, rows)
        rest = np.zeros((rows, 6))
        return np.hstack([np.tile(robot.neutral()[:7], (rows, 1)), q]), np.hstack([rest, v]), np.hstack([rest, a])

    q, v, a = motion(1500)
    tau = robot.inverse_dynamics(q, v, a)
    sigma = 0.05 * tau.std(axis=0)
    noisy = tau + sigma * rng.normal(size=tau.shape)
    plate, torques = noisy[:, :6], np.hstack([np.zeros((len(q), 6)), noisy[:, 6:]])
    start = misdescribed(robot, rng)
    fit = eq.identify(start, q, v, a, torques, wrenches={robot.base_link: plate})
    assert abs(start.mass / robot.mass - 1) > 0.02
    assert abs(fit.robot.mass / robot.mass - 1) < 1.3e-3  # a tenth of the bar
    assert fit.physical


@pytest.mark.slow
@pytest.mark.paper("X7")
def test_a_humanoid_is_identified():
    """The base's rows show all of the mass."""
    ratio, mass = check(support.load("g1"), np.random.default_rng(0), 2000, 500)
    assert ratio < 1.01
    assert mass < 1.3


@pytest.mark.paper("X7")
def test_friction_and_rotors_are_found(rng):
    robot = support.load("arm7")
    q, v, a = excited(robot, rng, 3000)
    coulomb, viscous, rotors = rng.uniform(0.5, 2, 7), rng.uniform(0.2, 1, 7), rng.uniform(0.05, 0.3, 7)
    tau = robot.inverse_dynamics(q, v, a) + coulomb * soft_sign(v) + viscous * v + rotors * a
    noisy = tau + 0.01 * tau.std(axis=0) * rng.normal(size=tau.shape)
    fit = eq.identify(misdescribed(robot, rng), q, v, a, noisy, friction=True, armature=True)
    assert_allclose(fit.coulomb, coulomb, atol=0.05)
    assert_allclose(fit.viscous, viscous, atol=0.05)
    assert np.sqrt(np.square(fit.predict(q, v, a) - tau).mean()) < 0.005 * tau.std()
    joint = next(iter(fit.robot.joints.values()))
    assert joint.dynamics.friction == fit.coulomb[0]
    assert fit.robot.model.armature


def test_friction_and_rotors_of_a_follower_are_counted_once(rng):
    """What its coordinate shows goes to the joint that leads, also where the follower was described with some."""
    builder = eq.RobotBuilder("pair", floating=False).link("base")
    builder.link("arm", mass=2.0, com=(0.2, 0.0, 0.1), inertia=(0.05,) * 3)
    builder.joint("leader", "revolute", "base", "arm", axis=(0, 1, 0), lower=-1.0, upper=1.0)
    builder.link("tip", mass=1.0, com=(0.1, 0.1, 0.0), inertia=(0.02,) * 3)
    given = {"damping": 0.3, "friction": 0.4, "armature": 0.1}
    builder.joint("tip", "revolute", "arm", "tip", axis=(1, 0, 0), mimic=Mimic("leader", 2.0), **given)
    robot = builder.build()
    q, v, a = excited(robot, rng, 500)
    tau = robot.with_armature().inverse_dynamics(q, v, a) + 4 * 0.3 * v + 2 * 0.4 * soft_sign(v)
    fit = eq.identify(misdescribed(robot, rng), q, v, a, tau, noise=1e-3, friction=True, armature=True)
    assert_allclose([fit.viscous[0], fit.coulomb[0]], [1.2, 0.8], rtol=1e-2)
    assert_allclose(fit.robot.joint_friction(v), fit.viscous * v + fit.coulomb * np.sign(v), rtol=1e-9)
    still = np.zeros_like(v)
    assert_allclose(fit.robot.inverse_dynamics(q, still, a), fit.predict(q, still, a), rtol=0, atol=1e-9)


@pytest.mark.paper("X7")
def test_measured_wrenches_are_part_of_the_log(rng):
    """A free robot that is held by wrenches at its hands: without them the log makes no sense."""
    robot = support.load("quadruped")
    q, v, a = excited(robot, rng, 600)
    wrench = rng.normal(size=(600, 6)) * 20
    outside = np.einsum("kij,ki->kj", robot.jacobian(q, "front_left_foot"), wrench)
    tau = robot.inverse_dynamics(q, v, a) - outside
    fit = eq.identify(misdescribed(robot, rng), q, v, a, tau, wrenches={"front_left_foot": wrench}, noise=0.1)
    assert abs(fit.robot.mass / robot.mass - 1) < 1e-3
    assert (fit.noise < 0.1).all()


@pytest.mark.paper("X7")
def test_the_fitted_robot_goes_back_as_urdf(rng, tmp_path):
    robot = support.load("arm7")
    q, v, a = excited(robot, rng, 500)
    fit = eq.identify(misdescribed(robot, rng), q, v, a, robot.inverse_dynamics(q, v, a), noise=0.1)
    back = eq.load(fit.save(tmp_path / "fitted.urdf"), floating=False)
    assert_allclose(back.mass, fit.robot.mass, rtol=1e-9)
    said = back.inverse_dynamics(q, v, a)
    assert_allclose(said, fit.predict(q, v, a), atol=1e-6 * np.abs(said).max())


def test_errors_teach(rng):
    robot = support.load("arm7")
    q, v, a = excited(robot, rng, 5)
    with pytest.raises(eq.ShapeError, match="tau"):
        eq.identify(robot, q, v, a, a[:, :3])
    with pytest.raises(eq.StateError, match="NaN"):
        eq.identify(robot, q, v, np.full_like(a, np.nan), a)
    with pytest.raises(eq.StateError, match="trust"):
        eq.identify(robot, q, v, a, a, trust=np.nan)
    with pytest.raises(eq.StateError, match="noise"):
        eq.identify(robot, q, v, a, a, noise=0.0)
    with pytest.raises(eq.ShapeError, match="wrench"):
        eq.identify(robot, q, v, a, a, wrenches={next(iter(robot.frames)): np.zeros((4, 6))})
