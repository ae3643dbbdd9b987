"""Vector field inequalities: Lemma 4.1 made exact, and the guarantee between samples against every disturbance it
allows."""

from __future__ import annotations

import casadi
import numpy as np
import pytest
import support
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import equipoise as eq
from bench import safety
from equipoise.control.safety import piecewise
from equipoise.control.safety.vfi import (
    Clearance,
    GainError,
    Gains,
    admits,
    approach_speed,
    chain_rates,
    continuous_bound,
    first_order_bound,
    gains_for,
    largest_demand,
    rigid_variation,
    second_order_bound,
    squared_variation,
)
from equipoise.papers import qo21_collision

pytestmark = pytest.mark.paper("Q4")
Array = np.ndarray
STEPS = (1e-3, 2e-3, 5e-3, 1e-2)

rates = st.floats(0.1, 100.0)
places = st.floats(1e-6, 10.0)
speeds = st.floats(-20.0, 20.0)
parts = st.floats(0.0, 1.0)


@st.composite
def situations(draw, limited=False):
    """Gains that a step admits, a disturbance, braking that may be limited, and a state that the theory admits."""
    dt = draw(st.sampled_from(STEPS))
    slow, fast = sorted((draw(st.floats(0.1, 1 / dt)), draw(st.floats(0.1, 1 / dt))))
    gains = Gains.of_rates(slow, fast)
    braking = draw(st.floats(0.1, 100.0) if limited else st.one_of(st.none(), st.floats(0.1, 100.0)))
    d = draw(st.floats(0.0, 5.0))
    edge = gains.fast * d if braking is None else approach_speed(d, gains.fast, braking)
    rate = draw(st.one_of(st.just(-edge), st.floats(-1.0, 1.0).map(lambda x: x * edge), st.floats(0.0, 10.0)))
    return dt, gains, braking, d, rate, draw(st.floats(0, 50.0)), draw(st.floats(0, 5000.0))


def phi(d: float, gains: Gains, braking: float | None) -> float:
    return gains.fast * d if braking is None else float(approach_speed(d, gains.fast, braking))


def least_of_polynomial(coefficients: list[float], h: float) -> float:
    """Least value on [0, h], from the roots of the derivative."""
    p = np.polynomial.Polynomial(coefficients)
    roots = p.deriv().trim(1e-200).roots()
    inside = [r.real for r in roots if abs(r.imag) < 1e-9 and 0 < r.real < h]
    return float(min(p(s) for s in (0.0, h, *inside)))


# --- gains and Lemma 4.1 ----------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(rates, rates)
def test_roots_solve_the_characteristic_equation(slow, fast):
    gains = Gains.of_rates(slow, fast)
    for gains_ in (gains, Gains(gains.eta_d, gains.eta_p)):
        for r in gains_.roots:
            assert abs(r * r + gains.eta_d * r + gains.eta_p) <= 1e-12 * gains.eta_d**2
        assert gains_.roots[1] <= gains_.roots[0] < 0


def solution(gains: Gains, d: float, rate: float, t: Array) -> Array:
    """[QO21, Eqs. (4.16), (4.17)]: the worst case of (4.3) in continuous time."""
    r1, r2 = gains.roots
    return (rate - d * r2) / (r1 - r2) * np.exp(r1 * t) + (d * r1 - rate) / (r1 - r2) * np.exp(r2 * t)


@settings(deadline=None)
@given(rates, st.floats(1.01, 20.0), places, st.floats(-3.0, 1.0))
def test_the_exact_condition_is_necessary_and_sufficient(slow, ratio, d, part):
    gains = Gains.of_rates(slow, slow * ratio)
    rate = part * gains.fast * d
    assume(abs(part + 1) > 1e-6)
    r1, r2 = gains.roots
    worst = solution(gains, d, rate, np.concatenate([np.linspace(0, 30 / gains.slow, 4000), [100 / gains.slow]]))
    if gains.admits(d, rate):
        assert worst.min() >= -1e-12 * d
    else:  # c₁ < 0 takes over, at the latest when the fast part is gone
        late = np.log(2 * abs((d * r1 - rate) / (rate - d * r2)) + 2) / (r1 - r2)
        assert solution(gains, d, rate, np.array([late]))[0] < 0


