"""`python -m bench NAME`, at the root of a clone: benches of whole behaviours, of the machine, and of others' files."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
from rich.console import Console

from equipoise.bench.tables import COMPARED, Bench, dynamics_line, report, spread
from equipoise.errors import EquipoiseError

from . import (
    chaos,
    commands,
    courses,
    derivatives,
    estimated,
    forms,
    grounds,
    growth,
    interruptions,
    opponents,
    quadrupeds,
    readme,
    safety,
    start,
    swaying,
    trot,
    versions,
    walking,
)  # fmt: skip
from .control import benchmark as control

Options = argparse.Namespace


def _folder(o: Options) -> str:
    """The folder, which has no default: what lies beside the current folder was not chosen by the user."""
    if o.folder is None:
        raise EquipoiseError(f"bench {o.bench} reads files of others: --folder names where they are")
    return str(o.folder)


def _opponents(o: Options) -> Iterator[Any]:
    return opponents.measure(_folder(o), run_their_code=o.run_their_code, directions=o.directions, phases=o.phases)


def _start(o: Options) -> Iterator[Any]:
    for robot in o.robot or ["g1"]:
        for batch in (False, True):
            cold, warm = start.cold_and_warm(robot, batch=batch)
            yield {"robot": robot, "batch": batch, "cold": asdict(cold), "warm": [asdict(row) for row in warm]}


def _growth_line(row: growth.Size) -> list[str]:
    return [str(row.n), f"{row.instructions:,}", f"{row.instructions / row.n:.0f}", f"{row.compile_seconds:.2f}",
            f"{1e3 * row.compile_seconds / row.n:.1f}", f"{row.nanoseconds_per_joint:.2f}"]  # fmt: skip


def _forms_line(row: forms.FormTiming) -> list[str]:
    return [row.robot, row.form, f"{row.microseconds:.2f}", f"{row.low:.2f}–{row.high:.2f}", f"{row.terms:.2f}"]


def _readme_line(row: readme.SpeedRow) -> list[str]:
    return [row.quantity, f"{row.pinocchio:.3f}", f"{row.one_call:.3f}", spread(row.one_call_ratio),
            f"{row.batch:.3f}", spread(row.batch_ratio)]  # fmt: skip


def _walking_line(row: walking.CallTimes) -> list[str]:
    figures = [f"{x:.3f}" for x in (row.median, row.p99, row.p999, row.most)]
    return [row.robot, row.what, f"{row.steps:,}", *figures, "" if row.real_time is None else f"{row.real_time:.2f}"]


def _commands_line(row: commands.CommandsTally) -> list[str]:
    counts = f"{row.completed} of {row.seeds}", f"{row.seeds - len(row.failed)} of {row.seeds}"
    figures = f"{100 * row.off:.0f}", f"{row.effort:.2f}", f"{row.excess:+.3f}", f"{1e3 * row.touch:.0f}"
    return [row.robot, *counts, " ".join(map(str, row.failed)), *figures, "passed" if row.good else "MISSED"]


def _trot_line(row: trot.TrotTally) -> list[str]:
    counts = f"{row.completed} of {row.seeds}", f"{row.in_order} of {row.seeds}"
    figures = f"{row.slowest:.3f} to {row.fastest:.3f}", f"{row.effort:.2f}", f"{row.excess:+.3f}"
    return [row.robot, *counts, *figures, "passed" if row.good else "MISSED"]


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


def _swaying_line(row: swaying.SwayingRow) -> list[str]:
    pairs = (f"{ours:.3g} / {plain:.3g}" for ours, plain in zip(row.filter, row.kinematics, strict=True))
    return [row.robot, str(row.seeds), *pairs, "passed" if row.good else "MISSED"]


def _interruptions_line(row: interruptions.InterruptedRow) -> list[str]:
    return [row.command, row.fault, str(row.trials), "\n".join(row.faults), "passed" if row.good else "MISSED"]


def _versions_line(row: versions.VersionRow) -> list[str]:
    mark = "" if row.trustworthy else "?"
    ratio = f"{row.ratio:.3f} ({row.low:.3f}–{row.high:.3f})"
    return [row.case, f"{row.here:.2f}{mark}", f"{row.there:.2f}", ratio, "passed" if row.good else "MISSED"]


def _quadrupeds_line(row: quadrupeds.QuadrupedRow) -> list[str]:
    count, ratios = f"{len(row.seeds) - len(row.failed)} of {len(row.seeds)}", f"{row.slowest:.3f} to {row.fastest:.3f}"
    seeds = " ".join(f"{seed}✗" if seed in row.failed else f"{seed}" for seed in row.seeds)
    return [row.robot, f"{row.speed:g}", count, ratios, f"{row.drift:.1%}", seeds, "passed" if row.good else "MISSED"]


def _drawn(o: Options) -> list[int]:
    """The seeds: those named by --seed, or as many as --seeds says from a generator that nobody chose."""
    return o.seed or [int(x) for x in np.random.default_rng().integers(10**5, size=o.seeds or quadrupeds.SEEDS)]


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


def _start_line(row: dict[str, Any]) -> list[str]:
    warm = sorted(row["warm"], key=lambda one: one["ready"])
    middle = warm[len(warm) // 2]
    code = "single states and batches" if row["batch"] else "single states"
    figures = [row["cold"]["ready"], middle["ready"], warm[0]["ready"], warm[-1]["ready"], middle["import_time"]]
    return [row["robot"], code, *(f"{figure:.3f}" for figure in figures)]


def _safety_line(row: safety.SafetyOutcome) -> list[str]:
    cells = [
        row.scene,
        "moving" if row.moving else "standing",
        f"{1e3 * row.step:.0f}",
        f"{row.starts:,}",
        f"{row.admitted:,}",
    ]
    return [*cells, f"{row.looks:,}", f"{row.worst:.1e}", f"{row.demand:.4f}", "holds" if row.good else "FAILS"]


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
        "1" if ratio is None else spread(ratio, 2),
    ]
    solved = "" if not row.failures else f"{row.failures} failed"
    at_bounds = "" if row.active is None else f"{row.active:g}"
    return [*cells, at_bounds, solved or ("" if row.residual is None else f"{row.residual:.0e}")]


_COUNTS = "robot", "does not fall", "all in order"
BENCHES = {
    "growth": Bench(
        lambda o: growth.growth(rounds=o.rounds),
        "inverse dynamics of a snake of n joints, batch of 1,024 on one core",
        ["n", "instructions", "per joint", "compile, s", "ms per joint", "ns per joint"],
        _growth_line,
    ),
    "forms": Bench(
        lambda o: forms.changes(o.robot or ("g1",), rounds=o.rounds),
        "µs for one change of form (median and quartiles of quiet rounds)",
        ["robot", "form", "µs", "quartiles", "M, C, g themselves"],
        _forms_line,
    ),
    "chaos": Bench(
        lambda o: chaos.run(o.robot),
        "random controllers: answers that raise, are not finite, exceed limits, or are called by a wrong name",
        [
            "robot",
            "priorities",
            *"controllers steps raised".split(),
            "not finite",
            *"beyond contradicted".split(),
            "on the edge, inaccurate",
            "statuses",
            "verdict",
        ],
        _chaos_line,
    ),
    "derivatives": Bench(
        lambda o: derivatives.compare(o.robot or ("talos", "g1"), rounds=o.rounds),
        "µs per state with derivatives, and ours / theirs (median and quartiles of quiet rounds)",
        COMPARED,
        dynamics_line,
    ),
    "readme": Bench(
        lambda o: readme.measure(rounds=o.rounds),
        "µs per state of G1 on one core; writes the README's table and docs/speed.svg",
        ["quantity", "pinocchio", "one call", "ratio", f"batch of {readme.BATCH:,}", "ratio"],
        _readme_line,
        quiet=True,
    ),
    "start": Bench(
        _start,
        "seconds until nine core kernels can be called",
        ["robot", "code for", "cold", "warm, median", "fastest", "slowest", "import"],
        _start_line,
    ),
    "safety": Bench(
        lambda o: safety.run(robot=(o.robot or ["arm7"])[0]),
        "least clearance of random starts, at and between samples",
        ["against", "obstacle", "step, ms", "starts", "admitted", "looks", "least, m", "asked / promised", "verdict"],
        _safety_line,
    ),
    "control": Bench(
        lambda o: control.compare(o.robot, rounds=o.rounds),
        "µs for one control cycle, state in, torques or velocities out, on one core (quiet turns)",
        ["problem", "contender", "µs", "quartiles", "p99", "p99 / µs", "ratio to fastest peer", "active", "residual"],
        _control_line,
        quiet=True,
    ),
    "walking": Bench(
        lambda o: walking.run(o.robot or ("g1", "human")),
        "ms of thread time while a robot walks in MuJoCo; real time: simulated seconds per second of the loop",
        ["robot", "what", "calls", "median", "p99", "p99.9", "largest", "real time ×"],
        _walking_line,
        quiet=True,
    ),
    "commands": Bench(
        lambda o: commands.run(o.robot or ("human", "jvrc1", "talos", "g1"), o.seeds or commands.SEEDS),
        "30 s of changing commands with noise, delay, drawn friction and masses; at least 19 of 20 in order",
        [*_COUNTS, "seeds that fail", "velocities off, %", "effort", "joint limit, rad", "in itself, mm", "verdict"],
        _commands_line,
    ),
    "trot": Bench(
        lambda o: trot.run(o.robot or ("quadruped", "anymal_c", "go2"), o.seeds or trot.SEEDS),
        "0.5 m/s with noise, delay, drawn friction and masses, and pushes of 0.2 m √(g h) from all sides",
        [*_COUNTS, "mean speed, m/s", "effort", "joint limit, rad", "verdict"],
        _trot_line,
    ),
    "opponents": Bench(
        _opponents,
        "the walker on the measuring bench for controllers of the G1",
        ["command", "", "achieved", "joint limit", "effort", "legs, m", "slip, m/s", "force, N"],
        _opponents_line,
    ),
    "courses": Bench(
        lambda o: courses.run(_folder(o), o.seeds or 1, (o.robot or ["jvrc1"])[0]),
        "walking courses of AIST on JVRC-1, with their verdict",
        ["course", "seed", "outcome", "base ends at, m", "tilt, rad", "hops, s", "verdict"],
        _courses_line,
    ),
    "grounds": Bench(
        lambda o: grounds.run(o.robot or ("g1", "human"), o.seeds or 2),
        "walks at 0.15 √(g h) over grounds that the plan does not know",
        ["robot", "ground", "seed", "outcome", "s", "went, m", "verdict"],
        _grounds_line,
    ),
    "estimated": Bench(
        lambda o: estimated.run(o.robot or ("g1", "human"), o.seeds or estimated.SEEDS),
        "control on estimates only, with realistic sensors and motors; at least 19 of 20, walks within 3 %",
        ["task", "robot", "succeed", "seeds that fail", "base off, mm, at most", "% of the way", "verdict"],
        _estimated_line,
    ),
    "quadrupeds": Bench(
        lambda o: quadrupeds.run(o.robot or quadrupeds.ROBOTS, _drawn(o)),
        "trots on estimates only: within 15 % of the commanded velocity, 5 % of the path off its line",
        ["robot", "command, m/s", "as commanded", "measured / commanded", "drift", "seeds (✗: failed)", "verdict"],
        _quadrupeds_line,
    ),
    "interruptions": Bench(
        lambda o: interruptions.run(o.seeds or 100),
        "commands with a fault at a random moment; --seeds: trials in all",
        ["command", "fault", "trials", "not in order", "verdict"],
        _interruptions_line,
    ),
    "versions": Bench(
        lambda o: versions.run(_folder(o), rounds=o.rounds, only=o.robot or ()),
        "µs of a call here and in another checkout (--folder), in turns on one core; at most 1.02 of its time",
        ["case", "here", "there", "here / there", "verdict"],
        _versions_line,
        quiet=True,
    ),
    "swaying": Bench(
        lambda o: swaying.run(o.robot or swaying.ROBOTS, o.seeds or swaying.SEEDS),
        "RMS errors of the estimator / of plain kinematics of the soles over 20 s of swaying; verdict: the heading",
        ["robot", "seeds", "roll, °", "pitch, °", "heading, °", "x, mm", "y, mm", "z, mm", "verdict"],
        _swaying_line,
    ),
}


def _options(words: list[str] | None) -> Options:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("bench", choices=sorted(BENCHES))
    parser.add_argument("--robot", action="append", help="a robot; several times for several; default: the bench's own")
    parser.add_argument("--seeds", type=int, help="how many plants are drawn, where any are")
    parser.add_argument("--seed", type=int, action="append", help="quadrupeds: a seed; several times for several")
    parser.add_argument("--rounds", type=int, default=60, help="growth, forms: turns of each contender")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--folder", help="opponents, courses: files of others; versions: the other checkout")
    parser.add_argument("--run-their-code", action="store_true", help="opponents: run harness.py of that folder")
    parser.add_argument("--directions", type=int, default=16, help="opponents: of pushes")
    parser.add_argument("--phases", type=int, default=8, help="opponents: of the gait, in which pushes come")
    options = parser.parse_args(words)
    if options.seeds is not None and options.seeds < 1:
        parser.error("--seeds must be 1 or more")
    return options


def main(words: list[str] | None = None) -> int:
    """Runs a bench; returns 1 if a verdict is bad, 2 for an error of the user."""
    options = _options(words)
    bench = BENCHES[options.bench]
    try:
        outcome = report(Console(quiet=options.json), bench, bench.rows(options))
        if options.json:
            print(json.dumps(outcome.data))
        return 0 if outcome else 1
    except EquipoiseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
