"""Curves of a run, their figures, and the report's file as text. The report in a browser is in test_browser.py."""

from __future__ import annotations

import base64
import json
import re
import zlib

import numpy as np
import pytest
import samples

import equipoise as eq
from equipoise.show.charts import RunChart, charts, cone_ratios, envelope, estimate_errors, spells
from equipoise.show.curves import curves
from equipoise.show.report import moments, page, run_title
from equipoise.simulate.goals import Check, Verdict

EVERY = ["task_errors", "margins", "torques", "joints", "cones", "normal_forces", "com", "base", "cycle_time"]


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


def test_spells_and_facts(run):
    first, last = spells(run)
    assert (first.status, last.status) == ("optimal", "relaxed")
    assert first.end == last.start == pytest.approx(run.t[56])
    text = page([run], "title", ["PLAYER"])
    assert "optimal 91.8 %, relaxed 8.2 %" in text
    assert "min 0.2 (limit 0), knee limit" in text and 'class="bad"' not in text


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
    assert [c.key for c in charts(bare)] == ["torques", "joints", "com", "base"]
    assert spells(bare) == []


def test_names_with_signs_of_other_languages_stay_text(run):
    strange = {"_hidden": run.t, "$x_{$": run.t + 1, "</script><b>": run.t + 2}
    text = curves_of(samples.squat(margins=strange))
    assert "<" not in text
    chart = next(chart for chart in json.loads(text)["charts"] if chart["key"] == "margins")
    assert {line["name"] for line in chart["tables"][0]} == set(strange)
    figure = eq.plot(samples.squat(margins=strange), ["margins"])["margins"]
    shown = {text.get_text().strip("\u200b") for text in figure.axes[0].get_legend().get_texts()}
    assert shown == set(strange)


def curves_of(run):
    return curves([run], [charts(run)], ["first"])


def read(data, key, name):
    """Times and values of a curve, by the description in curves.py."""
    (table,) = data["tables"]
    t = np.frombuffer(base64.b64decode(table["t"]), "<f4")
    columns = np.frombuffer(zlib.decompress(base64.b64decode(table["columns"])), np.uint8).reshape(-1, 2, len(t))
    chart = next(chart for chart in data["charts"] if chart["key"] == key)
    line = next(line for line in chart["tables"][0] if line["name"] == name)
    low, high = columns[line["at"]].astype(int)
    level = np.cumsum(low + 256 * high) % 65_536
    values = line["low"] + level * (line["high"] - line["low"]) / 65_534
    values = np.where(level == 65_535, np.nan, values)
    return t, 10**values if chart["log"] else values


def test_a_report_holds_every_sample_of_every_curve(rng):
    n = 7001
    line = np.cumsum(rng.normal(size=n))
    line[3000:3010] = np.nan
    line[5000] = np.inf
    long = samples.squat(n, margins={"wall": line, "still": np.full(n, 0.25), "gone": np.full(n, np.nan)})
    data = json.loads(curves_of(long))
    t, wall = read(data, "margins", "wall")
    assert t == pytest.approx(long.t, abs=1e-6)
    finite = np.isfinite(line)
    ceiling = wall[5000]
    assert np.isnan(wall[3000:3010]).all() and ceiling >= 1.19 * np.nanmax(line[finite])
    step = (ceiling - np.nanmin(line)) / 65_534
    assert np.abs(wall - line)[finite].max() <= 0.51 * step
    assert (read(data, "margins", "still")[1] == 0.25).all()
    assert np.isnan(read(data, "margins", "gone")[1]).all()
    assert read(data, "joints", "left_knee")[1] == pytest.approx(
        long.q[:, long.robot.joints["left_knee"].q.start], abs=1e-4
    )


def test_of_a_very_long_run_a_report_keeps_every_peak(rng):
    t = np.linspace(0, 100, 100_001)
    line = np.sin(t)
    line[[777, 55_555]], line[300:340] = (9.0, -9.0), np.nan
    short_t, short = envelope(t, 1000), envelope(line, 1000)
    assert len(short) == len(short_t) == 1000 and (np.diff(short_t) >= 0).all()
    assert (short == 9.0).sum() == (short == -9.0).sum() == 1
    assert np.abs(np.interp(short_t, t, t) - t[[0, *range(200, 100_000, 200)]].repeat(2)).max() < 0.21
    assert np.nanmax(np.abs(short - np.sin(short_t))[(np.abs(short) != 9.0)]) < 0.21
    assert envelope(line[:50], 100).tolist() == pytest.approx(line[:50].tolist())


def test_curves_have_sensible_ranges(run):
    errors = {"com": np.where(run.t < 0.5, 1e-15, 0.1)}
    data = json.loads(curves_of(samples.squat(task_errors=errors)))
    chart = next(chart for chart in data["charts"] if chart["key"] == "task_errors")
    assert chart["log"] and chart["floor"] == pytest.approx(1e-5)
    t, values = read(data, "task_errors", "com")
    assert values == pytest.approx(np.where(run.t < 0.5, 1e-5, 0.1), rel=1e-6)
    assert t[-1] == pytest.approx(run.t[-1])


def test_estimates_are_compared_with_the_truth(run):
    q, v = run.q.copy(), run.v.copy()
    q[:, 0] += 0.03
    v[:, 1] += 0.2
    q[:, 3:7] = [np.cos(0.05), np.sin(0.05), 0.0, 0.0]  # 0.1 rad about x
    estimated = samples.squat(estimates={"q": q, "v": v})
    errors = estimate_errors(estimated)
    assert {name: line.max() for name, line in errors.items()} == pytest.approx(
        {"position, m": 0.03, "velocity, m/s": 0.2, "tilt, rad": 0.1}
    )
    assert list(errors) == list(chart(estimated, "estimates").lines)
    assert "estimates" not in {chart.key for chart in charts(run)}


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
    assert "<title>a &lt;b&gt; title</title>" in own
    assert not re.findall(r'(?:src|href)="(?!#|data:)', own)
    assert "https://" not in own
    assert own.count('<figure class="chart"') == len(EVERY) + 1  # and the bands
    assert "a &lt;b&gt; title" in own
    assert "halfway &lt;b&gt;" in own
    assert "<b>" not in own
    assert "optimal 91.8 %" in own


def test_report_says_how_the_run_was_made_and_what_held():
    checks = Verdict((Check("reach <x>", True, "3 mm off", "within 5 mm"), Check("no fall", False, "fell", "none")))
    made = {"version": "7.8", "date": "2031-02-03 04:05", "processor": "Some <CPU>", "command": "equipoise run x"}
    run = samples.squat(scenario={"title": "Reach", "verdict": checks.as_plain()}, origin=made)
    text = page([run], run_title(run), ["PLAYER"])
    assert "<title>Reach: human</title>" in text and "<h1>Reach: human</h1>" in text
    assert "equipoise 7.8 · 2031-02-03 04:05 · Some &lt;CPU&gt; · seed 3" in text
    assert "<code>equipoise run x</code>" in text
    assert "<tr><th>✓</th><td>reach &lt;x&gt;</td><td>3 mm off</td><td>within 5 mm</td></tr>" in text
    assert '<tr class="bad"><th>✗</th><td>no fall</td><td>fell</td><td>none</td></tr>' in text
    assert run_title(samples.squat()) == "human"
    assert run_title(samples.squat(scenario={"title": "human walks"})) == "human walks"
    assert run_title(samples.squat(scenario={"name": "stand"})) == "stand: human"


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
