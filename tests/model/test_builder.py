"""The builder: what it makes, and what it says when it cannot."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from walk import frame_pose, link_poses, neutral

from equipoise.algebra import rigid
from equipoise.errors import EquipoiseError, ModelError, UnknownNameError
from equipoise.model import shapes
from equipoise.model.builder import ModelBuilder
from equipoise.model.joints import JOINT_TYPES, Ball, Continuous
from equipoise.model.tree import tree_of
from equipoise.model.types import Inertia, Mimic, Shape


def pendulum(**joint) -> ModelBuilder:
    builder = (
        ModelBuilder("pendulum", floating=False)
        .link("post")
        .link("rod", mass=2.0, com=(0, 0, -0.5), inertia=(0.2, 0.2, 0.01))
    )
    return builder.joint("swing", "revolute", "post", "rod", **({"axis": (0, 1, 0)} | joint))


# What it makes


def test_parts_become_one_tree_in_the_order_given():
    model = (
        pendulum(lower=-1, upper=2, velocity=3, effort=4, damping=0.1).frame("tip", "rod", position=(0, 0, -1)).model()
    )
    swing = model.joints["swing"]
    assert list(model.joints) == ["base", "swing"] and (model.nq, model.nv) == (1, 1)
    assert (swing.limits.lower, swing.limits.upper, swing.limits.velocity, swing.limits.effort) == (-1, 2, 3, 4)
    assert swing.dynamics.damping == 0.1
    assert_allclose(frame_pose(model, np.array([np.pi / 2]), "tip")[:3, 3], [-1, 0, 0], atol=1e-15)


def test_a_floating_robot_has_a_base_of_seven_coordinates():
    model = (
        ModelBuilder("ball")
        .link("ball", mass=1.0, shapes=[shapes.sphere(0.1)])
        .standing({"base": (0, 0, 0.1, 1, 0, 0, 0)})
        .model()
    )
    assert (model.nq, model.nv) == (7, 6) and model.base is not None
    assert model.standing["base"] == (0, 0, 0.1, 1, 0, 0, 0)


def test_axes_are_made_unit_and_exact():
    model = pendulum(axis=(0, 0, -3)).model()
    assert model.joints["swing"].type.axis == (0.0, 0.0, -1.0)
    assert pendulum(axis=(1, 1, 0)).model().joints["swing"].type.axis == pytest.approx((0.5**0.5, 0.5**0.5, 0.0))


@pytest.mark.parametrize("parent", ["world", None])
@pytest.mark.parametrize("name", JOINT_TYPES)
def test_every_joint_type_connects_to_the_world(name, parent):
    model = (
        ModelBuilder("one", floating=False)
        .link("body", mass=1.0, inertia=(1, 1, 1))
        .joint("j", name, parent, "body")
        .model()
    )
    assert model.nq == JOINT_TYPES[name].nq and model.nv == JOINT_TYPES[name].nv
    assert tree_of(model).nv == model.nv


def test_a_joint_type_may_be_given_as_it_is():
    builder = (
        ModelBuilder("two", floating=False)
        .link("a", mass=1.0, inertia=(1, 1, 1))
        .link("b", mass=1.0, inertia=(1, 1, 1))
    )
    model = builder.joint("hip", Ball(), "world", "a").joint("spin", Continuous(axis=(1.0, 0.0, 0.0)), "a", "b").model()
    assert (model.nq, model.nv) == (5, 4)


@pytest.mark.parametrize("normal", [(0, 1, 0), (1, 0, 0), (0, 0, -1), (1, 2, 3)])
def test_a_planar_joint_moves_in_the_plane_of_its_normal(normal):
    unit = np.array(normal) / np.linalg.norm(normal)
    builder = ModelBuilder("slider", floating=False).link("body", mass=1.0, inertia=(1, 1, 1))
    model = builder.joint(
        "plane", "planar", "world", "body", axis=normal, position=(1, 2, 3), rpy=(0.1, 0.2, 0.3)
    ).model()
    X_0 = link_poses(model, neutral(model))["body"]
    assert_allclose(X_0, rigid.pose(rigid.rotation_from_rpy(0.1, 0.2, 0.3), (1, 2, 3)), atol=1e-12)
    moved = rigid.inverse(X_0) @ link_poses(model, np.array([0.3, -0.4, 0.5]))["body"]
    assert_allclose(moved[:3, :3], rigid.rotation_about(unit, 0.5), atol=1e-12)
    assert_allclose([np.linalg.norm(moved[:3, 3]), unit @ moved[:3, 3]], [0.5, 0], atol=1e-12)


def test_the_child_can_stand_away_from_its_joint():
    model = pendulum(child_position=(0, 0, -1), child_rpy=(0, 0, np.pi / 2)).model()
    X = link_poses(model, np.array([np.pi / 2]))["rod"]
    assert_allclose(X[:3, 3], [-1, 0, 0], atol=1e-15)
    assert_allclose(X[:3, 0], [0, 1, 0], atol=1e-15)


def test_a_joint_can_follow_another_by_name_or_by_rule():
    def gripper(mimic):
        builder = ModelBuilder("gripper", floating=False).link("palm")
        for finger in ("left", "right"):
            builder.link(finger, mass=0.1, inertia=(1e-4,) * 3)
        builder.joint("open", "prismatic", "palm", "left", axis=(0, 1, 0))
        return builder.joint("follow", "prismatic", "palm", "right", axis=(0, 1, 0), mimic=mimic).model()

    assert gripper("open").joints["follow"].mimic == Mimic("open")
    model = gripper(Mimic("open", -1.0, 0.02))
    assert model.nq == 1
    assert_allclose(link_poses(model, np.array([0.05]))["right"][:3, 3], [0, -0.03, 0])


def test_inertia_of_a_link_comes_from_its_shapes():
    rod = shapes.cylinder(0.1, 2.0, position=(0, 0, 1))
    link = ModelBuilder("rod").link("rod", mass=3.0, shapes=[rod]).model().links["rod"]
    assert_allclose(link.inertia.com, [0, 0, 1])
    assert_allclose(np.diag(link.inertia.matrix), [3 * (4 / 12 + 0.01 / 4), 3 * (4 / 12 + 0.01 / 4), 3 * 0.01 / 2])
    assert link.visuals == link.collisions == (rod,)


def test_gravity_can_be_given():
    assert ModelBuilder("moon", gravity=(0, 0, -1.62)).link("body").model().gravity == (0.0, 0.0, -1.62)


# Shapes


def sliced(shape: Shape, mass: float) -> np.ndarray:
    """Principal moments of a solid of revolution, from discs stacked along z: nothing of the formulas under test."""
    r, length = shape.size
    top = length / 2 + (r if shape.kind == "capsule" else 0.0)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    pieces = [(-top, -length / 2), (-length / 2, length / 2), (length / 2, top)]
    z = np.concatenate([(b - a) / 2 * nodes + (a + b) / 2 for a, b in pieces])
    w = np.concatenate([(b - a) / 2 * weights for a, b in pieces])
    area = np.pi * (r**2 - np.clip(np.abs(z) - length / 2, 0, None) ** 2)
    density = mass / (w @ area)
    about_z = density * w @ (area**2 / (2 * np.pi))
    about_x = about_z / 2 + density * w @ (area * z**2)
    return np.array([about_x, about_x, about_z])


@pytest.mark.parametrize("make", [shapes.cylinder, shapes.capsule])
def test_solid_inertia_is_that_of_stacked_discs(make):
    shape = make(0.3, 0.8, rpy=(0, 0, 0))
    assert_allclose(np.diag(shapes.solid_inertia(shape, 2.5).matrix), sliced(shape, 2.5), rtol=1e-12)


def test_a_long_capsule_is_a_rod_and_a_short_one_a_ball():
    assert_allclose(
        shapes.solid_inertia(shapes.capsule(0.3, 1e-9), 2.0).matrix,
        shapes.solid_inertia(shapes.sphere(0.3), 2.0).matrix,
    )
    rod = shapes.solid_inertia(shapes.capsule(1e-6, 1.0), 2.0).matrix
    assert_allclose(np.diag(rod), [2 / 12, 2 / 12, 0], atol=1e-6)


def test_two_halves_of_a_box_are_the_box():
    whole = shapes.solid_inertia(shapes.box(1.0, 0.4, 0.2, position=(1, 2, 3), rpy=(0.3, -0.2, 0.5)), 6.0)
    R = rigid.rotation_from_rpy(0.3, -0.2, 0.5)
    halves = [
        shapes.box(0.5, 0.4, 0.2, position=(1, 2, 3) + R @ (x, 0, 0), rpy=(0.3, -0.2, 0.5)) for x in (0.25, -0.25)
    ]
    both = shapes.solids_inertia(halves, 6.0)
    assert both.mass == pytest.approx(6.0)
    assert_allclose(both.com, whole.com)
    assert_allclose(both.matrix, whole.matrix, atol=1e-12)


def test_what_is_taken_out_leaves_the_rest():
    a, b = (shapes.solid_inertia(shapes.sphere(0.1 + x, position=(x, 0, 1)), 1 + x) for x in (0.0, 0.5))
    rest = shapes.combined([shapes.combined([a, b])], less=[b])
    assert_allclose([rest.mass, *rest.com], [a.mass, *a.com])
    assert_allclose(rest.matrix, a.matrix, atol=1e-12)


@pytest.mark.parametrize("between", [shapes.capsule_between, shapes.cylinder_between])
def test_a_shape_between_two_points_has_its_ends_there(between):
    a, b = np.array([0.1, -0.2, 0.3]), np.array([0.4, 0.5, -0.6])
    shape = between(a, b, 0.05)
    half = shape.X[:3, 2] * shape.size[1] / 2
    assert_allclose([shape.X[:3, 3] - half, shape.X[:3, 3] + half], [a, b], atol=1e-15)


# What it says


FAULTS = {
    "zero axis": (lambda: pendulum(axis=(0, 0, 0)), "axis of joint 'swing' has no length"),
    "axis of two numbers": (lambda: pendulum(axis=(0, 1)), "axis of joint 'swing' is three finite numbers, got (0, 1)"),
    "NaN in axis": (lambda: pendulum(axis=(0, np.nan, 1)), "axis of joint 'swing' is three finite numbers"),
    "unknown type": (
        lambda: ModelBuilder("x").joint("j", "revolut", "a", "b"),
        "named 'revolut'. Did you mean 'revolute'",
    ),
    "not a type": (lambda: ModelBuilder("x").joint("j", 3, "a", "b"), "type of joint 'j' is a name (fixed, revolute"),
    "limits": (lambda: pendulum(lower=1, upper=-1), "joint 'swing' needs lower ≤ upper"),
    "NaN limit": (lambda: pendulum(lower=np.nan), "joint 'swing' needs lower ≤ upper"),
    "effort": (lambda: pendulum(effort=-1), "effort limit of joint 'swing' is zero or more, got -1"),
    "damping": (lambda: pendulum(damping=-1), "damping of joint 'swing' is a finite number, zero or more"),
    "position": (lambda: pendulum(position="here"), "position of joint 'swing' is three finite numbers, got 'here'"),
    "mass": (lambda: ModelBuilder("x").link("a", mass=-1), "mass of link 'a' is a finite number of kg, zero or more"),
    "NaN mass": (lambda: ModelBuilder("x").link("a", mass=np.nan), "mass of link 'a'"),
    "no inertia": (
        lambda: ModelBuilder("x").link("a", mass=1),
        "link 'a' has a mass of 1 kg but no inertia. Give inertia=",
    ),
    "inertia without mass": (
        lambda: ModelBuilder("x").link("a", inertia=(1, 1, 1)),
        "link 'a' has an inertia but no mass",
    ),
    "triangle": (lambda: ModelBuilder("x").link("a", mass=1, inertia=(1, 1, 3)), "inertia of link 'a' is not physical"),
    "negative": (
        lambda: ModelBuilder("x").link("a", mass=1, inertia=(1, 1, -1)),
        "inertia of link 'a' is not physical",
    ),
    "skew": (
        lambda: ModelBuilder("x").link("a", mass=1, inertia=[[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]),
        "must be symmetric",
    ),
    "shape of inertia": (
        lambda: ModelBuilder("x").link("a", mass=1, inertia=(1, 1)),
        "inertia of link 'a' is 3×3 or 3",
    ),
    "world": (lambda: ModelBuilder("x").link("world"), "no link can be named 'world'"),
    "gravity": (lambda: ModelBuilder("x", gravity=9.81), "gravity is three finite numbers, got 9.81"),
    "mesh": (
        lambda: ModelBuilder("x").link("a", mass=1, shapes=[Shape("mesh", (1.0, 1.0, 1.0))]),
        "the solid inertia of a mesh is not known; give the link's inertia, or a shape of these kinds: box, sphere",
    ),
    "radius": (lambda: shapes.sphere(-1), "radius of a sphere is a positive number, got -1"),
    "NaN radius": (lambda: shapes.capsule(np.nan, 1), "radius of a capsule is a positive number, got nan"),
    "ends": (lambda: shapes.capsule_between((1, 2, 3), (1, 2, 3), 0.1), "a capsule needs two different ends"),
    "parent": (lambda: pendulum().frame("f", "rode").model(), "(parent of frame 'f') named 'rode'. Did you mean 'rod'"),
    "link twice": (lambda: pendulum().link("rod").model(), "two links are named 'rod'"),
    "child": (
        lambda: pendulum().joint("j", "fixed", "rod", "hand").model(),
        "no link (child of joint 'j') named 'hand'",
    ),
    "two roots": (lambda: pendulum().link("stray").model(), "not one tree"),
    "posture": (
        lambda: pendulum().standing({"swung": 1.0}).model(),
        "no joint (in the standing posture) named 'swung'",
    ),
    "posture size": (lambda: pendulum().standing({"swing": (1, 2)}).model(), "joint 'swing' (revolute) wants 1 finite"),
    "posture word": (lambda: pendulum().standing({"swing": "up"}), "posture of joint 'swing' is numbers, got 'up'"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_errors_teach(fault):
    make, words = FAULTS[fault]
    with pytest.raises(EquipoiseError) as caught:
        make()
    assert words in str(caught.value)
    assert isinstance(caught.value, ModelError | UnknownNameError)


def test_a_point_mass_is_allowed_when_asked_for():
    link = ModelBuilder("bob").link("bob", mass=1.0, com=(0, 0, -1), inertia=(0, 0, 0)).model().links["bob"]
    assert isinstance(link.inertia, Inertia) and not link.inertia.matrix.any()


def test_builders_do_not_share_parts():
    builder = pendulum()
    before = builder.model()
    builder.frame("later", "rod")
    assert "later" not in before.frames and "later" in builder.model().frames
