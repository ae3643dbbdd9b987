"""Hundreds of distances at once: every pair is looked at, those within range come with their derivatives.

`distances_kernel` writes the code of each pair out, which is fast for tens of distances and too much code for hundreds.
Here three kernels share the work, whatever the number of pairs:

    kinematics   (q, v) → start and span of every segment, their rates and biases, and the twists of the joints
    gap          one pair of segments → distance; run on all pairs as a batch, in the lanes of vector registers
    slope        one pair → distance, its rate, its acceleration at a = 0, its gradient as a wrench; on those in range

A distance does not change when both bodies move as one. Hence its gradient is a wrench F on one of them and −F on the
other, and the row of the Jacobian is Fᵀ S on the joints S that move the one, −Fᵀ S on those of the other, nothing on
joints of both.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ShapeError
from ..machine.cached import cached
from ..machine.kernel import Kernel
from ..machine.program import Program
from ..machine.store import kernel_of
from ..model.tree import Tree
from .formulas import Placed, root, segment_segment
from .primitives import GeometryError, Primitive

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
Pair = tuple[Primitive, Primitive]
PLACE, MOTION = 6, 12  # numbers of a segment: start and span; their rates, and their accelerations at a = 0
CHUNK = 500_000  # pairs measured together: some 50 MB


class NearPairs(NamedTuple):
    """The pairs within range, in the order of the list: d with ḋ = rate and d̈ = J a + bias."""

    indices: Array  # (k,) into the list of pairs
    value: Array  # (k,) m, less the radii: negative when they penetrate
    J: Array  # (k, nv)
    bias: Array  # (k,) J̇ v, and ζ̇ where the world moves
    rate: Array  # (k,) J v, and ζ where the world moves


class PairMotion(NamedTuple):
    """All pairs of a list at one state, whatever their distance."""

    value: Array  # (n,) m, less the radii
    rate: Array  # (n,)
    bias: Array  # (n,) J̇ v
    gradient: Array  # (n, 6) force and torque: J x = gradient · (motion of the first − motion of the second)
    twists: Array  # (6, columns) of the joints


@dataclass(frozen=True, eq=False)
class PairSet:
    """Distances of many pairs of points, segments, spheres and capsules: of a robot with itself, or with the world.

    Args:
        pairs: what to keep apart; each is on a frame of the robot, or one of the two in the world, where it may move.
        range: m; pairs farther apart are left out.
        most: how many pairs come back at most: the nearest ones.

    It works in memory of its own: one thread at a time.
    """

    robot: Robot
    pairs: tuple[Pair, ...]
    range: float = 0.1
    most: int = 64
    compiled: bool = False  # whether batches of postures come often enough for compiled kinematics
    world: tuple[Primitive, ...] = field(init=False)  # what stands in the world, each once
    kinematics: Kernel = field(init=False)
    gap: Kernel = field(init=False)
    slope: Kernel = field(init=False)
    _sides: Array = field(init=False)  # (2, pairs): which segment is the first and which the second of each pair
    _radii: Array = field(init=False)  # (pairs, 1) of both together
    _moves: Array = field(init=False)  # (pairs, columns): +1 where a joint moves the first alone, −1 the second alone
    _carried: Array = field(init=False)  # (segments, columns): 1 where a joint moves the segment
    _followers: Array | None = field(init=False)  # of columns beyond nv: which velocity they belong to
    _given: tuple[Array, Array] = field(init=False)  # places and motions of the world as the pairs have it
    _gaps: _Batch = field(init=False)
    _slopes: _Batch = field(init=False)

    def __post_init__(self) -> None:
        set_ = functools.partial(object.__setattr__, self)
        set_("pairs", tuple(tuple(pair) for pair in self.pairs))
        _check(self)
        every = {_segment(p): p for pair in self.pairs for p in pair}  # shapes that differ in radius share theirs
        world = tuple(p for p in every.values() if p.frame is None)
        carried = [p for p in every.values() if p.frame is not None]
        place = {_segment(p): k for k, p in enumerate([*carried, *world])}
        set_("world", world)
        set_("_given", _motions(world))
        of = [[place[_segment(pair[side])] for pair in self.pairs] for side in (0, 1)]
        set_("_sides", np.array(of, dtype=np.intp))
        set_("_radii", np.array([[sum(p.thickness or 0.0 for p in pair)] for pair in self.pairs]))
        tree = self.robot.tree
        columns = _columns_of(tree)
        moves = _moved_columns(tree, columns)
        bodies = np.array([-1 if p.frame is None else self.robot.place(p.frame)[0] for p in (*carried, *world)])
        set_("_carried", moves[bodies])
        set_("_moves", self._carried[self._sides[0]] - self._carried[self._sides[1]])
        set_("_followers", np.eye(tree.nv)[[v for _, v in columns[tree.nv :]]] if tree.coupled else None)
        set_("kinematics", kernel_of(cached(_kinematics_traced, tree, _placed(self.robot, carried), columns)))
        set_("gap", kernel_of(cached(_gap_traced), strict=False))
        set_("slope", kernel_of(cached(_slope_traced), strict=False))
        set_("_gaps", _Batch(self.gap, len(self.pairs)))
        set_("_slopes", _Batch(self.slope, len(self.pairs)))

    def __call__(
        self, q: Array, v: Array, world: Sequence[Primitive] | None = None, *, range: float | None = None
    ) -> NearPairs:
        """Pairs within range at one state (q, v); `world` stands in the place of `self.world`, in that order.

        A `range` that is given stands in the place of `self.range`.
        """
        places, motions, twists, radii = self._state(q, v, world)
        gaps = self._gaps(places, places, radii, rows=(*self._sides, None))
        (near,) = (gaps[:, 0] < (self.range if range is None else range)).nonzero()
        if len(near) > self.most:
            near = np.sort(near[np.argpartition(gaps[near, 0], self.most)[: self.most]])
        one, other = self._sides.take(near, 1)
        rows = self._slopes(places, places, motions, motions, radii, rows=(one, other, one, other, near))
        return NearPairs(
            near, rows[:, 0].copy(), self._jacobian(rows[:, 3:], twists, near), rows[:, 2].copy(), rows[:, 1].copy()
        )

    def motion(self, q: Array, v: Array) -> PairMotion:
        """All pairs at one state (q, v), without the rows of the Jacobian: see `jacobian` and `along`."""
        places, motions, twists, radii = self._state(q, v, None)
        one, other = self._sides
        rows = self._slopes(places, places, motions, motions, radii, rows=(one, other, one, other, None)).T.copy()
        return PairMotion(rows[0], rows[1], rows[2], rows[3:].T, twists)

    def gaps(self, q: Array) -> Array:
        """Distances of all pairs at one posture, (n,); overwritten by the next call."""
        places, _, _, radii = self._state(q, np.zeros(self.robot.nv), None)
        return self._gaps(places, places, radii, rows=(*self._sides, None))[:, 0]

    def jacobian(self, motion: PairMotion, which: Array) -> Array:
        """J of some of the pairs, (k, nv)."""
        return self._jacobian(motion.gradient.take(which, 0), motion.twists, which)

    def along(self, motion: PairMotion, x: Array) -> Array:
        """J x of all pairs, (n,), for velocities or accelerations x (nv,): a product with one row for each segment."""
        columns = x if self._followers is None else np.concatenate((x, self._followers @ x))
        of_segments = self._carried @ (motion.twists * columns).T
        one, other = self._sides
        relative = of_segments.take(one, 0)
        relative -= of_segments.take(other, 0)
        return np.asarray(np.einsum("ij,ij->i", motion.gradient, relative))

    def _state(self, q: Array, v: Array, world: Sequence[Primitive] | None) -> tuple[Array, Array, Array, Array]:
        """Places and motions of the segments, twists of the joints, and radii of the pairs."""
        q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
        if q.ndim != 1 or v.ndim != 1:
            raise ShapeError(f"PairSet looks at one state, q and v of one dimension; got {q.shape} and {v.shape}")
        places, motions, twists = self.kinematics(q, v)
        given, radii = (self._given, self._radii) if world is None else self._replaced(world)
        if self.world:
            places, motions = self._with_world(places, motions, given, q, v)
        return places, motions, twists, radii

    def _jacobian(self, gradient: Array, twists: Array, which: Array) -> Array:
        J = gradient @ twists
        J *= self._moves.take(which, 0)
        if self._followers is not None:
            J = J[:, : self.robot.nv] + J[:, self.robot.nv :] @ self._followers
        return np.asarray(J)

    @property
    def movers(self) -> Array:
        """Whether each velocity moves some pair, (nv,): a robot comes no nearer to itself when its base moves."""
        columns = np.abs(self._moves).max(axis=0) > 0
        nv = self.robot.nv
        return columns[:nv] if self._followers is None else columns[:nv] | (columns[nv:] @ self._followers > 0)

    def distances(self, q: Array) -> Array:
        """Distances of all pairs, (…, pairs), whatever the range; leading dimensions are batches."""
        q = np.asarray(q, dtype=float)
        flat = q.reshape(-1, q.shape[-1])
        places, _, _ = self._at(flat)
        result = np.empty((len(flat), len(self.pairs)))
        step = max(1, CHUNK // max(1, len(self.pairs)))
        for start in range(0, len(flat), step):
            one, other = (places[start : start + step].take(side, 1) for side in self._sides)
            result[start : start + step] = self.gap(one, other, self._radii)[..., 0]
        return result.reshape(*q.shape[:-1], len(self.pairs))

    def row_of_each(self, q: Array, which: Array) -> tuple[Array, Array]:
        """Distance (n,) and Jacobian (n, nv) of pair which[i] at posture q[i]."""
        places, motions, twists = self._at(q)
        at, (first, second) = np.arange(len(q)), self._sides[:, which]
        sides = places[at, first], places[at, second], motions[at, first], motions[at, second]
        rows = self.slope(*sides, self._radii[which])
        J = (
            np.einsum("ni,nij->nj", rows[:, 3:], np.broadcast_to(twists, (len(q), *twists.shape[-2:])))
            * self._moves[which]
        )
        if self._followers is not None:
            J = J[:, : self.robot.nv] + J[:, self.robot.nv :] @ self._followers
        return rows[:, 0], J

    def _at(self, q: Array) -> tuple[Array, Array, Array]:
        """Places and motions of all primitives and twists of the joints at postures (n, nq) at rest."""
        still = np.zeros((len(q), self.robot.nv))
        places, motions, twists = (self.kinematics if self.compiled else self.kinematics.program.evaluate)(q, still)
        if self.world:
            places, motions = self._with_world(places, motions, self._given, q, still)
        return places, motions, twists

    def _replaced(self, world: Sequence[Primitive]) -> tuple[tuple[Array, Array], Array]:
        """Other things in the place of the world's: their places and motions, and radii of the pairs."""
        wanted, got = ([type(p).__name__ for p in things] for things in (self.world, world))
        if wanted != got or any(p.frame is not None for p in world):
            raise GeometryError(
                f"the world of these pairs is [{', '.join(wanted)}], in this order; got [{', '.join(got)}]"
            )
        now = dict(zip(self.world, world, strict=True))
        radii = [[sum(now.get(p, p).thickness or 0.0 for p in pair)] for pair in self.pairs]
        return _motions(world), np.array(radii)

    def _with_world(
        self, places: Array, motions: Array, given: tuple[Array, Array], q: Array, v: Array
    ) -> tuple[Array, Array]:
        """Rows of robot and world, both relative to the base."""
        there, moving = (np.tile(x, (*places.shape[:-2], 1, 1)) for x in given)
        if self.robot.floating:
            there[..., :3] -= q[..., None, :3]
            moving[..., :3] -= v[..., None, :3]
        return np.concatenate([places, there], axis=-2), np.concatenate([motions, moving], axis=-2)


