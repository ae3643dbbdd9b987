"""Symbolic equations of one step of the contact-aided right-invariant Kalman filter.

The state of the IMU frame I in the world is an element of SE_{k+2}(3) with k contact points, and two biases:

    X = (R_WI, v_WI, p_WI, d_1 … d_k),   θ = (b_g, b_a)                     [HGEG20, state with contacts and biases]

The error is right-invariant, X̄ = exp(ξ) X, and θ̄ = θ + ζ. Without biases, ξ obeys a linear equation that does not
depend on the estimate, and the measurement of a foot by the encoders is linear in ξ with a constant matrix. A contact
in
swing is placed by forward kinematics at each step, so that its motion in the air has no influence and it is ready for
touchdown.

A flat contact in stance also has an orientation R_WC with the error ψ, R̄_WC = exp(ψ) R_WC: the encoders
measure R_IC, and log(R̄_WI R_IC R̄_WCᵀ) is linear in φ − ψ, again with a constant matrix. [RBRS14], Rotella et al.:
State estimation for a humanoid robot, IROS 2014, also have the foot's orientation in the state.

[HGEG20]: Hartley, Ghaffari, Eustice, Grizzle: Contact-aided invariant extended Kalman filtering for robot state
estimation, IJRR 39(4), 2020. Its equations are named by what they state; the numbers differ between its versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log, pi

import casadi

from ..algebra import quaternions
from ..equations.factors import factorised
from ..equations.inverse_dynamics import Place
from ..equations.jacobians import velocity
from ..equations.kinematics import poses
from ..equations.manifold import coordinate_rates, entries
from ..equations.symbols import SX, SYMBOLS, constant, cross, skew, stack, zeros
from ..model.tree import Tree
from .belief import BeliefLayout
from .frames import vertical
from .noise import NOISES
from .soles import Sole

QUICK = 0.01  # s, time constant of the fast low-pass filter of a contact's vertical
SLOW = 0.05  # s, time constant of the slow one; their difference is the rate at which a sole tilts
TILTING = 0.008  # rad/m/√Hz, tilting of soles per IMU speed as load shifts; measured 0.009 swaying, 0.003 walking
PIVOTING = 5e-4  # rad/m/√Hz, yaw of soles per IMU speed; measured 2e-4 swaying, 5e-4 to 9e-4 walking
LASTING = 2.0  # ratio: a sole tips for about 0.3 s, three or four times as long as its middle shifts
CERTAIN = 10.0  # × variance of one smoothed encoder; a smaller tilt is encoder noise of the leg's joints


@dataclass
class FilterState:
    """Mean of the filter in symbolic form."""

    turn: list[SX]  # unit quaternion of R_WI
    v: SX
    p: SX
    d: list[SX]
    gyroscope_bias: SX
    accelerometer_bias: SX
    soles: list[list[SX]]  # unit quaternions of R_WC

    @property
    def R(self) -> SX:
        """Rotation of the IMU in the world, R_WI."""
        return quaternions.rotation(self.turn, SYMBOLS)

    def moved(self, xi: SX) -> FilterState:
        """Returns exp(ξ) X and θ + ζ [HGEG20, state update of the filter; closed form of the exponential]."""
        turn = quaternions.exp(entries(xi[0:3]), SYMBOLS)
        R, J = quaternions.rotation(turn, SYMBOLS), left_jacobian(xi[0:3])
        vectors = [R @ x + J @ xi[3 * i + 3 : 3 * i + 6] for i, x in enumerate([self.v, self.p, *self.d])]
        new = quaternions.normalised(quaternions.product(turn, self.turn), SYMBOLS)
        zeta = xi[xi.shape[0] - 6 :]
        biases = self.gyroscope_bias + zeta[0:3], self.accelerometer_bias + zeta[3:6]
        soles = [_turned(q, xi[3 * j : 3 * j + 3]) for j, q in enumerate(self.soles, start=3 + len(self.d))]
        return FilterState(list(new), vectors[0], vectors[1], vectors[2:], *biases, soles)


def _turned(q: list[SX], turn: SX) -> list[SX]:
    """Returns unit quaternion q rotated by the rotation vector `turn` in world axes."""
    return list(quaternions.normalised(quaternions.product(quaternions.exp(entries(turn), SYMBOLS), q), SYMBOLS))


@dataclass(frozen=True)
class Kinematics:
    """Forward kinematics of one contact: its pose in the IMU frame and the Jacobians by the joint rates.

    `own` and `base` are the rows of the error state that a measurement compares: those of the contact, and those of the
    IMU.
    """

    h: SX  # p_IC, in I
    J: SX  # 3×(joint rates)
    R: SX  # R_IC
    J_turn: SX  # 3×(joint rates), of the contact's angular velocity relative to the IMU, in I
    own: list[int]
    base: list[int]
    sole: int | None  # index among the soles; None for a point contact
    arm: float  # m, distance from the contact point to the farthest corner


def left_jacobian(w: SX) -> SX:
    """Returns the left Jacobian of SO(3), ∫ exp(s w^) ds from 0 to 1 [HGEG20, exponential of SE_K(3)]."""
    s = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    small = s < quaternions.SMALL_ANGLE_SQUARED
    angle = casadi.sqrt(casadi.if_else(small, 1.0, s))
    half = casadi.sin(angle / 2)
    b = casadi.if_else(small, 0.5 - s / 24, 2 * half * half / (angle * angle))
    c = casadi.if_else(small, 1 / 6 - s / 120, (angle - casadi.sin(angle)) / (angle * angle * angle))
    W = skew(w)
    return constant([[1, 0, 0], [0, 1, 0], [0, 0, 1]]) + b * W + c * W @ W


# --- prediction -------------------------------------------------------------------------------------------------------


def predicted(
    state: FilterState, P: SX, w: SX, a: SX, noise: dict[str, SX], creeps: Sequence[SX], gravity: SX, dt: SX
) -> tuple[FilterState, SX]:
    """Returns mean and covariance after dt with constant IMU rates; `creeps` are squared densities of contacts and
    soles.

    [HGEG20, IMU and contact dynamics; Riccati equation of the right-invariant error with biases].

    Φ = exp(A dt) is exact in gravity and of first order in the biases.
    """
    R = state.R
    omega, force = w - state.gyroscope_bias, a - state.accelerometer_bias
    step = omega * dt
    turn = quaternions.product(state.turn, quaternions.exp(entries(step), SYMBOLS))
    v = state.v + R @ left_jacobian(step) @ force * dt + gravity * dt
    # second order in the rotation, which is enough within one step
    pull = R @ (force + cross(step, force) / 3) + gravity
    p = state.p + state.v * dt + pull * (dt * dt / 2)
    mean = replace(state, turn=list(quaternions.normalised(turn, SYMBOLS)), v=v, p=p)
    Phi = _transition(state, R, gravity, dt)
    return mean, symmetric(Phi @ (P + _process_noise(state, noise, creeps) * dt) @ Phi.T)


def _transition(state: FilterState, R: SX, gravity: SX, dt: SX) -> SX:
    """Returns the transition matrix Φ = 1 + A dt + … of the linear error dynamics with biases [HGEG20]."""
    n = 15 + 3 * len(state.d) + 3 * len(state.soles)
    Phi, g = constant(_identity(n)), skew(gravity)
    Phi[3:6, 0:3] = g * dt
    Phi[6:9, 0:3] = g * (dt * dt / 2)
    Phi[6:9, 3:6] = constant(_identity(3)) * dt
    Phi[0:3, n - 6 : n - 3] = -R * dt
    Phi[3:6, n - 3 : n] = -R * dt
    for i, x in enumerate([state.v, state.p, *state.d]):
        Phi[3 * i + 3 : 3 * i + 6, n - 6 : n - 3] = -skew(x) @ R * dt
    return Phi


def _process_noise(state: FilterState, noise: dict[str, SX], creeps: Sequence[SX]) -> SX:
    """Returns the process noise Q̄ = Ad_X Cov(w) Ad_Xᵀ [HGEG20, noise of the right-invariant error].

    R drops out, because the noises are the same in all directions.
    """
    count = 5 + len(state.d) + len(state.soles)
    Q, one = zeros(3 * count, 3 * count), constant(_identity(3))
    gyroscope = noise["gyroscope"] ** 2
    arms = [one, *(skew(x) for x in (state.v, state.p, *state.d))]
    for i, left in enumerate(arms):
        for j, right in enumerate(arms):
            Q[3 * i : 3 * i + 3, 3 * j : 3 * j + 3] = gyroscope * left @ right.T
    own = {1: "accelerometer", count - 2: "gyroscope_bias", count - 1: "accelerometer_bias"}
    strengths = {i: noise[name] ** 2 * one for i, name in own.items()}
    strengths |= {3 + i: creep for i, creep in enumerate(creeps)}
    for i, squared in strengths.items():
        Q[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] += squared
    return Q


def contact_noise(
    state: FilterState, P: SX, lean: SX, seen: Kinematics, noise: dict[str, SX], up: SX, dt: SX
) -> tuple[SX, SX]:
    """Returns squared noise densities of a stance contact's velocity and of its sole's angular velocity, (3, 3) each.

    In world axes. Each has a constant part, a part from the robot's speed, and a part from the rocking of the sole.

    Near rest, the load on a sole depends on the position of the centre of mass, and sole and ground deform in
    proportion to it: a contact point moves with a fraction of the body's velocity. A sole that rocks tilts about a
    horizontal edge, and its middle rises as its corners do; tilt rates that encoder noise and the gyroscope's bias can
    explain are subtracted first.
    """
    rate, n, one = (lean[0:3] - lean[3:6]) / SLOW, P.shape[0], constant(_identity(3))
    by_bias = casadi.trace(P[n - 6 : n - 3, n - 6 : n - 3])
    floor = CERTAIN * noise["encoder"] ** 2 * dt / (QUICK * SLOW * SLOW) + by_bias
    squared = rate.T @ rate
    rocking = noise["rocking"] ** 2 * casadi.fmax(squared - floor, 0)
    creep = noise["contact"] ** 2 + noise["creep"] ** 2 * state.v.T @ state.v
    axis = cross(up, state.R @ (seen.R @ rate))
    tilts = rocking / (axis.T @ axis + floor) * axis @ axis.T
    speed, level = state.v.T @ state.v, one - up @ up.T
    turn = noise["turning"] ** 2 * one + speed * (TILTING**2 * level + PIVOTING**2 * up @ up.T)
    return (creep + rocking * seen.arm**2) * one, turn + LASTING**2 * tilts


def leaning(ahead: FilterState, state: FilterState, seen: Kinematics, lean: SX, held: SX, up: SX, dt: SX) -> SX:
    """Returns the fast and the slow low-pass filtered vertical in a contact's axes.

    Both restart at the present value in swing or at first use. The correction from `ahead` to `state` is not a
    motion of
    the sole, so it shifts both."""
    before, now = (seen.R.T @ (R.T @ up) for R in (ahead.R, state.R))
    quick = lean[0:3] + (before - lean[0:3]) * (dt / (QUICK + dt)) + now - before
    slow = lean[3:6] + (before - lean[3:6]) * (dt / (SLOW + dt)) + now - before
    known = held * (lean[3:6].T @ lean[3:6] > 0.25)  # a known vertical has length one; zeros mean unknown
    return casadi.if_else(known, stack(quick, slow), stack(now, now))


# --- correction -------------------------------------------------------------------------------------------------------


def kinematic_noise(R: SX, seen: Kinematics, noise: dict[str, SX]) -> SX:
    """Returns N̄ = R J Cov Jᵀ Rᵀ [HGEG20, noise of the kinematic measurement] plus the error of the kinematic model.

    For a sole, the rows of its rotation follow."""
    scales = [noise["kinematics"]] * 3
    if seen.sole is None:
        J = R @ seen.J
    else:
        J, scales = stack(R @ seen.J, R @ seen.J_turn), scales + [noise["kinematics"] / seen.arm] * 3
    return noise["encoder"] ** 2 * J @ J.T + casadi.diag(stack(*scales) ** 2)


def innovation(state: FilterState, i: int, seen: Kinematics) -> SX:
    """Returns the contact's position by kinematics minus its estimate; for a sole, followed by the rotation error."""
    place = state.p + state.R @ seen.h - state.d[i]
    if seen.sole is None:
        return place
    turn = quaternions.product(sole_of(state, seen), quaternions.conjugate(state.soles[seen.sole]))
    return stack(place, *quaternions.log(turn, SYMBOLS))


