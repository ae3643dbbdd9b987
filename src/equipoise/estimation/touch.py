"""Momentum observer: external forces, contacts, slips and unexpected touches from joint torques."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import exp, inf, isfinite
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..errors import StateError
from ..machine.cached import cached
from ..machine.kernel import Kernel
from ..machine.program import Program
from ..machine.store import kernel_of
from ..model.placeholders import effort_share
from ..model.tree import Tree
from .frames import Contacts, Place, on_the_robot
from .soles import Sole, soles_of

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
CARRIES = 1e4  # N, N m, prior deviation of a contact wrench
PUSH = np.array([200.0, 200.0, 200.0, 0.0, 0.0, 0.0])  # N, N m, prior deviation of a push; its torque is assumed zero

QUICKNESS = 160.0  # m/s, observer bandwidth × robot height; heights above 1 m count as 1 m
UNKNOWN = 0.003  # × weight × height, torque error due to uncertain masses
ROUGH = 0.2  # N m, upper limit of that torque error


@dataclass(frozen=True)
class Touch:
    """Result of one observer step.

    Attributes:
        residual: external generalised force, low-pass filtered by the observer, (nv,).
        wrenches: contact → (6,) force and torque on the robot at the contact point, world axes.
        smoothed: the same, smoothed over `settling`.
        external: (6,) smoothed wrench at the watched frame, world axes; None if no frame is watched.
        probability: contact → probability that it touches, 0 to 1.
        touching: contact → whether it touches, with an edge at least; has hysteresis.
        carrying: contact → whether it is loaded; has hysteresis.
        slipping: contacts that are loaded and move.
        unexpected: last joint of each branch with a residual that contacts and watched frame do not explain.
    """

    residual: Array
    wrenches: Mapping[str, Array]
    smoothed: Mapping[str, Array]
    external: Array | None
    probability: Mapping[str, float]
    touching: Mapping[str, bool]
    carrying: Mapping[str, bool]
    slipping: tuple[str, ...]
    unexpected: tuple[str, ...]


@dataclass(frozen=True)
class TouchSettings:
    """Settings of the observer; changing them needs no new kernel.

    Attributes:
        bandwidth: of the residual, 1/s; default: from the robot's height, see `rate`.
        torque_noise: white noise of joint torques, N m. Default: 0.2 with a fixed base; with a floating base 0.3 % of
            weight times height, at most 0.2.
        relative_torque_noise: additional torque noise as a fraction of each joint's effort limit; placeholder limits
            are
            ignored.
        rate_noise: noise of joint rates, rad/s or m/s.
        base_noise: noise of the base's linear velocity, m/s.
        turn_noise: noise of the base's angular velocity, rad/s.
        significance: standard deviations of a vertical force at a corner at which touching has probability 1/2.
        touch_force: vertical force from which a contact counts as loaded, N; default: 2 % of the weight.
        release: fraction of `significance` and `touch_force` below which a contact is lost (hysteresis).
        settling: time constant of the smoothed contact forces, s.
        push_settling: time constant of the residual for the watched frame's wrench, s.
        height: height of a corner above the stance contacts that lowers its odds of touching by a factor e, m.
        height_limit: largest number of such factors, since there may be a step in the ground.
        slip_speed: speed at which a loaded contact counts as slipping, m/s.
        slip_settling: time constant of that speed in the estimator, s.
        surprise: threshold of an unexplained joint torque, N m, added to five times its noise.

    Examples:
        >>> import equipoise as eq
        >>> settings = eq.TouchSettings(touch_force=10.0)  # N
        >>> eq.Estimator(eq.load("quadruped"), "trunk", ["front_left_foot"], settings=settings).settings.touch_force
        10.0
    """

    bandwidth: float | None = None
    torque_noise: float | None = None
    relative_torque_noise: float = 0.005
    rate_noise: float = 0.015
    base_noise: float = 0.002
    turn_noise: float = 0.006
    significance: float = 5.0
    touch_force: float | None = None
    release: float = 0.5
    settling: float = 0.004
    push_settling: float = 0.025
    height: float = 0.003
    height_limit: float = 10.0
    slip_speed: float = 0.1
    slip_settling: float = 0.01
    surprise: float = 5.0

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if not (value is None or value > 0):
                raise StateError(f"TouchSettings.{f.name} is a positive number, got {value!r}")

    def force(self, robot: Robot) -> float:
        """Returns the force from which a contact counts as loaded, N: `touch_force` or its default."""
        weight = robot.mass * float(np.linalg.norm(robot.model.gravity))
        return 0.02 * weight if self.touch_force is None else self.touch_force

    def rate(self, robot: Robot) -> float:
        """Returns the bandwidth of the residual, 1/s: `bandwidth` or its default.

        The effect of rate noise, relative to contact forces, grows with the length of the links: a robot half as high
        can
        have twice the bandwidth. It also needs it, because it falls sooner.
        """
        return QUICKNESS / min(_height(robot), 1.0) if self.bandwidth is None else self.bandwidth

    def rate_noises(self, robot: Robot) -> Array:
        """Returns the standard deviation of each rate, (nv,)."""
        base = np.repeat([self.base_noise, self.turn_noise], 3) if robot.floating else np.zeros(0)
        return np.concatenate([base, np.full(robot.nv - len(base), self.rate_noise)])

    def torque_noises(self, robot: Robot) -> Array:
        """Returns the standard deviation of each torque, (nv,); zero for a floating base, on which no motor acts."""
        weight = robot.mass * float(np.linalg.norm(robot.model.gravity))
        least = min(ROUGH, UNKNOWN * weight * _height(robot)) if self.torque_noise is None else self.torque_noise
        own = np.hypot(least, effort_share(self.relative_torque_noise, robot.limits.effort))
        return np.where(np.arange(robot.nv) < 6, 0.0, own) if robot.floating else own

    def residual_noise(self, robot: Robot) -> Array:
        """Returns the standard deviation of the residual, (nv,): torque noise, and rate noise × inertia × bandwidth."""
        M = robot.mass_matrix(robot.standing())
        return np.hypot(
            self.torque_noises(robot), self.rate(robot) * np.linalg.norm(M * self.rate_noises(robot), axis=1)
        )

    def numbers(self, robot: Robot) -> dict[str, ArrayLike]:
        """Returns the settings as inputs of the observer's kernel."""
        names = "significance", "height", "height_limit", "settling"
        parameters: dict[str, ArrayLike] = {name: getattr(self, name) for name in names}
        parameters |= {"rate_noise": self.rate_noises(robot), "torque_noise": self.torque_noises(robot)}
        parameters |= {"gain": self.rate(robot), "touch_force": self.force(robot)}
        return parameters | {"surprise": self.surprise + 5 * self.residual_noise(robot)}


