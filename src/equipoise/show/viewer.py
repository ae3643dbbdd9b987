"""`eq.view`: a robot, a run or a running controller in the browser."""

from __future__ import annotations

import html
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..body.body import Body
from ..errors import ShapeError
from ..model.types import Array
from ..robot import Robot
from .charts import charts
from .hover import follow
from .live import DraggedTarget, Live, LivePanels, add_handles, draggable, name_of, parts
from .moments import Moment
from .obstacles import Obstacle
from .panels import panels
from .player import Player, run_samples
from .scene import LAYERS, RobotScene, opened, stop
from .who import embodied, ends_of, list_parts, standing_of, start_of

if TYPE_CHECKING:
    from ..simulate.contacts import Contacts
    from ..simulate.plant import Plant
    from ..simulate.run import Run
    from ..simulate.world import Solid

LOG = logging.getLogger(__name__)
LOOPBACK = "127.0.0.1"
FRAME_TIME = 1 / 30  # s
CHART_TIME = 0.25  # s
SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "4")


def view(
    what: Robot | Body | Run,
    controller: Callable[[float, Array, Array], object] | None = None,
    *,
    plant: str | Plant | None = None,
    q: Array | None = None,
    v: Array | None = None,
    dt: float | None = None,
    targets: Iterable[DraggedTarget] | None = None,
    contacts: Contacts | None = None,
    obstacles: Sequence[Solid | tuple[Solid, float]] = (),
    frames: Sequence[str] | None = None,
    host: str = LOOPBACK,
    port: int = 8080,
    block: bool = False,
) -> Viewer:
    """Open a viewer for the browser and return it; its address is `viewer.url`.

    A `Robot` alone stands as its `Body` was found, with the frames of its feet and hands, and can be posed with
    sliders; a `Body` that is given is taken instead. A `Run` is played. A `Robot` with a controller runs live: pause,
    step, and drag the targets of its tasks with the mouse.

    Args:
        what: a Robot, a Body or a Run.
        controller: called with (t, q, v), returns what has `torque`, `acceleration` and so on, such as
            `eq.WholeBodyController`.
        plant: what moves the robot: "ideal", "soft", "mujoco" or what has `reset(q, v)` and `step(tau, dt)`; None: it
            moves as the controller says.
        q, v: where it starts; None: where the controller says (`q0`) or standing, at rest.
        dt: control step, s; the controller's own, or 1 ms.
        targets: tasks to drag; None: those of `controller.tasks` that hold a frame at a pose.
        contacts: objects with `name frame points friction`; None: those of the controller.
        obstacles: primitives, or pairs (primitive, safe distance).
        frames: which frames to show as axes; None: those of contacts and targets, of feet and hands for a robot alone.
        host: address to listen on. This machine alone, unless asked: whoever knows the whole address can watch and
            steer.
        port: the next free one is taken if it is in use; 0: any.
        block: return only when the viewer is closed, by Ctrl-C or `close()` from elsewhere.
    """
    from ..simulate.run import Run

    if not isinstance(what, Run | Robot | Body):
        raise ShapeError(f"view takes a Robot, a Body or a Run, got {type(what).__name__}")
    with opened(host, port) as server:
        if isinstance(what, Run):
            made = _run_viewer(server, what, frames)
        elif controller is None:
            made = _pose_viewer(server, what, q, obstacles, frames)
        else:
            robot = what.robot if isinstance(what, Body) else what
            made = _live_viewer(server, robot, controller, plant, (q, v), dt, targets, contacts, obstacles, frames)
    if block:
        made.wait()
    return made


