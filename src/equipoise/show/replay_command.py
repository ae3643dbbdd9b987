"""What `equipoise replay` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from rich.console import Console

from ..simulate.replay import estimator_of, replay
from ..simulate.run import Run
from .outputs import Outcome, RunOutputs
from .tables import table


def replay_command(
    console: Console, log: str, *, imu: str | None, contacts: Sequence[str] | None, out: str | None, report: str | None
) -> Outcome:
    """Feeds a log to an estimator; tells its errors, and writes the run with the new estimates."""
    outputs = RunOutputs(console, out, report)
    run = Run.load(log)
    estimator = estimator_of(run, imu, contacts)
    console.print(f"IMU at {estimator.imu}, contacts {', '.join(estimator.contacts) or 'none'}", highlight=False)
    with console.status(f"estimating {run.duration:g} s …"):
        replayed = replay(run, estimator)
    errors = {
        "position, m": replayed.position_error,
        "velocity, m/s": replayed.velocity_error,
        "tilt, °": np.degrees(replayed.tilt_error),
    }
    found = {
        name: {"RMS": float(np.sqrt(np.mean(error**2))), "largest": float(error.max()), "at the end": float(error[-1])}
        for name, error in errors.items()
    }
    title = f"{run.robot.name}: {run.duration:g} s, {len(run.t)} rows"
    rows = [(name, *(f"{x:.3g}" for x in figures.values())) for name, figures in found.items()]
    console.print(table(title, ["error of the base", "RMS", "largest", "at the end"], rows))
    files = outputs.write(replace(run, estimates={"q": replayed.q, "v": replayed.v}))
    words = ", ".join(f"{name} {figures['RMS']:.3g}" for name, figures in found.items())
    return Outcome(f"error of the base, RMS: {words}", {"errors": found, "files": files})
