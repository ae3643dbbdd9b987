"""Viewer and report in a real browser, judged by what the picture holds.

The robot is painted in a color that nothing else has; where it must appear follows from the camera: every vertex of its
surfaces is projected to the screen, and the colored pixels must fill the same rectangle.
"""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest
import samples
from browser import Browser, wait_for

import equipoise as eq
from equipoise.model.posture import link_poses
from equipoise.show.triangles import link_surfaces

CANVAS = "[...document.querySelectorAll('canvas')].sort((a, b) => b.width * b.height - a.width * a.height)[0]"
MOTION = "document.querySelector('iframe.motion')"
IN_REPORT = f"{MOTION}.contentDocument"
# the player's remark that WebGL runs in software would cover the robot
HIDE_NOTE = (
    "document.head.insertAdjacentHTML('beforeend', '<style>.mantine-Notifications-root {display: none}</style>')"
)


@pytest.fixture(scope="module")
def browser():
    with Browser(640, 400) as opened:  # narrower, and the panel would lie over the scene
        yield opened


@pytest.fixture(scope="module")
def run():
    robot = samples.painted(samples.human())
    ball = eq.Sphere((-0.9, 0.9, 0.4), 0.1)
    return samples.squat(robot=robot, obstacles=(ball,), safe_distances=(0.05,))


def rectangle(mask):
    """(left, top, right, bottom) of the true pixels, without stray ones at the edges of lines."""
    rows, columns = np.flatnonzero(mask.sum(1) > 1), np.flatnonzero(mask.sum(0) > 1)
    return np.array([columns[0], rows[0], columns[-1], rows[-1]], dtype=float)


def on_screen(points, camera, box):
    """Pixels of points of the world: a pinhole with the camera's vertical field of view, in the canvas at `box`."""
    position, forward = np.array(camera.position), np.array(camera.look_at) - camera.position
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    arm = np.atleast_2d(points) - position
    depth = arm @ forward
    focal = box["height"] / 2 / np.tan(camera.fov / 2)
    x = box["x"] + box["width"] / 2 + focal * (arm @ right) / depth
    return np.stack([x, box["y"] + box["height"] / 2 - focal * (arm @ np.cross(right, forward)) / depth], axis=-1)


def vertices(robot, q):
    poses = link_poses(robot.model, q)
    parts = [
        s.vertices @ poses[name][:3, :3].T + poses[name][:3, 3]
        for name, all_ in link_surfaces(robot.model)
        for s in all_
    ]
    return np.concatenate(parts)


def camera_of(viewer):
    wait_for(lambda: viewer.server.get_clients(), "the page to connect", 120)
    (client,) = viewer.server.get_clients().values()
    wait_for(lambda: client.camera.update_timestamp > 0, "the camera", 60)
    return client.camera


def box_of(element):
    return (
        "(() => "
        f"{{ const {{x, y, width, height}} = {element}.getBoundingClientRect(); return {{x, y, width, height}}; }})()"
    )


def canvas_box(browser):
    wait_for(lambda: browser.evaluate(f"!!{CANVAS}"), "the canvas", 60)
    return browser.evaluate(box_of(CANVAS))


def settled(browser, good, what, seconds=120.0):
    """Pictures until one is as it should be: a software renderer takes its time."""
    end = time.monotonic() + seconds
    while True:
        picture = browser.picture()
        if good(picture):
            return picture
        assert time.monotonic() < end, f"the picture never showed {what}"


def fits(expected, within=5.0):
    """Whether the robot's pixels fill the expected rectangle, asked for anew each time: a page may still find its
    layout."""

    def check(picture):
        mask = samples.pinkish(picture)
        return mask.sum() > 400 and np.abs(rectangle(mask) - expected()).max() < within

    return check


def expected_rectangle(run, k, camera, box):
    pixels = on_screen(vertices(run.robot, run.q[k]), camera, box)
    return np.concatenate([pixels.min(axis=0), pixels.max(axis=0)])


def check_names(browser, run, k, camera, box, document="document"):
    """The name of what the mouse is over, and none beside the robot."""
    poses, tip = link_poses(run.robot.model, run.q[k]), f"{document}.querySelector('.equipoise-name')"
    shown = f"({tip} || {{style: {{}}}}).style.display === 'block' ? {tip}.textContent : ''"
    for link in ("head", "thorax"):  # nothing hides them
        ((surface, *_),) = [surfaces for name, surfaces in link_surfaces(run.robot.model) if name == link]
        middle = poses[link][:3, :3] @ surface.vertices.mean(axis=0) + poses[link][:3, 3]
        x, y = on_screen(middle, camera, box())[0]

        def moved(x=x, y=y):
            browser.mouse("mouseMoved", x + 1, y)
            browser.mouse("mouseMoved", x, y)
            return browser.evaluate(shown)

        wait_for(lambda moved=moved, link=link: moved() == link, f"the name {link!r}", 60)
    browser.mouse("mouseMoved", box()["x"] + 5, box()["y"] + 5)
    wait_for(lambda: browser.evaluate(shown) == "", "the name to go", 30)


