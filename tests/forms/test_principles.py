"""Four principles, one motion: Gauss, Gauss in dual quaternions, Gibbs–Appell and Kane against the kernels and
Pinocchio."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace
from pathlib import Path

import casadi
import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import load, random_states, relative_error, traced

import equipoise as eq
from equipoise.algebra import dual_quaternions as dq
from equipoise.algebra import quaternions
from equipoise.algebra.rigid import skew
from equipoise.convert import pinocchio
from equipoise.equations import dual_quaternion_kinematics as kinematics
from equipoise.equations.jacobians import jacobian, jacobian_rate
from equipoise.equations.kinematics import poses
from equipoise.equations.symbols import SX, constant
from equipoise.forms import principles
from equipoise.machine.trace import trace
from equipoise.model.joints import Revolute
from equipoise.model.types import Mimic
from equipoise.model.urdf_writer import write_urdf

BAR = 1e-12
ROBOTS = ["arm6", "arm6 floating", "holonomic_arm", "every joint"]
NAMES = list(principles.PRINCIPLES)
LINEAR_FIRST = np.roll(np.eye(6), 3, axis=1)


@dataclass(frozen=True)
class Helix(Revolute):
    """A user's own joint, whose quaternion no one wrote down: turns, and advances as it turns."""

    name = "helix"

    def pose(self, q, m):
        R, _ = super().pose(q, m)
        return R, m.vector([0.05 * u * q[0] for u in self.axis])

    def slide(self):
        return 0.05 * np.array(self.axis).reshape(3, 1)


@functools.cache
def robot_named(name: str) -> eq.Robot:
    return every_joint() if name == "every joint" else load(name.split()[0], name.endswith("floating") or None)


def every_joint() -> eq.Robot:
    """A free base with joints of all types, oblique placements, a follower, rotors and a link without mass."""
    rng = np.random.default_rng(3)
    builder = eq.RobotBuilder("every joint").link("trunk", mass=5.0, com=(0.1, 0.0, 0.2), inertia=(0.3, 0.2, 0.4))
    parts = [
        ("ball", "trunk"),
        ("planar", "trunk"),
        ("prismatic", "ball"),
        ("revolute", "planar"),
        ("floating", "trunk"),
        ("continuous", "prismatic"),
    ]
    for kind, parent in parts:
        box = rng.uniform(0.5, 1.0, 3)
        turn = dq.rotation([0.6, 0.0, 0.8], rng.uniform(1, 2)).matrix[:3, :3]
        inertia = turn @ np.diag([box @ box - b**2 for b in box]) @ turn.T
        builder.link(kind, mass=rng.uniform(1, 3), com=rng.uniform(-0.2, 0.2, 3), inertia=inertia)
        builder.joint(kind, kind, parent, kind, axis=rng.normal(size=3), position=rng.uniform(-0.5, 0.5, 3),
                      rpy=rng.uniform(-1, 1, 3), armature=0.1 if parent == "prismatic" else 0.0)  # fmt: skip
    builder.link("nut").joint("nut", Helix((0.0, 0.6, 0.8)), "revolute", "nut", position=(0.1, 0.2, 0.3))
    for name, parent in (("tip", "nut"), ("follower", "continuous")):
        builder.link(name, mass=1.0, com=(0.1, 0.1, 0.0), inertia=(0.1, 0.2, 0.15))
        leader = Mimic("revolute", -0.5, 0.2) if name == "follower" else None
        builder.joint(name, "revolute", parent, name, axis=(0, 1, 0), position=(0.0, 0.1, 0.2), mimic=leader)
    return builder.build().with_armature()


def numbers(robot, build, arguments="qv"):
    """A function on symbols (tree, q, v, …) that returns named expressions, as one on arrays that returns named
    arrays."""
    symbols = {name: SX.sym(name, robot.nq if name == "q" else robot.nv) for name in arguments}
    outputs = build(robot.tree, *symbols.values())
    program = trace("test", symbols, outputs)
    return lambda *arrays: dict(zip(outputs, program.evaluate(*arrays), strict=True))


# --- the equations of motion -----------------------------------------------------------------------------------------


