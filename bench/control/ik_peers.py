"""Pink and mink: velocities from one QP, two feet, centre of mass and posture as weighted tasks, limits as
inequalities.

Both build their QP in NumPy and give it to qpsolvers; the solver is DAQP, the fastest they offer here.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np

from .pinocchio_order import PinocchioOrder, rotation
from .problem import BenchProblem
from .protocol import Contender, serve

SOLVER = "daqp"


def pink(scene: dict[str, Any], solver: str = SOLVER) -> Contender:
    """Pink, on Pinocchio."""
    import pinocchio as pin
    from pink import Configuration, solve_ik
    from pink.tasks import ComTask, FrameTask, PostureTask

    problem = BenchProblem.from_plain(scene["problem"])
    costs = problem.costs
    model = pin.buildModelFromXML(scene["urdf"], pin.JointModelFreeFlyer())
    order = PinocchioOrder.of(model, scene["joints"])
    _set_limits(model, order, scene)
    data = model.createData()
    wanted = np.array(scene["q0"])
    wanted[7:] = scene["posture"]
    states = [(order.state(np.array(q), np.zeros(model.nv))[0],) for q in scene["q"]]
    tasks: list[Any] = []
    for frame in problem.feet:
        X = np.array(scene["frames"][frame])
        tasks.append(FrameTask(frame, costs.foot, costs.foot, gain=costs.gain))
        tasks[-1].set_target(pin.SE3(X[:3, :3], X[:3, 3]))
    tasks += [ComTask(costs.com, gain=costs.gain), PostureTask(costs.posture, gain=costs.gain)]
    tasks[-2].set_target(np.array(scene["com"]))
    tasks[-1].set_target(order.state(wanted, np.zeros(model.nv))[0])
    configuration = Configuration(model, data, states[0][0])

    def cycle(q: np.ndarray) -> np.ndarray:
        configuration.update(q)
        return solve_ik(configuration, tasks, problem.dt, solver=solver, damping=costs.damping, safety_break=False)

    def solution(k: int) -> dict[str, Any]:
        v = cycle(states[k][0])
        return {"status": "solved", "velocity": order.velocity_back(np.array(scene["q"][k]), v).tolist()}

    return Contender(
        cycle, states, solution, {"peer": f"Pink {version('pin-pink')}", "variables": model.nv, "solver": solver}
    )


def _set_limits(model: Any, order: PinocchioOrder, scene: dict[str, Any]) -> None:
    model.lowerPositionLimit = np.concatenate([model.lowerPositionLimit[:7], order.joints(np.array(scene["lower"]))])
    model.upperPositionLimit = np.concatenate([model.upperPositionLimit[:7], order.joints(np.array(scene["upper"]))])
    model.velocityLimit = np.concatenate([model.velocityLimit[:6], order.joints(np.array(scene["velocity"]))])


def mink(scene: dict[str, Any], solver: str = SOLVER) -> Contender:
    """mink, on MuJoCo."""
    import mink as library

    problem = BenchProblem.from_plain(scene["problem"])
    costs = problem.costs
    model = _mujoco_model(scene, problem)
    configuration = library.Configuration(model)
    at = np.array([int(model.joint(name).dofadr[0]) for name in scene["joints"]])
    states = [(_mujoco_position(np.array(q), at),) for q in scene["q"]]
    wanted = np.array(scene["q0"])
    wanted[7:] = scene["posture"]
    tasks: list[Any] = []
    for frame in problem.feet:
        tasks.append(library.FrameTask(frame, "site", costs.foot, costs.foot, gain=costs.gain))
        tasks[-1].set_target(library.SE3.from_matrix(np.array(scene["frames"][frame])))
    tasks += [library.ComTask(costs.com, gain=costs.gain), library.PostureTask(model, costs.posture, gain=costs.gain)]
    tasks[-2].set_target(np.array(scene["com"]))
    tasks[-1].set_target(_mujoco_position(wanted, at))
    limits = [
        library.ConfigurationLimit(model),
        library.VelocityLimit(model, dict(zip(scene["joints"], scene["velocity"], strict=True))),
    ]

    def cycle(q: np.ndarray) -> np.ndarray:
        configuration.update(q)
        return library.solve_ik(configuration, tasks, problem.dt, solver, damping=costs.damping, limits=limits)

    def solution(k: int) -> dict[str, Any]:
        v, R = cycle(states[k][0]), rotation(np.array(scene["q"][k][3:7]))
        return {"status": "solved", "velocity": np.concatenate([v[:3], R @ v[3:6], v[at]]).tolist()}

    return Contender(
        cycle, states, solution, {"peer": f"mink {version('mink')}", "variables": model.nv, "solver": solver}
    )


def _mujoco_model(scene: dict[str, Any], problem: BenchProblem) -> Any:
    import mujoco

    spec = mujoco.MjSpec.from_string(scene["urdf"])
    root = spec.worldbody.first_body()
    if not root.joints:
        root.add_freejoint()
    for frame, link in problem.feet.items():
        spec.body(link).add_site(name=frame, pos=problem.sole[0])
    model = spec.compile()
    for name, lower, upper in zip(scene["joints"], scene["lower"], scene["upper"], strict=True):
        model.joint(name).range[:] = lower, upper
    return model


def _mujoco_position(q: np.ndarray, at: np.ndarray) -> np.ndarray:
    theirs = np.concatenate([q[:7], np.empty(len(at))])
    theirs[at + 1] = q[7:]  # one number more in q than in v, for the base
    return theirs


PEERS = {"pink": pink, "mink": mink}

if __name__ == "__main__":
    import sys

    serve(lambda scene: PEERS[sys.argv[1]](scene, *sys.argv[2:]))
