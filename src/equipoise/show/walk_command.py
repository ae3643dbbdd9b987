"""What `equipoise walk` does and prints."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.markup import escape

from ..errors import ShapeError, StateError
from ..simulate.goals import Check, Verdict
from ..simulate.interruption import interruption_deferred
from ..walking.gait import Command
from .outputs import RunOutputs
from .stand_command import print_doubts
from .tables import table

if TYPE_CHECKING:
    from ..simulate.conditions import Push
    from ..simulate.run import Run
    from ..simulate.walk_trials import Leg
    from ..walking.walking import Walking

PUSHED = 0.1  # s
START = 0.5  # s, standing before the command
LEAST = 2.5  # s after the command, from which on its velocity can be told: it settles, and takes a stride
USUAL = 0.3  # m/s, of a robot that walks so fast


def walk_command(
    console: Console,
    source: str,
    asked: tuple[float | None, float, float],
    duration: float,
    pushes: Sequence[str],
    *,
    seed: int,
    body: str | None,
    report: str | None,
    out: str | None,
    estimated: bool = False,
    quiet: bool = False,
) -> Verdict:
    """Walks as commanded (m/s forward and left, rad/s) for some seconds; returns whether the robot did so and did not
    fall."""
    from ..robot import load
    from ..simulate.estimated import driven, on_estimates
    from ..simulate.loop import simulate
    from ..simulate.walk_trials import DELAY, NOISE, commanded_walk, varied_plant
    from ..walking.walking import Walking

    speed, side, turn = asked
    _require_time(duration)
    outputs = RunOutputs(console, out, report, quiet=quiet)
    if not np.isfinite([speed or 0.0, side, turn]).all():
        raise ShapeError(f"speed, side and turn are finite numbers; got {speed}, {side} and {turn}")
    begin = perf_counter()
    walker = Walking(load(source), body)
    if not quiet:
        print_doubts(console, walker.body)
    shoves = [push_of(text, walker, duration) for text in pushes]
    if not quiet:
        console.print(f"ready after {perf_counter() - begin:.1f} s", highlight=False)
    wanted = Command(min(USUAL, walker.gait.largest.forward) if speed is None else speed, side, turn)
    walker.command(*wanted.speeds, at=START)
    begin = perf_counter()
    plant, robot = varied_plant(walker, seed), walker.robot
    options = {"noise": NOISE} if not estimated else on_estimates(robot, walker.contacts)
    controller = walker if not estimated else driven(robot, walker)
    with interruption_deferred():
        run = simulate(
            robot, controller, plant, duration, q0=walker.q0, seed=seed, delay=DELAY, pushes=shoves,
            progress=not quiet and console.is_terminal, **options,
        )  # fmt: skip
        judged = run.t[-1] > START + LEAST
        done = walker.gait.cut(wanted)
        leg = commanded_walk(walker, run, START, done.speeds, pushed=bool(shoves)) if judged else None
        if not quiet:
            _print(console, run, wanted, leg, perf_counter() - begin)
        outputs.write(run, f"{run.robot.name} walks")
    as_commanded = leg is not None and leg.good and done == wanted
    came = "not measured" if leg is None else _words(leg.came)
    return Verdict(
        (
            Check("outcome", run.outcome == "completed", run.outcome, "completed"),
            Check("velocity (forward, left, turn)", as_commanded, came, _words(wanted.speeds)),
        )
    )


def _words(speeds: Sequence[float]) -> str:
    return "{:.3f} m/s, {:.3f} m/s, {:.3f} rad/s".format(*speeds)


def _require_time(duration: float) -> None:
    """The command has to come and to be followed before it can be judged."""
    if not START + LEAST < duration < np.inf:
        raise StateError(
            f"duration is a number of seconds above {START + LEAST:g}: the command comes after {START:g} s, and its "
            f"velocity is measured {LEAST:g} s later and on; got {duration:g}"
        )


def push_of(text: str, walker: Walking, duration: float) -> Push:
    """The push that "T,X,Y" stands for: at T s an impulse of (X, Y) N s on the torso."""
    from ..simulate.conditions import Push

    try:
        t, x, y = (float(word) for word in text.split(","))
    except ValueError:
        raise ShapeError(f"a push is three numbers, T,X,Y (s, N s, N s), such as 4,0,20; got {text!r}") from None
    if not (0.0 <= t < duration and np.isfinite([x, y]).all()):
        raise ShapeError(f"a push comes within the {duration:g} s of the walk, and is finite; got {text!r}")
    return Push(walker.body.frames["torso"], (x / PUSHED, y / PUSHED, 0.0), t, PUSHED)


def _print(console: Console, run: Run, wanted: Command, leg: Leg | None, took: float) -> None:
    measured = ["not measured"] * 3 if leg is None else [f"{x:.3f}" for x in leg.came]
    words = ("forward, m/s", "left, m/s", "turn, rad/s")
    rows = [(word, f"{a:.3f}", came) for word, a, came in zip(words, wanted.speeds, measured, strict=True)]
    title = f"{run.robot.name} walks {run.t[-1]:.1f} s: {run.outcome}"
    console.print(table(title, ["", "commanded", "measured"], rows))
    for text in () if leg is None else leg.complaints:
        console.print(f"[bold red]✗[/] {escape(text)}", highlight=False)
    for t, text in run.events:
        console.print(f"{t:7.2f} s  {escape(text)}", highlight=False)
    if run.estimates:
        off = float(np.linalg.norm(run.estimates["q"][-1, :3] - run.q[-1, :3]))
        console.print(f"the base ends {1e3 * off:.0f} mm from where it is believed to be", highlight=False)
    cycle = 1e3 * float(np.median(run.cycle_time))
    console.print(f"{run.t[-1] / took:.1f} × real time, control step {cycle:.2f} ms (median)", highlight=False)
