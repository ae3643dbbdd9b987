"""The curves of a run, as data: drawn by Matplotlib (`eq.plot`, reports) and by the viewer alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import unknown_name
from ..model.types import Array
from ..simulate.replay import tilt_between
from . import capture
from .contact_marks import ContactPlace, normals_in_world
from .gantt import steps

if TYPE_CHECKING:
    from ..simulate.run import Run

CONE_TOLERANCE = 0.01  # a cone here stands on the sole as it was, the controller's on the sole as its sensors saw it
MOST_NAMES = 8  # in a legend; the curves with the largest peaks


@dataclass(frozen=True, eq=False)
class RunChart:
    """Curves over time that share an axis."""

    key: str
    title: str
    unit: str
    lines: Mapping[str, Array]  # by name, (N,)
    limit: float | None = None  # a curve on the wrong side of it is bad
    bad_above: bool = True
    logarithmic: bool = False
    tolerance: float = 0.0  # beyond the limit that is not called wrong
    judged: bool = True  # False: the limit is drawn, and crossing it is a fact about the computer, not about the run
    note: str = ""  # why a little beyond the limit is not wrong

    def leading(self, count: int = MOST_NAMES) -> list[str]:
        """Names of the curves that come nearest to the limit, or reach farthest."""
        sign = -1.0 if self.limit is not None and not self.bad_above else 1.0
        peaks = {
            name: _peak(sign * line if self.limit is not None else np.abs(line)) for name, line in self.lines.items()
        }
        return sorted(peaks, key=lambda name: -peaks[name])[:count]

    @property
    def violated(self) -> bool:
        """Whether any curve crosses the limit."""
        if self.limit is None or not self.judged:
            return False
        sign = 1.0 if self.bad_above else -1.0
        return any(np.any(sign * line > sign * self.limit + self.tolerance) for line in self._recorded)

    @property
    def _recorded(self) -> list[Array]:
        return [line for line in self.lines.values() if not np.isnan(line).all()]

    def extreme(self) -> str:
        """The curve that comes nearest to its limit or farthest beyond, in words."""
        name = self.leading(1)[0]
        line = self.lines[name][~np.isnan(self.lines[name])]
        most, limit = float(line.max() if self.bad_above else line.min()), self.limit or 0.0
        unit = f" {self.unit}" if self.unit else ""
        text = f"{'max' if self.bad_above else 'min'} {_figure(most)}{unit} (limit {_figure(limit)}{unit}), {name}"
        if not self.judged:
            late = int(np.sum(line > limit))
            share = f"{late} of {len(line)} above the limit on this computer"
            text = f"99 % below {_figure(float(np.quantile(line, 0.99)))}{unit}, {text}: {share}"
        past = (most - limit if self.bad_above else limit - most) > 1e-4
        return f"{text}; {self.note}" if self.note and past and not self.violated else text


def _figure(x: float) -> str:
    """Three digits, and a fourth just above one."""
    return f"{x:.4g}" if 1 < x < 1.1 else f"{x:.3g}"


def _peak(line: Array) -> float:
    good = line[~np.isnan(line)]  # an infinite ratio counts: it is a force that pulls
    return float(good.max()) if good.size else -np.inf


def charts(run: Run) -> list[RunChart]:
    """Every chart the run has numbers for."""
    made = [
        RunChart("task_errors", "task errors", "m, rad, …", dict(run.task_errors), logarithmic=True),
        RunChart("margins", "constraint margins", "", dict(run.margins), limit=0.0, bad_above=False),
        *torques(run),
        *_joints(run),
        RunChart(
            "cones",
            "forces in cones: tangential / (friction · normal)",
            "",
            cone_ratios(run),
            limit=1.0,
            tolerance=CONE_TOLERANCE,
            note="on the cone as the controller's sensors saw it",
        ),
        RunChart("normal_forces", "normal forces", "N", {name: f[0] for name, f in _split_forces(run).items()}),
        RunChart("com", "centre of mass", "m", dict(zip("xyz", np.asarray(run.com, dtype=float).T, strict=True))),
        RunChart("base", "position of the base", "m", _base(run)),
        RunChart("estimates", "error of the estimate of the base", "m, m/s, rad", estimate_errors(run)),
        RunChart("capture", "capture point and centre of pressure", "m", capture.lines(run) if steps(run) else {}),
        RunChart("cycle_time", "time of a control step", "ms", _cycle(run), limit=_step(run.t), judged=False),
    ]
    return [chart for chart in made if any(not np.isnan(line).all() for line in chart.lines.values())]


def chosen(run: Run, names: Iterable[str] | None) -> list[RunChart]:
    """Charts by their keys; all, if none is named."""
    every = {chart.key: chart for chart in charts(run)}
    if names is None:
        return list(every.values())
    for name in names:
        if name not in every:
            raise unknown_name("chart of this run", name, every)
    return [every[name] for name in names]


def torques(run: Run) -> list[RunChart]:
    """|τ| over its limit for joints that have one, |τ| for the others; joints that followed another have none."""
    effort, bound, free = run.robot.limits.effort, {}, {}
    for name, joint in run.robot.joints.items():
        if joint.mimic is not None:
            continue
        for k, column in enumerate(range(joint.v.start, joint.v.stop)):
            label = name if joint.type.nv == 1 else f"{name}[{k}]"
            torque = np.abs(run.torque[:, column])
            if np.isfinite(effort[column]) and effort[column] > 0:
                bound[label] = torque / effort[column]
            elif np.nanmax(torque, initial=0.0) > 0:
                free[label] = torque
    return [
        RunChart("torques", "torques against limits: |τ| / limit", "", bound, limit=1.0),
        RunChart("torques_without_limit", "torques of joints without a limit: |τ|", "N m", free),
    ]


def _joints(run: Run) -> list[RunChart]:
    """Positions of the joints that turn, and of those that slide."""
    lines: dict[str, dict[str, Array]] = {"rad": {}, "m": {}}
    for name, joint in run.robot.joints.items():
        if joint.mimic is None and joint.type.nq == 1:
            unit = "m" if joint.type.name == "prismatic" else "rad"
            lines[unit][name] = np.asarray(run.q[:, joint.q.start], dtype=float)
    return [
        RunChart("joints", "joint positions", "rad", lines["rad"]),
        RunChart("sliding_joints", "positions of sliding joints", "m", lines["m"]),
    ]


def _base(run: Run) -> dict[str, Array]:
    return dict(zip("xyz", np.asarray(run.q[:, :3], dtype=float).T, strict=True)) if run.robot.floating else {}


def estimate_errors(run: Run) -> dict[str, Array]:
    """Returns how far the estimated base is from the true one: position, velocity and tilt, (N,) each."""
    if not run.estimates or not run.robot.floating:
        return {}
    q, v = run.estimates["q"], run.estimates["v"]
    distance, speed = (np.linalg.norm(x[:, :3] - y[:, :3], axis=1) for x, y in ((q, run.q), (v, run.v)))
    return {"position, m": distance, "velocity, m/s": speed, "tilt, rad": tilt_between(q, run.q)}


def _split_forces(run: Run) -> dict[str, tuple[Array, Array]]:
    """Normal and tangential part of each contact's force, (N,) each."""
    parts = {}
    for name, F in run.forces.items():
        if name not in run.contacts:
            continue
        contact: ContactPlace = run.contacts[name]
        X = run.robot.pose(np.ascontiguousarray(run.q), contact.frame)
        n = normals_in_world(X, contact, np.asarray(run.com, dtype=float))
        force = np.asarray(F, dtype=float)[:, :3]
        normal = np.einsum("ij,ij->i", n, force)
        parts[name] = normal, np.linalg.norm(force - normal[:, None] * n, axis=1)
    return parts


