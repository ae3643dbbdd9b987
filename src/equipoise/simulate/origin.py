"""How a run was made: version, date, processor and command."""

from __future__ import annotations

import platform
import shlex
import sys
from datetime import datetime
from functools import cache
from pathlib import Path

from .. import __version__

CPUINFO = Path("/proc/cpuinfo")  # of Linux; `platform.processor()` is often empty there


def origin() -> dict[str, str]:
    """Returns what a run records of its making: version, date (ISO 8601), processor and command."""
    now = datetime.now().astimezone().isoformat(" ", "minutes")
    return {"version": __version__, "date": now, "processor": processor(), "command": command(sys.argv)}


@cache
def processor() -> str:
    """Returns the name of this machine's processor."""
    lines = CPUINFO.read_text(encoding="utf-8").splitlines() if CPUINFO.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return (names or [platform.processor() or platform.machine()])[0]


def command(arguments: list[str]) -> str:
    """Returns the command line of `equipoise`; of any other program its name alone, as its arguments may be private."""
    program = Path(arguments[0] if arguments else "")
    ours = program.stem == "equipoise" or program.parent == Path(__file__).parent.parent
    return shlex.join(["equipoise", *arguments[1:]]) if ours else program.name
