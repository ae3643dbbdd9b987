"""Data flows downwards only: a layer imports from those above it, never from those below."""

import ast
from pathlib import Path

import pytest

import equipoise

PACKAGE = Path(equipoise.__file__).parent
# From top to bottom, as in CONTRIBUTING.md; layers on one line may not import from each other.
LAYERS = [
    {"clock", "errors", "public_names"},
    {"files"},
    {"algebra"},
    {"model"},
    {"equations"},
    {"machine"},
    {"forms"},
    {"robot"},
    {"convert", "autograd", "geometry"},
    {"balance"},
    {"body"},
    {"control"},
    {"walking"},
    {"estimation"},
    {"simulate"},
    {"show"},
    {"study"},
    {"bench"},
    {"papers"},
    {"cli"},
    {"__main__"},
]
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Layers that a file imports from when it runs; names for type checkers do not count."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    inside = len(path.relative_to(PACKAGE).parts)
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == inside:
            found |= {node.module.split(".")[0]} if node.module else {alias.name for alias in node.names}
    return found & set(HEIGHT)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_file_imports_from_a_layer_below(path):
    own = layer_of(path)
    below = {name for name in imported(path) if HEIGHT[name] >= HEIGHT[own] and name != own}
    assert not below, f"{own} is above {', '.join(sorted(below))}"


def test_every_file_is_in_a_layer():
    assert {layer_of(path) for path in FILES} <= set(HEIGHT)
