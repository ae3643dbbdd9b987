"""Physical checks: what warns, what is refused, and that the pivots are those of the mass matrix."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import support
from numpy.testing import assert_allclose

from equipoise.algebra import rigid
from equipoise.errors import ModelError, ModelWarning
from equipoise.model import checks, library
from equipoise.model.assemble import assemble
from equipoise.model.checks import check
from equipoise.model.joints import Ball, Fixed, Floating, Planar, Prismatic, Revolute
from equipoise.model.tree import tree_of
from equipoise.model.types import DeclaredLimits, Inertia, Joint, JointDynamics, Link, Mimic, Model
from equipoise.model.urdf import read_urdf

BODY = Inertia(2.0, [0.1, 0.2, 0.3], np.diag([0.4, 0.5, 0.6]))


def quietly(source: str | Path, **options) -> Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return read_urdf(source, **options)


def messages(model: Model) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check(model)
    assert all(warning.category is ModelWarning for warning in caught)
    return [str(warning.message) for warning in caught]


def with_inertia(inertia: Inertia | None) -> Model:
    """A sound floating base that carries one doubtful link rigidly."""
    return assemble(
        "r", [Link("base", BODY), Link("odd", inertia)], [Joint("weld", Fixed(), "base", "odd")], floating=True
    )


def chain(*parts: tuple[object, Inertia | None], **joint) -> Model:
    """Links "l1", "l2", … on joints "j1", "j2", … one after the other, from the world."""
    links = [Link(f"l{k}", inertia) for k, (_, inertia) in enumerate(parts, 1)]
    joints = [
        Joint(f"j{k}", type_, f"l{k - 1}" if k > 1 else None, f"l{k}", **joint) for k, (type_, _) in enumerate(parts, 1)
    ]
    return assemble("r", links, joints)


# Real robots


@pytest.mark.parametrize("name", support.marked(["g1", "solo12", "jvrc1", "go2", "poppy", "hrp2", "thormang3"]))
def test_sound_robots_raise_no_doubt(name):
    assert messages(quietly(support.description(name))) == []


@pytest.mark.parametrize("name", ["human", "quadruped", "arm7", "bimanual", "holonomic_arm", "snake"])
def test_built_in_robots_raise_no_doubt(name):
    assert messages(library.read(name)) == []


@support.further
def test_thormang3_has_placeholders():
    (message,) = messages(quietly(support.description("thormang3 raw")))
    assert message.startswith(
        "thormang3: 38 links have the identity as inertia, most likely a placeholder: 'pelvis_link' (mass 6"
    )


@support.further
def test_hrp4c_has_inertias_that_are_not_definite():
    (message,) = messages(quietly(support.description("hrp4c")))
    assert (
        "10 links have an inertia that is not positive definite: 'L_WRIST_R_LINK' (eigenvalues -7e-08, 2.8e-07"
        in message
    )


def test_anymal_c_has_inertias_no_body_can_have():
    indefinite, broken = messages(quietly(support.description("anymal_c")))
    assert "1 link has an inertia that is not positive definite: 'hatch' (eigenvalues -" in indefinite
    assert "4 links have an inertia that breaks the triangle rule" in broken
    assert "'depth_camera_front_camera' (moments 8.67e-06, 0.000669, 0.00137)" in broken


def test_strict_turns_doubts_into_errors():
    with pytest.raises(ModelError, match="anymal: 1 link has an inertia that is not positive definite"):
        check(quietly(support.description("anymal_c")), strict=True)


# Doubts and errors, one by one


def test_point_masses_and_frames_raise_no_doubt():
    assert messages(with_inertia(Inertia(0.1, np.zeros(3), np.zeros((3, 3))))) == []
    assert messages(with_inertia(Inertia(0.0, np.zeros(3), np.zeros((3, 3))))) == []
    assert messages(with_inertia(None)) == []


@pytest.mark.parametrize(
    ("inertia", "message"),
    [
        (
            Inertia(1, [0, 0, 0], np.diag([-0.01, 0.1, 0.1])),
            "not positive definite: 'odd' (eigenvalues -0.01, 0.1, 0.1)",
        ),
        (
            Inertia(1, [0, 0, 0], np.diag([0.1, 0.1, 0.3])),
            "one principal moment exceeds the sum of the other two: 'odd' (mom",
        ),
        (Inertia(1, [0, 0, 0], np.eye(3)), "the identity as inertia, most likely a placeholder: 'odd' (mass 1 kg)"),
        (Inertia(0, [0, 0, 0], np.diag([0.1, 0.1, 0.1])), "an inertia but no mass: 'odd'"),
    ],
)
def test_doubtful_inertias(inertia, message):
    model = with_inertia(inertia)
    (found,) = messages(model)
    assert message in found
    with pytest.raises(ModelError, match=r"'odd' \("):
        check(model, strict=True)


@pytest.mark.parametrize(
    ("inertia", "message"),
    [
        (Inertia(-1, [0, 0, 0], np.eye(3)), "link 'odd' has the negative mass -1 kg"),
        (Inertia(1, [0, np.nan, 0], np.eye(3)), "link 'odd': .* must be finite"),
        (Inertia(np.inf, [0, 0, 0], np.eye(3)), "link 'odd': .* must be finite"),
        (Inertia(1, [0, 0, 0], [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]), "link 'odd': .* not symmetric"),
    ],
)
def test_impossible_inertias(inertia, message):
    with pytest.raises(ModelError, match=message):
        check(with_inertia(inertia))


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (DeclaredLimits(1, -1), "joint 'j1': limits must be numbers with lower ≤ upper, got lower 1, upper -1"),
        (DeclaredLimits(-1, 1, float("nan")), "joint 'j1': limits must be numbers"),
    ],
)
def test_impossible_limits(limits, message):
    with pytest.raises(ModelError, match=message):
        check(chain((Revolute(), BODY), limits=limits))


def test_doubtful_limits():
    (message,) = messages(chain((Revolute(), BODY), (Revolute(), BODY), limits=DeclaredLimits(-1, 1, -2, 3)))
    assert message == "r: 2 joints have a negative limit: 'j1' (velocity, effort -2, 3); 'j2' (velocity, effort -2, 3)"
    (message,) = messages(chain((Revolute(), BODY), limits=DeclaredLimits(0, 0)))
    assert message == "r: 1 joint has equal lower and upper limits, that is no room to move: 'j1' (both 0)"


def test_placements_are_finite():
    with pytest.raises(ModelError, match="joint 'j1': its placement"):
        check(chain((Revolute(), BODY), origin=rigid.pose(p=[0, 0, np.nan])))


# The mass matrix


def test_a_massless_moving_link_is_refused():
    with pytest.raises(ModelError, match="joint 'j2' moves link 'l2', which has no mass and carries none"):
        check(chain((Revolute(), BODY), (Revolute(), None)))


def test_a_massless_link_between_joints_is_fine():
    assert messages(chain((Revolute((1.0, 0.0, 0.0)), None), (Revolute(), BODY))) == []
    assert messages(chain((Prismatic((1.0, 0.0, 0.0)), None), (Prismatic(), None), (Ball(), BODY))) == []


def test_two_joints_of_one_axis_without_mass_between_are_refused():
    with pytest.raises(ModelError, match="joint 'j1' feels no positive inertia when it moves link 'l1'"):
        check(chain((Revolute(), None), (Revolute(), BODY)))
    with pytest.raises(ModelError, match="joint 'j1' feels no positive inertia"):
        check(chain((Floating(), None), (Planar(), BODY)))


def test_an_inertia_that_makes_the_mass_matrix_indefinite_is_refused():
    bad = Inertia(1e-3, [0, 0, 0], np.diag([0.1, 0.1, -0.1]))
    with pytest.raises(
        ModelError, match=r"joint 'j2' feels no positive inertia when it moves link 'l2' \(pivot -0.1\)"
    ):
        check(chain((Revolute((1.0, 0.0, 0.0)), BODY), (Revolute(), bad)))


def test_armature_counts_when_the_model_asks_for_it():
    link, joint = Link("l"), Joint("j", Revolute(), None, "l", dynamics=JointDynamics(armature=0.1))
    check(assemble("r", [link], [joint], armature=True))
    with pytest.raises(ModelError, match="no mass"):
        check(assemble("r", [link], [joint], armature=False))


def test_a_massless_leader_is_a_doubt_only():
    links = [Link("hand", BODY), Link("thumb"), Link("finger", BODY)]
    joints = [
        Joint("wrist", Revolute(), None, "hand"),
        Joint("lead", Revolute(), "hand", "thumb"),
        Joint("follow", Revolute(), "hand", "finger", mimic=Mimic("lead")),
    ]
    (message,) = messages(assemble("r", links, joints))
    assert "joint 'lead' moves link 'thumb', which has no mass" in message


def test_a_massless_follower_is_fine():
    links = [Link("hand", BODY), Link("thumb", BODY), Link("finger")]
    joints = [
        Joint("wrist", Revolute(), None, "hand"),
        Joint("lead", Revolute(), "hand", "thumb"),
        Joint("follow", Revolute(), "hand", "finger", mimic=Mimic("lead")),
    ]
    assert messages(assemble("r", links, joints)) == []


@pytest.mark.parametrize("name", support.marked(["g1", "talos", "anymal_c", "hrp4c"]))
def test_pivots_multiply_to_the_determinant_of_the_mass_matrix(name):
    pin = pytest.importorskip("pinocchio")
    model = quietly(support.description(name))
    reference = pin.buildModelFromUrdf(str(support.description(name)), pin.JointModelFreeFlyer())
    tree = tree_of(model)
    q = pin.neutral(reference)  # where the base is does not matter
    for k, body in enumerate(tree.bodies[1:], 1):
        (angle,) = checks._general_position(body.joint, np.array([k]), checks._size(tree))
        q[reference.joints[reference.getJointId(body.name)].idx_q] = body.multiplier * angle[0]
    data = reference.createData()
    pin.crba(reference, data, q, pin.Convention.WORLD)
    M = np.triu(data.M) + np.triu(data.M, 1).T
    logarithms = [np.linalg.slogdet(D)[1] for _, D, _ in checks._pivots(tree)]
    assert_allclose(sum(logarithms), np.linalg.slogdet(M)[1], rtol=1e-9)


@pytest.mark.parametrize("joint", [Revolute((0.6, 0.0, 0.8)), Prismatic((0.0, 1.0, 0.0)), Ball(), Planar(), Floating()])
def test_motions_are_the_velocities_of_the_joint(joint):
    """X and S against differences of poses, for every kind of joint."""
    tree = tree_of(chain((joint, BODY), origin=rigid.pose(rigid.rotation_from_rpy(0.1, 0.2, 0.3), [1, 2, 3])))
    ((X, S),) = checks._motions(tree)
    (body,) = tree.bodies
    q = [c[0] for c in checks._general_position(body.joint, np.array([0]), checks._size(tree))]

    def pose_at(step):
        moved = body.joint.integrate(q, step, checks.NUMBERS)
        return rigid.pose(body.R, body.p) @ rigid.pose(*body.joint.pose(moved, checks.NUMBERS))

    X_0, e = pose_at(np.zeros(joint.nv)), 1e-6
    assert_allclose(X[:3, :3], X_0[:3, :3].T, atol=1e-12)
    assert_allclose(X[:3, 3:], -X_0[:3, :3].T @ rigid.skew(X_0[:3, 3]), atol=1e-12)
    for i in range(joint.nv):
        step = e * np.eye(joint.nv)[i]
        twist = rigid.inverse(X_0) @ (pose_at(step) - pose_at(-step)) / (2 * e)
        assert_allclose(S[:3, i], twist[:3, 3], atol=1e-8)
        assert_allclose(rigid.skew(S[3:, i]), twist[:3, :3], atol=1e-8)


# Sizes


def scaled(length: float, mass: float, joint: object, inertia: Inertia = BODY) -> Model:
    """A floating chain of three links, all lengths and masses times those."""
    body = Inertia(mass * inertia.mass, length * inertia.com, mass * length**2 * inertia.matrix)
    joints = [Joint("base", Floating(), None, "l0")]
    joints += [Joint(f"j{k}", joint, f"l{k - 1}", f"l{k}", rigid.pose(p=[0, 0, -0.5 * length])) for k in (1, 2)]
    return assemble("r", [Link(f"l{k}", body) for k in range(3)], joints)


@pytest.mark.parametrize("joint", [Revolute((0, 1, 0)), Prismatic((0, 1, 0)), Prismatic((0, 0, 1))], ids=repr)
@pytest.mark.parametrize("length, mass", [(1e-6, 1e-9), (1e-6, 1.0), (1e-9, 1e-27), (1.0, 1e-9), (1e2, 1e3)])
def test_robots_of_any_size_are_judged_alike(length, mass, joint):
    """A doubt is about proportions: what is sound or wrong at a metre is so at a micrometre."""
    assert messages(scaled(length, mass, joint)) == []
    flat = Inertia(1.0, [0.1, 0.2, 0.3], np.diag([0.1, 0.1, 0.5]))
    indefinite = Inertia(1.0, [0.1, 0.2, 0.3], np.diag([-0.5, 0.5, 0.5]))
    assert ["triangle rule" in message for message in messages(scaled(length, mass, Revolute((0, 1, 0)), flat))] == [
        True
    ]
    with pytest.raises(ModelError, match="not positive definite"):
        check(scaled(length, mass, joint, indefinite), strict=True)
