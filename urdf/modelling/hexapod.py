"""Hexapod with 18 joints, ball feet, and a leg workspace for climbing. Parameters: docs/models.md."""

from __future__ import annotations

from math import cos, pi, radians, sin

from .loft import AHEAD, ASIDE, Section, ellipsoid, loft, patch, ring
from .mesh import merged
from .robot import MATERIALS, JointModel, Link, Robot, SurfaceModel, Visual
from .rods import rod
from .solids import Box, Capsule, Sphere, Triple

LEGS = ("front", "middle", "rear")
HIPS: dict[str, Triple] = {
    "front": (0.21, -0.10, 0.0),
    "middle": (0.0, -0.13, 0.0),
    "rear": (-0.21, -0.10, 0.0),
}  # yaw axes of the right legs in the trunk [m]
COXA, FEMUR, TIBIA = 0.07, 0.22, 0.30  # lengths of a leg's parts [m]
FOOT_RADIUS = 0.02
TIP_RADIUS = 0.002  # small collision sphere, as on the quadruped
MASSES = {"base": 11.0, "coxa": 0.5, "femur": 1.0, "tibia": 0.6}  # [kg]

# lower and upper end [degrees] of the right side, largest speed [rad/s], torque [N m]
YAW = (-60.0, 60.0, 8.0, 40.0)
LIFT = (-85.0, 85.0, 8.0, 60.0)
KNEE = (-15.0, 150.0, 8.0, 50.0)
FEMUR_UP, TIBIA_DOWN = 0.55, 1.95  # standing posture [rad]
SPREAD = {"front": 0.5, "middle": 0.0, "rear": -0.5}  # yaw of the legs in it, front ones ahead [rad]


def hexapod(name: str = "hexapod") -> Robot:
    """Build the hexapod.

    Args:
        name: File stem of URDF and model file.
    """
    links = [link for leg in LEGS for link in _links(leg)]
    joints = [joint for leg in LEGS for joint in _joints(leg)]
    surfaces = {}
    for leg in LEGS:
        foot = _foot(leg)
        surfaces[f"left_{leg}_foot"] = foot.mirrored()
        surfaces[f"right_{leg}_foot"] = foot
    both = [*joints, *(joint.mirrored() for joint in joints)]
    return Robot(
        name=name,
        description="creature with six legs, 24 kg, 18 joints, ball feet",
        root="free_flyer",
        links=(_trunk(), *links, *(link.mirrored() for link in links)),
        joints=tuple(both),
        materials=MATERIALS,
        color=(0.30, 0.50, 0.20),
        surfaces=surfaces,
        postures={"standing": _posture(FEMUR_UP, TIBIA_DOWN), "crouching": _posture(0.95, 2.15)},
        effort_limits={"robot": {joint.name: joint.effort for joint in both if joint.axis}},
        self_collisions=_watched(),
        notes={
            "postures": "joint angles [rad]; at zero the legs stick out sideways, straight",
            "surfaces": "a foot touches with the lowest point of its ball in `standing`; +z out of the body",
        },
    )


def _posture(up: float, down: float) -> dict[str, float]:
    angles = {}
    for side, sense in (("R", 1.0), ("L", -1.0)):
        for leg in LEGS:
            stem = f"{side}_{leg.upper()}_"
            # a right leg points along -y: positive yaw moves it forwards, positive roll downwards
            angles[f"{stem}COXA_Y"] = sense * SPREAD[leg]
            angles[f"{stem}FEMUR_R"] = -sense * up
            angles[f"{stem}TIBIA_R"] = sense * down
    return {name: angle for name, angle in angles.items() if angle}


def _foot(leg: str) -> SurfaceModel:
    """The ball's lowest point in the standing posture, with the normal downwards."""
    tilt = TIBIA_DOWN - FEMUR_UP  # roll of the tibia
    down = (0.0, -sin(tilt), -cos(tilt))  # the world's -z in the tibia's frame
    place = (0.0, FOOT_RADIUS * down[1] - TIBIA, FOOT_RADIUS * down[2])
    return SurfaceModel(f"r_{leg}_tibia_link", place, (pi - tilt, 0.0, 0.0))


def _joints(leg: str) -> list[JointModel]:
    upper, lower = f"R_{leg.upper()}_", f"r_{leg}_"
    chain = (
        ("COXA_Y", "base_link", "coxa_link", HIPS[leg], "z", YAW),
        ("FEMUR_R", f"{lower}coxa_link", "femur_link", (0.0, -COXA, 0.0), "x", LIFT),
        ("TIBIA_R", f"{lower}femur_link", "tibia_link", (0.0, -FEMUR, 0.0), "x", KNEE),
    )
    joints = [
        JointModel(upper + name, parent, lower + child, xyz, axis, radians(low), radians(high), velocity, effort)
        for name, parent, child, xyz, axis, (low, high, velocity, effort) in chain
    ]
    foot = JointModel(f"{lower}foot_fixed", f"{lower}tibia_link", f"{lower}foot", (0.0, -TIBIA, 0.0))
    return [*joints, foot]


