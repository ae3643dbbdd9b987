"""Primitives as settings of constraints: where they are, how they move, and what of them is structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...geometry.distances import Distance
from ...geometry.primitives import Primitive
from ..item import TaskError

if TYPE_CHECKING:
    from ...robot import Robot

Array = np.ndarray
Obstacle = Primitive | Callable[[float], Primitive]  # a primitive, or a function of time that returns one


def at_start(primitive: Obstacle) -> Primitive:
    """A primitive as it is at t = 0; a function of time is asked."""
    return primitive(0.0) if callable(primitive) else primitive


def described(primitive: Obstacle) -> str:
    """In words, for labels."""
    if callable(primitive):
        return "a moving thing"
    kind = type(primitive).__name__.lower()
    return f"{kind} on {primitive.frame}" if getattr(primitive, "frame", None) else kind


def require_frames(robot: Robot, *primitives: Primitive) -> None:
    """Raise unless the robot has the frames that primitives are on."""
    for primitive in primitives:
        if primitive.frame is not None:
            robot.place(primitive.frame)


def placed(robot: Robot, primitive: Primitive) -> object:
    """What the traced code reads of a primitive: all numbers of one on the robot, only the kind of one in the world."""
    kind = type(primitive)
    if primitive.frame is None:
        return kind
    body, X = robot.place(primitive.frame)
    return kind, body, X.tobytes(), primitive.parameters.tobytes()


def values_along(d: Distance, robot: Robot, q: Array, t: Array, a: Obstacle, b: Obstacle) -> Array:
    """What is measured at configurations q (n, nq) and times t (n,)."""
    from ..controller.settings import value_at

    kernel, still, values = d.on(robot), np.zeros(robot.nv), []
    for x, time in zip(q, t.tolist(), strict=True):
        now = dict.fromkeys((value_at(a, time), value_at(b, time)))
        values.append(float(kernel(x, still, [p for p in now if p.frame is None]).value))
    return np.array(values)


def world_motion(label: str, d: Distance, a: Any, b: Any) -> Array:
    """Parameters of the world's primitives with two derivatives, as `on_symbols` reads them.

    Raises:
        TaskError: a primitive is of another kind, or on another frame, than the one that was compiled.
    """
    for was, now in ((d.a, a), (d.b, b)):
        if type(now) is not type(was) or now.frame != was.frame:
            raise TaskError(
                f"{label}: wanted a {type(was).__name__} on {was.frame or 'the world'}, as at first; got {now!r}"
            )
    world = dict.fromkeys(p for p in (a, b) if p.frame is None)
    return np.concatenate([np.zeros(0), *(p.motion.ravel() for p in world)])
