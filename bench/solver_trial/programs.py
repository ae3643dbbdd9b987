"""Random programs for the comparison of two solvers: those of the tests, cold and warm."""

from __future__ import annotations

import sys
import time

import numpy as np

sys.path[:0] = ["tests", "tests/control"]
import test_active_set as programs  # noqa: E402


def random_programs(seed: int) -> None:
    """A few programs that follow each other: feasible, broken, strict; from one active set to the next."""
    rng = np.random.default_rng(seed)
    kind, n = seed % 4, int(rng.integers(1, 24))
    n_E, n_A, classes = int(rng.integers(0, min(n, 6) + 1)), int(rng.integers(0, 50)), int(rng.integers(0, 4))
    if kind == 0:
        p, options = programs.random_problem(rng, n, 6, n_E, n_A, tight=10.0 ** rng.uniform(-2, 1)), {}
    elif kind == 1:
        p, options = programs.broken_problem(rng, n, n_E, n_A, classes)
    elif kind == 2:
        p, options = programs.broken_problem(rng, n, n_E, n_A, classes)
        options |= {"levels": (1, 2, 3), "strict": True, "diagonal": int(rng.integers(3))}
    else:
        p, options = programs.strict_problem(rng, n=max(n, 2), tight=10.0 ** rng.uniform(-2, 0.5))
    solver = programs.solver_of(p, **options)
    for _ in range(4):
        programs.solved(solver, p)
        for name in ("r", "pulls", "e"):
            p[name] = p[name] + 0.1 * rng.normal(size=p[name].shape)


if __name__ == "__main__":
    import driver

    code = driver.install(sys.argv[1], "both")
    first, last = int(sys.argv[2]), int(sys.argv[3])
    start = time.process_time()
    for seed in range(first, last):
        random_programs(seed)
    print(f"{time.process_time() - start:.0f} s")
    print(driver.report(code))
