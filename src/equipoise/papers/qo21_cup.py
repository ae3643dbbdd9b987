"""[QO21, Sec. 6.1]: a humanoid puts a cup on a table with its left hand, by velocities and by torques.

Nine joints, five of the torso and four of the arm, bring the hand to the plane of the table. QP heeds nothing else; CQP
keeps the cup within 0.1 rad of upright, all joints within their limits, the arm 0.07 m off the torso, and the hand
inside of four planes around the target region, 0.01 m off each. The thesis's robot is Poppy; here it is the built-in
human, pelvis fixed.

QP by torques makes accelerations small (3.3), so its joints go on after the hand has stopped; those of CQP come to rest
with it. The thesis has the bounds (3.4) for that, or the second level (3.6), which is here, below the task (3.5). With
g = |ẋ| the bounds keep every joint slower, in rad/s, than the hand in m/s. The human's joints must be faster than that
while the cup is at its limit: within (3.4) the hand stops 7 cm above the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from ..body.body import Body
from ..body.inverse_kinematics import solve_ik
from ..control.constraints import Cone, JointLimits, KeepOut, TorqueLimits
from ..control.controller.controller import WholeBodyController
from ..control.safety.vfi import Gains
from ..control.tasks import PlaneTask, PostureTask
from ..geometry.primitives import Capsule, Line, Plane, Point
from ..model.urdf_writer import write_urdf
from ..robot import Robot, load
from .commanded import Asked, Statement, barrier
from .moving import Moving, at_their_ends, between, direction, given, joints, point, stacked
from .reference import ReferenceState, path
from .rows import Figure, apart, small

Array = np.ndarray
TORSO = ("lumbar_pitch", "lumbar_roll", "lumbar_yaw", "thorax_pitch", "thorax_yaw")
ARM = ("left_shoulder_pitch", "left_shoulder_roll", "left_shoulder_yaw", "left_elbow")
START = {"left_shoulder_pitch": -0.35, "left_shoulder_roll": 0.25, "left_elbow": -1.35}  # rad
TILT, PLANES, TORSO_GAP = 0.1, 0.01, 0.07  # rad, m, m
DESCENT, AHEAD = 0.16, 0.03  # m from the start to the table, and to the middle of the region
ARM_LENGTH = 0.635  # m, of the human, from the shoulder to the hand
HAND = (0.65, 0.45, -0.3)  # ahead, aside and up from the shoulder, where the hand of a named robot starts, by its arm
ETA = 0.36  # 1/s, of the task and the inequalities at velocity level
K_D, K_P = 1.5, 0.3  # 1/s and 1/s², of the task and the inequalities at torque level
STEP = {"velocity": 0.01, "torque": 0.005}  # s
REST = 1.0  # 1/s, α of (3.6): how fast what the task leaves free comes to rest
DAMPING = 1e-2  # λ of (3.1) and (3.3)
TOP = 1e-6  # λ² of (3.6)
NEAR = 0.05  # rad, from an end that may push a joint
BRAKING = 20.0  # rad/s², that joints count on before their ends
DURATION = {"velocity": 16.0, "torque": 28.0}  # s
TABLE_6_1 = {"velocity": (0.1637, 0.5132), "torque": (61.508, 115.07)}  # effort of QP and of CQP, of another robot
BAND = 0.75  # of the thesis's ratio, and its inverse: robot, table and start are others


@dataclass(frozen=True, eq=False)
class Placing:
    """What happened; one entry per step. Margins are distances from the limits, negative beyond."""

    top: Statement  # of the task
    rest: Statement  # of the second level
    t: Array
    q: Array
    v: Array
    command: Array  # velocities or torques
    distance: Array  # m, of the hand from the table
    tilt: Array  # rad, of the cup
    planes: Array  # m, distances from the four planes, less the safe one
    torso: Array  # m, of arm and torso, less the safe one
    joints: Array  # rad, least distance of a joint from its limits
    off: Array  # accelerations under the torques from those commanded, by their size

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

    def __init__(self, robot: Robot | None = None) -> None:
        self.robot, self.q0, self.frame, (arm, torso), across, size = _human() if robot is None else _named(robot)
        X = self.robot.pose(self.q0, self.frame)
        self.table, up = float(X[2, 3]) - DESCENT * size, np.array([0.0, 0.0, 1.0])
        self.cup = Line((0.0, 0.0, 0.0), X[:3, :3].T @ up, self.frame)
        self.vertical = Line((0.0, 0.0, 0.0), up)
        centre = np.append(X[:2, 3] + AHEAD * size * across[0], self.table)
        self.planes = [self._plane(centre, sign * side, size) for side in across for sign in (1.0, -1.0)]
        self.hand = Point((0.0, 0.0, 0.0), self.frame)
        elbow, chest = (self.robot.pose(self.q0, link) for link in (arm, torso))
        self.arm = Capsule((0.0, 0.0, 0.0), elbow[:3, :3].T @ (X[:3, 3] - elbow[:3, 3]), 0.04 * size, arm)
        self.torso = Capsule((0.0, 0.0, 0.0), chest[:3, :3].T @ (0.25 * size * up), 0.12 * size, torso)

    @staticmethod
    def _plane(centre: Array, side: Array, size: float) -> Plane:
        """A plane that leans outwards from the edge of the region, 6 cm off its centre: a funnel [QO21, Fig. 4.8]."""
        normal = np.append(-side, 0.3)
        edge = centre + 0.06 * size * np.append(side, 0.0)
        return Plane(normal, float(normal @ edge / np.linalg.norm(normal)))

    def controller(self, level: str, constrained: bool) -> WholeBodyController:
        """CQP, or QP."""
        torques = level == "torque"
        tasks: list[Any] = [PlaneTask(self.frame, offset=self.table, gain=ETA, stiffness=K_P, damping=K_D)]
        limits: list[Any] = [TorqueLimits()] if torques else []
        if constrained:
            gains = Gains(K_D, K_P) if torques else Gains.of_rates(ETA, 2 * ETA)
            sides = [KeepOut(self.hand, p, PLANES, name=f"plane {k}", gains=gains) for k, p in enumerate(self.planes)]
            off = KeepOut(self.arm, self.torso, TORSO_GAP, name="arm and torso", gains=gains)
            limits += [Cone(self.cup, self.vertical, TILT, name="cup", gains=gains), *sides, off, JointLimits(BRAKING)]
        least, levels = DAMPING**2, torques and constrained
        if levels:
            tasks.append(PostureTask(self.q0, weight=1.0, stiffness=0.0, damping=REST, priority=1))
            least = TOP
        options: dict[str, Any] = {
            "level": level,
            "priorities": "strict" if levels else "weighted",
            "dt": STEP[level],
            "motion_weight": least,
        }
        return WholeBodyController(self.robot, tasks, (), limits, **options)

    def seen(self, now: ReferenceState) -> dict[str, Moving]:
        """Returns the hand's height over the table and what is kept, as distances from the limits, from outside."""
        nv, hand = now.model.nv, point(now, self.frame)
        tilt = direction(now, self.frame, self.cup.directions[0]) - given((0.0, 0.0, 1.0), nv)
        planes = [hand.rotated(p.directions[0][None]) - given(p.offset + PLANES, nv) for p in self.planes]
        return {
            "height": hand[2:] - given(self.table, nv),
            "cup": given(2 - 2 * np.cos(TILT), nv) - tilt.dot(tilt),
            "planes": stacked(*planes),
            "torso": between(now, self.arm, self.torso) - given(TORSO_GAP, nv),
        }


