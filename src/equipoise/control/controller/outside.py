"""Rows that are made outside of the kernel in each step, written behind those of the kernel.

Nearly all of them hold by themselves: of 500 pairs of a robot's links some 20 matter. So the solver gets those that may
become active, as the motion of the last step tells. The answer is then held against all others, exactly; those it
violates are added, and the program is solved again. An answer that all left-out rows allow is the optimum of the whole
program: it is the optimum over fewer rows, and satisfies the rest. The same holds class by class where constraints are
relaxed.

The same holds for bounds of how far the command of one step moves a joint. What barriers promise holds for motions that
are smooth within a step, but a row whose gradient nearly vanishes may ask for 1e8 rad/s². Where an answer moves a joint
farther, the program is solved again with these bounds, and barriers that need more are relaxed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..constraints.outside import NearbyRows, OutsideRows
from ..qp import CompiledSolver, Result
from ..qp.program import FEASIBLE
from .layout import IN_ONE_STEP
from .settings import Settings

Array = np.ndarray
FARTHEST = 5e-3  # rad or m; largest motion of a joint by an acceleration that is held for one step
FARTHEST_AT_ONCE = 0.2  # rad or m; largest motion of a joint by a velocity that is held for one step
ROUNDS = 4  # solves of one step; the last one has all rows


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
        self._keys = dict.fromkeys(makers, np.zeros(0, np.intp))
        context = settings.layout.context
        self._B, self._b = np.zeros((context.robot.nv, context.unknowns)), np.zeros(context.robot.nv)
        if context.level == "torque":
            self._B[context.motors, np.arange(context.unknowns)[context.motor_unknowns]] = 1.0
        else:
            np.fill_diagonal(self._B, 1.0)
        self._motion = np.zeros(context.robot.nv)  # that the last step ended with
        self._bounds = self._write_bounds()

    def see(self, q: Array, v: Array, data: Mapping[str, Array]) -> dict[str, NearbyRows]:
        """What the makers see at (q, v), with the rows that are likely to matter; `data` is what the kernel wrote."""
        if self.makers and "B" in data:
            at = self.settings.layout.context.passive_places
            self._B[at], self._b[at] = data["B"], data["b"]
        seen: dict[str, NearbyRows] = {}
        for label, rows in self.makers.items():
            margins, rates = rows.look(q, v, self._numbers[label])
            (keys,) = (rows.slack(self._motion) < rows.likely).nonzero()
            seen[label] = NearbyRows(keys, *self._written(label, keys), margins, rates)
        if self.makers or self._are_bounded:
            self._use_rows(bounded=False)
        return seen

    def solve(self, seen: dict[str, NearbyRows]) -> Result:
        """The answer to the program with all rows; `seen` is what `see` gave, and gets the rows that were added."""
        answer = self.solver.solve()
        for k in range(ROUNDS - 1 if self.makers else 0):
            if not answer.usable or not self._extend(seen, answer.x, everything=k == ROUNDS - 2):
                break
            answer = self.solver.solve()
        else:
            if self.makers and answer.usable:
                self._motion = self._B @ answer.x + self._b
        return answer

    def moves_too_far(self, x: Array) -> bool:
        """Whether an answer moves some joint farther in one step than barriers allow for; not twice in a step."""
        return not self._are_bounded and bool(np.abs(x[self._bounded]).max(initial=0.0) > self.most)

    def solve_bounded(self, seen: dict[str, NearbyRows]) -> Result:
        """The same as `solve` with bounds of the motion in one step."""
        seen[IN_ONE_STEP] = self._bounds
        self._use_rows(bounded=True)
        return self.solve(seen)

    def inside(self) -> str:
        """Names parts that are inside each other, now or after the step with the last answer; empty if none are."""
        return "; ".join(filter(None, (rows.inside(self._motion) for rows in self.makers.values())))

    def _extend(self, seen: dict[str, NearbyRows], x: Array, everything: bool) -> bool:
        """Add the rows that an answer violates, and those near to it; whether there were any."""
        self._motion = self._B @ x + self._b
        added = False
        for label, rows in self.makers.items():
            now = seen[label]
            slack = rows.slack(self._motion)
            if slack.min() >= -FEASIBLE:
                continue
            missing = slack < -FEASIBLE * rows.size()
            missing[now.keys] = False
            if missing.any():
                wanted = (slack < rows.likely) | everything
                wanted[now.keys] = True
                (keys,) = wanted.nonzero()
                A, lower = self._written(label, keys)
                seen[label] = replace(now, keys=keys, A=A, lower=lower)
                added = True
        if added:
            self._use_rows(self._are_bounded)
        return added

    def _write_bounds(self) -> NearbyRows:
        """Writes the bounds of the motion in one step behind all other rows, and returns them.

        The solver ignores them until `solve_bounded`.
        """
        layout, data = self.settings.layout, self.solver.data
        context, at, n = layout.context, layout.inequality_rows[IN_ONE_STEP], len(layout.bounded)
        of_velocity = context.level == "velocity"
        self.most = FARTHEST_AT_ONCE / context.dt if of_velocity else 2 * FARTHEST / context.dt**2
        self._bounded, self._are_bounded = layout.bounded, False
        selected = np.eye(layout.unknowns)[layout.bounded]
        A, lower = np.vstack((selected, -selected)), np.full(2 * n, -self.most)
        data["A"][at], data["lower"][at], data["upper"][at] = A, lower, np.inf
        none = np.zeros(0)
        self._use_rows(bounded=False)
        return NearbyRows(np.arange(2 * n), A, lower, none, none)

    def _use_rows(self, bounded: bool) -> None:
        """Tell the solver how many rows there are: those behind cost nothing."""
        rows, solver = self.settings.layout.inequality_rows, self.solver
        ends = [rows[label].start + len(keys) for label, keys in self._keys.items()]
        bounds = rows[IN_ONE_STEP]
        solver.rows_in_use = bounds.stop if bounded else max(ends, default=bounds.start)
        if self._are_bounded and not bounded:
            solver.sides[bounds] = 0.0
        self._are_bounded = bounded

    def _written(self, label: str, keys: Array) -> tuple[Array, Array]:
        """(A, lower) of rows, written where the solver reads them."""
        data, sides = self.solver.data, self.solver.sides
        at, k, last = self.settings.layout.inequality_rows[label], len(keys), self._keys[label]
        A, lower = self.makers[label].rows(keys, self._B, self._b)
        middle, end = at.start + k, at.start + max(k, len(last))
        data["A"][at.start : middle], data["A"][middle:end] = A, 0.0
        data["lower"][at.start : middle], data["lower"][middle : at.stop] = lower, -np.inf
        data["upper"][at] = np.inf
        all_sides = self._sides[label]
        all_sides[:] = 0.0
        all_sides[last] = sides[at.start : at.start + len(last)]
        sides[at.start : middle], sides[middle : at.stop] = all_sides[keys], 0.0
        self._keys[label] = keys
        return A, lower
