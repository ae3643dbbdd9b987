"""Names of links and marks under the mouse: a small script in the viewer's page, live or in a report.

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
    """Show names while the mouse is over things. `links`: node of the scene → name."""
    from viser._messages import RunJavascriptMessage

    labels, prefixes = (json.dumps(names) for names in ({**links, **MARKS}, PREFIXES))
    source = f"const LABELS = {labels}, PREFIXES = {prefixes};\n{SCRIPT.read_text(encoding='utf-8')}"
    server.gui._websock_interface.queue_message(RunJavascriptMessage(source=source))
