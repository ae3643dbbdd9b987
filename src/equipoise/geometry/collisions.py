"""Which parts of a robot may hit each other: from its shapes to the pairs worth watching. `PairSet` watches them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import unknown_name
from ..machine.cached import cached
from .capsules import Round, collision_capsules
from .pairs import Pair, PairSet

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
RANGE = 0.05  # m: pairs that never come nearer need no watching
STARTS = 4  # postures from which each pair out of range is moved towards each other
DESCENTS = 20  # steps of that
STEP = 0.4  # rad or m, of one joint in one such step


@dataclass(frozen=True)
class SortedPairs:
    """All pairs of capsules of a robot, by what became of them."""

    checked: tuple[Pair, ...]  # may collide
    ignored: tuple[Pair, ...]  # as the user asked
    neighbours: tuple[Pair, ...]  # on one body, or on bodies with nothing but joints in between
    overlapping: tuple[Pair, ...]  # at rest already: their capsules are too wide to tell a collision
    always: tuple[Pair, ...]  # overlapping in every posture tried
    apart: tuple[Pair, ...]  # farther than the range in every posture tried


KINDS = tuple(SortedPairs.__dataclass_fields__)


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

    Left out are pairs on one link, links joined rigidly, links next to each other in the tree, pairs that overlap at
    rest, pairs that overlap always, and pairs that never come within `range`. Postures are tried within the joint
    limits, the same ones each time; from the nearest of them every pair still out of range is moved towards each other.
    That finds what is in reach far more surely than chance does, but it is no proof. What is found is cached.

    Args:
        range: m; 0.05 if not given.
        ignore: names of links, or pairs of names, that need no watching.
        samples: how many random postures.
        capsules: by link; `collision_capsules(robot)` if not given.
        posture: q at rest; `robot.standing()` if not given.
    """
    return list(known_pairs(robot, range, ignore, samples, capsules, posture).checked)


def known_pairs(
    robot: Robot,
    range: float | None = None,
    ignore: Iterable[str | tuple[str, str]] = (),
    samples: int = 500,
    capsules: Mapping[str, Sequence[Round]] | None = None,
    posture: Array | None = None,
) -> SortedPairs:
    """Returns what `sorted_pairs` does, from the cache where it is there; arguments as of `self_collision_pairs`."""
    reach = RANGE if range is None else float(range)
    capsules = collision_capsules(robot) if capsules is None else capsules
    ignore = list(ignore)
    rest = robot.standing() if posture is None else np.asarray(posture, dtype=float)
    _ignored(robot, ignore)  # names that are not known are refused, cached or not
    found = list(
        zip(_combinations(capsules), cached(_kinds, robot, capsules, reach, ignore, samples, rest), strict=True)
    )
    return SortedPairs(*(tuple(pair for pair, of in found if of == kind) for kind, _ in enumerate(KINDS)))


def _kinds(
    robot: Robot,
    capsules: Mapping[str, Sequence[Round]],
    reach: float,
    ignore: Iterable[str | tuple[str, str]],
    samples: int,
    rest: Array,
) -> list[int]:
    """Returns the kind of each pair, as a place in `KINDS`."""
    found = sorted_pairs(robot, range=reach, ignore=ignore, samples=samples, capsules=capsules, posture=rest)
    of = {(id(a), id(b)): kind for kind, name in enumerate(KINDS) for a, b in getattr(found, name)}
    return [of[id(a), id(b)] for a, b in _combinations(capsules)]


def _combinations(capsules: Mapping[str, Sequence[Round]]) -> list[Pair]:
    """All pairs of capsules, in order."""
    return list(itertools.combinations([c for cs in capsules.values() for c in cs], 2))


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
    sort: dict[str, list[Pair]] = {name: [] for name in KINDS}
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


def _by_postures(
    robot: Robot, pairs: list[Pair], reach: float, samples: int, rest: Array, sort: dict[str, list[Pair]]
) -> None:
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
    kinds = np.select([most < 0, at_rest < 0, least > reach], ["always", "overlapping", "apart"], "checked")
    for pair, kind in zip(pairs, kinds, strict=True):
        sort[str(kind)].append(pair)


def _posture(robot: Robot, rest: Array, rng: np.random.Generator) -> Array:
    """Joints anywhere, the base where it is: it moves both of a pair."""
    q = robot.random_state(rng)[0]
    if robot.floating:
        q[:7] = rest[:7]
    return q


def _nearest(every: PairSet, which: Array, q: Array, reach: float) -> Array:
    """Least distance of each pair as it moves together from a posture of its own, within joint limits."""
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
        # those at a limit stay there
        J[:, of] *= np.where(J[:, of] > 0, here > limits.lower[at], here < limits.upper[at])
        v = -J * (value / (np.einsum("ij,ij->i", J, J) + 1e-9))[:, None]
        v *= np.minimum(1.0, STEP / (np.abs(v).max(axis=1) + 1e-12))[:, None]
        q[open_] = turn.evaluate(q[open_], v, np.ones((len(open_), 1)))
        q[:, at] = np.clip(q[:, at], limits.lower[at], limits.upper[at])
    return least
