"""The robot and its world as nodes of a viser scene: made once, then moved from moment to moment."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..algebra import quaternions
from ..errors import missing_package, unknown_name
from ..model.types import Array
from ..robot import Robot
from .moments import BLUE, ORANGE, RED, ContactPlace, Moment, Obstacle, Picture, picture
from .triangles import frame_pose, link_surfaces, surfaces_of

LAYERS = ("robot", "centre of mass", "support polygon", "forces", "friction cones", "frames", "obstacles")
GREEN = (47, 158, 68)
SEEN_THROUGH = 0.6  # opacity of a robot with contacts: forces point up through its legs
LIFT = 0.004  # m, of flat things above the ground, so that they do not flicker in it


@contextlib.contextmanager
def quiet_viser() -> Iterator[None]:
    """viser announces itself on the terminal; what is worth saying is said by us."""
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
        import viser
    except ImportError:
        raise missing_package("viser", "view", "the viewer") from None
    with quiet_viser():
        made = viser.ViserServer(host=host, port=port, verbose=False)
    made.gui.configure_theme(show_share_button=False, show_logo=False)
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


class Scene:
    """Draws moments of one robot on a viser server."""

    server: Any
    robot: Robot
    contacts: dict[str, ContactPlace]
    obstacles: list[Obstacle]
    frames: tuple[str, ...]
    size: float

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
        first = picture(robot, Moment(0.0, robot.standing()), self.contacts)
        self.size = max(0.2, *(float(np.linalg.norm(X[:3, 3] - first.com)) for X in first.poses.values() if X is not None))
        self._make_robot(progress)
        self._make_marks()
        self._make_obstacles()

    # --- making ---------------------------------------------------------------------------------------------------

    def _make_robot(self, progress: bool) -> None:
        scene, links = self.server.scene, link_surfaces(self.robot.model)
        scene.add_grid("/ground", 8.0, 8.0, cell_color=(225, 228, 232), section_color=(173, 181, 189))
        self._links = {}
        total = len(self.robot.model.links)
        for name, surfaces in counted(links, "reading shapes", progress, total):
            self._links[name] = scene.add_frame(f"/robot/{_node(name)}", show_axes=False)
            for k, surface in enumerate(surfaces):
                self._add(f"/robot/{_node(name)}/{k}", surface, SEEN_THROUGH if self.contacts else None)

    def _add(self, node: str, surface: Any, most: float | None = None) -> Any:
        opacity = surface.opacity if most is None else min(most, surface.opacity or 1.0)
        return self.server.scene.add_mesh_simple(
            node, surface.vertices.astype(np.float32), surface.faces.astype(np.uint32),
            color=surface.color, opacity=opacity, flat_shading=surface.flat, cast_shadow=surface.opacity is None,
        )  # fmt: skip

    def _make_marks(self) -> None:
        """Nodes that change their shape, empty until the first moment."""
        from ..model import shapes

        scene, size = self.server.scene, self.size
        ball, spot = (surfaces_of(shapes.sphere(r * size))[0] for r in (0.035, 0.02))
        for name, surface in (("com", ball), ("com_ground", spot)):
            vertices, faces = surface.vertices.astype(np.float32), surface.faces.astype(np.uint32)
            self._shown[name] = scene.add_mesh_simple(f"/marks/{name}", vertices, faces, color=ORANGE)
        nothing = np.zeros((1, 2, 3), dtype=np.float32)
        for name, color in (("plumb", ORANGE), ("outline", GREEN), ("cones", BLUE)):
            self._shown[name] = scene.add_line_segments(f"/marks/{name}", nothing, color, visible=False)
        corner = np.zeros((3, 3), dtype=np.float32), np.array([[0, 1, 2]], dtype=np.uint32)
        self._shown["polygon"] = scene.add_mesh_simple(
            "/marks/polygon", *corner, color=GREEN, opacity=0.35, side="double", cast_shadow=False, visible=False
        )
        self._shown["forces"] = scene.add_arrows(
            "/marks/forces", nothing, RED, shaft_radius=0.02 * size, head_radius=0.045 * size, head_length=0.1 * size,
            visible=False,
        )  # fmt: skip
        for name in self.frames:
            self._shown[f"frame {name}"] = scene.add_frame(
                f"/frames/{_node(name)}", axes_length=0.15 * size, axes_radius=0.006 * size
            )

    def _make_obstacles(self) -> None:
        self._obstacle_nodes = []
        for k, obstacle in enumerate(self.obstacles):
            self._obstacle_nodes.append(self.server.scene.add_frame(f"/obstacles/{k}", show_axes=False))
            for j, surface in enumerate(obstacle.surfaces()):
                self._add(f"/obstacles/{k}/{j}", surface)

    def look(self, at: Array) -> None:
        """Where a new browser window looks from."""
        camera = self.server.initial_camera
        camera.position = np.asarray(at) + self.size * np.array([1.7, -1.2, 0.6])
        camera.look_at = at

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

    def _show_support(self, drawn: Picture) -> None:
        corners, wanted = drawn.polygon + np.array([0.0, 0.0, LIFT]), self.layers["support polygon"]
        outline = np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)
        _segments(self._shown["outline"], outline, wanted)
        node, k = self._shown["polygon"], len(corners)
        _visible(node, wanted and k >= 3)
        if wanted and k >= 3 and (len(node.vertices) != k or not np.allclose(node.vertices, corners, atol=1e-5)):
            node.vertices = corners.astype(np.float32)
            node.faces = np.array([(0, i, i + 1) for i in range(1, k - 1)], dtype=np.uint32)


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
