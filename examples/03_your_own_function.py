"""Your own formula on symbols, compiled with the robot's equations: manipulability of a hand, and its gradient."""

import casadi
import numpy as np

import equipoise as eq

robot = eq.load("arm7")


def manipulability(robot, q):
    J = robot.jacobian(q, "tool")[:3, :]
    w2 = casadi.det(J @ J.T)
    return {"measure": casadi.sqrt(w2), "gradient": casadi.gradient(casadi.sqrt(w2), q)}


measure_and_gradient = eq.compile(manipulability, robot)
q, _ = robot.random_state(np.random.default_rng(0))
for _ in range(200):  # climb
    w, gradient = measure_and_gradient(q)
    q = q + 0.05 * gradient
print(f"manipulability {measure_and_gradient(q)[0]:.4f} at q = {np.round(q, 2)}")
assert measure_and_gradient(q)[0] >= w - 1e-6
