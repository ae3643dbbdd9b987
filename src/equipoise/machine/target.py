"""What emitted code may use, and how its memory is laid out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .program import Program

FLAGS = "reassoc nsz contract"  # fused multiply-add and reordering; nothing that assumes finite numbers
QUATERNION_TOLERANCE = 2e-6  # on the squared length: 1e-6 on the length
NOT_FINITE, NOT_UNIT = 1, 2  # bits of the status a kernel returns


@dataclass(frozen=True)
class Target:
    """One kind of code for one kind of processor."""

    dtype: str  # "float64" or "float32"
    width: int  # states side by side; 1 for single states
    sincos_lanes: int  # doubles in one vector register
    streams_anywhere: bool  # AVX-512: past the caches to any address; elsewhere only from a cache line on
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
        """Blocks of states that a section of code goes over. With AVX-512, more than one do not fit the inner cache."""
        return 1 if self.streams_anywhere else 4

    @property
    def alignment(self) -> int:
        """Of a value in memory."""
        return min(self.width * self.itemsize, 64)


def compact_slots(program: Program) -> tuple[np.ndarray, list[np.ndarray]]:
    """(values that outputs need, each once; for every output the slot of each entry). Slot 0 holds zero."""
    needed = np.unique(np.concatenate([output.values for output in program.outputs]))
    needed = needed[needed >= 0]
    return needed, [np.where(o.values < 0, 0, np.searchsorted(needed, o.values) + 1) for o in program.outputs]
