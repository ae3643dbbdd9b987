"""Identifies inertial parameters, friction and rotor inertias from logs; every result is physically consistent."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShapeError, StateError
from ..files import written_whole
from ..model.inertias import with_parameters
from . import pseudo_inertia

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
SLOW = 0.01  # rad/s, scale of the smoothed sign function of Coulomb friction
# deviations of α, d, s, t: 30 % of mass, 5 cm
PRIOR = np.array([0.15, 0.3, 0.3, 0.3, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05])
CHUNK = 512  # rows of a log processed at a time; bounds the memory of regressors


@dataclass(frozen=True, eq=False)
class Identification:
    """Result of `identify`.

    Attributes:
        robot: the fitted robot; rotor inertias are in its description, and in its equations if they were fitted.
        parameters: inertial parameters π of the moving bodies, (10 n,), as `Robot.inertial_parameters`.
        coulomb: Coulomb friction of each velocity coordinate, (nv,) N m; zero for the base and if not fitted.
        viscous: viscous friction, (nv,) N m s/rad; likewise.
        armature: rotor inertias, (nv,) kg m²; likewise.
        noise: RMS residual of each row of tau, (nv,).
        iterations: iterations of the fit.
    """

    robot: Robot
    parameters: Array
    coulomb: Array
    viscous: Array
    armature: Array
    noise: Array
    iterations: int

    @property
    def physical(self) -> bool:
        """Whether the inertia of every body with mass is physically consistent."""
        bodies = self.parameters.reshape(-1, 10)
        return all(pseudo_inertia.is_physical(own) for own in bodies if own.any())

    def predict(self, q: Array, v: Array, a: Array) -> Array:
        """Returns tau, (…, nv), including friction and rotor inertias."""
        v, a = np.asarray(v, dtype=float), np.asarray(a, dtype=float)
        rigid = np.einsum("...ij,j->...i", self.robot.regressor(q, v, a), self.parameters)
        return rigid + self.coulomb * soft_sign(v) + self.viscous * v + self.armature * a

    def urdf(self) -> str:
        """Returns the fitted robot as URDF text; it includes friction but no rotor inertias."""
        from ..model.urdf_writer import write_urdf

        return write_urdf(self.robot.model)

    def save(self, path: str | Path) -> Path:
        """Writes `urdf()` to a file; the file is replaced only when complete."""
        text = self.urdf().encode()
        return written_whole(Path(path), lambda file: file.write(text))


def soft_sign(v: Array) -> Array:
    """Returns sign(v), smoothed near zero."""
    return np.tanh(v / SLOW)


def identify(
    robot: Robot,
    q: Array,
    v: Array,
    a: Array,
    tau: Array,
    *,
    wrenches: Mapping[str, Array] | None = None,
    noise: Array | float | None = None,
    friction: bool = False,
    armature: bool = False,
    trust: float = 1.0,
    iterations: int = 60,
) -> Identification:
    """Fits inertial parameters to a log of motion and torques.

    Every iterate is physically consistent (`pseudo_inertia`). Parameters that the motion does not excite stay at the
    values of the robot's description.

    Args:
        robot: initial values and prior of the fit.
        q: configurations, (N, nq).
        v: velocities, (N, nv).
        a: accelerations, (N, nv), measured or differentiated.
        tau: generalised forces, (N, nv): joint torques, and zeros for a floating base.
        wrenches: frame → (N, 6) measured force and torque on the robot at the frame, world axes, e.g. of the feet.
        noise: standard deviation of each row of tau, (nv,) or a number; estimated from the residual if not given. Rows
            with
            infinite noise are ignored.
        friction: also fit Coulomb and viscous friction of the joints.
        armature: also fit rotor inertias of the joints.
        trust: weight of the prior; 1: deviations of 30 % of the masses and 5 cm of the centres of mass; 0.1: ten times
            less.
        iterations: maximum number of iterations.
    """
    q, v, a, force = _log(robot, q, v, a, tau, wrenches)
    if not 0 < trust < np.inf:
        raise StateError(f"trust is a positive number, got {trust!r}")
    problem = _Problem(robot, friction, armature, trust)
    given = noise is not None
    sigma = (
        np.broadcast_to(np.asarray(noise, dtype=float), (robot.nv,)) if given else np.maximum(force.std(axis=0), 1e-9)
    )
    if not (sigma > 0).all():
        raise StateError(f"noise is positive in every row, got {noise!r}")
    rows = _moments(problem, q, v, a, force)
    x, count = problem.start, 0
    for _ in range(1 if given else 4):  # noise and fit depend on each other, so both are iterated
        x, done = problem.fitted(*_summed(rows, sigma, len(x)), x, iterations)
        count += done
        z = problem.linear(x)[0]
        left = np.array([row.left(z) for row in rows])
        sigma = sigma if given else np.maximum(left, 1e-9 + 1e-6 * force.std(axis=0))
    return problem.result(x, left, count)


def base_parameters(robot: Robot, q: Array, v: Array, a: Array, tolerance: float = 1e-9) -> tuple[Array, Array]:
    """Returns the identifiable parameters of a motion: (indices of independent columns (r,), K of π_base = K π (r, 10
    n)).

    Y π = Y[:, columns] K π for every row of the motion: all other columns are linear combinations of these.

    Args:
        q: (N, nq).
        v: (N, nv).
        a: (N, nv).
        tolerance: relative threshold below which a column counts as dependent.
    """
    from scipy.linalg import qr

    Y = robot.regressor(q, v, a).reshape(-1, 10 * len(robot.tree.bodies))
    R, order = qr(Y, mode="r", pivoting=True)
    size = np.abs(np.diag(R))
    rank = int((size > tolerance * size[0]).sum())
    K = np.zeros((rank, Y.shape[1]))
    K[:, order] = np.linalg.solve(R[:rank, :rank], R[:rank])
    return order[:rank], K


# --- the fit ----------------------------------------------------------------------------------------------------------


class _Problem:
    """The least-squares problem in x = (θ of each body with mass, square roots of friction and rotor inertias).

    tau is linear in z = (π, coulomb, viscous, armature), so that only the normal equations of a log are needed.
    """

    def __init__(self, robot: Robot, friction: bool, armature: bool, trust: float) -> None:
        self.robot, self.friction, self.armature = robot, friction, armature
        base = 6 if robot.floating else 0
        self.nominal = robot.inertial_parameters
        bodies = self.nominal.reshape(-1, 10)
        self.heavy = [i for i, own in enumerate(bodies) if own[0] > 0]
        self.rates = np.arange(base, robot.nv)
        kinds = 2 * friction + armature
        self.extra = kinds * len(self.rates)
        thetas = [pseudo_inertia.coordinates(bodies[i]) for i in self.heavy]
        self.start = np.concatenate([*thetas, np.full(self.extra, 0.1)])
        weights = np.concatenate([np.tile(PRIOR**-2, len(self.heavy)), np.full(self.extra, 1e-8)])
        self.trust = trust * weights

    def features(self, q: Array, v: Array, a: Array) -> Array:
        """Returns the regressor F with tau = F z, (N, nv, |z|)."""
        Y = self.robot.regressor(q, v, a)
        columns = [Y.reshape(len(q), self.robot.nv, -1, 10)[:, :, self.heavy].reshape(len(q), self.robot.nv, -1)]
        parts = [soft_sign(v), v] * self.friction + [a] * self.armature
        for part in parts:
            block = np.zeros((len(q), self.robot.nv, len(self.rates)))
            block[:, self.rates, np.arange(len(self.rates))] = part[:, self.rates]
            columns.append(block)
        return np.concatenate(columns, axis=2)

    def linear(self, x: Array) -> tuple[Array, Callable[[Array], Array]]:
        """Returns z and a function that multiplies a matrix by dz/dx, which is block-diagonal."""
        n = 10 * len(self.heavy)
        made = [pseudo_inertia.body(theta) for theta in x[:n].reshape(-1, 10)]
        blocks, slopes = np.array([D for _, D in made]), 2 * x[n:]

        def times(X: Array) -> Array:
            heavy = np.einsum("mka,kab->mkb", X[:, :n].reshape(len(X), -1, 10), blocks).reshape(len(X), n)
            return np.concatenate([heavy, X[:, n:] * slopes], axis=1)

        return np.concatenate([*(own for own, _ in made), x[n:] ** 2]), times

    def fitted(self, A: Array, b: Array, c: float, x: Array, most: int) -> tuple[Array, int]:
        """Minimises ½ (zᵀ A z − 2 bᵀ z + c) + ½ trust |x − start|² by Levenberg–Marquardt; returns (x, iterations)."""

        def cost(x: Array) -> float:
            z, _ = self.linear(x)
            return float(z @ A @ z - 2 * b @ z + c + self.trust @ (x - self.start) ** 2)

        now, damping = cost(x), 1e-3
        for k in range(most):
            z, times = self.linear(x)
            g = times((A @ z - b)[None])[0] + self.trust * (x - self.start)
            H = times(times(A).T) + np.diag(self.trust)
            step = np.linalg.solve(H + damping * np.diag(np.diag(H)), -g)
            # limits changes to a factor e, because exp is steep
            step *= min(1.0, 1.0 / max(np.abs(step).max(), 1e-300))
            new = cost(x + step)
            if not new < now:
                damping *= 10
                if damping > 1e12:
                    return x, k
                continue
            gained, x, now, damping = now - new, x + step, new, max(damping / 5, 1e-12)
            if gained < 1e-10 * (1 + abs(now)):
                return x, k + 1
        return x, most

    def result(self, x: Array, left: Array, iterations: int) -> Identification:
        z, _ = self.linear(x)
        parameters = self.nominal.copy().reshape(-1, 10)
        n = 10 * len(self.heavy)
        parameters[self.heavy] = z[:n].reshape(-1, 10)
        parts = iter(z[n:].reshape(-1, len(self.rates)) if self.extra else ())
        full = functools.partial(_spread, self.robot.nv, self.rates)
        coulomb, viscous = (full(next(parts)), full(next(parts))) if self.friction else (full(None), full(None))
        rotors = full(next(parts)) if self.armature else full(None)
        fitted = _fitted_robot(self.robot, parameters.ravel(), coulomb, viscous, rotors, self.friction, self.armature)
        return Identification(fitted, parameters.ravel(), coulomb, viscous, rotors, left, iterations)


def _spread(nv: int, rates: Array, values: Array | None) -> Array:
    result = np.zeros(nv)
    if values is not None:
        result[rates] = values
    return result


def _log(
    robot: Robot, q: Any, v: Any, a: Any, tau: Any, wrenches: Mapping[str, Array] | None
) -> tuple[Array, Array, Array, Array]:
    """Checks the log; returns arrays q, v, a, and tau plus the generalised force of the wrenches."""
    arrays = {"q": (q, robot.nq), "v": (v, robot.nv), "a": (a, robot.nv), "tau": (tau, robot.nv)}
    given = {name: np.asarray(values, dtype=float) for name, (values, _) in arrays.items()}
    rows = len(given["q"]) if given["q"].ndim else 0
    for name, (_, size) in arrays.items():
        if given[name].shape != (rows, size) or rows == 0:
            raise ShapeError(f"{name} of a log has shape (N, {size}) with the same N, got {given[name].shape}")
        if not np.isfinite(given[name]).all():
            raise StateError(f"{name} of the log holds NaN or infinity")
    force = given["tau"].copy()
    for frame, wrench in (wrenches or {}).items():
        wrench = np.asarray(wrench, dtype=float)
        if wrench.shape != (rows, 6) or not np.isfinite(wrench).all():
            raise ShapeError(f"the wrench at {frame!r} has shape ({rows}, 6) and is finite, got {wrench.shape}")
        force += np.einsum("kij,ki->kj", robot.jacobian(given["q"], frame), wrench)
    return given["q"], given["v"], given["a"], force


@dataclass(frozen=True)
class _Row:
    """Normal equations of one row of tau over a log; a joint depends only on the bodies behind it."""

    columns: Array  # indices of z that the row depends on
    A: Array
    b: Array
    c: float
    count: int

    def left(self, z: Array) -> float:
        """Returns the RMS residual at z."""
        own = z[self.columns]
        return float(np.sqrt(max(own @ self.A @ own - 2 * self.b @ own + self.c, 0.0) / self.count))


def _moments(problem: _Problem, q: Array, v: Array, a: Array, force: Array) -> list[_Row]:
    """Reduces the log to normal equations, one for each row of tau."""
    first = problem.features(q[:CHUNK], v[:CHUNK], a[:CHUNK])
    columns = [np.flatnonzero(np.abs(first[:, i]).max(axis=0)) for i in range(problem.robot.nv)]
    sums: list[tuple[Any, Any]] = [(0.0, 0.0)] * len(columns)
    for part in _chunks(len(q)):
        F, y = problem.features(q[part], v[part], a[part]), force[part]
        for i, own in enumerate(columns):
            f = F[:, i, own]
            sums[i] = sums[i][0] + f.T @ f, sums[i][1] + f.T @ y[:, i]
    squares = np.square(force).sum(axis=0)
    return [_Row(own, *sums[i], float(squares[i]), len(q)) for i, own in enumerate(columns)]


def _summed(rows: list[_Row], sigma: Array, size: int) -> tuple[Array, Array, float]:
    """Returns the normal equations (A, b, c) of all rows, each weighted by 1/σ²."""
    A, b, c = np.zeros((size, size)), np.zeros(size), 0.0
    for row, scale in zip(rows, sigma**-2, strict=True):
        A[np.ix_(row.columns, row.columns)] += scale * row.A
        b[row.columns] += scale * row.b
        c += scale * row.c
    return A, b, c


def _chunks(n: int) -> list[slice]:
    return [slice(k, min(k + CHUNK, n)) for k in range(0, n, CHUNK)]


def _fitted_robot(
    robot: Robot, parameters: Array, coulomb: Array, viscous: Array, rotors: Array, friction: bool, armature: bool
) -> Robot:
    from dataclasses import replace

    from ..model.tree import tree_of
    from ..robot import Robot

    model = with_parameters(robot.model, parameters)
    joints = dict(model.joints)
    for name, joint in robot.joints.items():
        if joint.v.stop - joint.v.start != 1:
            continue
        # a mimic joint shares its leader's coordinate; count it once
        own, i, leads = joint.dynamics, joint.v.start, joint.mimic is None
        own = replace(own, damping=leads * float(viscous[i]), friction=leads * float(coulomb[i])) if friction else own
        own = replace(own, armature=leads * float(rotors[i])) if armature else own
        joints[name] = replace(joint, dynamics=own)
    model = replace(model, joints=joints, armature=model.armature or armature)
    return Robot(model, tree_of(model))
