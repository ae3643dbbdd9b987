"""The cache on disk: what is kept is used, what is spoilt is made anew, and a folder that cannot be used only costs
time."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import equipoise as eq
from equipoise.machine import cache as cache_module
from equipoise.machine.cache import KEY_BYTES, KEY_FILE, MAGIC, PARTIAL, Cache, CacheWarning, default_folder, key

# A robot's start: what it computes, what it had to make for that, and what it imported.
START = """
import json, sys, warnings
import numpy as np

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import equipoise as eq
    from equipoise.machine import cpu, store

    made = []
    compile_ir, recorded = cpu.compile_ir, store._recorded
    cpu.compile_ir = lambda text: made.append("code") or compile_ir(text)
    store._recorded = lambda *arguments: made.append("program") or recorded(*arguments)
    robot = eq.load("planar_chain")
    q = np.linspace(-1, 1, 60).reshape(20, 3)
    result = [robot.gravity(q[0]).tolist(), robot.mass_matrix(q).tolist()]
print(json.dumps({
    "result": result,
    "made": sorted(made),
    "casadi": "casadi" in sys.modules,
    "warnings": [[w.category.__name__, str(w.message)] for w in caught],
}))
"""
ALL_MADE = ["code", "code", "program", "program"]


def entries(folder: Path) -> list[Path]:
    """The files of a cache, without its key."""
    return [path for path in folder.iterdir() if path.name != KEY_FILE]


def results(folder: Path) -> list[Path]:
    """Those with programs and machine code; the others are digests of the sources."""
    start = len(MAGIC) + 2 * KEY_BYTES  # behind the name and the digest
    return [path for path in entries(folder) if path.read_bytes()[start : start + 1] in (b"P", b"B")]


def started(folder: Path, **environment: str) -> subprocess.Popen:
    """A process that starts with the cache in that folder."""
    variables = os.environ | {"EQUIPOISE_CACHE": str(folder)} | environment
    return subprocess.Popen(
        [sys.executable, "-c", START], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables
    )


def finished(process: subprocess.Popen) -> dict:
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors.decode()
    return json.loads(output)


def start(folder: Path, **environment: str) -> dict:
    return finished(started(folder, **environment))


@pytest.fixture(scope="module")
def right() -> list:
    """What every start must compute."""
    robot = eq.load("planar_chain")
    q = np.linspace(-1, 1, 60).reshape(20, 3)
    return [robot.gravity(q[0]).tolist(), robot.mass_matrix(q).tolist()]


@pytest.fixture(scope="module")
def kept(tmp_path_factory, right) -> Path:
    """A folder after a first start; not to be changed."""
    folder = tmp_path_factory.mktemp("kept") / "cache"
    report = start(folder)
    assert report == {"result": right, "made": ALL_MADE, "casadi": True, "warnings": []}
    return folder


@pytest.fixture
def copied(kept, tmp_path) -> Path:
    """The same files in a folder of the test's own."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    for path in kept.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
        (folder / path.name).chmod(0o600)
    return folder


# Starts


def test_a_second_start_makes_nothing_and_needs_no_casadi(kept, right):
    assert start(kept) == {"result": right, "made": [], "casadi": False, "warnings": []}


def test_files_are_whole_and_private(kept):
    files = entries(kept)
    assert len(results(kept)) == len(ALL_MADE)
    for path in files:
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.read_bytes().startswith(MAGIC + bytes.fromhex(path.name))
    assert kept.stat().st_mode & 0o777 == 0o700


def spoil_by(damage):
    def spoil(folder: Path) -> None:
        for path in entries(folder):
            path.write_bytes(damage(path.read_bytes()))

    return spoil


def exchange(folder: Path) -> None:
    """Every file has the bytes of another one."""
    paths = sorted(entries(folder))
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, contents[1:] + contents[:1], strict=True):
        path.write_bytes(content)


def make_folders(folder: Path) -> None:
    for path in entries(folder):
        path.unlink()
        path.mkdir()


