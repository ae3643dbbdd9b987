"""Small robots and one way to look at what tasks, contacts and barriers write on symbols, without compiling
anything."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import equipoise as eq

Array = np.ndarray
FEET = ("foot_0", "foot_1", "foot_2")
STEP = 1e-5  # of central differences: their error is of the order of STEP², 1e-10, and of rounding over STEP, 1e-11


@cache
def tripod() -> eq.Robot:
    """A floating trunk on three legs of three joints, nv = 15."""
    builder = eq.RobotBuilder("tripod")
    builder.link("trunk", mass=12.0, com=(0.02, -0.01, 0.03), inertia=(0.3, 0.25, 0.4))
    for k in range(3):
        angle = 2 * np.pi * k / 3
        hip = (0.25 * np.cos(angle), 0.25 * np.sin(angle), 0.0)
        builder.link(f"hip_{k}", mass=0.5, inertia=(1e-3, 1e-3, 1e-3))
        builder.link(f"thigh_{k}", mass=1.5, com=(0, 0, -0.15), inertia=(0.015, 0.015, 2e-3))
        builder.link(f"shank_{k}", mass=0.8, com=(0, 0, -0.15), inertia=(8e-3, 8e-3, 1e-3))
        limits = {"lower": -1.5, "upper": 1.5, "velocity": 8.0, "effort": 120.0}
        builder.joint(
            f"turn_{k}", "revolute", "trunk", f"hip_{k}", axis=(0, 0, 1), position=hip, rpy=(0, 0, angle), **limits
        )
        builder.joint(f"lift_{k}", "revolute", f"hip_{k}", f"thigh_{k}", axis=(0, 1, 0), **limits)
        knee = limits | {"lower": -2.5, "upper": 2.5}
        builder.joint(
            f"knee_{k}", "revolute", f"thigh_{k}", f"shank_{k}", axis=(0, 1, 0), position=(0, 0, -0.3), **knee
        )
        builder.frame(f"foot_{k}", f"shank_{k}", position=(0, 0, -0.3))
    return builder.build()


@cache
def monopod() -> eq.Robot:
    """A floating trunk on one leg of six joints with a flat foot, and an arm of two: nv = 14."""
    builder = eq.RobotBuilder("monopod")
    builder.link("trunk", mass=10.0, com=(0.0, 0.01, 0.1), inertia=(0.2, 0.25, 0.15))
    parent, place = "trunk", (0.0, 0.0, 0.0)
    leg = (("yaw", (0, 0, 1), 0.0), ("roll", (1, 0, 0), 0.0), ("pitch", (0, 1, 0), -0.35), ("knee", (0, 1, 0), -0.35),
           ("ankle", (0, 1, 0), 0.0), ("tilt", (1, 0, 0), -0.05))  # fmt: skip
    for name, axis, drop in leg:
        builder.link(name, mass=1.0, com=(0, 0, drop / 2), inertia=(0.01, 0.01, 0.004))
        limits = {"lower": -2.5, "upper": 2.5, "velocity": 10.0, "effort": 200.0}
        builder.joint(name, "revolute", parent, name, axis=axis, position=place, **limits)
        parent, place = name, (0.0, 0.0, drop)
    builder.frame("foot", "tilt", position=(0.02, 0, -0.05))
    for name, on, axis in (("shoulder", "trunk", (0, 1, 0)), ("elbow", "shoulder", (1, 0, 0))):
        builder.link(name, mass=1.0, com=(0.15, 0, 0), inertia=(2e-3, 0.01, 0.01))
        at = (0.0, -0.2, 0.2) if on == "trunk" else (0.3, 0, 0)
        builder.joint(
            name, "revolute", on, name, axis=axis, position=at, lower=-2.0, upper=2.0, velocity=10.0, effort=60.0
        )
    builder.frame("hand", "elbow", position=(0.3, 0, 0))
    return builder.build()


def standing(robot: eq.Robot) -> Array:
    """Feet flat on the ground at z = 0."""
    q = robot.neutral()
    bends = {"lift": -0.5, "knee": 1.0, "pitch": -0.4, "ankle": -0.4} if robot.name == "tripod" else {
        "pitch": -0.4, "knee": 0.8, "ankle": -0.4, "shoulder": 0.3, "elbow": -0.2}  # fmt: skip
    for name, joint in robot.joints.items():
        if name.split("_")[0] in bends:
            q[joint.q] = bends[name.split("_")[0]]
    foot = FEET[0] if robot.name == "tripod" else "foot"
    q[2] -= robot.pose(q, foot)[2, 3]
    return q


def swaying(
    robot: eq.Robot, rng: np.random.Generator, frames: tuple[str, ...], rows: slice, speed: float = 0.3
) -> Array:
    """A velocity that moves the trunk while the contacts stand."""
    from scipy.linalg import null_space

    q = standing(robot)
    J = np.vstack([robot.jacobian(q, frame)[rows] for frame in frames])
    return null_space(J) @ (speed * rng.normal(size=robot.nv - np.linalg.matrix_rank(J)))


def written(
    robot: eq.Robot, item: Any, write: Callable[[Any, Any], dict[str, Any]], level: str = "torque"
) -> Callable[..., dict[str, Array]]:
    """What `write(scene, numbers)` puts on symbols for an item, as a function of (q, v, t, settings) on NumPy."""
    from equipoise.control.controller.assembly import named_numbers
    from equipoise.control.controller.context import Context
    from equipoise.control.controller.scene import Scene
    from equipoise.control.controller.settings import value_at
    from equipoise.equations.symbols import SX
    from equipoise.machine.trace import trace

    context = Context(robot, level)
    groups, start = [], 0
    for group in item.parameters(context).values():
        groups.append((group, slice(start, start + group.size)))
        start += group.size
    scene, p = Scene(context), SX.sym("p", max(start, 1))
    outputs = {name: SX(value) for name, value in write(scene, named_numbers(groups, p)).items()}
    columns = {name: (value.shape[0],) for name, value in outputs.items() if value.shape[1] == 1}
    program = trace("looked at", {"q": scene.q, "v": scene.v, "p": p}, outputs, shapes=columns)

    def at(q: Array, v: Array, t: float = 0.0, **settings: Any) -> dict[str, Array]:
        numbers = np.zeros(max(start, 1))
        for group, place in groups:
            values = [settings.get(name, getattr(item, name, None)) for name in group.settings]
            numbers[place] = group.flat(item.label, [value_at(value, t) for value in values])
        results = program.evaluate(q[None], v[None], numbers[None])
        results = results if isinstance(results, tuple | list) else (results,)
        return {output.name: np.asarray(x)[0] for output, x in zip(program.outputs, results, strict=True)}

    return at


def numbers_of(robot: eq.Robot, item: Any, group: str, level: str = "torque", **settings: Any) -> Array:
    """The numbers of one group of an item's parameters."""
    from equipoise.control.controller.context import Context

    parameters = item.parameters(Context(robot, level))[group]
    return parameters.flat(item.label, [settings.get(name, getattr(item, name, None)) for name in parameters.settings])


def slope(function: Callable[[float], Array], step: float = STEP) -> Array:
    """Derivative at zero by central differences of fourth order."""
    near, far = (function(k * step) - function(-k * step) for k in (1, 2))
    return (8 * near - far) / (12 * step)
