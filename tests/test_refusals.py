"""Impossible and contradictory requests on the command line end non-zero, with a sentence that names the cause."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import equipoise as eq
from equipoise.cli import app
from equipoise.model.urdf_writer import write_urdf


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Robots that are too weak or too heavy, a run, and a study."""
    place = tmp_path_factory.mktemp("refusals")
    robot = eq.load("quadruped")
    weak = robot.with_limits(list(robot.joints), effort=2.0)
    loaded = robot.with_inertia("trunk", mass=600.0, inertia=(6.0, 18.0, 20.0))
    (place / "weak.urdf").write_text(write_urdf(weak.model))
    (place / "loaded.urdf").write_text(write_urdf(loaded.model))
    (place / "bad.toml").write_text('robot = "human"\nduration = nan\n')
    (place / "study.py").write_text("def works(x):\n    return x\n\ndef fails(x):\n    raise ValueError('no')\n")
    arm = eq.load("arm6")
    still = SimpleNamespace(torque=np.zeros(arm.nv))
    eq.simulate(arm, lambda t, q, v: still, plant="ideal", duration=0.01).save(place / "run.npz")
    return place


REQUESTS = [
    ("stand {0}/weak.urdf", "joint '.*knee' needs 11.* N m and has 2"),
    ("walk {0}/weak.urdf", "joint '.*knee' needs 11.* N m and has 2"),
    ("stand {0}/loaded.urdf", "too weak to stand: joint"),
    ("stand arm6", "arm6' cannot stand"),
    ("walk arm6", "arm6' cannot walk"),
    ("walk quadruped --speed nan", "finite numbers; got nan"),
    ("walk quadruped --turn inf", "finite numbers; got .*inf"),
    ("walk quadruped --duration 0", "duration is a number of seconds above 3.*got 0"),
    ("walk quadruped --duration -5", "got -5"),
    ("walk quadruped --duration nan", "got nan"),
    ("walk quadruped --duration 1", "seconds above 3.*got 1"),
    ("walk quadruped --seed -1", "seed"),
    ("walk quadruped --push hard", "a push is three numbers"),
    ("walk quadruped --push 20,1,1 --duration 5", "within the 5 s of the walk.*20,1,1"),
    ("walk quadruped --push 1,nan,1", "is finite; got '1,nan,1'"),
    ("walk quadruped --body {0}/none.toml", "none.toml"),
    ("walk quadruped --out {0}", "it is a folder"),
    ("walk quadruped --out {0}/no/run.npz", "there is no folder '.*no'"),
    (
        "walk quadruped --out {0}/a.html --report {0}/a.html",
        "two outputs would be the same file",
    ),
    ("walk quadruped --report /dev/null", "not a plain file"),
    ("stand quadruped --report {0}/no/a.html", "there is no folder"),
    ("stand quadruped --save {0}/no/a.toml", "there is no folder"),
    ("run no_such_scenario", "no_such_scenario"),
    ("run stand_and_squat --seeds 0", "1 or more; got 0"),
    ("run stand_and_squat --seed -1", "seed"),
    ("run stand_and_squat --out {0}/no/run.npz", "there is no folder"),
    ("run stand_and_squat --seeds 2 --report {0}/a.html", "a report shows one run"),
    ("run stand_and_squat --robot arn6", "no robot named 'arn6'"),
    ("run {0}/bad.toml", "duration"),
    ("demo --picture {0}/a.bmp", "pictures end in .png"),
    ("replay {0}/none.npz", "no file"),
    ("replay {0}/run.npz --out {0}/no/b.npz", "there is no folder"),
    ("report {0}/none.npz", "no file"),
    ("report {0}/run.npz --rate 0", "rate is pictures per second.*got 0"),
    ("report {0}/run.npz --rate nan", "rate is pictures per second.*got nan"),
    ("report {0}/run.npz -o {0}", "it is a folder"),
    ("study {0}/study.py:works x=", "wanted name=values"),
    ("study {0}/study.py:missing x=1", "missing"),
    ("study {0}/study.py:works x=1 -o {0}/no/t.npz", "there is no folder"),
    ("study {0}/study.py:works x=1 -o {0}/t.txt", "tables are .npz or .parquet"),
    ("study {0}/study.py:works x=1 --plot {0}/t.bmp", "pictures end in"),
    ("study {0}/study.py:works x=1 --workers 0", "workers is a whole number"),
    ("study {0}/study.py:fails x=1,2 --workers 1", "run 0 failed: ValueError: no"),
    ("reproduce T99", "no row named 'T99'"),
    ("reproduce T7 --html {0}", "it is a folder"),
    ("bench nonsense", "no bench named 'nonsense'"),
    ("info arn6", "no robot named 'arn6'"),
]


@pytest.mark.parametrize(("request_", "cause"), REQUESTS, ids=[text for text, _ in REQUESTS])
def test_a_request_that_cannot_be_met_is_refused_with_its_cause(request_, cause, folder):
    result = CliRunner().invoke(app, request_.format(folder).split())
    assert result.exit_code != 0
    assert result.exception is None or isinstance(result.exception, eq.EquipoiseError | SystemExit)
    said = " ".join(f"{result.output} {result.exception or ''}".split())
    assert re.search(cause, said), said