@pytest.mark.paper("Q9")
@pytest.mark.parametrize("principle", NAMES)
@pytest.mark.parametrize("name", ROBOTS)
def test_every_principle_gives_the_equations_of_the_kernels(name, principle, rng):
    robot = robot_named(name)
    q, v = random_states(robot, rng, 3)
    M, h = principles.program(robot.tree, principle, "equations").evaluate(q, v)
    assert relative_error(M, traced(robot, "mass_matrix", q)) < BAR
    assert relative_error(h, traced(robot, "bias_force", q, v)) < BAR


@pytest.mark.paper("Q9")
@pytest.mark.parametrize("principle", NAMES)
def test_every_principle_gives_the_force_of_a_motion(principle, rng):
    robot = robot_named("every joint")
    q, v = random_states(robot, rng, 3)
    a = rng.normal(size=v.shape)
    tau = principles.program(robot.tree, principle).evaluate(q, v, a)
    assert relative_error(tau, traced(robot, "inverse_dynamics", q, v, a)) < BAR


@pytest.mark.paper("B3")
@pytest.mark.paper("Q9")
@pytest.mark.parametrize("principle", NAMES)
@pytest.mark.parametrize("name", ["arm6", "arm6 floating"])
def test_every_principle_agrees_with_pinocchio(name, principle, rng):
    pin = pytest.importorskip("pinocchio")
    robot = robot_named(name)
    links = {key: replace(link, visuals=(), collisions=()) for key, link in robot.model.links.items()}
    root = (pin.JointModelFreeFlyer(),) if robot.floating else ()
    model = pin.buildModelFromXML(write_urdf(replace(robot.model, links=links)), *root)
    model.gravity.linear = np.array(robot.model.gravity)
    peer = pinocchio(robot, model)
    equations = principles.program(robot.tree, principle, "equations")
    for _ in range(3):
        q, v = robot.random_state(rng)
        a = rng.normal(size=robot.nv)
        M, h = equations.evaluate(q, v)
        T, (q_pin, v_pin) = peer.velocity_map(q), peer.to_peer(q, v)
        M_pin = pin.crba(model, model.createData(), q_pin)
        M_pin = np.triu(M_pin) + np.triu(M_pin, 1).T
        tau_pin = pin.rnea(model, model.createData(), q_pin, v_pin, peer.acceleration_to_peer(q, v, a))
        assert relative_error(M, T.T @ M_pin @ T) < BAR
        assert relative_error(M @ a + h, T.T @ tau_pin) < BAR


@pytest.mark.paper("Q9")
@pytest.mark.parametrize("name", ["arm6", "every joint"])
def test_the_motion_deviates_least_from_that_of_the_bodies_set_free(name, rng):
    """Gauss' principle itself [QO21, Eqs. (5.1), (5.5), (5.8)]: without motors the true acceleration minimises G."""
    robot = eq.Robot.from_model(replace(robot_named(name).model, armature=False))

    def constraint(tree, q, v, a):
        G = SX(0)
        motions = kinematics.body_twists(tree, q, v, a)
        for centre in principles.centres(tree):
            motion = motions[centre.body].followed_by(centre.x)
            w, p_dot = motion.twist[:3], motion.twist[3:]
            free_turn = -constant(np.linalg.inv(centre.I)) @ casadi.cross(w, constant(centre.I) @ w)
            free_fall = centre.weight(tree, motion.x)[3:] / centre.m + casadi.cross(p_dot, w)
            off = motion.rate - casadi.vertcat(free_turn, free_fall)
            G += 0.5 * off.T @ centre.Psi @ off
        return {"G": G, "slope": casadi.gradient(G, a)}

    q, v = robot.random_state(rng)
    a = traced(robot, "forward_dynamics", q, v, np.zeros(robot.nv))
    constraint_at = numbers(robot, constraint, "qva")
    least, elsewhere = constraint_at(q, v, a), constraint_at(q, v, a + 0.1 * rng.normal(size=robot.nv))
    scale = np.abs(traced(robot, "bias_force", q, v)).max()
    assert_allclose(least["slope"], 0, atol=1e-11 * scale)
    assert elsewhere["G"] > least["G"] > 0


# --- Coriolis matrices of the two Gauss principles -------------------------------------------------------------------


