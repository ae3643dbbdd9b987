"""PlaCo: its DynamicsSolver, with planar contacts as six-dimensional wrenches and equalities eliminated."""

from __future__ import annotations

from typing import Any

import numpy as np

from .pinocchio_order import PinocchioOrder
from .problem import BenchProblem, Gain
from .protocol import Contender, serve


class Placo:
    """The solver with its tasks, built once."""

    scene: dict[str, Any]
    problem: BenchProblem
    robot: Any
    order: PinocchioOrder
    solver: Any
    contacts: dict[str, Any]

    def __init__(self, scene: dict[str, Any], *, hard: bool = True) -> None:
        import placo

        self.scene, self.problem = scene, BenchProblem.from_plain(scene["problem"])
        self.robot = placo.RobotWrapper("robot.urdf", placo.Flags.ignore_collisions, scene["urdf"])
        self.robot.set_gravity(np.array(self.problem.gravity))
        self.order = PinocchioOrder.of(self.robot.model, scene["joints"])
        self.solver = placo.DynamicsSolver(self.robot)
        self.solver.dt = self.problem.dt
        self.solver.torque_cost = 0.0
        self.contacts = {frame: self._contact(frame, hard) for frame in self.problem.feet}
        self._tasks()
        self._limits()

    def _frame(self, frame: str, gain: Gain) -> Any:
        task = self.solver.add_frame_task(frame, np.array(self.scene["frames"][frame]))
        for part in (task.position(), task.orientation()):
            part.kp, part.kd = gain.kp, gain.kd
        return task

    def _contact(self, frame: str, hard: bool) -> Any:
        p = self.problem
        task = self._frame(frame, p.contact)
        task.configure(frame, "hard" if hard else "soft", p.contact.weight, p.contact.weight)
        contact = self.solver.add_planar_contact(task)
        contact.length, contact.width = 2 * p.sole[1][0], 2 * p.sole[1][1]
        contact.mu = p.friction
        contact.weight_forces = contact.weight_moments = p.force_weight
        contact.weight_tangentials = 0.0  # they would be counted twice
        return contact

    def _tasks(self) -> None:
        p = self.problem
        for frame in p.hands:
            self._frame(frame, p.hand).configure(frame, "soft", p.hand.weight, p.hand.weight)
        com = self.solver.add_com_task(np.array(self.scene["com"]))
        com.configure("com", "soft", p.com.weight)
        com.kp, com.kd = p.com.kp, p.com.kd
        posture = self.solver.add_joints_task()
        posture.set_joints(dict(zip(self.scene["joints"], self.scene["posture"], strict=True)))
        posture.configure("posture", "soft", p.joints.weight)
        posture.kp, posture.kd = p.joints.kp, p.joints.kd

    def _limits(self) -> None:
        for k, name in enumerate(self.scene["joints"]):
            self.robot.set_torque_limit(name, self.scene["effort"][k])
            self.robot.set_velocity_limit(name, self.scene["velocity"][k])
            self.solver.set_torque_limit(name, self.scene["effort"][k])
        self.solver.enable_torque_limits(True)
        self.solver.enable_velocity_limits(True)
        self.solver.enable_joint_limits(self.problem.position_limits)

    def solve(self, q: np.ndarray, v: np.ndarray) -> Any:
        self.robot.state.q = q
        self.robot.state.qd = v
        self.robot.update_kinematics()
        return self.solver.solve(False)

    def cycle(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.solve(q, v).tau

    def solution(self, k: int) -> dict[str, Any]:
        q, v = np.array(self.scene["q"][k]), np.array(self.scene["v"][k])
        out = self.solve(*self.order.state(q, v))
        if not out.success:
            return {"status": "PlaCo found no solution"}
        return {
            "status": "solved",
            "torque": self.order.joints_back(out.tau[6:]).tolist(),
            "acceleration": self.order.acceleration_back(q, v, np.array(out.qdd)).tolist(),
            "wrenches": {frame: self._wrench(frame).tolist() for frame in self.contacts},
        }

    def _wrench(self, frame: str) -> np.ndarray:
        """In world axes; PlaCo's is in the sole's."""
        R = np.array(self.robot.get_T_world_frame(frame))[:3, :3]
        F = np.array(self.contacts[frame].wrench)
        return np.concatenate([R @ F[:3], R @ F[3:]])


def build(scene: dict[str, Any], *, hard: bool = True) -> Contender:
    """PlaCo on a scene; `hard`: contacts are equalities, else they are weighted in the cost."""
    from importlib.metadata import version

    placo = Placo(scene, hard=hard)
    states = [placo.order.state(np.array(q), np.array(v)) for q, v in zip(scene["q"], scene["v"], strict=True)]
    placo.cycle(*states[0])
    qp = placo.solver.problem
    sizes = {"variables": qp.n_variables, "equalities": qp.n_equalities, "inequalities": qp.n_inequalities}
    return Contender(placo.cycle, states, placo.solution, {"peer": f"PlaCo {version('placo')}", **sizes})


if __name__ == "__main__":
    import sys

    serve(lambda scene: build(scene, hard="soft" not in sys.argv[1:]))
