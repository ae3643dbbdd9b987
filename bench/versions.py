"""Two checkouts of this project in turns on one core: what a change costs, or saves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from equipoise.bench.quiet_timing import ENOUGH, FAST
from equipoise.errors import EquipoiseError

from .versions_child import CASES

CALLS = {"batch": 2, "walking": 20}  # in one turn, by a word of the case
USUAL = 50
BAR = 1.02  # of the other checkout's time


@dataclass(frozen=True)
class VersionRow:
    """One case: µs of a call in both checkouts, and the ratio within quiet turns, median and quartiles."""

    case: str
    here: float
    there: float
    ratio: float
    low: float
    high: float
    clean: int

    @property
    def trustworthy(self) -> bool:
        """Whether enough turns were quiet on both sides."""
        return self.clean >= ENOUGH

    @property
    def good(self) -> bool:
        """Whether the median ratio is at most the bar."""
        return self.ratio <= BAR


def run(folder: str, rounds: int = 60, only: Sequence[str] = ()) -> Iterator[VersionRow]:
    """Each case in both checkouts; `only` keeps the cases whose names contain one of these words."""
    here, there = Path(__file__).resolve().parents[1], Path(folder)
    if not (there / "src" / "equipoise" / "__init__.py").is_file():
        raise EquipoiseError(f"{folder!r} is no checkout of this project: it has no src/equipoise")
    sides = [_started(here), _started(there)]
    try:
        for case in CASES:
            if not only or any(word in case for word in only):
                yield _compared(case, sides, rounds)
    finally:
        for side in sides:
            side.kill()


def _started(checkout: Path) -> subprocess.Popen[str]:
    environment = os.environ | {
        "PYTHONPATH": str(checkout / "src"),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    child = Path(__file__).with_name("versions_child.py")
    process = subprocess.Popen(
        [sys.executable, str(child)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(process.pid, {max(os.sched_getaffinity(0))})
    return process


def _asked(side: subprocess.Popen[str], case: str, count: int) -> tuple[float, float]:
    """Median ns of a call, and the slower of the two probes."""
    assert side.stdin is not None and side.stdout is not None
    side.stdin.write(f"{case} {count}\n")
    side.stdin.flush()
    line = side.stdout.readline()
    if not line:
        raise EquipoiseError(f"a checkout ended while it was timed: {case}")
    answer = json.loads(line)
    return float(np.median(answer["ns"])), max(answer["probes"])


def _compared(case: str, sides: Sequence[subprocess.Popen[str]], rounds: int) -> VersionRow:
    count = next((calls for word, calls in CALLS.items() if word in case), USUAL)
    for side in sides:
        _asked(side, case, 1)
    turns, probes = np.empty((rounds, 2)), np.empty((rounds, 2))
    for turn in range(rounds):
        for k in (0, 1) if turn % 2 else (1, 0):
            turns[turn, k], probes[turn, k] = _asked(sides[k], case, count)
    quiet = (probes <= FAST * np.quantile(probes, 0.1)).all(axis=1)
    kept = turns[quiet] if quiet.any() else turns
    low, ratio, high = np.quantile(kept[:, 0] / kept[:, 1], [0.25, 0.5, 0.75])
    here, there = 1e-3 * np.median(kept, axis=0)
    return VersionRow(case, float(here), float(there), float(ratio), float(low), float(high), int(quiet.sum()))
