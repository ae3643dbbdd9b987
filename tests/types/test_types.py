"""What editors and type checkers see of the public names."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import equipoise as eq

PROGRAM = Path(__file__).with_name("user_program.py")
PACKAGE = Path(eq.__file__).parent


def test_the_package_is_typed():
    assert (PACKAGE / "py.typed").is_file()


def test_static_tools_see_every_public_name():
    """The block for type checkers names what the table offers, from the same places."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
    seen = {alias.asname: node.module for node in block.body for alias in node.names}
    assert {name: module for name, module in seen.items() if name in eq._HOMES} == eq._HOMES
    assert set(seen) == set(eq.__all__) - {"__version__"}


def test_static_tools_see_what_the_rooms_offer():
    for room in (eq.control, eq.geometry):
        tree = ast.parse(Path(room.__file__).read_text())
        block = next(
            node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        )
        assert {alias.asname: node.module for node in block.body for alias in node.names} == room._HOMES


def test_a_users_program_is_clean_and_runs():
    strict = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--follow-imports=silent", str(PROGRAM)]
    done = subprocess.run(strict, capture_output=True, text=True, cwd=PACKAGE.parent.parent)
    assert done.returncode == 0, done.stdout
    done = subprocess.run([sys.executable, str(PROGRAM)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_users_program_names_everything_public():
    text = PROGRAM.read_text()
    assert [name for name in eq.__all__ if not re.search(rf"\beq\.{name}\b", text)] == []


# --- no Any, and completion -------------------------------------------------------------------------------------------


def signatures():
    """(name, annotations) of every public function, method and field."""
    for name in eq.__all__:
        thing = getattr(eq, name)
        rooms = getattr(thing, "__all__", None) if inspect.ismodule(thing) else None
        for label, item in [(f"{name}.{n}", getattr(thing, n)) for n in rooms] if rooms else [(name, thing)]:
            if inspect.isclass(item):
                for key, value in vars(item).items():
                    if not key.startswith("_") or key in ("__init__", "__call__"):
                        yield f"{label}.{key}", value
            elif inspect.isfunction(item):
                yield label, item


def test_public_signatures_hold_no_any():
    found = []
    for label, item in signatures():
        function = getattr(item, "__func__", None) or getattr(item, "fget", None) or getattr(item, "func", item)
        if not inspect.isfunction(function) or not function.__module__.startswith("equipoise"):
            continue
        for what, annotation in function.__annotations__.items():
            if what.startswith("_"):
                continue  # fields of dataclasses that are not for users
            if re.search(r"\bAny\b", str(annotation)):
                found.append(f"{label}({what}: {annotation})")
    assert found == []


@pytest.mark.parametrize(
    "code, wanted",
    [
        ("import equipoise as eq\neq.Whole", {"WholeBodyController"}),
        ("import equipoise as eq\neq.load('g1').ma", {"mass", "mass_matrix"}),
        ("import equipoise as eq\neq.simulate(eq.load('g1'), None).sa", {"safe_distances", "save"}),
        ("import equipoise as eq\neq.Fla", {"FlatContact"}),
    ],
)
def test_editors_complete(code, wanted):
    """Jedi is what IPython, Jupyter and several editors complete with."""
    jedi = pytest.importorskip("jedi")
    script = jedi.Script(code, project=jedi.Project(PACKAGE.parent))
    assert wanted <= {completion.name for completion in script.complete()}


@pytest.mark.slow
def test_checkers_know_the_types_of_what_is_exported(tmp_path):
    """pyright's measure of a typed package, half a minute; the bar is 95 %."""
    tool = Path(sys.executable).with_name("basedpyright")
    if not tool.exists():
        pytest.skip("basedpyright is not installed")
    command = [
        str(tool),
        "--verifytypes",
        "equipoise",
        "--ignoreexternal",
        "--outputjson",
        "--pythonpath",
        sys.executable,
    ]
    elsewhere = os.environ | {"PYTHONPATH": str(PACKAGE.parent)}  # an editable install is not found by itself
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=elsewhere)
    assert json.loads(done.stdout)["typeCompleteness"]["completenessScore"] >= 0.95
