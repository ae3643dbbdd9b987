"""Ctrl-C, a request to terminate, and a full disk: nothing that was computed is lost, no file is half written."""

from __future__ import annotations

import errno
import os
import re
import signal
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from rich.console import Console

import equipoise as eq
from equipoise.files import written_somewhere
from equipoise.show.notes import printed_warnings
from equipoise.show.outputs import RunOutputs
from equipoise.simulate.interruption import interruption_deferred, termination_interrupts

STEPS = 60


@pytest.fixture(autouse=True)
def usual_ctrl_c():
    """Python's own handler, which is not there in processes that a script starts in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def raised() -> None:
    raise KeyboardInterrupt


def interrupted_run(step: int, how) -> eq.Run:
    """A run that is interrupted while the controller is called for a step."""
    arm = eq.load("arm6")
    still = SimpleNamespace(torque=np.ones(arm.nv), margins={"a": 1.0})

    def controller(t, q, v):
        if round(t / 1e-3) == step:
            how()
        return still

    return eq.simulate(arm, controller, plant="ideal", duration=STEPS * 1e-3, dt=1e-3)


@pytest.mark.parametrize("how", [lambda: os.kill(os.getpid(), signal.SIGINT), raised], ids=["signal", "exception"])
def test_a_run_that_is_interrupted_is_returned_with_all_that_was_computed(how, rng, tmp_path):
    whole = interrupted_run(-1, how)
    assert whole.outcome == "completed" and len(whole.t) == STEPS + 1
    for step in rng.integers(1, STEPS - 1, 25):
        run = interrupted_run(int(step), how)
        assert run.outcome == "interrupted" and run.events[-1][1] == "interrupted by Ctrl-C"
        assert len(run.t) in (step, step + 1)
        assert_array_equal(run.q, whole.q[: len(run.t)])
        assert_array_equal(eq.Run.load(run.save(tmp_path / "run.npz")).torque, run.torque)
    assert list(tmp_path.iterdir()) == [tmp_path / "run.npz"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_waits_until_a_file_is_written_and_a_second_one_does_not():
    with interruption_deferred() as interruption, interruption_deferred() as inner:
        os.kill(os.getpid(), signal.SIGINT)
        assert interruption.asked and inner.asked
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_termination_is_taken_like_ctrl_c():
    with termination_interrupts(), interruption_deferred() as interruption:
        os.kill(os.getpid(), signal.SIGTERM)
        assert interruption.asked
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_termination_is_no_less_heard_where_ctrl_c_is_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with termination_interrupts():
        run = interrupted_run(20, lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert run.outcome == "interrupted" and len(run.t) in (20, 21)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def full_disk(folder: Path, save):
    """The same, on a disk that takes nothing in a folder, and fails in the middle of the file."""

    def tried(path: Path) -> Path:
        if Path(path).parent == folder:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return save(path)

    return tried


def test_a_run_that_a_full_disk_does_not_take_is_saved_elsewhere(tmp_path, monkeypatch):
    run, elsewhere = interrupted_run(-1, raised), tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(elsewhere))
    with pytest.raises(eq.EquipoiseError, match="No space left on device; saved as") as caught:
        written_somewhere(tmp_path / "run.npz", full_disk(tmp_path, run.save))
    path = re.search(r"saved as '(.*)' instead", str(caught.value))[1]
    assert_array_equal(eq.Run.load(path).q, run.q)
    assert not (tmp_path / "run.npz").exists()


def test_a_run_is_saved_where_its_report_fails(tmp_path, monkeypatch):
    run = interrupted_run(-1, raised)
    outputs = RunOutputs(Console(quiet=True), None, str(tmp_path / "a.html"))
    monkeypatch.setattr("equipoise.show.report.report", lambda *a, **b: 1 / 0)
    with pytest.raises(eq.EquipoiseError, match=r"no report was written.*division by zero; the run is in"):
        outputs.write(run)
    assert_array_equal(eq.Run.load(tmp_path / "a.npz").q, run.q)


def counted(x: float) -> float:
    if x == 3:
        raise KeyboardInterrupt
    warnings.warn("one and the same", UserWarning, stacklevel=1)
    return x


def test_a_study_that_is_interrupted_returns_what_was_done(tmp_path):
    with pytest.warns(UserWarning, match="one and the same"):
        table = eq.study(counted, {"x": [1, 2, 3, 4]}, workers=1, progress=False, folder=tmp_path / "study")
    assert table["result"][:2].tolist() == [1.0, 2.0]
    assert [text[:8] for text in table["failure"]] == ["", "", "not done", "not done"]
    assert len((tmp_path / "study" / "runs.jsonl").read_text().splitlines()) == 2


def test_warnings_of_a_command_are_printed_once(capsys):
    with printed_warnings(Console()):
        for _ in range(3):
            warnings.warn("limits are [odd]", eq.ModelWarning, stacklevel=1)
    assert capsys.readouterr().out.split("\n") == ["note: limits are [odd]", ""]
