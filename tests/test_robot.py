"""The public face: names, frozen robots, configurations, relatives of a robot, users' own functions, errors that
teach."""

from __future__ import annotations

import dataclasses
import itertools
import json
import subprocess
import sys
from types import MappingProxyType

import casadi
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support import load

import equipoise as eq
from equipoise.model.shapes import box
from equipoise.model.types import Mimic

ROBOT_MEMBERS = (
    "name",
    "nq",
    "nv",
    "mass",
    "limits",
    "joints",
    "links",
    "frames",
    "with_frame",
    "with_locked",
    "with_armature",
    "actuated",
    "selection_matrix",
    "with_passive",
    "with_actuated",
    "neutral",
    "random_state",
    "standing",
    "integrate",
    "difference",
    "pose",
    "poses",
    "jacobian",
    "velocity",
    "bias_acceleration",
    "mass_matrix",
    "coriolis_matrix",
    "gravity",
    "bias_force",
    "inverse_dynamics",
    "forward_dynamics",
    "joint_friction",
    "kinetic_energy",
    "potential_energy",
    "com",
    "com_jacobian",
    "com_bias",
    "momentum",
    "momentum_matrix",
    "momentum_bias",
    "equations_of_motion",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
    "integrate_derivatives",
)
HEAVY = ("numpy", "scipy", "casadi", "llvmlite", "mujoco", "yourdfpy", "matplotlib", "rich", "typer", "daqp")
BOX = dict(mass=2.0, inertia=(0.1, 0.2, 0.25))

# joints and links in an order that is not that of the tree; the follower comes before its leader
TANGLED = """
<robot name="tangled">
  <link name="tip">{inertial}</link><link name="root">{inertial}</link><link name="middle">{inertial}</link>
  <link name="finger">{inertial}</link><link name="plate"/>
  <joint name="second" type="revolute"><parent link="middle"/><child link="tip"/><origin xyz="0 0 0.5"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" velocity="3" effort="40"/><dynamics damping="0.5" friction="0.25"/></joint>
  <joint name="follower" type="revolute"><parent link="root"/><child link="finger"/><axis xyz="1 0 0"/>
    <limit lower="-9" upper="9" velocity="9" effort="9"/><mimic joint="first" multiplier="-2" offset="0.3"/>
    <dynamics damping="0.1" friction="0.2"/></joint>
  <joint name="first" type="continuous"><parent link="root"/><child link="middle"/><origin xyz="0.1 0 0"/>
    <axis xyz="0 0 1"/>
    <limit velocity="5" effort="60"/><dynamics damping="2" friction="1"/></joint>
  <joint name="bolt" type="fixed"><parent link="tip"/><child link="plate"/><origin xyz="0 0 0.2"/></joint>
</robot>
""".format(
    inertial='<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
)


@pytest.fixture(scope="module")
def tangled() -> eq.Robot:
    return eq.load(TANGLED)


@pytest.fixture(scope="module")
def quadruped() -> eq.Robot:
    return load("quadruped")


@pytest.fixture(scope="module")
def arm() -> eq.Robot:
    return load("arm6")


# Names


def test_every_public_name_is_there():
    for name in eq.__all__:
        assert getattr(eq, name) is not None
    assert set(eq.__all__) <= set(dir(eq))
    assert {"load", "Robot", "RobotBuilder", "EquationsOfMotion", "compile", "convert", "limit_threads"} <= set(
        eq.__all__
    )


def test_errors_have_one_root():
    for name in ("ModelError", "ShapeError", "StateError", "UnknownNameError", "CompileError"):
        assert issubclass(getattr(eq, name), eq.EquipoiseError)
    assert issubclass(eq.ModelWarning, UserWarning)


def test_a_robot_has_its_members():
    for name in ROBOT_MEMBERS:
        assert hasattr(eq.Robot, name), name


def test_a_name_nobody_has_lists_the_others():
    with pytest.raises(AttributeError, match=r"no attribute 'laod'; it offers .*load"):
        eq.laod  # noqa: B018


