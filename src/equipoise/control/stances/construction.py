"""The controller under a sequence of stances: its tasks, their weights, and the frames that are tracked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import unknown_name
from ..constraints import Constraint, JointLimits, TorqueLimits
from ..contacts import Contact
from ..controller.controller import WholeBodyController
from ..tasks import CoMTask, FrameTask, MomentumTask, PostureTask, Task
from .stance import Stance

if TYPE_CHECKING:
    from ...forms.charts import Chart
    from ...robot import Robot

COM, BASE, POSTURE, SPIN, FRAMES = "centre of mass", "base", "posture", "momentum", "frames"
WEIGHTS = {COM: 10.0, BASE: 1.0, POSTURE: 0.03, SPIN: 1e-3, FRAMES: 10.0}
TRACKING_GAIN = 20.0  # 1/s


def tracked_label(name: str) -> str:
    """Of the task that tracks a frame."""
    return f"{name} tracked"


def tracked_frames(
    contacts: Sequence[Contact], stances: Sequence[Stance]
) -> tuple[dict[str, str], list[frozenset[str]]]:
    """(frames that may be tracked, by contact or by their own name; of each stance, those for which it has targets)."""
    frames = {contact.label: contact.frame for contact in contacts}  # several may be on one frame
    names = {frame: name for name, frame in frames.items()}
    for frame in dict.fromkeys(frame for stance in stances for frame in stance.targets):
        if frame not in names:
            names[frame] = frame if frame not in frames else f"frame {frame}"
    aims = [frozenset(names[frame] for frame in stance.targets) for stance in stances]
    return frames | {name: frame for frame, name in names.items()}, aims


def task_weights(given: Mapping[str, float] | None) -> dict[str, float]:
    """Weights of the machine's own tasks, with those given in the place of the usual ones."""
    for name in given or {}:
        if name not in WEIGHTS:
            raise unknown_name("weight", name, WEIGHTS)
    return {**WEIGHTS, **(given or {})}


def with_usual_limits(robot: Robot, constraints: Sequence[Constraint], torques: bool = True) -> list[Any]:
    """Constraints, with limits of joints and of torques in front where none are given."""
    rests = [constraint.at_rest(robot) for constraint in constraints]
    usual: list[Any] = [] if any(rest.positions is not None for rest in rests) else [JointLimits()]
    if torques and all(rest.effort is None for rest in rests):
        usual.insert(0, TorqueLimits())
    return [*usual, *constraints]


def make_controller(
    robot: Robot,
    contacts: Sequence[Contact],
    frames: Mapping[str, str],
    weights: Mapping[str, float],
    tasks: Sequence[Task],
    constraints: Sequence[Constraint],
    dt: float,
    chart: Chart | type[Chart] | None = None,
) -> WholeBodyController:
    """A controller of torques with tasks for the centre of mass, posture, spin, base and every frame that may be
    tracked."""
    own: list[Task] = [
        CoMTask(name=COM, weight=weights[COM]),
        PostureTask(name=POSTURE, weight=weights[POSTURE]),
        MomentumTask(name=SPIN, weight=weights[SPIN]),
    ]
    if robot.base_link is not None:
        own.append(FrameTask(robot.base_link, name=BASE, axes="orientation", weight=weights[BASE]))
    turning = {contact.label for contact in contacts if contact.pivots}
    for name, frame in frames.items():
        axes = "position" if name in turning else "pose"  # a frame may turn as it likes on a point
        own.append(FrameTask(frame, name=tracked_label(name), axes=axes, weight=0.0, gain=TRACKING_GAIN))
    limits = with_usual_limits(robot, constraints)
    return WholeBodyController(robot, [*own, *tasks], contacts, limits, dt=dt, slip_limit=np.inf, chart=chart)
