"""Mistakes that the rows of [BK12] must notice."""

from breaking import Breakage

BREAKAGES = [
    # --- B1
    Breakage("B1", "J_ω of the other sign", "forms:Chart.on_symbols", "J = sum(", "J = -sum(", fast=True),
    Breakage(
        "B1",
        "the rate of J_ω forgets half of its terms",
        "forms:Chart.on_symbols",
        '"J_dot": along(J)',
        '"J_dot": along(J) / 2',
    ),
    Breakage(
        "B1",
        "J of the base's axes without Rᵀ",
        "forms:ChartPoint.J_base",
        "np.swapaxes(self.X[..., :3, :3], -1, -2) @ ",
        "",
    ),
    Breakage(
        "B1",
        "its rate without ω^ J",
        "forms:ChartPoint.J_base_dot",
        "self.J_dot[..., -3:, :] - skew(w) @ self.J[..., -3:, :]",
        "self.J_dot[..., -3:, :]",
    ),
    Breakage(
        "B1",
        "the bias of the constraint is dropped",
        "forms:Chart.on_symbols",
        '"C_bias": along(C_theta) @ rate',
        '"C_bias": 0 * along(C_theta) @ rate',
    ),
    Breakage(
        "B1",
        "five of the six constraints of a rotation matrix",
        "forms:RotationMatrix.__init__",
        "for j in range(i, 3)",
        "for j in range(i, 3) if i + j < 4",
    ),
    Breakage("B1", "pitch of the other sign", "forms:RollPitchYaw.__init__", "[-sp, cp * sr", "[sp, cp * sr"),
    # --- B2
    Breakage(
        "B2", "Jacobian rates without Ṫ", "forms:ChartEquations.jacobian_rate", " + np.asarray(J) @ self.T_dot", ""
    ),
    Breakage(
        "B2",
        "Jacobians are not brought to the chart's coordinates",
        "forms:ChartEquations.jacobian_rate",
        "np.asarray(J_dot) @ self.T",
        "2 * np.asarray(J_dot) @ self.T",
        fast=True,
    ),
    Breakage(
        "B2",
        "the kernel's Jacobian rate stands still",
        "equations:jacobian_rate",
        "casadi.sparsify(casadi.jtimes(",
        "0 * casadi.sparsify(casadi.jtimes(",
    ),
    Breakage(
        "B2",
        "a point off the frame's origin is carried the wrong way",
        "balance:_contact_jacobian",
        "-= rigid.skew(",
        "+= rigid.skew(",
    ),
    # --- B3
    Breakage(
        "B3", "N without M Ṫ", "forms:chart_equations", "(form.M @ T_dot + form.C @ T)", "(form.C @ T)", fast=True
    ),
    Breakage(
        "B3",
        "the multiplier pushes the other way",
        "forms:ChartEquations.motion",
        "- times(self.N, self.y_dot) - self.g",
        "- times(self.N, self.y_dot) + self.g",
    ),
    Breakage(
        "B3",
        "the constraint's bias is ignored",
        "forms:ChartEquations.motion",
        "np.concatenate([force, -bias]",
        "np.concatenate([force, 0 * bias]",
    ),
    Breakage("B3", "A with the wrong sign", "forms:ChartEquations.projector", "[-1]) - np", "[-1]) + np"),
    Breakage(
        "B3",
        "redundant rows count as independent",
        "forms:ChartEquations._independent",
        "RANK_TOLERANCE * s.max",
        "0 * s.max",
    ),
    Breakage(
        "B3",
        "accelerations without Ṫ ẏ",
        "forms:ChartEquations.body_acceleration",
        " + times(self.T_dot, self.y_dot)",
        "",
    ),
    # --- B4
    Breakage("B4", "wrenches act by the robot", "equations:joint_forces", "(f - F, n - N)", "(f + F, n + N)"),
    Breakage(
        "B4",
        "the arm of a force off the body's origin is dropped",
        "equations:wrenches_on_bodies",
        " + cross(constant(X[:3, 3]), F)",
        "",
    ),
    Breakage(
        "B4",
        "of several wrenches only the last counts",
        "equations:wrenches_on_bodies",
        "total[body] = total[body][0] + F, total[body][1] + N",
        "total = [(zeros(3), zeros(3)) for _ in tree.bodies]; total[body] = F, N",
    ),
    Breakage("B4", "torques in the wrong axes", "equations:wrenches_on_bodies", "R_T @ wrench[3:6]", "wrench[3:6]"),
    # --- B7
    Breakage(
        "B7",
        "a ball joint's velocity taken in the parent's axes",
        "forms:_ball_block",
        "times(R, form.v[..., v])",
        "form.v[..., v]",
    ),
    Breakage(
        "B7", "a ball joint's Jacobian in the wrong axes", "forms:_ball_block", "point.J_base, point", "point.J, point"
    ),
    Breakage(
        "B7",
        "a chart's J̇ is left out",
        "forms:chart_equations",
        "= block.J, block.J_dot",
        "= block.J, 0 * block.J_dot",
        fast=True,
    ),
    Breakage(
        "B7",
        "the object is taken for a part of the base",
        "equations:composites",
        "if parent >= 0:",
        "parent = max(parent, 0)\n        if i > 0:",
    ),
    Breakage(
        "B7", "the box feels no reaction", "control:FlatContact._other", "N = -stack(", "N = 0 * stack(", stops=None
    ),
    # --- B5
    Breakage("B5", "contacts may accelerate", "control:WholeBodyProblem.held", "-N.T @ A", "-0 * N.T @ A"),
    Breakage("B5", "the controller forgets Ṫ ẏ", "control:chart_dynamics", "M @ a[1] + h", "h"),
    Breakage(
        "B5",
        "the controller does not project",
        "control:chart_dynamics",
        "back = A @ T.T",
        "back = 2 * A + T.T",
        stops=None,
    ),
    Breakage("B5", "the controller's chart drifts off", "control:_surface", 'made["C_bias"])', '0 * made["C_bias"])'),
    Breakage(
        "B5",
        "torques are not bounded",
        "control:chart_program",
        'rows.between({"u": np.eye(m)}, lower, upper)',
        'rows.between({"u": np.eye(m)}, 2 * lower, 2 * upper)',
    ),
    Breakage(
        "B5",
        "the chart's constraint is left out",
        "control:chart_program",
        "if len(equations.C):",
        "if len(equations.C) > 99:",
    ),
    Breakage(
        "B5",
        "the chart's drift is left out of the tasks",
        "control:_cost",
        "motion.J @ drift + motion.bias - wanted",
        "motion.bias - wanted",
    ),
    Breakage("B5", "N ẏ is left out", "control:_equations", "c.N @ c.y_dot + c.g", "c.g"),
    # --- B6
    Breakage(
        "B6",
        "gravity pulls up in the controller",
        "equations:body_accelerations",
        "zeros(3), -gravity)",
        "zeros(3), gravity)",
        stops=None,
    ),
    Breakage(
        "B6",
        "Jacobians turn the wrong way",
        "equations:jacobian",
        "cross(where.p[i] - p, block.angular)",
        "cross(p - where.p[i], block.angular)",
        stops=None,
    ),
    Breakage(
        "B6",
        "moments of forces are forgotten",
        "equations:joint_forces",
        "n_parent = motion.R @ n + cross(p, f_parent)",
        "n_parent = motion.R @ n",
        stops=None,
    ),
    Breakage(
        "B6",
        "Coriolis accelerations of joints have the other sign",
        "equations:body_accelerations",
        "cross(w_carried, w_joint)",
        "cross(w_joint, w_carried)",
    ),
    Breakage(
        "B5",
        "contacts act at the frame's origin",
        "control:PointContact.wrench_map",
        "rigid.skew(arm) @ self._axes",
        "0 * rigid.skew(arm) @ self._axes",
    ),
    Breakage(
        "B5",
        "the controller's contacts act at the frame's origin",
        "control:PointContact.terms",
        "S = stack(R_WC, skew(arm) @ R_WC)",
        "S = stack(R_WC, 0 * skew(arm) @ R_WC)",
    ),
    Breakage(
        "B5",
        "the point of a contact that turns needs no centripetal force",
        "control:PointContact.terms",
        "skew(w) @ (skew(w) @ arm)",
        "0 * (skew(w) @ arm)",
    ),
    Breakage(
        "B3",
        "the multiplier is twice as large",
        "forms:ChartEquations.motion",
        "times(U, solution[..., n:] / s)",
        "2 * times(U, solution[..., n:] / s)",
    ),
    Breakage(
        "B1",
        "the gradient of the constraint is doubled",
        "forms:Chart.on_symbols",
        "C_theta = casadi.jacobian(C, theta)",
        "C_theta = 2 * casadi.jacobian(C, theta)",
    ),
    Breakage(
        "B3",
        "the gradient of the constraint is doubled",
        "forms:Chart.on_symbols",
        "C_theta = casadi.jacobian(C, theta)",
        "C_theta = 2 * casadi.jacobian(C, theta)",
    ),
    Breakage(
        "B7",
        "palms are three times as large",
        "control:polygon",
        "np.asarray(corners, dtype=float)",
        "3 * np.asarray(corners, dtype=float)",
    ),
]
