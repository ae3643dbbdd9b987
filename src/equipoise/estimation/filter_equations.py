"""The contact-aided right-invariant Kalman filter on symbols, one step of it for one robot.

The state of the IMU frame I in the world is an element of SE_{k+2}(3) with k contact points, and two biases:

    X = (R_WI, v_WI, p_WI, d_1 … d_k),   θ = (b_g, b_a)                     [HGEG20, state with contacts and biases]

The error is right-invariant, X̄ = exp(ξ) X, and θ̄ = θ + ζ. Without biases ξ obeys a linear equation that knows nothing
of the estimate, and the measurement of a foot by the encoders is linear in ξ with a constant matrix. A contact that is
not held is placed anew by kinematics at each step: what a foot does in the air leaves no trace, and it is ready to
touch.

[HGEG20]: Hartley, Ghaffari, Eustice, Grizzle: Contact-aided invariant extended Kalman filtering for robot state
estimation, IJRR 39(4), 2020. Its equations are named by what they state; the numbers differ between its versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, pi

import casadi

from ..algebra import quaternions
from ..equations.inverse_dynamics import Place
from ..equations.jacobians import velocity
from ..equations.kinematics import poses
from ..equations.manifold import coordinate_rates, entries
from ..equations.symbols import SX, SYMBOLS, constant, cross, skew, solve_positive_definite, stack, zeros
from ..model.tree import Tree
from .belief import BeliefLayout
from .frames import vertical
from .soles import Sole

NOISES = (
    "gyroscope", "gyroscope_bias", "accelerometer", "accelerometer_bias", "contact", "encoder", "kinematics", "creep",
    "rocking",
)  # fmt: skip
QUICK, SLOW = 0.01, 0.05  # s over which the lean of a contact is smoothed
CERTAIN = 10.0  # variances of one encoder, smoothed: less of a lean is noise of all joints of a leg


@dataclass
class FilterState:
    """The mean of the filter, on symbols."""

    turn: list[SX]  # unit quaternion of R_WI
    v: SX
    p: SX
    d: list[SX]
    gyroscope_bias: SX
    accelerometer_bias: SX

    @property
    def R(self) -> SX:
        """R_WI."""
        return quaternions.rotation(self.turn, SYMBOLS)

    def moved(self, xi: SX) -> FilterState:
        """exp(ξ) X and θ + ζ [HGEG20, state update of the filter; closed form of the exponential]."""
        turn = quaternions.exp(entries(xi[0:3]), SYMBOLS)
        R, J = quaternions.rotation(turn, SYMBOLS), left_jacobian(xi[0:3])
        vectors = [R @ x + J @ xi[3 * i + 3 : 3 * i + 6] for i, x in enumerate([self.v, self.p, *self.d])]
        new = quaternions.normalised(quaternions.product(turn, self.turn), SYMBOLS)
        zeta = xi[xi.shape[0] - 6 :]
        biases = self.gyroscope_bias + zeta[0:3], self.accelerometer_bias + zeta[3:6]
        return FilterState(list(new), vectors[0], vectors[1], vectors[2:], *biases)


@dataclass(frozen=True)
class Kinematics:
    """What the encoders say of one contact: its place in the IMU's axes and how that moves with the joints."""

    h: SX  # p_IC, in I
    J: SX  # 3×(joint rates)
    R: SX  # R_IC


def left_jacobian(w: SX) -> SX:
    """∫ exp(s w^) ds from 0 to 1, the left Jacobian of SO(3) [HGEG20, exponential of SE_K(3)]."""
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
    """Mean and covariance after dt with the IMU's rates held; `creeps` are the contacts' densities, squared.

    [HGEG20, IMU and contact dynamics; Riccati equation of the right-invariant error with biases].

    Φ = exp(A dt) is exact in what gravity does, and of first order in the biases.
    """
    R = state.R
    omega, force = w - state.gyroscope_bias, a - state.accelerometer_bias
    step = omega * dt
    turn = quaternions.product(state.turn, quaternions.exp(entries(step), SYMBOLS))
    v = state.v + R @ left_jacobian(step) @ force * dt + gravity * dt
    pull = R @ (force + cross(step, force) / 3) + gravity  # of second order in the turn: enough within one step
    p = state.p + state.v * dt + pull * (dt * dt / 2)
    mean = FilterState(
        list(quaternions.normalised(turn, SYMBOLS)), v, p, state.d, state.gyroscope_bias, state.accelerometer_bias
    )
    Phi = _transition(state, R, gravity, dt)
    return mean, symmetric(Phi @ (P + _process_noise(state, noise, creeps) * dt) @ Phi.T)


