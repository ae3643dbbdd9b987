"""`Body`: who is who on a robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from ..files import written_whole
from ..model.skeleton import Skeleton, elastic_joints
from ..model.types import FrozenData
from .anatomy import Finding
from .gains import BodyGains
from .grounding import grounded
from .parts import Part
from .profile import BodyError, Profile, check, read, text

if TYPE_CHECKING:
    from ..geometry.pairs import Pair
    from ..robot import Robot

Array = np.ndarray
DOUBTFUL = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class Body(FrozenData):
    """Feet, hands, soles, sides, front and a standing posture of a robot. Made by `Body.of` or `Body.load`.

    Attributes:
        robot: with a frame for each part.
        profile: all that is known, as `save` writes it.
        frames: name of each part's frame by role: the role, or "… of the body" where the description has another frame
            of that name.

    Examples:
        >>> import equipoise as eq
        >>> body = eq.Body.of(eq.load("human"))
        >>> sorted(body.feet), sorted(body.hands)
        (['left foot', 'right foot'], ['left hand', 'right hand'])
        >>> body.feet["left foot"].contact
        'flat'
    """

    robot: Robot
    profile: Profile
    frames: Mapping[str, str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "frames", MappingProxyType(dict(self.frames)))

    @classmethod
    def of(cls, robot: Robot, profile: str | Path | None = None, *, search: bool = True) -> Body:
        """Who is who on a robot.

        Args:
            robot: as `eq.load` gives it.
            profile: TOML file of what is known already. If not given, a file of the description's name beside it
                (mine.toml beside mine.urdf), or one that comes with the package, is taken.
            search: whether profiles are looked for.
        """
        from .find import found

        return cls._made(robot, found(robot, profile, search=search))

    @classmethod
    def load(cls, path: str | Path, robot: Robot) -> Body:
        """The body of a robot from its profile file; what the file leaves out is found."""
        return cls.of(robot, path)

    @classmethod
    def _made(cls, robot: Robot, profile: Profile) -> Body:
        frames = {}
        for role, part in profile.parts.items():
            frames[role] = role if role not in robot.frames or _is_at(robot, role, part) else f"{role} of the body"
            if frames[role] not in robot.frames:
                robot = robot.with_frame(frames[role], part.link, part.X)
        return cls(robot, profile, frames)

    def save(self, path: str | Path) -> Path:
        """Write everything as a TOML file, whole or not at all; returns its path."""
        return written_whole(Path(path), lambda file: file.write(text(self.profile).encode()))

    # --- who is who ---------------------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """biped, quadruped, hexapod, …, or what it is that has no feet."""
        return str(self.profile.kind)

    @property
    def parts(self) -> Mapping[str, Part]:
        """All parts by role."""
        return MappingProxyType(dict(self.profile.parts))

    @property
    def feet(self) -> Mapping[str, Part]:
        """Parts that carry, by role, front first, left before right."""
        return MappingProxyType({role: part for role, part in self.profile.parts.items() if is_foot(role)})

    @property
    def hands(self) -> Mapping[str, Part]:
        """Ends of the arms by role."""
        return MappingProxyType({role: part for role, part in self.profile.parts.items() if is_hand(role)})

    @property
    def fingers(self) -> tuple[str, ...]:
        """Joints beyond wrists and ankles, which stay where they are."""
        return self.profile.fingers or ()

    @property
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """Joints that somebody gave a name together, in an SRDF file or a profile."""
        return MappingProxyType(dict(self.profile.groups))

    @property
    def front(self) -> Array:
        """(3,) where it looks, in the base's axes."""
        return np.array(self.profile.front)

    @property
    def up(self) -> Array:
        """(3,) in the base's axes."""
        return np.array(self.profile.up)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, with reason and confidence."""
        return self.profile.findings

    @property
    def doubts(self) -> tuple[Finding, ...]:
        """Findings that are guesses."""
        return tuple(finding for finding in self.profile.findings if not finding.confidence >= DOUBTFUL)

    # --- scales and posture -------------------------------------------------------------------------------------------

    @cached_property
    def standing(self) -> Array:
        """q: the standing posture, soles on the ground, their middle at the origin, facing +x."""
        q = self.robot.standing()
        for name, position in self.profile.standing.items():
            if name in self.robot.joints:
                q[self.robot.joints[name].q] = position
        if self.robot.floating and self.feet:
            q = grounded(self.robot, q, self.feet, self.up, self.front)
        q.flags.writeable = False
        return q

    @cached_property
    def height(self) -> float:
        """m, of the centre of mass above the ground when it stands."""
        skeleton = Skeleton(self.robot)
        return float(skeleton.centre_of_mass(skeleton.at(self.standing))[0][2])

    @cached_property
    def leg_length(self) -> float:
        """m, from the ground to the first joints of the legs when it stands; 0 without feet."""
        skeleton = Skeleton(self.robot)
        first = {part.joints[0] for part in self.feet.values() if part.joints}
        moved = [k for k in range(skeleton.count) if skeleton.joint(k) in first]
        return float(np.mean(skeleton.at(self.standing).p[moved, 2])) if moved else 0.0

    @cached_property
    def gains(self) -> BodyGains:
        """Gains and weights that scale with mass and size."""
        if not self.feet:
            raise BodyError(f"{self.robot.name!r} has no feet, so it has no standing height that gains follow from")
        return BodyGains.of(self.robot.mass, self.height, float(np.linalg.norm(self.robot.model.gravity)))

    def collision_pairs(self) -> list[Pair]:
        """Pairs of capsules of its links that can hit each other from where it stands, for `SelfCollision`; cached.

        Left out are neighbours, pairs that overlap when it stands or always, those that the profile says may touch, and
        fingers.
        """
        from ..geometry.collisions import self_collision_pairs

        moved = {self.robot.joints[name].child for name in self.fingers if name in self.robot.joints}
        known = [pair for pair in self.profile.touching if set(pair) <= set(self.robot.links)]
        return self_collision_pairs(self.robot, ignore=[*known, *moved], posture=self.standing)

    def still(self) -> Body:
        """What a controller of the whole body moves: fingers locked where they stand, and joints that nothing but a
        spring holds, as if it were stiff."""
        locked = [*self.fingers, *elastic_joints(self.robot)]
        joints = [
            name
            for name in dict.fromkeys(locked)
            if name in self.robot.joints and self.robot.joints[name].mimic is None
        ]
        if not joints:
            return self
        robot = self.robot.with_locked({name: self.standing[self.robot.joints[name].q] for name in joints})
        left = {name: x for name, x in self.profile.standing.items() if name in robot.joints}
        return Body(robot, replace(self.profile, standing=left), self.frames)

    def __repr__(self) -> str:
        feet, hands = ", ".join(self.feet) or "no feet", ", ".join(self.hands) or "no hands"
        return f"<Body of {self.robot.name!r}: {self.kind}; {feet}; {hands}; {len(self.doubts)} doubts>"


def _is_at(robot: Robot, frame: str, part: Part) -> bool:
    """Whether a frame of the robot is where a part is."""
    (i, X), (j, Y) = robot.place(frame), robot.place(part.link)
    return i == j and bool(np.allclose(X, Y @ part.X, atol=1e-6))


def is_foot(role: str) -> bool:
    return "foot" in role.split()


def is_hand(role: str) -> bool:
    return "hand" in role.split()


__all__ = ["Body", "BodyError", "check", "read"]
