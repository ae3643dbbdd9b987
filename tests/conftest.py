"""Fixtures that all tests share; the functions behind them are in support.py."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest
import support


def pytest_collection_finish() -> None:
    """What pytest has collected stays to the end: `gc.collect()` in a test need not walk over all of it."""
    gc.freeze()


@pytest.fixture
def rng() -> np.random.Generator:
    """The same random numbers in every run."""
    return np.random.default_rng(17)


@pytest.fixture(scope="session")
def robots_folder() -> Path:
    """Folder of the robots that are not part of the project; skips where it is absent."""
    return support.robots_folder()
