"""The centre of mass of any tree as the end point of a serial chain [EB98, Sec. 2, Sec. 3, App. A].

The centre of mass is a sum of constant vectors, one per moving body, each in the axes of its body (see
`segment_vectors`). A sum can be taken in any order; walked from vector to vector it is a serial chain. Where the walk
leads outward it turns with the joints in between; where it comes back inward, to begin another branch, it turns by
minus the angles it came by.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, permutations

import numpy as np

from ..algebra import rigid
from ..algebra.quaternions import NUMBERS
from ..errors import ModelError, unknown_name
from ..model.assemble import assemble
from ..model.joints import Ball, Continuous, Floating, JointType, Planar, Prismatic, Revolute
from ..model.shapes import cylinder_between, sphere
from ..model.tree import MovingBody, Tree, tree_of
from ..model.types import Frame, Inertia, Joint, JointLimits, Link, Mimic, Model, Shape, frozen
from ..robot import Robot
from .loops import LoopConstraints, loop_constraints

Array = np.ndarray
END = "com"  # the frame at the end of the chain
COLOR = (0.85, 0.33, 0.1, 1.0)
THICKNESS = 0.02  # radius of the drawn rods, of the longest one's length
BALL = 0.1  # radius of the ball that is the inertia of each link, of the longest rod's length
PARALLEL = 1e-9
Kind = type[Revolute] | type[Prismatic]


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
    turns back (−q₃) is a follower (mimic joint) with multiplier −1. A prismatic joint that carries the share μ of the
    mass shifts the end point by μ q [EB98, Eq. (7)]: it slides out by q, and a follower slides back by (1 − μ) q. A
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
    joints, followers, fixed or floating base. What turns back needs one coordinate: a ball joint or a second floating
    one can stand only where the walk never returns from, so two balls on different branches are an error.

    Args:
        order: names of all moving joints: the order in which the bodies behind them give their segments, any of the n!.
            By default that of [EB98, App. A, steps 1 and 2]: the longest branch first, then back to the nearest fork
            and along the longest branch from there; but branches with ball joints last. A serial robot keeps its order.

    Raises:
        ModelError: a joint would have to turn back and cannot, or a floating joint carries only a part of the mass.
    """
    tree = robot.tree
    if not tree.bodies:
        raise ModelError(f"{robot.name!r} has no moving joint: its centre of mass is one point, not a chain")
    walk = appendix_order(tree) if order is None else _indices(tree, order)
    start, vectors = segment_vectors(tree)
    chain = _Walk(robot)
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
    model = _model(robot.model, chain.parts)
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
    height, stays = [1] * len(tree.bodies), [not _returns(body.joint) for body in tree.bodies]
    for i in reversed(range(len(tree.bodies))):
        parent = tree.bodies[i].parent
        children.setdefault(parent, []).insert(0, i)
        if parent >= 0:
            height[parent] = max(height[parent], 1 + height[i])
            stays[parent] = stays[parent] or stays[i]
    order: list[int] = []
    front = [-1]
    while front:
        i = front.pop()
        if i >= 0:
            order.append(i)
        front.extend(sorted(children.get(i, []), key=lambda j: (stays[j], -height[j]))[::-1])
    return order


def _returns(joint: JointType) -> bool:
    """Whether a follower can turn it back: it has coordinates that count one by one."""
    return not isinstance(joint, Ball | Floating)


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


# --- how a joint moves, axis by axis ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Move:
    """A turn about, or a slide along, one axis by factor · q + offset."""

    leader: str  # the joint of the chain that owns the coordinate
    leads: bool  # whether this very move is that joint
    kind: Kind
    axis: Array
    factor: float = 1.0
    offset: float = 0.0
    index: int = 0  # of the coordinate among those of the joint

    @property
    def turns(self) -> bool:
        return self.kind is not Prismatic


def _moves(model: Model, body: MovingBody) -> list[_Move]:
    """Slides, then turns; none for a joint that moves only as a whole."""
    joint = body.joint
    if not _returns(joint):
        return []
    if isinstance(joint, Planar):
        kinds: dict[str, Kind] = {"x": Prismatic, "y": Prismatic, "turn": Revolute}
        parts = zip(kinds.items(), np.eye(3), range(3), strict=True)
        return [_Move(f"{body.name}_{part}", True, kind, axis, index=i) for (part, kind), axis, i in parts]
    _require_axes(body)
    mimic = model.joints[body.name].mimic
    leader = body.name if mimic is None else mimic.leader
    slide, spin = joint.slide()[:, 0], joint.spin()[:, 0]
    moves = []
    if slide.any():
        length = float(np.linalg.norm(slide))
        leads = mimic is None and not spin.any()  # a screw turns and slides by one coordinate: the turn owns it
        moves.append(_Move(leader, leads, Prismatic, slide / length, body.multiplier * length, body.offset * length))
    if spin.any():
        turn = Continuous if isinstance(joint, Continuous) else Revolute
        moves.append(_Move(leader, mimic is None, turn, spin, body.multiplier, body.offset))
    return moves