@settings(deadline=None)
@given(rates, st.floats(1.0, 20.0), places, speeds)
def test_the_condition_of_the_thesis_is_a_special_case(slow, ratio, d, rate):
    gains = Gains.of_rates(slow, slow * ratio)
    if gains.admits_by_thesis(d, rate):
        assert gains.admits(d, rate)


def test_the_exact_condition_admits_more_than_the_thesis():
    gains = Gains.of_rates(1.0, 9.0)
    assert gains.admits(1.0, -8.9) and not gains.admits_by_thesis(1.0, -8.9)
    assert not gains.admits(1.0, -9.1)
    assert gains.admits(0.0, 0.0) and not gains.admits(0.0, -1e-9) and not gains.admits(-1e-9, 5.0)


@settings(deadline=None)
@given(places, speeds, st.floats(0.1, 50.0))
def test_gains_for_a_start_admit_it(d, rate, decay):
    gains = gains_for(d, rate, decay)
    assert gains.admits(d, rate)
    assert_allclose(gains.slow, decay, rtol=1e-12)


def test_errors_teach():
    with pytest.raises(GainError, match=r"complex roots.*at least 2 √eta_p = 6"):
        Gains(5.0, 9.0)
    with pytest.raises(GainError, match="positive and finite"):
        Gains(np.nan, 1.0)
    with pytest.raises(GainError, match=r"fast · dt = 2 must be at most 1.*100 1/s"):
        Gains.of_rates(1, 200).require_step(0.01)
    with pytest.raises(GainError, match=r"fast · dt"):
        second_order_bound(1.0, 0.0, Gains.of_rates(1, 200), 0.01)
    with pytest.raises(GainError, match=r"hand approaches at 5 from 0.1 away.*at least 50 1/s, its gains have 20"):
        Gains.of_rates(5, 20).require_start([1.0, 0.1], [-1.0, -5.0], ["foot", "hand"])
    with pytest.raises(GainError, match=r"row 0 starts 0.2 inside"):
        Gains.of_rates(5, 20).require_start(-0.2, 0.0)
    with pytest.raises(GainError, match="no gains admit this start: the row touches"):
        gains_for(0.0, -1.0)
    with pytest.raises(GainError, match="too fast for a step"):
        gains_for(0.01, -2.0, dt=0.01)
    with pytest.raises(GainError, match=r"eta · dt must be at most 1"):
        first_order_bound(1.0, 200.0, 0.01)
    Gains.of_rates(5, 20).require_start([1.0, 0.0], [-20.0, 0.0])


def test_a_double_root_is_allowed_and_arrays_are_rows():
    assert_allclose(Gains(6.0, 9.0).roots, (-3.0, -3.0), rtol=1e-12)
    rows = Gains.stack([Gains(6.0, 9.0), Gains.of_rates(1.0, 4.0)])
    assert_allclose(rows.fast, [3.0, 4.0], rtol=1e-12)
    assert_allclose(rows.eta_p, [9.0, 4.0], rtol=1e-12)
    bound = second_order_bound(np.array([0.1, 0.2]), np.array([-0.1, -0.3]), rows, 1e-3, variation=np.array([1.0, 2.0]))
    alone = [second_order_bound(0.1, -0.1, Gains(6.0, 9.0), 1e-3, variation=1.0),
             second_order_bound(0.2, -0.3, Gains.of_rates(1.0, 4.0), 1e-3, variation=2.0)]  # fmt: skip
    assert_allclose(bound, alone, rtol=1e-12)


# --- one step, worst case ---------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.sampled_from(STEPS), parts, st.floats(-1.0, 5.0), st.floats(0.0, 100.0), st.floats(0.0, 5.0))
def test_first_order_holds_within_the_step(dt, part, d, curvature, more):
    eta = part / dt
    rate = first_order_bound(d, eta, dt, curvature) + more
    path = [d, rate, -curvature / 2]  # the worst: d̈ = −κ all the time
    scale = 1 + abs(d) + curvature
    assert least_of_polynomial(path, dt) >= min(d, (1 - part) * d) - 1e-14 * scale
    if more == 0:
        assert_allclose(np.polynomial.Polynomial(path)(dt), (1 - part) * d, atol=1e-14 * scale)


