"""Change of base and representation: nothing physical changes, and the way back is exact [TPN17, Sec. 4–5]."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.algebra.rigid import skew

REPRESENTATIONS = ("mixed", "body", "inertial")
BASES = {
    "quadruped": [
        "front_left_foot",
        "hind_right_shank",
        eq.Compound("front_left_foot", "trunk"),
        eq.Compound(eq.COM),
        eq.COM,
    ],
    "human": ["left_foot", eq.COM],
}
FEW = [("quadruped", base, representation) for base in BASES["quadruped"] for representation in REPRESENTATIONS]
CASES = [*FEW, *(("human", base, "mixed") for base in BASES["human"])]


@pytest.fixture(scope="module")
def forms():
    """One state of each robot, as equations of motion."""
    result = {}
    for name in BASES:
        robot = eq.load(name)
        q, v = robot.random_state(np.random.default_rng(5))
        result[name] = robot, robot.equations_of_motion(q, v)
    return result


def moved(forms, name, base, representation):
    robot, eom = forms[name]
    return robot, eom, eom.in_base(base).in_representation(representation)


@pytest.mark.paper("T3")
@pytest.mark.parametrize(("name", "base", "representation"), CASES, ids=str)
def test_energy_power_and_motion_do_not_depend_on_the_base(forms, name, base, representation, rng):
    robot, eom, there = moved(forms, name, base, representation)
    tau, a = rng.normal(size=(2, robot.nv))
    a_there = there.acceleration_from(eom, a)
    assert_allclose(there.kinetic_energy, eom.kinetic_energy, rtol=1e-12)
    assert_allclose(there.force_from(eom, tau) @ there.v, tau @ eom.v, rtol=1e-12, atol=1e-12)
    scale = np.abs(eom.force(a)).max()
    assert_allclose(there.force(a_there), there.force_from(eom, eom.force(a)), atol=1e-12 * scale)
    J = rng.normal(size=(6, robot.nv))
    assert_allclose(there.jacobian_from(eom, J) @ there.v, J @ eom.v, atol=1e-12)


@pytest.mark.paper("T3")
@pytest.mark.parametrize(("name", "base", "representation"), CASES, ids=str)
def test_the_way_back_is_exact(forms, name, base, representation, rng):
    robot, eom, there = moved(forms, name, base, representation)
    back = there.in_base(None).in_representation("mixed")
    for x, y in ((back.M, eom.M), (back.C, eom.C), (back.g, eom.g), (back.v, eom.v)):
        assert_allclose(x, y, rtol=0, atol=0)
    x = rng.normal(size=robot.nv)
    J = rng.normal(size=(3, robot.nv))
    assert_allclose(eom.velocity_from(there, there.velocity_from(eom, x)), x, atol=1e-12)
    assert_allclose(eom.acceleration_from(there, there.acceleration_from(eom, x)), x, atol=1e-12)
    assert_allclose(eom.force_from(there, there.force_from(eom, x)), x, atol=1e-12)
    assert_allclose(eom.jacobian_from(there, there.jacobian_from(eom, J)), J, atol=1e-12)


@pytest.mark.paper("T2", "T3")
@pytest.mark.parametrize(("name", "base", "representation"), FEW, ids=str)
def test_M_rate_minus_twice_C_is_skew_in_every_form(forms, name, base, representation):
    """Ṁ by central differences along the motion; step 1e-5 leaves an error of the order 1e-9 of M's curvature."""
    robot, eom, there = moved(forms, name, base, representation)
    q, v, h = eom.origin.q, eom.v, 1e-5
    M = []
    for sign in (1, -1):
        q_near = robot.integrate(q, v, sign * h)
        M.append(robot.equations_of_motion(q_near, v).in_base(base).in_representation(representation).M)
    M_rate = (M[0] - M[1]) / (2 * h)
    assert_allclose(there.C + there.C.T, M_rate, atol=2e-8 * np.abs(there.M).max() * max(1.0, np.abs(v).max() ** 2))


