"""The format of scenario files: what a TOML file may say, read into frozen data. docs/scenarios.md explains it.

Lengths are metres and times seconds. Whatever needs the robot (frames, joints, sizes of targets) is checked when the
scenario is built for one, in `scenario_build`, and its errors name the same lines.
"""

# ruff: noqa: RUF009 — `entry` makes fields

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ..control import constraints as constraint_kinds
from ..control import contacts as contact_kinds
from ..control import tasks as task_kinds
from ..errors import unknown_name
from ..forms import charts
from ..geometry import primitives
from .conditions import Fall, Noise, Push
from .toml_source import (
    Reader,
    ScenarioError,
    TomlItem,
    TomlPlace,
    TomlSource,
    choice,
    entry,
    item,
    listed,
    mapping,
    not_negative,
    number,
    numbers,
    positive,
    table,
    text,
    texts,
    vector,
    whole,
    yes_or_no,
)
from .world import Box

__all__ = ["Scenario", "ScenarioError", "load_scenario", "parse_scenario"]

FOLDER = Path(__file__).parent / "scenarios_data"
MAX_STEPS = 10_000_000  # of a run: almost three hours at 1 kHz, and some gigabytes of record
LEVELS = ("torque", "acceleration", "velocity")
three: Reader = vector(3)

# --- places and motions -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Where:
    """Where a frame is: `at` in the world or `by` from its start; its axes: `rpy` in the world or `turn` from its
    start."""

    place: TomlPlace
    at: Any = entry(vector(3, nan=True), None)
    by: Any = entry(three, None)
    rpy: Any = entry(three, None)
    turn: Any = entry(three, None)
    plane: Any = entry(vector(4), None)  # normal and offset: anywhere on it


@dataclass(frozen=True)
class Waypoint:
    """Where a task's target is at time t; between waypoints it moves smoothly and rests at each."""

    place: TomlPlace
    t: float = entry(not_negative)
    at: Any = entry(vector(3, nan=True), None)
    by: Any = entry(three, None)
    rpy: Any = entry(three, None)
    turn: Any = entry(three, None)
    joints: Any = entry(mapping(number), None)
    value: Any = entry(number, None)


# --- things with a kind -----------------------------------------------------------------------------------------------


def _keys(kind: type, *without: str) -> set[str]:
    return {f.name for f in fields(kind)} - set(without)


def _rates(kind: type) -> set[str]:
    """Barriers have gains; a file gives them as two rates."""
    return {"rates"} if issubclass(kind, constraint_kinds.BarrierConstraint) else set()


CONTACTS = {
    "flat": contact_kinds.FlatContact,
    "point": contact_kinds.PointContact,
    "sliding": contact_kinds.SlidingContact,
}
TASKS = {
    "com": task_kinds.CoMTask, "frame": task_kinds.FrameTask, "posture": task_kinds.PostureTask,
    "momentum": task_kinds.MomentumTask, "relative": task_kinds.RelativeTask, "absolute": task_kinds.AbsoluteTask,
    "plane": task_kinds.PlaneTask, "force": task_kinds.ForceTask, "torque": task_kinds.TorqueTask,
    "rolling": task_kinds.Rolling, "com ellipse": task_kinds.CoMEllipseTask,
}  # fmt: skip
CONSTRAINTS = {
    "torque limits": constraint_kinds.TorqueLimits,
    "joint limits": constraint_kinds.JointLimits,
    "keep out": constraint_kinds.KeepOut,
    "keep in": constraint_kinds.KeepIn,
    "com in support": constraint_kinds.CoMInSupport,
    "cone": constraint_kinds.Cone,
    "self-collision": constraint_kinds.SelfCollision,
    "momentum limits": constraint_kinds.MomentumLimits,
    "torque rate": constraint_kinds.TorqueRate,
    "com in ellipse": constraint_kinds.CoMInEllipse,
    "joint cones": constraint_kinds.JointCones,
    "resting bounds": constraint_kinds.RestingBounds,
}
SOLIDS = {
    "point": primitives.Point, "line": primitives.Line, "segment": primitives.Segment, "plane": primitives.Plane,
    "sphere": primitives.Sphere, "capsule": primitives.Capsule, "box": Box,
}  # fmt: skip
GOALS = {
    "frame": ("frame", "at", "by", "within", "when", "hold", "name"),
    "com": ("at", "by", "within", "when", "hold", "name"),
    "beyond": ("frame", "contacts", "least", "when", "name"),
    "load": ("contact", "least", "when", "name"),
    "upright": ("frame", "within", "when", "name"),
    "held": ("frame", "seen_from", "within", "when", "name"),
}
WITHOUT = ("gains", "pairs", "target")
NUMBERS = (
    "weight gain stiffness damping priority edges friction min_force max_force scale limits margin rank safe angle "
    "range polygon linear angular rate variation jump braking corners radius offset size most value acceleration "
    "no_load_speed corner_speed power"
)
_SOLID_READERS: dict[str, Reader] = {
    **dict.fromkeys(NUMBERS.split(), numbers),
    **dict.fromkeys("position centre a b point direction normal rpy velocity".split(), numbers),
    "frame": text, "name": text,
}  # fmt: skip
SOLID = item("solid", {name: _keys(kind) | {"name"} for name, kind in SOLIDS.items()}, _SOLID_READERS)
READERS: dict[str, Reader] = {
    **_SOLID_READERS,
    **dict.fromkeys(("a", "b", "line", "axis"), SOLID),
    **dict.fromkeys("name frame other seen_from contact axes".split(), text),
    **dict.fromkeys("hard inner position velocity".split(), yes_or_no),
    "priority": whole,
    "edges": whole,
    "rank": whole,
    "most": whole,
    "contacts": texts,
    "at": vector(3, nan=True),
    "by": three,
    "within": positive,
    "least": number,
    "hold": not_negative,
    "when": lambda value, place: value if value in ("end", "once", "always") else not_negative(value, place),
    "path": listed(table(Waypoint)),
    "target": numbers,
    "rates": vector(2),
}
CONTACT = item("contact", {n: _keys(k) for n, k in CONTACTS.items()}, READERS, default="flat")
TASK = item("task", {n: (_keys(k) | {"path"}) for n, k in TASKS.items()}, READERS)
CONSTRAINT = item("constraint", {n: _keys(k, *WITHOUT) | _rates(k) for n, k in CONSTRAINTS.items()}, READERS)
GOAL = item("goal", GOALS, READERS)


