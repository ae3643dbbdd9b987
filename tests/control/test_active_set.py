"""The compiled solver in memory that a kernel writes: against the cascade of quadratic programs, and against HiGHS."""

from __future__ import annotations

import gc
import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from equipoise.control import qp
from equipoise.control.qp import CompiledSolver, DaqpSolver, QuadraticProgram, Result, Rows, Status, kkt_residuals
from equipoise.errors import ShapeError

FIELDS = ("R", "r", "weights", "pulls", "E", "e", "A", "lower", "upper")
seeds = st.integers(0, 2**32 - 1)
Numbers = dict[str, np.ndarray]


def random_problem(rng, n=10, n_R=6, n_E=3, n_A=12, tight=0.3, weight=1e-2) -> Numbers:
    """A feasible problem: its rows hold at some point, `tight` is how far their bounds are from it."""
    R, E, A = (rng.normal(size=(k, n)) for k in (n_R, n_E, n_A))
    x = rng.normal(size=n)
    lower, upper = A @ x - tight * rng.exponential(size=n_A), A @ x + tight * rng.exponential(size=n_A)
    lower[rng.random(n_A) < 0.3], upper[rng.random(n_A) < 0.3] = -np.inf, np.inf
    weights = weight * rng.uniform(0.5, 2.0, n)
    return dict(
        zip(FIELDS, (R, 3 * rng.normal(size=n_R), weights, rng.normal(size=n), E, E @ x, A, lower, upper), strict=True)
    )


def solver_of(p: Numbers, **options) -> CompiledSolver:
    options = {"regularisation": 1e-9} | options
    levels = options.pop("levels", (len(p["R"]),))
    return CompiledSolver(p["R"].shape[1], levels, n_E=len(p["E"]), n_A=len(p["A"]), **options)


def solved(solver: CompiledSolver, p: Numbers) -> Result:
    for name in FIELDS:
        solver.data[name][...] = p[name]
    return solver.solve()


def stated(p: Numbers, solver: CompiledSolver) -> QuadraticProgram:
    """The same problem as data: weighted, or with its levels as rows."""
    regularisation, n = solver.data["regularisation"], solver.n
    rows, classes = np.vstack((p["E"], p["A"])), np.concatenate(solver._classes)
    lower, upper = np.concatenate((p["e"], p["lower"])), np.concatenate((p["e"], p["upper"]))
    if not solver.strict:
        H = p["R"].T @ p["R"] + np.diag(p["weights"] + regularisation)
        return QuadraticProgram(H, -p["R"].T @ p["r"] - p["pulls"], rows, lower, upper, classes=classes)
    levels = [(p["R"][at], p["r"][at]) for at in solver.levels]
    used, roots = p["weights"] > 0, np.sqrt(p["weights"])
    own = np.diag(roots)[used], p["pulls"][used] / roots[used]
    k = solver._structure[1]
    levels[k] = np.vstack((levels[k][0], own[0])), np.concatenate((levels[k][1], own[1]))
    made = tuple(Rows.equal(R, r) for R, r in levels)
    return QuadraticProgram(np.diag(regularisation), np.zeros(n), rows, lower, upper, classes=classes, levels=made)


def agrees(answer: Result, p: Numbers, solver: CompiledSolver, atol=1e-7) -> None:
    """The same x as DAQP, and a certificate of its own, computed elsewhere."""
    program = stated(p, solver)
    reference = DaqpSolver().solve(program)
    assert reference.solved and answer.solved
    assert_allclose(answer.x, reference.x, rtol=0, atol=atol * (1 + np.abs(reference.x).max()))
    assert kkt_residuals(program, answer.x, answer.multipliers, np.zeros(len(answer.x))).worst <= 1e-7
    assert_allclose(
        answer.values, program.A @ answer.x, rtol=0, atol=1e-9 * (1 + np.abs(answer.values).max(initial=0.0))
    )
    assert answer.active == np.count_nonzero(answer.multipliers[len(p["E"]) :])


# --- feasible, weighted -----------------------------------------------------------------------------------------------


