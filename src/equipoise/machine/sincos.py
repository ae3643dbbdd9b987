"""Sine and cosine of several angles at once, as LLVM IR.

Reduction by multiples of π/2 held in three parts with fused multiply-add; the first difference is exact, so the reduced
angle is good to the last bit for |x| up to 2²⁰. Polynomials fitted at Chebyshev points of [0, (π/4)²]; their errors,
2e-17 and 1e-18, are below the rounding. Larger angles go to the C library, lane by lane.
"""

from __future__ import annotations

import struct

FAST_LIMIT = float(2**20)
_PI_2 = (
    float.fromhex("0x1.921fb54442d18p+0"),
    float.fromhex("0x1.1a62633145c07p-54"),
    float.fromhex("-0x1.f1976b7ed8fbcp-110"),
)
_SIN = (
    -0.16666666666666666, 0.008333333333330925, -0.00019841269836722437,
    2.755731608382574e-06, -2.505112794596564e-08, 1.591784866512194e-10,
)  # fmt: skip
_COS = (
    0.041666666666666664, -0.0013888888888887382, 2.480158729874308e-05,
    -2.755731726001471e-07, 2.0876143829213935e-09, -1.1382456865840483e-11,
)  # fmt: skip
_ROUND = 1.5 * 2.0**52  # adding it rounds to an integer, which then stands in the lowest bits


