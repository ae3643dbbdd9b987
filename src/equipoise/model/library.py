"""Robots by name: those of the library, and those that installed packages bring as files. Nothing is downloaded."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ModelError, UnknownNameError, missing_package, unknown_name
from . import xml
from .changes import with_base
from .types import STANDARD_GRAVITY, Model

_FILE_ENDINGS = (".urdf", ".xml", ".mjcf", ".xacro", ".sdf", ".usd", ".usda", ".usdc", ".usdz")
_UNREAD = {  # formats that robots come in and that are not read: ending or root element → what to do
    "usd": "USD is not read. Isaac Sim and Omniverse export robots as URDF, MuJoCo as MJCF: load that file.",
    "sdf": "SDF is not read: write the robot as URDF or MJCF. Most SDF robots come with the URDF that they were "
    "made from.",
}

# Files of the package example-robot-data, below its folder "robots".
_EXAMPLE_ROBOTS = {
    "a1": "a1_description/urdf/a1.urdf",
    "alex": "alex_description/urdf/alex_nub_hands.urdf",
    "allegro_left_hand": "allegro_hand_description/urdf/allegro_left_hand.urdf",
    "allegro_right_hand": "allegro_hand_description/urdf/allegro_right_hand.urdf",
    "anymal_b": "anymal_b_simple_description/robots/anymal.urdf",
    "anymal_b_kinova": "anymal_b_simple_description/robots/anymal-kinova.urdf",
    "anymal_c": "anymal_c_simple_description/urdf/anymal.urdf",
    "b1": "b1_description/urdf/b1.urdf",
    "b1_z1": "b1_description/urdf/b1-z1.urdf",
    "baxter": "baxter_description/urdf/baxter.urdf",
    "bolt": "bolt_description/robots/bolt.urdf",
    "borinot": "borinot_description/urdf/borinot_flying_arm_2.urdf",
    "bravo7": "bravo7_description/urdf/bravo7_no_ee.urdf",
    "centauro": "centauro_description/urdf/centauro.urdf",
    "double_pendulum": "double_pendulum_description/urdf/double_pendulum.urdf",
    "finger_edu": "finger_edu_description/robots/finger_edu.urdf",
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "g1_with_hands": "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf",
    "go1": "go1_description/urdf/go1.urdf",
    "go2": "go2_description/urdf/go2.urdf",
    "hector": "hector_description/robots/quadrotor_base.urdf",
    "hextilt": "hextilt_description/urdf/hextilt_flying_arm_5.urdf",
    "hyq": "hyq_description/robots/hyq_no_sensors.urdf",
    "icub": "icub_description/robots/icub.urdf",
    "iris": "iris_description/robots/iris.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "laikago": "laikago_description/urdf/laikago.urdf",
    "panda": "panda_description/urdf/panda.urdf",
    "pr2": "pr2_description/urdf/pr2.urdf",
    "romeo": "romeo_description/urdf/romeo_small.urdf",
    "simple_humanoid": "simple_humanoid_description/urdf/simple_humanoid.urdf",
    "so100": "so_arm_description/urdf/so100.urdf",
    "so101": "so_arm_description/urdf/so101.urdf",
    "solo8": "solo_description/robots/solo.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "talos_full": "talos_data/robots/talos_full_v2.urdf",
    "talos_left_arm": "talos_data/robots/talos_left_arm.urdf",
    "tiago": "tiago_description/robots/tiago.urdf",
    "tiago_dual": "tiago_description/robots/tiago_dual.urdf",
    "tiago_no_hand": "tiago_description/robots/tiago_no_hand.urdf",
    "tiago_pro": "tiago_pro_description/robots/tiago_pro.urdf",
    "ur3": "ur_description/urdf/ur3_robot.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "ur10": "ur_description/urdf/ur10_robot.urdf",
    "xarm7": "xarm_description/urdf/xarm7.urdf",
    "z1": "z1_description/urdf/z1.urdf",
}


def read(
    source: str | Path, *, floating: bool | None = None, gravity: Sequence[float] = STANDARD_GRAVITY, **parameters: Any
) -> Model:
    """The robot of a file, of XML text, or of a name.

    Args:
        source: path of a URDF or MJCF file, its text, or one of `known_names()`.
        floating: whether the base floats. None: of a URDF as `with_settled_base` finds; MJCF and built-in
            robots are as they are described.
        gravity: acceleration of free fall in the world, m/s².
        parameters: of the built-in robot, such as `height` of "human".
    """
    if not isinstance(source, str | Path):
        raise ModelError(
            f"a robot is a path, XML text or a name, not {type(source).__name__} {xml.shortened(repr(source))}"
        )
    found = source if _is_file_or_text(source) else _require_found(str(source))
    if callable(found):
        return _built_in(str(source), found, floating, gravity, parameters)
    if parameters:
        raise ModelError(f"a robot from a file takes no parameters, got {', '.join(parameters)}")
    path = None if isinstance(found, str) and xml.is_text(found) else os.path.abspath(os.path.expanduser(found))
    return replace(_read_file(found, floating, gravity), source=path)


def find(name: str) -> Path | Callable[..., Model] | None:
    """What a name stands for: a function for built-in robots, else the file of an installed package; None if
    nothing."""
    from .robots import BUILT_IN

    if name in BUILT_IN:
        return BUILT_IN[name]
    if name in _package_robots():
        return _package_robots()[name]
    for module in (name, f"{name}_description"):
        path = _described(module)
        if path is not None:
            return path
    return None


def known_names() -> list[str]:
    """Names that `read` takes here: built-in robots, then those of the packages that are installed."""
    from .robots import BUILT_IN

    return list(dict.fromkeys([*BUILT_IN, *_package_robots(), *_cached_descriptions()]))


# Dispatch


def _is_file_or_text(source: str | Path) -> bool:
    if isinstance(source, Path) or xml.is_text(source):
        return True
    return os.sep in source or "/" in source or source.lower().endswith(_FILE_ENDINGS)


def _require_found(name: str) -> str | Path | Callable[..., Model]:
    found = find(name)
    if found is not None:
        return found
    if os.path.isfile(name):
        return name
    _require_package_of(name)
    error = unknown_name("robot", xml.shortened(name), known_names())
    raise UnknownNameError(f"{error} The path of a URDF or MJCF file, or its text, works too.")


def _require_package_of(name: str) -> None:
    """Raise if a package that is not installed, or a download that was not made, would bring the robot."""
    for package, names in {"example-robot-data": _EXAMPLE_ROBOTS, "jvrc_description": ("jvrc1",)}.items():
        if name in names:
            raise missing_package(package, "robots", f"robot {name!r}")
    folder = _descriptions_folder()
    if folder is None and name.endswith("_description"):
        raise missing_package("robot_descriptions", "robots", f"robot {name!r}")
    for module in (name, f"{name}_description"):
        if folder is not None and module.isidentifier() and os.path.isfile(folder / f"{module}.py"):
            raise ModelError(
                f"robot {name!r} is known to robot_descriptions and is not on this machine; this downloads it once: "
                f"python -c 'import robot_descriptions.{module}'"
            )


def _read_file(source: str | Path, floating: bool | None, gravity: Sequence[float]) -> Model:
    ending = "" if xml.is_text(source) else Path(source).suffix.lower()
    if ending.startswith(".usd"):
        raise ModelError(f"{xml.label(source)}: {_UNREAD['usd']}")
    data = xml.load(source)
    try:
        tag = xml.root_tag(data)
    except ModelError as error:
        raise xml.named_after(source, error) from None
    if tag == "robot":
        from .urdf import read_urdf
        from .xacro_files import expanded

        text = expanded(source, data) if ending == ".xacro" else None
        return read_urdf(source, floating=floating, gravity=gravity, text=text)
    if tag == "sdf":
        raise ModelError(f"{xml.label(source)}: {_UNREAD['sdf']}")
    if tag == "mujoco":
        from .mjcf import read_mjcf

        return read_mjcf(source, floating=floating, gravity=gravity)
    raise ModelError(
        f"{xml.label(source)}: the root element is <{xml.shortened(tag)}>; "
        "robots are read from URDF (<robot>) and MJCF (<mujoco>)"
    )


def _built_in(
    name: str, make: Callable[..., Model], floating: bool | None, gravity: Sequence[float], parameters: dict[str, Any]
) -> Model:
    known = inspect.signature(make).parameters
    for parameter in parameters:
        if parameter not in known:
            raise unknown_name(f"parameter of robot {name!r}", parameter, known)
    gx, gy, gz = map(float, gravity)
    model = replace(make(**parameters), gravity=(gx, gy, gz))
    return model if floating is None else with_base(model, floating=floating)


# Installed packages


def _package_robots() -> dict[str, Path]:
    """Robots that lie on disk, by name."""
    found = {}
    spec = importlib.util.find_spec("jvrc_description")
    if spec is not None and spec.origin is not None:
        found["jvrc1"] = Path(spec.origin).parent / "urdf" / "jvrc1.urdf"
    folder = _example_robots_folder()
    if folder is not None:
        found |= {name: folder / path for name, path in _EXAMPLE_ROBOTS.items()}
    return {name: path for name, path in found.items() if path.is_file()}


def _example_robots_folder() -> Path | None:
    """Where example-robot-data is installed: the wheel puts it into a prefix of its own, conda and ROS into theirs."""
    prefixes = [*(Path(entry) / "cmeel.prefix" for entry in sys.path), Path(sys.prefix)]
    prefixes += [Path(entry) for entry in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if entry]
    folders = (prefix / "share" / "example-robot-data" / "robots" for prefix in prefixes)
    return next((folder for folder in folders if folder.is_dir()), None)


# The package robot_descriptions downloads a robot when its module is imported. So its modules are read, not run: they
# say in three lines which file of which repository they stand for, and that file is used if the cache has it.


def _cached_descriptions() -> Iterator[str]:
    folder = _descriptions_folder()
    if folder is not None and _descriptions_cache().is_dir():
        for module in sorted(folder.glob("*_description.py")):
            if not module.stem.startswith("_") and _described(module.stem) is not None:
                yield module.stem


def _described(module: str) -> Path | None:
    """The file of a module of robot_descriptions, if its repository is in the cache."""
    folder = _descriptions_folder()
    # however long the name
    if folder is None or not module.isidentifier() or not os.path.isfile(folder / f"{module}.py"):
        return None
    values: dict[str, Any] = {"_repositories": _repositories(folder)}
    for node in ast.parse((folder / f"{module}.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            values[node.target.id] = _evaluated(node.value, values)
    for kind in ("URDF_PATH", "MJCF_PATH"):
        if values.get(kind) is not None and Path(values[kind]).is_file():
            return Path(values[kind])
    return None


def _descriptions_folder() -> Path | None:
    spec = importlib.util.find_spec("robot_descriptions")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def _descriptions_cache() -> Path:
    return Path(os.environ.get("ROBOT_DESCRIPTIONS_CACHE", "~/.cache/robot_descriptions")).expanduser()


def _repositories(folder: Path) -> dict[str, str]:
    """Repository → folder in the cache, from calls `"name": Repository(cache_path="…")`."""
    found = {}
    for node in ast.walk(ast.parse((folder / "_repositories.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                arguments = {k.arg: k.value for k in value.keywords} if isinstance(value, ast.Call) else {}
                path = arguments.get("cache_path")
                if isinstance(key, ast.Constant) and isinstance(path, ast.Constant):
                    found[str(key.value)] = str(path.value)
    return found


def _evaluated(node: ast.expr, values: dict[str, Any]) -> str | None:
    """The path that a constant, a name, `_path.join(…)` or `_clone_to_cache("repository")` stands for, else None."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name):
        return values.get(node.id)
    if isinstance(node, ast.Call):
        parts = [_evaluated(argument, values) for argument in node.args]
        called = ast.unparse(node.func)
        if called == "_clone_to_cache" and parts[0] in values["_repositories"]:
            return str(_descriptions_cache() / values["_repositories"][parts[0]])
        if called == "_path.join" and all(part is not None for part in parts):
            return os.path.join(*(part for part in parts if part is not None))
    return None
