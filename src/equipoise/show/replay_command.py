"""What `equipoise replay` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.table import Table

from ..files import require_writable, written_somewhere
from ..simulate.replay import estimator_of, replay
from ..simulate.run import Run


def replay_command(
    console: Console, log: str, *, imu: str | None, contacts: Sequence[str] | None, out: str | None
) -> Run:
    """A log through an estimator; a table of its errors; the run with the new estimates."""
    require_writable(out)
    run = Run.load(log)
    estimator = estimator_of(run, imu, contacts)
    console.print(f"IMU at {estimator.imu}, contacts {', '.join(estimator.contacts) or 'none'}", highlight=False)
    replayed = replay(run, estimator)
    table = Table(title=f"{run.robot.name}: {run.duration:g} s, {len(run.t)} rows")
    for column in ("error of the base", "RMS", "largest", "at the end"):
        table.add_column(column)
    errors = {
        "position, m": replayed.position_error,
        "velocity, m/s": replayed.velocity_error,
        "tilt, °": np.degrees(replayed.tilt_error),
    }
    for name, error in errors.items():
        table.add_row(name, *(f"{x:.3g}" for x in (np.sqrt(np.mean(error**2)), error.max(), error[-1])))
    console.print(table)
    result = replace(run, estimates={"q": replayed.q, "v": replayed.v})
    if out is not None:
        path = written_somewhere(out, result.save)
        console.print(f"{path}", highlight=False, soft_wrap=True)
    return result
