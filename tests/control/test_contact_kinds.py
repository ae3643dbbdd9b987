"""Contacts: which motions they forbid, which wrenches they can make, and that forces and motions obey the equations of
motion."""

from __future__ import annotations

import numpy as np
import pytest
from bodies import FEET, monopod, slope, standing, swaying, tripod, written
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog

import equipoise as eq
from equipoise.control.contacts import Contact
from equipoise.control.contacts.contact import axes_from_normal
from equipoise.control.item import TaskError

SOLE = ((0.12, 0.05), (0.12, -0.05), (-0.08, -0.04), (-0.08, 0.04))
CONTACTS: dict[str, Contact] = {
    "point": eq.PointContact("foot", point=(0.02, 0.01, -0.03), normal=(0.2, -0.3, 1.0)),
    "flat": eq.FlatContact("foot", corners=SOLE, centre=(0.01, 0.02, -0.05), normal=(0.1, 0.2, 1.0)),
    "sliding": eq.SlidingContact("foot", direction=(1.0, 0.5, 0.2), corners=SOLE, normal=(0.1, 0.0, 1.0), friction=0.4),
}


@pytest.fixture(params=CONTACTS.values(), ids=CONTACTS.keys())
def contact(request) -> Contact:
    return request.param


def terms_of(contact: Contact, robot: eq.Robot):
    """The contact's terms as a function of (q, v, pose of the anchor)."""

    def write(scene, numbers):
        terms = contact.terms(scene, numbers)
        V, drift = scene.twist(contact.frame), scene.drift(contact.frame)
        return {
            "S": terms.S, "N": terms.N, "cone": terms.cone, "error": terms.error,
            "motion": terms.S.T @ V, "drift": terms.S.T @ drift + terms.S_dot_V,
        }  # fmt: skip

    at = written(robot, contact, write)
    return lambda q, v, X, **settings: at(q, v, anchor=X, **settings)


def test_forbidden_motion_and_its_drift_along_a_motion(contact, rng):
    robot = monopod()
    q, v = robot.random_state(rng)
    terms, here = terms_of(contact, robot), robot.pose(q, contact.frame)
    now = terms(q, v, here)
    assert now["S"].shape == (6, contact.size)
    drift = slope(lambda s: terms(robot.integrate(q, v, s), v, here)["motion"])
    assert_allclose(now["drift"], drift, rtol=0, atol=1e-8 * (1 + np.abs(drift).max()))
    assert_allclose(now["error"], 0, rtol=0, atol=1e-12)
    undone = -slope(lambda s: terms(robot.integrate(q, v, s), v, here)["error"])
    assert_allclose(now["motion"], undone, rtol=0, atol=1e-8 * (1 + np.abs(undone).max()))


@pytest.mark.paper("B7")
def test_a_contact_between_two_bodies(rng):
    """Motion and drift along a motion of both, by differences; forces on one are on the other: no net wrench, no
    work."""
    robot = monopod()
    contact = eq.FlatContact("hand", against="foot", corners=SOLE, centre=(0.01, 0.02, -0.05), normal=(0.1, 0.2, 1.0))
    q, v = robot.random_state(rng)

    def write(scene, numbers):
        terms = contact.terms(scene, numbers)
        J, rate, drift = scene.contact_motion(contact.frame, terms)
        sides = {"N": terms.N, "reaction": terms.other.N, "push": scene.contact_push(contact.frame, terms)}
        return {"J": J, "rate": rate, "drift": drift, "error": terms.error, **sides}

    at, here = written(robot, contact, write), contact.here(robot, q)
    assert_allclose(robot.pose(q, "foot") @ here, robot.pose(q, "hand"), rtol=0, atol=1e-12)

    def along(s):
        return at(robot.integrate(q, v, s), v, anchor=here)

    now = along(0.0)
    assert_allclose(now["rate"], now["J"] @ v, rtol=0, atol=1e-12)
    drift, undone = slope(lambda s: along(s)["rate"]), -slope(lambda s: along(s)["error"])
    assert_allclose(now["drift"], drift, rtol=0, atol=1e-8 * (1 + np.abs(drift).max()))
    assert_allclose(now["error"], 0, rtol=0, atol=1e-12)
    assert_allclose(now["rate"], undone, rtol=0, atol=1e-8 * (1 + np.abs(undone).max()))
    assert_allclose(now["push"], now["J"].T, rtol=0, atol=1e-12)
    p, r = robot.pose(q, "hand")[:3, 3], robot.pose(q, "foot")[:3, 3]
    both = np.vstack([now["N"][:3] + now["reaction"][:3], now["N"][3:] + now["reaction"][3:]])
    both[3:] += np.cross(p, now["N"][:3], axisb=0, axisc=0) + np.cross(r, now["reaction"][:3], axisb=0, axisc=0)
    assert_allclose(both, 0, rtol=0, atol=1e-12)