@pytest.mark.paper("T1", "T3")
@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("frame", ["front_left_shank", "hind_right_foot"])
def test_base_velocity_is_the_velocity_of_the_frame(forms, frame, representation):
    robot, eom = forms["quadruped"]
    there = eom.in_base(frame).in_representation(representation)
    mixed = robot.velocity(eom.origin.q, eom.v, frame)
    assert_allclose(there.v[:6], eq.convert.twist(there.X, mixed, "mixed", representation), atol=1e-12)
    assert_allclose(there.X, robot.pose(eom.origin.q, frame), atol=1e-14)
    assert_allclose(there.v[6:], eom.v[6:])


@pytest.mark.paper("T3")
def test_the_robot_rooted_at_another_link_has_the_same_equations(rng):
    """Oracle without our change of variables: the same mechanism, described from its other end."""

    def chain(links, floating=True):
        builder = eq.RobotBuilder("chain", floating=floating)
        masses = {"a": (2.0, (0.1, 0, 0)), "b": (1.0, (0, 0.2, 0.1)), "c": (1.5, (0, 0, 0.3))}
        for name in links:
            mass, com = masses[name]
            builder.link(name, mass=mass, com=com, inertia=(0.02, 0.03, 0.04))
        return builder

    forward = chain("abc")
    forward.joint("one", "revolute", "a", "b", axis=(0, 1, 0)).joint("two", "revolute", "b", "c", axis=(0, 0, 1))
    backward = chain("cba")
    backward.joint("two", "revolute", "c", "b", axis=(0, 0, -1)).joint("one", "revolute", "b", "a", axis=(0, -1, 0))
    f, b = forward.build(), backward.build()
    q, v = f.random_state(rng)
    there = f.equations_of_motion(q, v).in_base("c")
    q_b = np.concatenate([there.q[:7], q[[8, 7]]])
    order = [*range(6), 7, 6]
    v_b = there.v[order]
    assert_allclose(there.M[np.ix_(order, order)], b.mass_matrix(q_b), atol=1e-12)
    assert_allclose(there.g[order], b.gravity(q_b), atol=1e-11)
    assert_allclose(there.bias_force[order], b.bias_force(q_b, v_b), atol=1e-11)
    assert_allclose(there.C[np.ix_(order, order)], b.coriolis_matrix(q_b, v_b), atol=1e-11)


@pytest.mark.paper("T5")
@pytest.mark.parametrize("name", list(BASES))
def test_centroidal_dynamics(forms, name):
    """[TPN17, Lemma 4]: M_G is block diagonal, gravity constant, the base velocity the average velocity."""
    robot, eom = forms[name]
    G, q = eom.centroidal(), eom.origin.q
    scale = np.abs(eom.M).max()
    assert_allclose(G.M[:3, :3], robot.mass * np.eye(3), atol=1e-12 * scale)
    assert_allclose(G.M[:6, 6:], 0, atol=1e-12 * scale)
    assert_allclose(G.M[:3, 3:6], 0, atol=1e-12 * scale)
    weight = np.concatenate([-robot.mass * np.array(robot.model.gravity), np.zeros(robot.nv - 3)])
    assert_allclose(G.g, weight, atol=1e-10)
    h = robot.momentum(q, eom.v)
    assert_allclose(G.M[:6, :6] @ G.v[:6], h, atol=1e-11)
    assert_allclose(G.v[:3], h[:3] / robot.mass, atol=1e-12)
    assert_allclose(eom.centroidal().X[:3, 3], robot.com(q), atol=1e-12)
    A = eom.jacobian_from(G, np.hstack([G.M[:6, :6], np.zeros((6, robot.nv - 6))]))
    assert_allclose(A, robot.momentum_matrix(q), atol=1e-11)


@pytest.mark.paper("T5")
def test_centroidal_quantities_against_pinocchio(forms):
    pin = pytest.importorskip("pinocchio")
    from equipoise.model.urdf_writer import write_urdf

    robot, eom = forms["quadruped"]
    model = pin.buildModelFromXML(write_urdf(robot.model), pin.JointModelFreeFlyer())
    data = model.createData()
    q, v = eq.convert.pinocchio(robot, model).to_peer(eom.origin.q, eom.v)
    pin.ccrba(model, data, q, v)
    G = eom.centroidal()
    assert_allclose(G.M[:6, :6], data.Ig.matrix(), atol=1e-12)
    assert_allclose(G.v[:6], np.linalg.solve(data.Ig.matrix(), data.hg.vector), atol=1e-11)


