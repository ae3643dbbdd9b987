"""Contacts: coordinates and points, ranks and free directions, forces and torques of support; Pinocchio's word on
forces."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest
import support
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise import convert
from equipoise.algebra import quaternions, rigid
from equipoise.balance.contact_analysis import _twists_in_words, analyse_contacts
from equipoise.balance.contacts import RigidContact, contact_bias, contact_jacobian, point_bias, point_jacobian
from equipoise.balance.coordinates import coordinate_rates, velocity_from_rates
from equipoise.balance.loops import close_loops, closure, loop_constraints
from equipoise.balance.support_dynamics import SupportDynamics, selection, support_dynamics
from equipoise.errors import ConstraintError
from equipoise.forms.constrained import ConstrainedDynamics
from equipoise.model.joints import Revolute
from equipoise.model.urdf_writer import write_urdf

Array = np.ndarray
FEET = ("front_left_foot", "front_right_foot", "hind_left_foot", "hind_right_foot")


def quadruped() -> eq.Robot:
    return support.load("quadruped")


@functools.cache
def jointed() -> eq.Robot:
    """Every type of joint: floating base, ball, planar, a follower, a floating object, and a type of the test's own."""
    builder = eq.RobotBuilder("jointed")
    solid = {"mass": 1.0, "com": (0.1, 0.2, -0.1), "inertia": (0.3, 0.4, 0.5)}
    for name in ("trunk", "arm", "hand", "tail", "tip", "lid", "ball"):
        builder.link(name, **solid)
    builder.joint("shoulder", "ball", "trunk", "arm", position=(0.1, 0.2, 0.3))
    builder.joint("wrist", "revolute", "arm", "hand", axis=(1, 2, 0), position=(0, 0.3, 0))
    builder.joint("tail", "planar", "trunk", "tail", axis=(0, 1, 1))
    builder.joint("tip", "revolute", "tail", "tip", axis=(0, 1, 0), mimic="wrist")
    builder.joint("lid", Cubic((0.0, 0.0, 1.0)), "trunk", "lid")
    builder.joint("ball", "floating", "world", "ball")
    return builder.build()


@dataclass(frozen=True)
class Cubic(Revolute):
    """Turns by s = c³ where c is its coordinate: a type whose rate of coordinate is not its velocity."""

    name = "cubic"

    def neutral(self):
        return (1.0,)

    def pose(self, q, m):
        return super().pose([q[0] * q[0] * q[0]], m)

    def integrate(self, q, step, m):
        return [(q[0] * q[0] * q[0] + step[0]) ** (1 / 3)]

    def difference(self, q0, q1, m):
        return [q1[0] ** 3 - q0[0] ** 3]


def random_state(robot: eq.Robot, rng) -> tuple[Array, Array]:
    q, v = robot.random_state(rng)
    if "lid" in robot.joints:
        q[robot.joints["lid"].q] = 1.3
    return q, v


# --- H1: coordinates and points ---------------------------------------------------------------------------------------


@pytest.mark.paper("H1")
@pytest.mark.parametrize("name", ["quadruped", "human", "holonomic_arm", "jointed"])
def test_coordinate_rates_are_derivatives_of_the_coordinates(name, rng):
    robot = jointed() if name == "jointed" else support.load(name)
    q, v = random_state(robot, rng)
    h = 1e-5
    E = coordinate_rates(robot, q)
    assert_allclose(E @ v, (robot.integrate(q, v, h) - robot.integrate(q, v, -h)) / (2 * h), atol=1e-8)
    assert_allclose(velocity_from_rates(robot, q) @ E, np.eye(robot.nv), atol=1e-10)
    assert_allclose(velocity_from_rates(robot, q) @ (E @ v), v, atol=1e-10)


@pytest.mark.paper("H1")
def test_velocities_from_rates_are_those_of_the_slide(rng):
    """[ETH19, slide 5] with E_χ of the unit quaternion: I_ω = 2 ṙ r*; world axes here, body axes on the slide."""
    robot = quadruped()
    q, _ = robot.random_state(rng)
    w, x, y, z = q[3:7]
    E_chi = 2 * np.array([[-x, w, -z, y], [-y, z, w, -x], [-z, -y, x, w]])
    E_fb = velocity_from_rates(robot, q)
    assert_allclose(E_fb[:3, :3], np.eye(3), atol=1e-12)
    assert_allclose(E_fb[3:6, 3:7], E_chi, atol=1e-12)
    assert_allclose(E_fb[6:, 7:], np.eye(12), atol=1e-12)
    assert_allclose(coordinate_rates(robot, q)[3:7, 3:6], E_chi.T / 4, atol=1e-12)


