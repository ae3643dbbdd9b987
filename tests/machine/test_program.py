"""Programs as plain data: files that come back whole or not at all, and machine code that does what NumPy does."""

from __future__ import annotations

import json
from collections.abc import Sequence

import casadi
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import equipoise as eq
from equipoise.errors import CompileError
from equipoise.machine import cpu, trace
from equipoise.machine.kernel import Kernel, object_code
from equipoise.machine.program import CODES, MAGIC, NAMES, OPERATIONS, Argument, Output, Program

EXACT = {
    "add",
    "sub",
    "mul",
    "div",
    "neg",
    "sqrt",
    "abs",
    "min",
    "max",
    "lt",
    "le",
    "eq",
    "ne",
    "not",
    "and",
    "or",
    "select",
    "floor",
    "ceil",
    "sign",
    "copysign",
    "fmod",
}
SPECIAL = [
    np.nan,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -3.0,
    0.1,
    1e-30,
    1e-310,
    1e30,
    -7.25,
    4.0,
    1e4,
]


def program_of(
    instructions: Sequence[tuple], outputs: Sequence[int], *, n: int = 2, constants: Sequence[float] = (), shape=None
) -> Program:
    """A program of x (n numbers) from rows (name, left[, right]) and the numbers of the values that come out."""
    right = [row[2] if len(row) > 2 else -1 for row in instructions]
    return Program(
        "p",
        (Argument("x", n),),
        np.array(constants, dtype=np.float64),
        np.array([CODES[row[0]] for row in instructions], dtype=np.uint8),
        np.array([row[1] for row in instructions], dtype=np.int32),
        np.array(right, dtype=np.int32),
        (Output("y", (len(outputs),) if shape is None else shape, np.array(outputs, dtype=np.int32)),),
    )


def compiled(program: Program) -> Kernel:
    return Kernel(program, object_code, strict=False)


