"""The results of a study as a table: columns of numbers and texts, one row for each run, in one file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MissingPackageError, missing_package, unknown_name
from ..files import MAX_BYTES, read_arrays, written_whole
from ..model.html import html_table
from .parameters import Row, StudyError, Value

if TYPE_CHECKING:
    from pandas import DataFrame

Array = np.ndarray
FORMAT = 1  # of the file; one that is higher comes from a later version
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
        columns: "run", the parameters, the results, "wall_time" (s), "failure" ("" where there is none).
        parameters, results: names of columns.
        function: what was run.
    """

    columns: Mapping[str, Array]
    parameters: tuple[str, ...]
    results: tuple[str, ...]
    function: str = ""

    def __post_init__(self) -> None:
        sealed = {}
        for name, column in self.columns.items():
            sealed[name] = np.array(column)
            sealed[name].flags.writeable = False
        object.__setattr__(self, "columns", MappingProxyType(sealed))

    @classmethod
    def of(cls, records: Sequence[Record], function: str = "") -> Table:
        """Records as a table, sorted by run."""
        records = sorted(records, key=lambda record: record.run)
        parameters = tuple(records[0].parameters) if records else ()
        results = tuple(dict.fromkeys(name for record in records for name in record.results))
        columns = {"run": np.array([record.run for record in records], dtype=np.int64)}
        columns |= {name: _column([record.parameters[name] for record in records]) for name in parameters}
        columns |= {name: _column([record.results.get(name) for record in records]) for name in results}
        columns["wall_time"] = np.array([record.wall_time for record in records], dtype=float)
        columns["failure"] = np.array([record.failure for record in records], dtype=str)
        return cls(columns, parameters, results, function)

    def __len__(self) -> int:
        return len(self.columns["run"])

    def __getitem__(self, name: str) -> Array:
        if name not in self.columns:
            raise unknown_name("column", name, self.columns)
        return self.columns[name]

    @property
    def failed(self) -> Array:
        """Which runs failed, (N,) of bool."""
        return self.columns["failure"] != ""

    def rows(self) -> list[dict[str, Value]]:
        """Every row as a dictionary."""
        lists = [column.tolist() for column in self.columns.values()]
        return [dict(zip(self.columns, values, strict=True)) for values in zip(*lists, strict=True)]

    def __repr__(self) -> str:
        failed = int(self.failed.sum())
        return (
            f"<Table of {self.function or 'a study'}: {len(self)} runs{f', {failed} failed' if failed else ''}; "
            f"{', '.join(self.parameters)} → {', '.join(self.results) or 'nothing'}>"
        )

    def _repr_html_(self) -> str:
        return html_table(
            repr(self)[1:-1], list(self.columns), zip(*(c.tolist() for c in self.columns.values()), strict=True)
        )

    def to_pandas(self) -> DataFrame:
        """The table as a data frame of pandas, which needs the extra `study`."""
        try:
            import pandas
        except ImportError:
            raise missing_package("pandas", "study", "a table as a data frame") from None
        return pandas.DataFrame({name: np.array(column) for name, column in self.columns.items()})

    # --- files ----------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> Path:
        """Write the table into one file, whole or not at all: .npz (NumPy, no pickles) or .parquet (needs pyarrow)."""
        target = Path(path)
        target = target if target.suffix else target.with_suffix(".npz")
        write = {".npz": self._write_npz, ".parquet": self._write_parquet}.get(target.suffix)
        if write is None:
            raise StudyError(f"{target.name!r}: tables are .npz or .parquet, not {target.suffix}")
        written_whole(target, write)
        return target

    def _header(self) -> str:
        return json.dumps(
            {
                "format": KIND, "version": FORMAT, "columns": list(self.columns), "parameters": list(self.parameters),
                "results": list(self.results), "function": self.function,
            }
        )  # fmt: skip

    def _write_npz(self, file: Any) -> None:
        arrays = {f"column {k}": column for k, column in enumerate(self.columns.values())}
        arrays["header"] = np.frombuffer(self._header().encode(), dtype=np.uint8)
        np.savez_compressed(file, allow_pickle=False, **arrays)

    def _write_parquet(self, file: Any) -> None:
        pyarrow, parquet = _pyarrow()
        table = pyarrow.table({name: pyarrow.array(column) for name, column in self.columns.items()})
        parquet.write_table(table.replace_schema_metadata({"equipoise": self._header()}), file)

    @classmethod
    def load(cls, path: str | Path) -> Table:
        """Read a table from its file, or what a study's folder holds so far."""
        path = Path(path)
        if path.is_dir():
            from .store import read_folder

            return read_folder(path)
        if not path.is_file():
            raise StudyError(f"no file {str(path)!r}")
        read = _read_parquet if path.suffix == ".parquet" else _read_npz
        try:
            header, columns = read(path)
            if header.get("format") != KIND:
                raise ValueError(f"its header says {header.get('format')!r}")
            version = int(header["version"])
            if version <= FORMAT:
                _require_table(header, columns)
        except MissingPackageError:
            raise
        except Exception as error:  # hostile bytes can end a parser in any way
            raise StudyError(f"{str(path)!r} is damaged or not a table: {type(error).__name__}: {error}") from None
        if version > FORMAT:
            raise StudyError(f"{str(path)!r} is of format {version}; this version of Equipoise reads up to {FORMAT}")
        return cls(columns, tuple(header["parameters"]), tuple(header["results"]), header["function"])


