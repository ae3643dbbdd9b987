"""A user's program that names everything public once: checked by `mypy --strict`, and run."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import equipoise as eq
from equipoise.control import Terms, VectorReference


@dataclass(frozen=True, eq=False)
class Height(eq.Task):
    """Height of a frame, m."""

    frame: str
    target: float | None = None

    def reference(self, context: eq.control.Context) -> VectorReference:
        return VectorReference(self.label, 1, scalar=True)

    def here(self, robot: eq.Robot, q: NDArray[np.float64]) -> float:
        return float(robot.pose(q, self.frame)[2, 3])

    def terms(self, scene: eq.control.Scene, reference: eq.control.NamedNumbers) -> Terms:
        J, drift = scene.jacobian(self.frame)[2, :], scene.drift(self.frame)[2]
        return Terms(
            reference.value - scene.pose(self.frame)[2, 3],
            J,
            J @ scene.v,
            drift,
            reference.rate,
            reference.acceleration,
        )


def control(robot: eq.Robot) -> NDArray[np.float64]:
    """One step of a controller with an item of each kind."""
    q, v = robot.standing(), np.zeros(robot.nv)
    feet = [name for name in robot.frames if name.endswith("_foot")]
    tasks: list[eq.Task] = [
        eq.CoMTask(gain=5.0, weight=lambda t: 1.0), eq.FrameTask("trunk", axes="orientation"), eq.PostureTask(),
        eq.MomentumTask(), eq.RelativeTask(feet[0], feet[1], weight=0.0), eq.AbsoluteTask(feet[0], feet[1], weight=0.0),
        eq.PlaneTask("trunk", weight=0.0), eq.SupportAreaTask(tuple((f, (0, 0, 0)) for f in feet), weight=0.0),
        eq.ForceTask("first", weight=1e-6), eq.TorqueTask(weight=1e-6), Height("trunk", name="height"),
    ]  # fmt: skip
    names = ["first", *feet[1:]]
    contacts: list[eq.Contact] = [
        eq.PointContact(foot, friction=0.6, name=f"{name}") for name, foot in zip(names, feet, strict=True)
    ]
    ball = eq.Sphere((3.0, 0.0, 0.5), 0.1, velocity=(0.1, 0, 0))
    constraints: list[eq.Constraint] = [
        eq.TorqueLimits(), eq.JointLimits(), eq.TorqueRate(1e4), eq.MomentumLimits(linear=1e3),
        eq.KeepOut(eq.Sphere((0, 0, 0), 0.1, "trunk"), ball, gains=eq.Gains.of_rates(5.0, 20.0)),
        eq.KeepIn(eq.Point((0, 0, 0), "trunk"), eq.Plane((0, 0, 1.0)), safe=9.0),
        eq.Cone(eq.Line((0, 0, 0), (0, 0, 1), "trunk"), eq.Line((0, 0, 0), (0, 0, 1)), angle=0.5),
        eq.CoMInSupport([(-9, -9), (9, -9), (9, 9), (-9, 9)]),
        eq.SelfCollision([(eq.Sphere((0, 0, 0), 0.01, feet[0]), eq.Capsule((0, 0, 0), (0, 0, 0.1), 0.01, feet[1]))]),
    ]  # fmt: skip
    controller = eq.WholeBodyController(robot, tasks, contacts, constraints)
    solution = controller(0.0, q, v)
    controller.set("height", gain=3.0, target=lambda t: 0.4 + 0.01 * t)
    reason: str = solution.explain()
    return solution.torque if reason else q


def reach(robot: eq.Robot) -> bool:
    """Inverse kinematics in one call."""
    found: eq.IKSolution = eq.solve_ik(robot, {"trunk": robot.pose(robot.standing(), "trunk")})
    return bool(found)


def dynamics(robot: eq.Robot) -> float:
    """Equations of motion in other forms."""
    q, v = robot.random_state(np.random.default_rng(0))
    form: eq.EquationsOfMotion = robot.equations_of_motion(q, v).in_base(eq.Compound("trunk", "trunk"))
    energy = float(robot.kinetic_energy(q, v))
    chart = robot.equations_of_motion(q, v).in_chart(eq.charts.UnitQuaternion)
    gap = eq.distance(eq.Point((0, 0, 0), "trunk"), eq.Segment((1, 0, 0), (1, 1, 0)))
    with eq.limit_threads(1):
        return energy + float(form.M.sum()) * 0 + float(chart.M.sum()) * 0 + float(gap.squared) * 0


def errors() -> str:
    """Errors that teach."""
    try:
        eq.load("no such robot")
    except (
        eq.ModelError,
        eq.UnknownNameError,
        eq.ShapeError,
        eq.StateError,
        eq.CompileError,
        eq.ConstraintError,
    ) as error:
        return str(error)
    except eq.EquipoiseError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    warnings.simplefilter("ignore", eq.ModelWarning)
    quadruped = eq.load("quadruped")
    control(quadruped)
    dynamics(quadruped)
    reach(quadruped)
    print(errors(), eq.RobotBuilder("one").link("body", mass=1.0, inertia=(1, 1, 1)).build().nv, eq.COM, eq.__version__)
    print(
        eq.simulate,
        eq.Run,
        eq.Push,
        eq.Box,
        eq.view,
        eq.plot,
        eq.report,
        eq.Stance,
        eq.Stances,
        eq.find_posture,
        eq.MultiContact,
    )
    print(eq.convert, eq.principles, eq.dual_quaternions, eq.balance, eq.autograd, eq.study, eq.compile, eq.geometry)
    print(
        eq.ContactWarning,
        eq.Body,
        eq.BodyError,
        eq.FlatContact,
        eq.SlidingContact,
        eq.Standing,
        eq.Walking,
        eq.Estimator,
        eq.Belief,
        eq.FilterNoise,
        eq.Prior,
        eq.identify,
        eq.TouchObserver,
        eq.TouchSettings,
        eq.Sensors,
        eq.Actuators,
    )
