"""[QO21, Sec. 6.3]: the models against engines that others wrote.

7 joints against the Newton–Euler algorithm of the Robotics Toolbox, over 10,000 random states; then three larger robots
against a physics engine (the thesis: V-REP, here: MuJoCo). The same torques drive both; the engine's accelerations are
taken from its velocities as in [QO21, Fig. 6.23]: low-pass filter and second forward difference, here in the other
order, both are linear. Both waveforms are compared by the coefficient of multiple correlation [FCC10], one for each
coordinate.

[FCC10] Ferrari, Cutti, Cappello: A new formulation of the coefficient of multiple correlation …, Gait & Posture 31(4),
2010.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..algebra import rigid
from ..errors import missing_package
from ..forms import principles
from ..forms.constrained import ConstrainedDynamics
from ..model.joints.revolute import Revolute
from ..model.robots.mobile import WHEEL_RADIUS, rolling_constraint, rolling_constraint_bias
from ..robot import Robot, RobotBuilder, load
from .rows import Figure, small

Array = np.ndarray
STATES = 10_000
DT, DURATION, CUTOFF = 1e-3, 2.0, 20.0  # s, s, Hz
COLUMNS = ("min", "mean", "s.d.", "max")
TABLE_6_4 = {  # CMC of DQGP, by columns; that of RTNE is the same for 50 joints and not available for the others
    "50-DOF serial": (0.9044, 0.9893, 0.0182, 0.9993),
    "9-DOF holonomic": (0.9934, 0.9973, 0.0026, 0.9999),
    "8-DOF nonholonomic": (0.8860, 0.9839, 0.0368, 0.9999),
}
GRAVITY = 9.81


def multiple_correlation(waveforms: Any) -> float:
    """How alike waveforms are, 0 to 1 [FCC10]: their spread about the common mean at each instant, over that about the
    mean.

    Args:
        waveforms: shape (protocols, instants).
    """
    Y = np.asarray(waveforms, dtype=float)
    P, F = Y.shape
    within = np.sum((Y - Y.mean(axis=0)) ** 2) / (F * (P - 1))
    total = np.sum((Y - Y.mean()) ** 2) / (P * F - 1)
    return float(np.sqrt(max(0.0, 1 - within / total)))


# --- 7 joints against the Robotics Toolbox ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Torques:
    """Percentage errors of torques as [QO21, Eq. (6.5)] has them, one row per state, one column per joint.

    They are relative to the torque of that state itself, however small it is.
    """

    kernels: Array
    gauss: Array  # of Alg. 5.1


def toolbox_figures(states: int = STATES) -> Iterator[Figure]:
    """Percentage errors of the torques, of our kernels and of Gauss' principle in dual quaternions."""
    errors = against_toolbox(states)
    for name, percent in (("kernels", errors.kernels), ("Alg. 5.1 in dual quaternions", errors.gauss)):
        mean = float(percent.mean(axis=0).max())
        yield small(f"7 joints, {len(percent):,} states, {name}: mean of (6.5), worst joint, % [Fig. 6.20]", mean, 1e-8)
        middle = float(np.median(percent))
        yield small(f"7 joints, {name}: median of (6.5), %", middle, 1e-11)


@cache
def against_toolbox(states: int = STATES) -> Torques:
    """Random states of one arm, all in one batched call."""
    rng = np.random.default_rng(0)
    robot, peer = seven_joints(rng)
    q, v, a = rng.uniform(-np.pi, np.pi, (3, states, 7))
    baseline = np.array([peer.rne(*row) for row in zip(q, v, a, strict=True)])
    kernels, gauss = (
        robot.inverse_dynamics(q, v, a),
        principles.inverse_dynamics(robot, q, v, a, "gauss-dual-quaternion"),
    )
    return Torques(*(100 * np.abs(ours - baseline) / np.abs(baseline) for ours in (kernels, gauss)))


def _toolbox() -> Any:
    try:
        import roboticstoolbox
    except ImportError:
        raise missing_package(
            "roboticstoolbox-python", "papers", "the Newton–Euler baseline of [QO21, Sec. 6.3]"
        ) from None
    return roboticstoolbox


