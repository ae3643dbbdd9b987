"""M a + C v + g = tau + Σ Jᵀ F at one state, in the variables a user wants.

All forms of one state share an origin: M, C, g in the mixed velocity of the robot's own base. Going from one form to
another starts there, so the way back is exact; it costs a few small products, never the recursive algorithms again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algebra import quaternions
from ..algebra.arrays import times
from ..errors import ShapeError, unknown_name
from ..machine.kernel import Kernel
from .bases import COM, Base

if TYPE_CHECKING:
    from .chart_equations import ChartEquations, Charts
    from .charts import Chart
    from .constrained import ConstrainedDynamics
    from .support import FixedSupport

Array = np.ndarray
REPRESENTATIONS = ("mixed", "body", "inertial")


@dataclass(frozen=True, eq=False)
class Origin:
    """What all forms of one state have in common, in the mixed velocity of the robot's own base B."""

    q: Array
    v: Array
    M: Array
    C: Array
    g: Array
    base_kernel: Callable[[Base, str], Kernel]  # brings M, C, g to another base
    coriolis_matrix: Callable[[Array, Array], Array]  # of (q, v)
    joint: Callable[[str], Any]  # a joint by name
    floating: bool

    @functools.cached_property
    def rows(self) -> tuple[Array, ...]:
        """q, v, M, C, g as kernels take them: matrices row by row."""
        n = self.v.shape[-1]
        return self.q, self.v, *(x.reshape(*x.shape[:-2], n * n) for x in (self.M, self.C)), self.g


@dataclass(frozen=True, eq=False)
class Change:
    """ν_B = T ν with T = [U; 0 1] and T⁻¹ = [U_inverse; 0 1] [TPN17, Eq. (18)]."""

    U: Array
    U_dot: Array
    U_inverse: Array


def _base_replaced(top: Array, x: Array) -> Array:
    return np.concatenate([np.broadcast_to(top, (*x.shape[:-1], 6)), x[..., 6:]], axis=-1)


@dataclass(frozen=True, eq=False)
class EquationsOfMotion:
    """M a + C v + g = tau + Σ Jᵀ F, evaluated at one state (or a batch of states). Frozen.

    Attributes:
        M: mass matrix, (…, nv, nv).
        C: Coriolis matrix with Ṁ − 2C skew, (…, nv, nv).
        g: gravity force, (…, nv).
        v: velocity, (…, nv).
        X: pose of the base in the world, (…, 4, 4).
        base: the frame whose velocity v starts with: None for the robot's own, a frame, a `Compound`, or `COM`.
        representation: of that velocity.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> robot = eq.load("quadruped")
        >>> eom = robot.equations_of_motion(*robot.random_state(np.random.default_rng(0)))
        >>> foot = eom.in_base("front_left_foot")  # the same motion, another base
        >>> bool(np.isclose(foot.kinetic_energy, eom.kinetic_energy))
        True
        >>> bool(np.allclose(eom.centroidal().M[:6, 6:], 0, atol=1e-12))
        True
    """

    M: Array
    C: Array
    g: Array
    v: Array
    X: Array | None
    base: Base
    representation: str
    origin: Origin
    change: Change | None  # None: these are the origin's own variables

    # --- other forms --------------------------------------------------------------------------------------------

    def in_base(self, base: Base) -> EquationsOfMotion:
        """The same motion with the velocity of another base [TPN17, Theorem 2]: a frame, E[F], G[F] or G."""
        return _in_form(self.origin, base, self.representation)

    def in_representation(self, representation: str) -> EquationsOfMotion:
        """The same motion with the base velocity mixed, in body axes, or inertial [TPN17, Sec. 2.4]."""
        return _in_form(self.origin, self.base, representation)

    def centroidal(self) -> EquationsOfMotion:
        """The average velocity of the whole robot as base velocity: M is block diagonal [TPN17, Lemma 4]."""
        return _in_form(self.origin, COM, "mixed")

    def fixed_at(self, frame: str) -> FixedSupport:
        """The equations of the joints alone while a frame cannot move [TPN17, Lemma 5]."""
        from .support import fixed_support

        return fixed_support(self, frame)

    def in_chart(self, chart: Chart | type[Chart] | Charts, joint: str | None = None) -> ChartEquations:
        """Coordinates of charts, and their rates, for orientations of the base, ball joints and free objects [BK12].

        Args:
            chart: one chart, or charts by joint, {None: UnitQuaternion, "shoulder": RollPitchYaw}; None is the base.
            joint: the ball joint or free object that a single chart is for; the base if not given.
        """
        from .chart_equations import chart_equations

        charts = chart if isinstance(chart, Mapping) else {joint: chart}
        return chart_equations(self.in_representation("mixed"), charts)

    def constrained(self, J: Array, Jdot_v: Array) -> ConstrainedDynamics:
        """The same motion under J a + J̇ v = 0, J in the variables of this form."""
        from .constrained import ConstrainedDynamics

        return ConstrainedDynamics(self.M, self.bias_force, np.asarray(J), -np.asarray(Jdot_v))

    # --- readings -----------------------------------------------------------------------------------------------

    @property
    def bias_force(self) -> Array:
        """C v + g."""
        return times(self.C, self.v) + self.g

    @property
    def kinetic_energy(self) -> Array:
        """½ vᵀ M v [TPN17, Eq. (11)]: the same in every form."""
        return 0.5 * np.einsum("...i,...ij,...j->...", self.v, self.M, self.v)

    @property
    def q(self) -> Array:
        """Configuration that goes with this base: its pose, then the joints [TPN17, Eqs. (17a), (25), (35)]."""
        if self.X is None:
            return self.origin.q
        pose = [self.X[..., :3, 3], quaternions.from_rotation(self.X[..., :3, :3])]
        return np.concatenate([*pose, self.origin.q[..., 7:]], axis=-1)

    def force(self, a: Array) -> Array:
        """Generalised force that gives acceleration a."""
        return times(self.M, np.asarray(a)) + self.bias_force

    def acceleration(self, tau: Array) -> Array:
        """Acceleration under generalised force tau."""
        return np.linalg.solve(self.M, (np.asarray(tau) - self.bias_force)[..., None])[..., 0]

    # --- carrying quantities over -------------------------------------------------------------------------------

    def velocity_from(self, other: EquationsOfMotion, v: Array) -> Array:
        """A velocity of `other`'s variables in those of this form [TPN17, Eq. (17b)]."""
        return self._velocity_from_origin(other._velocity_to_origin(_checked("v", v, self)))

    def acceleration_from(self, other: EquationsOfMotion, a: Array) -> Array:
        """An acceleration at this state [TPN17, Eq. (50)]."""
        a = _checked("a", a, self)
        a_origin = other._velocity_to_origin(a) + other._drift()
        return self._velocity_from_origin(a_origin - self._drift())

    def force_from(self, other: EquationsOfMotion, tau: Array) -> Array:
        """A generalised force; power is the same [TPN17, Eq. (19)]."""
        tau = _checked("tau", tau, self)
        if other.change is not None:
            tau = _transposed(other.change.U_inverse, tau)
        return tau if self.change is None else _transposed(self.change.U, tau)

    def jacobian_from(self, other: EquationsOfMotion, J: Array) -> Array:
        """A Jacobian of any velocity [TPN17, Eq. (21)]."""
        J = _checked("J", J, self)
        if other.change is not None:
            J = _columns_replaced(J, other.change.U_inverse)
        return J if self.change is None else _columns_replaced(J, self.change.U)

    def _velocity_to_origin(self, x: Array) -> Array:
        return x if self.change is None else _base_replaced(times(self.change.U, x), x)

    def _velocity_from_origin(self, x: Array) -> Array:
        return x if self.change is None else _base_replaced(times(self.change.U_inverse, x), x)

    def _drift(self) -> Array:
        """Ṫ v: acceleration in the origin's variables when a = 0 here."""
        still = np.zeros_like(self.v)
        return still if self.change is None else _base_replaced(times(self.change.U_dot, self.v), still)