def sole_of(state: FilterState, seen: Kinematics) -> list[SX]:
    """Returns the quaternion of R_WC by forward kinematics."""
    return list(quaternions.normalised(quaternions.product(state.turn, _quaternion(seen.R)), SYMBOLS))


def corrected(
    state: FilterState, P: SX, i: int, seen: Kinematics, held: SX, noise: dict[str, SX]
) -> tuple[FilterState, SX, SX, SX]:
    """Returns (mean, covariance, squared innovation, log-likelihood) after the measurement of contact i.

    In swing nothing changes. H ξ = (ξ_d − ξ_p, ψ − φ) is the same at every state; the covariance is in Joseph's form
    [HGEG20, right-invariant correction by forward kinematics].
    """
    n, own, base = P.shape[0], seen.own, seen.base
    N, off = kinematic_noise(state.R, seen, noise), innovation(state, i, seen)
    HP = P[own, :] - P[base, :]
    S = factorised(HP[:, own] - HP[:, base] + N)
    solved = S.solve(casadi.horzcat(HP, off))
    K = held * solved[:, :n].T
    A = P - K @ HP  # (1 − K H) P
    P_new = symmetric(A + (K @ N - (A[:, own] - A[:, base])) @ K.T)
    squared = held * off.T @ solved[:, n]
    density = len(own) * log(2 * pi) - sum(casadi.log(pivot) for pivot in S.pivots)
    return state.moved(K @ off), P_new, squared, -(squared + held * density) / 2


