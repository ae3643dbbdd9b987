"""State estimator for floating-base robots: IMU and encoders in, state of the robot out."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict
from math import isfinite, isnan, nan
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple, Self, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from ..algebra import rigid
from ..algebra.arrays import finite
from ..clock import Clock
from ..errors import EquipoiseError, ModelError, ShapeError, unknown_name
from ..machine.cached import cached
from ..machine.kernel import Kernel
from ..machine.program import Program
from ..machine.store import kernel_of
from ..model.tree import Tree
from .belief import Belief, BeliefLayout
from .frames import Contacts, Place, contact_points, on_the_robot
from .gate import JOINT_JUMP, SampleGate
from .noise import FilterNoise, Prior
from .settling import Settling
from .soles import Sole, soles_of
from .touch import SETTINGS, Touch, TouchObserver, TouchSettings

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
# for each contact: whether it is in stance, or the probability of that
Standing = Mapping[str, float] | ArrayLike | None
NOISE, PRIOR = FilterNoise(), Prior()
SAMPLE = ("gyroscope", "accelerometer", "joints", "joint_rates")
GATE = 1000.0  # squared innovation; a contact beyond it (about 30 standard deviations) is an outlier
# mean squared innovation of all contacts in stance; beyond it (about 14 deviations) the state is wrong
DOUBTFUL = 200.0
ALIKE = 5.0  # m/s²; two accelerometer samples that differ by less confirm each other
PATIENCE = 50  # successive steps with all contacts beyond DOUBTFUL before the covariance is inflated
STRONG = 3.0  # × joint effort limit; measured torques are clipped to this


class Estimate(NamedTuple):
    """Result of one filter step for a batch; leading dimensions are those of the inputs."""

    belief: Belief
    q: Array  # (…, nq)
    v: Array  # (…, nv)
    squares: Array  # (…, contacts) normalised innovations squared: mean 3, for soles 6; 0 in swing
    likelihood: Array  # (…,) log-density of the innovations
    speeds: Array  # (…, contacts, 3) m/s, velocity of contact points by IMU and encoders, world axes


class EstimatorDescription(TypedDict):
    """Plain data from which an estimator can be rebuilt; see `Estimator.description`."""

    imu: str
    contacts: dict[str, dict[str, object]]
    noise: dict[str, float]
    prior: dict[str, float]


class Estimator:
    """Estimates the state of a floating-base robot from an IMU, joint encoders and contacts that do not move.

    It is a right-invariant extended Kalman filter with one point per contact and the biases of the IMU [HGEG20]; each
    step runs as one compiled kernel. Position and heading are not observable: they drift slowly from their initial
    values.

    Args:
        robot: a robot with a floating base.
        imu: frame of the IMU.
        contacts: frames, or objects with an attribute `frame` and optionally `points`; the contact point is their mean.
        noise: noise of sensors and contacts.
        prior: standard deviations of the state given to `reset`.
        watch: frame whose external wrench is estimated, in `touch.external`; needs joint torques.
        settings: settings of the contact detection.

    Attributes:
        touch: result of the contact detection in the last step; None if it did not run.
        counts: number of rejected inputs by reason: "not numbers" (whole samples), "sensors" (values out of range or
                outliers), "time" (time stamps, see `Clock`), "contacts" (innovation beyond the gate); and "states": how
            often
            the covariance was inflated because all contacts were outliers.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> robot = eq.load("quadruped")
        >>> feet = [name for name in robot.frames if name.endswith("_foot")]
        >>> estimator = eq.Estimator(robot, imu="trunk", contacts=feet)
        >>> standing, gravity = robot.standing(), np.array([0.0, 0.0, 9.80665])
        >>> for k in range(50):
        ...     q, v = estimator(1e-3 * k, np.zeros(3), gravity, standing[7:], np.zeros(12))
        >>> bool(abs(q[2] - standing[2]) < 1e-3 and abs(v).max() < 1e-3)
        True
    """

    robot: Robot
    imu: str
    noise: FilterNoise
    prior: Prior
    watch: str | None
    settings: TouchSettings
    contacts: tuple[str, ...]
    kernel: Kernel
    counts: dict[str, int]

    def __repr__(self) -> str:
        return f"<Estimator of {self.robot.name!r}: IMU at {self.imu!r}, contacts {', '.join(self.contacts) or 'none'}>"

    def __copy__(self) -> Self:
        """Returns an independent copy; no mutable state is shared."""
        return deepcopy(self)

    def __init__(
        self,
        robot: Robot,
        imu: str,
        contacts: Contacts,
        *,
        noise: FilterNoise = NOISE,
        prior: Prior = PRIOR,
        watch: str | None = None,
        settings: TouchSettings = SETTINGS,
    ) -> None:
        if not robot.floating:
            raise ModelError(
                f"{robot.name!r} has a fixed base, so its encoders give its state; an Estimator needs a floating base"
            )
        self.robot, self.imu, self.noise, self.prior = robot, imu, noise, prior
        self.watch, self.settings, self._given, self._watching = watch, settings, contacts, watch is not None
        self._points = contact_points(robot, contacts)
        self.contacts = tuple(self._points)
        soles = soles_of(robot, contacts)
        self._flat = [name for name, sole in soles.items() if sole.carries_turn]
        self.kernel = _kernel(robot, on_the_robot(robot, imu), list(soles.values()))
        self._buffers()

    # --- many filters at once -----------------------------------------------------------------------------------------

    def step(
        self,
        belief: Belief,
        dt: ArrayLike,
        gyroscope: Array,
        accelerometer: Array,
        joints: Array,
        joint_rates: Array,
        held: Array,
        noise: Array | None = None,
    ) -> Estimate:
        """Computes one filter step for a batch; pure function, the estimator's own state is neither used nor changed.

        Args:
            belief: batch of beliefs, (…,).
            dt: time step, s, (…,).
            gyroscope: (…, 3) rad/s.
            accelerometer: (…, 3) m/s².
            joints: (…, nq − 7).
            joint_rates: (…, nv − 6).
            held: (…, contacts): 1 for contacts in stance both at the previous step and now, else 0.
            noise: (…, 10) in the order of `FilterNoise.numbers`; default: the estimator's own noise.
        """
        own = self.noise.numbers if noise is None else noise
        seconds = np.asarray(dt, dtype=float)[..., None]
        out = self.kernel(belief.numbers, gyroscope, accelerometer, joints, joint_rates, held, own, seconds)
        numbers, q, v, squares, likelihood, speeds = out
        return Estimate(Belief(numbers, len(self.contacts)), q, v, squares, likelihood[..., 0], speeds)

    # --- one robot, step after step -----------------------------------------------------------------------------------

    def _buffers(self) -> None:
        """Allocates the arrays that the kernel reads and writes in every step."""
        self._in = {argument.name: np.zeros(argument.size) for argument in self.kernel.program.inputs}
        self._ends = np.cumsum([self._in[name].size for name in SAMPLE])[:-1]
        self._gate = SampleGate(self.robot, self.noise)
        effort = np.asarray(self.robot.limits.effort)[6:]
        self._strongest = np.where(effort > 0, STRONG * effort, np.inf)
        self._out = {output.name: np.zeros(output.shape) for output in self.kernel.program.outputs}
        self._noises = self.noise.numbers, self.noise.unsettled_numbers
        self._clock = Clock()
        self._run = self.kernel.bound(list(self._in.values()), list(self._out.values()))
        self._all = np.ones(len(self.contacts), dtype=bool)
        layout = BeliefLayout(len(self.contacts), len(self._flat))
        self._height_rows = slice(layout.position.stop + 2, layout.gyroscope_bias.start, 3)
        self._least = self.settings.force(self.robot)
        self._settling, self._settles = Settling(self.noise.accelerometer), self.noise.unsettled > self.noise.contact
        self.reset()

    def reset(self, q: Array | Belief | None = None, v: Array | None = None, t: float | None = None) -> None:
        """Restarts the filter from a known state or belief.

        Without q, the robot starts at rest with the orientation that the first accelerometer sample gives.

        Args:
            q: configuration (nq,), or a belief.
            v: velocity (nv,); zero if not given.
            t: time of that state, s; the time of the first call if not given.
        """
        self._clock.reset(nan if t is None else t)
        self._gate.reset()
        self._known, self._elapsed, self._lost = q is not None, 0.0, 0
        self._felt: list[Array] = []  # accelerometer and joints of the first sample used and of the latest one
        self._touching, self._trusted = (
            np.zeros(len(self.contacts), dtype=bool),
            np.zeros(len(self.contacts), dtype=bool),
        )
        self._slips = [False] * len(self.contacts)
        self._speeds = np.zeros((len(self.contacts), 3))
        self._settling.reset()
        self._q: Array = self.robot.neutral()
        self._v: Array = np.zeros(self.robot.nv)
        self.counts = dict.fromkeys(("not numbers", "sensors", "time", "contacts", "states"), 0)
        self.touch: Touch | None = None
        if "observer" in self.__dict__:
            self.observer.reset()
        if isinstance(q, Belief):
            self._in["belief"][:] = q.numbers
        elif q is not None:
            self._q = np.array(q, dtype=float)
            self._v = np.zeros(self.robot.nv) if v is None else np.array(v, dtype=float)
            self._in["belief"][:] = self.initial(self._q, self._v).numbers

    def initial(self, q: Array, v: Array) -> Belief:
        """Returns the belief around a given state, with the standard deviations of `prior`."""
        X, V = self.robot.pose(q, self.imu), self.robot.velocity(q, v, self.imu)
        R, p = X[:3, :3], X[:3, 3]
        P = self.prior.covariance(V[:3], p, len(self.contacts), len(self._flat))
        soles = np.array([self.robot.pose(q, self._points[name][0])[:3, :3] for name in self._flat]).reshape(-1, 3, 3)
        return Belief.of(R, V[:3], p, self.contact_points(q), np.zeros(3), np.zeros(3), P, soles)

    def contact_points(self, q: Array) -> Array:
        """Returns the contact points in the world at a configuration, (contacts, 3), m."""
        return np.array([self.robot.pose(q, f)[:3] @ [*point, 1.0] for f, point in self._points.values()]).reshape(
            -1, 3
        )

    @property
    def belief(self) -> Belief:
        """Copy of the current mean and covariance."""
        return Belief(self._in["belief"].copy(), len(self.contacts))

    @property
    def description(self) -> dict[str, object]:
        """The arguments of this estimator as JSON data: frame of the IMU, noise, prior, contacts with their points."""
        given = self._given.items() if isinstance(self._given, Mapping) else ((None, item) for item in self._given)
        points = [None if isinstance(item, str) else getattr(item, "points", None) for _, item in given]
        contacts = {
            name: {"frame": frame, "points": None if own is None else np.atleast_2d(own).tolist()}
            for (name, (frame, _)), own in zip(self._points.items(), points, strict=True)
        }
        return {"imu": self.imu, "noise": asdict(self.noise), "prior": asdict(self.prior), "contacts": contacts}

    @classmethod
    def of_description(cls, robot: Robot, told: EstimatorDescription) -> Estimator:
        """Builds an estimator from the data of `description`."""
        contacts = {name: SimpleNamespace(**own) for name, own in told["contacts"].items()}
        return cls(robot, told["imu"], contacts, noise=FilterNoise(**told["noise"]), prior=Prior(**told["prior"]))

    @property
    def contact_frames(self) -> dict[str, str]:
        """The frame of each contact."""
        return {name: frame for name, (frame, _) in self._points.items()}

    @property
    def touching(self) -> dict[str, bool]:
        """Contacts in stance in the last step.

        If they are detected from torques, these are the loaded ones; `touch.touching` also has lightly loaded
        contacts."""
        return dict(zip(self.contacts, self._touching.tolist(), strict=True))

    @property
    def slipping(self) -> tuple[str, ...]:
        """Contacts in stance that move; the filter ignores them while another contact is in stance."""
        return tuple(name for name, slips in zip(self.contacts, self._slips, strict=True) if slips)

    @property
    def rejected(self) -> int:
        """Number of rejected samples, sensor values and time stamps."""
        return self.counts["not numbers"] + self.counts["sensors"] + self.counts["time"]

    @property
    def wrenches(self) -> dict[str, Array]:
        """Contact wrenches estimated from joint torques: (force, torque) on the robot at the contact frames, world
        axes.

        They are smoothed, zero for contacts in swing; empty if torques were not used."""
        if self.touch is None:
            return {}
        made = {}
        for name, (frame, point) in self._points.items():
            if self.touch.touching[name]:
                arm = self.robot.pose(self._q, frame)[:3, :3] @ point
                made[name] = _about_origin(self.touch.smoothed[name], arm)
            else:
                made[name] = np.zeros(6)
        return made

    @property
    def squares(self) -> dict[str, float]:
        """Normalised innovations squared of the last step: 3 on average (6 for soles), 0 for contacts in swing."""
        return dict(zip(self.contacts, self._out["squares"].tolist(), strict=True))

    def __call__(
        self,
        t: float,
        gyroscope: Array,
        accelerometer: Array,
        joints: Array,
        joint_rates: Array,
        torques: Array | None = None,
        contacts: Standing = None,
        forces: Mapping[str, Array] | None = None,
    ) -> tuple[Array, Array]:
        """Processes one sample and returns the estimated state.

        Readings are means since the previous sample, or instantaneous values at its end.

        The only error raised is an unknown contact name or a wrong number of contacts. Bad data are handled and counted
        in
        `counts`: a sample with NaN leaves the estimate as it was, an out-of-range value is replaced by the last good
            one, a
        time stamp in the past is skipped, a contact beyond the outlier gate is placed anew.

        Args:
            t: time, s.
            gyroscope: angular velocity in IMU axes, (3,) rad/s.
            accelerometer: specific force in IMU axes, (3,) m/s²; at rest it reads 1 g upwards.
            joints: joint positions, (nq − 7,).
            joint_rates: joint velocities, (nv − 6,).
            torques: measured joint torques, (nv − 6,), if there are such sensors.
            contacts: for each contact whether it is in stance, or the probability of that; by name or in order.
            forces: contact → measured wrench (6,), in any axes. Used for contact detection if `contacts` is not given;
                if
                both are missing, `torques` are used; without any of them all contacts count as in stance.

        Returns:
            q (nq,) and v (nv,).
        """
        try:
            return self._stepped(t, (gyroscope, accelerometer, joints, joint_rates), torques, contacts, forces)
        except EquipoiseError:
            raise
        except (TypeError, ValueError):  # text, None or arrays of a wrong shape
            return self._pass_over()

    def _pass_over(self) -> tuple[Array, Array]:
        self.counts["not numbers"] += 1
        return self._q.copy(), self._v.copy()

    def _stepped(
        self,
        t: float,
        sample: tuple[Array, ...],
        torques: Array | None,
        contacts: Standing,
        forces: Mapping[str, Array] | None,
    ) -> tuple[Array, Array]:
        inputs, touching = self._in, self._standing(contacts, forces, torques)
        for name, values in zip(SAMPLE, sample, strict=True):
            inputs[name][:] = values
        passed = self._clock.called(t)
        self.counts["time"] = self._clock.doubted
        if isnan(passed) or not (self._known or self._begin()):
            return self._pass_over()
        self._elapsed += passed
        dt = self._elapsed  # s since the last sample that was used
        trusted = self._that_rest(touching) if True in self._slips else touching
        inputs["held"][:] = trusted & self._trusted
        inputs["dt"][0] = dt
        unsettled = self._settles and self._settling(dt, inputs["accelerometer"], trusted)
        inputs["noise"][:] = self._noises[unsettled]
        together = np.concatenate([inputs[name] for name in SAMPLE])
        wrong = self._gate(together, dt, inputs["noise"])
        if wrong > 0:
            for name, values in zip(SAMPLE, np.split(together, self._ends), strict=True):
                inputs[name][:] = values
        if wrong < 0 or self._run() or not isfinite(self._out["belief"].dot(self._out["belief"])):
            return self._pass_over()
        self.counts["sensors"] += wrong
        if self._out["squares"].max(initial=0.0) > DOUBTFUL:
            trusted = self._without_outliers(trusted)
        elif True in (inputs["held"] > 0):
            self._lost = 0
        inputs["belief"][:] = self._out["belief"]
        self._elapsed, self._touching, self._trusted = 0.0, touching, trusted
        self._watch_slips(dt)
        self._q, self._v = self._out["q"].copy(), self._out["v"].copy()
        if torques is not None and (self._watching or (contacts is None and forces is None)):
            torques = np.clip(torques, -self._strongest, self._strongest)
            self.touch = self.observer(self._clock.now, self._q, self._v, torques, self._heights())
        return self._q.copy(), self._v.copy()

    def _without_outliers(self, trusted: Array) -> Array:
        """Repeats the step without the outlier contacts and returns the remaining ones.

        If all contacts are outliers for more than PATIENCE steps, the state itself is wrong: `Prior()` is then added to
        the
        covariance.
        """
        squares, held = self._out["squares"], self._in["held"]
        far = squares > GATE
        self.counts["contacts"] += int(far.sum())
        self._lost = self._lost + 1 if squares.sum() > DOUBTFUL * held.sum() else 0
        if self._lost > PATIENCE:
            belief = self.belief
            P = PRIOR.covariance(belief.velocity, belief.position, len(self.contacts), len(self._flat))
            self._in["belief"][belief.layout.covariance] += P[np.triu_indices(len(P))]
            self._lost = 0
            self.counts["states"] += 1
        elif far.any():
            held[far] = 0.0
            trusted = trusted & ~far
        else:
            return trusted
        self._run()
        return trusted

    def _watch_slips(self, dt: float) -> None:
        """Marks contacts in stance that move as slipping; the filter ignores them until they rest again."""
        s = self.settings
        self._speeds += (self._out["speeds"] - self._speeds) * (dt / (s.slip_settling + dt))
        begins, ends = s.slip_speed**2, (s.release * s.slip_speed) ** 2
        for i, (x, y, z) in enumerate(self._speeds.tolist()):  # plain floats are faster than arrays of three
            fast = x * x + y * y + z * z > (ends if self._slips[i] else begins)
            self._slips[i] = fast and bool(self._touching[i])

    def _that_rest(self, touching: Array) -> Array:
        """Returns the contacts in stance that do not slip; if all slip, all contacts in stance."""
        resting = touching & ~np.array(self._slips)
        return resting if resting.any() else touching

    @functools.cached_property
    def observer(self) -> TouchObserver:
        """Momentum observer that detects external forces from joint torques; built on first use."""
        return TouchObserver(self.robot, self._given, self.watch, self.settings)

    def _heights(self) -> list[float] | None:
        """Heights of the contacts above the lowest one in stance, m; None if no contact is in stance."""
        heights = self._in["belief"][self._height_rows].tolist()
        standing = [height for height, stands in zip(heights, self._touching.tolist(), strict=True) if stands]
        if not standing:
            return None
        lowest = min(standing)
        return [height - lowest for height in heights]

    def _standing(self, contacts: Standing, forces: Mapping[str, Array] | None, torques: Array | None) -> Array:
        """Returns which contacts are in stance, from the best source given: flags, forces, then torques."""
        if contacts is not None or (forces is None and torques is None):
            return self._flags(contacts)
        if forces is None:
            return self._all & False if self.touch is None else np.array(list(self.touch.carrying.values()), dtype=bool)
        least = self._least * np.where(self._touching, self.settings.release, 1.0)
        felt = [np.asarray(forces.get(name, np.zeros(6)), dtype=float)[:3] for name in self.contacts]
        return np.array([f.dot(f) for f in felt]).reshape(-1) > least**2

    def _flags(self, contacts: Standing) -> Array:
        """Returns the given stance flags as an array, (contacts,)."""
        count = len(self.contacts)
        if contacts is None:
            return self._all
        if isinstance(contacts, Mapping):
            for name in contacts:
                if name not in self._points:
                    raise unknown_name("contact", name, self.contacts)
            contacts = [contacts.get(name, 0.0) for name in self.contacts]
        flags = np.asarray(contacts, dtype=float) > 0.5
        if flags.shape != (count,):
            raise ShapeError(f"contacts has one number for each of {', '.join(self.contacts)}, got shape {flags.shape}")
        return flags

    def _begin(self) -> bool:
        """Initialises from the first sample if `reset` got no state: at rest, levelled, lowest contact at height zero.

        The first sample may be an outlier: if the next two agree with each other and not with it, they are used
        instead.
        """
        felt, q = np.concatenate((self._in["accelerometer"], self._in["joints"])), self.robot.neutral()
        if not (finite(felt) and felt[:3].any()):
            return False
        alike = [
            bool((np.abs(felt - seen)[:3] < ALIKE).all() and (np.abs(felt - seen)[3:] < JOINT_JUMP).all())
            for seen in self._felt
        ]
        self._known, self._felt = True in alike, [*self._felt, felt]
        if alike not in ([], [False, True]):
            del self._felt[1:-1]
            return True
        felt, q[7:] = np.split(self._felt[-2:][0], [3])
        self._gate.reset()
        up = self.robot.pose(q, self.imu)[:3, :3] @ felt
        q[3:7] = _upright(up, -np.array(self.robot.model.gravity))
        heights = self.contact_points(q)[:, 2]
        q[2] -= heights.min() if len(heights) else 0.0
        self._in["belief"][:] = self.initial(q, np.zeros(self.robot.nv)).numbers
        return True


def _about_origin(wrench: Array, arm: Array) -> Array:
    """Returns a wrench applied at the end of a lever arm, moved to the arm's origin; plain floats are faster here."""
    (x, y, z), (fx, fy, fz, tx, ty, tz) = arm.tolist(), wrench.tolist()
    return np.array([fx, fy, fz, tx + y * fz - z * fy, ty + z * fx - x * fz, tz + x * fy - y * fx])


