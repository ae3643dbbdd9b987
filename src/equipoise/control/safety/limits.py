"""Limits of position, velocity and acceleration that never contradict each other at a sampled controller.

Near a limit of position a joint must still be able to brake. States from which it can are *viable*; the bounds here
keep viable states viable, and are as wide as that allows [DP18, docs/safety.md]:

    [DP18] A. Del Prete, "Joint position and velocity bounds in discrete-time acceleration/torque control of robot
           arms", IEEE Robotics and Automation Letters 3(1), 2018.

All functions work on arrays of joints with leading dimensions as batches; the bounds are free of branches and take
symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import EquipoiseError
from .piecewise import NUMBERS, Piecewise

Array = np.ndarray
HAIR = 1e-12  # rad or m: how far a joint may overshoot rather than brake in full against a velocity that is rounding
FAR = 1e9  # rad or m: as good as infinite
VIABLE = 1e-9  # rad or m, and rad/s or m/s: what rounding may take away from a viable state


class LimitError(EquipoiseError, ValueError):
    """Limits that cannot hold together at this step."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """lower ≤ x ≤ upper for each joint, and whether the state was viable: only then are the limits guaranteed."""

    lower: Array
    upper: Array
    viable: Array


def require_compatible(lower: Any, upper: Any, velocity: Any, acceleration: Any, dt: float) -> None:
    """Raise unless viable states stay viable at this step: A dt ≤ V and A dt² ≤ upper − lower, for every joint."""
    lower, upper, velocity, acceleration = np.broadcast_arrays(*map(np.asarray, (lower, upper, velocity, acceleration)))
    if not (
        (acceleration > 0).all() and np.isfinite(acceleration).all() and (velocity > 0).all() and (upper > lower).all()
    ):
        raise LimitError("wanted lower < upper, velocity > 0 and a finite acceleration > 0 for every joint")
    most = np.minimum(velocity / dt, (upper - lower) / dt**2)
    wrong = np.flatnonzero(acceleration > most * (1 + 1e-12))
    if wrong.size:
        i = wrong[0]
        raise LimitError(
            f"joint {i}: an acceleration of {acceleration.flat[i]:.6g} held for {dt:.6g} s passes its limits of "
            "velocity "
            f"({velocity.flat[i]:.6g}) or position ({lower.flat[i]:.6g} … {upper.flat[i]:.6g}) in one step. Count on "
            f"at most {most.flat[i]:.6g}, or run faster."
        )


def viable(q: Any, v: Any, lower: Any, upper: Any, velocity: Any, acceleration: Any, tolerance: float = 0.0) -> Any:
    """Whether the limits can be kept from here: inside them, and slow enough to brake, v² ≤ 2 A · (room ahead)."""
    ways = [_stoppable(room, w, velocity, acceleration, tolerance) for room, w in ((upper - q, v), (q - lower, -v))]
    return ways[0] & ways[1]


def _stoppable(room: Array, v: Array, velocity: Any, A: Any, tolerance: float) -> Array:
    most = np.minimum(np.sqrt(np.maximum(room + tolerance, 0.0) * (2 * A)), velocity) + tolerance
    return (v <= most) & (room >= -tolerance)


@dataclass(frozen=True, eq=False)
class JointBounds:
    """`acceleration_bounds` of fixed limits, checked once by `require_compatible`: for inner loops.

    A joint's way down is a second joint's way up: limits are kept for both ways at once, shape (2 n,).
    """

    limit: Array
    velocity: Array
    acceleration: Array
    dt: float

    @classmethod
    def of(cls, lower: Any, upper: Any, velocity: Any, acceleration: Any, dt: float) -> JointBounds:
        """From limits of n joints; numbers or shape (n,)."""
        require_compatible(lower, upper, velocity, acceleration, dt)
        return cls._unchecked(_arrays(lower, upper, velocity, acceleration), dt)

    @classmethod
    def _unchecked(cls, limits: Sequence[Array], dt: float) -> JointBounds:
        lower, upper, V, A = limits
        limit, V, A = (np.concatenate(x, axis=-1) for x in ((upper, -lower), (V, V), (A, A)))
        return cls(limit, V, A, dt)

    def __call__(self, q: Array, v: Array) -> Bounds:
        """Bounds at (…, n) positions and velocities."""
        n, A = np.shape(q)[-1], self.acceleration
        room, towards = self.limit - np.concatenate((q, -q), axis=-1), np.concatenate((v, -v), axis=-1)
        most = np.minimum(np.maximum(_most(room, towards, self.velocity, A, self.dt, NUMBERS), -A), A)
        low, high = -most[..., n:], most[..., :n]
        if (low > high).any():
            low, high = _settled(low, high, v, A[..., :n], self.dt, NUMBERS)
        ways = _stoppable(room, towards, self.velocity, A, VIABLE)
        return Bounds(low, high, ways[..., :n] & ways[..., n:])


def acceleration_bounds(q: Any, v: Any, lower: Any, upper: Any, velocity: Any, acceleration: Any, dt: float) -> Bounds:
    """Accelerations, held for dt, during and after which all limits hold, and can be held for ever.

    From viable states lower ≤ upper, if `require_compatible` holds. From others, the joint brakes or returns as hard as
    it may.

    Args:
        lower, upper, velocity: limits; infinite where there are none.
        acceleration: A > 0, finite: what the joint can do everywhere, and against any load; see `braking_capability`.
        dt: s.
    """
    q, v, *limits = _arrays(q, v, lower, upper, velocity, acceleration)
    return JointBounds._unchecked(limits, dt)(q, v)


def _arrays(*given: Any) -> Sequence[Array]:
    return np.broadcast_arrays(*(np.atleast_1d(x).astype(float) for x in given))


def acceleration_interval(
    q: Any, v: Any, lower: Any, upper: Any, velocity: Any, acceleration: Any, dt: float, m: Piecewise = NUMBERS,
    most: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """(lower, upper) of `acceleration_bounds`, without branches, for symbols.

    Args:
        most: ≥ A, by which the joint may be accelerated where no limit is near; A if None.
    """
    A = acceleration
    most = A if most is None else most
    high = m.larger(m.smaller(_most(upper - q, v, velocity, A, dt, m), most), -A)
    low = m.smaller(m.larger(-_most(q - lower, -v, velocity, A, dt, m), -most), A)
    return _settled(low, high, v, A, dt, m)


def _settled(low: Any, high: Any, v: Any, A: Any, dt: float, m: Piecewise) -> tuple[Any, Any]:
    """Bounds that contradict each other, as only states that are not viable have them, become the stop nearest to
    both."""
    stop = m.smaller(m.larger(v * (-1 / dt), -A), A)
    return m.smaller(low, m.larger(high, m.smaller(low, stop))), m.larger(high, m.smaller(low, m.larger(high, stop)))


def _most(room: Any, v: Any, velocity: Any, A: Any, dt: float, m: Piecewise) -> Any:
    """The largest acceleration towards a limit that is `room` away.

    With c = room − v dt / 2 ≥ 0 the joint may still move at the end of the step, with a velocity w for which the way so
    far and the way to brake, dt (v + w) / 2 + w² / 2A, fill the room. With c < 0 it must turn back within the step, at
    the limit: a = −v² / 2 room. Outside, it must come back.
    """
    half = v * (dt / 2)
    w = A * (m.sqrt(dt**2 / 4 + (2 / A) * m.larger(room - half, 0.0)) - dt / 2)
    back = m.smaller(m.larger(-room, 0.0) * (0.5 / dt), velocity)
    turn = v * m.larger(half / m.larger(room, HAIR) - 1, 0.0)
    return (m.smaller(w - back - turn, velocity) - v) / dt


def velocity_bounds(
    q: Any, lower: Any, upper: Any, velocity: Any, dt: float, *, previous: Any = None, acceleration: Any = None,
    m: Piecewise = NUMBERS,
) -> tuple[Any, Any]:  # fmt: skip
    """Velocities, held for dt, after which all limits hold and can be held for ever.

    A velocity that falls by A dt in each step needs the way max over n of dt (n v − A dt n (n − 1) / 2), so that the
    fastest admissible one is piecewise linear in the room ahead: exact, not an estimate.

    Args:
        previous: velocity of the step before, from which `acceleration` A lets it change by A dt; both or neither.
    """
    if (previous is None) != (acceleration is None):
        raise LimitError("velocity_bounds: give both `previous` and `acceleration`, or neither")
    high = m.larger(m.smaller(_fastest(upper - q, acceleration, dt, m), velocity), -velocity)
    low = m.smaller(m.larger(-_fastest(q - lower, acceleration, dt, m), -velocity), velocity)
    if acceleration is None:
        return low, high
    change = acceleration * dt
    high, low = (m.larger(m.smaller(x, previous + change), previous - change) for x in (high, low))
    return low, high


def _fastest(room: Any, A: Any, dt: float, m: Piecewise) -> Any:
    """The largest velocity towards a limit; negative outside: half of the way back in a step."""
    outside = m.smaller(room, 0.0) / (2 * dt)
    room = m.smaller(m.larger(room, 0.0), FAR)
    if A is None:
        return room / dt + outside
    steps = m.larger(m.ceil((m.sqrt(1 + (8 / (A * dt**2)) * room) - 1) / 2), 1.0)
    return room / (steps * dt) + (A * dt / 2) * (steps - 1) + outside


def braking_capability(M: Array, bias: Array, effort: Array, shape: Array | None = None) -> Array:
    """Accelerations A such that **every** |a_i| ≤ A_i is within the torque limits: M a + bias, worst case over the box.

        A = λ · shape,    λ = min over rows i of (effort_i − |bias_i|) / Σ_j |M_ij| shape_j

    Exact at the given states, and no more than that: viability needs an A that holds wherever the robot will be, so
    give a batch of the states it may visit (the smallest λ of all is taken) and leave a reserve. At a single state it
    tells whether the A that was chosen can be given *now*. Joints of infinite effort (a free base) have no row; of them
    the caller must know that contacts can carry what the joints do.

    Args:
        M: mass matrices, shape (…, n, n). bias: C v + g, (…, n). effort: (n,).
        shape: (n,), accelerations of the joints relative to each other; equal if None.
    """
    shape = np.ones(M.shape[-1]) if shape is None else np.asarray(shape, dtype=float)
    limited = np.isfinite(effort)
    if not limited.any():
        raise LimitError("braking_capability: no joint has a limit of effort")
    needed = (np.abs(M) @ shape)[..., limited]
    ratio = (np.asarray(effort)[limited] - np.abs(bias)[..., limited]) / needed
    if not ratio.min() > 0:
        i = np.flatnonzero(limited)[int(np.argmin(ratio.reshape(-1, ratio.shape[-1]).min(axis=0)))]
        raise LimitError(
            f"joint {i}: gravity and velocities alone take all of its effort of {effort[i]:.6g}; nothing is left to "
            "brake with"
        )
    return ratio.min() * shape
