"""What tests share: robots by name, evaluation without LLVM, errors."""

from __future__ import annotations

import functools
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

import equipoise as eq
from equipoise.equations.catalogue import REPRESENTED
from equipoise.machine import store
from equipoise.machine.kernel import Kernel
from equipoise.machine.program import Program
from equipoise.model import library
from equipoise.model.robots import BUILT_IN

Array = np.ndarray
REPRESENTATIONS = ("mixed", "body", "inertial")

# URDF files below the folder of test robots
SHARED_URDFS = {
    "jvrc1 (shared)": "jvrc1/jvrc1.urdf",
    "g1 (shared)": "unitree_g1/g1_29dof_rev_1_0.urdf",
    "g1 23 joints": "unitree_g1/g1_23dof_rev_1_0.urdf",
    "g1 with hands": "unitree_g1/g1_29dof_with_hand_rev_1_0.urdf",
    "thormang3": "thormang3/thormang3_sheet_27dof.urdf",
    "thormang3 sheet": "thormang3/thormang3_sheet.urdf",
    "thormang3 raw": "thormang3/thormang3.urdf",
    "poppy": "poppy_humanoid/Poppy_Humanoid.urdf",
    "hrp2": "hrp2/hrp2.urdf",
    "hrp4c": "hrp4c/HRP4Cmain.urdf",
    "anymal_c (shared)": "anymal_c/anymal.urdf",
    "solo12 (shared)": "solo12/solo12.urdf",
    "cassie": "cassie/cassie_v4.urdf",
    "ur5 (shared)": "ur5/ur5.urdf",
    "ur5e": "ur5/ur5e.urdf",
    "iiwa14": "kuka_iiwa14/iiwa14_primitive_collision.urdf",
}

# MJCF files below the folder of test robots
SHARED_MJCFS = {
    "cassie": "cassie/mjcf/cassie_nomesh.xml",
    "g1": "unitree_g1/mjcf/g1_nomesh.xml",
    "anymal_c": "anymal_c/mjcf/anymal_c_nomesh.xml",
    "iiwa14": "kuka_iiwa14/mjcf/iiwa14_nomesh.xml",
    "ur5e": "ur5/mjcf/ur5e_nomesh.xml",
    "tiago_dual": "tiago_dual/mjcf/tiago_dual_motor_nomesh.xml",
}


def robots_folder() -> Path:
    """Where the robots of the tests are; they are not part of the project."""
    default = Path(__file__).parents[2] / "shared" / "robots"
    folder = Path(os.environ.get("EQUIPOISE_ROBOTS", default))
    if not folder.is_dir():
        pytest.skip(f"no test robots at {folder}: set EQUIPOISE_ROBOTS to their folder")
    return folder


def description(name: str) -> Path:
    """The file of a robot that is not built in; skips where it is not installed."""
    shared = SHARED_URDFS.get(name)
    if shared is not None:
        path = robots_folder() / shared
        if not path.is_file():
            pytest.skip(f"the folder of test robots has no {shared}")
        return path
    found = library.find(name)
    if not isinstance(found, Path):
        pytest.skip(f"robot {name!r} is not here: install example-robot-data and jvrc_description")
    return found


@functools.cache
def load(name: str, floating: bool | None = None) -> eq.Robot:
    """A robot by name, once per session, so that its kernels are compiled once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.ModelWarning)
        return eq.load(name if name in BUILT_IN else description(name), floating=floating)


def evaluate(
    robot: eq.Robot,
    name: str,
    *arrays: Array,
    frames: str | tuple[str, ...] | None = None,
    representation: str = "mixed",
) -> Array:
    """A quantity by its program on NumPy, batches of states at once: the numbers of the kernel without compiling it."""
    return _kernel(robot, name, frames, representation).program.evaluate(*map(np.atleast_1d, arrays))


def singles(
    robot: eq.Robot,
    name: str,
    *arrays: Array,
    frames: str | tuple[str, ...] | None = None,
    representation: str = "mixed",
) -> Array:
    """The same by the compiled kernel, state after state."""
    kernel = _kernel(robot, name, frames, representation)
    return np.array([kernel(*state) for state in zip(*arrays, strict=True)])


def traced(
    robot: eq.Robot,
    name: str,
    *arrays: Array,
    frames: str | tuple[str, ...] | None = None,
    representation: str = "mixed",
) -> Array:
    """As `evaluate`, but nothing is cached on disk: for robots that live for one test."""
    return _traced(robot, name, frames, representation).evaluate(*map(np.atleast_1d, arrays))


@functools.lru_cache(maxsize=128)
def _traced(robot: eq.Robot, name: str, frames: str | tuple[str, ...] | None, representation: str) -> Program:
    names = () if frames is None else (frames,) if isinstance(frames, str) else frames
    places = [robot.place(frame) for frame in names]
    return store.traced(robot.tree, name, places, representation if name in REPRESENTED else None)


def _kernel(robot: eq.Robot, name: str, frames: str | tuple[str, ...] | None, representation: str) -> Kernel:
    return robot.kernel(name, frames, representation if name in REPRESENTED else None)


def random_states(robot: eq.Robot, rng: np.random.Generator, count: int) -> tuple[Array, Array]:
    """(q, v) of shapes (count, nq) and (count, nv), with a base that moves, far from the origin."""
    q, v = map(np.array, zip(*(robot.random_state(rng) for _ in range(count)), strict=True))
    return q, v


def relative_error(x: Array, reference: Array, least: float = 1e-12) -> float:
    """max |x − reference| / max |reference|, NaN if anything is; `least` is the scale where the reference vanishes."""
    x, reference = np.asarray(x), np.asarray(reference)
    assert x.shape == reference.shape, f"shape {x.shape}, wanted {reference.shape}"
    scale = max(np.max(np.abs(reference), initial=0.0), least)
    return float(np.max(np.abs(x - reference), initial=0.0) / scale)
