"""The numbers of some unknowns and rows out of those of all."""

from __future__ import annotations

from typing import Any

from ....machine.loops import Function
from .workspace import NUMBERS

SIZES = ("n", "n_R", "n_E", "n_A", "whole")
PLACES = ("of_x", "of_E", "of_A")
ARGUMENTS: dict[str, str] = (
    dict.fromkeys(SIZES, "integer")
    | dict.fromkeys(PLACES, "indices")
    | {f"all_{name}": "array" for name in NUMBERS}
    | dict.fromkeys(NUMBERS, "array")
)


def write(module: Any) -> Function:
    """`gather`: each array from the one with `all_` in its name, whose rows have `whole` numbers."""
    f = Function(module, "gather", ARGUMENTS)
    for name in ("weights", "pulls", "regularisation"):
        with f.loop(0, f["n"]) as i:
            f[name][i] = f[f"all_{name}"][f["of_x"][i]]
    for name, places in (("e", "of_E"), ("lower", "of_A"), ("upper", "of_A")):
        with f.loop(0, f["n_E" if places == "of_E" else "n_A"]) as i:
            f[name][i] = f[f"all_{name}"][f[places][i]]
    with f.loop(0, f["n_R"]) as i:
        f["r"][i] = f["all_r"][i]
        _row(f, "R", i, i)
    with f.loop(0, f["n_E"]) as i:
        _row(f, "E", i, f["of_E"][i])
    with f.loop(0, f["n_A"]) as i:
        _row(f, "A", i, f["of_A"][i])
    f.finish(0)
    return f


def _row(f: Function, name: str, i: Any, source: Any) -> None:
    row, to = f[f"all_{name}"].at(source * f["whole"]), f[name].at(i * f["n"])
    with f.loop(0, f["n"]) as j:
        to[j] = row[f["of_x"][j]]
