"""MJCF text through MuJoCo's compiler, with what it should not see kept away from it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelError, ModelWarning, missing_package
from . import xml


def text_of(source: str | Path) -> tuple[str, Path | None]:
    """The description, and where it lies if it is a file."""
    data = xml.load(source)
    if isinstance(data, str):
        return data, None
    return data.decode("utf-8-sig", errors="replace"), Path(source).expanduser()


def require_plain(text: str, path: Path | None, where: str) -> None:
    """Refuse entities, here and in included files, before MuJoCo sees them.

    Not by a strict parser: MuJoCo reads what one would refuse, such as two dashes in a comment.
    """
    root = re.search(r"<\s*([A-Za-z][\w.:-]*)", _without_comments(text))
    if root is not None and root[1] != "mujoco":
        raise ModelError(f"{where} is not MJCF: its root element is <{root[1]}>, wanted <mujoco>")
    folder = Path() if path is None else path.parent
    waiting, seen = [(where, text, folder)], set[Path]()
    while waiting:
        name, text, here = waiting.pop()
        bare = _without_comments(text)
        if re.search(r"<!\s*(DOCTYPE|ENTITY)", bare, flags=re.IGNORECASE):
            raise ModelError(f"{name} declares a DOCTYPE or XML entities; they are refused. Write the values out.")
        for file in re.findall(r"<(?:include|model)\s[^>]*?\bfile\s*=\s*[\"']([^\"']+)", bare):
            for part in {(folder / file).resolve(), (here / file).resolve()} - seen:
                if part.is_file():  # a missing one is MuJoCo's to report
                    waiting.append((f"{file!r}, included in {name},", text_of(part)[0], part.parent))
                seen.add(part)


def _without_comments(text: str) -> str:
    return re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)


def compiled(text: str, path: Path | None, where: str) -> Any:
    try:
        import mujoco
    except ImportError as error:
        raise missing_package("mujoco", "mujoco", "reading MJCF") from error
    try:
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
    except (ValueError, mujoco.FatalError) as error:
        raise ModelError(f"MuJoCo cannot read {where}: {' '.join(str(error).split())}") from error


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
        if file and not (Path(spec.modelfiledir) / asset.compiler.meshdir / file).is_file():
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
