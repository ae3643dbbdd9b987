"""Balance first: priorities, posture criteria, the safe ellipse, and the flower and the bird of the paper."""

from __future__ import annotations

import numpy as np
import pytest
from closed_loop import simulate
from numpy.testing import assert_allclose
from support import load

import equipoise as eq
from equipoise.balance import projected_dynamics
from equipoise.balance.com_dynamics import null_space_rows
from equipoise.control.closed_form.com_control import (
    PostureCriterion,
    SafeEllipse,
    com_error,
    constrained_error,
    curvature,
    error_jacobian,
    hand_error,
    prioritised_error,
    prioritised_velocity,
    reach,
)
from equipoise.control.closed_form.decoupling import output_dynamics

RATE = 3.0  # 1/s


def moved(robot: eq.Robot, rng: np.random.Generator) -> np.ndarray:
    """A posture of the two-armed robot, elbows bent."""
    return np.clip(robot.standing() + 0.4 * rng.normal(size=robot.nq), robot.limits.lower, robot.limits.upper)


def flow(robot, q, rate, steps=100, dt=1e-2):
    """Postures along q̇ = rate(q), by Runge–Kutta steps; joints of one coordinate."""
    path = [q]
    for _ in range(steps):
        k1 = rate(q)
        k2 = rate(q + dt / 2 * k1)
        k3 = rate(q + dt / 2 * k2)
        q = q + dt / 6 * (k1 + 2 * k2 + 2 * k3 + rate(q + dt * k3))
        path.append(q)
    return np.array(path)


# --- priorities -------------------------------------------------------------------------------------------------------


@pytest.mark.paper("E8")
def test_the_centre_of_mass_converges_whatever_the_beak_wants():
    """ė₁ = −λ e₁ exactly, while the beak gets near its goal and the posture takes what is left [EB98, Eq.
    (76)–(79)]."""
    robot = load("bird")
    q = robot.standing()
    target, goal = robot.com(q)[:1] + 0.01, robot.pose(q, "beak")[:3, 3] + [-0.04, 0, 0.06]
    posture = PostureCriterion.near(robot, q)

    def rate(q):
        e_1, J_1 = com_error(robot, q, target, "x")
        e_4, J_4 = robot.pose(q, "beak")[:3, 3] - goal, robot.jacobian(q, "beak")[:3]
        e_2 = hand_error(e_4, J_4, posture.gradient(q), 0.01)
        return -RATE * prioritised_error(e_1, J_1, e_2, np.eye(robot.nv))

    path = flow(robot, q, rate, steps=200, dt=2e-2)
    e_1 = robot.com(path)[:, :1] - target
    assert_allclose(e_1, np.outer(np.exp(-RATE * 2e-2 * np.arange(201)), e_1[0]), rtol=0, atol=1e-8)
    beak = np.linalg.norm(robot.pose(path, "beak")[:, :3, 3] - goal, axis=1)
    assert beak[0] > 0.07 and beak[-1] < 0.2 * beak[0]


@pytest.mark.paper("E8")
def test_the_second_error_falls_where_the_first_is_zero():
    """e₃ is the gradient of ½ e₂ᵀ e₂ less its part along the rows of J₁: zero where Lagrange's condition holds."""
    robot = load("bird")
    q = robot.standing()
    target, goal = robot.com(q)[:1], np.array([0.6, 0.0, 0.15])  # out of reach

    def parts(q):
        e_1, J_1 = com_error(robot, q, target, "x")
        return e_1, J_1, robot.pose(q, "beak")[:3, 3] - goal, robot.jacobian(q, "beak")[:3]

    e_1, J_1, e_2, J_2 = parts(q)
    along, *_ = np.linalg.lstsq(J_1.T, J_2.T @ e_2, rcond=None)
    assert_allclose(
        prioritised_error(0 * e_1, J_1, e_2, J_2, 3.0), 3.0 * (J_2.T @ e_2 - J_1.T @ along), rtol=0, atol=1e-14
    )
    path = flow(robot, q, lambda q: -20 * prioritised_error(*parts(q)), steps=200)
    misses = np.linalg.norm(robot.pose(path, "beak")[:, :3, 3] - goal, axis=1)
    assert (np.diff(misses) < 0).all() and misses[-1] < 0.9 * misses[0]
    assert np.abs(robot.com(path)[:, :1] - target).max() < 1e-6


