"""The equations of a quadruped with its trunk as base, with a foot as base, and in centroidal form."""

import matplotlib.pyplot as plt
import numpy as np

import equipoise as eq

robot = eq.load("quadruped")
q, v = robot.random_state(np.random.default_rng(0))

trunk = robot.equations_of_motion(q, v)  # M, C, g of M a + C v + g = tau
foot = trunk.in_base("front_left_foot")
centroidal = trunk.centroidal()
for name, form in {"trunk": trunk, "foot": foot, "centroidal": centroidal}.items():
    print(
        f"{name:>10}: kinetic energy {form.kinetic_energy:.6f} J, coupling |M_bs| = {np.abs(form.M[:6, 6:]).max():.4f}"
    )
print(
    "momentum = locked inertia · average velocity:",
    np.allclose(centroidal.M[:6, :6] @ centroidal.v[:6], robot.momentum(q, v)),
)

tau = np.random.default_rng(1).normal(size=robot.nv)  # a torque in the base of the trunk ...
a = foot.acceleration(foot.force_from(trunk, tau))  # ... moves the robot alike in the base of the foot
print("same acceleration in both bases:", np.allclose(a, foot.acceleration_from(trunk, trunk.acceleration(tau))))

figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
for ax, (name, form) in zip(
    axes, {"trunk": trunk, "front left foot": foot, "centroidal": centroidal}.items(), strict=True
):
    ax.imshow(np.log10(np.abs(form.M) + 1e-6), cmap="Blues")
    ax.set(title=f"|M|, base: {name}", xticks=[], yticks=[])