def test_importing_is_light():
    script = f"import sys, json, equipoise; print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    output = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, timeout=60).stdout
    assert json.loads(output) == []


def test_loading_needs_neither_symbols_nor_llvm_nor_physics():
    heavy = [name for name in HEAVY if name != "numpy"]
    script = (
        f"import sys, json, equipoise as eq; eq.load('arm6'); print(json.dumps([m for m in {heavy!r} if m in "
        "sys.modules]))"
    )
    output = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, timeout=60).stdout
    assert json.loads(output) == []


# Frozen


def test_a_robot_is_frozen(quadruped):
    for name in ("model", "tree", "name", "nq", "mass", "joints", "anything"):
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
            setattr(quadruped, name, 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        quadruped.joints["front_left_knee"].name = "other"
    with pytest.raises(dataclasses.FrozenInstanceError):
        quadruped.limits.lower = 0


def test_mappings_are_read_only(quadruped):
    for mapping in (quadruped.joints, quadruped.links, quadruped.frames):
        assert isinstance(mapping, MappingProxyType)
        with pytest.raises(TypeError):
            mapping["new"] = 1
        with pytest.raises(TypeError):
            del mapping[next(iter(mapping))]


def test_arrays_are_read_only(quadruped):
    limits = quadruped.limits
    arrays = [limits.lower, limits.upper, limits.velocity, limits.effort, quadruped.frames["front_left_foot"].X]
    arrays += [quadruped.joints["front_left_knee"].origin, quadruped.links["trunk"].inertia.matrix]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_configurations_are_the_users_own(quadruped):
    quadruped.neutral()[:] = 7
    quadruped.standing()[:] = 7
    assert_array_equal(quadruped.neutral()[:7], [0, 0, 0, 1, 0, 0, 0])
    assert quadruped.standing()[2] < 1


# What it is


def test_numbers_of_a_robot(quadruped, arm):
    assert (quadruped.name, quadruped.nq, quadruped.nv, quadruped.floating) == ("quadruped", 19, 18, True)
    assert (arm.nq, arm.nv, arm.floating) == (6, 6, False)
    assert_allclose(quadruped.mass, 14 + 4 * (1.2 + 1.6 + 0.45))
    assert repr(quadruped) == "<Robot 'quadruped': 13 links, 12 joints, floating base, nq=19, nv=18>"


def test_everything_is_in_the_order_of_the_file(tangled):
    assert list(tangled.joints) == ["second", "follower", "first"]
    assert list(tangled.links) == ["tip", "root", "middle", "finger", "plate"]
    assert list(tangled.frames) == list(tangled.links)


def test_slices_of_the_joints(tangled, quadruped):
    assert (tangled.joints["second"].q, tangled.joints["second"].v) == (slice(7, 8), slice(6, 7))
    assert (tangled.joints["first"].q, tangled.joints["first"].v) == (slice(8, 9), slice(7, 8))
    assert tangled.joints["follower"].q == tangled.joints["first"].q
    assert tangled.joints["follower"].v == tangled.joints["first"].v
    places = [joint.q for joint in quadruped.joints.values()]
    assert places == [slice(k, k + 1) for k in range(7, 19)]


def test_a_slice_moves_its_joint_and_no_other(quadruped):
    q = quadruped.neutral()
    q[quadruped.joints["front_left_knee"].q] = -1.0
    for frame in quadruped.frames:
        moved = np.abs(quadruped.pose(q, frame) - quadruped.pose(quadruped.neutral(), frame)).max() > 1e-9
        assert moved == (frame in ("front_left_shank", "front_left_foot"))


def test_limits_are_arrays(tangled, quadruped):
    limits = tangled.limits
    assert_array_equal(limits.lower, [-np.inf] * 7 + [-1, -np.inf])
    assert_array_equal(limits.upper, [np.inf] * 7 + [2, np.inf])
    assert_array_equal(limits.velocity, [np.inf] * 6 + [3, 5])
    assert_array_equal(limits.effort, [np.inf] * 6 + [40, 60])
    knees = [quadruped.joints[name] for name in quadruped.joints if name.endswith("knee")]
    assert all(quadruped.limits.upper[joint.q] == 0 and quadruped.limits.effort[joint.v] == 120 for joint in knees)


# Configurations


def test_neutral(tangled):
    assert_array_equal(tangled.neutral(), [0, 0, 0, 1, 0, 0, 0, 0, 0])
    assert_array_equal(tangled.pose(tangled.neutral(), "root"), np.eye(4))


def points_of(shape) -> np.ndarray:
    """Points all over the surface of a shape, in the axes of its link."""
    turns, heights = np.meshgrid(np.linspace(0, 2 * np.pi, 361), np.linspace(-1, 1, 201))
    ring = np.stack([np.cos(turns), np.sin(turns), np.zeros_like(turns)], axis=-1).reshape(-1, 3)
    up = heights.reshape(-1, 1) * [[0, 0, 1]]
    ball = np.sqrt(1 - up[:, 2:] ** 2) * ring + up
    if shape.kind == "box":
        points = np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * shape.size
    elif shape.kind == "cylinder":
        points = shape.size[0] * ring + shape.size[1] / 2 * up
    elif shape.kind == "capsule":
        points = shape.size[0] * ball + shape.size[1] / 2 * np.sign(up)
    else:
        points = np.array(shape.size) * ball
    return points @ shape.X[:3, :3].T + shape.X[:3, 3]


@pytest.mark.parametrize("name", ["quadruped", "human"])
def test_standing_touches_the_ground_with_the_feet_alone(name):
    robot = load(name)
    q = robot.standing()
    lowest = {}
    for link in robot.links.values():
        X = robot.pose(q, link.name)
        points = np.concatenate([points_of(shape) for shape in link.collisions])
        lowest[link.name] = (points @ X[:3, :3].T + X[:3, 3])[:, 2].min()
    touching = {link for link, height in lowest.items() if height < 1e-3}
    assert_allclose(min(lowest.values()), 0, atol=1e-5)
    assert touching == {link for link in robot.links if link.endswith("shank" if name == "quadruped" else "foot")}
    assert robot.com(q)[2] > 0.3


def test_the_lowest_point_of_a_leaning_box_touches_the_ground():
    turn = np.array([0.9, 0.3, -0.2, 0.1])
    turn /= np.linalg.norm(turn)
    builder = eq.RobotBuilder("crate").link("crate", mass=1.0, shapes=[box(0.4, 0.6, 1.0, position=(0.1, 0, 0))])
    robot = builder.standing({"base": (1, 2, 30, *turn)}).build()
    X = robot.pose(robot.standing(), "crate")
    corners = [np.array([0.1, 0, 0]) + np.array(s) * (0.2, 0.3, 0.5) for s in itertools.product((-1, 1), repeat=3)]
    assert_allclose(min((X[:3, :3] @ corner + X[:3, 3])[2] for corner in corners), 0, atol=1e-14)
    assert_allclose(X[:2, 3], [1, 2])


def test_random_states_are_states(quadruped):
    rng = np.random.default_rng(0)
    limits = quadruped.limits
    for _ in range(50):
        q, v = quadruped.random_state(rng)
        assert ((q >= limits.lower) & (q <= limits.upper)).all()
        assert_allclose(np.linalg.norm(q[3:7]), 1, rtol=1e-15)
        assert np.abs(v[:6]).min() > 0
        quadruped.potential_energy(q)


def test_random_states_repeat_with_their_generator(quadruped):
    first, second = (quadruped.random_state(np.random.default_rng(5)) for _ in range(2))
    assert_array_equal(first[0], second[0])
    assert_array_equal(first[1], second[1])


def test_integrate_and_difference_are_inverse(quadruped):
    rng = np.random.default_rng(1)
    q, v = map(np.array, zip(*(quadruped.random_state(rng) for _ in range(20)), strict=True))
    assert_allclose(quadruped.difference(q, quadruped.integrate(q, v, 0.1)), 0.1 * v, atol=1e-12)
    assert_allclose(quadruped.integrate(q[0], v[0]), quadruped.integrate(q[0], v[0], 1.0))
    steps = np.linspace(0, 0.5, 20)
    together = quadruped.integrate(q, v, steps)
    assert_allclose(together[7], quadruped.integrate(q[7], v[7], steps[7]), atol=1e-14)


# Relatives


def test_a_frame_more(arm):
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]], [0.1, 0.2, 0.3]
    q = np.random.default_rng(2).normal(size=6)
    robot = arm.with_frame("camera", "tool", X)
    assert "camera" not in arm.frames
    assert list(robot.frames) == [*arm.frames, "camera"]
    assert_allclose(robot.pose(q, "camera"), arm.pose(q, "tool") @ X, atol=1e-14)
    again = robot.with_frame("lens", "camera", X)
    assert_allclose(again.pose(q, "lens"), arm.pose(q, "tool") @ X @ X, atol=1e-14)
    assert_array_equal(robot.mass_matrix(q), arm.mass_matrix(q))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("camera", "tol", np.eye(4)), eq.UnknownNameError, r"no frame named 'tol'. Did you mean 'tool'\?"),
        (("camera", "tool", np.eye(3)), eq.ShapeError, r"must be a pose: 4×4"),
        (("camera", "tool", 2 * np.eye(4)), eq.ShapeError, "must be a pose"),
        (("camera", "tool", np.full((4, 4), np.nan)), eq.ShapeError, "must be a pose"),
        (("tool", "link_1", np.eye(4)), eq.ModelError, "two frames are named 'tool'"),
    ],
)
def test_a_frame_that_cannot_be(arm, arguments, error, message):
    with pytest.raises(error, match=message):
        arm.with_frame(*arguments)