def snake_of_toolbox(robot: Robot) -> Any:
    """The snake, whose axes are y and z in turn, as the Toolbox's: there every axis is z, so y is a turn about x
    before."""
    toolbox, links, before = _toolbox(), [], 0.0
    for joint in robot.model.joints.values():
        inertia = robot.model.links[joint.child].inertia
        if not isinstance(joint.type, Revolute) or inertia is None:
            continue
        angle = -np.pi / 2 if joint.type.axis[1] else 0.0
        R = rigid.rotation_from_rpy(angle, 0.0, 0.0)
        numbers = dict(m=inertia.mass, r=R.T @ inertia.com, I=R.T @ inertia.matrix @ R, Jm=0, G=1)
        links.append(toolbox.RevoluteMDH(alpha=angle - before, a=joint.origin[0, 3], d=0.0, **numbers))
        before = angle
    return toolbox.DHRobot(links, gravity=list(robot.model.gravity))


def seven_joints(rng: np.random.Generator) -> tuple[Robot, Any]:
    """One random arm twice: ours, and the Toolbox's from Denavit–Hartenberg numbers (modified)."""
    toolbox = _toolbox()
    builder = RobotBuilder("seven", floating=False, gravity=(0, 0, -GRAVITY)).link("base")
    links, parent = [], "base"
    for i in range(7):
        alpha, a, d = rng.choice([-np.pi / 2, 0.0, np.pi / 2]), rng.uniform(-0.1, 0.1), rng.uniform(0.0, 0.3)
        mass, com, root = rng.uniform(0.5, 5.0), rng.uniform(-0.1, 0.1, 3), rng.normal(size=(3, 3))
        spread = root @ root.T * 1e-2
        inertia = np.trace(spread) * np.eye(3) - spread  # of any spread of mass
        links.append(toolbox.RevoluteMDH(alpha=alpha, a=a, d=d, m=mass, r=com, I=inertia, Jm=0, G=1))
        builder.link(f"link_{i}", mass=mass, com=com, inertia=inertia)
        place = (a, -d * np.sin(alpha), d * np.cos(alpha))
        builder.joint(f"joint_{i}", "continuous", parent, f"link_{i}", position=place, rpy=(alpha, 0, 0))
        parent = f"link_{i}"
    return builder.build(), toolbox.DHRobot(links, gravity=[0, 0, -GRAVITY])


# --- three robots against MuJoCo --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Comparison:
    """Accelerations of one robot, filtered alike; one row per instant."""

    name: str
    t: Array
    ours: Array
    engine: Array
    toolbox: Array | None = None  # by Newton–Euler of the Robotics Toolbox, which knows fixed bases only

    @property
    def correlations(self) -> Array:
        """One CMC per coordinate, of ours and the engine's."""
        return self._with_engine(self.ours)

    @property
    def errors(self) -> Array:
        """Of ours against the engine's, one per coordinate: root of the mean square, relative."""
        return np.sqrt(np.mean((self.ours - self.engine) ** 2, axis=0) / np.mean(self.engine**2, axis=0))

    @property
    def toolbox_correlations(self) -> Array | None:
        """One CMC per coordinate, of the Toolbox's and the engine's."""
        return None if self.toolbox is None else self._with_engine(self.toolbox)

    def _with_engine(self, waveforms: Array) -> Array:
        return np.array([multiple_correlation(pair) for pair in zip(waveforms.T, self.engine.T, strict=True)])


def engine_figures() -> Iterator[Figure]:
    """All columns of [QO21, Table 6.4]: ours are to be at least as alike, and spread no more."""
    for name, paper in TABLE_6_4.items():
        comparison = compared(name)
        yield from _scores(f"{name}: CMC against MuJoCo", comparison.correlations, paper)
        off = 100 * float(comparison.errors.mean())
        yield Figure(
            f"{name}: error of the accelerations, mean of all coordinates, %",
            "< 1",
            f"{off:.2f}",
            bool(off < 1.0),
        )
        if comparison.toolbox is not None and comparison.toolbox_correlations is not None:
            yield from _scores(f"{name}: CMC of the Toolbox", comparison.toolbox_correlations, paper)
            error = np.abs(comparison.ours - comparison.toolbox).max() / np.abs(comparison.ours).max()
            yield small(f"{name}: accelerations, ours − the Toolbox's, relative", float(error), 1e-8)


def columns(c: Array) -> tuple[float, ...]:
    """Those of the table."""
    return float(c.min()), float(c.mean()), float(c.std()), float(c.max())


def _scores(what: str, c: Array, paper: Sequence[float]) -> Iterator[Figure]:
    for name, ours, theirs in zip(COLUMNS, columns(c), paper, strict=True):
        good = ours <= theirs if name == "s.d." else ours >= theirs
        yield Figure(f"{what}, {name} [Table 6.4]", "not worse", f"{ours:.5f}", good, f"{theirs:.4f}")


