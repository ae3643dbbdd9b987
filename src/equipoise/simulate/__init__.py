"""Plants, the control loop, and what comes out of it: a `Run`.

`equipoise.simulate` is this package and, as `eq.simulate(robot, controller, …)`, the function that runs the loop; the
package itself can be called, so that it does not matter which of the two an import has put under that name.
"""

from __future__ import annotations

import sys
import types
from typing import Any


class _Package(types.ModuleType):
    """A package that is also the function `simulate`."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from .loop import simulate

        return simulate(*arguments, **options)


sys.modules[__name__].__class__ = _Package
