"""Other processors: the same kernels on every instruction set that this machine has, compiled for those it has not.

The rest of the suite runs on the host's own. aarch64 runs under emulation (qemu-user), in the slow suite.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

import equipoise as eq
from equipoise.machine import cpu
from equipoise.machine.emit import emit
from equipoise.machine.target import Target

WIDTHS = {"sse": 2, "avx2": 4, "avx512": 8}
ROBOT = "quadruped"
QUANTITIES = ("mass_matrix", "inverse_dynamics", "forward_dynamics", "com_jacobian", "inverse_dynamics_derivatives")

# Every quantity of a robot, single states, batches with a rest, both precisions; a controller's step with its solver.
RUN = """
import json, sys
import numpy as np
import equipoise as eq
from equipoise.machine import cpu

robot = eq.load("{robot}")
q, v = robot.random_state(np.random.default_rng(5), 21)
found = {{}}
for name in {names}:
    kernel = robot.kernel(name, None, None if "derivatives" in name else "mixed")
    arrays = [q, v, v[::-1].copy()][: len(kernel.program.inputs)]
    batch = kernel(*arrays)
    single = np.array([kernel(*(x[k] for x in arrays)) for k in range(3)])
    floats = kernel(*(x.astype(np.float32) for x in arrays))
    assert np.isfinite(batch).all() and np.abs(single - batch[:3]).max() < 1e-9 * np.abs(batch).max(), name
    assert np.abs(floats - batch).max() < 1e-2 * np.abs(batch).max(), name
    found[name] = batch[:5].reshape(5, -1)[:, :40].tolist()
feet = [eq.PointContact(name) for name in robot.frames if name.endswith("_foot")]
controller = eq.WholeBodyController(robot, [eq.CoMTask(), eq.PostureTask()], feet, [eq.TorqueLimits()])
found["torque"] = controller(0.0, robot.standing(), np.zeros(robot.nv)).torque.tolist()
print(json.dumps({{"width": cpu.target_for("float64", True).width, "found": found}}))
"""


def has(name: str) -> bool:
    """Whether this machine can run it."""
    features = f",{cpu._llvm().get_host_cpu_features().flatten()},"
    needed = {
        "sse": ("+sse4.2",),
        "avx2": ("+avx2", "+fma"),
        "avx512": ("+avx512f", "+avx512dq", "+avx512vl", "+avx512bw"),
    }
    return all(f",{feature}," in features for feature in needed[name])


def ran(name: str) -> dict:
    code = RUN.format(robot=ROBOT, names=QUANTITIES[:4])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"EQUIPOISE_CPU": name},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# where there is AVX-512, all other tests run on it
@pytest.mark.parametrize("name", ["sse", "avx2", pytest.param("avx512", marks=pytest.mark.slow)])
def test_every_instruction_set_of_this_machine_gives_the_same(name):
    if not has(name):
        pytest.skip(f"this processor has no {name}; its code is compiled in the next test")
    there = ran(name)
    assert there["width"] == WIDTHS[name]
    robot = eq.load(ROBOT)
    q, v = robot.random_state(np.random.default_rng(5), 21)
    for quantity in QUANTITIES[:4]:  # derivatives take long to compile; they run on aarch64
        kernel = robot.kernel(quantity, None, None if "derivatives" in quantity else "mixed")
        wanted = kernel(*[q, v, v[::-1].copy()][: len(kernel.program.inputs)])[:5].reshape(5, -1)[:, :40]
        assert_allclose(there["found"][quantity], wanted, atol=1e-9 * np.abs(wanted).max(), rtol=0)
    assert np.abs(there["found"]["torque"]).max() > 1.0


ELSEWHERE = {
    "sse": ("x86_64-unknown-linux-gnu", "x86-64-v2", 62),
    "avx2": ("x86_64-unknown-linux-gnu", "x86-64-v3", 62),
    "avx512": ("x86_64-unknown-linux-gnu", "x86-64-v4", 62),
    "aarch64": ("aarch64-unknown-linux-gnu", "generic", 183),
}  # the last number is ELF's for the machine


def cross_compiled(text: str, name: str) -> bytes:
    """An object file for another processor."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple, processor, _ = ELSEWHERE[name]
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=processor, opt=2, reloc="pic")
    module = llvm.parse_assembly(f'target triple = "{triple}"\n' + text)
    module.data_layout = str(machine.target_data)
    return machine.emit_object(module)