@cache
def compared(name: str, duration: float = DURATION) -> Comparison:
    """Drive a robot in MuJoCo, and ask our model for its accelerations at every step."""
    robot = load({"50-DOF serial": "snake", "9-DOF holonomic": "holonomic_arm"}.get(name, "nonholonomic_arm"))
    rolling = name == "8-DOF nonholonomic"
    models = [_rolling_acceleration(robot) if rolling else robot.forward_dynamics]
    if name == "50-DOF serial":
        models.append(snake_of_toolbox(robot).accel)
    t, velocities, accelerations = _driven(robot, models, rolling, duration)
    # second-order forward difference
    forward = (-velocities[2:] + 4 * velocities[1:-1] - 3 * velocities[:-2]) / (2 * DT)
    cut = slice(100, -100)  # the filter's own beginning and end
    ours, *toolbox = np.moveaxis(_filtered(accelerations[:-2])[cut], 1, 0)
    return Comparison(name, t[:-2][cut], ours, _filtered(forward)[cut], *toolbox)


def _filtered(waveforms: Array) -> Array:
    """The classic low-pass Butterworth filter, forwards and backwards, so that nothing is late."""
    from scipy.signal import butter, filtfilt

    return filtfilt(*butter(4, CUTOFF * 2 * DT), waveforms, axis=0)


def _rolling_acceleration(robot: Robot) -> Callable[[Array, Array, Array], Array]:
    """[QO21, Eq. (6.7)]: the wheels do not slip sideways."""

    def acceleration(q: Array, v: Array, tau: Array) -> Array:
        bias = robot.bias_force(q, v)
        dynamics = ConstrainedDynamics(
            robot.mass_matrix(q), bias, rolling_constraint(q), -rolling_constraint_bias(q, v)
        )
        return dynamics.acceleration(tau)

    return acceleration


def _driven(
    robot: Robot, models: Sequence[Callable[..., Array]], rolling: bool, duration: float
) -> tuple[Array, Array, Array]:
    """(t, velocities in MuJoCo, accelerations of the models at its states, (steps, models, nv)).

    The torques are such that every coordinate swings in sines.
    """
    from ..simulate.mujoco_model import Physics, build, import_mujoco

    mujoco = import_mujoco()
    spec, bodies = build(robot, {}, (), Physics(joint_limits=False), DT, 1.0)
    if rolling:
        _add_wheel(spec, bodies)
    engine = spec.compile()
    data = mujoco.MjData(engine)
    joints = [engine.joint(j).id for j in range(engine.njnt) if engine.joint(j).name not in ("wheel", "height")]
    at_q, at_v = engine.jnt_qposadr[joints], engine.jnt_dofadr[joints]
    rng = np.random.default_rng(1)
    steps, n = round(duration / DT), robot.nv
    pulse, phase = rng.uniform(1, 4, n) * np.pi, rng.uniform(0, 2 * np.pi, n)
    t, q0 = DT * np.arange(steps), robot.standing()
    rows: list[tuple[Array, Array]] = []
    data.qpos[at_q] = q0
    for now in t:
        q, v = data.qpos[at_q].copy(), data.qvel[at_v].copy()
        wish = 2.0 * np.sin(pulse * now + phase) - 4.0 * v - 4.0 * (q - q0)
        tau = robot.inverse_dynamics(q, v, wish)
        data.qfrc_applied[at_v] = tau
        rows.append((v, np.array([model(q, v, tau) for model in models])))
        mujoco.mj_step(engine, data)
    velocities, accelerations = (np.array(column) for column in zip(*rows, strict=True))
    return t, velocities, accelerations


def _add_wheel(spec: Any, bodies: dict[str, Any]) -> None:
    """A light wheel under the platform's origin: it rolls freely forwards and holds sideways by friction.

    The platform gets a fourth freedom, its height, so that its weight rests on the wheel.
    """
    import mujoco

    platform = bodies["platform"]
    platform.add_joint(name="height", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, 0, 1])
    wheel = platform.add_body(name="wheel", pos=[0, 0, WHEEL_RADIUS])
    wheel.add_joint(name="wheel", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0])
    ball = {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "size": [WHEEL_RADIUS, 0, 0], "mass": 1e-4}
    grip = {"friction": [10.0, 0.0, 0.0], "solref": [0.004, 1.0], "solimp": [0.99, 0.999, 0.001, 0.5, 2.0], "condim": 3}
    wheel.add_geom(**ball, **grip)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], **grip)
    spec.option.impratio = 100.0
    spec.option.noslip_iterations = 10