def _require_axes(body: MovingBody) -> None:
    """A joint type that somebody wrote may do anything; the chain needs p = slide q and R = exp(spin q), one unit per
    q."""
    joint, probe = body.joint, 0.7
    if joint.nq == joint.nv == 1:
        slide, spin = joint.slide()[:, 0], joint.spin()[:, 0]
        R, p = joint.pose([probe], NUMBERS)
        R_wanted = rigid.rotation_about(spin, probe) if spin.any() else np.eye(3)
        unit = np.linalg.norm(spin if spin.any() else slide)
        if np.allclose(unit, 1.0) and np.allclose(R, R_wanted) and np.allclose(p, slide * probe):
            return
    raise ModelError(
        f"no equivalent chain is known for joint {body.name!r} of type {joint.name!r}. Known are: joints that turn "
        "about or slide along an axis in proportion to one coordinate, planar, ball and floating joints."
    )


def _angle_map(robot: Robot, segments: Sequence[ChainSegment]) -> Array | None:
    """Row k: how much of each coordinate is in the angle between segments k − 1 and k; None unless all axes are
    parallel."""
    tree, angles = robot.tree, np.zeros((len(segments), robot.nv))
    columns: dict[str, Array] = {}
    R_0: list[Array] = []
    common: Array | None = None
    for body in tree.bodies:
        R_0.append((np.eye(3) if body.parent < 0 else R_0[body.parent]) @ body.R)
        if not _returns(body.joint):
            return None
        columns[body.name] = np.zeros(robot.nv)
        for move in filter(lambda move: move.turns, _moves(robot.model, body)):
            axis = R_0[-1] @ move.axis * np.sign(move.factor)
            common = axis if common is None else common
            if np.linalg.norm(np.cross(axis, common)) > PARALLEL:
                return None
            columns[body.name][body.v.start + move.index] = abs(move.factor) * np.sign(axis @ common)
    for row, segment in zip(angles, segments, strict=True):
        for name, sign in segment.turns:
            row += sign * columns[name]
    return frozen(angles)


# --- the walk --------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _ChainLink:
    """A link of the chain, and the joint that moves it; none for the root."""

    name: str  # of the joint
    type: JointType | None = None
    origin: Array = field(default_factory=lambda: np.eye(4))  # of the joint in the link before
    mimic: Mimic | None = None
    limits: JointLimits = field(default_factory=JointLimits)
    place: int = -1  # of its coordinate in q, if it owns one
    body: str = ""  # the body whose segment this is; none if it only moves the next
    reach: Array = field(default_factory=lambda: np.zeros(3))  # where the next joint stands
    share: float | None = None  # μ, if this is the way out of a slide that the next part shortens to μ q
    carries_all: bool = False  # the joint shifts the whole mass

    @property
    def link(self) -> str:
        return self.name if self.type is None else f"{self.body}_segment" if self.body else f"{self.name}_moved"


class _Walk:
    """Collects the parts of a chain; X is the place, in the last of them, where the next joint will stand."""

    def __init__(self, robot: Robot) -> None:
        self.tree, self.model = robot.tree, robot.model
        self.moves = [_moves(robot.model, body) for body in robot.tree.bodies]
        self.shares = carried_masses(robot.tree) / _total_mass(robot.tree)
        self.parts = [] if robot.floating else [_ChainLink("root")]
        self.X = np.eye(4)
        self.passed: set[int] = set()
        self.taken = set(robot.model.joints) | {move.leader for moves in self.moves for move in moves}

    def reach(self, vector: Array, body: str = "") -> None:
        """Go on by a constant vector in the axes of the present body."""
        self.X = self.X @ rigid.pose(p=vector)
        if self.parts:
            self.parts[-1].reach = self.X[:3, 3]
            self.parts[-1].body = self.parts[-1].body or body

    def outward(self, i: int) -> None:
        """Pass joint i; its slides count once, the first time."""
        body, first = self.tree.bodies[i], i not in self.passed
        self.passed.add(i)
        self.X = self.X @ rigid.pose(body.R)
        if not self.moves[i]:
            self._as_a_whole(body, float(self.shares[i]))
        for move in self.moves[i]:
            if first and not move.turns:
                self._slide(body, move, float(self.shares[i]))
            elif move.turns:
                self._move(body, move, leads=first and move.leads)

    def inward(self, i: int) -> None:
        """Undo the turns of joint i."""
        body = self.tree.bodies[i]
        if not _returns(body.joint):
            raise ModelError(
                f"joint {body.name!r} ({body.joint.name}) would have to turn back, which takes one coordinate per "
                "axis. Give an order that comes to it last; where two branches have such joints, write each as three "
                "revolute ones."
            )
        for move in reversed(self.moves[i]):
            if move.turns:
                self._move(body, move, times=-1.0)
        self.X = self.X @ rigid.pose(body.R.T)

    def _slide(self, body: MovingBody, move: _Move, share: float) -> None:
        """Out by q, back by (1 − μ) q."""
        self._move(body, move, leads=move.leads)
        self.parts[-1].carries_all = _is_all(share)
        if not _is_all(share):
            self.parts[-1].share = share
            self._move(body, move, times=share - 1.0)

    def _move(self, body: MovingBody, move: _Move, *, leads: bool = False, times: float = 1.0) -> None:
        """Add the joint that owns the coordinate, with the axis and limits of the original, or one that follows it."""
        if leads:
            limits = self.model.joints[body.name].limits
            kind = move.kind(_axis(np.sign(move.factor) * move.axis))
            self._add(_ChainLink(move.leader, kind, limits=limits, place=body.q.start + move.index))
        else:
            mimic = Mimic(move.leader, times * move.factor, times * move.offset)
            kind = (Revolute if move.turns else Prismatic)(_axis(move.axis))
            self._add(_ChainLink(self._free(body.name), kind, mimic=mimic))

    def _as_a_whole(self, body: MovingBody, share: float) -> None:
        floating = isinstance(body.joint, Floating)
        if floating and not _is_all(share):
            raise ModelError(
                f"joint {body.name!r} floats and carries {100 * share:.3g} % of the mass: the chain would have to move "
                "by that share of it, which no joint does. Make one chain for each floating system."
            )
        self._add(_ChainLink(body.name, body.joint, place=body.q.start, carries_all=floating))

    def _add(self, part: _ChainLink) -> None:
        part.origin = self.X
        self.parts.append(part)
        self.X = np.eye(4)

    def _free(self, name: str) -> str:
        """name_2, name_3, …: the first that no joint has."""
        free = next(f"{name}_{n}" for n in count(2) if f"{name}_{n}" not in self.taken)
        self.taken.add(free)
        return free


