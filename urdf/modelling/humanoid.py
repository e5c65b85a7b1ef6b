"""Links, joints and surfaces of the humanoid, built from its parameters."""

from __future__ import annotations

from dataclasses import replace
from math import pi

from . import arm_shells, leg_shells, trunk_shells
from .humanoid_figures import ARM, DEG, LEG, LIMITS, HumanoidFigures, bare, effort_set, joint_order
from .mesh import rounded_box
from .robot import MATERIALS, JointModel, Link, Robot, SurfaceModel, Visual
from .solids import Box, Capsule, Solid, Sphere, Triple

ZERO: Triple = (0.0, 0.0, 0.0)
FOOT_HEIGHT = 0.045  # of the sole's collision box
PALM_DEPTH = 0.028  # of the hand's collision box, across the palm
PALM_WIDTH = 0.078
YOKE_TOP = 0.05  # shoulder axis to the flat top of the shoulders
SEAT_DEPTH = 0.07  # hip axis to the seat
CHEST_RADIUS, CHEST_AHEAD, CHEST_BELOW = 0.103, 0.003, 0.152  # of the chest's capsule; below the yoke
SHANK_RADIUS = 0.05
UPPER_ARM_RADIUS = 0.042
GRIP_RADIUS = 0.02
PACK = Box(center=(-0.103, 0.0, 0.2075), size=(0.04, 0.25, 0.375))  # in the frame of the torso
PACK_FRONT = 0.05  # the pack's collision box fills the trunk up to here, so that nothing passes through it
PACK_MASS = 2.5  # [kg]
SUPERHUMAN = 2000.0  # practically unlimited torque of every joint [N m]

CHILD_LINKS = {
    "HIP_Y": "hip_yaw_link",
    "HIP_R": "hip_roll_link",
    "HIP_P": "hip_pitch_link",
    "KNEE_P": "knee_pitch_link",
    "ANKLE_P": "ankle_pitch_link",
    "ANKLE_R": "ankle_roll_link",
    "SHOULDER_P": "shoulder_pitch_link",
    "SHOULDER_R": "shoulder_roll_link",
    "SHOULDER_Y": "shoulder_yaw_link",
    "ELBOW_P": "elbow_pitch_link",
    "WRIST_Y": "wrist_yaw_link",
    "WRIST_P": "wrist_pitch_link",
    "WRIST_R": "wrist_roll_link",
}

WATCHED = (
    ("r_wrist_roll_link", "l_wrist_roll_link"),
    ("r_wrist_roll_link", "torso"),
    ("l_wrist_roll_link", "torso"),
    ("r_wrist_roll_link", "base_link"),
    ("l_wrist_roll_link", "base_link"),
    ("r_wrist_roll_link", "r_hip_pitch_link"),
    ("l_wrist_roll_link", "l_hip_pitch_link"),
    ("r_wrist_roll_link", "head"),
    ("l_wrist_roll_link", "head"),
    ("r_wrist_yaw_link", "torso"),
    ("l_wrist_yaw_link", "torso"),
    ("r_wrist_yaw_link", "base_link"),
    ("l_wrist_yaw_link", "base_link"),
    ("r_elbow_pitch_link", "torso"),
    ("l_elbow_pitch_link", "torso"),
    ("r_hip_pitch_link", "l_hip_pitch_link"),
    ("r_knee_pitch_link", "l_knee_pitch_link"),
    ("r_ankle_roll_link", "l_ankle_roll_link"),
)


def humanoid(figures: HumanoidFigures) -> Robot:
    """Build the humanoid.

    Args:
        figures: Its proportions, masses, postures and name.
    """
    right = [*_leg_links(figures), *_arm_links(figures)]
    legs, arms = right[: len(LEG) + 1], right[len(LEG) + 1 :]
    links = [*_base_links(figures)]
    links += [*legs, *(link.mirrored() for link in legs)]
    links += [*_trunk_links(figures), *arms, *(link.mirrored() for link in arms)]
    return Robot(
        name=figures.name,
        description=figures.description,
        root="free_flyer",
        links=tuple(links),
        joints=tuple(_joints(figures)),
        materials=MATERIALS,
        color=figures.color,
        surfaces=_surfaces(figures),
        postures={"standing": {}, **figures.postures},
        effort_limits={
            "animation": effort_set("animation"),
            "robot": effort_set("robot", figures.motors),
            "superhuman": dict.fromkeys(joint_order(), SUPERHUMAN),
        },
        landmarks=_landmarks(),
        self_collisions=WATCHED,
        notes={
            "landmarks": "joints and soles where a person has them: recorded motions are retargeted by them",
            "postures": "joint angles [rad]; joints not named are at zero",
            "surfaces": "+z of a surface points out of the body; a grasp's cylinder lies along its x",
            "effort_limits": (
                "[N m]; animation: a strong person's joint moments; robot: motors of a "
                f"{figures.masses.total:.0f} kg robot, as in\nthe URDF. "
                "Where both come from: docs/models.md; superhuman: as good as none"
            ),
            "self_collisions": "pairs of links that everyday movements bring close",
        },
    )


