"""Controllers that go on from a snapshot: as if nothing had happened since, and only where their items are the same."""

from __future__ import annotations

import numpy as np
import pytest
from bodies import FEET, standing, tripod
from numpy.testing import assert_allclose, assert_array_equal

import equipoise as eq
from equipoise.control.events import ControlEventKind
from equipoise.control.item import TaskError

ROBOT = tripod()
HERE = standing(ROBOT)
SPEED = np.linspace(-0.1, 0.1, ROBOT.nv)
SPOILT = np.full(ROBOT.nq, np.nan)


def on_feet(names=FEET, tasks=None):
    tasks = tasks or [eq.CoMTask(), eq.PostureTask(weight=0.1)]
    constraints = [eq.TorqueLimits(limits=25.0)]
    return eq.WholeBodyController(ROBOT, tasks, [eq.PointContact(foot) for foot in names], constraints)


def elsewhere(by=0.02):
    q = HERE.copy()
    q[0] += by
    return q


@pytest.fixture
def under_way():
    """A controller after some calls, on two feet, with a weight of its own and a foot that is still to be anchored."""
    controller = on_feet()
    controller(0.0, HERE, SPEED)
    controller.set_weight("centre of mass", 3.0)
    controller.set_contacts(FEET[:1])
    controller(0.1, HERE, SPEED)
    controller.set_contacts(FEET[:2])
    return controller


def go_elsewhere(controller):
    """Everything that a controller keeps becomes something else."""
    controller.reset()
    controller.set_weight("centre of mass", 0.2)
    controller.set_contacts(FEET[1:])
    controller(5.0, elsewhere(), 2 * SPEED)
    controller(5.1, elsewhere(0.03), -SPEED)


def seen(controller):
    """What tells the parts of a state from each other: answers at the last place, at another and at none."""
    controller.set_target("posture", None)  # where the robot was in its last call
    spoilt = controller(0.2, SPOILT, np.zeros(ROBOT.nv))  # the last good torques
    moved = controller(0.3, elsewhere(), SPEED)  # anchors one foot here, the other where it was
    return [spoilt.torque, moved.torque, controller(0.4, HERE, SPEED).torque], moved


@pytest.mark.parametrize("again", [False, True], ids=["the same one", "one of the same items"])
def test_a_controller_goes_on_from_its_snapshot(under_way, again):
    """The same torques as without the way in between: contacts, anchors, weights, place and last torques."""
    taken = under_way.snapshot()
    wanted, step = seen(under_way)
    assert set(step.forces) == set(FEET[:2])
    go_elsewhere(under_way)
    other = on_feet() if again else under_way
    other.restore(taken)
    assert other.in_force == set(FEET[:2])
    got, step = seen(other)
    assert set(step.forces) == set(FEET[:2])
    assert_allclose(got, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())


def test_places_that_were_taken_are_not_taken_anew():
    """The target of None stays where the robot was in the first call."""
    controller = on_feet()
    controller(0.0, HERE, SPEED)
    taken, target = controller.snapshot(), controller.settings.numbers("posture")
    place = {name: number.copy() for name, number in target.items()}
    go_elsewhere(controller)
    controller.restore(taken)
    q = HERE.copy()
    q[-1] += 0.1
    controller(0.1, q, SPEED)
    for name, number in controller.settings.numbers("posture").items():
        assert_array_equal(number, place[name])


def test_a_snapshot_does_not_change_with_what_comes(under_way):
    """Nor with what is done to the controller that it was restored to."""
    taken = under_way.snapshot()
    kept = taken.q.copy(), taken.last_torque.copy(), taken.settings[1].copy()
    for _ in range(2):
        under_way.restore(taken)
        go_elsewhere(under_way)
        assert taken.contacts == FEET[:2] and taken.anchor_next == {FEET[1]} and taken.started
        for now, before in zip((taken.q, taken.last_torque, taken.settings[1]), kept, strict=True):
            assert_array_equal(now, before)


def test_a_controller_that_was_not_called_yet_starts_anew():
    controller = on_feet()
    taken = controller.snapshot()
    first = controller(0.0, HERE, SPEED)
    go_elsewhere(controller)
    controller.restore(taken)
    place = elsewhere()
    again = controller(0.0, place, SPEED)  # anchored here, so that all is as it was there
    assert_allclose(again.torque, first.torque, rtol=0, atol=1e-9 * np.abs(first.torque).max())


OTHERS = {
    "a foot less": lambda: on_feet(FEET[:2]),
    "another order": lambda: on_feet(FEET[::-1]),
    "a task more": lambda: on_feet(tasks=[eq.CoMTask(), eq.PostureTask(weight=0.1), eq.MomentumTask()]),
    "another name": lambda: on_feet(tasks=[eq.CoMTask(name="mass"), eq.PostureTask(weight=0.1)]),
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_snapshot_of_other_items_is_refused(under_way, other):
    """In words, before anything is changed."""
    made = OTHERS[other]()
    made(0.0, HERE, SPEED)
    for controller, taken in ((under_way, made.snapshot()), (made, under_way.snapshot())):
        before, (values, p) = controller.in_force, controller.settings.state
        with pytest.raises(TaskError, match="the same items"):
            controller.restore(taken)
        assert controller.in_force == before and controller.settings.state[0] == values
        assert_array_equal(controller.settings.p, p)


def test_a_snapshot_of_another_robot_is_refused():
    """The same items and motors, on a base that is fixed."""
    tasks = [eq.PostureTask()]
    free, fixed = (eq.WholeBodyController(eq.load("arm7", floating=floating), tasks) for floating in (True, False))
    p = fixed.settings.p.copy()
    with pytest.raises(ValueError, match=r"wanted numbers of shape \(7,\), got shape \(14,\)"):
        fixed.restore(free.snapshot())
    assert_array_equal(fixed.settings.p, p)


def test_what_was_seen_later_is_forgotten():
    """Back at an earlier time it tells again which task others outweigh, and its last step is none."""
    robot, q, v = eq.load("arm7"), np.linspace(0.1, 0.7, 7), np.zeros(7)
    light = eq.CoMTask(robot.com(q) + np.array([0.0, 0.05, -0.05]), weight=1e-3, name="light")
    controller = eq.WholeBodyController(robot, [light, eq.PostureTask(q)])
    taken = controller.snapshot()

    def told():
        events = [event for k in range(12) for event in controller(0.1 * k, q, v).events]
        return [event.item for event in events if event.kind is ControlEventKind.OUTWEIGHED]

    first = told()
    assert first == ["light"] and controller.step is not None
    controller.restore(taken)
    assert controller.step is None and told() == first
