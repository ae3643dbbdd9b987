"""Tasks, contacts, constraints and the controller; and the control laws of the papers in closed form."""

from __future__ import annotations

from ..public_names import importer, listed

_HOMES, _ = listed(__file__)
__all__ = list(_HOMES)
__getattr__ = importer(globals(), _HOMES, {})


def __dir__() -> list[str]:
    return sorted(__all__)
