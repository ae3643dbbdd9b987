"""Symbolic estimation of a push at one frame, separated from the contact wrenches.

As for the contacts, r = Σ Jᵀ F + noise, but smoothed over `push_settling`, in which the noise of the rates averages out
faster than that of the torques. Its covariance therefore differs from that of a single step. All rows are used: those
of
the arms show how much of the base's momentum is noise of the arms' rates.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi

from ..equations.inverse_dynamics import Place
from ..equations.jacobians import jacobian
from ..equations.mass_matrix import mass_matrix
from ..equations.symbols import SX, beside, solve_positive_definite, stack
from ..model.tree import Tree

SHORTEST = 1e-6  # s, lower bound of the step time while it is unknown


def smoothed_gains(gain: SX, settling: SX, period: SX) -> tuple[SX, SX]:
    """Returns the variances of the smoothed residual due to white noise of unit variance in momentum and in torque.

    The white noise has the density σ² `period` and passes K s a / ((s + K) (s + a)) and K a / ((s + K) (s + a)).
    """
    a = 1 / settling
    both = period * gain * a / (2 * (gain + a))
    return gain * a * both, both


def pushed(tree: Tree, places: Sequence[Place], symbols: dict[str, SX], residual: SX) -> dict[str, SX]:
    """Returns the smoothed residual, the best-fit wrench at the last place beside those at the others, and the
    remainder.

    `push_scale` has the prior deviation of each component: zero for contacts that are not loaded, whose wrench is zero.
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
    # unknowns in units of s, F = s x, so that the system stays solvable where s is zero
    F = s * solve_positive_definite(casadi.densify(A * (s @ s.T)) + casadi.diag(SX.ones(s.shape[0])), s * b)
    return {"slow": slow, "external": F[-6:], "push_left": slow - J.T @ F}
