"""Whole-body control around an obstacle: an arm's hand goes to its goal and never touches the ball in its way."""

import numpy as np

import equipoise as eq

arm = eq.load("arm7")
q0 = np.array([0.8, 0.9, 0.0, 1.3, 0.0, 0.6, 0.0])
start = arm.pose(q0, "tool")[:3, 3]
goal = start * [1.0, -1.0, 1.0]  # m, the mirror image
ball = eq.Sphere((start + goal) / 2 + [0.02, 0.0, 0.03], 0.10)  # centre and radius, m
hand = eq.Sphere((0.0, 0.0, 0.0), 0.05, "tool")  # moves with the frame "tool"
controller = eq.WholeBodyController(
    arm,
    tasks=[eq.FrameTask("tool", goal, gain=4.0, axes="position"), eq.PostureTask(weight=1e-3)],
    constraints=[eq.TorqueLimits(), eq.JointLimits(), eq.KeepOut(hand, ball)],
)
run = eq.simulate(arm, controller, plant="ideal", duration=4.0, q0=q0, shown=[ball])

tool = arm.pose(run.q, "tool")[:, :3, 3]
clearance = np.linalg.norm(tool - ball.centre, axis=-1) - 0.10 - 0.05
print(run)
off = 1e3 * np.linalg.norm(tool[-1] - goal)
print(f"hand from y = {start[1]:.2f} m to y = {tool[-1, 1]:.2f} m, {off:.0f} mm from its goal")
print(f"smallest distance from the ball: {1e3 * clearance.min():.1f} mm, though it is in the way")
eq.report(run, "obstacle.html")  # one file: the motion in 3D and all curves
