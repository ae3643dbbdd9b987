"""Robots that are pickled and copied: the same numbers to the last bit, frozen as before."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from support import load, mjcf_of

import equipoise as eq
from equipoise.model.types import Model

FOUR_BAR = """
<mujoco><default><geom type="capsule" size="0.02"/></default><worldbody>
  <body name="a"><joint name="a" axis="0 1 0"/><geom fromto="0 0 0 0 0 0.3"/>
    <body name="b" pos="0 0 0.3"><joint name="b" axis="0 1 0"/><geom fromto="0 0 0 0.5 0 0"/></body></body>
  <body name="c" pos="0.5 0 0"><joint name="c" axis="0 1 0"/><geom fromto="0 0 0 0 0 0.3"/></body>
  </worldbody><equality><connect name="pin" body1="b" body2="c" anchor="0.5 0 0"/></equality></mujoco>
"""
ROBOTS: dict[str, Callable[[], eq.Robot]] = {
    "built-in": lambda: load("quadruped"),
    "URDF with followers": lambda: load("jvrc1"),
    "MJCF with loops": lambda: eq.load(FOUR_BAR),
    "locked": lambda: load("arm7").with_locked({"joint_2": 0.3}),
    "one frame more": lambda: load("arm7").with_frame("probe", "tool", np.diag([-1.0, -1.0, 1.0, 1.0])),
    "passive": lambda: load("arm7").with_passive(["joint_3"]),
    "armature": lambda: eq.load(mjcf_of("solo12").replace("<joint ", '<joint armature="0.01" ')).with_armature(),
}
COPIES = {"pickle": lambda robot: pickle.loads(pickle.dumps(robot)), "deepcopy": copy.deepcopy, "copy": copy.copy}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("make", ROBOTS.values(), ids=ROBOTS)
def test_a_copy_is_the_same_robot(make, copied, rng):
    robot = make()
    again = copied(robot)
    assert again is not robot and repr(again) == repr(robot) and again.tree.digest == robot.tree.digest
    assert list(again.joints) == list(robot.joints) and list(again.frames) == list(robot.frames)
    assert_array_equal(again.actuated, robot.actuated)
    assert_array_equal(again.limits.effort, robot.limits.effort)
    assert_array_equal(again.standing(), robot.standing())
    assert list(again.model.loops) == list(robot.model.loops)
    q, v = robot.random_state(rng)
    a, frame = rng.normal(size=robot.nv), list(robot.frames)[-1]
    assert_array_equal(again.inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a))
    assert_array_equal(again.pose(q, frame), robot.pose(q, frame))


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_a_copy_is_frozen_too(copied):
    model: Model = copied(load("quadruped")).model
    joint, link = next(iter(model.joints.values())), next(iter(model.links.values()))
    assert link.inertia is not None
    for array in (joint.origin, joint.tail, link.inertia.com, link.inertia.matrix, link.visuals[0].X, model.actuated):
        assert not array.flags.writeable
    for mapping in (model.links, model.joints, model.frames, model.loops, model.standing):
        with pytest.raises(TypeError):
            mapping["x"] = 1  # type: ignore[index]


def test_a_pickle_holds_no_machine_code():
    robot = load("quadruped")
    before = len(pickle.dumps(robot))
    robot.mass_matrix(robot.neutral())
    assert len(pickle.dumps(robot)) == before


def test_forms_are_copied_with_their_robot(rng):
    robot = load("quadruped")
    form = robot.equations_of_motion(*robot.random_state(rng)).centroidal()
    again = pickle.loads(pickle.dumps(form))
    assert again.base is eq.COM
    assert_array_equal(again.in_base("trunk").M, form.in_base("trunk").M)
