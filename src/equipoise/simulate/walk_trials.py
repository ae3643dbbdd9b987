"""What a robot that walks is tried with: changing commands on a plant that differs from its model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..algebra import quaternions
from .conditions import Noise, Push
from .estimated import driven, on_estimates
from .loop import simulate
from .mujoco_plant import MujocoPlant
from .run import Run
from .self_contact import SelfContact, SelfContacts

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
PUSHED = 0.1  # s
FRICTION = 0.5, 1.0
MASSES = 0.05
SETTLING = 1.5  # s after a command, which its mean velocity leaves out
FORWARD, ASIDE, TURN = 0.15, 0.05, 0.5  # of √(g h), of √(g h), rad/s
EXACT = 0.15  # part of a velocity that may be missing
STRAIGHT = 0.05  # part of its path by which a straight walk may leave its line
AHEAD = np.array([1.0, 0.0, 0.0])  # the base's own x axis
NAMES = ("forward", "m/s"), ("left", "m/s"), ("turn", "rad/s")
LOOKS = 10  # steps from one posture that is looked at for contacts of the robot with itself to the next


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
        if not any(self.asked):
            return () if self.stood else ("it did not stand still",)
        said = []
        for (name, unit), a, c, most in zip(NAMES, self.asked, self.came, self.drift, strict=True):
            if not abs(c - a) <= (EXACT * abs(a) if a else most):
                allowed = f"{EXACT:.0%}" if a else f"{most:.3g} {unit}"
                said.append(f"{name}: commanded {a:.3g} {unit}, measured {c:.3g}: off by more than {allowed}")
        if not self.line <= STRAIGHT:
            said.append(f"it drifts off its line by {self.line:.0%} of its path, more than {STRAIGHT:.0%}")
        return tuple(said)


@dataclass(frozen=True, eq=False)
class WalkTrial:
    """One course walked.

    Attributes:
        effort: largest torque commanded, as a part of its limit.
        excess: rad or m, largest excess over a joint's position limit; negative: never reached.
        touch: the deepest contact of the robot with itself; None where there was none, or it was not looked for.
    """

    seed: int
    legs: tuple[Leg, ...]
    run: Run
    effort: float
    excess: float
    touch: SelfContact | None = None

    @property
    def good(self) -> bool:
        return (
            self.run.outcome == "completed"
            and all(leg.good for leg in self.legs)
            and self.effort <= 1 + 1e-6
            and self.excess <= 0
            and self.touch is None
        )


def course(walker: Walking) -> list[tuple[float, tuple[float, float, float]]]:
    """30 s of changing commands: (start, command)."""
    speed = walker.body.gains.speed
    ahead, aside = FORWARD * speed, ASIDE * speed
    return [
        (0.5, (ahead, 0.0, 0.0)), (6.0, (0.0, aside, 0.0)), (12.0, (0.0, 0.0, TURN)), (16.5, (0.0, 0.0, 0.0)),
        (19.0, (ahead, 0.0, -TURN / 2)), (24.0, (0.0, -aside, 0.0)), (30.0, (0.0, 0.0, 0.0)),
    ]  # fmt: skip


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


def walk_course(walker: Walking, seed: int, duration: float = 30.0, pushes: tuple[Push, ...] = ()) -> WalkTrial:
    """Walk the course on a plant drawn from a seed, with noise and delay."""
    walker.forget_commands()
    parts, pace = course(walker), FORWARD * walker.body.gains.speed
    for start, command in parts:
        walker.command(*command, at=start)
    plant = varied_plant(walker, seed)
    run = simulate(
        walker.robot, walker, plant, duration, q0=walker.q0, seed=seed, noise=NOISE, delay=DELAY, pushes=pushes
    )  # fmt: skip
    ends = [start for start, _ in parts[1:]]
    legs = [
        replace(_leg(run, start, end, asked, walker.body.front), drift=(EXACT * pace, EXACT * pace, EXACT * TURN))
        for (start, asked), end in zip(parts, ends, strict=False)
        if run.t[-1] >= end - 0.1
    ]
    touch = SelfContacts(walker.robot, walker.q0).deepest(run.q[::LOOKS])
    return WalkTrial(seed, tuple(legs), run, _effort(run), _excess(run), touch)


def pushed_trot(walker: Walking, seed: int, speed: float = 0.5, push: float = 0.2, duration: float = 10.0) -> WalkTrial:
    """Walk straight at a speed (m/s) and be pushed at the trunk every two seconds, from sides and at times drawn from
    the seed.

    Args:
        push: impulse of each push, of m √(g h), within 0.1 s. The last two seconds are without.
    """
    walker.forget_commands()
    walker.command(speed, at=0.3)
    rng = np.random.default_rng(seed)
    force = push * walker.robot.mass * walker.body.gains.speed / PUSHED
    pushes = []
    for start in np.arange(2.0, duration - 2.0, 2.0):
        side, late = rng.uniform(0, 2 * np.pi), rng.uniform(0, 0.5)
        along = (force * np.cos(side), force * np.sin(side), 0.0)
        pushes.append(Push(walker.body.frames["torso"], along, float(start) + late, PUSHED))
    run = simulate(
        walker.robot, walker, varied_plant(walker, seed), duration, q0=walker.q0, seed=seed, noise=NOISE, delay=DELAY,
        pushes=pushes,
    )  # fmt: skip
    leg = _leg(run, 0.3, float(run.t[-1]), (speed, 0.0, 0.0), walker.body.front)
    return WalkTrial(seed, (leg,), run, _effort(run), _excess(run))


def estimated_walk(
    walker: Walking, seed: int, metres: float = 5.0, forces: bool = False
) -> tuple[Run, tuple[str, ...]]:
    """Walks straight on a plant drawn from a seed, on estimates only.

    Args:
        forces: whether the soles measure their forces; else touch is known by the torques of the joints.

    Returns:
        The run, and what was not done as commanded, in words: that it ended early, or its velocity. Its line is not
        judged: no sensor knows the heading.
    """
    walker.forget_commands()
    speed = FORWARD * walker.body.gains.speed
    walker.command(speed, at=0.5)
    run = simulate(
        walker.robot,
        driven(walker.robot, walker),
        varied_plant(walker, seed),
        metres / speed + 2.0,
        q0=walker.q0,
        seed=seed,
        delay=DELAY,
        **on_estimates(walker.robot, walker.contacts, forces=forces),
    )
    if run.outcome != "completed":
        return run, (run.outcome,)
    return run, commanded_walk(walker, run, 0.5, (speed, 0.0, 0.0), pushed=True).complaints


def commanded_walk(
    walker: Walking, run: Run, start: float, asked: tuple[float, float, float], *, pushed: bool = False
) -> Leg:
    """The verdict on one command from a time to the end of a run; `pushed` walks may leave their line."""
    pace = EXACT * FORWARD * walker.body.gains.speed
    end, front = float(run.t[-1]), walker.body.front
    leg = replace(_leg(run, start, end, asked, front), drift=(pace, pace, EXACT * TURN))
    if pushed or asked[2] or not any(asked):
        return leg
    return replace(leg, line=lateral_drift(run, *whole_strides(run, start + SETTLING, end), asked, front))


def _leg(run: Run, start: float, end: float, asked: tuple[float, float, float], front: Array = AHEAD) -> Leg:
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
    return abs(float(along[0] * y - along[1] * x)) / float(np.hypot(x, y))


def _effort(run: Run) -> float:
    most = np.asarray(run.robot.limits.effort)
    limited = np.isfinite(most) & (most > 0)
    return float((np.abs(run.torque[:, limited]) / most[limited]).max())


def _excess(run: Run) -> float:
    limits = run.robot.limits
    q = run.q[:, 7:]
    over = np.maximum(q - limits.upper[7:], limits.lower[7:] - q)
    return float(np.nanmax(over))
