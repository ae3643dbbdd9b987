"""How the human is drawn: capsules and balls of his own dimensions that meet at the joints, so that he looks like one
body.

All numbers are fractions of his height or of the segment's length; they draw, and nothing else: collisions and soles
have simpler shapes, masses and inertias come from tables.
"""

from __future__ import annotations

import numpy as np

from ..shapes import Color, Vector, capsule_between, sphere
from ..types import Shape
from .anthropometry import HEEL_TO_ANKLE, HIP_SPACING, SHOULDER_SPACING, Person

SUIT: Color = (0.40, 0.49, 0.62, 1.0)
SKIN: Color = (0.86, 0.71, 0.60, 1.0)
SHOES: Color = (0.19, 0.21, 0.25, 1.0)
STEPS = 7  # of a limb that tapers
FINGERS = (-0.0165, -0.0055, 0.0055, 0.0165)  # of height, from the middle of the hand


class HumanLook:
    """Shapes to draw for the links of one person, each in the axes of its link."""

    def __init__(self, person: Person) -> None:
        self.height, self.person = person.height, person

    def of(self, link: str) -> list[Shape]:
        """Shapes of a link by its name, such as "pelvis" or "left_hand"."""
        part = link.removeprefix("left_").removeprefix("right_")
        if part == "hand":
            return self._hand(1.0 if link.startswith("left_") else -1.0)
        makers = {
            "pelvis": self._pelvis, "abdomen": self._abdomen, "thorax": self._thorax, "head": self._head,
            "upper_arm": self._upper_arm, "forearm": self._forearm, "thigh": self._thigh, "shank": self._shank,
            "foot": self._foot,
        }  # fmt: skip
        return makers[part]()

    def _length(self, segment: str) -> float:
        """Of a segment, as a fraction of height."""
        return self.person.segment(segment).length / self.height

    def _rod(self, a: Vector, b: Vector, radius: float, color: Color) -> Shape:
        h = self.height
        return capsule_between([h * x for x in a], [h * x for x in b], h * radius, color=color)

    def _ball(self, at: Vector, radius: float, color: Color) -> Shape:
        return sphere(self.height * radius, [self.height * x for x in at], color=color)

    def _taper(self, a: Vector, b: Vector, radii: tuple[float, float], color: Color) -> list[Shape]:
        """Rods from a to b, each a little thinner than the one before."""
        start, way = np.array(a), np.array(b) - np.array(a)
        parts = []
        for k in range(STEPS):
            radius = float(np.interp(k + 0.5, (0, STEPS), radii))
            parts.append(self._rod(start + k / STEPS * way, start + (k + 1) / STEPS * way, radius, color))
        return parts

    def _trunk(self, *rows: tuple[float, float, float, float]) -> list[Shape]:
        """Rods from right to left, one above the other: (x, half of the length, z, radius) given at some heights."""
        given = np.array(rows)
        heights = np.linspace(given[0, 2], given[-1, 2], STEPS)
        x, half, radius = (np.interp(heights, given[:, 2], given[:, column]) for column in (0, 1, 3))
        across = zip(x.tolist(), half.tolist(), heights.tolist(), radius.tolist(), strict=True)
        return [self._rod((a, -b, z), (a, b, z), r, SUIT) for a, b, z, r in across]

    def _pelvis(self) -> list[Shape]:
        waist, hip = self._length("lower_trunk"), HIP_SPACING / 2
        seat = [self._ball((-0.014, side * 0.8 * hip, -0.004), 0.047, SUIT) for side in (-1, 1)]
        return [*self._trunk((0.0, hip, 0.008, 0.049), (0.0, 0.034, waist, 0.050)), *seat]

    def _abdomen(self) -> list[Shape]:
        top = self._length("middle_trunk")
        return self._trunk((0.0, 0.034, 0.0, 0.050), (0.004, 0.034, top, 0.053))

    def _thorax(self) -> list[Shape]:
        top, shoulder = self._length("upper_trunk"), SHOULDER_SPACING / 2
        below = self._length("lower_trunk") + self._length("middle_trunk")
        z = self.person.shoulder_above_hip / self.height - below
        chest = self._trunk(
            (0.004, 0.034, 0.0, 0.053), (0.007, 0.042, 0.4 * top, 0.055), (0.0, 0.72 * shoulder, z - 0.004, 0.036)
        )
        return [*chest, self._rod((-0.004, 0.0, z), (0.0, 0.0, top + 0.012), 0.030, SUIT)]

    def _head(self) -> list[Shape]:
        top = self._length("head")
        return [
            self._rod((0.0, 0.0, 0.0), (0.008, 0.0, 0.5 * top), 0.028, SKIN),
            self._rod((-0.006, 0.0, top - 0.046), (0.016, 0.0, top - 0.046), 0.045, SKIN),
            self._rod((0.014, 0.0, top - 0.094), (0.024, 0.0, top - 0.088), 0.028, SKIN),
            self._rod((0.054, 0.0, top - 0.060), (0.058, 0.0, top - 0.072), 0.007, SKIN),
        ]

    def _upper_arm(self) -> list[Shape]:
        end = self._length("upper_arm")
        limb = self._taper((0.0, 0.0, -0.1 * end), (0.0, 0.0, -end), (0.0275, 0.0212), SUIT)
        return [self._ball((0.0, 0.0, 0.0), 0.031, SUIT), *limb]

    def _forearm(self) -> list[Shape]:
        end = self._length("forearm")
        upper = self._taper((0.0, 0.0, 0.0), (0.001, 0.0, -0.35 * end), (0.0212, 0.0215), SUIT)
        return [*upper, *self._taper((0.001, 0.0, -0.35 * end), (0.0, 0.0, -0.97 * end), (0.0212, 0.0152), SUIT)]

    def _hand(self, left: float) -> list[Shape]:
        """Palm down on z = 0, fingers along x; the thumb is on the right of a left hand that lies so."""
        length = self._length("hand")
        palm = [
            self._rod((-0.45 * length, y, 0.0085), (0.02 * length, 1.2 * y, 0.0085), 0.0085, SKIN)
            for y in (-0.012, 0, 0.012)
        ]
        tips = (0.42, 0.48, 0.475, 0.40)[:: 1 if left < 0 else -1]
        fingers = [
            self._rod((0.02 * length, y, 0.0075), (tip * length, 1.05 * y, 0.0065), 0.0055, SKIN)
            for y, tip in zip(FINGERS, tips, strict=True)
        ]
        thumb = self._rod((-0.32 * length, -left * 0.014, 0.008), (0.02 * length, -left * 0.034, 0.007), 0.0065, SKIN)
        return [*palm, *fingers, thumb]

    def _thigh(self) -> list[Shape]:
        end = self._length("thigh")
        limb = self._taper((0.002, 0.0, -0.05 * end), (0.0, 0.0, -end), (0.0475, 0.0325), SUIT)
        return [self._ball((0.0, 0.0, -0.004), 0.048, SUIT), *limb]

    def _shank(self) -> list[Shape]:
        end = self._length("shank")
        calf = self._taper((0.0, 0.0, 0.0), (-0.005, 0.0, -0.3 * end), (0.0325, 0.0322), SUIT)
        return [*calf, *self._taper((-0.005, 0.0, -0.3 * end), (0.0, 0.0, -0.97 * end), (0.0318, 0.0208), SUIT)]

    def _foot(self) -> list[Shape]:
        """Sole down on z = 0, toes along x."""
        length, ankle = self._length("foot"), self.person.ankle_height / self.height
        heel, toe = -0.5 * length, 0.5 * length
        at = heel + HEEL_TO_ANKLE * length
        ball = [
            self._rod((0.1 * length, y, 0.0155), (0.22 * length, y, 0.0145), 0.0145, SHOES) for y in (-0.013, 0.013)
        ]
        toes = [
            self._rod((0.25 * length, y, 0.0115), (toe - 0.012, 0.8 * y, 0.0115), 0.0115, SHOES)
            for y in (-0.014, 0.014)
        ]
        return [
            self._ball((at, 0.0, ankle), 0.0225, SHOES),
            self._rod((heel + 0.022, 0.0, 0.0205), (0.0, 0.0, 0.019), 0.0190, SHOES),
            self._rod((at + 0.01, 0.0, 0.034), (0.12 * length, 0.0, 0.020), 0.0185, SHOES),
            *ball,
            *toes,
        ]
