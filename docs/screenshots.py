"""Takes the pictures of the documentation in a real browser: `python docs/screenshots.py [NAME…]`, all of them by
default.

Needs Chromium (`apt-get install chromium`), Pillow and the extra `docs`.
`film` simulates the demonstration first, which takes a minute.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image

import equipoise as eq
from equipoise.show.viewer import Viewer

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "tests" / "show"))
from browser import Browser, wait_for  # noqa: E402

NO_NOTE = "head.insertAdjacentHTML('beforeend', '<style>.mantine-Notifications-root {display: none}</style>')"
DARK = [{"name": "prefers-color-scheme", "value": "dark"}]
FILM = (480, 400)  # pixels
FILM_TIMES = np.arange(1.0, 13.0, 0.25)  # s of the run, played 2.5 times as fast


def demo_run() -> eq.Run:
    """The run of `equipoise demo`, from a file where it was kept."""
    from equipoise.simulate.scenarios import run_scenario

    kept = Path(tempfile.gettempdir()) / "equipoise-demo.npz"
    if not kept.is_file():
        run_scenario("table_reach").save(kept)
    return eq.Run.load(kept)


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


def film() -> None:
    """The animation of the README."""
    frames = []
    with eq.view(demo_run(), port=0) as viewer, window(viewer.url, 1000, 700) as browser:
        ready(viewer, browser)
        (client,) = viewer.server.get_clients().values()
        viewer.scene.set_layer("frames", False)
        client.get_render(FILM[1], FILM[0], timeout=400.0)  # until lights and camera are there
        time.sleep(5.0)
        for t in FILM_TIMES:
            viewer.player.seek(float(t))
            frames.append(_on_white(client.get_render(FILM[1], FILM[0], transport_format="png", timeout=400.0)))
    path = DOCS / "demo.webp"
    shown = [100] * (len(frames) - 1) + [600]  # ms
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=shown, loop=0, quality=70, method=4)
    print(f"docs/demo.webp, {path.stat().st_size / 1e3:.0f} kB, {len(frames)} pictures")


def _on_white(pixels: np.ndarray) -> Image.Image:
    picture = Image.fromarray(pixels, "RGBA")
    white = Image.new("RGBA", picture.size, "white")
    return Image.alpha_composite(white, picture).convert("RGB")


PICTURES: dict[str, Callable[[], None]] = {f.__name__: f for f in (view, live, report, comparison, notebook, film)}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]()
