"""Studies in this process, on two workers and on a Dask cluster; killed workers, killed studies, folders."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import numpy as np
import psutil
import pytest
from runs import fatal, marked, marks, matrices, product, settings, sometimes

import equipoise as eq
from equipoise.study import Draws, Grid, Integers, StudyError, Table
from equipoise.study.parameters import digest
from equipoise.study.store import HEADER, ROWS, RUNS, TABLE, StudyWarning

study = functools.partial(eq.study, progress=False)
HERE = Path(__file__).parent


def lines(folder: Path) -> list[dict]:
    """The records of a study's folder, line by line."""
    if not (folder / RUNS).exists():
        return []
    return [json.loads(line) for line in (folder / RUNS).read_bytes().split(b"\n")[:-1] if line]


# --- what comes out ---------------------------------------------------------------------------------------------------


def test_every_combination_is_run_once_and_in_its_place():
    table = study(product, {"a": [1, 2, 3], "b": [0.5, 2.5]}, workers=1)
    assert table["product"].tolist() == [0.5, 2.5, 1.0, 5.0, 1.5, 7.5]
    assert table["larger"].tolist() == ["a", "b", "a", "b", "a", "a"]
    assert table.parameters == ("a", "b") and table.function == "runs.product"


def test_one_worker_and_two_give_the_same_numbers():
    draws = Draws(24, seed=3, seed_of_run=Integers(0, 2**31))
    parameters = [{"seed": row["seed_of_run"], "size": 60} for row in draws]
    one, two = (study(matrices, parameters, workers=count) for count in (1, 2))
    assert len(one) == len(two) == 24
    for name in one.columns:
        if name != "wall_time":
            assert one[name].tobytes() == two[name].tobytes(), name


def test_workers_are_processes_with_one_thread_each():
    table = study(settings, {"k": range(12)}, workers=2)
    assert os.getpid() not in table["process"].tolist()
    assert set(table["ours"]) == {1} and set(table["openblas"]) == {"1"}


def test_functions_without_a_module_and_bound_arguments_go_to_workers():
    factor = 3

    def local(a):
        return {"scaled": factor * a}

    assert study(local, {"a": [1, 2]}, workers=2)["scaled"].tolist() == [3, 6]
    table = study(functools.partial(product, b=2.0), {"a": [1, 2]}, workers=2)
    assert table["product"].tolist() == [2.0, 4.0] and table.function == "runs.product(b=2.0)"


def test_a_module_that_workers_cannot_import_goes_along(monkeypatch):
    module = types.ModuleType("nowhere_to_be_found")
    exec("import math\nscale = 2.0\ndef halve(x):\n    return math.floor(x) / scale\n", vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert study(module.halve, {"x": [2.5, 5.0]}, workers=2)["result"].tolist() == [1.0, 2.5]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_that_fails_is_recorded_with_its_message(workers):
    table = study(sometimes, {"x": [4.0, -1.0, 9.0]}, workers=workers)
    assert table.failed.tolist() == [False, True, False]
    assert table["failure"][1].startswith("ValueError: no root of -1.0 (in sometimes, runs.py:")
    np.testing.assert_array_equal(table["root"], [2.0, np.nan, 3.0])


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (None, "must return a mapping from names to numbers or short texts, or one of these; got NoneType"),
        ([1, 2], "got list"),
        ({"x": 1}, "no result can be named 'x'"),
        ({"wall_time": 1}, "no result can be named 'wall_time'"),
        ({"array": np.zeros(3)}, "result 'array': wanted a number or a text, got ndarray"),
        ({"text": "a" * 3000}, "a text of 3000 characters"),
    ],
)
def test_results_that_no_table_can_hold_are_told(returned, words):
    table = study(lambda x: returned, {"x": [1]}, workers=1)
    assert words in table["failure"][0]


def test_exit_and_not_a_number_are_results_of_a_run_and_not_the_end_of_a_study():
    table = study(lambda x: sys.exit("enough") if x else {"y": np.float32(np.nan)}, {"x": [0, 1]}, workers=1)
    assert (
        np.isnan(table["y"]).all()
        and table["failure"].tolist()[0] == ""
        and "SystemExit: enough" in table["failure"][1]
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: study(product, {"a": [1]}),
            "cannot be called with the parameters a: missing a required argument: 'b'",
        ),
        (lambda: study(product, {"a": [1], "b": [1], "c": [1]}), "unexpected keyword argument 'c'"),
        (lambda: study(3, {"a": [1]}), "wanted a function, got 3"),
        (lambda: study(product, {"a": [1], "b": [1]}, workers=0), "workers is a whole number"),
        (lambda: study(product, {"a": [1], "b": [1]}, scheduler="tcp://a:1"), "for engine='dask'"),
        (
            lambda: study(product, {"a": [1], "b": [1]}, "dask", scheduler="tcp://a:1", workers=2),
            "workers cannot be chosen",
        ),
        (
            lambda: study(functools.partial(product, b=threading.Lock()), {"a": [1, 2]}, workers=2),
            "cannot be sent to workers",
        ),
    ],
)
def test_what_cannot_be_a_study_is_told(call, words):
    with pytest.raises(StudyError, match=words):
        call()


