"""Whether a model can be a robot: physical inertias, sensible limits, a positive definite mass matrix."""

from __future__ import annotations

import math
import warnings
from collections.abc import Container, Iterator, Sequence
from typing import Any

import numpy as np

from ..algebra.quaternions import NUMBERS
from ..errors import ModelError, ModelWarning
from .joints import JointType
from .tree import Body, Tree, tree_of
from .types import Model

Array = np.ndarray
PIVOT_TOLERANCE = 1e-12  # of the inertia that the joint would feel with all joints beyond it locked
POINT_LIKE = 1e-12  # m², moment per mass of a point: a micrometre across
ROUNDING = 1e-3  # inertias are written with few digits: what is broken by less is rounding


def check(model: Model, *, strict: bool = False, tree: Tree | None = None) -> None:
    """Warn of what is doubtful in a model, once per kind, and refuse what no robot can have.

    Args:
        strict: raise what would be a warning.
        tree: `tree_of(model)`, if the caller has it already.

    Raises:
        ModelError: a number is not finite, an inertia not symmetric, a mass negative, a lower limit above the upper one, or
            the mass matrix not positive definite. With `strict`, also the first of the doubts.
    """
    _require_sound_numbers(model)
    doubts = [*_doubtful_inertias(model), *_doubtful_limits(model), *_bad_pivots(model, tree or tree_of(model))]
    for doubt in doubts:
        if strict:
            raise ModelError(f"{model.name}: {doubt}")
        warnings.warn(f"{model.name}: {doubt}", ModelWarning, stacklevel=2)


def _require_sound_numbers(model: Model) -> None:
    for link in model.links.values():
        if link.inertia is None:
            continue
        mass, com, I = link.inertia.mass, link.inertia.com, link.inertia.matrix
        if not (math.isfinite(mass) and np.isfinite(com).all() and np.isfinite(I).all()):
            raise ModelError(f"link {link.name!r}: mass, centre of mass and inertia must be finite numbers")
        if mass < 0:
            raise ModelError(f"link {link.name!r} has the negative mass {mass:g} kg")
        if np.abs(I - I.T).max() > 1e-9 * np.abs(I).max():
            raise ModelError(f"link {link.name!r}: the inertia matrix is not symmetric: {I.tolist()}")
    for joint in model.joints.values():
        limits = joint.limits
        if any(map(math.isnan, (limits.lower, limits.upper, limits.velocity, limits.effort))) or limits.lower > limits.upper:
            raise ModelError(
                f"joint {joint.name!r}: limits must be numbers with lower ≤ upper, "
                f"got lower {limits.lower:g}, upper {limits.upper:g}, velocity {limits.velocity:g}, effort {limits.effort:g}"
            )
        if not (np.isfinite(joint.origin).all() and np.isfinite(joint.tail).all()):
            raise ModelError(f"joint {joint.name!r}: its placement must be finite numbers")


# Doubts: data one can compute with, but hardly meant


def _doubtful_inertias(model: Model) -> Iterator[str]:
    known = [(link, link.inertia) for link in model.links.values() if link.inertia is not None]
    if not known:
        return
    links, masses = [link for link, _ in known], np.array([inertia.mass for _, inertia in known])
    matrices = np.array([inertia.matrix for _, inertia in known])
    moments = np.linalg.eigvalsh(matrices)  # ascending
    bodies = np.abs(moments).max(axis=1) > POINT_LIKE * masses
    indefinite = bodies & (moments[:, 0] <= 0)
    impossible = bodies & ~indefinite & (moments[:, 2] > (1 + ROUNDING) * (moments[:, 0] + moments[:, 1]))
    identity = np.abs(matrices - np.eye(3)).max(axis=(1, 2)) < 1e-12
    shown = [", ".join(f"{x:.3g}" for x in row) for row in moments.tolist()]
    kilograms = [f"{mass:g} kg" for mass in masses.tolist()]
    yield from _listed("an inertia that is not positive definite", links, indefinite, "eigenvalues", shown)
    broken = "an inertia that breaks the triangle rule: one principal moment exceeds the sum of the other two"
    yield from _listed(broken, links, impossible, "moments", shown)
    yield from _listed("the identity as inertia, most likely a placeholder", links, identity, "mass", kilograms)
    yield from _listed("an inertia but no mass", links, bodies & (masses == 0), "moments", shown)