@settings(max_examples=200, deadline=None)
@given(situations(), st.one_of(st.just(0.0), st.floats(0.0, 1e4)))
def test_second_order_holds_within_the_step(situation, more):
    dt, gains, braking, d, rate, jump, variation = situation
    u = second_order_bound(d, rate, gains, dt, variation=variation, jump=jump, braking=braking) + more
    d_path = [d, rate, (u - jump) / 2, -variation / 6]  # the worst: d̈ = u − δ − σ s
    scale = 1 + abs(d) + dt * abs(rate) + dt**2 * (abs(u) + jump + variation * dt)
    assert least_of_polynomial(d_path, dt) >= -1e-13 * scale
    path = np.polynomial.Polynomial(d_path)
    after = path.deriv()(dt) + phi(path(dt), gains, braking)
    wanted = (1 - gains.slow * dt) * (rate + phi(d, gains, braking))
    rounding = 1e-12 * (scale / dt)
    assert after >= wanted - rounding
    if more == 0 and (braking is None or u < largest_demand(braking, dt, variation, jump) * (1 - 1e-9)):
        assert after <= wanted + rounding  # no more is asked for than needed


@settings(max_examples=200, deadline=None)
@given(situations(limited=True))
def test_no_more_is_asked_for_than_promised(situation):
    """With the largest promised demand alone the next state is admitted: the cap of the bound cuts nothing off (Thm
    3)."""
    dt, gains, braking, d, rate, jump, variation = situation
    u = largest_demand(braking, dt, variation, jump)
    path = np.polynomial.Polynomial([d, rate, (u - jump) / 2, -variation / 6])
    after = path.deriv()(dt) + phi(path(dt), gains, braking)
    wanted = (1 - gains.slow * dt) * (rate + phi(d, gains, braking))
    assert after >= wanted - 1e-11 * (1 + abs(rate) + abs(u))
    assert second_order_bound(d, rate, gains, dt, variation=variation, jump=jump, braking=braking) <= u * (1 + 1e-12)


@settings(max_examples=100, deadline=None)
@given(situations(), st.integers(0, 2**31))
def test_second_order_holds_against_any_disturbance_it_allows(situation, seed):
    """d̈ constant on pieces, each anywhere above the worst case: at all corners and in between d stays."""
    dt, gains, braking, d, rate, jump, variation = situation
    u = second_order_bound(d, rate, gains, dt, variation=variation, jump=jump, braking=braking)
    rng, h, scale = np.random.default_rng(seed), dt / 20, 1 + abs(d) + abs(u)
    for k in range(20):
        kind = rng.integers(3)
        above = (0.0, 10.0 * jump + 1, 1e4)[kind] * rng.random()
        # the worst of the piece is at its end: take it from its start, it is larger
        a = u - jump - variation * k * h + above
        assert least_of_polynomial([d, rate, a / 2], h) >= -1e-13 * scale
        d, rate = d + h * rate + h * h / 2 * a, rate + h * a
    assert rate >= -phi(d, gains, braking) - 1e-11 * scale / dt


def test_bounds_meet_those_of_continuous_time_as_the_step_vanishes(rng):
    gains = Gains.of_rates(3.0, 15.0)
    d, rate = rng.uniform(-1, 1, 50), rng.normal(size=50)
    assert_allclose(
        second_order_bound(d, rate, gains, 1e-9, variation=10.0), continuous_bound(d, rate, gains), rtol=1e-6, atol=1e-6
    )
    assert_allclose(continuous_bound(d, rate, gains), -gains.eta_d * rate - gains.eta_p * d)


def test_braking_without_limit_changes_nothing(rng):
    gains = Gains.of_rates(3.0, 15.0)
    d, rate = rng.uniform(-1, 5, 50), 10 * rng.normal(size=50)
    with np.errstate(all="raise"):
        limited = second_order_bound(d, rate, gains, 5e-3, variation=30.0, jump=2.0, braking=np.full(50, np.inf))
    assert_allclose(limited, second_order_bound(d, rate, gains, 5e-3, variation=30.0, jump=2.0), rtol=1e-9, atol=1e-9)


def test_approach_speed_brakes_by_no_more_than_it_may():
    d = np.linspace(1e-6, 3, 3001)
    speed = approach_speed(d, 8.0, 5.0)
    slope = np.gradient(speed, d)
    assert (speed * slope <= 5.0 * (1 + 1e-3)).all()  # d̈ along ḋ = −φ is φ φ'; differences are exact to 1e-3
    assert_allclose(speed[d < 5 / 64], 8 * d[d < 5 / 64], rtol=1e-12)
    assert_allclose(speed[-1] ** 2, 2 * 5 * 3 - (5 / 8) ** 2, rtol=1e-12)


