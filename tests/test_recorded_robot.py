"""Recorded refusals of robots, kernels, forms and conversions, next to what is just accepted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi
import numpy as np
import pytest
import records
from support import load

import equipoise as eq
from equipoise import dual_quaternions as dq
from equipoise.algebra import least_squares, quaternions, rigid
from equipoise.autograd import functions
from equipoise.equations.symbols import SX
from equipoise.forms import charts, constrained
from equipoise.forms.representations import acceleration, from_mixed, jacobian, twist, wrench
from equipoise.machine.store import kernel_of
from equipoise.machine.trace import trace

NAN, INF = float("nan"), float("inf")
X = np.array([[0.0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]])
V, A = np.arange(1.0, 7), np.arange(6.0, 0, -1)
HALF = np.array([0.5, 0.5, 0.5, 0.5])


def arm() -> eq.Robot:
    return load("arm6")


def quadruped() -> eq.Robot:
    return load("quadruped")


def standing(scale: float = 1.0) -> np.ndarray:
    q = quadruped().standing().copy()
    q[3:7] *= scale
    return q


def two(x: Any, y: Any) -> Any:
    """Sum and product by a kernel of two arguments of two numbers."""
    symbols = {"x": SX.sym("x", 2), "y": SX.sym("y", 2)}
    outputs = {"sum": symbols["x"] + symbols["y"], "product": symbols["x"] * symbols["y"]}
    return kernel_of(trace("two", symbols, outputs, shapes={"sum": (2,), "product": (2,)}))(x, y)


def form(base: Any = None, representation: str = "mixed") -> Any:
    q = standing()
    return quadruped().equations_of_motion(q, np.ones(18)).in_base(base).in_representation(representation)


def held(**options: Any) -> Any:
    given = {"M": np.diag([1.0, 2, 3]), "h": np.ones(3), "A": np.array([[1.0, 1, 0]]), "b": np.array([0.5])} | options
    return constrained.ConstrainedDynamics(**given)


def written(rho: Any, dimension: int, **options: Any) -> Any:
    return eq.charts.Chart(rho, dimension, **options).at(np.zeros(dimension)).X


CALLS: dict[str, Callable[[], Any]] = {
    # kernels
    "one number": lambda: arm().gravity(1.0),
    "five": lambda: arm().gravity(np.zeros(5)),
    "many": lambda: arm().bias_force(np.zeros(6), np.zeros(5)),
    "joints only": lambda: quadruped().inverse_dynamics(standing(), np.zeros(12), np.zeros(18)),
    "joints only, a": lambda: quadruped().inverse_dynamics(standing(), np.zeros(18), np.zeros(12)),
    "joints only, tau": lambda: quadruped().forward_dynamics(standing(), np.zeros(18), np.zeros(12)),
    "batches": lambda: arm().bias_force(np.zeros((2, 6)), np.zeros((3, 6))),
    "NaN": lambda: arm().gravity(np.array([0, NAN, 0, 0, 0, INF])),
    "NaN in a batch": lambda: arm().gravity(np.diag([0, NAN, 0, 0, 0, 0.0])),
    "infinite": lambda: arm().gravity(np.array([0, 0, 0, 0, 0, -INF])),
    "long quaternion": lambda: quadruped().com(standing(1 + 1.1e-6)),
    "all but long": lambda: quadruped().com(standing(1 + 0.9e-6)),
    "short quaternion": lambda: quadruped().com(np.stack([standing(), standing(1 - 1.1e-6)])),
    "two in a batch": lambda: quadruped().com(np.stack([standing(2.0), standing(3.0)])),
    "whole numbers": lambda: arm().gravity([0, 0, 1, 0, 0, 0]),
    "single": lambda: arm().gravity(np.zeros(6, np.float32)).dtype.name,
    "one single": lambda: arm().bias_force(np.zeros(6, np.float32), np.zeros(6)).dtype.name,
    "half": lambda: arm().gravity(np.zeros(6, np.float16)).dtype.name,
    "out": lambda: arm().gravity(np.zeros(6), out=np.ones(6)),
    "out of five": lambda: arm().gravity(np.zeros(6), out=np.ones(5)),
    "out single": lambda: arm().gravity(np.zeros(6), out=np.ones(6, np.float32)),
    "out of text": lambda: arm().gravity(np.zeros(6), out="here"),
    "out read-only": lambda: arm().gravity(np.zeros(6), out=np.broadcast_to(1.0, 6)),
    "out backwards": lambda: arm().gravity(np.zeros(6), out=np.ones(6)[::-1]),
    "no batch": lambda: arm().gravity(np.zeros((0, 6))).shape,
    "two results": lambda: two([1.0, 2], [3, 4]),
    "broadcast": lambda: [x.shape for x in two(np.ones((3, 1, 2)), np.ones((4, 2)))],
    # robots
    "quantity": lambda: arm().kernel("levity"),
    "representation": lambda: arm().kernel("mass_matrix", None, "world"),
    "no frame": lambda: arm().kernel("pose"),
    "frame": lambda: arm().pose(np.zeros(6), "nose"),
    "no frames": lambda: arm().poses(np.zeros(6), []),
    "poses": lambda: arm().poses(np.zeros(6), ["tool", "link_1"]).sum(axis=0),
    "friction of five": lambda: arm().joint_friction(np.zeros(5)),
    "friction": lambda: arm().joint_friction(np.arange(-2.0, 4)),
    "springs of five": lambda: arm().spring_force(np.zeros(5)),
    "springs": lambda: arm().spring_force(np.zeros((2, 6))),
    "wrench of five": lambda: arm().inverse_dynamics(np.zeros(6), np.zeros(6), np.zeros(6), {"tool": np.zeros(5)}),
    "wrench": lambda: (
        arm().inverse_dynamics(np.zeros(6), np.zeros(6), np.zeros(6), {"tool": np.ones(6)}) - arm().gravity(np.zeros(6))
    ),
    "compile": lambda: eq.compile(lambda robot, x: 2 * x, arm(), x=2)(np.ones(2)),
    "compile without a size": lambda: eq.compile(lambda robot, x: x, arm()),
    "compile with another": lambda: eq.compile(lambda robot, q: q, arm(), x=2),
    "compile nothing": lambda: eq.compile(lambda robot: SX(1), arm()),
    "compile with symbols": lambda: eq.compile(lambda robot, q: q + SX.sym("hidden"), arm()),
    "compile sizes": lambda: [
        a.size for a in eq.compile(lambda robot, q, v, a, tau, q1: q + q1 + v + a + tau, arm()).program.inputs
    ],
    "operation": lambda: trace("f", {"x": (x := SX.sym("x"))}, {"y": casadi.erf(x)}),
    "nothing to trace": lambda: trace("f", {}, {"y": SX(1)}),
    # forms
    "mixed": lambda: from_mixed(X, "mixed"),
    "body": lambda: from_mixed(X, "body"),
    "inertial": lambda: from_mixed(X, "inertial"),
    "spatial": lambda: from_mixed(X, "spatial"),
    "no pose": lambda: from_mixed(np.eye(3), "body"),
    "twists": lambda: [twist(X, V, a, b) for a in ("mixed", "body", "inertial") for b in ("mixed", "body", "inertial")],
    "wrenches": lambda: [wrench(X, V, "mixed", b) for b in ("body", "inertial")],
    "accelerations": lambda: [
        acceleration(X, V, A, a, b) for a in ("mixed", "body", "inertial") for b in ("mixed", "body", "inertial")
    ],
    "jacobians": lambda: jacobian(X, np.outer(V, A), "body", "inertial"),
    "base": lambda: [form("trunk").M, form("front_left_foot", "body").g],
    "base G": lambda: form(eq.COM).M,
    "base E[F]": lambda: form(eq.Compound(eq.COM, "trunk"), "inertial").g,
    "base of an arm": lambda: arm().equations_of_motion(np.zeros(6), np.zeros(6)).in_base("tool"),
    "base unknown": lambda: form("nose"),
    "base up": lambda: form("trunk", "up"),
    "chart of an arm": lambda: arm().equations_of_motion(np.zeros(6), np.zeros(6)).in_chart(eq.charts.UnitQuaternion),
    "chart of a hinge": lambda: (
        quadruped().equations_of_motion(standing(), np.ones(18)).in_chart({"front_left_knee": eq.charts.UnitQuaternion})
    ),
    "no chart": lambda: quadruped().equations_of_motion(standing(), np.ones(18)).in_chart({}),
    "chart of G": lambda: form(eq.COM).in_chart(eq.charts.RollPitchYaw),
    "chart": lambda: quadruped().equations_of_motion(standing(), np.ones(18)).in_chart(eq.charts.RollPitchYaw).g,
    "chart of two numbers": lambda: written(lambda t: np.eye(3), 2),
    "chart of a row": lambda: written(lambda t: casadi.vertcat(t, 1, 1), 3),
    "chart that branches": lambda: written(lambda t: np.eye(3) * (1 if isinstance(t, np.ndarray) else 2), 3),
    "chart, four": lambda: eq.charts.UnitQuaternion().at(np.zeros(3)),
    "chart, parameters": lambda: [
        charts.as_instance(c).parameters(X)
        for c in (eq.charts.UnitQuaternion, eq.charts.RollPitchYaw, eq.charts.DualQuaternion, eq.charts.RotationMatrix)
    ],
    "chart's own parameters": lambda: eq.charts.Chart(lambda t: eq.charts.RollPitchYaw().rho(t), 3).parameters(X),
    "principle": lambda: eq.principles.inverse_dynamics(arm(), np.zeros(6), np.zeros(6), np.zeros(6), "hamilton"),
    "held": lambda: [
        held().acceleration(np.ones(3)),
        held().multipliers(np.ones(3)),
        held().rank,
        held().null_projector,
        held().constraint_inertia,
    ],
    "held, tau": lambda: held().acceleration(np.ones(2)),
    "held, h": lambda: held(h=np.ones(2)),
    "held, batches": lambda: held(h=np.ones((2, 3)), b=np.ones((3, 1))),
    "held, NaN": lambda: held(b=[NAN]),
    "held, M": lambda: held(M=np.ones(3)),
    "held, contradiction": lambda: held(A=np.array([[1.0, 1, 0], [2, 2, 0]]), b=np.array([1.0, 1.0])).acceleration(
        np.zeros(3)
    ),
    "held, repeated": lambda: held(A=np.array([[1.0, 1, 0], [2, 2, 0]]), b=np.array([1.0, 2.0])).multipliers(
        np.zeros(3)
    ),
    "held, no inertia": lambda: held(M=np.diag([1.0, 1, 0])).acceleration(np.zeros(3)),
    "held, inertia by a row": lambda: held(M=np.diag([1.0, 1, 0]), A=np.array([[0.0, 0, 1]])).acceleration(np.zeros(3)),
    # algebra
    "conjugate of nothing": lambda: dq.DQ(np.zeros(8)).inv,
    "DQ of seven": lambda: dq.DQ(np.zeros(7)),
    "DQ of text": lambda: dq.DQ(["a"] * 8),
    "translation of two": lambda: dq.translation((1, 2)),
    "pose of none": lambda: dq.log(dq.DQ(np.arange(8.0))),
    "matrix of three": lambda: dq.from_matrix(np.eye(3)),
    "axes": lambda: dq.derivative(dq.from_matrix(X), dq.twist(V), "inner"),
    "derivatives": lambda: [dq.derivative(dq.from_matrix(X), dq.twist(V), axes).vec8 for axes in ("outer", "body")],
    "twist of": lambda: [dq.twist_of(dq.from_matrix(X), dq.twist(V), axes).vec8 for axes in ("outer", "body")],
    "log": lambda: [
        dq.log(dq.from_matrix(X)).vec8,
        dq.screw_log(dq.from_matrix(X)).vec8,
        dq.power(dq.from_matrix(X), 0.3).vec8,
        dq.screw_power(dq.from_matrix(X), 0.3).vec8,
        dq.DQ(np.arange(8.0)).normalised.vec8,
    ],
    "near one": lambda: [dq.log(dq.rotation((0, 0, 1), a)).vec8 for a in (0.0, 1e-9, 1e-5, 1e-3, np.pi, -3.0)],
    "exp": lambda: [dq.exp(dq.log(dq.from_matrix(X))).vec8, dq.screw_exp(dq.screw_log(dq.from_matrix(X))).vec8],
    "matrices": lambda: [
        dq.hamiplus8(dq.from_matrix(X)),
        dq.haminus4(dq.quaternion(HALF)),
        dq.adjoint(dq.from_matrix(X)),
        dq.cross_matrix4(dq.pure(V[:3])),
    ],
    "cross": lambda: [
        dq.cross(dq.pure(V), dq.pure(A)).vec8,
        dq.dot(dq.pure(V), dq.pure(A)).vec8,
        dq.Ad(dq.from_matrix(X), dq.pure(V)).vec8,
        (-dq.pure(V)).vec8,
        dq.twist_array(dq.twist(V)),
        dq.wrench(A).vec8,
    ],
    "all but a pose": lambda: dq.log(dq.DQ((1 + 9e-7) * dq.from_matrix(X).vec8)).vec8,
    "hardly a pose": lambda: dq.log(dq.DQ((1 + 1.2e-6) * dq.from_matrix(X).vec8)).vec8,
    "rotations": lambda: [
        quaternions.from_rotation(np.asarray(quaternions.rotation(tuple(h / np.linalg.norm(h)))))
        for h in np.vstack([np.eye(4), HALF, [0.1, 1, 2, 3], [0.1, 3, -2, 1], [0.1, 1, 3, -2], [-2, 0.5, 0.1, 0.3]])
    ],
    "inverse": lambda: rigid.inverse(X),
    "skew": lambda: rigid.skew(V[:3]),
    "poses are": lambda: [rigid.is_pose(X + d * np.eye(4, k=1)) for d in (0.0, 9e-7, 1.2e-6, NAN)],
    "pseudo-inverse": lambda: [
        least_squares.pseudo_inverse(np.array([[1.0, 2], [2, 4.0 + d]]), 0.0) for d in (0.0, 1e-3)
    ],
    "damped": lambda: least_squares.pseudo_inverse(np.array([[1.0, 2], [2, 4]]), 0.5),
    "null space": lambda: least_squares.null_space_projector(np.array([[1.0, 2, 0], [2, 4, 1e-12]])),
    # gradients
    "shapes": lambda: functions.batch_of(functions.integrate(arm()), [(2, 6), (3, 1, 6), (2,)]),
    "shape of five": lambda: functions.batch_of(functions.com(arm()), [(2, 5)]),
    "shape of none": lambda: functions.batch_of(functions.com(arm()), [()]),
    "shapes apart": lambda: functions.batch_of(functions.difference(arm()), [(2, 6), (3, 6)]),
    "functions": lambda: [
        [f.name, list(f.arguments), list(f.sizes), list(f.shape), f.length]
        for f in (
            make(quadruped())
            for make in (
                functions.inverse_dynamics,
                functions.forward_dynamics,
                functions.integrate,
                functions.difference,
                functions.com,
                functions.momentum,
                functions.potential_energy,
            )
        )
    ],
    "gradients": lambda: [
        [
            J @ np.ones(J.shape[-1])
            for J in f.jacobians(*[arm_state[:6] if name != "dt" else np.array([0.3]) for name in f.arguments])
        ]
        for arm_state in [np.sin(np.arange(6.0))]
        for f in (
            make(arm())
            for make in (
                functions.inverse_dynamics,
                functions.forward_dynamics,
                functions.integrate,
                functions.difference,
                functions.com,
                functions.momentum,
                functions.potential_energy,
            )
        )
    ],
    "gradients of frames": lambda: [
        [J @ np.ones(J.shape[-1]) for J in f.jacobians(*[np.sin(np.arange(6.0))] * len(f.arguments))]
        for f in (functions.pose(arm(), "tool"), functions.velocity(arm(), "tool"))
    ],
}


@pytest.mark.delicate
def test_recorded_robot():
    records.check("robot", {name: records.answer(call) for name, call in CALLS.items()}, rtol=1e-6, atol=1e-8)
