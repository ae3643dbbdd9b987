"""[QO21, Fig. 4.9]: a pendulum strikes a humanoid that leans with its left hand on a table.

The same robot, controller and blow twice; the centre of mass starts at the same place. Where the hand came down the
support is small and the robot falls; with the support enlarged, by the area's own task while the hand slides on the
table, it does not. The thesis gives no numbers: robot, table and pendulum are ours. The blow is that of a bob which
falls, meets the pelvis and stops there; it comes from behind and from the right, where the hand is what the support can
grow by.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..balance.support import SupportPolygon, support_polygon
from ..control.constraints import CoMInSupport, JointLimits, KeepOut, TorqueLimits
from ..control.contacts import SlidingContact
from ..control.controller.controller import WholeBodyController
from ..control.stances.places import touching_points
from ..control.stances.postures import find_posture
from ..control.tasks import CoMTask, FrameTask, MomentumTask, PostureTask, SupportAreaTask
from ..geometry.primitives import Plane, Point
from .bk12_recorded import Recorded, off_command
from .pictures import draw, sheet
from .qo21_contacts import HEIGHT, human
from .rows import Figure

if TYPE_CHECKING:
    from ..simulate.run import Run

Array = np.ndarray
TOUCHES = (0.32, 0.2, HEIGHT)  # m, where the hand comes down
COM = (0.03, 0.02, np.nan)  # m, of the centre of mass in both postures
FAR = (0.58, 0.46)  # m, as far as the hand may slide
WIDE = 1.0  # m², more than can be reached
BOB, DROP = 20.0, 0.8  # kg, m: how far it falls
ALONG = np.array([1.0, 1.0, 0.0]) / np.sqrt(2)
BEGINS, LASTS, DURATION = 0.3, 0.1, 2.0  # s
FALL = {"height": 0.7, "tilt": 1.0}
SIZE, MIDDLE = (1.0, 1.4, 0.04), (0.68, 0.3, HEIGHT - 0.02)  # m, of the table
SUPPORTS = ("small", "large")


@dataclass(frozen=True, eq=False)
class Struck:
    """What came of a blow."""

    support: SupportPolygon  # before it
    run: Run
    control: Recorded

    @property
    def fell(self) -> bool:
        return bool(self.run.t[-1] < DURATION - 0.01)

    @property
    def margin(self) -> float:
        """m, least distance of the centre of mass from the edge of the support, negative outside."""
        return min(float(self.support.margin(self.run.robot.com(q))) for q in self.run.q[::10])


def _support(q: Array) -> SupportPolygon:
    who = human()
    return support_polygon(
        np.concatenate([touching_points(c, who.robot.pose(q, c.frame)) for c in (*who.feet, who.hand)])
    )


def _at_rest(near: Array, place: Array | tuple[float, ...]) -> Array:
    """A posture that rests on both feet and the hand, the hand's palm on the table at a place."""
    who = human()
    at: dict[Any, Any] = {foot: who.robot.pose(who.start, foot.frame) for foot in who.feet}
    at[who.hand] = Plane((0, 0, 1), HEIGHT)
    targets = {who.hand.frame: np.array(place)}
    return find_posture(who.robot, at, targets, com=COM, posture=near, start=near).q


@cache
def leaning(support: str) -> Array:
    """q with the small support, or with the large one."""
    if support == "small":
        return _at_rest(human().start, TOUCHES)
    q = _enlarged(leaning("small"))
    x, y = human().robot.pose(q, human().hand.frame)[:2, 3]
    return _at_rest(q, (x, y, HEIGHT))


