"""[TPN17] A unified view of the equations of motion used for control design of humanoid robots.

Every form is held against `ReferenceState`, which knows nothing of forms: the velocity of a base is the derivative of
its pose, and M, C, g in other variables follow from Newton's and Euler's laws by the chain rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from xml.etree import ElementTree

import numpy as np

from ..convert import acceleration, jacobian, twist, wrench
from ..forms.bases import COM, Compound
from ..forms.equations_of_motion import EquationsOfMotion
from ..forms.support import FixedSupport
from ..model.urdf_writer import write_urdf
from ..robot import Robot, load
from .reference import FrameMotion, ReferenceState, axial, cross_matrix, of_quaternion, path, rate
from .robots import one_of_each_joint
from .rows import Figure, Row, agree, apart, exactly, largest, small

Array = np.ndarray
REPRESENTATIONS = ("mixed", "body", "inertial")
FOOT, SHANK, THIGH = "front_left_foot", "hind_right_shank", "hind_left_thigh"


def _state() -> tuple[Robot, EquationsOfMotion, ReferenceState]:
    robot = load("quadruped")
    q, v = robot.random_state(np.random.default_rng(1))
    return robot, robot.equations_of_motion(q, v), ReferenceState(robot, q, v)


def _force(robot: Robot) -> Array:
    return np.random.default_rng(2).normal(size=robot.nv)


def _represented(X: Array, representation: str) -> Array:
    """Y with V = Y V_mixed of a frame at pose X [TPN17, Sec. 2.4]."""
    Y, R_T = np.eye(6), X[:3, :3].T
    if representation == "body":
        Y[:3, :3] = Y[3:, 3:] = R_T
    if representation == "inertial":
        Y[:3, 3:] = cross_matrix(X[:3, 3])
    return Y


# --- T1 ---------------------------------------------------------------------------------------------------------------


def representations() -> Iterator[Figure]:
    robot, eom, now = _state()
    tau = _force(robot)
    a = now.acceleration(tau)
    q, v, at = now.q, now.v, path(robot, now.q, now.v, a)

    def foot(t: float) -> Array:
        return ReferenceState(robot, at(t)).frame(FOOT).X

    def twisting(name: str, t: float) -> Array:
        there = ReferenceState(robot, at(t), v + t * a).frame(FOOT)
        return _represented(there.X, name) @ there.V

    X, X_dot = foot(0.0), rate(foot)
    V, A = robot.velocity(q, v, FOOT), rate(partial(twisting, "mixed"))
    from_pose = {"body": np.linalg.inv(X) @ X_dot, "inertial": X_dot @ np.linalg.inv(X)}
    for name in REPRESENTATIONS[1:]:
        defined = np.concatenate([from_pose[name][:3, 3], axial(from_pose[name][:3, :3])])
        yield agree(f"{name}: twist against X⁻¹Ẋ or ẊX⁻¹, Ẋ by differences", twist(X, V, "mixed", name), defined, 1e-9)
        own = _over_joints(_represented(now.links[robot.base_link or ""].X, name), robot.nv) @ v
        yield agree(f"{name}: `Robot.velocity` against the same", robot.velocity(q, own, FOOT, name), defined, 1e-9)
        A_defined = rate(partial(twisting, name))
        yield agree(f"{name}: acceleration against differences", acceleration(X, V, A, "mixed", name), A_defined, 1e-8)
        back = acceleration(X, defined, A_defined, name, "mixed")
        yield agree(f"{name}: acceleration back to mixed", back, A, 1e-8)
        yield from _wrench_and_jacobian(robot, now, name)
        yield from _jacobian_rate(robot, q, v, FOOT, name)
        yield from _same_motion(robot, eom.in_representation(name), eom, None, name, tau)
    other = one_of_each_joint()
    for name in REPRESENTATIONS:
        yield from _jacobian_rate(other, *other.random_state(np.random.default_rng(3)), "revolute_link", name)


def _jacobian(now: ReferenceState, base: str, frame: str, name: str) -> Array:
    """J of a frame with both its twist and the base velocity in a representation, from the reference's mixed one."""
    Y, Y_base = (_represented(x.X, name) for x in (now.frame(frame), now.links[base]))
    return Y @ now.frame(frame).J @ np.linalg.inv(_over_joints(Y_base, now.model.nv))


