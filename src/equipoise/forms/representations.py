"""Twists, accelerations and wrenches of a frame in the three representations [TPN17, Sec. 2.4], on arrays."""

from __future__ import annotations

import numpy as np

from ..algebra.rigid import skew
from ..errors import ShapeError, unknown_name

Array = np.ndarray
REPRESENTATIONS = ("mixed", "body", "inertial")


def from_mixed(X: Array, representation: str) -> Array:
    """Y with V = Y V_mixed, (…, 6, 6), for a frame at pose X."""
    if representation not in REPRESENTATIONS:
        raise unknown_name("velocity representation", representation, REPRESENTATIONS)
    X = np.asarray(X, dtype=float)
    if X.shape[-2:] != (4, 4):
        raise ShapeError(f"X must be a pose of shape (…, 4, 4), got {X.shape}")
    Y = np.zeros((*X.shape[:-2], 6, 6))
    turn = np.swapaxes(X[..., :3, :3], -1, -2) if representation == "body" else np.eye(3)
    Y[..., :3, :3] = Y[..., 3:, 3:] = turn
    if representation == "inertial":
        Y[..., :3, 3:] = skew(X[..., :3, 3])
    return Y


def _between(X: Array, from_: str, to: str) -> Array:
    return from_mixed(X, to) @ np.linalg.inv(from_mixed(X, from_))


def twist(X: Array, V: Array, from_: str, to: str) -> Array:
    """A twist of the frame at pose X in another representation."""
    return np.einsum("...ij,...j->...i", _between(X, from_, to), np.asarray(V))


def wrench(X: Array, F: Array, from_: str, to: str) -> Array:
    """A wrench on the frame at pose X in another representation; its power is the same."""
    return np.einsum("...ji,...j->...i", _between(X, to, from_), np.asarray(F))


def jacobian(X: Array, J: Array, from_: str, to: str) -> Array:
    """The Jacobian of the twist of a frame in another representation; the variables it multiplies stay as they are."""
    return _between(X, from_, to) @ np.asarray(J)


def acceleration(X: Array, V: Array, A: Array, from_: str, to: str) -> Array:
    """Time derivative of a twist in another representation, from the twist and its derivative in the first.

    With V_to = Y V_mixed the derivative is Y A_mixed + Ẏ V_mixed; Ẏ turns with the frame (body) or shifts with it
    (inertial).
    """
    V_mixed = twist(X, V, from_, "mixed")
    A_mixed = np.einsum(
        "...ij,...j->...i", np.linalg.inv(from_mixed(X, from_)), np.asarray(A) - _drift(X, V_mixed, from_)
    )
    return np.einsum("...ij,...j->...i", from_mixed(X, to), A_mixed) + _drift(X, V_mixed, to)


def _drift(X: Array, V_mixed: Array, representation: str) -> Array:
    """Ẏ V_mixed."""
    linear, w = V_mixed[..., :3], V_mixed[..., 3:]
    if representation == "mixed":
        return np.zeros_like(V_mixed)
    if representation == "inertial":
        return np.concatenate([np.cross(linear, w), np.zeros_like(w)], axis=-1)
    turned = -np.einsum("...ji,...j->...i", X[..., :3, :3], np.cross(w, linear))
    return np.concatenate([turned, np.zeros_like(w)], axis=-1)
