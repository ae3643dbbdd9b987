"""The viewer without a browser: playing, stepping, live control, errors. What a person sees is in test_browser.py."""

from __future__ import annotations

import socket
import time
import urllib.request
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import samples
from rich.console import Console

import equipoise as eq
from equipoise.algebra.quaternions import from_rotation
from equipoise.body import Finding
from equipoise.show import command, who
from equipoise.show import live as live_module
from equipoise.show.live import Live, LivePanels, OwnAccelerations, add_handles, draggable, set_target
from equipoise.show.moments import Moment
from equipoise.show.scene import RobotScene, quiet_viser, server
from equipoise.show.viewer import Viewer


@pytest.fixture(scope="module")
def opened():
    made = server("127.0.0.1", 0)
    yield made
    with quiet_viser():
        made.stop()


class Servo:
    """Holds every joint, and brings the left hand's height to its target by lifting the base: enough to be watched."""

    def __init__(self) -> None:
        self.tasks = [
            SimpleNamespace(name="hand", frame="left_hand", target=None),
            SimpleNamespace(name="com", target=None),
        ]
        self.goals: dict[str, np.ndarray] = {}
        self.resets = 0

    def reset(self) -> None:
        self.resets += 1

    def set_target(self, name, X):
        self.goals[name] = X

    def __call__(self, t, q, v):
        a = -20.0 * v
        if "hand" in self.goals:
            a[:3] += 100.0 * (self.goals["hand"][:3, 3] - samples.human().pose(q, "left_hand")[:3, 3])
        return SimpleNamespace(
            torque=np.zeros_like(v), acceleration=a, status="optimal", task_errors={"hand": float(np.abs(a).max())}
        )


# --- a robot ----------------------------------------------------------------------------------------------------------


def test_a_robot_alone_stands_on_its_soles_with_its_feet_and_hands_marked():
    """As its body stands, not as its description does: knees bent, the middle of the feet at the origin."""
    body = eq.Body.of(samples.human())
    for what in (samples.human(), body):
        with eq.view(what, port=0) as viewer:
            assert viewer.scene.frames == tuple(body.frames[role] for role in (*body.feet, *body.hands))
            assert viewer.scene._links["head"].position == pytest.approx(
                body.robot.pose(body.standing, "head")[:3, 3], abs=1e-6
            )
    with eq.view(samples.human(), q=samples.human().standing(), frames=["left_hand"], port=0) as viewer:
        assert viewer.scene.frames == ("left_hand",)
        described = samples.human().pose(samples.human().standing(), "head")[:3, 3]
        assert viewer.scene._links["head"].position == pytest.approx(described, abs=1e-6)


def test_the_side_panel_lists_parts_and_doubts():
    told = []
    folder = SimpleNamespace(add_folder=lambda name, **_: told.append(name) or nullcontext(), add_markdown=told.append)
    body = eq.Body.of(samples.human())
    doubt = Finding("front", "x", "<b>nothing</b> tells", 0.1)
    who.list_parts(SimpleNamespace(gui=folder), replace(body, profile=replace(body.profile, findings=(doubt,))))
    assert told[0] == "body: biped"
    assert (
        "- **left foot**: `left_foot`" in told[1]
        and "*doubtful* front: x (&lt;b&gt;nothing&lt;/b&gt; tells)" in told[1]
    )


def test_where_a_controller_starts():
    """Where it says; else on its soles, and a robot without feet as it is described."""
    human, arm = samples.human(), eq.load("arm7")
    np.testing.assert_array_equal(who.start_of(human, SimpleNamespace(q0=np.ones(human.nq))), np.ones(human.nq))
    np.testing.assert_array_equal(who.start_of(human, SimpleNamespace()), eq.Body.of(human).standing)
    np.testing.assert_array_equal(who.start_of(arm, SimpleNamespace()), arm.standing())


# --- a run ------------------------------------------------------------------------------------------------------------


def test_a_run_is_played_stepped_and_sought():
    run = samples.squat()
    with eq.view(run, port=0) as viewer:
        player = viewer.player
        player.seek(0.5)
        assert player.index == 30
        player.step(2)
        assert player.time == pytest.approx(run.t[32])
        player.step(-100)
        assert player.time == 0.0
        player.seek(7.0)
        assert player.index == 60
        head = viewer.scene._links["head"]
        assert head.position == pytest.approx(run.robot.pose(run.q[60], "head")[:3, 3], abs=1e-6)
        player.seek(0.0)
        player.speed, player.playing = 2.0, True
        assert player.advance(0.2)
        assert player.time >= 0.4
        player.playing = False
        viewer.scene.set_layer("robot", False)
        assert not head.visible
        with pytest.raises(eq.UnknownNameError, match="no layer named 'robots'"):
            viewer.scene.set_layer("robots", True)


