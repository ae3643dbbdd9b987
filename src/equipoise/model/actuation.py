"""Which joints have motors.

Cut at its free joints, a description falls into trees: one that stands on the world, and one for each free joint. Where
it says nothing of motors, the robot is the tree of the base; the others are objects. (A scene may begin with an object:
a tree with more joints than that of the base is the robot instead.) Each joint of the robot with one degree of freedom
has a motor. Ball joints and planar joints have none unless the description says so.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from .joints import Floating
from .types import Joint


def settled(joints: Sequence[Joint]) -> list[Joint]:
    """The joints with `actuated` decided: as they say, else by the default rule; a leader has its followers' motor."""
    default = robot_joints(joints)
    leaders = {joint.mimic.leader for joint in joints if joint.mimic is not None and joint.actuated}
    decided = [_has_motor(joint, joint.name in leaders, default) for joint in joints]
    return [j if j.actuated is motor else replace(j, actuated=motor) for j, motor in zip(joints, decided, strict=True)]


def without_motors(joints: Sequence[Joint]) -> list[str]:
    """Joints of the robot with one degree of freedom and a coordinate of their own, on which no motor acts."""
    robot, after = robot_joints(joints), settled(joints)
    return [joint.name for joint in after if joint.name in robot and joint.mimic is None and not joint.actuated]


def robot_joints(joints: Sequence[Joint]) -> set[str]:
    """Names of the joints with one degree of freedom in the tree of the base, or in a larger one."""
    above = {joint.child: joint for joint in joints}
    # link → the freely floating link of its tree, or None: the world
    roots: dict[str | None, str | None] = {None: None}
    trees: dict[str | None, set[str]] = {}
    for joint in joints:
        line = [joint.child]
        while line[-1] not in roots:
            onward = above[line[-1]]
            if isinstance(onward.type, Floating):
                roots[line[-1]] = line[-1]
            elif onward.parent in roots:
                roots[line[-1]] = roots[onward.parent]
            else:
                line.append(str(onward.parent))
        roots |= dict.fromkeys(line, roots[line[-1]])
        if joint.type.nv == 1:
            trees.setdefault(roots[joint.child], set()).add(joint.name)
    base = next((joint.child for joint in joints if joint.parent is None and isinstance(joint.type, Floating)), None)
    return max([trees.get(base, set()), *trees.values()], key=len)


def _has_motor(joint: Joint, leads_a_motor: bool, default: Collection[str]) -> bool:
    if not joint.moving or joint.mimic is not None:
        return False
    return leads_a_motor or (joint.name in default if joint.actuated is None else joint.actuated)