@pytest.mark.paper("E8")
def test_priority_is_exact_with_any_damping(rng):
    robot = load("bimanual")
    q = moved(robot, rng)
    e_1, J_1 = com_error(robot, q, [0.1, 0.2])
    alone = prioritised_error(e_1, J_1, np.zeros(3), robot.jacobian(q, "left_tool")[:3], damping=0.3)
    both = prioritised_error(e_1, J_1, rng.normal(size=3), robot.jacobian(q, "left_tool")[:3], 50.0, damping=0.3)
    assert_allclose(J_1 @ both, J_1 @ alone, rtol=0, atol=1e-12)
    assert np.linalg.norm(both - alone) > 1


@pytest.mark.paper("E8")
def test_balance_of_a_closed_chain_by_torques():
    """[EB98, Eq. (75), (77), (87)]: three of five links form a loop; e = R e₃ is regulated by decoupling control."""
    robot = eq.load("planar_chain", n=5, lengths=[0.4, 0.5, 0.5, 0.4, 0.3], masses=[1, 1, 1, 1, 0.5])
    q = np.array([2.0, -0.9, -0.9, -0.6, 0.3])
    pin, anchor = "link_4", robot.pose(q, "link_4")[:3, 3]
    target, criterion = robot.com(q)[:1] + 0.02, PostureCriterion.near(robot, q)

    def acceleration(t, q, v):
        M, N = robot.mass_matrix(q), robot.bias_force(q, v)
        C, s = robot.jacobian(q, pin)[[0, 2]], robot.bias_acceleration(q, v, pin)[[0, 2]]
        R = null_space_rows(C)
        R = np.linalg.qr(R.T)[0].T  # any basis serves; an orthonormal one keeps R e₃ what e₃ is
        e_1, J_1 = com_error(robot, q, target, "x")
        along = J_1 @ R.T @ R  # seen through the loop
        e = constrained_error(R, prioritised_error(e_1, along, criterion.gradient(q), np.eye(5), 0.2))
        out = output_dynamics(M, N, R, np.zeros(len(R)), C=C, s=s)
        Gamma = out.torque(out.control(e, R @ v, 60.0, 16.0))
        return projected_dynamics(M, N, C, s, Gamma).acceleration

    _, qs, vs = simulate(robot, q, np.zeros(5), acceleration, 2e-2, 100)
    assert abs(robot.com(qs[-1])[0] - target[0]) < 1e-4 < abs(robot.com(qs[0])[0] - target[0])
    assert np.abs(robot.pose(qs[-1], pin)[:3, 3] - anchor).max() < 1e-5  # steps of 20 ms
    assert np.abs(vs[-1]).max() < 1e-2


@pytest.mark.paper("E8")
def test_gradients_of_posture_criteria(rng):
    robot = load("arm7")
    q, h = robot.random_state(rng)[0], 1e-6
    for criterion in (PostureCriterion.near(robot, robot.neutral()), PostureCriterion.mid_range(robot)):
        slopes = [(criterion.value(q + h * e) - criterion.value(q - h * e)) / (2 * h) for e in np.eye(7)]
        assert_allclose(criterion.gradient(q), slopes, rtol=0, atol=1e-8)
    limits = robot.limits
    middle = PostureCriterion.mid_range(robot)
    assert_allclose(middle.target, (limits.lower + limits.upper) / 2, rtol=1e-12)
    assert middle.value(limits.upper) == pytest.approx(7 / 8)  # every joint half its range away
    assert_allclose(middle.gradient(middle.target), 0)


@pytest.mark.paper("E8")
def test_criteria_leave_the_base_and_unlimited_joints_alone(rng):
    robot = load("quadruped")
    q, _ = robot.random_state(rng)
    for criterion in (PostureCriterion.near(robot, robot.standing()), PostureCriterion.mid_range(robot)):
        assert_allclose(criterion.gradient(q)[:6], 0)
        assert np.abs(criterion.gradient(q)[6:]).max() > 0
    chain = load("planar_chain")  # no limits
    assert_allclose(PostureCriterion.mid_range(chain).weight, 0)


