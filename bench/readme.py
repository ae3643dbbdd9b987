"""Writes the README's table of times and docs/speed.svg: one robot, one run, one commit, one core.

Times are those of the thread, so that other processes may run. Nothing is written if the
figures scatter all the same, or if the sources are not those of a commit.
"""

from __future__ import annotations

import datetime
import platform
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import thread_time

from equipoise.bench.dynamics import on_one_core, urdf_of
from equipoise.bench.peers import ARGUMENTS, Block, Pinocchio, States, loop, our_calls, random_states
from equipoise.bench.quiet_timing import SETTLE, TimedComparison, benchmark
from equipoise.errors import EquipoiseError
from equipoise.robot import Robot, load

from . import derivatives

ROOT = Path(__file__).parent.parent
BEGIN, END = "<!-- speed: written by make bench-readme -->", "<!-- end of speed -->"
PLOT = ROOT / "docs" / "speed.svg"
ROBOT = "g1"
BATCH = 1024  # states of a batch in the table
CALLS = 100  # states in one block of single calls
ROUNDS = 60  # turns of each contender; more on a busy machine
SIZES = (1, 4, 16, 64, 256, 1024, 4096, 16384)  # states of a batch in the plot
SPREAD = 0.5  # largest distance of the quartiles of a ratio, as a part of its median
TRIES = 4  # of each comparison
STATES = 1024  # states in one block, at least, of the plot
TABLE = {
    "inverse_dynamics": "inverse dynamics",
    "forward_dynamics": "forward dynamics",
    "mass_matrix": "mass matrix",
    "coriolis_matrix": "Coriolis matrix",
    "forward_dynamics_derivatives": "derivatives of forward dynamics",
}
PLOTTED = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
VECTORS = {"avx512f": "AVX-512", "avx2": "AVX2", "asimd": "NEON"}  # flag of the processor → name


@dataclass(frozen=True)
class SpeedRow:
    """Times of one quantity, µs per state; ratios to a call of Pinocchio: median and quartiles."""

    quantity: str
    pinocchio: float
    one_call: float
    one_call_ratio: tuple[float, float, float]
    batch: float
    batch_ratio: tuple[float, float, float]


def measure(rounds: int = ROUNDS) -> Iterator[SpeedRow]:
    """Yields the table's rows, then measures the plot's points and writes both."""
    commit, path = _commit(), urdf_of(ROBOT)
    robot = load(path)
    few, many = random_states(robot, CALLS), random_states(robot, max(SIZES))
    pinocchio = Pinocchio(robot, str(path), few)
    rows = []
    for quantity in TABLE:
        rows.append(_row(robot, pinocchio, quantity, few, many, rounds))
        yield rows[-1]
    curves = {quantity: _curve(robot, pinocchio, quantity, few, many, rounds) for quantity in PLOTTED}
    today, on = datetime.date.today(), f"Time of the thread on one core of {_processor()}"
    where = f"{on}, {today}, commit {commit}, Pinocchio {pinocchio.version}"
    _draw(curves, {row.quantity: row.pinocchio for row in rows}, where)
    _write(rows, f"{where}: `make bench-readme" + (f' ARGS="--rounds {rounds}"`' if rounds != ROUNDS else "`"))


def _row(robot: Robot, pinocchio: Pinocchio, quantity: str, few: States, many: States, rounds: int) -> SpeedRow:
    theirs = _theirs(pinocchio, quantity), CALLS
    calls = loop(getattr(robot, quantity), few.rows(*_arguments(quantity))), CALLS
    batch = on_one_core(_batch(robot, quantity, many, BATCH)), BATCH
    one = _timed({"equipoise": calls, "pinocchio": theirs}, rounds=rounds)
    contenders = {"equipoise": batch, "pinocchio, cold": theirs, "pinocchio": theirs}
    many_ = _timed(contenders, rounds=rounds)
    times = [1e6 * result.timings["equipoise"].median for result in (one, many_)]
    peer = 1e6 * one.timings["pinocchio"].median
    return SpeedRow(quantity, peer, times[0], one.ratios["pinocchio"], times[1], many_.ratios["pinocchio"])


