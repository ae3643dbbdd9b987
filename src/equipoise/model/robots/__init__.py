"""Robots that come with the library, by name. Each is a function of keyword parameters that returns a `Model`."""

from __future__ import annotations

from collections.abc import Callable

from ..types import Model
from .arms import arm6, arm7, bimanual
from .chains import planar_chain, snake, two_link_pendulum
from .human import human
from .mobile import holonomic_arm, nonholonomic_arm, nonholonomic_bimanual
from .quadruped import quadruped
from .skeletons import bird, flower
from .textbook import cart_pendulum, wheel

BUILT_IN: dict[str, Callable[..., Model]] = {
    "human": human,
    "quadruped": quadruped,
    "arm6": arm6,
    "arm7": arm7,
    "bimanual": bimanual,
    "holonomic_arm": holonomic_arm,
    "nonholonomic_arm": nonholonomic_arm,
    "nonholonomic_bimanual": nonholonomic_bimanual,
    "snake": snake,
    "planar_chain": planar_chain,
    "two_link_pendulum": two_link_pendulum,
    "cart_pendulum": cart_pendulum,
    "wheel": wheel,
    "flower": flower,
    "bird": bird,
}

__all__ = ["BUILT_IN", *BUILT_IN]
