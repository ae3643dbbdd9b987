"""Legs that never cross: shins and feet of a biped as capsules, and the constraint that keeps those of a swinging leg
off the leg that carries.

The plan keeps the places of feet apart (`reach`); what is between two places, turned feet, and a foot that a push has
sent elsewhere are kept apart here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import TypeVar

import numpy as np

from ..algebra.quaternions import NUMBERS
from ..algebra.rigid import inverse
from ..body.body import Body
from ..control.constraints import KeepOut
from ..control.safety.vfi import Gains
from ..errors import ModelError
from ..geometry.capsules import Round, cloud_of
from ..geometry.distances import distance
from ..geometry.formulas import Placed
from ..geometry.primitives import Capsule
from .legs import leg_links
from .reach import nearest_of

Array = np.ndarray
Rounded = TypeVar("Rounded", bound=Round)
FEET_APART = "feet apart"
SAFE = 0.008  # m, that the capsules keep
ANY_DISTANCE = -0.3  # m: a distance that they always keep
STANDING = 0.02  # m, that capsules at least have to spare where the robot stands
# ω: rates at which a foot that approaches is slowed. Slower ones hold back steps that end near the other foot, and it
# falls after pushes that it else survives.
RATES = 18.0, 60.0
QUICKEST = 0.5  # of one over the step of control: no rate is higher
BARE = 0.5  # of the sole's width: that of a shin without shapes
# of the sole's width, that of a shin at most: wider ones are so at their knees, and round all the way down they would
# be in each other in turns that the links walk well
WIDEST = 1.25
# of half the sole's width: by which its capsule's axis is shorter than the sole at each end; corners stick out by 0.02
ROUNDED = 0.2
ROUNDING = 1e-6  # m


def legs_apart(body: Body, feet: Sequence[str], dt: float) -> list[KeepOut]:
    """The constraints between the shins and feet of two legs.

    They are few, so they are in the controller's kernel: pairs that come and go (`SelfCollision`) cost more. That of
    the two feet is without effect until its `safe` is set: while both carry, nothing can move them apart.

    Args:
        feet: roles of both feet. dt: s, the step of control.
    """
    *pairs, soles = leg_pairs(body, feet)
    gains = slowing(body, dt)
    return [
        *(KeepOut(a, b, safe=SAFE, gains=gains, name=f"{a.frame} off {b.frame}") for a, b in pairs),
        KeepOut(*soles, safe=ANY_DISTANCE, gains=gains, name=FEET_APART),
    ]


def slowing(body: Body, dt: float) -> Gains:
    """How limbs that approach each other are slowed, at a step of control of dt (s)."""
    slow, fast = (min(rate * body.gains.rate, QUICKEST / dt) for rate in RATES)
    return Gains.of_rates(slow, fast)


def leg_pairs(body: Body, feet: Sequence[str]) -> list[tuple[Capsule, Capsule]]:
    """Each of shin and foot of the one leg with each of the other: what can meet while the thighs are side by side. The
    two feet are the last.

    Steps end with feet as near as the plan may set them, nearer than they stand. Pairs that would then be in each other
    are wider than what they stand for; both of such a pair are taken as narrower, in this pair only.
    """
    left, right = ([shin(body, role), foot(body, role)] for role in feet)
    width = abs(float(np.subtract(*(body.robot.pose(body.standing, body.frames[role])[1, 3] for role in feet))))
    closer, pairs = max(width - nearest_of(body, width), STANDING), []
    for a, b in product(left, right):
        lacking = max(SAFE + closer - standing_distance(body, a, b), 0.0)
        pairs.append((narrower(a, lacking / 2), narrower(b, lacking / 2)))
    return pairs


def foot(body: Body, role: str) -> Capsule:
    """Around a sole, as wide as it is and as high: from the body's description, so that every robot has one."""
    part = body.feet[role]
    (rear, right), (front, left) = np.min(part.corners, axis=0), np.max(part.corners, axis=0)
    radius = (left - right) / 2
    short = min(ROUNDED * radius, (front - rear) / 4)
    heel, toes = ((x, (left + right) / 2, radius) for x in (rear + short, front - short))
    return Capsule(heel, toes, float(radius), body.frames[role])


def shin(body: Body, role: str) -> Capsule:
    """From the knee to the ankle, as wide as its shapes are from side to side where the robot stands."""
    robot, q = body.robot, body.standing
    _, knee, ankle = leg_links(body, role)
    a, b = _joint(body, knee), _joint(body, ankle)
    half = float(np.ptp(np.array(body.feet[role].corners)[:, 1])) / 2
    radius = BARE * half
    if (sides := _sides(body, knee, float(b[2]), float(a[2]))) is not None:
        a[1] = b[1] = sum(sides) / 2
        radius = min((sides[1] - sides[0]) / 2, WIDEST * half)
    # where it is wider than the foot its round end reaches no farther below the ankle than the foot is wide
    b += min(max(radius - half, 0.0) / float(np.linalg.norm(a - b)), 0.5) * (a - b)
    X = robot.pose(q, knee)
    a, b = (X[:3, :3].T @ (p - X[:3, 3]) for p in (a, b))
    return Capsule(a, b, radius, knee)


def _joint(body: Body, link: str) -> Array:
    """(3,) m: where the joint of a link is while the robot stands; a link's own origin may be elsewhere on it."""
    X = body.robot.pose(body.standing, link) @ inverse(body.robot.place(link)[1])
    return np.array(X[:3, 3])


def _sides(body: Body, link: str, low: float, high: float) -> tuple[float, float] | None:
    """m: least and largest y of the shapes that move with a link, between two heights where they have points there,
    while the robot stands; None where there are no shapes, or none that can be read."""
    robot, own = body.robot, body.robot.place(link)[0]
    found = []
    for name, piece in robot.links.items():
        if robot.place(name)[0] != own:
            continue
        X = robot.pose(body.standing, name)
        try:
            clouds = [cloud_of(shape) for shape in piece.collisions or piece.visuals]
        except ModelError:  # a mesh that is missing
            continue
        for cloud in [cloud.at(X) for cloud in clouds if cloud is not None]:
            found.append(np.column_stack([cloud.points[:, 1:], cloud.radii]))
    if not found:
        return None
    y, z, radii = np.concatenate(found).T
    between = (z > low - ROUNDING) & (z < high + ROUNDING)
    if not between.any():
        between[:] = True
    return float((y - radii)[between].min()), float((y + radii)[between].max())


def standing_distance(body: Body, *shapes: Round) -> float:
    """m, of two capsules or spheres while the robot stands, by the formula alone: nothing to compile."""
    placed = []
    for shape in shapes:
        X = body.robot.pose(body.standing, str(shape.frame))
        placed.append(Placed(*(tuple((X[:3, :3] @ p + X[:3, 3]).tolist()) for p in shape.points)))
    thick = sum(shape.radius for shape in shapes)
    return float(distance(*shapes).formula(placed[0], placed[1], thick, NUMBERS))


def narrower(shape: Rounded, less: float) -> Rounded:
    """The same shape with a radius that is less by some m."""
    return replace(shape, radius=max(shape.radius - less, 0.0))
