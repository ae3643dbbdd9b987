"""Runs: everything recorded, saved and loaded bit for bit, and the same again from the same seed."""

from __future__ import annotations

import json
import re
import zipfile
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from things import FEET, SOLE, crate, hold, mixture, nothing, quadruped

import equipoise as eq
from equipoise.model.types import DeclaredLimits
from equipoise.simulate.archive import RunError, decoded, encoded
from equipoise.simulate.conditions import Fall
from equipoise.simulate.origin import command
from equipoise.simulate.planned import outline_columns
from equipoise.simulate.plant import PlantState
from equipoise.simulate.run_format import ARRAYS, MAPPINGS

CRATE = dict(contacts=[("crate", SOLE)])


class Word(Enum):
    GOOD = "optimal"
    BAD = "relaxed"


def talkative(t, q, v):
    """A controller that fills every field, its contact set changing on the way."""
    forces = {"crate": np.full(6, t)} | ({"late": np.ones(6)} if t > 0.0045 else {})
    word = Word.BAD if t > 0.0045 else Word.GOOD
    return SimpleNamespace(
        torque=np.zeros(6), forces=forces, status=word, task_errors={"com": 2 * t}, margins={"zmp": 1 - t}
    )


def small_run(**options) -> eq.Run:
    q = crate().neutral()
    q[2] = 0.1
    settings = CRATE | dict(
        plant="hard", duration=0.01, q0=q, v0=np.full(6, 0.1), scenario={"name": "crate", "list": [1, 2.5]}
    )
    return eq.simulate(crate(), talkative, **(settings | options))


def assert_same(one: eq.Run, two: eq.Run, but: tuple[str, ...] = ()) -> None:
    """Bit for bit."""
    for name in ARRAYS:
        if name not in but:
            a, b = getattr(one, name), getattr(two, name)
            assert a.dtype == b.dtype
            assert a.tobytes() == b.tobytes(), name
    for name in MAPPINGS:
        assert list(getattr(one, name)) == list(getattr(two, name))
        for key, array in getattr(one, name).items():
            assert array.tobytes() == getattr(two, name)[key].tobytes(), (name, key)
    for name in ("status_names", "events", "phases", "safe_distances", "scenario", "seed", "outcome"):
        assert getattr(one, name) == getattr(two, name), name


# --- the record -------------------------------------------------------------------------------------------------------


def test_every_row_is_the_state_and_what_was_said_of_it():
    run = small_run()
    assert_allclose(run.t, np.arange(11) * 1e-3, atol=1e-15)
    assert run.q.shape == (11, 7) and run.v.shape == run.torque.shape == run.acceleration.shape == (11, 6)
    assert_allclose(run.acceleration[:-1], np.diff(run.v, axis=0) / 1e-3, atol=1e-12)
    assert_allclose(run.com, run.q[:, :3], atol=1e-14)
    assert_allclose(run.forces["crate"][:, 0], run.t)
    assert_array_equal(np.isnan(run.forces["late"][:, 0]), run.t < 0.0045)
    assert_array_equal(run.statuses, np.where(run.t > 0.0045, "relaxed", "optimal"))
    assert_allclose(run.task_errors["com"], 2 * run.t)
    assert_allclose(run.margins["zmp"], 1 - run.t)
    assert (run.cycle_time > 0).all()
    assert run.contacts["crate"].frame == "crate" and run.contacts["crate"].points.shape == (4, 3)
    assert run.outcome == "completed" and run.duration == pytest.approx(0.01)
    assert "hard" not in repr(run) and "0.01 s in 11 rows" in repr(run)


def test_a_controller_that_tells_no_forces_gets_those_measured():
    q = crate().neutral()
    q[2] = 0.1
    run = eq.simulate(crate(), nothing(crate()), "hard", 0.01, q0=q, **CRATE)
    assert_array_equal(run.forces["crate"], run.measured["crate"])
    assert run.measured["crate"][5, 2] == pytest.approx(2.0 * 9.80665)
    assert set(run.statuses) == {"none"}


