"""[EB98] On the computation and control of the mass center of articulated chains.

The centre of mass, its motion and the forces are those of `ReferenceState`: sums over the links of the description.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from ..balance import (
    all_chains,
    close_loops,
    closure,
    equivalent_chain,
    gravity_torques,
    kinetic_jacobian,
    loop_constraints,
    projected_dynamics,
    reduced_dynamics,
)
from ..balance.com_dynamics import null_space_rows
from ..robot import Robot, RobotBuilder, load
from .reference import ReferenceState, path, rate, second_rate
from .robots import one_of_each_joint, tree
from .rows import Figure, Row, agree, equal, exactly, largest, shown_by, small

Array = np.ndarray
# [EB98, Fig. 2]: lengths in sixths of a link, and rows of the coefficients of (q₁, q₂, q₃) in q₁', q₂', q₃'
SIX_CHAINS = {
    (5, 3, 1): ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    (5, 1, 3): ((1, 0, 0), (0, 1, 1), (0, 0, -1)),
    (3, 5, 1): ((1, 1, 0), (0, -1, 0), (0, 1, 1)),
    (3, 1, 5): ((1, 1, 0), (0, 0, 1), (0, -1, -1)),
    (1, 3, 5): ((1, 1, 1), (0, 0, -1), (0, -1, 0)),
    (1, 5, 3): ((1, 1, 1), (0, -1, -1), (0, 1, 0)),
}


def states(robot: Robot, count: int) -> list[tuple[Array, Array]]:
    rng = np.random.default_rng(0)
    return [robot.random_state(rng) for _ in range(count)]


def _along(robot: Robot, at: Callable[[float], Array], name: str, t: float) -> Any:
    """A quantity of the reference on a path."""
    return getattr(ReferenceState(robot, at(t)), name)


def _follows(what: str, robot: Robot, count: int = 4) -> Iterator[Figure]:
    """The end of a chain is the mass of the robot: place, velocity, acceleration and potential energy."""
    chain, errors = equivalent_chain(robot).robot, []
    for q, v in states(robot, count):
        now = ReferenceState(robot, q, v)
        end, moved, J = chain.pose(q, "com")[:3, 3], chain.velocity(q, v, "com")[:3], chain.jacobian(q, "com")[:3]
        torques, bias = (chain.gravity(q) - now.g) / now.mass, chain.bias_acceleration(q, v, "com")[:3]
        velocity_and_J = np.column_stack([moved - now.com_jacobian @ v, J - now.com_jacobian])
        apart = end - now.com, velocity_and_J, bias - now.com_bias, torques
        errors.append([largest(x) for x in apart])
    place, velocity, acceleration, weight = np.max(errors, axis=0)
    yield small(f"{what}: end of the chain − Σ m c / m", place, 1e-12)
    yield small(f"{what}: its velocity and Jacobian − those of the mass", velocity, 1e-11)
    yield small(f"{what}: its J̇v − that of the mass", acceleration, 1e-10)
    yield small(f"{what}: gravity torques of the chain − those of the robot, per kg", weight, 1e-11)


# --- E1, E2, E3 -------------------------------------------------------------------------------------------------------


def serial() -> Iterator[Figure]:
    arm = load("planar_chain", lengths=[1.0, 1.0, 1.0], masses=[1.0, 1.0, 1.0])
    found, error = {}, 0.0
    for chain in all_chains(arm):
        found[tuple(round(6 * x) for x in chain.lengths)] = chain.angles
        for q, _ in states(arm, 3):
            error = max(error, largest(chain.robot.pose(q, "com")[:3, 3] - ReferenceState(arm, q).com))
    yield equal("lengths of the six chains of the planar example [Fig. 2]", sorted(found), sorted(SIX_CHAINS))
    angles = largest([np.asarray(found[key]) - SIX_CHAINS[key] for key in SIX_CHAINS if key in found])
    yield small("their angles q' [Fig. 2]", angles, 1e-12)
    yield small("their end points − the mass", error, 1e-12)
    yield from _follows("seven joints", load("arm7"))
    kinds = ("", "revolute", "prismatic", "revolute")
    yield from _follows("revolute, prismatic, revolute", tree((-1, 0, 1, 2), kinds, np.random.default_rng(9)))


def _star(half: float, branches: Sequence[int], tilt: float = 0.0) -> Robot:
    """Branches of so many equal links, of length 2 `half` and 1.5 kg, from one root, each joint tilted against the
    last."""
    builder = RobotBuilder("star", floating=False).link("root")
    leans = (tilt, -0.7 * tilt, 0.4 * tilt)
    for j, count in enumerate(branches, start=1):
        for i in range(1, count + 1):
            builder.link(f"link_{i}^{j}", mass=1.5, com=(half, 0, 0), inertia=(0.02, 0.03, 0.04))
            parent, x = ("root", 0.0) if i == 1 else (f"link_{i - 1}^{j}", 2 * half)
            builder.joint(
                f"q_{i}^{j}", "revolute", parent, f"link_{i}^{j}", axis=(0, 0, 1), position=(x, 0, 0), rpy=leans
            )
    return builder.build()


def star() -> Iterator[Figure]:
    half = 0.3
    robot = _star(half, (2, 2))
    chain = equivalent_chain(robot)
    yield equal(
        "lengths in quarters of l [Sec. 3.2]", (4 * chain.lengths / half).round(9).tolist(), [3.0, 1.0, 3.0, 1.0]
    )
    angles = [] if chain.angles is None else chain.angles[2].round(9).tolist()
    yield equal("third angle: q_1² − q_1¹ − q_2¹", angles, [-1.0, -1.0, 1.0, 0.0])
    yield from _follows("star", robot)
    yield from _follows("star of unequal branches", _star(half, (3, 1, 2)))
    yield from _follows("star out of the plane", _star(half, (3, 1, 2), tilt=0.5))


def trees() -> Iterator[Figure]:
    from .eb98_biped import swing_figures

    for name in ("bimanual", "quadruped", "human"):
        yield from _follows(name, load(name), count=2)
    yield from _follows("one of each joint", one_of_each_joint(), count=2)
    rng, kinds = np.random.default_rng(8), ("", "ball", "revolute", "ball", "ball", "prismatic", "ball")
    yield from _follows("ball joints on every branch", tree((-1, 0, 1, 0, 3, 3, 1), kinds, rng), count=2)
    for count in (8, 12):
        parents = [-1, *(int(rng.integers(k)) for k in range(1, count))]
        robot = tree(parents, [str(kind) for kind in rng.choice(["revolute", "prismatic", "ball"], count)], rng)
        order = [int(segment.body.split("_")[1]) for segment in equivalent_chain(robot).segments]
        what = f"a random tree of {count - 1} joints"
        yield exactly(
            f"{what}: branches in the order of the appendix, longest first [App. A, 1, 2]",
            order == _by_the_appendix(parents, order),
            True,
        )
        yield from _follows(what, robot, count=2)
    yield from swing_figures()


def _by_the_appendix(parents: Sequence[int], order: Sequence[int]) -> list[int]:
    """Returns links branch by branch for the numbers that an order gives the terminal links, [] if step 1 forbids them.

    A branch must not be numbered before a longer one that it joins. Links of branches before it are its own no more.
    """

    def line(k: int) -> list[int]:
        return [*line(parents[k]), k] if k > 0 else []

    ends = [line(k) for k in order if k not in parents]
    longest, found = len(max(ends, key=len)), list[int]()
    for end in ends:
        new = [k for k in end if k not in found]
        joined = [len(other) for other in ends if set(other) & set(new)]
        if len(end) < max(joined) or len(ends[0]) < longest:
            return []
        found += new
    return found


# --- E4, E5 -----------------------------------------------------------------------------------------------------------


def kinetic() -> Iterator[Figure]:
    for robot in (load("arm7"), load("human"), one_of_each_joint()):
        q, v = states(robot, 1)[0]
        name, now, J, at = robot.name, ReferenceState(robot, q, v), kinetic_jacobian(robot, q), path(robot, q, v)
        yield agree(f"{name}: augmented bodies − Σ m J / m [Eq. (46)]", J, now.com_jacobian, 1e-12)
        c_dot = rate(partial(_along, robot, at, "com"))
        yield agree(f"{name}: J v against the mass by differences", J @ v, c_dot, 1e-9)


def gravity() -> Iterator[Figure]:
    """Gravity leans: all three rows of the Jacobian count."""
    leaning = (1.5, -2.0, -9.0)
    for robot in (*(load(name, gravity=leaning) for name in ("arm7", "human")), one_of_each_joint(gravity=leaning)):
        q, v = states(robot, 1)[0]
        name, at, g = robot.name, path(robot, q, v), gravity_torques(robot, q)
        yield agree(
            f"{name}: torques from the Jacobian − those of the weights [Eq. (50)]", g, ReferenceState(robot, q).g, 1e-11
        )
        power = rate(partial(_along, robot, at, "potential_energy"))
        yield agree(f"{name}: their power is the rate of potential energy", g @ v, power, 1e-8)
        yield from _other_energy(equivalent_chain(robot).robot, ReferenceState(robot, q, v))


def _other_energy(chain: Robot, now: ReferenceState) -> Iterator[Figure]:
    """[EB98, Sec. 4.3]: a chain can have the robot's potential energy, not its kinetic energy."""
    name, bodies = chain.name, sum(link.inertia is not None for link in chain.model.links.values())
    yield agree(f"{name}: potential energy [Eq. (51)]", chain.potential_energy(now.q), now.potential_energy, 1e-10)
    yield Figure(f'{name}: its links with mass; "only" is wrong', "> 1", str(bodies), bodies > 1, "only one point mass")
    ratio = float(chain.kinetic_energy(now.q, now.v) / now.kinetic_energy)
    yield Figure(
        f"{name}: kinetic energy over the robot's [Sec. 4.3]", "≠ 1 ± 1 %", f"{ratio:.3g}", abs(ratio - 1) > 0.01, "≠ 1"
    )


