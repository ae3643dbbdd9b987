"""Properties of the processor that code is emitted for, and the layout of outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .program import Program

FLAGS = "reassoc nsz contract"  # fused multiply-add and reordering; nothing that assumes finite numbers
QUATERNION_TOLERANCE = 2e-6  # on the squared length: 1e-6 on the length
NOT_FINITE = 1  # bit of a kernel's status: an input is NaN or infinite
NOT_UNIT = 2  # bit of a kernel's status: a quaternion does not have unit length


@dataclass(frozen=True)
class Target:
    """Instruction set and vector width for which code is emitted."""

    dtype: str  # "float64" or "float32"
    width: int  # states processed in the lanes of a vector; 1 for single states
    sincos_lanes: int  # doubles in one vector register
    streams_anywhere: bool  # AVX-512: non-temporal stores can start at any address; without it only at a cache line
    registers: int  # values to keep in registers at once

    @property
    def scalar(self) -> str:
        return "double" if self.dtype == "float64" else "float"

    @property
    def value(self) -> str:
        return self.scalar if self.width == 1 else f"<{self.width} x {self.scalar}>"

    @property
    def itemsize(self) -> int:
        return 8 if self.dtype == "float64" else 4

    @property
    def together(self) -> int:
        """Number of blocks of states that one section of code processes in turn. With AVX-512 only one fits the L1
        cache.
        """
        return 1 if self.streams_anywhere else 4

    @property
    def alignment(self) -> int:
        """Alignment of a value in memory, bytes."""
        return min(self.width * self.itemsize, 64)


def compact_slots(program: Program) -> tuple[np.ndarray, list[np.ndarray]]:
    """Returns the numbers of the values that outputs need, each once, and for every output the slot of each entry. Slot
    0 holds zero.
    """
    needed = np.unique(np.concatenate([output.values for output in program.outputs]))
    needed = needed[needed >= 0]
    return needed, [np.where(o.values < 0, 0, np.searchsorted(needed, o.values) + 1) for o in program.outputs]
