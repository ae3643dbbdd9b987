"""`eq.solve_ik`: a configuration in which frames are where they are wanted, within the joint limits; one problem or
thousands.

    minimise  Σ ‖w (p_F(q) − p)‖² + ‖w log(R_F(q) Rᵀ)‖²     subject to  lower ≤ q ≤ upper

by the descent of `least_squares`, all problems of a batch at once on the batched kernels. What has not converged starts
again from random joints. Each priority weighs a hundred times the next one; then the cost of all but the last is
descended alone, and so on up to the first, which a target that cannot be reached therefore does not move.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..algebra.quaternions import from_rotation, log
from ..errors import ShapeError, StateError, unknown_name
from ..model.types import frozen
from .least_squares import BatchedRows, PositionBounds, cost_of, descent, positions

if TYPE_CHECKING:
    from ..robot import Robot
    from .clearance import Clearance

Array = np.ndarray
COM = "com"
EARLIER = 100.0  # weight of a priority's residuals relative to those of the next one
SETTLED = 1e-3  # part by which the cost must fall within `PATIENCE` steps, else the problem has settled where it is
PATIENCE = 12


@dataclass(frozen=True, eq=False)
class IKSolution:
    """What `solve_ik` found. Leading dimensions (…) are those of the problem; none for one configuration.

    Attributes:
        q: configuration, (…, nq); where it did not converge, the nearest one that was found.
        converged: whether every target is met within the tolerance, (…) of bool.
        residuals: by target, how far it is missed: (…, 2) in (m, rad) for poses, (…, 1) in m for places.
        penetration: m, (…): how deep links are in each other or in the floor; 0 where that was not asked for.
        reasons: in words, (…): how each problem ended, what is missed, and which joints are at the end of their range.
        iterations: steps that were taken, of the whole batch.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> arm = eq.load("arm7")
        >>> found = eq.solve_ik(arm, {"tool": [0.3, 0.2, 0.6]}, np.full(7, 0.3))
        >>> bool(found), bool(found.residuals["tool"].max() < 1e-5)
        (True, True)
        >>> bool(eq.solve_ik(arm, {"tool": [9.0, 0.0, 0.0]}, np.full(7, 0.3)))
        False
    """

    q: Array
    converged: Array
    residuals: Mapping[str, Array]
    penetration: Array
    reasons: Array
    iterations: int

    @property
    def reason(self) -> str:
        """How it ended: of one problem its reason, of a batch a count and the reason of the worst."""
        reasons = self.reasons.reshape(-1)
        if len(reasons) == 1 or bool(self):
            return str(reasons[0]) if len(reasons) == 1 else f"all {len(reasons)} converged"
        missed = self.penetration + sum(miss.sum(axis=-1) for miss in self.residuals.values())
        worst = int(np.argmax(np.where(self.converged, -1.0, missed)))
        count = f"{int((~self.converged).sum())} of {len(reasons)} did not converge"
        return f"{count}; the worst, number {worst}: {reasons[worst]}"

    def __bool__(self) -> bool:
        return bool(np.all(self.converged))

    def __repr__(self) -> str:
        worst = ", ".join(f"{name} {value.max(initial=0.0):.1e}" for name, value in self.residuals.items())
        return f"<IKSolution: {self.reason}; misses: {worst}>"


def solve_ik(
    robot: Robot,
    targets: Mapping[str, ArrayLike],
    q0: ArrayLike | None = None,
    *,
    locked: Sequence[str] = (),
    base: bool = True,
    weights: Mapping[str, float] | None = None,
    priorities: Mapping[str, int] | None = None,
    floor: float | None = None,
    self_collision: bool = False,
    tolerance: float | tuple[float, float] = 1e-6,
    attempts: int = 8,
    iterations: int = 100,
    seed: int = 0,
) -> IKSolution:
    """A configuration in which frames have given poses, within the joint limits.

    Args:
        robot: any; a floating base moves too, unless `base` is False.
        targets: frame → pose in the world, (…, 4, 4), or place of its origin, (…, 3), m. A role of `eq.Body`, such as
            "left hand", stands for the frame of that part; "com" is the centre of mass. NaN in a place leaves a
            coordinate free.
        q0: where to begin, (…, nq): what is found is near it. `robot.standing()` if None. Its leading dimensions and
            those of the targets make the batch.
        locked: joints that stay where q0 has them.
        base: whether a floating base may move.
        weights: by target, of its residuals where not all targets can be met; 1 if not given.
        priorities: by target; those of lower numbers are met first, whatever that costs the others; 0 if not given.
            Without any, feet that are named by their roles come before all other targets.
        floor: m, height of a floor that no link may enter, as far as its capsules tell; deeper than they are when the
            robot stands on it, since capsules of feet are rounder than soles. None for no floor.
        self_collision: whether links may not enter each other, as far as the capsules of `self_collision_pairs` tell.
        tolerance: m and rad, or one number for both, within which a target counts as met.
        attempts: starts tried for each problem; the first from q0, the others from random joints.
        iterations: of each start.
        seed: of the random joints.

    Returns:
        Configuration, residuals and the reason, as an `IKSolution`; true in a condition if everything converged.

    Raises:
        UnknownNameError: a frame, role or joint that the robot does not have; a weight or priority of no target.
        ShapeError: a target that is neither a pose nor a place, or q0 of the wrong size.
        StateError: a target that is not finite or not a rigid motion; a weight, height or tolerance out of range.
    """
    allowed = np.full(2, tolerance) if np.ndim(tolerance) == 0 else np.asarray(tolerance, dtype=float)
    if allowed.shape != (2,) or not (np.isfinite(allowed) & (allowed > 0)).all():
        raise StateError(f"solve_ik: tolerance is a positive number, or two (m, rad); got {tolerance!r}")
    problem = _IKProblem.of(robot, targets, q0, locked, base).prepared(weights, priorities, floor, self_collision)
    q, cost = problem.start, np.full(len(problem.start), np.inf)
    rng, steps = np.random.default_rng(seed), 0
    for attempt in range(max(1, attempts)):
        left = np.flatnonzero(~problem.converged(q, allowed))
        if attempt and not len(left):
            break
        part = problem.only(left) if attempt else problem
        begin = part.scattered(rng) if attempt else part.start
        found, reached, taken = part.descended(begin, iterations)
        chosen = left if attempt else np.arange(len(q))
        better = reached < cost[chosen]
        q[chosen[better]], cost[chosen[better]] = found[better], reached[better]
        steps += taken
    return problem.solution(q, allowed, steps)


@dataclass(frozen=True, eq=False)
class _IKProblem:
    """All problems of a batch, one below the other: (N, …)."""

    robot: Robot
    names: Mapping[str, str]  # what the user called it → frame
    wanted: Mapping[str, Array]  # (N, 4, 4) or (N, 3)
    start: Array  # (N, nq)
    shape: tuple[int, ...]  # of the batch
    bounds: PositionBounds
    at: Array  # (nv,): where the position of each velocity is in q; −1 for the base and joints with several coordinates
    feet: Mapping[str, object] = field(default_factory=dict)  # by role; only those of a body that was asked for
    weights: Mapping[str, float] = field(default_factory=dict)  # by target
    ranks: Mapping[str, int] = field(default_factory=dict)  # by target: 0 first
    clearance: Clearance | None = None  # before all targets

    @classmethod
    def of(
        cls, robot: Robot, targets: Mapping[str, ArrayLike], q0: ArrayLike | None, locked: Sequence[str], base: bool
    ) -> _IKProblem:
        if not targets:
            raise ShapeError("solve_ik: give at least one target, a frame with its pose or place")
        robot, names, feet = _frames(robot, targets)
        wanted = {name: _target(name, value) for name, value in targets.items()}
        q = np.asarray(robot.standing() if q0 is None else q0, dtype=float)
        if q.shape[-1:] != (robot.nq,) or not np.isfinite(q).all():
            raise ShapeError(f"solve_ik: q0 is finite and of shape (…, {robot.nq}), got {q.shape}")
        inner = {name: 2 if value.shape[-2:] == (4, 4) else 1 for name, value in wanted.items()}
        shape = np.broadcast_shapes(q.shape[:-1], *(x.shape[: -inner[name]] for name, x in wanted.items()))
        count = int(np.prod(shape, dtype=int))
        flat = {
            n: np.broadcast_to(x, (*shape, *x.shape[-inner[n] :])).reshape(count, *x.shape[-inner[n] :])
            for n, x in wanted.items()
        }
        start = np.array(np.broadcast_to(q, (*shape, robot.nq))).reshape(count, robot.nq)
        bounds = PositionBounds.of(robot, _free(robot, locked, base))
        return cls(robot, names, flat, start, shape, bounds, positions(robot), feet)

    def prepared(
        self,
        weights: Mapping[str, float] | None,
        priorities: Mapping[str, int] | None,
        floor: float | None,
        self_collision: bool,
    ) -> _IKProblem:
        """With what comes before what; arguments as of `solve_ik`."""
        for name in (*(weights or ()), *(priorities or ())):
            if name not in self.wanted:
                raise unknown_name("target of solve_ik", name, self.wanted)
        for name, weight in (weights or {}).items():
            if not (np.isfinite(weight) and weight > 0):
                raise StateError(f"solve_ik: the weight of {name!r} is a positive number, got {weight!r}")
        if floor is not None and not np.isfinite(floor):
            raise StateError(f"solve_ik: floor is a height in m or None, got {floor!r}")
        given = {name: int(name not in self.feet) for name in self.wanted} if priorities is None else priorities
        order = sorted({given.get(name, 0) for name in self.wanted})
        ranks = {name: order.index(given.get(name, 0)) for name in self.wanted}
        clearance = _clearance(self.robot, floor, self_collision)
        return replace(self, weights=weights or {}, ranks=ranks, clearance=clearance)

    def only(self, rows: Array) -> _IKProblem:
        """Some of the problems."""
        wanted = {name: value[rows] for name, value in self.wanted.items()}
        return replace(self, wanted=wanted, start=self.start[rows], shape=(len(rows),))

    # --- what is wrong ------------------------------------------------------------------------------------------------

    def errors(self, q: Array) -> dict[str, Array]:
        """By target, (N, 6) or (N, 3): place and rotation from where it is wanted, world axes; 0 where it is free."""
        found = {}
        for name, wanted in self.wanted.items():
            if self.names[name] == COM:
                found[name] = np.where(np.isnan(wanted), 0.0, self.robot.com(q) - wanted)
                continue
            X = self.robot.pose(q, self.names[name])
            if wanted.ndim == 2:
                found[name] = np.where(np.isnan(wanted), 0.0, X[:, :3, 3] - wanted)
                continue
            turn = X[:, :3, :3] @ np.swapaxes(wanted[:, :3, :3], 1, 2)
            angle = np.stack(log(tuple(np.moveaxis(from_rotation(turn), -1, 0))), axis=-1)
            found[name] = np.concatenate([X[:, :3, 3] - wanted[:, :3, 3], angle], axis=1)
        return found

    def rows(self, q: Array, last: int | None = None) -> tuple[Array, Array]:
        """(residuals (N, m), Jacobian (N, m, nv)) of the priorities up to the last one; a rotation's Jacobian is that
        of a small one, exact where it is met."""
        residuals, jacobians = [], []
        least = max(self.ranks.values(), default=0) if last is None else last
        if self.clearance is not None:
            weight = EARLIER ** (least + 1)
            r, J = self.clearance.rows(q)
            residuals, jacobians = [weight * r], [weight * J]
        for name, error in self.errors(q).items():
            if self.ranks.get(name, 0) > least:
                continue
            com = self.names[name] == COM
            J = self.robot.com_jacobian(q) if com else self.robot.jacobian(q, self.names[name])[:, : error.shape[1]]
            if error.shape[1] == 3:
                J = np.where(np.isnan(self.wanted[name])[:, :, None], 0.0, J)
            weight = self.weights.get(name, 1.0) * EARLIER ** (least - self.ranks.get(name, 0))
            residuals.append(weight * error)
            jacobians.append(weight * J)
        return np.concatenate(residuals, axis=1), np.concatenate(jacobians, axis=1)

    def converged(self, q: Array, tolerance: Array) -> Array:
        """(N,) of bool."""
        met = [np.all(m <= tolerance[: m.shape[1]], axis=1) for m in self.misses(q).values()]
        return np.all([*met, self.depths(q).max(axis=1) <= tolerance[0]], axis=0)

    @property
    def one_sided(self) -> int:
        """Number of rows that count where they are positive."""
        return 0 if self.clearance is None else self.clearance.count

    def depths(self, q: Array) -> Array:
        """m, (N, pairs), of links in each other or in the floor; zero for one pair where nobody asked."""
        return np.zeros((len(q), 1)) if self.clearance is None else self.clearance.depths(q)

    def misses(self, q: Array) -> dict[str, Array]:
        """By target, (N, 2) in m and rad, or (N, 1) in m."""
        return {
            name: np.stack([np.linalg.norm(error[:, k : k + 3], axis=1) for k in range(0, error.shape[1], 3)], axis=1)
            for name, error in self.errors(q).items()
        }

    # --- descent ------------------------------------------------------------------------------------------------------

    def descended(self, q: Array, iterations: int) -> tuple[Array, Array, int]:
        """(q, sum of squares (N,), steps): from a start down to where no step helps, then by fewer priorities."""
        q, cost, steps = self._descended(q, self.rows, iterations)
        for last in reversed(range(-int(self.clearance is not None), max(self.ranks.values(), default=0))):
            q, _, taken = self._descended(q, partial(self.rows, last=last), iterations)
            cost, steps = cost_of(self.rows(q)[0], self.one_sided), steps + taken
        return q, cost, steps

    def _descended(self, q: Array, rows: BatchedRows, iterations: int) -> tuple[Array, Array, int]:
        q, taken = self.bounds.clipped(q, self.at, every=False), 0
        cost = earlier = np.full(len(q), np.inf)
        alike = not self.one_sided and max(self.ranks.values(), default=0) == 0
        steps = descent(q, rows, self.robot.integrate, self.bounds, self.at, self.one_sided, alike)
        for taken, now in enumerate(islice(steps, iterations), 1):
            q, cost = now.q, now.cost
            if (cost < 1e-26).all():
                break
            if taken % PATIENCE == 1:
                if (cost > (1 - SETTLED) * earlier).all():
                    break
                earlier = cost
        return q, cost, taken

    def scattered(self, rng: np.random.Generator) -> Array:
        """The starts with random joints, within their bounds or half a turn."""
        q, single = self.start.copy(), (self.at >= 0) & self.bounds.free
        low, high = np.maximum(self.bounds.lower[single], -np.pi), np.minimum(self.bounds.upper[single], np.pi)
        q[:, self.at[single]] = rng.uniform(low, np.maximum(low, high), (len(q), int(single.sum())))
        return q

    # --- the answer ---------------------------------------------------------------------------------------------------

    def solution(self, q: Array, tolerance: Array, steps: int) -> IKSolution:
        """The answer, with a reason for each problem."""
        misses, good, depths = self.misses(q), self.converged(q, tolerance), self.depths(q)
        residuals = {name: frozen(miss.reshape(*self.shape, -1)) for name, miss in misses.items()}
        reasons = np.full(len(q), "converged", dtype=object)
        for k in np.flatnonzero(~good):
            reasons[k] = self._reason(q[k], {name: miss[k] for name, miss in misses.items()}, depths[k], tolerance)
        return IKSolution(
            frozen(q.reshape(*self.shape, self.robot.nq)), good.reshape(self.shape), residuals,
            frozen(depths.max(axis=1).reshape(self.shape)), reasons.reshape(self.shape), steps,
        )  # fmt: skip

    def _reason(self, q: Array, misses: Mapping[str, Array], depths: Array, tolerance: Array) -> str:
        """Why one problem did not converge."""
        words = []
        for name, miss in misses.items():
            parts = [f"{x:.3g} {unit}" for x, unit, t in zip(miss, ("m", "rad"), tolerance, strict=False) if not x <= t]
            if parts:
                words.append(f"{name!r} is missed by {' and '.join(parts)}")
        if self.clearance is not None and not depths.max() <= tolerance[0]:
            words.append(self.clearance.words(depths))
        x = np.where(self.at >= 0, q[self.at], np.nan)
        ends = (np.abs(x - self.bounds.lower) < 1e-6) | (np.abs(x - self.bounds.upper) < 1e-6)
        joints = [n for n, j in self.robot.joints.items() if j.mimic is None and ends[j.v].any()]
        return "; ".join([*words, *([f"at the end of their range: {', '.join(joints)}"] if joints else [])])


def _clearance(robot: Robot, floor: float | None, self_collision: bool) -> Clearance | None:
    """What keeps links out of each other and of the floor; None where nobody asked."""
    if floor is None and not self_collision:
        return None
    from ..geometry.collisions import self_collision_pairs
    from .body import Body
    from .clearance import Clearance
    from .profile import BodyError

    try:
        body = Body.of(robot)
    except BodyError:  # no limbs: no feet to stand on
        return Clearance.of(robot, robot.standing(), floor, self_collision_pairs(robot) if self_collision else ())
    standing = body.standing.copy()
    if robot.floating:
        standing[2] += floor or 0.0
    return Clearance.of(robot, standing, floor, body.collision_pairs() if self_collision else ())


def _frames(robot: Robot, targets: Mapping[str, ArrayLike]) -> tuple[Robot, dict[str, str], Mapping[str, object]]:
    """The robot with the frames of its body's parts where they are asked for, the frame of each target, and feet."""
    unknown = [name for name in targets if name not in robot.frames and name != COM]
    roles: Mapping[str, str] = {}
    feet: Mapping[str, object] = {}
    if unknown:
        from .body import Body
        from .profile import BodyError

        try:
            body = Body.of(robot)
        except BodyError:  # no limbs: then no roles either
            raise unknown_name("frame", unknown[0], robot.frames) from None
        robot, roles, feet = body.robot, body.frames, body.feet
    for name in unknown:
        if name not in roles:
            raise unknown_name("frame or part of the body", name, [*roles, *robot.frames])
    return robot, {name: roles.get(name, name) if name in unknown else name for name in targets}, feet


