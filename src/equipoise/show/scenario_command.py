"""What `equipoise run` and `equipoise demo` do and print."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.markup import escape

from ..errors import EquipoiseError
from ..files import require_picture, written_somewhere
from ..simulate.goals import Check, Verdict
from ..simulate.interruption import interruption_deferred
from .outputs import RunOutputs
from .tables import table

if TYPE_CHECKING:
    from ..simulate.run import Run
    from ..simulate.scenario_build import Built

DEMO = "table_reach"
ENOUGH = 0.95  # part of the seeds that have to succeed


def list_scenarios(console: Console) -> None:
    """All shipped scenarios."""
    from ..simulate.scenarios import shipped

    rows = [(s.name, s.title, s.robot, s.plant) for s in shipped()]
    console.print(table("scenarios", ["name", "what", "robot", "plant"], rows, words=4))


def run_command(
    console: Console,
    name: str,
    *,
    robot: str | None,
    seed: int,
    seeds: int,
    out: str | None,
    report: str | None,
    quiet: bool,
    estimated: bool = False,
) -> Verdict:
    """Runs a scenario, once or for many seeds, perhaps on estimates only; returns whether it succeeded."""
    from ..simulate.scenarios import verdict

    if seeds < 1:
        raise EquipoiseError(f"seeds is how many to try, 1 or more; got {seeds}")
    if seeds > 1 and report is not None:
        raise EquipoiseError("a report shows one run: leave out --seeds, or report a run that --out keeps")
    outputs = RunOutputs(console, out, report, quiet=quiet)
    built = _prepared(console, name, robot, quiet)
    with interruption_deferred():
        if seeds > 1:
            return _many(console, built, range(seed, seed + seeds), out, quiet, estimated)
        run = _run(console, built, seed, quiet, estimated)
        if not quiet:
            print_run(console, run)
        outputs.write(run, _title(run))
    done = Check("outcome", run.outcome == "completed", run.outcome, "completed")
    return Verdict((*verdict(run).checks, done))


def run_demo(
    console: Console,
    robot: str | None = None,
    report: str = "report.html",
    out: str | None = None,
    picture: str | None = None,
) -> bool:
    """The demonstration: a humanoid leans on a table to reach what it could not reach alone."""
    outputs = RunOutputs(console, out, report, picture)
    require_picture(picture)
    begin = perf_counter()
    built = _prepared(console, DEMO, robot, quiet=False)
    ready = perf_counter() - begin
    console.print(f"[bold]{escape(built.scenario.title)}[/]: {built.robot.name}, {built.robot.mass:.1f} kg, in MuJoCo")
    console.print(" ".join(built.scenario.about.split()), highlight=False)
    console.print(f"robot and controller ready after {ready:.1f} s (from the cache, the next time)\n", highlight=False)
    with interruption_deferred():
        run = _run(console, built, 0, quiet=False)
        print_run(console, run)
        outputs.write(run, _title(run))
        if picture is not None:
            from .still import still

            console.print(f"picture: {still(run, picture)}", highlight=False, soft_wrap=True)
    console.print(f"all of it took {perf_counter() - begin:.0f} s", highlight=False)
    return run.outcome == "completed"


def _prepared(console: Console, name: str, robot: str | None, quiet: bool) -> Built:
    from ..simulate.scenarios import prepare

    if quiet:
        return prepare(name, robot=robot)
    with console.status(f"making robot and controller of {escape(name)} (kernels are compiled once) …"):
        return prepare(name, robot=robot)


def _run(console: Console, built: Built, seed: int, quiet: bool, estimated: bool = False) -> Run:
    from ..simulate.scenarios import run_built

    return run_built(built, seed=seed, progress=not quiet and console.is_terminal, estimated=estimated)


def _title(run: Run) -> str:
    return f"{run.scenario.get('title') or run.scenario.get('name') or run.robot.name}: {run.robot.name}"


def _many(console: Console, built: Built, seeds: range, out: str | None, quiet: bool, estimated: bool) -> Verdict:
    """Prints one line for each seed; nineteen of twenty have to succeed."""
    from ..simulate.scenarios import run_built, verdict

    good = tried = 0
    for seed in seeds:
        run = run_built(built, seed=seed, estimated=estimated)
        good += run.outcome == "completed"
        tried += 1
        if out is not None:
            path = Path(out)
            written_somewhere(path.with_name(f"{path.stem}-{seed}{path.suffix or '.npz'}"), run.save)
        reasons = "; ".join(verdict(run).reasons)
        if not quiet:
            console.print(f"seed {seed:3d}  {run.outcome}  {escape(reasons)}".rstrip(), highlight=False)
        if run.outcome == "interrupted":
            break
    enough = ENOUGH * len(seeds)
    return Verdict((Check("seeds", good >= enough, f"{good} of {tried} succeeded", f"{enough:g} of {len(seeds)}"),))


# --- the summary ------------------------------------------------------------------------------------------------------


def print_run(console: Console, run: Run) -> None:
    """A run of a scenario, as a person likes to read it."""
    from ..simulate.scenarios import verdict

    seen = verdict(run)
    title = run.scenario.get("title") or run.scenario["name"]
    mark = {True: "[green]✓[/]", False: "[bold red]✗[/]"}
    rows = [(mark[check.good], escape(check.name), escape(check.came), escape(check.wanted)) for check in seen.checks]
    console.print(table(f"{title}: {run.robot.name}", ["", "", "measured", "required"], rows, words=4))
    for what, text in figures(run):
        console.print(f"{what:>18}  {escape(text)}", highlight=False)
    word = "[bold green]goal reached[/]" if seen.reached else f"[bold red]{run.outcome}[/]"
    console.print(f"{'outcome':>18}  {word}\n", highlight=False)


def figures(run: Run) -> list[tuple[str, str]]:
    """Forces, torques, times: in words."""
    weight = run.robot.mass * float(np.linalg.norm(run.robot.model.gravity))
    lines = []
    for name, wrench in run.measured.items():
        force = np.linalg.norm(np.nan_to_num(wrench[:, :3]), axis=1)
        lines.append((name, f"carries up to {force.max():.0f} N, {force.max() / weight:.0%} of the weight"))
    used = _most_used(run)
    if used:
        lines.append(("torque", f"at most {used[1]:.0%} of a limit ({used[0]})"))
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


def _most_used(run: Run) -> tuple[str, float] | None:
    limit = np.asarray(run.robot.limits.effort)
    best: tuple[str, float] | None = None
    for name, joint in run.robot.joints.items():
        most: Any = limit[joint.v]
        if (
            joint.mimic is None
            and len(most)
            and np.isfinite(most).all()
            and (most > 0).all()
            and name in run.robot.joints
        ):
            part = float((np.abs(run.torque[:, joint.v]) / most).max(initial=0.0))
            if best is None or part > best[1]:
                best = name, part
    return best
