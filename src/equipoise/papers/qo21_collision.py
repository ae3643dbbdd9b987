"""[QO21, Sec. 4.1]: an arm, commanded by torques, and an object that flies into its way; three cases.

I    the constraint is off: they collide;
II   the constraint is on, but takes the object as standing still (β_res = 0): they collide;
III  the constraint knows how the object moves: they do not.

The thesis gives the object's path, the safe distance of 0.22 m and the control law (3.5)–(3.7). It does not give the
arm, its start, its task or the gains: here the built-in six-joint arm brings its tool to a place on the object's path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..control.safety.vfi import Clearance, Gains, rigid_variation, second_order_bound, squared_variation
from ..geometry.distances import distance
from ..geometry.primitives import Point
from ..robot import Robot, load
from .pictures import LIMIT, draw, sheet
from .qo21_points import SCENES, points
from .rows import Figure, agree, equal, exactly, small

Array = np.ndarray
CASES = ("I", "II", "III")
SAFE = 0.22  # m
START, A, B, W = np.array([0.23, 0.24, 0.8]), 0.1, 0.2, 0.6  # the object's path
POSTURE = np.array([0.0, 0.2, 1.3, 0.0, 0.6, 0.0])  # rad, at the start
TARGET = np.array([0.28, -0.25, 0.8])  # m, of the tool; the object passes there at 5 s
K_P, K_D, DAMPING, ALPHA = 20.0, 10.0, 0.05, 5.0  # of the task, (3.5) and (3.6)
GAINS = Gains.of_rates(4.0, 12.0)  # 1/s
ACCELERATION, JERK = 10.0, 100.0  # m/s² and m/s³, bounds of tool and object relative to each other


@dataclass(frozen=True, eq=False)
class FlightCase:
    """What happened in one case."""

    case: str
    t: Array  # s
    distance: Array  # m, of tool and object
    q: Array
    torque: Array
    error: Array  # m, of the task

    @property
    def least(self) -> float:
        """m."""
        return float(self.distance.min())

    @property
    def collides(self) -> bool:
        """Whether the object enters the sphere of radius d_safe around the tool."""
        return self.least < SAFE


def object_motion(t: float) -> Array:
    """Place, velocity and acceleration of p_s(t) = p_s(0) − (b sin(w t) î + a t ĵ), shape (3, 3)."""
    place = START - np.array([B * np.sin(W * t), A * t, 0.0])
    rate = -np.array([B * W * np.cos(W * t), A, 0.0])
    return np.stack([place, rate, np.array([B * W**2 * np.sin(W * t), 0.0, 0.0])])


def fly(case: str, duration: float = 8.0, dt: float = 5e-3) -> FlightCase:
    """One of the three cases."""
    robot = load("arm6")
    measure = distance(Point((0, 0, 0), "tool"), Point((0, 0, 0))).on(robot)
    q, v = POSTURE, np.zeros(robot.nv)
    record: list[tuple[Any, ...]] = []
    for k in range(round(duration / dt) + 1):
        t, p = k * dt, robot.pose(q, "tool")[:3, 3]
        a = _command(robot, measure, case, t, q, v, p - TARGET, dt)
        torque = robot.inverse_dynamics(q, v, a)  # (3.7)
        gap = np.linalg.norm(p - object_motion(t)[0])
        record.append((t, gap, q, torque, np.linalg.norm(p - TARGET)))
        q, v = _held(robot, q, v, torque, dt)
    return FlightCase(case, *(np.array(column) for column in zip(*record, strict=True)))


def _command(robot: Robot, measure: Any, case: str, t: float, q: Array, v: Array, error: Array, dt: float) -> Array:
    """Task first, then little motion, both within the constraint [QO21, Eqs. (3.5), (3.6)].

    One row needs no solver: of all accelerations that satisfy it, H⁻¹ J_d is the way to the best. The row is made of
    those of the task, J_d = 2 (p − p_s)ᵀ J, so what (3.6) does in the null space of J leaves it alone.
    """
    J, bias = robot.jacobian(q, "tool")[:3], robot.bias_acceleration(q, v, "tool")[:3]
    H = J.T @ J + DAMPING**2 * np.eye(robot.nv)
    first = np.linalg.solve(H, J.T @ (-K_P * error - K_D * J @ v - bias))
    if case != "I":
        J_d, least = _row(measure, case, t, q, v, J, dt)
        way = np.linalg.solve(H, J_d)
        first = first + way * max(least - J_d @ first, 0.0) / (J_d @ way)
    return first + (np.eye(robot.nv) - np.linalg.pinv(J) @ J) @ (-ALPHA * v - first)


def _row(measure: Any, case: str, t: float, q: Array, v: Array, J: Array, dt: float) -> tuple[Array, float]:
    """J_d a ≥ least: (4.6) on the squared distance (4.20)–(4.23), with the margin for sampling."""
    motion = object_motion(t)
    if case == "II":
        motion[1:] = 0.0  # β_res = 0: known to be there, not known to move
    x = Clearance.of(measure(q, v, motion), v, SAFE**2)
    gap, speed = np.sqrt(x.value + SAFE**2), np.linalg.norm(J @ v - motion[1])
    variation = squared_variation(gap, speed, ACCELERATION, JERK)
    return x.J, float(second_order_bound(x.value, x.rate, GAINS, dt, variation=variation) - x.drift)


def _held(robot: Robot, q: Array, v: Array, torque: Array, dt: float) -> tuple[Array, Array]:
    """The state after a step with the torque held: Runge–Kutta of fourth order."""

    def slope(state: Array) -> Array:
        q, v = state.reshape(2, -1)
        return np.concatenate([v, robot.forward_dynamics(q, v, torque)])

    x = np.concatenate([q, v])
    k1 = slope(x)
    k2 = slope(x + dt / 2 * k1)
    k3 = slope(x + dt / 2 * k2)
    k4 = slope(x + dt * k3)
    q, v = (x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)).reshape(2, -1)
    return q, v


@cache
def three_cases(duration: float = 8.0, dt: float = 5e-3) -> dict[str, FlightCase]:
    """All of them, by name."""
    return {case: fly(case, duration, dt) for case in CASES}


def vector_field_inequalities() -> Iterator[Figure]:
    """Row Q4: Lemma 4.1, the guarantee between samples, and the three cases."""
    rng = np.random.default_rng(0)
    slow = rng.uniform(0.5, 5.0, 2000)
    gains = Gains.of_rates(slow, slow * rng.uniform(1.2, 5.0, slow.size))
    d, part = rng.uniform(0.1, 1.0, slow.size), rng.uniform(-2.0, 1.0, slow.size)
    rate, (r1, r2) = part * gains.fast * d, gains.roots
    t = np.linspace(0, 40 / slow, 1500)
    # (4.16)
    lowest = ((rate - d * r2) / (r1 - r2) * np.exp(r1 * t) + (d * r1 - rate) / (r1 - r2) * np.exp(r2 * t)).min(axis=0)
    clear = np.abs(part + 1) > 1e-2
    wrong = int(np.sum((gains.admits(d, rate) != (lowest >= 0)) & clear))
    yield exactly("starts of 2,000 about which the exact condition of Lemma 4.1 errs", wrong, 0)
    only = int(np.sum(gains.admits_by_thesis(d, rate) & ~gains.admits(d, rate)))
    yield exactly("starts that the thesis admits and the exact condition does not", only, 0)
    yield from _largest_variations()
    for scene in SCENES:
        outcome = points(scene, True, 1e-2, starts=500, duration=0.5)
        yield small(
            f"{outcome.admitted} starts, moving {scene}, 10 ms: depth of entry, m", max(-outcome.worst, 0.0), 1e-6
        )
        what = f"moving {scene}: most that was asked for, of what Theorem 3 allows [docs/safety.md]"
        yield Figure(what, "0.9 … 1 + 1e-6", f"{outcome.demand:.4f}", 0.9 < outcome.demand <= 1 + 1e-6)
    ends = ", ".join("collision" if flight.collides else "none" for flight in three_cases().values())
    yield equal("cases I, II, III [Sec. 4.1]", ends, "collision, collision, none")


def _largest_variations() -> Iterator[Figure]:
    """The margin for sampling is no larger than needed: d⃛ of two points that move as fast as may be, at worst."""
    radius, turn = 0.3, np.linspace(0, np.pi, 721)
    across, along = np.sin(turn), np.cos(turn)
    for words, speed, acceleration, jerk in (
        ("jerk alone", 0.0, 0.0, 5.0),
        ("speed alone", 0.7, 0.0, 0.0),
        ("all, along and across", 1e-3, 4.0, 5.0),
    ):
        # d⃛ = n·r⃛ + 3 ṙ_⊥·r̈ / |r| − 3 |ṙ_⊥|² ḋ / |r|², with r⃛ along n and r̈ across
        most = jerk + 3 * speed * across * acceleration / radius - 3 * (speed * across) ** 2 * speed * along / radius**2
        jump, variation = rigid_variation(speed, acceleration, jerk, radius, ends=True)
        found = float(variation), float(jump)
        yield agree(
            f"variation and jump of a distance, {words}: the worst case", found, [most.max(), speed**2 / radius], 1e-4
        )


def figure(flights: Mapping[str, FlightCase]) -> Any:
    """Distances of the cases over time [QO21, Fig. 4.2], as a Matplotlib figure."""
    picture, (axes,) = sheet(
        "[QO21, Fig. 4.2] tool and moving object", ["three cases of the constraint"], size=(6.0, 3.5)
    )
    for case, flight in flights.items():
        axes.plot(flight.t, flight.distance, label=f"case {case}")
    axes.axhline(SAFE, label="safe distance", **LIMIT)
    axes.set(xlabel="t, s", ylabel="d, m")
    axes.legend()
    return picture


def postures(flights: Mapping[str, FlightCase]) -> Any:
    """Returns the arm where the object comes nearest in each case, from above [QO21, Fig. 4.1]."""
    panels = [f"case {case}: {flight.least:.2f} m" for case, flight in flights.items()]
    picture, axes = sheet("[QO21, Fig. 4.1] tool and moving object, from above", panels)
    turn = np.linspace(0, 2 * np.pi, 60)
    for one, flight in zip(axes, flights.values(), strict=True):
        q = flight.q[int(np.argmin(flight.distance))]
        draw(one, load("arm6"), q, view=((1, 0, 0), (0, 1, 0)), mass=False)
        x, y, _ = np.array([object_motion(t)[0] for t in flight.t]).T
        one.plot(x, y, color="#2f9e44", lw=0.8, linestyle=":")
        one.plot(x[np.argmin(flight.distance)], y[np.argmin(flight.distance)], "o", color="#2f9e44", markersize=5)
        tool = load("arm6").pose(q, "tool")[:2, 3]
        one.plot(*(tool[:, None] + SAFE * np.array([np.cos(turn), np.sin(turn)])), **LIMIT)
    return picture


def pictures() -> Iterator[tuple[str, Any]]:
    yield "fig-4.1-postures", postures(three_cases())
    yield "fig-4.2-three-cases", figure(three_cases())
