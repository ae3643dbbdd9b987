"""Every quantity of many robots against Pinocchio, on random states with a moving base."""

from __future__ import annotations

import numpy as np
import pytest
from support import FURTHER_URDFS, description, evaluate, load, marked, relative_error, singles

pin = pytest.importorskip("pinocchio")

import pinocchio_twin as peer  # noqa: E402

from equipoise.model.installed import EXAMPLE_ROBOTS  # noqa: E402
from equipoise.model.robots import BUILT_IN  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::equipoise.errors.ModelWarning")

BAR = 1e-9
EXAMPLES = (
    "talos",
    "talos_full",
    "g1",
    "jvrc1",
    "icub",
    "romeo",
    "simple_humanoid",
    "solo12",
    "go2",
    "anymal_b",
    "hyq",
    "bolt",
    "panda",
    "ur5",
    "kinova",
    "tiago",
    "baxter",
    "pr2",
    "hector",
)
OTHERS = [name for name in EXAMPLE_ROBOTS if name not in EXAMPLES]
VARIANTS = ("jvrc1 (file)", "g1 23 joints", "g1 with hands", "thormang3 sheet", "thormang3 raw", "snake", *OTHERS)
# large, with joints of the kinds that smaller ones have, or like another one
LARGE = (
    "talos_full", "g1", "jvrc1", "icub", "romeo", "simple_humanoid", "anymal_b", "tiago", "baxter", "pr2", "poppy",
    "hrp2", "hrp4c", "thormang3", "g1 (file)", "anymal_c (file)", "solo12 (file)", "ur5 (file)",
)  # fmt: skip
ALL = (*EXAMPLES, *OTHERS, *FURTHER_URDFS, *BUILT_IN)
ILL_CONDITIONED = ("icub",)  # joints that feel 1e-7 kg m² and, in some states, none: cond(M) goes from 1e8 to 1e16


def slowly(names) -> list:
    """The names as parameters, those of large robots and of variants of others marked slow."""
    heavy = (*VARIANTS, *LARGE)
    light, rest = [n for n in names if n not in heavy], [n for n in names if n in heavy]
    return [*marked(light), *marked(rest, FURTHER_URDFS, pytest.mark.slow)]


def twin_of(name: str, floating: bool | None = None) -> peer.Twin:
    robot = load(name, floating)
    return peer.twin_of_built_in(robot) if name in BUILT_IN else peer.twin_of_urdf(robot, description(name))


def quantities(name: str) -> list[str]:
    """All, but forward dynamics only where the mass matrix allows it."""
    return [q for q in peer.QUANTITIES if name not in ILL_CONDITIONED or not q.startswith("forward")]


def above(errors: dict[str, float], bar: float = BAR) -> dict[str, float]:
    """Quantities whose error is not below the bar; NaN never is."""
    return {name: error for name, error in errors.items() if not error <= bar}


@pytest.mark.paper("T2")
@pytest.mark.parametrize("name", slowly([*EXAMPLES, *FURTHER_URDFS, *OTHERS]))
def test_robots_move_as_in_pinocchio(name, rng):
    assert not above(peer.errors(twin_of(name), rng, names=quantities(name)))


@pytest.mark.parametrize("name", ILL_CONDITIONED)
def test_forward_dynamics_of_ill_conditioned_robots(name, rng):
    """No algorithm can be closer than cond(M) · ε to the truth; what can be asked is a small residual of M a = tau −
    h."""
    twin = twin_of(name)
    states = peer.states_of(twin, rng, "mixed", 3)
    a = peer.ours(twin, "forward_dynamics", states, "mixed", evaluate)
    for state, ours in zip(states, a, strict=True):
        theirs = peer.reference(twin, state, "mixed")
        M, h = theirs["mass_matrix"], theirs["bias_force"]
        assert relative_error(ours, theirs["forward_dynamics"]) < max(BAR, np.linalg.cond(M) * np.finfo(float).eps)
        assert np.abs(M @ ours + h - state.tau).max() < 1e-10 * np.max(np.abs(M) @ np.abs(ours))