def _doubtful_limits(model: Model) -> Iterator[str]:
    joints = [joint for joint in model.joints.values() if joint.moving]
    negative = np.array([joint.limits.velocity < 0 or joint.limits.effort < 0 for joint in joints])
    shown = [f"{joint.limits.velocity:g}, {joint.limits.effort:g}" for joint in joints]
    yield from _listed("a negative limit", joints, negative, "velocity, effort", shown, "joint")
    stuck = np.array([joint.limits.lower == joint.limits.upper for joint in joints])
    shown = [f"{joint.limits.lower:g}" for joint in joints]
    yield from _listed("equal lower and upper limits, that is no room to move", joints, stuck, "both", shown, "joint")


def _listed(
    fault: str, parts: Sequence[Any], where: Array, what: str, values: Sequence[str], kind: str = "link"
) -> Iterator[str]:
    """One sentence for all parts with the same fault, if there are any."""
    found = np.flatnonzero(where)
    if len(found):
        shown = "; ".join(f"{parts[k].name!r} ({what} {values[k]})" for k in found[:6]) + ("; …" if len(found) > 6 else "")
        count = f"1 {kind} has" if len(found) == 1 else f"{len(found)} {kind}s have"
        yield f"{count} {fault}: {shown}"


# The mass matrix


def _bad_pivots(model: Model, tree: Tree) -> list[str]:
    """Doubts about joints that lead others; raises for a joint that makes the mass matrix singular or indefinite.

    Followers are taken as locked, and so are leaders once they are tested: what fails then, fails in truth.
    """
    mimics = {body.name: model.joints[body.name].mimic for body in tree.bodies}
    leaders = {mimic.leader for mimic in mimics.values() if mimic is not None}
    followers = {name for name, mimic in mimics.items() if mimic is not None}
    doubts = []
    for body, D, scale in _pivots(tree, followers, leaders):
        if not _is_positive(D, scale):
            doubts.append(_fault(model, body, D, scale))
            if body.name not in leaders:
                raise ModelError(f"{model.name}: {doubts[-1]}")
    return doubts


def _pivots(tree: Tree, followers: Container[str] = (), leaders: Container[str] = ()) -> Iterator[tuple[Body, Array, Array]]:
    """(body, pivot D, scale of D) from the leaves to the root, at one fixed configuration.

    The articulated-body recursion [Fea08, Sec. 7.3] factorises M = L D Lᵀ with unit triangular L, so M is positive definite
    if and only if every D = Sᵀ I_A S is. The scale is the inertia with all joints beyond locked: what rounding works on.
    """
    motions = _motions(tree)
    articulated = np.array([_spatial_inertia(body) for body in tree.bodies])
    composite = articulated.copy()
    for k in range(len(tree.bodies) - 1, -1, -1):
        body, (X, S), I_A = tree.bodies[k], motions[k], articulated[k]
        if body.name not in followers:
            U = I_A @ S
            D = S.T @ U + body.armature * np.eye(S.shape[1])
            yield body, D, np.diag(S.T @ composite[k] @ S) + body.armature
            if body.name not in leaders:
                I_A = I_A - U @ np.linalg.solve(D, U.T)
        if body.parent >= 0:
            articulated[body.parent] += X.T @ I_A @ X
            composite[body.parent] += X.T @ composite[k] @ X


