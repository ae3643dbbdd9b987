"""Bands of contacts: stretches of time as they were, in words that are only text, and nothing where nothing changed."""

from __future__ import annotations

import numpy as np
import pytest

import equipoise as eq
from equipoise.show.gantt import bands, gantt, spans
from equipoise.simulate.contacts import ContactInfo
from equipoise.simulate.run import Run

NAME = "left <front> foot"


@pytest.fixture(scope="module")
def run() -> Run:
    """One second of two contacts: one is lifted from 0.4 to 0.6 s and felt again 0.05 s late, the other always carries."""
    robot = eq.load("quadruped")
    t = np.arange(101) * 0.01
    weight = robot.mass * 9.80665
    lifted, away = (t > 0.395) & (t < 0.595), (t > 0.395) & (t < 0.645)
    force = np.tile([0.0, 0.0, weight / 2, 0.0, 0.0, 0.0], (101, 1))
    planned, felt = force.copy(), force.copy()
    planned[lifted], felt[away] = np.nan, 1e-3 * force[0]  # what a sensor says of nothing
    rows = {"q": np.tile(robot.standing(), (101, 1)), "com": np.zeros((101, 3))}
    rows |= {name: np.zeros((101, robot.nv)) for name in ("v", "torque", "acceleration")}
    info = {name: ContactInfo(next(iter(robot.links)), np.zeros((1, 3)), 0.7) for name in (NAME, "other")}
    return Run(
        robot, t, status=np.zeros(101, int), cycle_time=np.zeros(101), contacts=info, forces={NAME: planned, "other": force},
        measured={NAME: felt, "other": force}, **rows,
    )  # fmt: skip


def test_stretches_are_those_in_which_it_holds():
    t = np.array([0.0, 0.1, 0.2, 0.3, 0.4])
    assert spans(t, np.array([True, True, False, False, True])) == ((0.0, 0.2), (0.4, 0.4))
    assert spans(t, np.zeros(5, bool)) == ()
    assert spans(t, np.ones(5, bool)) == ((0.0, 0.4),)


def test_bands_tell_when_a_contact_was_counted_on_and_when_it_was_felt(run):
    first, second = bands(run)
    assert first.name == NAME and second.planned == second.felt == ((0.0, 1.0),)
    np.testing.assert_allclose(first.planned, [(0.0, 0.4), (0.6, 1.0)], atol=1e-9)
    np.testing.assert_allclose(first.felt, [(0.0, 0.4), (0.65, 1.0)], atol=1e-9)


def test_the_picture_names_contacts_as_text_and_draws_every_stretch(run):
    picture = gantt(run)
    assert "left &lt;front&gt; foot" in picture and "<front>" not in picture
    assert picture.count('class="planned"') == 3 and picture.count('class="felt"') == 3
    assert "0.5 s" in picture


def test_a_run_whose_contacts_never_change_has_no_picture(run):
    from dataclasses import replace

    still = {"other": run.forces["other"]}
    assert gantt(replace(run, forces=still, measured=still)) == ""
