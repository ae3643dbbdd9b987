"""Recorded decisions of the walking machine: a pendulum on two feet that follows what the machine commands.

There is no robot: the centre of mass obeys ẍ = ω² (x − p), feet are where their swing says, and rounding is not
amplified by contacts. What a bound or a gain of the machine decides shows in the steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import records

from equipoise.walking.gait import Command, Gait
from equipoise.walking.machine import Machine
from equipoise.walking.reach import Reach
from equipoise.walking.state import STAND, Seen
from equipoise.walking.trot import TrotMachine

DT, HEIGHT, RATE = 5e-3, 0.8, 3.5
WEIGHT = 300.0
NAMES = ("left foot", "right foot")
SOLE = np.array([[0.08, 0.03], [-0.08, 0.03], [-0.08, -0.03], [0.08, -0.03]])
OCTAGON = np.array([[np.cos(a), np.sin(a)] for a in np.arange(8) * np.pi / 4])


class Body:
    """Keeps the last command of each kind."""

    steppers = feet = NAMES
    weight = WEIGHT
    rolls = 0.3, 0.3

    def __init__(self) -> None:
        self.told: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *given, **named: self.told.__setitem__(name, (*given, *named.values()))


def gait() -> Gait:
    reach = Reach(OCTAGON, np.array([0.4, 0.45, 0.5, 0.45, 0.4, 0.3, -0.1, 0.3]), 0.4, 0.4, 0.1, 0.5)
    return Gait(RATE, HEIGHT, 0.2, 0.5, 0.25, 0.9, 0.06, 0.02, 0.05, 0.1, np.full(2, 40.0), reach)


def walked(
    machine: Machine,
    commands: dict[float, Command],
    seconds: float,
    *,
    push: tuple[float, float, float] | None = None,
    ground: Callable[[float], float] = lambda x: 0.0,
    scrape: bool = False,
) -> dict[str, Any]:
    """Steps, and the state of the walk at regular times.

    Args:
        machine: decides.
        commands: by the time from which they hold.
        seconds: of the walk.
        push: time, and change of velocity, m/s.
        ground: height at x.
        scrape: whether a foot in the air feels a wall for a moment.
    """
    body, x, v = machine.whole_body, np.zeros(2), np.zeros(2)
    poses = [np.eye(4), np.eye(4)]
    poses[0][1, 3], poses[1][1, 3] = 0.1, -0.1
    steps, samples, events, shares = [], [], [], set()
    for k in range(round(seconds / DT)):
        t, s = k * DT, machine.state
        if push is not None and k == round(push[0] / DT):
            v = v + push[1:]
        command = [c for begin, c in commands.items() if begin <= t][-1]
        forces = {name: np.array([0.0, 0.0, WEIGHT / 2, 0.0, 0.0, 0.0]) for name in NAMES}
        if s.swing is not None and "set_swing" in body.told:
            foot, state = body.told["set_swing"][:2]
            X = np.eye(4)
            c, n = np.cos(state[0, 3]), np.sin(state[0, 3])
            X[:2, :2], X[:3, 3] = [[c, -n], [n, c]], state[0, :3]
            low = ground(float(X[0, 3]))
            lands = X[2, 3] <= low + 1e-4 and t > s.swing.begin + 0.1
            X[2, 3] = max(X[2, 3], low)
            poses[foot] = X
            hits = scrape and 0.1 < t - s.swing.begin < 0.12
            forces[NAMES[foot]] = np.array([-60.0 * hits, 0.0, 0.3 * WEIGHT * lands, 0.0, 0.0, 0.0])
            forces[NAMES[1 - foot]] = np.array([0.0, 0.0, WEIGHT, 0.0, 0.0, 0.0])
        xi = x + v / RATE
        seen = Seen(t, np.array([*x, HEIGHT]), np.array([*v, 0.0]), xi, (poses[0].copy(), poses[1].copy()), forces)
        before = s.stance, s.mode
        events += [f"{t:.3f} {text}" for text in machine.decide(seen, command, DT)]
        if (s.stance, s.mode) != before:
            at = [round(float(one), 5) for X in poses for one in X[:2, 3]]
            steps.append([round(t, 3), s.mode, s.stance, *at])
        shares |= {(k, *body.told["share"][:1], *body.told["share"][2:]) for k in [s.steps] if "share" in body.told}
        if k % 20 == 0:
            plan = [] if s.plan is None else [*s.plan.place, s.plan.seconds, *s.plan.pressure, s.plan.excess]
            samples.append([*x, *v, *np.asarray(s.pressure, dtype=float), s.end, s.heading, s.period, *plan])
        pressure = np.asarray(s.pressure, dtype=float) if s.mode != STAND else x + v / RATE / 2
        v, x = v + DT * RATE**2 * (x - pressure), x + DT * v
    told = {name: [np.asarray(one, dtype=float) for one in given if not isinstance(one, str | dict | type(None))]
            for name, given in sorted(body.told.items()) if name not in ("doubt", "trust", "lift", "land")}  # fmt: skip
    return {"steps": steps, "events": events, "samples": samples, "told": told, "shares": sorted(shares)}


AHEAD, STILL = Command(0.3, 0.0, 0.0), Command()
WALKS: dict[str, Callable[[Machine], dict[str, Any]]] = {
    "ahead": lambda m: walked(m, {0.0: STILL, 0.1: AHEAD}, 3.0),
    "back, aside, turning": lambda m: walked(m, {0.0: Command(-0.15, 0.08, 0.3)}, 3.0),
    "to a stop": lambda m: walked(m, {0.0: AHEAD, 1.6: STILL}, 4.0),
    "pushed while it walks": lambda m: walked(m, {0.0: AHEAD}, 3.0, push=(1.3, 0.25, 0.2)),
    "pushed hard": lambda m: walked(m, {0.0: AHEAD}, 2.0, push=(1.1, -0.5, -0.4)),
    "pushed while it stands": lambda m: walked(m, {0.0: STILL}, 0.7, push=(0.3, 0.1, 0.36)),
    "onto a step": lambda m: walked(m, {0.0: AHEAD}, 3.0, ground=lambda x: 0.03 * (x > 0.25)),
    "down a step": lambda m: walked(m, {0.0: AHEAD}, 3.0, ground=lambda x: -0.03 * (x > 0.25)),
    "into a wall": lambda m: walked(m, {0.0: AHEAD}, 2.5, scrape=True),
}


@pytest.mark.parametrize("walk", WALKS)
def test_recorded_decisions(walk):
    machine = Machine(gait(), Body(), [SOLE, SOLE])  # type: ignore[arg-type]
    records.check(f"walking_decisions_{list(WALKS).index(walk)}", WALKS[walk](machine), rtol=1e-5, atol=1e-7)


def test_recorded_settings_of_machines():
    names = ("climbs", "firm", "caught", "unhurried", "learns")
    found = {kind.__name__: {name: getattr(kind, name) for name in names} for kind in (Machine, TrotMachine)}
    records.check("walking_machines", found)


def test_recorded_speeds_of_a_gait():
    made, asked = gait(), [Command(x, y, z) for x in (-0.2, 0.1, 0.9) for y in (0.0, 0.3) for z in (0.0, -2.0)]
    records.check(
        "walking_speeds",
        {
            "largest": made.largest,
            "cut": [made.cut(command) for command in asked],
            "said": made.cuts(Command(9.0, 9.0, -9.0), "it"),
            "towards": [made.towards(Command(0.2, 0.0, 0.1), command, 0.01) for command in asked],
            "drop": [made.drop(command) for command in asked],
            "period": [made.period_of(command) for command in asked],
        },
    )
