"""Distances: laws of their derivatives, the thesis' closed forms, Coal's word on capsules and spheres, degenerate
pairs."""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace

import numpy as np
import pytest
import support
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.algebra import dual_quaternions as dq
from equipoise.algebra import quaternions, rigid
from equipoise.geometry.distances import DistanceKernel, DistanceValues, angle, distances_kernel
from equipoise.geometry.primitives import GeometryError, Primitive

pytestmark = pytest.mark.paper("Q2")
Array = np.ndarray
FRAMES = {"arm7": ("tool", "link_3"), "quadruped": ("front_left_foot", "trunk"), "jointed": ("hand", "tip")}
KINDS = ("Point", "Line", "Segment", "Plane", "Sphere", "Capsule")
NO_DISTANCE = {("Line", "Plane"), ("Plane", "Plane")}
PAIRS = [pair for pair in itertools.combinations_with_replacement(KINDS, 2) if pair not in NO_DISTANCE]


def primitive(kind: str, rng: np.random.Generator, frame: str | None = None) -> Primitive:
    """A random one: small on a frame, moving in the world."""
    x, y = rng.normal(size=(2, 3)) * (0.2 if frame else 0.5)
    moving = {} if frame else {"velocity": rng.normal(size=6), "acceleration": rng.normal(size=6)}
    arguments = {
        "Point": (x,),
        "Line": (x, y),
        "Segment": (x, y),
        "Plane": (y, 0.3),
        "Sphere": (x, 0.05),
        "Capsule": (x, y, 0.05),
    }
    return getattr(eq, kind)(*arguments[kind], frame, **moving)


@functools.cache
def robot_of(name: str) -> eq.Robot:
    if name != "jointed":
        return support.load(name)
    builder = eq.RobotBuilder("jointed")  # every type of joint, and one that follows another
    for link in ("trunk", "arm", "hand", "tail", "tip"):
        builder.link(link, mass=1.0, com=(0.1, 0.2, -0.1), inertia=(0.3, 0.4, 0.5))
    builder.joint("shoulder", "ball", "trunk", "arm", position=(0.1, 0.2, 0.3))
    builder.joint("wrist", "revolute", "arm", "hand", axis=(1, 2, 0), position=(0, 0.3, 0))
    builder.joint("tail", "planar", "trunk", "tail", axis=(0, 1, 1))
    builder.joint("tip", "revolute", "tail", "tip", axis=(0, 1, 0), mimic="wrist")
    return builder.build()


@functools.cache
def everything(name: str) -> DistanceKernel:
    """Every pair between the robot and the world, in turns both ways round, and some within the robot."""
    robot, rng, (tip, trunk) = robot_of(name), np.random.default_rng(3), FRAMES[name]
    wanted = []
    for k, (one, other) in enumerate(PAIRS):
        pair = primitive(one, rng, tip), primitive(other, rng)
        wanted.append(eq.distance(*(pair if k % 2 else pair[::-1])))
    lines = primitive("Line", rng, tip), primitive("Line", rng)
    wanted += [angle(*lines), angle(*lines, smooth=False), angle(lines[0], primitive("Plane", rng), smooth=False)]
    wanted += [
        eq.distance(lines[0], lines[1], squared=False),
        eq.distance(primitive("Point", rng, tip), lines[1], squared=False),
    ]
    for pair in (("Capsule", "Capsule"), ("Sphere", "Plane"), ("Line", "Line")):
        wanted.append(eq.distance(primitive(pair[0], rng, tip), primitive(pair[1], rng, trunk)))
    return distances_kernel(robot, wanted)


def evaluate(kernel: DistanceKernel, q: Array, v: Array, world: Array | None = None) -> DistanceValues:
    """By the program on NumPy: the numbers of the kernel without compiling it."""
    motion = kernel.motion(kernel.world) if world is None else world
    return DistanceValues(*kernel.kernel.program.evaluate(q, v, *np.moveaxis(motion, -2, 0)))


def later(motion: Array, t: float) -> Array:
    """The world after a time t, its second derivatives constant."""
    w, rate, second = motion
    return np.stack([w + t * rate + t * t / 2 * second, rate + t * second, second])


def slope(f, h: float = 1e-3):
    """Derivative of f at 0, to fourth order."""
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


