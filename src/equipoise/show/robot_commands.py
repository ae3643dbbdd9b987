"""What the commands `robots`, `ik`, `export` and `convert` do and print: one robot and no simulation."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.markup import escape

from ..errors import EquipoiseError, ModelError, ShapeError, require_packages, unknown_name
from ..files import require_writable, written_whole
from .outputs import Outcome, file_outcome
from .tables import table

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
OWN = "equipoise"
CONVENTIONS = (OWN, "pinocchio", "mujoco")


def list_robots(console: Console, part: str) -> Outcome:
    """Prints the robots that can be loaded by name, with the package that brings each; good if there is one."""
    from ..model import installed
    from ..model.robots import BUILT_IN

    rows = [(name, "built in", "") for name in BUILT_IN]
    rows += [
        (name, package, path.suffix[1:])
        for package, robots in installed.by_package().items()
        for name, path in robots.items()
    ]
    rows = [row for row in rows if part.lower() in row[0].lower()]
    if rows:
        console.print(table("robots that `eq.load` finds by name", ["name", "from", "file"], rows, words=3))
    more = "" if rows else f" with {part!r} in the name; more come with: pip install 'equipoise[robots]'"
    data = [{"name": name, "package": package} for name, package, _ in rows]
    return Outcome(f"{len(rows)} robots{more}", data, bool(rows))


def ik_command(
    console: Console,
    source: str,
    wanted: Sequence[str],
    *,
    floor: float | None,
    self_collision: bool,
    fixed_base: bool,
    seed: int,
    out: str | None,
) -> Outcome:
    """Finds a configuration with frames at given places and poses, prints or saves it; good if it was found."""
    from ..body.inverse_kinematics import solve_ik
    from ..robot import load

    targets = dict(map(_target, wanted))
    if len(targets) < len(wanted):
        raise EquipoiseError(f"each frame has one target; got {'; '.join(wanted)}")
    require_writable(out)
    with console.status(f"solving for {escape(source)} (kernels are compiled once) …"):
        robot = load(source)
        found = solve_ik(robot, targets, floor=floor, self_collision=self_collision, base=not fixed_base, seed=seed)
    missed = {name: [float(x) for x in value] for name, value in found.residuals.items()}
    answer = {"robot": robot.name, "converged": bool(found), "reason": found.reason, "missed": missed}
    answer |= {"q": found.q.tolist()}
    if out is not None:
        written_whole(Path(out), lambda file: file.write(json.dumps(answer, indent=1).encode()))
        console.print(f"configuration: {Path(out).resolve()}", highlight=False, soft_wrap=True)
    rows = [(name, " ".join(f"{x:.6g}" for x in found.q[joint.q])) for name, joint in robot.joints.items()]
    console.print(table(robot.name, ["joint", "position (rad, m)"], rows, words=2))
    words = [f"{robot.name}: {found.reason}"]
    for name, miss in missed.items():
        by = " and ".join(f"{x:.1e} {unit}" for x, unit in zip(miss, ("m", "rad"), strict=False))
        words.append(f"{name} is missed by {by}")
    return Outcome("\n".join(words), answer, bool(found))


def _target(text: str) -> tuple[str, Array]:
    """Returns the frame and its place or pose that "FRAME,X,Y,Z[,ROLL,PITCH,YAW]" stands for."""
    from ..algebra.rigid import pose, rotation_from_rpy

    frame, *words = text.split(",")
    try:
        place, angles = np.array([float(word) for word in words[:3]]), [float(word) for word in words[3:]]
    except ValueError:
        place, angles = np.empty(0), []
    if len(place) != 3 or len(angles) not in (0, 3):
        raise ShapeError(f"a target is FRAME,X,Y,Z or FRAME,X,Y,Z,ROLL,PITCH,YAW (m, rad); got {text!r}")
    return frame, pose(rotation_from_rpy(*angles), place) if angles else place


def export_command(
    console: Console, source: str, quantity: str, out: str, *, frame: str | None, representation: str, single: bool
) -> Outcome:
    """Writes a quantity of a robot as a C or CUDA file."""
    from ..robot import load

    require_writable(out)
    with console.status(f"writing {escape(quantity)} …"):
        robot = load(source)
        path = robot.export(
            quantity, out, frames=frame, representation=representation, dtype="float32" if single else "float64"
        )
    return file_outcome(f"{quantity} of {robot.name}", path)


def convert_command(state: str, robot: str, origin: str, goal: str, out: str | None) -> Outcome:
    """Converts a configuration, or one with its velocity, to the convention of another library."""
    from ..robot import load

    require_writable(out)
    loaded = load(robot)
    here, there = _converter(loaded, origin), _converter(loaded, goal)
    q, v = _state(state, loaded if here is None else here.peer)
    if here is not None:
        q, v = (here.from_peer(q), None) if v is None else here.from_peer(q, v)
    if there is not None:
        q, v = (there.to_peer(q), None) if v is None else there.to_peer(q, v)
    answer = {"q": np.asarray(q).tolist()} | ({} if v is None else {"v": np.asarray(v).tolist()})
    numbers = {name: " ".join(repr(float(x)) for x in values) for name, values in answer.items()}
    if out is not None:
        written_whole(Path(out), lambda file: file.write(" ".join(numbers.values()).encode()))
    return Outcome("\n".join(f"{name} = {text}" for name, text in numbers.items()), answer)


def _state(text: str, sizes: Any) -> tuple[Array, Array | None]:
    """Returns q, and v if it is given, from numbers in a text or in a file."""
    written = Path(text).read_text(encoding="utf-8") if os.path.isfile(text) else text
    try:
        values = np.array([float(word) for word in written.replace(",", " ").split()])
    except ValueError:
        raise ShapeError(
            f"a state is numbers with spaces or commas between them, or a file of such; got {text!r}"
        ) from None
    nq, nv = sizes.nq, sizes.nv
    if len(values) not in (nq, nq + nv):
        raise ShapeError(f"a state has {nq} numbers (q), or {nq + nv} (q, v); got {len(values)}")
    return values[:nq], values[nq:] if len(values) > nq else None


def _converter(robot: Robot, convention: str) -> Any:
    """Returns the converter to the convention of another library, None for our own."""
    from .. import convert

    if convention not in CONVENTIONS:
        raise unknown_name("convention", convention, CONVENTIONS)
    if convention == OWN:
        return None
    path = str(robot.model.source or "")
    if convention == "mujoco":
        require_packages("mujoco", "states of MuJoCo", "mujoco")
        import mujoco

        _require_ending(robot, path, (".xml", ".mjcf"), "MuJoCo orders coordinates by its MJCF file")
        return convert.mujoco(robot, mujoco.MjModel.from_xml_path(path))
    require_packages("bench", "states of Pinocchio", "pinocchio")
    import pinocchio

    _require_ending(robot, path, (".xml", ".mjcf", ".urdf"), "Pinocchio orders coordinates by a URDF or MJCF file")
    if not path.endswith(".urdf"):
        model = pinocchio.buildModelFromMJCF(path)
    elif robot.model.base is not None:
        model = pinocchio.buildModelFromUrdf(path, pinocchio.JointModelFreeFlyer())
    else:
        model = pinocchio.buildModelFromUrdf(path)
    return convert.pinocchio(robot, model)


def _require_ending(robot: Robot, path: str, endings: tuple[str, ...], why: str) -> None:
    if not path.endswith(endings):
        raise ModelError(f"{why}, and {robot.name!r} was loaded from {path or 'no file'}; load it from {endings[0]}")
