"""What the readers make of descriptions with every feature they know."""

from __future__ import annotations

import pytest
import records
from dumps import robot_data
from odd_texts import MJCFS, URDFS

import equipoise as eq
from equipoise.model.mjcf import read_mjcf
from equipoise.model.urdf import read_urdf, write_urdf


@pytest.mark.parametrize("floating", [None, True, False])
def test_recorded_urdf_texts(floating):
    found = {name: _answer(text, floating) for name, text in URDFS.items()}
    records.check(f"model_urdf_texts_{floating}", found)


@pytest.mark.parametrize("floating", [None, True, False])
def test_recorded_mjcf_texts(floating):
    found = {name: _answer(text, floating) for name, text in MJCFS.items()}
    records.check(f"model_mjcf_texts_{floating}", found)


def test_recorded_urdf_of_models():
    """The text that the writer makes of each description, line by line."""
    texts = [(read_mjcf, name, text) for name, text in MJCFS.items()]
    texts += [(read_urdf, name, text) for name, text in URDFS.items()]
    written = {
        name: records.answer(lambda read=read, text=text: write_urdf(read(text)).splitlines())
        for read, name, text in texts
    }
    records.check("model_written", written)


def _answer(text, floating):
    text = text.replace("><", ">\n<")  # messages name lines
    return records.answer(lambda: robot_data(lambda: eq.load(text, floating=floating), brief=floating is not None))
