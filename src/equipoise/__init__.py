"""Equations of motion, whole-body control and simulation of free-floating robots, compiled for each robot."""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"
_STARTED = time.time_ns()  # before anything else of the package is read; see machine/sources.py

if TYPE_CHECKING:  # what editors and type checkers see; a test holds it against the table below
    from . import autograd as autograd
    from . import balance as balance
    from . import control as control
    from . import convert as convert
    from . import geometry as geometry
    from . import study as study
    from .algebra import dual_quaternions as dual_quaternions
    from .body.body import Body as Body
    from .body.inverse_kinematics import IKSolution as IKSolution
    from .body.inverse_kinematics import solve_ik as solve_ik
    from .body.profile import BodyError as BodyError
    from .control.constraints import CoMInSupport as CoMInSupport
    from .control.constraints import Cone as Cone
    from .control.constraints import Constraint as Constraint
    from .control.constraints import JointLimits as JointLimits
    from .control.constraints import KeepIn as KeepIn
    from .control.constraints import KeepOut as KeepOut
    from .control.constraints import MomentumLimits as MomentumLimits
    from .control.constraints import SelfCollision as SelfCollision
    from .control.constraints import TorqueLimits as TorqueLimits
    from .control.constraints import TorqueRate as TorqueRate
    from .control.contacts import Contact as Contact
    from .control.contacts import FlatContact as FlatContact
    from .control.contacts import PointContact as PointContact
    from .control.contacts import SlidingContact as SlidingContact
    from .control.controller.controller import WholeBodyController as WholeBodyController
    from .control.safety.vfi import Gains as Gains
    from .control.stances.machine import Stances as Stances
    from .control.stances.multi_contact import MultiContact as MultiContact
    from .control.stances.postures import find_posture as find_posture
    from .control.stances.stance import Stance as Stance
    from .control.tasks import AbsoluteTask as AbsoluteTask
    from .control.tasks import CoMTask as CoMTask
    from .control.tasks import ForceTask as ForceTask
    from .control.tasks import FrameTask as FrameTask
    from .control.tasks import MomentumTask as MomentumTask
    from .control.tasks import PlaneTask as PlaneTask
    from .control.tasks import PostureTask as PostureTask
    from .control.tasks import RelativeTask as RelativeTask
    from .control.tasks import SupportAreaTask as SupportAreaTask
    from .control.tasks import Task as Task
    from .control.tasks import TorqueTask as TorqueTask
    from .errors import CompileError as CompileError
    from .errors import ConstraintError as ConstraintError
    from .errors import ContactWarning as ContactWarning
    from .errors import EquipoiseError as EquipoiseError
    from .errors import ModelError as ModelError
    from .errors import ModelWarning as ModelWarning
    from .errors import ShapeError as ShapeError
    from .errors import StateError as StateError
    from .errors import UnknownNameError as UnknownNameError
    from .estimation.belief import Belief as Belief
    from .estimation.estimator import Estimator as Estimator
    from .estimation.identification import identify as identify
    from .estimation.noise import FilterNoise as FilterNoise
    from .estimation.noise import Prior as Prior
    from .estimation.touch import TouchObserver as TouchObserver
    from .estimation.touch import TouchSettings as TouchSettings
    from .forms import charts as charts
    from .forms import principles as principles
    from .forms.bases import COM as COM
    from .forms.bases import Compound as Compound
    from .forms.equations_of_motion import EquationsOfMotion as EquationsOfMotion
    from .geometry.distances import distance as distance
    from .geometry.primitives import Capsule as Capsule
    from .geometry.primitives import Line as Line
    from .geometry.primitives import Plane as Plane
    from .geometry.primitives import Point as Point
    from .geometry.primitives import Segment as Segment
    from .geometry.primitives import Sphere as Sphere
    from .machine.threads import limit_threads as limit_threads
    from .machine.user_functions import compile as compile
    from .robot import Robot as Robot
    from .robot import RobotBuilder as RobotBuilder
    from .robot import load as load
    from .show.plots import plot as plot
    from .show.report import report as report
    from .show.viewer import view as view
    from .simulate.actuators import Actuators as Actuators
    from .simulate.conditions import Push as Push
    from .simulate.loop import simulate as simulate
    from .simulate.run import Run as Run
    from .simulate.sensors import Sensors as Sensors
    from .simulate.world import Box as Box
    from .walking.standing import Standing as Standing
    from .walking.walking import Walking as Walking

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
    "ContactWarning": "errors",
    "limit_threads": "machine.threads",
    "Point": "geometry.primitives",
    "Line": "geometry.primitives",
    "Segment": "geometry.primitives",
    "Plane": "geometry.primitives",
    "Sphere": "geometry.primitives",
    "Capsule": "geometry.primitives",
    "distance": "geometry.distances",
    "Body": "body.body",
    "BodyError": "body.profile",
    "solve_ik": "body.inverse_kinematics",
    "IKSolution": "body.inverse_kinematics",
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
    "Task": "control.tasks",
    "Contact": "control.contacts",
    "Constraint": "control.constraints",
    "TorqueLimits": "control.constraints",
    "TorqueRate": "control.constraints",
    "JointLimits": "control.constraints",
    "MomentumLimits": "control.constraints",
    "KeepOut": "control.constraints",
    "KeepIn": "control.constraints",
    "CoMInSupport": "control.constraints",
    "Cone": "control.constraints",
    "SelfCollision": "control.constraints",
    "Gains": "control.safety.vfi",
    "WholeBodyController": "control.controller.controller",
    "Stance": "control.stances.stance",
    "Stances": "control.stances.machine",
    "find_posture": "control.stances.postures",
    "MultiContact": "control.stances.multi_contact",
    "Standing": "walking.standing",
    "Walking": "walking.walking",
    "Estimator": "estimation.estimator",
    "Belief": "estimation.belief",
    "FilterNoise": "estimation.noise",
    "Prior": "estimation.noise",
    "identify": "estimation.identification",
    "TouchObserver": "estimation.touch",
    "TouchSettings": "estimation.touch",
    "simulate": "simulate.loop",
    "Sensors": "simulate.sensors",
    "Actuators": "simulate.actuators",
    "Run": "simulate.run",
    "Push": "simulate.conditions",
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
    "geometry": "geometry",
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
