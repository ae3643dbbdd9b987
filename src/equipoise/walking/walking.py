"""A ready controller: walk on command, and step when pushed.

    walker = eq.Walking(eq.load("g1"))
    walker.command(0.4, 0.0, 0.2)
    run = eq.simulate(walker.robot, walker, q0=walker.q0, duration=10.0)

Each call measures the capture point, plans the step it is in (`step_plan`), and asks the whole body (`whole_body`) for
the level acceleration ω² (c − p) that puts the centre of pressure where the plan wants it. Nothing raises in the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import replace
from functools import partial
from math import atan2, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from ..algebra.arrays import finite
from ..body.body import Body, BodyError
from ..clock import Clock
from ..control.constraints import Constraint
from ..control.contacts import Contact
from ..control.controller.frame_targets import frame_targets
from ..control.controller.looped import LoopedController, as_array
from ..control.controller.solution import Solution
from ..control.strength import require_strength
from ..errors import ShapeError
from .climb import Climber, ClimbState
from .footsteps import Footstep, through
from .gait import Command, Gait, Place
from .hop import Hopper, HopState
from .machine import Machine
from .pendulum import divergent
from .resistance import Resistance
from .state import STAND, STEP, Seen, State
from .step_plan import StepPlan
from .trot import trotting
from .whole_body import Held, WholeBody

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
NOT_FLAT = (
    ". A sole narrower than a twentieth of its length is a line, one shorter than an eighth of its leg a point; where "
    'a foot is flat, write so in the profile: [parts."left foot"] contact = "flat", corners = …'
)
FRICTION = 0.45  # of ground that nobody has measured
SPIN = 0.5  # of the spin about the centre of mass that counts as tipping over the foot


class Snapshot(NamedTuple):
    """A walker between two steps, to go on from."""

    machine: State
    whole_body: Held
    command: Command
    later: tuple[tuple[float, Command], ...]
    forces: Mapping[str, Array]
    climb: ClimbState | None
    hop: HopState | None
    hops: tuple[tuple[float, float], ...]
    clock: Clock


class Walking(LoopedController):
    """Called with (t, q, v), answers a `Solution`; a controller like any other.

    Args:
        robot: as `eq.load` gives it; a biped with flat feet, or four or more feet. Fingers are locked: `robot` of this
            object is the one to simulate.
        body: its `Body`, or the path of its profile; found if not given.
        dt: s, the step at which it will be called.
        friction: coefficient of the ground that it counts on.
        resistance: whether joints resist as their description says, by damping and dry friction: torques then make up
            for it.
        constraints: more of them, beside torque and joint limits.

    Attributes:
        robot, body, q0: with frames for all parts; where to start.
        gait: times and lengths.
        log: (time, text) of everything worth knowing.
    """

    def __copy__(self) -> Self:
        """A copy goes its own way: nothing that changes is shared."""
        return deepcopy(self)

    def __init__(
        self,
        robot: Robot,
        body: Body | str | Path | None = None,
        *,
        dt: float = 1e-3,
        friction: float = FRICTION,
        resistance: bool = False,
        constraints: Sequence[Constraint] = (),
    ) -> None:
        found = body if isinstance(body, Body) else Body.of(robot, body)
        walks = _way_of_walking(found)
        self.body = found.still()
        self.robot, self.dt, self.q0 = self.body.robot, dt, self.body.standing
        self._mass = self.robot.mass
        self._resistance = Resistance.of(self.robot) if resistance else None
        resisted = [] if self._resistance is None else [self._resistance.left()]
        self.machine = walks(self.body, dt, friction, [*resisted, *constraints])
        self.whole_body, self.gait = self.machine.whole_body, self.machine.gait
        self.controller = self.whole_body.controller
        self._command = self._reported = Command()
        self._later = list[tuple[float, Command]]()
        self.climber = Climber(self.gait, self.whole_body, self.machine)
        self.hopper, self._hops = Hopper(self.gait, self.whole_body, self.machine), list[tuple[float, float]]()
        self.reset()
        # kernels are compiled here, not in the first step of control
        again = partial(Walking, dt=dt, friction=friction, resistance=resistance, constraints=constraints)
        require_strength(self.body, self, lambda body: again(body.robot, body))
        self.reset()

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """Where it touches the ground."""
        return self.whole_body.controller.contacts

    @property
    def mode(self) -> str:
        """What it does: "stand", "shift" its weight before the first step, "step"; "climb" to another height; "crouch",
        "thrust", "flight" or "landing" of a hop."""
        phases = [state.phase for state in (self.hopper.state, self.climber.state) if state is not None]
        return phases[0] if phases else self.machine.state.mode

    @property
    def phase(self) -> str:
        """The same, and of a step which foot swings, or that weight goes over ("transfer"): what reports show."""
        s = self.machine.state
        if self.mode != STEP:
            return self.mode
        return "transfer" if s.swing is None else f"{self.whole_body.steppers[1 - s.stance]} swings"

    @property
    def plan(self) -> StepPlan | None:
        """The step it is in, if it is."""
        return self.machine.state.plan

    # --- commands -----------------------------------------------------------------------------------------------------

    def command(
        self, forward: float = 0.0, left: float = 0.0, turn: float = 0.0, *, at: float | None = None
    ) -> Walking:
        """Walk: m/s forward and to the left, rad/s, in the robot's own axes; zeros to stand. From now on, or from a
        time (s)."""
        values = [float(x) for x in (forward, left, turn, 0.0 if at is None else at)]
        if not np.isfinite(values).all():
            raise ShapeError(f"a command is three finite numbers, and a time; got {(forward, left, turn, at)!r}")
        if at is None:
            self._command = Command(*values[:3])
        else:
            self._later = sorted([*self._later, (values[3], Command(*values[:3]))], key=lambda x: x[0])
        return self

    def follow(self, steps: Sequence[Footstep]) -> Walking:
        """Set the feet where they are told, one step after the other, and stand after the last."""
        self.machine.state.queue = list(steps)
        return self

    def go_to(
        self, *points: tuple[float, float, float], start: tuple[float, float, float] = (0.0, 0.0, 0.0)
    ) -> Walking:
        """Walk through way points (x, y in m, yaw in rad, in the world) from where the middle of the feet is, and
        stand."""
        for point in (*points, start):
            if len(point) != 3 or not np.isfinite(point).all():
                raise ShapeError(f"a way point is x, y and yaw, three finite numbers; got {point!r}")
        return self.follow(through(Place(*map(float, start)), points, self.gait))

    def hop(self, seconds: float = 0.25, *, at: float | None = None) -> Walking:
        """Hop in place once it stands, for so many seconds in the air; as soon as it can, or from a time (s)."""
        start = -np.inf if at is None else float(at)
        if not (isfinite(seconds) and seconds > 0) or np.isnan(start):
            raise ShapeError(f"a hop is a time in the air, s, and when; got {(seconds, at)!r}")
        if len(self.body.feet) != 2:
            raise BodyError(f"{self.robot.name!r} does not hop: that takes two flat feet")
        self._hops = sorted([*self._hops, (start, float(seconds))])
        return self

    def forget_commands(self) -> Walking:
        """Stand, and do nothing later."""
        self._command, self._later, self._hops, self.machine.state.queue = Command(), [], [], []
        return self

    # --- the loop -----------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Start anew, standing; commands and steps that were given stay."""
        self.whole_body.reset(self.q0)
        self.machine.state = State(queue=self.machine.state.queue)
        self.hopper.state = self.climber.state = None
        self.log: list[tuple[float, str]] = []
        self._forces: Mapping[str, Array] = {}
        self._clock = Clock(self.dt)

    def observe(self, wrenches: Mapping[str, Array]) -> None:
        """Measured contact forces, if the plant has them; of what is no wrench, place decides whether a foot is
        down."""
        felt = wrenches if isinstance(wrenches, Mapping) else {}
        given = {name: as_array(wrench) for name, wrench in felt.items()}
        self._forces = {
            name: w for name, w in given.items() if np.shape(w) == (6,) and w.dtype.kind == "f" and finite(w)
        }

    def _control(self, t: float, q: Array, v: Array, usable: bool) -> Solution:
        said = list(self._clock.reports)
        while self._later and self._later[0][0] <= self._clock.stamp + 1e-9:
            self._command = self._later.pop(0)[1]
        if usable:
            said += [*self._cuts(), *self._decide(self._see(t, q, v), q)]
        solution = self.whole_body(t, q, v)
        if usable and self._resistance is not None:
            solution = replace(solution, torque=self._resistance.made_up(solution.torque, v))
        if not said:
            return solution
        self.log += [(t, text) for text in said]
        return replace(solution, events=(*solution.events, *said))

    def _cuts(self) -> list[str]:
        """What of a new command is cut, in words."""
        if self._command is self._reported:
            return []
        self._reported = self._command
        return self.gait.cuts(self._command, self.robot.name)

    def _decide(self, seen: Seen, q: Array) -> list[str]:
        """Steps, or a hop or a climb where one is due and the robot stands; what is worth telling."""
        if self.mode == STAND and self.climber.due(seen):
            self.climber.begin(seen)
        if self.climber.state is not None:
            said = self.climber.decide(seen, q, self.dt)
            self._go_on(self.climber.state is None)
            return said
        if self._hops and self._hops[0][0] <= self._clock.stamp and self.mode == STAND and self._command.still:
            self.hopper.begin(seen, self._hops.pop(0)[1])
        if self.hopper.state is None:
            return self.machine.decide(seen, self._command, self.dt)
        said = self.hopper.decide(seen, self.dt)
        self._go_on(self.hopper.state is None)
        return said

    def _go_on(self, over: bool) -> None:
        """From the end of a hop or a climb on it stands, or steps."""
        if over:
            self.machine.state = self.machine.state.anew()

    def references(self, q: Array) -> dict[str, Array]:
        """Where frames should go, by frame, (4, 4), for the eye: a foot in the air where the plan sets it down."""
        s, wanted = self.machine.state, frame_targets(self.whole_body, self.robot, q)
        return wanted if s.swing is None else wanted | self.whole_body.landing(1 - s.stance, s.swing.goal, s.slope)

    def outlines(self, q: Array) -> dict[str, Array]:
        """Where the plan may set the next foot, for the eye: corners (k, 3) m on the ground, seen from the stance
        foot."""
        s = self.machine.state
        if self.mode != STEP or s.plan is None:
            return {}
        X, foot = self.whole_body.soles(q)[s.stance], 1 - s.stance
        stance = Place(float(X[0, 3]), float(X[1, 3]), atan2(float(X[1, 0]), float(X[0, 0])))
        level = (self.gait.reach.corners * np.array([1.0, 1.0 if foot == 0 else -1.0])) @ stance.R.T
        corners = np.column_stack([level + stance.xy, X[2, 3] + level @ s.slope])
        return {f"reach of the {self.whole_body.steppers[foot]}": corners}

    def leaves(self, t: float, q: Array, v: Array) -> bool:
        """Whether the capture point leaves the soles of a robot that stands in state (q, v), or will at once."""
        self._clock.called(t)
        return self.machine.leaves(self._see(self._clock.now, q, v), self.dt)

    def _see(self, t: float, q: Array, v: Array) -> Seen:
        com = self.robot.com(q)
        self.whole_body.com[:2] = com[:2]  # its level place has no gain, so its error should not be reported
        momentum = self.robot.momentum(q, v) / self._mass
        velocity = momentum[:3]
        tipping = velocity[:2] + SPIN / self.gait.height * np.array([momentum[4], -momentum[3]])
        xi, body = divergent(com, tipping, self.gait.rate), self.whole_body
        return Seen(t, com, velocity, xi, body.soles(q), self._forces, body.spins(q, v))

    def snapshot(self) -> Snapshot:
        """Everything that a later `restore` needs to go on from here."""
        state, later = deepcopy(self.machine.state), tuple(self._later)
        climb, hop, hops = deepcopy(self.climber.state), deepcopy(self.hopper.state), tuple(self._hops)
        body, forces = self.whole_body.snapshot(), dict(self._forces)
        return Snapshot(state, body, self._command, later, forces, climb, hop, hops, copy(self._clock))

    def restore(self, state: Snapshot) -> None:
        """Go on from a snapshot."""
        self.machine.state, self._command = deepcopy(state.machine), state.command
        self._later, self._forces = list(state.later), state.forces
        self.climber.state, self.hopper.state = deepcopy(state.climb), deepcopy(state.hop)
        self._hops, self._clock = list(state.hops), copy(state.clock)
        self.whole_body.restore(state.whole_body)