Setting = tuple[Robot, Array, str, tuple[str, str], Array, float]


def _human() -> Setting:
    """Returns (robot, start, frame of the hand, links of forearm and torso, directions ahead and aside, size)."""
    robot = load("human", floating=False, joints=(*TORSO, *ARM))
    q = robot.neutral()
    for name, angle in START.items():
        q[robot.joints[name].q] = angle
    return robot, q, "left_hand", ("left_forearm", "thorax"), np.eye(2), 1.0


def _named(robot: Robot) -> Setting:
    """Returns the same of a robot with a torso and hands: the joints between its pelvis and its left hand; lengths go
    with that of its arm."""
    body = Body.of(robot)
    hand, torso = body.frames["left hand"], body.parts["torso"].link
    above, links = {joint.child: joint for joint in robot.joints.values()}, [body.parts["left hand"].link]
    while links[-1] != body.parts["pelvis"].link:
        links.append(str(above[links[-1]].parent))
    joints = [above[link] for link in reversed(links[:-1]) if above[link].moving]
    arm = [joint for joint in joints if links.index(joint.child) < links.index(torso)]
    text, names = write_urdf(body.robot.model), [joint.name for joint in arm]
    fixed, reaching = (load(text, floating=False, joints=some) for some in ([joint.name for joint in joints], names))
    base = body.robot.pose(body.standing, robot.base_link or "")[:3, :3]
    q = fixed.neutral()
    places = [fixed.pose(q, name)[:3, 3] for name in (arm[0].child, arm[-1].child, hand)]
    size = sum(float(np.linalg.norm(b - a)) for a, b in pairwise(places))
    middle = (reaching.limits.lower + reaching.limits.upper) / 2
    found = solve_ik(reaching, {hand: places[0] + base.T @ (size * np.array(HAND))}, middle).q
    for name in names:
        q[fixed.joints[name].q] = found[reaching.joints[name].q]
    return fixed, q, hand, (arm[-1].child, torso), base[:2, :2], size / ARM_LENGTH


@cache
def placed(level: str, constrained: bool, duration: float | None = None) -> Placing:
    """The cup put on the table by the built-in human, at one level, with or without constraints."""
    return put(CupScene(), level, constrained, duration)