@pytest.mark.delicate
@pytest.mark.parametrize("guesses", [0, 3, 10])
@settings(deadline=None, max_examples=40, derandomize=True)
@given(seeds, st.integers(1, 19), st.integers(0, 8), st.integers(0, 4), st.integers(0, 30))
def test_random_problems(guesses, seed, n, n_R, n_E, n_A):
    p = random_problem(np.random.default_rng(seed), n, n_R, min(n_E, n), n_A)
    solver = solver_of(p, guesses=guesses)
    agrees(solved(solver, p), p, solver)


@pytest.mark.delicate
@settings(deadline=None, max_examples=30, derandomize=True)
@given(seeds)
def test_equalities_that_repeat_each_other(seed):
    rng = np.random.default_rng(seed)
    p = random_problem(rng)
    mix = rng.normal(size=(2, 3))
    p["E"], p["e"] = np.vstack((p["E"], mix @ p["E"])), np.concatenate((p["e"], mix @ p["e"]))
    for guesses in (0, 3):
        solver = solver_of(p, guesses=guesses)
        answer = solved(solver, p)
        assert answer.solved and answer.dependent == 2
        reference = DaqpSolver().solve(stated(p, solver))
        assert_allclose(answer.x, reference.x, rtol=0, atol=1e-6 * (1 + np.abs(reference.x).max()))


@pytest.mark.delicate
@settings(deadline=None, max_examples=30, derandomize=True)
@given(seeds)
def test_degenerate_corners(seed):
    """Many rows through the solution: copies of the active ones, and combinations of them."""
    rng = np.random.default_rng(seed)
    p = random_problem(rng, tight=0.05)
    first = solved(solver_of(p), p)
    multipliers = first.multipliers[len(p["E"]) :]
    active = np.flatnonzero(multipliers)
    mix = np.abs(rng.normal(size=(2, len(active)))) * np.sign(multipliers[active])
    extra = mix @ p["A"][active]
    touching = extra @ first.x
    p["A"] = np.vstack((p["A"], p["A"][active], extra))
    p["lower"] = np.concatenate((p["lower"], p["lower"][active], np.full(2, -np.inf)))
    p["upper"] = np.concatenate((p["upper"], p["upper"][active], touching))
    for guesses in (0, 3):
        answer = solved(solver_of(p, guesses=guesses), p)
        assert answer.solved
        assert_allclose(answer.x, first.x, rtol=0, atol=1e-6 * (1 + np.abs(first.x).max()))


@pytest.mark.delicate
@pytest.mark.parametrize("weight", [1e-9, 1e-12])
def test_nearly_singular_costs(weight, rng):
    """The Hessian has entries of 10 and eigenvalues of 1e-12: where tasks decide, they still do."""
    p = random_problem(rng, n=12, n_R=4, n_E=2, n_A=0, weight=weight)
    p["pulls"] = p["pulls"] * weight
    answer = solved(solver_of(p, regularisation=1e-3 * weight), p)
    assert answer.solved
    best = np.linalg.lstsq(np.vstack((1e6 * p["E"], p["R"])), np.concatenate((1e6 * p["e"], p["r"])))[0]
    assert_allclose(p["R"] @ answer.x, p["R"] @ best, rtol=0, atol=1e-5)
    assert_allclose(p["E"] @ answer.x, p["e"], rtol=0, atol=1e-6)


@pytest.mark.delicate
def test_rows_of_a_that_are_equalities(rng):
    for _ in range(20):
        p = random_problem(rng)
        p["lower"][:3] = p["upper"][:3] = (p["A"] @ np.linalg.lstsq(p["E"], p["e"])[0])[:3]
        p["lower"][3:], p["upper"][3:] = -np.inf, np.inf
        solver = solver_of(p)
        agrees(solved(solver, p), p, solver)


# --- from one to the next ---------------------------------------------------------------------------------------------


def test_the_last_active_set_is_the_first_guess(rng):
    p = random_problem(rng, n=20, tight=1.0, weight=1.0)
    solver = solver_of(p, guesses=10)
    cold = solved(solver, p)
    assert cold.active > 1
    warm = solved(solver, p)
    assert warm.iterations == 1
    assert_allclose(warm.x, cold.x, rtol=0, atol=1e-9)
    solver.forget()
    assert solved(solver, p).iterations == cold.iterations > 1