def _is_all(share: float) -> bool:
    return abs(share - 1.0) < 1e-12


def _axis(u: Array) -> tuple[float, float, float]:
    x, y, z = (float(c) + 0.0 for c in u)  # + 0.0: no −0.0
    return x, y, z


# --- the robot -------------------------------------------------------------------------------------------------------


def _model(original: Model, parts: Sequence[_ChainLink]) -> Model:
    """The parts as a robot; joints that own a coordinate come in the order of the original, so q is the same."""
    longest = max(float(np.linalg.norm(part.reach)) for part in parts) or 1.0
    masses = _shared_mass(parts, original.mass)
    links = [
        Link(part.link, _inertia(part, mass, carried, longest), _rods(part, longest), virtual=not part.body and k > 0)
        for k, (part, mass, carried) in enumerate(zip(parts, masses, np.cumsum(masses), strict=True))
    ]
    joints = [
        (part.place, Joint(part.name, part.type, before, part.link, part.origin, limits=part.limits, mimic=part.mimic))
        for before, part in zip([None, *(part.link for part in parts)], parts, strict=False)
        if part.type is not None
    ]
    owners = sorted((pair for pair in joints if pair[0] >= 0), key=lambda pair: pair[0])
    followers = [pair for pair in joints if pair[0] < 0]
    return assemble(
        f"{original.name}_chain",
        links,
        [joint for _, joint in owners + followers],
        frames=[Frame(END, parts[-1].link, rigid.pose(p=parts[-1].reach))],
        gravity=original.gravity,
        standing=original.standing,
    )


def _shared_mass(parts: Sequence[_ChainLink], total: float) -> Array:
    """kg of each link, equal but for slides, so that the centre of mass of the chain can be its end point.

    A slide out by s and back by (1 − μ) s shifts the end point by μ s; with masses b before it and μ / (1 − μ) b
    between out and back it shifts the centre of mass by as much. A joint that shifts all has no mass before it.
    """
    first = max((k for k, part in enumerate(parts) if part.carries_all), default=0)
    masses = np.zeros(len(parts))
    for k in range(first, len(parts)):
        share = parts[k].share
        masses[k] = 1.0 if share is None else share / (1 - share) * masses[:k].sum()
    return total * masses / masses.sum()


def _inertia(part: _ChainLink, mass: float, so_far: float, longest: float) -> Inertia | None:
    """A ball of that mass about a point so_far / mass times as far out as the next joint.

    All links beyond go along with the next joint; so that it counts with the whole mass, the first moment of this link,
    so_far · reach, stands in for this link and those before it.
    """
    if mass == 0.0:
        return None
    return Inertia(mass, so_far / mass * part.reach, 0.4 * mass * (BALL * longest) ** 2 * np.eye(3))


def _rods(part: _ChainLink, longest: float) -> tuple[Shape, ...]:
    radius = THICKNESS * longest
    if np.linalg.norm(part.reach) < radius:
        return (sphere(radius, part.reach, color=COLOR),)
    return (
        cylinder_between(np.zeros(3), part.reach, radius, color=COLOR),
        sphere(1.5 * radius, part.reach, color=COLOR),
    )
