"""Motion under constraints: laws of Gauss' principle, rolling, redundant coordinates, closed loops; MuJoCo's word on
loops."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import support
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise import convert
from equipoise.balance.loops import LoopConstraints, close_loops, closure, loop_constraints
from equipoise.errors import ConstraintError
from equipoise.forms.constrained import ConstrainedDynamics
from equipoise.model.robots.mobile import rolling_constraint, rolling_constraint_bias
from equipoise.model.types import Frame, LoopClosure

Array = np.ndarray

# A floating trunk with a leg that a rod closes, an arm with a ball joint welded to a rod, and geared joints: every kind
# of loop
LOOPED = """
<mujoco><compiler angle="radian"/><default><geom type="capsule" size="0.02"/></default><worldbody>
  <body name="trunk" pos="0 0 1"><freejoint/><geom type="box" size="0.1 0.2 0.3"/>
    <body name="crank" pos="0.1 0 0"><joint name="crank" axis="0 1 0"/><geom fromto="0 0 0 0.2 0 0"/>
      <body name="rod" pos="0.2 0 0"><joint name="rod" axis="0 1 0"/><geom fromto="0 0 0 0.1 0 -0.3"/></body>
    </body>
    <body name="rocker" pos="0.4 0 0"><joint name="rocker" axis="0 1 0"/><geom fromto="0 0 0 0 0 -0.3"/></body>
    <body name="upper" pos="0 0.3 0"><joint name="shoulder" type="ball"/><geom fromto="0 0 0 0 0.3 0"/>
      <body name="lower" pos="0 0.3 0"><joint name="elbow" axis="1 0 0"/><geom fromto="0 0 0 0 0.2 0.1"/></body>
    </body>
    <body name="slider" pos="0 0.6 0.2"><joint name="slide" type="slide" axis="0 1 0.3"/>
      <joint name="twist" axis="0 0 1"/><joint name="nod" axis="1 0 0"/><geom type="sphere" pos="0.02 0 0"/></body>
  </body></worldbody>
  <equality>
    <connect name="linkage" body1="rod" body2="rocker" anchor="0.1 0 -0.3"/>
    <weld name="grip" body1="lower" body2="slider" anchor="0.05 0 0"/>
    <joint name="gear" joint1="twist" joint2="crank" polycoef="0.1 -0.5 0.3 0.2 0"/>
  </equality>
</mujoco>
"""
FOUR_BAR = """
<mujoco><compiler angle="radian"/><default><geom type="capsule" size="0.02"/></default><worldbody>
  <body name="a"><joint name="a" axis="0 1 0"/><geom fromto="0 0 0 0 0 0.3"/>
    <body name="b" pos="0 0 0.3"><joint name="b" axis="0 1 0"/><geom fromto="0 0 0 0.5 0 0"/></body></body>
  <body name="c" pos="0.5 0 0"><joint name="c" axis="0 1 0"/><geom fromto="0 0 0 0 0 0.3"/></body>
  </worldbody><equality><connect name="pin" body1="b" body2="c" anchor="0.5 0 0"/></equality></mujoco>