def test_engines_are_known_by_name():
    with pytest.raises(eq.UnknownNameError, match="no engine named 'disk'. Did you mean 'dask'"):
        study(product, {"a": [1], "b": [1]}, "disk")


# --- killed workers ---------------------------------------------------------------------------------------------------


def test_a_run_that_kills_its_worker_is_given_up_and_no_other(tmp_path):
    """At 5 the worker dies once, at 3 always."""
    table = study(fatal, {"x": range(14), "folder": [str(tmp_path)]}, workers=2)
    assert table["run"].tolist() == list(range(14))
    assert np.flatnonzero(table.failed).tolist() == [3] and "its worker died each time" in table["failure"][3]
    assert [x for x in table["double"].tolist() if not np.isnan(x)] == [2 * x for x in range(14) if x != 3]
    assert marks(tmp_path, 5) >= 2 and marks(tmp_path, 13) == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Dask's own, when a worker is gone
def test_a_dask_cluster_of_processes_loses_no_run_when_a_worker_is_killed(tmp_path):
    distributed = pytest.importorskip("distributed")
    count, folder = 40, tmp_path / "study"
    (tmp_path / "marks").mkdir()
    grid = Grid(run_number=range(count), folder=[str(tmp_path / "marks")], seconds=[0.05])
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50, host="127.0.0.1"
    )
    victims: list[int] = []

    def kill_one() -> None:
        while len(lines(folder)) < count // 4:
            time.sleep(0.01)
        victims.append(lines(folder)[-1]["results"]["process"])
        os.kill(victims[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    with cluster:
        killer.start()
        table = study(marked, grid, "dask", scheduler=cluster.scheduler_address, folder=folder)
        killer.join()
    assert victims and victims[0] in table["process"].tolist()
    assert len(set(table["process"].tolist()) - set(victims)) >= 1
    assert table["square"].tolist() == [k**2 for k in range(count)] and not table.failed.any()
    assert sorted(record["run"] for record in lines(folder)) == list(range(count))
    started = [marks(tmp_path / "marks", k) for k in range(count)]
    assert min(started) >= 1 and sum(started) > count  # the run that was in flight was begun again


def test_no_scheduler_no_study():
    distributed = pytest.importorskip("distributed")
    import dask

    assert distributed
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "200ms"}),
        pytest.raises(StudyError, match="no Dask scheduler"),
    ):
        study(product, {"a": [1], "b": [1]}, "dask", scheduler="tcp://127.0.0.1:9")


# --- killed studies ---------------------------------------------------------------------------------------------------

SCRIPT = """
import sys
sys.path.insert(0, {here!r})
import equipoise as eq
from runs import marked
grid = eq.study.Grid(run_number=range({count}), folder=[{marks!r}], seconds=[0.05])
eq.study(marked, grid, workers=2, folder={folder!r}, progress=False)
"""


def test_a_killed_study_loses_at_most_the_runs_in_flight(tmp_path):
    count, workers, folder, places = 30, 2, tmp_path / "study", tmp_path / "marks"
    places.mkdir()
    text = SCRIPT.format(here=str(HERE), count=count, marks=str(places), folder=str(folder))
    process = subprocess.Popen([sys.executable, "-c", text])
    try:
        while len(lines(folder)) < 8:
            assert process.poll() is None
            time.sleep(0.01)
        children = psutil.Process(process.pid).children(recursive=True)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    begun = {int(path.name.partition("-")[0]) for path in places.iterdir()}
    kept = {record["run"] for record in lines(folder)}
    assert 8 <= len(kept) < count
    assert kept <= begun and len(begun - kept) <= 2 * workers  # those at work, and those just done and on their way
    psutil.wait_procs(children, timeout=20)
    assert not [child for child in children if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]

    before = {k: marks(places, k) for k in kept}
    grid = Grid(run_number=range(count), folder=[str(places)], seconds=[0.05])
    table = study(marked, grid, workers=1, folder=folder)
    assert table["square"].tolist() == [k**2 for k in range(count)]
    assert {k: marks(places, k) for k in kept} == before  # nothing that was kept was done again
    assert sorted(record["run"] for record in lines(folder)) == list(range(count))