def _jacobian_rate(robot: Robot, q: Array, v: Array, frame: str, name: str) -> Iterator[Figure]:
    """J̇ and J̇ ν against differences of the Jacobian along the motion v."""
    base, at = robot.base_link or "", path(robot, q, v)
    own = _over_joints(_represented(ReferenceState(robot, q).links[base].X, name), robot.nv) @ v
    J_dot, what = rate(lambda t: _jacobian(ReferenceState(robot, at(t)), base, frame, name)), f"{robot.name}, {name}"
    yield agree(f"{what}: J̇ by differences of the Jacobian", robot.jacobian_rate(q, own, frame, name), J_dot, 1e-8)
    bias = robot.bias_acceleration(q, own, frame, name)
    yield agree(f"{what}: J̇ v by the same differences", bias, J_dot @ own, 1e-8)


def _wrench_and_jacobian(robot: Robot, now: ReferenceState, name: str) -> Iterator[Figure]:
    """The same force in other coordinates: its power is that of the force at its point, and Jacobians follow twists."""
    foot = now.frame(FOOT)
    force, arm = np.array([3.0, -20.0, 55.0]), np.array([0.1, -0.2, 0.05])  # N at a point m off the origin
    F = wrench(foot.X, np.concatenate([force, np.cross(arm, force)]), "mixed", name)
    V = _represented(foot.X, name) @ foot.V
    point = foot.V[:3] + np.cross(foot.V[3:], arm)
    yield small(
        f"{name}: power of a wrench against force times velocity of its point", abs(F @ V - force @ point), 1e-11
    )
    if name == "inertial":
        moment = np.cross(foot.p + arm, force)
        yield agree("inertial: torque is the moment about the world's origin", F[3:], moment, 1e-12)
    own, J = robot.jacobian(now.q, FOOT, name), _represented(foot.X, name) @ foot.J
    both = _jacobian(now, robot.base_link or "", FOOT, name)
    yield agree(f"{name}: Jacobian, base velocity {name} too", own, both, 1e-11)
    yield agree(f"{name}: Jacobian from the mixed one", jacobian(foot.X, foot.J, "mixed", name), J, 1e-12)


def _over_joints(top: Array, nv: int) -> Array:
    """[top; 0 1], (nv, nv)."""
    whole = np.eye(nv)
    whole[:6, : top.shape[1]] = top
    return whole


# --- T2 ---------------------------------------------------------------------------------------------------------------


def skewness() -> Iterator[Figure]:
    for robot in (load("quadruped"), one_of_each_joint()):
        yield from _laws_of_motion(robot)


def _laws_of_motion(robot: Robot) -> Iterator[Figure]:
    name, tau = robot.name, _force(robot)
    q, v = robot.random_state(np.random.default_rng(1))
    eom, now, at = robot.equations_of_motion(q, v), ReferenceState(robot, q, v), path(robot, q, v)
    yield agree(f"{name}: M against Σ m JᵀJ + J_ωᵀ I J_ω over the links", eom.M, now.M, 1e-12)
    yield agree(f"{name}: C v + g against Newton's and Euler's laws [Eq. 10]", eom.bias_force, now.h, 1e-12)
    yield agree(f"{name}: the same without C as a matrix", robot.bias_force(q, v), now.h, 1e-12)
    yield agree(f"{name}: g against the same at rest", eom.g, now.g, 1e-12)
    M_dot = rate(lambda t: ReferenceState(robot, at(t)).M)
    yield agree(f"{name}: Ṁ − C − Cᵀ, Ṁ by differences [Property 2]", eom.C + eom.C.T, M_dot, 1e-9)
    least = float(np.linalg.eigvalsh(eom.M).min())
    yield Figure(f"{name}: smallest eigenvalue of M [Property 1]", "> 0", f"{least:.1e}", bool(least > 0))
    a = robot.forward_dynamics(q, v, tau)
    yield agree(f"{name}: forward dynamics: M a + C v + g − tau", now.force(a), tau, 1e-10)
    yield agree(f"{name}: inverse dynamics", robot.inverse_dynamics(q, v, tau), now.force(tau), 1e-12)
    yield agree(f"{name}: kinetic energy: ½ Σ m |ċ|² + ω·I ω", robot.kinetic_energy(q, v), now.kinetic_energy, 1e-12)
    moving = path(robot, q, v, a)

    def energy(t: float) -> float:
        return float(robot.kinetic_energy(moving(t), v + t * a) + robot.potential_energy(moving(t)))

    yield small(f"{name}: power: vᵀ tau = d(T + U)/dt", abs(rate(energy) - tau @ v) / abs(tau @ v), 1e-7)


