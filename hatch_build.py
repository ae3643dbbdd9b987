"""The README as the package index shows it: relative addresses become those of pyproject's URL `Source`.

Without that URL, pictures are left out and links become plain text, since a relative address leads nowhere there.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

try:
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ImportError:  # the tests of `published` need no build
    MetadataHookInterface = object

ADDRESS = r"(?!https?:|#|mailto:)([^)\s]+)"  # a relative one
PICTURE, LINK = rf"!\[([^\]]*)\]\({ADDRESS}\)", rf"(?<!!)\[((?:!\[[^\]]*\]\([^)]*\)|[^\]])*)\]\({ADDRESS}\)"


def published(text: str, source: str | None) -> str:
    """Returns the README with addresses that work anywhere.

    Args:
        source: address of the repository; None where it is not known.
    """
    if source is None:
        return re.sub(LINK, r"\1", re.sub(PICTURE, r"\1", text))
    text = re.sub(PICTURE, rf"![\1]({source}/raw/HEAD/\2)", text)
    return re.sub(LINK, rf"[\1]({source}/blob/HEAD/\2)", text)


class ReadmeHook(MetadataHookInterface):
    """Sets the field `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        source = metadata.get("urls", {}).get("Source")
        metadata["readme"] = {"content-type": "text/markdown", "text": published(text, source)}
