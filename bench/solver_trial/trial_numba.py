"""The two hottest functions of the solver as Python for Numba, beside the same in C: speed, imports, what is left over.

python bench/solver_trial/trial_numba.py "CLANG COMMAND"      # in an environment with Numba
"""

from __future__ import annotations

import ctypes
import sys
import time
from pathlib import Path

import numpy as np

start = time.perf_counter()
import numba  # noqa: E402

IMPORTED = time.perf_counter() - start
FLAGS = {"error_model": "numpy", "fastmath": {"contract", "reassoc"}, "nogil": True}
njit = numba.njit(**FLAGS)


@njit
def add(to, factor, row, start, stop):
    """to += factor row, in whole blocks."""
    for j in range(start & -8, (stop + 7) & -8):
        to[j] += factor * row[j]


@njit
def scale(row, factor, start, stop):
    for j in range(start & -8, (stop + 7) & -8):
        row[j] *= factor


@njit
def dot(a, b, start, stop):
    total = 0.0
    for j in range(start & -8, (stop + 7) & -8):
        total += a[j] * b[j]
    return total


@njit
def factor_cost(H, n):
    """H = UᵀU in place; False if a pivot is not positive."""
    for k in range(n):
        row, pivot = H[k], H[k, k]
        if not pivot > 0.0:
            return False
        scale(row, 1.0 / np.sqrt(pivot), k, n)
        for i in range(k + 1, n):
            add(H[i], -row[i], row, i, n)
    return True


@njit
def forward_substitute(H, V, n, columns):
    """V ← U⁻ᵀ V, all columns together."""
    for k in range(n):
        scale(V[k], 1.0 / H[k, k], 0, columns)
        for j in range(k + 1, n):
            add(V[j], -H[k, j], V[k], 0, columns)


@njit
def guess_multipliers(V, S, rhs, squares, bounds, n, count, n_E, rank):
    """Solves VᵀV λ = −(c + Vᵀy) into rhs. Columns that earlier ones repeat get λ = 0."""
    S[:count] = 0.0
    for k in range(n):
        for i in range(count):
            add(S[i], V[k, i], V[k], i, S.shape[1])
    rhs[:] = 0.0
    for i in range(1, count):
        rhs[i] = -(S[0, i] + bounds[i])
        squares[i] = S[i, i]
    for k in range(1, count):
        row = S[k]
        keep = row[k] > squares[k] * (rank if k <= n_E else 1e-11)
        inverse = 1.0 / np.sqrt(row[k]) if keep else 0.0
        scale(row, inverse, k, S.shape[1])
        rhs[k] *= inverse
        for i in range(k + 1, count):
            add(S[i], -row[i], row, i, S.shape[1])
            rhs[i] -= row[i] * rhs[k]
    for k in range(count - 1, 0, -1):
        total = rhs[k]
        for i in range(k + 1, count):
            total -= S[k, i] * rhs[i]
        rhs[k] = total / S[k, k] if S[k, k] > 0.0 else 0.0
    rhs[0] = 1.0


@njit
def guess(H, V, S, rhs, squares, bounds, n, count, n_E, rank):
    if not factor_cost(H, n):
        return 2
    forward_substitute(H, V, n, S.shape[1])
    guess_multipliers(V, S, rhs, squares, bounds, n, count, n_E, rank)
    return 0


@njit
def factor_level(T, reflector, beta, squared, left, is_pivot, pivot, rows, n, rank):
    """Turns coordinates until the rows of T are triangular; returns the next coordinate."""
    c = 0
    left[:rows] = squared[:rows]
    for _ in range(rows):
        best, most = -1, 0.0
        for t in range(rows):
            if is_pivot[t] == 0 and left[t] > most:
                best, most = t, left[t]
        if best < 0 or c >= n:
            break
        v = reflector[c]
        v[:] = 0.0
        for j in range(c, n):
            v[j] = T[best, j]
        square = dot(v, v, c, n)
        if not square > squared[best] * (rank * rank):
            left[best] = 0.0
            continue
        length, head = np.sqrt(square), v[c]
        end = -length if head > 0.0 else length
        v[c] = head - end
        beta[c] = 1.0 / (square + abs(head) * length)
        for j in range(c, n):
            T[best, j] = 0.0
        T[best, c] = end
        is_pivot[best], pivot[c] = 1, best
        for k in range(rows):
            if is_pivot[k] == 0:
                add(T[k], -(dot(T[k], v, c, n) * beta[c]), v, c, n)
                left[k] -= T[k, c] * T[k, c]
        c += 1
    return c


# --- the same in C --------------------------------------------------------------------------------------------------


def fields() -> list[str]:
    """Members of the struct of the solver in C, in their order."""
    import re

    text = (Path(__file__).parent / "active_set.c").read_text()
    public = text[text.index("struct solver {") : text.index("#define DECLARE_REAL")]
    public = re.sub(r"/\*.*?\*/", "", public, flags=re.S)
    names = [
        name.strip(" *") for line in re.findall(r"(?:integer|double) ([^;]*);", public) for name in line.split(",")
    ]
    workspace = text[text.index("#define WORKSPACE(REAL, INTEGER)") : text.index("struct solver {")].split("\n", 1)[1]
    return names + re.findall(r"(?:REAL|INTEGER)\((\w+),", workspace)


