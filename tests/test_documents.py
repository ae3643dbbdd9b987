"""Every block of Python in the README, the docs and the examples runs, and prints what its page says it does."""

from __future__ import annotations

import ast
import importlib
import re
import runpy
import shlex
import sys
import types
import warnings
from pathlib import Path

import pytest
import test_layers
import typer

from equipoise import cli

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{k}")
    for page in PAGES
    if page.name not in ("README.md", "examples.md")  # which are compared with what they print, below
    for k, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
]

INSIDE = ("equipoise.equations", "equipoise.papers")  # parts that a page shows and users do not look up


@pytest.mark.parametrize("block", BLOCKS)
def test_code_of_the_documents_runs(block, monkeypatch):
    module = types.ModuleType("document")
    monkeypatch.setitem(sys.modules, "document", module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(block, "document", "exec"), vars(module))


def commands_of_the_documents():
    """Lines that begin with `equipoise`, in blocks of a terminal and between backticks, without comments."""
    pages = [*PAGES, *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        blocks = "\n".join(re.findall(r"```(?:console|bash|text|sh)\n(.*?)```", text, re.DOTALL))
        lines = re.findall(r"^(?:\$ )?equipoise (.*?)(?:  #.*)?$", blocks, re.MULTILINE)
        lines += re.findall(r"`equipoise ([^`\n]*)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
        yield from ((page.name, line.strip()) for line in lines)


def test_commands_of_the_documents_exist_with_their_options():
    app = typer.main.get_command(cli.app)
    seen = list(commands_of_the_documents())
    assert len(seen) > 50
    for page, line in seen:
        words = shlex.split(line)
        if not words or words[0].isupper() or words[0].startswith("-") or "…" in words[0]:
            continue  # "equipoise …", or options of the program itself
        assert words[0] in app.commands, f"{page}: equipoise {line}"
        options = {name for parameter in app.commands[words[0]].params for name in parameter.opts} | {"--help"}
        used = {word.split("=")[0].rstrip(".,") for word in words[1:] if word.startswith("--")}
        assert used <= options, f"{page}: equipoise {line}: {used - options}"


TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_tutorials_run_from_top_to_bottom(page, tmp_path, monkeypatch):
    """As their notebooks do, in one namespace; `make docs` executes the notebooks themselves."""
    monkeypatch.chdir(tmp_path)
    module = types.ModuleType("tutorial")
    monkeypatch.setitem(sys.modules, "tutorial", module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            exec(compile(block, str(page), "exec"), vars(module))


def test_there_are_eight_tutorials_and_each_is_a_notebook(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    import nbformat
    import notebooks

    assert len(TUTORIALS) == 8
    for page in TUTORIALS:
        book = notebooks.notebook(page)
        nbformat.validate(book)
        blocks = page.read_text(encoding="utf-8").count("```python")
        assert sum(cell.cell_type == "code" for cell in book.cells) == blocks > 1


def test_every_page_is_in_the_navigation():
    """MkDocs holds this too, and the links; here without building."""
    listed = set(re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    docs = ROOT / "docs"
    there = {str(path.relative_to(docs)) for path in docs.rglob("*.md") if path.parent.name != "api"}
    assert listed == there


def test_every_public_name_has_its_page(monkeypatch):
    """What `make docs` writes into the API reference names everything that `equipoise` offers."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    import reference

    import equipoise as eq

    text = "".join(reference.pages().values())
    assert [name for name in reference.public_names() if f"::: {name}\n" not in text] == []
    assert [name for name in eq._MODULES if f"# eq.{name}\n" not in text] == []


def test_names_that_the_documents_import_are_in_the_reference(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    import reference

    entries = re.findall(r"^::: (\S+)\.(\w+)$", "".join(reference.pages().values()), re.MULTILINE)
    described = [getattr(importlib.import_module(home), name) for home, name in entries]
    code = "".join(str(block.values[0]) for block in BLOCKS)
    imports = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in imports if (node.module or "").startswith("equipoise")]
    used = {(node.module, alias.name) for node in ours for alias in node.names if not node.module.startswith(INSIDE)}
    assert len(used) > 50
    for home, name in sorted(used):
        thing = getattr(importlib.import_module(home), name)
        assert isinstance(thing, types.ModuleType) or any(thing is entry for entry in described), f"{home}.{name}"


def test_the_drawing_of_the_architecture_shows_the_layers_as_they_are():
    layers = {name: height for height, names in enumerate(test_layers.LAYERS) for name in names}
    drawn = runpy.run_path(str(ROOT / "docs" / "architecture.py"))
    names = [name for packages, _ in drawn["LAYERS"] for name, _ in packages]
    packages = {path.name for path in (ROOT / "src" / "equipoise").iterdir() if (path / "__init__.py").exists()}
    assert packages <= set(names)
    assert [layers[name] for name in names] == sorted(layers[name] for name in names)
    assert drawn["drawing"]() == (ROOT / "docs" / "architecture.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [*PAGES, *TUTORIALS], ids=lambda page: page.name)
def test_links_between_documents_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    made = ("api/", "gallery/")  # written by `make docs`, which checks them
    missing = [link for link in links if not link.startswith(made) and not (page.parent / link).exists()]
    assert not missing


README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_prints_what_it_says(tmp_path, monkeypatch, capsys):
    """Its blocks follow each other, as a reader types them; each has its output below it."""
    monkeypatch.chdir(tmp_path)
    module = types.ModuleType("readme")
    monkeypatch.setitem(sys.modules, "readme", module)
    blocks = re.findall(r"```python\n(.*?)```\n```text\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == README.count("```python") == 4
    for code, output in blocks:
        exec(compile(code, "README.md", "exec"), vars(module))
        assert capsys.readouterr().out == output
    assert (tmp_path / "walk.html").stat().st_size > 10**6


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 110
    rows = [len(table.strip().splitlines()) - 2 for table in re.findall(r"(?:^\|.*\n)+", README, re.MULTILINE)]
    assert rows and max(rows) <= 6


def test_the_figures_of_the_readme_say_where_they_come_from():
    from bench.readme import BEGIN, END, PLOT, TABLE

    figures = README.partition(BEGIN)[2].partition(END)[0]
    assert all(f"| {name} |" in figures for name in TABLE.values())
    assert re.search(r"core of .+, \d{4}-\d\d-\d\d, commit [0-9a-f]{7,}, Pinocchio [\d.]+: `make bench-readme", figures)
    assert PLOT.read_text(encoding="utf-8").startswith("<?xml")


EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_there_are_fourteen_examples_of_a_screen():
    assert len(EXAMPLES) == 14
    assert all(len(path.read_text(encoding="utf-8").splitlines()) < 60 for path in EXAMPLES)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_print_what_their_page_says(path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    import example_page
    import matplotlib.pyplot as plt

    printed, names = example_page.run(path)
    plt.close("all")
    assert names.keys() & {"run", "figure", "posed"}, "an example leaves something to see"
    assert example_page.section(path, printed) in example_page.PAGE.read_text(encoding="utf-8")
    assert (ROOT / "docs" / "pictures" / f"{path.stem}.webp").stat().st_size > 1000


def test_the_gallery_has_ten_runs_each_with_its_command_and_picture(monkeypatch):
    """`make gallery` runs the commands; here their names and files."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    import gallery_page

    page, commands = gallery_page.PAGE.read_text(encoding="utf-8"), gallery_page.commands()
    assert len(commands) == page.count("\n## ") >= 10
    for name, words in commands.items():
        if words[0] == "equipoise":
            assert words[-2:] == ["--report", f"{name}.html"]
        else:
            assert words[0] == "python" and f'"{name}.html"' in (ROOT / words[1]).read_text(encoding="utf-8")
