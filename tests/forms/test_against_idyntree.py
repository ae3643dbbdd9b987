"""Bases and representations against iDynTree, which computes them by running its algorithms anew from another base."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.model.urdf_writer import write_urdf

idyn = pytest.importorskip("idyntree.bindings", reason="iDynTree is not installed: pip install idyntree")

MODES = {
    "mixed": "MIXED_REPRESENTATION",
    "body": "BODY_FIXED_REPRESENTATION",
    "inertial": "INERTIAL_FIXED_REPRESENTATION",
}


@pytest.fixture(scope="module")
def quadruped():
    robot = eq.load("quadruped")
    q, v = robot.random_state(np.random.default_rng(8))
    loader = idyn.ModelLoader()
    assert loader.loadModelFromString(write_urdf(robot.model), "urdf")
    return robot, robot.equations_of_motion(q, v), loader.model().copy()


def computations(model, form, representation, base):
    """iDynTree at the same state, with its own floating base and representation."""
    kindyn = idyn.KinDynComputations()
    kindyn.loadRobotModel(model)
    kindyn.setFrameVelocityRepresentation(getattr(idyn, MODES[representation]))
    assert kindyn.setFloatingBase(base)
    names = [model.getJointName(k) for k in range(model.getNrOfDOFs())]
    order = [list(form.origin_joints).index(name) for name in names]
    gravity = np.array([0.0, 0.0, -9.80665])
    X = np.ascontiguousarray(form.eom.X)
    s, s_dot = form.eom.origin.q[7:][order], form.eom.v[6:][order]
    assert kindyn.setRobotState(X, s.copy(), form.eom.v[:6].copy(), s_dot.copy(), gravity)
    return kindyn, [*range(6), *(6 + k for k in order)]


class Form:
    def __init__(self, robot, eom):
        self.eom, self.origin_joints = eom, robot.joints


@pytest.mark.paper("T1", "T3")
@pytest.mark.parametrize("representation", list(MODES))
@pytest.mark.parametrize("base", ["trunk", "front_left_shank", "hind_right_thigh"])
def test_mass_matrix_and_bias_force_in_another_base(quadruped, base, representation):
    robot, eom, model = quadruped
    form = eom.in_base(base).in_representation(representation)
    kindyn, order = computations(model, Form(robot, form), representation, base)
    filled = idyn.MatrixDynSize()
    assert kindyn.getFreeFloatingMassMatrix(filled)
    M = filled.toNumPy()
    assert_allclose(form.M[np.ix_(order, order)], M, atol=1e-10 * np.abs(M).max())
    bias = idyn.FreeFloatingGeneralizedTorques(model)
    assert kindyn.generalizedBiasForces(bias)
    theirs = np.concatenate([bias.baseWrench().toNumPy(), bias.jointTorques().toNumPy()])
    assert_allclose(form.bias_force[order], theirs, atol=1e-10 * np.abs(theirs).max())


@pytest.mark.paper("T1", "T3")
@pytest.mark.parametrize("representation", list(MODES))
@pytest.mark.parametrize("base", ["trunk", "front_left_shank"])
def test_jacobians_in_another_base(quadruped, base, representation):
    robot, eom, model = quadruped
    form = eom.in_base(base).in_representation(representation)
    kindyn, order = computations(model, Form(robot, form), representation, base)
    filled = idyn.MatrixDynSize(6, robot.nv)
    assert kindyn.getFrameFreeFloatingJacobian("hind_left_shank", filled)
    J = filled.toNumPy()
    mixed = robot.jacobian(eom.origin.q, "hind_left_shank")
    own = eq.convert.jacobian(robot.pose(eom.origin.q, "hind_left_shank"), mixed, "mixed", representation)
    assert_allclose(form.jacobian_from(eom, own)[:, order], J, atol=1e-11)


@pytest.mark.paper("T5")
def test_average_velocity(quadruped):
    robot, eom, model = quadruped
    kindyn, _ = computations(model, Form(robot, eom.in_base("trunk")), "mixed", "trunk")
    theirs = (
        kindyn.getCentroidalAverageVelocity().asVector().toNumPy()
        if hasattr(kindyn, "getCentroidalAverageVelocity")
        else None
    )
    assert theirs is not None, "iDynTree has lost getCentroidalAverageVelocity"
    assert_allclose(eom.centroidal().v[:6], theirs, atol=1e-10)
