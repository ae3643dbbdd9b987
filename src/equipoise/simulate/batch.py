"""Simulates thousands of copies of a robot with soft contact, one kernel call per step, on all cores or on a GPU.

One step is one program: contact forces at the points, forward dynamics, velocities, then configurations (semi-implicit
Euler). Mass, friction and a push may differ between simulations and are inputs. The type of the state selects the
device:
NumPy arrays are computed on the processor; CuPy, PyTorch and JAX arrays on a GPU stay there.

    batch = BatchSimulation(robot, {"left_foot": corners, "right_foot": corners}, dt=1e-3)
    q, v = batch.step(q, v, tau)                     # (B, nq), (B, nv)
    q, v = batch.step(q, v, tau, batch.parameters(B, mass=1.1, friction=mus, push=(20.0, 0.0, 0.0)))

The ground is the plane z = 0. Its normal force is F = k xⁿ (1 + c ẋ), n = 3/2, with depth x: the nonlinear law of
[ETH19,
slide 17]. Friction is Coulomb's, made smooth below `slip_speed`. A mass factor scales all links alike; since M, C v and
g
scale with it, this is exact and done by dividing tau and the ground forces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShapeError, StateError
from ..machine.cached import cached
from ..machine.program import Program
from ..machine.store import kernel_of

if TYPE_CHECKING:
    from ..control.controller.scene import Scene
    from ..robot import Robot

Array = Any
PARAMETERS = ("mass", "friction", "push x", "push y", "push z")


class BatchSimulation:
    """A compiled simulation step for a batch of one robot.

    Args:
        points: frame → contact points in the frame's axes, (n, 3).
        dt: time step, s. Soft ground needs short steps, depending on k, c and the robot's mass; 1 ms is right for the
            defaults and a human.
        stiffness: k of one point, N/m^1.5.
        dissipation: damping coefficient c, s/m.
        slip_speed: speed below which friction is proportional to the speed, m/s.
        pushed: frame at whose origin the push acts; default: the base link.
    """

    def __init__(
        self,
        robot: Robot,
        points: Mapping[str, Any],
        *,
        dt: float = 1e-3,
        stiffness: float = 2e6,
        dissipation: float = 1.0,
        slip_speed: float = 0.02,
        pushed: str | None = None,
    ) -> None:
        if not (dt > 0 and stiffness > 0 and dissipation >= 0 and slip_speed > 0):
            raise StateError("BatchSimulation: dt, stiffness and slip_speed are positive, dissipation is not negative")
        self.robot, self.dt = robot, dt
        self.points = {frame: np.atleast_2d(np.asarray(places, dtype=float)) for frame, places in points.items()}
        for frame, places in self.points.items():
            robot.place(frame)
            if places.shape[1:] != (3,):
                raise ShapeError(f"BatchSimulation: points of {frame!r} are (n, 3), got {places.shape}")
            if not np.isfinite(places).all():
                raise StateError(f"BatchSimulation: points of {frame!r} hold NaN or infinity")
        self.pushed = pushed or robot.base_link or next(iter(robot.links))
        law = stiffness, dissipation, slip_speed
        self.kernel = kernel_of(cached(_traced, robot, self.points, self.pushed, dt, law), strict=False)

    def step(self, q: Array, v: Array, tau: Array, parameters: Array | None = None) -> tuple[Array, Array]:
        """Returns (q, v) one dt later; leading dimensions are simulations."""
        if parameters is None:
            parameters = np.broadcast_to(self.parameters(1)[0], (*np.shape(q)[:-1], len(PARAMETERS)))
        return self.kernel(q, v, tau, parameters)

    def parameters(
        self, count: int, *, mass: Any = 1.0, friction: Any = 0.8, push: Any = (0.0, 0.0, 0.0)
    ) -> np.ndarray:
        """Returns the per-simulation parameters, (count, 5): mass factor, friction, push (N, world axes).

        Each is a number or an array over the simulations."""
        rows = np.empty((count, len(PARAMETERS)))
        rows[:, 0], rows[:, 1], rows[:, 2:] = mass, friction, push
        if not (np.isfinite(rows).all() and (rows[:, 0] > 0).all() and (rows[:, 1] >= 0).all()):
            raise StateError("parameters: mass factors are positive, friction not negative, all finite")
        return rows


def _traced(robot: Robot, points: Mapping[str, Array], pushed: str, dt: float, law: tuple[float, ...]) -> Program:
    """Traces one simulation step symbolically."""
    from ..control.controller.context import Context
    from ..control.controller.scene import Scene
    from ..equations import manifold
    from ..equations.forward_dynamics import forward_dynamics
    from ..equations.symbols import SX, stack, zeros
    from ..machine.trace import trace

    scene, tree = Scene(Context(robot)), robot.tree
    tau, p = SX.sym("tau", tree.nv), SX.sym("parameters", len(PARAMETERS))
    wrenches = [_ground(scene, frame, places, p[1], law) / p[0] for frame, places in points.items()]
    places = [robot.place(frame) for frame in (*points, pushed)]
    push = stack(p[2:5], zeros(3)) / p[0]
    a = forward_dynamics(tree, scene.q, scene.v, tau / p[0], places, [*wrenches, push])
    v = scene.v + dt * a
    outputs = {"q": manifold.integrate(tree, scene.q, v, SX(dt)), "v": v}
    inputs = {"q": scene.q, "v": scene.v, "tau": tau, "parameters": p}
    return trace("batch step", inputs, outputs, shapes={"q": (tree.nq,), "v": (tree.nv,)})


def _ground(scene: Scene, frame: str, points: Array, friction: Any, law: tuple[float, ...]) -> Any:
    """Returns the wrench of the ground on a frame's points, world axes, at the frame's origin."""
    import casadi

    from ..equations.symbols import constant, cross, stack, zeros

    k, c, slip = law
    X = scene.pose(frame)
    R, place = X[:3, :3], X[:3, 3]
    V = scene.twist(frame)
    total = zeros(6)
    for s in points:
        arm = R @ constant(s)
        rate = V[:3] + cross(V[3:6], arm)
        depth = casadi.fmax(-(place[2] + arm[2]), 0)
        normal = casadi.fmax(k * depth * casadi.sqrt(depth) * (1 - c * rate[2]), 0)
        speed = casadi.sqrt(rate[0] ** 2 + rate[1] ** 2 + slip**2)  # smooth, so that derivatives exist everywhere
        force = stack(-friction * normal * rate[0] / speed, -friction * normal * rate[1] / speed, normal)
        total += stack(force, cross(arm, force))
    return total
