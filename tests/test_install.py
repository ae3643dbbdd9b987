"""What a user meets whose installation lacks a package: the right extra, at once, before anything is compiled."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import equipoise as eq

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

# A Python in which some packages are not installed, and in which nothing may be compiled.
WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {missing!r} else find(name, package)
sys.meta_path.insert(0, Missing())
from equipoise.machine import cpu
cpu.compile_ir = lambda text: sys.exit("something was compiled")
sys.argv[1:] = {arguments!r}
{call}
"""
MAIN = "from equipoise.cli import main; main()"


def python(
    call: str, *missing: str, arguments: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    code = WITHOUT.format(missing=set(missing), arguments=list(arguments), call=call)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=os.environ | environment
    )


COMMANDS = {
    ("demo",): ("mujoco", "demo"),
    ("demo", "--robot", "human"): ("viser", "demo"),
    ("run", "push_recovery"): ("mujoco", "mujoco"),
    ("run", "push_recovery", "--report", "x.html"): ("viser", "view"),
    ("stand", "human"): ("mujoco", "mujoco"),
    ("stand", "human", "--report", "x.html"): ("matplotlib", "view"),
    ("view", "human"): ("viser", "view"),
    ("report", "x.npz"): ("viser", "view"),
    ("replay", "x.mcap"): ("mcap", "logs"),
    ("info", "jvrc1"): ("jvrc_description", "robots"),
}


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_commands_name_the_extra_before_anything_is_compiled(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.mcap").write_bytes(b"")
    package, extra = COMMANDS[arguments]
    done = python(MAIN, package, arguments=arguments)
    said = " ".join(done.stderr.split())
    assert done.returncode == 2, said
    assert f"pip install 'equipoise[{extra}]'" in said
    assert f"{package!r}, which is not installed" in said


CALLS = {
    "eq.load('talos')": ("example-robot-data", "robots"),
    "eq.load('atlas_v4_description')": ("robot_descriptions", "robots"),
    "eq.load('<mujoco/>')": ("mujoco", "mujoco"),
    "eq.view(eq.load('human'))": ("viser", "view"),
    "eq.study(lambda x: x, {'x': [1, 2]}, workers=2)": ("cloudpickle", "study"),
    "eq.simulate(eq.load('arm6'), None, 'mujoco', 1.0)": ("mujoco", "mujoco"),
    "eq.autograd.jax(eq.load('arm6'))": ("jax", "jax"),
    "eq.autograd.torch(eq.load('arm6'))": ("torch", "torch"),
}


@pytest.mark.parametrize("call", CALLS)
def test_calls_name_the_extra(call):
    package, extra = CALLS[call]
    hide = "from equipoise.model import installed; installed.example_robots_folder = lambda: None\n"
    done = python(f"import equipoise as eq\n{hide}{call}", package)
    assert f"pip install 'equipoise[{extra}]'" in done.stderr, done.stderr
    assert "MissingPackageError" in done.stderr


def test_every_extra_that_an_error_names_is_one():
    sources = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    named = set(re.findall(r"equipoise\[(\w+)\]", sources))
    named |= set(re.findall(r'(?:missing_package\("[^"]+", |require_packages\()"(\w+)"', sources))
    assert {"mujoco", "view", "study", "demo", "robots"} <= named
    assert named <= set(PROJECT["optional-dependencies"])


def test_all_brings_every_extra_that_needs_no_other_machine():
    (everything,) = PROJECT["optional-dependencies"]["all"]
    brought = set(everything.partition("[")[2].rstrip("]").split(","))
    development = {"test", "lint", "types", "docs", "package", "bench"}
    assert set(PROJECT["optional-dependencies"]) - brought == development | {"all", "demo", "cuda", "torch", "jax"}


def test_a_description_that_was_not_downloaded_is_explained():
    pytest.importorskip("robot_descriptions")
    done = python("import equipoise as eq; eq.load('upkie')", ROBOT_DESCRIPTIONS_CACHE="/nowhere")
    assert "import robot_descriptions.upkie_description" in done.stderr


def test_version_is_said_by_the_command_and_by_the_module():
    for command in (["-m", "equipoise"], ["-m", "equipoise.cli"]):
        done = subprocess.run([sys.executable, *command, "--version"], capture_output=True, text=True, timeout=60)
        assert done.stdout.strip() == f"equipoise {eq.__version__}"
    release = eq.__version__.partition(".dev")[0]
    newest = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    assert re.fullmatch(rf"{release} \((unreleased|\d{{4}}-\d\d-\d\d)\)", newest)
    assert ("unreleased" in newest) is (release != eq.__version__)
    assert f"version: {eq.__version__}\n" in (ROOT / "CITATION.cff").read_text()


FROM_THE_CACHE = """
import numpy as np, equipoise as eq
robot = eq.load("two_link_pendulum")
q = np.array([0.3, -0.4])
print(robot.mass_matrix(q).tolist(), robot.inverse_dynamics(q, q, q).tolist())
"""


def test_a_filled_cache_serves_a_machine_without_casadi(tmp_path):
    variables = dict(EQUIPOISE_CACHE=str(tmp_path / "cache"))
    first = subprocess.run(
        [sys.executable, "-c", FROM_THE_CACHE], capture_output=True, text=True, check=True, env=os.environ | variables
    )
    second = python(FROM_THE_CACHE, "casadi", **variables)
    assert second.stdout == first.stdout, second.stderr
    other = python(
        "import equipoise as eq; eq.load('planar_chain').mass_matrix([0.1, 0.2, 0.3])", "casadi", **variables
    )
    assert "pip install casadi" in other.stderr and "MissingPackageError" in other.stderr


def test_batches_on_a_gpu_need_numpy_and_cupy_alone():
    """As docs/gpu.md says: programs travel to a machine where nothing else is installed."""
    missing = {"casadi", "daqp", "llvmlite", "mujoco", "qpsolvers", "scipy", "rich", "typer", "viser"}
    code = f"import sys; sys.modules |= dict.fromkeys({missing})\nimport equipoise.machine.gpu.kernel\n"
    code += "import equipoise.control.controller.batched"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("source", ["https://example.org/equipoise", None])
def test_the_readme_on_the_package_index_has_no_relative_address(source, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from hatch_build import published

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    addresses = re.findall(r"\]\(([^)]+)\)", published(text, source))
    assert all(address.startswith("https://") for address in addresses)
    shown = published(text, source).count("![")
    assert shown == text.count("![" if source else "](https://img.shields.io/") > 3
