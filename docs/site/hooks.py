"""Hooks of MkDocs: the pages of the API reference are in the navigation as they were written, tutorials link to
notebooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Put the pages of the reference into the navigation, the index first."""
    folder = Path(config.docs_dir) / "api"
    files = sorted(
        folder.glob("*.md"), key=lambda path: (path.stem != "index", path.stem.endswith("-module"), path.stem)
    )
    entries = [{path.read_text(encoding="utf-8").splitlines()[0].lstrip("# "): f"api/{path.name}"} for path in files]
    for entry in config.nav:
        if "API" in entry:
            entry["API"] = entries
    return config


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Tutorials say where their notebook is."""
    path = Path(page.file.src_uri)
    if path.parent.name != "tutorials":
        return html
    return f'<p><a href="../notebooks/{path.stem}.ipynb" download>This page as a notebook</a></p>\n{html}'
