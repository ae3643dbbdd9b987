"""What editors and type checkers see of the public names."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

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
        block = next(node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
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