class _Batch:
    """A kernel on memory of its own: a call from Python costs a few microseconds whatever the number of rows."""

    def __init__(self, kernel: Kernel, most: int) -> None:
        self.code = kernel.code("float64", batch=True)
        self.width = self.code.target.width
        # blocks are whole; rows nobody asked for are computed and left alone
        most = -(-most // self.width) * self.width
        sizes = [argument.size for argument in kernel.program.inputs] + [
            output.size for output in kernel.program.outputs
        ]
        self.arrays = [np.zeros((most, size)) for size in sizes]
        self.places = [(x.ctypes.data, x.strides[0]) for x in self.arrays]

    def __call__(self, *inputs: Array, rows: Sequence[Array | None]) -> Array:
        """The kernel's result for those rows of each input; it is overwritten by the next call."""
        count = 0
        for x, own, which in zip(inputs, self.arrays, rows, strict=False):
            if which is None:
                own[: len(x)] = x
            else:
                count = len(which)
                x.take(which, 0, own[:count], "clip")  # "raise" would go through a copy
        self.code.blocks(self.places, 0, -(-count // self.width), stream=False)
        return self.arrays[-1][:count]


def _check(given: PairSet) -> None:
    if not given.pairs:
        raise GeometryError("PairSet: give at least one pair")
    if not (np.ndim(given.range) == 0 and given.range > -np.inf) or given.most < 1:
        raise ShapeError(
            f"PairSet: range is a length in metres and most at least 1; got {given.range!r} and {given.most!r}"
        )
    for pair in given.pairs:
        if len(pair) != 2 or any(getattr(p, "core", None) not in ("point", "segment") for p in pair):
            raise GeometryError(f"PairSet: wanted pairs of Points, Segments, Spheres or Capsules, got {pair!r}")
        if all(p.frame is None for p in pair):
            raise GeometryError(f"PairSet: one of a pair is on a frame of the robot; both are in the world: {pair!r}")


def _segment(primitive: Primitive) -> object:
    """What tells the segment of a primitive from others: on a frame its ends, in the world itself."""
    return primitive if primitive.frame is None else (primitive.frame, *map(tuple, _ends(primitive)))


def _ends(primitive: Primitive) -> tuple[Array, Array]:
    """A segment as start and span; a point has no span."""
    start, end = primitive.points[0], primitive.points[-1]
    return start, end - start


def _motions(world: Sequence[Primitive]) -> tuple[Array, Array]:
    """Start and span of each, (n, 6), and their rates and accelerations, (n, 12)."""
    rows = np.empty((len(world), 3, 2, 3))
    for row, primitive in zip(rows, world, strict=True):
        points = primitive.motion[:, : 3 * len(primitive.points)].reshape(3, -1, 3)
        row[:, 0], row[:, 1] = points[:, 0], points[:, -1] - points[:, 0]
    return rows[:, 0].reshape(-1, PLACE), rows[:, 1:].reshape(-1, MOTION)


# --- joints -----------------------------------------------------------------------------------------------------------


def _columns_of(tree: Tree) -> list[tuple[int, int]]:
    """(body, velocity) of each column of joint twists: the nv velocities, then one for each joint that follows
    another."""
    owners: dict[int, int] = {}
    followers = []
    for i, body in enumerate(tree.bodies):
        for k in range(body.v.start, body.v.stop):
            if k in owners:
                followers.append((i, k))
            else:
                owners[k] = i
    return [(owners[k], k) for k in range(tree.nv)] + followers


def _moved_columns(tree: Tree, columns: Sequence[tuple[int, int]]) -> Array:
    """(bodies + 1, columns): 1 where the column's joint moves the body. The last row, index −1, is the world's."""
    moves = np.zeros((len(tree.bodies) + 1, len(columns)))
    for i in range(len(tree.bodies)):
        line = set(tree.ancestors(i))
        moves[i] = [body in line for body, _ in columns]
    return moves


# --- on symbols -------------------------------------------------------------------------------------------------------


def _placed(robot: Robot, carried: Sequence[Primitive]) -> list[tuple[int, list[float], list[float]]]:
    """Body, start and span of each primitive."""
    placed = []
    for primitive in carried:
        body, X = robot.place(str(primitive.frame))
        start, span = _ends(primitive)
        placed.append((body, (X[:3, :3] @ start + X[:3, 3]).tolist(), (X[:3, :3] @ span).tolist()))
    return placed


def _kinematics_traced(tree: Tree, placed: Sequence[Any], columns: Sequence[tuple[int, int]]) -> Program:
    """Segments of the robot relative to its base, (n, 6) and (n, 12), and the twists of its joints there, (6,
    columns)."""
    from ..equations.symbols import SX, beside, stack
    from ..machine.trace import trace
    from .rows import scene_of

    q, v = SX.sym("q", tree.nq), SX.sym("v", tree.nv)
    scene = scene_of(tree, q, v, ())
    rows = [_segment_row(scene, *place) for place in placed]
    places, motions = (stack(*(row[:, part] for row in rows)) for part in (slice(0, PLACE), slice(PLACE, None)))
    twists = []
    for i, k in columns:
        block, body = scene.blocks[i], tree.bodies[i]
        own = k - body.v.start
        twists.append(body.multiplier * stack(block.at_O[:, own], block.angular[:, own]))
    outputs = {"places": places, "motions": motions, "twists": beside(*twists)}
    return trace("pair_kinematics", {"q": q, "v": v}, outputs, quaternions=[(0, start) for start in tree.quaternions])


def _segment_row(scene: Any, body: int, start: Sequence[float], span: Sequence[float]) -> Any:
    from ..equations.symbols import beside, constant, cross, zeros

    a, e = constant(start), constant(span)
    if body < 0:  # fixed to the world
        parts = [a - scene.where.O, e, -scene.of_base, zeros(3), zeros(3), zeros(3)]
    else:
        R, w, bias = scene.where.R[body], scene.angular[body], scene.bias[body]
        arm, along = R @ a, R @ e
        parts = [scene.where.p[body] + arm, along, scene.linear[body] + cross(w, arm), cross(w, along)]
        parts += [R @ (bias.B @ a + bias.acceleration), R @ (bias.B @ e)]
    return beside(*(part.T for part in parts))


def _gap_traced() -> Program:
    """Distance of two segments less the radii."""
    from ..equations.symbols import SX
    from ..machine.trace import trace

    one, other, radii = SX.sym("one", PLACE), SX.sym("other", PLACE), SX.sym("radii", 1)
    outputs = {"gap": _distance(one, other) - radii}
    return trace("gap", {"one": one, "other": other, "radii": radii}, outputs, shapes={"gap": (1,)})


def _slope_traced() -> Program:
    """Of two segments: (distance less radii, its rate, its acceleration at a = 0, force and torque of its gradient),
    (9,)."""
    import casadi

    from ..equations.symbols import SX, cross, stack
    from ..machine.trace import trace

    one, other = SX.sym("one", PLACE), SX.sym("other", PLACE)
    moving, moving_other, radii = SX.sym("moving", MOTION), SX.sym("moving_other", MOTION), SX.sym("radii", 1)
    rate, bias = (stack(moving[k : k + 6], moving_other[k : k + 6]) for k in (0, 6))
    y, y_dot = SX.sym("y", 2 * PLACE), SX.sym("y_dot", 2 * PLACE)
    distance = _distance(y[0:6], y[6:12])
    g = casadi.gradient(distance, y)
    formula = casadi.Function("formula", [y, y_dot], [distance, g, casadi.jtimes(g, y, y_dot)])
    value, g, g_dot = formula(stack(one, other), rate)
    torque = cross(one[0:3], g[0:3]) + cross(one[3:6], g[3:6])
    outputs = {"slope": stack(value - radii, g.T @ rate, g_dot.T @ rate + g.T @ bias, g[0:3], torque)}
    inputs = {"one": one, "other": other, "moving": moving, "moving_other": moving_other, "radii": radii}
    return trace("slope", inputs, outputs, shapes={"slope": (9,)})


def _distance(one: Any, other: Any) -> Any:
    """Of two segments given as start and span."""
    from ..equations.symbols import SYMBOLS

    a, b = (Placed(_three(x[0:3]), _three(x[0:3] + x[3:6])) for x in (one, other))
    return root(segment_segment(a, b, SYMBOLS), SYMBOLS)


def _three(x: Any) -> tuple[Any, Any, Any]:
    return x[0], x[1], x[2]
