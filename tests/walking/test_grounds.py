"""Grounds are what they say: level where the robot starts, then as high as they should be; and robots walk over
them."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest

import equipoise as eq
from bench.courses import TREAD, stairs
from bench.grounds import DEEP, GROUNDS, LEVEL, RISE, ROUGH, TILT, boxes, walk_on
from equipoise.simulate.walk_trials import DELAY, NOISE, varied_plant
from equipoise.walking.footsteps import Footstep, beside
from equipoise.walking.gait import Place


@functools.cache
def made(name: str) -> eq.Walking:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eq.Walking(eq.load(name))


def top(made, x: float) -> float:
    """m, the height of the ground at (x, 0), from the boxes' own poses."""
    heights = []
    for box in made:
        normal, middle = box.X[:3, 2], box.X[:3, 3]
        z = middle[2] + DEEP / 2 / normal[2] - normal[0] / normal[2] * (x - middle[0])
        inside = box.X[:3, :3].T @ (np.array([x, 0.0, z]) - middle)
        if (np.abs(inside[:2]) <= box.size[:2] / 2 + 1e-9).all():
            heights.append(z)
    return max(heights)


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_it_is_level_where_the_robot_starts(ground, seed):
    assert abs(top(boxes(ground, seed), 0.0)) < 1e-12


def test_heights_are_those_asked_for():
    far = LEVEL + 1.0
    assert top(boxes("step", 0), far) == pytest.approx(RISE) and top(boxes("step", 1), far) == pytest.approx(-RISE)
    assert top(boxes("slope", 0), far) == pytest.approx(np.tan(TILT)) and top(boxes("slope", 1), far) == pytest.approx(
        -np.tan(TILT)
    )
    heights = [top(boxes("uneven", 3), LEVEL + 0.2 + 0.4 * k) for k in range(10)]
    assert max(np.abs(heights)) <= ROUGH and np.ptp(heights) > ROUGH
    assert heights != [top(boxes("uneven", 4), LEVEL + 0.2 + 0.4 * k) for k in range(10)]


@pytest.mark.parametrize("ground, seed", [("step", 0), ("step", 1), ("slope", 0), ("slope", 1), ("uneven", 3)])
def test_there_is_ground_under_every_point(ground, seed):
    """Also where boxes meet: a point of a sole that is pressed into the edge of a higher box stands on a lower one."""
    made_of = boxes(ground, seed)
    for x in (*np.linspace(-0.5, 3.0, 71), LEVEL, LEVEL - 1e-4, LEVEL + 1e-4):
        under = [
            b
            for b in made_of
            if abs((b.X[:3, :3].T @ (np.array([x, 0.0, -0.2]) - b.X[:3, 3]))[0]) < b.size[0] / 2 - 1e-3
        ]
        assert under, x


def climbed(walker: eq.Walking, rise: float, count: int, seconds: float):
    """A run up so many treads, both feet on each; known to the plan."""
    half = float(walker.machine.soles[0][:, 0].max())
    depth = max(TREAD, 2 * half + 0.02)
    steps, x = list[Footstep](), half + depth / 2 + 0.05
    for k in range(count):
        steps += [
            Footstep(foot, beside(Place(x + k * depth, 0.0, 0.0), foot, walker.gait.width), rise * (k + 1))
            for foot in (0, 1)
        ]
    walker.forget_commands().reset()
    walker.follow(steps)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plant = varied_plant(walker, 0, obstacles=stairs(steps, depth))
        return eq.simulate(walker.robot, walker, plant, seconds, q0=walker.q0, noise=NOISE, delay=DELAY)


def test_a_human_climbs_a_tread_that_it_knows():
    """9 cm up, both feet: its sole has 1 cm to spare at each end, so that the plan must not move the steps."""
    walker = made("human")
    run = climbed(walker, 0.09, 1, 3.2)
    assert run.outcome == "completed" and walker.machine.state.queue == []
    heights = [X[2, 3] for X in walker.whole_body.soles(run.q[-1])]
    assert np.abs(np.array(heights) - 0.09).max() < 5e-3
    assert walker.robot.com(run.q[-1])[2] > walker.gait.height + 0.09 - 0.02


def test_a_human_walks_down_a_step_that_it_does_not_know():
    """5 cm down after 0.6 m: its foot misses the ground, is sent on, and the body follows it down."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trial = walk_on(made("human"), "step", 1, 3.6)
    assert trial.run.outcome == "completed" and trial.went > LEVEL
    assert min(X[2, 3] for X in made("human").whole_body.soles(trial.run.q[-1])) < -RISE + 5e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["human", "g1"])
@pytest.mark.parametrize("ground", [ground for ground in GROUNDS if ground != "soft"])
def test_robots_walk_over_grounds_that_they_do_not_know(name, ground):
    """Two of the first three seeds: falls are left, on uneven ground most of all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        good = [walk_on(made(name), ground, seed).good for seed in range(3)]
    assert sum(good) >= 2, good


@pytest.mark.slow
@pytest.mark.parametrize("name, rise", [("human", 0.09), ("jvrc1", 0.08), ("g1", 0.05)])
def test_robots_climb_stairs(name, rise):
    run = climbed(made(name), rise, 4, 9.0)
    assert run.outcome == "completed" and made(name).mode == "stand"
    assert min(X[2, 3] for X in made(name).whole_body.soles(run.q[-1])) > 4 * rise - 5e-3