SETTINGS = TouchSettings()


def _height(robot: Robot) -> float:
    """Returns the standing height of the centre of mass, m; infinite for a fixed base or if it is unknown."""
    height = float(robot.com(robot.standing())[2]) if robot.floating else inf
    return height if height > 0 else inf


class TouchObserver:
    """Estimates external forces from the generalised momentum [LM05] and decides which contacts touch.

    Args:
        robot: the robot, with fixed or floating base.
        contacts: frames, or objects with `frame` and optionally `points`; a contact with a single point gives no
            torque.
        watch: frame whose wrench is also estimated, such as the torso that may be pushed.
        settings: thresholds and noise.

    Examples:
        >>> import numpy as np
        >>> import equipoise as eq
        >>> robot = eq.load("quadruped")
        >>> observer = eq.TouchObserver(robot, [name for name in robot.frames if name.endswith("_foot")])
        >>> len(observer.contacts)
        4
    """

    robot: Robot
    watch: str | None
    settings: TouchSettings
    contacts: tuple[str, ...]
    kernel: Kernel
    rejected: int

    def __init__(
        self,
        robot: Robot,
        contacts: Contacts = (),
        watch: str | None = None,
        settings: TouchSettings = SETTINGS,
    ) -> None:
        self.robot, self.watch, self.settings = robot, watch, settings
        soles = soles_of(robot, contacts)
        self.contacts = tuple(soles)
        self.kernel = _kernel(robot, list(soles.values()), None if watch is None else on_the_robot(robot, watch))
        self._in = {argument.name: np.zeros(argument.size) for argument in self.kernel.program.inputs}
        self._out = {output.name: np.zeros(output.shape) for output in self.kernel.program.outputs}
        for name, value in settings.numbers(robot).items():
            self._in[name][:] = value
        if watch is not None:
            self._in["push_settling"][0], self._in["push_scale"][-6:] = settings.push_settling, PUSH
        carries = [CARRIES * np.array([1, 1, 1, *3 * [sole.flat]]) for sole in soles.values()]
        self._in["scale"][:] = np.concatenate([np.zeros(0), *carries])
        self._run = self.kernel.bound(list(self._in.values()), list(self._out.values()))
        self._branches = _branch_ends(robot)
        self.reset()

    def reset(self) -> None:
        """Restarts; the first call only initialises the momentum."""
        self._time: float | None = None
        self._touching, self._carrying = dict.fromkeys(self.contacts, False), dict.fromkeys(self.contacts, False)
        self.rejected = 0
        for part in self._out.values():
            part[:] = 0.0
        self._in["period"][0] = 0.0
        self._in["smooth"][:] = 0.0
        if self.watch is not None:
            self._in["slow"][:] = self._in["push_scale"][:-6] = 0.0
        self._out["odds"][:] = -inf
        self._last = self._latest()

    def __call__(self, t: float, q: Array, v: Array, torques: Array, heights: ArrayLike | None = None) -> Touch:
        """Processes one sample. NaN raises no error: the sample is skipped and counted in `rejected`.

        Args:
            t: time, s.
            q: (nq,).
            v: (nv,).
            torques: joint torques, (nv − 6,) with a floating base, else (nv,).
            heights: heights of the contacts above those in stance, (contacts,), m, if known.
        """
        inputs, out = self._in, self._out
        inputs["q"][:], inputs["v"][:] = q, v
        inputs["tau"][6 if self.robot.floating else 0 :] = torques
        first = self._time is None
        inputs["dt"][0] = dt = 0.0 if self._time is None else t - self._time
        inputs["period"][0] = self._usual(dt)
        inputs["heights"][:] = 0.0 if heights is None else heights
        if not dt >= 0 or self._run() or not isfinite(out["left"].dot(out["left"])):
            self.rejected += 1
            return self._last
        self._time = t
        if first:
            inputs["explained"][:] = out["momentum"]
            self._run()
        inputs["explained"][:] = out["explained"]
        inputs["smooth"][:] = out["smoothed"]
        if self.watch is not None:
            inputs["slow"][:] = out["slow"]
        self._last = self._latest()
        return self._last

    def _usual(self, dt: float) -> float:
        """Returns the mean step time over about ten steps, s; the noise model of the residual depends on it."""
        before = float(self._in["period"][0])
        if not 0 < dt < inf:
            return before
        return dt if before == 0 else before + 0.1 * (dt - before)

    def _latest(self) -> Touch:
        """Converts the kernel's outputs to a `Touch`."""
        out, names, fast = self._out, self.contacts, self.settings.slip_speed**2
        odds, carried = out["odds"].tolist(), tuple(self._carrying.values())
        for name, own, load in zip(names, odds, out["loads"].tolist(), strict=True):
            self._decide(name, own, load)
        carries = tuple(self._carrying.values())
        if self.watch is not None and carries != carried:  # used from the next step on
            self._in["push_scale"][:-6] = self._in["scale"] * np.repeat(carries, 6)
        slips = zip(names, carries, out["slips"].tolist(), strict=True)
        forces = out["wrenches"].reshape(-1, 6).copy(), out["smoothed"].reshape(-1, 6).copy()
        return Touch(
            out["residual"].copy(),
            dict(zip(names, forces[0], strict=True)),
            dict(zip(names, forces[1], strict=True)),
            None if self.watch is None else out["external"].copy(),
            dict(zip(names, map(_logistic, odds), strict=True)),
            self._touching.copy(),
            self._carrying.copy(),
            tuple(name for name, carries, speed in slips if carries and not speed < fast),
            self._unexpected() if out["alarm"][0] > 1 else (),
        )

    def _decide(self, name: str, odds: float, load: float) -> None:
        """Updates whether a contact touches and is loaded, from its log-odds and its force in units of
        `touch_force`."""
        s = self.settings
        least = (s.release**2 - 1) * s.significance**2 / 2 if self._touching[name] else 0.0
        loaded = load > (s.release if self._carrying[name] else 1.0)
        self._touching[name] = odds > least or (self._touching[name] and loaded)
        self._carrying[name] = self._touching[name] and loaded

    def _unexpected(self) -> tuple[str, ...]:
        """Returns the last joint of each branch with an unexplained residual: the touch is at that joint or beyond
        it."""
        felt = self._out["unexplained"] > 1
        hot = {name for name, joint in self.robot.joints.items() if felt[joint.v].any()}
        return tuple(name for name in hot if not hot & self._branches[name])