def test_the_viewer_listens_on_this_machine_alone():
    with eq.view(samples.squat(3), port=0) as viewer:
        assert viewer.server.get_host() == "127.0.0.1"
        assert viewer.url == f"http://127.0.0.1:{viewer.server.get_port()}/{viewer.server.guard.secret}/"
        port = viewer.server.get_port()
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        with pytest.raises(OSError), socket.create_connection(("127.0.0.2", port), timeout=5):
            pass
    viewer.close()  # a second time does nothing


def test_forces_and_polygon_appear_with_the_contacts(opened):
    run = samples.squat(
        forces={"left_foot": np.full((61, 6), np.nan), "right_foot": samples.squat().forces["right_foot"]}
    )
    scene = RobotScene(opened, run.robot, contacts=run.contacts, frames=["left_hand"])
    from equipoise.show.player import moment_of

    scene.show(moment_of(run, 0))
    assert scene._shown["forces"].points.shape == (1, 2, 3)
    assert scene._shown["polygon"].visible
    assert len(scene._shown["polygon"].vertices) == 4
    start, end = scene._shown["forces"].points[0]
    # half of the weight, half as long as the CoM is high
    assert (end - start)[2] == pytest.approx(run.com[0][2] / 2, rel=1e-3)
    bare = samples.squat(forces={})
    scene.show(moment_of(bare, 0))
    assert not scene._shown["forces"].visible
    assert not scene._shown["polygon"].visible


def test_a_target_far_away_has_a_ghost_and_a_planned_step_an_outline(opened):
    run = samples.squat()
    scene, q = RobotScene(opened, run.robot, contacts=run.contacts), run.robot.standing()
    hand, foot = run.robot.pose(q, "left_hand"), run.robot.pose(q, "left_foot")
    ahead = foot.copy()
    ahead[0, 3] += 0.3
    scene.show(Moment(0.0, q, references={"left_hand": hand, "left_foot": ahead}))
    assert not scene._ghosts["left_hand"].visible  # it is there already
    assert scene._ghosts["left_foot"].visible
    assert scene._ghosts["left_foot"].position == pytest.approx(ahead[:3, 3], abs=1e-6)
    corners = scene._shown["steps"].points[:, 0]
    assert corners.mean(axis=0) == pytest.approx(
        (ahead @ [*run.contacts["left_foot"].points.mean(axis=0), 1])[:3], abs=1e-5
    )
    scene.show(Moment(0.0, q))
    assert not scene._ghosts["left_foot"].visible and not scene._shown["steps"].visible


def test_where_the_next_foot_can_be_set_is_outlined_a_little_above_the_ground(opened):
    run = samples.squat()
    scene, q = RobotScene(opened, run.robot, contacts=run.contacts), run.robot.standing()
    corners = np.array([[0.2, 0.0, 0.0], [0.6, 0.1, 0.0], [0.3, 0.5, 0.02]])
    scene.show(Moment(0.0, q, outlines={"reach": corners}))
    lines = scene._shown["reach"].points
    assert lines[:, 0, :2] == pytest.approx(corners[:, :2]) and lines[2, 1, :2] == pytest.approx(corners[0, :2])
    assert ((lines[:, 0, 2] - corners[:, 2]) > 0.002).all()
    scene.set_layer("targets", False)
    assert not scene._shown["reach"].visible
    scene.set_layer("targets", True)
    assert scene._shown["reach"].visible
    scene.show(Moment(0.0, q))
    assert not scene._shown["reach"].visible


def test_a_click_names_a_link_and_takes_the_name_away_again(opened):
    scene = RobotScene(opened, samples.human())
    scene.toggle_name("left_hand")
    assert scene._named["left_hand"].text == "left_hand"
    scene.toggle_name("left_hand")
    assert not scene._named


def test_what_cannot_be_shown():
    with pytest.raises(eq.ShapeError, match="view takes a Robot, a Body or a Run, got int"):
        eq.view(3)
    with pytest.raises(eq.UnknownNameError, match="no frame named 'left_hnd'"):
        eq.view(samples.human(), frames=["left_hnd"], port=0)
    empty = samples.squat(3)
    with pytest.raises(eq.EquipoiseError, match="no samples"):
        eq.view(samples.squat(3, t=empty.t[:0], q=empty.q[:0]), port=0)


# --- a controller -----------------------------------------------------------------------------------------------------


