"""Emits single operations of a program as LLVM IR."""

from __future__ import annotations

from .target import FLAGS, Target

_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_COMPARE = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}
_INTRINSIC = {"sqrt": "sqrt", "abs": "fabs", "floor": "floor", "ceil": "ceil", "min": "minimum", "max": "maximum",
              "copysign": "copysign"}  # fmt: skip


class Operations:
    """Collects IR text; each method appends instructions and returns the name of the result."""

    uses_sincos: bool

    def __init__(self, target: Target) -> None:
        self.t = target
        self.V = target.value
        self.B = "i1" if target.width == 1 else f"<{target.width} x i1>"
        self.text: list[str] = []
        self.declarations: set[str] = set()
        self.uses_sincos = False
        self._temporaries = 0

    @property
    def suffix(self) -> str:
        """Suffix of LLVM intrinsics for this type."""
        kind = f"f{self.t.itemsize * 8}"
        return kind if self.t.width == 1 else f"v{self.t.width}{kind}"

    def fresh(self) -> str:
        """Returns an unused name."""
        self._temporaries += 1
        return f"%t{self._temporaries}"

    def constant(self, value: float) -> str:
        raise NotImplementedError

    def compute(self, name: str, x: list[str]) -> str:
        """Emits one operation on named operands and returns the name of the result."""
        if name in _ARITHMETIC:
            return self._line(f"{_ARITHMETIC[name]} {FLAGS} {self.V} {x[0]}, {x[1]}")
        if name == "neg":
            return self._line(f"fneg {self.V} {x[0]}")
        if name in _INTRINSIC:
            function = f"@llvm.{_INTRINSIC[name]}.{self.suffix}"
            self.declarations.add(f"declare {self.V} {function}({', '.join([self.V] * len(x))})")
            return self._line(f"call {self.V} {function}({', '.join(f'{self.V} {y}' for y in x)})")
        if name in _COMPARE:
            return self._choice(self._line(f"fcmp {_COMPARE[name]} {self.V} {x[0]}, {x[1]}"), 1.0, 0.0)
        if name in ("not", "select", "and", "or"):
            return self._logic(name, x)
        if name == "sign":
            return self._sign(x[0])
        return self._library(name, x)

    def _line(self, right: str) -> str:
        name = self.fresh()
        self.text.append(f"  {name} = {right}")
        return name

    def in_all_lanes(self, one: str) -> str:
        """Emits a vector that has the same number in all lanes."""
        first = self._line(f"insertelement {self.V} poison, {self.t.scalar} {one}, i32 0")
        return self._line(f"shufflevector {self.V} {first}, {self.V} poison, <{self.t.width} x i32> zeroinitializer")

    def _choice(self, flag: str, yes: float, no: float) -> str:
        return self._line(f"select {self.B} {flag}, {self.V} {self.constant(yes)}, {self.V} {self.constant(no)}")

    def _logic(self, name: str, x: list[str]) -> str:
        """Emits a logical operation; any number other than zero is true."""
        zero = self.constant(0.0)
        first = self._line(f"fcmp une {self.V} {x[0]}, {zero}")
        if name == "select":
            return self._line(f"select {self.B} {first}, {self.V} {x[1]}, {self.V} {zero}")
        if name == "not":
            return self._choice(first, 0.0, 1.0)
        second = self._line(f"fcmp une {self.V} {x[1]}, {zero}")
        return self._choice(self._line(f"{name} {self.B} {first}, {second}"), 1.0, 0.0)

    def _sign(self, x: str) -> str:
        """Emits the sign: −1, 0 or 1; zero and NaN are returned unchanged."""
        low = self._line(f"fcmp olt {self.V} {x}, {self.constant(0.0)}")
        high = self._line(f"fcmp ogt {self.V} {x}, {self.constant(0.0)}")
        upper = self._line(f"select {self.B} {high}, {self.V} {self.constant(1.0)}, {self.V} {x}")
        return self._line(f"select {self.B} {low}, {self.V} {self.constant(-1.0)}, {self.V} {upper}")

    def _library(self, name: str, x: list[str]) -> str:
        """Emits calls of the C library lane by lane, for functions that robots rarely need."""
        T = self.t.scalar
        function = f"@{name}" + ("f" if T == "float" else "")
        self.declarations.add(f"declare {T} {function}({', '.join([T] * len(x))})")
        if self.t.width == 1:
            return self._line(f"call {T} {function}({', '.join(f'{T} {y}' for y in x)})")
        vector = "poison"
        for k in range(self.t.width):
            lane = [self._line(f"extractelement {self.V} {y}, i32 {k}") for y in x]
            value = self._line(f"call {T} {function}({', '.join(f'{T} {y}' for y in lane)})")
            vector = self._line(f"insertelement {self.V} {vector}, {T} {value}, i32 {k}")
        return vector

    # --- sines and cosines --------------------------------------------------------------------------------------

    def sincos(self, x: list[str]) -> tuple[list[str], list[str]]:
        """Emits sines and cosines: of several single values gathered in one vector, or of vector values."""
        self.uses_sincos = True
        return self._sincos_of_singles(x) if self.t.width == 1 else self._sincos_of_vectors(x)

    def _sincos_of_singles(self, x: list[str]) -> tuple[list[str], list[str]]:
        D = f"<{self.t.sincos_lanes} x double>"
        vector = "zeroinitializer"
        for k, angle in enumerate(x):
            vector = self._line(f"insertelement {D} {vector}, double {self._widened(angle)}, i32 {k}")
        pairs = self._call_sincos([vector])[0]
        results = [[self._line(f"extractelement {D} {pair}, i32 {k}") for k in range(len(x))] for pair in pairs]
        sines, cosines = ([self._narrowed(value) for value in values] for values in results)
        return sines, cosines

    def _widened(self, x: str) -> str:
        return x if self.t.dtype == "float64" else self._line(f"fpext float {x} to double")

    def _narrowed(self, x: str) -> str:
        return x if self.t.dtype == "float64" else self._line(f"fptrunc double {x} to float")

    def _sincos_of_vectors(self, x: list[str]) -> tuple[list[str], list[str]]:
        lanes, width, double = self.t.sincos_lanes, self.t.width, self.t.dtype == "float64"
        wide = f"<{width} x double>"
        if not double:
            x = [self._line(f"fpext {self.V} {y} to {wide}") for y in x]
        parts = [y if width == lanes else self._part(y, k, wide) for y in x for k in range(0, width, lanes)]
        done = [pair for k in range(0, len(parts), 2) for pair in self._call_sincos(parts[k : k + 2])]
        each = width // lanes
        sines, cosines = (
            [self._joined([pair[which] for pair in done[k : k + each]]) for k in range(0, len(done), each)]
            for which in range(2)
        )
        if not double:
            sines, cosines = (
                [self._line(f"fptrunc {wide} {y} to {self.V}") for y in values] for values in (sines, cosines)
            )
        return sines, cosines

    def _call_sincos(self, vectors: list[str]) -> list[tuple[str, str]]:
        """Emits (sine, cosine) of one or two vectors."""
        D, count = f"<{self.t.sincos_lanes} x double>", len(vectors)
        results = f"{{{', '.join([D] * 2 * count)}}}"
        made = self._line(f"call {results} @sincos{count}({', '.join(f'{D} {x}' for x in vectors)})")
        values = [self._line(f"extractvalue {results} {made}, {k}") for k in range(2 * count)]
        return list(zip(values[::2], values[1::2], strict=True))

    def _part(self, x: str, start: int, wide: str) -> str:
        mask = ", ".join(f"i32 {start + k}" for k in range(self.t.sincos_lanes))
        return self._line(f"shufflevector {wide} {x}, {wide} poison, <{self.t.sincos_lanes} x i32> <{mask}>")

    def _joined(self, parts: list[str]) -> str:
        lanes = self.t.sincos_lanes
        while len(parts) > 1:
            D, mask = f"<{lanes} x double>", ", ".join(f"i32 {k}" for k in range(2 * lanes))
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [self._line(f"shufflevector {D} {a}, {D} {b}, <{2 * lanes} x i32> <{mask}>") for a, b in pairs]
            lanes *= 2
        return parts[0]
