"""Motors of an MJCF file: which joints they move, and how strongly."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ModelWarning
from .actuation import without_motors
from .joints import Floating
from .types import Joint

FREE, BALL = 0, 1  # mjtJoint
JOINT_TRANSMISSIONS = (0, 1)  # mjtTrn: on a joint, and the same in the parent's axes
SLIDER_CRANK, TENDON = 2, 3  # mjtTrn
WRAP_JOINT, WRAP_SITE, WRAP_GEOMS = 1, 3, (4, 5)  # mjtWrap
PLAIN_MOTOR = (0, 0, 0)  # mjtDyn, mjtGain, mjtBias: none, fixed, none


def drives(m: Any, j: int) -> list[int]:
    """The actuators that act on joint j itself."""
    on_joint = np.isin(m.actuator_trntype, JOINT_TRANSMISSIONS) & (m.actuator_trnid[:, 0] == j)
    return [int(i) for i in np.flatnonzero(on_joint)]


def drive_effort(m: Any, i: int) -> float:
    """Greatest effort of an actuator at its joint."""
    force = np.inf
    if m.actuator_forcelimited[i]:
        force = float(np.abs(m.actuator_forcerange[i]).max())
    kind = int(m.actuator_dyntype[i]), int(m.actuator_gaintype[i]), int(m.actuator_biastype[i])
    if m.actuator_ctrllimited[i] and kind == PLAIN_MOTOR:
        force = min(force, float(np.abs(m.actuator_ctrlrange[i]).max() * abs(m.actuator_gainprm[i, 0])))
    gear = abs(float(m.actuator_gear[i, 0]))
    return force * gear if gear > 0 else 0.0


def with_motors(m: Any, names: Sequence[str], joints: Sequence[Joint]) -> list[Joint]:
    """The joints with the motors of the file; one without actuators leaves it to the default rule."""
    if m.nu == 0:
        return list(joints)
    pulled = _joints_of_tendons(m)
    motors = {names[j] for j in range(m.njnt) if j in pulled or _is_driven(m, j)}
    declared = [
        replace(joint, actuated=joint.name in motors and not isinstance(joint.type, Floating)) for joint in joints
    ]
    bare = without_motors(declared)
    if bare:
        shown = ", ".join(map(repr, bare[:6])) + (", …" if len(bare) > 6 else "")
        message = f"joints without an actuator in the file are passive ({len(bare)}): {shown}"
        warnings.warn(
            f"{message}. eq.load(…, actuated=[…]) gives motors to those it names.", ModelWarning, stacklevel=5
        )
    return declared


def _is_driven(m: Any, j: int) -> bool:
    """Whether its own actuators move every velocity of joint j. What pushes at sites or bodies (thrusters) is no
    motor."""
    gears = m.actuator_gear[drives(m, j)][:, : {BALL: 3, FREE: 6}.get(int(m.jnt_type[j]), 1)]
    return bool(np.linalg.matrix_rank(gears) == gears.shape[1]) if gears.size else False


def _joints_of_tendons(m: Any) -> set[int]:
    """Joints that the tendons and cranks of actuators move.

    A fixed tendon names them; a string over sites and geoms moves those between the bodies that it connects.
    """
    moved: set[int] = set()
    for i in range(m.nu):
        thing = int(m.actuator_trnid[i, 0])
        if m.actuator_trntype[i] == SLIDER_CRANK:
            moved |= _between(m, [m.site_bodyid[thing], m.site_bodyid[m.actuator_trnid[i, 1]]])
        elif m.actuator_trntype[i] == TENDON:
            wraps = range(m.tendon_adr[thing], m.tendon_adr[thing] + m.tendon_num[thing])
            moved |= {int(m.wrap_objid[k]) for k in wraps if m.wrap_type[k] == WRAP_JOINT}
            moved |= _between(m, [body for k in wraps for body in _wrapped_body(m, k)])
    return moved


def _wrapped_body(m: Any, k: int) -> list[int]:
    if m.wrap_type[k] == WRAP_SITE:
        return [int(m.site_bodyid[m.wrap_objid[k]])]
    return [int(m.geom_bodyid[m.wrap_objid[k]])] if m.wrap_type[k] in WRAP_GEOMS else []


def _between(m: Any, bodies: Sequence[int]) -> set[int]:
    """Joints that move some of the bodies but not all."""
    lines: list[set[int]] = []
    for body in bodies:
        line: set[int] = set()
        while body > 0:
            line |= set(range(m.body_jntadr[body], m.body_jntadr[body] + m.body_jntnum[body]))
            body = int(m.body_parentid[body])
        lines.append(line)
    return lines[0].union(*lines) - lines[0].intersection(*lines) if lines else set()