@pytest.mark.delicate
def test_a_wrong_guess_does_no_harm(rng):
    for k in range(60):
        p = random_problem(rng, tight=0.05)
        solver = solver_of(p, guesses=k % 3)
        solver.sides[:] = rng.choice([-1.0, 0.0, 1.0], len(p["A"]))  # some at bounds that are infinite
        agrees(solved(solver, p), p, solver)


def test_relaxed_programs_stay_warm(rng):
    p = broken_problem(rng, 12, 3, 20, 3)
    solver = solver_of(p[0], **p[1])
    cold, warm = solved(solver, p[0]), solved(solver, p[0])
    assert cold.status is warm.status is Status.RELAXED
    assert warm.iterations == 1 < cold.iterations
    assert_allclose(warm.x, cold.x, rtol=0, atol=1e-7)
    assert_allclose(warm.excess, cold.excess, rtol=0, atol=1e-7)


def test_a_solver_that_forgets_starts_as_a_new_one_does(rng):
    """Which classes could not hold is forgotten too: the number of changes tells whether anything is left."""
    for _ in range(10):
        broken, options = broken_problem(rng, 12, 3, 20, 3)
        feasible = random_problem(rng, 12, 6, 3, 20, tight=0.3)
        used, fresh = (solver_of(broken, guesses=0, **options) for _ in range(2))
        assert solved(used, broken).status is Status.RELAXED
        used.forget()
        again, first = solved(used, feasible), solved(fresh, feasible)
        assert again.status is first.status is Status.OPTIMAL
        assert again.iterations == first.iterations > 1 and (again.x == first.x).all()


def test_answers_have_arrays_of_their_own(rng):
    p = random_problem(rng)
    solver = solver_of(p)
    first = solved(solver, p)
    kept = [array.copy() for array in (first.x, first.multipliers, first.excess, first.values)]
    p["r"] = -p["r"]
    second = solved(solver, p)
    assert np.abs(first.x - second.x).max() > 1e-3
    for array, copy in zip((first.x, first.multipliers, first.excess, first.values), kept, strict=True):
        assert (array == copy).all() and not any(np.shares_memory(array, own) for own in solver.data.values())


def test_memory_does_not_grow(rng):
    feasible, (broken, options) = random_problem(rng, 12, 6, 3, 20), broken_problem(rng, 12, 3, 20, 3)
    solver = solver_of(broken, **options)
    for _ in range(3):
        solved(solver, broken), solved(solver, feasible)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(50):
        solved(solver, broken), solved(solver, feasible)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 4096


# --- some unknowns and rows only --------------------------------------------------------------------------------------


@pytest.mark.parametrize("strict", [False, True])
@settings(deadline=None, max_examples=30, derandomize=True)
@given(seeds)
def test_a_selection_is_the_smaller_problem(strict, seed):
    rng = np.random.default_rng(seed)
    p, options = broken_problem(rng, 10, 4, 15, 2)
    options |= {"levels": (2, 4), "strict": True} if strict else {}
    x, E, A = (np.flatnonzero(rng.random(k) < 0.7) for k in (10, 4, 15))
    if not len(x):
        return
    whole = solver_of(p, **options)
    whole.select(x, E, A)
    answer = solved(whole, p)
    few = {name: p[name][np.ix_(rows, x)] for name, rows in (("R", np.arange(6)), ("E", E), ("A", A))}
    few |= {"r": p["r"], "weights": p["weights"][x], "pulls": p["pulls"][x], "e": p["e"][E]}
    few |= {"lower": p["lower"][A], "upper": p["upper"][A]}
    smaller = options | {"classes_E": options["classes_E"][E], "classes_A": options["classes_A"][A]}
    reference = solved(solver_of(few, **smaller), few)
    assert answer.status is reference.status
    rows = np.concatenate((E, 4 + A))
    for name in ("multipliers", "excess", "values"):
        full = getattr(answer, name)
        assert_allclose(full[rows], getattr(reference, name), rtol=0, atol=1e-9)
        assert answer.usable is False or not np.delete(full, rows).any()
    assert_allclose(answer.x[x], reference.x, rtol=0, atol=1e-9)
    assert answer.usable is False or not np.delete(answer.x, x).any()
    assert answer.dependent == reference.dependent and answer.iterations == reference.iterations
    assert_allclose(answer.residuals, reference.residuals, rtol=0, atol=1e-9)


