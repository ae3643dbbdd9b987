"""Forces from outside: the observer's law, wrenches, contacts, slips and surprises."""

import functools

import casadi
import numpy as np
import pytest
import support
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.estimation.push import smoothed_gains
from equipoise.estimation.soles import soles_of
from equipoise.estimation.touch_equations import noise_gains, own_rows
from equipoise.model.shapes import sphere
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
    inputs = {argument.name: np.ones(argument.size) for argument in kernel.program.inputs}
    inputs |= {"q": q, "v": v, "tau": zero, "explained": zero, "gain": np.zeros(1), "dt": np.array([dt])}
    explained, residual, momentum, *_ = kernel(*inputs.values())
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
    """Two feet at once, from the generalised force alone."""
    robot = support.load("human")
    feet = {"left": "left_foot", "right": "right_foot"}
    watcher = eq.TouchObserver(robot, feet)
    q, _ = robot.random_state(rng)
    forces = [rng.normal(size=6) * 50, rng.normal(size=6) * 50]
    outside = sum(robot.jacobian(q, frame).T @ F for frame, F in zip(feet.values(), forces, strict=True))
    # one step from rest, with a gain so high that the residual is the force itself
    tau = robot.gravity(q) - outside
    said = outputs(watcher, q, tau, 1e9)
    assert_allclose(said["residual"], outside, rtol=1e-5, atol=1e-5)
    assert_allclose(said["wrenches"], np.concatenate(forces), atol=0.2)  # what no measurement says pulls a little
    assert_allclose(said["left"], 0, atol=0.2)


def outputs(watcher, q, tau, gain, explained=None):
    """Of one step of the kernel from rest, by name."""
    kernel, zero, step = watcher.kernel, np.zeros(watcher.robot.nv), np.array([1e-3])
    inputs = watcher._in | {"q": q, "v": zero, "tau": tau, "gain": np.array([gain]), "dt": step, "period": step}
    inputs["explained"] = zero if explained is None else explained
    return dict(zip([o.name for o in kernel.program.outputs], kernel(*inputs.values()), strict=True))


@functools.cache
def stiff_human():
    """Legs and spine alone: a smaller observer of pushes than that of the whole."""
    human = support.load("human")
    locked = ("shoulder", "elbow", "forearm", "wrist", "neck")
    return human.with_locked(name for name in human.joints if any(part in name for part in locked))


@pytest.mark.paper("X5")
def test_a_push_is_told_apart_from_what_the_feet_carry(rng):
    """A human that stands still while somebody pushes its chest: the feet's load is not taken for a push, nor the other
    way."""
    robot = stiff_human()
    feet, q = ("left_foot", "right_foot"), robot.standing()
    push = np.array([20.0, -10.0, 0.0, 0, 0, 0])
    J = np.vstack([robot.jacobian(q, foot) for foot in feet])
    outside = robot.jacobian(q, "thorax").T @ push
    wrenches = np.linalg.pinv(J[:, :6].T) @ (robot.gravity(q) - outside)[:6]  # the base rests
    tau = (robot.gravity(q) - outside - J.T @ wrenches)[6:]
    watcher = eq.TouchObserver(robot, feet, watch="thorax")
    said = [watcher(k * 1e-3, q, np.zeros(robot.nv), tau) for k in range(400)]
    assert all(said[-1].carrying.values())
    assert_allclose(said[-1].external[:2], push[:2], atol=0.5)
    assert_allclose(said[-1].external[3:], 0)  # a push has no torque
    assert_allclose(said[-1].residual, robot.gravity(q) - np.concatenate([np.zeros(6), tau]), atol=1e-6)
    assert said[-1].unexpected == ()
    late = np.array([s.external[0] for s in said]) / push[0]
    lag = eq.TouchSettings().push_settling + 1 / eq.TouchSettings().rate(robot)
    assert 0.4 < late[round(1e3 * lag) - 1] < 0.75  # two lags: 1 − 1/e of one alone
    assert watcher(0.5, q, np.zeros(robot.nv), tau * np.nan) is said[-1]


