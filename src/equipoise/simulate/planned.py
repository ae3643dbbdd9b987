"""Reads a controller's plan (phase, references, outlines) for records and viewers; the simulation does not need it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..algebra.rigid import is_pose
from ..control.controller.frame_targets import frame_targets
from ..errors import ShapeError, unknown_name

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
Told = TypeVar("Told")


class PlanReader:
    """Reads what a controller does and plans; errors are reported once and never end a run.

    Args:
        report: receives the first error of each of phase, references and outlines.
    """

    def __init__(self, controller: object, robot: Robot, report: Callable[[str], None]) -> None:
        self._controller, self._robot, self._report = controller, robot, report
        self._reported: set[str] = set()

    def phase(self) -> str | None:
        """Returns the controller's attribute `phase`, a short text, if it has one."""
        phase = self._read("phase", lambda: getattr(self._controller, "phase", None))
        return phase if isinstance(phase, str) else None

    def references(self, q: Array) -> dict[str, Array]:
        """Returns the controller's frame references, see `frame_targets`: frame → pose (4, 4) in the world."""
        told = self._read("references", lambda: frame_targets(self._controller, self._robot, q.copy()))
        return self._usable("references", told, partial(_pose, self._robot))

    def outlines(self, q: Array) -> dict[str, Array]:
        """Returns the outlines of the controller's method `outlines(q)`: name → corners (k, 3) m in the world."""
        own: Any = self._read("outlines", lambda: getattr(self._controller, "outlines", None))
        told = self._read("outlines", lambda: own(q.copy())) if callable(own) else None
        return self._usable("outlines", told, _corners)

    def _usable(self, what: str, told: Any, checked: Callable[[Any, Any], Array]) -> dict[str, Array]:
        """Returns the entries that can be drawn, copied into arrays."""
        items = self._read(what, lambda: _items(told)) or {}
        found = {name: self._read(what, partial(checked, name, value)) for name, value in items.items()}
        return {name: array for name, array in found.items() if array is not None}

    def _read(self, what: str, read: Callable[[], Told]) -> Told | None:
        try:
            return read()
        except Exception as error:  # a user's method or property may raise anything
            if what not in self._reported:
                self._reported.add(what)
                self._report(f"{what} of the controller cannot be shown: {type(error).__name__}: {error}")
            return None


def _items(told: Any) -> dict[Any, Any]:
    if told is not None and not isinstance(told, Mapping):
        raise ShapeError(f"they are a dictionary by name; got {type(told).__name__}")
    return dict(told or {})


def _pose(robot: Robot, frame: Any, X: Any) -> Array:
    if frame not in robot.frames:
        raise unknown_name("frame", frame, robot.frames)
    made = np.array(X, dtype=float)
    if made.shape != (4, 4) or not is_pose(made):
        raise ShapeError(f"where {frame!r} should go is a pose in the world, (4, 4); got {made.tolist()}")
    return made


def _corners(name: Any, corners: Any) -> Array:
    made = np.array(corners, dtype=float)
    if not isinstance(name, str) or made.ndim != 2 or made.shape[1] != 3 or not np.isfinite(made).all():
        raise ShapeError(f"an outline is a name and finite corners, (k, 3) in m; got {name!r}: {made.tolist()}")
    return made


def outline_columns(told: Mapping[int, Mapping[str, Array]], rows: int) -> dict[str, Array]:
    """Returns recorded outlines as one array for each name, (rows, k, 3), NaN in rows without it."""
    names = dict.fromkeys(name for outlines in told.values() for name in outlines)
    most = {name: max(len(outlines.get(name, ())) for outlines in told.values()) for name in names}
    result = {name: np.full((rows, most[name], 3), np.nan) for name in names}
    for row, outlines in told.items():
        for name, corners in outlines.items():
            if not len(corners):
                continue
            result[name][row, : len(corners)] = corners
            result[name][row, len(corners) :] = corners[-1]  # a repeated corner does not change an outline
    return result
