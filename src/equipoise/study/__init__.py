"""Many runs: the same function over a grid or random draws of parameters, on this machine or on a cluster.

`equipoise.study` is this package and, as `eq.study(function, parameters, …)`, the function that does the runs; see
`run.study`.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from .parameters import Choice, Draws, Grid, Integers, LogUniform, Normal, StudyError, Uniform
from .table import Table

__all__ = ["Choice", "Draws", "Grid", "Integers", "LogUniform", "Normal", "StudyError", "Table", "Uniform"]


class _StudyPackage(types.ModuleType):
    """A package that is also the function `study`."""

    def __call__(self, *arguments: Any, **options: Any) -> Table:
        from .run import study

        return study(*arguments, **options)


sys.modules[__name__].__class__ = _StudyPackage
