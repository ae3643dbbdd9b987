"""[BK12, Sec. VI]: single and double support on feet and on hands, and the transitions between them.

The paper shows HRP-2; here it is shipped scenarios (`equipoise run --list`), in MuJoCo, torques at 1 kHz, with noise of
the sensors and small pushes. A sequence of static postures is walked by a finite-state machine, as there, and each step
of control is the paper's own program: Eq. (37), with a unit quaternion for the base.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .bk12_crawl import FEET, HANDS, TOES, bearing, crawl_figures, crawl_picture, largest_torque
from .bk12_hands import exact_hands, on_hands
from .bk12_recorded import Recorded, off_command
from .perturbation import measured, start
from .pictures import draw, sheet
from .rows import Figure, exactly, small

if TYPE_CHECKING:
    from ..simulate.run import Run

Array = np.ndarray
CHART = "UnitQuaternion"  # of the paper's examples
STEPS = [2, 1] * 4 + [2]  # four steps, each from rest to rest
MOTIONS = {
    "walk": ("feet", STEPS),
    "stairs": ("a stair", STEPS),
    "handstand": ("hands", [2, 1, 2]),
    "one_hand": ("one hand", [2, 1]),
}
OFF = {"walk": 1.0, "stairs": 1.0, "handstand": 1.0, "one_hand": 1.0}  # m/s²
WANTED = ("no fall", "all stances", "torques within limits", "every step solved")
MILLISECONDS = 7.0  # of a step of the paper's controller, on its processor
SEEN_FROM_THE_FRONT = ((0, 1, 0), (0, 0, 1))


@cache
def moved(name: str) -> tuple[Recorded, Run]:
    """A shipped scenario by Eq. (37), run once, and what it commanded."""
    from ..simulate.scenarios import prepare, run_built

    built = prepare(name, overrides={"control.chart": CHART})
    control = Recorded(built.controller)
    q0, _ = start(built.robot, built.start, np.zeros(built.robot.nv))
    return control, run_built(replace(built, controller=measured(control), start=q0))


def lasting(state: Array, t: Array) -> list[int]:
    """Integers from one change to the next; what lasts less than 0.2 s is left out."""
    starts = [0, *(np.flatnonzero(np.diff(state)) + 1), len(state)]
    found = [int(state[a]) for a, b in pairwise(starts) if t[b - 1] - t[a] > 0.2]
    return [n for k, n in enumerate(found) if k == 0 or n != found[k - 1]]


def supports(run: Run) -> list[int]:
    """How many contacts bear the robot, measured, from one change to the next."""
    return lasting(np.sum(list(bearing(run).values()), axis=0), run.t)


def motion_figures() -> Iterator[Figure]:
    """Row B6."""
    from ..simulate.scenarios import verdict

    yield from _hands_figures()
    for name, (on, wanted) in MOTIONS.items():
        control, run = moved(name)
        yield off_command(on, control, run, OFF[name])
        yield exactly(f"{on}: contacts that bear, one after the other, measured", supports(run), wanted)
        yield balance(on, run)
        checks = verdict(run).checks
        for check in checks:
            if check.name in WANTED:
                yield Figure(f"{on}: {check.name}", check.wanted, check.came, check.good)
        goals = [check for check in checks if check.name not in WANTED]
        yield exactly(
            f"{on}: other goals of the scenario that are missed", [check.name for check in goals if not check.good], []
        )
        yield step_time(on, run)
    yield from crawl_figures()


def _hands_figures() -> Iterator[Figure]:
    """Feet are soles and toes."""
    from ..simulate.goals import SOLVED

    on = "feet to hands"
    yield off_command(f"{on}, without noise", *exact_hands(), 0.007)
    machine, run = on_hands()
    bears = bearing(run)
    feet, hands = (np.any([bears[name] for name in names], axis=0) for names in ((*FEET, *TOES), HANDS))
    yield exactly(f"{on}: how the motion ended", machine.outcome.name, "COMPLETED")
    words = [("nothing", "feet", "hands", "both")[k] for k in lasting(feet + 2 * hands, run.t)]
    yield exactly(f"{on}: what bears, measured", words, ["feet", "both", "hands", "both", "feet"])
    yield exactly(f"{on}: steps that were not solved", int(np.sum(~np.isin(run.statuses, SOLVED))), 0)
    yield balance(on, run)
    yield largest_torque(on, run)
    yield step_time(on, run)


def step_time(on: str, run: Run) -> Figure:
    mean, late = 1e3 * float(np.mean(run.cycle_time)), 1e3 * float(np.percentile(run.cycle_time, 99))
    words = f"{on}: ms for a step of Eq. (37), mean; 99 % below"
    return Figure(words, f"< {MILLISECONDS:.0f}", f"{mean:.2f}; {late:.2f}", mean < MILLISECONDS, f"{MILLISECONDS:.0f}")


def balance(on: str, run: Run) -> Figure:
    """From rest to rest the measured forces of the contacts bear the weight on average, but for the small pushes."""
    weight = run.robot.mass * np.asarray(run.robot.model.gravity)
    forces = np.sum([np.nan_to_num(force[:-1, :3]) for force in run.measured.values()], axis=0)
    error = np.linalg.norm(forces.mean(axis=0) + weight) / np.linalg.norm(weight)
    return small(f"{on}: mean of the measured forces less the weight, by the weight", float(error), 0.005)


def pictures() -> Iterator[tuple[str, Any]]:
    """Postures on the way, seen from the front: the robot's left is to the right."""
    runs = [(on, moved(name)[1]) for name, (on, _) in MOTIONS.items()]
    for on, run in [*runs, ("feet to hands", on_hands()[1])]:
        times = np.linspace(run.t[0], run.t[-1], 6)
        picture, axes = sheet(f"[BK12, Sec. VI] on {on}", [f"{t:.1f} s" for t in times], columns=6, size=(1.9, 3.4))
        for one, t in zip(axes, times, strict=True):
            q = run.q[min(int(np.searchsorted(run.t, t)), len(run.t) - 1)]
            draw(one, run.robot, q, color="#2b6cb0", view=SEEN_FROM_THE_FRONT)
        yield f"sec-6-on-{on.replace(' ', '-')}", picture
    yield "sec-1-on-knees-and-forearms", crawl_picture()
