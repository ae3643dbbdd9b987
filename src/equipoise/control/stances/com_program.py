"""A motion of the centre of mass over contacts that come and go at given times: one quadratic program.

The robot is a point mass whose spin does not change. Its contacts give what Newton and Euler ask for,

    Σ f_i = m (c̈ − g),     Σ (p_i − c) × f_i = 0                                                      [CK16]

so that, about any origin o, the wrench w = m (c̈ − g, (c − o) × (c̈ − g)) lies within the common wrench cone of the
contacts of each phase: G w ≤ d [CPN15]. The height z(t) is planned first. Level, the motion is then that of a pendulum,

    c̈ = ω² (c − p),    ω² = (g + z̈) / (z − z_ground),    ξ = c + ċ / ω,    ξ̇ = ω (ξ − p)               [EOA15]

the last at constant ω, and all of w but its yaw is linear in (c, c̈). Yaw, c_x c̈_y − c_y c̈_x, is taken linear about the
last solution. Unknowns are the accelerations at knots, linear in between: c is a cubic spline. The program draws the
pressure p to where the centre of mass rests on each phase's contacts,

    minimise   Σ h |p − p_rest|² + τ² Σ h |ṗ|²
    subject to G w ≤ d in every phase;   c, ċ given at the start;   c = c_rest, ċ = c̈ = 0 at the end

The end is the condition of capturability: what is left of a plan after any of its knots is a way to a stop within the
phases that are left. Rows of the cones come in as they are needed (cutting planes): after each solve the wrenches at
and between all knots are looked at, and the row that is exceeded most at each time joins the program, until none is.

[AVK14], [CK16], [CPN15], [EOA15] as in docs/walking.md; numbers of their equations were not at hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..qp import CompiledSolver, Result, Status
from .com_plan import CoMPlan, Phase
from .knots import TINY, knots_of

Array = np.ndarray
BETWEEN = 4  # looks from knot to knot
SMOOTH = 0.06  # s, τ: a pressure that jumps by a metre costs as much as one that is a metre off for this long
REJOIN = 0.6  # s, in which a plan is reached again at the soonest
ROUNDS = 40  # of cutting planes
CLOSE = 1e-3  # weights, by which rows are tighter than what counts as good


def plan_com(
    phases: Sequence[Phase], motion: Array, g: float, *, from_rest: bool = True, end: Array | None = None
) -> CoMPlan:
    """A motion of the centre of mass through all phases, to rest above the last.

    Args:
        motion: place and velocity of the centre of mass at the beginning, (2, 3) m, m/s.
        g: of gravity, m/s².
        from_rest: whether the acceleration is zero at the beginning.
        end: place, velocity and acceleration to end with, (3, 3), instead of a rest.
    """
    to = np.stack([phases[-1].rest, np.zeros(3), np.zeros(3)]) if end is None else end
    return CoMProgram(tuple(phases), np.asarray(motion, dtype=float), to, g, from_rest).solve()


def replan_com(plan: CoMPlan, t: float, motion: Array) -> CoMPlan:
    """A plan for a robot that at time t (s) of another one is elsewhere: back to that one at the end of one of its next
    phases, then by all that contacts can give, then by its end. A short program is solved in milliseconds.

    Args:
        motion: place and velocity of the centre of mass, (2, 3) m, m/s.
    """
    later = plan.ends[plan.ends >= t + REJOIN]
    soon = float(later[0]) if len(later) else plan.seconds
    for end, reserve in ((soon, True), (soon, False), (plan.seconds, False)):
        phases = plan.phases_between(t, end)
        phases = phases if reserve else tuple(phase.without_reserve for phase in phases)
        head = plan_com(phases, motion, plan.g, from_rest=False, end=plan.at(end))
        if head.converged:
            return plan.after(head, end)
    return head


@dataclass(eq=False)
class CoMProgram:
    """The quadratic program of one plan. Its unknowns u are level accelerations at the knots, all x before all y.

    Attributes:
        at: (L,) s, when wrenches are looked at: each knot, on both sides, and in between. look_of: (L,) their phases.
    """

    phases: tuple[Phase, ...]
    start: Array
    end: Array
    g: float
    from_rest: bool

    def __post_init__(self) -> None:
        self.knots = knots_of([phase.seconds for phase in self.phases])
        k = self.knots
        rests = np.array([phase.rest[2] for phase in self.phases])
        self.z = k.smooth(self.start[:, 2], rests, self.end[:, 2], self.from_rest)
        self.look_of = np.repeat(k.of, BETWEEN + 1)  # each interval with both of its ends: phases meet there
        self.at = at = (k.times[:-1, None] + k.steps[:, None] * np.linspace(0.0, 1.0, BETWEEN + 1)).ravel()
        self.P, self.A = k.places(at), k.accelerations(at)
        self.free = self.start[0, :2] + at[:, None] * self.start[1, :2]
        self.height = self.start[0, 2] + at * self.start[1, 2] + self.P @ self.z
        self.push = (self.g + self.A @ self.z) / self.g  # weights
        self.R, self.r = self._cost()
        self.E, self.e = self._ends()

    def solve(self) -> CoMPlan:
        """Cutting planes until no wrench is outside of its cone."""
        cuts: dict[tuple[int, int], None] = {}
        u, reason, rounds = np.zeros(2 * len(self.knots.times)), "", 0
        for rounds in range(1, ROUNDS + 1):  # noqa: B007
            result = self._solved(list(cuts), u)
            if result.status is not Status.OPTIMAL:
                reason = self._why(result)
                break
            u = result.x
            new = self._exceeded(u)
            if not new:
                break
            cuts |= dict.fromkeys(new)
        else:
            reason = f"no plan after {ROUNDS} rounds of cutting planes"
        return self.plan(u, reason, rounds, len(cuts))

    def _solved(self, cuts: list[tuple[int, int]], u: Array) -> Result:
        """The program with some rows of the cones, yaw linear about u."""
        rows, bounds = self.rows(cuts, u)
        solver = CompiledSolver(
            len(u), (len(self.r),), n_E=len(self.e), n_A=len(rows), classes_A=np.ones(len(rows)), regularisation=TINY
        )
        data = solver.data
        data["R"][:], data["r"][:], data["E"][:], data["e"][:] = self.R, self.r, self.E, self.e
        data["A"][:], data["lower"][:], data["upper"][:] = rows, -np.inf, bounds
        return solver.solve()

    def _why(self, result: Result) -> str:
        """Where the nearest that there is exceeds the cones most."""
        if not np.isfinite(result.x).all():
            return "it cannot come to rest in time"
        excess, i = max((float(excess.max()), i) for i, _, excess in self.excess(result.x))
        phase, much = self.phases[i], f"{excess:.2g} of the weight" if excess < 1 else "more than the weight"
        return f"contacts would have to give more than they can, in {phase.name!r} ({phase.seconds:.2f} s) by {much}"

    def plan(self, u: Array, reason: str = "", rounds: int = 0, cuts: int = 0) -> CoMPlan:
        """The motion with accelerations u."""
        k, n = self.knots, len(self.knots.times)
        a = np.column_stack([u[:n], u[n:], self.z])
        com = self.start[0] + k.times[:, None] * self.start[1] + k.places(k.times) @ a
        velocity = self.start[1] + k.velocities(k.times) @ a
        return CoMPlan(self.phases, self.g, k.times, k.of, com, velocity, a, reason, rounds, cuts)

    # --- cost, ends -----------------------------------------------------------------------------------------------

    def _cost(self) -> tuple[Array, Array]:
        """Rows R u ≈ r: the pressure in the middle of each interval at its place, and its rate at zero."""
        k, n = self.knots, len(self.knots.times)
        middle = (k.times[:-1] + k.times[1:]) / 2
        P, A = k.places(middle), k.accelerations(middle)
        z = self.start[0, 2] + middle * self.start[1, 2] + P @ self.z
        ground = np.array([self.phases[i].ground for i in k.of])
        stiff = ((self.g + A @ self.z) / (z - ground))[:, None]  # ω²
        weight = np.sqrt(k.steps)[:, None]
        off, rate = P - A / stiff, SMOOTH / k.steps[:, None] / stiff * np.diff(np.eye(n), axis=0)
        rest = np.array([self.phases[i].rest[:2] for i in k.of])
        to = rest - self.start[0, :2] - middle[:, None] * self.start[1, :2]
        r = np.concatenate([weight * to, np.zeros((len(rate), 2))]).T.ravel()
        return np.kron(np.eye(2), np.vstack([weight * off, weight * rate])), r

    def _ends(self) -> tuple[Array, Array]:
        """Rows of the end, and of a beginning at rest."""
        k, n, to = self.knots, len(self.knots.times), self.end[:, :2]
        rows = [k.places(k.times[-1:])[0], k.velocities(k.times[-1:])[0], np.eye(n)[-1]]
        rows += [np.eye(n)[0]] if self.from_rest else []
        E = np.kron(np.eye(2), np.array(rows))
        e = np.zeros((2, len(rows)))
        e[:, 0] = to[0] - self.start[0, :2] - k.times[-1] * self.start[1, :2]
        e[:, 1], e[:, 2] = to[1] - self.start[1, :2], to[2]
        return E, e.ravel()

    # --- cones ----------------------------------------------------------------------------------------------------

    def motion(self, u: Array) -> tuple[Array, Array]:
        """Places (L, 3) and forces by the weight (L, 3) at all looks."""
        a = u.reshape(2, -1).T
        return (
            np.column_stack([self.free + self.P @ a, self.height]),
            np.column_stack([self.A @ a / self.g, self.push]),
        )

    def excess(self, u: Array) -> Iterator[tuple[int, Array, Array]]:
        """Of each phase its index, its looks, and by how much each row of its cone is exceeded at each."""
        c, f = self.motion(u)
        for i, phase in enumerate(self.phases):
            looks = np.flatnonzero(self.look_of == i)
            w = np.concatenate([f[looks], np.cross(c[looks] - phase.wrenches.origin, f[looks])], axis=1)
            yield i, looks, phase.wrenches.excess(w)

    def _exceeded(self, u: Array) -> list[tuple[int, int]]:
        """(look, row) of each look at which some row of its cone is exceeded: the one that is most."""
        found: list[tuple[int, int]] = []
        for _, looks, excess in self.excess(u):
            worst = excess.argmax(axis=1)
            beyond = excess[np.arange(len(looks)), worst] > 0
            found += [(int(a), int(b)) for a, b in zip(looks[beyond], worst[beyond], strict=True)]
        return found

    def rows(self, cuts: list[tuple[int, int]], u: Array) -> tuple[Array, Array]:
        """Rows of the program for cuts, the yaw linear about u, and their upper bounds.

        With d = c − o and f the force, moments are d_y f_z − d_z f_y, d_z f_x − d_x f_z and d_x f_y − d_y f_x.
        """
        n = len(self.knots.times)
        if not cuts:
            return np.zeros((0, 2 * n)), np.zeros(0)
        looks, rows = (np.array(x) for x in zip(*cuts, strict=True))
        cones = [self.phases[i].wrenches for i in self.look_of[looks]]
        G = np.array([cone.G[j] for cone, j in zip(cones, rows, strict=True)])
        h = np.array([cone.h[j] for cone, j in zip(cones, rows, strict=True)])
        o = np.array([cone.origin for cone in cones])
        c, f = (x[looks] for x in self.motion(u))
        d, fz = c - o, self.push[looks]
        # slopes of G w along c_x, c_y, f_x, f_y
        cx, cy = -G[:, 4] * fz + G[:, 5] * f[:, 1], G[:, 3] * fz - G[:, 5] * f[:, 0]
        fx, fy = G[:, 0] + G[:, 4] * d[:, 2] - G[:, 5] * d[:, 1], G[:, 1] - G[:, 3] * d[:, 2] + G[:, 5] * d[:, 0]
        P, A = self.P[looks], self.A[looks] / self.g
        slopes = np.hstack([cx[:, None] * P + fx[:, None] * A, cy[:, None] * P + fy[:, None] * A])
        value = (G * np.concatenate([f, np.cross(d, f)], axis=1)).sum(axis=1)
        return slopes, h - CLOSE - value + slopes @ u
