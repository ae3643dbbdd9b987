"""Draws the picture of the README: built-in robots in their standing postures, with their centres of mass."""

from pathlib import Path

import numpy as np

import equipoise as eq
from equipoise.show.picture import draw, svg

human, quadruped, arm = eq.load("human"), eq.load("quadruped"), eq.load("arm7")
reaching = human.standing()
for name, angle in {"left_shoulder_pitch": -1.4, "right_shoulder_pitch": 0.5, "lumbar_pitch": 0.2}.items():
    reaching[human.joints[name].q] += angle
q_arm = arm.neutral() + np.array([0.3, 0.6, 0.2, -1.2, 0.1, 0.9, 0.0])
groups = [
    (130, draw(human, human.standing(), azimuth=0.5)),
    (340, draw(human, reaching, azimuth=-0.9)),
    (580, draw(quadruped, quadruped.standing(), azimuth=0.9)),
    (800, draw(arm, q_arm, azimuth=0.9)),
]
folder = Path(__file__).parent
(folder / "robots.svg").write_text(svg(groups, 920, 470), encoding="utf-8")
print("docs/robots.svg")
