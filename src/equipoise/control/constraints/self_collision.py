"""The robot's own parts stay apart: every pair is looked at in every step, and gets a row where it matters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from ...geometry.pairs import Pair, PairSet
from ...geometry.primitives import Primitive
from ..at_rest import AtRest
from ..item import NamedNumbers, Parameters, Setting
from ..safety import vfi
from .barrier import EASY, USUAL_GAINS, Rates, inequality, not_admitted, safe_at, safe_at_first, safe_distance
from .constraint import BoundedRows, Constraint, Start
from .outside import OutsideRows

if TYPE_CHECKING:
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray
LIKELY = 0.05  # m: a row that this much more distance would free is given to the solver at once
NEAR_AT_REST = 0.15  # m beyond the safe distance: pairs that searches for postures look at
STANDING_GAP = 1.05  # × safe distance: least distance of a pair where the robot stands, so that it may start there
MOST_LOOKS = 8  # within one step, before it counts as too long to look into


@dataclass(frozen=True, eq=False)
class SelfCollision(Constraint):
    """Pairs of the robot's own parts stay apart. All of them are looked at in each step, at any distance and speed.

    Args:
        pairs: of primitives on frames; None takes them from the robot's collision shapes. Where capsules come too near
            where the robot stands, they are wider than the links, and are taken as narrower in that pair. The
            controller's `start_report` then names them, and says how many pairs are left out.
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

    def watched(self, robot: Robot, range: float = np.inf) -> PairSet | None:
        """Returns the pairs it watches, those within a range (m) near; None if the robot has none."""
        pairs = self.known(robot).pairs
        return PairSet(robot, pairs, range=range, most=len(pairs)) if pairs else None

    def known(self, robot: Robot) -> KnownPairs:
        """Returns the pairs it watches, with those that it watches as narrower and those that it leaves out."""
        if self.pairs is not None:
            return KnownPairs(tuple(self.pairs))
        return watched_pairs(robot, STANDING_GAP * safe_at_first(self.label, self.safe))

    def at_rest(self, robot: Robot) -> AtRest:
        safe = safe_at_first(self.label, self.safe)
        return AtRest(pairs=self.watched(robot, safe + NEAR_AT_REST), safe=safe)

    def least_margin(self, robot: Robot, q: Array, t: Array) -> float | None:
        pairs = self.watched(robot)
        if pairs is None:
            return None
        nearest = pairs.distances(q).min(axis=-1)
        return float((nearest - safe_at(self.label, self.safe, t)).min())

    def outside(self, context: Context) -> OutsideRows | None:
        known = self.known(context.robot)
        return PairRows(self, known, context) if known.pairs else None

    def start_report(self, start: Start) -> Iterator[str]:
        if start.names:
            return not_admitted(self, start)
        robot = start.context.robot.name
        return iter((f"{self.label} watches nothing: {robot!r} has no two links with collision shapes that can meet",))


class PairRows:
    """Rows of one `SelfCollision`: J x ≥ least − bias, of every pair at the state it looked at last."""

    def __init__(self, constraint: SelfCollision, known: KnownPairs, context: Context) -> None:
        self.context, robot = context, context.robot
        self.doubts = known.doubts(constraint.label)
        self.pairs = PairSet(robot, known.pairs, range=np.inf, most=len(known.pairs))
        self.names = tuple(f"{constraint.label} of {a.frame} and {b.frame}" for a, b in known.pairs)
        movers = self.pairs.movers
        self._passive_movers = context.passive[movers[context.passive]]
        self.label, self._movers = constraint.label, movers.astype(float)
        # of a joint that slides it is 1
        self._reach = max(1.0, *(_reach(robot, part) for pair in known.pairs for part in pair))
        self._spread = self._reach * sqrt(robot.nv)  # the sum of nv numbers is at most √nv times their length
        self._thinnest = min(sum(part.thickness or 0.0 for part in pair) for pair in known.pairs)

    def look(self, q: Array, v: Array, numbers: Mapping[str, Array]) -> tuple[Array, Array]:
        self._number = number = {name: x.item() for name, x in numbers.items()}
        self._q, self._v, self._seen = q, v, self.pairs.motion(q, v)
        seen, slow = self._seen, number["slow"]
        self._d, self._rate = seen.value - number["safe"], seen.rate - number["safe_rate"]
        if self.context.level == "velocity":
            bound = vfi.first_order_bound(self._d, slow, self.context.dt, number["jump"])
            self._least, self.likely = bound + number["safe_rate"], LIKELY * slow
        else:
            bound = self._bound(self._d, self._rate, slow)
            self._drift = number["safe_acceleration"] - seen.bias
            self._least, self.likely = bound + self._drift, LIKELY * slow * number["fast"]
        return self._d, self._rate

    def _bound(self, d: Array, rate: Array, slow: float) -> Array:
        """The least d̈ less that of the safe distance."""
        number = self._number
        return np.asarray(
            vfi.second_order_bound(
                d, rate, Rates(slow, number["fast"]), self.context.dt,  # type: ignore[arg-type]
                variation=number["variation"], jump=number["jump"], braking=number.get("braking"),
            )
        )  # fmt: skip

    def _lowered(self, keys: Array, J: Array) -> Array:
        """What rows ask for where joints would have to accelerate hard for it: what they can give, or what is
        needed."""
        needed = self._bound(self._d[keys], self._rate[keys], 1 / self.context.dt) + self._drift[keys]
        return np.asarray(vfi.lowered_bound(self._least[keys], needed, EASY * np.sqrt(np.einsum("ij,ij->i", J, J))))

    def inside(self, motion: Array) -> str:
        gaps, dt = self._seen.value, self.context.dt
        least = float(gaps.min())
        if least < 0:
            return self._inside(gaps, "")
        v, change = (motion, 0.0) if self.context.level == "velocity" else (self._v, dt / 2 * sqrt(motion.dot(motion)))
        if self._spread * dt * (sqrt(v.dot(v)) + change) < least:  # nearly always: no pair can be reached
            return ""
        step = motion * dt if self.context.level == "velocity" else (v + motion * (dt / 2)) * dt
        farthest = self._reach * float(np.abs(step).dot(self._movers))
        looks = farthest // max(self._thinnest, least) + 1
        if not looks <= MOST_LOOKS:
            return f"{self.label}: joints turn too far in one step to tell whether links enter each other"
        for k in np.arange(1, looks + 1) / looks if farthest >= least else ():
            gaps = self.pairs.gaps(self.context.robot.integrate(self._q, step, k))
            if gaps.min() < 0:
                return self._inside(gaps, " in this step")
        return ""

    def _inside(self, gaps: Array, when: str) -> str:
        k = int(gaps.argmin())
        return f"{self.names[k]}: they are {-gaps[k]:.2g} m inside each other{when}"

    def slack(self, motion: Array) -> Array:
        self._value = self.pairs.along(self._seen, motion)
        return self._value - self._least

    def size(self) -> Array:
        return np.maximum(np.abs(self._value), 1.0)

    def rows(self, keys: Array, B: Array, b: Array) -> tuple[Array, Array]:
        J, lower = self.pairs.jacobian(self._seen, keys), self._least[keys]
        if self.context.level != "velocity" and lower.max(initial=0.0) > 0:
            lower = self._lowered(keys, J)
        if self.context.level != "torque":
            return J, lower
        # accelerations of motors are unknowns, those of other joints follow from them
        A = np.zeros((len(keys), B.shape[1]))
        A[:, self.context.motor_unknowns] = J[:, self.context.motor_places]
        if len(at := self._passive_movers):
            A += J[:, at] @ B[at]
            lower -= J[:, at] @ b[at]
        return A, lower


