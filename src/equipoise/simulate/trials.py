"""What a robot that stands should be able to do: stand, squat, reach with each hand, take pushes from four sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ..control.standing import COM
from ..model.skeleton import Skeleton
from .conditions import Push
from .loop import simulate
from .run import Run

if TYPE_CHECKING:
    from ..control.standing import StandingController

SQUAT = 0.08  # of the leg's length
REACH, NEAR = 0.3, 0.02  # m, and how near the hand must come; short arms reach half their length
IMPULSE = 0.05  # of m √(g h)
PUSHED = 0.1  # s
SIDES = {"front": (1.0, 0.0), "behind": (-1.0, 0.0), "left": (0.0, 1.0), "right": (0.0, -1.0)}
DRIFT = 0.02  # m: how far the centre of mass may be from where it should be in the end
EXACT = 0.15  # part of a squat that may be missing


@dataclass(frozen=True, eq=False)
class Trial:
    """One thing tried."""

    name: str
    wanted: str
    came: str
    good: bool
    run: Run


def trials(standing: StandingController) -> Iterator[Trial]:
    """All that is tried, one run in MuJoCo each, from the standing posture."""
    yield _still(standing)
    yield _squat(standing)
    for hand in standing.body.hands:
        yield _reach(standing, hand)
    for side, direction in SIDES.items():
        yield push(standing, side, direction)


def reach_of(standing: StandingController, hand: str) -> float:
    """m: how far a hand is asked to go: 30 cm, or half the arm if that is less."""
    robot, body = standing.robot, standing.body
    skeleton = Skeleton(robot)
    motion = skeleton.at(standing.q0)
    chain = [k for k in range(skeleton.count) if skeleton.joint(k) in body.hands[hand].joints]
    places = [*motion.p[chain], robot.pose(standing.q0, body.frames[hand])[:3, 3]]
    return min(REACH, sum(float(np.linalg.norm(b - a)) for a, b in pairwise(places)) / 2)


def _still(standing: StandingController) -> Trial:
    run = _run(standing, 5.0)
    off = _off(standing, run)
    return Trial("stands 5 s", f"centre of mass within {DRIFT * 1e3:.0f} mm", _summary(run, off), _ok(run, off), run)


def _squat(standing: StandingController) -> Trial:
    depth = SQUAT * standing.body.leg_length
    standing.reset()
    standing.squat(depth, at=0.2, seconds=1.0)
    run = _run(standing, 2.5)
    done = float(standing.robot.com(run.q[0])[2] - standing.robot.com(run.q[-1])[2])
    good = run.outcome == "completed" and abs(done - depth) <= EXACT * depth
    came = f"{done * 1e3:.0f} mm" if run.outcome == "completed" else run.outcome
    return Trial(f"squats {SQUAT:.0%} of its legs", f"{depth * 1e3:.0f} mm", came, good, run)


def _reach(standing: StandingController, hand: str) -> Trial:
    far = reach_of(standing, hand)
    by = far * np.array([0.85, 0.0, 0.52])
    standing.reset()
    standing.reach(hand, by=by, at=0.2, seconds=1.5)
    run = _run(standing, 3.0)
    frame = standing.body.frames[hand]
    target = standing.robot.pose(standing.q0, frame)[:3, 3] + by
    off = float(np.linalg.norm(standing.robot.pose(run.q[-1], frame)[:3, 3] - target))
    return Trial(
        f"{hand} reaches {far * 1e2:.0f} cm", f"within {NEAR * 1e3:.0f} mm", _summary(run, off), _ok(run, off), run
    )


def push(standing: StandingController, side: str, direction: tuple[float, float]) -> Trial:
    """Pushes a robot that stands at its torso from one side."""
    body, mass = standing.body, standing.robot.mass
    impulse = IMPULSE * mass * body.gains.speed
    force = -impulse / PUSHED * np.array([*direction, 0.0])
    standing.reset()
    run = _run(standing, 3.5, [Push(body.frames["torso"], force, 0.5, PUSHED)])
    off = _off(standing, run)
    return Trial(
        f"pushed from {side}",
        f"{impulse:.1f} N s, back within {DRIFT * 1e3:.0f} mm",
        _summary(run, off),
        _ok(run, off),
        run,
    )


def _run(standing: StandingController, duration: float, pushes: list[Push] | None = None) -> Run:
    if not pushes and not standing.waiting:
        standing.reset()
    return simulate(standing.robot, standing, q0=standing.q0, duration=duration, dt=standing.dt, pushes=pushes or [])


def _off(standing: StandingController, run: Run) -> float:
    """m, of the centre of mass from where the references say, in the end."""
    return float(np.linalg.norm(standing.robot.com(run.q[-1]) - standing.reference(COM, float(run.t[-1]))))


def _ok(run: Run, off: float) -> bool:
    return run.outcome == "completed" and off <= DRIFT


def _summary(run: Run, off: float) -> str:
    return f"{off * 1e3:.0f} mm" if run.outcome == "completed" else f"{run.outcome} after {run.duration:.1f} s"
