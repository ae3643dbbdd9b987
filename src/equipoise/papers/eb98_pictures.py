"""Pictures like [EB98, Figs. 8–12]: chain and Jacobian, postures of the flower and the bird."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..robot import load
from .eb98_biped import augmented_picture, swing_picture
from .eb98_control import ORDERS, PETALS, SPOTS, bird_reaches, flower_reaches
from .pictures import draw, sheet

REST, THERE, SPOT = "#ced4da", "#2b6cb0", "#868e96"


def flower() -> Any:
    """Two balanced postures: the mass above the root first, a petal's tip to a place below it."""
    robot = load("flower")
    picture, axes = sheet("[EB98, Fig. 10] balanced postures, Eq. (92)", list(PETALS), columns=2, size=(3.2, 3.6))
    for one, (tip, goal) in zip(axes, PETALS.items(), strict=True):
        found = flower_reaches(tip)
        draw(one, robot, found.q[0], color=REST, mass=False)
        draw(one, robot, found.q[-1], color=THERE)
        one.plot(goal[0], goal[2], "o", color=SPOT, markersize=9, alpha=0.6)
    return picture


def bird_at_rest() -> Any:
    """The posture that defines the line of the mass, and the spots for the beak."""
    robot = load("bird")
    picture, (axes,) = sheet("[EB98, Fig. 11] the bird at rest and its three spots", [""], size=(4.2, 4.0))
    draw(axes, robot, robot.standing(), color=THERE)
    for name, spot in SPOTS.items():
        axes.plot(spot[0], spot[2], "o", color=SPOT, markersize=9, alpha=0.6)
        axes.annotate(name, (spot[0], spot[2]), textcoords="offset points", xytext=(7, 5))
    return picture


def bird() -> Any:
    """Every spot in every order of priority, and the beak alone."""
    robot = load("bird")
    panels = [f"{order}: {name}" for name in SPOTS for order in ORDERS]
    picture, axes = sheet("[EB98, Fig. 12] beak to three spots; the mass on its line", panels, size=(3.2, 3.2))
    places = iter(axes)
    for name, spot in SPOTS.items():
        for order in ORDERS:
            one, found = next(places), bird_reaches(name, order)
            draw(one, robot, found.q[0], color=REST, mass=False)
            draw(one, robot, found.q[-1], color=THERE)
            one.axvline(robot.com(found.q[0])[0], color=SPOT, lw=0.8)
            one.plot(spot[0], spot[2], "o", color=SPOT, markersize=9, alpha=0.6)
    return picture


PICTURES: dict[str, Callable[[], Any]] = {
    "fig-8-planar-biped": swing_picture,
    "fig-9-kinetic-jacobian": augmented_picture,
    "fig-10-flower": flower,
    "fig-11-bird-at-rest": bird_at_rest,
    "fig-12-bird": bird,
}
