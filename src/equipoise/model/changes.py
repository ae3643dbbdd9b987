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
from .types import Inertia, Joint, Model


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
    """The robot with the named joints held at given positions. Followers of a locked joint are locked with it."""
    for name in positions:
        if name not in model.joints:
            raise unknown_name("joint", name, model.joints)
        if model.joints[name].mimic is not None:
            raise ModelError(f"joint {name!r} follows {model.joints[name].mimic.leader!r}; lock that one instead")  # type: ignore[union-attr]

    def change(joint: Joint) -> Joint:
        leader = joint.name if joint.mimic is None else joint.mimic.leader
        if leader not in positions:
            return joint
        q = np.atleast_1d(np.asarray(positions[leader], dtype=float))
        if q.shape != (joint.type.nq,) or not np.isfinite(q).all():
            wanted = f"joint {leader!r} ({joint.type.name}) is locked by {joint.type.nq} finite numbers"
            raise ModelError(f"{wanted}, got {positions[leader]!r}")
        if joint.mimic is not None:
            q = joint.mimic.multiplier * q + joint.mimic.offset
        R, p = joint.type.pose(q, NUMBERS)
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = R, p
        return replace(joint, type=Fixed(), origin=joint.origin @ X, mimic=None)

    return reassemble(model, change)


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
