"""The comparison with records notices what it should."""

from __future__ import annotations

import numpy as np
import pytest
import records


def test_a_recorded_quantity_is_named_with_its_change(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    data = {"limit": np.inf, "count": 3, "name": "a", "poses": np.arange(40.0), "short": np.ones(3)}
    monkeypatch.setenv("EQUIPOISE_RECORD", "1")
    records.check("x", data)
    monkeypatch.delenv("EQUIPOISE_RECORD")
    records.check("x", data | {"short": np.ones(3) + 1e-9})
    changed = np.arange(40.0)
    changed[7] += 1e-3
    for change, message in (
        ({"limit": 5.0}, ".limit: recorded 'inf', found 5.0"),
        ({"count": 4}, ".count: recorded 3, found 4, changed by 1"),
        ({"poses": changed}, ".poses.sum: recorded"),
        ({"short": np.ones(4)}, ".short: recorded"),
        ({"more": 1}, ".more: not recorded"),
    ):
        with pytest.raises(AssertionError) as caught:
            records.check("x", data | change)
        assert message in str(caught.value)
    with pytest.raises(AssertionError, match="no record y.json"):
        records.check("y", {})


def test_an_answer_is_a_result_or_an_error_with_what_was_warned():
    assert records.answer(lambda: 3) == 3
    assert records.answer(lambda: {}["x"]) == "KeyError: 'x'"
