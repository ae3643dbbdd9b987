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
    "compile": "machine.user_functions",
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
    "Point": "geometry.primitives",
    "Line": "geometry.primitives",
    "Segment": "geometry.primitives",
    "Plane": "geometry.primitives",
    "Sphere": "geometry.primitives",
    "Capsule": "geometry.primitives",
    "distance": "geometry.distances",
    "FrameTask": "control.tasks",
    "CoMTask": "control.tasks",
    "PostureTask": "control.tasks",
    "MomentumTask": "control.tasks",
    "PlaneTask": "control.tasks",
    "SupportAreaTask": "control.tasks",
    "RelativeTask": "control.tasks",
    "AbsoluteTask": "control.tasks",
    "ForceTask": "control.tasks",
    "TorqueTask": "control.tasks",
    "PointContact": "control.contacts",
    "FlatContact": "control.contacts",
    "SlidingContact": "control.contacts",
    "TorqueLimits": "control.constraints",
    "JointLimits": "control.constraints",
    "MomentumLimits": "control.constraints",
    "KeepOut": "control.constraints",
    "KeepIn": "control.constraints",
    "CoMInSupport": "control.constraints",
    "Cone": "control.constraints",
    "SelfCollision": "control.constraints",
    "Gains": "control.safety.vfi",
    "WholeBodyController": "control.controller.controller",
    "Stance": "control.stances.transitions",
    "Stances": "control.stances.machine",
    "find_posture": "control.stances.postures",
    "MultiContact": "control.stances.multi_contact",
    "simulate": "simulate.loop",
    "Run": "simulate.run",
    "Push": "simulate.loop",
    "view": "show.viewer",
    "plot": "show.plots",
    "report": "show.report",
    "Box": "simulate.world",
}
_MODULES = {
    "convert": "convert",
    "charts": "forms.charts",
    "principles": "forms.principles",
    "dual_quaternions": "algebra.dual_quaternions",
    "balance": "balance",
    "autograd": "autograd",
    "control": "control",
    "study": "study",
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
