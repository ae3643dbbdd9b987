"""Which parts of a robot may hit each other, and the switch between line and point of [QO21, Sec. 4.3].

`self_collision_pairs` goes from the shapes of a robot to the pairs worth watching; `PairSet` watches them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..errors import ShapeError, unknown_name
from .capsules import Round, collision_capsules, smallest_capsule
from .distances import DistanceKernel, DistanceValues, distance, distances_kernel
from .pairs import NearPairs, Pair, PairSet
from .primitives import GeometryError, Line, Plane, Point, Segment

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = [
    "LinePointSwitch", "NearPairs", "PairSet", "SortedPairs", "collision_capsules", "line_point_switch",
    "self_collision_pairs", "smallest_capsule", "sorted_pairs", "target_region",
]  # fmt: skip

Array = np.ndarray
RANGE = 0.05  # m: pairs that never come nearer need no watching
STARTS = 4  # postures from which each pair out of range is moved towards each other
DESCENTS = 20  # steps of that
STEP = 0.4  # rad or m, of one joint in one such step


# --- self-collision pairs -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SortedPairs:
    """All pairs of capsules of a robot, by what became of them."""

    kept: tuple[Pair, ...]
    ignored: tuple[Pair, ...]  # the user said so
    neighbours: tuple[Pair, ...]  # on one body, or on bodies with nothing but joints in between
    overlapping: tuple[Pair, ...]  # at rest already: their capsules are too wide to tell a collision
    always: tuple[Pair, ...]  # overlapping in every posture tried
    apart: tuple[Pair, ...]  # farther than the range in every posture tried


def self_collision_pairs(
    robot: Robot,
    *,
    range: float | None = None,
    ignore: Iterable[str | tuple[str, str]] = (),
    samples: int = 500,
    capsules: Mapping[str, Sequence[Round]] | None = None,
    posture: Array | None = None,
) -> list[Pair]:
    """The pairs of capsules of a robot that can hit each other and do not always do.

    Left out are pairs on one link, links joined rigidly, links next to each other in the tree, pairs that overlap at rest,
    pairs that overlap always, and pairs that never come within `range`. Postures are tried within the joint limits, the same
    ones each time; from the nearest of them every pair still out of range is moved towards each other. That finds what
    is in reach far more surely than chance does, but it is no proof.

    Args:
        range: m; 0.05 if not given.
        ignore: names of links, or pairs of names, that need no watching.
        samples: how many random postures.
        capsules: by link; `collision_capsules(robot)` if not given.
        posture: q at rest; `robot.standing()` if not given.
    """
    found = sorted_pairs(robot, range=range, ignore=ignore, samples=samples, capsules=capsules, posture=posture)
    return list(found.kept)


def sorted_pairs(
    robot: Robot,
    *,
    range: float | None = None,
    ignore: Iterable[str | tuple[str, str]] = (),
    samples: int = 500,
    capsules: Mapping[str, Sequence[Round]] | None = None,
    posture: Array | None = None,
) -> SortedPairs:
    """The same, with the pairs that were left out and why; arguments as of `self_collision_pairs`."""
    reach = RANGE if range is None else float(range)
    capsules = collision_capsules(robot) if capsules is None else capsules
    sort: dict[str, list[Pair]] = {name: [] for name in SortedPairs.__dataclass_fields__}
    unwatched, touching = _ignored(robot, ignore), _neighbours(robot, capsules)
    far: list[Pair] = []
    for (one, first), (other, second) in itertools.combinations([(k, c) for k, cs in capsules.items() for c in cs], 2):
        bodies = robot.place(one)[0], robot.place(other)[0]
        watched = not ({one, other} & unwatched or frozenset((one, other)) in unwatched)
        kind = "neighbours" if bodies in touching else "" if watched else "ignored"
        (sort[kind] if kind else far).append((first, second))
    if far:
        _by_postures(robot, far, reach, samples, robot.standing() if posture is None else posture, sort)
    return SortedPairs(**{name: tuple(pairs) for name, pairs in sort.items()})


def _ignored(robot: Robot, ignore: Iterable[str | tuple[str, str]]) -> set[Any]:
    """Names of links, and pairs of names in either order."""
    given: set[Any] = set()
    for entry in ignore:
        names = (entry,) if isinstance(entry, str) else tuple(entry)
        for name in names:
            if name not in robot.links:
                raise unknown_name("link", name, robot.links)
        given.add(names[0] if len(names) == 1 else frozenset(names))
    return given


def _neighbours(robot: Robot, capsules: Mapping[str, Sequence[Round]]) -> set[tuple[int, int]]:
    """Bodies that are one and the same, or have no body with capsules between them, both ways round."""
    shaped = {robot.place(link)[0] for link in capsules}
    near = {(body, body) for body in shaped}
    for body in shaped:
        above = robot.tree.bodies[body].parent if body >= 0 else -1
        while above >= 0 and above not in shaped:
            above = robot.tree.bodies[above].parent
        near |= {(body, above), (above, body)}
    return near


def _by_postures(robot: Robot, pairs: list[Pair], reach: float, samples: int, rest: Array, sort: dict[str, list[Pair]]) -> None:
    """Sort pairs by how near they come."""
    rng = np.random.default_rng(0)
    every = PairSet(robot, tuple(pairs))
    at_rest = every.distances(np.asarray(rest, dtype=float))
    q = np.stack([rest, *(_posture(robot, rest, rng) for _ in range(samples))])
    found = every.distances(q)
    least, most, starts = found.min(axis=0), found.max(axis=0), found.argsort(axis=0)[:STARTS]
    for start in starts:
        open_ = np.flatnonzero((least > reach) & (at_rest >= 0))
        if len(open_):
            least[open_] = np.minimum(least[open_], _nearest(every, open_, q[start[open_]], reach))
    kinds = np.select([most < 0, at_rest < 0, least > reach], ["always", "overlapping", "apart"], "kept")
    for pair, kind in zip(pairs, kinds, strict=True):
        sort[str(kind)].append(pair)


def _posture(robot: Robot, rest: Array, rng: np.random.Generator) -> Array:
    """Joints anywhere, the base where it is: it moves both of a pair."""
    q = robot.random_state(rng)[0]
    if robot.floating:
        q[:7] = rest[:7]
    return q


def _nearest(every: PairSet, which: Array, q: Array, reach: float) -> Array:
    """Least distance of each pair on its way towards each other from a posture of its own, within joint limits."""
    robot, limits = every.robot, every.robot.limits
    turn = robot.kernel("integrate").program
    single = [j for j in robot.joints.values() if j.type.nq == 1 and j.mimic is None]
    at, of = np.array([j.q.start for j in single], int), np.array([j.v.start for j in single], int)
    least, open_, q = np.full(len(which), np.inf), np.arange(len(which)), q.copy()
    for _ in range(DESCENTS):
        value, J = every.row_of_each(q[open_], which[open_])
        least[open_] = np.minimum(least[open_], value)
        left = value > reach
        open_, value, J = open_[left], value[left], J[left]
        if len(open_) == 0:
            break
        here = q[open_][:, at]
        J[:, of] *= np.where(J[:, of] > 0, here > limits.lower[at], here < limits.upper[at])  # those at a limit stay there
        v = -J * (value / (np.einsum("ij,ij->i", J, J) + 1e-9))[:, None]
        v *= np.minimum(1.0, STEP / (np.abs(v).max(axis=1) + 1e-12))[:, None]
        q[open_] = turn.evaluate(q[open_], v, np.ones((len(open_), 1)))
        q[:, at] = np.clip(q[:, at], limits.lower[at], limits.upper[at])
    return least


# --- line or point [QO21, Eqs. (4.37), (4.38)] -------------------------------------------------------------------------

Part = Literal["line", "first end", "second end"]


@dataclass(frozen=True, eq=False)
class LinePointSwitch:
    """The torso–arm distance of [QO21, Eqs. (4.37), (4.38)]: line to line, or an end of the arm to the line.

    The thesis keeps two infinite lines apart, and switches to the nearer of elbow and hand where the lines pass each other
    beyond the arm. It switches when the distance of the lines is 0, a set no computer meets; the switch here is made where
    the point of the arm's line nearest to the torso leaves the arm. So it is continuous, and equal to the distance of a Line
    and a Segment, value and derivatives alike.
    """

    torso: Line
    arm: Segment
    kernel: DistanceKernel = field(repr=False)

    def __call__(self, q: Array, v: Array) -> tuple[Part, DistanceValues]:
        """Which part of the arm is nearest, and its squared distance from the torso's line, at one state."""
        where = self.arm_on_torso(q)
        part: Part = "line" if 0 <= where <= 1 else "first end" if where < 0 else "second end"
        row = ("line", "first end", "second end").index(part)
        now = self.kernel(q, v)
        return part, DistanceValues(*(x[row] for x in (now.value, now.J, now.residual, now.J_dot_v, now.residual_rate)))

    def arm_on_torso(self, q: Array) -> float:
        """Where the arm's line is nearest to the torso's: 0 at one end of the arm, 1 at the other; ½ where parallel."""
        robot = self.kernel.robot
        (p, l), (a, b) = (_in_world(robot, q, x) for x in (self.torso, self.arm))
        across, beside = np.cross(b - a, l), np.cross(a - p, l)
        square = float(across @ across)
        return float(-across @ beside / square) if square > 0 else 0.5


