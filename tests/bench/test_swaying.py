"""The bench of swaying: plain kinematics are exact where a sole stays in place, and the verdict can say no."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import equipoise as eq
from bench.swaying import HEADING, SwayingRow, errors, plain_kinematics
from equipoise.algebra import quaternions
from equipoise.algebra.rigid import inverse


def test_a_sole_that_stays_gives_the_base_exactly(rng):
    robot = eq.load("human")
    q = np.array([robot.random_state(rng)[0] for _ in range(5)])
    start = q[0]
    fixed = robot.pose(start, "left_foot") @ inverse(robot.pose(q, "left_foot"))
    truth = q.copy()  # the same joints, the foot where it was
    truth[:, :3] = np.einsum("kij,kj->ki", fixed[:, :3, :3], q[:, :3]) + fixed[:, :3, 3]
    turns = np.array([quaternions.rotation(tuple(row[3:7])) for row in q])
    truth[:, 3:7] = quaternions.from_rotation(fixed[:, :3, :3] @ turns)
    assert_allclose(errors(plain_kinematics(robot, ["left_foot"], start, q[:, 7:]), truth), 0, atol=1e-9)


def test_errors_are_turns_in_degrees_and_ways_in_millimetres():
    truth = np.array([[1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0]])
    turned = np.array([[1.001, 2.002, 2.997, *quaternions.exp((0.0, 0.0, np.deg2rad(5.0)))]])
    assert_allclose(errors(turned, truth), [[0, 0, 5.0, 1.0, 2.0, -3.0]], atol=1e-9)


@pytest.mark.parametrize(("heading", "good"), [(0.9, True), (1.0, True), (1.1, False), (np.nan, False)])
def test_the_verdict_is_that_of_the_heading(heading, good):
    ours = [9.0] * 6
    ours[HEADING] = heading
    assert SwayingRow("g1", 20, tuple(ours), (1.0,) * 6).good is good
