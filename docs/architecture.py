"""Draws the layers of the package and what passes between them: `python docs/architecture.py`."""

from __future__ import annotations

from pathlib import Path

# From top to bottom: packages of a layer with what they do, and what passes to the layers below.
LAYERS = [
    ([("errors", "files, clock"), ("algebra", "rotations, motions")], "used everywhere"),
    ([("model", "links, joints, frames, limits; readers of URDF and MJCF")], "an immutable tree"),
    ([("equations", "each rigid-body algorithm, written once on symbols")], "expressions"),
    ([("machine", "traces, optimises and compiles: LLVM, CUDA, C; the cache")], "kernels: one state or a batch"),
    ([("forms", "any base frame, charts, centroidal, constrained")], "equations of motion"),
    ([("robot", "the class Robot: model, kernels and forms together")], "M, h, poses, Jacobians"),
    (
        [("convert", "other libraries"), ("autograd", "PyTorch, JAX"), ("geometry", "distances, capsules")],
        "distances and their derivatives",
    ),
    ([("balance", "centre of mass, contacts, support regions")], "contact constraints"),
    ([("body", "feet, hands, standing posture; inverse kinematics")], "roles of links"),
    ([("control", "tasks, contacts, constraints → one quadratic program")], "whole-body controllers"),
    ([("walking", "standing, walking, trot, climb, hop")], "behaviours"),
    ([("estimation", "state, contacts and inertias from sensors")], "estimated q, v"),
    ([("simulate", "plants, sensors, motors, scenarios")], "a Run"),
    ([("show", "viewer, plots, reports")], ""),
    ([("study", "many runs, on one machine or a cluster")], ""),
    ([("bench", "time and accuracy beside other libraries")], ""),
    ([("papers", "results of five papers, row by row")], ""),
    ([("cli", "the command equipoise")], ""),
]
WIDTH, ROW, GAP, LEFT, BOX = 820, 36, 20, 20, 560
STYLE = """
  <style>
    text { font: 13px system-ui, sans-serif; fill: #212529; }
    .name { font-weight: 600; }
    .flow { font-style: italic; fill: #495057; }
    rect { fill: #e6f4f1; stroke: #00897b; rx: 5px; }
    .base { fill: #f1f3f5; stroke: #868e96; }
    .loop { fill: none; stroke: #d9480f; stroke-width: 1.6; }
    .loop-text { fill: #d9480f; }
    line { stroke: #00897b; stroke-width: 1.6; }
  </style>
  <defs>
    <marker id="end" markerWidth="8" markerHeight="8" refX="6" refY="3" orient="auto">
      <path d="M0,0 L6,3 L0,6" fill="none" stroke="context-stroke"/>
    </marker>
  </defs>"""


def row(packages: list[tuple[str, str]], y: float, kind: str = "") -> list[str]:
    """Returns the boxes of one layer, side by side."""
    share = (BOX - 10 * (len(packages) - 1)) / len(packages)
    parts = []
    for k, (name, what) in enumerate(packages):
        x = LEFT + k * (share + 10)
        parts.append(f'<rect class="{kind}" x="{x:.0f}" y="{y}" width="{share:.0f}" height="{ROW}"/>')
        if len(packages) == 1:
            parts.append(f'<text x="{x + 12:.0f}" y="{y + 23}"><tspan class="name">{name}</tspan>  {what}</text>')
        else:
            parts.append(f'<text class="name" x="{x + 10:.0f}" y="{y + 15}">{name}</text>')
            parts.append(f'<text x="{x + 10:.0f}" y="{y + 30}">{what}</text>')
    return parts


def drawing() -> str:
    """Returns the SVG."""
    parts, y, at = [], 16.0, dict[str, float]()
    middle = LEFT + BOX / 2
    for k, (packages, flow) in enumerate(LAYERS):
        parts += row(packages, y, "" if k else "base")
        at |= {name: y + ROW / 2 for name, _ in packages}
        y += ROW
        if flow:
            parts.append(_arrow(y, y + GAP - 4))
            parts.append(f'<text class="flow" x="{middle + 10}" y="{y + 14}">{flow}</text>')
        y += GAP if flow else 8
    source = f'<text class="flow" x="{LEFT + BOX + 12}" y="{at["model"] + 5}">← URDF, MJCF, RobotBuilder</text>'
    parts.append(source)
    right, top, bottom = LEFT + BOX, at["control"], at["simulate"]
    for start, end, x in ((top - 8, bottom + 8, right + 130), (bottom - 8, top + 8, right + 80)):
        path = f"M{right + 3},{start} H{x} V{end} H{right + 8}"
        parts.append(f'<path class="loop" d="{path}" marker-end="url(#end)"/>')
    parts.append(f'<text class="loop-text" x="{right + 10}" y="{top - 14}">torques</text>')
    parts.append(f'<text class="loop-text" x="{right + 10}" y="{bottom - 14}">q, v</text>')
    parts.append(f'<text class="loop-text" x="{right + 140}" y="{(top + bottom) / 2}">control loop</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 8:.0f}" role="img">'
    title = "<title>Layers of Equipoise and the data that flows between them</title>"
    white = '<rect x="0" y="0" width="100%" height="100%" style="fill: #ffffff; stroke: none"/>'
    return "\n".join([head, title, STYLE, white, *parts, "</svg>", ""])


def _arrow(start: float, end: float) -> str:
    x = LEFT + BOX / 2
    return f'<line x1="{x}" y1="{start}" x2="{x}" y2="{end}" marker-end="url(#end)"/>'


if __name__ == "__main__":
    path = Path(__file__).with_suffix(".svg")
    path.write_text(drawing(), encoding="utf-8")
    print(f"docs/{path.name}")
