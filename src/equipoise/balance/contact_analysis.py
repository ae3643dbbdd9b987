"""What contacts leave free: ranks, internal constraints, uncontrollable directions of the base [ETH19, slides 8–14]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ShapeError, unknown_name
from ..model.types import frozen
from .contacts import AXES, Axes, Contact, Kind, contact_jacobian, parts, place
from .ranks import RANK_TOLERANCE, largest, range_and_kernel

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class ContactAnalysis:
    """What contacts hold, at one configuration [ETH19, slide 11].

    The contacts can push the base along `controllable` directions, so that actuators command them. Motions along
    `uncontrollable` ones no contact feels: whatever the joints do, gravity and momentum decide there.

    Attributes:
        contacts: names of the contacts.
        J: contact Jacobian J_c, (rows, nv).
        base: columns of the unactuated base in it.
        rank, base_rank: of J_c and of its base part J_c,b.
        controllable, uncontrollable: orthonormal bases of the base's velocities, (base, …): range of J_c,bᵀ and kernel
            of J_c,b, a metre counted as a radian.
        words: the uncontrollable directions, in words.
    """

    contacts: tuple[str, ...]
    J: Array
    base: tuple[int, ...]
    rank: int
    base_rank: int
    controllable: Array
    uncontrollable: Array
    words: tuple[str, ...]

    @property
    def internal_constraints(self) -> int:
        """rank J_c − rank J_c,b: constraints on the joints alone, and dimension of the internal forces."""
        return self.rank - self.base_rank

    @property
    def redundant(self) -> int:
        """Rows that repeat others: so many combinations of contact forces no motion can tell."""
        return len(self.J) - self.rank

    @property
    def base_controllable(self) -> bool:
        """Whether contacts can push the base in every direction: rank J_c,b is full."""
        return self.base_rank == len(self.base)

    def report(self) -> str:
        """The analysis as a few lines of text."""
        free = len(self.base) - self.base_rank
        lines = [
            f"contacts: {', '.join(self.contacts) or 'none'}",
            f"total constraints        {self.rank:3d}   rank J_c ({len(self.J)} rows, {self.redundant} redundant)",
            f"base constraints         {self.base_rank:3d}   rank J_c,b",
            f"internal constraints     {self.internal_constraints:3d}   rank J_c − rank J_c,b",
            f"uncontrollable directions{free:3d}   of {len(self.base)}",
            *(f"  {words}" for words in self.words),
        ]
        return "\n".join(lines)


def analyse_contacts(
    robot: Robot,
    q: Array,
    contacts: Sequence[Contact],
    kind: Kind = "point",
    *,
    axes: Axes = AXES,
    base: Sequence[str] | None = None,
    tolerance: float = RANK_TOLERANCE,
) -> ContactAnalysis:
    """Ranks, internal constraints and uncontrollable base directions of contacts [ETH19, slides 8–14].

    Args:
        q: one configuration, (nq,).
        contacts, kind, axes: as of `contact_jacobian`.
        base: joints that count as the unactuated base; the floating base if not given.
        tolerance: singular values below this part of the largest count as zero.
    """
    q = np.asarray(q, dtype=float)
    if q.ndim != 1:
        raise ShapeError(f"analyse_contacts looks at one configuration, q of shape ({robot.nq},), got {q.shape}")
    J = contact_jacobian(robot, q, contacts, kind, axes)
    columns = _base_columns(robot, base)
    J_b = J[:, columns]
    held, free = range_and_kernel(J_b, tolerance, largest(J))
    if base is None and robot.floating:
        places = {_label(contact): place(robot, q, contact) for contact in contacts}
        words = _twists_in_words(free, q[:3], places)
    else:
        words = _joints_in_words(free, _column_names(robot, columns))
    rank = range_and_kernel(J, tolerance)[0].shape[1]
    arrays = [frozen(x) for x in (J, held, free)]
    return ContactAnalysis(
        tuple(map(_label, contacts)), arrays[0], tuple(columns), rank, held.shape[1], arrays[1], arrays[2], words
    )


def _label(contact: Contact) -> str:
    frame, point = parts(contact)
    return (
        frame
        if not any(point) and not isinstance(contact, tuple)
        else f"{frame} ({', '.join(f'{x:g}' for x in point)})"
    )


def _base_columns(robot: Robot, base: Sequence[str] | None) -> list[int]:
    if base is None:
        return list(range(6)) if robot.floating else []
    columns: list[int] = []
    for name in base:
        if name not in robot.joints:
            raise unknown_name("joint", name, robot.joints)
        columns.extend(range(robot.nv)[robot.joints[name].v])
    return columns


def _column_names(robot: Robot, columns: Sequence[int]) -> list[str]:
    owner = {i: joint for joint in robot.joints.values() if joint.mimic is None for i in range(robot.nv)[joint.v]}
    return [
        owner[i].name if owner[i].type.nv == 1 else f"{owner[i].name}[{i - owner[i].v.start}]"
        for i in columns
        if i in owner
    ]


# --- directions in words ----------------------------------------------------------------------------------------------


def _twists_in_words(twists: Array, p_base: Array, places: dict[str, Array]) -> tuple[str, ...]:
    """A space of base twists, (6, k), as translations and rotations about lines and contacts."""
    if twists.shape[1] == 6:
        return ("every motion of the base: nothing holds the robot",)
    turning, still = range_and_kernel(twists[3:], RANK_TOLERANCE)  # combinations that turn the base, and that do not
    slides = twists[:3] @ still
    turns = twists @ turning
    turns[:3] -= slides @ (slides.T @ turns[:3])  # what a free translation can do says nothing about the axis
    return (*_translations_in_words(slides), *_rotations_in_words(turns, slides, p_base, places))


def _translations_in_words(slides: Array) -> tuple[str, ...]:
    count = slides.shape[1]
    if count == 3:
        return ("translation in every direction",)
    if count == 2:
        normal = _direction(np.cross(slides[:, 0], slides[:, 1]))
        return (
            "horizontal translation, in both directions"
            if normal == "z"
            else f"translation in the plane across {normal}",
        )
    return tuple(
        "vertical translation" if _direction(d) == "z" else f"translation along {_direction(d)}" for d in slides.T
    )


def _rotations_in_words(turns: Array, slides: Array, p_base: Array, places: dict[str, Array]) -> tuple[str, ...]:
    count = turns.shape[1]
    moved = {name: turns[:3] + np.cross(turns[3:], (p - p_base)[:, None], axis=0) for name, p in places.items()}
    on_axis = [name for name, v in moved.items() if np.allclose(v, 0.0, atol=1e-7)]
    fixed = [name for name, v in moved.items() if np.allclose(v, slides @ (slides.T @ v), atol=1e-7)]
    if count == 3:
        return (f"rotation about every axis through {fixed[0]}" if fixed else "rotation about every axis",)
    if count == 2 and fixed:
        across = _direction(np.cross(turns[3:, 0], turns[3:, 1]))
        return (f"rotation about every axis through {fixed[0]} across {across}",)
    if count == 1 and len(on_axis) > 1:
        return (f"rotation about the line through {', '.join(on_axis[:-1])} and {on_axis[-1]}",)
    return tuple(_screw_in_words(turn, slides, p_base, fixed) for turn in turns.T)


def _screw_in_words(turn: Array, slides: Array, p_base: Array, fixed: Sequence[str]) -> str:
    """One rotation: its axis, a place on it, and how far it advances."""
    v, w = turn[:3], turn[3:]
    axis = f"rotation about the {'vertical' if _direction(w) == 'z' else _direction(w)} axis"
    if np.linalg.matrix_rank(np.column_stack([slides, w])) == 3:
        return axis  # translations across the axis carry it anywhere
    pitch = float(v @ w / (w @ w))
    where = f"{axis} through {fixed[0] if fixed else _triple(p_base + np.cross(w, v) / (w @ w))}"
    return where if abs(pitch) < 1e-7 else f"{where}, advancing {pitch:.3g} m per radian"


def _direction(d: Array) -> str:
    """A direction by the axis it follows, or by its components."""
    unit = d / np.linalg.norm(d)
    largest = int(np.argmax(np.abs(unit)))
    if abs(unit[largest]) > 1 - 1e-9:
        return AXES[largest]
    return _triple(unit * np.sign(unit[largest]))


def _triple(x: Array) -> str:
    return f"({', '.join(f'{value:.3g}' for value in np.where(np.abs(x) < 1e-9, 0.0, x))})"


def _joints_in_words(free: Array, names: Sequence[str]) -> tuple[str, ...]:
    """Velocities of base joints that stay free: joints by name, and the count of what remains."""
    alone = [name for name, row in zip(names, free, strict=True) if np.isclose(row @ row, 1.0)]
    involved = [name for name, row in zip(names, free, strict=True) if name not in alone and row @ row > 1e-12]
    rest = free.shape[1] - len(alone)
    together = (f"{rest} of the combined motions of joints {', '.join(involved)}",) if rest else ()
    return (*(f"motion of joint {name}" for name in alone), *together)
