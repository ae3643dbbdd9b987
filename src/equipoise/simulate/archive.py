"""Serialises frozen data (robots, contacts, obstacles) to JSON and back, bit for bit and without executing code."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import EquipoiseError
from ..geometry import primitives
from ..model import types as model_types
from ..model.joints import JOINT_TYPES
from .contacts import ContactInfo
from .world import Box

CLASSES: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        model_types.Inertia, model_types.Shape, model_types.Link, model_types.Mimic, model_types.DeclaredLimits,
        model_types.JointDynamics, model_types.Joint, model_types.Frame, model_types.LoopClosure, model_types.Model,
        primitives.Point, primitives.Line, primitives.Segment, primitives.Plane, primitives.Sphere, primitives.Capsule,
        Box, ContactInfo, *JOINT_TYPES.values(),
    )
}  # fmt: skip
CLASSES["JointLimits"] = model_types.DeclaredLimits  # name of the class in files written before 0.2


class RunError(EquipoiseError):
    """A run cannot be saved, or a file cannot be read as one."""


def encoded(value: Any) -> Any:
    """Returns a value as JSON data; objects carry their class name under "@"."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else {"@": "number", "text": repr(float(value))}
    if isinstance(value, np.ndarray):
        return {"@": "array", "shape": list(value.shape), "values": [encoded(float(x)) for x in value.ravel()]}
    if isinstance(value, slice):
        return {"@": "slice", "start": value.start, "stop": value.stop}
    if isinstance(value, Mapping):
        return {"@": "mapping", "items": [[str(key), encoded(item)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        return [encoded(item) for item in value]
    if CLASSES.get(type(value).__name__) is type(value):
        parts = {f.name: encoded(getattr(value, f.name)) for f in dataclasses.fields(value) if f.init}
        return {"@": type(value).__name__, **parts}
    raise RunError(f"a {type(value).__name__} cannot be written into a file")


def decoded(data: Any) -> Any:
    """Rebuilds a value from the output of `encoded`; lists become tuples."""
    if isinstance(data, list):
        return tuple(decoded(item) for item in data)
    if not isinstance(data, dict):
        return data
    kind = data.get("@")
    if kind == "number":
        return float(data["text"])
    if kind == "array":
        return np.array([decoded(x) for x in data["values"]], dtype=float).reshape(data["shape"])
    if kind == "slice":
        return slice(data["start"], data["stop"])
    if kind == "mapping":
        return MappingProxyType({key: decoded(item) for key, item in data["items"]})
    if kind not in CLASSES:
        raise RunError(f"the file speaks of a {kind!r}, which this version does not know")
    return CLASSES[kind](**{name: decoded(item) for name, item in data.items() if name != "@"})
