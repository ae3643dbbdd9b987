"""The robot's own parts stay apart: every pair is looked at in every step, and gets a row where it matters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...geometry.pairs import Pair, PairSet
from ...geometry.primitives import Primitive
from ..at_rest import AtRest
from ..item import NamedNumbers, Parameters, Setting
from ..qp.program import FEASIBLE
from ..safety import vfi
from .barrier import USUAL_GAINS, Rates, inequality, not_admitted, safe_at, safe_at_first, safe_distance
from .constraint import BoundedRows, Constraint, Start
from .outside import OutsideRows

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray
LIKELY = 0.05  # m: a row that this much more distance would free is given to the solver at once
NEAR_AT_REST = 0.15  # m beyond the safe distance: pairs that searches for postures look at


@dataclass(frozen=True, eq=False)
class SelfCollision(Constraint):
    """Pairs of the robot's own parts stay apart. All of them are looked at in each step, at any distance and speed.

    Args:
        pairs: of primitives on frames; None takes them from the robot's collision shapes. The controller's
            `start_report` then says how many are left out because their capsules overlap at rest.
        safe: distance to keep, m; a number, or a function of time that returns it, or (distance, rate, acceleration).
        gains: as of all barriers, and so are variation, jump and braking.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> robot = eq.load("bimanual")
        >>> apart = eq.SelfCollision(safe=0.02)
        >>> controller = eq.WholeBodyController(robot, [eq.PostureTask()], constraints=[apart], level="acceleration")
        >>> controller(0.0, robot.standing(), np.zeros(robot.nv)).status.ok
        True
    """

    pairs: Sequence[tuple[Primitive, Primitive]] | None = None
    safe: Setting = 0.01
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
        return {"inequality": inequality(self, context, 1), "safe": safe_distance(self.label)}

    def rows(self, scene: Scene, numbers: NamedNumbers) -> BoundedRows:
        from ...equations.symbols import zeros

        none = zeros(0, scene.robot.nv)
        return BoundedRows(scene.motion(none, zeros(0)), zeros(0), zeros(0))

    def watched(self, robot: Robot, range: float = np.inf) -> PairSet:
        """The pairs it watches, those within a range (m) near."""
        pairs, _ = self.sorted(robot)
        return PairSet(robot, pairs, range=range, most=max(1, len(pairs)))

    def sorted(self, robot: Robot) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
        """Returns (watched, left out); left out are pairs that may collide but whose capsules overlap at rest."""
        from ...geometry.collisions import known_pairs

        if self.pairs is not None:
            return tuple(self.pairs), ()
        found = known_pairs(robot)
        return found.checked, found.overlapping

    def at_rest(self, robot: Robot) -> AtRest:
        safe = safe_at_first(self.label, self.safe)
        return AtRest(pairs=self.watched(robot, safe + NEAR_AT_REST), safe=safe)

    def least_margin(self, robot: Robot, q: Array, t: Array) -> float:
        nearest = self.watched(robot).distances(q).min(axis=-1)
        return float((nearest - safe_at(self.label, self.safe, t)).min())

    def outside(self, context: Context) -> OutsideRows:
        return PairRows(self, context)

    def start_report(self, start: Start) -> Iterator[str]:
        return not_admitted(self, start)


class PairRows:
    """Rows of one `SelfCollision`: J x ≥ least − bias, of every pair at the state it looked at last."""

    def __init__(self, constraint: SelfCollision, context: Context) -> None:
        self.context, self.braking = context, constraint.braking
        pairs, out = constraint.sorted(context.robot)
        self.pairs = PairSet(context.robot, pairs, range=np.inf, most=max(1, len(pairs)))
        self.left_out = tuple(
            f"{constraint.label} leaves out {len(out)} pairs whose capsules overlap at rest, as {a.frame} and {b.frame}"
            for a, b in out[:1]
        )
        self.names = tuple(f"{constraint.label} of {a.frame} and {b.frame}" for a, b in self.pairs.pairs)
        self._passive_movers = context.passive[self.pairs.movers[context.passive]]

    def look(self, q: Array, v: Array, numbers: Mapping[str, Array]) -> tuple[Array, Array, bool]:
        number = {name: x.item() for name, x in numbers.items()}
        self._seen = seen = self.pairs.motion(q, v)
        d, rate = seen.value - number["safe"], seen.rate - number["safe_rate"]
        slow, fast, overlapping = number["slow"], number["fast"], bool(seen.value.min() < 0)
        jump, dt = number["jump"], self.context.dt
        if self.context.level == "velocity":
            self._least = vfi.first_order_bound(d, slow, dt, jump) + number["safe_rate"]
            self.likely = LIKELY * slow
            return d, rate, overlapping
        bound = vfi.second_order_bound(
            d, rate, Rates(slow, fast), dt,  # type: ignore[arg-type]
            variation=number["variation"], jump=jump, braking=None if self.braking is None else number["braking"],
        )  # fmt: skip
        self._least, self.likely = bound - seen.bias + number["safe_acceleration"], LIKELY * slow * fast
        return d, rate, overlapping

    def slack(self, motion: Array) -> tuple[Array, Array]:
        value = self.pairs.along(self._seen, motion)
        return value - self._least, FEASIBLE * np.maximum(np.abs(value), 1.0)

    def rows(self, keys: Array, B: Array, b: Array) -> tuple[Array, Array]:
        J, lower = self.pairs.jacobian(self._seen, keys), self._least[keys]
        if self.context.level != "torque":
            return J, lower
        # accelerations of motors are unknowns, those of other joints follow from them
        A = np.zeros((len(keys), B.shape[1]))
        A[:, self.context.motor_unknowns] = J[:, self.context.motor_places]
        if len(at := self._passive_movers):
            A += J[:, at] @ B[at]
            lower -= J[:, at] @ b[at]
        return A, lower
