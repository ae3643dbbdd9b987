"""What the torques of the joints say of contacts and pushes, over seeds, as the table of docs/estimation.md.

PYTHONPATH=tests/estimation python tests/estimation/touch_table.py SEEDS [ROBOT …]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

import equipoise as eq
from equipoise.simulate.estimated import driven, on_estimates
from equipoise.simulate.walk_trials import DELAY, FORWARD, varied_plant

Array = np.ndarray
LASTING = 20  # ms over which a touch must carry its mean force
LIGHT = 0.02  # of the weight: that force
FREE, STOOD = 50, 30  # ms without any force, with more than `LIGHT`, after which a foot is in the air, or stands
SETTLED = 60  # ms in the air that part two touches


class HeardEstimator(eq.Estimator):
    """An estimator that keeps what it said of touches and of the watched frame."""

    def __init__(self, *args, **options):
        self.touched, self.felt = [], []
        super().__init__(*args, **options)

    def __call__(self, *readings, **more):
        said = super().__call__(*readings, **more)
        touch = self.touch
        self.touched.append([False] * len(self.contacts) if touch is None else list(touch.touching.values()))
        self.felt.append(np.zeros(6) if touch is None or touch.external is None else touch.external)
        return said


def heard(robot, contacts, watch=None) -> dict:
    """Options of a run on estimates whose estimator is heard."""
    options = on_estimates(robot, contacts)
    plain = options["estimator"]
    own = HeardEstimator(robot, plain.imu, contacts, noise=plain.noise, prior=plain.prior, watch=watch)
    return options | {"estimator": own}


def heard_walk(walker, seed: int, metres: float) -> tuple[eq.Run, float, Array]:
    """(run, base error as a part of the way, touches said (rows, feet)) of a walk straight ahead on estimates."""
    walker.forget_commands()
    speed = FORWARD * walker.body.gains.speed
    walker.command(speed, at=0.5)
    options = heard(walker.robot, walker.contacts)
    run = eq.simulate(
        walker.robot, driven(walker.robot, walker), varied_plant(walker, seed), metres / speed + 2.0, q0=walker.q0,
        seed=seed, delay=DELAY, **options,
    )  # fmt: skip
    off = np.linalg.norm(run.estimates["q"][-1, :3] - run.q[-1, :3]) / np.linalg.norm(run.q[-1, :2] - run.q[0, :2])
    return run, float(off), np.array(options["estimator"].touched)


def pushed_stand(name: str, seed: int) -> tuple[eq.Run, Array]:
    """(run, wrench said to act on the torso (rows, 6)) of standing on estimates, pushed with 20 N from 0.6 s on."""
    standing = eq.Standing(eq.load(name))
    robot, torso = standing.robot, standing.body.frames["torso"]
    options = heard(robot, standing.contacts, watch=torso)
    push = eq.Push(torso, (20, 0, 0), 0.6, 0.9)
    run = eq.simulate(robot, driven(robot, standing), duration=1.5, q0=standing.q0, pushes=[push], seed=seed, **options)
    return run, np.array(options["estimator"].felt)


@dataclass(frozen=True)
class Touches:
    """How well touches were known: ms that each came late, and rows in which a foot was felt in the air or lost."""

    late: list[int]
    in_the_air: int
    lost: int


def touches(run: eq.Run, said: Array, names: list[str]) -> Touches:
    """Against the forces of the plant, in rows of a millisecond; a force is that of the step after its row."""
    weight = run.robot.mass * 9.80665
    late, air, lost = [], 0, 0
    for i, name in enumerate(names):
        force = np.nan_to_num(run.measured[name][:, 2])
        late += [int(np.argmax(said[k:, i])) - 1 if said[k:, i].any() else len(said) for k in touchdowns(force, weight)]
        for k in range(FREE + 10, len(force)):
            air += bool(said[k, i]) and force[k - FREE : k].max() < 0.1
            lost += not said[k, i] and force[k - STOOD : k].min() > LIGHT * weight
    return Touches(late, air, lost)


def touchdowns(force: Array, weight: float) -> list[int]:
    """Rows from which the mean force over the next 20 ms is 2 % of the weight, after some time without any."""
    ahead = np.convolve(force, np.ones(LASTING) / LASTING)[LASTING - 1 :]
    found, free, standing = [], 0, True
    for k in range(len(force) - LASTING):
        if standing:
            free = free + 1 if force[k] < 0.005 * weight else 0
            standing = free <= SETTLED
        elif ahead[k] > LIGHT * weight and force[k] > 1:
            found.append(k)
            standing, free = True, 0
    return found


def main(seeds: int, names: list[str]) -> None:
    for name in names:
        walker = eq.Walking(eq.load(name))
        for seed in range(seeds):
            run, off, said = heard_walk(walker, seed, 5.0)
            found = touches(run, said, [contact.name for contact in walker.contacts])
            print(name, seed, run.outcome, f"off {100 * off:.2f} %, {len(found.late)} touches,", end=" ")
            print(f"latest {max(found.late)} ms, {found.in_the_air} in the air, {found.lost} lost", flush=True)
            run, felt = pushed_stand(name, seed)
            wrong = felt[700:, 0] - 20
            within, rms = 100 * (np.abs(wrong) < 2).mean(), np.sqrt(np.square(wrong).mean())
            print(name, seed, f"20 N: {within:.1f} % within 2 N after 0.1 s, RMS {rms:.2f} N", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:] or ["human", "g1"])
