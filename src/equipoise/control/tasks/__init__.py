"""Tasks, one per file: what the robot should do."""

from .absolute import AbsoluteTask as AbsoluteTask
from .com import CoMTask as CoMTask
from .com_ellipse import CoMEllipseTask as CoMEllipseTask
from .force import ForceTask as ForceTask
from .frame import FrameTask as FrameTask
from .hull_area import HullAreaTask as HullAreaTask
from .momentum import MomentumTask as MomentumTask
from .plane import PlaneTask as PlaneTask
from .posture import PostureTask as PostureTask
from .references import PoseReference as PoseReference
from .references import PostureReference as PostureReference
from .references import Reference as Reference
from .references import VectorReference as VectorReference
from .relative import RelativeTask as RelativeTask
from .rolling import Rolling as Rolling
from .support_area import SupportAreaTask as SupportAreaTask
from .surface import SurfaceTask as SurfaceTask
from .task import DirectTerms as DirectTerms
from .task import Task as Task
from .task import Terms as Terms
from .torque import TorqueTask as TorqueTask
