"""The whole-body quadratic program in a chart of the base's orientation, in the three forms of [BK12, Eqs. (36)–(38)].

Unknowns are accelerations, actuator torques u and contact forces f, and all equations of motion are rows:

    minimal (36)     (a, u, f)        M a + h = Sᵀ u + Jᵀ f, with a six numbers for the base: no constraint of the chart
    projected (37)   (ÿ, u, f)        A (M ÿ + N ẏ + g − φ) = 0 and C_y ÿ + Ċ_y ẏ = 0
    multiplier (38)  (ÿ, u, f, λ)     M ÿ + N ẏ + g = φ + C_yᵀ λ and C_y ÿ + Ċ_y ẏ = 0

with y the coordinates of a chart, say a unit quaternion, and A the projector that takes λ out. They have the same a, u
and f. `WholeBodyController` solves the first after eliminating base and torques, and the second with `chart=…`, both
from one kernel; these, assembled on NumPy state by state, are for study.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...algebra.rigid import axial
from ...errors import unknown_name
from ..contacts.flat import FlatContact
from ..contacts.point import PointContact
from ..qp import DaqpSolver, QuadraticProgram, Status
from .motions import Motion

if TYPE_CHECKING:
    from ...forms.charts import Chart
    from ...robot import Robot

Array = np.ndarray
FORMS = ("minimal", "projected", "multiplier")


@dataclass(frozen=True, eq=False)
class WholeBodyProblem:
    """What the three forms share, at one state: robot, tasks, contacts, limits.

    Args:
        tasks: (motion, wanted acceleration (k,), weight) each.
        contacts: points and soles that do not accelerate, with forces within their cones.
        torque_limits: of the actuators, one number or one each, N m.
        torque_lower: least torques, where they are not −`torque_limits`, N m.
        motion_weight: of the squares of the actuated accelerations.
        force_weight: of the squares of the contact forces.
    """

    robot: Robot
    q: Array
    v: Array
    tasks: Sequence[tuple[Motion, Array, float]]
    contacts: Sequence[PointContact | FlatContact] = ()
    torque_limits: Array | float = np.inf
    motion_weight: float = 1e-6
    force_weight: float = 1e-6
    torque_lower: Array | float | None = None

    @property
    def first(self) -> int:
        """Where actuated velocities begin."""
        return 6 if self.robot.floating else 0

    def pushes(self) -> list[Array]:
        """Jᵀ N of each contact: the generalised force per unknown contact force, (nv, k)."""
        maps = (contact.wrench_map(self.robot.pose(self.q, contact.frame)) for contact in self.contacts)
        return [
            self.robot.jacobian(self.q, contact.frame).T @ N for contact, N in zip(self.contacts, maps, strict=True)
        ]

    def held(self) -> list[tuple[Array, Array]]:
        """(rows, right-hand side) over a of contacts that do not accelerate: J q̈ + J̇ q̇ = 0 in the axes of the
        surface."""
        made = []
        for contact, push in zip(self.contacts, self.pushes(), strict=True):
            N = contact.wrench_map(self.robot.pose(self.q, contact.frame))
            A = self.robot.bias_acceleration(self.q, self.v, contact.frame)
            w = self.robot.velocity(self.q, self.v, contact.frame)[3:]
            arm = axial(N[3:, :3] @ N[:3, :3].T)  # from the frame's origin to where forces act
            made.append((push.T, -N.T @ A - N[:3].T @ np.cross(w, np.cross(w, arm))))
        return made


@dataclass(frozen=True, eq=False)
class ChartAnswer:
    """Unknowns by name, `answer["u"]`, and how the solver ended."""

    status: Status
    parts: Mapping[str, Array]

    def __getitem__(self, name: str) -> Array:
        return self.parts[name]


@dataclass(frozen=True, eq=False)
class ChartProgram:
    """A program of one of the three forms, and how to read its unknowns."""

    form: str
    program: QuadraticProgram
    T: Array  # a = T z + drift, z the unknown accelerations
    drift: Array
    sizes: Mapping[str, int]  # of the unknowns, in order

    def read(self, x: Array) -> dict[str, Array]:
        """Unknowns by name, with "a", the acceleration in the mixed variables, for all forms."""
        ends = np.cumsum([0, *self.sizes.values()])
        parts = {name: x[start:end] for name, start, end in zip(self.sizes, ends, ends[1:], strict=False)}
        return parts | {"a": self.T @ parts["z"] + self.drift}

    def solve(self) -> ChartAnswer:
        """The optimum, by DAQP with its certificate; where there is none the status says why and the numbers are
        NaN."""
        result = DaqpSolver(refine=1e-12).solve(self.program)
        return ChartAnswer(result.status, self.read(result.x))


def chart_program(problem: WholeBodyProblem, form: str, chart: Chart | type[Chart] | None = None) -> ChartProgram:
    """The whole-body program in one of its forms.

    Args:
        form: "minimal", "projected" or "multiplier".
        chart: of the base's orientation, for the last two; the unit quaternion if not given.
    """
    if form not in FORMS:
        raise unknown_name("form of the program", form, FORMS)
    robot, first = problem.robot, problem.first
    equations = _equations(problem, form, chart)
    pushes = np.hstack([np.zeros((robot.nv, 0)), *problem.pushes()])
    n, m, k = equations.T.shape[1], robot.nv - first, pushes.shape[1]
    sizes = {"z": n, "u": m, "f": k} | ({"multiplier": equations.C.shape[0]} if form == "multiplier" else {})
    rows = _Rows(sizes)
    A = equations.projector
    force = {"u": -A @ equations.T.T[:, first:], "f": -A @ equations.T.T @ pushes}
    if form == "multiplier":
        force["multiplier"] = -equations.C.T
    rows.equal({"z": A @ equations.M, **force}, -A @ equations.bias)
    if len(equations.C):
        rows.equal({"z": equations.C}, -equations.C_bias)
    for J, right in problem.held():
        rows.equal({"z": J @ equations.T}, right - J @ equations.drift)
    upper = np.broadcast_to(np.asarray(problem.torque_limits, dtype=float), (m,))
    lower = (
        -upper if problem.torque_lower is None else np.broadcast_to(np.asarray(problem.torque_lower, dtype=float), (m,))
    )
    rows.between({"u": np.eye(m)}, lower, upper)
    _cones(problem, rows, k)
    H, f = _cost(problem, equations.T, equations.drift, rows)
    stacked = np.vstack(rows.A), np.concatenate(rows.lower), np.concatenate(rows.upper)
    return ChartProgram(form, QuadraticProgram(H, f, *stacked), equations.T, equations.drift, sizes)


@dataclass(frozen=True, eq=False)
class _Equations:
    """M z + bias = Tᵀ (generalised force) + Cᵀ λ with a = T z + drift and C z + C_bias = 0, times the projector."""

    T: Array
    drift: Array
    M: Array
    bias: Array
    C: Array
    C_bias: Array
    projector: Array


def _equations(problem: WholeBodyProblem, form: str, chart: Chart | type[Chart] | None) -> _Equations:
    robot, q, v = problem.robot, problem.q, problem.v
    if form == "minimal":
        n, none = robot.nv, np.zeros((0, robot.nv))
        return _Equations(
            np.eye(n), np.zeros(n), robot.mass_matrix(q), robot.bias_force(q, v), none, none[:, 0], np.eye(n)
        )
    from ...forms.charts import UnitQuaternion

    c = robot.equations_of_motion(q, v).in_chart(UnitQuaternion if chart is None else chart)
    projector = c.projector if form == "projected" else np.eye(len(c.y_dot))
    return _Equations(c.T, c.T_dot @ c.y_dot, c.M, c.N @ c.y_dot + c.g, c.C_y, c.C_bias, projector)


class _Rows:
    """Rows over named unknowns."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = dict(sizes)
        starts = np.cumsum([0, *sizes.values()])
        self.at = {name: slice(int(a), int(b)) for name, a, b in zip(sizes, starts, starts[1:], strict=False)}
        self.n = int(starts[-1])
        self.A: list[Array] = []
        self.lower: list[Array] = []
        self.upper: list[Array] = []

    def wide(self, blocks: Mapping[str, Array]) -> Array:
        rows = np.zeros((len(next(iter(blocks.values()))), self.n))
        for name, block in blocks.items():
            rows[:, self.at[name]] = block
        return rows

    def between(self, blocks: Mapping[str, Array], lower: Array, upper: Array) -> None:
        self.A.append(self.wide(blocks))
        self.lower.append(np.asarray(lower, dtype=float))
        self.upper.append(np.asarray(upper, dtype=float))

    def equal(self, blocks: Mapping[str, Array], right: Array) -> None:
        self.between(blocks, right, right)


