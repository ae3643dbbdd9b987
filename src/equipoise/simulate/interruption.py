"""Defers Ctrl-C, so that a simulation ends after a whole step and files are written completely."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interruption:
    """Signal handler that records Ctrl-C in `asked`; a second one raises KeyboardInterrupt as usual."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


@contextmanager
def interruption_deferred() -> Iterator[Interruption]:
    """Defers Ctrl-C within the block; the caller polls `asked`. Nested blocks share the outer handler.

    Handlers installed by others stay in place. In threads other than the main one `asked` is never true, because they
    receive no signals.
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
    """Treats SIGTERM within the block like Ctrl-C, so that nothing is lost."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Forwards SIGTERM to the deferred Ctrl-C handler, if there is one.

    Raising SIGINT would not work, since background processes of a script ignore it."""
    handler = signal.getsignal(signal.SIGINT)
    if not isinstance(handler, Interruption):
        raise KeyboardInterrupt
    handler(number, frame)
