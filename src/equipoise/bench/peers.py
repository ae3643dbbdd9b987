"""The same quantities from other libraries, each as a block of many calls on many states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import missing_package
from ..robot import Robot

Block = Callable[[], object]
QUANTITIES = ("inverse_dynamics", "mass_matrix", "forward_dynamics", "bias_force", "coriolis_matrix", "momentum_matrix")


@dataclass(frozen=True, eq=False)
class States:
    """Random states, accelerations and forces of one robot, in our conventions."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray

    def rows(self, *names: str) -> list[tuple[np.ndarray, ...]]:
        return list(zip(*(list(getattr(self, name)) for name in names), strict=True))


def random_states(robot: Robot, count: int, seed: int = 0) -> States:
    rng = np.random.default_rng(seed)
    pairs = [robot.random_state(rng) for _ in range(count)]
    q, v = (np.stack(column) for column in zip(*pairs, strict=True))
    return States(q, v, rng.normal(size=v.shape), rng.normal(size=v.shape))


ARGUMENTS = {
    "inverse_dynamics": ("q", "v", "a"),
    "forward_dynamics": ("q", "v", "tau"),
    "bias_force": ("q", "v"),
    "mass_matrix": ("q",),
    "coriolis_matrix": ("q", "v"),
    "momentum_matrix": ("q",),
}


def loop(function: Callable[..., Any], rows: list[tuple[Any, ...]]) -> Block:
    """One call for each row."""

    def block() -> None:
        for row in rows:
            function(*row)

    return block


def our_calls(robot: Robot, states: States, quantity: str) -> Block:
    return loop(getattr(robot, quantity), states.rows(*ARGUMENTS[quantity]))


def our_batch(robot: Robot, states: States, quantity: str) -> Block:
    """One call for all states, as users write it."""
    function = getattr(robot, quantity)
    arguments = [getattr(states, name) for name in ARGUMENTS[quantity]]
    return lambda: function(*arguments)


class Pinocchio:
    """Calls of Pinocchio's Python interface on the same robot and states, converted to its conventions beforehand."""

    def __init__(self, robot: Robot, urdf: str, states: States) -> None:
        try:
            import pinocchio as pin
        except ImportError as error:
            raise missing_package("pin", "bench", "comparing with Pinocchio") from error
        from .. import convert

        self.pin, self.version = pin, pin.__version__
        self.model = pin.buildModelFromUrdf(urdf, pin.JointModelFreeFlyer())
        self.model.gravity.linear = np.array(robot.model.gravity)
        self.data = self.model.createData()
        converter = convert.pinocchio(robot, self.model)
        self.q, self.v = converter.to_peer(states.q, states.v)
        self.a = converter.acceleration_to_peer(states.q, states.v, states.a)
        # more rows than columns where we reduce mimic joints and Pinocchio does not
        T = converter.velocity_map(states.q)
        self.tau = (T @ np.linalg.solve(np.swapaxes(T, -1, -2) @ T, states.tau[..., None]))[..., 0]

    def block(self, quantity: str) -> Block:
        pin, model, data = self.pin, self.model, self.data
        q, v, a, tau = list(self.q), list(self.v), list(self.a), list(self.tau)
        rows: list[tuple[Any, ...]]
        if quantity == "inverse_dynamics":
            function, rows = pin.rnea, list(zip(q, v, a, strict=True))
        elif quantity == "forward_dynamics":
            function, rows = pin.aba, list(zip(q, v, tau, strict=True))
        elif quantity == "bias_force":
            function, rows = pin.nonLinearEffects, list(zip(q, v, strict=True))
        elif quantity == "mass_matrix":
            function, rows = pin.crba, [(x,) for x in q]
        elif quantity == "momentum_matrix":
            function, rows = pin.ccrba, list(zip(q, v, strict=True))
        else:
            function, rows = pin.computeCoriolisMatrix, list(zip(q, v, strict=True))
        return loop(lambda *row: function(model, data, *row), rows)


class MuJoCo:
    """Calls of MuJoCo's Python interface on the same robot: dense M, and the bias force."""

    def __init__(self, robot: Robot, states: States) -> None:
        try:
            import mujoco
        except ImportError as error:
            raise missing_package("mujoco", "bench", "comparing with MuJoCo") from error
        from .. import convert
        from ..model.urdf_writer import write_urdf

        self.mujoco, self.version = mujoco, mujoco.__version__
        bare = {name: replace(link, visuals=(), collisions=()) for name, link in robot.model.links.items()}
        spec = mujoco.MjSpec.from_string(write_urdf(replace(robot.model, links=bare)))
        root = spec.worldbody.first_body()
        if robot.floating and not root.joints:
            root.add_freejoint()
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.q, self.v = convert.mujoco(robot, self.model).to_peer(states.q, states.v)

    def block(self, quantity: str) -> Block | None:
        mj, model, data = self.mujoco, self.model, self.data
        M, bias = np.empty((model.nv, model.nv)), np.empty(model.nv)

        def mass_matrix(q: np.ndarray) -> None:
            data.qpos = q
            mj.mj_kinematics(model, data)
            mj.mj_comPos(model, data)
            mj.mj_crb(model, data)
            mj.mj_fullM(model, data, M)

        def bias_force(q: np.ndarray, v: np.ndarray) -> None:
            data.qpos, data.qvel = q, v
            mj.mj_kinematics(model, data)
            mj.mj_comPos(model, data)
            mj.mj_comVel(model, data)
            mj.mj_rne(model, data, 0, bias)

        if quantity == "mass_matrix":
            return loop(mass_matrix, [(x,) for x in self.q])
        if quantity == "bias_force":
            return loop(bias_force, list(zip(self.q, self.v, strict=True)))
        return None
