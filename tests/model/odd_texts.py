"""Descriptions with every feature that the readers know, each a small text; for records."""

# ruff: noqa: E501 — each description is one text

from __future__ import annotations

from texts import INERTIAL, joint, link

HEAVY = (
    '<inertial><origin xyz="0.01 0.02 0.03" rpy="0.1 0.2 0.3"/><mass value="2.5"/>'
    '<inertia ixx="0.03" iyy="0.02" izz="0.025" ixy="0.001" ixz="0.002" iyz="-0.003"/></inertial>'
)
TEXT_MASS = '<inertial><mass>1.5</mass><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial>'


def shape(inner: str, tag: str = "visual", more: str = "") -> str:
    """One drawn or colliding shape, off its link's origin."""
    return f'<{tag}><origin xyz="0.1 -0.2 0.05" rpy="0.3 0 1.2"/><geometry>{inner}</geometry>{more}</{tag}>'


def robot(*parts: str, name: str = "r") -> str:
    return f'<robot name="{name}">{"".join(parts)}</robot>'


def chain(*joints: str, inside: str = HEAVY) -> str:
    """Links l0, l1, … with joints j1, j2, … between neighbours; each a text after the name and type."""
    links = "".join(link(f"l{k}", inside) for k in range(len(joints) + 1))
    made = []
    for k, text in enumerate(joints, start=1):
        kind, _, rest = text.partition("|")
        ends = f'<parent link="l{k - 1}"/><child link="l{k}"/><origin xyz="0.1 0 0.3" rpy="0.2 0.1 -0.4"/>'
        made.append(f'<joint name="j{k}" type="{kind}">{ends}{rest}</joint>')
    return robot(links, *made, name="chain")


LIMITS = '<limit lower="-1.5" upper="0.5" effort="12" velocity="3"/>'
MATERIALS = (
    '<material name="red"><color rgba="1 0 0 0.5"/></material><material name="bad"><color rgba="1 0 red"/></material>'
)
SHAPES = "".join(
    [
        shape('<box size="0.1 0.2 0.3"/>', more='<material name="red"/>'),
        shape('<sphere radius="0.2"/>', more='<material name="own"><color rgba="0 1 0 1"/></material>'),
        shape('<cylinder radius="0.1" length="0.4"/>', more='<material name="unknown"/>'),
        shape('<capsule radius="0.05" length="0.2"/>', "collision"),
        shape('<mesh filename="package://none/a.stl" scale="1 2 3"/>', "collision"),
        shape('<mesh filename="b.dae"/>'),
        shape('<cone radius="1"/>'), shape(""), "<visual/>", shape('<mesh filename=""/>', "collision"),
    ]
)  # fmt: skip
GAZEBO = (
    '<gazebo reference="j1"><springStiffness>30</springStiffness><springReference>0.2</springReference></gazebo>'
    '<gazebo reference="nobody"><springStiffness>1</springStiffness></gazebo>'
    '<gazebo><joint name="x"/><plugin filename="libmimic_joint.so"><mimicJoint>j2</mimicJoint></plugin></gazebo>'
    '<gazebo><plugin filename="libother.so"><mimicJoint>j2</mimicJoint></plugin></gazebo>'
)
DRAKE = (
    '<transmission name="t"><joint name="j2"/><actuator name="m"><drake:rotor_inertia value="0.0001"/>'
    '<drake:gear_ratio value="50"/></actuator></transmission>'
    '<transmission name="u"><joint name="j1"/><actuator name="n"><drake:rotor_inertia value="0.002"/></actuator>'
    "</transmission><transmission><actuator/></transmission><drake:bushing/><loop_joint/>"
    "<mujoco><compiler/><equality/><tendon/><size/></mujoco>"
)
CONTROL = (
    '<ros2_control name="c"><joint name="j1"><command_interface name="effort"/></joint><joint name="j2"/>'
    "</ros2_control>"
)
HOLD = '<limit lower="0" upper="0" effort="-1" velocity="-2"/>'

