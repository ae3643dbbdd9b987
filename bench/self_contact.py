"""Whether parts of a robot touched each other: MuJoCo's contacts between the shapes of its description.

Meshes count as their convex hulls. Links that follow each other say nothing, nor do pairs that touch where the robot
stands: their shapes are wider than what they stand for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.simulate.mujoco_model import import_mujoco
from equipoise.simulate.mujoco_plant import MujocoPlant

if TYPE_CHECKING:
    from equipoise.robot import Robot

Array = np.ndarray


@dataclass(frozen=True)
class SelfContact:
    """Two links, by name, in each other: how deep, m, and in which of the postures."""

    links: tuple[str, str]
    depth: float
    posture: int


class SelfContacts:
    """Finds what of a robot is in each other.

    Args:
        standing: (nq,) posture in which nothing counts as touching.

    Attributes:
        shapes: how many there are; of a robot without any nothing can be said.
    """

    def __init__(self, robot: Robot, standing: Array) -> None:
        self._plant = MujocoPlant(robot, ground=None, collision="hulls", self_collision=True)
        self._plant.prepare(1e-3)
        self.shapes = int(self._plant.model.ngeom)
        self._allowed = set(self._touching(standing))

    def deepest(self, postures: Array) -> SelfContact | None:
        """The deepest contact in any of some postures (n, nq); None where nothing touches."""
        found: SelfContact | None = None
        for k, q in enumerate(postures if self.shapes else ()):
            for links, depth in self._touching(q).items():
                if links not in self._allowed and (found is None or depth > found.depth):
                    found = SelfContact(links, depth, k)
        return found

    def _touching(self, q: Array) -> dict[tuple[str, str], float]:
        """Depth (m) of each pair of links that touches in a posture."""
        mujoco, plant = import_mujoco(), self._plant
        plant.reset(q, np.zeros(plant.robot.nv))
        model, data = plant.model, plant.data
        for work in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_collision):
            work(model, data)
        found = dict[tuple[str, str], float]()
        for (a, b), apart in zip(data.contact.geom, data.contact.dist, strict=True):
            one, other = sorted((_link(model, a), _link(model, b)))
            links = one, other
            found[links] = max(found.get(links, 0.0), -float(apart))
        return found


def _link(model: Any, geom: int) -> str:
    """The link that a shape is of: "link NAME/k" is the k-th of NAME."""
    return str(model.geom(int(geom)).name).removeprefix("link ").rpartition("/")[0]