def ulps(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Distance in units of the last place; none where both are the same infinity or no number."""
    with np.errstate(invalid="ignore"):
        distance = np.abs(got - wanted) / np.spacing(np.abs(wanted))
    return np.where((got == wanted) | (np.isnan(got) & np.isnan(wanted)), 0.0, distance)


# Every operation


@pytest.fixture(scope="module")
def every_operation() -> Program:
    """Entry k of the output is operation k of the two inputs."""
    rows = [(name, 0, 1) if count == 2 else (name, 0) for name, count in OPERATIONS.items()]
    return program_of(rows, [2 + k for k in range(len(rows))])


@pytest.fixture(scope="module")
def every_kernel(every_operation) -> Kernel:
    return compiled(every_operation)


@pytest.fixture(scope="module")
def pairs() -> np.ndarray:
    """Pairs of special numbers, and of ordinary ones."""
    special = np.stack(np.meshgrid(SPECIAL, SPECIAL), axis=-1).reshape(-1, 2)
    rng = np.random.default_rng(0)
    return np.concatenate(
        [special, rng.normal(size=(500, 2)), rng.uniform(-20, 20, (500, 2)), rng.uniform(0, 1, (99, 2))]
    )


@pytest.fixture(scope="module", params=["float64", "float32"])
def results(request, every_operation, every_kernel, pairs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(from NumPy, from one batch, from single states), each with a column for every operation."""
    x = pairs.astype(request.param)
    return every_operation.evaluate(x), every_kernel(x), np.array([every_kernel(state) for state in x])


@pytest.mark.parametrize("name", NAMES)
def test_an_operation_is_numpys(results, name):
    wanted, batch, single = (result[:, CODES[name]] for result in results)
    assert batch.dtype == single.dtype == wanted.dtype
    assert ulps(batch, wanted).max() <= (0 if name in EXACT else 4)
    assert ulps(single, wanted).max() <= (0 if name in EXACT else 4)


def test_single_states_have_the_bits_of_batches(results):
    _, batch, single = results
    assert_array_equal(batch, single)


@pytest.mark.parametrize(
    ("name", "x", "wanted"),
    [
        *[(name, x, np.nan) for name in ("min", "max", "add", "sub", "mul", "div") for x in ((np.nan, 1), (1, np.nan))],
        *[
            (name, (np.nan, 1), np.nan)
            for name in ("sign", "abs", "neg", "sqrt", "sin", "cos", "floor", "ceil", "exp", "log")
        ],
        ("select", (np.nan, 3), 3),  # no number is not zero
        ("select", (0, np.nan), 0),
        ("select", (-0.0, np.nan), 0),
        ("select", (1, np.nan), np.nan),
        ("min", (-np.inf, 2), -np.inf),
        ("max", (np.inf, 2), np.inf),
        ("mul", (0, np.inf), np.nan),
        ("sub", (np.inf, np.inf), np.nan),
        ("div", (1, 0), np.inf),
        ("div", (-1, 0), -np.inf),
        ("div", (0, 0), np.nan),
        ("sqrt", (-1, 0), np.nan),
        ("sign", (-0.0, 0), 0),
        ("sign", (-5, 0), -1),
        ("sign", (np.inf, 0), 1),
        ("copysign", (3, -0.0), -3),
        ("copysign", (-3, np.inf), 3),
        *[(name, (np.nan, np.nan), name == "ne") for name in ("lt", "le", "eq", "ne")],
        *[(name, (1, 2), name in ("lt", "le", "ne")) for name in ("lt", "le", "eq", "ne")],
        *[(name, (2, 2), name in ("le", "eq")) for name in ("lt", "le", "eq", "ne")],
        *[(name, (2, 1), name == "ne") for name in ("lt", "le", "eq", "ne")],
        *[(name, (0.0, -0.0), name in ("le", "eq")) for name in ("lt", "le", "eq", "ne")],
        *[("and", x, all(x)) for x in ((0, 0), (0, 2), (2, 0), (2, 3), (np.nan, 1))],
        *[("or", x, any(x)) for x in ((0, 0), (0, 2), (2, 0), (2, 3), (np.nan, 0))],
        *[("not", (x, 0), not x) for x in (0, 1, -0.0, np.nan, np.inf)],
    ],
)
def test_what_an_operation_makes_of_special_numbers(every_operation, every_kernel, name, x, wanted):
    state, k = np.array(x, dtype=float), CODES[name]
    assert_array_equal(every_operation.evaluate(state)[k], float(wanted))
    assert_array_equal(every_kernel(state)[k], float(wanted))
    assert_array_equal(every_kernel(np.tile(state, (9, 1)))[:, k], np.full(9, float(wanted)))


@pytest.mark.parametrize(
    "rows",
    [
        [("add", 0, 1), ("sub", 2, 0)],
        [("sub", 0, 1), ("add", 2, 1)],
        [("mul", 0, 1), ("sub", 2, 2)],
        [("sub", 0, 0)],
        [("div", 0, 0)],
        [("neg", 0), ("add", 2, 0)],
        [("mul", 0, 0), ("sqrt", 2)],
        [("mul", 0, 1), ("div", 2, 0)],
        [("min", 0, 1), ("max", 2, 1)],
    ],
)
def test_no_rewriting_loses_a_nan(rows):
    kernel = compiled(program_of(rows, [1 + len(rows)], shape=()))
    for x in (np.array([np.nan, 1.0]), np.full((9, 2), np.nan), np.full((17, 2), np.nan, dtype=np.float32)):
        assert np.isnan(kernel(x)).all()


def test_zero_times_anything_is_not_assumed_to_be_zero():
    kernel = compiled(program_of([("mul", 0, 2)], [3], constants=[0.0], shape=()))
    assert_array_equal(kernel(np.array([[np.nan, 0], [np.inf, 0], [5.0, 0]])), [np.nan, np.nan, 0.0])


# Whole programs


def random_program(seed: int, length: int = 300) -> Program:
    """Tame operations on values from anywhere before; outputs repeat values and hold zeros, inputs and constants."""
    rng = np.random.default_rng(seed)
    names = ["add", "sub", "mul", "sin", "cos", "min", "max", "abs", "tanh", "select", "lt", "neg"]
    rows, first = [], 5 + 3
    for k in range(length):
        name = str(rng.choice(names))
        operands = rng.integers(max(0, first + k - 40), first + k, OPERATIONS[name])
        rows.append((name, *map(int, operands)))
        if name in ("add", "sub", "mul"):  # keep numbers of the size of one
            rows[-1] = ("sin", int(operands[0])) if k % 3 == 0 else rows[-1]
    outputs = [-1, 0, 4, 5, 7, *rng.integers(0, first + length, 25).tolist(), first + length - 1, -1, 0, 5]
    return program_of(rows, outputs, n=5, constants=[0.25, -1.5, 3.0], shape=(2, 17))


@pytest.mark.parametrize("seed", range(4))
def test_a_random_program_is_what_numpy_makes_of_it(seed):
    program = random_program(seed)
    kernel = compiled(program)
    x = np.random.default_rng(seed).uniform(-1, 1, (3, 11, 5))
    wanted = program.evaluate(x)
    assert wanted.shape == (3, 11, 2, 17)
    assert np.isfinite(wanted).all()
    assert_allclose(kernel(x), wanted, rtol=1e-9, atol=1e-9)
    assert_allclose(kernel(x[0, 0]), wanted[0, 0], rtol=1e-9, atol=1e-9)


def test_a_robots_equation_is_what_numpy_makes_of_it():
    robot = eq.load("arm6")
    kernel = robot.kernel("bias_force", None, "mixed")
    q, v = np.random.default_rng(0).uniform(-2, 2, (2, 20, 6))
    wanted = kernel.program.evaluate(q, v)
    assert_allclose(kernel(q, v), wanted, rtol=1e-12, atol=1e-12)
    assert_allclose(kernel.program.evaluate(q[0], v[0]), wanted[0], rtol=1e-14, atol=1e-13)


def test_counts_name_the_operations(every_operation):
    assert every_operation.counts() == dict.fromkeys(NAMES, 1)
    assert len(every_operation) == len(NAMES)


# Files


@pytest.fixture(scope="module")
def real() -> Program:
    """With two inputs, constants, a matrix with zeros, and a quaternion."""
    return eq.load("quadruped").kernel("coriolis_matrix", None, "mixed").program


def assert_same(a: Program, b: Program) -> None:
    assert (a.name, a.inputs, a.quaternions) == (b.name, b.inputs, b.quaternions)
    for array in ("constants", "code", "left", "right"):
        assert_array_equal(getattr(a, array), getattr(b, array))
        assert getattr(a, array).dtype == getattr(b, array).dtype
    for one, other in zip(a.outputs, b.outputs, strict=True):
        assert (one.name, one.shape, one.values.tolist()) == (other.name, other.shape, other.values.tolist())


@pytest.mark.parametrize(
    "make", [lambda real: real, lambda real: random_program(1), lambda real: program_of([], [0, -1])]
)
def test_a_file_comes_back_whole(real, make):
    program = make(real)
    again = Program.from_bytes(program.to_bytes())
    assert_same(again, program)
    assert again.to_bytes() == program.to_bytes()


def test_names_in_any_script_and_numbers_to_the_last_bit_come_back():
    program = program_of([("add", 0, 2)], [3], constants=[np.nextafter(0.1, 1)])
    program = Program("Kraft ∂L/∂q̇ 力", *list(vars(program).values())[1:])
    assert_same(Program.from_bytes(program.to_bytes()), program)


def test_a_program_read_back_runs(real):
    robot = eq.load("quadruped")
    q, v = robot.random_state(np.random.default_rng(0))
    again = Kernel(Program.from_bytes(real.to_bytes()), object_code)
    assert_array_equal(again(q, v), robot.coriolis_matrix(q, v))


@pytest.mark.parametrize(
    "data", [b"", b"EQ", b"\x7fELF" + bytes(100), MAGIC[:-1] + b"9" + bytes(50), b"{}", bytes(1000)]
)
def test_foreign_bytes(data):
    with pytest.raises(CompileError, match="not an Equipoise program"):
        Program.from_bytes(data)


def test_every_truncation_is_refused():
    data = random_program(0, length=20).to_bytes()
    for size in range(len(data)):
        with pytest.raises(CompileError):
            Program.from_bytes(data[:size])


@pytest.mark.parametrize("more", [b"\0", b"abcd", bytes(64)])
def test_bytes_left_over_are_refused(real, more):
    with pytest.raises(CompileError, match="damaged"):
        Program.from_bytes(real.to_bytes() + more)


def test_a_damaged_file_is_refused_or_still_a_program():
    data = random_program(2, length=40).to_bytes()
    rng = np.random.default_rng(0)
    refused, kept = 0, []
    for _ in range(20_000):
        damaged = bytearray(data)
        for place in rng.integers(0, len(data), rng.integers(1, 4)):
            damaged[place] ^= 1 << rng.integers(8) if rng.random() < 0.7 else rng.integers(1, 256)
        try:
            kept.append(Program.from_bytes(bytes(damaged)))
        except CompileError:
            refused += 1
    assert refused > 5_000
    assert len(kept) > 100
    for program in kept[::20]:
        x = [np.ones(argument.size) for argument in program.inputs]
        results = program.evaluate(*x)
        assert np.shape(results) == program.outputs[0].shape
    for program in kept[::500]:
        for batch in (False, True):
            object_code(program, cpu.target_for("float64", batch))


def with_header(program: Program, **changes) -> bytes:
    """The file with other words in its header."""
    data = program.to_bytes()
    size = int.from_bytes(data[8:16], "little")
    header = json.loads(data[16 : 16 + size]) | changes
    text = json.dumps({key: value for key, value in header.items() if value is not ...}).encode()
    return data[:8] + len(text).to_bytes(8, "little") + text + data[16 + size :]


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("name", [..., None, 3, ["p"]]),
        ("constants", [..., None, -1, 0, 1e3, 10**30, "3", True, [3]]),
        ("instructions", [..., None, -1, 5, 10**9, 10**30, 2.0, "x", {}]),
        (
            "inputs",
            [..., None, 5, [], [["x"]], [["x", -5]], [["x", "5"]], [[None, 5]], [["x", 1]], [["x", 2**40]], "xx"],
        ),
        ("outputs", [..., None, [], [["y"]], [["y", 34]], [["y", []]], [[3, [2, 17]]]]),
        ("outputs", [[["y", [-2, -17]]], [["y", [2, 17.0]]], [["y", [2**32, 2**32]]]]),
        ("quaternions", [..., None, 1, [[0, 2]], [[0, -1]], [[1, 0]], [[-1, 0]], [[0]], [["a", "b"]], [[0, 1.0]]]),
    ],
)
def test_a_header_that_does_not_fit_is_refused(key, values):
    program = random_program(3, length=10)
    assert_same(Program.from_bytes(with_header(program)), program)
    for value in values:
        with pytest.raises(CompileError, match="damaged"):
            Program.from_bytes(with_header(program, **{key: value}))


