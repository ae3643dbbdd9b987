"""The interface of plants, `reset` and `step`, and the common base of our own."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..errors import ModelWarning, ShapeError, StateError, unknown_name
from .contacts import ContactInfo, ContactPoints, contacts_of
from .world import GROUND, Solid, solids

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
Wrenches = Mapping[str, Array]
NO_WRENCHES: Wrenches = {}


@dataclass(frozen=True, eq=False)
class PlantState:
    """Where a plant is after a step.

    Attributes:
        q, v: configuration and velocity.
        t: time since the reset, s.
        wrenches: mean (force, torque) over the step on the robot at each contact's frame, world axes.
        events: texts of what happened in the step.
    """

    q: Array
    v: Array
    t: float
    wrenches: Mapping[str, Array] = field(default_factory=dict)
    events: tuple[str, ...] = ()


class Plant(Protocol):
    """Interface of a plant. `wrenches` are external wrenches on frames, (force, torque) in world axes, e.g. pushes."""

    def reset(self, q: Array, v: Array) -> Any: ...

    def step(self, tau: Array, dt: float, wrenches: Wrenches = NO_WRENCHES) -> PlantState: ...


class OwnPlant:
    """Common part of this library's own plants: robot, contact points, world and state."""

    world: tuple[Solid, ...]
    points: ContactPoints
    q: Array
    v: Array
    t: float

    def __init__(
        self,
        robot: Robot,
        contacts: Any = (),
        *,
        ground: Any = GROUND,
        obstacles: Sequence[Any] = (),
        friction: float | None = None,
    ) -> None:
        self.robot = robot
        self.contacts: dict[str, ContactInfo] = contacts_of(robot, contacts, friction)
        self.points = ContactPoints(robot, self.contacts)
        self.world = solids(obstacles, ground)
        self.q, self.v, self.t = robot.neutral(), np.zeros(robot.nv), 0.0
        self.has_springs = any(joint.dynamics.stiffness for joint in robot.joints.values())
        if robot.model.loops:
            text = f'{robot.name!r} has closed loops, which this plant leaves open; plant="mujoco" closes them'
            warnings.warn(text, ModelWarning, stacklevel=3)

    def reset(self, q: Array, v: Array) -> PlantState:
        """Start anew at time 0."""
        self.q, self.v = checked_state(self.robot, q, v)
        self.t = 0.0
        return PlantState(self.q, self.v, self.t)

    def generalised(self, q: Array, tau: Array, wrenches: Wrenches) -> Array:
        """tau with the pushes and the springs of joints, as one generalised force."""
        if self.has_springs:
            tau = tau - self.robot.spring_force(q)
        for frame, wrench in wrenches.items():
            tau = tau + self.robot.jacobian(q, frame).T @ wrench
        return tau


def checked_state(robot: Robot, q: Array, v: Array) -> tuple[Array, Array]:
    """Copies, of the right shapes and finite."""
    q, v = np.array(q, dtype=float), np.array(v, dtype=float)
    for name, values, size in (("q", q, robot.nq), ("v", v, robot.nv)):
        if values.shape != (size,):
            raise ShapeError(f"{name} of a plant has shape ({size},), got {values.shape}")
        if not np.isfinite(values).all():
            raise StateError(f"{name} of a plant holds NaN or infinity")
    return q, v


def require_finite(v: Array) -> None:
    """The motion is still one; numbers beyond 1e12 grow to infinity."""
    if not np.all(np.abs(v) < 1e12):
        raise StateError("the motion is no longer finite")


def make_plant(name: str, robot: Robot, contacts: Any = (), **options: Any) -> Plant:
    """A plant by name: "ideal", "hard", "soft", "mujoco" or "kinematic"; options as of its class."""
    if name not in PLANTS:
        raise unknown_name("plant", name, PLANTS)
    module, kind = PLANTS[name]
    import importlib

    made = getattr(importlib.import_module(module, __package__), kind)
    try:
        return made(robot, contacts, **options)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        known = _options_of(made)
        wrong = next((name for name in options if name not in known), str(error))
        raise unknown_name(f"option of the {name} plant", wrong, known) from None


def _options_of(made: Any) -> list[str]:
    import inspect

    every = [one for part in made.__mro__[:-1] for one in inspect.signature(part).parameters.values()]
    return list(dict.fromkeys(one.name for one in every if one.kind is one.KEYWORD_ONLY))


PLANTS = {
    "ideal": (".ideal", "IdealPlant"),
    "hard": (".hard", "HardPlant"),
    "soft": (".soft", "SoftPlant"),
    "mujoco": (".mujoco_plant", "MujocoPlant"),
    "kinematic": (".kinematic", "KinematicPlant"),
}