def _logistic(x: float) -> float:
    return 1 / (1 + exp(-x)) if x > -500 else 0.0


def _branch_ends(robot: Robot) -> dict[str, set[str]]:
    """Returns for each joint the joints beyond it."""
    behind: dict[str, set[str]] = {name: set() for name in robot.joints}
    bodies = robot.tree.bodies
    for i, body in enumerate(bodies):
        for k in robot.tree.ancestors(i)[1:]:
            if bodies[k].name in behind:
                behind[bodies[k].name].add(body.name)
    return behind


def _kernel(robot: Robot, soles: Sequence[Sole], watch: Place | None) -> Kernel:
    return kernel_of(cached(_traced, robot.tree, soles, watch), strict=False)


def _traced(tree: Tree, soles: Sequence[Sole], watch: Place | None) -> Program:
    from ..equations.symbols import SX
    from ..machine.trace import trace
    from .touch_equations import step

    nv, m = tree.nv, 6 * len(soles)
    sizes = {
        "q": tree.nq,
        "v": nv,
        "tau": nv,
        "explained": nv,
        "rate_noise": nv,
        "torque_noise": nv,
        "scale": m,
        "gain": 1,
        "dt": 1,
        "period": 1,
        "smooth": m,
        "heights": len(soles),
        "surprise": nv,
    }
    sizes |= dict.fromkeys(("settling", "significance", "height", "height_limit", "touch_force"), 1)
    if watch is not None:
        sizes |= {"slow": nv, "push_scale": m + 6, "push_settling": 1}
    symbols = {name: SX.sym(name, size) for name, size in sizes.items()}
    outputs = step(tree, soles, watch, symbols)
    shapes = {name: out.shape if out.shape[1] > 1 else (out.shape[0],) for name, out in outputs.items()}
    return trace("touch", symbols, outputs, shapes=shapes, quaternions=[(0, start) for start in tree.quaternions])
