"""The command `equipoise`."""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from . import __version__
from .errors import EquipoiseError, deprecated, require_packages, unknown_name
from .files import require_new
from .show.outputs import Outcome

app: typer.Typer = typer.Typer(no_args_is_help=True)
console: Console = Console(width=None if sys.stdout.isatty() else 140)
WRITTEN = ("out", "report", "save", "plot", "picture")  # options that name a file to be written
RENAMED = {"--output": "--out", "--html": "--report"}  # options of version 0.2


def _robots(incomplete: str) -> list[str]:
    """Completes names of robots."""
    from .model.library import known_names

    return [name for name in known_names() if name.startswith(incomplete)]


def _scenarios(incomplete: str) -> list[str]:
    """Completes names of scenarios."""
    from .simulate.scenarios import shipped

    return [scenario.name for scenario in shipped() if scenario.name.startswith(incomplete)]


RobotName = Annotated[
    str,
    typer.Argument(
        metavar="FILE|NAME", help="URDF or MJCF file, or a name that `equipoise robots` lists", autocompletion=_robots
    ),
]
OtherRobot = Annotated[str | None, typer.Option(help="another robot: a file, or a name", autocompletion=_robots)]
RunFile = Annotated[str | None, typer.Option(metavar="FILE", help="save the run (.npz or .mcap)")]
ReportFile = Annotated[str | None, typer.Option(metavar="FILE.html", help="write a report")]
RunArgument = Annotated[str, typer.Argument(metavar="RUN.npz|RUN.mcap", help="a saved run")]
RunSeed = Annotated[int, typer.Option(min=0, help="of sensor noise, pushes, friction and link masses")]
Estimated = Annotated[
    bool, typer.Option("--estimated", help="control on estimates only, through realistic sensors and motors")
]
BodyFile = Annotated[str | None, typer.Option(metavar="FILE.toml", help="profile of what is known of its body")]
Seeds = Annotated[int, typer.Option(help="try so many seeds, and count")]
COMMON = (  # options of every command
    ("quiet", typer.Option("--quiet", "-q", help="print the outcome only, no progress bar")),
    ("as_json", typer.Option("--json", help="print the outcome as JSON and nothing else")),
    ("force", typer.Option("--force", help="overwrite files that are there")),
)


def command(function: Callable[..., Outcome]) -> Callable[..., Outcome]:
    """Registers a command with the options that all have: it returns its outcome, which is printed here."""
    own = inspect.signature(function, eval_str=True)

    @functools.wraps(function)
    def run(*, quiet: bool, as_json: bool, force: bool, **given: Any) -> None:
        chosen = [path for name, path in given.items() if name in WRITTEN and path != own.parameters[name].default]
        require_new(force, *chosen)
        console.quiet = quiet or as_json
        try:
            outcome = function(**given)
        finally:
            console.quiet = False
        typer.echo(json.dumps(outcome.data) if as_json else outcome.text)
        if outcome.then is not None:
            outcome.then()
        if not outcome:
            raise typer.Exit(1)

    common = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, option])
              for name, option in COMMON]  # fmt: skip
    signature = own.replace(parameters=[*own.parameters.values(), *common])
    vars(run).pop("__wrapped__")
    vars(run)["__signature__"] = signature
    run.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    app.command()(run)
    return function


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"equipoise {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="print the version and exit")
    ] = False,
) -> None:
    """Equations of motion, whole-body control and simulation of free-floating robots."""
    from .show.notes import printed_warnings
    from .simulate.interruption import termination_interrupts

    context.with_resource(printed_warnings(Console(stderr=True)))
    context.with_resource(termination_interrupts())
    for option in sys.argv[1:]:
        if option in RENAMED:
            deprecated(f"option {option}", RENAMED[option])


@command
def robots(part: Annotated[str, typer.Argument(metavar="[TEXT]", help="only names with this text")] = "") -> Outcome:
    """List the robots that are here by name: built in, and of installed packages."""
    from .show.robot_commands import list_robots

    return list_robots(console, part)


@command
def info(robot: RobotName) -> Outcome:
    """Tell what a robot is: links, joints, mass, centre of mass, inertias."""
    from .robot import load
    from .show.summary import print_summary

    return print_summary(console, load(robot))


