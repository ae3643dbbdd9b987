"""SRDF files beside a URDF: groups of joints, end effectors, named postures and pairs of links that may touch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ModelError
from ..model import xml

if TYPE_CHECKING:
    from ..robot import Robot

# group states taken for standing, first come
STANDING = ("half_sitting", "standing", "stand", "home", "default", "initial")


@dataclass(frozen=True)
class Group:
    """What a group lists: joints, links (each with the joint that moves it), chains (base link, tip link), other
    groups."""

    joints: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    chains: tuple[tuple[str, str], ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class Semantics:
    """What an SRDF file says.

    Attributes:
        groups: by name.
        states: joint positions (rad or m) by name of the state; groups of one state name are one posture.
        touching: pairs of links whose collisions are disabled.
        ends: links of end effectors.
    """

    groups: Mapping[str, Group] = field(default_factory=dict)
    states: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    touching: tuple[tuple[str, str], ...] = ()
    ends: tuple[str, ...] = ()

    @property
    def standing(self) -> Mapping[str, float]:
        """The posture whose name says standing; empty if none does."""
        return next((self.states[name] for name in STANDING if name in self.states), {})


def joints_of_groups(semantics: Semantics, robot: Robot) -> dict[str, tuple[str, ...]]:
    """The joints of each group that move by themselves, in file order; what the robot does not have is left out."""
    own = [name for name, joint in robot.joints.items() if joint.moving and joint.mimic is None]
    found = {}
    for name in semantics.groups:
        listed = _joints(semantics, robot, name, set())
        found[name] = tuple(joint for joint in own if joint in listed)
    return {name: joints for name, joints in found.items() if joints}


def _joints(semantics: Semantics, robot: Robot, name: str, seen: set[str]) -> set[str]:
    """All joints of a group and of the groups in it; `seen` ends circles."""
    group = semantics.groups.get(name)
    if group is None or name in seen:
        return set()
    seen.add(name)
    above = {joint.child: joint for joint in robot.model.joints.values()}
    found = set(group.joints) | {above[link].name for link in group.links if link in above}
    for base, tip in group.chains:
        link: str | None = tip
        while link is not None and link != base and link in above:
            found.add(above[link].name)
            link = above[link].parent
    return found.union(*(_joints(semantics, robot, inner, seen) for inner in group.groups))


def beside(source: str | Path) -> Path | None:
    """The SRDF file of a URDF: of its name, in its folder or in a folder "srdf" beside it; the only one there will
    do."""
    path = Path(source)
    folders = [path.parent, path.parent / "srdf", path.parent.parent / "srdf"]
    for folder in folders:
        if (folder / f"{path.stem}.srdf").is_file():
            return folder / f"{path.stem}.srdf"
    for folder in folders:
        found = sorted(filter(Path.is_file, folder.glob("*.srdf"))) if folder.is_dir() else []
        if len(found) == 1:
            return found[0]
    return None


def read(path: Path) -> Semantics:
    """An SRDF file; numbers that are none are left out, as are joints with several positions."""
    try:
        root = xml.parse(xml.load(path))
    except ModelError as error:
        raise ModelError(f"{path.name}: {error}") from None
    states: dict[str, dict[str, float]] = {}
    for state in root.all("group_state"):
        posture = states.setdefault(str(state.get("name")), {})
        for joint in state.all("joint"):
            value = _number(joint.get("value"))
            if value is not None and joint.get("name") is not None:
                posture[str(joint.get("name"))] = value
    pairs = [(str(x.get("link1")), str(x.get("link2"))) for x in root.all("disable_collisions")]
    ends = [str(x.get("parent_link")) for x in root.all("end_effector") if x.get("parent_link")]
    groups = {str(group.get("name")): _group(group) for group in root.all("group") if group.get("name")}
    return Semantics(groups, states, tuple(pairs), tuple(ends))


def _group(element: xml.Element) -> Group:
    joints, links, groups = (
        tuple(str(x.get("name")) for x in element.all(tag) if x.get("name")) for tag in ("joint", "link", "group")
    )
    chains = tuple((str(x.get("base_link")), str(x.get("tip_link"))) for x in element.all("chain"))
    return Group(joints, links, chains, groups)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if abs(value) < 1e6 else None  # NaN fails too
