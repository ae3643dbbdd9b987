"""The MuJoCo plant: the same robot as ours, and options that do what they say."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import load
from things import FEET, MASS, SOLE, G, crate, mixture, quadruped, steps

import equipoise as eq
from equipoise.balance.support_dynamics import support_dynamics
from equipoise.model.shapes import box
from equipoise.model.types import Mimic
from equipoise.simulate import mujoco_model
from equipoise.simulate.plant import make_plant

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.filterwarnings("ignore::equipoise.errors.ModelWarning")


def free(robot: eq.Robot, **options):
    """The robot in empty space: nothing but its own dynamics."""
    return make_plant("mujoco", robot, ground=None, **{"joint_limits": False, "collision": "contacts"} | options)


def acceleration(plant, q, v, tau):
    """MuJoCo's, from one very short step: v moves by a dt."""
    plant.reset(q, v)
    dt = 1e-9
    return (plant.step(tau, dt).v - v) / dt


@pytest.mark.parametrize("name", ["quadruped", "human", "arm7", pytest.param("talos", marks=pytest.mark.slow)])
def test_it_accelerates_as_our_equations_say(name, rng):
    """To 1e-9 by MuJoCo's forward dynamics, and back by its inverse dynamics."""
    robot = load(name)
    plant = free(robot)
    q, v = robot.random_state(rng)
    tau = rng.normal(size=robot.nv)
    plant.reset(q, v)
    plant.prepare(1e-3)
    plant._apply(tau, {})
    mujoco.mj_forward(plant.model, plant.data)
    converter = eq.convert.mujoco(robot, plant.model)
    a = converter.acceleration_from_peer(plant.data.qpos, plant.data.qvel, plant.data.qacc)
    ours = robot.forward_dynamics(q, v, tau)
    assert_allclose(a, ours, atol=1e-9 * np.abs(ours).max())
    mujoco.mj_inverse(plant.model, plant.data)
    back = converter.velocity_map(q).T @ plant.data.qfrc_inverse
    assert_allclose(back, robot.inverse_dynamics(q, v, a), atol=1e-9 * np.abs(robot.bias_force(q, v)).max())


def test_all_joint_types_move_alike(rng):
    """Planar joints too, which MuJoCo has not: they are three joints there. One step of 1 ns; v is exact to 1e-16 /
    1e-9."""
    robot = mixture()
    q, v = robot.random_state(rng)
    tau = rng.normal(size=robot.nv)
    a = acceleration(free(robot), q, v, tau)
    assert_allclose(a, robot.forward_dynamics(q, v, tau), atol=3e-6)


