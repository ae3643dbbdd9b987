"""Settings that are functions of time: all of a group are asked, and what cannot be used is refused."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from support import load

import equipoise as eq
from equipoise.control.events import ControlEventKind
from equipoise.control.item import Numbers, TaskError

HOME = np.array([0.2, 0.6, -0.3, -1.2, 0.4, 0.8, 0.1])
RATES = np.linspace(-0.2, 0.2, 7)


def touching(**law):
    """An arm whose tool touches, with a law of contact."""
    contact = eq.PointContact("tool", name="tip", **law)
    return eq.WholeBodyController(load("arm7"), [eq.PostureTask(HOME)], [contact])


def test_every_setting_of_a_group_follows_its_own_function():
    """Two functions among five settings, and constants between and behind them."""
    controller = touching(friction=lambda t: 0.5 + t, max_force=lambda t: 100.0 + t, stiffness=30.0, damping=7.0)
    for t in (0.25, 1.5):
        assert not controller(t, HOME, RATES).events
        law = {name: float(number) for name, number in controller.settings.numbers("tip").items() if number.size == 1}
        assert law == {"friction": 0.5 + t, "min_force": 0.0, "max_force": 100.0 + t, "stiffness": 30.0, "damping": 7.0}


@pytest.mark.parametrize("wrong", [np.zeros(1), np.zeros(4), np.array(1.0), "inf", "nan"], ids=str)
def test_ready_numbers_of_another_size_or_that_are_none_are_refused(wrong):
    """One number is not spread over all of them, and infinity is no place; the last good ones stay."""
    controller = eq.WholeBodyController(load("arm7"), [eq.PostureTask(HOME)])
    controller(0.0, HOME, RATES)
    good = controller.settings.p.copy()
    groups = [group for (label, _), (group, _) in controller.layout.groups.items() if label == "posture"]
    size = next(group.size for group in groups if "target" in group.settings)
    given = np.full(size, float(wrong)) if isinstance(wrong, str) else wrong
    controller.set_target("posture", lambda t: Numbers(given))
    events = controller(0.1, HOME, RATES).events
    assert [(event.kind, event.item) for event in events] == [(ControlEventKind.SETTING_REFUSED, "posture")]
    assert_array_equal(controller.settings.p, good)


@pytest.mark.parametrize(
    "law, why",
    [
        ({"damping": np.inf}, "stiffness and damping must be finite"),
        ({"stiffness": np.inf}, "stiffness and damping must be finite"),
        ({"stiffness": -1.0}, "not negative"),
        ({"damping": -1.0}, "not negative"),
        ({"min_force": np.inf, "max_force": np.inf}, "0 ≤ min_force ≤ max_force"),
        ({"min_force": 2.0, "max_force": 1.0}, "0 ≤ min_force ≤ max_force"),
        ({"min_force": -1.0}, "0 ≤ min_force ≤ max_force"),
        ({"friction": np.inf}, "friction must be finite"),
        ({"friction": -0.1}, "friction must be finite and not negative"),
    ],
)
def test_a_law_of_contact_that_none_has_is_refused(law, why):
    """Set outside, it raises and nothing is changed; by a function, it is an event. The largest force may be
    infinite."""
    controller = touching()
    controller(0.0, HOME, RATES)
    controller.set("tip", max_force=np.inf)
    good = controller.settings.p.copy()
    with pytest.raises(TaskError, match=why):
        controller.set("tip", **law)
    assert_array_equal(controller.settings.p, good)
    controller.set("tip", **{name: (lambda t, value=value: value) for name, value in law.items()})
    assert [event.kind for event in controller(0.1, HOME, RATES).events] == [ControlEventKind.SETTING_REFUSED]
    assert_array_equal(controller.settings.p, good)
