"""Quadratic programs: one statement, one result, one protocol; solvers that certify their answers, and reasons when
nothing fits.

    minimise  ½ xᵀ H x + fᵀ x   subject to   lower ≤ A x ≤ upper,   x_lower ≤ x ≤ x_upper

Every row has a name and a relaxation class; an equality is a row with lower = upper. Levels, which are met strictly one
after the other, may come before the cost. What solvers answer is never believed: each `Result` carries the KKT
residuals of the problem as it was stated. Multipliers λ, μ obey H x + f + Aᵀ λ + μ = 0, positive at upper bounds.

Three classes are a `Solver`: `ActiveSetSolver`, the compiled one, which the control loop uses as `CompiledSolver`, in
memory that a kernel writes; `DaqpSolver`, DAQP [ABA22], which also takes costs that are not strictly convex; and
`QpsolversSolver`, any solver of the package qpsolvers.

[ABA22] Arnström, Bemporad, Axehill: A Dual Active-Set Solver for Embedded Quadratic Programming Using Recursive LDLᵀ
Updates,
    IEEE Trans. Automatic Control 67(8), 2022.
[EMW14] Escande, Mansard, Wieber: Hierarchical Quadratic Programming, Int. J. Robotics Research 33(7), 2014.
[GR90] Gleeson, Ryan: Identifying Minimally Infeasible Subsystems of Inequalities, ORSA J. Computing 2(1), 1990.
"""

from .active_set import ActiveSetSolver
from .cascade import level_optimality
from .compiled import CompiledSolver
from .conflicts import conflict
from .daqp_solver import REFINE, DaqpSolver
from .program import (
    ACCURATE,
    UNKNOWN,
    QuadraticProgram,
    Residuals,
    Result,
    Rows,
    Solver,
    Status,
    active_names,
    kkt_residuals,
)
from .qpsolvers_solver import QpsolversSolver

__all__ = [
    "ACCURATE",
    "REFINE",
    "UNKNOWN",
    "ActiveSetSolver",
    "CompiledSolver",
    "DaqpSolver",
    "QpsolversSolver",
    "QuadraticProgram",
    "Residuals",
    "Result",
    "Rows",
    "Solver",
    "Status",
    "active_names",
    "conflict",
    "kkt_residuals",
    "level_optimality",
]