def test_the_viewer_shows_the_robot_where_the_camera_must_see_it(browser, run):
    with eq.view(run, port=0) as viewer:
        browser.open(viewer.url)
        camera = camera_of(viewer)
        canvas_box(browser)
        browser.evaluate(HIDE_NOTE)
        start, end = (lambda k=k: expected_rectangle(run, k, camera, canvas_box(browser)) for k in (0, 60))
        assert np.abs(start() - end()).max() > 20  # else the test could not tell them apart
        standing = settled(browser, fits(start), "the standing robot")
        check_names(browser, run, 0, camera, lambda: canvas_box(browser))
        browser.evaluate("document.querySelector('[role=slider]').focus()")
        browser.call("Input.dispatchKeyEvent", type="keyDown", key="End", code="End", windowsVirtualKeyCode=35)
        wait_for(lambda: viewer.player.time == run.t[-1], "the slider to reach the end")
        squatting = settled(browser, fits(end), "the squatting robot")
        assert (samples.pinkish(standing) != samples.pinkish(squatting)).sum() > 500
        viewer.scene.set_layer("robot", False)
        empty = settled(browser, lambda picture: samples.pinkish(picture).sum() < 20, "the scene without its robot")
        assert (np.abs(empty.astype(int) - squatting).sum(axis=-1) > 30).sum() > 1500
        text = browser.evaluate("document.body.innerText")
        assert all(word in text for word in ("task errors", "constraint margins", "forces in cones", "play / pause"))
        assert not browser.complaints()


def test_on_a_phone_the_panel_stands_below_the_robot(run):
    with eq.view(run, port=0) as viewer, Browser(400, 800) as phone:
        phone.open(viewer.url)
        camera_of(viewer)
        panel = "document.querySelector('.mantine-Paper-root')"
        wait_for(lambda: phone.evaluate(f"!!{panel}"), "the panel", 60)
        wait_for(lambda: canvas_box(phone)["height"] < 600, "the scene to make room", 60)
        scene, below = canvas_box(phone), phone.evaluate(box_of(panel))
        assert scene["y"] + scene["height"] <= below["y"] + 2
        assert (scene["width"], below["width"]) == (400, 400)
        assert phone.evaluate("document.documentElement.scrollWidth") == 400


@pytest.mark.slow
def test_a_target_is_dragged_with_the_mouse_while_the_controller_runs(browser):
    """What a drag does to the controller is in test_viewer; here a real mouse does it."""
    robot, goals = samples.human(), {}

    def controller(t, q, v):
        a = -20.0 * v
        if "hand" in goals:
            a[:3] += 100.0 * (goals["hand"][:3, 3] - robot.pose(q, "left_hand")[:3, 3])
        return SimpleNamespace(
            torque=np.zeros_like(v), acceleration=a, status="optimal", task_errors={"hand": 0.1}, forces={}
        )

    controller.tasks = [SimpleNamespace(name="hand", frame="left_hand", target=None)]
    controller.set_target = goals.__setitem__
    with eq.view(robot, controller, dt=5e-3, port=0) as viewer:
        q = viewer.live.q.copy()
        hand = robot.pose(q, "left_hand")[:3, 3]
        browser.open(viewer.url)
        camera = camera_of(viewer)
        camera.position, camera.look_at = hand + 1.8 * np.array([0.9, -0.5, 0.4]), hand  # near enough to grab it
        click(browser, "run / pause")
        wait_for(lambda: viewer.live.t > 0, "the controller to run")
        size = 0.25 * viewer.scene.size
        axis = robot.pose(q, "left_hand")[:3, 2]  # along the gizmo's z
        ends = on_screen([hand + 0.7 * size * axis, hand + 1.3 * size * axis], camera, canvas_box(browser))
        wait_for(lambda: dragged(browser, ends, goals), "the mouse to move the target", 120)
        click(browser, "run / pause")
        wait_for(lambda: not viewer.live.playing, "the pause")
        moved = goals["hand"][:3, 3] - hand
        assert abs(moved @ axis) > 0.3 * 0.6 * size
        assert np.linalg.norm(moved - axis * (moved @ axis)) < 1e-3  # an arrow moves it along itself alone
        assert not np.allclose(viewer.live.q[:3], q[:3], atol=1e-4)  # and the robot followed
        t = viewer.live.t
        click(browser, "step")
        wait_for(lambda: viewer.live.t > t, "one step")
        assert viewer.live.t == pytest.approx(t + 5e-3)


def dragged(browser, ends, goals):
    browser.drag(tuple(ends[0]), tuple(ends[1]))
    time.sleep(0.5)
    return "hand" in goals


def click(browser, label):
    """Press a button, once it is there: the page builds itself after it has loaded."""
    button = f"[...document.querySelectorAll('button')].find(b => b.innerText.trim() === '{label}')"
    wait_for(lambda: browser.evaluate(f"!!{button}"), f"the button {label!r}", 60.0)
    browser.evaluate(f"{button}.click()")


