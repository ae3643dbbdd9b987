"""Symbolic equations of the momentum observer: external forces without accelerations.

The generalised momentum p = M v changes by the torques of the joints, by the bias and Coriolis terms, and by the
external generalised force:

    ṗ = tau + Ṁ v − h + tau_ext,      h = C v + g

A residual r that tracks the momentum that the first two do not explain equals tau_ext behind a first-order filter:

    r = K (p − ∫ (tau + Ṁ v − h + r) dt − p₀)   ⇒   ṙ = K (tau_ext − r)                                 [LM05]

C enters as Ṁ v − C v = Cᵀ v. Wrenches at the contacts then follow from r = Σ Jᵀ F + noise. The noise of the measured
rates enters all rows at once, by M, so that its covariance is far from diagonal:

    Σ = κ_v M Σ_v Mᵀ + κ_tau Σ_tau

Whether a foot touches is decided from the joints between it and the base alone, because no other foot acts on them. A
foot that touches down on an edge loads its ankles long before it carries weight.

[LM05]: De Luca, Mattone: Sensorless robot collision detection and hybrid force/motion control, ICRA 2005.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi

from ..equations.inverse_dynamics import Place, bias_force, inverse_dynamics
from ..equations.jacobians import jacobian
from ..equations.kinematics import poses
from ..equations.manifold import coordinate_rates
from ..equations.mass_matrix import mass_matrix
from ..equations.symbols import SX, beside, constant, cross, solve_positive_definite, stack, zeros
from ..model.tree import Tree
from .frames import vertical
from .push import pushed
from .soles import Sole

NOT_FELT = 1e-12  # 1/N², regularises a corner without any signal; corresponds to a deviation of 1 MN


def momentum_and_drive(tree: Tree, q: SX, v: SX) -> tuple[SX, SX]:
    """Returns (p, Ṁ v − h): the generalised momentum and its rate without torques."""
    still = SX.sym("still", tree.nv)
    lifted = inverse_dynamics(tree, q, zeros(tree.nv), still)
    held = inverse_dynamics(tree, q, zeros(tree.nv), zeros(tree.nv))
    Mv = lifted - held  # M(q) times a velocity that stays constant in the derivative by q
    rate = casadi.jtimes(Mv, q, coordinate_rates(tree, q, v))
    p, p_rate = casadi.substitute([Mv, rate], [still], [v])
    return p, p_rate - bias_force(tree, q, v)


def observed(tree: Tree, symbols: dict[str, SX]) -> dict[str, SX]:
    """Computes one step of the observer: `explained` is the integral, `residual` is r."""
    p, drive = momentum_and_drive(tree, symbols["q"], symbols["v"])
    dt, gain = symbols["dt"], symbols["gain"]
    before = symbols["explained"] + (symbols["tau"] + drive) * dt
    # implicit in r, so that every gain is stable: r = K (p − before − r dt)
    r = gain * (p - before) / (1 + gain * dt)
    return {"explained": before + r * dt, "residual": r, "momentum": p}


# --- wrenches ---------------------------------------------------------------------------------------------------------


def noise_gains(gain: SX, period: SX) -> tuple[SX, SX]:
    """Returns (κ_v, κ_tau): variance of the residual due to white noise of unit variance in momentum and in torque.

    With b = K T / (1 + K T) and time step T, noise of the momentum gives r_k = (b/T) (p_k − e_{k−1}) with
    e_k = (1 − b) e_{k−1} + b p_k, and noise of the torques gives r_k = (1 − b) r_{k−1} − b tau_k.
    """
    rate = gain / (1 + gain * period)
    b = rate * period
    return rate**2 * 2 / (2 - b), b / (2 - b)


def branch(tree: Tree, sole: Sole) -> set[int]:
    """Returns the rows of the joints between a contact and the base (or the world, for a fixed base)."""
    rows = {row for k in tree.ancestors(sole.place[0]) for row in range(tree.bodies[k].v.start, tree.bodies[k].v.stop)}
    return rows - set(base_rows(tree))


def base_rows(tree: Tree) -> range:
    """Returns the rows of a floating base; empty for a fixed one."""
    return range(6 if tree.floating else 0)


def own_rows(tree: Tree, soles: Sequence[Sole], i: int) -> list[int]:
    """Returns the rows on which only contact i acts; if there are none, all rows on which it acts, or those of the
    base."""
    felt = branch(tree, soles[i])
    others = {row for k, sole in enumerate(soles) if k != i for row in branch(tree, sole)}
    return sorted(felt - others or felt or base_rows(tree))


def residual_noise(rows: Sequence[int], M: SX, symbols: dict[str, SX]) -> SX:
    """Returns the covariance Σ of some rows of the residual."""
    by_rates, by_torques = noise_gains(symbols["gain"], symbols["period"])
    moved = M[rows, :]
    spread = moved * casadi.repmat((symbols["rate_noise"] ** 2).T, len(rows), 1)
    return by_rates * spread @ moved.T + casadi.diag(by_torques * symbols["torque_noise"][rows] ** 2)


def wrenches(tree: Tree, soles: Sequence[Sole], symbols: dict[str, SX], residual: SX) -> dict[str, SX]:
    """Returns the best-fit wrenches (mixed, at the contact points), the remaining residual, and the points' velocities.

    They minimise (r − Σ Jᵀ F)ᵀ Σ⁻¹ (r − Σ Jᵀ F) + Σ (F / s)² over the rows on which any contact acts. s is the prior
    deviation of each component; zero for the torque of a single-point contact.
    """
    q, v, s = symbols["q"], symbols["v"], symbols["scale"]
    if not soles:
        return {"wrenches": zeros(0), "left": residual, "speeds": zeros(0), "signals": zeros(0), "rises": zeros(0)}
    M, J = mass_matrix(tree, q), stack(*(jacobian(tree, q, sole.place) for sole in soles))
    rows = sorted(set(base_rows(tree)).union(*(branch(tree, sole) for sole in soles)))
    solved = solve_positive_definite(residual_noise(rows, M, symbols), beside(J[:, rows].T, residual[rows]))
    A, b = J[:, rows] @ solved[:, :-1], J[:, rows] @ solved[:, -1]
    # unknowns in units of s, F = s x, so that the system stays solvable where s is zero
    F = s * solve_positive_definite(casadi.densify(A * (s @ s.T)) + casadi.diag(SX.ones(s.shape[0])), s * b)
    return {"wrenches": F, "left": residual - J.T @ F, "speeds": J @ v} | signals(tree, soles, symbols, residual, M, J)


def signals(tree: Tree, soles: Sequence[Sole], symbols: dict[str, SX], residual: SX, M: SX, J: SX) -> dict[str, SX]:
    """Returns for each corner the signal z of a single vertical force there, in standard deviations, and its height.

    z = wᵀ b / √(wᵀ A w) with A = J Σ⁻¹ Jᵀ, b = J Σ⁻¹ r over the rows of one contact, and w the wrench of one newton at
    the corner. Under noise alone z is standard normal; its largest square is twice the logarithm of the generalised
    likelihood ratio of "it touches somewhere" against "it does not".
    """
    found, rises = [], []
    for i, sole in enumerate(soles):
        rows = own_rows(tree, soles, i)
        own = J[6 * i : 6 * i + 6, rows]
        solved = solve_positive_definite(residual_noise(rows, M, symbols), beside(own.T, residual[rows]))
        z, rise = _at_corners(tree, symbols["q"], sole, own @ solved[:, :-1], own @ solved[:, -1])
        found.append(z)
        rises.append(rise)
    return {"signals": stack(*found), "rises": stack(*rises)}


def decided(soles: Sequence[Sole], symbols: dict[str, SX], found: dict[str, SX], up: SX) -> dict[str, SX]:
    """Returns the quantities that decide on each contact, one number per contact.

    `odds`: log-odds that some corner touches: half its squared signal, minus half the square of `significance`, minus a
    penalty for its height. `loads`: smoothed vertical force in units of `touch_force`. `slips`: squared speeds of the
    contact points.
    """
    smooth, dt = symbols["smooth"], symbols["dt"]
    smooth = smooth + (found["wrenches"] - smooth) * (dt / (symbols["settling"] + dt))
    odds, loads, slips, at = [], [], [], 0
    for i, sole in enumerate(soles):
        best = SX(-casadi.inf)
        for _ in sole.corners:
            z, height = casadi.fmax(found["signals"][at], 0), symbols["heights"][i] + found["rises"][at]
            against = casadi.fmin(casadi.fmax(height, 0) / symbols["height"], symbols["height_limit"])
            best, at = casadi.fmax(best, z * z / 2 - against), at + 1
        speed = found["speeds"][6 * i : 6 * i + 3]
        odds.append(best - symbols["significance"] ** 2 / 2)
        loads.append(up.T @ smooth[6 * i : 6 * i + 3] / symbols["touch_force"])
        slips.append(speed.T @ speed)
    listed = {"smoothed": smooth, "odds": stack(*odds), "loads": stack(*loads), "slips": stack(*slips)}
    return listed if soles else dict.fromkeys(listed, zeros(0))


def _at_corners(tree: Tree, q: SX, sole: Sole, A: SX, b: SX) -> tuple[SX, SX]:
    """Returns for each corner the signal z of a vertical force and its height above the contact point."""
    R, _ = poses(tree, q).frame(tree, sole.place)
    up, z, rises = constant(vertical(tree.gravity)), [], []
    for corner in sole.corners:
        arm = R @ constant(corner)
        w = stack(up, cross(arm, up))
        z.append((w.T @ b) / casadi.sqrt(w.T @ A @ w + NOT_FELT))
        rises.append(up.T @ arm)
    return stack(*z), stack(*rises)


def step(tree: Tree, soles: Sequence[Sole], watch: Place | None, symbols: dict[str, SX]) -> dict[str, SX]:
    """Computes one step: observer, wrenches, contact decisions, and the wrench at a watched frame.

    `unexplained` is the remaining residual of each row over its threshold; `alarm` is the largest among the joints.
    """
    out = observed(tree, symbols)
    out |= wrenches(tree, soles, symbols, out["residual"])
    out |= decided(soles, symbols, out, constant(vertical(tree.gravity)))
    left = out["left"]
    if watch is not None:
        out |= pushed(tree, [*(sole.place for sole in soles), watch], symbols, out["residual"])
        left = out["push_left"]
    unexplained = casadi.fabs(left) / symbols["surprise"]
    joints = unexplained[len(base_rows(tree)) :]
    return out | {"unexplained": unexplained, "alarm": casadi.mmax(joints) if joints.shape[0] else zeros(1)}
