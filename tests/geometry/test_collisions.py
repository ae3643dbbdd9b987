"""Capsules around shapes, pairs worth watching, hundreds of distances at once: laws, Coal's word, the thesis'
switch."""

from __future__ import annotations

import functools
import itertools
import struct
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import support
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.geometry.capsules import collision_capsules, smallest_capsule, volume
from equipoise.geometry.collisions import self_collision_pairs, sorted_pairs
from equipoise.geometry.distances import DistanceKernel, distances_kernel
from equipoise.geometry.line_point import line_point_switch
from equipoise.geometry.pairs import PairSet
from equipoise.geometry.primitives import GeometryError
from equipoise.geometry.regions import target_region
from equipoise.model.meshes import read_mesh
from equipoise.model.types import Shape

CUBE = np.array(list(itertools.product((0.0, 1.0), repeat=3)))


def inside(shape, points, radii=0.0) -> float:
    """How far the worst point sticks out of a sphere or capsule: negative inside."""
    a, b = shape.points[0], shape.points[-1]
    e = b - a
    t = np.clip((points - a) @ e / max(float(e @ e), 1e-300), 0, 1)
    return float((np.linalg.norm(points - a - t[:, None] * e, axis=1) + radii).max() - shape.radius)


def slope(f, h=1e-4):
    """Derivative of f at 0, to fourth order."""
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


# --- mesh files -------------------------------------------------------------------------------------------------------

TRIANGLES = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])
CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]])
DAE = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="cm" meter="0.01"/><up_axis>Y_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh><source id="s">
<float_array id="f" count="12">0 0 0 1 0 0 0 2 0 0 0 3</float_array></source>
<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>{faces}</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="w"><node><translate>100 0 0</translate><rotate>0 0 1 90</rotate>
<scale>2 2 2</scale>
<node><instance_geometry url="#g"/></node></node></visual_scene></library_visual_scenes></COLLADA>"""
LIST = '<polylist count="4"><input semantic="NORMAL" offset="0"/><input semantic="VERTEX" source="#v" offset="1"/>' \
       "<vcount>3 3 3 3</vcount><p>{p}</p></polylist>"  # fmt: skip
THREES = '<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>{p}</p></triangles>'


def written(folder: Path, kind: str) -> Path:
    path = folder / f"part.{kind.split()[0]}"
    corners = CORNERS[TRIANGLES]
    if kind == "stl":
        body = b"".join(struct.pack("<12fH", 0, 0, 0, *c.ravel(), 0) for c in corners)
        path.write_bytes(b"solid, but binary".ljust(80) + struct.pack("<I", 4) + body)
    elif kind == "stl text":
        facets = ["outer loop\n" + "\n".join("vertex {} {} {}".format(*p) for p in c) + "\nendloop" for c in corners]
        path.write_text("solid x\n" + "\n".join(f"facet normal 0 0 0\n{f}\nendfacet" for f in facets) + "\nendsolid x")
    elif kind == "obj":
        vertices = "".join("v {} {} {}\n".format(*p) for p in CORNERS)
        path.write_text(f"# x\n{vertices}f 1//1 2//1 3//1\nf 1/1 3/1 4/1\nf 1 4 2\nf -3 -1 -2\n")
    else:
        p = " ".join(map(str, TRIANGLES.ravel())) if kind == "dae" else " ".join(f"7 {i}" for i in TRIANGLES.ravel())
        path.write_text(DAE.format(faces=(THREES if kind == "dae" else LIST).format(p=p)))
    return path


@pytest.mark.parametrize("kind", ["stl", "stl text", "obj", "dae", "dae list"])
def test_mesh_files_are_read(tmp_path, kind):
    vertices, triangles = read_mesh(written(tmp_path, kind))
    expected = CORNERS
    if kind.startswith("dae"):  # turned by 90° about z, doubled, moved, in centimetres; the up axis is not heeded
        expected = (2 * CORNERS @ np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1]]) + [100, 0, 0]) / 100
    found = {tuple(sorted(map(tuple, vertices[t].round(9)))) for t in triangles}
    assert found == {tuple(sorted(map(tuple, expected[t].round(9)))) for t in TRIANGLES}


def test_an_obj_polygon_is_cut_into_triangles(tmp_path):
    path = tmp_path / "square.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n")
    assert read_mesh(path)[1].tolist() == [[0, 1, 2], [0, 2, 3]]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.stl", "no stl at all", "no STL"),
        ("a.obj", "v 0 0 0\nf 1 2 3\n", "names a vertex that does not exist"),
        ("a.obj", "v 0 0 x\n", "cannot be read"),
        ("a.obj", "", "0 vertices"),
        ("a.obj", "v 0 0 nan\n", "not all finite"),
        ("a.dae", "<COLLADA><oops></COLLADA>", "a.dae.*malformed XML"),
        ("a.dae", "<COLLADA/>", "0 vertices"),
        ("a.ply", "ply", "are not read; there are .stl, .obj, .dae"),
    ],
)
def test_bad_mesh_files_are_named(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(eq.ModelError, match=words):
        read_mesh(tmp_path / name)


def test_meshes_are_those_of_coal():
    """Assimp, behind Coal, reads the same corners and triangles of a real robot's DAE files."""
    coal = pytest.importorskip("coal")
    from scipy.spatial import cKDTree

    robot = support.load("jvrc1")
    paths = sorted({str(s.mesh) for link in robot.links.values() for s in link.collisions})[:8]
    for path in paths:
        vertices, triangles = read_mesh(path)
        theirs = coal.MeshLoader().load(path, np.ones(3))
        mine, other = vertices[np.unique(triangles)], np.asarray(theirs.vertices())
        assert theirs.num_tris == len(triangles)
        assert max(cKDTree(other).query(mine)[0].max(), cKDTree(mine).query(other)[0].max()) < 1e-6  # they hold float32


