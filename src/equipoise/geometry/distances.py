"""Distances between primitives and how they change: d, ḋ = J v + ζ and d̈ = J a + J̇ v + ζ̇ [QO21, Sec. 3.2 and 4.2].

J is what the robot does to the distance, the residual ζ what the world does by itself. CasADi differentiates the
formulas along the motion of robot and world; everything asked for together is one kernel, and what stands in the world
is an input of it.

Which distance a pair has:

    pair                                        value                             smooth
    Point–Point, Point–Line                     squared [QO21, Table 3.1]         everywhere
    Line–Line                                   squared [QO21, Table 3.1]         where not parallel
    Point–Segment                               squared                           once; twice but where an end begins
    Line–Segment, Segment–Segment               squared                           the same, where not parallel
    Point–Plane                                 signed [QO21, Eq. (3.8)]          everywhere
    Segment–Plane, Capsule–Plane                signed, of the lowest point       where not parallel
    Sphere–Plane                                signed, less the radius           everywhere
    any other pair with a Sphere or a Capsule   plain, less the radii: negative   as the cores, where they do not touch
                                                when they penetrate

What is returned where the mathematics leaves a choice:

- Plain distances of cores that touch (nearer than `TOUCHING`): J = 0 and ζ = 0, the middle of all slopes there.
- Parallel segments lie beside each other along a stretch; J and ζ are those of its middle. The value is continuous, J
  jumps to one end or the other as soon as they tilt.
- Parallel lines (sine of their angle below `PARALLEL_LINES`): the distance between them. The mathematics itself jumps:
  lines that tilt ever so little meet somewhere far away. J is that of their distance while they stay parallel.
- A squared distance of 0 has J = 0. Infinite lines that cross need not mean a collision [QO21, Fig. 4.7]: take Segments
  or Capsules, which make the switch of [QO21, Eq. (4.37)] between line and end points, without its jumps.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..algebra.quaternions import Arithmetic
from ..errors import ShapeError
from ..machine.cached import cached
from ..machine.kernel import Kernel
from ..machine.store import kernel_of
from .formulas import ANGLES, ORDER, SIGNED, SQUARED, Placed, Quantity, root
from .primitives import Core, GeometryError, Primitive
from .rows import Rows, described, on_symbols, traced

if TYPE_CHECKING:
    from ..equations.symbols import SX
    from ..robot import Robot

__all__ = ["Distance", "DistanceKernel", "DistanceValues", "angle", "distance", "distances_kernel", "on_symbols"]

Array = np.ndarray


@dataclass(frozen=True)
class Distance:
    """What is measured between two primitives; `on(robot)` measures it.

    Args:
        quantity: "distance", "chord" (2 − 2 cos of an angle) or "angle" (rad).
        squared: whether the value is in m² instead of m. Vector-field inequalities are written on either; a bound
            d_safe on a squared distance is d_safe².
    """

    a: Primitive
    b: Primitive
    quantity: Quantity = "distance"
    squared: bool = False

    @property
    def world(self) -> tuple[Primitive, ...]:
        """Those of the two that stand in the world."""
        return tuple(dict.fromkeys(p for p in (self.a, self.b) if p.frame is None))

    def on(self, robot: Robot) -> DistanceKernel:
        """Compiled for a robot."""
        return DistanceKernel(robot, (self,), single=True)

    def formula(self, a: Placed, b: Placed, radii: float | Array | SX, m: Arithmetic) -> Array | SX:
        """The value, of cores in the world."""
        if self.quantity != "distance":
            return ANGLES[self.quantity](a, b, m)
        cores, swapped = _ordered(self.a, self.b)
        pair = (b, a) if swapped else (a, b)
        if cores in SIGNED:
            return SIGNED[cores](*pair, m) - radii
        square = SQUARED[cores](*pair, m)
        return square if self.squared else root(square, m) - radii


def distance(a: Primitive, b: Primitive, *, squared: bool | None = None) -> Distance:
    """The distance between two primitives, in either order.

    Args:
        squared: True for m², False for m. If not given, pairs of points, lines and segments are squared, as in [QO21,
            Table 3.1], which makes them smooth where they touch; pairs with a plane, a sphere or a capsule are in m and
            signed.
    """
    _require_primitives("distance", a, b)
    cores, _ = _ordered(a, b)
    if cores not in SQUARED and cores not in SIGNED:
        raise GeometryError(
            f"a {type(a).__name__} and a {type(b).__name__} have no distance: both are infinite and meet unless they "
            "are parallel. Take a Point, Segment, Sphere or Capsule instead of one, or angle(a, b)."
        )
    signed = cores in SIGNED or a.thickness is not None or b.thickness is not None
    if squared and signed:
        raise GeometryError(
            f"the distance of a {type(a).__name__} and a {type(b).__name__} has a sign, which its square would lose: "
            "squared=True is for pairs of points, lines and segments"
        )
    return Distance(a, b, "distance", not signed if squared is None else squared)


def angle(a: Primitive, b: Primitive, *, smooth: bool = True) -> Distance:
    """The angle φ in [0, π] between directions of lines or normals of planes [QO21, Sec. 4.2].

    Args:
        smooth: the thesis' 2 − 2 cos φ [QO21, Eq. (4.28)], smooth everywhere; else φ itself, rad, which has no
            derivative at 0 and π: J = 0 and ζ = 0 are given there. The residual in [QO21, Eq. (4.27)] lacks the factor
            −1/√(1 − ⟨l_z, l⟩²) of the other term.
    """
    _require_primitives("angle", a, b)
    for primitive in (a, b):
        if not primitive.directions:
            raise GeometryError(f"a {type(primitive).__name__} has no direction: angles are between Lines and Planes")
    return Distance(a, b, "chord" if smooth else "angle")


def distances_kernel(robot: Robot, distances: Sequence[Distance]) -> DistanceKernel:
    """Several distances of one robot in one fused kernel; results are arrays with a row for each."""
    if not distances:
        raise GeometryError("distances_kernel: give at least one distance")
    for d in distances:
        if not isinstance(d, Distance):
            raise GeometryError(f"distances_kernel: wanted Distances, as eq.distance(a, b) makes them; got {d!r}")
    return DistanceKernel(robot, tuple(distances))


def _require_primitives(function: str, *given: object) -> None:
    for x in given:
        if not isinstance(x, Primitive):
            raise GeometryError(f"{function}: wanted a Point, Line, Segment, Plane, Sphere or Capsule, got {x!r}")


def _ordered(a: Primitive, b: Primitive) -> tuple[tuple[Core, Core], bool]:
    """The cores in the order of the tables, and whether that is the other way round."""
    swapped = ORDER.index(a.core) > ORDER.index(b.core)
    return ((b.core, a.core) if swapped else (a.core, b.core)), swapped


@dataclass(frozen=True, eq=False)
class DistanceValues:
    """Distances at a state: one (…), or a row for each of n (…, n).

    Their rate is J v + residual; their acceleration J a + J_dot_v + residual_rate.
    """

    value: Array
    J: Array  # (…, nv) or (…, n, nv)
    residual: Array  # ζ = ∂d/∂t of the world's motion
    J_dot_v: Array
    residual_rate: Array  # ζ̇

    def rate(self, v: Array) -> Array:
        """ḋ = J v + ζ."""
        return self._along(v) + self.residual

    def acceleration(self, a: Array) -> Array:
        """d̈ = J a + J̇ v + ζ̇."""
        return self._along(a) + self.J_dot_v + self.residual_rate

    def _along(self, x: Array) -> Array:
        x = np.asarray(x)
        return np.sum(self.J * (x if x.ndim == self.J.ndim else x[..., None, :]), axis=-1)


@dataclass(frozen=True, eq=False)
class DistanceKernel:
    """Distances compiled for a robot. Call it with (q, v); leading dimensions are batches.

    Primitives of the world are inputs: `world` lists them, each once, and a call may replace all of them by others of
    the same types, with other places, radii and motions. Nothing is compiled anew.
    """

    robot: Robot
    distances: tuple[Distance, ...]
    single: bool = False
    world: tuple[Primitive, ...] = field(init=False)
    kernel: Kernel = field(init=False)
    _given: tuple[Array, ...] = field(init=False)  # motion of the world as the distances have it

    def __post_init__(self) -> None:
        world = tuple(dict.fromkeys(p for d in self.distances for p in d.world))
        set_ = functools.partial(object.__setattr__, self)
        set_("world", world)
        set_("_given", self._split(self.motion(world)))
        layout = tuple(described(self.robot, world, d) for d in self.distances)
        rows = Rows(self.robot.tree, self.distances, layout, tuple(x.shape[-1] for x in self._given))
        set_("kernel", kernel_of(cached(traced, rows)))

    def __call__(self, q: Array, v: Array, world: Sequence[Primitive] | Array | None = None) -> DistanceValues:
        """Distances at (q, v).

        Args:
            world: what now stands in the place of `self.world`, in that order: primitives, or an array (…, 3, n) of
                `motion`, which may be a batch. As they were given if None.
        """
        given = (
            self._given
            if world is None
            else self._split(world if isinstance(world, np.ndarray) else self.motion(world))
        )
        if given and all(getattr(x, "dtype", None) == np.float32 for x in (q, v)):
            given = tuple(x.astype(np.float32) for x in given)  # the state decides: float32 in, float32 out
        results = self.kernel(q, v, *given)
        if self.single:
            value, J, *rest = results
            return DistanceValues(value[..., 0], J[..., 0, :], *(x[..., 0] for x in rest))
        return DistanceValues(*results)

    def motion(self, world: Sequence[Primitive]) -> Array:
        """Parameters of the world with their first and second derivatives, (3, n)."""
        wanted = [type(p).__name__ for p in self.world]
        got = [type(p).__name__ for p in world]
        if wanted != got:
            raise GeometryError(
                f"the world of these distances is [{', '.join(wanted)}], in this order; got [{', '.join(got)}]"
            )
        attached = next((p for p in world if p.frame is not None), None)
        if attached is not None:
            raise GeometryError(f"{attached!r} is on a frame of the robot; the world of a kernel stands in the world")
        return np.concatenate([np.zeros((3, 0)), *(p.motion for p in world)], axis=1)

    def _split(self, motion: Array) -> tuple[Array, ...]:
        size = sum(len(p.parameters) for p in self.world)
        if motion.shape[-2:] != (3, size):
            raise ShapeError(f"world: wanted shape (…, 3, {size}), as `motion` gives it; got {motion.shape}")
        return tuple(np.ascontiguousarray(motion[..., k, :]) for k in range(3)) if size else ()
