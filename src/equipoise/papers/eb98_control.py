"""[EB98, Sec. 5]: decoupling in output space, and mass and effector in either order. Rows E7 and E10."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Literal

import numpy as np

from ..balance import gravity_torques
from ..control.closed_form.com_control import DAMPING, ReachedPosture, prioritised_velocity, reach
from ..control.closed_form.decoupling import output_dynamics, slow_output_dynamics
from ..control.closed_form.motions import com_motion
from ..robot import Robot, load
from .eb98 import four_bar, states
from .eb98_unilateral import unilateral_figures
from .perturbation import start
from .reference import ReferenceState, path, rate, second_rate
from .rows import Figure, agree, largest, small

Array = np.ndarray
# m, for the beak
SPOTS = {"above": (0.20, 0.0, 0.35), "on the ground": (0.25, 0.0, 0.03), "on its own back": (-0.02, 0.0, 0.21)}
ORDERS: dict[str, Literal["com", "effector"] | None] = {
    "beak alone": None,
    "beak first": "effector",
    "mass first": "com",
}
PETALS = {"tip_1": (0.2, 0.0, 0.6), "tip_4": (-0.2, 0.0, 0.5)}  # m, where two petals of the flower are to point


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
    a = now.held(B @ torque, C, s)[0]
    at = path(robot, q, v, a)
    height, fall = (f(lambda t: ReferenceState(robot, at(t)).com[2]) for f in (second_rate, rate))
    yield agree("ë + K_v ė + K_p e of the linkage, by differences [Eq. (75)]", height, -K_v * fall - K_p * e[0], 1e-6)
    yield agree("its motion from ë [Eq. (68)]", out.acceleration(np.array([height])), a, 1e-5)
    yield small("its loop: C a + s", largest(C @ a + s), 1e-10)
    G = gravity_torques(robot, q)
    slow = slow_output_dynamics(M, G, com.J, np.array([0.7]), C=C, B=B)
    push = B @ slow.torque(slow.actuation(np.array([0.2])))
    still = ReferenceState(robot, q).held(push, C, 0 * s)[0]
    yield agree(
        "slow motion, with e moving by itself: J a + ∂²e/∂t² [Eqs. (83), (84)]", com.J @ still + 0.7, [0.2], 1e-9
    )
    fixed = load("arm7")
    (q, v), wanted = states(fixed, 1)[0], np.arange(7.0) / 10
    there = ReferenceState(fixed, q, v)
    free = output_dynamics(fixed.mass_matrix(q), fixed.bias_force(q, v), np.eye(7), np.zeros(7))
    moved = there.acceleration(free.torque(free.actuation(wanted)))
    yield agree("an arm, its joints as outputs: computed torque", moved, wanted, 1e-9)
    yield from unilateral_figures()


def either_order() -> Iterator[Figure]:
    bird = load("bird")
    begin = ReferenceState(bird, bird.standing())
    for name, spot in SPOTS.items():
        ends = [ReferenceState(bird, bird_reaches(name, order).q[-1]) for order in ("beak alone", "beak first")]
        missed = max(float(np.linalg.norm(end.frame("beak").p - spot)) for end in ends)
        left, right = (abs(float(end.com[0] - begin.com[0])) for end in ends)
        good = bool(missed < 1e-4 and right < 0.02 * left)
        ours = f"{1e3 * left:.0f} mm → {1e3 * right:.1f} mm"
        yield Figure(
            f"bird, spot {name}: mass off its line, beak alone → Eq. (93) [Fig. 12]", "≤ 2 %", ours, good, "returns"
        )
    flower = load("flower")
    for tip, place in PETALS.items():
        found = flower_reaches(tip)
        first, last = (ReferenceState(flower, found.q[k]) for k in (0, -1))
        yield small(f"flower, {tip}: mass off its root, m, Eq. (92) [Fig. 10]", abs(float(last.com[0])), 1e-9)
        near = [float(np.linalg.norm(there.frame(tip).p - place)) for there in (first, last)]
        yield Figure(
            f"flower, {tip}: from its place, m",
            "≤ 80 %",
            f"{near[0]:.2f} → {near[1]:.2f}",
            near[1] < 0.8 * near[0],
            "nearer",
        )
    yield from _first_steps(bird, begin)


def _first_steps(bird: Robot, begin: ReferenceState) -> Iterator[Figure]:
    """Eqs. (92) and (93) themselves, with damped inverses by their definition."""
    q = begin.q + 0.1
    now = ReferenceState(bird, q)
    J_M, J_e, v_M, v_e = now.com_jacobian[:1], now.frame("beak").J[[0, 2]], np.array([0.3]), np.array([-0.2, 0.5])
    for name, (J_1, w_1, J_2, w_2) in {"(92)": (J_M, v_M, J_e, v_e), "(93)": (J_e, v_e, J_M, v_M)}.items():
        free = np.eye(bird.nv) - np.linalg.pinv(J_1) @ J_1
        plain = np.linalg.pinv(J_1) @ w_1 + free @ np.linalg.pinv(J_2) @ w_2
        yield agree(f"q̇ by Eq. {name}", prioritised_velocity(J_1, w_1, J_2, w_2), plain, 1e-10)
        damped = [J.T @ np.linalg.solve(J @ J.T + 0.02**2 * np.eye(len(J)), w) for J, w in ((J_1, w_1), (J_2, w_2))]
        ours = prioritised_velocity(J_1, w_1, J_2, w_2, damping=0.02)
        yield agree(f"q̇ by Eq. {name}, damped", ours, damped[0] + free @ damped[1], 1e-10)
    yield from _every_step(bird)
    step = bird_reaches("above", "beak first").q
    e = ReferenceState(bird, step[0]).frame("beak").p - SPOTS["above"]
    gone = ReferenceState(bird, step[1]).frame("beak").p - SPOTS["above"]
    left = float(np.linalg.norm(gone) / np.linalg.norm(e))
    yield Figure("part of the error left after a step of a tenth", "0.88 … 0.92", f"{left:.2f}", 0.88 < left < 0.92)


def _every_step(bird: Robot) -> Iterator[Figure]:
    """What each step of both orders moves, against the formula on the reference's Jacobians."""
    goal = SPOTS["above"]
    for order, number in (("mass first", "(92)"), ("beak first", "(93)")):
        found, off = bird_reaches("above", order).q, 0.0
        centre = ReferenceState(bird, found[0]).com[:1]
        for q, after in pairwise(found):
            now = ReferenceState(bird, q)
            tasks = [
                (now.com_jacobian[:1], centre - now.com[:1]),
                (now.frame("beak").J[:3], goal - now.frame("beak").p),
            ]
            (J_1, w_1), (J_2, w_2) = tasks if order == "mass first" else tasks[::-1]
            v = _damped(J_1, w_1) + (np.eye(bird.nv) - np.linalg.pinv(J_1, rcond=1e-9) @ J_1) @ _damped(J_2, w_2)
            off = max(off, largest(after - q - 0.1 * v))
        yield small(f"{order}: each of its steps against a tenth of Eq. {number}, rad", off, 1e-9)


def _damped(J: Array, w: Array) -> Array:
    """Returns the shortest of the velocities that come nearest to w, damped."""
    return J.T @ np.linalg.solve(J @ J.T + DAMPING**2 * np.eye(len(J)), w)


@cache
def bird_reaches(spot: str, order: str) -> ReachedPosture:
    """The beak to a spot, in an order of `ORDERS`."""
    bird = load("bird")
    q, _ = start(bird, bird.standing(), np.zeros(bird.nv))
    return reach(bird, q, "beak", SPOTS[spot], bird.com(q)[:1], first=ORDERS[order], axes="x", steps=400)


@cache
def flower_reaches(tip: str) -> ReachedPosture:
    """A petal's tip towards a place, the mass above the root first, from a bent start."""
    flower = load("flower")
    bent = flower.standing() + np.r_[0.3, 0.2, -0.4, 0.3, 0.2, np.zeros(8)]
    q, _ = start(flower, bent, np.zeros(flower.nv))
    return reach(flower, q, tip, PETALS[tip], [0.0], axes="x", step=0.3, steps=500)
