"""Short runs with scripted torques on every plant, and a run as plain data: for records."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from things import FEET, HALF, SOLE, ball, crate, mixture, quadruped

import equipoise as eq
from equipoise.simulate.run import Run
from equipoise.simulate.world import Box, gaps, solids

SLOPE = eq.Plane((0.2, -0.1, 0.97), -0.01)
THINGS = {
    "level ground": {},
    "no ground": dict(ground=None),
    "a slope": dict(ground=SLOPE),
    "a ball beside": dict(ground=None, obstacles=[eq.Sphere((0.05, 0.02, -0.3), 0.3)]),
    "a capsule below": dict(ground=None, obstacles=[eq.Capsule((-0.3, 0.1, -0.06), (0.5, -0.2, -0.02), 0.05)]),
    "a turned box": dict(obstacles=[Box((0.4, 0.3, 0.2), (0.1, 0.05, -0.1), (0.1, -0.05, 0.4))]),
}
MOVING = {
    "a rising ball": dict(ground=None, obstacles=[eq.Sphere((0.05, 0.02, -0.3), 0.3, velocity=(0.1, 0.0, 0.4))]),
    "a turning box": dict(
        obstacles=[Box((0.4, 0.3, 0.2), (0.1, 0, -0.1), (0, 0.02, 0.3), (0.1, 0.2, 0.3, 0.5, -0.4, 1.0))]
    ),
    "a drifting capsule": dict(
        obstacles=[eq.Capsule((-0.3, 0.1, -0.06), (0.5, -0.2, -0.02), 0.05, velocity=(0.0, 0.3, 0.2))]
    ),
}  # fmt: skip
PLANTS = {
    "ideal": ("ideal", {}),
    "ideal that rebounds": ("ideal", dict(restitution=0.6)),
    "ideal midpoint": ("ideal", dict(integrator="midpoint")),
    "ideal euler": ("ideal", dict(integrator="euler", friction=0.1)),
    "hard": ("hard", {}),
    "hard that rebounds": ("hard", dict(restitution=0.5, substeps=2, friction=0.3)),
    "soft": ("soft", {}),
    "soft linear": ("soft", dict(law="linear", friction=0.3)),
    "soft plate": ("soft", dict(law="plate", substeps=2)),
    "soft and coarse": ("soft", dict(stiffness=1e5, damping=1e5, exponent=1.3, slip_speed=0.01, tolerance=np.inf)),
    "mujoco": ("mujoco", {}),
    "mujoco in substeps": (
        "mujoco",
        dict(substeps=3, friction=0.2, solref=(0.02, 0.8), solimp=(0.9, 0.95, 0.01, 0.5, 2)),
    ),
}  # fmt: skip


def tumbling(robot: eq.Robot, height: float) -> tuple[np.ndarray, np.ndarray]:
    """A start near the ground, a little turned, that falls and turns."""
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[:7] = [0.01, -0.02, height, 0.998, 0.03, -0.05, 0.02]
    q[3:7] /= np.linalg.norm(q[3:7])
    v[:6] = [0.3, -0.2, -0.4, 0.5, -0.3, 0.8]
    return q, v


def scripted(robot: eq.Robot, size: float = 1.0) -> Any:
    """Torques that are sines of time, different for each joint; none on the base."""
    rates = np.arange(robot.nv)
    joints = np.where(robot.actuated, size, 0.0)

    def controller(t: float, q: np.ndarray, v: np.ndarray) -> Any:
        return SimpleNamespace(torque=joints * np.sin(20 * t + rates))

    return controller


def crate_run(plant: str, world: dict[str, Any], **options: Any) -> Run:
    """The crate thrown on things."""
    robot = crate()
    q, v = tumbling(robot, HALF)
    for _ in range(5 if world.get("ground", True) or world.get("obstacles") else 0):
        R, p = robot.pose(q, "crate")[:3, :3], q[:3]
        solid = solids(world.get("obstacles", ()), world.get("ground", True))
        q[2] += 0.001 - gaps(solid, np.array(SOLE) @ R.T + p, 0.0).distance.min()
    seconds = 0.02 if plant == "soft" else 0.05
    options = dict(contacts=[("crate", SOLE)], duration=seconds, dt=2e-3, fall=None, q0=q, v0=v) | options
    push = [dict(frame="crate", force=(3.0, -2.0, 5.0), torque=(0.1, 0.2, -0.3), start=0.012, duration=0.006)]
    return eq.simulate(robot, scripted(robot), plant, pushes=push, **options, **world)


def dog_run(plant: str, **options: Any) -> Run:
    """The quadruped dropped on its feet, its joints driven to and fro."""
    robot = quadruped()
    q = robot.standing()
    q[2] += 0.004
    options = dict(contacts=FEET, duration=0.04, dt=1e-3, q0=q, v0=None) | options
    return eq.simulate(robot, scripted(robot, 15.0), plant, **options)


def mixed_run(plant: str, **options: Any) -> Run:
    """All joint types in flight, with a ball as its only contact."""
    robot = mixture()
    q, v = robot.random_state(np.random.default_rng(3))
    options = dict(contacts=["puck"], duration=0.03, dt=1e-3, q0=q, v0=0.3 * v, fall=None) | options
    return eq.simulate(robot, scripted(robot, 2.0), plant, **options)


def ball_run(plant: str, **options: Any) -> Run:
    """A ball that falls and slides."""
    robot = ball()
    q = robot.neutral()
    q[2] = 0.003
    options = dict(contacts=["ball"], duration=0.04, dt=2e-3, q0=q, v0=np.array([0.5, 0.1, -0.2, 0, 0, 3.0])) | options
    return eq.simulate(robot, scripted(robot), plant, fall=None, **options)


def run_data(run: Run) -> dict[str, Any]:
    """What a run holds, but for times of the processor."""
    arrays = {name: getattr(run, name) for name in ("q", "v", "torque", "acceleration", "com")}
    names = "forces measured task_errors margins readings estimates references outlines sensing scenario".split()
    given = {name: dict(getattr(run, name)) for name in names if getattr(run, name)}
    last = {"last q": run.q[-1], "last v": run.v[-1], "rows": len(run.t), "t": run.t[[0, -1]], "seed": run.seed}
    told = [f"{t:.4g}: {text}" for t, text in run.events]
    contacts = {name: [c.frame, c.friction, *np.ravel(c.points)] for name, c in run.contacts.items()}
    return arrays | given | last | {"events": told, "phases": run.phases, "outcome": run.outcome,
                                    "statuses": sorted(set(run.statuses.tolist())), "contacts": contacts}  # fmt: skip