"""


@functools.cache
def robot_of(text: str) -> eq.Robot:
    return eq.load(text)


@functools.cache
def cassie() -> eq.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.ModelWarning)
        return eq.load(cassie_file())


def cassie_file() -> Path:
    return support.robots_folder() / support.FURTHER_MJCFS["cassie"]


@dataclass(frozen=True)
class Problem:
    """Constrained dynamics with random numbers; A has rank `rank` and b lies in its range."""

    M: Array
    h: Array
    A: Array
    b: Array
    tau: Array
    rank: int

    @property
    def dynamics(self) -> ConstrainedDynamics:
        return ConstrainedDynamics(self.M, self.h, self.A, self.b)


def problem(seed: int, n: int, rows: int, rank: int) -> Problem:
    rng = np.random.default_rng(seed)
    rank = min(rank, n, rows)
    M = rng.normal(size=(n, n))
    A = rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, n))
    return Problem(M @ M.T + 0.1 * np.eye(n), rng.normal(size=n), A, A @ rng.normal(size=n), rng.normal(size=n), rank)


problems = st.builds(problem, st.integers(0, 10**6), st.integers(1, 8), st.integers(0, 10), st.integers(0, 8))
many = settings(max_examples=60, deadline=None)


def inverse_root(M: Array) -> Array:
    """M^(−1/2), the symmetric one."""
    values, vectors = np.linalg.eigh(M)
    return vectors / np.sqrt(values) @ vectors.T


def kernel(A: Array) -> Array:
    _, s, V_T = np.linalg.svd(A)
    return V_T[int(np.sum(s > 1e-10 * s.max(initial=1e-300))) :].T


# --- laws of constrained motion ---------------------------------------------------------------------------------------


@pytest.mark.paper("Q10")
@given(problems)
@many
def test_accelerations_satisfy_constraints_and_multipliers_do_no_work(p):
    d = p.dynamics
    a, force = d.acceleration(p.tau), d.constraint_force(p.tau)
    assert d.rank == p.rank
    assert d.redundant == len(p.A) - p.rank
    assert_allclose(p.A @ a, p.b, atol=1e-8)
    assert_allclose(p.M @ a + p.h, p.tau + force, atol=1e-8)
    assert_allclose(kernel(p.A).T @ force, 0, atol=1e-8)  # no virtual power on motions that the constraints allow


@pytest.mark.paper("Q10")
@given(problems)
@many
def test_formula_of_udwadia_and_kalaba_and_optimality_conditions_agree(p):
    """[QO21, Eqs. (5.44), (5.47)] with the symmetric root of M, and Appendix B."""
    d, root = p.dynamics, inverse_root(p.M)
    free = np.linalg.solve(p.M, p.tau - p.h)
    D_inverse = np.linalg.pinv(p.A @ root, rcond=1e-10) if len(p.A) else np.zeros((len(p.M), 0))
    a = free + root @ D_inverse @ (p.b - p.A @ free)
    scale = 1 + np.abs(a).max()
    assert_allclose(d.acceleration(p.tau), a, atol=1e-8 * scale)
    omega = np.eye(len(p.M)) - np.linalg.inv(root) @ D_inverse @ p.A @ np.linalg.inv(p.M)
    assert_allclose(d.null_projector.T, omega, atol=1e-8)
    assert_allclose(p.M @ a + omega @ p.h - np.linalg.inv(root) @ D_inverse @ p.b, omega @ p.tau, atol=1e-8 * scale)
    a_kkt, multipliers = d.kkt_solution(p.tau)
    assert_allclose(a_kkt, a, atol=1e-7 * scale)
    assert_allclose(d.multipliers(p.tau), multipliers, atol=1e-7 * (1 + np.abs(multipliers).max(initial=0)))


@pytest.mark.paper("Q10")
@given(problems, st.integers(0, 1000))
@many
def test_no_allowed_acceleration_is_nearer_to_the_free_one(p, seed):
    """Gauss' principle [QO21, Eq. (5.41)]."""
    a, free = p.dynamics.acceleration(p.tau), np.linalg.solve(p.M, p.tau - p.h)
    ways = kernel(p.A)
    other = a + ways @ np.random.default_rng(seed).normal(size=ways.shape[1])
    assert (a - free) @ p.M @ (a - free) <= (other - free) @ p.M @ (other - free) + 1e-9


@pytest.mark.paper("H4")
@given(problems)
@many
def test_projector_laws(p):
    N, A = p.dynamics.null_projector, p.A
    assert_allclose(N @ N, N, atol=1e-8)
    assert_allclose(A @ N, 0, atol=1e-8)
    assert_allclose(N.T @ A.T, 0, atol=1e-8)
    assert_allclose(p.M @ N, N.T @ p.M, atol=1e-8)  # orthogonal in the metric of M
    assert_allclose(np.trace(N), len(p.M) - p.rank, atol=1e-8)


def test_multipliers_of_repeated_rows_have_least_norm(rng):
    p = problem(3, 6, 2, 2)
    one = p.dynamics
    twice = ConstrainedDynamics(p.M, p.h, np.vstack([p.A, p.A]), np.concatenate([p.b, p.b]))
    assert (twice.rank, twice.redundant) == (2, 2)
    assert_allclose(twice.acceleration(p.tau), one.acceleration(p.tau), atol=1e-12)
    assert_allclose(twice.multipliers(p.tau), np.tile(one.multipliers(p.tau) / 2, 2), atol=1e-12)
    assert_allclose(twice.constraint_inertia[:2, :2], one.constraint_inertia / 4, atol=1e-12)