@pytest.mark.paper("H1")
def test_point_jacobian_has_the_blocks_of_the_slide(rng):
    """[ETH19, slide 6]: [1, −C_IB [B_r_BQ]^, C_IB B_J]; with ω in world axes the middle block is −[r_BQ]^."""
    robot, point = quadruped(), np.array([0.02, -0.03, 0.1])
    q, v = robot.random_state(rng)
    J = point_jacobian(robot, q, "hind_left_shank", point)
    r = (robot.pose(q, "hind_left_shank") @ np.r_[point, 1])[:3]
    R_WB, r_BQ = robot.pose(q, "trunk")[:3, :3], r - q[:3]
    assert_allclose(J[:, :3], np.eye(3), atol=1e-14)
    assert_allclose(J[:, 3:6], -rigid.skew(r_BQ), atol=1e-12)
    assert_allclose(J[:, 3:6] @ R_WB, -R_WB @ rigid.skew(R_WB.T @ r_BQ), atol=1e-12)
    h = 1e-5
    ahead, behind = (robot.integrate(q, v, s) for s in (h, -h))
    places = [(robot.pose(at, "hind_left_shank") @ np.r_[point, 1])[:3] for at in (ahead, behind)]
    assert_allclose(J @ v, (places[0] - places[1]) / (2 * h), atol=1e-8)
    rates = [point_jacobian(robot, at, "hind_left_shank", point) @ v for at in (ahead, behind)]
    bias = (rates[0] - rates[1]) / (2 * h)
    assert_allclose(point_bias(robot, q, v, "hind_left_shank", point), bias, atol=1e-7)


def test_points_and_batches_agree_with_frames(rng):
    robot = quadruped()
    offset = (0.05, 0.1, -0.2)
    named = robot.with_frame("spot", "trunk", rigid.pose(p=np.array(offset)))
    q, v = support.random_states(robot, rng, 3)
    for kind in ("point", "frame"):
        contacts = ["hind_left_foot", ("trunk", offset)]
        J, bias = contact_jacobian(robot, q, contacts, kind), contact_bias(robot, q, v, contacts, kind)
        names = ["hind_left_foot", "spot"]
        for k in range(3):
            assert_allclose(J[k], contact_jacobian(named, q[k], names, kind), atol=1e-12)
            assert_allclose(bias[k], contact_bias(named, q[k], v[k], names, kind), atol=1e-12)


# --- H2: analysis -----------------------------------------------------------------------------------------------------

# [ETH19, slide 14]: feet on the ground → rank J_c, rank J_c,b, internal constraints, uncontrollable directions
QUADRUPED_TABLE = {0: (0, 0, 0, 6), 1: (3, 3, 0, 3), 2: (6, 5, 1, 1), 3: (9, 6, 3, 0), 4: (12, 6, 6, 0)}


@pytest.mark.paper("H2")
@pytest.mark.parametrize("count", QUADRUPED_TABLE)
def test_the_table_of_the_quadruped(count, rng):
    robot = quadruped()
    postures = [robot.standing(), *(robot.random_state(rng)[0] for _ in range(3))]
    for q, feet in itertools.product(postures, itertools.combinations(FEET, count)):
        a = analyse_contacts(robot, q, feet)
        assert (a.rank, a.base_rank, a.internal_constraints, a.uncontrollable.shape[1]) == QUADRUPED_TABLE[count]
        assert a.base_controllable == (count > 2)
        assert_allclose(a.J[:, a.base] @ a.uncontrollable, 0, atol=1e-12)
        both = np.hstack([a.controllable, a.uncontrollable])
        assert_allclose(both.T @ both, np.eye(6), atol=1e-12)


@pytest.mark.paper("H2")
def test_uncontrollable_motions_of_the_whole_robot_leave_the_contacts_where_they_are(rng):
    robot, feet = quadruped(), FEET[:2]
    q, _ = robot.random_state(rng)
    twist = analyse_contacts(robot, q, feet).uncontrollable[:, 0]
    axis = robot.pose(q, feet[0])[:3, 3] - robot.pose(q, feet[1])[:3, 3]
    assert_allclose(np.abs(twist[3:] @ axis), np.linalg.norm(twist[3:]) * np.linalg.norm(axis), rtol=1e-12)
    v = np.concatenate([twist, np.zeros(12)])
    for foot in feet:
        assert_allclose(robot.velocity(q, v, foot)[:3], 0, atol=1e-12)


SLIDING = "horizontal translation, in both directions"
ROW = [("trunk", (0.1, 0, 0)), ("trunk", (-0.1, 0, 0)), ("trunk", (0.2, 0, 0))]


@pytest.mark.paper("H2")
@pytest.mark.parametrize(
    ("contacts", "axes", "words"),
    [
        ((), "xyz", ["every motion of the base: nothing holds the robot"]),
        (FEET[:1], "xyz", ["rotation about every axis through front_left_foot"]),
        (FEET[:2], "xyz", ["rotation about the line through front_left_foot and front_right_foot"]),
        (FEET[:3], "xyz", []),
        (FEET[:3], "z", [SLIDING, "rotation about the vertical axis"]),
        (FEET[:2], "z", [SLIDING, "rotation about every axis through front_left_foot across x"]),
        (FEET[:2], "xy", ["vertical translation", "rotation about every axis through front_left_foot across z"]),
        (
            FEET[:2],
            "xz",
            ["translation along y", "rotation about the line through front_left_foot and front_right_foot"],
        ),
        (FEET, "x", ["translation in the plane across x", "rotation about the x axis"]),
        (ROW, "xyz", ["rotation about the line through trunk (0.1, 0, 0), trunk (-0.1, 0, 0) and trunk (0.2, 0, 0)"]),
    ],
)
def test_free_directions_in_words(contacts, axes, words):
    robot = quadruped()
    q = robot.standing()
    if axes == "x":  # feet at unlike heights, or x alone would not keep the base from nodding
        q[robot.joints["hind_left_knee"].q] -= 0.3
    assert list(analyse_contacts(robot, q, contacts, axes=axes).words) == words


