"""[EB98, Fig. 8 and Sec. 5.1.2]: a planar biped of human-like geometry and masses.

In the swing phase the standing foot is its base and six joints move: the equivalent chain has six joints too. With both
feet on the ground it has three freedoms and six motors: `eb98_unilateral` chooses torques so that no foot lifts, tips
or slides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..balance import equivalent_chain, kinetic_jacobian
from ..balance.com_dynamics import augmented_bodies
from ..model.robots.anthropometry import HEEL_TO_ANKLE, Person
from ..model.shapes import cylinder_between
from ..robot import Robot, RobotBuilder, load
from .pictures import MASS, draw, sheet
from .reference import ReferenceState
from .rows import Figure, agree, equal

Array = np.ndarray
PERSON = Person(1.75, 75.0)  # m, kg
UP = (0.0, -1.0, 0.0)  # axis of all joints: positive angles turn x towards z
ABOVE_HIPS = ("lower_trunk", "middle_trunk", "upper_trunk", "head")
ARM = ("upper_arm", "forearm", "hand")
STRIDE = {"ankle": -0.15, "knee": 0.25, "hip": -0.1, "other hip": 0.45, "other knee": -0.6, "other ankle": 0.1}  # rad
# rad: hip and knee, that of the hind leg about so; ankles level the feet
APART = {"left": (0.45, -0.35), "right": (-0.1, -0.4)}
FEET = ("left_foot", "right_foot")


def _trunk() -> tuple[float, float, float]:
    """(mass, height of its centre above the hips, moment about that) of all that is above the hips, arms hanging."""
    pieces, height = [], 0.0
    for name in ABOVE_HIPS:
        s = PERSON.segment(name)
        pieces.append((s.mass, height + s.length - s.com, s.moments[1]))
        height += s.length
    height = PERSON.shoulder_above_hip
    for name in ARM:
        s = PERSON.segment(name)
        pieces.append((2 * s.mass, height - s.com, 2 * s.moments[1]))
        height -= s.length
    m, z, moment = np.array(pieces).T
    centre = m @ z / m.sum()
    return m.sum(), float(centre), float(moment.sum() + m @ (z - centre) ** 2)


def _link(builder: RobotBuilder, name: str, kind: str, upwards: bool) -> float:
    """A thigh or shank from the end that is nearer to the base, and its length."""
    s = PERSON.segment(kind)
    along = s.com if not upwards else -(s.length - s.com)
    shape = cylinder_between((0, 0, 0), (0, 0, s.length if upwards else -s.length), 0.04)
    builder.link(name, mass=s.mass, com=(0, 0, -along), inertia=s.moments[[0, 1, 2]], shapes=[shape])
    return s.length


def _foot(builder: RobotBuilder, name: str) -> None:
    """From the ankle; its frame "… sole" is below the ankle, on the ground."""
    s, down = PERSON.segment("foot"), PERSON.ankle_height
    heel = -HEEL_TO_ANKLE * s.length
    sole = cylinder_between((heel, 0, -down), (heel + s.length, 0, -down), 0.01)
    builder.link(name, mass=s.mass, com=(heel + s.com, 0, -down / 2), inertia=s.moments[[2, 1, 0]], shapes=[sole])
    builder.frame(f"{name} sole", name, position=(0, 0, -down))


def _hips(builder: RobotBuilder) -> None:
    mass, height, moment = _trunk()
    top = cylinder_between((0, 0, 0), (0, 0, PERSON.shoulder_above_hip), 0.08)
    builder.link("trunk", mass=mass, com=(0, 0, height), inertia=(moment, moment, 0.2 * moment), shapes=[top])


def swinging() -> Robot:
    """On one foot, which is the base: six joints."""
    builder = RobotBuilder("planar biped in swing", floating=False)
    _foot(builder, "foot")
    shank, thigh = _link(builder, "shank", "shank", True), _link(builder, "thigh", "thigh", True)
    _hips(builder)
    _link(builder, "other thigh", "thigh", False)
    _link(builder, "other shank", "shank", False)
    _foot(builder, "other foot")
    links = ["foot", "shank", "thigh", "trunk", "other thigh", "other shank", "other foot"]
    heights = [0.0, shank, thigh, 0.0, -thigh, -shank]
    for name, parent, child, z in zip(STRIDE, links, links[1:], heights, strict=False):
        builder.joint(name, "revolute", parent, child, axis=UP, position=(0, 0, z))
    return builder.build()


def striding() -> tuple[Robot, Array]:
    """(the biped free in the plane, a posture with both feet level on the ground)."""
    builder = RobotBuilder("planar biped", floating=False).link("ground")
    _hips(builder)
    builder.joint("base", "planar", "ground", "trunk", axis=UP)
    for side in APART:
        thigh = _link(builder, f"{side}_thigh", "thigh", False)
        shank = _link(builder, f"{side}_shank", "shank", False)
        _foot(builder, f"{side}_foot")
        builder.joint(f"{side}_hip", "revolute", "trunk", f"{side}_thigh", axis=UP)
        builder.joint(f"{side}_knee", "revolute", f"{side}_thigh", f"{side}_shank", axis=UP, position=(0, 0, -thigh))
        builder.joint(f"{side}_ankle", "revolute", f"{side}_shank", f"{side}_foot", axis=UP, position=(0, 0, -shank))
    robot = builder.build()
    return robot, _on_both_feet(robot)


def _on_both_feet(robot: Robot) -> Array:
    """Ankles level the feet; the hind knee is found so that both are equally high."""
    from scipy.optimize import brentq

    def placed(knee: float) -> Array:
        q = robot.neutral()
        for side, (hip, bent) in APART.items():
            bent = knee if side == "right" else bent
            for part, angle in (("hip", hip), ("knee", bent), ("ankle", -hip - bent)):
                q[robot.joints[f"{side}_{part}"].q] = angle
        return q

    def step(knee: float) -> float:
        now = ReferenceState(robot, placed(knee))
        return float(now.frame("left_foot sole").p[2] - now.frame("right_foot sole").p[2])

    return placed(brentq(step, -1.2, 0.0))


# --- Fig. 8 -----------------------------------------------------------------------------------------------------------


def _mid_swing(robot: Robot) -> Array:
    q = robot.neutral()
    for name, angle in STRIDE.items():
        q[robot.joints[name].q] = angle
    return q


def swing_figures() -> Iterator[Figure]:
    """Of row E3: six joints, and a last link that the swinging foot hardly lengthens."""
    robot = swinging()
    chain, q = equivalent_chain(robot), _mid_swing(robot)
    v = np.arange(1.0, 7.0) / 3
    now, J = ReferenceState(robot, q, v), chain.robot.jacobian(q, "com")[:3]
    yield equal(
        "planar biped in swing: links, joints of its chain [Fig. 8]", (len(robot.links), len(chain.lengths)), (7, 6)
    )
    part = float(chain.lengths[-1] / chain.lengths.sum())
    yield Figure(
        "its last link over the whole chain [Fig. 8]", "0 … 0.005", f"{part:.4f}", 0 < part < 0.005, "not visible"
    )
    yield agree("the end of the chain is the mass of the biped", chain.robot.pose(q, "com")[:3, 3], now.com, 1e-12)
    yield agree("and moves with it", J @ v, now.com_jacobian @ v, 1e-12)


def swing_picture() -> Any:
    robot = swinging()
    chain, q = equivalent_chain(robot).robot, _mid_swing(robot)
    picture, (axes,) = sheet("[EB98, Fig. 8] a planar biped and its equivalent chain", [""], size=(4.0, 4.6))
    draw(axes, robot, q, color="#ced4da")
    x, _, z = np.array([chain.pose(q, name)[:3, 3] for name in (*list(chain.links)[1:], "com")]).T
    axes.plot(x, z, "o-", color="#2b6cb0", markersize=3.5, lw=1.4)
    return picture


# --- Fig. 9 -----------------------------------------------------------------------------------------------------------


def augmented_picture() -> Any:
    """Partial centres of mass, what each joint does to its own, and what that does to the whole."""
    robot, q = load("planar_chain", lengths=[1.0] * 3, masses=[1.0] * 3), np.array([1.1, -0.7, -0.6])
    bodies, J = augmented_bodies(robot, q), kinetic_jacobian(robot, q)
    share = bodies.mass / robot.mass
    panels = ["a: centres of what a joint carries", "b: f × M", "c: times its share of the mass"]
    picture, axes = sheet("[EB98, Fig. 9] columns of the kinetic Jacobian", panels)
    for one, arrows in zip(axes, (None, J / share, J), strict=True):
        draw(one, robot, q, color="#ced4da")
        one.plot(bodies.centre[:, 0], bodies.centre[:, 2], "o", color="#2b6cb0", markersize=4)
        for k, (pivot, centre) in enumerate(zip(bodies.pivot, bodies.centre, strict=True)):
            if arrows is None:
                one.plot([pivot[0], centre[0]], [pivot[2], centre[2]], color="#2b6cb0", lw=0.8, linestyle=":")
            else:
                start, along = (centre if arrows is not J else robot.com(q)), 0.5 * arrows[:, k]
                end = start + along
                style = dict(arrowstyle="->", color=MASS)
                one.annotate("", (end[0], end[2]), xytext=(start[0], start[2]), arrowprops=style)
                one.plot([end[0]], [end[2]], ",", color=MASS)  # for the limits of the axes
    return picture