@pytest.mark.parametrize("angle, rank", [(3e-9, 2), (3e-11, 1), (0.0, 1)])
def test_rows_that_nearly_repeat_count_as_one(angle, rank):
    """Two rows at a small angle have singular values √2 and angle/√2; 1e-10 of the largest is the bound."""
    A = np.array([[1.0, 0.0, 0.0], [np.cos(angle), np.sin(angle), 0.0]])
    dynamics = ConstrainedDynamics(np.eye(3), np.zeros(3), A, np.zeros(2))
    assert (dynamics.rank, dynamics.redundant) == (rank, 2 - rank)
    tau = np.array([1.0, 2.0, 3.0])
    assert_allclose(dynamics.acceleration(tau), [0.0, 0.0 if rank == 2 else 2.0, 3.0], atol=1e-6)
    own = ConstrainedDynamics(np.eye(3), np.zeros(3), A, np.zeros(2), rank_tolerance=1e-6)
    assert own.rank == 1


def test_no_constraints_leave_the_free_motion(rng):
    p = problem(4, 5, 0, 0)
    assert p.dynamics.rank == 0
    assert_allclose(p.dynamics.acceleration(p.tau), np.linalg.solve(p.M, p.tau - p.h))
    assert p.dynamics.multipliers(p.tau).shape == (0,)


def test_batches_are_the_same_one_by_one(rng):
    parts = [problem(seed, 6, 5, rank) for seed, rank in enumerate((5, 3, 1, 5))]
    M, h, A, b, tau = (np.array([getattr(p, name) for p in parts]) for name in ("M", "h", "A", "b", "tau"))
    d = ConstrainedDynamics(M, h, A, b)
    assert list(d.rank) == [5, 3, 1, 5]
    for k, p in enumerate(parts):
        assert_allclose(d.acceleration(tau)[k], p.dynamics.acceleration(p.tau), atol=1e-10)
        assert_allclose(d.multipliers(tau)[k], p.dynamics.multipliers(p.tau), atol=1e-10)
        assert_allclose(d.kkt_solution(tau)[0][k], p.dynamics.acceleration(p.tau), atol=1e-8)
        assert_allclose(d.null_projector[k], p.dynamics.null_projector, atol=1e-10)
    one, many_forces = parts[0], rng.normal(size=(3, 6))
    assert_allclose(one.dynamics.acceleration(many_forces)[1], one.dynamics.acceleration(many_forces[1]), atol=1e-12)


def test_fields_cannot_be_changed(rng):
    p = problem(1, 4, 2, 2)
    with pytest.raises(ValueError, match="read-only"):
        p.dynamics.M[0, 0] = 1.0


# --- errors -----------------------------------------------------------------------------------------------------------


def test_contradicting_constraints_are_explained():
    p = problem(5, 4, 2, 2)
    A, b = np.vstack([p.A, p.A[:1]]), np.array([1.0, 2.0, 1.5])
    with pytest.raises(ConstraintError, match=r"contradict each other.*3 rows of rank 2.*rows \[.*\].*least-squares"):
        ConstrainedDynamics(p.M, p.h, A, b)
    with pytest.raises(ConstraintError, match="contradict each other"):  # one state of a batch is enough
        ConstrainedDynamics(p.M, p.h, A, np.array([[1.0, 2.0, 1.0], b]))
    compromise = ConstrainedDynamics(p.M, p.h, A, b, consistency=np.inf)
    assert_allclose(A @ compromise.acceleration(p.tau), [1.25, 2.0, 1.25], atol=1e-10)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"A": np.zeros((2, 3))}, eq.ShapeError, r"A has shape \(2, 3\), wanted .*2, 4"),
        ({"b": np.zeros(3)}, eq.ShapeError, r"b has shape \(3,\)"),
        ({"h": np.zeros(())}, eq.ShapeError, "h has shape"),
        ({"h": np.zeros((2, 4)), "b": np.zeros((3, 2))}, eq.ShapeError, r"leading dimensions .*h \(2, 4\)"),
        ({"M": np.full((4, 4), np.nan)}, eq.StateError, "M holds NaN"),
    ],
)
def test_wrong_arrays_are_refused(change, error, message):
    p = problem(6, 4, 2, 2)
    arrays = {"M": p.M, "h": p.h, "A": p.A, "b": p.b} | change
    with pytest.raises(error, match=message):
        ConstrainedDynamics(**arrays)


