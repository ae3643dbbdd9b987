"""Files of runs, read as what they may be: damaged, of a later version, or made to do harm.

Sizes are bounded before memory is taken, every array is checked to have the shape that its robot and its rows demand,
and whatever is wrong ends in a `RunError`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MissingPackageError
from ..files import read_arrays
from ..geometry import primitives
from ..model.checks import check
from ..model.types import Model
from .archive import RunError, decoded
from .contacts import ContactInfo
from .run_format import ARRAYS, FORMAT, KIND, MAPPINGS, OUTCOMES
from .world import Box

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
SOLIDS = (
    primitives.Point, primitives.Line, primitives.Segment, primitives.Plane, primitives.Sphere, primitives.Capsule, Box,
)  # fmt: skip


def read_run(path: Path, robot: Robot | None, max_bytes: int) -> tuple[Robot, dict[str, Any]]:
    """The robot of a run, and its other fields by name.

    Raises:
        RunError: whatever is wrong with the file.
    """
    if not path.is_file():
        raise RunError(f"no file {str(path)!r}")
    try:
        arrays = read_arrays(_source(path, max_bytes), max_bytes)
        header = _header(path, arrays)
        robot = _robot(path, header["robot"], robot)
        parts = _fields(arrays, header)
        for problem in _problems(robot, parts):
            raise ValueError(problem)
    except (RunError, MissingPackageError):
        raise
    except (
        Exception
    ) as error:  # a parser of hostile bytes can fail in any way; none may pass for a run or end a program
        raise RunError(f"{str(path)!r} is damaged or not a run: {type(error).__name__}: {error}") from None
    return robot, parts


def _source(path: Path, max_bytes: int) -> Path | bytes:
    """What holds the arrays: the file itself, or the run within an MCAP file."""
    if path.suffix != ".mcap":
        return path
    from .mcap_log import attached_run

    return attached_run(path, max_bytes)


def _header(path: Path, arrays: Mapping[str, Array]) -> dict[str, Any]:
    if "header" not in arrays:
        raise RunError(f"{str(path)!r} is not a run: it has no header. Its arrays are: {', '.join(arrays) or 'none'}")
    header = json.loads(arrays["header"].tobytes().decode())
    if not isinstance(header, dict) or header.get("format") != KIND:
        named = header.get("format") if isinstance(header, dict) else header
        raise RunError(f"{str(path)!r} is not a run: its header says {named!r}")
    if not isinstance(header["version"], int) or header["version"] > FORMAT:
        raise RunError(
            f"{str(path)!r} is of format {header['version']}; this version of Equipoise reads up to {FORMAT}. "
            "A later version wrote it: upgrade with pip install -U equipoise"
        )
    return header


def _robot(path: Path, saved: Mapping[str, Any], given: Robot | None) -> Robot:
    from ..robot import Robot

    if given is not None:
        if given.tree.digest != saved["digest"]:
            raise RunError(
                f"{str(path)!r} is a run of {saved['name']!r}, and the robot given ({given.name!r}) moves differently"
            )
        return given
    if saved["model"] is None:
        raise RunError(
            f"{str(path)!r} does not hold its robot, {saved['name']!r}, which has joints of its own type: give robot=…"
        )
    model = decoded(saved["model"])
    if not isinstance(model, Model):
        raise ValueError(f"its robot is a {type(model).__name__}")
    return Robot(model, check(model, quiet=True))


def _fields(arrays: Mapping[str, Array], header: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the run, all but the robot."""
    parts: dict[str, Any] = {name: arrays[name] for name in ARRAYS}
    for name in MAPPINGS:
        parts[name] = {str(key): arrays[f"{name}/{k}"] for k, key in enumerate(header["names"].get(name, ()))}
    return parts | {
        "contacts": decoded(header["contacts"]),
        "status_names": tuple(header["status_names"]),
        "events": tuple((float(t), str(text)) for t, text in header["events"]),
        "phases": tuple((float(t), str(name)) for t, name in header.get("phases", ())),
        "obstacles": decoded(header["obstacles"]),
        "safe_distances": tuple(float(distance) for distance in header["safe_distances"]),
        "scenario": header["scenario"],
        "sensing": header.get("sensing", {}),
        "origin": header.get("origin", {}),
        "seed": header["seed"],
        "outcome": header["outcome"],
    }


