"""The kernel of a controller, kept on disk: a second start neither traces nor compiles, and does not import CasADi.

A kernel is named by everything that went into it: the robot with its names, limits and frames, the level, the step, and what
tasks, contacts and constraints say of themselves. What they give the kernel as parameters (targets, weights, gains of tasks)
has no part in the name. Items of classes from elsewhere are code that a name cannot tell, so their kernels are made anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...geometry.primitives import at_time
from ...machine.cache import key
from ...machine.kernel import Kernel
from ...machine.program import Program
from ...machine.store import kernel_of, shared_cache, sources_digest
from ..constraints import SelfCollision
from ..tasks import ForceTask, Task, TorqueTask
from .assembly import Assembly, Items, Layout, laid_out

if TYPE_CHECKING:
    from ...robot import Robot

HOME = ("equipoise.control.", "equipoise.geometry.")  # whose sources the name of a kernel includes
PARAMETERS = ("target", "weight", "gain", "stiffness", "damping")  # of tasks, which the kernel reads in each step
WRITTEN = ("hard_rows", "rows", "diagonal_tasks")  # what the assembly adds to a layout: names,
PLACED = ("hard_slices", "row_slices", "task_rows", "error_slices", "margin_slices")  # and places


class _NoNameError(Exception):
    """Something that has no name of its own."""


def assembled(robot: Robot, items: Items, level: str, dt: float) -> tuple[Layout, Kernel]:
    """The layout and the compiled kernel of a controller."""
    layout = laid_out(robot, items, level, dt)
    try:
        name = key("controller", sources_digest(), robot.tree.digest, level, dt, _robot(robot), _items(items))
    except _NoNameError:
        return layout, kernel_of(Assembly(robot, items, layout).program(), strict=False)
    program = _unpacked(layout, shared_cache().get(name, lambda: _packed(robot, items, laid_out(robot, items, level, dt))))
    return layout, kernel_of(program, strict=False)


def _packed(robot: Robot, items: Items, layout: Layout) -> bytes:
    """Program and layout as one file: the length of the layout's text, the text, the program."""
    program = Assembly(robot, items, layout).program()
    text: dict[str, Any] = {word: getattr(layout, word) for word in WRITTEN}
    text |= {word: {k: [at.start, at.stop] for k, at in getattr(layout, word).items()} for word in PLACED}
    data = json.dumps(text).encode()
    return b"".join([len(data).to_bytes(8, "little"), data, program.to_bytes()])


def _unpacked(layout: Layout, data: bytes) -> Program:
    end = 8 + int.from_bytes(data[:8], "little")
    text = json.loads(data[8:end])
    for word in WRITTEN:
        setattr(layout, word, text[word])
    for word in PLACED:
        setattr(layout, word, {k: slice(*at) for k, at in text[word].items()})
    return Program.from_bytes(data[end:])


# --- names -----------------------------------------------------------------------------------------------------------------


def _robot(robot: Robot) -> Any:
    """What of the robot the digest of its tree does not say."""
    limits = [_said(getattr(robot.limits, word)) for word in ("lower", "upper", "velocity", "effort")]
    joints = [(joint.name, str(joint.v)) for joint in robot.joints.values() if joint.mimic is None]
    frames = [(name, body, X.tobytes()) for name, (body, X) in ((name, robot.place(name)) for name in robot.frames)]
    return robot.name, robot.mass, tuple(robot.model.gravity), limits, joints, frames


def _items(items: Items) -> list[Any]:
    constraints = [c for c in items.constraints if not isinstance(c, SelfCollision)]  # its rows are not the kernel's
    return [_said(item) for item in (*items.tasks, *items.contacts, *constraints)]


def _said(x: Any) -> Any:
    """A value as text that is equal for equal values only."""
    if x is None or isinstance(x, bool | int | float | str):
        return repr(x)
    if isinstance(x, np.ndarray | np.generic):
        array = np.asarray(x)
        return (array.shape, array.dtype.str, array.tobytes()) if array.dtype != object else _refuse(x)
    if isinstance(x, tuple | list):
        return [type(x).__name__, *(_said(part) for part in x)]
    if is_dataclass(x) and type(x).__module__.startswith(HOME):
        ours = isinstance(x, Task) and not isinstance(x, ForceTask | TorqueTask)
        words = [field.name for field in fields(x) if not (ours and field.name in PARAMETERS)]
        return [type(x).__module__, type(x).__qualname__, *((word, _said(getattr(x, word))) for word in words)]
    return _said(_at_start(x)) if callable(x) else _refuse(x)


def _at_start(x: Callable[[float], Any]) -> Any:
    """A primitive that moves by a function of time: the kernel knows what it is, and reads where it is."""
    primitive = at_time(x, 0.0)
    return _refuse(x) if callable(primitive) else primitive


def _refuse(x: Any) -> Any:
    raise _NoNameError(repr(x))
