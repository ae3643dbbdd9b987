"""Laws over robots and velocity representations: no oracle but mechanics."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import casadi
import numpy as np
import pytest
from laws import LAWS, base_map, random_motion
from support import (
    FURTHER_URDFS,
    REPRESENTATIONS,
    Array,
    description,
    evaluate,
    load,
    marked,
    random_states,
    relative_error,
    singles,
)
from zoo import zoo

import equipoise as eq
from equipoise.equations.catalogue import SymbolicRobot
from equipoise.equations.symbols import SX
from equipoise.machine.trace import trace

pytestmark = pytest.mark.filterwarnings("ignore::equipoise.errors.ModelWarning")

EXACT = 1e-12
ROBOTS = {
    "brick": lambda: (
        eq.RobotBuilder("brick").link("brick", mass=2.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.25)).build()
    ),
    "zoo": lambda: zoo(floating=True),
    "zoo on a fixed base": lambda: zoo(floating=False),
    "zoo with armature": lambda: zoo(floating=True).with_armature(),
    "zoo without followers": lambda: zoo(floating=True, followers=False).with_armature(),
    "arm7": lambda: load("arm7"),
    "quadruped": lambda: load("quadruped"),
    "human": lambda: load("human"),
}
CASES = [
    *((name, r) for name in ("brick", "zoo", "zoo without followers", "quadruped") for r in REPRESENTATIONS),
    ("zoo with armature", "mixed"),
    ("zoo on a fixed base", "mixed"),
    ("arm7", "mixed"),
    ("arm7", "body"),
    ("human", "mixed"),
    *(pytest.param(("human", r), marks=pytest.mark.slow) for r in ("body", "inertial")),
]


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1]}", scope="module")
def motions(request):
    """Some motions of one robot, made once for all laws."""
    name, representation = request.param
    rng, robot = np.random.default_rng(17), ROBOTS[name]()
    return [random_motion(robot, representation, rng) for _ in range(3)]


@pytest.mark.paper("T1")
@pytest.mark.paper("T2")
@pytest.mark.parametrize("law", LAWS)
def test_law(law, motions):
    for motion in motions:
        LAWS[law](motion)


# --- the Coriolis matrix, exactly ------------------------------------------------------------------------------------


def symbolic(robot: eq.Robot) -> tuple[SymbolicRobot, SX, SX, SX]:
    """The robot on symbols, q, v, and q̇ of a mixed velocity v."""
    on_symbols = SymbolicRobot(robot.tree, robot.place)
    q, v, dt = SX.sym("q", robot.nq), SX.sym("v", robot.nv), SX.sym("dt")
    q_dot = casadi.substitute(casadi.jacobian(on_symbols.integrate(q, v, dt), dt), dt, 0)
    return on_symbols, q, v, q_dot


def numbers(expression: SX, q: SX, v: SX, *state: Array) -> Array:
    """An expression of q and v at a state, through a program of our own: CasADi's `if_else` multiplies NaN with
    zero."""
    return trace("f", {"q": q, "v": v}, {"f": expression}).evaluate(*state)


@pytest.mark.paper("T2")
@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("floating", [True, False])
def test_rate_of_the_mass_matrix_is_coriolis_and_its_transpose(floating, representation, rng):
    """Ṁ − 2C is skew [TPN17, Property 2], with Ṁ by automatic differentiation."""
    robot = zoo(floating=floating)
    on_symbols, q, v, q_dot = symbolic(robot)
    M_dot = casadi.jtimes(on_symbols.mass_matrix(q, representation=representation), q, q_dot)
    state, v_mixed = robot.random_state(rng)
    v_own = v_mixed.copy()
    if floating:
        v_own[:6] = np.linalg.solve(base_map(state, representation), v_mixed[:6])
    C = evaluate(robot, "coriolis_matrix", state, v_own, representation=representation)
    assert relative_error(C + C.T, numbers(M_dot, q, v, state, v_mixed)) <= EXACT


@pytest.mark.paper("T2")
@pytest.mark.parametrize("name", ["arm6", "planar_chain", "cart_pendulum"])
def test_on_a_fixed_base_the_coriolis_matrix_is_made_of_christoffel_symbols(name, rng):
    """C_ij = ½ Σ_k (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i) v_k, as docs/notation.md says."""
    robot = load(name)
    on_symbols, q, v, _ = symbolic(robot)
    M, n = on_symbols.mass_matrix(q), robot.nv
    state, velocity = robot.random_state(rng)
    flat = numbers(casadi.jacobian(casadi.densify(M), q), q, v, state, velocity)
    slope = flat.reshape(n, n, n, order="F")  # ∂M_ij/∂q_k
    christoffel = (slope + slope.transpose(0, 2, 1) - slope.transpose(2, 1, 0)) / 2
    C = evaluate(robot, "coriolis_matrix", state, velocity)
    assert relative_error(C, christoffel @ velocity, least=np.abs(slope).max()) <= EXACT


# --- symmetries of space ---------------------------------------------------------------------------------------------


@pytest.fixture(params=["zoo", "quadruped"])
def free(request) -> eq.Robot:
    return ROBOTS[request.param]()


def test_uniform_motion_of_the_base_changes_no_force(free, rng):
    """Galileo: neither the bias force nor the Coriolis matrix knows ṗ."""
    q, v = free.random_state(rng)
    faster = v + np.concatenate([[30.0, -20.0, 10.0], np.zeros(free.nv - 3)])
    for name in ("bias_force", "coriolis_matrix"):
        x = evaluate(free, name, q, v)
        assert relative_error(evaluate(free, name, q, faster), x) <= EXACT


def test_place_of_the_base_changes_no_force(free, rng):
    q, v = free.random_state(rng)
    moved = q + np.concatenate([[100.0, -200.0, 300.0], np.zeros(free.nq - 3)])
    for name, arguments in {
        "mass_matrix": (),
        "gravity": (),
        "momentum_matrix": (),
        "coriolis_matrix": (v,),
        "com_bias": (v,),
    }.items():
        assert np.array_equal(evaluate(free, name, q, *arguments), evaluate(free, name, moved, *arguments)), name
    lift = evaluate(free, "potential_energy", moved) - evaluate(free, "potential_energy", q)
    assert relative_error(lift, np.array(300 * 9.80665 * free.mass)) <= EXACT


def test_orientation_of_the_base_changes_nothing_in_the_body_representation(free, rng):
    """[TPN17, Sec. 2.4]: left-trivialised dynamics depend on the shape alone, but for gravity."""
    q, v = free.random_state(rng)
    turned = np.concatenate([rng.normal(size=3), free.random_state(rng)[0][3:7], q[7:]])
    for name, arguments in {"mass_matrix": (), "coriolis_matrix": (v,)}.items():
        x = evaluate(free, name, q, *arguments, representation="body")
        assert relative_error(evaluate(free, name, turned, *arguments, representation="body"), x) <= EXACT


@pytest.mark.parametrize("make", [zoo, lambda floating: load("quadruped", floating)], ids=["zoo", "quadruped"])
def test_a_held_base_leaves_the_block_of_the_joints(make, rng):
    """The robot on a fixed base is the free one with its base at rest at the origin."""
    free, held = make(floating=True), make(floating=False)
    q, v = held.random_state(rng)
    q_free, v_free = np.concatenate([free.neutral()[:7], q]), np.concatenate([np.zeros(6), v])
    joints = slice(6, None)
    M, C = evaluate(free, "mass_matrix", q_free), evaluate(free, "coriolis_matrix", q_free, v_free)
    assert relative_error(evaluate(held, "mass_matrix", q), M[joints, joints]) <= EXACT
    assert relative_error(evaluate(held, "coriolis_matrix", q, v), C[joints, joints]) <= EXACT
    assert (
        relative_error(evaluate(held, "bias_force", q, v), evaluate(free, "bias_force", q_free, v_free)[joints])
        <= EXACT
    )
    assert relative_error(evaluate(held, "com", q), evaluate(free, "com", q_free)) <= EXACT


# --- the manifold ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-8, 0.99e-4, 1.01e-4, 1e-3, 1.0, 3.0, np.pi - 1e-6])
def test_difference_undoes_integrate(angle, rng):
    """Turns of any size, on both sides of the switch to series at 1e-4."""
    robot = zoo(floating=True)
    q, v = robot.random_state(rng)
    for joint in robot.model.joints.values():
        if joint.type.name in ("ball", "floating"):
            turn = slice(joint.v.stop - 3, joint.v.stop)
            v[turn] *= angle / np.linalg.norm(v[turn])
    q1 = evaluate(robot, "integrate", q, v, np.ones(1))
    back = evaluate(robot, "difference", q, q1)
    for start in robot.tree.quaternions:
        assert np.linalg.norm(q1[start : start + 4]) == pytest.approx(1, abs=1e-15)
    assert np.abs(back - v).max() <= 1e-14 + 1e-9 * (angle > 3.1)  # rounding of q1 near half a turn is amplified
    again = evaluate(robot, "integrate", q, back, np.ones(1))
    assert np.abs(again - q1).max() <= 1e-14


def test_difference_takes_the_shorter_way(rng):
    """q and −q are one orientation."""
    robot = load("quadruped")
    q0, q1 = random_states(robot, rng, 2)[0]
    other = q1.copy()
    other[3:7] *= -1
    v = evaluate(robot, "difference", q0, q1)
    assert np.linalg.norm(v[3:6]) <= np.pi
    assert np.abs(evaluate(robot, "difference", q0, other) - v).max() <= 1e-14
    there = evaluate(robot, "integrate", q0, v, np.ones(1))
    assert min(np.abs(there - q1).max(), np.abs(there - other).max()) <= 1e-14


def test_small_turns_keep_their_digits(rng):
    """Relative, not only absolute: a turn of a nanoradian is known to twelve digits."""
    robot = load("quadruped")
    q0 = robot.neutral()
    for angle in (1e-9, 1e-6, 0.99e-4, 1.01e-4, 1e-3):
        v = np.zeros(robot.nv)
        v[3:6] = angle * np.array([0.36, 0.48, -0.8])
        assert (
            relative_error(evaluate(robot, "difference", q0, evaluate(robot, "integrate", q0, v, np.ones(1))), v)
            <= EXACT
        )


def test_integrate_scales_with_time(rng):
    robot = zoo(floating=True)
    q, v = robot.random_state(rng)
    halves = evaluate(robot, "integrate", evaluate(robot, "integrate", q, v, np.array([0.3])), v, np.array([0.2]))
    assert np.abs(evaluate(robot, "integrate", q, v, np.array([0.5])) - halves).max() <= 1e-14


# --- batches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1,), (5,), (2, 3), (0,)])
def test_a_batch_is_its_states_one_by_one(shape, rng):
    """Through the machine code, SIMD against scalar."""
    robot = load("arm7")
    count = int(np.prod(shape))
    states = random_states(robot, rng, max(count, 1))
    q, v = (x[:count].reshape(*shape, x.shape[-1]) for x in states)
    for name, arguments in {
        "mass_matrix": (q,),
        "bias_force": (q, v),
        "forward_dynamics": (q, v, v),
        "kinetic_energy": (q, v),
    }.items():
        many = getattr(robot, name)(*arguments)
        assert many.shape[: len(shape)] == shape
        if count:
            flat = [x.reshape(count, x.shape[-1]) for x in arguments]
            one_by_one = singles(robot, name, *flat)
            assert relative_error(np.asarray(many).reshape(one_by_one.shape), one_by_one) <= EXACT
            assert relative_error(one_by_one, evaluate(robot, name, *flat)) <= EXACT


# --- order -----------------------------------------------------------------------------------------------------------


def joints_in_file(path: Path) -> list[str]:
    """Names of the joints that have coordinates of their own, in the order of the file."""
    joints = ElementTree.parse(path).getroot().findall("joint")
    return [joint.attrib["name"] for joint in joints if joint.attrib["type"] != "fixed" and joint.find("mimic") is None]


@pytest.mark.paper("T7")
@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize(
    "name", ["talos", "jvrc1", "g1", "solo12", "panda", "tiago", "baxter", "hyq", *marked(list(FURTHER_URDFS)[4:9])]
)
def test_joints_keep_the_order_of_the_file(name, floating):
    """[TPN17, Sec. 3.1]: numbering does not depend on the base."""
    robot = load(name, floating)
    free = [joint for joint in robot.joints.values() if joint.mimic is None]
    assert [joint.name for joint in free] == joints_in_file(description(name))
    starts = [joint.v.start for joint in free]
    assert starts == sorted(starts)
    assert starts[0] == (6 if floating else 0)


@pytest.mark.paper("T7")
def test_joints_keep_their_order_against_the_tree():
    """The file may list a child's joint before its parent's, and branches interleaved."""
    b = eq.RobotBuilder("mixed up", floating=True)
    for name in ("a", "b", "c", "d"):
        b.link(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("last first", "revolute", "c", "d").joint("slide", "prismatic", "a", "b").joint("middle", "ball", "a", "c")
    robot = b.build()
    assert {name: joint.v for name, joint in robot.joints.items()} == {
        "last first": slice(6, 7), "slide": slice(7, 8), "middle": slice(8, 11),
    }  # fmt: skip
    q, v = robot.random_state(np.random.default_rng(1))
    M = evaluate(robot, "mass_matrix", q)
    assert relative_error(evaluate(robot, "kinetic_energy", q, v), v @ M @ v / 2) <= EXACT
    a = evaluate(robot, "forward_dynamics", q, v, v)
    assert relative_error(M @ a + evaluate(robot, "bias_force", q, v), v, least=np.abs(a).max()) <= EXACT
