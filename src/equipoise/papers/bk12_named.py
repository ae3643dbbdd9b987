"""[BK12, Sec. VI] on a robot that a user names, such as the paper's own HRP-2: four steps by Eq. (37), in MuJoCo."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..body.body import Body
from ..control.stances.machine import Stances
from ..control.stances.stance import Stance
from ..forms.charts import UnitQuaternion
from ..robot import Robot
from .bk12_crawl import FEET, NOISE
from .bk12_motions import STEPS, balance, step_time, supports
from .bk12_recorded import Recorded, off_command
from .perturbation import measured
from .rows import Figure, exactly, small

STRIDE = 0.15  # m
STRIDES = (("right foot", 1), ("left foot", 2), ("right foot", 3), ("left foot", 3))  # foot, strides from its start
PACE: dict[str, Any] = {"speed": (0.16, 0.5, 1.2), "load_time": 0.2}


def walker(robot: Robot) -> Stances:
    """Returns the machine that walks four steps, for any biped with flat feet."""
    body = Body.of(robot)
    stances = [Stance(FEET, name="standing")]
    for foot, count in STRIDES:
        X = body.robot.pose(body.standing, body.frames[foot]).copy()
        X[0, 3] += STRIDE * count
        stances.append(Stance(FEET, name=f"{foot} at {STRIDE * count:g} m", places={foot: X}, hold=0.0))
    return Stances(body.robot, stances, body, chart=UnitQuaternion, **PACE)


def named_figures(robot: Robot) -> Iterator[Figure]:
    """Of row B6: the robot walks; its torque limits are those of its description, whatever they are worth."""
    from ..simulate.loop import simulate

    machine = walker(robot)
    control, on = Recorded(machine), robot.name
    run = simulate(machine.robot, measured(control), q0=machine.q0, duration=1.05 * machine.seconds + 1.0, noise=NOISE)
    limits, used = np.asarray(machine.robot.limits.effort)[6:], np.abs(run.torque[:, 6:])
    yield exactly(f"{on}: how the motion ended", machine.outcome.name, "COMPLETED")
    yield exactly(f"{on}: feet that bear, one after the other, measured [Sec. VI]", supports(run), STEPS)
    for foot in FEET:
        frame = Body.of(robot).frames[foot]
        went = machine.robot.pose(run.q[-1], frame)[:2, 3] - machine.robot.pose(run.q[0], frame)[:2, 3]
        yield small(f"{on}: {foot} off its {3 * STRIDE:g} m, m", float(np.linalg.norm(went - [3 * STRIDE, 0.0])), 0.02)
    yield balance(on, run)
    yield off_command(on, control, run, 1.0)
    worst = int(np.argmax(used.max(axis=0) / limits))
    words = f"{on}: largest torque by the limits of its description, which are an assumption"
    joint = next(name for name, one in machine.robot.joints.items() if one.v.start == worst + 6)
    share = float(used[:, worst].max() / limits[worst])
    came = f"{share:.2f}: {used[:, worst].max():.0f} of {limits[worst]:g} N m, {joint}"
    yield Figure(words, "≤ 1", came, bool(np.isfinite(run.torque).all() and share <= 1 + 1e-9))
    yield replace(step_time(on, run), paper="7 (HRP-2, Pentium IV)")
