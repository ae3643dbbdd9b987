"""Robots by name: those of the library, and those that installed packages bring as files. Nothing is downloaded."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ModelError, UnknownNameError, unknown_name
from . import installed, xml
from .changes import with_base
from .types import STANDARD_GRAVITY, Model

_FILE_ENDINGS = (".urdf", ".xml", ".mjcf", ".xacro", ".sdf", ".usd", ".usda", ".usdc", ".usdz")
_UNREAD = {  # formats that robots come in and that are not read: ending or root element → what to do
    "usd": "USD is not read. Isaac Sim and Omniverse export robots as URDF, MuJoCo as MJCF: load that file.",
    "sdf": "SDF is not read: write the robot as URDF or MJCF. Most SDF robots come with the URDF that they were "
    "made from.",
}


def read(
    source: str | Path, *, floating: bool | None = None, gravity: Sequence[float] = STANDARD_GRAVITY, **parameters: Any
) -> Model:
    """The robot of a file, of XML text, or of a name.

    Args:
        source: path of a URDF or MJCF file, its text, or one of `known_names()`.
        floating: whether the base floats. None: of a URDF as `with_settled_base` finds; MJCF and built-in
            robots are as they are described.
        gravity: acceleration of free fall in the world, m/s².
        parameters: of the built-in robot, such as `height` of "human".
    """
    if not isinstance(source, str | Path):
        raise ModelError(
            f"a robot is a path, XML text or a name, not {type(source).__name__} {xml.shortened(repr(source))}"
        )
    found = source if _is_file_or_text(source) else _require_found(str(source))
    if callable(found):
        return _built_in(str(source), found, floating, gravity, parameters)
    if parameters:
        raise ModelError(f"a robot from a file takes no parameters, got {', '.join(parameters)}")
    path = None if isinstance(found, str) and xml.is_text(found) else os.path.abspath(os.path.expanduser(found))
    return replace(_read_file(found, floating, gravity), source=path)


def find(name: str) -> Path | Callable[..., Model] | None:
    """Returns the function of a built-in robot, the file of one that an installed package brings, None for others."""
    from .robots import BUILT_IN

    return BUILT_IN[name] if name in BUILT_IN else installed.find(name)


def known_names() -> list[str]:
    """Names that `read` takes here: built-in robots, then those of the packages that are installed."""
    from .robots import BUILT_IN

    return list(dict.fromkeys([*BUILT_IN, *(name for robots in installed.by_package().values() for name in robots)]))


# Dispatch


def _is_file_or_text(source: str | Path) -> bool:
    if isinstance(source, Path) or xml.is_text(source):
        return True
    return os.sep in source or "/" in source or source.lower().endswith(_FILE_ENDINGS)


def _require_found(name: str) -> str | Path | Callable[..., Model]:
    found = find(name)
    if found is not None:
        return found
    if os.path.isfile(name):
        return name
    installed.require_package_of(name)
    error = unknown_name("robot", xml.shortened(name), known_names())
    raise UnknownNameError(f"{error} The path of a URDF or MJCF file, or its text, works too.")


def _read_file(source: str | Path, floating: bool | None, gravity: Sequence[float]) -> Model:
    ending = "" if xml.is_text(source) else Path(source).suffix.lower()
    if ending.startswith(".usd"):
        raise ModelError(f"{xml.label(source)}: {_UNREAD['usd']}")
    data = xml.load(source)
    try:
        tag = xml.root_tag(data)
    except ModelError as error:
        raise xml.named_after(source, error) from None
    if tag == "robot":
        from .urdf import read_urdf
        from .xacro_files import expanded

        text = expanded(source, data) if ending == ".xacro" else None
        return read_urdf(source, floating=floating, gravity=gravity, text=text)
    if tag == "sdf":
        raise ModelError(f"{xml.label(source)}: {_UNREAD['sdf']}")
    if tag == "mujoco":
        from .mjcf import read_mjcf

        return read_mjcf(source, floating=floating, gravity=gravity)
    raise ModelError(
        f"{xml.label(source)}: the root element is <{xml.shortened(tag)}>; "
        "robots are read from URDF (<robot>) and MJCF (<mujoco>)"
    )


def _built_in(
    name: str, make: Callable[..., Model], floating: bool | None, gravity: Sequence[float], parameters: dict[str, Any]
) -> Model:
    known = inspect.signature(make).parameters
    for parameter in parameters:
        if parameter not in known:
            raise unknown_name(f"parameter of robot {name!r}", parameter, known)
    gx, gy, gz = map(float, gravity)
    model = replace(make(**parameters), gravity=(gx, gy, gz))
    return model if floating is None else with_base(model, floating=floating)
