"""Whole-body control: a quadruped sways, lifts a foot, is asked for too much, and says why it cannot."""

import numpy as np

import equipoise as eq

robot, dt = eq.load("quadruped"), 2e-3
q, v = robot.standing(), np.zeros(robot.nv)
feet = [name for name in robot.frames if name.endswith("_foot")]
com = robot.com(q)

controller = eq.WholeBodyController(
    robot,
    tasks=[eq.CoMTask(weight=10.0), eq.FrameTask("trunk", axes="orientation"), eq.PostureTask()],
    contacts=[eq.PointContact(foot, friction=0.6) for foot in feet],
    constraints=[eq.TorqueLimits(), eq.JointLimits(acceleration=200.0)],
    dt=dt,
)


def run(seconds, start=0.0):
    """The controller in a world where its accelerations come true."""
    global q, v
    for k in range(round(seconds / dt)):
        solution = controller(start + k * dt, q, v)
        q = robot.integrate(q, v + solution.acceleration * dt / 2, dt)
        v = v + solution.acceleration * dt
    return solution


# Stand and sway: a target is a function of time.
controller.set_target("centre of mass", lambda t: com + np.array([0.02 * np.sin(4 * t), 0.0, 0.0]))
print("swaying:  ", run(1.0).explain().replace("\n", " "))

# Over three feet, then lift the fourth.
support = np.mean([robot.pose(q, foot)[:3, 3] for foot in feet[:3]], axis=0)
controller.set_target("centre of mass", [support[0], support[1], com[2]])
run(1.0)
controller.set_contacts(feet[:3])
lifted = run(0.2)
print("three feet:", {name: np.round(wrench[:3], 1) for name, wrench in lifted.forces.items()})

# Far beyond the feet: friction and torques set the limit, and the solution names them.
controller.set_target("centre of mass", com + np.array([2.0, 0.0, 0.5]))
print("too much: ", controller(0.0, q, v).explain().replace("\n", " "))

# A start that is none: the joints are held, and nothing raises.
print("no state: ", controller(0.0, q * np.nan, v).explain().replace("\n", " "))
print(controller.counts)
assert lifted.status.ok and set(lifted.forces) == set(feet[:3])
