"""[ETH19] Lecture on floating-base dynamics and control; its soft and hard contact is in `eth19_contact`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from ..balance import (
    Aerodynamic,
    RigidContact,
    analyse_contacts,
    base_turn,
    contact_jacobian,
    coordinate_rates,
    impact,
    point_jacobian,
    support_dynamics,
    velocity_from_rates,
)
from ..robot import Robot, load
from .reference import ReferenceState, cross_matrix, path, rate
from .robots import one_of_each_joint
from .rows import Figure, Row, agree, equal, exactly, largest, shown_by, small

Array = np.ndarray
LEANING = np.array([0.9, 0.1, -0.2, 0.3]) / np.sqrt(0.95)  # quaternion of a base along no axis
FEET = ("front_left_foot", "front_right_foot", "hind_left_foot", "hind_right_foot")
# [ETH19, slide 14]: feet on the ground → rank J_c, rank J_c,b, internal constraints, uncontrollable directions
QUADRUPED = {0: (0, 0, 0, 6), 1: (3, 3, 0, 3), 2: (6, 5, 1, 1), 3: (9, 6, 3, 0), 4: (12, 6, 6, 0)}
# [ETH19, slide 12]: directions in which the end of the pendulum is held → rank J_c, rank J_c,b
CART_PENDULUM = {"xz": (2, 1), "z": (1, 0), "x": (1, 1)}


def rows_of_feet(now: ReferenceState, feet: Sequence[str]) -> tuple[Array, Array]:
    """J_c and J̇_c v of points, from the reference."""
    motions = [now.frame(foot) for foot in feet]
    return np.concatenate([m.J[:3] for m in motions]), np.concatenate([m.A[:3] for m in motions])


# --- H1 ---------------------------------------------------------------------------------------------------------------


def coordinates() -> Iterator[Figure]:
    yield from _coordinates("quadruped", load("quadruped"), "hind_left_foot")
    yield from _coordinates("one of each joint", one_of_each_joint(), "revolute_link")


def _coordinates(name: str, robot: Robot, foot: str) -> Iterator[Figure]:
    q, v = robot.random_state(np.random.default_rng(0))
    at, now, point = path(robot, q, v), ReferenceState(robot, q, v), (0.1, -0.05, 0.2)
    q_dot, base = rate(at), now.links[robot.base_link or ""]
    u = v.copy()
    u[3:6] = base.R.T @ v[3:6]  # the slide's velocity: linear in the world, angular in the base
    both: list[tuple[Literal["world", "body"], Array]] = [("world", v), ("body", u)]
    for angular, velocity in both:
        E, E_fb = coordinate_rates(robot, q, angular), velocity_from_rates(robot, q, angular)
        yield agree(f"{name}, ω in {angular} axes: E v against q̇ by differences [slide 5]", E @ velocity, q_dot, 1e-9)
        yield agree(f"{name}, ω in {angular} axes: v = E_fb q̇", E_fb @ q_dot, velocity, 1e-9)
        J = point_jacobian(robot, q, foot, point, angular)
        r_dot = rate(lambda t: ReferenceState(robot, at(t)).frame(foot, point).p)
        yield agree(
            f"{name}, ω in {angular} axes: velocity of a point by differences [slide 6]", J @ velocity, r_dot, 1e-9
        )
        turn = base.R if angular == "body" else np.eye(3)
        block = -cross_matrix(now.frame(foot, point).p - base.p) @ turn
        yield agree(f"{name}, ω in {angular} axes: its base block −(r − p)^ C [slide 6]", J[:, 3:6], block, 1e-11)
    T = base_turn(robot, q)
    yield agree(
        f"{name}: kinetic energy in the slide's velocity",
        u @ T.T @ robot.mass_matrix(q) @ T @ u / 2,
        now.kinetic_energy,
        1e-11,
    )


# --- H2 ---------------------------------------------------------------------------------------------------------------


def contact_analysis() -> Iterator[Figure]:
    robot = load("quadruped")
    q = robot.standing()
    q[3:7] = LEANING  # ranks do not depend on how the robot stands
    for count, table in QUADRUPED.items():
        a = analyse_contacts(robot, q, FEET[:count])
        ranks = a.rank, a.base_rank, a.internal_constraints, a.uncontrollable.shape[1]
        yield equal(f"{count} feet: ranks, internal, uncontrollable [slide 14]", ranks, table)
    pad = (0.02, -0.01, 0.03)  # m, where a foot touches
    two = analyse_contacts(robot, q, [RigidContact(foot, pad) for foot in FEET[:2]])
    line = f"rotation about the line through front_left_foot {pad} and front_right_foot {pad}"
    yield exactly("two feet leave a rotation about the line through them, in words", list(two.words) == [line], True)
    free = np.zeros(robot.nv)
    free[:6] = two.uncontrollable[:, 0]
    moved = [ReferenceState(robot, q, free).frame(foot, pad).V[:3] for foot in FEET]
    yield small("in that motion of the base the two feet stand", largest(moved[:2]), 1e-10)
    yield Figure("and the other two move, m/s", "> 0.1", f"{largest(moved[2:]):.2f}", bool(largest(moved[2:]) > 0.1))
    yield from _textbook()
    yield from _mixed_contacts()


def _textbook() -> Iterator[Figure]:
    """The slides' own Jacobians."""
    r, phi, x = 0.3, np.pi, 0.7
    wheel = load("wheel", radius=r)
    J = contact_jacobian(wheel, np.array([x, phi]), ["rim"], axes="xz")
    wanted = [[1.0, r * np.cos(phi)], [0.0, -r * np.sin(phi)]]
    yield agree("wheel: J_P = (1, r cos φ; 0, −r sin φ) [slide 10]", J, wanted, 1e-12)
    found = analyse_contacts(wheel, np.array([x, phi]), ["rim"], base=["slide"])
    yield equal("wheel: rank J_c, rank J_c,b", (found.rank, found.base_rank), (1, 1))
    yield small("wheel: it can roll, q̇ = (r, 1)", largest(found.J @ np.array([r, 1.0])), 1e-12)
    cart, half, angle = load("cart_pendulum", half_length=0.4), 0.4, 0.6
    J = contact_jacobian(cart, np.array([0.2, angle]), ["tip"], axes="xz")
    wanted = [[1.0, 2 * half * np.cos(angle)], [0.0, 2 * half * np.sin(angle)]]
    yield agree("cart and pendulum: J_c [slide 12]", J, wanted, 1e-12)
    for axes, ranks in CART_PENDULUM.items():
        found = analyse_contacts(cart, np.array([0.2, angle]), ["tip"], axes=axes, base=["slide"])
        yield equal(f"cart and pendulum, {axes} held: ranks", (found.rank, found.base_rank), ranks)