# --- laws -------------------------------------------------------------------------------------------------------------


@pytest.fixture(params=FRAMES)
def case(request, rng):
    kernel = everything(request.param)
    return kernel, *kernel.robot.random_state(rng)


def test_the_jacobian_is_the_slope_along_the_manifold(case):
    kernel, q, v = case
    robot, zero = kernel.robot, np.zeros(kernel.robot.nv)

    def moved(h):
        steps = h * np.eye(robot.nv)
        return evaluate(kernel, support.evaluate(robot, "integrate", q, steps, np.array([1.0])), zero).value.T

    J = evaluate(kernel, q, v).J
    assert_allclose(J, slope(moved), atol=2e-8 * max(1, np.abs(J).max()))


def test_the_rate_holds_along_a_motion_of_robot_and_world(case):
    kernel, q, v = case
    robot, motion = kernel.robot, kernel.motion(kernel.world)

    def value(t):
        return evaluate(kernel, support.evaluate(robot, "integrate", q, v, np.array([t])), v, later(motion, t)).value

    now = evaluate(kernel, q, v)
    assert_allclose(now.rate(v), slope(value, 1e-4), rtol=1e-6, atol=1e-6)
    assert np.abs(now.residual[: len(PAIRS)]).min() > 1e-4
    assert_allclose(now.residual[-3:], 0)  # within the robot the world has no part


def test_the_acceleration_is_the_slope_of_the_rate(case, rng):
    kernel, q, v = case
    robot, motion, a = kernel.robot, kernel.motion(kernel.world), rng.normal(size=kernel.robot.nv)

    def rate(t):
        q_t = support.evaluate(robot, "integrate", q, v + a * t / 2, np.array([t]))  # to t³, which `slope` takes out
        return evaluate(kernel, q_t, v + a * t, later(motion, t)).rate(v + a * t)

    now = evaluate(kernel, q, v)
    scale = np.abs(now.J_dot_v).max() + np.abs(now.residual_rate).max()
    assert_allclose(now.acceleration(a), slope(rate, 1e-4), atol=1e-7 * scale)
    assert_allclose(now.residual_rate[-3:], 0)


def test_terms_of_the_acceleration_are_the_ones_they_are_named_after(case):
    """J̇ v is the slope of J v with the numbers v held, ζ̇ that of ζ with the world's acceleration."""
    kernel, q, v = case
    motion = kernel.motion(kernel.world)

    def terms(t):
        q_t = support.evaluate(kernel.robot, "integrate", q, v, np.array([t]))
        then = evaluate(kernel, q_t, v, later(motion, t))
        return np.stack([then.J @ v, then.residual])

    now, slopes = evaluate(kernel, q, v), slope(terms, 1e-4)
    assert_allclose(now.J_dot_v, slopes[0], atol=1e-7 * np.abs(slopes[0]).max())
    assert_allclose(now.residual_rate, slopes[1], atol=1e-7 * np.abs(slopes[1]).max())


@pytest.mark.parametrize("kind", KINDS)
def test_primitives_of_the_world_move_as_rigid_bodies(kind, rng):
    body = primitive(kind, rng)
    count = len(body.points)
    arms = np.array([p - body.points[0] for p in body.points] + list(body.directions))

    def moved(t):
        shift, turn = np.split(body.velocity * t + body.acceleration * t * t / 2, 2)
        R = quaternions.rotation(quaternions.exp(turn))
        vectors = arms @ R.T
        vectors[:count] += body.points[0] + shift
        return np.append(vectors.ravel(), [] if body.thickness is None else [body.thickness])

    h, (now, rate, second) = 1e-3, body.motion
    assert_allclose(moved(0), now, atol=1e-15)
    assert_allclose(slope(moved), rate, atol=1e-8)
    assert_allclose((moved(h) - 2 * now + moved(-h)) / h**2, second, atol=1e-4)


def test_the_order_of_a_pair_does_not_matter(rng):
    robot = support.load("arm6")
    pairs = [eq.distance(primitive(a, rng, "tool"), primitive(b, rng)) for a, b in PAIRS]
    there, back = (distances_kernel(robot, ds) for ds in (pairs, [replace(d, a=d.b, b=d.a) for d in pairs]))
    q, v = robot.random_state(rng)
    there, back = (evaluate(kernel, q, v) for kernel in (there, back))
    for name in ("value", "J", "residual", "J_dot_v", "residual_rate"):
        assert_allclose(getattr(there, name), getattr(back, name), rtol=1e-8, atol=1e-10, err_msg=name)


