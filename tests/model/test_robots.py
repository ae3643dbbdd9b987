"""The built-in robots: that they are physical, symmetric, of the promised size, and stand on their feet."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from walk import com, frame_pose, joint_pose, link_poses, neutral, standing

from equipoise.errors import ModelError
from equipoise.model.checks import check
from equipoise.model.joints import Planar
from equipoise.model.robots import BUILT_IN
from equipoise.model.robots.anthropometry import PAIRED, SEGMENTS
from equipoise.model.robots.mobile import rolling_constraint, rolling_constraint_bias
from equipoise.model.tree import tree_of
from equipoise.model.types import Model

MIRROR = np.diag([1.0, -1.0, 1.0, 1.0])  # left and right
VELOCITIES = {
    "human": 39, "quadruped": 18, "arm6": 6, "arm7": 7, "bimanual": 15, "holonomic_arm": 9, "nonholonomic_arm": 9,
    "nonholonomic_bimanual": 17,
    "snake": 50, "planar_chain": 3, "two_link_pendulum": 2, "cart_pendulum": 2, "wheel": 2,
    "flower": 13, "bird": 13,
}  # fmt: skip


@pytest.fixture(params=list(BUILT_IN))
def model(request) -> Model:
    return BUILT_IN[request.param]()


# All robots


def test_the_robots_have_the_velocities_they_promise():
    assert {name: make().nv for name, make in BUILT_IN.items()} == VELOCITIES


def test_every_robot_passes_the_checks(model):
    check(model, strict=True)


def test_every_inertia_is_physical(model):
    for link in model.links.values():
        if link.inertia is not None:
            small, middle, large = np.linalg.eigvalsh(link.inertia.matrix)
            assert link.inertia.mass > 0 and small > 0 and large < small + middle, link.name


def test_only_the_fixed_base_has_no_mass(model):
    light = [joint.name for joint in model.joints.values() if joint.moving and model.links[joint.child].inertia is None]
    assert light == []


def test_reduction_keeps_mass_and_motion(model):
    tree = tree_of(model)
    moved = sum(body.mass for body in tree.bodies)
    # on the world
    still = [link for name, link in model.links.items() if name in tree.places and tree.places[name][0] < 0]
    fixed = sum(link.inertia.mass for link in still if link.inertia)
    assert (tree.nq, tree.nv, tree.floating) == (model.nq, model.nv, model.base is not None)
    assert moved + fixed == pytest.approx(model.mass, rel=1e-12)


def test_limits_hold_neutral_and_standing(model):
    for q in (neutral(model), standing(model)):
        for joint in model.joints.values():
            assert ((joint.limits.lower <= q[joint.q]) & (q[joint.q] <= joint.limits.upper)).all(), joint.name


@pytest.mark.parametrize("name", ["human", "quadruped", "bimanual"])
def test_left_and_right_are_mirror_images(name):
    model = BUILT_IN[name]()
    for q in (neutral(model), standing(model)):
        poses = link_poses(model, q)
        for link in model.links.values():
            other = model.links[link.name.replace("left", "RIGHT").replace("right", "left").replace("RIGHT", "right")]
            mass, moment, inertia = link.inertia.about(poses[link.name])
            mass_o, moment_o, inertia_o = other.inertia.about(poses[other.name])
            assert_allclose([mass_o, *moment_o], [mass, *(MIRROR[:3, :3] @ moment)], atol=1e-12)
            assert_allclose(inertia_o, MIRROR[:3, :3] @ inertia @ MIRROR[:3, :3], atol=1e-12)


def test_joints_of_the_two_sides_have_mirrored_limits():
    joints = BUILT_IN["human"]().joints
    for name, joint in joints.items():
        if name.startswith("left_"):
            other, sign = joints[name.replace("left", "right")].limits, -1 if name.endswith(("roll", "yaw")) else 1
            assert sorted([sign * other.lower, sign * other.upper]) == [joint.limits.lower, joint.limits.upper]
            assert (other.velocity, other.effort) == (joint.limits.velocity, joint.limits.effort)


# The human


def test_the_mass_fractions_of_the_table_sum_to_one():
    assert sum(row.mass * (2 if name in PAIRED else 1) for name, row in SEGMENTS.items()) == pytest.approx(
        100.0, abs=1e-9
    )


def test_three_parts_of_the_trunk_make_the_whole_trunk_of_the_same_table():
    """De Leva also gives the trunk as one segment, cervicale to mid-hip: 43.46 %, 603.3 mm, 51.38, 32.8, 30.6, 16.9
    %."""
    parts = [SEGMENTS[name] for name in ("upper_trunk", "middle_trunk", "lower_trunk")]
    mass, length = np.array([p.mass for p in parts]), np.array([p.length for p in parts])
    centre = np.cumsum(length) - length + length * [p.com / 100 for p in parts]
    whole = mass @ centre / mass.sum()
    radii = length[:, None] * np.array([[p.sagittal, p.transverse, p.longitudinal] for p in parts]) / 100
    offset = np.outer((centre - whole) ** 2, [1, 1, 0])
    gyration = np.sqrt(mass @ (radii**2 + offset) / mass.sum())
    assert mass.sum() == pytest.approx(43.46) and length.sum() == pytest.approx(603.3)
    assert whole == pytest.approx(0.5138 * 603.3, abs=4)
    assert_allclose(gyration, 603.3 * np.array([0.328, 0.306, 0.169]), rtol=5e-3)


@pytest.mark.parametrize(("height", "mass"), [(1.75, 75.0), (1.50, 48.0), (2.05, 110.0)])
def test_a_human_has_the_height_and_mass_asked_for(height, mass):
    model = BUILT_IN["human"](height=height, mass=mass)
    q = neutral(model)
    soles = [frame_pose(model, q, f"{side}_foot")[2, 3] for side in ("left", "right")]
    assert model.mass == pytest.approx(mass, rel=1e-12)
    assert_allclose(frame_pose(model, q, "head_top")[2, 3] - np.array(soles), height, rtol=1e-12)
    assert 0.54 < (com(model, q)[2] - soles[0]) / height < 0.58  # where anatomy books have it


@pytest.mark.parametrize("posture", [neutral, "anyhow"])
def test_segments_of_the_human_are_those_of_the_table(posture):
    """Ball and rest of a segment together have its mass and centre, however the joints between them turn."""
    model = BUILT_IN["human"]()
    q = neutral(model)
    if posture == "anyhow":
        q[7:] = np.random.default_rng(1).uniform(-1, 1, model.nq - 7)
    poses = link_poses(model, q)
    scale = 1.75 / (1708.7 + 0.039 * 1741.0)
    for link, balls, segment in (
        ("right_upper_arm", ["right_shoulder_pitch_link", "right_shoulder_roll_link"], "upper_arm"),
        ("left_thigh", ["left_hip_pitch_link", "left_hip_roll_link"], "thigh"),
        ("left_shank", [], "shank"),
    ):
        row = SEGMENTS[segment]
        X = np.linalg.inv(poses[link])
        parts = [model.links[name].inertia.about(X @ poses[name]) for name in (link, *balls)]
        mass, moment, inertia = (sum(part[k] for part in parts) for k in range(3))
        length, centre = scale * row.length, scale * row.length * row.com / 100
        about_end = mass * (
            (length * np.array([row.sagittal, row.transverse, row.longitudinal]) / 100) ** 2 + [centre**2, centre**2, 0]
        )
        assert mass == pytest.approx(75.0 * row.mass / 100)
        assert_allclose(moment, [0, 0, -mass * centre], atol=1e-12)
        assert_allclose(inertia, np.diag(about_end), atol=1e-12)


def test_a_standing_human_has_both_soles_flat_on_the_ground_and_his_weight_over_them():
    model = BUILT_IN["human"]()
    q = standing(model)
    corners = np.array(
        [frame_pose(model, q, f"{side}_foot_corner_{i}")[:3, 3] for side in ("left", "right") for i in range(4)]
    )
    for side in ("left", "right"):
        assert_allclose(frame_pose(model, q, f"{side}_foot")[:3, :3], np.eye(3), atol=1e-12)
    assert_allclose(corners[:, 2], 0, atol=1e-12)
    margin = 0.05
    low, high, (x, y, z) = corners.min(axis=0), corners.max(axis=0), com(model, q)
    assert low[0] + margin < x < high[0] - margin and abs(y) < 1e-12 and z > 0.9
    assert q[model.joints["left_knee"].q] > 0.2


def test_corners_go_round_sole_and_palm():
    model = BUILT_IN["human"]()
    for part in ("left_foot", "right_hand"):
        p = np.array([model.frames[f"{part}_corner_{i}"].X[:3, 3] for i in range(4)])
        assert all(np.cross(p[i], p[(i + 1) % 4])[2] > 0 for i in range(4))
        assert p[0, 0] > 0 and p[0, 1] > 0
        assert_allclose(p.mean(axis=0), 0, atol=1e-15)


def test_palms_face_the_thighs_and_fingers_point_down():
    model = BUILT_IN["human"]()
    for side, left in (("left", 1.0), ("right", -1.0)):
        R = frame_pose(model, neutral(model), f"{side}_hand")[:3, :3]
        assert_allclose(R[:, 0], [0, 0, -1], atol=1e-12)
        assert_allclose(R[:, 2], [0, left, 0], atol=1e-12)


def test_the_joints_reach_a_handstand():
    model = BUILT_IN["human"]()
    q = neutral(model)
    for side, left in (("left", 1.0), ("right", -1.0)):
        posture = {"shoulder_pitch": -np.pi, "forearm_yaw": -left * np.pi / 2, "wrist_roll": left * np.pi / 2}
        for name, angle in posture.items():
            joint = model.joints[f"{side}_{name}"]
            assert joint.limits.lower <= angle <= joint.limits.upper
            q[joint.q] = angle
    for side in ("left", "right"):
        X = frame_pose(model, q, f"{side}_hand")
        assert_allclose(X[:3, 2], [0, 0, -1], atol=1e-12)  # palms up, flat
        assert_allclose(X[:3, 0], [-1, 0, 0], atol=1e-12)  # fingers back
        assert X[2, 3] > frame_pose(model, q, "head_top")[2, 3] + 0.1


def joint_space_inertia(model: Model, q: np.ndarray) -> np.ndarray:
    """Mass matrix of the revolute joints with the base held, from Jacobians of the links."""
    poses, M = link_poses(model, q), np.zeros((model.nv, model.nv))
    parent = {joint.child: joint for joint in model.joints.values()}
    for link in model.links.values():
        J, name = np.zeros((6, model.nv)), link.name
        c = poses[link.name][:3, :3] @ link.inertia.com + poses[link.name][:3, 3]
        while name in parent and parent[name].type.name == "revolute":
            joint = parent[name]
            X = poses[name] @ np.linalg.inv(joint.tail)
            axis = X[:3, :3] @ joint.type.axis
            J[:, joint.v] = np.concatenate([np.cross(axis, c - X[:3, 3]), axis])[:, None]
            name = joint.parent
        R = poses[link.name][:3, :3]
        M += J[:3].T @ J[:3] * link.inertia.mass + J[3:].T @ R @ link.inertia.matrix @ R.T @ J[3:]
    return M[6:, 6:]


@pytest.mark.parametrize("arms", [0.0, np.pi / 2])
def test_the_mass_matrix_of_the_human_is_positive_definite_even_where_shoulder_axes_line_up(arms):
    model = BUILT_IN["human"]()
    q = neutral(model)
    q[model.joints["left_shoulder_roll"].q] = arms
    assert np.linalg.eigvalsh(joint_space_inertia(model, q))[0] > 1e-6


# Other robots


def test_the_quadruped_stands_on_its_feet():
    model = BUILT_IN["quadruped"]()
    q = standing(model)
    feet = np.array(
        [frame_pose(model, q, f"{leg}_foot") for leg in ("front_left", "front_right", "hind_left", "hind_right")]
    )
    assert_allclose(feet[:, :3, :3], np.broadcast_to(np.eye(3), (4, 3, 3)), atol=1e-12)
    assert_allclose(feet[:, 2, 3], 0, atol=1e-12)
    assert_allclose(feet[:, :3, 3].mean(axis=0), 0, atol=1e-12)
    assert 25 < model.mass < 30 and abs(com(model, q)[0]) < 0.05
    assert q[model.joints["front_left_knee"].q] < -0.5
    balls = [
        link_poses(model, q)["front_left_shank"] @ s.X
        for s in model.links["front_left_shank"].collisions
        if s.kind == "sphere"
    ]
    assert_allclose(balls[0][:3, 3], feet[0, :3, 3] + [0, 0, 0.025], atol=1e-12)


@pytest.mark.parametrize("name", ["arm6", "arm7"])
def test_an_arm_is_straight_up_at_zero_and_level_when_ready(name):
    model = BUILT_IN[name]()
    up, ready = frame_pose(model, neutral(model), "tool"), frame_pose(model, standing(model), "tool")
    assert_allclose(up[:3, :3], np.eye(3), atol=1e-15)
    assert up[2, 3] > 1.0 and not up[:2, 3].any()
    assert_allclose(ready[:3, 2], [1, 0, 0], atol=1e-12)


def test_both_hands_of_the_bimanual_robot_reach_forward():
    model = BUILT_IN["bimanual"]()
    left, right = (frame_pose(model, standing(model), f"{side}_tool") for side in ("left", "right"))
    assert left[0, 3] > 0.5
    assert_allclose(right[:3, 3], left[:3, 3] * [1, -1, 1], atol=1e-12)


def test_the_links_of_a_planar_chain_are_where_trigonometry_has_them():
    model = BUILT_IN["planar_chain"](n=2, lengths=[1.0, 0.5], masses=[2.0, 1.0])
    a, b = 0.4, -1.1
    expected = [np.cos(a) + 0.5 * np.cos(a + b), 0, np.sin(a) + 0.5 * np.sin(a + b)]
    assert_allclose(frame_pose(model, np.array([a, b]), "tool")[:3, 3], expected, atol=1e-15)
    assert model.mass == 3.0


def test_a_snake_bends_in_all_directions():
    model = BUILT_IN["snake"](n=7)
    assert [joint.type.axis for joint in model.joints.values() if joint.moving][:3] == [(0, 1, 0), (0, 0, 1), (0, 1, 0)]
    assert model.nv == 7 and len(model.frames) == 9


def test_the_small_examples_move_as_on_the_slides():
    x, phi, r, l = 0.3, 0.7, 0.25, 0.6
    rim = frame_pose(BUILT_IN["wheel"](radius=r), np.array([x, phi]), "rim")[:3, 3]
    assert_allclose(rim, [x + r * np.sin(phi), 0, r + r * np.cos(phi)], atol=1e-15)
    tip = frame_pose(BUILT_IN["cart_pendulum"](half_length=l), np.array([x, phi]), "tip")[:3, 3]
    assert_allclose(tip, [x + 2 * l * np.sin(phi), 0, -2 * l * np.cos(phi)], atol=1e-15)


@pytest.mark.parametrize("name", ["holonomic_arm", "nonholonomic_arm"])
def test_a_mobile_arm_drives_in_the_plane(name):
    model = BUILT_IN[name]()
    platform = model.joints["platform"]
    assert isinstance(platform.type, Planar) and platform.q == slice(0, 3) and model.base is None
    X = joint_pose(platform, np.array([1.0, 2.0, np.pi / 2, *[0.0] * 6]))
    assert_allclose(X[:3, 3], [1, 2, 0])
    assert_allclose(X[:3, 0], [0, 1, 0], atol=1e-15)


def test_rolling_forbids_sideways_motion_only():
    q = np.random.default_rng(2).normal(size=(5, 9))
    A = rolling_constraint(q)
    heading = np.stack([np.cos(q[:, 2]), np.sin(q[:, 2]), *np.zeros((7, 5))], axis=-1)
    sideways = np.stack([-np.sin(q[:, 2]), np.cos(q[:, 2]), *np.zeros((7, 5))], axis=-1)
    assert A.shape == (5, 1, 9) and not A[..., 2:].any()
    assert_allclose(np.einsum("bij,bj->bi", A, heading), 0, atol=1e-15)
    assert_allclose(np.einsum("bij,bj->bi", A, sideways), 1)


def test_the_bias_of_rolling_is_the_derivative_of_its_row():
    q, v = np.random.default_rng(3).normal(size=(2, 9))
    h = 1e-6
    rate = (rolling_constraint(q + h * v) - rolling_constraint(q - h * v)) / (2 * h)
    assert_allclose(rolling_constraint_bias(q, v), rate @ v, atol=1e-8)


# What they say


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("human", {"height": -1.0}, "height of robot 'human' is a positive finite number, got -1.0"),
        ("human", {"mass": np.nan}, "mass of robot 'human' is a positive finite number, got nan"),
        ("human", {"height": np.inf}, "height of robot 'human'"),
        ("human", {"height": "tall"}, "got 'tall'"),
        ("snake", {"n": 0}, "n of robot 'snake' is a whole number of joints, at least 1, got 0"),
        ("snake", {"n": 2.5}, "at least 1, got 2.5"),
        ("snake", {"length": 0.0}, "length of robot 'snake'"),
        ("planar_chain", {"n": -3}, "n of robot 'planar_chain'"),
        ("planar_chain", {"n": 2, "lengths": [1.0]}, "one number per joint: wanted 2, got 1"),
        ("planar_chain", {"n": 2, "masses": [1.0, -1.0]}, "masses[1] of robot 'planar_chain'"),
        ("two_link_pendulum", {"mass": 0}, "mass of robot 'two_link_pendulum'"),
        ("cart_pendulum", {"half_length": np.nan}, "half_length of robot 'cart_pendulum'"),
        ("wheel", {"radius": -0.1}, "radius of robot 'wheel'"),
    ],
)
def test_nonsense_parameters_are_refused(name, parameters, words):
    with pytest.raises(ModelError) as caught:
        BUILT_IN[name](**parameters)
    assert words in str(caught.value)
