"""What does the robot touch: forces from outside without accelerations, contacts, slips, touches nobody expected."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from math import exp, inf, isfinite
from typing import TYPE_CHECKING

import numpy as np

from ..errors import StateError
from ..machine.kernel import Kernel
from ..machine.program import Program
from ..machine.store import cached_program, kernel_of
from ..model.tree import Tree
from .frames import Contacts, Place, on_the_robot
from .push import PushObserver
from .soles import Sole, soles_of

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
CARRIES = 1e4  # N, N m: what a contact may carry before anything is measured


@dataclass(frozen=True)
class Touch:
    """What the observer says after a step.

    Attributes:
        residual: generalised force from outside, behind the observer's filter, (nv,).
        wrenches: by contact, (6,) force and torque on the robot at the contact point, world axes.
        smoothed: the same, over `settling`.
        external: (6,) at the watched frame, world axes, smoothed; None where none is watched.
        probability: of each contact, 0 to 1.
        touching: which contacts touch, if only with an edge, with hysteresis.
        carrying: which of them carry, with hysteresis.
        slipping: contacts that carry and move.
        unexpected: joints that feel more than contacts and the watched frame explain, each the last of its branch.
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
    """Numbers of the observer; none is compiled.

    Attributes:
        bandwidth: of the residual, 1/s.
        torque_noise: N m, what torques of the joints are wrong by, new in every step.
        relative_torque_noise: part of each joint's effort limit that they are wrong by besides.
        rate_noise: rad/s or m/s, what rates of the joints are wrong by, likewise.
        base_noise: m/s, likewise of the base's velocity.
        turn_noise: rad/s, likewise of its turn rate.
        significance: deviations of its own noise at which a force upwards at a corner is as probable as not a touch.
        touch_force: N along the vertical from which a contact carries; 2 % of the weight if not given.
        release: part of `significance` and of `touch_force` below which a contact that touched is lost.
        settling: s over which contact forces are smoothed.
        push_settling: s, likewise of the residual for the watched frame's wrench.
        height: m above the contacts that stand, over which a corner's height speaks against touch e-fold.
        height_limit: e-folds at most that height speaks against touch: there may be a step.
        slip_speed: m/s at which a contact that stands slips.
        slip_settling: s over which an estimator smooths that speed.
        surprise: N m that a joint may feel unexplained, beyond five times its noise.
    """

    bandwidth: float = 160.0
    torque_noise: float = 0.2
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
        """`touch_force` of a robot, N."""
        weight = robot.mass * float(np.linalg.norm(robot.model.gravity))
        return 0.02 * weight if self.touch_force is None else self.touch_force

    def rate_noises(self, robot: Robot) -> Array:
        """Deviation of each rate, (nv,)."""
        base = np.repeat([self.base_noise, self.turn_noise], 3) if robot.floating else np.zeros(0)
        return np.concatenate([base, np.full(robot.nv - len(base), self.rate_noise)])

    def torque_noises(self, robot: Robot) -> Array:
        """Deviation of each torque, (nv,); nobody measures one on a free base, where none acts."""
        effort = np.asarray(robot.limits.effort)
        own = np.hypot(self.torque_noise, self.relative_torque_noise * np.where(np.isfinite(effort), effort, 0.0))
        return np.where(np.arange(robot.nv) < 6, 0.0, own) if robot.floating else own

    def residual_noise(self, robot: Robot) -> Array:
        """What each row of the residual is wrong by, (nv,): torques, and rates times inertia times bandwidth."""
        M = robot.mass_matrix(robot.standing())
        return np.hypot(self.torque_noises(robot), self.bandwidth * np.linalg.norm(M * self.rate_noises(robot), axis=1))


SETTINGS = TouchSettings()


