"""Every quantity a robot offers, by name: which arguments it takes, and its equation in any velocity representation.

An entry is a function of a `Tree`, of symbols, and of options (frame, representation). `machine` compiles entries for
one robot; `SymbolicRobot` offers them to users' own functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..model.tree import Tree
from . import centroidal, derivatives, energy, manifold, motion_derivatives
from .coriolis import coriolis_matrix as _coriolis_matrix
from .factors import ColumnSolutions
from .forward_dynamics import forward_dynamics as _forward_dynamics
from .inverse_dynamics import Place
from .inverse_dynamics import gravity as _gravity
from .inverse_dynamics import inverse_dynamics as _inverse_dynamics
from .jacobians import acceleration as _acceleration
from .jacobians import jacobian as _jacobian
from .jacobians import jacobian_rate as _jacobian_rate
from .jacobians import velocity as _velocity
from .kinematics import frame_poses
from .mass_matrix import mass_matrix as _mass_matrix
from .regressor import regressor as _regressor
from .representations import BaseChange, base_change, frame_change, frame_change_rate
from .symbols import SX, zeros


@dataclass(frozen=True)
class Equation:
    """One entry: names of its symbolic arguments, and the function that builds the expression."""

    arguments: tuple[str, ...]
    build: Callable[..., SX]
    # the same in two stages, for code that takes several columns at a time
    columns: Callable[..., ColumnSolutions] | None = None


def argument_size(tree: Tree, name: str) -> int:
    """How many numbers an argument has."""
    if name.startswith("q"):
        return tree.nq
    return {"dt": 1}.get(name, 6 if name.startswith("wrench") else tree.nv)


def _base(tree: Tree, q: SX, representation: str) -> BaseChange:
    """The change of base where no velocity is at hand; its rate must not be used."""
    return base_change(tree, q, zeros(tree.nv), representation)


def pose(tree: Tree, q: SX, *, place: Place) -> SX:
    return frame_poses(tree, q, [place])


def poses(tree: Tree, q: SX, *, places: Sequence[Place]) -> SX:
    return frame_poses(tree, q, places)


def jacobian(tree: Tree, q: SX, *, place: Place, representation: str) -> SX:
    Y = frame_change(tree, q, place, representation)
    return Y @ _jacobian(tree, q, place) @ _base(tree, q, representation).T


def jacobian_rate(tree: Tree, q: SX, v: SX, *, place: Place, representation: str) -> SX:
    """d/dt (Y J T) = Ẏ J T + Y J̇ T + Y J Ṫ."""
    base = base_change(tree, q, v, representation)
    J, J_dot = _jacobian(tree, q, place), _jacobian_rate(tree, q, base.v_mixed, place)
    Y, Y_dot = (
        frame_change(tree, q, place, representation),
        frame_change_rate(tree, q, base.v_mixed, place, representation),
    )
    return Y_dot @ J @ base.T + Y @ J_dot @ base.T + Y @ J @ base.T_dot


def velocity(tree: Tree, q: SX, v: SX, *, place: Place, representation: str) -> SX:
    base = base_change(tree, q, v, representation)
    return frame_change(tree, q, place, representation) @ _velocity(tree, q, base.v_mixed, place)


def bias_acceleration(tree: Tree, q: SX, v: SX, *, place: Place, representation: str) -> SX:
    base = base_change(tree, q, v, representation)
    V = _velocity(tree, q, base.v_mixed, place)
    A = _acceleration(tree, q, base.v_mixed, base.drift, place)
    return (
        frame_change(tree, q, place, representation) @ A
        + frame_change_rate(tree, q, base.v_mixed, place, representation) @ V
    )


def mass_matrix(tree: Tree, q: SX, *, representation: str) -> SX:
    T = _base(tree, q, representation).T
    return T.T @ _mass_matrix(tree, q) @ T


def coriolis_matrix(tree: Tree, q: SX, v: SX, *, representation: str) -> SX:
    """[TPN17, Eq. (23b)] with the change of representation as the change of variables: Ṁ − 2C stays skew."""
    base = base_change(tree, q, v, representation)
    C = _coriolis_matrix(tree, q, base.v_mixed)
    if representation == "mixed" or not tree.floating:
        return C
    return base.T.T @ (_mass_matrix(tree, q) @ base.T_dot + C @ base.T)


def gravity(tree: Tree, q: SX, *, representation: str) -> SX:
    return _base(tree, q, representation).T.T @ _gravity(tree, q)


def bias_force(tree: Tree, q: SX, v: SX, *, representation: str) -> SX:
    base = base_change(tree, q, v, representation)
    return base.T.T @ _inverse_dynamics(tree, q, base.v_mixed, base.drift)


def inverse_dynamics(
    tree: Tree, q: SX, v: SX, a: SX, *wrenches: SX, places: Sequence[Place] = (), representation: str
) -> SX:
    base = base_change(tree, q, v, representation)
    mixed = _mixed_wrenches(tree, q, places, wrenches, representation)
    return base.T.T @ _inverse_dynamics(tree, q, base.v_mixed, base.T @ a + base.drift, places, mixed)


def forward_dynamics(
    tree: Tree, q: SX, v: SX, tau: SX, *wrenches: SX, places: Sequence[Place] = (), representation: str
) -> SX:
    base = base_change(tree, q, v, representation)
    mixed = _mixed_wrenches(tree, q, places, wrenches, representation)
    if representation == "mixed" or not tree.floating:
        return _forward_dynamics(tree, q, v, tau, places, mixed)
    back = _inverse_base(tree, q, representation)
    a_mixed = _forward_dynamics(tree, q, base.v_mixed, back.T @ tau, places, mixed)
    return back @ (a_mixed - base.drift)


def _inverse_base(tree: Tree, q: SX, representation: str) -> SX:
    """T⁻¹: the twist of the base itself, from mixed to `representation`."""
    T = _base(tree, q, representation).T
    T[0:6, 0:6] = frame_change(tree, q, (0, np.eye(4)), representation)
    return T


def _mixed_wrenches(
    tree: Tree, q: SX, places: Sequence[Place], wrenches: Sequence[SX], representation: str
) -> list[SX]:
    return [
        frame_change(tree, q, place, representation).T @ wrench for place, wrench in zip(places, wrenches, strict=True)
    ]


def regressor(tree: Tree, q: SX, v: SX, a: SX, *, representation: str) -> SX:
    base = base_change(tree, q, v, representation)
    return base.T.T @ _regressor(tree, q, base.v_mixed, base.T @ a + base.drift)


def com(tree: Tree, q: SX) -> SX:
    return centroidal.com(tree, q)


def com_jacobian(tree: Tree, q: SX, *, representation: str) -> SX:
    return centroidal.com_jacobian(tree, q) @ _base(tree, q, representation).T


def com_bias(tree: Tree, q: SX, v: SX, *, representation: str) -> SX:
    base = base_change(tree, q, v, representation)
    return centroidal.com_acceleration(tree, q, base.v_mixed, base.drift)


def momentum_matrix(tree: Tree, q: SX, *, representation: str) -> SX:
    return centroidal.momentum_matrix(tree, q) @ _base(tree, q, representation).T


def momentum(tree: Tree, q: SX, v: SX, *, representation: str) -> SX:
    return centroidal.momentum(tree, q, base_change(tree, q, v, representation).v_mixed)


def momentum_bias(tree: Tree, q: SX, v: SX, *, representation: str) -> SX:
    base = base_change(tree, q, v, representation)
    return centroidal.momentum_rate(tree, q, base.v_mixed, base.drift)


def kinetic_energy(tree: Tree, q: SX, v: SX, *, representation: str) -> SX:
    return energy.kinetic_energy(tree, q, base_change(tree, q, v, representation).v_mixed)


EQUATIONS: dict[str, Equation] = {
    "pose": Equation(("q",), pose),
    "poses": Equation(("q",), poses),
    "jacobian": Equation(("q",), jacobian),
    "jacobian_rate": Equation(("q", "v"), jacobian_rate),
    "velocity": Equation(("q", "v"), velocity),
    "bias_acceleration": Equation(("q", "v"), bias_acceleration),
    "mass_matrix": Equation(("q",), mass_matrix),
    "coriolis_matrix": Equation(("q", "v"), coriolis_matrix),
    "gravity": Equation(("q",), gravity),
    "bias_force": Equation(("q", "v"), bias_force),
    "inverse_dynamics": Equation(("q", "v", "a"), inverse_dynamics),
    "forward_dynamics": Equation(("q", "v", "tau"), forward_dynamics),
    "regressor": Equation(("q", "v", "a"), regressor),
    "com": Equation(("q",), com),
    "com_jacobian": Equation(("q",), com_jacobian),
    "com_bias": Equation(("q", "v"), com_bias),
    "momentum_matrix": Equation(("q",), momentum_matrix),
    "momentum": Equation(("q", "v"), momentum),
    "momentum_bias": Equation(("q", "v"), momentum_bias),
    "kinetic_energy": Equation(("q", "v"), kinetic_energy),
    "potential_energy": Equation(("q",), energy.potential_energy),
    "integrate": Equation(("q", "v", "dt"), manifold.integrate),
    "difference": Equation(("q0", "q1"), manifold.difference),
    "inverse_dynamics_derivatives": Equation(("q", "v", "a"), derivatives.inverse_dynamics_derivatives),
    "forward_dynamics_derivatives": Equation(
        ("q", "v", "tau"), derivatives.forward_dynamics_derivatives, derivatives.forward_dynamics_columns
    ),
    "velocity_derivatives": Equation(("q", "v"), motion_derivatives.velocity_derivatives),
    "momentum_derivatives": Equation(("q", "v"), motion_derivatives.momentum_derivatives),
    "integrate_derivatives": Equation(("q", "v", "dt"), motion_derivatives.integrate_derivatives),
    "difference_derivatives": Equation(("q0", "q1"), motion_derivatives.difference_derivatives),
    "tangent_basis": Equation(("q",), motion_derivatives.tangent_basis),
}


MATRICES = frozenset(
    {
        "pose",
        "jacobian",
        "jacobian_rate",
        "mass_matrix",
        "coriolis_matrix",
        "com_jacobian",
        "momentum_matrix",
        "tangent_basis",
        "regressor",
    }
)


DERIVATIVES = {  # how many matrices stand on top of each other
    "inverse_dynamics_derivatives": 3,
    "forward_dynamics_derivatives": 3,
    "velocity_derivatives": 2,
    "momentum_derivatives": 2,
    "integrate_derivatives": 2,
    "difference_derivatives": 2,
}


def shape_of(name: str, expression: SX) -> tuple[int, ...]:
    """Shape of the array a user gets: matrices stay matrices, columns are flat, energies are numbers."""
    if name == "poses":
        return expression.shape[0] // 4, 4, 4
    if name in DERIVATIVES:
        rows, columns = expression.shape
        return DERIVATIVES[name], rows // DERIVATIVES[name], columns
    if name in MATRICES:
        return expression.shape
    return () if name.endswith("_energy") else (expression.shape[0],)


class SymbolicRobot:
    """The robot's equations on symbols, for users' own functions (`eq.compile`). Same names as `Robot`."""

    tree: Tree

    def __init__(self, tree: Tree, place_of: Callable[[str], Place]) -> None:
        self.tree, self._place_of = tree, place_of

    def __getattr__(self, name: str) -> Callable[..., SX]:
        if name not in EQUATIONS:
            from ..errors import unknown_name

            raise AttributeError(str(unknown_name("equation", name, EQUATIONS)))
        return lambda *symbols, **options: self._build(name, symbols, options)

    def _build(self, name: str, symbols: tuple[Any, ...], options: dict[str, Any]) -> SX:
        equation = EQUATIONS[name]
        count = len(equation.arguments)
        arguments, rest = symbols[:count], symbols[count:]
        if name in FRAME_EQUATIONS:
            frame = options.pop("frame", rest[0] if rest else None)
            options["place"] = self._place_of(frame)
        if name in FRAMES_EQUATIONS:
            options["places"] = [self._place_of(frame) for frame in options.pop("frames", rest[0] if rest else ())]
        if name in REPRESENTED:
            options.setdefault("representation", "mixed")
        return equation.build(self.tree, *arguments, **options)


FRAME_EQUATIONS = frozenset(
    {"pose", "jacobian", "jacobian_rate", "velocity", "bias_acceleration", "velocity_derivatives"}
)
FRAMES_EQUATIONS = frozenset({"poses"})
WITHOUT_REPRESENTATION = {
    "pose",
    "poses",
    "com",
    "potential_energy",
    "integrate",
    "difference",
    "tangent_basis",
    *DERIVATIVES,
}
REPRESENTED = frozenset(EQUATIONS) - WITHOUT_REPRESENTATION
