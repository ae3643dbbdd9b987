"""The benches by name, and their results as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

from rich.console import Console
from rich.live import Live

from ..errors import EquipoiseError
from ..show.tables import table
from . import (
    chaos,
    commands,
    courses,
    derivatives,
    dynamics,
    estimated,
    forms,
    grounds,
    growth,
    latency,
    opponents,
    safety,
    start,
    trot,
    walking,
)
from .control import benchmark as control


class BenchOptions(NamedTuple):
    """What a bench is asked for; each takes what it knows.

    Attributes:
        robots: names or files; its own where None.
        rounds: turns of each contender.
        seeds: plants that are drawn.
        folder: what others made, for the benches that read it.
        run_their_code: whether code in that folder may run.
        directions: of pushes.
        phases: of the gait, in which pushes come.
    """

    robots: list[str] | None = None
    rounds: int = 60
    seeds: int | None = None
    folder: str | None = None
    run_their_code: bool = False
    directions: int = 16
    phases: int = 8

    def required_folder(self, what: str) -> str:
        """The folder, which has no default: what lies beside the current folder was not chosen by the user."""
        if self.folder is None:
            raise EquipoiseError(f"bench {what} reads files of others: --folder names where they are")
        return self.folder


def _dynamics(o: BenchOptions) -> Iterator[Any]:
    return dynamics.compare(o.robots or ("talos", "g1"), rounds=o.rounds)


def _derivatives(o: BenchOptions) -> Iterator[Any]:
    return derivatives.compare(o.robots or ("talos", "g1"), rounds=o.rounds)


def _start(o: BenchOptions) -> Iterator[Any]:
    for robot in o.robots or ["g1"]:
        for batch in (False, True):
            cold, warm = start.cold_and_warm(robot, batch=batch)
            yield {"robot": robot, "batch": batch, "cold": asdict(cold), "warm": [asdict(row) for row in warm]}


def _growth(o: BenchOptions) -> Iterator[Any]:
    return growth.growth(rounds=o.rounds)


def _forms(o: BenchOptions) -> Iterator[Any]:
    return forms.changes(o.robots or ("g1",), rounds=o.rounds)


def _control(o: BenchOptions) -> Iterator[Any]:
    return control.compare(o.robots, rounds=o.rounds)


def _safety(o: BenchOptions) -> Iterator[Any]:
    return safety.run(robot=o.robots[0] if o.robots else "arm7")


def _chaos(o: BenchOptions) -> Iterator[Any]:
    return chaos.run(o.robots)


def _latency(o: BenchOptions) -> Iterator[Any]:
    return latency.run(o.robots[0] if o.robots else "human")


def _walking(o: BenchOptions) -> Iterator[Any]:
    return walking.run(o.robots or ("g1", "human"))


def _commands(o: BenchOptions) -> Iterator[Any]:
    return commands.run(o.robots or ("human", "jvrc1", "talos", "g1"), o.seeds or commands.SEEDS)


def _trot(o: BenchOptions) -> Iterator[Any]:
    return trot.run(o.robots or ("quadruped", "anymal_c", "go2"), o.seeds or trot.SEEDS)


def _opponents(o: BenchOptions) -> Iterator[Any]:
    folder = o.required_folder("opponents")
    return opponents.measure(folder, run_their_code=o.run_their_code, directions=o.directions, phases=o.phases)


def _courses(o: BenchOptions) -> Iterator[Any]:
    return courses.run(o.required_folder("courses"), o.seeds or 1, (o.robots or ["jvrc1"])[0])


def _grounds(o: BenchOptions) -> Iterator[Any]:
    return grounds.run(o.robots or ("g1", "human"), o.seeds or 2)


def _estimated(o: BenchOptions) -> Iterator[Any]:
    return estimated.run(o.robots or ("g1", "human"), o.seeds or estimated.SEEDS)


BENCHES: dict[str, Callable[[BenchOptions], Iterator[Any]]] = {
    "dynamics": _dynamics,
    "derivatives": _derivatives,
    "start": _start,
    "growth": _growth,
    "forms": _forms,
    "control": _control,
    "safety": _safety,
    "chaos": _chaos,
    "latency": _latency,
    "walking": _walking,
    "commands": _commands,
    "trot": _trot,
    "opponents": _opponents,
    "courses": _courses,
    "grounds": _grounds,
    "estimated": _estimated,
}
QUIET = ("control", "latency", "walking")  # benches that a table drawn meanwhile would disturb


def plain(row: Any) -> dict[str, Any]:
    """A row as plain data."""
    return row if isinstance(row, dict) else asdict(row)


def show(console: Console, what: str, rows: Iterable[Any]) -> None:
    """Print rows as they come."""
    columns, line = _LAYOUTS[what]
    result = table(_TITLES[what], columns)
    noisy = False
    rows = list(rows) if what in QUIET else rows
    with Live(result, console=console, refresh_per_second=4):
        for row in rows:
            result.add_row(*line(row))
            noisy = noisy or not getattr(row, "trustworthy", True)
    if noisy:
        console.print("[yellow]too few quiet moments on this machine for the rows marked ?; run it again[/]")


def _dynamics_line(row: dynamics.BenchRow) -> list[str]:
    cells = [row.robot, row.quantity, row.mode, f"{row.microseconds:.3f}"]
    mark = "" if row.trustworthy else "?"
    for peer in ("pinocchio", "mujoco"):
        cells += [f"{row.peers[peer]:.2f}", _spread(row.ratios[peer]) + mark] if peer in row.ratios else ["", ""]
    return [*cells, _spread(row.ratios["all cores"], 2) + mark if "all cores" in row.ratios else ""]


def _spread(ratio: tuple[float, float, float], digits: int = 3) -> str:
    median, low, high = (f"{x:.{digits}f}" for x in ratio)
    return f"{median} ({low}–{high})"


def _start_line(row: dict[str, Any]) -> list[str]:
    warm = sorted(row["warm"], key=lambda one: one["ready"])
    middle = warm[len(warm) // 2]
    code = "single states and batches" if row["batch"] else "single states"
    figures = [row["cold"]["ready"], middle["ready"], warm[0]["ready"], warm[-1]["ready"], middle["import_time"]]
    return [row["robot"], code, *(f"{figure:.3f}" for figure in figures)]


def _growth_line(row: growth.Size) -> list[str]:
    return [str(row.n), f"{row.instructions:,}", f"{row.instructions / row.n:.0f}", f"{row.compile_seconds:.2f}",
            f"{1e3 * row.compile_seconds / row.n:.1f}", f"{row.nanoseconds_per_joint:.2f}"]  # fmt: skip


def _forms_line(row: forms.FormTiming) -> list[str]:
    return [row.robot, row.form, f"{row.microseconds:.2f}", f"{row.low:.2f}–{row.high:.2f}", f"{row.terms:.2f}"]


def _control_line(row: control.BenchResult) -> list[str]:
    mark = "" if row.trustworthy else "?"
    ratio = row.ratios.get(row.fastest) if row.fastest is not None else None
    cells = [
        row.problem,
        row.contender,
        f"{row.microseconds:.1f}{mark}",
        f"{row.low:.1f}–{row.high:.1f}",
        f"{row.p99:.1f}",
        f"{row.p99 / row.microseconds:.2f}",
        "1" if ratio is None else _spread(ratio, 2),
    ]
    solved = "" if not row.failures else f"{row.failures} failed"
    at_bounds = "" if row.active is None else f"{row.active:g}"
    return [*cells, at_bounds, solved or ("" if row.residual is None else f"{row.residual:.0e}")]


def _safety_line(row: safety.SafetyOutcome) -> list[str]:
    cells = [
        row.scene,
        "moving" if row.moving else "standing",
        f"{1e3 * row.step:.0f}",
        f"{row.starts:,}",
        f"{row.admitted:,}",
    ]
    return [*cells, f"{row.looks:,}", f"{row.worst:.1e}", f"{row.demand:.4f}", "holds" if row.good else "FAILS"]


def _chaos_line(row: chaos.ChaosTally) -> list[str]:
    counts = [
        row.controllers,
        row.steps,
        row.exceptions + row.errors,
        row.not_finite,
        row.beyond_limits,
        row.contradicted,
    ]
    statuses = ", ".join(f"{name} {count}" for name, count in sorted(row.statuses.items()))
    return [
        row.robot,
        row.priorities,
        *map(str, counts),
        f"{row.undecided}, {row.inaccurate}",
        statuses,
        "holds" if row.good else "FAILS",
    ]


def _latency_line(row: latency.Latency) -> list[str]:
    return [row.problem, row.status, f"{row.steps:,}", f"{100 * row.share:.1f} %",
            *(f"{x:.3f}" for x in (row.median, row.p99, row.p999, row.most))]  # fmt: skip


def _walking_line(row: walking.CallTimes) -> list[str]:
    figures = [f"{x:.3f}" for x in (row.median, row.p99, row.p999, row.most)]
    return [row.robot, row.what, f"{row.steps:,}", *figures, "" if row.real_time is None else f"{row.real_time:.2f}"]


def _commands_line(row: commands.CommandsTally) -> list[str]:
    counts = f"{row.completed} of {row.seeds}", f"{row.seeds - len(row.failed)} of {row.seeds}"
    figures = f"{100 * row.off:.0f}", f"{row.effort:.2f}", f"{row.excess:+.3f}", f"{1e3 * row.touch:.0f}"
    return [row.robot, *counts, " ".join(map(str, row.failed)), *figures, "passed" if row.good else "MISSED"]


def _trot_line(row: trot.TrotTally) -> list[str]:
    counts = f"{row.completed} of {row.seeds}", f"{row.good} of {row.seeds}"
    return [row.robot, *counts, f"{row.slowest:.3f} to {row.fastest:.3f}", f"{row.effort:.2f}", f"{row.excess:+.3f}"]


def _opponents_line(row: dict[str, Any]) -> list[str]:
    command = ", ".join(f"{x:g}" for x in row["command"])
    if "safe" in row:
        counts = [
            f"{kind} {row[kind]['min_Ns']:g} / {row[kind]['median_Ns']:g}" for kind in ("safe", "clean", "largest")
        ]
        return [command, "pushes, N·s, least / median", ", ".join(counts), "", "", "", "", ""]
    velocity = "" if row["velocity_mean"] is None else ", ".join(f"{x:.3f}" for x in row["velocity_mean"])
    excess, joint = row["joint_limit_excess_rad"]
    effort, motor = row["effort_demanded_over_limit"]
    feet = f"{row['slip_speed_mean_m_s']:.3f}", f"{row['foot_force_peak_N']:.0f}"
    return [command, "fell" if row["fell"] else "walked", velocity, f"{excess:+.3f} {joint}", f"{effort:.2f} {motor}",
            f"{row['leg_clearance_m']:.3f}", *feet]  # fmt: skip


def _courses_line(row: courses.CourseVerdict) -> list[str]:
    end, air = (", ".join(f"{x:.2f}" for x in numbers) for numbers in (row.end, row.air))
    verdict = "reached" if row.good else "MISSED"
    return [row.course, str(row.seed), row.outcome, end, f"{row.tilt:.2f}", air, verdict]


def _grounds_line(row: grounds.GroundRow) -> list[str]:
    far = f"{row.seconds:.1f}", f"{row.went:.2f}"
    return [row.robot, row.ground, str(row.seed), row.outcome, *far, "passed" if row.good else "MISSED"]


def _estimated_line(row: estimated.EstimatedTally) -> list[str]:
    count, drift = f"{row.seeds - len(row.failed)} of {row.seeds}", row.drift
    failed = " ".join(map(str, row.failed))
    cells = [row.task, row.robot, count, failed, f"{1e3 * row.off:.1f}", "" if drift is None else f"{100 * drift:.2f}"]
    return [*cells, "passed" if row.good else "MISSED"]


_TITLES = {
    "estimated": "control on estimates only, with realistic sensors and motors; at least 19 of 20, walks within 3 %",
    "grounds": "walks at 0.15 √(g h) over grounds that the plan does not know",
    "courses": "walking courses of AIST on JVRC-1, with their verdict",
    "walking": "ms of thread time while a robot walks in MuJoCo; real time: simulated seconds per second of the loop",
    "commands": "30 s of changing commands with noise, delay, drawn friction and masses; at least 19 of 20 in order",
    "trot": "0.5 m/s with noise, delay, drawn friction and masses, and pushes of 0.2 m √(g h) from all sides",
    "opponents": "the walker on the measuring bench for controllers of the G1",
    "chaos": "random controllers: answers that raise, are not finite, exceed limits, or are called by a wrong name",
    "latency": "ms of one step of control, by status (time of the thread)",
    "safety": "least clearance of random starts, at and between samples",
    "control": "µs for one control cycle, state in, torques or velocities out, on one core (quiet turns)",
    "forms": "µs for one change of form (median and quartiles of quiet rounds)",
    "dynamics": "µs per state, and ours / theirs (median and quartiles of quiet rounds)",
    "derivatives": "µs per state with derivatives, and ours / theirs (median and quartiles of quiet rounds)",
    "start": "seconds until nine core kernels can be called",
    "growth": "inverse dynamics of a snake of n joints, batch of 1,024 on one core",
}
_LAYOUTS: dict[str, tuple[list[str], Callable[[Any], list[str]]]] = {
    "estimated": (
        ["task", "robot", "succeed", "seeds that fail", "base off, mm, at most", "% of the way", "verdict"],
        _estimated_line,
    ),
    "grounds": (["robot", "ground", "seed", "outcome", "s", "went, m", "verdict"], _grounds_line),
    "courses": (["course", "seed", "outcome", "base ends at, m", "tilt, rad", "hops, s", "verdict"], _courses_line),
    "walking": (["robot", "what", "calls", "median", "p99", "p99.9", "largest", "real time ×"], _walking_line),
    "commands": (
        [
            "robot",
            "does not fall",
            "all in order",
            "seeds that fail",
            "velocities off, %",
            "effort",
            "joint limit, rad",
            "in itself, mm",
            "verdict",
        ],
        _commands_line,
    ),
    "trot": (["robot", "does not fall", "all in order", "mean speed, m/s", "effort", "joint limit, rad"], _trot_line),
    "opponents": (
        ["command", "", "achieved", "joint limit", "effort", "legs, m", "slip, m/s", "force, N"],
        _opponents_line,
    ),
    "derivatives": (
        ["robot", "quantity", "mode", "equipoise", "pinocchio", "ratio", "mujoco", "ratio", "all cores ×"],
        _dynamics_line,
    ),
    "control": (
        ["problem", "contender", "µs", "quartiles", "p99", "p99 / µs", "ratio to fastest peer", "active", "residual"],
        _control_line,
    ),
    "dynamics": (
        ["robot", "quantity", "mode", "equipoise", "pinocchio", "ratio", "mujoco", "ratio", "all cores ×"],
        _dynamics_line,
    ),
    "chaos": (
        [
            "robot",
            "priorities",
            "controllers",
            "steps",
            "raised",
            "not finite",
            "beyond",
            "contradicted",
            "on the edge, inaccurate",
            "statuses",
            "verdict",
        ],
        _chaos_line,
    ),
    "latency": (["problem", "status", "steps", "share", "median", "p99", "p99.9", "largest"], _latency_line),
    "start": (["robot", "code for", "cold", "warm, median", "fastest", "slowest", "import"], _start_line),
    "forms": (["robot", "form", "µs", "quartiles", "M, C, g themselves"], _forms_line),
    "safety": (
        ["against", "obstacle", "step, ms", "starts", "admitted", "looks", "least, m", "asked / promised", "verdict"],
        _safety_line,
    ),
    "growth": (["n", "instructions", "per joint", "compile, s", "ms per joint", "ns per joint"], _growth_line),
}
