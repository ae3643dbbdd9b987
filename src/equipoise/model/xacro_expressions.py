"""Expressions of xacro files, evaluated without Python's own `eval`: whoever wrote the file runs nothing here.

An expression may use numbers, texts, lists, the operators on them, and the functions below. Objects keep their
attributes to themselves, so there is no path from a value to the interpreter.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import xacro

MAX_EXPRESSION = 10_000  # characters
MAX_STEPS = 100_000  # nodes that one expression visits; comprehensions visit theirs once per item
MAX_BITS = 1024  # of an integer: as far as float64 reaches
MAX_LENGTH = 100_000  # items of a list, characters of a text


class ExpressionError(ValueError):
    """The expression may not be evaluated."""


class Function:
    """A function that expressions may call. A result of an expression is never called."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call

    def __call__(self, *values: Any, **named: Any) -> Any:
        return self.call(*values, **named)


OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Not: operator.not_,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip
TEXT_METHODS = set(
    "capitalize count endswith find index isalpha isdigit isnumeric join lower lstrip replace rfind rsplit rstrip "
    "split startswith strip title upper".split()
)
METHODS = {str: TEXT_METHODS, dict: {"get", "items", "keys", "values"}, list: {"count", "index"}}
SLOW = {"comb", "factorial", "perm"}  # integers without bound
MATH = {
    name: Function(value) if callable(value) else value
    for name, value in vars(math).items()
    if not name.startswith("_") and name not in SLOW
}


def _of_kind(value: Any, kind: Any) -> bool:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return isinstance(value, tuple(each.call for each in kinds))


def _range(*ends: int) -> list[int]:
    span = range(*ends)
    if len(span) > MAX_LENGTH:
        raise ExpressionError(f"a range of {len(span):,} numbers; up to {MAX_LENGTH:,} are made")
    return list(span)


BUILTINS = {
    **{kind.__name__: Function(kind) for kind in (list, dict, str, float, int, bool, tuple, set)},
    **{f.__name__: Function(f) for f in (len, min, max, round, sorted, abs, all, any, divmod, ord, sum)},
    "map": Function(lambda f, *lists: [_called(f, items, {}) for items in zip(*lists, strict=False)]),
    "filter": Function(lambda f, items: [item for item in items if _called(f, (item,), {})]),
    "enumerate": Function(lambda items, start=0: list(enumerate(items, start))),
    "reversed": Function(lambda items: list(reversed(items))),
    "zip": Function(lambda *lists: list(zip(*lists, strict=False))),
    "range": Function(_range),
    "isinstance": Function(_of_kind),
}


def evaluate(text: str, names: Mapping[str, Any]) -> Any:
    """Returns the value of an expression.

    Args:
        text: the expression, without `${` and `}`.
        names: what its names stand for; functions among them are `Function`.

    Raises:
        ExpressionError: it has what no expression of a robot needs, or would grow without end.
    """
    if len(text) > MAX_EXPRESSION:
        raise ExpressionError(f"it has {len(text):,} characters; up to {MAX_EXPRESSION:,} are read")
    return _Evaluation(names).value(ast.parse(text.strip(), mode="eval").body)


