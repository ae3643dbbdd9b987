"""Pages of the API reference. Every public name is on one of them, and so is what public names return or take."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import equipoise as eq

PAGES = {  # page → (title, packages whose public names stand there, further names by their modules)
    "robots": (
        "Robots",
        ("robot", "machine"),
        {
            "machine.kernel": ("Kernel",),
            "machine.gpu.kernel": ("DeviceKernel",),
            "model.described": ("Limits",),
            "model.joints": ("Revolute", "Continuous", "Prismatic", "Ball", "Planar", "Floating", "Fixed"),
            "model.robots.mobile": ("rolling_constraint", "rolling_constraint_bias"),
            "model.types": ("Link", "Joint", "Frame", "Inertia", "Shape", "Mimic", "LoopClosure", "Model"),
            "model.urdf_writer": ("write_urdf",),
        },
    ),
    "forms": (
        "Forms of the equations of motion",
        ("forms",),
        {
            "forms.chart_equations": ("ChartEquations",),
            "forms.constrained": ("ConstrainedDynamics",),
            "forms.support": ("FixedSupport",),
            "forms.derivatives": (
                "InverseDynamicsDerivatives",
                "ForwardDynamicsDerivatives",
                "VelocityDerivatives",
                "MomentumDerivatives",
                "StepDerivatives",
                "DifferenceDerivatives",
            ),
        },
    ),
    "geometry": ("Geometry", ("geometry",), {}),
    "bodies": ("Bodies and inverse kinematics", ("body",), {"body.parts": ("Part",)}),
    "control": (
        "Control",
        ("control",),
        {
            "control.controller.solution": ("Solution", "ControlStatus"),
            "control.controller.batched": ("BatchedController", "BatchedSolution"),
            "control.stances.postures": ("PostureResult",),
            "control.stances.events": ("Event", "EventKind", "Reason", "Outcome"),
        },
    ),
    "solver": (
        "Quadratic programs",
        (),
        {
            "control.qp": (
                "QuadraticProgram",
                "Rows",
                "Result",
                "Residuals",
                "Status",
                "Solver",
                "ActiveSetSolver",
                "CompiledSolver",
                "DaqpSolver",
                "QpsolversSolver",
                "active_names",
                "conflict",
                "kkt_residuals",
                "level_optimality",
            )
        },
    ),
    "safety": (
        "Barriers and joint limits",
        (),
        {
            "control.safety.vfi": ("Clearance", "second_order_bound", "gains_for", "chain_rates", "rigid_variation"),
            "control.safety.limits": ("JointBounds", "braking_capability"),
        },
    ),
    "walking": (
        "Standing and walking",
        ("walking",),
        {
            "walking.footsteps": ("Footstep",),
            "walking.gait": ("Place", "Gait"),
            "walking.step_plan": ("StepPlan",),
        },
    ),
    "estimation": (
        "Estimation",
        ("estimation",),
        {
            "estimation.estimator": ("Estimate",),
            "estimation.touch": ("Touch",),
            "estimation.identification": ("Identification",),
            "estimation.com_offset": ("CoMOffset",),
            "estimation.tuning": ("tune_noise", "FilterLog", "Tuned"),
        },
    ),
    "simulation": (
        "Simulation",
        ("simulate",),
        {
            "simulate.plant": ("Plant", "PlantState"),
            "simulate.ideal": ("IdealPlant",),
            "simulate.hard": ("HardPlant",),
            "simulate.soft": ("SoftPlant",),
            "simulate.mujoco_plant": ("MujocoPlant",),
            "simulate.kinematic": ("KinematicPlant",),
            "simulate.batch": ("BatchSimulation",),
            "simulate.conditions": ("Noise", "Fall"),
            "simulate.sensors": ("Imu", "Encoders", "JointTorques", "FootForces", "Readings"),
            "simulate.scenarios": ("run_scenario", "shipped", "verdict"),
            "simulate.replay": ("replay", "Replay"),
        },
    ),
    "show": (
        "Viewer, plots, reports",
        ("show",),
        {
            "show.viewer": ("Viewer",),
            "show.player": ("Player",),
            "show.plots": ("Figures", "stacked"),
            "show.still": ("still",),
        },
    ),
    "errors": ("Errors and warnings", ("errors",), {}),
}
FURTHER_OF_MODULES = {  # names that a module offers beside those of its `__all__`
    "balance": {
        "balance.com_dynamics": ("augmented_bodies", "null_space_rows"),
    },
    "study": {"study.plots": ("success_figure",)},
}


def pages() -> dict[str, str]:
    """Returns file name → text."""
    made: dict[str, str] = {}
    shown: dict[str, str] = {}  # full name → its page
    rest = dict(eq._HOMES)
    for page, (title, packages, further) in PAGES.items():
        names = [name for name, home in eq._HOMES.items() if home.partition(".")[0] in packages]
        text = f"# {title}\n\n"
        if names:
            text += f"These are names of `equipoise`, such as `eq.{names[0]}`.\n\n"
            text += _entries([f"{rest.pop(name)}.{name}" for name in names], f"{page}.md", shown)
        made[f"{page}.md"] = text + _further(further, f"{page}.md", shown)
    assert not rest, f"no page of the reference for {', '.join(rest)}"
    for name, home in eq._MODULES.items():
        file = f"{name}-module.md"
        text = _module(name, f"equipoise.{home}", file, shown)
        made[file] = text + _further(FURTHER_OF_MODULES.get(name, {}), file, shown)
    index = "\n".join(f"- [{text.splitlines()[0].lstrip('# ')}]({file})" for file, text in made.items())
    about = (
        "This reference is written from the docstrings. Shapes are in parentheses and units are SI; "
        "[Notation](../notation.md) explains the symbols. Inherited members stand with each class."
    )
    made["index.md"] = f"# API reference\n\n{about}\n\n{index}\n"
    return made


def _entries(paths: list[str], file: str, shown: dict[str, str]) -> str:
    """Returns the entries of a page; what an earlier page has is linked."""
    text = ""
    for path in paths:
        name = path.rpartition(".")[2]
        if path in shown:
            text += f"`{name}` is described in [{name}]({shown[path]}#equipoise.{path}).\n\n"
        else:
            shown[path] = file
            text += f"::: equipoise.{path}\n\n"
    return text


def _further(further: dict[str, tuple[str, ...]], file: str, shown: dict[str, str]) -> str:
    """Returns the entries of names that are imported from their modules."""
    text = ""
    for home, names in further.items():
        module = importlib.import_module(f"equipoise.{home}")
        text += f"*Import from `equipoise.{home}`:*\n\n"
        text += _entries([_defined(module, name) for name in names], file, shown)
    return text


def _defined(module: Any, name: str) -> str:
    """Returns where a name of a module is defined, without the name of the package."""
    return f"{getattr(module, name).__module__.removeprefix('equipoise.')}.{name}"


def _module(name: str, path: str, file: str, shown: dict[str, str]) -> str:
    """Returns the page of a module with the names that it offers."""
    module = importlib.import_module(path)
    homes = getattr(module, "_HOMES", None)
    title = f"# eq.{name}\n\n"
    if homes:  # a package with lazy names
        return title + _entries([f"{path.removeprefix('equipoise.')}.{h}.{n}" for n, h in homes.items()], file, shown)
    offered = getattr(module, "__all__", None)
    if offered:
        return title + _entries([_defined(module, n) for n in offered], file, shown)
    return title + f"::: {path}\n    options:\n      show_root_heading: false\n\n"


def public_names() -> list[str]:
    """Returns every public name as the reference calls it."""
    return [f"equipoise.{home}.{name}" for name, home in eq._HOMES.items()]


def write(folder: Path) -> None:
    """Writes all pages."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.md"):
        old.unlink()
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
