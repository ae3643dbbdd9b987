"""Control cycles of all sides in turns, on one core."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from equipoise.bench.quiet_timing import ENOUGH, FAST

from . import checks, scene
from .children import start
from .problem import PROBLEMS
from .protocol import Contender, time_cycles
from .scene import BenchScene

CYCLES = 10  # in one turn: some 2 ms, shorter than the machine's moods
EXAMINED = 20  # states whose solutions are looked at
RIVALS = {"torque": ("TSID", "PlaCo", "TSID soft", "PlaCo soft"), "velocity": ("Pink", "mink")}
Cycle = Callable[[np.ndarray, np.ndarray], Any]
Ours = Mapping[str, Callable[[], Cycle | Contender]]  # label → what builds a controller, once


class Runner(Protocol):
    """Something that can be timed and asked: a peer's process, or a controller here."""

    def time(self, first: int, count: int) -> dict[str, list[float]]: ...
    def solve(self, state: int) -> dict[str, Any]: ...


@dataclass(frozen=True, eq=False)
class Local:
    """A controller in this process."""

    contender: Contender

    def time(self, first: int, count: int) -> dict[str, list[float]]:
        return time_cycles(self.contender, first, count)

    def solve(self, state: int) -> dict[str, Any]:
        return self.contender.solution(state)


@dataclass(frozen=True)
class BenchResult:
    """One contender on one problem; microseconds of one cycle, from quiet turns only."""

    problem: str
    contender: str
    microseconds: float
    low: float  # quartiles of the turns' medians
    high: float
    p99: float
    ratios: dict[str, tuple[float, float, float]]  # to each peer: median and quartiles
    fastest: str | None  # the quickest peer
    active: float | None  # rows at their bounds, median over states; None: not a torque problem, or not complete
    residual: float | None  # worst violation of the equations of motion, N and N m
    failures: int  # states without a solution, of those examined
    clean: int  # quiet turns, its own or the fastest peer's, whichever are fewer
    rounds: int

    @property
    def trustworthy(self) -> bool:
        return self.clean >= ENOUGH


def benchmark(
    on: BenchScene, names: Sequence[str], ours: Ours | None = None, *, rounds: int = 60, core: int | None = None
) -> list[BenchResult]:
    """Ours and the named peers on one scene, turn by turn.

    Args:
        on: robot, limits, references and states.
        names: peers, of `children.PEERS`.
        ours: label → function that builds a controller: (q, v) → torques or velocities, or a whole `Contender`.
        rounds: turns of each contender.
        core: the processor that all share; None: the last this process may use.
    """
    with ExitStack() as stack:
        core = stack.enter_context(_pinned(core))
        runners: dict[str, Runner] = {label: Local(_contender(on, build())) for label, build in (ours or {}).items()}
        plain = on.as_plain() if names else {}
        for name in names:
            runners[name] = stack.enter_context(start(name, plain, core=core))
        turns = take_turns(runners, rounds, len(on.q))
        looks = {name: _examined(on, runner) for name, runner in runners.items()}
    return [_result(on.problem.name, name, turns, names, looks[name]) for name in runners]


