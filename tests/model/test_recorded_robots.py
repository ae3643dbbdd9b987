"""Built-in robots and those of packages are what they were: every number of their descriptions."""

from __future__ import annotations

import pytest
import records
import support
from dumps import robot_data

import equipoise as eq
from equipoise.model.robots import BUILT_IN

OTHER_SIZES = {
    "small_human": ("human", dict(height=1.5, mass=48.0)),
    "short_snake": ("snake", dict(n=3, length=0.1, mass=0.5)),
    "long_chain": ("planar_chain", dict(n=4, lengths=[0.5, 0.4, 0.3, 0.2], masses=[2.0, 1.0, 0.5, 0.2])),
    "pendulum": ("two_link_pendulum", dict(length=0.7, mass=1.5)),
    "heavy_cart": ("cart_pendulum", dict(half_length=0.3, cart_mass=2.0, pendulum_mass=0.4)),
    "large_wheel": ("wheel", dict(radius=0.5, axle_mass=2.0, wheel_mass=3.0)),
    "small_flower": ("flower", dict(stem=2, petals=3)),
    "stiff_bird": ("bird", dict(neck=3)),
}
FROM_PACKAGES = (
    "jvrc1", "talos", "g1", "go2", "solo12", "hyq", "anymal_b", "romeo", "icub", "bolt", "simple_humanoid", "so100",
    "centauro", "panda", "ur5", "tiago", "pr2", "baxter", "hector", "allegro_left_hand", "double_pendulum", "b1_z1",
)  # fmt: skip


@pytest.mark.parametrize("name", BUILT_IN)
def test_recorded_built_in_robots(name):
    records.check(f"model_{name}", robot_data(lambda: eq.load(name)))


def test_recorded_built_in_robots_of_other_sizes():
    found = {key: robot_data(lambda n=n, p=p: eq.load(n, **p), True) for key, (n, p) in OTHER_SIZES.items()}
    records.check("model_other_sizes", found)


@pytest.mark.parametrize("name", FROM_PACKAGES)
def test_recorded_robots_of_packages(name):
    path = support.description(name)
    records.check(f"model_package_{name}", robot_data(lambda: eq.load(path), brief=True))
