"""Every block of Python in the README and the docs runs, each in a namespace of its own."""

from __future__ import annotations

import re
import sys
import types
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{k}")
    for page in PAGES
    for k, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_code_of_the_documents_runs(block, monkeypatch):
    module = types.ModuleType("document")
    monkeypatch.setitem(sys.modules, "document", module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(block, "document", "exec"), vars(module))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_documents_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


def test_the_readme_shows_code_that_runs():
    assert any(str(block.id).startswith("README") for block in BLOCKS)


def test_examples_run_and_fit_on_a_screen():
    examples = sorted((ROOT / "examples").glob("*.py"))
    assert examples
    for path in examples:
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 60, path.name
        exec(compile(text, str(path), "exec"), {"__name__": "__main__"})
