"""Runs as MCAP: read back by the mcap library, by ours, and held against Foxglove's own schemas."""

import json
from dataclasses import replace

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_protobuf.decoder import DecoderFactory
from numpy.testing import assert_allclose, assert_array_equal
from things import FEET, hold, quadruped
from typer.testing import CliRunner

import equipoise as eq
from equipoise.algebra.rigid import pose
from equipoise.cli import app
from equipoise.simulate.archive import RunError
from equipoise.simulate.mcap_log import OURS, read_joint_states
from equipoise.simulate.replay import estimator_of, replay


@pytest.fixture(scope="module")
def run():
    dog = quadruped()
    sensors = eq.Sensors.realistic(forces=True)
    estimator = eq.Estimator(dog, "trunk", FEET, noise=sensors.filter_noise())
    push = eq.Push("trunk", (20, 0, 0), 0.02, 0.02)
    options = dict(contacts=FEET, estimator=estimator, sensors=sensors, pushes=[push])
    return eq.simulate(dog, hold(dog, dog.standing()), duration=0.1, seed=5, **options)


@pytest.fixture(scope="module")
def path(run, tmp_path_factory):
    return run.to_mcap(tmp_path_factory.mktemp("logs") / "run.mcap")


def messages(path, topic):
    with path.open("rb") as file:
        if topic in OURS:
            return [(m.log_time, json.loads(m.data)) for _, _, m in make_reader(file).iter_messages(topics=[topic])]
        decoded = make_reader(file, decoder_factories=[DecoderFactory()]).iter_decoded_messages(topics=[topic])
        return [(message.log_time, content) for _, _, message, content in decoded]


@pytest.mark.paper("X6")
def test_joint_states_come_back_bit_for_bit(run, path):
    log = read_joint_states(path)
    assert_array_equal(log.position, run.q[:, 7:])
    assert_array_equal(log.velocity, run.v[:, 6:])
    assert_array_equal(log.effort, run.torque[:, 6:])
    assert_allclose(log.t, run.t, atol=1e-9)
    assert log.names == tuple(run.robot.joints)


def test_the_run_comes_back_bit_for_bit(run, path):
    back = eq.Run.load(path)
    for name in ("t", "q", "v", "torque", "acceleration"):
        assert_array_equal(getattr(back, name), getattr(run, name))
    assert_array_equal(back.readings["gyroscope"], run.readings["gyroscope"])
    assert back.events == run.events
    assert back.robot.tree.digest == run.robot.tree.digest


def test_messages_are_those_that_foxglove_knows(path):
    with path.open("rb") as file:
        summary = make_reader(file).get_summary()
    kinds = {c.topic: (summary.schemas[c.schema_id].name, c.message_encoding) for c in summary.channels.values()}
    assert kinds == {
        "/joint_states": ("foxglove.JointStates", "protobuf"), "/tf": ("foxglove.FrameTransforms", "protobuf"),
        "/forces": ("foxglove.SceneUpdate", "protobuf"), "/events": ("foxglove.Log", "protobuf"),
        "/imu": ("equipoise.Imu", "json"), "/wrenches": ("equipoise.Wrenches", "json"),
    }  # fmt: skip


def test_messages_take_a_few_bytes_for_each_number(run, path):
    """Without the run that is attached; a JSON message of the same joint states took 60 bytes for each number."""
    with path.open("rb") as file:
        reader = make_reader(file)
        messages = list(reader.iter_messages(topics=["/joint_states"]))
    joints = len(run.robot.joints) - 1
    assert sum(len(m.data) for _, _, m in messages) < 20 * 4 * joints * len(run.t)


