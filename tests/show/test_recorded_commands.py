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
from equipoise.show.walk_command import _print as print_walk
from equipoise.simulate.walk_trials import Leg
from equipoise.walking.gait import Command


def printed(call: Callable[[Console], None]) -> list[str]:
    console = Console(width=160, record=True, file=io.StringIO())
    call(console)
    return [line.rstrip() for line in console.export_text().splitlines()]


def believed() -> eq.Run:
    """The squat, whose estimates leave the truth in the course of time."""
    run = samples.squat()
    q = run.q + 0.0
    q[:, :3] += np.linspace(0.0, 1.0, len(run.t))[:, None] ** 2 * [0.03, -0.02, 0.06]
    return samples.squat(estimates={"q": q, "v": run.v})


def test_recorded_prints_of_a_walk():
    wanted = Command(0.3, -0.1, 0.2)
    legs = {
        "good": Leg(0.5, 1.0, wanted.speeds, (0.31, -0.11, 0.19)),
        "bad": Leg(0.5, 1.0, wanted.speeds, (0.2, 0.0, 0.5), line=0.2),
        "none": None,
    }
    found = {}
    for name, run in (("exact", samples.squat()), ("on estimates", believed())):
        for kind, leg in legs.items():
            found[f"{name}, {kind}"] = printed(lambda c, run=run, leg=leg: print_walk(c, run, wanted, leg, 0.25))
    records.check("show_walks", found)


def test_the_end_of_a_walk_is_as_far_off_as_the_last_estimate():
    (line,) = (x for x in printed(lambda c: print_walk(c, believed(), Command(), None, 1.0)) if "believed" in x)
    assert line == "the base ends 70 mm from where it is believed to be"


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
