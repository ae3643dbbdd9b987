"""What a robot says of itself without any equation: its parts, its limits, its relatives, its configurations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from ..algebra.rigid import is_pose
from ..errors import ShapeError, unknown_name
from . import assemble, changes
from .builder import mass_properties
from .checks import check
from .html import html_table
from .posture import standing
from .shapes import ORIGIN, Vector
from .tree import Tree, tree_of
from .types import Frame, Joint, Link, Model, frozen

Array = np.ndarray


@dataclass(frozen=True)
class Limits:
    """Bounds of all joints as arrays; infinite where there are none, and for the base."""

    lower: Array  # (nq,)
    upper: Array  # (nq,)
    velocity: Array  # (nv,)
    effort: Array  # (nv,)


@dataclass(frozen=True, eq=False, repr=False)
class Described:
    """A model with its tree; `_kernels` belongs to those who compile, and goes along to relatives of the same tree."""

    model: Model
    tree: Tree
    _kernels: dict[Any, Any] = field(default_factory=dict)

    @classmethod
    def from_model(cls, model: Model, *, strict: bool = False) -> Self:
        """Check a model and give it its face."""
        return cls(model, check(model, strict=strict))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and pickled by its model; the kernels come from the cache."""
        return _made_again, (type(self), self.model)

    @property
    def identity(self) -> object:
        """Returns its identity in the cache."""
        return self.tree, self.model

    # --- what it is ---------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def nq(self) -> int:
        """Numbers in a configuration."""
        return self.model.nq

    @property
    def nv(self) -> int:
        """Numbers in a velocity."""
        return self.model.nv

    @property
    def mass(self) -> float:
        """kg, all links."""
        return self.model.mass

    @property
    def floating(self) -> bool:
        """Whether q starts with a free base."""
        return self.tree.floating

    @property
    def base_link(self) -> str | None:
        """The link that floats, or None."""
        return None if self.model.base is None else self.model.base.child

    @property
    def joints(self) -> Mapping[str, Joint]:
        """Moving joints in file order, without the base; `.q` and `.v` are their slices."""
        base = self.model.base
        return MappingProxyType({n: j for n, j in self.model.joints.items() if j.moving and j is not base})

    @property
    def links(self) -> Mapping[str, Link]:
        return MappingProxyType({name: link for name, link in self.model.links.items() if not link.virtual})

    @property
    def frames(self) -> Mapping[str, Frame]:
        """Links and every other named place."""
        return self.model.frames

    def place(self, frame: str) -> tuple[int, Array]:
        """(index of the moving body, pose in it) of a frame."""
        if frame not in self.tree.places:
            raise unknown_name("frame", frame, self.frames)
        return self.tree.places[frame]

    @property
    def limits(self) -> Limits:
        lower, upper = np.full(self.nq, -np.inf), np.full(self.nq, np.inf)
        velocity, effort = np.full(self.nv, np.inf), np.full(self.nv, np.inf)
        for joint in self.joints.values():
            if joint.mimic is None:
                if joint.type.nq == 1:
                    lower[joint.q], upper[joint.q] = joint.limits.lower, joint.limits.upper
                velocity[joint.v], effort[joint.v] = joint.limits.velocity, joint.limits.effort
        return Limits(*map(frozen, (lower, upper, velocity, effort)))

    @property
    def actuated(self) -> Array:
        """Which velocities have motors, (nv,) of bool, read-only; `robot.joints[name].actuated` says it joint by joint.

        From the actuators of an MJCF file, or from the transmissions (or ros2_control joints) of a URDF. A description
        without any gives a motor to each joint with one degree of freedom in the tree of the base. The base, free
        objects and joints that follow others have none.
        """
        return self.model.actuated

    @property
    def selection_matrix(self) -> Array:
        """S, (actuated velocities, nv), read-only: motor torques u are the generalised force Sᵀ u [ETH19, slide 15]."""
        return frozen(np.eye(self.nv)[self.actuated])

    def _repr_html_(self) -> str:
        rows = [
            (
                name,
                joint.type.name,
                f"{joint.limits.lower:.3g} … {joint.limits.upper:.3g}",
                f"{joint.limits.effort:.3g}",
            )
            for name, joint in self.joints.items()
            if joint.mimic is None
        ]
        title = f"{self.name}: {len(self.links)} links, {self.mass:.1f} kg, nq = {self.nq}, nv = {self.nv}"
        return html_table(title, ("joint", "type", "range", "effort"), rows)

    def __repr__(self) -> str:
        base = "floating" if self.floating else "fixed"
        parts = f"{len(self.links)} links, {len(self.joints)} joints, {base} base"
        return f"<Robot {self.name!r}: {parts}, nq={self.nq}, nv={self.nv}>"

    # --- others like it -----------------------------------------------------------------------------------------

    def with_frame(self, name: str, parent: str, X: Array) -> Self:
        """The robot with one more frame, at pose X (4×4) in `parent` (a link or frame)."""
        if parent not in self.frames:
            raise unknown_name("frame", parent, self.frames)
        X = np.asarray(X, dtype=float)
        if X.shape != (4, 4) or not is_pose(X):
            raise ShapeError(
                f"with_frame: X must be a pose: 4×4, a rotation, an origin, last row (0, 0, 0, 1); got\n{X}"
            )
        on = self.frames[parent]
        model = assemble.reassemble(self.model, lambda j: j, extra_frames=[Frame(name, on.parent, on.X @ X)])
        return type(self)(model, tree_of(model), dict(self._kernels))

    def with_locked(self, joints: Mapping[str, float] | Iterable[str]) -> Self:
        """The robot with joints held: names (at their zero), or names with positions."""
        model = changes.locked(self.model, changes.to_lock(self.model, None, joints))
        return type(self)(model, check(model, quiet=True))

    def with_passive(self, joints: Iterable[str]) -> Self:
        """The robot without motors on some joints.

        Args:
            joints: names of the joints that no motor moves; those that had none before have none now either.
        """
        return self._with_motors(passive=joints)

    def with_actuated(self, joints: Iterable[str]) -> Self:
        """The robot with motors on some joints, whatever its description says; those that had one keep it.

        Args:
            joints: names of the joints.
        """
        return self._with_motors(actuated=joints)

    def _with_motors(self, **joints: Iterable[str]) -> Self:
        """Motors enter no equation: the kernels are shared."""
        model = changes.with_motors(self.model, **joints)
        return type(self)(model, tree_of(model), dict(self._kernels))

    def with_limits(
        self,
        joints: Iterable[str] | None = None,
        *,
        lower: float | None = None,
        upper: float | None = None,
        velocity: float | None = None,
        effort: float | None = None,
    ) -> Self:
        """The robot with other limits; those not given stay.

        Args:
            joints: names of the joints; all with one degree of freedom if not given.
            lower, upper: range, rad or m; infinite for none.
            velocity: rad/s or m/s, zero or more.
            effort: N m or N, zero or more.
        """
        model = changes.with_limits(self.model, joints, lower=lower, upper=upper, velocity=velocity, effort=effort)
        return type(self)(model, tree_of(model), dict(self._kernels))

    def with_inertia(self, link: str, mass: float, com: Vector = ORIGIN, inertia: Vector | Array | None = None) -> Self:
        """The robot with other mass properties of one link.

        Args:
            link: its name.
            mass: kg; zero for a link without mass of its own.
            com: centre of mass in the link, (3,), m.
            inertia: about the centre of mass in the axes of the link, 3×3 or the three numbers of its diagonal, kg m².
        """
        model = changes.with_inertia(self.model, link, mass_properties(link, mass, com, inertia))
        return type(self)(model, check(model, quiet=True))

    def with_payload(self, link: str, mass: float, com: Vector = ORIGIN, inertia: Vector | Array = ORIGIN) -> Self:
        """The robot with something rigidly on a link, which keeps its own mass.

        Args:
            link: its name.
            mass: of the payload, kg.
            com: its centre of mass in the link, (3,), m.
            inertia: of the payload about its centre of mass in the axes of the link, 3×3 or three numbers, kg m²; by
                default that of a point mass.
        """
        payload = mass_properties(link, mass, com, inertia)
        model = self.model if payload is None else changes.with_payload(self.model, link, payload)
        return type(self)(model, check(model, quiet=True))

    def with_armature(self) -> Self:
        """The robot with the rotor inertias of its joints in all its equations."""
        model = replace(self.model, armature=True)
        return type(self)(model, tree_of(model))

    # --- configurations -----------------------------------------------------------------------------------------

    def neutral(self) -> Array:
        """All joints at zero, base at the origin."""
        q = np.zeros(self.nq)
        for joint in self.model.joints.values():
            if joint.mimic is None:
                q[joint.q] = joint.type.neutral()
        return q

    def standing(self) -> Array:
        """The standing posture of the description (neutral if it has none), its lowest point on the ground."""
        return standing(self.model, self.neutral())

    def random_state(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> tuple[Array, Array]:
        """Random states: joints anywhere within limits, every orientation alike, and a base that moves.

        Args:
            rng: where the numbers come from.
            size: of the batch; one state if None.

        Returns:
            (q, v): of shape (nq,) and (nv,), or (*size, nq) and (*size, nv). A batch holds what as many
                calls would give.
        """
        if size is not None:
            shape = (size,) if isinstance(size, int | np.integer) else tuple(size)
            states = [self._random_state(rng) for _ in range(int(np.prod(shape, dtype=int)))]
            q, v = (np.array([state[k] for state in states]) for k in (0, 1))
            return q.reshape(*shape, self.nq), v.reshape(*shape, self.nv)
        return self._random_state(rng)

    def _random_state(self, rng: np.random.Generator) -> tuple[Array, Array]:
        q, v = self.neutral(), rng.normal(size=self.nv)
        for joint in self.model.joints.values():
            if joint.mimic is not None or not joint.moving:
                continue
            if joint.type.nq == 1:
                lower, upper = np.clip([joint.limits.lower, joint.limits.upper], -np.pi, np.pi)
                q[joint.q] = rng.uniform(lower, max(lower, upper))
            else:
                q[joint.q] = rng.uniform(-1, 1, joint.type.nq)
        for start in self.tree.quaternions:
            turn = rng.normal(size=4)
            q[start : start + 4] = turn / np.linalg.norm(turn)
        return q, v


def _made_again(kind: type[Described], model: Model) -> Described:
    return kind(model, tree_of(model))
