"""[QO21, Sec. 6.1.3, Fig. 6.21]: how times are taken. What they are is for the row to say."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.papers import qo21_times
from equipoise.papers.qo21_times import Times, timed

pytestmark = pytest.mark.paper("Q11")


def test_times_are_those_of_the_calls_after_the_first_ten(monkeypatch):
    """A clock that gains k ms in call k: mean and deviation by hand."""
    clock = {"now": 0, "calls": []}

    def call(k):
        clock["calls"].append(k)
        clock["now"] += 1_000_000 * len(clock["calls"])

    monkeypatch.setattr(qo21_times, "thread_time_ns", lambda: clock["now"])
    found = timed(call, 5)
    assert clock["calls"] == [*range(5)] * 3
    assert found.mean == pytest.approx(np.mean(np.arange(11, 16)))
    assert found.deviation == pytest.approx(np.std(np.arange(11, 16)))


def test_slow_code_is_noticed(monkeypatch):
    """A step of control beyond the thesis's time, and a kernel slower than the Toolbox, are figures that are not
    good."""
    monkeypatch.setattr(qo21_times, "cup_step", lambda: Times(6.0, 0.1))
    every = {"Toolbox (RTNE)": Times(0.1, 0.0), "recursive kernel": Times(0.2, 0.0)}
    monkeypatch.setattr(qo21_times, "inverse_dynamics_times", lambda: every)
    assert [figure.good for figure in qo21_times.time_figures()] == [False, False]
