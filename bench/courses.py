"""Walking courses that others made for JVRC-1: footsteps, way points, velocities and stairs from their own files, with
their verdict; and their sample field (`field`).

The files (BaselineWalkingController of AIST) are read where they are; nothing of them is copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import radians
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.control.stances.events import Outcome
from equipoise.simulate.loop import simulate
from equipoise.simulate.run import Run
from equipoise.simulate.walk_trials import DELAY, NOISE, varied_plant
from equipoise.simulate.world import Box
from equipoise.walking.footsteps import Footstep, beside
from equipoise.walking.gait import Place
from equipoise.walking.walking import Walking

from .field import WANTED, field_walk, yaml_of

FILES = {
    "plane": ("WalkingOnPlane.yaml", (1.34, -0.41, 0.80)),
    "waypoints": ("WalkingOnPlaneWaypoint.yaml", (0.82, 0.57, 0.80)),
    "velocity": ("WalkingOnPlaneVel.yaml", (0.74, -0.53, 0.80)),
    "stairs": ("WalkingOnStairs.yaml", (1.75, 0.0, 1.68)),
}  # and where the base must end, m
NEAR, TILT = 0.5, radians(30.0)  # m in each direction, and rad at any time
STEP, REST = 0.65, 3.0  # s for each footstep, and to stand in the end
START = 1.0  # s, of a walk at a velocity, in which their controller still stands before its first footstep
CLIMB = 2.7  # s for each footstep to another height
HOPS, SHORT, TOUCHES = 0.2, 0.05, 1.0  # s: of a hop, and of what is none; N
TREAD, DEEP, WIDE = 0.24, 3.0, 3.0  # m: of the stairs' treads; of the boxes that they are made of


@dataclass(frozen=True)
class CourseVerdict:
    """How a course ended."""

    course: str
    seed: int
    outcome: str
    end: tuple[float, float, float]  # of the base, m
    tilt: float  # rad, largest
    good: bool
    air: tuple[float, ...] = ()  # s, of each hop


def run(folder: str | Path, seeds: int = 1, robot: str = "jvrc1") -> Iterator[CourseVerdict]:
    """All courses, with seeds from 0 on."""
    from equipoise.robot import load

    walker = Walking(load(robot))
    for name, (file, wanted) in FILES.items():
        config = yaml_of(Path(folder) / file)["states"]["BWC::ConfigWalk_"]["configs"]
        for seed in range(seeds):
            seconds = _ask(walker, config)
            plant = varied_plant(walker, seed, obstacles=stairs(walker.machine.state.queue))
            walked = simulate(walker.robot, walker, plant, seconds, q0=walker.q0, seed=seed, noise=NOISE, delay=DELAY)
            yield _verdict(name, seed, walked, wanted)
    yield from run_field(folder, seeds, robot)


def run_field(folder: str | Path, seeds: int = 1, robot: str = "jvrc1") -> Iterator[CourseVerdict]:
    """The sample field, with seeds from 0 on; all contacts in their order, and hops of `HOPS` s or longer."""
    walk, soles, solids = field_walk(Path(folder), robot)
    hops = sum(stance.hops for stance in walk.plan)
    for seed in range(seeds):
        walk.reset()
        plant = varied_plant(soles, seed, obstacles=solids)
        walked = simulate(walk.robot, walk, plant, walk.seconds, q0=walk.q0, seed=seed, noise=NOISE, delay=DELAY)
        verdict = _verdict("sample field", seed, walked, WANTED)
        air = airborne(walked)
        done = walk.outcome is Outcome.COMPLETED and len(air) == hops and min(air) >= HOPS
        yield replace(verdict, good=verdict.good and done, air=air)


def _verdict(name: str, seed: int, walked: Run, wanted: tuple[float, float, float]) -> CourseVerdict:
    """Theirs: where the base ends, and how far it ever tilted."""
    x, y = walked.q[:, 4], walked.q[:, 5]
    tilt = float(np.arccos(np.clip(1 - 2 * (x * x + y * y), -1, 1)).max())
    end = walked.q[-1, :3]
    good = walked.outcome == "completed" and tilt <= TILT and bool((np.abs(end - wanted) <= NEAR).all())
    return CourseVerdict(name, seed, walked.outcome, (float(end[0]), float(end[1]), float(end[2])), tilt, good)


def airborne(walked: Run) -> tuple[float, ...]:
    """s: how long nothing touched, each time that it was longer than `SHORT`."""
    force = sum(np.linalg.norm(np.nan_to_num(wrench[:, :3]), axis=1) for wrench in walked.measured.values())
    off = np.concatenate([[False], force < TOUCHES, [False]]).astype(int)
    edges, dt = np.flatnonzero(np.diff(off)), float(walked.t[1] - walked.t[0])
    times = ((end - start) * dt for start, end in zip(edges[::2], edges[1::2], strict=True))
    return tuple(float(time) for time in times if time > SHORT)


def _ask(walker: Walking, config: Mapping[str, Any]) -> float:
    """Give the walker what a course asks for; how long it may take, s."""
    walker.forget_commands()
    if "velocityMode" in config:
        mode = config["velocityMode"]
        walker.command(*map(float, mode["velocity"]), at=START).command(at=float(mode["duration"]))
        return float(mode["duration"]) + REST
    if "footMidpose" in config:
        points = [*config["footMidpose"]["waypointList"], config["footMidpose"]["target"]]
        walker.go_to(*((float(x), float(y), radians(float(yaw))) for x, y, yaw in points))
    else:
        walker.follow(footsteps_of(config["footstepList"], walker.gait.width))
    steps = walker.machine.state.queue
    return REST + sum(CLIMB if step.height else STEP for step in steps)


def stairs(steps: Sequence[Footstep], tread: float = TREAD) -> tuple[Box, ...]:
    """Treads under steps that were given: each begins half a tread (m) before the foot that is set on it, and goes on
    below the next."""
    made, height = list[Box](), 0.0
    for step in steps:
        if step.height is not None and step.height > height:
            height, edge = step.height, step.place.x - tread / 2
            made.append(Box((DEEP, WIDE, height), (edge + DEEP / 2, 0.0, height / 2)))
    return tuple(made)


def footsteps_of(listed: list[Mapping[str, Any]], width: float) -> list[Footstep]:
    """Feet alternate where no foot is named."""
    steps, foot = list[Footstep](), 0
    for entry in listed:
        foot = {"Left": 0, "Right": 1}[entry["foot"]] if "foot" in entry else 1 - foot
        x, y, z = (float(number) for number in entry["footMidpose"]["translation"])
        yaw = float(entry["footMidpose"].get("rotation", [0.0, 0.0, 0.0])[2])
        steps.append(Footstep(foot, beside(Place(x, y, yaw), foot, width), z))
    return steps
