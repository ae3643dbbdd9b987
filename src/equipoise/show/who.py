"""Who is who in the viewer: the robot as its body stands, with the frames of its feet and hands."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..body.body import Body
from ..errors import EquipoiseError

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray


def embodied(what: Robot | Body) -> tuple[Robot, Body | None]:
    """A robot with the frames of its parts, and its body; none where it cannot be found, which is no reason not to show
    it."""
    if isinstance(what, Body):
        return what.robot, what
    try:
        body = Body.of(what)
    except EquipoiseError:
        return what, None
    return body.robot, body


def standing_of(robot: Robot, body: Body | None) -> Array:
    """Where a robot stands: on its soles, or as its description says."""
    if body is None or not body.feet or not robot.floating:
        return np.array(robot.standing())
    return np.array(body.standing)


def start_of(robot: Robot, controller: object) -> Array:
    """Where a controller starts: where it says (`q0`), else where the robot stands."""
    own = getattr(controller, "q0", None)
    return standing_of(*embodied(robot)) if own is None else np.array(own, dtype=float)


def ends_of(body: Body) -> Sequence[str]:
    """Frames of feet and hands."""
    return [body.frames[role] for role in (*body.feet, *body.hands)]


def list_parts(server: Any, body: Body) -> None:
    """A folder in the side panel: each part with its link, and what is doubtful."""
    rows = [f"- **{escape(role)}**: `{escape(part.link)}`" for role, part in body.parts.items()]
    doubts = [f"- *doubtful* {escape(f.what)}: {escape(f.value)} ({escape(f.reason)})" for f in body.doubts]
    with server.gui.add_folder(f"body: {body.kind}", expand_by_default=False):
        server.gui.add_markdown("\n".join([*rows, *doubts]))
