"""`equipoise reproduce --html`: all rows on one page that opens from disk, with figures, pictures and commands."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .. import __version__
from ..files import written_whole
from .differences import DIFFERENCES
from .rows import PAPERS, Figure, Row

STYLE = """
:root { color-scheme: light; font: 15px/1.45 system-ui, sans-serif; color: #212529; }
body { margin: 0 auto; max-width: 1100px; padding: 16px; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; } h3 { font-size: 1rem; margin: 1.6rem 0 .2rem; }
table { border-collapse: collapse; margin: .4rem 0; width: 100%; }
td, th { padding: .15rem .8rem .15rem 0; text-align: left; vertical-align: top; border-top: 1px solid #e9ecef; }
th { border-top: none; color: #6c757d; font-weight: 500; }
td:nth-child(n + 3) { font-variant-numeric: tabular-nums; }
.paper { background: #fff3bf; padding: 0 .3rem; border-radius: 3px; }
img { max-width: 100%; height: auto; display: block; margin: .6rem 0; }
nav a { display: inline-block; min-width: 3rem; text-decoration: none; }
.good { color: #2b8a3e; } .bad { color: #c92a2a; font-weight: 600; } .hint { color: #6c757d; font-size: .9rem; }
code { background: #f1f3f5; padding: .1rem .3rem; border-radius: 3px; }
"""


@dataclass(frozen=True, eq=False)
class Shown:
    """A row that was run: what it showed, the pictures it drew, how long it took."""

    row: Row
    figures: list[Figure]
    pictures: list[tuple[str, bytes]] = field(default_factory=list)  # name, SVG
    seconds: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether every figure is good; a row that shows nothing does not hold."""
        return bool(self.figures) and all(figure.good for figure in self.figures)


def write_page(shown: Sequence[Shown], path: str | Path) -> Path:
    """Write the page; whole or not at all."""
    return written_whole(Path(path), lambda file: file.write(page(shown).encode()))


def page(shown: Sequence[Shown]) -> str:
    """The document. What comes from rows is text, never markup; pictures are images without scripts."""
    holding = sum(one.holds for one in shown)
    links = " ".join(
        f'<a href="#{_text(one.row.id)}" class="{_mark(one.holds)}">{_text(one.row.id)}</a>' for one in shown
    )
    parts = [_paper(key, [one for one in shown if one.row.paper == key]) for key in PAPERS]
    minutes = sum(one.seconds for one in shown) / 60
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>The papers, reproduced</title><style>{STYLE}</style></head><body>
<h1>The papers, reproduced</h1>
<p>{holding} of {len(shown)} rows hold; Equipoise {_text(__version__)}, {minutes:.1f} minutes. What a paper itself
states is <span class="paper">marked like this</span>; where it states no figure, the cell is empty. The criterion with
its tolerance (<i>required here</i>) and <i>what comes out</i> are ours. <i>Source</i> is the place in the paper; in
grey it is that of the whole row.</p>
<nav>{links}</nav>
{"".join(parts)}
</body></html>
"""


def _paper(key: str, shown: Sequence[Shown]) -> str:
    return f"<h2>[{_text(key)}] {_text(PAPERS[key])}</h2>\n{''.join(map(_row, shown))}" if shown else ""


def _row(one: Shown) -> str:
    row, verdict = one.row, "holds" if one.holds else "FAILS"
    command = f"equipoise reproduce {row.id}" + (" --plots figures" if one.pictures else "")
    lines = "".join(_line(figure, row.place) for figure in one.figures)
    drawings = "".join(map(_picture, one.pictures))
    differs = DIFFERENCES.get(row.id.partition(" ")[0], "")
    note = f'<p class="hint">Where it differs from the paper: {_text(differs)}</p>' if differs else ""
    return f"""<section id="{_text(row.id)}">
<h3>{_text(row.id)} · {_text(row.title)} · <span class="{_mark(one.holds)}">{verdict}</span></h3>
<p class="hint"><code>{_text(command)}</code>, {one.seconds:.1f} s</p>
<table>
<tr><th>what</th><th>source</th><th>stated in the paper</th><th>required here</th><th>comes out</th><th></th></tr>
{lines}</table>
{note}{drawings}</section>
"""


def _line(figure: Figure, place: str) -> str:
    source = f"<td>{_text(figure.place)}</td>" if figure.place else f'<td class="hint">{_text(place)}</td>'
    stated = f'<td><span class="paper">{_text(figure.paper)}</span></td>' if figure.paper else "<td></td>"
    ours = "".join(f"<td>{_text(cell)}</td>" for cell in (figure.required, figure.ours))
    mark = f'<td class="{_mark(figure.good)}">{"✓" if figure.good else "✗"}</td>'
    return f"<tr><td>{_text(figure.words)}</td>{source}{stated}{ours}{mark}</tr>"


def _picture(named: tuple[str, bytes]) -> str:
    name, drawing = named
    return f'<img alt="{_text(name)}" src="data:image/svg+xml;base64,{base64.b64encode(drawing).decode()}">'


def _mark(good: bool) -> str:
    return "good" if good else "bad"


def _text(words: str) -> str:
    return html.escape(words)
