"""Vector field inequalities that hold between samples [QO21, Eqs. (4.1)–(4.19)]. Theorems and proofs: docs/safety.md.

Everything here is about one number, the clearance x = d − d_safe, which must stay at or above zero. The controller adds
a row

    velocity level        J v ≥ bound − ζ_safe                  bound = first_order_bound(x, …)
    acceleration level    J a ≥ bound − J̇ v − ζ̇_safe            bound = second_order_bound(x, ẋ, …)

and `Clearance` brings distances, moving safe distances and keep-in regions to this shape. Rates of decay are positive
here: `slow` = −r₁ and `fast` = −r₂ with r₁ ≥ r₂ the roots of the thesis.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import EquipoiseError
from ...geometry.distances import DistanceValues
from .piecewise import NUMBERS, Piecewise

Array = np.ndarray
DOUBLE_ROOT = 1e-12  # of η_d²: a discriminant this little below zero is rounding
SEPARATION = 2.0  # fast / slow where nothing asks for more
HAIR = 1e-12  # added to a rate that a start needs, so that rounding cannot refuse the start


class GainError(EquipoiseError, ValueError):
    """Gains, steps or starts for which a vector field inequality promises nothing."""


# --- gains and Lemma 4.1 ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Gains:
    """η_d and η_p of ẍ ≥ −η_d ẋ − η_p x [QO21, Eq. (4.3)]: numbers, or arrays with an entry for each row.

    Args:
        eta_d: 1/s.
        eta_p: 1/s². η_d² ≥ 4 η_p, else x would swing through zero.

    Examples:
        >>> import equipoise as eq
        >>> gains = eq.Gains.of_rates(5.0, 20.0)  # slow and fast rate, 1/s
        >>> gains.eta_d, gains.eta_p
        (25.0, 100.0)
        >>> bool(gains.admits(0.1, -1.5)), bool(gains.admits(0.1, -2.5))  # 0.1 m away; approaching at 1.5 and 2.5 m/s
        (True, False)
    """

    eta_d: float | Array
    eta_p: float | Array
    slow: float | Array = field(init=False, repr=False)  # −r₁, 1/s
    fast: float | Array = field(init=False, repr=False)  # −r₂, 1/s
    fastest: float = field(init=False, repr=False)  # of all rows

    def __post_init__(self) -> None:
        eta_d, eta_p = np.asarray(self.eta_d, dtype=float), np.asarray(self.eta_p, dtype=float)
        if not (np.isfinite(eta_d).all() and np.isfinite(eta_p).all() and (eta_d > 0).all() and (eta_p > 0).all()):
            raise GainError(f"gains must be positive and finite; got eta_d = {self.eta_d}, eta_p = {self.eta_p}.")
        discriminant = eta_d**2 - 4 * eta_p
        if (discriminant < -DOUBLE_ROOT * eta_d**2).any():
            raise GainError(
                f"eta_d = {self.eta_d} and eta_p = {self.eta_p} give complex roots: eta_d² − 4 eta_p = "
                f"{discriminant.min():.3g} "
                "is negative, and the distance would swing through zero. Raise eta_d to at least 2 √eta_p = "
                f"{2 * np.sqrt(eta_p).max():.6g}, or give the rates themselves: Gains.of_rates(slow, fast)."
            )
        fast = (eta_d + np.sqrt(np.maximum(discriminant, 0.0))) / 2
        self._set(slow=_plain(np.minimum(eta_p / fast, fast)), fast=_plain(fast), fastest=float(fast.max()))

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of_rates(cls, slow: ArrayLike, fast: ArrayLike) -> Gains:
        """Gains with roots −slow and −fast: η_d = slow + fast, η_p = slow · fast."""
        slow, fast = np.asarray(slow, dtype=float), np.asarray(fast, dtype=float)
        gains = cls(_plain(slow + fast), _plain(slow * fast))
        low, high = np.broadcast_arrays(np.minimum(slow, fast), np.maximum(slow, fast))
        # as given, not through a square root
        gains._set(slow=_plain(low), fast=_plain(high), fastest=float(high.max()))
        return gains

    @classmethod
    def stack(cls, gains: Iterable[Gains]) -> Gains:
        """Gains of several rows as one, with arrays."""
        rows = tuple(gains)
        return cls.of_rates(*(np.array([getattr(g, name) for g in rows], dtype=float) for name in ("slow", "fast")))

    @property
    def roots(self) -> tuple[float | Array, float | Array]:
        """(r₁, r₂) of s² + η_d s + η_p, r₂ ≤ r₁ < 0."""
        return -self.slow, -self.fast

    def admits(self, d: ArrayLike, d_rate: ArrayLike) -> Array | np.bool_:
        """Whether x stays ≥ 0 for ever from here, by (4.3) alone: d ≥ 0 and ḋ ≥ r₂ d, which is necessary and
        sufficient.

        [QO21, Lemma 4.1] asks for more: see `admits_by_thesis`.
        """
        d, d_rate = np.asarray(d), np.asarray(d_rate)
        return (d >= 0) & (d_rate >= -self.fast * d)

    def admits_by_thesis(self, d: ArrayLike, d_rate: ArrayLike) -> Array | np.bool_:
        """The condition of [QO21, Lemma 4.1]: d > 0 and η_d ≥ 2 |ḋ| / d. It implies `admits`."""
        d, d_rate = np.asarray(d), np.asarray(d_rate)
        return (d > 0) & (self.eta_d * d >= 2 * np.abs(d_rate))

    def require_step(self, dt: float) -> None:
        """Raise unless the guarantee between samples holds at this step: fast · dt ≤ 1."""
        if not dt > 0:
            raise GainError(f"the step must be positive, got dt = {dt}.")
        if self.fastest * dt > 1:
            raise GainError(
                f"gains with fast rate {self.fastest:.6g} 1/s are too fast for a step of {dt:.6g} s: fast · dt = "
                f"{self.fastest * dt:.3g} must be at most 1. Lower the gains to a fast rate of {1 / dt:.6g} 1/s or run "
                "faster."
            )

    def require_start(self, d: ArrayLike, d_rate: ArrayLike, names: Iterable[str] | None = None) -> None:
        """Raise unless every row admits its start; the message says what would."""
        admitted = np.atleast_1d(self.admits(d, d_rate))
        if admitted.all():
            return
        d, d_rate, fast = (np.broadcast_to(x, admitted.shape) for x in (d, d_rate, self.fast))
        labels = list(names) if names is not None else [f"row {i}" for i in range(admitted.size)]
        raise GainError(" ".join(_refusal(labels[i], d[i], d_rate[i], fast[i]) for i in np.flatnonzero(~admitted)))


def _plain(x: ArrayLike) -> float | Array:
    x = np.asarray(x, dtype=float)
    return float(x) if x.ndim == 0 else x


def _refusal(name: str, d: float, d_rate: float, fast: float) -> str:
    if d < 0:
        return f"{name} starts {-d:.4g} inside: it will be brought out, but is not safe from the start."
    if d == 0:
        return f"{name} touches and approaches at {-d_rate:.4g} 1/s of its unit: no gains can stop it."
    return (
        f"{name} approaches at {-d_rate:.4g} from {d:.4g} away: that needs a fast rate of at least {-d_rate / d:.6g} "
        f"1/s, its gains have {fast:.6g} 1/s. gains_for(d, d_rate) makes gains that admit a start."
    )


def gains_for(d: float, d_rate: float, decay: float = 5.0, dt: float | None = None) -> Gains:
    """The mildest gains that admit a start: slow rate `decay`, fast rate as fast as the start needs, at least twice the
    slow.

    Args:
        decay: 1/s, how quickly an obstacle may be approached from afar.
        dt: s; if given, gains that this step cannot hold are refused.
    """
    if decay <= 0:
        raise GainError(f"decay must be positive, got {decay}.")
    if d < 0 or (d == 0 and d_rate < 0):
        raise GainError("no gains admit this start: " + _refusal("the row", d, d_rate, np.nan))
    needed = max(-d_rate / d, 0.0) if d > 0 else 0.0
    gains = Gains.of_rates(decay, max(SEPARATION * decay, needed * (1 + HAIR)))
    if dt is not None:
        gains.require_step(dt)
    return gains


# --- velocity level ---------------------------------------------------------------------------------------------------


def first_order_bound(d: Any, eta: Any, dt: float = 0.0, curvature: Any = 0.0) -> Any:
    """Least ḋ at a sample such that d ≥ 0 until the next one and d decays no faster than 1 − η dt per step.

        ḋ ≥ −η d + κ dt / 2                                        [QO21, Eq. (4.1)] with the term for sampling

    Velocities are held during dt, so d̈ ≥ −κ is all that can happen in between.

    Args:
        eta: 1/s; η dt ≤ 1.
        curvature: κ ≥ 0, the most by which −d̈ can differ from zero while velocities are held.
    """
    if np.max(eta) * dt > 1:
        raise GainError(
            f"eta = {np.max(eta):.6g} 1/s at a step of {dt:.6g} s: eta · dt must be at most 1. Lower eta to "
            f"{1 / dt:.6g} 1/s."
        )
    return -eta * d + curvature * (dt / 2)


# --- acceleration and torque level ------------------------------------------------------------------------------------


def continuous_bound(d: Any, d_rate: Any, gains: Gains) -> Any:
    """Least d̈ in continuous time: −η_d ḋ − η_p d [QO21, Eq. (4.3)]. A sampled controller wants
    `second_order_bound`."""
    return -gains.eta_d * d_rate - gains.eta_p * d


def second_order_bound(
    d: Any,
    d_rate: Any,
    gains: Gains,
    dt: float,
    *,
    variation: Any = 0.0,
    jump: Any = 0.0,
    braking: Any = None,
    m: Piecewise = NUMBERS,
) -> Any:
    """Least d̈ at a sample such that d ≥ 0 until the next one, where the same holds again. All rows at once.

    Without `braking` it is the thesis's bound, softened for the held step and raised by what may happen within it,

        d̈ ≥ (−η_d ḋ − η_p d + margin) / (1 + fast · dt / 2),  margin = Ω₁ / dt + fast · Ω₂ / dt  [docs/safety.md, Thm 2]

    With `braking`, approach is slowed from afar, so that no more than `braking + Ω₁ / dt` is ever asked for (Thm 3);
    from states outside of the theory exactly that is asked for.

    Args:
        d, d_rate: numbers, arrays, or symbols with their arithmetic `m`.
        dt: s; fast · dt ≤ 1.
        variation: σ ≥ 0; within the step d̈ falls below its value at the sample by at most jump + σ t.
        jump: δ ≥ 0, see above; also what is not known of an obstacle's acceleration.
        braking: A > 0, the d̈ that can be counted on everywhere, less the margin; None for no limit.
    """
    if gains.fastest * dt > 1:
        gains.require_step(dt)
    lost_rate = (jump + variation * (dt / 2)) * dt  # Ω₁: the worst case of ḋ after the step
    lost = (jump / 2 + variation * (dt / 6)) * dt**2  # Ω₂: of d
    slow, fast = gains.slow, gains.fast
    if braking is None:
        margin = (lost_rate + fast * lost) / dt
        return (margin - gains.eta_d * d_rate - gains.eta_p * d) / (1 + fast * (dt / 2))
    y_next = (1 - slow * dt) * (d_rate + approach_speed(d, fast, braking, m))
    stop = _speed_after(y_next + d_rate + (2 / dt) * (d - lost) + lost_rate, dt, fast, braking, m)
    return m.smaller((y_next - stop - d_rate + lost_rate) / dt, braking + lost_rate / dt)


def lowered_bound(bound: Any, needed: Any, easy: Any, m: Piecewise = NUMBERS) -> Any:
    """The least d̈ where joints would have to accelerate hard for what `second_order_bound` asks: no more than is easy,
    but always what is needed.

    Where the gradient of d nearly vanishes, the bound can ask for 1e8 rad/s² though nothing is near. The slow rate only
    says how early an approach is braked: d ≥ 0 is kept with any slow rate up to 1 / dt [docs/safety.md, Thm 2].

    Args:
        bound: of `second_order_bound`, with the slow rate of the gains.
        needed: the same with the slow rate 1 / dt.
        easy: d̈ that moderate accelerations give.
    """
    return m.smaller(bound, m.larger(needed, easy))


def approach_speed(d: Any, fast: Any, braking: Any, m: Piecewise = NUMBERS) -> Any:
    """φ(d), the fastest approach from which braking by A and decay at rate `fast` still stop in time.

    φ = fast · d up to d = A / fast², beyond it φ² = 2 A d − A² / fast²: concave, with a continuous slope.
    """
    far = m.larger(d - braking / fast**2, 0.0)
    near = m.smaller(fast * d, braking / fast)
    return near + 2 * fast * far / (1 + m.sqrt(1 + (2 * fast**2 / braking) * far))


def _speed_after(total: Any, dt: float, fast: Any, braking: Any, m: Piecewise) -> Any:
    """φ(d₊) of the d₊ that solves (2 / dt) d₊ + φ(d₊) = total."""
    g = 2 / dt
    edge, steep = braking / fast, 1 + g / fast
    far = m.larger(total - edge * steep, 0.0)
    return m.smaller(total / steep, edge) + 2 * far / (steep + m.sqrt(steep**2 + (2 * g / braking) * far))


def largest_demand(braking: Any, dt: float, variation: Any = 0.0, jump: Any = 0.0) -> Any:
    """The most that `second_order_bound` asks for from admitted states: A + Ω₁ / dt (docs/safety.md, Thm 3)."""
    return braking + jump + variation * (dt / 2)


def admits(d: Any, d_rate: Any, gains: Gains, braking: Any = None) -> Any:
    """Whether the theory of `second_order_bound` covers a state: d ≥ 0 and ḋ ≥ −φ(d)."""
    if braking is None:
        return gains.admits(d, d_rate)
    d, d_rate = np.asarray(d), np.asarray(d_rate)
    return (d >= 0) & (d_rate >= -approach_speed(d, gains.fast, braking))


# --- how much d̈ varies within a step ---------------------------------------------------------------------------------


def chain_rates(reach: Any, turn: Any, turn_rate: Any, slide: Any = 0.0, slide_rate: Any = 0.0) -> tuple[Any, Any, Any]:
    """Bounds of speed, acceleration and jerk of a point of a robot while joint accelerations are held.

    Each derivative of a point by a joint angle is a turn of an arm no longer than `reach`, each further angle turns it
    again:

        V = l₁ + L ω,   A = l₂ + 2 l₁ ω + L (α + ω²),   j = 3 l₁ (α + ω²) + 3 l₂ ω + L (3 ω α + ω³)

    Args:
        reach: L, m, longest distance of the point from an axis that moves it.
        turn, turn_rate: ω and α, sums over those joints of |q̇| and |q̈| (of a free base: lengths of its angular
            vectors).
        slide, slide_rate: l₁ and l₂, the same of prismatic joints and the base's linear motion, m/s and m/s².
    """
    curl = turn_rate + turn**2
    speed = slide + reach * turn
    acceleration = slide_rate + 2 * slide * turn + reach * curl
    jerk = 3 * slide * curl + 3 * slide_rate * turn + reach * (3 * turn * turn_rate + turn**3)
    return speed, acceleration, jerk


def rigid_variation(
    speed: Any, acceleration: Any, jerk: Any, radius: Any, *, ends: bool = False
) -> tuple[float | Array, float | Array]:
    """(jump, variation) of the distance of two points, spheres, or a point and a plane, from how they move to each
    other.

    With r the vector between the cores, n = r / |r| and ṙ = ḋ n + ṙ_⊥,

        d⃛ = n·r⃛ + 3 ṙ_⊥·r̈ / |r| − 3 |ṙ_⊥|² ḋ / |r|²   hence   |d⃛| ≤ j + 3 V A / ϱ + (2 / √3) V³ / ϱ²

    Args:
        speed, acceleration, jerk: V, A, j, bounds during the step of the relative motion of the closest points,
            measured in the frame of the plane, line or segment if there is one.
        radius: ϱ, m, least distance of the cores: sum of the radii and d_safe; infinite for planes.
        ends: whether the closest point may pass from the side of a segment to its end: d̈ may then drop by V² / ϱ at
            once.
    """
    variation = jerk + 3 * speed * acceleration / radius + (2 / np.sqrt(3)) * speed**3 / radius**2
    return (speed**2 / radius if ends else 0.0 * variation), variation


def squared_variation(distance: Any, speed: Any, acceleration: Any, jerk: Any) -> Any:
    """Variation of a squared distance D = |r|²: |D⃛| = |2 r·r⃛ + 6 ṙ·r̈| ≤ 2 |r| j + 6 V A."""
    return 2 * distance * jerk + 6 * speed * acceleration


# --- from distances to rows -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Clearance:
    """x = ±(d − d_safe) with ẋ = J v + residual and ẍ = J a + drift [QO21, Eqs. (4.2), (4.4), (4.5)]; minus for
    keep-in.

    The rows are J v ≥ first_order_bound(x, …) − residual, and J a ≥ second_order_bound(x, ẋ, …) − drift: that is (4.1)
    and (4.6), and for keep-in (4.7) and (4.8).
    """

    value: Array
    rate: Array
    J: Array
    residual: Array  # ζ_safe
    drift: Array  # J̇ v + ζ̇_safe

    @classmethod
    def of(
        cls, now: DistanceValues, v: Array, safe: Any = 0.0, safe_rate: Any = 0.0, safe_acceleration: Any = 0.0, *,
        inside: Any = False,
    ) -> Clearance:  # fmt: skip
        """From measured distances.

        Args:
            safe, safe_rate, safe_acceleration: d_safe and its derivatives; of squared distances, those of d_safe².
            inside: True where the distance must stay below d_safe instead: keep-in.
        """
        sign = np.where(inside, -1.0, 1.0)
        residual = sign * (now.residual - safe_rate)
        J = sign[..., None] * now.J
        rate = sign * (now.rate(v) - safe_rate)
        drift = sign * (now.J_dot_v + now.residual_rate - safe_acceleration)
        return cls(sign * (now.value - safe), rate, J, residual, drift)