def _in_world(robot: Robot, q: Array, primitive: Line | Segment) -> tuple[Array, Array]:
    X = np.eye(4) if primitive.frame is None else robot.pose(q, primitive.frame)
    placed = [X[:3, :3] @ p + X[:3, 3] for p in primitive.points] + [X[:3, :3] @ d for d in primitive.directions]
    return placed[0], placed[1]


def line_point_switch(robot: Robot, torso: Line, arm: Segment) -> LinePointSwitch:
    """The distance of [QO21, Eq. (4.37)] for a robot: `torso` an infinite line, `arm` from elbow to hand."""
    if not isinstance(torso, Line) or not isinstance(arm, Segment):
        raise GeometryError(f"line_point_switch: wanted a Line and a Segment, got {torso!r} and {arm!r}")
    if arm.frame is None:
        raise GeometryError("line_point_switch: the arm is on a frame of the robot; this one is in the world")
    line = Line(arm.a, arm.b - arm.a, arm.frame)
    ends = (Point(end, arm.frame) for end in (arm.a, arm.b))
    return LinePointSwitch(torso, arm, distances_kernel(robot, [distance(part, torso) for part in (line, *ends)]))


# --- target regions [QO21, Eqs. (4.39), (4.40)] ------------------------------------------------------------------------


