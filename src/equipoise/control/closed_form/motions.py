"""What a task looks at, as numbers at a state: w = J v and ẇ = J a + J̇v."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...balance.contacts import AXES
from ...errors import ShapeError

if TYPE_CHECKING:
    from ...robot import Robot

Array = np.ndarray


class Motion(NamedTuple):
    """Velocity w = J v and acceleration ẇ = J a + bias of anything that moves with the robot."""

    J: Array  # (…, k, nv)
    bias: Array  # (…, k), J̇v

    def above(self, other: Motion) -> Motion:
        """Both, this one's rows first."""
        return Motion(np.concatenate([self.J, other.J], axis=-2), np.concatenate([self.bias, other.bias], axis=-1))


def frame_motion(robot: Robot, q: Array, v: Array, frame: str, axes: str = AXES, *, turning: bool = False) -> Motion:
    """Position of a frame's origin along world axes, mixed representation; with `turning`, its orientation too."""
    rows = chosen_axes(axes) + ([3, 4, 5] if turning else [])
    return Motion(robot.jacobian(q, frame)[..., rows, :], robot.bias_acceleration(q, v, frame)[..., rows])


def com_motion(robot: Robot, q: Array, v: Array, axes: str = AXES) -> Motion:
    """The centre of mass along world axes; "xy" is its projection on the floor [EB98, Eq. (76)]."""
    rows = chosen_axes(axes)
    return Motion(robot.com_jacobian(q)[..., rows, :], robot.com_bias(q, v)[..., rows])


def chosen_axes(axes: str) -> list[int]:
    """Indices of some of the world's axes, named as in "xy"."""
    if not axes or not set(axes) <= set(AXES) or len(set(axes)) < len(axes):
        raise ShapeError(f"axes names world directions, some of 'xyz', each once, got {axes!r}")
    return [AXES.index(axis) for axis in axes]