def test_forces_of_the_wrong_length_are_refused():
    with pytest.raises(eq.ShapeError, match=r"tau has shape \(3,\), wanted \(…, 4\)"):
        problem(6, 4, 2, 2).dynamics.acceleration(np.zeros(3))


# --- coordinates with a constraint of their own -----------------------------------------------------------------------


def hamilton(a: Array, *, left: bool) -> Array:
    """The matrix of x → a x (left) or x → x a of quaternions."""
    w, x, y, z = a
    s = 1.0 if left else -1.0
    return np.array([[w, -x, -y, -z], [x, w, -s * z, s * y], [y, s * z, w, -s * x], [z, -s * y, s * x, w]])


def dual_hamilton(x: Array, *, left: bool) -> Array:
    """The same of dual quaternions [QO21, App. A]."""
    real, dual = (hamilton(part, left=left) for part in (x[:4], x[4:]))
    return np.block([[real, np.zeros((4, 4))], [dual, real]])


CONJUGATE = np.diag([1.0, -1, -1, -1, 1, -1, -1, -1])


def base_twist_matrix(x: Array) -> Array:
    """T, 6×8, with (ṗ, ω) = T ẋ for x = r + ε ½ p r: ω = 2 ṙ r*, ṗ = 2 ḋ r* + 2 d ṙ*. Linear in x, so its rate is
    T(ẋ)."""
    r, d, flip = x[:4], x[4:], np.diag([1.0, -1, -1, -1])
    w = 2 * hamilton(flip @ r, left=False)[1:]
    p = 2 * hamilton(d, left=True)[1:] @ flip
    return np.block([[p, w], [w, np.zeros((3, 4))]])


@pytest.mark.paper("Q10")
def test_humanoid_with_eight_parameter_base_moves_as_with_six_velocities(rng):
    """[QO21, Sec. 5.4.1–5.4.3]: the pose of the base as a dual quaternion, kept at unit norm by a constraint.

    The thesis puts this M into Eq. (5.47), which needs M⁻¹. But M has rank n + 6 of n + 8: dual quaternions have two
    directions without inertia, which only the unit norm holds.
    """
    robot = support.load("human")
    q, v = robot.random_state(rng)
    x = np.concatenate([q[3:7], 0.5 * hamilton(np.r_[0, q[:3]], left=True) @ q[3:7]])
    T = np.block(
        [[base_twist_matrix(x), np.zeros((6, robot.nv - 6))], [np.zeros((robot.nv - 6, 8)), np.eye(robot.nv - 6)]]
    )
    A = np.hstack([P(x), np.zeros((8, robot.nv - 6))])
    x_dot = np.linalg.pinv(np.vstack([T, A])) @ np.concatenate([v, np.zeros(8)])
    assert_allclose(T @ x_dot, v, atol=1e-12)
    drift = np.concatenate([base_twist_matrix(x_dot[:8]) @ x_dot[:8], np.zeros(robot.nv - 6)])
    M, h, tau = robot.mass_matrix(q), robot.bias_force(q, v), rng.normal(size=robot.nv)
    M8 = T.T @ M @ T
    d = ConstrainedDynamics(M8, T.T @ (h + M @ drift), A, -P(x_dot[:8]) @ x_dot[:8])
    assert np.linalg.matrix_rank(M8, 1e-9) == robot.nv
    assert d.rank == 2
    a = T @ d.acceleration(T.T @ tau) + drift
    assert_allclose(a, robot.forward_dynamics(q, v, tau), rtol=1e-8, atol=1e-6)
    assert_allclose(d.constraint_force(T.T @ tau), 0, atol=1e-6)  # nothing real pulls along the norm


