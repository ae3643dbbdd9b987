"""Warnings of a command: nothing is silenced, and each is printed once, in plain words."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape

from ..errors import DEPRECATED


@contextmanager
def printed_warnings(console: Console) -> Iterator[None]:
    """Prints what is warned of within the block as notes, the same text once only."""
    seen: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        text = str(message)
        if text not in seen:
            seen.add(text)
            console.print(f"[yellow]note:[/] {escape(text)}", highlight=False, soft_wrap=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.filterwarnings("always", f".*{DEPRECATED}", DeprecationWarning)
        warnings.showwarning = show
        yield
