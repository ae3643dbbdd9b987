"""The delicate tests as other processors run them: with the kernels of BLAS and the instructions of those.

    python tests/processors.py

Rounding differs from processor to processor, and a test that holds by luck on one fails on the next. OpenBLAS, which
NumPy brings, takes the name of the processor whose kernels it is to use from the environment, and so does Equipoise the
instruction set.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PYTEST = (sys.executable, "-m", "pytest", "-q", "-m", "delicate and not slow")
# OPENBLAS_CORETYPE, EQUIPOISE_CPU, and what the processor must have for both
VARIANTS = (
    ("Prescott", "sse", ("sse4.2",)),
    ("Sandybridge", "sse", ("sse4.2", "avx")),
    ("Haswell", "avx2", ("avx2", "fma")),
    ("Zen", "avx2", ("avx2", "fma")),
    ("SkylakeX", "avx512", ("avx512f", "avx512dq", "avx512vl", "avx512bw")),
)


def possible() -> list[tuple[str, str]]:
    """The variants that this machine can run; none where it is no x86-64."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return []
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    return [(blas, own) for blas, own, needed in VARIANTS if all(features.get(name) for name in needed)]


def files() -> list[str]:
    """Those that have delicate tests: collecting all others would take longer than the tests."""
    folder = Path(__file__).parent
    return [
        str(path) for path in sorted(folder.rglob("test_*.py")) if "@pytest.mark.delicate" in path.read_text("utf-8")
    ]


def failed(variants: Sequence[tuple[str, str]], command: Sequence[str]) -> list[str]:
    """Names of the variants in which the command fails, one process after the other."""
    names = []
    for blas, own in variants:
        print(f"-- OPENBLAS_CORETYPE={blas} EQUIPOISE_CPU={own}", flush=True)
        if subprocess.run(command, env=os.environ | {"OPENBLAS_CORETYPE": blas, "EQUIPOISE_CPU": own}).returncode:
            names.append(f"{blas} {own}")
    return names


if __name__ == "__main__":
    found = failed(possible(), (*PYTEST, *files()))
    print(f"the delicate tests fail as on {', '.join(found)}" if found else "the delicate tests hold on all of them")
    sys.exit(bool(found))