def target_region(corners: Any, up: Any = (0.0, 0.0, 1.0), frame: str | None = None) -> tuple[Plane, ...]:
    """Planes along `up` through the edges of a convex polygon, normals inwards: the walls around a target [QO21, Fig. 4.8].

    A point is between them where its distance from each is positive; keep a `Point` of the hand there and it cannot
    reach a table from below.

    Args:
        corners: (n, 3) m, in order, either way round.
        up: direction of the walls.
        frame: of the robot, or None for the world.
    """
    corners = np.asarray(corners, dtype=float)
    if corners.ndim != 2 or corners.shape[1] != 3 or len(corners) < 3 or not np.isfinite(corners).all():
        raise ShapeError(f"target_region: wanted at least three corners, shape (n, 3), finite; got {corners!r}")
    up = np.asarray(up, dtype=float) / np.linalg.norm(up)
    edges = np.roll(corners, -1, axis=0) - corners
    normals = np.cross(up, edges)
    if (turns := np.cross(edges, np.roll(edges, -1, axis=0)) @ up).sum() < 0:
        normals, turns = -normals, -turns
    if (turns <= 0).any():
        raise GeometryError(
            "target_region: the corners, in their order, are those of a convex polygon seen along `up`; these are not"
        )
    return tuple(Plane(n, float(n @ c) / float(np.linalg.norm(n)), frame) for n, c in zip(normals, corners, strict=True))
