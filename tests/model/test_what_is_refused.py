"""Descriptions that cannot be: each is refused with a typed error that says why, and within seconds."""

from __future__ import annotations

import time

import numpy as np
import pytest
from texts import INERTIAL, LIMIT, joint, link, pair, told, with_mesh

import equipoise as eq
from equipoise.model import library, xml
from equipoise.model.mjcf import read_mjcf
from equipoise.model.types import Frame, Inertia, Joint, JointDynamics, Link, Mimic, Shape

# --- numbers nobody can have ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, message",
    [
        (pair().replace('xyz="0 0.1 0.3"', 'xyz="0 0 1e200"'), "joint 'j': its placement must be finite"),
        (pair().replace('ixy="0"', 'ixy="1e300"', 1), "link 'a': mass, centre of mass and inertia must be finite"),
        (pair().replace('mass value="1"', 'mass value="1e200"', 1), "link 'a': mass, centre"),
        (pair(f'{LIMIT}<dynamics damping="-1"/>'), "joint 'j': damping must be a finite number, zero or more"),
        (with_mesh("m.stl").replace("mesh filename=\"m.stl\"", 'box size="1 -1 1"'), "size of a box is not negative"),
        (with_mesh("m.stl").replace("mesh filename=\"m.stl\"", 'sphere radius="inf"'), "link 'a': radius of <sphere>"),
        (pair(f'{LIMIT}<mimic joint="k" multiplier="1e300"/>').replace(
            "</robot>", f'{link("c")}{joint("k", "a", "c")}</robot>'), "joint 'j': multiplier and offset"),
    ],
)  # fmt: skip
def test_numbers_that_no_robot_has_in_urdf(text, message):
    with np.errstate(all="raise"), pytest.raises(eq.ModelError, match=message):
        eq.load(text)


@pytest.mark.parametrize(
    "what",
    [
        dict(dynamics=JointDynamics(armature=np.nan)), dict(dynamics=JointDynamics(armature=-1.0)),
        dict(dynamics=JointDynamics(friction=np.inf)), dict(dynamics=JointDynamics(stiffness=np.nan)),
        dict(dynamics=JointDynamics(rest=np.inf)), dict(mimic=Mimic("k", np.nan)),
        dict(frames=[Frame("f", "b", np.full((4, 4), np.nan))]), dict(standing={"j": (np.nan,)}),
        dict(shape=Shape("sphere", (np.nan,))), dict(shape=Shape("capsule", (0.1, -1.0))),
        dict(shape=Shape("mesh", (np.inf, 1.0, 1.0))), dict(inertia=Inertia(np.nan, np.zeros(3), np.eye(3))),
    ],
)  # fmt: skip
def test_numbers_that_no_robot_has_from_anywhere(what):
    from equipoise.model.assemble import assemble
    from equipoise.model.joints import Revolute

    solid = Inertia(1.0, np.zeros(3), np.eye(3))
    shapes = (what.pop("shape"),) if "shape" in what else ()
    links = [Link("a", solid), Link("b", what.pop("inertia", solid), shapes, shapes), Link("c", solid)]
    others = {name: what.pop(name) for name in ("frames", "standing") if name in what}
    joints = [Joint("j", Revolute((1.0, 0.0, 0.0)), "a", "b", **what), Joint("k", Revolute((0.0, 1.0, 0.0)), "b", "c")]
    with pytest.raises(eq.ModelError, match="finite number|not negative"):
        eq.Robot.from_model(assemble("x", links, joints, floating=True, **others))


def test_a_mirrored_mesh_may_have_a_negative_scale():
    assert eq.load(with_mesh("m.stl").replace('filename="m.stl"', 'filename="m.stl" scale="1 -1 1"')).nv == 6


