"""The bench of control on estimates: its verdict can say no."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from bench import estimated
from bench.__main__ import BENCHES
from bench.estimated import EstimatedTrial, tally
from equipoise.bench.tables import report


def ended(outcome: str, at: tuple[float, float, float], believed: tuple[float, float, float]) -> SimpleNamespace:
    """A run that ended at a place, and was believed to have ended at another."""
    q, said = np.zeros((2, 7)), np.zeros((2, 7))
    q[:, :3], said[-1, :3] = [(1.0, 2.0, 0.9), at], believed
    return SimpleNamespace(outcome=outcome, q=q, estimates={"q": said})


def test_a_trial_succeeds_if_it_is_completed_and_came_far_enough():
    far, short = (5.6, 2.0, 0.9), (5.4, 2.0, 0.9)
    trial = EstimatedTrial.of(ended("completed", far, (5.6, 2.03, 0.94)), 5.0)
    assert trial.good and trial.off == pytest.approx(0.05) and trial.way == pytest.approx(4.6)
    assert not EstimatedTrial.of(ended("completed", short, short), 5.0).good
    assert not EstimatedTrial.of(ended("fell", far, far), 5.0).good
    assert not EstimatedTrial.of(ended("completed", far, (5.6, np.nan, 0.9)), 5.0).good  # it does not know where it is
    assert EstimatedTrial.of(ended("completed", (1.0, 2.0, 0.9), far)).good  # a scenario that stays where it is


def test_a_walk_that_stays_where_it_is_fails(monkeypatch):
    """However well it ends: the way that was asked for is the one that is looked at."""
    for way, good in ((0.0, False), (1.7, False), (1.9, True)):
        run = ended("completed", (1.0 + way, 2.0, 0.9), (1.0 + way, 2.0, 0.9))
        monkeypatch.setattr(estimated, "estimated_walk", lambda walker, seed, metres, run=run: (run, ()))
        assert estimated.walk_trial(None, 0, 2.0).good is good


def test_a_walk_at_another_speed_fails(monkeypatch):
    run = ended("completed", (3.0, 2.0, 0.9), (3.0, 2.0, 0.9))
    for complaints in ((), ("forward: commanded 0.4 m/s, measured 0.044",)):
        monkeypatch.setattr(estimated, "estimated_walk", lambda *args, said=complaints: (run, said))
        assert estimated.walk_trial(None, 0, 2.0).good is (not complaints)


@pytest.mark.parametrize(("failures", "off", "verdict"), [(1, 0.1, True), (2, 0.1, False), (0, 0.16, False)])
def test_one_of_twenty_may_fail_and_walks_end_within_three_percent(failures, off, verdict):
    trials = [EstimatedTrial(True, 0.01, 5.0)] * (19 - failures) + [EstimatedTrial(True, off, 5.0)]
    trials += [EstimatedTrial(False, 9.0, 1.0)] * failures  # what fell counts among the failed only
    walk = tally("walk", "g1", trials, walk=True)
    assert walk.good is verdict and walk.off == off and walk.drift == pytest.approx(off / 5)
    assert walk.failed == tuple(range(20 - failures, 20))
    assert tally("step", "human", trials).good is (failures < 2)  # no way, no drift


def test_nothing_that_succeeds_is_no_success():
    none = tally("walk", "g1", [EstimatedTrial(False, 0.0, 0.0)] * 3, walk=True)
    assert not none.good and none.drift == np.inf


def test_the_table_shows_which_seeds_failed(capsys):
    from rich.console import Console

    row = tally("walk", "g1", [EstimatedTrial(k > 1, 0.02, 5.0) for k in range(20)], walk=True)
    assert not report(Console(width=160), BENCHES["estimated"], [row])
    said = capsys.readouterr().out
    assert "18 of 20" in said and "0 1" in said and "0.40" in said and "MISSED" in said
