"""The same robot with something changed: its base, joints locked, motors, limits, masses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..algebra.quaternions import NUMBERS
from ..algebra.rigid import pose
from ..errors import ModelError, unknown_name
from .assemble import reassemble
from .joints import Fixed, Floating
from .shapes import combined
from .types import Inertia, Joint, LoopClosure, Model


def to_lock(model: Model, joints: Iterable[str] | None, locked: Any) -> dict[str, Any]:
    """Positions at which joints are locked, by name: those that are not in `joints`, and those in `locked`."""
    free = {name: joint for name, joint in model.joints.items() if joint.moving and joint is not model.base}
    given = dict(locked) if isinstance(locked, Mapping) else dict.fromkeys(locked or ())
    kept = set(free) if joints is None else set(joints)
    for name in [*kept, *given]:
        if name not in free:
            raise unknown_name("joint", name, free)
    leaders = {name: joint for name, joint in free.items() if joint.mimic is None}
    chosen = {name: None for name in leaders if name not in kept} | given
    return {name: free[name].type.neutral() if q is None else q for name, q in chosen.items()}


def locked(model: Model, positions: Mapping[str, float | Sequence[float]]) -> Model:
    """The robot with the named joints held at given positions.

    Followers of a locked joint are locked with it, and so is the other joint of a coupling. Loops within which nothing
    moves any more are left out.
    """
    for name in positions:
        if name not in model.joints:
            raise unknown_name("joint", name, model.joints)
        if model.joints[name].mimic is not None:
            raise ModelError(f"joint {name!r} follows {model.joints[name].mimic.leader!r}; lock that one instead")  # type: ignore[union-attr]

    positions = _with_coupled(model, positions)

    def change(joint: Joint) -> Joint:
        leader = joint.name if joint.mimic is None else joint.mimic.leader
        if leader not in positions:
            return joint
        q = np.atleast_1d(np.asarray(positions[leader], dtype=float))
        if q.shape != (joint.type.nq,) or not np.isfinite(q).all():
            wanted = f"joint {leader!r} ({joint.type.name}) is locked by {joint.type.nq} finite numbers"
            raise ModelError(f"{wanted}, got {positions[leader]!r}")
        if joint.mimic is not None:
            q = joint.gearing[0] * q + joint.gearing[1]
        R, p = joint.type.pose(q, NUMBERS)
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = R, p
        return replace(joint, type=Fixed(), origin=joint.origin @ X, mimic=None)

    found = reassemble(model, change)
    return replace(found, loops={name: loop for name, loop in found.loops.items() if _can_open(found, loop)})


def _with_coupled(model: Model, positions: Mapping[str, Any]) -> dict[str, Any]:
    """Positions of the joints that are locked, with those of the joints that they are coupled to."""
    found, waiting = dict(positions), [loop for loop in model.loops.values() if loop.joint_a and loop.joint_b]
    while ready := [loop for loop in waiting if sum(_position(model, j, found) is None for j in _sides(loop)) == 1]:
        for loop in ready:
            a, b = (_position(model, name, found) for name in _sides(loop))
            other = loop.joint_b if b is None else loop.joint_a
            joint = model.joints[str(other)]
            q = _coupled(loop, float(a or 0.0), joint) if b is None else np.polynomial.Polynomial(loop.polynomial)(b)
            factor, offset = joint.gearing
            leader = joint.name if joint.mimic is None else joint.mimic.leader
            found.setdefault(leader, (q - offset) / factor)
            waiting.remove(loop)
    return found


def _sides(loop: LoopClosure) -> tuple[str, str]:
    """Names of the two joints of a coupling."""
    return str(loop.joint_a), str(loop.joint_b)


def _position(model: Model, name: str, positions: Mapping[str, Any]) -> float | None:
    """Where a joint is locked, by itself or by its leader; None if it moves."""
    joint = model.joints[name]
    leader = name if joint.mimic is None else joint.mimic.leader
    if leader not in positions or np.size(positions[leader]) != 1 or not np.isfinite(positions[leader]).all():
        return None
    q = float(np.ravel(positions[leader])[0])
    factor, offset = joint.gearing
    return factor * q + offset


def _coupled(loop: LoopClosure, a: float, joint: Joint) -> float:
    """The position of a coupling's second joint, within its limits and nearest to zero, where its first is at a."""
    roots = (np.polynomial.Polynomial(loop.polynomial) - a).roots()
    real = roots.real[np.abs(roots.imag) < 1e-9]
    inside = real[(real >= joint.limits.lower - 1e-9) & (real <= joint.limits.upper + 1e-9)]
    if not len(inside):
        raise ModelError(
            f"joint {loop.joint_a!r} cannot be locked at {a:g}: {loop.name!r} couples it to {joint.name!r}, which "
            f"reaches no such position within [{joint.limits.lower:g}, {joint.limits.upper:g}]"
        )
    return float(min(inside, key=abs))