# --- the safe ellipse -------------------------------------------------------------------------------------------------

WIDE = SafeEllipse(0.1, weight=np.diag([1.0, 4.0]), stiffness=1e-3, exponent=6)


@pytest.mark.paper("E9")
def test_the_level_is_one_on_the_border():
    for angle in np.linspace(0, 6, 7):
        border = 0.1 * np.array([np.cos(angle), np.sin(angle) / 2])
        assert WIDE.level(border) == pytest.approx(1, rel=1e-12)
        assert WIDE.level(0.5 * border) == pytest.approx(0.25, rel=1e-12)


@pytest.mark.paper("E9")
def test_the_error_is_the_gradient_of_the_cost(rng):
    robot = load("bimanual")
    q = moved(robot, rng)
    target, goal = robot.com(q)[:2] - [0.09, 0.03], robot.pose(q, "left_tool")[:3, 3] + 0.1

    def errors(q):
        return robot.com(q)[:2] - target, robot.pose(q, "left_tool")[:3, 3] - goal

    J_1, J_2, h = robot.com_jacobian(q)[:2], robot.jacobian(q, "left_tool")[:3], 1e-5
    slopes = [(WIDE.cost(*errors(q + h * e)) - WIDE.cost(*errors(q - h * e))) / (2 * h) for e in np.eye(robot.nv)]
    e_1, e_2 = errors(q)
    assert_allclose(WIDE.error(e_1, J_1, e_2, J_2), slopes, rtol=0, atol=1e-8)
    assert np.linalg.norm(WIDE.error(e_1, J_1, 0 * e_2, J_2)) > 1e-3  # the penalty has its part


@pytest.mark.paper("E9")
def test_its_jacobian_lacks_only_what_the_paper_leaves_out(rng):
    """On linear outputs the curvature of J is zero: what remains is the term with V^(τ−1) [EB98, Eq. (90)]."""
    J_1, J_2, q, h = rng.normal(size=(2, 5)), rng.normal(size=(3, 5)), 0.05 * rng.normal(size=5), 1e-6
    W = np.diag([1.0, 4.0])

    def error(q):
        return WIDE.error(J_1 @ q, J_1, J_2 @ q, J_2)

    numeric = np.column_stack([(error(q + h * e) - error(q - h * e)) / (2 * h) for e in np.eye(5)])
    e_1 = J_1 @ q
    left_out = 1e-3 * 6 / 0.1**2 * WIDE.level(e_1) ** 5 * J_1.T @ W @ J_1
    assert_allclose(WIDE.jacobian(e_1, J_1, J_2) + left_out, numeric, rtol=1e-6, atol=1e-8)
    assert WIDE.level(e_1) > 0.5


@pytest.mark.paper("E9")
def test_the_beak_uses_the_freedom_that_the_ellipse_gives():
    """With a point the beak misses its goal; with an ellipse it comes nearer, and the centre of mass stays near the
    border."""
    robot = load("bird")
    q = robot.standing()
    target, goal = robot.com(q)[:1], robot.pose(q, "beak")[:3, 3] + [0.13, 0, -0.21]
    ellipse = SafeEllipse(0.02, stiffness=1e-4, exponent=8)

    def parts(q):
        e_1, J_1 = com_error(robot, q, target, "x")
        return e_1, J_1, robot.pose(q, "beak")[:3, 3] - goal, robot.jacobian(q, "beak")[:3]

    tight = flow(robot, q, lambda q: -20 * prioritised_error(*parts(q)), steps=500)
    loose = flow(robot, q, lambda q: -20 * ellipse.error(*parts(q)), steps=500)
    misses = [np.linalg.norm(parts(path[-1])[2]) for path in (tight, loose)]
    assert misses[1] < 0.85 * misses[0]
    assert np.abs(robot.com(tight)[:, 0] - target).max() < 1e-6
    level = ellipse.level(parts(loose[-1])[0])
    assert 0.5 < level < 1.5


@pytest.mark.paper("E9")
def test_impossible_ellipses_are_refused():
    for bad in (dict(radius=0.0), dict(radius=0.1, stiffness=-1.0), dict(radius=0.1, exponent=1.0)):
        with pytest.raises(eq.ShapeError, match="radius > 0, stiffness > 0 and exponent ≥ 2"):
            SafeEllipse(**bad)
    with pytest.raises(eq.ShapeError, match="positive definite"):
        SafeEllipse(0.1, weight=np.diag([1.0, -1.0]))


