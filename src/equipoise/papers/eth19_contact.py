"""[ETH19, slides 17–22] Soft and hard contact: each law by the force it gives and by the height of a ball that
bounces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..geometry.primitives import Plane
from ..robot import Robot, RobotBuilder
from ..simulate.plant import PlantState, make_plant
from .pictures import sheet
from .reference import of_quaternion
from .rows import Figure, exactly, largest, small

Array = np.ndarray
G = 9.80665
MASS = 2.0
# stiffness, damping, exponent
LAWS = {"linear": (2e4, 200.0, 1.0), "plate": (2e4, 200.0, 1.0), "nonlinear": (1e6, 2e7, 1.5)}
# of a ball that rebounds
BOUNCES = {"linear": (1e5, 225.0, 1.0), "plate": (1e5, 225.0, 1.0), "nonlinear": (2e6, 1e6, 1.5)}

# s, N downwards, on a ball from the surface: pressed in, pulled off faster than a plate follows, thrown back at it
THROWN_BACK = ((0.02, 400.0), (0.002, -1000.0), (0.0035, 1000.0))
SLOW: dict[str, Any] = {"stiffness": 2e4, "damping": 1e3}  # a plate that goes back within b / k = 50 ms


def brick_on(name: str, *, tilt: float = 0.0, v: float = 0.0, above: float = 0.0, **options: Any) -> tuple[Any, Robot]:
    """A plant with a brick on (m `above`) the ground, and the brick; the ground falls towards x by `tilt` rad."""
    brick = RobotBuilder("brick").link("brick", mass=MASS, inertia=(0.03, 0.04, 0.05)).build()
    corners = [(x, y, -0.1) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    up = np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    plant = make_plant(name, brick, [("brick", corners)], ground=Plane(up), **options)
    plant.reset(np.array([*(0.1 + above) * up, np.cos(tilt / 2), 0, np.sin(tilt / 2), 0]), np.array([v, 0, 0, 0, 0, 0]))
    return plant, brick


def soft_law(law: str, table: dict[str, tuple[float, float, float]] = LAWS) -> dict[str, Any]:
    """Options of the soft plant."""
    return {"law": law, **dict(zip(("stiffness", "damping", "exponent"), table[law], strict=True))}


def ball_on(drop: float, speed: float = 0.0, plant: str = "soft", **options: Any) -> Any:
    """A plant with a point of mass 2 kg, `drop` m above the ground and falling at `speed`."""
    ball = RobotBuilder("ball").link("ball", mass=MASS, inertia=(0.01,) * 3).build()
    made = make_plant(plant, ball, ["ball"], **options)
    made.reset(np.array([0, 0, drop, 1.0, 0, 0, 0]), np.array([0, 0, -speed, 0, 0, 0]))
    return made


# --- verdicts ---------------------------------------------------------------------------------------------------------


def contact_plants() -> Iterator[Figure]:
    for law in LAWS:
        yield from _soft(law)
    yield from _with_and_without_a_plate()
    yield from _stiffness_and_step()
    yield from _sliding()
    yield from _hard()


def _after(name: str, steps: int, **options: Any) -> tuple[Any, PlantState]:
    plant, _ = brick_on(name, **options)
    for _ in range(steps):
        state = plant.step(np.zeros(6), 1e-3)
    return plant, state


def _soft(law: str) -> Iterator[Figure]:
    k, b, n = LAWS[law]
    _, state = _after("soft", 400, **soft_law(law))
    depth = (MASS * G / 4 / k) ** (1 / n)
    yield small(
        f"soft, {law}: depth at rest against k xⁿ = mg/4 [slide 17]", abs(0.1 - state.q[2] - depth) / depth, 1e-3
    )
    x, speed = 2e-3, 0.1
    force = ball_on(-x, speed, **soft_law(law)).step(np.zeros(6), 1e-8).wrenches["ball"][2]
    wanted = x**n * (k + b * speed) if law == "nonlinear" else k * x + b * speed
    yield small(f"soft, {law}: force at 2 mm, coming at 0.1 m/s, against the slide's", abs(force / wanted - 1), 1e-4)
    force = ball_on(-x, -10.0, **soft_law(law)).step(np.zeros(6), 1e-8).wrenches["ball"][2]
    yield small(f"soft, {law}: force when it leaves fast: none pulls", abs(force), 1e-9)
    for drop in (0.1, 0.3):
        ours, exact = bounced(law, drop, 1e-3), rebound(law, drop)
        what = f"soft, {law}: height after a fall of {drop:g} m, steps of 1 ms"
        yield Figure(what, f"{exact:.5f} m ± 0.2 %", f"{ours:.5f} m", bool(abs(ours / exact - 1) < 2e-3))


def _with_and_without_a_plate() -> Iterator[Figure]:
    """Laws 1 and 2 give the same force until a point leaves faster than the plate follows, and then meets it again."""
    ends = {}
    for law in ("linear", "plate"):
        plant, dt = ball_on(0.0, law=law, **SLOW), 2.5e-5
        for seconds, force in THROWN_BACK:
            for _ in range(round(seconds / dt)):
                state = plant.step(np.array([0, 0, -force, 0, 0, 0]), dt)
        ends[law], wanted = np.array([-state.q[2], -state.v[2]]), _thrown_back(law)
        what = f"soft, {law}: depth and its rate of a ball that is pulled off and thrown back [slide 17]"
        yield Figure(
            what,
            "{:.5f} m, {:.3f} m/s ± 0.5 %".format(*wanted),
            "{:.5f} m, {:.3f} m/s".format(*ends[law]),
            bool(np.all(abs(ends[law] / wanted - 1) < 5e-3)),
        )
    apart = ends["plate"][1] - ends["linear"][1]
    yield Figure("its rate, law 2 less law 1, m/s", "> 0.1", f"{apart:.3f}", bool(apart > 0.1))
    tilt, (k, *_) = 0.1, LAWS["linear"]
    _, state = _after("soft", 400, tilt=tilt, friction=0.5, **soft_law("linear"))
    sole = state.q[:3] - 0.1 * of_quaternion(state.q[3:])[:, 2]
    along = np.cos(tilt) * sole[0] - np.sin(tilt) * sole[2]
    wanted = MASS * G * np.sin(tilt) / (4 * k)
    yield small("soft, linear: way of a sole at rest on a slope against mg sin α / 4k", abs(along / wanted - 1), 1e-2)


def _thrown_back(law: str, h: float = 2e-6) -> Array:
    """(depth, its rate) in the end by small steps of m ẍ = m g + P − F; z is the plate, b ż = −k z where it is free."""
    (k, b), x, rate, z = SLOW.values(), 0.0, 0.0, 0.0
    for seconds, force in THROWN_BACK:
        for _ in range(round(seconds / h)):
            touches = x >= (z if law == "plate" else 0.0)
            rate += h * (G + (force - (max(0.0, k * x + b * rate) if touches else 0.0)) / MASS)
            x += h * rate
            z = max(x, z - h * k / b * z)
    return np.array([x, rate])


def bounced(law: str, drop: float, dt: float, **options: Any) -> float:
    """Height of a ball after its first bounce, by the soft plant."""
    plant = ball_on(drop, **{**soft_law(law, BOUNCES), **options})
    speed = 0.0
    for _ in range(int(2.0 / dt)):
        state = plant.step(np.zeros(6), dt)
        if speed > 0 >= state.v[2]:
            break
        speed = float(state.v[2])
    return float(state.q[2] + state.v[2] ** 2 / (2 * G))


def rebound(law: str, drop: float, stiffness: float | None = None, damping: float | None = None) -> float:
    """The same by SciPy's integration of m ẍ = m g − F(x, ẋ) while F pushes, and free flight before and after."""
    from scipy.integrate import solve_ivp

    k, b, n = BOUNCES[law]
    k, b = k if stiffness is None else stiffness, b if damping is None else damping

    def force(x: float, rate: float) -> float:
        return max(x, 0.0) ** n * (k + b * rate) if law == "nonlinear" else k * x + b * rate

    def left(t: float, y: Any) -> float:
        return force(*y) if t > 1e-7 else 1.0

    left.terminal, left.direction = True, -1.0  # type: ignore[attr-defined]
    fall, longest = [0.0, float(np.sqrt(2 * G * drop))], 0.02 * float(np.sqrt(MASS / k))
    found = solve_ivp(
        lambda t, y: [y[1], G - force(*y) / MASS], (0, 1), fall, rtol=1e-10, atol=1e-13, events=left, max_step=longest
    )
    depth, rate = found.y[:, -1]
    return float(rate**2 / (2 * G) - depth)