def test_a_common_rigid_motion_changes_nothing(rng):
    kernel = everything("quadruped")
    q, v = kernel.robot.random_state(rng)
    turn, shift = quaternions.exp(rng.normal(size=3)), 3 * rng.normal(size=3)
    R = quaternions.rotation(turn)
    q_moved, v_moved = q.copy(), v.copy()
    q_moved[:3], q_moved[3:7] = R @ q[:3] + shift, quaternions.product(turn, q[3:7])
    v_moved[:3], v_moved[3:6] = R @ v[:3], R @ v[3:6]
    world = []
    for body in kernel.world:
        motion, n = body.motion.copy(), 3 * len(body.points + body.directions)
        motion[:, :n] = (motion[:, :n].reshape(3, -1, 3) @ R.T).reshape(3, n)
        motion[0, : 3 * len(body.points)] += np.tile(shift, len(body.points))
        world.append(motion)
    here, there = evaluate(kernel, q, v), evaluate(kernel, q_moved, v_moved, np.concatenate(world, axis=1))
    assert_allclose(there.J[:, 6:], here.J[:, 6:], atol=1e-10)
    for name in ("value", "residual", "J_dot_v", "residual_rate"):
        expected = getattr(here, name)
        assert_allclose(getattr(there, name), expected, atol=1e-10 * (1 + np.abs(expected).max()), err_msg=name)
    assert_allclose(here.J[-3:, :3], 0, atol=0)  # within the robot, its place cannot matter


# --- the thesis' closed forms [QO21, Table 3.1; Marinho et al. 2019] --------------------------------------------------


@pytest.mark.parametrize("name", ["arm7", "quadruped"])
def test_closed_forms_of_the_thesis(name, rng):
    robot, frame = support.load(name), FRAMES[name][0]
    q, v = robot.random_state(rng)
    X, J_frame = support.evaluate(robot, "pose", q, frames=frame), support.evaluate(robot, "jacobian", q, frames=frame)
    p, J_p, J_w = X[:3, 3], J_frame[:3], J_frame[3:]
    l_z = (dq.from_matrix(X).P * dq.k * dq.from_matrix(X).P.conj).vec3  # [QO21, Eq. (4.24)]
    m_z, J_l = np.cross(p, l_z), -rigid.skew(l_z) @ J_w
    J_m = rigid.skew(p) @ J_l - rigid.skew(l_z) @ J_p
    origin, axis = eq.Point((0, 0, 0), frame), eq.Line((0, 0, 0), (0, 0, 2), frame)
    point, line, plane = (primitive(kind, rng) for kind in ("Point", "Line", "Plane"))
    (p_s, p_s_dot), (_, l, p_l_dot, l_dot) = point.motion[:2], np.split(line.motion[:2].ravel(), 4)
    m = line.dual_quaternion.vec6[3:]
    m_dot = np.cross(p_l_dot, l) + np.cross(line.point, l_dot)
    d_dot = plane.motion[1, :3] @ plane.normal + plane.points[0] @ plane.motion[1, 3:]
    u, n = np.cross(p, l) - m, np.cross(l_z, l)
    h, h_robot, h_world = l @ m_z + l_z @ m, l @ J_m + m @ J_l, l_dot @ m_z + l_z @ m_dot
    s, s_robot, s_world = n @ n, -2 * n @ rigid.skew(l) @ J_l, 2 * n @ np.cross(l_z, l_dot)
    sine = np.sqrt(1 - (l_z @ l) ** 2)
    expected = {  # value, Jacobian, residual
        "point-point": ((p - p_s) @ (p - p_s), 2 * (p - p_s) @ J_p, -2 * (p - p_s) @ p_s_dot),
        "point-line": (u @ u, -2 * u @ rigid.skew(l) @ J_p, 2 * u @ (np.cross(p, l_dot) - m_dot)),
        "point-plane": (p @ plane.normal - plane.offset, plane.normal @ J_p, p @ plane.motion[1, 3:] - d_dot),
        "line-line": (
            h**2 / s,
            (2 * h * h_robot * s - h**2 * s_robot) / s**2,
            (2 * h * h_world * s - h**2 * s_world) / s**2,
        ),
        "chord (4.30)": (2 - 2 * l_z @ l, 2 * (l_z - l) @ J_l, -2 * (l_z - l) @ l_dot),
        # as printed, −1/sine is missing here
        "angle (4.27)": (np.arccos(l_z @ l), -l @ J_l / sine, -l_z @ l_dot / sine),
    }
    wanted = [
        eq.distance(origin, point),
        eq.distance(origin, line),
        eq.distance(origin, plane),
        eq.distance(axis, line),
    ]
    ours = evaluate(distances_kernel(robot, [*wanted, angle(axis, line), angle(axis, line, smooth=False)]), q, v)
    for k, (what, (value, J, residual)) in enumerate(expected.items()):
        assert_allclose(ours.value[k], value, rtol=1e-10, err_msg=what)
        assert_allclose(ours.J[k], J, rtol=1e-9, atol=1e-10, err_msg=what)
        assert_allclose(ours.residual[k], residual, rtol=1e-9, atol=1e-10, err_msg=what)
    rate_of_J = 2 * ((J_l @ v) @ (J_l @ v))  # first term of J̇ v under [QO21, Eq. (4.34)]
    J_l_rate = slope(lambda t: _axis_rate(robot, q, v, frame, t), 1e-4)
    static = evaluate(distances_kernel(robot, [angle(axis, eq.Line((0, 0, 0), l))]), q, v)
    assert_allclose(static.J_dot_v[0], rate_of_J + 2 * (l_z - l) @ J_l_rate, rtol=1e-6, atol=1e-6)


