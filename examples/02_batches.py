"""A batch of 40,000 states in one call: which postures of an arm can hold a load of 15 kg."""

import matplotlib.pyplot as plt
import numpy as np

import equipoise as eq

robot = eq.load("arm7")
angles = np.linspace(-np.pi, np.pi, 200)
shoulder, elbow = np.meshgrid(angles, angles, indexing="ij")
q = np.zeros((200, 200, robot.nq))  # leading dimensions are batches
q[..., 1], q[..., 3] = shoulder, elbow

weight = np.array([0.0, 0.0, -15.0 * 9.80665])  # N, on the tool
J = robot.jacobian(q, "tool")[..., :3, :]
torque = robot.gravity(q) - np.einsum("...ij,i->...j", J, weight)  # that holds arm and load
share = np.abs(torque / robot.limits.effort).max(axis=-1)  # of the most loaded motor
print(f"{q.shape[:-1]} postures, Jacobians of shape {J.shape}")
print(f"{np.mean(share <= 1):.1%} of them hold the load; the worst needs {share.max():.2f} of a motor's torque")
assert np.allclose(torque[20, 30], robot.gravity(q[20, 30]) - robot.jacobian(q[20, 30], "tool")[:3].T @ weight)

figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
drawn = axes.pcolormesh(angles, angles, share.T, cmap="viridis")
axes.contour(angles, angles, share.T, [1.0], colors="white")
axes.set(xlabel="shoulder, rad", ylabel="elbow, rad", title="torque / limit with 15 kg; white: 1")
figure.colorbar(drawn)
