"""Runs as MCAP files with Foxglove's JSON schemas, and the way back.

| topic | schema | holds |
|---|---|---|
| /joint_states | foxglove.JointStates | position, velocity, acceleration and effort of every joint, row by row |
| /tf | foxglove.FrameTransforms | the links in the world |
| /forces | foxglove.SceneUpdate | contact forces as arrows |
| /imu | equipoise.Imu | readings of gyroscope and accelerometer, where there were sensors |
| /wrenches | equipoise.Wrenches | measured wrench of each contact |
| /events | foxglove.Log | what happened, in words |

The run itself goes along as an attachment, so that it comes back bit for bit.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..algebra import quaternions
from ..algebra.rigid import rotation_to
from ..errors import EquipoiseError, StateError, missing_package, unknown_name
from ..files import MAX_BYTES, written_whole
from .archive import RunError

if TYPE_CHECKING:
    from .run import Run

Array = np.ndarray
ATTACHMENT = "run.npz"
TIME = {"type": "object", "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}}}
NUMBER, TEXT = {"type": "number"}, {"type": "string"}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


VECTOR, TURN = _object(x=NUMBER, y=NUMBER, z=NUMBER), _object(x=NUMBER, y=NUMBER, z=NUMBER, w=NUMBER)
POSE = _object(position=VECTOR, orientation=TURN)
COLOUR = _object(r=NUMBER, g=NUMBER, b=NUMBER, a=NUMBER)
ARROW = _object(
    pose=POSE, shaft_length=NUMBER, shaft_diameter=NUMBER, head_length=NUMBER, head_diameter=NUMBER, color=COLOUR
)
JOINT = _object(name=TEXT, position=NUMBER, velocity=NUMBER, acceleration=NUMBER, effort=NUMBER)
TRANSFORM = _object(timestamp=TIME, parent_frame_id=TEXT, child_frame_id=TEXT, translation=VECTOR, rotation=TURN)
ENTITY = _object(
    timestamp=TIME, frame_id=TEXT, id=TEXT, lifetime=TIME, frame_locked={"type": "boolean"}, arrows=_list(ARROW)
)
WRENCH = _object(name=TEXT, frame_id=TEXT, force=VECTOR, torque=VECTOR)
SCHEMAS = {
    "foxglove.JointStates": _object(timestamp=TIME, joints=_list(JOINT)),
    "foxglove.FrameTransforms": _object(transforms=_list(TRANSFORM)),
    "foxglove.SceneUpdate": _object(deletions=_list(_object()), entities=_list(ENTITY)),
    "foxglove.Log": _object(timestamp=TIME, level={"type": "integer"}, message=TEXT, name=TEXT),
    "equipoise.Imu": _object(timestamp=TIME, gyroscope=VECTOR, accelerometer=VECTOR),
    "equipoise.Wrenches": _object(timestamp=TIME, wrenches=_list(WRENCH)),
}
TOPICS = {
    "/joint_states": "foxglove.JointStates", "/tf": "foxglove.FrameTransforms", "/forces": "foxglove.SceneUpdate",
    "/imu": "equipoise.Imu", "/wrenches": "equipoise.Wrenches", "/events": "foxglove.Log",
}  # fmt: skip


# --- writing ----------------------------------------------------------------------------------------------------------


def write_mcap(run: Run, path: str | Path, rate: float = 100.0) -> Path:
    """Write a run; see `Run.to_mcap`."""
    if not 0 < rate < math.inf:
        raise StateError(f"rate is a positive number of drawings per second, got {rate!r}")
    writer_of = _package().writer.Writer

    def fill(file: Any) -> None:
        writer = writer_of(file)
        writer.start(profile="", library="equipoise")
        channels = {}
        for topic, name in TOPICS.items():
            schema = json.dumps({"title": name} | SCHEMAS[name]).encode()
            channels[topic] = writer.register_channel(
                topic, "json", writer.register_schema(name=name, encoding="jsonschema", data=schema)
            )
        for nanoseconds, topic, message in sorted(_messages(run, rate), key=lambda item: item[0]):
            data = json.dumps(message, allow_nan=False).encode()
            writer.add_message(channels[topic], log_time=nanoseconds, publish_time=nanoseconds, data=data)
        content = io.BytesIO()
        run.write(content)
        writer.add_attachment(0, 0, ATTACHMENT, "application/zip", content.getvalue())
        writer.finish()

    return written_whole(Path(path), fill)


def _messages(run: Run, rate: float) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """(time in ns, topic, message) of all that a run holds."""
    yield from _joint_states(run)
    drawn = _drawn(run.t, rate)
    yield from _transforms(run, drawn)
    yield from _forces(run, drawn)
    if "gyroscope" in run.readings:
        rows = zip(run.t, run.readings["gyroscope"], run.readings["accelerometer"], strict=True)
        for t, turn, force in rows:
            yield _ns(t), "/imu", {"timestamp": _stamp(t), "gyroscope": _vector(turn), "accelerometer": _vector(force)}
    for t, text in run.events:
        yield _ns(t), "/events", {"timestamp": _stamp(t), "level": 2, "message": text, "name": run.robot.name}


def _joint_states(run: Run) -> Iterator[tuple[int, str, dict[str, Any]]]:
    joints = [
        (name, j.q.start, j.v.start) for name, j in run.robot.joints.items() if j.mimic is None and j.type.nq == 1
    ]
    kinds = {"velocity": run.v, "acceleration": run.acceleration, "effort": run.torque}
    for k, t in enumerate(run.t):
        states = []
        for name, at, rate in joints:
            state: dict[str, Any] = {"name": name, "position": float(run.q[k, at])}
            states.append(state | {kind: float(x[k, rate]) for kind, x in kinds.items() if math.isfinite(x[k, rate])})
        yield _ns(t), "/joint_states", {"timestamp": _stamp(t), "joints": states}


def _transforms(run: Run, rows: Array) -> Iterator[tuple[int, str, dict[str, Any]]]:
    poses = {name: run.robot.pose(run.q[rows], name) for name in run.robot.links}
    for i, k in enumerate(rows):
        stamp, transforms = _stamp(run.t[k]), []
        for name, X in poses.items():
            w, x, y, z = quaternions.from_rotation(X[i, :3, :3]).tolist()
            turn = {"x": x, "y": y, "z": z, "w": w}
            place = {"parent_frame_id": "world", "child_frame_id": name}
            transforms.append({"timestamp": stamp, **place, "translation": _vector(X[i, :3, 3]), "rotation": turn})
        yield _ns(run.t[k]), "/tf", {"transforms": transforms}


def _forces(run: Run, rows: Array) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Arrows of a metre for the weight, and the wrenches as numbers."""
    weight = run.robot.mass * float(np.linalg.norm(run.robot.model.gravity)) or 1.0
    for k in rows:
        stamp, arrows, wrenches = _stamp(run.t[k]), [], []
        for name, measured in run.measured.items():
            wrench = measured[k]
            if not np.isfinite(wrench).all():
                continue
            frame = run.contacts[name].frame
            wrenches.append(
                {"name": name, "frame_id": frame, "force": _vector(wrench[:3]), "torque": _vector(wrench[3:])}
            )
            size = float(np.linalg.norm(wrench[:3]))
            if size > 1e-3 * weight:
                arrows.append(_arrow(run.robot.pose(run.q[k], frame)[:3, 3], wrench[:3] / size, size / weight))
        entity = {"timestamp": stamp, "frame_id": "world", "id": "contact forces", "lifetime": {"sec": 0, "nsec": 0}}
        scene = {"deletions": [], "entities": [{**entity, "frame_locked": False, "arrows": arrows}]}
        yield _ns(run.t[k]), "/forces", scene
        yield _ns(run.t[k]), "/wrenches", {"timestamp": stamp, "wrenches": wrenches}


