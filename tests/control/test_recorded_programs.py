"""Recorded answers of the solvers to families of quadratic programs: active sets, statuses, numbers, changes."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import records

from equipoise.control.qp import (
    ActiveSetSolver,
    CompiledSolver,
    DaqpSolver,
    QuadraticProgram,
    Rows,
    Status,
    active_names,
    conflict,
)
from equipoise.control.qp.batch_programs import Programs, solve_batch

Array = np.ndarray


class Draw:
    """Numbers that are the same with every version of NumPy."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def numbers(self, *shape: int) -> Array:
        """Between −1 and 1, far from rounding."""
        return np.array([2 * self._random.random() - 1 for _ in range(int(np.prod(shape)))]).reshape(shape)

    def sizes(self, low: float, high: float, *shape: int) -> Array:
        """Powers of ten."""
        return 10.0 ** (low + (high - low) * (self.numbers(*shape) + 1) / 2)

    def whole(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def choices(self, of: list[Any], count: int) -> list[Any]:
        return [self._random.choice(of) for _ in range(count)]


# options of the solver, and how programs of a family look; where rounding decides how many changes there are
FAMILIES: dict[str, dict[str, Any]] = {
    "feasible": {"room": 1.0},
    "few guesses": {"room": 0.6, "guesses": 1},
    "no guesses": {"room": 0.8, "guesses": 0},
    "classes": {"room": -0.3, "classes": 3},
    "never relaxed": {"room": -0.05, "classes": 0},
    "strict": {"levels": 3, "room": 0.7},
    "strict classes": {"levels": 3, "room": -0.2, "classes": 2, "diagonal": True},
    "strict, few rows": {"levels": 4, "rows": 2, "room": 0.3, "classes": 1, "diagonal": True},
    "repeated equalities": {"rounding": True, "repeat": 1e-3, "room": 0.8, "classes": 1},
    "nearly repeated equalities": {"rounding": True, "repeat": 1e-5, "room": 0.8, "classes": 2},
    "equalities but for rounding": {"repeat": 1e-12, "room": 0.8, "classes": 2, "rank_tolerance": 1e-7},
    "repeated rows": {"twice": True, "room": 0.5, "classes": 1},
    "scales": {"rounding": True, "scale": 4.0, "room": 0.5, "classes": 1},
    "strict scales": {"scale": 3.0, "room": 0.5, "levels": 2, "classes": 1},
    "limit": {"room": -0.1, "classes": 2, "limit": 4},
    "strict limit": {"room": -0.1, "classes": 2, "limit": 6, "levels": 2},
    "selected": {"room": 0.4, "classes": 1, "select": True},
    "singular": {"rows": 1, "room": 0.6, "regularisation": 1e-9},
}


def made(draw: Draw, family: dict[str, Any]) -> tuple[CompiledSolver, int]:
    """A solver, and how many rows of R it has."""
    n, levels = draw.whole(3, 12), family.get("levels", 1)
    rows = [family.get("rows", draw.whole(1, 5)) for _ in range(levels)]
    n_E, n_A, most = draw.whole(0, n // 2), draw.whole(3, 2 * n), family.get("classes", 1)
    if "repeat" in family:
        n_E = max(n_E, 2)
    diagonal = {"diagonal": draw.whole(0, levels - 1)} if "diagonal" in family else {}
    options = {name: family[name] for name in ("rank_tolerance", "guesses") if name in family}
    solver = CompiledSolver(
        n, rows, n_E=n_E, n_A=n_A, classes_E=draw.choices(list(range(most + 1)), n_E),
        classes_A=draw.choices(list(range(most + 1)), n_A), strict=levels > 1, iteration_limit=family.get("limit"),
        regularisation=family.get("regularisation", 1e-4), **diagonal, **options,
    )  # fmt: skip
    if "select" in family:
        chosen = [np.array([k for k in range(size) if k % 3 != 1]) for size in (n, n_E, n_A)]
        solver.select(*chosen)
    return solver, sum(rows)


def fill(draw: Draw, solver: CompiledSolver, family: dict[str, Any], before: dict[str, Array], part: float) -> None:
    """A program: that of before with a part of new numbers."""
    n, d = solver.n, solver.data
    spread = family.get("scale", 0.0)
    new = {name: draw.numbers(*d[name].shape) * 3 for name in ("R", "r", "pulls", "E", "A")}
    new["R"] *= draw.sizes(-spread, spread, len(new["R"]))[:, None]
    new["A"] *= draw.sizes(-spread, spread, len(new["A"]))[:, None]
    new["weights"] = np.maximum(draw.numbers(n) + 0.4, 0.0)
    inside = draw.numbers(n)
    new["middle"], new["width"] = new["A"] @ inside, np.abs(draw.numbers(solver.n_A)) + 0.1
    new["e"] = new["E"] @ inside
    for name, value in new.items():
        before[name] = value if name not in before else before[name] + part * (value - before[name])
    for name in ("R", "r", "weights", "pulls", "E", "e", "A"):
        d[name][:] = before[name]
    if "repeat" in family:
        d["E"][1] = d["E"][0] * (1 + 0 * part) + family["repeat"] * d["E"][1]
        d["e"][1] = d["e"][0] + (1e-3 if family.get("classes", 0) > 1 else 0.0)
    room = family["room"] * before["width"] * (np.linalg.norm(d["A"], axis=1) + 0.1)
    d["lower"][:], d["upper"][:] = before["middle"] - room, before["middle"] + room
    d["lower"][::4], d["upper"][1::4] = -np.inf, np.inf
    d["lower"][2::7] = d["upper"][2::7] = before["middle"][2::7]
    if "twice" in family:
        for name in ("A", "lower", "upper"):
            d[name][1::2] = d[name][: 2 * (solver.n_A // 2) : 2]


def of_result(x: Array) -> list[float]:
    """Two sums with weights."""
    k = np.arange(1, len(x) + 1)
    return [float(np.cos(k) @ x), float(np.sin(1.3 * k) @ x)]


@pytest.mark.delicate
@pytest.mark.parametrize("name", FAMILIES)
def test_recorded_families_of_programs(name):
    family, found = FAMILIES[name], {}
    for seed in range(8):
        draw = Draw(seed)
        (solver, _), before, words, numbers = made(draw, family), {}, [], []
        for part in (1.0, 0.01, 0.003, 0.5, 0.0, 0.2):
            fill(draw, solver, family, before, part)
            answer = solver.solve()
            equal = solver.data["lower"] == solver.data["upper"]  # has one side, whichever it is told to be on
            sides = "".join(
                "=" if same else "-0+"[int(side) + 1] for same, side in zip(equal, solver.sides, strict=True)
            )
            changes = "" if family.get("rounding") else f" {answer.iterations}"
            words.append(f"{answer.status.name}{changes} {answer.dependent} {answer.active} {sides}")
            if answer.status in (Status.OPTIMAL, Status.RELAXED):
                # a row that both of its bounds are missed by alike may be beyond the one or the other
                parts = answer.x, answer.multipliers, np.abs(answer.excess), answer.values
                numbers.append([[round(value, 7) for value in of_result(part)] for part in parts])
        found[f"{seed}"] = {"words": words, "numbers": numbers}
    records.check(f"programs_{name.replace(' ', '_').replace(',', '')}", found, rtol=1e-5, atol=1e-6)


# --- programs that are stated as data -------------------------------------------------------------------------------


def stated(seed: int) -> QuadraticProgram:
    """Bounds, equalities, classes, levels, singular costs: what there is, by turns."""
    draw = Draw(seed)
    n, m = draw.whole(2, 7), draw.whole(2, 9)
    root = draw.numbers(n if seed % 4 else max(1, n - 2), n)
    A, inside, width = draw.numbers(m, n), draw.numbers(n), 0.5 * (draw.numbers(m) + (0.3 if seed % 5 == 0 else 1.2))
    lower, upper = A @ inside - width, A @ inside + width
    lower[::3], upper[1::4] = -np.inf, np.inf
    upper[m // 2 : m // 2 + 1] = lower[m // 2 : m // 2 + 1] if np.isfinite(lower[m // 2]) else 0.3
    bounds = (inside - 0.3, inside + np.abs(draw.numbers(n))) if seed % 3 == 0 else (None, None)
    levels = (Rows.equal(draw.numbers(1, n), draw.numbers(1)), Rows.equal(draw.numbers(2, n), draw.numbers(2)))
    return QuadraticProgram(
        root.T @ root + (0.05 * np.eye(n) if seed % 4 else 0.0), draw.numbers(n) if seed % 4 else root.sum(0), A,
        np.minimum(lower, upper), np.maximum(lower, upper), *bounds,
        classes=[k % 3 for k in range(m)] if seed % 2 else None,
        levels=levels if seed % 6 == 5 else (),
    )  # fmt: skip


@pytest.mark.delicate
@pytest.mark.parametrize("solver", [ActiveSetSolver, DaqpSolver])
def test_recorded_programs_as_data(solver):
    found, same = {}, solver()
    for seed in range(36):
        if solver is ActiveSetSolver and seed % 4 == 0:
            continue  # its cost is singular
        problem = stated(seed)
        answers = {}
        for which, one in (("cold", solver()), ("after another", same)):
            answer = one.solve(problem)
            parts = (answer.x, answer.multipliers, answer.bound_multipliers, answer.excess, answer.values)
            answers[which] = [
                f"{answer.status.name} {answer.active}",
                *(of_result(np.nan_to_num(x, nan=1e3)) for x in parts),
            ]
        found[f"{seed}"] = answers | {"conflict": conflict(problem) if solver is DaqpSolver else []}
    records.check(f"programs_by_{solver.__name__}", found, rtol=1e-5, atol=1e-6)


def special() -> dict[str, QuadraticProgram]:
    """Programs without a minimum, without a point, without numbers, and next to them some that have all of these."""
    row, none = np.array([[1.0, 1.0]]), np.zeros((2, 2))
    one = np.diag([1.0, 0.0])
    return {
        "falls for ever": QuadraticProgram(one, [1.0, 1.0]),
        "falls along a row": QuadraticProgram(none, [1.0, 1.0], np.array([[1.0, -1.0]]), [-1.0], [1.0]),
        "falls away from a row": QuadraticProgram(none, [-1.0, -1.0], row, [-1.0]),
        "falls onto a row": QuadraticProgram(none, [1.0, 1.0], row, [-1.0], x_lower=[-3.0, -3.0]),
        "falls onto a bound": QuadraticProgram(one, [1.0, 1.0], x_lower=[-np.inf, -2.0]),
        "flat": QuadraticProgram(one, [1.0, 0.0]),
        "rows that cross": QuadraticProgram(np.eye(2), [0.0, 0.0], row, [2.0], [1.0]),
        "bounds that cross": QuadraticProgram(np.eye(2), [0.0, 0.0], x_lower=[2.0, 0.0], x_upper=[1.0, 1.0]),
        "rows that cross may": QuadraticProgram(np.eye(2), [0.0, 0.0], row, [2.0], [1.0], classes=[1]),
        "too far": QuadraticProgram(np.eye(2), [0.0, 0.0], row, [3.0], [4.0], x_upper=[1.0, 1.0], names=("far",)),
        "too far, relaxed": QuadraticProgram(np.eye(2), [0.0, 0.0], row, [3.0], [4.0], [-1, -1], [1, 1], classes=[1]),
        "NaN in H": QuadraticProgram(np.diag([1.0, np.nan]), [0.0, 0.0]),
        "infinite f": QuadraticProgram(np.eye(2), [0.0, np.inf]),
        "infinite A": QuadraticProgram(np.eye(2), [0.0, 0.0], row * np.inf),
        "lower bound above all": QuadraticProgram(np.eye(2), [0.0, 0.0], row, [np.inf]),
        "upper bound below all": QuadraticProgram(np.eye(2), [0.0, 0.0], x_upper=[-np.inf, 0.0]),
        "NaN level": QuadraticProgram(np.eye(2), [0.0, 0.0], levels=(Rows.equal(row, [np.nan]),)),
        "not convex": QuadraticProgram(-np.eye(2), [0.0, 0.0], x_lower=[-1.0, -1.0], x_upper=[1.0, 1.0]),
        "equalities that contradict": QuadraticProgram(
            np.eye(2), [0.0, 0.0], np.vstack((row, 2 * row)), [1.0, 3.0], [1.0, 3.0], names=("one", "two")
        ),
        "equalities that repeat": QuadraticProgram(
            np.eye(2), [0.0, 1.0], np.vstack((row, 2 * row)), [1.0, 2.0], [1.0, 2.0]
        ),
        "two levels that agree not": QuadraticProgram(
            np.eye(2), [1.0, 2.0], levels=(Rows.equal(row, [1.0]), Rows.equal(row, [2.0]))
        ),
        "a level beyond the bounds": QuadraticProgram(
            np.eye(2), [1.0, 2.0], x_lower=[0.0, 0.0], levels=(Rows.equal(row, [-1.0]),)
        ),
    }


SOLVERS = {
    "compiled": ActiveSetSolver,
    "DAQP": DaqpSolver,
    "DAQP without proximal steps": lambda: DaqpSolver(proximal=0.0),
    "DAQP with one change": lambda: DaqpSolver(iteration_limit=1),
    "DAQP, coarse": lambda: DaqpSolver(tolerance=1e-3, refine=1.0),
}


@pytest.mark.delicate
@pytest.mark.parametrize("name", SOLVERS)
def test_recorded_special_programs(name):
    found = {}
    for kind, problem in special().items():
        if name == "compiled" and np.linalg.eigvalsh(np.nan_to_num(problem.H))[0] == 0:
            continue
        answer = SOLVERS[name]().solve(problem)
        found[kind] = [answer.status.name, answer.usable, answer.solved]
        if answer.solved or answer.status is Status.RELAXED:
            found[kind] += [answer.x, answer.excess, list(active_names(problem, answer)), problem.objective(answer.x)]
        elif name == "DAQP":
            found[kind] += [conflict(problem)]
    records.check(f"programs_special_{name.replace(' ', '_').replace(',', '')}", found, rtol=1e-6, atol=1e-7)


@pytest.mark.delicate
def test_recorded_batch():
    """Programs of one size, solved together: feasible ones, rows that repeat each other, and one without solution."""
    draw, B, n, k, m = Draw(5), 24, 6, 2, 9
    R, inside = draw.numbers(B, n, n), draw.numbers(B, n)
    E, A = draw.numbers(B, k, n), draw.numbers(B, m, n) * draw.sizes(-2, 2, B, m)[..., None]
    E[3, 1], A[4, 1], A[5, 2] = E[3, 0], A[4, 0], 2 * A[5, 0]
    value, width = (A @ inside[..., None])[..., 0], np.abs(draw.numbers(B, m)) * 0.3 * np.linalg.norm(A, axis=2)
    lower, upper = value - width, value + width
    lower[:, ::3], upper[:, 1::4] = -np.inf, np.inf
    lower[6, 1], upper[6, 1], lower[6, 2], A[6, 2] = 1.0, 2.0, 3.0, A[6, 1]
    lower[7], upper[7] = -np.inf, np.inf
    e = (E @ inside[..., None])[..., 0]
    H = R.swapaxes(1, 2) @ R + 0.01 * np.eye(n)
    found = solve_batch(Programs(H, 3 * draw.numbers(B, n), E, e, A, lower, upper))
    keep = found.solved
    records.check(
        "programs_batch",
        {
            "solved": keep.tolist(), "x": [of_result(x) for x in found.x[keep]],
            "lam": [of_result(x) for x in found.lam[keep]], "mu": [of_result(x) for x in found.mu[keep]],
        },
        rtol=1e-6, atol=1e-7,
    )  # fmt: skip


@pytest.mark.parametrize("spoilt", ["NaN in H", "rows that cross", "too far", "not convex"])
def test_daqp_starts_cold_after_a_failure(spoilt):
    row = np.array([[1.0, 1.0]])
    good = QuadraticProgram(np.eye(2), [1.0, 2.0], row, [1.0], [4.0], x_lower=[0.0, 0.0], x_upper=[1.0, 1.0])
    bad = special()[spoilt]
    bad = replace(bad, A=row, lower=bad.lower if len(bad.A) else [0.0], upper=bad.upper if len(bad.A) else [1.0],
                  names=(), classes=None)  # fmt: skip
    cold, solver = DaqpSolver().solve(good), DaqpSolver()
    solver.solve(good)
    warm = solver.solve(good)
    assert warm.solved and warm.iterations < cold.iterations
    assert not solver.solve(bad).usable
    assert solver.solve(good).iterations == cold.iterations