@pytest.mark.paper("T5")
@pytest.mark.parametrize("name", list(BASES))
def test_zero_blocks_of_the_centroidal_coriolis_matrix_need_our_factorisation(forms, name, rng):
    """[TPN17, Lemma 4.3] does not follow from Property 2 alone.

    With C = ∫ Jᵀ J̇ dm the first three rows of C_B are m J̇_c, and the blocks vanish. Adding a skew matrix X with X v =
    0 leaves both the equations and Property 2 as they are, and the blocks are not zero any more.
    """
    robot, eom = forms[name]
    G = eom.centroidal()
    scale = np.abs(G.C).max()
    assert_allclose(G.C[:3], 0, atol=1e-11 * scale)
    assert_allclose(G.C[:, :3], 0, atol=1e-11 * scale)
    rate = robot.com_bias(eom.origin.q, eom.v)
    assert_allclose(eom.C[:3] @ eom.v, robot.mass * rate, atol=1e-10)

    e0, u = np.eye(robot.nv)[0], rng.normal(size=robot.nv)
    a, b = (x - (x @ eom.v) / (eom.v @ eom.v) * eom.v for x in (e0, u))
    X = np.outer(a, b) - np.outer(b, a)
    other = eom.C + X
    assert_allclose(other @ eom.v, eom.C @ eom.v, atol=1e-10)
    assert_allclose(other + other.T, eom.C + eom.C.T, atol=1e-12)
    T = np.vstack([G.change.U, np.hstack([np.zeros((robot.nv - 6, 6)), np.eye(robot.nv - 6)])])
    assert np.abs((G.C + T.T @ X @ T)[:3]).max() > 1e-3


@pytest.mark.paper("T4")
def test_a_compound_base_has_the_origin_of_one_and_the_orientation_of_another(forms):
    robot, eom = forms["quadruped"]
    q, v = eom.origin.q, eom.v
    there = eom.in_base(eq.Compound("front_left_foot", "hind_left_thigh"))
    assert_allclose(there.X[:3, 3], robot.pose(q, "front_left_foot")[:3, 3], atol=1e-14)
    assert_allclose(there.X[:3, :3], robot.pose(q, "hind_left_thigh")[:3, :3], atol=1e-14)
    assert_allclose(there.v[:3], robot.velocity(q, v, "front_left_foot")[:3], atol=1e-12)
    assert_allclose(there.v[3:6], robot.velocity(q, v, "hind_left_thigh")[3:], atol=1e-12)


@pytest.mark.paper("T7")
def test_joints_keep_their_numbers_whatever_the_base(forms):
    _, eom = forms["quadruped"]
    there = eom.in_base("hind_right_foot")
    assert_allclose(there.q[7:], eom.q[7:])
    assert_allclose(there.v[6:], eom.v[6:])


@pytest.mark.paper("T1")
@pytest.mark.parametrize("representation", ["body", "inertial"])
def test_representations_of_the_own_base_equal_the_kernels(forms, representation):
    """Two ways that share no code: change of variables here, kernels traced in the representation there."""
    robot, eom = forms["quadruped"]
    there, q = eom.in_representation(representation), eom.origin.q
    assert_allclose(there.M, robot.mass_matrix(q, representation), atol=1e-11)
    assert_allclose(there.C, robot.coriolis_matrix(q, there.v, representation), atol=1e-10)
    assert_allclose(there.g, robot.gravity(q, representation), atol=1e-10)
    again = robot.equations_of_motion(q, there.v, representation)
    assert_allclose(again.in_representation("mixed").M, eom.M, atol=1e-13)
    assert_allclose(again.v, there.v, atol=1e-12)


