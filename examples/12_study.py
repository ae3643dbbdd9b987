"""A study of 100 runs: from which starts does a cart with a weak motor catch its falling pendulum?"""

import functools
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import solve_continuous_are

import equipoise as eq
from equipoise.study import Draws, Uniform

FORCE = 15.0  # N, force limit of the motor
UPRIGHT = np.array([0.0, np.pi])


@functools.cache
def robot_and_gain():
    """The robot, and its linear-quadratic regulator about the upright pendulum."""
    robot, rest = eq.load("cart_pendulum"), np.zeros(2)
    d = robot.forward_dynamics_derivatives(UPRIGHT, rest, rest)
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [d.a_q, d.a_v]])
    B = np.vstack([np.zeros((2, 1)), d.a_tau[:, :1]])
    return robot, B.T @ solve_continuous_are(A, B, np.eye(4), np.eye(1))


def catch(angle, rate):
    """One run; a study calls it with every set of parameters."""
    robot, gain = robot_and_gain()

    def regulator(t, q, v):
        force = -gain @ np.concatenate([q - UPRIGHT, v])
        return SimpleNamespace(torque=np.array([np.clip(force[0], -FORCE, FORCE), 0.0]))

    q0, v0 = UPRIGHT + np.array([0.0, angle]), np.array([0.0, rate])
    run = eq.simulate(robot, regulator, plant="hard", duration=2.0, dt=1e-2, q0=q0, v0=v0)
    return {"caught": bool(abs(run.q[-1, 1] - np.pi) < 0.2), "travel": float(np.ptp(run.q[:, 0]))}


draws = Draws(100, seed=1, angle=Uniform(-1.2, 1.2), rate=Uniform(-4.0, 4.0))  # rad, rad/s
table = eq.study(catch, draws, workers=1, progress=False)
caught = table["caught"].astype(bool)
print(f"{len(table)} runs, {caught.sum()} caught, {table.failed.sum()} raised an error")
print(f"the cart needs up to {table['travel'][caught].max():.1f} m")

figure, axes = plt.subplots(figsize=(5, 3.5), layout="constrained")
for which, style, label in ((caught, "o", "caught"), (~caught, "x", "fell")):
    axes.plot(table["angle"][which], table["rate"][which], style, label=label)
axes.set(xlabel="angle from upright, rad", ylabel="rate, rad/s")
axes.legend()
