"""Running scenarios: by name or file, with a seed, on their own robot or another.

run = run_scenario("stand_and_squat", seed=3)
run.outcome                 # "completed", "fell", "failed" or "missed": stands, but not where it should
verdict(run).reasons        # what was not as wanted
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from .conditions import Push
from .estimated import driven, estimated_options
from .goals import Verdict, judged
from .loop import simulate
from .scenario import FOLDER, load_scenario
from .scenario_build import Built, build

if TYPE_CHECKING:
    from .run import Run

__all__ = ["Shipped", "prepare", "run_built", "run_scenario", "shipped", "verdict"]


@dataclass(frozen=True)
class Shipped:
    """A scenario that comes with the package."""

    name: str
    title: str
    robot: str
    plant: str


def shipped() -> list[Shipped]:
    """All scenarios of the package."""
    found = []
    for path in sorted(FOLDER.glob("*.toml")):
        scenario = load_scenario(path)
        found.append(Shipped(path.stem, scenario.title, scenario.robot, scenario.plant.kind))
    return found


def prepare(name: str | Path, *, robot: str | None = None, overrides: Mapping[str, Any] | None = None) -> Built:
    """Read a scenario and make its robot and controller; kernels are compiled here."""
    return build(load_scenario(name, overrides), robot)


def run_scenario(
    name: str | Path,
    *,
    seed: int = 0,
    robot: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    progress: bool = True,
    estimated: bool = False,
) -> Run:
    """Run a scenario.

    Args:
        name: of a shipped scenario, or path of a TOML file.
        seed: of sensor noise and small pushes, as the file's [disturbance] says.
        robot: another one than the file's: "human", "jvrc1", "talos", "g1".
        overrides: values by dotted keys, such as {"duration": 2.0, "plant.friction": 0.5}; None takes a key out.
        progress: show a bar on the terminal.
        estimated: whether the controller sees estimates only, through realistic sensors and motors, instead of the true
            state with the file's noise.
    """
    return run_built(prepare(name, robot=robot, overrides=overrides), seed=seed, progress=progress, estimated=estimated)


def run_built(built: Built, *, seed: int = 0, progress: bool = False, estimated: bool = False) -> Run:
    """Run a scenario that is made already; once for each seed."""
    options = dict(built.options)
    options["pushes"] = [*options["pushes"], *_random_pushes(built, seed)]
    options["noise"] = dict(built.scenario.disturbance.noise or {}) or None
    controller = built.controller
    if estimated:
        options, controller = options | estimated_options(built), driven(built.robot, built.controller)
    begin = perf_counter()
    run = simulate(
        built.robot, controller, duration=built.duration, q0=built.start, seed=seed, progress=progress, **options
    )  # fmt: skip
    seconds = perf_counter() - begin
    result = judged(run, built, options.get("actuators"))
    outcome = run.outcome if run.outcome != "completed" or result.reached else "missed"
    kept = {
        "name": built.scenario.name,
        "title": built.scenario.title,
        "robot": built.robot.name,
        "plant": built.options["plant"],
        "toml": built.scenario.place.source.text,
        "seconds": seconds,
        "estimated": estimated,
        "verdict": result.as_plain(),
    }
    return replace(run, outcome=outcome, scenario=kept)


def verdict(run: Run) -> Verdict:
    """The verdict that a scenario's run carries."""
    return Verdict.of_plain(run.scenario["verdict"])


def _random_pushes(built: Built, seed: int) -> list[Push]:
    """Level pushes of random direction, size and time; all from the seed."""
    asked = built.scenario.disturbance.push
    if asked is None:
        return []
    rng = np.random.default_rng([seed, 1])  # the sensors draw from the seed itself
    pushes = []
    for _ in range(asked.count):
        angle, size = rng.uniform(0, 2 * np.pi), rng.uniform(0.3, 1.0) * asked.force * built.force_scale
        start = rng.uniform(0.1, 0.9) * built.duration
        force = (size * np.cos(angle), size * np.sin(angle), 0.0)
        pushes.append(Push(asked.frame, force, float(start), asked.duration))
    return pushes
