"""Runs controllers on estimates: realistic sensors and motors, so that the controller never sees the true state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..control.contacts import Contact
from ..control.controller.joint_command import Commanding, JointCommander
from ..errors import ModelError
from ..estimation.estimator import Estimator
from ..estimation.noise import Prior
from .actuators import Actuators
from .sensors import Sensors, imu_frame

if TYPE_CHECKING:
    from ..robot import Robot
    from .scenario_build import Built

START = 1e-3  # rad, m/s, m: uncertainty of the robot's state at switch-on


def driven(robot: Robot, controller: Commanding) -> JointCommander:
    """Wraps a controller for joint drives, whose PD loops compensate unmodelled friction."""
    kp, kd = Actuators.realistic(robot).drive_gains(robot)
    return JointCommander(controller, kp, kd)


def on_estimates(robot: Robot, contacts: Sequence[Contact], *, forces: bool = False) -> dict[str, Any]:
    """Returns options of `eq.simulate` that insert realistic sensors, an estimator and motors.

    Args:
        robot: a robot with a floating base.
        contacts: contacts of the robot.
        forces: whether the feet have force sensors; otherwise contact is detected from joint torques.
    """
    sensors = Sensors.realistic(forces=forces)
    prior = Prior(START, START, START, sensors.imu.gyroscope_bias, sensors.imu.accelerometer_bias)
    estimator = Estimator(robot, imu_frame(robot), contacts, noise=sensors.filter_noise(), prior=prior)
    return {"estimator": estimator, "sensors": sensors, "actuators": Actuators.realistic(robot), "noise": None}


def estimated_options(built: Built, *, forces: bool = False) -> dict[str, Any]:
    """Returns the options of `on_estimates` for a scenario; raises ModelError if it cannot run on estimates."""
    robot = built.robot
    if not robot.floating or built.options["plant"] == "kinematic":
        raise ModelError(
            f"{built.scenario.name!r} cannot run on estimates: that wants a floating base and a plant of torques; here "
            f"the {'plant is ' + built.options['plant'] if robot.floating else 'base is fixed'}"
        )
    return on_estimates(robot, list(built.controller.contacts), forces=forces)
