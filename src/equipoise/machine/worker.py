"""Compiles one program, read from standard input, into the cache: `python -m equipoise.machine.worker single|batch`."""

from __future__ import annotations

import sys

from . import cpu
from .program import Program
from .store import cached_object


def main() -> None:
    program = Program.from_bytes(sys.stdin.buffer.read())
    cached_object(program, cpu.target_for("float64", sys.argv[1] == "batch"))


if __name__ == "__main__":
    main()
