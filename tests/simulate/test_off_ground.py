"""A contact in the air is told before the robot falls, with the distance."""

from __future__ import annotations

import numpy as np
import pytest

import equipoise as eq


@pytest.fixture(scope="module")
def robot():
    return eq.load("quadruped")


def controller(robot, point):
    feet = [eq.PointContact(frame, point=point) for frame in robot.frames if frame.endswith("foot")]
    return eq.WholeBodyController(robot, [eq.CoMTask(), eq.PostureTask()], feet, [eq.TorqueLimits()])


@pytest.mark.parametrize(("height", "words"), [(0.04, "0.04 m above the ground"), (-0.03, "0.03 m inside the ground")])
@pytest.mark.parametrize("plant", ["mujoco", "soft"])
def test_contacts_off_the_ground_are_told_with_the_distance(robot, plant, height, words):
    q = robot.standing()
    q[2] += height
    with pytest.warns(eq.ContactWarning, match=words):
        run = eq.simulate(robot, controller(robot, (0, 0, 0)), plant, duration=0.002, q0=q)
    told = [text for t, text in run.events if t == 0.0 and words in text]
    assert len(told) == 4 and "front_left_foot" in told[0] and "point=" in told[0]


class Three:
    """A controller that relies on three of its four contacts."""

    def __init__(self, law):
        self.law, self.contacts, self.in_force = law, law.contacts, frozenset(sorted(law.in_force)[1:])

    def __call__(self, t, q, v):
        return self.law(t, q, v)


def test_contacts_that_touch_or_are_not_in_force_are_not(robot, recwarn):
    law = controller(robot, (0, 0, 0))
    assert law.in_force == {contact.label for contact in law.contacts}
    eq.simulate(robot, law, duration=0.002)
    assert not [w for w in recwarn if issubclass(w.category, eq.ContactWarning)]
    q = robot.standing()
    q[2] += 0.1
    with pytest.warns(eq.ContactWarning) as told:
        eq.simulate(robot, Three(law), duration=0.002, q0=q)
    assert len(told) == 3 and not any("front_left_foot" in str(w.message) for w in told)


def test_a_step_of_the_world_counts_as_ground(robot):
    q = robot.standing()
    q[2] += 0.1
    step = eq.Box((2.0, 2.0, 0.2), (0.0, 0.0, 0.0))
    run = eq.simulate(robot, controller(robot, (0, 0, 0)), duration=0.002, q0=q, obstacles=[step])
    assert not [text for _, text in run.events if "in force" in text] and np.isfinite(run.torque).all()