@command
def ik(
    robot: RobotName,
    target: Annotated[
        list[str],
        typer.Option(
            metavar="FRAME,X,Y,Z[,ROLL,PITCH,YAW]",
            help='place (m) and orientation (rad) in the world; a frame or "com"',
        ),
    ],
    floor: Annotated[float | None, typer.Option(help="height of a floor that no link may enter, m")] = None,
    self_collision: Annotated[bool, typer.Option("--self-collision", help="links may not enter each other")] = False,
    fixed_base: Annotated[bool, typer.Option("--fixed-base", help="a floating base stays where it is")] = False,
    seed: Annotated[int, typer.Option(min=0, help="of the random starts")] = 0,
    out: Annotated[str | None, typer.Option(metavar="FILE.json", help="save the configuration")] = None,
) -> Outcome:
    """Find joint positions with frames at given places and poses, within joint limits; fails if there are none."""
    from .show.robot_commands import ik_command

    return ik_command(
        console, robot, target, floor=floor, self_collision=self_collision, fixed_base=fixed_base, seed=seed, out=out
    )


@command
def export(
    robot: RobotName,
    quantity: Annotated[str, typer.Argument(help="such as mass_matrix, inverse_dynamics, jacobian")],
    out: Annotated[str, typer.Argument(metavar="FILE.c|FILE.cu", help="C99 or CUDA")],
    frame: Annotated[str | None, typer.Option(help="of a pose or Jacobian")] = None,
    representation: Annotated[str, typer.Option(help="of velocities: mixed, body or inertial")] = "mixed",
    single: Annotated[bool, typer.Option("--float32", help="in single precision")] = False,
) -> Outcome:
    """Write an equation of a robot as a C or CUDA file that needs nothing but its compiler."""
    from .show.robot_commands import export_command

    return export_command(console, robot, quantity, out, frame=frame, representation=representation, single=single)


@command
def convert(
    state: Annotated[str, typer.Argument(help="numbers q, or q and v, in quotation marks, or a text file of them")],
    robot: Annotated[str, typer.Option(metavar="FILE|NAME", help="whose state it is", autocompletion=_robots)],
    origin: Annotated[str, typer.Option("--from", help="equipoise, pinocchio or mujoco")] = "equipoise",
    goal: Annotated[str, typer.Option("--to", help="equipoise, pinocchio or mujoco")] = "equipoise",
    out: Annotated[str | None, typer.Option(metavar="FILE", help="write the numbers to a text file")] = None,
) -> Outcome:
    """Convert a state between the conventions of Equipoise, Pinocchio and MuJoCo."""
    from .show.robot_commands import convert_command

    return convert_command(state, robot, origin, goal, out)


@command
def demo(
    robot: OtherRobot = None,
    seed: RunSeed = 0,
    seeds: Seeds = 1,
    report: Annotated[str, typer.Option(metavar="FILE.html", help="the report to write")] = "report.html",
    out: RunFile = None,
    picture: Annotated[
        str | None, typer.Option(metavar="FILE.png", help="draw the start and the farthest lean")
    ] = None,
    dynamics: Annotated[
        bool,
        typer.Option("--dynamics", help="check invariants of mechanics and time the dynamics beside Pinocchio instead"),
    ] = False,
) -> Outcome:
    """A humanoid leans on a table to reach past its feet: torques at 1 kHz in MuJoCo, a summary and a report."""
    if dynamics:
        from .bench.mechanics import show_dynamics

        return show_dynamics(console, robot or "jvrc1")
    own = ["jvrc_description"] if robot is None else []
    require_packages("demo", "the demonstration", "mujoco", "viser", "matplotlib", *own)
    from .show.scenario_command import DEMO, run_command

    wanted = report if seeds == 1 else None
    return run_command(console, DEMO, robot=robot, seed=seed, seeds=seeds, out=out, report=wanted, picture=picture)


