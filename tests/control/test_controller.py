"""The whole-body controller against programs that were assembled elsewhere, and in everything it promises in a loop."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
from bodies import FEET, monopod, standing, swaying, tripod
from numpy.testing import assert_allclose
from scipy.linalg import null_space
from support import load

import equipoise as eq
from equipoise.control.closed_form.chart_programs import FORMS, WholeBodyProblem, chart_program
from equipoise.control.closed_form.decoupling import output_dynamics
from equipoise.control.closed_form.motions import Motion, com_motion, frame_motion
from equipoise.control.closed_form.operational_space import operational_dynamics, task_inverse_dynamics
from equipoise.control.controller.context import Context
from equipoise.control.controller.layout import Items, Layout
from equipoise.control.controller.scene import Scene
from equipoise.control.controller.solution import ControlStatus
from equipoise.control.events import ControlEventKind
from equipoise.control.item import TaskError
from equipoise.control.qp import DaqpSolver, QuadraticProgram, Rows, Status, kkt_residuals
from equipoise.control.qp.cascade import solve_cascade
from equipoise.control.tasks import Task, Terms, VectorReference
from equipoise.geometry.pairs import PairSet
from equipoise.machine import cpu
from equipoise.machine.cached import UncacheableError, identity

HOME = np.array([0.2, 0.6, -0.3, -1.2, 0.4, 0.8, 0.1])


def on_feet(**options):
    return [eq.PointContact(foot, **options) for foot in FEET]


def swaying_tripod(rng, speed=0.3):
    robot, q = tripod(), standing(tripod())
    return robot, q, swaying(robot, rng, FEET, slice(0, 3), speed)


# --- optimality, against a program assembled with the robot's own methods ---------------------------------------------


def independent(robot, q, v, tasks, contacts, limit, dt=1e-3):
    """(a, τ, λ) over all of them, every equation of motion and every contact a row, in NumPy."""
    nv, n = robot.nv, robot.nv - 6
    J = [robot.jacobian(q, c.frame)[:3] for c in contacts]
    k = 3 * len(contacts)
    H, f = np.zeros((nv + n + k, nv + n + k)), np.zeros(nv + n + k)
    for rows, bias, wanted, weight in tasks:
        H[:nv, :nv] += weight * rows.T @ rows
        f[:nv] += weight * rows.T @ (bias - wanted)
    H[6:nv, 6:nv] += 1e-6 * np.eye(n)
    H[nv + n :, nv + n :] += 1e-6 * np.eye(k)
    dynamics = np.hstack([robot.mass_matrix(q), -np.eye(nv)[:, 6:], -np.vstack(J).T])
    held = np.hstack([np.vstack(J), np.zeros((k, n + k))])
    drift = np.concatenate([robot.bias_acceleration(q, v, c.frame)[:3] for c in contacts])
    torques = np.hstack([np.zeros((n, nv)), np.eye(n), np.zeros((n, k))])
    cones = np.zeros((4 * len(contacts), nv + n + k))
    for i, contact in enumerate(contacts):
        cones[4 * i : 4 * i + 4, nv + n + 3 * i : nv + n + 3 * i + 3] = _pyramid(contact.friction)
    A = np.vstack([dynamics, held, torques, cones])
    lower = np.concatenate([-robot.bias_force(q, v), -drift, np.full(n, -limit), np.full(len(cones), -np.inf)])
    upper = np.concatenate([-robot.bias_force(q, v), -drift, np.full(n, limit), np.zeros(len(cones))])
    x = DaqpSolver(refine=1e-12).solve(QuadraticProgram(H, f, A, lower, upper)).x
    return x[:nv], x[nv : nv + n], x[nv + n :]


def _pyramid(mu):
    """The inner pyramid of four edges: |x| and |y| within μ z / √2."""
    m = mu / np.sqrt(2)
    return np.array([[1, 0, -m], [-1, 0, -m], [0, 1, -m], [0, -1, -m]])


@pytest.mark.paper("B5", "Q3")
@pytest.mark.parametrize(("limit", "friction", "shift"), [(1e3, 5.0, 0.01), (22.0, 0.5, 0.1), (14.0, 0.3, 0.3)])
def test_the_optimum_is_that_of_the_full_program(limit, friction, shift, rng):
    """With nothing active, with some and with many rows active: a and τ to 1e-7."""
    robot, q, v = swaying_tripod(rng)
    contacts = on_feet(friction=friction)
    com, trunk = robot.com(q) + np.array([shift, shift / 2, 0.0]), robot.pose(q, "trunk")
    target = q.copy()
    target[7:] += 0.3
    tasks = [
        eq.CoMTask(com, weight=3.0),
        eq.FrameTask("trunk", trunk, axes="orientation", gain=7.0),
        eq.PostureTask(target),
    ]
    tasks.append(eq.MomentumTask(0.2, weight=0.5))
    solution = eq.WholeBodyController(robot, tasks, contacts, [eq.TorqueLimits(limits=limit)])(0.0, q, v)
    w = robot.velocity(q, v, "trunk")[3:]
    wanted = [
        (
            robot.com_jacobian(q),
            robot.com_bias(q, v),
            100 * (com - robot.com(q)) - 20 * (robot.com_jacobian(q) @ v),
            3.0,
        ),
        (robot.jacobian(q, "trunk")[3:], robot.bias_acceleration(q, v, "trunk")[3:], -14.0 * w, 1.0),
        (np.eye(robot.nv)[6:], 0.0, 25 * robot.difference(q, target)[6:] - 10 * v[6:], 1e-3),
        (robot.momentum_matrix(q)[3:], robot.momentum_bias(q, v)[3:], 5 * (0.2 - robot.momentum(q, v)[3:]), 0.5),
    ]
    a, tau, forces = independent(robot, q, v, wanted, contacts, limit)
    assert solution.status.ok and (len(solution.active) == 0) == (limit == 1e3)
    assert_allclose(solution.acceleration, a, rtol=0, atol=1e-7 * (1 + np.abs(a).max()))
    assert_allclose(solution.torque[6:], tau, rtol=0, atol=1e-7 * (1 + np.abs(tau).max()))
    assert_allclose(solution.x[9:], forces, rtol=0, atol=1e-6 * (1 + np.abs(forces).max()))
    assert solution.residuals.worst < 1e-9


@pytest.mark.paper("B5")
@pytest.mark.parametrize("kind", [eq.charts.UnitQuaternion, eq.charts.RotationMatrix, eq.charts.RollPitchYaw])
def test_the_three_forms_of_the_program_agree_with_each_other_and_with_the_controller(kind, rng):
    robot, q, v = swaying_tripod(rng)
    contacts = on_feet(friction=0.4)
    wanted = np.array([2.5, -1.0, 3.0])
    aim = eq.CoMTask(lambda t: (robot.com(q), robot.com_jacobian(q) @ v, wanted))
    solution = eq.WholeBodyController(robot, [aim], contacts, [eq.TorqueLimits(limits=15.0)])(0.0, q, v)
    problem = WholeBodyProblem(robot, q, v, [(com_motion(robot, q, v), wanted, 1.0)], contacts, 15.0)
    assert solution.active
    for form in FORMS:
        answer = chart_program(problem, form, kind).solve()
        assert_allclose(answer["a"], solution.acceleration, rtol=0, atol=1e-7 * (1 + np.abs(answer["a"]).max()))
        assert_allclose(answer["u"], solution.torque[6:], rtol=0, atol=1e-7 * (1 + np.abs(answer["u"]).max()))
    with pytest.raises(eq.EquipoiseError, match="projected"):
        chart_program(problem, "projcted")


@pytest.mark.paper("B5")
def test_points_of_contact_may_be_anywhere_on_a_body(rng):
    """A point beside the frame, on a surface that leans: its centripetal acceleration counts."""
    robot, q = monopod(), standing(monopod())
    contacts = [eq.PointContact("hand", name="knob", point=(0.05, 0.02, 0.1), normal=(0.3, 0.1, 1.0), friction=2.0)]
    J = robot.jacobian(q, "hand")
    arm = robot.pose(q, "hand")[:3, :3] @ contacts[0].point
    rows = J[:3] + np.array([np.cross(J[3:, k], arm) for k in range(robot.nv)]).T
    v = null_space(rows) @ rng.normal(size=robot.nv - 3)
    aim = eq.CoMTask(lambda t: (robot.com(q), robot.com_jacobian(q) @ v, np.zeros(3)))
    solution = eq.WholeBodyController(robot, [aim], contacts)(0.0, q, v)
    problem = WholeBodyProblem(robot, q, v, [(com_motion(robot, q, v), np.zeros(3), 1.0)], contacts)
    answer = chart_program(problem, "multiplier").solve()
    assert_allclose(answer["a"], solution.acceleration, rtol=0, atol=1e-7 * (1 + np.abs(answer["a"]).max()))


# --- levels and priorities --------------------------------------------------------------------------------------------


@pytest.mark.paper("Q3")
def test_torques_and_accelerations_agree_on_a_fixed_base(rng):
    """Where forces and torques do not limit, the same accelerations, and the torques that inverse dynamics gives."""
    robot = load("arm7")
    q, v = HOME, rng.normal(size=7)
    tasks = [eq.FrameTask("tool", robot.pose(HOME + 0.1, "tool")), eq.PostureTask(HOME)]
    made = {level: eq.WholeBodyController(robot, tasks, level=level)(0.0, q, v) for level in ("acceleration", "torque")}
    assert_allclose(made["torque"].acceleration, made["acceleration"].acceleration, rtol=0, atol=1e-7)
    tau = robot.inverse_dynamics(q, v, made["acceleration"].acceleration)
    assert_allclose(made["torque"].torque, tau, rtol=0, atol=1e-7 * (1 + np.abs(tau).max()))
    assert not made["acceleration"].torque.any()


@pytest.mark.paper("Q3")
def test_torques_and_accelerations_agree_on_contacts(rng):
    """On three feet every acceleration that the contacts allow can be made by forces: the same one is best."""
    robot, q, v = swaying_tripod(rng)
    tasks = [eq.CoMTask(robot.com(q) + 0.01), eq.FrameTask("trunk", axes="orientation"), eq.PostureTask(weight=1e-2)]
    options = {"motion_weight": 1e-9, "force_weight": 1e-13}
    made = [
        eq.WholeBodyController(robot, tasks, on_feet(friction=50.0, stiffness=0, damping=0), level=level, **options)(
            0.0, q, v
        )
        for level in ("torque", "acceleration")
    ]
    assert not made[0].active
    a = made[1].acceleration
    assert_allclose(made[0].acceleration, a, rtol=0, atol=1e-7 * (1 + np.abs(a).max()))


@pytest.mark.paper("Q3")
def test_velocities_are_what_accelerations_lead_to_in_one_step(rng):
    """From rest, gains k / dt and 1 / dt make the velocity after one step that of the velocity level."""
    robot, dt, k = tripod(), 2e-3, 6.0
    q, still = robot.random_state(rng)[0], np.zeros(15)
    goal = robot.pose(q, "foot_1")
    goal[:3, 3] += 0.05

    def tasks(**gains):
        return [
            eq.FrameTask("foot_1", goal, **gains),
            eq.CoMTask(robot.com(q) + 0.02, **gains),
            eq.PostureTask(**gains),
        ]

    fast = eq.WholeBodyController(robot, tasks(stiffness=k / dt, damping=1 / dt), level="acceleration", dt=dt)(
        0.0, q, still
    )
    slow = eq.WholeBodyController(robot, tasks(gain=k), level="velocity", dt=dt)(0.0, q, still)
    assert_allclose(fast.acceleration * dt, slow.velocity, rtol=0, atol=1e-7 * np.abs(slow.velocity).max())
    assert_allclose(slow.acceleration, slow.velocity / dt, rtol=1e-12)
    J, e = robot.jacobian(q, "foot_1"), np.array([0.05, 0.05, 0.05, 0, 0, 0])
    assert np.linalg.norm(J @ slow.velocity - k * e) < 0.05 * k * np.linalg.norm(e)


def strict_tasks(robot, q):
    far = robot.pose(q, "trunk")
    far[:3, 3] += [0.0, 0.0, 0.4]
    com = robot.com(q) + np.array([0.05, -0.03, 0.0])
    return [
        eq.CoMTask(com, priority=0, gain=8.0),
        eq.FrameTask("trunk", far, priority=1),
        eq.FrameTask("thigh_2", far, priority=2),
        eq.PostureTask(priority=3),
    ]


def levels_of(controller, solution):
    """Rows of each level of the cost, from the step: tasks in their order, the posture last."""
    d, layout, start, levels = solution.step.data, controller.layout, 0, []
    for size in layout.level_sizes:
        levels.append((d["R"][start : start + size], d["r"][start : start + size]))
        start += size
    used = np.flatnonzero(d["weights"])
    rows = np.eye(layout.unknowns)[used] * np.sqrt(d["weights"][used])[:, None]
    levels[-1] = (
        np.vstack((levels[-1][0], rows)),
        np.append(levels[-1][1], d["pulls"][used] / np.sqrt(d["weights"][used])),
    )
    return [Rows.equal(R, r) for R, r in levels]


@pytest.mark.paper("H6", "Q3")
@pytest.mark.parametrize("limit", [1e3, 20.0])
def test_strict_priorities_agree_with_a_cascade(limit, rng):
    robot, q, v = swaying_tripod(rng)
    tasks = strict_tasks(robot, q)
    limits = [eq.TorqueLimits(limits=limit)]
    controller = eq.WholeBodyController(
        robot, tasks, on_feet(friction=1.0), limits, priorities="strict", force_weight=1e-3
    )
    solution = controller(0.0, q, v)
    assert solution.status.ok
    levels, program = levels_of(controller, solution), solution.program
    top = Rows(program.A, program.lower, program.upper)
    rest = Rows.equal(np.diag(np.sqrt(controller.regularisation)), np.zeros(solution.x.size))
    reference = solve_cascade([*levels, rest], top, DaqpSolver().solve)
    assert reference.status is Status.OPTIMAL
    for level in levels:
        size = 1 + np.abs(level.lower).max()
        assert_allclose(level.A @ solution.x, level.A @ reference.x, rtol=0, atol=1e-7 * size)


@pytest.mark.paper("H6")
def test_weights_far_apart_tend_to_strict_priorities(rng):
    robot, q, v = swaying_tripod(rng)
    strict = eq.WholeBodyController(robot, strict_tasks(robot, q), on_feet(), priorities="strict")(
        0.0, q, v
    ).acceleration
    errors = []
    for ratio in (1e2, 1e3):
        tasks = [replace(task, weight=ratio ** (2 - k)) for k, task in enumerate(strict_tasks(robot, q)[:3])]
        tasks.append(eq.PostureTask(weight=ratio**-1.0))
        options = {"force_weight": 1e-12, "motion_weight": 1e-12}
        a = eq.WholeBodyController(robot, tasks, on_feet(), **options)(0.0, q, v).acceleration
        errors.append(np.abs(robot.com_jacobian(q) @ (a - strict)).max())
    assert errors[1] < 0.2 * errors[0] < 0.2  # as one over the ratio


@pytest.mark.paper("H6")
def test_a_lower_priority_never_disturbs_a_higher_one(rng):
    robot, q, v = swaying_tripod(rng)
    alone = eq.WholeBodyController(robot, strict_tasks(robot, q)[:1], on_feet(friction=9.0), priorities="strict")(
        0.0, q, v
    )
    all_four = eq.WholeBodyController(robot, strict_tasks(robot, q), on_feet(friction=9.0), priorities="strict")(
        0.0, q, v
    )
    J = robot.com_jacobian(q)
    assert_allclose(J @ alone.acceleration, J @ all_four.acceleration, rtol=0, atol=1e-7)
    assert np.abs(alone.acceleration - all_four.acceleration).max() > 0.1


@pytest.mark.parametrize("priorities", ["weighted", "strict"])
def test_two_postures_of_different_priority_are_both_served(priorities, rng):
    robot = load("arm7")
    some = eq.PostureTask(HOME + 0.2, name="some", priority=0, weight=(1.0, 1, 1, 0, 0, 0, 0))
    rest = eq.PostureTask(HOME - 0.2, name="rest", priority=1, weight=1e-3)
    a = eq.WholeBodyController(robot, [some, rest], level="acceleration", priorities=priorities, motion_weight=1e-12)(
        0.0, HOME, np.zeros(7)
    ).acceleration
    share = 1.0 if priorities == "strict" else (1 - 1e-3) / (1 + 1e-3)
    assert_allclose(a[:3], 5.0 * share, rtol=1e-6)
    assert_allclose(a[3:], -5.0, rtol=1e-6)


# --- special cases ----------------------------------------------------------------------------------------------------


@pytest.mark.paper("H6")
def test_task_inverse_dynamics_is_the_case_of_one_hard_task(rng):
    """The shortest acceleration with the task's: all that is left of the cost is the regularisation."""
    robot = load("arm7")
    q, v = robot.random_state(rng)
    goal = robot.pose(q, "tool")
    goal[:3, 3] += 0.1
    solution = eq.WholeBodyController(robot, [eq.FrameTask("tool", goal, hard=True)])(0.0, q, v)
    motion = frame_motion(robot, q, v, "tool", turning=True)
    wanted = 100 * np.array([0.1, 0.1, 0.1, 0, 0, 0]) - 20 * (motion.J @ v)
    torque = task_inverse_dynamics(robot, q, v, motion, wanted)
    assert_allclose(solution.torque, torque.torque, rtol=0, atol=1e-7 * (1 + np.abs(solution.torque).max()))


