"""The active-set solver of the control loop against DAQP with its certificate, on problems of every kind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from equipoise.control.qp import QuadraticProgram, Rows, Solver, Status, kkt_residuals, solve_levels
from equipoise.control.qp import active_set_loops as loops
from equipoise.control.qp.active_set import ActiveSetSolver
from equipoise.control.qp.levels import Level, LevelSolver

FIELDS = ("R", "r", "weights", "pulls", "E", "e", "A", "lower", "upper")


def random_problem(rng, n=10, n_R=6, n_E=3, n_A=12, tight=0.3, weight=1e-2):
    """A feasible problem: its rows hold at some point, `tight` is how far their bounds are from it."""
    R, E, A = (rng.normal(size=(k, n)) for k in (n_R, n_E, n_A))
    x = rng.normal(size=n)
    lower, upper = A @ x - tight * rng.exponential(size=n_A), A @ x + tight * rng.exponential(size=n_A)
    lower[rng.random(n_A) < 0.3], upper[rng.random(n_A) < 0.3] = -np.inf, np.inf
    weights = weight * rng.uniform(0.5, 2.0, n)
    return dict(zip(FIELDS, (R, 3 * rng.normal(size=n_R), weights, rng.normal(size=n), E, E @ x, A, lower, upper), strict=True))


def stated(p) -> QuadraticProgram:
    H = p["R"].T @ p["R"] + np.diag(p["weights"])
    rows = np.vstack((p["E"], p["A"]))
    lower, upper = np.concatenate((p["e"], p["lower"])), np.concatenate((p["e"], p["upper"]))
    return QuadraticProgram(H, -p["R"].T @ p["r"] - p["pulls"], rows, lower, upper)


def solver_of(p) -> ActiveSetSolver:
    return ActiveSetSolver(p["R"].shape[1], len(p["R"]), len(p["E"]), len(p["A"]))


def solved(solver, p):
    return solver.solve(*(p[name] for name in FIELDS))


def agrees(answer, p, atol=1e-7) -> None:
    """The same x as DAQP, and a certificate of its own, computed elsewhere."""
    program = stated(p)
    reference = Solver().solve(program)
    assert reference.solved and answer.solved
    assert_allclose(answer.x, reference.x, rtol=0, atol=atol * (1 + np.abs(reference.x).max()))
    residuals = kkt_residuals(
        program, answer.x, np.concatenate((answer.multipliers_E, answer.multipliers)), np.zeros(len(answer.x))
    )
    assert residuals.worst <= 1e-7
    assert_allclose(answer.values, p["A"] @ answer.x, rtol=0, atol=1e-9 * (1 + np.abs(answer.values).max(initial=0.0)))
    assert answer.pushing == np.count_nonzero(answer.multipliers)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 19), st.integers(0, 8), st.integers(0, 4), st.integers(0, 30))
def test_random_problems(seed, n, n_R, n_E, n_A):
    rng = np.random.default_rng(seed)
    p = random_problem(rng, n, n_R, min(n_E, n), n_A)
    agrees(solved(solver_of(p), p), p)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6))
def test_equalities_that_repeat_each_other(seed):
    rng = np.random.default_rng(seed)
    p = random_problem(rng)
    mix = rng.normal(size=(2, 3))
    p["E"], p["e"] = np.vstack((p["E"], mix @ p["E"])), np.concatenate((p["e"], mix @ p["e"]))
    answer = solved(solver_of(p), p)
    assert answer.solved
    reference = Solver().solve(stated(p))
    assert_allclose(answer.x, reference.x, rtol=0, atol=1e-6 * (1 + np.abs(reference.x).max()))


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6))
def test_degenerate_corners(seed):
    """Many rows through the solution: copies of the active ones, and combinations of them."""
    rng = np.random.default_rng(seed)
    p = random_problem(rng, tight=0.05)
    first = solved(solver_of(p), p)
    pushing = np.flatnonzero(first.multipliers)
    mix = np.abs(rng.normal(size=(2, len(pushing)))) * np.sign(first.multipliers[pushing])
    extra = mix @ p["A"][pushing]
    touching = extra @ first.x
    p["A"] = np.vstack((p["A"], p["A"][pushing], extra))
    p["lower"] = np.concatenate((p["lower"], p["lower"][pushing], np.full(2, -np.inf)))
    p["upper"] = np.concatenate((p["upper"], p["upper"][pushing], touching))
    answer = solved(solver_of(p), p)
    assert answer.solved
    assert_allclose(answer.x, first.x, rtol=0, atol=1e-6 * (1 + np.abs(first.x).max()))


@pytest.mark.parametrize("weight", [1e-9, 1e-12])
def test_nearly_singular_costs(weight, rng):
    """The Hessian has entries of 10 and eigenvalues of 1e-12: where tasks decide, they still do."""
    p = random_problem(rng, n=12, n_R=4, n_E=2, n_A=0, weight=weight)
    p["pulls"] = p["pulls"] * weight
    answer = solved(solver_of(p), p)
    assert answer.solved
    best = np.linalg.lstsq(np.vstack((1e6 * p["E"], p["R"])), np.concatenate((1e6 * p["e"], p["r"])))[0]
    assert_allclose(p["R"] @ answer.x, p["R"] @ best, rtol=0, atol=1e-5)
    assert_allclose(p["E"] @ answer.x, p["e"], rtol=0, atol=1e-6)


def test_contradictions_are_noticed(rng):
    p = random_problem(rng)
    p["A"] = np.vstack((p["A"], p["A"][:1]))
    p["lower"], p["upper"] = np.append(p["lower"], 5.0), np.append(p["upper"], np.inf)
    p["upper"][0] = 4.0
    p["lower"][0] = -np.inf
    answer = solved(solver_of(p), p)
    assert answer.status is Status.INFEASIBLE and not np.isfinite(answer.x).any()
    p = random_problem(rng)
    p["E"][1], p["e"][1] = p["E"][0], p["e"][0] + 1e-3  # small next to the other numbers, but a contradiction
    assert solved(solver_of(p), p).status is Status.INFEASIBLE


@pytest.mark.parametrize("name", FIELDS)
def test_nan_is_never_called_optimal(name, rng):
    p = random_problem(rng)
    p[name].flat[0] = np.nan
    assert not solved(solver_of(p), p).solved


def test_the_last_active_set_is_the_first_guess(rng):
    p = random_problem(rng, n=20, tight=1.0, weight=1.0)
    solver = solver_of(p)
    cold = solved(solver, p)
    assert cold.pushing > 1
    warm = solved(solver, p)
    assert warm.guesses == 1
    assert_allclose(warm.x, cold.x, rtol=0, atol=1e-9)
    solver.forget()
    assert solved(solver, p).guesses == cold.guesses > 1


def test_a_wrong_guess_does_no_harm(rng):
    for _ in range(30):
        p = random_problem(rng, tight=0.05)
        solver = solver_of(p)
        solver.data["sides"][:] = rng.choice([-1.0, 0.0, 1.0], len(p["A"]))
        finite = np.where(solver.data["sides"] > 0, np.isfinite(p["upper"]), np.isfinite(p["lower"]))
        solver.data["sides"][~finite] = 0.0
        agrees(solved(solver, p), p)


def test_without_guesses_daqp_is_asked(rng):
    p = random_problem(rng)
    solver = ActiveSetSolver(10, 6, 3, 12, guesses=0)
    answer = solved(solver, p)
    assert answer.guesses == 0 and answer.iterations > 0
    agrees(answer, p)
    assert solver._run() == loops.NOT_FOUND


def test_a_cost_that_is_not_convex_is_no_answer(rng):
    p = random_problem(rng, n_R=0)
    p["R"], p["r"] = np.zeros((0, 10)), np.zeros(0)
    p["weights"][3] = -1.0
    solver = ActiveSetSolver(10, 0, 3, 12)
    for name in FIELDS:
        solver.data[name][...] = p[name]
    assert solver._run() == loops.NOT_CONVEX
    assert not solver.solve_in_place().solved


# --- strict priorities -------------------------------------------------------------------------------------------------------


def random_levels(rng, n=12, tight=0.2):
    """Three levels, the second partly against the first; feasible rows; some must push."""
    R = [rng.normal(size=(4, n)), rng.normal(size=(4, n)), rng.normal(size=(5, n))]
    R[1][0] = R[0][0] + R[0][1]
    levels = [Level(rows, 2 * rng.normal(size=len(rows))) for rows in R]
    p = random_problem(rng, n, 1, 2, 10, tight)
    return levels, p


def lexicographic(levels, p, regular, method):
    """The same by `qp.solve_levels`; the regularisation is one more level."""
    rows = [Rows.equal(level.R, level.r) for level in levels]
    rows.append(Rows.equal(np.diag(np.sqrt(regular)), np.zeros(len(regular))))
    top = Rows(np.vstack((p["E"], p["A"])), np.concatenate((p["e"], p["lower"])), np.concatenate((p["e"], p["upper"])))
    return solve_levels(rows, top, method=method)


@pytest.mark.paper("H6", "Q3")
@pytest.mark.parametrize("tight", [0.05, 0.3, 5.0])
def test_strict_levels_agree_with_daqps_hierarchy_and_with_cascades(tight, rng):
    regular = np.full(12, 1e-6)
    for _ in range(8):
        levels, p = random_levels(rng, tight=tight)
        ours = LevelSolver().solve(levels, *(p[k] for k in ("E", "e", "A", "lower", "upper")), regular)
        assert ours.solved
        for method in ("cascade", "daqp"):
            reference = lexicographic(levels, p, regular, method)
            if reference.solved:  # DAQP's hierarchy may stop early; its certificate says so
                for level in levels:
                    assert_allclose(level.R @ ours.x, level.R @ reference.x, rtol=0, atol=1e-7 * (1 + np.abs(level.r).max()))
        assert lexicographic(levels, p, regular, "cascade").solved


def test_levels_stay_warm_and_say_when_nothing_fits(rng):
    levels, p = random_levels(rng, tight=0.05)
    rows = [p[k] for k in ("E", "e", "A", "lower", "upper")]
    solver, regular = LevelSolver(), np.full(12, 1e-6)
    cold = solver.solve(levels, *rows, regular)
    warm = solver.solve(levels, *rows, regular)
    assert cold.pushing and warm.guesses == 1
    assert_allclose(warm.x, cold.x, rtol=0, atol=1e-8)
    rows[3] = np.where(np.arange(len(rows[3])) == 0, np.inf, rows[3])
    rows[2] = np.vstack((rows[2], rows[2][:1], rows[2][:1]))
    rows[3], rows[4] = np.append(rows[3], [9.0, -np.inf]), np.append(rows[4], [np.inf, 8.0])
    rows[3][0] = -np.inf
    assert not solver.solve(levels, *rows, regular).solved


def test_inconsistent_contacts_are_no_optimum(rng):
    levels, p = random_levels(rng)
    E, e = np.vstack((p["E"], p["E"][:1])), np.append(p["e"], p["e"][0] + 1e-3)
    assert not LevelSolver().solve(levels, E, e, p["A"], p["lower"], p["upper"], np.full(12, 1e-6)).solved
