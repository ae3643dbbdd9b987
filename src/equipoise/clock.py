"""The clock of a loop: what controllers and estimators take the time stamps of their calls for."""

from __future__ import annotations

from math import isfinite, isnan, nan, ulp
from typing import Any

import numpy as np

LARGEST_STEP = 10.1  # periods; a stamp later than the last one by more is doubted
LONGEST_PERIOD = 0.1  # s; period of calls that is accepted before one is known
ALIKE = 0.5  # relative difference of two steps that count as the same period
SHARE = 0.1  # of a new step in the learned period
RESOLUTION = 1e-3  # periods; stamps that cannot tell times this far apart start at zero


def time_as_number(t: Any) -> float:
    """Returns a time as a float; NaN where it is no number, or one of more than 1e300."""
    number = isinstance(t, float | int | np.number) and bool(abs(t) < 1e300)  # type: ignore[operator]
    return float(t) if number else nan


class Clock:
    """Follows the time stamps of calls, and passes over stamps that are wrong.

    Its own time `now` never goes back and advances by at most `LARGEST_STEP` periods in a call. A stamp that does not
    follow the last one is doubted: the call counts as one period later. Where the next stamp continues the doubted one,
    the caller's clock was set, and stamps are followed from there.

    Args:
        period: s between calls; learned from the stamps if not given.

    Attributes:
        now: s, its own time; NaN before the first call.
        doubted: stamps that were passed over.
        ahead: s, by which the caller's clock is ahead of its own.
        reports: what the last call has to report, as a rule nothing.
    """

    now: float
    ahead: float
    doubted: int
    reports: tuple[str, ...]
    period: float

    def __init__(self, period: float | None = None) -> None:
        self._learns, self.period = period is None, 0.0 if period is None else period
        self.reset()

    def reset(self, t: float = nan) -> None:
        """Forgets all stamps; the next one is taken as it is, or as one that follows t (s)."""
        self.now, self.ahead, self.doubted, self.reports = nan, 0.0, 0, ()
        self._doubtful, self._stride = nan, nan  # the stamp in doubt, and its distance from the one before
        if self._learns:
            self.period = 0.0
        if isfinite(t):
            self._begin(t)

    @property
    def stamp(self) -> float:
        """s, the caller's time at the last call."""
        return self.now + self.ahead

    def called(self, t: Any) -> float:
        """Takes the stamp of a call; returns the seconds since the last call, NaN where the stamp is no number."""
        self.reports, t = (), time_as_number(t)
        if isnan(t):
            return nan
        if isnan(self.now):
            return self._begin(t)
        step, most = t - self.stamp, self._most()
        if 0.0 <= step <= most:
            self._doubtful = nan
            if self._learns and step > 0.0:
                self.period += (SHARE if self.period else 1.0) * (step - self.period)
            return self._advance(t - self.ahead)
        if -most <= step < 0.0:  # out of order, or a clock that was ahead: it waits
            self._doubtful = nan
            return 0.0
        return self._doubt(t, step)

    def _begin(self, t: float) -> float:
        """The first stamp; one that is too coarse for differences of a period is taken for zero."""
        self.now = 0.0 if ulp(t) > RESOLUTION * (self.period or LONGEST_PERIOD) else t
        self.ahead = t - self.now
        return 0.0

    def _most(self) -> float:
        return LARGEST_STEP * self.period if self.period else LONGEST_PERIOD

    def _doubt(self, t: float, step: float) -> float:
        """A stamp that does not follow the last one: it is wrong, or the caller's clock was set."""
        stride, before = t - self._doubtful, self._stride
        first, self._doubtful, self._stride = isnan(self._doubtful), t, stride
        slower = self._learns and 0.0 < stride <= LONGEST_PERIOD and abs(stride - before) <= ALIKE * stride
        if slower:
            self.period = stride
        if slower or 0.0 < stride <= self._most():
            self.ahead, old = t - stride - self.now, self.ahead
            self._doubtful = nan
            self.reports = (f"time stamps jumped by {self.ahead - old:+.3g} s; the clock goes on from there",)
            return self._advance(t - self.ahead)
        self.doubted += 1
        if first:
            self.reports = (f"a time stamp was off by {step - self.period:+.3g} s; it is passed over",)
        return self._advance(self.now + self.period)

    def _advance(self, to: float) -> float:
        step = to - self.now
        if step <= 0.0:
            return 0.0
        self.now = to
        return step
