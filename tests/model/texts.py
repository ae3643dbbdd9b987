"""Small descriptions as text, and what loading them warns of."""

from __future__ import annotations

import warnings
from pathlib import Path

import equipoise as eq

SOLID = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
LIMIT = '<limit lower="-1" upper="1" effort="5" velocity="2"/>'
INERTIAL = '<inertial mass="1" pos="0 0 0" diaginertia="0.1 0.1 0.1"/>'


def link(name: str, inside: str = SOLID) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(name: str, parent: str, child: str, inside: str = LIMIT, kind: str = "revolute") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}<origin xyz="0 0.1 0.3"/><axis xyz="1 0 0"/>{inside}</joint>'


def pair(inside: str = LIMIT, extra: str = "", name: str = "j") -> str:
    """Two links and a joint."""
    return f'<robot name="pair">{link("a")}{link("b")}{joint(name, "a", "b", inside)}{extra}</robot>'


def told(source: str | Path, floating: bool | None = True, **options: object) -> tuple[eq.Robot, list[str]]:
    """The robot, and what loading it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = eq.load(source, floating=floating, **options)  # type: ignore[arg-type]
    return robot, [str(w.message) for w in caught if issubclass(w.category, eq.ModelWarning)]


def with_mesh(filename: str) -> str:
    visual = f'<visual><geometry><mesh filename="{filename}"/></geometry></visual>'
    return f'<robot name="r">{link("a", SOLID + visual)}</robot>'
