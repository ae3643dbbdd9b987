"""Our side of the benchmark: the problem's numbers, in our words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from equipoise.control.constraints import JointLimits, SelfCollision, TorqueLimits
from equipoise.control.contacts import FlatContact
from equipoise.control.controller.controller import WholeBodyController
from equipoise.control.tasks import CoMTask, FrameTask, PostureTask, Task
from equipoise.geometry.collisions import self_collision_pairs

from .problem import Gain
from .protocol import Contender
from .scene import BenchScene

PAIRS = 100  # of the robot with itself


def contenders(on: BenchScene) -> dict[str, Callable[[], Contender]]:
    """What takes part on this scene."""
    if on.problem.level == "velocity":
        return {"Equipoise": lambda: _velocities(on)}
    made = {"Equipoise": lambda: _torques(on, "weighted")}
    if on.problem.hands:
        made["Equipoise, three strict levels"] = lambda: _torques(on, "strict")
        made[f"Equipoise, {PAIRS} self-collision pairs"] = lambda: _torques(on, "weighted", pairs=PAIRS)
    return made


def _gains(gain: Gain) -> dict[str, Any]:
    return {"weight": gain.weight, "stiffness": gain.kp, "damping": gain.kd}


def _torques(on: BenchScene, priorities: str, pairs: int = 0) -> Contender:
    p = on.problem
    posture = np.concatenate([on.q0[:7], on.posture])
    tasks: list[Task] = [CoMTask(on.com, **_gains(p.com)), PostureTask(posture, priority=2, **_gains(p.joints))]
    tasks += [FrameTask(hand, on.frames[hand], priority=1, **_gains(p.hand)) for hand in p.hands]
    least, most = p.normal_force
    contacts = [
        FlatContact(foot, corners=p.corners, friction=p.friction, inner=False, min_force=least, max_force=most,
                    stiffness=p.contact.kp, damping=p.contact.kd)
        for foot in p.feet
    ]  # fmt: skip
    limits: list[Any] = [
        TorqueLimits(limits=on.effort),
        JointLimits(1e4, position=p.position_limits, velocity=on.velocity),
    ]
    if pairs:
        limits.append(SelfCollision(_nearest_pairs(on, pairs)))
    controller = WholeBodyController(
        on.robot, tasks, contacts, limits, priorities=priorities, dt=p.dt, force_weight=p.force_weight
    )
    controller(0.0, on.q0, np.zeros(on.robot.nv))
    return _contender(on, controller)


def _nearest_pairs(on: BenchScene, count: int) -> list[Any]:
    """The pairs nearest to each other in the posture, which is the hardest choice: they get rows."""
    from equipoise.geometry.pairs import PairSet

    pairs = self_collision_pairs(on.robot)
    order = np.argsort(PairSet(on.robot, tuple(pairs)).distances(on.q0))
    return [pairs[k] for k in order[:count]]


def _velocities(on: BenchScene) -> Contender:
    p, c = on.problem, on.problem.costs
    gain = c.gain / p.dt
    tasks: list[Task] = [FrameTask(foot, on.frames[foot], weight=c.foot**2, gain=gain) for foot in p.feet]
    posture = np.concatenate([on.q0[:7], on.posture])
    tasks += [CoMTask(on.com, weight=c.com**2, gain=gain), PostureTask(posture, weight=c.posture**2, gain=gain)]
    limits = [JointLimits(1e4, velocity=on.velocity)]
    return _contender(
        on, WholeBodyController(on.robot, tasks, (), limits, level="velocity", dt=p.dt, motion_weight=c.damping)
    )


def _contender(on: BenchScene, controller: WholeBodyController) -> Contender:
    states = list(zip(on.q, on.v, strict=True))

    def cycle(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        solution = controller(0.0, q, v)
        return solution.torque if controller.level == "torque" else solution.velocity

    def solution(k: int) -> dict[str, Any]:
        made = controller(0.0, *states[k])
        return {
            "status": "solved" if made.status.ok else made.status.value,
            "torque": made.torque[6:].tolist(),
            "acceleration": made.acceleration.tolist(),
            "velocity": made.velocity.tolist(),
            "wrenches": {name: wrench.tolist() for name, wrench in made.forces.items()},
        }

    return Contender(cycle, states, solution, {"peer": "Equipoise", "variables": controller.layout.unknowns})