def placed(
    state: FilterState, P: SX, i: int, seen: Kinematics, held: SX, noise: dict[str, SX]
) -> tuple[FilterState, SX]:
    """Places a contact in swing by forward kinematics: d = p + R h, ξ_d = ξ_p + R J w; its sole likewise.

    [HGEG20, adding contact points].
    """
    own, base = seen.own, seen.base
    fresh = SX(P)
    fresh[own, :] = P[base, :]
    fresh[:, own] = fresh[:, base]
    fresh[own, own] = P[base, base] + kinematic_noise(state.R, seen, noise)
    chosen = SX(P)
    chosen[own, :] = casadi.if_else(held, P[own, :], fresh[own, :])
    chosen[:, own] = casadi.if_else(held, P[:, own], fresh[:, own])
    where = state.p + state.R @ seen.h
    places = [casadi.if_else(held, x, where) if k == i else x for k, x in enumerate(state.d)]
    soles = list(state.soles)
    if seen.sole is not None:
        kept, new = soles[seen.sole], sole_of(state, seen)
        soles[seen.sole] = [casadi.if_else(held, x, y) for x, y in zip(kept, new, strict=True)]
    return replace(state, d=places, soles=soles), chosen


def symmetric(P: SX) -> SX:
    """Returns the symmetric matrix given by the upper triangle; the lower one is never computed."""
    upper = casadi.triu(P)
    return upper + casadi.triu(P, False).T