def test_the_wrench_in_numbers_is_that_on_symbols(contact, rng):
    robot = monopod()
    q, v = robot.random_state(rng)
    forces = rng.normal(size=contact.size)
    N = terms_of(contact, robot)(q, v, robot.pose(q, contact.frame))["N"]
    assert_allclose(contact.wrench(robot, q, forces), N @ forces, rtol=0, atol=1e-12)


def test_forces_that_hold_do_no_work_and_sliding_ones_do(contact, rng):
    robot = monopod()
    q, v = robot.random_state(rng)
    now = terms_of(contact, robot)(q, v, robot.pose(q, contact.frame))
    forces, V = np.abs(rng.normal(size=contact.size)), rng.normal(size=6)
    allowed = V - now["S"] @ np.linalg.lstsq(now["S"].T @ now["S"], now["S"].T @ V)[0]
    power = allowed @ now["N"] @ forces
    if not isinstance(contact, eq.SlidingContact):
        assert abs(power) < 1e-12
        return
    n = robot.pose(q, contact.frame)[:3, :3] @ axes_from_normal("", contact.normal)[:, 2]
    F = (now["N"] @ forces)[:3]
    along = F - n * (n @ F)
    assert np.linalg.norm(along) == pytest.approx(
        forces[0] * contact.friction * np.linalg.norm(_in_plane(contact, n)), rel=1e-12
    )
    assert along @ np.array(contact.direction) < 0  # against the motion


def _in_plane(contact, n):
    d = np.array(contact.direction) / np.linalg.norm(contact.direction)
    return d - n * (n @ d)


# --- cones ------------------------------------------------------------------------------------------------------------


def reachable(corners, edges, wrench) -> bool:
    """Whether nonnegative forces along the edges at the corners add up to a wrench: a linear program."""
    forces = np.tile(edges, (len(corners), 1))
    rays = np.hstack([forces, np.cross(np.repeat(corners, len(edges), axis=0), forces)]).T
    answer = linprog(np.zeros(rays.shape[1]), A_eq=rays, b_eq=wrench, method="highs")
    return answer.status == 0


def soles(draw_seed: int, corners: int):
    rng = np.random.default_rng(draw_seed)
    angles = np.sort(rng.uniform(0, 2 * np.pi, corners)) + np.arange(corners)  # spread, so that they are no line
    return np.column_stack([0.1 * np.cos(angles), 0.06 * np.sin(angles), np.zeros(corners)]), rng


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10_000), st.integers(3, 6), st.sampled_from([3, 4, 8]), st.floats(0.1, 1.5))
def test_the_cone_of_a_flat_contact_is_exactly_what_corner_forces_make(seed, corners, edges, friction):
    """Both ways, against a linear program: points inside, outside, and near the border."""
    local, rng = soles(seed, corners)
    contact = eq.FlatContact("foot", corners=local, friction=friction, edges=edges)
    G, directions = contact.cone, contact.friction_edges
    weights = rng.exponential(size=(corners, edges)) * (rng.random((corners, edges)) < 0.5)
    force = np.einsum("ce,ek->ck", weights, directions)
    inside = np.concatenate([force.sum(axis=0), np.cross(local, force).sum(axis=0)])
    assert (G @ inside).max() <= 1e-9 * np.linalg.norm(inside)
    for wrench in (inside + 0.3 * rng.normal(size=6) * [1, 1, 1, 0.1, 0.1, 0.05], rng.normal(size=6)):
        far = (G @ wrench).max()
        if abs(far) > 1e-6:
            assert reachable(local, directions, wrench) == (far < 0)