@dataclass(frozen=True, eq=False)
class LeastConstraint(Task):
    """A task of a user: (τ − τ₀)ᵀ M⁻¹ (τ − τ₀), the measure of operational-space control, as squares of R a + R⁻ᵀ (h −
    τ₀)."""

    target: object = None

    def here(self, robot, q):
        return np.zeros(robot.nv)

    def reference(self, context):
        return VectorReference(self.label, context.robot.nv)

    def terms(self, scene: Scene, reference) -> Terms:
        import casadi

        R = casadi.chol(scene.mass_matrix)  # M = Rᵀ R
        none = 0 * reference.value
        return Terms(none, R, none, casadi.solve(R.T, scene.bias_force - reference.value), none, none)


@pytest.mark.paper("H6")
def test_operational_space_control_is_a_hard_task_with_torques_measured_by_the_inverse_mass_matrix(rng):
    robot = load("arm7")
    q, v = robot.random_state(rng)
    free = rng.normal(size=7)
    goal = robot.pose(q, "tool")[:3, 3] + 0.1
    rest = LeastConstraint(free, name="rest", gain=0.0)
    reach = eq.FrameTask("tool", goal, axes="position", hard=True)
    controller = eq.WholeBodyController(robot, [reach, rest], motion_weight=1e-14)
    motion = frame_motion(robot, q, v, "tool")
    wanted = 10.0 * np.ones(3) - 20 * (motion.J @ v)
    torque = operational_dynamics(robot, q, v, motion).torque(wanted, free)
    assert_allclose(controller(0.0, q, v).torque, torque, rtol=0, atol=1e-7 * (1 + np.abs(torque).max()))