@pytest.mark.parametrize("multiplier, cancels", [(-1.0, True), (-0.5, False)])
def test_followers_that_cancel_are_named(multiplier, cancels):
    """The middle link has no mass; the follower turns the last one back by what the leader turned it."""
    text = f'<robot name="r">{link("a")}{link("b", "")}{link("c")}{joint("lead", "a", "b")}'
    text += joint("back", "b", "c", f'{LIMIT}<mimic joint="lead" multiplier="{multiplier}"/>').replace(
        "0 0.1 0.3", "0 0 0"
    )
    if cancels:
        with pytest.raises(eq.ModelError, match=r"'lead' and its followers \('back'\) move nothing.*locked=\['lead'\]"):
            eq.load(text + "</robot>")
        return
    robot, _ = told(text + "</robot>", floating=True)
    assert np.isfinite(robot.forward_dynamics(*robot.random_state(np.random.default_rng(0)), np.zeros(7))).all()


@pytest.mark.parametrize("offset, cancels", [(0.0, True), (0.7, False)])
def test_followers_cancel_where_their_leaders_put_them(offset, cancels):
    """A follower that stands still between the two decides whether their axes are parallel."""
    text = f'<robot name="r">{link("a")}{link("b", "")}{link("c", "")}{link("d")}{joint("lead", "a", "b")}'
    for name, parent, child, axis, mimic in (
        ("still", "b", "c", "0 0 1", (0, offset)),
        ("back", "c", "d", "1 0 0", (-1, 0)),
    ):
        follow = f'{LIMIT}<mimic joint="lead" multiplier="{mimic[0]}" offset="{mimic[1]}"/>'
        text += joint(name, parent, child, follow).replace("0 0.1 0.3", "0 0 0").replace("1 0 0", axis)
    if cancels:
        with pytest.raises(eq.ModelError, match=r"'lead' and its followers \('still', 'back'\) move nothing"):
            eq.load(text + "</robot>")
    else:
        assert told(text + "</robot>", floating=True)[0].nv == 7


# --- names and files --------------------------------------------------------------------------------------------------


def test_names_of_any_length():
    for name in ("a" * 300, "a" * 5000):
        with pytest.raises(eq.UnknownNameError):
            eq.load(name)
        with pytest.raises(FileNotFoundError):
            eq.load(f"{name}.urdf")
    assert eq.load(pair(name="j" * 300), floating=True).nv == 7


def test_a_joint_named_base_beside_the_name_that_would_replace_it():
    text = pair(name="base").replace("</robot>", f"{link('c')}{joint('a_to_world', 'a', 'c')}</robot>")
    robot = eq.load(text, floating=True)
    assert list(robot.joints) == ["base", "a_to_world"] and (robot.nv, robot.floating) == (8, True)


def test_links_that_lead_to_themselves(tmp_path):
    (tmp_path / "loop.urdf").symlink_to("loop.urdf")
    with pytest.raises(eq.ModelError, match="does not exist"):
        eq.load(tmp_path / "loop.urdf")
    (tmp_path / "loop.xml").symlink_to("loop.xml")
    (tmp_path / "r.xml").write_text('<mujoco><include file="loop.xml"/></mujoco>')
    with pytest.raises(eq.ModelError, match="MuJoCo cannot read"):
        eq.load(tmp_path / "r.xml")


@pytest.mark.parametrize("text", ['<mujoco><include file="a\0b"/></mujoco>', "<mujoco><worldbody/>\0</mujoco>"])
def test_nul_is_refused(text, tmp_path):
    with pytest.raises(eq.ModelError):
        eq.load(text)
    (tmp_path / "r.xml").write_text(text)
    with pytest.raises(eq.ModelError):
        eq.load(tmp_path / "r.xml")


# --- MJCF -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["<mujoco/>", '<mujoco><default><geom size="1"/></default></mujoco>', "<mujoco><worldbody/></mujoco>"]
)
def test_fragments_without_a_body_are_named_so(text):
    with pytest.raises(eq.ModelError, match="has no body"):
        eq.load(text)


