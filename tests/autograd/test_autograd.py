"""Gradients that flow through PyTorch and JAX, against differences of the same functions on NumPy."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support import load, random_states, relative_error

import equipoise as eq

DT, STEPS = 1e-3, 100


@dataclass(frozen=True)
class Engine:
    """What the tests need of a library."""

    name: str
    robot: Callable[[eq.Robot], Any]
    tensor: Callable[[Any], Any]
    gradients: Callable[..., list[np.ndarray]]  # of a scalar function with respect to all its arguments


def torch_engine() -> Engine:
    import torch

    def gradients(f: Callable[..., Any], *arrays: np.ndarray) -> list[np.ndarray]:
        leaves = [torch.tensor(x, requires_grad=True) for x in arrays]
        f(*leaves).backward()
        return [x.grad.numpy() for x in leaves]

    return Engine("torch", eq.autograd.torch, torch.tensor, gradients)


def jax_engine() -> Engine:
    import jax

    jax.config.update("jax_enable_x64", True)

    def gradients(f: Callable[..., Any], *arrays: np.ndarray) -> list[np.ndarray]:
        return [np.asarray(x) for x in jax.jit(jax.grad(f, argnums=tuple(range(len(arrays)))))(*arrays)]

    return Engine("jax", eq.autograd.jax, jax.numpy.asarray, gradients)


@pytest.fixture(params=["torch", "jax"], scope="module")
def engine(request) -> Engine:
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed; its extra is equipoise[{request.param}]")
    return {"torch": torch_engine, "jax": jax_engine}[request.param]()


@pytest.fixture(scope="module")
def robot() -> eq.Robot:
    return load("quadruped")


def slope(f: Callable[[float], float], step: float = 1e-4) -> float:
    """Central differences of fourth order."""
    return (8 * (f(step) - f(-step)) - (f(2 * step) - f(-2 * step))) / (12 * step)


CALLS: dict[str, tuple[str, ...]] = {
    "inverse_dynamics": ("q", "v", "a"),
    "forward_dynamics": ("q", "v", "tau"),
    "integrate": ("q", "v", "dt"),
    "difference": ("q", "q1"),
    "pose": ("q", "frame"),
    "velocity": ("q", "v", "frame"),
    "com": ("q",),
    "momentum": ("q", "v"),
    "potential_energy": ("q",),
}


def arguments_of(robot: eq.Robot, name: str, rng: np.random.Generator) -> list[Any]:
    (q, q1), (v, a) = random_states(robot, rng, 2)
    everything = dict(q=q, v=v, a=a, tau=a, q1=q1, dt=np.array(0.3), frame=list(robot.links)[-1])
    return [everything[key] for key in CALLS[name]]


def moved(robot: eq.Robot, key: str, x: Any, direction: np.ndarray, t: float) -> Any:
    return robot.integrate(x, direction, t) if key.startswith("q") else x + t * direction


@pytest.mark.parametrize("name", CALLS)
def test_gradients_are_slopes_along_motions(engine, robot, name, rng):
    """Of a random combination of the results, for every argument: gradient · (N δ) is the slope along the tangent δ."""
    arguments = arguments_of(robot, name, rng)
    numbers = [x for x in arguments if not isinstance(x, str)]
    frame = [x for x in arguments if isinstance(x, str)]
    plain = getattr(robot, name)
    weights = rng.normal(size=np.shape(plain(*arguments)))
    ours = getattr(engine.robot(robot), name)
    gradients = engine.gradients(lambda *x: (ours(*x, *frame) * engine.tensor(weights)).sum(), *numbers)
    for k, (key, gradient) in enumerate(zip(CALLS[name], gradients, strict=False)):
        direction = rng.normal(size=() if key == "dt" else robot.nv)

        def value(t: float, k=k, key=key, direction=direction) -> float:
            changed = [moved(robot, key, x, direction, t) if i == k else x for i, x in enumerate(numbers)]
            return float(np.sum(weights * plain(*changed, *frame)))

        along = robot.tangent_basis(numbers[k]) @ direction if key.startswith("q") else direction
        assert relative_error(np.sum(gradient * along), slope(value), least=abs(value(0))) <= 1e-8, key


def test_values_are_those_of_the_robot(engine, robot, rng):
    for name in CALLS:
        arguments = arguments_of(robot, name, rng)
        tensors = [x if isinstance(x, str) else engine.tensor(x) for x in arguments]
        result = np.asarray(getattr(engine.robot(robot), name)(*tensors))
        assert relative_error(result, np.asarray(getattr(robot, name)(*arguments))) <= 1e-12, name


def test_batches_and_shared_arguments(engine, robot, rng):
    """One tau for all states: its gradient is the sum over them."""
    q, v = random_states(robot, rng, 5)
    tau = rng.normal(size=robot.nv)
    ours = engine.robot(robot)
    by_q, by_v, by_tau = engine.gradients(lambda *x: ours.forward_dynamics(*x).sum(), q, v, tau)
    d = robot.forward_dynamics_derivatives(q, v, tau)
    assert by_q.shape == q.shape
    assert relative_error(by_v, d.a_v.sum(axis=1)) <= 1e-12
    assert relative_error(by_tau, d.a_tau.sum(axis=(0, 1))) <= 1e-12


def test_gradients_are_tangent(engine, robot, rng):
    """A quaternion that only grows is no motion: the gradient says nothing about it."""
    q, v = robot.random_state(rng)
    ours = engine.robot(robot)
    by_q, _, _ = engine.gradients(lambda *x: (ours.forward_dynamics(*x) ** 2).sum(), q, v, v)
    assert abs(by_q[3:7] @ q[3:7]) <= 1e-12 * np.linalg.norm(by_q)
    assert np.linalg.norm(by_q[3:7]) > 1e-3


def simulated(robot: Any, q: Any, v: Any, tau: Any) -> tuple[Any, Any]:
    """Semi-implicit Euler without contact."""
    for _ in range(STEPS):
        v = v + DT * robot.forward_dynamics(q, v, tau)
        q = robot.integrate(q, v, DT)
    return q, v


def test_gradients_through_a_hundred_steps(engine, robot, rng):
    """To 1e-5, which is the bar, and better."""
    q, v = robot.random_state(rng)
    v, tau, goal = v / 2, rng.normal(size=robot.nv), robot.random_state(rng)[0]
    ours = engine.robot(robot)

    def loss(robot: Any, q: Any, v: Any, tau: Any, goal: Any) -> Any:
        q, v = simulated(robot, q, v, tau)
        return (robot.difference(goal, q) ** 2).sum() + 0.1 * (v**2).sum()

    def unrolled(q: Any, v: Any, tau: Any) -> Any:
        if engine.name == "torch":
            return loss(ours, q, v, tau, engine.tensor(goal))
        import jax

        def step(state: Any, _: None) -> tuple[Any, None]:
            q, v = state
            v = v + DT * ours.forward_dynamics(q, v, tau)
            return (ours.integrate(q, v, DT), v), None

        (q, v), _ = jax.lax.scan(step, (q, v), None, length=STEPS)
        return (ours.difference(goal, q) ** 2).sum() + 0.1 * (v**2).sum()

    gradients = engine.gradients(unrolled, q, v, tau)
    state = [q, v, tau]
    for k, (key, gradient) in enumerate(zip(("q", "v", "tau"), gradients, strict=True)):
        direction = rng.normal(size=robot.nv)

        def value(t: float, k=k, key=key, direction=direction) -> float:
            changed = [moved(robot, key, x, direction, t) if i == k else x for i, x in enumerate(state)]
            return float(loss(robot, *changed, goal))

        along = robot.tangent_basis(q) @ direction if key == "q" else direction
        assert relative_error(gradient @ along, np.array(slope(value))) <= 1e-7


def test_wrong_shapes_are_told(engine, robot):
    q, v = engine.tensor(robot.neutral()), engine.tensor(np.zeros(robot.nv))
    ours = engine.robot(robot)
    with pytest.raises(eq.ShapeError, match=r"forward_dynamics: tau must have shape \(…, 18\), got \(12,\)"):
        ours.forward_dynamics(q, v, v[6:])
    with pytest.raises(eq.ShapeError, match="leading dimensions do not go together"):
        ours.inverse_dynamics(engine.tensor(np.tile(robot.neutral(), (3, 1))), engine.tensor(np.zeros((2, 18))), v)


def test_single_precision_stays_single(engine, robot, rng):
    q, v = (engine.tensor(np.asarray(x, np.float32)) for x in robot.random_state(rng))
    a = engine.robot(robot).forward_dynamics(q, v, v)
    assert "float32" in str(a.dtype)


def test_jax_transformations(robot, rng):
    """vmap of a gradient, and tangents forwards, under jit."""
    jax = pytest.importorskip("jax", reason="jax is not installed; its extra is equipoise[jax]")
    engine = jax_engine()
    ours = engine.robot(robot)
    q, v = random_states(robot, rng, 4)
    one = jax.grad(lambda q, v: (ours.momentum(q, v) ** 2).sum(), argnums=(0, 1))
    together = jax.jit(jax.vmap(one, in_axes=(0, 0)))(q, v)
    for k in range(4):
        for alone, many in zip(one(q[k], v[k]), together, strict=True):
            assert relative_error(np.asarray(many[k]), np.asarray(alone)) <= 1e-12
    shared = jax.vmap(one, in_axes=(None, 0))(q[0], v)
    assert relative_error(np.asarray(shared[1][2]), np.asarray(one(q[0], v[2])[1])) <= 1e-12
    dv = rng.normal(size=robot.nv)
    _, change = jax.jvp(lambda v: ours.inverse_dynamics(q[0], v, v), (v[0],), (dv,))
    d = robot.inverse_dynamics_derivatives(q[0], v[0], v[0])
    assert relative_error(np.asarray(change), (d.tau_v + d.tau_a) @ dv) <= 1e-12


def test_a_missing_library_is_named(monkeypatch, robot):
    import sys

    for name, make in (("torch", eq.autograd.torch), ("jax", eq.autograd.jax)):
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.delitem(sys.modules, f"equipoise.autograd.with_{name}", raising=False)
        with pytest.raises(eq.EquipoiseError, match=rf"needs the package '{name}'.*pip install 'equipoise\[{name}\]'"):
            make(robot)
