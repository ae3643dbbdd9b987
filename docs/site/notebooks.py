"""Tutorials as notebooks: one source gives page, notebook and test."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat

FENCE = re.compile(r"```python\n(.*?)```\n?", re.DOTALL)


def notebook(page: Path) -> Any:
    """Text between code blocks as cells of text, blocks as cells of code. Links to other pages lose their target."""
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
    """The notebook with its outputs; a cell that fails is an error."""
    from nbclient import NotebookClient

    book = notebook(page)
    NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    return book
