"""From a scenario to a robot, a controller and the options of `simulate`.

A scenario is written for one robot. For another one its lengths are scaled with the height of the standing centre of
mass, its forces with the mass, and postures by names of joints are left to the controller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..body.body import Body
from ..control.constraints import JointLimits, TorqueLimits
from ..control.controller.context import Context
from ..control.controller.controller import WholeBodyController
from ..control.controller.settings import require_settings
from ..control.safety.vfi import Gains
from ..control.stances.machine import Stances
from ..control.stances.postures import find_posture
from ..control.stances.stance import Stance
from ..control.tasks import ForceTask
from ..errors import EquipoiseError, MissingPackageError, require_packages
from ..forms import charts
from ..geometry.primitives import Plane
from ..model.shapes import placement
from .conditions import Push
from .roles import embodied, standing
from .scenario import (
    CONSTRAINTS,
    CONTACTS,
    SOLIDS,
    TASKS,
    FrameTable,
    Scenario,
    ScenarioError,
    StanceTable,
    Waypoint,
    Where,
)
from .scenario_motion import numbers_path, pose_at, pose_path, posture_path
from .toml_source import TomlItem, TomlPlace

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
SURE = 5.0  # standard deviations of an encoder's noise
LENGTHS = "position centre a b point radius size offset safe margin polygon at by"  # keys whose numbers are metres
STANCE_OPTIONS = (
    "speed weights postures clearance load_time shortest time_out slip_limit capture_margin off_limit retries dynamic"
)


@dataclass(frozen=True, eq=False)
class Built:
    """A scenario made for a robot.

    Attributes:
        scale, force_scale: by which lengths and forces of the file are multiplied.
        options: of `eq.simulate`.
    """

    scenario: Scenario
    robot: Robot
    body: Body | None
    own: bool  # whether it is the robot that the file names
    scale: float
    force_scale: float
    start: Array
    controller: Any
    duration: float
    options: Mapping[str, Any] = field(default_factory=dict)
    constraints: tuple[Any, ...] = ()  # of the file, by which margins are judged


@contextmanager
def located_errors(place: TomlPlace | None) -> Iterator[None]:
    """Errors of what is built name the line that asked for it."""
    try:
        yield
    except (ScenarioError, MissingPackageError):
        raise
    except (EquipoiseError, TypeError, ValueError) as error:
        if place is None:
            raise
        place.fail(str(error).rstrip(".") + ".")


def build(scenario: Scenario, robot: str | None = None) -> Built:
    """Make a scenario for a robot, the file's own if none is given."""
    if scenario.plant.kind == "mujoco":
        require_packages("mujoco", "the MuJoCo plant", "mujoco")
    return _builder(scenario, robot).built()


def _builder(scenario: Scenario, robot: str | None) -> _Builder:
    with located_errors(scenario.place.at("robot") if robot is None else None):
        made, body = embodied(robot or scenario.robot)
    if robot in (None, scenario.robot):
        return _Builder(scenario, made, body, True, 1.0, 1.0)
    _, first = embodied(scenario.robot)
    if first is None or body is None or body.kind != first.kind:
        raise ScenarioError(
            f"{scenario.place.source.name}: {robot!r} ({'no feet' if body is None else body.kind}) cannot stand in for "
            f"{scenario.robot!r} ({'no feet' if first is None else first.kind}); a robot with the same number of feet "
            "can."
        )
    return _Builder(scenario, made, body, False, body.height / first.height, body.robot.mass / first.robot.mass)


