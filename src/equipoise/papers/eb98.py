"""[EB98] On the computation and control of the mass center of articulated chains.

The centre of mass, its motion and the forces are those of `ReferenceState`: sums over the links of the description.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from ..balance import (
    all_chains,
    close_loops,
    closure,
    equivalent_chain,
    gravity_torques,
    kinetic_jacobian,
    projected_dynamics,
    reduced_dynamics,
)
from ..balance.com_dynamics import null_space_rows
from ..control.closed_form.com_control import (
    ReachedPosture,
    prioritised_velocity,
    reach,
)
from ..control.closed_form.decoupling import output_dynamics, slow_output_dynamics
from ..control.closed_form.motions import com_motion
from ..robot import Robot, RobotBuilder, load
from .eb98_biped import swing_figures, unilateral_figures
from .eb98_errors import balance_first, safe_ellipse
from .reference import ReferenceState, path, rate, second_rate
from .rows import Figure, Row, agree, equal, largest, small

Array = np.ndarray
# [EB98, Fig. 2]: lengths in sixths of a link, and rows of the coefficients of (q₁, q₂, q₃) in q₁', q₂', q₃'
SIX_CHAINS = {
    (5, 3, 1): ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    (5, 1, 3): ((1, 0, 0), (0, 1, 1), (0, 0, -1)),
    (3, 5, 1): ((1, 1, 0), (0, -1, 0), (0, 1, 1)),
    (3, 1, 5): ((1, 1, 0), (0, 0, 1), (0, -1, -1)),
    (1, 3, 5): ((1, 1, 1), (0, 0, -1), (0, -1, 0)),
    (1, 5, 3): ((1, 1, 1), (0, -1, -1), (0, 1, 0)),
}

# m, for the beak
SPOTS = {"above": (0.20, 0.0, 0.35), "on the ground": (0.25, 0.0, 0.03), "on its own back": (-0.02, 0.0, 0.21)}
ORDERS: dict[str, Literal["com", "effector"] | None] = {
    "beak alone": None,
    "beak first": "effector",
    "mass first": "com",
}
PETALS = {"tip_1": (0.2, 0.0, 0.6), "tip_4": (-0.2, 0.0, 0.5)}  # m, where two petals of the flower are to point


def _states(robot: Robot, count: int) -> list[tuple[Array, Array]]:
    rng = np.random.default_rng(0)
    return [robot.random_state(rng) for _ in range(count)]


def _along(robot: Robot, at: Callable[[float], Array], name: str, t: float) -> Any:
    """A quantity of the reference on a path."""
    return getattr(ReferenceState(robot, at(t)), name)


def _follows(what: str, robot: Robot, count: int = 4) -> Iterator[Figure]:
    """The end of a chain is the mass of the robot: place, velocity and potential energy."""
    chain, errors = equivalent_chain(robot).robot, []
    for q, v in _states(robot, count):
        now = ReferenceState(robot, q, v)
        end, moved = chain.pose(q, "com")[:3, 3], chain.jacobian(q, "com")[:3] @ v
        torques = (chain.gravity(q) - now.g) / now.mass
        errors.append([largest(x) for x in (end - now.com, moved - now.com_jacobian @ v, torques)])
    place, velocity, weight = np.max(errors, axis=0)
    yield small(f"{what}: end of the chain − Σ m c / m", place, 1e-12)
    yield small(f"{what}: its velocity − that of the mass", velocity, 1e-11)
    yield small(f"{what}: gravity torques of the chain − those of the robot, per kg", weight, 1e-11)


# --- E1, E2, E3 -------------------------------------------------------------------------------------------------------


def serial() -> Iterator[Figure]:
    arm = load("planar_chain", lengths=[1.0, 1.0, 1.0], masses=[1.0, 1.0, 1.0])
    found, error = {}, 0.0
    for chain in all_chains(arm):
        found[tuple(round(6 * x) for x in chain.lengths)] = chain.angles
        for q, _ in _states(arm, 3):
            error = max(error, largest(chain.robot.pose(q, "com")[:3, 3] - ReferenceState(arm, q).com))
    yield equal("lengths of the six chains of the planar example [Fig. 2]", sorted(found), sorted(SIX_CHAINS))
    angles = largest([np.asarray(found[key]) - SIX_CHAINS[key] for key in SIX_CHAINS if key in found])
    yield small("their angles q' [Fig. 2]", angles, 1e-12)
    yield small("their end points − the mass", error, 1e-12)
    yield from _follows("seven joints", load("arm7"))
    yield from _follows("revolute, prismatic, revolute", _sliding_arm())


def _sliding_arm() -> Robot:
    """A slide that carries only a part of the mass, between two turns about other axes."""
    builder = RobotBuilder("sliding arm", floating=False).link("root")
    parent = "root"
    for k, (kind, axis) in enumerate([("revolute", (0, 0, 1)), ("prismatic", (0.6, 0, 0.8)), ("revolute", (0, 1, 0))]):
        builder.link(f"link_{k}", mass=1.0 + k, com=(0.2, 0.1, 0.05 * k), inertia=(0.02, 0.03, 0.04))
        builder.joint(
            f"joint_{k}", kind, parent, f"link_{k}", axis=axis, position=(0.1, 0.2 * k, 0.3), rpy=(0.2, -0.1, 0.4)
        )
        parent = f"link_{k}"
    return builder.build()


def _star(half: float, branches: Sequence[int]) -> Robot:
    """Branches of so many equal links, of length 2 `half` and 1.5 kg, from one root."""
    builder = RobotBuilder("star", floating=False).link("root")
    for j, count in enumerate(branches, start=1):
        for i in range(1, count + 1):
            builder.link(f"link_{i}^{j}", mass=1.5, com=(half, 0, 0), inertia=(0.02, 0.03, 0.04))
            parent, x = ("root", 0.0) if i == 1 else (f"link_{i - 1}^{j}", 2 * half)
            builder.joint(f"q_{i}^{j}", "revolute", parent, f"link_{i}^{j}", axis=(0, 0, 1), position=(x, 0, 0))
    return builder.build()


def star() -> Iterator[Figure]:
    half = 0.3
    robot = _star(half, (2, 2))
    chain = equivalent_chain(robot)
    yield equal(
        "lengths in quarters of l [Sec. 3.2]", (4 * chain.lengths / half).round(9).tolist(), [3.0, 1.0, 3.0, 1.0]
    )
    angles = [] if chain.angles is None else chain.angles[2].round(9).tolist()
    yield equal("third angle: q_1² − q_1¹ − q_2¹", angles, [-1.0, -1.0, 1.0, 0.0])
    yield from _follows("star", robot)
    yield from _follows("star of unequal branches", _star(half, (3, 1, 2)))


def trees() -> Iterator[Figure]:
    for name in ("bimanual", "quadruped", "human"):
        yield from _follows(name, load(name), count=2)
    yield from swing_figures()


# --- E4, E5 -----------------------------------------------------------------------------------------------------------


def kinetic() -> Iterator[Figure]:
    for name in ("arm7", "human"):
        robot = load(name)
        q, v = _states(robot, 1)[0]
        now, J, at = ReferenceState(robot, q, v), kinetic_jacobian(robot, q), path(robot, q, v)
        yield agree(f"{name}: augmented bodies − Σ m J / m [Eq. (46)]", J, now.com_jacobian, 1e-12)
        c_dot = rate(partial(_along, robot, at, "com"))
        yield agree(f"{name}: J v against the mass by differences", J @ v, c_dot, 1e-9)


def gravity() -> Iterator[Figure]:
    """Gravity leans: all three rows of the Jacobian count."""
    for name in ("arm7", "human"):
        robot = load(name, gravity=(1.5, -2.0, -9.0))
        q, v = _states(robot, 1)[0]
        at, g = path(robot, q, v), gravity_torques(robot, q)
        yield agree(
            f"{name}: torques from the Jacobian − those of the weights [Eq. (50)]", g, ReferenceState(robot, q).g, 1e-11
        )
        power = rate(partial(_along, robot, at, "potential_energy"))
        yield agree(f"{name}: their power is the rate of potential energy", g @ v, power, 1e-8)


# --- E6, E7: closed chains --------------------------------------------------------------------------------------------


def closed_chains() -> Iterator[Figure]:
    robot = load("quadruped")
    rng = np.random.default_rng(1)
    q, v = robot.random_state(rng)
    tau, now = rng.normal(size=robot.nv), ReferenceState(robot, q, v)
    feet = [now.frame(foot) for foot in ("front_left_foot", "hind_right_foot")]
    C, s = np.concatenate([foot.J[:3] for foot in feet]), np.concatenate([foot.A[:3] for foot in feet])
    wanted = _direct(now.M, now.h, C, s, tau)
    for name, dynamics in (("P", projected_dynamics), ("R", reduced_dynamics)):
        found = dynamics(robot.mass_matrix(q), robot.bias_force(q, v), C, s, tau)
        both = np.concatenate([found.acceleration, found.multipliers])
        yield agree(f"by {name}: a and λ against one system of both equations [Sec. 5.1.1]", both, wanted, 1e-8)
        yield small(f"by {name}: C a + s", largest(C @ found.acceleration + s) / largest(found.acceleration), 1e-10)
    R = null_space_rows(C)
    yield small("C Rᵀ [Eq. (65)]", largest(C @ R.T), 1e-10)
    yield equal("rows of R", R.shape, (robot.nv - 6, robot.nv))
    yield from _four_bar_chain()


def _direct(M: Array, h: Array, C: Array, s: Array, tau: Array) -> Array:
    """(a, λ) of M a + h = tau + Cᵀ λ, C a + s = 0 as one system."""
    K = np.block([[M, -C.T], [C, np.zeros((len(C), len(C)))]])
    return np.linalg.solve(K, np.concatenate([tau - h, -s]))


def four_bar() -> tuple[Robot, Array, Array]:
    """Three links whose end is held: a robot with one loop, closed, and a velocity that keeps it so."""
    arm = load("planar_chain", lengths=[0.5, 1.0, 0.8], masses=[1.0, 2.0, 1.5])
    q = np.array([1.0, 0.6, -1.9])
    X = np.eye(4)
    X[:3, 3] = ReferenceState(arm, q).frame("tool").p
    arm = arm.with_frame("pin", next(iter(arm.links)), X)
    loops = MappingProxyType({"loop": closure(arm, "connect", "pin", "tool", "loop")})
    robot = Robot.from_model(replace(arm.model, loops=loops))
    q = close_loops(robot, q + 0.05, held=[next(name for name, joint in robot.joints.items() if joint.moving)])
    C = ReferenceState(robot, q).frame("tool").J[[0, 2]]
    return robot, q, 1.3 * np.linalg.svd(C)[2][2]


def _four_bar_chain() -> Iterator[Figure]:
    """[EB98, Sec. 4.4]: the equivalent of {C; h(q) = 0} is {C'; h(q) = 0}."""
    robot, q, v = four_bar()
    chain = equivalent_chain(robot)
    loops, now = chain.loops(q, v), ReferenceState(robot, q, v)
    yield equal("a four-bar's chain carries the rows of its loop", loops.J.shape, (3, 3))
    yield small("closed: its end is on the pin", largest(now.frame("tool").p - now.frame("pin").p), 1e-11)
    ours, wanted = (np.linalg.norm(J, axis=0) for J in (loops.J, now.frame("tool").J[:3]))
    yield agree("its rows are those of its end, in axes of the pin", ours, wanted, 1e-11)
    a = np.array([0.4, -1.1, 0.7])
    moved = np.linalg.norm(loops.J @ a + loops.bias)
    yield agree("and their rate", moved, np.linalg.norm((now.frame("tool").J @ a + now.frame("tool").A)[:3]), 1e-10)
    end = chain.robot.pose(q, "com")[:3, 3]
    yield agree("the end of the chain is the mass of the linkage", end, now.com, 1e-12)


def decoupling() -> Iterator[Figure]:
    """A four-bar linkage with one motor: the height of its mass as the output, by Newton and Euler under the torque
    found."""
    robot, q, v = four_bar()
    now, rows, B = ReferenceState(robot, q, v), [0, 2], np.eye(3)[:, :1]
    C, s = now.frame("tool").J[rows], now.frame("tool").A[rows]
    com, e, K_p, K_v = com_motion(robot, q, v, "z"), np.array([0.05]), 40.0, 14.0
    M, N = robot.mass_matrix(q), robot.bias_force(q, v)
    out = output_dynamics(M, N, *com, C=C, s=s, B=B)
    torque = out.torque(out.control(e, com.J @ v, K_p, K_v))
    a = _direct(now.M, now.h, C, s, B @ torque)[:3]
    at = path(robot, q, v, a)
    height, fall = (f(lambda t: ReferenceState(robot, at(t)).com[2]) for f in (second_rate, rate))
    yield agree("ë + K_v ė + K_p e of the linkage, by differences [Eq. (75)]", height, -K_v * fall - K_p * e[0], 1e-6)
    yield agree("its motion from ë [Eq. (68)]", out.acceleration(np.array([height])), a, 1e-5)
    yield small("its loop: C a + s", largest(C @ a + s), 1e-10)
    G = gravity_torques(robot, q)
    slow = slow_output_dynamics(M, G, com.J, np.array([0.7]), C=C, B=B)
    push = B @ slow.torque(slow.actuation(np.array([0.2])))
    still = _direct(now.M, now.g, C, 0 * s, push)[:3]
    yield agree(
        "slow motion, with e moving by itself: J a + ∂²e/∂t² [Eqs. (83), (84)]", com.J @ still + 0.7, [0.2], 1e-9
    )
    fixed = load("arm7")
    (q, v), wanted = _states(fixed, 1)[0], np.arange(7.0) / 10
    there = ReferenceState(fixed, q, v)
    free = output_dynamics(fixed.mass_matrix(q), fixed.bias_force(q, v), np.eye(7), np.zeros(7))
    moved = there.acceleration(free.torque(free.actuation(wanted)))
    yield agree("an arm, its joints as outputs: computed torque", moved, wanted, 1e-9)
    yield from unilateral_figures()


# --- E10 --------------------------------------------------------------------------------------------------------------


def either_order() -> Iterator[Figure]:
    bird = load("bird")
    start = ReferenceState(bird, bird.standing())
    for name, spot in SPOTS.items():
        ends = [ReferenceState(bird, bird_reaches(name, order).q[-1]) for order in ("beak alone", "beak first")]
        missed = max(float(np.linalg.norm(end.frame("beak").p - spot)) for end in ends)
        left, right = (abs(float(end.com[0] - start.com[0])) for end in ends)
        good = bool(missed < 1e-4 and right < 0.02 * left)
        ours = f"{1e3 * left:.0f} mm → {1e3 * right:.1f} mm"
        yield Figure(f"bird, spot {name}: mass off its line, beak alone → Eq. (93) [Fig. 12]", "returns", ours, good)
    flower = load("flower")
    for tip, place in PETALS.items():
        found = flower_reaches(tip)
        first, last = (ReferenceState(flower, found.q[k]) for k in (0, -1))
        yield small(f"flower, {tip}: mass off its root, m, Eq. (92) [Fig. 10]", abs(float(last.com[0])), 1e-9)
        near = [float(np.linalg.norm(there.frame(tip).p - place)) for there in (first, last)]
        yield Figure(
            f"flower, {tip}: from its place, m", "nearer", f"{near[0]:.2f} → {near[1]:.2f}", near[1] < 0.8 * near[0]
        )
    yield from _first_steps(bird, start)


def _first_steps(bird: Robot, start: ReferenceState) -> Iterator[Figure]:
    """Eqs. (92) and (93) themselves, with damped inverses by their definition."""
    q = start.q + 0.1
    now = ReferenceState(bird, q)
    J_M, J_e, v_M, v_e = now.com_jacobian[:1], now.frame("beak").J[[0, 2]], np.array([0.3]), np.array([-0.2, 0.5])
    for name, (J_1, w_1, J_2, w_2) in {"(92)": (J_M, v_M, J_e, v_e), "(93)": (J_e, v_e, J_M, v_M)}.items():
        free = np.eye(bird.nv) - np.linalg.pinv(J_1) @ J_1
        plain = np.linalg.pinv(J_1) @ w_1 + free @ np.linalg.pinv(J_2) @ w_2
        yield agree(f"q̇ by Eq. {name}", prioritised_velocity(J_1, w_1, J_2, w_2), plain, 1e-10)
        damped = [J.T @ np.linalg.solve(J @ J.T + 0.02**2 * np.eye(len(J)), w) for J, w in ((J_1, w_1), (J_2, w_2))]
        ours = prioritised_velocity(J_1, w_1, J_2, w_2, damping=0.02)
        yield agree(f"q̇ by Eq. {name}, damped", ours, damped[0] + free @ damped[1], 1e-10)
    step = bird_reaches("above", "beak first").q
    e = ReferenceState(bird, step[0]).frame("beak").p - SPOTS["above"]
    gone = ReferenceState(bird, step[1]).frame("beak").p - SPOTS["above"]
    left = float(np.linalg.norm(gone) / np.linalg.norm(e))
    yield Figure("a step of a tenth leaves so much of the error", "0.90", f"{left:.2f}", 0.88 < left < 0.92)


@cache
def bird_reaches(spot: str, order: str) -> ReachedPosture:
    """The beak to a spot, in an order of `ORDERS`."""
    bird = load("bird")
    q = bird.standing()
    return reach(bird, q, "beak", SPOTS[spot], bird.com(q)[:1], first=ORDERS[order], axes="x", steps=400)


@cache
def flower_reaches(tip: str) -> ReachedPosture:
    """A petal's tip towards a place, the mass above the root first, from a bent start."""
    flower = load("flower")
    start = flower.standing() + np.r_[0.3, 0.2, -0.4, 0.3, 0.2, np.zeros(8)]
    return reach(flower, start, tip, PETALS[tip], [0.0], axes="x", step=0.3, steps=500)


def _pictures(*names: str) -> Callable[[], Iterator[tuple[str, Any]]]:
    """Those of `eb98_pictures`, imported when drawn."""

    def pictures() -> Iterator[tuple[str, Any]]:
        from .eb98_pictures import PICTURES

        return ((name, PICTURES[name]()) for name in names)

    return pictures


ROWS = [
    Row("E1", "EB98", "equivalent chain of a serial robot", serial),
    Row("E2", "EB98", "star-form chains", star),
    Row("E3", "EB98", "any tree", trees, _pictures("fig-8-planar-biped")),
    Row("E4", "EB98", "kinetic Jacobian by augmented bodies", kinetic, _pictures("fig-9-kinetic-jacobian")),
    Row("E5", "EB98", "gravity torques from the Jacobian of the centre of mass", gravity),
    Row("E6", "EB98", "closed chains; constrained dynamics by P and by R", closed_chains),
    Row("E7", "EB98", "decoupling control in output space", decoupling),
    Row("E8", "EB98", "centre-of-mass task first, posture or hand in its null space", balance_first),
    Row("E9", "EB98", "safe ellipse instead of a point", safe_ellipse),
    Row(
        "E10",
        "EB98",
        "kinematic control in both priority orders; flower and bird",
        either_order,
        _pictures("fig-10-flower", "fig-11-bird-at-rest", "fig-12-bird"),
    ),
]
