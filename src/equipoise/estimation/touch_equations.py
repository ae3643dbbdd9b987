"""What acts on a robot from outside, on symbols, without accelerations.

The generalised momentum p = M v changes by the torques of the joints, by what the motion itself does, and by the
external generalised force:

    ṗ = tau + Ṁ v − h + tau_ext,      h = C v + g

A residual that follows what momentum the first three do not explain is tau_ext behind a filter of first order:

    r = K (p − ∫ (tau + Ṁ v − h + r) dt − p₀)   ⇒   ṙ = K (tau_ext − r)                                 [LM05]

C enters as Ṁ v − C v = Cᵀ v. Wrenches at named frames then follow from r = Σ Jᵀ F + noise by least squares.

[LM05]: De Luca, Mattone: Sensorless robot collision detection and hybrid force/motion control, ICRA 2005.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi

from ..equations.inverse_dynamics import Place, bias_force, inverse_dynamics
from ..equations.jacobians import jacobian
from ..equations.manifold import coordinate_rates
from ..equations.symbols import SX, beside, solve_positive_definite, stack, zeros
from ..model.tree import Tree


def momentum_and_drive(tree: Tree, q: SX, v: SX) -> tuple[SX, SX]:
    """(p, Ṁ v − h): the generalised momentum, and how it changes without any torque."""
    still = SX.sym("still", tree.nv)
    lifted = inverse_dynamics(tree, q, zeros(tree.nv), still)
    held = inverse_dynamics(tree, q, zeros(tree.nv), zeros(tree.nv))
    Mv = lifted - held  # M(q) times what stands still while q moves
    rate = casadi.jtimes(Mv, q, coordinate_rates(tree, q, v))
    p, p_rate = casadi.substitute([Mv, rate], [still], [v])
    return p, p_rate - bias_force(tree, q, v)


def observed(tree: Tree, symbols: dict[str, SX]) -> dict[str, SX]:
    """One step of the observer: `explained` is the integral, `residual` is r."""
    p, drive = momentum_and_drive(tree, symbols["q"], symbols["v"])
    dt, gain = symbols["dt"], symbols["gain"]
    before = symbols["explained"] + (symbols["tau"] + drive) * dt
    # implicit in r, so that any gain is stable: r = K (p − before − r dt)
    r = gain * (p - before) / (1 + gain * dt)
    return {"explained": before + r * dt, "residual": r, "momentum": p}


def wrenches(tree: Tree, places: Sequence[Place], symbols: dict[str, SX], residual: SX) -> dict[str, SX]:
    """Wrenches (mixed, at their frames) that explain the residual best, what they leave, and how the frames move.

    min Σ ((r − Σ Jᵀ F) / σ)² + Σ (F / s)²: σ of each row is a number, and so is s of each component, with which a
    contact of points gives no torque, and a frame that nothing touches nothing at all.
    """
    q, v, s = symbols["q"], symbols["v"], symbols["scale"]
    if not places:
        return {"wrenches": zeros(0), "left": residual, "speeds": zeros(0)}
    J = stack(*(jacobian(tree, q, place) for place in places))
    weighted = beside(*(J[:, i] / symbols["sigma"][i] ** 2 for i in range(tree.nv)))
    # unknowns in units of s: F = s x, which stays solvable where s is zero
    A = casadi.densify((weighted @ J.T) * (s @ s.T)) + casadi.diag(SX.ones(s.shape[0]))
    F = s * solve_positive_definite(A, s * (weighted @ residual))
    return {"wrenches": F, "left": residual - J.T @ F, "speeds": J @ v}


def step(tree: Tree, places: Sequence[Place], symbols: dict[str, SX]) -> dict[str, SX]:
    """Observer and wrenches in one."""
    out = observed(tree, symbols)
    return out | wrenches(tree, places, symbols, out["residual"])
