from . import autograd as autograd  # module
from . import balance as balance  # module
from . import control as control  # module
from . import convert as convert  # module
from . import geometry as geometry  # module
from . import study as study  # module
from .algebra import dual_quaternions as dual_quaternions  # module
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
from .forms import charts as charts  # module
from .forms import principles as principles  # module
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

__version__: str
_STARTED: int
