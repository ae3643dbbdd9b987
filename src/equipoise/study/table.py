"""The results of a study as a table, one row for each run: a data frame of pandas, with a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MissingPackageError, require_packages, unknown_name
from ..files import MAX_BYTES, read_arrays, written_whole
from .parameters import Row, StudyError, Value

if TYPE_CHECKING:
    from pandas import DataFrame

Array = np.ndarray
FORMAT = 2  # of the file; a higher one comes from a later version
KIND = "equipoise table"
ENDINGS = "", ".npz", ".parquet"  # of a table's file
INTERRUPTED = "not done: the study was interrupted"  # failure of a run


@dataclass(frozen=True)
class Record:
    """One run that ended: what came out of it, or why it failed."""

    run: int
    parameters: Row
    results: Row
    wall_time: float  # s
    failure: str = ""
    notes: tuple[str, ...] = ()  # warnings of the run; passed on, not stored


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """One row for each run, in the order of the parameters; `table["friction"]` is a column.

    Columns are arrays of bool, int, float or text. Where a run failed its results are NaN or "", and columns of bool or
    int are of float.

    Attributes:
        frame: "run", the parameters, the results, "wall_time" (s), "failure" ("" where there is none).
        parameters, results: names of columns.
        function: what was run.
    """

    frame: DataFrame
    parameters: tuple[str, ...]
    results: tuple[str, ...]
    function: str = ""

    @classmethod
    def of(cls, records: Sequence[Record], function: str = "") -> Table:
        """Returns records as a table, sorted by run."""
        records = sorted(records, key=lambda record: record.run)
        parameters = tuple(records[0].parameters) if records else ()
        results = tuple(dict.fromkeys(name for record in records for name in record.results))
        columns = {"run": np.array([record.run for record in records], dtype=np.int64)}
        columns |= {name: _column([record.parameters[name] for record in records]) for name in parameters}
        columns |= {name: _column([record.results.get(name) for record in records]) for name in results}
        columns["wall_time"] = np.array([record.wall_time for record in records], dtype=float)
        columns["failure"] = np.array([record.failure for record in records], dtype=str)
        return cls(_pandas().DataFrame(columns), parameters, results, function)

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, name: str) -> Array:
        if name not in self.frame:
            raise unknown_name("column", name, self.frame)
        values = self.frame[name].to_numpy()
        column = np.array(values, dtype=values.dtype if values.dtype.kind in "biuf" else str)
        column.flags.writeable = False
        return column

    @property
    def columns(self) -> Mapping[str, Array]:
        """All columns by name."""
        return MappingProxyType({name: self[name] for name in self.frame})

    @property
    def failed(self) -> Array:
        """Which runs failed, (N,) of bool."""
        return self["failure"] != ""

    def rows(self) -> list[dict[str, Value]]:
        """Returns every row as a dictionary."""
        return self.frame.to_dict("records")

    def __repr__(self) -> str:
        failed = int(self.failed.sum())
        return (
            f"<Table of {self.function or 'a study'}: {len(self)} runs{f', {failed} failed' if failed else ''}; "
            f"{', '.join(self.parameters)} → {', '.join(self.results) or 'nothing'}>"
        )

    def _repr_html_(self) -> str:
        return f"<div><b>{escape(repr(self)[1:-1])}</b>{self.frame.to_html(index=False, max_rows=20)}</div>"

    def to_pandas(self) -> DataFrame:
        """Returns a copy of the table as a data frame of pandas."""
        return self.frame.copy()

    # --- files ----------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> Path:
        """Writes the table into one file, whole or not at all: .npz (NumPy, no pickles) or .parquet (needs pyarrow)."""
        target = Path(path)
        target = target if target.suffix else target.with_suffix(".npz")
        write = {".npz": self._write_npz, ".parquet": self._write_parquet}.get(target.suffix)
        if write is None:
            raise StudyError(f"{target.name!r}: tables are .npz or .parquet, not {target.suffix}")
        return written_whole(target, write)

    def _header(self) -> bytes:
        about = {"format": KIND, "version": 1, "columns": list(self.frame), "parameters": list(self.parameters)}
        return json.dumps(about | {"results": list(self.results), "function": self.function}).encode()

    def _write_npz(self, file: Any) -> None:
        arrays = {f"column {k}": self[name] for k, name in enumerate(self.frame)}
        np.savez_compressed(file, allow_pickle=False, header=np.frombuffer(self._header(), np.uint8), **arrays)

    def _write_parquet(self, file: Any) -> None:
        require_packages("study", "a table as Parquet", "pyarrow")
        import pyarrow
        from pyarrow import parquet

        table = pyarrow.Table.from_pandas(self.frame, preserve_index=False)
        parquet.write_table(table.replace_schema_metadata({"equipoise": self._header()}), file)

    @classmethod
    def load(cls, path: str | Path) -> Table:
        """Reads a table from its file, or what a study's folder holds so far."""
        path = Path(path)
        if path.is_dir():
            from .store import read_folder

            return read_folder(path)
        if not path.is_file():
            raise StudyError(f"no file {str(path)!r}")
        try:
            header, frame = (_read_parquet if path.suffix == ".parquet" else _read_npz)(path)
            if header.get("format") != KIND or header["version"] > FORMAT:
                raise ValueError(f"its header says {header.get('format')!r}, format {header.get('version')}")
            if [frame[name].dtype.kind for name in ("run", "wall_time", "failure")] != ["i", "f", "O"]:
                raise ValueError("run, wall_time and failure are columns of integers, numbers and texts")
            names = {part: tuple(frame[header[part]]) for part in ("parameters", "results")}
            return cls(frame, **names, function=str(header["function"]))
        except MissingPackageError:
            raise
        except Exception as error:  # hostile bytes can end a parser in any way
            raise StudyError(f"{str(path)!r} is damaged or not a table: {type(error).__name__}: {error}") from None


def _read_npz(path: Path) -> tuple[dict[str, Any], DataFrame]:
    arrays = read_arrays(path)
    header = json.loads(arrays["header"].tobytes().decode())
    columns = {str(name): arrays[f"column {k}"] for k, name in enumerate(header["columns"])}
    return header, _pandas().DataFrame(columns)


def _read_parquet(path: Path) -> tuple[dict[str, Any], DataFrame]:
    require_packages("study", "a table as Parquet", "pyarrow")
    from pyarrow import parquet

    about = parquet.ParquetFile(path).metadata
    groups = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
    unpacked = max(groups, 8 * about.num_rows * about.num_columns)  # runs of one value take next to nothing in the file
    if unpacked > MAX_BYTES:
        raise ValueError(f"it unpacks to {unpacked:,} bytes; up to {MAX_BYTES:,} are read")
    table = parquet.read_table(path)
    header = json.loads((table.schema.metadata or {})[b"equipoise"])
    return header, table.select(header["columns"]).to_pandas()


def _pandas() -> Any:
    require_packages("study", "the table of a study", "pandas")
    import pandas

    return pandas


def _column(values: Sequence[Any]) -> Array:
    """Returns the narrowest array that holds the values; None is NaN or ""."""
    present = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in present):
        return np.array(["" if value is None else str(value) for value in values], dtype=str)
    if len(present) == len(values) and all(isinstance(value, bool) for value in values):
        return np.array(values, dtype=bool)
    whole = all(isinstance(value, int) and abs(value) < 2**63 for value in present)
    if len(present) == len(values) and whole:
        return np.array(values, dtype=np.int64)
    return np.array([np.nan if value is None else float(value) for value in values])