class TouchObserver:
    """Forces from outside by the generalised momentum [LM05], and which contacts touch by them.

    Args:
        robot: any.
        contacts: frames, or objects with `frame` and perhaps `points`; a contact of one point gives no torque.
        watch: a frame whose wrench is wanted besides, such as the torso that somebody may push.
        settings: numbers.
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
        self._force = settings.force(robot)
        gravity = np.array(robot.model.gravity)
        self._up = -gravity / max(float(np.linalg.norm(gravity)), 1e-12)
        self._in = {argument.name: np.zeros(argument.size) for argument in self.kernel.program.inputs}
        self._out = {output.name: np.zeros(output.shape) for output in self.kernel.program.outputs}
        carries = [CARRIES * np.array([1, 1, 1, *3 * [sole.flat]]) for sole in soles.values()]
        self._in["scale"][:] = np.concatenate([np.zeros(0), *carries])
        self._in["rate_noise"][:] = settings.rate_noises(robot)
        self._in["torque_noise"][:] = settings.torque_noises(robot)
        self._in["gain"][0] = settings.bandwidth
        self._push = None if watch is None else PushObserver(robot, self._in["scale"], settings)
        self._surprise = settings.surprise + 5 * settings.residual_noise(robot)
        self._run = self.kernel.bound(list(self._in.values()), list(self._out.values()))
        ends = np.cumsum([0, *(len(sole.corners) for sole in soles.values())])
        self._corners = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        self._branches = _branch_ends(robot)
        self.reset()

    def reset(self) -> None:
        """Start anew: the first call only learns the momentum."""
        self._time: float | None = None
        self._in["period"][0] = 0.0
        self._touching, self._carrying = dict.fromkeys(self.contacts, False), dict.fromkeys(self.contacts, False)
        self._smooth = np.zeros((len(self.contacts), 6))
        self.rejected = 0
        for part in self._out.values():
            part[:] = 0.0
        if self._push is not None:
            self._push.reset()
        self._last = self._said(0.0, None)

    def __call__(self, t: float, q: Array, v: Array, torques: Array, heights: Array | None = None) -> Touch:
        """One step. Nothing raises on numbers: what is not finite is passed over, and `rejected` counts.

        Args:
            t: s.
            q: (nq,).
            v: (nv,).
            torques: of the joints, (nv − 6,) on a floating base, else (nv,).
            heights: of the contacts above those that stand, (contacts,), m, where known.
        """
        inputs, out = self._in, self._out
        inputs["q"][:], inputs["v"][:] = q, v
        inputs["tau"][6 if self.robot.floating else 0 :] = torques
        first = self._time is None
        inputs["dt"][0] = dt = 0.0 if self._time is None else t - self._time
        inputs["period"][0] = self._usual(dt)
        if not dt >= 0 or self._run() or not isfinite(out["left"].dot(out["left"])):
            self.rejected += 1
            return self._last
        self._time = t
        if first:
            inputs["explained"][:] = out["momentum"]
            self._run()
        inputs["explained"][:] = out["explained"]
        self._last = self._said(dt, heights)
        return self._last

    def _usual(self, dt: float) -> float:
        """s between steps, on average over the last ten or so: noise that is new in every step is filtered by that."""
        before = float(self._in["period"][0])
        if not 0 < dt < inf:
            return before
        return dt if before == 0 else before + 0.1 * (dt - before)

    def _said(self, dt: float, heights: Array | None) -> Touch:
        """The numbers of the kernel, in words."""
        out, s = self._out, self.settings
        forces, speeds = out["wrenches"].reshape(-1, 6).copy(), out["speeds"].reshape(-1, 6)
        self._smooth += (forces - self._smooth) * (dt / (s.settling + dt))
        chance = {}
        for i, name in enumerate(self.contacts):
            odds = self._log_odds(i, 0.0 if heights is None else float(heights[i]))
            chance[name] = _logistic(odds)
            self._decide(name, odds, float(self._smooth[i, :3] @ self._up) / self._force)
        slipping = tuple(
            name
            for i, name in enumerate(self.contacts)
            if self._carrying[name] and not speeds[i, :3] @ speeds[i, :3] < s.slip_speed**2
        )
        external, left = None, out["left"]
        if self._push is not None:
            external, left = self._push(dt, self._in["period"][0], list(self._carrying.values()), out)
        told = external, chance, dict(self._touching), dict(self._carrying), slipping, self._unexpected(left)
        wrenches = dict(zip(self.contacts, forces, strict=True))
        smoothed = dict(zip(self.contacts, self._smooth.copy(), strict=True))
        return Touch(out["residual"].copy(), wrenches, smoothed, *told)

    def _log_odds(self, i: int, height: float) -> float:
        """That contact i touches with some corner: half the square of its signal, less that of `significance` and what
        its height says against it."""
        s, own = self.settings, self._corners[i]
        best = -inf
        for z, rise in zip(self._out["signals"][own].tolist(), self._out["rises"][own].tolist(), strict=True):
            against = min(max(height + rise, 0.0) / s.height, s.height_limit)
            best = max(best, max(z, 0.0) ** 2 / 2 - against)
        return best - s.significance**2 / 2

    def _decide(self, name: str, odds: float, load: float) -> None:
        """Whether a contact touches and carries, given its log-odds and its force in units of `touch_force`."""
        s = self.settings
        least = (s.release**2 - 1) * s.significance**2 / 2 if self._touching[name] else 0.0
        loaded = load > (s.release if self._carrying[name] else 1.0)
        self._touching[name] = odds > least or (self._touching[name] and loaded)
        self._carrying[name] = self._touching[name] and loaded

    def _unexpected(self, left: Array) -> tuple[str, ...]:
        """The last joints of their branches that feel what nothing explains: whatever touches is at or behind them."""
        felt = np.abs(left) > self._surprise
        if not felt[6 if self.robot.floating else 0 :].any():
            return ()
        hot = {name for name, joint in self.robot.joints.items() if felt[joint.v].any()}
        return tuple(name for name in hot if not hot & self._branches[name])


def _logistic(x: float) -> float:
    return 1 / (1 + exp(-x)) if x > -500 else 0.0


def _branch_ends(robot: Robot) -> dict[str, set[str]]:
    """Joint → joints behind it."""
    behind: dict[str, set[str]] = {name: set() for name in robot.joints}
    bodies = robot.tree.bodies
    for i, body in enumerate(bodies):
        for k in robot.tree.ancestors(i)[1:]:
            if bodies[k].name in behind:
                behind[bodies[k].name].add(body.name)
    return behind


def _kernel(robot: Robot, soles: Sequence[Sole], watch: Place | None) -> Kernel:
    places = [(sole.place[0], sole.place[1].tobytes(), sole.corners.tobytes(), sole.flat) for sole in soles]
    key = ("touch", *places, None if watch is None else (watch[0], watch[1].tobytes()))
    make = functools.partial(_traced, robot.tree, soles, watch)
    return kernel_of(cached_program(robot.tree, key, make), strict=False)


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
    }
    symbols = {name: SX.sym(name, size) for name, size in sizes.items()}
    outputs = step(tree, soles, watch, symbols)
    shapes = {name: out.shape if out.shape[1] > 1 else (out.shape[0],) for name, out in outputs.items()}
    return trace("touch", symbols, outputs, shapes=shapes, quaternions=[(0, start) for start in tree.quaternions])
