"""The benchmark of controllers without any peer: the problem as data, the protocol, what is around it."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from bench.control import benchmark, checks, children, pinocchio_order, scene
from bench.control.children import Child, PeerError, PeerKind
from bench.control.problem import PROBLEMS, BenchProblem
from bench.control.protocol import Contender, time_cycles
from equipoise.model import library

# A peer that doubles its state; state 2 fails, and it prints where answers should be.
FAKE = """
import os
from bench.control.protocol import Contender, serve

def build(scene):
    os.write(1, b"a library's banner\\n")
    states = [(x,) for x in scene["q"]]
    def solution(k):
        if k == 2:
            raise ValueError("singular")
        return {"status": "solved", "velocity": 2 * scene["q"][k]}
    return Contender(lambda x: 2 * x, states, solution, {"peer": "fake"})

serve(build)
"""


@pytest.fixture
def fake(tmp_path):
    """The command line of the fake peer, started as real ones are: in a package without our dependencies."""
    command = children.command_of(PeerKind("none", (), "fake"), sys.executable)
    program = tmp_path / "fake.py"
    program.write_text(FAKE)
    command[2] = command[2].replace(
        'runpy.run_module(module, run_name="__main__")', f"runpy.run_path({str(program)!r})"
    )
    return command


needs_talos = pytest.mark.skipif(library.find("talos") is None, reason="example-robot-data is not installed")


@pytest.fixture(scope="module")
def talos():
    return scene.build(PROBLEMS["talos, none active"], count=12)


# --- problems --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))
def test_a_problem_survives_json(problem):
    again = BenchProblem.from_plain(json.loads(json.dumps(problem.as_plain())))
    assert again == problem
    assert again.corners == problem.corners


def test_twenty_joints_are_held_back_in_the_pushed_problem():
    """Each wants to be faster than its limit by more than the states' own speed, 0.03 rad/s, can undo."""
    problem = PROBLEMS["talos, twenty active"]
    assert len(problem.velocity_limit) == 20
    reached = {name: problem.dt * problem.joints.kp * abs(x) for name, x in problem.posture_offset.items()}
    assert all(reached[name] > limit + 0.03 for name, limit in problem.velocity_limit.items())


# --- scenes ----------------------------------------------------------------------------------------------------------


@needs_talos
def test_states_keep_both_soles_still_and_flat(talos):
    for q, v in zip(talos.q, talos.v, strict=True):
        for sole in talos.problem.feet:
            np.testing.assert_allclose(talos.robot.pose(q, sole), talos.frames[sole], atol=1e-11)
            np.testing.assert_allclose(talos.robot.velocity(q, v, sole), 0, atol=1e-13)
            assert talos.frames[sole][2, 3] == pytest.approx(0, abs=1e-12)
    assert np.linalg.norm(talos.v[:, :6], axis=1).min() > 1e-4  # the base moves


@needs_talos
def test_shuffling_only_reorders(talos):
    other = scene.build(talos.problem, count=12, shuffled=True)
    assert not np.array_equal(other.q, talos.q)
    order = np.lexsort(other.q.T), np.lexsort(talos.q.T)
    np.testing.assert_array_equal(other.q[order[0]], talos.q[order[1]])
    np.testing.assert_array_equal(other.v[order[0]], talos.v[order[1]])


@pytest.mark.parametrize("name", ["talos, none active", "jvrc1", "g1 velocities"])
def test_states_are_within_limits_and_slow(name):
    problem = PROBLEMS[name]
    if library.find(problem.robot) is None:
        pytest.skip(f"no package brings {problem.robot}")
    on = scene.build(problem, count=20)
    assert np.all((on.q[:, 7:] > on.lower) & (on.q[:, 7:] < on.upper))
    assert np.abs(on.v[:, 6:]).max() < 0.03