def test_a_header_nested_without_end_is_refused():
    text = b"[" * 200_000
    with pytest.raises(CompileError, match="damaged"):
        Program.from_bytes(MAGIC + len(text).to_bytes(8, "little") + text)


@pytest.mark.parametrize("header", [b"[]", b"3", b'"text"', b"null", b"\xff\xfe", b"{"])
def test_a_header_of_another_kind_is_refused(header):
    with pytest.raises(CompileError, match="damaged"):
        Program.from_bytes(MAGIC + len(header).to_bytes(8, "little") + header)


@pytest.mark.parametrize(
    ("field", "number", "message"),
    [
        ("code", len(NAMES), f"operation {len(NAMES)} is unknown"),
        ("code", 255, "operation 255 is unknown"),
        ("left", -1, "operand is missing"),
        ("left", -(2**31), "operand is missing"),
        ("left", 5, "operand is missing"),  # its own value
        ("left", 6, "operand is missing"),
        ("left", 2**31 - 1, "operand is missing"),
        ("right", -1, "operand is missing"),
        ("right", -2, "operand is missing"),
        ("right", 5, "comes after"),
        ("right", 2**31 - 1, "comes after"),
    ],
)
def test_operands_that_are_not_there_are_refused(field, number, message):
    program = program_of([("add", 0, 1), ("mul", 3, 2), ("sub", 4, 0), ("neg", 5)], [6], constants=[2.0])
    getattr(program, field)[2] = number
    with pytest.raises(CompileError, match=message):
        Program.from_bytes(program.to_bytes())