def test_a_selection_tells_which_of_its_rows_repeat_others(rng):
    p = random_problem(rng)
    p["E"][2], p["e"][2] = 2 * p["E"][0], 2 * p["e"][0]
    solver = solver_of(p, classes_E=np.ones(3, int))
    for rows, repeated in ((None, 1), ([0, 2], 1), ([0, 1], 0), ([1, 2], 0)):
        solver.select(np.arange(9), rows, None)
        assert solved(solver, p).dependent == repeated


def test_a_selection_stays_warm(rng):
    p = random_problem(rng, n=20, n_A=30, tight=1.0, weight=1.0)
    solver = solver_of(p, guesses=10)
    solver.select(np.arange(18), None, np.arange(0, 30, 2))
    cold, warm = solved(solver, p), solved(solver, p)
    assert cold.active and cold.iterations > 1 and warm.iterations == 1
    assert set(np.flatnonzero(solver.sides)) == set(np.flatnonzero(warm.multipliers[3:]))


def test_a_copy_has_the_same_selection(rng):
    p = random_problem(rng)
    solver = solver_of(p)
    whole = solved(solver, p)
    solver.select(np.arange(7), [0, 2], None)
    expected = solved(solver, p)
    assert not np.allclose(expected.x, whole.x)
    assert_allclose(solved(pickle.loads(pickle.dumps(solver)), p).x, expected.x, rtol=0, atol=1e-9)


def test_a_selection_comes_and_goes(rng):
    p = random_problem(rng)
    solver = solver_of(p)
    whole = solved(solver, p)
    solver.select(np.arange(7), [0, 2], None)
    assert solved(solver, p).status is not whole.status or not np.allclose(solved(solver, p).x, whole.x)
    solver.select()
    again = solved(solver, p)
    assert again.solved
    assert_allclose(again.x, whole.x, rtol=0, atol=1e-9)
    for bad in ([0, 0], [3, 1], [-1], [10]):
        with pytest.raises(ShapeError, match="unknowns are selected by growing numbers from 0 to 9"):
            solver.select(x=np.array(bad))
    with pytest.raises(ShapeError, match="at least one unknown"):
        solver.select(x=np.zeros(0, int))


# --- contradictions ---------------------------------------------------------------------------------------------------


def broken_problem(rng, n, n_E, n_A, classes, apart=1.5) -> tuple[Numbers, dict]:
    """Rows moved apart, so that often not all can hold, and their classes."""
    p = random_problem(rng, n, 6, n_E, n_A)
    classes_E, classes_A = rng.integers(0, classes + 1, n_E), rng.integers(0, classes + 1, n_A)
    shift = np.where((classes_A > 0) | (rng.random() < 0.2), apart * rng.normal(size=n_A), 0.0)
    p["lower"], p["upper"] = p["lower"] + shift, p["upper"] + shift
    p["e"] = p["e"] + np.where(classes_E > 0, apart * rng.normal(size=n_E), 0.0)
    return p, {"classes_E": classes_E, "classes_A": classes_A, "regularisation": 1e-3}


def first_impossible(p: Numbers, options: dict) -> int:
    """The first class that cannot hold with those before it, by HiGHS; one more than the last if all can."""
    last = int(max(options["classes_E"].max(initial=0), options["classes_A"].max(initial=0)))
    for k in range(last + 1):
        E, A = options["classes_E"] <= k, options["classes_A"] <= k
        rows, lower, upper = p["A"][A], p["lower"][A], p["upper"][A]
        above, below = np.isfinite(upper), np.isfinite(lower)
        answer = linprog(
            np.zeros(p["A"].shape[1]), A_ub=np.vstack((rows[above], -rows[below])),
            b_ub=np.concatenate((upper[above], -lower[below])), A_eq=p["E"][E], b_eq=p["e"][E], bounds=(None, None),
        )  # fmt: skip
        if answer.status != 0:
            return k
    return last + 1


