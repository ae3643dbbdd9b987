"""Rows that are made outside of the kernel in each step, written behind those of the kernel."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..constraints.outside import NearbyRows, OutsideRows
from ..qp import CompiledSolver
from .settings import Settings

Array = np.ndarray


class Outside:
    """Writes such rows where the solver reads; a row that is near again starts on the side on which it was active.

    Args:
        makers: what makes the rows, by constraint.
        settings: of the controller.
        solver: of the controller.
    """

    def __init__(self, makers: Mapping[str, OutsideRows], settings: Settings, solver: CompiledSolver) -> None:
        self.makers, self.settings, self.solver = makers, settings, solver
        self._numbers = {label: settings.numbers(label) for label in makers}
        # of everything that may be near
        self._sides = {label: np.zeros(len(rows.names)) for label, rows in makers.items()}
        self._keys: dict[str, Array] = {}
        context = settings.layout.context
        self._B, self._b = np.zeros((context.robot.nv, context.unknowns)), np.zeros(context.robot.nv)
        if context.level == "torque":
            self._B[context.motors, np.arange(context.unknowns)[context.motor_unknowns]] = 1.0

    def see(self, q: Array, v: Array, data: Mapping[str, Array]) -> dict[str, NearbyRows]:
        """The rows at (q, v); `data` is what the kernel wrote."""
        seen: dict[str, NearbyRows] = {}
        if self.makers and "B" in data:
            at = self.settings.layout.context.passive_places
            self._B[at], self._b[at] = data["B"], data["b"]
        for label, rows in self.makers.items():
            now = seen[label] = rows.see(q, v, self._numbers[label], self._B, self._b)
            self._write(label, now)
        return seen

    def _write(self, label: str, now: NearbyRows) -> None:
        data, sides = self.solver.data, self.solver.sides
        at, k = self.settings.layout.inequality_rows[label], len(now.keys)
        middle = at.start + k
        data["A"][at.start : middle], data["A"][middle : at.stop] = now.A, 0.0
        data["lower"][at.start : middle], data["lower"][middle : at.stop] = now.lower, -np.inf
        data["upper"][at] = np.inf
        last, all_sides = self._keys.get(label), self._sides[label]
        if last is not None:
            all_sides[:] = 0.0
            all_sides[last] = sides[at.start : at.start + len(last)]
        sides[at.start : middle], sides[middle : at.stop] = all_sides[now.keys], 0.0
        self._keys[label] = now.keys