def _can_open(model: Model, loop: LoopClosure) -> bool:
    """Whether anything moves between the two sides of a loop."""
    if loop.kind == "joint":
        return any(name is not None and model.joints[name].moving for name in (loop.joint_a, loop.joint_b))
    above = {joint.child: joint for joint in model.joints.values()}
    ends = []
    for frame in (loop.frame_a, loop.frame_b):
        link = None if frame is None else frame.parent
        while link is not None and not above[link].moving:
            link = above[link].parent
        ends.append(link)
    return ends[0] != ends[1]


def with_base(model: Model, *, floating: bool) -> Model:
    """The robot with its root set free, or held where its base has its zero."""
    root = next((joint for joint in model.joints.values() if joint.parent is None), None)
    if floating == (model.base is not None):
        return model
    if root is None or not isinstance(root.type, Fixed | Floating):
        raise ModelError(f"robot {model.name!r} cannot float: joints other than fixed ones connect it to the world")
    held, free = replace(root, type=Fixed()), replace(root, type=Floating(), origin=pose(), tail=pose())

    def change(joint: Joint) -> Joint:
        return joint if joint is not root else free if floating else held

    standing = {name: q for name, q in model.standing.items() if name != root.name}
    return reassemble(replace(model, standing=standing), change)


def with_motors(model: Model, *, actuated: Iterable[str] = (), passive: Iterable[str] = ()) -> Model:
    """The robot with motors on more joints, and on fewer.

    Args:
        actuated: names of joints that have motors, whatever the description says.
        passive: names of joints that have none.
    """
    given, taken = _joint_names("actuated", actuated), _joint_names("passive", passive)
    for name in [*given, *taken]:
        _require_own_coordinate(model, name)
    for name in given & taken:
        raise ModelError(f"joint {name!r} cannot be actuated and passive at once")
    for name in given:
        if isinstance(model.joints[name].type, Floating):
            raise ModelError(
                f"joint {name!r} is free, so no motor can act on it; joints between two bodies can have one"
            )

    def change(joint: Joint) -> Joint:
        return replace(
            joint, actuated=True if joint.name in given else False if joint.name in taken else joint.actuated
        )

    return reassemble(model, change) if given or taken else model


def _joint_names(what: str, names: Iterable[str]) -> set[str]:
    if isinstance(names, str):
        raise ModelError(f"{what} is a list of joint names, got the text {names!r}; write [{names!r}]")
    return set(names)


def _require_own_coordinate(model: Model, name: str) -> None:
    free = {n: joint for n, joint in model.joints.items() if joint.moving and joint is not model.base}
    if name not in free:
        raise unknown_name("joint", name, free)
    mimic = free[name].mimic
    if mimic is not None:
        raise ModelError(
            f"joint {name!r} follows {mimic.leader!r}, and the motor is that joint's: name {mimic.leader!r}"
        )


# --- limits and masses ------------------------------------------------------------------------------------------------


def with_limits(model: Model, joints: Iterable[str] | None, **limits: float | None) -> Model:
    """The robot with other limits.

    Args:
        joints: names of the joints; all with one degree of freedom and a coordinate of their own if None.
        limits: of "lower", "upper", "velocity", "effort" those that change; infinity for none.
    """
    given = {what: float(value) for what, value in limits.items() if value is not None}
    every = [name for name, joint in model.joints.items() if joint.type.nv == 1 and joint.mimic is None]
    names = set(every) if joints is None else _joint_names("joints", joints)
    for name in names:
        _require_own_coordinate(model, name)
    _require_limits(model, names, given)

    def change(joint: Joint) -> Joint:
        return replace(joint, limits=replace(joint.limits, **given)) if joint.name in names else joint

    return reassemble(model, change)


def _require_limits(model: Model, names: Iterable[str], given: Mapping[str, float]) -> None:
    for what in ("velocity", "effort"):
        if not given.get(what, 0.0) >= 0:  # so written, NaN is refused too
            raise ModelError(f"a limit of {what} is zero or more, got {given[what]}")
    for name in names:
        joint = model.joints[name]
        if joint.type.nq != 1 and given.keys() & {"lower", "upper"}:
            kind = f"{joint.type.name}, {joint.type.nq} coordinates"
            raise ModelError(
                f"joint {name!r} ({kind}) has no lower and upper limit; velocity and effort can be limited"
            )
        bounds = replace(joint.limits, **given)
        if not bounds.lower <= bounds.upper:
            raise ModelError(f"joint {name!r} needs lower ≤ upper, got lower={bounds.lower}, upper={bounds.upper}")


def with_inertia(model: Model, link: str, inertia: Inertia | None) -> Model:
    """The robot with another mass, centre of mass and inertia of one link."""
    if link not in model.links:
        raise unknown_name("link", link, model.links)
    changed = replace(model.links[link], inertia=inertia)
    return replace(model, links={**model.links, link: changed})


def with_payload(model: Model, link: str, payload: Inertia) -> Model:
    """The robot with something rigidly on a link."""
    if link not in model.links:
        raise unknown_name("link", link, model.links)
    own = model.links[link].inertia
    return with_inertia(model, link, payload if own is None else combined([own, payload]))
