"""Laws that plants obey: energy, momentum, complementarity, friction, rebound; and each other's results."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from things import (
    FEET,
    HALF,
    IDS,
    LAWS,
    MASS,
    SOLE,
    TOUCHING,
    G,
    ball,
    crate,
    crate_on,
    hold,
    mixture,
    quadruped,
    steps,
)

import equipoise as eq
from equipoise.control.contacts import PointContact
from equipoise.control.controller.controller import WholeBodyController
from equipoise.control.tasks import CoMTask, FrameTask, PostureTask
from equipoise.simulate.plant import make_plant

pytest.importorskip("mujoco")
both = pytest.mark.parametrize("name, options", TOUCHING, ids=IDS)


# --- free motion ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("robot", [quadruped, mixture], ids=["quadruped", "all joint types"])
def test_energy_and_momentum_are_kept_in_flight_for_ten_seconds(robot, rng):
    """The bars: energy to 1e-6 relative, momentum to 1e-9."""
    robot = robot()
    plant = make_plant("ideal", robot)
    q, v = robot.random_state(rng)
    plant.reset(q, v)

    def energy(q, v):
        return robot.kinetic_energy(q, v) + robot.potential_energy(q)

    state = steps(plant, 2500, 4e-3)
    before, after = robot.momentum(q, v), robot.momentum(state.q, state.v)
    before[2] -= robot.mass * G * 10.0
    assert energy(state.q, state.v) == pytest.approx(energy(q, v), abs=1e-6 * robot.kinetic_energy(q, v))
    assert_allclose(after, before, atol=1e-9 * np.abs(before).max())


@both
def test_free_fall_is_a_parabola(name, options):
    """Steps of first order are off by v dt / 2, so the bound is dt² g per step."""
    plant = crate_on(name, height=2.0, v=(0.3, -0.2, 0.5, 0, 0, 0), **options)
    state = steps(plant, 200)
    t = 0.2
    assert_allclose(state.q[:3], [0.3 * t, -0.2 * t, 2.0 + 0.5 * t - G * t * t / 2], atol=1.01 * G * t * 1e-3 / 2)
    assert_allclose(state.v[:3], [0.3, -0.2, 0.5 - G * t], atol=1e-9)


# --- rest -------------------------------------------------------------------------------------------------------------


@both
def test_a_crate_at_rest_weighs_what_it_weighs(name, options):
    """The measured wrench carries the weight, in the frame's origin; a push to the side comes back through friction."""
    plant = crate_on(name, **options)
    state = steps(plant, 150)
    assert_allclose(state.wrenches["crate"], [0, 0, MASS * G, 0, 0, 0], atol=2e-2)
    push = np.array([3.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    for _ in range(150):
        state = plant.step(np.zeros(6), 1e-3, {"crate": push})
    assert_allclose(state.wrenches["crate"][:3], [-3.0, 0.0, MASS * G], atol=3e-2)
    assert_allclose(state.wrenches["crate"][4], 0.0, atol=2e-2)
    assert abs(state.q[0]) < 5e-4


@pytest.mark.paper("H3")
@pytest.mark.parametrize("law", LAWS)
def test_soft_ground_gives_way_by_the_law(law):
    """At rest each of four points carries mg/4: k x, or k xⁿ."""
    k = {"nonlinear": 1e6}.get(law, 2e4)
    plant = crate_on("soft", law=law, stiffness=k, damping={"nonlinear": 2e7}.get(law, 200.0))
    state = steps(plant, 250, 2e-3)
    depth = MASS * G / 4 / k
    depth = depth ** (1 / 1.5) if law == "nonlinear" else depth
    assert state.q[2] == pytest.approx(HALF - depth, abs=1e-3 * depth)


@pytest.mark.paper("H3")
def test_no_law_pulls():
    """Thrown up from within the ground, nothing holds the ball back."""
    for law in LAWS:
        plant = make_plant("soft", ball(), ["ball"], law=law, ground=eq.Plane((0, 0, 1)))
        q = ball().neutral()
        q[2] = -1e-4
        plant.reset(q, np.array([0, 0, 1.0, 0, 0, 0]))
        state = plant.step(np.zeros(6), 1e-4)
        assert_allclose(state.wrenches["ball"], 0.0, err_msg=law)
        assert state.v[2] == pytest.approx(1.0 - G * 1e-4, rel=1e-12)


@pytest.mark.paper("H3")
def test_a_plate_comes_back_by_itself_at_its_own_pace():
    """Law "plate": a ball that left a deep plate falls on it before it is back, and touches where the plate then is."""
    k, b = 100.0, 100.0  # one second to come back to 1/e
    plant = make_plant("soft", ball(), ["ball"], law="plate", stiffness=k, damping=b, substeps=1)
    q = ball().neutral()
    plant.reset(q, np.zeros(6))
    plant._plate[:] = 0.05
    q[2] = -0.01  # inside the undeformed ground, above the plate
    plant.q = q
    state = plant.step(np.zeros(6), 1e-3)
    assert_allclose(state.wrenches["ball"], 0.0)
    assert plant._plate[0] == pytest.approx(0.05 * np.exp(-1e-3 * k / b), rel=1e-12)
    touched = 0.0
    for _ in range(200):
        depth = -plant.q[2]
        state = plant.step(np.zeros(6), 1e-3)
        if state.wrenches["ball"][2] > 0:
            touched = depth
            break
    assert touched == pytest.approx(plant._plate[0], rel=0.05)


@pytest.mark.paper("H3")
def test_the_nonlinear_law_is_the_slides():
    """F = k xⁿ + b xⁿ ẋ at one state, by hand: the first step's force as dt → 0."""
    k, b, n, x, rate = 3e5, 4e5, 1.3, 2e-3, 0.2
    plant = make_plant("soft", ball(), ["ball"], law="nonlinear", stiffness=k, damping=b, exponent=n, substeps=1)
    q = ball().neutral()
    q[2] = -x
    plant.reset(q, np.array([0, 0, -rate, 0, 0, 0]))
    state = plant.step(np.zeros(6), 1e-9)
    assert state.wrenches["ball"][2] == pytest.approx(k * x**n + b * x**n * rate, rel=1e-5)


# law → stiffness, damping, exponent of a ball that rebounds
BOUNCES = {"linear": (1e5, 225.0, 1.0), "plate": (1e5, 225.0, 1.0), "nonlinear": (2e6, 1e6, 1.5)}


def rebound(law: str, drop: float) -> float:
    """Height after one bounce, by SciPy: F(x, ẋ) while it pushes, free flight before and after."""
    k, b, n = BOUNCES[law]

    def force(x: float, rate: float) -> float:
        return max(x, 0.0) ** n * (k + b * rate) if law == "nonlinear" else k * x + b * rate

    def left(t: float, y: list[float]) -> float:
        return force(*y) if t > 1e-6 else 1.0

    left.terminal, left.direction = True, -1
    fall = [0.0, np.sqrt(2 * G * drop)]
    found = solve_ivp(
        lambda t, y: [y[1], G - force(*y) / MASS], (0, 1), fall, rtol=1e-10, atol=1e-13, events=left, max_step=1e-4
    )
    depth, rate = found.y[:, -1]
    return rate**2 / (2 * G) - depth


@pytest.mark.paper("H3")
@pytest.mark.parametrize("drop", [0.1, 0.3])
@pytest.mark.parametrize("law", BOUNCES)
def test_a_bouncing_ball_comes_as_high_as_its_law_says(law, drop):
    """Within 0.2 % of the exact solution at steps of 1 ms, and a tenth of that at a finer tolerance."""
    k, b, n = BOUNCES[law]
    heights = []
    for tolerance in (3e-4, 1e-5):
        plant = make_plant("soft", ball(), ["ball"], law=law, stiffness=k, damping=b, exponent=n, tolerance=tolerance)
        q = ball().neutral()
        q[2] = drop
        state = plant.reset(q, np.zeros(6))
        for _ in range(2000):
            before, state = state, plant.step(np.zeros(6), 1e-3)
            if before.v[2] > 0 >= state.v[2]:
                break
        heights.append(state.q[2] + state.v[2] ** 2 / (2 * G))
    assert_allclose(heights, rebound(law, drop), rtol=2e-3)
    assert heights[1] == pytest.approx(rebound(law, drop), rel=2e-4)


# --- impacts ----------------------------------------------------------------------------------------------------------


@pytest.mark.paper("H3")
@pytest.mark.parametrize("name", ["ideal", "hard"])
@pytest.mark.parametrize("e", [0.0, 0.6, 1.0])
def test_rebound_is_the_restitution(name, e):
    plant = make_plant(name, ball(), ["ball"], restitution=e)
    q = ball().neutral()
    q[2] = 0.2
    plant.reset(q, np.zeros(6))
    speeds = []
    steps(plant, 320, each=lambda state: speeds.append(state.v[2]))
    fastest, rebound = min(speeds), max(speeds)
    assert fastest == pytest.approx(-np.sqrt(2 * G * 0.2), rel=6e-3)  # a step's gravity is 5e-3 of it
    assert rebound == pytest.approx(-e * fastest, abs=2.1 * G * 1e-3)


def test_the_ideal_plant_finds_the_moment_of_impact():
    """A lossless ball is where the closed form says after three bounces: events are found within the step."""
    plant = make_plant("ideal", ball(), ["ball"], restitution=1.0)
    q = ball().neutral()
    q[2] = 0.1
    plant.reset(q, np.zeros(6))
    fall = np.sqrt(2 * 0.1 / G)
    count = int(7.4 * fall / 5e-3)
    state = steps(plant, count, 5e-3)
    left = (count * 5e-3) % (2 * fall)
    left = min(left, 2 * fall - left)
    assert state.q[2] == pytest.approx(0.1 - G * left**2 / 2, abs=1e-6)


@pytest.mark.parametrize("e", [1e-3, 1e-4, 1e-5, 1e-6, 1e-8])
def test_a_rebound_too_slow_to_leave_the_ground_ends_on_it(e):
    """After such an impact the ball leaves, but not out of what counts as touching; it must not be struck from
    below."""
    plant = make_plant("ideal", ball(), ["ball"], restitution=e)
    q = ball().neutral()
    q[2] = 0.2
    plant.reset(q, np.zeros(6))
    told, heights = [], []
    state = steps(plant, 260, each=lambda state: (told.extend(state.events), heights.append(state.q[2])))
    assert told[0].startswith("ball strikes the ground at 1.98 m/s")
    assert min(heights) > -2e-9 and plant.closed.all()
    assert_allclose(state.v, 0.0, atol=1e-9)
    assert_allclose(state.wrenches["ball"][2], MASS * G, rtol=1e-6)


@both
def test_an_edge_lands_then_the_rest(name, options):
    """A tilted crate ends flat on all four points, whatever the plant."""
    plant = make_plant(name, crate(), [("crate", SOLE)], **options)
    q = crate().neutral()
    q[2], q[3:7] = 0.12, [np.cos(0.05), 0.0, np.sin(0.05), 0.0]
    plant.reset(q, np.zeros(6))
    state = steps(plant, 250, 2e-3)
    assert abs(state.q[2] - HALF) < 1e-3
    assert np.abs(state.q[4:6]).max() < 2e-3


@pytest.mark.paper("H3")
def test_hard_contact_is_complementary_at_every_step(rng):
    """0 ≤ gap ⊥ force ≥ 0 within rounding, and forces inside their cones, while a tumbling crate lands."""
    plant = make_plant("hard", crate(), [("crate", SOLE)], friction=0.4)
    q = crate().neutral()
    q[2], q[3:7] = 0.3, np.array([0.9, 0.1, 0.3, 0.2]) / np.linalg.norm([0.9, 0.1, 0.3, 0.2])
    plant.reset(q, np.array([1.0, 0.5, -1.0, 2.0, -1.0, 0.5]))

    def check(state):
        height = plant.points.arms(state.q)[1][:, 2]
        assert height.min() > -1e-5  # lifted, to first order in what was left
        f = state.wrenches["crate"]
        assert f[2] >= 0 and np.hypot(f[0], f[1]) <= 0.4 * f[2] * (1 + 1e-9)
        if f[2] > 0:
            assert height.min() < 6e-3  # it came down within the step
        if plant.solution is not None:
            assert plant.solution.converged

    steps(plant, 400, each=check)


def test_ideal_contacts_never_pull_and_open_when_pulled():
    plant = crate_on("ideal")
    events = []

    def check(state):
        events.extend(state.events)
        assert state.wrenches["crate"][2] >= -1e-6

    lift = np.array([0, 0, MASS * (G + 1.0), 0, 0, 0])
    steps(plant, 10, each=check)
    assert not events
    state = steps(plant, 100, tau=lift, each=check)
    assert events == ["crate leaves the ground"]
    assert state.v[2] == pytest.approx(0.1, rel=1e-9)  # 1 m/s² for 0.1 s: not a step is lost


def test_a_crate_pushed_high_up_tips_about_its_edge():
    """Above the height where friction and weight balance, two points open and two hold: no point slides."""
    plant = crate_on("ideal")
    start = plant.points.arms(plant.q)[1].copy()
    push = np.array([MASS * G, 0, 0, 0, MASS * G * 0.05, 0])
    for _ in range(50):
        plant.step(np.zeros(6), 1e-3, {"crate": push})
    places = plant.points.arms(plant.q)[1]
    assert_allclose(places[2:], start[2:], atol=1e-9)
    assert (places[:2, 2] > 1e-4).all()
    assert plant.closed.tolist() == [False, False, True, True]


def test_forces_of_redundant_points_do_not_pull_near_an_edge():
    """The weight outside the middle third: least-norm forces would pull at the far points, the plant's do not."""
    plant = crate_on("ideal")
    state = plant.step(np.zeros(6), 1e-3, {"crate": np.array([0, 0, 0, 0, 0.6 * HALF * MASS * G, 0])})
    assert plant.closed.all()
    assert_allclose(state.wrenches["crate"], [0, 0, MASS * G, 0, -0.6 * HALF * MASS * G, 0], atol=1e-6)
    _, forces = plant._opened(np.array([0, 0, 0, 0, 0.6 * HALF * MASS * G, 0.0]), {})
    assert (forces[:, 2] >= 0).all()


def test_closed_points_do_not_drift(rng):
    """A standing quadruped, legs swinging under torque for a second: its feet stay to a nanometre."""
    robot = quadruped()
    q0 = robot.standing()
    plant = make_plant("ideal", robot, FEET)
    plant.reset(q0, np.zeros(robot.nv))
    start, controller = plant.points.arms(q0)[1], hold(robot, q0, 150.0, 2.0)
    state = plant.step(np.zeros(robot.nv), 1e-3)
    for k in range(200):
        tau = controller(0.0, state.q, state.v).torque
        tau[6:] += 1.5 * np.sin(k * 2e-2 + np.arange(12))
        state = plant.step(tau, 1e-3)
    assert plant.closed.all()
    assert_allclose(plant.points.arms(state.q)[1], start, atol=1e-9)
    assert np.abs(robot.difference(q0, state.q)).max() > 5e-3


# --- friction ---------------------------------------------------------------------------------------------------------


def slope(angle: float) -> eq.Plane:
    return eq.Plane((np.sin(angle), 0.0, np.cos(angle)))


def on_slope(name: str, angle: float, friction: float, **options):
    plant = make_plant(name, crate(), [("crate", SOLE)], ground=slope(angle), friction=friction, **options)
    q = crate().neutral()
    q[:3] = HALF * np.array([np.sin(angle), 0.0, np.cos(angle)])
    q[3:7] = np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0
    plant.reset(q, np.zeros(6))
    return plant


@pytest.mark.paper("H3")
@pytest.mark.parametrize("name, options", TOUCHING[1:], ids=IDS[1:])
def test_a_block_on_a_slope_sticks_if_and_only_if_friction_exceeds_the_tangent(name, options):
    angle = 0.4
    held = on_slope(name, angle, np.tan(angle) * 1.05, **options)
    slides = on_slope(name, angle, np.tan(angle) * 0.8, **options)
    still, moving, later = steps(held, 200), steps(slides, 100), steps(slides, 100)
    a = G * (np.sin(angle) - 0.8 * np.tan(angle) * np.cos(angle))
    assert np.linalg.norm(still.v[:3]) < 1.1e-3  # regularised friction creeps, below its slip speed
    assert np.linalg.norm(later.v[:3] - moving.v[:3]) == pytest.approx(a * 0.1, rel=0.05)  # once the ground has settled


@pytest.mark.parametrize("name", ["hard", "mujoco"])
def test_the_way_to_a_stop_is_v_squared_over_two_mu_g(name):
    v, mu = 1.0, 0.5
    plant = crate_on(name, v=(v, 0, 0, 0, 0, 0), friction=mu)
    state = steps(plant, 400)
    assert_allclose(state.v, 0.0, atol=1e-6)
    assert state.q[0] == pytest.approx(v**2 / (2 * mu * G), rel={"hard": 0.01, "mujoco": 0.02}[name])


def test_the_ideal_plant_tells_what_friction_it_would_need():
    plant = on_slope("ideal", 0.4, 0.3)
    told = []
    steps(plant, 3, each=lambda state: told.extend(state.events))
    assert told == [f"crate would slip: it needs friction {np.tan(0.4):.3g} and has 0.3"]


@pytest.mark.parametrize("direction", [0.0, 90.0, 225.0, 340.0])
def test_the_friction_an_ideal_contact_needs_is_that_of_all_directions(direction):
    """A push of 0.5 m g along any direction needs μ = 0.5, and no more than the plant has is no event."""
    push = np.zeros(6)
    push[:2] = 0.5 * MASS * G * np.array([np.cos(np.radians(direction)), np.sin(np.radians(direction))])
    for mu, needed in ((0.499, ["crate would slip: it needs friction 0.5 and has 0.499"]), (0.501, [])):
        plant, told = crate_on("ideal", friction=mu), []
        for _ in range(3):
            state = plant.step(np.zeros(6), 1e-3, {"crate": push})
            told += state.events
            assert_allclose(state.wrenches["crate"][:2], -push[:2], rtol=1e-9, atol=1e-9)
        assert told == needed


# --- obstacles --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, options", TOUCHING, ids=IDS)
def test_a_crate_stands_on_a_table(name, options):
    plant = make_plant(name, crate(), [("crate", SOLE)], obstacles=[eq.Box((1, 1, 0.5), (0, 0, 0.25))], **options)
    q = crate().neutral()
    q[2] = 0.5 + HALF + 0.01
    plant.reset(q, np.zeros(6))
    assert steps(plant, 120, 2e-3).q[2] == pytest.approx(0.5 + HALF, abs=1e-3)


def test_a_moving_floor_carries_what_stands_on_it():
    """A plane that rises; and, on the hard plant, one that moves along: friction takes the crate with it."""
    for name in ("hard", "mujoco"):
        plant = crate_on(name, ground=eq.Plane((0, 0, 1), velocity=(0, 0, 0.2)))
        state = steps(plant, 300)
        assert state.q[2] == pytest.approx(HALF + 0.06, abs=2e-3), name
    plant = crate_on("hard", ground=eq.Plane((0, 0, 1), velocity=(0.2, 0, 0)))
    assert steps(plant, 300).v[0] == pytest.approx(0.2, abs=1e-9)


# --- one another ------------------------------------------------------------------------------------------------------


def test_plants_agree_on_a_quadruped_that_stands_under_springs():
    """Where it comes to rest and what its feet carry; soft ground is as deep as its law says."""
    robot = quadruped()
    q0 = robot.standing()
    ends = {}
    for name, options in [("ideal", {}), ("hard", {}), ("mujoco", {}), ("soft", {})]:
        run = eq.simulate(robot, hold(robot, q0, 300.0, 6.0), name, 0.25, 1e-3, contacts=FEET, **options)
        assert run.outcome == "completed"
        ends[name] = run
    reference = ends["ideal"]
    for name, run in ends.items():
        bound = {"soft": 4e-3}.get(name, 1e-3)
        assert_allclose(run.q[-1], reference.q[-1], atol=bound, err_msg=name)
        total, expected = (sum(x.measured[foot][-1][:3] for foot in FEET) for x in (run, reference))
        assert_allclose(total, expected, atol=0.02 * robot.mass * G, err_msg=name)
        assert_allclose(total[2], robot.mass * G, rtol=0.1, err_msg=name)  # it still moves
        for foot in FEET:
            assert_allclose(run.measured[foot][-1][2], reference.measured[foot][-1][2], rtol=0.05, err_msg=name)


def test_the_same_controller_runs_on_all_plants():
    """A whole-body controller, pushed: the same motion, and the forces it asks for are those its feet get."""
    robot = quadruped()
    contacts = [PointContact(foot) for foot in FEET]
    controller = WholeBodyController(robot, [CoMTask(), PostureTask(), FrameTask(robot.base_link)], contacts)
    push = eq.Push(robot.base_link, (30, 0, 0), 0.02, 0.05)
    runs = {
        name: eq.simulate(robot, controller, name, 0.12, pushes=[push]) for name in ("ideal", "hard", "mujoco", "soft")
    }
    for name, run in runs.items():
        assert run.outcome == "completed" and set(run.statuses) == {"optimal"}
        base, expected = run.q[-1, :7], runs["ideal"].q[-1, :7]
        assert_allclose(base, expected, atol={"soft": 1e-3, "mujoco": 1e-4}.get(name, 1e-5), err_msg=name)
        for foot in FEET:
            assert_allclose(run.measured[foot][-1], run.forces[foot][-1], atol=2.0, err_msg=name)
    assert 1e-3 < runs["ideal"].q[-1, 0] - runs["ideal"].q[0, 0] < 1e-2  # the push moved it


# --- what is refused --------------------------------------------------------------------------------------------------


def test_bad_options_are_named():
    with pytest.raises(eq.UnknownNameError, match="no plant named 'mujocco'.*mujoco"):
        make_plant("mujocco", crate())
    for name in ("ideal", "hard", "soft", "mujoco"):
        with pytest.raises(eq.UnknownNameError, match="no option of the .* plant named 'stifness'"):
            make_plant(name, crate(), stifness=3)
    with pytest.raises(eq.UnknownNameError, match="named 'stifness'. Did you mean 'stiffness'.* law, stiffness"):
        make_plant("soft", crate(), substeps=2, stifness=3)
    with pytest.raises(eq.UnknownNameError, match="no law of soft contact named 'cubic'"):
        make_plant("soft", crate(), law="cubic")
    with pytest.raises(eq.UnknownNameError, match="no frame named 'foot'"):
        make_plant("hard", crate(), ["foot"])
    with pytest.raises(eq.StateError, match="restitution lies between"):
        make_plant("hard", crate(), restitution=1.5)
    with pytest.raises(eq.StateError, match="inside the ground"):
        crate_on("ideal", height=0.05)
    with pytest.raises(eq.EquipoiseError, match="at rest"):
        make_plant("ideal", crate(), ground=eq.Plane((0, 0, 1), velocity=(0, 0, 1)))