def _stiffness_and_step() -> Iterator[Figure]:
    """[ETH19, slides 18–19]: the stiffer the ground, the smaller the step, unless errors are controlled."""
    what = "height after a bounce, error in %"
    soft, both, stiff = (100 * bounce_error(k, h, None) for k, h in ((1e3, 1e-3), (1e5, 1e-4), (1e5, 1e-3)))
    good = stiff > 5 * soft and 0.5 < both / soft < 2
    yield Figure(
        f"{what}, explicit Euler: 1e3 N/m, 1 ms; a hundred times as stiff; with a tenth of the step too [slide 19]",
        "second > 5 times, third ½ … 2 times",
        f"{soft:.1f}; {stiff:.1f}; {both:.1f}",
        good,
    )
    for name, tolerance in METHODS.items():
        errors = [100 * bounce_error(k, h, tolerance) for k in (1e3, 1e5, 1e7) for h in (1e-3, 1e-2)]
        kept = name == "controlled error"
        required = "≤ 5" if kept else "> 100"
        good = max(errors) <= 5 if kept else max(errors) > 100
        yield Figure(
            f"{what}, {name}: worst of 1e3 … 1e7 N/m, 1 and 10 ms",
            required,
            f"{max(errors):.3g}" if kept else "> 100" if good else "less",
            good,
        )