# --- capsules ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stretch", [(1, 1, 1), (1, 1, 6), (3, 2, 0.2), (1, 0, 0)])
@pytest.mark.parametrize("count", [2, 9, 400])
def test_all_points_are_inside_the_smallest_capsule(count, stretch, rng):
    points, radii = rng.normal(size=(count, 3)) * stretch + [5, -3, 1], rng.uniform(0, 0.3, count)
    found = smallest_capsule(points, radii, "hand")
    assert inside(found, points, radii) <= 1e-9 and found.frame == "hand"
    a, b = found.points[0], found.points[-1]
    assert inside(eq.Capsule(a, b, 0.99 * found.radius), points, radii) > 0  # and touch it
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    ball = 4 / 3 * np.pi * (np.linalg.norm(points - middle, axis=1) + radii).max() ** 3
    assert volume(found) <= 1.001 * ball


def test_where_a_shape_is_does_not_matter_to_its_capsule(rng):
    points, radii = rng.normal(size=(40, 3)) * (0.3, 0.1, 0.1), rng.uniform(0, 0.05, 40)
    here, there = (smallest_capsule(points + shift, radii) for shift in (np.zeros(3), np.array([100.0, -50.0, 20.0])))
    assert_allclose(volume(there), volume(here), rtol=1e-3)
    assert volume(here) == pytest.approx(
        np.pi * here.radius**2 * (np.linalg.norm(here.b - here.a) + 4 / 3 * here.radius)
    )
    assert volume(eq.Sphere((1, 2, 3), 0.3)) == pytest.approx(4 / 3 * np.pi * 0.027)