def double(x: float) -> str:
    """A double as IR writes it, exactly."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


def _constant(x: float) -> str:
    return f"splat (double {double(x)})"


def sincos_ir(lanes: int) -> str:
    """`{V, V} @sincos(V)` with V = <lanes x double>: sine and cosine."""
    V, I, B, suffix = f"<{lanes} x double>", f"<{lanes} x i64>", f"<{lanes} x i1>", f"v{lanes}f64"
    lines = [
        f"declare {V} @llvm.fma.{suffix}({V}, {V}, {V})",
        f"declare {V} @llvm.fabs.{suffix}({V})",
        f"declare i1 @llvm.vector.reduce.or.v{lanes}i1({B})",
        "declare double @sin(double)",
        "declare double @cos(double)",
        f"define internal {{{V}, {V}}} @sincos({V} %x) noinline nounwind {{",
        f"  %ax = call {V} @llvm.fabs.{suffix}({V} %x)",
        f"  %far = fcmp ogt {V} %ax, {_constant(FAST_LIMIT)}",
        f"  %any = call i1 @llvm.vector.reduce.or.v{lanes}i1({B} %far)",
        *_reduced(V, suffix),
        *_polynomials(V, suffix),
        *_quadrants(V, I, B),
        f"  %f0 = insertvalue {{{V}, {V}}} poison, {V} %s_final, 0",
        f"  %f1 = insertvalue {{{V}, {V}}} %f0, {V} %c_final, 1",
        "  br i1 %any, label %slow, label %fast",
        "fast:",
        f"  ret {{{V}, {V}}} %f1",
        "slow:",
        *_library(lanes, V, B),
        "}",
    ]
    return "\n".join(lines)


def _reduced(V: str, suffix: str) -> list[str]:
    """r = x − j π/2, with j the nearest integer to x / (π/2)."""
    c = _constant
    return [
        f"  %turns = call {V} @llvm.fma.{suffix}({V} %x, {V} {c(1 / _PI_2[0])}, {V} {c(_ROUND)})",
        f"  %j = fsub {V} %turns, {c(_ROUND)}",
        f"  %r1 = call {V} @llvm.fma.{suffix}({V} %j, {V} {c(-_PI_2[0])}, {V} %x)",
        f"  %r2 = call {V} @llvm.fma.{suffix}({V} %j, {V} {c(-_PI_2[1])}, {V} %r1)",
        f"  %r = call {V} @llvm.fma.{suffix}({V} %j, {V} {c(-_PI_2[2])}, {V} %r2)",
        f"  %z = fmul {V} %r, %r",
    ]


def _polynomials(V: str, suffix: str) -> list[str]:
    """sin r = r + r³ P(r²) and cos r = 1 − r²/2 + r⁴ Q(r²); what rounding 1 − r²/2 drops comes back with Q."""
    c = _constant
    return [
        *_horner("s", _SIN, V, suffix),
        *_horner("c", _COS, V, suffix),
        f"  %rz = fmul {V} %r, %z",
        f"  %sin = call {V} @llvm.fma.{suffix}({V} %rz, {V} %s0, {V} %r)",
        f"  %half = fmul {V} %z, {c(0.5)}",
        f"  %w = fsub {V} {c(1.0)}, %half",
        f"  %lost = fsub {V} {c(1.0)}, %w",
        f"  %rest = fsub {V} %lost, %half",
        f"  %zz = fmul {V} %z, %z",
        f"  %tail = call {V} @llvm.fma.{suffix}({V} %zz, {V} %c0, {V} %rest)",
        f"  %cos = fadd {V} %w, %tail",
    ]


def _quadrants(V: str, I: str, B: str) -> list[str]:
    """Sine and cosine change places in odd quadrants, and signs as j says."""
    return [
        f"  %bits = bitcast {V} %turns to {I}",
        f"  %odd = trunc {I} %bits to {B}",
        f"  %s_swapped = select {B} %odd, {V} %cos, {V} %sin",
        f"  %c_swapped = select {B} %odd, {V} %sin, {V} %cos",
        *_signed("s", "%bits", I, V),
        f"  %next = add {I} %bits, splat (i64 1)",
        *_signed("c", "%next", I, V),
    ]


def _horner(name: str, coefficients: tuple[float, ...], V: str, suffix: str) -> list[str]:
    lines = []
    last = _constant(coefficients[-1])
    for k in reversed(range(len(coefficients) - 1)):
        lines.append(
            f"  %{name}{k} = call {V} @llvm.fma.{suffix}({V} {last}, {V} %z, {V} {_constant(coefficients[k])})"
        )
        last = f"%{name}{k}"
    return lines


def _signed(name: str, bits: str, I: str, V: str) -> list[str]:
    """Negative in the two quadrants where bit 1 is set."""
    return [
        f"  %{name}_two = and {I} {bits}, splat (i64 2)",
        f"  %{name}_sign = shl {I} %{name}_two, splat (i64 62)",
        f"  %{name}_raw = bitcast {V} %{name}_swapped to {I}",
        f"  %{name}_flipped = xor {I} %{name}_raw, %{name}_sign",
        f"  %{name}_final = bitcast {I} %{name}_flipped to {V}",
    ]


def _library(lanes: int, V: str, B: str) -> list[str]:
    """The C library's values in the lanes that are far; the others keep theirs, whoever stands beside them."""
    lines = []
    for k in range(lanes):
        lines += [
            f"  %x{k} = extractelement {V} %x, i32 {k}",
            f"  %ls{k} = call double @sin(double %x{k})",
            f"  %lc{k} = call double @cos(double %x{k})",
            f"  %vs{k} = insertelement {V} {f'%vs{k - 1}' if k else 'poison'}, double %ls{k}, i32 {k}",
            f"  %vc{k} = insertelement {V} {f'%vc{k - 1}' if k else 'poison'}, double %lc{k}, i32 {k}",
        ]
    return [
        *lines,
        f"  %ls = select {B} %far, {V} %vs{lanes - 1}, {V} %s_final",
        f"  %lc = select {B} %far, {V} %vc{lanes - 1}, {V} %c_final",
        f"  %l0 = insertvalue {{{V}, {V}}} poison, {V} %ls, 0",
        f"  %l1 = insertvalue {{{V}, {V}}} %l0, {V} %lc, 1",
        f"  ret {{{V}, {V}}} %l1",
    ]
