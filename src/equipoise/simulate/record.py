"""The record of a run: rows as they come, arrays in the end."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algebra.arrays import finite
from ..algebra.quaternions import from_rotation
from .origin import origin
from .perception import Perception
from .planned import outline_columns
from .plant import PlantState
from .run import Run

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
LOG = logging.getLogger(__name__)


class RunRecorder:
    """Rows as they come; arrays in the end."""

    def __init__(self, robot: Robot, dt: float, reports: Iterable[str] = ()) -> None:
        self.robot, self.dt = robot, dt
        self.t: list[float] = []
        self.q: list[Array] = []
        self.v: list[Array] = []
        self.torque: list[Array] = []
        self.cycle_time: list[float] = []
        self.status: list[int] = []
        self.names: dict[str, int] = {}
        self.forces: list[Mapping[str, Array]] = []
        self.measured: list[Mapping[str, Array]] = []
        self.acceleration: list[Array] = []
        self.task_errors: list[Mapping[str, float]] = []
        self.margins: list[Mapping[str, float]] = []
        self.events: list[tuple[float, str]] = [(0.0, text) for text in reports]
        self.commanded = False
        self.references: dict[int, Mapping[str, Array]] = {}  # by row
        self.outlines: dict[int, Mapping[str, Array]] = {}  # by row
        self.phases: list[tuple[float, str]] = []

    def tell(self, t: float, text: str) -> None:
        self.events.append((float(t), text))
        LOG.info("%s, %.3f s: %s", self.robot.name, t, text)

    def enter(self, t: float, phase: str | None) -> None:
        """The controller's phase at a time; a phase lasts until the next begins."""
        if phase is not None and (not self.phases or self.phases[-1][1] != phase):
            self.phases.append((float(t), phase))

    def row(self, t: float, state: PlantState, solution: Any, acting: Array, seconds: float) -> None:
        """The state and the command at a time."""
        self.t.append(t)
        self.q.append(state.q.copy())
        self.v.append(state.v.copy())
        self.torque.append(acting)
        self.cycle_time.append(seconds)
        self.status.append(self.names.setdefault(_status(solution), len(self.names)))
        forces = getattr(solution, "forces", None)
        self.commanded |= forces is not None
        self.forces.append({name: np.array(wrench, dtype=float) for name, wrench in (forces or {}).items()})
        self.task_errors.append(dict(getattr(solution, "task_errors", None) or {}))
        self.margins.append(dict(getattr(solution, "margins", None) or {}))

    def after(self, state: PlantState, t: float) -> None:
        """What the step did."""
        self.acceleration.append((state.v - self.v[-1]) / self.dt)
        self.measured.append(getattr(state, "wrenches", None) or {})
        for text in getattr(state, "events", ()):
            self.tell(t, text)

    @property
    def rows(self) -> int:
        """Rows that are complete; `row` ends with the margins."""
        return len(self.margins)

    def trim(self, *more: list[Any]) -> None:
        """Drop the row that was begun when the loop was interrupted; likewise from lists with one entry for each
        row."""
        rows = self.rows
        for column in (self.t, self.q, self.v, self.torque, self.cycle_time, self.status, self.forces, *more):
            del column[rows:]  # type: ignore[attr-defined]
        del self.task_errors[rows:]

    def _wanted(self, row: int) -> dict[str, Array]:
        return {frame: _numbers_of(X) for frame, X in self.references.get(row, {}).items()}

    def run(
        self,
        plant: Any,
        obstacles: Sequence[Any],
        outcome: str,
        scenario: Mapping[str, Any] | None,
        seed: int,
        perception: Perception | None,
    ) -> Run:
        rows, nv = self.rows, self.robot.nv
        last = [self.acceleration[-1] if self.acceleration else np.zeros(nv)] * (rows - len(self.acceleration))
        measured = self.measured + [self.measured[-1] if self.measured else {}] * (rows - len(self.measured))
        pairs = [item if isinstance(item, tuple) else (item, 0.0) for item in obstacles]
        felt = _columns(measured, 6)
        readings, estimates = ({}, {}) if perception is None else perception.recorded()
        return Run(
            robot=self.robot,
            t=np.array(self.t),
            q=np.array(self.q),
            v=np.array(self.v),
            torque=np.array(self.torque),
            acceleration=np.array(self.acceleration + last),
            com=np.array([self.robot.com(q) if finite(q) else np.full(3, np.nan) for q in self.q]),
            status=np.array(self.status, dtype=np.uint8),
            cycle_time=np.array(self.cycle_time),
            forces=_columns(self.forces, 6) if self.commanded else felt,
            measured=felt,
            contacts=getattr(plant, "contacts", {}),
            task_errors=_columns(self.task_errors, None),
            margins=_columns(self.margins, None),
            readings=readings,
            estimates=estimates,
            references=_columns([self._wanted(k) for k in range(rows)], 7),
            outlines=outline_columns(self.outlines, rows),
            phases=tuple(self.phases),
            status_names=tuple(self.names),
            events=tuple(self.events),
            obstacles=tuple(item for item, _ in pairs),
            safe_distances=tuple(float(safe) for _, safe in pairs),
            scenario=dict(scenario or {}),
            sensing={} if perception is None else perception.sensing,
            origin=origin(),
            seed=seed,
            outcome=outcome,
        )


def _numbers_of(X: Array) -> Array:
    """Position and quaternion of a pose, (7,)."""
    return np.concatenate([X[:3, 3], from_rotation(X[:3, :3])])


def _columns(rows: Sequence[Mapping[str, Any]], width: int | None) -> dict[str, Array]:
    """One array for each name that appears, NaN where it does not."""
    names = dict.fromkeys(name for row in rows for name in row)
    shape = (len(rows),) if width is None else (len(rows), width)
    result = {name: np.full(shape, np.nan) for name in names}
    for k, row in enumerate(rows):
        for name, value in row.items():
            result[name][k] = value
    return result


def _status(solution: Any) -> str:
    """The controller's own word; "none" where it says nothing."""
    status = getattr(solution, "status", None)
    if status is None:
        return "none"
    value = getattr(status, "value", status)
    return value if isinstance(value, str) else str(getattr(status, "name", status)).lower()