def _arrow(place: Array, along: Array, length: float) -> dict[str, Any]:
    to_x = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # carries x to z
    w, x, y, z = quaternions.from_rotation(rotation_to(along) @ to_x.T).tolist()
    pose = {"position": _vector(place), "orientation": {"x": x, "y": y, "z": z, "w": w}}
    sizes = {"shaft_length": 0.8 * length, "shaft_diameter": 0.02, "head_length": 0.2 * length, "head_diameter": 0.04}
    return {"pose": pose, **sizes, "color": {"r": 0.9, "g": 0.3, "b": 0.2, "a": 1.0}}


def _drawn(t: Array, rate: float) -> Array:
    """Rows that are drawn, rate times a second; the last among them."""
    if not len(t):
        return np.zeros(0, dtype=int)
    first = np.unique(np.floor((t - t[0]) * rate + 1e-9), return_index=True)[1]
    return np.unique(np.append(first, len(t) - 1))


def _vector(x: Sequence[float] | Array) -> dict[str, float]:
    return {"x": float(x[0]), "y": float(x[1]), "z": float(x[2])}


def _ns(t: float) -> int:
    return round(float(t) * 1e9)


def _stamp(t: float) -> dict[str, int]:
    seconds, rest = divmod(_ns(t), 10**9)
    return {"sec": seconds, "nsec": rest}


