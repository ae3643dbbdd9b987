"""A robot's description as plain data, for records."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import equipoise as eq
from equipoise.model.limbs import Limb, limbs_of, trunk_of
from equipoise.model.skeleton import Skeleton
from equipoise.model.types import Joint, Link, Model, Shape
from equipoise.model.wheels import slides_of


def robot_data(load: Callable[[], eq.Robot], brief: bool = False) -> dict[str, Any]:
    """The robot and what loading it warned of; of a large robot in brief, numbers of all its joints in one array."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = load()
    told = [str(w.message) for w in caught]
    data = brief_data(robot.model) if brief else model_data(robot.model)
    data |= {"warned": told} if told else {}
    data |= {"stands": robot.standing(), "limits": robot.limits, "motors": robot.actuated.astype(float)}
    return data | ({} if brief else tree_data(robot)) | {"limbs": limb_data(robot)}


def model_data(model: Model) -> dict[str, Any]:
    """Every field of the model, but those that stand for nothing."""
    given = {
        "source": None if model.source is None else Path(model.source).name,
        "loops": dict(model.loops), "standing": dict(model.standing), "armature": model.armature,
    }  # fmt: skip
    return {
        "is": [model.name, model.nq, model.nv, *model.gravity],
        "joints": {name: joint_data(joint) for name, joint in model.joints.items()},
        "links": {name: link_data(link) for name, link in model.links.items()},
        "frames": {f.name: [f.parent, *pose(f.X)] for f in model.frames.values() if f.name not in model.links},
        **{key: value for key, value in given.items() if value},
    }


def joint_data(joint: Joint) -> list[Any]:
    """Type and axis, parent and child, places, and what differs from a joint that nothing is said of."""
    known = {
        "limits": [joint.limits.lower, joint.limits.upper, joint.limits.velocity, joint.limits.effort],
        "dynamics": joint.dynamics if any(vars(joint.dynamics).values()) else None,
        "mimic": joint.mimic,
        "actuated": joint.actuated,
        "tail": pose(joint.tail) if not np.array_equal(joint.tail, np.eye(4)) else None,
    }
    where = [joint.parent, joint.child, joint.q.start, joint.q.stop, joint.v.start, joint.v.stop]
    axis = getattr(joint.type, "axis", ())
    return [joint.type.name, list(axis), *where, pose(joint.origin), {k: v for k, v in known.items() if v is not None}]


def link_data(link: Link) -> dict[str, Any]:
    """Mass properties and shapes; collision shapes only where they are not those drawn."""
    inertia = link.inertia
    data = {} if inertia is None else {"inertia": [inertia.mass, *inertia.com, *inertia.matrix[np.triu_indices(3)]]}
    data |= {"virtual": True} if link.virtual else {}
    data |= {"drawn": [shape_data(shape) for shape in link.visuals]}
    same = len(link.visuals) == len(link.collisions) and all(map(lambda a, b: a is b, link.visuals, link.collisions))
    return data if same else data | {"collides": [shape_data(shape) for shape in link.collisions]}


def shape_data(shape: Shape) -> list[Any]:
    """Kind, size, place, mesh file and colour."""
    mesh = None if shape.mesh is None else Path(shape.mesh).name
    return [shape.kind, *shape.size, pose(shape.X), mesh, shape.color]


def pose(X: np.ndarray) -> list[float]:
    """Position, and rotation if there is one."""
    return [*X[:3, 3], *(() if np.array_equal(X[:3, :3], np.eye(3)) else X[:3, :3].ravel())]


def brief_data(model: Model) -> dict[str, Any]:
    """Arrays over all parts of the model, and its names."""
    joints, links = list(model.joints.values()), list(model.links.values())
    solids = [link.inertia for link in links if link.inertia is not None]
    shapes = [s for link in links for s in (*link.visuals, *link.collisions)]
    axes = [getattr(joint.type, "axis", (0.0, 0.0, 0.0)) for joint in joints]
    return {
        "is": [model.name, model.nq, model.nv, len(links), len(joints), len(model.frames), model.mass],
        "types": " ".join(joint.type.name[0] for joint in joints),
        "order": " ".join(joint.name for joint in joints if joint.moving),
        "places": np.array([np.concatenate([j.origin, j.tail]) for j in joints]),
        "axes": np.array(axes),
        "joint limits": np.array([list(vars(j.limits).values()) for j in joints]),
        "dynamics": np.array([list(vars(j.dynamics).values()) for j in joints]),
        "gearing": np.array([j.gearing for j in joints]),
        "masses": np.array([s.mass for s in solids]),
        "centres": np.array([s.com for s in solids]),
        "inertias": np.array([s.matrix for s in solids]),
        "kinds": " ".join(s.kind[:2] for s in shapes),
        "sizes": np.array([x for s in shapes for x in s.size]),
        "shape places": np.array([s.X for s in shapes]),
        "colours": np.array([c for s in shapes for c in s.color or ()]),
        "meshes": " ".join(sorted({Path(s.mesh).name for s in shapes if s.mesh is not None})),
        "standing": dict(model.standing),
    }


def tree_data(robot: eq.Robot) -> dict[str, Any]:
    """What the equations see."""
    tree = robot.tree
    numbers = [[b.parent, b.multiplier, b.offset, b.armature, b.mass, *b.h, *b.I.ravel()] for b in tree.bodies]
    return {
        "tree": [tree.floating, tree.coupled, *tree.quaternions, tree.fixed_mass, *tree.fixed_h],
        "bodies": np.array(numbers),
        "placements": np.array([np.concatenate([b.R.ravel(), b.p]) for b in tree.bodies]),
        "frame places": np.array([[body, *X.ravel()] for body, X in tree.places.values()]),
    }


def limb_data(robot: eq.Robot) -> dict[str, Any]:
    """Trunk, limbs and their lengths."""
    skeleton = Skeleton(robot, None if robot.floating else np.eye(3))
    trunk = trunk_of(skeleton)
    limbs = limbs_of(skeleton, trunk)
    return {
        "trunk": [i if i < 0 else skeleton.joint(i) for i in trunk],
        "slides": slides_of(skeleton),
        "limbs": {f"{skeleton.joint(limb.chain[0])} to {skeleton.joint(limb.end)}": _limb(limb) for limb in limbs},
    }


def _limb(limb: Limb) -> list[Any]:
    where = [*limb.tip, *limb.shoulder, limb.skeleton.main_link(limb.end)]
    return [len(limb.chain), len(limb.beyond), limb.reach, limb.mass, *where]
