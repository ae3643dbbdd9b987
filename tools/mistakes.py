"""Breaks one line of the package at a time and reports whether the tests, or a command, notice.

    python tools/mistakes.py --seed 7 --count 20 --list                 # the draw, nothing is run
    python tools/mistakes.py --write-map tests.json.gz                  # one run of the fast tests
    python tools/mistakes.py --seed 7 --count 20 --map tests.json.gz    # tests that execute the line, recorded tests
    python tools/mistakes.py --seed 7 --count 20 --map tests.json.gz --only 3,8 --together  # all fast tests, one run
    python tools/mistakes.py --seed 7 --count 6 --in papers/b6.py -- equipoise reproduce B6

A mistake is one random change of one expression or statement: a swapped operator, a turned or shifted comparison,
`and` for `or`, a lost sign, a constant that is off, a negated condition, a dropped `raise`, call or `+=`. It is made in
a copy of the package, and the tree is left as it is. A mistake that changes no behaviour cannot be noticed: judge the
list before the run, and name such numbers with `--equivalent`.

What survives the tests of its line is made `--together`: all changes in one copy, and one run of all fast tests. A test
that fails there runs again with each change alone.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "equipoise"
SWAPPED = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Div,),
    ast.Pow: (ast.Mult,),
    ast.MatMult: (),
    ast.Mod: (ast.FloorDiv,),
}
TURNED = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
LONGEST = 120.0  # s, of the tests that execute the line; the rest is left to the run of all tests
MOST_NAMES = 400  # tests on one command line
SOURCE_READERS = ("papers/test_verdicts.py", "types/test_types.py", "test_layers.py")  # fail where any text changes
SHARED_CACHE = Path(tempfile.gettempdir()) / "equipoise-mistakes"  # keeps wrong programs out of the user's cache


def main() -> None:
    options = arguments()
    if options.write_map:
        write_map(Path(options.write_map), options.processes)
        return
    drawn = draw(options.seed, options.count, options.rooms)
    chosen = [k for k in range(len(drawn)) if not options.only or k in options.only]
    if options.list:
        for k in chosen:
            print(described(k, drawn[k]))
        return
    tests = json.loads(gzip.decompress(Path(options.map).read_bytes())) if options.map else None
    counted = [k for k in chosen if k not in options.equivalent]
    if options.together:
        found = together({k: drawn[k] for k in counted}, options.processes)
    else:
        found = {}
        for k in counted:
            start = time.time()
            found[k] = attempt(drawn[k], options, tests)
            print(
                f"{found[k][0]:8} {time.time() - start:4.0f} s  {described(k, drawn[k])}  [{found[k][1]}]", flush=True
            )
    report([verdict for verdict, _ in found.values()])


def arguments() -> argparse.Namespace:
    numbers = lambda text: {int(part) for part in text.split(",") if part}  # noqa: E731
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--in", dest="rooms", default="", help="folders or files of the package, with commas")
    parser.add_argument("--only", type=numbers, default=set(), help="numbers of the draw to run")
    parser.add_argument("--equivalent", type=numbers, default=set(), help="numbers of the draw that change nothing")
    parser.add_argument("--list", action="store_true", help="print the draw")
    parser.add_argument("--map", help="file that says which tests execute which line")
    parser.add_argument("--write-map", help="write that file, by running the fast tests on a copy that reports")
    parser.add_argument("--together", action="store_true", help="make all changes in one copy and run all fast tests")
    parser.add_argument("--processes", type=int, default=1, help="of pytest, for the map and for --together")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for one command")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="-- and a command that fails if it notices")
    options = parser.parse_args()
    options.command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not (options.list or options.write_map or options.together or options.map or options.command):
        parser.error("give --list, --map FILE, --together or a command after --")
    return options


# -- places ------------------------------------------------------------------------------------------------------------


def draw(seed: int, count: int, rooms: str) -> list[tuple[Path, ast.AST, str, str]]:
    """Returns random mistakes: file, node, its text after the change, and what was done."""
    wanted = tuple(part for part in rooms.split(",") if part)
    files = [p for p in sorted(PACKAGE.rglob("*.py")) if not wanted or str(p.relative_to(PACKAGE)).startswith(wanted)]
    places = [(path, *place) for path in files for place in mistakes(ast.parse(path.read_text("utf-8")))]
    return random.Random(seed).sample(places, min(count, len(places)))


def mistakes(tree: ast.Module) -> Iterator[tuple[ast.AST, str, str]]:
    """Yields every possible mistake of a module; annotations, docstrings and f-strings are left alone."""
    skipped = {id(sub) for node in ast.walk(tree) for part in left_alone(node) for sub in ast.walk(part)}
    for node in ast.walk(tree):
        if id(node) not in skipped:
            yield from of_node(node)


def left_alone(node: ast.AST) -> list[ast.AST]:
    parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
    if isinstance(node, ast.JoinedStr):
        parts += node.values
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        parts.append(node)
    return [part for part in parts if part is not None]


def of_node(node: ast.AST) -> Iterator[tuple[ast.AST, str, str]]:
    if isinstance(node, ast.BinOp) and not text_like(node.left) and not text_like(node.right):
        for other in SWAPPED.get(type(node.op), ()):
            yield node, written(ast.BinOp(node.left, other(), node.right)), f"{name(node.op)} → {other.__name__}"
    elif isinstance(node, ast.AugAssign):
        yield node, "pass", "update dropped"
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in TURNED[type(node.ops[0])]:
            changed = ast.Compare(node.left, [other()], node.comparators)
            yield node, written(changed), f"{name(node.ops[0])} → {other.__name__}"
    elif isinstance(node, ast.BoolOp):
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield node, written(ast.BoolOp(other(), node.values)), f"{name(node.op)} → {other.__name__}"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield node, written(node.operand), f"{name(node.op)} dropped"
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        value = not node.value if isinstance(node.value, bool) else altered(node.value)
        yield node, repr(value), f"{node.value!r} → {value!r}"
    elif isinstance(node, ast.If | ast.IfExp | ast.While) and not isinstance(node.test, ast.Constant):
        yield node.test, f"(not {written(node.test)})", "condition negated"
    elif isinstance(node, ast.Raise):
        yield node, "pass", "raise dropped"
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield node, "pass", "call dropped"


def altered(value: float) -> float:
    return value + 1 if isinstance(value, int) else 1.5 * value if value else 1.0


def name(op: ast.AST) -> str:
    return type(op).__name__


def written(node: ast.AST) -> str:
    return f"({ast.unparse(node)})"


def text_like(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def changed(text: str, node: ast.AST, new: str) -> str:
    """Returns the text of a module with one node replaced and everything else as it was."""
    raw, starts = text.encode(), [0]
    for row in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(row.encode()))
    first = starts[node.lineno - 1] + node.col_offset
    last = starts[node.end_lineno - 1] + node.end_col_offset
    return (raw[:first] + new.encode() + raw[last:]).decode()


def described(k: int, place: tuple[Path, ast.AST, str, str]) -> str:
    path, node, _, what = place
    row = path.read_text("utf-8").splitlines()[node.lineno - 1].strip()
    return f"{k:3} {path.relative_to(PACKAGE)}:{node.lineno} {what} · {row[:110]}"


# -- trials ------------------------------------------------------------------------------------------------------------


def attempt(place: tuple[Path, ast.AST, str, str], options: argparse.Namespace, tests: dict | None) -> tuple[str, str]:
    """Returns a verdict and the first test that fails.

    The verdict is `noticed`, `raised` (an exception of the package instead of a wrong answer), `hung` or `SURVIVED`.
    """
    with tempfile.TemporaryDirectory() as folder:
        env = broken_copy(Path(folder), [place])
        for command in [options.command] if options.command else stages(place, tests):
            verdict, test = outcome(command, env, options.limit)
            if verdict:
                return verdict, test
    return "SURVIVED", ""


def broken_copy(folder: Path, places: list[tuple[Path, ast.AST, str, str]]) -> dict[str, str]:
    """Returns the environment in which the package is a copy with these changes."""
    shutil.copytree(PACKAGE, folder / "equipoise", ignore=shutil.ignore_patterns("__pycache__"))
    # From the last to the first, because a change moves what is behind it in the file.
    for path, node, new, _ in sorted(places, key=lambda place: (place[1].lineno, place[1].col_offset), reverse=True):
        file = folder / "equipoise" / path.relative_to(PACKAGE)
        text = changed(file.read_text("utf-8"), node, new)
        compile(text, str(file), "exec")
        file.write_text(text, "utf-8")
    return environment(folder)


def environment(folder: Path) -> dict[str, str]:
    paths = {"PYTHONPATH": f"{folder}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1", "EQUIPOISE_CACHE": str(SHARED_CACHE)}
    return os.environ | paths


def pytest(processes: int = 1) -> list[str]:
    """Returns the command that runs fast tests, without those that read the source."""
    several = ["-n", str(processes), "--dist", "worksteal"] if processes > 1 else []
    left_out = [f"--ignore={ROOT / 'tests' / file}" for file in SOURCE_READERS]
    common = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "-m", "not slow"]
    return [*common, *several, *left_out]


def stages(place: tuple[Path, ast.AST, str, str], tests: dict) -> Iterator[list[str]]:
    """Yields commands of pytest: the tests that execute the line, quickest first, then the recorded ones."""
    executed = {number for file, line in lines_of(place) for number in tests["lines"].get(file, {}).get(line, ())}
    quick, total = [], 0.0
    for number in sorted(executed, key=lambda n: tests["seconds"][n]):
        total += tests["seconds"][number]
        if total > LONGEST:
            break
        quick.append(tests["names"][number])
    if quick:
        yield [*pytest(), "-x", *(quick if len(quick) <= MOST_NAMES else sorted({q.split("::")[0] for q in quick}))]
    recorded = [str(p) for p in sorted((ROOT / "tests").rglob("test_recorded_*.py"))]
    yield [*pytest(), "-x", *recorded]


def lines_of(place: tuple[Path, ast.AST, str, str]) -> set[tuple[str, str]]:
    """Returns files and lines that are executed with the changed node.

    A module's constant is used where its name stands, and a default of a function in that function.
    """
    path, node, _, _ = place
    relative, text = str(path.relative_to(PACKAGE)), path.read_text("utf-8")
    around = [
        s for s in ast.walk(ast.parse(text)) if isinstance(s, ast.stmt) and s.lineno <= node.lineno <= s.end_lineno
    ]
    functions = [s for s in around if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef)]
    if functions and node.lineno >= functions[0].body[0].lineno:
        return {(relative, str(line)) for line in range(node.lineno, node.end_lineno + 1)}
    if functions:
        return {(relative, str(functions[0].body[-1].lineno)), (relative, str(functions[0].body[0].lineno))}
    names = {n.id for n in ast.walk(around[-1]) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    uses = re.compile(r"\b(" + "|".join(names or {"nothing"}) + r")\b")
    rows = [
        (file, k, row) for file in PACKAGE.rglob("*.py") for k, row in enumerate(file.read_text("utf-8").splitlines())
    ]
    return {(str(file.relative_to(PACKAGE)), str(k + 1)) for file, k, row in rows if uses.search(row)}


def outcome(command: list[str], env: dict[str, str], limit: float) -> tuple[str, str]:
    """Returns a verdict, empty if the command notices nothing, and the first test that fails."""
    try:
        done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return "hung", ""
    if done.returncode in (0, 5):
        return "", ""
    errors = re.findall(r"^(?:FAILED|ERROR) \S+.*? - (\w+)|^E   +(\w+)", done.stdout, re.MULTILINE)
    kinds = {first or second for first, second in errors}
    silent = not kinds or kinds & {"AssertionError", "assert", "Failed"}
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return "noticed" if silent else "raised", failed[0] if failed else f"exit {done.returncode}"


def together(places: dict[int, tuple[Path, ast.AST, str, str]], processes: int) -> dict[int, tuple[str, str]]:
    """Returns the verdicts on all fast tests, from one run with all changes and one of each test that fails there."""
    with tempfile.TemporaryDirectory() as folder:
        failing = failures(broken_copy(Path(folder), list(places.values())), [str(ROOT / "tests")], processes)
    print(f"{len(failing)} tests fail with all changes: {' '.join(failing)}", flush=True)
    if failing:
        with tempfile.TemporaryDirectory() as folder:
            anyhow = failures(broken_copy(Path(folder), []), failing, 1)
        print(f"of these fail without any: {' '.join(anyhow)}", flush=True)
        failing = [test for test in failing if test not in anyhow]
    found = {}
    for k, place in places.items():
        found[k] = ("SURVIVED", "")
        if failing:
            with tempfile.TemporaryDirectory() as folder:
                verdict, test = outcome([*pytest(), "-x", *failing], broken_copy(Path(folder), [place]), 3_600.0)
            found[k] = (verdict or "SURVIVED", test)
        print(f"{found[k][0]:8} {described(k, place)}  [{found[k][1]}]", flush=True)
    return found


def failures(env: dict[str, str], tests: list[str], processes: int) -> list[str]:
    command = [*pytest(processes), *tests]
    text = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    return sorted(set(re.findall(r"^(?:FAILED|ERROR) (\S+?::.*?)(?: - |$)", text, re.MULTILINE)))


def report(verdicts: list[str]) -> None:
    found = sum(v != "SURVIVED" for v in verdicts)
    silent = [v for v in verdicts if v != "raised"]
    noticed = sum(v != "SURVIVED" for v in silent)
    print(f"{found} of {len(verdicts)} detected ({found / max(1, len(verdicts)):.0%}); ", end="")
    print(f"of those that raise nothing {noticed} of {len(silent)} ({noticed / max(1, len(silent)):.0%})")
    sys.exit(found < len(verdicts))


# -- the map -----------------------------------------------------------------------------------------------------------

SITE = """
import atexit, builtins, json, os, tempfile
executed, tests = set(), {{}}
builtins._executed = executed.add