def _identity(n: int) -> list[list[int]]:
    return [[int(i == j) for j in range(n)] for i in range(n)]


# --- the robot --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RobotKinematics:
    """Forward kinematics with the base at the origin: IMU in base axes, contacts in IMU axes."""

    R_BI: SX
    p_BI: SX
    V_BI: SX  # twist of the IMU in the base, in the base's axes
    contacts: list[Kinematics]


def robot_kinematics(tree: Tree, joints: SX, rates: SX, imu: Place, soles: Sequence[Sole]) -> RobotKinematics:
    """Returns the kinematics of the robot with its base at the world's origin."""
    q, v = stack(constant([0, 0, 0, 1, 0, 0, 0]), joints), stack(zeros(6), rates)
    where = poses(tree, q)
    R_BI, p_BI = where.frame(tree, imu)
    speed = SX.sym("speed", tree.nv - 6)
    flow = coordinate_rates(tree, q, stack(zeros(6), speed))[7:]
    seen, flat = list[Kinematics](), 0
    for i, sole in enumerate(soles):
        R, p = where.frame(tree, sole.place)
        h = R_BI.T @ (p - p_BI)
        J = casadi.sparsify(casadi.jacobian(casadi.jtimes(h, joints, flow), speed))
        turn = [velocity(tree, q, stack(zeros(6), speed), place)[3:6] for place in (sole.place, imu)]
        J_turn = casadi.sparsify(casadi.jacobian(R_BI.T @ (turn[0] - turn[1]), speed))
        own, base, number = [*range(9 + 3 * i, 12 + 3 * i)], [6, 7, 8], None
        if sole.carries_turn:
            at, number, flat = 9 + 3 * (len(soles) + flat), flat, flat + 1
            own, base = [*own, *range(at, at + 3)], [*base, 0, 1, 2]
        seen.append(Kinematics(h, J, R_BI.T @ R, J_turn, own, base, number, sole.arm))
    return RobotKinematics(R_BI, p_BI, velocity(tree, q, v, imu), seen)


