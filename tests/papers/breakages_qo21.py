"""Mistakes that the rows of [QO21] must notice."""

from breaking import Breakage

BREAKAGES = [
    Breakage(
        "Q3",
        "the controller's bounds do not close",
        "control:RestingBounds.rows",
        "k * (-g - v), k * (g - v)",
        "k * (-g - 9 + 0 * v), k * (g + 9 + 0 * v)",
    ),
    Breakage(
        "Q5",
        "joint cones of twice the range",
        "control:JointCones.barrier",
        "SYMBOLS.cos(numbers.half)",
        "SYMBOLS.cos(1.2 * numbers.half)",
    ),
    Breakage("Q5", "the controller's cone does not close", "control:chord_of", "2 * sin * rate, ", "0.0, "),
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
    Breakage("Q10", "repeated rows count twice", "forms:_factorised", "independent = s > tolerance *", "independent = s > -1 *"),
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
    Breakage("Q7", "points inside count as corners", "balance:_turns_left", "bool(y * u > x * w)", "bool(y * u != x * w)"),
    Breakage("Q7", "corners by rounding", "balance:_turns_left", "y * u > x * w", "y * u > x * w + 1e-10"),
    Breakage(
        "Q7",
        "the task of the area pulls the hand in",
        "control:SupportAreaTask.terms",
        "Terms(reference.value - area,",
        "Terms(area - reference.value,",
        stops=None,
    ),
    # --- Q3
    Breakage(
        "Q3",
        "the goal's own motion is ignored",
        "control:velocity_program",
        "(0.0 if feedforward is None else feedforward)",
        "0.0",
    ),
    Breakage("Q3", "the bias of the task is added", "control:acceleration_program", "- motion.bias", "+ motion.bias", fast=True),
    Breakage("Q3", "damping of the task of the other sign", "control:error_acceleration", "-k_d *", "k_d *"),
    Breakage("Q3", "the second level speeds up", "control:resting_program", "alpha * v, A", "-alpha * v, A"),
    Breakage(
        "Q3", "bounds that do not shrink", "control:shrinking_bounds", "k * (-g - v), k * (g - v)", "k * (-g + v), k * (g + v)"
    ),
    # --- Q4
    Breakage("Q4", "the condition of Lemma 4.1 without its rate", "control:Gains.admits", "fast", "slow"),
    Breakage(
        "Q4",
        "no margin for the step",
        "control:second_order_bound",
        "lost_rate = (jump + variation * (dt / 2)) * dt",
        "lost_rate = 0 * (jump + variation * (dt / 2)) * dt",
    ),
    Breakage(
        "Q4",
        "obstacles are taken for still",
        "geometry:_row",
        '"residual": g.T @ by_world',
        '"residual": 0 * g.T @ by_world',
    ),
    Breakage(
        "Q4", "the barrier forgets its distance", "control:second_order_bound", "- gains.eta_p * d) /", "- 0 * gains.eta_p * d) /"
    ),
    # --- Q5
    Breakage("Q5", "the safe angle does not move", "control:SafeAngle.chord", "2 * sin * self.rate,", "0 * sin * self.rate,"),
    Breakage("Q5", "cones are left instead of kept", "control:cone_velocity_rows", "_at_most(-inside.J", "_at_most(inside.J"),
    Breakage(
        "Q5",
        "joint limits about another middle",
        "control:joint_limit_angle",
        "(j.limits.lower + j.limits.upper) / 2",
        "j.limits.lower",
        fast=True,
    ),
    Breakage(
        "Q5", "the second order forgets f̃'", "control:continuous_bound", "-gains.eta_d * d_rate", "-0 * gains.eta_d * d_rate"
    ),
    # --- Q6
    Breakage(
        "Q6",
        "the switch takes the wrong end",
        "geometry:LinePointSwitch.__call__",
        '"first end" if where < 0',
        '"first end" if where > 0',
    ),
    Breakage(
        "Q6",
        "walls face outwards",
        "geometry:target_region",
        "normals = np.cross(along, edges)",
        "normals = np.cross(edges, along)",
    ),
    Breakage(
        "Q6",
        "the line never ends",
        "geometry:LinePointSwitch.__call__",
        '"line" if 0 <= where <= 1',
        '"line" if -9 <= where <= 9',
        fast=True,
    ),
    Breakage(
        "Q6", "barriers forget their distance", "control:second_order_bound", "- gains.eta_p * d) /", "- 0 * gains.eta_p * d) /"
    ),
    # --- Q8
    Breakage(
        "Q8",
        "Jacobians turn the wrong way",
        "equations:jacobian",
        "cross(where.p[i] - p, block.angular)",
        "cross(p - where.p[i], block.angular)",
        stops=None,
    ),
    Breakage(
        "Q8",
        "the mass is that of the base",
        "equations:_com_from_O",
        "R @ constant(body.h) + body.mass * p",
        "body.mass * p",
        stops=None,
    ),
    Breakage("Q8", "corners of the hull are left out", "balance:_corners", "off.min() > least", "off.min() > 0.1", stops=None),
    Breakage(
        "Q8",
        "the hand does not slide while the support grows",
        "control:MultiContact._begin",
        "self.hand if state is State.AGAIN else self._slide",
        "self.hand if state is not State.SLIDE else self._slide",
        stops=None,
    ),
    Breakage(
        "Q8",
        "a relaxed contact stays where it is",
        "control:MultiContact._begin",
        "self.hand if state is State.AGAIN else self._slide",
        "self._slide if state is State.GROW else self.hand",
        stops=None,
    ),
    Breakage(
        "Q8",
        "the area shrinks",
        "control:MultiContact._area_numbers",
        "self.growth * polygon.area",
        "-self.growth * polygon.area",
    ),
    # --- Q11
    Breakage(
        "Q11",
        "the cup between two hands tilts unseen",
        "control:AbsoluteCone.barrier",
        "J, drift = scene.rows_of(value)",
        "J, drift = scene.rows_of(0 * value)",
    ),
    Breakage(
        "Q11",
        "hands open about one of them",
        "control:AbsoluteTask.terms",
        "(scene.jacobian(self.frame) + scene.jacobian(self.other))[:3, :] / 2",
        "scene.jacobian(self.frame)[:3, :]",
    ),
    Breakage(
        "Q11",
        "the cup's tilt grows unseen",
        "geometry:chord",
        "_square(_minus(a.along, b.along))",
        "0.5 * _square(_minus(a.along, b.along))",
        stops=None,
    ),
    Breakage(
        "Q11",
        "the centripetal term is dropped",
        "equations:body_accelerations",
        "skew(alpha) + _square_of_skew(w)",
        "skew(alpha)",
        stops=None,
    ),
    Breakage(
        "Q11",
        "damping of tasks is ignored",
        "control:Task._gains",
        'else column(self.label, "damping", damping, n)',
        'else 0 * column(self.label, "damping", damping, n)',
        stops=None,
    ),
    Breakage("Q11", "wheels that turn do not slip", "model:rolling_constraint_bias", "(-v[..., 2] *", "(v[..., 2] *"),
]
