"""Pictures like those of [QO21, Ch. 6]: QP dashed and black, CQP solid and blue, limits dashed and red."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ..robot import load
from . import qo21_cooperation, qo21_cup
from .pictures import LIMIT, sheet, table
from .qo21_models import COLUMNS, TABLE_6_4, Comparison, against_toolbox, columns, compared
from .qo21_times import time_picture

Array = np.ndarray
QP = dict(color="black", linestyle="--", linewidth=1.0)
CQP = dict(color="#1c5fb0", linestyle="-", linewidth=1.2)


def pictures() -> Iterator[tuple[str, Any]]:
    """All of Sec. 6.1 and 6.3."""
    for level, distances, motion in (("velocity", "6.2", "6.5"), ("torque", "6.4", "6.3")):
        yield f"fig-{distances}-cup-distances-{level}", cup_distances(level, distances)
        yield f"fig-{motion}-cup-motion-{level}", cup_motion(level, motion)
    yield "fig-6.10-cup-in-both-hands", cooperation("6.10", "bimanual", qo21_cooperation.lowered)
    for name, number in (("bimanual", "6.10"), ("nonholonomic_bimanual", "6.12")):
        yield (
            f"fig-{number}-{name.replace('_', '-')}",
            cooperation(number, name, partial(qo21_cooperation.carried, name)),
        )
    yield "fig-6.20-torque-errors", torque_errors()
    yield "fig-6.21-times", time_picture()
    yield "fig-6.24-waveforms", waveforms(compared("8-DOF nonholonomic"))
    yield "table-6.4-correlation", correlations()


def cup_distances(level: str, number: str) -> Any:
    """Distances of the hand from the four planes, and of the arm from the torso."""
    panels = [*(f"plane {k + 1}" for k in range(4)), "arm and torso"]
    picture, axes = sheet(f"[QO21, Fig. {number}] cup, by {level}: distances, m", panels, columns=5, size=(2.4, 2.4))
    for constrained, look in ((False, QP), (True, CQP)):
        run = qo21_cup.placed(level, constrained)
        for one, distance in zip(axes, run.planes.T + qo21_cup.PLANES, strict=False):
            one.plot(run.t, distance, **look)
        axes[4].plot(run.t, run.torso + qo21_cup.TORSO_GAP, label="CQP" if constrained else "QP", **look)
    for one in axes[:4]:
        one.axhline(qo21_cup.PLANES, **LIMIT)
    axes[4].axhline(qo21_cup.TORSO_GAP, label="safe", **LIMIT)
    axes[4].legend()
    for one in axes:
        one.set_xlabel("t, s")
    return picture


def cup_motion(level: str, number: str) -> Any:
    """Norms of inputs, of accelerations and velocities, task error, tilt of the cup, joints as part of their range."""
    unit = "rad/s" if level == "velocity" else "N m"
    dynamic = ["accelerations, rad/s²", "velocities, rad/s"] if level == "torque" else []
    panels = [f"inputs, {unit}", *dynamic, "task error, m", "tilt, rad", "joints, −1 to 1"]
    picture, axes = sheet(f"[QO21, Fig. {number}] cup, by {level}", panels, columns=3 if dynamic else 4)
    for constrained, look in ((False, QP), (True, CQP)):
        run = qo21_cup.placed(level, constrained)
        moving = (run.command, np.gradient(run.v, run.t, axis=0), run.v) if dynamic else (run.command,)
        curves = [*(np.linalg.norm(x, axis=1) for x in moving), np.abs(run.distance), run.tilt]
        for one, curve in zip(axes, curves, strict=False):
            one.plot(run.t, curve, label="CQP" if constrained else "QP", **look)
        axes[-1].plot(run.t, _parts(qo21_cup.CupScene().robot, run.q), **look)
    axes[-2].axhline(qo21_cup.TILT, **LIMIT)
    _range(axes[-1])
    axes[0].legend()
    return picture


def cooperation(number: str, name: str, experiment: Callable[[bool], qo21_cooperation.Carrying]) -> Any:
    """Norm of inputs, errors of task and grip, tilt of what is carried, joints as part of the range that is theirs
    here."""
    panels = [
        "velocities, rad/s and m/s",
        "task error, m and rad",
        "change of the grip, m and rad",
        "tilt, rad",
        "joints, −1 to 1",
    ]
    picture, axes = sheet(f"[QO21, Fig. {number}] {name.replace('_', ' ')}", panels)
    robot = load(name)
    for constrained, look in ((False, QP), (True, CQP)):
        run = experiment(constrained)
        for one, curve in zip(
            axes, (np.linalg.norm(run.v, axis=1), run.absolute, run.relative, run.tilt), strict=False
        ):
            one.plot(run.t, curve, label="CQP" if constrained else "QP", **look)
        axes[4].plot(run.t, _parts(robot, run.q, qo21_cooperation.MARGIN), **look)
    if experiment is qo21_cooperation.lowered:
        axes[3].axhline(qo21_cooperation.TILT, **LIMIT)
    _range(axes[4])
    axes[0].legend()
    return picture


def _parts(robot: Any, q: Array, margin: float = 0.0) -> Array:
    """Limited joints between −1 at the lower limit and 1 at the upper, limits `margin` before the ends."""
    lower, upper = robot.limits.lower, robot.limits.upper
    known = np.isfinite(lower) & np.isfinite(upper)
    middle, half = (upper + lower)[known] / 2, (upper - lower)[known] / 2 - margin
    return (q[:, known] - middle) / half


def _range(axes: Any) -> None:
    for end in (-1.0, 1.0):
        axes.axhline(end, **LIMIT)


def torque_errors() -> Any:
    """Mean percentage error of each joint's torque and its standard deviation."""
    errors = against_toolbox()
    panels = [f"our kernels, {len(errors.kernels):,} states", f"Alg. 5.1, {len(errors.gauss)} states"]
    picture, axes = sheet("[QO21, Fig. 6.20] torques against the Robotics Toolbox", panels, size=(3.6, 2.8))
    for one, error in zip(axes, (errors.kernels, errors.gauss), strict=True):
        one.bar(np.arange(1, 8), error.mean(axis=0), yerr=error.std(axis=0), color="#748ffc", capsize=3)
        one.set(xlabel="joint", ylabel="mean error, %")
    return picture