# --- T3, T4: another base ---------------------------------------------------------------------------------------------


def change_of_base() -> Iterator[Figure]:
    robot, eom, _ = _state()
    tau = _force(robot)
    for base, representation in ((FOOT, "mixed"), (SHANK, "body"), (FOOT, "inertial")):
        there = eom.in_representation(representation).in_base(base)
        yield from _same_motion(robot, there, eom, base, representation, tau)


def compound_base() -> Iterator[Figure]:
    robot, eom, now = _state()
    there = eom.in_base(Compound(FOOT, THIGH))
    yield from _same_motion(robot, there, eom, (FOOT, THIGH), "mixed", _force(robot))
    at = path(robot, now.q, now.v)
    p_dot = rate(lambda t: ReferenceState(robot, at(t)).frame(FOOT).p)
    R_dot = rate(lambda t: ReferenceState(robot, at(t)).frame(THIGH).R)
    yield agree("linear velocity: of the foot's origin [Eq. 26]", there.v[:3], p_dot, 1e-9)
    yield agree("angular velocity: of the thigh [Eq. 26]", there.v[3:6], axial(R_dot @ now.frame(THIGH).R.T), 1e-9)


def _base_rows(
    robot: Robot, base: str | tuple[str, str] | None, representation: str
) -> Callable[[ReferenceState], Array]:
    """S with ν = S v: the base's velocity over the joint rates [TPN17, Eq. (18)], from the reference's own
    Jacobians."""

    def rows(now: ReferenceState) -> Array:
        at = _base_frame(robot, base, now)
        return _over_joints(_represented(at.X, representation) @ at.J, robot.nv)

    return rows


def _base_frame(robot: Robot, base: str | tuple[str, str] | None, now: ReferenceState) -> FrameMotion:
    """Returns E[F]: the origin of one frame of the reference with the axes of another [TPN17, Sec. 4.1]."""
    origin, orientation = (base, base) if isinstance(base, str) else base or (robot.base_link or "",) * 2
    E, F = now.frame(origin), now.frame(orientation)
    J, V, A = (np.concatenate([e[:3], f[3:]]) for e, f in ((E.J, F.J), (E.V, F.V), (E.A, F.A)))
    return FrameMotion(F.R, E.p, J, V, A)