def test_where_frames_are_wanted_is_recorded_thirty_times_a_second_and_shown(tmp_path):
    from equipoise.algebra.quaternions import rotation
    from equipoise.show.player import moment_of

    turned = np.eye(4)
    turned[:3, :3], turned[:3, 3] = rotation((0.8, 0.0, 0.6, 0.0)), (0.1, 0.2, 0.3)

    class Wanting:
        def __call__(self, t, q, v):
            return talkative(t, q, v)

        def references(self, q):
            return {"crate": turned}

    q = crate().neutral()
    q[2] = 0.1
    run = eq.simulate(crate(), Wanting(), plant="hard", duration=0.1, q0=q, **CRATE)
    told = np.flatnonzero(np.isfinite(run.references["crate"][:, 0]))
    assert told.tolist() == [0, 33, 66, 99]
    assert_allclose(run.references["crate"][33], [0.1, 0.2, 0.3, 0.8, 0.0, 0.6, 0.0], atol=1e-12)
    again = eq.Run.load(run.save(tmp_path / "run.npz"))
    assert_array_equal(again.references["crate"], run.references["crate"])
    assert_allclose(moment_of(again, 50).references["crate"], turned, atol=1e-12)  # that of row 33
    assert small_run().references == {}
    assert moment_of(small_run(), 3).references == {}


def test_outlines_and_phases_are_recorded_and_shown(tmp_path):
    """What a controller draws, thirty times a second, and what it does, whenever that changes; both from the file."""
    from equipoise.show.player import moment_of

    class Planning:
        phase = "wait"

        def __call__(self, t, q, v):
            self.phase, self.t = "wait" if t < 0.04 else "go", t
            return talkative(t, q, v)

        def outlines(self, q):
            corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.1], [0.0, 1.0, self.t]])
            return {} if self.t < 0.03 else {"reach": corners if self.t < 0.08 else corners[:3]}

    q = crate().neutral()
    q[2] = 0.1
    run = eq.simulate(crate(), Planning(), plant="hard", duration=0.1, q0=q, **CRATE)
    again = eq.Run.load(run.save(tmp_path / "run.npz"))
    assert again.phases == run.phases == ((0.0, "wait"), (pytest.approx(0.04), "go"))
    reach = again.outlines["reach"]
    assert_array_equal(reach, run.outlines["reach"])
    assert np.flatnonzero(np.isfinite(reach[:, 0, 0])).tolist() == [33, 66, 99] and reach.shape == (101, 4, 3)
    assert_allclose(reach[33], [[0, 0, 0], [1, 0, 0], [1, 1, 0.1], [0, 1, 0.033]], atol=1e-12)
    assert_allclose(reach[99], [[0, 0, 0], [1, 0, 0], [1, 1, 0.1], [1, 1, 0.1]])  # of three corners one is there twice
    assert moment_of(again, 20).outlines == {}
    assert_array_equal(moment_of(again, 50).outlines["reach"], reach[33])
    assert small_run().outlines == {} and small_run().phases == ()


def test_a_controllers_own_attributes_are_no_phase_and_no_outlines(tmp_path):
    """A gait's phase that is a number, and outlines that are data, are not recorded, and the run can be saved."""

    class Own:
        phase, outlines = 0.3, np.zeros((4, 3))

        def __call__(self, t, q, v):
            return talkative(t, q, v)

    q = crate().neutral()
    q[2] = 0.1
    run = eq.simulate(crate(), Own(), plant="hard", duration=0.01, q0=q, v0=np.full(6, 0.1), **CRATE)
    assert run.phases == () and run.outlines == {}
    assert_same(eq.Run.load(run.save(tmp_path / "run.npz")), run)