def test_armature_is_that_of_the_equations(rng):
    """Of the robot given; or from the description, when asked, though the robot's equations leave it out."""
    builder = eq.RobotBuilder("pendulum", floating=False).link("base").link("rod", mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.joint("hinge", "revolute", "base", "rod", axis=(0, 1, 0), armature=0.5)
    robot = builder.build()
    q, v, tau = np.array([0.3]), np.array([0.2]), np.array([1.0])
    bare, heavy = (r.forward_dynamics(q, v, tau) for r in (robot, robot.with_armature()))
    assert bare != pytest.approx(heavy, rel=1e-2)
    for plant, expected in (
        (free(robot), bare),
        (free(robot.with_armature()), heavy),
        (free(robot, armature=True), heavy),
        (free(robot.with_armature(), armature=False), bare),
    ):
        assert_allclose(acceleration(plant, q, v, tau), expected, rtol=1e-6)


def test_joints_resist_and_stop_when_asked():
    builder = eq.RobotBuilder("pendulum", floating=False, gravity=(0, 0, 0)).link("base")
    builder.link("rod", mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.joint("hinge", "revolute", "base", "rod", axis=(0, 1, 0), lower=-1.0, upper=0.5, damping=0.2, friction=0.3)
    robot = builder.build()
    q, v = np.zeros(1), np.array([2.0])
    assert_allclose(acceleration(free(robot), q, v, np.zeros(1)), [0.0], atol=1e-6)
    assert_allclose(acceleration(free(robot, damping=True), q, v, np.zeros(1)), [-4.0], rtol=1e-5)
    slow = free(robot, joint_friction=True)
    slow.reset(q, v)
    assert steps(slow, 200).v[0] == pytest.approx(2.0 - 3.0 * 0.2, rel=0.02)
    for limited in (True, False):
        plant = free(robot, joint_limits=limited)
        plant.reset(q, v)
        assert (steps(plant, 600).q[0] < 0.52) == limited


def test_mimic_joints_follow(rng):
    """Tied by equalities: the motion agrees with ours to a part in 1e4, where a free follower would be far off."""
    part = dict(mass=1.0, com=(0.0, 0.0, -0.2), inertia=(0.05, 0.05, 0.01))
    builder = eq.RobotBuilder("gripper", floating=False).link("palm").link("one", **part).link("two", **part)
    builder.joint("leader", "revolute", "palm", "one", axis=(0, 1, 0))
    builder.joint(
        "follower", "revolute", "one", "two", axis=(0, -1, 0), position=(0, 0, -0.4), mimic=Mimic("leader", -1.5, 0.1)
    )
    robot = builder.build()
    q, v, tau = np.array([0.3]), np.array([0.4]), np.array([1.0])
    plant = free(robot)
    plant.reset(q, v)
    state = steps(plant, 100, tau=tau)
    for _ in range(100):
        v = v + 1e-3 * robot.forward_dynamics(q, v, tau)
        q = robot.integrate(q, v, 1e-3)
    assert_allclose(state.q, q, rtol=2e-3)
    follower = plant.data.qpos[plant.model.joint("follower").qposadr[0]]
    assert follower == pytest.approx(-1.5 * state.q[0] + 0.1, abs=1e-4)


def test_a_pushed_link_feels_it_where_it_is_pushed(rng):
    """External wrenches on any frame accelerate as in our equations."""
    robot = quadruped()
    q, v = robot.random_state(rng)
    wrenches = {"front_left_foot": rng.normal(size=6), robot.base_link: rng.normal(size=6)}
    plant = free(robot)
    plant.reset(q, v)
    plant.prepare(1e-3)
    plant._apply(np.zeros(robot.nv), wrenches)
    mujoco.mj_forward(plant.model, plant.data)
    converter = eq.convert.mujoco(robot, plant.model)
    a = converter.acceleration_from_peer(plant.data.qpos, plant.data.qvel, plant.data.qacc)
    ours = robot.forward_dynamics(q, v, np.zeros(robot.nv), wrenches)
    assert_allclose(a, ours, atol=1e-9 * np.abs(ours).max())
    plant._apply(np.zeros(robot.nv), {})
    assert not plant.data.xfrc_applied.any()


def test_measured_wrenches_are_those_that_move_the_robot(rng):
    """M Δv/dt + h = tau + Σ Jᵀ F with the forces measured at the feet, on a robot that stands, moving."""
    robot = quadruped()
    q = robot.standing()
    plant = make_plant("mujoco", robot, FEET, joint_limits=False)
    plant.reset(q, np.zeros(robot.nv))
    tau = np.concatenate([np.zeros(6), rng.normal(size=12)])
    for _ in range(60):
        before = plant._state() if plant.data is not None else (q, np.zeros(robot.nv))
        state = plant.step(tau, 1e-3)
    a = (state.v - before[1]) / 1e-3
    assert sum(f[2] for f in state.wrenches.values()) > 20
    missing = robot.inverse_dynamics(*before, a, state.wrenches) - tau
    # a turning base: v over a step is no straight line
    assert np.abs(missing).max() < 0.02 * np.abs(robot.gravity(q)).max()


def test_a_humanoid_sinks_in_by_less_than_two_millimetres():
    """Of 75 kg, standing still on eight points."""
    robot = load("human")
    q = robot.standing()
    corners = {side: [f"{side}_foot_corner_{k}" for k in range(4)] for side in ("left", "right")}
    feet = {}
    for side, names in corners.items():
        link = np.linalg.inv(robot.pose(q, f"{side}_foot"))
        feet[side] = (f"{side}_foot", [(link @ robot.pose(q, name))[:3, 3] for name in names])
    plant = make_plant("mujoco", robot, feet)
    plant.reset(q, np.zeros(robot.nv))
    points = [(frame, point) for frame, places in feet.values() for point in places]
    holding = np.zeros(robot.nv)
    holding[6:] = support_dynamics(robot, q, np.zeros(robot.nv), points).inverse_dynamics(np.zeros(robot.nv)).torque
    inertia = 1 / np.diag(np.linalg.inv(robot.mass_matrix(q))) * (np.arange(robot.nv) >= 6)
    q1, v1, deepest = q, np.zeros(robot.nv), 0.0
    for _ in range(150):
        state = plant.step(holding - inertia * (900 * robot.difference(q, q1) + 60 * v1), 1e-3)
        q1, v1 = state.q, state.v
        deepest = min(deepest, plant.data.contact.dist.min(initial=0.0))
    assert -2e-3 < deepest < 0
    assert sum(f[2] for f in state.wrenches.values()) == pytest.approx(robot.mass * G, rel=0.02)


def test_link_shapes_can_touch_instead():
    brick = eq.RobotBuilder("brick").link("brick", mass=MASS, shapes=[box(0.2, 0.2, 0.2)]).build()
    plant = make_plant("mujoco", brick)
    assert plant.physics.collision == "links"
    q = plant.robot.neutral()
    q[2] = 0.15
    plant.reset(q, np.zeros(6))
    assert steps(plant, 400).q[2] == pytest.approx(0.1, abs=1e-3)


@pytest.mark.parametrize("collision", ["links", "hulls"])
def test_a_robot_that_touches_by_its_shapes_can_fall(collision):
    """A brick on its narrow side that is kicked over; no contact is named."""
    brick = eq.RobotBuilder("brick").link("brick", mass=MASS, shapes=[box(0.1, 0.1, 0.6)]).build()
    plant = make_plant("mujoco", brick, collision=collision)
    q, v = plant.robot.neutral(), np.array([0.0, 0.0, 0.0, 0.0, 5.0, 0.0])
    q[2] = 0.3
    run = eq.simulate(plant.robot, lambda t, q, v: SimpleNamespace(torque=np.zeros(6)), plant, 1.0, q0=q, v0=v)
    assert run.outcome == "fell"


def test_substeps_and_a_changed_step_go_on_from_the_state():
    plant = make_plant("mujoco", crate(), [("crate", SOLE)], substeps=4)
    q = crate().neutral()
    q[2] = 1.0
    plant.reset(q, np.array([0.1, 0, 0, 0.3, 0.2, 0.1]))
    steps(plant, 10, 1e-3)
    assert plant.model.opt.timestep == pytest.approx(2.5e-4)
    state = steps(plant, 10, 2e-3)
    assert state.v[2] == pytest.approx(-G * 0.03, rel=1e-9)
    assert_allclose(state.t, 0.03)


def test_what_mujoco_cannot_say_is_told():
    builder = eq.RobotBuilder("pair").link("one", mass=1.0, inertia=(1, 1, 1)).link("two", mass=1.0, inertia=(1, 1, 1))
    builder.joint("loose", "floating", "one", "two")
    with pytest.raises(eq.ModelError, match="'loose' floats from a place other than the world's origin"):
        make_plant("mujoco", builder.build()).prepare(1e-3)
    with pytest.raises(eq.UnknownNameError, match="no kind of collision named 'meshes'"):
        make_plant("mujoco", crate(), collision="meshes")


def test_a_step_that_diverges_is_an_error_and_leaves_no_log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plant = make_plant("mujoco", crate(), [("crate", SOLE)])
    plant.reset(crate().neutral(), np.zeros(6))
    with pytest.raises(eq.StateError, match="no longer finite"):
        steps(plant, 5, tau=np.full(6, 1e40))
    assert not list(tmp_path.iterdir())


def test_points_of_mass_and_links_without_mass_move_as_our_equations_say(rng):
    """Moments of inertia of zero, or of rounding, and joints that meet in links without mass, as some descriptions have
    them."""
    builder = eq.RobotBuilder("points", floating=False)
    builder.link("upper", mass=1.0, com=(0.3, 0.1, -0.4), inertia=(0.0, 0.0, 0.0))
    builder.link("cross", virtual=True)
    builder.link("second cross", virtual=True)
    builder.link("lower", mass=2.0, com=(0.1, -0.2, -0.3), inertia=(0.03, 0.02, 0.04))
    builder.joint("shoulder", "revolute", None, "upper", axis=(0, 1, 0), rpy=(0.3, 0.2, 0.1))
    builder.joint("elbow", "revolute", "upper", "cross", axis=(1, 0, 0), position=(0, 0, -0.5))
    builder.joint("swing", "revolute", "cross", "second cross", axis=(0, 0, 1))
    builder.joint("twist", "revolute", "second cross", "lower", axis=(0, 1, 0))
    robot = builder.build()
    q, v = robot.random_state(rng)
    tau = rng.normal(size=robot.nv)
    ours = robot.forward_dynamics(q, v, tau)
    assert_allclose(acceleration(free(robot), q, v, tau), ours, atol=1e-4 * np.abs(ours).max())


def test_a_robot_that_mujoco_finds_too_light_is_refused_in_words():
    builder = eq.RobotBuilder("mote", floating=False).link("base").link("arm", mass=1e-9, inertia=(1e-22,) * 3)
    robot = builder.joint("j", "revolute", "base", "arm", axis=(0, 1, 0)).build()
    still = SimpleNamespace(torque=np.zeros(1))
    with pytest.raises(eq.ModelError, match="MuJoCo refuses mote: .*mjMINVAL"):
        eq.simulate(robot, lambda t, q, v: still, "mujoco", 0.01)


def test_a_capsule_lies_between_its_ends():
    """In MuJoCo's own numbers, with neither end at the origin."""
    a, b = np.array([0.4, -0.2, 0.7]), np.array([0.9, 0.5, 0.3])
    mujoco = mujoco_model.import_mujoco()
    spec, _ = mujoco_model.build(quadruped(), {}, [eq.Capsule(a, b, 0.05)], mujoco_model.Physics(), 1e-3, 0.8)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    (k,) = np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_CAPSULE)[-1:]
    half = data.geom_xmat[k].reshape(3, 3)[:, 2] * model.geom_size[k, 1]
    ends = sorted([data.geom_xpos[k] - half, data.geom_xpos[k] + half], key=lambda p: p[0])
    assert_allclose(ends, [a, b], atol=1e-12)
    assert model.geom_size[k, 0] == 0.05
