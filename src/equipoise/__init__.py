"""Equations of motion, whole-body control and simulation of free-floating robots, compiled for each robot."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Where each public name lives; imported when first used, so that `import equipoise` costs nothing.
_HOMES = {
    "load": "robot",
    "Robot": "robot",
    "RobotBuilder": "robot",
    "compile": "robot",
    "EquationsOfMotion": "forms.equations_of_motion",
    "Compound": "forms.bases",
    "COM": "forms.bases",
    "EquipoiseError": "errors",
    "ModelError": "errors",
    "ShapeError": "errors",
    "StateError": "errors",
    "UnknownNameError": "errors",
    "CompileError": "errors",
    "ConstraintError": "errors",
    "ModelWarning": "errors",
    "limit_threads": "machine.threads",
    "Point": "control.primitives",
    "Line": "control.primitives",
    "Segment": "control.primitives",
    "Plane": "control.primitives",
    "Sphere": "control.primitives",
    "Capsule": "control.primitives",
    "distance": "control.distances",
}
_MODULES = {
    "convert": "convert",
    "charts": "forms.charts",
    "principles": "forms.principles",
    "dual_quaternions": "algebra.dual_quaternions",
    "balance": "balance",
}

__all__ = [*_HOMES, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{_MODULES[name]}")
    raise AttributeError(f"module 'equipoise' has no attribute {name!r}; it offers {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
