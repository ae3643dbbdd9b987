"""Rows with errors in what their controllers measure, and rows on a robot that a user names."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from rich.console import Console

import equipoise as eq
from equipoise.papers import perturbation, report
from equipoise.papers.rows import Figure, Row, all_rows, exactly


class Held:
    """A controller that answers with what it sees."""

    def __init__(self, robot):
        self.robot, self.dt = robot, 2e-3

    def __call__(self, t, q, v):
        return q, v


@pytest.fixture
def robot():
    return eq.load("quadruped")


def test_errors_are_uniform_up_to_their_size_and_differ_from_step_to_step(robot):
    q, v = robot.standing(), np.zeros(robot.nv)
    with perturbation.perturbed(1e-3, 0):
        controller = perturbation.measured(Held(robot))
        seen = [controller(0.0, q, v) for _ in range(200)]
        assert controller.dt == 2e-3
    dq = np.array([robot.difference(q, at) for at, _ in seen])
    for errors in (dq, np.array([rates for _, rates in seen])):
        assert np.abs(errors).max() <= 1e-3 * (1 + 1e-9)
        assert_allclose(np.sqrt((errors**2).mean(axis=0)), 1e-3 / np.sqrt(3), rtol=0.25)


def test_nothing_is_added_where_nothing_was_asked(robot):
    q, v, controller = robot.standing(), np.ones(robot.nv), Held(robot)
    assert perturbation.start(robot, q, v) == (q, v)
    assert perturbation.measured(controller) is controller


def test_what_is_held_does_not_move(robot):
    q, v = robot.standing(), np.zeros(robot.nv)
    with perturbation.perturbed(1e-3, 0):
        moved, rates = perturbation.start(robot, q, v, lambda q: robot.jacobian(q, "front_left_foot")[:3])
    assert np.abs(rates).max() > 1e-4
    assert_allclose(robot.jacobian(moved, "front_left_foot")[:3] @ rates, 0.0, atol=1e-16)
    assert_allclose(robot.pose(moved, "front_left_foot")[:3, 3], robot.pose(q, "front_left_foot")[:3, 3], atol=1e-5)


@cache
def once() -> float:
    robot = eq.load("arm6")
    return float(perturbation.start(robot, robot.neutral(), np.zeros(robot.nv))[1][0])


def _loop():
    yield exactly("error", perturbation.once(), 0.0)


LOOP = Row("E9", "EB98", "a loop", _loop, closed_loop=True)
NAMED = Row("B6", "BK12", "on a robot", lambda: iter([]), on=lambda robot: iter([Figure(robot.name, "", "", True)]))
PLAIN = Row("T3", "TPN17", "no loop", lambda: iter([exactly("one", 1, 1)]))


def printed(monkeypatch, ids=(), **options):
    rows = {row.id: row for row in (LOOP, NAMED, PLAIN)}
    monkeypatch.setattr(report, "all_rows", lambda: rows)
    monkeypatch.setattr(report, "rows_named", lambda names: {name: rows[name] for name in names})
    text = io.StringIO()
    return report.reproduce(Console(file=text, width=140), ids, **options), text.getvalue()


def test_every_seed_runs_the_row_anew(monkeypatch):
    """What a row remembers of a run (here `once`) is forgotten."""
    monkeypatch.setattr(perturbation, "once", once, raising=False)
    good, text = printed(monkeypatch, perturb=1e-3, seeds=3)
    assert not good
    assert "E9 ± 0.001, seed 2" in text
    assert "T3" not in text
    values = [line.split("= 0.0")[1] for line in text.splitlines() if "= 0.0" in line]
    assert len(set(values)) == 3


def test_a_row_without_a_loop_says_which_rows_have_one(monkeypatch):
    with pytest.raises(eq.EquipoiseError, match=r"T3 is not one that closes a loop; those that do: .*B6"):
        printed(monkeypatch, ["T3"], perturb=1e-3)
    with pytest.raises(eq.EquipoiseError, match="a size above 0"):
        printed(monkeypatch, ["E9"], perturb=0.0)


def test_rows_run_on_a_robot_that_is_named(monkeypatch):
    good, text = printed(monkeypatch, robot="arm6")
    assert good
    assert "B6 on arm6" in text
    with pytest.raises(eq.EquipoiseError, match=r"T3 is not one that takes a robot; those that do: B6"):
        printed(monkeypatch, ["T3"], robot="arm6")


def test_rows_with_a_loop_are_marked():
    assert {row.id for row in all_rows().values() if row.closed_loop} >= {"B6", "B7", "T6", "E9", "E10"}
