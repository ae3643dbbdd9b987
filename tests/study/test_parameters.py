"""Grids and draws: which runs there are, and that a seed fixes them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from equipoise.study import Choice, Draws, Grid, Integers, LogUniform, Normal, StudyError, Uniform
from equipoise.study.parameters import digest, rows_of

MANY = 4000
DISTRIBUTIONS = {
    "friction": Uniform(0.3, 1.2),
    "mass": LogUniform(0.5, 8.0),
    "push": Normal(10.0, 3.0),
    "surface": Choice(["wood", "ice", "steel"]),
    "number": Integers(5, 9),
    "height": 0.7,
}


def test_a_grid_is_every_combination_the_last_fastest():
    grid = Grid(a=[1, 2], b=np.array([0.5, 0.25, 0.125]), c=["x"])
    rows = list(grid)
    assert len(grid) == len(rows) == 6
    assert [(row["a"], row["b"]) for row in rows] == [(1, 0.5), (1, 0.25), (1, 0.125), (2, 0.5), (2, 0.25), (2, 0.125)]
    assert all(type(row["b"]) is float for row in rows)
    assert rows_of({"a": [1, 2], "b": [0.5, 0.25, 0.125], "c": ["x"]}) == rows


def test_draws_are_fixed_by_their_seed():
    one, two, other = (list(Draws(50, DISTRIBUTIONS, seed=seed)) for seed in (3, 3, 4))
    assert one == two
    assert len({row["friction"] for row in one + other}) == 100


def test_draws_are_the_same_in_another_process():
    code = (
        "from equipoise.study import *; from equipoise.study.parameters import *;"
        "print(digest(rows_of(Draws(20, seed=5, a=Uniform(0, 1), b=Normal(0, 1), c=Choice('xyz'), d=Integers(0, "
        "2**40)))))"
    )
    here = digest(
        rows_of(Draws(20, seed=5, a=Uniform(0, 1), b=Normal(0, 1), c=Choice(["x", "y", "z"]), d=Integers(0, 2**40)))
    )
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert there.stdout.strip() == here


def test_more_draws_and_other_parameters_leave_draws_as_they_are():
    few = list(Draws(10, seed=1, friction=Uniform(0, 1), push=Normal(0, 1)))
    more = list(Draws(30, seed=1, mass=LogUniform(1, 2), push=Normal(0, 1), friction=Uniform(0, 1)))
    assert [{name: row[name] for name in ("friction", "push")} for row in more[:10]] == few


def test_draws_have_their_distribution():
    """Kolmogorov's distance to each law; 1.95 / √n is passed once in a thousand, and the seed is fixed."""
    rows = list(Draws(MANY, DISTRIBUTIONS, seed=2))
    column = {name: np.array([row[name] for row in rows]) for name in DISTRIBUTIONS}
    from scipy import stats

    laws = {
        "friction": stats.uniform(0.3, 0.9).cdf,
        "mass": stats.loguniform(0.5, 8.0).cdf,
        "push": stats.norm(10.0, 3.0).cdf,
    }
    for name, law in laws.items():
        assert stats.kstest(column[name], law).statistic < 1.95 / np.sqrt(MANY), name
    for name, values in (("surface", ["ice", "steel", "wood"]), ("number", [5, 6, 7, 8])):
        found, counts = np.unique(column[name], return_counts=True)
        assert found.tolist() == values
        assert_allclose(counts, MANY / len(values), rtol=0.1)
    assert set(column["height"]) == {0.7}


def test_columns_of_draws_do_not_depend_on_each_other():
    rows = list(Draws(MANY, seed=0, a=Uniform(0, 1), b=Uniform(0, 1)))
    a, b = (np.array([row[name] for row in rows]) for name in "ab")
    assert abs(np.corrcoef(a, b)[0, 1]) < 4 / np.sqrt(MANY)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Uniform(1.0, 0.5), "low below high"),
        (lambda: LogUniform(0.0, 1.0), "positive bounds"),
        (lambda: Normal(0.0, -1.0), "positive deviation"),
        (lambda: Choice([]), "got none"),
        (lambda: Grid(), "one parameter or more"),
        (lambda: Grid(a=[]), "'a' has no values"),
        (lambda: Grid(a=3.0), "list of values"),
        (lambda: Grid(a=[np.nan]), "finite number"),
        (lambda: Grid(a=[[1, 2]]), "number or a text, got list"),
        (lambda: Draws(0, a=Uniform(0, 1)), "1 or more; got 0"),
        (lambda: Draws(5), "one parameter or more"),
        (lambda: rows_of([]), "nothing to run"),
        (lambda: rows_of(5), "got 5"),
        (lambda: rows_of([{"a": 1}, {"b": 1}]), "run 1 has the parameters b, the first run has a"),
        (lambda: rows_of([{"failure": 1}]), "no parameter can be named 'failure'"),
        (lambda: rows_of([3]), "run 0: parameters are a mapping"),
    ],
)
def test_what_cannot_be_parameters_is_told(make, words):
    with pytest.raises(StudyError, match=words):
        make()
