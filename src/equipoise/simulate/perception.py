"""Connects sensors and an estimator between plant and controller: the controller sees only what the robot could
know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError, ShapeError
from ..estimation.com_offset import CoMOffset
from .contacts import ContactInfo
from .plant import PlantState
from .sensors import Readings, Sensors, SensorSuite, imu_frame

if TYPE_CHECKING:
    from ..robot import Robot

Array = np.ndarray
SILENT: Mapping[str, Array] = {}
EVERY = 10  # steps between two corrections of the centre of mass


class Perception:
    """Feeds sensor readings to an estimator at every step of the plant, and records both.

    Args:
        estimator: called as `estimator(t, gyroscope, accelerometer, joints, joint_rates, torques, forces=…)` → (q, v);
            has
            `reset(q, v, t)`, and optionally `imu` (a frame) and `contact_frames` (contact → frame).
        contacts: contacts of the plant.
    """

    def __init__(
        self, robot: Robot, sensors: Any, estimator: Any, contacts: Mapping[str, ContactInfo], rng: np.random.Generator
    ) -> None:
        if not robot.floating:
            raise ModelError(f"{robot.name!r} has a fixed base: its encoders say all; give noise= instead of sensors=")
        if estimator is None:
            raise ShapeError("sensors want an estimator: give estimator=eq.Estimator(robot, imu, contacts)")
        sensors = Sensors() if sensors is None else sensors
        if not isinstance(sensors, Sensors):
            raise ShapeError(f"sensors are an eq.Sensors, such as eq.Sensors.realistic(); got {sensors!r}")
        frame = sensors.imu.frame or getattr(estimator, "imu", None) or imu_frame(robot)
        self.robot, self.estimator, self.contacts = robot, estimator, contacts
        self.suite = SensorSuite(robot, sensors, frame, contacts, rng)
        self._frames: Mapping[str, str] = getattr(estimator, "contact_frames", {})
        self.q, self.v = robot.neutral(), np.zeros(robot.nv)
        self.com_offset = None if sensors.forces is None else CoMOffset(getattr(estimator, "robot", robot))
        self.readings: list[Readings] = []
        self.estimates: list[tuple[Array, Array]] = []

    def reset(self, state: PlantState) -> None:
        """Resets the estimator to the true initial state, because no sensor measures position and heading."""
        self.estimator.reset(state.q, state.v, t=0.0)

    def update(self, t: float, state: PlantState, torque: Array) -> None:
        """Computes the readings of one step and the estimate from them."""
        now = self.suite.read(t, state, torque)
        feet = None if now.forces is None else self._at_estimator(now.forces)
        inputs = now.gyroscope, now.accelerometer, now.joints, now.joint_rates, now.torques
        self.q, self.v = self.estimator(t, *inputs, forces=feet)
        self.readings.append(now)
        self.estimates.append((self.q, self.v))

    def _at_estimator(self, forces: Mapping[str, Array]) -> dict[str, Array]:
        """Returns the measured forces for the estimator's contacts: those of the same name, else of the same frame."""
        result = {}
        for name, frame in self._frames.items():
            same = [name] if name in forces else [c for c in forces if self.contacts[c].frame == frame]
            result[name] = np.sum([forces[c] for c in same], axis=0) if same else np.zeros(6)
        return result

    def wrenches(self) -> Mapping[str, Array]:
        """Contact wrenches that a controller may observe, in world axes.

        They are measured forces rotated by the estimated pose or, without force sensors, the estimator's from
        torques."""
        forces = self.readings[-1].forces if self.readings else None
        if forces is None:
            return getattr(self.estimator, "wrenches", SILENT)
        turned = {}
        for name, wrench in forces.items():
            R = self.robot.pose(self.q, self.contacts[name].frame)[:3, :3]
            turned[name] = np.concatenate([R @ wrench[:3], R @ wrench[3:]])
        return turned

    def inform(self, t: float, controller: Any) -> None:
        """Passes contact wrenches and the estimated offset of the centre of mass to a controller that accepts them."""
        wrenches = self.wrenches()
        if hasattr(controller, "observe"):
            controller.observe(wrenches)
        if self.com_offset is None or not hasattr(controller, "correct_com"):
            return
        self.com_offset(t, self.q, self.v, wrenches, {name: info.frame for name, info in self.contacts.items()})
        if len(self.readings) % EVERY == 0:
            controller.correct_com(self.com_offset.offset)

    @property
    def sensing(self) -> dict[str, object]:
        """Description of sensors and estimator, as stored in a run."""
        return {**getattr(self.estimator, "description", {}), "imu": self.suite.frame}

    # --- the record ---------------------------------------------------------------------------------------------------

    def recorded(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """Returns (readings, estimates) as arrays, one row for each step; forces under "force of CONTACT"."""
        rows = self.readings
        names = ("gyroscope", "accelerometer", "joints", "joint_rates", "torques")
        readings = {
            name: np.array([getattr(r, name) for r in rows]) for name in names if getattr(rows[0], name) is not None
        }
        for contact in self.contacts if rows[0].forces is not None else ():
            readings[f"force of {contact}"] = np.array(
                [(r.forces or {}).get(contact, np.full(6, np.nan)) for r in rows]
            )
        return readings, {"q": np.array([q for q, _ in self.estimates]), "v": np.array([v for _, v in self.estimates])}
