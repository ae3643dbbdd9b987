"""[EB98, Sec. 5.2] Errors that know their priority, and the safe ellipse: rows E8 and E9."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ..balance.com_dynamics import null_space_rows
from ..control.closed_form.com_control import (
    PostureCriterion,
    SafeEllipse,
    com_error,
    constrained_error,
    curvature,
    error_jacobian,
    hand_error,
    prioritised_error,
)
from ..control.constraints import CoMInEllipse
from ..control.controller.controller import WholeBodyController
from ..control.safety.vfi import Gains
from ..control.tasks import CoMEllipseTask, CoMTask, FrameTask, PostureTask
from ..robot import Robot, load
from .commanded import Asked, Statement, barrier, towards
from .moving import com, given, joints, point
from .perturbation import start
from .reference import ReferenceState, path, rate, second_rate
from .rows import Figure, agree, small

Array = np.ndarray


def _slope(robot: Robot, q: Array, directions: Array, f: Callable[[Array], Any]) -> Array:
    """Derivatives of f along velocities, stacked behind each other."""

    def moved(u: Array, t: float) -> Any:
        return f(robot.integrate(q, u, t))

    return np.stack([rate(partial(moved, u)) for u in directions], axis=-1)


def balance_first() -> Iterator[Figure]:
    robot = load("bimanual")
    rng = np.random.default_rng(0)
    q = robot.standing() + 0.2 * rng.normal(size=robot.nq)
    now = ReferenceState(robot, q)
    e_1, J_1 = com_error(robot, q, now.com[:2] + 0.01)
    yield agree("e₁ of the mass [Eq. (76)]", e_1, [-0.01, -0.01], 1e-12)
    yield agree("J₁ of the mass", J_1, now.com_jacobian[:2], 1e-12)
    e_4, J_4 = np.array([0.1, 0.0, -0.1]), now.frame("left_tool").J[:3]
    criteria = {
        "initial posture": PostureCriterion.near(robot, robot.standing()),
        "middle of limits": PostureCriterion.mid_range(robot),
    }
    away = (q - (robot.limits.lower + robot.limits.upper) / 2) / (robot.limits.upper - robot.limits.lower)
    yield agree("u of the middle of limits [Sec. 5.2.1]", criteria["middle of limits"].value(q), away @ away / 2, 1e-11)
    for name, criterion in criteria.items():
        slope = _slope(robot, q, np.eye(robot.nv), criterion.value)
        yield agree(f"{name}: ∇u by differences of u", criterion.gradient(q), slope, 1e-8)
        hand = hand_error(e_4, J_4, criterion.gradient(q), alpha=0.7)
        free = np.linalg.lstsq(J_4, J_4 @ slope, rcond=None)[0]
        yield agree(
            f"hand and {name} below it [Eq. (79)]", hand, np.linalg.pinv(J_4) @ e_4 + 0.7 * (slope - free), 1e-8
        )
        e_3 = prioritised_error(e_1, J_1, hand, np.eye(robot.nv), 0.4)
        yield agree(f"{name}: the mass has what it wants, J₁ e₃ = e₁ [Eq. (78)]", J_1 @ e_3, e_1, 1e-12)
        rest = 0.4 * hand - np.linalg.lstsq(J_1, J_1 @ (0.4 * hand), rcond=None)[0]
        yield agree(f"{name}: the rest as far as that allows", e_3 - np.linalg.pinv(J_1) @ e_1, rest, 1e-9)
    yield from _on_constraints(robot, q, criteria["initial posture"])


def _on_constraints(robot: Robot, q: Array, criterion: PostureCriterion) -> Iterator[Figure]:
    """[EB98, Eq. (77)]: e = R J₃ᵀ e₃ is the gradient of ½ e₃ᵀ e₃ along what a held hand leaves free."""
    target = ReferenceState(robot, q).com[:2] + 0.03
    R = null_space_rows(ReferenceState(robot, q).frame("right_tool").J[:3])

    def e_3(at: Array) -> Array:
        e_1, J_1 = com_error(robot, at, target)
        return prioritised_error(e_1, J_1, criterion.gradient(at), np.eye(robot.nv))

    J_3 = error_jacobian(robot, q, e_3)
    slope = _slope(robot, q, R, lambda at: e_3(at) @ e_3(at) / 2)
    yield agree(
        "R J₃ᵀ e₃ against differences of ½ e₃ᵀ e₃ along R [Eq. (77)]", constrained_error(R, e_3(q), J_3), slope, 1e-8
    )
    yield agree("with J₃ taken for 1 [Sec. 5.3]", constrained_error(R, e_3(q)), R @ e_3(q), 1e-12)


def safe_ellipse() -> Iterator[Figure]:
    robot, W = load("bimanual"), np.array([[2.0, 0.3], [0.3, 0.8]])
    rho, alpha, tau = 0.02, 1e-4, 4
    ellipse = SafeEllipse(rho, weight=W, stiffness=alpha, exponent=tau)
    q = robot.standing() + 0.1 * np.random.default_rng(2).normal(size=robot.nq)
    now = ReferenceState(robot, q)
    target, goal = now.com[:2] - (0.012, -0.01), now.frame("left_tool").p + 0.1

    def phi(at: Array) -> float:
        there = ReferenceState(robot, at)
        e_1, e_2 = there.com[:2] - target, there.frame("left_tool").p - goal
        return float(e_2 @ e_2 + alpha * (e_1 @ W @ e_1 / rho**2) ** tau) / 2

    def e_3(at: Array) -> Array:
        e_1, J_1 = com_error(robot, at, target)
        return ellipse.error(e_1, J_1, robot.pose(at, "left_tool")[:3, 3] - goal, robot.jacobian(at, "left_tool")[:3])

    (e_1, J_1), J_2, e_2 = (
        com_error(robot, q, target),
        robot.jacobian(q, "left_tool")[:3],
        now.frame("left_tool").p - goal,
    )
    yield agree("V and φ [Eqs. (80), (81)]", ellipse.cost(e_1, e_2), phi(q), 1e-12)
    everywhere = np.eye(robot.nv)
    yield agree("e₃ = ∇φ, by differences [Eq. (82)]", e_3(q), _slope(robot, q, everywhere, phi), 1e-9)
    K_1 = curvature(robot, q, lambda at: robot.com_jacobian(at)[:2], W @ e_1)
    K_2 = curvature(robot, q, lambda at: robot.jacobian(at, "left_tool")[:3], e_2)
    wanted = _slope(robot, q, everywhere, e_3)
    exact = ellipse.exact_jacobian(e_1, J_1, J_2, K_1, K_2)
    yield agree("∂e₃/∂q in full, by differences [Eq. (88)]", exact, wanted, 1e-8)
    V = float(e_1 @ W @ e_1) / rho**2
    left_out = K_2 + alpha * tau / rho**2 * V ** (tau - 1) * (J_1.T @ W @ J_1 + K_1)
    yield agree(
        "and without curvature and V^(τ−1) [Eq. (91)]", ellipse.jacobian(e_1, J_1, J_2), wanted - left_out, 1e-8
    )
    yield from _at_the_border(robot, W)
    yield from _in_the_controller(robot)


def _at_the_border(robot: Robot, W: Array) -> Iterator[Figure]:
    """What CoMInEllipse admits when the centre of mass leaves a moving ellipse; V by differences along the command."""
    rng, dt, rho, gains = np.random.default_rng(4), 1e-3, 0.03, Gains.of_rates(6.0, 9.0)
    q, v = robot.random_state(rng)
    now, e, u, accelerated = ReferenceState(robot, q, v), np.array([0.012, -0.015]), *rng.normal(size=(2, 2))
    leaving = 0.2 * W @ e / np.linalg.norm(W @ e)  # m/s, of the mass from the ellipse
    for level, v_c in (("velocity", u), ("acceleration", now.com_jacobian[:2] @ v - leaving)):
        centre = now.com[:2] - e, v_c, accelerated
        border = CoMInEllipse(centre, radius=rho, shape=W, gains=gains)
        away = CoMTask((now.com + np.array([*(50 * leaving), 0.0]), np.zeros(3)), gain=3.0)
        posture = PostureTask(weight=1e-3)
        controller = WholeBodyController(robot, [away, posture], constraints=[border], level=level, dt=dt)
        found = controller(0.0, q, v)
        at = path(robot, q, found.velocity) if level == "velocity" else path(robot, q, v, found.acceleration)

        def inside(t: float, at: Callable[[float], Array] = at, c: tuple[Array, ...] = centre) -> float:
            e = ReferenceState(robot, at(t)).com[:2] - (c[0] + c[1] * t + c[2] * t * t / 2)
            return 1 - float(e @ W @ e) / rho**2

        if level == "velocity":
            law = rate(inside) + 6.0 * inside(0.0)
        else:  # the factor is due to the acceleration, which is held for a step of dt
            law = second_rate(inside, 2e-3) * (1 + 9.0 * dt / 2) + 15.0 * rate(inside) + 54.0 * inside(0.0)
        yield small(f"CoMInEllipse, {level} level: the law of 1 − V at its bound, V by differences", abs(law), 1e-6)


def _in_the_controller(robot: Robot) -> Iterator[Figure]:
    """A hand that pulls the mass out of the ellipse: by the task it stays near, by the constraint inside, by neither
    outside."""
    dt, rho, W, still = 5e-3, 0.01, np.array([[4.0, 0.5], [0.5, 0.6]]), np.zeros(robot.nv)
    posture = robot.standing()
    q, _ = start(robot, posture, still)
    begin = ReferenceState(robot, q)
    centre, goal = begin.com[:2], begin.frame("left_tool").p + np.array([0.25, 0.2, -0.2])
    hand = FrameTask("left_tool", target=(goal, np.zeros(3)), axes="position", gain=3.0)
    penalty = CoMEllipseTask((begin.com, np.zeros(3)), radius=rho, shape=W, exponent=8, weight=1e-4, gain=3.0)
    border = CoMInEllipse(centre, radius=rho, shape=W, gains=Gains.of_rates(5.0, 20.0))
    levels, looked = {}, {}
    for name, tasks, constraints in (("neither", [], []), ("task", [penalty], []), ("constraint", [], [border])):
        items = [hand, PostureTask(posture, weight=1e-3, gain=5.0), *tasks]
        controller = WholeBodyController(robot, items, constraints=constraints, level="velocity", dt=dt)
        at, seen, stated = q, [], Statement()
        for k in range(400):
            v = controller(k * dt, at, still).velocity
            now = ReferenceState(robot, at)
            mass = (com(now) - given([*centre, 0.0], robot.nv))[:2]
            level = (1 / rho**2) * mass.dot(mass.rotated(W))
            tool, every = point(now, "left_tool"), joints(now, slice(0, robot.nv))
            asked = [
                Asked(tool, towards(tool, goal, 3.0, False)),
                Asked(every, towards(every, posture, 5.0, False), 1e-3),
            ]
            if name == "task":  # y = V⁴
                y = level.mapped(lambda V: V**4, 4 * level.x**3, 12 * level.x**2)
                asked.append(Asked(y, towards(y, 0.0, 3.0, False), 1e-4))
            inside = given(rho, robot.nv) - rho * level
            stated.look(v, False, asked, [barrier(inside, 5.0, 20.0, dt, False)] if name == "constraint" else [])
            at = path(robot, at, v)(dt)
            e = ReferenceState(robot, at).com[:2] - centre
            seen.append(float(e @ W @ e) / rho**2)
        levels[name], looked[name] = max(seen), stated
    listed = ", ".join(f"{name} {V:.2f}" for name, V in levels.items())
    good = levels["neither"] > 3 and 0.4 < levels["task"] < 1.6 and 0.9 < levels["constraint"] < 1 + 1e-6
    yield Figure(
        "in the controller: V at most, by task and by constraint [Eqs. (80), (81)]",
        "neither > 3; 0.4 … 1.6; 0.9 … 1",
        listed,
        good,
        "near 1; ≤ 1",
    )
    for name, stated in looked.items():
        yield from stated.figures(f"in the controller, by {name}", active=name == "constraint")
