"""The bench of interruptions: its judge finds lost steps, partial files and exit statuses that say nothing."""

from __future__ import annotations

import pytest

from bench import interruptions
from bench.interruptions import InterruptedRow, _run_fault, _study_fault


@pytest.mark.parametrize("fault", ["Ctrl-C", "terminate"])
def test_steps_that_were_computed_and_are_in_no_file_are_lost(tmp_path, fault):
    out = tmp_path / "run.npz"
    assert _run_fault(fault, tmp_path, out, 1, "") == ""  # it had not begun
    assert _run_fault(fault, tmp_path, out, 0, "") == "exits 0"
    (tmp_path / "begun").touch()
    assert _run_fault(fault, tmp_path, out, 1, "") == "the simulated steps are lost"


@pytest.mark.parametrize("fault", interruptions.SIGNALS)
def test_a_partial_file_is_seen(tmp_path, fault):
    out = tmp_path / "run.npz"
    out.write_bytes(b"PK\x03\x04")
    assert "cannot be read" in _run_fault(fault, tmp_path, out, 1, "")


def test_a_full_disk_must_be_told_with_the_place_of_the_run(tmp_path):
    out = tmp_path / "run.npz"
    assert _run_fault("full disk", tmp_path, out, 0, "saved as 'x'") == "exits 0"
    assert _run_fault("full disk", tmp_path, out, 2, "no room") == "does not name another file"
    assert "cannot be read" in _run_fault("full disk", tmp_path, out, 2, f"saved as '{tmp_path}/other.npz' instead")


@pytest.mark.parametrize("judge", [_run_fault, _study_fault])
def test_a_folder_that_is_not_there_is_refused_before_the_work(tmp_path, judge):
    out = tmp_path / "missing" / "run.npz"
    assert judge("no folder", tmp_path, out, 2, "") == "" and judge("no folder", tmp_path, out, 0, "") == "exits 0"
    for mark in ("begun", "calls"):
        (tmp_path / mark).touch()
    assert "before it looked at the folder" in judge("no folder", tmp_path, out, 2, "")


def test_one_trial_out_of_order_is_enough():
    assert InterruptedRow("run", "kill", 5, ()).good
    assert (
        not InterruptedRow("run", "kill", 5, ("1.00 s: exits 0",)).good
        and not InterruptedRow("run", "kill", 0, ()).good
    )