class Viewer:
    """An open viewer. Close it, or use it in a `with` block.

    Attributes:
        url: address for the browser.
        scene: what is drawn.
        player: of a run: `time`, `playing`, `seek(t)`, `step(n)`.
        live: of a controller: `playing`, `step(n)`, `restart()`.
    """

    def __init__(self, server: Any, scene: RobotScene, tick: Callable[[float], None] | None = None) -> None:
        self.server, self.scene = server, scene
        self.player: Player | None = None
        self.live: Live | None = None
        self.handles: dict[str, Any] = {}
        self.error: BaseException | None = None
        self._closed = threading.Event()
        self._add_layers()
        self._thread = (
            threading.Thread(target=self._run, args=(tick,), daemon=True, name="equipoise viewer") if tick else None
        )

    def _repr_html_(self) -> str:
        """The viewer itself, in a notebook on this machine."""
        return f'<iframe src="{html.escape(self.url)}" style="width: 100%; height: 520px; border: 0"></iframe>'

    @property
    def url(self) -> str:
        """Address for the browser. It holds the secret without which nobody watches or steers."""
        host = self.server.get_host()
        shown = "127.0.0.1" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
        return f"http://{shown}:{self.server.get_port()}/{self.server.guard.secret}/"

    def start(self) -> Viewer:
        if self._thread is not None:
            self._thread.start()
        return self

    def wait(self) -> None:
        """Until the viewer is closed or Ctrl-C; raises what stopped a live run, if anything did."""
        try:
            while not self._closed.wait(0.2):
                pass
        except KeyboardInterrupt:
            pass
        self.close()
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        """Stop and free the port."""
        if self._closed.is_set() and self.server is None:
            return
        self._closed.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=5.0)
        if self.server is not None:
            stop(self.server)
            self.server = None

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, tick: Callable[[float], None]) -> None:
        last = perf_counter()
        while not self._closed.wait(max(0.0, last + FRAME_TIME - perf_counter())):
            now = perf_counter()
            try:
                tick(now - last)
            except Exception as error:  # a controller may raise anything; the viewer stays and says so
                self.report_error(error)
            last = now

    def report_error(self, error: BaseException) -> None:
        """Keeps an error for `wait`, pauses, logs it and shows it in the side panel."""
        self.error = error
        LOG.error("the viewer stopped: %s", error, exc_info=error)
        if self.live is not None:
            self.live.playing = False
        text = str(error).replace("`", "'") or type(error).__name__
        self.server.gui.add_markdown(f"**stopped:** `{text}`", order=-1.0)

    def _add_layers(self) -> None:
        with self.server.gui.add_folder("show", order=90.0, expand_by_default=False):
            for name in LAYERS:
                box = self.server.gui.add_checkbox(name, True)
                box.on_update(lambda event, name=name: self.scene.set_layer(name, bool(event.target.value)))
            camera = self.server.gui.add_checkbox("camera follows", True)
            camera.on_update(lambda event: follow(self.server, bool(event.target.value)))
            dark = self.server.gui.add_checkbox("dark", False)
            dark.on_update(lambda event: self.scene.set_dark(bool(event.target.value)))


# --- a robot to pose --------------------------------------------------------------------------------------------------


def _pose_viewer(
    server: Any, what: Robot | Body, q: Array | None, obstacles: Sequence[Any], frames: Sequence[str] | None
) -> Viewer:
    robot, body = embodied(what)
    shown = frames if frames is not None else ends_of(body) if body is not None else ()
    scene = RobotScene(server, robot, obstacles=obstacles, frames=shown)
    state = standing_of(robot, body) if q is None else np.array(q, dtype=float)
    drawn = scene.show(Moment(0.0, state))
    scene.look(drawn.com)
    made = Viewer(server, scene)
    if body is not None:
        list_parts(server, body)
    _add_sliders(server, scene, state)
    return made.start()


def _add_sliders(server: Any, scene: RobotScene, state: Array) -> None:
    """One for each joint of one coordinate, from where it is."""
    lock, robot = threading.Lock(), scene.robot
    with server.gui.add_folder("joints"):
        for name, joint in robot.joints.items():
            if joint.mimic is not None or joint.type.nq != 1:
                continue
            low, high = np.clip([joint.limits.lower, joint.limits.upper], -np.pi, np.pi)
            at = float(np.clip(state[joint.q.start], low, high))
            if not high > low:
                continue
            slider = server.gui.add_slider(name, float(low), float(high), float(high - low) / 1000, at)

            def moved(event: Any, index: int = joint.q.start) -> None:
                with lock:
                    state[index] = event.target.value
                    scene.show(Moment(0.0, state.copy()))

            slider.on_update(moved)


# --- a run to play ----------------------------------------------------------------------------------------------------