class Rubbish:
    """A controller of which nothing but the torque is of use; it spoils what it is given, too."""

    def __init__(self, **told):
        self.told = told

    def __call__(self, t, q, v):
        return talkative(t, q, v)

    def _tell(self, name, usual):
        told = self.told.get(name, usual)
        if isinstance(told, Exception):
            raise told
        return told

    @property
    def phase(self):
        return self._tell("phase", "go")

    def outlines(self, q):
        q[:] = np.nan
        return self._tell("outlines", {"reach": np.eye(3)})

    def references(self, q):
        q[:] = np.nan
        return self._tell("references", {"crate": np.eye(4)})


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"phase": ZeroDivisionError("no gait")}, "phase of the .* be shown: ZeroDivisionError: no gait"),
        ({"outlines": ZeroDivisionError("no plan")}, "outlines .* cannot be shown: ZeroDivisionError: no plan"),
        ({"outlines": "reach"}, "outlines .* a dictionary by name; got str"),
        ({"outlines": {"reach": np.zeros((4, 2))}}, r"outlines .* finite corners, \(k, 3\).* got 'reach': \[\[0.0"),
        ({"outlines": {"reach": np.full((2, 3), np.nan)}}, "outlines .* finite corners"),
        ({"outlines": {3: np.eye(3)}}, "outlines .* a name and finite corners"),
        ({"references": ZeroDivisionError("no goal")}, "references .* cannot be shown: ZeroDivisionError: no goal"),
        ({"references": {"crate": np.zeros(3)}}, r"references .* a pose in the world, \(4, 4\); got \[0.0"),
        ({"references": {"crate": np.zeros((4, 4))}}, "references .* a pose in the world"),
        ({"references": {"crates": np.eye(4)}}, "references .* frame named 'crates'.*Did you mean 'crate'"),
    ],
)
def test_what_cannot_be_shown_never_ends_a_run_and_is_reported_once(tmp_path, told, why):
    """The state goes on as without it, bit for bit, and all else that is told is recorded."""
    options = CRATE | dict(plant="hard", duration=0.1, q0=small_run().q[0], v0=np.full(6, 0.1))
    run, usual = (eq.simulate(crate(), Rubbish(**given), **options) for given in (told, {}))
    assert run.outcome == usual.outcome == "completed"
    assert run.q.tobytes() == usual.q.tobytes() and np.isfinite(run.q).all()
    reports = [(t, text) for t, text in run.events if "cannot be shown" in text]
    assert len(reports) == 1 and reports[0][0] == 0.0 and re.search(why, reports[0][1], re.DOTALL)
    assert not [text for _, text in usual.events if "cannot be shown" in text]
    (wrong,) = told
    assert [bool(run.phases), bool(run.outlines), bool(run.references)] == [
        wrong != name for name in ("phase", "outlines", "references")
    ]
    assert_same(eq.Run.load(run.save(tmp_path / "run.npz")), run)


def test_of_outlines_those_that_can_be_drawn_are_kept_and_copied():
    """Names that come and go, none at all, one that cannot be drawn beside one that can, arrays that change later."""
    corners = np.eye(3)

    class Changing(Rubbish):
        def __call__(self, t, q, v):
            self.t = t
            return talkative(t, q, v)

        def outlines(self, q):
            corners[0, 0] = self.t
            told = {"left": corners} if self.t < 0.05 else {"right": corners, "bad": "reach"}
            return None if self.t < 0.02 else told

    run = eq.simulate(crate(), Changing(), plant="hard", duration=0.1, q0=small_run().q[0], **CRATE)
    assert set(run.outlines) == {"left", "right"}
    told = {name: np.flatnonzero(np.isfinite(array[:, 0, 0])).tolist() for name, array in run.outlines.items()}
    assert told == {"left": [33], "right": [66, 99]}
    assert_allclose([run.outlines["left"][33, 0, 0], run.outlines["right"][66, 0, 0]], [0.033, 0.066])
    assert [t for t, text in run.events if "outlines of the controller cannot be shown" in text] == [
        pytest.approx(0.066)
    ]


def test_an_outline_without_corners_is_none():
    columns = outline_columns({0: {"reach": np.zeros((0, 3))}, 2: {"reach": np.ones((3, 3))}}, 4)
    assert np.isnan(columns["reach"][[0, 1, 3]]).all()
    np.testing.assert_array_equal(columns["reach"][2], np.ones((3, 3)))


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"outlines": {"reach": np.zeros((3, 4, 2))}}, "outlines of 'reach' has shape"),
        ({"phases": ((1.0, "go"), (0.0, "wait"))}, "times of its phases"),
    ],
)
def test_files_with_outlines_or_phases_that_cannot_be_are_refused(tmp_path, changes, what):
    path = replace(small_run(), **changes).save(tmp_path / "run.npz")
    with pytest.raises(eq.EquipoiseError, match=what):
        eq.Run.load(path)