def test_symbols_give_the_numbers(rng):
    gains = Gains.of_rates(4.0, 30.0)
    d, rate, variation = rng.uniform(-0.5, 3, 40), 5 * rng.normal(size=40), rng.uniform(0, 100, 40)
    x, v, s = (casadi.SX.sym(name, 40) for name in ("x", "v", "s"))
    for braking in (None, 7.0):
        kwargs = dict(jump=0.5, braking=braking)
        on_symbols = second_order_bound(x, v, gains, 2e-3, variation=s, m=piecewise.symbols(), **kwargs)
        result = casadi.Function("bound", [x, v, s], [on_symbols])(d, rate, variation)
        assert_allclose(
            result.full().ravel(),
            second_order_bound(d, rate, gains, 2e-3, variation=variation, **kwargs),
            rtol=1e-12,
            atol=1e-12,
        )


def test_nan_stays_nan():
    assert np.isnan(second_order_bound(np.nan, 0.0, Gains.of_rates(1, 2), 1e-3, braking=3.0))


# --- from outside -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dt", STEPS)
@pytest.mark.parametrize("braking", [None, 200.0])
def test_from_inside_the_obstacle_it_comes_back_without_overshoot(dt, braking):
    gains, d, rate = Gains.of_rates(4.0, 20.0), -0.3, 0.0
    path = [d]
    for _ in range(round(4 / dt)):
        u = float(second_order_bound(d, rate, gains, dt, braking=braking))
        d, rate = d + dt * rate + dt * dt / 2 * u, rate + dt * u
        path.append(d)
    assert max(np.diff(path)) > 0 and min(np.diff(path)) > -1e-12  # never deeper
    assert -1e-4 < path[-1] <= 0  # and not beyond the surface: the bound lets go as it gets there
    # the thesis's own dynamics
    assert_allclose(path[round(0.5 / dt)], solution(gains, -0.3, 0.0, np.array([0.5]))[0], rtol=0.2)


def test_a_start_that_is_too_fast_is_braked_with_all_there_is():
    gains, braking = Gains.of_rates(4.0, 20.0), 10.0
    assert not admits(0.01, -5.0, gains, braking)
    assert second_order_bound(0.01, -5.0, gains, 1e-3, variation=100.0, jump=1.0, braking=braking) == largest_demand(
        10.0, 1e-3, 100.0, 1.0
    )


# --- how distances vary -----------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.integers(0, 2**31))
def test_third_derivative_of_a_distance_is_below_its_bound(seed):
    rng = np.random.default_rng(seed)
    r, v, a, j = rng.normal(size=(4, 3)) * np.array([[1.0], [3.0], [10.0], [30.0]])
    t = casadi.SX.sym("t")
    path = casadi.DM(r) + casadi.DM(v) * t + casadi.DM(a) * t**2 / 2 + casadi.DM(j) * t**3 / 6
    square = casadi.dot(path, path)
    third = [casadi.jacobian(casadi.jacobian(casadi.jacobian(x, t), t), t) for x in (casadi.sqrt(square), square)]
    plain, squared = (float(x) for x in casadi.Function("third", [t], third)(0.0))
    V, A, j_length, length = (np.linalg.norm(x) for x in (v, a, j, r))
    assert abs(plain) <= rigid_variation(V, A, j_length, length)[1] * (1 + 1e-12)
    assert abs(squared) <= squared_variation(length, V, A, j_length) * (1 + 1e-12)


def test_the_bound_of_the_third_derivative_is_reached():
    """ṙ_⊥² ḋ is largest at ḋ = V / √3: there the bound is exact."""
    V, ro = 2.0, 0.3
    v = V * np.array([1 / np.sqrt(3), np.sqrt(2 / 3), 0.0])
    h, r = 1e-3, np.array([ro, 0, 0])
    d = [np.linalg.norm(r + k * h * v) for k in (-2, -1, 0, 1, 2)]
    third = (d[4] - 2 * d[3] + 2 * d[1] - d[0]) / (2 * h**3)
    assert_allclose(-third, rigid_variation(V, 0.0, 0.0, ro)[1], rtol=1e-3)  # differences of third order at h = 1e-3


