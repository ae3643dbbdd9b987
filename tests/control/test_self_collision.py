"""Rows of the robot's own parts: none is missing, at any speed, for any number of pairs, and few are in the program."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from typing import NamedTuple

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


def test_links_are_judged_by_the_last_answer(monkeypatch):
    """Also where rows were added until the last round: its motion is looked into, not that of the round before."""
    from equipoise.control.controller import outside

    monkeypatch.setattr(outside, "ROUNDS", 2)
    monkeypatch.setattr(self_collision, "LIKELY", -1e6)  # m: no row is given to the solver at once
    of, looked = controller(), []
    inside = self_collision.PairRows.inside
    monkeypatch.setattr(self_collision.PairRows, "inside", lambda rows, x: looked.append(x) or inside(rows, x))
    for t, (q, v) in enumerate(starts(12)):
        of.reset()
        assert_allclose(of(0.1 * t, q, v).acceleration, looked[-1], rtol=0, atol=1e-9)


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


# --- rows that nearly vanish ------------------------------------------------------------------------------------------


def hinge():
    """A pole of half a metre on a hinge."""
    builder = eq.RobotBuilder("hinge", floating=False)
    builder.link("base", mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.link("pole", mass=1.0, com=(0, 0, 0.2), inertia=(0.1, 0.1, 0.05))
    builder.joint("hinge", "revolute", "base", "pole", axis=(0, 1, 0))
    return builder.build()


def test_a_row_that_nearly_vanishes_is_obeyed_or_the_status_says_no():
    """A ball flies at a pole that points at it, but for 1e-6 rad: only 1e8 rad/s² would move the tip out of its way in
    one step. As long as it can be avoided later, nothing of the kind is asked for; at the end it is told."""
    robot, dt, speed = hinge(), 1e-3, 10.0
    tip, ball = eq.Sphere((0, 0, 0.5), 0.05, "pole"), lambda t: eq.Sphere((0, 0, 1.5 - speed * t), 0.05)
    rule = eq.KeepOut(tip, lambda t: replace(ball(t), velocity=(0, 0, -speed)), gains=GAINS, name="ball")
    of = eq.WholeBodyController(robot, [eq.PostureTask(gain=0.0)], (), [rule], "acceleration", dt=dt)

    def clearance(t, q):
        return np.linalg.norm(robot.pose(q, "pole")[:3, :3] @ (0, 0, 0.5) - (0, 0, 1.5 - speed * t)) - 0.1

    q, v, k, fine = np.array([1e-6]), np.zeros(1), 0, 0
    while clearance(k * dt, q) > 0 and k < 200:
        solution = of(k * dt, q, v)
        a = solution.acceleration
        assert np.abs(a).max() < (1e3 if solution.status.ok else 1e5)
        q, v, k = robot.integrate(q, v * dt + a * dt * dt / 2), v + a * dt, k + 1
        if solution.status.ok:
            fine += 1
            nearer = (clearance(k * dt, q) - clearance(k * dt - 1e-6, robot.integrate(q, -v * 1e-6))) / 1e-6
            assert nearer >= -GAINS.fast * clearance(k * dt, q) - 1e-3  # it can still be stopped
    assert fine > 20


def test_a_step_that_enters_is_told_before_it_is_made():
    """Accelerations that bring the nearest beads into each other, or not quite; looked at from poses alone."""
    robot, rng, of, h = tripod(), np.random.default_rng(5), controller(), 1e-3
    entered = apart = 0
    for t, (q, _) in enumerate(starts(80, seed=6)):
        of(0.1 * t, q, np.zeros(robot.nv))
        k = int(gaps(q).argmin())
        slope = np.array([rates(gaps, robot, q, e)[k] for e in np.eye(robot.nv)])
        a = -slope / (slope @ slope) * rng.uniform(0.6, 2.5) * gaps(q)[k] * 2 / h**2
        told = of._outside.makers["self-collision"].inside(a)
        if "too far" in told:  # it does not claim to know
            continue
        on_the_way = [gaps(robot.integrate(q, x * a * h * h / 2)).min() for x in np.linspace(0, 1, 50)]
        assert (on_the_way[-1] < 0) <= ("inside each other in this step" in told) == bool(told) <= (min(on_the_way) < 0)
        entered, apart = entered + bool(told), apart + (not told)
    assert min(entered, apart) > 5


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


def ends_of(robot, parts, q):
    """Ends of the segments of some parts, (2 n, 3)."""
    X = {frame: robot.pose(q, frame) for frame in {part.frame for part in parts}}
    return np.array([(X[p.frame] @ (*end, 1))[:3] for p in parts for end in (p.points[0], p.points[-1])])


def fast_start(pairs, rng, q, safe=0.01, spin=40.0):
    """A random velocity of which what the gains cannot stop was taken away, and the speed of the fastest point."""
    robot, parts = pairs.robot, list({id(part): part for pair in pairs.pairs for part in pair}.values())

    def fastest(v):
        return np.linalg.norm(rates(lambda x: ends_of(robot, parts, x), robot, q, v), axis=1).max()

    v = rng.normal(size=robot.nv) * np.where(np.arange(robot.nv) < 6, 0.3, 1.0)
    v *= rng.uniform(1, SPEED) / fastest(v)
    now = pairs(q, v)
    J, stoppable = now.J, GAINS.fast * (now.value - safe)
    for _ in range(200):
        late = J @ v < -0.99 * stoppable
        if not late.any():
            break
        lacks = -0.99 * stoppable[late] - J[late] @ v + 1e-6
        v = v + J[late].T @ np.linalg.solve(J[late] @ J[late].T + 1e-9 * np.eye(late.sum()), lacks)
    v *= min(1.0, SPEED / fastest(v), spin / np.abs(v[6:]).max(), 0.999 / max((-J @ v / stoppable).max(), 1e-9))
    return v, fastest(v)


class Attack(NamedTuple):
    """What runs from random fast starts to random postures showed."""

    entered: int  # runs in which links were inside each other after steps that were all OK
    unseen: int  # overlaps at which a step was OK
    fine: float  # part of the steps that were OK
    speeds: list[float]  # of the fastest point at each start, m/s


def attack(name, runs, seed, limited, seconds=1.0, dt=1e-3):
    """Runs whose accelerations are executed exactly; capsules are measured by a formula of their own."""
    robot, rng = load(name), np.random.default_rng(seed)
    apart = eq.SelfCollision()
    watched, rest = apart.known(robot).pairs, robot.standing()
    ruler, near = Ruler(robot, watched), PairSet(robot, watched, range=0.05, most=len(watched))
    every, rules = apart.watched(robot), [eq.JointLimits(200.0)] if limited else []
    of = eq.WholeBodyController(robot, [eq.PostureTask(name="posture")], (), [*rules, apart], "acceleration", dt=dt)

    def posture():
        return np.concatenate([rest[:7], robot.random_state(rng)[0][7:]])

    entered, unseen, steps, fine, speeds = 0, 0, 0, 0, []
    for _ in range(runs):
        q = None
        while q is None:
            q = moved_apart(near, posture())
        v, speed = fast_start(every, rng, q)
        assert ruler(q).min() > 0.01
        speeds.append(speed)
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
                entered += sure
                unseen += of((k + 1) * dt, q, v).status.ok
                break
    return Attack(entered, unseen, fine / steps, speeds)


@pytest.mark.parametrize("name", ["human", "g1", "talos"])
def test_where_a_robot_stands_is_an_admitted_start(name):
    """Also where capsules are wider than the links: in these pairs they are narrower, and the controller names them."""
    robot = load(name)
    of = eq.WholeBodyController(robot, [eq.PostureTask()], (), [eq.SelfCollision()], "acceleration")
    found, known = sorted_pairs(robot), eq.SelfCollision().known(robot)
    assert len(known.pairs) == len(found.checked) + len(found.overlapping)
    for q in (robot.standing(), eq.Body.of(robot).standing):
        of.reset()
        solution = of(0.0, q, np.zeros(robot.nv))
        assert solution.status.ok and solution.margins["self-collision"] > 0
        lines = [line for line in of.start_report if "may touch unseen" in line]
        assert len(lines) == len(of.start_report) == bool(known.narrowed) + bool(known.left_out)
        counts = {f"the capsules of {len(known.narrowed)} pairs": known.narrowed}
        counts[f"leaves out {len(known.left_out)} pairs"] = known.left_out
        assert all(any(words in line for line in lines) == bool(pairs) for words, pairs in counts.items())
    given = eq.WholeBodyController(robot, [eq.PostureTask()], (), [eq.SelfCollision(found.checked[:5])], "velocity")
    given(0.0, robot.standing(), np.zeros(robot.nv))
    assert not [line for line in given.start_report if "unseen" in line]


def test_a_robot_without_pairs_is_told_that_nothing_is_watched():
    robot = hinge()
    of = eq.WholeBodyController(robot, [eq.PostureTask()], (), [eq.SelfCollision()], "acceleration")
    solution = of(0.0, np.zeros(robot.nq), np.zeros(robot.nv))
    assert solution.status.ok and "self-collision" not in solution.margins
    (line,) = of.start_report
    assert "watches nothing" in line and robot.name in line


@pytest.mark.parametrize("limited", [False, True], ids=["alone", "with limits"])
def test_a_human_that_moves_fast_keeps_its_links_apart(limited):
    found = attack("human", 6, seed=1, limited=limited, seconds=0.5)
    assert found.entered == found.unseen == 0 and found.fine > 0.99 and max(found.speeds) > 2.5


@pytest.mark.slow
@pytest.mark.parametrize("limited", [False, True], ids=["alone", "with limits"])
@pytest.mark.parametrize("name", ["human", "g1", "talos"])
def test_links_stay_apart_from_200_random_starts(name, limited):
    found = attack(name, 200, seed=2, limited=limited)
    assert found.entered == found.unseen == 0 and found.fine > 0.98
    assert np.mean(found.speeds) > 2 and max(found.speeds) > 0.9 * SPEED