def _mixed_contacts() -> Iterator[Figure]:
    """A flat foot, a hand as a point, a knee on a slope without friction, in one call."""
    robot, slope = load("human"), (0.0, 0.6, 0.8)
    q, v = robot.random_state(np.random.default_rng(4))
    foot, hand = RigidContact("left_foot", kind="frame"), RigidContact("right_hand", (0, 0, -0.1))
    held = [foot, hand, RigidContact("right_shank", axes=[slope])]
    J, now = contact_jacobian(robot, q, held), ReferenceState(robot, q, v)
    palm, knee = now.frame("right_hand", (0, 0, -0.1)).V[:3], now.frame("right_shank").V[:3]
    wanted = np.concatenate([now.frame("left_foot").V, palm, [np.dot(slope, knee)]])
    yield agree("three kinds of contact in one call: J_c v", J @ v, wanted, 1e-11)
    yield exactly("their rank: 6 + 3 + 1", analyse_contacts(robot, q, held).rank, 10)
    other = one_of_each_joint()
    q, v = other.random_state(np.random.default_rng(5))
    held = [RigidContact("revolute_link", (0.1, 0.2, -0.1)), RigidContact("follower", kind="frame")]
    now = ReferenceState(other, q, v)
    wanted = np.concatenate([now.frame("revolute_link", (0.1, 0.2, -0.1)).V[:3], now.frame("follower").V])
    yield agree(
        "behind a slide, a ball, a plane and a turn: J_c v", contact_jacobian(other, q, held) @ v, wanted, 1e-11
    )


# --- H4 ---------------------------------------------------------------------------------------------------------------


