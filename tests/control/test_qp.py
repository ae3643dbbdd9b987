"""Quadratic programs: laws of optimality, relaxation and strict priorities over all solvers; SciPy and HiGHS as
oracles."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.linalg import null_space
from scipy.optimize import Bounds, LinearConstraint, linprog, minimize

from equipoise.control import qp
from equipoise.control.qp import (
    ActiveSetSolver,
    DaqpSolver,
    QpsolversSolver,
    QuadraticProgram,
    Rows,
    Status,
    active_names,
    conflict,
    kkt_residuals,
)
from equipoise.errors import MissingPackageError, ShapeError, UnknownNameError

seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=60, deadline=None, derandomize=True)
SOLVERS = {
    "compiled": ActiveSetSolver,
    "daqp": DaqpSolver,
    "piqp": lambda: QpsolversSolver("piqp", eps_abs=1e-11, eps_rel=1e-11),
}
solvers = pytest.mark.parametrize("make", SOLVERS.values(), ids=SOLVERS)


def random_program(rng: np.random.Generator, *, rank: int | None = None, rows: int | None = None, equalities: int = 0):
    """A program that is feasible by construction around a random point, with duplicated, scaled and zero rows among its
    own."""
    n = int(rng.integers(2, 9))
    G = rng.normal(size=(n if rank is None else min(rank, n), n))
    H, inside = G.T @ G + (0.1 * np.eye(n) if rank is None else 0), rng.normal(size=n)
    m = int(rng.integers(1, 15)) if rows is None else rows
    A = rng.normal(size=(m, n)) * rng.uniform(0.1, 10, size=(m, 1))
    if m > 3:
        A[1], A[2] = 3.0 * A[0], 0.0  # redundant, and empty
    lower, upper = A @ inside - rng.uniform(0, 1, m), A @ inside + rng.uniform(0, 1, m)
    lower[rng.random(m) < 0.3], upper[rng.random(m) < 0.3] = -np.inf, np.inf
    e = min(equalities, m, n)
    lower[m - e :] = upper[m - e :] = (A @ inside)[m - e :]
    x_lower, x_upper = inside - rng.uniform(0, 1, n), inside + rng.uniform(0, 1, n)
    return QuadraticProgram(H, 3 * rng.normal(size=n), A, lower, upper, x_lower, x_upper), inside


def scipy_feasible(problem: QuadraticProgram) -> bool:
    """HiGHS, which had no part in the answer under test."""
    lower, upper = problem.limits
    M = np.vstack((np.eye(problem.f.size), problem.A))
    above, below = np.isfinite(upper), np.isfinite(lower)
    answer = linprog(
        np.zeros(problem.f.size),
        A_ub=np.vstack((M[above], -M[below])),
        b_ub=np.concatenate((upper[above], -lower[below])),
        bounds=(None, None),
    )
    return answer.status == 0


def without(problem: QuadraticProgram, *names: str) -> QuadraticProgram:
    row, bound = np.isin(problem.names, names), np.isin(problem.bound_names, names)
    return replace(
        problem,
        lower=np.where(row, -np.inf, problem.lower),
        upper=np.where(row, np.inf, problem.upper),
        x_lower=np.where(bound, -np.inf, problem.x_lower),
        x_upper=np.where(bound, np.inf, problem.x_upper),
    )


# --- one problem ------------------------------------------------------------------------------------------------------


@solvers
@quick
@given(seeds, st.integers(0, 3))
def test_every_feasible_program_is_solved_and_certified(make, seed, equalities):
    problem, _ = random_program(np.random.default_rng(seed), equalities=equalities)
    result = make().solve(problem)
    assert result.status is Status.OPTIMAL and result.solved and result.usable
    assert kkt_residuals(problem, result.x, result.multipliers, result.bound_multipliers).worst <= qp.REFINE
    assert not result.excess.any()
    assert_allclose(result.values, problem.A @ result.x, rtol=0, atol=1e-9)


@quick
@given(seeds, st.sampled_from([0, 1, 3]), st.integers(0, 3))
def test_costs_that_are_not_strictly_convex(seed, rank, equalities):
    problem, _ = random_program(np.random.default_rng(seed), rank=rank, equalities=equalities)
    result = DaqpSolver().solve(problem)
    assert result.status is Status.OPTIMAL and result.residuals.worst <= qp.REFINE
    assert ActiveSetSolver().solve(problem).status in (Status.OPTIMAL, Status.NOT_CONVEX)


@solvers
@quick
@given(seeds)
def test_no_feasible_point_is_better(make, seed):
    rng = np.random.default_rng(seed)
    problem, inside = random_program(rng)
    result = make().solve(problem)
    lower, upper = problem.limits
    M = np.vstack((np.eye(inside.size), problem.A))
    for _ in range(50):
        ray = rng.normal(size=inside.size)
        speed, room = M @ ray, np.where(M @ ray > 0, upper, lower) - M @ inside
        reach = min((r / s for r, s in zip(room, speed, strict=True) if s != 0), default=1.0)
        assert problem.objective(inside + rng.random() * reach * ray) >= problem.objective(result.x) - 1e-8


@solvers
@pytest.mark.filterwarnings("ignore::scipy.optimize.OptimizeWarning")
@settings(max_examples=25, deadline=None, derandomize=True)
@given(seeds, st.integers(0, 2))
def test_agrees_with_scipy(make, seed, equalities):
    problem, inside = random_program(np.random.default_rng(seed), equalities=equalities)
    result = make().solve(problem)
    kept = np.linalg.norm(problem.A, axis=1) > 0  # SLSQP calls an empty equality singular
    rows = LinearConstraint(problem.A[kept], problem.lower[kept], problem.upper[kept])
    oracle = minimize(
        problem.objective,
        inside,
        jac=lambda x: problem.H @ x + problem.f,
        method="SLSQP",
        bounds=Bounds(problem.x_lower, problem.x_upper),
        constraints=rows if kept.any() else (),
        options={"ftol": 1e-13, "maxiter": 500},
    )
    objective = problem.objective(result.x)
    assert objective <= oracle.fun + 1e-7 * max(1.0, abs(oracle.fun))
    if oracle.success:
        assert_allclose(objective, oracle.fun, rtol=1e-6, atol=1e-6)
        assert_allclose(result.x, oracle.x, atol=1e-3)


@solvers
def test_equality_only_is_one_linear_system(make, rng):
    n, m = 7, 3
    G, A, b, f = rng.normal(size=(n, n)), rng.normal(size=(m, n)), rng.normal(size=m), rng.normal(size=n)
    H = G @ G.T
    K = np.block([[H, A.T], [A, np.zeros((m, m))]])
    solution = np.linalg.solve(K, np.concatenate((-f, b)))
    problem = QuadraticProgram(H, f, A, b, b, names=("a", "b", "c"))
    result = make().solve(problem)
    assert_allclose(result.x, solution[:n], atol=1e-9)
    assert_allclose(result.multipliers, solution[n:], atol=1e-9)
    assert active_names(problem, result) == ("a", "b", "c")


@pytest.mark.delicate
@pytest.mark.parametrize("make", [ActiveSetSolver, DaqpSolver])
def test_dependent_equalities_are_solved_or_refused_rightly(make):
    A = np.array([[1.0, 1.0], [2.0, 2.0], [1.0, 1.0]])
    agreeing, contrary = np.array([1.0, 2.0, 1.0]), np.array([1.0, 2.0, 1.5])
    assert_allclose(
        make().solve(QuadraticProgram(np.eye(2), np.zeros(2), A, agreeing, agreeing)).x, [0.5, 0.5], atol=1e-12
    )
    assert make().solve(QuadraticProgram(np.eye(2), np.zeros(2), A, contrary, contrary)).status is Status.INFEASIBLE


@pytest.mark.parametrize("make", [ActiveSetSolver, DaqpSolver])
def test_active_rows_are_named_with_the_sign_of_their_push(make):
    problem = QuadraticProgram(
        np.eye(2),
        [-2.0, 2.0],
        [[1.0, 0.0]],
        [-np.inf],
        [1.0],
        x_lower=[-9.0, -1.5],
        names=("wall",),
        bound_names=("x", "y"),
    )
    result = make().solve(problem)
    assert_allclose(result.x, [1.0, -1.5])
    assert active_names(problem, result) == ("y", "wall")
    assert result.multipliers[0] > 0 > result.bound_multipliers[1]


@pytest.mark.delicate
@pytest.mark.parametrize("make", [ActiveSetSolver, DaqpSolver])
@quick
@given(seeds, st.floats(-3, 3))
def test_scaling_rows_variables_or_cost_changes_nothing(make, seed, power):
    rng = np.random.default_rng(seed)
    problem, _ = random_program(rng, equalities=1)
    x = make().solve(problem).x
    rows = 10.0 ** (power * rng.random(len(problem.A)))
    scaled = replace(problem, A=rows[:, None] * problem.A, lower=rows * problem.lower, upper=rows * problem.upper)
    assert_allclose(make().solve(scaled).x, x, atol=1e-6)
    cost = replace(problem, H=10**power * problem.H, f=10**power * problem.f)
    assert_allclose(make().solve(cost).x, x, atol=1e-6)
    unit = 10.0 ** (0.5 * power * rng.random(x.size))
    stretched = replace(
        problem,
        H=unit[:, None] * problem.H * unit,
        f=unit * problem.f,
        A=problem.A * unit,
        x_lower=problem.x_lower / unit,
        x_upper=problem.x_upper / unit,
    )
    assert_allclose(unit * make().solve(stretched).x, x, atol=1e-6)


# --- problem after problem --------------------------------------------------------------------------------------------


@pytest.fixture
def big(rng) -> QuadraticProgram:
    """Forty variables, a hundred rows, all pushed."""
    G = rng.normal(size=(40, 40))
    H = G @ G.T / 40 + 0.1 * np.eye(40)
    A, room = rng.normal(size=(100, 40)), rng.uniform(0.1, 1, size=(2, 100))
    return QuadraticProgram(H, 3 * rng.normal(size=40), A, -room[0], room[1])


@pytest.mark.parametrize("make", [ActiveSetSolver, DaqpSolver])
@pytest.mark.parametrize("what", ["f", "bounds", "A", "H", "all"])
def test_warm_start_gives_the_same_answer_in_fewer_iterations(big, rng, what, make):
    near = lambda array: array + 1e-4 * rng.normal(size=array.shape)  # noqa: E731
    changes = {
        "f": {"f": near(big.f)},
        "bounds": {"lower": near(big.lower), "upper": near(big.upper)},
        "A": {"A": near(big.A)},
        "H": {"H": big.H * (1 + 1e-4)},
    }
    changes["all"] = {name: array for change in changes.values() for name, array in change.items()}
    solver = make()
    first = solver.solve(big)
    moved = replace(big, **changes[what])
    warm, cold = solver.solve(moved), make().solve(moved)
    assert first.solved and warm.solved and cold.solved
    assert_allclose(warm.x, cold.x, atol=1e-9)
    assert cold.iterations > 40
    assert warm.iterations <= cold.iterations // 4


@pytest.mark.parametrize("make", [ActiveSetSolver, DaqpSolver])
def test_rows_may_become_equalities_and_back(big, make):
    solver = make()
    solver.solve(big)
    for rows in (slice(0, 5), slice(3, 9), slice(0, 0)):
        lower, upper = big.lower.copy(), big.upper.copy()
        lower[rows] = upper[rows] = 0.02
        changed = replace(big, lower=lower, upper=upper)
        warm = solver.solve(changed)
        assert warm.solved
        assert_allclose(warm.x, make().solve(changed).x, atol=1e-8)


@solvers
@settings(max_examples=20, deadline=None, derandomize=True)
@given(seeds)
def test_a_solver_that_saw_anything_answers_like_a_new_one(make, seed):
    rng = np.random.default_rng(seed)
    solver, (problem, _) = make(), random_program(rng)
    bad = np.full(problem.f.size, np.nan)
    upside_down = replace(problem, x_lower=problem.x_upper + 1)
    for step in (
        problem,
        replace(problem, f=bad),
        problem,
        upside_down,
        replace(problem, f=-problem.f),
        random_program(rng)[0],
        problem,
    ):
        old, new = solver.solve(step), make().solve(step)
        assert old.status is new.status
        assert_allclose(old.x, new.x, atol=1e-7)


@solvers
def test_the_solver_does_not_touch_or_keep_the_users_arrays(make, rng):
    H, f = np.eye(3), rng.normal(size=3)
    problem = QuadraticProgram(H, f)
    f[:] = np.nan
    assert make().solve(problem).solved
    with pytest.raises(ValueError, match="read-only"):
        problem.f[0] = 1.0
    with pytest.raises(FrozenInstanceError):
        problem.f = f
    assert replace(problem, f=np.ones(3)).H is problem.H


# --- trouble ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["H", "f", "A", "lower", "upper", "x_lower", "x_upper"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@solvers
def test_numbers_that_are_none_become_a_status(make, rng, name, value):
    problem, _ = random_program(rng)
    array = getattr(problem, name).copy()
    array.flat[0] = value
    harmless = (name.endswith("lower") and value == -np.inf) or (name.endswith("upper") and value == np.inf)
    result = make().solve(replace(problem, **{name: array}))
    assert result.status is (Status.OPTIMAL if harmless else Status.NOT_FINITE)
    assert harmless or np.isnan(result.x).all()


def test_unbounded_not_convex_and_limits_are_told_apart(big):
    flat = np.diag([1.0, 0.0])
    assert DaqpSolver().solve(QuadraticProgram(flat, [0.0, -1.0])).status is Status.UNBOUNDED
    assert (
        DaqpSolver().solve(QuadraticProgram(flat, [0.0, -1.0], [[1.0, 1.0]], [-np.inf], [2.0])).status is Status.OPTIMAL
    )
    assert (
        DaqpSolver().solve(QuadraticProgram(flat, [0.0, -1.0], [[0.0, 1.0]], [0.0], [np.inf])).status
        is Status.UNBOUNDED
    )
    assert DaqpSolver().solve(QuadraticProgram(flat, [1.0, 0.0])).status is Status.OPTIMAL
    assert DaqpSolver().solve(QuadraticProgram(np.diag([1.0, -1.0]), [0.0, 0.0])).status is Status.NOT_CONVEX
    assert DaqpSolver(iteration_limit=5).solve(big).status is Status.ITERATION_LIMIT


def test_a_residual_that_is_nan_is_not_hidden():
    assert np.isnan(qp.Residuals(0.0, np.nan, 0.0, 0.0).worst)
    assert qp.Residuals(0.0, 2.0, 1.0, 0.0).worst == 2.0


def test_the_certificate_notices_each_kind_of_error(rng):
    problem = QuadraticProgram(np.eye(2), [-2.0, 0.0], [[1.0, 0.0]], [-np.inf], [1.0])
    x, lam, mu = np.array([1.0, 0.0]), np.array([1.0]), np.zeros(2)
    assert kkt_residuals(problem, x, lam, mu).worst == 0
    assert kkt_residuals(problem, x, lam + 0.5, mu).stationarity > 0.1
    assert kkt_residuals(problem, np.array([2.0, 0.0]), np.zeros(1), mu).primal > 0.1
    assert kkt_residuals(problem, np.array([3.0, 0.0]), -lam, mu).dual > 0.1
    assert kkt_residuals(problem, np.array([0.0, 0.0]), 2 * lam, mu).complementarity > 0.1


def test_every_status_speaks():
    assert len({status.value for status in Status}) == len(Status)
    assert all(" " in status.value or status is Status.OPTIMAL for status in Status)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"H": np.eye(3)}, r"H must have shape \(2, 2\), got \(3, 3\)"),
        ({"A": np.ones((1, 3))}, r"A must have shape \(1, 2\), got \(1, 3\)"),
        ({"A": np.ones((1, 2)), "lower": np.zeros(2)}, r"lower must have shape \(1,\), got \(2,\)"),
        ({"x_upper": np.zeros(3)}, r"x_upper must have shape \(2,\)"),
        ({"f": np.zeros((2, 1))}, r"f must have shape \(n,\)"),
        ({"A": np.ones((1, 2)), "names": ("a", "b")}, "1 row names are wanted, one each, got 2"),
    ],
)
def test_wrong_shapes_raise_and_say_what_was_wanted(arguments, message):
    with pytest.raises(ShapeError, match=message):
        QuadraticProgram(**{"H": np.eye(2), "f": np.zeros(2), **arguments})


def test_what_is_no_class_or_level_is_refused():
    with pytest.raises(ShapeError, match=r"classes must have shape \(1,\), got \(2,\)"):
        QuadraticProgram(np.eye(2), np.zeros(2), np.ones((1, 2)), classes=[0, 1])
    with pytest.raises(ShapeError, match="classes must be 0 .never relaxed.*got -1"):
        QuadraticProgram(np.eye(2), np.zeros(2), np.ones((1, 2)), classes=[-1])
    with pytest.raises(ShapeError, match="a level is a set of equalities"):
        QuadraticProgram(np.eye(2), np.zeros(2), levels=(Rows(np.eye(2), [0, 0], [1, 1]),))


def test_solvers_of_qpsolvers_are_asked_for_by_name(monkeypatch):
    with pytest.raises(UnknownNameError, match="solver of qpsolvers named 'piqb'.*piqp"):
        QpsolversSolver("piqb")
    assert QpsolversSolver().name in __import__("qpsolvers").available_solvers
    monkeypatch.setitem(__import__("sys").modules, "qpsolvers", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'equipoise\[qpsolvers\]'"):
        QpsolversSolver()


# --- strict priorities ------------------------------------------------------------------------------------------------


def random_levels(rng: np.random.Generator, *, constrained: bool = True) -> QuadraticProgram:
    """One to four levels, some with a row twice, within rows that hold at zero; the cost settles what is left."""
    n, levels = int(rng.integers(3, 10)), []
    for _ in range(int(rng.integers(1, 5))):
        m = int(rng.integers(1, 5))
        A = rng.normal(size=(m, n)) * rng.uniform(0.3, 3, size=(m, 1))
        if rng.random() < 0.3:
            A[-1] = A[0]
        levels.append(Rows.equal(A, rng.normal(size=m)))
    m = int(rng.integers(1, 12)) if constrained else 0
    top = rng.normal(size=(m, n)), -rng.uniform(0.1, 1, m), rng.uniform(0.1, 1, m)
    return QuadraticProgram(np.eye(n), np.zeros(n), *top, levels=tuple(levels))


def by_null_spaces(levels: tuple[Rows, ...], n: int) -> np.ndarray:
    """The textbook recursion x ← x + Z (A Z)⁺ (b − A x), Z ← Z null(A Z); the shortest x for what is left."""
    x, Z = np.zeros(n), np.eye(n)
    for level in levels:
        AZ = level.A @ Z
        AZ[np.abs(AZ) < 1e-12] = 0.0
        x = x + Z @ np.linalg.pinv(AZ, rcond=1e-9) @ (level.lower - level.A @ x)
        Z = Z @ null_space(AZ, rcond=1e-9) if AZ.any() else Z
    return x


@pytest.mark.delicate
@pytest.mark.paper("H6")
@solvers
@settings(max_examples=30, deadline=None, derandomize=True)
@given(seeds)
def test_equality_levels_are_the_recursion_of_null_spaces(make, seed):
    problem = random_levels(np.random.default_rng(seed), constrained=False)
    result = make().solve(problem)
    assert result.solved and result.residuals.worst <= 1e-8
    assert_allclose(result.x, by_null_spaces(problem.levels, result.x.size), atol=1e-7, rtol=1e-7)


@pytest.mark.paper("H6")
@solvers
def test_every_level_is_optimal_below_those_above_it(make):
    """The certificate of each level is worked out again, by nonnegative least squares."""
    refused = 0
    for seed in range(60):
        problem = random_levels(np.random.default_rng(seed))
        result = make().solve(problem)
        if blurred(make, result):
            refused += 1
            continue
        assert result.solved and result.residuals.worst <= 1e-7
        top = Rows(problem.A, problem.lower, problem.upper)
        last = Rows.equal(np.eye(len(problem.f)), np.zeros(len(problem.f)))
        assert max(qp.level_optimality(result.x, [*problem.levels, last], top)) < 1e-7
        assert np.abs(top.distance(result.x)).max() < 1e-7
    assert refused <= 3


@pytest.mark.delicate
@pytest.mark.filterwarnings("ignore::scipy.optimize.OptimizeWarning")
@settings(max_examples=20, deadline=None, derandomize=True)
@given(seeds)
def test_no_level_can_be_improved_without_harm_to_one_above(seed):
    problem = random_levels(np.random.default_rng(seed))
    result, top = ActiveSetSolver().solve(problem), Rows(problem.A, problem.lower, problem.upper)
    for k, level in enumerate(problem.levels):
        above = [top, *(Rows.equal(above.A, above.A @ result.x) for above in problem.levels[:k])]
        best = minimize(
            lambda x, level=level: 0.5 * np.sum((level.A @ x - level.lower) ** 2),
            result.x,
            jac=lambda x, level=level: level.A.T @ (level.A @ x - level.lower),
            method="SLSQP",
            constraints=[LinearConstraint(r.A, r.lower, r.upper) for r in above],
        )
        feasible = max(np.abs(r.distance(best.x)).max() for r in above) < 1e-7
        if feasible:
            assert best.fun >= 0.5 * np.sum(level.distance(result.x) ** 2) - 1e-6


@solvers
def test_a_lower_level_never_disturbs_a_higher_one(make, rng):
    problem = random_levels(rng)
    alone = [make().solve(replace(problem, levels=problem.levels[: k + 1])) for k in range(len(problem.levels))]
    for k, (fewer, more) in enumerate(pairwise(alone)):
        for level in problem.levels[: k + 1]:
            assert_allclose(level.distance(more.x), level.distance(fewer.x), atol=1e-8)


@solvers
def test_levels_by_hand(make):
    want, hold = Rows.equal([[1.0, 0.0]], [5.0]), Rows.equal([[1.0, 1.0]], [1.0])
    cap = QuadraticProgram(np.eye(2), np.zeros(2), [[1.0, 0.0]], [-np.inf], [2.0], levels=(want, hold))
    assert_allclose(make().solve(cap).x, [2.0, -1.0], atol=1e-7)
    rest = QuadraticProgram(np.eye(2), [0.0, -7.0], levels=(want,))
    assert_allclose(make().solve(rest).x, [5.0, 7.0], atol=1e-7)
    contrary = replace(
        cap, A=[[1.0, 0.0], [1.0, 0.0]], lower=[1.0, -np.inf], upper=[np.inf, 0.0], names=(), classes=None
    )
    assert make().solve(contrary).status is Status.INFEASIBLE
    nan = replace(cap, levels=(Rows.equal(np.eye(2), [1.0, np.nan]),))
    assert make().solve(nan).status is Status.NOT_FINITE


# --- infeasible -------------------------------------------------------------------------------------------------------


@quick
@given(seeds, st.integers(1, 3))
def test_a_conflict_is_inconsistent_and_irreducible(seed, contradictions):
    rng = np.random.default_rng(seed)
    problem, _ = random_program(rng, rows=10)
    lower = problem.lower.copy()
    lower[:contradictions] = (problem.upper + rng.uniform(0.1, 1, 10))[:contradictions]
    lower[~np.isfinite(lower)] = -np.inf
    A, upper = problem.A.copy(), problem.upper.copy()
    weights = rng.normal(size=4)
    A[-1] = weights @ A[4:8]  # a sum of other rows, asked to be more than they allow
    lower[-1] = np.where(weights > 0, weights * upper[4:8], weights * problem.lower[4:8]).sum() + 0.5
    upper[-1], lower[:contradictions] = np.inf, problem.lower[:contradictions]
    broken = replace(problem, A=A, lower=np.where(np.isfinite(lower), lower, -np.inf), upper=upper)
    found = conflict(broken)
    assert bool(found) is not scipy_feasible(broken)
    everything = set(broken.names + broken.bound_names)
    if found:
        assert DaqpSolver().solve(broken).status is Status.INFEASIBLE
        assert not scipy_feasible(without(broken, *(everything - set(found))))
        for name in found:
            assert scipy_feasible(without(broken, name, *(everything - set(found))))


def test_a_conflict_by_hand_names_groups_and_bounds():
    A = np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 0.0], [0.0, 1.0]])
    names = ("reach", "reach", "left knee", "posture")
    problem = QuadraticProgram(
        np.eye(2), np.zeros(2), A, [2.0, 2.0, -np.inf, -9.0], [np.inf, np.inf, 1.0, 9.0], [-5.0] * 2, [5.0] * 2, names
    )
    assert conflict(problem) == ["left knee", "reach"] or conflict(problem) == ["reach", "left knee"]
    assert conflict(without(problem, "left knee")) == []
    assert conflict(replace(without(problem, "reach"), x_lower=[-5.0, 6.0])) == ["x[1]"]
    assert conflict(replace(problem, f=np.full(2, np.nan))) == []


def blurred(make, result) -> bool:
    """Interior points blur what is active: the cascade may be left with a program that has no interior, and says so."""
    return make is SOLVERS["piqp"] and result.status in (Status.INACCURATE, Status.FAILED)


def broken_program(rng: np.random.Generator, classes: int) -> QuadraticProgram:
    """Rows moved apart, so that often not all can hold; class 0 holds but for every fourth."""
    problem, _ = random_program(rng, rows=10, equalities=2)
    of = rng.integers(0, classes + 1, 10)
    shift = np.where((of > 0) | (rng.random() < 0.25), rng.normal(size=10) * 2, 0.0)
    return replace(problem, lower=problem.lower + shift, upper=problem.upper + shift, classes=of)


@solvers
@settings(max_examples=60, deadline=None, derandomize=True)
@given(seeds, st.integers(1, 3))
def test_only_what_must_be_relaxed_is(make, seed, classes):
    """HiGHS decides which classes can hold together; of the first that cannot, rows are violated."""
    problem = broken_program(np.random.default_rng(seed), classes)
    feasible = [
        scipy_feasible(without(problem, *np.array(problem.names)[problem.classes > k])) for k in range(classes + 1)
    ]
    result = make().solve(problem)
    if blurred(make, result):
        return
    if not feasible[0]:
        assert result.status is Status.INFEASIBLE and not result.usable and np.isnan(result.x).all()
        return
    assert result.status is (Status.OPTIMAL if all(feasible) else Status.RELAXED)
    assert result.usable and result.residuals.worst <= 1e-6
    x, value = result.x, problem.A @ result.x
    assert (x >= problem.x_lower - 1e-7).all() and (x <= problem.x_upper + 1e-7).all()
    over = np.maximum(np.maximum(problem.lower - value, value - problem.upper), 0.0)
    assert_allclose(np.abs(result.excess), np.where(over > 1e-6, over, np.abs(result.excess)), atol=1e-7)
    for k, possible in enumerate(feasible):
        if possible:  # a cascade inherits the tolerance of its solver
            most = 0.0 if make is ActiveSetSolver else 1e-6
            assert np.abs(result.excess[problem.classes == k]).max(initial=0.0) <= most
        else:
            assert result.excess[problem.classes == k].any()
            break


@solvers
@settings(max_examples=40, deadline=None, derandomize=True)
@given(seeds, st.integers(1, 3))
def test_violations_are_the_least_there_are(make, seed, classes):
    """Class by class the violations are a level of least squares, and the cost comes after them."""
    problem = broken_program(np.random.default_rng(seed), classes)
    result, n = make().solve(problem), len(problem.f)
    if result.status is Status.INFEASIBLE or blurred(make, result):
        return
    rows, bounds = Rows(problem.A, problem.lower, problem.upper), Rows(np.eye(n), problem.x_lower, problem.x_upper)
    hard = rows.where(problem.classes == 0)
    top = Rows(np.vstack((bounds.A, hard.A)), np.append(bounds.lower, hard.lower), np.append(bounds.upper, hard.upper))
    U = np.linalg.cholesky(problem.H).T
    cost = Rows.equal(U, -np.linalg.solve(U.T, problem.f))
    levels = [*(rows.where(problem.classes == k) for k in range(1, classes + 1)), cost]
    assert max(qp.level_optimality(result.x, levels, top)) < 1e-6


@solvers
def test_relaxing_by_hand_says_by_how_much(make):
    rows = QuadraticProgram(np.eye(1), [0.0], np.ones((3, 1)), [5.0, 3.0, -np.inf], [np.inf, np.inf, 1.0])
    last = make().solve(replace(rows, classes=[2, 1, 0]))
    assert last.status is Status.RELAXED
    assert_allclose(last.x, [1.0], atol=1e-7)
    assert_allclose(last.excess, [-4.0, -2.0, 0.0], atol=1e-7)
    first = make().solve(replace(rows, classes=[1, 2, 3]))
    assert_allclose(first.x, [5.0], atol=1e-7)
    assert_allclose(first.excess, [0.0, 0.0, 4.0], atol=1e-7)
    together = make().solve(replace(rows, classes=[1, 1, 1]))
    assert_allclose(together.x, [3.0], atol=1e-7)
    assert make().solve(replace(rows, classes=[1, 0, 0])).status is Status.INFEASIBLE
    crossed = make().solve(replace(rows, lower=[5.0, -np.inf, -np.inf], upper=[1.0, np.inf, np.inf], classes=[1, 0, 0]))
    assert crossed.status is Status.RELAXED
    assert_allclose(crossed.x, [3.0], atol=1e-7)


@pytest.mark.delicate
@solvers
def test_levels_and_relaxation_together(make):
    """x₀ ≥ 4 must give way to x₀ ≤ 1; then x₀ + x₁ = 3, then the shortest."""
    problem = QuadraticProgram(
        np.eye(2), np.zeros(2), [[1.0, 0.0], [1.0, 0.0]], [4.0, -np.inf], [np.inf, 1.0], classes=[1, 0],
        levels=(Rows.equal([[1.0, 1.0]], [3.0]),),
    )  # fmt: skip
    result = make().solve(problem)
    assert result.status is Status.RELAXED
    assert_allclose(result.x, [1.0, 2.0], atol=1e-7)
    assert_allclose(result.excess, [-3.0, 0.0], atol=1e-7)
