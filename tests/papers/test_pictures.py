"""Pictures like those of the papers: what is in them, and how they are written."""

from __future__ import annotations

import builtins
import itertools
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import support
from numpy.testing import assert_allclose
from rich.console import Console

import equipoise as eq
from equipoise.control.stances.attempts import Kind
from equipoise.errors import EquipoiseError, MissingPackageError, UnknownNameError
from equipoise.papers import (
    eb98_pictures,
    eth19_contact,
    pictures,
    qo21_collision,
    qo21_contacts,
    qo21_models,
    qo21_pictures,
    report,
)
from equipoise.papers.rows import Row, all_rows, small

pytest.importorskip("matplotlib")


def row(**options) -> Row:
    def plots():
        picture, (axes,) = pictures.sheet("a title", ["a panel"])
        axes.plot([0, 1], [1, 0])
        yield "fig-1", picture

    return Row("X1", "EB98", "a row", **({"show": lambda: iter([small("error", 0.0, 1.0)]), "plots": plots} | options))


def reproduced(monkeypatch, a_row, folder, **options) -> bool:
    monkeypatch.setattr(report, "all_rows", lambda: {a_row.id: a_row})
    return report.reproduce(Console(quiet=True), [], plots=folder, **options)


def test_pictures_are_written_whole_and_alike(monkeypatch, tmp_path):
    folder = tmp_path / "new" / "folder"
    assert reproduced(monkeypatch, row(), folder)
    (written,) = folder.iterdir()  # no half-written file beside it
    assert written.name == "EB98-fig-1.svg"
    first = written.read_bytes()
    assert ET.fromstring(first).tag.endswith("svg")
    assert b"a panel" in first
    assert reproduced(monkeypatch, row(), folder)
    assert written.read_bytes() == first


def test_png_on_request(monkeypatch, tmp_path):
    assert reproduced(monkeypatch, row(), tmp_path, kind="png")
    assert (tmp_path / "EB98-fig-1.png").read_bytes().startswith(b"\x89PNG")


def test_other_kinds_are_refused_before_any_work(monkeypatch, tmp_path):
    def no_work():
        raise AssertionError("must not run")

    with pytest.raises(UnknownNameError, match="svg, png"):
        reproduced(monkeypatch, row(show=no_work), tmp_path, kind="jpeg")


