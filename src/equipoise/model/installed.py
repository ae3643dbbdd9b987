"""Robots that installed packages bring as files, found by the names that people use. Nothing is imported from these
packages and nothing is downloaded.

`example-robot-data` and `jvrc_description` contain their files. `robot_descriptions` and `mujoco-menagerie` download a
robot at its first use into a cache of their own, which is read here.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import ModelError, missing_package

# files of example-robot-data, below its folder "robots"
EXAMPLE_ROBOTS = {
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

# Names of mujoco-menagerie that people ask for without having the package, where no other package above brings them.
MENAGERIE_ROBOTS = (
    "agility_cassie", "apptronik_apollo", "berkeley_humanoid", "booster_t1", "boston_dynamics_spot", "fourier_n1",
    "franka_fr3", "google_barkour_vb", "hello_robot_stretch_3", "kinova_gen3", "kuka_iiwa_14", "robotis_op3",
    "toddlerbot_2xc", "unitree_h1", "universal_robots_ur5e", "universal_robots_ur10e",
)  # fmt: skip
MAKERS = (
    "agility", "anybotics", "apptronik", "boston_dynamics", "fourier", "franka_emika", "franka",
    "hello_robot", "kinova", "kuka", "pal", "robotis", "unitree", "universal_robots", "ufactory",
)  # fmt: skip
KINDS = ("_mj_description", "_description")


def find(name: str) -> Path | None:
    """Returns the file of the robot with this name, None if no installed package has it here.

    A name that a package uses itself comes first; otherwise names agree if they differ by the maker or by
    "_description" only: "unitree_g1" is "g1", "ur5e" is "universal_robots_ur5e".
    """
    for robots in _PACKAGES.values():
        if name in (found := robots()):
            return found[name]
    everything = (robot for robots in by_package().values() for robot in robots.items())
    return next((path for known, path in everything if plain(known) == plain(name)), None)


def by_package() -> dict[str, dict[str, Path]]:
    """Returns the robots that are on this machine, by package and name."""
    return {package: robots() for package, robots in _PACKAGES.items()}


def plain(name: str) -> str:
    """Returns the name without its maker and without "_description"."""
    name = name.lower().replace("-", "_")
    for kind in KINDS:
        name = name.removesuffix(kind)
    maker = next((maker for maker in MAKERS if name.startswith(f"{maker}_")), None)
    return name if maker is None else name[len(maker) + 1 :]


def require_package_of(name: str) -> None:
    """Raises if a package that is not installed would bring the robot, or a download that was not made."""
    bring = {"example-robot-data": EXAMPLE_ROBOTS, "jvrc_description": ("jvrc1",)}
    for package, names in bring.items():
        if plain(name) in map(plain, names):
            raise missing_package(package, "robots", f"robot {name!r}")
    for module in _descriptions():
        if name == module or plain(name) == plain(module):
            raise _not_downloaded(name, "robot_descriptions", f"python -c 'import robot_descriptions.{module}'")
    for known in _menagerie_registry() or MENAGERIE_ROBOTS:
        if plain(name) == plain(known):
            if not _menagerie_registry():
                raise missing_package("mujoco-menagerie", "robots", f"robot {name!r}")
            raise _not_downloaded(name, "mujoco-menagerie", f"mujoco-menagerie prefetch {known}")
    if name.endswith(KINDS):
        raise missing_package("robot_descriptions", "robots", f"robot {name!r}")


def _not_downloaded(name: str, package: str, command: str) -> ModelError:
    return ModelError(f"robot {name!r} is known to {package} and is not on this machine; this downloads it: {command}")


def example_robots_folder() -> Path | None:
    """Returns the robots' folder of example-robot-data, None where it is not installed.

    The wheel installs into a prefix of its own, conda and ROS into theirs.
    """
    prefixes = [*(Path(entry) / "cmeel.prefix" for entry in sys.path), Path(sys.prefix)]
    prefixes += [Path(entry) for entry in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if entry]
    folders = (prefix / "share" / "example-robot-data" / "robots" for prefix in prefixes)
    return next((folder for folder in folders if folder.is_dir()), None)


def _example_robots() -> dict[str, Path]:
    folder = example_robots_folder()
    return {} if folder is None else _existing({name: folder / path for name, path in EXAMPLE_ROBOTS.items()})


def _jvrc1() -> dict[str, Path]:
    folder = _package_folder("jvrc_description")
    return {} if folder is None else _existing({"jvrc1": folder / "urdf" / "jvrc1.urdf"})


def _existing(files: dict[str, Path]) -> dict[str, Path]:
    return {name: path for name, path in files.items() if path.is_file()}


def _package_folder(module: str) -> Path | None:
    spec = importlib.util.find_spec(module)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


# mujoco-menagerie: a robot is complete in models/<name>-<digest> if the file .complete is there.


def _menagerie_robots() -> dict[str, Path]:
    registry = _menagerie_registry()
    found = {}
    for complete in sorted(_menagerie_cache().glob("models/*/.complete")):
        name = complete.parent.name.rpartition("-")[0]
        main = registry.get(name, {}).get("default_model") or plain(name)
        found[name] = complete.parent / f"{main}.xml"
    return _existing(found)


def _menagerie_registry() -> dict[str, dict[str, Any]]:
    folder = _package_folder("mujoco_menagerie")
    return {} if folder is None else json.loads((folder / "registry.json").read_text(encoding="utf-8"))["robots"]


def _menagerie_cache() -> Path:
    named = os.environ.get("MENAGERIE_CACHE_DIR")
    if named:
        return Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "mujoco_menagerie" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/mujoco_menagerie"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mujoco_menagerie"


# robot_descriptions downloads a robot when its module is imported. So its modules are read, not run: each says in
# three lines which file of which repository it stands for.


def _cached_descriptions() -> dict[str, Path]:
    if not _descriptions_cache().is_dir():
        return {}
    found = {module: _described(module) for module in _descriptions()}
    return {module: path for module, path in found.items() if path is not None}


def _descriptions() -> list[str]:
    """Returns the modules of robot_descriptions, one for each robot."""
    folder = _package_folder("robot_descriptions")
    files = [] if folder is None else sorted(folder.glob("*_description.py"))
    return [file.stem for file in files if not file.stem.startswith("_")]


def _described(module: str) -> Path | None:
    """Returns the file of a module of robot_descriptions, if its repository is in the cache."""
    folder = _package_folder("robot_descriptions")
    assert folder is not None  # it has this module
    values: dict[str, Any] = {"_repositories": _repositories(folder)}
    for node in ast.parse((folder / f"{module}.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            values[node.target.id] = _evaluated(node.value, values)
    for kind in ("URDF_PATH", "MJCF_PATH"):
        if values.get(kind) is not None and Path(values[kind]).is_file():
            return Path(values[kind])
    return None


def _descriptions_cache() -> Path:
    return Path(os.environ.get("ROBOT_DESCRIPTIONS_CACHE", "~/.cache/robot_descriptions")).expanduser()


@functools.cache
def _repositories(folder: Path) -> dict[str, str]:
    """Returns the cache folder of each repository, from calls `"name": Repository(cache_path="…")`."""
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
    """Returns the path that a constant, a name, `_path.join(…)` or `_clone_to_cache("…")` stands for, else None."""
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


_PACKAGES: dict[str, Callable[[], dict[str, Path]]] = {
    "example-robot-data": _example_robots,
    "jvrc_description": _jvrc1,
    "mujoco-menagerie": _menagerie_robots,
    "robot_descriptions": _cached_descriptions,
}
