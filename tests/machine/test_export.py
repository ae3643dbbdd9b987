"""Programs as C: compiled by the system's compiler, the files give what the program gives on NumPy."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support import load, random_states
from synthetic import every_operation, random_program

import equipoise as eq
from equipoise.errors import CompileError, UnknownNameError
from equipoise.machine.order import compact_order, most_alive
from equipoise.machine.program import Output, Program
from equipoise.machine.source.export import export, names_of

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler on this machine")
STRICT = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffp-contract=off"]


def built(path: Path, *options: str) -> Path:
    """Compile with every warning an error."""
    result = path.with_suffix(".so" if "-shared" in options else ".run")
    done = subprocess.run(["cc", *STRICT, *options, "-o", result, path, "-lm"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return result


def called(program: Program, folder: Path, dtype: str, *arrays: np.ndarray) -> list[np.ndarray]:
    """The exported function, state after state."""
    # a loaded file must not change
    path = export(program, folder / f"program{len(list(folder.iterdir()))}.c", dtype=dtype)
    function = getattr(ctypes.CDLL(str(built(path, "-shared", "-fPIC"))), names_of(program).function)
    results = [np.full((len(arrays[0]), output.size), 7e7, dtype) for output in program.outputs]
    for s in range(len(arrays[0])):
        rows = [np.ascontiguousarray(x[s], dtype=dtype) for x in arrays]
        function(*(ctypes.c_void_p(x.ctypes.data) for x in rows), *(ctypes.c_void_p(y[s].ctypes.data) for y in results))
    return results


@pytest.mark.parametrize(
    ("name", "quantity"), [("quadruped", "inverse_dynamics"), ("arm6", "forward_dynamics"), ("arm6", "mass_matrix")]
)
def test_c_is_the_program(tmp_path, rng, name, quantity):
    robot = load(name)
    program = robot.kernel(quantity, None, "mixed").program
    q, v = random_states(robot, rng, 5)
    arrays = [q, v, rng.normal(size=v.shape)][: len(program.inputs)]
    wanted = program.evaluate(*arrays).reshape(5, -1)
    scale = np.abs(wanted).max()
    assert_allclose(called(program, tmp_path, "float64", *arrays)[0], wanted, atol=1e-13 * scale, rtol=0)
    single = called(program, tmp_path, "float32", *arrays)[0]
    assert 0 < np.abs(single - wanted).max() < 2e-5 * scale  # 24 bits and some thousand roundings


def test_robot_export_tests_itself_and_its_header_links(tmp_path):
    robot = load("quadruped")
    path = robot.export("jacobian", tmp_path / "J.c", frames="trunk", representation="body")
    done = subprocess.run([built(path, "-DEQUIPOISE_SELF_TEST")], capture_output=True, text=True)
    name = "quadruped_jacobian_trunk_body"
    assert done.returncode == 0 and f"{name}: 3 states, largest error" in done.stdout
    sizes = f"{name.upper()}_Q", f"{name.upper()}_JACOBIAN_OUT"
    (tmp_path / "user.c").write_text(
        f'#include "J.h"\nint main(void) {{ double q[{sizes[0]}] = {{0}}, J[{sizes[1]}]; q[3] = 1;\n'
        f"  {name}(q, J); return J[0] == 1 && {sizes[1]} == {6 * robot.nv} ? 0 : 1; }}\n"
    )
    subprocess.run(["cc", *STRICT, "-o", tmp_path / "user", tmp_path / "user.c", path, "-lm"], check=True)
    assert subprocess.run([tmp_path / "user"]).returncode == 0


def test_kernels_of_one_kind_link_together(tmp_path):
    """One quantity at two frames, in two representations and precisions, of two robots, in one program."""
    quadruped, arm = load("quadruped"), load("arm6")
    files = [
        quadruped.export("jacobian", tmp_path / "a.c", frames="trunk"),
        quadruped.export("jacobian", tmp_path / "b.c", frames="trunk", representation="body"),
        quadruped.export("jacobian", tmp_path / "c.c", frames="trunk", dtype="float32"),
        arm.export("jacobian", tmp_path / "d.c", frames=list(arm.links)[-1]),
        arm.export("jacobian", tmp_path / "e.c", frames=list(arm.links)[-2]),
        arm.export("jacobian", tmp_path / "f.c", frames=list(arm.links)[-2], function="mine"),
    ]
    functions = [re.search(r"^void (\w+)\(", path.with_suffix(".h").read_text(), re.M)[1] for path in files]
    calls = "\n".join(f"  (void){function};" for function in functions)
    includes = "\n".join(f'#include "{path.stem}.h"' for path in files)
    (tmp_path / "user.c").write_text(f"{includes}\nint main(void) {{\n{calls}\n  return 0; }}\n")
    done = subprocess.run(
        ["cc", *STRICT, "-o", tmp_path / "user", tmp_path / "user.c", *files, "-lm"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert subprocess.run([tmp_path / "user"]).returncode == 0
    assert functions[0] == "quadruped_jacobian_trunk_mixed" and functions[-1] == "mine"


def test_headers_say_of_which_robot_they_are_and_where_its_joints_are(tmp_path):
    robot = load("quadruped")
    text = (
        robot.export("jacobian", tmp_path / "J.c", frames="trunk", representation="body").with_suffix(".h").read_text()
    )
    for line in ("robot           quadruped", "quantity        jacobian", "frames          trunk"):
        assert f" * {line}\n" in text
    assert " * representation  body\n" in text
    places = dict(re.findall(r"^ \*   (\S+): (.*)$", text, re.M))
    assert list(places) == [name for name, joint in robot.model.joints.items() if joint.moving]
    for name, (of_q, of_v) in ((name, place.split(", ")) for name, place in places.items()):
        for written, numbers in ((of_q, robot.model.joints[name].q), (of_v, robot.model.joints[name].v)):
            ends = [int(number) for number in written.split(" to ")]
            assert slice(ends[0], ends[-1] + 1) == numbers


def test_names_of_a_robot_stay_inside_of_the_comment(tmp_path):
    hostile = eq.RobotBuilder("*/ #error /*", floating=False).link("a").link("b", mass=1.0, inertia=(0.1, 0.2, 0.2))
    hostile.joint("*/ j\n#error", "revolute", "a", "b", axis=(0, 1, 0))
    built(hostile.build().export("gravity", tmp_path / "g.c"), "-c")


def test_the_self_test_notices_a_changed_number(tmp_path):
    path = load("arm6").export("gravity", tmp_path / "g.c")
    changed, count = re.subn(r"(const real t\d+ = \S+) \* ", r"\1 + ", path.read_text(), count=1)
    assert count == 1
    path.write_text(changed)
    assert subprocess.run([built(path, "-DEQUIPOISE_SELF_TEST")], capture_output=True).returncode == 1


def test_every_operation(tmp_path):
    program = every_operation()
    x = np.array([[0.3, -1.5], [-0.3, 2.0], [0.0, -0.0], [2.5, 0.1], [np.nan, 1.0], [np.inf, 0.2], [1e5, 1.2]])
    y = np.array([[0.7, 3.5], [0.7, 1.5], [-0.4, 1.0], [0.0, 2.2], [0.6, 1.7], [2.0, 1.5], [np.nan, 1.1]])
    got = called(program, tmp_path, "float64", x, y)[0]
    assert_allclose(got, program.evaluate(x, y), rtol=1e-14, atol=1e-300, equal_nan=True)
    assert_array_equal(np.isnan(got), np.isnan(program.evaluate(x, y)))


def test_common_divisors_become_one_division(tmp_path, rng):
    robot = load("arm6")
    kernel = eq.compile(lambda robot, x, y: x / (y**2 + 0.1), robot, x=4, y=1)
    text = export(kernel.program, tmp_path / "f.c").read_text()
    assert text.count("eq_inverse(t") == 1
    x, y = rng.normal(size=(6, 4)), rng.normal(size=(6, 1))
    assert_allclose(called(kernel.program, tmp_path, "float64", x, y)[0], x / (y**2 + 0.1), rtol=1e-15 * 3)


def test_names_that_c_does_not_take(tmp_path, rng):
    base = random_program(3, instructions=40, outputs=((2,), (3,), (0,), ()))
    hostile = ["double", "*/ int main(void) { return 0; } /*", "t5", "\n#error"]
    outputs = tuple(Output(name, o.shape, o.values) for name, o in zip(hostile, base.outputs, strict=True))
    inputs = tuple(type(a)(name, a.size) for a, name in zip(base.inputs, ["x0", "x0"], strict=True))
    program = Program("2 lines\n", inputs, base.constants, base.code, base.left, base.right, outputs)
    x, y = rng.normal(size=(4, 7)), rng.normal(size=(4, 6))
    for got, wanted in zip(called(program, tmp_path, "float64", x, y), program.evaluate(x, y), strict=True):
        assert_allclose(got, wanted.reshape(got.shape), rtol=1e-12, atol=1e-12)


def test_wrong_wishes_are_explained(tmp_path):
    robot = load("arm6")
    with pytest.raises(CompileError, match=r"must end in \.c \(C99\) or \.cu"):
        robot.export("gravity", tmp_path / "gravity.cpp")
    with pytest.raises(UnknownNameError, match="precision"):
        robot.export("gravity", tmp_path / "gravity.c", dtype="float16")
    with pytest.raises(UnknownNameError, match="equation"):
        robot.export("levity", tmp_path / "levity.c")


# The order of instructions


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_order_keeps_few_values_alive(quantity):
    program = load("quadruped").kernel(quantity, None, "mixed").program
    order = compact_order(program)
    assert sorted(order) == list(range(len(program)))
    at = np.empty(len(program), dtype=int)
    at[list(order)] = np.arange(len(program))
    first = program.first_instruction
    for operands in (program.left, program.right):
        made = operands >= first
        assert (at[operands[made] - first] < at[np.flatnonzero(made)]).all()
    assert most_alive(program) <= most_alive(program, range(len(program)))
    if quantity != "forward_dynamics":
        assert most_alive(program) < 0.7 * most_alive(program, range(len(program)))