def _same_motion(
    robot: Robot,
    there: EquationsOfMotion,
    eom: EquationsOfMotion,
    base: str | tuple[str, str] | None,
    representation: str,
    tau: Array,
) -> Iterator[Figure]:
    """The equations in other variables against the reference: with ν = S v, M' = S⁻ᵀ M S⁻¹ and so on [TPN17, Theorem
    2]."""
    q, v = eom.origin.q, eom.v
    name = f"{base or 'base'}, {representation}" if not isinstance(base, tuple) else "{}[{}]".format(*base)
    now, rows = ReferenceState(robot, q, v), _base_rows(robot, base, representation)
    a = now.acceleration(tau)
    at, S = path(robot, q, v, a), rows(now)
    S_inverse, S_dot = np.linalg.inv(S), rate(lambda t: rows(ReferenceState(robot, at(t))))

    def mass(t: float) -> Array:
        one = ReferenceState(robot, at(t))
        T = np.linalg.inv(rows(one))
        return T.T @ one.M @ T

    base_now, wxyz = _base_frame(robot, base, now), there.q[3:7]
    ours = np.concatenate([there.q[:3], of_quaternion(wxyz).ravel(), [wxyz @ wxyz], there.q[7:]])
    wanted = np.concatenate([base_now.p, base_now.R.ravel(), [1.0], q[7:]])
    yield agree(f"{name}: configuration: place and turn of the base, joints [Eqs. 17a, 25]", ours, wanted, 1e-12)
    yield agree(f"{name}: velocity of the base [Eq. 17b]", there.v, S @ v, 1e-11)
    yield agree(f"{name}: M [Eq. 23a]", there.M, S_inverse.T @ now.M @ S_inverse, 1e-11)
    yield agree(f"{name}: g", there.g, S_inverse.T @ now.g, 1e-11)
    yield agree(
        f"{name}: C v + g [Eq. 23b]", there.bias_force, S_inverse.T @ (now.h - now.M @ S_inverse @ S_dot @ v), 1e-8
    )
    yield agree(f"{name}: C + Cᵀ − Ṁ, Ṁ by differences", there.C + there.C.T, rate(mass), 1e-8)
    force, wanted = there.force_from(eom, tau), S @ a + S_dot @ v
    yield agree(f"{name}: acceleration under a force [Eqs. 19, 22b]", there.acceleration(force), wanted, 1e-8)
    yield agree(f"{name}: acceleration carried over [Eq. 50]", there.acceleration_from(eom, a), wanted, 1e-8)
    yield agree(f"{name}: and back", eom.acceleration_from(there, wanted), a, 1e-8)
    yield small(
        f"{name}: power, force back",
        abs(force @ there.v - tau @ v) + largest(eom.force_from(there, force) - tau),
        1e-10,
    )
    other = now.frame(THIGH)
    yield agree(f"{name}: Jacobian of a thigh [Eq. 21]", there.jacobian_from(eom, other.J) @ there.v, other.V, 1e-11)
    back = there.in_base(None).in_representation("mixed")
    yield small(f"{name}: there and back", largest(back.M - eom.M) + largest(back.C - eom.C), 1e-12)


# --- T5 ---------------------------------------------------------------------------------------------------------------


def centroidal() -> Iterator[Figure]:
    robot, eom, now = _state()
    v, G = now.v, eom.centroidal()
    momentum = now.momentum_matrix @ v
    average = np.concatenate([now.com_jacobian @ v, np.linalg.solve(now.locked_inertia, momentum[3:])])
    inertia = np.zeros((6, 6))
    inertia[:3, :3], inertia[3:, 3:] = now.mass * np.eye(3), now.locked_inertia
    weight = np.concatenate([-now.mass * np.array(robot.model.gravity), np.zeros(robot.nv - 3)])
    yield agree("average velocity: of the mass, and of the locked robot [Eq. 34]", G.v[:6], average, 1e-11)
    yield small(
        "M_G: mass and locked inertia, nothing beside [Eq. 42]",
        apart(G.M[:6, :6], inertia) + largest(G.M[:6, 6:]),
        1e-10,
    )
    M_b, M_bs, M_s = now.M[:6, :6], now.M[:6, 6:], now.M[6:, 6:]
    yield agree("M_G of the joints", G.M[6:, 6:], M_s - M_bs.T @ np.linalg.solve(M_b, M_bs), 1e-11)
    yield small("g_G − (−m g, 0, 0) [Eq. 43]", largest(G.g - weight), 1e-10)
    yield agree("momentum − I^C v_G [Eq. 32]", G.M[:6, :6] @ G.v[:6], momentum, 1e-11)
    yield small(
        "C_G: first rows and columns, with C = ∫ Jᵀ J̇ dm [Lemma 4.3]", largest(G.C[:3]) + largest(G.C[:, :3]), 1e-10
    )
    yield from _momentum_laws(robot, eom, now)