@pytest.mark.parametrize("name", ["point", "flat"])
@pytest.mark.parametrize("friction", [0.05, 0.3, 0.7, 2.0])
def test_cones_of_any_friction_are_those_of_one_scaled(name, friction, rng):
    """On symbols friction is a parameter; the cone is that of a contact made with it, by its own hull."""
    robot, q = monopod(), monopod().random_state(rng)[0]
    terms = terms_of(CONTACTS[name], robot)
    G = terms(q, np.zeros(robot.nv), robot.pose(q, "foot"), friction=friction)["cone"]
    edges = CONTACTS[name].pyramid(friction)
    corners = np.zeros((1, 3)) if name == "point" else CONTACTS[name].local_corners
    rays = np.concatenate(
        [np.tile(edges, (len(corners), 1)), np.cross(np.repeat(corners, 4, axis=0), np.tile(edges, (len(corners), 1)))],
        1,
    )
    rays = rays[:, : G.shape[1]]
    assert (G @ rays.T).max() <= 1e-9  # every ray is inside
    assert np.all((np.abs(G @ rays.T) < 1e-9).sum(axis=1) >= G.shape[1] - 1)  # and every row is a facet


def test_the_centre_of_pressure_stays_in_the_sole(rng):
    contact = eq.FlatContact("foot", corners=SOLE)
    G = contact.cone
    names = np.array(contact.cone_names)
    corners = np.array(SOLE)
    for where, inside in ((corners.mean(axis=0), True), (1.01 * corners[0], False), (0.99 * corners[2], True)):
        wrench = np.array([0, 0, 1.0, where[1], -where[0], 0.0])
        assert ((G @ wrench).max() <= 1e-12) == inside
        if not inside:
            assert (G @ wrench)[names == "foot centre of pressure"].max() > 0
    assert set(names) == {"foot centre of pressure", "foot friction"}


def test_a_margin_keeps_the_centre_of_pressure_off_all_edges(rng):
    """Of a rectangle 20 cm by 10 cm, the short way by the margin itself, the long way in proportion; the points
    stay."""
    corners = np.array([(0.15, 0.05), (-0.05, 0.05), (-0.05, -0.05), (0.15, -0.05)])
    contact = eq.FlatContact("foot", corners=corners, margin=0.01)
    assert_allclose(contact.points[:, :2], corners)
    for (x, y), inside in {
        (0.05, 0.0399): True, (0.05, 0.0401): False, (0.05, -0.0401): False,
        (0.1299, 0.0): True, (0.1301, 0.0): False, (-0.0299, 0.0): True, (-0.0301, 0.0): False,
    }.items():  # fmt: skip
        wrench = np.array([0, 0, 1.0, y, -x, 0.0])
        assert ((contact.cone @ wrench).max() <= 1e-12) == inside


@pytest.mark.parametrize("edges", [3, 4, 8, 16])
def test_pyramids_lie_inside_or_around_the_friction_cone(edges, rng):
    inner, outer = (eq.PointContact("foot", friction=0.6, edges=edges, inner=i).cone for i in (True, False))
    for angle in rng.uniform(0, 2 * np.pi, 200):
        tangent = 0.6 * np.array([np.cos(angle), np.sin(angle)])
        assert (outer @ [*tangent, 1.0]).max() <= 1e-12  # all of the cone
        assert (inner @ [*(1.001 * tangent), 1.0]).max() > 0  # nothing beyond it
        assert (inner @ [*(0.999 * np.cos(np.pi / edges) * tangent), 1.0]).max() < 0
    assert (inner @ [0, 0, -1.0]).max() > 0 and (outer @ [0, 0, -1.0]).max() > 0  # it cannot pull


