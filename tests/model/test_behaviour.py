"""What a user's class does names what is cached from it: whatever it reads counts."""

from __future__ import annotations

import sys

import pytest

from equipoise.model.behaviour import NoNameError, behaviour, plain

SOURCE = """
import functools
import numpy as np
{outside}

class Helper:
    factor = {helper}
    def scaled(self, x):
        return self.factor * x

def helped(x, *, shift={keyword}):
    return x + shift

class Mine:
    offsets = np.array([{array}, 1.0])
    @functools.cached_property
    def size(self):
        return {cached}
    @staticmethod
    def other(x):
        return [k + {static} for k in range(3)]
    def value(self, x):
        from math import sin
        later = lambda: CONSTANT * x
        return sin(later()) + helped(x) + Helper().scaled(x) + np.float64({literal})
"""
USUAL = {"outside": "CONSTANT = 2.0", "helper": 1, "keyword": 1, "array": 1, "cached": 1, "static": 1, "literal": 1}


def made(**changes):
    space = {"__name__": "a_users_own"}
    exec(SOURCE.format(**USUAL | changes), space)
    return space["Mine"]


def test_classes_that_do_the_same_have_one_name():
    assert behaviour(made()) == behaviour(made())


@pytest.mark.parametrize("what", USUAL)
def test_everything_that_code_reads_is_part_of_the_name(what):
    changed = {what: "CONSTANT = 3.0" if what == "outside" else 7}
    assert behaviour(made()) != behaviour(made(**changed))


def test_what_cannot_be_told_apart_has_no_name():
    with pytest.raises(NoNameError):
        behaviour(made(outside="CONSTANT = object()"))
    with pytest.raises(NoNameError):
        plain({"x": [1.0, object()]})


def test_modules_of_a_user_count_with_their_text(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    place = tmp_path / "a_users_other.py"
    source = "class Mine:\n    def value(self):\n        import a_users_other\n        return a_users_other.more()\n"
    names = []
    for text in ("def more():\n    return 1\n", "def more():\n    return 2\n"):
        place.write_text(text)
        space = {"__name__": "a_users_own"}
        exec(source, space)
        names.append(behaviour(space["Mine"]))
    assert names[0] != names[1] and "a_users_other" not in sys.modules


def test_functions_that_call_each_other_end():
    space = {"__name__": "a_users_own"}
    exec("def f(n): return g(n)\ndef g(n): return f(n)\nclass Mine:\n    def value(self): return f(1), Mine\n", space)
    assert behaviour(space["Mine"]) == behaviour(space["Mine"])
