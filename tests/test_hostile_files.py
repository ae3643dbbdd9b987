"""Files that somebody made to do harm, or that a disk spoilt: every reader ends in its own error, soon and in little
memory."""

from __future__ import annotations

import copy
import io
import json
import os
import resource
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import equipoise as eq
from equipoise.body.profile import read as read_profile
from equipoise.errors import EquipoiseError
from equipoise.files import MAX_BYTES, read_arrays, read_bounded
from equipoise.model.meshes import read_mesh
from equipoise.simulate import scenario as scenario_module
from equipoise.simulate.archive import RunError
from equipoise.simulate.scenario import ScenarioError, load_scenario, parse_scenario
from equipoise.simulate.toml_source import TomlSource
from equipoise.study.parameters import StudyError
from equipoise.study.store import HEADER, RUNS, StudyWarning
from equipoise.study.table import Record, Table

DEEP = 200_000


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A small run in its file."""
    robot = eq.load("two_link_pendulum")
    run = eq.simulate(
        robot, lambda t, q, v: SimpleNamespace(torque=np.zeros(robot.nv)), "hard", 0.01,
        q0=np.full(robot.nq, 0.1), v0=np.full(robot.nv, 0.2), shown=[eq.Sphere((9, 0, 0), 0.1)],
    )  # fmt: skip
    return run.save(tmp_path_factory.mktemp("runs") / "run.npz")


def rewritten(good, target, change):
    """The run with header and arrays changed."""
    arrays = read_arrays(good)
    header = json.loads(arrays["header"].tobytes())
    change(header, arrays)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(target, **arrays)
    return target


def npy(shape: tuple[int, ...], data: bytes, descr: str = "<f8") -> bytes:
    """An array whose header says what it likes."""
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    text += b" " * (63 - (len(text) + 10) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def archive(path, **members: bytes):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(f"{name}.npy", data)
    return path


# --- sizes ------------------------------------------------------------------------------------------------------------


def test_a_bomb_is_refused_before_it_unpacks(tmp_path):
    """A quarter of a gigabyte of zeros in a megabyte, read with half of that as its bound."""
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file, file.open("q.npy", "w") as q:
        q.write(npy((2**25,), b""))
        for _ in range(2**28 // 2**24):
            q.write(bytes(2**24))
    assert path.stat().st_size < 2**21
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(RunError, match=r"unpacks to 268,435,\d+ bytes; up to 134,217,728"):
        eq.Run.load(path, max_bytes=2**27)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**15  # kB


def test_the_bound_on_a_run_can_be_chosen(good):
    with pytest.raises(RunError, match="up to 1,000 are read"):
        eq.Run.load(good, max_bytes=1000)
    assert eq.Run.load(good, max_bytes=10**6).robot.nv == 2


@pytest.mark.parametrize(
    "data, words",
    [
        (npy((10**15,), bytes(80)), "says that its shape is"),
        (npy((-3,), bytes(80)), "says that its shape is"),
        (npy((2, 2), bytes(80)), "more bytes than its shape"),
        (npy((10,), bytes(80), "|O"), "no objects that would need pickle"),
        (npy((10,), bytes(80), "[('a', '<f8')]"), "descr"),
        (b"\x93NUMPY\x09\x00" + bytes(80), "format"),
        (b"", "magic string"),
    ],
    ids=["huge", "negative", "longer", "objects", "records", "version", "empty"],
)
def test_arrays_are_what_their_headers_say(tmp_path, data, words):
    with pytest.raises(ValueError, match=words):
        read_arrays(archive(tmp_path / "a.npz", x=data))


def test_an_entry_that_lies_about_its_size_is_damaged(tmp_path):
    """The directory says 80 bytes, the stream unpacks to a megabyte: no more than 80 bytes are taken."""
    path = archive(tmp_path / "a.npz", x=npy((2**17,), bytes(2**20)))
    data = bytearray(path.read_bytes())
    true = (len(npy((2**17,), b"")) + 2**20).to_bytes(4, "little")
    at = [k for k in range(len(data)) if data[k : k + 4] == true]
    assert len(at) >= 2
    for k in at:
        data[k : k + 4] = (208).to_bytes(4, "little")
    with pytest.raises((ValueError, zipfile.BadZipFile)):
        read_arrays(bytes(data))


def test_more_arrays_than_a_run_can_have(tmp_path, monkeypatch):
    monkeypatch.setattr("equipoise.files.MAX_ARRAYS", 3)
    with pytest.raises(ValueError, match="it has 4 arrays; up to 3"):
        read_arrays(archive(tmp_path / "a.npz", **dict.fromkeys("abcd", npy((1,), bytes(8)))))


def test_files_are_read_up_to_their_bound(tmp_path):
    (tmp_path / "text").write_bytes(b"12345")
    assert read_bounded(tmp_path / "text", 5) == b"12345"
    with pytest.raises(ValueError, match="more than the 4 bytes"):
        read_bounded(tmp_path / "text", 4)
    assert MAX_BYTES == 2**30


FIFOS_IN_MJCF = {
    "mesh": '<asset><mesh name="m" file="fifo.stl"/></asset>',
    "meshdir": '<compiler meshdir="meshes"/><asset><mesh name="m" file="fifo.stl"/></asset>',
    "include": '<include file="fifo.xml"/>',
    "attach": '<asset><model name="m" file="fifo.xml"/></asset>',
    "texture": '<asset><texture name="t" type="2d" file="fifo.png"/></asset>',
    "hfield": '<asset><hfield name="h" size="1 1 1 1" file="fifo.png"/></asset>',
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
@pytest.mark.parametrize(
    "call",
    [
        "import equipoise as eq; eq.Run.load('fifo')",
        "from equipoise.study.table import Table; Table.load('fifo')",
        "from equipoise.simulate.scenario import load_scenario; load_scenario('fifo.toml')",
        "from equipoise.body.profile import read; read('fifo.toml')",
        "from equipoise.model.meshes import read_mesh; read_mesh('fifo.stl')",
        "import equipoise as eq; eq.load('mesh.xml')",
        "import equipoise as eq; eq.load('meshdir.xml')",
        "import equipoise as eq; eq.load('include.xml')",
        "import equipoise as eq; eq.load('attach.xml')",
        "import equipoise as eq; eq.load('texture.xml')",
        "import equipoise as eq; eq.load('hfield.xml')",
    ],
)
def test_nobody_waits_for_a_fifo(tmp_path, call):
    (tmp_path / "meshes").mkdir()
    for name in ("fifo", "fifo.toml", "fifo.stl", "fifo.xml", "fifo.png", "meshes/fifo.stl"):
        os.mkfifo(tmp_path / name)
    mass = '<inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>'
    for name, inside in FIFOS_IN_MJCF.items():
        body = f"{inside}<worldbody><body><freejoint/>{mass}</body></worldbody>"
        (tmp_path / f"{name}.xml").write_text(f"<mujoco>{body}</mujoco>")
    code = (
        f"from equipoise.errors import EquipoiseError\ntry:\n    {call}\nexcept EquipoiseError as error:\n    "
        "print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "fifo" in done.stdout


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_a_fifo_in_the_place_of_a_manifest_is_no_package(tmp_path):
    """A FIFO called package.xml above the robot."""
    os.mkfifo(tmp_path / "package.xml")
    mesh = '<visual><geometry><mesh filename="package://p/a.stl"/></geometry></visual>'
    inertia = '<inertial><mass value="1"/><inertia ixx=".1" iyy=".2" izz=".2" ixy="0" ixz="0" iyz="0"/></inertial>'
    (tmp_path / "r.urdf").write_text(f'<robot name="r"><link name="a">{inertia}{mesh}</link></robot>')
    with pytest.warns(eq.ModelWarning, match="a.stl"):
        assert eq.load(tmp_path / "r.urdf", floating=True).nv == 6


def test_a_sparse_file_is_refused_before_memory_is_taken_for_it(tmp_path):
    with (tmp_path / "mesh.stl").open("wb") as file:
        file.truncate(20 * 2**30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(eq.ModelError, match="more than the 268,435,456 bytes"):
        read_mesh(tmp_path / "mesh.stl")
    (tmp_path / "r.xml").write_text(f'<mujoco><asset><mesh name="m" file="mesh.stl"/></asset>{BODY}</mujoco>')
    with pytest.raises(eq.ModelError, match="'mesh.stl', which has more than"):
        eq.load(tmp_path / "r.xml")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**17  # kB


# --- texts that multiply themselves -----------------------------------------------------------------------------------

BODY = '<worldbody><body><freejoint/><geom size=".1"/></body></worldbody>'
DOUBLED = '<node id="n{0}"><instance_node url="#n{1}"/><instance_node url="#n{1}"/></node>'


def collada(nodes: str, scene: str = '<instance_node url="#n0"/>') -> str:
    return (
        f"<COLLADA><library_nodes>{nodes}</library_nodes><library_visual_scenes><visual_scene><node>{scene}</node>"
        "</visual_scene></library_visual_scenes></COLLADA>"
    )


@pytest.mark.parametrize(
    "nodes, words",
    [
        ("".join(DOUBLED.format(k, k + 1) for k in range(60)) + '<node id="n60"/>', "stand for more than 10,000 nodes"),
        (DOUBLED.format(0, 1) + DOUBLED.format(1, 0), "more than 10,000 nodes|contain themselves"),
        ('<node id="n0">' + '<node id="x"/>' * 10_001 + "</node>", "more than 10,000 nodes"),
    ],
    ids=["doubled", "each other", "many"],
)
def test_collada_nodes_stand_for_a_bounded_number(tmp_path, nodes, words):
    (tmp_path / "m.dae").write_text(collada(nodes))
    with pytest.raises(eq.ModelError, match=words):
        read_mesh(tmp_path / "m.dae")


def test_collada_geometries_are_instanced_within_bounds(tmp_path, monkeypatch):
    """Each instance counts; the geometry itself is read once."""
    numbers = "0 0 0 1 0 0 0 1 0"
    geometry = (
        f'<geometry id="g"><mesh><source id="s"><float_array>{numbers}</float_array></source><vertices id="v"><input '
        'semantic="POSITION" source="#s"/></vertices><triangles><input semantic="VERTEX" source="#v" offset="0"/>'
        "<p>0 1 2</p></triangles></mesh></geometry>"
    )
    text = collada('<node id="n0">' + '<instance_geometry url="#g"/>' * 100 + "</node>")
    (tmp_path / "m.dae").write_text(
        text.replace("<COLLADA>", f"<COLLADA><library_geometries>{geometry}</library_geometries>")
    )
    assert read_mesh(tmp_path / "m.dae")[1].shape == (100, 3)
    monkeypatch.setattr("equipoise.model.meshes.MAX_CORNERS", 599)
    with pytest.raises(eq.ModelError, match="more than 599 corners"):
        read_mesh(tmp_path / "m.dae")


def replicated(*counts: int, inside: str = '<geom size=".01"/>') -> str:
    for count in counts:
        inside = f'<replicate count="{count}" offset=".1 0 0">{inside}</replicate>'
    return f'<mujoco><worldbody><body><freejoint/><geom size=".1"/>{inside}</body></worldbody></mujoco>'


@pytest.mark.parametrize(
    "text",
    [
        replicated(1000, 1000),
        replicated(20, 20, 20),
        replicated(10_000),
        replicated(2, inside='<composite type="cloth" count="100 100 1"/>'),
        replicated(2, inside='<flexcomp type="grid" count="20 20 20"/>'),
    ],
)
def test_mjcf_stands_for_a_bounded_number_of_elements(text):
    with pytest.raises(eq.ModelError, match="stands for more than 5,000 copies"):
        eq.load(text)


def test_mjcf_files_that_attach_each_other_stand_for_a_bounded_number(tmp_path):
    """Twelve files, each of which attaches the next one four times."""
    for k in range(12):
        child = f'<asset><model name="m" file="{k + 1}.xml"/></asset>' if k < 11 else ""
        attached = "".join(f'<attach model="m" body="b" prefix="{j}"/>' for j in range(4)) if k < 11 else ""
        (tmp_path / f"{k}.xml").write_text(
            f'<mujoco>{child}<worldbody><body name="b"><geom size=".1"/>{attached}</body></worldbody></mujoco>'
        )
    with pytest.raises(eq.ModelError, match="or 500,000 elements"):
        eq.load(tmp_path / "0.xml")


def test_a_grid_of_a_hundred_is_replicated():
    assert eq.load(replicated(10, 10)).nv == 6


# --- runs -------------------------------------------------------------------------------------------------------------


def set_array(name, value):
    return lambda header, arrays: arrays.update({name: value})


CHANGES = {
    "q too short": (set_array("q", np.zeros((3, 2))), r"q has shape \(3, 2\) where"),
    "t of two dimensions": (set_array("t", np.zeros((11, 1))), "t has shape"),
    "t backwards": (lambda h, a: a.update(t=a["t"][::-1].copy()), "not finite and rising"),
    "t not a number": (lambda h, a: a.update(t=np.full(len(a["t"]), np.nan)), "not finite and rising"),
    "v of texts": (lambda h, a: a.update(v=a["v"].astype(str)), "not of numbers"),
    "status beyond": (lambda h, a: a.update(status=a["status"] + 99), "a status is one of"),
    "status below": (lambda h, a: a.update(status=a["status"] - 99), "a status is one of"),
    "status of halves": (lambda h, a: a.update(status=a["status"] + 0.5), "a status is one of"),
    "outcome": (lambda h, a: h.update(outcome="<script>"), "its outcome is '<script>'"),
    "seed": (lambda h, a: h.update(seed="seven"), "its seed"),
    "version": (lambda h, a: h.update(version="1e9"), "of format 1e9"),
    "header a list": (lambda h, a: [h.clear(), h.update(format=[])], "its header says"),
    "names": (lambda h, a: h.update(names={"forces": ["a"] * 5}), "damaged or not a run"),
    "events": (lambda h, a: h.update(events=[1, 2]), "damaged or not a run"),
    "event never": (lambda h, a: h.update(events=[[float("inf"), "x"]]), "time of an event"),
    "contacts": (lambda h, a: h.update(contacts=[1]), "contacts are not contacts"),
    "contact nowhere": (
        lambda h, a: h.update(contacts={"@": "mapping", "items": [["c", {
            "@": "ContactInfo", "frame": "x", "points": {"@": "array", "shape": [1, 3], "values": [0, 0, 0]},
            "friction": 1.0}]]}),
        "contact 'c' is on 'x'",
    ),
    "obstacles": (lambda h, a: h.update(obstacles=["x"]), "obstacles are not solids"),
    "safe distances": (lambda h, a: h.update(safe_distances=[1.0] * 9), "9 safe distances for 1 obstacles"),
    "scenario": (lambda h, a: h.update(scenario=3), "scenario is not a mapping"),
    "robot is a sphere": (lambda h, a: h["robot"].update(model=h["obstacles"][0]), "its robot is a Sphere"),
    "robot without mass": (lambda h, a: spoil(h["robot"]["model"], "mass", -1.0), "damaged or not a run"),
    "robot of texts": (lambda h, a: spoil(h["robot"]["model"], "mass", "heavy"), "damaged or not a run"),
    "array without end": (lambda h, a: spoil(h["robot"]["model"], "shape", [10**9, 10**9]), "damaged or not a run"),
}  # fmt: skip


def spoil(data, key, value) -> None:
    """Give every such key in the tree that value."""
    for item in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        spoil(item, key, value)
    if isinstance(data, dict) and key in data:
        data[key] = value


@pytest.mark.parametrize("what", CHANGES)
def test_a_run_has_its_shapes_and_ranges(good, tmp_path, what):
    change, words = CHANGES[what]
    with pytest.raises(RunError, match=words):
        eq.Run.load(rewritten(good, tmp_path / "run.npz", change))


def test_a_header_nested_without_end(good, tmp_path):
    arrays = read_arrays(good)
    arrays["header"] = np.frombuffer(b"[" * DEEP, np.uint8)
    np.savez(tmp_path / "deep.npz", **arrays)
    with pytest.raises(RunError, match="RecursionError"):
        eq.Run.load(tmp_path / "deep.npz")


def test_a_run_with_any_bytes_changed_is_a_run_or_an_error(good):
    """Whatever a disk does: two hundred files with a few bytes changed, in the stored and the packed form."""
    stored = io.BytesIO()
    np.savez(stored, **read_arrays(good))
    rng = np.random.default_rng(3)
    path = good.with_name("spoilt.npz")
    refused = 0
    for k in range(200):
        data = bytearray(stored.getvalue() if k % 2 else good.read_bytes())
        for at in rng.integers(len(data), size=rng.integers(1, 5)):
            data[at] = rng.integers(256)
        path.write_bytes(data)
        try:
            assert eq.Run.load(path).robot.nv == 2
        except RunError:
            refused += 1
    assert refused > 100  # checksums find nearly all of them


# --- studies ----------------------------------------------------------------------------------------------------------


def folder_of(path, lines=(), **header):
    path.mkdir()
    standard = dict(format="equipoise study", version=1, function="f", source="", parameters=["a"], runs=1, digest="x")
    (path / HEADER).write_text(json.dumps(standard | header))
    (path / RUNS).write_bytes(b"\n".join(lines) + b"\n")
    return path


@pytest.mark.parametrize(
    "header", [dict(version="2"), dict(function=1), dict(parameters="a"), dict(parameters=[1]), dict(format=None)]
)
def test_the_header_of_a_study_is_typed(tmp_path, header):
    with pytest.raises(StudyError, match="is not the folder of a study"):
        Table.load(folder_of(tmp_path / "study", **header))


def test_the_header_of_a_study_is_bounded(tmp_path):
    path = folder_of(tmp_path / "study")
    (path / HEADER).write_text("[" * DEEP)
    with pytest.raises(StudyError, match="RecursionError"):
        Table.load(path)
    (path / HEADER).write_bytes(b" " * (2**22 + 1))
    with pytest.raises(StudyError, match="more than the"):
        Table.load(path)


RIGHT = dict(run=0, parameters={"a": 1}, results={"b": 2.0}, wall_time=0.1, failure="")
LINES = [
    dict(run=-1),
    dict(run="0"),
    dict(run=True),
    dict(run=1.5),
    dict(parameters={"z": 1}),
    dict(parameters={"a": [1]}),
    dict(parameters=None),
    dict(results={"b": {}}),
    dict(results=[1]),
    dict(wall_time="long"),
    dict(failure=3),
    dict(more=1),
]


@pytest.mark.parametrize("change", LINES, ids=str)
def test_a_line_that_is_no_record_is_none(tmp_path, change):
    lines = [json.dumps(RIGHT | dict(run=1)).encode(), json.dumps(RIGHT | change).encode(), b"[" * DEEP]
    with pytest.warns(StudyWarning, match="damaged lines .*: 2;"):
        table = Table.load(folder_of(tmp_path / "study", lines))
    assert table["run"].tolist() == [1] and table["b"].tolist() == [2.0]


def test_a_log_larger_than_its_bound_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("equipoise.study.store.MAX_BYTES", 100)
    with pytest.raises(StudyError, match="more than the 100 bytes"):
        Table.load(folder_of(tmp_path / "study", [b"x" * 200]))


def test_tables_have_columns_of_one_length(tmp_path):
    path = Table.of([Record(0, {"a": 1}, {"b": 2.0}, 0.1), Record(1, {"a": 2}, {"b": 2.0}, 0.1)]).save(
        tmp_path / "t.npz"
    )
    for change in (
        {"column 1": np.zeros(3)}, {"column 1": np.zeros((2, 1))}, {"column 0": np.zeros(2)}, {"column 4": np.zeros(2)},
    ):  # fmt: skip
        np.savez(tmp_path / "bad.npz", **(read_arrays(path) | change))
        with pytest.raises(StudyError, match="damaged or not a table: ValueError"):
            Table.load(tmp_path / "bad.npz")


def test_a_parquet_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("equipoise.study.table.MAX_BYTES", 2**24)
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(2**20, np.int8)), ["a" * 40])
    table = pyarrow.table({f"c{k}": column for k in range(4)})
    parquet.write_table(table, tmp_path / "bomb.parquet", compression="zstd")
    assert (tmp_path / "bomb.parquet").stat().st_size < 2**20
    with pytest.raises(StudyError, match="it unpacks to"):
        Table.load(tmp_path / "bomb.parquet")


# --- TOML -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [[], {}, [[]], True, 1e300, {"kind": []}, [{"kind": {}}]], ids=str)
def test_any_value_in_any_place_of_a_scenario_is_read_or_refused(value, monkeypatch):
    """All keys of a scenario with tasks, contacts, constraints, goals and obstacles, one after the other."""
    source = TomlSource.of_file(Path(scenario_module.__file__).parent / "scenarios_data" / "table_reach.toml")
    values, refused = source.read(), 0
    for path in list(places(values)):
        changed = owner = copy.deepcopy(values)
        for step in path[:-1]:
            owner = owner[step]
        owner[path[-1]] = value
        monkeypatch.setattr(TomlSource, "read", lambda self, changed=changed: changed)
        try:
            parse_scenario(source)
        except ScenarioError:
            refused += 1
    assert refused > 10


def places(value, path=()):
    for step, inside in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield (*path, step)
        yield from places(inside, (*path, step))


SCENARIO = 'robot = "arm6"\nduration = {}\n[plant]\ndelay = {}\n[[goal]]\nkind = "com"\nby = {}\nwithin = 0.1\n'
VALUES = [
    ("1e300", "0", "[0, 0, 0]"),
    ("inf", "0", "[0, 0, 0]"),
    ("1" + "0" * 400, "0", "[0, 0, 0]"),
    ("1e9", "0", "[0, 0, 0]"),
    ("1", "9" * 400, "[0, 0, 0]"),
    ("1", "-1", "[0, 0, 0]"),
    ("1", "0", "[0, 0, 1" + "0" * 400 + "]"),
    ("1", "0", "[0, 0, nan]"),
    ("1", "0", "[" * DEEP),
    ("1", "0", "9" * 5000),
    ("true", "0", "[0, 0, 0]"),
]


@pytest.mark.parametrize("values", VALUES, ids=lambda values: "-".join(values)[:24])
def test_numbers_of_a_scenario_have_a_range(values):
    with pytest.raises(ScenarioError, match=r"bad\.toml") as caught:
        parse_scenario(TomlSource("bad.toml", SCENARIO.format(*values)))
    assert len(str(caught.value)) < 300
    assert parse_scenario(TomlSource("good.toml", SCENARIO.format("1", "2", "[0, 0, 0.1]"))).plant.delay == 2


def test_a_scenario_is_text_of_some_kilobytes(tmp_path):
    (tmp_path / "long.toml").write_bytes(b"#" * (2**22 + 1))
    with pytest.raises(ScenarioError, match="more than the"):
        load_scenario(tmp_path / "long.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ScenarioError, match="cannot be read"):
        load_scenario(tmp_path / "bytes.toml")


@pytest.mark.parametrize(
    "text",
    [
        "touching = 5\n", "finding = 'x'\n", "x = " + "[" * DEEP + "\n", "mass = 1" + "0" * 400 + "\n",
        "mass = " + "9" * 5000 + "\n",
        "[parts.'left foot']\nlink = 'l'\ncorners = 3\n", "[parts.'left foot']\nlink = 'l'\ncontact = ['flat']\n",
        "[standing]\nknee = 1e99\n",
    ],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_profiles_are_typed(text):
    with pytest.raises(EquipoiseError, match="profile"):
        read_profile(text)
