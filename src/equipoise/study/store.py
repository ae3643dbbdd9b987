"""A study on disk: one line of JSON for every run that ended, written at once, so that a killed study can go on.

    study.json     which function, which parameters (their digest), how many runs
    rows.jsonl     the parameters of each run, one run in each line
    runs.jsonl     one record in each line, with its checksum; a damaged line is no record, and its run is done again
    table.npz      the whole table, when all runs have ended

A record counts only if its checksum is right and its parameters are those of its run. Nothing in a folder is executed
or unpickled when it is read.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from ..files import MAX_BYTES, MAX_TEXT, read_bounded, written_whole
from .parameters import Row, StudyError, digest
from .table import FORMAT, Record, Table

HEADER, ROWS, RUNS, TABLE = "study.json", "rows.jsonl", "runs.jsonl", "table.npz"
KIND = "equipoise study"
SYNC_EVERY = 0.5  # s between two waits for the disk; a killed process loses nothing, a power cut at most so much


class StudyWarning(UserWarning):
    """The study goes on, but something about it is doubtful."""


class Store:
    """The records of a study; with a folder, on disk. Only one process at a time can have a folder open.

    Args:
        path: the folder; None keeps the records in memory.
        function, source: name of the function, and digest of its text; an edited function only warns.
        rows: parameters of every run.
        resume: whether a study that is in the folder goes on.
    """

    def __init__(
        self, path: str | Path | None, function: str, rows: Sequence[Row], source: str = "", *, resume: bool = True
    ) -> None:
        self.done: dict[int, Record] = {}
        self.path, self._file, self._synced = None if path is None else Path(path), None, 0.0
        if self.path is None:
            return
        header: dict[str, Any] = {
            "format": KIND, "version": FORMAT, "function": function, "source": source, "parameters": list(rows[0]),
            "runs": len(rows), "digest": digest(rows),
        }  # fmt: skip
        if (self.path / HEADER).exists():
            header["version"] = _require_same(self.path, header, rows, resume)
        elif self.path.is_dir() and not all(map(_ours, self.path.iterdir())):
            raise StudyError(f"{str(path)!r} holds other files and no study; give a folder that is new or empty")
        self.path.mkdir(parents=True, exist_ok=True)
        self._file = open(self.path / RUNS, "ab", buffering=0)  # noqa: SIM115 — closed by __exit__
        try:
            _lock(self._file, self.path)
            text = "".join(json.dumps(row) + "\n" for row in rows)
            written_whole(self.path / ROWS, lambda file: file.write(text.encode()))
            written_whole(self.path / HEADER, lambda file: file.write(json.dumps(header, indent=1).encode()))
            content = _lines(self.path)
            self._file.truncate(len(content))
            self.done = _records(content, self.path, header, rows)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            os.fsync(self._file.fileno())
            self._file.close()

    def add(self, record: Record) -> None:
        """Keeps a run. In a folder it outlives this process from here on."""
        self.done[record.run] = record
        if self._file is None:
            return
        content = {name: value for name, value in asdict(record).items() if name != "notes"}
        line = json.dumps(content | {"check": digest(content)}).encode() + b"\n"
        while line:
            line = line[self._file.write(line) :]  # a full disk raises, and what was written of the line is no record
        if time.monotonic() - self._synced > SYNC_EVERY:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()

    def finish(self, table: Table) -> None:
        """Writes the table of all runs beside the records."""
        if self.path:
            table.save(self.path / TABLE)


def _ours(path: Path) -> bool:
    """Whether a file is what a study that was killed in its first moment leaves."""
    hidden = path.name.startswith((f".{HEADER}.", f".{ROWS}."))
    return hidden or path.name == ROWS or (path.name == RUNS and path.stat().st_size == 0)


def read_folder(path: Path) -> Table:
    """Returns what a folder holds so far, as a table; the study may still be running."""
    header = _header(path)
    rows = [json.loads(line) for line in _read(path / ROWS).splitlines()] if header["version"] > 1 else None
    if rows is not None and digest(rows) != header["digest"]:
        raise StudyError(f"{str(path / ROWS)!r} is damaged: it does not hold the parameters of {HEADER}")
    done = _records(_lines(path), path, header, rows) if (path / RUNS).exists() else {}
    return Table.of(list(done.values()), header["function"])


def _read(path: Path) -> bytes:
    try:
        return read_bounded(path, MAX_BYTES)
    except (OSError, ValueError) as error:
        raise StudyError(f"{str(path)!r} cannot be read: {error}") from None


def _lines(path: Path) -> bytes:
    """Returns all whole lines of the records; one that was cut off is what a killed study was writing."""
    content = _read(path / RUNS)
    return content[: content.rfind(b"\n") + 1]


def _header(path: Path) -> dict[str, Any]:
    try:
        header = json.loads(read_bounded(path / HEADER, MAX_TEXT))
        kinds = {"version": int, "function": str, "source": str, "runs": int, "digest": str, "parameters": list}
        wrong = [key for key, kind in kinds.items() if not isinstance(header[key], kind)]
        if header["format"] != KIND or wrong or not all(isinstance(name, str) for name in header["parameters"]):
            raise ValueError(f"format {header['format']!r}, wrong entries: {', '.join(wrong) or 'parameters'}")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise StudyError(
            f"{str(path)!r} is not the folder of a study: {HEADER}: {type(error).__name__}: {error}"
        ) from None
    if header["version"] > FORMAT:
        raise StudyError(
            f"{str(path)!r} is of format {header['version']}; this version of Equipoise reads up to {FORMAT}"
        )
    return header


def _require_same(path: Path, here: dict[str, Any], rows: Sequence[Row], resume: bool) -> int:
    """Returns the format of the study in a folder, and raises if it is another one; more runs may follow."""
    there = _header(path)
    names = [", ".join(header["parameters"]) for header in (there, here)]
    own = "give each study a folder of its own"
    problem = ""
    if not resume:
        problem = "a study already; resume=True goes on with it, another folder begins anew"
    elif there["function"] != here["function"]:
        problem = f"a study of {there['function']}, and this is one of {here['function']}; {own}"
    elif there["parameters"] != here["parameters"]:
        problem = f"a study over {names[0]}, and this is one over {names[1]}; {own}"
    elif there["digest"] != digest(rows[: there["runs"]]):
        problem = (
            f"a study of {there['runs']} runs with other values of {names[0]} (another seed, range or order?); {own}"
        )
    if problem:
        raise StudyError(f"{str(path)!r} holds {problem}")
    if there["source"] and here["source"] and there["source"] != here["source"]:
        text = f"{here['function']} was edited since the runs in {str(path)!r}; those that are there stay as they are"
        warnings.warn(text, StudyWarning, stacklevel=5)
    return int(there["version"])


def _records(content: bytes, path: Path, header: dict[str, Any], rows: Sequence[Row] | None) -> dict[int, Record]:
    """Returns the last record of each run; lines that are none are counted and reported."""
    done, lost = {}, 0
    for line in content.splitlines():
        try:
            record = _record(json.loads(line), header, rows)
            done[record.run] = record
        except (ValueError, TypeError, LookupError, RecursionError):
            lost += bool(line.strip())
    if lost:
        text = f"damaged lines in {str(path / RUNS)!r}: {lost}; the runs that have no other line are done again"
        warnings.warn(text, StudyWarning, stacklevel=5)
    return done


def _record(data: Any, header: dict[str, Any], rows: Sequence[Row] | None) -> Record:
    """Returns a record as `add` wrote it; raises ValueError, TypeError or LookupError for anything else."""
    if data.pop("check", None) != digest(data) and header["version"] > 1:
        raise ValueError("its checksum is wrong")
    record = Record(**data)
    if type(record.run) is not int or record.run < 0:
        raise ValueError("run is a whole number")
    if not isinstance(record.wall_time, int | float) or not isinstance(record.failure, str):
        raise ValueError("wall_time is a number and failure a text")
    if digest(record.parameters) != digest(rows[record.run]) if rows else [*record.parameters] != header["parameters"]:
        raise ValueError("its parameters are not those of its run")
    values = [*dict(record.parameters).values(), *dict(record.results).values()]
    if not all(isinstance(value, bool | int | float | str) for value in values):
        raise ValueError("tables hold numbers and texts")
    return record


def _lock(file: Any, path: Path) -> None:
    """Keeps others out until this process ends, however it ends."""
    try:
        import fcntl
    except ImportError:  # no such locks on Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StudyError(f"another process is running the study in {str(path)!r}; wait for it or end it") from None
    except OSError:  # a file system without locks
        return
