"""Hooks of MkDocs: navigation of the API reference, the version, outputs of tutorials."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import notebooks

ROOT = Path(__file__).parent.parent.parent
EXECUTED = "EQUIPOISE_DOCS_NOTEBOOKS"  # environment variable: folder of executed notebooks


def version() -> str:
    """Returns the version of the package that this site describes."""
    text = (ROOT / "src" / "equipoise" / "__init__.py").read_text(encoding="utf-8")
    return re.findall(r'^__version__ = "(.*)"', text, re.MULTILINE)[0]


def on_config(config: Any) -> Any:
    """Puts the pages of the reference into the navigation, the index first, and the version below every page."""
    folder = Path(config.docs_dir) / "api"
    files = sorted(
        folder.glob("*.md"), key=lambda path: (path.stem != "index", path.stem.endswith("-module"), path.stem)
    )
    entries = [{path.read_text(encoding="utf-8").splitlines()[0].lstrip("# "): f"api/{path.name}"} for path in files]
    for entry in config.nav:
        if "API" in entry:
            entry["API"] = entries
    config.copyright = f"Equipoise {version()}"
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Writes the version, and outputs below the code of tutorials."""
    path = Path(page.file.src_uri)
    executed = Path(os.environ.get(EXECUTED, "")) / f"{path.stem}.ipynb"
    if path.parent.name == "tutorials" and EXECUTED in os.environ:
        markdown = notebooks.page_with_outputs(markdown, notebooks.read(executed))
    return markdown.replace("{{ version }}", version())


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Links tutorials to their notebooks, below the title."""
    path = Path(page.file.src_uri)
    if path.parent.name != "tutorials":
        return html
    link = f'<p><a href="../notebooks/{path.stem}.ipynb" download>This page as a notebook</a></p>'
    return html.replace("</h1>", f"</h1>\n{link}", 1)