def target_of(name: str, dtype: str = "float64", batch: bool = True) -> Target:
    lanes = WIDTHS.get(name, 2)
    width = lanes * (1 if dtype == "float64" else 2) if batch else 1
    return Target(dtype, width, lanes, streams_anywhere=name == "avx512", registers=28 if name == "avx512" else 13)


@pytest.mark.parametrize("batch", [True, False], ids=["batch", "single"])
@pytest.mark.parametrize("name", ELSEWHERE)
def test_code_for_others_is_at_least_compiled(name, batch):
    program = eq.load("arm6").kernel("inverse_dynamics", None, "mixed").program
    code = cross_compiled(emit(program, target_of(name, batch=batch)), name)
    assert code[:4] == b"\x7fELF" and int.from_bytes(code[18:20], "little") == ELSEWHERE[name][2]


# --- aarch64, run -----------------------------------------------------------------------------------------------------

DRIVER = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
extern int32_t run({types});
{declared}
int main(void) {{
    double *in[{inputs}], *out = aligned_alloc(64, {bytes_out}), *scratch = aligned_alloc(64, {bytes_scratch});
    const size_t sizes[{inputs}] = {{ {sizes} }};
    for (int k = 0; k < {inputs}; k++) {{
        in[k] = aligned_alloc(64, (sizes[k] * 8 + 63) / 64 * 64);
        if (fread(in[k], 8, sizes[k], stdin) != sizes[k]) return 2;
    }}
    int32_t status = run({arguments});
    fwrite(out, 8, {numbers_out}, stdout);
    return status;
}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("batch", [True, False], ids=["batch", "single"])
def test_kernels_run_on_aarch64(tmp_path, quantity, batch):
    """Cross-compiled by our own LLVM, linked to a small C program, run by qemu: the numbers are those of this
    machine."""
    if shutil.which("qemu-aarch64") is None or shutil.which("aarch64-linux-gnu-gcc") is None:
        pytest.skip("needs qemu-user and gcc-aarch64-linux-gnu")
    robot = eq.load(ROBOT)
    kernel = robot.kernel(quantity, None, None if "derivatives" in quantity else "mixed")
    program, target = kernel.program, target_of("aarch64", batch=batch)
    states = 6 if batch else 1
    q, v = robot.random_state(np.random.default_rng(7), states)
    arrays = [q, v, v[::-1].copy()][: len(program.inputs)]
    (tmp_path / "kernel.o").write_bytes(cross_compiled(emit(program, target), "aarch64"))
    wanted = kernel(*arrays)
    pointers = [*(f"in[{k}]" for k in range(len(arrays))), "out"]
    types = ["double *"] * len(pointers)
    if batch:
        pointers += [str(states // target.width), "scratch", "0"]
        types += ["int64_t", "double *", "int32_t"]
    text = DRIVER.format(
        types=", ".join(types), inputs=len(arrays), bytes_out=-(-wanted.nbytes // 64) * 64,
        declared="extern const int64_t scratch_size;" if batch else "",
        bytes_scratch="(8 * scratch_size + 63) / 64 * 64" if batch else "64",
        sizes=", ".join(str(x.size) for x in arrays), arguments=", ".join(pointers), numbers_out=wanted.size,
    )  # fmt: skip
    (tmp_path / "driver.c").write_text(text)
    command = ["aarch64-linux-gnu-gcc", "-O1", "-static", "-o", "program", "driver.c", "kernel.o", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    given = b"".join(np.ascontiguousarray(x).tobytes() for x in arrays)
    done = subprocess.run(["qemu-aarch64", "./program"], cwd=tmp_path, input=given, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = np.frombuffer(done.stdout).reshape(wanted.shape)
    assert_allclose(found, wanted, atol=1e-10 * np.abs(wanted).max(), rtol=0)
