"""Distances between primitives and how they change: d, ḋ = J v + ζ and d̈ = J a + J̇ v + ζ̇ [QO21, Sec. 3.2 and 4.2].

J is what the robot does to the distance, the residual ζ what the world does by itself. CasADi differentiates the formulas
along the motion of robot and world; everything asked for together is one kernel, and what stands in the world is an input of it.

Which distance a pair has:

    pair                                              value                                smooth
    Point–Point, Point–Line                           squared [QO21, Table 3.1]            everywhere
    Line–Line                                         squared [QO21, Table 3.1]            where not parallel
    Point–Segment                                     squared                              once; twice but where an end begins
    Line–Segment, Segment–Segment                     squared                              the same, where not parallel
    Point–Plane                                       signed [QO21, Eq. (3.8)]             everywhere
    Segment–Plane, Capsule–Plane                      signed, of the lowest point          where not parallel
    Sphere–Plane                                      signed, less the radius              everywhere
    any other pair with a Sphere or a Capsule         plain, less the radii: negative      as the cores, where they do not touch
                                                      when they penetrate

What is returned where the mathematics leaves a choice:

- Plain distances of cores that touch (nearer than `TOUCHING`): J = 0 and ζ = 0, the middle of all slopes there.
- Parallel segments lie beside each other along a stretch; J and ζ are those of its middle. The value is continuous, J jumps
  to one end or the other as soon as they tilt.
- Parallel lines (sine of their angle below `PARALLEL_LINES`): the distance between them. The mathematics itself jumps: lines
  that tilt ever so little meet somewhere far away. J is that of their distance while they stay parallel.
- A squared distance of 0 has J = 0. Infinite lines that cross need not mean a collision [QO21, Fig. 4.7]: take Segments or
  Capsules, which make the switch of [QO21, Eq. (4.37)] between line and end points, without its jumps.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..algebra.quaternions import Arithmetic
from ..errors import ShapeError
from ..machine.kernel import Kernel
from ..machine.program import Program
from ..machine.store import cached_program, kernel_of
from ..model.tree import Tree
from .primitives import Core, GeometryError, Primitive

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
Vector = tuple[Any, Any, Any]
Quantity = Literal["distance", "chord", "angle"]

TOUCHING = 1e-12  # m
PARALLEL_LINES = 1e-6  # sine of the angle
PARALLEL_SEGMENTS = 1e-9  # sine of the angle: the closest points jump, the distance does not
LEVEL = 1e-10  # m, of the ends of a segment above a plane


# --- formulas, on numbers or symbols ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Placed:
    """A core in the world: its two vectors in world axes. A point has one."""

    first: Vector
    second: Vector | None = None

    @property
    def along(self) -> Vector:
        """Unit direction of a line, or unit normal of a plane."""
        assert self.second is not None
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


def _root(x: Any, m: Arithmetic) -> Any:
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

    s and t minimise over the square [0, 1]²: first s on the two lines, then t, then s once more where t had to be kept in
    its bounds. Sines come from cross products: |e|²|e'|² − ⟨e, e'⟩² would lose half of the digits.
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
    return 2 * m.atan2(_root(chord(a, b, m), m), _root(_square(_minus(a.along, opposite)), m))


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


# --- what users hold ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Distance:
    """What is measured between two primitives; `on(robot)` measures it.

    Args:
        quantity: "distance", "chord" (2 − 2 cos of an angle) or "angle" (rad).
        squared: whether the value is in m² instead of m. Vector-field inequalities are written on either; a bound d_safe on
            a squared distance is d_safe².
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

    def formula(self, a: Placed, b: Placed, radii: Any, m: Arithmetic) -> Any:
        """The value, of cores in the world."""
        if self.quantity != "distance":
            return ANGLES[self.quantity](a, b, m)
        cores, swapped = _ordered(self.a, self.b)
        pair = (b, a) if swapped else (a, b)
        if cores in SIGNED:
            return SIGNED[cores](*pair, m) - radii
        square = SQUARED[cores](*pair, m)
        return square if self.squared else _root(square, m) - radii


