"""Breaks one line of the package at a time and reports whether the tests, or a command, notice.

    python tools/mistakes.py --seed 7 --count 20 --list                 # the draw, nothing is run
    python tools/mistakes.py --seed 7 --count 20 --map tests.json.gz    # tests that execute the line, then its folder
    python tools/mistakes.py --seed 7 --count 6 --in papers/b6.py -- equipoise reproduce B6
    python tools/mistakes.py --write-map tests.json.gz                  # needs pytest-cov; twice the time of the tests

A mistake is one random change of one expression or statement: a swapped operator, a turned or shifted comparison,
`and` for `or`, a lost sign, a constant that is off, a negated condition, a dropped `raise`, call or `+=`. It is made in
a copy of the package, and the tree is left as it is. A mistake that changes no behaviour cannot be noticed: judge the
list before the run, and name such numbers with `--equivalent`.
"""

from __future__ import annotations

import argparse
import ast
import gzip
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
LONGEST = 120.0  # s, of the tests that execute the line; what takes longer is left to the stage after


def main() -> None:
    options = arguments()
    if options.write_map:
        write_map(Path(options.write_map))
        return
    drawn = draw(options.seed, options.count, options.rooms)
    chosen = [k for k in range(len(drawn)) if not options.only or k in options.only]
    if options.list:
        for k in chosen:
            print(described(k, drawn[k]))
        return
    tests = json.loads(gzip.decompress(Path(options.map).read_bytes())) if options.map else None
    verdicts = {}
    for k in chosen:
        start = time.time()
        verdicts[k] = "equivalent" if k in options.equivalent else attempt(drawn[k], options, tests)
        print(f"{verdicts[k]:10} {time.time() - start:4.0f} s  {described(k, drawn[k])}", flush=True)
    report(list(verdicts.values()))


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
    parser.add_argument("--write-map", help="write that file, by running the fast tests under coverage")
    parser.add_argument("--whole", action="store_true", help="run all fast tests on what the map's tests let pass")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for one command")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="-- and a command that fails if it notices")
    options = parser.parse_args()
    options.command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not (options.list or options.write_map or options.map or options.command):
        parser.error("give --list, --map FILE or a command after --")
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


def attempt(place: tuple[Path, ast.AST, str, str], options: argparse.Namespace, tests: dict | None) -> str:
    """Returns `noticed`, `raised` (an exception of the package instead of a wrong answer) or `SURVIVED`."""
    path, node, new, _ = place
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(PACKAGE, Path(folder) / "equipoise", ignore=shutil.ignore_patterns("__pycache__"))
        file = Path(folder) / "equipoise" / path.relative_to(PACKAGE)
        text = changed(file.read_text("utf-8"), node, new)
        compile(text, str(file), "exec")
        file.write_text(text, "utf-8")
        env = os.environ | {"PYTHONPATH": f"{folder}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
        for command in [options.command] if options.command else stages(path, node, tests, options.whole):
            verdict = outcome(command, env, options.limit)
            if verdict:
                return verdict
    return "SURVIVED"


def stages(path: Path, node: ast.AST, tests: dict, whole: bool) -> Iterator[list[str]]:
    """Yields commands of pytest: the tests that execute the line, quickest first, then those of the folder."""
    pytest = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=short", "-p", "no:cacheprovider", "-m", "not slow"]
    relative = path.relative_to(PACKAGE)
    lines = tests["lines"].get(str(relative), {})
    span = range(node.lineno, node.end_lineno + 1)
    seen = {number for line in span for number in lines.get(str(line), ())}
    quick, total = [], 0.0
    for number in sorted(seen, key=lambda n: tests["seconds"][n]):
        total += tests["seconds"][number]
        if total > LONGEST:
            break
        quick.append(tests["names"][number])
    files = sorted({test.split("::")[0] for test in quick})
    if quick:
        yield [*pytest, *(quick if len(quick) <= 400 else files)]
    room = ROOT / "tests" / relative.parts[0]
    recorded = [str(p) for p in sorted((ROOT / "tests").rglob("test_recorded_*.py"))]
    yield [*pytest, *([str(room)] if room.is_dir() else []), *recorded, *map(str, (ROOT / "tests").glob("test_*.py"))]
    if whole:
        yield [*pytest[:3], "-n", "2", "--dist", "worksteal", *pytest[3:], str(ROOT / "tests")]


def outcome(command: list[str], env: dict[str, str], limit: float) -> str:
    try:
        done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return "noticed"
    if done.returncode in (0, 5):
        return ""
    errors = re.findall(r"^(?:FAILED|ERROR) \S+.*? - (\w+)|^E   +(\w+)", done.stdout, re.MULTILINE)
    kinds = {first or second for first, second in errors}
    silent = not kinds or kinds & {"AssertionError", "assert", "Failed"}
    return "noticed" if silent else "raised"


def report(verdicts: list[str]) -> None:
    counted = [v for v in verdicts if v != "equivalent"]
    found = sum(v != "SURVIVED" for v in counted)
    silent = [v for v in counted if v != "raised"]
    noticed = sum(v == "noticed" for v in silent)
    print(f"{found} of {len(counted)} detected ({found / max(1, len(counted)):.0%}); ", end="")
    print(f"of those that raise nothing {noticed} of {len(silent)} ({noticed / max(1, len(silent)):.0%})")
    sys.exit(found < len(counted))


def write_map(target: Path) -> None:
    """Runs the fast tests under coverage, from an empty cache, and writes which test executes which line."""
    from xml.etree import ElementTree

    import coverage

    with tempfile.TemporaryDirectory() as folder:
        data, junit = Path(folder) / "coverage", Path(folder) / "junit.xml"
        env = os.environ | {"COVERAGE_FILE": str(data), "EQUIPOISE_CACHE": str(Path(folder) / "cache")}
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", "-m", "not slow"]
        command += ["--cov=equipoise", "--cov-context=test", "--cov-report=", f"--junitxml={junit}", "tests"]
        subprocess.run(command, env=env, cwd=ROOT, check=False)
        seconds = {}
        for case in ElementTree.parse(junit).iter("testcase"):
            seconds[f"{case.get('classname')}::{case.get('name')}"] = float(case.get("time") or 0)
        found = coverage.CoverageData(basename=str(data))
        found.read()
        numbers: dict[str, int] = {}
        lines: dict[str, dict[int, list[int]]] = {}
        for file in found.measured_files():
            relative = str(Path(file)).split("src/equipoise/")[-1]
            for line, contexts in found.contexts_by_lineno(file).items():
                names = sorted({context.split("|")[0] for context in contexts if context})
                lines.setdefault(relative, {})[line] = [numbers.setdefault(test, len(numbers)) for test in names]
        names = list(numbers)
        times = [seconds.get(f"{n.split('::')[0][:-3].replace('/', '.')}::{n.split('::')[-1]}", 1.0) for n in names]
    text = json.dumps({"names": names, "seconds": times, "lines": lines})
    target.write_bytes(gzip.compress(text.encode()))
    print(f"{len(names)} tests, {sum(map(len, lines.values()))} lines: {target}")


if __name__ == "__main__":
    main()
