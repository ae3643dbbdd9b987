"""Names that a package offers, as its stub lists them: each is imported when first used.

A stub (`__init__.pyi`, what editors and type checkers read) has one line for each name, `from .place import name as
name`; a line that ends in `# module` names a module.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

_LINE = re.compile(r"^from \.(\S*) import (\w+) as \2( +# module)?$", re.MULTILINE)


def listed(init: str) -> tuple[dict[str, str], dict[str, str]]:
    """Name → module it is in, and name → module it is, beside the `__init__.py` of a package."""
    lines = _LINE.findall(Path(init).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {name: home for home, name, module in lines if not module}
    return homes, {name: f"{home}.{name}".lstrip(".") for home, name, module in lines if module}


def importer(package: dict[str, Any], homes: dict[str, str], modules: dict[str, str]) -> Callable[[str], Any]:
    """`__getattr__` of a package, from its globals."""

    def get(name: str) -> Any:
        home = package["__name__"]
        if name in homes:
            package[name] = getattr(importlib.import_module(f"{home}.{homes[name]}"), name)
            return package[name]
        if name in modules:
            return importlib.import_module(f"{home}.{modules[name]}")
        raise AttributeError(f"module {home!r} has no attribute {name!r}; it offers {', '.join(package['__all__'])}")

    return get