def test_the_report_opens_from_disk_and_plays(browser, run, tmp_path):
    path = eq.report(run, tmp_path / "run.html", rate=10)
    browser.open(path.as_uri())
    wait_for(lambda: browser.evaluate("typeof now === 'function' && now() !== null"), "the player", 120)
    browser.evaluate(f"{IN_REPORT}.{HIDE_NOTE.removeprefix('document.')}")
    browser.evaluate(f"{MOTION}.style.height = '320px'")
    browser.evaluate(f"{MOTION}.scrollIntoView()")
    first = browser.evaluate("now()")
    wait_for(lambda: browser.evaluate("now()") != first, "the motion to play by itself")
    with eq.view(run, port=0) as viewer:  # starts from the same camera
        camera = viewer.server.initial_camera

    def box():
        frame = browser.evaluate(box_of(MOTION))
        inner = browser.evaluate(box_of(CANVAS.replace("document", IN_REPORT)))
        # inside of the frame's border
        return inner | {"x": frame["x"] + inner["x"] + 1, "y": frame["y"] + inner["y"] + 1}

    for k in (60, 0):  # the second way is back in time
        seek_by_click(browser, run.t[k])
        wait_for(lambda k=k: abs(browser.evaluate("now()") - run.t[k]) < 0.02, f"time {run.t[k]}")
        settled(browser, fits(lambda k=k: expected_rectangle(run, k, camera, box())), f"the robot at {run.t[k]} s")
    check_names(browser, run, 0, camera, box, IN_REPORT)
    assert browser.evaluate("parseFloat(charts[0].line.style.left)") == pytest.approx(0.0, abs=3.0)
    check_linked_curves(browser)
    assert all(url.startswith(("file:///", "data:", "blob:")) for url in browser.requests())
    assert not browser.complaints()


def test_the_camera_of_a_report_follows_and_its_curves_hold_every_sample(browser, tmp_path):
    """The robot slides 6 m ahead of where the camera first looks."""
    still = samples.squat(2001)
    q = still.q.copy()
    q[:, 0] += 6.0 * still.t
    path = eq.report(samples.squat(2001, q=q, com=still.robot.com(q)), tmp_path / "run.html", rate=5)
    browser.open(path.as_uri())
    wait_for(lambda: browser.evaluate("typeof now === 'function' && now() !== null && charts.length > 3"), "it", 120)
    assert browser.evaluate("charts.map(c => c.u.data[0].length)") == [2001] * browser.evaluate("charts.length")
    away = f"""(() => {{ const viewer = {MOTION}.contentWindow.__viserMutable, V = viewer.camera.position.constructor;
        const at = viewer.nodeRefFromName["/marks/com"].getWorldPosition(new V());
        return viewer.cameraControl.getTarget(new V()).distanceTo(at); }})()"""

    def go(t):
        browser.evaluate(f"seek({t})")
        wait_for(lambda: abs(browser.evaluate("now()") - t) < 0.05, f"time {t}")

    def distance():
        browser.picture()  # else nothing would be drawn
        return browser.evaluate(away)

    for t in (0.97, 0.0, 0.97):
        go(t)
        wait_for(lambda: distance() < 1.5, f"the camera to look at the robot at {t} s", 60)
    browser.evaluate("document.getElementById('follow').click()")
    go(0.0)
    wait_for(lambda: distance() > 3.0, "the robot to leave the picture", 60)
    assert not browser.complaints()


def check_linked_curves(browser):
    """Zoom in one chart is zoom in all, a name that is clicked hides its curve, and dark pages are dark."""
    browser.evaluate("charts[0].u.setScale('x', {min: 0.2, max: 0.6})")
    zooms = browser.evaluate("charts.map(c => [c.u.scales.x.min, c.u.scales.x.max])")
    assert len(zooms) > 3 and all(zoom == pytest.approx([0.2, 0.6]) for zoom in zooms)
    browser.evaluate("charts[0].u.root.querySelectorAll('.u-series th')[1].click()")
    assert browser.evaluate("charts[0].u.series[1].show") is False
    light = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") != light
    assert browser.evaluate("charts.length") == len(zooms)
    browser.call("Emulation.setEmulatedMedia", features=[])


def seek_by_click(browser, t):
    """A click into the first chart, where its time axis says t."""
    browser.evaluate(
        f"""(() => {{ const u = charts[0].u, box = u.over.getBoundingClientRect();
        const x = box.left + u.valToPos({t}, 'x'), y = box.top + box.height / 2;
        u.over.dispatchEvent(new MouseEvent('mousedown', {{clientX: x, clientY: y, bubbles: true}}));
        u.over.dispatchEvent(new MouseEvent('mouseup', {{clientX: x, clientY: y, bubbles: true}}));
        u.over.dispatchEvent(new MouseEvent('click', {{clientX: x, clientY: y, bubbles: true}})); }})()"""
    )