def check_truth(p: Numbers, options: dict, answer: Result) -> None:
    """Status and violated classes are what HiGHS says."""
    first, classes = first_impossible(p, options), np.concatenate((options["classes_E"], options["classes_A"]))
    if first == 0:
        assert answer.status is Status.INFEASIBLE and np.isnan(answer.x).all()
        return
    assert answer.status is (Status.RELAXED if first <= classes.max(initial=0) else Status.OPTIMAL)
    assert np.isfinite(answer.x).all() and answer.residuals.worst <= 1e-6
    violated = classes[answer.excess != 0]
    assert violated.min(initial=99) == (first if first <= classes.max(initial=0) else 99)
    value = np.concatenate((p["E"], p["A"])) @ answer.x
    lower, upper = np.concatenate((p["e"], p["lower"])), np.concatenate((p["e"], p["upper"]))
    beyond = value - np.minimum(np.maximum(value, lower), upper)
    assert_allclose(answer.excess, beyond, rtol=0, atol=1e-6 * (1 + np.abs(value).max(initial=0.0)))


@pytest.mark.parametrize(("strict", "count"), [(False, 300), (True, 200)])
def test_statuses_are_those_of_linear_programs(strict, count):
    _truth(strict, range(count))


@pytest.mark.slow
@pytest.mark.parametrize("strict", [False, True])
def test_statuses_of_thousands_are_those_of_linear_programs(strict):
    _truth(strict, range(1000, 4000))


def _truth(strict, numbers) -> None:
    for seed in numbers:
        rng = np.random.default_rng(seed)
        n, classes = int(rng.integers(2, 20)), int(rng.integers(0, 4))
        p, options = broken_problem(rng, n, int(rng.integers(0, min(n, 5) + 1)), int(rng.integers(0, 40)), classes)
        options |= {"levels": (1, 2, 3), "strict": True} if strict else {}
        solver = solver_of(p, **options)
        for _ in range(2):  # cold, then warm
            check_truth(p, options, solved(solver, p))


def distances(x: np.ndarray, program: QuadraticProgram) -> list[float]:
    """Violations of each class, then the distance from each level, then the cost."""
    rows = Rows(program.A, program.lower, program.upper)
    classes = [
        np.linalg.norm(rows.distance(x)[program.classes == k]) for k in range(int(program.classes.max(initial=0)) + 1)
    ]
    return [*classes, *(np.linalg.norm(level.distance(x)) for level in program.levels), program.objective(x)]


@pytest.mark.paper("H6", "Q3")
@pytest.mark.parametrize("strict", [False, True])
def test_the_lexicographic_optimum_is_that_of_the_cascade(strict):
    """The first distance in which they differ, if any, is smaller with the compiled solver."""
    compared = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        p, options = broken_problem(rng, 9, 3, 14, 2)
        order = rng.permutation(6)
        options |= (
            {"levels": (order[:2].tolist(), order[2:].tolist()), "strict": True, "diagonal": seed % 2} if strict else {}
        )
        solver = solver_of(p, **options)
        program = stated(p, solver)
        answer, reference = solved(solver, p), DaqpSolver().solve(program)
        assert answer.usable is reference.usable
        if not answer.usable:
            continue
        pairs = list(zip(distances(answer.x, program), distances(reference.x, program), strict=True))
        other = [(ours, theirs) for ours, theirs in pairs if abs(ours - theirs) > 1e-8 * (1 + abs(theirs))]
        assert not other or other[0][0] < other[0][1]
        compared += not other
    assert compared > 20


@settings(deadline=None, max_examples=60, derandomize=True)
@given(seeds)
def test_contradictions_are_told_where_other_rows_nearly_repeat_each_other(seed):
    """No multipliers prove such an optimum, and none are needed: what class 0 lacks at its minimum says it."""
    rng = np.random.default_rng(seed)
    p, options = broken_problem(rng, 10, 4, 15, 3)
    p["E"][1] = p["E"][0] + 10.0 ** -rng.uniform(7, 10) * rng.normal(size=10)
    p["A"][1] = p["A"][0] + 10.0 ** -rng.uniform(7, 10) * rng.normal(size=10)
    p["E"][3], p["e"][3] = p["E"][2], p["e"][2] + 1.0
    classes = np.maximum(options["classes_E"] - 1, 0) * [1, 1, 0, 0]
    solver = solver_of(p, **options | {"classes_E": classes, "regularisation": 1e-9})
    assert solved(solver, p).status is Status.INFEASIBLE


