"""The two small examples of contact constraints in [ETH19, slides 8–16], in the xz plane."""

from __future__ import annotations

from math import pi

from ..builder import ModelBuilder
from ..shapes import box, cylinder, cylinder_between
from ..types import Model
from .parameters import require_positive


def cart_pendulum(half_length: float = 0.5, cart_mass: float = 1.0, pendulum_mass: float = 1.0) -> Model:
    """A cart that slides along x and a rod that swings from it; fixed base.

    Coordinates x and φ as on the slides: the rod, of length 2l with l = `half_length`, hangs at φ = 0; positive φ
    swings its end, frame "tip", towards +x (axis −y). So its velocity is (ẋ + 2l cos φ φ̇, 0, 2l sin φ φ̇).
    """
    require_positive("cart_pendulum", half_length=half_length, cart_mass=cart_mass, pendulum_mass=pendulum_mass)
    end = (0.0, 0.0, -2 * half_length)
    builder = ModelBuilder("cart_pendulum", floating=False).link("rail")
    builder.link("cart", mass=cart_mass, shapes=[box(0.3, 0.2, 0.1)])
    builder.link("pendulum", mass=pendulum_mass, shapes=[cylinder_between((0.0, 0.0, 0.0), end, 0.05 * half_length)])
    builder.joint("slide", "prismatic", "rail", "cart", axis=(1, 0, 0))
    builder.joint("swing", "continuous", "cart", "pendulum", axis=(0, -1, 0))
    return builder.frame("tip", "pendulum", position=end).model()


def wheel(radius: float = 0.3, axle_mass: float = 1.0, wheel_mass: float = 2.0) -> Model:
    """A wheel whose axle slides along x at the height of its radius; fixed base.

    Coordinates x and φ as on the slides; frame "rim" is the point P = (x + r sin φ, 0, r + r cos φ): the top at φ = 0
    and the ground at φ = π. There its velocity is (ẋ − r φ̇, 0, 0), so that rolling is ẋ = r φ̇.
    """
    require_positive("wheel", radius=radius, axle_mass=axle_mass, wheel_mass=wheel_mass)
    turned = (pi / 2, 0.0, 0.0)  # axle along y
    builder = ModelBuilder("wheel", floating=False).link("ground")
    builder.link("axle", mass=axle_mass, shapes=[cylinder(0.1 * radius, 0.5 * radius, rpy=turned)])
    builder.link("wheel", mass=wheel_mass, shapes=[cylinder(radius, 0.15 * radius, rpy=turned)])
    builder.joint("slide", "prismatic", "ground", "axle", axis=(1, 0, 0), position=(0, 0, radius))
    builder.joint("roll", "continuous", "axle", "wheel", axis=(0, 1, 0))
    return builder.frame("rim", "wheel", position=(0, 0, radius)).model()
