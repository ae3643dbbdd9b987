"""Profiles: what is known of a body, as a TOML file that people read and edit.

Every key may be left out; what a file does not say is found. `text` writes all of it, so that a saved profile needs no
search.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import EquipoiseError, unknown_name
from ..files import MAX_TEXT, read_bounded
from .anatomy import Finding
from .parts import CONTACTS, Part

if TYPE_CHECKING:
    from ..robot import Robot

KEYS = (
    "robot",
    "mass",
    "kind",
    "up",
    "front",
    "fingers",
    "wheels",
    "parts",
    "standing",
    "touching",
    "groups",
    "finding",
)
LARGEST = 1e9  # m, rad or kg: what no body has
PART_KEYS = ("link", "position", "rpy", "contact", "corners", "joints")


class BodyError(EquipoiseError):
    """Who is who cannot be found, or a profile is not of the robot. The message says what to write in the profile."""


@dataclass(frozen=True)
class Profile:
    """What a file says of a body; None and empty where it says nothing.

    Attributes:
        robot, mass: of the robot it is for; kg.
        up, front: unit vectors in the base's axes.
        fingers: joints that stay where they are. wheels: links.
        parts: by role. standing: joint positions, rad or m.
        touching: pairs of links that may touch each other.
        groups: joints by the name that somebody gave them together.
    """

    robot: str | None = None
    mass: float | None = None
    kind: str | None = None
    up: tuple[float, float, float] | None = None
    front: tuple[float, float, float] | None = None
    fingers: tuple[str, ...] | None = None
    wheels: tuple[str, ...] = ()
    parts: Mapping[str, Part] = field(default_factory=dict)
    standing: Mapping[str, float] = field(default_factory=dict)
    touching: tuple[tuple[str, str], ...] = ()
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether nothing is left to be found."""
        settled = self.kind is not None and self.up is not None and self.front is not None and self.fingers is not None
        limbs = [part for role, part in self.parts.items() if {"foot", "hand"} & set(role.split())]
        return settled and bool(self.parts) and all(part.joints for part in limbs)


# --- reading ----------------------------------------------------------------------------------------------------------


def read(source: str | Path) -> Profile:
    """The profile of a file, or of TOML text with a line break in it."""
    name, content = ("profile", str(source)) if "\n" in str(source) else (str(source), _content(Path(source)))
    try:
        table = tomllib.loads(content)
    except (ValueError, RecursionError) as error:  # not TOML; or brackets in brackets without end
        raise BodyError(f"{name} is not TOML: {error}") from None
    for key in table:
        if key not in KEYS:
            raise BodyError(f"{name}: {unknown_name('key', key, KEYS)}")
    standing, groups = (_table(name, key, table.get(key, {})) for key in ("standing", "groups"))
    return Profile(
        robot=_word(name, "robot", table.get("robot")),
        mass=None if "mass" not in table else _number(name, "mass", table["mass"]),
        kind=_word(name, "kind", table.get("kind")),
        up=_direction(name, "up", table.get("up")),
        front=_direction(name, "front", table.get("front")),
        fingers=None if "fingers" not in table else _words(name, "fingers", table["fingers"]),
        wheels=_words(name, "wheels", table.get("wheels", [])),
        parts={role: _part(name, role, given) for role, given in _table(name, "parts", table.get("parts", {})).items()},
        standing={joint: _number(name, f"standing.{joint}", x) for joint, x in standing.items()},
        touching=tuple(_pair(name, given) for given in _list(name, "touching", table)),
        groups={group: _words(name, f"groups.{group}", joints) for group, joints in groups.items()},
        findings=tuple(_finding(name, given) for given in _list(name, "finding", table)),
    )


def _content(path: Path) -> str:
    try:
        return read_bounded(path, MAX_TEXT).decode("utf-8")
    except (OSError, ValueError) as error:
        raise BodyError(f"profile {path} cannot be read: {error}") from None


def _part(name: str, role: str, given: Any) -> Part:
    table = _table(name, f"parts.{role}", given)
    for key in table:
        if key not in PART_KEYS:
            raise BodyError(f"{name}: parts.{role!r}: {unknown_name('key', key, PART_KEYS)}")
    if "link" not in table:
        raise BodyError(f'{name}: parts.{role!r} needs a link, as in: link = "left_sole"')
    corners = _list(name, "corners", table)
    contact = table.get("contact", "flat" if len(corners) > 2 else "line" if len(corners) == 2 else "none")
    if not isinstance(contact, str) or contact not in CONTACTS:
        raise BodyError(f"{name}: parts.{role!r}: {unknown_name('kind of contact', contact, CONTACTS)}")
    wanted = {"flat": "three corners or more", "line": "two corners"}.get(contact)
    if (contact == "flat" and len(corners) < 3) or (contact == "line" and len(corners) != 2):
        raise BodyError(
            f"{name}: parts.{role!r}: a contact of kind {contact!r} has {wanted}, [x, y] in m each; got {corners!r}"
        )
    return Part(
        link=str(table["link"]),
        position=_three(name, f"{role} position", table.get("position", [0, 0, 0])),
        rpy=_three(name, f"{role} rpy", table.get("rpy", [0, 0, 0])),
        contact=contact,
        corners=tuple(_two(name, f"{role} corner", corner) for corner in corners),
        joints=_words(name, f"{role} joints", table.get("joints", [])),
    )


