"""The end point of the equivalent chain is the centre of mass, whatever the robot [EB98, Sec. 2, Sec. 3, App. A]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from support import load, random_states, traced

import equipoise as eq
from equipoise.balance.chains import all_chains, appendix_order, equivalent_chain, segment_vectors
from equipoise.balance.loops import closure
from equipoise.model.checks import check
from equipoise.model.joints import BallBack, Revolute
from equipoise.model.types import Mimic
from equipoise.model.urdf_writer import write_urdf

BUILT_IN = ("planar_chain", "arm7", "snake", "bimanual", "quadruped", "human", "cart_pendulum", "holonomic_arm")
EXACT = 1e-12
INERTIA = (0.02, 0.03, 0.04)


# --- robots ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Screw(Revolute):
    """Turns about its axis and advances by `lead` metres per radian."""

    lead: float = 0.1
    name = "screw"

    def pose(self, q, m):
        R, _ = super().pose(q, m)
        return R, m.vector([u * self.lead * q[0] for u in self.axis])

    def slide(self):
        return self.lead * np.array(self.axis).reshape(3, 1)


@dataclass(frozen=True)
class Winding(Revolute):
    """Turns twice as far as its coordinate says."""

    name = "winding"

    def pose(self, q, m):
        return super().pose([2 * q[0]], m)

    def spin(self):
        return 2 * np.array(self.axis).reshape(3, 1)


KINDS = ("revolute", "continuous", "prismatic", "planar", "ball", "screw", "follower")


@st.composite
def trees(draw, kinds: tuple[str, ...] = KINDS, most: int = 7):
    """Robots of up to `most` moving bodies on a heavy or mass-less, fixed or floating root, with oblique axes."""
    structure = draw(st.lists(st.tuples(st.integers(0, most), st.sampled_from(kinds)), min_size=1, max_size=most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    floating = draw(st.booleans())
    builder = eq.RobotBuilder("tree", floating=floating)
    heavy = floating or draw(st.booleans())
    builder.link("link_0", **(dict(mass=2.0, com=rng.normal(size=3), inertia=INERTIA) if heavy else {}))
    leaders: list[str] = []
    for i, (parent, kind) in enumerate(structure, start=1):
        builder.link(f"link_{i}", mass=rng.uniform(0.1, 3.0), com=rng.normal(size=3), inertia=INERTIA)
        axis = rng.normal(size=3) if rng.random() < 0.5 else -np.eye(3)[rng.integers(3)]
        follows = kind == "follower" and leaders
        mimic = Mimic(leaders[rng.integers(len(leaders))], rng.normal(), rng.normal()) if follows else None
        named = "revolute" if kind == "follower" else kind
        joint_type = Screw(tuple(axis / np.linalg.norm(axis))) if kind == "screw" else named
        place = dict(position=rng.normal(size=3), rpy=rng.normal(size=3), child_position=rng.normal(size=3))
        builder.joint(
            f"joint_{i}", joint_type, f"link_{min(parent, i - 1)}", f"link_{i}", axis=axis, mimic=mimic, **place
        )
        if mimic is None and kind in ("revolute", "continuous", "prismatic"):
            leaders.append(f"joint_{i}")
    return builder.build()


def paper_arm() -> eq.Robot:
    """Three unit links, equal masses in their middles [EB98, Sec. 2.1]."""
    return eq.load("planar_chain", lengths=[1.0, 1.0, 1.0], masses=[1.0, 1.0, 1.0])


def star(half: float = 0.3, mass: float = 1.5) -> eq.Robot:
    """Two chains from one root, each of two links of length 2l with their masses in the middle [EB98, Fig. 6]."""
    builder = eq.RobotBuilder("star", floating=False).link("root")
    for j in (1, 2):
        for i in (1, 2):
            builder.link(f"link_{i}^{j}", mass=mass, com=(half, 0, 0), inertia=INERTIA)
            parent = "root" if i == 1 else f"link_1^{j}"
            position = (0, 0, 0) if i == 1 else (2 * half, 0, 0)
            builder.joint(f"q_{i}^{j}", "revolute", parent, f"link_{i}^{j}", axis=(0, 0, 1), position=position)
    return builder.build()


def tree_of_figure_7() -> eq.Robot:
    """Four branches of 6, 5, 4 and 3 links; the second shares two with the first, the third one, the fourth none.

    Joints j_i are named by branch and place, in the order of the file the shortest branch first.
    """
    lengths, shared, joins = {4: 3, 3: 4, 2: 5, 1: 6}, {4: 0, 3: 1, 2: 2, 1: 0}, {4: 1, 3: 1, 2: 1, 1: 1}
    rng = np.random.default_rng(7)
    builder = eq.RobotBuilder("figure_7", floating=False).link("root")
    joints = []
    for j, n in lengths.items():
        for i in range(shared[j] + 1, n + 1):
            builder.link(f"{j}_{i}", mass=rng.uniform(0.5, 2), com=rng.normal(size=3), inertia=INERTIA)
            before = "root" if i == 1 else f"{j}_{i - 1}" if i > shared[j] + 1 else f"{joins[j]}_{i - 1}"
            joints.append((before, f"{j}_{i}"))
    for before, link in joints:
        builder.joint(link, "revolute", before, link, axis=rng.normal(size=3), position=rng.normal(size=3))
    return builder.build()


# --- laws ------------------------------------------------------------------------------------------------------------


def errors(robot: eq.Robot, chain: eq.Robot, q: np.ndarray) -> dict[str, float]:
    """Greatest difference between the chain and the centre of mass, in place, motion and what gravity does."""
    pairs = {
        "end point": (traced(chain, "pose", q, frames="com")[:, :3, 3], traced(robot, "com", q)),
        "jacobian": (traced(chain, "jacobian", q, frames="com")[:, :3], traced(robot, "com_jacobian", q)),
        "com": (traced(chain, "com", q), traced(robot, "com", q)),
        "gravity": (traced(chain, "gravity", q) / robot.mass, traced(robot, "gravity", q) / robot.mass),
    }
    return {name: float(np.abs(x - y).max()) for name, (x, y) in pairs.items()}


def assert_equivalent(robot: eq.Robot, chain: eq.Robot, rng: np.random.Generator, count: int = 3) -> None:
    assert (chain.nq, chain.nv) == (robot.nq, robot.nv)
    q, _ = random_states(robot, rng, count)
    found = errors(robot, chain, q)
    scale = 1 + float(np.abs(traced(robot, "com_jacobian", q)).max()) + float(np.abs(q).max())
    gravity = found.pop("gravity")  # light links of the chain have far centres of mass: their levers magnify rounding
    assert max(found.values()) < EXACT * scale, found
    assert gravity < 100 * EXACT * scale, gravity


def assert_serial(robot: eq.Robot) -> None:
    parents = [joint.parent for joint in robot.model.joints.values()]
    assert len(set(parents)) == len(parents)


@pytest.mark.paper("E3")
@settings(max_examples=30, deadline=None)
@given(trees(), st.integers(0, 2**32 - 1))
def test_the_end_point_is_the_centre_of_mass_of_any_tree(robot, seed):
    chain = equivalent_chain(robot)
    assert_equivalent(robot, chain.robot, np.random.default_rng(seed))
    assert_serial(chain.robot)
    assert len(chain.segments) == len(robot.tree.bodies)
    check(chain.robot.model, strict=True)


@pytest.mark.paper("E3")
@settings(max_examples=20, deadline=None)
@given(trees(most=5), st.randoms(use_true_random=False))
def test_any_order_of_the_segments_will_do(robot, random):
    order = [body.name for body in robot.tree.bodies]
    random.shuffle(order)
    chain = equivalent_chain(robot, order)
    assert [segment.body for segment in chain.segments] == order
    assert_equivalent(robot, chain.robot, np.random.default_rng(3))


@pytest.mark.paper("E3")
@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_robots(name, rng):
    robot = load(name)
    chain = equivalent_chain(robot)
    assert_equivalent(robot, chain.robot, rng, count=5)
    check(chain.robot.model, strict=True)


@pytest.mark.paper("E3")
@pytest.mark.parametrize("name", ["talos", "g1", "panda", "tiago"])
def test_robots_from_files(name, rng):
    """With mimic joints (panda), and fixed joints on the way."""
    robot = load(name)
    assert_equivalent(robot, equivalent_chain(robot).robot, rng)


# --- the paper's tables ----------------------------------------------------------------------------------------------

# [EB98, Fig. 2]: lengths in sixths of a link, and rows of the coefficients of (q1, q2, q3) in q1', q2', q3'
SIX_CHAINS = [
    ((5, 3, 1), ((1, 0, 0), (0, 1, 0), (0, 0, 1))),
    ((5, 1, 3), ((1, 0, 0), (0, 1, 1), (0, 0, -1))),
    ((3, 5, 1), ((1, 1, 0), (0, -1, 0), (0, 1, 1))),
    ((3, 1, 5), ((1, 1, 0), (0, 0, 1), (0, -1, -1))),
    ((1, 3, 5), ((1, 1, 1), (0, 0, -1), (0, -1, 0))),
    ((1, 5, 3), ((1, 1, 1), (0, -1, -1), (0, 1, 0))),
]


@pytest.mark.paper("E1")
def test_the_six_chains_of_the_planar_example():
    ours = {tuple(np.round(6 * chain.lengths, 12)): chain.angles for chain in all_chains(paper_arm())}
    assert len(ours) == 6
    for lengths, angles in SIX_CHAINS:
        assert_allclose(ours[tuple(map(float, lengths))], angles, rtol=1e-12)


@pytest.mark.paper("E1")
@pytest.mark.parametrize(("lengths", "angles"), SIX_CHAINS)
def test_an_arm_built_from_a_row_of_the_table_reaches_the_centre_of_mass(lengths, angles, rng):
    arm = eq.load("planar_chain", lengths=[length / 6 for length in lengths])
    q = rng.uniform(-np.pi, np.pi, (5, 3))
    reached = traced(arm, "pose", q @ np.array(angles, dtype=float).T, frames="tool")[:, :3, 3]
    assert_allclose(reached, traced(paper_arm(), "com", q), rtol=0, atol=1e-14)


@pytest.mark.paper("E1")
def test_the_centre_of_mass_of_the_planar_example_is_the_papers(rng):
    """[EB98, Eq. (1)], in our xz plane."""
    q = rng.uniform(-np.pi, np.pi, (5, 3))
    absolute = np.cumsum(q, axis=1)
    x, z = np.cos(absolute) @ [5 / 6, 3 / 6, 1 / 6], np.sin(absolute) @ [5 / 6, 3 / 6, 1 / 6]
    chain = equivalent_chain(paper_arm()).robot
    assert_allclose(
        traced(chain, "pose", q, frames="com")[:, :3, 3], np.stack([x, 0 * x, z], axis=1), rtol=0, atol=1e-15
    )


@pytest.mark.paper("E1")
def test_a_serial_robot_keeps_its_joints():
    robot = load("arm7")
    chain = equivalent_chain(robot)
    assert list(chain.robot.joints) == list(robot.joints)
    assert [segment.turns for segment in chain.segments] == [((name, 1),) for name in robot.joints]
    assert all(joint.mimic is None for joint in chain.robot.joints.values())
    assert_allclose(chain.robot.limits.lower, robot.limits.lower, rtol=1e-12)


@pytest.mark.paper("E1")
def test_a_prismatic_joint_shifts_the_end_point_by_the_share_of_mass_it_carries():
    """[EB98, Eq. (7)]: t' has (Σ μ_j) t, and the slide is in t."""
    builder = eq.RobotBuilder("slider", floating=False)
    builder.link("rail", mass=3.0, inertia=INERTIA).link("cart", mass=1.0, inertia=INERTIA)
    builder.joint("slide", "prismatic", "rail", "cart", axis=(1, 0, 0))
    chain = equivalent_chain(builder.build()).robot
    assert_allclose(traced(chain, "pose", np.array([[0.8]]), frames="com")[0, :3, 3], [0.2, 0, 0], rtol=0, atol=1e-15)
    assert [(joint.name, joint.mimic) for joint in chain.joints.values()] == [
        ("slide", None),
        ("slide_2", Mimic("slide", -0.75)),
    ]


