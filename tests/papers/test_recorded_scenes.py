"""Recorded scenes of the rows that take minutes: postures, controllers, and the verdicts on runs that are made up."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import records
import shown

from equipoise.papers import bk12_crawl, bk12_hands, bk12_motions, qo21_contacts
from equipoise.simulate.scenarios import prepare


@pytest.mark.paper("B6")
def test_recorded_postures_of_a_motion_on_hands():
    records.check("paper_postures_hands", shown.planned(bk12_hands.acrobat()), rtol=2e-3, atol=2e-3)


@pytest.mark.paper("B6")
@pytest.mark.parametrize("name", bk12_motions.MOTIONS)
def test_recorded_postures_of_scenarios(name):
    records.check(f"paper_postures_{name}", shown.planned(prepare(name).controller), rtol=2e-3, atol=2e-3)


@pytest.mark.paper("Q8")
@pytest.mark.parametrize("name", ["table", "wall"])
def test_recorded_strategy_of_a_reach(name):
    place = qo21_contacts.PLACES[name]
    made = qo21_contacts.strategy(qo21_contacts.human(), place)
    records.check(f"paper_reach_{name}", {"place": place, "items": made.controller.items}, rtol=1e-5, atol=1e-8)


def attempts(*rows: tuple[float, float]) -> SimpleNamespace:
    """A made-up reach whose attempts ended at these distances from the ball (m) with these supports (m²)."""
    made = [SimpleNamespace(error=error, area=area) for error, area in rows]
    step = next((k for k, (error, _) in enumerate(rows, 1) if error < 0.01), 0)
    t = np.linspace(0, 1, 7)
    return SimpleNamespace(
        report=SimpleNamespace(step=step, attempts=made),
        margin=0.03 - 0.011 * t,
        feet=0.003 * t,
        off=np.where(t > 0.5, 0.012 * t, np.nan),
    )


@pytest.mark.paper("Q8")
@pytest.mark.parametrize("well", [False, True])
def test_recorded_verdicts_on_a_reach(well, monkeypatch):
    if well:
        ends = {"table": ((0.05, 0.1), (0.06, 0.12), (0.005, 0.2), (0.004, 0.21)),
                "table, farther ball": ((0.15, 0.1), (0.16, 0.12), (0.08, 0.2), (0.006, 0.21)),
                "wall": ((0.06, 0.1), (0.007, 0.12), (0.02, 0.2), (0.006, 0.16))}  # fmt: skip
    else:
        ends = dict.fromkeys(qo21_contacts.PLACES, ((0.04, 0.1), (0.042, 0.12), (0.011, 0.15)))
    monkeypatch.setattr(qo21_contacts, "touched", lambda name, thoroughly=False: attempts(*ends[name]))
    found = shown.recorded(qo21_contacts.multi_contact_figures, monkeypatch)
    records.check(f"paper_reaches_{'well' if well else 'badly'}", found)


def crawled(way: float, forearm: float, foot: float, torque: float) -> SimpleNamespace:
    """A made-up crawl over `way` m in which forearms and feet bear for parts of the time, with a part of the torque."""
    t = np.linspace(0.0, 10.0, 101)
    robot = bk12_crawl.load("human")
    q = np.zeros((len(t), robot.nq))
    q[:, 0], q[:, 1], q[:, 2] = 0.4 + way * t / 10, 0.2, 0.9 + 0.001 * t
    prone = (t > 2) & (t < 8)
    bears = dict.fromkeys((*bk12_crawl.KNEES, *bk12_crawl.ELBOWS), prone & (t < 2 + 6 * forearm))
    bears["left elbow"] = prone
    bears |= dict.fromkeys((*bk12_crawl.FEET, *bk12_crawl.HANDS), prone & (t < 2 + 6 * foot))
    weight = 9.81 * robot.mass
    return SimpleNamespace(
        t=t, q=q, robot=robot,
        measured={name: np.outer(on, [0, 0, weight / 4, 0, 0, 0]) for name, on in bears.items()},
        torque=np.full((len(t), robot.nv), torque * np.asarray(robot.limits.effort)[6:].min()),
        cycle_time=np.linspace(1e-3, 9e-3, len(t)),
    )  # fmt: skip


@pytest.mark.paper("B6")
@pytest.mark.parametrize(
    ("outcome", "run"),
    [("COMPLETED", (1.01, 0.9, 0.2, 0.9)), ("FELL", (0.9, 0.5, 0.6, 1.2))],
)
def test_recorded_verdicts_on_a_crawl(outcome, run, monkeypatch):
    made = SimpleNamespace(outcome=SimpleNamespace(name=outcome))

    def figures():
        told = crawled(*run)
        yield from bk12_crawl.figures_of(made, told)
        yield bk12_motions.balance("ground", told)
        yield bk12_motions.step_time("ground", told)

    records.check(f"paper_crawl_{outcome.lower()}", shown.recorded(figures, monkeypatch))


@pytest.mark.paper("B6")
@pytest.mark.parametrize("part", [bk12_crawl, bk12_hands])
def test_recorded_settings_of_a_simulated_motion(part, monkeypatch):
    """How long, with which noise and friction, and what counts as a fall."""
    made = SimpleNamespace(robot=bk12_crawl.load("human"), seconds=20.0, q0=bk12_crawl.load("human").standing())
    told: dict[str, object] = {}
    monkeypatch.setattr("equipoise.simulate.loop.simulate", lambda *given, **options: told.update(options))
    if part is bk12_crawl:
        monkeypatch.setattr(part, "crawling", lambda: made)
        part.crawled.__wrapped__()
    else:
        monkeypatch.setattr(part, "acrobat", lambda: made)
        part.on_hands.__wrapped__()
    records.check(f"paper_settings_{part.__name__.split('_')[-1]}", told)


@pytest.mark.paper("Q8")
def test_recorded_pictures_of_a_reach(monkeypatch):
    pytest.importorskip("matplotlib")
    who, t = qo21_contacts.human(), np.linspace(0.0, 4.0, 9)
    path = np.tile(who.start, (9, 1))
    path[:, 0] += 0.01 * t
    kinds = list(qo21_contacts.Kind)
    made = [SimpleNamespace(name=kind, error=0.01 * k, area=0.1 + 0.01 * k) for k, kind in enumerate(kinds)]
    run = qo21_contacts.Touching(
        who.robot, SimpleNamespace(t=t, path=path, attempts=made), t, np.arange(1.0, 5.0),  # type: ignore[arg-type]
        0.3 - 0.05 * t, 0.1 + 0.01 * t, 0.05 - 0.002 * t, 1e-4 * t, 1e-3 * t,
    )  # fmt: skip
    monkeypatch.setattr(qo21_contacts, "touched", lambda name, thoroughly=False: run)
    records.check(
        "paper_pictures_reach", {name: shown.drawing(one) for name, one in qo21_contacts.pictures()}, rtol=1e-5
    )
