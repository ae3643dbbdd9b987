"""The digest of source: it changes with everything that a function runs, and with nothing else."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import equipoise
from equipoise.machine import sources
from equipoise.machine.cache import CacheWarning

PACKAGE = Path(equipoise.__file__).parent
MODULES = {
    "__init__.py": "",
    "__init__.pyi": "from .late import Late as Late\n",
    "late.py": "class Late:\n    def speed(self): return 5\n",
    "main.py": '''
"""Text."""
from math import sin
from typing import TYPE_CHECKING
from . import Late, tools
from .shapes import Round as Circle
if TYPE_CHECKING:
    from .given import Argument

SCALE = FINE * 2
FINE = 0.5
UNUSED = 7
TABLE = {}
TABLE["later"] = tools.registered

def root(x: Argument):
    """What it does."""
    from .inner import local
    def nested(y):
        """Inside."""
        return y
    return local(sin(x.value())) + tools.used(nested(x)) * SCALE + Circle().area + Late().speed()

def other():
    return UNUSED
''',
    "tools.py": """
def used(x): return deeper(x)
def deeper(x):
    return x + 1  # a comment
def unused(x): return x
def registered(x): return x
""",
    "shapes.py": """
class Round:
    r = 1.0
    @property
    def area(self):
        return helper(self.r)
def helper(r): return r
""",
    "given.py": "class Argument:\n    def value(self): return 1\n",
    "inner.py": "from . import numbers\ndef local(x): return combine(numbers, x)\ndef combine(m, x): return m\n",
    "numbers.py": "PI = 3\n",
}


def made(folder: Path, **changes: tuple[str, str]) -> sources.Files:
    """A package with one text of some modules replaced by another."""
    root = folder / "small"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for name, text in MODULES.items():
        old, new = changes.get(name.removesuffix(".py"), ("", ""))
        assert old in text
        (root / name).write_text(text.replace(old, new) if old else text)
    return sources.Files(root)


def digest(files: sources.Files, *roots: str) -> str:
    return sources._digest_of(sources.reached(frozenset(roots or ["small.main:root"]), files), files)


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("main", "x.value()", "x.value() + 1"),
        ("main", "FINE = 0.5", "FINE = 0.6"),
        ("main", "from math import sin", "from math import cos as sin"),
        ("main", 'TABLE["later"]', 'TABLE["sooner"]'),
        ("main", "return y", "return -y"),
        ("tools", "return x + 1", "return x + 2"),
        ("tools", "def registered(x): return x", "def registered(x): return 2 * x"),
        ("shapes", "r = 1.0", "r = 2.0"),
        ("shapes", "def helper(r): return r", "def helper(r): return -r"),
        ("given", "return 1", "return 2"),
        ("inner", "return m", "return x"),
        ("numbers", "PI = 3", "PI = 4"),
        ("late", "return 5", "return 6"),
    ],
)
def test_everything_that_a_function_runs_is_in_its_digest(tmp_path, module, old, new):
    assert digest(made(tmp_path)) != digest(made(tmp_path, **{module: (old, new)}))


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("main", '"""What it does."""', '"""What it does, in other words."""'),
        ("main", '"""Inside."""', ""),
        ("main", '"""Text."""', '"""Other text."""\n# and a comment'),
        ("main", "UNUSED = 7", "UNUSED = 8"),
        ("tools", "# a comment", "# another comment"),
        ("tools", "def unused(x): return x", "def unused(x): return -x"),
        ("numbers", "PI = 3\n", "PI = 3\n\n\n"),
    ],
)
def test_nothing_else_is_in_it(tmp_path, module, old, new):
    assert digest(made(tmp_path)) == digest(made(tmp_path, **{module: (old, new)}))


def test_another_function_has_another_digest(tmp_path):
    files = made(tmp_path)
    assert digest(files) != digest(files, "small.main:other") != digest(files, "small.main:other", "small.tools:used")


def copy(folder: Path) -> Path:
    return Path(shutil.copytree(PACKAGE, folder / "equipoise", ignore=shutil.ignore_patterns("__pycache__")))


def test_a_tolerance_of_the_reach_is_in_its_digest_and_in_no_other(tmp_path):
    """The tolerance of the postures by which walking finds how far feet may go, and words in the same package."""
    reach, equations = "equipoise.walking.reach:_farthest", "equipoise.machine.store:traced"
    root = copy(tmp_path)
    before = [digest(sources.Files(root), name) for name in (reach, equations)]
    path = root / "walking" / "reach.py"
    text = path.read_text()
    path.write_text(text.replace('"""', '"""In other words. ', 1) + "# a comment at the end\n")
    assert path.read_text() != text and [digest(sources.Files(root), name) for name in (reach, equations)] == before
    path.write_text(text.replace("GOOD = 0.006", "GOOD = 0.06"))
    assert path.read_text() != text
    after = [digest(sources.Files(root), name) for name in (reach, equations)]
    assert after[0] != before[0] and after[1] == before[1]


# --- files that change ------------------------------------------------------------------------------------------------


@pytest.fixture
def watched(tmp_path, monkeypatch) -> Path:
    """A copy of a few files that stands for the package."""
    made(tmp_path)
    monkeypatch.setattr(sources, "ROOT", tmp_path / "small")
    monkeypatch.setattr(sources.Files.__init__, "__defaults__", (tmp_path / "small",))
    monkeypatch.setattr(sources, "_STARTED", (tmp_path / "small" / "main.py").stat().st_ctime_ns + 10**10)
    sources._files.cache_clear()
    yield tmp_path / "small"
    sources._files.cache_clear()


def test_a_process_whose_source_changed_after_its_start_gets_no_digest(watched, monkeypatch):
    """It runs the old source; under the digest of the new one its results would be taken for those of the new one."""
    assert sources.digest(frozenset(["small.main:root"])) is not None and sources.unchanged()
    sources._files.cache_clear()
    monkeypatch.setattr(sources, "_STARTED", (watched / "tools.py").stat().st_ctime_ns - 1)
    with pytest.warns(CacheWarning, match="changed after this process started, so it caches nothing"):
        assert sources.digest(frozenset(["small.main:root"])) is None
    assert not sources.unchanged()


def test_a_change_after_the_digest_was_taken_is_noticed(watched):
    assert sources.digest(frozenset(["small.main:root"])) is not None
    status = (watched / "tools.py").stat()
    (watched / "tools.py").write_text(MODULES["tools.py"].replace("x + 1", "x + 2"))
    os.utime(watched / "tools.py", ns=(status.st_atime_ns, status.st_mtime_ns))  # of the same size and date
    assert not sources.unchanged()


def test_digests_are_those_of_the_files_as_they_are(watched):
    roots = frozenset(["small.main:root"])
    first = sources.digest(roots)
    (watched / "tools.py").write_text(MODULES["tools.py"].replace("x + 1", "x + 2"))
    sources._files.cache_clear()
    second = sources.digest(roots)
    (watched / "tools.py").write_text(MODULES["tools.py"])
    sources._files.cache_clear()
    assert first == sources.digest(roots) != second
