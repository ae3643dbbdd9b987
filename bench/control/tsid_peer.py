"""TSID: inverse dynamics as one QP over accelerations and corner forces, solved by eiquadprog."""

from __future__ import annotations

from typing import Any

import numpy as np

from .pinocchio_order import PinocchioOrder
from .problem import BenchProblem, Gain
from .protocol import Contender, serve


class Tsid:
    """The formulation, built once."""

    pin: Any
    tsid: Any
    scene: dict[str, Any]
    hard: bool
    problem: BenchProblem
    robot: Any
    order: PinocchioOrder
    form: Any
    solver: Any

    def __init__(self, scene: dict[str, Any], *, hard: bool = True) -> None:
        import pinocchio as pin
        import tsid.tsid_pywrap as tsid

        self.pin, self.tsid, self.scene, self.hard = pin, tsid, scene, hard
        self.problem = BenchProblem.from_plain(scene["problem"])
        model = pin.buildModelFromXML(scene["urdf"], pin.JointModelFreeFlyer())
        self.robot = tsid.RobotWrapper(model, tsid.FLOATING_BASE_SYSTEM, False)
        self.robot.setGravity(pin.Motion(np.array(self.problem.gravity), np.zeros(3)))
        self.order = PinocchioOrder.of(model, scene["joints"])
        self.form = tsid.InverseDynamicsFormulationAccForce("wbc", self.robot, False)
        self.kept: list[Any] = []  # TSID keeps references, not copies
        q0, _ = self.order.state(np.array(scene["q0"]), np.zeros(self.robot.nv))
        self.form.computeProblemData(0.0, q0, np.zeros(self.robot.nv))
        for frame in self.problem.feet:
            self._contact(frame)
        for frame in self.problem.hands:
            self._hand(frame)
        self._com_and_posture()
        self._limits()
        self.solver = tsid.SolverHQuadProgFast("solver")
        self.solver.resize(self.form.nVar, self.form.nEq, self.form.nIn)

    def _contact(self, frame: str) -> None:
        p = self.problem
        corners = np.asfortranarray(np.array(p.corners).T)
        contact = self.tsid.Contact6d(
            frame, self.robot, frame, corners, np.array([0, 0, 1.0]), p.friction, *p.normal_force
        )
        _set_gains(contact, p.contact, 6)
        contact.setReference(self._pose(frame))
        contact.setForceReference(np.zeros(6))
        contact.setRegularizationTaskWeightVector(np.ones(6))
        self.form.addRigidContact(contact, p.force_weight, p.contact.weight, 0 if self.hard else 1)
        self.kept.append(contact)

    def _hand(self, frame: str) -> None:
        task = self.tsid.TaskSE3Equality(frame, self.robot, frame)
        _set_gains(task, self.problem.hand, 6)
        sample = self.tsid.TrajectorySE3Constant(f"{frame} reference", self._pose(frame)).computeNext()
        task.setReference(sample)
        self.form.addMotionTask(task, self.problem.hand.weight, 1, 0.0)
        self.kept.append(task)

    def _com_and_posture(self) -> None:
        com = self.tsid.TaskComEquality("com", self.robot)
        posture = self.tsid.TaskJointPosture("posture", self.robot)
        n = self.robot.nv - 6
        for task, gain, size, wanted in (
            (com, self.problem.com, 3, np.array(self.scene["com"])),
            (posture, self.problem.joints, n, self.order.joints(np.array(self.scene["posture"]))),
        ):
            _set_gains(task, gain, size)
            task.setReference(self.tsid.TrajectoryEuclidianConstant("reference", wanted).computeNext())
            self.form.addMotionTask(task, gain.weight, 1, 0.0)
            self.kept.append(task)

    def _limits(self) -> None:
        effort, velocity, lower, upper = (
            self.order.joints(np.array(self.scene[name])) for name in ("effort", "velocity", "lower", "upper")
        )
        torque = self.tsid.TaskActuationBounds("torque", self.robot)
        torque.setBounds(-effort, effort)
        self.form.addActuationTask(torque, 1.0, 0, 0.0)
        if self.problem.position_limits:
            bounds = self.tsid.TaskJointPosVelAccBounds("joints", self.robot, self.problem.dt, False)
            bounds.setPositionBounds(lower, upper)
            bounds.setVelocityBounds(velocity)
            bounds.setAccelerationBounds(np.full(len(velocity), 1e4))
            bounds.setImposeBounds(True, True, True, False)
        else:
            bounds = self.tsid.TaskJointBounds("joints", self.robot, self.problem.dt)
            bounds.setVelocityBounds(-velocity, velocity)
        self.form.addMotionTask(bounds, 1.0, 0, 0.0)
        self.kept += [torque, bounds]

    def _pose(self, frame: str) -> Any:
        X = np.array(self.scene["frames"][frame])
        return self.pin.SE3(X[:3, :3], X[:3, 3])

    def solve(self, q: np.ndarray, v: np.ndarray) -> Any:
        data = self.form.computeProblemData(0.0, q, v)
        return self.solver.solve(data)

    def cycle(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.form.getActuatorForces(self.solve(q, v))

    def solution(self, k: int) -> dict[str, Any]:
        q, v = np.array(self.scene["q"][k]), np.array(self.scene["v"][k])
        out = self.solve(*self.order.state(q, v))
        if out.status != 0:
            return {"status": f"TSID's status {out.status}"}
        tau, a = self.form.getActuatorForces(out), self.form.getAccelerations(out)
        corners = {frame: self.form.getContactForce(frame, out).reshape(4, 3).tolist() for frame in self.problem.feet}
        return {
            "status": "solved",
            "torque": self.order.joints_back(tau).tolist(),
            "acceleration": self.order.acceleration_back(q, v, np.array(a)).tolist(),
            "corners": corners,
        }


def _set_gains(task: Any, gain: Gain, size: int) -> None:
    task.setKp(gain.kp * np.ones(size))
    task.setKd(gain.kd * np.ones(size))


def build(scene: dict[str, Any], *, hard: bool = True) -> Contender:
    """TSID on a scene; `hard`: contacts are equalities, else they are weighted in the cost."""
    from importlib.metadata import version

    tsid = Tsid(scene, hard=hard)
    states = [tsid.order.state(np.array(q), np.array(v)) for q, v in zip(scene["q"], scene["v"], strict=True)]
    form = tsid.form
    sizes = {"variables": form.nVar, "equalities": form.nEq, "inequalities": form.nIn}
    return Contender(tsid.cycle, states, tsid.solution, {"peer": f"TSID {version('tsid')}", **sizes})


if __name__ == "__main__":
    import sys

    serve(lambda scene: build(scene, hard="soft" not in sys.argv[1:]))
