"""[TPN17] A unified view of the equations of motion used for control design of humanoid robots."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..convert import acceleration, twist, wrench
from ..forms.bases import COM, Compound
from ..forms.equations_of_motion import EquationsOfMotion
from ..robot import Robot, load
from .rows import Figure, Row, equal, small

REPRESENTATIONS = ("mixed", "body", "inertial")


def _state() -> tuple[Robot, EquationsOfMotion]:
    robot = load("quadruped")
    return robot, robot.equations_of_motion(*robot.random_state(np.random.default_rng(1)))


def largest(x: np.ndarray) -> float:
    return float(np.abs(x).max())


def representations() -> Iterator[Figure]:
    robot, eom = _state()
    q = eom.origin.q
    rng = np.random.default_rng(0)
    F, A = rng.normal(size=(2, 6))
    X, V = robot.pose(q, "front_left_foot"), robot.velocity(q, eom.v, "front_left_foot")
    for name in REPRESENTATIONS[1:]:
        V_other, F_other = twist(X, V, "mixed", name), wrench(X, F, "mixed", name)
        yield small(f"power of a wrench, {name} against mixed", abs(F_other @ V_other - F @ V), 1e-12)
        A_other = acceleration(X, V, A, "mixed", name)
        yield small(f"acceleration there and back, {name}", largest(acceleration(X, V_other, A_other, name, "mixed") - A), 1e-12)
        form = eom.in_representation(name)
        yield small(
            f"M by change of variables against its own kernel, {name}", largest(form.M - robot.mass_matrix(q, name)), 1e-11
        )


def skewness() -> Iterator[Figure]:
    robot, eom = _state()
    h, q = 1e-5, eom.origin.q
    rate = (robot.mass_matrix(robot.integrate(q, eom.v, h)) - robot.mass_matrix(robot.integrate(q, eom.v, -h))) / (2 * h)
    yield small("Ṁ − C − Cᵀ, Ṁ by differences [Property 2]", largest(rate - eom.C - eom.C.T) / largest(eom.C), 1e-7)
    yield Figure(
        "smallest eigenvalue of M [Property 1]",
        "> 0",
        f"{np.linalg.eigvalsh(eom.M).min():.1e}",
        bool(np.linalg.eigvalsh(eom.M).min() > 0),
    )
    yield small("power: vᵀ(M a + C v + g) = d(T + U)/dt at a = M⁻¹(tau − h)", _power_error(robot, eom), 1e-6)


def _power_error(robot: Robot, eom: EquationsOfMotion) -> float:
    tau = np.random.default_rng(2).normal(size=robot.nv)
    q, v, h = eom.origin.q, eom.v, 1e-6
    a = eom.acceleration(tau)
    energies = []
    for sign in (1, -1):
        q_near = robot.integrate(q, v, sign * h)
        energies.append(robot.kinetic_energy(q_near, v + sign * h * a) + robot.potential_energy(q_near))
    return abs((energies[0] - energies[1]) / (2 * h) - tau @ v) / abs(tau @ v)


def change_of_base() -> Iterator[Figure]:
    robot, eom = _state()
    tau = np.random.default_rng(2).normal(size=robot.nv)
    for base in ("front_left_foot", "hind_right_shank"):
        yield from _invariants(eom, eom.in_base(base), tau, base)


def _invariants(eom: EquationsOfMotion, there: EquationsOfMotion, tau: np.ndarray, name: str) -> Iterator[Figure]:
    a = eom.acceleration(tau)
    back = there.in_base(None).in_representation("mixed")
    force = there.force(there.acceleration_from(eom, a)) - there.force_from(eom, tau)
    yield small(f"{name}: kinetic energy", abs(there.kinetic_energy - eom.kinetic_energy) / eom.kinetic_energy, 1e-12)
    yield small(f"{name}: power", abs(there.force_from(eom, tau) @ there.v - tau @ eom.v), 1e-11)
    yield small(f"{name}: equation of motion [Eq. 22b]", largest(force), 1e-10)
    yield small(f"{name}: there and back", largest(back.M - eom.M) + largest(back.C - eom.C), 1e-12)


def compound_base() -> Iterator[Figure]:
    robot, eom = _state()
    tau = np.random.default_rng(2).normal(size=robot.nv)
    there = eom.in_base(Compound("front_left_foot", "hind_left_thigh"))
    yield from _invariants(eom, there, tau, "front_left_foot[hind_left_thigh]")
    V = robot.velocity(eom.origin.q, eom.v, "front_left_foot")[:3]
    yield small("linear velocity is that of the origin [Eq. 26]", largest(there.v[:3] - V), 1e-12)


def centroidal() -> Iterator[Figure]:
    robot, eom = _state()
    G, q = eom.centroidal(), eom.origin.q
    weight = np.concatenate([-robot.mass * np.array(robot.model.gravity), np.zeros(robot.nv - 3)])
    yield small("M_G: blocks beside the diagonal [Eq. 42]", largest(G.M[:6, 6:]) + largest(G.M[:3, 3:6]), 1e-11)
    yield small("g_G − (−m g, 0, 0) [Eq. 43]", largest(G.g - weight), 1e-10)
    yield small("centroidal momentum − I^C v_G [Eq. 32]", largest(G.M[:6, :6] @ G.v[:6] - robot.momentum(q, eom.v)), 1e-11)
    yield small("C_G: first rows and columns, with C = ∫ Jᵀ J̇ dm [Lemma 4.3]", largest(G.C[:3]) + largest(G.C[:, :3]), 1e-11)
    GB = eom.in_base(Compound(COM))
    yield small("G[B]: position − centre of mass [Eq. 35]", largest(GB.q[:3] - robot.com(q)), 1e-12)


def fixed_support() -> Iterator[Figure]:
    robot, eom = _state()
    tau = np.random.default_rng(2).normal(size=robot.nv - 6)
    fixed = eom.fixed_at("front_left_shank")
    q, v = fixed.free.origin.q, fixed.free.origin.v
    a = robot.forward_dynamics(q, v, np.concatenate([np.zeros(6), tau]), wrenches={"front_left_shank": fixed.wrench(tau)})
    frame = robot.jacobian(q, "front_left_shank") @ a + robot.bias_acceleration(q, v, "front_left_shank")
    yield small("acceleration of the support under the wrench of Eq. 48", largest(frame) / largest(a), 1e-9)
    yield small("joint accelerations [Eq. 46]", largest(a[6:] - fixed.acceleration(tau)) / largest(a), 1e-9)
    again = fixed.switch("hind_right_shank").switch("front_left_shank")
    yield small("support switched there and back", largest(again.M - fixed.M), 1e-12)


def numbering() -> Iterator[Figure]:
    _, eom = _state()
    there = eom.in_base("hind_right_foot")
    yield equal("joint positions in another base", bool(np.array_equal(there.q[7:], eom.q[7:])), True)
    yield equal("joint rates in another base", bool(np.array_equal(there.v[6:], eom.v[6:])), True)


ROWS = [
    Row("T1", "TPN17", "three velocity representations and conversions between them", representations),
    Row("T2", "TPN17", "Coriolis matrix with Ṁ − 2C skew", skewness),
    Row("T3", "TPN17", "change of base between any frames", change_of_base),
    Row("T4", "TPN17", "compound base E[F]", compound_base),
    Row("T5", "TPN17", "centroidal dynamics by the same change of variables", centroidal),
    Row("T6", "TPN17", "support link fixed, and switched", fixed_support),
    Row("T7", "TPN17", "joint numbering does not depend on the base", numbering),
]