# --- E6: closed chains -----------------------------------------------------------------------------------------------


def closed_chains() -> Iterator[Figure]:
    yield from _held("quadruped", load("quadruped"), ("front_left_foot", "hind_right_foot"))
    yield from _held("one of each joint", one_of_each_joint(), ("trunk", "revolute_link"))
    yield from _four_bar_chain()


def _held(what: str, robot: Robot, ends: Sequence[str]) -> Iterator[Figure]:
    """Two points of a robot held in place."""
    rng = np.random.default_rng(1)
    q, v = robot.random_state(rng)
    tau, now = rng.normal(size=robot.nv), ReferenceState(robot, q, v)
    feet = [now.frame(foot) for foot in ends]
    C, s = np.concatenate([foot.J[:3] for foot in feet]), np.concatenate([foot.A[:3] for foot in feet])
    wanted = np.concatenate(now.held(tau, C, s))
    for name, dynamics in (("P", projected_dynamics), ("R", reduced_dynamics)):
        found = dynamics(robot.mass_matrix(q), robot.bias_force(q, v), C, s, tau)
        both = np.concatenate([found.acceleration, found.multipliers])
        yield agree(f"{what}, by {name}: a and λ against one system of both equations [Sec. 5.1.1]", both, wanted, 1e-8)
        yield small(
            f"{what}, by {name}: C a + s", largest(C @ found.acceleration + s) / largest(found.acceleration), 1e-10
        )
    R = null_space_rows(C)
    yield small(f"{what}: C Rᵀ [Eq. (65)]", largest(C @ R.T), 1e-10)
    yield exactly(f"{what}: rows of R", R.shape, (robot.nv - 6, robot.nv))


