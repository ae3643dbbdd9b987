"""What a report shows of steps: bands of contacts, capture point and centre of pressure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import equipoise as eq
from equipoise.show.capture import capture_point, pressure
from equipoise.show.charts import charts
from equipoise.show.gantt import NAME as NAME_WIDTH
from equipoise.show.gantt import WIDTH, bands, gantt, spans
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


def test_the_picture_names_contacts_as_text_and_draws_every_stretch(run):
    picture = gantt(run)
    assert "left &lt;front&gt; foot" in picture and "<front>" not in picture
    assert picture.count('class="planned"') == 3 and picture.count('class="felt"') == 3
    assert "0.5 s" in picture


def test_phases_are_a_band_below_the_time_with_names_where_they_fit(run):
    phases = ((0.0, "stand"), (0.4, "<left> swings"), (0.6, "stand"), (0.995, "short"))
    picture = gantt(replace(run, phases=phases))
    assert picture.count('class="phase phase0"') == 2 and picture.count('class="phase phase1"') == 1
    assert picture.count(">stand</text>") == 2 and ">&lt;left&gt; swings</text>" in picture and "<left>" not in picture
    assert "<title>short</title>" in picture and ">short</text>" not in picture
    width = WIDTH - NAME_WIDTH
    assert f'x="{NAME_WIDTH + 0.4 * width:.1f}" y="70.0" width="{0.2 * width:.1f}"' in picture
    assert "phases" not in gantt(run)


def test_a_run_whose_contacts_never_change_has_no_picture(run):
    still = {"other": run.forces["other"]}
    assert gantt(replace(run, forces=still, measured=still)) == ""


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