# --- reading ----------------------------------------------------------------------------------------------------------


class JointLog(NamedTuple):
    """Joint states of any MCAP file with Foxglove's schema, NaN where a message is silent.

    Attributes:
        t: (N,) s.
        names: of the joints.
        position, velocity, effort: (N, joints).
    """

    t: Array
    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array


def read_joint_states(path: str | Path, topic: str = "/joint_states") -> JointLog:
    """The joint states of an MCAP file, whoever wrote it (JSON encoding)."""
    with _reader(path) as reader:
        summary = reader.get_summary()
        known = sorted({channel.topic for channel in summary.channels.values()}) if summary else []
        if topic not in known:
            raise unknown_name("topic", topic, known)
        found = [(message.log_time, json.loads(message.data)) for _, _, message in reader.iter_messages(topics=[topic])]
    names = tuple(dict.fromkeys(joint["name"] for _, message in found for joint in message["joints"]))
    at = {name: i for i, name in enumerate(names)}
    values = {kind: np.full((len(found), len(names)), np.nan) for kind in ("position", "velocity", "effort")}
    for k, (_, message) in enumerate(found):
        for joint in message["joints"]:
            for kind, array in values.items():
                array[k, at[joint["name"]]] = joint.get(kind, math.nan)
    t = np.array([nanoseconds for nanoseconds, _ in found], dtype=float) / 1e9
    return JointLog(t, names, values["position"], values["velocity"], values["effort"])


def attached_run(path: str | Path, max_bytes: int = MAX_BYTES) -> bytes:
    """The bytes of the run in an MCAP file that `write_mcap` wrote."""
    with _reader(path, max_bytes) as reader:
        for attachment in reader.iter_attachments():
            if attachment.name == ATTACHMENT:
                return bytes(attachment.data)
    raise RunError(f"{str(path)!r} holds no run of Equipoise; read_joint_states reads its joint states, if it has them")


@contextmanager
def _reader(path: str | Path, max_bytes: int = MAX_BYTES) -> Iterator[Any]:
    """A reader of an MCAP file; one that is damaged or unpacks to too much is refused with the reason."""
    package = _package()
    if not Path(path).is_file():
        raise RunError(f"no file {str(path)!r}")
    with Path(path).open("rb") as file:
        try:
            reader = package.reader.make_reader(file)
            summary = reader.get_summary()
            unpacked = sum(chunk.uncompressed_size for chunk in summary.chunk_indexes) if summary else 0
            if max(Path(path).stat().st_size, unpacked) > max_bytes:
                raise RunError(f"{str(path)!r} has, or unpacks to, more than {max_bytes:,} bytes")
            yield reader
        except EquipoiseError:
            raise
        except Exception as error:  # hostile bytes can end the reader in any way
            raise RunError(f"{str(path)!r} is damaged or no MCAP file: {type(error).__name__}: {error}") from None


def _package() -> Any:
    try:
        import mcap
        import mcap.exceptions
        import mcap.reader
        import mcap.writer
    except ImportError:
        raise missing_package("mcap", "logs", "an MCAP file") from None
    return mcap
