"""Robots made strange: other frames, sizes, names, shapes; what a person sees at a glance stays the same."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

import equipoise as eq
from equipoise.algebra.rigid import rotation_about
from equipoise.model.assemble import assemble
from equipoise.model.joints import Floating, Prismatic


def _made(robot, links, joints, name):
    model = robot.model
    made = assemble(name, links, joints, loops=list(model.loops.values()), gravity=model.gravity)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eq.Robot.from_model(made)


def _pose(R):
    X = np.eye(4)
    X[:3, :3] = R
    return X


def scaled(robot, s):
    """All lengths times s, masses times s³, inertias s⁵: the same robot seen from farther away; limits of forces
    follow."""

    def moved(X):
        X = X.copy()
        X[:3, 3] *= s
        return X

    def shape(one):
        return replace(one, X=moved(one.X), size=tuple(s * x for x in one.size))

    links = []
    for link in robot.model.links.values():
        inertia = link.inertia and replace(
            link.inertia, mass=s**3 * link.inertia.mass, com=s * link.inertia.com, matrix=s**5 * link.inertia.matrix
        )
        links.append(
            replace(
                link,
                inertia=inertia,
                visuals=tuple(map(shape, link.visuals)),
                collisions=tuple(map(shape, link.collisions)),
            )
        )
    joints = []
    for joint in robot.model.joints.values():
        length = s if isinstance(joint.type, Prismatic) else 1.0
        limits = replace(
            joint.limits, lower=length * joint.limits.lower, upper=length * joint.limits.upper,
            effort=s**4 / length * joint.limits.effort, velocity=np.inf,
        )  # fmt: skip
        joints.append(replace(joint, origin=moved(joint.origin), tail=moved(joint.tail), limits=limits))
    return _made(robot, links, joints, f"{robot.name} scaled")


def reframed(robot, rng, base):
    """Every link's frame turned at random, that of the base by `base` (3×3): what CAD exporters make."""
    turns = {name: rotation_about(_unit(rng), rng.uniform(-np.pi, np.pi)) for name in robot.model.links}
    turns[robot.base_link] = base

    def shape(one, R):
        return replace(one, X=_pose(R).T @ one.X)

    links = []
    for name, link in robot.model.links.items():
        R = turns[name]
        inertia = link.inertia and replace(
            link.inertia, com=R.T @ link.inertia.com, matrix=R.T @ link.inertia.matrix @ R
        )
        visuals, collisions = (tuple(shape(one, R) for one in shapes) for shapes in (link.visuals, link.collisions))
        links.append(replace(link, inertia=inertia, visuals=visuals, collisions=collisions))
    joints = []
    for joint in robot.model.joints.values():
        if isinstance(joint.type, Floating):  # the base is wherever it is
            joints.append(joint)
            continue
        origin = _pose(turns[joint.parent]).T @ joint.origin
        joints.append(replace(joint, origin=origin, tail=joint.tail @ _pose(turns[joint.child])))
    return _made(robot, links, joints, f"{robot.name} reframed")


def renamed(robot):
    """Every name of links and joints made meaningless, and the map of the links."""
    links = {link: f"part{k}" for k, link in enumerate(robot.model.links)}
    joints = {joint: f"axis{k}" for k, joint in enumerate(robot.model.joints)}
    made = _made(
        robot,
        [replace(link, name=links[name]) for name, link in robot.model.links.items()],
        [
            replace(
                joint, name=joints[name], parent=joint.parent and links[joint.parent], child=links[joint.child],
                mimic=joint.mimic and replace(joint.mimic, leader=joints[joint.mimic.leader]),
            )
            for name, joint in robot.model.joints.items()
        ],
        "nameless",
    )  # fmt: skip
    return made, links


def without_collisions(robot):
    """Nothing but what is drawn."""
    links = [
        replace(link, collisions=(), visuals=link.visuals or link.collisions) for link in robot.model.links.values()
    ]
    return _made(robot, links, list(robot.model.joints.values()), f"{robot.name} drawn")


def turned_knees(robot, knees, by):
    """Limits of the knees moved by an angle: the same legs bend the other way."""

    def change(joint):
        if joint.name not in knees:
            return joint
        low, high = sorted((by - joint.limits.lower, by - joint.limits.upper))
        return replace(joint, limits=replace(joint.limits, lower=low, upper=high))

    return _made(
        robot,
        list(robot.model.links.values()),
        [change(j) for j in robot.model.joints.values()],
        f"{robot.name} turned",
    )


def _unit(rng):
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)