@pytest.mark.paper("E7")
def test_decoupling_control_is_the_case_of_as_many_rows_as_freedoms(rng):
    """Six rows of a pose and one of a joint decide an arm of seven joints: u = M' (…) + f' are the torques."""
    robot = load("arm7")
    q, v = robot.random_state(rng)
    goal = robot.pose(q, "tool")
    goal[:3, 3] -= 0.05
    weight = np.zeros(7)
    weight[2] = 1.0
    tasks = [eq.FrameTask("tool", goal, gain=6.0), eq.PostureTask(q + 0.1, weight=weight, gain=6.0)]
    solution = eq.WholeBodyController(robot, tasks, motion_weight=1e-14)(0.0, q, v)
    joint = Motion(np.eye(7)[2:3], np.zeros(1))
    outputs = frame_motion(robot, q, v, "tool", turning=True).above(joint)
    law = output_dynamics(robot.mass_matrix(q), robot.bias_force(q, v), outputs.J, outputs.bias)
    e = np.array([0.05, 0.05, 0.05, 0, 0, 0, -0.1])
    torque = law.torque(law.control(e, outputs.J @ v, 36.0, 12.0))
    assert_allclose(solution.torque, torque, rtol=0, atol=1e-6 * (1 + np.abs(torque).max()))


