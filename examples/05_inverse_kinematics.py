"""Inverse kinematics with priorities: a human reaches for something too far away, and its feet stay where they are."""

import numpy as np

import equipoise as eq

body = eq.Body.of(eq.load("human"))
robot, q0 = body.robot, body.standing
soles = {foot: robot.pose(q0, body.frames[foot]) for foot in ("left foot", "right foot")}
com = [*robot.com(q0)[:2], np.nan]  # m; NaN leaves a coordinate free

near = eq.solve_ik(robot, {**soles, "com": com, "right hand": [0.45, -0.2, 0.7]}, q0)
print(
    "within reach:", near.converged, "with the hand at", robot.pose(near.q, body.frames["right hand"])[:3, 3].round(3)
)

far = {**soles, "com": com, "right hand": [1.2, -0.2, 0.7]}
tried = eq.solve_ik(robot, far, q0, priorities={"right hand": 1}, attempts=1)  # after feet and balance, which have 0
print(tried.reason)
for name, residual in tried.residuals.items():
    print(f"{name:>11}: off by {np.abs(residual).max():.2f}")

posed = robot, tried.q
