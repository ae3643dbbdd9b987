"""Distances with their derivatives on symbols of robot and world: the rows that kernels are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algebra.quaternions import Arithmetic
from ..machine.program import Program
from ..model.tree import Tree
from .formulas import Placed
from .primitives import Primitive

if TYPE_CHECKING:
    from ..robot import Robot
    from .distances import Distance

Described = tuple[Any, ...]  # plain data that names a distance in the cache


def described(robot: Robot, world: Sequence[Primitive], d: Distance) -> Described:
    """Of the robot's primitives all numbers are in the code; of the world's only the types and where they are read
    from."""
    starts = np.cumsum([0, *(len(p.parameters) for p in world)])
    sides: list[tuple[Any, ...]] = []
    for primitive in (d.a, d.b):
        kind = type(primitive)
        if primitive.frame is None:
            sides.append((kind, int(starts[world.index(primitive)])))
        else:
            body, X = robot.place(primitive.frame)
            sides.append((kind, body, X.tolist(), primitive.parameters.tolist()))
    return (d.quantity, d.squared, *sides)


@dataclass(frozen=True)
class Rows:
    """Distances of a robot by what is traced of them: numbers of the world have no part in it."""

    tree: Tree
    distances: tuple[Distance, ...]
    layout: tuple[Described, ...]
    world: tuple[int, ...]  # sizes of its parameters and of their rates; empty where all is on the robot

    @property
    def identity(self) -> object:
        """Returns its identity in the cache."""
        return self.tree, self.layout, self.world


def traced(rows: Rows) -> Program:
    """Every distance with its derivatives, of symbols of robot and world."""
    from ..equations.symbols import SX, stack
    from ..machine.trace import trace

    tree = rows.tree
    q, v = SX.sym("q", tree.nq), SX.sym("v", tree.nv)
    names = ("world", "world_rate", "world_acceleration") if rows.world else ()
    world = tuple(SX.sym(name, size) for name, size in zip(names, rows.world, strict=True))
    scene = scene_of(tree, q, v, world)
    each = [_row(scene, d, sides) for d, (_, _, *sides) in zip(rows.distances, rows.layout, strict=True)]
    outputs = {name: stack(*(row[name] for row in each)) for name in each[0]}
    shapes = {name: (len(each),) for name in outputs if name != "J"}
    inputs = {"q": q, "v": v, **dict(zip(names, world, strict=True))}
    return trace("distances", inputs, outputs, shapes=shapes, quaternions=[(0, start) for start in tree.quaternions])


@dataclass(frozen=True)
class SymbolicWorld:
    """Robot and world on symbols. Places are relative to the base, so distances within the robot never see where it
    is."""

    tree: Tree
    where: Any
    blocks: Sequence[Any]  # twists of the joints
    linear: Sequence[Any]  # velocity of each body's origin relative to that of the base
    angular: Sequence[Any]
    bias: Sequence[Any]  # motion of each body in its own axes while a = 0
    of_base: Any  # velocity of the base
    world: tuple[Any, ...]  # parameters and their two derivatives; empty where all is on the robot


def scene_of(tree: Tree, q: Any, v: Any, world: tuple[Any, ...]) -> SymbolicWorld:
    from ..equations.kinematics import body_accelerations, columns, placed_velocities, poses
    from ..equations.symbols import zeros

    where = poses(tree, q)
    blocks = columns(tree, where)
    linear, angular = placed_velocities(tree, where, blocks, v)
    bias = body_accelerations(tree, where.motions, v, zeros(tree.nv), zeros(3))
    return SymbolicWorld(tree, where, blocks, linear, angular, bias, v[0:3] if tree.floating else zeros(3), world)


def _row(scene: SymbolicWorld, d: Distance, sides: Sequence[Any]) -> dict[str, Any]:
    """One distance and its derivatives.

    With x all numbers of the two primitives, g = ∂d/∂x and ẋ = ẋ_robot + ẋ_world, it is J v = gᵀ ẋ_robot and ζ = gᵀ
    ẋ_world. CasADi differentiates the formula alone; how points of the robot move is known from its kinematics.
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


def _numbers_of(scene: SymbolicWorld, primitive: Primitive, side: Sequence[Any]) -> Any:
    """Parameters of a primitive relative to the base; their rates by the robot and by the world; the same of
    accelerations."""
    from ..equations.symbols import beside, constant, stack, zeros

    n, count = len(primitive.parameters), 3 * len(primitive.points)
    if primitive.frame is not None and side[1] >= 0:
        return _carried(scene, primitive, side)
    if primitive.frame is None:
        place, rate, second = (x[side[1] : side[1] + n] for x in scene.world)
    else:  # a frame that is fixed to the world
        X = np.array(side[2])
        vectors = [X[:3, :3] @ p + X[:3, 3] for p in primitive.points] + [X[:3, :3] @ u for u in primitive.directions]
        place, rate, second = (
            constant(np.concatenate([*vectors, primitive.parameters[3 * len(vectors) :]])),
            zeros(n),
            zeros(n),
        )
    still = zeros(n - count)
    origin, velocity = (stack(*[x] * len(primitive.points), still) for x in (scene.where.O, scene.of_base))
    return beside(place - origin, -velocity, rate, zeros(n), second)


def _carried(scene: SymbolicWorld, primitive: Primitive, side: Sequence[Any]) -> Any:
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


def _jacobian(scene: SymbolicWorld, primitives: Sequence[Primitive], sides: Sequence[Any], now: Any, g: Any) -> Any:
    """J, 1×nv: gradients at points are forces, and joints feel their wrench. Joints that move both primitives feel
    none."""
    from ..equations.symbols import cross, zeros

    J, k = zeros(1, scene.tree.nv), 0
    lines = [
        scene.tree.ancestors(-1 if p.frame is None else side[1]) for p, side in zip(primitives, sides, strict=True)
    ]
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
    _, _, *sides = described(robot, d.world, d)
    return _row(scene_of(robot.tree, q, v, given), d, sides)