def gauss_terms(tree, q, v):
    """C of both papers, and the pieces of Remark 5.1 of the thesis."""
    matrices, duals = principles.gauss(tree, q, v), principles.gauss_dual_quaternion(tree, q, v)
    motions = kinematics.body_motions(tree, q, v)
    turning, rest, spin = SX(tree.nv, tree.nv), SX(tree.nv, tree.nv), SX(tree.nv, tree.nv)
    for centre in principles.centres(tree):
        motion = motions[centre.body].followed_by(centre.x)
        J, J_dot = motion.twist_jacobian, motion.twist_jacobian_rate
        w = J[:3, :] @ v
        turning += J.T @ centre.S_bar(w) @ J
        rest += 0.5 * (J_dot.T @ centre.Psi @ J - J.T @ centre.Psi @ J_dot)
        spin += 0.5 * np.trace(centre.I) * J[:3, :].T @ casadi.skew(w) @ J[:3, :]
    return {"N": matrices.C, "C": duals.C, "turning": turning, "rest": rest, "spin": spin}


@pytest.mark.paper("Q9")
@pytest.mark.paper("B3")
@pytest.mark.parametrize("name", ["arm6", "arm6 floating", "every joint"])
def test_coriolis_matrices_of_the_papers(name, rng):
    """N of [BK12, Eq. (26)] is C_GP of [QO21, Eq. (5.16)]. Ṁ − 2C is skew for it; ours differs by a skew part that is
    no force.

    Remark 5.1 of the thesis gives ½Ṁ − C as −Σ Jᵀ S̄ J alone; it is that and Σ ½ (J̇ᵀ Ψ J − Jᵀ Ψ J̇), which is skew
    too.
    """
    robot = robot_named(name)
    q, v = robot.random_state(rng)
    terms = numbers(robot, gauss_terms)(q, v)
    N, C, ours = terms["N"], terms["C"], traced(robot, "coriolis_matrix", q, v)
    scale = np.abs(C).max()
    assert_allclose(N, C, atol=BAR * scale)
    M_dot = ours + ours.T
    assert_allclose(C + C.T, M_dot, atol=BAR * scale)
    assert_allclose(C + terms["spin"], ours, atol=BAR * scale)
    assert_allclose(0.5 * M_dot - C, terms["rest"] - terms["turning"], atol=BAR * scale)
    assert np.abs(terms["rest"]).max() > 0.01 * scale


# --- Jacobians -------------------------------------------------------------------------------------------------------


@pytest.mark.paper("B2")
@pytest.mark.parametrize("name", ["arm6 floating", "every joint"])
def test_point_jacobians(name, rng):
    """Those of any point, their rates, and the transport formula [BK12, Eqs. (14), (16), (19)]."""
    robot, c = robot_named(name), np.array([0.1, -0.3, 0.2])
    k = len(robot.tree.bodies) - 1
    place = (k, dq.translation(c).matrix)

    def build(tree, q, v):
        jacobians = principles.point_jacobians(tree, q, v)
        at_c, at_0 = jacobians(k, c), jacobians(k, np.zeros(3))
        return {
            "J_t": at_c.J_t, "J_t_dot": at_c.J_t_dot, "J_r": at_c.J_r, "J_r_dot": at_c.J_r_dot, "J_0": at_0.J_t,
            "J": jacobian(tree, q, place), "J_dot": jacobian_rate(tree, q, v, place),
            "R": poses(tree, q).R[k],
        }  # fmt: skip

    q, v = robot.random_state(rng)
    x = numbers(robot, build)(q, v)
    R_T, w_hat = x["R"].T, skew(x["J"][3:] @ v)
    assert_allclose(x["J_t"], x["J"][:3], atol=BAR)
    assert_allclose(x["J_r"], R_T @ x["J"][3:], atol=BAR)
    assert_allclose(x["J_t_dot"], x["J_dot"][:3], atol=10 * BAR)
    assert_allclose(x["J_r_dot"], R_T @ (x["J_dot"][3:] - w_hat @ x["J"][3:]), atol=10 * BAR)
    assert_allclose(x["J_t"], x["J_0"] - x["R"] @ skew(c) @ x["J_r"], atol=BAR)


def last_frame(robot):
    return next(reversed(robot.frames))


