"""The fuzz of controllers, small; and that its judges can say no."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.bench import chaos, latency
from equipoise.control.controller import solution
from equipoise.control.controller.commands import Commands
from equipoise.control.qp import Status


def test_random_controllers_of_an_arm_answer_truly():
    tallies = list(chaos.run(["arm7"], controllers=6, steps=25))
    assert all(tally.good for tally in tallies), [tally.reasons for tally in tallies]
    assert sum(tally.steps for tally in tallies) == 150 and all(len(tally.statuses) >= 2 for tally in tallies)


@pytest.mark.parametrize("breakage", ["status", "not finite", "limit", "raise"])
def test_the_fuzz_notices_wrong_answers(breakage, monkeypatch):
    if breakage == "status":
        monkeypatch.setitem(solution._STATUSES, Status.OPTIMAL, solution.ControlStatus.RELAXED)
    elif breakage == "raise":
        monkeypatch.setattr(Commands, "of", lambda *_: 1 / 0)
    else:
        of = Commands.of

        def wrong(self, *arguments):
            torque, a, v, finite = of(self, *arguments)
            return (1e3 * np.sign(torque) if breakage == "limit" else torque * np.nan), a, v, finite

        monkeypatch.setattr(Commands, "of", wrong)
    tallies = list(chaos.run(["arm7"], controllers=6, steps=25))
    assert not all(tally.good for tally in tallies)
    noticed_as = {"status": "contradicted", "not finite": "not_finite", "limit": "beyond_limits", "raise": "errors"}
    assert sum(getattr(tally, noticed_as[breakage]) for tally in tallies) > 0


def test_the_linear_program_tells_feasible_from_not():
    A = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert chaos.violation(A, np.array([0.0, -np.inf]), np.array([np.inf, 0.5])) == 0.0
    assert chaos.violation(A, np.array([1.0, -np.inf]), np.array([np.inf, 0.5])) == pytest.approx(0.25)


def test_latencies_are_counted_by_status():
    rows = list(latency.run(steps=400))
    assert {row.problem for row in rows} == {"hard centre of mass", "three strict levels"}
    assert sum(row.steps for row in rows) == 500 and all(0 < row.median <= row.p999 <= row.most for row in rows)
