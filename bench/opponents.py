"""Our walker on a measuring bench for controllers of the G1 that others made: `harness.py` with its model and protocol.

The bench's files are read where they are; nothing of them is copied.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.errors import EquipoiseError

Array = np.ndarray
MODEL = "g1_torque.xml"
_WALKERS: dict[str, Any] = {}


class HarnessWalker:
    """`eq.Walking` as the harness wants a controller: MuJoCo's state in, torques of the joints out."""

    actuation = "torque"

    def __init__(self, folder: str) -> None:
        self.walker = _walker(folder)
        self.gait_period = 2 * self.walker.gait.period
        self._like: Any = None

    def reset(self, model: Any) -> None:
        """Before every run."""
        from equipoise.convert import mujoco

        self._like = mujoco(self.walker.robot, model) if self._like is None else self._like
        self.walker.forget_commands().reset()

    def control(self, t: float, qpos: Array, qvel: Array, sensors: Any, command: Any) -> Array:
        """Torques of the 29 joints."""
        q, v = self._like.from_peer(qpos, qvel)
        self.walker.command(*(float(x) for x in command))
        return np.asarray(self.walker(t, q, v).torque[6:])

    def snapshot(self) -> Any:
        return self.walker.snapshot()

    def restore(self, state: Any) -> None:
        self.walker.restore(state)


def _walker(folder: str) -> Any:
    """One walker for each process: it takes seconds to build."""
    if folder not in _WALKERS:
        from equipoise.robot import load
        from equipoise.walking.walking import Walking

        robot = load(Path(folder) / MODEL).with_armature()
        _WALKERS[folder] = Walking(robot, dt=2e-3, resistance=True)
    return _WALKERS[folder]


def harness_of(folder: str | Path, run_their_code: bool) -> Any:
    """Returns the bench's own module, from its folder. It is code of others and runs only on request."""
    path = Path(folder) / "harness.py"
    if not path.is_file():
        raise EquipoiseError(f"wanted the folder of the bench with its harness.py, got {str(folder)!r}")
    if not run_their_code:
        raise EquipoiseError(
            f"this bench imports and runs {str(path)!r}, which is not part of Equipoise: read it, and add "
            "--run-their-code if you trust it"
        )
    spec = importlib.util.spec_from_file_location("harness", path)
    if spec is None or spec.loader is None:
        raise EquipoiseError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules["harness"] = module
    spec.loader.exec_module(module)
    return module


def measure(
    folder: str | Path, *, run_their_code: bool, directions: int = 16, phases: int = 8, processes: int = 1
) -> Iterator[dict[str, Any]]:
    """Rows of the walking table, then both push maps.

    Args:
        folder: of the bench, with its harness.py.
        run_their_code: whether harness.py may be imported and run.
    """
    harness = harness_of(folder, run_their_code)
    factory = partial(HarnessWalker, str(Path(folder).resolve()))
    yield from harness.walk_table(factory, processes=processes)
    for command in ((0.0, 0.0, 0.0), (0.5, 0.0, 0.0)):
        yield harness.push_map(factory, command=command, directions=directions, phases=phases, processes=processes)
