"""Numbers and poses in the elements of a URDF file, with errors that name the element and its line."""

from __future__ import annotations

import math

import numpy as np

from ..algebra import rigid
from ..errors import ModelError
from .urdf_writer import UNLIMITED
from .xml import Element, shortened

XACRO = 'xacro FILE.xacro > robot.urdf, or eq.load("FILE.xacro") with the package xacro installed.'
Vector = tuple[float, ...]


def origin_of(owner: str, element: Element) -> np.ndarray:
    """The pose of an <origin>, (4, 4); the identity where there is none."""
    origin = element.child("origin")
    if origin is None:
        return np.eye(4)
    rpy = numbers_in(owner, origin, "rpy", 3, (0.0, 0.0, 0.0))
    p = numbers_in(owner, origin, "xyz", 3, (0.0, 0.0, 0.0))
    return rigid.pose(rigid.rotation_from_rpy(*rpy) if any(rpy) else None, np.array(p))


def required_child(owner: str, element: Element, tag: str) -> Element:
    """The child of that tag."""
    child = element.child(tag)
    if child is None:
        raise ModelError(f"{owner}: <{element.tag}> (line {element.line}) has no <{tag}>")
    return child


def number_in(owner: str, element: Element, attribute: str, default: float | None = None) -> float:
    """The number of an attribute."""
    return numbers_in(owner, element, attribute, 1, None if default is None else (default,))[0]


def bound_in(owner: str, element: Element, attribute: str, default: float) -> float:
    """One limit. Huge numbers and infinity say that there is none."""
    value = numbers_in(owner, element, attribute, 1, (default,), finite=False)[0]
    return math.copysign(math.inf, value) if abs(value) >= UNLIMITED else value


def numbers_in(
    owner: str, element: Element, attribute: str, count: int, default: Vector | None = None, *, finite: bool = True
) -> Vector:
    """The numbers of an attribute; huge ones too unless they must be finite."""
    text = element.get(attribute)
    if text is None:
        if default is None:
            raise ModelError(f"{owner}: <{element.tag}> (line {element.line}) has no {attribute}")
        return default
    try:
        values = tuple(map(float, text.split()))
    except ValueError:
        values = ()
    if len(values) == count and "_" not in text and all(map(math.isfinite if finite else _is_number, values)):
        return values
    wanted = (
        ("a" if count == 1 else str(count)) + (" finite" if finite else "") + (" number" if count == 1 else " numbers")
    )
    hint = f" It is an expression of xacro: expand the file first: {XACRO}" if "${" in text else ""
    at = f"{owner}: {attribute} of <{element.tag}> (line {element.line})"
    raise ModelError(f"{at} must be {wanted}, not {shortened(text)!r}.{hint}")


def _is_number(x: float) -> bool:
    return not math.isnan(x)
