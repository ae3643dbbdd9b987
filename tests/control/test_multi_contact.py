"""The multi-contact strategy of [QO21, Fig. 4.13]: which attempt fulfils a task, and what holds on every step of the
way."""

from __future__ import annotations

from dataclasses import replace

import human_contacts as hc
import numpy as np
import pytest
from bodies import written
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.balance.support import support_polygon
from equipoise.control.body_contacts import palm
from equipoise.control.item import TaskError
from equipoise.control.stances import multi_contact
from equipoise.control.stances.events import Outcome, Reason
from equipoise.control.stances.leaning import area_slopes, edge_rows, returning
from equipoise.control.tasks import HullAreaTask, SurfaceTask

HEIGHT = 0.85
REGION = [[0.35, 0.0, HEIGHT], [0.75, 0.0, HEIGHT], [0.75, 0.5, HEIGHT], [0.35, 0.5, HEIGHT]]
FEET = ("left_foot", "right_foot")
MARGIN = 0.02


@pytest.fixture(scope="module")
def human():
    return eq.load("human")


def made(human, gain=1.0, **options):
    ball = eq.FrameTask("right_hand", [1.0, -0.2, 1.0], axes="position", gain=gain, name="ball")
    feet, hand = [hc.flat(human, name) for name in FEET], hc.flat(human, "left_hand")
    table = eq.Plane((0.0, 0.0, 1.0), HEIGHT)
    return eq.MultiContact(human, ball, feet, hand, table, region=REGION, margin=MARGIN, **{"dt": 0.02, **options})


@pytest.fixture(scope="module")
def machine(human):
    return made(human)


def reached(machine, x):
    machine.controller.set_target("ball", np.array([x, -0.2, 1.0]))
    return machine.run(machine.robot.standing())


def corners(robot, q, frame):
    return np.array([robot.pose(q, f"{frame}_corner_{k}")[:3, 3] for k in range(4)])


def assert_kept(machine, report):
    """On the whole way: feet stay, joints within limits, and the centre of mass above feet, or feet and the hand on the
    table."""
    robot = machine.robot
    start = [robot.pose(report.path[0], name) for name in FEET]
    relative = np.linalg.inv(start[0]) @ start[1]
    for q in report.path[::7]:
        poses = [robot.pose(q, name) for name in FEET]
        assert_allclose(poses, start, atol=2e-3)  # steps of 10 ms; what slips in one is undone in the next
        assert_allclose(np.linalg.inv(poses[0]) @ poses[1], relative, atol=2e-3)  # [QO21, Eq. (4.58)]
        assert (q[7:] >= robot.limits.lower[7:] - 1e-6).all() and (q[7:] <= robot.limits.upper[7:] + 1e-6).all()
        hand = corners(robot, q, "left_hand")
        if hand[:, 0].min() > 0.36 and hand[:, 1].min() > 0.0:  # above the table, not in it
            assert hand[:, 2].min() > HEIGHT - 5e-3
        touching = np.abs(hand[:, 2] - HEIGHT).max() < 5e-3
        points = np.concatenate([corners(robot, q, name) for name in FEET] + ([hand] if touching else []))
        assert support_polygon(points).margin(robot.com(q)) > MARGIN - 3e-3  # of steps of 20 ms


@pytest.mark.paper("Q8")
@pytest.mark.parametrize(
    ("x", "step"),
    [
        (1.0, 1),
        (1.2, 2),
        *(pytest.param(x, step, marks=pytest.mark.slow) for x, step in ((1.32, 3), (1.36, 4), (1.8, 0))),
    ],
)
def test_each_attempt_reaches_farther(human, machine, x, step):
    report = reached(machine, x)
    assert report.success is (step > 0) and report.step == step
    assert len(report.attempts) == (step or 4)
    assert [a.success for a in report.attempts] == [False] * (len(report.attempts) - 1) + [step > 0]
    names = ["try", "make contact and try", "enlarge the support and try", "slide and try"]
    assert [a.name for a in report.attempts] == names[: len(report.attempts)]
    away = np.linalg.norm(human.pose(report.q, "right_hand")[:3, 3] - [x, -0.2, 1.0])
    assert bool(away < machine.tolerance) is (step > 0)
    assert ("task done" if step else "task failed") in str(report)
    assert machine.outcome is (Outcome.COMPLETED if step else Outcome.FAILED)
    assert_kept(machine, report)
    if step > 1:
        assert_allclose(corners(human, report.q, "left_hand")[:, 2], HEIGHT, atol=5e-3)
        assert report.attempts[1].area > 1.5 * report.attempts[0].area  # m²: the hand widens the support
    if step > 2:
        assert report.attempts[2].area > 1.3 * report.attempts[1].area
        middle = corners(human, report.q, "left_hand").mean(0)
        assert 0.34 < middle[0] < 0.76 and -0.01 < middle[1] < 0.51  # within the region