def _transition(state: FilterState, R: SX, gravity: SX, dt: SX) -> SX:
    """Φ = 1 + A dt + …, with A of the linear error dynamics with biases [HGEG20]."""
    n = 15 + 3 * len(state.d)
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
    """Q̄ = Ad_X Cov(w) Ad_Xᵀ [HGEG20, noise of the right-invariant error].

    R drops out, because the noises are the same in all directions.
    """
    count = 5 + len(state.d)
    Q, one = zeros(3 * count, 3 * count), constant(_identity(3))
    gyroscope = noise["gyroscope"] ** 2
    arms = [one, *(skew(x) for x in (state.v, state.p, *state.d))]
    for i, left in enumerate(arms):
        for j, right in enumerate(arms):
            Q[3 * i : 3 * i + 3, 3 * j : 3 * j + 3] = gyroscope * left @ right.T
    own = {1: "accelerometer", count - 2: "gyroscope_bias", count - 1: "accelerometer_bias"}
    strengths = {i: noise[name] ** 2 for i, name in own.items()}
    strengths |= {3 + i: creep for i, creep in enumerate(creeps)}
    for i, squared in strengths.items():
        Q[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] += squared * one
    return Q


def contact_noise(state: FilterState, P: SX, lean: SX, arm: float, noise: dict[str, SX], dt: SX) -> SX:
    """Density of a held point's velocity, squared: at rest, by the robot's own motion, and by that of the sole.

    Nearly at rest, the load on a sole is a function of where the centre of mass is, and sole and ground give in
    proportion to it: a contact point moves by a part of the body's velocity. A sole that rocks turns about some edge
    of it, and its middle moves by as much as its corners do; what encoders and the gyroscope's bias may feign is none.
    """
    rate, n = (lean[0:3] - lean[3:6]) / SLOW, P.shape[0]
    by_bias = casadi.trace(P[n - 6 : n - 3, n - 6 : n - 3])
    floor = CERTAIN * noise["encoder"] ** 2 * dt / (QUICK * SLOW * SLOW) + by_bias
    rocking = noise["rocking"] ** 2 * arm * arm * casadi.fmax(rate.T @ rate - floor, 0)
    return noise["contact"] ** 2 + noise["creep"] ** 2 * state.v.T @ state.v + rocking


def leaning(ahead: FilterState, state: FilterState, seen: Kinematics, lean: SX, held: SX, up: SX, dt: SX) -> SX:
    """The vertical in a contact's axes, smoothed quickly and slowly; as it is now where the contact is not held, or was
    never seen before. What the correction from `ahead` to `state` turns is no motion."""
    before, now = (seen.R.T @ (R.T @ up) for R in (ahead.R, state.R))
    quick = lean[0:3] + (before - lean[0:3]) * (dt / (QUICK + dt)) + now - before
    slow = lean[3:6] + (before - lean[3:6]) * (dt / (SLOW + dt)) + now - before
    known = held * (lean[3:6].T @ lean[3:6] > 0.25)  # a vertical has length one, what is not known yet has none
    return casadi.if_else(known, stack(quick, slow), stack(now, now))


# --- correction -------------------------------------------------------------------------------------------------------


def kinematic_noise(R: SX, seen: Kinematics, noise: dict[str, SX]) -> SX:
    """N̄ = R J Cov Jᵀ Rᵀ [HGEG20, noise of the kinematic measurement], and what the robot's geometry itself is wrong
    by."""
    J = R @ seen.J
    return noise["encoder"] ** 2 * J @ J.T + noise["kinematics"] ** 2 * constant(_identity(3))


