"""What a walker sees in a call, and what it keeps from one call to the next."""

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
    """An angle between −π and π, rad."""
    return (angle + pi) % (2 * pi) - pi


@dataclass(frozen=True, eq=False)
class Seen:
    """What a call sees: the centre of mass, its velocity, the capture point, the feet (left first), measured forces,
    and angular velocities of the feet, rad/s."""

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
        """rad: the yaw between those of the feet."""
        left, right = self.place(0).yaw, self.place(1).yaw
        return left + wrapped(right - left) / 2


@dataclass
class State:
    """Where the walk is; all that changes from call to call.

    Attributes:
        stance: the foot that carries, 0 left, 1 right. since: s, when its phase began. end: s, of the swing as planned.
        last, drift: the capture point in the last call, and its rate, m/s. shove: m/s, what the pendulum does not
            explain of it.
        pushed: s, when there last was a shove; braced: whether arms are held for it. firm: whether the trunk is, for a
            walk. tidies: whether the step brings the feet together. transfer: s, in which weight goes to the stance
            foot.
        pressure: (2,) m, where the centre of pressure should be; origin: where it was when the step began.
        command: what it follows now. queue: steps that were given. heading: rad.
        period: s, of a step, that the command asks for. pace: of it, the mean time of steps so far.
        slope: (2,) of the ground, as soles feel it. hull: of the soles, while both stand.
        goal_height: m, of the ground at a step that was given. uneven: s, when the ground last was not as expected;
            jolt: when a foot last came down hard.
        settling: s, since when a sole is not trusted as a whole; rolling: because it rolls. landed: the foot that
            touched last.
        bumps: how often the swinging foot met something. tilt: (2,) slope of the stance foot as it lay; tilts: of the
            last ones; footholds: (3,) m, where they were; sloped: (2,) slope that both tell. felt: (2,) m, in its
            axes, where a stance foot carries that stands across an edge. goes_on: whether the command ended late in
            this step, so that the next one comes to rest.
        predicted: (2,) m, where the pendulum alone would have brought the capture point since the step began.
        shift: (2,) m, forward and left, from the capture point to the one that the pendulum would need to move as the
            walk did on average.
        trail: (time, centre of mass) at the last touchdowns. lag: (2,) m/s, by which the walk is slower than asked for.
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
        """A stand from which to go on: steps that were given stay, and what the whole body is told already."""
        return State(queue=self.queue, braced=self.braced, firm=self.firm)
