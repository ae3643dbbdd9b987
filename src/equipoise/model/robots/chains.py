"""Serial chains of any number of joints."""

from __future__ import annotations

from collections.abc import Sequence

from ..builder import ModelBuilder
from ..shapes import ORIGIN, cylinder_between
from ..types import Model
from .parameters import one_each, require_count, require_positive

UP_IN_THE_PLANE = (0.0, -1.0, 0.0)  # about −y, positive angles turn x towards z
SLENDER = 0.1  # radius of a link over its length


def snake(n: int = 50, *, length: float = 0.08, mass: float = 0.25) -> Model:
    """n revolute joints in a row along x, about y and z in turn; fixed base, frame "tool".

    With n = 50 it is a manipulator like the one of [QO21, Sec. 6.3.2].

    Args:
        length, mass: of each link, m and kg.
    """
    require_count("snake", n)
    require_positive("snake", length=length, mass=mass)
    axes = [(0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
    return _chain("snake", [axes[i % 2] for i in range(n)], [length] * n, [mass] * n, 0.25)


def planar_chain(n: int = 3, lengths: Sequence[float] | None = None, masses: Sequence[float] | None = None) -> Model:
    """n revolute joints about −y, links along x at zero: the textbook arm, in the vertical xz plane so that gravity
    acts.

    Angles are counter-clockwise from x towards z, each relative to the link before. Fixed base, frame "tool".

    Args:
        lengths, masses: of the links, m and kg; by default 0.5 m and 1 kg.
    """
    require_count("planar_chain", n)
    lengths = one_each("planar_chain", "lengths", lengths, 0.5, n)
    masses = one_each("planar_chain", "masses", masses, 1.0, n)
    return _chain("planar_chain", [UP_IN_THE_PLANE] * n, lengths, masses, SLENDER)


def two_link_pendulum(length: float = 1.0, mass: float = 1.0) -> Model:
    """Two equal links, m and kg each: `planar_chain` with n = 2."""
    require_positive("two_link_pendulum", length=length, mass=mass)
    return _chain("two_link_pendulum", [UP_IN_THE_PLANE] * 2, [length] * 2, [mass] * 2, SLENDER)


def _chain(
    name: str,
    axes: Sequence[tuple[float, float, float]],
    lengths: Sequence[float],
    masses: Sequence[float],
    slender: float,
) -> Model:
    builder = ModelBuilder(name, floating=False).link("base_link")
    parent, before = "base_link", 0.0
    for i, (axis, length, mass) in enumerate(zip(axes, lengths, masses, strict=True), start=1):
        rod = cylinder_between(ORIGIN, (length, 0.0, 0.0), slender * length)
        builder.link(f"link_{i}", mass=mass, shapes=[rod])
        builder.joint(f"joint_{i}", "revolute", parent, f"link_{i}", axis=axis, position=(before, 0.0, 0.0))
        parent, before = f"link_{i}", length
    return builder.frame("tool", parent, position=(before, 0.0, 0.0)).model()
