"""Decides which values stay in registers and which are spilled to memory.

The order of a program is known in full, so the best choice is too: when registers run out, the value whose next use
is furthest away is spilled (Bélády's algorithm). Inputs are in memory anyway. The code then fits the registers, so
LLVM's own allocator, whose time grows faster than the program, has nothing left to decide.
"""

from __future__ import annotations

from collections.abc import Sequence

NEVER = 1 << 60


class Registers:
    """Register allocation of a program that is written out step by step.

    Args:
        capacity: values that may be in registers at once.
        steps: for every step of the program, the values it uses.
    """

    slot_count: int

    def __init__(self, capacity: int, steps: Sequence[Sequence[int]]) -> None:
        self.capacity = capacity
        self.names: dict[int, str] = {}  # value in a register → its name
        self.slots: dict[int, int] = {}  # value in memory → its place
        self.slot_count = 0
        self._free: list[int] = []
        self._uses: dict[int, list[int]] = {}
        for step in reversed(range(len(steps))):
            for value in steps[step]:
                self._uses.setdefault(value, []).append(step)  # last use first: the next one is at the end

    def next_use(self, value: int, now: int) -> int:
        """Returns the first step after `now` that uses the value."""
        uses = self._uses.get(value, [])
        while uses and uses[-1] <= now:
            uses.pop()
        return uses[-1] if uses else NEVER

    def hold(self, value: int, name: str, now: int) -> list[tuple[int, str]]:
        """Puts a value that is used later into a register; returns (value, name) of those that are spilled for it."""
        if self.next_use(value, now) == NEVER:
            return []
        self.names[value] = name
        leaving = []
        while len(self.names) > self.capacity:
            furthest = max(self.names, key=lambda v: self.next_use(v, now))
            leaving.append((furthest, self.names.pop(furthest)))
        return leaving

    def clear(self, now: int) -> list[tuple[int, str]]:
        """Frees all registers; returns (value, name) of those that the step `now` or a later one uses."""
        leaving = [(value, name) for value, name in self.names.items() if self.next_use(value, now - 1) != NEVER]
        self.names.clear()
        return leaving

    def slot(self, value: int) -> int:
        """Assigns a place in memory to a value and returns it."""
        if self._free:
            self.slots[value] = self._free.pop()
        else:
            self.slots[value] = self.slot_count
            self.slot_count += 1
        return self.slots[value]

    def release(self, values: Sequence[int], now: int) -> None:
        """Forgets values that no later step uses."""
        for value in values:
            if self.next_use(value, now) == NEVER:
                self.names.pop(value, None)
                place = self.slots.pop(value, None)
                if place is not None:
                    self._free.append(place)