@pytest.mark.paper("X5")
def test_a_contact_that_does_not_carry_explains_no_push():
    """The same residual is a foot's or the chest's, as the foot carries or not."""
    robot, K = stiff_human(), 160.0
    q, outside = robot.standing(), robot.jacobian(robot.standing(), "left_foot").T @ [30.0, 0, 0, 0, 0, 0]
    watcher, found, left = eq.TouchObserver(robot, ("left_foot", "right_foot"), watch="thorax"), {}, {}
    for carries in (True, False):
        watcher._in["push_scale"][:6] = 1e4 * carries
        watcher._in["slow"][:] = outside
        said = outputs(watcher, q, robot.gravity(q), K, -outside * (1 + K * 1e-3) / K)
        found[carries], left[carries] = said["external"], np.abs(said["push_left"][6:]).max()
        assert_allclose(said["slow"], outside, atol=1e-9)
    assert np.linalg.norm(found[True]) < 0.5 < 2 < np.linalg.norm(found[False])
    assert left[True] < 0.1 < left[False]


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


class Sole:
    """A flat contact as an estimator sees it."""

    def __init__(self, frame, points):
        self.frame, self.points = frame, np.array(points, dtype=float)


CORNERS = [[0.1, 0.04, 0], [-0.1, 0.04, 0], [-0.1, -0.04, 0], [0.1, -0.04, 0]]


def flat_footed(robot, **settings):
    """An observer of a foot with four corners and one that is a frame alone."""
    return eq.TouchObserver(
        robot, {"left": Sole("left_foot", CORNERS), "right": "right_foot"}, settings=eq.TouchSettings(**settings)
    )


@pytest.mark.paper("X5")
@pytest.mark.parametrize("effort, expected", [(999.0, 4.999), (1000.0, 0.2), (np.inf, 0.2), (0.0, 0.2)])
def test_placeholders_are_no_measure_of_noise(effort, expected):
    robot = support.load("arm7").with_limits(effort=effort)
    s = eq.TouchSettings(torque_noise=0.2, relative_torque_noise=0.005)
    assert_allclose(s.torque_noises(robot), expected, rtol=1e-9 if expected == 0.2 else 1e-4)


@pytest.mark.paper("X5")
@pytest.mark.parametrize(
    "height, mass, rate, noise", [(0.25, 2.0, 640.0, 0.003 * 2.0 * 9.81 * 0.25), (1.2, 70.0, 160.0, 0.2)]
)
def test_a_small_robot_knows_sooner_what_it_touches(height, mass, rate, noise):
    """Half the height, the residual is twice as quick; and torques are known as well as the weight that they hold."""
    half = {"mass": mass / 2, "inertia": 3 * [0.1 * mass * height**2]}
    builder = eq.RobotBuilder("ball").link("ball", **half, shapes=[sphere(height)]).link("inside", **half)
    robot = builder.joint("turn", "revolute", "ball", "inside", axis=(0, 1, 0)).build()
    s = eq.TouchSettings()
    assert_allclose(s.rate(robot), rate, rtol=1e-9)
    assert_allclose(s.torque_noises(robot), [*6 * [0.0], noise], rtol=1e-3)  # of g
    given = eq.TouchSettings(bandwidth=50.0, torque_noise=0.7)
    assert given.rate(robot) == 50.0 and given.torque_noises(robot)[6] == 0.7


@pytest.mark.paper("X5")
def test_a_robot_without_height_counts_as_a_large_one():
    """Its centre of mass is on the ground, as nothing says where it ends."""
    mass = {"mass": 1.0, "inertia": 3 * [0.1]}
    builder = eq.RobotBuilder("flat").link("one", **mass).link("two", **mass)
    robot, s = builder.joint("turn", "revolute", "one", "two", axis=(0, 0, 1)).build(), eq.TouchSettings()
    assert robot.com(robot.standing())[2] == 0.0
    assert s.rate(robot) == 160.0 and s.torque_noises(robot)[6] == 0.2