def test_locked_joints_are_part_of_the_links(arm):
    robot = arm.with_locked({"joint_2": 0.4, "joint_5": -0.7})
    assert list(robot.joints) == ["joint_1", "joint_3", "joint_4", "joint_6"]
    assert (robot.nq, robot.nv) == (4, 4)
    assert_allclose(robot.mass, arm.mass)
    q = np.random.default_rng(3).normal(size=6)
    q[1], q[4] = 0.4, -0.7
    free = [0, 2, 3, 5]
    assert_allclose(robot.pose(q[free], "tool"), arm.pose(q, "tool"), atol=1e-14)
    assert_allclose(robot.mass_matrix(q[free]), arm.mass_matrix(q)[np.ix_(free, free)], atol=1e-13)
    assert_allclose(robot.gravity(q[free]), arm.gravity(q)[free], atol=1e-12)


def test_the_ways_to_lock_agree(arm):
    q = np.random.default_rng(4).normal(size=3)
    ways = [
        arm.with_locked(["joint_1", "joint_2", "joint_6"]),
        eq.load("arm6", joints=["joint_3", "joint_4", "joint_5"]),
        eq.load("arm6", locked=["joint_6", "joint_1", "joint_2"]),
        eq.load("arm6", locked={"joint_1": 0, "joint_2": [0.0], "joint_6": 0.0}),
        eq.load("arm6", joints=["joint_5", "joint_4", "joint_3", "joint_6"], locked=["joint_6"]),
    ]
    for robot in ways:
        assert list(robot.joints) == ["joint_3", "joint_4", "joint_5"]
        assert_array_equal(robot.mass_matrix(q), ways[0].mass_matrix(q))