def test_a_line_that_was_cut_off_is_done_again(tmp_path):
    grid = {"a": [1, 2, 3, 4], "b": [2.0]}
    whole = study(product, grid, workers=1, folder=tmp_path)
    content = (tmp_path / RUNS).read_bytes()
    for cut in (1, 5, len(content.splitlines()[-1]) + 3):
        (tmp_path / RUNS).write_bytes(content[:-cut])
        assert len(Table.load(tmp_path)) < 4 or cut == 1
        again = study(product, grid, workers=1, folder=tmp_path)
        assert again["product"].tolist() == whole["product"].tolist()
        assert len(Table.load(tmp_path)) == 4


def test_damaged_lines_are_told_and_done_again(tmp_path):
    study(product, {"a": [1, 2, 3], "b": [2.0]}, workers=1, folder=tmp_path)
    kept = (tmp_path / RUNS).read_bytes().splitlines()[2]
    (tmp_path / RUNS).write_bytes(b"{not json\n[1, 2]\n" + kept + b"\n")
    with pytest.warns(StudyWarning, match="damaged lines .*: 2;"):
        table = study(product, {"a": [1, 2, 3], "b": [2.0]}, workers=1, folder=tmp_path)
    assert table["product"].tolist() == [2.0, 4.0, 6.0]


# --- folders ----------------------------------------------------------------------------------------------------------


def test_a_finished_study_runs_nothing_again_and_can_be_read_alone(tmp_path):
    calls = []

    def counted(x):
        calls.append(x)
        return {"y": 2 * x}

    first = study(counted, {"x": [1.0, 2.0]}, workers=1, folder=tmp_path / "deep" / "study")
    second = study(counted, {"x": [1.0, 2.0]}, workers=1, folder=tmp_path / "deep" / "study")
    assert calls == [1.0, 2.0]
    for table in (second, Table.load(tmp_path / "deep" / "study"), Table.load(tmp_path / "deep" / "study" / TABLE)):
        assert table.rows() == first.rows() and table.function == first.function


def test_a_study_can_get_more_runs(tmp_path):
    few, many = (Draws(count, seed=1, a=eq.study.Uniform(0, 1), b=2.0) for count in (3, 6))
    first = study(product, few, workers=1, folder=tmp_path)
    more = study(product, many, workers=1, folder=tmp_path)
    assert len(lines(tmp_path)) == 6 and more["product"][:3].tolist() == first["product"].tolist()
    with pytest.raises(StudyError, match="6 runs with other values"):
        study(product, few, workers=1, folder=tmp_path)


def test_failed_runs_are_kept_unless_asked_for_again(tmp_path):
    flaws = {"there": True}

    def flawed(x):
        if flaws["there"] and x == 1:
            raise RuntimeError("a flaw")
        return {"y": x}

    assert study(flawed, {"x": [0, 1]}, workers=1, folder=tmp_path).failed.sum() == 1
    flaws["there"] = False
    assert study(flawed, {"x": [0, 1]}, workers=1, folder=tmp_path).failed.sum() == 1
    assert not study(flawed, {"x": [0, 1]}, workers=1, folder=tmp_path, retry_failed=True).failed.any()
    assert not Table.load(tmp_path).failed.any() and len(lines(tmp_path)) == 3


