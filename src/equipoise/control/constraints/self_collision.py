"""The robot's own parts stay apart: rows for the pairs that are near each other now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...geometry.pairs import NearPairs, PairSet
from ...geometry.primitives import Primitive
from ..at_rest import AtRest
from ..item import NamedNumbers, Parameters, Setting, TaskError, at_first
from ..safety import vfi
from .barrier import USUAL_GAINS, Rates, inequality, not_admitted
from .constraint import BoundedRows, Constraint, Start
from .outside import NearbyRows, OutsideRows

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class SelfCollision(Constraint):
    """Pairs of the robot's own parts stay apart. Those within `range` get rows in each step, at most `most`.

    Args:
        pairs: of primitives on frames; None takes them from the robot's collision shapes.
        safe: distance to keep, m.
        range: m, beyond `safe`.
        most: rows.
        gains: as of all barriers, and so are variation, jump and braking.
    """

    pairs: Sequence[tuple[Primitive, Primitive]] | None = None
    safe: Setting = 0.01
    range: float = 0.15
    most: int = 40
    gains: vfi.Gains = field(default_factory=lambda: USUAL_GAINS)
    variation: Setting = 0.0
    jump: Setting = 0.0
    braking: Setting | None = None
    has_margins: ClassVar[bool] = False

    @property
    def label(self) -> str:
        return self.name or "self-collision"

    def row_names(self, context: Context) -> list[str]:
        return []

    def structure(self, context: Context) -> object:
        return "outside"

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        safe = Parameters(("safe",), {"safe": ()}, self._safe)
        return {"inequality": inequality(self, context, 1), "safe": safe}

    def _safe(self, given: Any) -> list[float]:
        safe = at_first(given)
        if not np.isfinite(safe):
            raise TaskError(f"{self.label}: safe must be finite, got {safe!r}")
        return [float(safe)]

    def rows(self, scene: Scene, numbers: NamedNumbers) -> BoundedRows:
        from ...equations.symbols import zeros

        none = zeros(0, scene.robot.nv)
        return BoundedRows(scene.motion(none, zeros(0)), zeros(0), zeros(0))

    def watched(self, robot: Robot, range: float) -> PairSet:
        """The pairs it watches, those within a range (m) near."""
        from ...geometry.collisions import self_collision_pairs

        pairs = self_collision_pairs(robot) if self.pairs is None else self.pairs
        return PairSet(robot, tuple(pairs), range=range, most=self.most)

    def at_rest(self, robot: Robot) -> AtRest:
        return AtRest(
            pairs=self.watched(robot, max(self.range, self._safe(self.safe)[0])), safe=self._safe(self.safe)[0]
        )

    def outside(self, context: Context) -> OutsideRows:
        return NearRows(self, context)

    def start_report(self, start: Start) -> Iterator[str]:
        return not_admitted(self, start)


class NearRows:
    """Rows of one `SelfCollision`: pairs come and go, a controller's reserve of rows stays."""

    def __init__(self, constraint: SelfCollision, context: Context) -> None:
        self.context, self.braking = context, constraint.braking
        self.pairs = constraint.watched(context.robot, constraint.range)
        self.count = min(constraint.most, len(self.pairs.pairs))
        self.names = tuple(f"{constraint.label} of {a.frame} and {b.frame}" for a, b in self.pairs.pairs)
        self.largest_margin = constraint.range
        self._passive_movers = context.passive[self.pairs.movers[context.passive]]

    def see(self, q: Array, v: Array, numbers: Mapping[str, Array], B: Array, b: Array) -> NearbyRows:
        number = {name: x.item() for name, x in numbers.items()}
        near = self.pairs(q, v, range=number["safe"] + self.largest_margin)  # `safe` may have grown
        d = near.value - number["safe"]
        lower = self._bound(d, near.rate, number)
        level = self.context.level
        if level == "velocity":
            return NearbyRows(near.indices, near.J, lower, d, near.rate)
        if level == "acceleration":
            return NearbyRows(near.indices, near.J, lower - near.bias, d, near.rate)
        return NearbyRows(near.indices, *self._over_unknowns(near, lower, B, b), d, near.rate)

    def _over_unknowns(self, near: NearPairs, lower: Array, B: Array, b: Array) -> tuple[Array, Array]:
        """(A, lower): accelerations of motors are unknowns, those of other joints follow from them."""
        A = np.zeros((len(near.value), B.shape[1]))
        A[:, self.context.motor_unknowns] = near.J[:, self.context.motor_places]
        lower = lower - near.bias
        if len(at := self._passive_movers):
            J = near.J[:, at]
            A += J @ B[at]
            lower -= J @ b[at]
        return A, lower

    def _bound(self, d: Array, rate: Array, number: Mapping[str, float]) -> Array:
        jump, dt = number["jump"], self.context.dt
        if self.context.level == "velocity":
            return vfi.first_order_bound(d, number["slow"], dt, jump)
        gains = Rates(number["slow"], number["fast"])
        braking = None if self.braking is None else number["braking"]
        return vfi.second_order_bound(d, rate, gains, dt, variation=number["variation"], jump=jump, braking=braking)  # type: ignore[arg-type]
