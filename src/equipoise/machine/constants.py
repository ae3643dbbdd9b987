"""The table of a function's constants, addressed through one register.

Compiled code may lie too far from its data for a relative address, so LLVM writes the full address of every constant
into the code: ten bytes and one instruction each, a tenth of a humanoid's inverse dynamics. The address of a table
costs this once. The code reads it from a variable, because LLVM would otherwise fold address and offset again.
"""

from __future__ import annotations

import struct

POINTER = "%constants"
INLINE = frozenset((0.0, 1.0, -1.0, 2.0))  # LLVM has shorter instructions for these


def double(x: float) -> str:
    """Returns a double as an exact hexadecimal literal of LLVM IR."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


class ConstantTable:
    """Collects the constants of one function; `scalar` is their type in LLVM IR."""

    def __init__(self, scalar: str) -> None:
        self.scalar = scalar
        self._places: dict[str, int] = {}

    def literal(self, value: float) -> str:
        """Returns a constant as an LLVM literal; float constants are rounded and written as doubles."""
        return double(value if self.scalar == "double" else struct.unpack("<f", struct.pack("<f", value))[0])

    def place(self, value: float) -> int:
        """Returns the index of a constant in the table; adds it if it is new."""
        return self._places.setdefault(self.literal(value), len(self._places))

    def definitions(self, function: str) -> list[str]:
        """Returns the definitions of the table and of the variable that holds its address."""
        if not self._places:
            return []
        entries = ", ".join(f"{self.scalar} {literal}" for literal in self._places)
        return [
            f"@{function}_constants = internal constant [{len(self._places)} x {self.scalar}] [{entries}], align 64",
            f"@{function}_constants_at = internal global ptr @{function}_constants",
        ]

    def address(self, function: str) -> list[str]:
        """Returns the first line of the function, which loads the address of the table."""
        return [f"  {POINTER} = load ptr, ptr @{function}_constants_at"] if self._places else []
