"""Triangles of shapes: closed, turned outwards, and of the right volume."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import samples

import equipoise as eq
from equipoise.model import shapes
from equipoise.model.types import Shape
from equipoise.show.triangles import coarsened, link_surfaces, surfaces_of

X = shapes.placement("test", (0.3, -0.2, 0.5), (0.4, -0.7, 1.1))
SOLIDS = {
    "box": Shape("box", (0.2, 0.4, 0.7), X),
    "sphere": Shape("sphere", (0.3,), X),
    "cylinder": Shape("cylinder", (0.1, 0.6), X),
    "capsule": Shape("capsule", (0.1, 0.6), X),
}


def volume(vertices, faces):
    """By Gauss' theorem: positive only if all sides are turned outwards."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6


@pytest.mark.parametrize("shape", SOLIDS.values(), ids=SOLIDS)
def test_volume_is_that_of_the_solid(shape):
    """A circle of 24 sides has 1.1 % less area than its circle, a ball of as many 2.9 % less; a box is exact."""
    (surface,) = surfaces_of(shape)
    ratio = volume(surface.vertices, surface.faces) / shapes.volume(shape)
    assert (0.96 < ratio < 1.0) if shape.kind != "box" else ratio == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("shape", [*SOLIDS.values(), Shape("ellipsoid", (0.1, 0.2, 0.3), X)], ids=lambda s: s.kind)
def test_surface_is_closed(shape):
    """Every edge belongs to two triangles, once in each direction; corners that coincide count as one."""
    (surface,) = surfaces_of(shape)
    _, index = np.unique(np.round(surface.vertices, 9), axis=0, return_inverse=True)
    faces = index.ravel()[surface.faces]
    edges = Counter((a, b) for face in faces for a, b in zip(face, np.roll(face, -1), strict=True))
    assert set(edges.values()) == {1}
    assert all((b, a) in edges for a, b in edges)


def test_shapes_stand_where_their_link_has_them():
    (surface,) = surfaces_of(SOLIDS["capsule"])
    along = (surface.vertices - X[:3, 3]) @ X[:3, 2]
    assert along.max() == pytest.approx(0.4, abs=1e-12)  # half the length, and the radius
    assert along.min() == pytest.approx(-0.4, abs=1e-12)


def test_mesh_files_are_read_scaled_and_mirrored(tmp_path):
    import trimesh

    path = tmp_path / "part.stl"
    trimesh.creation.box((1.0, 2.0, 3.0)).export(path)
    for scale in ((0.1, 0.1, 0.1), (0.1, -0.1, 0.1)):
        (surface,) = surfaces_of(Shape("mesh", scale, X, mesh=str(path), color=(1.0, 0.0, 0.0, 0.5)))
        assert volume(surface.vertices, surface.faces) == pytest.approx(0.006, rel=1e-6)
        assert surface.color == (255, 0, 0)
        assert surface.opacity == 0.5


def test_a_broken_mesh_is_a_warning_and_the_collision_shape_stands_in(tmp_path):
    path = tmp_path / "broken.stl"
    path.write_bytes(b"solid nothing of the kind")
    robot = eq.load("arm6")
    links = {
        name: replace(link, visuals=(Shape("mesh", (1.0, 1.0, 1.0), mesh=str(path)),), collisions=(shapes.sphere(0.1),))
        for name, link in robot.model.links.items()
    }
    with pytest.warns(eq.ModelWarning, match="broken.stl is left out"):
        drawn = dict(link_surfaces(replace(robot.model, links=links)))
    assert set(drawn) == set(links)
    assert all(np.ptp(surface.vertices, axis=0).max() == pytest.approx(0.2) for (surface,) in drawn.values())


def test_a_mesh_without_triangles_is_a_warning(tmp_path):
    path = tmp_path / "points.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\n")
    with pytest.warns(eq.ModelWarning, match="points.obj is left out of the picture: it holds no triangles"):
        assert surfaces_of(Shape("mesh", (1.0, 1.0, 1.0), X, mesh=str(path))) == []


def test_a_robot_without_shapes_is_drawn_as_a_skeleton():
    robot = eq.load("arm6")
    bare = {name: replace(link, visuals=(), collisions=()) for name, link in robot.model.links.items()}
    drawn = dict(link_surfaces(replace(robot.model, links=bare)))
    assert set(drawn) == set(bare)
    rods = sum(len(surfaces) - 1 for surfaces in drawn.values())
    assert rods == sum(
        np.linalg.norm(j.origin[:3, 3]) > 0.05 for j in robot.model.joints.values() if j.parent is not None
    )


def test_large_meshes_are_coarsened_and_keep_their_form():
    import trimesh

    ball = trimesh.creation.icosphere(subdivisions=5, radius=0.5)
    vertices, faces = coarsened(np.array(ball.vertices), np.array(ball.faces), 3000)
    assert 500 < len(faces) <= 3000
    assert volume(vertices, faces) == pytest.approx(4 / 3 * np.pi * 0.5**3, rel=0.05)
    same, _ = coarsened(np.array(ball.vertices), np.array(ball.faces), 10**6)
    assert len(same) == len(ball.vertices)


def test_the_human_has_something_to_see_on_every_link():
    robot = samples.human()
    assert {name for name, _ in link_surfaces(robot.model)} == set(robot.links)
