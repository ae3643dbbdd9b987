"""The simulation loop: controller, plant, sensor noise, delay, pushes, motor limits and the record of the run."""

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
DRAWN = 1 / 30  # s between two records of the controller's frame references
UNIT = 1e-9  # tolerance of the length of quaternions
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
    """Runs a controller on a plant and records everything. The same inputs give bit-identical results.

    Ctrl-C ends the run but not the program: the recorded part is returned with the outcome "interrupted".

    Args:
        controller: callable `controller(t, q, v)`. Its result has `torque` (nv,) (`velocity` on the kinematic plant)
            and
            optionally `forces`, `status`, `task_errors`, `margins`. If it also has joint targets `position`, like a
                `JointCommand`, the drives track them with its `kp` and `kd`, or with those of the actuators. Its
            `reset()` is
                called first. If the controller has its own `dt`, it is called at that period, and its command is held
            between.
        plant: "mujoco", "ideal", "hard", "soft", "kinematic", or an object with `reset` and `step`.
        duration: s.
        dt: time step of the plant, s.
        seed: seed of the sensor noise.
        q0: initial configuration, (nq,); default: the controller's `q0`, as of `eq.Standing`, else standing.
        v0: initial velocity, (nv,); default: at rest.
        contacts: frames or points that may touch; default: those of the controller.
        obstacles: Plane, Sphere, Capsule, Box, or pairs (one of these, safety distance).
        shown: solids that only the viewer shows.
        pushes: external forces.
        noise: `Noise` of the state that the controller sees; the record has the true state. `pushes`, `noise` and
            `fall`
            may be given as dictionaries of their fields.
        estimator: an `eq.Estimator` or similar: the controller then sees its estimate from the sensor readings of every
            plant step, never the true state. The estimator starts from the true state.
        sensors: `eq.Sensors`, such as `eq.Sensors.realistic()`; default: without errors.
        actuators: `eq.Actuators`, the motor model; default: ideal motors. Its rotor inertias are added to the plant.
        delay: steps by which commands are delayed; until the first one arrives, it is applied from the start.
        fall: criterion that stops the run; None: never. It is used only if a floating base can fall on something.
        clip: whether motors clip torques at their effort limits.
        scenario: JSON data stored with the run.
        options: options of the plant, see its class: friction, ground, restitution, law, substeps, …
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
    """Resets controller and plant; a user's plant may return anything."""
    if hasattr(controller, "reset"):
        controller.reset()
    state = plant.reset(q, v)
    return state if isinstance(state, PlantState) else PlantState(q, v, 0.0)


def _start(robot: Robot, controller: Controller, q0: Array | None, v0: Array | None) -> tuple[Array, Array]:
    """Returns the initial (q, v): as given, else the controller's `q0`, else standing; at rest by default."""
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
    """Returns (steps of the plant, plant steps per call of the controller)."""
    if not (0 < dt < np.inf and 0 <= duration < np.inf):
        raise StateError(f"dt is positive and duration not negative, in seconds; got dt={dt!r}, duration={duration!r}")
    every = 1 if control is None else round(control / dt)
    if control is not None and (every < 1 or abs(every * dt - control) > 1e-6 * dt):
        raise StateError(
            f"the controller was made for steps of {control:g} s, which is no multiple of the simulation's dt={dt:g}; "
            f"give dt={control:g} to simulate, or make the controller with dt={dt:g}"
        )
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
    """Shows a progress bar on the terminal, if wanted."""
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
    drifted: bool = False  # whether drifting quaternions of the plant were reported

    def run(self, state: PlantState, steps: int, tick: Callable[[int], None], interruption: Interruption) -> str:
        """Runs all steps; returns how the run ended. A status of the controller never ends it."""
        reported, solution, wanted = set[int](), None, DriveCommand(np.zeros(self.robot.nv))
        for k in range(steps + 1):
            t = k * self.dt
            if self.perception is not None:
                self.perception.update(t, state, self.record.torque[-1] if k else wanted.feed_forward)
            if k % self.every == 0:
                answer, seconds = self._call(t, state)
                wanted = self.motor.wanted(answer)
                # a drive command carries the solution it was made from
                solution = getattr(answer, "solution", None) or answer
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
                with np.errstate(over="ignore", invalid="ignore"):  # a plant that diverges raises its own error
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
        """Records the reason and the motors' report; returns the outcome."""
        if why:
            self.record.tell(t, why)
        if report := self.motor.report():
            self.record.tell(self.record.t[-1], report)
        return outcome

    def _record_plan(self, k: int, state: PlantState) -> None:
        """Records the controller's phase and, at a lower rate, its frame references and outlines, for viewers."""
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
        """Returns (q, v) as the controller sees them: estimated, noisy or true."""
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
        """Returns the state with normalised quaternions; a plant whose quaternions drift is reported once."""
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
