"""Runs the examples and writes docs/examples.md: what each shows, its code, its output and its picture.

python docs/site/example_page.py    # after a change of an example; tests compare the page with what examples print
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGE = ROOT / "docs" / "examples.md"
HEAD = """# Examples

Fourteen programs of less than sixty lines, each on a robot that is built in or that you name. `pip install '.[demo]'`
in a clone installs what they import; 13 also imports JAX (`pip install '.[jax]'`), and 14 calls a C compiler.
Run one with `python examples/09_walk.py`; what it prints is below its code. Those that simulate can be watched:
`eq.view(run)` plays a run in the browser, and `eq.report(run, "run.html")` writes it as one file.

"""


def run(path: Path, *arguments: str) -> tuple[str, dict[str, Any]]:
    """Returns what an example prints, and its names; it runs in a folder of its own."""
    printed, before, words = io.StringIO(), Path.cwd(), sys.argv
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), contextlib.redirect_stdout(printed):
        warnings.simplefilter("ignore")
        os.chdir(folder)
        sys.argv = [str(path), *arguments]
        try:
            names = runpy.run_path(str(path))
        finally:
            sys.argv = words
            os.chdir(before)
    return printed.getvalue(), names


def section(path: Path, output: str) -> str:
    """Returns an example's part of the page: its purpose as a heading and a sentence, picture, code and output."""
    code = path.read_text(encoding="utf-8")
    purpose = re.match(r'"""(.*?)"""\n+', code, re.DOTALL)
    assert purpose, f"{path.name} begins with a sentence that says what it shows"
    number, _, name = path.stem.partition("_")
    return (
        f"## {int(number)} {name.replace('_', ' ').capitalize()}\n\n{purpose[1]}\n\n"
        f"![{purpose[1].partition(':')[0]}](pictures/{path.stem}.webp)\n\n"
        f"```python\n{code[purpose.end() :]}```\n\n```text\n{output}```\n"
    )


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    PAGE.write_text(HEAD + "\n".join(section(path, run(path)[0]) for path in EXAMPLES), encoding="utf-8")
    print(PAGE.relative_to(ROOT))
