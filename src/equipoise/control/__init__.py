"""Tasks, contacts, constraints and the controller; and the control laws of the papers in closed form."""

from __future__ import annotations

import importlib
from typing import Any

# Where each name lives; imported when first used, so that geometry does not load a solver.
_HOMES = {
    "Motion": "motions",
    "frame_motion": "motions",
    "com_motion": "motions",
    "WholeBody": "hierarchy",
    "prioritised_least_squares": "hierarchy",
    "OperationalSpace": "operational_space",
    "operational_dynamics": "operational_space",
    "task_inverse_dynamics": "operational_space",
    "OutputDynamics": "decoupling",
    "output_dynamics": "decoupling",
    "slow_output_dynamics": "decoupling",
    "PostureCriterion": "com_control",
    "SafeEllipse": "com_control",
    "com_error": "com_control",
    "constrained_error": "com_control",
    "hand_error": "com_control",
    "prioritised_error": "com_control",
    "prioritised_velocity": "com_control",
    "reach": "com_control",
    "acceleration_program": "task_space",
    "error_acceleration": "task_space",
    "joint_torque": "task_space",
    "resting_program": "task_space",
    "shrinking_bounds": "task_space",
    "velocity_program": "task_space",
    "SafeAngle": "cones",
    "cone_acceleration_rows": "cones",
    "cone_velocity_rows": "cones",
    "joint_limit_angle": "cones",
    "Gains": "vfi",
    "Numbers": "tasks",
    "angle": "distances",
    "distances_kernel": "distances",
    "QuadraticProgram": "qp",
    "Rows": "qp",
    "Solver": "qp",
    "solve_levels": "qp",
    "ControlStatus": "solution",
    "Solution": "solution",
    "WholeBodyProblem": "chart_programs",
    "chart_program": "chart_programs",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'equipoise.control' has no attribute {name!r}; it offers {', '.join(__all__)}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