def _links(leg: str) -> list[Link]:
    name = f"r_{leg}_"
    coxa = Capsule((0.0, -0.01, 0.0), (0.0, -COXA, 0.0), 0.035)
    femur = Capsule((0.0, 0.0, 0.0), (0.0, -FEMUR, 0.0), 0.03)
    tibia = Capsule((0.0, 0.0, 0.0), (0.0, -TIBIA + 0.02, 0.0), 0.018)
    _, y, z = _foot(leg).xyz
    inwards = (FOOT_RADIUS - TIP_RADIUS) / FOOT_RADIUS
    ball = Sphere((0.0, -TIBIA + inwards * (y + TIBIA), inwards * z), TIP_RADIUS)
    return [
        Link(f"{name}coxa_link", MASSES["coxa"], collisions=(coxa,), visuals=_coxa_shells(name)),
        Link(f"{name}femur_link", MASSES["femur"], collisions=(femur,), visuals=_femur_shells(name)),
        Link(f"{name}tibia_link", MASSES["tibia"], collisions=(tibia, ball), visuals=_tibia_shells(name)),
        Link(f"{name}foot"),
    ]


def _trunk() -> Link:
    body = Box((0.0, 0.0, 0.01), (0.50, 0.18, 0.11))
    return Link("base_link", MASSES["base"], collisions=(body,), visuals=_trunk_shells())


def _trunk_shells() -> tuple[Visual, ...]:
    hull = [
        Section(-0.25, 0.030, 0.040, 0.055, 0.055, power=2.5),
        Section(-0.19, 0.045, 0.060, 0.085, 0.085, power=2.6),
        Section(0.0, 0.050, 0.070, 0.105, 0.105, power=2.6),
        Section(0.19, 0.045, 0.060, 0.085, 0.085, power=2.6),
        Section(0.27, 0.030, 0.035, 0.050, 0.050, power=2.4),
    ]
    plates = [
        patch(hull, angle=pi, half_angle=0.95, low=low, high=high, thickness=0.010, power=3.6, frame=AHEAD)
        for low, high in ((-0.225, -0.085), (-0.072, 0.072), (0.085, 0.225))
    ]
    eyes = [ellipsoid((0.288, y, 0.020), (0.020, 0.017, 0.017), rings=8, segments=16) for y in (-0.032, 0.032)]
    antennae = [rod((0.272, y, 0.032), (0.345, 1.9 * y, 0.105), 0.004, segments=10) for y in (-0.022, 0.022)]
    return (
        Visual("hull", loft(hull, start_cap=0.02, end_cap=0.03, frame=AHEAD, rings=16, segments=32), "dark"),
        Visual("plates", merged(plates), "tint"),
        Visual("eyes", merged(eyes), "visor"),
        Visual("antennae", merged(antennae), "dark"),
    )


def _coxa_shells(name: str) -> tuple[Visual, ...]:
    drum = loft([ring(-0.036, 0.034), ring(0.036, 0.034)], start_cap=0.008, end_cap=0.008, rings=3)
    arm = loft(
        [ring(0.0, 0.026, power=2.5), ring(COXA - 0.01, 0.026, power=2.5)],
        start_cap=0.0,
        end_cap=0.01,
        rings=3,
        frame=ASIDE,
    )
    return (Visual(f"{name}coxa", merged([drum, arm]), "dark"),)


def _femur_shells(name: str) -> tuple[Visual, ...]:
    sections = [
        ring(0.02, 0.036, side=0.030, power=2.4),
        ring(0.45 * FEMUR, 0.030, side=0.034, power=2.6),
        ring(FEMUR - 0.02, 0.026, side=0.026, power=2.4),
    ]
    shell = loft(sections, start_cap=0.03, end_cap=0.02, rings=10, segments=20, frame=ASIDE)
    guard = patch(
        sections,
        angle=pi / 2,
        half_angle=0.95,
        low=0.03,
        high=FEMUR - 0.035,
        thickness=0.006,
        power=3.2,
        frame=ASIDE,
    )
    knee = rod((-0.032, -FEMUR, 0.0), (0.032, -FEMUR, 0.0), 0.030, segments=20)
    return (
        Visual(f"{name}femur", shell, "shell"),
        Visual(f"{name}femur_guard", guard, "tint"),
        Visual(f"{name}knee", knee, "dark"),
    )


def _tibia_shells(name: str) -> tuple[Visual, ...]:
    sections = [
        ring(0.015, 0.024, side=0.026, power=2.4),
        ring(0.30 * TIBIA, 0.019, side=0.024, power=2.4),
        ring(0.65 * TIBIA, 0.014, side=0.016, power=2.2),
        ring(TIBIA - 0.02, 0.010, side=0.010),
    ]
    shell = loft(sections, start_cap=0.02, end_cap=0.008, rings=12, segments=18, frame=ASIDE)
    ball = ellipsoid((0.0, -TIBIA, 0.0), (FOOT_RADIUS,) * 3, rings=9, segments=16)
    return Visual(f"{name}tibia", shell, "shell"), Visual(f"{name}foot_ball", ball, "dark")


def _watched() -> tuple[tuple[str, str], ...]:
    """Legs of one side against their neighbours, and tibias against the trunk."""
    pairs = []
    for side in "rl":
        for first, second in (("front", "middle"), ("middle", "rear")):
            for part in ("tibia", "femur"):
                pairs.append((f"{side}_{first}_{part}_link", f"{side}_{second}_{part}_link"))
        pairs += [(f"{side}_{leg}_tibia_link", "base_link") for leg in LEGS]
    return tuple(pairs)
