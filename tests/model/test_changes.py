"""Robots with other limits, masses and payloads; placeholders that are named when a robot is loaded."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support import load
from texts import told

import equipoise as eq

SOLID = '<inertial><mass value="{}"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'


def chain(limits: list[str], masses: list[float] | None = None, kind: str = "revolute") -> str:
    """URDF text of links in a row, their joints j0, j1, … with those limits."""
    masses = masses or [1.0] * (len(limits) + 1)
    links = "".join(f'<link name="l{k}">{SOLID.format(mass)}</link>' for k, mass in enumerate(masses))
    joints = "".join(
        f'<joint name="j{k}" type="{kind}"><parent link="l{k}"/><child link="l{k + 1}"/><origin xyz="0 0 0.3"/>'
        f'<axis xyz="{k % 2} {1 - k % 2} 0"/><limit {limit}/></joint>'
        for k, limit in enumerate(limits)
    )
    return f'<robot name="chain">{links}{joints}</robot>'


# --- placeholders -----------------------------------------------------------------------------------------------------

GOOD = 'lower="-1" upper="1" effort="5" velocity="2"'


@pytest.mark.parametrize(
    "bad, what, expected",
    [
        ('lower="-1" upper="1" effort="1e9" velocity="2"', "effort limits that are placeholders, taken as "
            "none", (np.inf, 2.0)),
        ('lower="-1" upper="1" effort="1000" velocity="2"', "effort limits that are most likely placeholders",
            (1000.0, 2.0)),
        ('lower="-1" upper="1" effort="5" velocity="0"', "velocity limits that are placeholders, taken as "
            "none", (5.0, np.inf)),
        ('lower="-1" upper="1" effort="5" velocity="1e7"', "velocity limits that are placeholders", (5.0, np.inf)),
        ('lower="-0.001" upper="0.001" effort="5" velocity="2"', "hardly any room to move, used as it is", (5.0, 2.0)),
        # among others it says that there is no motor
        ('lower="-1" upper="1" effort="0" velocity="2"', None, (0.0, 2.0)),
        (GOOD, None, (5.0, 2.0)),
    ],
)  # fmt: skip
def test_placeholders_are_named_once_with_what_is_assumed(bad, what, expected):
    robot, doubts = told(chain([GOOD, bad, GOOD]))
    assert (robot.joints["j1"].limits.effort, robot.joints["j1"].limits.velocity) == expected
    assert (robot.joints["j0"].limits.effort, robot.joints["j0"].limits.velocity) == (5.0, 2.0)
    assert len(doubts) == (what is not None) and all(
        what in doubt and "'j1' (" in doubt and "with_limits" in doubt for doubt in doubts
    )
    if what is not None:
        with pytest.raises(eq.ModelError, match=what.split(",")[0]):
            eq.load(chain([GOOD, bad, GOOD]), strict=True)


def test_efforts_that_are_all_zero_are_none():
    robot, doubts = told(chain(['lower="-1" upper="1" effort="0" velocity="2"'] * 2))
    assert np.isinf(robot.limits.effort).all() and len(doubts) == 1 and "2 joints have effort limits" in doubts[0]


def test_small_slides_are_not_placeholders():
    robot, doubts = told(chain(['lower="0" upper="0.003" effort="5" velocity="2"'], kind="prismatic"))
    assert doubts == [] and robot.joints["j0"].limits.upper == 0.003


@pytest.mark.parametrize("joints, expected", [(6, 1), (5, 0)])
def test_the_mass_of_a_whole_robot_in_one_link_is_named(joints, expected):
    _, doubts = told(chain([GOOD] * joints, [100.0, *[0.5] * joints]))
    assert len(doubts) == expected
    assert all("link 'l0' has 100 of 103 kg" in doubt and "with_inertia" in doubt for doubt in doubts)


def test_doubts_are_told_once_per_load():
    robot, doubts = told(chain([GOOD, 'lower="0" upper="0" effort="5" velocity="2"', GOOD]))
    assert len(doubts) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot.with_locked(["j0"]).with_passive(["j2"]).with_payload("l1", 1.0).with_limits(effort=3.0)


# --- limits -----------------------------------------------------------------------------------------------------------


def test_limits_of_all_joints_and_of_some():
    robot = load("quadruped")
    weak = robot.with_limits(effort=3.0)
    assert_array_equal(weak.limits.effort[6:], 3.0)
    assert_array_equal(weak.limits.lower, robot.limits.lower)
    name = "front_left_knee"
    one = robot.with_limits([name], lower=-0.5, upper=np.inf, velocity=2.0)
    joint = one.joints[name]
    assert (joint.limits.lower, joint.limits.upper, joint.limits.velocity) == (-0.5, np.inf, 2.0)
    assert joint.limits.effort == robot.joints[name].limits.effort
    others = np.delete(np.arange(robot.nv), joint.v.start)
    assert_array_equal(one.limits.velocity[others], robot.limits.velocity[others])
    assert robot.joints[name].limits != joint.limits  # a robot is frozen
    assert one.tree.digest == robot.tree.digest  # no equation knows limits: nothing is compiled anew


@pytest.mark.parametrize(
    "joints, limits, error, message",
    [
        (["elbow"], dict(effort=1.0), eq.UnknownNameError, "no joint named 'elbow'"),
        (None, dict(effort=np.nan), eq.ModelError, "effort is zero or more"),
        (None, dict(velocity=-1.0), eq.ModelError, "velocity is zero or more"),
        (["front_left_knee"], dict(lower=9.0), eq.ModelError, "needs lower ≤ upper"),
        (["front_left_knee"], dict(upper=np.nan), eq.ModelError, "needs lower ≤ upper"),
        ("front_left_knee", dict(effort=1.0), eq.ModelError, "list of joint names"),
    ],
)
def test_limits_nobody_can_have(joints, limits, error, message):
    with pytest.raises(error, match=message):
        load("quadruped").with_limits(joints, **limits)


def test_a_ball_joint_has_no_range_but_an_effort():
    builder = eq.RobotBuilder("b", floating=False).link("a").link("b", mass=1.0, inertia=(0.1, 0.1, 0.1))
    robot = builder.joint("hip", "ball", "a", "b").build()
    assert_array_equal(robot.with_limits(["hip"], effort=2.0).limits.effort, 2.0)
    with pytest.raises(eq.ModelError, match="has no lower and upper limit"):
        robot.with_limits(["hip"], lower=-1.0)


# --- masses -----------------------------------------------------------------------------------------------------------


def test_a_payload_is_one_more_body_on_the_link(rng):
    """The law: kinetic energy and weight are those of the robot and of the payload by itself."""
    robot = load("quadruped")
    link, mass, com, inertia = "front_left_shank", 2.0, np.array([0.05, -0.1, 0.2]), np.diag([0.02, 0.03, 0.04])
    if link not in robot.links:
        link = list(robot.links)[-1]
    loaded = robot.with_payload(link, mass, com, inertia)
    q, v = robot.random_state(rng)
    X, V = robot.pose(q, link), robot.velocity(q, v, link)
    R, w = X[:3, :3], V[3:]
    speed = V[:3] + np.cross(w, R @ com)
    more = mass * speed @ speed / 2 + w @ R @ inertia @ R.T @ w / 2
    assert_allclose(loaded.kinetic_energy(q, v), robot.kinetic_energy(q, v) + more, rtol=1e-12)
    higher = mass * 9.80665 * (X[:3, 3] + R @ com)[2]
    assert_allclose(loaded.potential_energy(q), robot.potential_energy(q) + higher, rtol=1e-12)
    assert loaded.mass == pytest.approx(robot.mass + mass) and robot.with_payload(link, 0.0).mass == robot.mass


def test_a_point_mass_is_the_default_payload(rng):
    robot = load("arm7")
    link = list(robot.links)[-1]
    q = robot.random_state(rng)[0]
    assert_allclose(
        robot.with_payload(link, 1.5, (0.1, 0.2, 0.3)).mass_matrix(q),
        robot.with_payload(link, 1.5, (0.1, 0.2, 0.3), np.zeros((3, 3))).mass_matrix(q),
    )


def test_another_inertia_replaces_that_of_the_link(rng):
    robot = load("arm7")
    link = list(robot.links)[-2]
    given = robot.links[link].inertia
    assert given is not None
    twice = robot.with_inertia(link, 2 * given.mass, given.com, 2 * given.matrix)
    q = robot.random_state(rng)[0]
    same = robot.with_payload(link, given.mass, given.com, given.matrix)
    assert_allclose(twice.mass_matrix(q), same.mass_matrix(q), rtol=1e-12)
    assert twice.tree.digest != robot.tree.digest


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda r: r.with_payload("hand", 1.0), eq.UnknownNameError, "no link named 'hand'"),
        (lambda r: r.with_inertia("hand", 1.0, (0, 0, 0), (1, 1, 1)), eq.UnknownNameError, "no link named 'hand'"),
        (lambda r: r.with_payload(next(iter(r.links)), -1.0), eq.ModelError, "zero or more"),
        (lambda r: r.with_payload(next(iter(r.links)), np.nan), eq.ModelError, "finite number of kg"),
        (lambda r: r.with_payload(next(iter(r.links)), 1.0, (0, np.nan, 0)), eq.EquipoiseError, "com"),
        (lambda r: r.with_inertia(list(r.links)[-1], 1.0, (0, 0, 0), (1, 1, 5)), eq.ModelError, "not physical"),
        (lambda r: r.with_inertia(list(r.links)[-1], 1.0), eq.ModelError, "no inertia"),
    ],
)
def test_masses_nobody_can_have(call, error, message):
    with pytest.raises(error, match=message):
        call(load("arm7"))


def test_a_moving_link_cannot_lose_its_mass():
    with pytest.raises(eq.ModelError, match="no mass and carries none"):
        eq.load(chain([GOOD])).with_inertia("l1", 0.0)
