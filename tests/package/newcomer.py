"""Plays a newcomer: builds wheel and sdist, installs them in clean environments, and types what README and Install say.

    python tests/package/newcomer.py [EXTRA ...]     # without arguments: bare, and every extra but torch, jax and cuda

Not a test of pytest's, since each environment takes a minute: `make package` runs it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs" / "install.md")
EXTRAS = ("mujoco", "view", "study", "logs", "robots", "xacro", "qpsolvers", "papers", "bench", "demo")
REST = """
import types
import numpy as np
import equipoise as eq
robot = eq.load("arm6")
rest = lambda t, q, v: types.SimpleNamespace(torque=robot.gravity(q))
"""
TRIED = {  # extra → what works with it, and without it fails naming the extra
    "mujoco": REST + "eq.simulate(robot, rest, 'mujoco', 0.01)",
    "view": REST + "eq.report(eq.simulate(robot, rest, 'hard', 0.1), 'run.html')",
    "study": REST + "print(eq.study(lambda x: x * x, {'x': [1, 2]}, workers=2).to_pandas())",
    "logs": REST + "eq.simulate(robot, rest, 'hard', 0.1).to_mcap('run.mcap')",
    "robots": "import equipoise as eq; eq.load('talos'); eq.load('g1')",
    "xacro": """
from pathlib import Path
import equipoise as eq
text = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="m" value="2"/>'
text += '<link name="a"><inertial><mass value="${m}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
text += '</inertial></link></robot>'
Path("r.xacro").write_text(text)
assert eq.load("r.xacro").mass == 2
""",
    "qpsolvers": "from equipoise.control.qp import QpsolversSolver; QpsolversSolver('piqp')",
    "papers": "equipoise reproduce T3 --plots figures",
    "bench": "equipoise bench dynamics --robot talos --rounds 2",
    "demo": "equipoise demo",
    "torch": "import equipoise as eq; eq.autograd.torch(eq.load('arm6'))",
    "jax": "import equipoise as eq; eq.autograd.jax(eq.load('arm6'))",
}


def main(extras: tuple[str, ...]) -> None:
    """Everything, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        wheel, sdist = built(Path(folder) / "dist")
        check_contents(wheel)
        bare = Environment(Path(folder) / "bare", str(wheel))
        try_bare(bare)
        for extra in extras:
            fails_with_name(bare, extra)
        bare.remove()
        for extra in extras:
            environment = Environment(Path(folder) / extra, f"{wheel}[{extra}]")
            try_extra(environment, extra)
            environment.remove()
        source = Environment(Path(folder) / "sdist", str(sdist))
        try_source(source)
    print("package: all lines work")


def built(folder: Path) -> tuple[Path, Path]:
    """The wheel, made from the sdist, and the sdist."""
    run([sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)], cwd=ROOT)
    run([sys.executable, "-m", "twine", "check", "--strict", *map(str, folder.iterdir())])
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def check_contents(wheel: Path) -> None:
    """All that is needed and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()
    strange = [name for name in names if not name.startswith(("equipoise/", "equipoise-"))]
    assert not strange, strange
    assert "equipoise/py.typed" in names
    assert any(name.endswith(".toml") for name in names), "scenarios are not in the wheel"
    for field in ("Author: ", "License-Expression: BSD-3-Clause", "Requires-Python: >=3.11", "Provides-Extra: all"):
        assert field in metadata, field
    relative = re.findall(r"\]\((?!https?:|#)[^)]*\)", metadata)
    assert not relative, f"the package index would show {relative}"
    print(f"{wheel.name}: {len(names)} files, {wheel.stat().st_size / 1e6:.1f} MB")


class Environment:
    """A virtual environment with one thing installed, and a home of its own."""

    def __init__(self, folder: Path, what: str) -> None:
        self.folder = folder
        run([sys.executable, "-m", "venv", str(folder)])
        self.bin = folder / ("Scripts" if os.name == "nt" else "bin")
        constraints = ["--constraint", str(ROOT / "constraints.txt")]
        run(
            [
                str(self.bin / "python"),
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                *constraints,
                what,
            ]
        )
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
        print(f"{Path(what).name}: {size / 1e6:.0f} MB installed")

    def run(self, *command: str, code: int = 0) -> str:
        """What a command prints, with this environment's own programs and an empty cache; it must end as wanted."""
        variables = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "EQUIPOISE_CACHE")}
        variables |= {
            "PATH": f"{self.bin}{os.pathsep}{variables['PATH']}",
            "EQUIPOISE_CACHE": str(self.folder / "cache"),
        }
        done = subprocess.run(command, env=variables, cwd=self.folder, capture_output=True, text=True, timeout=900)
        assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        print(f"  {' '.join(command)[:100]}")
        return done.stdout + done.stderr

    def remove(self) -> None:
        """Room for the next one."""
        import shutil

        shutil.rmtree(self.folder)


def try_bare(environment: Environment) -> None:
    """The first block of the README, and the lines of Install that need no extra."""
    for line in lines(PAGES[1]):
        if not line.startswith("pip ") and "demo" not in line:
            environment.run(*line.split())
    blocks = re.findall(r"```python\n(.*?)```", PAGES[0].read_text(encoding="utf-8"), re.DOTALL)
    environment.run("python", "-c", blocks[0])  # the others need the extra demo


def try_source(environment: Environment) -> None:
    """What comes of the sdist: the command line, its data files and a robot with kernels."""
    environment.run("equipoise", "--version")
    assert "--report" in environment.run("equipoise", "demo", "--help")
    mass = "robot.mass_matrix(robot.standing())[0, 0]"
    environment.run("python", "-c", f"import equipoise as eq; robot = eq.load('human'); assert {mass} > 70")


def fails_with_name(environment: Environment, extra: str) -> None:
    """Without the extra, the error names it."""
    command = typed(extra)
    said = environment.run(*command, code=2 if command[0] == "equipoise" else 1)
    assert f"equipoise[{extra}]" in said, said


def typed(extra: str) -> list[str]:
    """The command that needs an extra."""
    return TRIED[extra].split() if TRIED[extra].startswith("equipoise ") else ["python", "-c", TRIED[extra]]


def try_extra(environment: Environment, extra: str) -> None:
    """With the extra, what it is for works."""
    if extra == "demo":
        blocks = re.findall(r"```python\n(.*?)```", PAGES[0].read_text(encoding="utf-8"), re.DOTALL)
        environment.run("python", "-c", "\n".join(blocks))
        for line in lines(PAGES[0]):
            if line.startswith("equipoise "):
                environment.run(*line.split())
        said = environment.run(*typed(extra))
        assert "checks hold" in said and ";" not in said.splitlines()[-1]
        assert (environment.folder / "report.html").stat().st_size > 10**6
    else:
        environment.run(*typed(extra))


def lines(page: Path) -> list[str]:
    """What a reader types: lines after a dollar."""
    return re.findall(r"^\$ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)


def run(command: list[str], cwd: Path | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or EXTRAS)
