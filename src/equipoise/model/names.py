"""What names say of sides and ends: the last argument, where geometry leaves a choice."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LEFT = {"left", "l", "lf", "lh", "lr", "lm", "fl", "hl", "rl", "bl", "ml", "lleg", "larm"}
_RIGHT = {"right", "r", "rf", "rh", "rr", "rm", "fr", "hr", "br", "mr", "rleg", "rarm"}
_FRONT = {"front", "fore", "f", "fl", "fr", "lf", "rf", "forward"}
_HIND = {"hind", "rear", "back", "h", "hl", "hr", "lh", "rh", "bl", "br", "rl", "rr", "b"}
_FINGER = re.compile(r"finger|thumb|gripper|jaw|knuckle|index|pinky|claw", re.IGNORECASE)
_FINGER_LINK = re.compile(r"finger|fngr|thumb|jaw|knuckle|claw", re.IGNORECASE)  # a gripper's link may be its palm


def words(name: str) -> list[str]:
    """A name in its parts: "LeftHipX_joint1" → left, hip, x, joint, 1."""
    return [part.lower() for part in _PARTS.findall(name)]


def side(names: Iterable[str], others: Iterable[str] = ()) -> int:
    """+1 if more names say left than right, −1 if fewer, 0 if neither.

    Args:
        others: names of limbs on the other side. Where a name and one of them differ by an l and an r alone, that
            letter says it: in "ll_knee" and "lr_knee" the first is the leg.
    """
    names = list(names)
    known = set(others)
    by_letter = sum(
        (swapped(name, "l", "r") & known != set()) - (swapped(name, "r", "l") & known != set()) for name in names
    )
    return (by_letter > 0) - (by_letter < 0) if by_letter else _sign(names, _LEFT, _RIGHT)


def swapped(name: str, letter: str, other: str) -> set[str]:
    """The name with one letter changed into the other, at each of its places."""
    both = ((letter, other), (letter.upper(), other.upper()))
    return {name[:k] + new + name[k + 1 :] for k, c in enumerate(name) for old, new in both if c == old}


def end(names: Iterable[str]) -> int:
    """+1 if more names say front than hind, −1 if fewer, 0 if neither."""
    return _sign(names, _FRONT, _HIND)


def is_finger(joint: str, link: str = "") -> bool:
    """Whether the name of a joint, or of the link that it moves, is that of a finger."""
    return _FINGER.search(joint) is not None or _FINGER_LINK.search(link) is not None


def _sign(names: Iterable[str], yes: set[str], no: set[str]) -> int:
    count = 0
    for name in names:
        parts = set(words(name))
        count += _says(parts, yes) - _says(parts, no)
    return (count > 0) - (count < 0)


def _says(parts: set[str], wanted: set[str]) -> bool:
    """Whether a part is a wanted word, or begins with a long one: "lefthiproll"."""
    return bool(parts & wanted) or any(part.startswith(word) for part in parts for word in wanted if len(word) > 3)
