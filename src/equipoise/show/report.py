"""`eq.report`: a run as one file that opens from disk: the motion in three dimensions, and its curves."""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import EquipoiseError
from ..files import require_writable, written_whole
from ..simulate.goals import Verdict
from .charts import RunChart, charts
from .curves import curves
from .obstacles import Obstacle
from .path import path as path_from_above
from .player import Player, moment_of, run_samples
from .scene import RobotScene, counted, opened, stop
from .viewer import LOOPBACK

if TYPE_CHECKING:
    from ..simulate.run import Run

MOST_FRAMES = 1500
HOLD = 0.5  # s that the last picture stays before the player starts again


def report(
    run: Run,
    path: str | Path,
    *,
    compare: Run | None = None,
    rate: float = 30.0,
    title: str | None = None,
    progress: bool = False,
) -> Path:
    """Write a run as one self-contained HTML file; nothing else is needed to open it, no network either.

    The motion plays beside curves that share zoom and cursor; a click into a curve goes to that time, a click on a name
    shows or hides its curve.

    Args:
        run: what `eq.simulate` returned.
        path: of the file; written whole or not at all.
        compare: another run, shown beside the first, its curves dashed.
        rate: pictures per second of the motion; at most 1,500 in all.
        title: heading; None: the title of the run's scenario with the robot's name.
        progress: show a bar on the terminal.

    Returns:
        Where the file is.
    """
    if not rate > 0:
        raise EquipoiseError(f"rate is pictures per second, a positive number; got {rate!r}")
    require_writable(path)
    runs = [run] if compare is None else [run, compare]
    if not all(len(one.t) for one in runs):
        raise EquipoiseError("this run has no samples: there is nothing to report")
    text = page(runs, title or run_title(run), [motion(one, rate, progress) for one in runs])
    return written_whole(Path(path), lambda file: file.write(text.encode()))


def run_title(run: Run) -> str:
    """Returns what a run is called: the title of its scenario and the robot's name."""
    title = str(run.scenario.get("title") or run.scenario.get("name") or "")
    return title if run.robot.name in title else f"{title}: {run.robot.name}".removeprefix(": ")


def moments(t: np.ndarray, rate: float) -> np.ndarray:
    """Indices of the samples to draw: about `rate` in a second, the first and the last among them."""
    duration = float(t[-1] - t[0])
    count = int(np.clip(round(duration * rate) + 1, 2, MOST_FRAMES))
    wanted = np.linspace(t[0], t[-1], count)
    return np.unique(np.clip(np.searchsorted(t, wanted - 1e-9), 0, len(t) - 1))


def motion(run: Run, rate: float, progress: bool) -> str:
    """A page that plays the motion: viser's recorded scene together with its player."""
    with opened(LOOPBACK, 0) as server:
        shown = tuple(dict.fromkeys(contact.frame for contact in run.contacts.values()))
        scene = RobotScene(
            server, run.robot, contacts=run.contacts, obstacles=Obstacle.all_of(run), frames=shown, progress=progress
        )
        scene.set_dark(None)
        indices = moments(np.asarray(run.t, dtype=float), rate)
        Player(scene, run).seek(float(run.t[0]))
        scene.look(run.com[0], run_samples(run))
        recording = server.get_scene_serializer()
        pairs = list(zip(indices, [*indices[1:], None], strict=True))
        for k, following in counted(pairs, "recording the motion", progress):
            scene.show(moment_of(run, int(k)))
            if following is not None:
                recording.insert_sleep(float(run.t[following] - run.t[k]))
        recording.insert_sleep(HOLD)
        stop(server)
    return _own_scheme(str(recording.as_html()))


def _own_scheme(player: str) -> str:
    """The player is dark where the reader's pages are."""
    return player.replace("darkMode:false", 'darkMode:matchMedia("(prefers-color-scheme: dark)").matches', 1)


# --- the page ---------------------------------------------------------------------------------------------------------

ASSETS = Path(__file__).parent / "assets"
HINT = (
    "Drag to turn, scroll to zoom. Orange: the centre of mass and the point below it; violet: the capture point; "
    "green: where the centre of mass may rest; red: contact forces and pressure; blue: friction cones; pale blue: "
    "targets, planned steps and, thin, where the next foot can be set. In the curves: click to go to that time, drag "
    "to zoom all of them, double-click to see everything again, click a name to show or hide its curve. Shaded: the "
    "controller was not at its optimum. Dotted: events. Red: a limit."
)
POLICY = (
    "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval' "
    "blob: data: "
    "'wasm-unsafe-eval'; connect-src data: blob:; worker-src blob: data:; font-src data:; frame-src 'self' data: blob:"
)


