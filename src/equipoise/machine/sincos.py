"""Emits sine and cosine of several angles at once as LLVM IR.

The angle is reduced by multiples of π/2, which is held in three parts, with fused multiply-add. The first difference
is exact, so the reduced angle is accurate to the last bit for |x| up to 2²⁰. The polynomials are fitted at Chebyshev
points of [0, (π/4)²]; their errors, 2e-17 and 1e-18, are below the rounding error. Larger angles are passed to the C
library lane by lane.
"""

from __future__ import annotations

import re

from .constants import POINTER, ConstantTable

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


def sincos_ir(lanes: int, count: int = 1) -> str:
    """Emits `@sincos1(V)` → {sine, cosine} or `@sincos2(V, V)` → two of each, with V = <lanes x double>.

    Two vectors at once load the constants once, and hide each other's latency.
    """
    return "\n".join(_Sincos(lanes, count).lines())


class _Sincos:
    """Writes the function section by section; names that belong to vector k end in k."""

    def __init__(self, lanes: int, count: int) -> None:
        self.lanes, self.count, self.suffix = lanes, count, f"v{lanes}f64"
        self.V, self.I, self.B = f"<{lanes} x double>", f"<{lanes} x i64>", f"<{lanes} x i1>"
        self.constants = ConstantTable("double")
        self.loads: list[str] = []

    def lines(self) -> list[str]:
        V, B, name, each = self.V, self.B, f"sincos{self.count}", range(self.count)
        near = [*self._far(), *self._reduced(), *self._polynomials(), *self._quadrants()]
        results, arguments = f"{{{', '.join([V] * 2 * self.count)}}}", ", ".join(f"{V} %x_{k}" for k in each)
        return [
            f"declare {V} @llvm.fma.{self.suffix}({V}, {V}, {V})",
            f"declare {V} @llvm.fabs.{self.suffix}({V})",
            f"declare i1 @llvm.vector.reduce.or.v{self.lanes}i1({B})",
            "declare double @sin(double)",
            "declare double @cos(double)",
            *self.constants.definitions(name),
            f"define internal {results} @{name}({arguments}) noinline nounwind {{",
            *self.constants.address(name),
            *self.loads,
            *(_numbered(line, k) for line in near for k in each),
            f"  %any_so_far = or i1 %any_0, %any_{self.count - 1}",
            "  br i1 %any_so_far, label %slow, label %fast",
            "fast:",
            *self._returned(results, "final"),
            "slow:",
            *(_numbered(line, k) for k in each for line in _library(self.lanes, V, B)),
            *self._returned(results, "library"),
            "}",
        ]

    def _returned(self, results: str, kind: str) -> list[str]:
        """Emits the return of sine and cosine of each vector."""
        lines, last = [], "poison"
        for k, value in enumerate(f"%{name}_{kind}_{k}" for k in range(self.count) for name in "sc"):
            lines.append(f"  %{kind}_results{k} = insertvalue {results} {last}, {self.V} {value}, {k}")
            last = f"%{kind}_results{k}"
        return [*lines, f"  ret {results} {last}"]

    def _constant(self, x: float) -> str:
        """Returns the name of a constant in all lanes; emits its load at the first use."""
        place = self.constants.place(x)
        name = f"%constant{place}"
        if len(self.loads) == 4 * place:  # the constant is new
            self.loads += [
                f"  {name}_at = getelementptr double, ptr {POINTER}, i64 {place}",
                f"  {name}_one = load double, ptr {name}_at",
                f"  {name}_first = insertelement {self.V} poison, double {name}_one, i32 0",
                f"  {name} = shufflevector {self.V} {name}_first, {self.V} poison, "
                f"<{self.lanes} x i32> zeroinitializer",
            ]
        return name

    def _fma(self, name: str, a: str, b: str, c: str) -> str:
        V = self.V
        return f"  %{name} = call {V} @llvm.fma.{self.suffix}({V} {a}, {V} {b}, {V} {c})"

    def _far(self) -> list[str]:
        """Emits the test whether any angle is too large for the reduction."""
        return [
            f"  %ax = call {self.V} @llvm.fabs.{self.suffix}({self.V} %x)",
            f"  %far = fcmp ogt {self.V} %ax, {self._constant(FAST_LIMIT)}",
            f"  %any = call i1 @llvm.vector.reduce.or.v{self.lanes}i1({self.B} %far)",
        ]

    def _reduced(self) -> list[str]:
        """Emits r = x − j π/2, with j the nearest integer to x / (π/2)."""
        c = self._constant
        return [
            self._fma("turns", "%x", c(1 / _PI_2[0]), c(_ROUND)),
            f"  %j = fsub {self.V} %turns, {c(_ROUND)}",
            self._fma("r1", "%j", c(-_PI_2[0]), "%x"),
            self._fma("r2", "%j", c(-_PI_2[1]), "%r1"),
            self._fma("r", "%j", c(-_PI_2[2]), "%r2"),
            f"  %z = fmul {self.V} %r, %r",
        ]

    def _polynomials(self) -> list[str]:
        """Emits sin r = r + r³ P(r²) and cos r = 1 − r²/2 + r⁴ Q(r²); the rounding error of 1 − r²/2 is added to Q's
        term.
        """
        V, c = self.V, self._constant
        return [
            *self._horner("s", _SIN),
            *self._horner("c", _COS),
            f"  %rz = fmul {V} %r, %z",
            self._fma("sin", "%rz", "%s0", "%r"),
            f"  %half = fmul {V} %z, {c(0.5)}",
            f"  %w = fsub {V} {c(1.0)}, %half",
            f"  %lost = fsub {V} {c(1.0)}, %w",
            f"  %rest = fsub {V} %lost, %half",
            f"  %zz = fmul {V} %z, %z",
            self._fma("tail", "%zz", "%c0", "%rest"),
            f"  %cos = fadd {V} %w, %tail",
        ]

    def _horner(self, name: str, coefficients: tuple[float, ...]) -> list[str]:
        lines = []
        last = self._constant(coefficients[-1])
        for k in reversed(range(len(coefficients) - 1)):
            lines.append(self._fma(f"{name}{k}", last, "%z", self._constant(coefficients[k])))
            last = f"%{name}{k}"
        return lines

    def _quadrants(self) -> list[str]:
        """Emits the choice by quadrant: sine and cosine change places if j is odd; bit 1 of j is the sign of the sine,
        bit 1 of j + 1 that of the cosine.
        """
        V, I, B = self.V, self.I, self.B
        return [
            f"  %bits = bitcast {V} %turns to {I}",
            f"  %odd = trunc {I} %bits to {B}",
            f"  %s_swapped = select {B} %odd, {V} %cos, {V} %sin",
            f"  %c_swapped = select {B} %odd, {V} %sin, {V} %cos",
            f"  %halves = lshr {I} %bits, splat (i64 1)",
            f"  %s_sign = shl {I} %halves, splat (i64 63)",
            f"  %odd_sign = shl {I} %bits, splat (i64 63)",
            f"  %c_sign = xor {I} %s_sign, %odd_sign",
            *self._signed("s"),
            *self._signed("c"),
        ]

    def _signed(self, name: str) -> list[str]:
        return [
            f"  %{name}_raw = bitcast {self.V} %{name}_swapped to {self.I}",
            f"  %{name}_flipped = xor {self.I} %{name}_raw, %{name}_sign",
            f"  %{name}_final = bitcast {self.I} %{name}_flipped to {self.V}",
        ]


def _numbered(line: str, k: int) -> str:
    """Returns the line for vector k; constants are shared by all vectors."""
    return re.sub(r"%(?!constant)\w+", lambda name: f"{name[0]}_{k}", line)


def _library(lanes: int, V: str, B: str) -> list[str]:
    """Emits the C library's values for lanes with large angles; the other lanes keep the result of the polynomials."""
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
        f"  %s_library = select {B} %far, {V} %vs{lanes - 1}, {V} %s_final",
        f"  %c_library = select {B} %far, {V} %vc{lanes - 1}, {V} %c_final",
    ]
