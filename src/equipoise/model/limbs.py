"""Limbs from the tree: a trunk that branches, chains that hang on it, and what is too small to be either.

The trunk is the root and every body that carries two or more long subtrees of like length, with what connects them.
Everything else that moves is a limb of a trunk body. A limb's chain ends where it ends, or where it branches into parts
that are short beside it: fingers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .skeleton import Skeleton

Array = np.ndarray
LONG = 0.4  # a subtree is long beside the path to it from this part on; fingers are shorter
LARGE = 0.15  # of the longest subtree of the robot: what is shorter does not make a trunk
ALIKE = 0.45  # of the longest child: shorter ones are rods and sensors beside it
LIKE = 0.2  # relative difference of masses
SAME = 0.04  # of the limb's reach: difference of lengths between joints
HEAVY = 0.003  # of the robot's mass: what is lighter does not make a trunk


@dataclass(frozen=True, eq=False)
class Limb:
    """A chain of bodies that hangs on a trunk body."""

    skeleton: Skeleton
    attached: int  # trunk body
    chain: tuple[int, ...]  # bodies from the trunk to the end
    beyond: tuple[int, ...]  # bodies that hang on the chain: fingers, rods, eyes

    @property
    def end(self) -> int:
        return self.chain[-1]

    @property
    def joints(self) -> tuple[str, ...]:
        return tuple(self.skeleton.joint(i) for i in self.chain)

    @cached_property
    def shoulder(self) -> Array:
        """(3,) where it begins, all joints at zero, m."""
        return self.skeleton.rest.p[self.chain[0]]

    @cached_property
    def tip(self) -> Array:
        """(3,) the farthest place of its end body from the shoulder, all joints at zero, m."""
        rest, robot = self.skeleton.rest, self.skeleton.robot
        places = [robot.place(name)[1][:3, 3] for name in self.skeleton.links[self.end]] + [self.skeleton.com[self.end]]
        found = [rest.p[self.end] + rest.R[self.end] @ x for x in places]
        return max(found, key=lambda x: float(np.linalg.norm(x - self.shoulder)))

    @cached_property
    def reach(self) -> float:
        """m, along the chain; what is beyond its end does not count."""
        steps = [float(np.linalg.norm(self.skeleton.robot.tree.bodies[i].p)) for i in self.chain[1:]]
        travel = sum(self.skeleton.travel(i) for i in self.chain)
        return sum(steps) + travel + float(np.linalg.norm(self.tip - self.skeleton.rest.p[self.end]))

    @cached_property
    def mass(self) -> float:
        return float(self.skeleton.subtree_mass[self.chain[0]])

    @cached_property
    def axes(self) -> Array:
        """(k, 3) joint axes at zero, world axes; zeros for joints that have none."""
        bodies = self.skeleton.robot.tree.bodies
        rows = []
        for i in self.chain:
            S = bodies[i].joint.spin() if bodies[i].joint.nv == 1 else np.zeros((3, 1))
            rows.append(self.skeleton.rest.R[i] @ S[:, 0])
        return np.array(rows)

    @cached_property
    def lengths(self) -> Array:
        """(k,) distances between joints along the chain, m: the same for a limb and its mirror image."""
        return np.array([np.linalg.norm(self.skeleton.robot.tree.bodies[i].p) for i in self.chain[1:]])


def trunk_of(skeleton: Skeleton) -> tuple[int, ...]:
    """Bodies of the trunk, the root first."""
    longest = float(skeleton.reach.max(initial=0.0))
    total = float(skeleton.mass.sum())
    path = {skeleton.root: 0.0}
    trunk = {skeleton.root}
    for i in skeleton.subtree(skeleton.root)[1:]:
        path[i] = path[skeleton.parent[i]] + float(np.linalg.norm(skeleton.robot.tree.bodies[i].p))
        long = [
            c
            for c in skeleton.children[i]
            if skeleton.reach[c] >= max(LONG * path[i], LARGE * longest)
            and skeleton.subtree_mass[c] >= HEAVY * total
            and len(skeleton.subtree(c)) >= 2
        ]
        most = max((skeleton.reach[c] for c in long), default=0.0)
        if sum(skeleton.reach[c] >= ALIKE * most for c in long) >= 2:
            line = i
            while line not in trunk:
                trunk.add(line)
                line = skeleton.parent[line]
    return tuple(i for i in skeleton.subtree(skeleton.root) if i in trunk)


def limbs_of(skeleton: Skeleton, trunk: tuple[int, ...]) -> list[Limb]:
    """All limbs, in file order."""
    return [_limb(skeleton, t, c) for t in trunk for c in skeleton.children[t] if c not in trunk]


def _limb(skeleton: Skeleton, attached: int, first: int) -> Limb:
    chain, path = [first], 0.0
    while children := skeleton.children[chain[-1]]:
        if len(children) > 1 and max(skeleton.reach[c] for c in children) < LONG * path:
            break
        best = max(children, key=lambda c: skeleton.reach[c] * skeleton.subtree_mass[c] ** 0.5)
        path += float(np.linalg.norm(skeleton.robot.tree.bodies[best].p))
        chain.append(best)
    beyond = tuple(i for i in skeleton.subtree(first) if i not in chain)
    return Limb(skeleton, attached, tuple(chain), beyond)


def limb_to(skeleton: Skeleton, trunk: tuple[int, ...], end: int) -> Limb:
    """The limb that ends in a body; up to the root where the body is a part of the trunk."""
    line = skeleton.robot.tree.ancestors(end)
    chain = [i for i in line if i not in trunk] or [i for i in line if i != skeleton.root] or [end]
    attached = skeleton.parent[chain[-1]] if chain[-1] >= 0 else -1
    beyond = tuple(i for i in skeleton.subtree(chain[-1]) if i not in chain)
    return Limb(skeleton, attached, tuple(reversed(chain)), beyond)


def alike(limbs: Sequence[Limb]) -> list[list[Limb]]:
    """Limbs in classes of equal lengths and masses, the heaviest class first: the legs of a tripod have no mirror
    image."""
    classes: list[list[Limb]] = []
    for limb in limbs:
        for members in classes:
            first = members[0]
            if (
                len(first.chain) == len(limb.chain)
                and np.abs(first.lengths - limb.lengths).max(initial=0.0) <= SAME * first.reach
                and abs(first.mass - limb.mass) <= LIKE * first.mass
            ):
                members.append(limb)
                break
        else:
            classes.append([limb])
    return sorted(classes, key=lambda members: -sum(limb.mass for limb in members))
