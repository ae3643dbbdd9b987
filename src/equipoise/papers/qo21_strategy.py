"""[QO21, Sec. 4.5, Table 6.2] The strategy step by step: commands held against what tasks and constraints state.

Tasks, gains, dampings and constraints are written down here a second time, on `Moving` numbers. λ of a task is its
weight: w |J u − ẏ*|² + λ² |u|² is damped by λ / √w.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import null_space
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from ..control.stances.attempts import MachineState
from ..geometry.collisions import self_collision_pairs
from .commanded import Asked, Kept, Statement, towards
from .moving import Moving, at_their_ends, between, com, direction, gap_of, given, joints, point, stacked
from .reference import ReferenceState
from .rows import Figure

if TYPE_CHECKING:
    from .qo21_contacts import Reacher, Surroundings, Touching

Array = np.ndarray
ETA = {"contact": 2.0, "area": 0.5, "task": 1.0}  # 1/s [QO21, Table 6.2]
LAMBDA = {"contact": 0.05, "area": 0.1, "task": 0.08}
RATE = 5.0  # 1/s, of all barriers
RISES, ENTERS = 4.0, 2.0  # 1/s: how fast a hand outside comes above the surface, and between the walls
POSTURE, CALM = 1e-4, 100.0  # weight of the posture, m²; how much more it counts between attempts
SAFE, NEAR = 0.01, 0.1  # m, kept between parts of the robot; pairs that are looked at
LOOKS = 8  # of each state
LEANS = (MachineState.AGAIN, MachineState.GROW, MachineState.SLIDE)


class Strategy:
    """The strategy at one of its steps, as the thesis and docs/multi-contact.md have it."""

    def __init__(
        self, run: Touching, who: Reacher, place: Surroundings, margin: float, state: MachineState, since: int
    ) -> None:
        self.run, self.who, self.place, self.margin, self.state, self.since = run, who, place, margin, state, since
        self.normal, self.centre = np.array(place.normal, dtype=float), who.hand.points.mean(0)
        self.first, self.hand = ReferenceState(run.robot, run.report.path[0]), who.hand.frame
        self.pairs = self_collision_pairs(run.robot)
        self.began = ReferenceState(run.robot, run.report.path[since])

    def look(self, k: int, stated: Statement) -> None:
        """Looks at the command of step k."""
        robot, (q, after) = self.run.robot, self.run.report.path[k : k + 2]
        dt = float(self.run.report.t[1] - self.run.report.t[0])
        now, u = ReferenceState(robot, q), robot.difference(q, after) / dt
        corners = self._corners(now)
        edges = [(corners[i], corners[j]) for i, j in _edges(corners)]
        kept = [self._inside(now, *edge) for edge in edges] + self._walls(now, (k - self.since) * dt)
        kept += [Kept(d, -RATE * d.x) for d in (*self._balls(now), *self._parts(now))]
        held = np.concatenate([*self._held(now), np.eye(robot.nv)[at_their_ends(robot, q, u)]])
        stated.look(u, False, self._asked(now, edges), kept, held, motion_weight=LAMBDA["task"] ** 2)

    def _corners(self, now: ReferenceState) -> list[Moving]:
        contacts = (*self.who.feet, self.who.hand) if self.state in LEANS else self.who.feet
        return [point(now, contact.frame, corner) for contact in contacts for corner in contact.points]

    def _asked(self, now: ReferenceState, edges: list[tuple[Moving, Moving]]) -> list[Asked]:
        asked, share = [], 1.0
        if self.state.tries:
            ball = point(now, self.who.reaching)
            asked.append(Asked(ball, towards(ball, self.place.ball, ETA["task"], False)))
        else:
            name = "contact" if self.state is MachineState.APPROACH else "area"
            weight = (LAMBDA["task"] / LAMBDA[name]) ** 2
            share = CALM * weight / 10
            y = self._plane(now) if name == "contact" else _area(edges)
            goal = np.append(self.normal, self.place.offset) if name == "contact" else 2 * y.x
            asked.append(Asked(y, towards(y, goal, ETA[name], False), weight))
        posture, weight = joints(now, slice(6, None)), share * POSTURE * float(self.first.com[2]) ** 2
        asked.append(Asked(posture, towards(posture, self.first.q[7:], 1.0, False), weight))
        base, level = (there.links[self.run.robot.base_link or ""] for there in (now, self.first))
        turning = Moving(np.zeros(3), base.J[3:], base.V[3:], base.A[3:])
        return [*asked, Asked(turning, Rotation.from_matrix(level.R @ base.R.T).as_rotvec(), 10 * weight)]

    def _plane(self, now: ReferenceState) -> Moving:
        """Returns normal and offset of the palm's plane [QO21, Eqs. (4.55), (4.56)]."""
        n = direction(now, self.hand, self.who.hand.normal)
        return stacked(n, n.dot(point(now, self.hand, self.centre)))

    def _held(self, now: ReferenceState) -> list[Array]:
        """Feet stand; the hand stands, or slides: it keeps to its surface and may turn about the normal."""
        at = now.frame(self.hand)
        across = at.R @ null_space(np.asarray(self.who.hand.normal, dtype=float)[None])
        rows = [now.frame(foot.frame).J for foot in self.who.feet]
        if self.state is MachineState.AGAIN:
            rows.append(at.J)
        elif self.state in LEANS:
            rows.append(np.concatenate([(at.R @ self.who.hand.normal)[None] @ at.J[:3], across.T @ at.J[3:]]))
        return rows

    def _inside(self, now: ReferenceState, a: Moving, b: Moving) -> Kept:
        """The mass from one edge of the support, seen from above; the edge moves with its ends."""
        edge, r = (b - a)[:2], (com(now) - a)[:2]
        across, along = edge.dot(r.rotated(np.array([[0.0, 1.0], [-1.0, 0.0]]))), edge.length()
        off = across.x / along.x
        d = Moving(off - self.margin, (across.J - off * along.J) / along.x, np.zeros(1), np.zeros(1))
        return Kept(d, -RATE * d.x)

    def _walls(self, now: ReferenceState, late: float) -> list[Kept]:
        """Above the surface on the way, and between the walls of the region; walls come from where the hand was."""
        if self.state.tries and self.state is not MachineState.SLIDE:
            return []
        planes = [(self.centre, wall, edge, ENTERS) for wall, edge in _walls_of(self.place.region, self.normal)]
        if self.state is MachineState.APPROACH:
            planes += [(corner, self.normal, self.place.offset, RISES) for corner in self.who.hand.points]
        kept = []
        for corner, n, offset, rate in planes:
            outside = max(0.0, float(offset - n @ self.began.frame(self.hand, corner).p))
            d = point(now, self.hand, corner).rotated(n[None]) - given(
                offset - outside * np.exp(-rate * late), now.model.nv
            )
            kept.append(Kept(d, -RATE * d.x))
        return kept

    def _balls(self, now: ReferenceState) -> list[Moving]:
        """Trunk and head from a wall."""
        if not self.normal[0]:
            return []
        places = [(ball, point(now, str(ball.frame), ball.points[0])) for ball in self.who.balls]
        gaps = [(ball.thickness or 0.0) + 0.02 + self.place.offset for ball, _ in places]
        return [
            at.rotated(self.normal[None]) - given(gap, now.model.nv) for (_, at), gap in zip(places, gaps, strict=True)
        ]

    def _parts(self, now: ReferenceState) -> list[Moving]:
        """The robot's own parts, those that are near each other."""
        near = [(a, b) for a, b in self.pairs if gap_of(now, a, b) < NEAR]
        return [between(now, *pair) - given(SAFE, now.model.nv) for pair in near]


