"""Names of version 0.2 that changed: they work until 0.4, and warn with the new name."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import equipoise as eq

ARM = """<mujoco><worldbody><body><joint name="turn" axis="0 1 0"/><geom size="0.1"/></body></worldbody></mujoco>"""


@pytest.fixture(scope="module")
def pair():
    mujoco = pytest.importorskip("mujoco")
    return eq.load(ARM), mujoco.MjModel.from_xml_string(ARM)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("to_mujoco", "to_peer"),
        ("from_mujoco", "from_peer"),
        ("velocity_map_mujoco", "velocity_map"),
        ("acceleration_to_mujoco", "acceleration_to_peer"),
        ("acceleration_from_mujoco", "acceleration_from_peer"),
    ],
)
def test_functions_of_convert_work_until_the_next_version(pair, old, new):
    state = [np.full(1, x) for x in (0.3, 0.4, 0.5)][: 3 if "acceleration" in old else 1]
    with pytest.warns(DeprecationWarning, match=rf"use convert\.mujoco\(robot, model\)\.{new}") as caught:
        said = getattr(eq.convert, old)(*pair, *state)
    assert_array_equal(said, getattr(eq.convert.mujoco(*pair), new)(*state))
    assert caught[0].filename == __file__


def test_converters_had_longer_names(pair):
    with pytest.warns(DeprecationWarning, match=r"convert\.mujoco_converter will be removed in 0.4; use convert\.muj"):
        assert eq.convert.mujoco_converter(*pair).peer.name == "MuJoCo"
    with pytest.raises(AttributeError, match="no attribute 'to_drake'"):
        eq.convert.to_drake(*pair)
