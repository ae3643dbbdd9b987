"""What is drawn of a run, as numbers: charts, bands, marks, surfaces, scenes and panels."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import records
import samples
from fake_server import FakeServer

import equipoise as eq
from equipoise.model import shapes
from equipoise.show import capture, still, viewer
from equipoise.show import live as live_module
from equipoise.show.camera import clearest, framing
from equipoise.show.charts import RunChart, charts, spells
from equipoise.show.contact_marks import cone, point_forces, support_polygon, support_region
from equipoise.show.curves import curves
from equipoise.show.gantt import bands
from equipoise.show.live import Live, LivePanels, add_handles, draggable
from equipoise.show.moments import com_velocity, outline_segments, picture
from equipoise.show.obstacles import Obstacle
from equipoise.show.panels import panels
from equipoise.show.player import Player, moment_of, run_samples
from equipoise.show.plots import plot, stacked
from equipoise.show.report import moments, page
from equipoise.show.scene import RobotScene
from equipoise.show.summary import print_summary
from equipoise.show.triangles import coarsened, link_surfaces, surfaces_of
from equipoise.show.who import list_parts
from equipoise.simulate.world import Box

THINGS = [
    (eq.Sphere((0.5, 0.2, 0.3), 0.1, velocity=(0.1, 0, 0)), 0.05),
    Box((0.2, 0.3, 0.4), (1, 0, 0.2), (0, 0, 0.3)),
    eq.Plane((0, 0.6, 0.8), 0.1),
    (eq.Capsule((0, 0, 0), (0.1, 0.2, 0.3), 0.05, "left_hand"), 0.02),
    eq.Line((0, 1, 0), (0, 0, 1)),
    eq.Segment((0, 0, 1), (0, 1, 1)),
    eq.Point((0.1, 0.2, 0.3)),
]


def stepping() -> eq.Run:
    """The squat with a foot that lifts, lands late, and steps again; phases, targets and outlines besides."""
    run = samples.squat()
    n = len(run.t)
    planned, felt = run.forces["left_foot"].copy(), 0.9 * run.forces["left_foot"]
    planned[15:25], planned[40:44] = np.nan, np.nan
    felt[14:28] *= 1e-4
    forces = {"left_foot": planned, "right_foot": run.forces["right_foot"]}
    measured = {"left_foot": felt, "right_foot": 1.1 * run.forces["right_foot"]}
    wanted = np.full((n, 7), np.nan)
    wanted[::6] = [0.4, 0.3, 1.2, 0.9, 0.1, -0.3, 0.3]
    wanted[:, 3:] /= np.linalg.norm(wanted[:, 3:], axis=1, keepdims=True)
    corners = np.full((n, 4, 3), np.nan)
    corners[::6] = [[0.1, 0, 0], [0.3, 0, 0], [0.3, 0.2, 0], [0.1, 0.2, 0]]
    phases = ((0.0, "stand"), (0.25, "left swings"), (0.42, "a very long name of a phase"), (0.45, "x"), (0.6, "stand"))
    return replace(
        run,
        forces=forces,
        measured=measured,
        references={"left_hand": wanted},
        outlines={"area": corners},
        phases=phases,
        obstacles=tuple(t[0] if isinstance(t, tuple) else t for t in THINGS[:3]),
        safe_distances=(0.05,),
    )


def dense() -> eq.Run:
    """Two seconds at 1 kHz with peaks, gaps and forces that pull."""
    run, t = samples.squat(2), np.linspace(0.0, 2.0, 2001)
    wave = np.sin(40 * t) * np.exp(-t)
    F = np.tile([5.0, 0.0, 300.0, 0, 0, 0], (len(t), 1)) * (1 - 1.2 * np.abs(wave))[:, None]
    F[:, 0] += t + 0.1 * t**2  # no ratio twice: which sample of a stretch is kept would be decided by rounding
    wave[500:700] = np.nan
    rows = dict(
        q=np.repeat(run.q[:1], len(t), axis=0), com=np.repeat(run.com[:1], len(t), axis=0) + 0.01 * np.sin(t)[:, None]
    )
    rows |= {name: np.zeros((len(t), run.robot.nv)) for name in ("v", "acceleration")}
    torque = 300 * np.sin(9 * t)[:, None] * np.cos(np.arange(run.robot.nv))
    errors = {f"task {k}": np.abs(wave) * 10.0**-k for k in range(10)}
    cycle = np.full(len(t), 4e-4)
    cycle[0], cycle[77] = 0.5, 3e-3
    status = (np.arange(len(t)) // 300 % 2).astype(int)
    return replace(
        run,
        t=t,
        torque=torque,
        forces={"left_foot": F},
        measured={"left_foot": F, "right_foot": np.full_like(F, np.nan)},
        task_errors=errors,
        margins={"a": 0.1 - np.nan_to_num(wave)},
        cycle_time=cycle,
        status=status,
        **rows,
    )


@pytest.mark.parametrize("make", [samples.squat, stepping, dense])
def test_recorded_charts(make):
    run = make()
    every = charts(run)
    found = {
        c.key: {k: getattr(c, k) for k in RunChart.__dataclass_fields__}
        | {"leading": c.leading(3), "violated": c.violated, "extreme": c.extreme() if c.limit is not None else ""}
        for c in every
    }
    told = {
        "spells": spells(run),
        "curves": _decoded(curves([run, run], [every, every], ["a", "<b>"])),
    }
    marks = {"bands": bands(run), "lines": capture.lines(run), "rows": moments(run.t, 30.0)}
    records.check(f"show_charts_{make.__name__}", {"charts": found} | told | marks, rtol=1e-6)


def _decoded(text: str):
    """The data of a report's curves with its columns as numbers."""
    data = json.loads(text)
    for table in data["tables"]:
        table["t"] = np.frombuffer(base64.b64decode(table["t"]), "<f4").astype(float)
        table["columns"] = len(zlib.decompress(base64.b64decode(table["columns"])))  # read in test_plots
    return data


