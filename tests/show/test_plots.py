"""Curves of a run, their figures, and the report's file as text. The report in a browser is in test_browser.py."""

from __future__ import annotations

import base64
import json
import re

import numpy as np
import pytest
import samples

import equipoise as eq
from equipoise.show.charts import RunChart, charts, cone_ratios, run_facts, spells, thinned
from equipoise.show.curves import curves, thinned_rows
from equipoise.show.report import moments

EVERY = ["task_errors", "margins", "torques", "cones", "normal_forces", "com", "cycle_time"]


@pytest.fixture(scope="module")
def run():
    return samples.squat()


def chart(run, key):
    return next(chart for chart in charts(run) if chart.key == key)


def test_plot_gives_a_figure_for_each_chart(run):
    figures = eq.plot(run)
    assert list(figures) == EVERY
    (axes,) = figures["cones"].axes
    lines = {line.get_label(): line.get_ydata() for line in axes.get_lines()}
    assert lines["left_foot"] == pytest.approx(np.full(61, 0.2 / samples.FRICTION))
    assert list(eq.plot(run, ["com"])) == ["com"]
    with pytest.raises(eq.UnknownNameError, match="no chart of this run named 'con'. Did you mean 'cones' or 'com'"):
        eq.plot(run, ["con"])


def test_plotting_touches_no_global_settings(run):
    import matplotlib

    before = dict(matplotlib.rcParams)
    eq.plot(run, ["com"])
    assert dict(matplotlib.rcParams) == before


def test_torques_are_shares_of_their_limits(run):
    lines = chart(run, "torques").lines
    knee = run.robot.joints["left_knee"]
    assert lines["left_knee"] == pytest.approx(np.abs(run.torque[:, knee.v.start]) / knee.limits.effort)
    assert set(lines) == set(run.robot.joints)
    assert not chart(run, "torques").violated
    assert chart(samples.squat(torque=np.full_like(run.torque, -30.0)), "torques").violated  # the neck bears 20 N m


def test_a_pulling_force_is_outside_of_every_cone(run):
    pulled = samples.squat(forces={"left_foot": run.forces["left_foot"] * [1, 1, -1, 1, 1, 1]})
    assert np.isinf(cone_ratios(pulled)["left_foot"]).all()
    assert chart(pulled, "cones").violated
    (axes,) = eq.plot(pulled, ["cones"])["cones"].axes
    assert axes.get_lines()[0].get_ydata().min() > 2.0  # drawn, above the limit
    absent = samples.squat(forces={"left_foot": np.full((61, 6), np.nan)})
    assert "cones" not in [c.key for c in charts(absent)]


def test_force_on_the_edge_of_the_cone_has_ratio_one(run):
    F = np.tile([samples.FRICTION * 100.0, 0, 100.0, 0, 0, 0], (61, 1))
    assert cone_ratios(samples.squat(forces={"right_foot": F}))["right_foot"] == pytest.approx(np.ones(61), abs=1e-9)


def test_margins_are_bad_below_zero():
    t = np.linspace(0, 1, 61)
    assert chart(samples.squat(margins={"wall": 0.5 - t}), "margins").violated
    good = chart(samples.squat(margins={"wall": 2.0 - t, "knee": 1.5 - t}), "margins")
    assert not good.violated
    assert good.leading() == ["knee", "wall"]  # the one nearest to the limit first


def test_thinning_keeps_peaks_and_ends(rng):
    t, line = np.linspace(0, 10, 20_001), rng.normal(size=20_001)
    line[7] = line[11_111] = 50.0
    line[300:340] = np.nan
    short_t, short = thinned(t, line, 600)
    assert len(short) <= 602
    assert np.nanmax(short) == 50.0
    assert (short == 50.0).sum() == 2
    assert np.nanmin(short) == np.nanmin(line)
    assert (np.diff(short_t) > 0).all()
    assert (short_t[0], short_t[-1]) == (0, 10)


def test_spells_and_facts(run):
    first, last = spells(run)
    assert (first.status, last.status) == ("optimal", "relaxed")
    assert first.end == last.start == pytest.approx(run.t[56])
    found = run_facts(run, charts(run))
    assert found.status == pytest.approx({"optimal": 56 / 61, "relaxed": 5 / 61})
    assert found.limits["constraint margins"] == ("min 0.2 (limit 0), knee limit", False)


def test_a_run_without_controller_has_few_charts():
    bare = samples.squat(
        forces={},
        contacts={},
        task_errors={},
        margins={},
        status_names=(),
        status=np.zeros(61, int),
        cycle_time=np.zeros(61),
    )
    assert [c.key for c in charts(bare)] == ["torques", "com"]
    assert spells(bare) == []


