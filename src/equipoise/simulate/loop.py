"""The loop: a controller and a plant, sensor noise, delay, pushes, limits of the motors, and the record of it all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algebra.arrays import finite
from ..errors import ConstraintError, ShapeError, StateError, unknown_name
from .actuators import ActuatorBank, Actuators
from .conditions import Fall, Noise, Push, as_kind
from .contacts import Contacts
from .interruption import Interruption, interruption_deferred
from .motor import DriveCommand, Motor
from .off_ground import report_contacts_off_ground
from .perception import Perception
from .planned import PlanReader
from .plant import Plant, PlantState, make_plant
from .record import RunRecorder
from .run import Run
from .sensors import Sensors
from .world import Solid

if TYPE_CHECKING:
    from ..estimation.estimator import Estimator
    from ..robot import Robot

Array = np.ndarray
DRAWN = 1 / 30  # s, between two records of where the controller wants frames
UNIT = 1e-9  # by which the length of a quaternion may differ from one
INTERRUPTED = "interrupted by Ctrl-C"
Controller = Callable[[float, Array, Array], object]
FALL = Fall()


def simulate(
    robot: Robot,
    controller: Controller,
    plant: str | Plant = "mujoco",
    duration: float = 1.0,
    dt: float = 1e-3,
    q0: Array | None = None,
    v0: Array | None = None,
    seed: int = 0,
    progress: bool = False,
    *,
    contacts: Contacts | None = None,
    obstacles: Sequence[Solid | tuple[Solid, float]] = (),
    shown: Sequence[Solid] = (),
    pushes: Sequence[Push | Mapping[str, object]] = (),
    noise: Noise | Mapping[str, float] | None = None,
    estimator: Estimator | None = None,
    sensors: Sensors | None = None,
    actuators: Actuators | None = None,
    delay: int = 0,
    fall: Fall | Mapping[str, float] | None = FALL,
    clip: bool = True,
    scenario: Mapping[str, object] | None = None,
    **options: object,
) -> Run:
    """Run a controller on a plant and record everything. The same inputs give the same numbers, bit for bit.

    Ctrl-C ends the run, not the program: what has run until then is returned, with the outcome "interrupted".

    Args:
        controller: `controller(t, q, v)`, its result has `torque` (nv,) and, if it likes, `forces`, `status`,
            `task_errors`, `margins`; `velocity` on the kinematic plant. Where it has `position` of the joints too, as a
            `JointCommand` has, drives follow it with its `kp` and `kd`, or those of the actuators, in every step of the
            plant. Its `reset()` is called first. Where it has its own `dt`, it is called so often, and its command held
            in between.
        plant: "mujoco", "ideal", "hard", "soft", "kinematic", or an object with `reset` and `step`.
        duration: s.
        dt: s, of one step.
        seed: of the sensor noise.
        q0: where it starts, (nq,); if not given, where the controller says (its `q0`, as of `eq.Standing`), else
            standing.
        v0: how fast it starts, (nv,); at rest if not given.
        contacts: frames or points that may touch; those of the controller if not given.
        obstacles: Plane, Sphere, Capsule, Box, or (one of these, safe distance).
        shown: others, for the viewer only.
        pushes: external forces.
        noise: of the sensors; the controller sees it, the record does not. These and `fall` may be
            given as dictionaries of their fields.
        estimator: such as `eq.Estimator`: the controller then sees its estimate, made of what the sensors say in every
            step of the plant, and never the true state. It starts from the true state.
        sensors: `eq.Sensors`, such as `eq.Sensors.realistic()`; without errors if not given.
        actuators: `eq.Actuators`: what motors make of the commanded torque; exact if not given. Their rotors are in the
            plant.
        delay: steps by which the torque comes late; before the first has come it is that of the first call.
        fall: when to stop; None: never. It is looked at only where a floating base can fall on something.
        clip: whether motors stop at their effort limits.
        scenario: JSON to keep with the run.
        options: of the plant, see its class: friction, ground, restitution, law, substeps, …
    """
    made = _plant(robot, controller, plant, contacts, obstacles, options, actuators)
    q, v = _start(robot, controller, q0, v0)
    steps, every = _counts(duration, dt, getattr(controller, "dt", None))
    _require_json(scenario)
    shoves, rng = _pushes(robot, pushes), np.random.default_rng(seed)
    state = _reset(controller, made, q, v)
    record = RunRecorder(robot, dt, report_contacts_off_ground(robot, controller, made, state.q))
    perception = _perception(robot, made, estimator, sensors, noise, rng, state)
    loop = _Loop(
        robot, controller, made, dt, every, shoves, record,
        plan=PlanReader(controller, robot, lambda text: record.tell(record.t[-1], text)),
        sense=None if noise is None else as_kind(Noise, noise).sensor(robot, rng),
        fallen=_watcher(robot, made, fall if fall is None else as_kind(Fall, fall), state.q),
        motor=Motor(robot, delay, clip, getattr(made, "command", "torque"), actuators),
        perception=perception,
        actuators=None if actuators is None else ActuatorBank(robot, actuators, q, dt),
    )  # fmt: skip
    with _bar(progress, steps) as tick, interruption_deferred() as interruption:
        try:
            outcome = loop.run(state, steps, tick, interruption)
        except KeyboardInterrupt:
            if not record.rows:
                raise
            record.trim(*(() if perception is None else (perception.readings, perception.estimates)))
            outcome = loop.ended("interrupted", record.t[-1], INTERRUPTED)
    return record.run(made, [*obstacles, *shown], outcome, scenario, seed, perception)


def _perception(
    robot: Robot, plant: Any, estimator: Any, sensors: Any, noise: Any, rng: np.random.Generator, state: PlantState
) -> Perception | None:
    if estimator is None and sensors is None:
        return None
    if noise is not None:
        raise ShapeError("noise= is for a controller that sees the true state; errors of sensors are in sensors=")
    perception = Perception(robot, sensors, estimator, getattr(plant, "contacts", {}), rng)
    perception.reset(state)
    return perception


def _pushes(robot: Robot, given: Sequence[Push | Mapping[str, Any]]) -> tuple[Push, ...]:
    pushes = tuple(as_kind(Push, push) for push in given)
    for push in pushes:
        if push.frame not in robot.frames:
            raise unknown_name("frame", push.frame, robot.frames)
    return pushes


def _reset(controller: Any, plant: Any, q: Array, v: Array) -> PlantState:
    """Both at the start; plants of users may answer what they like."""
    if hasattr(controller, "reset"):
        controller.reset()
    state = plant.reset(q, v)
    return state if isinstance(state, PlantState) else PlantState(q, v, 0.0)


def _start(robot: Robot, controller: Controller, q0: Array | None, v0: Array | None) -> tuple[Array, Array]:
    """(q, v) as given; else where the controller says that it starts, or standing, at rest."""
    own = getattr(controller, "q0", None)
    usual = own if isinstance(own, np.ndarray) and own.shape == (robot.nq,) else robot.standing()
    return np.array(usual if q0 is None else q0, dtype=float), np.array(
        np.zeros(robot.nv) if v0 is None else v0, dtype=float
    )


def _plant(
    robot: Robot,
    controller: Any,
    plant: Any,
    contacts: Any,
    obstacles: Sequence[Any],
    options: dict[str, Any],
    actuators: Actuators | None,
) -> Any:
    if actuators is not None and not isinstance(actuators, Actuators):
        raise ShapeError(f"actuators are an eq.Actuators, such as eq.Actuators.realistic(robot); got {actuators!r}")
    if not isinstance(plant, str):
        given = [*options, *(["contacts"] if contacts is not None else []), *(["obstacles"] if len(obstacles) else [])]
        if given:
            raise ShapeError(f"the plant is made already; give {', '.join(given)} to it, not to simulate")
        return plant
    chosen = getattr(controller, "contacts", ()) if contacts is None else contacts
    chosen = chosen() if callable(chosen) else chosen
    if len(obstacles):
        options = options | {"obstacles": [item[0] if isinstance(item, tuple) else item for item in obstacles]}
    return make_plant(plant, robot if actuators is None else actuators.loaded(robot), chosen, **options)


def _counts(duration: float, dt: float, control: float | None) -> tuple[int, int]:
    """(steps of the plant, steps from one call of the controller to the next)."""
    if not (0 < dt < np.inf and 0 <= duration < np.inf):
        raise StateError(f"dt is positive and duration not negative, in seconds; got dt={dt!r}, duration={duration!r}")
    every = 1 if control is None else round(control / dt)
    if control is not None and (every < 1 or abs(every * dt - control) > 1e-6 * dt):
        raise StateError(f"the controller's own dt ({control:g} s) is no multiple of dt ({dt:g} s)")
    return round(duration / dt), every


def _require_json(scenario: Mapping[str, Any] | None) -> None:
    try:
        json.dumps(dict(scenario or {}), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise StateError(f"the scenario must be JSON (numbers, texts, lists, dictionaries): {error}") from None


def _watcher(robot: Robot, plant: Any, fall: Fall | None, q0: Array) -> Callable[[Array], str | None] | None:
    contacts = getattr(plant, "contacts", {})
    touches = bool(contacts) or getattr(getattr(plant, "physics", None), "collision", "contacts") != "contacts"
    if fall is None or not robot.floating or not touches or not getattr(plant, "world", ()):
        return None
    return fall.watcher(robot, contacts, q0)


@contextmanager
def _bar(progress: bool, steps: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on the terminal, or nothing."""
    if not progress:
        yield lambda k: None
        return
    from rich.progress import Progress

    every = max(1, steps // 200)
    with Progress(transient=True) as bar:
        task = bar.add_task("simulating", total=steps)
        yield lambda k: bar.update(task, completed=k) if k % every == 0 else None


@dataclass
class _Loop:
    robot: Robot
    controller: Any
    plant: Any
    dt: float
    every: int
    pushes: tuple[Push, ...]
    record: RunRecorder
    plan: PlanReader
    sense: Callable[[Array, Array], tuple[Array, Array]] | None
    fallen: Callable[[Array], str | None] | None
    motor: Motor
    perception: Perception | None
    actuators: ActuatorBank | None
    drifted: bool = False  # whether quaternions of the plant were reported to drift

    def run(self, state: PlantState, steps: int, tick: Callable[[int], None], interruption: Interruption) -> str:
        """All steps; how it ended. A status of the controller never ends it."""
        reported, solution, wanted = set[int](), None, DriveCommand(np.zeros(self.robot.nv))
        for k in range(steps + 1):
            t = k * self.dt
            if self.perception is not None:
                self.perception.update(t, state, self.record.torque[-1] if k else wanted.feed_forward)
            if k % self.every == 0:
                answer, seconds = self._call(t, state)
                wanted = self.motor.wanted(answer)
                solution = getattr(answer, "solution", None) or answer  # of a command to drives, what it was made of
                for text in getattr(solution, "events", ()):
                    self.record.tell(t, str(text))
            else:
                seconds = 0.0
            acting, limited = self.motor.acting(wanted, state)
            for name in limited:
                self.record.tell(t, f"{self.motor.command} of {name} reaches its limit")
            if self.actuators is not None:
                acting = self.actuators(acting, state)
            self.record.row(t, state, solution, acting, seconds)
            self._record_plan(k, state)
            if not finite(acting):
                return self.ended("failed", t, f"the controller's {self.motor.command} is not finite")
            if k == steps:
                break
            if interruption.asked:
                return self.ended("interrupted", t, INTERRUPTED)
            try:
                with np.errstate(over="ignore", invalid="ignore"):  # a plant that diverges says so itself
                    state = self._step(t, acting, reported)
            except (StateError, ConstraintError) as error:
                return self.ended("failed", t, f"the plant failed: {error}")
            self.record.after(state, t + self.dt)
            why = None if self.fallen is None else self.fallen(state.q)
            if why is not None:
                return self.ended("fell", t + self.dt, f"fell: {why}")
            tick(k + 1)
        return self.ended("completed")

    def ended(self, outcome: str, t: float = 0.0, why: str = "") -> str:
        """The outcome, with its reason and what the motors have to say in the record."""
        if why:
            self.record.tell(t, why)
        if report := self.motor.report():
            self.record.tell(self.record.t[-1], report)
        return outcome

    def _record_plan(self, k: int, state: PlantState) -> None:
        """What the controller does, and now and then where it wants frames and what it draws: for the eye."""
        self.record.enter(k * self.dt, self.plan.phase())
        if k % max(1, round(DRAWN / self.dt)) == 0:
            self.record.references[k] = self.plan.references(state.q)
            if outlines := self.plan.outlines(state.q):
                self.record.outlines[k] = outlines

    def _call(self, t: float, state: PlantState) -> tuple[Any, float]:
        q, v = self._seen(state)
        begin = perf_counter()
        if self.perception is not None:
            self.perception.inform(t, self.controller)
        elif hasattr(self.controller, "observe"):
            self.controller.observe(getattr(state, "wrenches", {}))
        solution = self.controller(t, q.copy(), v.copy())
        return solution, perf_counter() - begin

    def _seen(self, state: PlantState) -> tuple[Array, Array]:
        """(q, v) as the controller sees them."""
        if self.perception is not None:
            return self.perception.q, self.perception.v
        return (state.q, state.v) if self.sense is None else self.sense(state.q, state.v)

    def _step(self, t: float, acting: Array, reported: set[int]) -> PlantState:
        active = [i for i, push in enumerate(self.pushes) if push.acts(t, self.dt)]
        for i in set(active) - reported:
            reported.add(i)
            self.record.tell(t, f"push on {self.pushes[i].frame}: {np.linalg.norm(self.pushes[i].force):.3g} N")
        if not active:
            state = self.plant.step(acting, self.dt)
        else:
            wrenches: dict[str, Array] = {}
            for i in active:
                frame = self.pushes[i].frame
                wrenches[frame] = wrenches.get(frame, np.zeros(6)) + self.pushes[i].wrench
            state = self.plant.step(acting, self.dt, wrenches)
        if not finite(state.q, state.v):
            raise StateError("the state is no longer finite")
        return self._unit(t, state)

    def _unit(self, t: float, state: PlantState) -> PlantState:
        """The state with quaternions of unit length; a plant whose own drift away from it is reported once."""
        starts = self.robot.tree.quaternions
        lengths = [float(np.linalg.norm(state.q[k : k + 4])) for k in starts]
        if not any(abs(length - 1) > UNIT for length in lengths):
            return state
        if min(lengths) < 0.5:
            raise StateError(f"a quaternion of the plant has length {min(lengths):.3g}")
        if not self.drifted:
            self.drifted = True
            self.record.tell(
                t, f"the plant's quaternions drift: one has length {max(lengths, key=lambda x: abs(x - 1)):.9g}"
            )
        q = state.q.copy()
        for k, length in zip(starts, lengths, strict=True):
            q[k : k + 4] /= length
        return replace(state, q=q)
