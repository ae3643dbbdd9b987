"""A human stands, sways and squats on estimates alone: an IMU, encoders and felt soles say where it is."""

import matplotlib.pyplot as plt
import numpy as np

import equipoise as eq

standing = eq.Standing(eq.load("human"))
standing.squat(0.1, at=0.3).sway(0.03, at=1.5)
robot = standing.robot
sensors = eq.Sensors.realistic(forces=True)  # noise, biases, delays as in data sheets
estimator = eq.Estimator(robot, imu="pelvis", contacts=standing.contacts, noise=sensors.filter_noise())
run = eq.simulate(robot, standing, duration=3.0, estimator=estimator, sensors=sensors)

truth, estimate = run.q[:, :3], run.estimates["q"][:, :3]
off = np.linalg.norm(estimate - truth, axis=1)
print(run)
print(f"the base moved {np.ptp(truth, axis=0).max():.2f} m; the estimate is within {1e3 * off.max():.0f} mm")

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for k, name in enumerate("xyz"):
    axes.plot(run.t, truth[:, k] - truth[0, k], "k", lw=2, alpha=0.3, label="truth" if k == 0 else None)
    axes.plot(run.t, estimate[:, k] - truth[0, k], lw=1, label=f"estimate, {name}")
axes.set(xlabel="t, s", ylabel="base, m")
axes.legend(ncols=4, frameon=False)
