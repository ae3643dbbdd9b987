"""A robot in words."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..robot import Robot
from .outputs import Outcome
from .tables import table


def print_summary(console: Console, robot: Robot) -> Outcome:
    """Prints links, joints, mass, centre of mass, limits and a verdict on the inertias; returns the facts."""
    q = robot.standing()
    shapes = sum(len(link.collisions) for link in robot.links.values())
    followers = sum(joint.mimic is not None for joint in robot.joints.values())
    facts = [
        ("links", f"{len(robot.links)}, {len(robot.tree.bodies)} of them moving bodies"),
        ("joints", f"{len(robot.joints)} moving" + (f", {followers} of them followers (mimic)" if followers else "")),
        ("base", "floating" if robot.floating else "fixed"),
        ("coordinates", f"nq = {robot.nq}, nv = {robot.nv}"),
        ("frames", str(len(robot.frames))),
        ("mass", f"{robot.mass:.3f} kg"),
        ("centre of mass", "({:.4f}, {:.4f}, {:.4f}) m, standing".format(*robot.com(q))),
        ("collision shapes", str(shapes)),
        ("inertias", _inertia_verdict(robot)),
    ]
    if robot.model.loops:
        facts.append(("loop closures", ", ".join(robot.model.loops)))
    console.rule(f"[bold]{escape(robot.name)}", align="left")
    grid = Table.grid(padding=(0, 2))
    for fact in facts:
        grid.add_row(*fact)
    console.print(grid)
    console.print(_joint_table(robot))
    return Outcome(
        f"{robot.name}: {robot.mass:.3f} kg, {len(robot.joints)} joints", {"name": robot.name, **dict(facts)}
    )


def _inertia_verdict(robot: Robot) -> str:
    masses = [link.inertia for link in robot.links.values() if link.inertia is not None]
    definite = sum(bool(np.linalg.eigvalsh(inertia.matrix).min() > 0) for inertia in masses)
    smallest = np.linalg.eigvalsh(robot.mass_matrix(robot.standing())).min()
    return f"{definite} of {len(masses)} positive definite; smallest eigenvalue of M is {smallest:.2e}"


def _joint_table(robot: Robot) -> Table:
    rows = []
    for joint in robot.joints.values():
        place = f"q[{joint.q.start}]" if joint.type.nq == 1 else f"q[{joint.q.start}:{joint.q.stop}]"
        if joint.mimic is not None:
            place = f"{joint.mimic.multiplier:+g} · {joint.mimic.leader} {joint.mimic.offset:+g}"
        limits = joint.limits
        rows.append(
            (joint.name, joint.type.name, place, f"{limits.lower:.3g} … {limits.upper:.3g}", f"{limits.velocity:.3g}",
             f"{limits.effort:.3g}")
        )  # fmt: skip
    return table("joints", ["name", "type", "where", "range", "velocity", "effort"], rows)
