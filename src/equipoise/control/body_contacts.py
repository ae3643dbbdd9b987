"""Contacts of a body's parts: how its feet and hands touch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..body.body import Body
from ..body.parts import Part
from ..errors import unknown_name
from ..geometry.primitives import Plane
from .contacts import Contact, FlatContact, PointContact
from .item import TaskError

Array = np.ndarray
FRICTION = 0.7
ENDS = ("toe", "heel")
# of a contact: pose (4×4), place of a point (3), a plane; None: where it is
Place: TypeAlias = ArrayLike | Plane | None
ContactsAt: TypeAlias = Mapping[Contact, Place] | Mapping[str, Place] | Mapping[Contact | str, Place]


def contacts_of_body(body: Body, roles: Iterable[str] | None = None, friction: float = FRICTION) -> list[Contact]:
    """The contacts of parts of a body, named by their roles; those of lines are two points, "left foot toe" and "left
    foot heel".

    Args:
        roles: of the parts; all feet if not given.
        friction: coefficient.
    """
    found = []
    for role in body.feet if roles is None else roles:
        if role not in body.parts:
            raise unknown_name("part", role, body.parts)
        found += part_contacts(body.frames[role], role, body.parts[role], friction)
    return found


def part_contacts(frame: str, role: str, part: Part, friction: float = FRICTION) -> list[Contact]:
    """How a part touches: a flat, the two ends of a line, or a point."""
    if part.contact == "flat":
        return [_flat(frame, role, part, friction)]
    if part.contact == "line":
        points = [(*corner, 0.0) for corner in sorted(part.corners, reverse=True)]  # x is ahead: the toe comes first
        return [
            PointContact(frame, name=f"{role} {end}", point=point, friction=friction)
            for end, point in zip(ENDS, points, strict=True)
        ]
    return [PointContact(frame, name=role, friction=friction)]


def palm(body: Body | Sequence[Contact], hand: FlatContact | str) -> FlatContact:
    """A flat contact as it is given, or that of a body's part by its role."""
    if not isinstance(hand, str):
        return hand
    if not isinstance(body, Body):
        raise TaskError(f"{hand!r} is no contact; roles such as 'left hand' need the robot's Body: eq.Body.of(robot)")
    if hand not in body.parts:
        raise unknown_name("part", hand, body.parts)
    if body.parts[hand].contact != "flat":
        raise TaskError(
            f'the {hand} of {body.robot.name!r} is no flat palm; give corners in [parts."{hand}"] of its profile'
        )
    return _flat(body.frames[hand], hand, body.parts[hand], FRICTION)


def _flat(frame: str, role: str, part: Part, friction: float) -> FlatContact:
    return FlatContact(frame, name=role, corners=np.array(part.corners), friction=friction)


def contacts_by_role(body: Body | None, given: ContactsAt) -> dict[Contact, Place]:
    """Contacts with what is given of each; roles of a body's parts stand for their contacts, as do labels of these."""
    found: dict[Contact, Place] = {}
    for contact, value in given.items():
        if isinstance(contact, Contact):
            found[contact] = value
            continue
        if body is None:
            raise TaskError(
                f"{contact!r} is no contact; roles such as 'left foot' need the robot's Body: eq.Body.of(robot)"
            )
        role = contact if contact in body.parts else contact.rpartition(" ")[0]
        own = contacts_of_body(body, [role if role in body.parts else contact])
        chosen = own if role == contact else [one for one in own if one.label == contact]
        if not chosen:
            raise unknown_name("contact", contact, [one.label for one in own])
        if (
            len(chosen) > 1
            and value is not None
            and not isinstance(value, Plane)
            and np.shape(np.asarray(value)) == (3,)
        ):
            ends = " and ".join(repr(one.label) for one in chosen)
            raise TaskError(f"{contact!r} touches along a line: give its pose (4×4), or the places of {ends}")
        found |= dict.fromkeys(chosen, value)
    return found


def named_contacts(contacts: Sequence[Contact] | Body, names: Iterable[str]) -> tuple[Contact, ...]:
    """Contacts as they are given; of a body those that have the names."""
    if not isinstance(contacts, Body):
        return tuple(contacts)
    wanted = set(names)
    parts = [role for role in contacts.parts if role in contacts.feet or role in contacts.hands]
    return tuple(contact for contact in contacts_of_body(contacts, parts) if contact.label in wanted)
