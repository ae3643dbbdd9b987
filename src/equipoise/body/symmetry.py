"""Left and right by mirror symmetry of kinematics and masses.

A pair of limbs is mirrored in a plane if the joints of one, mirrored, are where those of the other are, their axes
along the same lines and the masses alike, all joints at zero. Where the zero posture is not symmetric, equal lengths
and masses on mirrored shoulders are taken instead, with less confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..model.limbs import LIKE, SAME, Limb

Array = np.ndarray
NEAR = 0.06  # of the limb's reach: as far as mirrored joints may be apart
LINE = 0.9  # cosine between mirrored axes
APART = 0.02  # of the limb's reach: two limbs on one side of the plane are no pair
MIDDLE = 0.08  # of the limb's reach: a limb this near the plane is a middle one
FAINT = 0.4  # what a pair by lengths alone counts
KNEES = 0.1  # what axes along the normal and near pairs count, beside the masses of pairs


@dataclass(frozen=True, eq=False)
class Pair:
    """Two limbs that mirror each other; which is left is not known yet."""

    one: Limb
    other: Limb
    score: float  # 1: exactly

    @property
    def limbs(self) -> tuple[Limb, Limb]:
        return self.one, self.other


@dataclass(frozen=True, eq=False)
class Symmetry:
    """The best mirror plane: upright, with a horizontal normal."""

    normal: Array  # (3,)
    pairs: tuple[Pair, ...]
    middle: tuple[Limb, ...]  # limbs without a partner
    score: float  # part of the limbs' mass that is symmetric


def symmetry_of(limbs: Sequence[Limb]) -> Symmetry:
    """The upright plane in which most of the limbs' mass is mirrored; of two alike, the one across the knees' axes and
    between near pairs."""
    found = [_mirrored(limbs, normal) for normal in _normals(limbs)]
    return max(found, key=lambda s: s.score + KNEES * (_across_knees(s, limbs) + 2 * _close(s, limbs)))


def _normals(limbs: Sequence[Limb]) -> list[Array]:
    """y, x, and the directions between shoulders of like limbs; first come those that descriptions use."""
    normals = [np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])]
    for one, other in combinations(limbs, 2):
        if len(one.chain) == len(other.chain) and len(one.chain) > 1:
            between = one.shoulder - other.shoulder
            between = between * (1, 1, 0)
            length = np.linalg.norm(between)
            if length > APART * one.reach:
                between = between / length
                if all(abs(between @ n) < np.cos(np.radians(3)) for n in normals):
                    normals.append(between)
    return normals


def _mirrored(limbs: Sequence[Limb], normal: Array) -> Symmetry:
    graded = [(_score(a, b, normal), a, b) for a, b in combinations(limbs, 2)]
    pairs: list[Pair] = []
    taken: set[int] = set()
    for score, a, b in sorted(graded, key=lambda row: -row[0]):
        if score > 0 and id(a) not in taken and id(b) not in taken:
            pairs.append(Pair(a, b, score))
            taken |= {id(a), id(b)}
    middle = tuple(limb for limb in limbs if id(limb) not in taken)
    total = sum(limb.mass for limb in limbs) or 1.0
    level = (
        float(np.mean([(_joints(p.one) + _joints(p.other)).mean(axis=0) @ normal / 2 for p in pairs])) if pairs else 0.0
    )
    symmetric = sum(pair.score * (pair.one.mass + pair.other.mass) for pair in pairs)
    symmetric += (
        sum(limb.mass for limb in middle if np.abs(_joints(limb) @ normal - level).max() < MIDDLE * limb.reach) / 2
    )
    ordered = sorted(pairs, key=lambda p: min(limbs.index(p.one), limbs.index(p.other)))
    return Symmetry(normal, tuple(ordered), middle, symmetric / total)


def _score(a: Limb, b: Limb, normal: Array) -> float:
    """1 for exact mirror images, 0 for no pair."""
    reach = max(a.reach, b.reach)
    if len(a.chain) != len(b.chain) or a.attached != b.attached or reach <= 0:
        return 0.0
    apart = (_joints(a) - _joints(b)) @ normal
    if np.abs(apart).max() < APART * reach or np.abs(a.lengths - b.lengths).max(initial=0.0) > SAME * reach:
        return 0.0
    mass = abs(a.mass - b.mass) / max(a.mass, b.mass, 1e-12)
    if mass > LIKE:
        return 0.0
    level = (_joints(a) + _joints(b)) @ normal / 2
    image = _joints(a) - 2 * np.outer(_joints(a) @ normal - level.mean(), normal)
    off = np.linalg.norm(image - _joints(b), axis=1) / reach
    axes = a.axes - 2 * np.outer(a.axes @ normal, normal)
    turned = np.abs(np.einsum("ij,ij->i", axes, b.axes))
    turning = np.linalg.norm(a.axes, axis=1) * np.linalg.norm(b.axes, axis=1) > 0
    if off.max() < NEAR and (turned[turning] > LINE).all():
        return float(1.0 - mass / 2 - off.max())
    between = a.shoulder - b.shoulder
    aside = float(np.linalg.norm(between - normal * (normal @ between)))
    return FAINT * (1.0 - mass) if aside < NEAR * reach else 0.0


def _joints(limb: Limb) -> Array:
    return limb.skeleton.rest.p[list(limb.chain)]


def _across_knees(symmetry: Symmetry, limbs: Sequence[Limb]) -> float:
    """Part of the joint axes of the limbs along the normal: knees turn about it."""
    paired = [limb for pair in symmetry.pairs for limb in pair.limbs]
    axes = np.concatenate([np.zeros((0, 3)), *(limb.axes for limb in paired or limbs)])
    return float(np.mean(np.abs(axes @ symmetry.normal) > LINE)) if len(axes) else 0.0


def _close(symmetry: Symmetry, limbs: Sequence[Limb]) -> float:
    """1 where pairs are near each other beside the farthest shoulders: robots are longer than wide."""
    spans = [float(np.linalg.norm(a.shoulder - b.shoulder)) for a, b in combinations(limbs, 2)]
    own = [float(np.linalg.norm(pair.one.shoulder - pair.other.shoulder)) for pair in symmetry.pairs]
    return 1.0 - float(np.mean(own)) / max(spans) if own and max(spans) > 0 else 0.0
