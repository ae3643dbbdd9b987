"""Whether a model can be a robot: physical inertias, sensible limits, a positive definite mass matrix."""

from __future__ import annotations

import warnings
from collections.abc import Container, Iterator, Sequence
from typing import Any

import numpy as np

from ..algebra.quaternions import NUMBERS
from ..errors import ModelError, ModelWarning
from .joints import JointType
from .numbers import require_sound_numbers
from .tree import MovingBody, Tree, tree_of
from .types import Model

Array = np.ndarray
PIVOT_TOLERANCE = 1e-12  # of the inertia that the joint would feel with all joints beyond it locked
POINT_LIKE = 1e-12  # of the robot's size squared: moment per mass of a point
MAX_COUPLED = 500  # bodies of a robot with followers whose whole mass matrix is tested
ROUNDING = 1e-3  # inertias are written with few digits: what is broken by less is rounding


def check(
    model: Model, *, strict: bool = False, quiet: bool = False, more: Sequence[str] = (), tree: Tree | None = None
) -> Tree:
    """Warn of what is doubtful in a model, once per kind, and refuse what no robot can have.

    Args:
        strict: raise what would be a warning.
        quiet: no warnings: they were given when the robot was loaded.
        more: doubts that the caller has.
        tree: `tree_of(model)`, if the caller has it already and the numbers of the model are sound.

    Returns:
        The model as the equations see it.

    Raises:
        ModelError: `require_sound_numbers` refuses a number, or the mass matrix is not positive definite. With
            `strict`, also the first of the doubts.
    """
    if tree is None:
        require_sound_numbers(model)
        tree = tree_of(model)
    bad = _bad_pivots(model, tree)
    for doubt in () if quiet else (*more, *_doubtful_inertias(model, _size(tree)), *_doubtful_limits(model), *bad):
        if strict:
            raise ModelError(f"{model.name}: {doubt}")
        warnings.warn(f"{model.name}: {doubt}", ModelWarning, stacklevel=2)
    return tree


# Doubts: data one can compute with, but hardly meant


def _doubtful_inertias(model: Model, size: float) -> Iterator[str]:
    known = [(link, link.inertia) for link in model.links.values() if link.inertia is not None]
    if not known:
        return
    links, masses = [link for link, _ in known], np.array([inertia.mass for _, inertia in known])
    matrices = np.array([inertia.matrix for _, inertia in known])
    moments = np.linalg.eigvalsh(matrices)  # ascending
    bodies = np.abs(moments).max(axis=1) > POINT_LIKE * size**2 * masses
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
        shown = "; ".join(f"{parts[k].name!r} ({what} {values[k]})" for k in found[:6]) + (
            "; …" if len(found) > 6 else ""
        )
        count = f"1 {kind} has" if len(found) == 1 else f"{len(found)} {kind}s have"
        yield f"{count} {fault}: {shown}"


# The mass matrix


def can_float(model: Model, tree: Tree) -> bool:
    """Whether the base feels a positive inertia. False where a mass-less root only carries what moves on it."""
    if model.base is None or tree.bodies[0].mass > 0:
        return True
    pivots = {body.name: _is_positive(D, scale) for body, D, scale in _pivots(tree, *_followers_and_leaders(model))}
    base = pivots.pop(model.base.name)
    return base or not all(pivots.values())  # a fault elsewhere is not the base's


def _followers_and_leaders(model: Model) -> tuple[set[str], set[str]]:
    mimics = {name: joint.mimic.leader for name, joint in model.joints.items() if joint.mimic is not None}
    return set(mimics), set(mimics.values())


def _bad_pivots(model: Model, tree: Tree) -> list[str]:
    """Doubts about joints that lead others; raises for a joint that makes the mass matrix singular or indefinite.

    Followers are taken as locked, and so are leaders once they are tested: what fails then, fails in truth. What moves
    only together with its followers is tested on the whole mass matrix.
    """
    if tree.coupled and len(tree.bodies) <= MAX_COUPLED:
        _require_motion_of_leaders(model, tree)
    followers, leaders = _followers_and_leaders(model)
    bad = [found for found in _pivots(tree, followers, leaders) if not _is_positive(*found[1:])]
    faults = [found for found in bad if found[0].name not in leaders]
    if faults:
        raise ModelError(f"{model.name}: {_fault(model, *faults[0], [body for body, *_ in faults])}")
    return [_fault(model, *found, [found[0]]) for found in bad]


