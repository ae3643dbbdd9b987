"""Laws and Pinocchio on trees that nobody thought of: all joint types in any order, branches, followers, fixed
links."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from laws import LAWS, random_motion
from support import REPRESENTATIONS, evaluate, random_states, relative_error, traced

pytest.importorskip("pinocchio")

import pinocchio_twin as peer
import trees

BAR = 1e-9
# the same trees in every run; `pytest --hypothesis-profile` can ask for others
QUICK = settings(max_examples=8, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
MANY = settings(QUICK, max_examples=100, derandomize=False)


def hold_laws(robot, representation) -> None:
    motion = random_motion(robot, representation, np.random.default_rng(3), run=traced)
    for law in LAWS.values():
        law(motion)


def hold_pinocchio(robot, representation) -> None:
    twin = peer.twin_of(robot, trees.pinocchio_model(robot))
    errors = peer.errors(twin, np.random.default_rng(4), representation, run=traced, count=2)
    assert not {name: error for name, error in errors.items() if not error <= BAR}


@QUICK
@given(trees.plans(), st.sampled_from(REPRESENTATIONS))
def test_laws_hold_for_any_tree(plan, representation):
    hold_laws(plan.robot(), representation)


@QUICK
@given(trees.plans(), st.sampled_from(REPRESENTATIONS))
def test_any_tree_moves_as_in_pinocchio(plan, representation):
    hold_pinocchio(plan.robot(), representation)


@pytest.mark.slow
@MANY
@given(trees.plans(), st.sampled_from(REPRESENTATIONS))
def test_laws_hold_for_many_trees(plan, representation):
    hold_laws(plan.robot(), representation)


@pytest.mark.slow
@MANY
@given(trees.plans(), st.sampled_from(REPRESENTATIONS))
def test_many_trees_move_as_in_pinocchio(plan, representation):
    hold_pinocchio(plan.robot(), representation)


def test_a_chain_of_every_joint_type_is_that_of_pinocchio():
    """Each type once as parent and once as child of each other."""
    kinds = [
        "floating",
        "planar",
        "ball",
        "prismatic",
        "continuous",
        "revolute",
        "fixed",
        "ball",
        "floating",
        "revolute",
    ]
    parts = [trees.Part(k, kind, (1, 2, -2), None, True) for k, kind in enumerate(kinds)]
    for floating in (True, False):
        hold_pinocchio(trees.built(parts, floating=floating, seed=5), "mixed")


def test_the_compiled_kernels_of_a_tree():
    """One tree through LLVM, for the joint types that few robots have."""
    kinds = ["planar", "ball", "floating", "prismatic"]
    robot = trees.built(
        [trees.Part(k, kind, (0, -1, 0), None, True) for k, kind in enumerate(kinds)], floating=True, seed=6
    )
    q, v = random_states(robot, np.random.default_rng(7), 4)
    for name, arguments in {"mass_matrix": (q,), "coriolis_matrix": (q, v), "forward_dynamics": (q, v, v)}.items():
        assert relative_error(getattr(robot, name)(*arguments), evaluate(robot, name, *arguments)) <= 1e-12
