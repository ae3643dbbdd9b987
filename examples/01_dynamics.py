"""A robot that falls freely: its energy and momentum show that the equations are right."""

import numpy as np

import equipoise as eq

robot = eq.load("human")
rng = np.random.default_rng(1)
q, v = robot.random_state(rng)
dt, steps = 1e-4, 2000


def energy(q, v):
    return robot.kinetic_energy(q, v) + robot.potential_energy(q)


before, momentum = energy(q, v), robot.momentum(q, v)
for _ in range(steps):  # midpoint rule on the manifold
    a = robot.forward_dynamics(q, v, np.zeros(robot.nv))
    q_half, v_half = robot.integrate(q, v, dt / 2), v + dt / 2 * a
    a_half = robot.forward_dynamics(q_half, v_half, np.zeros(robot.nv))
    q, v = robot.integrate(q, v_half, dt), v + dt * a_half

after = energy(q, v)
print(f"energy {before:.3f} J, after {steps * dt:.1f} s {after:.3f} J")
print("angular momentum", momentum[3:], "→", robot.momentum(q, v)[3:])
assert abs(after - before) < 1e-3 * robot.kinetic_energy(q, v)
assert np.allclose(momentum[3:], robot.momentum(q, v)[3:], rtol=1e-3, atol=1e-3)