def _is_positive(D: Array, scale: Array) -> bool:
    if (scale <= 0).any() or not np.isfinite(D).all():
        return False
    if len(scale) == 1:
        return bool(D[0, 0] > PIVOT_TOLERANCE * scale[0])
    return bool(np.linalg.eigvalsh(D / np.sqrt(np.outer(scale, scale)))[0] > PIVOT_TOLERANCE)


def _fault(model: Model, body: Body, D: Array, scale: Array) -> str:
    link = model.joints[body.name].child
    if not D.any() and not scale.any():
        return (
            f"joint {body.name!r} moves link {link!r}, which has no mass and carries none: the mass matrix is singular. "
            "Give the link an inertia or make the joint fixed."
        )
    why = "The inertia of that link, or of those it carries, is not physical."
    if body.mass == 0:
        why = "The link has no mass of its own, and the joints beyond give way to the motion. Give it an inertia."
    return (
        f"joint {body.name!r} feels no positive inertia when it moves link {link!r} (pivot {np.linalg.eigvalsh(D)[0]:.3g}): "
        f"the mass matrix is not positive definite. {why}"
    )


def _spatial_inertia(body: Body) -> Array:
    """6×6 inertia at the body's origin for twists (linear, angular)."""
    x, y, z = body.h
    h = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    M = np.empty((6, 6))
    M[:3, :3], M[:3, 3:], M[3:, :3], M[3:, 3:] = body.mass * np.eye(3), -h, h, body.I
    return M


def _motions(tree: Tree) -> list[tuple[Array, Array]]:
    """For each body, X with V_C = X V_P + S v, and S, at one fixed configuration in general position.

    Joints of one type are evaluated together.
    """
    groups: dict[JointType, list[int]] = {}
    for k, body in enumerate(tree.bodies):
        groups.setdefault(body.joint, []).append(k)
    motions: list[tuple[Array, Array]] = [(np.empty(0), np.empty(0))] * len(tree.bodies)
    for joint, members in groups.items():
        R_J, p_J = joint.pose(_general_position(joint, np.array(members)), NUMBERS)
        R_J = np.broadcast_to(R_J, (len(members), 3, 3))
        p_J = np.broadcast_to(p_J, (len(members), 3))
        R_0 = np.array([tree.bodies[k].R for k in members])
        p_0 = np.array([tree.bodies[k].p for k in members])
        R, p = R_0 @ R_J, np.einsum("nij,nj->ni", R_0, p_J) + p_0
        for k, X, S in zip(members, _twist_transforms(R, p), _subspaces(joint, R_J), strict=True):
            motions[k] = X, S
    return motions


def _general_position(joint: JointType, numbers: Array) -> list[Array]:
    """Coordinates without symmetry for the joints of those numbers: multiples of the golden ratio, always the same."""
    step = [1.0 + 0.9 * np.modf((numbers + 1) * 0.6180339887 + 0.37 * i)[0] for i in range(joint.nv)]
    return joint.integrate([np.full(len(numbers), x) for x in joint.neutral()], step, NUMBERS)


def _twist_transforms(R: Array, p: Array) -> Array:
    """V_C = X V_P for a frame C at (R, p) in P; twists (linear, angular), each at its origin in its own axes."""
    R_T = np.swapaxes(R, 1, 2)
    X = np.zeros((len(R), 6, 6))
    X[:, :3, :3] = X[:, 3:, 3:] = R_T
    X[:, :3, 3:] = np.cross(p[:, None, :], R_T)  # −Rᵀ p^, row by row
    return X


def _subspaces(joint: JointType, R_J: Array) -> Array:
    """S with twist S v of the child relative to the parent, in the child's axes."""
    R_T = np.swapaxes(R_J, 1, 2)
    spin = np.broadcast_to(joint.spin(), (len(R_J), 3, joint.nv))
    return np.concatenate([R_T @ joint.slide(), R_T @ spin if joint.spin_axes == "parent" else spin], axis=1)
