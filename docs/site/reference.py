"""Pages of the API reference, one for each room, so that every public name is on one of them."""

from __future__ import annotations

import importlib
from pathlib import Path

import equipoise as eq

ROOMS = {  # page → (title, rooms whose names stand there)
    "robots": ("Robots", ("robot", "machine")),
    "forms": ("Forms of the equations of motion", ("forms",)),
    "geometry": ("Geometry", ("geometry",)),
    "bodies": ("Bodies and inverse kinematics", ("body",)),
    "control": ("Control", ("control",)),
    "walking": ("Walking", ("walking",)),
    "estimation": ("Estimation", ("estimation",)),
    "simulation": ("Simulation", ("simulate",)),
    "show": ("Viewer, plots, reports", ("show",)),
    "errors": ("Errors and warnings", ("errors",)),
}


def pages() -> dict[str, str]:
    """File name → text."""
    made = {}
    rest = dict(eq._HOMES)
    for page, (title, rooms) in ROOMS.items():
        names = [name for name, home in eq._HOMES.items() if home.partition(".")[0] in rooms]
        for name in names:
            rest.pop(name)
        if names:
            entries = "\n".join(f"::: equipoise.{eq._HOMES[name]}.{name}\n" for name in names)
            made[f"{page}.md"] = f"# {title}\n\nAll of these are names of `equipoise`: `eq.{names[0]}`.\n\n{entries}"
    if rest:
        entries = "\n".join(f"::: equipoise.{home}.{name}\n" for name, home in rest.items())
        made["others.md"] = f"# Others\n\n{entries}"
    for name, home in eq._MODULES.items():
        made[f"{name}-module.md"] = _module(name, f"equipoise.{home}")
    index = "\n".join(f"- [{text.splitlines()[0].lstrip('# ')}]({file})" for file, text in made.items())
    about = "Written from the docstrings. Shapes are in brackets, units are SI; see [Notation](../notation.md)."
    made["index.md"] = f"# API reference\n\n{about}\n\n{index}\n"
    return made


def _module(name: str, path: str) -> str:
    """A module with the names that it offers."""
    module = importlib.import_module(path)
    homes = getattr(module, "_HOMES", None)
    title = f"# eq.{name}\n\n"
    if homes:  # a room with lazy names
        return title + "\n".join(f"::: {path}.{home}.{n}\n" for n, home in homes.items())
    offered = getattr(module, "__all__", None)
    if offered:
        return title + "\n".join(f"::: {getattr(module, n).__module__}.{n}\n" for n in offered)
    return title + f"::: {path}\n    options:\n      show_root_heading: false\n"


def public_names() -> list[str]:
    """Every name that a reader may look up, as the reference calls it."""
    return [f"equipoise.{home}.{name}" for name, home in eq._HOMES.items()]


def write(folder: Path) -> None:
    """All pages, as they are now."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.md"):
        old.unlink()
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