class InC:
    """Calls the functions in C on NumPy arrays."""

    def __init__(self, clang: str) -> None:
        import build

        from equipoise.machine import cpu

        text = build.neutral_text(Path(__file__).parent / "trial.c", clang)
        self.code = cpu.LoadedCode(build.optimised(text))
        self.at = {name: k for k, name in enumerate(fields())}
        self.table = np.zeros(len(self.at), np.int64)

    def set(self, **values):
        for name, value in values.items():
            self.table[self.at[name]] = value if isinstance(value, int) else value.ctypes.data
        self.kept = values

    def function(self, name, *types):
        return self.code.function(name, ctypes.c_void_p, *types, release_lock=False)


def aligned(*shape):
    """Zeros whose rows start at cache lines."""
    count = int(np.prod(shape))
    room = np.zeros(count + 16)
    start = (-room.ctypes.data // 8) % 8
    return room[start : start + count].reshape(shape)


def fastest(prepare, call, count=3000):
    best = 1e9
    for _ in range(count):
        prepare()
        begin = time.perf_counter_ns()
        call()
        best = min(best, time.perf_counter_ns() - begin)
    return best / 1e3


def compare(clang: str) -> None:
    rng, n, n_E, count = np.random.default_rng(0), 36, 12, 35
    wide, columns = 40, 40
    H0, V0 = aligned(n, wide), aligned(n, columns)
    root = rng.normal(size=(n, n))
    H0[:, :n] = root @ root.T + np.eye(n)
    V0[:, :count] = rng.normal(size=(n, count))
    H, V, S = aligned(n, wide), aligned(n, columns), aligned(columns, columns)
    rhs, squares, bounds, e = aligned(columns), aligned(columns), aligned(columns), aligned(columns)
    T0, squared, left, beta = aligned(60, wide), aligned(64), aligned(64), aligned(wide)
    T0[:, :n] = rng.normal(size=(60, n))
    squared[:60] = (T0**2).sum(axis=1)
    T, reflector = aligned(60, wide), aligned(n, wide)
    is_pivot, pivot = np.zeros(64, np.int64), np.zeros(n, np.int64)
    lower, guessed, sides = aligned(64), np.arange(64), aligned(64)

    def renew():
        H[:], V[:] = H0, V0

    def again():
        T[:] = T0
        is_pivot[:] = 0

    own = InC(clang)
    rank = np.array([1e-8]).view(np.int64)
    own.set(n=n, n_E=n_E, wide=wide, H=H, V=V, S=S, rhs=rhs, squares=squares, e=e, lower=lower, upper=lower,
            sides=sides, guessed=guessed, guess_rank=int(rank[0]), T=T, squared=squared, left=left, beta=beta,
            reflector=reflector, is_pivot=is_pivot, pivot=pivot)  # fmt: skip
    address = own.table.ctypes.data
    c_guess = own.function("trial_guess", ctypes.c_int64)
    c_factor = own.function("trial_factor", ctypes.c_int64, ctypes.c_double)
    compile_start = time.perf_counter()
    renew()
    guess(H, V, S, rhs, squares, bounds, n, count, n_E, 1e-8)
    factor_level(T, reflector, beta, squared, left, is_pivot, pivot, 60, n, 1e-8)
    compiled = time.perf_counter() - compile_start
    expected = rhs.copy()
    renew()
    assert c_guess(address, count) == 0
    assert np.allclose(rhs, expected, rtol=1e-9)
    again()
    one = factor_level(T, reflector, beta, squared, left, is_pivot, pivot, 60, n, 1e-8)
    kept = T.copy()
    again()
    assert c_factor(address, 60, 1e-8) == one and np.allclose(T, kept)
    refers_to_runtime()
    print(f"import of Numba {IMPORTED:.2f} s, compilation of the two {compiled:.2f} s")
    empty = fastest(lambda: None, lambda: nothing(H, V, S, rhs, squares, bounds, n, count, n_E, 1e-8))
    of_guess, of_level = (H, V, S, rhs, squares, bounds, n, count, n_E, 1e-8), (60, n, 1e-8)
    level = T, reflector, beta, squared, left, is_pivot, pivot
    for _ in range(3):
        in_numba, in_c = fastest(renew, lambda: guess(*of_guess)), fastest(renew, lambda: c_guess(address, count))
        print(f"guess:  Numba {in_numba:.2f} µs (of which the call {empty:.2f}), C {in_c:.2f} µs")
        in_numba = fastest(again, lambda: factor_level(*level, *of_level))
        print(f"factor: Numba {in_numba:.2f} µs, C {fastest(again, lambda: c_factor(address, 60, 1e-8)):.2f} µs")


@njit
def nothing(H, V, S, rhs, squares, bounds, n, count, n_E, rank):
    return 0


def refers_to_runtime():
    """LLVM text of a function over plain addresses: what it still refers to."""
    import re

    from numba import carray, cfunc, types

    @cfunc(types.int64(types.CPointer(types.double), types.int64), **{k: v for k, v in FLAGS.items() if k != "nogil"})
    def entry(H, n):
        return 0 if factor_cost(carray(H, (n, 40)), n) else 2

    text = entry.inspect_llvm()
    outside = sorted(set(re.findall(r"@(NRT\w+|numba\w+|Py\w+)", text)))
    print(f"LLVM text of a cfunc of factor_cost: {len(text)} bytes, refers to {outside}")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    compare(sys.argv[1])
