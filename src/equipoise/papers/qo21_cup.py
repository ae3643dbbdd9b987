"""[QO21, Sec. 6.1]: a humanoid puts a cup on a table with its left hand, by velocities and by torques.

Nine joints, five of the torso and four of the arm, bring the hand to the plane of the table. QP heeds nothing else; CQP
keeps the cup within 0.1 rad of upright, all joints within their limits, the arm 0.07 m off the torso, and the hand
inside of four planes around the target region, 0.01 m off each. The thesis's robot is Poppy; here it is the built-in
human, pelvis fixed.

QP by torques makes accelerations small (3.3), so its joints go on after the hand has stopped; those of CQP come to rest
with it. The thesis has the bounds (3.4) for that, or the second level (3.6), which is here. With g = |ẋ| the bounds
keep every joint slower, in rad/s, than the hand in m/s. The human's joints must be faster than that while the cup is at
its limit: within (3.4) the hand stops 7 cm above the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..control.constraints import Cone, JointLimits, KeepOut, TorqueLimits
from ..control.controller.controller import WholeBodyController
from ..control.safety.vfi import Gains
from ..control.tasks import PlaneTask, PostureTask
from ..geometry.primitives import Capsule, Line, Plane, Point
from ..robot import Robot, load
from .rows import Figure, small

Array = np.ndarray
TORSO = ("lumbar_pitch", "lumbar_roll", "lumbar_yaw", "thorax_pitch", "thorax_yaw")
ARM = ("left_shoulder_pitch", "left_shoulder_roll", "left_shoulder_yaw", "left_elbow")
START = {"left_shoulder_pitch": -0.35, "left_shoulder_roll": 0.25, "left_elbow": -1.35}  # rad
TILT, PLANES, TORSO_GAP = 0.1, 0.01, 0.07  # rad, m, m
DESCENT = 0.16  # m from the start to the table
ETA = 0.36  # 1/s, of the task and the inequalities at velocity level
K_D, K_P = 1.5, 0.3  # 1/s and 1/s², of the task and the inequalities at torque level
STEP = {"velocity": 0.01, "torque": 0.005}  # s
REST = 1.0  # 1/s, α of (3.6): how fast what the task leaves free comes to rest
DURATION = {"velocity": 16.0, "torque": 28.0}  # s
TABLE_6_1 = {"velocity": (0.1637, 0.5132), "torque": (61.508, 115.07)}  # effort of QP and of CQP, of another robot
BAND = 0.75  # of the thesis's ratio, and its inverse: robot, table and start are others


@dataclass(frozen=True, eq=False)
class Placing:
    """What happened; one entry per step. Margins are distances from the limits, negative beyond."""

    t: Array
    q: Array
    v: Array
    command: Array  # velocities or torques
    distance: Array  # m, of the hand from the table
    tilt: Array  # rad, of the cup
    planes: Array  # m, distances from the four planes, less the safe one
    torso: Array  # m, of arm and torso, less the safe one
    joints: Array  # rad, least distance of a joint from its limits

    @property
    def effort(self) -> float:
        """√∫|u|² dt [QO21, Table 6.1]."""
        return float(np.sqrt(np.sum(self.command**2) * (self.t[1] - self.t[0])))

    @property
    def left(self) -> tuple[float, float]:
        """Speeds of the joints and of the hand at the end, as parts of their largest."""
        joints, hand = np.linalg.norm(self.v, axis=1), np.abs(np.diff(self.distance))
        return float(joints[-1] / joints.max()), float(hand[-1] / hand.max())

    @property
    def margins(self) -> dict[str, float]:
        """The least of each kind."""
        worst = {"cup": TILT - self.tilt, "planes": self.planes, "torso": self.torso, "joints": self.joints}
        return {name: float(values.min()) for name, values in worst.items()}


class CupScene:
    """The robot, the cup in its hand, the table and its four planes."""

    q0: Array
    table: float
    cup: Line
    vertical: Line
    planes: list[Plane]
    hand: Point
    arm: Capsule
    torso: Capsule

    def __init__(self) -> None:
        self.robot: Robot = load("human", floating=False, joints=(*TORSO, *ARM))
        self.q0 = self.robot.neutral()
        for name, angle in START.items():
            self.q0[self.robot.joints[name].q] = angle
        X = self.robot.pose(self.q0, "left_hand")
        self.table = float(X[2, 3]) - DESCENT
        self.cup = Line((0.0, 0.0, 0.0), X[:3, :3].T @ np.array([0.0, 0.0, 1.0]), "left_hand")
        self.vertical = Line((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
        centre = np.array([X[0, 3] + 0.03, X[1, 3], self.table])
        self.planes = [self._plane(centre, side) for side in ((1, 0), (-1, 0), (0, 1), (0, -1))]
        self.hand = Point((0.0, 0.0, 0.0), "left_hand")
        self.arm = Capsule((0.0, 0.0, 0.0), self._elbow_to_hand(), 0.04, "left_forearm")
        self.torso = Capsule((0.0, 0.0, 0.0), (0.0, 0.0, 0.25), 0.12, "thorax")

    @staticmethod
    def _plane(centre: Array, side: tuple[int, int]) -> Plane:
        """A plane that leans outwards from the edge of the region, 6 cm off its centre: a funnel [QO21, Fig. 4.8]."""
        normal = np.array([-side[0], -side[1], 0.3])
        edge = centre + 0.06 * np.array([*side, 0.0])
        return Plane(normal, float(normal @ edge / np.linalg.norm(normal)))

    def _elbow_to_hand(self) -> Array:
        X = np.linalg.inv(self.robot.pose(self.q0, "left_forearm")) @ self.robot.pose(self.q0, "left_hand")
        return X[:3, 3]

    def controller(self, level: str, constrained: bool) -> WholeBodyController:
        """CQP, or QP."""
        task = PlaneTask("left_hand", offset=self.table, gain=ETA, stiffness=K_P, damping=K_D)
        rest = PostureTask(self.q0, weight=1e-4, gain=0.0, stiffness=0.0, damping=REST if constrained else 0.0)
        limits: list[Any] = [TorqueLimits()] if level == "torque" else []
        if constrained:
            gains = Gains(K_D, K_P) if level == "torque" else Gains.of_rates(ETA, 2 * ETA)
            sides = [KeepOut(self.hand, p, PLANES, name=f"plane {k}", gains=gains) for k, p in enumerate(self.planes)]
            off = KeepOut(self.arm, self.torso, TORSO_GAP, name="arm and torso", gains=gains)
            limits += [Cone(self.cup, self.vertical, TILT, name="cup", gains=gains), *sides, off, JointLimits(20.0)]
        return WholeBodyController(self.robot, [task, rest], (), limits, level=level, dt=STEP[level])


@cache
def placed(level: str, constrained: bool, duration: float | None = None) -> Placing:
    """The cup put on the table at one level, with or without constraints."""
    duration = DURATION[level] if duration is None else duration
    scene = CupScene()
    robot, controller, dt = scene.robot, scene.controller(level, constrained), STEP[level]
    watch = scene.controller("velocity", True)  # measures all margins, whoever controls
    q, v, rows = scene.q0, np.zeros(robot.nv), []
    for k in range(round(duration / dt)):
        solution = controller(k * dt, q, v)
        command = solution.velocity if level == "velocity" else solution.torque
        rows.append((k * dt, q, v, command, *_measured(scene, watch, k * dt, q, v)))
        if level == "velocity":
            v = solution.velocity
            q = robot.integrate(q, v, dt)
        else:
            a = robot.forward_dynamics(q, v, solution.torque)
            q, v = robot.integrate(q, v + 0.5 * dt * a, dt), v + dt * a
    return Placing(*(np.array(column) for column in zip(*rows, strict=True)))


def _measured(scene: CupScene, watch: WholeBodyController, t: float, q: Array, v: Array) -> tuple[Any, ...]:
    """Distance, tilt, planes, torso and joints of `Placing`."""
    margins = watch(t, q, v).margins
    chord = 2 - 2 * np.cos(TILT) - margins["cup"]
    tilt = 2 * np.arcsin(min(1.0, np.sqrt(max(chord, 0.0)) / 2))
    limits = scene.robot.limits
    joints = float(np.minimum(q - limits.lower, limits.upper - q).min())
    planes = [margins[f"plane {k}"] for k in range(4)]
    return float(scene.robot.pose(q, "left_hand")[2, 3]) - scene.table, tilt, planes, margins["arm and torso"], joints


def cup_figures() -> Iterator[Figure]:
    """[QO21, Figs. 6.2–6.4, Table 6.1]: both reach the table, only CQP holds all constraints, at a higher effort."""
    for level in ("velocity", "torque"):
        free, held = placed(level, False), placed(level, True)
        yield small(f"cup, {level}: QP reaches the table, m", abs(free.distance[-1]), 0.01)
        yield small(f"cup, {level}: CQP reaches the table, m", abs(held.distance[-1]), 0.01)
        broken = sorted(name for name, margin in free.margins.items() if margin < -1e-4)
        yield Figure(
            f"cup, {level}: QP breaks", "cup", ", ".join(broken) or "nothing", "cup" in broken, "the cup's tilt"
        )
        beyond = max(0.0, *(-margin for margin in held.margins.values()))
        yield small(f"cup, {level}: CQP goes beyond a limit by", beyond, 1e-6)
        ratio, (qp, cqp) = held.effort / free.effort, TABLE_6_1[level]
        near = BAND < ratio / (cqp / qp) < 1 / BAND
        yield Figure(
            f"cup, {level}: effort of CQP over QP [Table 6.1]",
            f"× {BAND:g} … {1 / BAND:g}",
            f"{ratio:.2f}",
            near,
            f"{cqp / qp:.2f}",
        )
        ours = f"{free.effort:.3g}, {held.effort:.3g}"
        yield Figure(
            f"cup, {level}: effort of QP and of CQP [Table 6.1]",
            "the second is larger",
            ours,
            free.effort < held.effort,
            f"{qp:.3g}, {cqp:.3g}",
        )
    yield from _rests()


def _rests() -> Iterator[Figure]:
    """[QO21, Fig. 6.3], third graph."""
    for name, paper, required, constrained in (
        ("QP", "goes on", "> 0.02, hand < 0.005", False),
        ("CQP", "goes to zero", "< 0.005, hand < 0.005", True),
    ):
        joints, hand = placed("torque", constrained).left
        good = hand < 5e-3 and (joints < 5e-3 if constrained else joints > 2e-2)
        what = f"cup, torque: speed of the joints when the hand has stopped, of their largest, {name} [Fig. 6.3]"
        yield Figure(what, required, f"{joints:.4f}, hand {hand:.4f}", good, paper)
