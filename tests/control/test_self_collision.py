"""Rows of the robot's own parts: none is missing, at any speed, for any number of pairs, and few are in the program."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest
from bodies import FEET, standing, tripod
from numpy.testing import assert_allclose
from support import load

import equipoise as eq
from equipoise.control.constraints import self_collision
from equipoise.control.safety import vfi
from equipoise.geometry import PairSet, sorted_pairs

Array = np.ndarray
GAINS = eq.Gains.of_rates(5.0, 20.0)
SAFE = 0.02
SPEED = 5.0  # m/s, fastest point of a random start
BEADS = [(f"{part}_{k}", z) for k in range(3) for part in ("thigh", "shank") for z in (-0.1, -0.2, -0.3)]


@cache
def beads():
    """Spheres along the legs of the tripod, and all 108 pairs of different legs."""
    spheres = [eq.Sphere((0, 0, z), 0.02, frame) for frame, z in BEADS]
    return [(a, b) for a, b in itertools.combinations(spheres, 2) if a.frame[-1] != b.frame[-1]]


def gaps(q):
    """Distances of the pairs of beads, from poses alone."""
    places = {(frame, z): (tripod().pose(q, frame) @ (0, 0, z, 1))[:3] for frame, z in BEADS}
    ends = [[places[p.frame, p.centre[2]] for p in pair] for pair in beads()]
    return np.linalg.norm(np.diff(ends, axis=1)[:, 0], axis=1) - 0.04


def rates(of, robot, q, v, h=1e-6):
    return (of(robot.integrate(q, v * h)) - of(robot.integrate(q, v * -h))) / (2 * h)


def admitted(of, robot, rng, q, safe, speed=SPEED):
    """A random velocity, slowed until the gains can stop every pair."""
    v = rng.normal(size=robot.nv) * np.where(np.arange(robot.nv) < 6, 0.3, 1.0)
    d, rate = of(q) - safe, rates(of, robot, q, v)
    v *= rng.uniform(0, speed) / np.abs(rate).max()
    fastest = np.max(-rates(of, robot, q, v) / d)
    return v * min(1.0, 0.999 * GAINS.fast / fastest) if fastest > 0 else v


def starts(count, seed=3):
    """Random states of the tripod with all pairs admitted."""
    rng, robot = np.random.default_rng(seed), tripod()
    while count:
        q = robot.integrate(standing(robot), 0.8 * rng.normal(size=robot.nv))
        if gaps(q).min() > SAFE:
            count -= 1
            yield q, admitted(gaps, robot, rng, q, SAFE)


def controller(level="acceleration", pairs=None, contacts=(), gain=8.0):
    rules = [eq.SelfCollision(beads() if pairs is None else pairs, safe=SAFE)]
    return eq.WholeBodyController(tripod(), [eq.PostureTask(standing(tripod()), gain=gain)], contacts, rules, level)


def test_every_pair_obeys_its_inequality_whatever_its_distance():
    """d̈ of all 108 pairs along the motion that was commanded, from poses alone, is at least what the gains allow."""
    robot, of, h, late = tripod(), controller(), 1e-4, 0
    for t, (q, v) in enumerate(starts(25)):
        a = of(0.1 * t, q, v).acceleration
        assert of.step is not None and of.counts["optimal"] == t + 1
        ahead, here, back = (gaps(robot.integrate(q, v * x + a * x * x / 2)) for x in (h, 0.0, -h))
        least = vfi.second_order_bound(here - SAFE, (ahead - back) / (2 * h), GAINS, 1e-3)
        d_rate_rate = (ahead - 2 * here + back) / h**2
        late += int((np.abs(d_rate_rate - least) < 0.02).sum())
        assert (d_rate_rate >= least - 1e-2 - 1e-3 * np.abs(least)).all()
    assert late > 5  # rows were active


def test_velocities_keep_every_pair_apart():
    of, late = controller("velocity"), 0
    for t, (q, v) in enumerate(starts(10)):
        of.set("posture", target=tripod().integrate(q, 0.5 * v), gain=8.0)
        solution = of(0.1 * t, q, v)
        found, least = rates(gaps, tripod(), q, solution.velocity), -GAINS.slow * (gaps(q) - SAFE)
        late += bool(solution.active)
        assert solution.status.ok and (found >= least - 1e-4 * (1 + np.abs(least))).all()
    assert late > 5


@pytest.mark.parametrize("level", ["velocity", "acceleration", "torque"])
def test_rows_left_out_change_nothing(level, monkeypatch):
    """The answer is that of the program with the rows of all pairs, also where states jump and contacts change."""
    contacts = [eq.PointContact(foot) for foot in FEET] if level == "torque" else ()
    few = controller(level, contacts=contacts)
    monkeypatch.setattr(self_collision, "LIKELY", np.inf)
    every = controller(level, contacts=contacts)
    sizes = []
    for t, (q, v) in enumerate(starts(12)):
        for k, each in enumerate((few, every)):
            monkeypatch.setattr(self_collision, "LIKELY", (0.05, np.inf)[k])
            if contacts:
                each.set_contacts(FEET[: t % 4])
            if level == "velocity":
                each.set("posture", target=tripod().integrate(q, 2 * v), gain=20.0)
        monkeypatch.setattr(self_collision, "LIKELY", 0.05)
        one = few(0.1 * t, q, v)
        monkeypatch.setattr(self_collision, "LIKELY", np.inf)
        other = every(0.1 * t, q, v)
        assert one.status is other.status
        sizes.append([len(solution.step.outside["self-collision"].keys) for solution in (one, other)])
        if one.status.ok:
            assert_allclose(one.step.x, other.step.x, rtol=0, atol=1e-6 * np.abs(other.step.x).max())
            assert set(one.active) == set(other.active)
    assert np.array(sizes)[:, 1].min() == 108 > np.array(sizes)[:, 0].max()


def test_two_sets_of_pairs_are_one():
    first, second = (eq.SelfCollision(beads()[k::2], safe=SAFE, name=f"set {k}") for k in (0, 1))
    task = [eq.PostureTask(standing(tripod()), gain=8.0)]
    both = eq.WholeBodyController(tripod(), task, (), [first, second], "acceleration")
    one = controller()
    for t, (q, v) in enumerate(starts(10, seed=4)):
        a = one(0.1 * t, q, v).acceleration
        assert_allclose(both(0.1 * t, q, v).acceleration, a, rtol=0, atol=1e-6 * np.abs(a).max())


def test_few_pairs_of_a_robot_at_rest_are_in_the_program():
    robot, q = tripod(), standing(tripod())
    solution = controller()(0.0, q, np.zeros(robot.nv))
    rows = solution.step.outside["self-collision"]
    assert solution.status.ok and len(rows.keys) < 10 < len(rows.margins) == 108
    assert solution.margins["self-collision"] == pytest.approx(gaps(q).min() - SAFE, abs=1e-12)


def test_feet_that_race_together_are_stopped():
    """At 6 m/s, farther apart than any pair that stands needs to be looked at."""
    robot, dt = tripod(), 1e-3
    feet = [eq.Sphere((0, 0, 0), 0.02, foot) for foot in FEET[:2]]

    def apart(q):
        return np.linalg.norm(robot.pose(q, FEET[0])[:3, 3] - robot.pose(q, FEET[1])[:3, 3]) - 0.04

    q = standing(robot)
    slope = np.array([rates(apart, robot, q, e) for e in np.eye(robot.nv)])
    v = -6.0 * slope / (slope @ slope)
    of = controller(pairs=[tuple(feet)], gain=0.1)
    assert of(0.0, q, v).status.ok and not of.start_report and apart(q) > 0.3
    least = np.inf
    for k in range(400):
        a = of(k * dt, q, v).acceleration
        q, v = robot.integrate(q, v * dt + a * dt * dt / 2), v + a * dt
        least = min(least, apart(q) - SAFE)
    assert least > -1e-4 and of.counts["optimal"] == 401


def test_a_safe_distance_that_grows_pushes_ahead():
    """Growing by 0.5 m/s: without its rate in the row it overtakes the feet by 100 mm."""
    robot, q, dt = tripod(), standing(tripod()), 1e-3
    feet = tuple(eq.Sphere((0, 0, 0), 0.02, foot) for foot in FEET[:2])
    of = eq.WholeBodyController(
        robot,
        [eq.PostureTask()],
        (),
        [eq.SelfCollision([feet], safe=lambda t: (0.3 + 0.5 * t, 0.5, 0.0), gains=GAINS)],
        "acceleration",
    )
    v, least = np.zeros(robot.nv), np.inf
    for k in range(600):
        solution = of(k * dt, q, v)
        least = min(least, solution.margins["self-collision"])
        a = solution.acceleration
        q, v = robot.integrate(q, v * dt + a * dt * dt / 2), v + a * dt
    assert 0 < least < 0.05 and solution.active


def test_parts_inside_each_other_are_not_called_fine():
    robot, q = tripod(), standing(tripod())
    wide = [tuple(eq.Sphere((0, 0, 0), 0.3, foot) for foot in FEET[:2])]
    of = controller(pairs=wide)
    solution = of(0.0, q, np.zeros(robot.nv))
    assert solution.status.value == "overlapping" and not solution.status.ok and not solution.status.fallback
    assert of.counts["overlapping"] == 1 and "inside each other" in solution.explain()
    assert solution.step.outside["self-collision"].rates[0] == 0 < np.abs(solution.acceleration).max()


# --- whole robots -----------------------------------------------------------------------------------------------------


def point_to_segment(p, ends):
    span = ends[:, 1] - ends[:, 0]
    square = (span * span).sum(1)
    u = (((p - ends[:, 0]) * span).sum(1) / np.where(square > 0, square, 1.0)).clip(0, 1)
    return np.linalg.norm(p - ends[:, 0] - u[:, None] * span, axis=1)


class Ruler:
    """Distances of capsules by an own formula: ends against segments, and the common normal where it meets both."""

    def __init__(self, robot, pairs):
        self.robot = robot
        parts = list(dict.fromkeys(p for pair in pairs for p in pair))
        place = {p: k for k, p in enumerate(parts)}
        self.frames = sorted({p.frame for p in parts})
        self.of = [self.frames.index(p.frame) for p in parts]
        self.local = np.array([[p.points[0], p.points[-1]] for p in parts])
        self.sides = np.array([[place[a], place[b]] for a, b in pairs]).T
        self.radii = np.array([p.thickness or 0.0 for p in parts])[self.sides].sum(0)

    def __call__(self, q):
        X = np.stack([self.robot.pose(q, frame) for frame in self.frames])[self.of]
        P, Q = (np.einsum("nij,nkj->nki", X[:, :3, :3], self.local) + X[:, None, :3, 3])[self.sides]
        ends = [point_to_segment(A[:, k], B) for A, B in ((P, Q), (Q, P)) for k in (0, 1)]
        a, b, r = P[:, 1] - P[:, 0], Q[:, 1] - Q[:, 0], P[:, 0] - Q[:, 0]
        n = np.cross(a, b)
        square = (n * n).sum(1)
        crossing = square > 1e-18 * (a * a).sum(1) * (b * b).sum(1)
        square = np.where(crossing, square, 1.0)
        s, u = (np.einsum("ij,ij->i", np.cross(-r, x), n) / square for x in (b, a))
        crossing &= (s >= 0) & (s <= 1) & (u >= 0) & (u <= 1)
        across = np.where(crossing, np.abs((r * n).sum(1)) / np.sqrt(square), np.inf)
        return np.minimum.reduce([*ends, across]) - self.radii


def moved_apart(pairs, q, least=0.0102, steps=80):
    """The posture with all pairs farther apart than `least`, by steps within joint limits; None where they fail.

    Of 100,000 random postures of Talos none has all its pairs 10 mm apart.
    """
    robot, limits = pairs.robot, pairs.robot.limits
    single = [joint for joint in robot.joints.values() if joint.type.nq == 1 and joint.mimic is None]
    at, of = np.array([joint.q.start for joint in single]), np.array([joint.v.start for joint in single])
    for _ in range(steps):
        near = pairs(q, np.zeros(robot.nv))
        late = near.value < least
        if not late.any():
            return q
        J, lacks = near.J[late][:, of], least + 1e-4 - near.value[late]
        move = J.T @ np.linalg.solve(J @ J.T + 1e-3 * np.eye(len(J)), lacks)
        q = q.copy()
        q[at] = np.clip(q[at] + move * min(1.0, 0.3 / np.abs(move).max()), limits.lower[at], limits.upper[at])
    return None


def penetrations(name, runs, seed, seconds=1.5, dt=1e-3):
    """Runs from random admitted starts to random postures in which links were inside each other and no step before
    had said that constraints were relaxed; the part of the steps that were OK; and OK steps with an overlap."""
    robot, rng = load(name), np.random.default_rng(seed)
    checked = sorted_pairs(robot).checked
    ruler, rest = Ruler(robot, checked), robot.standing()
    pairs = PairSet(robot, checked, range=0.05, most=len(checked))
    tasks, rules = [eq.PostureTask(name="posture")], [eq.JointLimits(200.0), eq.SelfCollision()]
    of = eq.WholeBodyController(robot, tasks, (), rules, "acceleration", dt=dt)

    def posture():
        return np.concatenate([rest[:7], robot.random_state(rng)[0][7:]])

    bad, steps, fine, false = 0, 0, 0, 0
    for _ in range(runs):
        q = None
        while q is None:
            q = moved_apart(pairs, posture())
        assert ruler(q).min() > 0.01
        v = admitted(ruler, robot, rng, q, 0.01)
        of.reset()
        sure = True
        of.set("posture", target=posture(), gain=rng.uniform(3, 15))
        for k in range(int(seconds / dt)):
            solution = of(k * dt, q, v)
            sure &= solution.status.ok
            assert k or not [line for line in of.start_report if "approaches" in line or "outside" in line]
            q, v = robot.integrate(q, v * dt + solution.acceleration * dt**2 / 2), v + solution.acceleration * dt
            steps, fine = steps + 1, fine + solution.status.ok
            if k % 5 == 0 and ruler(q).min() < 0:
                bad += sure
                false += of((k + 1) * dt, q, v).status.ok
                break
    return bad, fine / steps, false


def test_pairs_that_are_left_out_are_counted():
    """Capsules of G1's torso and upper arms overlap at rest: those links may collide, and nobody looks."""
    robot = load("g1")
    lines = []
    for pairs in (None, sorted_pairs(robot).checked[:5]):
        of = eq.WholeBodyController(robot, [eq.PostureTask()], (), [eq.SelfCollision(pairs)], "acceleration")
        of(0.0, robot.standing(), np.zeros(robot.nv))
        lines.append([line for line in of.start_report if "leaves out" in line])
    left_out = len(sorted_pairs(robot).overlapping)
    assert len(lines[0]) == 1 and f"leaves out {left_out} pairs" in lines[0][0] and lines[1] == []


def test_a_human_that_moves_fast_keeps_its_links_apart():
    bad, fine, false = penetrations("human", 3, seed=1, seconds=0.4)
    assert bad == false == 0 and fine > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["human", "g1", "talos"])
def test_links_stay_apart_from_200_random_starts(name):
    bad, fine, false = penetrations(name, 200, seed=2)
    assert bad == false == 0 and fine > 0.9
