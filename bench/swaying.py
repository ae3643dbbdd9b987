"""Estimates of a robot that sways on both feet, beside plain kinematics of its soles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.algebra import quaternions
from equipoise.algebra.rigid import inverse, pose
from equipoise.errors import EquipoiseError
from equipoise.robot import Robot, load
from equipoise.simulate.estimated import on_estimates
from equipoise.simulate.loop import simulate
from equipoise.walking.standing import Standing

Array = np.ndarray
ROBOTS = "g1", "human", "jvrc1"
SEEDS = 20
SECONDS = 20.0
GOAL_SECONDS = 1.0  # s from one goal of the centre of mass to the next
REACH = 0.03  # of the height of the centre of mass, the farthest goal from the middle of the soles along each axis
HEADING = 2  # its column among the errors


@dataclass(frozen=True)
class SwayingRow:
    """RMS errors of the base over all samples of some seeds: roll, pitch, heading (degrees), x, y, z (mm).

    Attributes:
        filter: of `eq.Estimator`.
        kinematics: of encoders and soles that stay where they were at the start.
    """

    robot: str
    seeds: int
    filter: tuple[float, ...]
    kinematics: tuple[float, ...]

    @property
    def good(self) -> bool:
        """Whether the filter's heading is at least as near to the truth as that of plain kinematics."""
        return self.filter[HEADING] <= self.kinematics[HEADING]


def run(robots: Sequence[str] = ROBOTS, seeds: int = SEEDS) -> Iterator[SwayingRow]:
    """Each robot stands on its estimates, with realistic sensors, and sways; one run for each seed."""
    for name in robots:
        standing = Standing(load(name))
        trials = [sway(standing, seed) for seed in range(seeds)]
        filtered, plain = (np.sqrt(np.mean([pair[i] ** 2 for pair in trials], axis=(0, 1))) for i in (0, 1))
        yield SwayingRow(name, seeds, tuple(map(float, filtered)), tuple(map(float, plain)))


def sway(standing: Standing, seed: int) -> tuple[Array, Array]:
    """Errors of the filter and of plain kinematics, (samples, 6) each; the centre of mass goes to random goals."""
    robot, rng = standing.robot, np.random.default_rng(seed)
    reach = REACH * float(robot.com(standing.q0)[2])
    for t in np.arange(0.0, SECONDS, GOAL_SECONDS):
        standing.sway(*rng.uniform(-reach, reach, 2), at=float(t), seconds=GOAL_SECONDS)
    options = on_estimates(robot, list(standing.contacts), forces=True) | {"actuators": None}
    swayed = simulate(robot, standing, duration=SECONDS, seed=seed, q0=standing.q0, **options)
    if swayed.outcome != "completed":
        raise EquipoiseError(f"{robot.name} with seed {seed} {swayed.outcome}: {swayed.events[-1][1]}")
    frames = [contact.frame for contact in standing.contacts]
    plain = plain_kinematics(robot, frames, swayed.q[0], swayed.readings["joints"])
    return errors(swayed.estimates["q"], swayed.q), errors(plain, swayed.q)


def plain_kinematics(robot: Robot, frames: Sequence[str], start: Array, joints: Array) -> Array:
    """Configurations (samples, nq) whose base is where soles that never move put it, the mean over them."""
    q = np.tile(start, (len(joints), 1))
    q[:, 7:] = joints
    moves = np.array([robot.pose(start, frame) @ inverse(robot.pose(q, frame)) for frame in frames])  # of the base
    base = pose(quaternions.rotation(tuple(start[3:7])), start[:3])
    placed = moves @ base
    turns = quaternions.from_rotation(placed[..., :3, :3])
    turns = (turns * np.sign((turns * turns[0]).sum(axis=-1, keepdims=True))).sum(axis=0)
    q[:, :3] = placed[..., :3, 3].mean(axis=0)
    q[:, 3:7] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    return q


def errors(q: Array, truth: Array) -> Array:
    """Roll, pitch, heading in degrees, x, y, z in mm, of configurations against the truth, (samples, 6)."""
    turn = quaternions.log(quaternions.product(tuple(q[:, 3:7].T), quaternions.conjugate(tuple(truth[:, 3:7].T))))
    return np.column_stack([*np.rad2deg(turn), *(1e3 * (q[:, :3] - truth[:, :3]).T)])
