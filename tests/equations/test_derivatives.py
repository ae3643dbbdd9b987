"""Derivatives against differences along the manifold, against laws, and against Pinocchio."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from numpy.testing import assert_allclose, assert_array_equal
from support import Array, description, evaluate, load, relative_error, traced
from zoo import zoo

import equipoise as eq
from equipoise.equations.catalogue import DERIVATIVES
from equipoise.model.robots import BUILT_IN

pytest.importorskip("pinocchio")

import pinocchio as pin
import pinocchio_twin as peer
import trees

pytestmark = pytest.mark.filterwarnings("ignore::equipoise.errors.ModelWarning")

STENCIL = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60  # first derivative from seven points, of sixth order
STEP = 1e-3
DIFFERENCED = 1e-9  # rounding of 1e-15 over a step of 1e-3, times what cancels in forces of light links
BAR = 1e-9
QUICK = settings(max_examples=6, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
MANY = settings(QUICK, max_examples=60, derandomize=False)

SCENE = """<mujoco><worldbody>
  <body name="robot" pos="0 0 1"><freejoint/><geom type="box" size=".1 .2 .3" mass="3" pos=".1 0 .05"/>
    <body name="arm" pos=".2 0 0"><joint name="swing" axis="0 1 0"/><geom size=".1" mass="1" pos=".1 0 0"/></body>
  </body>
  <body name="post" pos="1 0 0"><geom type="box" size=".1 .1 .5" mass="5"/></body>
  <body name="door" pos="0 1 0"><joint name="hinge" axis="0 .3 1"/>
    <geom type="box" size=".1 .5 .5" mass="2" pos=".2 0 0"/></body>