@pytest.mark.paper("Q1")
@pytest.mark.parametrize("name", ROBOTS)
def test_poses_and_jacobians_in_dual_quaternions_are_those_of_the_matrices(name, rng):
    robot = robot_named(name)
    frame = last_frame(robot)
    place = robot.place(frame)
    q, v = robot.random_state(rng)

    def build(tree, q, v):
        motion = kinematics.frame_motion(tree, q, v, place)
        return {"x": motion.x, "J": motion.J, "x_dot": motion.x_dot, "twist": motion.twist_jacobian}

    got = numbers(robot, build)(q, v)
    x, x_dot = dq.DQ(got["x"][:, 0]), dq.DQ(got["x_dot"][:, 0])
    X, J = traced(robot, "pose", q, frames=frame), traced(robot, "jacobian", q, frames=frame)
    assert_allclose(x.matrix, X, atol=BAR)
    assert_allclose(got["J"] @ v, x_dot.vec8, atol=BAR)
    p_dot, w = (dq.pure(part) for part in np.split(J @ v, 2))
    assert_allclose(dq.twist_of(x, x_dot).vec6, (w + dq.E * (p_dot + dq.cross(x.translation, w))).vec6, atol=10 * BAR)
    assert_allclose(got["twist"], LINEAR_FIRST @ np.kron(np.eye(2), X[:3, :3].T) @ J, atol=BAR)


@pytest.mark.paper("Q1")
@pytest.mark.parametrize("name", ["arm6 floating", "every joint"])
def test_rates_of_dual_quaternion_jacobians(name, rng):
    """Against differences along the motion, and J̇v against the acceleration of the frame [QO21, Eqs. (5.3), (5.5),
    (5.61)]."""
    robot = robot_named(name)
    frame = last_frame(robot)
    place, step = robot.place(frame), 1e-6
    q, v = robot.random_state(rng)

    def build(tree, q, v):
        motion = kinematics.frame_motion(tree, q, v, place)
        twist = kinematics.body_twists(tree, q, v, SX(tree.nv, 1))[place[0]].followed_by(kinematics.fixed(place[1]))
        return {
            "J": motion.J,
            "J_dot": motion.J_dot,
            "twist": motion.twist_jacobian,
            "rate": motion.twist_jacobian_rate,
            "recursive": twist.rate,
        }

    jacobians = numbers(robot, build)
    here = jacobians(q, v)
    after, before = (jacobians(traced(robot, "integrate", q, v, sign * step), v) for sign in (1, -1))
    for jacobian_name, rate_name in (("J", "J_dot"), ("twist", "rate")):
        assert_allclose(here[rate_name], (after[jacobian_name] - before[jacobian_name]) / (2 * step), atol=1e-7)
    assert_allclose(here["rate"] @ v, here["recursive"][:, 0], atol=10 * BAR)
    R = traced(robot, "pose", q, frames=frame)[:3, :3]
    acceleration = traced(robot, "bias_acceleration", q, v, frames=frame)
    w, p_dot = np.split(here["twist"] @ v, 2)
    rate = np.concatenate([R.T @ acceleration[3:], R.T @ acceleration[:3] + np.cross(p_dot, w)])
    assert_allclose(here["rate"] @ v, rate, atol=100 * BAR)


# --- the face --------------------------------------------------------------------------------------------------------


@pytest.mark.paper("Q9")
def test_the_public_functions_run_compiled_on_states_and_batches(rng):
    robot = load("arm6")
    q, v = random_states(robot, rng, 3)
    M, h = principles.equations(robot, q, v, principle="kane")
    assert relative_error(M, robot.mass_matrix(q)) < BAR
    assert relative_error(h, robot.bias_force(q, v)) < BAR
    a = rng.normal(size=v.shape)
    tau = principles.inverse_dynamics(robot, q[0], v[0], a[0], principle="gibbs-appell")
    assert relative_error(tau, M[0] @ a[0] + h[0]) < BAR


@pytest.mark.paper("Q1")
def test_the_public_kinematics(rng):
    robot = load("arm6")
    q, v = random_states(robot, rng, 3)
    x = principles.dual_quaternion_pose(robot, q, "tool")
    assert_allclose(x.matrix, robot.pose(q, "tool"), atol=BAR)
    J, J_dot = (
        principles.dual_quaternion_jacobian(robot, q, "tool"),
        principles.dual_quaternion_jacobian_rate(robot, q, v, "tool"),
    )
    twist = principles.twist_jacobian(robot, q, "tool")
    xi = dq.twist_of(x, dq.DQ(np.einsum("nij,nj->ni", J, v)), "body")
    assert_allclose(xi.vec6, np.einsum("nij,nj->ni", twist, v), atol=BAR)
    assert_allclose(twist, LINEAR_FIRST @ robot.jacobian(q, "tool", "body"), atol=BAR)
    rate = principles.twist_jacobian_rate(robot, q, v, "tool")
    expected = robot.bias_acceleration(q, v, "tool", "body")
    assert_allclose(np.einsum("nij,nj->ni", rate, v) @ LINEAR_FIRST, expected, atol=10 * BAR)
    assert J_dot.shape == J.shape == (3, 8, robot.nv)