def _pivots(
    tree: Tree, followers: Container[str] = (), leaders: Container[str] = ()
) -> Iterator[tuple[MovingBody, Array, Array]]:
    """(body, pivot D, scale of D) from the leaves to the root, at one fixed configuration.

    The articulated-body recursion [Fea08, Sec. 7.3] factorises M = L D Lᵀ with unit triangular L, so M is positive
    definite if and only if every D = Sᵀ I_A S is. The scale is the inertia with all joints beyond locked: what rounding
    works on.
    """
    motions = _motions(tree)
    articulated = np.array([_spatial_inertia(body) for body in tree.bodies])
    composite = articulated.copy()
    for k in range(len(tree.bodies) - 1, -1, -1):
        body, (X, S), I_A = tree.bodies[k], motions[k], articulated[k]
        if body.name not in followers:
            U = I_A @ S
            D = S.T @ U + body.armature * np.eye(S.shape[1])
            scale = np.diag(S.T @ composite[k] @ S) + body.armature
            yield body, D, scale
            if body.name not in leaders and _is_positive(D, scale):  # a faulty one is taken as locked
                I_A = I_A - U @ np.linalg.solve(D, U.T)
        if body.parent >= 0:
            articulated[body.parent] += X.T @ I_A @ X
            composite[body.parent] += X.T @ composite[k] @ X


def _require_motion_of_leaders(model: Model, tree: Tree) -> None:
    """M of the whole robot, with every follower tied to its leader: followers may cancel what the leader moves."""
    M = _coupled_mass_matrix(tree)
    size = np.sqrt(np.diag(M))
    scale = np.where(size > 0, size, 1.0)
    if _has_pivots(M / np.outer(scale, scale)):
        return
    _, vectors = np.linalg.eigh(M / np.outer(scale, scale))
    k = int(np.argmax(np.abs(vectors[:, 0])))
    joint = next(joint for joint in model.joints.values() if joint.mimic is None and joint.v.start <= k < joint.v.stop)
    followers = [
        name for name, other in model.joints.items() if other.mimic is not None and other.mimic.leader == joint.name
    ]
    if followers:
        raise ModelError(
            f"{model.name}: joint {joint.name!r} and its followers ({', '.join(map(repr, followers[:4]))}) move "
            "nothing that "
            "has mass: their motions cancel, and the mass matrix is singular. Check the multipliers, or lock the "
            f"joint: locked=[{joint.name!r}]"
        )


def _has_pivots(M: Array) -> bool:
    """Whether a matrix with ones on its diagonal is positive definite, by more than rounding."""
    try:
        return bool((np.diag(np.linalg.cholesky(M)) ** 2 > PIVOT_TOLERANCE).all())
    except np.linalg.LinAlgError:
        return False


def _coupled_mass_matrix(tree: Tree) -> Array:
    """Σ Jᵀ I J over the bodies, at one configuration in which followers are where their leaders put them."""
    M, J = np.zeros((tree.nv, tree.nv)), np.zeros((len(tree.bodies), 6, tree.nv))
    for k, (body, (X, S)) in enumerate(zip(tree.bodies, _motions(tree, followed=True), strict=True)):
        if body.parent >= 0:
            J[k] = X @ J[body.parent]
        J[k][:, body.v] += body.multiplier * S
        M += J[k].T @ _spatial_inertia(body) @ J[k]
        M[body.v, body.v] += body.multiplier**2 * body.armature * np.eye(S.shape[1])
    return M


def _is_positive(D: Array, scale: Array) -> bool:
    if (scale <= 0).any() or not np.isfinite(D).all():
        return False
    if len(scale) == 1:
        return bool(D[0, 0] > PIVOT_TOLERANCE * scale[0])
    return bool(np.linalg.eigvalsh(D / np.sqrt(np.outer(scale, scale)))[0] > PIVOT_TOLERANCE)


