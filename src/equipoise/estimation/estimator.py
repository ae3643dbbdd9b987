"""The estimator: IMU and encoders in, the state of the robot out."""

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
Standing = Mapping[str, float] | ArrayLike | None  # of each contact whether it stands, or how probable that is
NOISE, PRIOR = FilterNoise(), Prior()
SAMPLE = ("gyroscope", "accelerometer", "joints", "joint_rates")
GATE = 1000.0  # squared innovation; a contact that is farther off, by some thirty deviations, is an outlier
DOUBTFUL = 200.0  # likewise, the mean of all contacts that are held: by some fourteen deviations the state is wrong
ALIKE = 5.0  # m/s²; two samples that differ by less confirm each other
PATIENCE = 50  # steps in a row with such contacts, besides those with none
STRONG = 3.0  # of a joint's effort limit; no measured torque is larger


class Estimate(NamedTuple):
    """One step of many filters at once; leading dimensions are those of what went in."""

    belief: Belief
    q: Array  # (…, nq)
    v: Array  # (…, nv)
    squares: Array  # (…, contacts) innovations squared in their own covariance: 3, of soles 6 on average; 0 if not held
    likelihood: Array  # (…,) log-density of the innovations
    speeds: Array  # (…, contacts, 3) m/s, of the contacts by IMU and encoders, world axes


class EstimatorDescription(TypedDict):
    """The plain data that an estimator is made of again; see `Estimator.description`."""

    imu: str
    contacts: dict[str, dict[str, object]]
    noise: dict[str, float]
    prior: dict[str, float]


