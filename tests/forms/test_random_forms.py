"""Random robots, random bases, random charts: energy, power, skewness, momentum and round trips hold in all of them."""

from __future__ import annotations

import functools
import sys
from dataclasses import replace
from pathlib import Path

import casadi
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from support import traced

import equipoise as eq
from equipoise.algebra.rigid import rotation_about
from equipoise.forms.bases import _places, _traced
from equipoise.forms.equations_of_motion import Origin, at_origin

sys.path.append(str(Path(__file__).parents[1] / "equations"))
from trees import plans

FEW = settings(max_examples=8, deadline=None, derandomize=True)


def form_of(robot: eq.Robot, q, v) -> eq.EquationsOfMotion:
    """Equations of motion by programs on NumPy: robots that live for one test are not worth compiling."""

    def kernel(base, representation):
        program = _program(robot, base, representation)
        return lambda *arrays: program.evaluate(*arrays)

    terms = [
        traced(robot, name, *x)[()]
        for name, x in (("mass_matrix", (q,)), ("coriolis_matrix", (q, v)), ("gravity", (q,)))
    ]
    coriolis = functools.partial(traced, robot, "coriolis_matrix")
    return at_origin(Origin(q, v, *terms, kernel, coriolis, robot._joint, robot.floating))


def _program(robot, base, representation):
    return _traced(robot.tree, *_places(robot.tree, robot.place, base), representation)


@st.composite
def moved_forms(draw):
    """(robot, its own form, a form in another base and representation, random numbers)."""
    plan = draw(plans())
    robot = replace(plan, floating=True).robot()
    frames = [name for name in robot.frames if robot.place(name)[0] >= 0]
    frame, other = draw(st.sampled_from(frames)), draw(st.sampled_from(frames))
    base = draw(
        st.sampled_from([frame, eq.Compound(frame, other), eq.Compound(eq.COM), eq.Compound(eq.COM, other), eq.COM])
    )
    representation = draw(st.sampled_from(["mixed", "body", "inertial"]))
    rng = np.random.default_rng(plan.seed)
    eom = form_of(robot, *robot.random_state(rng))
    return robot, eom, eom.in_base(base).in_representation(representation), rng


@pytest.mark.paper("T3", "T4", "T5")
@FEW
@given(moved_forms())
def test_nothing_physical_depends_on_the_form(drawn):
    robot, eom, there, rng = drawn
    tau, a = rng.normal(size=(2, robot.nv))
    scale = max(1.0, np.abs(eom.force(a)).max())
    assert_allclose(there.kinetic_energy, eom.kinetic_energy, rtol=1e-10)
    assert_allclose(there.force_from(eom, tau) @ there.v, tau @ eom.v, rtol=1e-9, atol=1e-9)
    a_there = there.acceleration_from(eom, a)
    assert_allclose(there.force(a_there), there.force_from(eom, eom.force(a)), atol=1e-9 * scale)
    assert_allclose(eom.acceleration_from(there, a_there), a, atol=1e-10 * max(1.0, np.abs(a_there).max()))
    assert_allclose(eom.velocity_from(there, there.v), eom.v, atol=1e-11)
    assert_allclose(there.in_base(None).in_representation("mixed").M, eom.M, atol=0)


@pytest.mark.paper("T2", "T3")
@FEW
@given(moved_forms())
def test_skewness_in_every_form(drawn):
    """Ṁ by central differences with step 1e-5: errors of the order 1e-10 of the third derivative."""
    robot, eom, there, _ = drawn
    h, M = 1e-5, []
    for sign in (1, -1):
        q = traced(robot, "integrate", eom.origin.q, eom.v, np.array([sign * h]))
        M.append(form_of(robot, q, eom.v).in_base(there.base).in_representation(there.representation).M)
    rate = (M[0] - M[1]) / (2 * h)
    scale = np.abs(there.M).max() * max(1.0, np.abs(eom.v).max()) ** 3
    assert_allclose(there.C + there.C.T, rate, atol=1e-6 * scale)


@pytest.mark.paper("T5")
@FEW
@given(moved_forms())
def test_momentum_of_the_centroidal_form(drawn):
    robot, eom, _, _ = drawn
    G = eom.centroidal()
    momentum = traced(robot, "momentum", eom.origin.q, eom.v)
    assert_allclose(G.M[:6, :6] @ G.v[:6], momentum, atol=1e-9 * max(1.0, np.abs(momentum).max()))
    assert_allclose(G.M[:6, 6:], 0, atol=1e-9 * np.abs(eom.M).max())
    assert_allclose(G.C[:3], 0, atol=1e-9 * max(1.0, np.abs(eom.C).max()))


def linear_fractional(axis, order):
    """A family of charts: a constant rotation, then the order-th power of Cayley's."""

    def rho(theta):
        K, one = casadi.skew(theta), casadi.SX.eye(3)
        R = casadi.solve(one - K, one + K)
        fixed = casadi.DM(rotation_about(axis / np.linalg.norm(axis), 0.7))
        return fixed @ (R if order == 1 else R @ R)

    return eq.charts.Chart(rho, 3, name="random")


@pytest.mark.paper("B1", "B3")
@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.tuples(*[st.floats(-1, 1)] * 3), st.sampled_from([1, 2]), st.integers(0, 100))
def test_random_charts(axis, order, seed):
    assume(np.linalg.norm(axis) > 0.1)
    robot = eq.load("arm6", floating=True)
    rng = np.random.default_rng(seed)
    q, v = robot.random_state(rng)
    eom = form_of(robot, q, v)
    tau = rng.normal(size=robot.nv)
    chart = eom.in_chart(linear_fractional(np.array(axis), order))
    a = eom.acceleration(tau)
    y_dotdot = chart.acceleration(tau)
    condition = np.linalg.cond(chart.M)
    assert_allclose(
        chart.body_acceleration(y_dotdot), a, atol=1e-15 * condition * np.abs(a).max() + 1e-9 * np.abs(a).max()
    )
    assert_allclose(chart.y_dot @ chart.M @ chart.y_dot / 2, eom.kinetic_energy, rtol=1e-9)
