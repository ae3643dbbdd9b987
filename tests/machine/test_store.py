"""Cached programs are traced anew when the source of anything that writes them has changed."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path

import equipoise
from equipoise.control.item import Item
from equipoise.machine.store import EQUATION_SOURCES

PACKAGE = Path(equipoise.__file__).parent


def kinds(base: type) -> set[type]:
    return {base} | {found for kind in base.__subclasses__() for found in kinds(kind)}


def test_tasks_contacts_and_constraints_of_the_package_are_among_the_sources():
    """An item elsewhere would go on with the kernel of its last version."""
    for module in pkgutil.walk_packages([str(PACKAGE)], "equipoise."):
        if module.name.split(".")[1] in ("control", "walking", "balance", "estimation", "simulate", "body"):
            importlib.import_module(module.name)
    own = [kind for kind in kinds(Item) if kind.__module__.startswith("equipoise.")]
    assert len(own) > 30
    for kind in own:
        path = Path(inspect.getfile(kind)).relative_to(PACKAGE).as_posix()
        assert path.startswith(tuple(f"{folder}/" for folder in EQUATION_SOURCES)), f"{kind.__name__} in {path}"
