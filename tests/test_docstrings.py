"""Every public class has an example in its docstring, and the examples are true."""

from __future__ import annotations

import doctest
import inspect

import pytest

import equipoise as eq

BASES = {"Task", "Contact", "Constraint"}  # base classes: docs/control.md shows how to derive from them
CLASSES = [
    name
    for name in eq._HOMES
    if inspect.isclass(getattr(eq, name)) and not issubclass(getattr(eq, name), (Exception, Warning))
]


@pytest.mark.parametrize("name", sorted(set(CLASSES) - BASES))
def test_the_example_of_a_class_is_true(name):
    text = inspect.cleandoc(getattr(eq, name).__doc__)
    example = doctest.DocTestParser().get_doctest(text, {}, f"eq.{name}", None, None)
    assert example.examples, f"eq.{name} has no example"
    said: list[str] = []
    doctest.DocTestRunner().run(example, out=said.append)
    assert not said, "".join(said)
