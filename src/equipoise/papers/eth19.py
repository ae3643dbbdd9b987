"""[ETH19] Lecture on floating-base dynamics and control."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..balance import analyse_contacts, coordinate_rates, impact, point_jacobian, support_dynamics
from ..robot import load
from .rows import Figure, Row, equal, small
from .tpn17 import largest

FEET = ("front_left_foot", "front_right_foot", "hind_left_foot", "hind_right_foot")
# [ETH19, slide 14]: feet on the ground → rank J_c, rank J_c,b, internal constraints, uncontrollable directions
QUADRUPED = {0: (0, 0, 0, 6), 1: (3, 3, 0, 3), 2: (6, 5, 1, 1), 3: (9, 6, 3, 0), 4: (12, 6, 6, 0)}


def coordinates() -> Iterator[Figure]:
    robot = load("quadruped")
    q, v = robot.random_state(np.random.default_rng(0))
    h = 1e-6
    rate = (robot.integrate(q, v, h) - robot.integrate(q, v, -h)) / (2 * h)
    yield small("q̇ − E_fb v, q̇ by differences [slide 5]", largest(coordinate_rates(robot, q) @ v - rate), 1e-8)
    J = point_jacobian(robot, q, "hind_left_foot")
    yield small("velocity of a point − J v [slide 7]", largest(J @ v - robot.velocity(q, v, "hind_left_foot")[:3]), 1e-12)


def contact_analysis() -> Iterator[Figure]:
    robot = load("quadruped")
    for count, table in QUADRUPED.items():
        a = analyse_contacts(robot, robot.standing(), FEET[:count])
        ranks = a.rank, a.base_rank, a.internal_constraints, a.uncontrollable.shape[1]
        yield equal(f"{count} feet: ranks, internal, uncontrollable [slide 14]", ranks, table)
    words = analyse_contacts(robot, robot.standing(), FEET[:2]).words
    line = "rotation about the line through front_left_foot and front_right_foot"
    yield equal(f"two feet leave a {line}", list(words) == [line], True)
    wheel = analyse_contacts(load("wheel"), np.array([0.7, np.pi]), ["rim"], base=["slide"])
    yield equal("wheel: ranks", (wheel.rank, wheel.base_rank), (1, 1))


def support() -> Iterator[Figure]:
    robot = load("quadruped")
    rng = np.random.default_rng(0)
    q, v = robot.random_state(rng)
    s = support_dynamics(robot, q, v, FEET[:3])
    torque = rng.normal(size=12)
    N, J = s.projector, s.jacobian
    yield small("J_c N_c [slide 22]", largest(J @ N), 1e-10)
    yield small("N_c N_c − N_c", largest(N @ N - N), 1e-10)
    a = s.acceleration(torque)
    force = np.concatenate([np.zeros(6), torque]) + J.T @ s.contact_force(torque)
    yield small("equation of motion with the contact force", largest(robot.inverse_dynamics(q, v, a) - force), 1e-9)
    again = s.inverse_dynamics(a)
    yield small("inverse dynamics gives the motion back [slide 32]", largest(again.acceleration - a) / largest(a), 1e-8)
    yield equal("internal forces of three feet", s.internal_forces.shape[1], 3)


def impacts() -> Iterator[Figure]:
    robot = load("quadruped")
    q, v = robot.random_state(np.random.default_rng(0))
    hit = impact(robot, q, v, FEET[:2])
    feet = np.concatenate([robot.velocity(q, hit.after, foot)[:3] for foot in FEET[:2]])
    yield small("velocity of the feet after impact [slide 26]", largest(feet), 1e-10)
    loss = hit.energy_loss
    yield small("energy loss, both ways of the slide", abs(loss - hit.energy_loss_at_contacts) / loss, 1e-9)
    yield Figure("energy lost", "≥ 0", f"{loss:.3f} J", bool(loss >= 0))


ROWS = [
    Row("H1", "ETH19", "generalised coordinates and velocities, point Jacobians", coordinates),
    Row("H2", "ETH19", "contact analysis", contact_analysis),
    Row("H3", "ETH19", "soft and hard contact as plants"),
    Row("H4", "ETH19", "support-consistent dynamics, inverse dynamics, internal forces", support),
    Row("H5", "ETH19", "impacts", impacts),
    Row("H6", "ETH19", "prioritised least squares over accelerations, forces and torques"),
]
