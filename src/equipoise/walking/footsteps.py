"""Prescribed footsteps: places in the world in sequence, given directly or generated from way points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, hypot, pi

from .gait import Gait, Place

STRIDE = 0.4  # fraction of the forward reach: longest step of the midpoint between way points
ASIDE = 0.35  # fraction of the width: longest sideways step of the midpoint between way points
TURN = 0.25  # rad: largest turn per step between way points


@dataclass(frozen=True)
class Footstep:
    """Place where a foot (0 left, 1 right) is set down, and the height of the ground there, m; None: that of the stance
    foot.
    """

    foot: int
    place: Place
    height: float | None = None


def climbs(step: Footstep, heights: Sequence[float], least: float) -> bool:
    """Returns whether a step goes up or down by more than `least`, m, from feet at some heights, m."""
    return step.height is not None and max(abs(step.height - height) for height in heights) > least


def before_high(steps: Sequence[Footstep], height: float, least: float) -> list[Footstep]:
    """Returns the steps before the first that goes up or down by more than `least`, m, from a stance foot at a height,
    m.
    """
    found = list[Footstep]()
    for step in steps:
        if climbs(step, [height], least):
            break
        found, height = [*found, step], height if step.height is None else step.height
    return found


def beside(middle: Place, foot: int, width: float) -> Place:
    """Returns the place of a foot when the midpoint between the feet is at `middle`."""
    return middle.at(0.0, (0.5 if foot == 0 else -0.5) * width, 0.0)


def through(start: Place, points: Sequence[tuple[float, float, float]], gait: Gait) -> list[Footstep]:
    """Returns steps from the present midpoint of the feet through way points (x, y in m, yaw in rad), ending with feet
    side by side.

    Between two way points the midpoint moves on a straight line and turns evenly, within the limits STRIDE, ASIDE
    and TURN per step.
    """
    middles, here = list[Place](), start
    for x, y, yaw in points:
        turn = (yaw - here.yaw + pi) % (2 * pi) - pi
        ahead, aside = here.R.T @ (Place(x, y, 0.0).xy - here.xy)
        wide = gait.width or gait.reach.widest
        parts = abs(ahead) / (STRIDE * gait.reach.ahead), abs(aside) / (ASIDE * wide), abs(turn) / TURN
        count = max(1, ceil(hypot(parts[0], parts[1]) + parts[2] - 1e-9))
        for k in range(1, count + 1):
            part = k / count
            at = here.xy + part * (Place(x, y, 0.0).xy - here.xy)
            middles.append(Place(float(at[0]), float(at[1]), here.yaw + part * turn))
        here = Place(x, y, here.yaw + turn)
    foot = _first_foot(start, middles)
    steps = []
    for middle in [*middles, middles[-1]] if middles else []:
        steps.append(Footstep(foot, beside(middle, foot, gait.width)))
        foot = 1 - foot
    return steps


def _first_foot(start: Place, middles: Sequence[Place]) -> int:
    """Returns the foot on the side to which the first step goes or turns; otherwise the left foot."""
    if not middles:
        return 0
    aside = float((start.R.T @ (middles[0].xy - start.xy))[1]) or middles[0].yaw - start.yaw
    return 1 if aside < 0 else 0
