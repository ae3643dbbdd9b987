"""Cassie's walk of the data folder as arrays, on our model of Cassie, and both filters run on it."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import pytest
import support
from plain_filter import PlainFilter

import equipoise as eq
from equipoise.algebra import rigid
from equipoise.estimation.belief import Belief
from equipoise.estimation.noise import FilterNoise, Prior

DT = 0.0005
FIRST = 1000  # half a second after all channels are alive
LEG = ("HipRoll", "HipYaw", "HipPitch", "KneePitch", "ShinPitch", "TarsusPitch", "FootPitch")
# the settings of those who recorded it
NOISE = FilterNoise(0.002, 0.001, 0.04, 0.001, 0.05, np.radians(0.5), 0.0)
PRIOR = Prior(0.01, 0.1, 0.01, 0.01, 0.1)
STRAIGHT = np.eye(3)
TOES = ("left toe", "right toe")


# marks of the tests on the log
needed = [pytest.mark.further("EQUIPOISE_DATA"), support.further]


@functools.cache
def cassie() -> eq.Robot:
    """Cassie with its IMU, which hangs upside down, and the middle of each sole."""
    robot = support.load("cassie")
    robot = robot.with_frame("imu", "pelvis", rigid.pose(np.diag([1.0, -1.0, -1.0]), np.array([0.03155, 0, -0.07996])))
    for toe, foot in zip(TOES, ("leftfoot", "rightfoot"), strict=True):
        robot = robot.with_frame(toe, foot, rigid.pose(p=np.array([0.01762, 0.05219, 0.0])))
    return robot


@dataclass(frozen=True)
class Log:
    gyroscope: np.ndarray
    accelerometer: np.ndarray
    joints: np.ndarray
    contact: np.ndarray  # whether each toe stands
    R: np.ndarray  # truth
    v: np.ndarray
    p: np.ndarray

    def q(self, rows) -> np.ndarray:
        """Configurations of the truth."""
        robot = cassie()
        q = np.tile(robot.neutral(), (len(rows), 1))
        q[:, 7:] = self.joints[rows]
        X = np.tile(np.eye(4), (len(rows), 1, 1))
        X[:, :3, :3], X[:, :3, 3] = self.R[rows], self.p[rows]
        X = X @ np.linalg.inv(robot.pose(q, "imu"))
        q[:, :3] = X[:, :3, 3]
        q[:, 3:7] = rigid.quaternions.from_rotation(X[:, :3, :3])
        return q


@functools.cache
def log() -> Log:
    robot = cassie()
    with np.load(support.further_folder("EQUIPOISE_DATA") / "cassie_inekf" / "walk.npz") as archive:
        data = {name: archive[name] for name in archive.files}
    joints = np.zeros((len(data["encoders"]), robot.nq - 7))
    for s, side in enumerate(("Left", "Right")):
        for i, name in enumerate(LEG):
            joints[:, robot.joints[side + name].q.start - 7] = data["encoders"][:, 7 * s + i]
    truth = data["true_R"], data["true_v"], data["true_p"]
    return Log(data["gyroscope"], data["accelerometer"], joints, data["contact"] > 0.5, *truth)


@dataclass(frozen=True)
class Said:
    """What a filter said, row k + 1 of the log after its first."""

    R: np.ndarray
    v: np.ndarray
    p: np.ndarray


def ours(
    steps: int, first: int = FIRST, turn=STRAIGHT, shove=(0, 0, 0), prior=PRIOR, noise=NOISE
) -> tuple[Said, Belief]:
    """The library's filter, from the truth turned and shoved."""
    data, robot = log(), cassie()
    unwatched = eq.TouchSettings(slip_speed=np.inf)  # the log has no rates of joints, without which no slip is seen
    estimator = eq.Estimator(robot, "imu", TOES, noise=noise, prior=prior, settings=unwatched)
    R, v, p = turn @ data.R[first], data.v[first] + shove, data.p[first]
    P = prior.covariance(v, p, 2)
    start = Belief.of(R, v, p, np.zeros((2, 3)), np.zeros(3), np.zeros(3), P)
    estimator.reset(start, t=first * DT)
    rates, said = np.zeros(robot.nv - 6), []
    for k in range(first + 1, first + 1 + steps):
        estimator(k * DT, data.gyroscope[k], data.accelerometer[k], data.joints[k], rates, contacts=data.contact[k])
        said.append(estimator.belief.numbers)
    assert estimator.rejected == 0
    belief = Belief(np.array(said), 2)
    return Said(belief.orientation, belief.velocity, belief.position), belief


def plain(steps: int, first: int = FIRST, turn=STRAIGHT, shove=(0, 0, 0), prior=PRIOR, noise=NOISE) -> Said:
    """The plain filter, told the same."""
    data, robot = log(), cassie()
    rows = np.arange(first + 1, first + 1 + steps)
    q = np.tile(robot.neutral(), (steps, 1))
    q[:, 7:] = data.joints[rows]
    X = robot.pose(q, "imu")
    seen = []
    for toe in TOES:
        h = np.einsum("kji,kj->ki", X[:, :3, :3], robot.pose(q, toe)[:, :3, 3] - X[:, :3, 3])
        J = np.einsum("kji,kjn->kin", X[:, :3, :3], robot.jacobian(q, toe)[:, :3, 6:])  # the IMU is fixed to the base
        seen.append((h, J))
    scales = np.repeat(
        [prior.orientation, prior.velocity, prior.position, prior.gyroscope_bias, prior.accelerometer_bias], 3
    )
    start = turn @ data.R[first], data.v[first] + shove, data.p[first]
    f = PlainFilter(*start, np.diag(scales**2), noise, robot.model.gravity)
    said, before = [], np.zeros(2, dtype=bool)
    for i, k in enumerate(rows):
        f.predict(data.gyroscope[k], data.accelerometer[k], DT)
        for s, (h, J) in enumerate(seen):
            f.see(s, h[i], J[i], data.contact[k, s] and before[s])
        before = data.contact[k]
        said.append((f.R, f.v, f.p))
    return Said(*(np.array(part) for part in zip(*said, strict=True)))


def velocity_errors(path: Said, first: int = FIRST) -> np.ndarray:
    """In body axes, (steps, 3)."""
    data, rows = log(), np.arange(first + 1, first + 1 + len(path.v))
    return np.einsum("kji,kj->ki", path.R, path.v) - np.einsum("kji,kj->ki", data.R[rows], data.v[rows])


def tilt_errors(path: Said, first: int = FIRST) -> np.ndarray:
    """Angle between the verticals in body axes, degrees."""
    rows = np.arange(first + 1, first + 1 + len(path.v))
    cosine = np.einsum("kj,kj->k", path.R[:, 2], log().R[rows][:, 2])
    return np.degrees(np.arccos(np.clip(cosine, -1, 1)))


def drift(path: Said, after: int, first: int = FIRST) -> float:
    """Error of the way from row `after` to the end, in percent of that way."""
    truth = log().p[first + 1 : first + 1 + len(path.p)]
    walked = truth[-1] - truth[after]
    return float(100 * np.linalg.norm(path.p[-1] - path.p[after] - walked) / np.linalg.norm(walked))
