"""What `equipoise walk` does and prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.markup import escape

from ..errors import ShapeError, StateError
from ..simulate.goals import Check, Verdict
from ..simulate.interruption import interruption_deferred
from ..walking.gait import Command
from .outputs import Outcome, RunOutputs, tried, watched
from .scenario_command import print_run
from .stand_command import print_doubts

if TYPE_CHECKING:
    from ..simulate.conditions import Push
    from ..simulate.run import Run
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
    seeds: int,
    body: str | None,
    report: str | None,
    out: str | None,
    estimated: bool = False,
) -> Outcome:
    """Walks as commanded (m/s forward and left, rad/s) for some seconds; tells whether the robot did so and did not
    fall."""
    from ..robot import load
    from ..walking.walking import Walking

    _require_time(duration)
    outputs = RunOutputs(console, out, report, seeds=seeds)
    if not np.isfinite([asked[0] or 0.0, *asked[1:]]).all():
        raise ShapeError("speed, side and turn are finite numbers; got {}, {} and {}".format(*asked))
    with console.status(f"making {escape(source)} walk (kernels are compiled once) …"):
        walker = Walking(load(source), body)
    print_doubts(console, walker.body)
    shoves = [push_of(text, walker, duration) for text in pushes]

    def one(seed: int) -> tuple[Run, Verdict]:
        walker.reset()
        return _walked(walker, asked, duration, shoves, seed, estimated, progress=watched(console) and seeds == 1)

    with interruption_deferred():
        if seeds > 1:
            return tried(console, source, range(seed, seed + seeds), one, out)
        run, verdict = one(seed)
        print_run(console, run, verdict)
        return Outcome.judged(source, verdict, outputs.write(run))


def _walked(
    walker: Walking, asked: tuple[float | None, float, float], duration: float, shoves: Sequence[Push], seed: int,
    estimated: bool, progress: bool,
) -> tuple[Run, Verdict]:  # fmt: skip
    """One walk, and whether it went as commanded."""
    from ..simulate.estimated import driven, on_estimates
    from ..simulate.loop import simulate
    from ..simulate.walk_trials import DELAY, NOISE, commanded_walk, varied_plant

    speed, side, turn = asked
    wanted = Command(min(USUAL, walker.gait.largest.forward) if speed is None else speed, side, turn)
    walker.command().command(*wanted.speeds, at=START)
    plant, robot = varied_plant(walker, seed), walker.robot
    options = {"noise": NOISE} if not estimated else on_estimates(robot, walker.contacts)
    begin = perf_counter()
    run = simulate(
        robot, walker if not estimated else driven(robot, walker), plant, duration, q0=walker.q0, seed=seed,
        delay=DELAY, pushes=shoves, progress=progress, **options,
    )  # fmt: skip
    seconds, done = perf_counter() - begin, walker.gait.cut(wanted)
    checks = [Check("outcome", run.outcome == "completed", run.outcome, "completed")]
    if done != wanted:
        checks.append(Check("command within limits", False, _words(done.speeds), _words(wanted.speeds)))
    if run.t[-1] > START + LEAST:
        checks += commanded_walk(walker, run, START, done.speeds, pushed=bool(shoves)).checks
    verdict = Verdict(tuple(checks))
    kept = {"title": f"{robot.name} walks", "seconds": seconds, "verdict": verdict.as_plain()}
    return replace(run, scenario=kept), verdict


def _words(speeds: Sequence[float]) -> str:
    return "{:.3g} m/s, {:.3g} m/s, {:.3g} rad/s".format(*speeds)


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
