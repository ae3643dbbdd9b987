"""The kernel of a controller, cached: a second start neither traces nor compiles, and does not import CasADi.

The cache knows a layout by its `identity`: the robot's tree, its gravity and motors, the level, the step, the chart,
and the structure of each item. Parameters and names have no part in it. Items of a user's own classes are traced at
each start; the machine code is found by what was traced.
"""

from __future__ import annotations

from ...machine.cached import cached
from ...machine.kernel import Kernel
from ...machine.program import Program
from ...machine.store import kernel_of
from .layout import Layout


def kernel_for(layout: Layout) -> Kernel:
    """The compiled kernel of a controller; from the cache where possible."""
    return kernel_of(cached(traced, layout), strict=False)


def traced(layout: Layout) -> Program:
    """All rows of a controller, on symbols."""
    from .assembly import Assembly

    return Assembly(layout).program()
