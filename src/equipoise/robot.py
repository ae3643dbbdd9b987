"""The face: a Robot is a model with its kernels and forms behind one set of names. No algorithm lives here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .errors import ShapeError, unknown_name
from .forms.arguments import seconds, six_each
from .forms.bases import Base, base_kernel
from .forms.derivatives import (
    DifferenceDerivatives,
    ForwardDynamicsDerivatives,
    InverseDynamicsDerivatives,
    MomentumDerivatives,
    StepDerivatives,
    VelocityDerivatives,
    parted,
)
from .forms.equations_of_motion import EquationsOfMotion, Origin, at_origin
from .forms.representations import twist
from .machine import store
from .machine.kernel import Kernel
from .model import changes, library
from .model.builder import ModelBuilder
from .model.checks import check
from .model.described import Described
from .model.inertias import tree_parameters
from .model.placeholders import without_placeholders
from .model.types import STANDARD_GRAVITY, Joint

Array = np.ndarray
REPRESENTATIONS = ("mixed", "body", "inertial")
FRAME_QUANTITIES = ("pose", "jacobian", "jacobian_rate", "velocity", "bias_acceleration", "velocity_derivatives")
WITHOUT_REPRESENTATION = (
    "pose", "poses", "com", "potential_energy", "integrate", "difference",
    "inverse_dynamics_derivatives", "forward_dynamics_derivatives",
    "velocity_derivatives", "momentum_derivatives", "integrate_derivatives", "difference_derivatives", "tangent_basis",
)  # fmt: skip
CORE = (
    "mass_matrix", "coriolis_matrix", "gravity", "bias_force", "inverse_dynamics", "forward_dynamics",
    "com_jacobian", "momentum_matrix", "momentum_bias",
)  # fmt: skip


def load(
    source: str | Path,
    *,
    floating: bool | None = None,
    joints: Iterable[str] | None = None,
    locked: Mapping[str, float] | Iterable[str] | None = None,
    passive: Iterable[str] = (),
    actuated: Iterable[str] = (),
    gravity: Sequence[float] = STANDARD_GRAVITY,
    strict: bool = False,
    armature: bool = False,
    **parameters: object,
) -> Robot:
    """Read a robot.

    Args:
        source: path of a URDF or MJCF file, its text, or a name such as "human", "arm7", "jvrc1", "talos".
        floating: whether the base floats. A URDF cannot say, so by default what can stand, drive or fly floats, and
            what cannot is fixed, as is a root link named "world": a `ModelWarning` says so. MJCF files and built-in
            robots are as they are described unless this is given.
        joints: the joints to keep; all others are locked at their zero.
        locked: joints to lock: names (locked at zero), or names with positions.
        passive: names of joints without a motor, besides those of the description (see `Robot.actuated`).
        actuated: names of joints with a motor, whatever the description says.
        gravity: acceleration of free fall in the world, m/s².
        strict: treat doubtful inertias and the like as errors instead of warnings.
        armature: put the rotor inertias of the joints into all equations, as `Robot.with_armature` does.
        parameters: of a built-in robot, such as `height` and `mass` of "human".

    Returns:
        The robot, checked; a `ModelWarning` tells each kind of doubt once.
    """
    model = library.read(source, floating=floating, gravity=gravity, **parameters)
    positions = changes.to_lock(model, joints, locked)
    if positions:
        model = changes.locked(model, positions)
    model = changes.with_motors(replace(model, armature=model.armature or armature), actuated=actuated, passive=passive)
    model, doubts = without_placeholders(model)
    return Robot(model, check(model, strict=strict, more=doubts))


@dataclass(frozen=True, eq=False, repr=False)
class Robot(Described):
    """A robot: frozen. Every method takes leading dimensions as batches, and float32 arrays as float32.

    Arguments that methods share; SI units and radians, see docs/notation.md:

    - `q`: configuration, (…, nq); `v`: velocity and `a`: acceleration, (…, nv); `tau`: generalised force, (…, nv), N
      and N m
    - `frame`: name of a frame, one of `robot.frames`
    - `wrenches`: by frame, (…, 6) force and torque on the robot at the frame's origin, N and N m
    - `representation`: of the base's velocity and of twists: "mixed", "body" or "inertial"
    - `out`: an array for the result, which saves its allocation

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> robot = eq.load("arm6")
        >>> q, v = robot.random_state(np.random.default_rng(0), 100)  # a batch of 100 states
        >>> M, h = robot.mass_matrix(q), robot.bias_force(q, v)
        >>> M.shape, h.shape
        ((100, 6, 6), (100, 6))
        >>> tau = robot.inverse_dynamics(q, v, np.ones((100, 6)))
        >>> bool(np.allclose(tau, M.sum(axis=-1) + h))
        True
        >>> robot.pose(q[0], "tool").shape
        (4, 4)
    """

    # --- configurations -----------------------------------------------------------------------------------------

    def integrate(self, q: Array, v: Array, dt: float | Array = 1.0) -> Array:
        """q after dt seconds at constant v (mixed), on the manifold, (…, nq)."""
        return self.kernel("integrate")(q, v, seconds(q, v, dt))

    def difference(self, q0: Array, q1: Array) -> Array:
        """v with integrate(q0, v) = q1, the shortest way, (…, nv)."""
        return self.kernel("difference")(q0, q1)

    # --- frames -------------------------------------------------------------------------------------------------

    def pose(self, q: Array, frame: str, *, out: Array | None = None) -> Array:
        """Pose of a frame in the world, (…, 4, 4)."""
        return self.kernel("pose", frame)(q, out=out)

    def poses(self, q: Array, frames: Iterable[str] | None = None) -> Array:
        """Poses of many frames in the world, by one kernel.

        Args:
            q: configuration, (…, nq).
            frames: names of the frames; all of `robot.frames`, in their order, if not given.

        Returns:
            Poses, (…, frames, 4, 4).
        """
        named = tuple(self.frames if frames is None else frames)
        if not named:
            raise unknown_name("frame", None, self.frames)
        return self.kernel("poses", named)(q)

    def jacobian(self, q: Array, frame: str, representation: str = "mixed", *, out: Array | None = None) -> Array:
        """J with twist = J v, (…, 6, nv)."""
        return self.kernel("jacobian", frame, representation)(q, out=out)

    def jacobian_rate(self, q: Array, v: Array, frame: str, representation: str = "mixed") -> Array:
        """J̇ along the motion, (…, 6, nv)."""
        return self.kernel("jacobian_rate", frame, representation)(q, v)

    def velocity(self, q: Array, v: Array, frame: str, representation: str = "mixed") -> Array:
        """Twist (linear, angular) of a frame, (…, 6) m/s and rad/s."""
        return self.kernel("velocity", frame, representation)(q, v)

    def bias_acceleration(self, q: Array, v: Array, frame: str, representation: str = "mixed") -> Array:
        """J̇ v, (…, 6) m/s² and rad/s²: how the frame accelerates when a = 0."""
        return self.kernel("bias_acceleration", frame, representation)(q, v)

    # --- dynamics -----------------------------------------------------------------------------------------------

    def mass_matrix(self, q: Array, representation: str = "mixed", *, out: Array | None = None) -> Array:
        """M(q), (…, nv, nv)."""
        return self.kernel("mass_matrix", None, representation)(q, out=out)

    def coriolis_matrix(self, q: Array, v: Array, representation: str = "mixed", *, out: Array | None = None) -> Array:
        """C(q, v) with Ṁ − 2C skew, (…, nv, nv)."""
        return self.kernel("coriolis_matrix", None, representation)(q, v, out=out)

    def gravity(self, q: Array, representation: str = "mixed", *, out: Array | None = None) -> Array:
        """g(q): the force that holds the robot up, (…, nv) N and N m."""
        return self.kernel("gravity", None, representation)(q, out=out)

    def bias_force(self, q: Array, v: Array, representation: str = "mixed", *, out: Array | None = None) -> Array:
        """C v + g, (…, nv) N and N m."""
        return self.kernel("bias_force", None, representation)(q, v, out=out)

    def inverse_dynamics(
        self,
        q: Array,
        v: Array,
        a: Array,
        wrenches: Mapping[str, Array] | None = None,
        representation: str = "mixed",
        *,
        out: Array | None = None,
    ) -> Array:
        """Generalised force for acceleration a under external wrenches on frames: M a + C v + g − Σ Jᵀ F, (…, nv)."""
        if not wrenches:
            return self.kernel("inverse_dynamics", None, representation)(q, v, a, out=out)
        kernel = self.kernel("inverse_dynamics", tuple(wrenches), representation)
        return kernel(q, v, a, *six_each(wrenches), out=out)

    def forward_dynamics(
        self,
        q: Array,
        v: Array,
        tau: Array,
        wrenches: Mapping[str, Array] | None = None,
        representation: str = "mixed",
        *,
        out: Array | None = None,
    ) -> Array:
        """Acceleration under generalised force tau and external wrenches on frames, (…, nv) m/s² and rad/s²."""
        if not wrenches:
            return self.kernel("forward_dynamics", None, representation)(q, v, tau, out=out)
        kernel = self.kernel("forward_dynamics", tuple(wrenches), representation)
        return kernel(q, v, tau, *six_each(wrenches), out=out)

    def regressor(
        self, q: Array, v: Array, a: Array, representation: str = "mixed", *, out: Array | None = None
    ) -> Array:
        """Y with inverse_dynamics(q, v, a) = Y π, (…, nv, 10 n); π as `inertial_parameters`, rotors not in it."""
        return self.kernel("regressor", None, representation)(q, v, a, out=out)

    @property
    def inertial_parameters(self) -> Array:
        """π of the n moving bodies, (10 n,): mass, first moment, inertia (xx, xy, xz, yy, yz, zz) about the body's
        origin."""
        return tree_parameters(self.tree)

    def kinetic_energy(self, q: Array, v: Array, representation: str = "mixed") -> Array:
        """½ vᵀ M v, (…) J."""
        return self.kernel("kinetic_energy", None, representation)(q, v)[()]

    def potential_energy(self, q: Array) -> Array:
        """−m gᵀ c, (…) J; zero with the centre of mass at the world's origin."""
        return self.kernel("potential_energy")(q)[()]

    def equations_of_motion(self, q: Array, v: Array, representation: str = "mixed") -> EquationsOfMotion:
        """M, C and g at a state, to be taken to other bases, representations and charts."""
        q, v = np.array(q), np.array(v)  # copies: the form seals its arrays, and these are the user's
        if self.base_link is not None and representation != "mixed":
            X = self.pose(q, self.base_link)
            v = np.concatenate([twist(X, v[..., :6], representation, "mixed"), v[..., 6:]], axis=-1)
        terms = self.mass_matrix(q), self.coriolis_matrix(q, v), self.gravity(q)
        form = at_origin(Origin(q, v, *terms, self._base_kernel, self.coriolis_matrix, self._joint, self.floating))
        return form if representation == "mixed" or not self.floating else form.in_representation(representation)

    def joint_friction(self, v: Array) -> Array:
        """Force with which the joints resist, damping · v + friction · sign(v); subtract it from tau to apply it."""
        v = np.asarray(v, dtype=float)
        if v.shape[-1:] != (self.nv,):
            raise ShapeError(f"joint_friction: v must have shape (…, {self.nv}), got {v.shape}")
        damping, friction = np.zeros(self.nv), np.zeros(self.nv)
        for joint in self.joints.values():
            factor = 1.0 if joint.mimic is None else joint.mimic.multiplier
            damping[joint.v] += factor**2 * joint.dynamics.damping
            friction[joint.v] += abs(factor) * joint.dynamics.friction
        return damping * v + friction * np.sign(v)

    def spring_force(self, q: Array) -> Array:
        """Force with which springs of joints pull back, stiffness · (q − rest); subtract it from tau to apply it."""
        q = np.asarray(q, dtype=float)
        if q.shape[-1:] != (self.nq,):
            raise ShapeError(f"spring_force: q must have shape (…, {self.nq}), got {q.shape}")
        force = np.zeros((*q.shape[:-1], self.nv))
        for joint in self.joints.values():
            if joint.dynamics.stiffness and joint.type.nq == 1 and joint.mimic is None:
                force[..., joint.v] = joint.dynamics.stiffness * (q[..., joint.q] - joint.dynamics.rest)
        return force

    # --- centre of mass -----------------------------------------------------------------------------------------

    def com(self, q: Array) -> Array:
        """Centre of mass in the world, (…, 3) m."""
        return self.kernel("com")(q)

    def com_jacobian(self, q: Array, representation: str = "mixed", *, out: Array | None = None) -> Array:
        """J with ċ = J v, (…, 3, nv)."""
        return self.kernel("com_jacobian", None, representation)(q, out=out)

    def com_bias(self, q: Array, v: Array, representation: str = "mixed") -> Array:
        """J̇ v of the centre of mass, (…, 3) m/s²."""
        return self.kernel("com_bias", None, representation)(q, v)

    def momentum(self, q: Array, v: Array, representation: str = "mixed") -> Array:
        """(linear, angular about the centre of mass) momentum in world axes, (…, 6) N s and N m s."""
        return self.kernel("momentum", None, representation)(q, v)

    def momentum_matrix(self, q: Array, representation: str = "mixed", *, out: Array | None = None) -> Array:
        """The centroidal momentum matrix A with momentum = A v, (…, 6, nv)."""
        return self.kernel("momentum_matrix", None, representation)(q, out=out)

    def momentum_bias(self, q: Array, v: Array, representation: str = "mixed") -> Array:
        """Ȧ v, (…, 6) N and N m."""
        return self.kernel("momentum_bias", None, representation)(q, v)

    # --- derivatives --------------------------------------------------------------------------------------------

    def inverse_dynamics_derivatives(
        self, q: Array, v: Array, a: Array, *, out: Array | None = None
    ) -> InverseDynamicsDerivatives:
        """(tau_q, tau_v, tau_a) of inverse dynamics, (…, nv, nv) each; `out` has shape (…, 3, nv, nv)."""
        return parted(InverseDynamicsDerivatives, self.kernel("inverse_dynamics_derivatives")(q, v, a, out=out))

    def forward_dynamics_derivatives(
        self, q: Array, v: Array, tau: Array, *, out: Array | None = None
    ) -> ForwardDynamicsDerivatives:
        """(a_q, a_v, a_tau) of forward dynamics, (…, nv, nv) each; `out` has shape (…, 3, nv, nv)."""
        return parted(ForwardDynamicsDerivatives, self.kernel("forward_dynamics_derivatives")(q, v, tau, out=out))

    def velocity_derivatives(self, q: Array, v: Array, frame: str) -> VelocityDerivatives:
        """(V_q, V_v) of the mixed twist of a frame, (…, 6, nv) each. The derivative of its pose is V_v, the
        Jacobian."""
        return parted(VelocityDerivatives, self.kernel("velocity_derivatives", frame)(q, v))

    def momentum_derivatives(self, q: Array, v: Array) -> MomentumDerivatives:
        """(h_q, h_v) of the momentum about the centre of mass, (…, 6, nv) each."""
        return parted(MomentumDerivatives, self.kernel("momentum_derivatives")(q, v))

    def integrate_derivatives(self, q: Array, v: Array, dt: float | Array = 1.0) -> StepDerivatives:
        """(q_q, q_v) of a step, from tangent to tangent, (…, nv, nv) each. Its tangent per second of dt is v."""
        return parted(StepDerivatives, self.kernel("integrate_derivatives")(q, v, seconds(q, v, dt)))

    def difference_derivatives(self, q0: Array, q1: Array) -> DifferenceDerivatives:
        """(v_q0, v_q1) of v = difference(q0, q1), (…, nv, nv) each."""
        return parted(DifferenceDerivatives, self.kernel("difference_derivatives")(q0, q1))

    def tangent_basis(self, q: Array) -> Array:
        """N with q̇ = N v, (…, nq, nv): the identity but for quaternions."""
        return self.kernel("tangent_basis")(q)

    # --- machine ------------------------------------------------------------------------------------------------

    def kernel(self, name: str, frames: str | Sequence[str] | None = None, representation: str | None = None) -> Kernel:
        """The compiled function behind a method; made, or taken from the cache, when first wanted."""
        key = (name, frames, representation)
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = self._made(name, frames, representation)
        return kernel

    def _made(self, name: str, frames: str | Sequence[str] | None, representation: str | None) -> Kernel:
        if representation is not None and representation not in REPRESENTATIONS:
            raise unknown_name("velocity representation", representation, REPRESENTATIONS)
        named = frames if isinstance(frames, tuple) else (frames,) if frames is not None else ()
        if name in FRAME_QUANTITIES and not named:
            raise unknown_name("frame", None, self.frames)
        return store.kernel(
            self.tree, name, places=[self.place(frame) for frame in named], representation=representation
        )

    def _joint(self, name: str) -> Joint:
        if name not in self.joints:
            raise unknown_name("joint", name, self.joints)
        return self.joints[name]

    def _base_kernel(self, base: Base, representation: str) -> Kernel:
        key = ("change_of_base", base, representation)
        if key not in self._kernels:
            self._kernels[key] = base_kernel(self.tree, self.place, base, representation)
        return self._kernels[key]

    def export(
        self,
        name: str,
        path: str | Path,
        *,
        frames: str | tuple[str, ...] | None = None,
        representation: str = "mixed",
        dtype: str = "float64",
        function: str | None = None,
    ) -> Path:
        """Write a quantity as a file that needs nothing but its compiler: C99 if the path ends in .c, CUDA if in .cu.

        The comment at the top names robot, quantity, frames, representation and the places of all joints.

        Args:
            name: of the method, such as "inverse_dynamics".
            frames: the frame of "pose", "jacobian" and the like, or those that wrenches act on.
            dtype: "float64" or "float32".
            function: name of the C function; None: robot, name, frames and representation, so that files link together.
        """
        from .machine.source.export import robot_notes

        chosen = None if name in WITHOUT_REPRESENTATION else representation
        places = (frames,) if isinstance(frames, str) else frames or ()
        parts = (self.name, name, *places, chosen or "", "" if dtype == "float64" else dtype)
        kernel, called = self.kernel(name, frames, chosen), function or "_".join(filter(None, parts))
        return kernel.export(path, dtype=dtype, function=called, notes=robot_notes(self.model, name, places, chosen))

    def prepare(self, names: Sequence[str] = CORE, *, single: bool = True, batch: bool = False) -> Robot:
        """Compile ahead of time, on all cores, what later calls will want; returns the robot itself."""
        kernels = [self.kernel(name, None, None if name in WITHOUT_REPRESENTATION else "mixed") for name in names]
        store.compile_all([kernel.program for kernel in kernels], single=single, batch=batch)
        for kernel in kernels:
            for mode in (False,) * single + (True,) * batch:
                kernel.code("float64", batch=mode)
        return self


class RobotBuilder(ModelBuilder):
    """A robot from Python: links, joints, frames, then `build()`.

    Examples:
        >>> import equipoise as eq
        >>> builder = eq.RobotBuilder("pendulum", floating=False).link("mount")
        >>> builder = builder.link("bob", mass=2.0, com=(0, 0, -0.5), inertia=(1e-3, 1e-3, 1e-3))
        >>> robot = builder.joint("swing", "revolute", "mount", "bob", axis=(0, 1, 0)).build()
        >>> robot.mass, robot.nv
        (2.0, 1)
        >>> round(float(robot.mass_matrix(robot.neutral())[0, 0]), 3)  # 2 · 0.5² + 0.001
        0.501
    """

    def build(self, *, strict: bool = False) -> Robot:
        """Check the parts and make the robot."""
        return Robot.from_model(self.model(), strict=strict)
