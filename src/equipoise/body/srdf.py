"""SRDF files beside a URDF: named postures and pairs of links that may touch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import ModelError
from ..model import xml

STANDING = ("half_sitting", "standing", "stand", "home", "default", "initial")  # group states taken for standing, first come


@dataclass(frozen=True)
class Semantics:
    """What an SRDF file says.

    Attributes:
        states: joint positions (rad or m) by name of the state; groups of one state name are one posture.
        touching: pairs of links whose collisions are disabled.
        ends: links of end effectors.
    """

    states: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    touching: tuple[tuple[str, str], ...] = ()
    ends: tuple[str, ...] = ()

    @property
    def standing(self) -> Mapping[str, float]:
        """The posture whose name says standing; empty if none does."""
        return next((self.states[name] for name in STANDING if name in self.states), {})


def beside(source: str | Path) -> Path | None:
    """The SRDF file of a URDF: of its name, in its folder or in a folder "srdf" beside it; the only one there will do."""
    path = Path(source)
    folders = [path.parent, path.parent / "srdf", path.parent.parent / "srdf"]
    for folder in folders:
        if (folder / f"{path.stem}.srdf").is_file():
            return folder / f"{path.stem}.srdf"
    for folder in folders:
        found = sorted(folder.glob("*.srdf")) if folder.is_dir() else []
        if len(found) == 1:
            return found[0]
    return None


def read(path: Path) -> Semantics:
    """An SRDF file; numbers that are none are left out, as are joints with several positions."""
    try:
        root = xml.parse(path.read_bytes())
    except (ModelError, OSError) as error:
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
    return Semantics(states, tuple(pairs), tuple(ends))


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if abs(value) < 1e6 else None  # NaN fails too