def test_a_record_is_frozen():
    run = small_run()
    with pytest.raises(ValueError, match="read-only"):
        run.q[0, 0] = 1.0
    with pytest.raises(TypeError):
        run.forces["crate"] = 0


# --- files ------------------------------------------------------------------------------------------------------------


def test_save_and_load_bit_for_bit(tmp_path):
    obstacles = [(eq.Box((1, 1, 1), (3, 0, 0)), 0.2), eq.Sphere((5, 0, 0), 0.5, velocity=(0.1, 0, 0))]
    run = small_run(obstacles=obstacles, shown=[eq.Capsule((0, 0, 0), (1, 0, 0), 0.1, frame="crate")])
    path = run.save(tmp_path / "run")
    assert path.name == "run.npz"
    again = eq.Run.load(path)
    assert_same(run, again)
    assert again.robot.tree.digest == run.robot.tree.digest
    assert repr(again.obstacles) == repr(run.obstacles)
    assert run.safe_distances == (0.2, 0.0, 0.0)
    assert path.read_bytes() == again.save(tmp_path / "again.npz").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again.npz", "run.npz"]


@pytest.mark.parametrize("name", ["human", "quadruped", "mixture"])
def test_a_robot_comes_back_from_text_as_it_was(name):
    robot = mixture() if name == "mixture" else eq.load(name)
    model = decoded(json.loads(json.dumps(encoded(robot.model), allow_nan=False)))
    again = eq.Robot.from_model(model)
    assert again.tree.digest == robot.tree.digest
    assert json.dumps(encoded(again.model)) == json.dumps(encoded(robot.model))
    assert list(again.frames) == list(robot.frames)
    assert_array_equal(again.standing(), robot.standing())
    assert_array_equal(again.limits.effort, robot.limits.effort)


def test_files_written_before_a_class_was_renamed_are_read():
    before = {"@": "JointLimits", "lower": -1.5, "upper": 2.0, "velocity": 3.0, "effort": 40.0}
    limits = decoded(before)
    assert limits == DeclaredLimits(-1.5, 2.0, 3.0, 40.0)
    assert encoded(limits) == before | {"@": "DeclaredLimits"}


def test_a_file_holds_no_pickles_and_is_read_by_numpy_alone(tmp_path):
    path = small_run().save(tmp_path / "run.npz")
    with np.load(path, allow_pickle=False) as archive:
        assert archive["q"].shape == (11, 7)
        assert json.loads(archive["header"].tobytes())["version"] == 1
        assert all(archive[name].dtype != object for name in archive.files)