def distance(a: Primitive, b: Primitive, *, squared: bool | None = None) -> Distance:
    """The distance between two primitives, in either order.

    Args:
        squared: True for m², False for m. If not given, pairs of points, lines and segments are squared, as in
            [QO21, Table 3.1], which makes them smooth where they touch; pairs with a plane, a sphere or a capsule are in m
            and signed.
    """
    _require_primitives("distance", a, b)
    cores, _ = _ordered(a, b)
    if cores not in SQUARED and cores not in SIGNED:
        raise GeometryError(
            f"a {type(a).__name__} and a {type(b).__name__} have no distance: both are infinite and meet unless they are "
            "parallel. Take a Point, Segment, Sphere or Capsule instead of one, or angle(a, b)."
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
        smooth: the thesis' 2 − 2 cos φ [QO21, Eq. (4.28)], smooth everywhere; else φ itself, rad, which has no derivative
            at 0 and π: J = 0 and ζ = 0 are given there. The residual in [QO21, Eq. (4.27)] lacks the factor
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

    Primitives of the world are inputs: `world` lists them, each once, and a call may replace all of them by others of the
    same types, with other places, radii and motions. Nothing is compiled anew.
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
        layout = tuple(_described(self.robot, world, d) for d in self.distances)
        make = functools.partial(_traced, self.robot.tree, self.distances, layout, self._given)
        set_("kernel", kernel_of(cached_program(self.robot.tree, ("distances", layout), make)))

    def __call__(self, q: Array, v: Array, world: Sequence[Primitive] | Array | None = None) -> DistanceValues:
        """Distances at (q, v).

        Args:
            world: what now stands in the place of `self.world`, in that order: primitives, or an array (…, 3, n) of
                `motion`, which may be a batch. As they were given if None.
        """
        given = self._given if world is None else self._split(world if isinstance(world, np.ndarray) else self.motion(world))
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
            raise GeometryError(f"the world of these distances is [{', '.join(wanted)}], in this order; got [{', '.join(got)}]")
        attached = next((p for p in world if p.frame is not None), None)
        if attached is not None:
            raise GeometryError(f"{attached!r} is on a frame of the robot; the world of a kernel stands in the world")
        return np.concatenate([np.zeros((3, 0)), *(p.motion for p in world)], axis=1)

    def _split(self, motion: Array) -> tuple[Array, ...]:
        size = sum(len(p.parameters) for p in self.world)
        if motion.shape[-2:] != (3, size):
            raise ShapeError(f"world: wanted shape (…, 3, {size}), as `motion` gives it; got {motion.shape}")
        return tuple(np.ascontiguousarray(motion[..., k, :]) for k in range(3)) if size else ()


# --- on symbols ---------------------------------------------------------------------------------------------------------

Described = tuple[Any, ...]  # plain data that names a distance in the cache


def _described(robot: Robot, world: Sequence[Primitive], d: Distance) -> Described:
    """Of the robot's primitives all numbers are in the code; of the world's only the types and where they are read from."""
    starts = np.cumsum([0, *(len(p.parameters) for p in world)])
    sides: list[tuple[Any, ...]] = []
    for primitive in (d.a, d.b):
        kind = type(primitive).__name__
        if primitive.frame is None:
            sides.append((kind, int(starts[world.index(primitive)])))
        else:
            body, X = robot.place(primitive.frame)
            sides.append((kind, body, X.tolist(), primitive.parameters.tolist()))
    return (d.quantity, d.squared, *sides)


def _traced(tree: Tree, distances: Sequence[Distance], layout: Sequence[Described], given: Sequence[Array]) -> Program:
    """Every distance with its derivatives, of symbols of robot and world."""
    from ..equations.symbols import SX, stack
    from ..machine.trace import trace

    q, v = SX.sym("q", tree.nq), SX.sym("v", tree.nv)
    names = ("world", "world_rate", "world_acceleration") if given else ()
    world = tuple(SX.sym(name, x.shape[-1]) for name, x in zip(names, given, strict=True))
    scene = _scene(tree, q, v, world)
    rows = [_row(scene, d, sides) for d, (_, _, *sides) in zip(distances, layout, strict=True)]
    outputs = {name: stack(*(row[name] for row in rows)) for name in rows[0]}
    shapes = {name: (len(distances),) for name in outputs if name != "J"}
    inputs = {"q": q, "v": v, **dict(zip(names, world, strict=True))}
    return trace("distances", inputs, outputs, shapes=shapes, quaternions=[(0, start) for start in tree.quaternions])


@dataclass(frozen=True)
class _Scene:
    """Robot and world on symbols. Places are relative to the base, so distances within the robot never see where it is."""

    tree: Tree
    where: Any
    blocks: Sequence[Any]  # twists of the joints
    linear: Sequence[Any]  # velocity of each body's origin relative to that of the base
    angular: Sequence[Any]
    bias: Sequence[Any]  # motion of each body in its own axes while a = 0
    of_base: Any  # velocity of the base
    world: tuple[Any, ...]  # parameters and their two derivatives; empty where all is on the robot


def _scene(tree: Tree, q: Any, v: Any, world: tuple[Any, ...]) -> _Scene:
    from ..equations.kinematics import body_accelerations, columns, placed_velocities, poses
    from ..equations.symbols import zeros

    where = poses(tree, q)
    blocks = columns(tree, where)
    linear, angular = placed_velocities(tree, where, blocks, v)
    bias = body_accelerations(tree, where.motions, v, zeros(tree.nv), zeros(3))
    return _Scene(tree, where, blocks, linear, angular, bias, v[0:3] if tree.floating else zeros(3), world)


def _row(scene: _Scene, d: Distance, sides: Sequence[Any]) -> dict[str, Any]:
    """One distance and its derivatives.

    With x all numbers of the two primitives, g = ∂d/∂x and ẋ = ẋ_robot + ẋ_world, it is J v = gᵀ ẋ_robot and ζ = gᵀ ẋ_world.
    CasADi differentiates the formula alone; how points of the robot move is known from its kinematics.
    """
    import casadi

    from ..equations.symbols import SX, SYMBOLS, stack

    numbers = [_numbers_of(scene, p, side) for p, side in zip((d.a, d.b), sides, strict=True)]
    x, rate = (SX.sym(name, sum(n.shape[0] for n in numbers)) for name in ("x", "rate"))
    value = _value(d, x, SYMBOLS)
    g = casadi.gradient(value, x)
    formula = casadi.Function("formula", [x, rate], [value, g, casadi.jtimes(g, x, rate)])
    now, by_robot, by_world, robot_bias, world_bias = casadi.horzsplit(stack(*numbers))
    value, g, g_dot = formula(now, by_robot + by_world)
    return {
        "value": value,
        "J": _jacobian(scene, (d.a, d.b), sides, now, g),
        "residual": g.T @ by_world,
        "J_dot_v": g_dot.T @ by_robot + g.T @ robot_bias,
        "residual_rate": g_dot.T @ by_world + g.T @ world_bias,
    }


def _value(d: Distance, x: Any, m: Arithmetic) -> Any:
    """The formula on the numbers of both primitives, one after the other."""
    placed, radii, k = [], [], 0
    for primitive in (d.a, d.b):
        vectors = []
        for _ in primitive.points + primitive.directions:
            vectors.append((x[k], x[k + 1], x[k + 2]))
            k += 3
        if primitive.thickness is not None:
            radii.append(x[k])
            k += 1
        placed.append(Placed(*vectors))
    return d.formula(placed[0], placed[1], sum(radii), m)


def _numbers_of(scene: _Scene, primitive: Primitive, side: Sequence[Any]) -> Any:
    """Parameters of a primitive relative to the base; their rates by the robot and by the world; the same of accelerations."""
    from ..equations.symbols import beside, constant, stack, zeros

    n, count = len(primitive.parameters), 3 * len(primitive.points)
    if primitive.frame is not None and side[1] >= 0:
        return _carried(scene, primitive, side)
    if primitive.frame is None:
        place, rate, second = (x[side[1] : side[1] + n] for x in scene.world)
    else:  # a frame that is fixed to the world
        X = np.array(side[2])
        vectors = [X[:3, :3] @ p + X[:3, 3] for p in primitive.points] + [X[:3, :3] @ u for u in primitive.directions]
        place, rate, second = constant(np.concatenate([*vectors, primitive.parameters[3 * len(vectors) :]])), zeros(n), zeros(n)
    still = zeros(n - count)
    origin, velocity = (stack(*[x] * len(primitive.points), still) for x in (scene.where.O, scene.of_base))
    return beside(place - origin, -velocity, rate, zeros(n), second)


def _carried(scene: _Scene, primitive: Primitive, side: Sequence[Any]) -> Any:
    """The same of a primitive that a body of the robot carries."""
    from ..equations.symbols import beside, constant, cross, stack, zeros

    body, X = side[1], np.array(side[2])
    R, p, bias = scene.where.R[body], scene.where.p[body], scene.bias[body]
    columns = []
    for k, vector in enumerate(primitive.points + primitive.directions):
        is_point = k < len(primitive.points)
        s = constant(X[:3, :3] @ vector + (X[:3, 3] if is_point else 0))
        arm = R @ s
        turn, bend = cross(scene.angular[body], arm), R @ (bias.B @ s)
        if is_point:
            columns.append((p + arm, scene.linear[body] + turn, bend + R @ bias.acceleration))
        else:
            columns.append((arm, turn, bend))
    if primitive.thickness is not None:
        columns.append((constant([primitive.thickness]), zeros(1), zeros(1)))
    place, rate, second = (stack(*column) for column in zip(*columns, strict=True))
    return beside(place, rate, zeros(*place.shape), second, zeros(*place.shape))


def _jacobian(scene: _Scene, primitives: Sequence[Primitive], sides: Sequence[Any], now: Any, g: Any) -> Any:
    """J, 1×nv: gradients at points are forces, and joints feel their wrench. Joints that move both primitives feel none."""
    from ..equations.symbols import cross, zeros

    J, k = zeros(1, scene.tree.nv), 0
    lines = [scene.tree.ancestors(-1 if p.frame is None else side[1]) for p, side in zip(primitives, sides, strict=True)]
    for primitive, line in zip(primitives, lines, strict=True):
        force, torque = zeros(3), zeros(3)  # about the base
        for i in range(len(primitive.points + primitive.directions)):
            part = g[k + 3 * i : k + 3 * i + 3]
            torque += cross(now[k + 3 * i : k + 3 * i + 3], part)
            force += part if i < len(primitive.points) else zeros(3)
        k += len(primitive.parameters)
        for i in line:
            if not all(i in other for other in lines):
                body, block = scene.tree.bodies[i], scene.blocks[i]
                J[:, body.v] += body.multiplier * (force.T @ block.at_O + torque.T @ block.angular)
    return J


def on_symbols(robot: Robot, d: Distance, q: Any, v: Any, world: Any) -> dict[str, Any]:
    """One distance and its derivatives on symbols, for kernels that have more in them.

    Args:
        world: symbols of `motion` of each of `d.world`, row by row, one primitive after the other.
    """
    from ..equations.symbols import stack, zeros

    columns: list[list[Any]] = [[], [], []]
    start = 0
    for primitive in d.world:
        n = len(primitive.parameters)
        for k in range(3):
            columns[k].append(world[start + k * n : start + (k + 1) * n])
        start += 3 * n
    given = tuple(stack(*column) if column else zeros(0) for column in columns)
    _, _, *sides = _described(robot, d.world, d)
    return _row(_scene(robot.tree, q, v, given), d, sides)
