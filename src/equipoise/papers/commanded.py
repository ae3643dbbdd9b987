"""What a controller commands, held against its statement: of all commands that the constraints admit, the one that
comes nearest to what the tasks ask for. Tasks and constraints are `Moving` numbers; nothing here is the controller's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from ..control.controller.controller import WholeBodyController
from ..robot import Robot
from .moving import Moving
from .reference import ReferenceState, axial, path, rate, second_rate
from .rows import Figure, agree, largest

Array = np.ndarray
WORDS = {None: "any", True: "some", False: "none"}
MOTION_WEIGHT = 1e-6  # of the squares of all unknowns, the documented default of the controller


class Asked(NamedTuple):
    """A task: what J x + … should become, and its weight."""

    y: Moving
    wanted: Array
    weight: float = 1.0


class Kept(NamedTuple):
    """Constraints: what J x + … must not fall below."""

    d: Moving
    least: Array


def towards(y: Moving, goal: Any, k: float, second: bool, *, damping: float | None = None) -> Array:
    """Returns what a task asks for: k e, or k² e − 2 k ẏ with e = y* − y, for a goal that stands."""
    e = np.asarray(goal) - y.x
    return k * e if not second else k**2 * e - (2 * k if damping is None else damping) * y.rate


def barrier(
    d: Moving, slow: float, fast: float, dt: float, second: bool, *, variation: float = 0.0, jump: float = 0.0
) -> Kept:
    """Returns d ≥ 0 as a vector field inequality of first or second order, with the margin for steps of dt [docs/
    safety.md, Thm 0, 2]."""
    if not second:
        return Kept(d, -slow * d.x + jump * dt / 2)
    lost = (jump + variation * dt / 2) + fast * (jump / 2 + variation * dt / 6) * dt
    return Kept(d, (lost - (slow + fast) * d.rate - slow * fast * d.x) / (1 + fast * dt / 2))


@dataclass
class Statement:
    """The worst of many steps.

    Attributes:
        beyond: how far a constraint was exceeded, by the size of its bound.
        left: of the gradient of the tasks' squares after active constraints have pushed as they may, by its size.
        active: how many constraints were at their bounds.
        near: a constraint is at its bound this near to it, relative.
    """

    beyond: float = 0.0
    left: float = 0.0
    active: int = 0
    near: float = 1e-6

    def look(
        self, x: Array, second: bool, asked: Sequence[Asked], kept: Sequence[Kept], held: Array | None = None,
        motion_weight: float = MOTION_WEIGHT,
    ) -> None:  # fmt: skip
        """Looks at one command.

        Args:
            held: rows whose motion is given exactly, (m, nv): they push either way.
        """
        gradient, size = motion_weight * x, 1e-3
        for y, wanted, weight in asked:
            gradient = gradient + weight * y.J.T @ (y.under(x, second) - wanted)
            size = max(size, largest(weight * y.J.T @ wanted), largest(weight * y.J.T @ y.under(x, second)))
        rows = [np.zeros((0, len(x)))] if held is None else [held, -held]
        for d, least in kept:
            slack = (d.under(x, second) - least) / (1 + np.abs(least))
            self.beyond = float(np.maximum(self.beyond, -slack.min()))  # what is no number is kept
            rows.append(d.J[slack < self.near])
            self.active += int(np.sum(slack < self.near))
        self.left = float(np.maximum(self.left, unbalanced(gradient, np.concatenate(rows)) / size))

    def figures(
        self, what: str, bound: float = 1e-9, *, beyond: float | None = None, active: bool | None = True
    ) -> Iterator[Figure]:
        """Returns what came of all steps; whether some are at a bound matters unless `active` is None."""
        most, at_bounds = bound if beyond is None else beyond, self.active > 0
        good = bool(self.beyond < most and self.left < bound and active in (None, at_bounds))
        words = f"{what}: each step looked at against its statement: beyond bounds, gradient that is left, at bounds"
        required = f"≤ {most:g}, ≤ {bound:g}, {WORDS[active]}"
        yield Figure(words, required, f"{self.beyond:.1e}, {self.left:.1e}, {WORDS[at_bounds]}", good)


def unbalanced(gradient: Array, rows: Array) -> float:
    """Returns what is left of a gradient when active rows push against it as they may: zero at an optimum only."""
    return float(nnls(rows.T, gradient, maxiter=10_000)[1]) if len(rows) else float(np.linalg.norm(gradient))


def does(y: Callable[[float], Array], second: bool) -> Array:
    """Returns the first or second derivative of a number at t = 0, by differences; of a pose (4, 4), its twist's."""
    moved, now = (second_rate if second else rate)(y), y(0.0)
    if now.shape != (4, 4):
        return np.asarray(moved)
    return np.concatenate([moved[:3, 3], axial(moved[:3, :3] @ now[:3, :3].T)])


def task_law(
    robot: Robot, task: Any, q: Array, v: Array, y: Callable[[ReferenceState], Array], e: Array, k: float,
    turning: Array | None = None, levels: Sequence[str] = ("velocity", "acceleration"),
) -> Iterator[Figure]:  # fmt: skip
    """A task alone in the controller: along the commanded motion y moves as [QO21, Eqs. (3.1), (3.3)] have it.

    Args:
        y: what the task is about, seen from outside; a pose counts by its twist.
        e: how far it is from its target, as `y` moves.
        k: gain of the task, 1/s.
        turning: rad/s, of the axes of y, in themselves, in which the task's own rows do not turn.
    """
    for level in levels:
        second = level == "acceleration"
        found = WholeBodyController(robot, [task], level=level, motion_weight=1e-11)(0.0, q, v)
        along = path(robot, q, v, found.acceleration) if second else path(robot, q, found.velocity)
        wanted = k * e
        if second:
            y_dot = does(partial(_seen, robot, path(robot, q, v), y), False)
            wanted = k**2 * e - 2 * k * y_dot
            if turning is not None:
                wanted = wanted - np.concatenate([np.cross(turning, part) for part in (y_dot[:3], y_dot[3:])])
        what = f"{type(task).__name__} in the controller, {level} level: what it does, by differences"
        yield agree(what, does(partial(_seen, robot, along, y), second), wanted, 1e-6)


def _seen(robot: Robot, at: Callable[[float], Array], y: Callable[[ReferenceState], Array], t: float) -> Array:
    return np.asarray(y(ReferenceState(robot, at(t))))
