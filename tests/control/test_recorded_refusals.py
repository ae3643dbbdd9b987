"""Recorded refusals of control: what cannot be used and why, next to what just can be.

Each entry is a call; what it refuses is recorded with its sentence, what it takes with the numbers made of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import records
from bodies import FEET, monopod, standing, tripod
from support import load

import equipoise as eq
from equipoise.control import (
    AbsoluteCone,
    BarrierConstraint,
    CoMEllipseTask,
    CoMInEllipse,
    Context,
    JointCommander,
    JointCones,
    NamedNumbers,
    PoseReference,
    RestingBounds,
    VectorReference,
    error_acceleration,
    joint_torque,
    resting_program,
    shrinking_bounds,
    unilateral_torque,
    velocity_program,
)
from equipoise.control.closed_form.motions import chosen_axes
from equipoise.control.constraints.com_above import CoMAbove
from equipoise.control.controller.layout import Items
from equipoise.control.controller.looped import as_array, is_state
from equipoise.control.controller.settings import require_positive, require_settings
from equipoise.control.item import column, finite_column
from equipoise.control.qp import CompiledSolver, QuadraticProgram, Rows
from equipoise.control.safety import limits, vfi
from equipoise.control.tasks import HullAreaTask, Rolling
from equipoise.control.tasks.references import PostureReference, flat, is_pose, moment

Array = np.ndarray
NAN, INF = float("nan"), float("inf")
SQUARE = ((0.1, 0.1), (-0.1, 0.1), (-0.1, -0.1), (0.1, -0.1))


def taken(item: Any, level: str = "torque", robot: Any = None, **contacts: Any) -> Callable[[], Any]:
    """Declares an item for a robot: its label, its rows, and the numbers of its settings as they are at first."""

    def call() -> Any:
        of = robot or tripod()
        kinds = [item if isinstance(item, kind) else None for kind in (eq.Task, eq.Contact, eq.Constraint)]
        Items(*((found,) if found else () for found in kinds)).require(of, level)
        context = Context(of, level, 1e-3, contacts)
        require_settings(item, context)
        made = {}
        for name, group in item.parameters(context).items():
            values = [getattr(item, setting, None) for setting in group.settings]
            if item.placed not in group.settings or values[group.settings.index(item.placed)] is not None:
                made[name] = group.flat(item.label, [x(0.0) if callable(x) else x for x in values])
        rows = item.rows(context) if isinstance(item, eq.Task) else getattr(item, "row_names", lambda _: None)(context)
        return {"label": item.label, "rows": rows, "numbers": made}

    return call


def frame(**options: Any) -> Callable[[], Any]:
    return taken(eq.FrameTask("trunk", **options))


def point(**options: Any) -> Callable[[], Any]:
    return taken(eq.PointContact(FEET[0], **options))


def flat_contact(**options: Any) -> Callable[[], Any]:
    return taken(eq.FlatContact("foot", **options), robot=monopod())


TURNED = np.array([[0.0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]])
BENT = TURNED + np.array([[3e-6, 0, 0, 0], [0] * 4, [0] * 4, [0] * 4])
PLACE = eq.Point((0, 0, 0), frame=FEET[0])

ITEMS: dict[str, Callable[[], Any]] = {
    "a task that is none": lambda: Items((3,), (), ()).require(tripod(), "torque"),  # type: ignore[arg-type]
    "a contact that is none": lambda: Items((), (eq.CoMTask(),), ()).require(tripod(), "torque"),  # type: ignore[arg-type]
    "two of a name": lambda: Items((eq.CoMTask(), eq.CoMTask()), (), ()).require(tripod(), "torque"),
    "level unknown": taken(eq.CoMTask(), "jerk"),
    "torques at velocity level": taken(eq.TorqueLimits(), "velocity"),
    "forces at acceleration level": taken(eq.ForceTask(FEET[0]), "acceleration"),
    "rest at velocity level": taken(RestingBounds("trunk"), "velocity"),
    "frame unknown": taken(eq.FrameTask("nose")),
    "frame": frame(target=TURNED, weight=2.0, gain=3.0),
    "frame, rates": frame(target=(TURNED, range(6), np.arange(6) * 2), stiffness=4.0, damping=1.0),
    "frame, place": frame(target=(1.0, 2.0, 3.0)),
    "frame, place where it turns not": frame(target=((1.0, 2.0, 3.0), (1, 1, 1)), axes="position"),
    "frame, bent": frame(target=BENT),
    "frame, a hair bent": frame(target=TURNED + (BENT - TURNED) / 9),
    "frame, mirrored": frame(target=np.diag([1.0, 1, -1, 1])),
    "frame, last row": frame(target=TURNED + np.eye(4)[3]),
    "frame, far": frame(target=np.where(TURNED == 1, INF, TURNED)),
    "frame, rate": frame(target=(TURNED, (1, 2, 3))),
    "frame, axes": frame(axes="x q"),
    "frame, no axes": frame(axes=""),
    "frame, axes twice": frame(axes="x x"),
    "frame, some axes": frame(axes="rz x", weight=(1.0, 4.0), gain=(1.0, 2.0), target=TURNED),
    "weight of the wrong size": frame(weight=(1.0, 2.0)),
    "negative weight": frame(weight=-1.0),
    "no weight": frame(weight=0.0, target=TURNED),
    "weight NaN": frame(weight=NAN),
    "gain negative": frame(gain=-1.0),
    "gain infinite": frame(gain=INF),
    "stiffness negative": frame(stiffness=-2.0),
    "damping": frame(damping=-1.0),
    "per": frame(per="tick"),
    "per error": frame(per="error", gain=3.0, weight=2.0, target=TURNED),
    "per error without gain": frame(per="error", gain=0.0, target=TURNED),
    "priority": frame(priority=-1),
    "priority half": frame(priority=0.5),
    "com": taken(eq.CoMTask(target=(1, 2, 3), offset=(0.1, 0, 0), axes="z x")),
    "com, rx": taken(eq.CoMTask(axes="rx")),
    "com, offset": taken(eq.CoMTask(offset=(1.0, 2.0))),
    "com, two numbers": taken(eq.CoMTask(target=(1, 2))),
    "ellipse": taken(CoMEllipseTask(target=(0, 0, 0), radius=0.1, shape=((2.0, 0.5), (0.5, 1.0)), exponent=2)),
    "ellipse, 64": taken(CoMEllipseTask(exponent=64)),
    "ellipse, 66": taken(CoMEllipseTask(exponent=66)),
    "ellipse, 0": taken(CoMEllipseTask(exponent=0)),
    "ellipse, odd": taken(CoMEllipseTask(exponent=3)),
    "ellipse, radius": taken(CoMEllipseTask(radius=0.0)),
    "ellipse, shape": taken(CoMEllipseTask(shape=((1, 2), (2, 1)))),
    "ellipse, turned": taken(CoMEllipseTask(shape=((1, 0.1), (0.2, 1)))),
    "ellipse, flat": taken(CoMEllipseTask(shape=(1, 1))),
    "force, of nobody": taken(eq.ForceTask("nobody")),
    "force": taken(eq.ForceTask(FEET[1], target=3.0), **{FEET[1]: eq.PointContact(FEET[1])}),
    "force, two": taken(eq.ForceTask(FEET[1], target=(1, 2)), **{FEET[1]: eq.PointContact(FEET[1])}),
    "area": taken(HullAreaTask("trunk", points=((0, 0, 0), (1, 0, 0)), target=[1, 2, 3, 4, 5])),
    "area, four numbers": taken(HullAreaTask("trunk", points=((0, 0, 0), (1, 0, 0)), target=[1, 2, 3, 4])),
    "hull of two": taken(eq.SupportAreaTask((("trunk", (0, 0, 0)), (FEET[0], (0, 0, 0))))),
    "hull, frame": taken(eq.SupportAreaTask(tuple((x, (0, 0, 0)) for x in ("trunk", "nose", FEET[0])))),
    "momentum": taken(eq.MomentumTask(target=(1.0, 2.0), axes="x rz", gain=2.0, weight=4.0)),
    "momentum, spread": taken(eq.MomentumTask(target=1.0)),
    "momentum, axes": taken(eq.MomentumTask(axes="up")),
    "momentum, gain": taken(eq.MomentumTask(gain=-1.0)),
    "plane": taken(eq.PlaneTask("trunk", normal=(0, 3, 4), offset=0.2, target=(0.3, 0.1, 0.2))),
    "plane, point": taken(eq.PlaneTask("trunk", point=(0, 0))),
    "plane, NaN": taken(eq.PlaneTask("trunk", point=(0, 0, NAN))),
    "plane, normal": taken(eq.PlaneTask("trunk", normal=(0, 0, 0))),
    "plane, two": taken(eq.PlaneTask("trunk", normal=(0, 1))),
    "plane, hair": taken(eq.PlaneTask("trunk", normal=(0, 0, 1.2e-9))),
    "plane, less": taken(eq.PlaneTask("trunk", normal=(0, 0, 8e-10))),
    "rolling without wheels": taken(Rolling()),
    "rolling of an arm": taken(Rolling(), robot=load("arm7")),
    "torque": taken(eq.TorqueTask(target=2.0)),
    "torque, two": taken(eq.TorqueTask(target=(1.0, 2.0))),
    "relative": taken(eq.RelativeTask("trunk", "nose")),
    "absolute": taken(eq.AbsoluteTask("nose", "trunk")),
    # contacts
    "contact": point(friction=0.5, min_force=1.0, max_force=2.0),
    "contact, frame": taken(eq.PointContact("nose")),
    "edges 3": point(edges=3),
    "edges 2": point(edges=2),
    "friction 0": point(friction=0.0),
    "friction −": point(friction=-0.1),
    "friction ∞": point(friction=INF),
    "friction two": point(friction=(1, 2)),
    "least force −": point(min_force=-1.0),
    "least force 0": point(min_force=0.0),
    "least = most": point(min_force=5.0, max_force=5.0),
    "least > most": point(min_force=6.0, max_force=5.0),
    "least ∞": point(min_force=INF),
    "most NaN": point(max_force=NAN),
    "stiffness −": point(stiffness=-1.0),
    "stiffness 0": point(stiffness=0.0),
    "stiffness ∞": point(stiffness=INF),
    "damping −": point(damping=-1.0),
    "damping 0": point(damping=0.0),
    "damping ∞": point(damping=INF),
    "normal": point(normal=(1, 2, 2)),
    "normal 0": point(normal=(0, 0, 0)),
    "normal, two": point(normal=(0, 1)),
    "normal NaN": point(normal=(0, 0, NAN)),
    "normal, hair": point(normal=(0, 0, 1.2e-9)),
    "normal, less": point(normal=(0, 0, 8e-10)),
    "normal along x": point(normal=(1.0, 0.1, 0.0)),
    "normal less along x": point(normal=(1.0, 0.49, 0.0)),
    "corners": flat_contact(corners=SQUARE),
    "corners, two": flat_contact(corners=SQUARE[:2]),
    "corners on a line": flat_contact(corners=((0, 0), (1, 0), (2, 0))),
    "corners NaN": flat_contact(corners=((0, 0), (1, 0), (NAN, 1))),
    "corners, 4 numbers": flat_contact(corners=((0, 0, 0, 0),) * 3),
    "corners, flat list": flat_contact(corners=(1, 2, 3)),
    "margin": flat_contact(corners=SQUARE, margin=0.05),
    "margin −": flat_contact(corners=SQUARE, margin=-0.05),
    "margin of all": flat_contact(corners=SQUARE, margin=0.1),
    "margin of nearly all": flat_contact(corners=SQUARE, margin=0.0999),
    "against": flat_contact(against="hand"),
    "against nobody": flat_contact(against="nobody"),
    "flat normal": flat_contact(normal=(0, 0, 0)),
    "sliding": taken(eq.SlidingContact("trunk", direction=(3, 4, 0))),
    "sliding nowhere": taken(eq.SlidingContact("trunk", direction=(0, 0, 0))),
    "sliding on a line": taken(eq.SlidingContact("trunk", corners=((0, 0), (1, 0), (2, 0)))),
    # constraints
    "joint limits": taken(eq.JointLimits(acceleration=20.0, margin=0.1, most=40.0)),
    "joint limits, own": taken(eq.JointLimits(position=(-1.0, 2.0), velocity=3.0)),
    "no ends": taken(eq.JointLimits(position=False, velocity=False)),
    "acceleration 0": taken(eq.JointLimits(acceleration=0.0)),
    "acceleration text": taken(eq.JointLimits(acceleration="much")),
    "acceleration of two": taken(eq.JointLimits(acceleration=(1.0, 2.0))),
    "most −": taken(eq.JointLimits(most=-1.0)),
    "margin too large": taken(eq.JointLimits(margin=1.5)),
    "margin all but": taken(eq.JointLimits(margin=1.499)),
    "velocity 0": taken(eq.JointLimits(velocity=0.0)),
    "crossed": taken(eq.JointLimits(position=(1.0, 0.0))),
    "torque limits": taken(eq.TorqueLimits(scale=0.5, no_load_speed=10.0, corner_speed=4.0, power=50.0)),
    "torque limits, own": taken(eq.TorqueLimits(limits=30.0)),
    "limits −": taken(eq.TorqueLimits(limits=-1.0)),
    "limits 0": taken(eq.TorqueLimits(limits=0.0)),
    "limits of two": taken(eq.TorqueLimits(limits=(1.0, 2.0))),
    "scale 0": taken(eq.TorqueLimits(scale=0.0)),
    "scale ∞": taken(eq.TorqueLimits(scale=INF)),
    "scale two": taken(eq.TorqueLimits(scale=(1, 1))),
    "speeds alike": taken(eq.TorqueLimits(no_load_speed=3.0, corner_speed=3.0)),
    "corner −": taken(eq.TorqueLimits(corner_speed=-1.0)),
    "speeds of two": taken(eq.TorqueLimits(no_load_speed=(3.0, 4.0))),
    "power 0": taken(eq.TorqueLimits(power=0.0)),
    "power of two": taken(eq.TorqueLimits(power=(1.0, 2.0))),
    "power NaN": taken(eq.TorqueLimits(power=NAN)),
    "torque rate": taken(eq.TorqueRate(200.0)),
    "torque rate 0": taken(eq.TorqueRate(0.0)),
    "torque rate two": taken(eq.TorqueRate((1.0, 2.0))),
    "momentum limits": taken(eq.MomentumLimits(angular=2.0)),
    "no momentum limit": taken(eq.MomentumLimits()),
    "momentum limit 0": taken(eq.MomentumLimits(linear=0.0)),
    "momentum rate": taken(eq.MomentumLimits(linear=1.0, rate=0.0)),
    "momentum rate ∞": taken(eq.MomentumLimits(linear=1.0, rate=INF)),
    "support": taken(
        eq.CoMInSupport(SQUARE, margin=0.01, gains=eq.Gains.of_rates(2.0, 6.0), variation=0.1, jump=0.2, braking=3.0)
    ),
    "support turned": taken(eq.CoMInSupport(SQUARE[::-1])),
    "support of two": taken(eq.CoMInSupport(SQUARE[:2])),
    "support of numbers": taken(eq.CoMInSupport((1.0, 2.0, 3.0))),
    "support with a corner twice": taken(eq.CoMInSupport((*SQUARE, SQUARE[0]))),
    "gains": taken(eq.CoMInSupport(SQUARE, gains=(1.0, 2.0))),
    "variation −": taken(eq.CoMInSupport(SQUARE, variation=-1.0)),
    "jump −": taken(eq.CoMInSupport(SQUARE, jump=-1.0)),
    "braking 0": taken(eq.CoMInSupport(SQUARE, braking=0.0)),
    "gains too fast": taken(eq.CoMInSupport(SQUARE, gains=eq.Gains.of_rates(5.0, 1001.0))),
    "gains as fast as can be": taken(eq.CoMInSupport(SQUARE, gains=eq.Gains.of_rates(5.0, 1000.0))),
    "above": taken(CoMAbove(lambda t: np.ones((2, 4)), FEET[0], [(0, 0, 0)], most=3)),
    "above, too many": lambda: CoMAbove(None, FEET[0], [(0, 0, 0)], most=3)._rows(np.ones((4, 4)), 0.1),  # type: ignore[arg-type]
    "cone": taken(
        eq.Cone(eq.Line((0, 0, 0), (0, 0, 1), frame="trunk"), eq.Line((0, 0, 0), (0, 0, 1)), angle=(0.3, 0.1, 0.2))
    ),
    "cone of points": taken(eq.Cone(PLACE, eq.Line((0, 0, 0), (0, 0, 1)))),
    "cone on a nose": taken(eq.Cone(eq.Line((0, 0, 0), (0, 0, 1), frame="nose"), eq.Line((0, 0, 0), (0, 0, 1)))),
    "absolute cone": taken(AbsoluteCone("trunk", FEET[0], axis=(0, 3, 4), direction=(0, 0, 2), angle=1.0)),
    "absolute cone 0": taken(AbsoluteCone("trunk", FEET[0], angle=0.0)),
    "absolute cone π": taken(AbsoluteCone("trunk", FEET[0], angle=np.pi)),
    "absolute cone axis": taken(AbsoluteCone("trunk", FEET[0], axis=(0, 0, 0))),
    "absolute cone two": taken(AbsoluteCone("trunk", FEET[0], direction=(0, 1))),
    "joint cones": taken(JointCones(margin=0.1)),
    "joint cones of one": taken(JointCones(("lift_1",))),
    "joint cones, name": taken(JointCones(("nose",))),
    "joint cones, margin −": taken(JointCones(margin=-0.1)),
    "joint cones, margin": taken(JointCones(margin=1.5)),
    "joint cones, none": taken(JointCones(), robot=load("planar_chain")),
    "joint cones of a slide": taken(JointCones((next(iter(load("planar_chain").joints)),)), robot=load("planar_chain")),
    "rest": taken(RestingBounds("trunk", rate=999.0)),
    "rest 0": taken(RestingBounds("trunk", rate=0.0)),
    "rest 1/dt": taken(RestingBounds("trunk", rate=1000.0)),
    "rest, axes": taken(RestingBounds("trunk", axes="w")),
    "rest, frame": taken(RestingBounds("nose")),
    "in an ellipse": taken(CoMInEllipse(((0.1, 0.2, 9.0), (0.3, 0.4)), radius=0.3)),
    "apart": taken(eq.KeepOut(PLACE, eq.Point((1, 2, 3)), safe=(0.1, 0.2, 0.3))),
    "apart −": taken(eq.KeepOut(PLACE, eq.Point((1, 2, 3)), safe=-0.1)),
    "apart, plane": taken(eq.KeepOut(PLACE, eq.Plane((0, 0, 1), 0.2), safe=-0.1)),
    "apart, nose": taken(eq.KeepOut(eq.Point((0, 0, 0), frame="nose"), PLACE)),
    "moving": taken(eq.KeepIn(PLACE, lambda t: eq.Sphere((t, 0, 0), 0.5, velocity=(1, 0, 0)), safe=0.2)),
}


def program(**options: Any) -> Callable[[], Any]:
    given = {"H": np.eye(2), "f": np.ones(2), "A": np.ones((1, 2))} | options
    return lambda: QuadraticProgram(**given).names


SOLVER = dict(n=2, levels=[1])
OTHERS: dict[str, Callable[[], Any]] = {
    "H": program(H=np.eye(3)),
    "f": program(f=np.ones((2, 1))),
    "no unknown": program(f=np.zeros(0)),
    "A": program(A=np.ones((1, 3))),
    "lower": program(lower=np.ones(2)),
    "upper": program(upper=[1.0, 2.0]),
    "bounds": program(x_lower=[1.0]),
    "names": program(names=("a", "b")),
    "bound names": program(bound_names=("a",)),
    "names that fit": program(names=["a"]),
    "classes": program(classes=[-1]),
    "classes of two": program(classes=[0, 1]),
    "level": program(levels=(Rows(np.ones((1, 2)), [0.0], [1.0]),)),
    "level of three": program(levels=(Rows.equal(np.ones((1, 3)), [1.0]),)),
    "rows": lambda: Rows(np.ones(2), [1.0], [1.0]),
    "rows, lower": lambda: Rows(np.ones((1, 2)), [1.0, 2.0], [1.0]),
    "rows, upper": lambda: Rows(np.ones((1, 2)), [1.0], [1.0, 2.0]),
    "rows, names": lambda: Rows(np.ones((1, 2)), [1.0], [1.0], ("a", "b")),
    "solver of nothing": lambda: CompiledSolver(0, [1]),
    "solver without levels": lambda: CompiledSolver(2, []),
    "two levels": lambda: CompiledSolver(2, [1, 1]),
    "regularisation": lambda: CompiledSolver(**SOLVER, regularisation=0.0),
    "row in two levels": lambda: CompiledSolver(2, [[0], [0, 1]], strict=True),
    "selected backwards": lambda: CompiledSolver(**SOLVER, n_A=3).select(A=np.array([2, 1])),
    "selected twice": lambda: CompiledSolver(**SOLVER).select(x=np.array([1, 1])),
    "selected beyond": lambda: CompiledSolver(**SOLVER, n_E=2).select(E=np.array([2])),
    "selected before": lambda: CompiledSolver(**SOLVER).select(x=np.array([-1])),
    "selected none": lambda: CompiledSolver(**SOLVER).select(x=np.array([], int)),
    "selected as a table": lambda: CompiledSolver(**SOLVER).select(x=np.array([[0]])),
    # numbers of items
    "column": lambda: column("a", "b", (1.0, 2.0), 2),
    "column of one": lambda: column("a", "b", lambda t: 3.0 + t, 2),
    "column −": lambda: column("a", "b", -1e-9, 2),
    "finite column −": lambda: finite_column("a", "b", -1.0, 1),
    "finite column ∞": lambda: finite_column("a", "b", INF, 1),
    "column, table": lambda: column("a", "b", np.ones((2, 1)), 2),
    "moment": lambda: moment(((1, 2), (3, 4))),
    "moment of numbers": lambda: moment((1, 2)),
    "moment of scalars": lambda: moment((1, 2), scalar=True),
    "moment of four": lambda: moment(((1,), 2, 3, 4)),
    "empty moment": lambda: moment(()),
    "flat": lambda: flat("a", "b", (1, 2), 3),
    "flat None": lambda: flat("a", "b", None, 2),
    "flat spread": lambda: flat("a", "b", 4.0, 2, True),
    "flat not spread": lambda: flat("a", "b", 4.0, 2),
    "no parameter": lambda: NamedNumbers(first=1, second=2).third,
    "posture": lambda: PostureReference("p", 3, 4, (1, 3)).numbers(((1, 2, 3), (1, 2, 3, 4), (5, 6))),
    "posture, short": lambda: PostureReference("p", 3, 4, (1, 3)).numbers(((1, 2), None)),
    "vector": lambda: VectorReference("v", 2).numbers(None),
    "pose": lambda: PoseReference("p", place=True).numbers((1.0, 2.0)),
    "is a pose": lambda: [is_pose((np.eye(4) + d * np.eye(4, k=1)).tolist()) for d in (9e-7, 1.1e-6)],
    "positive": lambda: require_positive(dt=1.0, weight=0),
    "positive text": lambda: require_positive(dt="1"),
    "positive ∞": lambda: require_positive(dt=INF),
    # gains and bounds
    "gains −": lambda: eq.Gains(-1.0, 1.0),
    "gains 0": lambda: eq.Gains(1.0, 0.0),
    "gains ∞": lambda: eq.Gains(INF, 1.0),
    "gains complex": lambda: eq.Gains(1.0, 0.3),
    "gains double": lambda: eq.Gains(2.0, 1.0).roots,
    "gains all but double": lambda: eq.Gains(2.0, 1.0 + 1e-13).roots,
    "gains less than double": lambda: eq.Gains(2.0, 1.0 + 1e-12),
    "gains of rows": lambda: eq.Gains.stack([eq.Gains.of_rates(1.0, 3.0), eq.Gains.of_rates(4.0, 2.0)]),
    "step": lambda: eq.Gains.of_rates(1.0, 10.0).require_step(0.1),
    "step too long": lambda: eq.Gains.of_rates(1.0, 10.0).require_step(0.11),
    "step 0": lambda: eq.Gains.of_rates(1.0, 10.0).require_step(0.0),
    "start": lambda: eq.Gains.of_rates(1.0, 10.0).require_start(0.1, -1.0),
    "start too fast": lambda: eq.Gains.of_rates(1.0, 10.0).require_start([0.1, 0.2], [-1.1, -2.5], "ab"),
    "start inside": lambda: eq.Gains.of_rates(1.0, 10.0).require_start(-0.1, 1.0),
    "start at": lambda: eq.Gains.of_rates(1.0, 10.0).require_start([0.0, 0.0], [0.0, -1.0]),
    "by thesis": lambda: eq.Gains.of_rates(1.0, 3.0).admits_by_thesis([1.0, 1.0, 0.0], [-2.0, 2.1, 0.0]).tolist(),
    "gains for": lambda: vfi.gains_for(0.1, -2.0),
    "gains for a slow one": lambda: vfi.gains_for(0.1, -0.2, 7.0),
    "gains for what stands": lambda: vfi.gains_for(0.0, 0.0),
    "gains for touching": lambda: vfi.gains_for(0.0, -1.0),
    "gains for inside": lambda: vfi.gains_for(-1.0, 0.0),
    "gains, decay": lambda: vfi.gains_for(1.0, 0.0, 0.0),
    "gains for a step": lambda: vfi.gains_for(0.1, -20.0, dt=6e-3),
    "first order": lambda: vfi.first_order_bound(2.0, 10.0, 0.1, 3.0),
    "first order, too fast": lambda: vfi.first_order_bound(2.0, 10.1, 0.1),
    "second order, too fast": lambda: vfi.second_order_bound(1.0, 0.0, eq.Gains.of_rates(1.0, 11.0), 0.1),
    "largest demand": lambda: vfi.largest_demand(2.0, 0.1, 3.0, 4.0),
    "admits": lambda: [
        bool(vfi.admits(d, r, eq.Gains.of_rates(1.0, 5.0), b))
        for b in (None, 2.0)
        for d in (0.0, 1.0, -1e-9)
        for r in (0.0, -1.9, -1.95, -5.0, -5.1)
    ],
    "chain rates": lambda: vfi.chain_rates(0.7, 2.0, 3.0, 0.5, 1.5),
    "rigid": lambda: vfi.rigid_variation(1.0, 2.0, 3.0, 0.5, ends=True),
    "rigid, no ends": lambda: vfi.rigid_variation(1.0, 2.0, 3.0, 0.5),
    "squared": lambda: vfi.squared_variation(0.5, 2.0, 3.0, 4.0),
    "limits crossed": lambda: limits.require_compatible(1.0, 0.0, 1.0, 1.0, 0.01),
    "limits too near": lambda: limits.require_compatible(0.0, 1e-4, 1.0, 100.0, 0.01),
    "limits, velocity": lambda: limits.require_compatible(0.0, 1.0, 0.5, 100.0, 0.01),
    "limits, acceleration": lambda: limits.require_compatible(0.0, 1.0, 0.5, -1.0, 0.01),
    "limits, step": lambda: limits.require_compatible(0.0, 1.0, 1.0, 1.0, 0.0),
    "velocity bounds": lambda: limits.velocity_bounds(0.2, 0.0, 1.0, 5.0, 0.1, previous=0.5, acceleration=3.0),
    "half of velocity bounds": lambda: limits.velocity_bounds(0.2, 0.0, 1.0, 5.0, 0.1, previous=0.5),
    "braking": lambda: limits.braking_capability(np.diag([2.0, 1.0]), np.array([1.0, -1.0]), np.array([5.0, INF])),
    "no brake": lambda: limits.braking_capability(np.eye(2), np.array([0.0, -6.0]), np.array([5.0, 6.0])),
    "brake without limit": lambda: limits.braking_capability(np.eye(1), np.zeros(1), np.array([INF])),
    # closed forms
    "axes": lambda: chosen_axes("zx"),
    "axes none": lambda: chosen_axes(""),
    "axes twice": lambda: chosen_axes("xx"),
    "axes w": lambda: chosen_axes("w"),
    "gain 0": lambda: velocity_program(np.eye(2), np.ones(2), 0.0, 0.1),
    "damping −": lambda: velocity_program(np.eye(2), np.ones(2), 1.0, -0.1),
    "targets": lambda: velocity_program(np.eye(2), np.ones(3), 1.0, 0.1),
    "gain NaN": lambda: error_acceleration(np.ones(1), np.ones(1), NAN, 1.0),
    "k_d": lambda: error_acceleration(np.ones(1), np.ones(1), 1.0, INF),
    "error acceleration": lambda: error_acceleration((1.0,), (2.0,), 3.0, 4.0),
    "shrinking": lambda: shrinking_bounds((1.0, 2.0), np.array([3.0, 4.0]), 2.0),
    "shrinking 0": lambda: shrinking_bounds((1.0,), np.ones(1), 0.0),
    "resting 0": lambda: resting_program(np.ones((1, 2)), np.ones(2), np.ones(2), 0.0),
    "resting": lambda: resting_program(np.array([[1.0, 1], [2, 2]]), np.array([1.0, 2]), np.ones(2), 3.0).A,
    "torque of a base": lambda: joint_torque(tripod(), standing(tripod()), np.zeros(15), np.zeros(15)),
    "damping 0": lambda: velocity_program(np.eye(2), np.ones(2), 2.0, 0.0, feedforward=np.ones(2)).f,
    "unilateral": lambda: unilateral_torque(np.eye(2), np.ones(2), np.ones(2), np.ones((1, 2)), np.ones((1, 2))),
    # loops
    "arrays": lambda: [type(as_array(x)).__name__ for x in ([1, 2], "a", np.ones(1, int), [[1], [2, 3]])],
    "states": lambda: [
        is_state(tripod(), q, v)
        for q, v in (
            (standing(tripod()), np.zeros(15)),
            (standing(tripod()), np.zeros(14)),
            (standing(tripod())[:-1], np.zeros(15)),
            ([1], np.zeros(15)),
            (standing(tripod()), np.full(15, NAN)),
            (standing(tripod()), np.zeros(15, int)),
        )
    ],
    "unit": lambda: [
        is_state(tripod(), q, np.zeros(15))
        for q in ((standing(tripod()) + k * np.eye(16)[3]) for k in (9e-7, 1.1e-6, -1.1e-6))
    ],
    "leak": lambda: JointCommander(None, 1.0, 1.0, leak=-1.0),
    "leak ∞": lambda: JointCommander(None, 1.0, 1.0, leak=INF),
    "leak 0": lambda: JointCommander(None, 1.0, 1.0, leak=0.0).leak,  # type: ignore[arg-type]
}


def test_recorded_refusals_of_items():
    records.check("refusals_items", {name: records.answer(call) for name, call in ITEMS.items()}, atol=1e-9)


def test_recorded_refusals_of_programs_and_bounds():
    records.check("refusals_control", {name: records.answer(call) for name, call in OTHERS.items()}, atol=1e-9)


OWN = {
    eq.Task: {"here": 2, "reference": 1, "terms": 2},
    eq.Contact: {"size": 0, "points": 0, "cone": 0, "wrench_map": 1, "terms": 2},
    eq.Constraint: {"rows": 2, "here": 2},
    BarrierConstraint: {"barrier": 2},
}


@pytest.mark.parametrize("base", OWN)
def test_what_an_own_item_lacks_is_said_by_its_name(base):
    item = type("Own", (base,), {})(**({"frame": "trunk"} if base is eq.Contact else {}))
    for member, arguments in OWN[base].items():
        with pytest.raises(NotImplementedError, match=rf"^Own has no {member}\b"):
            getattr(item, member)(*[None] * arguments)
