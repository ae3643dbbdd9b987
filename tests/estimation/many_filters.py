"""One motion in MuJoCo, and the errors of many sensors on it: as many filters at once, in one kernel."""

from __future__ import annotations

from dataclasses import dataclass

import dense_filter
import numpy as np

import equipoise as eq
from equipoise.estimation.belief import Belief
from equipoise.estimation.settling import Settling
from equipoise.simulate.plant import PlantState
from equipoise.simulate.scenarios import prepare
from equipoise.simulate.sensors import SensorSuite, imu_frame
from equipoise.simulate.walk_trials import FORWARD

DT = 1e-3


@dataclass(frozen=True)
class Motion:
    """What happened, and what sensors without errors say of it."""

    robot: eq.Robot
    imu: str
    feet: list
    run: eq.Run
    gyroscope: np.ndarray
    accelerometer: np.ndarray


def squat(name: str, seconds: float) -> Motion:
    """A robot that stands, then squats, on its true state."""
    built = prepare("stand_and_squat", robot=name)
    run = eq.simulate(built.robot, built.controller, duration=seconds, q0=built.start, **built.options)
    return _seen(built.robot, list(built.controller.contacts), run)


def stand(name: str, seconds: float) -> Motion:
    """A robot that stands, on its true state."""
    standing = eq.Standing(eq.load(name))
    return _seen(
        standing.robot, list(standing.contacts), eq.simulate(standing.robot, standing, duration=seconds, q0=standing.q0)
    )


def walk(name: str, seconds: float) -> Motion:
    """A robot that walks straight ahead from 0.3 s on, on its true state."""
    walker = eq.Walking(eq.load(name))
    walker.command(FORWARD * walker.body.gains.speed, at=0.3)
    return _seen(walker.robot, list(walker.contacts), eq.simulate(walker.robot, walker, duration=seconds, q0=walker.q0))


def _seen(robot: eq.Robot, feet: list, run: eq.Run) -> Motion:
    assert run.outcome == "completed"
    imu = imu_frame(robot)
    suite = SensorSuite(robot, eq.Sensors(), imu, {}, np.random.default_rng(0))
    said = [suite.read(t, PlantState(q, v, t), np.zeros(robot.nv)) for t, q, v in zip(run.t, run.q, run.v, strict=True)]
    return Motion(
        robot, imu, feet, run, np.array([s.gyroscope for s in said]), np.array([s.accelerometer for s in said])
    )


def standing_feet(motion: Motion) -> np.ndarray:
    """(rows, feet): which carry more than 2 % of the weight in the step before a row."""
    run = motion.run
    names = [next(name for name, own in run.contacts.items() if own.frame == contact.frame) for contact in motion.feet]
    force = np.array([np.nan_to_num(run.measured[name][:, 2]) for name in names]).T
    return np.vstack([force[:1], force[:-1]]) > 0.02 * motion.robot.mass * 9.80665


def truth(motion: Motion, k: int) -> np.ndarray:
    X = motion.robot.pose(motion.run.q[k], motion.imu)
    V = motion.robot.velocity(motion.run.q[k], motion.run.v[k], motion.imu)
    return dense_filter.group(X[:3, :3], V[:3], X[:3, 3])


def nees(motion: Motion, sensors: eq.Sensors, count: int, every: int, filter_sensors=None) -> np.ndarray:
    """NEES of turn, velocity and position for `count` sensors and starts, (times, count)."""
    rng, imu, encoders = np.random.default_rng(0), sensors.imu, sensors.encoders
    told = (filter_sensors or sensors).filter_noise()
    stands, settling, settled = standing_feet(motion), Settling(told.accelerometer), np.tile(told.numbers, (count, 1))
    unsettled = np.tile(told.unsettled_numbers, (count, 1))
    scales = np.repeat([0.01, 0.02, 0.01, imu.gyroscope_bias, imu.accelerometer_bias], 3)
    estimator = eq.Estimator(motion.robot, motion.imu, motion.feet, noise=told)
    beliefs = Belief(np.array([wrong_start(motion, scales, rng) for _ in range(count)]), 2)
    bias_w, bias_a = scales[9] * rng.normal(size=(count, 3)), scales[12] * rng.normal(size=(count, 3))
    result, run = [], motion.run
    for k in range(1, len(run.t)):
        bias_w += imu.gyroscope_walk * np.sqrt(DT) * rng.normal(size=(count, 3))
        bias_a += imu.accelerometer_walk * np.sqrt(DT) * rng.normal(size=(count, 3))
        w = motion.gyroscope[k] + bias_w + imu.gyroscope_noise / np.sqrt(DT) * rng.normal(size=(count, 3))
        a = motion.accelerometer[k] + bias_a + imu.accelerometer_noise / np.sqrt(DT) * rng.normal(size=(count, 3))
        joints = run.q[k, 7:] + encoders.noise * rng.normal(size=(count, motion.robot.nq - 7))
        rates = np.broadcast_to(run.v[k, 6:], (count, motion.robot.nv - 6))
        held = stands[k] & stands[k - 1] & (k > 1)
        noises = unsettled if settling(DT, motion.accelerometer[k], held) else settled
        flags = np.tile(held.astype(float), (count, 1))
        beliefs = estimator.step(beliefs, np.full(count, DT), w, a, joints, rates, flags, noises).belief
        if k % every == 0:
            result.append(errors(motion, k, beliefs))
    return np.array(result)


def wrong_start(motion: Motion, scales: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The truth moved by an error of the prior, as the filter is told it."""
    Y = dense_filter.expm(dense_filter.algebra(scales[:9] * rng.normal(size=9))) @ truth(motion, 0)
    T = np.zeros((27, 15))  # two contacts as uncertain as the position, two soles as the orientation, the biases
    T[:9, :9], T[9:12, 6:9], T[12:15, 6:9], T[21:, 9:] = np.eye(9), np.eye(3), np.eye(3), np.eye(6)
    T[15:18, :3] = T[18:21, :3] = np.eye(3)
    P = (T * scales**2) @ T.T
    return Belief.of(Y[:3, :3], Y[:3, 3], Y[:3, 4], np.zeros((2, 3)), np.zeros(3), np.zeros(3), P).numbers


def errors(motion: Motion, k: int, beliefs: Belief) -> np.ndarray:
    """ξᵀ P⁻¹ ξ of each filter."""
    inverse, P = np.linalg.inv(truth(motion, k)), beliefs.covariance[:, :9, :9]
    R, back = beliefs.orientation, inverse[:3]
    xi = dense_filter.logs(R @ back[:, :3], beliefs.velocity + R @ back[:, 3], beliefs.position + R @ back[:, 4])
    return np.einsum("ki,ki->k", xi, np.linalg.solve(P, xi[:, :, None])[:, :, 0])