def test_the_smallest_capsule_around_a_capsule_is_itself(rng):
    """Points all over the surface of a slanted capsule; no capsule that holds them is smaller."""
    a, b, r = np.array([0.1, 0.2, 0.3]), np.array([0.5, -0.3, 0.9]), 0.15
    directions = rng.normal(size=(3000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    e = (b - a) / np.linalg.norm(b - a)
    around = directions - (directions @ e)[:, None] * e
    around /= np.linalg.norm(around, axis=1, keepdims=True)
    along = a + rng.uniform(size=(3000, 1)) * (b - a) + r * around
    ends = np.where((directions @ e > 0)[:, None], b, a) + r * directions
    found = smallest_capsule(np.concatenate([along, ends]))
    assert_allclose(volume(found), volume(eq.Capsule(a, b, r)), rtol=0.02)
    assert_allclose(sorted(map(tuple, found.points)), sorted(map(tuple, (a, b))), atol=0.02)
    exact = smallest_capsule([a, b], r)
    assert_allclose([*exact.points, [exact.radius] * 3], [a, b, [r] * 3], rtol=0)


def shaped(*shapes: Shape) -> eq.Robot:
    builder = eq.RobotBuilder("shaped", floating=False)
    builder.link("ground").link("part", mass=2.0, com=(0, 0, 0.1), inertia=(0.05, 0.04, 0.02))
    builder.joint("turn", "revolute", "ground", "part", axis=(0, 0, 1))
    robot = builder.build()
    link = replace(robot.links["part"], collisions=shapes)
    return eq.Robot(replace(robot.model, links={**robot.model.links, "part": link}), robot.tree)


@pytest.mark.parametrize(
    ("kind", "size"),
    [("box", (0.4, 0.2, 0.1)), ("cylinder", (0.1, 0.5)), ("cylinder", (0.3, 0.1)), ("ellipsoid", (0.3, 0.1, 0.2))],
)
def test_primitives_are_inside_their_capsule(kind, size, rng):
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = np.linalg.qr(rng.normal(size=(3, 3)))[0], [0.3, 0.1, -0.2]
    X[:3, :3] *= np.sign(np.linalg.det(X[:3, :3]))
    u = rng.normal(size=(4000, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    if kind == "ellipsoid":
        points, solid = u * size, 4 / 3 * np.pi * np.prod(size)
    elif kind == "box":
        points, solid = np.sign(u) * np.array(size) / 2, np.prod(size)
    else:
        circle = u[:, :2] / np.linalg.norm(u[:, :2], axis=1, keepdims=True) * size[0]
        points, solid = np.c_[circle, np.sign(u[:, 2]) * size[1] / 2], np.pi * size[0] ** 2 * size[1]
    (found,) = collision_capsules(shaped(Shape(kind, size, X)))["part"]
    assert inside(found, points @ X[:3, :3].T + X[:3, 3]) <= 1e-9
    assert volume(found) < 4.5 * solid


def test_spheres_and_capsules_are_taken_as_they_are():
    robot = support.load("human")
    found = collision_capsules(robot)
    (shape,) = robot.links["left_thigh"].collisions
    (thigh,) = found["left_thigh"]
    assert thigh.radius == shape.size[0]
    assert_allclose(np.linalg.norm(thigh.b - thigh.a), shape.size[1], rtol=1e-12)
    (ball,) = collision_capsules(shaped(Shape("sphere", (0.2,))))["part"]
    assert isinstance(ball, eq.Sphere) and ball.radius == 0.2


def test_more_capsules_hold_the_same_in_less_volume(rng):
    plate = Shape("box", (1.0, 0.5, 0.02))
    (one,) = collision_capsules(shaped(plate))["part"]
    several = collision_capsules(shaped(plate), most=2)["part"]
    assert len(several) == 2 and sum(map(volume, several)) < 0.8 * volume(one)
    points = rng.uniform(-0.5, 0.5, size=(5000, 3)) * plate.size
    assert max(min(inside(c, p[None]) for c in several) for p in points) <= 1e-9
    far = [
        Shape("sphere", (0.1,), np.block([[np.eye(3), np.array([[x], [0], [0]])], [np.zeros((1, 3)), 1]]))
        for x in (0.0, 2.0)
    ]
    assert sorted(c.centre[0] for c in collision_capsules(shaped(*far), most=2)["part"]) == [0.0, 2.0]


def test_what_saves_no_volume_is_not_divided():
    moved = np.eye(4)
    moved[0, 3] = 0.05
    # two balls are larger than the capsule of both
    beside = shaped(Shape("sphere", (0.2,)), Shape("sphere", (0.2,), moved))
    (one,) = collision_capsules(beside, most=2)["part"]
    assert volume(one) == pytest.approx(np.pi * 0.04 * (0.05 + 0.8 / 3), rel=1e-3)


def test_meshes_of_a_robot_are_inside_their_capsules():
    robot = support.load("jvrc1")
    chosen = {name: link for name, link in robot.links.items() if name in ("R_KNEE_S", "NECK_P_S", "L_ULITTLE_S")}
    model = replace(robot.model, links=chosen)
    found = collision_capsules(eq.Robot(model, robot.tree))
    assert set(found) == set(chosen)
    for name, (capsule,) in found.items():
        (shape,) = chosen[name].collisions
        vertices = read_mesh(str(shape.mesh))[0] @ shape.X[:3, :3].T + shape.X[:3, 3]
        assert -1e-3 < inside(capsule, vertices) <= 1e-9


def test_a_missing_mesh_is_replaced_and_said(tmp_path):
    missing, there = Shape("mesh", (1.0,) * 3, mesh="gone.stl"), Shape("sphere", (0.2,))
    with pytest.warns(
        eq.ModelWarning, match=r"part: mesh file 'gone.stl' does not exist, the ellipsoid of its inertia"
    ):
        (found,) = collision_capsules(shaped(missing))["part"]
    # ellipsoid of even density with half axes x, y, z: I_x = m (y² + z²) / 5
    x, y, z = np.sqrt(2.5 / 2.0 * (0.11 - 2 * np.array([0.05, 0.04, 0.02])))
    assert_allclose([found.radius, np.linalg.norm(found.b - found.a) / 2], [y, z - y], rtol=1e-9)
    assert_allclose((found.a + found.b) / 2, [0, 0, 0.1], atol=1e-12)
    assert x < y < z
    robot = shaped(missing)
    link = replace(robot.links["part"], visuals=(there,))
    seen = eq.Robot(replace(robot.model, links={"part": link}), robot.tree)
    with pytest.warns(eq.ModelWarning, match="its visual shapes are taken instead"):
        assert collision_capsules(seen)["part"][0].radius == 0.2


def test_errors_of_capsules_teach():
    with pytest.raises(eq.ModelError, match="at least 1"):
        collision_capsules(support.load("arm6"), most=0)
    with pytest.raises(eq.ModelError, match="at least one point"):
        smallest_capsule(np.empty((0, 3)))


# --- pairs ------------------------------------------------------------------------------------------------------------


@functools.cache
def human_pairs():
    return sorted_pairs(support.load("human"), samples=100)


@pytest.mark.paper("Q6")
def test_pairs_are_sorted_by_the_tree_and_by_reach():
    robot, found = support.load("human"), human_pairs()
    names = {
        kind: {frozenset((a.frame, b.frame)) for a, b in getattr(found, kind)} for kind in found.__dataclass_fields__
    }
    assert sum(len(getattr(found, kind)) for kind in names) == 16 * 15 // 2  # each pair is somewhere, once
    assert {"left_hand", "right_hand"} in names["checked"] and {"left_hand", "thorax"} in names["checked"]
    assert {"left_forearm", "left_hand"} in names["neighbours"] and {"pelvis", "left_thigh"} in names["neighbours"]
    assert {"head", "pelvis"} in names["apart"]
    rest = PairSet(robot, found.checked).distances(robot.standing())
    assert (rest >= 0).all()


def test_pairs_said_to_be_apart_stay_apart_in_other_postures(rng):
    robot, found = support.load("human"), human_pairs()
    q = support.random_states(robot, rng, 300)[0]
    assert (PairSet(robot, found.apart).distances(q) > 0.05).all()
    reached = PairSet(robot, found.checked).distances(q).min(axis=0)
    assert (reached < 0.05).mean() > 0.5


def test_what_is_left_out_on_demand_and_by_overlap():
    builder = eq.RobotBuilder("row", floating=False)
    for k in range(4):
        builder.link(f"l{k}", mass=1.0, inertia=(0.1, 0.1, 0.1), shapes=[Shape("sphere", (0.2 if k < 3 else 0.05,))])
        if k:
            builder.joint(
                f"j{k}", "revolute", f"l{k - 1}", f"l{k}", axis=(0, 0, 1), position=(0.3, 0, 0), lower=-0.2, upper=0.2
            )
    robot = builder.build()
    found = sorted_pairs(robot, samples=20)
    assert [(a.frame, b.frame) for a, b in found.neighbours] == [("l0", "l1"), ("l1", "l2"), ("l2", "l3")]
    assert [(a.frame, b.frame) for a, b in found.apart] == [("l0", "l2"), ("l0", "l3"), ("l1", "l3")]
    wide = {f"l{k}": (eq.Sphere((0, 0, 0), 0.35, f"l{k}"),) for k in range(4)}
    found = sorted_pairs(robot, samples=20, capsules=wide)
    assert {(a.frame, b.frame) for a, b in found.always} == {("l0", "l2"), ("l1", "l3")} and len(found.apart) == 1
    assert len(sorted_pairs(robot, samples=20, range=0.25, ignore=["l3"]).checked) == 1
    assert sorted_pairs(robot, samples=20, range=0.25, ignore=[("l2", "l0"), "l3"]).checked == ()
    bent = np.array([0.2, 0.0, 0.0])  # l2 comes nearer to l0
    one = {"l0": (eq.Sphere((0, 0, 0), 0.3, "l0"),), "l2": (eq.Sphere((0, 0, 0), 0.2985, "l2"),)}
    assert len(sorted_pairs(robot, samples=50, capsules=one).neighbours) == 1  # nothing with a shape is between them
    one["l1"] = (eq.Sphere((0, 0, 0), 0.1, "l1"),)
    assert len(sorted_pairs(robot, samples=50, capsules=one).checked) == 1
    assert len(sorted_pairs(robot, samples=50, capsules=one, posture=bent).overlapping) == 1
    with pytest.raises(eq.UnknownNameError, match="no link named 'l9'"):
        self_collision_pairs(robot, ignore=["l9"])


def test_the_descent_finds_what_chance_does_not():
    """Two needles on long arms: a random posture hardly ever brings their tips together."""
    builder = eq.RobotBuilder("needles", floating=False).link("ground")
    for side, y in (("left", 0.5), ("right", -0.5)):
        before = "ground"
        for k in range(3):
            name = f"{side}{k}"
            builder.link(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
            place = (0, y, 0) if k == 0 else (0.5, 0, 0)
            axis = (0, 0, 1) if k % 2 == 0 else (0, 1, 0)
            builder.joint(name, "revolute", before, name, axis=axis, position=place, lower=-2, upper=2)
            before = name
    robot = builder.build()
    tips = {f"{side}2": (eq.Sphere((0.3, 0, 0), 0.001, f"{side}2"),) for side in ("left", "right")}
    tips["ground"] = (eq.Sphere((0, 0, -5), 0.01, "ground"),)
    found = sorted_pairs(robot, range=0.001, samples=10, capsules=tips)
    assert {(a.frame, b.frame) for a, b in found.checked} == {("left2", "right2")}


# --- many distances ---------------------------------------------------------------------------------------------------


def all_pairs(robot, rng, count):
    links = [name for name in robot.links if robot.place(name)[0] >= 0]
    every = [eq.Capsule(rng.normal(size=3) * 0.1, rng.normal(size=3) * 0.1, 0.02, name) for name in links]
    every += [eq.Sphere(rng.normal(size=3) * 0.1, 0.03, name) for name in links]
    pairs = [p for p in itertools.combinations(every, 2) if robot.place(p[0].frame)[0] != robot.place(p[1].frame)[0]]
    return [pairs[i] for i in rng.permutation(len(pairs))[:count]]


def program_of(kernel: DistanceKernel, q, v):
    value, J, residual, J_dot_v, residual_rate = kernel.kernel.program.evaluate(q, v, *kernel.motion(kernel.world))
    return value, J, J @ v + residual, J_dot_v + residual_rate


@pytest.mark.parametrize("name", ["human", "jvrc1", "arm7"])
def test_many_pairs_are_the_distances_one_by_one(name, rng):
    robot = support.load(name)
    pairs = all_pairs(robot, rng, 24)
    q, v = robot.random_state(rng)
    now = PairSet(robot, tuple(pairs), range=np.inf)(q, v)
    value, J, rate, bias = program_of(distances_kernel(robot, [eq.distance(*pair) for pair in pairs]), q, v)
    assert_allclose(now.value, value, atol=1e-13)
    assert_allclose(now.J, J, atol=1e-13)
    assert_allclose(now.rate, rate, atol=1e-12)
    assert_allclose(now.bias, bias, atol=1e-11 * np.abs(bias).max())


@pytest.mark.paper("Q6")
def test_rates_and_accelerations_hold_along_a_motion(rng):
    robot = support.load("jvrc1")  # joints that follow others among them
    pairs = PairSet(robot, tuple(all_pairs(robot, rng, 150)), range=np.inf, most=150)
    q, v = robot.random_state(rng)
    a = rng.normal(size=robot.nv)
    now, h = pairs(q, v), 1e-5

    def later(t):
        return pairs(robot.integrate(q, v + a * t / 2, t), v + a * t)

    assert_allclose(now.rate, now.J @ v, atol=1e-12)
    assert_allclose(now.rate, slope(lambda t: later(t).value, h), atol=1e-6)
    change, expected = slope(lambda t: later(t).rate, h), now.J @ a + now.bias
    smooth = np.abs(change - expected) < 1e-4 * (1 + np.abs(expected))
    assert smooth.mean() > 0.98  # an end of a segment comes and goes: there d̈ jumps
    for k in rng.permutation(robot.nv)[:6]:
        step = np.eye(robot.nv)[k]
        assert_allclose(now.J[:, k], slope(lambda t, s=step: pairs(robot.integrate(q, s, t), v).value, h), atol=1e-6)


def test_a_moving_world_is_part_of_it(rng):
    robot = support.load("human")
    hand, torso = eq.Sphere((0, 0, 0), 0.05, "left_hand"), eq.Capsule((0, 0, 0), (0, 0, 0.3), 0.1, "thorax")
    post = eq.Capsule((0.5, 0, 0), (0.5, 0, 2), 0.04, velocity=rng.normal(size=6), acceleration=rng.normal(size=6))
    ball = eq.Sphere((0.3, 0.3, 1), 0.1, velocity=(1, 2, 3))
    given = [(hand, post), (ball, torso), (hand, torso)]
    q, v = robot.random_state(rng)
    now = PairSet(robot, tuple(given), range=np.inf)
    assert now.world == (post, ball)
    kernel = distances_kernel(robot, [eq.distance(*pair) for pair in given])
    value, J, rate, bias = program_of(kernel, q, v)
    for found, wanted in zip(now(q, v)[1:], (value, J, bias, rate), strict=True):
        assert_allclose(found, wanted, atol=1e-11)
    assert_allclose(now.distances(np.stack([q, q])), [value, value], atol=1e-13)
    moved = (replace(post, radius=0.3, velocity=None, acceleration=None), replace(ball, centre=(9, 9, 9)))
    other = distances_kernel(
        robot, [eq.distance(hand, moved[0]), eq.distance(moved[1], torso), eq.distance(hand, torso)]
    )
    assert_allclose(now(q, v, moved).value, program_of(other, q, v)[0], atol=1e-12)
    with pytest.raises(GeometryError, match=r"\[Capsule, Sphere\], in this order; got \[Sphere, Capsule\]"):
        now(q, v, moved[::-1])


@pytest.mark.parametrize("name", ["human", "jvrc1"])
def test_movers_are_the_velocities_that_change_a_distance(name, rng):
    """jvrc1 has joints that follow others."""
    robot = support.load(name)
    few, every = all_pairs(robot, rng, 3), all_pairs(robot, rng, 60)
    ground = eq.Sphere((0.3, 0.3, 1), 0.1)
    for pairs in (few, every, [(ground, few[0][1])]):
        watched = PairSet(robot, tuple(pairs), range=np.inf, most=len(pairs))
        J = np.concatenate([watched(*robot.random_state(rng)).J for _ in range(5)])
        assert watched.movers.tolist() == (np.abs(J).max(axis=0) > 1e-12).tolist()


def test_only_pairs_within_range_come_and_at_most_so_many(rng):
    robot = support.load("human")
    pairs = tuple(all_pairs(robot, rng, 120))
    q, v = robot.random_state(rng)
    every = PairSet(robot, pairs).distances(q)
    near = PairSet(robot, pairs, range=0.3, most=100)(q, v)
    assert near.indices.tolist() == np.flatnonzero(every < 0.3).tolist() and 5 < len(near.indices) < 100
    watch = PairSet(robot, pairs, range=0.3, most=5)
    few = watch(q, v)
    assert few.indices.tolist() == sorted(np.argsort(every)[:5])
    assert_allclose(few.J, near.J[np.searchsorted(near.indices, few.indices)], rtol=1e-12, atol=1e-15)
    none = PairSet(robot, pairs, range=-9.0)(q, v)
    assert len(none.indices) == 0 and none.J.shape == (0, robot.nv)
    kept = [part.copy() for part in few]
    watch(robot.random_state(rng)[0], -v)
    for part, before in zip(few, kept, strict=True):
        assert_allclose(part, before, rtol=0)  # results are the caller's own
    with pytest.raises(eq.StateError, match="finite"):
        watch(q * np.nan, v)
    with pytest.raises(eq.ShapeError, match="one state"):
        watch(np.stack([q, q]), np.stack([v, v]))
    assert_allclose(watch(q.astype(np.float32), v).value, kept[1], atol=1e-5)


@pytest.mark.paper("Q6")
def test_distances_are_those_of_coal(rng):
    coal = pytest.importorskip("coal")
    robot = support.load("human")
    pairs = all_pairs(robot, rng, 100)
    q = robot.random_state(rng)[0]
    found = PairSet(robot, tuple(pairs)).distances(q)

    def placed(shape):
        X = robot.pose(q, shape.frame)
        ends = [X[:3, :3] @ p + X[:3, 3] for p in shape.points]
        if len(ends) == 1:
            return coal.Sphere(shape.radius), coal.Transform3s(np.eye(3), ends[0])
        e = ends[1] - ends[0]
        z = e / np.linalg.norm(e)
        x = np.cross(z, np.eye(3)[np.abs(z).argmin()])
        x /= np.linalg.norm(x)
        R = np.stack([x, np.cross(z, x), z], axis=1)
        return coal.Capsule(shape.radius, np.linalg.norm(e)), coal.Transform3s(R, sum(ends) / 2)

    for d, (a, b) in zip(found, pairs, strict=True):
        (A, X_A), (B, X_B) = placed(a), placed(b)
        theirs = coal.distance(A, X_A, B, X_B, coal.DistanceRequest(), coal.DistanceResult())
        assert abs(d - theirs) < 1e-6  # theirs iterates to 1e-6


def test_parallel_and_touching_pairs_have_numbers():
    builder = eq.RobotBuilder("slider", floating=False).link("ground").link("part", mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.joint("slide", "prismatic", "ground", "part", axis=(1, 0, 0))
    robot = builder.build()
    wall = eq.Capsule((0, 0, 0), (0, 0, 1), 0.1, "ground")
    pairs = [(eq.Capsule((0, 0, 0.2), (0, 0, 0.8), 0.1, "part"), wall), (eq.Sphere((0, 0, 0.5), 0.1, "part"), wall)]
    watch = PairSet(robot, tuple(pairs), range=np.inf)
    for x, slope_ in ((0.5, 1.0), (0.0, 0.0), (-0.5, -1.0)):
        now = watch(np.array([x]), np.array([1.0]))
        assert_allclose(now.value, abs(x) - 0.2, atol=1e-15)
        assert_allclose(now.J[:, 0], slope_, atol=1e-15)
        assert all(np.isfinite(part).all() for part in now)


@pytest.mark.parametrize(
    ("pairs", "options", "words"),
    [
        ([], {}, "at least one pair"),
        (
            [(eq.Plane((0, 0, 1)), eq.Sphere((0, 0, 0), 1, "tool"))],
            {},
            "wanted pairs of Points, Segments, Spheres or Capsules",
        ),
        ([(eq.Sphere((0, 0, 0), 1), eq.Sphere((0, 0, 0), 1))], {}, "both are in the world"),
        ([(eq.Sphere((0, 0, 0), 1, "tol"), eq.Sphere((0, 0, 0), 1))], {}, "Did you mean 'tool'"),
        ([(eq.Sphere((0, 0, 0), 1, "tool"), eq.Sphere((0, 0, 0), 1))], {"most": 0}, "most at least 1"),
        ([(eq.Sphere((0, 0, 0), 1, "tool"), eq.Sphere((0, 0, 0), 1))], {"range": np.nan}, "range is a length"),
    ],
)
def test_errors_of_pairs_teach(pairs, options, words):
    with pytest.raises(eq.EquipoiseError, match=words):
        PairSet(support.load("arm6"), tuple(pairs), **options)


# --- line or point [QO21, Eqs. (4.37)–(4.40)] -------------------------------------------------------------------------


@pytest.mark.paper("Q6")
def test_the_switch_of_the_thesis_is_the_distance_of_a_line_and_a_segment(rng):
    robot = support.load("human")
    torso = eq.Line((0, 0, 0), (0.1, 0, 1), "thorax")
    forearm = eq.Segment((0.01, 0.03, -0.02), (0, 0.02, -0.25), "left_forearm")
    switch = line_point_switch(robot, torso, forearm)
    whole = distances_kernel(robot, [eq.distance(torso, forearm)])
    seen = set()
    for _ in range(40):
        q, v = robot.random_state(rng)
        part, now = switch(q, v)
        seen.add(part)
        value, J, rate, bias = program_of(whole, q, v)
        assert_allclose(now.value, value[0], atol=1e-12)
        assert_allclose(now.J, J[0], atol=1e-11)
        assert_allclose(now.rate(v), rate[0], atol=1e-10)
        assert_allclose(now.J_dot_v, bias[0], atol=1e-7 * (1 + abs(bias[0])))
    assert seen == {"line", "first end", "second end"}


@pytest.mark.paper("Q6")
def test_infinite_lines_that_cross_are_no_collision():
    """[QO21, Fig. 4.7]: the lines meet, the arm is far away; the switch takes the hand or the elbow."""
    robot = support.load("arm6")
    torso = eq.Line((1, 0, 0), (0, 0, 1))
    arm = eq.Segment((0, 0, 0), (0, 0, 0.2), "tool")
    switch = line_point_switch(robot, torso, arm)
    q, zero = robot.neutral(), np.zeros(6)
    X = robot.pose(q, "tool")
    aimed = replace(torso, point=X[:3, 3] + 0.7 * X[:3, 2], direction=X[:3, 0])  # meets the arm's line beyond the hand
    switch = line_point_switch(robot, aimed, arm)
    part, now = switch(q, zero)
    assert part == "second end"
    assert_allclose(now.value, 0.25, atol=1e-12)
    assert abs(switch.kernel(q, zero).value[0]) < 1e-12  # the line-to-line distance of the thesis
    with pytest.raises(GeometryError, match="wanted a Line and a Segment"):
        line_point_switch(robot, arm, torso)


@pytest.mark.paper("Q6")
def test_walls_around_a_target(rng):
    corners = np.array([[0.4, -0.2, 0.8], [0.8, -0.2, 0.8], [0.8, 0.3, 0.8], [0.4, 0.3, 0.8]])
    hand = eq.Point((0, 0, 0), "tool")
    robot = support.load("arm6")
    for order in (corners, corners[::-1]):
        walls = target_region(order)
        assert len(walls) == 4
        kernel = distances_kernel(robot, [eq.distance(hand, wall) for wall in walls])
        for _ in range(10):
            q, v = robot.random_state(rng)
            p = robot.pose(q, "tool")[:3, 3]
            expected = [p[0] - 0.4, 0.8 - p[0], p[1] + 0.2, 0.3 - p[1]]
            assert_allclose(sorted(program_of(kernel, q, v)[0]), sorted(expected), atol=1e-12)
    with pytest.raises(GeometryError, match="convex polygon"):
        target_region(corners[[0, 2, 1, 3]])
    with pytest.raises(eq.ShapeError, match="three corners"):
        target_region(corners[:2])


@pytest.mark.slow
def test_the_pairs_of_a_robot_with_meshes():
    robot = support.load("jvrc1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = sorted_pairs(robot, samples=100)
    assert 300 < len(found.checked) < 600 and len(found.neighbours) > 30
    watch = PairSet(robot, found.checked, range=0.1, most=64)
    now = watch(robot.standing(), np.zeros(robot.nv))
    assert len(now.indices) > 0 and np.isfinite(now.J).all()