def _way_of_walking(body: Body) -> Callable[[Body, float, float, Sequence[Constraint]], Machine]:
    """Steps of two feet, or the trot of four and more."""
    flat = [role for role, part in body.feet.items() if part.contact == "flat"]
    if body.robot.floating and len(body.feet) >= 4 and len(body.feet) % 2 == 0:
        return trotting
    if body.robot.floating and len(body.feet) == len(flat) == 2:
        return _bipedal
    feet = ", ".join(f"{role} ({part.contact})" for role, part in body.feet.items()) or "no feet"
    held = ", and its base is not free: eq.load(…, floating=True), or a <freejoint/> in its file instead of joints"
    raise BodyError(
        f"{body.robot.name!r} cannot walk: that takes two flat feet, or four or six of any kind; it has {feet}"
        f"{'' if len(flat) == len(body.feet) else NOT_FLAT}{'' if body.robot.floating else held}"
    )


def _bipedal(body: Body, dt: float, friction: float, constraints: Sequence[Constraint]) -> Machine:
    whole_body = WholeBody(body, dt, friction, constraints)
    left, right = (X[:2, 3] for X in whole_body.soles(body.standing))
    return Machine(
        Gait.of(body, (left, right)), whole_body, [np.array(body.feet[role].corners) for role in whole_body.feet]
    )
