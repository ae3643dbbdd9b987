"""Scenarios: how files are read, what is told of mistakes, verdicts and trials."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import records
from scenes import run_data
from things import FEET, hold, quadruped

import equipoise as eq
from equipoise.simulate import goals, trials, walk_trials
from equipoise.simulate.conditions import Push
from equipoise.simulate.scenario import parse_scenario
from equipoise.simulate.scenario_build import build
from equipoise.simulate.scenario_motion import Legs, numbers_path, pose_path, posture_path
from equipoise.simulate.scenarios import _random_pushes, load_scenario, shipped
from equipoise.simulate.toml_source import TomlSource

QUADRUPED = """\
robot = "quadruped"
title = "all keys"
about = "of a scenario"
duration = 0.5
settle = 0.25

[start]
posture = { front_left_knee = -1.2 }
position = [0.1, 0.2, 0.45]
rpy = [0.0, 0.1, 0.2]

[plant]
kind = "hard"
dt = 2e-3
friction = 0.7
delay = 2
substeps = 2
ground = false
fall = { height = 0.3 }

[control]
level = "torque"
priorities = "strict"
dt = 4e-3
force_weight = 2e-5

[disturbance]
noise = { position = 1e-4 }
push = { frame = "trunk", force = 20.0, count = 3, duration = 0.2 }

[safety]
penetration = 0.005

[[frame]]
name = "tray"
on = "trunk"
position = [0.1, 0.0, 0.2]
rpy = [0.1, 0.2, 0.3]

[[frame]]
name = "level tray"
on = "trunk"
world = true

[[contact]]
kind = "point"
frame = "front_left_foot"
friction = 0.5

[[contact]]
kind = "point"
frame = "hind_right_foot"

[[obstacle]]
kind = "sphere"
centre = [1.0, 0.0, 0.2]
radius = 0.1

[[obstacle]]
kind = "box"
size = [0.1, 0.2, 0.3]
position = [2.0, 0.0, 0.15]

[[task]]
kind = "com"
weight = 10.0
path = [{ t = 0.2, by = [0, 0, -0.03] }, { t = 0.4, at = [nan, 0.1, 0.4] }]

[[task]]
kind = "frame"
frame = "tray"
path = [{ t = 0.3, by = [0.1, 0, 0], turn = [0.1, 0, 0] }, { t = 0.4, at = [nan, 0.1, 0.4], rpy = [0, 0, 0.1] }]

[[task]]
kind = "posture"
weight = 0.01
path = [{ t = 0.3, joints = { front_left_knee = -1.0 } }]

[[constraint]]
kind = "joint limits"
margin = 0.02

[[constraint]]
kind = "keep out"
a = { kind = "sphere", centre = [0, 0, 0], radius = 0.1, frame = "tray" }
b = { kind = "plane", normal = [0, 0, 1], offset = 0.0 }
safe = 0.05
rates = [5.0, 20.0]

[[push]]
frame = "trunk"
force = [10.0, 0.0, 0.0]
start = 0.1
duration = 0.05

