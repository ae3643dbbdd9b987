"""The process in which xacro expands a file: expressions are evaluated by us, files beside the robot are read, and the
operating system bounds time and memory."""

from __future__ import annotations

import contextlib
import glob
import io
import json
import math
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import xacro
from xacro import substitution_args

from . import xml
from .xacro_expressions import BUILTINS, MATH, ExpressionError, Function, evaluate

MAX_MEMORY = 2**30  # bytes
MAX_YAML = 2**20  # bytes of one YAML file
MAX_NODES = 100_000  # of one YAML file, each alias counted as what it stands for
MAX_NOTES = 20  # lines that xacro prints and that are handed on
SIDE_FOLDERS = ("description", "model", "models", "robot", "robots", "urdf", "xacro")  # their neighbours belong to them


def main() -> None:
    """Answers one request on the standard input: `{"path", "seconds"}`."""
    request = json.load(sys.stdin)
    _give_up_rights(request["seconds"])
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
            answer = {"text": _expanded(request["path"])}
    except Exception as error:  # of many kinds: xacro's own, those of its expressions, of the XML reader, of packages
        answer = {"error": str(error) or type(error).__name__, "kind": type(error).__name__}
    notes = [xml.shortened("".join(filter(str.isprintable, line)), 200) for line in printed.getvalue().splitlines()]
    sys.__stdout__.write(json.dumps(answer | {"notes": notes[:MAX_NOTES]}))  # type: ignore[union-attr]


def _give_up_rights(seconds: float) -> None:
    """No files are written, no programs started; time and memory end where no robot needs more."""
    sys.dont_write_bytecode = True
    with contextlib.suppress(ImportError):  # Windows bounds neither; the parent's clock stays
        import resource

        cpu = math.ceil(seconds)
        bounds = {"AS": MAX_MEMORY, "CPU": cpu, "FSIZE": 0, "NPROC": 0, "CORE": 0}
        for name, most in bounds.items():
            what = getattr(resource, f"RLIMIT_{name}")
            hard = resource.getrlimit(what)[1]
            least = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(what, (least, least))


def _expanded(path: str) -> str:
    files = Files(path)
    install(files)
    text = str(xacro.process_file(path).toxml())
    if len(text) > xml.MAX_BYTES:
        raise ExpressionError(f"it expands to {len(text):,} characters; up to {xml.MAX_BYTES:,} are read")
    return text


class Files:
    """The files that a description may read: those of its own package, and of packages that it finds by name."""

    def __init__(self, path: str) -> None:
        self.own, self.found = _own_folder(Path(os.path.realpath(path))), list[str]()

    def require(self, path: str) -> str:
        """The path, if it is one of them. What does not exist is left to xacro to report."""
        real, written = os.path.realpath(path), os.path.abspath(path)
        # installed packages may consist of links into a workspace; those of an unknown package are followed
        if not (_below(real, str(self.own)) or any(_below(written, folder) for folder in self.found)):
            raise ExpressionError(
                f"{path!r} lies outside of the robot's folder {str(self.own)!r}: copy it there, or expand the file "
                "yourself if you trust it: xacro FILE.xacro > robot.urdf"
            )
        if os.path.exists(real) and not os.path.isfile(real):
            raise ExpressionError(f"{path!r} is not a file")
        return path

    def find(self, package: str) -> str:
        """The folder of an installed package."""
        if not re.fullmatch(r"[A-Za-z][\w-]*", package):
            raise ExpressionError(f"{xml.shortened(package)!r} is not the name of a package")
        self.found.append(os.path.abspath(_ros_find(package)))
        return self.found[-1]


def _own_folder(path: Path) -> Path:
    """The package of a file (the nearest folder above it with a package.xml), else its folder."""
    for folder in path.parents:
        if (folder / "package.xml").is_file():
            return folder
    return path.parent.parent if path.parent.name in SIDE_FOLDERS else path.parent


def _below(path: str, folder: str) -> bool:
    return os.path.commonpath([path, folder]) == folder


