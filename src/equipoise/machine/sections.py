"""Splits the code for W states side by side into functions that fit the instruction cache.

The code of a humanoid does not fit the instruction cache; fetching it for every block costs a tenth of the time.
Therefore it is cut into sections that fit, and each section processes a few blocks of states before the next one is
fetched. Values that a later section needs are stored in scratch memory, separately for every block.
"""

from __future__ import annotations

from collections.abc import Sequence

from .body import BLOCK, FunctionBody
from .order import batch_order
from .program import Program
from .target import Target

SECTION = 2 * BLOCK  # instructions per section, about 3 KB of code


class SectionedBody(FunctionBody):
    """Writes the sections `i32 @body0(ptr in, ptr out, ptr memory)`, `@body1`, …; inputs and results are in lanes.

    If blocks are processed one at a time, there is a single function and spilled values are on its stack.
    """

    count: int

    def __init__(self, program: Program, target: Target) -> None:
        super().__init__(program, target, "body")
        self.count = 0
        self._finished: list[str] = []

    @property
    def waiting(self) -> int:
        """Number of vectors of scratch memory that the sections of a block share."""
        return 0 if self.t.together == 1 else self.registers.slot_count

    def lines(self) -> list[str]:
        self._instructions()
        self._end_section()
        return [*self.constants.definitions(self.name), *self._finished]

    def _sequence(self) -> Sequence[int]:
        return batch_order(self.p, self.t.registers, self.t.together)

    def _cut(self) -> None:
        if self.t.together == 1 or (self.now + 1) % SECTION:
            super()._cut()
            return
        for value, name in self.registers.clear(self.now):
            self._to_memory(value, name)
        self._end_section()

    def _end_section(self) -> None:
        pointers = f"ptr noalias %in, ptr noalias %out, ptr noalias {'%unused' if self.t.together == 1 else '%memory'}"
        self._finished += [
            f"define internal i32 @{self.name}{self.count}({pointers}) noinline nounwind {{",
            *self._frame(),
            *self.text,
            f"  ret i32 {'0' if self.count else '%status'}",  # only the first section checks the state
            "leave:",
            "  ret i32 0",
            "}",
        ]
        self.text.clear()
        self.count += 1

    def _memory(self) -> list[str]:
        return super()._memory() if self.t.together == 1 else []
