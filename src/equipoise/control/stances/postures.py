"""Static postures: a configuration with given contacts in which the robot rests, and the forces that hold it.

Unknown are the configuration q and forces λ ≥ 0 along the edges of the friction pyramids at the corners of all
contacts. In

    g(q) − Σ J_p(q)ᵀ f_p(λ) = (0, τ)

the base rows must vanish and the joint rows are the motors' torques, within their limits. Contacts, targets, joint
limits and distances are rows of the same problem. [BK12, Sec. VI] takes such postures as its input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...body.body import Body
from ...model.types import frozen
from ..body_contacts import ContactsAt, contacts_by_role
from ..item import TaskError
from .posture_contacts import PlacedContact
from .posture_descent import CONVERGED, Descent
from .posture_problem import Given, PostureIterate, Problem
from .stance import Posture

if TYPE_CHECKING:
    from ...robot import Robot
    from ..constraints import Constraint

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class PostureResult:
    """What `find_posture` found. Where it did not converge, q is the best attempt and `reason` says what is wrong with
    it."""

    q: Array
    converged: bool
    # by kind: contacts and targets (m, rad), balance (N, N m), and how far beyond limits
    residuals: Mapping[str, float]
    torques: Array  # (nv,) N m, the base part zero
    forces: Mapping[str, Array]  # wrench (force, torque) on each contact's frame, world axes
    reason: str
    attempts: int

    def __bool__(self) -> bool:
        return self.converged


def find_posture(
    robot: Robot | Body,
    contacts_at: ContactsAt,
    targets: Mapping[str, ArrayLike] | None = None,
    *,
    touching: ContactsAt | None = None,
    com: ArrayLike | None = None,
    posture: Posture = None,
    start: Array | None = None,
    constraints: Sequence[Constraint] = (),
    support: float = 0.8,
    strength: float = 0.9,
    attempts: int = 6,
    iterations: int = 60,
    seed: int = 0,
) -> PostureResult:
    """A configuration at rest on given contacts.

    Args:
        robot: or its `Body`: feet and hands are then contacts by their roles ("left foot"), roles are targets, and the
            wanted posture is the one in which the body stands.
        contacts_at: each contact with the pose (4×4) of its frame in the world, a place (3 numbers, m) for a point
            contact, a `Plane` on which it may be anywhere, or None: where it is at `start`.
        targets: frames with poses (4×4) or places (3 numbers) that they must have.
        touching: contacts that touch, at places given in the same way, and carry nothing.
        com: where the centre of mass must be, three numbers, m; NaN leaves a coordinate free.
        posture: wanted joints: q, or a mapping from joints to positions, the others as in `robot.standing()`, or
            as the body stands. What is found is the nearest one that holds.
        start: q to begin with; by default the wanted posture, brought to the contacts as a rigid body.
        constraints: distances to keep are heeded; limits of joints and torques overrule the robot's.
        support: part of each contact's size that forces may use, from its middle: how far from tipping the posture is.
            Where most contacts are points, each bears at least the part 1 − support of its share of the weight.
        strength: part of the torque limits that may be used.
        attempts: starts tried; from the third on with random joints.
        iterations: of each start.
        seed: of the random joints.
    """
    robot, rest, body = (
        (robot.robot, robot.standing, robot) if isinstance(robot, Body) else (robot, robot.standing(), None)
    )
    carrying, light = contacts_by_role(body, contacts_at), contacts_by_role(body, touching or {})
    aims = {body.frames.get(aim, aim) if body else aim: target for aim, target in (targets or {}).items()}
    asked = Given(carrying, light, aims, com, posture, start, constraints, support, strength, rest)
    descent = Descent(problem := Problem.of(robot, asked))
    best: PostureIterate | None = None
    tried = 0
    for q in problem.initial_guesses(attempts, seed):
        tried += 1
        found = descent.solved(q, iterations)
        if best is None or found.violation < best.violation:
            best = found
        if best.violation <= CONVERGED:
            break
    if best is None:
        raise TaskError(f"attempts must be one or more, got {attempts!r}")
    return _result(descent, best, tried)


def _result(descent: Descent, point: PostureIterate, attempts: int) -> PostureResult:
    problem = descent.problem
    forces, proven = descent.best_forces(point.q)
    if proven:
        point = problem.at(point.q, forces)
    static = problem.static(point.q, point.forces)
    static[: problem.first] = 0.0
    converged = point.violation <= 10 * CONVERGED
    reason = f"found after {attempts} attempt{'s' if attempts > 1 else ''}" if converged else _why(problem, point)
    wrenches = {
        touch.contact.label: _wrench(problem, touch, part, point.q) for touch, part in problem.split(point.forces)
    }
    return PostureResult(frozen(point.q), converged, dict(point.kinds), frozen(static), wrenches, reason, attempts)


def _wrench(problem: Problem, touch: PlacedContact, part: Array, q: Array) -> Array:
    """On the contact's frame, world axes, (6,)."""
    f = problem.weight * (part.reshape(len(touch.points), -1) @ touch.edges)
    arms = touch.points @ problem.robot.pose(q, touch.frame)[:3, :3].T
    return np.concatenate([f.sum(0), np.cross(arms, f).sum(0)])


# --- in words ---------------------------------------------------------------------------------------------------------


def _why(problem: Problem, point: PostureIterate) -> str:
    """What is not met, by how much, and which limits are in the way."""
    wrong = [(name, value) for name, value in point.kinds if not value <= 1e-6]
    words = []
    for name, value in wrong:
        if name == "balance":
            words.append(f"the forces do not balance the weight by {value:.3g} N or N m")
        elif name == "torque limits":
            words.append(f"torques are {100 * value:.3g} % above what is allowed ({_strained(problem, point)})")
        else:
            words.append(f"{name}: {value:.3g} m or rad away")
    ends = _at_ends(problem, point.q)
    told = f"; at the end of their range: {', '.join(ends)}" if ends else ""
    return f"no posture found: {'; '.join(words) or 'it did not converge'}{told}"


def _strained(problem: Problem, point: PostureIterate) -> str:
    used = np.abs(problem.static(point.q, point.forces)) / problem.effort
    joints = problem.robot.joints.items()
    return ", ".join(name for name, j in joints if j.mimic is None and used[j.v].max(initial=0.0) > 0.999)


def _at_ends(problem: Problem, q: Array) -> list[str]:
    joints = [(n, j) for n, j in problem.robot.joints.items() if j.mimic is None and j.type.nq == 1]
    ends = [(n, q[j.q][0] - problem.lower[j.v][0], problem.upper[j.v][0] - q[j.q][0]) for n, j in joints]
    return [name for name, below, above in ends if min(below, above) < 1e-6]
