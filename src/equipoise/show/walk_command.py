"""What `equipoise walk` does and prints."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.markup import escape

from ..errors import ShapeError
from .tables import table

if TYPE_CHECKING:
    from ..robot import Robot
    from ..simulate.conditions import Push
    from ..simulate.run import Run
    from ..walking.walking import Walking

PUSHED = 0.1  # s
START = 0.5  # s, standing before the command


def walk_command(
    console: Console,
    robot: Robot,
    asked: tuple[float, float, float],
    duration: float,
    pushes: Sequence[str],
    *,
    seed: int,
    body: str | None,
    report: str | None,
    out: str | None,
    estimated: bool = False,
) -> bool:
    """Walk as asked (m/s forward and left, rad/s) for some seconds; whether the robot did not fall."""
    from ..simulate.estimated import driven, on_estimates
    from ..simulate.loop import simulate
    from ..simulate.walk_trials import DELAY, NOISE, varied_plant
    from ..walking.walking import Walking

    begin = perf_counter()
    walker = Walking(robot, body)
    shoves = [push_of(text, walker) for text in pushes]
    console.print(f"ready after {perf_counter() - begin:.1f} s", highlight=False)
    walker.command(*asked, at=START)
    begin = perf_counter()
    plant, robot = varied_plant(walker, seed), walker.robot
    options = {"noise": NOISE} if not estimated else on_estimates(robot, walker.contacts)
    controller = walker if not estimated else driven(robot, walker)
    run = simulate(robot, controller, plant, duration, q0=walker.q0, seed=seed, delay=DELAY, pushes=shoves, **options)
    _print(console, run, asked, perf_counter() - begin)
    if out is not None:
        console.print(f"run: {run.save(out)}", highlight=False, soft_wrap=True)
    if report is not None:
        from .report import report as write

        path = write(run, report, title=f"{run.robot.name} walks", progress=console.is_terminal)
        console.print(
            f"report: {path} ({path.stat().st_size / 1e6:.1f} MB, opens in a browser)", highlight=False, soft_wrap=True
        )
    return run.outcome == "completed"


def push_of(text: str, walker: Walking) -> Push:
    """The push that "T,X,Y" stands for: at T s an impulse of (X, Y) N s on the torso."""
    from ..simulate.conditions import Push

    try:
        t, x, y = (float(word) for word in text.split(","))
    except ValueError:
        raise ShapeError(f"a push is three numbers, T,X,Y (s, N s, N s), such as 4,0,20; got {text!r}") from None
    return Push(walker.body.frames["torso"], (x / PUSHED, y / PUSHED, 0.0), t, PUSHED)


def _print(console: Console, run: Run, asked: tuple[float, float, float], took: float) -> None:
    from ..simulate.walk_trials import SETTLING, mean_velocity

    late = START + SETTLING
    came = mean_velocity(run, late, float(run.t[-1])) if run.t[-1] > late else (np.nan,) * 3
    words = ("forward, m/s", "left, m/s", "turn, rad/s")
    rows = [(word, f"{a:.3f}", f"{c:.3f}") for word, a, c in zip(words, asked, came, strict=True)]
    console.print(table(f"{run.robot.name} walks {run.t[-1]:.1f} s: {run.outcome}", ["", "asked", "came"], rows))
    for t, text in run.events:
        console.print(f"{t:7.2f} s  {escape(text)}", highlight=False)
    if run.estimates:
        off = float(np.linalg.norm(run.estimates["q"][-1, :3] - run.q[-1, :3]))
        console.print(f"the base ends {1e3 * off:.0f} mm from where it is believed to be", highlight=False)
    cycle = 1e3 * float(np.median(run.cycle_time))
    console.print(f"{run.t[-1] / took:.1f} × real time, control step {cycle:.2f} ms (median)", highlight=False)