@pytest.mark.paper("H2")
@pytest.mark.parametrize(
    ("axis", "pitch", "words"),
    [
        ((1, 0, 0), 0.0, "rotation about the x axis through (0, 1, 2)"),
        ((0, 0, 1), 0.0, "rotation about the vertical axis through (3, 1, 0)"),
        (
            (0, 0.6, 0.8),
            0.1,
            "rotation about the (0, 0.6, 0.8) axis through (3, -0.32, 0.24), advancing 0.1 m per radian",
        ),
    ],
)
def test_rotations_about_places_that_are_no_contact_in_words(axis, pitch, words):
    """The place named is the one of the axis nearest to the base, here at the origin."""
    w, p = np.array(axis, dtype=float), np.array([3.0, 1.0, 2.0])
    twist = np.concatenate([np.cross(p, w) + pitch * w, w])
    assert _twists_in_words(twist[:, None] / np.linalg.norm(twist), np.zeros(3), {}) == (words,)


@pytest.mark.paper("H2")
def test_a_whole_foot_holds_the_base():
    robot = support.load("human")
    a = analyse_contacts(robot, robot.standing(), ["left_foot"], "frame")
    assert (a.rank, a.base_rank, a.internal_constraints, a.words) == (6, 6, 0, ())
    corners = analyse_contacts(robot, robot.standing(), [f"left_foot_corner_{k}" for k in range(4)])
    assert (corners.rank, corners.base_rank, corners.redundant) == (6, 6, 6)


@pytest.mark.paper("H2")
def test_points_of_one_body_repeat_each_other():
    """Four points of a rigid trunk: twelve rows, rank six, and no joint is constrained."""
    robot = quadruped()
    corners = [("trunk", (x, y, 0.0)) for x in (-0.2, 0.2) for y in (-0.1, 0.1)]
    a = analyse_contacts(robot, robot.standing(), corners)
    assert (a.rank, a.base_rank, a.internal_constraints, a.redundant) == (6, 6, 0, 6)


@pytest.mark.paper("H2")
def test_the_wheel_of_the_lecture():
    """[ETH19, slides 9–10]: at φ = π the Jacobian is [1 −r; 0 0; 0 0], rolling is ẋ = r φ̇, motion is along (r, 1)."""
    robot, r = support.load("wheel"), 0.3
    for phi in (0.3, np.pi):
        J = point_jacobian(robot, np.array([0.7, phi]), "rim")
        assert_allclose(J, [[1, r * np.cos(phi)], [0, 0], [0, -r * np.sin(phi)]], atol=1e-12)  # the slide's y is our z
    a = analyse_contacts(robot, np.array([0.7, np.pi]), ["rim"], base=["slide"])
    assert (a.rank, a.base_rank, a.internal_constraints) == (1, 1, 0)
    free = np.linalg.svd(a.J)[2][-1]
    assert_allclose(free / free[1], [r, 1], atol=1e-12)


# [ETH19, slide 12]: what holds the tip of the pendulum → rank J_c, rank J_c,b; last, dimension of 𝒩(N_cᵀ Sᵀ) on slides
# 23–25
CART_TABLE = {"xz": (2, 1, 1), "z": (1, 0, 1), "x": (1, 1, 0)}


@pytest.mark.paper("H2")
@pytest.mark.parametrize("axes", CART_TABLE)
def test_the_cart_pendulum_of_the_lecture(axes):
    robot, q = support.load("cart_pendulum"), np.array([0.3, 0.4])
    rank, base_rank, internal = CART_TABLE[axes]
    a = analyse_contacts(robot, q, ["tip"], base=["slide"], axes=axes)
    assert (a.rank, a.base_rank, a.internal_constraints) == (rank, base_rank, internal)
    assert a.words == (("motion of joint slide",) if axes == "z" else ())
    rows = {"x": [1, np.cos(0.4)], "z": [0, np.sin(0.4)]}  # 2l = 1
    assert_allclose(a.J, [rows[axis] for axis in axes], atol=1e-12)


def test_report_reads():
    robot = quadruped()
    text = analyse_contacts(robot, robot.standing(), FEET[:2]).report()
    assert text.splitlines() == [
        "contacts: front_left_foot, front_right_foot",
        "total constraints          6   rank J_c (6 rows, 0 redundant)",
        "base constraints           5   rank J_c,b",
        "internal constraints       1   rank J_c − rank J_c,b",
        "uncontrollable directions  1   of 6",
        "  rotation about the line through front_left_foot and front_right_foot",
    ]


