"""Gradients through a robot's equations, for PyTorch and JAX.

`eq.autograd.torch(robot)` and `eq.autograd.jax(robot)` give the robot's functions on tensors of that library, with the
exact compiled derivatives behind them.
"""

from __future__ import annotations

from ..robot import Robot
from .functions import DifferentiableRobot

__all__ = ["DifferentiableRobot", "jax", "torch"]


def torch(robot: Robot) -> DifferentiableRobot:
    """The robot on PyTorch tensors. Gradients flow backwards; leading dimensions are batches."""
    from .with_torch import call

    return DifferentiableRobot(robot, call)


def jax(robot: Robot) -> DifferentiableRobot:
    """The robot on JAX arrays: under `jit`, `vmap`, `grad`, `jvp` and `scan`."""
    from .with_jax import call

    return DifferentiableRobot(robot, call)