def test_names_with_signs_of_other_languages_stay_text(run):
    strange = {"_hidden": run.t, "$x_{$": run.t + 1, "</script><b>": run.t + 2}
    text = curves([samples.squat(margins=strange)], ["first"])
    assert "<" not in text
    chart = next(chart for chart in json.loads(text)["charts"] if chart["key"] == "margins")
    assert {line["name"] for line in chart["tables"][0]["lines"]} == set(strange)
    figure = eq.plot(samples.squat(margins=strange), ["margins"])["margins"]
    shown = {text.get_text().strip("\u200b") for text in figure.axes[0].get_legend().get_texts()}
    assert shown == set(strange)


def numbers(text):
    return np.frombuffer(base64.b64decode(text), "<f4")


def test_curves_keep_every_peak_and_are_few(run):
    t = np.linspace(0, 10, 20_001)
    line = np.sin(t)
    line[[777, 15_555]] = 9.0, -9.0
    at = thinned_rows(t, [line])
    assert len(at) < 1000 and {0, 777, 15_555, 20_000} <= set(at.tolist())
    assert thinned_rows(t[:50], [line[:50]]).tolist() == list(range(50))


def test_curves_have_sensible_ranges(run):
    errors = {"com": np.where(run.t < 0.5, 1e-15, 0.1)}
    data = json.loads(curves([samples.squat(task_errors=errors)], ["first"]))
    chart = next(chart for chart in data["charts"] if chart["key"] == "task_errors")
    assert chart["log"] and chart["floor"] == pytest.approx(1e-5)
    assert numbers(chart["tables"][0]["lines"][0]["y"]).min() == pytest.approx(1e-5)
    assert numbers(chart["tables"][0]["t"])[-1] == pytest.approx(run.t[-1])


def test_only_what_is_wrong_is_red(run, tmp_path):
    cycle = np.full(len(run.t), 1e-4)
    cycle[:9] = 0.3  # the computer was busy; the first step is left out
    times = next(c for c in charts(samples.squat(cycle_time=cycle)) if c.key == "cycle_time")
    assert not times.violated
    assert "8 of 60 above the limit" in times.extreme()
    low = RunChart("margins", "margins", "", {"wall": np.array([np.nan, 0.1, -1e-3])}, limit=0.0, bad_above=False)
    assert low.violated
    edge = RunChart("cones", "cones", "", {"foot": np.array([0.5, 1.002])}, limit=1.0, tolerance=0.01, note="seen so")
    assert not edge.violated
    assert RunChart("cones", "cones", "", {"foot": np.array([0.5, 1.02])}, limit=1.0, tolerance=0.01).violated
    assert edge.extreme() == "max 1.002 (limit 1), foot; seen so"


# --- the report as a file ---------------------------------------------------------------------------------------------


def test_report_is_one_file_with_everything_in_it(run, tmp_path):
    path = eq.report(run, tmp_path / "run.html", rate=10, title="a <b> title")
    text = path.read_text(encoding="utf-8")
    own = text.replace(re.search(r'srcdoc="[^"]*"', text).group(), "")
    assert [p.name for p in tmp_path.iterdir()] == ["run.html"]
    assert 0.8e6 < len(text) < 2e6
    assert not re.findall(r'(?:src|href)="(?!#|data:)', own)
    assert "https://" not in own
    assert own.count('<figure class="chart"') == len(EVERY)
    assert "a &lt;b&gt; title" in own
    assert "halfway &lt;b&gt;" in own
    assert "<b>" not in own
    assert "optimal 91.8 %" in own


def test_two_runs_stand_side_by_side(run, tmp_path):
    other = samples.squat(cycle_time=np.full(len(run.t), 2e-4))
    text = eq.report(run, tmp_path / "both.html", compare=other, rate=5).read_text(encoding="utf-8")
    assert text.count('<iframe class="motion"') == 2
    data = json.loads(re.search(r'id="curves">(.*?)</script>', text, re.DOTALL).group(1))
    assert data["runs"] == ["first", "second"]
    assert all(len(chart["tables"]) == 2 for chart in data["charts"])


def test_report_errors_teach(run, tmp_path):
    with pytest.raises(eq.EquipoiseError, match="there is no folder"):
        eq.report(run, tmp_path / "absent" / "run.html")
    with pytest.raises(eq.EquipoiseError, match="pictures per second"):
        eq.report(run, tmp_path / "run.html", rate=0)


def test_moments_are_even_and_reach_both_ends():
    t = np.arange(0, 10.0005, 1e-3)
    at = moments(t, 30)
    assert (at[0], at[-1]) == (0, len(t) - 1)
    assert len(at) == 301
    assert np.diff(t[at]) == pytest.approx(np.full(300, 1 / 30), abs=1.1e-3)
    assert len(moments(np.arange(0, 1000, 0.01), 30)) == 1500
    assert moments(np.array([0.0]), 30).tolist() == [0]