def _axis_rate(robot, q, v, frame, t):
    """l̇_z = ω × l_z after a time t at constant v."""
    q_t = support.evaluate(robot, "integrate", q, v, np.array([t]))
    X, J = support.evaluate(robot, "pose", q_t, frames=frame), support.evaluate(robot, "jacobian", q_t, frames=frame)
    return np.cross(J[3:] @ v, X[:3, 2])


# --- Coal, and brute force --------------------------------------------------------------------------------------------


@functools.cache
def in_the_world() -> DistanceKernel:
    """Every pair with both in the world: parameters come with the call."""
    rng = np.random.default_rng(0)
    return distances_kernel(support.load("arm6"), [eq.distance(primitive(a, rng), primitive(b, rng)) for a, b in PAIRS])


def between(pairs: list[tuple[Primitive, Primitive]]) -> DistanceValues:
    """One pair for every entry of PAIRS."""
    kernel = in_the_world()
    q = kernel.robot.neutral()
    return kernel(q, np.zeros(kernel.robot.nv), [body for pair in pairs for body in pair])


def test_coal_agrees_on_spheres_and_capsules(rng):
    coal = pytest.importorskip("coal")

    def shape(body):
        if isinstance(body, eq.Sphere):
            return coal.Sphere(body.radius), coal.Transform3s(np.eye(3), body.centre)
        span = body.b - body.a
        R = rigid.rotation_to(span / np.linalg.norm(span))
        return coal.Capsule(body.radius, np.linalg.norm(span)), coal.Transform3s(R, (body.a + body.b) / 2)

    compared = 0
    for _ in range(40):
        pairs = [(primitive(a, rng), primitive(b, rng)) for a, b in PAIRS]
        for (a, b), value in zip(pairs, between(pairs).value, strict=True):
            if not {type(a), type(b)} <= {eq.Sphere, eq.Capsule}:
                continue
            theirs = coal.distance(*shape(a), *shape(b), coal.DistanceRequest(), coal.DistanceResult())
            assert (value > 0) == (theirs > 0)
            if value > 1e-3:
                assert_allclose(value, theirs, atol=1e-7)
                compared += 1
    assert compared > 80


def brute_force(a: Primitive, b: Primitive) -> float:
    """Squared distance of cores of points and segments: the least over ends and, where it is inside, the common
    normal."""
    ends = [(x.points[0], x.points[-1]) for x in (a, b)]
    candidates = []
    for point, (start, end) in [(p, ends[1]) for p in ends[0]] + [(p, ends[0]) for p in ends[1]]:
        e = end - start
        t = np.clip((point - start) @ e / (e @ e), 0, 1) if e @ e > 0 else 0.0
        candidates.append(np.sum((start + t * e - point) ** 2))
    (a0, a1), (b0, b1) = ends
    A = np.column_stack([a1 - a0, b0 - b1])
    s = np.linalg.lstsq(A, b0 - a0, rcond=None)[0]
    if ((s >= 0) & (s <= 1)).all():
        candidates.append(np.sum((A @ s - (b0 - a0)) ** 2))
    return min(candidates)


