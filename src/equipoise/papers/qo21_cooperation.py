"""[QO21, Sec. 6.1.3]: two arms carry an object in the cooperative dual task space, on a fixed torso and on wheels.

The pose of one hand seen from the other must not change. First the hands put a cup on a table: the height half way
between them is the task; CQP keeps the cup, which is the absolute pose, within 0.3 rad of upright and the joints within
their limits. Then the pose half way between the hands goes to a place, on a fixed torso and on wheels, whose velocities
obey the rolling constraint too; CQP keeps the limits of the joints, and on wheels the ball is released at the end: the
hands move apart. Arms keep off the torso and off each other all the while, by QP and by CQP. The thesis's robot is
Poppy's upper body, in experiments; here it is the built-in pair of arms, and the motion is the commanded one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ..control.constraints import AbsoluteCone, JointLimits, SelfCollision
from ..control.controller.controller import WholeBodyController
from ..control.safety.vfi import Gains
from ..control.tasks import AbsoluteTask, PlaneTask, PostureTask, RelativeTask, Task
from ..control.tasks.rolling import Rolling
from ..geometry.collisions import self_collision_pairs
from ..robot import Robot, load
from .commanded import Asked, Kept, Statement, towards
from .moving import Moving, at_their_ends, between, direction, gap_of, given, half_way, joints, point, relative_pose
from .reference import ReferenceState, path
from .rows import Figure, small

Array = np.ndarray
Law = tuple[list[Asked], list[Kept], list[Array]]
DT, DURATION = 0.01, 16.0  # s
EVERY = 4  # of the steps is looked at
RATE, NEAR = 5.0, 0.1  # 1/s, of what keeps parts off each other; m, beyond which they do not push
SHIFT = {"bimanual": (0.04, 0.33, 0.0), "nonholonomic_bimanual": (0.8, 0.4, 0.15)}  # m, of the object
MARGIN = 0.2  # rad, kept from the ends of the joints
DESCENT, TILT, ETA = 0.35, 0.3, 0.36  # m, rad and 1/s, of the cup between both hands
GRIP = ("left_tool", "right_grip")  # frames of the hands, turned alike
SAFE = 0.07  # m, between arms and torso [QO21, Sec. 6.1]
RELEASE = 0.1  # m, by which the hands go apart


@dataclass(frozen=True, eq=False)
class Carrying:
    """What happened; one entry per look."""

    t: Array
    q: Array
    v: Array
    absolute: Array  # m (and rad), of the middle of the hands from its target
    relative: Array  # m and rad, of the pose between the hands from what it was
    tilt: Array  # rad, of what is carried
    joints: Array  # rad, least distance of a joint from its limits, which are `MARGIN` before its ends
    slip: Array  # m/s, of the wheels sideways
    gap: Array  # m, least distance between parts of the robot
    stated: Statement


@cache
def lowered(constrained: bool, duration: float = DURATION) -> Carrying:
    """A cup between both hands put on a table [QO21, Fig. 6.10]."""
    robot = _gripping(load("bimanual"))
    first = ReferenceState(robot, robot.standing())
    left, right = (first.frame(frame) for frame in GRIP)
    middle = left.R.T @ (right.p - left.p) / 2  # as long as the grip holds
    table, up = float(left.p[2] + right.p[2]) / 2 - DESCENT, left.R[2]
    task = PlaneTask(GRIP[0], offset=table, point=middle, gain=ETA, name="object")
    cone = AbsoluteCone(*GRIP, axis=up, angle=TILT, name="cup", gains=Gains.of_rates(ETA, 2 * ETA))
    limits = [cone, JointLimits(20.0, margin=MARGIN)] if constrained else []

    def law(now: ReferenceState) -> Law:
        height = point(now, GRIP[0], tuple(middle))[2:]
        tilt = 0.5 * (direction(now, GRIP[0], up) + direction(now, GRIP[1], up)) - given((0, 0, 1), robot.nv)
        cup = given(2 - 2 * np.cos(TILT), robot.nv) - tilt.dot(tilt)
        held = Kept(cup, -ETA * cup.x)
        return [Asked(height, towards(height, table, ETA, False))], [held] * constrained, [_apart(now).J]

    return _followed(robot, [task, _grip()], limits, duration, law, lambda now: _middle(now)[2:3, 3] - table)


@cache
def carried(name: str, constrained: bool, duration: float = DURATION) -> Carrying:
    """The object brought to its place [QO21, Fig. 6.12]."""
    robot = _gripping(load(name))
    goal = _middle(ReferenceState(robot, robot.standing()))
    goal[:3, 3] += SHIFT[name]
    limits = [JointLimits(20.0, margin=MARGIN)] if constrained else []
    wheels = [Rolling()] if name.startswith("nonholonomic") else []
    tasks = [AbsoluteTask(*GRIP, goal, gain=1.0, name="object"), _grip(), *wheels]

    def law(now: ReferenceState) -> Law:
        return [_half_way(now, goal)], [], [_apart(now).J]

    return _followed(robot, tasks, limits, duration, law, lambda now: pose_error(_middle(now), goal))


@cache
def released(name: str, duration: float = 6.0) -> Carrying:
    """After `carried`: all constraints are disabled, and the hands go apart [QO21, Fig. 6.11]."""
    robot, q = _gripping(load(name)), carried(name, True).q[-1]
    first = ReferenceState(robot, q)
    here, apart = _middle(first), relative_pose(first, *GRIP)
    apart[:3, 3] *= 1 + RELEASE / np.linalg.norm(apart[:3, 3])
    wheels = [Rolling()] if name.startswith("nonholonomic") else []
    held = AbsoluteTask(*GRIP, here, gain=1.0, weight=1e-3, name="object")  # an arm is straight
    tasks = [held, RelativeTask(GRIP[1], GRIP[0], apart, gain=1.0, name="grip"), *wheels]

    def law(now: ReferenceState) -> Law:
        hands, left = _apart(now), now.frame(GRIP[0]).R
        error = pose_error(relative_pose(now, *GRIP), apart)
        opened = Asked(hands, np.concatenate([left @ error[:3], left @ error[3:]]))
        return [_half_way(now, here)._replace(weight=1e-3), opened], [], []

    return _followed(robot, tasks, [], duration, law, lambda now: pose_error(_middle(now), here), q, collisions=False)


def _middle(now: ReferenceState) -> Array:
    return half_way(now, *GRIP)


def pose_error(X: Array, X_to: Array) -> Array:
    """Returns the shift and the turn that bring a pose to another, (6,)."""
    turn = Rotation.from_matrix(X_to[:3, :3] @ X[:3, :3].T).as_rotvec()
    return np.concatenate([X_to[:3, 3] - X[:3, 3], turn])


def _half_way(now: ReferenceState, goal: Array) -> Asked:
    """The pose half way between hands that are turned alike moves as the mean of both."""
    a, b = (now.frame(frame) for frame in GRIP)
    mean = Moving(np.zeros(6), (a.J + b.J) / 2, (a.V + b.V) / 2, (a.A + b.A) / 2)
    return Asked(mean, pose_error(_middle(now), goal))


def _apart(now: ReferenceState) -> Moving:
    """The right hand's twist less that of the left one carried there, (6,)."""
    a, b = (now.frame(frame) for frame in GRIP)
    carried = a.carried(np.eye(3), a.R.T @ (b.p - a.p))
    return Moving(np.zeros(6), b.J - carried.J, b.V - carried.V, b.A - carried.A)


