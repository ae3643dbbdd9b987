"""What does the robot touch: external forces without accelerations, contacts, slips and touches that nobody
expected."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import exp, isfinite
from typing import TYPE_CHECKING

import numpy as np

from ..errors import StateError
from ..machine.kernel import Kernel
from ..machine.program import Program
from ..machine.store import cached_program, kernel_of
from ..model.tree import Tree
from .frames import Contacts, Framed, Place, contact_points, on_the_robot, place_of

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
CARRIES = 1e4  # N, N m: what a contact may carry before anything is measured
PUSHES = 200.0  # N: likewise of a push at the watched frame; its torque is taken for zero


@dataclass(frozen=True)
class Touch:
    """What the observer says after a step.

    Attributes:
        residual: generalised force from outside, behind the observer's filter, (nv,).
        wrenches: by contact, (6,) force and torque on the robot at the contact point, world axes.
        smoothed: the same, over
            `settling`.
        external: (6,) at the watched frame, world axes, smoothed; None where none is watched.
        probability: of each contact, 0 to 1.
        touching: which contacts stand, with hysteresis.
        slipping: contacts that stand and move.
        unexpected: joints that feel more than contacts and the watched frame explain, each the last of its branch.
    """

    residual: Array
    wrenches: Mapping[str, Array]
    smoothed: Mapping[str, Array]
    external: Array | None
    probability: Mapping[str, float]
    touching: Mapping[str, bool]
    slipping: tuple[str, ...]
    unexpected: tuple[str, ...]


@dataclass(frozen=True)
class TouchSettings:
    """Numbers of the observer; none is compiled.

    Attributes:
        bandwidth: of the residual, 1/s.
        torque_noise: N m, what torques of the joints are wrong by.
        rate_noise: rad/s or m/s, what rates of the joints are wrong by; base_noise: likewise of the base, m/s and
            rad/s.
        touch_force: N along the vertical at which a contact is as probable as not; 2 % of the weight if not given.
        softness: part of `touch_force` over which the odds change e-fold.
        release: part of `touch_force` below which a contact that stood is lost.
        settling: s over which contact forces are smoothed.
        push_settling: s, likewise of the watched frame's.
        height: m above the contacts that stand, over which a foot's height speaks against touch e-fold.
        height_limit: e-folds at most that height speaks against touch: there may be a step.
        slip_speed: m/s at which a contact that stands slips.
        slip_settling: s over which an estimator smooths that speed.
        surprise: N m that a joint may feel unexplained, beyond five times its noise.
    """

    bandwidth: float = 160.0
    torque_noise: float = 0.5
    rate_noise: float = 0.02
    base_noise: float = 0.005
    touch_force: float | None = None
    softness: float = 0.2
    release: float = 0.5
    settling: float = 0.004
    push_settling: float = 0.03
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

    def residual_noise(self, robot: Robot) -> Array:
        """What the rows of the residual are wrong by, (nv,): torques, and rates times inertia times bandwidth."""
        inertia = np.diag(robot.mass_matrix(robot.standing()))
        rates, torques = np.full(robot.nv, self.rate_noise), np.full(robot.nv, self.torque_noise)
        if robot.floating:
            rates[:6], torques[:6] = self.base_noise, 0.0
        return np.hypot(torques, self.bandwidth * inertia * rates)


SETTINGS = TouchSettings()


class TouchObserver:
    """Forces from outside by the generalised momentum [LM05], and which contacts stand by them.

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
        points = contact_points(robot, contacts)
        self.contacts = tuple(points)
        places = [place_of(robot, frame, point) for frame, point in points.values()]
        places += [] if watch is None else [on_the_robot(robot, watch)]
        self.kernel = _kernel(robot, places)
        scales = [np.full(6, CARRIES) * ([1, 1, 1, 0, 0, 0] if _is_point(c) else 1) for c in _items(contacts)]
        scales += [] if watch is None else [PUSHES * np.array([1.0, 1, 1, 0, 0, 0])]
        gravity = np.array(robot.model.gravity)
        self._up = -gravity / max(float(np.linalg.norm(gravity)), 1e-12)
        self._force = settings.force(robot)
        self._in = {argument.name: np.zeros(argument.size) for argument in self.kernel.program.inputs}
        self._out = {output.name: np.zeros(output.shape) for output in self.kernel.program.outputs}
        self._in["scale"][:] = np.concatenate([np.zeros(0), *scales])
        self._in["sigma"][:] = sigma = settings.residual_noise(robot)
        self._surprise = settings.surprise + 5 * sigma
        self._in["gain"][0] = settings.bandwidth
        self._run = self.kernel.bound(list(self._in.values()), list(self._out.values()))
        self._branches = _branch_ends(robot)
        self.reset()

    def reset(self) -> None:
        """Start anew: the first call only learns the momentum."""
        self._time: float | None = None
        self._touching = dict.fromkeys(self.contacts, False)
        self._smooth = np.zeros((len(self.contacts), 6))
        self._pushed = np.zeros(6)
        self.rejected = 0
        for part in self._out.values():
            part[:] = 0.0
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

    def _said(self, dt: float, heights: Array | None) -> Touch:
        """The numbers of the kernel, in words."""
        out, s = self._out, self.settings
        forces = out["wrenches"].reshape(-1, 6).copy()
        count = len(self.contacts)
        self._smooth += (forces[:count] - self._smooth) * (dt / (s.settling + dt))
        chance = {}
        lost = _logistic((s.release - 1) / s.softness)
        for i, name in enumerate(self.contacts):
            push = float(self._smooth[i, :3] @ self._up) / self._force
            high = 0.0 if heights is None else min(max(float(heights[i]), 0.0) / s.height, s.height_limit)
            chance[name] = _logistic((push - 1) / s.softness - high)
            self._touching[name] = chance[name] > (lost if self._touching[name] else 0.5)
        wrenches = dict(zip(self.contacts, forces, strict=False))
        smoothed = dict(zip(self.contacts, self._smooth.copy(), strict=True))
        speeds = out["speeds"].reshape(-1, 6)
        slipping = tuple(
            name
            for i, name in enumerate(self.contacts)
            if self._touching[name] and not speeds[i, :3] @ speeds[i, :3] < s.slip_speed**2
        )
        if self.watch is not None:
            self._pushed = self._pushed + (forces[-1] - self._pushed) * (dt / (s.push_settling + dt))
        external = None if self.watch is None else self._pushed
        told = external, chance, dict(self._touching), slipping, self._unexpected()
        return Touch(out["residual"].copy(), wrenches, smoothed, *told)

    def _unexpected(self) -> tuple[str, ...]:
        """The last joints of their branches that feel what nothing explains: whatever touches is at or behind them."""
        felt = np.abs(self._out["left"]) > self._surprise
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


def _items(contacts: Contacts) -> list[str | Framed]:
    return list(contacts.values() if isinstance(contacts, Mapping) else contacts)


def _is_point(contact: str | Framed) -> bool:
    points = getattr(contact, "points", None)
    return points is not None and len(np.atleast_2d(points)) == 1


def _kernel(robot: Robot, places: Sequence[Place]) -> Kernel:
    key = ("touch", *((body, X.tobytes()) for body, X in places))
    make = functools.partial(_traced, robot.tree, places)
    return kernel_of(cached_program(robot.tree, key, make), strict=False)


def _traced(tree: Tree, places: Sequence[Place]) -> Program:
    from ..equations.symbols import SX
    from ..machine.trace import trace
    from .touch_equations import step

    nv, m = tree.nv, 6 * len(places)
    sizes = {"q": tree.nq, "v": nv, "tau": nv, "explained": nv, "sigma": nv, "scale": m, "gain": 1, "dt": 1}
    symbols = {name: SX.sym(name, size) for name, size in sizes.items()}
    outputs = step(tree, places, symbols)
    shapes = {name: (expression.shape[0],) for name, expression in outputs.items()}
    return trace("touch", symbols, outputs, shapes=shapes, quaternions=[(0, start) for start in tree.quaternions])
