"""Mistakes that the rows of [QO21] must notice."""

from breaking import Breakage

BREAKAGES = [
    # --- Q1
    Breakage(
        "Q1",
        "the dual part of a product loses a term",
        "algebra:multiply",
        "*(x + y for x, y in zip(left, right, strict=True))",
        "*left",
    ),
    Breakage(
        "Q1",
        "H⁻ is H⁺",
        "algebra:right_matrix",
        "[x, w, z, -y], [y, -z, w, x], [z, y, -x, w]",
        "[x, w, -z, y], [y, z, w, -x], [z, -y, x, w]",
        fast=True,
    ),
    Breakage("Q1", "the shift of a pose without its half", "algebra:translation", "0.5 * E", "E"),
    Breakage("Q1", "body twists multiply from the wrong side", "algebra:twist_of", "else x.conj * x_dot", "else x_dot * x.conj"),
    Breakage("Q1", "the screw loses its pitch", "algebra:screw_exp", "-sinc * along", "0 * along", stops=True),
    Breakage("Q1", "power of a wrench has the wrong sign", "algebra:dot", "return -(a * b", "return (a * b"),
    # --- Q2
    Breakage(
        "Q2",
        "a line's moment of the other sign",
        "geometry:point_line",
        "_cross(_minus(a.first, b.first), b.along)",
        "_cross(_minus(a.first, b.along), b.first)",
    ),
    Breakage(
        "Q2",
        "the residual forgets the world",
        "geometry:_row",
        '"residual": g.T @ by_world',
        '"residual": 0 * g.T @ by_world',
        fast=True,
    ),
    Breakage(
        "Q2",
        "J̇v without the curvature of the distance",
        "geometry:_row",
        '"J_dot_v": g_dot.T @ by_robot + g.T @ robot_bias',
        '"J_dot_v": g.T @ robot_bias',
    ),
    Breakage(
        "Q2",
        "the world's acceleration is left out",
        "geometry:_row",
        "g_dot.T @ by_world + g.T @ world_bias",
        "g_dot.T @ by_world",
    ),
    Breakage("Q2", "the angle in halves", "geometry:turn", "return 2 * m.atan2", "return m.atan2"),
    # --- Q9
    Breakage(
        "Q9",
        "Gauss without S̄(ω)",
        "forms:kane",
        "inertia = centre.Psi @ motion.rate + centre.S_bar(motion.twist[:3]) @ motion.twist",
        "inertia = centre.Psi @ motion.rate",
    ),
    Breakage("Q9", "weights pull up", "forms:kane", "(inertia - centre.weight", "(inertia + centre.weight"),
    Breakage("Q9", "counts leave products out", "forms:Count.of", 'take("mul")', '0 * take("mul")'),
    Breakage("Q9", "Table 5.4 with another coefficient", "forms:Cost.at", "sum * n + c", "sum * n - c"),
    # --- Q10
    Breakage(
        "Q10",
        "the constraint is pulled the wrong way",
        "forms:ConstrainedDynamics.acceleration",
        "return free + times",
        "return free - times",
        fast=True,
    ),
    Breakage("Q10", "repeated rows count twice", "forms:_factorised", "kept = s > tolerance *", "kept = s > -1 *"),
    Breakage(
        "Q10",
        "wheels slip forward instead",
        "model:rolling_constraint",
        "-np.sin(q[..., 2]), np.cos(q[..., 2])",
        "np.cos(q[..., 2]), np.sin(q[..., 2])",
    ),
    Breakage(
        "Q10",
        "the bias of rolling of the other sign",
        "model:rolling_constraint_bias",
        "(-v[..., 2] *",
        "(v[..., 2] *",
    ),
    # --- Q7
    Breakage(
        "Q7",
        "the gradient points inwards",
        "balance:area_gradient",
        "[between[..., 1], -between[..., 0]]",
        "[-between[..., 1], between[..., 0]]",
        fast=True,
    ),
    Breakage("Q7", "area without its half", "balance:polygon_area", "0.5 * np.sum", "np.sum"),
    Breakage(
        "Q7", "points inside count as corners", "balance:_turns_left", "bool(y * u - x * w > ", "bool(abs(y * u - x * w) > "
    ),
]
