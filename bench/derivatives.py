"""Derivatives of inverse and forward dynamics against Pinocchio: single calls from Python, and batches of 1,024.

After a batch Pinocchio runs twice, and the second time counts: see `dynamics`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from equipoise.bench.dynamics import BenchRow, on_one_core, row_of, urdf_of
from equipoise.bench.peers import Block, Pinocchio, States, loop, random_states
from equipoise.bench.quiet_timing import SETTLE, benchmark
from equipoise.machine.threads import thread_count
from equipoise.robot import Robot, load

CALLS = 50  # states in one block of single calls
BATCH = 1024
QUANTITIES = {"inverse_dynamics_derivatives": ("q", "v", "a"), "forward_dynamics_derivatives": ("q", "v", "tau")}


def compare(names: Sequence[str] = ("talos", "g1"), *, rounds: int = 60) -> Iterator[BenchRow]:
    """Rows one by one: both quantities of every robot, one state at a time and as batches."""
    for name in names:
        path = urdf_of(name)
        robot = load(path)
        few, many = random_states(robot, CALLS), random_states(robot, BATCH)
        pinocchio = Pinocchio(robot, str(path), few)
        for quantity in QUANTITIES:
            peer = theirs(pinocchio, quantity), CALLS
            calls = loop(getattr(robot, quantity), few.rows(*QUANTITIES[quantity])), CALLS
            result = benchmark({"equipoise": calls, "pinocchio": peer}, rounds=rounds, settle=SETTLE)
            yield row_of(name, quantity, "one call", result)
            block = _batch(robot, many, quantity)
            contenders = {"equipoise": (on_one_core(block), BATCH), "pinocchio, cold": peer, "pinocchio": peer}
            if thread_count() > 1:
                contenders["all cores"] = block, BATCH
            yield row_of(name, quantity, "batch, 1 core", benchmark(contenders, rounds=rounds, settle=SETTLE))


def _batch(robot: Robot, states: States, quantity: str) -> Block:
    """One call for all states, into memory that is there already."""
    arguments = [getattr(states, name) for name in QUANTITIES[quantity]]
    out = np.empty((BATCH, 3, robot.nv, robot.nv))
    return lambda: getattr(robot, quantity)(*arguments, out=out)


def theirs(pinocchio: Pinocchio, quantity: str) -> Block:
    """Pinocchio's derivatives, one call for each state."""
    pin, model, data = pinocchio.pin, pinocchio.model, pinocchio.data
    inverse = quantity.startswith("inverse")
    function = pin.computeRNEADerivatives if inverse else pin.computeABADerivatives
    rows = zip(pinocchio.q, pinocchio.v, pinocchio.a if inverse else pinocchio.tau, strict=True)
    return loop(lambda *row: function(model, data, *row), list(rows))
