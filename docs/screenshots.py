"""Takes the pictures of the documentation in a real browser: `python docs/screenshots.py [NAME…]`, all of them by
default; `examples 06 10` and `gallery stairs` take some of a group.

Needs Chromium (`apt-get install chromium`), Pillow and the extra `docs`.
Runs are simulated first, which takes some minutes, and kept in the folder of temporary files.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from PIL import Image

import equipoise as eq
from equipoise.show.camera import framing
from equipoise.show.viewer import Viewer

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "tests" / "show"))
from browser import Browser, wait_for  # noqa: E402

NO_NOTE = "head.insertAdjacentHTML('beforeend', '<style>.mantine-Notifications-root {display: none}</style>')"
DARK = [{"name": "prefers-color-scheme", "value": "dark"}]
PANEL, CLIP = (400, 340), (400, 300)  # pixels
CLIP_FRAMES = 30
PANELS = {  # name → command, times of its run in s
    "panel-walk": ("equipoise walk human --speed 0.5 --push 4,0,20", np.arange(2.0, 6.8, 0.1)),
    "panel-trot": ("equipoise walk quadruped --speed 0.5", np.arange(2.0, 5.2, 0.0667)),
    "panel-lean": ("equipoise run table_reach", np.arange(1.0, 13.0, 0.25)),  # 2.5 times as fast
}
FOLLOWED = 0.5  # m; the camera follows a robot that goes farther
HIDDEN = ("frames", "friction cones", "pressure")


def made_by(command: str) -> eq.Run:
    """The run of a command of the command line, from a file where it was kept."""
    kept = Path(tempfile.gettempdir()) / f"{command.replace(' ', '_')}.npz"
    if not kept.is_file():
        subprocess.run([sys.executable, "-m", *command.split(), "--quiet", "--out", str(kept)], check=True)
    return eq.Run.load(kept)


def demo_run() -> eq.Run:
    """The run of `equipoise demo`."""
    return made_by("equipoise run table_reach")


def pushed_human(force: float) -> eq.Run:
    """A human that is pushed while standing."""
    standing = eq.Standing(eq.load("human"))
    push = eq.Push(standing.body.frames["torso"], (force, 0.0, 0.0), 0.5, 0.15)
    return eq.simulate(standing.robot, standing, duration=2.0, q0=standing.q0, pushes=[push])


@contextmanager
def window(url: str, width: int, height: int, dark: bool = False):
    """A browser window that shows a page."""
    with Browser(width, height) as browser:
        browser.patience = 600.0  # a scene without a graphics card on a busy machine
        if dark:
            browser.call("Emulation.setEmulatedMedia", features=DARK)
        browser.open(url)
        yield browser


def keep(browser: Browser, name: str) -> None:
    """What the window shows once it changes no more, as docs/NAME.png with few colours."""
    before, now, end = browser.picture().astype(int), browser.picture().astype(int) + 255, time.monotonic() + 300.0
    while np.abs(now - before).mean() > 0.05 and time.monotonic() < end:  # scenes fade in
        time.sleep(3.0)
        before, now = now, browser.picture().astype(int)
    picture = Image.fromarray(now.astype(np.uint8))
    picture.quantize(256, kmeans=2, dither=Image.Dither.NONE).save(DOCS / f"{name}.png", optimize=True)
    print(f"docs/{name}.png")


def ready(viewer: Viewer, browser: Browser) -> None:
    """Until the page is connected and its robot has appeared."""
    wait_for(lambda: viewer.server.get_clients(), "the page to connect", 120)
    browser.evaluate(f"document.{NO_NOTE}")
    time.sleep(5.0)


def view() -> None:
    """A run in the viewer."""
    with eq.view(demo_run(), port=0) as viewer, window(viewer.url, 1100, 700) as browser:
        ready(viewer, browser)
        viewer.player.seek(7.0)
        time.sleep(2.0)
        keep(browser, "view")


def live() -> None:
    """A controller that runs, with targets to drag."""
    robot = eq.load("human")
    controller = eq.Standing(robot)
    made = eq.view(controller.robot, controller, plant="mujoco", q=controller.q0, port=0)
    with made as viewer, window(viewer.url, 1100, 700) as browser:
        ready(viewer, browser)
        viewer.live.step(600)
        time.sleep(3.0)
        keep(browser, "live")


def _report(name: str, runs: list[eq.Run], *, dark: bool, height: int, at: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = eq.report(runs[0], Path(folder) / "run.html", compare=runs[1] if len(runs) > 1 else None, rate=10)
        with window(page.as_uri(), 1200, height, dark) as browser:
            wait_for(lambda: browser.evaluate("typeof now === 'function' && now() !== null"), "the player", 120)
            for k in range(len(runs)):
                browser.evaluate(f"document.querySelectorAll('iframe.motion')[{k}].contentDocument.{NO_NOTE}")
            time.sleep(6.0)
            browser.evaluate(f"seek({at})")
            time.sleep(3.0)
            keep(browser, name)


def report() -> None:
    """A report, on a light and on a dark page."""
    for name, dark in (("report", False), ("report-dark", True)):
        _report(name, [demo_run()], dark=dark, height=1000, at=7.0)


def comparison() -> None:
    """Two runs side by side."""
    _report("comparison", [pushed_human(150.0), pushed_human(300.0)], dark=False, height=1150, at=0.8)


def notebook() -> None:
    """A tutorial as a notebook, with its outputs."""
    sys.path.insert(0, str(DOCS / "site"))
    from nbconvert import HTMLExporter
    from notebooks import executed

    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "notebook.html"
        book = executed(DOCS / "tutorials" / "whole-body-control.md", Path(folder))
        page.write_text(HTMLExporter().from_notebook_node(book)[0], encoding="utf-8")
        with window(page.as_uri(), 1000, 1560) as browser:
            time.sleep(3.0)
            keep(browser, "notebook")


def _pictures(run: eq.Run, times: np.ndarray, size: tuple[int, int]) -> list[Image.Image]:
    """A run at some times, without cones and frames; the camera goes along with the robot."""
    drawn = []
    with eq.view(run, port=0) as viewer, window(viewer.url, 1000, 700) as browser:
        ready(viewer, browser)
        (client,) = viewer.server.get_clients().values()
        for layer in HIDDEN:
            viewer.scene.set_layer(layer, False)
        client.get_render(size[1], size[0], timeout=400.0)  # until lights and camera are there
        time.sleep(5.0)
        goes = np.linalg.norm(run.com[-1] - run.com[0]) > FOLLOWED
        if goes:  # the picture holds the robot at its start, and goes along
            client.camera.position, client.camera.look_at = framing(viewer.scene.extent(run.q[0]))
            time.sleep(1.0)
        eye, wxyz = np.array(client.camera.position), client.camera.wxyz
        for t in times:
            viewer.player.seek(float(t))
            shift = (run.com[np.searchsorted(run.t, t)] - run.com[0]) * [goes, goes, 0.0]
            pixels = client.get_render(
                size[1], size[0], wxyz=wxyz, position=eye + shift, transport_format="png", timeout=400.0
            )
            drawn.append(_on_white(pixels))
    return drawn


def _film(name: str, run: eq.Run, times: np.ndarray, size: tuple[int, int], frame_time: int = 100) -> None:
    """Writes docs/NAME.webp, which loops; `frame_time` in ms."""
    frames = _pictures(run, times, size)
    path = DOCS / f"{name}.webp"
    shown = [frame_time] * (len(frames) - 1) + [600]  # ms
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=shown, loop=0, quality=65, method=6)
    print(f"docs/{name}.webp, {path.stat().st_size / 1e3:.0f} kB, {len(frames)} pictures")


def panels() -> None:
    """The three panels at the top of the README."""
    for name, (command, times) in PANELS.items():
        _film(f"pictures/{name}", made_by(command), times, PANEL)


def examples() -> None:
    """A clip or a figure of each example."""
    sys.path.insert(0, str(DOCS / "site"))
    import example_page

    for path in example_page.EXAMPLES:
        if ONLY and path.stem[:2] not in ONLY:
            continue
        names = example_page.run(path)[1]
        if "figure" in names:
            _figure(f"pictures/{path.stem}", names["figure"])
        elif "posed" in names:
            robot, q = names["posed"]
            _film(f"pictures/{path.stem}", _still(robot, q), np.zeros(1), CLIP)
        else:
            run = names["run"]
            _film(f"pictures/{path.stem}", run, np.linspace(0.0, run.t[-1], CLIP_FRAMES), CLIP)


def gallery() -> None:
    """A picture of each run of the gallery that a command of the command line makes, where it is farthest away."""
    sys.path.insert(0, str(DOCS / "site"))
    import gallery_page

    for name, words in gallery_page.commands().items():
        if words[0] == "equipoise" and (not ONLY or name in ONLY):
            run = made_by(" ".join(words[: words.index("--report")]))
            away = np.linalg.norm(run.q - run.q[0], axis=1)
            (picture,) = _pictures(run, run.t[[int(np.argmax(away))]], CLIP)
            picture.save(DOCS / "pictures" / f"{name}.webp", quality=80, method=6)
            print(f"docs/pictures/{name}.webp")


def _figure(name: str, figure: Any) -> None:
    drawing = io.BytesIO()
    figure.savefig(drawing, dpi=110)
    Image.open(drawing).convert("RGB").save(DOCS / f"{name}.webp", quality=85, method=6)
    print(f"docs/{name}.webp")


def _still(robot: eq.Robot, q: np.ndarray) -> eq.Run:
    """A run of one posture."""
    return eq.simulate(robot, lambda t, q, v: SimpleNamespace(velocity=0 * v), "kinematic", duration=2e-3, q0=q)


def _on_white(pixels: np.ndarray) -> Image.Image:
    picture = Image.fromarray(pixels, "RGBA")
    white = Image.new("RGBA", picture.size, "white")
    return Image.alpha_composite(white, picture).convert("RGB")


MADE = (view, live, report, comparison, notebook, panels, examples, gallery)
PICTURES: dict[str, Callable[[], None]] = {f.__name__: f for f in MADE}
ONLY = {word for word in sys.argv[1:] if word not in PICTURES}  # numbers of examples, names of the gallery

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in [word for word in sys.argv[1:] if word in PICTURES] or PICTURES:
        PICTURES[name]()
