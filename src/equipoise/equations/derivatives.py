"""Derivatives of inverse and forward dynamics, in closed form.

A displacement along the twist S_j of joint j moves its whole subtree as one rigid body; what does not turn along with
it changes velocities and accelerations. With V and A the spatial velocity and acceleration of a body of the subtree,
all about one point, and × the product of twists,

    ∂V/∂q_j = S_j × V + Ψ̇_j,    ∂A/∂q_j = S_j × A + Ψ̇_j × V + Ψ̈_j,
    ∂V/∂v_j = S_j,              ∂A/∂v_j = S_j × V + Φ_j,

where Ψ̇, Ψ̈ and Φ depend on the joint alone. What moves rigidly does no work. So, with the inertia I, the operator D
(see `coriolis`) and the wrench F of the smaller of the two subtrees,

    ∂tau_i/∂v_j = S_iᵀ (2 D S_j + I Φ_j),
    ∂tau_i/∂q_j = S_iᵀ (2 D Ψ̇_j + I Ψ̈_j), and + S_iᵀ (S_j ×* F) where j comes after i.

For joints of one axis these are the recursions of Singh, Russell and Wensing, "Efficient analytical derivatives of
rigid-body dynamics using spatial vector algebra", IEEE RA-L 7(2), 2022; our 2 D is their B. Joints of several axes add
terms, because their columns turn in each other.

Subtrees are summed in the axes of their bodies, where joints are sparse; pairs of joints meet in world axes about the
base's origin O. Dynamics are the same in every frame that moves steadily, so O is taken to rest, and the columns that
belong to the position and the velocity of the base are zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..model.tree import Tree
from .coriolis import Drift
from .factors import ColumnSolutions, Factors, factorised, solved_columns
from .inverse_dynamics import body_wrench, second_moment
from .joints import gather, rates
from .kinematics import BodyMotion, Poses, body_accelerations, poses
from .mass_matrix import Moments, composites, symmetric
from .symbols import SX, constant, cross, skew, stack, zeros


@dataclass(frozen=True)
class Spatial:
    """Twists (linear, angular) or wrenches (force, torque) at a point, side by side as columns."""

    linear: SX
    angular: SX

    def __add__(self, other: Spatial) -> Spatial:
        return Spatial(self.linear + other.linear, self.angular + other.angular)

    def times(self, factor: SX | float) -> Spatial:
        """Each column by a number, or columns combined by a matrix."""
        if isinstance(factor, SX):
            return Spatial(self.linear @ factor, self.angular @ factor)
        return Spatial(factor * self.linear, factor * self.angular)

    def dot(self, other: Spatial) -> SX:
        """Power of wrenches on twists, for every pair of columns."""
        return self.linear.T @ other.linear + self.angular.T @ other.angular

    def twists_in(self, R: SX, p: SX) -> Spatial:
        """The same twists in the frame in which this one stands at (R, p)."""
        angular = R @ self.angular
        return Spatial(R @ self.linear + cross(p, angular), angular)

    def wrenches_in(self, R: SX, p: SX) -> Spatial:
        """The same wrenches in the frame in which this one stands at (R, p)."""
        linear = R @ self.linear
        return Spatial(linear, R @ self.angular + cross(p, linear))


def twist_product(a: Spatial, b: Spatial) -> Spatial:
    """a × b for one column a: how b changes when it is moved along a."""
    return Spatial(cross(a.angular, b.linear) + cross(a.linear, b.angular), cross(a.angular, b.angular))


def moved_wrench(F: Spatial, S: Spatial) -> Spatial:
    """S ×* F for every column of S: how the wrench F changes when it is moved along S."""
    return Spatial(-cross(F.linear, S.angular), -cross(F.angular, S.angular) - cross(F.linear, S.linear))


# --- one joint -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JointState:
    """A joint and how it moves, at the origin and in the axes of its body; in those of the world for the base."""

    R: SX  # pose in world axes from O
    p: SX
    S: Spatial
    V: Spatial  # of the body, O taken to rest
    carried: Spatial  # the part of V that is not due to this joint
    rate: SX
    turning: bool  # the axes of its rotations turn with the body; else with the parent

    def turn(self, along: SX) -> Spatial:
        """Column d: how S @ along changes with a displacement along axis d."""
        n, spin = self.S.angular.shape[1], self.S.angular @ along
        turned = -cross(spin, self.S.angular) if self.turning and n > 1 else zeros(3, n)
        return Spatial(-cross(spin, self.S.linear), turned)

    @property
    def simple(self) -> bool:
        """Rotation or translation along one axis: a displacement turns nothing of its own."""
        return self.S.linear.shape[1] == 1 and 0 in (self.S.linear.nnz(), self.S.angular.nnz())

    @property
    def psi(self) -> Spatial:
        """Ψ̇."""
        along = twist_product(self.V, self.S)
        return along if self.simple else along + self.turn(self.rate)

    @property
    def phi(self) -> Spatial:
        """Φ. The joint's own drift is (slide × spin, 0), with the slide and the spin of its own rates."""
        if self.simple:
            return self.psi.times(2.0)
        slide, spin = self.S.linear @ self.rate, self.S.angular @ self.rate
        drift = cross(slide, self.S.angular) - cross(spin, self.S.linear)
        return twist_product(self.carried, self.S) + twist_product(self.V, self.S) + Spatial(drift, zeros(*drift.shape))

    def psi_rate(self, motion: BodyMotion, rate_dot: SX) -> Spatial:
        """Ψ̈, with A × S + V × (V × S) written in the acceleration of the body's origin as a point."""
        l, s = self.S.linear, self.S.angular
        point = motion.B @ l + cross(motion.acceleration, s) + 2 * cross(self.V.linear, cross(motion.w, s))
        result = Spatial(point, motion.B @ s)
        if self.simple:
            return result
        turn = self.turn(self.rate)
        drift = cross(l @ self.rate, turn.angular)
        moved = twist_product(self.carried, turn) + twist_product(self.V, turn)
        return result + self.turn(rate_dot) + moved + Spatial(drift, zeros(*drift.shape))