URDFS = {
    "every joint type": chain(
        f'revolute|<axis xyz="0 3 4"/>{LIMITS}', 'continuous|<axis xyz="0 0 -2"/><limit effort="4" velocity="1"/>',
        f"prismatic|{LIMITS}", "fixed|", 'planar|<axis xyz="0 1 0"/>', "planar|<axis/>", "ball|", "spherical|",
        'floating|<dynamics damping="0.1"/>',
    ),
    "limits": chain(
        "revolute|", 'revolute|<limit upper="1" effort="1e30" velocity="inf"/>',
        'revolute|<limit lower="-1" effort="2" velocity="2"/>', 'revolute|<limit lower="1" effort="2" velocity="2"/>',
        'revolute|<limit lower="2" upper="-3"/>', 'revolute|<limit upper="-1"/>', 'prismatic|<limit effort="7"/>',
        'revolute|<limit lower="-1e31" upper="1e30"/>', 'continuous|<limit lower="-1" upper="1" effort="3"/>',
    ),
    "placeholders": chain(
        *(f'revolute|<limit lower="-1" upper="1" effort="{e}" velocity="{v}"/>' for e, v in
          ((0, 0), (1000, 1), (1e6, 1e6), (999999, 5), (1e7, 2), (5, 1e8), (1000, 0))),
        'revolute|<limit lower="0" upper="0.0049" effort="5" velocity="1"/>',
        'revolute|<limit lower="0" upper="0.005" effort="5" velocity="1"/>',
        'prismatic|<limit lower="0" upper="0.00049" effort="5" velocity="1"/>',
        'prismatic|<limit lower="0" upper="0.0005" effort="5" velocity="1"/>',
    ),
    "no effort anywhere": chain(*['revolute|<limit lower="-1" upper="1" effort="0" velocity="2"/>'] * 2),
    "one heavy link": robot(
        link("l0", HEAVY.replace("2.5", "97")), *(link(f"l{k}", HEAVY.replace("2.5", "0.5")) for k in range(1, 7)),
        *(joint(f"j{k}", f"l{k - 1}", f"l{k}") for k in range(1, 7)),
    ),
    "followers": chain(
        f"revolute|{LIMITS}", 'revolute|<mimic joint="j1" multiplier="-2" offset="0.3"/>',
        'revolute|<mimic joint="j2" multiplier="0.5"/>' + LIMITS, f'prismatic|<mimic joint="j3"/>{LIMITS}',
        'revolute|<axis xyz="0 1 0"/><dynamics damping="0.3" friction="0.1"/>' + LIMITS,
    ),
    "shapes": robot(MATERIALS, link("l0", HEAVY + SHAPES), link("l1", TEXT_MASS), joint("j1", "l0", "l1")),
    "springs, rotors, losses": chain(f"revolute|{LIMITS}", f"revolute|{LIMITS}").replace(
        "</robot>", GAZEBO + DRAKE + "</robot>"
    ),
    "some motors": chain(f"revolute|{LIMITS}", f"revolute|{LIMITS}").replace("</robot>", CONTROL + "</robot>"),
    "few motors": chain(*[f"revolute|{LIMITS}"] * 3, 'revolute|<limit lower="-1" upper="1" effort="0" velocity="1"/>')
    .replace("</robot>", CONTROL + "</robot>"),
    "doubtful inertias": robot(
        *(link(f"l{k}", '<inertial><mass value="1"/>'
               f'<inertia ixx="{a}" iyy="{b}" izz="{c}" ixy="0" ixz="0" iyz="0"/></inertial>')
          for k, (a, b, c) in enumerate([(1, 1, 1), (0.1, 0.1, 0.3), (0.1, 0.1, 0.20019), (-0.1, 0.2, 0.2), (0, 0, 0),
                                         (1, 1, 1), (0.1, 0.2, 0.0), (0.1, 0.1, 0.20021)])),
        *(joint(f"j{k}", f"l{k - 1}", f"l{k}") for k in range(1, 8)),
    ),
    "doubtful limits": chain(f"revolute|{HOLD}", f"revolute|{HOLD}", f"revolute|{LIMITS}"),
    "inertia without mass": robot(
        link("l0"), link("l1", HEAVY.replace("2.5", "0")), link("l2"), joint("j1", "l0", "l1"), joint("j2", "l1", "l2")
    ),
    "a world with a floating joint": robot(
        link("world", ""), link("l0"), link("l1"), joint("free", "world", "l0", "", "floating").replace("0 0.1 0.3", "0 0 0"),
        joint("j1", "l0", "l1"),
    ),
    "definitions of xacro": robot('<xacro:property name="a" value="1"/><xacro:macro name="m"/>', link("l0")),
    "two trees by a floating joint": robot(
        link("l0"), link("l1"), link("ball"), link("handle"), joint("j1", "l0", "l1"),
        joint("loose", "l0", "ball", "", "floating"), joint("turn", "ball", "handle"),
    ),
}  # fmt: skip


def mjcf(world: str, *rest: str, compiler: str = "") -> str:
    return f'<mujoco model="m"><compiler {compiler}/>{"".join(rest)}<worldbody>{world}</worldbody></mujoco>'


def bodies(inner: str, *rest: str, **options: str) -> str:
    """A floating body with one child, which holds the given elements."""
    child = f'<body name="b" pos="0.1 0.2 0.3" euler="0.1 0.2 0.3">{INERTIAL}{inner}</body>'
    return mjcf(f'<body name="a" pos="0 0 1"><freejoint/>{INERTIAL}{child}</body>', *rest, **options)


