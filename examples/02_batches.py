"""A thousand states at once, and what it costs per state."""

from time import perf_counter

import numpy as np

import equipoise as eq

robot = eq.load("quadruped")
rng = np.random.default_rng(0)
q, v = (np.stack(column) for column in zip(*(robot.random_state(rng) for _ in range(1000)), strict=True))

tau = robot.inverse_dynamics(q, v, np.zeros_like(v))  # the first call compiles
begin = perf_counter()
for _ in range(100):
    robot.inverse_dynamics(q, v, np.zeros_like(v), out=tau)
per_state = (perf_counter() - begin) / 100 / len(q)
print(f"inverse dynamics of {len(q)} states: {1e9 * per_state:.0f} ns each")

f = robot.inverse_dynamics(q.astype(np.float32), v.astype(np.float32), np.zeros_like(v, dtype=np.float32))
print("float32 in, float32 out:", f.dtype, "difference", np.abs(f - tau).max())
