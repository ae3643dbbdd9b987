"""The chain that a walk over a tree becomes, joint by joint: the second half of `chains.py` [EB98, App. A]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from ..algebra import rigid
from ..algebra.quaternions import NUMBERS
from ..errors import ModelError
from ..model.assemble import assemble
from ..model.joints import Ball, BallAgain, BallBack, Continuous, Floating, JointType, Planar, Prismatic, Revolute
from ..model.shapes import cylinder_between, sphere
from ..model.tree import MovingBody
from ..model.types import DeclaredLimits, Frame, Inertia, Joint, Link, Mimic, Model, Shape
from ..robot import Robot

Array = np.ndarray
END = "com"  # the frame at the end of the chain
COLOR = (0.85, 0.33, 0.1, 1.0)
THICKNESS = 0.02  # radius of the drawn rods, of the longest one's length
BALL = 0.1  # radius of the ball that is the inertia of each link, of the longest rod's length
Kind = type[Revolute] | type[Prismatic]


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


def joint_moves(model: Model, body: MovingBody) -> list[_Move]:
    """Slides, then turns; none for a joint that moves only as a whole."""
    joint = body.joint
    if not has_axes(joint):
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


def has_axes(joint: JointType) -> bool:
    """Whether its coordinates count one by one, each along or about an axis."""
    return not isinstance(joint, Ball | Floating)


# --- the walk --------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _ChainLink:
    """A link of the chain, and the joint that moves it; none for the root."""

    name: str  # of the joint
    type: JointType | None = None
    origin: Array = field(default_factory=lambda: np.eye(4))  # of the joint in the link before
    mimic: Mimic | None = None
    limits: DeclaredLimits = field(default_factory=DeclaredLimits)
    place: int = -1  # of its coordinate in q, if it owns one
    body: str = ""  # the body whose segment this is; none if it only moves the next
    reach: Array = field(default_factory=lambda: np.zeros(3))  # where the next joint stands
    share: float | None = None  # μ, if this is the way out of a slide that the next part shortens to μ q
    carries_all: bool = False  # the joint shifts the whole mass

    @property
    def link(self) -> str:
        return self.name if self.type is None else f"{self.body}_segment" if self.body else f"{self.name}_moved"


class ChainWalk:
    """Collects the parts of a chain; X is the place, in the last of them, where the next joint will stand.

    Args:
        shares: of the total mass that each moving body carries, (n,).
    """

    def __init__(self, robot: Robot, shares: Array) -> None:
        self.tree, self.model = robot.tree, robot.model
        self.moves = [joint_moves(robot.model, body) for body in robot.tree.bodies]
        self.shares = shares
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
        if not self.moves[i] and first and not self.model.joints[body.name].mimic:
            self._as_a_whole(body, float(self.shares[i]))
        elif not self.moves[i]:
            self._follow(body, back=False)
        for move in self.moves[i]:
            if first and not move.turns:
                self._slide(body, move, float(self.shares[i]))
            elif move.turns:
                self._move(body, move, leads=first and move.leads)

    def inward(self, i: int) -> None:
        """Undo the turns of joint i."""
        body = self.tree.bodies[i]
        assert not isinstance(body.joint, Floating)  # it carries all of the mass: no branch is beside it
        if not self.moves[i]:
            self._follow(body, back=True)
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

    def _follow(self, body: MovingBody, *, back: bool) -> None:
        """Add a joint that turns with a ball joint, or back."""
        kind = BallBack if back != isinstance(body.joint, BallBack) else BallAgain
        mimic = self.model.joints[body.name].mimic or Mimic(body.name)
        self._add(_ChainLink(self._free(body.name), kind(), mimic=mimic))

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


def chain_model(original: Model, parts: Sequence[_ChainLink]) -> Model:
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