@command
def run(
    scenario: Annotated[
        str | None,
        typer.Argument(metavar="FILE|NAME", help="a TOML file, or a shipped scenario", autocompletion=_scenarios),
    ] = None,
    robot: OtherRobot = None,
    seed: RunSeed = 0,
    seeds: Seeds = 1,
    out: RunFile = None,
    report: ReportFile = None,
    estimated: Estimated = False,
    listed: Annotated[bool, typer.Option("--list", help="show the shipped scenarios")] = False,
) -> Outcome:
    """Run a scenario: a robot, its contacts, tasks and pushes, in simulation; fails if its goals are not reached."""
    from .show.scenario_command import list_scenarios, run_command

    if listed or scenario is None:
        return list_scenarios(console)
    return run_command(
        console, scenario, robot=robot, seed=seed, seeds=seeds, out=out, report=report, estimated=estimated
    )


@command
def stand(
    robot: RobotName,
    body: BodyFile = None,
    save: Annotated[str | None, typer.Option(metavar="FILE.toml", help="write what was found as a profile")] = None,
    report: ReportFile = None,
    out: RunFile = None,
) -> Outcome:
    """Find a robot's feet, hands and front; let it stand, squat, reach and be pushed; fails if something does not
    work."""
    require_packages("mujoco", "the MuJoCo plant", "mujoco")
    from .show.stand_command import stand_command

    return stand_command(console, robot, body=body, save=save, report=report, out=out)


@command
def walk(
    robot: RobotName,
    speed: Annotated[
        float | None, typer.Option(help="m/s, forward; 0.3 if not given, or as fast as the robot walks")
    ] = None,
    side: Annotated[float, typer.Option(help="m/s, to the left")] = 0.0,
    turn: Annotated[float, typer.Option(help="rad/s, to the left")] = 0.0,
    duration: Annotated[float, typer.Option(help="s")] = 10.0,
    push: Annotated[
        list[str] | None,
        typer.Option(metavar="T,X,Y", help="at T s a push of (X, Y) N s on the torso, world axes, over 0.1 s"),
    ] = None,
    seed: RunSeed = 0,
    seeds: Seeds = 1,
    body: BodyFile = None,
    report: ReportFile = None,
    out: RunFile = None,
    estimated: Estimated = False,
) -> Outcome:
    """Walk on command in MuJoCo, with sensor noise, delay, and friction and masses unlike the model's; fails if it
    falls, or does not do what was commanded."""
    require_packages("mujoco", "the MuJoCo plant", "mujoco")
    from .show.walk_command import walk_command

    return walk_command(
        console, robot, (speed, side, turn), duration, push or [], seed=seed, seeds=seeds, estimated=estimated,
        body=body, report=report, out=out,
    )  # fmt: skip


@command
def replay(
    log: RunArgument,
    imu: Annotated[str | None, typer.Option(help="frame of the IMU; found by its name if not given")] = None,
    contact: Annotated[
        list[str] | None, typer.Option(help="frames that may stand; those of the run if not given")
    ] = None,
    out: RunFile = None,
    report: ReportFile = None,
) -> Outcome:
    """Feed a log's sensors to an estimator again, and tell how far it is from the log's own state."""
    from .show.replay_command import replay_command

    return replay_command(console, log, imu=imu, contacts=contact, out=out, report=report)


@command
def bench(
    what: Annotated[str, typer.Argument(help="dynamics or latency")] = "dynamics",
    robot: Annotated[list[str] | None, typer.Option(help="robots to time; default talos and g1")] = None,
    rounds: Annotated[int, typer.Option(help="turns of each contender")] = 60,
) -> Outcome:
    """Measure: dynamics against Pinocchio and MuJoCo, or the latency of control."""
    from .bench import tables

    if what in tables.MOVED:
        raise EquipoiseError(f"bench {what!r} is no part of the package any more: run `make bench-{what}` in a clone")
    if what not in tables.BENCHES:
        raise unknown_name("bench", what, tables.BENCHES)
    if what == "dynamics":
        require_packages("bench", "a benchmark beside its peers", "pinocchio", "mujoco")
    bench = tables.BENCHES[what]
    return tables.report(console, bench, bench.rows(tables.BenchOptions(robot, rounds)))