# --- tables -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FrameTable:
    """A frame of one's own: where a cup is held. Its axes are turned by rpy from those of `on`, or of the world at the
    start."""

    place: TomlPlace
    name: str = entry(text)
    on: str = entry(text)
    position: Any = entry(three, (0.0, 0.0, 0.0))
    rpy: Any = entry(three, (0.0, 0.0, 0.0))
    world: bool = entry(yes_or_no, False)


@dataclass(frozen=True)
class StanceTable:
    """One stance, see `eq.Stance`."""

    place: TomlPlace
    contacts: tuple[str, ...] = entry(texts)
    name: str = entry(text, "")
    places: Mapping[str, Where] = entry(mapping(table(Where)), factory=dict)
    targets: Mapping[str, Where] = entry(mapping(table(Where)), factory=dict)
    posture: Mapping[str, float] | None = entry(mapping(number), None)
    com: Any = entry(table(Where), None)
    seconds: float | None = entry(positive, None)
    hold: float = entry(not_negative, 0.2)


@dataclass(frozen=True)
class ControlTable:
    """Which controller, and its options."""

    kind: str = entry(text, "tasks")
    level: str = entry(choice(*LEVELS), "torque")
    priorities: str = entry(choice("weighted", "strict"), "weighted")
    dt: float = entry(positive, 1e-3)
    # of the base: the program of [BK12, Eq. (37)]; for stances
    chart: str | None = entry(choice(*charts.BUILT_IN), None)
    # of squared contact forces, 1/N²: spreads the load over all contacts
    force_weight: float = entry(not_negative, 1e-5)
    # rad, by which postures stay farther from joint limits than the motion
    limit_margin: float = entry(not_negative, 0.05)
    speed: Any = entry(three, None)
    weights: Any = entry(mapping(not_negative), None)
    postures: Any = entry(mapping(numbers), None)
    clearance: float | None = entry(not_negative, None)
    load_time: float | None = entry(positive, None)
    shortest: float = entry(positive, 0.5)
    time_out: float | None = entry(positive, None)
    slip_limit: float | None = entry(positive, None)
    capture_margin: float | None = entry(not_negative, None)
    off_limit: float | None = entry(positive, None)
    retries: int | None = entry(whole, None)
    dynamic: bool | None = entry(yes_or_no, None)
    place: TomlPlace | None = None


@dataclass(frozen=True)
class PlantTable:
    """Which plant, and how its world is."""

    kind: str = entry(choice("mujoco", "ideal", "hard", "soft", "kinematic"), "mujoco")
    dt: float = entry(positive, 1e-3)
    friction: float | None = entry(not_negative, None)
    delay: int = entry(whole, 0)
    substeps: int | None = entry(whole, None)
    ground: bool = entry(yes_or_no, True)
    fall: Any = entry(mapping(number), None)
    damping: bool | None = entry(yes_or_no, None)
    armature: bool | None = entry(yes_or_no, None)


@dataclass(frozen=True)
class RandomPushes:
    """Small pushes drawn from the seed: level, in any direction, of up to `force` N each."""

    frame: str = entry(text)
    force: float = entry(not_negative)
    duration: float = entry(positive, 0.1)
    count: int = entry(whole, 1)


@dataclass(frozen=True)
class Disturbance:
    """What differs from seed to seed."""

    noise: Any = entry(mapping(not_negative), None)
    push: RandomPushes | None = entry(table(RandomPushes), None)
    place: TomlPlace | None = None