@pytest.mark.parametrize("number", [-2, 7, 2**31 - 1])
def test_outputs_that_are_not_there_are_refused(number):
    program = program_of([("add", 0, 1), ("mul", 3, 2), ("sub", 4, 0), ("neg", 5)], [6, number], constants=[2.0])
    with pytest.raises(CompileError, match="does not exist"):
        Program.from_bytes(program.to_bytes())


def test_an_operation_of_one_operand_has_no_second():
    with pytest.raises(CompileError, match="comes after"):
        Program.from_bytes(program_of([("neg", 0, 1)], [2]).to_bytes())


# Users' functions


@pytest.fixture(scope="module")
def robot():
    return eq.load("planar_chain")


def test_an_operation_nobody_compiles_is_named_with_the_choices(robot):
    def blurred(robot, q):
        return casadi.erf(q)

    with pytest.raises(CompileError, match=r"blurred: the operation 'erf' is not supported\. There are: add, .*atanh"):
        eq.compile(blurred, robot)


def test_symbols_from_elsewhere_are_named(robot):
    stray = casadi.SX.sym("stiffness")

    def spring(robot, q, v):
        return stray * q + v

    with pytest.raises(CompileError, match=r"spring: .*not arguments: stiffness\. Arguments are q, v"):
        eq.compile(spring, robot)


