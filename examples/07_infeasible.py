"""Asked for too much: a controller names the constraints that conflict, gives the nearest answer, and stands on."""

import numpy as np

import equipoise as eq

robot = eq.load("quadruped")
feet = [name for name in robot.frames if name.endswith("_foot")]
controller = eq.WholeBodyController(
    robot,
    tasks=[eq.CoMTask(hard=True), eq.FrameTask("trunk", axes="orientation"), eq.PostureTask(weight=0.1)],
    contacts=[eq.PointContact(foot, friction=0.6) for foot in feet],
    constraints=[eq.TorqueLimits(), eq.JointLimits()],
)
q, v = robot.standing(), np.zeros(robot.nv)
com = robot.com(q)
print("standing:", controller(0.0, q, v).status.name)

controller.set_target("centre of mass", com + np.array([2.0, 0.0, 0.0]))  # m: far beyond the feet
solution = controller(0.0, q, v)
print("two metres ahead:", solution.status.name)
print(*solution.explain().splitlines()[1:3], sep="\n")
assert np.isfinite(solution.torque).all() and not solution.status.ok


def eight(t):
    return com + np.array([0.05 * np.sin(3.0 * t), 0.03 * np.sin(6.0 * t), 0.0])


controller.set_target("centre of mass", eight)
run = eq.simulate(robot, controller, duration=2.1, q0=q)
print("a figure of eight within its feet:", run)
