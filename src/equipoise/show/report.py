"""`eq.report`: a run as one file that opens from disk: the motion in three dimensions, and its curves."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import EquipoiseError
from ..files import written_whole
from .charts import Chart, Verdict, charts, spells, verdict
from .moments import Obstacle
from .plots import svg
from .scene import Scene, counted, opened, stop
from .viewer import LOOPBACK, Player, moment_of

if TYPE_CHECKING:
    from ..simulate.run import Run

MOST_FRAMES = 1500
HOLD = 0.5  # s that the last picture stays before the player starts again


def report(run: Run, path: str | Path, *, rate: float = 30.0, title: str | None = None, progress: bool = False) -> Path:
    """Write a run as one self-contained HTML file; nothing else is needed to open it, no network either.

    Args:
        run: what `eq.simulate` returned.
        path: of the file; written whole or not at all.
        rate: pictures per second of the motion; at most 1,500 in all.
        title: heading; the robot's name if None.
        progress: show a bar on the terminal.
    """
    if not rate > 0:
        raise EquipoiseError(f"rate is pictures per second, a positive number; got {rate!r}")
    if not len(run.t):
        raise EquipoiseError("this run has no samples: there is nothing to report")
    every = charts(run)
    strip = spells(run)
    drawings = [svg(chart, run.t, strip, run.events) for chart in counted(every, "drawing curves", progress)]
    text = page(run, title or run.robot.name, motion(run, rate, progress), every, drawings)
    target = Path(path)
    if not target.parent.is_dir():
        raise EquipoiseError(f"cannot write {target}: there is no folder {target.parent}")
    return written_whole(target, lambda file: file.write(text.encode()))


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
        scene = Scene(server, run.robot, contacts=run.contacts, obstacles=Obstacle.all_of(run), frames=shown, progress=progress)
        indices = moments(np.asarray(run.t, dtype=float), rate)
        Player(scene, run).seek(float(run.t[0]))
        scene.look(run.com[0] if np.isfinite(run.com[0]).all() else run.robot.com(run.q[0]))
        recording = server.get_scene_serializer()
        pairs = list(zip(indices, [*indices[1:], None], strict=True))
        for k, following in counted(pairs, "recording the motion", progress):
            scene.show(moment_of(run, int(k)))
            if following is not None:
                recording.insert_sleep(float(run.t[following] - run.t[k]))
        recording.insert_sleep(HOLD)
        stop(server)
    return str(recording.as_html())


# --- the page -------------------------------------------------------------------------------------------------------------

STYLE = """
:root { color-scheme: light; font: 15px/1.45 system-ui, sans-serif; color: #212529; }
body { margin: 0 auto; max-width: 1100px; padding: 16px; }
h1 { font-size: 1.4rem; margin: 0 0 .3rem; }
iframe { width: 100%; height: 560px; border: 1px solid #dee2e6; border-radius: 6px; }
table { border-collapse: collapse; margin: .6rem 0 1rem; }
td, th { padding: .15rem .9rem .15rem 0; text-align: left; vertical-align: top; }
figure { margin: 0 0 .5rem; }
svg.chart { width: 100%; height: auto; cursor: crosshair; }
.bad { color: #c92a2a; font-weight: 600; }
.hint { color: #6c757d; font-size: .85rem; }
"""

# The player keeps its time in its own controls; the page reads it there for the cursors, and writes it there on a click.
SCRIPT = """
const frame = document.getElementById("motion"), start = Number(frame.dataset.start);
const charts = [...document.querySelectorAll("svg.chart")].map(svg => {
  const d = Object.fromEntries(Object.entries(svg.dataset).map(([k, x]) => [k, Number(x)]));
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  line.setAttribute("y1", d.y0); line.setAttribute("y2", d.y1);
  line.setAttribute("stroke", "#212529"); line.setAttribute("class", "now");
  svg.append(line);
  svg.addEventListener("click", event => {
    const x = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse()).x;
    seek(d.t0 + (d.t1 - d.t0) * Math.min(1, Math.max(0, (x - d.x0) / (d.x1 - d.x0))));
  });
  return {d, line};
});
function inside(selector) { return frame.contentDocument ? frame.contentDocument.querySelector(selector) : null; }
function now() {
  const slider = inside('[role="slider"]');
  return slider ? start + Number(slider.getAttribute("aria-valuenow")) : null;
}
function seek(t) {
  const box = inside('input[inputmode]');
  if (!box) return;
  const set = Object.getOwnPropertyDescriptor(frame.contentWindow.HTMLInputElement.prototype, "value").set;
  set.call(box, String(t - start));
  box.dispatchEvent(new Event("input", {bubbles: true}));
}
function draw() {
  const t = now();
  if (t !== null) for (const {d, line} of charts) {
    const x = d.x0 + (d.x1 - d.x0) * Math.min(1, (t - d.t0) / (d.t1 - d.t0));
    line.setAttribute("x1", x); line.setAttribute("x2", x);
  }
  requestAnimationFrame(draw);
}
draw();
"""


def page(run: Run, title: str, player: str, every: list[Chart], drawings: list[str]) -> str:
    """All parts as one document. What comes from the run is text, never markup."""
    name = html.escape(title)
    policy = (
        "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval' blob: data:"
    )
    policy += " 'wasm-unsafe-eval'; connect-src data: blob:; worker-src blob: data:; font-src data:; frame-src 'self' data: blob:"
    figures = "\n".join(
        f'<figure id="{html.escape(c.key)}">{drawing}</figure>' for c, drawing in zip(every, drawings, strict=True)
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{name}</title><style>{STYLE}</style></head><body>
<h1>{name}</h1>
{_facts(run, verdict(run, every), every)}
<iframe id="motion" title="motion" data-start="{float(run.t[0])!r}" srcdoc="{html.escape(player)}"></iframe>
<p class="hint">Drag to turn, scroll to zoom. Click into a curve to go to that time.
Shaded: the controller was not at its optimum. Dotted: events.</p>
{figures}
{_events(run)}
<script>{SCRIPT}</script>
</body></html>
"""


def _facts(run: Run, found: Verdict, every: list[Chart]) -> str:
    rows = [
        ("robot", f"{run.robot.name}, {run.robot.mass:.1f} kg, {len(run.robot.joints)} joints"),
        ("outcome", found.outcome),
        ("length", f"{found.duration:.3f} s, {found.samples} samples, seed {run.seed}"),
        ("controller", ", ".join(f"{name} {100 * share:.1f} %" for name, share in found.status.items()) or "no status"),
    ]
    bad = {chart.title for chart in every if chart.violated}
    lines = [f"<tr><th>{html.escape(what)}</th><td>{html.escape(value)}</td></tr>" for what, value in rows]
    for title, (name, worst) in found.worst.items():
        mark = ' class="bad"' if title in bad else ""
        lines.append(f"<tr><th>{html.escape(title)}</th><td{mark}>worst {worst:.4g} ({html.escape(name)})</td></tr>")
    return f"<table>{''.join(lines)}</table>"


def _events(run: Run) -> str:
    rows = "".join(f"<tr><td>{time:.3f} s</td><td>{html.escape(str(text))}</td></tr>" for time, text in run.events)
    return f"<h2>events</h2><table>{rows}</table>" if rows else ""
