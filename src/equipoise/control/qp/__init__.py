"""Quadratic programs: one statement, one solver that certifies its answers, strict priorities, and reasons when nothing fits.

    minimise  ½ xᵀ H x + fᵀ x   subject to   lower ≤ A x ≤ upper,   x_lower ≤ x ≤ x_upper

Every row has a name; an equality is a row with lower = upper. The work is done by DAQP [ABA22], a dual active-set method whose
workspace and active set a `Solver` keeps from one control step to the next. What DAQP answers is never believed: each `Result`
carries the KKT residuals of the problem as it was stated. Multipliers λ, μ obey H x + f + Aᵀ λ + μ = 0, positive at upper bounds.

[ABA22] Arnström, Bemporad, Axehill: A Dual Active-Set Solver for Embedded Quadratic Programming Using Recursive LDLᵀ Updates,
    IEEE Trans. Automatic Control 67(8), 2022.
[EMW14] Escande, Mansard, Wieber: Hierarchical Quadratic Programming, Int. J. Robotics Research 33(7), 2014.
[GR90] Gleeson, Ryan: Identifying Minimally Infeasible Subsystems of Inequalities, ORSA J. Computing 2(1), 1990.
"""

from .conflicts import Relaxation, conflict, relaxed
from .priorities import METHODS, LevelsResult, level_optimality, solve_levels
from .program import ACCURATE, UNKNOWN, QuadraticProgram, Residuals, Result, Rows, Status, kkt_residuals
from .solver import REFINE, Solver

__all__ = [
    "ACCURATE", "METHODS", "REFINE", "UNKNOWN", "LevelsResult", "QuadraticProgram", "Relaxation", "Residuals", "Result", "Rows",
    "Solver", "Status",
    "conflict", "kkt_residuals", "level_optimality", "relaxed", "solve_levels",
]  # fmt: skip
