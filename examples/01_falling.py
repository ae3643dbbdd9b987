"""A human falls without torques: energy is conserved, and the joints do not change the motion of its centre of mass."""

from types import SimpleNamespace

import numpy as np

import equipoise as eq

robot = eq.load("human")
rng = np.random.default_rng(1)
q0 = robot.standing()
q0[2] += 4.0  # m above the ground
v0 = np.concatenate([[0.5, 0.0, 3.0, 1.0, 2.0, 0.5], rng.normal(size=robot.nv - 6)])  # thrown up, limbs at random


def limp(t, q, v):
    return SimpleNamespace(torque=np.zeros(robot.nv))


run = eq.simulate(robot, limp, plant="ideal", duration=0.6, q0=q0, v0=v0, fall=None)

energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)  # all samples in one call
momentum = robot.momentum(run.q, run.v)  # about the centre of mass
flight = run.com[0] + np.outer(run.t, momentum[0, :3] / robot.mass)
flight[:, 2] -= 9.80665 / 2 * run.t**2
print(f"energy {energy[0]:.1f} J, changes by less than {1e-6:.0e} of it:", np.ptp(energy) < 1e-6 * energy[0])
print("angular momentum is constant:", np.allclose(momentum[:, 3:], momentum[0, 3:], atol=1e-6))
print("the centre of mass flies along a parabola:", np.allclose(run.com, flight, atol=1e-6))
eq.report(run, "falling.html")  # one file that opens in a browser: the motion in 3D and all curves
