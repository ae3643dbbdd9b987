"""Compiles small dense loops to machine code, from linear algebra written in Python.

Programs are straight-line code for one robot; a solver needs loops, and its sizes are arguments of the call. A
`Function` is written by running Python once: `with f.loop(0, n) as i:` emits a loop, `a[i] = b[i] * c` a load, a
product and a store. Rows are processed eight numbers at a time. Therefore arrays that are written are padded to a
multiple of eight (`padded`), and numbers read past the end of a row are multiplied by zeros.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

LANES = 8
FUSED = ("contract",)  # allow LLVM to fuse a product and a sum
TALL = 4 * LANES  # rows that a matrix-vector product processes together


def padded(n: int, block: int = LANES) -> int:
    """Returns the next multiple of the lanes, or of another block."""
    return -(-n // block) * block


class Function:
    """A function under construction: the kinds of `arguments` are "array" (of float64), "indices" (of int64) and
    "integer".
    """

    ir: Any
    real: Any
    integer: Any
    vector: Any
    function: Any
    entry: Any
    b: Any

    def __init__(self, module: Any, name: str, arguments: Mapping[str, str]) -> None:
        from llvmlite import ir

        self.ir = ir
        self.real, self.integer, self.vector = ir.DoubleType(), ir.IntType(64), ir.VectorType(ir.DoubleType(), LANES)
        kinds = [self.integer if kind == "integer" else ir.PointerType() for kind in arguments.values()]
        self.function = ir.Function(module, ir.FunctionType(ir.IntType(32), kinds), name)
        self.entry = ir.IRBuilder(self.function.append_basic_block("entry"))
        body = self.function.append_basic_block("body")
        self.b = ir.IRBuilder(body)
        self._end_of_entry = lambda: self.entry.branch(body)
        self.arguments: dict[str, Any] = {}
        self._ends: list[Any] = []  # blocks that follow the loops now open, innermost last
        for (key, kind), value in zip(arguments.items(), self.function.args, strict=True):
            if kind != "integer":
                value.add_attribute("noalias")
            made = (
                Number(self, value)
                if kind == "integer"
                else ArrayView(self, value, self.real if kind == "array" else self.integer)
            )
            self.arguments[key] = made

    def __getitem__(self, name: str) -> Any:
        return self.arguments[name]

    def number(self, x: Any) -> Number:
        """Returns a constant as a `Number`, or the number itself."""
        if isinstance(x, Number):
            return x
        return Number(
            self, self.ir.Constant(self.integer, int(x)) if isinstance(x, int) else self.ir.Constant(self.real, x)
        )

    def variable(self, value: Any) -> Variable:
        """Returns a number that can be changed: assign to `.value`."""
        return Variable(self, self.number(value))

    @contextmanager
    def loop(self, start: Any, stop: Any, step: int = 1, *, down: bool = False) -> Iterator[Number]:
        """Emits a loop over i from start up to, not including, stop; with `down`, from stop − 1 down to start."""
        start, stop = self.number(start), self.number(stop)
        at = self.variable(stop - step if down else start)
        head, body, after = (self.function.append_basic_block(word) for word in ("head", "loop", "after"))
        self.b.branch(head)
        self.b.position_at_end(head)
        i = at.value
        go = i >= start if down else i < stop
        self.b.cbranch(go.v, body, after)
        self.b.position_at_end(body)
        self._ends.append(after)
        yield i
        self._ends.pop()
        if not self.b.block.is_terminated:
            at.value = i - step if down else i + step
            self.b.branch(head)
        self.b.position_at_end(after)

    def leave(self) -> None:
        """Emits a jump out of the innermost loop."""
        self.b.branch(self._ends[-1])

    @contextmanager
    def when(self, condition: Number) -> Iterator[None]:
        """Emits the body as a branch that is taken if the condition holds."""
        yes, after = self.function.append_basic_block("yes"), self.function.append_basic_block("after")
        self.b.cbranch(condition.v, yes, after)
        self.b.position_at_end(yes)
        yield
        if not self.b.block.is_terminated:
            self.b.branch(after)
        self.b.position_at_end(after)

    @contextmanager
    def unless(self, condition: Number) -> Iterator[None]:
        """Emits the body as a branch that is taken if the condition does not hold."""
        with self.when(~condition):
            yield

    def answer(self, status: Any) -> None:
        """Emits a return from the function."""
        self.b.ret(self.b.trunc(self.number(status).v, self.ir.IntType(32)))

    def call(self, other: Function, **values: Any) -> Number:
        """Emits a call of another function of the module and returns its result. It gets the arguments of the same
        name, and `values`.
        """
        arguments = [self.number(values[name]) if name in values else self.arguments[name] for name in other.arguments]
        if "noinline" not in other.function.attributes:
            other.function.attributes.add("noinline")
            other.function.linkage = "internal"
        made = self.b.call(other.function, [argument.v for argument in arguments])
        return Number(self, self.b.sext(made, self.integer))

    def call_with(self, other: Function, table: ArrayView) -> Number:
        """Emits a call of another function whose arguments, numbers and addresses, lie in a table; returns its
        result.
        """
        values = []
        for k, argument in enumerate(other.function.args):
            value = table[k].v
            values.append(value if argument.type == self.integer else self.b.inttoptr(value, argument.type))
        return Number(self, self.b.sext(self.b.call(other.function, values), self.integer))

    def finish(self, status: Any) -> None:
        """Ends the function."""
        self.answer(status)
        self._end_of_entry()

    def choose(self, condition: Number, yes: Any, no: Any) -> Number:
        return Number(self, self.b.select(condition.v, self.number(yes).v, self.number(no).v))

    def _intrinsic(self, name: str, *values: Number) -> Number:
        kind = values[0].v.type
        function = self.b.module.declare_intrinsic(name, [kind], self.ir.FunctionType(kind, [kind] * len(values)))
        return Number(self, self.b.call(function, [x.v for x in values]))

    def as_real(self, i: Number) -> Number:
        """Converts an integer to a real number."""
        return Number(self, self.b.sitofp(i.v, self.real))

    def sqrt(self, x: Number) -> Number:
        return self._intrinsic("llvm.sqrt", x)

    def abs(self, x: Number) -> Number:
        return self._intrinsic("llvm.fabs", x)

    def larger(self, a: Any, b: Any) -> Number:
        """Returns the larger number; NaN if either is NaN."""
        return self._intrinsic("llvm.maximum", self.number(a), self.number(b))

    # --- rows, eight numbers at a time --------------------------------------------------------------------------------

    def _lanes(self, x: Any) -> Any:
        """Returns a vector with the same number in all lanes."""
        b, none = self.b, self.ir.Constant(self.vector, self.ir.Undefined)
        one = b.insert_element(none, self.number(x).v, self.ir.Constant(self.ir.IntType(32), 0))
        zeros = self.ir.Constant(self.ir.VectorType(self.ir.IntType(32), LANES), [0] * LANES)
        return b.shuffle_vector(one, none, zeros)

    def _load(self, row: ArrayView, i: Number) -> Any:
        load = self.b.load(row.at(i).v, typ=self.vector, align=8)
        return load

    def add(self, to: ArrayView, x: Any, row: ArrayView, start: Any, stop: Any) -> None:
        """Emits to += x · row, from the block of lanes that contains `start`."""
        factor = self._lanes(x)
        with self.loop(self.block(start), stop, LANES) as j:
            product = self.b.fmul(factor, self._load(row, j), flags=FUSED)
            total = self.b.fadd(self._load(to, j), product, flags=FUSED)
            self.b.store(total, to.at(j).v, align=8)

    def scale(self, row: ArrayView, x: Any, start: Any, stop: Any) -> None:
        """Emits row *= x, from the block of lanes that contains `start`."""
        factor = self._lanes(x)
        with self.loop(self.block(start), stop, LANES) as j:
            self.b.store(self.b.fmul(factor, self._load(row, j)), row.at(j).v, align=8)

    def copy(self, to: ArrayView, row: ArrayView, start: Any, stop: Any) -> None:
        """Emits to = row, from the block of lanes that contains `start`."""
        with self.loop(self.block(start), stop, LANES) as j:
            self.b.store(self._load(row, j), to.at(j).v, align=8)

    def fill(self, row: ArrayView, x: Any, start: Any, stop: Any) -> None:
        value = self._lanes(x)
        with self.loop(self.block(start), stop, LANES) as j:
            self.b.store(value, row.at(j).v, align=8)

    def dot(self, a: ArrayView, b: ArrayView, start: Any, stop: Any) -> Number:
        """Emits Σ a b, from the block of lanes that contains `start`; outside the range, one of the two must be
        zero.
        """
        slot = self.entry.alloca(self.vector)
        self.b.store(self._lanes(0.0), slot)
        with self.loop(self.block(start), stop, LANES) as j:
            product = self.b.fmul(self._load(a, j), self._load(b, j), flags=FUSED)
            self.b.store(self.b.fadd(self.b.load(slot, typ=self.vector), product, flags=FUSED), slot)
        name, kind = f"llvm.vector.reduce.fadd.v{LANES}f64", self.ir.FunctionType(self.real, [self.real, self.vector])
        function = self.b.module.globals.get(name) or self.ir.Function(self.b.module, kind, name)
        zero = self.ir.Constant(self.real, 0.0)
        return Number(self, self.b.call(function, [zero, self.b.load(slot, typ=self.vector)], fastmath=("reassoc",)))

    def times(self, to: ArrayView, columns: ArrayView, vector: ArrayView, n: Any, m: Any) -> None:
        """Emits to = Σ vector_j column_j for n columns, each padded to a multiple of TALL, contiguous; without sums
        across lanes.
        """
        b, zeros, stride = self.b, self._lanes(0.0), self.tall(self.number(m))
        slots = [self.entry.alloca(self.vector) for _ in range(TALL // LANES)]
        with self.loop(0, m, TALL) as i:
            for slot in slots:
                b.store(zeros, slot)
            with self.loop(0, n) as j:
                factor, column = self._lanes(vector[j]), columns.at(j * stride + i)
                for k, slot in enumerate(slots):
                    product = b.fmul(factor, self._load(column, self.number(k * LANES)), flags=FUSED)
                    b.store(b.fadd(b.load(slot, typ=self.vector), product, flags=FUSED), slot)
            for k, slot in enumerate(slots):
                b.store(b.load(slot, typ=self.vector), to.at(i + k * LANES).v, align=8)

    def padded(self, n: Number) -> Number:
        """Returns the next multiple of the lanes."""
        return self.block(n + (LANES - 1))

    def tall(self, m: Number) -> Number:
        """Returns the next multiple of TALL."""
        return Number(self, self.b.and_((m + (TALL - 1)).v, self.ir.Constant(self.integer, -TALL)))

    def block(self, start: Any) -> Number:
        start = self.number(start)
        return Number(self, self.b.and_(start.v, self.ir.Constant(self.integer, -LANES)))


class Number:
    """A value in a register."""

    f: Function
    v: Any

    def __init__(self, f: Function, v: Any) -> None:
        self.f, self.v = f, v

    @property
    def _real(self) -> bool:
        return self.v.type == self.f.real

    def _with(self, other: Any, real: str, integer: str) -> Number:
        other = self.f.number(float(other) if self._real and isinstance(other, int) else other)
        b = self.f.b
        if self._real:
            return Number(self.f, getattr(b, real)(self.v, other.v, flags=FUSED))
        return Number(self.f, getattr(b, integer)(self.v, other.v))

    def __add__(self, other: Any) -> Number:
        return self._with(other, "fadd", "add")

    def __sub__(self, other: Any) -> Number:
        return self._with(other, "fsub", "sub")

    def __mul__(self, other: Any) -> Number:
        return self._with(other, "fmul", "mul")

    def __truediv__(self, other: Any) -> Number:
        return self._with(other, "fdiv", "sdiv")

    def __radd__(self, other: Any) -> Number:
        return self + other

    def __rmul__(self, other: Any) -> Number:
        return self * other

    def __rsub__(self, other: Any) -> Number:
        return self.f.number(float(other) if self._real else other) - self

    def __neg__(self) -> Number:
        return self.f.number(0.0 if self._real else 0) - self

    def _compared(self, word: str, other: Any) -> Number:
        other = self.f.number(float(other) if self._real and isinstance(other, int) else other)
        b = self.f.b
        made = b.fcmp_ordered(word, self.v, other.v) if self._real else b.icmp_signed(word, self.v, other.v)
        return Number(self.f, made)

    def __lt__(self, other: Any) -> Number:
        return self._compared("<", other)

    def __le__(self, other: Any) -> Number:
        return self._compared("<=", other)

    def __gt__(self, other: Any) -> Number:
        return self._compared(">", other)

    def __ge__(self, other: Any) -> Number:
        return self._compared(">=", other)

    def equals(self, other: Any) -> Number:
        return self._compared("==", other)

    def __and__(self, other: Number) -> Number:
        return Number(self.f, self.f.b.and_(self.v, other.v))

    def __or__(self, other: Number) -> Number:
        return Number(self.f, self.f.b.or_(self.v, other.v))

    def __invert__(self) -> Number:
        return Number(self.f, self.f.b.not_(self.v))


class Variable:
    """A number in memory that can be changed."""

    slot: Any
    f: Function
    kind: Any

    def __init__(self, f: Function, value: Number) -> None:
        self.f, self.kind = f, value.v.type
        self.slot = f.entry.alloca(self.kind)
        self.value = value

    @property
    def value(self) -> Number:
        return Number(self.f, self.f.b.load(self.slot, typ=self.kind))

    @value.setter
    def value(self, value: Any) -> None:
        self.f.b.store(self.f.number(value).v, self.slot)


class ArrayView:
    """An array, or the rest of an array from some entry on."""

    f: Function
    v: Any
    kind: Any

    def __init__(self, f: Function, v: Any, kind: Any) -> None:
        self.f, self.v, self.kind = f, v, kind

    def at(self, i: Any) -> ArrayView:
        """Returns a view of the same memory from entry i on."""
        return ArrayView(self.f, self.f.b.gep(self.v, [self.f.number(i).v], source_etype=self.kind), self.kind)

    def __getitem__(self, i: Any) -> Number:
        return Number(self.f, self.f.b.load(self.at(i).v, typ=self.kind))

    def __setitem__(self, i: Any, x: Any) -> None:
        self.f.b.store(self.f.number(x).v, self.at(i).v)


def optimised_object(module: Any) -> bytes:
    """Returns the object file of a module of loops. Programs are optimised already, but loops profit from LLVM's
    passes.
    """
    from . import cpu

    llvm, machine = cpu._llvm(), cpu._target_machine()
    parsed = llvm.parse_assembly(str(module))
    parsed.triple = cpu.host()[0]
    parsed.data_layout = str(machine.target_data)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(parsed, builder)
    return machine.emit_object(parsed)