@contextmanager
def _pinned(core: int | None) -> Iterator[int | None]:
    """This process on one core for a while, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield None
        return
    before = os.sched_getaffinity(0)
    core = max(before) if core is None else core
    os.sched_setaffinity(0, {core})
    try:
        yield core
    finally:
        os.sched_setaffinity(0, before)


def _contender(on: BenchScene, built: Cycle | Contender) -> Contender:
    if isinstance(built, Contender):
        return built
    states = list(zip(on.q, on.v, strict=True))
    return Contender(built, states, lambda k: {"status": "solved"})


# --- timing ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Turns:
    """Times of all cycles, s, and which turns were quiet, by contender.

    A cycle in which another process had the core is not a number: the system says so, its time is not looked at.
    """

    seconds: dict[str, np.ndarray]  # (rounds, CYCLES)
    quiet: dict[str, np.ndarray]  # (rounds,)


def take_turns(runners: Mapping[str, Runner], rounds: int, states: int) -> Turns:
    """Every contender runs the same states in a turn; the order changes from turn to turn."""
    seconds = {name: np.empty((rounds, CYCLES)) for name in runners}
    probes = {name: np.empty((rounds, 2)) for name in runners}
    names = list(runners)
    for turn in range(-1, rounds):  # the first is not counted
        for name in names:
            answer = runners[name].time(CYCLES * turn % states, CYCLES)
            if turn >= 0:
                seconds[name][turn] = np.where(np.array(answer["taken"]) > 0, np.nan, 1e-9 * np.array(answer["ns"]))
                probes[name][turn] = answer["probes"]
        names = [*names[1:], names[0]]
    kept = {name: quiet_turns(p) & ~np.isnan(seconds[name]).all(axis=1) for name, p in probes.items()}
    return Turns(seconds, kept)


def quiet_turns(probes: np.ndarray) -> np.ndarray:
    """Turns between two fast probes, (rounds,), decided by the probes alone."""
    return (probes <= FAST * np.quantile(probes, 0.1)).all(axis=1)


# --- what comes out --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Look:
    active: float | None
    residual: float | None
    failures: int


def _examined(on: BenchScene, runner: Runner) -> _Look:
    numbers = np.linspace(0, len(on.q) - 1, EXAMINED).astype(int).tolist()
    solutions = {k: runner.solve(k) for k in numbers}
    solved = {k: s for k, s in solutions.items() if s["status"] == "solved"}
    complete = {k: s for k, s in solved.items() if "torque" in s and ("corners" in s or "wrenches" in s)}
    failures = len(solutions) - len(solved)
    if not complete:
        return _Look(None, None, failures)
    counts = [sum(checks.active(on, k, s).values()) for k, s in complete.items()]
    residual = max(checks.dynamics_residual(on, k, s) for k, s in complete.items())
    return _Look(float(np.median(counts)), residual, failures)


def _microseconds(turns: Turns, name: str) -> np.ndarray:
    """Of the cycles of quiet turns, (turns, CYCLES); of all turns if none was quiet."""
    quiet = turns.quiet[name]
    return 1e6 * (turns.seconds[name][quiet] if quiet.any() else turns.seconds[name])


def _result(problem: str, name: str, turns: Turns, peers: Sequence[str], look: _Look) -> BenchResult:
    kept = _microseconds(turns, name)
    low, high = np.nanquantile(np.nanmedian(kept, axis=1), [0.25, 0.75])
    ratios = {peer: _ratio(turns, name, peer) for peer in peers if peer != name}
    fastest = min(peers, key=lambda peer: float(np.nanmedian(_microseconds(turns, peer))), default=None)
    clean = min(int(turns.quiet[side].sum()) for side in (name, fastest) if side is not None)
    return BenchResult(
        problem,
        name,
        float(np.nanmedian(kept)),
        float(low),
        float(high),
        float(np.nanquantile(kept, 0.99)),
        ratios,
        fastest,
        look.active,
        look.residual,
        look.failures,
        clean,
        len(turns.quiet[name]),
    )


def _ratio(turns: Turns, name: str, peer: str) -> tuple[float, float, float]:
    """Within turns that were quiet for both, or, where those are too few, of quiet turns to the peer's median."""
    both = turns.quiet[name] & turns.quiet[peer]
    if both.sum() >= ENOUGH:
        mine, theirs = (np.nanmedian(turns.seconds[side][both], axis=1) for side in (name, peer))
    else:
        mine, theirs = np.nanmedian(_microseconds(turns, name), axis=1), np.nanmedian(_microseconds(turns, peer))
    low, median, high = np.nanquantile(mine / theirs, [0.25, 0.5, 0.75])
    return float(median), float(low), float(high)


# --- the bench -------------------------------------------------------------------------------------------------------


def compare(robots: Sequence[str] | None = None, *, rounds: int = 60, shuffled: bool = False) -> Iterator[BenchResult]:
    """All problems, or those of some robots: ours where there is a controller, and the peers of that kind of
    problem."""
    for problem in PROBLEMS.values():
        if robots is None or problem.robot in robots:
            on = scene.build(problem, shuffled=shuffled)
            yield from benchmark(on, RIVALS[problem.level], _ours(on), rounds=rounds)


def _ours(on: BenchScene) -> Ours:
    """From the module `ours` beside this one: its `contenders(scene)`."""
    if importlib.util.find_spec(f"{__package__}.ours") is None:
        return {}
    module = importlib.import_module(f"{__package__}.ours")
    contenders: Ours = module.contenders(on)
    return contenders
