"""Xacro files, expanded by xacro itself."""

from __future__ import annotations

from pathlib import Path

from ..errors import EquipoiseError, ModelError, missing_package
from . import xml


def expanded(path: str | Path, data: bytes | str) -> str:
    """The URDF text of a xacro file.

    Args:
        path: of the file.
        data: its content, in which entities are refused before xacro sees it.
    """
    try:
        import xacro
    except ImportError as error:
        raise missing_package("xacro", "xacro", "expanding a .xacro file") from error
    try:
        xml.parse(data)
        return str(xacro.process_file(str(path)).toxml())
    except EquipoiseError as error:
        raise xml.named_after(path, error) from None
    except (
        Exception
    ) as error:  # of many kinds: its own, those of its expressions, of the XML reader, of missing packages
        reason = xml.shortened(" ".join(str(error).split()) or type(error).__name__, 400)
        found = (
            ". $(find …) needs ROS: expand it there, xacro FILE.xacro > robot.urdf" if "ament_index" in reason else ""
        )
        raise ModelError(f"{xml.label(path)}: xacro cannot expand it: {reason}{found}") from error
