"""The fuzz of controllers, small; and that its judges can say no."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.bench import chaos, latency
from equipoise.control.controller import controller as module
from equipoise.control.controller.commands import Commands
from equipoise.control.qp import Status


def test_random_controllers_of_an_arm_answer_truly():
    tallies = list(chaos.run(["arm7"], controllers=6, steps=25))
    assert all(tally.good for tally in tallies), [tally.reasons for tally in tallies]
    assert sum(tally.steps for tally in tallies) == 150 and all(len(tally.statuses) >= 2 for tally in tallies)


@pytest.mark.parametrize("breakage", ["status", "not finite", "limit", "raise"])
def test_the_fuzz_notices_wrong_answers(breakage, monkeypatch):
    if breakage == "status":
        monkeypatch.setitem(module._STATUSES, Status.OPTIMAL, module.ControlStatus.RELAXED)
    elif breakage == "raise":
        monkeypatch.setattr(Commands, "of", lambda *_: 1 / 0)
    else:
        of = Commands.of
        factor = np.nan if breakage == "not finite" else 3.0

        def wrong(self, *arguments):
            torque, a, v = of(self, *arguments)
            return 1e3 * np.sign(torque) if factor == 3.0 else torque * factor, a, v

        monkeypatch.setattr(Commands, "of", wrong)
        monkeypatch.setattr(module, "isfinite", lambda *_: True)
    tallies = list(chaos.run(["arm7"], controllers=6, steps=25))
    assert not all(tally.good for tally in tallies)


def test_the_linear_program_tells_feasible_from_not():
    A = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert chaos.violation(A, np.array([0.0, -np.inf]), np.array([np.inf, 0.5])) == 0.0
    assert chaos.violation(A, np.array([1.0, -np.inf]), np.array([np.inf, 0.5])) == pytest.approx(0.25)


def test_latencies_are_counted_by_status():
    rows = list(latency.run(steps=400))
    assert {row.problem for row in rows} == {"hard centre of mass", "three strict levels"}
    assert sum(row.steps for row in rows) == 500 and all(0 < row.median <= row.p999 <= row.most for row in rows)