def _momentum_laws(robot: Robot, eom: EquationsOfMotion, now: ReferenceState) -> Iterator[Figure]:
    q, v, tau = now.q, now.v, _force(robot)
    a = now.acceleration(tau)
    at, G = path(robot, q, v, a), eom.centroidal()
    yield agree(
        "centroidal momentum matrix against the sum over links", robot.momentum_matrix(q), now.momentum_matrix, 1e-11
    )
    wanted = rate(lambda t: ReferenceState(robot, at(t)).momentum_matrix @ (v + t * a))
    ours = robot.momentum_matrix(q) @ a + robot.momentum_bias(q, v)
    yield agree("rate of momentum A a + Ȧ v against differences", ours, wanted, 1e-8)
    applied = np.concatenate(
        [tau[:3] + now.mass * np.array(robot.model.gravity), tau[3:6] + np.cross(q[:3] - now.com, tau[:3])]
    )
    yield agree("rate of momentum = external wrench about the mass", ours, applied, 1e-9)

    def mass(t: float) -> Array:
        there = robot.equations_of_motion(at(t), v).centroidal()
        return there.M

    yield agree("C_G + C_Gᵀ − Ṁ_G, Ṁ_G by differences", G.C + G.C.T, rate(mass), 1e-8)
    force = G.force_from(eom, tau)
    yield small("power in G", abs(force @ G.v - tau @ v), 1e-10)
    yield agree("acceleration of the mass in G", G.acceleration(force)[:3], now.com_jacobian @ a + now.com_bias, 1e-9)
    GB = eom.in_base(Compound(COM))
    yield agree("G[B]: position − centre of mass [Eq. 35]", GB.q[:3], now.com, 1e-12)
    base = now.links[robot.base_link or ""]
    yield agree("G[B]: velocity", GB.v[:6], np.concatenate([now.com_jacobian @ v, base.V[3:]]), 1e-11)
    centre = np.concatenate([robot.com(q), robot.com_jacobian(q) @ v, robot.com_bias(q, v)])
    wanted = np.concatenate([now.com, now.com_jacobian @ v, now.com_bias])
    yield agree("centre of mass, its velocity and J̇v", centre, wanted, 1e-11)


# --- T6 ---------------------------------------------------------------------------------------------------------------


def fixed_support() -> Iterator[Figure]:
    """The support link stands: of all velocities those remain that are N ṡ, with J N = 0."""
    from .tpn17_control import control_figures

    robot, eom, _ = _state()
    rng = np.random.default_rng(2)
    tau, push = rng.normal(size=robot.nv - 6), rng.normal(size=6) * 20
    for frame in ("front_left_shank", "hind_right_shank"):
        fixed = eom.fixed_at("front_left_shank")
        yield from _standing(robot, fixed if frame == fixed.frame else fixed.switch(frame), frame, tau, push)
    again = fixed.switch("hind_right_shank").switch("front_left_shank")
    yield small(
        "support switched there and back",
        largest(again.M - fixed.M) + largest(again.bias_force - fixed.bias_force),
        1e-11,
    )
    yield from control_figures()