# --- in the loop ------------------------------------------------------------------------------------------------------


def test_fewer_contacts_are_a_controller_built_with_fewer(rng):
    robot, q, v = swaying_tripod(rng)
    tasks, limits = [eq.CoMTask(robot.com(q)), eq.PostureTask(q)], [eq.TorqueLimits(), eq.JointLimits()]
    whole = eq.WholeBodyController(robot, tasks, on_feet(), limits)
    fewer = eq.WholeBodyController(robot, tasks, on_feet()[:2], limits)
    full = whole(0.0, q, v)
    whole.set_contacts(FEET[:2])
    one, other = whole(0.0, q, v), fewer(0.0, q, v)
    assert set(one.forces) == set(FEET[:2]) and len(full.forces) == 3
    assert_allclose(one.acceleration, other.acceleration, rtol=0, atol=1e-9 * (1 + np.abs(other.acceleration).max()))
    assert_allclose(one.torque, other.torque, rtol=0, atol=1e-9 * (1 + np.abs(other.torque).max()))
    assert one.program.names == other.program.names
    whole.set_contacts(FEET)
    assert_allclose(whole(0.0, q, v).torque, full.torque, rtol=0, atol=1e-9 * (1 + np.abs(full.torque).max()))
    with pytest.raises(eq.EquipoiseError, match="foot_0"):
        whole.set_contacts(["foot"])