def corrected(
    state: FilterState, P: SX, i: int, seen: Kinematics, held: SX, noise: dict[str, SX]
) -> tuple[FilterState, SX, SX, SX]:
    """(mean, covariance, squared innovation, log-likelihood) after contact i is seen; as before where it is not held.

    H ξ = ξ_d − ξ_p is the same at every state; the covariance is in Joseph's form [HGEG20,
    right-invariant correction by forward kinematics].
    """
    R, n = state.R, P.shape[0]
    d = slice(9 + 3 * i, 12 + 3 * i)
    N = kinematic_noise(R, seen, noise)
    innovation = state.p + R @ seen.h - state.d[i]
    HP = P[d, :] - P[6:9, :]
    S = HP[:, d] - HP[:, 6:9] + N
    solved = solve_positive_definite(S, casadi.horzcat(HP, innovation))
    K = held * solved[:, :n].T
    A = P - K @ HP  # (1 − K H) P
    P_new = symmetric(A + (K @ N - (A[:, d] - A[:, 6:9])) @ K.T)
    squared = held * innovation.T @ solved[:, n]
    likelihood = -(squared + held * (casadi.log(_determinant(S)) + 3 * log(2 * pi))) / 2
    return state.moved(K @ innovation), P_new, squared, likelihood


def placed(
    state: FilterState, P: SX, i: int, seen: Kinematics, held: SX, noise: dict[str, SX]
) -> tuple[FilterState, SX]:
    """Contact i put where kinematics see it, unless it is held: d = p + R h, ξ_d = ξ_p + R J w.

    [HGEG20, adding contact points].
    """
    R, d = state.R, slice(9 + 3 * i, 12 + 3 * i)
    fresh = SX(P)
    fresh[d, :] = P[6:9, :]
    fresh[:, d] = fresh[:, 6:9]
    fresh[d, d] = P[6:9, 6:9] + kinematic_noise(R, seen, noise)
    chosen = SX(P)
    chosen[d, :] = casadi.if_else(held, P[d, :], fresh[d, :])
    chosen[:, d] = casadi.if_else(held, P[:, d], fresh[:, d])
    where = state.p + R @ seen.h
    places = [casadi.if_else(held, x, where) if k == i else x for k, x in enumerate(state.d)]
    return FilterState(state.turn, state.v, state.p, places, state.gyroscope_bias, state.accelerometer_bias), chosen


def symmetric(P: SX) -> SX:
    """The matrix of the upper triangle alone: what lies below is never computed."""
    upper = casadi.triu(P)
    return upper + casadi.triu(P, False).T


def _determinant(S: SX) -> SX:
    return S[0, :] @ casadi.cross(S[1, :].T, S[2, :].T)


def _identity(n: int) -> list[list[int]]:
    return [[int(i == j) for j in range(n)] for i in range(n)]


# --- the robot --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RobotKinematics:
    """The joints as seen from the base: the IMU in it, and the contacts from the IMU."""

    R_BI: SX
    p_BI: SX
    V_BI: SX  # twist of the IMU in the base, in the base's axes
    contacts: list[Kinematics]


def robot_kinematics(tree: Tree, joints: SX, rates: SX, imu: Place, contacts: Sequence[Place]) -> RobotKinematics:
    """The robot with its base held at the origin of the world."""
    q, v = stack(constant([0, 0, 0, 1, 0, 0, 0]), joints), stack(zeros(6), rates)
    where = poses(tree, q)
    R_BI, p_BI = where.frame(tree, imu)
    speed = SX.sym("speed", tree.nv - 6)
    flow = coordinate_rates(tree, q, stack(zeros(6), speed))[7:]
    seen = []
    for place in contacts:
        h = R_BI.T @ (where.frame(tree, place)[1] - p_BI)
        J = casadi.sparsify(casadi.jacobian(casadi.jtimes(h, joints, flow), speed))
        seen.append(Kinematics(h, J, R_BI.T @ where.frame(tree, place)[0]))
    return RobotKinematics(R_BI, p_BI, velocity(tree, q, v, imu), seen)