def rewritten(path, change):
    """The file with its header changed."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(arrays["header"].tobytes())
    change(header, arrays)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, **arrays)


def test_files_that_are_no_runs_teach(tmp_path):
    path = small_run().save(tmp_path / "run.npz")
    whole = path.read_bytes()
    with pytest.raises(RunError, match="no file"):
        eq.Run.load(tmp_path / "nowhere.npz")
    for damaged in (b"", b"hello", whole[: len(whole) // 2], whole[:300] + b"\0" * 40 + whole[340:]):
        path.write_bytes(damaged)
        with pytest.raises(RunError, match="damaged or not a run"):
            eq.Run.load(path)
    np.savez(path, a=np.zeros(3))
    with pytest.raises(RunError, match="has no header. Its arrays are: a"):
        eq.Run.load(path)
    np.savez(path, header=np.array([{"format": "equipoise run"}], dtype=object), allow_pickle=True)
    with pytest.raises(RunError, match="damaged or not a run.*pickle"):
        eq.Run.load(path)


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda h, a: h.update(version=2), "format 2; this version of Equipoise reads up to 1.*upgrade"),
        (lambda h, a: h.update(format="something"), "its header says 'something'"),
        (lambda h, a: a.pop("torque"), "damaged or not a run.*torque"),
        (lambda h, a: h["robot"]["model"].update({"@": "os.system"}), "which this version does not know"),
        (lambda h, a: h["robot"].update(model=None), "does not hold its robot.*give robot="),
    ],
    ids=["future", "other", "missing", "unknown class", "no robot"],
)
def test_headers_that_do_not_fit_teach(tmp_path, change, words):
    path = small_run().save(tmp_path / "run.npz")
    rewritten(path, change)
    with pytest.raises(RunError, match=words):
        eq.Run.load(path)


def test_a_robot_can_be_given_and_must_be_the_same(tmp_path):
    path = small_run().save(tmp_path / "run.npz")
    assert eq.Run.load(path, robot=crate()).robot is crate()
    with pytest.raises(RunError, match="moves differently"):
        eq.Run.load(path, robot=quadruped())


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = small_run().save(tmp_path / "run.npz")
    before = path.read_bytes()

    def fails(*arguments, **options):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", fails)
    with pytest.raises(OSError, match="disk full"):
        small_run().save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]
    assert zipfile.is_zipfile(path)


# --- the same again ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plant", ["mujoco", "ideal", "hard", "soft"])
def test_the_same_seed_gives_the_same_run_bit_for_bit(plant):
    pytest.importorskip("mujoco")
    robot = quadruped()
    q0 = robot.standing()
    settings = dict(
        contacts=FEET, duration=0.05, noise=dict(position=1e-3, velocity=1e-2, base_orientation=1e-3), delay=2,
        pushes=[eq.Push(robot.base_link, (20, 0, 0), 0.01, 0.02)],
    )  # fmt: skip
    one, two, other = (eq.simulate(robot, hold(robot, q0), plant, seed=seed, **settings) for seed in (3, 3, 4))
    assert_same(one, two, but=("cycle_time",))
    assert np.abs(one.q - other.q).max() > 0


# --- the loop ---------------------------------------------------------------------------------------------------------


def standing_crate(controller, **options):
    q = crate().neutral()
    q[2] = 0.1
    return eq.simulate(crate(), controller, **(CRATE | dict(plant="hard", duration=0.02, q0=q) | options))


def test_noise_is_what_was_asked_and_only_the_controller_sees_it():
    seen = []

    def controller(t, q, v):
        seen.append(np.concatenate([q, v]))
        return SimpleNamespace(torque=np.zeros(6))

    noise = dict(base_position=1e-2, base_orientation=2e-2, base_linear=3e-2, base_angular=4e-2)
    run = standing_crate(controller, noise=noise, duration=1.0, plant=Still(), contacts=None)
    shift = np.array([run.robot.difference(q, s[:7]) for q, s in zip(run.q, seen, strict=True)])
    rate = np.array(seen)[:, 7:] - run.v
    assert_allclose(shift.std(0), [1e-2] * 3 + [2e-2] * 3, rtol=0.1)
    assert_allclose(rate.std(0), [3e-2] * 3 + [4e-2] * 3, rtol=0.1)
    assert_array_equal(run.q, np.tile(run.q[0], (1001, 1)))


@dataclass
class Still:
    """A user's own plant: reset and step, no more. It records what acts on it."""

    acted: list = None

    def reset(self, q, v):
        self.q, self.v, self.acted = q, v, []

    def step(self, tau, dt, wrenches=None):
        self.acted.append((tau, dict(wrenches or {})))
        return PlantState(self.q, self.v, len(self.acted) * dt)


def still(controller, **options):
    plant = Still()
    run = eq.simulate(crate(), controller, plant, q0=crate().neutral(), **(dict(duration=0.02) | options))
    return run, plant.acted


def clock(t, q, v):
    return SimpleNamespace(torque=np.full(6, 1 + t))


def test_a_delay_is_so_many_steps_late():
    run, acted = still(clock, delay=3)
    assert_allclose([tau[0] for tau, _ in acted], 1 + np.maximum(np.arange(20) - 3, 0) * 1e-3, atol=1e-15)
    assert_allclose(run.torque[:, 0], 1 + np.maximum(np.arange(21) - 3, 0) * 1e-3, atol=1e-15)


def test_pushes_act_when_they_should_and_add_up():
    pushes = [
        eq.Push("crate", (1, 0, 0), 0.005, 0.003),
        dict(frame="crate", force=(0, 2, 0), start=0.006, duration=0.01),
    ]
    run, acted = still(clock, pushes=pushes)
    pushed = np.array([wrenches.get("crate", np.zeros(6)) for _, wrenches in acted])
    assert np.flatnonzero(pushed[:, 0]).tolist() == [5, 6, 7]
    assert np.flatnonzero(pushed[:, 1]).tolist() == list(range(6, 16))
    assert [text for _, text in run.events] == ["push on crate: 1 N", "push on crate: 2 N"]


