"""Pictures like those of the papers, with Matplotlib: made in one style, written whole or not at all."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import missing_package, unknown_name
from ..files import written_whole
from ..model.posture import link_poses
from ..robot import Robot
from ..show import plots

Array = np.ndarray
SETTINGS = plots.SETTINGS | {"text.parse_math": True}  # all words are ours; axes of powers of ten need it
KINDS = ("svg", "png")
LIMIT = dict(color="#c92a2a", linestyle="--", linewidth=1.0)  # as in [QO21]: red and dashed
MASS = "#d9480f"


def require_matplotlib() -> Any:
    """Matplotlib, or the error that says how to get it."""
    try:
        import matplotlib
    except ImportError:
        raise missing_package("matplotlib", "papers", "pictures like those of the papers") from None
    return matplotlib


def sheet(
    title: str, panels: Sequence[str], *, columns: int = 3, size: tuple[float, float] = (3.2, 2.6)
) -> tuple[Any, list[Any]]:
    """A figure and its axes.

    Args:
        panels: title of each.
        columns: most panels in a row.
        size: inches, of a panel.
    """
    matplotlib = require_matplotlib()
    from matplotlib.figure import Figure

    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    with matplotlib.rc_context(SETTINGS):
        picture = Figure(figsize=(size[0] * columns, size[1] * rows + 0.3), layout="constrained")
        picture.suptitle(title, fontsize=10)
        axes = [picture.add_subplot(rows, columns, k + 1) for k in range(len(panels))]
        for one, name in zip(axes, panels, strict=True):
            one.set_title(name, loc="left", fontsize=9)
    return picture, axes


def draw(
    axes: Any, robot: Robot, q: Array, *, color: str = "#495057", view: Any = ((1, 0, 0), (0, 0, 1)), mass: bool = True
) -> None:
    """A robot as lines along the axes of its shapes and from link to link, and its centre of mass on a plumb line.

    Args:
        view: directions of the world to the right and upwards, (2, 3).
    """
    flat, poses = np.asarray(view, dtype=float), link_poses(robot.model, q)
    for name, link in robot.model.links.items():
        for shape in link.collisions or link.visuals:
            ends = poses[name] @ shape.X @ _axis(shape.kind, shape.size)
            x, y = flat @ ends[:3]
            axes.plot(x, y, color=color, lw=2.0, solid_capstyle="round")
    for joint in robot.model.joints.values():
        if joint.parent is not None:
            x, y = flat @ np.array([poses[joint.parent][:3, 3], poses[joint.child][:3, 3]]).T
            axes.plot(x, y, color=color, lw=1.0)
    if mass:
        x, y = flat @ robot.com(q)
        axes.plot([x, x], [0.0, y], color=MASS, lw=0.8, linestyle=":")
        axes.plot([x], [y], "o", color=MASS, markersize=4)
    axes.set_aspect("equal", adjustable="datalim")


def _axis(kind: str, size: Sequence[float]) -> Array:
    """Ends of a shape's longest axis, homogeneous, (4, 2)."""
    if kind in ("cylinder", "capsule"):
        way = np.array([0.0, 0.0, size[1] / 2])
    elif kind == "box":
        k = int(np.argmax(size))
        way = np.eye(3)[k] * size[k] / 2
    else:
        way = np.zeros(3)
    return np.array([[-x, x] for x in way] + [[1.0, 1.0]])


def table(axes: Any, columns: Sequence[str], rows: Mapping[str, Iterable[str]]) -> None:
    """Words and figures in a grid, in place of curves."""
    axes.axis("off")
    cells = [list(cells) for cells in rows.values()]
    made = axes.table(cellText=cells, rowLabels=list(rows), colLabels=list(columns), loc="center", cellLoc="center")
    made.auto_set_font_size(False)
    made.set_fontsize(8.0)
    made.scale(1.0, 1.4)


def drawn(picture: Any, name: str, kind: str = "svg") -> bytes:
    """The picture as bytes, the same in every run."""
    if kind not in KINDS:
        raise unknown_name("kind of picture", kind, KINDS)
    options = {"format": kind, "dpi": 150, "metadata": {"Date": None} if kind == "svg" else None}
    made = io.BytesIO()
    with require_matplotlib().rc_context(SETTINGS | {"svg.hashsalt": name}):
        picture.savefig(made, **options)
    return made.getvalue()


def write(picture: Any, folder: Path, name: str, kind: str = "svg") -> Path:
    """The picture as a file, the same bytes in every run; whole or not at all."""
    content = drawn(picture, name, kind)
    folder.mkdir(parents=True, exist_ok=True)
    return written_whole(folder / f"{name}.{kind}", lambda file: file.write(content))
