"""A still picture of a run: its robot and obstacles at some moments, side by side, as one PNG; no window, no
browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import EquipoiseError, missing_package
from ..files import write_figure
from ..model.posture import link_poses
from .obstacles import Obstacle
from .triangles import Surface, link_surfaces

if TYPE_CHECKING:
    from ..simulate.run import Run

Array = np.ndarray
SUN = np.array([0.35, -0.5, 0.8]) / np.linalg.norm([0.35, -0.5, 0.8])
WOOD = (190, 180, 165)
GROUND, ARROW, MASS = "#dee2e6", "#1971c2", "#d9480f"
NEWTONS = 1000.0  # in one metre of an arrow


def still(
    run: Run,
    path: str | Path,
    times: Sequence[float] | None = None,
    *,
    azimuth: float = -0.75,
    elevation: float = 0.25,
    dpi: int = 110,
) -> Path:
    """Draw a run at some times (s): by default at its start and where the centre of mass is farthest from there.

    Contact forces are blue arrows, the centre of mass is an orange dot with its plumb line.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_package("matplotlib", "view", "a still picture") from None
    if not len(run.t):
        raise EquipoiseError("this run has no samples: there is nothing to draw")
    if times is None:
        far = float(run.t[int(np.argmax(np.linalg.norm(run.com - run.com[0], axis=1)))])
        times = (float(run.t[0]), far)
    view = _view(azimuth, elevation)
    figure = Figure(figsize=(4.2 * len(times), 4.6), dpi=dpi, facecolor="white")
    axes = figure.subplots(1, len(times), sharex=True, sharey=True, squeeze=False)[0]
    for ax, t in zip(axes, times, strict=True):
        _draw(ax, run, int(np.argmin(np.abs(run.t - t))), view)
    figure.subplots_adjust(0, 0, 1, 1, 0, 0)
    return write_figure(figure, path, bbox_inches="tight", pad_inches=0.05)


def _view(azimuth: float, elevation: float) -> Array:
    """Rows: right, up and towards the eye."""
    eye = np.array([np.cos(azimuth) * np.cos(elevation), np.sin(azimuth) * np.cos(elevation), np.sin(elevation)])
    right = np.cross([0.0, 0.0, 1.0], eye)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(eye, right), eye])


def _draw(ax: Any, run: Run, k: int, view: Array) -> None:
    from matplotlib.collections import PolyCollection

    poses = link_poses(run.robot.model, run.q[k])
    things = [surface.at(poses[name]) for name, surfaces in link_surfaces(run.robot.model) for surface in surfaces]
    for obstacle in Obstacle.all_of(run):
        X = obstacle.pose(float(run.t[k]), poses, run.robot)
        things += [replace(surface, color=WOOD).at(X) for surface in obstacle.surfaces()]
    corners, colors = _triangles(things, view)
    ground = np.array([(x, y, 0.0) for x, y in ((-0.7, -0.7), (1.1, -0.7), (1.1, 0.7), (-0.7, 0.7))])
    ax.fill(*(ground @ view.T)[:, :2].T, color=GROUND, zorder=0)
    ax.add_collection(PolyCollection(list(corners), facecolors=colors, edgecolors="none", antialiaseds=False, zorder=1))
    _marks(ax, run, k, view)
    ax.set_aspect("equal")
    ax.autoscale_view()
    ax.axis("off")
    ax.set_title(f"{run.t[k]:.1f} s", fontsize=10, color="#495057", y=0.0)


def _triangles(things: Sequence[Surface], view: Array) -> tuple[Array, Array]:
    """(triangles in the picture (n, 3, 2), colours (n, 4)), the farthest first."""
    corners, colors = [], []
    for surface in things:
        p = surface.vertices[surface.faces]
        n = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
        n /= np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-12)
        light = 0.55 + 0.45 * np.abs(n @ SUN)
        opacity = 1.0 if surface.opacity is None else surface.opacity
        corners.append(p @ view.T)
        colors.append(np.column_stack([np.asarray(surface.color) / 255 * light[:, None], np.full(len(p), opacity)]))
    every, shades = np.concatenate(corners), np.clip(np.concatenate(colors), 0, 1)
    order = np.argsort(every[:, :, 2].mean(axis=1))
    return every[order][:, :, :2], shades[order]


def _marks(ax: Any, run: Run, k: int, view: Array) -> None:
    """Contact forces, the centre of mass and its plumb line."""
    for name, contact in run.contacts.items():
        force = np.nan_to_num(run.measured.get(name, np.zeros((len(run.t), 6)))[k, :3])
        foot = run.robot.pose(run.q[k], contact.frame)[:3, 3]
        if np.linalg.norm(force) > 1.0:
            a, b = view[:2] @ foot, view[:2] @ (foot + force / NEWTONS)
            ax.annotate("", b, a, arrowprops=dict(arrowstyle="-|>", color=ARROW, lw=2), zorder=3)
    c = run.com[k]
    a, b = view[:2] @ c, view[:2] @ np.array([c[0], c[1], 0.0])
    ax.plot(*zip(a, b, strict=True), color=MASS, lw=1, ls=":", zorder=3)
    ax.plot(*a, "o", color=MASS, ms=7, zorder=4)