def support() -> Iterator[Figure]:
    from .eth19_chimney import chimney

    robot = load("quadruped")
    rng = np.random.default_rng(0)
    q, v = robot.random_state(rng)
    s, torque, now = support_dynamics(robot, q, v, FEET[:3]), rng.normal(size=12), ReferenceState(robot, q, v)
    (J, bias), S_T = rows_of_feet(now, FEET[:3]), np.eye(robot.nv)[:, 6:]
    M_inverse = np.linalg.inv(now.M)
    N = np.eye(robot.nv) - M_inverse @ J.T @ np.linalg.inv(J @ M_inverse @ J.T) @ J
    yield agree("N_c [slide 22]", s.projector, N, 1e-9)
    a, F = s.acceleration(torque), s.contact_force(torque)
    yield small("feet do not accelerate: J_c a + J̇_c v", largest(J @ a + bias) / largest(a), 1e-10)
    yield agree("Newton and Euler with the contact force", now.force(a), S_T @ torque + J.T @ F, 1e-9)
    M_s, h_s, B = s.consistent
    yield agree(
        "support-consistent: N_cᵀ M, N_cᵀ h",
        np.column_stack([M_s, h_s]),
        np.column_stack([N.T @ now.M, N.T @ now.h]),
        1e-9,
    )
    again = s.inverse_dynamics(a, torque=rng.normal(size=12))
    yield agree("inverse dynamics gives the motion back [slide 32]", again.acceleration, a, 1e-8)
    yield agree(
        "and its forces hold the equation of motion", S_T @ again.torque + J.T @ again.contact_force, now.force(a), 1e-8
    )
    free = s.torque_null_space @ rng.normal(size=12)
    yield small("torques of the null space move nothing", largest(s.acceleration(torque + free) - a) / largest(a), 1e-9)
    yield exactly(
        "and they are some: rank of N_cᵀ Sᵀ, of its null space",
        (int(np.linalg.matrix_rank(B, tol=1e-8)), int(np.linalg.matrix_rank(s.torque_null_space, tol=1e-8))),
        (9, 3),
    )
    yield equal("internal forces of three feet", s.internal_forces.shape[1], 3)
    for F_internal in s.internal_forces.T:
        balance = S_T @ s.internal_torque(F_internal) + J.T @ F_internal
        yield small("an internal force and its torques balance", largest(balance), 1e-10)
    yield from _supported(one_of_each_joint(), ("trunk", "revolute_link"))
    yield from _cart_pendulum()
    yield from _drag_and_lift(robot, now)
    yield from chimney()


def _supported(robot: Robot, points: Sequence[str]) -> Iterator[Figure]:
    """The same law on a robot that has every kind of joint."""
    rng = np.random.default_rng(3)
    q, v = robot.random_state(rng)
    motors = ["prismatic", "revolute"]
    s, torque, now = (
        support_dynamics(robot, q, v, points, actuated=motors),
        rng.normal(size=2),
        ReferenceState(robot, q, v),
    )
    (J, bias), S_T = rows_of_feet(now, points), np.eye(robot.nv)[:, [robot.joints[name].v.start for name in motors]]
    a, F = s.acceleration(torque), s.contact_force(torque)
    yield small(f"{robot.name}: J_c a + J̇_c v", largest(J @ a + bias) / largest(a), 1e-10)
    yield agree(f"{robot.name}: Newton and Euler with the contact force", now.force(a), S_T @ torque + J.T @ F, 1e-9)


def _cart_pendulum() -> Iterator[Figure]:
    """[ETH19, slides 23–25]: M, b and g as printed; the torque changes the force and not the motion."""
    m, half, phi, rates = 1.0, 0.5, 0.7, np.array([0.3, -0.8])
    robot, q = load("cart_pendulum"), np.array([0.1, 0.7])
    theta = robot.links["pendulum"].inertia.matrix[1, 1] if robot.links["pendulum"].inertia else np.nan
    M = [[2 * m, half * m * np.cos(phi)], [half * m * np.cos(phi), m * half**2 + theta]]
    h = [-(rates[1] ** 2) * half * m * np.sin(phi), m * 9.80665 * half * np.sin(phi)]
    yield agree(
        "cart and pendulum: M, b + g as printed",
        np.vstack([robot.mass_matrix(q), robot.bias_force(q, rates)]),
        [*M, h],
        1e-11,
    )
    s = support_dynamics(robot, q, rates, ["tip"], axes="z", actuated=["swing"])
    yield small("vertical motion locked: N_cᵀ Sᵀ = 0, the torque moves nothing", largest(s.consistent[2]), 1e-12)
    s = support_dynamics(robot, q, rates, ["tip"], axes="x", actuated=["swing"])
    yield Figure(
        "horizontal motion locked: N_cᵀ Sᵀ",
        "> 0.1",
        f"{largest(s.consistent[2]):.2f}",
        bool(largest(s.consistent[2]) > 0.1),
        "≠ 0",
    )


