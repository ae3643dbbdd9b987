"""Static postures: a configuration with given contacts in which the robot rests, and the forces that hold it.

Unknown are the configuration q and forces λ ≥ 0 along the edges of the friction pyramids at the corners of all contacts. In

    g(q) − Σ J_p(q)ᵀ f_p(λ) = (0, τ)

the base rows must vanish and the joint rows are the motors' torques, within their limits. Contacts, targets, joint limits and
distances are rows of the same problem. Each step solves it to first order within a trust region: first with the wanted posture
and light torques as a faint preference, then the rows alone, to rounding. A step counts only if the rows themselves, or near a
solution the preference, get better. [BK12, Sec. VI] takes such postures as its input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...algebra.rigid import is_pose
from ...errors import ShapeError, unknown_name
from ...geometry.distances import DistanceKernel, distances_kernel
from ...geometry.pairs import PairSet
from ...geometry.primitives import Plane
from ...model.types import frozen
from ..constraints import JointLimits, KeepOut, SelfCollision, TorqueLimits
from ..contacts import Contact, FlatContact, PointContact, axes_from_normal
from ..qp import DaqpSolver, QuadraticProgram
from ..tasks import TaskError

if TYPE_CHECKING:
    from ...robot import Robot

Array = np.ndarray
DIFFERENCE = 1e-7  # rad and m: step of difference quotients, which only serve to find the way
CONVERGED = 1e-9  # of the scaled rows
NEAR = 1e-3  # of the scaled rows: as near as steps towards the wanted posture stay
RADIUS = 0.5  # rad and m: the first trust region
HEAVY = 1e4  # weight of the rows beside what is preferred
NEARBY = 1e-3  # of staying where it is
PROXIMAL = 1e-9  # the same where only the rows count
SMALL = 1e-2  # of forces (in weights)
LIGHT = 0.1  # weight of torques (in parts of their limits) beside joints (rad) in what is preferred


@dataclass(frozen=True, eq=False)
class PostureResult:
    """What `find_posture` found. Where it did not converge, q is the best attempt and `reason` says what is wrong with it."""

    q: Array
    converged: bool
    residuals: Mapping[str, float]  # by kind: contacts and targets (m, rad), balance (N, N m), and how far beyond limits
    torques: Array  # (nv,) N m, the base part zero
    forces: Mapping[str, Array]  # wrench (force, torque) on each contact's frame, world axes
    reason: str
    attempts: int

    def __bool__(self) -> bool:
        return self.converged


def find_posture(
    robot: Robot,
    contacts_at: Mapping[Contact, Any],
    targets: Mapping[str, Any] | None = None,
    *,
    com: Any = None,
    posture: Any = None,
    start: Array | None = None,
    constraints: Sequence[Any] = (),
    support: float = 0.8,
    strength: float = 0.9,
    attempts: int = 6,
    iterations: int = 60,
    seed: int = 0,
) -> PostureResult:
    """A configuration at rest on given contacts.

    Args:
        contacts_at: each contact with the pose (4×4) of its frame in the world, a place (3 numbers) for a point contact, a
            `Plane` on which it may be anywhere, or None: where it is at `start`.
        targets: frames with poses (4×4) or places (3 numbers) that they must have.
        com: where the centre of mass must be, three numbers; NaN leaves a coordinate free.
        posture: wanted joints: q, or a mapping from joints to positions, the others as in `robot.standing()`. What is found is
            the nearest one that holds.
        start: q to begin with; by default the wanted posture, brought to the contacts as a rigid body.
        constraints: KeepOut, KeepIn and SelfCollision are heeded; TorqueLimits and JointLimits overrule the robot's.
        support: part of each contact's size that forces may use, from its middle: how far from tipping the posture is.
        strength: part of the torque limits that may be used.
        attempts: starts tried; from the third on with random joints.
        iterations: of each start.
        seed: of the random joints.
    """
    problem = _Problem.of(robot, contacts_at, targets, com, posture, start, constraints, support, strength)
    best: _Point | None = None
    tried = 0
    for q in problem.starts(attempts, seed):
        tried += 1
        found = problem.solved(q, iterations)
        if best is None or found.violation < best.violation:
            best = found
        if best.violation <= CONVERGED:
            break
    if best is None:
        raise TaskError(f"attempts must be one or more, got {attempts!r}")
    return problem.result(best, tried)


@dataclass(frozen=True, eq=False)
class _Touch:
    """A contact as this problem sees it."""

    contact: Contact
    where: Any  # pose, place or Plane
    points: Array  # (k, 3) in the frame
    normal: Array  # of the contact in the frame
    edges: Array  # (e, 3) world axes, unit normal force

    @property
    def count(self) -> int:
        """Unknown forces."""
        return len(self.points) * len(self.edges)

    @property
    def frame(self) -> str:
        return self.contact.frame


@dataclass(frozen=True, eq=False)
class _Point:
    """A configuration with forces, and the rows there: lower ≤ rows ≤ upper."""

    q: Array
    forces: Array
    violation: float
    preference: float
    kinds: tuple[tuple[str, float], ...]  # the largest violation of each kind of row, in its own units


@dataclass(frozen=True, eq=False)
class _Problem:
    robot: Robot
    touches: tuple[_Touch, ...]
    targets: Mapping[str, Array]
    com: Array
    wanted: Array
    start: Array | None
    effort: Array  # (nv,), infinite for the base
    lower: Array  # (nv,) of joint positions
    upper: Array
    pairs: tuple[tuple[PairSet, float], ...]
    distances: DistanceKernel | None
    bounds: Array  # of those distances
    signs: Array
    names: tuple[str, ...]  # of the distances
    solver: DaqpSolver = field(default_factory=DaqpSolver)

    # --- what is given --------------------------------------------------------------------------------------------------

    @classmethod
    def of(
        cls, robot: Robot, contacts_at: Mapping[Contact, Any], targets: Any, com: Any, posture: Any, start: Any,
        constraints: Sequence[Any], support: float, strength: float,
    ) -> _Problem:  # fmt: skip
        wanted = _wanted(robot, posture)
        if not (0 < support <= 1 and 0 < strength <= 1):
            raise TaskError(f"support and strength are parts, above 0 and up to 1; got {support!r} and {strength!r}")
        here = wanted if start is None else np.asarray(start, dtype=float)
        touches = tuple(_touch(robot, contact, where, here, support) for contact, where in contacts_at.items())
        limits = next((c for c in constraints if isinstance(c, JointLimits)), JointLimits())
        torque = next((c for c in constraints if isinstance(c, TorqueLimits)), TorqueLimits())
        lower, upper = (_all(robot, x, far) for x, far in zip(limits.limits(robot, 1e-3)[:2], (-np.inf, np.inf), strict=True))
        apart = [c for c in constraints if isinstance(c, KeepOut)]
        measured = [c.measured() for c in apart]
        bounds = np.array([c.safe**2 if d.squared else c.safe for c, d in zip(apart, measured, strict=True)])
        return cls(
            robot, touches, _targets(robot, targets), _three(com), wanted, None if start is None else here,
            strength * _all(robot, torque.largest(robot), np.inf), lower, upper,
            tuple((_pairs(robot, c), c.safe) for c in constraints if isinstance(c, SelfCollision)),
            distances_kernel(robot, measured) if measured else None,
            bounds, np.array([-1.0 if c.inside else 1.0 for c in apart]), tuple(c.label for c in apart),
        )  # fmt: skip

    @property
    def weight(self) -> float:
        """N."""
        return float(self.robot.mass * np.linalg.norm(self.robot.model.gravity))

    @cached_property
    def first(self) -> int:
        return 6 if self.robot.floating else 0

    @cached_property
    def joint_positions(self) -> tuple[Array, Array]:
        """(places in v, places in q) of the joints that have limits."""
        joints = [j for j in self.robot.joints.values() if j.mimic is None and j.type.nq == 1]
        return np.array([j.v.start for j in joints]), np.array([j.q.start for j in joints])

    @property
    def unknown_forces(self) -> int:
        return sum(touch.count for touch in self.touches)

    # --- starts ---------------------------------------------------------------------------------------------------------

    def starts(self, attempts: int, seed: int) -> Iterator[Array]:
        """The given start, the wanted posture brought to the contacts, then random joints around it."""
        rng = np.random.default_rng(seed)
        q = self.wanted if self.start is None else self.start
        for k in range(attempts):
            if k == 0 and self.start is not None:
                yield self._within(q)
                continue
            joints = self.wanted.copy()
            if k > 1:
                in_q = self.joint_positions[1]
                joints[in_q] += 0.15 * k * rng.normal(size=len(in_q))
            yield self._placed(self._within(joints))

    def _within(self, q: Array) -> Array:
        in_v, in_q = self.joint_positions
        q = q.copy()
        q[in_q] = np.clip(q[in_q], self.lower[in_v], self.upper[in_v])
        return q

    def _placed(self, q: Array) -> Array:
        """The base where the contacts, taken as one rigid body, fit their places best."""
        if not self.robot.floating or not self.touches:
            return q
        from ...algebra.quaternions import from_rotation

        pairs = [_places(self.robot.pose(q, touch.frame), touch) for touch in self.touches]
        now, then = (np.concatenate(side) for side in zip(*pairs, strict=True))
        R = _fit(now - now.mean(0), then - then.mean(0))
        X = self.robot.pose(q, str(self.robot.base_link))
        q = q.copy()
        q[:3] = R @ (X[:3, 3] - now.mean(0)) + then.mean(0)
        q[3:7] = from_rotation(R @ X[:3, :3])
        return q

    # --- rows -----------------------------------------------------------------------------------------------------------

    def static(self, q: Array, forces: Array) -> Array:
        """g − Σ Jᵀ F at configurations (…, nq), (…, nv)."""
        total = self.robot.gravity(q).copy()
        for touch, part in self._split(forces):
            X, J = self.robot.pose(q, touch.frame), self.robot.jacobian(q, touch.frame)
            f = part.reshape(len(touch.points), -1) @ touch.edges
            arms = np.einsum("...ij,kj->...ki", X[..., :3, :3], touch.points)
            F = np.concatenate(np.broadcast_arrays(f.sum(0), np.cross(arms, f).sum(-2)), axis=-1) * self.weight
            total -= np.einsum("...ij,...i->...j", J, F)
        return total

    def _split(self, forces: Array) -> Iterator[tuple[_Touch, Array]]:
        at = 0
        for touch in self.touches:
            yield touch, forces[at : at + touch.count]
            at += touch.count

    def force_columns(self, q: Array) -> Array:
        """−Σ Jᵀ F per unit of each force, (nv, forces)."""
        columns = []
        for touch in self.touches:
            X, J = self.robot.pose(q, touch.frame), self.robot.jacobian(q, touch.frame)
            arms = np.repeat(touch.points @ X[:3, :3].T, len(touch.edges), axis=0)
            f = np.tile(touch.edges, (len(touch.points), 1))
            columns.append(-self.weight * J.T @ np.concatenate([f, np.cross(arms, f)], axis=1).T)
        return np.concatenate([np.zeros((self.robot.nv, 0)), *columns], axis=1)

    def geometry(self, q: Array) -> list[tuple[str, Array, Array]]:
        """(kind, error, Jacobian) of contacts and targets: J δ should become error."""
        rows = [_contact_rows(self.robot, touch, q) for touch in self.touches]
        for frame, target in self.targets.items():
            X, J = self.robot.pose(q, frame), self.robot.jacobian(q, frame)
            if target.shape == (3,):
                rows.append((f"{frame} at its target", target - X[:3, 3], J[:3]))
            else:
                error = np.concatenate([target[:3, 3] - X[:3, 3], _turn(X[:3, :3], target[:3, :3])])
                rows.append((f"{frame} at its target", error, J))
        at = np.flatnonzero(np.isfinite(self.com))
        if len(at):
            rows.append(("centre of mass", (self.com - self.robot.com(q))[at], self.robot.com_jacobian(q)[at]))
        return rows

    def gaps(self, q: Array) -> list[tuple[str, Array, Array]]:
        """(kind, distance beyond what is safe, Jacobian)."""
        still, rows = np.zeros(self.robot.nv), []
        if self.distances is not None:
            d = self.distances(q, still)
            value, J = self.signs * (d.value - self.bounds), self.signs[:, None] * d.J
            rows += [(name, value[k : k + 1], J[k : k + 1]) for k, name in enumerate(self.names)]
        for pairs, safe in self.pairs:
            near = pairs(q, still)
            rows.append(("self-collision", near.value - safe, near.J))
        return rows

    def at(self, q: Array, forces: Array) -> _Point:
        """Measure a configuration with forces."""
        static = self.static(q, forces)
        kinds = [(name, float(np.abs(error).max())) for name, error, _ in self.geometry(q)]
        kinds += [(name, float(np.maximum(-gap, 0).max(initial=0.0))) for name, gap, _ in self.gaps(q)]
        used = np.abs(static[self.first :]) / self.effort[self.first :]
        balance = np.abs(static[: self.first]).max(initial=0.0)
        kinds += [("balance", float(balance)), ("torque limits", float(np.maximum(used - 1, 0).max()))]
        scaled = [value / self.weight if name == "balance" else value for name, value in kinds]
        light = np.where(np.isfinite(used), used, 0.0)
        away = self.robot.difference(self.wanted, q)[self.first :]
        return _Point(q, forces, max(scaled), float(away @ away + LIGHT * (light @ light)), tuple(kinds))

    # --- solving --------------------------------------------------------------------------------------------------------

    def solved(self, q: Array, iterations: int) -> _Point:
        """From a start to the nearest solution, or as near as it gets: with preferences, then the rows alone."""
        point = self.at(q, np.zeros(self.unknown_forces))
        for polishing in (False, True):
            point = self._descended(point, iterations // 2, polishing)
        return point

    def _descended(self, point: _Point, iterations: int, polishing: bool) -> _Point:
        radius = RADIUS
        for _ in range(iterations):
            if polishing and point.violation <= CONVERGED / 10:
                break
            delta, forces = self._step(point, radius, polishing)
            new = self.at(self._within(self.robot.integrate(point.q, delta)), forces)
            inside = new.violation <= NEAR and point.violation <= NEAR and not polishing
            better = new.preference < point.preference - 1e-6 if inside else new.violation < point.violation * (1 - 1e-3)
            if better:
                grown = np.abs(delta).max() > 0.9 * radius
                point, radius = new, min(2 * radius, 1.0) if grown else radius
            else:
                radius = min(radius, float(np.abs(delta).max())) / 4
            if radius < (1e-9 if polishing else 1e-4):
                break
        return point

    def _step(self, point: _Point, radius: float, polishing: bool) -> tuple[Array, Array]:
        """(change of configuration, new forces): equalities as least squares, inequalities as rows.

        Rows that hold now must hold to first order, which no step at all does too; rows that do not get a slack of their own.
        """
        nv, count, q = self.robot.nv, self.unknown_forces, point.q
        equal, error, rows, lower, upper = self._first_order(point)
        weight, near = (1.0, PROXIMAL) if polishing else (HEAVY, NEARBY)
        H = weight * equal.T @ equal + near * np.eye(nv + count)
        f = -weight * equal.T @ error
        f[nv:] -= near * point.forces
        if not polishing:
            A, b = self._preferred(q, rows[: len(self._limited)], upper[: len(self._limited)] - 1)
            H, f = H + A.T @ A, f - A.T @ b
        x_lower, x_upper, sums, least, most = self._hard(q, radius)
        now = rows[:, nv:] @ point.forces
        beyond = (now < lower - CONVERGED) | (now > upper + CONVERGED)
        broken = np.flatnonzero(beyond)
        slack, k = np.zeros((len(rows) + len(sums), len(broken))), len(broken)
        slack[broken, np.arange(k)] = 1.0
        free = np.full(k, np.inf)
        problem = QuadraticProgram(
            np.block([[H, np.zeros((len(H), k))], [np.zeros((k, len(H))), weight * np.eye(k)]]),
            np.concatenate([f, np.zeros(k)]),
            np.hstack([np.vstack([rows, sums]), slack]),
            np.concatenate([np.where(beyond, lower, np.minimum(lower, now)), least]),
            np.concatenate([np.where(beyond, upper, np.maximum(upper, now)), most]),
            np.concatenate([x_lower, -free]),
            np.concatenate([x_upper, free]),
        )
        answer = self.solver.solve(problem)
        if not np.isfinite(answer.x).all():
            return np.zeros(nv), point.forces
        return answer.x[:nv], np.maximum(answer.x[nv : nv + count], 0.0)

    def _first_order(self, point: _Point) -> tuple[Array, Array, Array, Array, Array]:
        """Equalities A x = b, then rows with bounds (torques in parts of their limits, distances), in x = (δ, λ)."""
        nv, count, q, first = self.robot.nv, self.unknown_forces, point.q, self.first
        geometry, gaps = self.geometry(q), self.gaps(q)
        static, slope = self._static_rows(q, point.forces)
        columns = self.force_columns(q)
        force_free = static - columns @ point.forces
        both, none = np.hstack([slope, columns]), np.zeros((0, nv))
        G = np.vstack([none, *(J for _, _, J in geometry)])
        D = np.vstack([none, *(J for _, _, J in gaps)])
        equal = np.vstack([np.hstack([G, np.zeros((len(G), count))]), both[:first] / self.weight])
        error = np.concatenate([*(e for _, e, _ in geometry), -force_free[:first] / self.weight])
        at, effort = self._limited, self.effort[self._limited]
        torque = force_free[at] / effort
        gap = np.concatenate([np.zeros(0), *(d for _, d, _ in gaps)])
        rows = np.vstack([both[at] / effort[:, None], np.hstack([D, np.zeros((len(D), count))])])
        lower = np.concatenate([-1 - torque, -gap])
        return equal, error, rows, lower, np.concatenate([1 - torque, np.full(len(gap), np.inf)])

    @cached_property
    def _limited(self) -> Array:
        """Places in v of torques with a limit."""
        return np.flatnonzero(np.isfinite(self.effort))

    def _static_rows(self, q: Array, forces: Array) -> tuple[Array, Array]:
        """g − Σ Jᵀ F and its derivative by q."""
        nv = self.robot.nv
        beside = self.robot.integrate(np.broadcast_to(q, (nv, len(q))).copy(), DIFFERENCE * np.eye(nv))
        here, there = self.static(q, forces), self.static(beside, forces)
        return here, (there - here).T / DIFFERENCE

    def _preferred(self, q: Array, torque_rows: Array, torque_room: Array) -> tuple[Array, Array]:
        """The wanted joints, light torques, small forces: A x near b."""
        nv, count, first = self.robot.nv, self.unknown_forces, self.first
        joints = np.hstack([np.eye(nv)[first:], np.zeros((nv - first, count))])
        away = self.robot.difference(q, self.wanted)[first:]
        light = np.sqrt(LIGHT)
        forces = SMALL * np.hstack([np.zeros((count, nv)), np.eye(count)])
        A = np.vstack([joints, light * torque_rows, forces])
        return A, np.concatenate([away, light * torque_room, np.zeros(count)])

    def _hard(self, q: Array, radius: float) -> tuple[Array, Array, Array, Array, Array]:
        """Bounds of x by joint limits and the trust region; forces push; rows of what each contact bears with their bounds."""
        nv, count = self.robot.nv, self.unknown_forces
        lower, upper = np.full(nv, -radius), np.full(nv, radius)
        in_v, in_q = self.joint_positions
        lower[in_v] = np.minimum(np.maximum(lower[in_v], self.lower[in_v] - q[in_q]), 0.0)
        upper[in_v] = np.maximum(np.minimum(upper[in_v], self.upper[in_v] - q[in_q]), 0.0)
        sums, least, most = self._normal_forces()
        rows = np.hstack([np.zeros((len(sums), nv)), sums])
        x_lower, x_upper = np.concatenate([lower, np.zeros(count)]), np.concatenate([upper, np.full(count, np.inf)])
        return x_lower, x_upper, rows, least, most

    def _normal_forces(self) -> tuple[Array, Array, Array]:
        """Rows that sum the normal force of each contact, in weights, and their bounds."""
        sums, at = np.zeros((len(self.touches), self.unknown_forces)), 0
        for row, touch in zip(sums, self.touches, strict=True):
            row[at : at + touch.count] = 1.0
            at += touch.count
        bounds = np.array([(touch.contact.min_force, touch.contact.max_force) for touch in self.touches]).reshape(-1, 2)
        return sums, bounds[:, 0] / self.weight, bounds[:, 1] / self.weight

    # --- the answer -----------------------------------------------------------------------------------------------------

    def result(self, point: _Point, attempts: int) -> PostureResult:
        forces, proven = self._best_forces(point.q)
        if proven:
            point = self.at(point.q, forces)
        static = self.static(point.q, point.forces)
        static[: self.first] = 0.0
        converged = point.violation <= 10 * CONVERGED
        reason = f"found after {attempts} attempt{'s' if attempts > 1 else ''}" if converged else self._why(point)
        wrenches = {touch.contact.label: self._wrench(touch, part, point.q) for touch, part in self._split(point.forces)}
        return PostureResult(frozen(point.q), converged, dict(point.kinds), frozen(static), wrenches, reason, attempts)

    def _best_forces(self, q: Array) -> tuple[Array, bool]:
        """With q fixed all is linear: the lightest torques, exactly in balance; and whether such forces exist."""
        count, first = self.unknown_forces, self.first
        if not count:
            return np.zeros(0), True
        g, columns = self.robot.gravity(q), self.force_columns(q)
        effort = np.where(np.isfinite(self.effort), self.effort, self.weight)[first:]
        T, t = columns[first:] / effort[:, None], g[first:] / effort
        sums, least, most = self._normal_forces()
        room = np.where(np.isfinite(self.effort[first:]), 1.0, np.inf)
        A = np.vstack([columns[:first] / self.weight, T, sums])
        lower = np.concatenate([-g[:first] / self.weight, -room - t, least])
        upper = np.concatenate([-g[:first] / self.weight, room - t, most])
        problem = QuadraticProgram(T.T @ T + 1e-4 * np.eye(count), T.T @ t, A, lower, upper, x_lower=np.zeros(count))
        result = self.solver.solve(problem)
        return np.maximum(result.x, 0.0), bool(result.solved)

    def _wrench(self, touch: _Touch, part: Array, q: Array) -> Array:
        f = self.weight * (part.reshape(len(touch.points), -1) @ touch.edges)
        arms = touch.points @ self.robot.pose(q, touch.frame)[:3, :3].T
        return np.concatenate([f.sum(0), np.cross(arms, f).sum(0)])

    def _why(self, point: _Point) -> str:
        """In words: what is not met, by how much, and which limits are in the way."""
        wrong = [(name, value) for name, value in point.kinds if value > 1e-6]
        words = []
        for name, value in wrong:
            if name == "balance":
                words.append(f"the forces do not balance the weight by {value:.3g} N or N m")
            elif name == "torque limits":
                words.append(f"torques are {100 * value:.3g} % above what is allowed ({self._strained(point)})")
            else:
                words.append(f"{name}: {value:.3g} m or rad away")
        ends = self._at_ends(point.q)
        told = f"; at the end of their range: {', '.join(ends)}" if ends else ""
        return f"no posture found: {'; '.join(words) or 'it did not converge'}{told}"

    def _strained(self, point: _Point) -> str:
        used = np.abs(self.static(point.q, point.forces)) / self.effort
        names = [name for name, j in self.robot.joints.items() if j.mimic is None and used[j.v].max(initial=0.0) > 0.999]
        return ", ".join(names)

    def _at_ends(self, q: Array) -> list[str]:
        joints = [(n, j) for n, j in self.robot.joints.items() if j.mimic is None and j.type.nq == 1]
        return [n for n, j in joints if min(q[j.q][0] - self.lower[j.v][0], self.upper[j.v][0] - q[j.q][0]) < 1e-6]


# --- parts of the problem ----------------------------------------------------------------------------------------------


def _wanted(robot: Robot, posture: Any) -> Array:
    q = robot.standing().copy()
    if posture is None:
        return q
    if isinstance(posture, Mapping):
        for name, position in posture.items():
            if name not in robot.joints:
                raise unknown_name("joint", name, robot.joints)
            q[robot.joints[name].q] = position
        return q
    given = np.asarray(posture, dtype=float)
    if given.shape != q.shape or not np.isfinite(given).all():
        raise ShapeError(f"posture must be q of shape {q.shape}, finite, or a mapping from joints; got shape {given.shape}")
    return given


def _touch(robot: Robot, contact: Contact, where: Any, start: Array, support: float) -> _Touch:
    contact.check(robot)
    if not isinstance(contact, FlatContact | PointContact):
        raise TaskError(f"{contact.label}: a robot at rest stands on flat and point contacts; got {type(contact).__name__}")
    if where is None:
        where = robot.pose(start, contact.frame)
        if isinstance(contact, PointContact):
            where = where[:3, :3] @ contact.points[0] + where[:3, 3]
    if isinstance(where, Plane):
        axes = axes_from_normal(contact.label, where.normal)
    elif isinstance(contact, PointContact):
        where = np.asarray(where, dtype=float)
        where = where[:3, :3] @ contact.points[0] + where[:3, 3] if where.shape == (4, 4) else where
        axes = axes_from_normal(contact.label, contact.normal)
        _require_place(contact.label, where, (3,))
    else:
        where = np.asarray(where, dtype=float)
        _require_place(contact.label, where, (4, 4))
        axes = where[:3, :3] @ axes_from_normal(contact.label, contact.normal)
    middle = contact.points.mean(0)
    points = middle + support * (contact.points - middle)
    normal = np.zeros(3) if isinstance(contact, PointContact) else np.asarray(contact.normal, dtype=float)
    normal = normal / max(float(np.linalg.norm(normal)), 1e-12)
    return _Touch(contact, where, points, normal, contact._directions() @ axes.T)


def _require_place(label: str, where: Array, shape: tuple[int, ...]) -> None:
    good = where.shape == shape and np.isfinite(where).all() and (shape == (3,) or is_pose(where))
    if not good:
        wanted = "a place (3 numbers)" if shape == (3,) else "a pose (4×4)"
        raise ShapeError(f"{label}: wanted {wanted} in the world, a Plane or None; got {where!r}")


def _contact_rows(robot: Robot, touch: _Touch, q: Array) -> tuple[str, Array, Array]:
    X, J = robot.pose(q, touch.frame), robot.jacobian(q, touch.frame)
    name = f"{touch.contact.label} at its place"
    middle = X[:3, :3] @ touch.points.mean(0)
    J_middle = J[:3] + np.cross(J[3:], middle, axis=0)
    if isinstance(touch.where, Plane):
        n, offset = touch.where.normal, touch.where.offset
        away, rows = [offset - n @ (X[:3, 3] + middle)], [n @ J_middle]
        if isinstance(touch.contact, FlatContact):
            tilt, axes = _between(X[:3, :3] @ touch.normal, n), axes_from_normal(touch.contact.label, n)[:, :2]
            away, rows = [*away, *(axes.T @ tilt)], [*rows, *(axes.T @ J[3:])]
        return name, np.array(away), np.array(rows)
    if touch.where.shape == (3,):
        return name, touch.where - X[:3, 3] - middle, J_middle
    error = np.concatenate([touch.where[:3, 3] - X[:3, 3], _turn(X[:3, :3], touch.where[:3, :3])])
    return name, error, J


def _turn(R: Array, R_to: Array) -> Array:
    """Rotation vector from R to R_to, world axes."""
    from ...algebra.quaternions import from_rotation

    w, *xyz = from_rotation(R_to @ R.T)
    half = np.asarray(xyz) * (1.0 if w >= 0 else -1.0)
    sine = float(np.linalg.norm(half))
    return 2.0 * half if sine < 1e-12 else 2.0 * np.arctan2(sine, abs(w)) / sine * half


def _between(a: Array, b: Array) -> Array:
    """Rotation vector that turns unit vector a to b the shortest way."""
    axis, cosine = np.cross(a, b), float(a @ b)
    sine = float(np.linalg.norm(axis))
    if sine < 1e-12:
        if cosine > 0:
            return axis
        aside = np.eye(3)[np.abs(a).argmin()]
        axis = np.cross(a, aside)
        return np.pi * axis / np.linalg.norm(axis)
    return np.arctan2(sine, cosine) / sine * axis


def _places(X: Array, touch: _Touch) -> tuple[Array, Array]:
    """Points of a contact now and where they should be, a point along its normal among them."""
    local = np.vstack([touch.points, touch.points.mean(0) + 0.3 * touch.normal])
    now = local @ X[:3, :3].T + X[:3, 3]
    if isinstance(touch.where, Plane):
        n, offset = touch.where.normal, touch.where.offset
        middle = now[:-1].mean(0)
        foot = middle - (n @ middle - offset) * n
        return np.array([now[:-1].mean(0), now[-1]]), np.array([foot, foot + 0.3 * n * np.linalg.norm(touch.normal)])
    if touch.where.shape == (3,):
        return now[:1], touch.where[None]
    return now, local @ touch.where[:3, :3].T + touch.where[:3, 3]


def _fit(now: Array, then: Array) -> Array:
    """The rotation that takes points `now` nearest to `then`, both about their middles."""
    U, _, V = np.linalg.svd(then.T @ now)
    return U @ np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ V))]) @ V


def _targets(robot: Robot, targets: Any) -> dict[str, Array]:
    result = {}
    for frame, target in dict(targets or {}).items():
        robot.place(frame)
        given = np.asarray(target, dtype=float)
        if not (given.shape == (3,) or (given.shape == (4, 4) and is_pose(given))) or not np.isfinite(given).all():
            raise ShapeError(f"target of {frame!r}: wanted a pose (4×4) or a place (3 numbers); got {target!r}")
        result[frame] = given
    return result


def _three(com: Any) -> Array:
    given = np.full(3, np.nan) if com is None else np.asarray(com, dtype=float)
    if given.shape != (3,):
        raise ShapeError(f"com must be three numbers, NaN where free; got {com!r}")
    return given


def _all(robot: Robot, joints: Array, base: float) -> Array:
    """Values of joint rates with one for the base in front."""
    return np.concatenate([np.full(robot.nv - len(joints), base), joints])


def _pairs(robot: Robot, constraint: SelfCollision) -> PairSet:
    from ...geometry.collisions import self_collision_pairs

    pairs = self_collision_pairs(robot) if constraint.pairs is None else constraint.pairs
    return PairSet(robot, tuple(pairs), range=max(constraint.range, constraint.safe), most=constraint.most)
