"""What a walker observes in a call, and its state between calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import atan2, pi

import numpy as np

from .footsteps import Footstep
from .gait import Command, Place
from .step_plan import StepPlan
from .swing import Swing

Array = np.ndarray
STAND, SHIFT, STEP = "stand", "shift", "step"


def wrapped(angle: float) -> float:
    """Returns an angle wrapped to [−π, π), rad."""
    return (angle + pi) % (2 * pi) - pi


@dataclass(frozen=True, eq=False)
class Seen:
    """Observations of one call: centre of mass, its velocity, capture point, feet (left first), measured forces, and
    angular velocities of the feet, rad/s.
    """

    t: float
    com: Array
    velocity: Array
    xi: Array
    poses: tuple[Array, Array]
    forces: Mapping[str, Array]
    spins: tuple[Array, Array] = (np.zeros(3), np.zeros(3))

    @cached_property
    def _places(self) -> list[Place]:
        return [Place(float(X[0, 3]), float(X[1, 3]), atan2(float(X[1, 0]), float(X[0, 0]))) for X in self.poses]

    def place(self, foot: int) -> Place:
        return self._places[foot]

    @property
    def heading(self) -> float:
        """Mean of the yaw angles of the feet, rad."""
        left, right = self.place(0).yaw, self.place(1).yaw
        return left + wrapped(right - left) / 2


@dataclass
class State:
    """State of the walk: everything that changes from call to call.

    Attributes:
        stance: stance foot, 0 left, 1 right. since: s, start of the phase. end: s, planned end of the swing.
        last, drift: capture point at the last call, and its rate, m/s. shove: m/s, part of this rate that the
            pendulum does not explain.
        pushed: s, time of the last detected push; braced: whether the arms are stiff because of it. firm: whether
            the trunk is stiff for walking. tidies: whether the step brings the feet together. transfer: s, duration of
            the load transfer to the stance foot.
        pressure: (2,) m, commanded centre of pressure; origin: its value when the step began.
        command: command that it follows now. queue: prescribed steps. heading: rad.
        period: s, of a step, from the command. pace: mean duration of the steps so far, as a fraction of it.
        slope: (2,) slope of the ground estimated from the soles. hull: support polygon of the soles in double
            support.
        goal_height: m, height of the ground at a prescribed step. uneven: s, time when the ground last differed
            from expectation; jolt: s, when a foot last landed hard.
        settling: s, time since when a sole is trusted only in part; rolling: because it rolls. landed: foot that
            touched down last.
        bumps: number of obstacles that the swing foot has hit. tilt: (2,) slope of the stance foot while flat;
            tilts: of the last ones; footholds: (3,) m, their positions; sloped: (2,) slope that both confirm. felt:
            (2,) m, centre of pressure, in its axes, of a stance foot across an edge. goes_on: whether the command ended
            late in this step, so that the next one comes to rest.
        predicted: (2,) m, capture point that the pendulum alone predicts since the start of the step.
        shift: (2,) m, forward and left, offset of the capture point with which the pendulum explains the mean
            motion of the walk.
        trail: (time, centre of mass) at the last touchdowns. lag: (2,) m/s, added to the command because the walk
            is too slow.
    """

    mode: str = STAND
    stance: int = 0
    since: float = 0.0
    end: float = 0.0
    plan: StepPlan | None = None
    swing: Swing | None = None
    pressure: Array = field(default_factory=lambda: np.zeros(2))
    origin: Array = field(default_factory=lambda: np.zeros(2))
    heading: float = 0.0
    goal_yaw: float = 0.0
    pace: float = 1.0
    period: float = 0.0
    asked: Array = field(default_factory=lambda: np.zeros(2))
    lag: Array = field(default_factory=lambda: np.zeros(2))
    predicted: Array = field(default_factory=lambda: np.zeros(2))
    shift: Array = field(default_factory=lambda: np.zeros(2))
    trail: list[tuple[float, Array]] = field(default_factory=list)
    ground: float | None = None
    last: Array | None = None
    drift: Array = field(default_factory=lambda: np.zeros(2))
    shove: Array = field(default_factory=lambda: np.zeros(2))
    pushed: float = -np.inf
    braced: bool = False
    firm: bool = False
    tidies: bool = False
    transfer: float = 0.0
    slope: Array = field(default_factory=lambda: np.zeros(2))
    hull: tuple[Array, Array] | None = None
    steps: int = 0
    command: Command = field(default_factory=Command)
    queue: list[Footstep] = field(default_factory=list)
    goal_height: float | None = None
    settling: float | None = None
    rolling: bool = False
    bumps: int = 0
    landed: int = 0
    uneven: float = -np.inf
    jolt: float = -np.inf
    tilt: Array | None = None
    tilts: list[Array] = field(default_factory=list)
    felt: Array | None = None
    goes_on: bool = False
    footholds: list[Array] = field(default_factory=list)
    sloped: Array = field(default_factory=lambda: np.zeros(2))

    def anew(self) -> State:
        """Returns the state of a robot that stands; prescribed steps and what the whole body was last told remain."""
        return State(queue=self.queue, braced=self.braced, firm=self.firm)