def with_pack(robot: Robot) -> Robot:
    """The default humanoid with a flat pack on its back, on which another one can stand; its own URDF alone."""
    back = PACK.center[0] - PACK.size[0] / 2
    solid = Box((((back + PACK_FRONT) / 2), *PACK.center[1:]), (PACK_FRONT - back, *PACK.size[1:]))
    links = []
    for link in robot.links:
        visuals = tuple(replace(visual, model=robot.name) for visual in link.visuals)
        if link.name == "torso":
            visuals += (Visual("pack", rounded_box(PACK.center, PACK.size, 0.006), "dark"),)
            mass, solids = link.mass + PACK_MASS, (*link.collisions, PACK)
            link = replace(link, mass=mass, solids=solids, collisions=(*link.collisions, solid))
        links.append(replace(link, visuals=visuals))
    description = robot.description.replace("39 kg", f"{39 + PACK_MASS} kg") + ", a flat pack on its back"
    return replace(robot, name=f"{robot.name}_with_pack", description=description, links=tuple(links))


def _landmarks() -> dict[str, str]:
    joints = {"hip": "HIP_P", "knee": "KNEE_P", "ankle": "ANKLE_P"}
    joints |= {"shoulder": "SHOULDER_P", "elbow": "ELBOW_P", "wrist": "WRIST_P"}
    found = {"chest": "CHEST_Y"}
    for side in ("left", "right"):
        found |= {f"{side}_{part}": f"{side[0].upper()}_{joint}" for part, joint in joints.items()}
        found[f"{side}_sole"] = f"{side}_sole"
    return found


def _base_links(figures: HumanoidFigures) -> list[Link]:
    seat = Box(center=(-0.035, 0.0, -SEAT_DEPTH / 2), size=(0.15, 0.2, SEAT_DEPTH))
    pelvis = Capsule(start=(0.0, -0.055, 0.03), end=(0.0, 0.055, 0.03), radius=0.085)
    visuals = trunk_shells.pelvis(figures.proportions)
    return [Link("base_link", figures.masses.base, collisions=(pelvis, seat), visuals=visuals)]


def _trunk_links(figures: HumanoidFigures) -> list[Link]:
    p, m = figures.proportions, figures.masses
    top = p.chest_to_shoulder + YOKE_TOP
    height = top - CHEST_BELOW
    chest = Capsule(start=(CHEST_AHEAD, -0.036, height), end=(CHEST_AHEAD, 0.036, height), radius=CHEST_RADIUS)
    ribs = Capsule(start=(0.004, -0.024, top - 0.258), end=(0.004, 0.024, top - 0.258), radius=0.09)
    yoke = Box(center=(-0.008, 0.0, top - 0.03), size=(0.146, 2 * (p.shoulder_half_width - 0.02), 0.06))
    skull = Capsule(start=(0.006, 0.0, p.neck_to_crown - 0.125), end=(0.006, 0.0, p.neck_to_crown - 0.09), radius=0.089)
    belly = Sphere(center=(0.0, 0.0, 0.0), radius=0.085)
    neck = Capsule(start=(0.0, 0.0, -0.02), end=(0.0, 0.0, p.neck), radius=0.045)
    return [
        Link("chest_pitch_link", m.chest_pitch, collisions=(belly,), visuals=trunk_shells.waist(p)),
        Link("torso", m.torso, collisions=(chest, ribs, yoke), visuals=trunk_shells.torso(p)),
        Link("neck_yaw_link", m.neck_yaw, solids=(neck,), visuals=trunk_shells.neck(p)),
        Link("head", m.head, collisions=(skull,), visuals=trunk_shells.head(p)),
        Link("gaze"),
    ]