def test_joint_states_in_json_are_read_too(run, path, tmp_path):
    """Version 0.2 wrote them so."""
    from mcap.writer import Writer

    with (tmp_path / "old.mcap").open("wb") as file:
        writer = Writer(file)
        writer.start(profile="", library="equipoise")
        schema = writer.register_schema(name="foxglove.JointStates", encoding="jsonschema", data=b"{}")
        channel = writer.register_channel("/joint_states", "json", schema)
        data = b'{"joints": [{"name": "a", "position": 0.5}, {"name": "b", "position": 1.5, "effort": 2.0}]}'
        writer.add_message(channel, log_time=10**9, publish_time=10**9, data=data)
        writer.finish()
    log = read_joint_states(tmp_path / "old.mcap")
    assert (log.names, log.t.tolist(), log.position.tolist()) == (("a", "b"), [1.0], [[0.5, 1.5]])
    assert np.isnan(log.effort[0, 0]) and log.effort[0, 1] == 2.0


def test_frames_and_forces_are_where_the_run_has_them(run, path):
    frames = messages(path, "/tf")
    assert len(frames) == 11
    stamp, last = frames[-1]
    assert stamp == round(run.t[-1] * 1e9)
    assert {t.child_frame_id for t in last.transforms} == set(run.robot.links)
    for t in last.transforms:
        X = run.robot.pose(run.q[-1], t.child_frame_id)
        assert_allclose([getattr(t.translation, a) for a in "xyz"], X[:3, 3], atol=1e-12)
        w, x, y, z = (getattr(t.rotation, a) for a in "wxyz")
        assert_allclose([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)], X[:3, 0], atol=1e-9)
    _, told = messages(path, "/wrenches")[-1]
    for wrench in told["wrenches"]:
        assert_allclose([wrench["force"][a] for a in "xyz"], run.measured[wrench["name"]][-1, :3])
    arrows = messages(path, "/forces")[-1][1].entities[0].arrows
    total = sum(a.shaft_length + a.head_length for a in arrows)
    assert 0.5 < total < 2  # a metre for the weight
    for arrow in arrows:
        x, y, z, w = (getattr(arrow.pose.orientation, a) for a in "xyzw")
        assert 2 * (x * z - w * y) > 0.7  # its x axis points up
    assert len(messages(path, "/imu")) == len(run.t)
    assert any("push" in message.message for _, message in messages(path, "/events"))


def test_every_message_says_when_it_is_of(run, tmp_path):
    """Twelve seconds into a log; stamps are whole seconds and the nanoseconds beside them."""
    late = replace(run, t=run.t + 12.25, events=tuple((t + 12.25, text) for t, text in run.events))
    path = late.to_mcap(tmp_path / "late.mcap")
    for topic in ("/imu", "/wrenches", "/joint_states", "/tf", "/forces", "/events"):
        for logged, message in (told := messages(path, topic)):
            if topic in OURS:
                seconds, rest = message["timestamp"]["sec"], message["timestamp"]["nsec"]
            else:
                of = {"/forces": lambda m: m.entities[0], "/tf": lambda m: m.transforms[0]}.get(topic, lambda m: m)
                stamp = of(message).timestamp
                seconds, rest = stamp.seconds, stamp.nanos
            assert seconds == 12 and 0 <= rest < 10**9 and logged == 12 * 10**9 + rest
        assert told
    imu = messages(path, "/imu")
    assert_allclose([logged * 1e-9 for logged, _ in imu], late.t, atol=1e-9)
    for name in ("gyroscope", "accelerometer"):
        assert_allclose([[m[name][a] for a in "xyz"] for _, m in imu], run.readings[name], rtol=1e-12)


def test_arrows_are_contact_forces(run, path):
    """Each begins at its contact and points along the force, a metre for the weight; its shaft is four fifths."""
    weight, rows = (
        run.robot.mass * 9.80665,
        np.flatnonzero(np.isin(np.round(run.t * 1e9), [s for s, _ in messages(path, "/forces")])),
    )
    for k, (_, update) in zip(rows, messages(path, "/forces"), strict=True):
        forces = [run.measured[name][k, :3] for name in run.measured]
        forces = [force for force in forces if np.linalg.norm(force) > 1e-3 * weight]
        for arrow, force in zip(update.entities[0].arrows, forces, strict=True):
            x, y, z, w = (getattr(arrow.pose.orientation, a) for a in "xyzw")
            ahead = [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)]
            length = arrow.shaft_length + arrow.head_length
            assert_allclose(np.multiply(ahead, length) * weight, force, atol=1e-6 * weight)
            assert arrow.shaft_length == pytest.approx(4 * arrow.head_length)
            assert 0 < arrow.shaft_diameter < arrow.head_diameter < 0.1


