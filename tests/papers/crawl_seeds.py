"""The crawl of row B6 with other seeds of the sensor noise, on each instruction set; resumable.

    make crawl-seeds ARGS="--seeds 20 --file out/crawl.jsonl"     # or python tests/papers/crawl_seeds.py …

Each run is a process of its own, because the instruction set is chosen when the package is imported, and writes one
line to the file. Runs that have a line there are not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

# EQUIPOISE_CPU and OPENBLAS_CORETYPE; empty for this machine's own
PROCESSORS = {"native": ("", ""), "avx2": ("avx2", "Haswell"), "sse": ("sse", "Nehalem")}
WANTED = 0.95  # of the seeds on each instruction set


def one(seed: int) -> dict[str, object]:
    """Runs the crawl with one seed in this process; its figures that are not good, and the nearest to a limit."""
    from equipoise.papers import bk12_crawl

    machine = bk12_crawl.crawling()
    run = bk12_crawl.crawl(machine, seed=seed)
    figures = list(bk12_crawl.figures_of(machine, run))
    bad = [f"{figure.what}: {figure.ours}" for figure in figures if not figure.good]
    return {"good": not bad, "bad": bad, "seconds_of_motion": float(run.t[-1])}


def done(file: Path) -> list[dict[str, object]]:
    """The runs in the file."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def missing(file: Path, processors: list[str], seeds: int) -> Iterator[tuple[int, str]]:
    """Runs without a line in the file, all processors of one seed before the next seed."""
    known = {(line["seed"], line["processor"]) for line in done(file)}
    for seed in range(seeds):
        yield from ((seed, name) for name in processors if (seed, name) not in known)


def run_one(file: Path, seed: int, processor: str) -> None:
    """Runs one seed in a process of its own and adds its line to the file."""
    own, blas = PROCESSORS[processor]
    names = {"EQUIPOISE_CPU": own, "OPENBLAS_CORETYPE": blas}
    environment = {**os.environ, **{name: value for name, value in names.items() if value}}
    start = time.time()
    ran = subprocess.run(
        [sys.executable, __file__, "--one", str(seed)], env=environment, text=True, capture_output=True
    )
    if ran.returncode:
        raise SystemExit(f"seed {seed} on {processor} stopped with an error:\n{ran.stderr[-2000:]}")
    found = json.loads(ran.stdout.strip().splitlines()[-1])
    line = {"seed": seed, "processor": processor, **found, "seconds": round(time.time() - start)}
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as out:
        out.write(json.dumps(line) + "\n")
    print(line, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--processors", nargs="+", default=list(PROCESSORS), choices=PROCESSORS)
    parser.add_argument("--file", type=Path, default=Path("out/crawl-seeds.jsonl"))
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        print(json.dumps(one(given.one)))
        return 0
    for seed, processor in missing(given.file, given.processors, given.seeds):
        run_one(given.file, seed, processor)
    lines, enough = done(given.file), True
    for name in given.processors:
        good = [bool(line["good"]) for line in lines if line["processor"] == name]
        enough = enough and sum(good) >= WANTED * given.seeds
        print(f"{name}: {sum(good)} of {len(good)} seeds complete")
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
