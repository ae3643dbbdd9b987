"""Robots, bodies, runs, controllers and estimators come back from a process pool as they went."""

from __future__ import annotations

import copy
import functools
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import equipoise as eq
from equipoise.simulate.estimated import on_estimates

WAYS = {"pickle": lambda x: pickle.loads(pickle.dumps(x)), "copy": copy.copy, "deepcopy": copy.deepcopy}
ways = pytest.mark.parametrize("again", WAYS.values(), ids=WAYS)
FIRST, LAST = 600, 640  # calls before the copy is made, and after it


@functools.cache
def walked() -> tuple[eq.Run, eq.Walking]:
    """A quadruped that starts to walk on estimates, so that there are readings of sensors."""
    walker = eq.Walking(eq.load("quadruped"))
    walker.command(0.2, 0.0, 0.1, at=0.1)
    options = on_estimates(walker.robot, walker.contacts)
    return eq.simulate(walker.robot, walker, duration=LAST * 1e-3, seed=3, **options), walker


def called(controller, run: eq.Run, begin: int, end: int) -> np.ndarray:
    """Torques of a controller for the states of a run."""
    return np.array([controller(run.t[k], run.q[k], run.v[k]).torque for k in range(begin, end)])


@ways
def test_a_walker_goes_on_in_its_copy(again):
    """In the middle of a step; calls of one do not change the other."""
    run, walker = walked()
    walker.reset()
    called(walker, run, 0, FIRST)
    twin = again(walker)
    assert twin is not walker and twin.robot.tree.digest == walker.robot.tree.digest
    assert walker.mode == twin.mode == "step"
    torques = called(walker, run, FIRST, LAST)
    assert np.ptp(torques, axis=0).max() > 1.0
    assert_allclose(called(twin, run, FIRST, LAST), torques, atol=1e-4 * np.abs(torques).max())


@ways
def test_a_standing_goes_on_in_its_copy(again):
    run, _ = walked()
    standing = eq.Standing(eq.load("quadruped"))
    standing.squat(0.05, at=0.1)
    called(standing, run, 0, 200)
    twin = again(standing)
    twin.squat(0.0, at=0.25)
    torques = called(standing, run, 200, 300)
    assert_allclose(called(twin, run, 200, 249), torques[:49], atol=1e-4 * np.abs(torques).max())
    assert np.abs(called(twin, run, 249, 300) - torques[49:]).max() > 0.1


@ways
def test_an_estimator_goes_on_in_its_copy(again):
    run, walker = walked()
    estimator = on_estimates(walker.robot, walker.contacts)["estimator"]
    estimator.reset(run.q[0], run.v[0], t=0.0)
    names = ("gyroscope", "accelerometer", "joints", "joint_rates", "torques")

    def fed(one, begin, end):
        return np.array(
            [np.concatenate(one(run.t[k], *(run.readings[n][k] for n in names))) for k in range(begin, end)]
        )

    fed(estimator, 0, 300)
    twin = again(estimator)
    assert_array_equal(fed(twin, 300, 400), fed(estimator, 300, 400))


@ways
def test_runs_and_bodies_are_the_same_and_sealed(again):
    run, walker = walked()
    twin = again(run)
    assert_array_equal(twin.q, run.q)
    assert twin.events == run.events and twin.outcome == run.outcome and set(twin.readings) == set(run.readings)
    with pytest.raises(ValueError, match="read-only"):
        twin.q[0] = 0.0
    with pytest.raises(TypeError):
        twin.readings["x"] = 1
    body = again(walker.body)
    assert_array_equal(body.standing, walker.body.standing)
    assert dict(body.frames) == dict(walker.body.frames) and list(body.feet) == list(walker.body.feet)
    with pytest.raises(TypeError):
        body.frames["x"] = "y"


def _short_run(seconds: float) -> eq.Run:
    standing = eq.Standing(eq.load("quadruped"))
    return eq.simulate(standing.robot, standing, duration=seconds)


@pytest.mark.slow
def test_runs_come_back_from_a_process_pool():
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        (run,) = pool.map(_short_run, [0.05])
    assert_array_equal(run.q, _short_run(0.05).q)