def base_state(state: FilterState, seen: RobotKinematics, gyroscope: SX, joints: SX, rates: SX) -> tuple[SX, SX]:
    """Returns (q, v) of the robot from the state of its IMU."""
    R_WI = state.R
    R_WB = R_WI @ seen.R_BI.T
    arm = R_WB @ seen.p_BI
    omega = R_WI @ (gyroscope - state.gyroscope_bias) - R_WB @ seen.V_BI[3:6]
    v = state.v - cross(omega, arm) - R_WB @ seen.V_BI[0:3]
    turn = quaternions.product(state.turn, quaternions.conjugate(_quaternion(seen.R_BI)))
    return stack(state.p - arm, *quaternions.normalised(turn, SYMBOLS), joints), stack(v, omega, rates)


def contact_velocity(state: FilterState, seen: RobotKinematics, i: int, symbols: dict[str, SX]) -> SX:
    """Returns the velocity of contact i in the world from IMU and encoders only, without the assumption that it
    rests."""
    contact, omega = seen.contacts[i], symbols["gyroscope"] - state.gyroscope_bias
    return state.v + state.R @ (cross(omega, contact.h) + contact.J @ symbols["joint_rates"])


def _quaternion(R: SX) -> list[SX]:
    """Returns the unit quaternion of a rotation matrix.

    Of the four rows of 4 q qᵀ, the one with the largest diagonal entry is chosen at run time, for accuracy."""
    d = [R[0, 0], R[1, 1], R[2, 2]]
    trace = d[0] + d[1] + d[2]
    rows = [[1 + trace, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]]
    rows += [
        [R[2, 1] - R[1, 2], 1 + 2 * d[0] - trace, R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
        [R[0, 2] - R[2, 0], R[0, 1] + R[1, 0], 1 + 2 * d[1] - trace, R[1, 2] + R[2, 1]],
        [R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], 1 + 2 * d[2] - trace],
    ]
    best, size = rows[0], rows[0][0]
    for k in (1, 2, 3):
        larger = rows[k][k] > size
        best = [casadi.if_else(larger, new, old) for new, old in zip(rows[k], best, strict=True)]
        size = casadi.if_else(larger, rows[k][k], size)
    return list(quaternions.normalised(best, SYMBOLS))