def P(x: Array) -> Array:
    """[QO21, Eq. (5.57)], 8×8 of rank 2: x* x = 1, differentiated."""
    return dual_hamilton(x, left=False) @ CONJUGATE + dual_hamilton(CONJUGATE @ x, left=True)


def test_mass_matrix_without_inertia_in_a_free_direction_is_refused():
    M = np.diag([1.0, 0.0, 2.0])
    assert_allclose(ConstrainedDynamics(M, np.zeros(3), np.eye(3)[1:2], [0.5]).acceleration([1.0, 0, 0]), [1, 0.5, 0])
    with pytest.raises(ConstraintError, match="singular in a direction that the constraints leave free"):
        ConstrainedDynamics(M, np.zeros(3), np.eye(3)[:1], np.zeros(1))


# --- rolling ----------------------------------------------------------------------------------------------------------


def rolling(robot: eq.Robot, q: Array, v: Array) -> ConstrainedDynamics:
    M, h = robot.mass_matrix(q), robot.bias_force(q, v)
    return ConstrainedDynamics(M, h, rolling_constraint(q), -rolling_constraint_bias(q, v))


def platform_basis(q: Array, w: float) -> tuple[Array, Array]:
    """(G, Ġ) with v = G u, u = (forward speed, turning speed, six joint rates): velocities that wheels allow."""
    c, s = np.cos(q[2]), np.sin(q[2])
    G, G_dot = np.zeros((9, 8)), np.zeros((9, 8))
    G[0, 0], G[1, 0] = c, s
    G_dot[0, 0], G_dot[1, 0] = -s * w, c * w
    G[2:, 1:] = np.eye(7)
    return G, G_dot


@pytest.mark.paper("Q10")
def test_wheels_that_do_not_slip_give_the_equations_of_eight_free_velocities(rng):
    """Eliminating the constraint by hand instead of by multipliers: Gᵀ M G u̇ + Gᵀ (M Ġ u + h) = Gᵀ tau."""
    robot = support.load("nonholonomic_arm")
    for _ in range(5):
        q, u, tau = robot.random_state(rng)[0], rng.normal(size=8), rng.normal(size=9)
        G, G_dot = platform_basis(q, u[1])
        v = G @ u
        d = rolling(robot, q, v)
        u_dot = np.linalg.solve(G.T @ d.M @ G, G.T @ (tau - d.h - d.M @ G_dot @ u))
        assert_allclose(d.acceleration(tau), G @ u_dot + G_dot @ u, rtol=1e-10, atol=1e-10)


@pytest.mark.paper("Q10")
def test_rolling_goes_on_and_keeps_the_energy(rng):
    robot = support.load("nonholonomic_arm")
    q = robot.standing()
    v = platform_basis(q, 0)[0] @ rng.normal(size=8)

    def energy(q: Array, v: Array) -> float:
        return float(robot.kinetic_energy(q, v) + robot.potential_energy(q))

    before = energy(q, v)
    for _ in range(100):
        q, v = runge_kutta(robot, q, v, 1e-3, lambda q, v: rolling(robot, q, v).acceleration(np.zeros(9)))
    assert_allclose(rolling_constraint(q) @ v, 0, atol=1e-10)
    assert_allclose(energy(q, v), before, rtol=1e-8)


def runge_kutta(robot: eq.Robot, q: Array, v: Array, dt: float, acceleration) -> tuple[Array, Array]:
    """One step of the classical method, positions on the manifold."""
    a1 = acceleration(q, v)
    v2 = v + dt / 2 * a1
    a2 = acceleration(robot.integrate(q, v, dt / 2), v2)
    v3 = v + dt / 2 * a2
    a3 = acceleration(robot.integrate(q, v2, dt / 2), v3)
    v4 = v + dt * a3
    a4 = acceleration(robot.integrate(q, v3, dt), v4)
    return robot.integrate(q, (v + 2 * v2 + 2 * v3 + v4) / 6, dt), v + dt * (a1 + 2 * a2 + 2 * a3 + a4) / 6


