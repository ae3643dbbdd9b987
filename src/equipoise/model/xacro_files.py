"""Xacro files, expanded by xacro itself in a process that may do little else."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

from ..errors import EquipoiseError, ModelError, ModelWarning, missing_package
from . import xml

SECONDS = 30.0  # of one processor; the largest robots take one
START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from equipoise.model.xacro_process import main; main()"
)


def expanded(path: str | Path, data: bytes | str, seconds: float = SECONDS) -> str:
    """Returns the URDF text of a xacro file.

    Args:
        path: of the file.
        data: its content, in which entities are refused before xacro sees it.
        seconds: of processor time after which it is given up.
    """
    if importlib.util.find_spec("xacro") is None:
        raise missing_package("xacro", "xacro", "expanding a .xacro file")
    try:
        xml.parse(data)
    except EquipoiseError as error:
        raise xml.named_after(path, error) from None
    answer = _answer(path, seconds)
    if answer["notes"]:
        warnings.warn(f"{xml.label(path)}: xacro says: {'; '.join(answer['notes'])}", ModelWarning, stacklevel=4)
    if "text" in answer:
        return str(answer["text"])
    reason = xml.shortened(" ".join(answer["error"].split()), 400)
    found = ". $(find …) needs ROS: expand it there, xacro FILE.xacro > robot.urdf" if "ament_index" in reason else ""
    raise ModelError(f"{xml.label(path)}: xacro cannot expand it: {reason}{found}")


def _answer(path: str | Path, seconds: float) -> dict[str, Any]:
    """What the process says: `text` or `error`, and `notes`."""
    request = json.dumps({"path": os.path.abspath(path), "seconds": seconds})
    command = [sys.executable, "-c", START, json.dumps(sys.path)]
    ended = f"ended without a result (it may use {seconds:g} s of a processor and 1 GiB of memory)"
    try:
        done = subprocess.run(command, input=request, capture_output=True, text=True, timeout=10 * seconds, check=False)
    except subprocess.TimeoutExpired:
        return {"error": ended, "notes": []}
    try:
        return dict(json.loads(done.stdout))
    except ValueError:
        said = done.stderr.strip().splitlines()[-1:]  # of a start that failed
        return {"error": ": ".join([ended, *said]), "notes": []}
