"""What tests share: robots by name, evaluation without LLVM, errors."""

from __future__ import annotations

import functools
import os
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

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

# URDF files below the folder that EQUIPOISE_ROBOTS names: robots that no package brings, or brings in another version
FURTHER_URDFS = {
    "jvrc1 (file)": "jvrc1/jvrc1.urdf",
    "g1 (file)": "unitree_g1/g1_29dof_rev_1_0.urdf",
    "g1 23 joints": "unitree_g1/g1_23dof_rev_1_0.urdf",
    "g1 with hands": "unitree_g1/g1_29dof_with_hand_rev_1_0.urdf",
    "thormang3": "thormang3/thormang3_sheet_27dof.urdf",
    "thormang3 sheet": "thormang3/thormang3_sheet.urdf",
    "thormang3 raw": "thormang3/thormang3.urdf",
    "poppy": "poppy_humanoid/Poppy_Humanoid.urdf",
    "hrp2": "hrp2/hrp2.urdf",
    "hrp4c": "hrp4c/HRP4Cmain.urdf",
    "anymal_c (file)": "anymal_c/anymal.urdf",
    "solo12 (file)": "solo12/solo12.urdf",
    "cassie": "cassie/cassie_v4.urdf",
    "ur5 (file)": "ur5/ur5.urdf",
    "ur5e": "ur5/ur5e.urdf",
    "iiwa14": "kuka_iiwa14/iiwa14_primitive_collision.urdf",
}

# MJCF files below the same folder
FURTHER_MJCFS = {
    "cassie": "cassie/mjcf/cassie_nomesh.xml",
    "g1": "unitree_g1/mjcf/g1_nomesh.xml",
    "anymal_c": "anymal_c/mjcf/anymal_c_nomesh.xml",
    "iiwa14": "kuka_iiwa14/mjcf/iiwa14_nomesh.xml",
    "ur5e": "ur5/mjcf/ur5e_nomesh.xml",
    "tiago_dual": "tiago_dual/mjcf/tiago_dual_motor_nomesh.xml",
}


further = pytest.mark.further("EQUIPOISE_ROBOTS")


def marked(names: Iterable[str], known: Iterable[str] = FURTHER_URDFS, *marks: pytest.MarkDecorator) -> list:
    """Returns the names as parameters of a test, those of further robots marked as such."""
    known = set(known)
    return [pytest.param(name, marks=[*marks, further] if name in known else marks) for name in names]


def robots_folder() -> Path:
    """Returns the folder of further robots. A test that asks for it carries the mark `further`."""
    return further_folder("EQUIPOISE_ROBOTS")


def further_folder(variable: str) -> Path:
    """Returns the folder that an environment variable names; fails where the mark `further` was forgotten."""
    if variable not in os.environ:
        pytest.fail(f"this test needs the folder {variable}: mark it with pytest.mark.further({variable!r})")
    return Path(os.environ[variable])


@functools.cache
def mjcf_of(name: str, actuators: str = "") -> str:
    """Returns the MJCF text of a URDF robot, without shapes and on a free base, as MuJoCo's own compiler writes it."""
    import mujoco

    root = ElementTree.parse(description(name)).getroot()
    for link in root.findall("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
    children = {joint.find("child").get("link") for joint in root.findall("joint")}
    base = next(link.get("name") for link in root.findall("link") if link.get("name") not in children)
    ElementTree.SubElement(ElementTree.SubElement(root, "mujoco"), "compiler", fusestatic="false")
    ElementTree.SubElement(root, "link", name="world")
    free = ElementTree.SubElement(root, "joint", name="root", type="floating")
    ElementTree.SubElement(free, "parent", link="world")
    ElementTree.SubElement(free, "child", link=base)
    model = mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))
    with tempfile.TemporaryDirectory() as folder:
        mujoco.mj_saveLastXML(f"{folder}/robot.xml", model)
        text = Path(folder, "robot.xml").read_text(encoding="utf-8")
    return text.replace("</mujoco>", f"<actuator>{actuators}</actuator></mujoco>") if actuators else text


def description(name: str) -> Path:
    """Returns the file of a robot that is not built in; skips where its package is not installed."""
    if name in FURTHER_URDFS:
        return robots_folder() / FURTHER_URDFS[name]
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