def _target(name: str, value: ArrayLike) -> Array:
    target = np.asarray(value, dtype=float)
    if target.shape[-2:] == (4, 4) and name != COM:
        R = target[..., :3, :3]
        proper = np.allclose(R @ np.swapaxes(R, -1, -2), np.eye(3), atol=1e-6) and (np.linalg.det(R) > 0).all()
        if not np.isfinite(target).all() or not proper:
            raise StateError(f"solve_ik: the target of {name!r} is not a rigid motion (a rotation and a finite place)")
        return target
    if target.ndim < 1 or target.shape[-1] != 3:
        wanted = "a place, (…, 3)" if name == COM else "a pose, (…, 4, 4), or a place, (…, 3)"
        raise ShapeError(f"solve_ik: the target of {name!r} is {wanted}; got shape {target.shape}")
    if np.isinf(target).any() or np.isnan(target).all():
        raise StateError(f"solve_ik: the place of {name!r} is finite, or NaN where it is free; got {target}")
    return target


def _free(robot: Robot, locked: Sequence[str], base: bool) -> Array:
    """(nv,): which velocities may be used."""
    free = np.ones(robot.nv, dtype=bool)
    for name in locked:
        if name not in robot.joints:
            raise unknown_name("joint", name, robot.joints)
        free[robot.joints[name].v] = False
    if robot.floating and not base:
        free[:6] = False
    return free