@pytest.mark.parametrize(
    "equality",
    ['<connect body1="a" body2="b" anchor=""/>', "<weld body1='a' relpose=' '/>", '<joint joint1="j" polycoef=""/>'],
)
def test_empty_numbers_of_a_loop_do_not_reach_mujoco(equality):
    """MuJoCo 3 fails on them with an exception of its own, holds a lock, and hangs at the next warning."""
    body = f'<body name="a">{INERTIAL}<joint name="j"/></body><body name="b">{INERTIAL}</body>'
    with pytest.raises(eq.ModelError, match="has an empty (anchor|relpose|polycoef)"):
        eq.load(f"<mujoco><worldbody>{body}</worldbody><equality>{equality}</equality></mujoco>")


@pytest.mark.parametrize("files", [{"a": "a"}, {"a": "b", "b": "a"}, {"a": "b", "b": "c", "c": "b"}])
def test_models_that_attach_themselves_do_not_reach_mujoco(files, tmp_path):
    for name, other in files.items():
        asset = f'<asset><model name=">" file="{other}.xml"/></asset>'
        body = f'<body name="{name}">{INERTIAL}<attach model=">" body="{other}" prefix="p"/></body>'
        (tmp_path / f"{name}.xml").write_text(f"<mujoco>{asset}<worldbody>{body}</worldbody></mujoco>")
    with pytest.raises(eq.ModelError, match="include or attach themselves, one by way of the other: '[ab].xml'"):
        read_mjcf(tmp_path / "a.xml")


def test_a_part_that_two_others_use_is_no_cycle(tmp_path):
    (tmp_path / "leaf.xml").write_text(f'<mujoco><worldbody><body name="leaf">{INERTIAL}</body></worldbody></mujoco>')
    model = '<model name="{0}" file="{0}.xml"/>'
    attach = '<attach model="{0}" body="{0}" prefix="{0}"/>'
    for name in ("x", "y"):
        body = f'<body name="{name}">{INERTIAL}{attach.format("leaf")}</body>'
        text = f"<mujoco><asset>{model.format('leaf')}</asset><worldbody>{body}</worldbody></mujoco>"
        (tmp_path / f"{name}.xml").write_text(text)
    both = "".join(map(attach.format, "xy"))
    assets = "".join(map(model.format, "xy"))
    (tmp_path / "r.xml").write_text(
        f'<mujoco><asset>{assets}</asset><worldbody><body name="r">{INERTIAL}{both}</body></worldbody></mujoco>'
    )
    assert len(read_mjcf(tmp_path / "r.xml").links) == 5


@pytest.mark.parametrize(
    "text",
    [
        "<mujoco>" + "<!--" * 100_000,
        "<mujoco>" + "<include " * 50_000,
        "<mujoco>" + '<include file="' * 30_000,
        "<mujoco>" + "<include file " * 30_000,
        "<mujoco " + "a='b" * 100_000,
        "<robot>" + "<!--" * 100_000,
        "<!-- -- -->" * 30_000 + '<?xml version="1.0"?>' * 3000 + "<robot/>",
        "<" + " " * 200_000 + "mujoco",
    ],
)
def test_hostile_texts_end_within_seconds(text):
    start = time.process_time()
    with pytest.raises(eq.EquipoiseError):
        eq.load(text)
    assert time.process_time() - start < 2.0


def test_text_without_comments_keeps_its_lines():
    assert xml.without_comments("a<!-- x\n\n-- y -->b\n<!---->c<!-- open") == "a\n\nb\nc<!-- open"


def test_installed_names_are_found_however_long():
    assert library.find("x" * 400) is None


def test_what_mujoco_warns_of_is_a_warning_and_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = f'<mujoco><worldbody><body name="a">{INERTIAL}<site name="s" size="nan"/></body></worldbody></mujoco>'
    _, doubts = told(text)
    assert len(doubts) == 1 and "MuJoCo warns" in doubts[0] and "NaN" in doubts[0]
    assert list(tmp_path.iterdir()) == []