def test_live_steps_move_the_robot_towards_a_dragged_target(opened):
    robot, servo = samples.human(), Servo()
    q, v = robot.standing(), np.zeros(robot.nv)
    v[1] = 0.1
    live = Live(RobotScene(opened, robot), servo, None, q, v, 2e-3)
    X = robot.pose(q, "left_hand")
    X[2, 3] += 0.1
    set_target(servo, servo.tasks[0], X)
    live.step(1000)
    assert live.t == pytest.approx(2.0)
    assert robot.pose(live.q, "left_hand")[:3, 3] == pytest.approx(X[:3, 3], abs=1e-5)
    t, curves = live.curves()
    assert len(t) == 1000
    assert curves["task errors"]["hand"].shape == (1000,)
    live.restart()
    assert live.t == 0.0
    assert live.q == pytest.approx(q)
    assert servo.resets == 2


def test_a_plan_that_cannot_be_drawn_leaves_the_picture_running(opened):
    """It is a warning, once."""

    class Servant(Servo):
        def outlines(self, q):
            raise ZeroDivisionError("no plan")

    robot = samples.human()
    live = Live(RobotScene(opened, robot), Servant(), None, robot.standing(), np.full(robot.nv, 0.01), 1e-2)
    with pytest.warns(UserWarning, match="outlines of the controller cannot be shown: ZeroDivisionError: no plan"):
        live.step()
    live.step()
    assert live.t == pytest.approx(0.02)


def test_pausing_and_the_clock(opened, monkeypatch):
    monkeypatch.setattr(live_module, "BUSY", 60.0)  # however slow the machine is
    robot = samples.human()
    live = Live(RobotScene(opened, robot), Servo(), None, robot.standing(), np.zeros(robot.nv), 1e-2)
    assert not live.advance(1.0)
    assert live.t == 0.0
    live.toggle()
    assert live.advance(0.05)
    assert live.t == pytest.approx(0.05)
    live.single()
    assert not live.playing
    assert live.t == pytest.approx(0.06)


def test_own_accelerations_are_integrated_to_second_order():
    """Constant acceleration: x = ½ a t², exactly; a velocity command is obeyed as it is."""
    robot = samples.human()
    plant = OwnAccelerations(robot)
    plant.reset(robot.standing(), np.zeros(robot.nv))
    a = np.zeros(robot.nv)
    a[0] = 2.0
    for _ in range(10):
        state = plant.obey(SimpleNamespace(acceleration=a), 0.1)
    assert state.q[0] - robot.standing()[0] == pytest.approx(1.0, abs=1e-12)
    command = np.zeros(robot.nv)
    command[1] = 0.5
    before = state.q[1]
    state = plant.obey(SimpleNamespace(velocity=command, acceleration=None), 0.1)
    assert state.q[1] - before == pytest.approx(0.05, abs=1e-12)


def test_a_plant_gets_torques(opened):
    robot, taken = samples.human(), []

    class Plant:
        def reset(self, q, v):
            self.q, self.v = q, v

        def step(self, tau, dt):
            taken.append((tau, dt))
            return SimpleNamespace(q=self.q, v=self.v, t=0.0, wrenches={"left_foot": np.array([0, 0, 400.0, 0, 0, 0])})

    live = Live(
        RobotScene(opened, robot, contacts=samples.contacts()),
        Servo(),
        Plant(),
        robot.standing(),
        np.zeros(robot.nv),
        1e-3,
    )
    live.step(3)
    assert len(taken) == 3
    assert taken[0][0].shape == (robot.nv,)
    assert live.curves()[1]["vertical forces, N"]["left_foot"].tolist() == [400.0] * 3


def test_a_controller_that_raises_pauses_the_viewer_and_is_reported():
    def broken(t, q, v):
        raise ValueError("no gain")

    with eq.view(samples.human(), broken, port=0) as viewer:
        viewer.live.toggle()
        end = time.monotonic() + 20
        while viewer.error is None and time.monotonic() < end:
            time.sleep(0.02)
        assert not viewer.live.playing
        viewer._closed.set()
        with pytest.raises(ValueError, match="no gain"):
            viewer.wait()


def test_time_and_curves_of_a_live_run_are_drawn_four_times_a_second(monkeypatch):
    ticks, drawn, calls = [], [], []
    monkeypatch.setattr(Viewer, "_run", lambda viewer, tick: ticks.append(tick))
    monkeypatch.setattr(LivePanels, "update", lambda panels, live: drawn.append(len(calls)))
    with eq.view(samples.human(), Servo(), port=0) as viewer:
        viewer._thread.join()
        for _ in range(8):
            calls.append(ticks[0](0.1))
    assert drawn == [2, 5]


def test_a_state_that_is_not_finite_is_not_shown(opened):
    robot = samples.human()
    bad = SimpleNamespace(
        reset=lambda q, v: None, step=lambda tau, dt: SimpleNamespace(q=robot.neutral() * np.nan, v=tau)
    )
    live = Live(RobotScene(opened, robot), Servo(), bad, robot.standing(), np.zeros(robot.nv), 1e-3)
    with pytest.raises(eq.StateError, match="not finite any more at t = 0.0010 s"):
        live.step()
    assert np.isfinite(live.q).all()
    with pytest.raises(eq.StateError, match="dt must be positive"):
        Live(live.scene, Servo(), bad, robot.standing(), np.zeros(robot.nv), 0.0)