def test_base_of_several_joints_in_words():
    robot = support.load("holonomic_arm")
    q = robot.neutral()
    a = analyse_contacts(robot, q, [("platform_link", (0.3, 0.0, 0.0))], base=["platform"])
    assert a.words == ("1 of the combined motions of joints platform[1], platform[2]",)
    assert analyse_contacts(robot, q, [], base=["platform"]).words == tuple(
        f"motion of joint platform[{i}]" for i in range(3)
    )


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((["hind_leg"],), {}, eq.UnknownNameError, "no frame named 'hind_leg'"),
        ((FEET, "flat"), {}, eq.UnknownNameError, "no kind of contact named 'flat'.*point, frame"),
        ((FEET,), {"axes": "w"}, eq.ShapeError, "some of 'xyz', got 'w'"),
        ((FEET,), {"base": ["tail"]}, eq.UnknownNameError, "no joint named 'tail'"),
        (([("trunk", (1.0, 2.0))],), {}, eq.ShapeError, "three finite numbers"),
    ],
)
def test_wrong_questions_are_answered(arguments, options, error, message):
    robot = quadruped()
    with pytest.raises(error, match=message):
        analyse_contacts(robot, robot.standing(), *arguments, **options)
    with pytest.raises(eq.ShapeError, match="one configuration"):
        analyse_contacts(robot, np.array([robot.standing()]), FEET)
    with pytest.raises(eq.ShapeError, match=r"wanted \(…, 19\)"):
        coordinate_rates(robot, np.zeros(5))


# --- H4: support ------------------------------------------------------------------------------------------------------


def standing_state(robot: eq.Robot, rng, contacts) -> tuple[Array, Array]:
    """A random posture with a velocity that keeps the contacts; the base moves."""
    q, v = robot.random_state(rng)
    J = contact_jacobian(robot, q, contacts)
    at_rest = ConstrainedDynamics(robot.mass_matrix(q), np.zeros(robot.nv), J, np.zeros(len(J)))
    v = at_rest.null_projector @ v
    assert np.abs(v[:6]).max() > 1e-2
    return q, v


seeds = st.integers(0, 10**6)


@pytest.mark.paper("H4")
@given(seeds, st.integers(0, 4))
@settings(max_examples=15, deadline=None)
def test_laws_of_the_support_projector(seed, count):
    robot, rng = quadruped(), np.random.default_rng(seed)
    q, v = standing_state(robot, rng, FEET[:count]) if count < 4 else robot.random_state(rng)
    s = support_dynamics(robot, q, v, FEET[:count])
    N, J = s.projector, s.jacobian
    assert_allclose(N @ N, N, atol=1e-9)
    assert_allclose(J @ N, 0, atol=1e-9)
    assert_allclose(N.T @ J.T, 0, atol=1e-9)
    tau = rng.normal(size=12)
    a = s.acceleration(tau)
    assert_allclose(J @ a + contact_bias(robot, q, v, FEET[:count]), 0, atol=1e-8)
    N_T_M, N_T_h, B = s.consistent
    assert_allclose(N_T_M @ a + N_T_h, B @ tau, atol=1e-8)  # no contact force left