@pytest.mark.parametrize("lock", [lambda r: r.with_locked(["joint_7"]), lambda r: eq.load("arm6", joints=["joint_7"])])
def test_joints_that_are_not_there(arm, lock):
    with pytest.raises(
        eq.UnknownNameError, match=r"no joint named 'joint_7'. Did you mean 'joint_\d'.* There are: joint_1,"
    ):
        lock(arm)


@pytest.mark.parametrize("position", [np.nan, [1.0, 2.0]])
def test_positions_nobody_can_lock_at(arm, position):
    with pytest.raises(eq.ModelError, match="joint 'joint_1' .* is locked by 1 finite number"):
        arm.with_locked({"joint_1": position})


def test_followers_follow(tangled):
    q = tangled.neutral()
    q[tangled.joints["first"].q] = 0.5
    angle = -2 * 0.5 + 0.3
    R = tangled.pose(q, "finger")[:3, :3]
    assert_allclose(R, [[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]], atol=1e-15)
    v = np.zeros(8)
    v[tangled.joints["first"].v] = 1.5
    assert_allclose(tangled.velocity(q, v, "finger"), [0, 0, 0, -3.0, 0, 0], atol=1e-15)


def test_followers_are_locked_with_their_leader(tangled):
    robot = tangled.with_locked({"first": 0.5})
    assert list(robot.joints) == ["second"]
    q = tangled.neutral()
    q[tangled.joints["first"].q] = 0.5
    assert_allclose(robot.pose(robot.neutral(), "finger"), tangled.pose(q, "finger"), atol=1e-15)
    with pytest.raises(eq.ModelError, match="'follower' follows 'first'; lock that one instead"):
        tangled.with_locked(["follower"])


