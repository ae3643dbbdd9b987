"""Writes runs as MCAP files with Foxglove's protobuf messages, and reads them back.

| topic | schema | holds |
|---|---|---|
| /joint_states | foxglove.JointStates | position, velocity, acceleration and effort of every joint, row by row |
| /tf | foxglove.FrameTransforms | the links in the world |
| /forces | foxglove.SceneUpdate | contact forces as arrows |
| /imu | equipoise.Imu | readings of gyroscope and accelerometer, where there were sensors |
| /wrenches | equipoise.Wrenches | measured wrench of each contact |
| /events | foxglove.Log | what happened, in words |

The run itself is attached to the file, so that it can be read back bit for bit.
"""

from __future__ import annotations

import heapq
import io
import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..algebra import quaternions
from ..algebra.rigid import rotation_to
from ..errors import EquipoiseError, StateError, require_packages, unknown_name
from ..files import MAX_BYTES, written_whole
from .archive import RunError

if TYPE_CHECKING:
    from .run import Run

Array = np.ndarray
ATTACHMENT = "run.npz"
# topics in JSON, because Foxglove has no message for them
OURS = {"/imu": "equipoise.Imu", "/wrenches": "equipoise.Wrenches"}
Message = tuple[int, str, Any]  # time in ns, topic, message


# --- writing ----------------------------------------------------------------------------------------------------------


def write_mcap(run: Run, path: str | Path, rate: float = 100.0) -> Path:
    """Writes a run; see `Run.to_mcap`."""
    if not 0 < rate < math.inf:
        raise StateError(f"rate is a positive number of drawings per second, got {rate!r}")
    foxglove = _foxglove()

    def fill(file: Any) -> None:
        context = foxglove.Context()
        kinds = foxglove.channels
        json_schema = {"type": "object", "properties": {"timestamp": {"type": "object"}}}
        with foxglove.open_mcap(file, context=context) as writer:
            logs = {
                "/joint_states": kinds.JointStatesChannel("/joint_states", context=context),
                "/tf": kinds.FrameTransformsChannel("/tf", context=context),
                "/forces": kinds.SceneUpdateChannel("/forces", context=context),
                "/events": kinds.LogChannel("/events", context=context),
            }
            for topic, title in OURS.items():
                logs[topic] = foxglove.Channel(topic, schema={"title": title, **json_schema}, context=context)
            for nanoseconds, topic, message in _messages(run, rate, foxglove.messages):
                logs[topic].log(message, log_time=nanoseconds)
            content = io.BytesIO()
            run.write(content)
            writer.attach(
                log_time=0, create_time=0, name=ATTACHMENT, media_type="application/zip", data=content.getvalue()
            )

    return written_whole(Path(path), fill)


def _messages(run: Run, rate: float, of: Any) -> Iterator[Message]:
    """Yields (time in ns, topic, message) of a whole run in temporal order.

    Args:
        of: module of Foxglove's message classes.
    """
    drawn = _drawn(run.t, rate)
    streams = [_joint_states(run, of), _transforms(run, drawn, of), _forces(run, drawn, of)]
    if "gyroscope" in run.readings:
        rows = zip(run.t, run.readings["gyroscope"], run.readings["accelerometer"], strict=True)
        streams.append(
            (_ns(t), "/imu", {"timestamp": _json_stamp(t), "gyroscope": _vector(turn), "accelerometer": _vector(force)})
            for t, turn, force in rows
        )
    name, info = run.robot.name, of.LogLevel.Info
    events = [
        (_ns(t), "/events", of.Log(timestamp=_stamp(t, of), level=info, message=text, name=name))
        for t, text in run.events
    ]
    return heapq.merge(*streams, sorted(events, key=_time), key=_time)


def _time(message: Message) -> int:
    return message[0]


