"""Plane figures for posture design after [EB98, Fig. 10–12]: a flower and a bird. The paper gives no numbers; these are
ours."""

from __future__ import annotations

from ..builder import ModelBuilder
from ..shapes import ORIGIN, cylinder_between
from ..types import Model
from .chains import UP_IN_THE_PLANE
from .parameters import require_count

UP, FORWARD, BACK = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (-1.0, 0.0, 0.0)
Direction = tuple[float, float, float]


def flower(stem: int = 5, petals: int = 4) -> Model:
    """A stem that grows thinner upwards, with petals of two links around its top; in the xz plane, rooted at the
    origin.

    Fixed base "root"; frames "tip_1", "tip_2", … at the ends of the petals, from front to back.

    Args:
        stem, petals: numbers of links and of petals.
    """
    require_count("flower", stem)
    require_count("flower", petals)
    builder = ModelBuilder("flower", floating=False).link("root")
    parent, before = "root", 0.0
    for i in range(1, stem + 1):
        _bone(builder, f"stem_{i}", parent, (0, 0, before), UP, 0.15, 0.4 / i)
        parent, before = f"stem_{i}", 0.15
    for k in range(1, petals + 1):
        lean = 1.2 - 2.4 * (k - 0.5) / petals  # rad, from front to back
        _bone(builder, f"petal_{k}", parent, (0, 0, before), UP, 0.12, 0.08)
        _bone(builder, f"point_{k}", f"petal_{k}", (0, 0, 0.12), UP, 0.08, 0.03)
        builder.standing({f"petal_{k}": -lean, f"point_{k}": -0.5 * lean})
        builder.frame(f"tip_{k}", f"point_{k}", position=(0, 0, 0.08))
    return builder.model()


def bird(neck: int = 8) -> Model:
    """A duck on one foot, in the xz plane: leg, a trunk of four rigid pieces, a neck of many vertebrae, a head.

    Fixed base "foot"; frame "beak" at its end. The pieces of the trunk do not move: they spread the mass, about 1.1 kg,
    as the thick part of [EB98, Fig. 11] does. It stands with its centre of mass above the foot.

    Args:
        neck: number of vertebrae.
    """
    require_count("bird", neck)
    builder = ModelBuilder("bird", floating=False).link("foot")
    _bone(builder, "tarsus", "foot", ORIGIN, UP, 0.06, 0.02)
    _bone(builder, "tibia", "tarsus", (0, 0, 0.06), UP, 0.08, 0.06)
    _bone(builder, "femur", "tibia", (0, 0, 0.08), UP, 0.05, 0.06)
    _bone(builder, "trunk", "femur", (0, 0, 0.05), FORWARD, 0.06, 0.32)
    _bone(builder, "breast", "trunk", (0.06, 0, 0), FORWARD, 0.06, 0.25, fixed=True)
    _bone(builder, "rump", "trunk", ORIGIN, BACK, 0.07, 0.20, fixed=True)
    _bone(builder, "tail", "rump", (-0.07, 0, 0), BACK, 0.08, 0.05, fixed=True)
    parent, before = "breast", 0.06
    for i in range(1, neck + 1):
        _bone(builder, f"neck_{i}", parent, (before, 0, 0), FORWARD, 0.16 / neck, 0.09 / neck)
        parent, before = f"neck_{i}", 0.16 / neck
    _bone(builder, "head", parent, (before, 0, 0), FORWARD, 0.09, 0.05)
    builder.standing({"tarsus": -0.5, "tibia": 1.742, "femur": -1.3, "trunk": 0.058, "neck_1": 1.1, "head": -1.6})
    return builder.frame("beak", "head", position=(0.09, 0, 0)).model()


def _bone(
    builder: ModelBuilder,
    name: str,
    parent: str,
    place: tuple[float, float, float],
    along: Direction,
    length: float,
    mass: float,
    *,
    fixed: bool = False,
) -> None:
    """A link along a direction of its own axes, hinged in the plane; as thick as its mass."""
    end = (length * along[0], length * along[1], length * along[2])
    radius = min(0.4 * length, 0.05 * (mass / length) ** 0.5)
    builder.link(name, mass=mass, shapes=[cylinder_between(ORIGIN, end, radius)])
    builder.joint(name, "fixed" if fixed else "revolute", parent, name, axis=UP_IN_THE_PLANE, position=place)
