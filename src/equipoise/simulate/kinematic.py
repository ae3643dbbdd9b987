"""The kinematic plant: it follows commanded velocities exactly. For velocity controllers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .contacts import ContactInfo, contacts_of
from .plant import NO_WRENCHES, PlantState, Wrenches, checked_state

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray


class KinematicPlant:
    """A plant whose step takes a velocity instead of a torque; pushes have no effect."""

    contacts: dict[str, ContactInfo]
    robot: Robot
    q: Array
    v: Array
    t: float

    command = "velocity"

    def __init__(self, robot: Robot, contacts: Any = (), *, friction: float | None = None) -> None:
        self.robot, self.contacts = robot, contacts_of(robot, contacts, friction)

    def reset(self, q: Array, v: Array) -> PlantState:
        self.q, self.v = checked_state(self.robot, q, v)
        self.t = 0.0
        return PlantState(self.q, self.v, self.t)

    def step(self, tau: Array, dt: float, wrenches: Wrenches = NO_WRENCHES) -> PlantState:
        self.v = np.array(tau, dtype=float)
        self.q, self.t = self.robot.integrate(self.q, self.v, dt), self.t + dt
        return PlantState(self.q, self.v, self.t)
