"""MJCF text through MuJoCo's compiler, with what it should not see kept away from it."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelError, ModelWarning, missing_package
from . import xml
from .meshes import MAX_BYTES, is_there

MAX_COPIES = 5_000  # of one element
EMPTY = re.compile(r"""\b(anchor|relpose|polycoef)\s*=\s*(?:"\s*"|'\s*')""")
TAG = re.compile(r"""<([\w:.-]*)(?:[^"'>]++|"[^"]*"|'[^']*')*+>""")


def text_of(source: str | Path) -> tuple[str, Path | None]:
    """The description, and where it lies if it is a file."""
    data = xml.load(source)
    if isinstance(data, str):
        return data, None
    return data.decode("utf-8-sig", errors="replace"), Path(os.path.expanduser(source))


def require_plain(text: str, path: Path | None, where: str) -> None:
    """Refuse entities, here and in files that are included or attached, and files that contain themselves.

    MuJoCo runs out of stack on a model that attaches itself. No strict parser is used: MuJoCo reads what one would
    refuse, such as two dashes in a comment.
    """
    root = re.search(r"<\s{0,9}([A-Za-z][\w.:-]*)", xml.without_comments(text))
    if root is not None and root[1] != "mujoco":
        raise ModelError(f"{where} is not MJCF: its root element is <{xml.shortened(root[1])}>, wanted <mujoco>")
    folder = Path() if path is None else path.parent
    waiting, parts = [(where, text, folder, _real(path, where))], dict[Path | None, set[Path]]()
    tags: dict[Path | None, list[tuple[int, int]]] = {}  # of each file, see `_multiplied`
    while waiting:
        name, text, here, own = waiting.pop()
        bare = xml.without_comments(text)
        if re.search(r"<!\s{0,9}(DOCTYPE|ENTITY)", bare, flags=re.IGNORECASE):
            raise ModelError(f"{name} declares a DOCTYPE or XML entities; they are refused. Write the values out.")
        _require_filled(bare, name)
        _require_plain_files(bare, {folder, here}, name)
        tags[own] = list(_multiplied(bare))
        parts[own] = set()
        for file in _files(bare):
            found = {real for start in (folder, here) if (real := _real(start / file, name)) and real.is_file()}
            parts[own] |= found  # a missing one is MuJoCo's to report
            named = f"{xml.shortened(file)!r}, included in {name},"
            waiting += [(named, text_of(part)[0], part.parent, part) for part in found if part not in parts]
            parts |= {part: parts.get(part, set()) for part in found}
    _require_few(tags, parts, _require_no_cycle(parts, where), where)


def _multiplied(text: str) -> Iterator[tuple[int, int]]:
    """For each tag of a text without comments: how many elements it stands for, and how often its file is put in."""
    times = [1]
    for tag in _tags(text):
        count = math.prod(int(n) for n in re.findall(r"\bcount\s*=\s*[\"']([\d\s]*)", tag[0])[:1] for n in n.split())
        if tag[0].startswith("</replicate") and len(times) > 1:
            times.pop()
        elif tag[1] == "replicate" and not tag[0].endswith("/>"):
            times.append(times[-1] * max(count, 1))
        else:
            made = times[-1] * (count if tag[1] in ("composite", "flexcomp") else 1)
            yield made, times[-1] if tag[1] in ("include", "attach") else 0


def _require_few(
    tags: Mapping[Path | None, list[tuple[int, int]]],
    parts: Mapping[Path | None, set[Path]],
    order: Sequence[Path | None],
    where: str,
) -> None:
    """Refuse a text that multiplies itself. `order`: files, each after those it includes or attaches."""
    sizes: dict[Path | None, int] = {}
    for own in order:
        inside = sum(sizes[part] for part in parts[own])  # attachments name a model, not its file: all are counted
        sizes[own] = sum(made + puts * inside for made, puts in tags[own])
    if max(sizes.values()) > xml.MAX_ELEMENTS or any(made > MAX_COPIES for own in tags for made, _ in tags[own]):
        raise ModelError(
            f"{where} stands for more than {MAX_COPIES:,} copies of one element or {xml.MAX_ELEMENTS:,} elements "
            "in all (<replicate>, <composite>, <attach>): no robot has so many"
        )


def _require_plain_files(text: str, folders: set[Path], where: str) -> None:
    """Refuse FIFOs, devices and meshes without end: MuJoCo would wait for them or read until memory ends."""
    inside = [""]
    for tag in _tags(text):
        if tag[1] == "compiler":
            inside += re.findall(r"\b(?:mesh|texture|asset)dir\s*=\s*[\"']([^\"']+)", tag[0])
    for tag in _tags(text):
        for file in re.findall(r"\bfile\w*\s*=\s*[\"']([^\"']+)", tag[0]):
            for folder, below, name in itertools.product(folders, inside, {file, Path(file).name}):
                path = _real(folder / below / name, where)
                if path is not None and path.exists() and not path.is_dir():
                    if not path.is_file():
                        raise ModelError(f"{where} names {xml.shortened(file)!r}, which is not a plain file")
                    if path.stat().st_size > MAX_BYTES:
                        raise ModelError(
                            f"{where} names {xml.shortened(file)!r}, which has more than {MAX_BYTES:,} bytes"
                        )


def _files(text: str) -> Iterator[str]:
    """Files that a text without comments includes or attaches."""
    for tag in _tags(text):
        if tag[1] in ("include", "model"):
            yield from re.findall(r"\bfile\s*=\s*[\"']([^\"']+)", tag[0])


def _require_filled(text: str, where: str) -> None:
    """Refuse an empty anchor and its like in <equality>: MuJoCo fails on it and hangs at its next warning."""
    for tag in _tags(text):
        found = EMPTY.search(tag[0]) if tag[1] in ("connect", "weld", "joint") else None
        if found is not None:
            raise ModelError(f"{where}: <{tag[1]}> has an empty {found[1]}; give its numbers or leave it out")


def _tags(text: str) -> Iterator[re.Match[str]]:
    """Opening and closing tags of a text without comments, up to the first that never ends."""
    at = text.find("<")
    while at >= 0 and (tag := TAG.match(text, at)) is not None:
        yield tag
        at = text.find("<", tag.end())


def _real(path: Path | None, where: str) -> Path | None:
    """The file behind a path, links followed."""
    try:
        return None if path is None else Path(os.path.realpath(path))
    except (OSError, ValueError) as error:  # a NUL in the name, for one
        raise ModelError(f"{where} names a file {xml.shortened(str(path))!r} that cannot be: {error}") from None


def _require_no_cycle(parts: Mapping[Path | None, set[Path]], where: str) -> list[Path | None]:
    """Returns the files, parts first: leaf by leaf, those whose parts are all gone; those in a cycle stay."""
    left, order = {own: set(inside) for own, inside in parts.items()}, list[Path | None]()
    while leaves := [own for own, inside in left.items() if not inside & left.keys()]:
        order += leaves
        for own in leaves:
            del left[own]
    if left:
        names = ", ".join(sorted({repr(own.name) for own in left if own is not None})[:6])
        raise ModelError(f"{where}: files include or attach themselves, one by way of the other: {names}")
    return order


def compiled(text: str, path: Path | None, where: str) -> Any:
    """MuJoCo's model of a description, without the meshes that are missing and that no inertia needs."""
    try:
        import mujoco
    except ImportError as error:
        raise missing_package("mujoco", "mujoco", "reading MJCF") from error
    try:
        with _heard(mujoco, where):
            spec = mujoco.MjSpec.from_string(text) if path is None else mujoco.MjSpec.from_file(str(path))
            _drop_paint(spec)
            try:
                return spec.compile()
            except ValueError:
                missing = _missing_files(spec)
                if not missing:
                    raise
            _strip(spec, missing, where)
            return spec.compile()
    except (ValueError, RuntimeError, mujoco.FatalError) as error:
        raise ModelError(f"MuJoCo cannot read {where}: {' '.join(str(error).split())}") from error


@contextlib.contextmanager
def _heard(mujoco: Any, where: str) -> Iterator[None]:
    """What MuJoCo warns of as `ModelWarning`; left alone, it writes a log file into the current folder."""
    before, messages = mujoco.get_mju_user_warning(), list[str]()
    mujoco.set_mju_user_warning(messages.append)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)
        for message in dict.fromkeys(messages):
            warnings.warn(f"{where}: MuJoCo warns: {message}", ModelWarning, stacklevel=6)


def _drop_paint(spec: Any) -> None:
    """Textures and skins only matter to a renderer; their files need not be there."""
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for thing in [*spec.textures, *spec.skins]:
        spec.delete(thing)


def _missing_files(spec: Any) -> dict[str, Any]:
    """Meshes and height fields whose file is not there, by name."""
    missing = {}
    for asset in [*spec.meshes, *spec.hfields]:
        file = Path(asset.file).name if spec.strippath else asset.file
        if file and not is_there(Path(spec.modelfiledir) / asset.compiler.meshdir / file):
            missing[asset.name or Path(file).stem] = asset
    return missing


def _strip(spec: Any, missing: Mapping[str, Any], where: str) -> None:
    """Take out what needs the missing files, if no inertia depends on it."""
    geoms = [geom for geom in spec.geoms if geom.meshname in missing or geom.hfieldname in missing]
    inferred = sorted({geom.parent.name or "unnamed" for geom in geoms if _gives_mass(spec, geom)})
    files = ", ".join(sorted({repr(asset.file) for asset in missing.values()}))
    if inferred:
        raise ModelError(
            f"{where} needs mesh files that are missing ({files}): the mass of {', '.join(map(repr, inferred[:8]))} is "
            "computed from them. Put the files in place, or give each of these bodies an <inertial>."
        )
    warnings.warn(f"{where}: mesh files are missing, their shapes are left out: {files}", ModelWarning, stacklevel=4)
    # sensors and contact pairs may name the geoms; the model holds neither
    for thing in [*spec.sensors, *spec.pairs, *geoms, *missing.values()]:
        spec.delete(thing)


def _gives_mass(spec: Any, geom: Any) -> bool:
    """Whether MuJoCo would compute the inertia of the body from this geom."""
    if geom.parent.name == "world" or geom.mass == 0 or (np.isnan(geom.mass) and geom.density == 0):
        return False
    low, high = spec.compiler.inertiagrouprange
    always = int(spec.compiler.inertiafromgeom) == 1
    return bool(low <= geom.group <= high and (always or not geom.parent.explicitinertial))