def _leg_links(figures: HumanoidFigures) -> list[Link]:
    p, m = figures.proportions, figures.masses
    thigh = Capsule(start=(0.0, 0.0, -0.03), end=(0.0, 0.0, -p.thigh), radius=0.062)
    shank = Capsule(start=(0.0, 0.0, 0.0), end=(0.0, 0.0, -p.shank), radius=SHANK_RADIUS)
    foot = Box(
        center=(p.foot_ahead, -p.foot_outwards, FOOT_HEIGHT / 2 - p.sole_to_ankle),
        size=(p.foot_length, p.foot_width, FOOT_HEIGHT),
    )
    return [
        Link("r_hip_yaw_link", m.hip_yaw, solids=(Sphere((0.0, 0.0, 0.03), 0.045),)),
        Link("r_hip_roll_link", m.hip_roll, solids=(Sphere(ZERO, 0.05),), visuals=leg_shells.hip(p)),
        Link("r_hip_pitch_link", m.thigh, collisions=(thigh,), visuals=leg_shells.thigh(p)),
        Link("r_knee_pitch_link", m.shank, collisions=(shank,), visuals=leg_shells.shank(p)),
        Link("r_ankle_pitch_link", m.ankle_pitch, solids=(Sphere(ZERO, 0.035),), visuals=leg_shells.ankle(p)),
        Link("r_ankle_roll_link", m.foot, collisions=(foot,), visuals=leg_shells.foot(p)),
        Link("r_sole"),
    ]


def _arm_links(figures: HumanoidFigures) -> list[Link]:
    p, m = figures.proportions, figures.masses
    half = p.forearm - p.elbow_to_wrist_yaw
    shoulder = Sphere((0.0, 0.0, -0.008), 0.058)
    # the ball of the joint rises by a millimetre when the arm rotates and must not touch a foot on the yoke
    ball: tuple[Solid, ...] = (Sphere((0.0, 0.0, -0.008), 0.056),)
    upper = Capsule(start=(0.0, 0.0, -0.06), end=(0.0, 0.0, -p.upper_arm), radius=UPPER_ARM_RADIUS)
    forearm = Capsule(start=ZERO, end=(0.0, 0.0, -p.elbow_to_wrist_yaw), radius=0.04)
    wrist = Capsule(start=ZERO, end=(0.0, 0.0, -half), radius=0.035)
    # ends at the wrist, so that a hand can lie flat on a table
    cuff: tuple[Solid, ...] = (Capsule(start=ZERO, end=(0.0, 0.0, 0.035 - half), radius=0.035),)
    palm = Box(center=(0.0, 0.0, -(p.hand + 0.03) / 2), size=(PALM_WIDTH, PALM_DEPTH, p.hand - 0.03))
    return [
        Link(
            "r_shoulder_pitch_link",
            m.shoulder_pitch,
            solids=(Sphere((0.0, 0.02, 0.0), 0.045),),
            visuals=arm_shells.shoulder_joint(p),
        ),
        Link(
            "r_shoulder_roll_link", m.shoulder_roll, collisions=ball, solids=(shoulder,), visuals=arm_shells.shoulder(p)
        ),
        Link("r_shoulder_yaw_link", m.upper_arm, collisions=(upper,), visuals=arm_shells.upper_arm(p)),
        Link("r_elbow_pitch_link", m.forearm, collisions=(forearm,), visuals=arm_shells.forearm(p)),
        Link("r_wrist_yaw_link", m.wrist_yaw, collisions=cuff, solids=(wrist,), visuals=arm_shells.wrist(p)),
        Link(
            "r_wrist_pitch_link",
            m.wrist_pitch,
            solids=(Sphere(ZERO, 0.025),),
            visuals=arm_shells.wrist_joint(p),
        ),
        Link("r_wrist_roll_link", m.hand, collisions=(palm,), visuals=arm_shells.hand(p, PALM_DEPTH)),
        Link("r_wrist"),
        Link("r_gripper"),
    ]


def _joints(figures: HumanoidFigures) -> list[JointModel]:
    """All joints, the actuated ones in HRP-4's order, then the fixed frames."""
    p = figures.proportions
    leg = _chain(
        "base_link",
        "r_",
        LEG,
        {
            "HIP_Y": (0.0, -p.hip_half_width, 0.0),
            "KNEE_P": (0.0, 0.0, -p.thigh),
            "ANKLE_P": (0.0, 0.0, -p.shank),
        },
        figures.motors,
    )
    arm = _chain(
        "torso",
        "r_",
        ARM,
        {
            "SHOULDER_P": (0.0, -p.shoulder_half_width, p.chest_to_shoulder),
            "ELBOW_P": (0.0, 0.0, -p.upper_arm),
            "WRIST_Y": (0.0, 0.0, -p.elbow_to_wrist_yaw),
            "WRIST_P": (0.0, 0.0, p.elbow_to_wrist_yaw - p.forearm),
        },
        figures.motors,
    )
    middle = [
        _actuated("CHEST_P", "base_link", "chest_pitch_link", (0.0, 0.0, p.hip_to_chest), figures.motors),
        _actuated("CHEST_Y", "chest_pitch_link", "torso", ZERO, figures.motors),
        _actuated("NECK_Y", "torso", "neck_yaw_link", (0.0, 0.0, p.chest_to_neck), figures.motors),
        _actuated("NECK_P", "neck_yaw_link", "head", (0.0, 0.0, p.neck), figures.motors),
    ]
    sole = (p.foot_ahead, -p.foot_outwards, -p.sole_to_ankle)
    frames = [
        JointModel("r_sole_fixed", "r_ankle_roll_link", "r_sole", sole),
        JointModel("r_wrist_fixed", "r_wrist_roll_link", "r_wrist"),
        JointModel("r_gripper_fixed", "r_wrist_roll_link", "r_gripper", (0.0, PALM_DEPTH / 2, -p.palm)),
    ]
    gaze = JointModel("gaze_fixed", "head", "gaze", (0.1, 0.0, trunk_shells.eye_height(p)))
    return [
        *leg,
        *(j.mirrored() for j in leg),
        *middle,
        *arm,
        *(j.mirrored() for j in arm),
        *frames,
        *(j.mirrored() for j in frames),
        gaze,
    ]