def _require_table(header: Mapping[str, Any], columns: Mapping[str, Array]) -> None:
    """Raise ValueError unless the columns are those of one table."""
    rows = columns["run"].shape
    for name, column in columns.items():
        if column.shape != rows or column.ndim != 1:
            raise ValueError(f"column {name!r} has shape {column.shape}, and column 'run' {rows}")
    if (
        columns["run"].dtype.kind not in "iu"
        or columns["wall_time"].dtype.kind != "f"
        or columns["failure"].dtype.kind != "U"
    ):
        raise ValueError("run, wall_time and failure are columns of integers, numbers and texts")
    if not isinstance(header["function"], str):
        raise ValueError("the name of its function is not a text")
    for name in (*header["parameters"], *header["results"]):
        if name not in columns:
            raise ValueError(f"it has no column {name!r}")


def _read_npz(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    arrays = read_arrays(path)
    header = json.loads(arrays["header"].tobytes().decode())
    return header, {str(name): arrays[f"column {k}"] for k, name in enumerate(header["columns"])}


def _read_parquet(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    _, parquet = _pyarrow()
    about = parquet.ParquetFile(path).metadata
    unpacked = max(
        sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups)),
        8 * about.num_rows * about.num_columns,
    )  # runs of one value take next to nothing in the file
    if unpacked > MAX_BYTES:
        raise ValueError(f"it unpacks to {unpacked:,} bytes; up to {MAX_BYTES:,} are read")
    table = parquet.read_table(path)
    header = json.loads((table.schema.metadata or {})[b"equipoise"])
    columns = {name: np.asarray(table[name].to_numpy(zero_copy_only=False)) for name in header["columns"]}
    return header, {name: column.astype(str) if column.dtype == object else column for name, column in columns.items()}


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise missing_package("pyarrow", "study", "a table as Parquet") from None
    return pyarrow, parquet


def _column(values: Sequence[Any]) -> Array:
    """The narrowest array that holds them; None is NaN or ""."""
    present = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in present):
        return np.array(["" if value is None else str(value) for value in values], dtype=str)
    if len(present) == len(values) and all(isinstance(value, bool) for value in values):
        return np.array(values, dtype=bool)
    whole = all(isinstance(value, int) and abs(value) < 2**63 for value in present)
    if len(present) == len(values) and whole:
        return np.array(values, dtype=np.int64)
    return np.array([np.nan if value is None else float(value) for value in values])