def _curve(robot: Robot, pinocchio: Pinocchio, quantity: str, few: States, many: States, rounds: int) -> list[float]:
    """Returns µs per state for each size of batch."""
    theirs, curve = (_theirs(pinocchio, quantity), CALLS), []
    for size in SIZES:
        once, times = _batch(robot, quantity, many, size), max(1, STATES // size)
        block = on_one_core(loop(once, [()] * times)) if size > 1 else our_calls(robot, few, quantity)
        states = size * times if size > 1 else CALLS
        result = _timed({"equipoise": (block, states), "pinocchio": theirs}, rounds=rounds)
        curve.append(1e6 * result.timings["equipoise"].median)
    return curve


def _arguments(quantity: str) -> tuple[str, ...]:
    return ARGUMENTS.get(quantity) or derivatives.QUANTITIES[quantity]


def _theirs(pinocchio: Pinocchio, quantity: str) -> Block:
    return pinocchio.block(quantity) if quantity in ARGUMENTS else derivatives.theirs(pinocchio, quantity)


def _batch(robot: Robot, quantity: str, states: States, size: int) -> Block:
    """One call for many states, as users write it."""
    function, arguments = getattr(robot, quantity), [getattr(states, name)[:size] for name in _arguments(quantity)]
    return lambda: function(*arguments)


def _timed(contenders: dict[str, tuple[Block, int]], rounds: int) -> TimedComparison:
    """Returns times of the thread; measures again where the ratios scatter, and raises if they do so every time."""
    for _ in range(TRIES):
        result = benchmark(contenders, rounds=rounds, settle=SETTLE, clock=thread_time)
        median, low, high = result.ratios["pinocchio"]
        if result.trustworthy and high - low <= SPREAD * median:
            return result
    raise EquipoiseError(
        f"{result.clean} of {result.rounds} rounds were quiet, and the quartiles of their ratios are {low:.3f} and "
        f"{high:.3f}: that is no figure, and nothing is written; use --rounds, or another hour"
    )


def _commit() -> str:
    """Returns the commit of the sources, which must be as committed."""
    said = [("status", "--porcelain", "--", "src", "bench"), ("rev-parse", "--short", "HEAD")]
    changed, commit = (
        subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
        for words in said
    )
    if changed:
        raise EquipoiseError(f"commit the sources first, since the README names their commit; changed:\n{changed}")
    return commit


def _processor() -> str:
    """Returns the processor's name, and its widest vector instructions."""
    information = Path("/proc/cpuinfo")
    if not information.exists():
        return platform.processor() or platform.machine()
    lines = [line.partition(":") for line in information.read_text().splitlines()]
    values = {key.strip(): value.strip() for key, _, value in reversed(lines)}
    flags = (values.get("flags") or values.get("Features") or "").split()
    vectors = next((name for flag, name in VECTORS.items() if flag in flags), platform.machine())
    family = f", family {values['cpu family']}" if "cpu family" in values else ""
    return f"{values.get('model name', platform.machine())}{family} ({vectors})"


def _write(rows: list[SpeedRow], where: str) -> None:
    head = f"| µs per state of G1 (× Pinocchio's) | Pinocchio, one call | Equipoise, one call | batch of {BATCH:,} |"
    lines = [head, "|---|---|---|---|"]
    for row in rows:
        one, batch = (
            f"{row.one_call:.2f} ({row.one_call_ratio[0]:.2f})",
            f"{row.batch:.2f} (1/{1 / row.batch_ratio[0]:.1f})",
        )
        lines.append(f"| {TABLE[row.quantity]} | {row.pinocchio:.2f} | {one} | {batch} |")
    page = ROOT / "README.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise EquipoiseError(f"README.md has no lines {BEGIN!r} and {END!r}")
    figures = "\n".join([*lines, "", f"{where}."])
    page.write_text(f"{before}{BEGIN}\n{figures}\n{END}{after}", encoding="utf-8")


def _draw(curves: dict[str, list[float]], peers: dict[str, float], where: str) -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
    for quantity, curve in curves.items():
        (line,) = axes.loglog(SIZES, curve, "o-", ms=3, label=TABLE[quantity])
        axes.axhline(peers[quantity], color=line.get_color(), ls="--", lw=1)
    axes.plot([], [], "k--", lw=1, label="Pinocchio, a call each")
    axes.set(xlabel="states in one call", ylabel="µs per state", title="G1, one core")
    axes.set_xticks(SIZES, [f"{size:,}" for size in SIZES])
    axes.set_yticks([0.1, 0.3, 1.0, 3.0, 10.0], ["0.1", "0.3", "1", "3", "10"])
    axes.minorticks_off()
    axes.legend(fontsize="small", frameon=False)
    figure.supxlabel(where, fontsize="x-small", color="gray")
    figure.savefig(PLOT, metadata={"Date": None})
    plt.close(figure)