@pytest.mark.parametrize(
    ("function", "parameters", "options", "words"),
    [
        (
            matrices,
            {"seed": [1, 2], "size": [3]},
            {},
            "holds a study of runs.product, and this is one of runs.matrices",
        ),
        (functools.partial(product, b=2.0), {"a": [1, 2]}, {}, r"this is one of runs.product\(b=2.0\)"),
        (product, {"b": [2.0], "a": [1, 2]}, {}, "holds a study over a, b, and this is one over b, a"),
        (product, {"a": [1, 3], "b": [2.0]}, {}, "with other values of a, b"),
        (product, {"a": [1], "b": [2.0]}, {}, "a study of 2 runs with other values"),
        (product, {"a": [1, 2], "b": [2.0]}, {"resume": False}, "holds a study already"),
    ],
)
def test_two_studies_do_not_mix_in_a_folder(tmp_path, function, parameters, options, words):
    study(product, {"a": [1, 2], "b": [2.0]}, workers=1, folder=tmp_path)
    before = (tmp_path / RUNS).read_bytes(), (tmp_path / HEADER).read_bytes()
    with pytest.raises(StudyError, match=words):
        study(function, parameters, workers=1, folder=tmp_path, **options)
    assert ((tmp_path / RUNS).read_bytes(), (tmp_path / HEADER).read_bytes()) == before


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(StudyError, match="holds other files and no study"):
        study(product, {"a": [1], "b": [1]}, workers=1, folder=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_study_that_was_killed_in_its_first_moment_begins_anew(tmp_path):
    (tmp_path / RUNS).touch()
    (tmp_path / f".{HEADER}.abc").write_text("{")
    assert len(study(product, {"a": [1], "b": [1]}, workers=1, folder=tmp_path)) == 1


def test_an_edited_function_is_told(tmp_path):
    study(product, {"a": [1], "b": [1]}, workers=1, folder=tmp_path)
    header = json.loads((tmp_path / HEADER).read_text())
    (tmp_path / HEADER).write_text(json.dumps(header | {"source": "0" * 64}))
    with pytest.warns(StudyWarning, match=r"runs.product was edited"):
        study(product, {"a": [1], "b": [1]}, workers=1, folder=tmp_path)


def test_a_later_format_is_told(tmp_path):
    study(product, {"a": [1], "b": [1]}, workers=1, folder=tmp_path)
    header = json.loads((tmp_path / HEADER).read_text())
    (tmp_path / HEADER).write_text(json.dumps(header | {"version": 99}))
    with pytest.raises(StudyError, match="of format 99"):
        study(product, {"a": [1], "b": [1]}, workers=1, folder=tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="no such locks")
def test_two_processes_cannot_run_one_study(tmp_path):
    def within(x):
        with pytest.raises(StudyError, match="another process is running the study"):
            study(within, {"x": [1]}, workers=1, folder=tmp_path)
        return {"y": x}

    assert not study(within, {"x": [1]}, workers=1, folder=tmp_path).failed.any()


def test_the_bar_counts_runs_and_failures(capfd):
    eq.study(sometimes, {"x": [4.0, -1.0, 9.0]}, workers=1)
    shown = capfd.readouterr()
    assert "3/3" in shown.err and "1 failed" in shown.err and not shown.out


# --- records that are not those of a run ------------------------------------------------------------------------------


def flipped(line: bytes) -> bytes:
    """One digit of a result is another one."""
    return line.replace(b'"product": 4.0', b'"product": 5.0')


def forged(line: bytes) -> bytes:
    """The record of another run of the same study, under the number of this one, with a checksum of its own."""
    record = json.loads(line)
    del record["check"]
    record["parameters"]["a"], record["results"]["product"] = 3, 6.0
    return json.dumps(record | {"check": digest(record)}).encode()


@pytest.mark.parametrize("change", [flipped, forged])
def test_a_record_that_is_not_of_its_run_is_done_again(tmp_path, change):
    grid = {"a": [1, 2, 3], "b": [2.0]}
    study(product, grid, workers=1, folder=tmp_path)
    there = (tmp_path / RUNS).read_bytes().splitlines(keepends=True)
    there[1] = change(there[1].rstrip()) + b"\n"
    (tmp_path / RUNS).write_bytes(b"".join(there))
    with pytest.warns(StudyWarning, match="damaged lines .*: 1;"):
        assert Table.load(tmp_path)["run"].tolist() == [0, 2]
    with pytest.warns(StudyWarning, match="damaged lines .*: 1;"):
        assert study(product, grid, workers=1, folder=tmp_path)["product"].tolist() == [2.0, 4.0, 6.0]


def test_parameters_that_were_changed_on_disk_are_told(tmp_path):
    study(product, {"a": [1, 2], "b": [2.0]}, workers=1, folder=tmp_path)
    text = (tmp_path / ROWS).read_text()
    (tmp_path / ROWS).write_text(text.replace('"a": 2', '"a": 7'))
    with pytest.raises(StudyError, match="does not hold the parameters"):
        Table.load(tmp_path)


def test_a_folder_of_version_0_2_goes_on(tmp_path):
    """Its lines have no checksums and there is no file of parameters; records of other parameters are refused."""
    study(product, {"a": [1, 2], "b": [2.0]}, workers=1, folder=tmp_path)
    records = [{k: x for k, x in record.items() if k != "check"} for record in lines(tmp_path)]
    records[1]["parameters"]["a"] = 5
    (tmp_path / RUNS).write_text("".join(json.dumps(record) + "\n" for record in records))
    header = json.loads((tmp_path / HEADER).read_text())
    (tmp_path / HEADER).write_text(json.dumps(header | {"version": 1}))
    (tmp_path / ROWS).unlink()
    assert len(Table.load(tmp_path)) == 2
    with pytest.warns(StudyWarning, match="damaged lines .*: 1;"):
        assert study(product, {"a": [1, 2], "b": [2.0]}, workers=1, folder=tmp_path)["product"].tolist() == [2.0, 4.0]