def page(runs: Sequence[Run], title: str, players: Sequence[str]) -> str:
    """All parts as one document. What comes from a run is text, never markup."""
    name, names = html.escape(title), ["first", "second"][: len(runs)]
    every = [charts(run) for run in runs]
    figures = "\n".join(f'<figure class="chart" id="{html.escape(chart.key)}"></figure>' for chart in every[0])
    plays = "\n".join(
        f'<div class="motion"><div>{_origin(run)}{_verdict(run)}</div><iframe class="motion" title="motion" '
        f'data-start="{float(run.t[0])!r}" srcdoc="{html.escape(player)}"></iframe>'
        f"{_facts(run, found, label if len(runs) > 1 else '')}</div>"
        for run, player, label, found in zip(runs, players, names, every, strict=True)
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{name}</title><style>{_asset("uplot.css")}{_asset("report.css")}</style></head><body>
<h1>{name}</h1>
<div class="motions runs{len(runs)}">{plays}</div>
<p class="hint"><label><input type="checkbox" id="follow" checked> the camera follows the robot</label></p>
<details class="hint"><summary>what is drawn, and what the mouse does</summary>{HINT}</details>
<figure class="chart" id="bands"></figure>
{path_from_above(runs[0])}
{figures}
{_events(runs[0])}
<script type="application/json" id="curves">{curves(runs, every, names)}</script>
<script>{_asset("uplot.js")}</script>
<script>{_asset("report.js")}</script>
</body></html>
"""


@functools.cache
def _asset(name: str) -> str:
    """A file that goes into the page; its license comment without the address, so that the page names no other
    place."""
    return re.sub(
        r"/\*! https://\S+ (\(v[\d.]+\)) \*/",
        r"/* uPlot \1, MIT license */",
        (ASSETS / name).read_text(encoding="utf-8"),
    )


def _row(*cells: str, kind: str = "") -> str:
    return f"<tr{kind}><th>{cells[0]}</th>{''.join(f'<td>{html.escape(cell)}</td>' for cell in cells[1:])}</tr>"


def _origin(run: Run) -> str:
    """When, where and by which command the run was made."""
    words = [f"equipoise {run.origin['version']}"] if "version" in run.origin else []
    words += [str(run.origin[key]) for key in ("date", "processor") if run.origin.get(key)]
    command = f"<br><code>{html.escape(str(run.origin['command']))}</code>" if run.origin.get("command") else ""
    return f'<p class="origin">{html.escape(" · ".join([*words, f"seed {run.seed}"]))}{command}</p>'


def _verdict(run: Run) -> str:
    """The table of the terminal: what was required, and what was measured."""
    if "verdict" not in run.scenario:
        return ""
    rows = [
        _row(
            "✓" if check.good else "✗", check.name, check.came, check.wanted, kind="" if check.good else ' class="bad"'
        )
        for check in Verdict.of_plain(run.scenario["verdict"]).checks
    ]
    head = "<tr><th></th><th></th><th>measured</th><th>required</th></tr>"
    return f'<table class="verdict">{head}{"".join(rows)}</table>'


def _facts(run: Run, every: list[RunChart], label: str) -> str:
    robot, status = run.robot, np.asarray(run.status)
    shares = {name: np.mean(status == k) for k, name in enumerate(run.status_names)}
    rows = [
        _row("robot", f"{robot.name}, {robot.mass:.1f} kg, {len(robot.joints)} joints{f' ({label})' if label else ''}"),
        _row("outcome", run.outcome),
        _row("length", f"{run.duration:.3f} s, {len(run.t)} samples"),
        _row("controller", ", ".join(f"{name} {100 * x:.3g} %" for name, x in shares.items() if x > 0) or "no status"),
    ]
    for chart in every:
        if chart.limit is not None:
            rows.append(_row(html.escape(chart.title), chart.extreme(), kind=' class="bad"' if chart.violated else ""))
    return f'<table class="facts">{"".join(rows)}</table>'


def _events(run: Run) -> str:
    rows = "".join(_row(f"{time:.3f} s", str(text)) for time, text in run.events)
    return f'<h2>events</h2><table class="events">{rows}</table>' if rows else ""
