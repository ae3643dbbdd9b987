"""[BK12, Sec. VI]: a transition from feet to hands. A human puts its hands down, rolls onto its toes, lifts itself onto
its hands alone, raises its feet, and comes back to stand on its feet.

A sequence of static postures, as everywhere in row B6; each step of control is Eq. (37), with a unit quaternion.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algebra.rigid import pose, rotation_about
from ..body.body import Body
from ..control import constraints, contacts
from ..control.stances.machine import Stances
from ..control.stances.stance import Stance
from ..forms.charts import UnitQuaternion
from ..robot import load
from .bk12_crawl import BRAKING, FEET, HANDS, NOISE, SIDES, TOES, WEIGHTS, above_ground, mirrored, padded
from .bk12_recorded import Recorded
from .perturbation import measured, start

if TYPE_CHECKING:
    from ..simulate.run import Run

Array = np.ndarray
PALM = [[-0.012, 0.042], [-0.092, 0.042], [-0.092, -0.042], [-0.012, -0.042]]  # m, the part that bears
AHEAD = 0.42  # m, of the hands before the middle of the feet
ASIDE = 0.25  # m
YAW = 0.1  # rad, outward turn of each hand
FRICTION = 0.8  # of the ground
CAREFUL = 0.6  # the coefficient of friction that postures and controller use
END_DISTANCE = 0.12  # rad, between postures and the ends of joints
ON_HANDS = 20.0  # s, when the hands alone carry
SPEED = (0.12, 0.4, 0.8)  # m/s of the centre of mass, m/s of frames, rad/s of joints

# Wanted joints, rad. Postures are the nearest ones that the contacts allow.
ARMS = {"shoulder_pitch": -1.9, "shoulder_roll": 0.05, "elbow": -0.9, "forearm_yaw": -1.45, "wrist_roll": 1.45}
TRUNK = {"lumbar_pitch": 0.9, "thorax_pitch": 0.4, "neck_pitch": -0.4}
BENT = mirrored(ARMS | {"hip_pitch": -1.95, "knee": 1.2, "ankle_pitch": -0.3}, **TRUNK)
LEGS_UP = {"hip_pitch": -1.8, "hip_roll": 0.3, "knee": 2.1, "ankle_pitch": 0.1}
TUCKED = mirrored(ARMS | LEGS_UP | {"shoulder_pitch": -1.55}, **TRUNK)
RAISED = mirrored(ARMS | LEGS_UP, **TRUNK)


def _stances() -> list[Stance]:
    hands = {}
    for hand, side in zip(HANDS, SIDES.values(), strict=True):
        hands[hand] = pose(rotation_about(np.array([0.0, 0.0, 1.0]), side * YAW), np.array([AHEAD, side * ASIDE, 0.0]))
    up = [
        Stance(FEET, name="standing"),
        Stance([*FEET, *HANDS], BENT, "hands down", hands),
        Stance([*HANDS, "left foot", "right toe"], BENT, "right heel up"),
        Stance([*HANDS, *TOES], TUCKED, "on hands and toes"),
        Stance(HANDS, TUCKED, "on hands"),
    ]
    down = [replace(stance, name=f"{stance.name} again") for stance in reversed(up)]
    return [*up, Stance(HANDS, RAISED, "feet raised", hold=1.0), *down]


def acrobat() -> Stances:
    """The machine that does it."""
    body = Body.of(load("human"))
    touching: list[Any] = [contacts.FlatContact(hand, corners=PALM, margin=0.01, friction=CAREFUL) for hand in HANDS]
    for foot in FEET:
        corners = np.array(body.parts[foot].corners)
        touching.append(contacts.FlatContact(foot, corners=corners, margin=0.005, friction=CAREFUL))
    touching += [contacts.PointContact(toe, friction=CAREFUL) for toe in TOES]
    tips = [*TOES, *(f"{side}_foot_corner_{k}" for side in SIDES for k in (0, 3))]
    postures = {
        "support": 0.55,
        "strength": 0.8,
        "constraints": (*above_ground(tips), constraints.JointLimits(margin=END_DISTANCE)),
    }
    return Stances(
        padded(body.robot),
        _stances(),
        touching,
        postures=postures,
        constraints=[constraints.JointLimits(BRAKING)],
        weights=WEIGHTS,
        chart=UnitQuaternion,
        speed=SPEED,
        clearance=0.03,
    )


def _simulated(controller: Any, duration: float, **more: Any) -> Run:
    from ..simulate.loop import simulate

    fall = {"height": 0.12, "tilt": 3.1}  # m of the base, and rad: upside down is no fall
    return simulate(controller.robot, controller, duration=duration, fall=fall, friction=FRICTION, **more)


@cache
def on_hands() -> tuple[Stances, Run]:
    """The motion in MuJoCo, with noise of the sensors."""
    machine = acrobat()
    q0, v0 = start(machine.robot, machine.q0, np.zeros(machine.robot.nv))
    return machine, _simulated(measured(machine), 1.05 * machine.seconds + 1.0, noise=NOISE, q0=q0, v0=v0)


def exact_hands() -> tuple[Recorded, Run]:
    """The motion up to the hands alone, without noise, and what was commanded."""
    control = Recorded(acrobat())
    return control, _simulated(control, ON_HANDS)