@dataclass(frozen=True)
class StartTable:
    """Where the robot starts, if not as it stands."""

    posture: Mapping[str, float] = entry(mapping(number), factory=dict)
    position: Any = entry(three, None)
    rpy: Any = entry(three, None)
    settle: bool = entry(yes_or_no, False)  # whether to look for a posture at rest on the contacts, near this one
    place: TomlPlace | None = None


@dataclass(frozen=True)
class Safety:
    """What must hold in every run."""

    penetration: float = entry(positive, 0.002)  # m


def _push(value: Any, place: TomlPlace) -> TomlItem:
    return item("push", {"push": _keys(Push)}, {"frame": text, "force": three, "torque": three, "start": not_negative,
                                                "duration": positive}, default="push")(value, place)  # fmt: skip


@dataclass(frozen=True)
class Scenario:
    """A scenario as its file says it. `place.source` is the text, `data` the same as plain values."""

    place: TomlPlace
    robot: str = entry(text)
    title: str = entry(text, "")
    about: str = entry(text, "")
    duration: float | None = entry(positive, None)
    settle: float = entry(not_negative, 1.0)  # s after the last stance, where no duration is given
    start: StartTable = entry(table(StartTable), StartTable())
    plant: PlantTable = entry(table(PlantTable), PlantTable())
    control: ControlTable = entry(table(ControlTable), ControlTable())
    frame: tuple[FrameTable, ...] = entry(listed(table(FrameTable)), ())
    contact: tuple[TomlItem, ...] = entry(listed(CONTACT), ())
    obstacle: tuple[TomlItem, ...] = entry(listed(SOLID), ())
    stance: tuple[StanceTable, ...] = entry(listed(table(StanceTable)), ())
    task: tuple[TomlItem, ...] = entry(listed(TASK), ())
    constraint: tuple[TomlItem, ...] = entry(listed(CONSTRAINT), ())
    push: tuple[TomlItem, ...] = entry(listed(_push), ())
    goal: tuple[TomlItem, ...] = entry(listed(GOAL), ())
    safety: Safety = entry(table(Safety), Safety())
    disturbance: Disturbance = entry(table(Disturbance), Disturbance())

    @property
    def name(self) -> str:
        return Path(self.place.source.name).stem


def parse_scenario(source: TomlSource, overrides: Mapping[str, Any] | None = None) -> Scenario:
    """A scenario from its text. Overrides are values by dotted keys, such as {"duration": 2.0, "contact.0.friction":
    0.5}."""
    data, place = source.read(), TomlPlace(source)
    for key, value in (overrides or {}).items():
        _override(data, key.split("."), value, place)
    scenario = table(Scenario)(data, place)
    checked = (
        ("disturbance", "noise", scenario.disturbance.noise, Noise),
        ("plant", "fall", scenario.plant.fall, Fall),
    )
    for part, key, given, kind in checked:
        known = [f.name for f in fields(kind)]
        for name in given or ():
            if name not in known:
                place.at(part, key, name).unknown(f"key in {part}.{key}:", name, known)
    if scenario.duration is None and not scenario.stance:
        place.fail("without [[stance]] a scenario needs a duration (s)")
    if scenario.duration is not None and scenario.duration > MAX_STEPS * min(scenario.plant.dt, scenario.control.dt):
        shortest = min(scenario.plant.dt, scenario.control.dt)
        place.at("duration").fail(
            f"{scenario.duration:g} s in steps of {shortest:g} s are more than {MAX_STEPS:,} steps"
        )
    if not scenario.goal and not scenario.stance:
        place.fail("a scenario needs a [[goal]] or a [[stance]]: without, nobody can tell whether it succeeded")
    return scenario


def _override(data: Any, keys: list[str], value: Any, place: TomlPlace) -> None:
    for key in keys[:-1]:
        step: Any = int(key) if isinstance(data, list) and key.isdigit() else key
        if isinstance(data, dict):
            data = data.setdefault(step, {})
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            place.fail(f"override {'.'.join(keys)!r}: there is no {key!r}")
    last: Any = int(keys[-1]) if isinstance(data, list) and keys[-1].isdigit() else keys[-1]
    if value is None and isinstance(data, dict):
        data.pop(last, None)
        return
    try:
        data[last] = value
    except (IndexError, TypeError):
        place.fail(f"override {'.'.join(keys)!r}: there is no {keys[-1]!r}")


def load_scenario(name: str | Path, overrides: Mapping[str, Any] | None = None) -> Scenario:
    """A scenario from a file, or a shipped one by its name."""
    path = Path(name)
    if not path.suffix and not path.is_file():
        shipped = {p.stem: p for p in sorted(FOLDER.glob("*.toml"))}
        if str(name) not in shipped:
            raise ScenarioError(f"{unknown_name('scenario', name, shipped)} The path of a TOML file works too.")
        path = shipped[str(name)]
    return parse_scenario(TomlSource.of_file(path), overrides)