SPOILT = {
    "empty": spoil_by(lambda data: b""),
    "short": spoil_by(lambda data: data[: len(data) // 2]),
    "header only": spoil_by(lambda data: data[:72]),
    "last byte gone": spoil_by(lambda data: data[:-1]),
    "longer": spoil_by(lambda data: data + b"\0"),
    "one bit": spoil_by(lambda data: data[:-9] + bytes([data[-9] ^ 4]) + data[-8:]),
    "random": spoil_by(lambda data: np.random.default_rng(0).bytes(len(data))),
    "zeros": spoil_by(lambda data: bytes(len(data))),
    "of another name": exchange,
}


@pytest.mark.parametrize("what", SPOILT)
def test_a_spoilt_file_is_made_anew(copied, right, what):
    SPOILT[what](copied)
    spoilt = {path.name: path.read_bytes() for path in entries(copied)}
    assert start(copied) == {"result": right, "made": ALL_MADE, "casadi": True, "warnings": []}
    for path in entries(copied):
        assert path.read_bytes() != spoilt[path.name]


def test_a_start_repairs_the_cache_for_the_next(copied, right):
    SPOILT["random"](copied)
    start(copied)
    assert start(copied)["made"] == []


def test_what_cannot_be_repaired_is_only_a_warning(copied, right):
    make_folders(copied)
    report = start(copied)
    assert (report["result"], report["made"]) == (right, ALL_MADE)
    assert {name for name, _ in report["warnings"]} == {"CacheWarning"}
    assert not [path for path in entries(copied) if path.is_file()]


def open_to_all(tmp_path: Path) -> Path:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


def open_to_the_group(tmp_path: Path) -> Path:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o770)
    return folder


def a_link(tmp_path: Path) -> Path:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    return tmp_path / "link"


def a_dangling_link(tmp_path: Path) -> Path:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    return tmp_path / "link"


def a_file(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("mine")
    return tmp_path / "file"


def below_a_file(tmp_path: Path) -> Path:
    return a_file(tmp_path) / "cache"


UNUSABLE = {
    open_to_all: "others may write to .*Delete its contents.*rm -rf .* mkdir -m 700",
    open_to_the_group: "others may write to .*Delete its contents.*rm -rf .* mkdir -m 700",
    a_link: "not a folder of its own",
    a_dangling_link: "cannot be created",
    a_file: "cannot be created",
    below_a_file: "cannot be created",
}


@pytest.mark.parametrize("make", [open_to_all, a_link, a_file])
def test_a_folder_that_cannot_be_used_only_costs_time(tmp_path, right, make):
    folder = make(tmp_path)
    report = start(folder)
    assert (report["result"], report["made"]) == (right, ALL_MADE)
    assert [name for name, _ in report["warnings"]] == ["CacheWarning"]
    assert str(folder) in report["warnings"][0][1]
    assert not folder.is_dir() or not list(folder.iterdir())


def test_many_processes_on_a_cold_cache(tmp_path, right):
    folder = tmp_path / "below" / "cache"
    reports = [finished(process) for process in [started(folder) for _ in range(4)]]
    for report in reports:
        assert (report["result"], report["warnings"]) == (right, [])
    assert len(results(folder)) == len(ALL_MADE)
    assert start(folder)["made"] == []


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs users")
def test_without_a_home_everything_works(right, tmp_path):
    """A container may run under a user that nobody knows."""
    script = (
        "import os, pathlib\npathlib.Path.home = classmethod(lambda cls: (_ for _ in "
        "()).throw(RuntimeError('no home')))\n"
    )
    variables = {k: v for k, v in os.environ.items() if k not in ("EQUIPOISE_CACHE", "XDG_CACHE_HOME")}
    variables["TMPDIR"] = str(tmp_path)
    command = [sys.executable, "-c", script + START]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables)
    assert finished(process)["result"] == right


def test_prepare_fills_the_cache_for_later_starts(tmp_path):
    script = """
import equipoise as eq
from equipoise.machine import cpu
made = []
compile_ir = cpu.compile_ir
cpu.compile_ir = lambda text: made.append(1) or compile_ir(text)
eq.load("two_link_pendulum").prepare(["gravity", "mass_matrix"], batch=True)
print(len(made))
"""
    variables = os.environ | {"EQUIPOISE_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-c", script]
    for _ in range(2):  # workers compile, not this process
        output = subprocess.run(command, env=variables, check=True, capture_output=True, timeout=120).stdout
        assert int(output) == 0
    assert len(results(tmp_path / "cache")) == 2 + 4


# The folder


@pytest.mark.parametrize("make", UNUSABLE, ids=lambda make: make.__name__)
def test_an_unusable_folder_is_explained_once(tmp_path, make):
    cache = Cache(make(tmp_path))
    name = key("thing")
    with pytest.warns(CacheWarning, match=UNUSABLE[make]):
        assert cache.read(name) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.write(name, b"data")
        assert cache.get(name, lambda: b"made") == b"made"
        assert cache.read(name) is None


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs users")
def test_the_folder_of_somebody_else_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.warns(CacheWarning, match="belongs to somebody else"):
        assert not Cache(tmp_path).usable


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    cache = Cache(tmp_path / "cache")

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    for module, function in ((cache_module.tempfile, "mkstemp"), (cache_module.os, "replace")):
        with monkeypatch.context() as patch:
            patch.setattr(module, function, full)
            with pytest.warns(CacheWarning, match="cannot cache compiled code in .*No space left"):
                assert cache.get(key("thing"), lambda: b"made") == b"made"
    assert entries(tmp_path / "cache") == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_to_write(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o500)
    with pytest.warns(CacheWarning, match="cannot cache compiled code"):
        assert Cache(folder).get(key("thing"), lambda: b"made") == b"made"


def test_a_file_without_permission_to_read_is_made_anew(tmp_path, monkeypatch):
    cache = Cache(tmp_path / "cache")
    cache.write(key("thing"), b"kept")
    opened = os.open

    def refused(path, *arguments, **options):
        if Path(path).name == key("thing"):
            raise PermissionError(13, "Permission denied")
        return opened(path, *arguments, **options)

    monkeypatch.setattr(os, "open", refused)
    assert cache.get(key("thing"), lambda: b"made") == b"made"


# Attacks: what somebody may have put there while the folder was open


NAME = key("thing")


@pytest.fixture
def cache(tmp_path) -> Cache:
    """A cache that holds one thing and has given it back once."""
    cache = Cache(tmp_path / "cache")
    cache.write(NAME, b"ours")
    assert Cache(cache.folder).read(NAME) == b"ours"
    return cache


def with_another_key(folder: Path) -> None:
    """A file that is right in every way but for the key, as one who does not know ours would write it."""
    theirs = Cache(folder.parent / "theirs")
    theirs.write(NAME, b"planted")
    (folder / NAME).write_bytes((theirs.folder / NAME).read_bytes())


def with_a_plain_digest(folder: Path) -> None:
    """What the first format was: anybody can write it."""
    digest = hashlib.sha256(b"planted").digest()
    for magic in (MAGIC, b"EQCACHE1"):
        (folder / NAME).write_bytes(magic + bytes.fromhex(NAME) + digest + b"planted")


def with_a_key_of_theirs(folder: Path) -> None:
    """Key and file exchanged together; the key is open to the group, as it would be after a careless copy."""
    with_another_key(folder)
    (folder / KEY_FILE).write_bytes((folder.parent / "theirs" / KEY_FILE).read_bytes())
    (folder / KEY_FILE).chmod(0o660)


def open_file(folder: Path) -> None:
    (folder / NAME).chmod(0o666)


def linked(folder: Path) -> None:
    (folder / NAME).rename(folder.parent / "elsewhere")
    (folder / NAME).symlink_to(folder.parent / "elsewhere")


def under_two_names(folder: Path) -> None:
    os.link(folder / NAME, folder.parent / "second")


def fifo(folder: Path) -> None:
    (folder / NAME).unlink()
    os.mkfifo(folder / NAME)


def huge(folder: Path) -> None:
    os.truncate(folder / NAME, cache_module.MAX_FILE + 1)  # a hole: it takes no room on the disk


ATTACKS = (with_another_key, with_a_plain_digest, with_a_key_of_theirs, open_file, linked, under_two_names, fifo, huge)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs users")
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_a_planted_file_is_not_used(cache, attack):
    attack(cache.folder)
    later = Cache(cache.folder)
    assert later.read(NAME) is None
    later.write(NAME, b"made anew")
    assert Cache(cache.folder).read(NAME) == b"made anew"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs users")
@pytest.mark.parametrize("whose", [NAME, KEY_FILE])
def test_a_file_of_somebody_else_is_not_used(cache, monkeypatch, whose):
    stated = os.fstat
    inode = os.stat(cache.folder / whose).st_ino

    def of_somebody_else(descriptor):
        status = stated(descriptor)
        fields = list(status)
        fields[4] += status.st_ino == inode  # the owner
        return os.stat_result(fields)

    monkeypatch.setattr(os, "fstat", of_somebody_else)
    assert Cache(cache.folder).read(NAME) is None


def test_partial_files_of_a_killed_process_are_ignored_and_deleted_in_time(cache):
    partial = cache.folder / f"{PARTIAL}killed"
    partial.write_bytes(b"half")
    cache.prune()
    assert partial.exists()  # somebody may be writing it now
    os.utime(partial, (0, time.time() - 2 * cache_module.PARTIAL_AGE))
    cache.prune()
    assert not partial.exists()
    assert cache.read(NAME) == b"ours"


def test_what_nobody_uses_is_deleted_and_what_is_used_stays(cache):
    old = time.time() - cache_module.MAX_AGE - 60
    other = key("other")
    cache.write(other, b"used")
    for name in (NAME, other):
        os.utime(cache.folder / name, (old, old))
    assert cache.read(other) == b"used"  # gives it a new date
    cache.prune()
    assert (cache.read(NAME), cache.read(other)) == (None, b"used")
    assert (cache.folder / KEY_FILE).exists()


def test_beyond_its_size_the_longest_unused_goes_first(tmp_path):
    cache = Cache(tmp_path / "cache", max_bytes=3 * 1200)
    names = [key(k) for k in range(6)]
    for age, name in zip(range(60, 0, -10), names, strict=True):
        cache.write(name, bytes(1000))
        os.utime(cache.folder / name, (0, time.time() - age))
    (cache.folder / "notes.txt").write_text("somebody's own")
    cache.prune()
    assert sorted(p.name for p in entries(cache.folder)) == sorted([*names[3:], "notes.txt"])


def test_a_cache_prunes_itself(tmp_path):
    cache = Cache(tmp_path / "cache", max_bytes=10_000)
    for k in range(2 * cache_module.PRUNE_EVERY):
        cache.write(key(k), bytes(1000))
    assert len(entries(cache.folder)) <= 9 + cache_module.PRUNE_EVERY


def test_the_size_comes_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("EQUIPOISE_CACHE_SIZE", "3")
    assert Cache(tmp_path).max_bytes == 3 * 2**20
    monkeypatch.setenv("EQUIPOISE_CACHE_SIZE", "much")
    with pytest.warns(CacheWarning, match="number of MiB, got 'much'"):
        assert Cache(tmp_path).max_bytes == cache_module.MAX_BYTES


def test_where_the_folder_is(monkeypatch, tmp_path):
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    assert default_folder() == tmp_path
    monkeypatch.delenv("EQUIPOISE_CACHE")
    if sys.platform.startswith("linux"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert default_folder() == tmp_path / "equipoise"
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert default_folder() == tmp_path / ".cache" / "equipoise"


# Keys


def test_bytes_come_back(tmp_path):
    cache = Cache(tmp_path / "cache")
    for k, data in enumerate((b"", b"x", os.urandom(100_000))):
        assert cache.get(key(k), lambda data=data: data) == data
        assert cache.get(key(k), lambda: pytest.fail("it is there")) == data
    assert_array_equal(sorted(p.name for p in entries(tmp_path / "cache")), sorted(key(k) for k in range(3)))


def test_keys_tell_their_parts_apart():
    different = [
        ("a", "b"),
        ("ab",),
        ("b", "a"),
        ("a", b"b"),
        ("a",),
        (),
        ("a", "b", ""),
        (1,),
        ("1",),
        (1.0,),
        (None,),
    ]
    assert len({key(*parts) for parts in different}) == len(different)
    assert key("a", 1) == key("a", 1)