@pytest.mark.paper("H2")
def test_a_rolling_wheel_accelerates_by_the_textbook():
    """(m + M + I/r²) ẍ = τ/r with the axle's mass m, the wheel's mass M and inertia I."""
    robot = support.load("wheel")
    q, v = np.array([0.4, np.pi]), np.array([0.6, 2.0])  # r = 0.3: rolling
    J, bias = robot.jacobian(q, "rim")[:1], np.zeros(1)  # the point of the ground changes: ẍ = r φ̈ has no bias
    d = robot.equations_of_motion(q, v).constrained(J, bias)
    inertia = float(robot.mass_matrix(q)[1, 1])
    x = 5.0 / 0.3 / (3.0 + inertia / 0.3**2)
    assert_allclose(d.acceleration([0.0, 5.0]), [x, x / 0.3], rtol=1e-12)


# --- closed loops -----------------------------------------------------------------------------------------------------


def closed_state(robot: eq.Robot, rng, size: float = 0.2) -> tuple[Array, Array]:
    """A state near standing that satisfies the loops, with a base that moves."""
    q = close_loops(robot, robot.integrate(robot.standing(), size * rng.normal(size=robot.nv)))
    v = rng.normal(size=robot.nv)
    J = loop_constraints(robot, q, v).J
    at_rest = ConstrainedDynamics(robot.mass_matrix(q), np.zeros(robot.nv), J, np.zeros(len(J)))
    return q, at_rest.null_projector @ v


def loop_dynamics(robot: eq.Robot, q: Array, v: Array, baumgarte: float = 0.0) -> ConstrainedDynamics:
    J, bias, _ = loop_constraints(robot, q, v, baumgarte=baumgarte)
    return ConstrainedDynamics(robot.mass_matrix(q), robot.bias_force(q, v), J, -bias)


def test_rows_are_derivatives_of_the_violation_and_bias_of_the_rows(rng):
    """By central differences along q̇ = v; the loops are open, and the base moves. For the weld's angle, closed."""
    robot, h = robot_of(LOOPED), 1e-5
    q, v = robot.random_state(rng)
    rows = loop_constraints(robot, q, v)
    ahead, behind = (loop_constraints(robot, robot.integrate(q, v, s), v) for s in (h, -h))
    assert rows.J.shape == (3 + 6 + 1, robot.nv)
    assert min(np.abs(rows.violation[k]).max() for k in (slice(0, 3), slice(3, 6), slice(6, 9), 9)) > 1e-3
    exact = [0, 1, 2, 3, 4, 5, 9]
    assert_allclose((rows.J @ v)[exact], ((ahead.violation - behind.violation) / (2 * h))[exact], atol=1e-8)
    assert_allclose(rows.bias, (ahead.J @ v - behind.J @ v) / (2 * h), atol=1e-8)
    q, v = closed_state(robot, rng)
    v = v + rng.normal(size=robot.nv)  # leaves the loops
    ahead, behind = (loop_constraints(robot, robot.integrate(q, v, s), v) for s in (h, -h))
    assert_allclose(loop_constraints(robot, q, v).J @ v, (ahead.violation - behind.violation) / (2 * h), atol=1e-8)


def test_loops_within_the_robot_do_not_feel_the_base(rng):
    robot = robot_of(LOOPED)
    q, v = robot.random_state(rng)
    assert_allclose(loop_constraints(robot, q, v).J[:, :6], 0, atol=1e-14)


def test_loops_of_batches_are_those_of_each_state(rng):
    robot = robot_of(LOOPED)
    q, v = support.random_states(robot, rng, 3)
    together = loop_constraints(robot, q, v, baumgarte=10.0)
    assert isinstance(together, LoopConstraints)
    for k in range(3):
        for all_rows, rows in zip(together, loop_constraints(robot, q[k], v[k], baumgarte=10.0), strict=True):
            assert_allclose(all_rows[k], rows, atol=1e-12)
    closed = close_loops(robot, np.array([robot.standing(), robot.integrate(robot.standing(), 0.1 * v[0])]))
    assert np.abs(loop_constraints(robot, closed, v[:2]).violation).max() < 1e-10


