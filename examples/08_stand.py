"""Your own URDF stands: python 08_stand.py mine.urdf. Without a file, the built-in quadruped does."""

import sys

import equipoise as eq

robot = eq.load(sys.argv[1] if len(sys.argv) > 1 else "quadruped")
body = eq.Body.of(robot)  # finds feet, hands, front and a posture, each with its reason
print(body)
for role, part in body.parts.items():
    print(f"{role:>16} = link {part.link!r}, contact: {part.contact}")
for doubt in body.doubts:
    print("please check:", doubt.what, doubt.value, doubt.reason)  # correct it in body.save("mine.toml")

standing = eq.Standing(robot)
height = body.robot.com(body.standing)[2]
standing.squat(0.1 * height, at=0.3)  # m down, at s
push = eq.Push(body.frames["torso"], force=(0.0, 0.1 * robot.mass * 9.80665, 0.0), start=1.5, duration=0.1)
run = eq.simulate(standing.robot, standing, duration=2.5, pushes=[push])
print(run)
print(f"its centre of mass goes down by {run.com[0, 2] - run.com[:, 2].min():.2f} m and it stands at the end")
eq.report(run, "stand.html")  # one file: the motion in 3D and all curves
