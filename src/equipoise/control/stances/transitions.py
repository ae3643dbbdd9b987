"""From a list of stances to the steps that lead from one to the next, and smooth references along each step.

Between stances A and B some contacts are kept. The robot first goes to a posture in which the kept ones alone carry it while
the others still touch; then load is taken from those, they let go, and their frames move; at a posture in which the new ones
touch and still nothing depends on them, load is given to them; last comes the posture of B. [BK12, Sec. VI] walks static
postures in this way; each of these is one, found by `find_posture`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import atan2, cos, sin
from typing import TYPE_CHECKING, Any

import numpy as np

from ...algebra.arrays import length
from ...algebra.quaternions import from_rotation
from ...algebra.rigid import skew
from ...errors import EquipoiseError, unknown_name
from ..contacts import Contact
from ..tasks import Numbers
from .postures import find_posture

if TYPE_CHECKING:
    from ...robot import Robot

Array = np.ndarray
SAME_PLACE = 0.005  # m; a contact nearer to where it was is the same
SAME_TURN = 0.03  # rad


class StanceError(EquipoiseError, ValueError):
    """A stance that cannot be, or that cannot be reached from the one before it."""


@dataclass(frozen=True, eq=False)
class Stance:
    """A set of contacts and a posture at rest on them.

    Args:
        contacts: names of the contacts that carry the robot.
        posture: q; or wanted joints as a mapping, the others as at the start, or None: then it is found.
        name: for reports.
        places: poses (4×4) or planes in the world for contacts that are made here or move here; the others stay.
        targets: frames with poses or places that the posture must meet; out of contact they are led there themselves.
        com: where its centre of mass must be; NaN leaves a coordinate free.
        seconds: for the last motion into it; None takes the time that distance and speed say.
        hold: s, to stay there before going on.
    """

    contacts: Sequence[str]
    posture: Any = None
    name: str = ""
    places: Mapping[str, Any] = field(default_factory=dict)
    targets: Mapping[str, Any] = field(default_factory=dict)
    com: Any = None
    seconds: float | None = None
    hold: float = 0.2


@dataclass(frozen=True, eq=False)
class Step:
    """One step of the way.

    Attributes:
        kind: "move", "unload", "touch" or "load".
        q: posture to go to.
        contacts: in force meanwhile.
        changed: contacts that are unloaded, touched or loaded.
        stance: index of the stance it leads to; `arrives` on the step that completes it.
    """

    kind: str
    q: Array
    contacts: frozenset[str]
    changed: frozenset[str]
    stance: int
    arrives: bool = False
    seconds: float | None = None
    hold: float = 0.0


@dataclass(frozen=True, eq=False)
class Planned:
    """A stance with all it needs."""

    name: str
    contacts: frozenset[str]
    q: Array
    way: tuple[Step, ...]  # from the stance before
    back: tuple[Step, ...]  # the end of a way back to this stance, with only what is kept in force


# --- planning -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Planner:
    """Finds the postures of a sequence."""

    robot: Robot
    contacts: Mapping[str, Contact]
    options: Mapping[str, Any]  # of find_posture

    def plan(self, stances: Sequence[Stance], start: Array | None) -> list[Planned]:
        """All stances with the steps between them; raises with the reason where there is no way."""
        if not stances:
            raise StanceError("a sequence of stances has one or more; got none")
        done: list[Planned] = []
        first = q = self.robot.standing() if start is None else np.asarray(start, dtype=float)
        for k, stance in enumerate(stances):
            self._check(stance)
            here = self._posture(stance, k, q, first)
            name = stance.name or f"stance {k}"
            contacts = frozenset(stance.contacts)
            way, back = self._way(done[-1], stance, contacts, here, k) if done else ((), ())
            if done:
                before = done[-1]
                done[-1] = Planned(before.name, before.contacts, before.q, before.way, back)
            done.append(Planned(name, contacts, here, way, ()))
            q = here
        return done

    def _check(self, stance: Stance) -> None:
        for name in [*stance.contacts, *stance.places]:
            if name not in self.contacts:
                raise unknown_name("contact", name, self.contacts)
        if not stance.contacts:
            raise StanceError(f"stance {stance.name!r} has no contact; nothing would carry the robot")

    def _posture(self, stance: Stance, k: int, before: Array, wanted: Array) -> Array:
        """The posture of a stance, found where it is not given."""
        if isinstance(stance.posture, np.ndarray | list | tuple):
            q = np.array(stance.posture, dtype=float)
            if q.shape != (self.robot.nq,):
                raise StanceError(f"stance {stance.name or k!r}: a posture is q of {self.robot.nq} numbers; got shape {q.shape}")
            return q
        at = {self.contacts[name]: stance.places.get(name, self._pose(before, name)) for name in stance.contacts}
        if isinstance(stance.posture, Mapping):
            wanted = wanted.copy()
            for name, position in stance.posture.items():
                if name not in self.robot.joints:
                    raise unknown_name("joint", name, self.robot.joints)
                wanted[self.robot.joints[name].q] = position
        more = {"start": before, "com": stance.com}
        return self._found(stance.name or f"stance {k}", at, dict(stance.targets), wanted, **more)

    def _found(self, what: str, at: Mapping[Contact, Any], targets: Mapping[str, Any], wanted: Array, **more: Any) -> Array:
        result = find_posture(self.robot, at, targets, posture=wanted, **{"start": wanted, **self.options, **more})
        if not result.converged:
            raise StanceError(f"{what}: {result.reason}")
        return result.q

    def _pose(self, q: Array, contact: str) -> Array:
        return self.robot.pose(q, self.contacts[contact].frame)

    def _moved(self, a: Array, b: Array, name: str) -> bool:
        """Whether a contact that both postures have is at another place."""
        X, Y = self._pose(a, name), self._pose(b, name)
        return bool(np.linalg.norm(X[:3, 3] - Y[:3, 3]) > SAME_PLACE or np.linalg.norm(turn(X, Y)) > SAME_TURN)

    def _way(
        self, before: Planned, stance: Stance, contacts: frozenset[str], q: Array, k: int
    ) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
        """(steps from one stance to the next, steps that end a way back)."""
        moved = {name for name in before.contacts & contacts if self._moved(before.q, q, name)}
        kept = (before.contacts & contacts) - moved
        leaving, coming = before.contacts - kept, contacts - kept
        if not kept:
            raise StanceError(
                f"between {before.name!r} and {stance.name or k!r} no contact stays where it is; put a stance in between"
            )
        what = f"on the way from {before.name!r} to {stance.name or k!r}"
        steps: list[Step] = []
        back: list[Step] = []
        if leaving:
            q_leave = self._between(f"{what}, carried by {', '.join(sorted(kept))} alone", kept, leaving, before.q)
            steps += [
                Step("move", q_leave, before.contacts, frozenset(), k),
                Step("unload", q_leave, before.contacts, leaving, k),
            ]
            back += [
                Step("move", q_leave, kept, leaving, k - 1),
                Step("touch", q_leave, kept, leaving, k - 1),
                Step("load", q_leave, kept, leaving, k - 1),
            ]
        if coming:
            q_arrive = self._between(f"{what}, before {', '.join(sorted(coming))} carry", kept, coming, q)
            steps += [
                Step("move", q_arrive, kept, coming, k),
                Step("touch", q_arrive, kept, coming, k),
                Step("load", q_arrive, kept, coming, k),
            ]
        steps.append(Step("move", q, contacts, frozenset(), k, True, stance.seconds, stance.hold))
        back.append(Step("move", before.q, before.contacts, frozenset(), k - 1, True))
        return tuple(steps), tuple(back)

    def _between(self, what: str, kept: frozenset[str], touching: frozenset[str], q: Array) -> Array:
        """A posture near q, carried by `kept`, with the frames of others where they are at q."""
        at = {self.contacts[name]: self._pose(q, name) for name in sorted(kept)}
        targets = {self.contacts[name].frame: self._pose(q, name) for name in sorted(touching)}
        return self._found(what, at, targets, q)


# --- references ---------------------------------------------------------------------------------------------------------


def minimum_jerk(x: float) -> tuple[float, float, float]:
    """s(x) from 0 to 1 on 0 ≤ x ≤ 1 with rests at both ends, and its first two derivatives."""
    if x <= 0.0:
        return 0.0, 0.0, 0.0
    if x >= 1.0:
        return 1.0, 0.0, 0.0
    return (
        x**3 * (10 + x * (-15 + 6 * x)),
        30 * x**2 * (1 - x) ** 2,
        60 * x * (1 + x * (-3 + 2 * x)),
    )


def bump(x: float) -> tuple[float, float, float]:
    """0 at both ends, 1 in the middle, smooth to the second derivative at the ends; with its derivatives: 64 x³ (1 − x)³."""
    if not 0.0 < x < 1.0:
        return 0.0, 0.0, 0.0
    y, d = x * (1 - x), 1 - 2 * x
    return 64 * y**3, 192 * y**2 * d, 384 * y * (d * d - y)


def turn(X: Array, Y: Array) -> Array:
    """Rotation vector from the axes of X to those of Y, world axes."""
    w, *xyz = from_rotation(Y[:3, :3] @ X[:3, :3].T)
    half = np.array(xyz) if w >= 0 else -np.array(xyz)
    sine = length(half)
    return 2.0 * half if sine < 1e-12 else 2.0 * atan2(sine, abs(w)) / sine * half


@dataclass(frozen=True, eq=False)
class PosePath:
    """A frame from one pose to another, with a lift in the middle; then it may look for the ground at an even speed."""

    X: Array
    Y: Array
    lift: Array  # (3,) m
    descent: Array = field(default_factory=lambda: np.zeros(3))  # m/s
    since: float = np.inf  # s, when the descent begins
    until: float = np.inf  # and ends
    angle: float = field(init=False)
    _shares: Array = field(init=False)

    def __post_init__(self) -> None:
        w, R = turn(self.X, self.Y), self.X[:3, :3]
        way, angle = self.Y[:3, 3] - self.X[:3, 3], length(w)
        K = skew(w / angle) if angle > 1e-12 else np.zeros((3, 3))
        G = np.zeros((11, 4, 2, 3))  # functions of time × (12 numbers of the pose, twist, its rate), in threes
        numbers, zero = G.reshape(11, 24), np.zeros(3)
        numbers[0, :12] = np.concatenate([R.ravel(), self.X[:3, 3]])
        numbers[1, :9], numbers[2, :9] = (K @ R).ravel(), (K @ K @ R).ravel()  # Rodrigues: R + sin K R + (1 − cos) K² R
        for k, of_time in enumerate((way, self.lift, self.descent)):
            numbers[3 + k, 9:12] = of_time
        for k, of_time in enumerate(((way, w), (self.lift, zero), (self.descent, zero))):
            G[6 + k, 2] = of_time
        G[9, 3], G[10, 3] = (way, w), (self.lift, zero)
        object.__setattr__(self, "angle", angle)
        object.__setattr__(self, "_shares", numbers)

    def numbers(self, t: float, start: float, T: float) -> Array:
        """Rotation (row by row), place, twist and rate of the twist at time t of a motion that begins at `start` and takes T:
        24 numbers, each a sum of functions of time."""
        x = (t - start) / T
        s, ds, dds = minimum_jerk(x)
        b, db, ddb = bump(x)
        sunk, sinks = max(0.0, min(t, self.until) - self.since), float(self.since < t < self.until)
        angle = s * self.angle
        pose = 1.0, sin(angle), 1 - cos(angle), s, b, sunk
        return np.array([*pose, ds / T, db / T, sinks, dds / T**2, ddb / T**2]) @ self._shares

    def at(self, t: float, start: float, T: float) -> tuple[Array, Array, Array]:
        """(pose, twist, rate of the twist) at that time."""
        numbers, X = self.numbers(t, start, T), np.eye(4)
        X[:3, :3], X[:3, 3] = numbers[:9].reshape(3, 3), numbers[9:12]
        return X, numbers[12:18], numbers[18:]


@dataclass(frozen=True, eq=False)
class Reference:
    """Posture, base, centre of mass and guided frames from `start` for T seconds."""

    robot: Robot
    start: float
    T: float
    q: Array
    to: Array
    com: Array
    com_to: Array
    frames: dict[str, PosePath]
    base: PosePath = field(init=False)  # stands still at the origin where the base is fixed
    way: Array = field(init=False)
    _com_way: Array = field(init=False)  # start and way, (2, 3)

    def __post_init__(self) -> None:
        base = self.robot.base_link
        X, Y = (np.eye(4) if base is None else self.robot.pose(q, base) for q in (self.q, self.to))
        object.__setattr__(self, "base", PosePath(X, Y, np.zeros(3)))
        object.__setattr__(self, "way", self.robot.difference(self.q, self.to))
        object.__setattr__(self, "_com_way", np.stack([self.com, self.com_to - self.com]))

    def _parts(self, t: float) -> tuple[float, float, float]:
        s, ds, dds = minimum_jerk((t - self.start) / self.T)
        return s, ds / self.T, dds / self.T**2

    def posture_at(self, t: float) -> Array:
        """q."""
        return self.robot.integrate(self.q, self._parts(t)[0] * self.way)

    def com_at(self, t: float) -> Array:
        """Place, velocity and acceleration of the centre of mass, (3, 3)."""
        s, ds, dds = self._parts(t)
        return np.array([[1.0, s], [0.0, ds], [0.0, dds]]) @ self._com_way

    def frame_at(self, name: str, t: float) -> Array:
        """Pose of a guided frame."""
        return self.frames[name].at(t, self.start, self.T)[0]

    # The same as the numbers that tasks read.

    def posture_numbers(self, t: float) -> Numbers:
        s, ds, dds = self._parts(t)
        way = self.way[6 if self.robot.floating else 0 :]
        return Numbers(np.concatenate([self.robot.integrate(self.q, s * self.way), ds * way, dds * way]))

    def com_numbers(self, t: float) -> Numbers:
        return Numbers(self.com_at(t).ravel())

    def pose_numbers(self, path: PosePath, t: float) -> Numbers:
        return Numbers(path.numbers(t, self.start, self.T))

    def ended(self, t: float) -> bool:
        return t >= self.start + self.T
