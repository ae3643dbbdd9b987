"""Tasks, contacts, constraints and the controller; and the control laws of the papers in closed form."""

from __future__ import annotations

import importlib
from typing import Any

# Where each name lives; imported when first used, so that geometry does not load a solver.
_HOMES = {
    "Motion": "closed_form.motions",
    "frame_motion": "closed_form.motions",
    "com_motion": "closed_form.motions",
    "WholeBody": "closed_form.hierarchy",
    "prioritised_least_squares": "closed_form.hierarchy",
    "OperationalSpace": "closed_form.operational_space",
    "operational_dynamics": "closed_form.operational_space",
    "task_inverse_dynamics": "closed_form.operational_space",
    "OutputDynamics": "closed_form.decoupling",
    "output_dynamics": "closed_form.decoupling",
    "slow_output_dynamics": "closed_form.decoupling",
    "PostureCriterion": "closed_form.com_control",
    "SafeEllipse": "closed_form.com_control",
    "com_error": "closed_form.com_control",
    "constrained_error": "closed_form.com_control",
    "hand_error": "closed_form.com_control",
    "prioritised_error": "closed_form.com_control",
    "prioritised_velocity": "closed_form.com_control",
    "reach": "closed_form.com_control",
    "acceleration_program": "closed_form.task_space",
    "error_acceleration": "closed_form.task_space",
    "joint_torque": "closed_form.task_space",
    "resting_program": "closed_form.task_space",
    "shrinking_bounds": "closed_form.task_space",
    "velocity_program": "closed_form.task_space",
    "SafeAngle": "closed_form.cones",
    "cone_acceleration_rows": "closed_form.cones",
    "cone_velocity_rows": "closed_form.cones",
    "joint_limit_angle": "closed_form.cones",
    "Gains": "safety.vfi",
    "Numbers": "tasks",
    "QuadraticProgram": "qp",
    "Rows": "qp",
    "Solver": "qp",
    "ActiveSetSolver": "qp",
    "DaqpSolver": "qp",
    "QpsolversSolver": "qp",
    "ControlStatus": "controller.solution",
    "Solution": "controller.solution",
    "WholeBodyProblem": "closed_form.chart_programs",
    "chart_program": "closed_form.chart_programs",
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
