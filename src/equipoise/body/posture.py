"""A good standing posture, by optimisation.

Soles are flat on the ground under the hips, the centre of mass over their middle, the torso upright, the legs bent so
that knees are off singular and off their limits, the arms beside the body and clear of it. Each wish is a block of
residuals; the highest stance is found first, and the legs are then bent to a part of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..algebra.quaternions import from_rotation, log
from ..model.limbs import Limb
from ..model.skeleton import BodyPoses, Skeleton, elastic_joints
from ..model.types import LoopClosure
from .anatomy import Anatomy
from .facing import knee_of
from .hulls import Hull, overlap
from .least_squares import PositionBounds, positions, solved
from .patches import Patch

Array = np.ndarray
GROUND, LEVEL, PLACE, COM, UPRIGHT, HEIGHT, ARMS, REST, LOOP = 100.0, 50.0, 20.0, 40.0, 10.0, 20.0, 2.0, 0.15, 100.0
LOADED = 4.0  # weight of gravity torques of the trunk, as parts of their limits
EASY = 0.5  # part of an effort limit from which on a gravity torque counts
LEVER = 0.005  # m: a joint that carries less than the weight above it at this lever is taken to carry it there
BENT = {1: 0.94, 2: 0.94}  # part of the highest stance, by feet; four and more stand lower
CROUCHED = 0.75
STRAIGHT = 0.985  # of the highest stance: a posture of the description that is higher has its knees straight
MARGIN, MOST_MARGIN = 0.05, 0.1  # of a joint's range, and at most so many rad or m: how far from its limits it stands
HANGING = 0.7  # of the reach: legs that drop this far at zero stand below where they are
STANCE = 0.1  # of the reach: a biped's soles reach at least so far to each side of their middle
STRADDLED = 0.55  # of the level distance at zero: where insects put their feet
# of an arm's reach: how far the hand hangs outside the shoulder, until nothing touches
OUTWARD = (0.15, 0.28, 0.42, 0.6)
CLEAR = 0.01  # m between the arms and the rest
TOUCHING, FLAT, OVER = 0.002, 0.01, 0.01  # m, rad, m: what counts as standing
ASIDE = 0.12  # of the feet's distance from their middle: how far aside of it three and more feet may carry


@dataclass(frozen=True, eq=False)
class StandingPosture:
    """A posture, and how well it stands."""

    q: Array
    height: float  # m: the lowest point of the soles above or below the ground, at worst
    tilt: float  # rad: of the soles
    offset: float  # m: of the centre of mass from the middle of the feet, level
    collisions: tuple[tuple[str, str], ...]  # links of the arms that touch others
    given: bool = False  # near the posture of the description
    over: float = OVER  # m: an offset below this stands well

    @property
    def good(self) -> bool:
        return self.height <= TOUCHING and self.tilt <= FLAT and self.offset <= self.over


def standing_posture(
    anatomy: Anatomy, locked: Sequence[str] = (), preferred: Mapping[str, float] | None = None
) -> StandingPosture:
    """The best standing posture found.

    Args:
        locked: joints that stay at their zero: fingers.
        preferred: joint positions that a description calls standing; the nearest posture that stands is found.
    """
    problem = _PostureProblem.of(anatomy, locked, preferred or {})
    outward = OUTWARD if anatomy.hands else OUTWARD[:1]
    best = replace(problem, outward=outward[0]).best()
    for side in outward[1:]:
        if not best.collisions:
            break
        found = replace(problem, outward=side).best()
        best = found if len(found.collisions) < len(best.collisions) else best
    return best


@dataclass(frozen=True, eq=False)
class _PostureProblem:
    anatomy: Anatomy
    bounds: PositionBounds
    rest: Array  # q that joints go to where nothing else is wanted
    places: Array  # (feet, 2) m: where the feet stand, their middle at the origin
    given: bool  # whether `rest` is a standing posture of the description
    outward: float = OUTWARD[0]
    hip_height: float = np.inf
    hulls: dict[int, Hull] = field(default_factory=dict)

    @classmethod
    def of(cls, anatomy: Anatomy, locked: Sequence[str], preferred: Mapping[str, float]) -> _PostureProblem:
        skeleton = anatomy.skeleton
        bounds = _bounds(skeleton, locked)
        rest = skeleton.zero.copy()
        slack = {name: skeleton.robot.joints[name].dynamics.rest for name in elastic_joints(skeleton.robot)}
        for name, position in {**preferred, **slack}.items():
            if name in skeleton.robot.joints and np.size(position) == skeleton.robot.joints[name].type.nq:
                rest[skeleton.robot.joints[name].q] = position
        return cls(anatomy, bounds, rest, _places(anatomy), bool(preferred))

    @property
    def skeleton(self) -> Skeleton:
        return self.anatomy.skeleton

    @property
    def legs(self) -> list[Limb]:
        return [leg for _, leg in self.anatomy.feet]

    # --- solving ------------------------------------------------------------------------------------------------------

    def best(self) -> StandingPosture:
        """Of the ways to bend the knees the one that costs least; knees forward first."""
        free = replace(self, given=False)
        height = free._highest()
        if self.given:
            found, _ = self._from(self.rest)
            if found.good and self._hips(self.skeleton.at(found.q)) <= STRAIGHT * height:
                return found
        best, cost = free._both_ways(height)
        if self.given and not best.good:  # a squat, or anything that somebody did: all joints at zero may be nearer
            free = replace(free, rest=self.skeleton.zero)
            other, other_cost = free._both_ways(free._highest())
            best = min((best, cost), (other, other_cost), key=lambda x: (not x[0].good, x[1]))[0]
        return best

    def _highest(self) -> float:
        """m: the hips when the legs are as straight as they get."""
        q, _ = solved(self.skeleton, self._lifted(self.rest), self.rows, self.bounds)
        return self._hips(self.skeleton.at(q))

    def _both_ways(self, height: float) -> tuple[StandingPosture, float]:
        """The better of knees forward and knees back, and its cost; quadrupeds stand with their knees back, as most
        do."""
        bent = replace(self, hip_height=BENT.get(len(self.legs), CROUCHED) * height)
        tried = [bent._from(self._bent(way)) for way in ((1.0, -1.0) if len(self.legs) <= 2 else (-1.0, 1.0))]
        return min(tried, key=lambda x: (not x[0].good, round(x[1], 2)))

    def _from(self, start: Array) -> tuple[StandingPosture, float]:
        q, cost = solved(self.skeleton, self._lifted(start), self.rows, self.bounds)
        return self._judged(q), cost

    def _bent(self, way: float) -> Array:
        """Knees bent a little: forward for way = 1."""
        q, skeleton = self.rest.copy(), self.skeleton
        left = np.array([0.0, 1.0, 0.0])
        at = positions(skeleton.robot)
        for leg in self.legs:
            knee = knee_of(leg, left)
            if knee is None:
                continue
            across = [k for k in range(len(leg.chain)) if abs(leg.axes[k] @ left) > 0.9]
            before = max((k for k in across if k < knee), default=None)
            after = min((k for k in across if k > knee), default=None)
            for k, turn in ((knee, 1.0), (before, -0.5), (after, -0.5)):
                if k is not None:
                    body = skeleton.robot.tree.bodies[leg.chain[k]]
                    sign = float(np.sign(leg.axes[k] @ left)) * np.sign(body.multiplier)
                    q[at[body.v.start]] += way * turn * 0.8 * sign
        return q

    def _lifted(self, q: Array) -> Array:
        """The base moved so that the feet are on the ground with their middle at the origin."""
        q = q.copy()
        x = np.array([self._sole(leg, patch, self.skeleton.at(q))[0] for leg, patch in self._feet()])
        q[:3] -= [*x[:, :2].mean(axis=0), x[:, 2].min()]
        return q

    def _feet(self) -> list[tuple[Limb, Patch]]:
        return list(zip(self.legs, self.anatomy.soles, strict=True))

    def _hips(self, motion: BodyPoses) -> float:
        return float(np.mean([motion.p[leg.chain[0]][2] for leg in self.legs]))

    # --- rows ---------------------------------------------------------------------------------------------------------

    def rows(self, q: Array, motion: BodyPoses) -> tuple[Array, Array]:
        """All wishes at a configuration."""
        blocks = [self._on_the_ground(motion), self._balanced(motion), *self._upright(motion), self._high(motion)]
        blocks += [self._arms(motion), self._near_rest(q), self._effortless(motion), *self._loops(q, motion)]
        return np.concatenate([r for r, _ in blocks]), np.concatenate([J for _, J in blocks])

    def _sole(self, leg: Limb, patch: Patch, motion: BodyPoses) -> tuple[Array, Array]:
        """(the point that stands, its place in the body): the middle of a sole, the lowest point of a round foot."""
        if patch.kind != "point":
            x = patch.middle
        else:
            points, radii, _ = self.anatomy.surfaces.of(leg.end)
            down = -motion.R[leg.end][2]
            k = int(np.argmax(points @ down + radii)) if len(points) else -1
            x = points[k] + radii[k] * down if k >= 0 else patch.middle
        return motion.p[leg.end] + motion.R[leg.end] @ x, x

    def _on_the_ground(self, motion: BodyPoses) -> tuple[Array, Array]:
        rows, columns = [], []
        for (leg, patch), place in zip(self._feet(), self.places, strict=True):
            _, local = self._sole(leg, patch, motion)
            x, J = self.skeleton.points(motion, [leg.end], local[None])
            rows.append(np.array([PLACE, PLACE, GROUND]) * (x[0] - [*place, 0.0]))
            columns.append(np.array([PLACE, PLACE, GROUND])[:, None] * J[0])
            if patch.kind != "point":
                turning = self.skeleton.turning(motion, leg.end)
                for axis, to, weight in self._directions(leg, patch):
                    d = motion.R[leg.end] @ axis
                    rows.append(weight * np.cross(d, to))
                    columns.append(weight * _cross_rate(d, to, turning))
        return np.concatenate(rows), np.concatenate(columns)

    def _directions(self, leg: Limb, patch: Patch) -> list[tuple[Array, Array, float]]:
        """(direction in the foot, where it should point, weight): the normal down, the toes as at zero."""
        R = self.skeleton.rest.R[leg.end]
        ahead = R.T @ np.array([1.0, 0.0, 0.0])
        ahead = ahead - patch.normal * (patch.normal @ ahead)
        found = [(patch.normal, np.array([0.0, 0.0, -1.0]), LEVEL)]
        if np.linalg.norm(ahead) > 0.3:
            found.append((ahead / np.linalg.norm(ahead), np.array([1.0, 0.0, 0.0]), LEVEL / 10))
        return found

    def _balanced(self, motion: BodyPoses) -> tuple[Array, Array]:
        c, J = self.skeleton.centre_of_mass(motion)
        return COM * c[:2], COM * J[:2]

    def _upright(self, motion: BodyPoses) -> list[tuple[Array, Array]]:
        found = []
        for body, weight in {self.anatomy.pelvis: UPRIGHT / 4, self.anatomy.torso: UPRIGHT}.items():
            if body >= 0:
                turn = motion.R[body] @ self.skeleton.rest.R[body].T
                error = np.array(log(from_rotation(turn).tolist()))
                found.append((weight * error, weight * self.skeleton.turning(motion, body)))
        return found

    def _high(self, motion: BodyPoses) -> tuple[Array, Array]:
        """Hips as high as wanted; without a wish, above what is reached."""
        bodies = [leg.chain[0] for leg in self.legs]
        x, J = self.skeleton.points(motion, bodies, np.zeros((len(bodies), 3)))
        height = float(x[:, 2].mean())
        if np.isfinite(self.hip_height):
            return np.array([HEIGHT * (height - self.hip_height)]), HEIGHT * J[:, 2].mean(axis=0)[None]
        if self.given:
            return np.zeros(0), np.zeros((0, self.skeleton.robot.nv))
        above = 1.2 * max(leg.reach for leg in self.legs)
        return np.array([height - above]), J[:, 2].mean(axis=0)[None]

    def _arms(self, motion: BodyPoses) -> tuple[Array, Array]:
        """Hands of both sides hang beside the body, the elbows a little bent."""
        rows, columns = [np.zeros(0)], [np.zeros((0, self.skeleton.robot.nv))]
        for role, arm in self.anatomy.hands:
            side = 1.0 if role.startswith("left") else -1.0 if role.startswith("right") else 0.0
            if side == 0.0 or self.given:
                continue
            ends = [arm.end, arm.chain[0]]
            local = self.skeleton.rest.R[arm.end].T @ (arm.tip - self.skeleton.rest.p[arm.end])
            x, J = self.skeleton.points(motion, ends, np.stack([local, np.zeros(3)]))
            wanted = arm.reach * np.array([0.2, side * self.outward, -0.75])
            rows.append(ARMS / arm.reach * (x[0] - x[1] - wanted))
            columns.append(ARMS / arm.reach * (J[0] - J[1]))
        return np.concatenate(rows), np.concatenate(columns)

    def _near_rest(self, q: Array) -> tuple[Array, Array]:
        at = positions(self.skeleton.robot)
        single = np.flatnonzero((at >= 0) & self.bounds.free)
        weight = 10 * REST if self.given else REST
        return weight * (q - self.rest)[at[single]], weight * np.eye(self.skeleton.robot.nv)[single]

    def _effortless(self, motion: BodyPoses) -> tuple[Array, Array]:
        """Gravity torques of the trunk's joints near their limits: a waist that can hardly carry the torso stands under
        it. A joint that is not near its limit has a row of zeros, so that there are as many rows at every posture."""
        skeleton, robot = self.skeleton, self.skeleton.robot
        rows, columns = [np.zeros(0)], [np.zeros((0, robot.nv))]
        for i in self.anatomy.trunk:
            joint = robot.joints.get(skeleton.joint(i)) if i >= 0 and i != skeleton.root else None
            if joint is None or joint.type.nv != 1 or joint.mimic is not None or not 0 < joint.limits.effort < np.inf:
                continue
            above = skeleton.subtree(i)
            share = skeleton.mass[above] / skeleton.subtree_mass[i]
            x, J = skeleton.points(motion, [*above, i], np.concatenate([skeleton.com[above], np.zeros((1, 3))]))
            arm, turn = share @ x[:-1] - x[-1], motion.R[i] @ skeleton.robot.tree.bodies[i].joint.spin()[:, 0]
            per = min(skeleton.subtree_mass[i] * 9.81 / joint.limits.effort, 1 / LEVER)
            across = LOADED * per * np.array([turn[1], -turn[0], 0.0])
            loaded = abs(float(across @ arm)) > LOADED * EASY
            rows.append(loaded * (across @ arm - LOADED * EASY * np.sign(across @ arm))[None])
            columns.append(loaded * (across @ (np.einsum("m,miv->iv", share, J[:-1]) - J[-1]))[None])
        return np.concatenate(rows), np.concatenate(columns)

    def _loops(self, q: Array, motion: BodyPoses) -> list[tuple[Array, Array]]:
        """Loops of the mechanism stay closed, and coupled joints together."""
        found = []
        for loop in self.skeleton.robot.model.loops.values():
            if loop.kind == "joint":
                found.append(self._coupling(q, loop))
            if loop.frame_a is None or loop.frame_b is None:
                continue
            ends = []
            for frame in (loop.frame_a, loop.frame_b):
                body, X = (-1, np.eye(4)) if frame.parent is None else self.skeleton.robot.place(frame.parent)
                ends.append((body, (X @ frame.X)[:3, 3]))
            x, J = self.skeleton.points(motion, [b for b, _ in ends], np.stack([p for _, p in ends]))
            found.append((LOOP * (x[0] - x[1]), LOOP * (J[0] - J[1])))
        return found

    def _coupling(self, q: Array, loop: LoopClosure) -> tuple[Array, Array]:
        """q_a − c(q_b) of two joints."""
        sides = [self.skeleton.robot.joints[name] for name in (loop.joint_a, loop.joint_b) if name is not None]
        x = [joint.gearing[0] * q[joint.q.start] + joint.gearing[1] for joint in sides]
        c, b = np.polynomial.Polynomial(loop.polynomial), x[1] if len(sides) > 1 else 0.0
        J = np.zeros((1, self.skeleton.robot.nv))
        for joint, slope in zip(sides, (1.0, -c.deriv()(b)), strict=False):
            J[0, joint.v] += LOOP * slope * joint.gearing[0]
        return np.array([LOOP * (x[0] - c(b))]), J

    # --- judging ------------------------------------------------------------------------------------------------------

    def _judged(self, q: Array) -> StandingPosture:
        motion = self.skeleton.at(q)
        heights, tilts, middles = [], [0.0], []
        for leg, patch in self._feet():
            x, _ = self._sole(leg, patch, motion)
            middles.append(x[:2])
            heights.append(abs(float(x[2])))
            if patch.kind != "point":
                tilts.append(float(np.arccos(np.clip(-(motion.R[leg.end] @ patch.normal)[2], -1.0, 1.0))))
        c, _ = self.skeleton.centre_of_mass(motion)
        offset = float(np.linalg.norm(c[:2] - np.mean(middles, axis=0)))
        apart = float(np.linalg.norm(np.array(middles) - np.mean(middles, axis=0), axis=1).mean())
        over = max(OVER, ASIDE * apart) if len(middles) > 2 else OVER
        return StandingPosture(q, max(heights), max(tilts), offset, tuple(self._collisions(motion)), self.given, over)

    def _collisions(self, motion: BodyPoses) -> list[tuple[str, str]]:
        """Links of arms that touch the trunk, the legs or the other arm; those that do so at zero are not counted."""
        arms = [list(arm.chain[1:]) for _, arm in self.anatomy.hands]
        others = [*self.anatomy.trunk, *(i for leg in self.legs for i in leg.chain)]
        pairs = [(i, j) for arm in arms for i in arm for j in others if not self._near(i, j)]
        pairs += [(i, j) for k, arm in enumerate(arms) for i in arm for other in arms[k + 1 :] for j in other]
        found = []
        for i, j in pairs:
            if self._touch(i, j, motion) and not self._touch(i, j, self.skeleton.rest, -CLEAR):
                found.append((self.skeleton.main_link(i), self.skeleton.main_link(j)))
        return found

    def _near(self, i: int, j: int) -> bool:
        """Bodies with at most two joints between them touch by design."""
        line = self.skeleton.robot.tree.ancestors(i)
        return j in line[:4]

    def _touch(self, i: int, j: int, motion: BodyPoses, more: float = 0.0) -> bool:
        one, other = self._hull(i), self._hull(j)
        if len(one[0]) == 0 or len(other[0]) == 0:
            return False
        placed = [(h[0] @ motion.R[b].T + motion.p[b], h[1]) for b, h in ((i, one), (j, other))]
        return overlap(placed[0], placed[1], CLEAR + more)

    def _hull(self, body: int) -> Hull:
        if body not in self.hulls:
            points, radii, _ = self.anatomy.surfaces.of(body)
            self.hulls[body] = _corners(points, radii)
        return self.hulls[body]


def _corners(points: Array, radii: Array) -> Hull:
    """Only the corners of the hull."""
    from scipy.spatial import ConvexHull, QhullError

    if len(points) < 16 or radii.any():
        return points, radii
    try:
        kept = ConvexHull(points).vertices
    except QhullError:
        return points, radii
    return points[kept], radii[kept]


def _cross_rate(d: Array, to: Array, turning: Array) -> Array:
    """Rate of d × to per unit of v, d̊ = ω × d."""
    return np.stack([np.cross(np.cross(w, d), to) for w in turning.T], axis=1)


def _bounds(skeleton: Skeleton, locked: Sequence[str]) -> PositionBounds:
    free = np.ones(skeleton.robot.nv, bool)
    for name, joint in skeleton.robot.joints.items():
        if name in locked and joint.mimic is None:  # one that follows moves with its leader
            free[joint.v] = False
    return PositionBounds.of(skeleton.robot, free, MARGIN, MOST_MARGIN)


def _places(anatomy: Anatomy) -> Array:
    """(feet, 2): under the hips; where legs hang at zero, as wide as they hang; level ones half way out."""
    rows = []
    for (_, leg), patch in zip(anatomy.feet, anatomy.soles, strict=True):
        rest = anatomy.skeleton.rest
        foot = rest.p[leg.end] + rest.R[leg.end] @ patch.middle
        drop = (leg.shoulder[2] - foot[2]) / leg.reach
        if drop > HANGING:
            rows.append([leg.shoulder[0], foot[1]])
        elif len(anatomy.feet) > 2 and drop < 1 - HANGING:
            rows.append(leg.shoulder[:2] + STRADDLED * (foot - leg.shoulder)[:2])
        else:
            last = rest.p[leg.chain[min(2, len(leg.chain) - 1)]]
            rows.append([leg.shoulder[0], last[1]])
    places = np.array(rows) - np.mean(rows, axis=0)
    if len(rows) == 2:  # soles side by side: the outer edges carry a push from the side
        legs, rest = [leg for _, leg in anatomy.feet], anatomy.skeleton.rest
        widths = [np.ptp(patch.polygon @ rest.R[leg.end][1]) for leg, patch in zip(legs, anatomy.soles, strict=True)]
        least = STANCE * legs[0].reach - np.array(widths) / 2
        places[:, 1] = np.sign(places[:, 1]) * np.maximum(np.abs(places[:, 1]), least)
    return places
