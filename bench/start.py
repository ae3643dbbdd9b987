"""How long a robot takes to be ready: cold, with nothing compiled, and the second time."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from time import perf_counter

_SCRIPT = """
import sys, time
start = time.perf_counter()
import equipoise as eq
imported = time.perf_counter()
eq.load(sys.argv[1]).prepare(single=True, batch=sys.argv[2] == "batch")
print(imported - start, time.perf_counter() - start)
"""


@dataclass(frozen=True)
class StartTime:
    """Seconds."""

    import_time: float  # `import equipoise`
    ready: float  # import, load, nine core kernels
    process: float  # the same with the interpreter's own start


def start(robot: str, *, batch: bool, cache: str) -> StartTime:
    """Load a robot and make its nine core kernels callable, in a fresh process."""
    begin = perf_counter()
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _SCRIPT, robot, "batch" if batch else "single"],
        env={**os.environ, "EQUIPOISE_CACHE": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    imported, ready = map(float, run.stdout.split())
    return StartTime(imported, ready, perf_counter() - begin)


def cold_and_warm(robot: str = "g1", *, batch: bool = False, repeats: int = 5) -> tuple[StartTime, list[StartTime]]:
    """(first start on an empty cache, further starts)."""
    with tempfile.TemporaryDirectory() as cache:
        os.chmod(cache, 0o700)
        return start(robot, batch=batch, cache=cache), [start(robot, batch=batch, cache=cache) for _ in range(repeats)]