@pytest.mark.paper("E1")
def test_a_spatial_chain_has_as_many_equivalents_as_its_joints_have_orders(rng):
    builder = eq.RobotBuilder("spatial", floating=False).link("link_0")
    for i, kind in enumerate(("revolute", "prismatic", "revolute"), start=1):
        builder.link(f"link_{i}", mass=1.0 + i, com=rng.normal(size=3), inertia=INERTIA)
        place = dict(axis=rng.normal(size=3), position=rng.normal(size=3), rpy=rng.normal(size=3))
        builder.joint(f"joint_{i}", kind, f"link_{i - 1}", f"link_{i}", **place)
    robot = builder.build()
    chains = list(all_chains(robot))
    assert len(chains) == factorial(3)
    for chain in chains:
        assert chain.angles is None
        assert_equivalent(robot, chain.robot, rng)


@pytest.mark.paper("E2")
def test_the_star_of_the_paper():
    """[EB98, Sec. 3.2, table]: lengths 3l/4, l/4, 3l/4, l/4; q̄ = q_1^1, q_2^1, q_1^2 − q_1^1 − q_2^1, q_2^2."""
    half = 0.3
    robot = star(half)
    chain = equivalent_chain(robot)
    assert_allclose(chain.lengths, half * np.array([3 / 4, 1 / 4, 3 / 4, 1 / 4]), rtol=0, atol=1e-15)
    assert list(robot.joints) == ["q_1^1", "q_2^1", "q_1^2", "q_2^2"]
    assert_allclose(chain.angles, [[1, 0, 0, 0], [0, 1, 0, 0], [-1, -1, 1, 0], [0, 0, 0, 1]], rtol=1e-12)


