"""Fixtures that all tests share; the functions behind them are in support.py."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import numpy as np
import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Collects tests on robots, logs and courses that no package brings only where a variable names their folder."""
    wanted = {item: [mark.args[0] for mark in item.iter_markers("further")] for item in items}
    for variable in {name for names in wanted.values() for name in names}:
        if variable in os.environ and not Path(os.environ[variable]).is_dir():
            raise pytest.UsageError(f"{variable} names no folder: {os.environ[variable]!r}")
    left_out = [item for item in items if any(name not in os.environ for name in wanted[item])]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


def pytest_collection_finish() -> None:
    """What pytest has collected stays to the end: `gc.collect()` in a test need not walk over all of it."""
    gc.freeze()


@pytest.fixture
def rng() -> np.random.Generator:
    """The same random numbers in every run."""
    return np.random.default_rng(17)
