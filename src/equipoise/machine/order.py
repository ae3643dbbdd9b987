"""Orders instructions so that few values are live at a time.

A traced program proceeds level by level: all bodies outwards, then all inwards, with hundreds of live values. A
processor whose registers are shared by thousands of threads has no room for them. Any order is valid if operands
come first. So list scheduling takes the instruction that became ready last, which walks the robot branch by branch,
or the one that ends the most live ranges.
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Callable, Iterable, Sequence

from .program import Program
from .registers import Registers

# of (change of the number of live values, time made ready, instruction)
Priority = Callable[[int, int, int], tuple[int, int, int]]

_PRIORITIES: tuple[Priority, ...] = (
    lambda change, ready, k: (change, -ready, k),
    lambda change, ready, k: (-ready, change, k),
)


@functools.lru_cache(maxsize=16)
def compact_order(program: Program) -> tuple[int, ...]:
    """Returns instructions (counted from 0) in the best order found; the program's own if none is better."""
    graph = _Graph(program)
    orders: list[Sequence[int]] = [range(len(program)), *(graph.scheduled(priority) for priority in _PRIORITIES)]
    return tuple(min(orders, key=graph.most_alive))


def batch_order(program: Program, registers: int, together: int) -> Sequence[int]:
    """Returns the order for W states side by side: the compact one where it needs fewer memory accesses.

    Neighbours in the program's own order depend less on each other, so more of them are executed in parallel. If
    blocks are processed one at a time, this matters more (measured on humanoids), unless the compact order halves
    the number of live values.
    """
    graph, compact, own = _Graph(program), compact_order(program), range(len(program))
    if together == 1 and 2 * graph.most_alive(compact) > graph.most_alive(own):
        return own
    return compact if graph.accesses(compact, registers) < graph.accesses(own, registers) else own


def most_alive(program: Program, order: Sequence[int] | None = None) -> int:
    """Returns the largest number of live values in an order (default: the best one found)."""
    return _Graph(program).most_alive(compact_order(program) if order is None else order)


class _Graph:
    """Operands and users of every instruction."""

    def __init__(self, program: Program) -> None:
        first = program.first_instruction
        pairs = zip(program.left.tolist(), program.right.tolist(), strict=True)
        self.operands = [tuple({x - first for x in pair if x >= first}) for pair in pairs]
        self.users: list[list[int]] = [[] for _ in self.operands]
        for k, operands in enumerate(self.operands):
            for x in operands:
                self.users[x].append(k)

    def most_alive(self, order: Iterable[int]) -> int:
        waiting = [len(users) for users in self.users]
        alive = most = 0
        for k in order:
            for x in self.operands[k]:
                waiting[x] -= 1
                alive -= waiting[x] == 0
            alive += bool(self.users[k])
            most = max(most, alive)
        return most

    def accesses(self, order: Sequence[int], capacity: int) -> int:
        """Returns the number of stores and loads of spilled values."""
        registers = Registers(capacity, [self.operands[k] for k in order])
        count = 0
        for now, k in enumerate(order):
            count += sum(x not in registers.names for x in self.operands[k])
            registers.release(self.operands[k], now)
            for value, _ in registers.hold(k, "", now):
                if value not in registers.slots:
                    registers.slot(value)
                    count += 1
        return count

    def scheduled(self, priority: Priority) -> list[int]:
        """Returns a greedy order: of the instructions whose operands are ready, always the one of least priority
        value.
        """
        missing = [len(operands) for operands in self.operands]
        waiting = [len(users) for users in self.users]
        ready_at = [0] * len(missing)
        done = [False] * len(missing)

        def rank(k: int) -> tuple[int, int, int]:
            change = bool(self.users[k]) - sum(waiting[x] == 1 for x in self.operands[k])
            return priority(change, ready_at[k], k)

        heap = [(rank(k), k) for k in range(len(missing)) if missing[k] == 0]
        heapq.heapify(heap)
        order: list[int] = []
        while heap:
            value, k = heapq.heappop(heap)
            if done[k] or value != rank(k):  # an outdated entry; the heap contains the present one too
                continue
            done[k] = True
            order.append(k)
            for x in self.operands[k]:
                waiting[x] -= 1
            for user in self.users[k]:
                missing[user] -= 1
                ready_at[user] = len(order)
            changed = [user for x in self.operands[k] if waiting[x] == 1 for user in self.users[x]]
            for user in {*self.users[k], *changed}:
                if missing[user] == 0 and not done[user]:
                    heapq.heappush(heap, (rank(user), user))
        return order