@pytest.mark.paper("Q10")
def test_an_open_loop_closes_as_baumgarte_says(rng):
    """Critically damped: from rest the violation shrinks by (1 + kt) e^(−kt)."""
    robot = robot_of(FOUR_BAR)
    q, v, k = np.array([0.05, 0.02, 0.0]), np.zeros(3), 20.0
    start = loop_constraints(robot, q, v).violation
    for _ in range(200):
        q, v = runge_kutta(robot, q, v, 1e-3, lambda q, v: loop_dynamics(robot, q, v, k).acceleration(np.zeros(3)))
    end = loop_constraints(robot, q, v).violation
    assert np.abs(start).max() > 1e-3
    assert_allclose(end, start * (1 + k * 0.2) * np.exp(-k * 0.2), atol=1e-6)


def test_a_parallel_four_bar_moves_as_one_angle():
    """Both cranks turn alike and the bar stays level: I θ̈ of two cranks about their pivots and the bar on a circle."""
    robot = robot_of(FOUR_BAR)
    q = close_loops(robot, np.array([0.3, -0.3, 0.3]), held=["a"])
    assert_allclose(q, [0.3, -0.3, 0.3], atol=1e-9)
    d = loop_dynamics(robot, q, np.array([0.7, -0.7, 0.7]))
    assert d.rank == 2
    M = np.array([1.0, -1.0, 1.0]) @ d.M @ np.array([1.0, -1.0, 1.0])
    h = np.array([1.0, -1.0, 1.0]) @ d.h
    assert_allclose(d.acceleration([0.4, 0, 0]), (0.4 - h) / M * np.array([1.0, -1.0, 1.0]), atol=1e-9)


def test_loops_that_cannot_close_say_which():
    robot = robot_of(FOUR_BAR)
    short = eq.load(FOUR_BAR.replace('pos="0.5 0 0"><joint name="c"', 'pos="2.5 0 0"><joint name="c"'))
    loop = closure(short, "connect", "b", "c", name="too far")
    with pytest.raises(ConstraintError, match=r"loops of .* cannot be closed.*too far by"):
        close_loops(short, short.neutral(), loops=[loop])
    with pytest.raises(eq.UnknownNameError, match="no joint named 'z'"):
        close_loops(robot, robot.neutral(), held=["z"])
    with pytest.raises(eq.UnknownNameError, match="no frame named 'z'"):
        closure(robot, "weld", "a", "z")
    with pytest.raises(eq.UnknownNameError, match="kind of closure"):
        closure(robot, "joint", "a", "b")  # type: ignore[arg-type]
    whole = robot_of(LOOPED)
    locked = whole.with_locked(["twist"])  # its gear locks the crank as well, and nothing is left to constrain
    assert "gear" not in locked.model.loops and not {"twist", "crank"} & set(locked.joints)
    gear = [whole.model.loops["gear"]]
    with pytest.raises(ConstraintError, match="'gear' couples joint 'twist'"):
        loop_constraints(locked, locked.neutral(), np.zeros(locked.nv), loops=gear)


def test_a_foot_welded_to_the_world_moves_the_base_to_it(rng):
    robot = support.load("quadruped")
    X = np.eye(4)
    X[:3, 3] = 0.3, 0.2, 0.1
    loop = LoopClosure("stance", "weld", robot.frames["front_left_foot"], Frame("ground", None, X))
    q = close_loops(robot, robot.standing(), loops=[loop])
    assert_allclose(robot.pose(q, "front_left_foot"), X, atol=1e-11)


# --- Cassie -----------------------------------------------------------------------------------------------------------


@support.further
@pytest.mark.paper("Q10")
def test_the_four_loops_of_cassie_close_from_anywhere(rng):
    """Two rows of twelve are redundant: the plantar rods move in a plane. They stay so while the loops are open."""
    robot = cassie()
    starts = [robot.standing(), *(robot.random_state(rng)[0] for _ in range(5))]
    for start in starts:
        q = close_loops(robot, start)
        rows = loop_constraints(robot, q, rng.normal(size=robot.nv))
        assert np.abs(rows.violation).max() < 1e-10
        assert_allclose(q[:7], start[:7], atol=1e-12)
        for J in (rows.J, loop_constraints(robot, start, np.zeros(robot.nv)).J):
            assert ConstrainedDynamics(robot.mass_matrix(q), np.zeros(robot.nv), J, np.zeros(12)).rank == 10


