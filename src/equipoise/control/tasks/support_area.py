"""The area of the support polygon: the hull of points of the robot, seen from above."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..item import NamedNumbers, Target, TaskError
from .references import Reference, VectorReference
from .task import Task, Terms

if TYPE_CHECKING:
    from ...equations.symbols import SX
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray
ALIGNED = 1e-9  # m²: cross products below count as points on one line


@dataclass(frozen=True, eq=False)
class SupportAreaTask(Task):
    """The area (m²) of the convex hull of given points, in the ground plane, to a value: enlarges the support [QO21,
    Sec. 4.4].

    Which points are corners of the hull, and in which order, is found anew in each step.

    Args:
        corners: (frame, point in it) of each point, three or more, in any order.
        target: area, m²; choose it larger than what can be reached to maximise.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> robot = eq.load("quadruped")
        >>> feet = tuple((name, (0, 0, 0)) for name in robot.frames if name.endswith("_foot"))
        >>> wider = eq.SupportAreaTask(feet, target=1.0)
        >>> controller = eq.WholeBodyController(robot, [wider, eq.PostureTask()], level="velocity")
        >>> controller(0.0, robot.standing(), np.zeros(robot.nv)).status.ok
        True
    """

    corners: tuple[tuple[str, ArrayLike], ...]
    target: Target = None

    def check(self, robot: Robot) -> None:
        super().check(robot)
        if len(self.corners) < 3:
            raise TaskError(f"{self.label}: a polygon needs three corners or more; got {len(self.corners)}")
        for frame, _ in self.corners:
            robot.place(frame)

    @property
    def label(self) -> str:
        return self.name or "support area"

    def rows(self, context: Context) -> int:
        return 1

    def here(self, robot: Robot, q: Array) -> float:
        from scipy.spatial import ConvexHull, QhullError

        poses = [(robot.pose(q, frame), np.asarray(point, dtype=float)) for frame, point in self.corners]
        try:
            return float(ConvexHull([(X[:3, :3] @ s + X[:3, 3])[:2] for X, s in poses]).volume)
        except QhullError:  # all on one line
            return 0.0

    def reference(self, context: Context) -> Reference:
        return VectorReference(self.label, 1, scalar=True)

    def terms(self, scene: Scene, reference: NamedNumbers) -> Terms:
        """A = ½ Σ (x_i y_j − x_j y_i) over the edges i → j of the hull; which they are does not change within a
        step."""
        from ...equations.symbols import constant, zeros

        points = [scene.point(frame, constant(point)) for frame, point in self.corners]
        x, y = [p[0][0] - points[0][0][0] for p in points], [p[0][1] - points[0][0][1] for p in points]
        edges = _edges(x, y)
        area, J, rate, drift = zeros(1), zeros(1, scene.robot.nv), zeros(1), zeros(1)
        for i, (_, J_i, v_i, a_i) in enumerate(points):
            g_x = sum((edges[i, j] - edges[j, i]) * y[j] for j in range(len(x)) if j != i) / 2  # ∂A/∂x_i
            g_y = sum((edges[j, i] - edges[i, j]) * x[j] for j in range(len(x)) if j != i) / 2
            area += g_x * x[i] / 2 + g_y * y[i] / 2  # Euler: A is of second degree
            J += g_x * J_i[0, :] + g_y * J_i[1, :]
            rate += g_x * v_i[0] + g_y * v_i[1]
            drift += g_x * a_i[0] + g_y * a_i[1]
            for j in range(len(x)):
                if j != i:
                    drift += edges[i, j] * (v_i[0] * points[j][2][1] - points[j][2][0] * v_i[1])
        return Terms(reference.value - area, J, rate, drift, reference.rate, reference.acceleration)


def _edges(x: list[SX], y: list[SX]) -> dict[tuple[int, int], SX]:
    """1 for the pairs (i, j) that are edges of the hull, counter-clockwise, else 0.

    All other points lie to the left of an edge, or on it between its ends. Of points in one place the first counts.
    """
    n, edges = len(x), {}
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            d_x, d_y = x[j] - x[i], y[j] - y[i]
            square = d_x * d_x + d_y * d_y
            is_edge = square > ALIGNED
            for k in set(range(n)) - {i, j}:
                e_x, e_y = x[k] - x[i], y[k] - y[i]
                cross, along = d_x * e_y - d_y * e_x, d_x * e_x + d_y * e_y
                before, after = (-ALIGNED if k > i else ALIGNED), (-ALIGNED if k > j else ALIGNED)
                between = (along >= before) * (along <= square - after)
                beside = (cross <= ALIGNED) * (cross >= -ALIGNED)
                is_edge *= (cross > ALIGNED) + beside * between
            edges[i, j] = is_edge
    return edges