def _cones(problem: WholeBodyProblem, rows: _Rows, total: int) -> None:
    """Friction, and bounds of the normal force."""
    start = 0
    for contact in problem.contacts:
        pick = np.eye(total)[start : start + contact.size]
        G = contact.cone
        rows.between({"f": G @ pick}, np.full(len(G), -np.inf), np.zeros(len(G)))
        least, most = contact.force_bounds
        rows.between({"f": contact.normal_force[None] @ pick}, np.array([least]), np.array([most]))
        start += contact.size


def _cost(problem: WholeBodyProblem, T: Array, drift: Array, rows: _Rows) -> tuple[Array, Array]:
    """Squares of tasks over z, and the named weights of actuated accelerations and forces."""
    first = problem.first
    H, f = np.zeros((rows.n, rows.n)), np.zeros(rows.n)
    z, forces = rows.at["z"], rows.at["f"]
    for motion, wanted, weight in problem.tasks:
        J = motion.J @ T
        H[z, z] += weight * J.T @ J
        f[z] += weight * J.T @ (motion.J @ drift + motion.bias - wanted)
    joints = T[first:]
    H[z, z] += problem.motion_weight * joints.T @ joints
    f[z] += problem.motion_weight * joints.T @ drift[first:]
    H[forces, forces] += problem.force_weight * np.eye(forces.stop - forces.start)
    return H, f
