"""Random robots: hypothesis chooses the structure, so that failures shrink to small trees; a seed gives the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from hypothesis import strategies as st

import equipoise as eq
from equipoise.model.joints import Ball, Floating, Planar, Prismatic, Revolute
from equipoise.model.tree import _parents_first
from equipoise.model.types import Joint, Link, Mimic

KINDS = ("revolute", "continuous", "prismatic", "ball", "planar", "floating", "fixed")
AXES = ((0, 0, 1), (0, -1, 0), (1, 0, 0), (1, 2, -2), (0.3, 0, -0.7))


@dataclass(frozen=True)
class Part:
    """One link and the joint that carries it. `follows` counts back through the earlier joints that can lead."""

    parent: int
    kind: str
    axis: tuple[float, float, float]
    follows: int | None
    placed: bool  # at an oblique placement, or at none


@dataclass(frozen=True)
class Plan:
    """All there is to know of a random robot: what a failing test prints."""

    parts: tuple[Part, ...]
    floating: bool
    seed: int

    def robot(self) -> eq.Robot:
        return built(self.parts, floating=self.floating, seed=self.seed)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """A robot of one to seven links beside its root."""
    count = draw(st.integers(1, 7))
    parts = tuple(
        Part(
            draw(st.integers(0, k)),
            draw(st.sampled_from(KINDS)),
            draw(st.sampled_from(AXES)),
            draw(st.none() | st.integers(0, 3)),
            draw(st.booleans()),
        )
        for k in range(count)
    )
    return Plan(parts, draw(st.booleans()), draw(st.integers(0, 1000)))


def built(parts: Sequence[Part], *, floating: bool, seed: int) -> eq.Robot:
    """The robot of these parts; one that could not move at all gets a hinge."""
    rng = np.random.default_rng(seed)
    b = eq.RobotBuilder("tree", floating=floating)
    leaders: list[str] = []
    b.link("link0", **_mass(rng))
    if not floating and all(part.kind == "fixed" for part in parts):
        parts = [*parts, Part(0, "revolute", (0, 0, 1), None, True)]
    for k, part in enumerate(parts, start=1):
        b.link(f"link{k}", **_mass(rng))
        single = part.kind in ("revolute", "continuous", "prismatic")
        mimic = None
        if single and part.follows is not None and part.follows < len(leaders):
            mimic = Mimic(leaders[-1 - part.follows], *np.round(rng.uniform(-2, 2, 2), 3))
        place = _placement(rng, "") | _placement(rng, "child_") if part.placed else {}
        b.joint(f"joint{k}", part.kind, f"link{part.parent}", f"link{k}", axis=part.axis, mimic=mimic, **place)
        if single and mimic is None:
            leaders.append(f"joint{k}")
    return b.build()


def _placement(rng: np.random.Generator, prefix: str) -> dict[str, tuple[float, ...]]:
    return {f"{prefix}position": tuple(rng.uniform(-0.5, 0.5, 3)), f"{prefix}rpy": tuple(rng.uniform(-3, 3, 3))}


def _mass(rng: np.random.Generator) -> dict:
    """A physical inertia in turned axes: that of a cloud of points."""
    points = rng.normal(size=(8, 3)) * rng.uniform(0.1, 0.4, 3)
    points -= points.mean(axis=0)
    mass = rng.uniform(0.5, 3.0)
    S = mass * points.T @ points / len(points)
    return dict(mass=mass, com=tuple(rng.uniform(-0.3, 0.3, 3)), inertia=np.trace(S) * np.eye(3) - S)


# --- the same tree in Pinocchio --------------------------------------------------------------------------------------


def pinocchio_model(robot: eq.Robot) -> pin.Model:
    """Built joint by joint; followers are joints of their own."""
    model = pin.Model()
    place: dict[str | None, tuple[int, pin.SE3]] = {None: (0, pin.SE3.Identity())}
    for joint in _parents_first(robot.model):
        number, X_parent = place[joint.parent]
        X_child = pin.SE3(joint.tail)
        if joint.moving:
            number = model.addJoint(number, _pinocchio_joint(joint), X_parent * pin.SE3(joint.origin), joint.name)
        else:
            X_child = X_parent * pin.SE3(joint.origin) * X_child
        place[joint.child] = number, X_child
        _append(model, number, X_child, robot.model.links[joint.child])
    return model


def _append(model: pin.Model, joint: int, X: pin.SE3, link: Link) -> None:
    assert link.inertia is not None
    model.appendBodyToJoint(joint, pin.Inertia(link.inertia.mass, link.inertia.com, link.inertia.matrix), X)
    model.addFrame(pin.Frame(link.name, joint, 0, X, pin.FrameType.BODY))


def _pinocchio_joint(joint: Joint) -> object:
    """A continuous joint is taken as revolute: Pinocchio's own, about any axis, cannot be made from Python."""
    if isinstance(joint.type, Prismatic):
        return pin.JointModelPrismaticUnaligned(np.array(joint.type.axis))
    if isinstance(joint.type, Revolute):
        return pin.JointModelRevoluteUnaligned(np.array(joint.type.axis))
    others = {Ball: pin.JointModelSpherical, Planar: pin.JointModelPlanar, Floating: pin.JointModelFreeFlyer}
    return others[type(joint.type)]()