def test_recorded_figures():
    """Lines, limits, legends and shades of every figure."""
    run, found = stepping(), {}
    for name, figure in {**plot(run), "all": stacked(dense(), ["torques", "task_errors"])}.items():
        for k, axes in enumerate(figure.axes):
            lines = [
                [line.get_label(), line.get_color(), line.get_linewidth(), line.get_xydata()] for line in axes.lines
            ]
            legend = axes.get_legend()
            words = [
                axes.get_title(loc="left"),
                axes.get_ylabel(),
                axes.get_xlabel(),
                axes.get_yscale(),
                legend.get_title().get_text(),
            ]
            patches = [[p.get_facecolor(), p.get_xy()] for p in axes.patches if hasattr(p, "get_xy")]
            names = [text.get_text() for text in legend.get_texts()]
            found[f"{name} {k}"] = [
                lines,
                words,
                names,
                axes.get_xlim(),
                axes.get_ylim(),
                patches,
                figure.get_size_inches(),
            ]
    records.check("show_figures", found)


def test_recorded_page_of_a_report(monkeypatch):
    """All of the page but what plays the motion."""
    run = stepping()
    text = page([run, samples.squat()], "a <title>", ["PLAYER 1", "PLAYER 2"])
    start = text.index("<body")
    data = text.index('<script type="application/json"', start)
    text = text[:data] + text[text.index("</script>", data) :]
    records.check(
        "show_page",
        {"head": text[:400], "body": [line[:3000] for line in text[start : text.rindex("<script")].splitlines()]},
    )


def test_recorded_stills(tmp_path, monkeypatch):
    """Triangles, arrows and points that a still picture draws."""
    drawn = []
    monkeypatch.setattr(still, "write_figure", lambda figure, path, **options: drawn.append((figure, options)))
    still.still(stepping(), tmp_path / "a.png")
    still.still(samples.squat(), tmp_path / "a.png", [0.5], azimuth=0.3, elevation=0.6, dpi=50)
    found = []
    for figure, options in drawn:
        for axes in figure.axes:
            paths = axes.collections[0]
            corners = np.array([path.vertices[:3] for path in paths.get_paths()])
            arrows = [[a.xy, a.xyann] for a in axes.texts if hasattr(a, "xyann")]
            arrows += [
                [a.arrow_patch.get_linewidth(), a.arrow_patch.get_edgecolor(), a.get_zorder()] for a in axes.texts
            ]
            lines = [
                [line.get_xydata(), line.get_color(), line.get_linewidth(), line.get_linestyle(), line.get_markersize(),
                 line.get_marker(), line.get_zorder()]
                for line in axes.lines
            ]  # fmt: skip
            near = [corners.sum(axis=(0, 1)), np.asarray(paths.get_facecolors()).sum(axis=0), corners.shape]
            found.append(
                [
                    near,
                    arrows,
                    lines,
                    axes.get_title(),
                    axes.patches[0].get_xy(),
                    figure.dpi,
                    figure.get_size_inches(),
                    options,
                ]
            )
    records.check("show_stills", found, rtol=1e-6)