# --- one step ---------------------------------------------------------------------------------------------------------


def step(tree: Tree, imu: Place, soles: Sequence[Sole], symbols: dict[str, SX]) -> dict[str, SX]:
    """Computes one filter step: predict with the IMU, correct with contacts in stance, place those in swing."""
    layout, dt = BeliefLayout(len(soles), sum(sole.carries_turn for sole in soles)), symbols["dt"]
    state, P = unpacked(layout, symbols["belief"])
    leans = [symbols["belief"][layout.lean(i)] for i in range(len(soles))]
    noise = {name: symbols["noise"][i] for i, name in enumerate(NOISES)}
    seen = robot_kinematics(tree, symbols["joints"], symbols["joint_rates"], imu, soles)
    gravity = constant(tree.gravity)
    up = constant(vertical(tree.gravity))
    pairs = zip(leans, seen.contacts, strict=True)
    densities = [contact_noise(state, P, lean, contact, noise, up, dt) for lean, contact in pairs]
    creeps = [place for place, _ in densities]
    creeps += [turn for (_, turn), sole in zip(densities, soles, strict=True) if sole.carries_turn]
    state, P = predicted(state, P, symbols["gyroscope"], symbols["accelerometer"], noise, creeps, gravity, dt)
    ahead, squares, total = state, [], zeros(1)
    for i, contact in enumerate(seen.contacts):
        state, P, squared, likelihood = corrected(state, P, i, contact, symbols["held"][i], noise)
        squares.append(squared)
        total = total + likelihood
    for i, contact in enumerate(seen.contacts):
        state, P = placed(state, P, i, contact, symbols["held"][i], noise)
    q, v = base_state(state, seen, symbols["gyroscope"], symbols["joints"], symbols["joint_rates"])
    leans = [leaning(ahead, state, seen.contacts[i], lean, symbols["held"][i], up, dt) for i, lean in enumerate(leans)]
    belief = stack(packed(state, P), *leans, *(x for q in state.soles for x in q))
    speeds = stack(*(contact_velocity(state, seen, k, symbols) for k in range(len(soles))))
    return {"belief": belief, "q": q, "v": v, "squares": stack(*squares), "likelihood": total, "speeds": speeds}


def unpacked(layout: BeliefLayout, belief: SX) -> tuple[FilterState, SX]:
    """Returns mean and covariance from a packed belief."""
    d = [belief[layout.contact(i)] for i in range(layout.contacts)]
    mean = FilterState(
        entries(belief[layout.quaternion]), belief[layout.velocity], belief[layout.position], d,
        belief[layout.gyroscope_bias], belief[layout.accelerometer_bias],
        [entries(belief[layout.sole(j)]) for j in range(layout.soles)],
    )  # fmt: skip
    P, n, at = SX(layout.n, layout.n), layout.n, layout.covariance.start
    for i in range(n):
        for j in range(i, n):
            P[i, j] = P[j, i] = belief[at]
            at += 1
    return mean, P


def packed(state: FilterState, P: SX) -> SX:
    """Packs mean and covariance into the numbers of a belief."""
    n = P.shape[0]
    upper = [P[i, j] for i in range(n) for j in range(i, n)]
    biases = state.gyroscope_bias, state.accelerometer_bias
    return casadi.vertcat(*state.turn, state.v, state.p, *state.d, *biases, *upper)