def test_a_contact_is_anchored_where_it_is_made(rng):
    """Also when it is named again before the next call, and where q is given."""
    robot, q, _ = swaying_tripod(rng)
    still = np.zeros(robot.nv)
    controller = eq.WholeBodyController(robot, [eq.CoMTask(), eq.PostureTask()], on_feet())
    controller(0.0, q, still)
    controller.set_contacts(FEET[:2])
    moved = q.copy()
    moved[robot.joints["lift_2"].q] += 0.1
    controller(0.0, moved, still)
    controller.set_contacts(FEET)
    controller.set_contacts(FEET)
    solution = controller(0.0, moved, still)
    assert not solution.events
    assert_allclose(controller.settings.numbers("foot_2")["anchor"], robot.pose(moved, "foot_2"))
    controller.set_contacts(FEET[:2])
    controller.set_contacts(FEET, q)
    assert_allclose(controller.settings.numbers("foot_2")["anchor"], robot.pose(q, "foot_2"))


@pytest.mark.parametrize("priorities", ["weighted", "strict"])
def test_a_warm_start_changes_nothing_but_the_work(priorities, rng):
    robot, q, v = swaying_tripod(rng)
    com = robot.com(q) + np.array([0.3, 0.1, 0.0])
    tasks = [eq.CoMTask(com), eq.FrameTask("trunk", axes="orientation", priority=1), eq.PostureTask(priority=2)]

    def cold(tasks, priorities, robot):
        made = eq.WholeBodyController(
            robot, tasks, on_feet(friction=0.4), [eq.TorqueLimits(limits=30.0)], priorities=priorities
        )
        made(0.0, q, np.zeros(robot.nv))  # anchors
        made._solver.forget()
        return made

    warm = cold(tasks, priorities, robot)
    warm(0.0, q, v)
    for k in range(5):
        moved = robot.integrate(q, v, 1e-4 * k)
        one = warm(0.0, moved, v)
        other = cold(tasks, priorities, robot)(0.0, moved, v)
        assert one.active and set(one.active) == set(other.active)
        assert_allclose(one.torque, other.torque, rtol=0, atol=1e-6 * (1 + np.abs(other.torque).max()))


@pytest.mark.parametrize("level", ["velocity", "acceleration", "torque"])
def test_a_state_that_is_none_holds_the_joints_and_is_counted(level):
    robot, q = monopod(), standing(monopod())
    limits = [eq.TorqueLimits()] if level == "torque" else []
    controller = eq.WholeBodyController(robot, [eq.PostureTask()], [eq.FlatContact("foot")], limits, level=level)
    first = controller(0.0, np.full(robot.nq, np.nan), np.zeros(robot.nv))  # even before anything good
    assert first.status is ControlStatus.NOT_FINITE and np.isfinite(first.torque).all()
    good = controller(0.0, q, np.zeros(robot.nv))
    for spoilt in (np.nan, np.inf, -np.inf):
        v = np.full(robot.nv, 0.1)
        v[8] = spoilt
        held = controller(0.1, q, v)
        assert held.status is ControlStatus.NOT_FINITE and held.status.fallback and not held.status.ok
        rates = np.where(np.isfinite(v), v, 0.0)
        if level == "torque":
            assert_allclose(held.torque[6:], good.torque[6:] - 5.0 * rates[6:], rtol=1e-12)
        assert_allclose(held.acceleration, -5.0 * rates if level == "acceleration" else 0.0)
        assert not held.velocity.any() and not held.torque[:6].any()
        assert "NaN or infinity" in held.explain() and held.margins == {} and held.conflict == ()
    twisted = q.copy()
    twisted[3:7] *= 1.1
    held = controller(0.2, twisted, np.zeros(robot.nv))
    assert held.status is ControlStatus.NOT_UNIT and "length 1" in held.explain()
    assert controller(0.3, q, np.zeros(robot.nv)).status.ok
    assert (
        controller.counts["not_finite"] == 4
        and controller.counts["not_unit"] == 1
        and controller.counts["optimal"] == 2
    )
    controller.reset()
    assert controller(0.0, twisted, np.zeros(robot.nv)).status is ControlStatus.NOT_UNIT


def test_states_of_a_wrong_shape_or_kind_are_told_and_answered():
    robot, q = monopod(), standing(monopod())
    controller = eq.WholeBodyController(robot, [eq.PostureTask()], constraints=[eq.TorqueLimits()])
    good, v = controller(0.0, q, np.zeros(robot.nv)), np.zeros(robot.nv)
    for state in ((np.zeros(robot.nv), v), (q, q), ("standing", v), (None, v), ([[1.0], [2.0, 3.0]], v), (q, v + 1j)):
        solution = controller(0.1, *state)
        assert solution.status is ControlStatus.BAD_STATE and solution.events[0].kind is ControlEventKind.BAD_STATE
        assert_allclose(solution.torque, good.torque)
        assert solution.forces == {} and solution.margins == {} and solution.explain()
    assert controller(None, q, v).status.fallback and controller(np.nan, q, v).status.fallback
    assert controller.counts["errors"] == 0


