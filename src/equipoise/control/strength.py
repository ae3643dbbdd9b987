"""Whether a robot can stand at all: what it stands on, and whether its motors carry it."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from ..body.body import Body, BodyError
from ..body.grounding import foot_points
from ..errors import ModelWarning
from .controller.controller import WholeBodyController

Array = np.ndarray
COM = "centre of mass"  # label of its task
NARROW = 0.01  # of the height of the centre of mass: a support region this narrow is a line
FALLS = 1.0  # m/s²: a robot at rest whose centre of mass accelerates so much falls
AT_LIMIT = 0.999
ROUNDS = 4  # torques that find no limit any more go to other joints: those come next


def require_support(body: Body) -> None:
    """Refuse what cannot stand still: two points, or one line."""
    points = foot_points(body)
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    if len(points) < 3 or spread[1] < NARROW * body.height:
        feet = ", ".join(f"{role} ({part.contact})" for role, part in body.feet.items())
        raise BodyError(
            f"{body.robot.name!r} cannot stand still: {feet} give it a line to stand on, no area. It has to step. "
            f'If its feet are larger, write so in the profile: [parts.{next(iter(body.feet))!r}] contact = "flat", '
            "corners = …"
        )


def strong_enough(body: Body, make: Callable[[Body], WholeBodyController]) -> tuple[Body, WholeBodyController]:
    """(body, controller) that hold the standing posture; effort limits too small for that are placeholders, and left
    out.

    Args:
        make: builds the controller of a body, with a task `COM`.
    """
    freed: dict[str, float] = {}
    for _ in range(ROUNDS):
        controller = make(body)
        solution = controller(0.0, body.standing, np.zeros(body.robot.nv))
        if not solution.status.ok or solution.step.shares[COM][2] < FALLS:
            break
        weak = _at_their_limits(body, solution.torque)
        if not weak:
            break
        freed |= weak
        robot = body.robot.with_limits(list(weak), effort=np.inf)
        body = Body(robot, body.profile, body.frames)
    controller.reset()
    if solution.status.ok and solution.step.shares[COM][2] >= FALLS:
        raise BodyError(_too_weak(body))
    if freed:
        shown = ", ".join(f"{name!r} ({effort:g})" for name, effort in list(freed.items())[:6]) + (
            ", …" if len(freed) > 6 else ""
        )
        warnings.warn(
            f"{body.robot.name!r}: effort limits of {shown} cannot carry it where it stands; taken as none. "
            "robot.with_limits sets them", ModelWarning, stacklevel=4,
        )  # fmt: skip
    return body, controller


def _at_their_limits(body: Body, torque: Array) -> dict[str, float]:
    """Effort limits that are reached, by joint."""
    joints = {name: joint for name, joint in body.robot.joints.items() if joint.type.nv == 1 and joint.mimic is None}
    most = body.robot.limits.effort
    at = {name: joint.v.start for name, joint in joints.items() if joint.actuated}
    return {name: float(most[k]) for name, k in at.items() if abs(torque[k]) >= AT_LIMIT * most[k]}


def _too_weak(body: Body) -> str:
    carrying = dict.fromkeys(name for part in body.feet.values() for name in part.joints)
    idle = [name for name in carrying if not body.robot.joints[name].actuated]
    why = f"joints {', '.join(map(repr, idle))} of its legs have no motors" if idle else "its legs do not carry it"
    how = (
        "; eq.load(…, actuated=[…]) gives them motors"
        if idle
        else "; give another posture in [standing] of its profile"
    )
    return f"{body.robot.name!r} cannot stand: {why}, and nothing else holds them{how}"
