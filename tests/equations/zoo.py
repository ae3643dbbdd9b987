"""A robot with a joint of every type."""

from __future__ import annotations

import functools

import numpy as np

import equipoise as eq
from equipoise.model.types import Mimic

INERTIA = np.array([[0.3, 0.02, -0.03], [0.02, 0.4, 0.05], [-0.03, 0.05, 0.5]])


@functools.cache
def zoo(*, floating: bool, followers: bool = True) -> eq.Robot:
    """Two branches from the root, joined by followers if wanted; placements and axes oblique, rotors on some joints."""
    b = eq.RobotBuilder("zoo", floating=floating)
    b.link("root", mass=4.0, com=(0.1, -0.05, 0.2), inertia=2 * INERTIA)
    for k, name in enumerate(("turned", "slid", "rolled", "followed", "plate", "kite", "wheel", "second", "nail")):
        b.link(name, mass=1.0 + 0.2 * k, com=(0.1 * k - 0.3, 0.2, -0.1), inertia=(1 + 0.1 * k) * INERTIA)

    def leader(*law) -> Mimic | None:
        return Mimic(*law) if followers else None

    place = dict(position=(0.2, -0.1, 0.3), rpy=(0.4, -0.3, 0.8))
    b.joint("turn", "revolute", "root", "turned", axis=(1, 2, -2), **place, armature=0.3)
    b.joint("slide", "prismatic", "turned", "slid", axis=(1, 0, 1), **place, armature=1.5)
    b.joint(
        "roll",
        "ball",
        "slid",
        "rolled",
        **place,
        child_position=(0.1, 0.2, 0.0),
        child_rpy=(0.3, 0.0, 0.2),
        armature=0.2,
    )
    b.joint("glide", "planar", "root", "plate", axis=(0, 1, 1), **place)
    b.joint("fly", "floating", "plate", "kite", **place)
    b.joint("spin", "continuous", "kite", "wheel", axis=(0, -1, 0), **place)
    b.joint(
        "follow",
        "revolute",
        "rolled",
        "followed",
        axis=(0, 0, 1),
        **place,
        mimic=leader("spin", -1.7, 0.3),
        armature=0.1,
    )
    b.joint("push", "prismatic", "wheel", "second", axis=(0, 1, 0), **place, mimic=leader("turn", 0.4, -0.2))
    b.joint("hold", "fixed", "second", "nail", **place)
    return b.build()
