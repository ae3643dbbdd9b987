"""Steps that are given: places in the world, one after the other, or made from way points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, hypot, pi

from .gait import Gait, Place

STRIDE, ASIDE, TURN = 0.4, 0.35, 0.25  # of the reach ahead, of the width, and rad: between middles of way-point steps


@dataclass(frozen=True)
class Footstep:
    """Where a foot (0 left, 1 right) goes: a place, and the height of the ground there, m; the stance foot's if not
    given."""

    foot: int
    place: Place
    height: float | None = None


def climbs(step: Footstep, heights: Sequence[float], least: float) -> bool:
    """Whether a step goes up or down by more than `least`, m, from where feet are now at some heights, m."""
    return step.height is not None and max(abs(step.height - height) for height in heights) > least


def before_high(steps: Sequence[Footstep], height: float, least: float) -> list[Footstep]:
    """Steps from a stance foot at a height (m) up to the first that goes up or down by more than `least`, m."""
    found = list[Footstep]()
    for step in steps:
        if climbs(step, [height], least):
            break
        found, height = [*found, step], height if step.height is None else step.height
    return found


def beside(middle: Place, foot: int, width: float) -> Place:
    """Where a foot stands when the middle between the feet is there."""
    return middle.at(0.0, (0.5 if foot == 0 else -0.5) * width, 0.0)


def through(start: Place, points: Sequence[tuple[float, float, float]], gait: Gait) -> list[Footstep]:
    """Steps from where the middle of the feet is through way points (x, y in m, yaw in rad), ending side by side.

    Between two way points the middle goes straight and turns evenly, at most so far in each step.
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
    """The one on the side that the first step goes or turns to; the left one else."""
    if not middles:
        return 0
    aside = float((start.R.T @ (middles[0].xy - start.xy))[1]) or middles[0].yaw - start.yaw
    return 1 if aside < 0 else 0
