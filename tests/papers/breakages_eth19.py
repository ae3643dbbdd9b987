"""Mistakes that the rows of [ETH19] must notice."""

from breaking import Breakage

SOFT, HARD, SUPPORT = "simulate:SoftPlant", "simulate:HardPlant", "balance:SupportDynamics"

BREAKAGES = [
    # --- H1
    Breakage("H1", "quaternion rates without their half", "balance:_quaternion_rates", "0.5 * np.stack", "np.stack"),
    Breakage("H1", "ω in the wrong axes", "balance:base_turn", 'and angular == "body"', "and False", fast=True),
    Breakage("H1", "the arm of a point has the other sign", "balance:_contact_jacobian", "-= rigid", "+= rigid"),
    Breakage(
        "H1",
        "the point is taken in world axes",
        "balance:_arm",
        "times(robot.pose(q, frame)[..., :3, :3], place)",
        "0 * robot.pose(q, frame)[..., :3, 0] + place",
    ),
    # --- H2
    Breakage(
        "H2",
        "the rank of J_c counts its rows",
        "balance:analyse_contacts",
        "rank = range_and_kernel(J, tolerance)[0].shape[1]",
        "rank = len(J)",
    ),
    Breakage(
        "H2",
        "base columns are the joints'",
        "balance:_base_columns",
        "list(range(6)) if robot.floating",
        "list(range(6, 12)) if robot.floating",
        fast=True,
    ),
    Breakage(
        "H2",
        "a contact's own axes are ignored",
        "balance:_held_rows",
        "axes if contact.axes is None else contact.axes",
        "axes",
    ),
    Breakage(
        "H2",
        "range and kernel change places",
        "balance:range_and_kernel",
        "V_T[:rank].T, V_T[rank:].T",
        "V_T[rank:].T, V_T[:rank].T",
    ),
    # --- H3
    Breakage("H3", "the damper pulls", f"{SOFT}._law", "touching = F > 0", "touching = F > -np.inf"),
    Breakage(
        "H3", "the nonlinear law without its damping", f"{SOFT}._law", "F = power * (k + b * rate)", "F = power * k"
    ),
    Breakage(
        "H3",
        "the linear law with half its damper",
        f"{SOFT}._law",
        "F = k * depth + b * rate",
        "F = k * depth + b * rate / 2",
    ),
    Breakage("H3", "steps are as long as they like", f"{SOFT}._advance", "error = _largest", "error = 0 * _largest"),
    Breakage("H3", "only half of the extrapolation is done", f"{SOFT}._extrapolate", "2 * self.v - v", "self.v"),
    Breakage(
        "H3", "nothing looks for the touch", f"{SOFT}._touching", "if not lands.any():", "if not lands.any() or h > 0:"
    ),
    Breakage(
        "H3",
        "friction is half of Coulomb's",
        f"{SOFT}._law",
        "self.points.friction[down] * F",
        "self.points.friction[down] * F / 2",
    ),
    Breakage(
        "H3",
        "hard contact rebounds at the wrong speed",
        f"{HARD}._contact",
        "self.restitution * approach",
        "-self.restitution * approach",
    ),
    Breakage(
        "H3",
        "hard contact sinks",
        f"{HARD}._substep",
        "np.maximum(found.distance[near], 0.0) / h",
        "0.01 + 0 * found.distance[near]",
    ),
    Breakage(
        "H3",
        "the plate of law 2 follows at any speed: law 2 is law 1",
        f"{SOFT}._law",
        "touching &= depth >=",
        "touching &= depth >= -1 +",
    ),
    Breakage(
        "H3",
        "law 1 has no springs along the ground",
        f"{SOFT}._springs",
        "wanted = -self.stiffness * stretch",
        "wanted = -0 * stretch",
    ),
    # --- H4
    Breakage(
        "H4",
        "the projector misses a factor of M",
        "forms:ConstrainedDynamics.null_projector",
        "_T(W) @ inside @ self._factors.L_T",
        "inside",
    ),
    Breakage(
        "H4",
        "contact forces act by the robot",
        "forms:ConstrainedDynamics.multipliers",
        "return times(f.U",
        "return -times(f.U",
        fast=True,
    ),
    Breakage("H4", "the bias of the contacts is dropped", "balance:support_dynamics", "J, -bias,", "J, 0 * bias,"),
    Breakage(
        "H4",
        "torques to start from are ignored",
        f"{SUPPORT}.torque_null_space",
        "- self._inverse(B) @ B",
        "- 0 * self._inverse(B) @ B",
    ),
    Breakage("H4", "internal torques of the other sign", f"{SUPPORT}.internal_torque", "return -times", "return times"),
    Breakage("H4", "drag helps", "balance:Aerodynamic.force", "-self.drag", "self.drag"),
    Breakage(
        "H4",
        "the wind is ignored",
        "balance:Aerodynamic.force",
        "- np.asarray(self.wind, dtype=float)",
        "- 0 * np.asarray(self.wind, dtype=float)",
    ),
    Breakage(
        "H4",
        "feet slip in the chimney",
        "control:unilateral_torque",
        "np.zeros((len(cone), motors)), cone]",
        "np.zeros((len(cone), motors)), 0 * cone]",
    ),
    Breakage(
        "H4",
        "some internal forces are missing",
        f"{SUPPORT}.internal_forces",
        "return balanced @ felt",
        "return (balanced @ felt)[:, 1:]",
        fast=True,
    ),
    # --- H5
    Breakage("H5", "restitution is ignored", "balance:resolve_impact", "-(1 + e) *", "-(1 + 0 * e) *", fast=True),
    Breakage("H5", "contacts rebound the other way", "balance:resolve_impact", "-(1 + e) *", "-(1 - e) *"),
    Breakage(
        "H5",
        "energy loss of the other sign",
        "balance:Impact.energy_loss",
        "_half_square(M, self.before) - _half_square(M, self.after)",
        "_half_square(M, self.after) - _half_square(M, self.before)",
    ),
    Breakage(
        "H5",
        "the velocity after is the change",
        "balance:resolve_impact",
        "before + dynamics.acceleration",
        "dynamics.acceleration",
    ),
    # --- H6
    Breakage(
        "H6",
        "the bias of a motion is added",
        "control:WholeBody.motion",
        "- motion.bias",
        "+ motion.bias",
        fast=True,
    ),
    Breakage("H6", "contact forces by the robot", "control:WholeBody.equation_of_motion", "-c.A.T", "c.A.T"),
    Breakage(
        "H6",
        "levels disturb those above",
        "control:prioritised_least_squares",
        "N = N @ null_space_projector(A, scale=scale)",
        "N = null_space_projector(level.A, scale=scale)",
    ),
    Breakage(
        "H6",
        "contacts may accelerate",
        "control:WholeBody.contacts",
        "Motion(c.A, -c.b)",
        "Motion(c.A, c.b)",
    ),
    Breakage(
        "H6",
        "operational space forgets gravity",
        "control:operational_dynamics",
        "times(inertia, fall), jacobian",
        "0 * times(inertia, fall), jacobian",
    ),
    Breakage(
        "H6",
        "gravity pulls up, and μ takes it back",
        "control:operational_dynamics",
        "-times(inertia, drift + fall), times(inertia, fall)",
        "-times(inertia, drift - fall), -times(inertia, fall)",
    ),
    Breakage(
        "H6",
        "the task's null space lets torques through",
        "control:OperationalSpace.torque_projector",
        "- through",
        "- 0 * through",
    ),
    Breakage(
        "H3",
        "steps are not made again where they err",
        "simulate:SoftPlant._advance",
        "error = _largest",
        "error = 1e-9 * _largest",
    ),
    Breakage(
        "H4",
        "the chimney's feet press without friction's bound",
        "control:PointContact.terms",
        "numbers.friction * G[:, 2]",
        "9 * numbers.friction * G[:, 2]",
    ),
]