def test_a_slower_controller_is_held():
    calls = []

    class Slow:
        dt = 5e-3

        def reset(self):
            calls.append("reset")

        def __call__(self, t, q, v):
            calls.append(round(t, 9))
            return SimpleNamespace(torque=np.full(6, t))

    _, acted = still(Slow())
    assert calls == ["reset", 0.0, 0.005, 0.01, 0.015, 0.02]
    assert_allclose([tau[0] for tau, _ in acted], np.repeat([0, 5e-3, 1e-2, 1.5e-2], 5), atol=1e-15)
    with pytest.raises(eq.StateError, match="no multiple"):
        still(Slow(), dt=2e-3)


def test_motors_stop_at_their_limits_and_it_is_told():
    robot = quadruped()
    most = robot.limits.effort[6:]
    assert np.isfinite(most).all()

    def strong(t, q, v):
        return SimpleNamespace(torque=np.concatenate([np.zeros(6), 2 * most * (np.arange(12) == 3)]))

    plant = Still()
    run = eq.simulate(robot, strong, plant, duration=0.003)
    assert_allclose(run.torque[:, 9], most[3])
    name = list(robot.joints)[3]
    assert run.events == (
        (0.0, f"torque of {name} reaches its limit"),
        (0.003, f"torque cut at its limit, cycles: {name} 4"),
    )
    assert_allclose(eq.simulate(robot, strong, Still(), duration=0.003, clip=False).torque[:, 9], 2 * most[3])


def test_falls_are_seen_and_end_the_run():
    robot = quadruped()
    run = eq.simulate(robot, nothing(robot), "hard", 3.0, 2e-3, contacts=FEET)
    assert run.outcome == "fell" and run.duration < 2.0
    assert run.events[-1][1].startswith("fell: the base is")
    start = robot.standing()
    assert run.q[-1, 2] > 0.4 * start[2]
    tilted = eq.simulate(
        crate(), nothing(crate()), "hard", 0.5, v0=np.array([0, 0, 1.0, 9, 0, 0]), q0=[0, 0, 0.1, 1, 0, 0, 0], **CRATE
    )
    assert tilted.outcome == "fell" and "tilted by" in tilted.events[-1][1]
    named = eq.simulate(
        robot,
        nothing(robot),
        "hard",
        1.0,
        contacts=FEET,
        fall=dict(height=0, tilt=9, links=[robot.base_link], clearance=0.3),
    )
    assert named.outcome == "fell" and f"{robot.base_link} touches" in named.events[-1][1]
    on = eq.simulate(robot, nothing(robot), "hard", 0.4, 4e-3, contacts=FEET, fall=None)
    assert on.outcome == "completed"


def test_a_base_whose_origin_is_on_the_ground_has_not_fallen():
    """Descriptions may put the base's frame anywhere: heights count from the point of the base where the centre of mass
    is."""
    builder = eq.RobotBuilder("low", floating=True)
    builder.link("origin", mass=0.5, com=(0, 0, 0.9), inertia=(0.01, 0.01, 0.01))
    builder.link("ball", mass=1.0, com=(0, 0, 0), inertia=(0.01, 0.01, 0.01))
    builder.joint("swing", "revolute", "origin", "ball", axis=(1, 0, 0), position=(0, 0, 0.9))
    low = builder.build()
    q = low.neutral()
    q[2] = -0.1  # the base's origin is below the ground
    seen = Fall().watcher(low, {}, q)
    assert seen(q) is None
    lower = q.copy()
    lower[2] -= 0.55 * float(low.com(q)[2])
    assert seen(lower).startswith("the base is")
    turned = q.copy()
    turned[3:7] = np.cos(0.55), np.sin(0.55), 0.0, 0.0  # 1.1 rad: the trunk comes down though the origin stays
    assert seen(turned).startswith("the base is")


