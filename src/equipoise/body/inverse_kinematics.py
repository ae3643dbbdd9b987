"""`eq.solve_ik`: a configuration in which frames are where they are wanted, within the joint limits; one problem or
thousands.

    minimise  Σ ‖w (p_F(q) − p)‖² + ‖w log(R_F(q) Rᵀ)‖²     subject to  lower ≤ q ≤ upper

by the descent of `least_squares`, all problems of a batch at once on the batched kernels. What has not converged starts
again from random joints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..algebra.quaternions import from_rotation, log
from ..errors import ShapeError, StateError, unknown_name
from ..model.types import frozen
from .least_squares import PositionBounds, descent, positions

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
COM = "com"
SETTLED = 1e-3  # part by which the cost must fall within `PATIENCE` steps, else the problem has settled where it is
PATIENCE = 12


@dataclass(frozen=True, eq=False)
class IKSolution:
    """What `solve_ik` found. Leading dimensions (…) are those of the problem; none for one configuration.

    Attributes:
        q: configuration, (…, nq); where it did not converge, the nearest one that was found.
        converged: whether every target is met within the tolerance, (…) of bool.
        residuals: by target, how far it is missed: (…, 2) in (m, rad) for poses, (…, 1) in m for places.
        reason: in words: how it ended, what is missed and which joints are at the end of their range.
        iterations: steps that were taken, of the whole batch.
    """

    q: Array
    converged: Array
    residuals: Mapping[str, Array]
    reason: str
    iterations: int

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
    tolerance: float = 1e-6,
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
        tolerance: m and rad, within which a target counts as met.
        attempts: starts tried for each problem; the first from q0, the others from random joints.
        iterations: of each start.
        seed: of the random joints.

    Returns:
        Configuration, residuals and the reason, as an `IKSolution`; true in a condition if everything converged.

    Raises:
        UnknownNameError: a frame, role or joint that the robot does not have.
        ShapeError: a target that is neither a pose nor a place, or q0 of the wrong size.
        StateError: a target that is not finite or not a rigid motion.
    """
    problem = _IKProblem.of(robot, targets, q0, locked, base)
    q, cost = problem.start, np.full(len(problem.start), np.inf)
    rng, steps = np.random.default_rng(seed), 0
    for attempt in range(max(1, attempts)):
        left = np.flatnonzero(~problem.converged(q, tolerance))
        if attempt and not len(left):
            break
        part = problem.only(left) if attempt else problem
        begin = part.scattered(rng) if attempt else part.start
        found, reached, taken = part.descended(begin, iterations)
        chosen = left if attempt else np.arange(len(q))
        better = reached < cost[chosen]
        q[chosen[better]], cost[chosen[better]] = found[better], reached[better]
        steps += taken
    return problem.solution(q, tolerance, steps)


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

    @classmethod
    def of(
        cls, robot: Robot, targets: Mapping[str, ArrayLike], q0: ArrayLike | None, locked: Sequence[str], base: bool
    ) -> _IKProblem:
        if not targets:
            raise ShapeError("solve_ik: give at least one target, a frame with its pose or place")
        robot, names = _frames(robot, targets)
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
        return cls(robot, names, flat, start, shape, bounds, positions(robot))

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
                found[name] = np.nan_to_num(self.robot.com(q) - wanted)
                continue
            X = self.robot.pose(q, self.names[name])
            if wanted.ndim == 2:
                found[name] = np.nan_to_num(X[:, :3, 3] - wanted)
                continue
            turn = X[:, :3, :3] @ np.swapaxes(wanted[:, :3, :3], 1, 2)
            angle = np.stack(log(tuple(np.moveaxis(from_rotation(turn), -1, 0))), axis=-1)
            found[name] = np.concatenate([X[:, :3, 3] - wanted[:, :3, 3], angle], axis=1)
        return found

    def rows(self, q: Array) -> tuple[Array, Array]:
        """(residuals (N, m), Jacobian (N, m, nv)); a rotation's Jacobian is that of a small one, exact where it is
        met."""
        residuals, jacobians = [], []
        for name, error in self.errors(q).items():
            com = self.names[name] == COM
            J = self.robot.com_jacobian(q) if com else self.robot.jacobian(q, self.names[name])[:, : error.shape[1]]
            if error.shape[1] == 3:
                J = np.where(np.isnan(self.wanted[name])[:, :, None], 0.0, J)
            residuals.append(error)
            jacobians.append(J)
        return np.concatenate(residuals, axis=1), np.concatenate(jacobians, axis=1)

    def converged(self, q: Array, tolerance: float) -> Array:
        """(N,) of bool."""
        return np.all([np.all(m <= tolerance, axis=1) for m in self.misses(q).values()], axis=0)

    def misses(self, q: Array) -> dict[str, Array]:
        """By target, (N, 2) in m and rad, or (N, 1) in m."""
        return {
            name: np.stack([np.linalg.norm(error[:, k : k + 3], axis=1) for k in range(0, error.shape[1], 3)], axis=1)
            for name, error in self.errors(q).items()
        }

    # --- descent ------------------------------------------------------------------------------------------------------

    def descended(self, q: Array, iterations: int) -> tuple[Array, Array, int]:
        """(q, sum of squares (N,), steps): from a start down to where no step helps."""
        q, taken = self.bounds.clipped(q, self.at, every=False), 0
        cost = earlier = np.full(len(q), np.inf)
        for taken, now in enumerate(
            islice(descent(q, self.rows, self.robot.integrate, self.bounds, self.at), iterations), 1
        ):
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

    def solution(self, q: Array, tolerance: float, steps: int) -> IKSolution:
        misses, good = self.misses(q), self.converged(q, tolerance)
        residuals = {name: frozen(miss.reshape(*self.shape, -1)) for name, miss in misses.items()}
        found = frozen(q.reshape(*self.shape, self.robot.nq))
        return IKSolution(found, good.reshape(self.shape), residuals, self._reason(q, misses, good, tolerance), steps)

    def _reason(self, q: Array, misses: Mapping[str, Array], good: Array, tolerance: float) -> str:
        if good.all():
            return "converged" if len(good) == 1 else f"all {len(good)} converged"
        worst = int(np.argmax([sum(float(miss[k].sum()) for miss in misses.values()) for k in range(len(q))]))
        words = []
        for name, miss in misses.items():
            parts = [f"{x:.3g} {unit}" for x, unit in zip(miss[worst], ("m", "rad"), strict=False) if x > tolerance]
            if parts:
                words.append(f"{name!r} is missed by {' and '.join(parts)}")
        x = np.where(self.at >= 0, q[worst][self.at], np.nan)
        ends = (np.abs(x - self.bounds.lower) < 1e-6) | (np.abs(x - self.bounds.upper) < 1e-6)
        joints = [n for n, j in self.robot.joints.items() if j.mimic is None and ends[j.v].any()]
        count = "" if len(good) == 1 else f"{int((~good).sum())} of {len(good)} did not converge; the worst: "
        at_ends = f"; at the end of their range: {', '.join(joints)}" if joints else ""
        return f"{count}{'; '.join(words)}{at_ends}"


def _frames(robot: Robot, targets: Mapping[str, ArrayLike]) -> tuple[Robot, dict[str, str]]:
    """The robot with the frames of its body's parts where they are asked for, and the frame of each target."""
    unknown = [name for name in targets if name not in robot.frames and name != COM]
    roles: Mapping[str, str] = {}
    if unknown:
        from .body import Body
        from .profile import BodyError

        try:
            body = Body.of(robot)
        except BodyError:  # no limbs: then no roles either
            raise unknown_name("frame", unknown[0], robot.frames) from None
        robot, roles = body.robot, body.frames
    for name in unknown:
        if name not in roles:
            raise unknown_name("frame or part of the body", name, [*roles, *robot.frames])
    return robot, {name: roles.get(name, name) if name in unknown else name for name in targets}


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