class Estimator:
    """Where a floating robot is and how it moves, from an IMU, encoders, and contacts that stand still.

    A right-invariant extended Kalman filter with one point for each contact and the biases of the IMU [HGEG20]; one
    step is one kernel. Position and heading are not observable: they drift slowly from where they were at the start.

    Args:
        robot: with a floating base.
        imu: frame of the IMU.
        contacts: frames, or objects with `frame` and perhaps `points` in it, whose mean is then the contact point.
        noise: of sensors and contacts.
        prior: of the state that `reset` is given.
        watch: a frame whose external wrench is wanted, in `touch.external`; wants torques.
        settings: of the detection of contacts.

    Attributes:
        touch: what the torques showed of contacts in the last step, None where they were not asked.
        counts: why how many values of sensors and contacts were passed over: "not numbers" (whole samples), "sensors"
            (values beyond their range or far off), "time" (stamps, see `Clock`), "contacts" (seen far from where they
            were held); and "states": how often the belief was given up, because all contacts were far off.
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

    def __copy__(self) -> Self:
        """A copy goes its own way: nothing that changes is shared."""
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
            raise ModelError(f"{robot.name!r} has a fixed base: there is nothing to estimate but what its encoders say")
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
        """One step of any batch of filters, as a function: nothing is remembered.

        Args:
            belief: (…,) of them.
            dt: s, (…,).
            gyroscope: (…, 3) rad/s.
            accelerometer: (…, 3) m/s².
            joints: (…, nq − 7).
            joint_rates: (…, nv − 6).
            held: (…, contacts): 1 for contacts that stood before this step and stand now, else 0.
            noise: (…, 10), as `FilterNoise.numbers` has them; the estimator's own if not given.
        """
        own = self.noise.numbers if noise is None else noise
        seconds = np.asarray(dt, dtype=float)[..., None]
        out = self.kernel(belief.numbers, gyroscope, accelerometer, joints, joint_rates, held, own, seconds)
        numbers, q, v, squares, likelihood, speeds = out
        return Estimate(Belief(numbers, len(self.contacts)), q, v, squares, likelihood[..., 0], speeds)

    # --- one robot, step after step -----------------------------------------------------------------------------------

    def _buffers(self) -> None:
        """Arrays that the kernel reads and writes in every step."""
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
        """Start anew: at a known state or belief, or, without q, upright as the first sample of the accelerometer has
        it.

        Args:
            q: (nq,), or a belief.
            v: (nv,), at rest if not given.
            t: s, of that state; that of the first call if not given.
        """
        self._clock.reset(nan if t is None else t)
        self._gate.reset()
        self._known, self._elapsed, self._lost = q is not None, 0.0, 0
        self._felt: list[Array] = []  # accelerometer and joints of the sample it began with, and of the last one
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
        """The belief around a given state, with the errors of `prior`."""
        X, V = self.robot.pose(q, self.imu), self.robot.velocity(q, v, self.imu)
        R, p = X[:3, :3], X[:3, 3]
        P = self.prior.covariance(V[:3], p, len(self.contacts), len(self._flat))
        soles = np.array([self.robot.pose(q, self._points[name][0])[:3, :3] for name in self._flat]).reshape(-1, 3, 3)
        return Belief.of(R, V[:3], p, self.contact_points(q), np.zeros(3), np.zeros(3), P, soles)

    def contact_points(self, q: Array) -> Array:
        """Where the contacts are at a configuration, (contacts, 3), m."""
        return np.array([self.robot.pose(q, f)[:3] @ [*point, 1.0] for f, point in self._points.values()]).reshape(
            -1, 3
        )

    @property
    def belief(self) -> Belief:
        """Mean and covariance as they are now."""
        return Belief(self._in["belief"].copy(), len(self.contacts))

    @property
    def description(self) -> dict[str, object]:
        """What it was made of, as JSON: frame of the IMU, noise, prior, and contacts with their points."""
        given = self._given.items() if isinstance(self._given, Mapping) else ((None, item) for item in self._given)
        points = [None if isinstance(item, str) else getattr(item, "points", None) for _, item in given]
        contacts = {
            name: {"frame": frame, "points": None if own is None else np.atleast_2d(own).tolist()}
            for (name, (frame, _)), own in zip(self._points.items(), points, strict=True)
        }
        return {"imu": self.imu, "noise": asdict(self.noise), "prior": asdict(self.prior), "contacts": contacts}

    @classmethod
    def of_description(cls, robot: Robot, told: EstimatorDescription) -> Estimator:
        """Returns the estimator that a `description` tells of."""
        contacts = {name: SimpleNamespace(**own) for name, own in told["contacts"].items()}
        return cls(robot, told["imu"], contacts, noise=FilterNoise(**told["noise"]), prior=Prior(**told["prior"]))

    @property
    def contact_frames(self) -> dict[str, str]:
        """Contact → the frame it is on."""
        return {name: frame for name, (frame, _) in self._points.items()}

    @property
    def touching(self) -> dict[str, bool]:
        """Which contacts stood in the last step; by torques those that carry: `touch.touching` has lighter ones too."""
        return dict(zip(self.contacts, self._touching.tolist(), strict=True))

    @property
    def slipping(self) -> tuple[str, ...]:
        """Contacts that stand and move; while another one stands, the filter does without them."""
        return tuple(name for name, slips in zip(self.contacts, self._slips, strict=True) if slips)

    @property
    def rejected(self) -> int:
        """Samples, values of sensors and time stamps that were passed over."""
        return self.counts["not numbers"] + self.counts["sensors"] + self.counts["time"]

    @property
    def wrenches(self) -> dict[str, Array]:
        """What the torques say of contacts that stand: (force, torque) on the robot at their frames, world axes,
        smoothed; zeros of those that do not. Empty where the torques were not asked."""
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
        """Innovations of the last step, squared in their own covariance: 3 on average, 0 where a contact is not
        held."""
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
        """One step; the readings are means over the time since the last one, or samples at its end.

        Nothing raises but a contact's name that it does not know: where a sample is no numbers, the estimate stays what
        it was; a value that its sensor cannot give is held, a time stamp that does not follow is passed over, a contact
        that is seen far from where it was held is made anew. `counts` counts.

        Args:
            t: s.
            gyroscope: (3,) rad/s, in the axes of the IMU.
            accelerometer: (3,) m/s², likewise; at rest it feels 1 g upwards.
            joints: (nq − 7,).
            joint_rates: (nv − 6,).
            torques: (nv − 6,), measured at the joints, where there are such sensors.
            contacts: for each contact whether it stands, or how probable that is; by name or in order.
            forces: contact → (6,), measured there, in any axes. Without `contacts` they say which stand; without both,
                the torques do, by `observer`; and without any, all stand.

        Returns:
            q (nq,) and v (nv,).
        """
        try:
            return self._stepped(t, (gyroscope, accelerometer, joints, joint_rates), torques, contacts, forces)
        except EquipoiseError:
            raise
        except (TypeError, ValueError):  # texts, None, other shapes
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
        dt = self._elapsed  # since the last sample that could be used
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
        """The step once more without contacts that are seen far from where they are held; those that are left.

        Where all are far off, again and again, the state is wrong: it becomes as uncertain as `Prior()` has it.
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
        """Contacts that stand and move: the filter does without them until they rest again."""
        s = self.settings
        self._speeds += (self._out["speeds"] - self._speeds) * (dt / (s.slip_settling + dt))
        begins, ends = s.slip_speed**2, (s.release * s.slip_speed) ** 2
        for i, (x, y, z) in enumerate(self._speeds.tolist()):  # plain numbers: a few of them are quicker so
            fast = x * x + y * y + z * z > (ends if self._slips[i] else begins)
            self._slips[i] = fast and bool(self._touching[i])

    def _that_rest(self, touching: Array) -> Array:
        """Contacts that stand and do not slip; rather those that slip than none."""
        resting = touching & ~np.array(self._slips)
        return resting if resting.any() else touching

    @functools.cached_property
    def observer(self) -> TouchObserver:
        """What the torques say of forces from outside; made when first wanted."""
        return TouchObserver(self.robot, self._given, self.watch, self.settings)

    def _heights(self) -> list[float] | None:
        """Of the contacts above the lowest that stands, m; None where none does. In plain numbers, as they are few."""
        heights = self._in["belief"][self._height_rows].tolist()
        standing = [height for height, stands in zip(heights, self._touching.tolist(), strict=True) if stands]
        if not standing:
            return None
        lowest = min(standing)
        return [height - lowest for height in heights]

    def _standing(self, contacts: Standing, forces: Mapping[str, Array] | None, torques: Array | None) -> Array:
        """Which contacts stand, by the best that is known."""
        if contacts is not None or (forces is None and torques is None):
            return self._flags(contacts)
        if forces is None:
            return self._all & False if self.touch is None else np.array(list(self.touch.carrying.values()), dtype=bool)
        least = self._least * np.where(self._touching, self.settings.release, 1.0)
        felt = [np.asarray(forces.get(name, np.zeros(6)), dtype=float)[:3] for name in self.contacts]
        return np.array([f.dot(f) for f in felt]).reshape(-1) > least**2

    def _flags(self, contacts: Standing) -> Array:
        """Which contacts stand, (contacts,)."""
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
        """The first sample where `reset` was given no state: upright, at rest, the lowest contact on the ground.

        It may be an outlier: where the next two are alike, and otherwise than it, the robot begins as they have it.
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
    """A wrench that acts at the end of an arm, about its beginning; plain numbers: six of them are quicker so."""
    (x, y, z), (fx, fy, fz, tx, ty, tz) = arm.tolist(), wrench.tolist()
    return np.array([fx, fy, fz, tx + y * fz - z * fy, ty + z * fx - x * fz, tz + x * fy - y * fx])


def _upright(felt: Array, up: Array) -> Array:
    """Quaternion of the shortest turn that brings what is felt to where up is."""
    a, b = felt / np.linalg.norm(felt), up / np.linalg.norm(up)
    w = 1 + a @ b
    if w < 1e-9:  # upside down: half a turn about any level axis
        return np.array([0.0, *rigid.rotation_to(b)[:, 0]])
    quaternion = np.array([w, *np.cross(a, b)])
    return quaternion / np.linalg.norm(quaternion)


# --- the kernel -------------------------------------------------------------------------------------------------------


def _kernel(robot: Robot, imu: Place, soles: Sequence[Sole]) -> Kernel:
    """One step of the filter for this robot, from the cache where it is there."""
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
