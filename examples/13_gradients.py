"""Gradients through a simulation in JAX: torques that throw the tip of a two-link pendulum to its goal."""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import equipoise as eq

jax.config.update("jax_enable_x64", True)
robot = eq.load("two_link_pendulum")
moving = eq.autograd.jax(robot)  # the robot's methods for JAX: under jit, grad and vmap
dt, steps = 0.02, 50
tip, goal = list(robot.frames)[-1], jnp.array([1.2, 1.2])  # m, in the plane


def simulated(torques):
    """Positions of the tip, from rest, for torques (steps, 2)."""

    def step(state, tau):
        q, v = state
        v = v + dt * moving.forward_dynamics(q, v, tau)
        q = q + dt * v
        return (q, v), moving.pose(q, tip)[jnp.array([0, 2]), 3]

    return jax.lax.scan(step, (jnp.zeros(2), jnp.zeros(2)), torques)[1]


def cost(torques):
    return jnp.sum((simulated(torques)[-1] - goal) ** 2) + 1e-4 * dt * jnp.sum(torques**2)


gradient = jax.jit(jax.value_and_grad(cost))
torques = jnp.zeros((steps, 2))
before = simulated(torques)
for _ in range(40):
    _, slope = gradient(torques)
    torques = torques - 20.0 * slope
after = simulated(torques)
print(f"tip {jnp.linalg.norm(before[-1] - goal):.2f} m from its goal without torques", end=", ")
print(f"{jnp.linalg.norm(after[-1] - goal):.2f} m with torques of up to {jnp.abs(torques).max():.0f} N m")

figure, axes = plt.subplots(figsize=(4, 4), layout="constrained")
axes.plot(*before.T, ".-", label="no torques")
axes.plot(*after.T, ".-", label="after 40 steps of descent")
axes.plot(*goal, "k*", ms=12)
axes.set(xlabel="x, m", ylabel="z, m", aspect="equal")
axes.legend()
