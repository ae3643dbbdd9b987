"""What acts on a robot from outside, on symbols, without accelerations.

The generalised momentum p = M v changes by the torques of the joints, by what the motion itself does, and by the
external generalised force:

    ṗ = tau + Ṁ v − h + tau_ext,      h = C v + g

A residual that follows what momentum the first three do not explain is tau_ext behind a filter of first order:

    r = K (p − ∫ (tau + Ṁ v − h + r) dt − p₀)   ⇒   ṙ = K (tau_ext − r)                                 [LM05]

C enters as Ṁ v − C v = Cᵀ v. Wrenches at the contacts then follow from r = Σ Jᵀ F + noise. The noise of the measured
rates enters all rows at once, by M, so that its covariance is far from diagonal:

    Σ = κ_v M Σ_v Mᵀ + κ_tau Σ_tau

Whether a foot touches is asked of the joints between it and the base alone, which feel no other foot; one that comes
down on an edge turns its ankles long before it carries.

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

NOT_FELT = 1e-12  # 1/N²: a force that is wrong by a meganewton says nothing


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


# --- wrenches ---------------------------------------------------------------------------------------------------------


def noise_gains(gain: SX, period: SX) -> tuple[SX, SX]:
    """(κ_v, κ_tau): variance of the residual for one of momentum and one of torque, white noise that is new in every
    step.

    With b = K T / (1 + K T) in steps of T, noise of the momentum gives r_k = (b/T) (p_k − e_{k−1}) with
    e_k = (1 − b) e_{k−1} + b p_k, and noise of the torques a mean that forgets, r_k = (1 − b) r_{k−1} − b tau_k.
    """
    rate = gain / (1 + gain * period)
    b = rate * period
    return rate**2 * 2 / (2 - b), b / (2 - b)


def branch(tree: Tree, sole: Sole) -> set[int]:
    """Rows of the joints between a contact and the base, or the world."""
    rows = {row for k in tree.ancestors(sole.place[0]) for row in range(tree.bodies[k].v.start, tree.bodies[k].v.stop)}
    return rows - set(base_rows(tree))


def base_rows(tree: Tree) -> range:
    """Those of a floating base."""
    return range(6 if tree.floating else 0)


def own_rows(tree: Tree, soles: Sequence[Sole], i: int) -> list[int]:
    """Rows that feel contact i and no other one; where there are none, all that feel it, or those of the base."""
    felt = branch(tree, soles[i])
    others = {row for k, sole in enumerate(soles) if k != i for row in branch(tree, sole)}
    return sorted(felt - others or felt or base_rows(tree))


def residual_noise(rows: Sequence[int], M: SX, symbols: dict[str, SX]) -> SX:
    """Σ of some rows of the residual."""
    by_rates, by_torques = noise_gains(symbols["gain"], symbols["period"])
    moved = M[rows, :]
    spread = moved * casadi.repmat((symbols["rate_noise"] ** 2).T, len(rows), 1)
    return by_rates * spread @ moved.T + casadi.diag(by_torques * symbols["torque_noise"][rows] ** 2)


def wrenches(tree: Tree, soles: Sequence[Sole], symbols: dict[str, SX], residual: SX) -> dict[str, SX]:
    """Wrenches (mixed, at the contact points) that explain the residual best, what they leave, and how the points move.

    min (r − Σ Jᵀ F)ᵀ Σ⁻¹ (r − Σ Jᵀ F) + Σ (F / s)² over the rows that feel any contact: s of each component is a
    number, with which a contact of one point takes no torque.
    """
    q, v, s = symbols["q"], symbols["v"], symbols["scale"]
    if not soles:
        return {"wrenches": zeros(0), "left": residual, "speeds": zeros(0), "signals": zeros(0), "rises": zeros(0)}
    M, J = mass_matrix(tree, q), stack(*(jacobian(tree, q, sole.place) for sole in soles))
    rows = sorted(set(base_rows(tree)).union(*(branch(tree, sole) for sole in soles)))
    solved = solve_positive_definite(residual_noise(rows, M, symbols), beside(J[:, rows].T, residual[rows]))
    A, b = J[:, rows] @ solved[:, :-1], J[:, rows] @ solved[:, -1]
    # unknowns in units of s: F = s x, which stays solvable where s is zero
    F = s * solve_positive_definite(casadi.densify(A * (s @ s.T)) + casadi.diag(SX.ones(s.shape[0])), s * b)
    return {"wrenches": F, "left": residual - J.T @ F, "speeds": J @ v} | signals(tree, soles, symbols, residual, M, J)


def signals(tree: Tree, soles: Sequence[Sole], symbols: dict[str, SX], residual: SX, M: SX, J: SX) -> dict[str, SX]:
    """Forces upwards at each corner, one alone, in units of their own deviation, and the heights of the corners.

    z = wᵀ b / √(wᵀ A w) with A = J Σ⁻¹ Jᵀ, b = J Σ⁻¹ r over the rows of one contact, and w the wrench of one newton at
    the corner. Of noise alone z is standard normal; its largest square is twice the logarithm of the generalised
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
    """What contacts are judged by, one number for each.

    `odds`: logarithm of the odds that a contact touches with some corner: half the square of its signal, less that of
    `significance` and what its height says against it. `loads`: smoothed force upwards, in units of `touch_force`.
    `slips`: squared speeds of the contact points.
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
    """(z of a force upwards, height above the contact point) of each corner."""
    R, _ = poses(tree, q).frame(tree, sole.place)
    up, z, rises = constant(vertical(tree.gravity)), [], []
    for corner in sole.corners:
        arm = R @ constant(corner)
        w = stack(up, cross(arm, up))
        z.append((w.T @ b) / casadi.sqrt(w.T @ A @ w + NOT_FELT))
        rises.append(up.T @ arm)
    return stack(*z), stack(*rises)


def step(tree: Tree, soles: Sequence[Sole], watch: Place | None, symbols: dict[str, SX]) -> dict[str, SX]:
    """Observer, wrenches, what contacts are judged by, and the wrench at a watched frame in one.

    `unexplained` is each row that nothing explains, in units of what it may be; `alarm` the largest of the joints'.
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