def test_without_friction_the_force_is_along_the_normal():
    contact = eq.PointContact("foot", friction=0.0)
    assert (contact.cone @ [0, 0, 1.0]).max() <= 0
    for other in ([1e-3, 0, 1], [0, -1e-3, 1]):
        assert (contact.cone @ other).max() > 0
    robot, q = tripod(), standing(tripod())
    feet = [eq.PointContact(foot, friction=0.0) for foot in FEET]
    solution = eq.WholeBodyController(robot, [eq.CoMTask(), eq.PostureTask()], feet)(0.0, q, np.zeros(robot.nv))
    for force in solution.forces.values():
        assert np.abs(force[:2]).max() < 1e-6 and force[2] > 0


def test_a_sliding_sole_presses_within_itself():
    contact = CONTACTS["sliding"]
    corners = np.array(SOLE)
    for where, inside in ((corners.mean(axis=0), True), (1.01 * corners[1], False), (0.99 * corners[3], True)):
        assert ((contact.cone @ [1.0, where[1], -where[0]]).max() <= 1e-12) == inside


@pytest.mark.parametrize(
    ("contact", "words"),
    [
        (eq.PointContact("fot"), "foot"),
        (eq.PointContact("foot", friction=-0.1), "friction"),
        (eq.PointContact("foot", edges=2), "three edges"),
        (eq.PointContact("foot", min_force=5.0, max_force=1.0), "min_force"),
        (eq.PointContact("foot", normal=(0, 0, 0)), "normal"),
        (eq.FlatContact("foot", corners=((0, 0), (1, 0))), "three or more"),
        (eq.FlatContact("foot", corners=((0, 0), (1, 0), (2, 0))), "one line"),
        (eq.FlatContact("foot", stiffness=-1.0), "stiffness"),
        (eq.FlatContact("foot", friction=(0.1, 0.2)), "one number"),
        (eq.FlatContact("foot", margin=0.06), "between 0 and 0.05"),
        (eq.FlatContact("foot", margin=-0.01), "between 0 and 0.05"),
    ],
)
def test_bad_contacts_are_refused_with_the_reason(contact, words):
    with pytest.raises(eq.EquipoiseError) as caught:
        eq.WholeBodyController(monopod(), [eq.PostureTask()], [contact])
    assert words in str(caught.value)


# --- in the controller ------------------------------------------------------------------------------------------------


def obeyed(robot, controller, q, v, solution) -> None:
    """The torques are those that inverse dynamics asks for with these forces, to rounding."""
    tau = robot.inverse_dynamics(q, v, solution.acceleration, wrenches=_by_frame(controller, solution))
    assert_allclose(tau, solution.torque, rtol=0, atol=1e-9 * (1 + np.abs(tau).max()))


def _by_frame(controller, solution):
    frames = {contact.label: contact.frame for contact in controller.items.contacts}
    return {frames[name]: wrench for name, wrench in solution.forces.items()}


def test_forces_torques_and_accelerations_obey_the_equations_of_motion_on_a_sole(rng):
    robot, q = monopod(), standing(monopod())
    v = swaying(robot, rng, ("foot",), slice(0, 6))
    contact = eq.FlatContact("foot", corners=SOLE, friction=0.6, normal=(0, 0.05, 1))
    controller = eq.WholeBodyController(
        robot, [eq.CoMTask(robot.com(q)), eq.PostureTask(q)], [contact], [eq.TorqueLimits()]
    )
    solution = controller(0.0, q, v)
    assert solution.status.ok
    obeyed(robot, controller, q, v, solution)
    J, drift = robot.jacobian(q, "foot"), robot.bias_acceleration(q, v, "foot")
    assert_allclose(J @ solution.acceleration + drift, 0, rtol=0, atol=1e-9)  # the sole stands
    assert (contact.cone @ solution.x[controller.layout.forces["foot"]]).max() <= 1e-7
    assert np.linalg.norm(solution.forces["foot"][:3] - [0, 0, 9.80665 * robot.mass]) < 0.5 * 9.80665 * robot.mass


