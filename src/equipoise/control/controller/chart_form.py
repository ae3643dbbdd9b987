"""The program in the coordinates y = (x₀, θ, joints) of a chart of the base's orientation, as [BK12, Eq. (37)] states
it.

Unknowns are x = (ÿ, u, λ): nothing is eliminated, the equations of motion are rows of the program.

    A (M_y ÿ + N ẏ + g − Tᵀ (Sᵀ u + Σ Jᵀ N_c λ)) = 0,     C_y ÿ + Ċ_y ẏ = 0,     a = T ÿ + Ṫ ẏ

with v = T ẏ, and A the projector that takes the multiplier of the chart's constraint out [BK12, Eq. (34)]. A keeps what
moves on the chart's surface: with W the map from velocities to rates θ̇, A = W (Wᵀ W)⁻¹ Wᵀ there, which needs no
independent constraints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...equations.symbols import SX, beside, solve_positive_definite, stack, zeros

if TYPE_CHECKING:
    from ...forms.charts import Chart
    from .scene import Affine, Scene


@dataclass(frozen=True)
class ChartDynamics:
    """Accelerations and torques of the motors over the unknowns, and what must vanish."""

    acceleration: Affine
    torque: Affine
    equations: Affine  # equations of motion, then the chart's constraint


def chart_dynamics(scene: Scene, theta: SX, push: SX) -> ChartDynamics:
    """The robot over x = (ÿ, u, λ).

    Args:
        theta: parameters of the chart at q.
        push: generalised force of unit contact forces, (nv, forces).
    """
    from .scene import Affine

    context, nv = scene.context, scene.robot.nv
    chart = context.chart
    assert chart is not None
    first = 0 if chart.whole_pose else 3
    rest, columns = nv - 6, context.coordinates
    J, drift, W, C, C_bias = _surface(chart, theta, scene.v[first:6])
    T = _diagonal(SX.eye(first), J, SX.eye(rest))
    a = T, stack(zeros(first), drift, zeros(rest))
    A = _diagonal(SX.eye(first), W @ solve_positive_definite(W.T @ W, W.T), SX.eye(rest))
    M, h, motors = scene.mass_matrix, scene.bias_force, context.motors.tolist()
    back = A @ T.T
    motion = back @ beside(M @ T, -SX.eye(nv)[:, motors], -push)
    constraint = beside(zeros(C.shape[0], first), C, zeros(C.shape[0], context.unknowns - first - C.shape[1]))
    equations = Affine(stack(motion, constraint), stack(back @ (M @ a[1] + h), C_bias))
    others = context.unknowns - columns
    torque = beside(zeros(len(motors), columns), SX.eye(others)[: len(motors), :])
    return ChartDynamics(Affine(beside(a[0], zeros(nv, others)), a[1]), Affine(torque, zeros(len(motors))), equations)


def _surface(chart: Chart, theta: SX, V: SX) -> tuple[SX, SX, SX, SX, SX]:
    """(J, J̇ θ̇, W, C_θ, Ċ_θ θ̇) of a chart that moves with velocity V: J θ̇ = V, C_θ θ̇ = 0, θ̇ = W V."""
    import casadi

    rate = SX.sym("rate", chart.dimension)
    made = chart.on_symbols(theta, rate)
    J, C = made["J"], made["C_theta"]
    W = solve_positive_definite(J.T @ J + C.T @ C, J.T)
    drift, C_bias = (casadi.substitute(x, rate, W @ V) for x in (made["J_dot"] @ rate, made["C_bias"]))
    return J, drift, W, C, C_bias


def _diagonal(*blocks: SX) -> SX:
    import casadi

    return casadi.diagcat(*blocks)
