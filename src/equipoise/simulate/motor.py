"""Converts a controller's result to the commanded torque: delay, PD loops of the drives, limits."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShapeError, StateError

if TYPE_CHECKING:
    from ..robot import Robot
    from .actuators import Actuators
    from .plant import PlantState

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class DriveCommand:
    """A command to the drives: feed-forward torque (or velocity) and optionally joint targets and gains."""

    feed_forward: Array  # (nv,)
    position: Array | None = None  # joint targets, as in q
    velocity: Array | None = None  # targets of the joint rates
    kp: Array | None = None
    kd: Array | None = None


class Motor:
    """The drives of one robot in one run; counts the steps in which a command was clipped.

    Args:
        robot: the robot.
        delay: steps by which commands are delayed.
        clip: whether commands are clipped at the limits.
        command: input of the plant, "torque" or "velocity".
        actuators: give kp and kd for commands that have none.
    """

    def __init__(self, robot: Robot, delay: int, clip: bool, command: str, actuators: Actuators | None) -> None:
        if delay < 0 or delay != int(delay):
            raise StateError(f"delay is a number of steps, 0 or more; got {delay!r}")
        self.robot, self.command, self.base = robot, command, 6 if robot.floating else 0
        limits = robot.limits
        self.most = (
            np.asarray(limits.effort if command == "torque" else limits.velocity) if clip else np.full(robot.nv, np.inf)
        )
        motors = robot.actuated
        # coordinates without a motor; a robot without any motor receives the command as it is
        self.without = ~motors & motors.any()
        self.over = self.most * (1 + 1e-9)  # tolerance: a solver meets limits only up to rounding
        self.waiting: deque[DriveCommand] = deque()
        self.delay, self.cut = int(delay), np.zeros(robot.nv, dtype=int)
        own = {name: None if actuators is None else actuators.array(robot, name) for name in ("kp", "kd")}
        self.own_gains = {name: gains if gains is not None and gains.any() else None for name, gains in own.items()}

    def wanted(self, answer: Any) -> DriveCommand:
        """Returns the controller's command, checked."""
        value = getattr(answer, self.command, None)
        wanted = np.array(np.nan if value is None else value, dtype=float)
        if wanted.shape != (self.robot.nv,):
            raise ShapeError(
                f"the controller's result must have {self.command!r} of shape ({self.robot.nv},), the six zeros of a "
                f"free base first; got {'none' if value is None else wanted.shape}"
            )
        if self.command == "torque":
            wanted[self.without] = 0.0
        return self._with_targets(wanted, answer) if self.command == "torque" else DriveCommand(wanted)

    def _with_targets(self, torque: Array, answer: Any) -> DriveCommand:
        """Adds the joint targets and gains to the command, if the result has targets."""
        position, n = getattr(answer, "position", None), self.robot.nv - self.base
        if position is None:
            return DriveCommand(torque)
        gains = []
        for name in ("kp", "kd"):
            given = getattr(answer, name, None)
            gains.append(self.own_gains[name] if given is None else _sized(name, np.broadcast_to(given, (n,)), n))
        rates = getattr(answer, "velocity", None)
        place = _sized("position", position, self.robot.nq - (7 if self.base else 0))
        return DriveCommand(torque, place, np.zeros(n) if rates is None else _sized("velocity", rates, n), *gains)

    def acting(self, wanted: DriveCommand, state: PlantState) -> tuple[Array, list[str]]:
        """Returns (command for the step from `state` on, names of joints clipped for the first time)."""
        sent = self._late(wanted)
        asked, limited = sent.feed_forward + self._loops(sent, state), list[str]()
        over = np.abs(asked) > self.over
        if over.any():
            limited = self._names(over & (self.cut == 0))
            self.cut += over
            asked = np.clip(asked, -self.most, self.most)
        return asked, limited

    def _late(self, wanted: DriveCommand) -> DriveCommand:
        if not self.delay:
            return wanted
        if not self.waiting:
            self.waiting.extend([wanted] * self.delay)
        self.waiting.append(wanted)
        return self.waiting.popleft()

    def _loops(self, sent: DriveCommand, state: PlantState) -> Array:
        """Returns kp (position − q) + kd (velocity − v) of the drives, (nv,)."""
        push = np.zeros(self.robot.nv)
        if sent.position is None:
            return push
        if sent.kp is not None:
            goal = state.q.copy()
            goal[7 if self.base else 0 :] = sent.position
            push[self.base :] += sent.kp * self.robot.difference(state.q, goal)[self.base :]
        if sent.kd is not None:
            push[self.base :] += sent.kd * (sent.velocity - state.v[self.base :])
        return push

    def report(self) -> str | None:
        """Returns one line with the number of clipped steps of each joint, or None."""
        names = {
            name: int(self.cut[joint.v].max()) for name, joint in self.robot.joints.items() if self.cut[joint.v].any()
        }
        counts = ", ".join(f"{name} {count}" for name, count in names.items())
        return f"{self.command} cut at its limit, cycles: {counts}" if counts else None

    def _names(self, which: Array) -> list[str]:
        return [name for name, joint in self.robot.joints.items() if joint.mimic is None and which[joint.v].any()]


def _sized(name: str, values: Any, size: int) -> Array:
    array = np.asarray(values, dtype=float)
    if array.shape != (size,):
        raise ShapeError(f"the controller's {name} has shape ({size},), the joints without the base; got {array.shape}")
    return array
