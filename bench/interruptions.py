"""Commands that are interrupted, killed, or find no room on the disk: no computed step is lost, no file is partial."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from equipoise.errors import EquipoiseError
from equipoise.simulate.run import Run
from equipoise.study import Table

COMMANDS = {
    "run": ("run", "push_recovery"),
    "walk": ("walk", "human", "--duration", "3.5"),
    "stand": ("stand", "quadruped"),
    "study": ("study", "{folder}/square.py:square", "x=0:29:30", "--workers", "1", "--folder", "{folder}/study"),
}
FAULTS = "Ctrl-C", "terminate", "kill", "full disk", "no folder"
SIGNALS = {"Ctrl-C": signal.SIGINT, "terminate": signal.SIGTERM, "kill": signal.SIGKILL}
LATEST = 1.1  # of the duration of an undisturbed command, the last moment of a signal
DISK = 64 * 1024  # bytes of a disk that is too small for a run, and large enough to be found writable
LIMIT = 300.0  # s until a command that does not end counts as bad
FUNCTION = """import pathlib, time
def square(x):
    with (pathlib.Path(__file__).parent / "calls").open("a") as file:
        file.write(f"{x:g}\\n")
    time.sleep(0.03)
    return x * x
"""
# The command with one change: it names a file at its first simulated step, so that a trial knows whether work was lost.
CHILD = """import pathlib, signal, sys
from equipoise.simulate.record import RunRecorder
mark, row = pathlib.Path(sys.argv[1]), RunRecorder.row
def first_row(self, *given):
    row(self, *given)
    mark.touch()
    RunRecorder.row = row
RunRecorder.row = first_row
signal.signal(signal.SIGINT, signal.default_int_handler)
from equipoise.cli import main
sys.argv = ["equipoise", *sys.argv[2:]]
main()
"""


@dataclass(frozen=True)
class InterruptedRow:
    """One command with one fault: how many trials there were, and what was wrong with those that were not in order."""

    command: str
    fault: str
    trials: int
    faults: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether every trial lost nothing, left no partial file, and said so by its exit status."""
        return self.trials > 0 and not self.faults


def run(count: int = 100, seed: int = 0) -> Iterator[InterruptedRow]:
    """So many trials in all, spread over commands and faults, each at a random moment."""
    rng = np.random.default_rng(seed)
    usual = {name: _undisturbed(name) for name in COMMANDS}
    kinds = [(name, fault) for name in COMMANDS for fault in FAULTS]
    for i, (name, fault) in enumerate(kinds):
        trials = len(range(i, count, len(kinds)))
        moments = rng.uniform(0.0, LATEST * usual[name], trials)
        wrong = [text for moment in moments if (text := trial(name, fault, float(moment)))]
        if trials:
            yield InterruptedRow(name, fault, trials, tuple(wrong))


def _undisturbed(name: str) -> float:
    """Seconds that the command takes, its kernels from the cache."""
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            begin = time.monotonic()
            process = _started(name, Path(folder), Path(folder) / "run.npz")
            _, told = process.communicate(timeout=LIMIT)
            if process.returncode:
                raise EquipoiseError(f"{' '.join(COMMANDS[name])} fails undisturbed: {told.strip()[-300:]}")
            seconds = time.monotonic() - begin
            for path in Path(folder).glob("*.npz"):
                path.unlink()
    return seconds


def trial(name: str, fault: str, moment: float) -> str:
    """What was wrong; empty if nothing was."""
    with tempfile.TemporaryDirectory() as made, _disk(Path(made) / "disk", full=fault == "full disk") as disk:
        folder = Path(made)
        out = (folder / "missing" if fault == "no folder" else disk) / "run.npz"
        process = _started(name, folder, out)
        if fault in SIGNALS:
            time.sleep(moment)
            process.send_signal(SIGNALS[fault])
        try:
            _, told = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            return f"{moment:.2f} s: does not end"
        judge = _study_fault if name == "study" else _run_fault
        wrong = judge(fault, folder, out, process.returncode, told)
        return f"{moment:.2f} s: {wrong}" if wrong else ""


def _started(name: str, folder: Path, out: Path) -> subprocess.Popen[str]:
    (folder / "square.py").write_text(FUNCTION)
    words = [word.format(folder=folder) for word in COMMANDS[name]]
    command = [sys.executable, "-c", CHILD, str(folder / "begun"), *words, "--out", str(out), "--quiet"]
    environment = os.environ | {"TMPDIR": str(folder)}
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment, cwd=os.getcwd()
    )


@contextmanager
def _disk(folder: Path, full: bool) -> Iterator[Path]:
    """A folder; a full one has a small file system of its own, which only the superuser can make."""
    folder.mkdir()
    if not full:
        yield folder
        return
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True).returncode:
        raise EquipoiseError("a full disk is a small file system in memory, which only the superuser can mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def _run_fault(fault: str, folder: Path, out: Path, code: int, told: str) -> str:
    begun = (folder / "begun").exists()
    if fault == "no folder":
        return "simulated before it looked at the folder" if begun else "" if code else "exits 0"
    if out.exists():
        return _unreadable(out) or ("" if fault != "full disk" else "the full disk took the run")
    if fault == "kill":
        return ""  # nobody can save what SIGKILL ends; a partial file would have been seen above
    if fault == "full disk":
        saved = re.search(r"saved as '([^']+)'", told.replace("\n", ""))
        return (
            "exits 0" if code == 0 else "does not name another file" if saved is None else _unreadable(Path(saved[1]))
        )
    return "the simulated steps are lost" if begun else "" if code else "exits 0"


def _unreadable(path: Path) -> str:
    try:
        return "" if len(Run.load(path).t) else f"{path.name} has no step"
    except (OSError, EquipoiseError) as error:
        return f"{path.name} cannot be read: {error}"


def _study_fault(fault: str, folder: Path, out: Path, code: int, told: str) -> str:
    if fault == "no folder":
        return "computed before it looked at the folder" if (folder / "calls").exists() else "" if code else "exits 0"
    if out.exists() and fault != "full disk":
        try:
            Table.load(out)
        except (OSError, EquipoiseError) as error:
            return f"the table cannot be read: {error}"
    calls = _calls(folder)
    again = _started("study", folder, folder / "again.npz")
    _, told = again.communicate(timeout=LIMIT)
    if again.returncode:
        return f"cannot go on: {told.strip()[-200:]}"
    table = Table.load(folder / "again.npz")
    if not np.array_equal(table["result"], np.arange(30.0) ** 2):
        return "another table than without the fault"
    repeated = len(_calls(folder)) - 30
    return f"{repeated} of {len(calls)} runs were computed again" if repeated > 1 else ""


def _calls(folder: Path) -> Sequence[str]:
    path = folder / "calls"
    return path.read_text().splitlines() if path.exists() else ()