def test_a_contact_that_slips_away_is_lost_and_said_so():
    robot, q = tripod(), standing(tripod())
    controller = eq.WholeBodyController(robot, [eq.CoMTask(), eq.PostureTask()], on_feet(), slip_limit=0.02)
    still = np.zeros(robot.nv)
    controller(0.0, q, still)
    there, q = q, q.copy()
    q[robot.joints["lift_1"].q] += 0.15
    for wrong in (there, q, q, there, q, q):  # one sample, or two, may be wrong
        assert not controller(0.001, wrong, still).events and controller.in_force == set(FEET)
    solution = controller(0.001, q, still)
    assert [str(e) for e in solution.events] == ["contact foot_1 lost: it slipped more than 0.02"]
    assert set(solution.forces) == {"foot_0", "foot_2"} and solution.status.ok
    assert "Contact foot_1 lost" in solution.explain()
    assert controller.counts["contact_lost"] == 1
    assert not controller(0.002, q, still).events
    controller.set_contacts(FEET)
    assert set(controller(0.003, q, still).forces) == set(FEET)


def test_targets_are_functions_of_time_with_their_rates(rng):
    robot = load("arm7")
    v = rng.normal(size=7)
    place, rate, acceleration = robot.pose(HOME, "tool")[:3, 3] + 0.1, rng.normal(size=3), rng.normal(size=3)
    tasks = [eq.FrameTask("tool", axes="position"), eq.PostureTask(HOME)]
    controller = eq.WholeBodyController(robot, tasks, level="acceleration")
    controller(0.0, HOME, v)
    controller.set_target("tool", (place + 0.5 * rate, rate, acceleration))
    constant = controller(0.5, HOME, v).acceleration
    controller.set_target("tool", lambda t: (place + t * rate, rate, acceleration))
    assert_allclose(controller(0.5, HOME, v).acceleration, constant, rtol=0, atol=1e-10)
    assert np.abs(controller(0.6, HOME, v).acceleration - constant).max() > 1e-2
    controller.set_target("tool", None)  # where it is
    assert controller(0.7, HOME, v).task_errors["tool"] == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(TaskError, match="place"):
        controller.set_target("tool", np.zeros(2))
    with pytest.raises(eq.EquipoiseError, match="tool"):
        controller.set_target("tol", place)


def test_a_target_that_cannot_be_is_refused_and_the_last_one_stays():
    robot = load("arm7")
    goal = robot.pose(HOME + 0.1, "tool")
    now = {"target": goal}
    controller = eq.WholeBodyController(robot, [eq.FrameTask("tool", lambda t: now["target"])], level="acceleration")
    good = controller(0.0, HOME, np.zeros(7))
    for spoilt in (np.full((4, 4), np.nan), 2 * goal, np.zeros(5)):
        now["target"] = spoilt
        solution = controller(0.1, HOME, np.zeros(7))
        assert (
            solution.status.ok
            and "refused" in str(solution.events[0])
            and "Target of tool refused" in solution.explain()
        )
        assert_allclose(solution.acceleration, good.acceleration)
    assert controller.counts["target_refused"] == 3


def test_hard_tasks_hold_exactly(rng):
    robot, q, v = swaying_tripod(rng)
    com, roomy = robot.com(q) + 0.01, on_feet(friction=5.0)
    force = eq.ForceTask("foot_0", (1.0, -2.0, 60.0), hard=True)
    tasks = [eq.CoMTask(com, hard=True), force, eq.FrameTask("trunk", weight=10.0), eq.PostureTask()]
    controller = eq.WholeBodyController(robot, tasks, roomy, [eq.TorqueLimits(limits=1e4)])
    solution = controller(0.0, q, v)
    wanted = 100 * (com - robot.com(q)) - 20 * (robot.com_jacobian(q) @ v)
    assert solution.status.ok
    assert_allclose(robot.com_jacobian(q) @ solution.acceleration + robot.com_bias(q, v), wanted, rtol=0, atol=1e-8)
    assert_allclose(solution.forces["foot_0"][:3], [1, -2, 60], rtol=0, atol=1e-7)
    controller.set_contacts(FEET[1:])  # nobody can ask for forces of a contact that is not there
    assert controller(0.0, q, v).status.ok


def test_weights_can_be_changed(rng):
    robot, q, v = swaying_tripod(rng)
    controller = eq.WholeBodyController(robot, [eq.CoMTask(robot.com(q) + 0.05), eq.PostureTask()], on_feet())
    controller(0.0, q, v)
    controller.set_weight("centre of mass", 7.0)
    controller.set_weight("posture", 0.5)
    tasks = [eq.CoMTask(robot.com(q) + 0.05, weight=7.0), eq.PostureTask(weight=0.5)]
    other = eq.WholeBodyController(robot, tasks, on_feet())
    assert_allclose(controller(0.0, q, v).torque, other(0.0, q, v).torque, rtol=0, atol=1e-9)
    with pytest.raises(TaskError, match="negative"):
        controller.set_weight("posture", -1.0)