def test_batches_of_states(rng):
    robot = eq.load("quadruped")
    q, v = (np.stack(column) for column in zip(*(robot.random_state(rng) for _ in range(5)), strict=True))
    eom = robot.equations_of_motion(q, v).in_base("front_left_foot")
    one = robot.equations_of_motion(q[3], v[3]).in_base("front_left_foot")
    assert_allclose(eom.M[3], one.M, atol=1e-13)
    assert_allclose(eom.v[3], one.v, atol=1e-13)
    assert_allclose(eom.q[3], one.q, atol=1e-13)
    assert_allclose(eom.acceleration(np.zeros(robot.nv))[3], one.acceleration(np.zeros(robot.nv)), atol=1e-9)


def test_frozen(forms):
    _, eom = forms["quadruped"]
    there = eom.in_base("front_left_foot")
    for array in (there.M, there.C, there.g, there.v, eom.M):
        with pytest.raises(ValueError):
            array[0] = 1.0
    with pytest.raises(AttributeError):
        there.M = eom.M


def test_the_users_arrays_stay_writeable(rng):
    robot = eq.load("quadruped")
    q, v = robot.random_state(rng)
    robot.equations_of_motion(q, v).in_base("front_left_foot")
    q[0], v[0] = 1.0, 2.0


def test_bad_bases_teach(forms):
    _, eom = forms["quadruped"]
    with pytest.raises(eq.UnknownNameError, match="front_left_foot"):
        eom.in_base("front_left_fot")
    with pytest.raises(eq.UnknownNameError, match="inertial"):
        eom.in_representation("spatial")
    arm = eq.load("arm6")
    with pytest.raises(eq.ModelError, match="fixed base"):
        arm.equations_of_motion(*arm.random_state(np.random.default_rng(0))).in_base("link_3")
    with pytest.raises(eq.ShapeError, match="18 numbers"):
        eom.velocity_from(eom, np.zeros(5))


@pytest.fixture(scope="module")
def beside_a_cup():
    """A trunk with an arm, a free cup with a lid, and a door on the world; all move."""
    builder = eq.RobotBuilder("scene", floating=False)
    solid = {"mass": 1.0, "com": (0.1, 0.0, 0.2), "inertia": (0.3, 0.4, 0.5)}
    builder.link("trunk", **solid).link("arm", **solid).link("cup", **solid).link("lid", **solid).link("door", **solid)
    builder.joint("root", "floating", "world", "trunk").joint("swing", "revolute", "trunk", "arm", axis=(1, 2, 0))
    builder.joint("free", "floating", "world", "cup").joint("turn", "revolute", "cup", "lid", position=(0, 0, 0.2))
    builder.joint("hinge", "revolute", "world", "door")
    return builder.frame("rim", "lid", position=(0.1, 0, 0)).build()


@pytest.mark.parametrize("frame, joint", [("cup", "free"), ("rim", "free"), ("door", "hinge")])
def test_a_frame_of_another_tree_cannot_be_the_base(beside_a_cup, frame, joint, rng):
    eom = beside_a_cup.equations_of_motion(*beside_a_cup.random_state(rng))
    message = f"frame '{frame}' belongs to another tree than the base: it hangs on joint '{joint}', the robot on 'root'"
    compounds = [eq.Compound(frame), eq.Compound("arm", frame), eq.Compound(eq.COM, frame)]
    for form in (eom, eom.in_base("arm"), eom.in_representation("body")):
        for base in (frame, *compounds):
            with pytest.raises(eq.ModelError, match=message):
                form.in_base(base)
        with pytest.raises(eq.ModelError, match=message):
            form.fixed_at(frame)
    with pytest.raises(eq.ModelError, match=message):
        eom.fixed_at("arm").switch(frame)


