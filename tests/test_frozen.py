"""Data are frozen: what is computed once cannot be changed by who reads it."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

import pytest

import equipoise
from equipoise.balance.com_dynamics import augmented_bodies

# Each holds a state that moves, or is filled while a file is read.
MOVING = {
    "_Notes", "_Loop", "MujocoIndices", "_ChainLink", "_Way", "_Command", "CoMProgram", "FilterState", "ClimbState",
    "State", "Swing", "HopState", "Statement", "Passing",
}  # fmt: skip
NEEDS_MORE = ("equipoise.__main__",)  # modules that do something when they are imported


def dataclasses_of_the_package() -> dict[str, type]:
    found = {}
    for info in pkgutil.walk_packages(equipoise.__path__, "equipoise."):
        if info.name in NEEDS_MORE:
            continue
        try:
            module = importlib.import_module(info.name)
        except ImportError:  # of a package that is not installed here
            continue
        for name, kind in vars(module).items():
            if isinstance(kind, type) and kind.__module__ == info.name and dataclasses.is_dataclass(kind):
                found[f"{info.name}.{name}"] = kind
    return found


def test_dataclasses_are_frozen():
    found = dataclasses_of_the_package()
    assert len(found) > 300
    moving = {kind.__name__ for kind in found.values() if not kind.__dataclass_params__.frozen}  # type: ignore[attr-defined]
    assert moving == MOVING


def test_a_result_refuses_another_value():
    robot = equipoise.load("arm6")
    bodies = augmented_bodies(robot, robot.neutral())
    with pytest.raises(dataclasses.FrozenInstanceError):
        bodies.mass = None
    with pytest.raises(ValueError, match="read-only"):
        bodies.mass[0] = 1.0
