"""What editors and type checkers see of the public names."""

from __future__ import annotations

import ast
import importlib
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


@pytest.mark.parametrize("package", [eq, eq.control, eq.geometry])
def test_static_tools_see_every_public_name(package):
    """What the stub imports is what the package offers, from the same places."""
    tree = ast.parse(Path(package.__file__).with_suffix(".pyi").read_text())
    seen = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            seen |= {alias.asname: (node.module, alias.name) for alias in node.names}
    assert set(seen) == set(package.__all__) - {"__version__"} and len(seen) > 20
    for name, (home, inner) in seen.items():
        place = importlib.import_module(f"{package.__name__}.{home}" if home else package.__name__)
        offered = getattr(package, name)  # `eq.simulate` may be the package, which can be called as well
        assert inner == name and (offered is getattr(place, name) or name == "simulate")


def test_a_name_that_a_package_does_not_offer_is_refused_with_those_it_does():
    for package in (eq, eq.control, eq.geometry):
        with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'nothing'; it offers"):
            package.nothing  # noqa: B018


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
