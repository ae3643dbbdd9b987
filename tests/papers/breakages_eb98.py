"""Mistakes that the rows of [EB98] must notice."""

from breaking import Breakage

BREAKAGES = [
    Breakage(
        "E9",
        "the controller's ellipse is a circle",
        "control:CoMInEllipse.barrier",
        "rho - e.T @ numbers.shape @ e / rho",
        "rho - e.T @ e / rho",
    ),
    Breakage(
        "E9",
        "the task does not move the mass",
        "control:CoMEllipseTask.terms",
        "slope @ J, slope",
        "0 * slope @ J, slope",
    ),
    Breakage(
        "E1",
        "segments forget the mass that joints carry",
        "balance:segment_vectors",
        "owner += mass * body.p",
        "owner += body.mass * body.p",
    ),
    Breakage(
        "E1", "slides are not shortened to their share", "balance:ChainWalk._slide", "times=share - 1.0", "times=0.0"
    ),
    Breakage("E1", "what turns back turns on", "balance:ChainWalk.inward", "times=-1.0", "times=1.0", fast=True),
    Breakage(
        "E1",
        "angles lose the sign of what turns back",
        "balance:_angle_map",
        "row += sign * columns[name]",
        "row += columns[name]",
    ),
    # --- E2
    Breakage("E2", "what turns back turns on", "balance:ChainWalk.inward", "times=-1.0", "times=1.0", fast=True),
    Breakage(
        "E2",
        "joints carry their own body alone",
        "balance:carried_masses",
        "carried[tree.bodies[i].parent] += carried[i]",
        "carried[tree.bodies[i].parent] += 0 * carried[i]",
    ),
    Breakage("E2", "only the last joint is turned back", "balance:_path", "for i in inward]", "for i in inward[:1]]"),
    # --- E3
    Breakage(
        "E3",
        "the placement before a branch is not undone",
        "balance:ChainWalk.inward",
        "rigid.pose(body.R.T)",
        "rigid.pose(body.R)",
    ),
    Breakage(
        "E3",
        "segments are not divided by the mass",
        "balance:segment_vectors",
        "vectors / total",
        "vectors / (total + 1)",
    ),
    Breakage(
        "E3", "the masses of the chain are elsewhere", "balance:_inertia", "so_far / mass * part.reach", "part.reach"
    ),
    Breakage(
        "E3", "the chain's end without its last part", "balance:carried_masses", "+= carried[i]", "+= 0.99 * carried[i]"
    ),
    Breakage(
        "E3",
        "the shortest branch comes first",
        "balance:appendix_order",
        "key=lambda j: -height[j]",
        "key=lambda j: height[j]",
    ),
    Breakage("E3", "a ball joint that turns back turns on", "model:BallBack.pose", "quaternions.conjugate(q)", "q"),
    Breakage(
        "E3",
        "the rate of a ball joint that turns back has the other sign",
        "model:BallBack.spin",
        "-np.eye(3)",
        "np.eye(3)",
    ),
    # --- E4
    Breakage(
        "E4",
        "augmented bodies of the wrong mass",
        "balance:kinetic_jacobian",
        "bodies.mass[i] / total",
        "bodies.mass[0] / total",
    ),
    Breakage(
        "E4",
        "the arm points inwards",
        "balance:kinetic_jacobian",
        "(bodies.centre - bodies.pivot)",
        "(bodies.pivot - bodies.centre)",
        fast=True,
    ),
    Breakage(
        "E4",
        "partial centres of single bodies",
        "balance:augmented_bodies",
        "moment[tree.bodies[i].parent] = moment[tree.bodies[i].parent] + moment[i]",
        "pass",
    ),
    # --- E5
    Breakage("E5", "gravity pushes up", "balance:gravity_torques", "return -times", "return times", fast=True),
    Breakage(
        "E5",
        "only the third row counts",
        "balance:gravity_torques",
        "np.array(robot.model.gravity)",
        "np.array([0, 0, robot.model.gravity[2]])",
    ),
    Breakage(
        "E5",
        "spins in the wrong axes",
        "balance:_outward",
        'if body.joint.spin_axes == "parent" else R[-1]',
        'if body.joint.spin_axes == "child" else R[-1]',
    ),
    Breakage(
        "E5",
        "the chain hangs from other centres of mass",
        "balance:_inertia",
        "so_far / mass * part.reach",
        "part.reach",
    ),
    # --- E6
    Breakage(
        "E6",
        "by P: the drift of the constraint is left out",
        "balance:projected_dynamics",
        "times(P, free) - times(J_inverse, Jdot_v)",
        "times(P, free)",
    ),
    Breakage(
        "E6",
        "by P: multipliers by the robot",
        "balance:projected_dynamics",
        "multipliers = -times",
        "multipliers = times",
    ),
    Breakage(
        "E6", "by R: the particular solution is forgotten", "balance:_reduced", "R @ (force - M @ a_0)", "R @ force"
    ),
    Breakage(
        "E6",
        "R spans something else",
        "balance:null_space_rows",
        "-solve_triangular(split.T_1, split.T_2).T",
        "solve_triangular(split.T_1, split.T_2).T",
        fast=True,
    ),
    Breakage(
        "E6",
        "loops of the chain lose their bias",
        "balance:loop_constraints",
        "return LoopConstraints(J, bias,",
        "return LoopConstraints(J, 0 * bias,",
    ),
    Breakage(
        "E6",
        "joints that are held move while the loop closes",
        "balance:close_loops",
        "_free_columns(robot, held)",
        "_free_columns(robot, ())",
    ),
    # --- E7
    Breakage(
        "E7",
        "the sign of K₁ s as it is printed",
        "control:output_dynamics",
        "(K_1 @ s + K_2 @ f)",
        "(-K_1 @ s + K_2 @ f)",
    ),
    Breakage("E7", "f is left out", "control:output_dynamics", "(K_1 @ s + K_2 @ f)", "(K_1 @ s)"),
    Breakage(
        "E7",
        "damping of the other sign",
        "control:OutputDynamics.control",
        "- _applied(K_v, e_dot)",
        "+ _applied(K_v, e_dot)",
        fast=True,
    ),
    Breakage(
        "E7",
        "K without its scaling",
        "control:_together_inverse",
        "pseudo_inverse(both) / scaling",
        "pseudo_inverse(both)",
    ),
    Breakage(
        "E7",
        "slow outputs do not move by themselves",
        "control:slow_output_dynamics",
        "if e_tt is None else e_tt",
        "if True else e_tt",
    ),
    Breakage(
        "E7",
        "chosen torques do not heed the cones",
        "control:unilateral_torque",
        "np.zeros((len(cone), motors)), cone]",
        "np.zeros((len(cone), motors)), 0 * cone]",
    ),
    Breakage(
        "E7",
        "forces of the constraints by the robot, not on it",
        "control:unilateral_torque",
        "[[B, C.T]",
        "[[B, -C.T]",
    ),
    Breakage(
        "E7", "torque limits are ignored", "control:unilateral_torque", "[most, free]", "[np.full(motors, 9e9), free]"
    ),
    Breakage(
        "E7",
        "torques are not the least",
        "control:unilateral_torque",
        "*np.ones(motors)",
        "*np.arange(1.0, motors + 1)",
    ),
    # --- E8
    Breakage(
        "E8",
        "posture disturbs the mass",
        "control:prioritised_error",
        "alpha * null_space_projector(J_1) @ (J_2.T @ e_2)",
        "alpha * (J_2.T @ e_2)",
        fast=True,
    ),
    Breakage("E8", "the weight of the second task is ignored", "control:prioritised_error", "+ alpha * null", "+ null"),
    Breakage(
        "E8",
        "joints are not weighted by their range",
        "control:PostureCriterion.mid_range",
        "** -2.0",
        "** -1.0",
        stops=False,
    ),
    Breakage(
        "E8",
        "the gradient forgets its weights",
        "control:PostureCriterion.gradient",
        "self.weight * self.robot",
        "self.robot",
    ),
    Breakage(
        "E8",
        "J₃ is ignored",
        "control:constrained_error",
        "if J_3 is None else J_3.T @ e_3",
        "if True else J_3.T @ e_3",
    ),
    # --- E9
    Breakage(
        "E9",
        "the slope of V without its exponent",
        "control:SafeEllipse.error",
        "self.stiffness * self.exponent",
        "self.stiffness",
    ),
    Breakage(
        "E9", "W is ignored", "control:SafeEllipse.pull", "if self.weight is None else", "if True else", fast=True
    ),
    Breakage("E9", "the missing factor 2 of the paper", "control:SafeEllipse.jacobian", "2 * steep", "steep"),
    Breakage(
        "E9",
        "the curvature of the hand is left out",
        "control:SafeEllipse.exact_jacobian",
        "0.0 if curvature_2 is None else curvature_2",
        "0.0",
    ),
    Breakage(
        "E9",
        "the border of the ellipse curves the other way",
        "control:CoMInEllipse.barrier",
        "- e_dot.T @ numbers.shape @ e_dot / rho",
        "+ e_dot.T @ numbers.shape @ e_dot / rho",
    ),
    Breakage(
        "E9",
        "the border forgets that the centre moves",
        "control:CoMInEllipse.barrier",
        "g @ J, -g @ numbers.centre_rate, drift",
        "g @ J, 0 * g @ numbers.centre_rate, drift",
    ),
    # --- E10
    Breakage(
        "E10",
        "the second task disturbs the first",
        "control:prioritised_velocity",
        "null_space_projector(J_1) @ (pseudo_inverse(J_2, damping) @ w_2)",
        "(pseudo_inverse(J_2, damping) @ w_2)",
    ),
    Breakage(
        "E10",
        "both orders are the same",
        "control:reach",
        '"effector": (J_h, -e_h, J_c, -e_c)',
        '"effector": (J_c, -e_c, J_h, -e_h)',
    ),
    Breakage("E10", "steps away from the goal", "control:reach", "(J_c, -e_c, J_h, -e_h),", "(J_c, e_c, J_h, -e_h),"),
    Breakage("E10", "damping is ignored", "algebra:pseudo_inverse", "s**2 + damping**2", "s**2", fast=True),
    Breakage("E9", "half of the ellipse's slope", "control:CoMInEllipse.barrier", "g @ J, -g @", "0.5 * g @ J, -g @"),
]
