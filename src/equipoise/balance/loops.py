"""Closed loops: the constraints that a tree cannot express, and configurations that satisfy them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ..algebra import quaternions
from ..algebra.arrays import times
from ..errors import ConstraintError, unknown_name
from ..machine.cached import cached
from ..machine.kernel import Kernel
from ..machine.store import kernel_of
from ..model.tree import Tree
from ..model.types import Frame, LoopClosure
from ..robot import Robot

if TYPE_CHECKING:
    from ..equations.symbols import SX
    from ..machine.program import Program

Array = np.ndarray
LARGEST_STEP = 0.5  # rad or m of any coordinate in one step towards closed loops


class LoopConstraints(NamedTuple):
    """J v = 0 keeps the loops closed, J a + bias = 0 its derivative; `violation` is how far they are open."""

    J: Array  # (…, m, nv)
    bias: Array  # (…, m)
    violation: Array  # (…, m)


def closure(
    robot: Robot, kind: Literal["connect", "weld"], frame_a: str, frame_b: str, name: str = "closure"
) -> LoopClosure:
    """A loop that joins two frames of the robot: their origins ("connect"), or the frames as a whole ("weld")."""
    if kind not in ("connect", "weld"):
        raise unknown_name("kind of closure between frames", kind, ("connect", "weld"))
    for frame in (frame_a, frame_b):
        if frame not in robot.frames:
            raise unknown_name("frame", frame, robot.frames)
    return LoopClosure(name, kind, robot.frames[frame_a], robot.frames[frame_b])


def loop_constraints(
    robot: Robot, q: Array, v: Array, *, loops: Iterable[LoopClosure] | None = None, baumgarte: float = 0.0
) -> LoopConstraints:
    """(J, J̇v, violation) of closed loops: with J a = −J̇v, a loop that is closed stays so.

    A connect has three rows, how far b is from a; a weld six, that and the rotation vector from b to a; a joint
    polynomial one, q_a − Σ c_k q_b^k. Rows are in the axes of frame a and J is their derivative (for the rotation
    vector, where it is zero): what the robot does as a whole never enters. In world axes it would while a loop is a
    little open, and a row that a planar linkage makes redundant would then hold the base.

    Args:
        q, v: state, (…, nq) and (…, nv).
        loops: those of `robot.model.loops` if not given.
        baumgarte: k in 1/s. The bias becomes J̇v + 2k Jv + k² violation, so that an open loop closes like e^(−kt).
    """
    q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
    chosen = tuple(robot.model.loops.values()) if loops is None else tuple(loops)
    if not chosen:
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        return LoopConstraints(np.zeros((*batch, 0, robot.nv)), np.zeros((*batch, 0)), np.zeros((*batch, 0)))
    J, bias, violation, *turns = _loops_kernel(robot, chosen)(q, v)
    for row, turn in zip(_turn_rows(chosen), turns, strict=True):
        quaternion = quaternions.from_rotation(turn)
        violation[..., row : row + 3] = np.stack(quaternions.log(tuple(np.moveaxis(quaternion, -1, 0))), axis=-1)
    if baumgarte:
        bias = bias + 2 * baumgarte * times(J, v) + baumgarte**2 * violation
    return LoopConstraints(J, bias, violation)


def close_loops(
    robot: Robot,
    q: Array,
    *,
    loops: Iterable[LoopClosure] | None = None,
    held: Sequence[str] = (),
    tolerance: float = 1e-12,
    iterations: int = 100,
) -> Array:
    """A configuration near q that satisfies the loops, by Gauss–Newton steps of least norm on the manifold.

    The base moves only if a loop ties the robot to the world.

    Args:
        q: where to start, (…, nq).
        loops: those of `robot.model.loops` if not given.
        held: joints that must not move.
        tolerance: greatest violation that counts as closed, m and rad.

    Raises:
        ConstraintError: the loops cannot be closed from here.
    """
    q, chosen = np.array(q, dtype=float), tuple(robot.model.loops.values()) if loops is None else tuple(loops)
    if q.ndim > 1:
        one = functools.partial(close_loops, robot, loops=chosen, held=held, tolerance=tolerance, iterations=iterations)
        return np.array([one(each) for each in q]).reshape(q.shape)
    free, now = _free_columns(robot, held), _opening(robot, q, chosen)
    for _ in range(iterations):
        if np.abs(now.violation).max(initial=0.0) <= tolerance:
            return q
        better = _improved(robot, q, free, chosen, now)
        if better is None:
            break
        q, now = better
    raise ConstraintError(_unclosed(robot, q, chosen, tolerance))


def _improved(
    robot: Robot, q: Array, free: Array, loops: Sequence[LoopClosure], now: LoopConstraints
) -> tuple[Array, LoopConstraints] | None:
    """q and its loops after a step of least norm, damped until it closes them by a fifth; None where no step helps."""
    U, s, V_T = np.linalg.svd(now.J[:, free], full_matrices=False)
    along = np.where(s > 1e-8 * s.max(initial=0.0), U.T @ now.violation, 0.0)
    best, least = None, np.linalg.norm(now.violation)
    for damping in (0.0, *10.0 ** np.arange(-6, 2)):
        step = np.zeros(robot.nv)
        step[free] = -V_T.T @ (along * s / np.maximum(s * s + damping, np.finfo(float).tiny))
        step *= LARGEST_STEP / max(np.abs(step).max(), LARGEST_STEP)
        q_new = robot.integrate(q, step)
        new = _opening(robot, q_new, loops)
        size = np.linalg.norm(new.violation)
        if size < least:
            best, least = (q_new, new), size
        if size < 0.8 * np.linalg.norm(now.violation):
            break
    return best


def _opening(robot: Robot, q: Array, loops: Sequence[LoopClosure]) -> LoopConstraints:
    """The loops at rest."""
    return loop_constraints(robot, q, np.zeros(robot.nv), loops=loops)


def _unclosed(robot: Robot, q: Array, loops: Sequence[LoopClosure], tolerance: float) -> str:
    open_by = {loop.name: float(np.abs(_opening(robot, q, [loop]).violation).max()) for loop in loops}
    worst = ", ".join(f"{name} by {gap:.3g}" for name, gap in open_by.items() if gap > tolerance)
    return (
        f"the loops of {robot.name!r} cannot be closed from this configuration: open are {worst} (m or rad, wanted "
        f"{tolerance:g}). Start nearer to a closed configuration, or hold fewer joints."
    )


def _free_columns(robot: Robot, held: Sequence[str]) -> Array:
    """Indices of the velocities that may change."""
    free = np.ones(robot.nv, dtype=bool)
    for name in held:
        if name not in robot.joints:
            raise unknown_name("joint", name, robot.joints)
        free[robot.joints[name].v] = False
    return np.flatnonzero(free)


# --- the rows of loops, compiled --------------------------------------------------------------------------------------


def _loops_kernel(robot: Robot, loops: tuple[LoopClosure, ...]) -> Kernel:
    """J, bias, violation and the rotation R_bᵀ R_a of every weld, in one kernel; made when first wanted."""
    key = ("loops", loops)
    if key not in robot._kernels:
        ends = [_ends(robot, loop) for loop in loops]
        robot._kernels[key] = kernel_of(cached(_traced, robot.tree, loops, ends))
    return robot._kernels[key]


def _turn_rows(loops: Sequence[LoopClosure]) -> list[int]:
    """Where the rotation vector of each weld starts."""
    sizes = [{"connect": 3, "weld": 6, "joint": 1}[loop.kind] for loop in loops]
    return [sum(sizes[:k]) + 3 for k, loop in enumerate(loops) if loop.kind == "weld"]


@dataclass(frozen=True)
class _Coordinate:
    """A joint's position, factor · q + offset, and its rate, factor · v."""

    q: int
    v: int
    factor: float
    offset: float


