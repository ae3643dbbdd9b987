"""Scenarios on estimates only: realistic sensors and motors, and a controller that never sees the true state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..control.controller.joint_command import JointCommander
from ..errors import ModelError
from ..estimation.estimator import Estimator
from ..estimation.noise import Prior
from .actuators import Actuators
from .sensors import Sensors, imu_frame

if TYPE_CHECKING:
    from .scenario_build import Built

START = 1e-3  # rad, m/s, m: how well a robot knows where it stands when it is switched on


def driven(built: Built) -> JointCommander:
    """A scenario's controller for joint drives, which push against friction that the model does not know."""
    kp, kd = Actuators.realistic(built.robot).drive_gains(built.robot)
    return JointCommander(built.controller, kp, kd)


def estimated_options(built: Built, *, forces: bool = False) -> dict[str, Any]:
    """Options of `eq.simulate` that put sensors, an estimator and motors between the plant and a scenario's controller.

    Args:
        built: a scenario made for a floating robot, in a plant of torques.
        forces: whether the contacts measure their forces; else they are known by the torques of the joints alone.
    """
    robot = built.robot
    if not robot.floating or built.options["plant"] == "kinematic":
        raise ModelError(
            f"{built.scenario.name!r} cannot run on estimates: that wants a floating base and a plant of torques; here the "
            f"{'plant is ' + built.options['plant'] if robot.floating else 'base is fixed'}"
        )
    sensors = Sensors.realistic(forces=forces)
    prior = Prior(START, START, START, sensors.imu.gyroscope_bias, sensors.imu.accelerometer_bias)
    contacts = list(built.controller.contacts)
    estimator = Estimator(robot, imu_frame(robot), contacts, noise=sensors.filter_noise(), prior=prior)
    return {"estimator": estimator, "sensors": sensors, "actuators": Actuators.realistic(robot), "noise": None}