coordinates = st.lists(st.sampled_from([0.0, 0.0, 1.0, -1.0, 0.5, 1.0 + 1e-9, 1e-13]), min_size=3, max_size=3)
vectors = coordinates.filter(lambda x: np.linalg.norm(x) > 1e-3)


def built(kind, a, b, moving):
    arguments = {
        "Point": (a,),
        "Line": (a, b),
        "Segment": (a, b),
        "Plane": (b, a[0]),
        "Sphere": (a, 0.1),
        "Capsule": (a, b, 0.1),
    }
    return getattr(eq, kind)(*arguments[kind], velocity=moving, acceleration=moving[::-1])


@settings(max_examples=100, deadline=None)
@given(coordinates, vectors, coordinates, vectors, st.lists(st.sampled_from([0.0, 1.0, -2.0]), min_size=6, max_size=6))
def test_degenerate_pairs_are_finite_and_exact(a, b, c, d, moving):
    """Parallel, touching, crossing, without length: coordinates from few numbers make all of them frequent."""
    pairs = [(built(one, a, b, moving), built(other, c, d, [0.0] * 6)) for one, other in PAIRS]
    now = between(pairs)
    for name in ("value", "J", "residual", "J_dot_v", "residual_rate"):
        assert np.isfinite(getattr(now, name)).all(), name
    for (one, other), value in zip(pairs, now.value, strict=True):
        if {one.core, other.core} <= {"point", "segment"}:
            radii = (one.thickness or 0) + (other.thickness or 0)
            exact = brute_force(one, other)
            thick = one.thickness is not None or other.thickness is not None
            assert_allclose(value, np.sqrt(exact) - radii if thick else exact, atol=1e-7)
    assert (now.value[[d.squared for d in in_the_world().distances]] >= 0).all()


@settings(max_examples=50, deadline=None)
@given(coordinates, vectors, coordinates, vectors, st.integers(0, 2**31))
def test_values_are_continuous_where_the_mathematics_is(a, b, c, d, seed):
    """A change of 1e-8 in every number changes a value by as little, but for lines, which are parallel or are not."""
    steps = 1e-8 * np.random.default_rng(seed).uniform(-1, 1, size=(4, 3))
    a2, b2, c2, d2 = (np.add(x, step) for x, step in zip((a, b, c, d), steps, strict=True))
    still = [0.0] * 6
    here = between([(built(x, a, b, still), built(y, c, d, still)) for x, y in PAIRS]).value
    there = between([(built(x, a2, b2, still), built(y, c2, d2, still)) for x, y in PAIRS]).value
    for pair, change in zip(PAIRS, np.abs(there - here), strict=True):
        if pair != ("Line", "Line"):
            assert change < 2e-6, pair


def test_slopes_are_continuous_past_ends_and_edges(rng):
    """Bodies that slide past each other without turning: what closest points do at ends of segments does not show in
    ḋ."""
    kernel = in_the_world()
    bodies = [primitive(kind, rng) for pair in PAIRS for kind in pair]
    bodies = [replace(x, velocity=rng.normal(size=3), acceleration=None) for x in bodies]
    start, t = kernel.motion(bodies), np.linspace(-2, 2, 4001)[:, None]
    motion = np.stack(np.broadcast_arrays(start[0] + t * start[1], start[1], 0.0 * t), axis=1)
    path = kernel(kernel.robot.neutral(), np.zeros(kernel.robot.nv), motion)
    never_meet = path.value.min(axis=0) > -0.04  # the cores keep apart, else plain distances have an edge
    smooth = never_meet | [d.squared for d in kernel.distances] | np.array(["Plane" in pair for pair in PAIRS])
    assert smooth.sum() > 12
    assert np.abs(np.diff(path.residual, axis=0))[:, smooth].max() < 0.1
    assert_allclose(np.gradient(path.value, t[:, 0], axis=0)[1:-1], path.residual[1:-1], atol=0.05)