def test_a_whole_body_controller_follows_a_handle():
    from equipoise.control.controller.controller import WholeBodyController
    from equipoise.control.tasks import FrameTask, PostureTask

    robot = eq.load("arm6")
    hand = list(robot.frames)[-1]
    q = 0.3 * np.ones(robot.nq)
    controller = WholeBodyController(
        robot, [FrameTask(hand, name="hand", gain=20.0), PostureTask(weight=1e-4)], dt=5e-3
    )
    with eq.view(robot, controller, q=q, port=0) as viewer:
        assert list(viewer.handles) == ["hand"]
        assert viewer.live.dt == 5e-3
        viewer.live.step()
        goal = robot.pose(q + 0.05, hand)  # within reach
        handle = viewer.handles["hand"]
        handle.position, handle.wxyz = goal[:3, 3], from_rotation(goal[:3, :3])
        for callback in handle._impl_aux.update_cb:
            callback(SimpleNamespace(target=handle))
        viewer.live.step(300)
        assert robot.pose(viewer.live.q, hand)[:3, 3] == pytest.approx(goal[:3, 3], abs=1e-3)
        errors = viewer.live.curves()[1]["task errors"]["hand"]
        assert errors.max() > 0.05 > 1e-3 > errors[-1]
        assert viewer.live.status == "optimal"


def test_which_targets_can_be_dragged():
    moving = SimpleNamespace(name="swing", frame="left_foot", target=lambda t: np.eye(4))
    fixed = SimpleNamespace(name="", label="left_hand", frame="left_hand", target=np.eye(4))
    plane = SimpleNamespace(name="plane", frame="left_hand", target=0.0)
    controller = SimpleNamespace(items=SimpleNamespace(tasks=(moving, fixed, plane)))
    assert draggable(controller, None) == [fixed]
    assert draggable(controller, [moving]) == [moving]
    set_target(controller, fixed, 2 * np.eye(4))
    assert fixed.target[0, 0] == 2
    from equipoise.control.tasks import FrameTask

    with pytest.raises(eq.EquipoiseError, match="no set_target"):
        set_target(controller, FrameTask("left_hand"), np.eye(4))


# --- the command line -------------------------------------------------------------------------------------------------


def test_commands_view_and_report(tmp_path):
    path = samples.squat(11).save(tmp_path / "run.npz")
    console = Console(quiet=True)
    written = command.write_report(console, str(path), None, rate=5.0)
    assert written.data == {"file": str(tmp_path / "run.html")}
    assert "run.html (" in written.text
    for source in (str(path), "arm6"):
        viewer, outcome = command.open_viewer(console, source, host="127.0.0.1", port=0, browser=False)
        assert outcome.data == {"url": viewer.url}
        assert outcome.text == viewer.url
        viewer.close()


def test_handles_and_ghosts_are_different_nodes(opened):
    """Both are called after the task; the handle was gone as soon as the controller ran and a ghost was drawn."""
    robot, q = samples.human(), samples.human().standing()
    X = robot.pose(q, "left_hand")
    X[:3, 3] += 0.3
    task = SimpleNamespace(name="left_hand", frame="left_hand", target=X)
    scene = RobotScene(opened, robot)
    live = Live(scene, lambda t, q, v: SimpleNamespace(), None, q, np.zeros(robot.nv), 1e-2)
    handle = add_handles(opened, live, [task])["left_hand"]
    live.references["left_hand"] = X
    live.step()
    assert scene._ghosts["left_hand"].name != handle.name
    assert handle.name in opened.scene._handle_from_node_name


def test_a_standing_robot_has_handles_at_its_hands():
    standing = eq.Standing(eq.load("human"))
    with eq.view(standing.robot, standing, port=0) as viewer:
        assert set(viewer.handles) == set(standing.body.hands)
        goal = viewer.handles["left hand"].position + np.array([0.1, 0.0, 0.05])
        standing.set_target("left hand", goal)
        assert standing.waiting


def test_the_tab_has_the_name_of_the_robot():
    with eq.view(eq.load("arm6"), port=0) as viewer:
        for encoding in ("identity", "gzip, deflate, br"):
            request = urllib.request.Request(viewer.url, headers={"Accept-Encoding": encoding})
            with urllib.request.urlopen(request, timeout=10) as answer:
                page = answer.read()
            assert len(page) == int(answer.headers["Content-Length"])
            assert b"<title>arm6 \xc2\xb7 Equipoise</title>" in page