def _joint_states(run: Run, of: Any) -> Iterator[Message]:
    joints = [
        (name, j.q.start, j.v.start) for name, j in run.robot.joints.items() if j.mimic is None and j.type.nq == 1
    ]
    kinds = {"velocity": run.v, "acceleration": run.acceleration, "effort": run.torque}
    for k, t in enumerate(run.t):
        states = [
            of.JointState(
                name=name, position=run.q[k, at],
                **{kind: x[k, rate] for kind, x in kinds.items() if math.isfinite(x[k, rate])},
            )
            for name, at, rate in joints
        ]  # fmt: skip
        yield _ns(t), "/joint_states", of.JointStates(timestamp=_stamp(t, of), joints=states)


def _transforms(run: Run, rows: Array, of: Any) -> Iterator[Message]:
    poses = {name: run.robot.pose(run.q[rows], name) for name in run.robot.links}
    for i, k in enumerate(rows):
        transforms = [
            of.FrameTransform(
                timestamp=_stamp(run.t[k], of), parent_frame_id="world", child_frame_id=name,
                translation=of.Vector3(**_vector(X[i, :3, 3])), rotation=_turn(X[i, :3, :3], of),
            )
            for name, X in poses.items()
        ]  # fmt: skip
        yield _ns(run.t[k]), "/tf", of.FrameTransforms(transforms=transforms)


def _forces(run: Run, rows: Array, of: Any) -> Iterator[Message]:
    """Yields contact forces as arrows (1 m for the weight) and the wrenches as numbers."""
    weight = run.robot.mass * float(np.linalg.norm(run.robot.model.gravity)) or 1.0
    for k in rows:
        arrows, wrenches = [], []
        for name, measured in run.measured.items():
            wrench = measured[k]
            if not np.isfinite(wrench).all():
                continue
            frame = run.contacts[name].frame
            force, torque = _vector(wrench[:3]), _vector(wrench[3:])
            wrenches.append({"name": name, "frame_id": frame, "force": force, "torque": torque})
            size = float(np.linalg.norm(wrench[:3]))
            if size > 1e-3 * weight:
                arrows.append(_arrow(run.robot.pose(run.q[k], frame)[:3, 3], wrench[:3] / size, size / weight, of))
        entity = of.SceneEntity(timestamp=_stamp(run.t[k], of), frame_id="world", id="contact forces", arrows=arrows)
        yield _ns(run.t[k]), "/forces", of.SceneUpdate(entities=[entity])
        yield _ns(run.t[k]), "/wrenches", {"timestamp": _json_stamp(run.t[k]), "wrenches": wrenches}


def _arrow(place: Array, along: Array, length: float, of: Any) -> Any:
    to_x = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # rotates x to z
    pose = of.Pose(position=of.Vector3(**_vector(place)), orientation=_turn(rotation_to(along) @ to_x.T, of))
    sizes = {"shaft_length": 0.8 * length, "shaft_diameter": 0.02, "head_length": 0.2 * length, "head_diameter": 0.04}
    return of.ArrowPrimitive(pose=pose, **sizes, color=of.Color(r=0.9, g=0.3, b=0.2, a=1.0))


def _drawn(t: Array, rate: float) -> Array:
    """Returns the rows that are drawn, `rate` per second, always including the last one."""
    if not len(t):
        return np.zeros(0, dtype=int)
    first = np.unique(np.floor((t - t[0]) * rate + 1e-9), return_index=True)[1]
    return np.unique(np.append(first, len(t) - 1))


def _vector(x: Sequence[float] | Array) -> dict[str, float]:
    return {"x": float(x[0]), "y": float(x[1]), "z": float(x[2])}


def _ns(t: float) -> int:
    return round(float(t) * 1e9)


def _stamp(t: float, of: Any) -> Any:
    return of.Timestamp(*divmod(_ns(t), 10**9))


def _json_stamp(t: float) -> dict[str, int]:
    return dict(zip(("sec", "nsec"), divmod(_ns(t), 10**9), strict=True))


