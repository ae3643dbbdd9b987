"""The problem of a static posture: what is given, and its rows at a configuration with forces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...algebra.quaternions import from_rotation
from ...algebra.rigid import is_pose
from ...errors import ShapeError, unknown_name
from ...geometry.distances import DistanceKernel, distances_kernel
from ..body_contacts import Place
from ..constraints import JointLimits, TorqueLimits
from ..contacts import Contact
from ..item import TaskError
from .posture_contacts import PlacedContact, best_rotation, touch
from .references import turn
from .stance import Posture

if TYPE_CHECKING:
    from ...geometry.pairs import PairSet
    from ...robot import Robot
    from ..constraints import Constraint

Array = np.ndarray
LIGHT = 0.1  # weight of torques (in parts of their limits) beside joints (rad) in what is preferred
UPRIGHT = 0.5  # of a normal along gravity: contacts with less hold the robot but do not carry it


@dataclass(frozen=True, eq=False)
class Given:
    """What `find_posture` was asked; see there."""

    contacts_at: Mapping[Contact, Place]
    touching: Mapping[Contact, Place]
    targets: Mapping[str, ArrayLike]
    com: ArrayLike | None
    posture: Posture
    start: ArrayLike | None
    constraints: Sequence[Constraint]
    support: float
    strength: float
    rest: Array  # q where `posture` says nothing


@dataclass(frozen=True, eq=False)
class PostureIterate:
    """A configuration with forces, and how far it is from a solution."""

    q: Array
    forces: Array  # along the edges of all pyramids, in weights
    violation: float  # of the scaled rows
    preference: float
    kinds: tuple[tuple[str, float], ...]  # the largest violation of each kind of row, in its own units


@dataclass(frozen=True, eq=False)
class Problem:
    """What must hold, in numbers."""

    robot: Robot
    touches: tuple[PlacedContact, ...]
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

    @classmethod
    def of(cls, robot: Robot, given: Given) -> Problem:
        """The problem that was asked; raises where it is none."""
        wanted, support, strength = _wanted(robot, given.posture, given.rest), given.support, given.strength
        if not (0 < support <= 1 and 0 < strength <= 1):
            raise TaskError(f"support and strength are parts, above 0 and up to 1; got {support!r} and {strength!r}")
        for constraint in given.constraints:
            constraint.check(robot)
        start = None if given.start is None else np.asarray(given.start, dtype=float)
        touches = _touches(robot, given, wanted if start is None else start)
        named = [(c.label, c.at_rest(robot)) for c in given.constraints]
        usual = [limits.at_rest(robot) for limits in (JointLimits(), TorqueLimits())]
        rests = [rest for _, rest in named]
        lower, upper = next(rest.positions for rest in (*rests, *usual) if rest.positions is not None)
        effort = next(rest.effort for rest in (*rests, *usual) if rest.effort is not None)
        measured = [(label, rest, rest.distance) for label, rest in named if rest.distance is not None]
        return cls(
            robot,
            touches,
            _targets(robot, given.targets),
            _three(given.com),
            wanted,
            start,
            strength * effort,
            lower,
            upper,
            tuple((rest.pairs, rest.safe) for rest in rests if rest.pairs is not None),
            distances_kernel(robot, [d for *_, d in measured]) if measured else None,
            np.array([rest.least for _, rest, _ in measured]),
            np.array([-1.0 if rest.inside else 1.0 for _, rest, _ in measured]),
            tuple(label for label, *_ in measured),
        )

    @property
    def weight(self) -> float:
        """N."""
        return float(self.robot.mass * np.linalg.norm(self.robot.model.gravity))

    @cached_property
    def first(self) -> int:
        """Where the velocities with motors begin."""
        return 6 if self.robot.floating else 0

    @cached_property
    def joint_positions(self) -> tuple[Array, Array]:
        """(places in v, places in q) of the joints that have limits."""
        joints = [j for j in self.robot.joints.values() if j.mimic is None and j.type.nq == 1]
        return np.array([j.v.start for j in joints], int), np.array([j.q.start for j in joints], int)

    @property
    def unknown_forces(self) -> int:
        return sum(t.count for t in self.touches)

    # --- initial guesses --------------------------------------------------------------------------------------------

    def initial_guesses(self, attempts: int, seed: int) -> Iterator[Array]:
        """The given start, the wanted posture brought to the contacts, then random joints around it."""
        rng = np.random.default_rng(seed)
        q = self.wanted if self.start is None else self.start
        for k in range(attempts):
            if k == 0 and self.start is not None:
                yield self.within(q)
                continue
            joints = self.wanted.copy()
            if k > 1:
                in_q = self.joint_positions[1]
                joints[in_q] += 0.15 * k * rng.normal(size=len(in_q))
            yield self._placed(self.within(joints))

    def within(self, q: Array) -> Array:
        """q with its joints within their limits."""
        in_v, in_q = self.joint_positions
        q = q.copy()
        q[in_q] = np.clip(q[in_q], self.lower[in_v], self.upper[in_v])
        return q

    def _placed(self, q: Array) -> Array:
        """The base where the contacts, taken as one rigid body, fit their places best."""
        if not self.robot.floating or not self.touches:
            return q
        pairs = [t.places(self.robot.pose(q, t.frame)) for t in self.touches]
        now, then = (np.concatenate(side) for side in zip(*pairs, strict=True))
        R = best_rotation(now - now.mean(0), then - then.mean(0))
        X = self.robot.pose(q, str(self.robot.base_link))
        q = q.copy()
        q[:3] = R @ (X[:3, 3] - now.mean(0)) + then.mean(0)
        q[3:7] = from_rotation(R @ X[:3, :3])
        return q

    # --- rows ---------------------------------------------------------------------------------------------------------

    def static(self, q: Array, forces: Array) -> Array:
        """g − Σ Jᵀ F at configurations (…, nq), (…, nv)."""
        total = self.robot.gravity(q).copy()
        for t, part in self.split(forces):
            X, J = self.robot.pose(q, t.frame), self.robot.jacobian(q, t.frame)
            f = part.reshape(len(t.points), -1) @ t.edges
            arms = np.einsum("...ij,kj->...ki", X[..., :3, :3], t.points)
            F = np.concatenate(np.broadcast_arrays(f.sum(0), np.cross(arms, f).sum(-2)), axis=-1) * self.weight
            total -= np.einsum("...ij,...i->...j", J, F)
        return total

    def split(self, forces: Array) -> Iterator[tuple[PlacedContact, Array]]:
        """Contacts that carry, each with its part of the forces."""
        at = 0
        for t in self.touches:
            if t.count:
                yield t, forces[at : at + t.count]
            at += t.count

    def force_columns(self, q: Array) -> Array:
        """−Σ Jᵀ F per unit of each force, (nv, forces)."""
        columns = []
        for t in self.touches:
            X, J = self.robot.pose(q, t.frame), self.robot.jacobian(q, t.frame)
            arms = np.repeat(t.points @ X[:3, :3].T, len(t.edges), axis=0)
            f = np.tile(t.edges, (len(t.points), 1))
            columns.append(-self.weight * J.T @ np.concatenate([f, np.cross(arms, f)], axis=1).T)
        return np.concatenate([np.zeros((self.robot.nv, 0)), *columns], axis=1)

    def normal_forces(self) -> tuple[Array, Array, Array]:
        """Rows that sum the normal force of each contact that carries, in weights, with their bounds."""
        carrying = [t for t in self.touches if t.count]
        sums, at = np.zeros((len(carrying), self.unknown_forces)), 0
        for row, t in zip(sums, carrying, strict=True):
            row[at : at + t.count] = 1.0
            at += t.count
        return sums, np.array([t.least for t in carrying]), np.array([t.most for t in carrying])

    def geometry(self, q: Array) -> list[tuple[str, Array, Array]]:
        """(kind, error, Jacobian) of contacts and targets: J δ should become error."""
        rows = [t.rows(self.robot, q) for t in self.touches]
        for frame, target in self.targets.items():
            X, J = self.robot.pose(q, frame), self.robot.jacobian(q, frame)
            if target.shape == (3,):
                rows.append((f"{frame} at its target", target - X[:3, 3], J[:3]))
            else:
                rows.append((f"{frame} at its target", np.concatenate([target[:3, 3] - X[:3, 3], turn(X, target)]), J))
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

    def at(self, q: Array, forces: Array) -> PostureIterate:
        """Measure a configuration with forces."""
        static = self.static(q, forces)
        kinds = [(name, float(np.abs(error).max())) for name, error, _ in self.geometry(q)]
        kinds += [(name, float(np.maximum(-gap, 0).max(initial=0.0))) for name, gap, _ in self.gaps(q)]
        used = np.abs(static[self.first :]) / self.effort[self.first :]
        balance = np.abs(static[: self.first]).max(initial=0.0)
        kinds += [("balance", float(balance)), ("torque limits", float(np.maximum(used - 1, 0).max(initial=0.0)))]
        scaled = [value / self.weight if name == "balance" else value for name, value in kinds]
        light = np.where(np.isfinite(used), used, 0.0)
        away = self.robot.difference(self.wanted, q)[self.first :]
        return PostureIterate(q, forces, max(scaled), float(away @ away + LIGHT * (light @ light)), tuple(kinds))


# --- what is given ----------------------------------------------------------------------------------------------------


def _touches(robot: Robot, given: Given, start: Array) -> tuple[PlacedContact, ...]:
    """All contacts: those that carry with the bounds of their forces, those that touch without edges for any force.

    `support` draws soles to their middle. Point feet have no size; where most of what carries are points, each contact
    must bear a share of the weight instead, and for three feet on a plane that draws their triangle to its middle just
    the same.
    """
    weight = float(robot.mass * np.linalg.norm(robot.model.gravity))
    carrying = [touch(robot, contact, where, start, given.support) for contact, where in given.contacts_at.items()]
    points = sum(t.contact.pivots for t in carrying)
    share = (1 - given.support) / len(carrying) if 2 * points > len(carrying) else 0.0
    made = []
    for t in carrying:
        least, most = (bound / weight for bound in t.contact.force_bounds)
        carries = -float(t.edges.mean(0) @ robot.model.gravity) * robot.mass > UPRIGHT * weight
        made.append(replace(t, least=max(least, min(share, most / 2)) if carries else least, most=most))
    for contact, where in given.touching.items():
        light = touch(robot, contact, where, start, 1.0)
        made.append(replace(light, edges=np.zeros((0, 3))))
    return tuple(made)


def _wanted(robot: Robot, posture: Posture, rest: Array) -> Array:
    q = rest.copy()
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
        raise ShapeError(
            f"posture must be q of shape {q.shape}, finite, or a mapping from joints; got shape {given.shape}"
        )
    return given


def _targets(robot: Robot, targets: Mapping[str, ArrayLike]) -> dict[str, Array]:
    result = {}
    for frame, target in targets.items():
        robot.place(frame)
        given = np.asarray(target, dtype=float)
        if not (given.shape == (3,) or (given.shape == (4, 4) and is_pose(given))) or not np.isfinite(given).all():
            raise ShapeError(f"target of {frame!r}: wanted a pose (4×4) or a place (3 numbers); got {target!r}")
        result[frame] = given
    return result


def _three(com: ArrayLike | None) -> Array:
    given = np.full(3, np.nan) if com is None else np.asarray(com, dtype=float)
    if given.shape != (3,):
        raise ShapeError(f"com must be three numbers, NaN where free; got {com!r}")
    return given