def _sliding() -> Iterator[Figure]:
    """Coulomb's law of all four: a brick pushed along comes to a stop after v²/(2 μ g)."""
    options: list[tuple[str, str, dict[str, Any]]] = [("hard", "hard", {})]
    options += [("soft", f"soft, {law}", soft_law(law)) for law in LAWS]
    for name, label, law in options:
        plant, _ = brick_on(name, v=1.0, friction=0.5, above=0.0, **law)
        for _ in range(400):
            state = plant.step(np.zeros(6), 1e-3)
        yield small(f"{label}: way to a stop against v²/(2 μ g)", abs(state.q[0] * 2 * 0.5 * G - 1.0), 2e-2)


def _hard() -> Iterator[Figure]:
    plant, _ = _after("hard", 100, v=1.0, friction=0.5)
    p, u = plant.solution.impulse, plant.solution.velocity
    yield small("hard: ṙ_n F_n [slide 20]", largest(p[:, 0] * u[:, 0]), 1e-12)
    least = float(p[:, 0].min()), float(u[:, 0].min())
    yield Figure(
        "hard: least F_n, ṙ_n", "≥ 0, > -1e-9", f"{least[0]:.1e}, {least[1]:.1e}", least[0] >= 0 and least[1] > -1e-9
    )
    slide = largest(np.linalg.norm(p[:, 1:], axis=1) - 0.5 * p[:, 0]) / largest(p[:, 0])
    yield small("hard: |F_t| − μ F_n while it slides", slide, 1e-6)
    _, state = _after("hard", 400)
    yield small(
        "hard: depth at rest, and weight carried",
        abs(state.q[2] - 0.1) + abs(state.wrenches["brick"][2] / (MASS * G) - 1),
        1e-6,
    )
    ends = [_after("hard", 100, tilt=0.4, friction=part * np.tan(0.4))[1] for part in (0.98, 1.02)]
    slides = [bool(largest(end.v) > 1e-6) for end in ends]
    yield exactly("hard: slides on a slope with μ 2 % below, 2 % above its tangent", slides, [True, False])
    ball = ball_on(0.1, plant="hard", restitution=0.8)
    heights = [ball.step(np.zeros(6), 1e-4).q[2] for _ in range(4000)]
    down = int(np.argmin(heights[:2500]))
    yield small(
        "hard: height after a bounce with e = 0.8 against e² h", abs(max(heights[down:]) / (0.64 * 0.1) - 1), 1e-2
    )


