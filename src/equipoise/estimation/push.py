"""A push at one frame of the robot, told apart from what its contacts carry, on symbols.

r = Σ Jᵀ F + noise, as for the contacts, but smoothed over `push_settling`, in which the noise of the rates averages out
faster than that of the torques. So its covariance differs from that of a single step; and all rows count, since those
of the arms say how much of the base's momentum is noise of their own rates.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi

from ..equations.inverse_dynamics import Place
from ..equations.jacobians import jacobian
from ..equations.mass_matrix import mass_matrix
from ..equations.symbols import SX, beside, solve_positive_definite, stack
from ..model.tree import Tree

SHORTEST = 1e-6  # s between steps, in place of what is not known yet


def smoothed_gains(gain: SX, settling: SX, period: SX) -> tuple[SX, SX]:
    """Variance of the smoothed residual for one of momentum and of torque, white and new in every step.

    White noise of density σ² `period` through K s a / ((s + K) (s + a)) and through K a / ((s + K) (s + a)).
    """
    a = 1 / settling
    both = period * gain * a / (2 * (gain + a))
    return gain * a * both, both


def pushed(tree: Tree, places: Sequence[Place], symbols: dict[str, SX], residual: SX) -> dict[str, SX]:
    """The smoothed residual, the wrench at the last place that explains it best beside those at the others, and what
    they leave.

    `push_scale` has what each component may be: zero for contacts that do not carry, which are known to give nothing.
    """
    q, s, dt = symbols["q"], symbols["push_scale"], symbols["dt"]
    slow = symbols["slow"] + (residual - symbols["slow"]) * (dt / (symbols["push_settling"] + dt))
    M, J = mass_matrix(tree, q), stack(*(jacobian(tree, q, place) for place in places))
    period = casadi.fmax(symbols["period"], SHORTEST)
    by_rates, by_torques = smoothed_gains(symbols["gain"], symbols["push_settling"], period)
    spread = M * casadi.repmat((symbols["rate_noise"] ** 2).T, tree.nv, 1)
    noise = by_rates * spread @ M.T + casadi.diag(by_torques * symbols["torque_noise"] ** 2)
    solved = solve_positive_definite(casadi.densify(noise), beside(J.T, slow))
    A, b = J @ solved[:, :-1], J @ solved[:, -1]
    # unknowns in units of s: F = s x, which stays solvable where s is zero
    F = s * solve_positive_definite(casadi.densify(A * (s @ s.T)) + casadi.diag(SX.ones(s.shape[0])), s * b)
    return {"slow": slow, "external": F[-6:], "push_left": slow - J.T @ F}
