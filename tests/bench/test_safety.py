"""The bench of safety: it judges, and its controller uses the constraint classes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench import __main__ as benches
from bench import safety
from equipoise.control.constraints import KeepOut

OUTCOME = safety.SafetyOutcome("sphere", True, 1e-3, 10, 9, 1000, 1e-3, 0.9)


@pytest.mark.parametrize("spoilt", [{}, {"worst": -1e-3}, {"demand": 1.1}, {"admitted": 0}, {"worst": float("nan")}])
def test_the_bench_says_no(spoilt, monkeypatch):
    rows = [OUTCOME, replace(OUTCOME, **spoilt)]
    bench = benches.BENCHES["safety"]._replace(rows=lambda options: iter(rows))
    monkeypatch.setitem(benches.BENCHES, "safety", bench)
    for options in ([], ["--json"]):
        assert benches.main(["safety", *options]) == (1 if spoilt else 0)


def test_a_barrier_that_takes_the_ball_for_still_is_found(monkeypatch):
    """The same runs, with the ball's velocity left out of the row."""
    true = KeepOut.barrier

    def still(self, scene, numbers):
        barrier = true(self, scene, numbers)
        return replace(barrier, residual=0 * barrier.residual)

    monkeypatch.setattr(KeepOut, "barrier", still)
    monkeypatch.setattr(KeepOut, "structure", lambda self, context: "still")
    assert not safety.controlled("arm7", True, 1e-3, starts=10).good
