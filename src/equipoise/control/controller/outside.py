"""Rows that are made outside of the kernel in each step, written behind those of the kernel."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..constraints.outside import OutsideRows, Seen
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
        self._keys: dict[str, Array] = {}

    def see(self, q: Array, v: Array, data: Mapping[str, Array]) -> dict[str, Seen]:
        """The rows at (q, v); `data` is what the kernel wrote."""
        seen: dict[str, Seen] = {}
        for label, rows in self.makers.items():
            now = seen[label] = rows.see(q, v, self.settings.numbers(label), *self._accelerations(data))
            self._write(label, now)
        return seen

    def _write(self, label: str, now: Seen) -> None:
        data, sides = self.solver.data, self.solver.sides
        at, k = self.settings.layout.inequality_rows[label], len(now.keys)
        middle = at.start + k
        data["A"][at.start : middle], data["A"][middle : at.stop] = now.A, 0.0
        data["lower"][at.start : middle], data["lower"][middle : at.stop] = now.lower, -np.inf
        data["upper"][at] = np.inf
        before = dict(zip(self._keys.get(label, np.zeros(0)).tolist(), sides[at].tolist(), strict=False))
        sides[at] = 0.0
        sides[at.start : middle] = [before.get(key, 0.0) for key in now.keys.tolist()]
        self._keys[label] = now.keys

    def _accelerations(self, data: Mapping[str, Array]) -> tuple[Array, Array]:
        """(B, b) with a = B x + b, of all velocities; torque level."""
        context = self.settings.layout.context
        B, b = np.zeros((context.robot.nv, context.unknowns)), np.zeros(context.robot.nv)
        if context.level == "torque":
            B[context.motors, np.arange(len(context.motors))] = 1.0
            if "B" in data:
                B[context.passive], b[context.passive] = data["B"], data["b"]
        return B, b