def base_state(state: FilterState, seen: RobotKinematics, gyroscope: SX, joints: SX, rates: SX) -> tuple[SX, SX]:
    """(q, v) of the robot whose IMU moves like that."""
    R_WI = state.R
    R_WB = R_WI @ seen.R_BI.T
    arm = R_WB @ seen.p_BI
    omega = R_WI @ (gyroscope - state.gyroscope_bias) - R_WB @ seen.V_BI[3:6]
    v = state.v - cross(omega, arm) - R_WB @ seen.V_BI[0:3]
    turn = quaternions.product(state.turn, quaternions.conjugate(_quaternion(seen.R_BI)))
    return stack(state.p - arm, *quaternions.normalised(turn, SYMBOLS), joints), stack(v, omega, rates)


def contact_velocity(state: FilterState, seen: RobotKinematics, i: int, symbols: dict[str, SX]) -> SX:
    """How contact i moves in the world by IMU and encoders: nothing of what a point that is held is taken for."""
    contact, omega = seen.contacts[i], symbols["gyroscope"] - state.gyroscope_bias
    return state.v + state.R @ (cross(omega, contact.h) + contact.J @ symbols["joint_rates"])


def _quaternion(R: SX) -> list[SX]:
    """Unit quaternion of a rotation: of its row of 4 q qᵀ with the largest diagonal entry, chosen when it runs."""
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
    """One step of the filter: predict with the IMU, correct with the contacts that are held, place the others."""
    layout, dt = BeliefLayout(len(soles)), symbols["dt"]
    state, P = unpacked(layout, symbols["belief"])
    leans = [symbols["belief"][layout.lean(i)] for i in range(len(soles))]
    noise = {name: symbols["noise"][i] for i, name in enumerate(NOISES)}
    places = [sole.place for sole in soles]
    seen = robot_kinematics(tree, symbols["joints"], symbols["joint_rates"], imu, places)
    gravity = constant(tree.gravity)
    creeps = [contact_noise(state, P, lean, sole.arm, noise, dt) for lean, sole in zip(leans, soles, strict=True)]
    state, P = predicted(state, P, symbols["gyroscope"], symbols["accelerometer"], noise, creeps, gravity, dt)
    ahead, squares, total = state, [], zeros(1)
    for i, contact in enumerate(seen.contacts):
        state, P, squared, likelihood = corrected(state, P, i, contact, symbols["held"][i], noise)
        squares.append(squared)
        total = total + likelihood
    for i, contact in enumerate(seen.contacts):
        state, P = placed(state, P, i, contact, symbols["held"][i], noise)
    q, v = base_state(state, seen, symbols["gyroscope"], symbols["joints"], symbols["joint_rates"])
    up = constant(vertical(tree.gravity))
    leans = [leaning(ahead, state, seen.contacts[i], lean, symbols["held"][i], up, dt) for i, lean in enumerate(leans)]
    belief = stack(packed(state, P), *leans)
    speeds = stack(*(contact_velocity(state, seen, k, symbols) for k in range(len(soles))))
    return {"belief": belief, "q": q, "v": v, "squares": stack(*squares), "likelihood": total, "speeds": speeds}


def unpacked(layout: BeliefLayout, belief: SX) -> tuple[FilterState, SX]:
    """Mean and covariance from the numbers of a belief."""
    d = [belief[layout.contact(i)] for i in range(layout.contacts)]
    mean = FilterState(
        entries(belief[layout.quaternion]), belief[layout.velocity], belief[layout.position], d,
        belief[layout.gyroscope_bias], belief[layout.accelerometer_bias],
    )  # fmt: skip
    P, n, at = SX(layout.n, layout.n), layout.n, layout.covariance.start
    for i in range(n):
        for j in range(i, n):
            P[i, j] = P[j, i] = belief[at]
            at += 1
    return mean, P


def packed(state: FilterState, P: SX) -> SX:
    """Mean and covariance as numbers of a belief."""
    n = P.shape[0]
    upper = [P[i, j] for i in range(n) for j in range(i, n)]
    biases = state.gyroscope_bias, state.accelerometer_bias
    return casadi.vertcat(*state.turn, state.v, state.p, *state.d, *biases, *upper)