def _ends(robot: Robot, loop: LoopClosure) -> tuple[Any, Any]:
    """What the loop joins: two places (body, pose in it), or two coordinates, None for no second one."""
    if loop.kind == "joint":
        return _coordinate(robot, loop, loop.joint_a), None if loop.joint_b is None else _coordinate(
            robot, loop, loop.joint_b
        )
    if loop.frame_a is None or loop.frame_b is None:
        raise ConstraintError(
            f"loop {loop.name!r} of kind {loop.kind!r} joins two frames; frame_a or frame_b is missing"
        )
    return _place(robot, loop.frame_a), _place(robot, loop.frame_b)


def _place(robot: Robot, frame: Frame) -> tuple[int, Array]:
    """A frame that the robot need not know by name."""
    if frame.parent is None:
        return -1, frame.X
    body, X = robot.place(frame.parent)
    return body, X @ frame.X


def _coordinate(robot: Robot, loop: LoopClosure, name: str | None) -> _Coordinate:
    joint = robot.joints.get(str(name))
    if joint is None or joint.type.nv != 1:
        raise ConstraintError(f"loop {loop.name!r} couples joint {name!r}, which has no coordinate here: is it locked?")
    return _Coordinate(joint.q.start, joint.v.start, *joint.gearing)


def loop_rows(robot: Robot, q: SX, v: SX) -> tuple[SX, SX, SX]:
    """(J, J̇v, violation) of the loops of the robot's description on symbols, as `loop_constraints` has them in
    numbers.

    The rotation vector of a weld is that of a small turn.
    """
    loops = tuple(robot.model.loops.values())
    J, bias, violation, turns = _stacked(robot.tree, loops, [_ends(robot, loop) for loop in loops], q, v)
    for row, turn in zip(_turn_rows(loops), turns, strict=True):
        for k, (i, j) in enumerate(((2, 1), (0, 2), (1, 0))):
            violation[row + k] = (turn[i, j] - turn[j, i]) / 2
    return J, bias, violation


