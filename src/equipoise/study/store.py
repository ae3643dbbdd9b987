"""A study on disk: one line of JSON for every run that ended, written at once, so that a killed study can go on.

    study.json     which function, which parameters (their digest), how many runs
    runs.jsonl     one record in each line; a line that was cut off is no record, and its run is done again
    table.npz      the whole table, when all runs have ended

Nothing in a folder is executed or unpickled when it is read.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..files import MAX_BYTES, MAX_TEXT, read_bounded, written_whole
from .parameters import Row, StudyError, digest
from .table import FORMAT, Record, Table

HEADER, RUNS, TABLE = "study.json", "runs.jsonl", "table.npz"
KIND = "equipoise study"
SYNC_EVERY = 0.5  # s between two waits for the disk; a killed process loses nothing, a power cut at most so much


class StudyWarning(UserWarning):
    """The study goes on, but something about it is doubtful."""


@dataclass(frozen=True)
class Identity:
    """What makes two studies the same: the function by name, and the parameters of every run."""

    function: str
    rows: Sequence[Row]
    source: str = ""  # digest of the function's text; another one only warns

    def header(self) -> dict[str, Any]:
        """As it stands in study.json."""
        return {
            "format": KIND, "version": FORMAT, "function": self.function, "source": self.source,
            "parameters": list(self.rows[0]), "runs": len(self.rows), "digest": digest(self.rows),
        }  # fmt: skip


class MemoryStore:
    """Where the records of a study without a folder are stored."""

    def __init__(self) -> None:
        self.done: dict[int, Record] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def add(self, record: Record) -> None:
        """Keep a run."""
        self.done[record.run] = record

    def finish(self, table: Table) -> None:
        """All runs have ended."""


class Folder(MemoryStore):
    """The folder of one study, open for more runs; only one process at a time can have it open."""

    path: Path

    def __init__(self, path: str | Path, identity: Identity, *, resume: bool = True) -> None:
        super().__init__()
        self.path = Path(path)
        if (self.path / HEADER).exists():
            _require_same(self.path, identity, resume)
        elif self.path.is_dir() and not all(map(_ours, self.path.iterdir())):
            raise StudyError(f"{str(path)!r} holds other files and no study; give a folder that is new or empty")
        self.path.mkdir(parents=True, exist_ok=True)
        self._file = open(self.path / RUNS, "ab", buffering=0)  # noqa: SIM115 — closed by __exit__
        try:
            _lock(self._file, self.path)
            self._write_json(HEADER, identity.header())
            content = _log(self.path)
            names = list(identity.rows[0])
            found = _records(content.splitlines(), self.path, names)
            self.done = {record.run: record for record in found if record.run < len(identity.rows)}
        except BaseException:
            self._file.close()
            raise
        if content and not content.endswith(b"\n"):  # the line that was being written when the study was killed
            self._file.write(b"\n")
        self._synced = 0.0

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.fsync(self._file.fileno())
        self._file.close()

    def add(self, record: Record) -> None:
        """Append a run. It outlives this process from here on."""
        super().add(record)
        content = {name: value for name, value in asdict(record).items() if name != "notes"}
        line = json.dumps(content, ensure_ascii=False).encode(errors="replace") + b"\n"
        while line:
            line = line[self._file.write(line) :]  # a full disk raises, and what was written of the line is no record
        if time.monotonic() - self._synced > SYNC_EVERY:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()

    def finish(self, table: Table) -> None:
        """Write the table beside the records."""
        table.save(self.path / TABLE)

    def _write_json(self, name: str, content: Mapping[str, Any]) -> None:
        written_whole(self.path / name, lambda file: file.write(json.dumps(content, indent=1).encode()))


def _ours(path: Path) -> bool:
    """Whether a file is what a study that was killed in its first moment leaves."""
    return path.name.startswith(f".{HEADER}.") or (path.name == RUNS and path.stat().st_size == 0)


def read_folder(path: Path) -> Table:
    """What a folder holds so far, as a table; the study may still be running."""
    header = _header(path)
    lines = _log(path).splitlines() if (path / RUNS).exists() else []
    last = {record.run: record for record in _records(lines, path, header["parameters"], warn=False)}
    return Table.of(list(last.values()), header["function"])


def _log(path: Path) -> bytes:
    """The lines of the runs that ended."""
    try:
        return read_bounded(path / RUNS, MAX_BYTES)
    except (OSError, ValueError) as error:
        raise StudyError(f"{str(path / RUNS)!r} cannot be read: {error}") from None


def _header(path: Path) -> dict[str, Any]:
    try:
        header = json.loads(read_bounded(path / HEADER, MAX_TEXT))
        if header["format"] != KIND:
            raise ValueError(f"it says {header['format']!r}")
        for key, kind in {"version": int, "function": str, "source": str, "runs": int, "digest": str}.items():
            if not isinstance(header[key], kind):
                raise ValueError(f"{key} is {str(header[key])[:40]!r}")
        if not isinstance(header["parameters"], list) or not all(
            isinstance(name, str) for name in header["parameters"]
        ):
            raise ValueError("parameters is not a list of names")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise StudyError(
            f"{str(path)!r} is not the folder of a study: {HEADER}: {type(error).__name__}: {error}"
        ) from None
    if header["version"] > FORMAT:
        raise StudyError(
            f"{str(path)!r} is of format {header['version']}; this version of Equipoise reads up to {FORMAT}"
        )
    return header


def _require_same(path: Path, identity: Identity, resume: bool) -> None:
    """Another function or other parameters are an error; more runs after the same ones are not."""
    there = _header(path)
    if not resume:
        raise StudyError(
            f"{str(path)!r} holds a study already; resume=True goes on with it, another folder begins anew"
        )
    if there["function"] != identity.function:
        raise StudyError(
            f"{str(path)!r} holds a study of {there['function']}, and this is one of {identity.function}; "
            "give each study a folder of its own"
        )
    if there["parameters"] != list(identity.rows[0]):
        raise StudyError(
            f"{str(path)!r} holds a study over {', '.join(there['parameters'])}, and this is one over "
            f"{', '.join(identity.rows[0])}; give each study a folder of its own"
        )
    if there["digest"] != digest(identity.rows[: there["runs"]]):
        raise StudyError(
            f"{str(path)!r} holds a study of {there['runs']} runs with other values of "
            f"{', '.join(there['parameters'])} "
            "(another seed, range or order?); give each study a folder of its own"
        )
    if there["source"] and identity.source and there["source"] != identity.source:
        text = f"{identity.function} was edited since the runs in {str(path)!r}; those that are there stay as they are"
        warnings.warn(text, StudyWarning, stacklevel=4)


def _records(lines: Iterable[bytes], path: Path, parameters: Sequence[str], *, warn: bool = True) -> list[Record]:
    """Every line that is a record of a run with such parameters."""
    records, lost = [], 0
    for line in lines:
        try:
            records.append(_record(json.loads(line), parameters))
        except (ValueError, TypeError, RecursionError):
            lost += bool(line.strip())
    if lost > 1 and warn:  # one is the mark of a killed study
        text = f"{lost} lines of {str(path / RUNS)!r} are damaged; the runs that have no other line are done again"
        warnings.warn(text, StudyWarning, stacklevel=4)
    return records


def _record(data: Any, parameters: Sequence[str]) -> Record:
    """A record as `add` wrote it; ValueError or TypeError for anything else."""
    record = Record(**data)
    if not isinstance(record.run, int) or isinstance(record.run, bool) or record.run < 0:
        raise ValueError("run is a whole number")
    if not isinstance(record.wall_time, int | float) or not isinstance(record.failure, str):
        raise ValueError("wall_time is a number and failure a text")
    if sorted(record.parameters) != sorted(parameters):
        raise ValueError("it is of other parameters")
    values = [*dict(record.parameters).values(), *dict(record.results).values()]
    if not all(isinstance(value, bool | int | float | str) for value in values):
        raise ValueError("tables hold numbers and texts")
    return record


def _lock(file: Any, path: Path) -> None:
    """Keep others out until this process ends, however it ends."""
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
