"""Which frame the base velocity belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import ModelError
from ..machine.cached import cached
from ..machine.kernel import Kernel
from ..machine.program import Program
from ..machine.store import kernel_of
from ..model.tree import Tree

Place = tuple[int, np.ndarray]


class _CentreOfMass:
    def __repr__(self) -> str:
        return "COM"

    def __reduce__(self) -> str:
        return "COM"  # there is one


COM = _CentreOfMass()  # stands for the centre of mass wherever a base frame is named


@dataclass(frozen=True)
class Compound:
    """E[F]: the origin of one frame (or COM) with the orientation of another [TPN17, Sec. 4.1].

    Args:
        origin: frame whose origin the base has, or `eq.COM`.
        orientation: frame whose axes the base has; the robot's own base if not given.

    Examples:
        >>> import equipoise as eq
        >>> robot = eq.load("quadruped")
        >>> eom = robot.equations_of_motion(robot.standing(), [0.0] * robot.nv)
        >>> com = eom.in_base(eq.Compound(eq.COM, orientation="trunk"))
        >>> bool(abs(com.X[:3, 3] - robot.com(robot.standing())).max() < 1e-12)
        True
    """

    origin: str | _CentreOfMass
    orientation: str | None = None


Base = str | Compound | _CentreOfMass | None  # a frame; E[F]; the centroidal base G; None: the robot's own base


def base_kernel(tree: Tree, place_of: Callable[[str], Place], base: Base, representation: str) -> Kernel:
    """The kernel that brings M, C and g from the mixed velocity of the robot's own base to another base."""
    if not tree.floating:
        raise ModelError("this robot has a fixed base: there is no base velocity to express in another frame")
    origin, orientation = _places(tree, place_of, base)
    if isinstance(origin, str) and sum(body.parent < 0 for body in tree.bodies) > 1:
        raise ModelError(
            "the centre of mass can be the base of one tree only; this robot has other bodies that stand in the world"
        )
    return kernel_of(cached(_traced, tree, origin, orientation, representation), strict=False)


def _places(tree: Tree, place_of: Callable[[str], Place], base: Base) -> tuple[Place | str, Place | str]:
    own: Place = (0, np.eye(4))
    if base is None:
        return own, own
    if isinstance(base, _CentreOfMass):
        return "G", "G"
    if isinstance(base, Compound):
        origin: Place | str = "G" if isinstance(base.origin, _CentreOfMass) else _moving(tree, place_of, base.origin)
        return origin, own if base.orientation is None else _moving(tree, place_of, base.orientation)
    place = _moving(tree, place_of, base)
    return place, place


def _moving(tree: Tree, place_of: Callable[[str], Place], frame: str) -> Place:
    """Where a frame is, if it moves with the base: only then do its velocity and the joint rates decide that of the
    base."""
    place = place_of(frame)
    if place[0] < 0:
        raise ModelError(f"frame {frame!r} is fixed to the world, not to the robot: it cannot be the base")
    root = tree.ancestors(place[0])[-1]
    if root != 0:
        raise ModelError(
            f"frame {frame!r} belongs to another tree than the base: it hangs on joint {tree.bodies[root].name!r}, the "
            "robot "
            f"on {tree.bodies[0].name!r}. Its velocity says nothing of the base's, so it cannot be the base; frames "
            "that the base carries can"
        )
    return place


def _traced(tree: Tree, origin: Place | str, orientation: Place | str, representation: str) -> Program:
    import casadi

    from ..equations.bases import BaseFrame, change_of_base
    from ..equations.symbols import SX
    from ..machine.trace import trace

    n = tree.nv
    sizes = {"q": tree.nq, "v": n, "M": n * n, "C": n * n, "g": n}
    symbols = {name: SX.sym(name, size) for name, size in sizes.items()}
    C = casadi.reshape(symbols["C"], n, n).T  # arrays come row by row; M is symmetric
    frame = BaseFrame(origin, orientation)
    results = change_of_base(tree, symbols["q"], symbols["v"], symbols["M"], C, symbols["g"], frame, representation)
    return trace("change_of_base", symbols, results, shapes={"g": (n,), "v": (n,)})
