"""What a simulation leaves behind: everything as arrays, in memory and in one file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..files import MAX_BYTES, written_whole
from ..model.html import html_table
from ..model.types import FrozenData
from .archive import RunError, encoded
from .contacts import ContactInfo
from .run_format import ARRAYS, FORMAT, KIND, MAPPINGS
from .world import Solid

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Run(FrozenData):
    """A simulation, row k at time t[k]: the state there, what the controller answered, and what then happened until
    t[k + 1].

    Attributes:
        robot: whom it is of.
        t: (N,) s.
        q: (N, nq).
        v: (N, nv).
        com: centre of mass, (N, 3).
        torque: applied, after delay and limits, (N, nv).
        acceleration: of the plant, the change of v over the step, (N, nv); the last row repeats the one before.
        forces: of the controller by contact, wrench on the robot at the contact's frame, world axes, (N, 6); NaN where
            the contact was not in its set. Where the controller tells no forces, those measured.
        measured: the same from the plant, the mean over the step.
        contacts: contact → frame, points in it, friction.
        task_errors: of the controller by name, (N,); NaN where there was none.
        margins: of its constraints by name, likewise.
        readings: of the sensors, where there were any: gyroscope, accelerometer, joints, joint_rates, torques, and
            "force of CONTACT"; (N, …).
        estimates: q and v of the estimator, where there was one.
        sensing: what made readings and estimates: the IMU's frame, the estimator's noise, prior and contacts; JSON.
        references: where the controller wanted frames, by frame, (N, 7) position and quaternion; NaN but thirty times a
            second.
        outlines: what the controller drew on the ground, by name, (N, k, 3) m, corners; likewise. A walker: where the
            next foot can be set.
        phases: (t, name) of each phase of the controller as it began, where it tells them.
        status: (N,) small integers, indices into `status_names`.
        cycle_time: seconds of each controller call, (N,): the only numbers that differ from run to run.
        events: (t, text) of all that happened.
        obstacles: primitives and boxes.
        safe_distances: m, one for each obstacle.
        scenario: whatever the caller wants to keep, JSON.
        origin: how the run was made: "version", "date", "processor", "command"; empty in files of version 0.2.
        seed: of all random numbers.
        outcome: "completed", "fell", "failed", "interrupted" by Ctrl-C, or "missed" where a scenario's goals were.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> import equipoise as eq
        >>> arm = eq.load("arm6")
        >>> controller = eq.WholeBodyController(arm, [eq.PostureTask()], constraints=[eq.TorqueLimits()])
        >>> run = eq.simulate(arm, controller, "ideal", duration=0.05)
        >>> run.q.shape == (len(run.t), 6), run.outcome
        (True, 'completed')
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = run.save(Path(folder) / "arm.npz")
        ...     again = eq.Run.load(Path(folder) / "arm.npz")
        >>> bool(np.array_equal(again.q, run.q))
        True
    """

    robot: Robot
    t: Array
    q: Array
    v: Array
    torque: Array
    acceleration: Array
    com: Array
    status: Array
    cycle_time: Array
    forces: Mapping[str, Array] = field(default_factory=dict)
    measured: Mapping[str, Array] = field(default_factory=dict)
    contacts: Mapping[str, ContactInfo] = field(default_factory=dict)
    task_errors: Mapping[str, Array] = field(default_factory=dict)
    margins: Mapping[str, Array] = field(default_factory=dict)
    readings: Mapping[str, Array] = field(default_factory=dict)
    estimates: Mapping[str, Array] = field(default_factory=dict)
    references: Mapping[str, Array] = field(default_factory=dict)
    outlines: Mapping[str, Array] = field(default_factory=dict)
    phases: tuple[tuple[float, str], ...] = ()
    status_names: tuple[str, ...] = ()
    events: tuple[tuple[float, str], ...] = ()
    obstacles: tuple[Solid, ...] = ()
    safe_distances: tuple[float, ...] = ()
    scenario: Mapping[str, object] = field(default_factory=dict)
    sensing: Mapping[str, object] = field(default_factory=dict)
    origin: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    outcome: str = "completed"

    def __post_init__(self) -> None:
        for name in ARRAYS:
            object.__setattr__(self, name, _sealed(getattr(self, name)))
        for name in MAPPINGS:
            sealed = {key: _sealed(array) for key, array in getattr(self, name).items()}
            object.__setattr__(self, name, MappingProxyType(sealed))
        object.__setattr__(self, "contacts", MappingProxyType(dict(self.contacts)))

    @property
    def statuses(self) -> Array:
        """The controller's status of each step, in words, (N,)."""
        return np.array(self.status_names, dtype=str)[self.status] if self.status_names else np.full(len(self.t), "")

    @property
    def duration(self) -> float:
        """Seconds from the first row to the last."""
        return float(self.t[-1] - self.t[0]) if len(self.t) else 0.0

    def __repr__(self) -> str:
        return f"<Run of {self.robot.name!r}: {self.duration:g} s in {len(self.t)} rows, {self.outcome}>"

    def _repr_html_(self) -> str:
        rows = [(f"{t:.3f} s", text) for t, text in self.events]
        return html_table(repr(self)[1:-1], ("event", ""), rows)

    # --- files ----------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> Path:
        """Write everything into one file: a zip of NumPy arrays and a JSON text; whole or not at all.

        The robot goes along, without its meshes. The ending .npz is added where the name has none; a name that ends in
        .mcap gets an MCAP file, see `to_mcap`.
        """
        target = Path(path)
        if target.suffix == ".mcap":
            return self.to_mcap(target)
        target = target if target.suffix else target.with_suffix(".npz")
        return written_whole(target, self.write)

    def write(self, file: IO[bytes]) -> None:
        """The same into a file that is open for writing bytes."""
        header = json.dumps(self._header(), ensure_ascii=False, allow_nan=False).encode()
        arrays = {name: getattr(self, name) for name in ARRAYS} | {"header": np.frombuffer(header, dtype=np.uint8)}
        for name in MAPPINGS:
            arrays |= {f"{name}/{k}": array for k, array in enumerate(getattr(self, name).values())}
        np.savez_compressed(file, allow_pickle=False, **arrays)

    def to_mcap(self, path: str | Path, rate: float = 100.0) -> Path:
        """Write an MCAP file that Foxglove shows: joint states, frames, contact forces, IMU, events; and the run
        itself.

        Needs foxglove-sdk: pip install 'equipoise[logs]'. `Run.load` reads it back, bit for bit.

        Args:
            rate: Hz at which frames and forces are drawn; joint states and IMU are there with every row.
        """
        from .mcap_log import write_mcap

        return write_mcap(self, path, rate)

    def _header(self) -> dict[str, Any]:
        try:
            model = encoded(self.robot.model)
        except RunError:
            model = None  # a joint type of the user's own: the robot must be given again when the file is read
        return {
            "format": KIND,
            "version": FORMAT,
            "robot": {"name": self.robot.name, "digest": self.robot.tree.digest, "model": model},
            "names": {name: list(getattr(self, name)) for name in MAPPINGS},
            "contacts": encoded(self.contacts),
            "status_names": list(self.status_names),
            "events": [[t, text] for t, text in self.events],
            "phases": [[t, name] for t, name in self.phases],
            "obstacles": encoded(self.obstacles),
            "safe_distances": list(self.safe_distances),
            "scenario": self.scenario if isinstance(self.scenario, dict) else dict(self.scenario),
            "sensing": dict(self.sensing),
            "origin": dict(self.origin),
            "seed": self.seed,
            "outcome": self.outcome,
        }

    @classmethod
    def load(cls, path: str | Path, robot: Robot | None = None, *, max_bytes: int = MAX_BYTES) -> Run:
        """Read a run, from a file of `save` or of `to_mcap`. Nothing in the file is executed.

        Args:
            robot: the robot of the run, checked to be the same; without it the one in the file.
            max_bytes: that the file may unpack to.

        Raises:
            RunError: the file is not there, damaged, too large, not a run, or written by a later version.
        """
        from .run_reader import read_run

        robot, parts = read_run(Path(path), robot, max_bytes)
        return cls(robot=robot, **parts)


def _sealed(array: ArrayLike) -> Array:
    """A read-only copy."""
    copy = np.array(array)
    copy.flags.writeable = False
    return copy