# --- what xacro calls -----------------------------------------------------------------------------------------------

_ros_find, _parse, _load_yaml = substitution_args._eval_find, xacro.parse, xacro.load_yaml


def install(files: Files) -> None:
    """Put our evaluation and our readers in the place of xacro's, and make sure that xacro calls them."""

    def load_yaml(name: str) -> Any:
        path = files.require(xacro.abs_filename_spec(name))
        if os.path.exists(path) and os.path.getsize(path) > MAX_YAML:
            raise ExpressionError(f"{name!r} has more than {MAX_YAML:,} bytes")
        content = _load_yaml(path)
        _require_nodes(content)
        return content

    def parse(document: Any, filename: str | None = None) -> Any:
        if document is None and filename is not None and os.path.exists(files.require(filename)):
            xml.parse(xml.load(Path(filename)))
        return _parse(document, filename)

    def evaluated(text: str, context: dict[str, Any]) -> str:
        arguments = context.setdefault("arg", {})
        more = {"arg": Function(lambda name: substitution_args.convert_value(arguments[name], "auto"))}
        return str(evaluate(text, substitution_args._DictWrapper(arguments, {**_argument_functions(files), **more})))

    xacro.parse, xacro.load_yaml = parse, load_yaml
    # a pattern is judged before the disk is listed for it
    xacro.glob = SimpleNamespace(glob=lambda pattern: glob.glob(files.require(pattern)))
    xacro.safe_eval = lambda text, names, local=None: evaluate(text, names)
    xacro._global_symbols = _symbols(load_yaml)
    substitution_args._eval, substitution_args._eval_find = evaluated, files.find
    _require_hooks()


def _require_hooks() -> None:
    """A version of xacro that evaluates elsewhere is not used."""
    xacro.substitution_args_context["arg"] = {}
    for canary in ("${(lambda: 1)()}", "$(eval lambda: 1)"):
        try:
            xacro.eval_text(canary, xacro.Table(xacro._global_symbols))
        except Exception as error:
            if "Lambda is not used" in str(error):
                continue
        raise ExpressionError("this version of xacro evaluates expressions in a way that is not known: install 2.1")


def _symbols(load_yaml: Any) -> dict[str, Any]:
    """The names that xacro defines in every file."""
    original = xacro.create_global_symbols()
    kept = ("message", "warning", "error", "print_location", "fatal", "abs_filename", "dotify", "arg")
    ours = {name: Function(dict.__getitem__(original["xacro"], name)) for name in kept}
    ours |= {"load_yaml": Function(load_yaml), "tokenize": Function(_tokens)}
    spaces: dict[str, dict[str, Any]] = {
        "xacro": ours,
        "math": MATH,
        "python": {**BUILTINS, "True": True, "False": False},
    }
    symbols: dict[str, Any] = {
        name: value for members in spaces.values() for name, value in members.items() if name in original
    }
    for name, members in spaces.items():
        symbols[name] = xacro.NameSpace()
        symbols[name].update(members)
    return symbols


def _argument_functions(files: Files) -> dict[str, Any]:
    """The names of `$(eval …)`."""
    ours = {"env": substitution_args._eval_env, "optenv": substitution_args._eval_optenv, "find": files.find}
    return {"true": True, "false": False, **BUILTINS, **MATH, **{name: Function(call) for name, call in ours.items()}}


def _tokens(text: str, separators: str = ",; ", skip_empty: bool = True) -> list[str]:
    parts = re.split("[" + re.escape(separators) + "]", text)  # no expression of the file's author
    return [part for part in parts if part or not skip_empty]


def _require_nodes(content: Any) -> None:
    waiting, count = [content], 0
    while waiting:
        item = waiting.pop()
        count += 1
        if count > MAX_NODES:
            raise ExpressionError(f"the YAML stands for more than {MAX_NODES:,} values")
        waiting.extend(
            dict.values(item) if isinstance(item, dict) else list.__iter__(item) if isinstance(item, list) else ()
        )


if __name__ == "__main__":
    main()