def test_damping_and_regularisation_are_named_and_nothing_else_is_hidden(rng):
    """The Hessian of the step is that of the tasks and of `regularisation`, to rounding."""
    robot, q, v = swaying_tripod(rng)
    tasks = [eq.CoMTask(), eq.PostureTask(weight=0.0)]
    controller = eq.WholeBodyController(robot, tasks, on_feet(), motion_weight=1e-4, force_weight=1e-5)
    assert_allclose(controller.regularisation, [1e-4] * 9 + [1e-5] * 9)
    H = controller(0.0, q, v).program.H
    assert np.linalg.matrix_rank(H - np.diag(controller.regularisation), tol=1e-9) == 3
    with pytest.raises(TaskError, match="motion_weight must be positive"):
        eq.WholeBodyController(robot, tasks, motion_weight=0.0)


def test_the_first_step_says_what_cannot_be_promised():
    """Lemma 4.1, exactly: ḋ ≥ −fast · d."""
    robot = load("arm7")
    top = robot.pose(HOME, "tool")[2, 3]
    v = np.zeros(7)
    v[1] = 1.0
    sinking = robot.jacobian(HOME, "tool")[2] @ v
    edge = abs(sinking) / 20.0
    for gap, admitted in ((1.001 * edge, True), (0.999 * edge, False), (-0.1, False)):
        floor = eq.KeepOut(eq.Point((0, 0, 0), "tool"), eq.Plane((0, 0, 1.0), top - gap), name="floor")
        controller = eq.WholeBodyController(robot, [eq.PostureTask()], constraints=[floor], level="acceleration")
        solution = controller(0.0, HOME, v * np.sign(-sinking))
        assert (solution.events == ()) == admitted and tuple(map(str, solution.events)) == controller.start_report
        assert all(event.item == "floor" and "floor" in str(event) for event in solution.events)
        assert not controller(0.001, HOME, v).events
    assert "brought back" in solution.explain() and "Outside and coming back: floor by 0.1" in solution.explain()


def test_legs_do_not_touch_each_other():
    robot, q, dt = tripod(), standing(tripod()), 2e-3
    shanks = [eq.Capsule((0, 0, 0), (0, 0, -0.3), 0.03, f"shank_{k}") for k in range(3)]
    pairs = [(shanks[0], shanks[1]), (shanks[1], shanks[2]), (shanks[2], shanks[0])]
    middle = (robot.pose(q, "foot_0")[:3, 3] + robot.pose(q, "foot_1")[:3, 3]) / 2
    tasks = [eq.FrameTask(foot, middle, axes="position", gain=8.0) for foot in FEET[:2]]
    legs = eq.SelfCollision(pairs, safe=0.02)
    controller = eq.WholeBodyController(
        robot, [*tasks, eq.PostureTask(), eq.FrameTask("trunk")], constraints=[legs], level="acceleration", dt=dt
    )
    v, least = np.zeros(robot.nv), np.inf
    distances = PairSet(robot, tuple(pairs))
    for k in range(500):
        solution = controller(k * dt, q, v)
        assert solution.status.ok
        q = robot.integrate(q, v + solution.acceleration * dt / 2, dt)
        v = v + solution.acceleration * dt
        least = min(least, float(distances.distances(q).min()))
    assert 0.02 - 1e-4 < least < 0.025  # `variation` is zero here: what bends within a step is not accounted for
    assert solution.active == ("self-collision of shank_0 and shank_1",)
    assert solution.margins["self-collision"] == pytest.approx(least - 0.02, abs=1e-3)


def test_a_solution_certifies_itself(rng):
    robot, q, v = swaying_tripod(rng)
    tasks = [eq.CoMTask(robot.com(q) + np.array([0.2, 0, 0])), eq.PostureTask()]
    solution = eq.WholeBodyController(robot, tasks, on_feet(friction=0.3), [eq.TorqueLimits(limits=30.0)])(0.0, q, v)
    assert solution.active
    program = solution.program
    multipliers = np.concatenate((solution.step.multipliers_E, solution.multipliers))
    residuals = kkt_residuals(program, solution.x, multipliers, np.zeros(len(program.f)))
    assert residuals.worst < 1e-8
    assert len(program.A) == len(program.names)


def test_steps_at_limits_are_counted(rng):
    robot, q, v = swaying_tripod(rng)
    controller = eq.WholeBodyController(robot, [eq.CoMTask(), eq.PostureTask()], on_feet(friction=0.4))
    assert not controller(0.0, q, np.zeros(robot.nv)).active
    controller.set_target("centre of mass", robot.com(q) + np.array([0.3, 0.0, 0.0]))
    assert controller(0.0, q, v).active
    assert controller.counts["at_limits"] == 1


def key_of(*items, robot=None):
    robot = robot or load("arm7")
    contacts = {i.label: i for i in items if isinstance(i, eq.Contact)}
    kinds = [tuple(i for i in items if isinstance(i, kind)) for kind in (eq.Task, eq.Contact, eq.Constraint)]
    return identity(Layout(Context(robot, "torque", 1e-3, contacts), Items(*kinds), strict=False), set())


def test_items_of_a_user_are_traced_at_each_start_and_compiled_once(monkeypatch, tmp_path):
    """Their code has no name; what is traced of it has one. The second of two equal controllers finds the machine code,
    one whose code differs is another."""
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    compiled, emitted = [], cpu.compile_ir
    monkeypatch.setattr(cpu, "compile_ir", lambda text: compiled.append(text) or emitted(text))

    def pull(factor):
        class Scaled(LeastConstraint):
            def terms(self, scene, reference):
                return super().terms(scene, type(reference)(value=factor * reference.value))

        with pytest.raises(UncacheableError):
            key_of(Scaled(name="rest"))
        return eq.WholeBodyController(robot, [Scaled(np.ones(7), name="rest")])(0.0, HOME, np.zeros(7)).acceleration

    robot = load("arm7")
    first, again, other = pull(2.0), pull(2.0), pull(3.0)
    assert len(compiled) == 2
    assert_allclose(first, again, rtol=0, atol=0)
    assert np.abs(other - first).max() > 1e-3