def test_recorded_marks():
    """Support regions, cones, pressure and cameras of contacts that are level, tilted, on a line or one point."""
    square = np.array([[0, 0, 0], [0.2, 0, 0], [0.2, 0.1, 0], [0, 0.1, 0.0]])
    up, tilted = np.array([0, 0, 1.0]), np.array([0.6, 0, 0.8])
    sets = {
        "none": [],
        "level": [(square, up), (square + np.array([0.5, 0, 0.01]), up)],
        "high": [(square, up), (square + np.array([0.5, 0, 0.1]), up)],
        "tilted": [(square, up), (square + np.array([0.5, 0, 0.1]), tilted)],
        "line": [(square[:2], up)],
        "point": [(square[:1], up)],
    }
    found = {
        name: [
            support_polygon([p for p, _ in given], 0.3),
            support_region([p for p, _ in given], [n for _, n in given], [0.7] * len(given), 0.1),
        ]
        for name, given in sets.items()
    }
    forces = {
        str(F): point_forces(square, up, np.array(F), np.array([0.05, 0.02, 0.1]))
        for F in ([1.0, 2, 30, 0.1, 0.2, 0.3], [0, 0, 30.0, 5, 0, 0], [0, 0, -1.0, 0, 0, 0])
    }
    points = np.random.default_rng(1).normal(size=(20, 3))
    wall = np.array([[[1.5, -3, -3], [1.5, 3, -3], [1.5, 0, 6.0]]])
    cameras = [framing(points), framing(points, (0.4, 0.2), field=0.9), clearest(points, points[:5], wall)]
    records.check(
        "show_marks",
        {"regions": found, "forces": forces, "cone": cone(points[0], tilted, 0.5, 2.0), "cameras": cameras},
    )


def test_recorded_moments():
    """What the viewer draws at some moments of a run, and how it plays."""
    run = stepping()
    ks = (0, 10, 16, 26, 60)
    found = {str(k): [vars(moment_of(run, k)), vars(picture(run.robot, moment_of(run, k), run.contacts))] for k in ks}
    scene = SimpleNamespace(show=lambda moment: shown.append(moment.t))
    shown: list = []
    player = Player(scene, run)
    for act in (
        lambda: player.seek(0.33),
        lambda: player.step(3),
        lambda: player.step(-1),
        lambda: player.advance(1.0),
        player.toggle,
        lambda: player.advance(0.2),
        lambda: player.advance(0.9),
        lambda: player.seek(9.0),
        lambda: player.step(5),
    ):
        shown.append([act(), player.time, player.index, player.playing])
    v = np.cos(np.arange(run.robot.nv))
    extra = {"samples": run_samples(run, 3), "played": shown, "velocity": com_velocity(run.robot, run.q[5], v)}
    extra["outlines"] = outline_segments({"a": run.outlines["area"][0]}, 0.01)
    records.check("show_moments", found | extra, rtol=1e-6)


def test_recorded_surfaces():
    """Triangles of every shape, obstacle and a robot without shapes."""
    solids = [
        shapes.box(0.1, 0.2, 0.3, (0.1, 0, 0)),
        shapes.sphere(0.1, color=(1, 0.5, 0, 0.3)),
        shapes.cylinder(0.1, 0.4, rpy=(0.1, 0.2, 0.3)),
        shapes.capsule(0.05, 0.2, color=(2.0, -1.0, 0.5, 1.0)),
        shapes.Shape("ellipsoid", (0.1, 0.2, 0.3)),
        shapes.Shape("plane", (1.0, 1.0)),
    ]
    found = {f"{k} {shape.kind}": surfaces_of(shape) for k, shape in enumerate(solids)}
    robot, poses = samples.human(), {None: np.eye(4), "left_hand": np.eye(4)}
    for thing in THINGS:
        obstacle = Obstacle.of(thing)
        found[repr(obstacle.primitive)[:60]] = [
            obstacle.surfaces(),
            obstacle.pose(0.5, poses, robot),
            obstacle.safe_distance,
        ]
    bare = (
        eq.RobotBuilder("bare")
        .link("a", mass=1, inertia=(0.1, 0.1, 0.1))
        .link("b", mass=1, inertia=(0.1, 0.1, 0.1))
        .link("c", mass=1, inertia=(0.1, 0.1, 0.1))
    )
    bare = (
        bare.joint("j", "revolute", "a", "b", position=(0, 0.3, 0.4))
        .joint("k", "revolute", "b", "c", position=(0.01, 0, 0))
        .build()
    )
    found["skeleton"] = dict(link_surfaces(bare.model))
    many = np.random.default_rng(4).uniform(size=(3000, 3))
    found["coarse"] = coarsened(many, np.arange(3000).reshape(-1, 3), 400)
    records.check("show_surfaces", found)


