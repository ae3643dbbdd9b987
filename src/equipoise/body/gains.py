"""Gains and weights of a body: one setting for a robot of 2 kg and one of 200 kg.

Everything follows from the body's own scales: the rate ω = √(g / h) at which it tips over (h its standing height), its
length h and its mass m. Gains are multiples of ω. Weights compare unlike accelerations: radians with metres by h,
forces with accelerations by m.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BodyGains:
    """Gains in 1/s, critically damped; weights beside the one of the centre of mass, which is 1 per (m/s²)².

    Attributes:
        rate: ω, 1/s, with which the standing body tips over.
        length: m, that makes radians comparable with metres.
        speed: m/s, √(g h), that motions are compared with.
        sway, com, torso, hand, posture: gains; of the centre of mass to the sides and in height. To the sides it is ω:
            a push of v m/s then asks for a centre of pressure 2 v / ω away, where a stiffer one would ask for more than
            a sole has.
        torso_weight, hand_weight, posture_weight: per (rad/s²)², (m/s²)², (rad/s²)².
        spin_weight: of the rate of angular momentum, per (N m)².
        force_weight: of contact forces, per N².
    """

    rate: float
    length: float
    speed: float
    sway: float
    com: float
    torso: float
    hand: float
    posture: float
    torso_weight: float
    hand_weight: float
    posture_weight: float
    spin_weight: float
    force_weight: float

    @classmethod
    def of(cls, mass: float, height: float, gravity: float = 9.80665) -> BodyGains:
        """Of a body of some mass (kg) whose centre of mass stands at some height (m)."""
        rate = (gravity / height) ** 0.5
        return cls(
            rate=rate, length=height, speed=rate * height, sway=rate, com=2.5 * rate,
            torso=3.0 * rate, hand=4.0 * rate, posture=2.0 * rate,
            torso_weight=0.3 * height**2, hand_weight=1.0, posture_weight=3e-4 * height**2,
            spin_weight=1e-2 / (mass * height) ** 2, force_weight=1e-3 / mass**2,
        )  # fmt: skip
