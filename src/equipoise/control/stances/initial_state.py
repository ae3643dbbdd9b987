"""What is looked at in the first call: whether contacts are where they should be."""

from __future__ import annotations

import numpy as np

from .anchors import Anchors
from .events import EventKind, EventLog
from .places import middle, moved, touching_points

Array = np.ndarray
OFF = 5e-3  # m, by which a contact may be elsewhere
STEP = 0.05  # m: what is higher is a step of stairs, not a contact in the air


def tell_contacts_off(log: EventLog, t: float, anchors: Anchors, planned: Array) -> None:
    """Tell of contacts in force that are off.

    Args:
        planned: q of the first stance.
    """
    track = anchors.track
    for name, X in anchors.items():
        distance, _ = moved(track.contacts[name], track.pose(planned, name), X)
        if not distance <= OFF:
            log.tell(EventKind.ELSEWHERE, t, name, distance=distance)
    for name, height in _heights(anchors).items():
        if OFF < height < STEP:
            log.tell(EventKind.UNEVEN, t, name, distance=height)


def _heights(anchors: Anchors) -> dict[str, float]:
    """Of level contacts above the plane that fits the points of all others best, where these span one."""
    contacts = anchors.track.contacts
    points = (
        {name: touching_points(contacts[name], X) for name, X in anchors.items()} if anchors.support is not None else {}
    )
    found = {}
    for name, X in anchors.items():
        others = [x for other, x in points.items() if other != name]
        if not others:
            continue
        x = np.concatenate(others)
        A = np.column_stack([x[:, :2], np.ones(len(x))])
        if np.linalg.matrix_rank(A, tol=1e-6) == 3:
            plane = np.linalg.lstsq(A, x[:, 2], rcond=None)[0]
            centre = middle(contacts[name], X)
            found[name] = float(centre[2] - plane @ [*centre[:2], 1.0])
    return found
