"""A ready-made controller that walks on command and steps when pushed.

    walker = eq.Walking(eq.load("g1"))
    walker.command(0.4, 0.0, 0.2)
    run = eq.simulate(walker.robot, walker, q0=walker.q0, duration=10.0)

Each call measures the capture point, plans the present step (`step_plan`), and commands the whole body
(`whole_body`) the horizontal acceleration ω² (c − p) that puts the centre of pressure at its planned place. The
control loop raises no errors.
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
FRICTION = 0.45  # coefficient for ground whose friction has not been measured
SPIN = 0.5  # fraction of the angular momentum about the centre of mass that counts as tipping over the foot


class Snapshot(NamedTuple):
    """State of a walker between two calls, to continue from."""

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
    """A walking controller: call it with (t, q, v), it returns a `Solution`.

    Args:
        robot: from `eq.load`; a biped with flat feet, or a robot with four or more feet. Fingers are locked:
            simulate the attribute `robot` of this object.
        body: its `Body`, or the path of its profile; None finds it.
        dt: s, control period.
        friction: coefficient of friction of the ground that the controller assumes.
        resistance: whether joints have damping and dry friction as described in the robot's file; torques then
            compensate them.
        constraints: additional constraints, beside torque and joint limits.

    Attributes:
        robot, body, q0: robot and body as controlled, and its initial configuration.
        gait: times and lengths.
        log: (time, text) of all events.

    Examples:
        >>> import equipoise as eq
        >>> walker = eq.Walking(eq.load("human")).command(0.3)  # m/s forward
        >>> run = eq.simulate(walker.robot, walker, q0=walker.q0, duration=1.0)
        >>> run.outcome, walker.mode
        ('completed', 'step')
    """

    def __copy__(self) -> Self:
        """Returns an independent copy: nothing that changes is shared."""
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
        # compile the kernels here, not in the first control step
        again = partial(Walking, dt=dt, friction=friction, resistance=resistance, constraints=constraints)
        require_strength(self.body, self, lambda body: again(body.robot, body))
        self.reset()

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """Contacts with the ground."""
        return self.whole_body.controller.contacts

    @property
    def mode(self) -> str:
        """Present mode: "stand", "shift" of weight before the first step, "step"; "climb" to another height; "crouch",
        "thrust", "flight" or "landing" of a hop.
        """
        phases = [state.phase for state in (self.hopper.state, self.climber.state) if state is not None]
        return phases[0] if phases else self.machine.state.mode

    @property
    def phase(self) -> str:
        """Present mode; during a step, which foot swings, or "transfer" during the load transfer. Reports show it."""
        s = self.machine.state
        if self.mode != STEP:
            return self.mode
        return "transfer" if s.swing is None else f"{self.whole_body.steppers[1 - s.stance]} swings"

    @property
    def plan(self) -> StepPlan | None:
        """Plan of the present step, or None."""
        return self.machine.state.plan

    # --- commands -----------------------------------------------------------------------------------------------------

    def command(
        self, forward: float = 0.0, left: float = 0.0, turn: float = 0.0, *, at: float | None = None
    ) -> Walking:
        """Sets the commanded velocity: forward and left in m/s, turn in rad/s, in the robot's axes; zeros to stand. It
        holds from now on, or from a time `at` (s).
        """
        values = [float(x) for x in (forward, left, turn, 0.0 if at is None else at)]
        if not np.isfinite(values).all():
            raise ShapeError(f"a command is three finite numbers, and a time; got {(forward, left, turn, at)!r}")
        if at is None:
            self._command = Command(*values[:3])
        else:
            self._later = sorted([*self._later, (values[3], Command(*values[:3]))], key=lambda x: x[0])
        return self

    def follow(self, steps: Sequence[Footstep]) -> Walking:
        """Prescribes footsteps, one after the other; the robot stands after the last."""
        self.machine.state.queue = list(steps)
        return self

    def go_to(
        self, *points: tuple[float, float, float], start: tuple[float, float, float] = (0.0, 0.0, 0.0)
    ) -> Walking:
        """Walks through way points (x, y in m, yaw in rad, in the world) from the midpoint of the feet, then stands."""
        for point in (*points, start):
            if len(point) != 3 or not np.isfinite(point).all():
                raise ShapeError(f"a way point is x, y and yaw, three finite numbers; got {point!r}")
        return self.follow(through(Place(*map(float, start)), points, self.gait))

    def hop(self, seconds: float = 0.25, *, at: float | None = None) -> Walking:
        """Hops in place with `seconds` in the air, as soon as it stands, or from a time `at` (s)."""
        start = -np.inf if at is None else float(at)
        if not (isfinite(seconds) and seconds > 0) or np.isnan(start):
            raise ShapeError(f"a hop is a time in the air, s, and when; got {(seconds, at)!r}")
        if len(self.body.feet) != 2:
            raise BodyError(f"{self.robot.name!r} does not hop: that takes two flat feet")
        self._hops = sorted([*self._hops, (start, float(seconds))])
        return self

    def forget_commands(self) -> Walking:
        """Deletes all commands; the robot stands."""
        self._command, self._later, self._hops, self.machine.state.queue = Command(), [], [], []
        return self

    # --- the loop -----------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Resets to standing; commands and prescribed steps remain."""
        self.whole_body.reset(self.q0)
        self.machine.state = State(queue=self.machine.state.queue)
        self.hopper.state = self.climber.state = None
        self.log: list[tuple[float, str]] = []
        self._forces: Mapping[str, Array] = {}
        self._clock = Clock(self.dt)

    def observe(self, wrenches: Mapping[str, Array]) -> None:
        """Sets the measured contact forces, if the plant has them. An invalid wrench is ignored, and the foot's
        position decides whether it has touched down.
        """
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
        """Returns a message for each speed of a new command that is limited."""
        if self._command is self._reported:
            return []
        self._reported = self._command
        return self.gait.cuts(self._command, self.robot.name)

    def _decide(self, seen: Seen, q: Array) -> list[str]:
        """Decides on steps, or on a hop or climb that is due while the robot stands; returns events to log."""
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
        """Resets the machine at the end of a hop or climb: it stands, or steps."""
        if over:
            self.machine.state = self.machine.state.anew()

    def references(self, q: Array) -> dict[str, Array]:
        """Returns the target pose (4, 4) of each frame, for display; for a swing foot, the planned touchdown."""
        s, wanted = self.machine.state, frame_targets(self.whole_body, self.robot, q)
        return wanted if s.swing is None else wanted | self.whole_body.landing(1 - s.stance, s.swing.goal, s.slope)

    def outlines(self, q: Array) -> dict[str, Array]:
        """Returns where the plan may set the next foot, for display: corners (k, 3) m on the ground, seen from the
        stance foot.
        """
        s = self.machine.state
        if self.mode != STEP or s.plan is None:
            return {}
        X, foot = self.whole_body.soles(q)[s.stance], 1 - s.stance
        stance = Place(float(X[0, 3]), float(X[1, 3]), atan2(float(X[1, 0]), float(X[0, 0])))
        level = (self.gait.reach.corners * np.array([1.0, 1.0 if foot == 0 else -1.0])) @ stance.R.T
        corners = np.column_stack([level + stance.xy, X[2, 3] + level @ s.slope])
        return {f"reach of the {self.whole_body.steppers[foot]}": corners}

    def leaves(self, t: float, q: Array, v: Array) -> bool:
        """Returns whether the capture point of a robot that stands in state (q, v) leaves the soles, now or shortly."""
        self._clock.called(t)
        return self.machine.leaves(self._see(self._clock.now, q, v), self.dt)

    def _see(self, t: float, q: Array, v: Array) -> Seen:
        com = self.robot.com(q)
        self.whole_body.com[:2] = com[:2]  # the horizontal position has no gain, so its error must not be reported
        momentum = self.robot.momentum(q, v) / self._mass
        velocity = momentum[:3]
        tipping = velocity[:2] + SPIN / self.gait.height * np.array([momentum[4], -momentum[3]])
        xi, body = divergent(com, tipping, self.gait.rate), self.whole_body
        return Seen(t, com, velocity, xi, body.soles(q), self._forces, body.spins(q, v))

    def snapshot(self) -> Snapshot:
        """Returns everything that a later `restore` needs to continue from here."""
        state, later = deepcopy(self.machine.state), tuple(self._later)
        climb, hop, hops = deepcopy(self.climber.state), deepcopy(self.hopper.state), tuple(self._hops)
        body, forces = self.whole_body.snapshot(), dict(self._forces)
        return Snapshot(state, body, self._command, later, forces, climb, hop, hops, copy(self._clock))

    def restore(self, state: Snapshot) -> None:
        """Continues from a snapshot."""
        self.machine.state, self._command = deepcopy(state.machine), state.command
        self._later, self._forces = list(state.later), state.forces
        self.climber.state, self.hopper.state = deepcopy(state.climb), deepcopy(state.hop)
        self._hops, self._clock = list(state.hops), copy(state.clock)
        self.whole_body.restore(state.whole_body)


def _way_of_walking(body: Body) -> Callable[[Body, float, float, Sequence[Constraint]], Machine]:
    """Returns the constructor of the walk: steps of two feet, or the trot of four and more."""
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