def test_a_closest_point_that_leaves_the_end_of_a_segment_lets_the_acceleration_drop():
    """A point that flies along a segment: beyond the end d̈ = V² / ϱ, beside it 0."""
    V, ro = 2.0, 0.3
    jump, _ = rigid_variation(V, 0.0, 0.0, ro, ends=True)
    s = np.array([-1e-6, 0.0, 1e-6])
    before = np.hypot(-0.001 + V * s, ro)  # still beyond the end
    assert_allclose(np.hypot(0.0, ro), ro)
    curvature = V**2 * ro**2 / np.hypot(0.001, ro) ** 3
    assert curvature <= jump <= curvature * 1.001
    assert before.min() >= ro


@pytest.mark.parametrize("frame", ["tool", "link_4"])
def test_rates_of_a_chain_are_below_their_bounds(frame, rng):
    robot = support.load("arm7")
    q, v = support.random_states(robot, rng, 50)
    a = 20 * rng.normal(size=v.shape)
    h = 1e-3
    place = [robot.pose(q + k * h * v + (k * h) ** 2 / 2 * a, frame)[:, :3, 3] for k in (-2, -1, 0, 1, 2)]
    measured = [(place[3] - place[1]) / (2 * h), (place[3] - 2 * place[2] + place[1]) / h**2,
                (place[4] - 2 * place[3] + 2 * place[1] - place[0]) / (2 * h**3)]  # fmt: skip
    bounds = chain_rates(1.22, np.abs(v).sum(axis=1), np.abs(a).sum(axis=1))
    for real, bound in zip(measured, bounds, strict=True):
        assert (np.linalg.norm(real, axis=1) <= bound).all()
        assert (np.linalg.norm(real, axis=1) >= 1e-3 * bound).any()  # a bound, not infinity


