"""Motions that excite a robot, and robots that are described wrongly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import equipoise as eq
from equipoise.estimation import pseudo_inertia
from equipoise.model.inertias import with_parameters
from equipoise.model.tree import tree_of


def excited(robot: eq.Robot, rng: np.random.Generator, rows: int):
    """(q, v, a): every joint by five sines within its limits, and a base that tumbles."""
    t = np.linspace(0, 20, rows)
    q, v, a = np.tile(robot.neutral(), (rows, 1)), np.zeros((rows, robot.nv)), np.zeros((rows, robot.nv))
    for joint in robot.joints.values():
        lower, upper = np.clip([joint.limits.lower, joint.limits.upper], -2.5, 2.5)
        size, w = 0.45 * (upper - lower) * rng.dirichlet(np.ones(5)), 2 * np.pi * rng.uniform(0.1, 1.0, 5)
        angles = np.outer(t, w) + rng.uniform(0, 2 * np.pi, 5)
        q[:, joint.q] = ((lower + upper) / 2 + np.sin(angles) @ size)[:, None]
        v[:, joint.v] = (np.cos(angles) @ (size * w))[:, None]
        a[:, joint.v] = -(np.sin(angles) @ (size * w * w))[:, None]
    if robot.floating:
        v[:, :6], a[:, :6] = rng.normal(size=(rows, 6)), 2 * rng.normal(size=(rows, 6))
        turns = rng.normal(size=(rows, 4))
        q[:, 3:7] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    return q, v, a


def misdescribed(robot: eq.Robot, rng: np.random.Generator) -> eq.Robot:
    """Masses wrong by up to 20 %, sizes by 15 %, centres of mass by a centimetre."""
    bodies = robot.inertial_parameters.reshape(-1, 10).copy()
    for k, own in enumerate(bodies):
        if own[0] > 0:
            theta = pseudo_inertia.coordinates(own)
            theta[0] += np.log(1 + rng.uniform(-0.2, 0.2)) / 2
            theta[1:4] += 0.15 * rng.normal(size=3)
            theta[7:] += 0.01 * rng.normal(size=3)
            bodies[k] = pseudo_inertia.body(theta)[0]
    return weighing(robot, bodies.ravel())


def weighing(robot: eq.Robot, parameters: np.ndarray) -> eq.Robot:
    model = with_parameters(robot.model, parameters)
    return eq.Robot(replace(model), tree_of(model))