HINGES = (
    '<joint name="h" axis="0 1 0" range="-40 60" limited="true" stiffness="3" springref="20" damping="0.4" armature="0.02"'
    ' frictionloss="0.3"/><joint name="s" type="slide" axis="0 0 2" pos="0.1 0 0" ref="0.2"/>'
)
GEOMS = (
    '<geom type="sphere" size="0.1" rgba="1 0 0 1"/><geom type="capsule" fromto="0 0 0 0.1 0.2 0.3" size="0.02"/>'
    '<geom type="box" size="0.1 0.2 0.3" quat="1 1 0 0" contype="0" conaffinity="0"/>'
    '<geom type="cylinder" size="0.1 0.2" axisangle="0 1 0 30" contype="0"/>'
    '<geom type="ellipsoid" size="0.1 0.2 0.3" material="blue"/>'
    '<geom type="box" size="0.1 0.1 0.1" material="blue" rgba="0 1 0 1"/><site name="tip" pos="0 0 0.1" euler="0 90 0"/>'
    '<site pos="1 0 0"/>'
)
BLUE = '<asset><material name="blue" rgba="0 0 1 0.5"/></asset>'
DEFAULTS = (
    '<default><joint damping="1" armature="0.1"/><default class="leg"><joint range="-1 1" frictionloss="2"/>'
    '<geom type="capsule" size="0.03 0.1"/><motor gear="30" ctrlrange="-2 2"/></default></default>'
)
MOTORS = (
    '<actuator><motor joint="h" gear="20" ctrlrange="-1 2"/><position joint="h" kp="10" forcerange="-5 4"/>'
    '<general joint="s" gear="3" ctrlrange="-2 2" gainprm="4"/><velocity joint="s" kv="1" gear="0"/></actuator>'
)
TWO = f'<joint name="h" axis="0 1 0"/><body name="c" pos="0 0 0.2">{INERTIAL}<joint name="k" axis="1 0 0" ref="10"/></body>'
EQUALITIES = (
    '<equality><joint joint1="h" joint2="k" polycoef="0.1 2 0.3 0 0"/><joint joint1="h" polycoef="0.2 0 0 0 0"/>'
    '<connect name="con" body1="b" body2="a" anchor="0.1 0 0"/><weld body1="c" relpose="0 0 0.1 1 0 0 0"/>'
    '<weld name="off" body1="c" body2="b" active="false"/><tendon tendon1="t" tendon2="u" polycoef="0.1 -1 0 0 0"/>'
    '<tendon tendon1="t" polycoef="0.3 0 0 0 0"/><tendon tendon1="both"/><tendon tendon1="string"/></equality>'
)
TENDONS = (
    '<tendon><fixed name="t"><joint joint="h" coef="2"/></fixed><fixed name="u"><joint joint="k" coef="-0.5"/></fixed>'
    '<fixed name="both"><joint joint="h" coef="1"/><joint joint="k" coef="3"/></fixed>'
    '<spatial name="string"><site site="p"/><site site="q"/></spatial></tendon>'
)
SITES = '<site name="p" pos="0 0 0.1"/><site name="q" pos="0.1 0 0"/>'
PULLED = (
    '<actuator><motor tendon="{0}"/></actuator>'
)  # fmt: skip
KEYS = '<keyframe><key name="squat" qpos="0 0 0.5 1 0 0 0 0.3 0.1"/><key name="home" qpos="0 0 0.8 1 0 0 0 0.2 0.4"/></keyframe>'
ON_GROUND = f'<body name="a" pos="0 0.1 1" quat="1 0 0 1">{INERTIAL}<body name="b">{INERTIAL}{HINGES}</body></body>'

MJCFS = {
    "joints of one body": bodies(HINGES),
    "radian and z-up euler": bodies(HINGES, compiler='angle="radian" eulerseq="ZYX"'),
    "geoms": bodies(GEOMS, BLUE),
    "balanced inertia": bodies(GEOMS, BLUE, compiler='inertiafromgeom="true" balanceinertia="true"'),
    "ball and free objects": mjcf(
        f'<body name="a">{INERTIAL}<joint type="ball" pos="0.1 0 0" range="0 40" limited="true"/></body>'
        f'<body name="o" pos="1 0 1">{INERTIAL}<freejoint name="loose"/></body><body name="fixed">{INERTIAL}</body>'
    ),
    "default classes": bodies(
        '<joint name="h" class="leg"/><geom class="leg"/>', DEFAULTS, '<actuator><motor class="leg" joint="h"/></actuator>'
    ),
    "motors": bodies(HINGES, MOTORS),
    "equalities": bodies(TWO + SITES, TENDONS, EQUALITIES),
    "postures": bodies(HINGES, KEYS),
    "first posture": bodies(HINGES, KEYS.replace("home", "other")),
    "on the ground": mjcf(ON_GROUND + '<geom type="plane" size="1 2 0.1"/><site name="w" pos="1 2 3"/>'),
    "unnamed": mjcf(f"<body>{INERTIAL}<freejoint/><body>{INERTIAL}<joint/><joint axis='1 0 0'/></body></body>").replace(' model="m"', ""),
    "pulled by a tendon": bodies(TWO, TENDONS.replace('<spatial name="string"><site site="p"/><site site="q"/></spatial>', ""), PULLED.format("both")),
    "pulled by a string": bodies(TWO.replace("<joint name", '<site name="q" pos="0.1 0 0"/><joint name', 1).replace('<body name="c" pos="0 0 0.2">', '<body name="c" pos="0 0 0.2"><site name="p" pos="0 0 0.1"/>'), TENDONS, PULLED.format("string")),
    "some passive": bodies(TWO, '<actuator><motor joint="k"/></actuator>'),
}  # fmt: skip
