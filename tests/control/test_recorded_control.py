"""Recorded sequences of whole-body control: the same active sets, statuses, numbers and sentences as before."""

from __future__ import annotations

from typing import Any

import pytest
import records
from recorded_problems import SCENES, calls, recorded

from equipoise.control.controller.frame_targets import frame_targets


@pytest.mark.delicate
@pytest.mark.parametrize("name", SCENES)
def test_recorded_control(name):
    scene = SCENES[name]()
    before: dict[str, Any] = {}
    answers = {f"call {k}": recorded(solution, before) for k, solution in enumerate(calls(scene))}
    c = scene.controller
    q = scene.states[0][0]
    found = {
        "names": list(c.step.names), "counts": dict(c.counts), "start": list(c.start_report), "shown": repr(c),
        "targets": frame_targets(c, c.robot, q),
        "weights": c.regularisation, "table": c._repr_html_(), "solution": c(3.0, *scene.states[0])._repr_html_(),
        "in force": sorted(c.in_force), "state": [list(part) for part in c.snapshot()[:2]],
         "parameters": c.step.p,
    }  # fmt: skip
    records.check(f"control_{name}", found | answers, rtol=1e-6, atol=1e-7)