# --- where the mathematics leaves a choice ----------------------------------------------------------------------------


def one(a: Primitive, b: Primitive, robot: str = "arm6", q: Array | None = None, **options) -> DistanceValues:
    robot = support.load(robot)
    kernel = distances_kernel(robot, [eq.distance(a, b, **options)])
    values = evaluate(kernel, robot.neutral() if q is None else q, np.ones(robot.nv))
    return DistanceValues(*(getattr(values, f)[0] for f in ("value", "J", "residual", "J_dot_v", "residual_rate")))


def test_what_is_round_is_nearer_to_a_plane_by_its_radius():
    floor, lowest = eq.Plane((0, 0, 2), 0.5), (0.3, 0.1, 0.9)
    assert_allclose(one(eq.Point(lowest), floor).value, 0.4)
    assert_allclose(one(eq.Sphere(lowest, 0.25), floor).value, 0.15)
    assert_allclose(one(floor, eq.Capsule(lowest, (0, 0, 2), 0.5)).value, -0.1)
    assert_allclose(one(eq.Sphere((0, 0, 0), 0.25), eq.Sphere((3, 0, 4), 0.5)).value, 4.25)


def test_parallel_lines_have_their_distance():
    for direction in ((0, 0, 3), (0, 0, -1), (1e-8, 0, 1)):
        assert_allclose(one(eq.Line((0, 0, 0), (0, 0, 1)), eq.Line((3, 4, 7), direction)).value, 25, rtol=1e-6)


def test_lines_that_cross_need_not_collide_and_segments_know():
    upright, level = eq.Line((0, 0, 0), (0, 0, 1)), eq.Line((0, 0, 9), (1, 0, 0))
    assert_allclose([one(upright, level).value, *one(upright, level).J], 0)
    far = eq.Segment((1, 0, 9), (2, 0, 9))
    assert_allclose(one(upright, far).value, 1)
    assert_allclose(one(eq.Segment((0, 0, 0), (0, 0, 1)), far).value, 65)
    assert_allclose(one(upright, eq.Capsule((1, 0, 9), (2, 0, 9), 0.25)).value, 0.75)


def test_a_frame_that_is_fixed_to_the_world_is_the_world(rng):
    robot = support.load("arm6").with_frame(
        "bench", "base_link", rigid.pose(rigid.rotation_from_rpy(1, 2, 3), np.array([1, 2, 3.0]))
    )
    X = robot.tree.places["bench"][1]
    ball, there = eq.Sphere((0.1, 0.2, 0.3), 0.1, "bench"), eq.Sphere((X @ [0.1, 0.2, 0.3, 1])[:3], 0.1)
    q, v = robot.random_state(rng)
    both = evaluate(
        distances_kernel(robot, [eq.distance(eq.Segment((0, 0, 0), (0, 0, 1), "tool"), x) for x in (ball, there)]), q, v
    )
    assert_allclose(both.value[0], both.value[1], rtol=1e-12)
    assert_allclose(both.J[0], both.J[1], atol=1e-12)
    assert_allclose(both.J_dot_v[0], both.J_dot_v[1], atol=1e-12)


def test_centres_that_meet_give_no_slope_and_no_nan():
    robot = support.load("arm6")
    centre = support.evaluate(robot, "pose", robot.neutral(), frames="tool")[:3, 3]
    for ball in (eq.Sphere(centre, 0.1, velocity=(1, 0, 0)), eq.Capsule(centre, centre + np.array([0, 0, 1]), 0.1)):
        met = one(eq.Sphere((0, 0, 0), 0.2, "tool"), ball)
        assert_allclose(met.value, -0.3)
        assert_allclose([*met.J, met.residual, met.J_dot_v, met.residual_rate], 0)


@pytest.mark.parametrize(
    "other", [eq.Plane((0, 0, 1), -2), eq.Line((0, 0, -2), (1, 0, 0)), eq.Segment((-1, 0, -2), (1, 0, -2))]
)
def test_of_a_stretch_that_is_level_the_middle_counts(other):
    """J of a level segment is the mean of the J of its ends, whichever way it would tilt."""
    robot = support.load("quadruped")
    q = robot.neutral()
    ends = [(-0.4, 0, 0), (0.4, 0, 0)]
    both = one(eq.Segment(*ends, "trunk"), other, "quadruped", q)
    each = [one(eq.Point(end, "trunk"), other, "quadruped", q) for end in ends]
    assert_allclose(both.value, each[0].value)
    assert_allclose(both.J, (each[0].J + each[1].J) / 2, atol=1e-12)
    assert np.abs(each[0].J - each[1].J).max() > 0.1