@needs_talos
def test_limits_follow_the_problem(talos):
    name = "arm_left_4_joint"
    problem = replace(talos.problem, effort_scale={name: 0.5}, velocity_limit={name: 0.1}, posture_offset={name: 0.2})
    changed = scene.build(problem, count=1)
    k = talos.robot.joints[name].v.start - 6
    assert changed.effort[k] == 0.5 * talos.effort[k] and changed.velocity[k] == 0.1
    assert changed.posture[k] == pytest.approx(talos.posture[k] + 0.2, abs=1e-15)
    others = np.arange(len(talos.effort)) != k
    np.testing.assert_array_equal(changed.effort[others], talos.effort[others])
    np.testing.assert_array_equal(changed.velocity[others], talos.velocity[others])


@needs_talos
def test_the_file_for_peers_is_the_same_robot(talos):
    """Pinocchio reads what peers read; its dynamics are ours, joint by joint, and so is the order of conversion."""
    pin = pytest.importorskip("pinocchio")
    plain = json.loads(json.dumps(talos.as_plain()))
    model = pin.buildModelFromXML(plain["urdf"], pin.JointModelFreeFlyer())
    model.gravity.linear = np.array(talos.problem.gravity)
    data, order = model.createData(), pinocchio_order.PinocchioOrder.of(model, plain["joints"])
    rng = np.random.default_rng(1)
    q, v = talos.robot.random_state(rng)
    theirs = order.state(q, v)
    a_theirs = rng.normal(size=model.nv)
    a = order.acceleration_back(q, v, a_theirs)
    np.testing.assert_allclose(order.velocity_back(q, theirs[1]), v, atol=1e-13)
    force = talos.robot.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(order.joints_back(pin.rnea(model, data, *theirs, a_theirs)[6:]), force[6:], atol=1e-9)


# --- checks ----------------------------------------------------------------------------------------------------------


@needs_talos
def test_checks_accept_a_true_solution_and_count_its_active_rows(talos):
    robot, k = talos.robot, 3
    q, v, a = talos.q[k], talos.v[k], np.random.default_rng(0).normal(size=talos.robot.nv)
    J = np.concatenate([robot.jacobian(q, sole) for sole in talos.problem.feet])
    need = robot.inverse_dynamics(q, v, a)
    F = np.linalg.pinv(J[:, :6].T) @ need[:6]
    solution = {"status": "solved", "acceleration": a, "torque": (need - J.T @ F)[6:]}
    solution["wrenches"] = dict(zip(talos.problem.feet, F.reshape(2, 6), strict=True))
    assert checks.dynamics_residual(talos, k, solution) < 1e-9
    solution["torque"][4] += 0.5
    assert checks.dynamics_residual(talos, k, solution) == pytest.approx(0.5, abs=1e-9)
    solution["torque"][:] = 0
    solution["torque"][[1, 5]] = talos.effort[[1, 5]] * [1, -1]
    a[6:] = 0
    a[8] = (talos.velocity[2] - v[8]) / talos.problem.dt
    found = checks.active(talos, k, solution)
    assert (found["torque"], found["velocity"]) == (2, 1)


@needs_talos
def test_corner_forces_and_their_wrench_are_one_load(talos):
    mu = talos.problem.friction
    corners = np.array([[10, 0, 100], [mu * 100, 0, 100], [mu * 50, -mu * 50, 50], [0, 0, 0]], dtype=float)
    solution = {
        "torque": np.zeros(32),
        "acceleration": np.zeros(38),
        "corners": dict.fromkeys(talos.problem.feet, corners),
    }
    assert checks.active(talos, 0, solution)["force"] == 2 * (0 + 1 + 2 + 3)
    F = checks.sole_wrenches(talos, 0, solution)["left_sole"]
    R = talos.frames["left_sole"][:3, :3]
    moment = sum(np.cross(p, f) for p, f in zip(np.array(talos.problem.corners), corners, strict=True))
    np.testing.assert_allclose(F, np.concatenate([R @ corners.sum(axis=0), R @ moment]), atol=1e-9)


# --- protocol --------------------------------------------------------------------------------------------------------


def test_a_peer_answers_times_and_solutions_whatever_it_prints(fake):
    with Child(fake, {"q": [1.0, 2.0, 3.0, 4.0]}) as child:
        assert child.facts == {"peer": "fake"}
        assert child.solve(3) == {"status": "solved", "velocity": 8.0}
        answer = child.time(2, 5)
        assert len(answer["ns"]) == len(answer["taken"]) == 5 and min(answer["ns"]) > 0
        assert len(answer["probes"]) == 2 and min(answer["probes"]) > 0