def test_frames_of_the_world_stand_still(rng):
    robot = load("arm6")
    q, _ = robot.random_state(rng)
    assert_allclose(principles.dual_quaternion_pose(robot, q, "base_link").matrix, robot.pose(q, "base_link"))
    assert not principles.twist_jacobian(robot, q, "base_link").any()


def test_bad_input_is_named(rng):
    robot = load("arm6")
    q, v = robot.random_state(rng)
    with pytest.raises(eq.UnknownNameError, match=r"no principle named 'Gauss'.*Did you mean 'gauss'"):
        principles.equations(robot, q, v, "Gauss")
    with pytest.raises(eq.UnknownNameError, match="frame"):
        principles.dual_quaternion_pose(robot, q, "tol")
    with pytest.raises(eq.ShapeError, match=r"q must have shape \(…, 6\)"):
        principles.equations(robot, q[:5], v, "kane")


# --- counts ----------------------------------------------------------------------------------------------------------


@pytest.mark.paper("Q9")
@pytest.mark.parametrize("n", [1, 2, 6, 7, 50])
def test_tables_of_the_thesis_follow_from_each_other(n):
    """[QO21, Eqs. (5.60)–(5.71)]: sums over the bodies, and the total of Table 5.4."""
    total = {name: [0, 0] for name in ("J_ξ", "J̇_ξ", "M", "C", "g")}

    def add(name, mult, plus):
        total[name][0] += mult
        total[name][1] += plus

    for i in range(1, n + 1):
        for name, plain, products in (("J_ξ", "J_x", 1), ("J̇_ξ", "J̇_x", 2)):
            cost, own = principles.TABLE_5_2[name].at(i), principles.TABLE_5_2[plain].at(i)
            assert cost.multiplications == own.multiplications + products * 48 * i + 8
            assert cost.additions == own.additions + products * 42 * i + (products - 1) * 6 * i
            add(name, cost.multiplications, cost.additions)
        for name in ("M", "C", "g"):
            cost = principles.TABLE_5_3[name].at(i)
            add(name, cost.multiplications, cost.additions)
    for name, size in (("M", n * n), ("C", n * n), ("g", n)):
        add(name, 0, (n - 1) * size)
    for name, cost in (principles.TABLE_5_2_TOTALS | principles.TABLE_5_3_TOTALS).items():
        assert [cost.at(n).multiplications, cost.at(n).additions] == total[name]
    published = principles.published_counts(n)["Gauss in dual quaternions, Alg. 5.1"]
    assert published.multiplications == sum(t[0] for t in total.values()) + 2 * n * n
    assert published.additions == sum(t[1] for t in total.values()) + 2 * n * (n - 1) + 2 * n


@pytest.mark.paper("Q9")
def test_elementary_operations_cost_what_the_thesis_says():
    """[QO21, Table 5.1]: an adjoint is two products and a conjugation, whose signs it counts as multiplications."""
    a, b = SX.sym("a", 8), SX.sym("b", 8)
    for size, name, signs in ((4, "Ad(a)b", 3), (8, "Ad(a)b, dual", 6)):
        x, y = casadi.vertsplit(a[:size]), casadi.vertsplit(b[:size])
        product = casadi.vertcat(*(dq.multiply(x, y) if size == 8 else quaternions.product(x, y)))
        count = principles.Count.of(trace("product", {"a": a, "b": b}, {"ab": product}))
        published = principles.TABLE_5_1[name]
        assert 2 * count.multiplications + signs == published.multiplications
        assert 2 * count.additions == published.additions
    w, centre = SX.sym("w", 3), principles.Centre(0, 2.7, np.zeros(3), np.arange(1.1, 10.0).reshape(3, 3))
    count = principles.Count.of(trace("S", {"w": w}, {"S": centre.S_bar(w)}))
    assert count.additions == principles.TABLE_5_1["S̄(ω, Ψ)"].additions
    assert count.multiplications + count.negations <= principles.TABLE_5_1["S̄(ω, Ψ)"].multiplications