def test_what_is_not_finite_fails_without_an_exception():
    def broken(t, q, v):
        return SimpleNamespace(torque=np.full(6, np.nan if t > 0.0035 else 0.0), status="unhappy")

    run = standing_crate(broken)
    assert run.outcome == "failed" and len(run.t) == 5
    assert run.events[-1] == (0.004, "the controller's torque is not finite")

    def wild(t, q, v):
        return SimpleNamespace(torque=np.full(6, 1e300))

    for plant in ("mujoco", "hard", "soft", "ideal"):
        run = standing_crate(wild, plant=plant, fall=None)
        assert run.outcome == "failed" and "the plant failed" in run.events[-1][1], plant


def test_velocities_move_the_kinematic_plant():
    robot = eq.load("arm6")

    def controller(t, q, v):
        return SimpleNamespace(velocity=np.full(6, 0.5))

    run = eq.simulate(robot, controller, "kinematic", 0.1, q0=np.zeros(6))
    assert_allclose(run.q[-1], 0.05, atol=1e-12)
    assert_allclose(run.v[1:], 0.5)


def test_contacts_come_from_the_controller_if_nobody_gives_them():
    def controller(t, q, v):
        return SimpleNamespace(torque=np.zeros(6))

    controller.contacts = [SimpleNamespace(name="sole", frame="crate", points=SOLE, friction=0.3)]
    q = crate().neutral()
    q[2] = 0.1
    run = eq.simulate(crate(), controller, "hard", 0.002, q0=q)
    assert run.contacts["sole"].friction == 0.3


def test_progress_is_shown_when_asked(monkeypatch):
    import rich.progress

    bars = []

    class Bar(rich.progress.Progress):
        def __init__(self, **options):
            super().__init__(**options, disable=True)
            bars.append(self)

    monkeypatch.setattr(rich.progress, "Progress", Bar)
    standing_crate(nothing(crate()), progress=True)
    assert [bar.tasks[0].completed for bar in bars] == [20]
    standing_crate(nothing(crate()))
    assert len(bars) == 1


@pytest.mark.parametrize(
    "options, words",
    [
        (dict(dt=0.0), "dt is positive"),
        (dict(delay=-1), "delay is a number of steps"),
        (dict(scenario={"a": object()}), "must be JSON"),
        (dict(pushes=[eq.Push("hand", (0, 0, 0), 0, 1)]), "no frame named 'hand'"),
        (dict(noise=dict(speed=1)), "no field of Noise named 'speed'"),
        (dict(friktion=1), "no option of the hard plant named 'friktion'"),
        (dict(contacts=["crate", "crate"]), "two contacts are named"),
    ],
)
def test_bad_requests_teach(options, words):
    with pytest.raises(eq.EquipoiseError, match=words):
        standing_crate(nothing(crate()), **options)


def test_a_torque_of_the_wrong_shape_teaches():
    with pytest.raises(eq.ShapeError, match=r"'torque' of shape \(6,\).*got \(3,\)"):
        standing_crate(lambda t, q, v: SimpleNamespace(torque=np.zeros(3)))
    with pytest.raises(eq.ShapeError, match="got none"):
        standing_crate(lambda t, q, v: None)


def test_the_package_and_the_function_share_a_name():
    """Whichever import came first."""
    import subprocess
    import sys

    code = "import equipoise as eq; from equipoise.simulate import world; assert callable(eq.simulate)"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(TypeError, match="missing 2 required"):
        sys.modules["equipoise.simulate"]()


def test_a_run_says_how_it_was_made(tmp_path):
    arm = eq.load("arm6")
    run = eq.simulate(arm, lambda t, q, v: SimpleNamespace(torque=arm.gravity(q)), "hard", 0.01)
    assert run.origin["version"] == eq.__version__
    made = datetime.fromisoformat(run.origin["date"])
    assert abs((datetime.now().astimezone() - made).total_seconds()) < 120
    assert dict(eq.Run.load(run.save(tmp_path / "run.npz")).origin) == run.origin


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["/usr/bin/equipoise", "walk", "g1", "--push", "1,2 3"], "equipoise walk g1 --push '1,2 3'"),
        (["/home/me/secret/study.py", "--password", "x"], "study.py"),
        ([], ""),
    ],
)
def test_the_command_of_a_run_is_told_if_it_is_ours(arguments, told):
    assert command(arguments) == told