</worldbody></mujoco>"""

ROBOTS: dict[str, Callable[[], eq.Robot]] = {
    "zoo": lambda: zoo(floating=True),
    "zoo, fixed": lambda: zoo(floating=False),
    "zoo, rotors": lambda: zoo(floating=True, followers=False).with_armature(),
    "quadruped": lambda: load("quadruped"),
    "panda, fixed": lambda: load("panda", False),
    "arm7": lambda: load("arm7"),
    "a robot, a post and a door": lambda: eq.load(SCENE),  # mass fixed to the world, and a second root
}


@pytest.fixture(params=ROBOTS, scope="module")
def robot(request) -> eq.Robot:
    return ROBOTS[request.param]()


# --- differences -----------------------------------------------------------------------------------------------------


def by_q(robot: eq.Robot, f: Callable[[Array], Array], q: Array, run=traced) -> Array:
    """Slope of f along each tangent of q; f takes all displaced configurations at once."""
    n, count = robot.nv, len(STENCIL)
    steps = STEP * (np.arange(count) - count // 2)
    directions = np.repeat(np.eye(n), count, axis=0)
    moved = run(robot, "integrate", np.tile(q, (n * count, 1)), directions, np.tile(steps, n)[:, None])
    return _slopes(f(moved), n)


def by_vector(f: Callable[[Array], Array], x: Array) -> Array:
    """Slope of f along each number of x."""
    steps = STEP * (np.arange(len(STENCIL)) - len(STENCIL) // 2)
    moved = x + (np.eye(len(x))[:, None, :] * steps[:, None]).reshape(-1, len(x))
    return _slopes(f(moved), len(x))


def _slopes(values: Array, n: int) -> Array:
    return np.einsum("s,nsi->in", STENCIL, values.reshape(n, len(STENCIL), -1)) / STEP


def alike(x: Array, count: int) -> Array:
    return np.tile(x, (count, 1))


def test_inverse_dynamics(robot, rng):
    q, v = robot.random_state(rng)
    a = rng.normal(size=robot.nv)

    def tau(q: Array, v: Array, a: Array) -> Array:
        return traced(robot, "inverse_dynamics", q, v, a)

    tau_q, tau_v, tau_a = traced(robot, "inverse_dynamics_derivatives", q, v, a)
    n = robot.nv * len(STENCIL)
    assert relative_error(tau_q, by_q(robot, lambda x: tau(x, alike(v, n), alike(a, n)), q)) <= DIFFERENCED
    assert relative_error(tau_v, by_vector(lambda x: tau(alike(q, n), x, alike(a, n)), v)) <= DIFFERENCED
    assert relative_error(tau_a, by_vector(lambda x: tau(alike(q, n), alike(v, n), x), a)) <= DIFFERENCED


def test_forward_dynamics(robot, rng):
    q, v = robot.random_state(rng)
    tau = rng.normal(size=robot.nv)

    def a(q: Array, v: Array, tau: Array) -> Array:
        return traced(robot, "forward_dynamics", q, v, tau)

    a_q, a_v, a_tau = traced(robot, "forward_dynamics_derivatives", q, v, tau)
    n = robot.nv * len(STENCIL)
    bar = DIFFERENCED * 10  # accelerations of light links are large, and so are their higher derivatives
    assert relative_error(a_q, by_q(robot, lambda x: a(x, alike(v, n), alike(tau, n)), q)) <= bar
    assert relative_error(a_v, by_vector(lambda x: a(alike(q, n), x, alike(tau, n)), v)) <= bar
    assert relative_error(a_tau, by_vector(lambda x: a(alike(q, n), alike(v, n), x), tau)) <= bar


def test_velocity_of_a_frame(robot, rng):
    q, v = robot.random_state(rng)
    frame, n = list(robot.links)[-1], robot.nv * len(STENCIL)
    V_q, V_v = traced(robot, "velocity_derivatives", q, v, frames=frame)
    differences = by_q(robot, lambda x: traced(robot, "velocity", x, alike(v, n), frames=frame), q)
    assert relative_error(V_q, differences, least=1e-3) <= DIFFERENCED
    assert relative_error(V_v, traced(robot, "jacobian", q, frames=frame)) <= 1e-13


def test_velocity_of_a_frame_of_the_world():
    robot = eq.load("arm7")
    root = next(name for name in robot.links if robot.place(name)[0] < 0)
    assert_array_equal(
        traced(robot, "velocity_derivatives", *robot.random_state(np.random.default_rng(0)), frames=root), 0
    )


def test_momentum(robot, rng):
    q, v = robot.random_state(rng)
    n = robot.nv * len(STENCIL)
    h_q, h_v = traced(robot, "momentum_derivatives", q, v)
    differences = by_q(robot, lambda x: traced(robot, "momentum", x, alike(v, n)), q)
    assert relative_error(h_q, differences, least=1e-3 * robot.mass) <= DIFFERENCED
    assert relative_error(h_v, traced(robot, "momentum_matrix", q)) <= 1e-12


def test_steps_on_the_manifold(robot, rng):
    q, v = robot.random_state(rng)
    dt, n = np.array([0.7]), robot.nv * len(STENCIL)
    after = traced(robot, "integrate", q, v, dt)

    def moved(q: Array, v: Array) -> Array:
        return traced(robot, "difference", alike(after, n), traced(robot, "integrate", q, v, alike(dt, n)))

    q_q, q_v = traced(robot, "integrate_derivatives", q, v, dt)
    assert relative_error(q_q, by_q(robot, lambda x: moved(x, alike(v, n)), q)) <= DIFFERENCED
    assert relative_error(q_v, by_vector(lambda x: moved(alike(q, n), x), v)) <= DIFFERENCED


@pytest.mark.parametrize("size", [1e-12, 1e-5, 1e-4, 1e-2, 1.0])
def test_short_steps_are_as_exact(size, rng):
    """Where the formulas of small and of large angles meet; the law is q_q + size · q_v → a rotation, to first
    order."""
    robot = zoo(floating=True)
    q, v = robot.random_state(rng)
    q_q, q_v = traced(robot, "integrate_derivatives", q, v, np.array([size]))
    again = traced(
        robot, "integrate_derivatives", traced(robot, "integrate", q, v, np.array([size])), -v, np.array([size])
    )
    assert_allclose(again[0] @ q_q, np.eye(robot.nv), atol=1e-13)  # there and back
    assert_allclose(q_v / size @ v, v, rtol=1e-12, atol=1e-12)  # further along the way


def test_difference(robot, rng):
    (q0, v), n = robot.random_state(rng), robot.nv * len(STENCIL)
    q1 = traced(robot, "integrate", q0, v / 2, np.array([1.0]))
    v_q0, v_q1 = traced(robot, "difference_derivatives", q0, q1)
    assert relative_error(v_q0, by_q(robot, lambda x: traced(robot, "difference", x, alike(q1, n)), q0)) <= DIFFERENCED
    assert relative_error(v_q1, by_q(robot, lambda x: traced(robot, "difference", alike(q0, n), x), q1)) <= DIFFERENCED


def test_tangent_basis(robot, rng):
    q, _ = robot.random_state(rng)
    assert relative_error(traced(robot, "tangent_basis", q), by_q(robot, lambda x: x, q)) <= DIFFERENCED


# --- laws ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["talos", "quadruped", pytest.param("human", marks=pytest.mark.slow)])
def test_laws_of_the_derivatives(name, rng):
    robot = load(name)
    q, v = robot.random_state(rng)
    a = rng.normal(size=robot.nv)
    tau, M = evaluate(robot, "inverse_dynamics", q, v, a), evaluate(robot, "mass_matrix", q)
    tau_q, tau_v, tau_a = evaluate(robot, "inverse_dynamics_derivatives", q, v, a)
    a_q, a_v, a_tau = evaluate(robot, "forward_dynamics_derivatives", q, v, tau)
    h, g = evaluate(robot, "bias_force", q, v), evaluate(robot, "gravity", q)
    cond = np.linalg.cond(M) * np.finfo(float).eps
    assert_array_equal(tau_a, tau_a.T)
    assert_array_equal(a_tau, a_tau.T)
    assert relative_error(tau_a, M) <= 1e-13
    assert relative_error(tau_v @ v, 2 * (h - g)) <= 1e-12  # Euler: what velocity does is quadratic in v
    assert relative_error(a_tau @ M, np.eye(robot.nv)) <= 10 * cond
    assert relative_error(M @ a_q, -tau_q) <= 10 * cond
    assert relative_error(M @ a_v, -tau_v) <= 10 * cond


def test_forces_follow_the_motion(rng):
    """Chain rule along a motion with constant a: d tau/dt = tau_q v + tau_v a."""
    robot = load("talos")
    q, v = robot.random_state(rng)
    a = rng.normal(size=robot.nv)
    times = STEP * (np.arange(7) - 3)[:, None]
    path = evaluate(robot, "integrate", alike(q, 7), alike(v, 7), times)
    tau = evaluate(robot, "inverse_dynamics", path, v + times * a, alike(a, 7))
    tau_q, tau_v, _ = evaluate(robot, "inverse_dynamics_derivatives", q, v, a)
    assert relative_error(tau_q @ v + tau_v @ a, STENCIL @ tau / STEP) <= DIFFERENCED


def test_stiffness_of_gravity_is_symmetric(rng):
    """∂g/∂q is the Hessian of potential energy, where q are coordinates; rates of the momentum likewise."""
    robot = load("arm7")
    q, _ = robot.random_state(rng)
    tau_q, _, _ = evaluate(robot, "inverse_dynamics_derivatives", q, np.zeros(robot.nv), np.zeros(robot.nv))
    assert relative_error(tau_q, tau_q.T) <= 1e-13


def test_turning_the_world_turns_the_base(rng):
    """Joint torques feel the heading of a robot only through base velocities and accelerations, which are in world
    axes."""
    robot = load("quadruped")
    q, v = robot.random_state(rng)
    a = rng.normal(size=robot.nv)
    tau_q, tau_v, tau_a = evaluate(robot, "inverse_dynamics_derivatives", q, v, a)
    z, turn = np.array([0.0, 0.0, 1.0]), np.zeros((2, robot.nv))
    for part in (slice(0, 3), slice(3, 6)):
        turn[0, part], turn[1, part] = np.cross(z, v[part]), np.cross(z, a[part])
    change = tau_q[:, 5] + tau_v @ turn[0] + tau_a @ turn[1]
    tau = evaluate(robot, "inverse_dynamics", q, v, a)
    expected = np.concatenate([np.cross(z, tau[:3]), np.cross(z, tau[3:6]), np.zeros(robot.nv - 6)])
    assert relative_error(change, expected) <= 1e-12


@pytest.mark.parametrize("name", ["talos", "quadruped"])
def test_zeros_are_known_before_any_number_is(name):
    """Joints on different branches do not feel each other; nothing feels the position or the velocity of the base."""
    robot = load(name)
    output = robot.kernel("inverse_dynamics_derivatives").program.outputs[0]
    filled = output.values.reshape(output.shape) >= 0
    related = np.zeros((robot.nv, robot.nv), dtype=bool)
    for k, body in enumerate(robot.tree.bodies):
        for i in robot.tree.ancestors(k):
            related[robot.tree.bodies[i].v, body.v] = related[body.v, robot.tree.bodies[i].v] = True
    assert not filled[:, ~related].any()
    assert not filled[:2, :, :3].any()
    assert filled[2][6:, 6:][related[6:, 6:]].all()


# --- Pinocchio -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """From our coordinates to Pinocchio's: v_pin = T v, a_pin = T a + d, tau = Tᵀ tau_pin, and T and d change with q
    and v.

    Their slopes come from differences of `equipoise.convert` alone; no dynamics of ours takes part.
    """

    twin: peer.Twin
    q: Array

    def T(self, q: Array) -> Array:
        return peer.velocity_map(self.twin, q, "mixed")

    def d(self, q: Array, v: Array) -> Array:
        return peer.drift(self.twin, q, v, "mixed")

    def by_q(self, f: Callable[[Array], Array]) -> Array:
        return by_q(self.twin.robot, lambda many: np.array([f(x) for x in many]), self.q)

    def d_by_v(self, v: Array) -> Array:
        return by_vector(lambda many: np.array([self.d(self.q, x) for x in many]), v)


def pinocchio_derivatives(twin: peer.Twin, q: Array, v: Array, a: Array) -> dict[str, Array]:
    """From computeRNEADerivatives, in our coordinates."""
    model, to = twin.model, Change(twin, q)
    T0 = to.T(q)
    q_pin, v_pin, a_pin = twin.converter.to_peer(q), T0 @ v, T0 @ a + to.d(q, v)
    data = model.createData()  # kept: what Pinocchio returns are views of it
    pin_q, pin_v, pin_a = pin.computeRNEADerivatives(model, data, q_pin, v_pin, a_pin)
    tau_pin = pin.rnea(model, model.createData(), q_pin, v_pin, a_pin)
    M = mirrored(pin_a)
    v_q, a_q = to.by_q(lambda x: to.T(x) @ v), to.by_q(lambda x: to.T(x) @ a + to.d(x, v))
    return {
        "tau_q": to.by_q(lambda x: to.T(x).T @ tau_pin) + T0.T @ (pin_q @ T0 + pin_v @ v_q + M @ a_q),
        "tau_v": T0.T @ (pin_v @ T0 + M @ to.d_by_v(v)),
        "tau_a": T0.T @ M @ T0,
    }


def pinocchio_forward(twin: peer.Twin, q: Array, v: Array, tau: Array, a: Array) -> dict[str, Array]:
    """From computeABADerivatives: T a + d = aba(q, T v, T⁻ᵀ tau)."""
    to = Change(twin, q)
    T0 = to.T(q)
    arguments = twin.converter.to_peer(q), T0 @ v, np.linalg.solve(T0.T, tau)
    data = twin.model.createData()
    pin_q, pin_v, upper = pin.computeABADerivatives(twin.model, data, *arguments)
    inverse = mirrored(upper)
    v_q, tau_q = to.by_q(lambda x: to.T(x) @ v), to.by_q(lambda x: np.linalg.solve(to.T(x).T, tau))
    change = pin_q @ T0 + pin_v @ v_q + inverse @ tau_q - to.by_q(lambda x: to.T(x) @ a + to.d(x, v))
    back = np.linalg.inv(T0)
    return {"a_q": back @ change, "a_v": back @ (pin_v @ T0 - to.d_by_v(v)), "a_tau": back @ inverse @ back.T}


def mirrored(upper: Array) -> Array:
    """The symmetric matrix of which Pinocchio fills the upper half."""
    return np.triu(upper) + np.triu(upper, 1).T


def hold_pinocchio(twin: peer.Twin, rng: np.random.Generator, run=evaluate) -> None:
    robot = twin.robot
    q, v = robot.random_state(rng)
    tau = rng.normal(size=robot.nv)
    a = run(robot, "forward_dynamics", q, v, tau)
    ours = dict(zip(("tau_q", "tau_v", "tau_a"), run(robot, "inverse_dynamics_derivatives", q, v, a), strict=True))
    theirs = pinocchio_derivatives(twin, q, v, a)
    bars = dict.fromkeys(theirs, BAR)
    if not robot.tree.coupled:  # Pinocchio's followers are joints of their own, which push nobody
        theirs |= pinocchio_forward(twin, q, v, tau, a)
        ours |= zip(("a_q", "a_v", "a_tau"), run(robot, "forward_dynamics_derivatives", q, v, tau), strict=True)
        rounding = 100 * np.linalg.cond(theirs["tau_a"]) * np.finfo(float).eps
        bars |= dict.fromkeys(("a_q", "a_v", "a_tau"), max(BAR, rounding))
    # where they vanish
    least = {key: 1e-3 * (np.max(np.abs(a)) if key.startswith("a_") else robot.mass) for key in theirs}
    errors = {key: relative_error(ours[key], theirs[key], least[key]) for key in theirs}
    assert not {key: error for key, error in errors.items() if not error <= bars[key]}


@pytest.mark.parametrize(
    "name", ["talos", "solo12", "panda", *(pytest.param(n, marks=pytest.mark.slow) for n in ("jvrc1", "g1"))]
)
def test_derivatives_are_those_of_pinocchio(name, rng):
    hold_pinocchio(peer.twin_of_urdf(load(name), description(name)), rng)


@pytest.mark.parametrize("name", ["ur5", "kinova"])
def test_derivatives_on_a_fixed_base_are_those_of_pinocchio(name, rng):
    hold_pinocchio(peer.twin_of_urdf(load(name, False), description(name)), rng)


@pytest.mark.parametrize("name", ["arm7", *(pytest.param(n, marks=pytest.mark.slow) for n in BUILT_IN if n != "arm7")])
def test_derivatives_of_built_in_robots_are_those_of_pinocchio(name, rng):
    """The snake with 20 of its 50 joints: derivatives grow with the square of a chain's length, and programs have a
    limit."""
    hold_pinocchio(peer.twin_of_built_in(eq.load("snake", n=20) if name == "snake" else load(name)), rng)


@pytest.mark.slow
def test_a_program_that_is_too_long_is_refused_before_it_is_compiled():
    robot = load("snake")
    with pytest.raises(eq.EquipoiseError, match="instructions"):
        robot.forward_dynamics_derivatives(robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv))


def hold_tree(plan: trees.Plan) -> None:
    robot = plan.robot()
    hold_pinocchio(peer.twin_of(robot, trees.pinocchio_model(robot)), np.random.default_rng(4), run=traced)


@QUICK
@given(trees.plans())
def test_derivatives_of_any_tree_are_those_of_pinocchio(plan):
    hold_tree(plan)


@pytest.mark.slow
@MANY
@given(trees.plans())
def test_derivatives_of_many_trees_are_those_of_pinocchio(plan):
    hold_tree(plan)


def test_velocity_derivatives_are_those_of_pinocchio(rng):
    """getFrameVelocityDerivatives in LOCAL_WORLD_ALIGNED speaks of the point of the body that passes a point at rest.

    Ours moves along with the frame: ω × (displacement of the frame) comes on top. And v_pin changes where v does not.
    """
    twin = peer.twin_of_urdf(load("talos"), description("talos"))
    robot, model, data = twin.robot, twin.model, twin.model.createData()
    q, v = robot.random_state(rng)
    q_pin, v_pin = twin.converter.to_peer(q, v)
    T0, frame = peer.velocity_map(twin, q, "mixed"), twin.links[0]
    pin.computeForwardKinematicsDerivatives(model, data, q_pin, v_pin, np.zeros(model.nv))
    number = model.getFrameId(frame, pin.FrameType.BODY)
    V_q, V_v = (x.copy() for x in pin.getFrameVelocityDerivatives(model, data, number, pin.LOCAL_WORLD_ALIGNED))
    V_q[:3] += np.cross((V_v @ v_pin)[3:], V_v[:3], axisb=0).T
    v_q = by_q(robot, lambda many: np.array([peer.velocity_map(twin, x, "mixed") @ v for x in many]), q)
    ours = evaluate(robot, "velocity_derivatives", q, v, frames=frame)
    assert relative_error(ours[1], V_v @ T0) <= BAR
    assert relative_error(ours[0], V_q @ T0 + V_v @ v_q) <= BAR


# --- compiled --------------------------------------------------------------------------------------------------------


def test_every_compiled_derivative(rng):
    """Single states, batches, and batches into memory that is there."""
    robot = load("arm6")
    tip = list(robot.links)[-1]
    states = [robot.random_state(rng) for _ in range(11)]
    q, v = (np.array(x) for x in zip(*states, strict=True))
    for name in DERIVATIVES:
        frame = (tip,) if name.startswith("velocity") else ()
        arguments = {"difference_derivatives": (q, q[::-1].copy()), "integrate_derivatives": (q, v, 0.3)}.get(
            name, (q, v) if name.split("_")[0] in ("velocity", "momentum") else (q, v, 2 * v)
        )
        together = getattr(robot, name)(*arguments, *frame)
        columns = [np.full((11, 1), x) if np.ndim(x) == 0 else x for x in arguments]
        expected = evaluate(robot, name, *columns, frames=frame[0] if frame else None)
        alone = getattr(robot, name)(*(x if np.ndim(x) == 0 else x[3] for x in arguments), *frame)
        assert together._fields == alone._fields
        for k, (many, one) in enumerate(zip(together, alone, strict=True)):
            assert many.shape == (11, *one.shape)
            assert relative_error(many, expected[:, k]) <= 1e-13
            assert relative_error(one, expected[3, k]) <= 1e-13


def test_results_go_where_they_are_wanted(rng):
    robot = load("arm6")
    states = [robot.random_state(rng) for _ in range(9)]
    q, v = (np.array(x) for x in zip(*states, strict=True))
    out = np.full((9, 3, robot.nv, robot.nv), np.nan)
    result = robot.inverse_dynamics_derivatives(q, v, v, out=out)
    assert all(np.shares_memory(part, out) for part in result)
    assert_array_equal(out[:, 2], result.tau_a)
    assert relative_error(result.tau_a, robot.mass_matrix(q)) <= 1e-13
    inverse = robot.forward_dynamics_derivatives(q, v, v, out=out).a_tau
    assert relative_error(inverse @ robot.mass_matrix(q), np.array([np.eye(robot.nv)] * 9)) <= 1e-10
    with pytest.raises(eq.ShapeError, match=r"out must be a writable float64 array of shape \(9, 3, 6, 6\)"):
        robot.inverse_dynamics_derivatives(q, v, v, out=out[:, 0])


def test_bad_states_are_refused():
    robot = load("quadruped")
    q, v = robot.neutral(), np.zeros(robot.nv)
    with pytest.raises(eq.StateError, match="quaternion"):
        robot.momentum_derivatives(2 * q, v)
    with pytest.raises(eq.ShapeError, match=r"tau must have shape \(…, 18\)"):
        robot.kernel("forward_dynamics_derivatives")._prepared((q, v, v[:7]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["talos", "human", "g1"])
def test_compiled_derivatives_of_large_robots(name, rng):
    robot = load(name)
    states = [robot.random_state(rng) for _ in range(9)]
    q, v = (np.array(x) for x in zip(*states, strict=True))
    for name in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
        expected = evaluate(robot, name, q, v, v)
        assert relative_error(np.stack(getattr(robot, name)(q, v, v), axis=1), expected) <= 1e-11
        assert relative_error(np.stack(getattr(robot, name)(q[2], v[2], v[2])), expected[2]) <= 1e-11
