"""Controllers on estimates only: realistic sensors and motors, and a controller that never sees the true state."""

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

START = 1e-3  # rad, m/s, m: how well a robot knows where it stands when it is switched on


def driven(robot: Robot, controller: Commanding) -> JointCommander:
    """A controller for joint drives, which push against friction that the model does not know."""
    kp, kd = Actuators.realistic(robot).drive_gains(robot)
    return JointCommander(controller, kp, kd)


def on_estimates(robot: Robot, contacts: Sequence[Contact], *, forces: bool = False) -> dict[str, Any]:
    """Options of `eq.simulate` that put sensors, an estimator and motors between a plant of torques and a controller.

    Args:
        robot: with a floating base.
        contacts: where it may touch.
        forces: whether the contacts measure their forces; else they are known by the torques of the joints alone.
    """
    sensors = Sensors.realistic(forces=forces)
    prior = Prior(START, START, START, sensors.imu.gyroscope_bias, sensors.imu.accelerometer_bias)
    estimator = Estimator(robot, imu_frame(robot), contacts, noise=sensors.filter_noise(), prior=prior)
    return {"estimator": estimator, "sensors": sensors, "actuators": Actuators.realistic(robot), "noise": None}


def estimated_options(built: Built, *, forces: bool = False) -> dict[str, Any]:
    """`on_estimates` of a scenario, if it can be."""
    robot = built.robot
    if not robot.floating or built.options["plant"] == "kinematic":
        raise ModelError(
            f"{built.scenario.name!r} cannot run on estimates: that wants a floating base and a plant of torques; here "
            f"the {'plant is ' + built.options['plant'] if robot.floating else 'base is fixed'}"
        )
    return on_estimates(robot, list(built.controller.contacts), forces=forces)
