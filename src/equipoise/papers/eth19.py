"""[ETH19] Lecture on floating-base dynamics and control."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..balance import analyse_contacts, coordinate_rates, impact, point_jacobian, support_dynamics
from ..control.closed_form.hierarchy import WholeBody, stacked
from ..control.closed_form.motions import com_motion, frame_motion
from ..control.closed_form.operational_space import operational_dynamics, task_inverse_dynamics
from ..control.qp import ActiveSetSolver, QuadraticProgram, Rows
from ..geometry.primitives import Plane
from ..robot import Robot, RobotBuilder, load
from ..simulate.plant import PlantState, make_plant
from .pictures import sheet
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


LAWS = {"linear": (2e4, 200.0, 1.0), "plate": (2e4, 200.0, 1.0), "nonlinear": (1e6, 2e7, 1.5)}  # stiffness, damping, exponent


def brick_on(name: str, *, tilt: float = 0.0, v: float = 0.0, above: float = 0.0, **options: Any) -> tuple[Any, Robot]:
    """A plant with a brick on (m `above`) the ground, and the brick; the ground falls towards x by `tilt` rad."""
    brick = RobotBuilder("brick").link("brick", mass=2.0, inertia=(0.03, 0.04, 0.05)).build()
    corners = [(x, y, -0.1) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    up = np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    plant = make_plant(name, brick, [("brick", corners)], ground=Plane(up), **options)
    plant.reset(np.array([*(0.1 + above) * up, np.cos(tilt / 2), 0, np.sin(tilt / 2), 0]), np.array([v, 0, 0, 0, 0, 0]))
    return plant, brick


def soft_law(law: str) -> dict[str, Any]:
    """Options of the soft plant."""
    return {"law": law, **dict(zip(("stiffness", "damping", "exponent"), LAWS[law], strict=True))}


def contact_plants() -> Iterator[Figure]:
    def after(name: str, steps: int, **options: Any) -> tuple[Any, PlantState]:
        plant, _ = brick_on(name, **options)
        for _ in range(steps):
            state = plant.step(np.zeros(6), 1e-3)
        return plant, state

    g = -brick_on("soft")[1].model.gravity[2]
    for law, (k, _, n) in LAWS.items():
        _, state = after("soft", 400, **soft_law(law))
        depth = (2.0 * g / 4 / k) ** (1 / n)
        error = abs(0.1 - state.q[2] - depth) / depth
        yield small(f"soft contact, {law} law: depth at rest against k xⁿ = mg/4 [slide 17]", error, 1e-2)
    plant, state = after("hard", 400, v=1.0, friction=0.5)
    p, u = plant.solution.impulse, plant.solution.velocity
    yield small("hard contact: ṙ_n F_n [slide 20]", largest(p[:, 0] * u[:, 0]), 1e-12)
    least = float(p[:, 0].min()), float(u[:, 0].min())
    yield Figure("hard contact: least F_n, ṙ_n", "≥ 0", f"{least[0]:.1e}, {least[1]:.1e}", least[0] >= 0 and least[1] > -1e-9)
    yield small("hard contact: way to a stop against v²/(2 μ g)", abs(state.q[0] * 2 * 0.5 * g - 1.0), 1e-2)
    ends = [after("hard", 100, tilt=0.4, friction=part * np.tan(0.4))[1] for part in (0.98, 1.02)]
    slides = [bool(largest(end.v) > 1e-6) for end in ends]
    yield equal("hard contact: slides on a slope with μ 2 % below, 2 % above its tangent", slides, [True, False])


def pictures() -> Iterator[tuple[str, Any]]:
    """A brick dropped from 5 cm: what the three soft laws and the hard contact make of it [slides 17–22]."""
    picture, axes = sheet(
        "[ETH19, slides 17–22] a brick falls on the ground", ["height of its underside, mm", "force, N"], columns=2
    )
    dt = 5e-4
    plants = {f"soft, {law}": ("soft", soft_law(law)) for law in LAWS} | {"hard": ("hard", {})}
    for label, (name, options) in plants.items():
        plant, brick = brick_on(name, above=0.05, **options)
        states = [plant.step(np.zeros(brick.nv), dt) for _ in range(600)]
        t = [state.t for state in states]
        axes[0].plot(t, [1e3 * (state.q[2] - 0.1) for state in states], label=label, lw=1.2)
        axes[1].plot(t, [state.wrenches["brick"][2] if "brick" in state.wrenches else 0.0 for state in states], lw=1.0)
    axes[1].set_yscale("symlog", linthresh=100.0)
    axes[1].set_xlim(0.09, 0.16)
    for one in axes:
        one.set_xlabel("t, s")
    axes[0].legend()
    yield "soft-and-hard-contact", picture


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


def task_hierarchy() -> Iterator[Figure]:
    robot = load("quadruped")
    rng = np.random.default_rng(0)
    q, v = robot.standing(), np.zeros(robot.nv)
    s = support_dynamics(robot, q, v, FEET)
    body, com, wanted = WholeBody(s), com_motion(robot, q, v), rng.normal(size=3)
    top = stacked([body.equation_of_motion(), body.contacts()])
    trunk = body.motion(frame_motion(robot, q, v, "trunk", turning=True), rng.normal(size=6))
    levels: list[Rows] = [top, body.motion(com, wanted), trunk, body.force([15.0, 80.0], which=[0, 2]), body.torque()]
    found = body.solve(levels)
    yield small("equation of motion and contacts [slides 36–39]", largest(found.residuals[0]), 1e-9)
    yield small("centre of mass, below them and above the trunk", largest(found.residuals[1]), 1e-9)
    yield small("force of a foot, at the fourth level", largest(found.residuals[3]), 1e-8)
    x = np.concatenate([found.acceleration, found.force, found.torque])
    program = QuadraticProgram(np.eye(len(x)), np.zeros(len(x)), levels=tuple(levels))
    error = largest(x - ActiveSetSolver().solve(program).x) / largest(x)
    yield small("five levels by projection − by quadratic programming", error, 1e-6)
    for name, tau in (
        ("task-space inverse dynamics", task_inverse_dynamics(robot, q, v, com, wanted, s).torque),
        ("operational-space control", operational_dynamics(robot, q, v, com, s).torque(wanted, free=rng.normal(size=12))),
    ):
        yield small(f"{name}: ẇ − ẇ* [slide 3]", largest(com.J @ s.acceleration(tau) + com.bias - wanted), 1e-8)


ROWS = [
    Row("H1", "ETH19", "generalised coordinates and velocities, point Jacobians", coordinates),
    Row("H2", "ETH19", "contact analysis", contact_analysis),
    Row("H3", "ETH19", "soft and hard contact as plants", contact_plants, pictures),
    Row("H4", "ETH19", "support-consistent dynamics, inverse dynamics, internal forces", support),
    Row("H5", "ETH19", "impacts", impacts),
    Row("H6", "ETH19", "prioritised least squares over accelerations, forces and torques", task_hierarchy),
]