def joint_states(tree: Tree, where: Poses, v: SX) -> list[JointState]:
    """Outward pass of velocities."""
    result: list[JointState] = []
    still = Spatial(-v[0:3] if tree.floating else zeros(3), zeros(3))
    velocity: list[Spatial] = []
    for i, (body, motion, rate) in enumerate(zip(tree.bodies, where.motions, rates(tree, v), strict=True)):
        if tree.floating and i == 0:
            result.append(_base_state(tree, rate))
            velocity.append(Spatial(zeros(3), where.R[0].T @ rate[3:6]))
            continue
        parent = still if body.parent < 0 else velocity[body.parent]
        S = Spatial(motion.subspace[:3, :], motion.spin)
        carried = Spatial(motion.R.T @ (parent.linear + cross(parent.angular, motion.p)), motion.R.T @ parent.angular)
        velocity.append(carried + S.times(rate))
        turning = body.joint.spin_axes == "child"
        result.append(JointState(where.R[i], where.p[i], S, velocity[i], carried, rate, turning))
    return result


def _base_state(tree: Tree, rate: SX) -> JointState:
    """The base in world axes: six unit columns."""
    one, joint = constant([[1, 0, 0], [0, 1, 0], [0, 0, 1]]), tree.bodies[0].joint
    S = Spatial(constant(joint.slide()), constant(joint.spin()))
    rate = stack(zeros(3), rate[3:6])
    rest = Spatial(zeros(3), zeros(3))
    return JointState(one, zeros(3), S, S.times(rate), rest, rate, turning=False)


def _base_motion(tree: Tree, v: SX, a: SX) -> BodyMotion:
    """The base in world axes."""
    w, alpha = v[3:6], a[3:6]
    return BodyMotion(w, skew(alpha) + skew(w) @ skew(w), alpha, a[0:3] - constant(tree.gravity))


# --- subtrees --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Subtree:
    """A body with all that it carries, at the origin and in the axes of its joint state."""

    I: Moments
    D: Drift

    def momenta(self, twists: Spatial) -> Spatial:
        """I s."""
        return Spatial(*self.I.momentum(twists.linear, twists.angular))

    def drifts(self, twists: Spatial) -> Spatial:
        """2 D s."""
        return Spatial(*self.D.on(twists.angular)).times(2.0)

    def drifts_back(self, twists: Spatial) -> SX:
        """Angular part of 2 Dᵀ s; there is no other."""
        return 2 * self.D.transposed_on(twists.linear, twists.angular)