def test_a_file_is_no_folder(monkeypatch, tmp_path):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(EquipoiseError, match="'.*taken' is a file"):
        reproduced(monkeypatch, row(), tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"


def test_no_folder_no_pictures(monkeypatch):
    def plots():
        raise AssertionError("must not run")

    assert reproduced(monkeypatch, row(plots=plots), None)


def test_a_picture_that_cannot_be_made_fails_the_row(monkeypatch, tmp_path):
    def plots():
        raise ValueError("no numbers")
        yield

    assert not reproduced(monkeypatch, row(plots=plots), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_finished_leaves_nothing(tmp_path):
    class Broken:
        def savefig(self, file, **options):
            file.write(b"half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        pictures.write(Broken(), tmp_path, "x")
    assert not list(tmp_path.iterdir())


def test_a_missing_package_is_named_at_once(monkeypatch, tmp_path):
    real = builtins.__import__

    def without(name, *rest, **options):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingPackageError, match=r"equipoise\[papers\]"):
        reproduced(monkeypatch, row(), tmp_path)


def test_drawings_follow_the_robot(rng):
    """The last line of the flower's drawing ends where the tip of its last petal is; the mass is on its plumb line."""
    robot = support.load("flower")
    q = robot.standing() + 0.2 * rng.normal(size=robot.nq)
    _, (axes,) = pictures.sheet("", [""])
    pictures.draw(axes, robot, q)
    ends = np.concatenate([np.array(line.get_data()).T for line in axes.lines])
    for tip in ("tip_1", "tip_4"):
        place = robot.pose(q, tip)[[0, 2], 3]
        assert np.abs(ends - place).sum(axis=1).min() < 1e-9
    assert_allclose(np.array(axes.lines[-1].get_data()).ravel(), robot.com(q)[[0, 2]], atol=1e-12)


@pytest.mark.paper("E10")
def test_bird_and_flower():
    names = [name for name, _ in itertools.islice(all_rows()["E10"].plots(), 2)]
    assert names == ["fig-10-flower", "fig-11-bird-at-rest"]


@pytest.mark.paper("E3")
def test_the_chain_of_the_biped_ends_at_its_mass():
    axes = eb98_pictures.PICTURES["fig-8-planar-biped"]().axes[0]
    chain, mass = axes.lines[-1], axes.lines[-2]
    x, z = (np.array(line)[-1] for line in chain.get_data())
    assert_allclose([x, z], np.array(mass.get_data()).ravel(), atol=1e-12)
    assert len(chain.get_xdata()) == 7  # six joints and the end


@pytest.mark.paper("E4")
def test_columns_of_the_kinetic_jacobian_are_drawn():
    whole = eb98_pictures.PICTURES["fig-9-kinetic-jacobian"]().axes[2]
    ends = np.array([line.get_data() for line in whole.lines[-3:]])[:, :, 0]
    robot, q = eq.load("planar_chain", lengths=[1.0] * 3, masses=[1.0] * 3), np.array([1.1, -0.7, -0.6])
    assert_allclose(2 * (ends - robot.com(q)[[0, 2]]).T, robot.com_jacobian(q)[[0, 2]], atol=1e-12)


@pytest.mark.paper("H3")
def test_bricks_end_at_rest_on_their_weight():
    picture = eth19_contact.falling_brick()
    height, force = picture.axes
    assert len(height.lines) == len(force.lines) == 4
    for line in force.lines:
        assert_allclose(np.mean(line.get_ydata()[-50:]), 2.0 * 9.80665, rtol=0.02)


@pytest.mark.paper("H3")
def test_stiffness_against_step():
    """What the figure shows: an explicit step loses a stiff spring, a fixed one its height, a controlled one
    neither."""
    assert not eth19_contact.bounce_error(1e6, 2e-3, None) < 1.0
    assert eth19_contact.bounce_error(1e6, 2e-3, np.inf) > 0.1
    assert eth19_contact.bounce_error(1e6, 2e-3, 3e-4) < 5e-3
    assert eth19_contact.bounce_error(1e4, 1e-4, None) < 0.05


@pytest.mark.paper("Q11")
def test_waveforms_show_least_most_and_middle(rng):
    t = np.linspace(0, 1, 300)
    ours = np.sin(np.outer(t, [3, 5, 7]))
    noise = np.array([0.5, 0.0, 0.1])
    picture = qo21_pictures.waveforms(
        qo21_models.Comparison("three", t, ours, ours + noise * rng.normal(size=ours.shape))
    )
    assert [axes.get_title(loc="left").split(",")[0] for axes in picture.axes] == [
        "coordinate 1",
        "coordinate 2",
        "coordinate 3",
    ]


@pytest.mark.paper("Q4")
def test_fig_4_1_has_the_object_within_the_safe_distance_in_the_first_two_cases():
    flights = {case: qo21_collision.fly(case, 6.0, 1e-2) for case in qo21_collision.CASES}
    seen = []
    for axes in qo21_collision.postures(flights).axes:
        lines = axes.get_lines()
        (spot,), circle = [np.transpose(line.get_data()) for line in lines[-2:]]
        seen.append(float(np.linalg.norm(spot - circle[:-1].mean(axis=0))))
    assert seen[0] < seen[1] < qo21_collision.SAFE
    assert seen[1] < seen[2]


@pytest.mark.slow
@pytest.mark.paper("Q8")
def test_fig_6_17_has_all_four_attempts():
    titles = [axes.get_title(loc="left") for axes in qo21_contacts._postures("wall", "6.17").axes]
    assert [title.split(":")[0] for title in titles] == [str(kind) for kind in Kind]


def test_rows_with_pictures():
    assert {"Q4", "Q11", "H3", "E3", "E4", "E10"} <= {row.id for row in all_rows().values() if row.plots is not None}


@pytest.mark.slow
def test_every_picture_is_written(tmp_path):
    chosen = [row.id for row in all_rows().values() if row.plots is not None]
    assert report.reproduce(Console(quiet=True), chosen, plots=tmp_path)
    names = {path.stem for path in tmp_path.iterdir()}
    figures = ("4.1", "4.2", "6.2", "6.3", "6.4", "6.5", "6.10", "6.12", "6.17", "6.20", "6.21", "6.24")
    wanted = [
        *(f"QO21-fig-{k}" for k in figures),
        "QO21-table-6.4",
        *(f"EB98-fig-{k}" for k in range(8, 13)),
        "ETH19-soft",
    ]
    assert not [name for name in wanted if not any(found.startswith(f"{name}-") for found in names)]