def _fault(model: Model, body: MovingBody, D: Array, scale: Array, alike: Sequence[MovingBody]) -> str:
    """What is wrong with a joint; `alike` are all those with which something is, itself among them."""
    link = model.joints[body.name].child
    if not D.any() and not scale.any():
        return (
            f"joint {body.name!r} moves link {link!r}, which has no mass and carries none: the mass matrix is "
            f"singular. Give the link an inertia or make the joint fixed. {_ways_out(model, body, alike)}"
        )
    why = "The inertia of that link, or of those it carries, is not physical."
    if body.mass == 0:
        why = "The link has no mass of its own, and the joints beyond yield to the motion. Give it an inertia."
    why = f"{why} {_ways_out(model, body, alike)}"
    return (
        f"joint {body.name!r} feels no positive inertia when it moves link {link!r} (pivot "
        f"{np.linalg.eigvalsh(D)[0]:.3g}): "
        f"the mass matrix is not positive definite. {why}"
    )


def _ways_out(model: Model, body: MovingBody, alike: Sequence[MovingBody]) -> str:
    """What a user can write at once, for all joints alike."""
    if model.base is not None and body.name == model.base.name:
        return "A robot that stands on the ground is loaded with floating=False"
    joints = [other.name for other in alike if model.base is None or other.name != model.base.name]
    way = f"eq.load(…, locked={joints!r}) holds the joint" + ("" if len(joints) == 1 else " and those like it")
    rotor = model.joints[body.name].dynamics.armature > 0 and not model.armature
    return way + (", armature=True gives it the inertia of its rotor" if rotor else "")


def _spatial_inertia(body: MovingBody) -> Array:
    """6×6 inertia at the body's origin for twists (linear, angular)."""
    x, y, z = body.h
    h = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    M = np.empty((6, 6))
    M[:3, :3], M[:3, 3:], M[3:, :3], M[3:, 3:] = body.mass * np.eye(3), -h, h, body.I
    return M


def _motions(tree: Tree, *, followed: bool = False) -> list[tuple[Array, Array]]:
    """For each body, X with V_C = X V_P + S v, and S, at one fixed configuration in general position.

    Joints of one type are evaluated together. With `followed`, followers are where their leaders put them.
    """
    groups: dict[JointType, list[int]] = {}
    size = _size(tree)
    for k, body in enumerate(tree.bodies):
        groups.setdefault(body.joint, []).append(k)
    motions: list[tuple[Array, Array]] = [(np.empty(0), np.empty(0))] * len(tree.bodies)
    for joint, members in groups.items():
        position = _general_position(
            joint, np.array([tree.bodies[k].v.start for k in members] if followed else members), size
        )
        if followed and joint.nq == 1:
            factor, offset = (np.array([getattr(tree.bodies[k], x) for k in members]) for x in ("multiplier", "offset"))
            position = [factor * position[0] + offset]
        R_J, p_J = joint.pose(position, NUMBERS)
        R_J = np.broadcast_to(R_J, (len(members), 3, 3))
        p_J = np.broadcast_to(p_J, (len(members), 3))
        R_0 = np.array([tree.bodies[k].R for k in members])
        p_0 = np.array([tree.bodies[k].p for k in members])
        R, p = R_0 @ R_J, np.einsum("nij,nj->ni", R_0, p_J) + p_0
        for k, X, S in zip(members, _twist_transforms(R, p), _subspaces(joint, R_J), strict=True):
            motions[k] = X, S
    return motions


def _size(tree: Tree) -> float:
    """The farthest that a joint or a centre of mass is from the joint before it, m; one where there is no length."""
    lengths = [float(np.linalg.norm(body.p)) for body in tree.bodies]
    lengths += [float(np.linalg.norm(body.h)) / body.mass for body in tree.bodies if body.mass > 0]
    lengths += [float(np.sqrt(np.abs(body.I).max() / body.mass)) for body in tree.bodies if body.mass > 0]
    return max(lengths, default=0.0) or 1.0


def _general_position(joint: JointType, numbers: Array, size: float) -> list[Array]:
    """Coordinates without symmetry for the joints of those numbers: multiples of the golden ratio, always the same.

    Slides move by about the size of the robot: a metre would make the rest of a tiny one vanish in rounding.
    """
    slides = np.abs(joint.slide()).any(axis=0) & ~np.abs(joint.spin()).any(axis=0)
    units = np.where(slides, size, 1.0)
    step = [units[i] * (1.0 + 0.9 * np.modf((numbers + 1) * 0.6180339887 + 0.37 * i)[0]) for i in range(joint.nv)]
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
