"""The bench of quadrupeds on estimates: its verdict can say no."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.quadrupeds import tally
from equipoise.simulate.walk_trials import Leg

LEG = Leg(0.5, 8.0, (0.2, 0.0, 0.0), (0.19, 0.0, 0.0), drift=(0.1, 0.1, 0.1), line=0.02)


def test_all_seeds_as_commanded_pass():
    row = tally("quadruped", 0.2, {3: LEG, 11: replace(LEG, came=(0.22, 0.01, 0.0), line=0.04)})
    assert row.good and row.failed == () and row.seeds == (3, 11)
    assert (row.slowest, row.fastest, row.drift) == (pytest.approx(0.95), pytest.approx(1.1), 0.04)


@pytest.mark.parametrize(
    "leg", [None, replace(LEG, came=(0.16, 0.0, 0.0)), replace(LEG, line=0.06), replace(LEG, came=(float("nan"),) * 3)]
)
def test_a_fall_a_slow_walk_a_drift_and_nan_are_named_by_their_seed(leg):
    row = tally("quadruped", 0.2, {3: LEG, 11: leg})
    assert not row.good and row.failed == (11,)


def test_no_walk_at_all_is_no_success():
    assert not tally("quadruped", 0.2, {}).good