@support.further
@pytest.mark.paper("Q10")
def test_cassie_stays_closed_while_it_tumbles(rng):
    robot = cassie().with_armature()
    q, v = closed_state(robot, rng, size=0.05)
    v = 0.5 * v
    for _ in range(100):
        q, v = runge_kutta(
            robot, q, v, 5e-4, lambda q, v: loop_dynamics(robot, q, v, 50.0).acceleration(-robot.joint_friction(v))
        )
        rows = loop_constraints(robot, q, v)
        assert np.abs(rows.violation).max() < 1e-8
        assert np.abs(rows.J @ v).max() < 1e-6


# --- MuJoCo -----------------------------------------------------------------------------------------------------------


def hard_acceleration(robot: eq.Robot, source: str, q: Array, v: Array, tau: Array) -> Array:
    """MuJoCo's acceleration with its constraints made hard, by its own solver.

    MuJoCo's constraints are soft and leave J̇v out. So its regularisation is made small and J̇v is put in as it asks
    for it: the acceleration `efc_aref` that the rows shall have. J̇v is ours, and the tests above hold it by
    differences.
    """
    mujoco = pytest.importorskip("mujoco")
    m = mujoco.MjModel.from_xml_path(source) if source.endswith(".xml") else mujoco.MjModel.from_xml_string(source)
    m.opt.gravity[:], m.dof_damping[:], m.jnt_stiffness[:] = robot.model.gravity, 0.0, 0.0
    off = mujoco.mjtDisableBit
    m.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_ISLAND
    m.opt.jacobian, m.opt.tolerance = mujoco.mjtJacobian.mjJAC_DENSE, 0.0
    d, converter = mujoco.MjData(m), convert.mujoco(robot, m)
    d.qpos[:], d.qvel[:] = converter.to_peer(q, v)
    d.qfrc_applied[:] = np.linalg.solve(converter.velocity_map(q).T, tau)
    for stage in (mujoco.mj_fwdPosition, mujoco.mj_fwdVelocity, mujoco.mj_fwdActuation, mujoco.mj_fwdAcceleration):
        stage(m, d)
    J = d.efc_J.reshape(d.nefc, m.nv)
    rows = loop_constraints(robot, q, v)
    to_theirs = J @ converter.velocity_map(q) @ np.linalg.pinv(rows.J)  # their rows are ours, turned to world axes
    assert_allclose(to_theirs @ rows.J, J @ converter.velocity_map(q), atol=1e-9)
    d.efc_aref[:] = J @ converter.acceleration_to_peer(q, v, np.zeros(robot.nv)) - to_theirs @ rows.bias
    soft = []
    for R in (1e-8, 2e-8):
        d.efc_R[:], d.efc_D[:] = R, 1 / R
        mujoco.mj_fwdConstraint(m, d)
        soft.append(d.qacc.copy())
    hard = 2 * soft[0] - soft[1]  # what softness adds grows with R
    return converter.acceleration_from_peer(d.qpos.copy(), d.qvel.copy(), hard)


@support.further
@pytest.mark.paper("Q10")
def test_cassie_accelerates_as_in_mujoco(rng):
    robot = cassie().with_armature()
    for _ in range(3):
        q, v = closed_state(robot, rng)
        tau = rng.normal(size=robot.nv)
        a = loop_dynamics(robot, q, v).acceleration(tau)
        theirs = hard_acceleration(robot, str(cassie_file()), q, v, tau)
        assert np.abs(robot.forward_dynamics(q, v, tau) - a).max() > 1.0  # the loops matter
        assert support.relative_error(a, theirs) < 1e-9


@pytest.mark.paper("Q10")
def test_every_kind_of_loop_accelerates_as_in_mujoco(rng):
    robot = robot_of(LOOPED)
    for _ in range(3):
        q, v = closed_state(robot, rng)
        tau = rng.normal(size=robot.nv)
        a = loop_dynamics(robot, q, v).acceleration(tau)
        assert support.relative_error(a, hard_acceleration(robot, LOOPED, q, v, tau)) < 1e-9