def _enlarged(q: Array, dt: float = 0.02) -> Array:
    """The hand slides on the table so that the area grows, the mass above the feet [QO21, Sec. 4.4]."""
    who = human()
    robot, hand = who.robot, who.hand.frame
    feet = [(foot.frame, point) for foot in who.feet for point in foot.points]
    soles = np.concatenate([touching_points(foot, robot.pose(q, foot.frame)) for foot in who.feet])
    # the others are no corners of the hull
    outer = [corner for corner, at in zip(feet, soles, strict=True) if abs(at[1]) > 0.1]
    tasks = [
        SupportAreaTask((*outer, (hand, (0.0, 0.0, 0.0))), target=WIDE, gain=0.5),
        PostureTask(q, weight=1e-4, gain=1.0),
    ]
    edges = [Plane((-1, 0, 0), -FAR[0]), Plane((0, -1, 0), -FAR[1])]
    walls = [KeepOut(Point((0, 0, 0), hand), edge, name=f"edge {k}") for k, edge in enumerate(edges)]
    above = CoMInSupport(support_polygon(soles).vertices, margin=0.02)
    slide = SlidingContact(hand, corners=who.hand.corners)
    controller = WholeBodyController(
        robot, tasks, [*who.feet, slide], [JointLimits(), above, *walls], level="velocity", dt=dt, slip_limit=np.inf
    )
    v = np.zeros(robot.nv)
    for k in range(200):
        v = controller(k * dt, q, v).velocity
        q = robot.integrate(q, v, dt)
    return q


@cache
def struck(support: str) -> Struck:
    """The blow in MuJoCo, torques at 1 kHz."""
    from ..simulate.loop import Push, simulate
    from ..simulate.world import Box

    who, q = human(), leaning(support)
    tasks = [
        CoMTask(who.robot.com(q), weight=10.0, gain=5.0),
        FrameTask("pelvis", weight=1.0, axes="orientation", gain=5.0),
        MomentumTask(weight=0.01),
        PostureTask(q, weight=0.1, gain=5.0),
    ]
    limits = [TorqueLimits(), JointLimits()]
    controller = WholeBodyController(who.robot, tasks, (*who.feet, who.hand), limits, dt=1e-3, slip_limit=np.inf)
    impulse = BOB * np.sqrt(2 * 9.80665 * DROP)  # N s
    blow = Push("pelvis", impulse / LASTS * ALONG, BEGINS, LASTS)
    table = Box(size=SIZE, position=MIDDLE)
    control = Recorded(controller)
    run = simulate(who.robot, control, q0=q, duration=DURATION, obstacles=[table], pushes=[blow], fall=FALL)
    return Struck(_support(q), run, control)


def blow_figures() -> Iterator[Figure]:
    """Of row Q7: the larger support is what keeps the balance."""
    small, large = (struck(support) for support in SUPPORTS)
    areas = f"{small.support.area:.3f} → {large.support.area:.3f}"
    grown = large.support.area > 1.4 * small.support.area
    yield Figure("hand on a table: support, enlarged by its task, m² [Fig. 4.9]", "> 1.4 times", areas, grown, "larger")
    starts = [struck(support).run.robot.com(leaning(support))[:2] for support in SUPPORTS]
    apart = float(np.abs(np.subtract(*starts)).max())
    yield Figure("mass at the start, one case and the other, m", "< 1e-4", f"{apart:.1e}", apart < 1e-4, "the same")
    for support, one, falls in (("small", small, True), ("large", large, False)):
        what = "falls, mass outside" if falls else "stands, mass inside"
        ours = f"{'falls' if one.fell else 'stands'}, {one.margin:.3f} m"
        good = one.fell is falls and (one.margin < 0) is falls
        yield off_command(f"{support} support, before the blow", one.control, one.run, 0.05, BEGINS)
        yield Figure(f"a pendulum's blow on the {support} support [Fig. 4.9]", what, ours, good, what)


def pictures() -> Iterator[tuple[str, Any]]:
    """Before the blow, and at the end."""
    panels = [f"{support} support, {when}" for support in SUPPORTS for when in ("before", "after")]
    picture, axes = sheet("[QO21, Fig. 4.9] a pendulum's blow", panels, columns=4, size=(2.4, 3.4))
    for one, (support, k) in zip(axes, [(support, k) for support in SUPPORTS for k in (0, -1)], strict=True):
        run = struck(support).run
        draw(one, run.robot, run.q[k], color="#2b6cb0")
        one.plot([0.18, 1.0], [HEIGHT, HEIGHT], color="#868e96", lw=3)
    yield "fig-4.9-blow", picture
