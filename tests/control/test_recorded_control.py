"""Recorded sequences of whole-body control: the same active sets, statuses, numbers and sentences as before."""

from __future__ import annotations

import pytest
import records
from recorded_problems import SCENES, calls, recorded


@pytest.mark.delicate
@pytest.mark.parametrize("name", SCENES)
def test_recorded_control(name):
    scene = SCENES[name]()
    answers = {f"call {k}": recorded(solution) for k, solution in enumerate(calls(scene))}
    c = scene.controller
    found = {
        "names": list(c.step.names), "counts": dict(c.counts), "start": list(c.start_report), "shown": repr(c),
        "weights": c.regularisation, "parameters": c.step.p,
    }  # fmt: skip
    records.check(f"control_{name}", found | answers, rtol=1e-6, atol=1e-7)
