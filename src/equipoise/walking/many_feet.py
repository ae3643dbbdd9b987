"""The whole body of a robot with four or more feet: legs in two groups, each of which steps like one foot.

In a trot the groups are the pairs of diagonal legs; with six legs they are tripods. The virtual foot of a group
[RCB86] is at the midpoint of its feet and has their mean yaw. With two feet it is a line, and the centre of pressure
stays on this line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import atan2
from typing import ClassVar

import numpy as np

from ..algebra.rigid import rotation_from_rpy
from ..body.body import Body
from ..control.constraints import Constraint
from ..control.contacts import Contact, PointContact
from .whole_body import WholeBody

Array = np.ndarray
FADING = 4.0  # ω; rate at which a foot moves from its displaced position in the group to its nominal one
TOUCHED = 1e-3  # m above the stance feet; a lower foot has touched down, if forces are not measured
LINE = 0.004  # m; width that the plan gives to the line between two feet


class ManyFeet(WholeBody):
    """Groups of feet that step together; everything else is as in `WholeBody`.

    Attributes:
        groups: indices in `feet` of each group's feet. steppers: names of the groups.
        spreads: (n, 3) m, nominal positions of the feet of each group around its midpoint.
        places: (feet, 3) m, last measured positions of all feet.
    """

    weights: ClassVar[Mapping[str, float]] = {"com": 20.0, "trunk": 3.0, "foot": 3.0}
    parts_upright: ClassVar[tuple[str, ...]] = ("torso",)
    swing_axes: ClassVar[str] = "position"

    def __init__(self, body: Body, dt: float, friction: float, constraints: Sequence[Constraint] = ()) -> None:
        super().__init__(body, dt, friction, constraints)
        self.dt, count = dt, len(self.feet)
        rows = [(k // 2 + k % 2) % 2 for k in range(count)]  # front left and hind right, front right and hind left
        self.groups = tuple(tuple(k for k in range(count) if rows[k] == side) for side in (0, 1))
        self.steppers = tuple(" and ".join(self.feet[k] for k in group) for group in self.groups)
        home = self._positions(body.standing)
        self.spreads = [home[list(group)] - home[list(group)].mean(axis=0) for group in self.groups]
        for spread in self.spreads:
            spread[:, 2] = 0.0
        self.places = home
        # Offset of each foot from its nominal position in the group, and its rate
        self._residual = np.zeros((2, count, 3))

    def _ordered(self, body: Body) -> tuple[str, ...]:
        return tuple(body.feet)  # front first, left before right

    def _contact(self, role: str, friction: float) -> Contact:
        return PointContact(self.body.frames[role], name=role, friction=friction)

    def _soles(self) -> list[Constraint]:
        self.trusted = []
        return []

    def _limbs_apart(self, dt: float) -> list[Constraint]:
        return []  # the reach of the groups keeps the legs apart

    def trust(self, foot: int) -> None:
        """Does nothing: a point contact has no centre of pressure to restrict."""

    # --- where the groups are -----------------------------------------------------------------------------------------

    def _positions(self, q: Array) -> Array:
        return np.array([self.robot.pose(q, self.body.frames[role])[:3, 3] for role in self.feet])

    def soles(self, q: Array) -> tuple[Array, Array]:
        """Returns the poses (4, 4) of the virtual feet."""
        self.places = self._positions(q)
        first, second = (
            virtual_foot(self.places[list(group)], spread)
            for group, spread in zip(self.groups, self.spreads, strict=True)
        )
        return first, second

    def spins(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Returns zeros, since virtual feet do not roll."""
        return np.zeros(3), np.zeros(3)

    def corners(self) -> list[Array]:
        """Returns the corners (m, 2) of the support polygon of each group, counter-clockwise, in the virtual foot's
        axes.
        """
        return [hull_of(spread[:, :2]) for spread in self.spreads]

    def astray(self) -> list[float]:
        """Returns how far (m) the feet of each group are from their nominal places relative to the midpoint of all
        feet.
        """
        order = [k for group in self.groups for k in group]
        home = np.concatenate(self.spreads)
        X = virtual_foot(self.places[order], home)
        off = np.linalg.norm((self.places[order] - X[:3, 3] - home @ X[:3, :3].T)[:, :2], axis=1)
        ends = np.cumsum([len(group) for group in self.groups])
        return [float(part.max()) for part in np.split(off, ends[:-1])]

    # --- contacts -----------------------------------------------------------------------------------------------------

    def share(self, stance: int, part: float, sudden: bool = False) -> None:
        for k in self.groups[stance]:
            self.most[k] = np.inf if sudden else self.weight * (0.2 + 3.0 * part)
        for k in self.groups[1 - stance]:
            self.most[k] = 1.5 * self.weight * (1 - part)

    def lift(self, foot: int) -> None:
        """Starts the swing of a group: the other group alone carries the robot."""
        self.most[:] = [np.inf] * len(self.feet)
        stance, group = self.groups[1 - foot], self.groups[foot]
        self._free(stance)
        self.controller.set_contacts([self.feet[k] for k in stance])
        X = virtual_foot(self.places[list(group)], self.spreads[foot])
        self._residual[1] = 0.0
        for k, arm in zip(group, self.spreads[foot], strict=True):
            self._residual[0, k] = self.places[k] - X[:3, 3] - X[:3, :3] @ arm
            self.controller.set_weight(f"{self.feet[k]} swing", self._swing_weight)

    def touched(self, foot: int, wrenches: Mapping[str, Array], least: float) -> bool:
        """Returns whether all feet of a group have touched down; those that have become contacts at once.

        Args:
            least: fraction of the weight that a foot must measure.
        """
        ground = min(self.places[k][2] for k in self.groups[1 - foot])
        for k in self.groups[foot]:
            role = self.feet[k]
            wrench = wrenches.get(role)
            down = self.places[k][2] - ground < TOUCHED if wrench is None else wrench[2] > least * self.weight
            if down and role not in self.controller.in_force:
                self.controller.set_contacts([*self.controller.in_force, role])
                self.controller.set_weight(f"{role} swing", 0.0)
        return all(self.feet[k] in self.controller.in_force for k in self.groups[foot])

    def land(self, foot: int) -> None:
        """Ends the swing: all feet are contacts."""
        self._free(range(len(self.feet)))
        self.controller.set_contacts(self.feet)
        for k in self.groups[foot]:
            self.controller.set_weight(f"{self.feet[k]} swing", 0.0)

    def set_swing(self, foot: int, state: Array, slope: Array) -> None:
        """Sets the references of a swinging group by position, rate and acceleration of x, y, z and yaw of its virtual
        foot, (3, 4).

        A foot displaced from its nominal position in the group moves there, critically damped. Points have no tilt:
        the slope is for soles.
        """
        R, rate = rotation_from_rpy(0.0, 0.0, float(state[0, 3])), FADING * self.body.gains.rate
        turn, spin = float(state[1, 3]), float(state[2, 3])
        for k, spread in zip(self.groups[foot], self.spreads[foot], strict=True):
            off, speed = self._residual[:, k]
            arm = R @ spread
            aside = np.array([-arm[1], arm[0], 0.0])
            pull = -(rate**2) * off - 2 * rate * speed
            numbers = self.swing[k]
            numbers[:16] = np.eye(4).ravel()
            numbers[[3, 7, 11]] = state[0, :3] + arm + off
            numbers[16:19] = state[1, :3] + turn * aside + speed
            numbers[22:25] = state[2, :3] + spin * aside - turn**2 * arm + pull
            speed += self.dt * pull
            off += self.dt * speed

    def landing(self, foot: int, goal: Array, slope: Array) -> dict[str, Array]:
        """Returns the planned poses of the feet of a group around its virtual foot; points have no tilt."""
        R, found = rotation_from_rpy(0.0, 0.0, float(goal[3])), dict[str, Array]()
        for k, spread in zip(self.groups[foot], self.spreads[foot], strict=True):
            X = found[self.body.frames[self.feet[k]]] = np.eye(4)
            X[:3, :3], X[:3, 3] = R, goal[:3] + R @ spread
        return found

    @property
    def _targets(self) -> list[Array]:
        return [*super()._targets, self._residual]


def virtual_foot(places: Array, spread: Array) -> Array:
    """Returns the pose (4, 4) of the midpoint of some feet, level, with the yaw that brings the nominal positions
    nearest to them.

    Args:
        places: (n, 3) m. spread: (n, 3) m, nominal positions around the midpoint at zero yaw.
    """
    middle = places.mean(axis=0)
    x, y = (places - middle)[:, :2].T
    a, b = spread[:, :2].T
    X = np.eye(4)
    X[:3, :3] = rotation_from_rpy(0.0, 0.0, atan2(float(a @ y - b @ x), float(a @ x + b @ y)))
    X[:3, 3] = middle
    return X


def hull_of(points: Array) -> Array:
    """Returns the corners (m, 2) of the convex hull of points, counter-clockwise; for two points, of the narrow strip
    between them.
    """
    if len(points) == 2:
        along = points[1] - points[0]
        aside = LINE / 2 * np.array([-along[1], along[0]]) / np.linalg.norm(along)
        return np.array([points[0] - aside, points[1] - aside, points[1] + aside, points[0] + aside])
    from scipy.spatial import ConvexHull

    return np.asarray(points[ConvexHull(points).vertices])