def _upright(felt: Array, up: Array) -> Array:
    """Returns the quaternion of the smallest rotation that turns the measured vertical onto the true one."""
    a, b = felt / np.linalg.norm(felt), up / np.linalg.norm(up)
    w = 1 + a @ b
    if w < 1e-9:  # upside down: half a turn about any level axis
        return np.array([0.0, *rigid.rotation_to(b)[:, 0]])
    quaternion = np.array([w, *np.cross(a, b)])
    return quaternion / np.linalg.norm(quaternion)


# --- the kernel -------------------------------------------------------------------------------------------------------


def _kernel(robot: Robot, imu: Place, soles: Sequence[Sole]) -> Kernel:
    """Returns the compiled filter step of this robot, cached if possible."""
    return kernel_of(cached(_traced, robot.tree, imu, soles), strict=False)


def _traced(tree: Tree, imu: Place, soles: Sequence[Sole]) -> Program:
    from ..equations.symbols import SX
    from ..machine.trace import trace
    from .filter_equations import step
    from .noise import NOISES

    layout, k = BeliefLayout(len(soles), sum(sole.carries_turn for sole in soles)), len(soles)
    sizes = {
        "belief": layout.size, "gyroscope": 3, "accelerometer": 3, "joints": tree.nq - 7, "joint_rates": tree.nv - 6,
        "held": k, "noise": len(NOISES), "dt": 1,
    }  # fmt: skip
    symbols = {name: SX.sym(name, size) for name, size in sizes.items()}
    outputs = step(tree, imu, soles, symbols)
    shapes = {
        "belief": (layout.size,),
        "q": (tree.nq,),
        "v": (tree.nv,),
        "squares": (k,),
        "likelihood": (1,),
        "speeds": (k, 3),
    }
    return trace("estimator", symbols, outputs, shapes=shapes, quaternions=[(0, 0)])
