"""Records keep where the plan sets feet down, and where it could, as viewers draw it."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import equipoise as eq


@functools.cache
def walked(name: str) -> tuple[eq.Walking, eq.Run]:
    """Forward and to the left, turning."""
    walker = eq.Walking(eq.load(name))
    walker.command(0.3, 0.0, 0.3, at=0.1)
    assert walker.outlines(walker.q0) == {} and walker.phase == "stand"
    run = eq.simulate(walker.robot, walker, q0=walker.q0, duration=2.5)
    assert run.outcome == "completed"
    return walker, run


@pytest.mark.parametrize(("name", "feet"), [("human", 1), ("quadruped", 2)])
def test_feet_in_the_air_are_drawn_where_they_will_stand(name, feet):
    """At the middle of a swing the reference of a foot is where it then touches down, turned with the command."""
    walker, run = walked(name)
    frames = [walker.body.frames[role] for role in walker.body.feet]
    planned = {frame: run.references[frame] for frame in frames}
    count = np.sum([np.isfinite(planned[frame][:, 0]) for frame in frames], axis=0)
    assert set(count[count > 0].tolist()) == {feet}  # those of one step, and none while all stand
    for frame in frames:
        seen = np.flatnonzero(np.isfinite(planned[frame][:, 0]))
        gap = np.flatnonzero(np.diff(seen) > 100)  # rows: from one step of this foot to its next
        last = seen[gap[-1]]  # a moment before it stands
        X = walker.robot.pose(run.q[last + 100], frame)
        assert np.abs(planned[frame][last, :3] - X[:3, 3]).max() < 0.01
        w, *_, z = planned[frame][last, 3:]
        assert 2 * np.arctan2(z, w) == pytest.approx(np.arctan2(X[1, 0], X[0, 0]), abs=0.05)
        assert 2 * np.arctan2(z, w) > 0.1


@pytest.mark.parametrize("name", ["human", "quadruped"])
def test_the_outline_is_the_polygon_that_the_plan_keeps_to(name):
    """Its corners are where edges of the reach meet, seen from the stance foot; the planned place is within."""
    walker, run = walked(name)
    steppers = walker.whole_body.steppers
    assert set(run.outlines) == {f"reach of the {foot}" for foot in steppers}
    for foot, stepper in enumerate(steppers):
        told = run.outlines[f"reach of the {stepper}"]
        rows = np.flatnonzero(np.isfinite(told[:, 0, 0]))
        normals, offsets = walker.gait.reach.rows(1.0 if foot == 0 else -1.0)
        assert len(rows) > 10
        for row in rows:
            soles = walker.whole_body.soles(run.q[row])
            X, yaw = soles[1 - foot], np.arctan2(*soles[1 - foot][[1, 0], 0])
            R = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
            gaps = offsets - (told[row, :, :2] - X[:2, 3]) @ R @ normals.T
            assert gaps.min() > -1e-6 and ((gaps < 1e-6).sum(axis=1) >= 2).all()
            assert np.abs(told[row, :, 2] - X[2, 3]).max() < 0.05  # on the ground, as far as its slope is known
            planned = [run.references[walker.body.frames[role]][row, :2] for role in stepper.split(" and ")]
            place = R.T @ (np.mean(planned, axis=0) - X[:2, 3])
            # not yet planned in the transfer; what was planned before the foot's last moment may be a little outside
            assert np.isnan(place).any() or (offsets - normals @ place).min() > -0.01


def test_phases_follow_each_other_and_name_the_foot_that_swings():
    _, run = walked("human")
    times, names = zip(*run.phases, strict=True)
    assert names[:4] == ("stand", "shift", "transfer", "left foot swings") and "right foot swings" in names
    assert times[0] == 0.0 and (np.diff(times) > 0).all()
    for time, name, following in zip(times, names, names[1:], strict=False):
        if name == "transfer":
            assert following.endswith("swings")
            assert np.isfinite(run.forces["left foot"][round(1e3 * time) + 5, 0])  # both feet carry
            assert np.isfinite(run.forces["right foot"][round(1e3 * time) + 5, 0])