@pytest.mark.paper("E2")
def test_the_star_from_its_other_chain_gives_the_symmetric_result(rng):
    robot = star()
    chain = equivalent_chain(robot, ["q_1^2", "q_2^2", "q_1^1", "q_2^1"])
    assert_allclose(chain.lengths, equivalent_chain(robot).lengths, rtol=0, atol=1e-15)
    assert_allclose(chain.angles, [[0, 0, 1, 0], [0, 0, 0, 1], [1, 0, -1, -1], [0, 1, 0, 0]], rtol=1e-12)
    assert_equivalent(robot, chain.robot, rng)


@pytest.mark.paper("E2")
@pytest.mark.parametrize(("m_1", "m_2"), [(1.0, 1.0), (2.0, 0.5)])
def test_two_rods_from_one_point(m_1, m_2):
    """[EB98, Sec. 3.1]: l'_i = l m_i / (m_1 + m_2), q_1' = q_1, q_2' = q_2 − q_1."""
    builder = eq.RobotBuilder("v", floating=False).link("root")
    for i, mass in ((1, m_1), (2, m_2)):
        builder.link(f"rod_{i}", mass=mass, com=(0.7, 0, 0), inertia=INERTIA)
        builder.joint(f"q_{i}", "revolute", "root", f"rod_{i}", axis=(0, 0, 1))
    chain = equivalent_chain(builder.build())
    assert_allclose(chain.lengths, 0.7 * np.array([m_1, m_2]) / (m_1 + m_2), rtol=1e-12)
    assert_allclose(chain.angles, [[1, 0], [-1, 1]], rtol=1e-12)