@pytest.mark.paper("H4")
@pytest.mark.paper("B4")
def test_contact_forces_act_on_the_robot_at_any_point_of_any_body(rng):
    """Hands, knees and a point of the trunk of a human: the forces, applied as external wrenches, hold the contacts."""
    robot = support.load("human")
    links = list(robot.links)
    contacts = [(links[k], (0.02 * k, -0.01, 0.03)) for k in (0, 5, len(links) // 2, len(links) - 1)]
    q, v = robot.random_state(rng)
    s = support_dynamics(robot, q, v, contacts, consistency=np.inf)
    tau = rng.normal(size=robot.nv - 6)
    forces = s.contact_force(tau).reshape(-1, 3)
    wrenches: dict[str, Array] = {}
    for (link, point), force in zip(contacts, forces, strict=True):
        arm = robot.pose(q, link)[:3, :3] @ point
        wrenches[link] = wrenches.get(link, 0) + np.concatenate([force, np.cross(arm, force)])
    forces_of_motors = np.concatenate([np.zeros(6), tau])
    a = support.evaluate(robot, "forward_dynamics", q, v, forces_of_motors, *wrenches.values(), frames=tuple(wrenches))
    assert_allclose(a, s.acceleration(tau), rtol=1e-8, atol=1e-7)
    assert_allclose(contact_jacobian(robot, q, contacts) @ a, -contact_bias(robot, q, v, contacts), atol=1e-8)


@pytest.mark.paper("H4")
def test_standing_still_carries_the_weight():
    robot = quadruped()
    q, v = robot.standing(), np.zeros(robot.nv)
    s = support_dynamics(robot, q, v, FEET)
    held = s.inverse_dynamics(np.zeros(robot.nv))
    assert held.residual < 1e-10
    assert_allclose(held.acceleration, 0, atol=1e-9)
    forces = held.contact_force.reshape(4, 3)
    assert_allclose(forces.sum(axis=0), [0, 0, robot.mass * 9.80665], atol=1e-8)
    assert (forces[:, 2] > 0).all()  # pushed up: the force is on the robot


@pytest.mark.paper("H4")
@given(seeds, st.integers(1, 4))
@settings(max_examples=15, deadline=None)
def test_inverse_dynamics_gives_the_acceleration_with_least_torque(seed, count):
    robot, rng = quadruped(), np.random.default_rng(seed)
    q, v = robot.random_state(rng)
    s = support_dynamics(robot, q, v, FEET[:count])
    tau = rng.normal(size=12)
    a = s.acceleration(tau)
    least, near = s.inverse_dynamics(a), s.inverse_dynamics(a, torque=tau)
    assert least.residual < 1e-7
    assert_allclose(least.acceleration, a, rtol=1e-6, atol=1e-6)
    assert_allclose(near.torque, tau, atol=1e-6)
    assert np.linalg.norm(least.torque) <= np.linalg.norm(tau) + 1e-8


@pytest.mark.paper("H4")
@given(seeds, st.integers(0, 4))
@settings(max_examples=15, deadline=None)
def test_internal_forces_move_nothing_and_are_as_many_as_internal_constraints(seed, count):
    """[ETH19, slides 11, 27–30, 32]."""
    robot, rng = quadruped(), np.random.default_rng(seed)
    q, v = robot.random_state(rng)
    s = support_dynamics(robot, q, v, FEET[:count])
    basis, N_tau = s.internal_forces, s.torque_null_space
    internal = analyse_contacts(robot, q, FEET[:count]).internal_constraints
    assert basis.shape == (3 * count, internal)
    assert_allclose(np.trace(N_tau), internal, atol=1e-6)
    assert_allclose(basis.T @ basis, np.eye(internal), atol=1e-9)
    F, tau = basis @ rng.normal(size=internal), rng.normal(size=12)
    squeeze = s.internal_torque(F)
    assert_allclose(N_tau @ squeeze, squeeze, atol=1e-7)
    assert_allclose(s.acceleration(tau + squeeze), s.acceleration(tau), rtol=1e-7, atol=1e-6)
    assert_allclose(s.contact_force(tau + squeeze), s.contact_force(tau) + F, rtol=1e-7, atol=1e-6)
    total, moment = F.reshape(-1, 3).sum(axis=0), np.zeros(3)
    for foot, force in zip(FEET, F.reshape(-1, 3), strict=False):
        moment += np.cross(robot.pose(q, foot)[:3, 3], force)
    assert_allclose(np.concatenate([total, moment]), 0, atol=1e-8)


@pytest.mark.paper("H4")
def test_what_contacts_cannot_give_is_reported(rng):
    """On two point feet nothing commands the rotation about their line."""
    robot, feet = quadruped(), FEET[:2]
    q, v = robot.standing(), np.zeros(robot.nv)
    s = support_dynamics(robot, q, v, feet)
    a = np.zeros(robot.nv)
    result = s.inverse_dynamics(a)
    assert result.residual > 1e-3
    assert np.abs(result.acceleration[3:6]).max() > 0.1  # it falls
    assert_allclose(s.jacobian @ result.acceleration, 0, atol=1e-8)


def test_support_of_batches_is_that_of_each_state(rng):
    robot = quadruped()
    q, v = support.random_states(robot, rng, 3)
    tau, a = rng.normal(size=(3, 12)), rng.normal(size=(3, 18))
    s = support_dynamics(robot, q, v, FEET[:3])
    together = s.inverse_dynamics(a, torque=tau)
    for k in range(3):
        one = support_dynamics(robot, q[k], v[k], FEET[:3])
        assert_allclose(s.acceleration(tau)[k], one.acceleration(tau[k]), rtol=1e-8, atol=1e-8)
        for mine, theirs in zip(together, one.inverse_dynamics(a[k], torque=tau[k]), strict=True):
            assert_allclose(mine[k], theirs, rtol=1e-6, atol=1e-7)
    with pytest.raises(eq.ShapeError, match="one state"):
        _ = s.internal_forces


def test_points_of_one_body_at_a_velocity_that_breaks_them_contradict_each_other(rng):
    robot = quadruped()
    q, v = robot.random_state(rng)
    corners = [("trunk", (0.1, 0.0, 0.0)), ("trunk", (-0.1, 0.0, 0.0))]
    with pytest.raises(ConstraintError, match="6 rows of rank 5.*null_projector"):
        support_dynamics(robot, q, v, corners)
    support_dynamics(robot, *standing_state(robot, rng, corners), corners)


def test_selection_leaves_out_what_no_motor_drives():
    """[ETH19, slide 15]: S = [0 1]; an object that floats has no motor, a follower is driven through its leader."""
    robot = quadruped()
    assert_allclose(selection(robot), np.hstack([np.zeros((12, 6)), np.eye(12)]))
    mixed = jointed()
    # by default neither the ball joint nor the planar one has motors
    assert selection(mixed).shape == (1 + 1, mixed.nv)
    assert selection(mixed, list(mixed.joints)[:1]).shape == (mixed.joints[next(iter(mixed.joints))].type.nv, mixed.nv)
    assert_allclose(selection(mixed, ["tip"])[0], np.eye(mixed.nv)[mixed.joints["wrist"].v.start])
    with pytest.raises(eq.UnknownNameError, match="no joint named 'tail_2'"):
        selection(mixed, ["tail_2"])


# --- the cart pendulum of slides 23–25 --------------------------------------------------------------------------------


def cart_support(axes: str, q: Array, v: Array) -> SupportDynamics:
    return support_dynamics(support.load("cart_pendulum"), q, v, ["tip"], axes=axes, actuated=["swing"])


@pytest.mark.paper("H4")
def test_cart_pendulum_has_the_equations_of_the_slides():
    """[ETH19, slide 23], uniform rod: θ_p = m_p l²/3 about the centre of mass, up to the rod's thickness."""
    robot, q, v, l = support.load("cart_pendulum"), np.array([0.3, 0.4]), np.array([0.5, -0.7]), 0.5
    c, s = np.cos(0.4), np.sin(0.4)
    theta = float(robot.mass_matrix(q)[1, 1]) - l**2
    assert_allclose(theta, l**2 / 3, rtol=1e-2)
    assert_allclose(robot.mass_matrix(q), [[2, l * c], [l * c, l**2 + theta]], atol=1e-12)
    assert_allclose(robot.bias_force(q, v), [-(0.7**2) * l * s, 9.80665 * l * s], atol=1e-12)


@pytest.mark.paper("H4")
@pytest.mark.parametrize("axes", CART_TABLE)
def test_cart_pendulum_under_constraints(axes):
    q = np.array([0.3, 0.4])
    rank, _, free_torques = CART_TABLE[axes]
    s = cart_support(axes, q, np.zeros(2))
    N, B = s.projector, s.consistent[2]
    assert np.linalg.matrix_rank(N, 1e-9) == 2 - rank
    assert_allclose(np.trace(s.torque_null_space), free_torques, atol=1e-9)
    if axes == "xz":  # slide 23: no controllable subspace, τ only changes F
        assert_allclose(s.acceleration([3.0]), 0, atol=1e-9)
        assert np.abs(s.contact_force([3.0]) - s.contact_force([0.0])).max() > 1
    if axes == "z":  # slide 24: N_c spans (1, 0), torque has no influence on motion
        assert_allclose(np.cross(np.r_[N[:, 0], 0], [1, 0, 0]), 0, atol=1e-12)
        assert_allclose(B, 0, atol=1e-12)
        assert_allclose(s.acceleration([3.0]), s.acceleration([0.0]), atol=1e-12)
    if axes == "x":  # slide 25: N_c spans (2l cos φ, −1), and no torque changes the force alone
        direction = N[:, 1] / -N[1, 1]
        assert_allclose(direction, [np.cos(0.4), -1], atol=1e-12)
        assert np.abs(B).max() > 0.1


# --- Pinocchio --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Peer:
    """The same robot in Pinocchio."""

    robot: eq.Robot
    model: object
    converter: convert.Converter

    def constrained(self, q: Array, v: Array, tau: Array, frames, kind: str) -> tuple[Array, Array]:
        """(acceleration, contact forces in world axes) by Pinocchio's proximal solver."""
        pin = pytest.importorskip("pinocchio")
        contact_type = {"point": pin.ContactType.CONTACT_3D, "frame": pin.ContactType.CONTACT_6D}[kind]
        models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for name in frames:
            frame = self.model.frames[self.model.getFrameId(name)]
            contact = pin.RigidConstraintModel(
                contact_type, self.model, frame.parentJoint, frame.placement, pin.LOCAL_WORLD_ALIGNED
            )
            models.append(contact)
            datas.append(contact.createData())
        data = self.model.createData()
        pin.initConstraintDynamics(self.model, data, models, datas)
        q_pin, v_pin = self.converter.to_peer(q, v)
        tau_pin = np.linalg.solve(self.converter.velocity_map(q).T, tau)
        settings = pin.ProximalSettings(1e-15, 1e-15, 0.0, 50)
        a = pin.constraintDynamics(self.model, data, q_pin, v_pin, tau_pin, models, datas, settings)
        return self.converter.acceleration_from_peer(q_pin, v_pin, a), np.array(data.lambda_c)


def peer_of(name: str) -> Peer:
    pin = pytest.importorskip("pinocchio")
    robot = support.load(name)
    if name == "quadruped":
        bare = {key: replace(link, visuals=(), collisions=()) for key, link in robot.model.links.items()}
        model = pin.buildModelFromXML(write_urdf(replace(robot.model, links=bare)), pin.JointModelFreeFlyer())
    else:
        model = pin.buildModelFromUrdf(str(support.description(name)), pin.JointModelFreeFlyer())
    model.gravity.linear = np.array(robot.model.gravity)
    return Peer(robot, model, convert.pinocchio(robot, model))


@pytest.mark.paper("H4")
@pytest.mark.parametrize(
    ("name", "contacts"),
    [("quadruped", FEET[:1]), ("quadruped", FEET[1:]), ("solo12", ("FL_FOOT", "HR_FOOT", "FR_FOOT"))],
)
def test_contact_forces_are_those_of_pinocchio(name, contacts, rng):
    peer = peer_of(name)
    for _ in range(3):
        q, v = peer.robot.random_state(rng)
        tau = 5 * rng.normal(size=peer.robot.nv - 6)
        s = support_dynamics(peer.robot, q, v, contacts)
        a, forces = peer.constrained(q, v, np.concatenate([np.zeros(6), tau]), contacts, "point")
        assert support.relative_error(s.acceleration(tau), a) < 1e-9
        assert support.relative_error(s.contact_force(tau), forces) < 1e-9


@pytest.mark.paper("H4")
def test_contact_wrenches_are_those_of_pinocchio(rng):
    """Pinocchio holds the spatial acceleration of a frame, we p̈ and ω̇: the same where the velocity keeps the
    contact."""
    peer, foot = peer_of("quadruped"), ["front_left_foot"]
    q, v = peer.robot.random_state(rng)
    J = contact_jacobian(peer.robot, q, foot, "frame")
    v = ConstrainedDynamics(peer.robot.mass_matrix(q), np.zeros(18), J, np.zeros(6)).null_projector @ v
    assert np.abs(v[:6]).max() > 1e-2
    tau = rng.normal(size=12)
    s = support_dynamics(peer.robot, q, v, foot, "frame")
    a, wrench = peer.constrained(q, v, np.concatenate([np.zeros(6), tau]), foot, "frame")
    assert support.relative_error(s.acceleration(tau), a) < 1e-9
    assert support.relative_error(s.contact_force(tau), wrench) < 1e-9


# --- B7: a robot and what it handles, as one system -------------------------------------------------------------------


HANDLING = """
<mujoco><compiler angle="radian"/><default><geom type="capsule" size="0.04"/></default><worldbody>
  <body name="trunk" pos="0 0 1"><freejoint/><geom type="box" size="0.1 0.2 0.3"/>
    <body name="upper" pos="0 0.2 0.2"><joint name="shoulder" type="ball"/><geom fromto="0 0 0 0.3 0 0"/>
      <body name="lower" pos="0.3 0 0"><joint name="elbow" axis="0 1 0"/><geom fromto="0 0 0 0.25 0 0"/>
        <site name="hand" pos="0.25 0 0"/>{held}</body></body></body>
  {free}</worldbody></mujoco>
"""
PARCEL = '<body name="parcel" pos="0.25 0 0">{joint}<geom type="box" size="0.1 0.15 0.2" pos="0.1 0 0"/></body>'


@functools.cache
def with_parcel(kind: str) -> eq.Robot:
    """The robot with the parcel floating beside it, or rigidly in its hand."""
    if kind == "free":
        return eq.load(HANDLING.format(held="", free=PARCEL.format(joint="<freejoint/>")))
    return eq.load(HANDLING.format(held=PARCEL.format(joint=""), free=""))


@pytest.mark.paper("B7")
def test_a_parcel_in_the_hand_moves_as_if_it_were_part_of_the_arm(rng):
    """[BK12, Sec. VII]: robot and free-floating object as one tree, tied by a constraint; against one body for both."""
    free, fixed = with_parcel("free"), with_parcel("fixed")
    assert (free.nv, fixed.nv) == (16, 10)
    grasp = closure(free, "weld", "hand", "parcel")
    q_fixed, v_fixed = fixed.random_state(rng)
    q = np.concatenate([q_fixed, [0.3, 0.1, 0.9, 1, 0, 0, 0]])
    q = close_loops(free, q, loops=[grasp], held=["shoulder", "elbow"])
    q[:12] = q_fixed  # the base and the arm stay, the parcel comes to the hand
    X_WP = fixed.pose(q_fixed, "parcel")
    q[12:15], q[15:19] = X_WP[:3, 3], quaternions.from_rotation(X_WP[:3, :3])
    v = np.concatenate([v_fixed, fixed.velocity(q_fixed, v_fixed, "parcel")])
    rows = loop_constraints(free, q, v, loops=[grasp])
    assert np.abs(rows.violation).max() < 1e-12
    assert_allclose(rows.J @ v, 0, atol=1e-12)
    tau = rng.normal(size=4)
    d = free.equations_of_motion(q, v).constrained(rows.J, rows.bias)
    a = d.acceleration(selection(free, ["shoulder", "elbow"]).T @ tau)
    expected = fixed.forward_dynamics(q_fixed, v_fixed, np.concatenate([np.zeros(6), tau]))
    assert_allclose(a[:10], expected, rtol=1e-9, atol=1e-9)
    spin = fixed.bias_acceleration(q_fixed, v_fixed, "parcel") + fixed.jacobian(q_fixed, "parcel") @ expected
    assert_allclose(a[10:], spin, rtol=1e-9, atol=1e-9)


@pytest.mark.paper("B7")
def test_close_loops_brings_the_hand_to_a_parcel(rng):
    free = with_parcel("free")
    grasp = closure(free, "connect", "hand", "parcel")
    q = free.neutral()
    q[12:15] = 0.3, 0.3, 0.4
    closed = close_loops(
        free, q, loops=[grasp], held=[name for name in free.joints if name not in ("shoulder", "elbow")]
    )
    assert_allclose(closed[12:], q[12:], atol=1e-15)
    assert_allclose(free.pose(closed, "hand")[:3, 3], free.pose(closed, "parcel")[:3, 3], atol=1e-10)


@pytest.mark.paper("B7")
def test_grasp_forces_are_internal_to_the_pair(rng):
    """Action and reaction, the grasp open or closed: it changes no momentum of the pair."""
    free = with_parcel("free")
    grasp = closure(free, "weld", "hand", "parcel")
    q, v = free.random_state(rng)
    rows = loop_constraints(free, q, v, loops=[grasp])
    d = free.equations_of_motion(q, v).constrained(rows.J, rows.bias)
    tau = selection(free, ["shoulder", "elbow"]).T @ rng.normal(size=4)
    pull = d.acceleration(tau) - free.forward_dynamics(q, v, tau)
    assert np.abs(pull).max() > 1
    assert_allclose(free.momentum_matrix(q) @ pull, 0, atol=1e-8 * free.mass)


@pytest.mark.paper("B7")
def test_momentum_of_robot_and_object_changes_by_weight_alone(rng):
    free = with_parcel("free")
    q, v = free.random_state(rng)
    rate = free.momentum_matrix(q) @ free.forward_dynamics(q, v, np.zeros(free.nv)) + free.momentum_bias(q, v)
    assert_allclose(rate, [0, 0, -9.80665 * free.mass, 0, 0, 0], atol=1e-8 * free.mass)


@pytest.mark.paper("B7")
def test_an_object_of_the_builder_floats_beside_a_fixed_arm(rng):
    """Hung from a fixed link, so that the arm's base stays fixed; the object then falls on its own."""
    builder = eq.RobotBuilder("arm and cube", floating=False)
    builder.link("mount").link("rod", mass=1.0, com=(0, 0, 0.2), inertia=(0.01, 0.01, 0.001))
    builder.joint("swing", "ball", "mount", "rod")
    builder.link("cube", mass=0.5, inertia=(1e-3, 1e-3, 1e-3)).joint("cube", "floating", "mount", "cube")
    robot = builder.build()
    assert not robot.floating
    q, v = robot.random_state(rng)
    a = robot.forward_dynamics(q, v, np.zeros(robot.nv))
    assert_allclose(a[3:], [0, 0, -9.80665, 0, 0, 0], atol=1e-9)
    analysis = analyse_contacts(robot, q, ["cube"], base=["cube"])
    assert (analysis.base_rank, analysis.internal_constraints) == (3, 0)


# --- kinds and axes of their own; the slide's velocity ----------------------------------------------------------------


@pytest.mark.paper("H2")
def test_every_contact_may_have_its_own_kind_and_axes(rng):
    """Flat, point, along a slope's normal, in one call: rows and bias are those of each alone."""
    robot = eq.load("human")
    q, v = robot.random_state(rng)
    slope = np.array([0.0, 0.6, 0.8])
    flat, point, normal = (
        RigidContact("left_foot", kind="frame"),
        ("right_hand", (0, 0, -0.05)),
        RigidContact("right_foot", axes=[slope]),
    )
    floor = RigidContact("left_hand", (0.0, 0.0, -0.1), axes="z")
    J, bias = (
        contact_jacobian(robot, q, [flat, point, normal, floor]),
        contact_bias(robot, q, v, [flat, point, normal, floor]),
    )
    assert J.shape == (6 + 3 + 1 + 1, robot.nv)
    assert_allclose(J[:6], robot.jacobian(q, "left_foot"))
    assert_allclose(J[6:9], point_jacobian(robot, q, *point))
    assert_allclose(J[9], slope @ robot.jacobian(q, "right_foot")[:3], atol=1e-12)
    assert_allclose(J[10], point_jacobian(robot, q, "left_hand", (0.0, 0.0, -0.1))[2], atol=1e-12)
    h = 1e-5
    ahead, behind = (
        contact_jacobian(robot, robot.integrate(q, v, t), [flat, point, normal, floor]) @ v for t in (h, -h)
    )
    assert_allclose(bias, (ahead - behind) / (2 * h), atol=1e-6 * np.abs(bias).max())
    found = analyse_contacts(robot, q, [flat, point, normal, floor])
    assert found.rank == 11
    assert found.contacts == ("left_foot", "right_hand (0, 0, -0.05)", "right_foot", "left_hand (0, 0, -0.1)")


@pytest.mark.parametrize("axes", ["", "xw", [1.0, 0.0, 0.0], [[0.0, 0.0, 0.0]], [[np.nan, 0.0, 1.0]]], ids=str)
def test_axes_that_are_none(axes):
    robot = eq.load("quadruped")
    with pytest.raises(eq.ShapeError, match="axes"):
        contact_jacobian(robot, robot.standing(), [RigidContact(FEET[0], axes=axes)])


@pytest.mark.paper("H1")
def test_the_slides_velocity_has_its_angular_part_in_body_axes(rng):
    """u = (ṗ in the world, ω in the base): q̇ = E u, ṙ = J u, and the same for a batch."""
    robot = eq.load("quadruped")
    q, v = map(np.array, zip(*(robot.random_state(rng) for _ in range(4)), strict=True))
    u = v.copy()
    R = np.stack([robot.pose(one, robot.base_link)[:3, :3] for one in q])
    u[:, 3:6] = np.einsum("bji,bj->bi", R, v[:, 3:6])
    E, E_fb = coordinate_rates(robot, q, "body"), velocity_from_rates(robot, q, "body")
    assert_allclose(np.einsum("bij,bj->bi", E, u), np.einsum("bij,bj->bi", coordinate_rates(robot, q), v), atol=1e-12)
    assert_allclose(E_fb @ E, np.broadcast_to(np.eye(robot.nv), (4, robot.nv, robot.nv)), atol=1e-12)
    J = point_jacobian(robot, q, FEET[1], (0.1, 0.0, 0.2), angular="body")
    assert_allclose(
        np.einsum("bij,bj->bi", J, u), np.einsum("bij,bj->bi", point_jacobian(robot, q, FEET[1], (0.1, 0.0, 0.2)), v)
    )
    with pytest.raises(eq.UnknownNameError, match="world"):
        coordinate_rates(robot, q, "base")