[[goal]]
kind = "com"
by = [0, 0, -0.03]
"""
CHANGES = {
    'robot = "quadruped"': ['robot = ""', "robot = 3", "", 'robot = "quadruped"\nrobt = 1'],
    "duration = 0.5": ["duration = 0.0", "duration = true", "duration = 1e13", "", "duration = 1e5", 'duration = "1"'],
    "settle = 0.25": ["settle = -0.1", "settle = 0"],
    'kind = "hard"': ['kind = "harder"', "kind = 3"],
    "delay = 2": ["delay = -1", "delay = 1.5", "delay = true", "delay = 1000001"],
    "ground = false": ["ground = 0"],
    "fall = { height = 0.3 }": ["fall = { heigth = 0.3 }", "fall = 3", 'fall = { height = "x" }'],
    'level = "torque"': ['level = "force"', 'kind = "dance"'],
    "rpy = [0.0, 0.1, 0.2]": ["rpy = [0.0, 0.1]", "rpy = 3", "rpy = [0, 0, nan]", "settle = true"],
    "front_left_knee = -1.2": ["front_left_nee = -1.2"],
    "noise = { position = 1e-4 }": ["noise = { positions = 1e-4 }", "noise = { position = -1 }"],
    'frame = "trunk", force = 20.0': ['frame = "trunk"', "force = 20.0"],
    "penetration = 0.005": ["penetration = 0.0"],
    'on = "trunk"\nposition': ['on = "trunks"\nposition', "position"],
    'kind = "point"\nframe = "front_left_foot"': [
        'frame = "front_left_foot"',
        'kind = "point"',
        'kind = "flut"',
        'kind = "point"\nframe = "front_left_fot"',
    ],
    "friction = 0.5": ["friction = [0.5, 0.5]", "friction = -1", "frickion = 1"],
    "radius = 0.1\n": ["radius = -0.1\n", 'radius = "x"\n', ""],
    "size = [0.1, 0.2, 0.3]": ["size = [0.1, 0.2]"],
    "weight = 10.0": ["wait = 1", "weight = -1"],
    "{ t = 0.2, by": ["{ by", "{ t = 0.5, by", "{ t = 0.0, by", "{ t = -1, by"],
    'kind = "frame"\nframe = "tray"': ['kind = "frame"\nframe = "tay"', 'frame = "tray"'],
    "{ front_left_knee = -1.0 }": ["{ front_left_kne = -1.0 }"],
    'kind = "joint limits"': ['kind = "joint limit"', "kind = [1]"],
    "rates = [5.0, 20.0]": ["rates = [5.0]", "rates = [-5.0, 20.0]"],
    'a = { kind = "sphere", ': ["a = { ", "a = 3 #"],
    'frame = "trunk"\nforce': ["force", 'frame = "trunks"\nforce'],
    "start = 0.1\n": [""],
    "by = [0, 0, -0.03]\n": ['when = "never"\n', "within = 0\n", "nam = 1\n", "hold = -1\n"],
    '[[goal]]\nkind = "com"': ['[goal]\nkind = "com"', "[[goal]]", '[[gaol]]\nkind = "com"'],
}


def test_recorded_reading_of_all_keys():
    """The parsed file, and what is built of it."""
    scenario = parse_scenario(TomlSource("all.toml", QUADRUPED))
    built = build(scenario)
    parts = {name: getattr(scenario, name) for name in vars(scenario) if name != "place"}
    made = {
        "options": built.options,
        "start": built.start,
        "duration": built.duration,
        "scale": [built.scale, built.force_scale],
    }
    made["constraints"] = [repr(c)[:200] if not hasattr(c, "label") else c.label for c in built.constraints]
    made["frames"] = {name: built.robot.frames[name].X for name in ("tray", "level tray")}
    made["answers"] = [
        built.controller(t, built.start, np.zeros(built.robot.nv)).torque for t in (0.0, 0.004, 0.25, 0.35, 0.5)
    ]
    made["pushes"] = [_random_pushes(built, seed) for seed in (0, 1)]
    records.check("simulate_scenario_of_all_keys", {"read": _plain(parts), "built": made}, rtol=1e-6, atol=1e-7)


def test_recorded_shipped_scenarios():
    """Every value of every file, and what the list of them says."""
    found = {s.name: [s.title, s.robot, s.plant] for s in shipped()}
    read = {name: _plain({k: v for k, v in vars(load_scenario(name)).items() if k != "place"}) for name in found}
    records.check("simulate_shipped", {"list": found, "read": read})


def test_recorded_mistakes_of_scenarios():
    """Each wrong line by itself: file, line, what was wanted, what came."""
    told = {}
    for old, others in CHANGES.items():
        assert old in QUADRUPED, old
        for new in others:
            text = QUADRUPED.replace(old, new, 1)
            told[f"{old} -> {new}"] = records.answer(
                lambda text=text: type(build(parse_scenario(TomlSource("f.toml", text))))
            )
    records.check("simulate_mistakes", told)


def _plain(value):
    """Frozen tables without their places in the file, but with the lines of those."""
    if hasattr(value, "__dataclass_fields__"):
        fields = {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__ if name != "place"}
        place = getattr(value, "place", None)
        return fields | ({} if place is None else {"line": place.line, "what": place.what})
    if isinstance(value, dict):
        return {key: _plain(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    return value


# --- verdicts ---------------------------------------------------------------------------------------------------------

GOALS = [
    dict(kind="frame", frame="trunk", by=(0, 0, -0.02)),
    dict(kind="frame", frame="trunk", at=(np.nan, 0.0, 0.4), within=0.5),
    dict(kind="frame", frame="front_left_foot", within=0.002, when="always", name="foot rests"),
    dict(kind="frame", frame="trunk", when="once", hold=0.01),
    dict(kind="com", when=0.02, hold=0.01, within=0.001),
    dict(kind="com", by=(0, 0, 0.0), when="once"),
    dict(kind="com"),
    dict(kind="com", when=9.0),
    dict(kind="beyond", frame="com", contacts=("a", "b", "c")),
    dict(kind="beyond", frame="trunk", contacts=("a", "b", "d"), least=-0.5, when="once"),
    dict(kind="load", contact="a"),
    dict(kind="load", contact="none"),
    dict(kind="load", contact="b", least=0.2, when="always"),
    dict(kind="upright", frame="trunk"),
    dict(kind="upright", frame="trunk", within=1e-4, when="end"),
    dict(kind="held", frame="front_left_foot", seen_from="trunk"),
    dict(kind="held", frame="trunk", seen_from="trunk", within=1e-9, when="end"),
]


def test_recorded_verdicts():
    """Every kind of check on a run that sinks a little, is pushed and is cut at its limits."""
    robot = quadruped()
    q0 = robot.standing()
    contacts = dict(zip("abcd", [(foot, np.zeros((1, 3))) for foot in FEET], strict=True))
    push = Push("trunk", (30.0, 12.0, -6.0), 0.01, 0.02)
    run = eq.simulate(
        robot,
        hold(robot, q0, 150.0),
        "soft",
        0.06,
        q0=q0,
        v0=0.05 * np.cos(np.arange(robot.nv)),
        contacts=contacts,
        pushes=[push],
    )
    items = [SimpleNamespace(kind=g["kind"], options={k: v for k, v in g.items() if k != "kind"}) for g in GOALS]
    pushes = [push, Push("trunk", (0, 0, 0.0), 0, 0.01), Push("trunk", (1.0, 0, 0), 0.05, 1.0)]
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * 0.2
    cases = {
        "as it is": {},
        "tight": dict(penetration=1e-12),
        "fell": dict(spoil=dict(outcome="fell", events=((0.0, "fell: so"),))),
        "kinematic": dict(options=dict(plant="kinematic")),
        "stances": dict(stance=(1,)),
        "statuses": dict(spoil=dict(status_names=("infeasible",)), options=dict(ground=None)),
        "cut": dict(spoil=dict(events=((0, "torque cut at its limit"),))),
    }
    found = {}
    for name, case in cases.items():
        safety = SimpleNamespace(penetration=case.get("penetration", 0.002))
        scenario = SimpleNamespace(goal=[] if case else items, stance=case.get("stance", ()), safety=safety)
        built = SimpleNamespace(
            scenario=scenario,
            options={"plant": "hard", "obstacles": [], "pushes": pushes} | case.get("options", {}),
            constraints=[eq.CoMInSupport(square)],
            scale=0.9,
            controller=SimpleNamespace(outcome="stopped", progress=0.4),
        )
        spoil = case.get("spoil", {})
        verdict = goals.judged(replace(run, **spoil), built, None if case else eq.Actuators(coulomb=1.0))
        found[name] = verdict.as_plain() | {"reasons": verdict.reasons}
        assert goals.Verdict.of_plain(verdict.as_plain()) == verdict
    records.check("simulate_verdicts", found | {"run": run_data(run)}, rtol=1e-6, atol=1e-7)


# --- motions of targets -----------------------------------------------------------------------------------------------


def test_recorded_targets():
    robot, times = quadruped(), (0.0, 0.1, 0.2, 0.35, 0.5, 0.9)
    point = lambda t, **more: SimpleNamespace(t=t, at=None, by=None, rpy=None, turn=None, **more)  # noqa: E731
    path = [point(0.2, value=2.0), point(0.5, value=-1.0)]
    poses = [SimpleNamespace(t=0.2, at=(np.nan, 1.0, 2.0), by=None, rpy=(0.1, 0.2, 0.3), turn=None),
             SimpleNamespace(t=0.5, at=None, by=(0.1, 0.2, 0.3), rpy=None, turn=(0.3, 0, 0))]  # fmt: skip
    X = robot.pose(robot.standing(), "front_left_foot")
    known = lambda p: {"front_left_knee": -0.5 * p.t}  # noqa: E731
    found = {
        "numbers": [numbers_path(path, 0.5, lambda p: p.value)(t) for t in times],
        "at the start": [numbers_path([point(0.0, value=3.0), *path], 0.5, lambda p: p.value)(t) for t in times],
        "poses": [pose_path(poses, X, 0.5)(t) for t in times], "no pose": [pose_path([], X, 1.0)(t) for t in times],
        "postures": [posture_path(robot, path, robot.standing(), known)(t) for t in times],
        "legs": [Legs.of(path, 0.5, lambda p: p.value).at(t) for t in times],
    }  # fmt: skip
    records.check("simulate_targets", found)


# --- trials -----------------------------------------------------------------------------------------------------------


class Standing:
    """What `trials` needs of a controller that stands; it keeps what it was asked."""

    def __init__(self) -> None:
        self.body = eq.Body.of(eq.load("human"))
        self.robot = self.body.robot
        self.q0, self.dt, self.waiting, self.asked = self.robot.standing(), 1e-3, False, []

    def reset(self):
        self.asked.append("reset")
        self.waiting = False

    def squat(self, depth, at, seconds):
        self.asked.append(["squat", depth, at, seconds])
        self.waiting = True

    def reach(self, hand, by, at, seconds):
        self.asked.append(["reach", hand, *by, at, seconds])
        self.waiting = True

    def reference(self, name, t):
        return self.robot.com(self.q0) + np.array([0.0, 0.0, 0.001 * t])


def test_recorded_trials(monkeypatch):
    """What each trial asks for, how long, with which push, and what it makes of the end."""
    for sunk, outcome in ((0.0, "completed"), (0.07, "completed"), (0.015, "fell")):
        asked = []

        def run(robot, controller, sunk=sunk, outcome=outcome, asked=asked, **options):
            asked.append({k: v for k, v in options.items() if k != "q0"})
            q = np.array([options["q0"]] * 3)
            q[-1, 2] -= sunk
            return SimpleNamespace(
                q=q, t=np.array([0.0, 1.0, options["duration"]]), outcome=outcome, duration=options["duration"]
            )

        monkeypatch.setattr(trials, "simulate", run)
        standing = Standing()
        tried = [[t.name, t.wanted, t.came, t.good] for t in trials.trials(standing)]
        records.check(f"simulate_trials_{outcome}_{sunk}", {"tried": tried, "asked": standing.asked, "runs": asked})


def walked(speed: float, sideways: float, turn: float, phases=()):
    t = np.arange(0.0, 4.0, 1e-2)
    q, v = np.zeros((len(t), 7)), np.zeros((len(t), 6))
    yaw = turn * t
    q[:, 3], q[:, 6] = np.cos(yaw / 2), np.sin(yaw / 2)
    v[:, 0], v[:, 1], v[:, 5] = (
        speed * np.cos(yaw) - sideways * np.sin(yaw),
        speed * np.sin(yaw) + sideways * np.cos(yaw),
        turn,
    )
    q[:, :2] = np.cumsum(v[:, :2], axis=0) * 1e-2
    return SimpleNamespace(t=t, q=q, v=v, phases=phases)


def test_recorded_verdicts_on_walks():
    """Commands and what came, near the limits of what is allowed."""
    walker = SimpleNamespace(body=SimpleNamespace(gains=SimpleNamespace(speed=2.0), front=np.array([0.6, 0.8, 0.0])))
    strides = (
        (0.0, "stand"),
        (0.5, "left swings"),
        (1.7, "right swings"),
        (2.1, "left swings"),
        (2.5, "right swings"),
        (3.3, "left swings"),
    )
    found = {}
    for asked in ((0.3, 0.0, 0.0), (0.0, 0.2, 0.0), (0.2, 0.0, 0.3), (0.0, 0.0, 0.0)):
        for came in ((0.3, 0.0, 0.0), (0.26, 0.01, 0.0), (0.25, 0.02, 0.05), (0.0, 0.2, 0.08), (0.0, 0.0, 0.0)):
            for phases in ((), strides):
                run = walked(came[0], came[1], came[2], phases)
                for pushed in (False, True):
                    leg = walk_trials.commanded_walk(walker, run, 0.3, asked, pushed=pushed)
                    found[f"{asked} {came} {len(phases)} {pushed}"] = [
                        leg.good,
                        leg.complaints,
                        leg.stood,
                        leg.drift,
                        leg.came,
                        leg.line,
                    ]
    records.check("simulate_walk_verdicts", found)


def test_recorded_plants_that_differ():
    pytest.importorskip("mujoco")
    robot = quadruped()
    walker = SimpleNamespace(robot=robot, contacts=[eq.PointContact(foot) for foot in FEET])
    found = {}
    for seed in (0, 3):
        plant = walk_trials.varied_plant(walker, seed)
        found[str(seed)] = [
            plant.model.body_mass,
            plant.model.body_inertia,
            plant.model.geom_friction[:, 0],
            plant.model.opt.timestep,
        ]
    records.check("simulate_varied_plants", found)
