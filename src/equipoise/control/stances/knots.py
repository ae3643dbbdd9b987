"""Motions whose acceleration is linear between knots: cubic splines, by their accelerations there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np

from ..qp import CompiledSolver

Array = np.ndarray
APART = 0.08  # s between knots, at most
TINY = 1e-12  # m² s⁴: of squared accelerations in all costs, so that each has one minimum
CALM = 0.15  # s, over which steps of a smooth motion are rounded


@dataclass(frozen=True, eq=False)
class Knots:
    """Times at which accelerations are given.

    Args:
        times: (N,) s, from 0. of: (N − 1,) index of the phase of each interval.
    """

    times: Array
    of: Array

    @cached_property
    def steps(self) -> Array:
        """(N − 1,) s, from knot to knot."""
        return np.diff(self.times)

    def accelerations(self, at: Array) -> Array:
        """Rows that give the acceleration at times, (len(at), N)."""
        k, s = self._found(at)
        rows, h = np.zeros((len(at), len(self.times))), self.steps[k]
        each = np.arange(len(at))
        rows[each, k], rows[each, k + 1] = 1 - s / h, s / h
        return rows

    def velocities(self, at: Array) -> Array:
        """Rows that give the velocity gained by then."""
        k, s = self._found(at)
        rows, h, each = self._at_knots[0][k].copy(), self.steps[k], np.arange(len(at))
        rows[each, k] += s - s**2 / (2 * h)
        rows[each, k + 1] += s**2 / (2 * h)
        return rows

    def places(self, at: Array) -> Array:
        """Rows that give the way gone by then, beside what the velocity at the beginning does."""
        k, s = self._found(at)
        v, c = (rows[k] for rows in self._at_knots)
        rows, h, each = c + s[:, None] * v, self.steps[k], np.arange(len(at))
        rows[each, k] += s**2 / 2 - s**3 / (6 * h)
        rows[each, k + 1] += s**3 / (6 * h)
        return rows

    @cached_property
    def _at_knots(self) -> tuple[Array, Array]:
        """The same at the knots themselves."""
        n = len(self.times)
        v, c = np.zeros((n, n)), np.zeros((n, n))
        for k, h in enumerate(self.steps):
            v[k + 1], c[k + 1] = v[k], c[k] + h * v[k]
            v[k + 1, k : k + 2] += h / 2
            c[k + 1, k : k + 2] += h**2 / 3, h**2 / 6
        return v, c

    def _found(self, at: Array) -> tuple[Array, Array]:
        """(interval, s since its beginning) of times."""
        k = np.clip(np.searchsorted(self.times, at, side="right") - 1, 0, len(self.steps) - 1)
        return k, at - self.times[k]

    def smooth(self, start: Array, rests: Array, to: Array, from_rest: bool) -> Array:
        """Accelerations (N,) of a motion of one coordinate that is near a place in each phase and ends as given.

            minimise  Σ h (z − z_rest)² + CALM⁴ Σ h z̈²

        Args:
            start: (2,) place and velocity at the beginning. rests: (phases,) m. to: (3,) place, velocity and
                acceleration at the end.
            from_rest: whether the acceleration is zero at the beginning.
        """
        n, middle, end = len(self.times), (self.times[:-1] + self.times[1:]) / 2, self.times[-1:]
        weight = np.sqrt(self.steps)[:, None]
        P, A = weight * self.places(middle), weight * CALM**2 * self.accelerations(middle)
        off = weight[:, 0] * (rests[self.of] - start[0] - middle * start[1])
        E = np.vstack([self.places(end), self.velocities(end), np.eye(n)[[-1, 0][: 1 + from_rest]]])
        e = np.zeros(len(E))
        e[:3] = to[0] - start[0] - end[0] * start[1], to[1] - start[1], to[2]
        solver = CompiledSolver(n, (2 * len(P),), n_E=len(E), regularisation=TINY)
        solver.data["R"][:], solver.data["r"][: len(P)] = np.vstack([P, A]), off
        solver.data["E"][:], solver.data["e"][:] = E, e
        return solver.solve().x


def knots_of(seconds: Sequence[float]) -> Knots:
    """Knots at the ends of all phases, and evenly within each."""
    counts = [max(2, ceil(T / APART)) for T in seconds]
    starts = np.cumsum([0.0, *seconds])
    pieces = [begin + T / n * np.arange(n) for begin, T, n in zip(starts, seconds, counts, strict=False)]
    return Knots(np.append(np.concatenate(pieces), starts[-1]), np.repeat(np.arange(len(counts)), counts))
