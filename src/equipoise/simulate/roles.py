"""Robots for scenarios: each with a frame for every part of its body, so that one scenario fits many robots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..body.body import Body

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray


def embodied(source: str) -> tuple[Robot, Body | None]:
    """A robot with a frame for each part and its fingers locked; one without feet as it is described."""
    from ..robot import load

    robot = load(source)
    body = Body.of(robot).still()
    return (body.robot, body) if body.feet else (robot, None)


def standing(robot: Robot, body: Body | None) -> Array:
    """Where a robot stands on the ground with its feet, or as its description says."""
    return robot.standing() if body is None or not robot.floating else body.standing.copy()