def four_bar() -> tuple[Robot, Array, Array]:
    """Three links whose end is held: a robot with one loop, closed, and a velocity that keeps it so."""
    arm = load("planar_chain", lengths=[0.5, 1.0, 0.8], masses=[1.0, 2.0, 1.5])
    q = np.array([1.0, 0.6, -1.9])
    robot = _pinned(arm, ReferenceState(arm, q).frame("tool").p)
    q = close_loops(robot, q + 0.05, held=["joint_1"])
    C = ReferenceState(robot, q).frame("tool").J[[0, 2]]
    return robot, q, 1.3 * np.linalg.svd(C)[2][2]


def _pinned(arm: Robot, place: Array) -> Robot:
    """An arm whose end is held at a place."""
    X = np.eye(4)
    X[:3, 3] = place
    arm = arm.with_frame("pin", next(iter(arm.links)), X)
    loops = MappingProxyType({"loop": closure(arm, "connect", "pin", "tool", "loop")})
    return Robot.from_model(replace(arm.model, loops=loops))


def _four_bar_chain() -> Iterator[Figure]:
    """[EB98, Sec. 4.4]: the equivalent of {C; h(q) = 0} is {C'; h(q) = 0}."""
    robot, q, v = four_bar()
    chain = equivalent_chain(robot)
    loops, now = chain.loops(q, v), ReferenceState(robot, q, v)
    yield exactly("a four-bar's chain carries the rows of its loop", loops.J.shape, (3, 3))
    yield small("closed: its end is on the pin", largest(now.frame("tool").p - now.frame("pin").p), 1e-11)
    tool, a = now.frame("tool"), np.array([0.4, -1.1, 0.7])
    yield agree("its rows: the pin less the end, in axes of the pin", loops.J, -tool.J[:3], 1e-11)
    yield agree("and their rate", loops.J @ a + loops.bias, -(tool.J @ a + tool.A)[:3], 1e-10)
    end = chain.robot.pose(q, "com")[:3, 3]
    yield agree("the end of the chain is the mass of the linkage", end, now.com, 1e-12)
    yield from _triangle()
    yield from _moving_loop()


