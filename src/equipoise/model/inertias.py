"""What the moving bodies of a robot weigh, as one vector, and back into a model."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np

from ..algebra.rigid import skew
from ..errors import ShapeError
from .tree import Tree, tree_of
from .types import Frame, Inertia, Model

Array = np.ndarray
UPPER = np.triu_indices(3)  # xx, xy, xz, yy, yz, zz


def tree_parameters(tree: Tree) -> Array:
    """π of all bodies, (10 n,): mass, first moment, inertia (xx, xy, xz, yy, yz, zz) about the body's origin."""
    return np.concatenate([np.concatenate([[body.mass], body.h, body.I[UPPER]]) for body in tree.bodies])


def inertia_matrix(parameters: Array) -> Array:
    """I about the origin, (3, 3), of the ten parameters of one body."""
    I = np.empty((3, 3))
    I[UPPER] = parameters[4:]
    I.T[UPPER] = parameters[4:]
    return I


def with_parameters(model: Model, parameters: Array) -> Model:
    """The model with other masses: each moving body's go to the link that its joint moves, and those fixed to it have
    none."""
    every = {name: Frame(name, name) for name in model.links}  # links between two joints of one body are no frames
    tree = tree_of(replace(model, frames=MappingProxyType(dict(model.frames) | every)))
    parameters = np.asarray(parameters, dtype=float)
    if parameters.shape != (10 * len(tree.bodies),):
        raise ShapeError(
            f"parameters have shape ({10 * len(tree.bodies)},), ten for each moving body; got {parameters.shape}"
        )
    carried = {link for link in model.links if tree.places[link][0] >= 0}
    links = {name: replace(link, inertia=None) if name in carried else link for name, link in model.links.items()}
    for body, own in zip(tree.bodies, parameters.reshape(-1, 10), strict=True):
        name = model.joints[body.name].child
        if not own.any():
            continue
        links[name] = replace(links[name], inertia=_in_link(own, tree.places[name][1]))
    return replace(model, links=MappingProxyType(links))


def _in_link(parameters: Array, X: Array) -> Inertia:
    """Inertia in the axes of a link at pose X of its body."""
    mass, R = float(parameters[0]), X[:3, :3]
    c = parameters[1:4] / mass
    about_com = inertia_matrix(parameters) + mass * skew(c) @ skew(c)
    return Inertia(mass, R.T @ (c - X[:3, 3]), R.T @ about_com @ R)
