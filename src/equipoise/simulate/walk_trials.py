"""What a robot that walks is tried with, a plant that differs from its model, and the verdict on a command."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..algebra import quaternions
from .conditions import Noise
from .goals import Check, Verdict
from .mujoco_plant import MujocoPlant
from .run import Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..control.contacts import Contact
    from ..robot import Robot
    from ..walking.walking import Walking

Array = np.ndarray
NOISE = Noise(
    position=2e-4, velocity=5e-3, base_position=2e-4, base_orientation=2e-4, base_linear=2e-3, base_angular=5e-3
)  # as in the shipped scenarios
DELAY = 2  # steps of 1 ms
FRICTION = 0.5, 1.0
MASSES = 0.05
SETTLING = 1.5  # s after a command, which its mean velocity leaves out
FORWARD, TURN = 0.15, 0.5  # of √(g h), rad/s
EXACT = 0.15  # part of a velocity that may be missing
STRAIGHT = 0.05  # part of its path by which a straight walk may leave its line
AHEAD = np.array([1.0, 0.0, 0.0])  # the base's own x axis
NAMES = ("forward", "m/s"), ("left", "m/s"), ("turn", "rad/s")


class Touches(Protocol):
    """A controller that knows its robot, and where it touches the world."""

    @property
    def robot(self) -> Robot: ...

    @property
    def contacts(self) -> Sequence[Contact]: ...


@dataclass(frozen=True)
class Leg:
    """A part of a course: a command for some time, and the mean velocity that came of it.

    Attributes:
        asked, came: m/s forward and to the left, rad/s.
        drift: the same, at most, of what is not asked for.
        stood: whether it stood at some time.
        line: part of the path by which it left its line, where it was to go straight.
    """

    start: float
    end: float
    asked: tuple[float, float, float]
    came: tuple[float, float, float]
    drift: tuple[float, float, float] = (np.inf, np.inf, np.inf)
    stood: bool = False
    line: float = 0.0

    @property
    def good(self) -> bool:
        """Within 15 % of what was asked for, and within `drift` of what was not; where nothing was, whether it
        stood."""
        return not self.complaints

    @property
    def complaints(self) -> tuple[str, ...]:
        """What was not done as commanded, in words."""
        return Verdict(self.checks).reasons

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each part of the command, with what was measured."""
        if not any(self.asked):
            return (Check("stands still", self.stood, "yes" if self.stood else "no", "yes"),)
        made = []
        for (name, unit), a, c, most in zip(NAMES, self.asked, self.came, self.drift, strict=True):
            allowed = f"{EXACT:.0%}" if a else f"{most:.3g} {unit}"
            good = abs(c - a) <= (EXACT * abs(a) if a else most)
            made.append(Check(name, bool(good), f"{c:.3g} {unit}", f"{a:.3g} {unit} within {allowed}"))
        straight = self.line <= STRAIGHT
        made.append(Check("line", straight, f"{self.line:.0%} of its path aside", f"at most {STRAIGHT:.0%}"))
        return tuple(made)


def varied_plant(walker: Touches, seed: int, dt: float = 1e-3, **options: Any) -> MujocoPlant:
    """The walker's robot in MuJoCo with friction and link masses drawn from a seed."""
    rng = np.random.default_rng(seed + 10_000)
    friction = float(rng.uniform(*FRICTION))
    plant = MujocoPlant(walker.robot, walker.contacts, friction=friction, **options)
    plant.prepare(dt)
    factors = rng.uniform(1 - MASSES, 1 + MASSES, plant.model.nbody)
    plant.model.body_mass[:] *= factors
    plant.model.body_inertia[:] *= factors[:, None]
    return plant


def commanded_walk(
    walker: Walking, run: Run, start: float, asked: tuple[float, float, float], *, pushed: bool = False
) -> Leg:
    """The verdict on one command from a time to the end of a run; `pushed` walks may leave their line."""
    pace = EXACT * FORWARD * walker.body.gains.speed
    end, front = float(run.t[-1]), walker.body.front
    leg = replace(walked_leg(run, start, end, asked, front), drift=(pace, pace, EXACT * TURN))
    if pushed or asked[2] or not any(asked):
        return leg
    return replace(leg, line=lateral_drift(run, *whole_strides(run, start + SETTLING, end), asked, front))


def walked_leg(run: Run, start: float, end: float, asked: tuple[float, float, float], front: Array = AHEAD) -> Leg:
    ends = [t for t, _ in run.phases[1:]] + [np.inf]
    stood = any(
        t < end and until > start and phase == "stand" for (t, phase), until in zip(run.phases, ends, strict=False)
    )
    return Leg(start, end, asked, mean_velocity(run, *whole_strides(run, start + SETTLING, end), front), stood=stood)


def whole_strides(run: Run, start: float, end: float) -> tuple[float, float]:
    """The part of a time that whole strides take, from a lift of a foot to a later one of the same: a walk aside goes
    by every second step. All of it where there is no stride."""
    swings = [(t, phase) for t, phase in run.phases if start <= t <= end and phase.endswith(" swings")]
    same = [t for t, phase in swings if phase == swings[0][1]]
    return (same[0], same[-1]) if len(same) > 1 else (start, end)


def mean_velocity(run: Run, start: float, end: float, front: Array = AHEAD) -> tuple[float, float, float]:
    """Forward and left (m/s) along the robot's front, and yaw rate (rad/s), on average between two times.

    Args:
        front: (3,) where the robot looks, in the base's axes; `Body.front`.
    """
    at = (run.t >= start) & (run.t < end)
    x, y = headings(run, front)[at].T
    vx, vy = run.v[at, 0], run.v[at, 1]
    return float((x * vx + y * vy).mean()), float((x * vy - y * vx).mean()), float(run.v[at, 5].mean())


def headings(run: Run, front: Array = AHEAD) -> Array:
    """(N, 2) unit vectors: the robot's front seen from above."""
    ahead = (quaternions.rotation(list(run.q[:, 3:7].T)) @ np.asarray(front))[:, :2]
    return ahead / np.linalg.norm(ahead, axis=1)[:, None]


def lateral_drift(run: Run, start: float, end: float, asked: tuple[float, float, float], front: Array = AHEAD) -> float:
    """How far a straight walk leaves its line between two times, as a part of the path; the line has the direction of
    the command as the robot stood at the start of the run."""
    (hx, hy), (forward, left) = headings(run, front)[0], asked[:2]
    along = np.array([hx * forward - hy * left, hy * forward + hx * left]) / np.hypot(forward, left)
    rows = np.flatnonzero((run.t >= start) & (run.t < end))
    x, y = run.q[rows[-1], :2] - run.q[rows[0], :2]
    return abs(float(along[0] * y - along[1] * x)) / (float(np.hypot(x, y)) or 1.0)
