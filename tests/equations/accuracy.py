# ruff: noqa: E402  (the folders of the tests must be known before they are imported from)
"""How far each quantity is from Pinocchio and MuJoCo at worst, over all robots: python tests/equations/accuracy.py

Options: --compiled runs the machine code instead of NumPy; --all adds the body and the inertial representation.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

import mujoco_twin
import pinocchio_twin
import pytest
import test_against_mujoco as with_mujoco
import test_against_pinocchio as with_pinocchio
from rich.console import Console
from rich.progress import track
from rich.table import Table
from support import FURTHER_MJCFS, REPRESENTATIONS, Array, evaluate, singles

import equipoise as eq

Run = Callable[..., Array]
Worst = dict[str, tuple[float, str]]  # quantity → error, robot


def pinocchio_errors(run: Run, representations: tuple[str, ...]) -> Iterator[tuple[str, dict[str, float]]]:
    """(robot, errors) over all URDF and built-in robots that are here."""
    for name in track(with_pinocchio.ALL, "Pinocchio"):
        for representation in representations:
            with contextlib.suppress(pytest.skip.Exception):
                twin, rng = with_pinocchio.twin_of(name), np.random.default_rng(17)
                names = with_pinocchio.quantities(name)
                yield (
                    f"{name}, {representation}",
                    pinocchio_twin.errors(twin, rng, representation, names=names, run=run),
                )


def mujoco_errors(run: Run) -> Iterator[tuple[str, dict[str, float]]]:
    """(robot, errors) over all MJCF robots that are here, with armature and without."""
    for name in track((*with_mujoco.INLINE, *FURTHER_MJCFS), "MuJoCo"):
        for armature in (False, True):
            with contextlib.suppress(pytest.skip.Exception):
                twin = with_mujoco.twin_of(name, armature)
                yield (
                    f"{name}{' with armature' * armature}",
                    mujoco_twin.errors(twin, np.random.default_rng(17), run=run),
                )


def worst_of(results: Iterator[tuple[str, dict[str, float]]]) -> tuple[Worst, int]:
    """The largest error of each quantity with the robot it occurs on, and how many comparisons there were."""
    worst: Worst = {}
    count = 0
    for robot, errors in results:
        count += 1
        for name, error in errors.items():
            worst[name] = max(worst.get(name, (0.0, "—")), (error, robot))
    return worst, count


def show(title: str, worst: Worst, count: int) -> None:
    table = Table("quantity", "worst relative error", "robot", title=f"{title}: {count} cases, 3 random states each")
    for name, (error, robot) in worst.items():
        table.add_row(name, f"{error:.1e}", robot)
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore", eq.ModelWarning)
    run = singles if options.compiled else evaluate
    show("MuJoCo", *worst_of(mujoco_errors(run)))
    show("Pinocchio", *worst_of(pinocchio_errors(run, REPRESENTATIONS if options.all else ("mixed",))))


if __name__ == "__main__":
    main()
