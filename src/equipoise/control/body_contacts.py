"""Contacts of a body's parts: how its feet and hands touch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..body.body import Body
from ..body.parts import Part
from ..errors import unknown_name
from .contacts import Contact, FlatContact, PointContact

Array = np.ndarray
FRICTION = 0.7
ENDS = ("toe", "heel")


def contacts_of_body(body: Body, roles: Iterable[str] | None = None, friction: float = FRICTION) -> list[Contact]:
    """The contacts of parts of a body, named by their roles; those of lines are two points, "left foot toe" and "left foot heel".

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
        return [FlatContact(frame, name=role, corners=np.array(part.corners), friction=friction)]
    if part.contact == "line":
        points = [(*corner, 0.0) for corner in part.corners]
        return [
            PointContact(frame, name=f"{role} {end}", point=point, friction=friction)
            for end, point in zip(ENDS, points, strict=True)
        ]
    return [PointContact(frame, name=role, friction=friction)]


def named_contacts(contacts: Sequence[Contact] | Body, names: Iterable[str]) -> tuple[Contact, ...]:
    """Contacts as they are given; of a body those that have the names."""
    if not isinstance(contacts, Body):
        return tuple(contacts)
    wanted = set(names)
    parts = [role for role in contacts.parts if role in contacts.feet or role in contacts.hands]
    return tuple(contact for contact in contacts_of_body(contacts, parts) if contact.label in wanted)
