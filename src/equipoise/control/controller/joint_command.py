"""Position targets with feed-forward torque and gains: the command that the joint drives of most robots take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..item import TaskError

if TYPE_CHECKING:
    from ...robot import Robot
    from .solution import Solution

Array = np.ndarray
# one number, one for each joint rate, or numbers by joint (0 for the others)
Gain = float | Array | Mapping[str, float]


@dataclass(frozen=True, eq=False)
class JointCommand:
    """One command to the joint drives. Each drive adds to its torque what its own fast loop makes of the targets,

        τ = torque + kp (position − q) + kd (velocity − v).

    Attributes:
        position: targets of the joints as in q, without the seven numbers of a free base.
        velocity: targets of the joint rates, without the six of a free base.
        torque: feed-forward, N m, (nv,), zeros for a free base first, as everywhere.
        kp: N m/rad, as long as `velocity`.
        kd: N m s/rad, likewise.
        solution: what it was made of.
    """

    position: Array
    velocity: Array
    torque: Array
    kp: Array
    kd: Array
    solution: Solution | None = field(default=None, repr=False)


class Commanding(Protocol):
    """A controller that answers a `Solution`."""

    def __call__(self, t: float, q: Array, v: Array, /) -> Solution: ...


class JointCommander:
    """A controller for robots with joint drives: the `JointCommand` of what another controller answers.

    Args:
        controller: called with (t, q, v), answers a `Solution`.
        kp, kd: gains of the drives.
        leak: 1/s at which targets return to what was measured; the larger, the less the drives insist on the model's
            motion. Joints of a limb return at once when its contact is made.
    """

    def __init__(self, controller: Commanding, kp: Gain, kd: Gain, *, leak: float = 10.0) -> None:
        if not (np.isfinite(leak) and leak >= 0):
            raise TaskError(f"leak is a number from 0 on, in 1/s; got {leak!r}")
        self.controller, self.kp, self.kd, self.leak = controller, kp, kd, leak
        self.last: JointCommand | None = None

    def __getattr__(self, name: str) -> Any:
        if name == "controller":  # not yet there, while it is unpickled
            raise AttributeError(name)
        return getattr(self.controller, name)

    def reset(self) -> None:
        """Forget the last command, and reset the controller if it can be."""
        self.last = None
        if hasattr(self.controller, "reset"):
            self.controller.reset()

    def __call__(self, t: float, q: Array, v: Array) -> JointCommand:
        """One step of control at time t (s) in state (q, v)."""
        self.last = self.controller(t, q, v).joint_command(self.kp, self.kd, previous=self.last, leak=self.leak)
        return self.last


def joint_command(
    solution: Solution, kp: Gain, kd: Gain, previous: JointCommand | None = None, leak: float = 10.0
) -> JointCommand:
    """The command to joint drives of a solution, see `Solution.joint_command`."""
    step = solution.step
    context = step.structure.layout.context
    robot, dt = context.robot, context.dt
    gains = gain_array(robot, "kp", kp), gain_array(robot, "kd", kd)
    base_q, base_v = (7, 6) if robot.floating else (0, 0)
    if solution.status.fallback or not step.saw_state:  # there is no motion to follow: torques alone
        here = step.q if step.saw_state else robot.neutral()
        still = np.zeros_like(gains[0])
        position = here[base_q:].copy() if previous is None else previous.position
        return JointCommand(position, still, solution.torque.copy(), still, gains[1], solution)
    v = solution.velocity if context.level == "velocity" else step.v
    a = np.zeros(robot.nv) if context.level == "velocity" else solution.acceleration
    q_to = robot.integrate(step.q, v * dt / 2 + a * dt**2 / 8)
    v_to = v + a * dt / 2
    if previous is not None:
        part = _leaked(solution, previous, leak)
        v_to[base_v:] += (1 - part[base_v:]) * (previous.velocity + a[base_v:] * dt - v_to[base_v:])
        q_to = _continued(robot, previous, q_to, v_to, dt, part)
    return JointCommand(q_to[base_q:], v_to[base_v:], solution.torque.copy(), *gains, solution)


def _leaked(solution: Solution, previous: JointCommand, leak: float) -> Array:
    """Parts of all rates, (nv,), by which targets return to what was measured in this step: all the way for joints
    between the base and a contact that was just made.

    The impact stops such a limb, and no wanted acceleration says so: targets that went on would press the foot ahead
    and down until they have leaked away, and brake the whole body.
    """
    step = solution.step
    context, items = step.structure.layout.context, step.structure.layout.items
    tree, part = context.robot.tree, np.full(context.robot.nv, -np.expm1(-leak * context.dt))
    before = step.contacts if previous.solution is None else previous.solution.step.contacts
    for contact in items.contacts:
        if contact.label in step.contacts and contact.label not in before:
            for k in tree.ancestors(context.robot.place(contact.frame)[0]):
                part[tree.bodies[k].v] = 1.0
    return part


def _continued(robot: Robot, previous: JointCommand, q_to: Array, v_to: Array, dt: float, part: Array) -> Array:
    """Targets that go on from the last ones at the wanted rate, and return by a part to what was measured."""
    base = 7 if robot.floating else 0
    before = q_to.copy()
    before[base:] = previous.position
    moved = v_to.copy()
    moved[: 6 if robot.floating else 0] = 0.0
    ahead = robot.integrate(before, moved * dt)
    return robot.integrate(ahead, part * robot.difference(ahead, q_to))


def gain_array(robot: Robot, name: str, given: Gain) -> Array:
    """Gains of all joint rates, without those of a free base; zero where there is no motor."""
    base = 6 if robot.floating else 0
    n = robot.nv - base
    if isinstance(given, Mapping):
        values = np.zeros(robot.nv)
        for joint, value in given.items():
            if joint not in robot.joints:
                raise TaskError(f"{name}: there is no joint {joint!r}; joints are {', '.join(robot.joints)}")
            values[robot.joints[joint].v] = value
        values = values[base:]
    else:
        values = np.asarray(given, dtype=float)
    if values.shape not in ((), (n,)) or not (np.isfinite(values).all() and (values >= 0).all()):
        raise TaskError(
            f"{name} is one number, {n} of them (one for each joint rate) or numbers by joint, from 0 on; got {given!r}"
        )
    return np.where(robot.actuated[base:], values, 0.0)