def _drag_and_lift(robot: Robot, now: ReferenceState) -> Iterator[Figure]:
    """½ ρ v² A c of a plate at a point of a shank [slide 17], the fluid moving too."""
    frame, point, wind, up = (
        "front_left_shank",
        (0.05, 0.1, -0.1),
        np.array([2.0, -1.0, 0.5]),
        np.array([0.0, 0.6, 0.8]),
    )
    plate = Aerodynamic(frame, 0.03, drag=1.2, lift=0.8, point=point, up=tuple(up), wind=tuple(wind))
    at = now.frame(frame, point)
    u, n = at.V[:3] - wind, at.R @ up
    n = np.cross(np.cross(u, n), u)
    size = 0.5 * 1.2 * 0.03 * (u @ u)
    wanted = size * (0.8 * n / np.linalg.norm(n) - 1.2 * u / np.linalg.norm(u))
    yield agree(
        "drag and lift: ½ ρ v² A c, across and against the flow", plate.force(robot, now.q, now.v), wanted, 1e-12
    )
    ours = plate.generalised_force(robot, now.q, now.v)
    yield agree("their generalised force", ours, at.J[:3].T @ wanted, 1e-11)


# --- H5 ---------------------------------------------------------------------------------------------------------------


def impacts() -> Iterator[Figure]:
    yield from _impacts("quadruped", load("quadruped"), FEET[:2])
    yield from _impacts("one of each joint", one_of_each_joint(), ("trunk", "revolute_link"))


def _impacts(name: str, robot: Robot, feet: Sequence[str]) -> Iterator[Figure]:
    q, v = robot.random_state(np.random.default_rng(0))
    now = ReferenceState(robot, q, v)
    J, _ = rows_of_feet(now, feet)
    for e in (0.0, 0.6):
        hit = impact(robot, q, v, feet, restitution=e)
        after = ReferenceState(robot, q, hit.after)
        moved = np.concatenate([after.frame(foot).V[:3] for foot in feet])
        yield agree(f"{name}, e = {e:g}: velocity of the feet after [slide 26]", moved, -e * J @ v, 1e-9)
        yield agree(
            f"{name}, e = {e:g}: M (v⁺ − v⁻) is what the impulse does", now.M @ (hit.after - v), J.T @ hit.impulse, 1e-9
        )
        change = after.momentum_matrix @ hit.after - now.momentum_matrix @ v
        pushes = hit.impulse.reshape(2, 3)
        arms = [now.frame(foot).p - now.com for foot in feet]
        wanted = np.concatenate([pushes.sum(0), sum(np.cross(r, p) for r, p in zip(arms, pushes, strict=True))])
        yield agree(f"{name}, e = {e:g}: momentum changes by the impulses", change, wanted, 1e-9)
        loss = now.kinetic_energy - after.kinetic_energy
        yield agree(f"{name}, e = {e:g}: energy loss", hit.energy_loss, loss, 1e-10)
        yield agree(f"{name}, e = {e:g}: the same at the contacts", hit.energy_loss_at_contacts, loss, 1e-9)
        yield agree(f"{name}, e = {e:g}: (1 − e²) ½ ṙᵀ Λ ṙ", loss, (1 - e * e) * _at_contacts(now, J, v), 1e-9)


def _at_contacts(now: ReferenceState, J: Array, v: Array) -> float:
    inertia = np.linalg.inv(J @ np.linalg.solve(now.M, J.T))
    return float((J @ v) @ inertia @ (J @ v) / 2)


ROWS = [
    Row("H1", "ETH19", "generalised coordinates and velocities, point Jacobians", coordinates),
    Row("H2", "ETH19", "contact analysis", contact_analysis),
    Row(
        "H3",
        "ETH19",
        "soft and hard contact as plants",
        *(shown_by("eth19_contact", name) for name in ("contact_plants", "pictures")),
    ),
    Row("H4", "ETH19", "support-consistent dynamics, inverse dynamics, internal forces", support),
    Row("H5", "ETH19", "impacts", impacts),
    Row(
        "H6",
        "ETH19",
        "prioritised least squares over accelerations, forces and torques",
        shown_by("eth19_tasks", "task_hierarchy"),
    ),
]
