"""Peers in processes of their own: virtual environments made on demand, started, asked, ended."""

from __future__ import annotations

import json
import os
import subprocess
import venv
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import equipoise
from equipoise.errors import EquipoiseError
from equipoise.machine.cache import default_folder

# TSID's newest wheel crashes with the Pinocchio it asks for; these versions work together.
TSID = (
    "numpy<2.4", "tsid==1.7.1", "pin==3.4.0", "eigenpy==3.10.3", "coal==3.0.1", "eiquadprog==1.2.9",
    "cmeel-boost==1.87.0.1", "cmeel-urdfdom==4.0.1", "cmeel-tinyxml2==10.0.0", "cmeel-assimp==5.4.3.1",
)  # fmt: skip
OTHERS = ("placo==0.10.2", "pin-pink==4.4.0", "mink==1.3.0", "qpsolvers==4.13.0", "daqp==0.10.3", "quadprog==0.1.14")


@dataclass(frozen=True)
class PeerKind:
    """How a peer is started: the packages of its environment, the module that serves it, and that module's
    arguments."""

    environment: str
    packages: tuple[str, ...]
    module: str
    arguments: tuple[str, ...] = ()


PEERS: dict[str, PeerKind] = {
    "TSID": PeerKind("tsid", TSID, "tsid_peer"),
    "TSID soft": PeerKind("tsid", TSID, "tsid_peer", ("soft",)),
    "PlaCo": PeerKind("others", OTHERS, "placo_peer"),
    "PlaCo soft": PeerKind("others", OTHERS, "placo_peer", ("soft",)),
    "Pink": PeerKind("others", OTHERS, "ik_peers", ("pink",)),
    "mink": PeerKind("others", OTHERS, "ik_peers", ("mink",)),
}

# A package named equipoise with our folder but without our __init__, so that the peer's environment needs none of our
# dependencies; then the peer's module as a program, from the folder that holds `bench`.
_START = """
import runpy, sys, types
package = types.ModuleType("equipoise")
package.__path__ = [sys.argv[1]]
sys.modules["equipoise"] = package
sys.path.insert(0, sys.argv[2])
module, sys.argv = sys.argv[3], sys.argv[3:]
runpy.run_module(module, run_name="__main__")
"""


class PeerError(EquipoiseError):
    """A peer could not be installed, started or asked."""


def environments() -> Path:
    """Where the peers' environments lie: $EQUIPOISE_PEERS, or `peers` in the user's cache folder."""
    given = os.environ.get("EQUIPOISE_PEERS")
    return Path(given) if given else default_folder() / "peers"


def python_of(kind: PeerKind) -> Path:
    """The interpreter of the peer's environment, which is made first if it is not there: some minutes of downloads."""
    folder = environments() / kind.environment
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    ready = folder / "ready"
    wanted = "\n".join(kind.packages)
    if ready.is_file() and ready.read_text() == wanted:
        return python
    folder.mkdir(parents=True, exist_ok=True)
    venv.create(folder, with_pip=True, clear=True)
    done = subprocess.run([python, "-m", "pip", "install", "--quiet", *kind.packages], capture_output=True, text=True)
    if done.returncode:
        raise PeerError(f"pip could not install {', '.join(kind.packages)}:\n{done.stderr.strip()[-2000:]}")
    ready.write_text(wanted)
    return python


class Child:
    """A peer at work. Use it in a `with` statement; it ends there."""

    def __init__(self, command: Sequence[str | Path], scene: dict[str, Any], *, core: int | None = None) -> None:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self._process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
        )
        if core is not None and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(self._process.pid, {core})
        try:
            self.facts: dict[str, Any] = self.ask({"scene": scene})["ready"]
        except BaseException:
            self.close()
            raise

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """One request, one answer."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise PeerError("the peer has no pipes")
        try:
            stdin.write(json.dumps(request) + "\n")
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise PeerError(
                f"the peer ended (exit code {self._process.wait()}) without an answer; its own words are above"
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PeerError(f"the peer answered: {answer['error']}")
        return answer

    def time(self, first: int, count: int) -> dict[str, list[float]]:
        return self.ask({"do": "time", "first": first, "count": count})

    def solve(self, state: int) -> dict[str, Any]:
        solution: dict[str, Any] = self.ask({"do": "solve", "state": state})["solution"]
        return solution

    def close(self) -> None:
        """End the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):  # it ended before it had read everything
                    pipe.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def command_of(kind: PeerKind, python: Path | str | None = None) -> list[str]:
    """The command line that serves a peer."""
    folders = Path(equipoise.__file__).parent, Path(__file__).parents[2]
    module = f"bench.control.{kind.module}"
    return [str(python or python_of(kind)), "-c", _START, *map(str, folders), module, *kind.arguments]


def start(name: str, scene: dict[str, Any], *, core: int | None = None) -> Child:
    """Start a peer by its name, on a scene as plain data."""
    return Child(command_of(PEERS[name]), scene, core=core)
