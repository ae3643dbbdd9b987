"""Products of quaternions and dual quaternions given by their components: floats, arrays or symbols alike.

`DQ` and `equations` share these functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import quaternions
from ..quaternions import NUMBERS, Arithmetic

C4 = np.diag([1.0, -1.0, -1.0, -1.0])  # vec4(h*) = C4 vec4(h) [QO21, Eq. (A.7)]
C8 = np.diag([1.0, -1.0, -1.0, -1.0] * 2)  # vec8(h*) = C8 vec8(h) [QO21, Eq. (A.18)]
IMAGINARY = np.delete(np.eye(8), (0, 4), axis=0)  # Ī with vec6 = Ī vec8 [QO21, Sec. 5.2.1]


def multiply(a: Sequence[Any], b: Sequence[Any]) -> tuple[Any, ...]:
    """Product of two dual quaternions of eight components: (P + εD)(P' + εD') = PP' + ε(PD' + DP')."""
    primary, left, right = (quaternions.product(*pair) for pair in ((a[:4], b[:4]), (a[:4], b[4:]), (a[4:], b[:4])))
    return *primary, *(x + y for x, y in zip(left, right, strict=True))


def conjugate(a: Sequence[Any]) -> tuple[Any, ...]:
    """P* + ε D* [QO21, Eq. (A.16)]."""
    return *quaternions.conjugate(a[:4]), *quaternions.conjugate(a[4:])


def left_matrix(a: Sequence[Any], m: Arithmetic = NUMBERS) -> Any:
    """Hamilton operator H⁺ with vec(ab) = H⁺(a) vec(b) [QO21, Eqs. (A.5), (A.17)]: 4×4 for quaternions, else 8×8."""
    return m.matrix(
        _of_both_parts(a, lambda w, x, y, z: [[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])
    )


def right_matrix(b: Sequence[Any], m: Arithmetic = NUMBERS) -> Any:
    """Hamilton operator H⁻ with vec(ab) = H⁻(b) vec(a) [QO21, Eqs. (A.5), (A.17)]."""
    return m.matrix(
        _of_both_parts(b, lambda w, x, y, z: [[w, -x, -y, -z], [x, w, z, -y], [y, -z, w, x], [z, y, -x, w]])
    )


def _of_both_parts(a: Sequence[Any], rows_of: Callable[..., list[list[Any]]]) -> list[list[Any]]:
    """Rows of a Hamilton operator: those of a quaternion, or [[P, 0], [D, P]]."""
    primary = rows_of(*a[:4])
    if len(a) == 4:
        return primary
    dual = rows_of(*a[4:])
    return [*(row + [0.0] * 4 for row in primary), *(d + p for d, p in zip(dual, primary, strict=True))]