@pytest.mark.parametrize("name", slowly(BUILT_IN))
def test_built_in_robots_move_as_in_pinocchio(name, rng):
    assert not above(peer.errors(twin_of(name), rng))


@pytest.mark.parametrize("name", ["panda", "ur5", "kinova", "solo12"])
def test_robots_on_a_fixed_base_move_as_in_pinocchio(name, rng):
    assert not above(peer.errors(twin_of(name, floating=False), rng))


@pytest.mark.paper("T1")
@pytest.mark.parametrize("representation", ["body", "inertial"])
@pytest.mark.parametrize("name", ["solo12", "panda", "kinova", *marked(ALL, FURTHER_URDFS, pytest.mark.slow)])
def test_representations_are_the_reference_frames_of_pinocchio(name, representation, rng):
    """LOCAL and WORLD, for the base and for the frame alike."""
    assert not above(peer.errors(twin_of(name), rng, representation, names=quantities(name)))


@pytest.mark.paper("T2")
@pytest.mark.parametrize(("name", "floating"), [("ur5", False), ("tiago", False), ("ur5", True), ("solo12", True)])
def test_coriolis_matrix_is_that_of_pinocchio(name, floating, rng):
    """Factorisations with Ṁ − 2C skew are many; in body coordinates both libraries chose the same one."""
    twin = twin_of(name, floating)
    for state in peer.states_of(twin, rng, "body", 3):
        q, v = twin.converter.to_peer(state.q, state.v_mixed)
        T = peer.velocity_map(twin, state.q, "body")
        theirs = T.T @ pin.computeCoriolisMatrix(twin.model, twin.model.createData(), q, v) @ T
        ours = evaluate(twin.robot, "coriolis_matrix", state.q, state.v, representation="body")
        assert relative_error(ours, theirs) <= BAR


@pytest.mark.parametrize("name", ["panda", "baxter", "pr2"])
def test_mimic_joints_are_those_of_pinocchio(name, rng):
    """Here Pinocchio ties the followers to their leaders itself."""
    robot = load(name, True)
    model = pin.buildModelFromUrdf(str(description(name)), pin.JointModelFreeFlyer(), mimic=True)
    twin = peer.twin_of(robot, model)
    assert (model.nv, robot.tree.coupled) == (robot.nv, True)
    for state in peer.states_of(twin, rng, "mixed", 3):
        q, v = twin.converter.to_peer(state.q, state.v_mixed)
        T, drift = peer.velocity_map(twin, state.q, "mixed"), peer.drift(twin, state.q, state.v, "mixed")
        tau = T.T @ pin.rnea(model, model.createData(), q, v, T @ state.a + drift)
        assert relative_error(evaluate(robot, "mass_matrix", state.q), peer.mass_matrix(twin, q, T)) <= BAR
        assert relative_error(evaluate(robot, "inverse_dynamics", state.q, state.v, state.a), tau) <= BAR


# --- compiled --------------------------------------------------------------------------------------------------------

CORE = (
    "mass_matrix", "coriolis_force", "gravity", "bias_force", "inverse_dynamics", "forward_dynamics", "com_jacobian",
    "momentum_matrix", "momentum_bias",
)  # fmt: skip


@pytest.mark.parametrize(
    "name", ["talos", *(pytest.param(n, marks=pytest.mark.slow) for n in ("jvrc1", "g1", "human"))]
)
def test_compiled_kernels_of_large_robots(name, rng):
    """As above, through the machine code that users run."""
    twin = twin_of(name)
    twin.robot.prepare()
    assert not above(peer.errors(twin, rng, names=CORE, run=singles))


@pytest.mark.parametrize(
    ("name", "representation"),
    [("arm7", "mixed"), ("panda", "mixed"), ("quadruped", "mixed"), ("kinova", "body"), ("kinova", "inertial")],
)
def test_every_compiled_kernel(name, representation, rng):
    assert not above(peer.errors(twin_of(name), rng, representation, run=singles))


@pytest.mark.slow
@pytest.mark.parametrize("name", marked(ALL))
def test_everything_compiled(name, rng):
    assert not above(peer.errors(twin_of(name), rng, names=quantities(name), run=singles))