def hands_apart(run: Carrying, robot: Robot) -> Array:
    """m, the distance of the hands at each step."""
    left, right = (robot.pose(run.q, frame)[:, :3, 3] for frame in GRIP)
    return np.linalg.norm(right - left, axis=1)


def _grip() -> RelativeTask:
    """ẋ_rel = 0: the pose between the hands must not change."""
    return RelativeTask(GRIP[1], GRIP[0], gain=2.0, name="grip", hard=True)


def _followed(
    robot: Robot, tasks: Sequence[Task], limits: Sequence[Any], duration: float,
    law: Callable[[ReferenceState], Law], left: Callable[[ReferenceState], Array], q: Array | None = None,
    collisions: bool = True,
) -> Carrying:  # fmt: skip
    """The commanded motion of tasks, off itself, with as little motion as they leave.

    Args:
        law: what tasks and constraints state, from outside.
        left: error of the object.
    """
    q = robot.standing() if q is None else q
    v, pairs, stated, rows = np.zeros(robot.nv), _pairs(robot), Statement(near=1e-4), []
    limits = [*limits, SelfCollision(pairs, SAFE, gains=Gains.of_rates(RATE, 4 * RATE))] if collisions else limits
    controller = WholeBodyController(
        robot, [*tasks, PostureTask(q, weight=1e-4, gain=0.0)], (), limits, level="velocity", dt=DT
    )
    wheels = any(isinstance(task, Rolling) for task in tasks)
    first = ReferenceState(robot, q)
    grip, up = relative_pose(first, *GRIP), _middle(first)[2, :3]
    for k in range(round(duration / DT)):
        v = controller(k * DT, q, v).velocity
        if k % EVERY == 0:
            now = ReferenceState(robot, q)
            slip = _across(now) if wheels else np.zeros((0, robot.nv))
            room = np.minimum(q - robot.limits.lower, robot.limits.upper - q) - MARGIN
            tilt, near = float(np.arccos(min(1.0, _middle(now)[2, :3] @ up))), [gap_of(now, *pair) for pair in pairs]
            sizes = (np.linalg.norm(x) for x in (left(now), pose_error(grip, relative_pose(now, *GRIP)), slip @ v))
            rows.append((k * DT, q, v, *sizes, tilt, room.min(), min(near)))
            asked, kept, held = law(now)
            if collisions:
                close = [between(now, *pair) for pair, d in zip(pairs, near, strict=True) if d < SAFE + NEAR]
                kept = kept + [Kept(d, -RATE * d.x) for d in (one - given(SAFE, robot.nv) for one in close)]
            asked.append(Asked(joints(now, slice(0, robot.nv)), np.zeros(robot.nv), 1e-4))
            ends = np.eye(robot.nv)[at_their_ends(robot, q, v, MARGIN)] if limits else slip[:0]
            stated.look(v, False, asked, kept, np.concatenate([slip, ends, *held]))
        q = path(robot, q, v)(DT)
    t, q_all, v_all, absolute, relative, slips, tilts, left_of_joints, gaps = map(np.array, zip(*rows, strict=True))
    return Carrying(t, q_all, v_all, absolute, relative, tilts, left_of_joints, slips, gaps, stated)