def test_rates_of_a_slider_on_a_turntable_are_below_their_bounds(rng):
    l, l1, l2, w, al = rng.uniform(0.1, 2, 5)
    h = 1e-3
    t = h * np.arange(-2, 3)
    r, angle = l + l1 * t + l2 * t**2 / 2, w * t + al * t**2 / 2
    place = r[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    jerk = (place[4] - 2 * place[3] + 2 * place[1] - place[0]) / (2 * h**3)
    exact = np.hypot(-3 * l1 * w**2 - 3 * l * w * al, 3 * l2 * w + 3 * l1 * al - l * w**3)
    assert_allclose(np.linalg.norm(jerk), exact, rtol=1e-4)
    assert exact <= chain_rates(l, w, al, l1, l2)[2]


# --- from distances to rows -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", [False, True])
def test_clearance_moves_as_it_says(inside, rng):
    robot = support.load("arm7")
    q, v = robot.random_state(rng)
    a = rng.normal(size=robot.nv)
    ball = eq.Sphere((0.7, 0.2, 0.6), 0.1, velocity=(0.1, -0.4, 0.2), acceleration=(1.0, 0.5, -2.0))
    measure = eq.distance(eq.Sphere((0, 0, 0), 0.05, "tool"), ball).on(robot)
    world = measure.motion(measure.world)
    safe = np.polynomial.Polynomial([0.1, 0.3, -0.8])

    def at(t: float) -> Clearance:
        moved = np.stack([world[0] + t * world[1] + t * t / 2 * world[2], world[1] + t * world[2], world[2]])
        now = measure(q + t * v + t * t / 2 * a, v + t * a, moved)
        return Clearance.of(now, v + t * a, safe(t), safe.deriv()(t), safe.deriv(2)(t), inside=inside)

    now, h = at(0.0), 1e-4
    assert_allclose(now.rate, (at(h).value - at(-h).value) / (2 * h), rtol=1e-6)
    assert_allclose(now.J @ a + now.drift, (at(h).rate - at(-h).rate) / (2 * h), rtol=1e-6)
    assert_allclose(now.rate, now.J @ v + now.residual, rtol=1e-12)
    assert now.value * (-1 if inside else 1) > 0


def test_rows_are_those_of_the_thesis(rng):
    """−J a ≤ β_d + β_res [QO21, Eq. (4.6)]; J a ≤ −(β_d + β_res) to keep in [QO21, Eq. (4.8)]."""
    robot = support.load("arm7")
    q, v = robot.random_state(rng)
    near = eq.distance(eq.Point((0, 0, 0), "tool"), eq.Point((0.4, 0.3, 0.6), None, (0.1, 0.2, 0.3), (1, 2, 3))).on(
        robot
    )(q, v)
    gains, safe_rate, safe_second = Gains.of_rates(2.0, 5.0), 0.05, -0.3
    beta_d = gains.eta_d * near.J @ v + near.J_dot_v + gains.eta_p * (near.value - 0.04)
    beta_res = near.residual_rate - safe_second + gains.eta_d * (near.residual - safe_rate)
    for inside, sign in ((False, 1.0), (True, -1.0)):
        x = Clearance.of(near, v, 0.04, safe_rate, safe_second, inside=inside)
        assert_allclose(continuous_bound(x.value, x.rate, gains) - x.drift, -sign * (beta_d + beta_res), rtol=1e-10)
        assert_allclose(x.J, sign * near.J)


# --- many starts ------------------------------------------------------------------------------------------------------


def check(outcome: safety.SafetyOutcome, admitted: float) -> None:
    assert outcome.admitted >= admitted * outcome.starts
    assert outcome.worst >= -1e-9, outcome  # the theory gives 0; 1e-9 m is for rounding over thousands of steps
    assert outcome.demand <= 1 + 1e-9, outcome


@pytest.mark.parametrize("dt", STEPS)
@pytest.mark.parametrize("moving", [False, True], ids=["standing", "moving"])
@pytest.mark.parametrize("scene", safety.SCENES)
def test_no_point_enters_an_obstacle(scene, moving, dt):
    check(safety.points(scene, moving, dt, starts=420, duration=80 * dt), 0.8)


@pytest.mark.parametrize("dt", STEPS)
@pytest.mark.parametrize("moving", [False, True], ids=["standing", "moving"])
def test_no_arm_enters_an_obstacle(moving, dt):
    check(safety.arms("arm7", moving, dt, starts=150, duration=60 * dt), 0.85)


def test_without_the_margin_points_do_enter():
    """The bound of continuous time at 10 ms: what the theorem is for."""
    assert safety.points("sphere", True, 1e-2, starts=420, duration=0.5, naive=True).worst < -1e-4


@pytest.mark.slow
def test_no_start_of_many_enters_an_obstacle():
    outcomes = list(safety.run(starts=2500, duration=1.5))
    assert sum(o.starts for o in outcomes) >= 80_000
    for outcome in outcomes:
        check(outcome, 0.75)


# --- the experiment of the thesis -------------------------------------------------------------------------------------


@pytest.mark.paper("Q11")
def test_three_cases_of_the_thesis():
    flights = qo21_collision.three_cases()
    assert [f.collides for f in flights.values()] == [True, True, False]
    assert flights["I"].least < flights["II"].least < qo21_collision.SAFE <= flights["III"].least
    assert flights["I"].error[-1] < 1e-6  # the task is done where nothing stands in its way
    robot, object_ = support.load("arm6"), qo21_collision.object_motion
    for flight in flights.values():  # what the margin assumes is what happened
        h = flight.t[1]
        r = robot.pose(flight.q, "tool")[:, :3, 3] - np.array([object_(t)[0] for t in flight.t])
        assert np.linalg.norm(np.diff(r, 2, axis=0), axis=1).max() / h**2 <= qo21_collision.ACCELERATION
        assert np.linalg.norm(np.diff(r, 3, axis=0), axis=1).max() / h**3 <= qo21_collision.JERK


def test_the_object_moves_as_its_derivatives_say():
    h = 1e-4
    for t in (0.0, 1.3, 5.0):
        _, rate, second = qo21_collision.object_motion(t)
        ahead, behind = qo21_collision.object_motion(t + h), qo21_collision.object_motion(t - h)
        assert_allclose(rate, (ahead[0] - behind[0]) / (2 * h), atol=1e-8)
        assert_allclose(second, (ahead[1] - behind[1]) / (2 * h), atol=1e-8)
    assert_allclose(qo21_collision.object_motion(0.0)[0], (0.23, 0.24, 0.8))


def test_the_figure_shows_three_lines_and_the_safe_distance():
    pytest.importorskip("matplotlib")
    picture = qo21_collision.figure({case: qo21_collision.fly(case, 0.1) for case in qo21_collision.CASES})
    assert len(picture.axes[0].lines) == 4
