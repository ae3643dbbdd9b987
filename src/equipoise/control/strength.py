"""Whether a robot can stand at all: what it stands on, and whether its motors carry it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..body.body import Body, BodyError
from ..body.grounding import foot_points
from ..errors import ModelWarning
from ..model.placeholders import ROUND_EFFORTS
from .controller.controller import WholeBodyController
from .controller.solution import Solution

Array = np.ndarray
Held = Callable[[float, Array, Array], Solution]  # a controller with a task `COM`
COM = "centre of mass"  # label of its task
NARROW = 0.01  # of the height of the centre of mass: a support region this narrow is a line
FALLS = 0.1  # m/s²: a robot at rest whose centre of mass accelerates so much falls
SHOWN = 4  # joints named in a message


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
    """(body, controller) that hold the standing posture with the effort limits of the description.

    Only placeholders are replaced: where one of them cannot carry the robot it is taken as no limit, with a warning.

    Args:
        make: builds the controller of a body, with a task `COM`.

    Raises:
        BodyError: the motors are too weak, and which lack how much; or motors are no help.
    """
    controller = make(body)
    lacking = _lacking(body, controller, make)
    controller.reset()
    if not lacking:
        return body, controller
    free = [name for name, (limit, _) in lacking.items() if limit in ROUND_EFFORTS]
    if len(free) < len(lacking):
        raise _too_weak(body, lacking)
    warnings.warn(
        f"{body.robot.name!r}: effort limits that are placeholders cannot carry it where it stands, taken as none: "
        f"{_listed(lacking)}. robot.with_limits sets them", ModelWarning, stacklevel=4,
    )  # fmt: skip
    return strong_enough(_unlimited(body, free), make)


def require_strength(body: Body, controller: Held, make: Callable[[Body], Held]) -> None:
    """Refuse a robot whose motors cannot hold the standing posture."""
    if lacking := _lacking(body, controller, make):
        raise _too_weak(body, lacking)


def _lacking(body: Body, controller: Held, make: Callable[[Body], Held]) -> dict[str, tuple[float, float]]:
    """(effort limit, torque that standing needs) of each joint that is too weak."""
    if _at_rest(body, controller)[0]:
        return {}
    limits = body.robot.limits.effort
    motors = {
        name: joint.v.start
        for name, joint in body.robot.joints.items()
        if joint.type.nv == 1 and joint.mimic is None and joint.actuated
    }
    without_limits = _unlimited(body, list(motors))
    stands, solution = _at_rest(without_limits, make(without_limits))
    torque = solution.torque
    lacking = {
        name: (float(limits[k]), abs(float(torque[k]))) for name, k in motors.items() if abs(torque[k]) > limits[k]
    }
    if not stands or not lacking:
        raise BodyError(_not_held(body, list(map(str, solution.events))))
    return lacking


def _at_rest(body: Body, controller: Held) -> tuple[bool, Solution]:
    """Whether a robot at rest in its standing posture stays there, and the controller's answer."""
    solution = controller(0.0, body.standing, np.zeros(body.robot.nv))
    return not solution.status.fallback and solution.step.shares[COM][2] < FALLS, solution


def _unlimited(body: Body, joints: list[str]) -> Body:
    return Body(body.robot.with_limits(joints, effort=np.inf), body.profile, body.frames)


def _listed(lacking: Mapping[str, tuple[float, float]]) -> str:
    """The joints with what they have and need, the weakest first."""
    order = sorted(lacking, key=lambda name: lacking[name][0] / lacking[name][1])
    shown = [
        f"joint {name!r} needs {lacking[name][1]:.3g} N m and has {lacking[name][0]:.3g}" for name in order[:SHOWN]
    ]
    return ", ".join(shown) + (f", and {len(order) - SHOWN} more" if len(order) > SHOWN else "")


def _too_weak(body: Body, lacking: Mapping[str, tuple[float, float]]) -> BodyError:
    return BodyError(
        f"{body.robot.name!r} is too weak to stand: {_listed(lacking)}. A lighter load, or a posture with "
        "straighter legs ([standing] of its profile), needs less; robot.with_limits corrects limits that are wrong"
    )


def _not_held(body: Body, doubts: Sequence[str]) -> str:
    """Why a robot with motors as strong as need be does not stay where it stands; `doubts` are the controller's."""
    carrying = dict.fromkeys(name for part in body.feet.values() for name in part.joints)
    idle = [name for name in carrying if not body.robot.joints[name].actuated]
    posture = "another posture in [standing] of its profile"
    if idle:
        why = f"joints {', '.join(map(repr, idle))} of its legs have no motors, and nothing else holds them"
        how = "eq.load(…, actuated=[…]) gives them motors"
    elif doubts:
        why = f"what it has to keep moves it away from its standing posture: {'; '.join(doubts[:SHOWN])}"
        how = f"give {posture}, or other constraints"
    else:
        why, how = "its legs do not carry it, and nothing else holds them", f"give {posture}"
    return f"{body.robot.name!r} cannot stand: {why}; {how}"