@command
def view(
    source: Annotated[str, typer.Argument(metavar="ROBOT|RUN.npz", help="a robot by file or name, or a saved run")],
    host: Annotated[
        str, typer.Option(help="address to listen on; others than this machine's can watch and steer")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="the next free one is taken if it is in use; 0: any")] = 8080,
    browser: Annotated[bool, typer.Option(help="open the browser")] = True,
) -> Outcome:
    """Show a robot to be posed with sliders, or play a run, in the browser."""
    require_packages("view", "the viewer", "viser")
    from .show.command import open_viewer

    return open_viewer(console, source, host=host, port=port, browser=browser)[1]


@command
def report(
    run: RunArgument,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", "--output", metavar="FILE.html", help="the HTML file; default: beside the run"),
    ] = None,
    rate: Annotated[float, typer.Option(help="pictures per second")] = 30.0,
) -> Outcome:
    """Write a run as one HTML file: the motion in 3D and its curves."""
    require_packages("view", "a report", "viser", "matplotlib")
    from .show.command import write_report

    return write_report(console, run, out, rate=rate)


@command
def plot(
    run: RunArgument,
    quantities: Annotated[
        list[str] | None, typer.Argument(metavar="[QUANTITY]...", help="such as torques, com, forces; all if none")
    ] = None,
    out: Annotated[str, typer.Option(metavar="FILE", help=".png, .svg or .pdf")] = "plot.png",
) -> Outcome:
    """Draw curves of a run: torques against limits, task errors, margins, forces."""
    require_packages("view", "figures", "matplotlib")
    from .show.command import plot_command

    return plot_command(run, quantities or [], out)


@command
def study(
    what: Annotated[
        str, typer.Argument(metavar="robustness|FILE.py:FUNCTION", help="a shipped study, or a function of yours")
    ],
    parameters: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=VALUES]...", help="values 1,2,5; even 0:1:11; drawn 0.3..1, log:0.3..3, normal:0,30"
        ),
    ] = None,
    draws: Annotated[int | None, typer.Option(help="random draws, so many; else every combination of values")] = None,
    seed: Annotated[int, typer.Option(help="of the draws")] = 0,
    engine: Annotated[str, typer.Option(help="local or dask")] = "local",
    workers: Annotated[int | None, typer.Option(help="processes; default: all cores")] = None,
    scheduler: Annotated[str | None, typer.Option(help="address of a Dask scheduler")] = None,
    folder: Annotated[
        str | None, typer.Option(help="where every run is stored, so that a killed study goes on")
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="do the runs again that failed")] = False,
    out: Annotated[
        str | None, typer.Option("--out", "-o", "--output", metavar="FILE", help="the table as .npz or .parquet")
    ] = None,
    plot: Annotated[str | None, typer.Option(help="figure of success over the parameters, .svg, .png or .pdf")] = None,
) -> Outcome:
    """Run a function over a grid or random draws of parameters, on all cores or a cluster."""
    from .study.command import run_study

    return run_study(
        console, what, parameters or [], draws=draws, seed=seed, folder=folder, output=out, plot=plot, engine=engine,
        workers=workers, scheduler=scheduler, retry_failed=retry_failed,
    )  # fmt: skip


@command
def reproduce(
    ids: Annotated[list[str] | None, typer.Argument(help="rows such as T3 or E1; all rows if none is named")] = None,
    plots: Annotated[str | None, typer.Option(metavar="FOLDER", help="write pictures like the papers' there")] = None,
    kind: Annotated[str, typer.Option("--format", help="of the pictures: svg or png")] = "svg",
    report: Annotated[
        str | None, typer.Option("--report", "--html", metavar="FILE.html", help="write all of it as one page")
    ] = None,
    robot: OtherRobot = None,
    perturb: Annotated[
        float | None, typer.Option(metavar="SIZE", help="add errors up to this (rad, m, rad/s, m/s) to closed loops")
    ] = None,
    seeds: Annotated[int, typer.Option(help="draws of these errors")] = 5,
) -> Outcome:
    """Show what the papers promise beside what comes out here; fails if a row does not hold."""
    from .papers.report import reproduce as run

    return run(console, ids or [], plots=plots, kind=kind, page=report, robot=robot, perturb=perturb, seeds=seeds)


def main() -> None:
    """Entry point: users' errors end in one line, without a traceback."""
    try:
        app()
    except EquipoiseError as error:
        Console(stderr=True).print(f"[bold red]error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
