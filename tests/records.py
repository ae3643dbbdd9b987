"""Recorded behaviour: what the package answers to fixed inputs, compared with the files in tests/recorded.

A record pins constants, defaults and branches that no law of mechanics holds. Where a change is meant, record anew:

    EQUIPOISE_RECORD=1 python -m pytest -k recorded -m "not slow"

and read the difference of the files before it is committed.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "recorded"
MOST_NUMBERS = 16  # of an array that is written out; of a larger one a digest is kept
DIGITS = 12  # significant, in the files
DUST = re.compile(r"-?\d(\.\d+)?e-(1[3-9]|[2-9]\d)\b")  # numbers in texts that are zero but for rounding
LONG = re.compile(r"\d+\.\d{10,}(e[+-]?\d+)?")  # numbers in texts with all their digits
MOST_LINES = 12  # of differences in the message of a failure


def check(name: str, found: Any, *, rtol: float = 1e-7, atol: float = 1e-10) -> None:
    """Compare with the record of that name, number by number; with EQUIPOISE_RECORD set, write it instead.

    Args:
        name: of the file in tests/recorded, without ending.
        found: nested mappings, sequences, dataclasses, arrays, numbers and texts.
        rtol: relative tolerance of numbers: what the rounding of other processors may do.
        atol: absolute tolerance, for numbers that are zero but for rounding.
    """
    path, plain = FOLDER / f"{name}.json", plain_data(found)
    if os.environ.get("EQUIPOISE_RECORD"):
        path.write_text(_text(plain) + "\n", encoding="utf-8")
        return
    assert path.is_file(), f"no record {path.name}: write it with EQUIPOISE_RECORD=1 (see {Path(__file__).name})"
    recorded = json.loads(path.read_text(encoding="utf-8"))
    lines = list(_differences("", recorded, json.loads(json.dumps(plain)), rtol, atol))
    shown = "\n  ".join(
        lines[:MOST_LINES] + ([f"and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else [])
    )
    assert not lines, f"{len(lines)} quantities differ from {path.name}; if that is meant, record anew:\n  {shown}"


def answer(call: Callable[[], Any]) -> Any:
    """The result of a call, or the type and text of its error, with what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
    told = [f"{w.category.__name__}: {w.message}" for w in caught]
    return {"result": result, "warned": told} if told else result


def plain_data(value: Any) -> Any:
    """The value as JSON can hold it: large arrays by a digest, infinities as text."""
    if isinstance(value, np.ndarray):
        return plain_data(value.tolist()) if value.size <= MOST_NUMBERS or value.dtype == object else _digest(value)
    if isinstance(value, np.generic):
        value = value.item()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain_data({f.name: getattr(value, f.name) for f in dataclasses.fields(value)})
    if isinstance(value, Mapping):
        return {str(key): plain_data(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return plain_data(sorted(value))
    if isinstance(value, list | tuple):
        return [plain_data(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") + 0.0 if math.isfinite(value) else repr(value)
    if isinstance(value, str):
        return LONG.sub(lambda found: f"{float(found[0]):.9g}", DUST.sub("0", value))
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, slice):
        return [value.start, value.stop]
    return str(value) if isinstance(value, Path) else type(value).__name__


def _digest(array: np.ndarray) -> dict[str, Any]:
    """Shape, size and two weighted sums: one changed entry changes them all but by chance."""
    flat = np.nan_to_num(np.asarray(array, dtype=float).ravel(), nan=1.25e3, posinf=1.5e3, neginf=-1.5e3)
    weights = np.modf((np.arange(flat.size) + 1) * 0.6180339887498949)[0] + 0.5
    sums = {"scale": float(np.abs(flat).sum()), "sum": float(weights @ flat), "other sum": float(weights[::-1] @ flat)}
    return {"shape": list(array.shape), **plain_data(sums)}


def _differences(place: str, recorded: Any, found: Any, rtol: float, atol: float) -> Iterator[str]:
    """One line for each quantity that differs."""
    if isinstance(recorded, dict) and isinstance(found, dict):
        scale = rtol * abs(recorded["scale"]) if "scale" in recorded and "shape" in recorded else 0.0
        for key in [*recorded, *(key for key in found if key not in recorded)]:
            missing = [side for side, held in (("recorded", recorded), ("found", found)) if key not in held]
            if missing:
                yield f"{place}.{key}: not {missing[0]}"
            else:
                yield from _differences(f"{place}.{key}", recorded[key], found[key], rtol, max(atol, scale))
    elif isinstance(recorded, list) and isinstance(found, list) and len(recorded) == len(found):
        for k, (old, new) in enumerate(zip(recorded, found, strict=True)):
            yield from _differences(f"{place}[{k}]", old, new, rtol, atol)
    elif _is_number(recorded) and _is_number(found):
        if not math.isclose(recorded, found, rel_tol=rtol, abs_tol=atol):
            yield f"{place}: recorded {recorded!r}, found {found!r}, changed by {found - recorded:.3g}"
    elif recorded != found:
        yield f"{place}: recorded {recorded!r}, found {found!r}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(plain: Any, depth: int = 0) -> str:
    """JSON with a line for every entry of the upper levels, so that differences can be read."""
    if depth < 3 and isinstance(plain, dict) and plain and len(json.dumps(plain)) > 100:
        inner = ",\n".join(
            " " * (depth + 1) + json.dumps(key, ensure_ascii=False) + ": " + _text(item, depth + 1)
            for key, item in plain.items()
        )
        return "{\n" + inner + "\n" + " " * depth + "}"
    return json.dumps(plain, ensure_ascii=False)
