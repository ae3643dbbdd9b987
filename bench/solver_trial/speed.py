"""Times the solver in C, compiled as the package would, beside the present one: interleaved, the fastest of many."""

from __future__ import annotations

import ctypes
import sys
import time

import numpy as np

sys.path[:0] = ["tests", "tests/control"]
import test_active_set as programs  # noqa: E402

from equipoise.control.qp.loops import main  # noqa: E402

CASES = {  # name: unknowns, rows of R, E, A, options
    "feasible, few active": (36, 40, 12, 60, {}, 1.0),
    "feasible, many active": (36, 40, 12, 60, {}, 0.1),
    "working sets, few": (36, 40, 12, 60, {"guesses": 0}, 1.0),
    "working sets, many": (36, 40, 12, 60, {"guesses": 0}, 0.1),
    "relaxed": (36, 40, 12, 60, {"classes": 2}, 0.3),
    "strict": (36, 40, 12, 60, {"levels": (10, 10, 20), "strict": True}, 0.3),
    "seven unknowns": (7, 7, 2, 30, {}, 0.3),
}


def table_of(name: str, cold: bool) -> tuple[object, object]:
    n, n_R, n_E, n_A, options, tight = CASES[name]
    options, rng = dict(options), np.random.default_rng(1)
    p = programs.random_problem(rng, n, n_R, n_E, n_A, tight, weight=1e-2)
    if classes := options.pop("classes", 0):
        options |= {"classes_A": rng.integers(0, classes + 1, n_A)}
        shift = np.where(options["classes_A"] > 0, rng.normal(size=n_A), 0.0)
        p["lower"], p["upper"] = p["lower"] + shift, p["upper"] + shift
    solver = programs.solver_of(p, **options)
    answer = programs.solved(solver, p)
    if cold:
        solver.forget()
    print(f"{name:24} {'cold' if cold else 'warm'} {answer.status.name:9} active {answer.active:3} ", end="")
    return solver, solver._run.table


if __name__ == "__main__":
    code, (present, _) = ctypes.PyDLL(sys.argv[1]), main.compiled()
    code.solve_in_c.argtypes, code.solve_in_c.restype = [ctypes.c_void_p], ctypes.c_int32
    for name in sys.argv[2:] or CASES:
        for cold in (False, True):
            solver, table = table_of(name, cold)
            at, best = table.ctypes.data, {}
            calls = 5 if cold else 20
            for _ in range(300):
                for word, function in (("present", present), ("C", code.solve_in_c)):
                    total = 0
                    for _ in range(calls):
                        if cold:
                            solver.forget()
                        start = time.perf_counter_ns()
                        function(at)
                        total += time.perf_counter_ns() - start
                    best[word] = min(best.get(word, 1e18), total / calls)
            print(" ".join(f"{k} {t / 1e3:8.2f} µs" for k, t in best.items()), f"{best['C'] / best['present']:.3f}")
