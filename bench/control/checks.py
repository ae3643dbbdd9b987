"""Whether a solution of a torque problem is one, seen from our robot, and which limits it touches."""

from __future__ import annotations

from typing import Any

import numpy as np

from .scene import BenchScene

Array = np.ndarray
TOUCHES = 1e-6  # distance to a bound, relative to the bound, below which it counts as active


def sole_wrenches(scene: BenchScene, k: int, solution: dict[str, Any]) -> dict[str, Array]:
    """Wrench on every sole in world axes, from corner forces in the sole's axes where a side has those."""
    if "wrenches" in solution:
        return {name: np.array(F) for name, F in solution["wrenches"].items()}
    wrenches = {}
    for name, corners in solution["corners"].items():
        R = scene.robot.pose(scene.q[k], name)[:3, :3]
        f, p = np.array(corners) @ R.T, np.array(scene.problem.corners) @ R.T
        wrenches[name] = np.concatenate([f.sum(axis=0), np.cross(p, f).sum(axis=0)])
    return wrenches


def dynamics_residual(scene: BenchScene, k: int, solution: dict[str, Any]) -> float:
    """max |M a + h − Jᵀ f − Sᵀ tau| at state k, N and N m."""
    a, tau = np.array(solution["acceleration"]), np.array(solution["torque"])
    force = scene.robot.inverse_dynamics(scene.q[k], scene.v[k], a, sole_wrenches(scene, k, solution))
    return float(np.abs(force - np.concatenate([np.zeros(6), tau])).max())


def active(scene: BenchScene, k: int, solution: dict[str, Any]) -> dict[str, int]:
    """How many rows of each kind are at their bound."""
    tau, a = np.array(solution["torque"]), np.array(solution["acceleration"])[6:]
    v, s, dt = scene.v[k][6:], scene.q[k][7:], scene.problem.dt
    velocity = np.abs(v + dt * a) >= scene.velocity * (1 - TOUCHES)
    counts = {"torque": int((np.abs(tau) >= scene.effort * (1 - TOUCHES)).sum()), "velocity": int(velocity.sum())}
    if scene.problem.position_limits:
        then = s + dt * v + 0.5 * dt**2 * a
        counts["position"] = int(((then <= scene.lower + TOUCHES) | (then >= scene.upper - TOUCHES)).sum())
    counts["force"] = _active_forces(scene, k, solution)
    return counts


def _active_forces(scene: BenchScene, k: int, solution: dict[str, Any]) -> int:
    """Faces of friction pyramids, at most three at an unloaded corner; or bounds of wrenches where there are no
    corners."""
    mu, count = scene.problem.friction, 0
    if "corners" in solution:
        for corners in solution["corners"].values():
            for t1, t2, n in np.array(corners):
                faces = [mu * n - side <= TOUCHES * max(1.0, n) for side in (t1, -t1, t2, -t2)]
                count += min(3, int(np.sum(faces)))
        return count
    x, y = scene.problem.sole[1]
    for name, F in sole_wrenches(scene, k, solution).items():
        R = scene.robot.pose(scene.q[k], name)[:3, :3]
        f, m = R.T @ F[:3], R.T @ F[3:]
        bounds = np.abs([f[0], f[1], m[0], m[1]]) - f[2] * np.array([mu, mu, y, x])
        count += int((bounds >= -TOUCHES * max(1.0, f[2])).sum())
    return count