@pytest.mark.paper("E3")
def test_branches_are_numbered_as_in_the_appendix():
    """The longest first, then the branches that leave it, from its tip to its root [EB98, App. A, steps 1, 2 and 6]."""
    tree = tree_of_figure_7().tree
    names = [tree.bodies[i].name for i in appendix_order(tree)]
    branches = (
        [f"1_{i}" for i in range(1, 7)],
        [f"2_{i}" for i in (3, 4, 5)],
        [f"3_{i}" for i in (2, 3, 4)],
        ["4_1", "4_2", "4_3"],
    )
    assert names == [name for branch in branches for name in branch]


def vectors_of_the_appendix(tree) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """(t̄_01, vector of each body) by the bookkeeping of [EB98, App. A], branch after branch, revolute joints only.

    k_j links at the start of branch j belong to an earlier branch: they have no mass here [Eq. (94)], and their terms
    are added to those of that branch [Eq. (105)–(109)]. The total mass here is m, so that ν_j μ_i^j is m_i / m.
    """
    parents = {body.parent for body in tree.bodies}
    order = appendix_order(tree)
    leaves = [i for i in order if i not in parents]
    labelled: set[int] = set()
    t_01, w = np.zeros(3), {body.name: np.zeros(3) for body in tree.bodies}
    total = sum(body.mass for body in tree.bodies)
    for leaf in leaves:
        branch, i = [], leaf
        while i >= 0:
            branch.insert(0, i)
            i = tree.bodies[i].parent
        masses = np.array([0.0 if i in labelled else tree.bodies[i].mass for i in branch])
        nu, mu = masses.sum() / total, masses / masses.sum()
        labelled.update(branch)
        t = [tree.bodies[i].p for i in branch]
        t_01 = t_01 + nu * mu.sum() * t[0]
        for k, i in enumerate(branch):
            body = tree.bodies[i]
            own = mu[k] * (body.h / body.mass)
            beyond = mu[k + 1 :].sum() * t[k + 1] if k + 1 < len(branch) else np.zeros(3)
            w[body.name] = w[body.name] + nu * (own + beyond)  # ν_j t'_{k,k+1} of Eq. (7) and (97)
    return t_01, w


