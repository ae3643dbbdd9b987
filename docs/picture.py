"""Draws the picture of the README: built-in robots in their standing postures, with their centres of mass."""

from pathlib import Path

import numpy as np

import equipoise as eq
from equipoise.model.posture import link_poses
from equipoise.model.types import Shape
from equipoise.robot import Robot

Array = np.ndarray


def draw(robot: Robot, q: Array, *, azimuth: float = 0.6, elevation: float = 0.15, scale: float = 220.0) -> str:
    """SVG text of the robot's collision shapes, its centre of mass and the ground, in parallel projection."""
    view = _view(azimuth, elevation)
    poses = link_poses(robot.model, q)
    shapes = [
        (poses[name] @ shape.X, shape)
        for name, link in robot.model.links.items()
        for shape in link.collisions or link.visuals
    ]
    drawn = sorted(((float((view @ X[:3, 3])[2]), X, shape) for X, shape in shapes), key=lambda item: item[0])
    lines = [line for depth, X, shape in drawn for line in _outline(view, X, shape, scale, depth)]
    c = view @ robot.com(q) * scale
    lines.append(f'<circle cx="{c[0]:.1f}" cy="{-c[1]:.1f}" r="5" fill="#d9480f"/>')
    ground = view @ np.array([*robot.com(q)[:2], 0.0]) * scale
    plumb = f'x1="{c[0]:.1f}" y1="{-c[1]:.1f}" x2="{ground[0]:.1f}" y2="{-ground[1]:.1f}"'
    lines.append(f'<line {plumb} stroke="#d9480f" stroke-dasharray="3 4"/>')
    return "\n".join(lines)


def svg(groups: list[tuple[float, str]], width: int, height: int) -> str:
    """Drawings side by side, each at its own place along the ground, as one file."""
    ground = height - 40
    parts = [f'<g transform="translate({x:.0f} {ground})">\n{drawing}\n</g>' for x, drawing in groups]
    line = f'<line x1="20" y1="{ground}" x2="{width - 20}" y2="{ground}" stroke="#adb5bd"/>'
    frame = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    return "\n".join([frame, '<rect width="100%" height="100%" fill="#ffffff"/>', line, *parts, "</svg>", ""])


def _view(azimuth: float, elevation: float) -> Array:
    """Rows: right, up and towards the eye."""
    forward = np.array([np.cos(azimuth) * np.cos(elevation), np.sin(azimuth) * np.cos(elevation), np.sin(elevation)])
    right = np.cross([0.0, 0.0, 1.0], forward)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(forward, right), forward])


def _outline(view: Array, X: Array, shape: Shape, scale: float, depth: float) -> list[str]:
    shade = int(np.clip(150 + 180 * depth, 90, 200))
    fill, edge = f"#{shade:02x}{min(shade + 18, 255):02x}{min(shade + 42, 255):02x}", "#495057"
    if shape.kind in ("capsule", "cylinder"):
        radius, length = shape.size[:2]
        ends = [view @ (X @ np.array([0, 0, s * length / 2, 1.0]))[:3] * scale for s in (-1, 1)]
        (x1, y1, _), (x2, y2, _) = ends
        segment = f'x1="{x1:.1f}" y1="{-y1:.1f}" x2="{x2:.1f}" y2="{-y2:.1f}" stroke-linecap="round"'
        width = 2 * radius * scale
        return [
            f'<line {segment} stroke="{edge}" stroke-width="{width + 1.5:.1f}"/>',
            f'<line {segment} stroke="{fill}" stroke-width="{width:.1f}"/>',
        ]
    if shape.kind == "sphere":
        c = view @ X[:3, 3] * scale
        radius = shape.size[0] * scale
        return [f'<circle cx="{c[0]:.1f}" cy="{-c[1]:.1f}" r="{radius:.1f}" fill="{fill}" stroke="{edge}"/>']
    if shape.kind == "box":
        return [_box(view, X, shape.size, scale, fill, edge)]
    return []


def _box(view: Array, X: Array, size: tuple[float, ...], scale: float, fill: str, edge: str) -> str:
    from scipy.spatial import ConvexHull

    corners = np.array([[sx, sy, sz] for sx in (-1, 1) for sy in (-1, 1) for sz in (-1, 1)]) * np.array(size) / 2
    flat = ((corners @ X[:3, :3].T + X[:3, 3]) @ view.T)[:, :2] * scale
    outline = " ".join(f"{x:.1f},{-y:.1f}" for x, y in flat[ConvexHull(flat).vertices])
    return f'<polygon points="{outline}" fill="{fill}" stroke="{edge}"/>'


human, quadruped, arm = eq.load("human"), eq.load("quadruped"), eq.load("arm7")
reaching = human.standing()
for name, angle in {"left_shoulder_pitch": -1.4, "right_shoulder_pitch": 0.5, "lumbar_pitch": 0.2}.items():
    reaching[human.joints[name].q] += angle
q_arm = arm.neutral() + np.array([0.3, 0.6, 0.2, -1.2, 0.1, 0.9, 0.0])
groups = [
    (130, draw(human, human.standing(), azimuth=0.5)),
    (340, draw(human, reaching, azimuth=-0.9)),
    (580, draw(quadruped, quadruped.standing(), azimuth=0.9)),
    (800, draw(arm, q_arm, azimuth=0.9)),
]
folder = Path(__file__).parent
(folder / "robots.svg").write_text(svg(groups, 920, 470), encoding="utf-8")
print("docs/robots.svg")
