"""Whether the base of a robot floats where its description leaves that open, as a URDF does.

A robot that can stand, drive or fly floats; an arm, a hand or a torso on a stand is fixed to the world. Only the tree
is looked at, all joints at zero: neither meshes are read nor anything is compiled. `Body` looks closer, at shapes too.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from ..errors import ModelWarning
from . import names
from .changes import with_base
from .checks import can_float
from .described import Described
from .limbs import Limb, alike, limbs_of, trunk_of
from .numbers import require_sound_numbers
from .skeleton import Skeleton
from .tree import tree_of
from .types import Model
from .wheels import UP, spins, wheels_of

HANGS = 0.3  # of the reach: how far the ends of legs are below their hips, at least
ALONG = 0.75  # of the reach; limbs whose ends are this far from their hips along an axis take it for "down"
AWAY = 0.1  # of the reach: how far the rest of such a robot lies on the other side of its hips, at least
LEVEL = 4  # legs from which on they may be stretched out level: those of insects
NEAR = 0.25  # of the reach: legs begin at the lowest part of the trunk, or no more than this above it
LIGHT = 0.5  # of the robot's mass: a single leg is lighter
JOINTS = 2  # of a leg, at least


def with_settled_base(model: Model) -> Model:
    """Returns the model with its base fixed, and says so, if nothing of it can stand, drive or fly."""
    if model.base is None:
        return model
    require_sound_numbers(model)
    tree = tree_of(model)
    if model.base.child == "world":
        why = "its root link is named 'world'"
    elif not can_float(model, tree):
        why = f"its root link {model.base.child!r} has no inertia"
    elif not _moves(Skeleton(Described(model, tree), np.eye(3))):
        why = "it has neither feet nor wheels"
    else:
        return model
    warnings.warn(
        f"{model.name}: {why}, so its base is fixed to the world. floating=True lets it float, floating=False keeps it "
        "fixed without this message",
        ModelWarning,
        stacklevel=7,
    )
    return with_base(model, floating=False)


def _moves(skeleton: Skeleton) -> bool:
    """Whether a robot is a single body, or has wheels, rotors or legs."""
    trunk = trunk_of(skeleton)
    limbs = limbs_of(skeleton, trunk)
    if not limbs or wheels_of(limbs, lambda body, direction: 0.0):
        return True
    classes = alike(limbs)
    if any(len(members) > 1 and all(_is_rotor(limb) for limb in members) for members in classes):
        return True
    return any(_are_legs(skeleton, trunk, limbs, members) for members in classes)


def _is_rotor(limb: Limb) -> bool:
    """Whether a limb is a single body that turns without limits about an upright axis."""
    return len(limb.chain) == 1 and spins(limb.skeleton, limb.end) and bool(abs(limb.axes[0] @ UP) > ALONG)


def _are_legs(skeleton: Skeleton, trunk: Sequence[int], limbs: Sequence[Limb], members: Sequence[Limb]) -> bool:
    """Whether limbs that are alike carry the rest of the robot; a single one may where it is light beside the rest."""
    legs = [limb for limb in members if len(limb.chain) >= JOINTS and not _is_finger(limb)]
    if not legs or (len(legs) == 1 and legs[0].mass > LIGHT * float(skeleton.mass.sum())):
        return False
    drop = np.mean([(leg.tip - leg.shoulder) / max(leg.reach, 1e-9) for leg in legs], axis=0)
    if len(legs) >= LEVEL and np.linalg.norm(drop) < HANGS:
        return True
    if abs(drop[2]) > HANGS:
        heights = {i: float(skeleton.rest.p[i][2]) for i in trunk}
        return bool(drop[2] < 0 and heights[legs[0].attached] <= min(heights.values()) + NEAR * legs[0].reach)
    down = np.sign(drop) * (np.abs(drop) > ALONG)
    rest = [limb.shoulder for limb in limbs if limb not in legs] + [skeleton.rest.p[i] for i in trunk]
    above = np.mean([leg.shoulder for leg in legs], axis=0) - np.mean(rest, axis=0)
    return bool(above @ down > max(AWAY * legs[0].reach, -above[2]))


def _is_finger(limb: Limb) -> bool:
    """Whether names call any of its joints or links a finger."""
    return any(names.is_finger(limb.skeleton.joint(i), limb.skeleton.main_link(i)) for i in limb.chain)