def _transposed(U: Array, tau: Array) -> Array:
    """[U; 0 1]ᵀ tau."""
    below = np.concatenate([np.zeros_like(tau[..., :6]), tau[..., 6:]], axis=-1)
    return times(np.swapaxes(U, -1, -2), tau[..., :6]) + below


def _columns_replaced(J: Array, U: Array) -> Array:
    """J [U; 0 1]."""
    behind = np.concatenate([np.zeros_like(J[..., :6]), J[..., 6:]], axis=-1)
    return J[..., :6] @ U + behind


def _checked(name: str, x: Array, form: EquationsOfMotion) -> Array:
    x = np.asarray(x, dtype=float)
    if x.ndim == 0 or x.shape[-1] != form.v.shape[-1]:
        raise ShapeError(f"{name} must have {form.v.shape[-1]} numbers in its last dimension, got shape {x.shape}")
    return x


def at_origin(origin: Origin) -> EquationsOfMotion:
    """The form in which the origin itself is written."""
    q, v, M, C, g = map(_sealed, (origin.q, origin.v, origin.M, origin.C, origin.g))
    frozen = replace(origin, q=q, v=v, M=M, C=C, g=g)
    return EquationsOfMotion(frozen.M, frozen.C, frozen.g, frozen.v, None, None, "mixed", frozen, None)


def _in_form(origin: Origin, base: Base, representation: str) -> EquationsOfMotion:
    if representation not in REPRESENTATIONS:
        raise unknown_name("velocity representation", representation, REPRESENTATIONS)
    if base is None and representation == "mixed":
        return at_origin(origin)
    results = origin.base_kernel(base, representation)(*origin.rows)
    for result in results:
        result.setflags(write=False)
    M, C, g, U, U_dot, U_inverse, X, v = results
    return EquationsOfMotion(M, C, g, v, X, base, representation, origin, Change(U, U_dot, U_inverse))


def _sealed(x: Any) -> Array:
    """Read-only; arrays that are ours alone are sealed as they are, views are copied."""
    array = np.asarray(x)
    if array.flags.writeable:
        array = array if array.flags.owndata else array.copy()
        array.flags.writeable = False
    return array
