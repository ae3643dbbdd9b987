"""[EB98, Fig. 8 and Sec. 5.1.2]: a planar biped of human-like geometry and masses.

In the swing phase the standing foot is its base and six joints move: the equivalent chain has six joints too. With both
feet on the ground it has three freedoms and six motors: torques are chosen so that no foot lifts, tips or slides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..balance import equivalent_chain, kinetic_jacobian
from ..balance.com_dynamics import augmented_bodies
from ..control.closed_form.decoupling import output_dynamics
from ..control.closed_form.motions import com_motion, frame_motion
from ..control.closed_form.unilateral import unilateral_torque
from ..control.qp import Status
from ..model.robots.anthropometry import HEEL_TO_ANKLE, Person
from ..model.shapes import cylinder_between
from ..robot import Robot, RobotBuilder, load
from .pictures import MASS, draw, sheet
from .reference import ReferenceState
from .rows import Figure, agree, equal, largest

Array = np.ndarray
PERSON = Person(1.75, 75.0)  # m, kg
UP = (0.0, -1.0, 0.0)  # axis of all joints: positive angles turn x towards z
ABOVE_HIPS = ("lower_trunk", "middle_trunk", "upper_trunk", "head")
ARM = ("upper_arm", "forearm", "hand")
STRIDE = {"ankle": -0.15, "knee": 0.25, "hip": -0.1, "other hip": 0.45, "other knee": -0.6, "other ankle": 0.1}  # rad
# rad: hip and knee, that of the hind leg about so; ankles level the feet
APART = {"left": (0.45, -0.35), "right": (-0.1, -0.4)}
PLANE = [0, 2, 4]  # x, z and the turn of a twist
FRICTION = 0.5
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
    yield Figure("its last link over the whole chain [Fig. 8]", "not visible", f"{part:.4f}", 0 < part < 0.005)
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


# --- Sec. 5.1.2 -------------------------------------------------------------------------------------------------------


def sole_cone(friction: float = FRICTION) -> Array:
    """Rows over (f_x, f_z, turning moment about −y) of a sole at the foot of the ankle: no slip, no tipping, no
    pull."""
    length = PERSON.segment("foot").length
    heel, toe = HEEL_TO_ANKLE * length, (1 - HEEL_TO_ANKLE) * length
    return np.array([[1, -friction, 0], [-1, -friction, 0], [0, -toe, 1], [0, -heel, -1]])


def _standing(now: ReferenceState) -> tuple[Array, Array]:
    """C and s of both soles in the plane; turning is counted about −y, as the joints do."""
    sign = np.array([1.0, 1.0, -1.0])[:, None]
    soles = [now.frame(f"{foot} sole") for foot in FEET]
    return np.vstack([sign * sole.J[PLANE] for sole in soles]), np.concatenate(
        [sign[:, 0] * sole.A[PLANE] for sole in soles]
    )


def unilateral_figures() -> Iterator[Figure]:
    """Of row E7: six motors, three freedoms; the least torques would pull at a foot, those chosen do not."""
    robot, q = striding()
    C, _ = _standing(ReferenceState(robot, q))
    v = np.linalg.svd(C)[2][6:].T @ np.array([0.3, -0.2, 0.4])  # feet stand, the rest moves
    now, B = ReferenceState(robot, q, v), np.eye(9)[:, 3:]
    C, s = _standing(now)
    turn = frame_motion(robot, q, v, "trunk", turning=True)
    com = com_motion(robot, q, v, "xz").above(type(turn)(turn.J[[4]], turn.bias[[4]]))
    out = output_dynamics(robot.mass_matrix(q), robot.bias_force(q, v), *com, C=C, s=s, B=B)
    cone, wanted = np.kron(np.eye(2), sole_cone()), np.array([2.5, -0.3, 0.4])
    a, least = out.acceleration(wanted), out.torque(out.actuation(wanted))
    needed = now.force(a)
    pull = float((cone @ _forces(C, needed - B @ least)).max())
    yield Figure("least torques: worst row of the soles' cones, N", "> 0: a foot slips", f"{pull:.1f}", pull > 5.0)
    found = unilateral_torque(robot.mass_matrix(q), robot.bias_force(q, v), a, C, cone, B=B)
    forces = _forces(C, needed - B @ found.torque)
    yield agree("chosen torques: they make the same motion [Sec. 5.1.2]", B @ found.torque + C.T @ forces, needed, 1e-9)
    worst = float((cone @ forces).max())
    yield Figure("chosen torques: worst row of the soles' cones, N", "≤ 0", f"{worst:.1e}", worst < 1e-6)
    yield agree("forces of the soles, as answered", found.multipliers, forces, 1e-7)
    yield agree("of all such torques the least, by another solver", found.torque, _least(C, cone, B, needed), 1e-5)
    slow = np.array([0.5, 0.0, 0.3])
    easy = unilateral_torque(robot.mass_matrix(q), robot.bias_force(q, v), out.acceleration(slow), C, cone, B=B)
    yield agree(
        "where no foot would slip they are the least torques", easy.torque, out.torque(out.actuation(slow)), 1e-5
    )
    fast = out.acceleration(np.array([9.0, 0.0, 0.0]))
    status = unilateral_torque(robot.mass_matrix(q), robot.bias_force(q, v), fast, C, cone, B=B).status
    yield equal("a motion beyond friction: the status", status, Status.INFEASIBLE)
    few = largest(found.torque) * 0.98
    within = (
        largest(unilateral_torque(robot.mass_matrix(q), robot.bias_force(q, v), a, C, cone, B=B, limits=few).torque)
        / few
    )
    yield Figure("with weaker motors: largest torque over its limit", "≤ 1", f"{within:.3f}", within <= 1 + 1e-9)


def _forces(C: Array, force: Array) -> Array:
    """λ of Cᵀ λ = force."""
    return np.linalg.lstsq(C.T, force, rcond=None)[0]


def _least(C: Array, cone: Array, B: Array, needed: Array) -> Array:
    """The same choice by sequential quadratic programming over what the motion leaves free."""
    from scipy.linalg import null_space
    from scipy.optimize import minimize

    both = np.hstack([B, C.T])
    start, free = np.linalg.lstsq(both, needed, rcond=None)[0], null_space(both)
    motors = B.shape[1]

    def torque(z: Array) -> Array:
        return (start + free @ z)[:motors]

    held = {"type": "ineq", "fun": lambda z: -cone @ (start + free @ z)[motors:]}
    cost = {"fun": lambda z: torque(z) @ torque(z) / 2, "jac": lambda z: free[:motors].T @ torque(z)}
    found = minimize(x0=np.zeros(free.shape[1]), constraints=held, method="SLSQP", options={"ftol": 1e-14}, **cost)
    return torque(found.x)