def write():
    name = os.environ.get("PYTEST_CURRENT_TEST", "").rsplit(" ", 1)[0]
    with tempfile.NamedTemporaryFile("w", suffix=".partial", dir={reports!r}, delete=False) as file:
        json.dump(tests or {{name: (0.0, sorted(executed))}}, file)
    os.replace(file.name, file.name.replace(".partial", ".json"))

atexit.register(write)
"""
PLUGIN = """
import time
import pytest, sitecustomize

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    sitecustomize.executed.clear()
    start = time.time()
    yield
    sitecustomize.tests[item.nodeid] = time.time() - start, sorted(sitecustomize.executed)
"""


def write_map(target: Path, processes: int) -> None:
    """Runs the fast tests on a copy whose blocks report, and writes which test executes which line.

    The cache is empty at the start. Programs that a test starts report as well, under the name of the test.
    """
    with tempfile.TemporaryDirectory() as folder:
        env = environment(Path(folder)) | {"EQUIPOISE_CACHE": str(Path(folder) / "cache")}
        reports = Path(folder) / "reports"
        reports.mkdir()
        (Path(folder) / "sitecustomize.py").write_text(SITE.format(reports=str(reports)), "utf-8")
        (Path(folder) / "executed_blocks.py").write_text(PLUGIN, "utf-8")
        shutil.copytree(PACKAGE, Path(folder) / "equipoise", ignore=shutil.ignore_patterns("__pycache__"))
        block_of = {}
        for path in sorted((Path(folder) / "equipoise").rglob("*.py")):
            file = str(path.relative_to(Path(folder) / "equipoise"))
            text, block_of[file] = reporting(path.read_text("utf-8"), sum(map(len, block_of.values())))
            path.write_text(text, "utf-8")
        command = [*pytest(processes), "-p", "executed_blocks", str(ROOT / "tests")]
        subprocess.run(command, env=env, cwd=ROOT, check=False)
        seconds: dict[str, float] = {}
        executing: dict[int, set[str]] = {}
        for report_of_process in reports.glob("*.json"):
            for test, (time_of_test, blocks) in json.loads(report_of_process.read_text("utf-8")).items():
                seconds[test] = max(time_of_test, seconds.get(test, 0.0))
                for block in blocks if test else ():
                    executing.setdefault(block, set()).add(test)
    names = sorted(seconds)
    numbers = {test: k for k, test in enumerate(names)}
    lines = {
        file: {line: sorted(numbers[test] for test in executing.get(block, ())) for line, block in blocks.items()}
        for file, blocks in block_of.items()
    }
    text = json.dumps({"names": names, "seconds": [seconds[test] for test in names], "lines": lines})
    target.write_bytes(gzip.compress(text.encode()))
    print(f"{len(names)} tests, {sum(map(len, lines.values()))} lines: {target}")


def reporting(text: str, first: int) -> tuple[str, dict[int, int]]:
    """Returns a module whose functions report each block that they enter, and the number of the block of each line."""
    tree, block_of, numbers = ast.parse(text), {}, itertools.count(first)

    def visit(body: list[ast.stmt], inside: bool) -> None:
        number, rows = None, list(body)
        body.clear()
        for row in rows:
            if inside and number is None and not is_text(row):
                number = next(numbers)
                body.append(ast.parse(f"_executed({number})").body[0])
            if number is not None:
                block_of.update(dict.fromkeys(range(row.lineno, row.end_lineno + 1), number))
            body.append(row)
            inner = parts(row)
            for part in inner:
                visit(part, inside or isinstance(row, ast.FunctionDef | ast.AsyncFunctionDef))
            if inner:  # Control may not come back from it.
                number = None

    visit(tree.body, False)
    return ast.unparse(ast.fix_missing_locations(tree)), block_of


def parts(row: ast.stmt) -> list[list[ast.stmt]]:
    """Returns the blocks of a compound statement."""
    others = [*getattr(row, "handlers", []), *getattr(row, "cases", [])]
    own = [getattr(row, key, []) for key in ("body", "orelse", "finalbody")]
    return [part for part in [*own, *(other.body for other in others)] if part]


def is_text(row: ast.stmt) -> bool:
    return isinstance(row, ast.Expr) and isinstance(row.value, ast.Constant)


if __name__ == "__main__":
    main()