def test_a_peer_that_fails_is_told_apart_from_one_that_ends(fake):
    with Child(fake, {"q": [1.0, 2.0, 3.0]}) as child:
        with pytest.raises(PeerError, match="ValueError: singular"):
            child.solve(2)
        with pytest.raises(PeerError, match=r"unknown request 'dance'; there are time, solve and quit"):
            child.ask({"do": "dance"})
        assert child.solve(0)["velocity"] == 2.0  # still there
    with pytest.raises(PeerError, match="KeyError"):
        Child(fake, {"no states": 1})
    with pytest.raises(PeerError, match=r"ended \(exit code 3\)"):
        Child([sys.executable, "-c", "raise SystemExit(3)"], {"more than a pipe holds": "x" * 1_000_000})


def test_cycles_run_on_consecutive_states_and_wrap_around():
    seen = []
    contender = Contender(lambda x: seen.append(x), [(k,) for k in range(5)], lambda k: {})
    answer = time_cycles(contender, 3, 4)
    assert seen == [0, 1, 2, 3, 4, 0, 1]  # three to warm up, then four
    assert len(answer["ns"]) == 4


# --- benchmark --------------------------------------------------------------------------------------------------------


class Clock:
    """A contender that says how long it took."""

    def __init__(self, nanoseconds, slow=()):
        self.nanoseconds, self.slow, self.calls, self.firsts = nanoseconds, slow, 0, []

    def time(self, first, count):
        self.calls += 1
        self.firsts.append(first)
        bad = self.calls - 2 in self.slow  # the first call is the warm-up
        times = [(9 if bad else 1) * self.nanoseconds] * count
        taken = [0] * count
        times[0], taken[0] = 1e9, 1  # another process had the core
        return {"ns": times, "taken": taken, "probes": [1e-5, 2e-5 if bad else 1e-5]}

    def solve(self, state):
        return {"status": "solved"}


def test_only_quiet_turns_and_unbroken_cycles_count():
    runners = {"ours": Clock(50e3, slow=(1, 4)), "peer": Clock(100e3, slow=(2,))}
    turns = benchmark.take_turns(runners, 12, 200)
    assert turns.quiet["ours"].tolist() == [k not in (1, 4) for k in range(12)]
    result = benchmark._result("p", "ours", turns, ["peer"], benchmark._Look(None, None, 0))
    assert result.microseconds == result.p99 == pytest.approx(50)
    assert result.ratios["peer"] == pytest.approx((0.5, 0.5, 0.5))
    assert (result.clean, result.rounds, result.fastest, result.trustworthy) == (10, 12, "peer", True)
    assert runners["ours"].firsts == runners["peer"].firsts  # the same states


def test_a_ratio_from_few_quiet_turns_is_of_quiet_turns_and_says_so():
    loud = {"ours": tuple(range(7)), "peer": tuple(range(6, 12))}
    turns = benchmark.take_turns({"ours": Clock(50e3, loud["ours"]), "peer": Clock(100e3, loud["peer"])}, 12, 200)
    result = benchmark._result("p", "ours", turns, ["peer"], benchmark._Look(None, None, 0))
    assert result.ratios["peer"] == pytest.approx((0.5, 0.5, 0.5))
    assert result.clean == 5 and not result.trustworthy


@needs_talos
def test_ours_races_without_peers(talos):
    calls = []

    def build():
        return lambda q, v: calls.append((q, v))

    (result,) = benchmark.benchmark(talos, [], {"nothing": build}, rounds=3)
    assert (result.contender, result.problem, result.ratios, result.failures) == ("nothing", talos.problem.name, {}, 0)
    assert result.microseconds > 0 and result.active is None
    assert any(np.array_equal(q, talos.q[5]) and np.array_equal(v, talos.v[5]) for q, v in calls)


def test_every_peer_has_a_module_that_serves_it():
    for level in benchmark.RIVALS.values():
        for name in level:
            kind = children.PEERS[name]
            assert (children.Path(children.__file__).parent / f"{kind.module}.py").is_file()
            assert kind.packages
