"""What a report shows of steps: bands of contacts, footprints, capture point and centre of pressure."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import equipoise as eq
from equipoise.show.capture import capture_point, pressure
from equipoise.show.charts import charts
from equipoise.show.curves import curves
from equipoise.show.gantt import bands, phases, spans, steps, ticks
from equipoise.show.path import footprints, path
from equipoise.simulate.contacts import ContactInfo
from equipoise.simulate.run import Run

NAME = "left <front> foot"


@pytest.fixture(scope="module")
def run() -> Run:
    """One second of two contacts: one is lifted from 0.4 to 0.6 s and felt again 0.05 s late, the other always
    carries."""
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
        robot,
        t,
        status=np.zeros(101, int),
        cycle_time=np.zeros(101),
        contacts=info,
        forces={NAME: planned, "other": force},
        measured={NAME: felt, "other": force},
        **rows,
    )


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


def test_phases_last_until_the_next_begins(run):
    named = replace(run, phases=((0.0, "stand"), (0.4, "<left> swings"), (0.6, "stand")))
    assert phases(named) == [("stand", 0.0, 0.4), ("<left> swings", 0.4, 0.6), ("stand", 0.6, 1.0)]
    text = curves([named], [charts(named)], ["first"])
    data = json.loads(text)
    assert data["phases"] == [list(phase) for phase in phases(named)] and "<" not in text
    assert [band["name"] for band in data["bands"]] == [NAME, "other"]


def test_a_run_whose_contacts_never_change_has_no_bands(run):
    still = {"other": run.forces["other"]}
    stands = replace(run, forces=still, measured=still)
    assert not steps(stands)
    assert json.loads(curves([stands], [charts(stands)], ["first"]))["bands"] == []


def test_footprints_are_where_contacts_began_to_carry(run):
    q = run.q.copy()
    q[:, 0] += 2.0 * run.t
    first, again, other = footprints(replace(run, q=q))
    assert again - first == pytest.approx(np.array([[1.3, 0.0]]))  # felt again at 0.65 s
    assert other[0] == pytest.approx(first[0])


def test_the_way_is_drawn_to_scale_and_only_where_there_is_one(run):
    assert path(run) == ""
    q = run.q.copy()
    q[:, 0] += 2.0 * run.t
    q[:, 1] += 0.5 * run.t
    walked = replace(run, q=q, estimates={"q": q + 0.1, "v": run.v})
    picture = ElementTree.fromstring(re.search("<svg.*</svg>", path(walked)).group())
    lines = {node.get("class"): node.get("d") for node in picture.iter() if node.get("class") != "grid"}
    ends = {
        kind: np.array([[float(x) for x in p.split()] for p in lines[kind][1:].split("L")])[[0, -1]]
        for kind in ("truth", "estimate")
    }
    assert ends["truth"][1] - ends["truth"][0] == pytest.approx(np.array([2.0, -0.5]), abs=1e-3)
    assert ends["estimate"] - ends["truth"] == pytest.approx(np.array([[0.1, -0.1]] * 2), abs=2e-3)
    left, top, wide, high = map(float, picture.get("viewBox").split())
    corners = np.concatenate([*ends.values()])
    assert (corners > [left, top]).all() and (corners < [left + wide, top + high]).all()


def test_ticks_are_round_and_few():
    assert ticks(-0.3, 2.1).tolist() == pytest.approx(np.arange(0, 2.1, 0.5).tolist())
    for span in (1e-3, 0.7, 5.0, 333.0):
        found = ticks(1.0, 1.0 + span)
        assert 3 <= len(found) <= 11 and found.min() >= 1.0 - 1e-9 and found.max() <= 1.0 + span + 1e-9


# --- capture point and pressure ---------------------------------------------------------------------------------------


def test_pressure_is_where_the_forces_of_all_contacts_act(run):
    """A quarter of the weight at each foot: the middle. All of it at one: that foot, wherever it is."""
    body = eq.Body.of(run.robot)
    robot, q = body.robot, np.tile(body.standing, (101, 1))
    q[:, :2] += [0.3, -0.2]
    names = list(body.feet)
    places = np.array([robot.pose(q[0], body.frames[name])[:3, 3] for name in names])
    info = {name: ContactInfo(body.frames[name], np.zeros((1, 3)), 0.7) for name in names}
    force = np.array([3.0, -2.0, robot.mass * 9.80665 / 4, 0.0, 0.0, 0.0])  # level parts on the ground turn nothing
    even = {name: np.tile(force, (101, 1)) for name in names}
    stands = replace(run, robot=robot, q=q, contacts=info, forces=even, measured=even)
    np.testing.assert_allclose(pressure(stands), np.tile(places[:, :2].mean(axis=0), (101, 1)), atol=1e-6)
    one = {name: even[name] * (4.0 if name == names[2] else 0.0) for name in names}
    np.testing.assert_allclose(pressure(replace(stands, measured=one))[5], places[2, :2], atol=1e-6)
    assert np.isnan(pressure(replace(stands, measured={name: 0.0 * F for name, F in even.items()}))).all()


def test_the_capture_point_leads_the_centre_of_mass_by_its_speed(run):
    com = np.stack([0.4 * run.t, -0.1 * run.t, np.full(101, 0.5)], axis=1)
    ahead = capture_point(replace(run, com=com)) - com[:, :2]
    np.testing.assert_allclose(ahead, np.tile(np.array([0.4, -0.1]) / np.sqrt(9.80665 / 0.5), (101, 1)), atol=1e-9)


def test_only_runs_with_steps_have_the_chart(run):
    assert "capture" in {chart.key for chart in charts(run)}
    still = {"other": run.forces["other"]}
    assert "capture" not in {chart.key for chart in charts(replace(run, forces=still, measured=still))}