# --- which pairs ------------------------------------------------------------------------------------------------------


class KnownPairs(NamedTuple):
    """Pairs to be watched.

    Args:
        pairs: as they are measured.
        narrowed: by how much capsules are narrower in a pair, m, by names of the links.
        left_out: names of links whose capsules overlap in all postures.
    """

    pairs: tuple[Pair, ...]
    narrowed: Mapping[tuple[str, str], float] = {}
    left_out: tuple[tuple[str, str], ...] = ()

    def doubts(self, label: str) -> tuple[str, ...]:
        """Returns a sentence on those that are watched only nearly, and one on those that are not watched."""
        lines, left_out = [], self.left_out
        if self.narrowed:
            worst = max(self.narrowed, key=lambda pair: self.narrowed[pair])
            lines.append(
                f"{label} takes the capsules of {len(self.narrowed)} pairs as narrower, as they come too near where "
                f"the robot stands, {' and '.join(worst)} by {self.narrowed[worst]:.2g} m: these may touch unseen"
            )
        if left_out:
            lines.append(
                f"{label} leaves out {len(left_out)} pairs whose capsules overlap in all postures, as "
                f"{' and '.join(left_out[0])}: these may touch unseen"
            )
        return tuple(lines)


def watched_pairs(robot: Robot, apart: float) -> KnownPairs:
    """Returns the pairs of a robot's links, at least `apart` (m) from each other where it stands.

    The robot can stand as it does. So capsules that are nearer there are wider than the links, and are taken as
    narrower in that pair, in proportion to their radii.
    """
    from ...geometry.collisions import known_pairs

    found = known_pairs(robot)
    pairs, out = found.checked + found.overlapping, [_names(pair) for pair in found.always]
    if not pairs:
        return KnownPairs((), {}, tuple(out))
    lacking = apart - PairSet(robot, pairs).distances(np.stack(_standing(robot))).min(axis=0)
    watched, narrowed = [], dict[tuple[str, str], float]()
    for pair, less in zip(pairs, lacking.tolist(), strict=True):
        radii = sum(side.thickness or 0.0 for side in pair)
        if less >= radii:
            out.append(_names(pair))
        elif less > 0:
            watched.append(_narrower(pair, 1 - less / radii))
            narrowed[_names(pair)] = less
        else:
            watched.append(pair)
    return KnownPairs(tuple(watched), narrowed, tuple(out))


def _standing(robot: Robot) -> list[Array]:
    """Returns postures in which the robot stands, or rests."""
    from ...body.body import Body
    from ...body.profile import BodyError

    try:
        return [robot.standing(), Body.of(robot).standing]
    except BodyError:  # no limbs: it does not stand
        return [robot.standing()]


def _narrower(pair: Pair, part: float) -> Pair:
    one, other = (replace(side, radius=part * side.radius) for side in pair)  # type: ignore[attr-defined, type-var]
    return one, other


def _names(pair: Pair) -> tuple[str, str]:
    return str(pair[0].frame), str(pair[1].frame)


def _reach(robot: Robot, part: Primitive) -> float:
    """Returns how far from the joints that move a part its points can be, m."""
    body, X = robot.place(str(part.frame))
    tree, ends = robot.tree, np.stack([part.points[0], part.points[-1]])
    chain = tree.ancestors(body) if body >= 0 else ()
    offsets = [float(np.linalg.norm(tree.bodies[k].p)) for k in chain if tree.bodies[k].parent >= 0]
    return sum(offsets) + float(np.linalg.norm(ends @ X[:3, :3].T + X[:3, 3], axis=1).max())