class _Builder:
    def __init__(
        self, scenario: Scenario, robot: Robot, body: Body | None, own: bool, scale: float, force: float
    ) -> None:
        self.scenario, self.robot, self.body, self.own, self.scale, self.force = (
            scenario,
            robot,
            body,
            own,
            scale,
            force,
        )
        self.standing = self._start()
        for frame in scenario.frame:
            with located_errors(frame.place):
                self.robot = self.robot.with_frame(frame.name, frame.on, self._frame_on(frame))

    def built(self) -> Built:
        scenario = self.scenario
        self.contacts = [self._contact(item) for item in scenario.contact]
        start = self._settled() if scenario.start.settle else self.standing
        self.standing = start
        kinds: dict[str, Callable[[], tuple[Any, Array]]] = {
            "tasks": self._tasks_controller,
            "stances": self._stances_controller,
        }
        if scenario.control.kind not in kinds:
            scenario.place.at("control", "kind").unknown("kind of control", scenario.control.kind, kinds)
        with located_errors(scenario.control.place or scenario.place):
            controller, start = kinds[scenario.control.kind]()
        duration = scenario.duration
        if duration is None:
            duration = float(getattr(controller, "seconds", 0.0)) + scenario.settle
        return Built(
            scenario,
            self.robot,
            self.body,
            self.own,
            self.scale,
            self.force,
            start,
            controller,
            duration,
            self._options(),
            constraints=tuple(self._constraints()),
        )

    # --- start --------------------------------------------------------------------------------------------------------

    def _start(self) -> Array:
        q, start = standing(self.robot, self.body).copy(), self.scenario.start
        for name, position in self._joints(start.posture, self.scenario.place.at("start", "posture")).items():
            q[self.robot.joints[name].q] = position
        if self.robot.floating and start.position is not None:
            q[:3] = self.scale * np.asarray(start.position)
        if self.robot.floating and start.rpy is not None:
            from ..algebra.quaternions import from_rotation

            q[3:7] = from_rotation(placement("start", (0, 0, 0), start.rpy)[:3, :3])
        return q

    def _frame_on(self, frame: FrameTable) -> Array:
        """Pose of a frame of the file in the one that carries it."""
        X = placement(frame.name, tuple(self.scale * x for x in frame.position), frame.rpy)
        if frame.world:
            X[:3, :3] = self.robot.pose(self.standing, frame.on)[:3, :3].T @ X[:3, :3]
        return X

    def _settled(self) -> Array:
        place = self.scenario.place.at("start", "settle")
        with located_errors(place):
            found = find_posture(self.robot, dict.fromkeys(self.contacts), posture=self.standing, start=self.standing)
        return found.q if found.converged else place.fail(f"no posture at rest was found: {found.reason}")

    def _joints(self, given: Mapping[str, float] | None, place: TomlPlace) -> dict[str, float]:
        """Joints by name; those of a file written for another robot are left out."""
        if not self.own:
            return {}
        for name in given or {}:
            if name not in self.robot.joints:
                place.at(name).unknown("joint", name, self.robot.joints)
        return dict(given or {})

    # --- things -------------------------------------------------------------------------------------------------------

    def _scaled(self, options: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: self._made(x) if isinstance(x, TomlItem) else _times(self.scale, x) if name in LENGTHS.split() else x
            for name, x in options.items()
        }

    def _made(self, item: TomlItem) -> Any:
        """A primitive or box."""
        with located_errors(item.place):
            options = self._scaled({name: x for name, x in item.options.items() if name != "name"})
            return SOLIDS[item.kind](**options)

    def _contact(self, item: TomlItem) -> Any:
        options = dict(item.options)
        frame = options.get("frame") or item.place.fail(f"{item.place.what} needs a frame")
        part = self.body.parts.get(frame) if self.body else None
        if item.kind != "point" and "corners" not in options:
            if part is None or len(part.corners) < 3:
                item.place.fail(f'{frame!r} has no flat that is known; give its corners, or say kind = "point"')
            options["corners"] = np.array(part.corners)
        with located_errors(item.place):
            made = CONTACTS[item.kind](**options)
            made.check(self.robot)
            return made

    def _constraints(self) -> list[Any]:
        made = []
        for item in self.scenario.constraint:
            with located_errors(item.place):
                options = self._scaled(item.options)
                if "rates" in options:
                    options["gains"] = Gains.of_rates(*options.pop("rates"))
                constraint: Any = CONSTRAINTS[item.kind](**options)
                constraint.check(self.robot)
                made.append(constraint)
        at_rest = [constraint.at_rest(self.robot) for constraint in made]
        if self.scenario.control.level == "torque" and all(rest.effort is None for rest in at_rest):
            made.append(TorqueLimits())
        return [*made, JointLimits()] if all(rest.positions is None for rest in at_rest) else made

    @property
    def _context(self) -> Context:
        control = self.scenario.control
        return Context(self.robot, control.level, control.dt, {contact.label: contact for contact in self.contacts})

    def _tasks(self, q: Array) -> list[Any]:
        made = []
        for item in self.scenario.task:
            options = {name: x for name, x in item.options.items() if name != "path"}
            with located_errors(item.place):
                task: Any = TASKS[item.kind](**options)
                task.check(self.robot)
                require_settings(task, self._context)
                if "path" in item.options:
                    task = TASKS[item.kind](**{**options, "target": self._target(task, item, q)})
                made.append(task)
        control = self.scenario.control
        given = {task.needs_contact for task in made}
        if control.level == "torque" and control.force_weight:
            light = [c.label for c in self.contacts if c.label not in given]
            made += [ForceTask(name, name=f"{name} light", weight=control.force_weight) for name in light]
        return made

    def _target(self, task: Any, item: TomlItem, q: Array) -> Any:
        path: tuple[Waypoint, ...] = item.options["path"]
        reference, here = task.reference(self._context), task.here(self.robot, q)
        if "configuration" in reference.shapes:
            return posture_path(self.robot, path, q, lambda point: self._joints(point.joints, point.place.at("joints")))
        if np.shape(here) == (3,):
            return numbers_path(path, here, lambda point: pose_at(point, _at(here), self.scale)[:3, 3])
        if getattr(reference, "place", False):
            return numbers_path(path, here[:3, 3], lambda point: pose_at(point, here, self.scale)[:3, 3])
        if "pose" in reference.shapes:
            return pose_path(path, here, self.scale)
        return numbers_path(path, here, lambda point: point.value if point.value is not None else here)

    # --- controllers --------------------------------------------------------------------------------------------------

    def _tasks_controller(self) -> tuple[Any, Array]:
        control, q = self.scenario.control, self.standing
        constraints = self._constraints()
        controller = WholeBodyController(
            self.robot, self._tasks(q), self.contacts, constraints, control.level, control.priorities, dt=control.dt
        )
        return controller, q

    def _stances_controller(self) -> tuple[Any, Array]:
        control, scenario = self.scenario.control, self.scenario
        given = {name: getattr(control, name) for name in STANCE_OPTIONS.split()}
        options = {name: x for name, x in given.items() if x is not None}
        if "speed" in options:
            options["speed"] = tuple(options["speed"])
        blur = SURE * float((scenario.disturbance.noise or {}).get("position", 0.0))
        constraints = [
            c.tightened(blur) for c in self._constraints()
        ]  # true joints keep their limits, not measured ones
        options["postures"] = {"constraints": self._farther(constraints), **options.get("postures", {})}
        stances = [self._stance(stance) for stance in scenario.stance]
        machine = Stances(
            self.robot, stances, self.contacts, start=self.standing, tasks=self._tasks(self.standing),
            constraints=constraints, dt=control.dt, chart=charts.named(control.chart), **options,
        )  # fmt: skip
        return machine, machine.q0

    def _farther(self, constraints: list[Any]) -> tuple[Any, ...]:
        """The constraints for postures: farther from joint limits, so that the motion has room around them."""
        more = self.scenario.control.limit_margin
        return tuple(c.tightened(more) for c in constraints)

    def _stance(self, stance: StanceTable) -> Stance:
        frames = {contact.label: contact.frame for contact in self.contacts}
        for k, name in enumerate(stance.contacts):
            if name not in frames:
                stance.place.at("contacts", k).unknown("contact", name, frames)
        points = {c.label for c in self.contacts if c.pivots}
        places = {}
        for name, where in stance.places.items():
            if name not in frames:
                where.place.unknown("contact", name, frames)
            places[name] = self._where(where, frames[name], bare=name in points)
        targets = {frame: self._where(where, frame, bare=True) for frame, where in stance.targets.items()}
        com = None if stance.com is None else self._com(stance.com)
        posture = self._joints(stance.posture, stance.place.at("posture")) or None
        with located_errors(stance.place):
            return Stance(stance.contacts, posture, stance.name, places, targets, com, stance.seconds, stance.hold)

    def _where(self, where: Where, frame: str, bare: bool) -> Any:
        """A pose; a place alone where no orientation is given and none is needed; or a plane."""
        if where.plane is not None:
            *normal, offset = where.plane
            return Plane(tuple(normal), offset * self.scale)
        if frame not in self.robot.frames:
            where.place.unknown("frame", frame, self.robot.frames)
        X = pose_at(where, self.robot.pose(self.standing, frame), self.scale)
        return X[:3, 3] if bare and where.rpy is None and where.turn is None else X

    def _com(self, where: Where) -> Array:
        here = self.robot.com(self.standing)
        if where.at is not None:
            return self.scale * np.asarray(where.at)
        return here if where.by is None else here + self.scale * np.asarray(where.by)

    # --- the plant ----------------------------------------------------------------------------------------------------

    def _options(self) -> dict[str, Any]:
        plant, scenario = self.scenario.plant, self.scenario
        options: dict[str, Any] = {"plant": plant.kind, "dt": plant.dt, "delay": plant.delay}
        for name in ("friction", "substeps", "damping", "armature"):
            if getattr(plant, name) is not None:
                options[name] = getattr(plant, name)
        if not plant.ground:
            options["ground"] = None
        if plant.fall is not None:
            options["fall"] = dict(plant.fall)
        options["obstacles"] = [self._made(item) for item in scenario.obstacle]
        options["pushes"] = [self._push(item) for item in scenario.push]
        return options

    def _push(self, item: TomlItem) -> Push:
        options = dict(item.options)
        for name in ("force", "torque"):
            if name in options:
                options[name] = self.force * np.asarray(options[name])
        for name in ("frame", "force", "start", "duration"):
            if name not in options:
                item.place.fail(f"{item.place.what} needs {name!r}, which is missing")
        if options["frame"] not in self.robot.frames:
            item.place.at("frame").unknown("frame", options["frame"], self.robot.frames)
        return Push(**options)


def _at(place: Array) -> Array:
    X = np.eye(4)
    X[:3, 3] = place
    return X


def _times(scale: float, value: Any) -> Any:
    return (
        [_times(scale, x) for x in value]
        if isinstance(value, list | tuple)
        else value * scale
        if not isinstance(value, bool | str)
        else value
    )
