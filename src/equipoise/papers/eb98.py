"""[EB98] On the computation and control of the mass center of articulated chains."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Literal

import numpy as np

from ..balance import (
    all_chains,
    equivalent_chain,
    gravity_torques,
    kinetic_jacobian,
    projected_dynamics,
    reduced_dynamics,
)
from ..control.closed_form.com_control import (
    PostureCriterion,
    Reach,
    SafeEllipse,
    com_error,
    hand_error,
    prioritised_error,
    reach,
)
from ..control.closed_form.decoupling import output_dynamics
from ..control.closed_form.motions import com_motion
from ..robot import Robot, RobotBuilder, load
from .rows import Figure, Row, equal, largest, small

# [EB98, Fig. 2]: lengths of the segments in sixths of a link, of the six chains of three equal links
SIX_CHAINS = {(5, 3, 1), (5, 1, 3), (3, 5, 1), (3, 1, 5), (1, 3, 5), (1, 5, 3)}

SPOTS = {"above": (0.20, 0.0, 0.35), "on the ground": (0.25, 0.0, 0.03), "on its own back": (-0.02, 0.0, 0.21)}  # m, for the beak
ORDERS: dict[str, Literal["com", "effector"] | None] = {"beak alone": None, "beak first": "effector", "mass first": "com"}
PETALS = {"tip_1": (0.2, 0.0, 0.6), "tip_4": (-0.2, 0.0, 0.5)}  # m, where two petals of the flower are to point


def _states(robot: Robot, count: int = 20) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.stack([robot.random_state(rng)[0] for _ in range(count)])


def _end_against_com(what: str, robot: Robot) -> Figure:
    q = _states(robot)
    chain = equivalent_chain(robot).robot
    return small(f"{what}: end of the chain − centre of mass", largest(chain.pose(q, "com")[:, :3, 3] - robot.com(q)), 1e-12)


def serial() -> Iterator[Figure]:
    arm = load("planar_chain", lengths=[1.0, 1.0, 1.0], masses=[1.0, 1.0, 1.0])
    found = {tuple(round(6 * x) for x in chain.lengths) for chain in all_chains(arm)}
    yield equal("chains of the planar example that are in the table [Fig. 2]", len(found & SIX_CHAINS), 6)
    yield _end_against_com("seven joints", load("arm7"))
    yield _end_against_com("revolute and prismatic", load("cart_pendulum"))


def star() -> Iterator[Figure]:
    half = 0.3
    builder = RobotBuilder("star", floating=False).link("root")
    for j in (1, 2):
        for i in (1, 2):
            builder.link(f"link_{i}^{j}", mass=1.5, com=(half, 0, 0), inertia=(0.02, 0.03, 0.04))
            parent, x = ("root", 0.0) if i == 1 else (f"link_1^{j}", 2 * half)
            builder.joint(f"q_{i}^{j}", "revolute", parent, f"link_{i}^{j}", axis=(0, 0, 1), position=(x, 0, 0))
    chain = equivalent_chain(builder.build())
    yield equal("lengths in quarters of l [Sec. 3.2]", (4 * chain.lengths / half).round(9).tolist(), [3.0, 1.0, 3.0, 1.0])
    assert chain.angles is not None
    yield equal("third angle: q_1² − q_1¹ − q_2¹", chain.angles[2].round(9).tolist(), [-1.0, -1.0, 1.0, 0.0])


def trees() -> Iterator[Figure]:
    for name in ("bimanual", "quadruped", "human"):
        yield _end_against_com(name, load(name))


def kinetic() -> Iterator[Figure]:
    for name in ("arm7", "human"):
        robot = load(name)
        q = _states(robot, 3)
        error = largest(kinetic_jacobian(robot, q) - robot.com_jacobian(q))
        yield small(f"{name}: augmented bodies − J of the centre of mass", error, 1e-12)


def gravity() -> Iterator[Figure]:
    for name in ("arm7", "human"):
        robot = load(name)
        q = _states(robot, 3)
        error = largest(gravity_torques(robot, q) - robot.gravity(q)) / largest(robot.gravity(q))
        yield small(f"{name}: torques from the Jacobian − g", error, 1e-12)


def closed_chains() -> Iterator[Figure]:
    robot = load("quadruped")
    rng = np.random.default_rng(1)
    q, v = robot.random_state(rng)
    M, h, tau = robot.mass_matrix(q), robot.bias_force(q, v), rng.normal(size=robot.nv)
    J = np.concatenate([robot.jacobian(q, foot)[:3] for foot in ("front_left_foot", "hind_right_foot")])
    bias = np.concatenate([robot.bias_acceleration(q, v, foot)[:3] for foot in ("front_left_foot", "hind_right_foot")])
    by_P, by_R = projected_dynamics(M, h, J, bias, tau), reduced_dynamics(M, h, J, bias, tau)
    scale = largest(by_P.acceleration)
    yield small("constraint J a + J̇ v, by P", largest(J @ by_P.acceleration + bias) / scale, 1e-10)
    yield small("accelerations by P − by R [Sec. 5.1.1]", largest(by_P.acceleration - by_R.acceleration) / scale, 1e-9)


def decoupling() -> Iterator[Figure]:
    robot = load("planar_chain", lengths=[0.5, 1.0, 0.8], masses=[1.0, 2.0, 1.5])
    q, rows, B = np.array([1.0, 0.6, -1.9]), [0, 2], np.eye(3)[:, :1]
    C = robot.jacobian(q, "tool")[rows]
    v = np.linalg.svd(C)[2][2]  # the end stays: a four-bar linkage with one motor
    s, com = robot.bias_acceleration(q, v, "tool")[rows], com_motion(robot, q, v, "z")
    M, N = robot.mass_matrix(q), robot.bias_force(q, v)
    e, e_dot = np.array([0.05]), com.J @ v
    out = output_dynamics(M, N, *com, C=C, s=s, B=B)
    a = projected_dynamics(M, N, C, s, B @ out.torque(out.control(e, e_dot, 40.0, 14.0))).acceleration
    yield small("ë + K_v ė + K_p e of a closed chain [Eq. (75)]", largest(com.J @ a + com.bias + 14 * e_dot + 40 * e), 1e-10)
    yield small("its loop: C a + s", largest(C @ a + s), 1e-10)


def balance_first() -> Iterator[Figure]:
    robot = load("bimanual")
    q = robot.standing() + 0.2 * np.random.default_rng(0).normal(size=robot.nq)
    e_1, J_1 = com_error(robot, q, robot.com(q)[:2] + 0.01)
    e_4, J_4 = np.array([0.1, 0.0, -0.1]), robot.jacobian(q, "left_tool")[:3]
    criteria = {
        "initial posture": PostureCriterion.near(robot, robot.standing()),
        "middle of limits": PostureCriterion.mid_range(robot),
    }
    for name, criterion in criteria.items():
        e_3 = prioritised_error(e_1, J_1, hand_error(e_4, J_4, criterion.gradient(q)), np.eye(robot.nv))
        yield small(f"J₁ e₃ − e₁ with hand and {name} below [Eq. (78)–(79)]", largest(J_1 @ e_3 - e_1), 1e-12)


def safe_ellipse() -> Iterator[Figure]:
    robot, ellipse = load("bird"), SafeEllipse(0.02, stiffness=1e-4, exponent=8)
    q, h = robot.standing(), 1e-6
    target, goal = robot.com(q)[:1] - 0.018, robot.pose(q, "beak")[:3, 3] + 0.1

    def errors(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return robot.com(q)[:1] - target, robot.pose(q, "beak")[:3, 3] - goal

    e_1, e_2 = errors(q)
    e_3 = ellipse.error(e_1, robot.com_jacobian(q)[:1], e_2, robot.jacobian(q, "beak")[:3])
    slope = [(ellipse.cost(*errors(q + h * u)) - ellipse.cost(*errors(q - h * u))) / (2 * h) for u in np.eye(robot.nv)]
    yield small("e₃ − ∇φ, ∇φ by differences [Eq. (80)–(82)]", largest(e_3 - slope), 1e-8)


def either_order() -> Iterator[Figure]:
    for name in SPOTS:
        left, right = bird_reaches(name, "beak alone"), bird_reaches(name, "beak first")
        there = max(left.effector_error[-1], right.effector_error[-1]) < 1e-4
        ours = f"{1e3 * left.com_error[-1]:.0f} mm → {1e3 * right.com_error[-1]:.1f} mm"
        good = bool(there and right.com_error[-1] < 0.02 * left.com_error[-1])
        yield Figure(f"bird, spot {name}: mass off its line, beak alone → Eq. (93) [Fig. 12]", "returns", ours, good)
    for tip in PETALS:
        found = flower_reaches(tip)
        yield small(f"flower, {tip}: mass off its root, m, Eq. (92) [Fig. 10]", found.com_error[-1], 1e-9)


@cache
def bird_reaches(spot: str, order: str) -> Reach:
    """The beak to a spot, in an order of `ORDERS`."""
    bird = load("bird")
    q = bird.standing()
    return reach(bird, q, "beak", SPOTS[spot], bird.com(q)[:1], first=ORDERS[order], axes="x", steps=400)


@cache
def flower_reaches(tip: str) -> Reach:
    """A petal's tip towards a place, the mass above the root first, from a bent start."""
    flower = load("flower")
    start = flower.standing() + np.r_[0.3, 0.2, -0.4, 0.3, 0.2, np.zeros(8)]
    return reach(flower, start, tip, PETALS[tip], [0.0], axes="x", step=0.3, steps=500)


def _pictures() -> Iterator[tuple[str, Any]]:
    from .eb98_pictures import pictures

    return pictures()


ROWS = [
    Row("E1", "EB98", "equivalent chain of a serial robot", serial),
    Row("E2", "EB98", "star-form chains", star),
    Row("E3", "EB98", "any tree", trees),
    Row("E4", "EB98", "kinetic Jacobian by augmented bodies", kinetic),
    Row("E5", "EB98", "gravity torques from the Jacobian of the centre of mass", gravity),
    Row("E6", "EB98", "closed chains; constrained dynamics by P and by R", closed_chains),
    Row("E7", "EB98", "decoupling control in output space", decoupling),
    Row("E8", "EB98", "centre-of-mass task first, posture or hand in its null space", balance_first),
    Row("E9", "EB98", "safe ellipse instead of a point", safe_ellipse),
    Row("E10", "EB98", "kinematic control in both priority orders; flower and bird", either_order, _pictures),
]
