"""The demonstration of the dynamics: a humanoid loaded, compiled, checked for the invariants of mechanics, and
timed."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from rich.console import Console

from ..algebra.arrays import times
from ..errors import EquipoiseError
from ..robot import CORE, Robot, load
from ..show.outputs import Outcome
from ..show.summary import print_summary
from ..show.tables import table

STATES = 1000


def show_dynamics(console: Console, source: str = "jvrc1") -> Outcome:
    """Prints what the kernels do, on one robot."""
    robot = load(source)
    print_summary(console, robot)
    begin = perf_counter()
    with console.status(f"compiling {len(CORE)} kernels for {robot.name}, for single states and for batches …"):
        robot.prepare(single=True, batch=True)
    console.print(f"{len(CORE)} kernels ready after {perf_counter() - begin:.2f} s (from the cache, the next time)\n")
    found = invariants(robot)
    title = f"invariants of mechanics on {STATES} random states"
    console.print(table(title, ["invariant", "largest relative error"], found))
    console.print()
    time_pinocchio(console, source)
    return Outcome(f"{len(found)} invariants checked on {robot.name}", dict(found))


def invariants(robot: Robot, count: int = STATES) -> list[tuple[str, str]]:
    """Each identity with how far it is off, relative to the terms in it."""
    rng = np.random.default_rng(0)
    q, v = (np.stack(column) for column in zip(*(robot.random_state(rng) for _ in range(count)), strict=True))
    a = rng.normal(size=v.shape)
    M, C, g = robot.mass_matrix(q), robot.coriolis_matrix(q, v), robot.gravity(q)
    tau, h = robot.inverse_dynamics(q, v, a), robot.bias_force(q, v)
    A = robot.momentum_matrix(q)

    energy = 0.5 * np.einsum("...i,...i->...", v, times(M, v))
    h_step = 1e-6
    M_rate = (robot.mass_matrix(robot.integrate(q, v, h_step)) - robot.mass_matrix(robot.integrate(q, v, -h_step))) / (
        2 * h_step
    )
    checks = {
        "M is symmetric": (M, np.swapaxes(M, -1, -2)),
        "inverse dynamics = M a + C v + g": (times(M, a) + times(C, v) + g, tau),
        "bias force = C v + g": (times(C, v) + g, h),
        "forward dynamics undoes inverse dynamics": (robot.forward_dynamics(q, v, tau), a),
        "Ṁ = C + Cᵀ (by differences)": (M_rate, C + np.swapaxes(C, -1, -2)),
        "kinetic energy = ½ vᵀ M v": (robot.kinetic_energy(q, v), energy),
        "momentum = A v": (robot.momentum(q, v), times(A, v)),
        "linear momentum = m ċ": (times(robot.com_jacobian(q), v) * robot.mass, robot.momentum(q, v)[..., :3]),
    }
    return [(name, f"{np.abs(x - y).max() / np.abs(y).max():.1e}") for name, (x, y) in checks.items()]


def time_pinocchio(console: Console, source: str) -> None:
    """A small table of speed; says so if Pinocchio is not there."""
    from . import tables

    bench = tables.BENCHES["dynamics"]
    try:
        rows = list(bench.rows(tables.BenchOptions([source], 25)))
    except EquipoiseError as error:
        console.print(f"no benchmark: {error}", highlight=False)
        return
    tables.report(console, bench, rows)