# --- either order -----------------------------------------------------------------------------------------------------

SPOTS = {"above": (0.20, 0.0, 0.35), "ground": (0.25, 0.0, 0.03), "own back": (-0.02, 0.0, 0.21)}  # m, for the beak


@pytest.mark.paper("E10")
def test_the_first_task_has_its_velocity_and_the_second_what_is_left(rng):
    robot = load("bimanual")
    q = moved(robot, rng)
    J_M, J_e = robot.com_jacobian(q)[:2], robot.jacobian(q, "left_tool")[:3]
    w_M, w_e = rng.normal(size=2), rng.normal(size=3)
    for J_1, w_1, J_2, w_2 in ((J_M, w_M, J_e, w_e), (J_e, w_e, J_M, w_M)):
        v = prioritised_velocity(J_1, w_1, J_2, w_2)
        assert_allclose(J_1 @ v, w_1, rtol=0, atol=1e-12)
        written = np.linalg.pinv(J_1) @ w_1 + (np.eye(15) - np.linalg.pinv(J_1) @ J_1) @ np.linalg.pinv(J_2) @ w_2
        assert_allclose(v, written, rtol=0, atol=1e-11)
        damped = prioritised_velocity(J_1, w_1, J_2, w_2, damping=0.1)
        assert_allclose(
            J_1 @ damped, J_1 @ prioritised_velocity(J_1, w_1, J_2, 0 * w_2, damping=0.1), rtol=0, atol=1e-12
        )


@pytest.mark.paper("E10")
@pytest.mark.parametrize("spot", SPOTS)
def test_the_bird_reaches_while_its_mass_goes_back_to_the_line(spot):
    """[EB98, Fig. 12]: without control of the centre of mass it leaves the line; in the null space of the beak it
    returns."""
    robot = load("bird")
    q = robot.standing()
    line = robot.com(q)[:1]
    left = reach(robot, q, "beak", SPOTS[spot], line, first=None, axes="x", steps=400)
    right = reach(robot, q, "beak", SPOTS[spot], line, first="effector", axes="x", steps=400)
    assert left.effector_error[0] > 0.02
    assert left.effector_error[-1] < 1e-4 and right.effector_error[-1] < 1e-4  # the beak is there in both
    assert left.com_error[-1] > 0.01
    assert right.com_error[-1] < 0.02 * left.com_error[-1]


@pytest.mark.paper("E10")
def test_balance_first_keeps_the_line_all_the_way():
    robot = load("bird")
    q = robot.standing()
    line = robot.com(q)[:1]
    path = reach(robot, q, "beak", SPOTS["ground"], line, first="com", axes="x", step=0.02, steps=600)
    unheeded = reach(robot, q, "beak", SPOTS["ground"], line, first=None, axes="x", step=0.02, steps=600)
    assert path.com_error.max() < 2e-4 < 0.05 * unheeded.com_error.max()  # second order of the step
    assert path.effector_error[-1] < 0.03 * path.effector_error[0]


@pytest.mark.paper("E10")
def test_out_of_reach_the_first_task_wins():
    """A spot that the balanced bird cannot reach: with balance first it stays balanced, with the beak first it leans
    over."""
    robot = load("bird")
    q, spot = robot.standing(), (0.55, 0.0, 0.15)
    line = robot.com(q)[:1]
    balanced, leaning = (
        reach(robot, q, "beak", spot, line, first=first, axes="x", steps=600) for first in ("com", "effector")
    )
    assert balanced.com_error[-1] < 1e-3 < leaning.com_error[-1]
    assert leaning.effector_error[-1] < balanced.effector_error[-1]
    assert np.isfinite(leaning.q).all() and np.abs(np.diff(leaning.q, axis=0)).max() < 2.0  # damping keeps steps small