def _run_viewer(server: Any, run: Run, frames: Sequence[str] | None) -> Viewer:
    shown = tuple(dict.fromkeys(contact.frame for contact in run.contacts.values())) if frames is None else frames
    scene = RobotScene(server, run.robot, contacts=run.contacts, obstacles=Obstacle.all_of(run), frames=shown)
    player = Player(scene, run)
    scene.look(run.com[0], run_samples(run))
    slider = _run_controls(server, player)
    drawn = panels(server, charts(run), (player.start, player.end))
    since = [0.0]

    def draw() -> None:
        k = player.index
        for panel, chart in drawn:
            panel.update(run.t[: k + 1], {name: chart.lines[name][: k + 1] for name in panel.names})

    seen = [-1.0]

    def tick(elapsed: float) -> None:
        player.advance(elapsed)
        since[0] += elapsed
        if player.time != seen[0] and since[0] >= CHART_TIME:
            seen[0], since[0] = player.time, 0.0
            slider.value = player.time
            draw()

    made = Viewer(server, scene, tick)
    made.player = player
    player.seek(player.start)
    return made.start()


def _run_controls(server: Any, player: Player) -> Any:
    gui = server.gui
    gui.add_markdown(f"**{player.run.robot.name}**, {player.end - player.start:.2f} s, {player.run.outcome}")
    step = max((player.end - player.start) / 2000, 1e-4)
    slider = gui.add_slider("time, s", player.start, max(player.end, player.start + step), step, player.start)
    buttons = gui.add_button_group("", ("step back", "play / pause", "step"))
    speed = gui.add_dropdown("speed", SPEEDS, initial_value="1")

    def slid(event: Any) -> None:
        if event.client is not None:  # moved by a person, not by us
            with player.lock:
                player.playing = False
                player.seek(float(event.target.value))

    slider.on_update(slid)
    acts = {"step back": lambda: player.step(-1), "play / pause": player.toggle, "step": player.step}
    buttons.on_click(lambda event: acts[event.target.value]())
    speed.on_update(lambda event: setattr(player, "speed", float(event.target.value)))
    return slider


# --- a controller to run ----------------------------------------------------------------------------------------------


def _live_viewer(
    server: Any, robot: Robot, controller: Any, plant: Any, state: tuple[Array | None, Array | None], dt: float | None,
    targets: Iterable[DraggedTarget] | None, contacts: Any, obstacles: Sequence[Any], frames: Sequence[str] | None,
) -> Viewer:  # fmt: skip
    q = start_of(robot, controller) if state[0] is None else np.asarray(state[0], dtype=float)
    v = np.zeros(robot.nv) if state[1] is None else np.asarray(state[1], dtype=float)
    tasks = draggable(controller, targets)
    places = {
        name_of(contact): contact for contact in (parts(controller, "contacts") if contacts is None else contacts)
    }
    shown = (
        frames
        if frames is not None
        else [contact.frame for contact in places.values()] + [task.frame for task in tasks]
    )
    scene = RobotScene(server, robot, contacts=places, obstacles=obstacles, frames=tuple(dict.fromkeys(shown)))
    live = Live(scene, controller, _plant(robot, plant, places), q, v, dt or getattr(controller, "dt", None) or 1e-3)
    scene.look(robot.com(q))
    label, curves, since = _live_controls(server, live), LivePanels(server), [0.0]

    def tick(elapsed: float) -> None:
        live.advance(elapsed)
        since[0] += elapsed
        if since[0] >= CHART_TIME:
            since[0] = 0.0
            label.content = f"t = {live.t:.3f} s, {live.status}"
            curves.update(live)

    made = Viewer(server, scene, tick)
    made.live, made.handles, live.on_error = live, add_handles(server, live, tasks), made.report_error
    return made.start()


def _plant(robot: Robot, plant: Any, contacts: Any) -> Any:
    """A plant by its name, or as it is."""
    if not isinstance(plant, str):
        return plant
    from ..simulate.plant import make_plant

    return make_plant(plant, robot, contacts)


def _live_controls(server: Any, live: Live) -> Any:
    gui = server.gui
    label = gui.add_markdown("t = 0")
    buttons = gui.add_button_group("", ("run / pause", "step", "restart"))
    speed = gui.add_dropdown("speed", SPEEDS, initial_value="1")
    acts: dict[str, Callable[[], None]] = {"run / pause": live.toggle, "step": live.single, "restart": live.restart}
    buttons.on_click(lambda event: live.guarded(acts[event.target.value]))
    speed.on_update(lambda event: setattr(live, "speed", float(event.target.value)))
    return label