@pytest.mark.paper("Q8")
def test_a_table_out_of_reach_ends_in_failure(human):
    """The contact cannot be made: told, and nothing else is tried."""
    machine = made(human, patience=0.6, time_out=4.0)
    machine.walls = tuple(eq.Plane(w.normal, w.offset + 3.0 * w.normal[0]) for w in machine.walls)
    machine.controller.set_target("ball", np.array([2.0, -0.2, 1.0]))
    report = machine.run(human.standing(), seconds=30)
    assert not report.success and len(report.attempts) == 2
    assert "does not reach the surface" in report.attempts[1].reason
    assert machine.outcome is Outcome.FAILED and machine.log[-1].reason is Reason.NO_CONTACT
    assert machine.log[-1].text == "failed: the contact cannot be made"


@pytest.mark.slow
@pytest.mark.paper("Q8")
def test_feet_held_in_the_cooperative_dual_task_space(human, machine):
    """Relative and absolute pose of the feet [QO21, Eqs. (4.58), (4.59)] hold them as one by one does."""
    together = made(human, cooperative=True)
    report = reached(together, 1.0)
    assert report.success and report.step == 1
    assert_kept(together, report)
    separate = reached(machine, 1.0)
    n = min(len(report.path), len(separate.path))
    assert_allclose(report.path[: n // 2], separate.path[: n // 2], atol=2e-2)


@pytest.mark.paper("Q8")
@pytest.mark.parametrize("kind", ["surface", "area"])
def test_tasks_are_consistent_with_motion(human, rng, kind):
    """ẏ = J v and ÿ = J̇ v at a = 0, by differences along the motion."""
    if kind == "surface":
        task, p = SurfaceTask("left_hand", normal=(0, 0, 1), point=(0.02, 0.01, 0)), np.array([0, 0, 1.0, 0.8])
    else:
        points = [(0.1, 0.0, 0.0), (-0.1, 0.05, 0.0)]
        task, p = HullAreaTask("left_hand", points), np.array([0.3, -0.2, 0.1, 0.4, 0.5])

    def write(scene, reference):
        terms = task.terms(scene, reference)
        return {"error": terms.error, "J": terms.J, "drift": terms.drift}

    terms = written(human, task, write)
    q, v = human.random_state(rng)
    h = 1e-6
    before, now, after = (terms(human.integrate(q, v, k * h), v, target=p) for k in (-1, 0, 1))
    e0, e1, J0, J, J1, drift = before["error"], after["error"], before["J"], now["J"], after["J"], now["drift"]
    assert_allclose((J1 - J0) @ v / (2 * h), drift, rtol=1e-6, atol=1e-6)
    if kind == "surface":
        assert_allclose(-(e1 - e0) / (2 * h), J @ v, rtol=1e-6, atol=1e-7)
    else:
        g, corners = (
            p[:4].reshape(2, 2),
            lambda q: np.array([(human.pose(q, "left_hand") @ [*s, 1.0])[:2] for s in points]),
        )
        rate = np.sum(g * (corners(human.integrate(q, v, h)) - corners(human.integrate(q, v, -h)))) / (2 * h)
        assert_allclose((J @ v)[0], rate, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.paper("Q8")
def test_torques_reach_what_the_feet_allow_in_mujoco(human):
    """The first attempt with dynamics: the ball is touched, the robot stands, every step is solved."""
    machine = made(human, gain=2.0, level="torque", dt=1e-3, tasks=[eq.CoMTask(weight=0.03, gain=1.0, name="calm")])
    ball = [0.7, -0.2, 1.0]
    machine.controller.set_target("ball", np.array(ball))
    run = eq.simulate(human, machine, duration=4.5)
    assert run.outcome == "completed" and machine.outcome is Outcome.COMPLETED and set(run.status_names) == {"optimal"}
    done = {text: t for t, text in run.events}["completed"]
    at = human.pose(run.q[np.searchsorted(run.t, done)], "right_hand")[:3, 3]
    assert np.linalg.norm(at - ball) < machine.tolerance and machine.report().step == 1
    feet = [human.pose(q, "left_foot")[:3, 3] - human.pose(run.q[0], "left_foot")[:3, 3] for q in run.q[::200]]
    assert np.abs(feet).max() < 5e-3


def test_wrong_input_is_told(human):
    with pytest.raises(ValueError, match="velocities or torques"):
        made(human, level="acceleration")
    with pytest.raises(ValueError, match="two supports"):
        made(human, level="torque", cooperative=True)


def test_edges_move_with_the_points_of_the_hand(rng):
    """The distance of the centre of mass from each edge changes by n · (ċ − (1 − s) ȧ − s ḃ), and the area by Σ ∂A/∂x
    ẋ."""
    feet = np.array([[0.0, 0.0], [0.0, 0.3], [-0.2, 0.3], [-0.2, 0.0]])
    hand = np.array([[0.5, 0.1], [0.5, 0.2], [0.42, 0.15]])
    com, velocity, rates, h = np.array([0.1, 0.15]), rng.normal(size=2), rng.normal(size=(3, 2)), 1e-6

    def at(t):
        return support_polygon(np.vstack([feet, hand + t * rates])), com + t * velocity

    polygon, _ = at(0.0)
    rows = edge_rows(polygon, com, 3, 4)
    assert_allclose(rows[:, :2] @ com - rows[:, 2], polygon.margins(com), atol=1e-15)
    slopes = (at(h)[0].margins(at(h)[1]) - at(-h)[0].margins(at(-h)[1])) / (2 * h)
    moved = np.array([n @ (velocity - shares @ rates) for n, shares in zip(rows[:, :2], rows[:, 3:], strict=True)])
    assert_allclose(moved, slopes, atol=1e-8)
    assert (rows[:, 3:].sum(axis=1) > 0).sum() >= 3
    g = area_slopes(polygon, 3, 4)
    assert_allclose(np.sum(g * rates), (at(h)[0].area - at(-h)[0].area) / (2 * h), atol=1e-8)
    assert not edge_rows(polygon, com, 3, None)[:, 3:].any()


def test_walls_come_from_where_a_point_is_to_where_they_stand():
    offsets, outside = np.array([0.8, -0.1]), np.array([0.3, 0.0])
    assert_allclose(returning(offsets, outside, 4.0, 0.0), [0.5, -0.1])
    assert_allclose(returning(offsets, outside, 4.0, 0.25), [0.8 - 0.3 / np.e, -0.1])
    assert_allclose(returning(offsets, outside, 4.0, 10.0), offsets, atol=1e-12)


def test_a_state_that_is_not_finite_does_not_raise(human, machine):
    machine.reset()
    solution = machine(0.0, np.full(human.nq, np.nan), np.zeros(human.nv))
    assert solution.status.fallback and machine.state is None


def test_three_dampings_are_those_of_the_table(human, rng):
    """[QO21, Table 6.2]: a weight w beside λ² damps by λ / √w; with one number all three states keep their usual
    weights."""
    weights, last = multi_contact._weights_of((0.05, 0.1, 0.08))
    assert last == 0.08
    assert_allclose([last / np.sqrt(w) for w in weights.values()], [0.05, 0.1])
    assert multi_contact._weights_of(0.3) == ({"contact": 10.0, "support area": 10.0}, 0.3)
    J, b = rng.normal(size=(4, 7)), rng.normal(size=4)
    for name, damping in zip(weights, (0.05, 0.1), strict=True):
        u = np.linalg.solve(weights[name] * J.T @ J + last**2 * np.eye(7), weights[name] * J.T @ b)
        assert_allclose(u, J.T @ np.linalg.solve(J @ J.T + damping**2 * np.eye(4), b), rtol=1e-9)
    for bad in (0.0, (0.1, 0.2), (0.1, -0.1, 0.1)):
        with pytest.raises(eq.EquipoiseError, match="three for contact, area and task"):
            made(human, damping=bad)


def test_a_body_gives_feet_and_palm_by_their_roles(human):
    body = eq.Body.of(human)
    ball = eq.FrameTask("right_hand", [1.0, -0.2, 1.0], axes="position", name="ball")
    machine = eq.MultiContact(body.robot, ball, body, "left hand", eq.Plane((0.0, 0.0, 1.0), HEIGHT), region=REGION)
    assert [contact.label for contact in machine.contacts] == ["left foot", "right foot", "left hand"]
    assert machine.hand.frame == body.frames["left hand"]
    assert_allclose(machine.hand.local_corners[:, :2], body.hands["left hand"].corners)


def test_a_palm_is_flat_and_of_a_body(human):
    body = eq.Body.of(human)
    with pytest.raises(TaskError, match="need the robot's Body"):
        palm([], "left hand")
    with pytest.raises(eq.UnknownNameError, match="left wing"):
        palm(body, "left wing")
    ball = replace(body.hands["left hand"], contact="point", corners=())
    pointed = replace(body, profile=replace(body.profile, parts={**body.profile.parts, "left hand": ball}))
    with pytest.raises(TaskError, match=r'give corners in \[parts."left hand"\]'):
        palm(pointed, "left hand")