def subtrees(tree: Tree, where: Poses, states: list[JointState]) -> list[Subtree]:
    """Inward pass of inertias and drifts."""
    drifts = []
    for i, (body, state) in enumerate(zip(tree.bodies, states, strict=True)):
        h, u, w = constant(body.h), state.V.linear, state.V.angular
        if tree.floating and i == 0:
            u, w = where.R[0].T @ u, where.R[0].T @ w
        drifts.append(Drift(body.mass * u + cross(w, h), u @ h.T + skew(w) @ second_moment(body)))
    for i in reversed(range(len(drifts))):
        parent = tree.bodies[i].parent
        if parent >= 0:
            drifts[parent] = drifts[parent] + drifts[i].moved(where.motions[i].R, where.motions[i].p)
    moments = composites(tree, where.motions)
    if tree.floating:
        moments[0], drifts[0] = moments[0].moved(where.R[0], zeros(3)), drifts[0].moved(where.R[0], zeros(3))
    return [Subtree(I, D) for I, D in zip(moments, drifts, strict=True)]


def subtree_wrenches(tree: Tree, where: Poses, accelerations: list[BodyMotion]) -> list[Spatial]:
    """Inward pass of wrenches: what each body takes with all that it carries."""
    total = [Spatial(*body_wrench(body, motion)) for body, motion in zip(tree.bodies, accelerations, strict=True)]
    for i in reversed(range(len(total))):
        parent = tree.bodies[i].parent
        if parent >= 0:
            total[parent] = total[parent] + total[i].wrenches_in(where.motions[i].R, where.motions[i].p)
    if tree.floating:
        total[0] = total[0].wrenches_in(where.R[0], zeros(3))
    return total


# --- pairs of joints -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JointPart:
    """A joint with its subtree: on its own in local axes, and in world axes about O to be paired with others."""

    state: JointState
    subtree: Subtree
    S: Spatial
    psi: Spatial
    phi: Spatial
    by_v: Spatial  # wrench on the subtree per rate and per acceleration of the joint
    by_a: Spatial
    drift: SX  # angular part of 2 Dᵀ S


@dataclass(frozen=True)
class _JointPush:
    """What belongs to a displacement of a joint while the robot accelerates, in world axes about O."""

    psi_rate: Spatial
    by_q: Spatial  # wrench on the subtree per displacement
    own: SX  # force of the joint itself per displacement


def parts_of(tree: Tree, where: Poses, v: SX) -> list[JointPart]:
    """All joints with their subtrees."""
    states = joint_states(tree, where, v)
    return [_part(state, subtree) for state, subtree in zip(states, subtrees(tree, where, states), strict=True)]


def _part(state: JointState, subtree: Subtree) -> JointPart:
    R, p, S, psi, phi = state.R, state.p, state.S, state.psi, state.phi
    psi_world = psi.twists_in(R, p)
    return JointPart(
        state,
        subtree,
        S.twists_in(R, p),
        psi_world,
        psi_world.times(2.0) if state.simple else phi.twists_in(R, p),
        (subtree.drifts(S) + subtree.momenta(phi)).wrenches_in(R, p),
        subtree.momenta(S).wrenches_in(R, p),
        R @ subtree.drifts_back(S),
    )


def _pushes(tree: Tree, where: Poses, parts: list[JointPart], v: SX, a: SX) -> list[_JointPush]:
    motions = body_accelerations(tree, where.motions, v, a, constant(tree.gravity))
    wrenches = subtree_wrenches(tree, where, motions)
    if tree.floating:
        motions[0] = _base_motion(tree, v, a)
    columns = zip(parts, motions, wrenches, rates(tree, a), strict=True)
    return [_push(part, F, part.state.psi_rate(motion, rate_dot)) for part, motion, F, rate_dot in columns]


def _push(part: JointPart, F: Spatial, psi_rate: Spatial) -> _JointPush:
    state, S = part.state, part.state.S
    by_q = part.subtree.drifts(state.psi) + part.subtree.momenta(psi_rate) + moved_wrench(F, S)
    own = S.dot(by_q)
    if not state.simple:  # F on the columns that a displacement turns
        own = own + S.angular.T @ cross(F.linear, S.linear)
        if state.turning:
            own = own + S.angular.T @ cross(F.angular, S.angular)
    return _JointPush(psi_rate.twists_in(state.R, state.p), by_q.wrenches_in(state.R, state.p), own)


def _by_position(tree: Tree, parts: list[JointPart], pushes: list[_JointPush]) -> SX:
    """∂tau/∂q."""

    def pair(i: int, j: int) -> tuple[SX, SX]:
        back = parts[j].drift.T @ parts[i].psi.angular + parts[j].by_a.dot(pushes[i].psi_rate)
        return parts[i].S.dot(pushes[j].by_q), back

    return _without_position_of_base(tree, _paired(tree, [push.own for push in pushes], pair))


