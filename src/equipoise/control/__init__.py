"""Tasks, contacts, constraints and the controller; and the control laws of the papers in closed form."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what editors and type checkers see
    from .body_contacts import contacts_of_body as contacts_of_body
    from .closed_form.chart_programs import WholeBodyProblem as WholeBodyProblem
    from .closed_form.chart_programs import chart_program as chart_program
    from .closed_form.com_control import PostureCriterion as PostureCriterion
    from .closed_form.com_control import SafeEllipse as SafeEllipse
    from .closed_form.com_control import com_error as com_error
    from .closed_form.com_control import constrained_error as constrained_error
    from .closed_form.com_control import hand_error as hand_error
    from .closed_form.com_control import prioritised_error as prioritised_error
    from .closed_form.com_control import prioritised_velocity as prioritised_velocity
    from .closed_form.com_control import reach as reach
    from .closed_form.cones import SafeAngle as SafeAngle
    from .closed_form.cones import cone_acceleration_rows as cone_acceleration_rows
    from .closed_form.cones import cone_velocity_rows as cone_velocity_rows
    from .closed_form.cones import joint_limit_angle as joint_limit_angle
    from .closed_form.decoupling import OutputDynamics as OutputDynamics
    from .closed_form.decoupling import output_dynamics as output_dynamics
    from .closed_form.decoupling import slow_output_dynamics as slow_output_dynamics
    from .closed_form.hierarchy import WholeBody as WholeBody
    from .closed_form.hierarchy import prioritised_least_squares as prioritised_least_squares
    from .closed_form.motions import Motion as Motion
    from .closed_form.motions import com_motion as com_motion
    from .closed_form.motions import frame_motion as frame_motion
    from .closed_form.operational_space import OperationalSpace as OperationalSpace
    from .closed_form.operational_space import operational_dynamics as operational_dynamics
    from .closed_form.operational_space import task_inverse_dynamics as task_inverse_dynamics
    from .closed_form.task_space import acceleration_program as acceleration_program
    from .closed_form.task_space import error_acceleration as error_acceleration
    from .closed_form.task_space import joint_torque as joint_torque
    from .closed_form.task_space import resting_program as resting_program
    from .closed_form.task_space import shrinking_bounds as shrinking_bounds
    from .closed_form.task_space import velocity_program as velocity_program
    from .closed_form.unilateral import UnilateralTorque as UnilateralTorque
    from .closed_form.unilateral import unilateral_torque as unilateral_torque
    from .constraints import AbsoluteCone as AbsoluteCone
    from .constraints import Barrier as Barrier
    from .constraints import BarrierConstraint as BarrierConstraint
    from .constraints import BoundedRows as BoundedRows
    from .constraints import CoMInEllipse as CoMInEllipse
    from .constraints import JointCones as JointCones
    from .constraints import RestingBounds as RestingBounds
    from .contacts import ContactTerms as ContactTerms
    from .controller.context import Context as Context
    from .controller.joint_command import JointCommand as JointCommand
    from .controller.joint_command import JointCommander as JointCommander
    from .controller.scene import Affine as Affine
    from .controller.scene import Scene as Scene
    from .controller.solution import ControlStatus as ControlStatus
    from .controller.solution import Solution as Solution
    from .events import ControlEvent as ControlEvent
    from .events import ControlEventKind as ControlEventKind
    from .item import NamedNumbers as NamedNumbers
    from .item import Numbers as Numbers
    from .item import Parameters as Parameters
    from .item import TaskError as TaskError
    from .qp import ActiveSetSolver as ActiveSetSolver
    from .qp import DaqpSolver as DaqpSolver
    from .qp import QpsolversSolver as QpsolversSolver
    from .qp import QuadraticProgram as QuadraticProgram
    from .qp import Rows as Rows
    from .qp import Solver as Solver
    from .safety.vfi import Gains as Gains
    from .tasks import CoMEllipseTask as CoMEllipseTask
    from .tasks import DirectTerms as DirectTerms
    from .tasks import PoseReference as PoseReference
    from .tasks import Terms as Terms
    from .tasks import VectorReference as VectorReference

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
    "UnilateralTorque": "closed_form.unilateral",
    "unilateral_torque": "closed_form.unilateral",
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
    "Numbers": "item",
    "NamedNumbers": "item",
    "Parameters": "item",
    "TaskError": "item",
    "Terms": "tasks",
    "DirectTerms": "tasks",
    "VectorReference": "tasks",
    "PoseReference": "tasks",
    "ContactTerms": "contacts",
    "BoundedRows": "constraints",
    "contacts_of_body": "body_contacts",
    "AbsoluteCone": "constraints",
    "Barrier": "constraints",
    "BarrierConstraint": "constraints",
    "CoMInEllipse": "constraints",
    "JointCones": "constraints",
    "RestingBounds": "constraints",
    "CoMEllipseTask": "tasks",
    "ControlEvent": "events",
    "ControlEventKind": "events",
    "Context": "controller.context",
    "Scene": "controller.scene",
    "Affine": "controller.scene",
    "QuadraticProgram": "qp",
    "Rows": "qp",
    "Solver": "qp",
    "DaqpSolver": "qp",
    "ActiveSetSolver": "qp",
    "QpsolversSolver": "qp",
    "ControlStatus": "controller.solution",
    "JointCommand": "controller.joint_command",
    "JointCommander": "controller.joint_command",
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
