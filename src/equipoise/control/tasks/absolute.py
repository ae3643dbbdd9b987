"""The pose half way between two frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..item import NamedNumbers, Target
from .references import PoseReference, Reference
from .task import Task, Terms

if TYPE_CHECKING:
    from ...equations.symbols import SX
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class AbsoluteTask(Task):
    """The pose half way between two frames: middle of their origins, half of the turn between them [QO21, Sec. 6.1.3].

    Args:
        frame: one of the two.
        other: the other one.
        target: pose in the world, 4×4.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> robot = eq.load("bimanual")
        >>> q, v = robot.random_state(np.random.default_rng(0))
        >>> middle = eq.AbsoluteTask("left_tool", "right_tool")  # the pose half way between the hands stays
        >>> controller = eq.WholeBodyController(robot, [middle, eq.PostureTask()], level="velocity")
        >>> controller(0.0, q, v).status.ok
        True
    """

    frame: str
    other: str
    target: Target = None

    def check(self, robot: Robot) -> None:
        super().check(robot)
        robot.place(self.frame)
        robot.place(self.other)

    @property
    def label(self) -> str:
        return self.name or f"middle of {self.frame} and {self.other}"

    def rows(self, context: Context) -> int:
        return 6

    def here(self, robot: Robot, q: Array) -> Array:
        a, b = robot.pose(q, self.frame), robot.pose(q, self.other)
        X = np.eye(4)
        X[:3, 3] = (a[:3, 3] + b[:3, 3]) / 2
        X[:3, :3] = _half_way(a[:3, :3], b[:3, :3])
        return X

    def reference(self, context: Context) -> Reference:
        return PoseReference(self.label)

    def terms(self, scene: Scene, reference: NamedNumbers) -> Terms:
        """The half way R turns at ω = ½ Σ r × ṙ over its columns r."""
        from ...equations.symbols import cross, stack, zeros
        from ..controller.scene import rotation_error

        X_a, X_b = scene.pose(self.frame), scene.pose(self.other)
        R, middle = half_way_symbols(X_a[:3, :3], X_b[:3, :3]), (X_a[:3, 3] + X_b[:3, 3]) / 2
        place_J = (scene.jacobian(self.frame) + scene.jacobian(self.other))[:3, :] / 2
        place_drift = (scene.drift(self.frame) + scene.drift(self.other))[:3] / 2
        columns_J, columns_drift = scene.rows_of(stack(R[:, 0], R[:, 1], R[:, 2]))
        turns = [(R[:, k], slice(3 * k, 3 * k + 3)) for k in range(3)]
        turn_J = sum((cross(r, columns_J[at, :]) for r, at in turns), start=zeros(3, scene.robot.nv)) / 2
        # d/dt of r × ṙ is r × r̈: the terms ṙ × ṙ vanish.
        turn_drift = sum((cross(r, columns_drift[at]) for r, at in turns), start=zeros(3)) / 2
        J, drift = stack(place_J, turn_J), stack(place_drift, turn_drift)
        error = stack(reference.pose[:3, 3] - middle, rotation_error(R, reference.pose[:3, :3]))
        return Terms(error, J, J @ scene.v, drift, reference.twist, reference.acceleration)


def _half_way(R_a: Array, R_b: Array) -> Array:
    from ...algebra.quaternions import from_rotation, rotation

    a, b = from_rotation(R_a), from_rotation(R_b)
    middle = a + (b if a @ b >= 0 else -b)
    return rotation(tuple(middle / np.linalg.norm(middle)))


def half_way_symbols(R_a: SX, R_b: SX) -> SX:
    """R_a D^½ with D = R_aᵀ R_b: half of the rotation with quaternion (w, x, y, z) is (1 + w, x, y, z), not
    normalised."""
    from ...algebra.quaternions import rotation
    from ...equations.symbols import SYMBOLS

    D = R_a.T @ R_b
    # a half turn has no middle; the quotient then is NaN
    w = SYMBOLS.sqrt((1 + D[0, 0] + D[1, 1] + D[2, 2]) / 4 + 1e-300)
    x, y, z = ((D[i, j] - D[j, i]) / (4 * w) for i, j in ((2, 1), (0, 2), (1, 0)))
    return R_a @ rotation((1 + w, x, y, z), SYMBOLS)
