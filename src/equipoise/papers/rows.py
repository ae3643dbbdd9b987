"""Rows of the specification: a row is a capability, shown by figures that can be wrong."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import EquipoiseError, unknown_name
from .perturbation import perturbed
from .places import PLACES

if TYPE_CHECKING:
    from ..robot import Robot

PAPERS = {
    "BK12": "Bouyarmane & Kheddar 2012, free-floating-base mechanisms by Gauss' principle",
    "TPN17": "Traversaro, Pucci & Nori 2017, equations of motion in any base frame",
    "QO21": "Quiroz-Omaña 2021, thesis on second-order vector field inequalities and dual quaternions",
    "ETH19": "Hutter et al. 2019, lecture on floating-base dynamics and control",
    "EB98": "Espiau & Boulic 1998, the centre of mass of any tree as the end of a chain",
}

PLACE = re.compile(r" ?\[((?:Eq|Sec|Table|Fig|App|slide|Prop|Lemma|Ch|Alg)[^][]*)\]")  # of a paper, in a figure's words
MODULES = {"B": "bk12", "T": "tpn17", "Q": "qo21", "H": "eth19", "E": "eb98"}  # by the first letter of a row


@dataclass(frozen=True)
class Figure:
    """One thing that was looked at, and whether it will do.

    Attributes:
        what: the quantity, with its unit and its place in the paper.
        required: the criterion, with its tolerance; it is ours.
        ours: the value found here.
        paper: the value that the paper itself states; empty where it states none.
    """

    what: str
    required: str
    ours: str
    good: bool
    paper: str = ""

    @property
    def place(self) -> str:
        """Where the paper states it, as far as the figure says so: equations, tables, slides."""
        return "; ".join(PLACE.findall(self.what))

    @property
    def words(self) -> str:
        """What it is, without the place in the paper."""
        return PLACE.sub("", self.what)


def small(what: str, error: float, bound: float) -> Figure:
    """A figure that should vanish."""
    return Figure(what, f"≤ {bound:g}", f"{error:.1e}", bool(error <= bound))


def largest(x: Any) -> float:
    """Largest entry, NaN if there is one."""
    return float(np.abs(np.asarray(x)).max())


def apart(x: Any, reference: Any) -> float:
    """max |x − reference| over max |reference|, or over 1 where that is less than one; infinite for another shape."""
    x, reference = np.asarray(x, dtype=float), np.asarray(reference, dtype=float)
    if x.shape != reference.shape:
        return float("inf")
    return largest(x - reference) / max(largest(reference), 1.0)


def agree(what: str, ours: Any, reference: Any, bound: float) -> Figure:
    """A figure that should be that of an independent computation, but for rounding."""
    return small(what, apart(ours, reference), bound)


def exactly(what: str, ours: object, required: object) -> Figure:
    """A figure that must have one value, which follows from the statement."""
    return Figure(what, f"= {required}", str(ours), ours == required)


def equal(what: str, ours: object, paper: object) -> Figure:
    """A figure that should be the one the paper prints."""
    return Figure(what, "= the paper's", str(ours), ours == paper, str(paper))


@dataclass(frozen=True)
class Row:
    """A row of the specification. `show` is None while the row is not built yet.

    Attributes:
        plots: pictures like the paper's, (name of the file without ending, Matplotlib figure) one after the other.
        on: what the row shows of a robot that a user names; None if the row has its own robots only.
        closed_loop: whether a controller acts on what it measures, so that errors of it can be added.
    """

    id: str
    paper: str
    title: str
    show: Callable[[], Iterator[Figure]] | None = None
    plots: Callable[[], Iterator[tuple[str, Any]]] | None = None
    on: Callable[[Robot], Iterator[Figure]] | None = field(default=None, kw_only=True)
    closed_loop: bool = field(default=False, kw_only=True)

    @property
    def place(self) -> str:
        """Where the paper states what the row shows."""
        return PLACES.get(self.id.partition(" ")[0], "")

    def on_robot(self, robot: Robot) -> Row:
        """Returns the row on a robot that a user names."""
        if self.on is None:
            raise _not_a_row_that(self, "takes a robot", [row.id for row in all_rows().values() if row.on])
        return replace(self, id=f"{self.id} on {robot.name}", show=partial(self.on, robot), plots=None)

    def perturbed(self, size: float, seed: int) -> Row:
        """Returns the row with uniform errors in what its controllers measure (rad, m, rad/s, m/s)."""
        show = self.show
        if not self.closed_loop or show is None:
            raise _not_a_row_that(self, "closes a loop", [row.id for row in all_rows().values() if row.closed_loop])

        def shown() -> Iterator[Figure]:
            with perturbed(size, seed):
                yield from show()

        return replace(self, id=f"{self.id} ± {size:g}, seed {seed}", show=shown, plots=None)


def _not_a_row_that(row: Row, does: str, others: list[str]) -> EquipoiseError:
    return EquipoiseError(f"row {row.id} is not one that {does}; those that do: {', '.join(others)}")


def shown_by(module: str, function: str) -> Callable[..., Iterator[Any]]:
    """A function of another module of the papers, imported when it is run: a row of algebra needs no controller."""

    def run(*given: Any) -> Iterator[Any]:
        found: Iterator[Any] = getattr(importlib.import_module(f".{module}", __package__), function)(*given)
        return found

    return run


def all_rows() -> dict[str, Row]:
    """Every row, in the order of the specification."""
    return _rows_in(MODULES.values())


def rows_named(ids: Sequence[str]) -> dict[str, Row]:
    """Those rows, in that order; only the modules behind them are imported."""
    modules = {MODULES[name[:1]] for name in ids if name[:1] in MODULES}
    found = _rows_in(modules)
    for name in ids:
        if name not in found:
            raise unknown_name("row", name, all_rows())
    return {name: found[name] for name in ids}


def _rows_in(modules: Iterable[str]) -> dict[str, Row]:
    return {row.id: row for name in modules for row in importlib.import_module(f".{name}", __package__).ROWS}