def _across(now: ReferenceState) -> Array:
    """Returns the row of the platform's velocity across its wheels, (1, nv)."""
    platform = now.links["platform_link"]
    return platform.R[:, 1][None] @ platform.J[:3]


def _pairs(robot: Robot) -> list[Any]:
    """Arms with torso and with each other, as in the thesis; within an arm it is the joints' limits that count."""
    return [(a, b) for a, b in self_collision_pairs(robot) if str(a.frame).split("_")[0] != str(b.frame).split("_")[0]]


def _gripping(robot: Robot) -> Robot:
    """With a frame in the right hand that is turned as the left one: between opposite poses there is no middle."""
    q, X = robot.standing(), np.eye(4)
    X[:3, :3] = robot.pose(q, "right_tool")[:3, :3].T @ robot.pose(q, "left_tool")[:3, :3]
    return robot.with_frame("right_grip", "right_tool", X)


def cooperation_figures() -> Iterator[Figure]:
    """[QO21, Figs. 6.10 and 6.12]: the object arrives, the grip holds, only CQP keeps tilt and joint limits."""
    free, held = lowered(False), lowered(True)
    yield small("cup in both hands: QP reaches the table, m", float(free.absolute[-1]), 1e-2)
    yield small("cup in both hands: CQP reaches the table, m", float(held.absolute[-1]), 1e-2)
    yield Figure(
        "cup in both hands: tilt of QP, rad", f"> {TILT}", f"{free.tilt.max():.3f}", bool(free.tilt.max() > TILT)
    )
    yield small("cup in both hands: CQP goes beyond the tilt by, rad", max(0.0, float(held.tilt.max()) - TILT), 1e-4)
    for what, run in (("QP", free), ("CQP", held)):
        yield from run.stated.figures(f"cup in both hands, {what}", 1e-6, beyond=1e-4, active=None)
    for name in SHIFT:
        yield from _carrying_figures(name.replace("_", " "), carried(name, False), carried(name, True))
    yield from _release_figures("nonholonomic_bimanual")


def _release_figures(name: str) -> Iterator[Figure]:
    """[QO21, Fig. 6.11, third snapshot]."""
    robot, run = _gripping(load(name)), released(name)
    first, *_, last = hands_apart(run, robot)
    opened = abs(last - first - RELEASE)
    yield Figure(
        "ball released: the hands go apart, m [Fig. 6.11]",
        f"{RELEASE:g} ± 1 %",
        f"{last - first:.3f}",
        bool(opened < 0.01 * RELEASE),
        "apart",
    )
    yield from run.stated.figures("ball released", 1e-6, active=False)
    middles = [np.mean([robot.pose(q, frame)[:3, 3] for frame in GRIP], axis=0) for q in (run.q[0], run.q[-1])]
    moved = float(np.linalg.norm(middles[1] - middles[0]))
    yield Figure(
        "ball released: the place between them moves, m", f"≤ {RELEASE / 2}", f"{moved:.3f}", moved < RELEASE / 2 + 1e-3
    )


def _carrying_figures(name: str, free: Carrying, held: Carrying) -> Iterator[Figure]:
    yield small(f"{name}: QP, object from its place, m and rad", float(free.absolute[-1]), 1e-2)
    yield small(f"{name}: CQP, object from its place, m and rad", float(held.absolute[-1]), 1e-2)
    for what, run in (("QP", free), ("CQP", held)):
        yield from run.stated.figures(f"{name}, {what}", 1e-6, beyond=1e-4, active=None)
    yield small(f"{name}: CQP, change of the grip, m and rad", float(held.relative.max()), 1e-3)
    least = float(free.joints.min())
    yield Figure(f"{name}: QP breaks joint limits by, rad", "> 0", f"{-least:.3f}", least < 0)
    yield small(f"{name}: CQP breaks joint limits by, rad", max(0.0, -float(held.joints.min())), 1e-9)
    gap = float(min(free.gap.min(), held.gap.min()))
    yield Figure(f"{name}: least distance of the robot's parts, m", f"≥ {SAFE}", f"{gap:.4f}", gap > SAFE - 1e-4)
    if held.slip.any():
        yield small(f"{name}: slip of the wheels, m/s", float(held.slip.max()), 1e-9)
