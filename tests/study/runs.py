"""Functions that the tests of the studies run; workers import them from here."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np


def product(a: float, b: float) -> dict[str, float]:
    """Cheap, and known beforehand."""
    return {"product": a * b, "larger": "a" if a > b else "b"}


def matrices(seed: int, size: int) -> dict[str, float]:
    """Numbers that depend on every bit of a few matrix products."""
    A = np.random.default_rng(seed).standard_normal((size, size))
    return {"trace": float(np.trace(A @ A @ A)), "positive": bool(A[0, 0] > 0), "seed_again": seed}


def sometimes(x: float) -> dict[str, float]:
    """Fails where x is negative."""
    if x < 0:
        raise ValueError(f"no root of {x}")
    return {"root": x**0.5, "sign": 1, "good": True, "word": "yes"}


def marked(run_number: int, folder: str, seconds: float) -> dict[str, int]:
    """Leaves a mark when it starts, and takes a while: what ran, how often, and in which process, can be counted."""
    Path(folder, f"{run_number}-{os.getpid()}-{time.monotonic_ns()}").touch()
    time.sleep(seconds)
    return {"square": run_number**2, "process": os.getpid()}


def marks(folder: str | Path, run_number: int) -> int:
    """How often a run was started."""
    return len(list(Path(folder).glob(f"{run_number}-*")))


def fatal(x: int, folder: str) -> dict[str, int]:
    """Kills its own process: at 3 always, at 5 the first time only."""
    first = not list(Path(folder).glob(f"{x}-*"))
    Path(folder, f"{x}-{time.monotonic_ns()}").touch()
    if x == 3 or (x == 5 and first):
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.02)
    return {"double": 2 * x}


def threads() -> int:
    from equipoise.machine.threads import thread_count

    return thread_count()


def settings(k: int) -> dict[str, str | int]:
    """What limits the threads of a worker."""
    return {"ours": threads(), "openblas": os.environ.get("OPENBLAS_NUM_THREADS", ""), "process": os.getpid()}