def test_what_takes_too_long_to_compile_is_refused_before_the_wait(robot, monkeypatch):
    monkeypatch.setattr(trace, "MAX_INSTRUCTIONS", 20)
    with pytest.raises(CompileError, match=r"mass: [\d,]+ instructions are more than the 20 .* Lock joints"):
        eq.compile(lambda_named("mass", lambda robot, q: robot.mass_matrix(q)), robot)


@pytest.mark.parametrize("function", [lambda robot: casadi.SX(1.0), lambda robot, q: {}])
def test_a_function_of_nothing_or_with_no_result_is_refused(robot, function):
    with pytest.raises(CompileError, match="at least one parameter and one result"):
        eq.compile(function, robot)


def lambda_named(name, function):
    function.__name__ = name
    return function


UNARY = (
    "sqrt", "sin", "cos", "fabs", "floor", "ceil", "sign", "exp", "log", "tan", "asin", "acos", "atan", "sinh", "cosh",
    "tanh", "expm1", "log1p", "asinh", "atanh", "logic_not",
)  # fmt: skip
BINARY = (
    "fmin",
    "fmax",
    "atan2",
    "hypot",
    "fmod",
    "copysign",
    "power",
    "logic_and",
    "logic_or",
    "eq",
    "ne",
    "lt",
    "le",
)


def everything(robot, x):
    """Every operation of CasADi that a program knows, and those that it writes in others."""
    a, b = x[0], x[1]
    results = [getattr(casadi, name)(a) for name in UNARY] + [getattr(casadi, name)(a, b) for name in BINARY]
    results += [a + b, a - b, a * b, a / b, 1 / a, 2 * a, -a, a**2, a**3, a**0.3, casadi.acosh(1 + a)]
    return casadi.vertcat(*results, casadi.if_else(a < b, a, b))


def test_an_operation_means_what_casadi_means(robot):
    kernel = eq.compile(everything, robot, x=2)
    symbols = casadi.SX.sym("x", 2)
    wanted = casadi.Function("f", [symbols], [everything(robot, symbols)])
    for x in np.random.default_rng(0).uniform(0.01, 0.99, (20, 2)):
        assert_allclose(kernel(x), wanted(x).full().ravel(), rtol=1e-14)
    assert set(kernel.program.counts()) == set(NAMES)
