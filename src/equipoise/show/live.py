"""A controller that runs while somebody watches, pauses, steps and drags its targets."""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np

from ..algebra import quaternions, rigid
from ..errors import EquipoiseError, StateError
from ..model.types import Array
from ..robot import Robot
from ..simulate.planned import PlanReader
from .moments import Moment, com_velocity
from .panels import Panel
from .scene import RobotScene, _node

REMEMBERED = 10.0  # s, in the curves
BUSY = 0.08  # s that one round of steps may take before the picture is drawn again


class DraggedTarget(Protocol):
    """A task whose target is a pose in the world, to be dragged."""

    @property
    def name(self) -> str: ...
    @property
    def frame(self) -> str: ...


class OwnAccelerations:
    """The plant in which the robot moves exactly as the controller says: its accelerations, or its velocities,
    integrated."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot

    def reset(self, q: Array, v: Array) -> None:
        self.t, self.q, self.v = 0.0, np.array(q), np.array(v)

    def obey(self, solution: Any, dt: float) -> SimpleNamespace:
        """One step of what the solution says; a step it could not solve leaves the velocity as it is."""
        a = getattr(solution, "acceleration", None)
        if a is None or not np.isfinite(a).all():
            a = np.zeros(self.robot.nv)
        command = getattr(solution, "velocity", None)
        moving = command if command is not None and not np.any(a) and np.isfinite(command).all() else self.v + dt * a
        self.q = self.robot.integrate(self.q, 0.5 * (self.v + moving) if np.any(a) else moving, dt)
        self.v, self.t = np.array(moving), self.t + dt
        return SimpleNamespace(t=self.t, q=self.q, v=self.v, wrenches=getattr(solution, "forces", {}))


class Live:
    """The loop of controller and plant, and its curves."""

    def __init__(
        self,
        scene: RobotScene,
        controller: Callable[[float, Array, Array], Any],
        plant: Any,
        q: Array,
        v: Array,
        dt: float,
    ) -> None:
        if not dt > 0:
            raise StateError(f"dt must be positive, in seconds; got {dt!r}")
        self.scene, self.controller, self.dt = scene, controller, float(dt)
        self.plan = PlanReader(controller, scene.robot, warnings.warn)
        self.plant = OwnAccelerations(scene.robot) if plant is None else plant
        self.start = np.array(q, dtype=float), np.array(v, dtype=float)
        self.lock = threading.RLock()
        self.playing, self.speed, self.debt = False, 1.0, 0.0
        self.on_error: Callable[[BaseException], None] | None = None
        self.references: dict[str, Array] = {}  # by frame, (4, 4): targets that were dragged
        self.restart()

    def restart(self) -> None:
        """Back to the first state."""
        with self.lock:
            if callable(reset := getattr(self.controller, "reset", None)):
                reset()
            self.plant.reset(*self.start)
            self.t, (self.q, self.v) = 0.0, self.start
            self.history: deque[tuple[float, dict[str, dict[str, float]]]] = deque(maxlen=int(REMEMBERED / self.dt) + 1)
            self.wrenches: Mapping[str, Array] = {}
            self.solution: Any = None
            self.show()

    def show(self) -> None:
        """The picture of now."""
        velocity = com_velocity(self.scene.robot, self.q, self.v)
        wanted = {} if self.solution is None else self.plan.references(self.q)
        references = {**wanted, **self.references}
        outlines = {} if self.solution is None else self.plan.outlines(self.q)
        self.scene.show(Moment(self.t, self.q, self.wrenches, velocity, references, outlines))

    def toggle(self) -> None:
        """Run, or pause."""
        self.playing = not self.playing

    def single(self) -> None:
        """Pause and take one step."""
        self.playing = False
        self.step()

    def guarded(self, act: Callable[[], Any]) -> None:
        """Do what a person asked for; an error goes to whoever listens, since nobody waits for the answer."""
        try:
            act()
        except Exception as error:  # a controller may raise anything
            if self.on_error is None:
                raise
            self.on_error(error)

    def step(self, count: int = 1) -> None:
        """Control steps, then a picture."""
        with self.lock:
            for _ in range(count):
                self._once()
            self.show()

    def advance(self, seconds: float) -> bool:
        """As many steps as the clock asks for and the processor allows; whether anything moved."""
        with self.lock:
            if not self.playing:
                self.debt = 0.0
                return False
            self.debt = min(self.debt + self.speed * seconds, 10 * BUSY)  # slower than real time: drop what is owed
            end = perf_counter() + BUSY
            moved = False
            while self.debt >= self.dt * (1 - 1e-9) and perf_counter() < end:
                self._once()
                self.debt -= self.dt
                moved = True
            if moved:
                self.show()
            return moved

    def _once(self) -> None:
        solution = self.controller(self.t, self.q, self.v)
        if isinstance(self.plant, OwnAccelerations):
            state = self.plant.obey(solution, self.dt)
        else:
            command = getattr(solution, getattr(self.plant, "command", "torque"))
            state = self.plant.step(np.asarray(command, dtype=float), self.dt)
        if not (np.isfinite(state.q).all() and np.isfinite(state.v).all()):
            self.playing = False
            raise StateError(
                f"the state is not finite any more at t = {self.t + self.dt:.4f} s; the last good one is shown"
            )
        self.solution, self.t = solution, self.t + self.dt
        self.q, self.v = np.array(state.q), np.array(state.v)
        self.wrenches = dict(getattr(state, "wrenches", None) or getattr(solution, "forces", None) or {})
        self.history.append((self.t, self._figures(solution)))

    def _figures(self, solution: Any) -> dict[str, dict[str, float]]:
        effort = self.scene.robot.limits.effort
        torque = np.abs(np.asarray(getattr(solution, "torque", np.zeros(len(effort))), dtype=float))
        bound = np.isfinite(effort) & (effort > 0)
        load = float((torque[bound] / effort[bound]).max(initial=0.0))
        return {
            "task errors": dict(getattr(solution, "task_errors", None) or {}),
            "constraint margins": dict(getattr(solution, "margins", None) or {}),
            "largest torque / limit": {"largest": load},
            "vertical forces, N": {name: float(F[2]) for name, F in self.wrenches.items()},
        }

    def curves(self) -> tuple[Array, dict[str, dict[str, Array]]]:
        """Times, and by chart and name the values."""
        with self.lock:
            samples = list(self.history)
        t = np.array([time for time, _ in samples])
        names: dict[str, dict[str, None]] = {}
        for _, figures in samples:
            for title, lines in figures.items():
                names.setdefault(title, {}).update(dict.fromkeys(lines))
        return t, {
            title: {name: np.array([figures[title].get(name, np.nan) for _, figures in samples]) for name in lines}
            for title, lines in names.items()
            if lines
        }

    @property
    def status(self) -> str:
        """What the last solution says of itself."""
        status = getattr(self.solution, "status", None)
        return str(getattr(status, "value", status if status is not None else "not started"))


class LivePanels:
    """Charts of a live run; each appears when its first numbers come."""

    LIMITS: Mapping[str, float] = {"constraint margins": 0.0, "largest torque / limit": 1.0}

    def __init__(self, server: Any) -> None:
        self.server, self.folder = server, server.gui.add_folder("curves")
        self.panels: dict[str, Panel] = {}

    def update(self, live: Live) -> None:
        t, curves = live.curves()
        if not len(t):
            return
        span = (float(t[0]), max(float(t[-1]), float(t[0]) + 1.0))
        for title, lines in curves.items():
            if title not in self.panels:
                with self.folder:
                    self.panels[title] = Panel(self.server, title, list(lines), self.LIMITS.get(title), span)
            self.panels[title].update(t, lines, span)


def draggable(controller: Any, targets: Iterable[DraggedTarget] | None) -> Sequence[DraggedTarget]:
    """The tasks to drag: those given, or those of the controller that hold a frame at a pose that is not a function of
    time."""
    if targets is not None:
        return list(targets)
    tasks = [task for task in parts(controller, "tasks") if isinstance(getattr(task, "frame", None), str)]
    return [task for task in tasks if _is_pose_like(getattr(task, "target", 0.0)) and not hasattr(task, "seen_from")]


def parts(controller: Any, what: str) -> tuple[Any, ...]:
    """Tasks or contacts of a controller: its own attribute, or that of its `items`."""
    own = getattr(controller, what, None)
    return tuple(own if own is not None else getattr(getattr(controller, "items", None), what, ()))


def _is_pose_like(target: Any) -> bool:
    return target is None or (not callable(target) and np.shape(target) in ((4, 4), (3,)))


def name_of(task: DraggedTarget) -> str:
    """How the controller calls a task."""
    return str(getattr(task, "name", "") or getattr(task, "label", "") or task.frame)


def set_target(controller: Any, task: DraggedTarget, X: Array) -> None:
    """A new target for a task: `controller.set_target(name, X)` where there is one, else `task.target = X`."""
    setter = getattr(controller, "set_target", None)
    if callable(setter):
        setter(name_of(task), X)
        return
    try:
        task.target = X  # type: ignore[attr-defined]
    except AttributeError:
        raise EquipoiseError(
            f"the target of {name_of(task)!r} cannot be set: the controller has no set_target(name, X), and the task "
            "is frozen"
        ) from None


def add_handles(server: Any, live: Live, tasks: Sequence[DraggedTarget]) -> dict[str, Any]:
    """A gizmo at each target; dragging it moves the target while the controller runs."""
    handles = {}
    for task in tasks:
        X = live.scene.robot.pose(live.q, task.frame)
        target: Any = getattr(task, "target", None)
        if np.shape(target) == (4, 4):
            X = np.asarray(target, dtype=float)
        elif np.shape(target) == (3,):
            X = rigid.pose(X[:3, :3], np.asarray(target, dtype=float))
        handle = server.scene.add_transform_controls(
            f"/handles/{_node(name_of(task))}", scale=0.25 * live.scene.size, depth_test=False,
            position=X[:3, 3], wxyz=quaternions.from_rotation(X[:3, :3]),
        )  # fmt: skip
        handle.on_update(_on_drag(live, task))
        handles[name_of(task)] = handle
    return handles


def _on_drag(live: Live, task: DraggedTarget) -> Callable[[Any], None]:
    def dragged(event: Any) -> None:
        X = rigid.pose(
            quaternions.rotation(tuple(map(float, event.target.wxyz))), np.array(event.target.position, dtype=float)
        )
        live.references[task.frame] = X
        before: Any = getattr(task, "target", None)
        if np.shape(before) == (3,):
            X = X[:3, 3]
        with live.lock:
            live.guarded(lambda: set_target(live.controller, task, X))

    return dragged
