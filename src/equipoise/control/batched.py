"""Whole-body control of many robots at once: one kernel for all programs, one method for all quadratic programs.

The programs of a `WholeBodyController` have one structure, so a batch of states is a batch of arrays. They are solved together
by the alternating direction method of multipliers [BPC11] with a fixed number of iterations: few factorisations per program,
then products of matrices, which is what GPUs do best. Rows are scaled to length one, equalities get a stiffer penalty, and every
program gets the residuals of its answer: `solved` tells which are good to the tolerance; whoever is not is for the single
controller to solve.

    many = BatchedController(controller)
    answer = many(q, v)             # (B, nq), (B, nv): NumPy arrays, or CuPy arrays on a GPU
    answer.torque[answer.solved]

[BPC11] Boyd, Parikh, Chu, Peleato, Eckstein: Distributed Optimization and Statistical Learning via the ADMM, 2011.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ShapeError
from ..machine.program import Program
from ..machine.store import kernel_of
from .tasks import TaskError

if TYPE_CHECKING:
    from .controller import WholeBodyController

Array = Any
EQUALITY = 1e3  # how much stiffer the penalty of an equality is
RELAXATION = 1.6
PENALTY = 0.1  # of the first iterations
PHASES = 5  # between which the penalty changes


class BatchedSolution(NamedTuple):
    """One row per robot."""

    torque: Array  # (B, nv)
    acceleration: Array  # (B, nv)
    x: Array  # (B, n) unknowns
    primal: Array  # (B,) largest violation of a row, rows scaled to length one
    dual: Array  # (B,) largest entry of H x + f + Aᵀ λ, by the largest of f
    solved: Array  # (B,) whether both are below the tolerance


class BatchedController:
    """The controller's programs for a batch of states.

    Args:
        controller: weighted, torque level, with a posture task; called once before, so that its targets and contacts are placed.
        iterations: of every program.
        tolerance: of the residuals.
    """

    def __init__(self, controller: WholeBodyController, *, iterations: int = 200, tolerance: float = 1e-4) -> None:
        c = controller
        if c.level != "torque" or c.priorities != "weighted":
            raise TaskError("BatchedController takes controllers of level 'torque' with weighted priorities")
        if c._near or c._columns is not None:
            raise TaskError("BatchedController takes controllers with all contacts in force and without SelfCollision")
        if not c._started:
            raise TaskError("call the controller once before: targets of None and contacts are taken from that state")
        self._set(c._kernel, c._p.copy(), c._regular, c.layout.joints, iterations, tolerance)

    def _set(self, kernel: Any, p: np.ndarray, regular: np.ndarray, joints: int, iterations: int, tolerance: float) -> None:
        self.kernel, self.p, self.regular, self.joints = kernel, p, regular, joints
        self.iterations, self.tolerance = iterations, tolerance

    def save(self, path: str | Path) -> None:
        """Everything in one file, for a machine that has a GPU and neither CasADi nor LLVM."""
        program = np.frombuffer(self.kernel.program.to_bytes(), np.uint8)
        numbers = np.array([self.joints, self.iterations, self.tolerance])
        np.savez(path, program=program, p=self.p, regular=self.regular, numbers=numbers)

    @classmethod
    def load(cls, path: str | Path) -> BatchedController:
        """What `save` wrote."""
        with np.load(path, allow_pickle=False) as data:
            kernel = kernel_of(Program.from_bytes(data["program"].tobytes()), strict=False)
            joints, iterations, tolerance = data["numbers"]
            made = cls.__new__(cls)
            made._set(kernel, data["p"], data["regular"], int(joints), int(iterations), float(tolerance))
        return made

    def __call__(self, q: Array, v: Array) -> BatchedSolution:
        """Torques of all robots."""
        sizes = [argument.size for argument in self.kernel.program.inputs]
        if q.ndim != 2 or v.ndim != 2:
            raise ShapeError(f"wanted q of shape (B, {sizes[0]}) and v of (B, {sizes[1]}), got {q.shape} and {v.shape}")
        xp = _library(q)
        p = xp.asarray(np.broadcast_to(self.p, (len(q), len(self.p))), dtype=q.dtype)
        names = [output.name for output in self.kernel.program.outputs]
        data = dict(zip(names, self.kernel(q, v, p), strict=True))
        H, f = self._cost(xp, data)
        scale = 1 / xp.sqrt(xp.diagonal(H, axis1=1, axis2=2))  # unknowns in units in which each costs the same
        H, f = scale[:, :, None] * H * scale[:, None, :], scale * f
        A, lower, upper, penalty = self._rows(xp, data, scale)
        x, primal, dual = _admm(xp, H, f, A, lower, upper, penalty, self.iterations)
        return self._answer(xp, data, scale * x, primal, dual, sizes[1])

    def _cost(self, xp: Any, data: dict[str, Array]) -> tuple[Array, Array]:
        R, r = data["R"], data["r"]
        H = xp.swapaxes(R, 1, 2) @ R
        diagonal = data["weights"] + xp.asarray(self.regular, dtype=R.dtype)
        n = H.shape[-1]
        at = xp.arange(n)
        H[:, at, at] += diagonal
        return H, -_times(xp.swapaxes(R, 1, 2), r) - data["pulls"]

    def _rows(self, xp: Any, data: dict[str, Array], scale: Array) -> tuple[Array, ...]:
        """All rows as one set, scaled; equalities first, with their stiffer penalty."""
        A = xp.concatenate([data["E"], data["A"]], axis=1) * scale[:, None, :]
        lower, upper = (xp.concatenate([data["e"], data[side]], axis=1) for side in ("lower", "upper"))
        length = xp.maximum(xp.sqrt((A * A).sum(axis=2)), 1e-9)
        penalty = xp.full(A.shape[:2], PENALTY, dtype=A.dtype)
        penalty[:, : data["e"].shape[1]] *= EQUALITY
        return A / length[..., None], lower / length, upper / length, penalty

    def _answer(
        self, xp: Any, data: dict[str, Array], x: Array, primal: Array, dual: Array, nv: int
    ) -> BatchedSolution:  # fmt: skip
        n, first = self.joints, nv - self.joints
        torque = xp.zeros((len(x), nv), dtype=x.dtype)
        torque[:, first:] = _times(data["A"][:, :n], x) + data["t"]
        a = xp.empty_like(torque)
        a[:, first:] = x[:, :n]
        if first:
            a[:, :first] = _times(data["B"], x) + data["b"]
        return BatchedSolution(torque, a, x, primal, dual, (primal < self.tolerance) & (dual < self.tolerance))


def _library(x: Array) -> Any:
    """NumPy, or CuPy for its arrays."""
    if isinstance(x, np.ndarray):
        return np
    try:
        import cupy
    except ImportError:
        raise ShapeError(f"BatchedController takes NumPy or CuPy arrays, got {type(x).__name__}") from None
    return cupy


def _admm(xp: Any, H: Array, f: Array, A: Array, l: Array, u: Array, rho: Array, iterations: int) -> tuple[Array, Array, Array]:
    """x with its residuals: x minimises over all, z is A x inside the bounds, y the multipliers.

    A few times the penalty of each program is set anew from its residuals: larger where rows are violated, smaller where
    the gradient is what is left.
    """
    At = xp.swapaxes(A, 1, 2)
    z = xp.clip(xp.zeros_like(l), l, u)
    y = xp.zeros_like(z)
    size = xp.maximum(xp.abs(f).max(axis=1), 1e-9)
    for phase in range(PHASES):
        K = xp.linalg.inv(H + (At * rho[:, None, :]) @ A)
        for _ in range(max(1, iterations // PHASES)):
            x = _times(K, _times(At, rho * z - y) - f)
            Ax = RELAXATION * _times(A, x) + (1 - RELAXATION) * z
            z_next = xp.clip(Ax + y / rho, l, u)
            y = y + rho * (Ax - z_next)
            z = z_next
        Ax = _times(A, x)
        primal = xp.abs(Ax - xp.clip(Ax, l, u)).max(axis=1)
        dual = xp.abs(_times(H, x) + f + _times(At, y)).max(axis=1) / size
        if phase < PHASES - 1:
            reach = xp.maximum(xp.abs(Ax).max(axis=1), 1e-9)
            rho = rho * xp.clip(xp.sqrt((primal / reach + 1e-12) / (dual + 1e-12)), 0.03, 30.0)[:, None]
    return x, primal, dual


def _times(M: Array, x: Array) -> Array:
    """M x for each of a batch."""
    return (M @ x[..., None])[..., 0]