@pytest.mark.paper("E3")
@pytest.mark.parametrize("make", [tree_of_figure_7, star, paper_arm])
def test_the_vectors_are_those_of_the_appendix(make):
    robot = make()
    t_01, w = vectors_of_the_appendix(robot.tree)
    start, vectors = segment_vectors(robot.tree)
    assert_allclose(start, t_01, rtol=0, atol=1e-15)
    for body, vector in zip(robot.tree.bodies, vectors, strict=True):
        assert_allclose(vector, w[body.name], rtol=0, atol=1e-15)


@pytest.mark.paper("E6")
def test_a_closed_triangle_has_its_centre_of_mass_on_a_circle():
    """[EB98, Sec. 4.4] closes the planar example to a triangle. The radius is 1/√3, not the 1/3 of the paper."""
    turn = np.linspace(-3, 3, 7)
    q = np.stack([turn, np.full(7, 2 * np.pi / 3), np.full(7, 2 * np.pi / 3)], axis=1)
    robot = paper_arm()
    assert_allclose(traced(robot, "pose", q, frames="tool")[:, :3, 3], 0, rtol=0, atol=1e-15)
    end = traced(equivalent_chain(robot).robot, "pose", q, frames="com")[:, :3, 3]
    assert_allclose(np.linalg.norm(end, axis=1), 1 / np.sqrt(3), rtol=1e-12)


# --- Pinocchio -------------------------------------------------------------------------------------------------------


def in_pinocchio(robot: eq.Robot):
    """Our URDF in Pinocchio, without shapes: urdfdom does not know capsules."""
    pin = pytest.importorskip("pinocchio")
    links = {name: replace(link, visuals=(), collisions=()) for name, link in robot.model.links.items()}
    root = (pin.JointModelFreeFlyer(),) if robot.floating else ()
    return pin, pin.buildModelFromXML(write_urdf(replace(robot.model, links=links)), *root)


