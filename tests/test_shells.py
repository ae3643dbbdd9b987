"""What shells and notebooks show, and what they run: short representations, HTML, data frames, studies of their
functions."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import equipoise as eq
from equipoise.study import Table
from equipoise.study.table import Record


@pytest.fixture(scope="module")
def things():
    robot = eq.load("quadruped")
    feet = [eq.PointContact(name) for name in robot.frames if name.endswith("_foot")]
    controller = eq.WholeBodyController(robot, [eq.CoMTask(), eq.PostureTask()], feet)
    solution = controller(0.0, robot.standing(), np.zeros(robot.nv))
    arm = eq.load("arm6")
    run = eq.simulate(arm, lambda t, q, v: SimpleNamespace(torque=arm.gravity(q)), "hard", 0.01)
    table = Table.of([Record(k, {"<a>": k}, {"b": 1.0}, 0.1) for k in range(30)], "f")
    ik = eq.solve_ik(arm, {"tool": arm.pose(arm.neutral(), "tool")}, arm.neutral())
    human = eq.load("human")
    more = {"standing": eq.Standing(human), "walking": eq.Walking(human)}
    more["estimator"] = eq.Estimator(human, "thorax", {"left_foot": "left_foot"})
    return more | {"robot": robot, "controller": controller, "solution": solution, "run": run, "table": table, "ik": ik}


WORDS = {
    "robot": "<Robot 'quadruped': ",
    "controller": "<WholeBodyController of 'quadruped': 2 tasks, 4 contacts, 0 constraints; torque level, weighted>",
    "solution": "<Solution at 0 s: optimal, torques up to ",
    "run": "<Run of 'arm6': 0.01 s in 11 rows, completed>",
    "table": "<Table of f: 30 runs; <a> → b>",
    "standing": "<Standing of 'human': contacts left foot, right foot>",
    "walking": "<Walking of 'human': contacts left foot, right foot>",
    "estimator": "<Estimator of 'human': IMU at 'thorax', contacts left_foot>",
    "ik": "<IKSolution: converged; misses: tool",
}


@pytest.mark.parametrize("name", WORDS)
def test_representations_fit_on_a_line(things, name):
    text = repr(things[name])
    assert text.startswith(WORDS[name])
    assert "\n" not in text and len(text) < 140


@pytest.mark.parametrize("name", ["robot", "controller", "solution", "run", "table"])
def test_notebooks_show_tables(things, name):
    html = things[name]._repr_html_()
    assert html.startswith("<div><b>") and html.count("<tr") == html.count("</tr>") >= 1
    assert "<a>" not in html  # names are escaped
    assert len(html) < 10_000


def test_notebooks_show_figures_and_the_viewer(things):
    figures = eq.plot(things["run"], ["com"])
    assert figures._repr_html_().count("data:image/png;base64,") == 1
    with eq.view(eq.load("arm6"), port=0) as viewer:
        assert f'<iframe src="{viewer.url}"' in viewer._repr_html_()


def test_long_tables_are_cut(things):
    html = things["table"]._repr_html_()
    assert ": 30 runs" in html and "<td>...</td>" in html
    assert html.count("<tr") == 1 + 20 + 1  # heading, the first and last rows, dots between them


def test_a_table_is_a_data_frame(things):
    frame = things["table"].to_pandas()
    assert list(frame.columns) == ["run", "<a>", "b", "wall_time", "failure"]
    assert frame["run"].sum() == sum(range(30))
    frame.loc[0, "b"] = 7.0  # the caller's own
    assert things["table"]["b"][0] == 1.0


@pytest.mark.parametrize("size, shape", [(5, (5,)), ((2, 3), (2, 3)), (0, (0,)), ((), ())])
def test_random_states_come_in_batches(size, shape):
    robot = eq.load("quadruped")
    q, v = robot.random_state(np.random.default_rng(4), size)
    assert q.shape == (*shape, robot.nq) and v.shape == (*shape, robot.nv)
    rng = np.random.default_rng(4)
    for k in np.ndindex(shape):
        one, rate = robot.random_state(rng)
        assert_array_equal(q[k], one)
        assert_array_equal(v[k], rate)
    assert (v[..., :6] != 0).all()  # the base moves


SCRIPT = """
import functools
import equipoise as eq

calls = []

@functools.cache
def robot():
    calls.append(1)
    return eq.load("two_link_pendulum")

@functools.lru_cache(maxsize=7)
def power(n):
    return n if n < 2 else power(n - 1) + power(n - 2)

def run(x):
    return {"mass": robot().mass, "loaded": len(calls), "power": power(x), "size": power.cache_parameters()["maxsize"]}

if __name__ == "__main__":
    table = eq.study(run, {"x": [5, 6, 7, 8, 9, 10]}, workers=2, progress=False)
    print(table["failure"].tolist(), table["power"].tolist(), table["loaded"].max(), table["size"].tolist())
"""
WANTED = "['', '', '', '', '', ''] [5, 8, 13, 21, 34, 55] 1 [7, 7, 7, 7, 7, 7]"


def test_studies_run_cached_functions_of_scripts(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == WANTED, done.stderr


def test_studies_run_cached_functions_of_notebooks(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    cells = SCRIPT.replace('if __name__ == "__main__":', "if True:").split("\n\n")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(
        book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    assert book.cells[-1].outputs[0].text.strip() == WANTED


def test_events_of_a_run_are_logged(caplog):
    arm = eq.load("arm6")
    push = eq.Push("tool", (1.0, 0.0, 0.0), 0.002, 0.003)
    with caplog.at_level("INFO", "equipoise"):
        run = eq.simulate(arm, lambda t, q, v: SimpleNamespace(torque=arm.gravity(q)), "hard", 0.01, pushes=[push])
    ((t, text),) = run.events
    assert [record.getMessage() for record in caplog.records] == [f"arm6, {t:.3f} s: {text}"]
    assert caplog.records[0].name == "equipoise.simulate.record"