def _traced(tree: Tree, loops: Sequence[LoopClosure], ends: Sequence[tuple[Any, Any]]) -> Program:
    """The rows of numbers, loop above loop."""
    from ..equations.symbols import SX
    from ..machine.trace import trace

    symbols = {"q": SX.sym("q", tree.nq), "v": SX.sym("v", tree.nv)}
    J, bias, violation, turns = _stacked(tree, loops, ends, **symbols)
    outputs = {"J": J, "bias": bias, "violation": violation, **{f"turn {k}": turn for k, turn in enumerate(turns)}}
    starts = [(0, start) for start in tree.quaternions]
    shapes = {"J": J.shape, "bias": (J.shape[0],), "violation": (J.shape[0],)}
    return trace("loops", symbols, outputs, shapes=shapes, quaternions=starts)


def _stacked(
    tree: Tree, loops: Sequence[LoopClosure], ends: Sequence[tuple[Any, Any]], q: SX, v: SX
) -> tuple[SX, SX, SX, list[SX]]:
    """J, bias and violation on symbols, loop above loop, and the rotation R_bᵀ R_a of every weld."""
    from ..equations.symbols import stack

    parts: list[Sequence[Any]] = []
    turns: list[SX] = []
    for loop, (a, b) in zip(loops, ends, strict=True):
        if loop.kind == "joint":
            parts.append(_joint_rows(tree, q, v, a=a, b=b, polynomial=loop.polynomial))
            continue
        *rows, turn = _frame_rows(tree, q, v, a=a, b=b)
        parts.append(rows if loop.kind == "weld" else [x[:3, :] for x in rows])
        if loop.kind == "weld":
            turns.append(turn)
    J, bias, violation = (stack(*column) for column in zip(*parts, strict=True))
    return J, bias, violation, turns


def _frame_rows(tree: Tree, q: Any, v: Any, a: Any, b: Any) -> tuple[Any, Any, Any, Any]:
    """(J, J̇v, violation, R_bᵀ R_a) of two frames that shall be one, in the axes of a; the last three violations are
    left 0.

    With d = p_a − p_b and ω that of a, the place of a from b is s = R_aᵀ d, and

        ṡ = R_aᵀ (ḋ − ω × d),    s̈ = R_aᵀ (d̈ − ω̇ × d − 2 ω × ḋ + ω × (ω × d));

    the rate of the rotation vector, where that is zero, is R_aᵀ (ω_a − ω_b).
    """
    from ..equations.jacobians import acceleration, jacobian, velocity
    from ..equations.kinematics import poses
    from ..equations.symbols import cross, skew, stack, zeros

    where, still = poses(tree, q), zeros(tree.nv)
    (R_a, p_a), (R_b, p_b) = where.frame(tree, a), where.frame(tree, b)
    J_a, J_b = jacobian(tree, q, a), jacobian(tree, q, b)
    V_a, V_b = velocity(tree, q, v, a), velocity(tree, q, v, b)
    A_a, A_b = acceleration(tree, q, v, still, a), acceleration(tree, q, v, still, b)
    d, d_dot, w = p_a - p_b, (V_a - V_b)[:3], V_a[3:]
    J = stack(R_a.T @ ((J_a - J_b)[:3, :] + skew(d) @ J_a[3:, :]), R_a.T @ (J_a - J_b)[3:, :])
    for column in _common_columns(tree, a[0], b[0]):
        J[:, column] = 0  # exactly: what moves both frames alike
    s_bias = R_a.T @ ((A_a - A_b)[:3] - cross(A_a[3:], d) - cross(w, 2 * d_dot - cross(w, d)))
    turn_bias = R_a.T @ ((A_a - A_b)[3:] + cross(w, V_b[3:]))
    return J, stack(s_bias, turn_bias), stack(R_a.T @ d, zeros(3)), R_b.T @ R_a


def _common_columns(tree: Tree, a: int, b: int) -> list[int]:
    """Velocities that do not move body a against body b."""
    apart = set(tree.ancestors(a)) ^ set(tree.ancestors(b))
    moving = {column for i in apart for column in range(tree.nv)[tree.bodies[i].v]}
    return [column for column in range(tree.nv) if column not in moving]


def _joint_rows(
    tree: Tree, q: Any, v: Any, a: _Coordinate, b: _Coordinate | None, polynomial: Sequence[float]
) -> tuple[Any, Any, Any]:
    """Gradient, J̇v = −c″(q_b) q̇_b² and value of q_a − c(q_b)."""
    from ..equations.symbols import SX, zeros

    J, bias = zeros(1, tree.nv), SX(0)
    J[0, a.v] = a.factor
    violation = a.factor * q[a.q] + a.offset - polynomial[0]
    if b is not None:
        q_b, v_b = b.factor * q[b.q] + b.offset, b.factor * v[b.v]
        c = [
            sum(x * q_b**k for k, x in enumerate(np.polynomial.Polynomial(polynomial).deriv(m).coef)) for m in range(3)
        ]
        violation = a.factor * q[a.q] + a.offset - c[0]
        J[0, b.v] = J[0, b.v] - b.factor * c[1]
        bias = SX(-c[2] * v_b * v_b)
    return J, bias, violation