def com_in_pinocchio(pin, model, q) -> tuple[np.ndarray, np.ndarray]:
    """(centre of mass, its Jacobian) of all links; Pinocchio itself leaves out those that are fixed to the world."""
    data, fixed = model.createData(), model.inertias[0]
    moving = pin.computeTotalMass(model)
    share = moving / (moving + fixed.mass)
    com = share * pin.centerOfMass(model, data, q) + (1 - share) * fixed.lever
    return com, share * pin.jacobianCenterOfMass(model, data, q)


@pytest.mark.paper("E3")
@pytest.mark.parametrize("name", ["planar_chain", "arm7", "cart_pendulum", "bimanual", "quadruped", "human"])
def test_pinocchio_sees_the_centre_of_mass_at_the_end_of_the_written_chain(name, rng):
    robot = load(name)
    chain = equivalent_chain(robot).robot
    pin, original = in_pinocchio(robot)
    _, serial = in_pinocchio(chain)
    frame = serial.getFrameId("com")
    for q in random_states(robot, rng, 3)[0]:
        com, J = com_in_pinocchio(pin, original, eq.convert.pinocchio(robot, original).to_peer(q))
        T, T_chain = (eq.convert.pinocchio(r, m).velocity_map(q) for r, m in ((robot, original), (chain, serial)))
        data, q_chain = serial.createData(), eq.convert.pinocchio(chain, serial).to_peer(q)
        J_chain = pin.computeFrameJacobian(serial, data, q_chain, frame, pin.LOCAL_WORLD_ALIGNED)[:3]
        pin.framesForwardKinematics(serial, data, q_chain)
        assert_allclose(data.oMf[frame].translation, com, rtol=0, atol=EXACT)
        assert_allclose(J_chain @ T_chain, J @ T, rtol=0, atol=EXACT)
        assert_allclose(com_in_pinocchio(pin, serial, q_chain)[0], com, rtol=0, atol=EXACT)


@pytest.mark.parametrize("name", ["arm7", "quadruped"])
def test_a_written_chain_is_read_again(name, rng):
    robot = load(name)
    chain = equivalent_chain(robot).robot
    again = eq.load(write_urdf(chain.model), floating=robot.floating)
    q, _ = random_states(robot, rng, 3)
    assert list(again.joints) == list(chain.joints)
    assert_allclose(traced(again, "pose", q, frames="com")[:, :3, 3], traced(robot, "com", q), rtol=0, atol=EXACT)


# --- what the chain is -----------------------------------------------------------------------------------------------


def test_the_chain_keeps_names_mass_gravity_and_coordinates():
    robot = load("human")
    chain = equivalent_chain(robot).robot
    owners = {name: joint.q for name, joint in chain.joints.items() if joint.mimic is None}
    assert owners == {name: joint.q for name, joint in robot.joints.items()}
    assert chain.model.base is not None
    assert chain.mass == pytest.approx(robot.mass)
    assert chain.model.gravity == robot.model.gravity


def test_every_segment_is_drawn():
    chain = equivalent_chain(load("planar_chain"))
    rods = [shape for link in chain.robot.links.values() for shape in link.visuals if shape.kind == "cylinder"]
    assert_allclose([shape.size[1] for shape in rods], chain.lengths, rtol=1e-12)
    assert_allclose([shape.size[0] for shape in rods], max(chain.lengths) / 50, rtol=1e-12)  # thin, and to be seen


def test_joints_that_come_back_follow_their_leader():
    chain = equivalent_chain(star())
    assert chain.segments[2].turns == (("q_2^1", -1), ("q_1^1", -1), ("q_1^2", 1))
    assert chain.robot.joints["q_2^1_2"].mimic == Mimic("q_2^1", -1.0)
    assert "4 segments" in repr(chain)


