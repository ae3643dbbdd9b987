"""The whole body of a robot with four or more feet: legs in two groups, each of which steps as one foot would.

In a trot the groups are the pairs of diagonal legs, with six legs tripods. The virtual foot of a group [RCB86] is in
the middle of its feet, turned as they are turned; with two feet it is a line, and pressure goes along it and nowhere
else.
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
FADING = 4.0  # ω: rate at which a foot goes over from where it stood beside its group to where it belongs
TOUCHED = 1e-3  # m above the stance: a foot is down, where forces are not measured
LINE = 0.004  # m, width of the line that two feet stand on, as the plan has it


class ManyFeet(WholeBody):
    """Groups of feet that step together; `WholeBody` for everything else.

    Attributes:
        groups: places in `feet` of each group's feet. steppers: what they are called.
        spreads: (n, 3) m, where the feet of each group stand around its middle.
        places: (feet, 3) m, where all feet were seen last.
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
        self._residual = np.zeros((2, count, 3))  # where feet are beside their group as it should be, and its rate

    def _ordered(self, body: Body) -> tuple[str, ...]:
        return tuple(body.feet)  # front first, left before right

    def _contact(self, role: str, friction: float) -> Contact:
        return PointContact(self.body.frames[role], name=role, friction=friction)

    def _soles(self) -> list[Constraint]:
        self.trusted = []
        return []

    def _limbs_apart(self, dt: float) -> list[Constraint]:
        return []  # by the reach of their groups alone

    def trust(self, foot: int) -> None:
        """Points have no pressure to be placed."""

    # --- where the groups are -----------------------------------------------------------------------------------------

    def _positions(self, q: Array) -> Array:
        return np.array([self.robot.pose(q, self.body.frames[role])[:3, 3] for role in self.feet])

    def soles(self, q: Array) -> tuple[Array, Array]:
        """Poses (4, 4) of the virtual feet."""
        self.places = self._positions(q)
        first, second = (
            virtual_foot(self.places[list(group)], spread)
            for group, spread in zip(self.groups, self.spreads, strict=True)
        )
        return first, second

    def spins(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Virtual feet do not roll."""
        return np.zeros(3), np.zeros(3)

    def corners(self) -> list[Array]:
        """Corners (m, 2) of what pressure may use under each group, counter-clockwise, in the virtual foot's axes."""
        return [hull_of(spread[:, :2]) for spread in self.spreads]

    def astray(self) -> list[float]:
        """m: how far the feet of each group are from where they stand, seen from the middle of all feet."""
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
        """From now on the other group carries alone."""
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
        """Whether all feet of a group are down; those that are carry from now on.

        Args:
            least: of the weight, that a foot feels on the ground.
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
        """From now on all feet carry."""
        self._free(range(len(self.feet)))
        self.controller.set_contacts(self.feet)
        for k in self.groups[foot]:
            self.controller.set_weight(f"{self.feet[k]} swing", 0.0)

    def set_swing(self, foot: int, state: Array, slope: Array) -> None:
        """A swinging group by place, rate and acceleration of x, y, z and yaw of its virtual foot, (3, 4).

        A foot that stood elsewhere beside its group goes over to where it belongs, critically damped. Points have no
        tilt: the slope is for soles.
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
        """The same for the feet of a group around its virtual foot; points have no tilt."""
        R, found = rotation_from_rpy(0.0, 0.0, float(goal[3])), dict[str, Array]()
        for k, spread in zip(self.groups[foot], self.spreads[foot], strict=True):
            X = found[self.body.frames[self.feet[k]]] = np.eye(4)
            X[:3, :3], X[:3, 3] = R, goal[:3] + R @ spread
        return found

    @property
    def _targets(self) -> list[Array]:
        return [*super()._targets, self._residual]


def virtual_foot(places: Array, spread: Array) -> Array:
    """Pose (4, 4) of the middle of some feet, level, turned so that they are nearest to where they stand around it.

    Args:
        places: (n, 3) m. spread: (n, 3) m, of the feet around their middle when it is not turned.
    """
    middle = places.mean(axis=0)
    x, y = (places - middle)[:, :2].T
    a, b = spread[:, :2].T
    X = np.eye(4)
    X[:3, :3] = rotation_from_rpy(0.0, 0.0, atan2(float(a @ y - b @ x), float(a @ x + b @ y)))
    X[:3, 3] = middle
    return X


def hull_of(points: Array) -> Array:
    """Corners (m, 2) of the hull of places, counter-clockwise; of two places the narrow strip between them."""
    if len(points) == 2:
        along = points[1] - points[0]
        aside = LINE / 2 * np.array([-along[1], along[0]]) / np.linalg.norm(along)
        return np.array([points[0] - aside, points[1] - aside, points[1] + aside, points[0] + aside])
    from scipy.spatial import ConvexHull

    return np.asarray(points[ConvexHull(points).vertices])
