"""Plans the next step: its place, its time and the centre of pressure until then, by one quadratic program.

In the axes of the stance foot, let ξ be the present capture point and σ = e^(ω T) for the time T until the load
transfer. With the centre of pressure at δ until then, ξ becomes δ + (ξ − δ) σ. The next foot is set down at u, and ξ
is then at the offset b from it:

    u + b = ξ σ − y,      y = (σ − 1) δ                                      [KHMR20], with δ = 0

Place, time and pressure multiply each other, but in the unknowns (u, σ, y, b) everything is linear: a centre of
pressure within the sole, N δ ≤ d, is N y ≤ (σ − 1) d; bounds on the time bound σ; the reach of the legs bounds u. The
bounds on b express capturability: if ξ is no farther from the next foot than the longest and quickest steps can catch,
the robot can stop [KHMR20]. These bounds are relaxed first if not all constraints can hold, by the least violation.

    minimise  w_u |u − u_to|² + w_σ (σ/σ_to − 1)² + w_b |b − b_to|² + w_δ |y / (σ_to − 1)|²
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np

from ..control.qp import CompiledSolver
from .gait import Gait
from .swing import QUINTIC

Array = np.ndarray
UX, UY, SIGMA, YX, YY, BX, BY = range(7)
WEIGHTS = {"place": 1.0, "time": 0.025, "offset": 30.0, "pressure": 2.0}  # costs per m², except that of the time
BRAKING = 1.5  # largest acceleration of a quintic that stops after half the distance v T, in units of v / T
NEAREST = 0.005  # m; distance by which a foot about to land may still be moved


@dataclass(frozen=True)
class StepPlan:
    """A planned step in the stance foot's axes.

    Attributes:
        place: (2,) m, of the next foot. seconds: until the load transfer.
        pressure: (2,) m, centre of pressure until then. offset: (2,) m, of ξ from the next foot at that time.
        excess: m, distance of the offset from its capturable bounds; 0 if the robot can still stop.
    """

    place: Array
    seconds: float
    pressure: Array
    offset: Array
    excess: float


@dataclass(frozen=True)
class Flight:
    """The swing foot in the axes of the stance foot.

    Attributes:
        place: (2,) m. velocity: (2,) m/s. seconds: until touchdown by the last plan. wait: s, from touchdown to the
            load transfer. quick: fraction of the gait's largest accelerations that the foot may use.
    """

    place: Array
    velocity: Array
    seconds: float
    wait: float
    quick: float = 1.0


@dataclass(frozen=True)
class Wish:
    """The nominal step, without disturbances.

    Attributes:
        place: (2,) m. seconds: until the load transfer. offset: (2,) m, of ξ from the next foot at that time.
        firm: factor on the usual weight of the place; larger for a tread, which cannot be moved.
    """

    place: Array
    seconds: float
    offset: Array
    firm: float = 1.0


def capturable(gait: Gait, side: float) -> tuple[Array, Array]:
    """Returns (lower, upper) bounds of the offset b of ξ from a foot just set down on `side` (1 left, −1 right).

    Along x the longest step keeps b constant: b = L / (σ − 1). Sideways, let w be the distance between the feet,
    from the nearest to the widest, and d the offset towards the other foot: d' = w − d σ. The offsets d that can be
    kept bounded for ever are those between (σ w_min − w_max) / (σ² − 1) and (σ w_max − w_min) / (σ² − 1). σ belongs
    to the quickest such steps.
    """
    reach, (along, aside) = gait.reach, growths(gait)
    inward = (aside * reach.widest - reach.nearest) / (aside**2 - 1)
    outward = (aside * reach.nearest - reach.widest) / (aside**2 - 1)
    y = sorted((-side * inward, -side * outward))
    return np.array([-reach.behind / (along - 1), y[0]]), np.array([reach.ahead / (along - 1), y[1]])


def growths(gait: Gait) -> tuple[float, float]:
    """Returns σ of the quickest steps, forward and sideways, which last as long as a foot needs from one end of its
    reach to the other.
    """
    far = gait.reach.ahead + gait.reach.behind, gait.reach.widest - gait.reach.nearest
    times = [gait.hurried + (QUINTIC * d / float(a)) ** 0.5 for d, a in zip(far, gait.push_off, strict=True)]
    along, aside = (exp(gait.rate * max(gait.shortest, T)) for T in times)
    return along, aside


class StepPlanner:
    """The quadratic program of a step; one planner for each swing foot.

    Args:
        gait: gait of the body. side: 1 if the left foot swings, −1 if the right one does.
        sole: (4, 2) corners of the stance foot's sole for the centre of pressure, in its axes, counter-clockwise.
    """

    def __init__(self, gait: Gait, side: float, sole: Array) -> None:
        self.gait, self.side = gait, side
        normals, offsets = gait.reach.rows(side)
        n, m = len(offsets), len(sole)
        self._sole = slice(n, n + m)
        self._sigma, self._offset, self._near = n + m, slice(n + m + 1, n + m + 3), slice(n + m + 3, n + m + 7)
        classes = np.zeros(n + m + 7, dtype=int)
        classes[self._near], classes[self._offset] = 1, 2
        self.solver = CompiledSolver(7, (7,), n_E=2, n_A=n + m + 7, classes_A=classes, regularisation=1e-9)
        data = self.solver.data
        data["A"][:n, [UX, UY]] = normals
        data["lower"][:n], data["upper"][:n] = -np.inf, offsets
        edges = np.roll(sole, -1, axis=0) - sole
        outward = np.stack([edges[:, 1], -edges[:, 0]], axis=1) / np.linalg.norm(edges, axis=1)[:, None]
        self._edges, self._outward = (outward * sole).sum(axis=1), outward
        self._push_off = np.tile(gait.push_off, 2) / QUINTIC
        data["A"][self._sole, YX : YY + 1] = outward
        data["lower"][self._sole] = -np.inf
        data["A"][self._sigma, SIGMA] = 1.0
        data["A"][self._offset, BX : BY + 1] = np.eye(2)
        data["lower"][self._offset], data["upper"][self._offset] = capturable(gait, side)
        data["A"][self._near, UX : UY + 1] = np.concatenate([np.eye(2), -np.eye(2)])
        data["lower"][self._near] = -np.inf
        data["E"][:, [UX, UY]] = data["E"][:, [BX, BY]] = data["E"][:, [YX, YY]] = np.eye(2)

    def plan(
        self,
        xi: Array,
        wish: Wish,
        earliest: float,
        latest: float,
        foot: Flight,
        used: float = 1.0,
        around: Array | None = None,
    ) -> StepPlan | None:
        """Returns the plan for the rest of the step, or None if the program has no solution.

        Args:
            xi: (2,) m, in the stance foot's axes. wish: nominal step.
            earliest, latest: s, from now, bounds on the time of the load transfer.
            foot: swing foot. used: fraction of the sole for the centre of pressure, around its middle or around a
                place, (2,) m, of it.
        """
        data, rate = self.solver.data, self.gait.rate
        edges = used * self._edges if around is None else used * self._edges + self._outward @ around
        data["A"][self._sole, SIGMA] = data["upper"][self._sole] = -edges
        braking = BRAKING * float(np.max(np.abs(foot.velocity) / (foot.quick * self.gait.push_off))) + foot.wait
        earliest = min(max(earliest, braking), latest)
        sigma_to = exp(rate * min(max(wish.seconds, earliest, 1e-3), latest))
        data["E"][:, SIGMA] = -xi
        data["lower"][self._sigma], data["upper"][self._sigma] = exp(rate * earliest), exp(rate * latest)
        self._bound_flight(foot)
        self._costs(wish, sigma_to)
        result = self.solver.solve()
        x = result.x
        if not np.isfinite(x).all():
            return None
        sigma = max(float(x[SIGMA]), 1.0 + 1e-9)
        excess = float(np.abs(result.excess[2:][self._offset]).max())
        return StepPlan(x[[UX, UY]], log(sigma) / rate, x[[YX, YY]] / (sigma - 1), x[[BX, BY]], excess)

    def _bound_flight(self, foot: Flight) -> None:
        """Bounds the distance that the foot travels in T, x + v T / 2 ± a T² / k, linearised in σ at the time left by
        the last plan.
        """
        data, rate, a = self.solver.data, self.gait.rate, foot.quick * self._push_off
        air = max(foot.seconds, 0.02)
        sigma = exp(rate * (foot.seconds + foot.wait))
        (x, y), (vx, vy) = foot.place.tolist(), (foot.velocity / 2).tolist()
        drift = np.array([vx, vy, -vx, -vy])
        slope = (drift + 2 * a * air) / (rate * sigma)
        data["A"][self._near, SIGMA] = -slope
        data["upper"][self._near] = np.array([x, y, -x, -y]) + drift * air + a * air**2 + NEAREST - slope * sigma

    def _costs(self, wish: Wish, sigma_to: float) -> None:
        place, time, offset, pressure = (sqrt(WEIGHTS[name]) for name in ("place", "time", "offset", "pressure"))
        place, time, pressure = place * sqrt(wish.firm), time / sigma_to, pressure / max(sigma_to - 1, 0.05)
        scales = np.array([place, place, time, pressure, pressure, offset, offset])
        np.fill_diagonal(self.solver.data["R"], scales)
        self.solver.data["r"][:] = scales * np.array([*wish.place, sigma_to, 0.0, 0.0, *wish.offset])