def test_contradictions_are_noticed_however_small(rng):
    p = random_problem(rng)
    p["E"][1], p["e"][1] = p["E"][0], p["e"][0] + 1e-3  # small next to the other numbers, but a contradiction
    assert solved(solver_of(p), p).status is Status.INFEASIBLE
    relaxed = solved(solver_of(p, classes_E=[0, 1, 0]), p)
    assert relaxed.status is Status.RELAXED
    assert_allclose(relaxed.excess[:3], [0.0, -1e-3, 0.0], rtol=0, atol=1e-9)
    shared = solved(solver_of(p, classes_E=[1, 1, 0], rank_tolerance=1e-9), p)
    assert_allclose(shared.excess[:3], [5e-4, -5e-4, 0.0], rtol=0, atol=1e-9)
    p["e"][1] += 0.1  # more than equalities that repeat each other are allowed to differ
    assert solved(solver_of(p, classes_E=[1, 1, 0]), p).status is Status.RELAXED


def test_equalities_that_nearly_repeat_each_other_do_not_blow_up(rng):
    """σ_min of 1e-7, and targets that disagree by as much: neither violated nor met by unknowns of millions."""
    p = random_problem(rng, n_A=4, tight=50.0, weight=1.0)
    p["E"][2] = p["E"][0] - 2 * p["E"][1] + 1e-7 * rng.normal(size=10)
    p["e"][2] = p["e"][0] - 2 * p["e"][1] + 1e-5
    for guesses in (0, 3):
        answer = solved(solver_of(p, classes_E=[1, 1, 1], guesses=guesses), p)
        assert answer.status is Status.OPTIMAL and answer.dependent == 1
        assert np.abs(answer.x).max() < 100 and not answer.excess.any()
        assert np.abs(p["E"] @ answer.x - p["e"]).max() < 2e-5
    exact = solved(solver_of(p, classes_E=[1, 1, 1], rank_tolerance=1e-9), p)
    assert exact.dependent == 0 and np.abs(exact.x).max() > 10


# --- strict priorities ------------------------------------------------------------------------------------------------


def strict_problem(rng, n=12, tight=0.2) -> tuple[Numbers, dict]:
    """Three levels, the second partly against the first, weights in the last."""
    p = random_problem(rng, n, 13, 2, 10, tight)
    p["R"][4] = p["R"][0] + p["R"][1]
    p["weights"] = np.where(rng.random(n) < 0.5, 0.0, rng.uniform(0.1, 1, n))
    p["pulls"] = p["weights"] * rng.normal(size=n)
    return p, {"levels": (4, 4, 5), "strict": True, "regularisation": 1e-6}


@pytest.mark.paper("H6", "Q3")
@pytest.mark.parametrize("tight", [0.05, 0.3, 5.0])
def test_strict_levels_are_optimal_one_after_the_other(tight, rng):
    active = 0
    for _ in range(12):
        p, options = strict_problem(rng, tight=tight)
        solver = solver_of(p, **options)
        ours, program = solved(solver, p), stated(p, solver)
        assert ours.solved and ours.residuals.worst <= 1e-8
        active += ours.active
        rest = Rows.equal(np.diag(np.sqrt(solver.data["regularisation"])), np.zeros(12))
        top = Rows(program.A, program.lower, program.upper)
        assert max(qp.level_optimality(ours.x, [*program.levels, rest], top)) < 1e-6
        reference = DaqpSolver().solve(program)
        if reference.solved:
            for level in program.levels:
                assert_allclose(
                    level.A @ ours.x, level.A @ reference.x, rtol=0, atol=1e-6 * (1 + np.abs(level.lower).max())
                )
    assert active > 0


def test_strict_levels_stay_warm(rng):
    p, options = strict_problem(rng, tight=0.05)
    solver = solver_of(p, **options)
    cold, warm = solved(solver, p), solved(solver, p)
    assert cold.active and warm.iterations == 1
    assert_allclose(warm.x, cold.x, rtol=0, atol=1e-8)


