"""The robot and its world as nodes of a viser scene: made once, then moved from moment to moment."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..algebra import quaternions, rigid
from ..errors import missing_package, unknown_name
from ..model.posture import link_poses
from ..model.types import Array
from ..robot import Robot
from .camera import FIELD, clearest
from .contact_marks import ContactPlace, points_in_world
from .guard import guarded_server
from .hover import follow_beyond, name_on_hover
from .moments import Moment, Picture, outline_segments, picture
from .obstacles import Obstacle
from .triangles import Surface, frame_pose, joined, link_surfaces, surfaces_of

LAYERS = (
    "robot",
    "centre of mass",
    "capture point",
    "support region",
    "pressure",
    "forces",
    "friction cones",
    "targets",
    "frames",
    "obstacles",
)
ORANGE, RED, BLUE, GREEN, PURPLE, GHOST = (
    (217, 72, 15), (201, 42, 42), (25, 113, 194), (47, 158, 68), (132, 94, 247), (59, 151, 235),
)  # fmt: skip
SEEN_THROUGH = 0.45  # opacity of limbs that touch something: forces point up through them
LIMB = 2  # links of a limb, from the one that touches on
WIDE = 1.5  # of its size that a robot may travel within one picture
AWAY = 0.5  # of its size that a robot moves before the camera follows
LIFT = 0.004  # m, of flat things above the ground, so that they do not flicker in it
NEAR = 0.04, 0.15  # m and rad within which a target is reached: no ghost stands beside the real thing
DISC = np.stack([np.cos(np.linspace(0, 2 * np.pi, 20, False)), np.sin(np.linspace(0, 2 * np.pi, 20, False))], axis=1)
PAPER = {  # colours of ground, small and large squares; None: of a page that may be either
    False: ((250, 250, 248), (222, 226, 230), (190, 197, 204)),
    True: ((31, 35, 40), (52, 58, 64), (73, 80, 87)),
    None: (None, (160, 166, 173), (134, 142, 150)),
}


@contextlib.contextmanager
def quiet_viser() -> Iterator[None]:
    """viser announces itself on the terminal; what is worth reporting is printed by us."""
    import rich

    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before


def server(host: str, port: int) -> Any:
    """A viser server, without its button that would publish the scene through a tunnel."""
    try:
        with quiet_viser():
            made = guarded_server(host, port)
    except ImportError:
        raise missing_package("viser", "view", "the viewer") from None
    made.gui.main_panel.dock_right()
    made.scene.set_up_direction("+z")
    return made


@contextlib.contextmanager
def opened(host: str, port: int) -> Iterator[Any]:
    """A server that is stopped if what is built on it fails."""
    made = server(host, port)
    try:
        yield made
    except BaseException:
        stop(made)
        raise


def stop(server: Any) -> None:
    with quiet_viser():
        server.stop()


def counted(things: Iterable[Any], what: str, progress: bool, total: int | None = None) -> Iterable[Any]:
    """The things one by one, behind a bar where somebody watches the terminal."""
    import rich
    from rich.progress import track

    return track(things, what, total=total, transient=True, disable=not (progress and rich.get_console().is_terminal))


class RobotScene:
    """Draws moments of one robot on a viser server."""

    def __init__(
        self,
        server: Any,
        robot: Robot,
        *,
        contacts: Mapping[str, ContactPlace] | None = None,
        obstacles: Sequence[Any] = (),
        frames: Sequence[str] = (),
        progress: bool = False,
    ) -> None:
        for name in frames:
            if name not in robot.frames:
                raise unknown_name("frame", name, robot.frames)
        self.server, self.robot, self.contacts = server, robot, dict(contacts or {})
        self.obstacles = [Obstacle.of(thing) for thing in obstacles]
        self.frames = tuple(frames)
        self.layers: dict[str, bool] = dict.fromkeys(LAYERS, True)
        self._last: Moment | None = None
        self._shown: dict[str, Any] = {}
        self._ghosts: dict[str, Any] = {}
        self._named: dict[str, Any] = {}
        first = picture(robot, Moment(0.0, robot.standing()), self.contacts)
        self.size = max(
            0.2, *(float(np.linalg.norm(X[:3, 3] - first.com)) for X in first.poses.values() if X is not None)
        )
        if guard := getattr(server, "guard", None):
            guard.title = f"{robot.name} · Equipoise"
        self.set_dark(False)
        self._make_robot(progress)
        self._make_marks()
        self._make_obstacles()

    # --- making ---------------------------------------------------------------------------------------------------

    def set_dark(self, dark: bool | None) -> None:
        """Ground, panel and background for dark rooms, or for light ones; None: a ground that suits both."""
        ground, cell, section = PAPER[dark]
        self.server.gui.configure_theme(show_share_button=False, show_logo=False, dark_mode=bool(dark))
        self.server.scene.add_grid(
            "/ground", infinite_grid=True, cell_size=0.25, section_size=1.0, cell_color=cell, section_color=section,
            cell_thickness=0.6, section_thickness=1.0, fade_distance=12.0 * self.size, fade_strength=1.5,
            plane_color=ground or (255, 255, 255), plane_opacity=float(ground is not None), shadow_opacity=0.3,
        )  # fmt: skip

    def _make_robot(self, progress: bool) -> None:
        scene, total = self.server.scene, len(self.robot.model.links)
        self._links, self._extents = {}, {}
        limbs = self._limbs()
        for name, surfaces in counted(link_surfaces(self.robot.model), "reading shapes", progress, total):
            self._links[name] = scene.add_frame(f"/robot/{_node(name)}", show_axes=False)
            self._extents[name] = _box_corners(np.concatenate([surface.vertices for surface in surfaces]))
            for k, surface in enumerate(surfaces):
                node = self._add(f"/robot/{_node(name)}/{k}", surface, SEEN_THROUGH if name in limbs else None)
                node.on_click(lambda _, name=name: self.toggle_name(name))
        name_on_hover(self.server, {f"/robot/{_node(name)}": name for name in self._links})

    def _limbs(self) -> set[str]:
        """Links that touch something, and those that carry them, a joint or two on."""
        above = {joint.child: joint.parent for joint in self.robot.model.joints.values()}
        drawn = {name for name, link in self.robot.model.links.items() if link.visuals or link.collisions}
        found: set[str] = set()
        for contact in self.contacts.values():
            link, left = self.robot.frames[contact.frame].parent, LIMB
            while link is not None and left > 0:
                found.add(link)
                left -= link in drawn
                link = above.get(link)
        return found

    def _add(self, node: str, surface: Surface, most: float | None = None, color: Any = None) -> Any:
        opacity = surface.opacity if most is None else min(most, surface.opacity or 1.0)
        return self.server.scene.add_mesh_simple(
            node, surface.vertices.astype(np.float32), surface.faces.astype(np.uint32), color=color or surface.color,
            opacity=opacity, flat_shading=surface.flat, cast_shadow=surface.opacity is None and color is None,
        )  # fmt: skip

    def _make_marks(self) -> None:
        """Nodes that change their shape, empty until the first moment."""
        from ..model import shapes

        scene, size = self.server.scene, self.size
        ball, spot = (surfaces_of(shapes.sphere(r * size))[0] for r in (0.035, 0.02))
        for name, surface, color in (("com", ball, ORANGE), ("com_ground", spot, ORANGE), ("capture", spot, PURPLE)):
            vertices, faces = surface.vertices.astype(np.float32), surface.faces.astype(np.uint32)
            self._shown[name] = scene.add_mesh_simple(f"/marks/{name}", vertices, faces, color=color)
        nothing = np.zeros((1, 2, 3), dtype=np.float32)
        for name, color, width in (
            ("plumb", ORANGE, 2),
            ("outline", GREEN, 3),
            ("cones", BLUE, 2),
            ("steps", GHOST, 4),
            ("reach", GHOST, 2),
        ):
            thickness = 0.002 * width * size
            self._shown[name] = scene.add_line_segments(
                f"/marks/{name}", nothing, color, thickness=thickness, visible=False
            )
        corner = np.zeros((3, 3), dtype=np.float32), np.array([[0, 1, 2]], dtype=np.uint32)
        for name, color, opacity in (("polygon", GREEN, 0.22), ("pressure", RED, 0.7)):
            self._shown[name] = scene.add_mesh_simple(
                f"/marks/{name}", *corner, color=color, opacity=opacity, side="double", cast_shadow=False, visible=False
            )
        self._shown["forces"] = scene.add_arrows(
            "/marks/forces", nothing, RED, shaft_radius=0.012 * size, head_radius=0.03 * size, head_length=0.07 * size,
            visible=False,
        )  # fmt: skip
        for name in self.frames:
            self._shown[f"frame {name}"] = scene.add_frame(
                f"/frames/{_node(name)}", axes_length=0.1 * size, axes_radius=0.004 * size
            )

    def _make_obstacles(self) -> None:
        self._obstacle_nodes = []
        for k, obstacle in enumerate(self.obstacles):
            self._obstacle_nodes.append(self.server.scene.add_frame(f"/obstacles/{k}", show_axes=False))
            for j, surface in enumerate(obstacle.surfaces()):
                self._add(f"/obstacles/{k}/{j}", surface)

    # --- looking --------------------------------------------------------------------------------------------------

    def extent(self, q: Array) -> Array:
        """Corners of boxes around all links at q, and points of contacts, (n, 3) m: what a picture should hold."""
        poses = link_poses(self.robot.model, q)
        corners = [points @ poses[name][:3, :3].T + poses[name][:3, 3] for name, points in self._extents.items()]
        for contact in self.contacts.values():
            corners.append(points_in_world(frame_pose(self.robot.frames[contact.frame], poses), contact))
        return np.concatenate(corners) if corners else np.zeros((1, 3))

    def look(self, at: Array, seen: Sequence[Array] = ()) -> None:
        """Where a new browser window looks from: all configurations of `seen` in the picture, about a point if there
        are none.

        What travels farther than the picture should hold is framed where it starts.
        """
        last = [] if self._last is None else [self._last.q]
        boxes = [self.extent(q) for q in (*seen, *last)] or [
            np.asarray(at) + self.size * np.array([[-1.0] * 3, [1.0] * 3])
        ]
        first = boxes[0].mean(axis=0)
        near = [box for box in boxes if np.linalg.norm((box.mean(axis=0) - first)[:2]) < WIDE * self.size]
        camera = self.server.initial_camera
        camera.fov = FIELD
        camera.position, camera.look_at = clearest(np.concatenate(near), *self._feet_and_obstacles((*seen, *last)))
        aside = float(np.linalg.norm((np.asarray(at) - camera.look_at)[:2]))
        follow_beyond(self.server, aside + AWAY * self.size)

    def _feet_and_obstacles(self, seen: Sequence[Array]) -> tuple[Array, Array]:
        """Points of contacts at the first configuration, (m, 3), and triangles of obstacles there, (k, 3, 3)."""
        poses = link_poses(self.robot.model, seen[0] if seen else self.robot.standing())
        feet = [points_in_world(frame_pose(self.robot.frames[c.frame], poses), c) for c in self.contacts.values()]
        solids = [
            s.at(o.pose(0.0, poses, self.robot)) for o in self.obstacles for s in o.surfaces() if s.opacity is None
        ]
        triangles = [surface.vertices[surface.faces] for surface in solids]
        return np.concatenate([np.zeros((0, 3)), *feet]), np.concatenate([np.zeros((0, 3, 3)), *triangles])

    def toggle_name(self, link: str) -> None:
        """Show the name of a link beside it, or take it away."""
        if link not in self._named:
            self._named[link] = self.server.scene.add_label(f"/robot/{_node(link)}/name", link, anchor="center-left")
        else:
            self._named.pop(link).remove()

    # --- drawing --------------------------------------------------------------------------------------------------

    def show(self, moment: Moment) -> Picture:
        """Move everything to a moment."""
        drawn = picture(self.robot, moment, self.contacts)
        self._last = moment
        with self.server.atomic():
            for name, node in self._links.items():
                _place(node, drawn.poses[name], self.layers["robot"])
            self._show_com(drawn)
            self._show_support(drawn)
            _segments(self._shown["forces"], drawn.forces, self.layers["forces"])
            _segments(self._shown["cones"], drawn.cones, self.layers["friction cones"])
            self._show_targets(moment.references, drawn)
            _segments(self._shown["reach"], outline_segments(moment.outlines, LIFT), self.layers["targets"])
            for name in self.frames:
                X = frame_pose(self.robot.frames[name], drawn.poses)
                _place(self._shown[f"frame {name}"], X, self.layers["frames"])
            for obstacle, node in zip(self.obstacles, self._obstacle_nodes, strict=True):
                _place(node, obstacle.pose(moment.t, drawn.poses, self.robot), self.layers["obstacles"])
        return drawn

    def set_layer(self, name: str, visible: bool) -> None:
        """Show or hide one kind of thing."""
        if name not in self.layers:
            raise unknown_name("layer", name, self.layers)
        self.layers[name] = visible
        if self._last is not None:
            self.show(self._last)

    def _show_com(self, drawn: Picture) -> None:
        visible = self.layers["centre of mass"]
        for name, p in (("com", drawn.com), ("com_ground", drawn.ground)):
            self._shown[name].position = p
            _visible(self._shown[name], visible)
        _segments(self._shown["plumb"], np.stack([drawn.com, drawn.ground])[None], visible)
        _visible(self._shown["capture"], self.layers["capture point"] and drawn.capture is not None)
        if drawn.capture is not None:
            self._shown["capture"].position = drawn.capture

    def _show_support(self, drawn: Picture) -> None:
        corners, wanted = drawn.polygon + np.array([0.0, 0.0, LIFT]), self.layers["support region"]
        outline = np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)
        _segments(self._shown["outline"], outline, wanted)
        _mesh(self._shown["polygon"], corners, _fan(len(corners)), wanted)
        points, normals, shares = drawn.pressure
        discs = _discs(points + 2 * LIFT * normals, normals, 0.06 * self.size * np.sqrt(shares))
        _mesh(self._shown["pressure"], *discs, self.layers["pressure"])

    def _show_targets(self, references: Mapping[str, Array], drawn: Picture) -> None:
        """Links that are to go elsewhere as ghosts there; soles as outlines on the ground."""
        steps = [np.zeros((0, 2, 3))]
        for name, X in references.items():
            frame = self.robot.frames[name]
            away = rigid.inverse(frame_pose(frame, drawn.poses)) @ X
            far = np.linalg.norm(away[:3, 3]) > NEAR[0] or np.trace(away[:3, :3]) < 1 + 2 * np.cos(NEAR[1])
            _place(self._ghost(name), X @ rigid.inverse(frame.X), far and self.layers["targets"])
            for contact in self.contacts.values():
                if contact.frame == name and far:
                    corners = points_in_world(X, contact)
                    steps.append(np.stack([corners, np.roll(corners, -1, axis=0)], axis=1))
        for name in self._ghosts.keys() - references.keys():
            _visible(self._ghosts[name], False)
        _segments(self._shown["steps"], np.concatenate(steps), self.layers["targets"])

    def _ghost(self, frame: str) -> Any:
        """A pale copy of the link that holds a frame, made when it is first asked for."""
        if frame not in self._ghosts:
            link = self.robot.model.links.get(self.robot.frames[frame].parent or "")
            self._ghosts[frame] = self.server.scene.add_frame(f"/targets/{_node(frame)}", show_axes=False)
            for k, surface in enumerate(joined(link.visuals or link.collisions) if link is not None else ()):
                self._add(f"/targets/{_node(frame)}/{k}", surface, 0.3, GHOST)
        return self._ghosts[frame]


def _box_corners(points: Array) -> Array:
    """The eight corners of the box around points, (8, 3)."""
    low, high = points.min(axis=0), points.max(axis=0)
    return np.array([[(low, high)[i][0], (low, high)[j][1], (low, high)[k][2]] for i, j, k in np.ndindex(2, 2, 2)])


def _fan(corners: int) -> Array:
    return np.array([(0, i, i + 1) for i in range(1, corners - 1)], dtype=np.uint32).reshape(-1, 3)


def _discs(points: Array, normals: Array, radii: Array) -> tuple[Array, Array]:
    """Discs about points as one mesh."""
    some = radii > 1e-3
    parts = [
        p + r * DISC @ rigid.rotation_to(n)[:, :2].T
        for p, n, r in zip(points[some], normals[some], radii[some], strict=True)
    ]
    faces = [_fan(len(DISC)) + k * len(DISC) for k in range(len(parts))]
    return (np.concatenate(parts), np.concatenate(faces)) if parts else (np.zeros((0, 3)), np.zeros((0, 3)))


def _node(name: str) -> str:
    """A name of the description as one step of a path."""
    return name.replace("/", "_") or "_"


def _visible(node: Any, visible: bool) -> None:
    if node.visible != visible:
        node.visible = visible


def _place(node: Any, X: Array, visible: bool) -> None:
    """A pose for a node; what has not moved sends nothing."""
    _visible(node, visible)
    p, wxyz = X[:3, 3], quaternions.from_rotation(X[:3, :3])
    if not np.allclose(node.position, p, rtol=0, atol=1e-7):
        node.position = p
    if not np.allclose(node.wxyz, wxyz, rtol=0, atol=1e-7):
        node.wxyz = wxyz


def _segments(node: Any, points: Array, visible: bool) -> None:
    """New lines or arrows for a node; hidden where there are none."""
    some = visible and len(points) > 0
    _visible(node, some)
    if some and (node.points.shape != points.shape or not np.allclose(node.points, points, atol=1e-6)):
        node.points = points.astype(np.float32)


def _mesh(node: Any, vertices: Array, faces: Array, visible: bool) -> None:
    """A new form for a node; hidden where it has no triangle."""
    some = visible and len(faces) > 0
    _visible(node, some)
    if some and (node.vertices.shape != vertices.shape or not np.allclose(node.vertices, vertices, atol=1e-5)):
        node.vertices, node.faces = vertices.astype(np.float32), faces.astype(np.uint32)
