"""What walkers of all kinds are tried with."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from equipoise.simulate.walk_trials import varied_plant


def require_same_after_restore(walker, steps: int, at: int, again: int) -> None:
    """The same states after a snapshot, taken in the middle of a step, get the same torques."""
    states, taken = [], None
    q, v = walker.q0.copy(), np.zeros(walker.robot.nv)
    plant = varied_plant(walker, 1)
    plant.reset(q, v)
    for k in range(steps):
        solution = walker(1e-3 * k, q, v)
        if k == at:
            taken, states = walker.snapshot(), []
        states.append((1e-3 * k, q, v, solution.torque))
        state = plant.step(solution.torque, 1e-3)
        q, v = state.q, state.v
    walker.reset()  # another walk in between leaves nothing behind
    walker.restore(taken)
    assert walker.mode == "step"
    for t, q, v, torque in states[1:again]:
        assert_allclose(walker(t, q, v).torque, torque, atol=1e-4)  # N m; the solver starts cold after the first


def torques_after_restore(walker, run, at) -> tuple[list, list]:
    """Torques in states of a run, and again after a snapshot from before them is restored."""
    kept = walker.snapshot()
    first = [walker(run.t[i], run.q[i], run.v[i]).torque for i in at]
    walker.forget_commands().reset()
    walker.restore(kept)
    return first, [walker(run.t[i], run.q[i], run.v[i]).torque for i in at]
