"""Robots by name, by path and by text."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from walk import link_poses, neutral

from equipoise.errors import EquipoiseError, ModelError, ModelWarning, UnknownNameError
from equipoise.model import installed
from equipoise.model.assemble import assemble
from equipoise.model.checks import check
from equipoise.model.joints import Fixed, Revolute
from equipoise.model.library import find, known_names, read, with_base
from equipoise.model.robots import BUILT_IN
from equipoise.model.types import Inertia, Joint, Link

URDF = """<robot name="two"><link name="a"/><link name="b"/>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""
MJCF = '<mujoco model="one"><worldbody><body name="a"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>'


def test_built_in_names_come_first_and_every_name_is_found():
    names = known_names()
    assert names[: len(BUILT_IN)] == list(BUILT_IN)
    assert len(set(names)) == len(names)
    for name in names:
        found = find(name)
        assert callable(found) or (isinstance(found, Path) and found.is_file())


@pytest.mark.parametrize("name", [name for name in known_names() if name not in BUILT_IN])
def test_every_robot_of_the_installed_packages_can_be_used(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        model = read(name, floating=True)
        check(model)
    assert model.base is not None
    assert model.mass > 0


def test_jvrc1_comes_with_its_meshes():
    if "jvrc1" not in known_names():
        pytest.skip("the package jvrc_description is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = read("jvrc1")
    assert model.nv == 6 + 34


def test_unknown_names_list_the_choices():
    with pytest.raises(UnknownNameError, match="no robot named 'humann'. Did you mean 'human'") as caught:
        read("humann")
    assert str(caught.value).endswith("The path of a URDF or MJCF file, or its text, works too.")
    assert find("humann") is None


# Dispatch


def test_text_is_read_by_its_root_element():
    assert read(URDF).nv == 7
    assert read(URDF, floating=False).nv == 1
    pytest.importorskip("mujoco")
    assert read(MJCF).nv == 6
    assert read("<!-- not -- quite XML -->" + MJCF).nv == 6
    with pytest.raises(ModelError, match="XML text: the root element is <svg>; robots are read from URDF .* and MJCF"):
        read("<svg/>")


@pytest.mark.parametrize("as_type", [str, Path])
def test_files_are_read_by_their_content_not_their_ending(tmp_path, as_type):
    path = tmp_path / "robot.xml"
    path.write_text(URDF)
    assert read(as_type(path)).name == "two"


def test_a_file_without_ending_in_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "myrobot").write_text(URDF)
    monkeypatch.chdir(tmp_path)
    assert read("myrobot").name == "two"


@pytest.mark.parametrize("source", ["no/such/robot", "robot.urdf", "robot.XML", Path("human")])
def test_a_missing_file_is_named(source):
    with pytest.raises(FileNotFoundError, match=f"'{source}' does not exist") as caught:
        read(source)
    assert isinstance(caught.value, EquipoiseError)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("<robot", "XML text: malformed XML: unclosed token at line 1"),
        ("<!-- nothing -->", "XML text: malformed XML: no element found"),
        ("<!--" * 200_000, "XML text: malformed XML"),  # must take no quadratic time
        ("<!DOCTYPE a><robot/>", "XML entities are off"),
        (3, "a robot is a path, XML text or a name, not int 3"),
    ],
    ids=["unclosed", "comment", "comments", "doctype", "number"],
)
def test_bad_sources(source, message):
    with pytest.raises(ModelError, match=message):
        read(source)


# Built-in robots


def test_parameters_reach_built_in_robots():
    assert read("human", height=1.5, mass=50.0).mass == pytest.approx(50)
    with pytest.raises(UnknownNameError, match="no parameter of robot 'human' named 'heigth'. Did you mean 'height'"):
        read("human", heigth=1.8)
    with pytest.raises(ModelError, match="takes no parameters, got height"):
        read(URDF, height=1.8)


def test_gravity_reaches_every_robot():
    for source in ("arm7", URDF):
        assert read(source, gravity=(0, 0, -1.6)).gravity == (0, 0, -1.6)


@pytest.mark.parametrize("name", ["human", "quadruped", "arm7"])
def test_the_base_of_a_built_in_robot_can_be_freed_and_held(name):
    free, held = read(name, floating=True), read(name, floating=False)
    assert free.base is not None
    assert held.base is None
    assert free.nv == held.nv + 6
    check(free)
    poses, poses_held = link_poses(free, neutral(free)), link_poses(held, neutral(held))
    root = next(iter(free.links))
    for link in free.links:
        assert_allclose(
            np.linalg.inv(poses[root]) @ poses[link], np.linalg.inv(poses_held[root]) @ poses_held[link], atol=1e-12
        )


