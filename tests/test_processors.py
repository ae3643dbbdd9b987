"""The repetition of the delicate tests: it says no where one of them fails."""

import platform
import sys
from pathlib import Path

import processors


def exits(expression: str) -> list[str]:
    code = f"import os, sys; sys.exit(int({expression}))"
    return processors.failed([("Haswell", "avx2"), ("Zen", "avx2"), ("Prescott", "sse")], (sys.executable, "-c", code))


def test_each_variant_is_run_under_its_names_and_those_that_fail_are_named():
    assert exits("0") == []
    assert exits("os.environ['OPENBLAS_CORETYPE'] == 'Zen'") == ["Zen avx2"]
    assert exits("os.environ['EQUIPOISE_CPU'] == 'avx2'") == ["Haswell avx2", "Zen avx2"]


def test_a_machine_runs_what_it_can():
    """Every x86-64 that NumPy supports can run the oldest of them; others run none."""
    possible = processors.possible()
    assert set(possible) <= {(blas, own) for blas, own, _ in processors.VARIANTS}
    assert (("Prescott", "sse") in possible) is (platform.machine().lower() in ("x86_64", "amd64"))


def test_files_without_delicate_tests_are_left_out():
    names = {Path(path).name for path in processors.files()}
    assert "test_batched.py" in names and "test_tasks.py" not in names
