"""Whole-body control of many robots at once: one kernel for all of their quadratic programs.

The programs of a `WholeBodyController` have one structure, so a batch of states is a batch of arrays: on a GPU they are
solved together (`batch_programs`), on a CPU one after the other by the solver of the control loop, which is faster
there. Every answer comes with its multipliers and the residuals of the program as stated, in its own units: `solved`
tells which are good to the tolerance; whoever is not is for the single controller to solve.

    many = BatchedController(controller)
    answer = many(q, v)             # (B, nq), (B, nv): NumPy arrays, or CuPy arrays on a GPU
    answer.torque[answer.solved]
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from ...errors import EquipoiseError, ShapeError
from ...files import MAX_BYTES, read_arrays, written_whole
from ...machine.program import Program
from ...machine.store import kernel_of
from ..item import TaskError
from ..qp import CompiledSolver
from ..qp.batch_programs import (
    DEPENDENT,
    Answers,
    Programs,
    finite_ones,
    judged,
    library,
    replaced,
    solve_batch,
    times,
    turned,
    turned_times,
)
from ..qp.loops.workspace import NUMBERS

if TYPE_CHECKING:
    from .controller import WholeBodyController

Array = Any
CHUNK = 32_768  # programs that are in memory at once


class BatchedSolution(NamedTuple):
    """One row per robot; NaN where the program had NaN or infinity in it."""

    torque: Array  # (B, nv)
    acceleration: Array  # (B, nv)
    x: Array  # (B, n) unknowns
    multipliers_E: Array  # (B, rows of E)
    multipliers: Array  # (B, rows of A), positive at upper bounds
    primal: Array  # (B,) largest violation of a row, by max(1, |bound|)
    dual: Array  # (B,) largest entry of H x + f + Eᵀ μ + Aᵀ λ, by the largest of its terms
    gap: Array  # (B,) largest product of a multiplier and the distance from its bound, by max(1, xᵀ H x, fᵀ x)
    solved: Array  # (B,) whether all three are below the tolerance


class ControllerFileError(EquipoiseError):
    """A file that is not there, too large, damaged, or not a batched controller."""


class BatchedController:
    """The controller's programs for a batch of states.

    Args:
        controller: weighted, torque level, with a posture task; called once before, so that its targets and contacts
            are placed.
        tolerance: of the residuals.
    """

    def __init__(self, controller: WholeBodyController, *, tolerance: float = 1e-6) -> None:
        c = controller
        if c.level != "torque" or c.priorities != "weighted":
            raise TaskError("BatchedController takes controllers of level 'torque' with weighted priorities")
        step = c.step
        if step is None or not step.saw_state:
            raise TaskError("call the controller once before: targets of None and contacts are taken from that state")
        layout = step.structure.layout
        if layout.context.chart is not None:
            raise TaskError("BatchedController takes controllers in minimal coordinates, without a chart")
        if layout.reserves or step.selection is not None:
            raise TaskError("BatchedController takes controllers with all contacts in force and without SelfCollision")
        if not any(layout.diagonal(task) for task in layout.items.tasks):
            raise TaskError("BatchedController takes controllers with a PostureTask")
        motors = layout.context.motors
        self._set(step.structure.kernel, step.p.copy(), step.structure.regularisation, motors, tolerance)

    def _set(self, kernel: Any, p: np.ndarray, regular: np.ndarray, motors: np.ndarray, tolerance: float) -> None:
        self.kernel, self.p, self.regular, self.motors, self.tolerance = kernel, p, regular, motors, tolerance

    def save(self, path: str | Path) -> None:
        """Everything in one file, for a machine that has a GPU and neither CasADi nor LLVM."""
        program = np.frombuffer(self.kernel.program.to_bytes(), np.uint8)
        p, regular, motors, tolerance = self.p, self.regular, self.motors, np.array(self.tolerance)
        written_whole(
            Path(path),
            lambda file: np.savez(file, program=program, p=p, regular=regular, motors=motors, tolerance=tolerance),
        )

    @classmethod
    def load(cls, path: str | Path, *, max_bytes: int = MAX_BYTES) -> BatchedController:
        """What `save` wrote. Nothing in the file is executed but the arithmetic of its program.

        Args:
            path: of the file.
            max_bytes: that the file may unpack to.

        Raises:
            ControllerFileError: the file is not there, damaged, too large, or not a controller.
        """
        try:
            data = read_arrays(Path(path), max_bytes)
            tolerance = float(data["tolerance"])
            program = Program.from_bytes(data["program"].tobytes())
            _require_fitting(program, data, tolerance)
        except (OSError, ValueError, LookupError, TypeError, EOFError, BadZipFile, zlib.error, EquipoiseError) as error:
            raise ControllerFileError(f"{str(path)!r} is not a batched controller: {error}") from error
        made = cls.__new__(cls)
        kernel = kernel_of(program, strict=False)
        made._set(kernel, data["p"], data["regular"], data["motors"], tolerance)
        return made

    def __call__(self, q: Array, v: Array) -> BatchedSolution:
        """Torques of all robots. The programs are solved in double precision, whatever the precision of the states."""
        sizes = [argument.size for argument in self.kernel.program.inputs]
        if q.ndim != 2 or v.ndim != 2:
            raise ShapeError(f"wanted q of shape (B, {sizes[0]}) and v of (B, {sizes[1]}), got {q.shape} and {v.shape}")
        xp = library(q)
        starts = range(0, max(len(q), 1), CHUNK)
        with np.errstate(invalid="ignore", over="ignore"):  # states that are no numbers are told in the answer
            parts = [self._part(xp, q[at : at + CHUNK], v[at : at + CHUNK]) for at in starts]
        return (
            parts[0]
            if len(parts) == 1
            else BatchedSolution(*(xp.concatenate(column) for column in zip(*parts, strict=True)))
        )

    def _part(self, xp: Any, q: Array, v: Array) -> BatchedSolution:
        p = xp.asarray(np.broadcast_to(self.p, (len(q), len(self.p))), dtype=q.dtype)
        names = [output.name for output in self.kernel.program.outputs]
        results = [result.astype(xp.float64, order="C") for result in self.kernel(q, v, p)]
        data = dict(zip(names, results, strict=True))
        programs = self._programs(xp, data)
        finite = finite_ones(xp, programs)
        good = programs if bool(finite.all()) else replaced(xp, programs, ~finite)
        found = solve_batch(good, self.tolerance) if xp is not np else self._one_by_one(data, good, finite)
        answer = (*self._motion(xp, data, found.x, v.shape[1]), *found[:-1])
        if good is not programs:
            for array in answer:
                array[~finite] = np.nan
        return BatchedSolution(*answer, solved=finite & found.solved)

    def _one_by_one(self, data: dict[str, Array], programs: Programs, finite: Array) -> Answers:
        """By the solver of the control loop, each from the working set of the one before."""
        (B, k), m = programs.e.shape, programs.lower.shape[1]
        levels = [data["R"].shape[1] if "R" in data else 0]
        # All rows are of class 1: where they cannot hold, the answer is the point that violates them least.
        solver = CompiledSolver(
            len(self.regular), levels, n_E=k, n_A=m, classes_E=np.ones(k, int), classes_A=np.ones(m, int),
            regularisation=self.regular, rank_tolerance=DEPENDENT,
        )  # fmt: skip
        numbers = [(solver.data[name], data[name]) for name in NUMBERS if name in data]
        x, multipliers = np.zeros_like(programs.f), np.zeros((B, k + m))
        for i in np.flatnonzero(finite):
            for into, batch in numbers:
                into[...] = batch[i]
            answer = solver.solve()
            x[i], multipliers[i] = answer.x, answer.multipliers
            if not answer.solved:
                solver.forget()
        return judged(programs, x, multipliers[:, :k], multipliers[:, k:], self.tolerance)

    def _programs(self, xp: Any, data: dict[str, Array]) -> Programs:
        B, n = data["weights"].shape
        R, r = data.get("R", xp.zeros((B, 0, n))), data.get("r", xp.zeros((B, 0)))
        H = turned(R) @ R
        at = xp.arange(n)
        H[:, at, at] += data["weights"] + xp.asarray(self.regular)
        f = -turned_times(R, r) - data["pulls"]
        E, e = data.get("E", xp.zeros((B, 0, n))), data.get("e", xp.zeros((B, 0)))
        none = xp.zeros((B, 0))
        A = data.get("A", xp.zeros((B, 0, n)))
        return Programs(H, f, E, e, A, data.get("lower", none), data.get("upper", none))

    def _motion(self, xp: Any, data: dict[str, Array], x: Array, nv: int) -> tuple[Array, Array]:
        motors, passive = self.motors, np.setdiff1d(np.arange(nv), self.motors)
        torque = xp.zeros((len(x), nv))
        torque[:, motors] = times(data["T"], x) + data["t"]
        a = xp.empty_like(torque)
        a[:, motors] = x[:, : len(motors)]
        if len(passive):
            a[:, passive] = times(data["B"], x) + data["b"]
        return torque, a


def _require_fitting(program: Program, data: dict[str, np.ndarray], tolerance: float) -> None:
    """Raise ValueError unless the arrays of a file are those of a controller with this program."""
    sizes = [argument.size for argument in program.inputs]
    if len(sizes) != 3 or data["p"].shape != (sizes[2],):
        raise ValueError(f"its program takes inputs of {sizes} numbers, its parameters have shape {data['p'].shape}")
    if any(data[name].dtype.kind != "f" or np.isnan(data[name]).any() for name in ("p", "regular")):
        raise ValueError("some of its parameters are not numbers")  # infinite ones are bounds that do not bound
    motors = data["motors"]
    if motors.ndim != 1 or motors.dtype.kind not in "iu" or ((motors < 0) | (motors >= sizes[1])).any():
        raise ValueError(f"its motors are not places among {sizes[1]} velocities")
    if not 0 <= tolerance < np.inf:
        raise ValueError(f"its tolerance is {tolerance:g}")
