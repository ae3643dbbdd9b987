"""Tutorials as notebooks: one source gives page, notebook and test."""

from __future__ import annotations

import base64
import html
import re
from pathlib import Path
from typing import Any

import nbformat

FENCE = re.compile(r"```python\n(.*?)```\n?", re.DOTALL)
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")  # colours of a terminal


def notebook(page: Path) -> Any:
    """Returns a page as a notebook: text between code blocks as text cells, blocks as code cells. Links to other pages
    lose their target.
    """
    cells, at = [], 0
    text = page.read_text(encoding="utf-8")
    for block in FENCE.finditer(text):
        _add_text(cells, text[at : block.start()])
        cells.append(nbformat.v4.new_code_cell(block.group(1).strip()))
        at = block.end()
    _add_text(cells, text[at:])
    book = nbformat.v4.new_notebook(cells=cells)
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for k, cell in enumerate(book.cells):
        cell["id"] = f"cell-{k}"
    return book


def _add_text(cells: list[Any], text: str) -> None:
    plain = re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]*\)", r"\1", text).strip()
    if plain:
        cells.append(nbformat.v4.new_markdown_cell(plain))


def executed(page: Path, folder: Path) -> Any:
    """Returns the notebook with its outputs, run in an empty folder. A cell that fails is an error; a picture that a
    cell writes into the folder is an output of that cell.
    """
    from nbclient import NotebookClient

    book = notebook(page)
    client = NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    seen: set[Path] = set()

    def add_pictures(cell: Any, **_: Any) -> None:
        for picture in sorted(set(folder.glob("*.png")) - seen):
            seen.add(picture)
            data = {"image/png": base64.b64encode(picture.read_bytes()).decode(), "text/plain": picture.name}
            cell.outputs.append(nbformat.v4.new_output("display_data", data))

    client.on_cell_executed = add_pictures
    client.execute()
    return book


def read(path: Path) -> Any:
    """Returns a notebook from its file."""
    return nbformat.read(path, as_version=4)


def page_with_outputs(markdown: str, book: Any) -> str:
    """Returns the text of a page with the outputs of its notebook below each block of code."""
    cells = iter([cell for cell in book.cells if cell.cell_type == "code"])
    return FENCE.sub(lambda block: block.group(0) + shown(next(cells).outputs), markdown)


def shown(outputs: list[Any]) -> str:
    """Returns the outputs of a cell as HTML; what goes to standard error is left out."""
    parts = []
    for output in outputs:
        data = output.get("data", {})
        if "image/png" in data:
            picture = f'<img alt="output of the code above" src="data:image/png;base64,{data["image/png"].strip()}">'
            parts.append(picture)
        elif "text/html" in data:
            parts.append(re.sub(r"\n\s*\n", "\n", data["text/html"]))
        elif output.output_type == "stream" and output.name == "stdout":
            parts.append(_block(output.text))
        elif "text/plain" in data:
            parts.append(_block(data["text/plain"]))
    return f'\n<div class="output">\n{"".join(parts)}\n</div>\n' if parts else ""


def _block(text: str) -> str:
    escaped = html.escape(ESCAPES.sub("", text).rstrip())
    return "<pre><code>" + re.sub(r"\n(?=\s*\n)", "\n&#8203;", escaped) + "</code></pre>\n"
