"""Functions that programs need and C lacks or defines differently: text for both C99 and CUDA.

`FUNCTION` is `static` in C and `__device__` in CUDA. Sine and cosine in double precision use the polynomials of
`machine/sincos.py`; single precision uses shorter ones, fitted the same way. They have no branch, so the compiler
can order the whole program. Angles so large that neighbouring numbers are several degrees apart give NaN.
"""

from __future__ import annotations

import numpy as np

from ..sincos import _COS, _PI_2, _SIN

FAR = {"float64": 2.0**48, "float32": 2.0**20}  # rad; neighbouring numbers there are 0.06 and 0.12 rad apart
_ROUND = {"float64": 1.5 * 2.0**52, "float32": 1.5 * 2.0**23}
_PI_2_SINGLE = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
_SIN_SINGLE = (-0.16666655242443085, 0.008332176133990288, -0.00019516977772582322)
_COS_SINGLE = (0.04166664555668831, -0.0013887364184483886, 2.443809171381872e-05)


def literal(value: float, dtype: str) -> str:
    """Returns a number as an exact C literal; negative numbers are in brackets."""
    if dtype == "float32":
        with np.errstate(over="ignore"):
            value = float(np.float32(value))
    suffix = "f" if dtype == "float32" else ""
    if value != value:
        return "EQ_NAN"
    if value in (float("inf"), float("-inf")):
        return "EQ_INFINITY" if value > 0 else "(-EQ_INFINITY)"
    text = repr(value)
    if "." not in text and "e" not in text:
        text += ".0"
    return f"({text}{suffix})" if text.startswith("-") else text + suffix


def helpers(dtype: str, *, polynomials: bool) -> str:
    """Returns the definitions for one precision; with `polynomials` its own sines and cosines, else those of the C
    library.
    """
    f = "f" if dtype == "float32" else ""
    lines = [
        f"typedef {'float' if f else 'double'} real;",
        f"#define EQ_INFINITY ({'1e38f * 10.0f' if f else '1e308 * 10.0'})",
        "#define EQ_NAN (EQ_INFINITY * 0)",
        "FUNCTION real eq_min(real a, real b) { return (a < b || a != a) ? a : b; }",
        "FUNCTION real eq_max(real a, real b) { return (a > b || a != a) ? a : b; }",
        "FUNCTION real eq_sign(real a) { return a > 0 ? (real)1 : a < 0 ? (real)-1 : a; }",
    ]
    if polynomials:
        return "\n".join([*lines, *_inverse(dtype), *_sincos(dtype)])
    lines.append("FUNCTION real eq_inverse(real x) { return 1 / x; }")
    return "\n".join(
        [*lines, f"FUNCTION void eq_sincos(real x, real *s, real *c) {{ *s = sin{f}(x); *c = cos{f}(x); }}"]
    )


def _inverse(dtype: str) -> list[str]:
    """Returns 1 / x, accurate to a bit or two, without a branch: the processor's estimate, then Newton steps r += r (1
    − x r).

    Where the steps give NaN (x zero or infinite), the estimate is exact and used.
    """
    f = "f" if dtype == "float32" else ""
    name, kind, steps = ("rcp.approx.f32", "f", 1) if f else ("rcp.approx.ftz.f64", "d", 2)
    better = "estimate"
    for _ in range(steps):
        better = f"eq_newton(x, {better})"
    return [
        f"FUNCTION real eq_newton(real x, real r) {{ return fma{f}(r, fma{f}(-x, r, {literal(1.0, dtype)}), r); }}",
        "FUNCTION real eq_inverse(real x) {",
        "#ifdef __CUDACC__",
        "  real estimate;",
        f'  asm("{name} %0, %1;" : "={kind}"(estimate) : "{kind}"(x));',
        f"  const real better = {better};",
        "  return better == better ? better : estimate;",
        "#else",
        "  return 1 / x;",
        "#endif",
        "}",
    ]


def _sincos(dtype: str) -> list[str]:
    """Returns the same algorithm as `machine/sincos.py`: reduction by multiples of π/2, two polynomials, quadrants."""
    f = "f" if dtype == "float32" else ""
    parts = _PI_2_SINGLE if f else _PI_2

    def number(x: float) -> str:
        return literal(x, dtype)

    return [
        "FUNCTION void eq_sincos(real x, real *s, real *c) {",
        f"  if (!(fabs{f}(x) <= {number(FAR[dtype])})) x = EQ_NAN;",
        f"  const real turns = fma{f}(x, {number(1 / _PI_2[0])}, {number(_ROUND[dtype])});",
        f"  const real j = turns - {number(_ROUND[dtype])};",
        f"  const {'int' if f else 'long long'} quadrant = ({'int' if f else 'long long'})j;",
        f"  const real r1 = fma{f}(j, {number(-parts[0])}, x);",
        f"  const real r2 = fma{f}(j, {number(-parts[1])}, r1);",
        f"  const real r = fma{f}(j, {number(-parts[2])}, r2);",
        "  const real z = r * r;",
        f"  const real sine = fma{f}(r * z, {_horner(_SIN_SINGLE if f else _SIN, dtype)}, r);",
        *_cosine(dtype),
        "  const real a = (quadrant & 1) ? cosine : sine, b = (quadrant & 1) ? sine : cosine;",
        "  *s = (quadrant & 2) ? -a : a;",
        "  *c = ((quadrant + 1) & 2) ? -b : b;",
        "}",
    ]


def _cosine(dtype: str) -> list[str]:
    """Returns 1 − z/2 + z² Q(z); the rounding error of 1 − z/2 is added to Q's term."""
    f, Q = ("f", _COS_SINGLE) if dtype == "float32" else ("", _COS)
    half = literal(0.5, dtype)
    return [
        f"  const real half = z * {half}, w = {literal(1.0, dtype)} - half;",
        f"  const real cosine = w + fma{f}(z * z, {_horner(Q, dtype)}, ({literal(1.0, dtype)} - w) - half);",
    ]


def _horner(coefficients: tuple[float, ...], dtype: str) -> str:
    f = "f" if dtype == "float32" else ""
    text = literal(coefficients[-1], dtype)
    for c in reversed(coefficients[:-1]):
        text = f"fma{f}({text}, z, {literal(c, dtype)})"
    return text