def cone_ratios(run: Run) -> dict[str, Array]:
    """|f_t| / (μ f_n) of each contact: 1 on the cone, infinite for a force that pulls; NaN where there is no contact or
    force."""
    ratios = {}
    for name, (normal, tangential) in _split_forces(run).items():
        strength = np.hypot(normal, tangential)
        pressing = run.contacts[name].friction * normal
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(pressing > 0, tangential / pressing, np.inf)
        ratios[name] = np.where(strength > 1e-9, ratio, np.nan)
    return ratios


def _step(t: Array) -> float | None:
    """Milliseconds from sample to sample."""
    return float(np.median(np.diff(t))) * 1e3 if len(t) > 1 else None


def _cycle(run: Run) -> dict[str, Array]:
    cycle = np.array(run.cycle_time, dtype=float) * 1e3
    if len(cycle) > 1 and cycle[0] > 10 * np.median(cycle[1:]):
        cycle[0] = np.nan  # the first call loads or compiles kernels
    return {"controller": cycle} if np.any(cycle > 0) else {}


def envelope(line: Array, most: int) -> Array:
    """Returns the line, or the least and the largest value of each of `most` / 2 stretches in their order, so that no
    peak is lost."""
    if len(line) <= most:
        return np.asarray(line, dtype=float)
    edges = np.linspace(0, len(line), most // 2 + 1).astype(int)[:-1]
    least, largest = np.fmin.reduceat(line, edges), np.fmax.reduceat(line, edges)
    falls = line[edges] > line[np.append(edges[1:], len(line)) - 1]
    return np.where(falls[:, None], np.stack([largest, least], axis=1), np.stack([least, largest], axis=1)).ravel()


@dataclass(frozen=True, eq=False)
class Spell:
    """A stretch of time in which the controller was in one state."""

    start: float
    end: float
    status: str


def spells(run: Run) -> list[Spell]:
    """Stretches of equal status, in order."""
    names = list(run.status_names)
    status = np.asarray(run.status)
    if not len(status) or not names:
        return []
    starts = np.flatnonzero(np.r_[True, status[1:] != status[:-1]])
    ends = np.r_[starts[1:], len(status) - 1]
    return [Spell(float(run.t[a]), float(run.t[b]), names[int(status[a])]) for a, b in zip(starts, ends, strict=True)]
