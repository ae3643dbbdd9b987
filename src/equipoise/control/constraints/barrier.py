"""Barriers: numbers d ≥ 0 with ḋ = J v + ζ and d̈ = J a + J̇ v + ζ̇.

At velocity level they become the vector field inequality ḋ ≥ −η d, at acceleration and torque level its second-order
form, both with the margin that a sampled controller needs [QO21, Eqs. (4.1)–(4.19)].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..item import NamedNumbers, Parameters, Setting, TaskError, at_first
from ..safety import vfi
from ..safety.piecewise import symbols as piecewise_symbols
from ..tasks.references import moment
from .constraint import BoundedRows, Constraint, Start

if TYPE_CHECKING:
    from ...equations.symbols import SX
    from ..controller.context import Context
    from ..controller.scene import Scene

Array = np.ndarray
USUAL_GAINS = vfi.Gains.of_rates(5.0, 20.0)
EASY = 200.0  # rad/s² or m/s²; length of accelerations that a row may ask for before it is urgent


@dataclass(frozen=True)
class Barrier:
    """Numbers d ≥ 0 on symbols, m of them.

    Args:
        d: (m,).
        J: (m, nv).
        residual: ζ, what the world does by itself, (m,).
        drift: J̇ v + ζ̇, (m,).
    """

    d: SX
    J: SX
    residual: SX
    drift: SX


class Rates(NamedTuple):
    """Gains of symbols, or of numbers that were checked before: what bounds read of `vfi.Gains`."""

    slow: Any
    fast: Any
    fastest: float = 0.0

    @property
    def eta_d(self) -> Any:
        return self.slow + self.fast

    @property
    def eta_p(self) -> Any:
        return self.slow * self.fast

    def require_step(self, dt: float) -> None:
        """Done with the numbers."""


@dataclass(frozen=True, eq=False, kw_only=True)
class BarrierConstraint(Constraint):
    """A constraint made of numbers d ≥ 0. One of one's own has `row_names` and `barrier`.

    Args:
        gains: of the second-order inequality; its slow rate is also η at velocity level. Rates, 1/s.
        variation: σ, how fast d̈ may fall within a step, see `second_order_bound`.
        jump: δ, by how much d̈ may fall at once.
        braking: the d̈ that can be counted on, m/s²; None for no limit.
    """

    gains: vfi.Gains = field(default_factory=lambda: USUAL_GAINS)
    variation: Setting = 0.0
    jump: Setting = 0.0
    braking: Setting | None = None
    has_margins: ClassVar[bool] = True

    def barrier(self, scene: Scene, numbers: NamedNumbers) -> Barrier:
        """The numbers on symbols."""
        raise NotImplementedError(f"{type(self).__name__} has no barrier()")

    def parameters(self, context: Context) -> Mapping[str, Parameters]:
        return {"inequality": inequality(self, context, len(self.row_names(context)))}

    def structure(self, context: Context) -> object:
        return [super().structure(context), self.braking is None]

    def rows(self, scene: Scene, numbers: NamedNumbers) -> BoundedRows:
        """ḋ ≥ −η d, or its second-order form, with the terms for sampling."""
        import casadi

        from ...equations.symbols import constant

        barrier, dt = self.barrier(scene, numbers), scene.context.dt
        rate = barrier.J @ scene.v + barrier.residual
        rows = scene.motion(barrier.J, barrier.drift)
        gains = Rates(numbers.slow, numbers.fast)
        if scene.context.level == "velocity":
            lower = numbers.jump * (dt / 2) - gains.slow * barrier.d - barrier.residual
        else:
            m = piecewise_symbols()
            options = {"variation": numbers.variation, "jump": numbers.jump, "m": m}
            braking = None if self.braking is None else numbers.braking
            lower, needed = (
                vfi.second_order_bound(barrier.d, rate, rates, dt, braking=braking, **options)  # type: ignore[arg-type]
                for rates in (gains, Rates(1 / dt, gains.fast))
            )
            easy = barrier.drift + EASY * m.sqrt(casadi.sum2(barrier.J**2))
            lower = vfi.lowered_bound(lower, needed, easy, m)
        return BoundedRows(rows, lower, constant(np.full(barrier.d.shape[0], np.inf)), barrier.d, rate)

    def start_report(self, start: Start) -> Iterator[str]:
        return not_admitted(self, start)


def safe_distance(label: str, squared: bool = False) -> Parameters:
    """The distance to keep with its rate and acceleration, or the square of it with the derivatives of that."""

    def numbers(safe: Any) -> tuple[float, float, float]:
        s, rate, acceleration = (0.0 if x is None else float(x) for x in moment(safe, scalar=True))
        if not squared:
            return s, rate, acceleration
        if not s >= 0:
            raise TaskError(f"{label}: safe must be finite and not negative, got {safe!r}")
        return s**2, 2 * s * rate, 2 * rate**2 + 2 * s * acceleration

    return Parameters(("safe",), dict.fromkeys(("safe", "safe_rate", "safe_acceleration"), ()), numbers)


def safe_at(label: str, safe: Setting, t: Array) -> Array:
    """The distance to keep at times t, (n,)."""
    values: list[Any] = [safe(time) if callable(safe) else safe for time in t.tolist()]
    return np.array([safe_at_first(label, value) for value in values])


def safe_at_first(label: str, safe: Setting, squared: bool = False) -> float:
    """The distance to keep at t = 0, or its square."""
    return float(safe_distance(label, squared).flat(label, [at_first(safe)])[0])


def inequality(constraint: Any, context: Context, m: int) -> Parameters:
    """The parameters of the vector field inequality of m rows: rates of the gains, variation, jump, braking."""
    names = ["slow", "fast", "variation", "jump"] + ([] if constraint.braking is None else ["braking"])

    def numbers(gains: vfi.Gains, variation: Any, jump: Any, braking: Any) -> list[Array]:
        if not isinstance(gains, vfi.Gains):
            raise TaskError(f"{constraint.label}: gains are eq.Gains; got {gains!r}")
        gains.require_step(context.dt)
        given = [gains.slow, gains.fast, variation, jump] + ([] if constraint.braking is None else [braking])
        if not all(np.all(np.asarray(x, dtype=float) >= 0) for x in given) or not np.all(
            np.asarray(given[4:], dtype=float) > 0
        ):
            raise TaskError(f"{constraint.label}: variation and jump must not be negative, and braking positive")
        return [np.broadcast_to(np.asarray(x, dtype=float), (m,)) for x in given]

    return Parameters(("gains", "variation", "jump", "braking"), dict.fromkeys(names, (m,)), numbers)


def not_admitted(constraint: Any, start: Start) -> Iterator[str]:
    """One sentence for each row that the theory does not cover from this start [QO21, Lemma 4.1, exact]."""
    d, rate, braked = start.margins, start.rates, constraint.braking is not None
    fast = np.broadcast_to(start.numbers["fast"], d.shape)
    braking = np.broadcast_to(start.numbers["braking"] if braked else np.inf, d.shape)
    fastest = vfi.approach_speed(d, fast, braking) if braked else fast * d
    admitted = d >= 0 if start.context.level == "velocity" else (d >= 0) & (rate >= -fastest)
    for k in np.flatnonzero(~admitted):
        name = start.names[k]
        if not d[k] >= 0:
            yield f"{name} starts {-d[k]:.4g} outside: it is brought back, and is not safe from the start"
            continue
        needed = f"a fast rate of {-rate[k] / d[k]:.4g} 1/s" if d[k] > 0 else "more than any gains"
        has = f"the gains have {fast[k]:.4g} 1/s" + (f" and braking is limited to {braking[k]:.4g}" if braked else "")
        yield f"{name} approaches at {-rate[k]:.4g} from {d[k]:.4g} away, which asks for {needed}: {has}"