def test_a_ball_joint_turns_back_by_the_inverse_rotation(rng):
    builder = eq.RobotBuilder("limb", floating=False).link("trunk")
    for name, kind, parent in (
        ("shoulder", "ball", "trunk"),
        ("elbow", "revolute", "shoulder"),
        ("neck", "revolute", "trunk"),
    ):
        builder.link(name, mass=1.0, com=(0.1, 0.2, 0.3), inertia=INERTIA)
        builder.joint(name, kind, parent, name, position=rng.normal(size=3))
    robot = builder.build()
    chain = equivalent_chain(robot)
    assert [segment.body for segment in chain.segments] == ["shoulder", "elbow", "neck"]
    back = chain.robot.joints["shoulder_2"]
    assert (back.type, back.mimic) == (BallBack(), Mimic("shoulder"))
    assert_equivalent(chain.robot, equivalent_chain(chain.robot).robot, rng)
    with pytest.raises(eq.ModelError, match="joint 'shoulder_2' is ball_back, which URDF has not"):
        write_urdf(chain.robot.model)
    assert chain.angles is None
    assert_equivalent(robot, chain.robot, rng)


# --- what it cannot be -----------------------------------------------------------------------------------------------


def branches(*kinds: object) -> eq.Robot:
    builder = eq.RobotBuilder("branches", floating=False).link("trunk", mass=1.0, inertia=INERTIA)
    for i, kind in enumerate(kinds):
        builder.link(f"limb_{i}", mass=1.0, inertia=INERTIA).joint(f"joint_{i}", kind, "trunk", f"limb_{i}")
    return builder.build()


def test_a_floating_joint_that_carries_a_part_of_the_mass_is_refused():
    with pytest.raises(eq.ModelError, match="'joint_0' floats and carries 50 % of the mass.*one chain for each"):
        equivalent_chain(branches("floating"))


def test_a_joint_type_that_nobody_knows_is_refused():
    with pytest.raises(eq.ModelError, match="no equivalent chain is known for joint 'joint_0' of type 'winding'"):
        equivalent_chain(branches(Winding()))


def test_an_order_names_each_joint_once():
    robot = paper_arm()
    with pytest.raises(eq.ModelError, match=r"each moving joint once: wanted 3 \(joint_1, joint_2, joint_3\), got"):
        equivalent_chain(robot, ["joint_1", "joint_1", "joint_2"])
    with pytest.raises(eq.UnknownNameError, match="no moving joint named 'joint_4'. Did you mean 'joint_3'"):
        equivalent_chain(robot, ["joint_1", "joint_2", "joint_4"])


def test_a_robot_that_cannot_move_has_no_chain():
    with pytest.raises(eq.ModelError, match="no moving joint"):
        equivalent_chain(branches())


@pytest.mark.paper("E6")
def test_a_chain_carries_the_loops_of_its_robot(rng):
    """{C'; h(q) = 0} [EB98, Sec. 4.4]: three rows of a four-bar, and motion that keeps them moves the mass as the chain
    says."""
    arm = eq.load("planar_chain", lengths=[0.5, 1.0, 0.8], masses=[1.0, 2.0, 1.5])
    q, X = np.array([1.0, 0.6, -1.9]), np.eye(4)
    X[:3, 3] = arm.pose(q, "tool")[:3, 3]
    arm = arm.with_frame("pin", next(iter(arm.links)), X)
    loop = closure(arm, "connect", "pin", "tool")
    robot = eq.Robot.from_model(replace(arm.model, loops={loop.name: loop}))
    chain = equivalent_chain(robot)
    v = np.linalg.svd(robot.jacobian(q, "tool")[[0, 2]])[2][2]
    loops = chain.loops(q, v)
    assert loops.J.shape == (3, 3)
    assert_allclose(loops.J @ v, 0.0, atol=1e-12)
    assert_allclose(loops.violation, 0.0, atol=1e-12)
    assert np.linalg.norm(loops.bias) > 0.1
    assert_allclose(chain.robot.jacobian(q, "com")[:3] @ v, robot.com_jacobian(q) @ v, atol=1e-12)
    open_by = chain.loops(q + 0.1, v, baumgarte=2.0)
    assert_allclose(open_by.bias - chain.loops(q + 0.1, v).bias, 4 * open_by.J @ v + 4 * open_by.violation, atol=1e-12)
    assert equivalent_chain(arm).loops(q, v).J.shape == (0, 3)