def test_slip_is_undone_at_the_rates_asked_for(rng):
    """J a + J̇ v = stiffness · slip − damping · J v, at points that have slipped and move."""
    robot, q = tripod(), standing(tripod())
    contacts = [eq.PointContact(foot, friction=5.0, stiffness=70.0, damping=9.0) for foot in FEET]
    controller = eq.WholeBodyController(robot, [eq.CoMTask(), eq.PostureTask()], contacts)
    controller(0.0, q, np.zeros(robot.nv))
    v = 0.05 * rng.normal(size=robot.nv)
    moved = robot.integrate(q, v, 0.1)
    solution = controller(0.1, moved, v)
    for foot in FEET:
        J = robot.jacobian(moved, foot)[:3]
        slip = robot.pose(q, foot)[:3, 3] - robot.pose(moved, foot)[:3, 3]
        now = J @ solution.acceleration + robot.bias_acceleration(moved, v, foot)[:3]
        assert_allclose(now, 70.0 * slip - 9.0 * (J @ v), rtol=0, atol=1e-8)
        assert np.linalg.norm(slip) > 1e-3
    obeyed(robot, controller, moved, v, solution)


def test_a_sliding_sole_slides_with_kinetic_friction(rng):
    robot, q = monopod(), standing(monopod())
    contact = eq.SlidingContact("foot", direction=(1.0, 0.0, 0.0), corners=SOLE, friction=0.3)
    slide = eq.FrameTask("foot", name="slide", axes="x y rz", weight=10.0)
    controller = eq.WholeBodyController(robot, [slide, eq.PostureTask()], [contact], [eq.TorqueLimits()])
    v = np.zeros(robot.nv)
    v[:6] = 0.2, 0, 0, 0, 0, 0.1
    solution = controller(0.0, q, v)
    obeyed(robot, controller, q, v, solution)
    F = solution.forces["foot"]
    assert F[2] > 0 and F[0] == pytest.approx(-0.3 * F[2], rel=1e-9) and abs(F[1]) < 1e-9 * F[2]
    A = robot.jacobian(q, "foot") @ solution.acceleration + robot.bias_acceleration(q, v, "foot")
    w = robot.velocity(q, v, "foot")[3:]
    assert_allclose(A[[2, 3, 4]], [0, 0, 0], rtol=0, atol=1e-8)  # it neither lifts nor tilts
    assert np.abs(w).max() > 0.05


def test_bounds_of_the_normal_force_shift_the_load():
    robot, q = tripod(), standing(tripod())
    contacts = [eq.PointContact(foot) for foot in FEET]
    controller = eq.WholeBodyController(robot, [eq.CoMTask(weight=10.0), eq.PostureTask()], contacts)
    for least, most in ((60.0, np.inf), (0.0, 5.0), (20.0, 25.0)):
        controller.set_force_bounds("foot_1", least, most)
        solution = controller(0.0, q, np.zeros(robot.nv))
        assert solution.status.ok
        assert least - 1e-6 <= solution.forces["foot_1"][2] <= most + 1e-6
    with pytest.raises(TaskError, match="min_force ≤ max_force"):
        controller.set_force_bounds("foot_1", 2.0, 1.0)
    with pytest.raises(eq.EquipoiseError, match="foot_0"):
        controller.set_force_bounds("foot_9", 0.0, 1.0)


def test_rows_of_cones_have_unit_length():
    """Tolerances of a solver are then in newtons, whatever the size of a sole."""
    for sole in (SOLE, tuple((10 * x, 10 * y) for x, y in SOLE)):
        for contact in (eq.FlatContact("foot", corners=sole, friction=1.0), eq.SlidingContact("foot", corners=sole)):
            assert_allclose(np.linalg.norm(contact.cone, axis=1), 1.0, rtol=1e-12)


def test_a_sole_that_slides_nowhere_has_no_friction():
    contact = eq.SlidingContact("foot", direction=(0.0, 0.0, 0.0), friction=0.7)
    assert_allclose(contact.wrench_map(np.eye(4))[:3, 0], [0, 0, 1])