@pytest.mark.paper("E10")
def test_the_flower_stands_in_balance():
    """[EB98, Fig. 10]: two postures of the flower, petals elsewhere, with the centre of mass above its root."""
    robot = load("flower")
    q = robot.standing()
    q[:5] += [0.3, 0.2, -0.4, 0.3, 0.2]
    for tip, goal in (("tip_1", (0.2, 0.0, 0.6)), ("tip_4", (-0.2, 0.0, 0.7))):
        found = reach(robot, q, tip, goal, [0.0], first="com", axes="x", step=0.3, steps=500)
        assert found.com_error[0] > 0.1
        assert found.com_error[-1] < 1e-9 and found.effector_error[-1] < 0.02 * found.effector_error[0]
    other = reach(robot, q, "tip_1", (0.2, 0.0, 0.6), [0.0], first="effector", axes="x", step=0.3, steps=500)
    assert other.effector_error[-1] < 1e-9 and other.com_error[-1] < 2e-4


@pytest.mark.paper("E10")
def test_the_base_of_a_floating_robot_is_held(rng):
    robot = load("quadruped")
    q = robot.standing()
    found = reach(
        robot, q, "front_left_foot", robot.pose(q, "front_left_foot")[:3, 3] + [0.03, 0, 0.05], robot.com(q)[:2]
    )
    assert_allclose(found.q[:, :7], np.tile(q[:7], (len(found.q), 1)), rtol=0, atol=1e-12)
    assert found.q.shape == (301, robot.nq)
    with pytest.raises(eq.UnknownNameError, match="no task that may come first named 'hand'"):
        reach(robot, q, "front_left_foot", np.zeros(3), np.zeros(2), first="hand")
    with pytest.raises(eq.ShapeError, match="has 2 numbers"):
        com_error(robot, q, np.zeros(3))


@pytest.mark.paper("E9")
@pytest.mark.parametrize("weight", [None, ((2.0, 0.3), (0.3, 0.8))], ids=["circle", "ellipse"])
def test_the_jacobian_of_the_safe_ellipse_in_full(weight, rng):
    """∂e₃/∂q of [EB98, Eq. (88)] against differences, off the centre, with the curvature of mass and hand."""
    robot, ellipse = load("bimanual"), SafeEllipse(0.02, weight=weight, stiffness=1e-4, exponent=4)
    q = moved(robot, rng)
    target, goal = robot.com(q)[:2] - (0.012, -0.01), robot.pose(q, "left_tool")[:3, 3] + 0.1

    def hand(at):
        return robot.pose(at, "left_tool")[:3, 3] - goal, robot.jacobian(at, "left_tool")[:3]

    (e_1, J_1), (e_2, J_2) = com_error(robot, q, target), hand(q)
    K_1 = curvature(robot, q, lambda at: robot.com_jacobian(at)[:2], ellipse.pull(e_1))
    K_2 = curvature(robot, q, lambda at: hand(at)[1], e_2)
    h, units = 1e-5, np.eye(robot.nv)
    ends = [
        [ellipse.error(*com_error(robot, q + s * h * u, target), *hand(q + s * h * u)) for s in (1, -1)] for u in units
    ]
    slope = np.array([(ahead - behind) / (2 * h) for ahead, behind in ends]).T
    assert_allclose(ellipse.exact_jacobian(e_1, J_1, J_2, K_1, K_2), slope, atol=1e-6 * np.abs(slope).max())
    assert_allclose(K_1, K_1.T, atol=1e-9)  # second derivatives of joints that do not turn in SO(3) are symmetric


@pytest.mark.paper("E8")
def test_a_constrained_error_takes_the_true_jacobian(rng):
    """[EB98, Eq. (77)]: R J₃ᵀ e₃; without J₃ it is R e₃."""
    robot = load("bimanual")
    q = moved(robot, rng)
    R = null_space_rows(robot.jacobian(q, "right_tool")[:3])
    target = robot.com(q)[:2] + 0.02
    J_1 = error_jacobian(robot, q, lambda at: com_error(robot, at, target)[0])
    assert_allclose(J_1, robot.com_jacobian(q)[:2], atol=1e-9)
    e_3, J_3 = rng.normal(size=robot.nv), rng.normal(size=(robot.nv, robot.nv))
    assert_allclose(constrained_error(R, e_3, J_3), R @ J_3.T @ e_3, rtol=1e-12)
    assert_allclose(constrained_error(R, e_3), R @ e_3, rtol=1e-12)