class _Evaluation:
    """One expression: each method returns the value of one kind of node."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names, self.local, self.steps = names, dict[str, Any](), 0

    def value(self, node: ast.expr) -> Any:
        self.steps += 1
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None or self.steps > MAX_STEPS:
            what = f"{type(node).__name__} is not used in" if method is None else f"more than {MAX_STEPS:,} steps in"
            raise ExpressionError(f"{what} expressions of robots, which are evaluated within bounds and run no code")
        return _bounded(method(node))

    def _Constant(self, node: ast.Constant) -> Any:
        return node.value

    def _Name(self, node: ast.Name) -> Any:
        if node.id in self.local:
            return self.local[node.id]
        try:
            return self.names[_public(node.id)]
        except KeyError:
            raise NameError(f"name {node.id!r} is not defined") from None

    def _List(self, node: ast.List) -> list[Any]:
        return [self.value(item) for item in node.elts]

    def _Tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self.value(item) for item in node.elts)

    def _UnaryOp(self, node: ast.UnaryOp) -> Any:
        return _operator(node.op)(self.value(node.operand))

    def _BinOp(self, node: ast.BinOp) -> Any:
        a, b = self.value(node.left), self.value(node.right)
        special = {ast.Pow: _power, ast.Mult: _product, ast.Mod: _remainder}.get(type(node.op))
        return (special or _operator(node.op))(a, b)

    def _BoolOp(self, node: ast.BoolOp) -> Any:
        stops = isinstance(node.op, ast.Or)
        for part in node.values:
            value = self.value(part)
            if bool(value) is stops:
                break
        return value

    def _Compare(self, node: ast.Compare) -> Any:
        left = self.value(node.left)
        for op, part in zip(node.ops, node.comparators, strict=True):
            right = self.value(part)
            if not _operator(op)(left, right):
                return False
            left = right
        return True

    def _IfExp(self, node: ast.IfExp) -> Any:
        return self.value(node.body if self.value(node.test) else node.orelse)

    def _Subscript(self, node: ast.Subscript) -> Any:
        return self.value(node.value)[self._place(node.slice)]

    def _place(self, node: ast.expr) -> Any:
        if not isinstance(node, ast.Slice):
            return self.value(node)
        return slice(*(None if end is None else self.value(end) for end in (node.lower, node.upper, node.step)))

    def _Attribute(self, node: ast.Attribute) -> Any:
        """A member of a namespace or of a YAML mapping; attributes of Python objects stay closed."""
        owner = self.value(node.value)
        if not isinstance(owner, dict):
            raise ExpressionError(f"attribute {node.attr!r} of a {type(owner).__name__} is closed to expressions")
        try:
            return owner[_public(node.attr)]
        except (KeyError, AttributeError):
            raise NameError(f"name {node.attr!r} is not defined") from None

    def _Call(self, node: ast.Call) -> Any:
        values = [self.value(argument) for argument in node.args]
        named = {_public(str(keyword.arg)): self.value(keyword.value) for keyword in node.keywords}
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value)
            for kind, methods in METHODS.items():
                if isinstance(owner, kind) and not isinstance(owner, xacro.Table) and node.func.attr in methods:
                    found = getattr(kind, node.func.attr)(owner, *values, **named)
                    return found if isinstance(found, str | int) or node.func.attr == "get" else list(found)
        return _called(self.value(node.func), values, named)

    def _ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> list[Any]:
        outer = dict(self.local)
        try:
            return list(self._items(node.generators, node.elt))
        finally:
            self.local = outer

    _GeneratorExp = _ListComp  # as a list: generators lead to their frames

    def _items(self, loops: Sequence[ast.comprehension], element: ast.expr) -> Iterator[Any]:
        if not loops:
            yield self.value(element)
            return
        for item in self.value(loops[0].iter):
            self._bind(loops[0].target, item)
            if all(self.value(condition) for condition in loops[0].ifs):
                yield from self._items(loops[1:], element)

    def _bind(self, target: ast.expr, item: Any) -> None:
        if isinstance(target, ast.Name):
            self.local[_public(target.id)] = item
            return
        for part, value in zip(getattr(target, "elts", ()), item, strict=True):
            self._bind(part, value)


def _public(name: str) -> str:
    if name.startswith("__") or name == "None":  # the name of `**mapping` in a call is None
        raise ExpressionError(f"the name {name!r} is not used in expressions of robots")
    return name


def _called(function: Any, values: Sequence[Any], named: Mapping[str, Any]) -> Any:
    if not isinstance(function, Function):
        raise ExpressionError(f"a {type(function).__name__} is called; expressions call functions of xacro and math")
    return _bounded(function(*values, **named))


def _operator(op: ast.AST) -> Callable[..., Any]:
    if type(op) not in OPERATORS:
        raise ExpressionError(f"operator {type(op).__name__} is not used in expressions of robots")
    return OPERATORS[type(op)]


def _bounded(value: Any) -> Any:
    """The value, if it is of a kind and size that expressions may have."""
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            raise ExpressionError(f"an integer of {value.bit_length():,} bits; up to {MAX_BITS:,} are read")
    elif isinstance(value, str | list | tuple | set | dict):
        if len(value) > MAX_LENGTH:
            raise ExpressionError(f"{len(value):,} items or characters; up to {MAX_LENGTH:,} are read")
    elif not isinstance(value, float | complex | Function | None):
        raise ExpressionError(f"a {type(value).__name__} is no value of an expression")
    return value


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and b > 0 and a.bit_length() * b > 2 * MAX_BITS:
        raise ExpressionError(f"{a}**{b} has more than {MAX_BITS:,} bits")
    return a**b


def _product(a: Any, b: Any) -> Any:
    for many, times in ((a, b), (b, a)):
        if isinstance(many, str | list | tuple) and isinstance(times, int) and len(many) * times > MAX_LENGTH:
            raise ExpressionError(f"{len(many)} × {times} items or characters; up to {MAX_LENGTH:,} are made")
    return a * b


def _remainder(a: Any, b: Any) -> Any:
    if isinstance(a, str) and re.search(r"%[^a-z%]*(\*|\d{4})", a):  # a width fills the memory
        raise ExpressionError(f"format {a[:40]!r} has a width without bound")
    return a % b
