"""Forces from outside: the observer's law, wrenches, contacts, slips and surprises."""

import numpy as np
import pytest
import support
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.simulate.plant import make_plant


def observer_kernel(robot):
    return eq.TouchObserver(robot).kernel


@pytest.mark.paper("X5")
@pytest.mark.parametrize("name", ["human", "arm7"])
def test_momentum_changes_by_what_the_kernel_says(name, rng):
    """p = M v and ṗ = Cᵀ v − g without torques; C from its own equation."""
    robot = support.load(name)
    kernel = observer_kernel(robot)
    q, v = robot.random_state(rng)
    zero, dt = np.zeros(robot.nv), 1e-3
    explained, residual, momentum, *_ = kernel(
        q, v, zero, zero, np.ones(robot.nv), np.zeros(0), np.zeros(1), np.array([dt])
    )
    assert_allclose(momentum, robot.mass_matrix(q) @ v, rtol=1e-10, atol=1e-10)
    assert_allclose(residual, 0, atol=1e-12)
    assert_allclose(explained / dt, robot.coriolis_matrix(q, v).T @ v - robot.gravity(q), rtol=1e-9, atol=1e-9)


@pytest.mark.paper("X5")
def test_the_residual_follows_an_external_force_like_a_filter(rng):
    """ṙ = K (tau_ext − r): on a robot that tumbles under torques, with a wrench on its hand."""
    robot = support.load("human")
    q, v = robot.random_state(rng)
    v *= 0.3
    wrench, dt, K = np.array([20.0, -10.0, 15.0, 1.0, 2.0, -1.0]), 1e-4, 200.0
    watcher = eq.TouchObserver(robot, settings=eq.TouchSettings(bandwidth=K))
    plant = make_plant("ideal", robot, [], ground=None)  # fourth order
    tau = np.where(np.arange(robot.nv) < 6, 0.0, rng.normal(size=robot.nv))
    state = plant.reset(q, v)
    watcher(0.0, q, v, tau[6:])
    wanted = np.zeros(robot.nv)
    for k in range(200):
        state = plant.step(tau, dt, {"left_hand": wrench})
        outside = robot.jacobian(state.q, "left_hand").T @ wrench
        wanted += K * dt * (outside - wanted) / (1 + K * dt)
        said = watcher((k + 1) * dt, state.q, state.v, tau[6:])
    assert np.abs(wanted).max() > 10
    assert_allclose(said.residual, wanted, atol=0.05)


@pytest.mark.paper("X5")
def test_wrenches_are_told_apart(rng):
    """Feet and torso at once, from the generalised force alone."""
    robot = support.load("human")
    feet = {"left": "left_foot", "right": "right_foot"}
    watcher = eq.TouchObserver(robot, feet, watch="thorax")
    q, _ = robot.random_state(rng)
    forces = [rng.normal(size=6) * 50, rng.normal(size=6) * 50, np.concatenate([rng.normal(size=3) * 20, np.zeros(3)])]
    outside = sum(robot.jacobian(q, frame).T @ F for frame, F in zip((*feet.values(), "thorax"), forces, strict=True))
    # one step from rest, with a gain so high that the residual is the force itself
    tau = robot.gravity(q) - outside
    names, zero = [o.name for o in watcher.kernel.program.outputs], np.zeros(robot.nv)
    numbers = watcher._in["sigma"], watcher._in["scale"], np.array([1e9]), np.array([1e-3])
    said = dict(zip(names, watcher.kernel(q, zero, tau, zero, *numbers), strict=True))
    assert_allclose(said["residual"], outside, rtol=1e-5, atol=1e-5)
    assert_allclose(said["wrenches"], np.concatenate(forces), atol=0.8)  # what no measurement says pulls a little
    assert_allclose(said["left"], 0, atol=0.8)


