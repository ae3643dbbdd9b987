"""What `equipoise run` and `equipoise demo` do and print, and the summary of a run."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.markup import escape

from ..files import require_picture
from ..simulate.goals import Check, Verdict
from ..simulate.interruption import interruption_deferred
from .charts import torques
from .outputs import Outcome, RunOutputs, print_checks, tried, watched
from .report import run_title
from .tables import table

if TYPE_CHECKING:
    from ..simulate.run import Run

DEMO = "table_reach"


def list_scenarios(console: Console) -> Outcome:
    """Prints all shipped scenarios."""
    from ..simulate.scenarios import shipped

    rows = [(s.name, s.title, s.robot, s.plant) for s in shipped()]
    console.print(table("scenarios", ["name", "what", "robot", "plant"], rows, words=4))
    return Outcome(f"{len(rows)} scenarios", list(map(asdict, shipped())))


def run_command(
    console: Console,
    name: str,
    *,
    robot: str | None = None,
    seed: int = 0,
    seeds: int = 1,
    out: str | None = None,
    report: str | None = None,
    picture: str | None = None,
    estimated: bool = False,
) -> Outcome:
    """Runs a scenario, once or for many seeds, perhaps on estimates only; tells whether it succeeded."""
    from ..simulate.scenarios import prepare, run_built, verdict

    outputs = RunOutputs(console, out, report, picture, seeds=seeds)
    require_picture(picture)
    with console.status(f"making robot and controller of {escape(name)} (kernels are compiled once) …"):
        built = prepare(name, robot=robot)
    console.print(f"[bold]{escape(built.scenario.title)}[/]: {built.robot.name}, {built.robot.mass:.1f} kg")
    console.print(" ".join(built.scenario.about.split()), highlight=False, markup=False)

    def one(seed: int) -> tuple[Run, Verdict]:
        alone = watched(console) and seeds == 1
        run = run_built(built, seed=seed, progress=alone, estimated=estimated)
        done = Check("outcome", run.outcome == "completed", run.outcome, "completed")
        return run, Verdict((*verdict(run).checks, done))

    with interruption_deferred():
        if seeds > 1:
            return tried(console, name, range(seed, seed + seeds), one, out)
        run, seen = one(seed)
        print_run(console, run, seen)
        files = outputs.write(run)
        if picture is not None:
            from .still import still

            console.print(f"picture: {still(run, picture)}", highlight=False, soft_wrap=True)
    return Outcome.judged(name, seen, files)


# --- the summary ------------------------------------------------------------------------------------------------------


def print_run(console: Console, run: Run, verdict: Verdict) -> None:
    """Prints what was required of a run, what came, and its figures."""
    print_checks(console, run_title(run), verdict.checks)
    for t, text in run.events:
        console.print(f"{t:16.2f} s  {text}", highlight=False, markup=False)
    for what, text in figures(run):
        console.print(f"{what:>18}  {text}", highlight=False, markup=False)


def figures(run: Run) -> list[tuple[str, str]]:
    """Forces, torques, times: in words."""
    weight = run.robot.mass * float(np.linalg.norm(run.robot.model.gravity))
    lines = []
    for name, wrench in run.measured.items():
        force = np.linalg.norm(np.nan_to_num(wrench[:, :3]), axis=1)
        lines.append((name, f"carries up to {force.max():.0f} N, {force.max() / weight:.0%} of the weight"))
    used = torques(run)[0]
    for name in used.leading(1):
        lines.append(("torque", f"at most {np.nanmax(used.lines[name]):.0%} of a limit ({name})"))
    cycle = run.cycle_time[run.cycle_time > 0] * 1e6
    if len(cycle):
        middle, late = np.percentile(cycle, [50, 99])
        lines.append(("control step", f"{middle:.0f} µs (99 of 100 below {late:.0f} µs)"))
    seconds = run.scenario.get("seconds")
    if isinstance(seconds, (int, float)) and seconds > 0:
        lines.append(
            (
                "speed",
                f"{run.duration:.1f} s of motion in {seconds:.1f} s: {run.duration / seconds:.1f} times real time",
            )
        )
    shares = [
        f"{np.mean(run.status == k):.1%} {name}" for k, name in enumerate(run.status_names) if np.any(run.status == k)
    ]
    if run.estimates:
        off = np.linalg.norm(run.estimates["q"][:, :3] - run.q[:, :3], axis=1)
        lines.append(("estimate", f"base within {1e3 * off.max():.1f} mm, {1e3 * off[-1]:.1f} mm off at the end"))
    lines.append(("steps", f"{len(run.t)}: {', '.join(shares)}"))
    return lines