def _triangle() -> Iterator[Figure]:
    """[EB98, Sec. 4.4]: the chain of Fig. 1 with its end at its origin is an equilateral triangle."""
    robot = _pinned(load("planar_chain", lengths=[1.0] * 3, masses=[1.0] * 3), np.zeros(3))
    chain, ends, wanted = equivalent_chain(robot).robot, [], []
    for turn, fold in ((0.3, 1), (-1.1, -1), (2.5, 1)):
        q = close_loops(robot, np.array([turn, 1.9 * fold, 2.3 * fold]), held=["joint_1"])
        angle = turn + fold * np.pi / 6
        ends.append(chain.pose(q, "com")[:3, 3])
        wanted.append(np.array([np.cos(angle), 0.0, np.sin(angle)]) / np.sqrt(3))
    yield agree("the chain of Fig. 1 with its end at its origin: end of its equivalent [Sec. 4.4]", ends, wanted, 1e-9)
    radius, what = np.linalg.norm(ends, axis=1), "radius of the circle on which that end moves; 1/3 is a misprint"
    good = bool(np.all(abs(radius - np.sqrt(1 / 3)) < 1e-9))
    yield Figure(what, "√3/3 = 0.577350 ± 1e-9", f"{radius.max():.6f}", good, "1/3")


def _moving_loop() -> Iterator[Figure]:
    """A loop between two links that both move: its rows are the derivatives of the gap, in axes of the first."""
    arm = one_of_each_joint()
    loops = MappingProxyType({"loop": closure(arm, "connect", "follower", "revolute_link", "loop")})
    robot = Robot.from_model(replace(arm.model, loops=loops))
    q, v = robot.random_state(np.random.default_rng(6))
    a = np.random.default_rng(7).normal(size=robot.nv)
    at, rows = path(robot, q, v, a), loop_constraints(robot, q, v)

    def gap(t: float) -> Array:
        now = ReferenceState(robot, at(t))
        return now.links["follower"].R.T @ (now.links["follower"].p - now.links["revolute_link"].p)

    yield agree("a loop of moving links: rate of its gap by differences", rows.J @ v, rate(gap), 1e-8)
    yield agree("and the second derivative", rows.J @ a + rows.bias, second_rate(gap), 1e-5)


def _pictures(*names: str) -> Callable[[], Iterator[tuple[str, Any]]]:
    """Those of `eb98_pictures`, imported when drawn."""

    def pictures() -> Iterator[tuple[str, Any]]:
        from .eb98_pictures import PICTURES

        return ((name, PICTURES[name]()) for name in names)

    return pictures


ROWS = [
    Row("E1", "EB98", "equivalent chain of a serial robot", serial),
    Row("E2", "EB98", "star-form chains", star),
    Row("E3", "EB98", "any tree", trees, _pictures("fig-8-planar-biped")),
    Row("E4", "EB98", "kinetic Jacobian by augmented bodies", kinetic, _pictures("fig-9-kinetic-jacobian")),
    Row("E5", "EB98", "gravity torques from the Jacobian of the centre of mass", gravity),
    Row("E6", "EB98", "closed chains; constrained dynamics by P and by R", closed_chains),
    Row("E7", "EB98", "decoupling control in output space", shown_by("eb98_control", "decoupling")),
    Row(
        "E8",
        "EB98",
        "centre-of-mass task first, posture or hand in its null space",
        shown_by("eb98_errors", "balance_first"),
    ),
    Row("E9", "EB98", "safe ellipse instead of a point", shown_by("eb98_errors", "safe_ellipse"), closed_loop=True),
    Row(
        "E10",
        "EB98",
        "kinematic control in both priority orders; flower and bird",
        shown_by("eb98_control", "either_order"),
        _pictures("fig-10-flower", "fig-11-bird-at-rest", "fig-12-bird"),
        closed_loop=True,
    ),
]