def _standing(robot: Robot, fixed: FixedSupport, frame: str, tau: Array, push: Array) -> Iterator[Figure]:
    q = fixed.free.origin.q
    resting = ReferenceState(robot, q).frame(frame).J
    N = np.concatenate([-np.linalg.solve(resting[:, :6], resting[:, 6:]), np.eye(robot.nv - 6)])
    now = ReferenceState(robot, q, N @ fixed.v)
    J, bias = now.frame(frame).J, now.frame(frame).A
    drift = np.concatenate([-np.linalg.solve(J[:, :6], bias), np.zeros(robot.nv - 6)])  # a = N s̈ + drift
    hand = now.frame(THIGH)
    external = fixed.free.force_from(robot.equations_of_motion(q, now.v), hand.J.T @ push)
    s = fixed.acceleration(tau, external)
    a = N @ s + drift
    held = np.concatenate([np.zeros(6), tau]) + hand.J.T @ push + J.T @ fixed.wrench(tau, external)
    yield agree(f"{frame}: M of the joints against Nᵀ M N [Eq. 47]", fixed.M, N.T @ now.M @ N, 1e-11)
    yield agree(f"{frame}: C ṡ + g", fixed.bias_force, N.T @ (now.h + now.M @ drift), 1e-10)
    yield small(f"{frame}: it does not accelerate [Eq. 46]", largest(J @ a + bias) / largest(a), 1e-11)
    yield agree(f"{frame}: Newton and Euler under the wrench of Eq. 48", now.force(a), held, 1e-10)
    yield agree(f"{frame}: forces for that motion", fixed.force(s), tau + external[6:], 1e-10)
    yield agree(
        f"{frame}: Jacobian of a thigh [Eq. 47e]", fixed.jacobian(robot.jacobian(q, THIGH)) @ fixed.v, hand.V, 1e-10
    )


# --- T7 ---------------------------------------------------------------------------------------------------------------


def numbering() -> Iterator[Figure]:
    """A file whose joints stand in an order that no walk of the tree would give."""
    file = ElementTree.fromstring(write_urdf(load("quadruped").model))
    joints = file.findall("joint")
    for joint in joints:
        file.remove(joint)
    order = np.random.default_rng(5).permutation(len(joints))
    file.extend([joints[k] for k in order])
    written = [joint.get("name") for joint in file.findall("joint") if joint.get("type") != "fixed"]
    robot = load(ElementTree.tostring(file, encoding="unicode"), floating=True)
    read = [name for name, joint in robot.joints.items() if joint.moving and joint is not robot.model.base]
    yield exactly("joints in the order of the file [Sec. 3.1]", read == written, True)
    q, v = robot.random_state(np.random.default_rng(1))
    eom, names = robot.equations_of_motion(q, v), [str(name) for name in written]
    yield exactly("their places in q and v", [robot.joints[n].v.start for n in names], list(range(6, robot.nv)))
    there = eom.in_base("hind_right_foot")
    yield small("joint positions in another base", largest(there.q[7:] - eom.q[7:]), 0.0)
    yield small("joint rates in another base", largest(there.v[6:] - eom.v[6:]), 0.0)
    yield from _same_motion(robot, there, eom, "hind_right_foot", "mixed", _force(robot))
    error = 0.0
    # the k-th rate turns this joint and no other: links beyond it move, the others stand
    for k, name in enumerate(names):
        rates = np.linalg.solve(
            _base_rows(robot, "hind_right_foot", "mixed")(ReferenceState(robot, q)), np.eye(robot.nv)[6 + k]
        )
        alone = ReferenceState(robot, q, rates)
        error = max(error, abs(there.M[6 + k, 6 + k] / 2 - alone.kinetic_energy))
        parent, child = (alone.links[str(link)].V[3:] for link in (robot.joints[name].parent, robot.joints[name].child))
        error = max(error, abs(float(np.linalg.norm(child - parent)) - 1.0))
    yield small("the k-th rate in another base turns the k-th joint of the file", error, 1e-11)


ROWS = [
    Row("T1", "TPN17", "three velocity representations and conversions between them", representations),
    Row("T2", "TPN17", "Coriolis matrix with Ṁ − 2C skew", skewness),
    Row("T3", "TPN17", "change of base between any frames", change_of_base),
    Row("T4", "TPN17", "compound base E[F]", compound_base),
    Row("T5", "TPN17", "centroidal dynamics by the same change of variables", centroidal),
    Row("T6", "TPN17", "support link fixed, and switched", fixed_support, closed_loop=True),
    Row("T7", "TPN17", "joint numbering does not depend on the base", numbering),
]
