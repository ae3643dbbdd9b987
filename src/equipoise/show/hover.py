"""Names of links and marks under the mouse, and a camera that follows: a small script in the viewer's page, live or in
a report.

viser has no event for a mouse that moves. Its page has the scene, though, and runs what a server sends; a ray through
the mouse and the meshes says what is there, without a word to the server.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parent / "assets" / "hover.js"
MARKS = {
    "/marks/com": "centre of mass",
    "/marks/com_ground": "point below the centre of mass",
    "/marks/capture": "capture point",
    "/marks/polygon": "support region",
    "/marks/pressure": "pressure",
    "/marks/forces": "contact force",
}
PREFIXES = {"/targets/": "target of ", "/obstacles/": "obstacle "}


def name_on_hover(server: Any, links: Mapping[str, str]) -> None:
    """Shows names while the mouse is over things. `links`: node of the scene → name."""
    labels, prefixes = (json.dumps(names) for names in ({**links, **MARKS}, PREFIXES))
    _run(server, f"const LABELS = {labels}, PREFIXES = {prefixes};\n{SCRIPT.read_text(encoding='utf-8')}")


def follow_beyond(server: Any, room: float) -> None:
    """Moves the camera along once it looks farther than this past the centre of mass, m, seen from above."""
    _run(server, f"window.equipoiseRoom = {room:.6g};")


def follow(server: Any, wanted: bool) -> None:
    """Lets the camera follow the robot, or stay."""
    _run(server, f"window.equipoiseFollow = {json.dumps(wanted)};")


def _run(server: Any, source: str) -> None:
    """Runs a script in every page, those opened later too."""
    from viser._messages import RunJavascriptMessage

    server.gui._websock_interface.queue_message(RunJavascriptMessage(source=source))