def test_armature_enters_when_asked():
    builder = eq.RobotBuilder("geared", floating=False).link("post").link("rod", **BOX).link("hand", **BOX)
    builder.joint("turn", "revolute", "post", "rod", armature=0.7)
    builder.joint("grip", "revolute", "rod", "hand", axis=(1, 0, 0), armature=0.2, mimic=Mimic("turn", 3.0))
    robot = builder.build()
    q, v = np.array([0.3]), np.array([2.0])
    heavier = robot.with_armature()
    assert_allclose(heavier.mass_matrix(q) - robot.mass_matrix(q), [[0.7 + 9 * 0.2]], rtol=1e-13)
    assert_allclose(heavier.kinetic_energy(q, v) - robot.kinetic_energy(q, v), 0.5 * (0.7 + 9 * 0.2) * 4, rtol=1e-13)
    assert_allclose(
        heavier.inverse_dynamics(q, v, v) - robot.inverse_dynamics(q, v, v), [(0.7 + 9 * 0.2) * 2], rtol=1e-12
    )
    assert_allclose(heavier.gravity(q), robot.gravity(q), atol=1e-14)


def test_joint_friction_resists(tangled):
    v = np.array([1.0, 2, 3, 4, 5, 6, -2.0, 3.0])
    force = tangled.joint_friction(v)
    assert_allclose(force, [0] * 6 + [0.5 * -2 - 0.25, (2 + 4 * 0.1) * 3 + 1 + 2 * 0.2])
    assert_array_equal(tangled.joint_friction(0 * v), np.zeros(8))
    assert_allclose(tangled.joint_friction(np.tile(v, (3, 1))), np.tile(force, (3, 1)))


def test_a_robot_from_python():
    builder = eq.RobotBuilder("pendulum", floating=False).link("post").link("rod", com=(0, 0, -0.5), **BOX)
    robot = builder.joint("swing", "revolute", "post", "rod", axis=(0, 1, 0)).build()
    q = np.array([0.3])
    assert_allclose(robot.mass_matrix(q), [[0.2 + 2.0 * 0.25]])
    assert_allclose(robot.gravity(q), [2.0 * 9.80665 * 0.5 * np.sin(0.3)])


def test_gravity_may_be_given():
    q = np.array([0.3, 0.4])
    assert_array_equal(eq.load("two_link_pendulum", gravity=(0, 0, 0)).gravity(q), [0, 0])
    moon = eq.load("two_link_pendulum", gravity=(0, 0, -1.62))
    assert_allclose(moon.gravity(q), load("two_link_pendulum").gravity(q) * 1.62 / 9.80665, rtol=1e-13)


# Errors


def test_robots_that_are_not_there():
    with pytest.raises(eq.UnknownNameError, match=r"'quadrupet'.*Did you mean 'quadruped'\?.*arm6"):
        eq.load("quadrupet")


