"""Mass, size and inertia of the segments of the human body.

The figures are those for men in P. de Leva, "Adjustments to Zatsiorsky-Seluyanov's segment inertia parameters", Journal
of Biomechanics 29(9), 1996, pp. 1223–1230, Table 4: one hundred young men, on average 1.741 m tall and of 73.0 kg,
measured by gamma rays. Where the table has several pairs of end points we take those at the joints of our tree:
vertex–cervicale for the head, cervicale–xiphion for the upper trunk, wrist–fingertip for the hand, knee–ankle centres
for the shank.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..types import Array


@dataclass(frozen=True)
class BodySegment:
    """One row of the table, for the average man."""

    mass: float  # % of the body's mass
    length: float  # mm, between the end points
    com: float  # % of the length, from the first end point
    sagittal: float  # radius of gyration about the axis from back to front, % of the length
    transverse: float  # about the axis from right to left
    longitudinal: float  # about the axis through the end points


SEGMENTS = {
    "head": BodySegment(6.94, 242.9, 50.02, 30.3, 31.5, 26.1),  # vertex to cervicale (7th cervical vertebra)
    "upper_trunk": BodySegment(15.96, 242.1, 50.66, 50.5, 32.0, 46.5),  # cervicale to xiphion (end of the breastbone)
    "middle_trunk": BodySegment(16.33, 215.5, 45.02, 48.2, 38.3, 46.8),  # xiphion to omphalion (navel)
    "lower_trunk": BodySegment(11.17, 145.7, 61.15, 61.5, 55.1, 58.7),  # omphalion to the middle of the hips
    "upper_arm": BodySegment(2.71, 281.7, 57.72, 28.5, 26.9, 15.8),  # shoulder to elbow
    "forearm": BodySegment(1.62, 268.9, 45.74, 27.6, 26.5, 12.1),  # elbow to wrist
    "hand": BodySegment(0.61, 187.9, 36.24, 28.8, 23.5, 18.4),  # wrist to the tip of the 3rd finger
    "thigh": BodySegment(14.16, 422.2, 40.95, 32.9, 32.9, 14.9),  # hip to knee
    "shank": BodySegment(4.33, 440.3, 43.95, 25.1, 24.6, 10.2),  # knee to ankle
    "foot": BodySegment(1.37, 258.1, 44.15, 25.7, 24.5, 12.4),  # heel to the tip of the toes
}
PAIRED = ("upper_arm", "forearm", "hand", "thigh", "shank", "foot")
MID_SHOULDER_ABOVE_HIP = 515.5  # mm, same table
STATURE = 1741.0  # mm
# From Drillis and Contini (1966), as in Winter, "Biomechanics and Motor Control of Human Movement", Fig. 4.1.
ANKLE_HEIGHT = 0.039  # of stature
FOOT_BREADTH = 0.055
# De Leva gives no distances from side to side. These are ours, for a grown man.
HIP_SPACING = 0.10
SHOULDER_SPACING = 0.22
HEEL_TO_ANKLE = 0.25  # of the foot's length


@dataclass(frozen=True, eq=False)
class Measured:
    """A segment of one person."""

    mass: float  # kg
    length: float  # m
    com: float  # m, from the first end point
    moments: Array  # (3,) kg m² about the centre of mass: sagittal, transverse, longitudinal axis


@dataclass(frozen=True)
class Person:
    """The segments of a person of given height (m) and mass (kg).

    Laid end to end, the segments and the height of the ankle are 2 % longer than the stature, because their end points
    are not on one vertical line. We do put them on one line, so one factor shrinks all lengths until the head is at
    `height`.
    """

    height: float
    mass: float

    @property
    def scale(self) -> float:
        """Metres of this person per millimetre of the table."""
        upright = ("head", "upper_trunk", "middle_trunk", "lower_trunk", "thigh", "shank")
        return self.height / (sum(SEGMENTS[name].length for name in upright) + ANKLE_HEIGHT * STATURE)

    @property
    def ankle_height(self) -> float:
        return ANKLE_HEIGHT * STATURE * self.scale

    @property
    def shoulder_above_hip(self) -> float:
        return MID_SHOULDER_ABOVE_HIP * self.scale

    def segment(self, name: str) -> Measured:
        row = SEGMENTS[name]
        mass, length = self.mass * row.mass / 100, row.length * self.scale
        radii = length * np.array([row.sagittal, row.transverse, row.longitudinal]) / 100
        return Measured(mass, length, length * row.com / 100, mass * radii**2)
