"""Where a row's setting, robot or equation is not the paper's, and why; docs/papers.md has the same words."""

from __future__ import annotations

DIFFERENCES = {
    "B1": "Eqs. (11)–(12) hold on the unit sphere only; ours is ρ of q/|q|, so J_ω is right off it too. The "
    "rotation matrix has "
    "six independent constraints; Table II's nine work as well, by rank.",
    "B2": "Velocities are mixed (ω in world axes), so the chart enters as one matrix T behind every Jacobian.",
    "B3": "λ is zero, here and in the paper, because all forces act behind Tᵀ. N ẏ is that of Eq. (26); the "
    "matrix N is another, "
    "with Ṁ − 2N skew. A is Eq. (34) for any chart.",
    "B4": "Nothing: wrenches act at any frame. The sign is that of a force on the robot.",
    "B5": "The robot is a quadruped on points. The paper's cost is the tasks' squares alone; ours has small "
    "weights of actuated "
    "accelerations and forces besides, and 1e-12 on what the equations of motion decide.",
    "B6": "The built-in human in place of HRP-2, which walks by --robot: the torque limits of "
    "its description "
    "are placeholders. Scenarios with noise and pushes, by Eq. (37) with a unit quaternion; from feet to hands by the "
    "same program with noise alone; knees and forearms (Sec. I) by the "
    "same program with the base eliminated, with noise. The stance planner is later work. The paper prints no figures "
    "but 7 ms a step.",
    "B7": "The paper names ball joints and objects as future work; there is no figure to compare with. The box "
    "is held by constraints in the world it acts on; that its forces are such as palms can give is what is shown.",
    "T1": "Nothing.",
    "T2": "Eq. (56) as mended: C + Cᵀ = Ṁ, without the half.",
    "T3": "Frames of one tree; a frame of another tree cannot be the base of the first.",
    "T4": "Nothing.",
    "T5": "Lemma 4.3 needs the factorisation C = ∫ Jᵀ J̇ dm, which ours is; it does not follow from Property 2 alone.",
    "T6": "The wrench of Eq. (48) is read from the first six rows; no J M⁻¹ Jᵀ is inverted. Eq. (47e) as mended. "
    "Control on the "
    "fixed support is beyond the paper.",
    "T7": "Nothing; the file of the row has its joints shuffled.",
    "Q1": "Nothing; exp and log are the thesis's, the screw motions are beyond it.",
    "Q2": "Eq. (4.27) lacks −1/sin φ in print.",
    "Q3": "Eq. (3.4) is a constraint of the controller, RestingBounds, beside functions of its own.",
    "Q4": "The object's path, the safe distance and the law are the thesis's; arm, start, task and gains are not "
    "given and are "
    "ours. Margins for sampling are beyond the thesis, whose Lemma 4.1 is in continuous time.",
    "Q5": "Eq. (4.31) lacks a dot. At φ = π the row of Lemma 4.2 cannot be met. In the controller joint limits "
    "by angles are "
    "JointCones, in closed form; JointLimits has velocities and accelerations too.",
    "Q6": "The switch (4.37) is made where the nearest point leaves the arm, not where two distances are equal.",
    "Q7": "Four points as the thesis has them, and the hull of any contacts. For Fig. 4.9 the thesis gives no "
    "numbers: robot, "
    "table and blow are ours, and the pendulum is the impulse of a bob of 20 kg that falls 0.8 m and stops at the "
    "pelvis.",
    "Q8": "The built-in human in the row, THORMANG3 and Poppy in tests/papers/test_thesis_robots.py; table, wall "
    "and ball are "
    "ours, placed so that the thesis's outcomes come about. Gains and damping are those of Table 6.2; the text of Sec. "
    "6.2.1 has others.",
    "Q9": "Our counts are of programs without common subexpressions, zeros and ones; the thesis counts as written.",
    "Q10": "The eight-parameter base is that of a quadruped.",
    "Q11": "The built-in human, arms on a torso or on wheels, and a snake in place of Poppy and V-REP's robots; Poppy "
    "puts the cup on a table by --robot. MuJoCo in place "
    "of V-REP. Table, region and start are ours, so ratios of Table 6.1 compare, within a quarter, and efforts do not. "
    "By torques joints rest by (3.6): within (3.4) the hand stops 7 cm above the table. Where the ball is released one "
    "arm is "
    "straight, so the other opens. Computation times are of the thread on this machine; Fig. 6.21 prints no numbers.",
    "H1": 'Velocities are mixed by default; the slide\'s own (ω in body axes) is angular="body".',
    "H2": "Nothing; several kinds of contact in one call are beyond the slides.",
    "H3": "The brick and the ball are ours; the slides give laws and no numbers. Steps are controlled by their error.",
    "H4": "Forces on the robot, as on slide 15; slide 22 has those by the robot. Slide 17 prints c_v for the "
    "speed squared. The chimney is ours. In motion its feet are held by constraints, whose forces must be such as "
    "walls can give.",
    "H5": "Nothing; restitution is beyond the slide.",
    "H6": "Nothing; inequalities are beyond the slides.",
    "E1": "Coordinates stay those of the robot: what the paper writes as sums of angles are joints that follow.",
    "E2": "Nothing; unequal branches are beyond the example.",
    "E3": "Ball joints turn back by the inverse rotation. Masses of Fig. 8's biped are not given; ours are de Leva's.",
    "E4": "Nothing.",
    "E5": "Gravity may lean. Chains with more than one mass have the robot's potential energy too.",
    "E6": "Redundant constraints are solved by rank. The circle of Sec. 4.4 has the radius √3/3, not 1/3.",
    "E7": "Eq. (68) and (73): signs; Eq. (84): R G and K₂. Sec. 5.1.2 names the choice of torques under "
    "unilateral constraints "
    "and gives no law: ours is the least torques with forces within the soles' cones.",
    "E8": "J₃ of (77) by differences; the paper takes 1.",
    "E9": "Eqs. (89) and (91): a factor 2 of ∇V is missing in print. In the controller the ellipse is "
    "CoMEllipseTask, the "
    "paper's penalty, and CoMInEllipse, its border.",
    "E10": "The paper gives no lengths or masses; ours differ. Pseudo-inverses are damped.",
}
