"""Curves of a run, their figures, and the report's file as text. The report in a browser is in test_browser.py."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import samples

import equipoise as eq
from equipoise.show.charts import charts, cone_ratios, spells, thinned, verdict
from equipoise.show.plots import svg
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
    svg(chart(run, "com"), run.t)
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


def test_spells_and_verdict(run):
    first, last = spells(run)
    assert (first.status, last.status) == ("optimal", "relaxed")
    assert first.end == last.start == pytest.approx(run.t[56])
    found = verdict(run, charts(run))
    assert found.status == pytest.approx({"optimal": 56 / 61, "relaxed": 5 / 61})
    assert found.worst["constraint margins"] == ("knee limit", pytest.approx(0.2))


def test_a_run_without_controller_has_few_charts():
    bare = samples.squat(
        forces={}, contacts={}, task_errors={}, margins={}, status_names=(), status=np.zeros(61, int), cycle_time=np.zeros(61)
    )
    assert [c.key for c in charts(bare)] == ["torques", "com"]
    assert spells(bare) == []


def test_names_with_signs_of_other_languages_stay_text(run):
    strange = {"_hidden": run.t, "$x_{$": run.t + 1, "<script>alert(1)</script>": run.t + 2}
    text = svg(chart(samples.squat(margins=strange), "margins"), run.t)
    words = {
        "".join(node.itertext()).strip("\u200b \n") for node in ElementTree.fromstring(text).iter() if node.tag.endswith("text")
    }
    assert set(strange) <= words


def test_charts_say_where_their_time_axis_is(run):
    """The cursor of the report is drawn from these numbers; the grid line of t = 0.5 is the oracle."""
    text = svg(chart(run, "com"), run.t)
    data = {name: float(value) for name, value in re.findall(r'data-(\w\d)="([^"]+)"', text)}
    assert (data["t0"], data["t1"]) == (0, 1)
    ticks = [float(x) for x in re.findall(r'id="xtick_\d+">.*?<path d="M ([\d.]+) ', text, re.DOTALL)]
    assert min(ticks) == pytest.approx(data["x0"], abs=0.01)
    assert max(ticks) == pytest.approx(data["x1"], abs=0.01)


# --- the report as a file -------------------------------------------------------------------------------------------------


def test_report_is_one_file_with_everything_in_it(run, tmp_path):
    path = eq.report(run, tmp_path / "run.html", rate=10, title="a <b> title")
    text = path.read_text(encoding="utf-8")
    own = text.replace(re.search(r'srcdoc="[^"]*"', text).group(), "")
    assert [p.name for p in tmp_path.iterdir()] == ["run.html"]
    assert 0.8e6 < len(text) < 2e6
    assert not re.findall(r'(?:src|href)="(?!#|data:)', own)
    assert "https://" not in own
    assert own.count('<svg class="chart"') == len(EVERY)
    assert "a &lt;b&gt; title" in own
    assert "halfway &lt;b&gt;" in own
    assert "<b>" not in own
    assert "optimal 91.8 %" in own


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
