"""The shipped study: does a scenario still succeed when the ground, the robot and the world are not as its controller
thinks?

table = eq.study(demo_run, robustness_draws(200), folder="robustness")
success_figure(table).savefig("robustness.svg")
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .parameters import Draws, Integers, Row, StudyError, Uniform

if TYPE_CHECKING:
    from ..robot import Robot
    from ..simulate.run import Run
    from ..simulate.scenario_build import Built

SCENARIO = "table_reach"  # the demo
PUSH_SECONDS = 0.2
OF_THE_LOOP = ("dt", "delay", "fall")  # options of a scenario that are not the plant's


def robustness_draws(count: int = 200, *, seed: int = 0, **others: Any) -> Draws:
    """Draws for `demo_run`: friction of the ground, mass of the torso, a push in any direction at any time, sensor
    noise.

    Args:
        others: further parameters, or other distributions for these.
    """
    usual: dict[str, Any] = {
        "friction": Uniform(0.3, 1.0),
        "mass": Uniform(0.8, 1.2),
        "push_x": Uniform(-100.0, 100.0),
        "push_y": Uniform(-100.0, 100.0),
        "push_time": Uniform(0.1, 0.8),
        "seed": Integers(0, 2**31),
    }
    return Draws(count, usual | others, seed=seed)


def demo_run(
    friction: float,
    mass: float,
    push_x: float,
    push_y: float,
    push_time: float = 0.4,
    seed: int = 0,
    scenario: str = SCENARIO,
    duration: float = 0.0,
) -> Row:
    """One run of a scenario in a world that its controller does not know.

    Args:
        friction: of the ground, true; the controller believes in that of its contacts.
        mass: of the torso's link, true, as a factor of what the controller believes.
        push_x, push_y: N, on the torso for 0.2 s.
        push_time: when it begins, as a part of the duration.
        seed: of the sensor noise.
        scenario: a shipped scenario, or a file.
        duration: s; the scenario's own if 0.

    Returns:
        outcome: "completed", "missed" (stands, but not where it should), "fell" or "failed". success: whether
            completed.
        reason: what was first found wanting. time: how far it came, s. largest_torque: as a part of the limit.
        shares of the steps in which the controller had to relax something or hold.
    """
    from ..simulate.goals import judged

    built = _prepared(scenario)
    run = run_with(built, friction, mass, (push_x, push_y, 0.0), push_time, seed, duration or built.duration)
    verdict = judged(run, built)
    outcome = run.outcome if run.outcome != "completed" or verdict.reached else "missed"
    return {
        "outcome": outcome,
        "success": outcome == "completed",
        "reason": next(iter(verdict.reasons), "")[:200],
        "time": float(run.t[-1]),
        "largest_torque": _largest_torque(run),
        "relaxed": _share(run, "relaxed"),
        "held": _share(run, "held"),
    }


@functools.lru_cache(maxsize=2)
def _prepared(scenario: str) -> Built:
    """Once in each worker: the controller is compiled here."""
    from ..simulate.scenarios import prepare

    return prepare(scenario)


def run_with(
    built: Built,
    friction: float,
    mass: float,
    force: tuple[float, float, float],
    start: float,
    seed: int,
    duration: float,
) -> Run:
    """The scenario with the controller's robot in command and another one in the plant."""
    from ..simulate.conditions import Push
    from ..simulate.loop import simulate
    from ..simulate.plant import make_plant

    options: Mapping[str, Any] = built.options
    contacts = getattr(built.controller, "contacts", ())
    of_plant = {k: x for k, x in options.items() if k not in (*OF_THE_LOOP, "plant", "pushes", "friction")}
    of_plant["obstacles"] = [item[0] if isinstance(item, tuple) else item for item in options.get("obstacles", ())]
    true_robot = with_mass(built.robot, "torso", mass)
    plant = make_plant(
        options["plant"], true_robot, contacts() if callable(contacts) else contacts, friction=friction, **of_plant
    )
    push = Push("torso", force, start * duration, PUSH_SECONDS)
    noise = built.scenario.disturbance.noise
    return simulate(
        built.robot, built.controller, plant, duration, q0=built.start, seed=seed, noise=dict(noise) if noise else None,
        pushes=[*options.get("pushes", ()), push], shown=options.get("obstacles", ()),
        **{name: options[name] for name in OF_THE_LOOP if name in options},
    )  # fmt: skip


def with_mass(robot: Robot, frame: str, factor: float) -> Robot:
    """The robot with the link that carries a frame made heavier or lighter throughout, its centre of mass kept."""
    from ..robot import Robot

    model = robot.model
    name = frame if frame in model.links else robot.frames[frame].parent
    link = model.links.get(name or "")
    if link is None or link.inertia is None:
        raise StudyError(f"{frame!r} of {robot.name!r} is on no link with a mass")
    inertia = replace(link.inertia, mass=factor * link.inertia.mass, matrix=factor * link.inertia.matrix)
    return Robot.from_model(replace(model, links={**model.links, link.name: replace(link, inertia=inertia)}))


def _largest_torque(run: Run) -> float:
    limit = np.asarray(run.robot.limits.effort)
    bounded = np.isfinite(limit) & (limit > 0)
    return float((np.abs(run.torque[:, bounded]) / limit[bounded]).max(initial=0.0))


def _share(run: Run, word: str) -> float:
    return float(np.mean([str(status).startswith(word) for status in run.statuses])) if len(run.t) else 0.0
