"""What can be wrong with a user's input, as types. Every message names the thing, what was wanted and what came."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Iterable
from difflib import get_close_matches


class EquipoiseError(Exception):
    """Root of every error that Equipoise raises on purpose."""


class ModelError(EquipoiseError):
    """The robot description cannot be a robot: not a tree, not physical, not readable."""


class UnknownNameError(EquipoiseError, KeyError):
    """A frame, link, joint or robot of that name does not exist."""

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return str(self.args[0])


class ShapeError(EquipoiseError, ValueError):
    """An array has the wrong shape or kind."""


class StateError(EquipoiseError, ValueError):
    """A configuration, velocity or force holds numbers no robot can have."""


class ConstraintError(EquipoiseError):
    """Constraints that no motion or configuration satisfies."""


class CompileError(EquipoiseError):
    """A symbolic function cannot be turned into machine code."""


class MissingPackageError(EquipoiseError, ImportError):
    """An optional package is needed for what was asked and is not installed."""


class ModelWarning(UserWarning):
    """The description is doubtful but usable. `eq.load(…, strict=True)` turns those about masses and limits into
    errors."""


class ContactWarning(UserWarning):
    """A contact that a controller relies on does not touch anything."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """The error for a name nobody has, with the nearest names and the choices."""
    names = list(known)
    close = get_close_matches(str(name), names, n=3)
    hint = f" Did you mean {' or '.join(repr(c) for c in close)}?" if close else ""
    shown = ", ".join(names[:40]) + (f", … ({len(names)} in all)" if len(names) > 40 else "")
    return UnknownNameError(f"no {kind} named {name!r}.{hint} There are: {shown or 'none'}.")


DEPRECATED = "will be removed in 0.4"


def deprecated(old: str, new: str, level: int = 3) -> None:
    """Warns that a name will go with version 0.4.

    Args:
        old, new: as a user writes them.
        level: of the caller who wrote the old name, above this function.
    """
    warnings.warn(f"{old} {DEPRECATED}; use {new}", DeprecationWarning, stacklevel=level)


def require_packages(extra: str, purpose: str, *modules: str) -> None:
    """Raise before any work is done if a package is not installed. It is looked for, not imported.

    Args:
        extra: of Equipoise that brings them all.
        modules: as they are imported.
    """
    for module in modules:
        if module not in sys.modules and importlib.util.find_spec(module) is None:
            raise missing_package(module, extra, purpose)


def missing_package(package: str, extra: str, purpose: str) -> MissingPackageError:
    """The error for an optional package that is not there."""
    return MissingPackageError(
        f"{purpose} needs the package {package!r}, which is not installed. Install it with: pip install "
        f"'equipoise[{extra}]'"
    )


def missing_casadi() -> MissingPackageError:
    """The error for a machine that was given a filled cache, and then a robot that is not in it."""
    return MissingPackageError(
        "this robot, equation or controller is not in the cache, and writing it anew needs the package 'casadi', which "
        "is not installed. Install it with: pip install casadi; or fill the cache where it is installed"
    )
