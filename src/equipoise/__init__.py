"""Equations of motion, whole-body control and simulation of free-floating robots, compiled for each robot."""

from __future__ import annotations

import time

_STARTED = time.time_ns()  # before anything else of the package is read; see machine/sources.py

from .public_names import importer, listed  # noqa: E402  (after the clock was read)

__version__ = "0.3.0.dev0"
_HOMES, _MODULES = listed(__file__)
__all__ = [*_HOMES, *_MODULES, "__version__"]
__getattr__ = importer(globals(), _HOMES, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
