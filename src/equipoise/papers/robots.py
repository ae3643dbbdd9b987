"""A robot on which no term of the equations of motion vanishes: what holds for any robot is looked at on this one
too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..model.types import Mimic
from ..robot import Robot, RobotBuilder


def one_of_each_joint(**options: Any) -> Robot:
    """A floating trunk with a slide, a ball, a plane and a turn one behind the other, and a follower of the slide."""
    builder = RobotBuilder("one of each joint", **options).link(
        "trunk", mass=3.0, com=(0.1, 0, 0.05), inertia=(0.05, 0.06, 0.07)
    )
    parent = "trunk"
    for k, kind in enumerate(("prismatic", "ball", "planar", "revolute")):
        link = f"{kind}_link"
        builder.link(link, mass=1.0 + 0.3 * k, com=(0.05, -0.02 * k, 0.1), inertia=(0.01, 0.02, 0.015 + 0.001 * k))
        axis = (0.6, 0.0, 0.8) if kind in ("prismatic", "revolute") else (0.0, 0.0, 1.0)
        builder.joint(kind, kind, parent, link, axis=axis, position=(0.1, 0.05, 0.2), rpy=(0.3, -0.2, 0.1 * k))
        parent = link
    builder.link("follower", mass=0.7, com=(0.0, 0.1, 0.0), inertia=(0.004, 0.003, 0.005))
    builder.joint("follower", "prismatic", "trunk", "follower", axis=(0, 1, 0), mimic=Mimic("prismatic", -0.5, 0.1))
    return builder.build()


def tree(parents: Sequence[int], kinds: Sequence[str], rng: np.random.Generator) -> Robot:
    """A random robot: link k hangs by a joint of kind k on link parents[k]; link 0 is the root, fixed to the world."""
    builder = RobotBuilder("tree", floating=False)
    for k, (parent, kind) in enumerate(zip(parents, kinds, strict=True)):
        builder.link(f"link_{k}", mass=rng.uniform(0.5, 2.0), com=rng.normal(size=3), inertia=(0.02, 0.03, 0.04))
        axis, position, rpy = rng.normal(size=(3, 3))
        if k > 0:
            builder.joint(f"joint_{k}", kind, f"link_{parent}", f"link_{k}", axis=axis, position=position, rpy=rpy)
    return builder.build()
