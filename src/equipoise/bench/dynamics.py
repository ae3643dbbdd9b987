"""Dynamics against Pinocchio and MuJoCo: single calls from Python, and batches.

A batch leaves nothing else in the caches, and the core at a lower clock for a millisecond. So that passes first; then
Pinocchio runs twice, and the second time counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import ModelError
from ..machine.threads import limit_threads, thread_count
from ..model import library
from ..robot import Robot, load
from .peers import QUANTITIES, Block, MuJoCo, Pinocchio, our_batch, our_calls, random_states
from .quiet_timing import SETTLE, TimedComparison, benchmark

CALLS = 200  # states in one block of single calls
BATCH = 4096


@dataclass(frozen=True)
class BenchRow:
    """One line of the table."""

    robot: str
    quantity: str
    mode: str  # "one call" or "batch, 1 core"
    microseconds: float
    peers: dict[str, float]  # microseconds per call
    ratios: dict[str, tuple[float, float, float]]  # ours / peer: median and quartiles; "all cores": speed-up of a batch
    trustworthy: bool


def compare(names: Sequence[str] = ("talos", "g1"), *, rounds: int = 60) -> Iterator[BenchRow]:
    """Rows one by one: every quantity of every robot, as single calls and as batches."""
    for name in names:
        path = urdf_of(name)
        robot = load(path)
        yield from _single_calls(name, robot, str(path), rounds)
        yield from _batches(name, robot, str(path), rounds)


def urdf_of(name: str) -> Path:
    """The file of a robot, which peers can read too."""
    path = library.find(name) if not Path(name).is_file() else Path(name)
    if not isinstance(path, Path):
        raise ModelError(f"the bench needs a robot from a URDF file, so that peers can read it too; got {name!r}")
    return path


def _single_calls(name: str, robot: Robot, urdf: str, rounds: int) -> Iterator[BenchRow]:
    states = random_states(robot, CALLS)
    pinocchio, mujoco = Pinocchio(robot, urdf, states), MuJoCo(robot, states)
    for quantity in QUANTITIES:
        contenders = {"equipoise": (our_calls(robot, states, quantity), CALLS)}
        contenders["pinocchio"] = pinocchio.block(quantity), CALLS
        block = mujoco.block(quantity)
        if block is not None:
            contenders["mujoco"] = block, CALLS
        yield row_of(name, quantity, "one call", benchmark(contenders, rounds=rounds))


def _batches(name: str, robot: Robot, urdf: str, rounds: int) -> Iterator[BenchRow]:
    states = random_states(robot, BATCH)
    pinocchio = Pinocchio(robot, urdf, random_states(robot, CALLS))
    for quantity in QUANTITIES:
        block = our_batch(robot, states, quantity)
        theirs = pinocchio.block(quantity), CALLS
        contenders = {"equipoise": (on_one_core(block), BATCH), "pinocchio, cold": theirs, "pinocchio": theirs}
        if thread_count() > 1:
            contenders["all cores"] = block, BATCH
        yield row_of(name, quantity, "batch, 1 core", benchmark(contenders, rounds=rounds, settle=SETTLE))


def on_one_core(block: Block) -> Block:
    def limited() -> None:
        with limit_threads(1):
            block()

    return limited


def row_of(robot: str, quantity: str, mode: str, result: TimedComparison) -> BenchRow:
    ours = result.timings["equipoise"]
    peers = {name: 1e6 * timing.median for name, timing in result.timings.items() if name != "equipoise"}
    return BenchRow(robot, quantity, mode, 1e6 * ours.median, peers, result.ratios, result.trustworthy)
