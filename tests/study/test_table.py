"""Tables: types of columns, files, and what is none."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import equipoise as eq
from equipoise.study import StudyError, Table
from equipoise.study.table import Record

RECORDS = [
    Record(2, {"x": 0.1, "kind": "b"}, {"n": 7, "ok": False, "value": np.inf, "word": "é漢, \"quoted\""}, 0.5),
    Record(0, {"x": 1e-300, "kind": "a"}, {"n": 5, "ok": True, "value": 1 / 3, "word": "first"}, 0.25),
    Record(1, {"x": 1.0, "kind": "a"}, {"n": 6, "ok": True, "value": np.nan, "word": ""}, 0.125),
]  # fmt: skip
FAILED = Record(3, {"x": 2.0, "kind": "c"}, {}, 0.1, "ValueError: no")


def test_a_table_is_sorted_and_typed():
    table = Table.of(RECORDS, "f")
    assert table["run"].tolist() == [0, 1, 2]
    assert table["n"].dtype == np.int64 and table["ok"].dtype == bool and table["value"].dtype == float
    assert table["word"].tolist() == ["first", "", "é漢, \"quoted\""]  # fmt: skip
    assert table.parameters == ("x", "kind") and table.results == ("n", "ok", "value", "word")
    assert not table.failed.any()
    assert table.rows()[2]["value"] == np.inf
    with pytest.raises(ValueError, match="read-only"):
        table["n"][0] = 1


def test_failed_runs_have_empty_results():
    table = Table.of([*RECORDS, FAILED], "f")
    assert table.failed.tolist() == [False, False, False, True]
    assert_array_equal(table["n"], [5.0, 6.0, 7.0, np.nan])
    assert_array_equal(table["ok"], [1.0, 1.0, 0.0, np.nan])
    assert table["word"][3] == "" and table["failure"][3] == "ValueError: no"
    assert "4 runs, 1 failed; x, kind → n, ok, value, word" in repr(table)


@pytest.mark.parametrize("ending", ["npz", "parquet"])
@pytest.mark.parametrize("records", [RECORDS, [*RECORDS, FAILED]], ids=["complete", "with a failure"])
def test_tables_come_back_from_their_files_bit_for_bit(tmp_path, ending, records):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    table = Table.of(records, "module.f")
    again = Table.load(table.save(tmp_path / f"table.{ending}"))
    assert (again.parameters, again.results, again.function) == (table.parameters, table.results, "module.f")
    assert list(again.columns) == list(table.columns)
    for name in table.columns:
        assert again[name].dtype.kind == table[name].dtype.kind, name
        assert again[name].tolist() == table[name].tolist() or again[name].tobytes() == table[name].tobytes(), name


def test_parquet_is_what_others_read(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    there = parquet.read_table(Table.of(RECORDS).save(tmp_path / "table.parquet"))
    assert there["n"].to_pylist() == [5, 6, 7] and there["kind"].to_pylist() == ["a", "a", "b"]
    assert str(there.schema.field("ok").type) == "bool"


def test_what_is_no_table_is_told(tmp_path):
    for name, content in (("a.npz", b"no zip"), ("b.parquet", b"no parquet"), ("c.npz", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(StudyError, match="damaged or not a table"):
            Table.load(tmp_path / name)
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(StudyError, match="damaged or not a table"):
        Table.load(tmp_path / "other.npz")
    with pytest.raises(StudyError, match="no file"):
        Table.load(tmp_path / "absent.npz")
    with pytest.raises(StudyError, match="tables are .npz or .parquet, not .csv"):
        Table.of(RECORDS).save(tmp_path / "table.csv")
    with pytest.raises(eq.UnknownNameError, match="no column named 'words'. Did you mean 'word'"):
        Table.of(RECORDS)["words"]


def test_tables_hold_no_pickles(tmp_path):
    np.savez(tmp_path / "evil.npz", header=np.array([{"a": 1}], dtype=object))
    with pytest.raises(StudyError, match="damaged or not a table: ValueError"):
        Table.load(tmp_path / "evil.npz")
