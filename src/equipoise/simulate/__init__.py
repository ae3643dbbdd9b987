"""Plants, the control loop and the record of a simulation, `Run`.

`equipoise.simulate` is both this package and the function `eq.simulate(robot, controller, …)` that runs the loop. The
package is therefore callable, so that either import works.
"""

from __future__ import annotations

import sys
import types
from typing import Any


class _Package(types.ModuleType):
    """A module that can be called like the function `simulate`."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from .loop import simulate

        return simulate(*arguments, **options)


sys.modules[__name__].__class__ = _Package