def put(scene: CupScene, level: str, constrained: bool, duration: float | None = None) -> Placing:
    """The cup put on the table; looked at and moved by the reference."""
    duration = DURATION[level] if duration is None else duration
    dt, law = STEP[level], _Law(scene.robot, level, constrained)
    robot, controller = scene.robot, scene.controller(level, constrained)
    q, v, rows = scene.q0, np.zeros(robot.nv), []
    for k in range(round(duration / dt)):
        solution = controller(k * dt, q, v)
        now = ReferenceState(robot, q, v if law.second else None)
        seen, command = scene.seen(now), solution.torque if law.second else solution.velocity
        a = now.acceleration(command) if law.second else solution.acceleration
        rows.append((k * dt, q, v, command, *_measured(robot, q, seen), apart(a, solution.acceleration)))
        law.look(now, seen, a if law.second else command)
        q, v = (path(robot, q, v, a)(dt), v + dt * a) if law.second else (path(robot, q, command)(dt), command)
    return Placing(law.top, law.rest, *(np.array(column) for column in zip(*rows, strict=True)))


class _Law:
    """What each command is held against: (3.1), (3.3), or (3.5) with (3.6) below. Joints may be pushed by their ends
    where these are near. By torques the torso is far from the arm, so that it pushes nowhere."""

    def __init__(self, robot: Robot, level: str, constrained: bool) -> None:
        self.robot = robot
        self.second, self.constrained, self.dt = level == "torque", constrained, STEP[level]
        root = np.sqrt(K_D**2 - 4 * K_P)
        self.rates = ((K_D - root) / 2, (K_D + root) / 2) if self.second else (ETA, 2 * ETA)
        self.top, self.rest = Statement(), Statement()

    def look(self, now: ReferenceState, seen: dict[str, Moving], x: Array) -> None:
        height, every = seen["height"], joints(now, slice(0, now.model.nv))
        wanted = -K_D * height.rate - K_P * height.x if self.second else -ETA * height.x
        slow, fast = self.rates
        names = ["cup", "planes"] + ["torso"] * (not self.second) if self.constrained else []
        kept = [barrier(seen[name], slow, fast, self.dt, self.second) for name in names]
        levels = self.second and self.constrained
        ends = np.eye(len(x))[
            at_their_ends(self.robot, now.q, now.v if self.second else x, NEAR)[: len(x) * self.constrained]
        ]
        least = 0.0 if levels else DAMPING**2
        self.top.look(x, self.second, [Asked(height, wanted)], kept, ends, motion_weight=least)
        if levels:
            self.rest.look(
                x, True, [Asked(every, -REST * now.v)], kept, np.concatenate([ends, height.J]), motion_weight=0.0
            )


def _measured(robot: Robot, q: Array, seen: dict[str, Moving]) -> tuple[Any, ...]:
    """Distance, tilt, planes, torso and joints of `Placing`."""
    tilt = np.arccos(np.clip(np.cos(TILT) + seen["cup"].x[0] / 2, -1.0, 1.0))
    joints_left = float(np.minimum(q - robot.limits.lower, robot.limits.upper - q).min())
    return float(seen["height"].x[0]), float(tilt), seen["planes"].x, float(seen["torso"].x[0]), joints_left


def cup_figures() -> Iterator[Figure]:
    """[QO21, Figs. 6.2–6.4, Table 6.1]: both reach the table, only CQP holds all constraints, at a higher effort."""
    for level in ("velocity", "torque"):
        free, held = placed(level, False), placed(level, True)
        yield from _outcome(f"cup, {level}", level, free, held)
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
    yield from placed("torque", True).rest.figures("cup, torque, CQP, the second level [Eq. (3.6)]", 1e-6)
    yield from _rests()


def named_figures(robot: Robot) -> Iterator[Figure]:
    """Of row Q11, on a robot that a user names, such as the thesis's own Poppy."""
    scene = CupScene(robot)
    for level in ("velocity", "torque"):
        free, held = (put(scene, level, constrained) for constrained in (False, True))
        yield from _outcome(f"{robot.name}: cup, {level}", level, free, held)
        efforts = f"{free.effort:.3g}, {held.effort:.3g}"
        what = f"{robot.name}: cup, {level}: effort of QP and of CQP [Table 6.1]"
        yield Figure(
            what, "the second is larger", efforts, free.effort < held.effort, "{:.3g}, {:.3g}".format(*TABLE_6_1[level])
        )


def _outcome(what: str, level: str, free: Placing, held: Placing) -> Iterator[Figure]:
    """Both reach the table; QP tilts the cup, CQP keeps everything; each command is as stated."""
    yield small(f"{what}: QP reaches the table, m", abs(free.distance[-1]), 0.01)
    yield small(f"{what}: CQP reaches the table, m", abs(held.distance[-1]), 0.01)
    broken = sorted(name for name, margin in free.margins.items() if margin < -1e-4)
    for who, one in (("QP", free), ("CQP", held)):
        yield from one.top.figures(f"{what}, {who}", 1e-6, active=one is held)
        if level == "torque":
            words = f"{what}, {who}: commanded accelerations come about, by Newton and Euler, every step"
            yield small(words, float(one.off.max()), 1e-9)
    yield Figure(f"{what}: QP breaks", "cup", ", ".join(broken) or "nothing", "cup" in broken, "the cup's tilt")
    beyond = max(0.0, *(-margin for margin in held.margins.values()))
    yield small(f"{what}: CQP goes beyond a limit by", beyond, 1e-6)


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
