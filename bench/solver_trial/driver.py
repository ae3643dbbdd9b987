"""Runs any Python program with the solver in C beside the present one (`python driver.py both.so … `), and counts.

python bench/solver_trial/driver.py build/compare.so both -m pytest tests/control/test_active_set.py
"""

from __future__ import annotations

import ctypes
import runpy
import sys
from functools import cache

from equipoise.control.qp.loops import main


def install(library: str, mode: str) -> ctypes.CDLL:
    """Replaces the compiled solver by the one of a library: `ours` or `both`."""
    code, (present, collect) = ctypes.PyDLL(library), main.compiled()
    code.set_reference(present)
    own = code.solve_both if mode == "both" else code.solve_in_c
    own.argtypes, own.restype = [ctypes.c_void_p], ctypes.c_int32
    main.compiled = cache(lambda: (own, collect))
    return code


def report(code: ctypes.CDLL) -> str:
    found = (ctypes.c_double * 8).in_dll(code, "found")
    words = "calls, other status, other sides, other changes, other hints, worst x, x beyond 1e-9, worst multiplier"
    statuses = list((ctypes.c_int64 * 16).in_dll(code, "statuses"))
    return f"{dict(zip(words.split(', '), found, strict=True))} statuses {statuses}"


if __name__ == "__main__":
    code = install(sys.argv[1], sys.argv[2])
    sys.argv = sys.argv[3:]
    try:
        if sys.argv[0] == "-m":
            sys.argv = sys.argv[1:]
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        print(report(code))
