"""Keeps the legs of a biped from colliding, by constraints between capsules around shins and feet.

The plan keeps the places of the feet apart (`reach`). The constraints cover the rest: the path between two places,
turned feet, and a foot that a push has displaced.
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
SAFE = 0.008  # m; smallest distance between capsules
ANY_DISTANCE = -0.3  # m; a bound that always holds, so that the constraint has no effect
STANDING = 0.02  # m; smallest clearance between capsules in the standing posture
# × ω: slow and fast rate at which approaching feet are decelerated. Lower rates hold back steps that end near the other
# foot, so that the robot falls after pushes that it otherwise survives.
RATES = 18.0, 60.0
QUICKEST = 0.5  # divided by the control period: upper limit of the rates
BARE = 0.5  # × the sole's width: width of a shin without shapes
# × the sole's width: largest width of a shin. Wider shins are wide only at the knee, and a capsule of that width would
# overlap the other leg in turns that the real links survive.
WIDEST = 1.25
# × half the sole's width: how much shorter than the sole the capsule's axis is at each end; corners stick out by 0.02
# of it
ROUNDED = 0.2
ROUNDING = 1e-6  # m; tolerance on heights


def legs_apart(body: Body, feet: Sequence[str], dt: float) -> list[KeepOut]:
    """Returns the constraints between the shins and feet of two legs.

    The pairs are few, so they are part of the controller's kernel; pairs that come and go (`SelfCollision`) cost
    more. The pair of the feet has no effect until its `safe` is set: in double support nothing can move the feet
    apart.

    Args:
        feet: roles of both feet. dt: s, control period.
    """
    *pairs, soles = leg_pairs(body, feet)
    gains = slowing(body, dt)
    return [
        *(KeepOut(a, b, safe=SAFE, gains=gains, name=f"{a.frame} off {b.frame}") for a, b in pairs),
        KeepOut(*soles, safe=ANY_DISTANCE, gains=gains, name=FEET_APART),
    ]


def slowing(body: Body, dt: float) -> Gains:
    """Returns the gains by which approaching limbs are decelerated, at a control period dt (s)."""
    slow, fast = (min(rate * body.gains.rate, QUICKEST / dt) for rate in RATES)
    return Gains.of_rates(slow, fast)


def leg_pairs(body: Body, feet: Sequence[str]) -> list[tuple[Capsule, Capsule]]:
    """Returns the pairs of the shin and foot of one leg with those of the other, which may collide while the thighs are
    side by side. The pair of the feet is the last.

    Steps end with the feet as near to each other as the plan allows, nearer than in the standing posture. If the
    capsules of a pair would then overlap, they are wider than the links; both get a smaller radius, in this pair
    only.
    """
    left, right = ([shin(body, role), foot(body, role)] for role in feet)
    width = abs(float(np.subtract(*(body.robot.pose(body.standing, body.frames[role])[1, 3] for role in feet))))
    closer, pairs = max(width - nearest_of(body, width), STANDING), []
    for a, b in product(left, right):
        lacking = max(SAFE + closer - standing_distance(body, a, b), 0.0)
        pairs.append((narrower(a, lacking / 2), narrower(b, lacking / 2)))
    return pairs


def foot(body: Body, role: str) -> Capsule:
    """Returns the capsule around a sole, as wide and as high as the sole is wide. It is built from the body's
    description, so every robot has one.
    """
    part = body.feet[role]
    (rear, right), (front, left) = np.min(part.corners, axis=0), np.max(part.corners, axis=0)
    radius = (left - right) / 2
    short = min(ROUNDED * radius, (front - rear) / 4)
    heel, toes = ((x, (left + right) / 2, radius) for x in (rear + short, front - short))
    return Capsule(heel, toes, float(radius), body.frames[role])


def shin(body: Body, role: str) -> Capsule:
    """Returns the capsule from the knee to the ankle, as wide as the shapes of the shin are from side to side in the
    standing posture.
    """
    robot, q = body.robot, body.standing
    _, knee, ankle = leg_links(body, role)
    a, b = _joint(body, knee), _joint(body, ankle)
    half = float(np.ptp(np.array(body.feet[role].corners)[:, 1])) / 2
    radius = BARE * half
    if (sides := _sides(body, knee, float(b[2]), float(a[2]))) is not None:
        a[1] = b[1] = sum(sides) / 2
        radius = min((sides[1] - sides[0]) / 2, WIDEST * half)
    # If the capsule is wider than the foot, its round end reaches no farther below the ankle than the foot is wide.
    b += min(max(radius - half, 0.0) / float(np.linalg.norm(a - b)), 0.5) * (a - b)
    X = robot.pose(q, knee)
    a, b = (X[:3, :3].T @ (p - X[:3, 3]) for p in (a, b))
    return Capsule(a, b, radius, knee)


def _joint(body: Body, link: str) -> Array:
    """Returns the position of a link's joint in the standing posture, (3,) m; the origin of the link may be
    elsewhere.
    """
    X = body.robot.pose(body.standing, link) @ inverse(body.robot.place(link)[1])
    return np.array(X[:3, 3])


def _sides(body: Body, link: str, low: float, high: float) -> tuple[float, float] | None:
    """Returns the smallest and largest y (m) of the shapes that move with a link, between two heights if any points are
    there, in the standing posture. None if there are no readable shapes.
    """
    robot, own = body.robot, body.robot.place(link)[0]
    found = []
    for name, piece in robot.links.items():
        if robot.place(name)[0] != own:
            continue
        X = robot.pose(body.standing, name)
        try:
            clouds = [cloud_of(shape) for shape in piece.collisions or piece.visuals]
        except ModelError:  # the file of a mesh is missing
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
    """Returns the distance (m) of two capsules or spheres in the standing posture, by the formula, without a compiled
    kernel.
    """
    placed = []
    for shape in shapes:
        X = body.robot.pose(body.standing, str(shape.frame))
        placed.append(Placed(*(tuple((X[:3, :3] @ p + X[:3, 3]).tolist()) for p in shape.points)))
    thick = sum(shape.radius for shape in shapes)
    return float(distance(*shapes).formula(placed[0], placed[1], thick, NUMBERS))


def narrower(shape: Rounded, less: float) -> Rounded:
    """Returns the shape with its radius reduced by `less`, m."""
    return replace(shape, radius=max(shape.radius - less, 0.0))