def test_other_trees_go_along_with_a_change_of_base(beside_a_cup, rng):
    q, v = beside_a_cup.random_state(rng)
    tau = rng.normal(size=beside_a_cup.nv)
    eom = beside_a_cup.equations_of_motion(q, v)
    moved = eom.in_base("arm")
    a = moved.acceleration(moved.force_from(eom, tau))
    assert_allclose(moved.kinetic_energy, eom.kinetic_energy, rtol=1e-12)
    assert_allclose(eom.acceleration_from(moved, a), beside_a_cup.forward_dynamics(q, v, tau), rtol=1e-10, atol=1e-10)
    still = eom.fixed_at("arm")
    assert_allclose(still.free.v[:6], 0.0, atol=1e-12)
    assert_allclose(still.v, v[6:])


@pytest.mark.paper("T1")
def test_twists_wrenches_and_accelerations_between_representations(forms, rng):
    robot, eom = forms["quadruped"]
    q, v = eom.origin.q, eom.v
    X, V = robot.pose(q, "front_left_foot"), robot.velocity(q, v, "front_left_foot")
    F, A = rng.normal(size=(2, 6))
    for one in REPRESENTATIONS:
        for two in REPRESENTATIONS:
            V1, F1 = eq.convert.twist(X, V, "mixed", one), eq.convert.wrench(X, F, "mixed", one)
            V2, F2 = eq.convert.twist(X, V1, one, two), eq.convert.wrench(X, F1, one, two)
            assert_allclose(F2 @ V2, F @ V, atol=1e-12)
            A1 = eq.convert.acceleration(X, V, A, "mixed", one)
            back = eq.convert.acceleration(X, V2, eq.convert.acceleration(X, V1, A1, one, two), two, "mixed")
            assert_allclose(back, A, atol=1e-12)


@pytest.mark.paper("T1", "B2")
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_jacobian_rate(forms, representation):
    """J̇ v is the bias acceleration; J̇ itself is the derivative of J, taken symbolically along the motion."""
    robot, eom = forms["quadruped"]
    q, v = eom.origin.q, eom.in_representation(representation).v
    J_dot = robot.jacobian_rate(q, v, "front_left_foot", representation)
    assert_allclose(J_dot @ v, robot.bias_acceleration(q, v, "front_left_foot", representation), atol=1e-11)
    h = 1e-6
    near = [robot.jacobian(robot.integrate(q, eom.v, s * h), "front_left_foot", representation) for s in (1, -1)]
    assert_allclose(J_dot, (near[0] - near[1]) / (2 * h), atol=1e-7)


@pytest.mark.paper("B2")
def test_transport_of_point_jacobians(forms, rng):
    """[BK12, Eq. (19)]: J_t(a) = J_t(b) − R [(a − b)×] J_r, for points a, b of one body."""
    robot, eom = forms["quadruped"]
    a, b = rng.normal(size=(2, 3))
    poses = [np.eye(4), np.eye(4)]
    poses[0][:3, 3], poses[1][:3, 3] = a, b
    with_points = robot.with_frame("a", "front_left_shank", poses[0]).with_frame("b", "front_left_shank", poses[1])
    q = eom.origin.q
    R = robot.pose(q, "front_left_shank")[:3, :3]
    J_a, J_b = with_points.jacobian(q, "a"), with_points.jacobian(q, "b")
    J_local = R.T @ J_b[3:]
    assert_allclose(J_a[:3], J_b[:3] - R @ skew(a - b) @ J_local, atol=1e-13)


@pytest.mark.paper("T1")
@pytest.mark.parametrize("representation", ["body", "inertial"])
def test_accelerations_of_frames_change_representation_as_the_kernels_do(forms, representation):
    """One motion, seen twice: by kernels traced in the representation, and by `convert.acceleration` from the mixed
    one."""
    robot, eom = forms["quadruped"]
    q, there = eom.origin.q, eom.in_representation(representation)
    frame = "front_left_foot"
    a = eom.acceleration_from(there, np.zeros(robot.nv))  # no acceleration there is some acceleration here
    mixed = robot.jacobian(q, frame) @ a + robot.bias_acceleration(q, eom.v, frame)
    X, V = robot.pose(q, frame), robot.velocity(q, eom.v, frame)
    ours = eq.convert.acceleration(X, V, mixed, "mixed", representation)
    assert_allclose(ours, robot.bias_acceleration(q, there.v, frame, representation), atol=1e-10)
