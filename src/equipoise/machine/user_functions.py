"""Compiles functions that users write on symbols."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..errors import ModelError, unknown_name
from ..model.tree import Tree
from .kernel import Kernel
from .store import kernel_of

if TYPE_CHECKING:
    from ..equations.symbols import SX


class DescribedRobot(Protocol):
    """The attributes of a robot that the compiler reads."""

    @property
    def tree(self) -> Tree: ...

    @property
    def nq(self) -> int: ...

    @property
    def nv(self) -> int: ...

    def place(self, frame: str) -> tuple[int, np.ndarray]: ...


def compile(function: Callable[..., SX | dict[str, SX]], robot: DescribedRobot, **sizes: int) -> Kernel:
    """Compiles a function on symbols to machine code for a robot.

    The function's first parameter is the robot on symbols, with the same method names as `Robot`; its other parameters
    are columns of symbols: `q…` of size nq, `v…`, `a…` and `tau…` of size nv, others of the size given by keyword. It
    returns a CasADi expression, or a dictionary of them by name. The result is called with arrays in the order of the
    parameters; leading dimensions are batches. States are not checked: NaN propagates.

    Example:
        def height_of_foot(robot, q):
            return robot.pose(q, "left_foot")[2, 3]

        height = eq.compile(height_of_foot, eq.load("human"))
    """
    from ..equations.catalogue import SymbolicRobot
    from ..equations.symbols import SX
    from .trace import trace

    names = list(inspect.signature(function).parameters)[1:]
    for name in sizes:
        if name not in names:
            raise unknown_name(f"parameter of {function.__name__}", name, names)
    symbols = {name: SX.sym(name, _size(robot, name, sizes)) for name in names}
    results = function(SymbolicRobot(robot.tree, robot.place), *symbols.values())
    outputs = results if isinstance(results, dict) else {function.__name__: results}
    outputs = {name: SX(result) for name, result in outputs.items()}
    shapes = {
        name: () if x.shape == (1, 1) else (x.shape[0],) if x.shape[1] == 1 else x.shape for name, x in outputs.items()
    }
    return kernel_of(trace(function.__name__, symbols, outputs, shapes=shapes), strict=False)


def _size(robot: DescribedRobot, name: str, sizes: Mapping[str, int]) -> int:
    if name in sizes:
        return sizes[name]
    if name[0] == "q":
        return robot.nq
    if name[0] in "va" or name.startswith("tau"):
        return robot.nv
    raise ModelError(f"compile: give the size of the parameter {name!r}, for example compile(f, robot, {name}=3)")
