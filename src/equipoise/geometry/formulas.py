"""Distances of cores in the world, on numbers or symbols: each formula once, the closest points chosen without a
branch.

Squared distances of points, lines and segments among themselves [QO21, Table 3.1]; signed ones from planes [QO21, Eq.
(3.8)]; angles between directions [QO21, Eqs. (4.26)–(4.29)]. `m` is the arithmetic: of arrays or of symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from ..algebra.quaternions import Arithmetic
from .primitives import Core

Vector = tuple[Any, Any, Any]
Quantity = Literal["distance", "chord", "angle"]

TOUCHING = 1e-12  # m
PARALLEL_LINES = 1e-6  # sine of the angle
PARALLEL_SEGMENTS = 1e-9  # sine of the angle: the closest points jump, the distance does not
LEVEL = 1e-10  # m, of the ends of a segment above a plane


@dataclass(frozen=True)
class Placed:
    """A core in the world: its two vectors in world axes. A point has one."""

    first: Vector
    second: Vector | None = None

    @property
    def along(self) -> Vector:
        """Unit direction of a line, or unit normal of a plane."""
        if self.second is None:
            raise TypeError("a point has no direction")
        return self.second

    @property
    def span(self) -> Vector:
        """From one end of a segment to the other."""
        return _minus(self.along, self.first)


def _minus(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def _moved(a: Vector, t: Any, e: Vector) -> Vector:
    return a[0] + t * e[0], a[1] + t * e[1], a[2] + t * e[2]


def _dot(a: Vector, b: Vector) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _square(a: Vector) -> Any:
    return _dot(a, a)


def _within(t: Any, m: Arithmetic) -> Any:
    """t, kept between 0 and 1."""
    return m.where(t < 0, 0.0, m.where(t > 1, 1.0, t))


def root(x: Any, m: Arithmetic) -> Any:
    """√x with slope 0 at x = 0. Both branches stay finite: derivatives of branches not taken are multiplied by zero."""
    touching = x <= TOUCHING**2
    return m.where(touching, 0.0, m.sqrt(m.where(touching, 1.0, x)))


def _nearest(u: Vector, e: Vector, least: Any, m: Arithmetic) -> Any:
    """Least |u + t e|² for t in [0, 1]; t = ½ where e is too short (squared length up to `least`) to tell."""
    ee = _square(e)
    short = ee <= least
    t = m.where(short, 0.5, -_dot(u, e) / m.where(short, 1.0, ee))
    return _square(_moved(u, _within(t, m), e))


def point_point(a: Placed, b: Placed, m: Arithmetic) -> Any:
    """D = |p − p_s|² [QO21, Table 3.1]."""
    return _square(_minus(a.first, b.first))


def point_line(a: Placed, b: Placed, m: Arithmetic) -> Any:
    """D = |p × l − m|² = |(p − p_l) × l|² [QO21, Table 3.1]."""
    return _square(_cross(_minus(a.first, b.first), b.along))


def line_line(a: Placed, b: Placed, m: Arithmetic) -> Any:
    """D = (⟨l, m_z⟩ + ⟨l_z, m⟩)² / |l_z × l|² [QO21, Table 3.1], and |l × (m_z ∓ m)|² of parallel lines, l = ±l_z.

    Moments enter as ⟨p_z − p, l_z × l⟩, which keeps digits far from the origin.
    """
    between, normal = _minus(a.first, b.first), _cross(a.along, b.along)
    sine = _square(normal)
    parallel = sine <= PARALLEL_LINES**2
    height = _dot(between, normal)
    crossing = height * height / m.where(parallel, 1.0, sine)
    beside = (_square(_cross(between, a.along)) + _square(_cross(between, b.along))) / 2
    return m.where(parallel, beside, crossing)


def point_segment(a: Placed, b: Placed, m: Arithmetic) -> Any:
    """Squared distance of a point from a segment."""
    return _nearest(_minus(b.first, a.first), b.span, TOUCHING**2, m)


def line_segment(a: Placed, b: Placed, m: Arithmetic) -> Any:
    """Squared distance of a line from a segment: seen along the line, that of a point from a segment."""
    u, e = _cross(_minus(b.first, a.first), a.along), _cross(b.span, a.along)
    return _nearest(u, e, TOUCHING**2 + PARALLEL_SEGMENTS**2 * _square(b.span), m)


def segment_segment(a: Placed, b: Placed, m: Arithmetic) -> Any:
    """Squared distance of two segments a + s e and a' + t e'.

    s and t minimise over the square [0, 1]²: first s on the two lines, then t, then s once more where t had to be kept
    in its bounds. Sines come from cross products: |e|²|e'|² − ⟨e, e'⟩² would lose half of the digits.
    """
    r, e, f = _minus(a.first, b.first), a.span, b.span
    ee, ff, ef, re, rf = _square(e), _square(f), _dot(e, f), _dot(r, e), _dot(r, f)
    normal = _cross(e, f)
    sine = _square(normal)
    parallel = sine <= PARALLEL_SEGMENTS**2 * ee * ff + TOUCHING**2 * (ee + ff)  # or one too short to have a direction
    ee, ff = (m.where(x <= TOUCHING**2, 1.0, x) for x in (ee, ff))
    start, stop = _within(-re / ee, m), _within((ef - re) / ee, m)  # the other segment's shadow
    crossing = -_dot(_cross(r, f), normal) / m.where(parallel, 1.0, sine)
    s = m.where(parallel, (start + stop) / 2, _within(crossing, m))
    free = (ef * s + rf) / ff
    t = _within(free, m)
    s = m.where(free < 0, start, m.where(free > 1, stop, s))
    return _square(_minus(_moved(r, s, e), (t * f[0], t * f[1], t * f[2])))


def point_plane(a: Placed, b: Placed, m: Arithmetic) -> Any:
    """d = ⟨p, n⟩ − d_π = ⟨p − p_π, n⟩, positive where n points [QO21, Eq. (3.8)]."""
    return _dot(_minus(a.first, b.first), b.along)


def segment_plane(a: Placed, b: Placed, m: Arithmetic) -> Any:
    """Signed distance of the lowest point of a segment; its middle where it lies level."""
    low, high = (_dot(_minus(end, b.first), b.along) for end in (a.first, a.along))
    slope = high - low
    t = m.where(slope > LEVEL, 0.0, m.where(slope < -LEVEL, 1.0, 0.5))
    return low + t * slope


def chord(a: Placed, b: Placed, m: Arithmetic) -> Any:
    """f = |l_z − l|² = 2 − 2 cos φ [QO21, Eqs. (4.28), (4.29)]."""
    return _square(_minus(a.along, b.along))


def turn(a: Placed, b: Placed, m: Arithmetic) -> Any:
    """φ = arccos ⟨l_z, l⟩ [QO21, Eq. (4.26)], as 2 atan2(|l_z − l|, |l_z + l|): exact at both ends of [0, π]."""
    opposite = (0.0 - b.along[0], 0.0 - b.along[1], 0.0 - b.along[2])
    return 2 * m.atan2(root(chord(a, b, m), m), root(_square(_minus(a.along, opposite)), m))


Formula = Callable[[Placed, Placed, Arithmetic], Any]
SQUARED: dict[tuple[Core, Core], Formula] = {
    ("point", "point"): point_point,
    ("point", "line"): point_line,
    ("line", "line"): line_line,
    ("point", "segment"): point_segment,
    ("line", "segment"): line_segment,
    ("segment", "segment"): segment_segment,
}
SIGNED: dict[tuple[Core, Core], Formula] = {("point", "plane"): point_plane, ("segment", "plane"): segment_plane}
ANGLES: dict[Quantity, Formula] = {"chord": chord, "angle": turn}
ORDER: tuple[Core, ...] = ("point", "line", "segment", "plane")
