"""Multi-contact: a human leans on a table with one hand to reach past its feet with the other."""

import numpy as np

import equipoise as eq

body = eq.Body.of(eq.load("human"))
table = eq.Box(size=(0.5, 1.2, 0.04), position=(0.62, 0.0, 0.83))  # m
on_table = np.eye(4)  # a palm that faces down
on_table[:3, 3] = 0.48, 0.2, 0.85
feet, three, goal = ["left foot", "right foot"], ["left foot", "right foot", "left hand"], [0.80, -0.15, 1.05]
stances = [  # whoever carries, and where the others go; postures and forces between them are found
    eq.Stance(feet, name="standing"),
    eq.Stance(feet, targets={"left hand": [0.40, 0.24, 1.05]}, name="hand above the table", hold=0.0),
    eq.Stance(three, places={"left hand": on_table}, name="hand on the table", hold=0.0),
    eq.Stance(three, targets={"right hand": goal}, name="reaching", hold=0.5),
]
machine = eq.Stances(body.robot, stances, body, speed=(0.4, 0.6, 2.0))
run = eq.simulate(body.robot, machine, duration=machine.seconds - 1.0, q0=machine.q0, obstacles=[table])

hand = body.robot.pose(run.q[-1], body.frames["right hand"])[:3, 3]
sole = np.max(body.feet["left foot"].corners, axis=0)[0]
toes = sole + body.robot.pose(run.q[-1], body.frames["left foot"])[0, 3]
print(run, "ends in:", machine.stance)
print(f"right hand {1e3 * np.linalg.norm(hand - goal):.0f} mm from its goal, {hand[0] - toes:.2f} m past the toes")
print(f"the left hand carries {run.measured['left hand'][-1, 2] / (9.80665 * body.robot.mass):.0%} of the weight")
