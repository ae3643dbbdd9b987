"""Nothing is read after it was freed: robots, controllers and bound calls dropped where freed memory is overwritten."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Freed memory becomes 0x00 (the complement of 255), and Python's own allocator, which would reuse it, is switched off.
OVERWRITING = {"MALLOC_PERTURB_": "255", "PYTHONMALLOC": "malloc"}
ROBOT = """
import gc, numpy as np, equipoise as eq
for _ in range(3):
    robot = eq.load("arm6")
    robot.mass_matrix(np.zeros(6))
    method = robot.kernel("mass_matrix", None, "mixed")._fast
    del robot
    gc.collect()
    assert method(np.zeros(6)).shape == (6, 6)  # the code lives as long as what calls it
    del method
"""
BOUND = """
import gc, numpy as np, equipoise as eq
robot = eq.load("arm6")
q, M = np.zeros(6), np.zeros((6, 6))
call, wanted = robot.kernel("mass_matrix", None, "mixed").bound((q,), (M,)), robot.mass_matrix(np.ones(6))
view = M[:]
q[:] = 1.0
del robot, q, M
gc.collect()
filling = [np.full(36, 7.0) for _ in range(1000)]
assert call() == 0 and (view == wanted).all() and all((x == 7.0).all() for x in filling)
"""
CONTROLLER = """
import gc, numpy as np, equipoise as eq
for priorities in ("weighted", "strict"):
    robot = eq.load("arm7")
    tasks = [eq.FrameTask("tool"), eq.PostureTask()]
    controller = eq.WholeBodyController(robot, tasks, [], [eq.TorqueLimits()], priorities=priorities)
    solution = controller(0.0, np.full(7, 0.1), np.full(7, 0.1))
    del robot, controller
    gc.collect()
    assert np.isfinite(solution.torque).all() and solution.explain()
"""
BATCH = """
import gc, numpy as np, equipoise as eq
robot = eq.load("arm6")
Q = np.linspace(-1, 1, 6 * 4096).reshape(4096, 6)
M = robot.mass_matrix(Q)
del robot
gc.collect()
assert np.isfinite(M).all()
"""


@pytest.mark.parametrize(
    "script", [ROBOT, BOUND, CONTROLLER, BATCH], ids=["robot", "bound call", "controller", "batch"]
)
def test_nothing_is_used_after_it_was_freed(script):
    environment = {**os.environ, **OVERWRITING}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
