"""Constants of a function, in one table that it reaches through one register.

Compiled code may lie farther from its data than an instruction can say, so LLVM puts the full address of every constant
into the code: ten bytes and an instruction each time, a tenth of a humanoid's inverse dynamics. The address of a table
costs that once. It is read from a variable: were it known, LLVM would write the sum of address and offset again.
"""

from __future__ import annotations

import struct

POINTER = "%constants"
INLINE = frozenset((0.0, 1.0, -1.0, 2.0))  # LLVM has shorter instructions for these


def double(x: float) -> str:
    """A double as IR writes it, exactly."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


class ConstantTable:
    """Collects the constants of one function; `scalar` is their type in IR."""

    def __init__(self, scalar: str) -> None:
        self.scalar = scalar
        self._places: dict[str, int] = {}

    def literal(self, value: float) -> str:
        """A constant as IR writes it; a float as the double of the same value."""
        return double(value if self.scalar == "double" else struct.unpack("<f", struct.pack("<f", value))[0])

    def place(self, value: float) -> int:
        """Where in the table a constant is."""
        return self._places.setdefault(self.literal(value), len(self._places))

    def definitions(self, function: str) -> list[str]:
        """The table of a function, and the variable with its address."""
        if not self._places:
            return []
        entries = ", ".join(f"{self.scalar} {literal}" for literal in self._places)
        return [
            f"@{function}_constants = internal constant [{len(self._places)} x {self.scalar}] [{entries}], align 64",
            f"@{function}_constants_at = internal global ptr @{function}_constants",
        ]

    def address(self, function: str) -> list[str]:
        """The line that a function begins with."""
        return [f"  {POINTER} = load ptr, ptr @{function}_constants_at"] if self._places else []
