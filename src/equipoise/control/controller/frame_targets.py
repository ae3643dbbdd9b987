"""Where a controller wants frames of its robot: what viewers draw as ghosts, and records keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ...robot import Robot

Array = np.ndarray


def frame_targets(controller: object, robot: Robot, q: Array) -> dict[str, Array]:
    """Targets of the tasks that move frames, as of the last call, by frame: poses (4, 4) in the world.

    Tasks without weight have none. A controller may say so itself by a method `references(q)`; one that holds another
    as `controller` has those of the other.
    """
    own: Any = getattr(controller, "references", None)
    if callable(own):
        return dict(own(q))
    if not (hasattr(controller, "items") and hasattr(controller, "settings")):
        inner = getattr(controller, "controller", None)
        return {} if inner is None else frame_targets(inner, robot, q)
    found: dict[str, Array] = {}
    for task in controller.items.tasks:
        numbers = controller.settings.numbers(task.label)
        if np.any(numbers.get("root_weight", 1.0)) and (target := task.frame_target(robot, q, numbers)) is not None:
            found[target[0]] = target[1]
    return found