# --- what no run has --------------------------------------------------------------------------------------------------


def _problems(robot: Robot, parts: Mapping[str, Any]) -> Iterator[str]:
    yield from _wrong_shapes(robot, parts)
    yield from _wrong_ranges(parts)
    yield from _wrong_things(robot, parts)


def _wrong_shapes(robot: Robot, parts: Mapping[str, Any]) -> Iterator[str]:
    rows = len(parts["t"]) if parts["t"].ndim else 0
    wanted: dict[str, tuple[int, ...]] = {
        "t": (rows,), "q": (rows, robot.nq), "v": (rows, robot.nv), "torque": (rows, robot.nv),
        "acceleration": (rows, robot.nv), "com": (rows, 3), "status": (rows,), "cycle_time": (rows,),
    }  # fmt: skip
    columns: dict[str, tuple[int, ...]] = {
        "forces": (6,),
        "measured": (6,),
        "task_errors": (),
        "margins": (),
        "references": (7,),
    }
    found = [(name, parts[name], shape) for name, shape in wanted.items()]
    for name, rest in columns.items():
        found += [(f"{name} of {key!r}", array, (rows, *rest)) for key, array in parts[name].items()]
    for key, array in parts["outlines"].items():
        found.append((f"outlines of {key!r}", array, (rows, *array.shape[1:2], 3)))
    for name in ("readings", "estimates"):
        found += [(f"{name} of {key!r}", array, (rows, *array.shape[1:])) for key, array in parts[name].items()]
    for name, array, shape in found:
        if array.shape != shape:
            yield f"{name} has shape {array.shape} where {shape} was wanted"
        if array.dtype.kind not in "biuf":
            yield f"{name} is of {array.dtype}, not of numbers"


def _wrong_ranges(parts: Mapping[str, Any]) -> Iterator[str]:
    t, status, names = parts["t"], parts["status"], parts["status_names"]
    if not np.isfinite(t).all() or (np.diff(t) < 0).any():
        yield "its times are not finite and rising"
    if not all(isinstance(name, str) for name in names):
        yield "names of statuses are texts"
    if status.dtype.kind not in "iu" or (names and len(status) and not 0 <= status.min() <= status.max() < len(names)):
        yield f"a status is one of {len(names)}, by its place"
    if parts["outcome"] not in OUTCOMES:
        yield f"its outcome is {str(parts['outcome'])[:40]!r}, none of {', '.join(OUTCOMES)}"
    if isinstance(parts["seed"], bool) or not isinstance(parts["seed"], int) or parts["seed"] < 0:
        yield "its seed is not a whole number from 0 on"
    if not all(math.isfinite(t) for t, _ in parts["events"]):
        yield "the time of an event is not finite"
    starts = [t for t, _ in parts["phases"]]
    if not np.isfinite(starts).all() or (np.diff(starts) < 0).any():
        yield "times of its phases are not finite and rising"


def _wrong_things(robot: Robot, parts: Mapping[str, Any]) -> Iterator[str]:
    contacts, obstacles = parts["contacts"], parts["obstacles"]
    if not isinstance(contacts, Mapping) or not all(isinstance(contact, ContactInfo) for contact in contacts.values()):
        yield "its contacts are not contacts"
    else:
        for name, contact in contacts.items():
            if contact.frame not in robot.frames:
                yield f"contact {name!r} is on {contact.frame!r}, which its robot does not have"
    if not isinstance(obstacles, tuple) or not all(isinstance(solid, SOLIDS) for solid in obstacles):
        yield "its obstacles are not solids"
    elif len(parts["safe_distances"]) != len(obstacles):
        yield f"{len(parts['safe_distances'])} safe distances for {len(obstacles)} obstacles"
    for name in ("scenario", "sensing", "origin"):
        if not isinstance(parts[name], Mapping):
            yield f"its {name} is not a mapping"
