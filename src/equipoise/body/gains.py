"""Gains and weights of a body: one setting for a robot of 2 kg and one of 200 kg.

Everything follows from the body's own scales: the rate ω = √(g / h) at which it tips over (h its standing height), its
length h and its mass m. Gains are multiples of ω. Weights compare unlike accelerations: radians with metres by h, forces
with accelerations by m.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BodyGains:
    """Gains in 1/s, critically damped; weights beside the one of the centre of mass, which is 1 per (m/s²)².

    Attributes:
        rate: ω, 1/s, with which the standing body tips over.
        length: m, that makes radians comparable with metres.
        com, torso, hand, posture: gains.
        torso_weight, hand_weight, posture_weight: per (rad/s²)², (m/s²)², (rad/s²)².
        force_weight: of contact forces, per N².
    """

    rate: float
    length: float
    com: float
    torso: float
    hand: float
    posture: float
    torso_weight: float
    hand_weight: float
    posture_weight: float
    force_weight: float

    @classmethod
    def of(cls, mass: float, height: float, gravity: float = 9.80665) -> BodyGains:
        """Of a body of some mass (kg) whose centre of mass stands at some height (m)."""
        rate = (gravity / height) ** 0.5
        return cls(
            rate=rate, length=height, com=2.5 * rate, torso=3.0 * rate, hand=4.0 * rate, posture=2.0 * rate,
            torso_weight=0.3 * height**2, hand_weight=1.0, posture_weight=2e-3 * height**2,
            force_weight=1e-3 / mass**2,
        )  # fmt: skip