def test_one_level_alone_may_be_strict(rng):
    """Then the regularisation does not bias it."""
    p = random_problem(rng, n=8, n_R=3, n_E=0, n_A=0)
    p["weights"], p["pulls"] = np.zeros(8), np.zeros(8)
    strict, summed = (solved(solver_of(p, strict=s, regularisation=0.1), p) for s in (True, False))
    assert_allclose(p["R"] @ strict.x, p["r"], rtol=0, atol=1e-9)
    assert_allclose(strict.x, np.linalg.pinv(p["R"]) @ p["r"], rtol=0, atol=1e-9)
    assert np.abs(p["R"] @ summed.x - p["r"]).max() > 1e-3


# --- numbers that are none, and limits --------------------------------------------------------------------------------


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", FIELDS)
def test_what_is_not_finite_is_a_status_and_is_forgotten(name, value, strict, rng):
    p = random_problem(rng)
    solver = solver_of(p, levels=(2, 4) if strict else (6,), strict=strict)
    good = solved(solver, p)
    harmless = name == "upper" and value == np.inf
    bad = p | {name: p[name].copy()}
    bad[name].flat[0] = value
    answer = solved(solver, bad)
    assert answer.status is (Status.OPTIMAL if harmless else Status.NOT_FINITE)
    assert harmless or (not answer.usable and np.isnan(answer.x).all() and np.isnan(answer.residuals.worst))
    again = solved(solver, p)
    assert again.solved
    assert_allclose(again.x, good.x, rtol=0, atol=1e-8)


def test_a_cost_that_is_not_convex_is_no_answer(rng):
    p = random_problem(rng)
    p["weights"][3] = -1.0
    assert solved(solver_of(p), p).status is Status.NOT_CONVEX


def test_at_the_limit_the_best_point_so_far_is_given(rng):
    """Cut short anywhere: the point is finite, and class 0 holds where it is called usable."""
    seen = set()
    for seed in range(12):
        p, options = broken_problem(np.random.default_rng(seed), 12, 3, 30, 2)
        options["classes_A"][:10] = 0
        for limit in (1, 3, 6, 10, 15, 20, 40, 500):
            answer = solved(solver_of(p, guesses=0, iteration_limit=limit, **options), p)
            seen.add(answer.status)
            if answer.usable:
                assert np.isfinite(answer.x).all()
                classes = np.concatenate((options["classes_E"], options["classes_A"]))
                assert not answer.excess[classes == 0].any()
            else:
                assert np.isnan(answer.x).all()
    assert Status.ITERATION_LIMIT in seen and Status.RELAXED in seen


def test_wrong_structures_raise_and_say_what_was_wanted():
    with pytest.raises(ShapeError, match="one level, or several with strict=True"):
        CompiledSolver(3, (1, 2))
    with pytest.raises(ShapeError, match="regularisation must be positive"):
        CompiledSolver(3, (1,), regularisation=[1.0, 0.0, 1.0])
    with pytest.raises(ShapeError, match=r"classes_A must have shape \(2,\)"):
        CompiledSolver(3, (1,), n_A=2, classes_A=[0])
    with pytest.raises(ShapeError, match="every row of R belongs to one level"):
        CompiledSolver(3, ([0, 1], [1]), strict=True)


def test_programs_as_data_keep_their_order(rng):
    """Bounds, equalities and rows are sorted for the compiled solver, and back."""
    p = random_problem(rng)
    H = p["R"].T @ p["R"] + np.eye(10)
    order = rng.permutation(15)
    rows = np.vstack((p["E"], p["A"]))[order]
    lower, upper = np.concatenate((p["e"], p["lower"]))[order], np.concatenate((p["e"], p["upper"]))[order]
    program = QuadraticProgram(H, -p["pulls"], rows, lower, upper, x_lower=-np.ones(10), x_upper=np.full(10, 2.0))
    classes = np.where(lower == upper, 0, 1)
    ours, reference = (make().solve(replace(program, classes=classes)) for make in (qp.ActiveSetSolver, DaqpSolver))
    assert ours.status is reference.status
    assert_allclose(ours.x, reference.x, rtol=0, atol=1e-6)
    assert_allclose(ours.excess, reference.excess, rtol=0, atol=1e-6)
