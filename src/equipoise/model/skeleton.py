"""A robot's moving bodies as plain numbers: where they are and how they move, without compiled code.

Who is who on a robot is asked once for each robot, at postures of its own. A few hundred evaluations on arrays take
less time than the kernels of an unknown robot take to compile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..algebra.quaternions import NUMBERS, from_rotation, rotation
from ..algebra.rigid import smallest_rotation_up
from .described import Described

Array = np.ndarray
LEANING = 0.8  # cosine: an axis of the base this near to up in the description's posture is up


def elastic_joints(robot: Described) -> list[str]:
    """Joints that a spring holds and no motor moves."""
    joints = [j for j in robot.joints.values() if j.type.nq == 1 and j.mimic is None and not j.actuated]
    return [joint.name for joint in joints if joint.dynamics.stiffness > 0]


@dataclass(frozen=True, eq=False)
class BodyPoses:
    """All bodies at one configuration. The last row is the world, so that index −1, the parent of roots, finds it."""

    R: Array  # (n + 1, 3, 3)
    p: Array  # (n + 1, 3)
    spin: Array  # (k, 3) angular velocity per unit rate of each column, world axes
    slide: Array  # (k, 3) velocity of the moved joint frame's origin
    origin: Array  # (k, 3) that origin


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Bodies of a robot, with the links on each. Body −1 is the world, the root of a robot with a fixed base.

    Args:
        turn: (3, 3) from the base's axes to the world's in which the robot is upright; the description's own if not
            given.
    """

    robot: Described
    turn: Array | None = None

    # --- the tree -----------------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        return len(self.robot.tree.bodies)

    @cached_property
    def root(self) -> int:
        """The floating base, or the world."""
        return 0 if self.robot.floating else -1

    @cached_property
    def parent(self) -> tuple[int, ...]:
        return tuple(body.parent for body in self.robot.tree.bodies)

    @cached_property
    def children(self) -> Mapping[int, tuple[int, ...]]:
        below: dict[int, list[int]] = {i: [] for i in range(-1, self.count)}
        for i, above in enumerate(self.parent):
            below[above].append(i)
        return {i: tuple(line) for i, line in below.items()}

    @cached_property
    def links(self) -> Mapping[int, tuple[str, ...]]:
        """Links on each body, in file order."""
        found: dict[int, list[str]] = {i: [] for i in range(-1, self.count)}
        for name in self.robot.links:
            found[self.robot.place(name)[0]].append(name)
        return {i: tuple(names) for i, names in found.items()}

    def joint(self, body: int) -> str:
        """Name of the joint that moves a body."""
        return self.robot.tree.bodies[body].name

    def main_link(self, body: int) -> str:
        """The heaviest link of a body; its first where none has mass. Of a body without links, as between the joints of
        one link, or of a world without, that of what it carries."""
        links = self.robot.links
        if not self.links[body] and self.children[body]:
            return self.main_link(self.children[body][0])

        def mass(name: str) -> float:
            inertia = links[name].inertia
            return 0.0 if inertia is None else inertia.mass

        names = self.links[body]
        return max(names, key=mass) if names else self.robot.model.joints[self.joint(body)].child

    def subtree(self, body: int) -> list[int]:
        """A body and all that hang on it, parents first."""
        found = [body]
        for i in found:
            found.extend(self.children[i])
        return found

    @cached_property
    def mass(self) -> Array:
        """(n,) kg."""
        return np.array([body.mass for body in self.robot.tree.bodies])

    @cached_property
    def com(self) -> Array:
        """(n, 3) centres of mass in their bodies; the joint's origin for a body without mass."""
        return np.array(
            [body.h / body.mass if body.mass > 0 else np.zeros(3) for body in self.robot.tree.bodies]
        ).reshape(-1, 3)

    @cached_property
    def subtree_mass(self) -> Array:
        total = self.mass.copy()
        for i in reversed(range(self.count)):
            if self.parent[i] >= 0:
                total[self.parent[i]] += total[i]
        return total

    # --- motion -------------------------------------------------------------------------------------------------------

    @cached_property
    def columns(self) -> list[tuple[int, int]]:
        """(body, index in v) of every column of joint motion; followers of a mimic joint have columns of their own."""
        return [(i, k) for i, body in enumerate(self.robot.tree.bodies) for k in range(body.v.start, body.v.stop)]

    @cached_property
    def _moves(self) -> Array:
        """(n + 1, k): whether a column moves a body."""
        moves = np.zeros((self.count + 1, len(self.columns)))
        for i in range(self.count):
            line = set(self.robot.tree.ancestors(i))
            moves[i] = [owner in line for owner, _ in self.columns]
        return moves

    @cached_property
    def _to_v(self) -> Array:
        """(k, nv): column rates from v."""
        to = np.zeros((len(self.columns), self.robot.nv))
        for row, (i, k) in enumerate(self.columns):
            to[row, k] = self.robot.tree.bodies[i].multiplier
        return to

    def at(self, q: Array) -> BodyPoses:
        """All bodies at configuration q."""
        n = self.count
        R, p = np.zeros((n + 1, 3, 3)), np.zeros((n + 1, 3))
        R[n] = np.eye(3)
        spin, slide, origin = [], [], []
        for i, body in enumerate(self.robot.tree.bodies):
            s = q[body.q]
            if body.scaled:
                s = body.multiplier * s + body.offset
            turn, shift = body.joint.pose(s, NUMBERS)
            P = R[body.parent] @ body.R
            R[i] = P @ turn
            p[i] = p[body.parent] + R[body.parent] @ body.p + P @ shift
            spin.append(((P if body.joint.spin_axes == "parent" else R[i]) @ body.joint.spin()).T)
            slide.append((P @ body.joint.slide()).T)
            origin.append(np.tile(p[i], (body.joint.nv, 1)))
        none = np.zeros((0, 3))
        return BodyPoses(
            R, p, np.concatenate([none, *spin]), np.concatenate([none, *slide]), np.concatenate([none, *origin])
        )

    def points(self, motion: BodyPoses, bodies: Sequence[int] | Array, places: Array) -> tuple[Array, Array]:
        """(m, 3) points given in their bodies, and their Jacobians (m, 3, nv)."""
        x = motion.p[bodies] + np.einsum("mij,mj->mi", motion.R[bodies], places)
        arms = x[:, None, :] - motion.origin
        J = (motion.slide + np.cross(motion.spin, arms)) * self._moves[bodies][:, :, None]
        return x, np.einsum("mki,kv->miv", J, self._to_v)

    def turning(self, motion: BodyPoses, body: int) -> Array:
        """(3, nv): angular velocity of a body, world axes."""
        return (motion.spin * self._moves[body][:, None]).T @ self._to_v

    def centre_of_mass(self, motion: BodyPoses) -> tuple[Array, Array]:
        """(3,) and its Jacobian (3, nv)."""
        x, J = self.points(motion, np.arange(self.count), self.com)
        share = self.mass / self.mass.sum()
        return share @ x, np.einsum("m,miv->iv", share, J)

    def integrate(self, q: Array, step: Array) -> Array:
        """q moved by a step in v."""
        q = q.copy()
        for body in self.robot.tree.bodies:
            if self.robot.model.joints[body.name].mimic is None:
                q[body.q] = np.array(body.joint.integrate(q[body.q], step[body.v], NUMBERS), dtype=float)
        return q

    # --- the description's own posture --------------------------------------------------------------------------------

    @cached_property
    def upright(self) -> Array:
        """(3, 3) from the base's axes to the world's."""
        if self.turn is not None:
            return self.turn
        if not self.robot.floating:
            return np.eye(3)
        R = rotation(self.robot.standing()[3:7].tolist())
        axis = int(np.argmax(np.abs(R[2])))
        along = float(np.sign(R[2, axis])) * R[:, axis]
        # A keyframe may lean, in a squat for instance: the axis of the base that is nearly up is up.
        return smallest_rotation_up(along) @ R if along[2] > LEANING else R

    @cached_property
    def zero(self) -> Array:
        """All joints at zero, the base upright at the origin."""
        q = self.robot.neutral()
        if self.robot.floating:
            q[3:7] = from_rotation(self.upright)
        return q

    @cached_property
    def rest(self) -> BodyPoses:
        """Where everything is with all joints at zero; a fixed base is turned upright too."""
        motion = self.at(self.zero)
        if self.robot.floating or self.turn is None:
            return motion
        return BodyPoses(
            self.turn @ motion.R, *(x @ self.turn.T for x in (motion.p, motion.spin, motion.slide, motion.origin))
        )

    @property
    def reach(self) -> Array:
        """(n,) from each joint to the farthest place beyond it, along the bodies, m."""
        return self._reach_and_travel[0]

    def travel(self, body: int) -> float:
        """m, of a sliding joint; 0 where it goes farther than what it carries reaches: rails under a robot are no
        limb."""
        return float(self._reach_and_travel[1][body])

    @cached_property
    def _reach_and_travel(self) -> tuple[Array, Array]:
        far, travel = np.zeros(self.count), np.zeros(self.count)
        for i in reversed(range(self.count)):
            own = [float(np.linalg.norm(self.com[i]))]
            own += [float(np.linalg.norm(self.robot.place(name)[1][:3, 3])) for name in self.links[i]]
            own += [float(np.linalg.norm(self.robot.tree.bodies[c].p)) + far[c] for c in self.children[i]]
            joint = self.robot.model.joints[self.joint(i)]
            span = max(abs(joint.limits.lower), abs(joint.limits.upper)) if joint.type.name == "prismatic" else 0.0
            travel[i] = span if span <= max(own) else 0.0
            far[i] = max(own) + travel[i]
        return far, travel