# --- pictures ---------------------------------------------------------------------------------------------------------


def pictures() -> Iterator[tuple[str, Any]]:
    yield "soft-and-hard-contact", falling_brick()
    yield "stiffness-against-step", stiffness_against_step()


def falling_brick() -> Any:
    """A brick dropped from 5 cm: what the three soft laws and the hard contact make of it [slides 17–22]."""
    picture, axes = sheet(
        "[ETH19, slides 17–22] a brick falls on the ground", ["height of its underside, mm", "force, N"], columns=2
    )
    dt = 5e-4
    plants = {f"soft, {law}": ("soft", soft_law(law)) for law in LAWS} | {"hard": ("hard", {})}
    for label, (name, options) in plants.items():
        plant, brick = brick_on(name, above=0.05, **options)
        states = [plant.step(np.zeros(brick.nv), dt) for _ in range(600)]
        t = [state.t for state in states]
        axes[0].plot(t, [1e3 * (state.q[2] - 0.1) for state in states], label=label, lw=1.2)
        axes[1].plot(t, [state.wrenches["brick"][2] if "brick" in state.wrenches else 0.0 for state in states], lw=1.0)
    axes[1].set_yscale("symlog", linthresh=100.0)
    axes[1].set_xlim(0.09, 0.16)
    for one in axes:
        one.set_xlabel("t, s")
    axes[0].legend()
    return picture


METHODS = {"explicit Euler": None, "one step": np.inf, "controlled error": 3e-4}  # tolerance of the plant


def stiffness_against_step() -> Any:
    """Which stiffness goes with which step: error of the height after a bounce, per cent; white where it is lost [slide
    19]."""
    stiffness, steps = np.logspace(3, 7, 5), np.logspace(-3.5, -2, 4)
    picture, axes = sheet(
        "[ETH19, slides 18–19] error of the height after a bounce, %", list(METHODS), columns=3, size=(3.4, 3.2)
    )
    for one, tolerance in zip(axes, METHODS.values(), strict=True):
        errors = np.array([[100 * bounce_error(k, dt, tolerance) for k in stiffness] for dt in steps])
        shown = np.log10(np.clip(errors, 1e-2, 1e2))
        mesh = one.pcolormesh(
            stiffness, steps, np.where(errors <= 100, shown, np.nan), vmin=-2, vmax=2, cmap="viridis_r"
        )
        one.set(xscale="log", yscale="log", xlabel="stiffness, N/m", ylabel="step, s")
    bar = picture.colorbar(mesh, ax=list(axes), ticks=[-2, -1, 0, 1, 2])
    bar.ax.set_yticklabels(["0.01", "0.1", "1", "10", "100"])
    return picture


def bounce_error(k: float, dt: float, tolerance: float | None, drop: float = 0.1) -> float:
    """Relative error of the height after a bounce on a linear spring with a twentieth of critical damping."""
    b = 0.1 * float(np.sqrt(k * MASS))
    exact = rebound("linear", drop, k, b)
    if tolerance is None:
        ours = _explicit(k, b, dt, drop)
    else:
        ours = bounced("linear", drop, dt, stiffness=k, damping=b, tolerance=tolerance)
    return abs(ours / exact - 1)


def _explicit(k: float, b: float, dt: float, drop: float) -> float:
    """What an explicit step makes of it: the method that the slides warn of."""
    z, speed = drop, 0.0
    for _ in range(int(2.0 / dt)):
        force = max(0.0, -k * z - b * speed) if z < 0 else 0.0
        before, z, speed = speed, z + dt * speed, speed + dt * (force / MASS - G)
        if before > 0 >= speed or not abs(z) < 1e6:
            break
    return z + speed**2 / (2 * G)
