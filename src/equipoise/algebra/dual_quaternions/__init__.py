"""Dual quaternions, as in [QO21, App. A]: one number for a rotation, a pose, a twist or a wrench.

    h = P + ε D,   ε² = 0,   P and D quaternions (w, x, y, z)

Quaternions are the dual quaternions with D = 0, so formulas read as they are printed: `r + 0.5 * E * p * r` is the pose
with rotation r and origin p. A `DQ` may hold a whole batch: its numbers are an array (…, 8), primary part first.
"""

from .components import C4 as C4
from .components import C8 as C8
from .components import IMAGINARY as IMAGINARY
from .components import conjugate as conjugate
from .components import left_matrix as left_matrix
from .components import multiply as multiply
from .components import right_matrix as right_matrix
from .exponential import exp as exp
from .exponential import log as log
from .exponential import power as power
from .exponential import screw_exp as screw_exp
from .exponential import screw_log as screw_log
from .exponential import screw_power as screw_power
from .motion import Ad as Ad
from .motion import adjoint as adjoint
from .motion import cross as cross
from .motion import cross_matrix4 as cross_matrix4
from .motion import derivative as derivative
from .motion import dot as dot
from .motion import from_matrix as from_matrix
from .motion import haminus4 as haminus4
from .motion import haminus8 as haminus8
from .motion import hamiplus4 as hamiplus4
from .motion import hamiplus8 as hamiplus8
from .motion import pose as pose
from .motion import rotation as rotation
from .motion import translation as translation
from .motion import twist as twist
from .motion import twist_array as twist_array
from .motion import twist_of as twist_of
from .motion import wrench as wrench
from .number import DQ as DQ
from .number import E as E
from .number import i as i
from .number import j as j
from .number import k as k
from .number import pure as pure
from .number import quaternion as quaternion
