"""Test conditions of a run: pushes, sensor noise, and the criterion of a fall."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algebra.quaternions import rotation
from ..errors import ShapeError, StateError, unknown_name
from ..geometry.primitives import Vector
from ..model.types import frozen
from .contacts import ContactInfo, ContactPoints

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Push:
    """An external force at a frame's origin in world axes, which acts for `duration` seconds from `start` on.

    Args:
        frame: frame of the robot.
        force: (3,) N.
        start: time, s.
        duration: s.
        torque: (3,) N m.

    Examples:
        >>> import equipoise as eq
        >>> standing = eq.Standing(eq.load("quadruped"))
        >>> push = eq.Push("trunk", force=(0.0, 50.0, 0.0), start=0.0, duration=0.05)
        >>> run = eq.simulate(standing.robot, standing, q0=standing.q0, duration=0.1, pushes=[push])
        >>> bool(run.com[-1, 1] > run.com[0, 1])  # it moved to the left
        True
    """

    frame: str
    force: Vector
    start: float
    duration: float
    torque: Vector = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        for name in ("force", "torque"):
            vector = np.asarray(getattr(self, name), dtype=float)
            if vector.shape != (3,) or not np.isfinite(vector).all():
                raise ShapeError(f"Push.{name} is three finite numbers, got {getattr(self, name)!r}")
            object.__setattr__(self, name, frozen(vector))
        if not (np.isfinite(self.start) and 0 <= self.duration < np.inf):
            raise StateError(
                f"Push: start is finite and duration not negative, got {self.start!r} and {self.duration!r}"
            )

    @property
    def wrench(self) -> Array:
        """The wrench (force, torque), (6,) N and N m."""
        return np.concatenate([self.force, self.torque])

    def acts(self, t: float, dt: float) -> bool:
        """Whether the push acts in the step that begins at t."""
        return self.start - 1e-6 * dt <= t < self.start + self.duration - 1e-6 * dt


@dataclass(frozen=True)
class Noise:
    """Standard deviations of white Gaussian sensor noise.

    Attributes:
        position: joint positions, rad or m.
        velocity: joint velocities, rad/s or m/s.
        base_position: base position, m.
        base_orientation: base orientation, rad.
        base_linear: linear velocity of the base, m/s.
        base_angular: angular velocity of the base, rad/s.
    """

    position: float = 0.0
    velocity: float = 0.0
    base_position: float = 0.0
    base_orientation: float = 0.0
    base_linear: float = 0.0
    base_angular: float = 0.0

    def sensor(self, robot: Robot, rng: np.random.Generator) -> Callable[[Array, Array], tuple[Array, Array]]:
        """Returns a function that adds noise to (q, v)."""
        base = 6 if robot.floating else 0
        shift, rate = np.full(robot.nv, self.position), np.full(robot.nv, self.velocity)
        shift[:base] = np.repeat([self.base_position, self.base_orientation], 3)[:base]
        rate[:base] = np.repeat([self.base_linear, self.base_angular], 3)[:base]

        def measured(q: Array, v: Array) -> tuple[Array, Array]:
            draws = rng.standard_normal((2, robot.nv))
            return robot.integrate(q, shift * draws[0]), v + rate * draws[1]

        return measured


@dataclass(frozen=True)
class Fall:
    """Criterion of a fall of a floating-base robot.

    Attributes:
        height: smallest height of the base above the ground, as a fraction of its initial height. The base is
            represented
                by the body point at the initial centre of mass, because the base's origin may be anywhere, even on the
            ground; the
            ground is at the lowest contact point at the start.
        tilt: largest angle between the base's z axis and its initial direction, rad.
        links: frames that must stay `clearance` (m) above the ground.
    """

    height: float = 0.5
    tilt: float = 1.2
    links: Sequence[str] = ()
    clearance: float = 0.02

    def watcher(self, robot: Robot, contacts: Mapping[str, ContactInfo], q0: Array) -> Callable[[Array], str | None]:
        """Returns a function of q that gives the reason of a fall, or None."""
        for link in self.links:
            if link not in robot.frames:
                raise unknown_name("frame", link, robot.frames)
        places = ContactPoints(robot, contacts).arms(q0)[1]
        floor = float(places[:, 2].min()) if len(places) else 0.0
        centre = robot.com(q0)
        place = rotation(q0[3:7].tolist()).T @ (centre - q0[:3])
        low = self.height * (float(centre[2]) - floor)
        up, most = _up(q0), np.cos(self.tilt)

        def fallen(q: Array) -> str | None:
            above = float(q[2] + _level(q) @ place) - floor
            if above < low:
                return f"the base is {above:.3g} m above the ground, below {self.height:.0%} of what it was"
            if _up(q) @ up < most:
                return f"the base is tilted by {np.degrees(np.arccos(np.clip(_up(q) @ up, -1, 1))):.0f}°"
            for link in self.links:
                if robot.pose(q, link)[2, 3] < floor + self.clearance:
                    return f"{link} touches the ground"
            return None

        return fallen


def _up(q: Array) -> Array:
    """Returns the base's z axis in the world."""
    w, x, y, z = q[3:7].tolist()
    return np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])


def _level(q: Array) -> Array:
    """Returns the world's z axis in the base, which gives heights of its points."""
    w, x, y, z = q[3:7].tolist()
    return np.array([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])


def as_kind(kind: Any, given: Any) -> Any:
    """Returns the object itself, or one built from a dictionary of its fields."""
    if isinstance(given, kind):
        return given
    names = [f.name for f in fields(kind)]
    if not isinstance(given, Mapping):
        raise ShapeError(f"wanted a {kind.__name__} or a dictionary of its fields ({', '.join(names)}), got {given!r}")
    for name in given:
        if name not in names:
            raise unknown_name(f"field of {kind.__name__}", name, names)
    return kind(**given)
