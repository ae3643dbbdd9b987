"""[BK12, Sec. V]: the whole-body program in its three forms, and as the controller solves it. Row B5."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import null_space

from ..control.closed_form.chart_programs import ChartAnswer, ChartProgram, WholeBodyProblem, chart_program
from ..control.closed_form.motions import com_motion
from ..control.constraints import TorqueLimits
from ..control.contacts import PointContact
from ..control.controller.controller import WholeBodyController
from ..control.tasks import CoMTask
from ..forms import charts
from ..robot import Robot, load
from .bk12 import CHARTS, cayley
from .commanded import unbalanced
from .reference import ReferenceState
from .rows import Figure, agree, exactly, largest, small

Array = np.ndarray
PAD = (0.02, -0.01, -0.03)  # m, where a foot touches, off the origin of its frame


def whole_body_programs() -> Iterator[Figure]:
    """Eqs. 36–38 on a quadruped whose trunk moves over standing feet; torque limits and friction are active."""
    robot, rng = load("quadruped"), np.random.default_rng(2)
    q, feet = robot.standing(), [name for name in robot.frames if name.endswith("_foot")]
    q[3:7] = np.cos(0.4), 0.0, 0.0, np.sin(0.4)  # turned on the spot: no chart is at its origin
    rows = np.concatenate([ReferenceState(robot, q).frame(foot, PAD).J[:3] for foot in feet])
    v = null_space(rows) @ rng.normal(size=robot.nv - len(rows))
    now, contacts, wanted = (
        ReferenceState(robot, q, v),
        [PointContact(foot, point=PAD, friction=0.3) for foot in feet],
        np.array([3.0, 1.0, 4.0]),
    )
    task = [(com_motion(robot, q, v), wanted, 1.0)]
    free = chart_program(WholeBodyProblem(robot, q, v, task, contacts), "minimal").solve()
    limit = 0.8 * largest(free["u"])
    still = CoMTask(lambda t: (now.com, now.com_jacobian @ v, wanted), weight=1.0)
    items = [still], contacts, [TorqueLimits(limits=limit)]
    ours = WholeBodyController(robot, *items)(0.0, q, v)
    problem = WholeBodyProblem(robot, q, v, task, contacts, limit)
    program = chart_program(problem, "minimal")
    minimal = program.solve()
    yield from _lawful(now, feet, minimal, limit, 0.3)
    yield small("minimal form: optimal, by its active rows and no solver", _not_optimal(program), 1e-6)
    at_bound = bool(largest(minimal["u"]) > limit - 1e-6)
    yield exactly("a motor at its bound, and the controller's status", (at_bound, ours.status.name), (True, "OPTIMAL"))
    yield agree("minimal form against the controller: a [Eq. 36]", ours.acceleration, minimal["a"], 1e-7)
    yield agree("minimal form against the controller: torques [Eq. 36]", ours.torque[6:], minimal["u"], 1e-7)
    for kind in CHARTS:
        equations = robot.equations_of_motion(q, v).in_chart(kind)
        for form, number in (("projected", 37), ("multiplier", 38)):
            answer = chart_program(problem, form, kind).solve()
            error = max(largest(answer[name] - minimal[name]) for name in ("a", "u", "f"))
            yield small(f"{kind.__name__}, {form}: a, u and f against the minimal form [Eq. {number}]", error, 1e-7)
            kept = [0.0, *(equations.C_y @ answer["z"] + equations.C_bias)]
            yield small(f"{kind.__name__}, {form}: the chart's constraint [Eq. 30]", largest(kept), 1e-7)
    yield from _as_controlled(robot, now, feet, minimal, items)
    weak = chart_program(replace(problem, torque_limits=0.1), "projected").solve()
    yield exactly("motors too weak to stand: the status says so", weak.status.name, "INFEASIBLE")


def _as_controlled(
    robot: Robot, now: ReferenceState, feet: list[str], minimal: ChartAnswer, items: tuple[Any, ...]
) -> Iterator[Figure]:
    """Eq. 37 as the controller solves it, in the paper's chart and in one of a user's own."""
    for chart in (charts.UnitQuaternion(), charts.Chart(cayley, 3, name="Cayley, a user's own")):
        looped = WholeBodyController(robot, *items, chart=chart)(0.0, now.q, now.v)
        yield agree(f"{chart.name}, the controller's program: a [Eq. 37]", looped.acceleration, minimal["a"], 1e-6)
        yield agree(f"{chart.name}, the controller's program: torques [Eq. 37]", looped.torque[6:], minimal["u"], 1e-6)
        yield agree(f"{chart.name}: its torques make this motion", *_made(now, feet, looped), 1e-8)
        equations = robot.equations_of_motion(now.q, now.v).in_chart(chart)
        y_ddot = looped.step.x[: len(equations.y_dot)]
        yield agree(
            f"{chart.name}: a = T ÿ + Ṫ ẏ of its own ÿ", equations.body_acceleration(y_ddot), looped.acceleration, 1e-8
        )
        kept = [0.0, *(equations.C_y @ y_ddot + equations.C_bias)]
        yield small(f"{chart.name}, the controller's program: the chart's constraint [Eq. 30]", largest(kept), 1e-7)


def _lawful(
    now: ReferenceState, feet: list[str], answer: ChartAnswer, limit: float, friction: float
) -> Iterator[Figure]:
    """The constraints of Eq. 36, one by one, by Newton and Euler: forces at the feet are what the motion asks for."""
    a, u, motions = answer["a"], answer["u"], [now.frame(foot, PAD) for foot in feet]
    J, bias = np.concatenate([m.J[:3] for m in motions]), np.concatenate([m.A[:3] for m in motions])
    needed = now.force(a) - np.concatenate([np.zeros(6), u])
    forces = np.linalg.lstsq(J.T, needed, rcond=None)[0]
    yield agree("minimal form: forces at the feet make this motion", J.T @ forces, needed, 1e-8)
    yield small("minimal form: feet do not accelerate", largest(J @ a + bias), 1e-8)
    yield small("minimal form: torques beyond their bound, N m", max(0.0, largest(u) - limit), 1e-6)
    F = forces.reshape(-1, 3)
    slip = float(np.max(np.linalg.norm(F[:, :2], axis=1) - friction * F[:, 2]))
    yield Figure("minimal form: |F_t| − μ F_n, largest of the feet, N", "≤ 0", f"{slip:.2f}", slip < 1e-6)


def _made(now: ReferenceState, feet: list[str], solution: Any) -> tuple[Array, Array]:
    """What Newton and Euler ask for this motion, and what torques and forces at the feet do."""
    pushed = sum(now.frame(foot).J.T @ solution.forces[foot] for foot in feet)
    return now.force(solution.acceleration), solution.torque + pushed


def _not_optimal(program: ChartProgram) -> float:
    """What is left of the gradient when rows at their bounds push as they may: zero at the optimum and nowhere else."""
    found, qp = program.solve(), program.program
    x = np.concatenate([found[name] for name in program.sizes])
    gradient, at = qp.H @ x + qp.f, qp.A @ x
    size = 1e-6 * (1 + np.abs(at))
    upper, lower = qp.A[np.abs(at - qp.upper) < size], qp.A[np.abs(at - qp.lower) < size]
    return unbalanced(-gradient, np.concatenate([upper, -lower])) / (1 + float(np.linalg.norm(gradient)))
