"""Keeps arms off thighs and trunk by constraints between capsules.

Arms swing to compensate the yaw moment of the legs, and no other constraint would stop them at the body.
"""

from __future__ import annotations

from functools import cache, partial
from itertools import product

import numpy as np

from ..algebra.rigid import inverse
from ..body.body import Body
from ..body.parts import Part
from ..control.constraints import KeepOut
from ..errors import ModelError
from ..geometry.capsules import Round, cloud_of, smallest_capsule
from .legs import leg_links
from .legs_apart import SAFE, STANDING, narrower, slowing, standing_distance

FAR = 0.15  # m; links that are farther apart in the standing posture are not watched


def arms_apart(body: Body, dt: float) -> list[KeepOut]:
    """Returns the constraints between arms and thighs and between arms and trunk; none if the description has no
    shapes.

    Args:
        dt: s, period of the control loop.
    """
    gains = slowing(body, dt)
    return [KeepOut(a, b, safe=SAFE, gains=gains, name=f"{a.frame} off {b.frame}") for a, b in arm_pairs(body)]


def arm_pairs(body: Body) -> list[tuple[Round, Round]]:
    """Returns the pairs of links to watch: from the elbow on with the thigh on the same side, and around the elbow with
    the trunk.

    Thighs that are too near in the standing posture get smaller radii. Capsules around a trunk are often wider than
    the trunk, so such a pair would not be informative.
    """
    found, around = list[tuple[Round, Round]](), cache(partial(_around, body))
    for role, hand in body.hands.items():
        arm = [(index, shape) for index in _bodies(body, hand.joints) if (shape := around(index)) is not None]
        elbow = _elbow(body, hand)
        lower, upper = ([shape for index, shape in arm if (index >= elbow) is below] for below in (True, False))
        thighs, trunk = ([around(k) for k in parts] for parts in (_thighs(body, role), _trunk(body, hand)))
        found += [near for pair in product(lower, thighs) if (near := _near(body, *pair, narrow=True))]
        found += [near for pair in product([*upper[-1:], *lower[:1]], trunk) if (near := _near(body, *pair))]
    return found


def _near(body: Body, a: Round, b: Round | None, narrow: bool = False) -> tuple[Round, Round] | None:
    """Returns the pair if it is worth watching: neither too far apart nor too near in the standing posture. Where
    `narrow`, a pair that is too near gets smaller radii.
    """
    if b is None or (apart := standing_distance(body, a, b)) > FAR:
        return None
    less = max(SAFE + STANDING - apart, 0.0) / 2
    if less == 0.0:
        return a, b
    return (narrower(a, less), narrower(b, less)) if narrow and less < min(a.radius, b.radius) else None


def _bodies(body: Body, joints: tuple[str, ...]) -> list[int]:
    """Returns the moving bodies of a chain of joints, starting at the trunk."""
    index = {moving.name: k for k, moving in enumerate(body.robot.tree.bodies)}
    return [index[name] for name in joints if name in index]


def _thighs(body: Body, role: str) -> list[int]:
    """Returns the moving bodies above the knee of the leg on the same side as a hand."""
    side = body.robot.pose(body.standing, body.frames[role])[1, 3]
    ends = {foot: body.robot.pose(body.standing, body.frames[foot])[1, 3] for foot in body.feet}
    foot = min(ends, key=lambda name: abs(ends[name] - side))
    knee = body.robot.place(leg_links(body, foot)[1])[0]
    return [index for index in _bodies(body, body.feet[foot].joints) if index < knee]


def _trunk(body: Body, hand: Part) -> list[int]:
    """Returns the moving bodies that carry an arm, down to the base."""
    found, index = list[int](), min(_bodies(body, hand.joints), default=0)
    while (index := body.robot.tree.bodies[index].parent) >= 0:
        found.append(index)
    return found


def _elbow(body: Body, hand: Part) -> int:
    """Returns the moving body of an arm's elbow: the joint nearest to the midpoint between shoulder and hand."""
    bodies, robot = _bodies(body, hand.joints), body.robot
    if not bodies:
        return 0
    pieces = [np.linalg.norm(robot.tree.bodies[index].p) for index in bodies[1:]]
    ways = np.cumsum([0.0, *pieces, np.linalg.norm((robot.place(hand.link)[1] @ hand.X)[:3, 3])])
    return bodies[int(np.argmin(np.abs(ways[:-1] - ways[-1] / 2)))]


def _around(body: Body, index: int) -> Round | None:
    """Returns the capsule around the shapes of a moving body, or None if it has no readable shape."""
    robot = body.robot
    clouds, frame = [], None
    for name, link in robot.links.items():
        own, X = robot.place(name)
        if own != index:
            continue
        frame = name if frame is None else frame
        try:
            made = [cloud_of(shape) for shape in link.collisions]
        except ModelError:  # the file of a mesh is missing
            continue
        to = inverse(robot.place(frame)[1]) @ X
        clouds += [cloud.at(to) for cloud in made if cloud is not None]
    if not clouds:
        return None
    points, radii = (np.concatenate(parts) for parts in zip(*((c.points, c.radii) for c in clouds), strict=True))
    return smallest_capsule(points, radii, frame)
