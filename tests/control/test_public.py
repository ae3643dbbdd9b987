"""The names under `eq.control`."""

from __future__ import annotations

import pytest

import equipoise as eq


def test_every_public_name_is_there():
    for name in eq.control.__all__:
        assert getattr(eq.control, name) is not None
    assert set(eq.control.__all__) <= set(dir(eq.control))
    with pytest.raises(AttributeError, match="no attribute 'warp'; it offers"):
        _ = eq.control.warp
