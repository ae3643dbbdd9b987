"""What stands: the trials of `equipoise stand` over the robots of `legged.py`, as the table of docs/body.md.

    PYTHONPATH=tests python tests/body/standing_table.py standing.json [ROBOT …]

Results are appended to the file, one line a robot; robots that are in it already are not run again.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

import legged

import equipoise as eq
from equipoise.simulate.trials import trials

CELLS = ("stands", "squats", "reaches", "pushed")


def tried(name: str) -> dict[str, object]:
    """The trials of one robot: (what, what came, what was wanted, whether it is good), or why it is refused."""
    begin, cpu = time.time(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            standing = eq.Standing(legged.robot(name))
            rows = [(t.name, t.came, t.wanted, bool(t.good)) for t in trials(standing)]
            refused = ""
        except eq.BodyError as error:
            rows, refused = [], str(error)
    return {
        "robot": name,
        "rows": rows,
        "refused": refused,
        "wall": time.time() - begin,
        "cpu": time.process_time() - cpu,
    }


def line(result: dict) -> str:
    """A row of the table; a robot that is refused fails in standing, squatting and four pushes."""
    rows = result["rows"]
    marks = []
    for word in CELLS:
        good = [row[3] for row in rows if word in row[0]]
        missing = "✗" if not rows and word != "reaches" else "–"
        marks.append(missing if not good else "✓" if all(good) else f"{sum(good)}/{len(good)}")
    missed = "; ".join(f"{what}: {came} of {wanted}" for what, came, wanted, good in rows if not good)
    said = f"refused: {result['refused']}" if result["refused"] else missed
    return f"| {result['robot']} | {' | '.join(marks)} | {sum(r[3] for r in rows)}/{len(rows) or 6} | {said} |"


def main(path: Path, names: list[str]) -> None:
    done = [json.loads(text) for text in path.read_text().splitlines()] if path.is_file() else []
    for name in names or list(legged.ALL):
        if name not in [result["robot"] for result in done]:
            done.append(tried(name))
            with path.open("a") as file:
                file.write(json.dumps(done[-1]) + "\n")
            print(f"{line(done[-1])} {done[-1]['wall']:.0f} s, {done[-1]['cpu']:.0f} s of CPU", flush=True)
    good, cells = sum(r[3] for x in done for r in x["rows"]), sum(len(x["rows"]) or 6 for x in done)
    print(f"\n{good} of {cells} cells ({good / cells:.1%}), {len(done)} robots", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
