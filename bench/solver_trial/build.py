"""Builds the solver in C as LLVM text, optimises it for this processor as the package would, and writes an object file.

python bench/solver_trial/build.py active_set.c build/active_set.o --clang "python-zig cc"
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import tempfile
import time
from pathlib import Path

from equipoise.machine import cpu

# Nothing may depend on the builder's machine: no passes, no processor, no C library beyond sqrt and fabs.
FLAGS = """
    -std=c99 -O2 -Xclang -disable-llvm-passes -S -emit-llvm -g0 -ffp-contract=fast -fno-math-errno -fno-builtin-memset
    -fno-builtin-memcpy -fno-stack-protector -fno-sanitize=all -fno-unwind-tables -fno-asynchronous-unwind-tables
"""


def neutral_text(source: Path, clang: str) -> str:
    """Returns the LLVM text of a C file without what is of one processor or one compiler."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made.ll"
        subprocess.run([*shlex.split(clang), *FLAGS.split(), "-o", str(made), str(source)], check=True)
        text = re.sub(r"^(target|source_filename|; ModuleID).*\n", "", made.read_text(), flags=re.M)
    return re.sub(r'"[\w-]+"="[^"]*" ?', "", text)  # attributes of functions that name a processor


def optimised(text: str) -> bytes:
    llvm, machine = cpu._llvm(), cpu._target_machine()
    parsed = llvm.parse_assembly(text)
    parsed.triple = cpu.host()[0]
    parsed.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(parsed, builder)
    return machine.emit_object(parsed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    parser.add_argument("object", type=Path)
    parser.add_argument("--clang", default="clang")
    given = parser.parse_args()
    text = neutral_text(given.source, given.clang)
    given.object.with_suffix(".ll").write_text(text)
    start = time.process_time()
    made = optimised(text)
    seconds = time.process_time() - start
    print(f"{len(text)} bytes of LLVM text, {seconds:.2f} s to optimise, {len(made)} bytes of object")
    given.object.write_bytes(made)
