"""Tasks: what the robot should do, as an error and a Jacobian.

The same task serves three levels. With y the task's coordinates, ẏ = J v and e = y_to − y,

    velocity level               J v = ẏ_to + k e
    acceleration, torque level   J a + J̇ v = ÿ_to + damping (ẏ_to − ẏ) + stiffness e.

`gain` k (1/s) sets all three: stiffness k² and damping 2k make e decay as fast as e^(−kt) without overshoot;
`stiffness` and `damping` overrule. Targets: see `references`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..item import Item, NamedNumbers, Parameters, Setting, TaskError, column
from .references import Reference

if TYPE_CHECKING:
    from ...equations.symbols import SX
    from ...robot import Robot
    from ..controller.context import Context
    from ..controller.scene import Affine, Scene

Array = np.ndarray
AXES = {"x": 0, "y": 1, "z": 2, "rx": 3, "ry": 4, "rz": 5}
KINDS = {"pose": "x y z rx ry rz", "position": "x y z", "orientation": "rx ry rz"}
PER = ("acceleration", "error")


@dataclass(frozen=True)
class Terms:
    """A task of motion on symbols, k rows.

    Args:
        error: y_to − y, (k,).
        J: (k, nv).
        rate: J v, (k,).
        drift: J̇ v, (k,).
        rate_to: ẏ_to, (k,).
        acceleration_to: ÿ_to, (k,).
        share: how J a + J̇ v follows from the rate of momentum about the centre of mass, (k, 6), if it does: the
            controller may then use contact forces instead of accelerations.
    """

    error: SX
    J: SX
    rate: SX
    drift: SX
    rate_to: SX
    acceleration_to: SX
    share: SX | None = None

    def rows(self, scene: Scene, gains: NamedNumbers) -> tuple[Affine, SX]:
        """(what the task gets, affine in the unknowns; what it asks for)."""
        if self.share is not None and scene.momentum_rate is not None:
            rate = scene.momentum_rate
            got = type(rate)(self.share @ rate.matrix, self.share @ rate.offset)
        else:
            got = scene.motion(self.J, self.drift)
        if scene.context.level == "velocity":
            return got, self.rate_to + gains.on_error * self.error
        return got, self.acceleration_to + gains.damping * (self.rate_to - self.rate) + gains.on_error * self.error


@dataclass(frozen=True)
class DirectTerms:
    """A task on forces or torques: `got`, affine in the unknowns, should become `wanted`; there is no motion to it."""

    got: Affine
    wanted: SX

    def rows(self, scene: Scene, gains: NamedNumbers) -> tuple[Affine, SX]:
        return self.got, self.wanted


@dataclass(frozen=True, eq=False, kw_only=True)
class Task(Item):
    """What all tasks share. A task of one's own has a field `target` and three methods: `reference`, `here` and
    `terms`.

    Args:
        weight: of the squares of its rows, one number or one per row; counts among tasks of one priority.
        gain: k, 1/s, one number or one per row.
        stiffness: 1/s²; k² if not given.
        damping: 1/s; 2 k if not given.
        per: what the weight counts: "acceleration" (what the task asks for less what it gets, so that influence goes
            with weight · gain⁴) or "error" (the same as an error that would ask for it: influence does not depend on
            the gain).
        priority: 0 is served before 1 where priorities are strict.
        hard: whether the task is an equality that must hold, instead of a term of the cost.
    """

    weight: Setting = 1.0
    gain: Setting = 10.0
    stiffness: Setting | None = None
    damping: Setting | None = None
    per: str = "acceleration"
    priority: int = 0
    hard: bool = False
    placed: ClassVar[str | None] = "target"
    has_error: ClassVar[bool] = True  # whether it has an error beside what it asks for
    fills_in: ClassVar[bool] = False  # whether it only decides what other tasks leave open

    @property
    def needs_contact(self) -> str:
        """The contact without which the task has no meaning; empty for none."""
        return ""

    def reference(self, context: Context) -> Reference:
        """How targets become numbers."""
        raise NotImplementedError(f"{type(self).__name__} has no reference()")

    def here(self, robot: Robot, q: Array) -> object:
        """The target that the robot meets at q."""
        raise NotImplementedError(f"{type(self).__name__} has no here()")

    def terms(self, scene: Scene, reference: NamedNumbers) -> Terms | DirectTerms:
        """The task on symbols; `reference` has every declared number as an attribute."""
        raise NotImplementedError(f"{type(self).__name__} has no terms()")

    def frame_target(self, robot: Robot, q: Array, numbers: Mapping[str, Array]) -> tuple[str, Array] | None:
        """The frame that the task moves and its pose (4, 4) there, to be drawn; None where there is none."""
        return None

    def rows(self, context: Context) -> int:
        """How many rows: the first number of the reference has as many entries, unless a task says otherwise."""
        first = next(iter(self.reference(context).shapes.values()))
        return int(np.prod(first))

    def selects(self, context: Context) -> Array | None:
        """Velocities that its rows are, one each, in order, if its J is a selection: such rows cost next to nothing."""
        return None

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        n, reference = self.rows(context), self.reference(context)
        gains = {"root_weight": (n,), "on_error": (n,), "damping": (n,)}
        settings = ("weight", "gain", "stiffness", "damping")
        return {
            "reference": Parameters(("target",), reference.shapes, reference.numbers),
            "gains": Parameters(settings, gains, lambda *values: self._gains(context.level, n, *values)),
        }

    def check(self, robot: Robot) -> None:
        if self.per not in PER:
            raise TaskError(f"{self.label}: a weight is per {' or '.join(map(repr, PER))}; got {self.per!r}")

    def _gains(
        self, level: str, n: int, weight: Any, gain: Any, stiffness: Any, damping: Any
    ) -> tuple[Array, Array, Array]:
        """(square roots of the weights, gain on the error, damping), one each per row."""
        k = column(self.label, "gain", gain, n)
        k_p = k**2 if stiffness is None else column(self.label, "stiffness", stiffness, n)
        k_d = 2 * k if damping is None else column(self.label, "damping", damping, n)
        on_error = k if level == "velocity" else k_p
        root = np.sqrt(column(self.label, "weight", weight, n))
        if self.per == "error":
            root = root / np.where(on_error > 0, on_error, 1.0)
        return root, on_error, k_d


def axes_of(label: str, axes: str) -> list[int]:
    """Places of the named axes in a twist."""
    from ...errors import unknown_name

    names = KINDS.get(axes, axes).split()
    for axis in names:
        if axis not in AXES:
            raise unknown_name(f"axis of {label}", axis, [*KINDS, *AXES])
    return [AXES[axis] for axis in names]
