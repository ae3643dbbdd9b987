"""Short runs on every plant, with everything that can be touched, are what they were."""

from __future__ import annotations

import pytest
import records
from scenes import MOVING, PLANTS, THINGS, ball_run, crate_run, dog_run, mixed_run, run_data

pytest.importorskip("mujoco")
NEAR = dict(rtol=1e-6, atol=1e-7)  # solvers of contact end at a tolerance


@pytest.mark.delicate
@pytest.mark.parametrize("name", PLANTS)
def test_recorded_crates_on_things(name):
    plant, options = PLANTS[name]
    worlds = THINGS | ({} if plant == "ideal" else MOVING)
    found = {what: run_data(crate_run(plant, options | world)) for what, world in worlds.items()}
    records.check(f"simulate_crate_{name.replace(' ', '_')}", found, **NEAR)


@pytest.mark.delicate
def test_recorded_quadruped_on_plants():
    options = dict(friction=0.6)
    found = {plant: run_data(dog_run(plant, **options)) for plant in ("ideal", "hard", "soft", "mujoco")}
    physics = dict(damping=True, joint_friction=True, armature=True, springs=False)
    found["mujoco that resists"] = run_data(dog_run("mujoco", **physics))
    found["mujoco without limits"] = run_data(
        dog_run("mujoco", joint_limits=False, contacts=(), collision="links", self_collision=True)
    )
    records.check("simulate_quadruped", found, **NEAR)


@pytest.mark.delicate
def test_recorded_joint_types_on_plants():
    found = {plant: run_data(mixed_run(plant)) for plant in ("ideal", "hard", "soft", "mujoco")}
    found |= {f"a ball, {plant}": run_data(ball_run(plant)) for plant in ("ideal", "hard", "soft", "mujoco")}
    records.check("simulate_joint_types", found, **NEAR)