def test_angles_at_their_ends():
    up = eq.Line((0, 0, 0), (0, 0, 1))
    for direction, phi in (((0, 0, 2), 0.0), ((0, 0, -2), np.pi), ((1e-7, 0, 1), 1e-7), ((1, 0, 1), np.pi / 4)):
        kernel = distances_kernel(
            support.load("arm6"), [angle(up, eq.Line((1, 0, 0), direction), smooth=s) for s in (0, 1)]
        )
        values = evaluate(kernel, kernel.robot.neutral(), np.ones(6))
        assert_allclose(values.value, [phi, 2 - 2 * np.cos(phi)], rtol=1e-9, atol=1e-15)
        assert all(np.isfinite(getattr(values, f)).all() for f in ("J", "J_dot_v", "residual", "residual_rate"))


# --- as users call it -------------------------------------------------------------------------------------------------


def test_the_compiled_kernel_takes_batches_and_a_world_that_moves(rng):
    robot = support.load("arm6")
    ball = eq.Sphere((0.5, 0.2, 0.4), 0.1, velocity=(0, -1, 0))
    hand, elbow = eq.Capsule((0, 0, 0), (0, 0, 0.2), 0.04, "tool"), eq.Point((0, 0, 0), "link_2")
    near = distances_kernel(
        robot, [eq.distance(hand, ball), eq.distance(elbow, ball), eq.distance(hand, eq.Plane((0, 0, 1)))]
    )
    assert near.world[0] is ball and len(near.world) == 2
    q, v = support.random_states(robot, rng, 5)
    batch = near(q, v)
    assert batch.value.shape == (5, 3) and batch.J.shape == (5, 3, robot.nv)
    assert_allclose(batch.rate(v), np.einsum("bij,bj->bi", batch.J, v) + batch.residual)
    alone = eq.distance(hand, ball).on(robot)
    states = [alone(*state) for state in zip(q, v, strict=True)]
    assert_allclose([x.value for x in states], batch.value[:, 0], atol=1e-12)
    assert_allclose([x.rate(y) for x, y in zip(states, v, strict=True)], batch.rate(v)[:, 0], atol=1e-12)
    assert_allclose(alone(q, v).acceleration(v), batch.acceleration(v)[:, 0], atol=1e-12)
    other = replace(ball, centre=(1, 1, 1), radius=0.3, velocity=None)
    now = alone(q[0], v[0], [other])
    assert now.residual == 0 and now.value != states[0].value
    motions = np.stack([alone.motion([b]) for b in (ball, other)])
    assert_allclose(alone(q[0], v[0], motions).value, [states[0].value, now.value], atol=1e-12)
    coarse = near(*(x.astype(np.float32) for x in (q, v)))
    assert coarse.value.dtype == coarse.J.dtype == np.float32
    assert_allclose(coarse.value, batch.value, atol=1e-5)


def test_nothing_is_compiled_anew_for_another_world():
    robot, tip = support.load("arm6"), eq.Point((0, 0, 0), "tool")
    programs = [eq.distance(tip, eq.Sphere(c, 0.1)).on(robot).kernel.program for c in ((1, 0, 0), (0, 2, 0))]
    assert programs[0].to_bytes() == programs[1].to_bytes()


def test_primitives_are_frozen_and_as_in_the_thesis():
    line, plane = eq.Line((1, 0, 0), (0, 0, 2)), eq.Plane((0, 2, 0), 3)
    assert_allclose(line.dual_quaternion.vec6, [0, 0, 1, 0, -1, 0])
    assert_allclose(plane.dual_quaternion.vec8, [0, 0, 1, 0, 3, 0, 0, 0])
    assert_allclose(eq.Point((1, 2, 3)).dual_quaternion.translation.vec3, [1, 2, 3])
    assert repr(plane) == "Plane(normal=[0.0, 1.0, 0.0], offset=3.0)"
    with pytest.raises(ValueError):
        line.point[0] = 2
    with pytest.raises(AttributeError):
        line.point = (0, 0, 0)