@pytest.mark.paper("X5")
def test_signals_of_noise_alone_are_standard_normal(rng):
    """The observer's own recursion on white noise of rates and torques, many at once; then the kernel on what came."""
    robot, K, dt, count = support.load("human"), 160.0, 1e-3, 400
    watcher, s = flat_footed(robot), eq.TouchSettings()
    q, _ = robot.random_state(rng)
    M, explained = robot.mass_matrix(q), np.zeros((count, robot.nv))
    for _ in range(60):  # ten time constants
        p = rng.normal(size=explained.shape) * s.rate_noises(robot) @ M.T
        before = explained + rng.normal(size=explained.shape) * s.torque_noises(robot) * dt
        residual = K * (p - before) / (1 + K * dt)
        explained = before + residual * dt
    start = -residual * (1 + K * dt) / K  # from which one step at rest makes this residual
    seen = np.array([outputs(watcher, q, robot.gravity(q), K, own)["signals"] for own in start])
    assert seen.shape == (count, 6)
    assert_allclose(seen.std(axis=0), 1, atol=0.15)  # four deviations, of the deviation of 400 draws
    assert_allclose(seen.mean(axis=0), 0, atol=0.2)


@pytest.mark.paper("X5")
def test_noise_gains_are_those_of_the_recursions():
    """The variance that white noise has behind a filter is the sum of squares of its impulse response."""
    K, T, rows = 160.0, 1e-3, 400
    by_momentum, by_torque, slow = [], [], []
    for kind, found in (("momentum", by_momentum), ("torque", by_torque)):
        explained = smooth = 0.0
        for k in range(rows):
            one = float(k == 0)
            before = explained + (one * T if kind == "torque" else 0.0)
            residual = K * ((one if kind == "momentum" else 0.0) - before) / (1 + K * T)
            explained = before + residual * T
            smooth += (residual - smooth) * T / (eq.TouchSettings().push_settling + T)
            found.append(residual)
            slow.append(smooth)
    gain, period = casadi.SX.sym("gain"), casadi.SX.sym("period")
    said = casadi.Function("gains", [gain, period], list(noise_gains(gain, period)))(K, T)
    assert_allclose([float(x) for x in said], [np.square(by_momentum).sum(), np.square(by_torque).sum()], rtol=1e-9)
    smoothed = [np.square(slow[:rows]).sum(), np.square(slow[rows:]).sum()]
    assert_allclose(smoothed_gains(K, eq.TouchSettings().push_settling, T), smoothed, rtol=0.15)


@pytest.mark.paper("X5")
def test_a_force_at_an_edge_is_felt_by_the_ankle(rng):
    """Strongest where it acts, with some newtons to be sure of it, and not in the other leg."""
    robot, K = support.load("human"), 160.0
    watcher, q = flat_footed(robot), robot.standing()
    X = robot.pose(q, "left_foot")
    for k, corner in enumerate(CORNERS):
        wrench = np.concatenate([[0, 0, 1.0], np.cross(X[:3, :3] @ corner, [0, 0, 1.0])])
        start = -robot.jacobian(q, "left_foot").T @ wrench * (1 + K * 1e-3) / K
        z = outputs(watcher, q, robot.gravity(q), K, start)["signals"]
        assert np.argmax(z[:5]) == k
        assert z[k] > 0.3  # deviations by one newton
        assert_allclose(z[5], 0, atol=1e-9)
    rises = outputs(watcher, q, robot.gravity(q), K)["rises"]
    assert_allclose(rises[:4], [(X[:3, :3] @ corner)[2] for corner in CORNERS], atol=1e-12)
    assert_allclose(rises[4:], 0, atol=1e-12)


@pytest.fixture
def hand():
    """(an arm, how, its hand, torques with which it rests while a force acts upwards there): its base carries the
    rest."""
    robot = support.load("arm7")
    q = robot.neutral() + 0.4
    frame = list(robot.frames)[-1]

    def torques(newtons):
        return robot.gravity(q) - robot.jacobian(q, frame).T @ [0, 0, newtons, 0, 0, 0]

    return robot, q, frame, torques


