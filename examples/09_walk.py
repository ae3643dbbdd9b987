"""A human walks on command, is pushed, goes on, and leaves a report."""

import numpy as np

import equipoise as eq

walker = eq.Walking(eq.load("human"))
walker.command(0.4, at=0.3)  # m/s forward, from 0.3 s on
walker.command(0.0, at=2.8)
push = eq.Push(walker.body.frames["torso"], force=(0.0, 150.0, 0.0), start=1.6, duration=0.1)
run = eq.simulate(walker.robot, walker, duration=4.5, pushes=[push])

speed = np.diff(run.com[:, 0]) / np.diff(run.t)
print(run)
print(f"it went {run.com[-1, 0] - run.com[0, 0]:.1f} m and stands again: {abs(speed[-500:].mean()) < 0.05}")
eq.report(run, "walk.html")  # opens in a browser, from disk
