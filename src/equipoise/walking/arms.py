"""Holds the arms out in front, which moves the centre of mass forward."""

from __future__ import annotations

import numpy as np

from ..body.body import Body

Array = np.ndarray
TURNS = np.linspace(-2.0, 2.0, 41)  # rad; offsets of an arm joint that are tried


def arms_ahead(body: Body) -> Array:
    """Returns the standing posture, (nq,), with one joint of each arm turned so that the centre of mass is farthest
    forward.
    """
    robot, q = body.robot, np.array(body.standing)
    for part in body.hands.values():
        tried = [q]
        for joint in (robot.joints[name] for name in part.joints):
            if joint.mimic is None and joint.type.nq == 1:
                turned = np.repeat(q[None], len(TURNS), axis=0)
                ends = (joint.limits.lower, joint.limits.upper)
                turned[:, joint.q.start] += TURNS
                if ends[0] < ends[1]:
                    turned[:, joint.q.start] = np.clip(turned[:, joint.q.start], *ends)
                tried += list(turned)
        q = tried[int(np.argmax(robot.com(np.array(tried))[:, 0]))]
    return q
