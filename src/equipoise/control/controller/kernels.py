"""The kernel of a controller, cached: a second start neither traces nor compiles, and does not import CasADi.

A kernel is named by everything that the traced code reads: the robot's tree, its gravity and motors, the level, the
step, the chart, and the structure of each item with the code of its class. Parameters and names have no part in it.
"""

from __future__ import annotations

from ...machine.cache import key
from ...machine.kernel import Kernel
from ...machine.program import Program
from ...machine.store import kernel_of, shared_cache, sources_digest
from ..item import NoNameError, kind
from .layout import Layout


def kernel_for(layout: Layout) -> Kernel:
    """The compiled kernel of a controller; from the cache where possible."""
    try:
        name = controller_key(layout)
    except NoNameError:  # some item holds what cannot be told from others of its kind
        return kernel_of(_traced(layout), strict=False)
    program = Program.from_bytes(shared_cache().get(name, lambda: _traced(layout).to_bytes()))
    return kernel_of(program, strict=False)


def _traced(layout: Layout) -> Program:
    from .assembly import Assembly

    return Assembly(layout).program()


def controller_key(layout: Layout) -> str:
    """The name of a controller's program in the cache.

    Raises:
        NoNameError: an item holds what cannot be told from others of its kind.
    """
    context = layout.context
    robot = context.robot
    of_robot = robot.tree.digest, tuple(robot.model.gravity), robot.mass, context.motors.tobytes(), context.mechanism
    items = [(kind(item), item.structure(context)) for item in layout.items.all]
    order = [task.label for task in layout.soft], [task.label for task in layout.items.tasks]
    places = [order[1].index(label) for label in order[0]]
    reserves = [list(layout.items.constraints).index(c) for c in layout.items.constraints if c.label in layout.reserves]
    chart = b"" if context.chart is None else context.chart.identity
    return key(
        "controller",
        sources_digest(),
        of_robot,
        context.level,
        context.dt,
        layout.strict,
        items,
        places,
        reserves,
        chart,
    )
