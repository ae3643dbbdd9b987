"""Recorded prints: what the commands say of a run, and of the parts of a robot."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import records
import samples
from rich.console import Console

import equipoise as eq
from equipoise.show.scenario_command import figures
from equipoise.show.stand_command import print_body


def printed(call: Callable[[Console], None]) -> list[str]:
    console = Console(width=160, record=True, file=io.StringIO())
    call(console)
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_recorded_figures_of_a_run():
    """Forces, torques and times; the estimate is worst in the middle of the run."""
    run = samples.squat()
    away = run.q.copy()
    away[:, 0] += 0.05 * np.sin(0.8 * np.pi * run.t)
    found = {
        "exact": figures(samples.squat(scenario={"seconds": 0.4}, measured=run.forces)),
        "on estimates": figures(
            samples.squat(estimates={"q": away, "v": run.v}, cycle_time=np.linspace(0, 1e-3, len(run.t)))
        ),
    }
    records.check("show_run_figures", found)


def test_recorded_prints_of_parts():
    found = {}
    for name in ("human", "quadruped"):
        found[name] = printed(lambda c, name=name: print_body(c, eq.Body.of(eq.load(name))))
    records.check("show_parts", found)
