"""[QO21, Sec. 6.2]: the right hand reaches for a ball that is too far, so the left hand leans on a table or on a wall.

The thesis's robot is Thormang with 27 joints; here it is the built-in human, and any body by `reacher_of`. Gains and
damping are those of Table 6.2. Places are not given; ours are such that the thesis's outcomes come about: with the
table the hand alone makes things worse and the support must be enlarged, for a ball farther away the hand must slide as
well; with the wall the contact is enough, enlarging the support makes things worse, and sliding mends that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import null_space
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from ..balance.support import support_polygon
from ..body.body import Body
from ..control.constraints import KeepOut, SelfCollision
from ..control.contacts import FlatContact
from ..control.stances.attempts import Kind, MachineState, Report
from ..control.stances.events import EventKind
from ..control.stances.multi_contact import MultiContact
from ..control.tasks import AbsoluteTask, FrameTask, HullAreaTask, PlaneTask, RelativeTask, SurfaceTask
from ..geometry.collisions import self_collision_pairs
from ..geometry.primitives import Plane, Sphere
from ..robot import Robot, load
from .commanded import task_law
from .moving import half_way, posed, relative_pose
from .pictures import LIMIT, draw, sheet
from .qo21_strategy import strategy_figures
from .reference import ReferenceState, turned
from .rows import Figure, equal, small

Array = np.ndarray
GAIN, GROWTH, DAMPING = 1.0, 0.5, (0.05, 0.1, 0.08)  # [QO21, Table 6.2]: η of task and area; λ of contact, area, task
TOUCHED = 0.01  # m, within which the ball is touched
MARGIN = 0.02  # m, kept by the centre of mass from the edges of its support
CONTACT = 5e-3  # m (and sine of the tilt), within which the hand has come to its surface
LOOKS = [dict(color="#2f9e44", ls="--"), dict(color="#c92a2a", ls="--"), dict(color="#1c5fb0"), dict(color="#7048e8")]
EVERY = 5  # of the steps of 10 ms are looked at


@dataclass(frozen=True)
class Surroundings:
    """What the left hand may lean on, and where the ball is."""

    normal: tuple[float, float, float]
    offset: float  # m
    region: tuple[tuple[float, float, float], ...]  # m, corners on the surface
    ball: tuple[float, float, float]  # m
    step: int  # the attempt that fulfils the task
    thesis: str  # where it says so


HEIGHT, WALL = 0.85, 0.65  # m
TABLE = ((0.1, 0.0, HEIGHT), (0.75, 0.0, HEIGHT), (0.75, 0.5, HEIGHT), (0.1, 0.5, HEIGHT))
PANEL = ((WALL, 0.0, 1.0), (WALL, 0.5, 1.0), (WALL, 0.5, 1.5), (WALL, 0.0, 1.5))
PLACES = {
    "table": Surroundings((0, 0, 1), HEIGHT, TABLE, (1.31, -0.2, 1.0), 3, "Fig. 6.14"),
    "table, farther ball": Surroundings((0, 0, 1), HEIGHT, TABLE, (1.4, -0.2, 1.0), 4, "Table 6.3"),
    "wall": Surroundings((-1, 0, 0), -WALL, PANEL, (1.22, -0.35, 1.15), 2, "Fig. 6.17"),
}


@dataclass(frozen=True, eq=False)
class Reacher:
    """A robot that reaches with one hand and may lean on the other."""

    robot: Robot
    start: Array  # q
    feet: tuple[FlatContact, ...]
    hand: FlatContact
    reaching: str  # frame
    balls: tuple[Sphere, ...] = ()  # that stay off a wall
    pairs: Any = None  # of `SelfCollision`


@dataclass(frozen=True, eq=False)
class Touching:
    """What happened; one entry per look."""

    robot: Robot
    report: Report
    t: Array
    ends: Array  # s, of the attempts
    distance: Array  # m, of the right hand from the ball
    area: Array  # m², of the support
    margin: Array  # m, of the centre of mass from the edge of the support
    feet: Array  # m, how far a foot is from where it stood
    off: Array  # m, the farthest of the hand's corners from the surface while it leans; NaN before
    states: Sequence[tuple[int, MachineState]] = ()  # at which step each began


@cache
def touched(name: str, thoroughly: bool = False) -> Touching:
    """The strategy of [QO21, Fig. 4.13] by the built-in human at one of `PLACES`, commanded velocities followed.

    Args:
        thoroughly: make all four attempts, each until it comes no nearer, instead of stopping at the first that
            succeeds.
    """
    place = PLACES[name]
    machine = _machine(place.region)
    machine.controller.set_target("ball", np.array(place.ball))
    machine.tolerance = 0.0 if thoroughly else TOUCHED
    return followed(machine, human(), place)


def followed(machine: MultiContact, who: Reacher, place: Surroundings) -> Touching:
    """The attempts, and what is to be seen of them."""
    report = machine.run(who.start, seconds=200.0)
    made = min((event.t for event in machine.log if event.kind is EventKind.TOUCHED), default=np.inf)
    start = _corners(ReferenceState(who.robot, report.path[0]), who.feet)
    rows = [
        _looked(place, who, q, bool(t > made), start)
        for t, q in zip(report.t[::EVERY], report.path[::EVERY], strict=True)
    ]
    ends = np.cumsum([attempt.seconds for attempt in report.attempts])
    begun = [event for event in machine.log if event.kind is EventKind.BEGUN]
    states = [(round(event.t / machine.dt), MachineState(event.stance)) for event in begun]
    away, area, margin, feet, off = np.array(rows).T
    return Touching(who.robot, report, report.t[::EVERY], ends, away, area, margin, feet, off, states)


@cache
def human() -> Reacher:
    robot = load("human")
    trunk = {"pelvis": 0.0, "thorax": 0.1, "head": 0.1}  # m along the links
    balls = tuple(Sphere((0, 0, z), 0.12, link) for link, z in trunk.items())
    feet, hand = [_sole(robot, foot) for foot in ("left_foot", "right_foot")], _sole(robot, "left_hand")
    return Reacher(robot, robot.standing(), tuple(feet), hand, "right_hand", balls)


def reacher_of(body: Body, palm: float = 0.02) -> Reacher:
    """Any body with two feet and two hands; a hand whose palm is not known has one of ±`palm` m."""
    square = [(palm, palm), (-palm, palm), (-palm, -palm), (palm, -palm)]
    feet = [
        FlatContact(body.frames[foot], corners=np.array(body.parts[foot].corners), friction=0.7) for foot in body.feet
    ]
    hand = FlatContact(
        body.frames["left hand"], corners=np.array(body.parts["left hand"].corners or square), friction=0.7
    )
    arms = _arms(body)
    every = self_collision_pairs(body.robot, posture=body.standing)
    pairs = [(a, b) for a, b in every if (a.frame in arms) != (b.frame in arms)]  # arm and trunk [QO21, Eq. (4.37)]
    return Reacher(body.robot, body.standing, tuple(feet), hand, body.frames["right hand"], pairs=pairs)


def _arms(body: Body) -> set[str]:
    """Links of both arms, from the hands up to the torso."""
    above = {joint.child: joint.parent for joint in body.robot.joints.values()}
    torso, links = body.parts["torso"].link, set()
    for hand in body.hands:
        link: str | None = body.parts[hand].link
        while link is not None and link != torso:
            links.add(link)
            link = above.get(link)
    return links


@cache
def _machine(region: tuple[tuple[float, float, float], ...]) -> MultiContact:
    """One for the table and one for the wall."""
    return strategy(human(), next(place for place in PLACES.values() if place.region == region))


def strategy(who: Reacher, place: Surroundings, *, margin: float = MARGIN) -> MultiContact:
    """The state machine with the parameters of [QO21, Table 6.2]; trunk and head must not enter a wall either."""
    ball = FrameTask(who.reaching, np.array(place.ball), axes="position", gain=GAIN, name="ball")
    surface = Plane(place.normal, place.offset)
    off = [KeepOut(one, surface, 0.02, name=f"{one.frame} off the wall") for one in who.balls]
    rules = [SelfCollision(who.pairs), *(off if place.normal[0] else [])]
    height = float(who.robot.com(who.start)[2])  # radians of a small robot count less beside its metres
    return MultiContact(
        who.robot, ball, who.feet, who.hand, surface, cooperative=True, region=np.array(place.region), margin=margin,
        contact_tolerance=CONTACT, constraints=rules, growth=GROWTH, damping=DAMPING, tolerance=TOUCHED, patience=5.0,
        time_out=30.0, posture_weight=1e-4 * height**2,
    )  # fmt: skip


def _looked(place: Surroundings, who: Reacher, q: Array, leaning: bool, start: Array) -> tuple[float, ...]:
    now = ReferenceState(who.robot, q)
    feet, palm = _corners(now, who.feet), _corners(now, (who.hand,))
    hull = ConvexHull((np.concatenate([feet, palm]) if leaning else feet)[:, :2])
    margin = -float(np.max(hull.equations[:, :2] @ now.com[:2] + hull.equations[:, 2]))
    away = float(np.linalg.norm(now.frame(who.reaching).p - place.ball))
    off = float(np.abs(palm @ place.normal - place.offset).max()) if leaning else np.nan
    return away, float(hull.volume), margin, float(np.abs(feet - start).max()), off


def _sole(robot: Robot, frame: str) -> FlatContact:
    return FlatContact(
        frame, corners=np.array([robot.frames[f"{frame}_corner_{k}"].X[:2, 3] for k in range(4)]), friction=0.7
    )


def _corners(now: ReferenceState, contacts: Sequence[FlatContact]) -> Array:
    """Corners of soles and palms in the world, (corners, 3)."""
    return np.array([now.frame(contact.frame, corner).p for contact in contacts for corner in contact.points])


def tasks_of_the_strategy() -> Iterator[Figure]:
    """Each task of [QO21, Sec. 4.5] alone, on a robot that moves: what it does, against its law."""
    robot = load("human")
    q, v = robot.random_state(np.random.default_rng(2))
    now, k, (a, b) = ReferenceState(robot, q, v), 1.5, ("left_foot", "right_foot")
    normal, at = np.array([0.36, -0.48, 0.8]), (0.02, -0.01, -0.05)
    palm, wall = np.array([0.6, 0.0, -0.8]), np.array([0.0, 0.6, 0.8, 0.7])

    def plane(there: ReferenceState) -> Array:
        n = there.frame("left_hand").R @ palm
        return np.append(n, n @ there.frame("left_hand", at).p)

    n = plane(now)[:3]
    tangents = np.zeros((3, 4))  # the length of n is no freedom
    tangents[:2, :3], tangents[2, 3] = null_space(n[None]).T, 1.0
    surface = SurfaceTask("left_hand", wall, palm, at, gain=k)
    yield from task_law(robot, surface, q, v, lambda there: tangents @ plane(there), tangents @ (wall - plane(now)), k)
    height = PlaneTask("left_hand", normal, 0.3, at, target=0.1, gain=k)
    away = np.array([0.1 + 0.3 - normal @ now.frame("left_hand", at).p])
    yield from task_law(robot, height, q, v, lambda there: np.array([normal @ there.frame("left_hand", at).p]), away, k)
    corners = np.array([(0.05, 0.03, 0.0), (-0.04, 0.02, 0.01)])
    slopes = np.array([[0.3, -0.2], [0.1, 0.5]])
    area = HullAreaTask("left_hand", corners, target=np.append(slopes, 0.04), gain=k)

    def grown(there: ReferenceState) -> Array:
        return np.array([sum(g @ there.frame("left_hand", c).p[:2] for g, c in zip(slopes, corners, strict=True))])

    yield from task_law(robot, area, q, v, grown, np.array([0.04]), k)
    turn, shift = turned(np.array([0.3, -0.2, 0.4])), np.array([0.1, -0.05, 0.2])
    X, w = relative_pose(now, a, b), now.frame(a).R.T @ now.frame(a).V[3:]
    e = np.concatenate([shift, Rotation.from_matrix(turn).as_rotvec()])
    goal = posed(turn @ X[:3, :3], X[:3, 3] + shift)
    relative = RelativeTask(b, a, goal, gain=k)
    yield from task_law(robot, relative, q, v, lambda there: relative_pose(there, a, b), e, k, turning=w)
    X = half_way(now, a, b)
    absolute = AbsoluteTask(a, b, posed(turn @ X[:3, :3], X[:3, 3] + shift), gain=k)
    yield from task_law(robot, absolute, q, v, lambda there: half_way(there, a, b), e, k)


def strategy_row() -> Iterator[Figure]:
    """Row Q8: the tasks one by one, the strategy step by step, and what comes of it."""
    yield from tasks_of_the_strategy()
    for name, place in PLACES.items():
        yield from strategy_figures(name, touched(name), human(), place, MARGIN)
    yield from multi_contact_figures()


def multi_contact_figures() -> Iterator[Figure]:
    """Which attempt fulfils the task, and what holds on every step of the way."""
    for name, place in PLACES.items():
        run = touched(name)
        yield equal(f"{name}: attempt that touches the ball [{place.thesis}]", run.report.step, place.step)
        first, second = _ends(name, "area", False)[:2]
        areas = " → ".join(f"{attempt.area:.3f}" for attempt in run.report.attempts)
        yield Figure(
            f"{name}: area of the support with the hand, m²", "> 1.3 times", areas, second > 1.3 * first, "larger"
        )
        inside = float(run.margin.min())
        yield Figure(
            f"{name}: least distance of the mass from the edge, m",
            f"> {MARGIN - 2e-3:g}",
            f"{inside:.4f}",
            inside > MARGIN - 2e-3,
            "inside",
        )
        yield small(f"{name}: feet from where they stood, m [Eqs. (4.58)–(4.59)]", float(run.feet.max()), 2e-3)
        off = max(run.off[np.isfinite(run.off)], default=np.nan)  # not good if it never leaned
        yield small(f"{name}: hand off the surface it leans on, m", float(off), 2 * CONTACT)
    yield from _findings()


def _findings() -> Iterator[Figure]:
    """What the thesis found beside: all four attempts, each to its end."""
    alone, leaning, wide, _ = _ends("table", "error")
    ours = f"{alone:.3f} → {leaning:.3f}"
    yield Figure(
        "table: left to the ball, feet alone → hand too, m [Fig. 6.15]",
        "> 0.005 more",
        ours,
        leaning > alone + 5e-3,
        "contact is worse",
    )
    yield Figure(
        "table: left with the support enlarged, m [Fig. 6.15]",
        f"< {TOUCHED:g}",
        f"{wide:.3f}",
        wide < TOUCHED,
        "touched",
    )
    _, first, last, _ = _ends("table", "area")
    grown = last / first
    yield Figure(
        "table: support, enlarged over as first touched [Fig. 6.15]", "> 1.5", f"{grown:.2f}", grown > 1.5, "grows"
    )
    alone, leaning, wide, slid = _ends("wall", "error")
    yield Figure(
        "wall: left to the ball, feet alone, m [Fig. 6.18]",
        f"> {5 * TOUCHED:g}",
        f"{alone:.3f}",
        alone > 5 * TOUCHED,
        "fails",
    )
    ours = f"{leaning:.4f} → {wide:.4f}"
    yield Figure(
        "wall: left, hand on the wall → support enlarged, m [Fig. 6.18]",
        f"< {TOUCHED:g} → > {TOUCHED:g}",
        ours,
        leaning < TOUCHED < wide,
        "touched → fails",
    )
    yield Figure(
        "wall: left when the hand may slide, m [Fig. 6.17]", f"< {TOUCHED:g}", f"{slid:.4f}", slid < TOUCHED, "touched"
    )
    areas = _ends("wall", "area")[1:]
    ours = " → ".join(f"{area:.3f}" for area in areas)
    larger = areas[0] < areas[2] < areas[1]
    yield Figure(
        "wall: support, contact → enlarged → slid, m² [Sec. 6.2]",
        "first < third < second",
        ours,
        larger,
        "slid is larger than at contact",
    )


def _ends(name: str, what: str, thoroughly: bool = True) -> list[float]:
    """A number of each of the four attempts; NaN, which is neither larger nor smaller, for those that were not made."""
    found = [float(getattr(attempt, what)) for attempt in touched(name, thoroughly).report.attempts]
    return found + [np.nan] * (4 - len(found))


def pictures() -> Iterator[tuple[str, Any]]:
    """Distances and areas over time, and the posture at the end of each attempt."""
    for name, (postures, curves) in {"table": ("6.14", "6.15"), "wall": ("6.17", "6.18")}.items():
        yield f"fig-{postures}-{name}", _postures(name, postures)
        yield f"fig-{curves}-{name}", _curves(name, curves)
    yield "fig-6.16-balance", _balanced("table")
    yield "table-6.3-farther-ball", _postures("table, farther ball", "4.13")


def _postures(name: str, number: str) -> Any:
    run, place = touched(name, thoroughly=number == "6.17"), PLACES[name]  # Fig. 6.17 has all four attempts
    panels = [f"{attempt.name}: {attempt.error:.3f} m" for attempt in run.report.attempts]
    picture, axes = sheet(f"[QO21, Fig. {number}] {name}", panels, columns=4, size=(3.2, 3.4))
    for one, end in zip(axes, run.ends, strict=True):
        k = min(int(np.searchsorted(run.report.t, end)), len(run.report.path) - 1)
        draw(one, run.robot, run.report.path[k], color="#2b6cb0")
        one.plot(place.ball[0], place.ball[2], "o", color="#2f9e44", markersize=8)
        x, _, z = np.array(place.region).T
        one.plot([x.min(), x.max()], [z.min(), z.max()], color="#868e96", lw=3)
    return picture


def _curves(name: str, number: str) -> Any:
    """As the thesis draws them: what each attempt comes to, from its own start."""
    run = touched(name, True)
    panels = ["right hand and ball, m", "area of the support, m²", "mass and edge of the support, m"]
    picture, axes = sheet(f"[QO21, Fig. {number}] {name}: each attempt to its end", panels)
    begins = [0.0, *run.ends[:-1]]
    for begin, end, attempt, look in zip(begins, run.ends, run.report.attempts, LOOKS, strict=True):
        part = (run.t >= begin) & (run.t < end)
        for one, curve in zip(axes, (run.distance, run.area, run.margin), strict=True):
            one.plot(run.t[part] - begin, curve[part], lw=1.2, label=attempt.name, **look)
            one.set_xlabel("t of the attempt, s")
    axes[0].axhline(TOUCHED, **LIMIT)
    axes[2].axhline(MARGIN, **LIMIT)
    axes[0].legend(fontsize=6)
    return picture


def _balanced(name: str) -> Any:
    """Supports at the end of each attempt from above, with the mass; its way; the norm of the inputs."""
    run = touched(name)
    panels = ["supports from above, m", "mass and edge of the support, m", "norm of the inputs, rad/s and m/s"]
    picture, axes = sheet(f"[QO21, Fig. 6.16] {name}", panels)
    who, robot = human(), run.robot
    for end, attempt, look in zip(run.ends, run.report.attempts, LOOKS, strict=False):
        q = run.report.path[min(int(np.searchsorted(run.report.t, end)), len(run.report.path) - 1)]
        contacts = who.feet if attempt.name is Kind.TRY else (*who.feet, who.hand)
        corners = support_polygon(_corners(ReferenceState(robot, q), contacts)).vertices
        axes[0].fill(*corners.T, fill=False, edgecolor=look["color"], label=attempt.name)
        axes[0].plot(*robot.com(q)[:2], "o", color=look["color"], markersize=4)
    axes[0].set_aspect("equal", adjustable="datalim")
    axes[0].legend(fontsize=6)
    axes[1].plot(run.t, run.margin, color="#1c5fb0", lw=1.2)
    axes[1].axhline(MARGIN, **LIMIT)
    moved = robot.difference(run.report.path[:-1], run.report.path[1:]) / np.diff(run.report.t)[:, None]
    axes[2].plot(run.report.t[1:], np.linalg.norm(moved, axis=1), color="#1c5fb0", lw=0.8)
    for one in axes[1:]:
        for end in run.ends[:-1]:
            one.axvline(end, color="#868e96", lw=0.8, linestyle=":")
        one.set_xlabel("t, s; dotted: next attempt")
    return picture