def test_height_speaks_against_touch(hand):
    """By its odds, e-fold for each `height`, up to the limit; even odds where the signal is `significance`."""
    robot, q, frame, torques = hand
    zero = np.zeros(robot.nv)
    watcher = eq.TouchObserver(robot, {"hand": frame}, settings=eq.TouchSettings(significance=3.0))
    felt = outputs(watcher, q, torques(1.0), 160.0, -(robot.gravity(q) - torques(1.0)) / 160.0)["signals"][0]
    light = torques(4.0 / felt)  # about four deviations
    for k in range(300):
        low = watcher(k * 1e-3, q, zero, light, np.zeros(1)).probability["hand"]
    z = float(watcher._out["signals"][0])
    assert 3 < z < 5
    assert_allclose(np.log(low / (1 - low)), (z**2 - 9) / 2, rtol=1e-6)
    higher = watcher(0.3, q, zero, light, np.array([0.003])).probability["hand"]
    highest = [watcher(0.301, q, zero, light, np.array([h])).probability["hand"] for h in (0.05, 5.0)]
    odds = [p / (1 - p) for p in (low, higher, *highest)]
    assert_allclose(odds[1] / odds[0], np.exp(-1), rtol=1e-3)
    assert_allclose(odds[2] / odds[0], np.exp(-10), rtol=1e-2)
    assert_allclose(odds[3], odds[2], rtol=1e-2)
    below = watcher(0.302, q, zero, light, np.array([-0.05])).probability["hand"]
    assert_allclose(below, low, rtol=1e-3)  # lower than what stands is no more of a touch


def test_a_light_touch_carries_nothing(hand):
    """It touches from `significance` on, carries from `touch_force` on, and both are lost below `release` of that."""
    robot, q, frame, torques = hand
    zero, t, said = np.zeros(robot.nv), 0.0, []
    watcher = eq.TouchObserver(robot, {"hand": frame}, settings=eq.TouchSettings(touch_force=100.0))
    watcher(t, q, zero, torques(0.0))
    for newtons in (0.1, 60.0, 120.0, 60.0, 20.0, 0.1, -60.0):
        for _ in range(200):
            t += 1e-3
            now = watcher(t, q, zero, torques(newtons))
        said.append((now.touching["hand"], now.carrying["hand"]))
    no, light, heavy = (False, False), (True, False), (True, True)
    assert said == [no, light, heavy, heavy, light, no, no]


def test_a_contact_that_carries_is_kept_where_its_own_joints_feel_nothing(hand):
    """A straight leg feels no weight, whatever it carries: then the base's rows decide, with hysteresis."""
    robot, _, frame, _ = hand
    watcher = eq.TouchObserver(robot, {"hand": frame})
    said = []
    for odds, load in [(-9, 3.0), (9, 3.0), (-99, 0.8), (-99, 0.4), (-99, 3.0)]:
        watcher._decide("hand", odds, load)
        said.append((watcher._touching["hand"], watcher._carrying["hand"]))
    no, heavy = (False, False), (True, True)
    assert said == [no, heavy, heavy, no, no]


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


def test_a_time_that_is_none_leaves_no_trace(hand):
    """The observer goes on as one that was never called so: the mean time between steps is still a number."""
    robot, q, frame, torques = hand
    disturbed, spared = (eq.TouchObserver(robot, {"hand": frame}) for _ in range(2))
    zero, bad = np.zeros(robot.nv), (np.nan, -1.0, np.inf)
    for k in range(20):
        answer, plain = (watcher(k * 1e-3, q, zero, torques(60.0)) for watcher in (disturbed, spared))
        for t in bad:
            assert disturbed(t, q, zero, torques(60.0)) is answer
        assert_allclose(answer.wrenches["hand"], plain.wrenches["hand"], rtol=1e-12)
    assert disturbed.rejected == 20 * len(bad) and spared.rejected == 0
    assert plain.wrenches["hand"][2] > 30


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


def test_a_contact_is_asked_of_the_joints_that_feel_no_other():
    """A hand beside a foot shares no joint with it; hands share the back, which then says nothing of either."""
    robot = eq.load("human")
    named = {row: name for name, joint in robot.joints.items() for row in range(joint.v.start, joint.v.stop)}
    soles = list(soles_of(robot, ["left_foot", "left_hand", "right_hand"]).values())
    foot, left, right = ({named[row] for row in own_rows(robot.tree, soles, i)} for i in range(3))
    assert foot and all(name.startswith("left_") for name in foot | left)
    assert right and all(name.startswith("right_") for name in right)
    alone = {named[row] for row in own_rows(robot.tree, soles[1:2], 0)}
    assert alone > left and any(name.startswith("lumbar") for name in alone - left)
