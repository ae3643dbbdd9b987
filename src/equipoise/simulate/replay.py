"""A log through an estimator again: what would it have estimated?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ..estimation.estimator import Estimator, EstimatorDescription
from .archive import RunError
from .run import Run
from .sensors import imu_frame, imu_frames

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Replay:
    """What an estimator makes of a run.

    Attributes:
        t: (N,) s.
        q: (N, nq).
        v: (N, nv).
        position_error: of the base against the run, (N,) m.
        velocity_error: (N,) m/s.
        tilt_error: (N,) rad.
    """

    t: Array
    q: Array
    v: Array
    position_error: Array
    velocity_error: Array
    tilt_error: Array


def estimator_of(run: Run, imu: str | None = None, contacts: Sequence[str] | None = None) -> Estimator:
    """Returns the estimator of a run: with the IMU's frame, noise and contacts that the run keeps.

    Args:
        imu: frame of the IMU; needed where the run does not keep it and several frames of the robot are named so.
        contacts: frames that may stand, instead of those of the run.

    Raises:
        RunError: the frame is not the one where the readings come from, or nothing says which one that is.
    """
    told = dict(run.sensing)
    kept = told.get("imu")
    if imu is not None and kept is not None and not _same_place(run, imu, str(kept)):
        raise RunError(f"the readings of this run come from an IMU at frame {kept!r}, not at {imu!r}")
    if imu is None and kept is None and len(found := imu_frames(run.robot)) > 1:
        raise RunError(f"this run does not say where its IMU is, and {', '.join(found)} may be it: give imu=, or --imu")
    told["imu"] = imu or kept or imu_frame(run.robot)
    if contacts:
        told["contacts"] = {name: {"frame": name, "points": None} for name in contacts}
    elif "contacts" not in told:
        told["contacts"] = {name: {"frame": c.frame, "points": c.points} for name, c in run.contacts.items()}
    try:
        whole = cast(EstimatorDescription, {"noise": {}, "prior": {}} | told)
        return Estimator.of_description(run.robot, whole)
    except (TypeError, AttributeError) as error:
        raise RunError(f"this run does not say what its estimator was: {error}") from None


def _same_place(run: Run, a: str, b: str) -> bool:
    return bool(np.allclose(run.robot.pose(run.q[0], a), run.robot.pose(run.q[0], b), atol=1e-6))


def replay(run: Run, estimator: Any) -> Replay:
    """Feed the readings of a run to an estimator, from the state where it began.

    Args:
        run: with readings, of `simulate(…, estimator=…, sensors=…)`.
        estimator: such as `eq.Estimator`, of the same robot.
    """
    if "gyroscope" not in run.readings:
        raise RunError("this run has no readings of sensors: simulate with estimator= and sensors=")
    r = run.readings
    estimator.reset(run.q[0], run.v[0], t=float(run.t[0]))
    estimated_states = []
    for k, t in enumerate(run.t):
        torques = r["torques"][k] if "torques" in r else None
        inputs = r["gyroscope"][k], r["accelerometer"][k], r["joints"][k], r["joint_rates"][k], torques
        estimated_states.append(estimator(float(t), *inputs, forces=_forces(run, estimator, k)))
    q, v = (np.array(part) for part in zip(*estimated_states, strict=True))
    distance, speed = (np.linalg.norm(x[:, :3] - y[:, :3], axis=1) for x, y in ((q, run.q), (v, run.v)))
    return Replay(run.t, q, v, distance, speed, tilt_between(q, run.q))


def _forces(run: Run, estimator: Any, k: int) -> Mapping[str, Array] | None:
    """Measured forces by the estimator's contacts; None where the feet measured nothing."""
    felt = {name.removeprefix("force of "): x[k] for name, x in run.readings.items() if name.startswith("force of ")}
    if not felt:
        return None
    result = {}
    for name, frame in estimator.contact_frames.items():
        same = [name] if name in felt else [c for c in felt if run.contacts[c].frame == frame]
        result[name] = np.sum([felt[c] for c in same], axis=0) if same else np.zeros(6)
    return result


def tilt_between(a: Array, b: Array) -> Array:
    """Returns the angle between the verticals of two bases, configurations (N, nq) each, (N,) rad."""
    return np.arccos(np.einsum("ki,ki->k", _up(a), _up(b)).clip(-1, 1))


def _up(q: Array) -> Array:
    """The world's vertical in the axes of the base, (N, 3)."""
    w, x, y, z = q[:, 3:7].T
    return np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1)
