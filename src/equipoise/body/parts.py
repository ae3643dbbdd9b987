"""Parts of a body by what they do: frames on links, with the flat that touches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..algebra.rigid import inverse, pose, rpy_from_rotation
from ..model.limbs import Limb
from ..model.shapes import placement
from ..model.skeleton import BodyPoses
from .anatomy import Anatomy
from .patches import Patch, four_corners, lowest_patch

Array = np.ndarray
Contact = Literal["flat", "line", "point", "none"]
ON = 0.006  # m: a link this near the sole's plane lies in it
MARK = 0.06  # of the sole's size: a link this near its middle marks it
HAND = 0.35  # of an arm's reach: a last body longer than this is a forearm
CONTACTS: tuple[Contact, ...] = ("flat", "line", "point", "none")


@dataclass(frozen=True)
class Part:
    """A frame on a link: feet in the middle of their soles (x to the toes, z into the foot), hands in the middle of
    their palms (x to the fingers, z into the hand), others where their link is.

    Attributes:
        link: that carries it; position (m) and rpy (rad) in it.
        contact: how it touches: "flat", "line", "point", or "none" where nothing is to touch.
        corners: of what touches, m, in the frame's x and y; of a flat counter-clockwise from the front left, of a line
            its two ends.
        joints: of the chain that moves it, from the trunk on.
    """

    link: str
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)
    contact: Contact = "none"
    corners: tuple[tuple[float, float], ...] = ()
    joints: tuple[str, ...] = ()

    @property
    def X(self) -> Array:
        """(4, 4) pose of the frame in its link."""
        return placement(self.link, self.position, self.rpy)

    @property
    def points(self) -> Array:
        """(n, 3) what touches, in the frame, m."""
        if self.contact == "point":
            return np.zeros((1, 3))
        return np.array([(x, y, 0.0) for x, y in self.corners]).reshape(-1, 3)


def foot_part(anatomy: Anatomy, leg: Limb, patch: Patch, motion: BodyPoses) -> Part:
    """The sole of a leg; a round foot touches where it is lowest in the standing posture."""
    R = motion.R[leg.end]
    z = R.T @ np.array([0.0, 0.0, 1.0]) if patch.kind == "point" else -patch.normal
    ahead = R.T @ np.array([1.0, 0.0, 0.0])
    if patch.kind != "point":
        return _on(anatomy, leg, patch, ahead, z, marks=True)
    points, radii, _ = anatomy.surfaces.of(leg.end)
    k = int(np.argmax(radii - points @ z)) if len(points) else -1
    lowest = points[k] - radii[k] * z if k >= 0 else patch.middle
    return _on(anatomy, leg, Patch("point", -z, lowest[None], patch.source), ahead, z)


def squared(anatomy: Anatomy) -> Anatomy:
    """The same anatomy with soles of four corners, as their parts have them: what stands is what is written down."""
    soles = []
    for (_, leg), patch in zip(anatomy.feet, anatomy.soles, strict=True):
        if patch.kind == "flat":
            part = foot_part(anatomy, leg, patch, anatomy.skeleton.rest)
            X = anatomy.skeleton.robot.place(part.link)[1] @ part.X
            patch = replace(patch, polygon=part.points @ X[:3, :3].T + X[:3, 3])
        soles.append(patch)
    return replace(anatomy, soles=tuple(soles))


def palm_part(anatomy: Anatomy, role: str, arm: Limb, motion: BodyPoses) -> Part:
    """The palm of an arm: the flat of its last body that faces the other side when it hangs; its end where there is one
    arm."""
    R = motion.R[arm.end]
    points, radii, _ = anatomy.surfaces.of(arm.end)
    local = anatomy.skeleton.rest.R[arm.end].T @ (arm.tip - anatomy.skeleton.rest.p[arm.end])
    along = points.mean(axis=0) if len(points) else local
    along = along / np.linalg.norm(along) if np.linalg.norm(along) > 1e-6 else R.T @ np.array([0.0, 0.0, -1.0])
    side = {"left": 1.0, "right": -1.0}.get(role.split()[0], 0.0)
    inward = R.T @ np.array([0.0, -side, 0.0]) if side else along
    if side:
        inward = inward - along * (along @ inward)
        inward = inward / max(float(np.linalg.norm(inward)), 1e-9)
    patch = lowest_patch(anatomy.surfaces, arm.end, inward, arm.reach)
    if has_no_wrist(anatomy, arm):
        end = along * float((points @ along + radii).max()) if len(points) else local
        patch = Patch("point", inward, end[None], patch.source)
    elif patch.kind == "point":
        patch = Patch("point", inward, local[None], patch.source)
    return _on(anatomy, arm, patch, along if side else R.T @ np.array([1.0, 0.0, 0.0]), -patch.normal)


def has_no_wrist(anatomy: Anatomy, arm: Limb) -> bool:
    """Whether the last body of an arm is too long for a hand: a forearm, whose flats are no palm."""
    points, radii, _ = anatomy.surfaces.of(arm.end)
    ends = np.linalg.norm(points, axis=1) + radii
    far = np.linalg.norm(arm.tip - anatomy.skeleton.rest.p[arm.end])
    return max(float(far), float(ends.max(initial=0.0))) > HAND * arm.reach


def link_part(anatomy: Anatomy, body: int) -> Part:
    """The heaviest link of a body, turned so that x is ahead and z up when the robot stands with its joints at zero."""
    skeleton = anatomy.skeleton
    link = skeleton.main_link(body)
    own, X = skeleton.robot.place(link)
    body = own if body >= 0 else body
    line = [i for i in skeleton.robot.tree.ancestors(body) if i != skeleton.root] if body >= 0 else []
    R = skeleton.rest.R[body] @ X[:3, :3]
    return Part(link, rpy=_tidy(rpy_from_rotation(R.T)), joints=tuple(skeleton.joint(i) for i in reversed(line)))


def _on(anatomy: Anatomy, limb: Limb, patch: Patch, ahead: Array, z: Array, *, marks: bool = False) -> Part:
    """A frame in the middle of a patch, z along `z`, x along `ahead`; with `marks` a link in the middle says where that
    is."""
    skeleton = anatomy.skeleton
    x = ahead - z * (z @ ahead)
    if np.linalg.norm(x) < 1e-3:
        x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x = x / np.linalg.norm(x)
    R = np.column_stack([x, np.cross(z, x), z])
    flat = patch.polygon @ R
    corners = four_corners(flat[:, :2]) if patch.kind == "flat" else flat[:, :2]
    if marks and patch.kind == "flat":
        corners = _about_mark(anatomy, limb, corners, R, float(flat[:, 2].mean()))
    middle = corners.mean(axis=0)
    X_body = pose(R, R @ np.array([*middle, float(flat[:, 2].mean())]))
    link = skeleton.main_link(limb.end)
    X = inverse(skeleton.robot.place(link)[1]) @ X_body
    kept = () if patch.kind == "point" else tuple((round(float(a), 5), round(float(b), 5)) for a, b in corners - middle)
    return Part(link, _tidy(X[:3, 3]), _tidy(rpy_from_rotation(X[:3, :3])), patch.kind, kept, limb.joints)


def _about_mark(anatomy: Anatomy, limb: Limb, corners: Array, R: Array, height: float) -> Array:
    """Corners made even about a light link in the middle of the sole, where there is one: its designer says so."""
    robot = anatomy.skeleton.robot
    low, high = corners.min(axis=0), corners.max(axis=0)
    for name in anatomy.skeleton.links[limb.end]:
        place = robot.place(name)[1][:3, 3] @ R
        off = np.abs(place[:2] - (low + high) / 2)
        inertia = robot.links[name].inertia
        light = inertia is None or inertia.mass < 0.1 * anatomy.skeleton.mass[limb.end]
        if light and abs(place[2] - height) < ON and (off <= MARK * (high - low)).all():
            half = np.minimum(high - place[:2], place[:2] - low)
            return place[:2] + half * np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)])
    return corners


def _tidy(values: object) -> tuple[float, float, float]:
    """Three numbers as a person writes them: a hundredth of a millimetre or milliradian is below what shapes are good
    for."""
    x, y, z = (round(float(v), 6) + 0.0 for v in np.asarray(values))
    return x, y, z
