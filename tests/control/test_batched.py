"""Many quadratic programs at once: certified, and equal to the controller's own answers."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import equipoise as eq
from equipoise.control import qp
from equipoise.control.controller import batched
from equipoise.control.controller.batched import BatchedController, ControllerFileError
from equipoise.control.item import TaskError
from equipoise.control.qp.batch_programs import Programs, certificate, solve_batch


@pytest.fixture(scope="module")
def standing():
    robot = eq.load("quadruped")
    feet = [name for name in robot.frames if name.endswith("_foot")]
    tasks = [eq.CoMTask(gain=3.0), eq.PostureTask(weight=0.1)]
    limits = [eq.TorqueLimits(), eq.JointLimits()]
    controller = eq.WholeBodyController(
        robot, tasks, [eq.PointContact(foot) for foot in feet], limits, slip_limit=np.inf
    )
    controller(0.0, robot.standing(), np.zeros(robot.nv))
    return robot, controller


@pytest.fixture(scope="module")
def human():
    robot = eq.load("human")
    feet = ("left_foot", "right_foot")
    corners = {f: np.array([robot.frames[f"{f}_corner_{k}"].X[:2, 3] for k in range(4)]) for f in feet}
    contacts = [eq.FlatContact(f, corners=corners[f], friction=0.6) for f in feet]
    limits = [eq.TorqueLimits(), eq.JointLimits()]
    tasks = [eq.CoMTask(), eq.PostureTask(weight=0.1)]
    controller = eq.WholeBodyController(robot, tasks, contacts, limits, slip_limit=np.inf)
    controller(0.0, robot.standing(), np.zeros(robot.nv))
    return robot, controller


def states(robot, count, size, rng):
    q = np.stack([robot.integrate(robot.standing(), size * rng.normal(size=robot.nv)) for _ in range(count)])
    return q, 10 * size * rng.normal(size=(count, robot.nv))


def problem(p, k):
    """One of them as the single solver takes it."""
    A, lower, upper = np.vstack((p.E[k], p.A[k])), np.r_[p.e[k], p.lower[k]], np.r_[p.e[k], p.upper[k]]
    return qp.QuadraticProgram(p.H[k], p.f[k], A, lower, upper)


def drawn(count, n=12, equalities=3, rows=30, seed=0, reach=1.0):
    """Random programs with bounds of all kinds; `reach` of the bounds around a point that satisfies the equalities."""
    rng = np.random.default_rng(seed)
    R, E, A = (rng.normal(size=(count, m, n)) for m in (4, equalities, rows))
    scale = 10.0 ** rng.uniform(-2, 1, n)  # unknowns of very different weight, as accelerations and forces have
    H = R.swapaxes(1, 2) @ R + np.diag(scale)
    inside = rng.normal(size=(count, n))
    value = np.einsum("bmn,bn->bm", A, inside)
    lower, upper = value - reach * rng.uniform(0, 1, value.shape), value + reach * rng.uniform(0, 1, value.shape)
    lower[:, ::3], upper[:, 1::3] = -np.inf, np.inf
    return Programs(H, 3 * rng.normal(size=(count, n)), E, np.einsum("bmn,bn->bm", E, inside), A, lower, upper)


# --- quadratic programs -----------------------------------------------------------------------------------------------


@pytest.mark.delicate
@pytest.mark.parametrize("equalities", [0, 3, 11])
def test_random_programs_are_solved_as_the_single_solver_does(equalities):
    p = drawn(40, equalities=equalities, seed=equalities)
    found = solve_batch(p)
    assert found.solved.all() and (found.lam != 0).any(axis=1).all()  # all have rows that push
    for k in range(40):
        one, x = problem(p, k), found.x[k]
        assert qp.kkt_residuals(one, x, np.r_[found.mu[k], found.lam[k]], np.zeros(12)).worst < 1e-9
        assert_allclose(x, qp.DaqpSolver().solve(one).x, atol=1e-8 * np.abs(x).max())


@pytest.mark.delicate
def test_programs_without_rows_that_push_are_solved_to_rounding():
    found = solve_batch(drawn(20, reach=1e6))
    assert_array_equal(found.lam, 0)
    assert found.worst.max() < 1e-12


@pytest.mark.delicate
def test_equalities_that_say_the_same_are_no_harm():
    p = drawn(20)
    twice = p._replace(E=np.concatenate([p.E, 3 * p.E[:, :2], p.E[:, :1] - p.E[:, 1:2]], axis=1))
    twice = twice._replace(e=np.concatenate([p.e, 3 * p.e[:, :2], p.e[:, :1] - p.e[:, 1:2]], axis=1))
    found = solve_batch(twice)
    assert found.solved.all()
    assert_allclose(found.x, solve_batch(p).x, atol=1e-9 * np.abs(found.x).max())


def ill_conditioned(count, equalities=3, n=12, rows=30, reach=0.3, seed=0):
    """Programs whose rows, of E and A together, have condition numbers of 1 to 1e6: singular values spread evenly in
    the logarithm in one half, in the other rows of which pairs differ by a part of 1 to 1e-6."""
    rng = np.random.default_rng(seed)
    p, m = drawn(count, n, equalities, rows, seed), equalities + rows
    condition = 10.0 ** rng.uniform(0, 6, (count, 1))
    U, S, V = np.linalg.svd(rng.normal(size=(count, m, n)), full_matrices=False)
    C = U @ ((condition ** -np.linspace(0, 1, S.shape[1]))[:, :, None] * V)
    pairs = rng.normal(size=(count, m, n))
    for one, other in ((0, 1), (2, 3), (4, 5), (7, 6)):  # of E, of both, of A, and of A in opposite directions
        pairs[:, other] = (-1.0 if other < one else 1.0) * pairs[:, one] + pairs[:, other] / condition
    C[1::2] = pairs[1::2]
    C *= 10.0 ** rng.uniform(-1, 1, (count, m, 1))
    inside = np.einsum("bmn,bn->bm", C, rng.normal(size=(count, n)))
    e, value = inside[:, :equalities], inside[:, equalities:]
    size = reach * np.abs(value).mean(axis=1, keepdims=True)
    lower, upper = value - size * rng.uniform(0, 1, value.shape), value + size * rng.uniform(0, 1, value.shape)
    lower[:, ::3], upper[:, 1::3] = -np.inf, np.inf
    return p._replace(E=C[:, :equalities], e=e, A=C[:, equalities:], lower=lower, upper=upper)


def share_solved(p):
    """Of the programs that DAQP or the single solver solves to 1e-9, the share that the batch solves; and how many."""
    found, known = solve_batch(p), np.zeros(len(p.f), bool)
    worst = np.max(certificate(p, found.x, found.mu, found.lam), axis=0)
    assert_array_equal(found.solved, worst <= 1e-9)  # says no where it is not
    k, none = p.e.shape[1], np.full(p.f.shape[1], np.nan)
    for solver in (qp.DaqpSolver(), qp.ActiveSetSolver()):
        for i in np.flatnonzero(~known):
            solver.forget()
            one = solver.solve(problem(p, i))
            x, both = (one.x, one.multipliers) if one.usable else (none, np.zeros(k + p.lower.shape[1]))
            alone = Programs(*(array[i : i + 1] for array in p))
            known[i] = np.max(certificate(alone, x[None], both[None, :k], both[None, k:])) <= 1e-9
    return found.solved[known].mean(), known.sum()


@pytest.mark.delicate
@pytest.mark.parametrize("equalities", [3, 9])
def test_rows_of_high_condition_are_solved_or_said_not_to_be(equalities):
    share, known = share_solved(ill_conditioned(150, equalities))
    assert share >= 0.99 and known >= 140


@pytest.mark.slow
@pytest.mark.parametrize(("equalities", "reach"), [(3, 1.0), (3, 0.05), (6, 0.3), (9, 0.3)])
def test_rows_of_high_condition_are_solved_or_said_not_to_be_at_length(equalities, reach):
    """10,000 programs in all."""
    share, known = share_solved(ill_conditioned(2500, equalities, reach=reach, seed=equalities))
    print(f"{equalities} equalities, reach {reach}: {share:.2%} of {known}")
    assert share >= 0.99 and known >= 2300


@pytest.mark.gpu
def test_arrays_on_a_gpu_are_solved_as_those_of_numpy():
    cupy = pytest.importorskip("cupy")
    if not cupy.cuda.is_available():
        pytest.skip("no GPU")
    for equalities in (3, 9):
        p = ill_conditioned(200, equalities)
        here, there = solve_batch(p), solve_batch(Programs(*map(cupy.asarray, p)))
        both = here.solved & cupy.asnumpy(there.solved)
        assert both.mean() >= 0.99
        assert_allclose(cupy.asnumpy(there.x)[both], here.x[both], rtol=0, atol=1e-8)


@pytest.mark.delicate
def test_rows_of_a_that_are_equalities_are_held_from_both_sides():
    """Some pull up and some down; the same as rows of E."""
    p = drawn(30)
    value = np.einsum("bmn,bn->bm", p.A[:, :3], solve_batch(p).x) + np.array([0.1, -0.1, 0.3])
    lower, upper = p.lower.copy(), p.upper.copy()
    lower[:, :3] = upper[:, :3] = value
    found = solve_batch(p._replace(lower=lower, upper=upper))
    E, e = np.concatenate((p.E, p.A[:, :3]), axis=1), np.concatenate((p.e, value), axis=1)
    lower[:, :3], upper[:, :3] = -np.inf, np.inf
    same = solve_batch(p._replace(E=E, e=e, lower=lower, upper=upper))
    assert (found.solved == same.solved).all() and found.solved.mean() > 0.5
    assert_allclose(found.x[found.solved], same.x[found.solved], rtol=0, atol=1e-8)
    pushes = found.lam[found.solved, :3]
    assert (pushes > 0).any() and (pushes < 0).any()


@pytest.mark.delicate
def test_corners_where_more_rows_meet_than_there_are_unknowns():
    """All rows hold with equality at one point, which is the optimum for many costs."""
    rng = np.random.default_rng(5)
    p = drawn(40, n=6, equalities=1, rows=20)
    corner = rng.normal(size=(40, 6))
    upper = np.einsum("bmn,bn->bm", p.A, corner)
    pull = -np.einsum("bmn,bm->bn", p.A, rng.uniform(0, 1, (40, 20)) * (rng.random((40, 20)) < 0.5))
    f = pull - np.einsum("bmn,bn->bm", p.H, corner)
    tight = p._replace(f=f, e=np.einsum("bmn,bn->bm", p.E, corner), lower=np.full_like(upper, -np.inf), upper=upper)
    found = solve_batch(tight)
    assert found.solved.all()
    assert_allclose(found.x, corner, rtol=0, atol=1e-8)


@pytest.mark.delicate
def test_equalities_that_say_nearly_the_same_cost_no_digits():
    """The same set of equalities, written so that two rows differ by a hundredth: the same answer."""
    p = drawn(50)
    E, e = p.E.copy(), p.e.copy()
    E[:, 1], e[:, 1] = E[:, 0] + 0.01 * E[:, 1], e[:, 0] + 0.01 * e[:, 1]
    assert_allclose(solve_batch(p._replace(E=E, e=e)).x, solve_batch(p).x, atol=1e-9)


@pytest.mark.delicate
def test_programs_without_a_solution_are_not_certified_and_harm_no_other():
    p = drawn(20)
    wrong = p._replace(lower=p.lower.copy(), upper=p.upper.copy(), A=p.A.copy())
    wrong.A[::2, 1] = wrong.A[::2, 0]  # a row below and above the same bound
    wrong.upper[::2, 0], wrong.lower[::2, 1] = -1.0, 1.0
    found = solve_batch(wrong)
    assert (found.worst[::2] > 1e-2).all() and not found.solved[::2].any() and found.solved[1::2].all()
    assert_allclose(found.x[1::2], solve_batch(p).x[1::2], rtol=0, atol=1e-12)


def test_every_condition_is_seen_by_the_certificate():
    """Each wrong in one way only, by as much as said."""
    p = drawn(1)
    x, mu, lam, *_ = solve_batch(p)
    assert np.max(certificate(p, x, mu, lam)) < 1e-9
    out = p._replace(upper=np.minimum(p.upper, np.einsum("bmn,bn->bm", p.A, x) - 1e-3))
    assert certificate(out, x, mu, lam)[0] > 1e-4
    assert certificate(p._replace(e=p.e + 1e-3), x, mu, lam)[0] > 1e-4
    assert certificate(p._replace(f=p.f * (1 + 1e-3)), x, mu, lam)[1] > 1e-5
    assert certificate(p, x, mu, -lam)[2] > 1e-2  # pushes on the wrong side
    free = p._replace(upper=np.where(lam > 0, p.upper + 1, p.upper), lower=np.where(lam < 0, p.lower - 1, p.lower))
    assert certificate(free, x, mu, lam)[2] > 1e-3  # pushes at a distance


# --- controllers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "pushed"), [(2e-3, 0.1), (0.03, 0.9)])
def test_all_that_the_single_controller_solves_are_solved(human, size, pushed):
    """At the larger size nearly all programs have rows that push, up to thirty of them."""
    robot, controller = human
    q, v = states(robot, 40, size, np.random.default_rng(0))
    answer = BatchedController(controller)(q, v)
    assert (answer.multipliers != 0).any(axis=1).mean() > pushed
    for k in range(40):
        single = controller(0.0, q[k], v[k])
        assert answer.solved[k] == single.status.ok
        if single.status.ok:
            assert_allclose(answer.torque[k], single.torque, atol=1e-4)  # of up to 250 N m
            assert_allclose(answer.acceleration[k], single.acceleration, atol=1e-5 * np.abs(single.acceleration).max())


def test_torques_and_accelerations_obey_the_equations_of_motion(standing):
    """Whatever the residuals, torque and acceleration of an answer belong together: contact forces are what is left."""
    robot, controller = standing
    q, v = states(robot, 5, 0.02, np.random.default_rng(1))
    answer = BatchedController(controller, tolerance=0.0)(q, v)
    assert not answer.solved.any()
    for k in range(5):
        forces = {
            c.label: c.wrench(robot, q[k], answer.x[k][controller.layout.forces[c.label]]) for c in controller.contacts
        }
        tau = robot.inverse_dynamics(q[k], v[k], answer.acceleration[k], forces)
        assert_allclose(tau, answer.torque[k], atol=1e-8 * np.abs(tau).max())


def test_on_a_processor_a_batch_takes_no_longer_than_one_after_the_other(human):
    """In time of the processor; the margin is for the clock, the mechanism is that of the single controller."""
    robot, controller = human
    q, v = states(robot, 100, 2e-3, np.random.default_rng(2))
    many = BatchedController(controller)
    took = {"batch": [], "loop": []}
    for _ in range(3):
        start = time.process_time()
        many(q, v)
        middle = time.process_time()
        for k in range(100):
            controller(0.0, q[k], v[k])
        took["batch"].append(middle - start)
        took["loop"].append(time.process_time() - middle)
    assert min(took["batch"]) < 1.5 * min(took["loop"])


def test_both_methods_find_the_same(human):
    """The one of graphics processors, on the programs of states in which many rows push."""
    robot, controller = human
    q, v = states(robot, 20, 0.03, np.random.default_rng(0))
    many = BatchedController(controller)
    answer = many(q, v)
    p = np.broadcast_to(many.p, (20, len(many.p)))
    data = dict(zip([output.name for output in many.kernel.program.outputs], many.kernel(q, v, p), strict=True))
    found = solve_batch(many._programs(np, data))
    assert_array_equal(found.solved, answer.solved)
    assert found.solved.sum() > 15 and (found.lam != 0).any(axis=1).mean() > 0.8
    good = found.solved
    assert_allclose(found.x[good], answer.x[good], rtol=0, atol=1e-7 * np.abs(answer.x).max())


def test_what_cannot_hold_is_not_called_solved(standing):
    """Feet that would have to be torn off: the answer is a number all the same."""
    robot, controller = standing
    q, v = states(robot, 6, 2e-3, np.random.default_rng(2))
    v[3:] += 30.0 * np.random.default_rng(3).normal(size=(3, robot.nv))
    answer = BatchedController(controller)(q, v)
    assert_array_equal(answer.solved, [True] * 3 + [False] * 3)
    assert np.isfinite(answer.torque).all() and answer.primal[3:].min() > 1e-3


def test_a_state_that_is_no_number_harms_no_other(standing):
    robot, controller = standing
    q, v = states(robot, 6, 0.02, np.random.default_rng(3))
    wanted = BatchedController(controller)(q, v)
    q[2, 0], v[4, 3] = np.nan, np.inf
    answer = BatchedController(controller)(q, v)
    good = np.array([0, 1, 3, 5])
    assert not answer.solved[[2, 4]].any() and answer.solved[good].all()
    assert np.isnan(answer.torque[[2, 4]]).all()
    assert_allclose(answer.torque[good], wanted.torque[good], atol=1e-6)


def test_large_batches_go_part_by_part(standing, monkeypatch):
    robot, controller = standing
    q, v = states(robot, 10, 0.02, np.random.default_rng(4))
    whole = BatchedController(controller)(q, v)
    monkeypatch.setattr(batched, "CHUNK", 4)
    parts = BatchedController(controller)(q, v)
    assert_allclose(parts.torque, whole.torque, atol=1e-6)
    assert_array_equal(parts.solved, whole.solved)
    assert BatchedController(controller)(q[:0], v[:0]).torque.shape == (0, robot.nv)


def test_single_precision_states_are_welcome(standing):
    robot, controller = standing
    q, v = states(robot, 5, 0.02, np.random.default_rng(5))
    answer = BatchedController(controller)(q.astype(np.float32), v.astype(np.float32))
    assert answer.solved.all()
    # kernels run in single precision: 0.01 N m of 25 are seen on some processors, more or less on others
    assert_allclose(answer.torque, BatchedController(controller)(q, v).torque, atol=5e-2)


def test_an_arm_that_touches_nothing():
    robot = eq.load("arm6")
    controller = eq.WholeBodyController(robot, [eq.PostureTask(gain=400.0)], [], [eq.TorqueLimits()])
    controller(0.0, robot.neutral(), np.zeros(robot.nv))
    rng = np.random.default_rng(6)
    q, v = rng.normal(size=(10, robot.nq)), rng.normal(size=(10, robot.nv))
    answer = BatchedController(controller)(q, v)
    assert answer.solved.all() and (answer.multipliers != 0).any()
    for k in range(10):
        assert_allclose(answer.torque[k], controller(0.0, q[k], v[k]).torque, atol=1e-4)


def test_what_it_does_not_take_is_said(standing):
    robot, controller = standing
    with pytest.raises(eq.ShapeError, match=r"\(B, 19\)"):
        BatchedController(controller)(robot.standing(), np.zeros(robot.nv))
    strict = eq.WholeBodyController(robot, [eq.PostureTask()], priorities="strict")
    with pytest.raises(TaskError, match="weighted"):
        BatchedController(strict)
    fresh = eq.WholeBodyController(robot, [eq.PostureTask()])
    with pytest.raises(TaskError, match="once before"):
        BatchedController(fresh)
    other = eq.WholeBodyController(robot, [eq.CoMTask()])
    other(0.0, robot.standing(), np.zeros(robot.nv))
    with pytest.raises(TaskError, match="PostureTask"):
        BatchedController(other)


def test_a_saved_one_gives_the_same(standing, tmp_path):
    robot, controller = standing
    q, v = states(robot, 3, 0.02, np.random.default_rng(7))
    many = BatchedController(controller, tolerance=1e-8)
    many.save(tmp_path / "many.npz")
    assert_array_equal(BatchedController.load(tmp_path / "many.npz")(q, v).torque, many(q, v).torque)


def test_a_file_that_is_no_controller_is_refused_with_a_reason(tmp_path, standing):
    good = tmp_path / "many.npz"
    BatchedController(standing[1]).save(good)
    with np.load(good) as data:
        parts = dict(data)
    with pytest.raises(ControllerFileError, match="No such file"):
        BatchedController.load(tmp_path / "none.npz")
    with pytest.raises(ControllerFileError, match="unpacks to"):
        BatchedController.load(good, max_bytes=100)
    wrong = {
        "parameters have shape": {"p": parts["p"][:-1]},
        "not numbers": {"p": np.full_like(parts["p"], np.nan)},
        "motors are not places": {"motors": parts["motors"] + 1000},
        "its tolerance is": {"tolerance": np.array(-1.0)},
        "not an Equipoise program": {"program": np.zeros(64, np.uint8)},
        "damaged": {"program": parts["program"][:-40]},
    }
    for reason, changes in wrong.items():
        np.savez(tmp_path / "bad.npz", **(parts | changes))
        with pytest.raises(ControllerFileError, match=reason):
            BatchedController.load(tmp_path / "bad.npz")
    (tmp_path / "text.npz").write_text("not a zip")
    with pytest.raises(ControllerFileError, match="not a batched controller"):
        BatchedController.load(tmp_path / "text.npz")
