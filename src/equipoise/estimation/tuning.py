"""Tunes the noise of a filter: maximises the likelihood of a log's innovations with many filters in parallel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ShapeError, StateError, unknown_name
from .belief import Belief
from .noise import NOISES, FilterNoise

if TYPE_CHECKING:
    from .estimator import Estimator

Array = np.ndarray
TUNED = ("contact", "encoder", "kinematics")  # fields tuned by default; the IMU's noise is on its data sheet
SPREAD = 1.5  # initial deviation of the draws, in natural logarithms
BEST = 0.25  # fraction of the best draws, from which the next ones are drawn
SLOWEST = 0.5  # largest shrink factor of the deviation per round, so that the centre can keep up
SMALLEST = 0.05  # deviation at which the search ends
CENTRE = 1e-6  # lower bound of a noise in logarithms, since zero has none


@dataclass(frozen=True, eq=False)
class FilterLog:
    """Inputs of an estimator, one row for each step.

    Attributes:
        t: time, s, (rows,).
        gyroscope: (rows, 3).
        accelerometer: (rows, 3).
        joints: (rows, nq − 7).
        joint_rates: (rows, nv − 6).
        standing: whether each contact was in stance, (rows, contacts).
    """

    t: Array
    gyroscope: Array
    accelerometer: Array
    joints: Array
    joint_rates: Array
    standing: Array

    def __post_init__(self) -> None:
        rows = len(self.t)
        for f in fields(self):
            if len(getattr(self, f.name)) != rows:
                raise ShapeError(f"FilterLog.{f.name} has {len(getattr(self, f.name))} rows, t has {rows}")
        if rows < 3 or not (np.diff(self.t) > 0).all():
            raise ShapeError("FilterLog.t has three rows or more, each later than the one before")

    def held(self, k: int) -> Array:
        """Returns the contacts that are in stance both in the previous row and in this one."""
        return (np.asarray(self.standing[k]) > 0.5) & (np.asarray(self.standing[k - 1]) > 0.5)


@dataclass(frozen=True, eq=False)
class Tuned:
    """The result of `tune_noise`.

    Attributes:
        noise: the noise of the largest likelihood.
        likelihood: log-density of the innovations with that noise.
        before: log-density of the innovations with the estimator's own noise.
        squares: mean normalised innovation squared of contacts in stance: 3 if the filter is consistent.
    """

    noise: FilterNoise
    likelihood: float
    before: float
    squares: float


def log_likelihood(estimator: Estimator, log: FilterLog, noises: Array, start: Belief) -> tuple[Array, Array]:
    """Returns the log-density of the innovations over a log and their mean normalised square, (B,) each.

    Args:
        noises: (B, 10) in the order of `FilterNoise.numbers`.
        start: the belief at the first row of the log.
    """
    B = len(noises)
    belief = Belief(np.tile(start.numbers, (B, 1)), start.contacts)
    total, squares, seen = np.zeros(B), np.zeros(B), 0
    for k in range(1, len(log.t)):
        imu = _repeated(log.gyroscope[k], B), _repeated(log.accelerometer[k], B)
        encoders = _repeated(log.joints[k], B), _repeated(log.joint_rates[k], B)
        held, dt = _repeated(log.held(k).astype(float), B), np.full(B, log.t[k] - log.t[k - 1])
        update = estimator.step(belief, dt, *imu, *encoders, held, noises)
        belief, total = update.belief, total + update.likelihood
        squares += update.squares.sum(axis=-1)
        seen += int(log.held(k).sum())
    return np.where(np.isfinite(total), total, -np.inf), squares / max(seen, 1)


def tune_noise(
    estimator: Estimator,
    log: FilterLog,
    start: Belief,
    fields: Sequence[str] = TUNED,
    *,
    draws: int = 32,
    rounds: int = 12,
    seed: int = 0,
) -> Tuned:
    """Finds the noise with the largest likelihood of a log, by the cross-entropy method.

    Args:
        estimator: its noise is the initial guess; it is not changed.
        log: sensor readings.
        start: belief at the first row.
        fields: fields of `FilterNoise` to tune; the others stay.
        draws: filters per round.
        rounds: maximum passes over the log.
        seed: of the random draws.
    """
    names = list(NOISES)
    for name in fields:
        if name not in names:
            raise unknown_name("field of FilterNoise", name, names)
    if not (draws >= 8 and rounds >= 1 and len(fields)):
        raise StateError(f"tune_noise wants 8 draws or more, rounds and fields; got {draws}, {rounds}, {list(fields)}")
    at, rng = [names.index(name) for name in fields], np.random.default_rng(seed)
    own = estimator.noise.numbers
    centre, spread = np.log(np.maximum(own[at], CENTRE)), np.full(len(at), SPREAD)
    best, score, squares, before = own, -np.inf, np.nan, -np.inf
    for k in range(rounds):
        noises = np.tile(best, (draws, 1))
        noises[:, at] = np.exp(centre + spread * rng.standard_normal((draws, len(at))))
        noises[0] = best
        likely, sizes = log_likelihood(estimator, log, noises, start)
        before = float(likely[0]) if k == 0 else before
        order = np.argsort(-likely)
        if likely[order[0]] >= score:
            best, score, squares = noises[order[0]].copy(), float(likely[order[0]]), float(sizes[order[0]])
        chosen = np.log(np.maximum(noises[order[: max(int(BEST * draws), 2)]][:, at], CENTRE))
        centre, spread = chosen.mean(axis=0), np.maximum(chosen.std(axis=0), SLOWEST * spread)
        if (spread < SMALLEST).all():
            break
    found = replace(estimator.noise, **{name: float(best[i]) for name, i in zip(fields, at, strict=True)})
    return Tuned(found, score, before, squares)


def _repeated(row: Array, count: int) -> Array:
    return np.broadcast_to(row, (count, len(row)))