def test_which_values_are_squared():
    point, line, plane, ball = (
        eq.Point((0, 0, 0)),
        eq.Line((0, 0, 0), (1, 0, 0)),
        eq.Plane((0, 0, 1)),
        eq.Sphere((0, 0, 0), 1),
    )
    assert eq.distance(point, line).squared and eq.distance(line, line).squared
    assert not eq.distance(point, plane).squared and not eq.distance(ball, line).squared
    assert_allclose(one(point, eq.Point((3, 4, 0)), squared=False).value, 5)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: eq.Line((0, 0, 0), (0, 0, 0)), GeometryError, "Line.direction .* no length"),
        (lambda: eq.Plane((0, 0, 1e-30)), GeometryError, "Plane.normal .* no length"),
        (lambda: eq.Plane((0, 0, 1), np.nan), eq.StateError, "offset is nan"),
        (lambda: eq.Plane((0, 0, 1), (1, 2)), eq.ShapeError, "one number"),
        (lambda: eq.Sphere((0, 0, 0), -1), GeometryError, "Sphere.radius must be finite and not negative"),
        (lambda: eq.Capsule((0, 0, 0), (0, 0, 1), np.nan), GeometryError, "Capsule.radius"),
        (lambda: eq.Sphere((0, 0, 0), "wide"), eq.ShapeError, "Sphere.radius must be one number"),
        (lambda: eq.Point((0, 0)), eq.ShapeError, r"Point.position: wanted shape \(3,\), got \(2,\)"),
        (lambda: eq.Point("abc"), eq.ShapeError, "not an array of real numbers"),
        (lambda: eq.Point((0, np.inf, 0)), eq.StateError, "every number must be finite"),
        (lambda: eq.Point((0, 0, 0), 3), eq.ShapeError, "name of a frame"),
        (lambda: eq.Point((0, 0, 0), "tool", (1, 0, 0)), GeometryError, "moves with that frame"),
        (lambda: eq.Point((0, 0, 0), velocity=(1, 2, 3, 4)), eq.ShapeError, r"\(3,\) or \(6,\)"),
        (
            lambda: eq.distance(eq.Plane((0, 0, 1)), eq.Line((0, 0, 0), (1, 0, 0))),
            GeometryError,
            "no distance.*Capsule",
        ),
        (lambda: eq.distance(eq.Point((0, 0, 0)), (1, 2, 3)), GeometryError, "wanted a Point, Line"),
        (lambda: eq.distance(eq.Point((0, 0, 0)), eq.Plane((0, 0, 1)), squared=True), GeometryError, "sign"),
        (lambda: angle(eq.Point((0, 0, 0)), eq.Line((0, 0, 0), (1, 0, 0))), GeometryError, "Point has no direction"),
        (lambda: distances_kernel(support.load("arm6"), []), GeometryError, "at least one"),
        (lambda: distances_kernel(support.load("arm6"), [3]), GeometryError, "wanted Distances"),
        (lambda: one(eq.Point((0, 0, 0), "tol"), eq.Point((0, 0, 0))), eq.UnknownNameError, "Did you mean 'tool'"),
    ],
)
def test_errors_teach(make, error, words):
    with pytest.raises(error, match=words) as caught:
        make()
    assert isinstance(caught.value, eq.EquipoiseError)


def test_a_world_of_other_things_is_refused():
    robot, tip = support.load("arm6"), eq.Point((0, 0, 0), "tool")
    near = eq.distance(tip, eq.Sphere((1, 0, 0), 0.1)).on(robot)
    q, v = robot.neutral(), np.zeros(6)
    with pytest.raises(GeometryError, match=r"\[Sphere\], in this order; got \[Point\]"):
        near(q, v, [eq.Point((0, 0, 0))])
    with pytest.raises(GeometryError, match="stands in the world"):
        near(q, v, [eq.Sphere((0, 0, 0), 0.1, "tool")])
    with pytest.raises(eq.ShapeError, match=r"\(…, 3, 4\)"):
        near(q, v, np.zeros((3, 3)))
    with pytest.raises(eq.StateError, match="world"):
        near(q, v, np.full((3, 4), np.nan))
