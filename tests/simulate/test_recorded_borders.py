"""What plants, conditions and files of simulation refuse, and the values at the border that they still take."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import records
from things import SOLE, crate, nothing, quadruped

import equipoise as eq
from equipoise.simulate import estimated, mcap_log
from equipoise.simulate.archive import decoded, encoded
from equipoise.simulate.conditions import Fall, Noise, as_kind
from equipoise.simulate.contacts import ContactInfo, ContactPoints, contacts_of
from equipoise.simulate.mcap_log import _drawn
from equipoise.simulate.plant import PLANTS, PlantState, checked_state, make_plant, require_finite
from equipoise.simulate.run_reader import read_run
from equipoise.simulate.world import Box

INF, NAN = np.inf, np.nan


def push(**changes):
    return eq.Push(**({"frame": "trunk", "force": (1.0, 2.0, 3.0), "start": 0.0, "duration": 0.1} | changes))


def point(**changes):
    return ContactInfo(**({"frame": "crate", "points": SOLE} | changes))


def plant(name, **options):
    return type(make_plant(name, crate(), [("crate", SOLE)], **options)).__name__


def box(**changes):
    made = Box(**({"size": (0.1, 0.2, 0.3), "position": (0.0, 0.0, 0.0)} | changes))
    return made.velocity


def test_recorded_refusals_of_conditions_and_contacts():
    robot = quadruped()
    q0 = robot.standing()
    calls = {
        "push": lambda: push().wrench,
        "push, two numbers": lambda: push(force=(1, 2)),
        "push, NaN": lambda: push(force=(1, 2, NAN)),
        "push, torque": lambda: push(torque=3.0),
        "push, no start": lambda: push(start=NAN),
        "push, start at infinity": lambda: push(start=INF),
        "push before the start": lambda: push(start=-1.0).start,
        "push without length": lambda: push(duration=0.0).duration,
        "push, negative length": lambda: push(duration=-1e-9),
        "push without end": lambda: push(duration=INF),
        "push acts": lambda: [push(start=0.01).acts(t, 1e-3) for t in (0.0, 0.00999, 0.01, 0.1099, 0.11, 0.2)],
        "fall, frames": lambda: Fall(links=["trunk", "none"]).watcher(robot, {}, q0),
        "fall, without contacts": lambda: [
            Fall().watcher(robot, {}, q0)(q0 - np.eye(robot.nq)[2] * down) for down in (0.0, 0.2, 0.5)
        ],
        "kind": lambda: as_kind(Noise, Noise(position=1.0)).position,
        "kind, of fields": lambda: as_kind(Noise, {"position": 2.0}).position,
        "kind, of an unknown field": lambda: as_kind(Noise, {"positon": 2.0}),
        "kind, no fields": lambda: as_kind(Noise, 3.0),
        "points": lambda: point().friction,
        "points, flat": lambda: point(points=(0.1, 0.2, 0.3)).points,
        "points, two numbers": lambda: point(points=[(0.1, 0.2)]),
        "points, none": lambda: point(points=np.zeros((0, 3))),
        "points, NaN": lambda: point(points=[(0, 0, NAN)]),
        "points, deep": lambda: point(points=np.zeros((1, 1, 3))),
        "friction": lambda: [point(friction=mu).friction for mu in (0, 2)],
        "friction, negative": lambda: point(friction=-1e-9),
        "friction, infinite": lambda: point(friction=INF),
        "friction, NaN": lambda: point(friction=NAN),
        "two of a name": lambda: contacts_of(robot, ["front_left_foot", "front_left_foot"]),
        "no points": lambda: [
            part.shape for part in (*ContactPoints(robot, {}).arms(q0), ContactPoints(robot, {}).jacobian(q0, None))
        ],
        "drawn rows": lambda: [_drawn(np.array(t), 10.0) for t in ([], [0.0], [0, 0.05, 0.1, 0.15, 0.3, 0.31])],
    }
    records.check("simulate_refusals_conditions", {name: records.answer(call) for name, call in calls.items()})


def test_recorded_refusals_of_plants():
    robot = crate()
    q, v = robot.neutral(), np.zeros(6)
    made, ball = make_plant("hard", robot, [("crate", SOLE)]), eq.Sphere((9, 9, 9), 0.1)
    calls = {
        "name": lambda: plant("mujocco"),
        **{f"{name}, options": (lambda name=name: plant(name, none=1)) for name in PLANTS},
        "option": lambda: plant("hard", stiffness=3.0),
        "options of mujoco": lambda: plant("mujoco", restitution=3.0),
        "q": lambda: checked_state(robot, q[:-1], v),
        "v": lambda: checked_state(robot, q, np.zeros(7)),
        "NaN": lambda: checked_state(robot, q, v + NAN),
        "infinite": lambda: checked_state(robot, q + INF, v),
        "copies": lambda: [a is b for a, b in zip(checked_state(robot, q, v), (q, v), strict=True)],
        "fast": lambda: require_finite(np.array([1e12])),
        "still": lambda: require_finite(np.array([0.9e12, -0.9e12])),
        "fast backwards": lambda: require_finite(np.array([-1.1e12])),
        **{f"{name}, restitution {e}": (lambda name=name, e=e: plant(name, restitution=e))
           for name in ("hard", "ideal") for e in (-0.1, 0.0, 1.0, 1.1, NAN)},
        **{f"soft, {name} {x}": (lambda name=name, x=x: plant("soft", **{name: x}))
           for name in ("tolerance", "stiffness", "exponent", "slip_speed", "damping") for x in (-1.0, 0.0, NAN, INF)},
        "soft, law": lambda: plant("soft", law="cubic"),
        "ideal, integrator": lambda: plant("ideal", integrator="rk5"),
        "ideal, moving obstacle": lambda: plant("ideal", obstacles=[Box((1, 1, 1), (3, 0, 0), velocity=(1, 0, 0))]),
        "box": lambda: box(),
        "box, three": lambda: box(velocity=(1, 2, 3)),
        "box, six": lambda: box(velocity=(1, 2, 3, 4, 5, 6)),
        "box, two": lambda: box(velocity=(1, 2)),
        "box, NaN": lambda: box(velocity=(1, 2, NAN)),
        "box, flat": lambda: box(size=(1, 1, 0)),
        "box, two edges": lambda: box(size=(1, 1)),
        "made already": lambda: eq.simulate(robot, nothing(robot), made, 0.01, contacts=["crate"], friction=0.5),
        "made already, obstacles": lambda: eq.simulate(robot, nothing(robot), made, 0.01, obstacles=[ball]),
        "actuators": lambda: eq.simulate(robot, nothing(robot), "hard", 0.01, actuators=3),
        "sensors": lambda: eq.simulate(robot, nothing(robot), "hard", 0.01, sensors=3),
        "noise and sensors": lambda: eq.simulate(robot, nothing(robot), "hard", 0.01, sensors=eq.Sensors(), noise={}),
        "dt": lambda: eq.simulate(robot, nothing(robot), "hard", 0.01, dt=0.0),
        "duration": lambda: eq.simulate(robot, nothing(robot), "hard", -0.01),
        "pushed": lambda: eq.simulate(robot, nothing(robot), "hard", 0.01, pushes=[push()]),
        "scenario": lambda: eq.simulate(robot, nothing(robot), "hard", 0.01, scenario={"a": object()}),
        "delay": lambda: eq.simulate(robot, nothing(robot), "hard", 0.01, delay=-1),
        "no torque": lambda: eq.simulate(robot, lambda t, q, v: SimpleNamespace(), "hard", 0.01),
        "short torque": lambda: eq.simulate(robot, lambda t, q, v: SimpleNamespace(torque=np.zeros(5)), "hard", 0.01),
    }  # fmt: skip
    records.check("simulate_refusals_plants", {name: records.answer(call) for name, call in calls.items()})


class Drifting:
    """A plant whose quaternion has another length in every step."""

    def __init__(self, lengths):
        self.lengths, self.k = lengths, 0

    def reset(self, q, v):
        self.q, self.v, self.k = np.array(q), np.array(v), 0
        return PlantState(self.q, self.v, 0.0)

    def step(self, tau, dt, wrenches=None):
        self.q[3:7] *= self.lengths[self.k] / np.linalg.norm(self.q[3:7])
        self.k += 1
        return PlantState(self.q.copy(), self.v, self.k * dt)


def test_recorded_quaternions_of_plants():
    """Drift is reported once and taken back, a quaternion that is none ends the run."""
    found = {}
    for lengths in (
        [1.0, 1.0 + 1e-13, 1.0],
        [1.0, 1.001, 0.999, 1.002],
        [1.0, 0.51, 1.0],
        [1.0, 0.49, 1.0],
        [NAN, 1.0],
    ):
        run = eq.simulate(crate(), nothing(crate()), Drifting(lengths), 1e-3 * len(lengths))
        norms = np.linalg.norm(run.q[:, 3:7], axis=1)
        found[str(lengths)] = {"outcome": run.outcome, "events": run.events, "rows": len(run.t), "norms": norms}
    records.check("simulate_quaternions", found)


def test_recorded_refusals_of_files(tmp_path):
    pytest.importorskip("mcap")
    (tmp_path / "text.mcap").write_text("no log")
    run = eq.simulate(crate(), nothing(crate()), "hard", 0.01)
    whole, drawn = run.save(tmp_path / "run.npz"), run.save(tmp_path / "run.mcap")
    calls = {
        "object": lambda: encoded(object()),
        "kind": lambda: decoded({"@": "Secret", "x": 1}),
        "numbers": lambda: [encoded(x) for x in (INF, NAN, 1.5, np.float64(2.0), (1, 2), slice(1, 3), {"a": (1.0,)})],
        "back": lambda: [str(decoded(encoded(x))) for x in (INF, 1.5, (1, 2), slice(1, 3), {"a": (1.0,)})],
        "no file": lambda: mcap_log.attached_run(tmp_path / "none.mcap"),
        "no log": lambda: mcap_log.attached_run(tmp_path / "text.mcap"),
        "large": lambda: mcap_log.attached_run(drawn, max_bytes=100),
        "large run": lambda: read_run(whole, None, 100),
        "rate": lambda: mcap_log.write_mcap(run, tmp_path / "a.mcap", rate=0.0),
        "no run": lambda: eq.Run.load(tmp_path / "none.npz"),
        "fixed base on estimates": lambda: estimated.estimated_options(_built(eq.load("arm6"), "mujoco")),
        "kinematic on estimates": lambda: estimated.estimated_options(_built(quadruped(), "kinematic")),
    }  # fmt: skip
    found = {name: records.answer(call) for name, call in calls.items()}
    for name in ("no log", "large run"):  # what others say of bytes is theirs
        found[name] = found[name].split(":")[1]
    text = {name: x.replace(str(tmp_path), "…") if isinstance(x, str) else x for name, x in found.items()}
    records.check("simulate_refusals_files", text)


def _built(robot, kind):
    return SimpleNamespace(robot=robot, options={"plant": kind}, scenario=SimpleNamespace(name="mine"))
