"""The benches by name, and their results as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

from rich.console import Console
from rich.live import Live

from ..show.outputs import Outcome
from ..show.tables import table
from . import dynamics, latency

MOVED = (  # to the folder `bench` of a clone
    "growth", "forms", "walking", "commands", "trot", "opponents", "courses", "grounds", "estimated",
    "chaos", "control", "derivatives", "safety", "start",
)  # fmt: skip


class BenchOptions(NamedTuple):
    """What a bench is asked for; each takes what it knows.

    Attributes:
        robots: names or files; its own where None.
        rounds: turns of each contender.
    """

    robots: list[str] | None = None
    rounds: int = 60


class Bench(NamedTuple):
    """A bench and the table of its rows.

    Attributes:
        rows: runs it; a row with a verdict has it as `good`.
        title: of the table.
        columns: their heads.
        line: makes the cells of a row.
        quiet: whether a table drawn meanwhile would disturb it.
    """

    rows: Callable[[Any], Iterator[Any]]
    title: str
    columns: list[str]
    line: Callable[[Any], list[str]]
    quiet: bool = False


def _dynamics(o: BenchOptions) -> Iterator[Any]:
    return dynamics.compare(o.robots or ("talos", "g1"), rounds=o.rounds)


def _latency(o: BenchOptions) -> Iterator[Any]:
    return latency.run(o.robots[0] if o.robots else "human")


def plain(row: Any) -> dict[str, Any]:
    """A row as plain data."""
    return row if isinstance(row, dict) else asdict(row)


def report(console: Console, bench: Bench, rows: Iterable[Any]) -> Outcome:
    """Prints rows as they come; good if every row with a verdict is."""
    result, found, noisy = table(bench.title, bench.columns), [], False
    rows = list(rows) if bench.quiet or console.quiet else rows
    with Live(result, console=console, refresh_per_second=4):
        for row in rows:
            result.add_row(*bench.line(row))
            found.append(row)
            noisy = noisy or not getattr(row, "trustworthy", True)
    if noisy:
        console.print("[yellow]too few quiet moments on this machine for the rows marked ?; run it again[/]")
    good = sum(map(_good, found))
    return Outcome(f"{good} of {len(found)} rows are good", [plain(row) for row in found], good == len(found))


def _good(row: Any) -> bool:
    return bool(getattr(row, "good", True))


def dynamics_line(row: dynamics.BenchRow) -> list[str]:
    cells = [row.robot, row.quantity, row.mode, f"{row.microseconds:.3f}"]
    mark = "" if row.trustworthy else "?"
    for peer in ("pinocchio", "mujoco"):
        cells += [f"{row.peers[peer]:.2f}", spread(row.ratios[peer]) + mark] if peer in row.ratios else ["", ""]
    return [*cells, spread(row.ratios["all cores"], 2) + mark if "all cores" in row.ratios else ""]


def spread(ratio: tuple[float, float, float], digits: int = 3) -> str:
    median, low, high = (f"{x:.{digits}f}" for x in ratio)
    return f"{median} ({low}–{high})"


def _latency_line(row: latency.Latency) -> list[str]:
    return [row.problem, row.status, f"{row.steps:,}", f"{100 * row.share:.1f} %",
            *(f"{x:.3f}" for x in (row.median, row.p99, row.p999, row.most))]  # fmt: skip


COMPARED = ["robot", "quantity", "mode", "equipoise", "pinocchio", "ratio", "mujoco", "ratio", "all cores ×"]
BENCHES = {
    "dynamics": Bench(
        _dynamics, "µs per state, and ours / theirs (median and quartiles of quiet rounds)", COMPARED, dynamics_line
    ),
    "latency": Bench(
        _latency,
        "ms of one step of control, by status (time of the thread)",
        ["problem", "status", "steps", "share", "median", "p99", "p99.9", "largest"],
        _latency_line,
        quiet=True,
    ),
}