def test_a_freed_base_starts_at_the_world():
    body = Inertia(1.0, np.zeros(3), np.eye(3) / 10)
    raised = np.eye(4)
    raised[2, 3] = 1.0
    links = [Link("foot", body), Link("arm", body)]
    model = assemble("r", links, [Joint("mount", Fixed(), None, "foot", raised), Joint("j", Revolute(), "foot", "arm")])
    free = with_base(model, floating=True)
    q = np.array([1.0, 2, 3, 1, 0, 0, 0, 0.3])
    assert_allclose(link_poses(free, q)["foot"][:3, 3], [1, 2, 3])
    assert with_base(free, floating=True) is free


def test_a_robot_on_a_moving_joint_cannot_float():
    body = Inertia(1.0, np.zeros(3), np.eye(3) / 10)
    model = assemble("swing", [Link("a", body)], [Joint("j", Revolute(), None, "a")])
    with pytest.raises(ModelError, match="robot 'swing' cannot float"):
        with_base(model, floating=True)


# Installed packages


@pytest.fixture
def no_caches(tmp_path, monkeypatch):
    """Caches of robot_descriptions and mujoco-menagerie that are empty."""
    for variable in ("ROBOT_DESCRIPTIONS_CACHE", "MENAGERIE_CACHE_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    return tmp_path


def package(folder, monkeypatch, name, **files):
    """An installed package of this name, of which only its files matter: importing it fails."""
    place = folder / name
    place.mkdir(parents=True)
    for file, text in {"__init__.py": "raise AssertionError('imported')", **files}.items():
        (place / file.replace("_py", ".py").replace("_json", ".json")).write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, name, raising=False)  # another test may have imported the real one


def test_cached_descriptions_are_found_without_a_download(no_caches, monkeypatch):
    module = """REPOSITORY_PATH: str = _clone_to_cache("two", commit=None)
URDF_PATH: str = _path.join(REPOSITORY_PATH, "urdf", "two.urdf")"""
    package(
        no_caches, monkeypatch, "robot_descriptions", two_description_py=module, _empty_description_py="",
        _repositories_py='REPOSITORIES = {"two": Repository(url="…", cache_path="cached_two")}',
    )  # fmt: skip
    assert find("two") is find("two_description") is None
    with pytest.raises(ModelError, match="this downloads it: python -c 'import robot_descriptions.two_description'"):
        read("two")
    path = no_caches / "ROBOT_DESCRIPTIONS_CACHE" / "cached_two" / "urdf" / "two.urdf"
    path.parent.mkdir(parents=True)
    path.write_text(URDF)
    assert find("two_description") == find("two") == path
    assert "two_description" in known_names()
    assert read("two_description").name == "two"


def test_robots_in_the_cache_of_mujoco_menagerie_are_found_without_a_download(no_caches, monkeypatch):
    pytest.importorskip("mujoco")
    package(no_caches, monkeypatch, "robot_descriptions")  # it knows no robot
    robots = {"universal_robots_ur5e": {"default_model": "ur5e"}, "maker_other": {"default_model": "main"}}
    package(no_caches, monkeypatch, "mujoco_menagerie", registry_json=json.dumps({"robots": robots}))
    with pytest.raises(ModelError, match="this downloads it: mujoco-menagerie prefetch universal_robots_ur5e"):
        read("ur5e")
    for name, main in (("universal_robots_ur5e", "ur5e"), ("maker_other", "main")):
        folder = no_caches / "MENAGERIE_CACHE_DIR" / "models" / f"{name}-0123456789abcdef"
        folder.mkdir(parents=True)
        (folder / f"{main}.xml").write_text(MJCF)
        if name == "maker_other":  # an unfinished download
            assert find(name) is None
        (folder / ".complete").write_text("{}")
        assert find(name) == folder / f"{main}.xml"
    assert read("ur5e").name == read("UR5e").name == "one"
    assert find("ur5") != find("ur5e")


@pytest.mark.parametrize(
    ("name", "same"), [("unitree_g1", "g1"), ("franka_emika_panda", "panda"), ("pal-talos", "talos")]
)
def test_names_with_a_maker_are_the_robots_without(no_caches, name, same):
    if find(same) is None:
        pytest.skip("the package example-robot-data is not installed")
    assert find(name) == find(same)


@pytest.mark.parametrize(
    ("name", "brought_by"),
    [("unitree_g1", "example-robot-data"), ("jvrc1", "jvrc_description"), ("ur5e", "mujoco-menagerie")],
)
def test_a_missing_package_is_named(no_caches, monkeypatch, name, brought_by):
    monkeypatch.setattr(installed, "_PACKAGES", {})
    monkeypatch.setattr(installed, "_package_folder", lambda module: None)
    with pytest.raises(EquipoiseError, match=f"robot '{name}' needs the package '{brought_by}'"):
        read(name)
    with pytest.raises(EquipoiseError, match="'robot_descriptions', which is not installed"):
        read("unheard_of_description")
    with pytest.raises(UnknownNameError, match="no robot named 'unheard_of'"):
        read("unheard_of")


def test_names_cannot_leave_the_package():
    assert find("../_cache") is None
    assert find("_cache") is None
