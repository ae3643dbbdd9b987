"""What `equipoise stand` does and prints."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.markup import escape

from ..simulate.goals import Check, Verdict
from ..simulate.interruption import interruption_deferred
from .outputs import Outcome, RunOutputs, print_checks
from .tables import table

if TYPE_CHECKING:
    from ..body.body import Body
    from ..control.standing import StandingController
    from ..simulate.run import Run

Array = np.ndarray


def stand_command(
    console: Console, source: str, *, body: str | None, save: str | None, report: str | None, out: str | None
) -> Outcome:
    """Finds the parts of a robot, lets it stand, and tries what should be possible; tells what was."""
    from ..body.body import Body
    from ..control.standing import StandingController
    from ..robot import load
    from ..simulate.trials import trials

    outputs = RunOutputs(console, out, report, save)
    with console.status(f"finding feet, hands and posture of {escape(source)} …"):
        found = Body.of(load(source), body)
    print_body(console, found)
    if save is not None:
        console.print(f"profile: {found.save(save)}", highlight=False, soft_wrap=True)
    with interruption_deferred() as interruption, console.status("making its controller …") as status:
        standing, checks = StandingController(found.robot, found), []
        for trial in trials(standing):
            checks.append(Check(trial.name, trial.good, trial.came, trial.wanted))
            status.update(f"{len(checks)} trials done, the last: {escape(trial.name)} …")
            if interruption.asked:
                checks.append(Check("trials", False, "interrupted by Ctrl-C", "all"))
                break
        status.stop()
        verdict = Verdict(tuple(checks))
        print_checks(console, f"{found.robot.name} in MuJoCo", checks)
        files = {}
        if report is not None or out is not None:
            run = trial.run if interruption.asked else demonstration(standing)
            kept = {"title": f"{found.robot.name} stands", "verdict": verdict.as_plain()}
            files = outputs.write(replace(run, scenario=kept))
    return Outcome.judged(source, verdict, files)


def print_body(console: Console, body: Body) -> None:
    """Who is who, and what is doubtful."""
    rows = []
    for role, part in body.parts.items():
        size = ""
        if part.corners:
            low, high = (
                [f(corner[k] for corner in part.corners) for k in (0, 1)] for f in (min, max)
            )  # m, in the part's x and y
            size = " × ".join(f"{(b - a) * 1e3:.0f}" for a, b in zip(low, high, strict=True)) + " mm"
        rows.append(
            (role, escape(part.link), part.contact if part.contact != "none" else "", size, str(len(part.joints)))
        )
    title = f"{body.robot.name}: {body.kind}, {body.robot.mass:.1f} kg"
    console.print(table(title, ["part", "link", "contact", "size", "joints"], rows, words=3))
    console.print(f"front {_axis(body.front)}, up {_axis(body.up)} in the base's axes", highlight=False)
    print_doubts(console, body)


def print_doubts(console: Console, body: Body) -> None:
    """What is guessed of a body, and why."""
    for finding in body.doubts:
        text = f"{finding.what}: {finding.value} ({finding.reason})"
        console.print(f"[yellow]doubtful[/] {escape(text)}", highlight=False)


def demonstration(standing: StandingController) -> Run:
    """One run of everything: a squat, a reach with each hand, a push."""
    from ..simulate.conditions import Push
    from ..simulate.loop import simulate
    from ..simulate.trials import IMPULSE, PUSHED, SQUAT, reach_of

    body = standing.body
    standing.reset()
    standing.squat(SQUAT * body.leg_length, at=0.5, seconds=0.8).stand(at=1.8, seconds=0.8)
    t = 3.0
    for hand in body.hands:
        far = reach_of(standing, hand)
        standing.reach(hand, by=(0.85 * far, 0.0, 0.52 * far), at=t, seconds=1.0).stand(at=t + 1.3, seconds=1.0)
        t += 2.6
    force = IMPULSE * standing.robot.mass * body.gains.speed / PUSHED
    pushes = [Push(body.frames["torso"], (-force, 0.0, 0.0), t, PUSHED)]
    return simulate(standing.robot, standing, q0=standing.q0, duration=t + 2.5, dt=standing.dt, pushes=pushes)


def _axis(direction: Array) -> str:
    x, y, z = (round(float(v), 3) + 0.0 for v in direction)
    return f"({x:g}, {y:g}, {z:g})"