def _by_velocity(tree: Tree, parts: list[JointPart]) -> SX:
    """∂tau/∂v."""

    def pair(i: int, j: int) -> tuple[SX, SX]:
        back = parts[j].drift.T @ parts[i].S.angular + parts[j].by_a.dot(parts[i].phi)
        return parts[i].S.dot(parts[j].by_v), back

    joints = [(part.state, part.subtree) for part in parts]
    own = [state.S.dot(subtree.drifts(state.S) + subtree.momenta(state.phi)) for state, subtree in joints]
    return _without_position_of_base(tree, _paired(tree, own, pair))


def _by_acceleration(tree: Tree, parts: list[JointPart]) -> SX:
    """∂tau/∂a = M."""

    def pair(i: int, j: int) -> tuple[SX, SX]:
        block = parts[i].S.dot(parts[j].by_a)
        return block, block.T

    own = [symmetric(part.state.S.dot(part.subtree.momenta(part.state.S))) for part in parts]
    for body, block in zip(tree.bodies, own, strict=True):
        for k in range(body.joint.nv):
            block[k, k] += body.armature
    return _paired(tree, own, pair)


def _paired(tree: Tree, own: list[SX], pair: Callable[[int, int], tuple[SX, SX]]) -> SX:
    """What joints do to each other, nv×nv: each to itself, and `pair(i, j)`, j to i and i to j, for every i that
    carries j."""
    result = zeros(tree.nv, tree.nv)
    for j, block in enumerate(own):
        _add(tree, result, j, j, block)
        for i in tree.ancestors(j)[1:]:
            up, down = pair(i, j)
            _add(tree, result, i, j, up)
            _add(tree, result, j, i, down)
    return result


def _add(tree: Tree, matrix: SX, row: int, column: int, block: SX) -> None:
    """Add a block of two bodies; bodies that share a coordinate add up in the same place."""
    i, j = tree.bodies[row], tree.bodies[column]
    matrix[i.v, j.v] += i.multiplier * j.multiplier * block


def _without_position_of_base(tree: Tree, matrix: SX) -> SX:
    """Zeros that the symbols do not know of: no force depends on where the base is or how fast it goes."""
    if tree.floating:
        matrix[:, 0:3] = zeros(tree.nv, 3)
    return matrix


# --- inverse and forward dynamics ------------------------------------------------------------------------------------


def inverse_dynamics_derivatives(tree: Tree, q: SX, v: SX, a: SX) -> SX:
    """∂tau/∂q (tangent), ∂tau/∂v and ∂tau/∂a = M on top of each other, (3 nv)×nv."""
    where = poses(tree, q)
    parts = parts_of(tree, where, v)
    tau_q = _by_position(tree, parts, _pushes(tree, where, parts, v, a))
    return stack(tau_q, _by_velocity(tree, parts), _by_acceleration(tree, parts))


def forward_dynamics_derivatives(tree: Tree, q: SX, v: SX, tau: SX) -> SX:
    """∂a/∂q (tangent), ∂a/∂v and ∂a/∂tau = M⁻¹ on top of each other, (3 nv)×nv."""
    terms = _forward_terms(tree, q, v, tau)
    return stack(terms.factors.solve(-terms.tau_q), terms.factors.solve(-terms.tau_v), terms.factors.inverse())


def forward_dynamics_columns(tree: Tree, q: SX, v: SX, tau: SX, lanes: int) -> ColumnSolutions:
    """`forward_dynamics_derivatives` for code that solves `lanes` columns at a time."""
    terms = _forward_terms(tree, q, v, tau)
    return solved_columns(terms.factors, [-terms.tau_q, -terms.tau_v], terms.factors.inverse(), lanes)


@dataclass(frozen=True)
class _ForwardTerms:
    """Along the motion that forward dynamics finds, inverse dynamics gives tau back: ∂a/∂x = −M⁻¹ ∂tau/∂x."""

    tau_q: SX
    tau_v: SX
    factors: Factors  # of M


def _forward_terms(tree: Tree, q: SX, v: SX, tau: SX) -> _ForwardTerms:
    where = poses(tree, q)
    parts = parts_of(tree, where, v)
    tau_v, factors = _by_velocity(tree, parts), factorised(_by_acceleration(tree, parts))
    a = factors.solve(tau - tau_v @ v / 2 - _weight(tree, parts))  # what velocity does to tau is quadratic in v
    return _ForwardTerms(_by_position(tree, parts, _pushes(tree, where, parts, v, a)), tau_v, factors)


def _weight(tree: Tree, parts: list[JointPart]) -> SX:
    """g(q): each joint lifts the momentum that its rate gives to its subtree."""
    return gather(tree, [-part.by_a.linear.T @ constant(tree.gravity) for part in parts])