def test_kernels_are_named_by_structure_and_not_by_numbers():
    assert key_of(eq.CoMTask(np.zeros(3), weight=2.0)) == key_of(eq.CoMTask(np.ones(3), gain=4.0, name="other"))
    assert key_of(eq.CoMTask()) != key_of(eq.CoMTask(axes="x y"))
    assert key_of(eq.CoMTask()) != key_of(eq.CoMTask(hard=True))
    assert key_of(eq.TorqueTask(1.0)) == key_of(eq.TorqueTask(2.0))
    assert key_of(eq.PointContact("tool", friction=0.5)) == key_of(
        eq.PointContact("tool", friction=0.6, normal=(1, 0, 0))
    )
    assert key_of(eq.PointContact("tool", edges=4)) != key_of(eq.PointContact("tool", edges=8))
    ball, plane = eq.Sphere((0, 0, 0), 0.05, "tool"), eq.Plane((0, 0, 1.0), 0.1)
    assert key_of(eq.KeepOut(ball, plane, safe=0.1)) == key_of(eq.KeepOut(ball, eq.Plane((1.0, 0, 0), 0.3)))
    assert key_of(eq.KeepOut(ball, plane)) != key_of(eq.KeepOut(eq.Sphere((0, 0, 0), 0.06, "tool"), plane))
    assert key_of(eq.KeepOut(ball, plane)) != key_of(eq.KeepIn(ball, plane))


def test_frames_name_kernels_by_their_place():
    """Two robots that differ only in where a frame is do not share a kernel; two names of one place do."""
    robot, X, Y = load("arm7"), np.eye(4), np.eye(4)
    X[0, 3] = 0.1
    here, there = robot.with_frame("spot", "tool", X), robot.with_frame("spot", "tool", Y)
    other = robot.with_frame("place", "tool", X)
    assert key_of(eq.FrameTask("spot"), robot=here) != key_of(eq.FrameTask("spot"), robot=there)
    assert key_of(eq.FrameTask("spot"), robot=here) == key_of(eq.FrameTask("place"), robot=other)
    keep = [eq.KeepOut(eq.Point((0, 0, 0), "spot"), eq.Plane((0, 0, 1.0)))]
    assert key_of(*keep, robot=here) != key_of(*keep, robot=there)


@pytest.mark.slow
def test_a_second_start_does_not_import_casadi():
    code = (
        "import sys, numpy as np, equipoise as eq\n"
        "robot = eq.load('arm7')\n"
        "c = eq.WholeBodyController(robot, [eq.FrameTask('tool'), eq.PostureTask()], (), [eq.TorqueLimits(), "
        "eq.JointLimits()])\n"
        "assert c(0.0, robot.neutral(), np.zeros(robot.nv)).status.ok\n"
        "print('casadi' in sys.modules)"
    )
    first, second = (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(2)
    )
    assert second.stdout.strip() == "False", first.stdout


def test_memory_of_the_solver_is_that_of_the_kernel():
    """Nothing is copied on the way: what the kernel writes is what the solver reads."""
    controller = eq.WholeBodyController(load("arm7"), [eq.FrameTask("tool"), eq.PostureTask()], (), [eq.TorqueLimits()])
    for name in ("R", "r", "weights", "A", "lower", "upper"):
        assert np.shares_memory(controller._data[name], controller._solver.data[name])


def test_a_posture_that_gives_way_to_other_tasks_is_not_reported():
    """That is its purpose: a squat moves the legs away from their posture, and nobody has to change a weight."""
    standing = eq.Standing(eq.load("quadruped"))
    standing.squat(0.1)
    run = eq.simulate(standing.robot, standing, duration=3.0)
    assert np.linalg.norm(standing.controller.step.errors["posture"]) > 0.1  # a steady error, which other tasks cause
    assert not [event for event in run.events if "off its target" in event[1]]


def test_a_task_that_others_outweigh_says_so_once():
    """A squat of 80 mm under a heavy posture task moves nothing and is optimal: an event names both; with weight,
    none."""
    from equipoise.control.events import ControlEventKind

    robot = eq.load("quadruped")
    q, v = robot.standing(), np.zeros(robot.nv)
    feet = [eq.PointContact(frame) for frame in robot.frames if frame.endswith("foot")]
    told = {}
    for weight in (1e-3, 1e3):
        com = eq.CoMTask(robot.com(q) - [0, 0, 0.08], name="squat", weight=weight, gain=8.0)
        controller = eq.WholeBodyController(robot, [com, eq.PostureTask(q, weight=1.0, gain=8.0)], feet, dt=1e-3)
        events = [event for k in range(12) for event in controller(0.1 * k, q, v).events]
        told[weight] = [event for event in events if event.kind is ControlEventKind.OUTWEIGHED]
        controller.reset()
        assert not [e for e in controller(9.0, q, v).events if e.kind is ControlEventKind.OUTWEIGHED]  # forgotten
    assert [event.item for event in told[1e-3]] == ["squat"]
    assert "0.08" in str(told[1e-3][0]) and "posture pulls the other way" in str(told[1e-3][0])
    assert told[1e3] == []