def _edges(corners: list[Moving]) -> list[tuple[int, int]]:
    hull = ConvexHull([corner.x[:2] for corner in corners]).vertices
    return list(zip(hull.tolist(), np.roll(hull, -1).tolist(), strict=True))


def _area(edges: list[tuple[Moving, Moving]]) -> Moving:
    """Returns ½ Σ a × b over the edges of the support, (1,) [QO21, Eq. (4.54)]."""
    turn = np.array([[0.0, 0.5], [-0.5, 0.0]])
    first, *others = (a[:2].dot(b[:2].rotated(turn)) for a, b in edges)
    return sum(others, start=first)


def _walls_of(region: tuple[tuple[float, float, float], ...], normal: Array) -> Iterator[tuple[Array, float]]:
    """Yields (normal inwards, offset) of the planes through the edges of a region."""
    corners = np.array(region)
    for a, b in pairwise([*corners, corners[0]]):
        n = np.cross(normal, b - a) / np.linalg.norm(b - a)
        n = n * np.sign(n @ (corners.mean(0) - a))
        yield n, float(n @ a)


def strategy_figures(name: str, run: Touching, who: Reacher, place: Surroundings, margin: float) -> Iterator[Figure]:
    """Each state of the strategy at some of its steps."""
    ends = [k for k, _ in run.states[1:]] + [len(run.report.path) - 1]
    for (begin, state), end in zip(run.states, ends, strict=True):
        stated, at = Statement(near=1e-2), Strategy(run, who, place, margin, state, begin)
        # a hand that sets out is as fast as its joints may be, and walls come to it: looked at from the middle on
        first = (begin + end) // 2 if state is MachineState.APPROACH else begin + 1
        for k in np.unique(np.linspace(first, end - 1, LOOKS).astype(int)):
            at.look(int(k), stated)
        yield from stated.figures(f"{name}, {state} [Table 6.2]", 1e-4, beyond=1e-3)