def _chain(
    parent: str, side: str, names: tuple[str, ...], origins: dict[str, Triple], motors: float
) -> list[JointModel]:
    """A limb's joints; those without an origin coincide with the previous one."""
    joints = []
    for name in names:
        child = side + CHILD_LINKS[name]
        joints.append(_actuated(side.upper() + name, parent, child, origins.get(name, ZERO), motors))
        parent = child
    return joints


def _actuated(name: str, parent: str, child: str, xyz: Triple, motors: float) -> JointModel:
    """A revolute joint with its limits; the name's last letter is the axis."""
    limits = LIMITS[bare(name)]
    return JointModel(
        name,
        parent,
        child,
        xyz,
        {"Y": "z", "P": "y", "R": "x"}[name[-1]],
        limits.lower * DEG,
        limits.upper * DEG,
        limits.velocity,
        motors * limits.robot,
    )


def _surfaces(figures: HumanoidFigures) -> dict[str, SurfaceModel]:
    """Soles, palms, knees, elbows, seat, sacrum, back, shoulders, grips; the left ones mirror the right ones.

    Knees, elbows, back and tailbone are points on round shapes or edges, about which their links roll. A
    yoke is the surface for the foot of a character standing on the shoulder, with the shin behind the ear.
    """
    p = figures.proportions
    palm_normal = (-pi / 2, 0.0, 0.0)  # towards the other hand
    sole = (p.foot_ahead, -p.foot_outwards, -p.sole_to_ankle)
    top = p.chest_to_shoulder + YOKE_TOP
    right = {
        "sole": SurfaceModel(
            "r_ankle_roll_link", sole, (pi, 0.0, 0.0), size=(p.foot_length - 0.025, p.foot_width - 0.015)
        ),
        "palm": SurfaceModel("r_wrist_roll_link", (0.0, PALM_DEPTH / 2, -p.palm), palm_normal, size=(0.07, 0.1)),
        "shoulder": SurfaceModel("torso", (0.0, -0.11, top), size=(0.12, 0.1)),
        "yoke": SurfaceModel("torso", (-0.015, -0.119, top), size=(0.09, 0.074)),
        "knee": SurfaceModel("r_knee_pitch_link", (SHANK_RADIUS, 0.0, 0.0), (0.0, pi / 2, 0.0)),
        "elbow": SurfaceModel("r_shoulder_yaw_link", (-UPPER_ARM_RADIUS, 0.0, -p.upper_arm), (0.0, -pi / 2, 0.0)),
        "grip": SurfaceModel(
            "r_wrist_roll_link",
            (0.0, PALM_DEPTH / 2 + GRIP_RADIUS, -p.palm),
            palm_normal,
            radius=GRIP_RADIUS,
            length=0.08,
        ),
    }
    surfaces = {}
    for name, surface in right.items():
        surfaces[f"left_{name}"] = surface.mirrored()
        surfaces[f"right_{name}"] = surface
    surfaces["seat"] = SurfaceModel("base_link", (-0.035, 0.0, -SEAT_DEPTH), (pi, 0.0, 0.0), size=(0.15, 0.2))
    surfaces["sacrum"] = SurfaceModel(
        "base_link", (-0.11, 0.0, -SEAT_DEPTH / 2), (0.0, -pi / 2, 0.0), size=(SEAT_DEPTH, 0.2)
    )
    surfaces["tailbone"] = SurfaceModel("base_link", (-0.11, 0.0, -SEAT_DEPTH), (pi, pi / 4, 0.0))
    surfaces["back"] = SurfaceModel("torso", (CHEST_AHEAD - CHEST_RADIUS, 0.0, top - CHEST_BELOW), (0.0, -pi / 2, 0.0))
    return surfaces