@pytest.mark.paper("Q9")
@pytest.mark.parametrize("name", ["arm6", "arm7"])
def test_counts_are_in_order(name):
    robot = load(name)
    ours, published = principles.operation_counts(robot), principles.published_counts(robot.nv)
    work = {key: count.multiplications + count.additions for key, count in ours.items()}
    assert work["recursive"] < work["gibbs-appell"] < work["gauss"] < work["gauss-dual-quaternion"]
    assert work["recursive"] < work["kane"] < work["gauss"]
    newton, gauss = published["Newton–Euler (Balafoutis 1994)"], published["Gauss in dual quaternions, Alg. 5.1"]
    assert ours["recursive"].multiplications < newton.multiplications
    assert ours["gauss-dual-quaternion"].multiplications < gauss.multiplications
    assert ours["gauss-dual-quaternion"].additions < gauss.additions
    assert all(count.trigonometric <= 2 * robot.nv for count in ours.values())
    assert sum(vars(ours["kane"]).values()) == len(principles.program(robot.tree, "kane"))


@pytest.mark.paper("Q9")
def test_work_grows_as_the_principle_says():
    """Differentiating the Gibbs function backwards is linear in the joints; Gauss sums matrices over the bodies."""
    counts = {n: principles.operation_counts(eq.load("snake", n=n)) for n in (5, 10)}
    growth = {name: counts[10][name].multiplications / counts[5][name].multiplications for name in counts[5]}
    assert growth["gibbs-appell"] < 2.6
    assert growth["gauss-dual-quaternion"] > 3.5


def askew(n: int) -> eq.Robot:
    """A chain in which every axis, placement and inertia is oblique: no zeros to leave out."""
    rng = np.random.default_rng(1)
    builder = eq.RobotBuilder("askew", floating=False).link("link_0")
    for i in range(n):
        turn = dq.quaternion(rng.normal(size=4)).normalised.matrix[:3, :3]
        inertia = turn @ np.diag([0.1, 0.15, 0.2]) @ turn.T
        builder.link(f"link_{i + 1}", mass=rng.uniform(1, 2), com=rng.uniform(0.1, 0.2, 3), inertia=inertia)
        placement = dict(axis=rng.uniform(0.3, 1, 3), position=rng.uniform(0.3, 1, 3), rpy=rng.uniform(0.3, 1, 3))
        builder.joint(f"joint_{i}", "revolute", f"link_{i}", f"link_{i + 1}", **placement)
    return builder.build()


@pytest.mark.paper("Q9")
def test_the_table_of_the_docs_is_true():
    """Within five per cent: the kernels may still learn to save an operation."""
    page = (Path(__file__).parents[2] / "docs" / "dual-quaternions.md").read_text(encoding="utf-8")
    rows = {
        cells[0].strip(): [tuple(map(int, re.findall(r"\d+", cell))) for cell in cells[1:4]]
        for cells in (line.strip("|").split("|") for line in page.splitlines() if line.endswith("+ |"))
    }
    methods = {"Gauss, dual quaternions": "gauss-dual-quaternion", "Gauss, matrices": "gauss", "Kane": "kane",
               "Gibbs–Appell": "gibbs-appell", "`Robot.inverse_dynamics`": "recursive"}  # fmt: skip
    thesis = {"Gauss": "Gauss", "Newton–Euler, d": "Newton–Euler in", "rec": "rec", "Newton–Euler (": "Newton–Euler ("}
    for column, robot in enumerate((load("arm6"), load("arm7"), askew(6))):
        counts, published = principles.operation_counts(robot), principles.published_counts(robot.nv)
        for row, name in methods.items():
            assert_allclose(rows[row][column], (counts[name].multiplications, counts[name].additions), rtol=0.05)
        for row, start in thesis.items():
            (cells,) = (cells for name, cells in rows.items() if name.startswith(f"thesis: {row}"))
            (count,) = (count for name, count in published.items() if name.startswith(start))
            assert cells[column] == (count.multiplications, count.additions)
    assert len(rows) == len(methods) + len(thesis)  # every row has been looked at