def waveforms(comparison: Comparison) -> Any:
    """Accelerations of the coordinates that correlate least, most and in between."""
    c = comparison.correlations
    order = np.argsort(c)
    chosen = [order[0], order[-1], order[len(order) // 2]]
    panels = [f"coordinate {k + 1}, CMC {c[k]:.5f}" for k in chosen]
    picture, axes = sheet(f"[QO21, Fig. 6.24] accelerations, {comparison.name}", panels)
    for one, k in zip(axes, chosen, strict=True):
        one.plot(comparison.t, comparison.engine[:, k], color="#1c5fb0", lw=1.6, label="MuJoCo")
        one.plot(comparison.t, comparison.ours[:, k], color=LIMIT["color"], lw=1.2, linestyle="-.", label="ours")
        one.set_xlabel("t, s")
    axes[0].legend()
    return picture


def correlations() -> Any:
    """CMCs of the three robots, beside the thesis's: all columns."""
    picture, (axes,) = sheet("[QO21, Table 6.4] coefficient of multiple correlation", [""], size=(7.5, 2.0))
    rows = {}
    for name, thesis in TABLE_6_4.items():
        both = {name: compared(name).correlations, f"{name}, Toolbox": compared(name).toolbox_correlations}
        for label, c in both.items():
            if c is not None:
                rows[label] = [f"{theirs:.4f} / {ours:.5f}" for theirs, ours in zip(thesis, columns(c), strict=True)]
    table(axes, [f"{name}, thesis / ours" for name in COLUMNS], rows)
    return picture