def _turn(R: Array, of: Any) -> Any:
    w, x, y, z = quaternions.from_rotation(R).tolist()
    return of.Quaternion(x=x, y=y, z=z, w=w)


# --- reading ----------------------------------------------------------------------------------------------------------


class JointLog(NamedTuple):
    """Joint states of an MCAP file with Foxglove's schema; NaN where a message has no value.

    Attributes:
        t: time, (N,) s.
        names: joint names.
        position, velocity, effort: (N, joints).
    """

    t: Array
    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array


def read_joint_states(path: str | Path, topic: str = "/joint_states") -> JointLog:
    """Returns the joint states of an MCAP file of any origin, in JSON or protobuf."""
    with _reader(path) as reader:
        summary = reader.get_summary()
        known = sorted({channel.topic for channel in summary.channels.values()}) if summary else []
        if topic not in known:
            raise unknown_name("topic", topic, known)
        found = [
            (message.log_time, decoded["joints"] if isinstance(decoded, dict) else decoded.joints)
            for _, _, message, decoded in reader.iter_decoded_messages(topics=[topic])
        ]
    names = tuple(dict.fromkeys(_entry(joint, "name") for _, joints in found for joint in joints))
    at = {name: i for i, name in enumerate(names)}
    values = {kind: np.full((len(found), len(names)), np.nan) for kind in ("position", "velocity", "effort")}
    for k, (_, joints) in enumerate(found):
        for joint in joints:
            for kind, array in values.items():
                array[k, at[_entry(joint, "name")]] = _entry(joint, kind)
    t = np.array([nanoseconds for nanoseconds, _ in found], dtype=float) / 1e9
    return JointLog(t, names, values["position"], values["velocity"], values["effort"])


def _entry(joint: Any, key: str) -> Any:
    """Returns a field of a joint's message; NaN if it is missing."""
    if isinstance(joint, dict):
        return joint.get(key, math.nan)
    return getattr(joint, key) if key == "name" or joint.HasField(key) else math.nan


def attached_run(path: str | Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Returns the bytes of the run attached by `write_mcap`."""
    with _reader(path, max_bytes) as reader:
        for attachment in reader.iter_attachments():
            if attachment.name == ATTACHMENT:
                return bytes(attachment.data)
    raise RunError(f"{str(path)!r} holds no run of Equipoise; read_joint_states reads its joint states, if it has them")


@contextmanager
def _reader(path: str | Path, max_bytes: int = MAX_BYTES) -> Iterator[Any]:
    """Opens an MCAP file; raises RunError if it is damaged or unpacks to more than `max_bytes`."""
    require_packages("logs", "an MCAP file", "mcap", "mcap_protobuf")
    from mcap.reader import make_reader
    from mcap_protobuf.decoder import DecoderFactory

    json_too: Any = SimpleNamespace(decoder_for=lambda encoding, schema: json.loads if encoding == "json" else None)
    if not Path(path).is_file():
        raise RunError(f"no file {str(path)!r}")
    with Path(path).open("rb") as file:
        try:
            reader = make_reader(file, decoder_factories=[DecoderFactory(), json_too])
            summary = reader.get_summary()
            unpacked = sum(chunk.uncompressed_size for chunk in summary.chunk_indexes) if summary else 0
            if max(Path(path).stat().st_size, unpacked) > max_bytes:
                raise RunError(f"{str(path)!r} has, or unpacks to, more than {max_bytes:,} bytes")
            yield reader
        except EquipoiseError:
            raise
        except Exception as error:  # malformed bytes can raise anything in the reader
            raise RunError(f"{str(path)!r} is damaged or no MCAP file: {type(error).__name__}: {error}") from None


def _foxglove() -> Any:
    require_packages("logs", "an MCAP file", "foxglove")
    import foxglove
    import foxglove.channels
    import foxglove.messages

    return foxglove