@pytest.mark.parametrize(
    "call",
    [
        lambda robot, q, v, f: robot.pose(q, f),
        lambda robot, q, v, f: robot.jacobian(q, f),
        lambda robot, q, v, f: robot.velocity(q, v, f),
        lambda robot, q, v, f: robot.bias_acceleration(q, v, f),
        lambda robot, q, v, f: robot.forward_dynamics(q, v, v, {f: np.zeros(6)}),
    ],
)
def test_frames_that_are_not_there(arm, call):
    with pytest.raises(
        eq.UnknownNameError, match=r"no frame named 'tol'. Did you mean 'tool'\? There are: base_link, link_1"
    ):
        call(arm, np.zeros(6), np.zeros(6), "tol")
    with pytest.raises(KeyError):
        call(arm, np.zeros(6), np.zeros(6), "nothing alike")


@pytest.mark.parametrize("name", ["jacobian", "mass_matrix", "gravity", "com_jacobian", "momentum_matrix"])
def test_representations_that_are_not_there(arm, name):
    arguments = (np.zeros(6), "tool") if name == "jacobian" else (np.zeros(6),)
    with pytest.raises(
        eq.UnknownNameError, match=r"no velocity representation named 'boddy'.*'body'\? There are: mixed, body,"
    ):
        getattr(arm, name)(*arguments, representation="boddy")


# Users' own functions


def test_the_example_of_compile():
    def height_of_foot(robot, q):
        return robot.pose(q, "left_foot")[2, 3]

    robot = load("human")
    assert "left_foot" in eq.compile.__doc__
    height = eq.compile(height_of_foot, robot)
    q = robot.standing()
    assert_allclose(height(q), robot.pose(q, "left_foot")[2, 3], atol=1e-14)
    assert height(q).shape == ()
    assert height(np.tile(q, (4, 1))).shape == (4,)


def test_compile_with_several_results_and_sizes(arm):
    def task(robot, q, v, target, gain):
        J = robot.jacobian(q, "tool")[:3, :]
        error = target - robot.pose(q, "tool")[:3, 3]
        return {"error": error, "J": J, "force": J.T @ (gain * error) - robot.gravity(q), "speed": casadi.norm_2(J @ v)}

    kernel = eq.compile(task, arm, target=3, gain=1)
    rng = np.random.default_rng(6)
    q, v, target = rng.normal(size=(2, 10, 6)), rng.normal(size=6), rng.normal(size=(10, 3))
    error, J, force, speed = kernel(q, v, target, 5.0)
    right = arm.jacobian(q, "tool")[..., :3, :]
    assert_allclose(J, right, atol=1e-13)
    assert_allclose(error, target - arm.pose(q, "tool")[..., :3, 3], atol=1e-13)
    assert_allclose(force, np.einsum("...ij,...i->...j", right, 5 * error) - arm.gravity(q), atol=1e-11)
    assert_allclose(speed, np.linalg.norm(right @ v, axis=-1), atol=1e-13)


def test_compile_sizes_by_the_names_of_parameters(quadruped):
    kernel = eq.compile(lambda robot, q_now, v_old, a, tau_motor: casadi.vertcat(q_now, v_old, a, tau_motor), quadruped)
    sizes = (19, 18, 18, 18)
    parts = [np.full(n, float(k)) for k, n in enumerate(sizes)]
    assert_array_equal(kernel(*parts), np.concatenate(parts))


def test_compile_offers_every_equation_of_a_robot(quadruped):
    def everything(robot, q, v, a):
        return {
            "M": robot.mass_matrix(q),
            "body": robot.mass_matrix(q, representation="body"),
            "J": robot.jacobian(q, "trunk", representation="inertial"),
            "tau": robot.inverse_dynamics(q, v, a),
            "com": robot.com(q),
        }

    q, v = quadruped.random_state(np.random.default_rng(7))
    M, body, J, tau, com = eq.compile(everything, quadruped)(q, v, v)
    assert_allclose(M, quadruped.mass_matrix(q), atol=1e-12)
    assert_allclose(body, quadruped.mass_matrix(q, "body"), atol=1e-12)
    assert_allclose(J, quadruped.jacobian(q, "trunk", "inertial"), atol=1e-12)
    assert_allclose(tau, quadruped.inverse_dynamics(q, v, v), atol=1e-10)
    assert_allclose(com, quadruped.com(q), atol=1e-13)


