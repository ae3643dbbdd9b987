"""Every quantity of MJCF robots against MuJoCo, with rotor armature and without."""

from __future__ import annotations

import pytest
from support import FURTHER_MJCFS, marked, mjcf_of, robots_folder, singles

mujoco = pytest.importorskip("mujoco")

import mujoco_twin as peer  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::equipoise.errors.ModelWarning")

BAR = 1e-9
BOX = '<geom type="box" size="0.1 0.2 0.3" pos="0.05 0.02 -0.1" euler="0.3 0.2 0.1"/>'
ROD = '<geom type="capsule" size="0.05 0.2" pos="0.1 0 0.2" euler="0.5 0 0.4"/>'

BALLS = f"""
<mujoco><compiler angle="radian"/><worldbody>
  <body pos="0.1 0.2 1" euler="0.3 0.1 0.2"><joint type="ball" pos="0.1 0 0.2" armature="0.02"/>{BOX}
    <body pos="0 0.3 0.2" euler="0.1 0.2 0.3"><joint type="ball" pos="0 0.1 -0.2"/>{ROD}
      <body pos="0.2 0 0.4"><joint type="ball"/>{ROD}</body>
    </body>
    <body pos="0.2 0 -0.5" euler="1 0 0"><joint axis="1 2 3" pos="0.1 0.1 0.1" armature="0.3"/>{ROD}</body>
  </body>
</worldbody></mujoco>
"""
SEVERAL_JOINTS = f"""
<mujoco><compiler angle="radian"/><worldbody>
  <body pos="0 0 1" quat="1 0.2 0.1 -0.4"><freejoint/>{BOX}
    <body name="limb" pos="0 0.3 1" euler="0.1 0.2 0.3">
      <joint name="swing" pos="0.1 0.2 0.3" axis="1 1 0" ref="0.4" armature="0.1" stiffness="3"/>
      <joint name="slide" type="slide" axis="0 1 1" pos="0.3 0 0" ref="0.2" armature="0.5"/>
      <joint name="twist" pos="-0.1 0.2 0.3" axis="1 -1 2" ref="-0.4" damping="0.4"/>{ROD}
      <body pos="0.2 0 0.5">
        <joint type="ball" pos="0 0.1 0.2"/>{BOX}
        <body name="rod" pos="0 0 0.2" euler="0 0.3 0">{ROD}</body>
      </body>
    </body>
  </body></worldbody>
  <actuator><motor joint="swing" gear="-5" armature="0.1"/></actuator>
</mujoco>
"""
SLIDES = f"""
<mujoco><compiler angle="radian"/><worldbody>
  <body pos="0 0 0.2"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0" armature="2"/>
    <joint axis="0 0 1"/>{BOX}
    <body pos="0 0.1 0.4" euler="0.2 0 0.4"><joint type="slide" axis="1 1 1" pos="0.3 0 0"/>{ROD}
      <body pos="0 0 0.3"><joint axis="0 1 0" pos="0 0 0.1"/><joint axis="1 0 0" pos="0 0.1 0"/>{ROD}</body>
    </body>
  </body>
</worldbody></mujoco>
"""
OBJECT_BESIDE_AN_ARM = f"""
<mujoco><compiler angle="radian"/><worldbody>
  <body name="foot" pos="0.4 0 0.1">{BOX}
    <body name="upper" pos="0 0 0.5"><joint name="shoulder" axis="0 1 0" armature="0.1"/>{ROD}
      <body name="lower" pos="0 0.1 0.4"><joint name="elbow" axis="1 0 0" pos="0 0 -0.1"/>{ROD}</body></body></body>
  <body name="ball" pos="1 0 1"><freejoint name="ball"/>{BOX}</body>
  <body name="brick" pos="-1 0 1" euler="0.3 0 0"><freejoint name="brick"/>{ROD}
    <body name="lid" pos="0 0 0.2"><joint name="hinge" axis="0 1 1"/>{ROD}</body></body>
</worldbody></mujoco>
"""
INLINE = {
    "ball joints": BALLS,
    "several joints of one body": SEVERAL_JOINTS,
    "slides": SLIDES,
    "free objects beside an arm": OBJECT_BESIDE_AN_ARM,
}


def twin_of(name: str, armature: bool) -> peer.Twin:
    if name in FURTHER_MJCFS:
        return peer.twin_of_mjcf(robots_folder() / FURTHER_MJCFS[name], armature=armature)
    return peer.twin_of_mjcf(INLINE.get(name) or mjcf_of(name), armature=armature)


LARGE = [name for name in FURTHER_MJCFS if name != "cassie"]  # of joints that the others have


def above(errors: dict[str, float]) -> dict[str, float]:
    """Quantities whose error is not below the bar; NaN never is."""
    return {name: error for name, error in errors.items() if not error <= BAR}


@pytest.mark.parametrize("armature", [False, True], ids=["without armature", "with armature"])
@pytest.mark.parametrize(
    "name", [*INLINE, "solo12", *marked(["cassie"], FURTHER_MJCFS), *marked(LARGE, FURTHER_MJCFS, pytest.mark.slow)]
)
def test_robots_move_as_in_mujoco(name, armature, rng):
    assert not above(peer.errors(twin_of(name, armature), rng))


@pytest.mark.parametrize("name", INLINE)
def test_compiled_kernels_move_as_in_mujoco(name, rng):
    names = ["mass_matrix", "bias_force", "forward_dynamics", "jacobian"]
    assert not above(peer.errors(twin_of(name, armature=True), rng, names=names, run=singles))


def test_armature_is_in_the_files(rng):
    """Else the tests with armature would compare nothing new."""
    for name in INLINE:
        assert twin_of(name, armature=True).model.dof_armature.any()
