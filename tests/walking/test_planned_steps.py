"""Records keep where the plan sets feet down, as viewers draw it."""

from __future__ import annotations

import numpy as np
import pytest

import equipoise as eq


@pytest.mark.parametrize(("name", "feet"), [("human", 1), ("quadruped", 2)])
def test_feet_in_the_air_are_drawn_where_they_will_stand(name, feet):
    """At the middle of a swing the reference of a foot is where it then touches down, turned with the command."""
    walker = eq.Walking(eq.load(name))
    walker.command(0.3, 0.0, 0.3, at=0.1)
    run = eq.simulate(walker.robot, walker, q0=walker.q0, duration=2.5)
    assert run.outcome == "completed"
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