def test_poses_of_many_frames_are_those_of_each(quadruped, rng):
    q = np.array([quadruped.random_state(rng)[0] for _ in range(3)])
    every = quadruped.poses(q)
    assert every.shape == (3, len(quadruped.frames), 4, 4)
    for k, frame in enumerate(quadruped.frames):
        assert_allclose(every[:, k], quadruped.pose(q, frame), atol=1e-14)
    two = ["hind_left_foot", "trunk"]
    assert_allclose(quadruped.poses(q[0], two), [quadruped.pose(q[0], frame) for frame in two], atol=1e-14)
    one = eq.compile(lambda robot, q: robot.poses(q, ["trunk", "hind_left_foot"])[4:, :], quadruped)
    assert_allclose(one(q[0]), quadruped.pose(q[0], "hind_left_foot"), atol=1e-14)


def test_poses_of_a_frame_on_the_world():
    builder = eq.RobotBuilder("post", floating=False).link("mount").link("rod", **BOX)
    robot = builder.joint("swing", "revolute", "mount", "rod").frame("mark", "world", position=(1, 2, 3)).build()
    assert_allclose(robot.poses(np.array([0.3]), ["mark", "rod"])[0, :3, 3], [1, 2, 3])


@pytest.mark.parametrize("frames", [["tool", "nobody"], []])
def test_poses_of_frames_that_are_not_there(arm, frames):
    with pytest.raises(eq.UnknownNameError, match="tool"):
        arm.poses(arm.neutral(), frames)


def test_compile_wants_sizes(arm):
    with pytest.raises(
        eq.ModelError, match=r"give the size of the parameter 'target', for example compile\(f, robot, target=3\)"
    ):
        eq.compile(lambda robot, q, target: q, arm)


def test_equations_that_are_not_there(arm):
    with pytest.raises(AttributeError, match=r"no equation named 'mas_matrix'. Did you mean 'mass_matrix'"):
        eq.compile(lambda robot, q: robot.mas_matrix(q), arm)
    with pytest.raises(eq.UnknownNameError, match="Did you mean 'tool'"):
        eq.compile(lambda robot, q: robot.pose(q, "tol"), arm)


# Equations of motion


def test_equations_of_motion_are_those_of_the_robot(quadruped):
    q, v = quadruped.random_state(np.random.default_rng(8))
    motion = quadruped.equations_of_motion(q, v)
    assert isinstance(motion, eq.EquationsOfMotion)
    assert_allclose(motion.M, quadruped.mass_matrix(q), atol=1e-12)
    assert_allclose(motion.C, quadruped.coriolis_matrix(q, v), atol=1e-12)
    assert_allclose(motion.g, quadruped.gravity(q), atol=1e-11)
    assert_allclose(motion.bias_force, quadruped.bias_force(q, v), atol=1e-10)
    assert_allclose(motion.kinetic_energy, quadruped.kinetic_energy(q, v), rtol=1e-12)
    a = np.random.default_rng(9).normal(size=18)
    tau = motion.force(a)
    assert_allclose(tau, quadruped.inverse_dynamics(q, v, a), atol=1e-10)
    assert_allclose(motion.acceleration(tau), a, atol=1e-10)


def test_equations_of_motion_are_frozen_and_take_batches(arm):
    q, v = np.random.default_rng(10).normal(size=(2, 5, 6))
    motion = arm.equations_of_motion(q, v)
    assert motion.M.shape == motion.C.shape == (5, 6, 6)
    assert_allclose(motion.bias_force, arm.bias_force(q, v), atol=1e-11)
    with pytest.raises(dataclasses.FrozenInstanceError):
        motion.M = np.eye(6)
    with pytest.raises(ValueError, match="read-only"):
        motion.M[0, 0, 0] = 1
