"""Your own formula on symbols, compiled with the robot's equations: an arm climbs to where its hand moves best."""

import casadi
import matplotlib.pyplot as plt
import numpy as np

import equipoise as eq

robot = eq.load("arm7")


def manipulability(robot, q):
    """w = √det(J Jᵀ) of the tool's velocity, and ∂w/∂q. `robot` and `q` are symbols."""
    J = robot.jacobian(q, "tool")[:3, :]
    w = casadi.sqrt(casadi.det(J @ J.T))
    return {"measure": w, "gradient": casadi.gradient(w, q)}


kernel = eq.compile(manipulability, robot)  # machine code, cached
q = np.full(robot.nq, 0.3)
path = []
for _ in range(150):
    w, gradient = kernel(q)
    path.append(float(w))
    q = q + 0.05 * gradient
print(f"manipulability {path[0]:.4f} at the start, {path[-1]:.4f} at q = {np.round(q, 2)}")

step = 1e-6 * np.eye(robot.nq)
measures, _ = kernel(np.concatenate([q + step, q - step]))  # a batch of 14 states
differences = (measures[:7] - measures[7:]).ravel() / 2e-6
print("the gradient agrees with finite differences:", np.allclose(kernel(q)[1], differences, atol=1e-6))

figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
axes.plot(path)
axes.set(xlabel="step of the ascent", ylabel="manipulability of the tool")