def _table(name: str, what: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise BodyError(f"{name}: {what} is a table, got {given!r}")
    return given


def _list(name: str, what: str, table: Mapping[str, Any]) -> list[Any]:
    given = table.get(what, [])
    if not isinstance(given, list):
        raise BodyError(f"{name}: {what} is a list in brackets, got {str(given)[:40]!r}")
    return given


def _word(name: str, what: str, given: Any) -> str | None:
    if given is not None and not isinstance(given, str):
        raise BodyError(f"{name}: {what} is a name in quotes, got {given!r}")
    return given


def _words(name: str, what: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(x, str) for x in given):
        raise BodyError(f"{name}: {what} is a list of names, got {given!r}")
    return tuple(given)


def _number(name: str, what: str, given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not abs(given) < LARGEST:
        raise BodyError(f"{name}: {what} is a finite number below {LARGEST:g}, got {str(given)[:40]}")
    return float(given)


def _numbers(name: str, what: str, given: Any, count: int) -> tuple[float, ...]:
    if not isinstance(given, list) or len(given) != count:
        raise BodyError(f"{name}: {what} is {count} numbers, got {given!r}")
    return tuple(_number(name, what, x) for x in given)


def _three(name: str, what: str, given: Any) -> tuple[float, float, float]:
    x, y, z = _numbers(name, what, given, 3)
    return x, y, z


def _two(name: str, what: str, given: Any) -> tuple[float, float]:
    x, y = _numbers(name, what, given, 2)
    return x, y


def _direction(name: str, what: str, given: Any) -> tuple[float, float, float] | None:
    if given is None:
        return None
    d = np.array(_three(name, what, given))
    length = float(np.linalg.norm(d))
    if not length > 1e-6:
        raise BodyError(f"{name}: {what} is a direction in the base's axes, such as [1, 0, 0]; got {given!r}")
    x, y, z = d / length
    return float(x), float(y), float(z)


def _pair(name: str, given: Any) -> tuple[str, str]:
    names = _words(name, "touching", given)
    if len(names) != 2:
        raise BodyError(f"{name}: touching is a list of pairs of links, got {given!r}")
    return names[0], names[1]


def _finding(name: str, given: Any) -> Finding:
    try:
        return Finding(str(given["what"]), str(given["value"]), str(given["reason"]), float(given["confidence"]))
    except (KeyError, TypeError, ValueError):
        raise BodyError(f"{name}: a finding has what, value, reason and confidence; got {given!r}") from None


# --- fitting ----------------------------------------------------------------------------------------------------------


def check(profile: Profile, robot: Robot, name: str = "profile") -> None:
    """Refuse a profile that names what the robot has not."""
    for role, part in profile.parts.items():
        if part.link not in robot.links:
            raise BodyError(f"{name}: parts.{role!r}: {unknown_name('link', part.link, robot.links)}")
    grouped = [(f"groups.{group}", joints) for group, joints in profile.groups.items()]
    for what, joints in (("fingers", profile.fingers or ()), ("standing", profile.standing), *grouped):
        for joint in joints:
            if joint not in robot.joints:
                raise BodyError(f"{name}: {what}: {unknown_name('joint', joint, robot.joints)}")


def fits(profile: Profile, robot: Robot) -> bool:
    """Whether a profile that comes with the package is of this very robot: its name, its mass, its parts."""
    if profile.robot != robot.name or profile.mass is None or abs(profile.mass - robot.mass) > 0.01 * robot.mass:
        return False
    return all(part.link in robot.links for part in profile.parts.values())


# --- writing ----------------------------------------------------------------------------------------------------------


def text(profile: Profile) -> str:
    """A profile as TOML, doubtful findings first."""
    lines = [f"# Who is who on {profile.robot or 'a robot'}. Edit what is wrong; what is left out is found anew.", ""]
    for key in ("robot", "mass", "kind", "up", "front"):
        value = getattr(profile, key)
        if value is not None:
            comment = "  # in the base's axes" if key in ("up", "front") else "  # kg" if key == "mass" else ""
            lines.append(f"{key} = {_toml(value)}{comment}")
    lines.append(f"fingers = {_toml(profile.fingers or ())}  # joints that stay where they are")
    if profile.wheels:
        lines.append(f"wheels = {_toml(profile.wheels)}  # links")
    if profile.touching:
        lines.append(f"touching = {_toml(profile.touching)}  # pairs of links that may touch")
    for role, part in profile.parts.items():
        lines += ["", f"[parts.{_toml(role)}]", f"link = {_toml(part.link)}"]
        lines += [f"position = {_toml(part.position)}  # m, in the link", f"rpy = {_toml(part.rpy)}  # rad"]
        lines.append(f"contact = {_toml(part.contact)}")
        if part.corners:
            lines.append(f"corners = {_toml(part.corners)}  # m, in the part's x and y")
        if part.joints:
            lines.append(f"joints = {_toml(part.joints)}")
    if profile.standing:
        lines += ["", "[standing]  # rad or m"]
        lines += [f"{_toml(joint)} = {_toml(x)}" for joint, x in profile.standing.items()]
    if profile.groups:
        lines += ["", "[groups]  # joints that belong together"]
        lines += [f"{_toml(group)} = {_toml(joints)}" for group, joints in profile.groups.items()]
    for finding in sorted(profile.findings, key=lambda f: f.confidence):
        lines += ["", "[[finding]]", f"what = {_toml(finding.what)}", f"value = {_toml(finding.value)}"]
        lines += [f"reason = {_toml(finding.reason)}", f"confidence = {_toml(finding.confidence)}"]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, str):
        escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\u{ord(c):04x}" for c in value)
        return f'"{escaped}"'
    if isinstance(value, Sequence):
        return "[" + ", ".join(_toml(x) for x in value) + "]"
    if isinstance(value, float):
        return repr(round(value, 9) + 0.0)
    return str(value)