@pytest.mark.paper("X5")
def test_wrenches_of_a_robot_at_rest(rng):
    robot = support.load("human")
    q = robot.standing()
    weight = robot.mass * 9.80665
    feet = ("left_foot", "right_foot")
    com, base = robot.com(q), np.zeros(6)
    # half the weight on each foot, and what moment then remains is shared: a statically possible load
    forces = {foot: np.array([0, 0, weight / 2, 0, 0, 0.0]) for foot in feet}
    arms = {foot: robot.pose(q, foot)[:3, 3] - com for foot in feet}
    moment = -sum(np.cross(arms[foot], forces[foot][:3]) for foot in feet)
    for foot in feet:
        forces[foot][3:] = moment / 2
    outside = sum(robot.jacobian(q, foot).T @ forces[foot] for foot in feet)
    tau = robot.gravity(q) - outside
    assert_allclose(tau[:6], base, atol=1e-9)
    watcher = eq.TouchObserver(robot, feet)
    for k in range(400):
        said = watcher(k * 1e-3, q, np.zeros(robot.nv), tau[6:])
    for foot in feet:
        assert_allclose(said.wrenches[foot], forces[foot], atol=5e-4 * weight)
        assert said.probability[foot] > 0.99
        assert said.touching[foot]
    assert said.slipping == ()
    assert said.unexpected == ()
    # pushed at the hand, which is no contact: the last joint that feels it is one of its arm
    pushed = tau - robot.jacobian(q, "left_hand").T @ [80.0, 0, 0, 0, 0, 0]
    for k in range(400, 600):
        said = watcher(k * 1e-3, q, np.zeros(robot.nv), pushed[6:])
    assert said.unexpected
    arm = {robot.tree.bodies[i].name for i in robot.tree.ancestors(robot.place("left_hand")[0])}
    assert set(said.unexpected) <= arm
    # feet that move while they stand
    v = np.zeros(robot.nv)
    v[0] = 0.3
    said = watcher(0.6, q, v, tau[6:])
    assert set(said.slipping) == set(feet)
    # in free fall nothing touches
    for k in range(601, 900):
        v = np.zeros(robot.nv)
        v[2] = -9.80665 * (k - 600) * 1e-3
        said = watcher(k * 1e-3, q, v, np.zeros(robot.nv - 6))
    assert not any(said.touching.values())
    assert_allclose(said.residual, 0, atol=1e-6)


def test_height_speaks_against_touch(rng):
    robot = support.load("human")
    weight = robot.mass * 9.80665
    watcher = eq.TouchObserver(robot, ["left_foot"], settings=eq.TouchSettings(touch_force=weight))
    q, zero = robot.standing(), np.zeros(robot.nv)
    tau = robot.gravity(q) - robot.jacobian(q, "left_foot").T @ [0, 0, weight, 0, 0, 0]
    for k in range(300):
        low = watcher(k * 1e-3, q, zero, tau[6:], np.zeros(1)).probability["left_foot"]
    higher = watcher(0.3, q, zero, tau[6:], np.array([0.003])).probability["left_foot"]
    highest = [watcher(0.301, q, zero, tau[6:], np.array([h])).probability["left_foot"] for h in (0.05, 5.0)]
    odds = [p / (1 - p) for p in (low, higher, *highest)]
    assert_allclose(odds[1] / odds[0], np.exp(-1), rtol=1e-3)
    assert_allclose(odds[2] / odds[0], np.exp(-10), rtol=1e-2)
    assert_allclose(odds[3], odds[2], rtol=1e-2)


def test_numbers_that_are_none_are_passed_over():
    robot = support.load("human")
    watcher = eq.TouchObserver(robot, ["left_foot"])
    q, zero = robot.standing(), np.zeros(robot.nv)
    first = watcher(0.0, q, zero, zero[6:])
    bad = zero[6:].copy()
    bad[3] = np.nan
    assert watcher(0.001, q, zero, bad) is first
    assert watcher(-1.0, q, zero, zero[6:]) is first
    assert watcher(np.nan, q, zero, zero[6:]) is first
    assert watcher(0.001, q, zero, np.full(robot.nv - 6, 1e200)) is first  # its square is none
    assert watcher.rejected == 4
    assert np.isfinite(watcher(0.002, q, zero, zero[6:]).residual).all()
    with pytest.raises(eq.StateError, match="bandwidth"):
        eq.TouchSettings(bandwidth=np.nan)
    with pytest.raises(eq.UnknownNameError, match="thorax"):
        eq.TouchObserver(robot, watch="thoraxx")


def test_forces_say_which_feet_stand(rng):
    robot = support.load("human")
    estimator = eq.Estimator(robot, "pelvis", {"left": "left_foot", "right": "right_foot"})
    q, rates = robot.standing(), np.zeros(robot.nv - 6)
    args = np.zeros(3), np.array([0, 0, 9.80665]), q[7:], rates
    heavy, light = np.array([0, 0, 300.0, 0, 0, 0]), np.zeros(6)
    middle = np.array([0, 0, 0.75 * 0.02 * robot.mass * 9.80665, 0, 0, 0])  # above the release, below the touch
    estimator(0.0, *args, forces={"left": heavy, "right": light})
    assert estimator.touching == {"left": True, "right": False}
    estimator(0.001, *args, forces={"left": middle, "right": middle})
    assert estimator.touching == {"left": True, "right": False}
