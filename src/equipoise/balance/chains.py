"""The centre of mass of any tree as the end point of a serial chain [EB98, Sec. 2, Sec. 3, App. A].

The centre of mass is a sum of constant vectors, one per moving body, each in the axes of its body (see
`segment_vectors`). A sum can be taken in any order; walked from vector to vector it is a serial chain. Where the walk
leads outward it turns with the joints in between; where it comes back inward, to begin another branch, it turns by
minus the angles it came by.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from ..errors import ModelError, unknown_name
from ..model.tree import Tree, tree_of
from ..model.types import frozen
from ..robot import Robot
from .chain_walk import ChainWalk, chain_model, has_axes, joint_moves
from .loops import LoopConstraints, loop_constraints

Array = np.ndarray
PARALLEL = 1e-9


@dataclass(frozen=True, eq=False)
class ChainSegment:
    """One vector of the sum: what a moving body of the original adds to the chain."""

    body: str  # the joint that moves the body
    vector: Array  # (3,) m, in the axes of the body
    turns: tuple[tuple[str, int], ...]  # joints between the segment before and this one: +1 turned as they are, −1 back

    @property
    def length(self) -> float:
        """m."""
        return float(np.linalg.norm(self.vector))


@dataclass(frozen=True, eq=False)
class EquivalentChain:
    """A serial robot whose end point is the centre of mass of another robot.

    `chain.robot` has the coordinates of the original: the same q and v, number by number. Its frame "com" is the end
    point, so

        chain.robot.pose(q, "com")[..., :3, 3]      is  original.com(q)
        chain.robot.jacobian(q, "com")[..., :3, :]  is  original.com_jacobian(q)

    and whatever steers the tool of an arm steers the centre of mass. Three things keep q the same where [EB98] changes
    to other coordinates q'. An angle that is a sum there (q₂' = q₂ + q₃) is several joints at one place here, and what
    turns back (−q₃) is a follower (mimic joint) with multiplier −1; of a ball joint, a follower that turns by the
    inverse rotation. A prismatic joint that carries the share μ of the mass shifts the end point by μ q
    [EB98, Eq. (7)]: it slides out by q, and a follower slides back by (1 − μ) q. A
    planar joint becomes two slides and a turn, `name_x`, `name_y`, `name_turn`, with its three coordinates.

    The links of the chain have the mass of the original, placed so that the centre of mass of the chain is its end
    point as well: `com`, `gravity` and `potential_energy` of both robots agree. ([EB98, Sec. 4.3] says that only a
    point mass at the end does this. Links of any masses do, with the centre of mass of link k Σ_{j≤k} m_j / m_k times
    as far out as its end.) Kinetic energy does not agree: for dynamics use the original.

    A robot with closed loops gives {C'; h(q) = 0}, the chain with the constraints of the original [EB98, Sec. 4.4]:
    `loops` has their rows, the same numbers for both because q is.

    Args:
        robot: the chain.
        original: the robot whose centre of mass it follows.
        start: m, constant offset of its first joint from the world's origin, t̄₀₁ of [EB98, Eq. (31) and (109)].
        segments: the vectors in the order of the walk.
        angles: (len(segments), nv), where all joints turn about parallel axes: row k @ q is the angle q'_k by which
            segment k is turned against segment k − 1, as in the tables of [EB98, Fig. 2 and Sec. 3.2]. None for other
            robots.
    """

    robot: Robot
    original: Robot
    start: Array
    segments: tuple[ChainSegment, ...]
    angles: Array | None

    def loops(self, q: Array, v: Array, *, baumgarte: float = 0.0) -> LoopConstraints:
        """J, J̇v and violation of the loops that the original closes, in the coordinates of the chain [EB98, Eq. (53)].

        Args:
            q, v: state, (…, nq) and (…, nv).
            baumgarte: as of `loop_constraints`.
        """
        return loop_constraints(self.original, q, v, baumgarte=baumgarte)

    @property
    def lengths(self) -> Array:
        """m, of the segments; a prismatic joint adds its own μ q to this."""
        return np.array([segment.length for segment in self.segments])

    def __repr__(self) -> str:
        return f"<EquivalentChain of {len(self.segments)} segments: {self.robot!r}>"


def equivalent_chain(robot: Robot, order: Sequence[str] | None = None) -> EquivalentChain:
    """The serial chain whose end point is the centre of mass of a robot, at every configuration.

    Serial robots, stars and trees [EB98, Prop. P1, Prop. P2, App. A], joints that turn, slide or do both, planar
    and ball joints, followers, fixed or floating base. A second floating joint is an error.

    Args:
        order: names of all moving joints: the order in which the bodies behind them give their segments, any of the n!.
            By default that of [EB98, App. A, steps 1 and 2]: the longest branch first, then back to the nearest fork
            and along the longest branch from there. A serial robot keeps its order.

    Raises:
        ModelError: a floating joint carries only a part of the mass.
    """
    tree = robot.tree
    if not tree.bodies:
        raise ModelError(f"{robot.name!r} has no moving joint: its centre of mass is one point, not a chain")
    walk = appendix_order(tree) if order is None else _indices(tree, order)
    start, vectors = segment_vectors(tree)
    chain = ChainWalk(robot, carried_masses(tree) / _total_mass(tree))
    chain.reach(start)
    here, segments = -1, []
    for k in walk:
        path = _path(tree, here, k)
        for i, sign in path:
            chain.outward(i) if sign > 0 else chain.inward(i)
        chain.reach(vectors[k], tree.bodies[k].name)
        turns = tuple((tree.bodies[i].name, sign) for i, sign in path if tree.bodies[i].joint.spin().any())
        segments.append(ChainSegment(tree.bodies[k].name, frozen(vectors[k]), turns))
        here = k
    model = chain_model(robot.model, chain.parts)
    chain_robot = Robot(model, tree_of(model))
    return EquivalentChain(chain_robot, robot, frozen(start), tuple(segments), _angle_map(robot, segments))


def all_chains(robot: Robot) -> Iterator[EquivalentChain]:
    """The n! equivalent chains of a robot with n joints, one after the other, the joints' own order first.

    For three joints in a plane these are the six of [EB98, Fig. 2].
    """
    for order in permutations(body.name for body in robot.tree.bodies):
        yield equivalent_chain(robot, order)


# --- the sum ---------------------------------------------------------------------------------------------------------


def carried_masses(tree: Tree) -> Array:
    """Mass that each joint carries, its own body and all beyond: the m_a of [EB98, Eq. (39)], shape (bodies,)."""
    carried = np.array([body.mass for body in tree.bodies])
    for i in reversed(range(len(tree.bodies))):
        if tree.bodies[i].parent >= 0:
            carried[tree.bodies[i].parent] += carried[i]
    return carried


def segment_vectors(tree: Tree) -> tuple[Array, Array]:
    """The constants of the centre of mass: start, shape (3,), and one vector per body, shape (bodies, 3).

        c = start + Σ_k R_0k w_k + slides,   w_k = (m_k a_k + Σ_{children j} m_aj t_kj) / m

    which is [EB98, Eq. (7)] for a body with one child, and what [EB98, Eq. (20)–(34) and (94)–(119)] come to for any
    tree: the masses ν_j μ_i of all branches through a link add up to the mass that its joint carries.
    """
    start, vectors = np.array(tree.fixed_h), np.array([body.h for body in tree.bodies])
    carried = carried_masses(tree)
    for body, mass in zip(tree.bodies, carried, strict=True):
        owner = start if body.parent < 0 else vectors[body.parent]
        owner += mass * body.p
    total = _total_mass(tree)
    return start / total, vectors / total


def _total_mass(tree: Tree) -> float:
    return float(tree.fixed_mass + sum(body.mass for body in tree.bodies))


# --- the order -------------------------------------------------------------------------------------------------------


def appendix_order(tree: Tree) -> list[int]:
    """Bodies branch by branch, the longest branch of every fork first [EB98, App. A, steps 1 and 2]."""
    children: dict[int, list[int]] = {}
    height = [1] * len(tree.bodies)
    for i in reversed(range(len(tree.bodies))):
        parent = tree.bodies[i].parent
        children.setdefault(parent, []).insert(0, i)
        if parent >= 0:
            height[parent] = max(height[parent], 1 + height[i])
    order: list[int] = []
    front = [-1]
    while front:
        i = front.pop()
        if i >= 0:
            order.append(i)
        front.extend(sorted(children.get(i, []), key=lambda j: -height[j])[::-1])
    return order


def _indices(tree: Tree, order: Sequence[str]) -> list[int]:
    index = {body.name: i for i, body in enumerate(tree.bodies)}
    for name in order:
        if name not in index:
            raise unknown_name("moving joint", name, index)
    if sorted(order) != sorted(index):
        raise ModelError(
            f"order names each moving joint once: wanted {len(index)} ({', '.join(index)}), got {list(order)!r}"
        )
    return [index[name] for name in order]


def _path(tree: Tree, a: int, b: int) -> list[tuple[int, int]]:
    """Joints on the way from body a to body b: (index, −1) for those to come back by, then (index, +1) outward."""
    inward, outward = tree.ancestors(a), tree.ancestors(b)
    while inward and outward and inward[-1] == outward[-1]:
        inward.pop()
        outward.pop()
    return [(i, -1) for i in inward] + [(i, 1) for i in reversed(outward)]


def _angle_map(robot: Robot, segments: Sequence[ChainSegment]) -> Array | None:
    """Row k: how much of each coordinate is in the angle between segments k − 1 and k; None unless all axes are
    parallel."""
    tree, angles = robot.tree, np.zeros((len(segments), robot.nv))
    columns: dict[str, Array] = {}
    R_0: list[Array] = []
    common: Array | None = None
    for body in tree.bodies:
        R_0.append((np.eye(3) if body.parent < 0 else R_0[body.parent]) @ body.R)
        if not has_axes(body.joint):
            return None
        columns[body.name] = np.zeros(robot.nv)
        for move in filter(lambda move: move.turns, joint_moves(robot.model, body)):
            axis = R_0[-1] @ move.axis * np.sign(move.factor)
            common = axis if common is None else common
            if np.linalg.norm(np.cross(axis, common)) > PARALLEL:
                return None
            columns[body.name][body.v.start + move.index] = abs(move.factor) * np.sign(axis @ common)
    for row, segment in zip(angles, segments, strict=True):
        for name, sign in segment.turns:
            row += sign * columns[name]
    return frozen(angles)
