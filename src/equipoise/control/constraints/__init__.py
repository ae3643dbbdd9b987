"""Constraints, one per file: what must hold whatever the tasks want."""

from .absolute_cone import AbsoluteCone as AbsoluteCone
from .barrier import Barrier as Barrier
from .barrier import BarrierConstraint as BarrierConstraint
from .com_above import CoMAbove as CoMAbove
from .com_in_ellipse import CoMInEllipse as CoMInEllipse
from .com_in_support import CoMInSupport as CoMInSupport
from .cone import Cone as Cone
from .constraint import BoundedRows as BoundedRows
from .constraint import Constraint as Constraint
from .joint_cones import JointCones as JointCones
from .joint_limits import JointLimits as JointLimits
from .keep_out import KeepIn as KeepIn
from .keep_out import KeepOut as KeepOut
from .momentum_limits import MomentumLimits as MomentumLimits
from .points_inside import PointsInside as PointsInside
from .resting_bounds import RestingBounds as RestingBounds
from .self_collision import SelfCollision as SelfCollision
from .torque_limits import TorqueLimits as TorqueLimits
from .torque_rate import TorqueRate as TorqueRate
