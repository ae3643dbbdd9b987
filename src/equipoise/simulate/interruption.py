"""Ctrl-C that waits: a simulation ends at a whole step, and a file is written to its end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interruption:
    """Whether Ctrl-C was pressed. A second one raises KeyboardInterrupt as usual."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


@contextmanager
def interruption_deferred() -> Iterator[Interruption]:
    """Defers Ctrl-C within the block, where the caller looks at `asked`; blocks within this one share its answer.

    Handlers of others stay in place, and other threads never get the signal: there `asked` is never true.
    """
    handler = signal.getsignal(signal.SIGINT)
    if isinstance(handler, Interruption):
        yield handler
        return
    made = Interruption()
    if handler is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield made
        return
    signal.signal(signal.SIGINT, made)
    try:
        yield made
    finally:
        signal.signal(signal.SIGINT, handler)


@contextmanager
def termination_interrupts() -> Iterator[None]:
    """Within the block a request to terminate (SIGTERM) is taken like Ctrl-C, and loses no more."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Asks whoever defers Ctrl-C. It does not raise SIGINT, which processes in the background of a script ignore."""
    handler = signal.getsignal(signal.SIGINT)
    if not isinstance(handler, Interruption):
        raise KeyboardInterrupt
    handler(number, frame)