@pytest.mark.paper("X6")
def test_a_replay_says_what_the_estimator_said(run, path):
    estimator = eq.Estimator(run.robot, "trunk", FEET, noise=eq.Sensors.realistic().filter_noise())
    said = replay(eq.Run.load(path), estimator)
    assert_allclose(said.q, run.estimates["q"], atol=1e-12)
    assert said.position_error.max() < 5e-3
    assert said.tilt_error.max() < 0.01


def test_replay_on_the_command_line(path, tmp_path):
    out = tmp_path / "again.npz"
    said = CliRunner().invoke(app, ["replay", str(path), "--out", str(out)])
    assert said.exit_code == 0, said.output
    assert "velocity, m/s" in said.output
    assert eq.Run.load(out).estimates["q"].shape == (101, quadruped().nq)


@pytest.mark.parametrize("ending", ["npz", "mcap"])
def test_a_run_keeps_what_its_readings_are_of(run, tmp_path, ending):
    """A frame that is named like an IMU misleads nobody, and what the suffix names is what is written."""
    robot = run.robot.with_frame("a_old_imu", "trunk", pose(p=np.array([0.0, 0.3, 0.2])))
    estimator = eq.Estimator(robot, "trunk", FEET[:2], noise=eq.FilterNoise(gyroscope=0.003), prior=eq.Prior(0.02))
    made = eq.simulate(
        robot, hold(robot, robot.standing()), duration=0.05, contacts=FEET, estimator=estimator, sensors=eq.Sensors()
    )
    log = made.save(tmp_path / f"run.{ending}")
    assert (log.read_bytes()[:2] == b"PK") == (ending == "npz")
    back = estimator_of(eq.Run.load(log))
    assert (back.imu, back.contacts) == ("trunk", tuple(FEET[:2]))
    assert (back.noise, back.prior) == (estimator.noise, estimator.prior)
    assert_allclose(replay(made, back).q, made.estimates["q"], atol=1e-12)
    with pytest.raises(RunError, match="frame 'trunk', not at 'a_old_imu'"):
        estimator_of(made, "a_old_imu")
    said = CliRunner().invoke(app, ["replay", str(log), "--imu", "a_old_imu"])
    assert said.exit_code != 0
    assert "IMU at trunk" in CliRunner().invoke(app, ["replay", str(log)]).output


def test_an_old_run_with_several_imus_wants_to_know_which(run):
    robot = run.robot.with_frame("imu_a", "trunk", pose(p=np.array([0.0, 0.3, 0.2]))).with_frame(
        "imu_b", "trunk", np.eye(4)
    )
    old = replace(run, robot=robot, sensing={})
    with pytest.raises(RunError, match="imu_a, imu_b may be it"):
        estimator_of(old)
    assert estimator_of(old, "imu_b").imu == "imu_b"
    assert estimator_of(replace(run, sensing={})).imu == "trunk"  # nothing else is named like one
    with pytest.raises(RunError, match="does not say what its estimator was"):
        estimator_of(replace(run, sensing={"imu": "trunk", "noise": {"loud": 1.0}}))


def test_errors_teach(run, path, tmp_path):
    with pytest.raises(eq.UnknownNameError, match="/joint_states"):
        read_joint_states(path, "/joints")
    with pytest.raises(RunError, match="no file"):
        eq.Run.load(tmp_path / "none.mcap")
    with pytest.raises(eq.StateError, match="rate"):
        run.to_mcap(tmp_path / "x.mcap", rate=np.nan)
    assert not (tmp_path / "x.mcap").exists()
    bare = eq.simulate(quadruped(), hold(quadruped(), quadruped().standing()), duration=0.01, contacts=FEET)
    with pytest.raises(RunError, match="readings"):
        replay(bare, None)
    (tmp_path / "bad.mcap").write_bytes(b"no log at all")
    with pytest.raises(RunError):
        eq.Run.load(tmp_path / "bad.mcap")
