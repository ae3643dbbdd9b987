"""What can be promised from where a robot starts: barriers by the exact condition of Lemma 4.1, joints by viability.

Nothing is refused. From a start outside of the theory everything is led back in; what is lost is the promise that it never
was outside, and the controller says so at its first step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..constraints import JointLimits
from ..safety import limits, vfi
from .assembly import _positions_at, _rate_names

if TYPE_CHECKING:
    from .controller import WholeBodyController

Array = np.ndarray


def start_report(controller: WholeBodyController) -> tuple[str, ...]:
    """One sentence for each row that does not admit the present state; empty where all do [QO21, Lemma 4.1, exact]."""
    data, layout = controller._data, controller.layout
    lines: list[str] = []
    for constraint in controller.items.barriers:
        at = layout.margin_slices[constraint.label]
        names = layout.rows[layout.row_slices[constraint.label]]
        lines += _barriers(constraint, names, data["margins"][at], data["rates"][at], controller.level)
    for extra in controller._near:
        near, c = extra.pairs(controller._q, controller._v), extra.constraint
        lines += _barriers(c, [extra.names[k] for k in near.indices], near.value - c.safe, near.rate, controller.level)
    for constraint in controller.items.of(JointLimits):
        lines += _joints(controller, constraint)
    return tuple(lines)


def _barriers(constraint: Any, names: list[str], d: Array, rate: Array, level: str) -> Iterator[str]:
    admitted = d >= 0 if level == "velocity" else vfi.admits(d, rate, constraint.gains, constraint.braking)
    for k in np.flatnonzero(~admitted):
        if d[k] < 0:
            yield f"{names[k]} starts {-d[k]:.4g} outside: it is led back, and is not safe from the start"
            continue
        needed = f"a fast rate of {-rate[k] / d[k]:.4g} 1/s" if d[k] > 0 else "more than any gains"
        has = f"the gains have {np.max(constraint.gains.fast):.4g} 1/s"
        braking = "" if constraint.braking is None else f" and braking is limited to {constraint.braking:.4g}"
        yield f"{names[k]} approaches at {-rate[k]:.4g} from {d[k]:.4g} away, which asks for {needed}: {has}{braking}"


def _joints(controller: WholeBodyController, constraint: JointLimits) -> Iterator[str]:
    robot, first = controller.robot, controller.layout.first
    q, v = _positions_at(robot, controller._q)[first:], controller._v[first:]
    lower, upper, velocity, acceleration = constraint.limits(robot, controller.dt)
    names = _rate_names(robot)
    outside = np.maximum(lower - q, q - upper)
    good = limits.viable(q, v, lower, upper, velocity, acceleration, limits.VIABLE)
    if controller.level == "velocity":
        good = outside <= limits.VIABLE
    for k in np.flatnonzero(~good):
        if outside[k] > 0:
            yield f"{constraint.label} of {names[k]}: it starts {outside[k]:.4g} outside and is led back"
        elif abs(v[k]) > velocity[k]:
            yield f"{constraint.label} of {names[k]}: it starts at {abs(v[k]):.4g}, faster than its limit of {velocity[k]:.4g}"
        else:
            yield f"{constraint.label} of {names[k]}: at {v[k]:.4g} it cannot stop before its end by {acceleration[k]:.4g}"