class Servo:
    """A controller with targets, contacts and a plan, and a step that fails once."""

    dt = 0.01

    def __init__(self) -> None:
        self.tasks = [
            SimpleNamespace(name="hand", frame="left_hand", target=None),
            SimpleNamespace(name="", frame="right_hand", target=np.array([0.1, 0.2, 0.9])),
            SimpleNamespace(name="head", frame="head", target=np.eye(4)),
            SimpleNamespace(name="f", frame="head", target=lambda t: t),
        ]
        self.contacts = [SimpleNamespace(name=name, **vars(info)) for name, info in samples.contacts().items()]

    def __call__(self, t, q, v):
        a = np.cos(np.arange(len(v)) + t)
        F = {name: np.array([1.0, 2, 300, 0, 0, 0]) for name in samples.FEET}
        return SimpleNamespace(
            acceleration=a, torque=5 * a, status="optimal", forces=F, task_errors={"hand": t}, margins={"m": 1.0 - t}
        )


def test_recorded_scenes_of_a_run(monkeypatch):
    """Everything that is sent to the browser for a run: nodes, panels, camera; then with layers off."""
    monkeypatch.setattr("equipoise.show.scene.name_on_hover", lambda server, links: None)
    run, server = stepping(), FakeServer()
    scene = RobotScene(server, run.robot, contacts=run.contacts, obstacles=Obstacle.all_of(run), frames=("left_hand",))
    scene.look(run.com[0], run_samples(run))
    scene.show(moment_of(run, 20))
    scene.toggle_name("head")
    found = {"drawn": _slim(server.data())}
    for layer in scene.layers:
        scene.set_layer(layer, False)
    scene.set_dark(True)
    scene.toggle_name("head")
    found["hidden"] = {key: [node.visible, node.kind] for key, node in server.scene.nodes.items()}
    drawn = panels(server, charts(run), (0.0, 1.0))
    for panel, chart in drawn:
        panel.update(run.t[:30], {name: chart.lines[name][:30] for name in panel.names})
    found["panels"] = {key: node.told() for key, node in server.gui.nodes.items()}
    records.check("show_scene_of_a_run", found, rtol=1e-5, atol=1e-6)


def test_recorded_scene_of_a_live_controller(monkeypatch):
    monkeypatch.setattr("equipoise.show.scene.name_on_hover", lambda server, links: None)
    robot, server, servo = samples.human(), FakeServer(), Servo()
    scene = RobotScene(server, robot, contacts=samples.contacts())
    live = Live(scene, servo, None, robot.standing(), np.zeros(robot.nv), servo.dt)
    tasks = draggable(servo, None)
    handles = add_handles(server, live, tasks)
    curves_ = LivePanels(server)
    live.step(3)
    live.single()
    curves_.update(live)
    label = viewer._live_controls(server, live)
    clock = iter(np.arange(1000) * 0.02)
    monkeypatch.setattr(live_module, "perf_counter", lambda: next(clock))
    live.toggle()
    moved = [live.advance(0.025), live.t, live.debt]
    live.advance(99.0)
    owed = live.debt
    event = SimpleNamespace(target=SimpleNamespace(wxyz=(1.0, 0, 0, 0), position=(0.1, 0.2, 0.3)))
    for handle in handles.values():
        handle.listeners["on_update"](event)
    found = {
        "names": [t.frame for t in tasks],
        "targets": [t.target for t in tasks],
        "moved": moved,
        "owed": owed,
        "state": [live.q, live.v],
        "references": live.references,
        "status": live.status,
        "label": label.told(),
    }
    server.scene.nodes = {k: n for k, n in server.scene.nodes.items() if "/robot" not in k}
    records.check("show_live", found | _slim(server.data()) | {"curves": live.curves()[1].keys()}, rtol=1e-5, atol=1e-6)


def test_recorded_panels_of_a_robot(monkeypatch):
    """Sliders for joints, and the list of parts."""
    monkeypatch.setattr("equipoise.show.scene.name_on_hover", lambda server, links: None)
    robot, server = eq.load("quadruped"), FakeServer()
    scene = RobotScene(server, robot)
    state = robot.standing()
    viewer._add_sliders(server, scene, state)
    server.gui.nodes["front_left_knee"].listeners["on_update"](SimpleNamespace(target=SimpleNamespace(value=-0.7)))
    list_parts(server, eq.Body.of(robot))
    gui = {key: node.told() for key, node in server.gui.nodes.items()}
    records.check(
        "show_panels", {"gui": gui, "state": state, "size": scene.size, "camera": vars(server.initial_camera)}
    )


def _slim(data):
    """Without what is empty."""
    return {key: value for key, value in data.items() if value}


def test_recorded_summaries():
    """What `equipoise info` prints."""
    from rich.console import Console

    found = {}
    for name in ("human", "arm6", "two_link_pendulum", "wheel"):
        console = Console(width=100, record=True, quiet=False, file=open("/dev/null", "w"))  # noqa: SIM115
        print_summary(console, eq.load(name))
        found[name] = [line.rstrip() for line in console.export_text().splitlines()]
    records.check("show_summaries", found)
