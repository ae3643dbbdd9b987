"""The fuzz of controllers, small; and that its judges can say no."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import records

import equipoise as eq
from bench import chaos
from equipoise.bench import latency
from equipoise.control.controller import solution
from equipoise.control.controller.commands import Commands
from equipoise.control.controller.solution import ControlStatus
from equipoise.control.qp import Status, compiled


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


def test_the_fuzz_notices_a_solver_that_gives_up_where_a_cold_start_solves(monkeypatch):
    """A warm start that ends without proof where a cold one does not is a wrong answer, though it claims nothing."""
    monkeypatch.setattr(compiled.CompiledSolver, "solve", _gives_up_when_warm(compiled.CompiledSolver.solve))
    tallies = list(chaos.run(["arm7"], controllers=2, steps=25))
    reasons = [reason for tally in tallies for reason in tally.reasons]
    assert not all(tally.good for tally in tallies) and any("INACCURATE where HiGHS says OPTIMAL" in x for x in reasons)


def _gives_up_when_warm(solve):
    def wrapped(self):
        warm = not self._cold
        answer = solve(self)
        return answer._replace(status=Status.INACCURATE) if warm and answer.solved else answer

    return wrapped


def test_the_linear_program_tells_feasible_from_not():
    A = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert chaos.violation(A, np.array([0.0, -np.inf]), np.array([np.inf, 0.5])) == 0.0
    assert chaos.violation(A, np.array([1.0, -np.inf]), np.array([np.inf, 0.5])) == pytest.approx(0.25)


class Answers:
    """A controller's face without a program: every fourth step is relaxed, every second has a limit active."""

    def __init__(self):
        self.calls, self.targets = -1, []  # the first call is before the clock starts

    def set_target(self, label, target):
        self.targets.append((label, target))

    def __call__(self, t, q, v):
        self.calls += 1
        status = ControlStatus.RELAXED if self.calls % 4 == 0 else ControlStatus.OPTIMAL
        return SimpleNamespace(status=status, active=("torques",) if self.calls % 2 else ())


def test_steps_are_counted_by_status(monkeypatch):
    made = []
    monkeypatch.setattr(latency, "_controller", lambda robot, strict: made.append(Answers()) or made[-1])
    rows = {(row.problem, row.status): row for row in latency.run("arm6", steps=400)}
    shares = {key: (row.steps, row.share) for key, row in rows.items()}
    assert shares == {
        ("hard centre of mass", "relaxed"): (100, 0.25),
        ("hard centre of mass", "optimal"): (300, 0.75),
        ("three strict levels", "relaxed"): (25, 0.25),
        ("three strict levels", "optimal"): (25, 0.25),
        ("three strict levels", "optimal, limits active"): (50, 0.5),
    }
    assert all(0 < row.median <= row.p999 <= row.most for row in rows.values())
    assert [len(one.targets) for one in made] == [8, 2]  # one every 50 steps


def test_recorded_problems_of_the_latency(monkeypatch):
    """Controllers, and the walk of states from which they are called."""
    robot, rng = eq.load("human"), np.random.default_rng(3)
    found = {str(strict): latency._controller(robot, strict).items for strict in (False, True)}
    monkeypatch.setattr(latency, "STATES", 30)
    walk = latency._walk(robot, robot.standing(), rng)
    found |= {"q": np.array([q for q, _ in walk]), "v": np.array([v for _, v in walk]), "aside": latency._aside(rng)}
    records.check("bench_latency", found, rtol=1e-6)


@pytest.mark.slow
def test_latencies_are_counted_by_status():
    rows = list(latency.run(steps=400))
    assert {row.problem for row in rows} == {"hard centre of mass", "three strict levels"}
    assert sum(row.steps for row in rows) == 500 and all(0 < row.median <= row.p999 <= row.most for row in rows)
