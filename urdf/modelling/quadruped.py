"""Quadruped with ANYmal's dimensions: 12 joints, ball feet. Parameters: docs/models.md."""

from __future__ import annotations

from math import cos, pi, radians, sin

import numpy as np

from .loft import AHEAD, ASIDE, Section, ellipsoid, loft, patch, ring
from .mesh import merged, rounded_box
from .robot import MATERIALS, JointModel, Link, Robot, SurfaceModel, Visual
from .rods import rod
from .solids import Box, Capsule, Sphere, Triple

HIP: Triple = (0.30, -0.115, 0.0)  # centre of the trunk to the roll axis of the right front hip [m]
ROLL_TO_PITCH = 0.09  # along the hip's axis, outwards [m]
THIGH = 0.285
SHANK = 0.31  # knee to the centre of the foot's ball [m]
FOOT_RADIUS = 0.025
# Small collision sphere: contacts are points of the ball, and the inclination of a leg moves a round foot into the
# ground by the radius times 1 - cos of the inclination.
TIP_RADIUS = 0.002
TRUNK: Triple = (0.56, 0.20, 0.17)
MASSES = {"base": 20.0, "hip": 2.1, "thigh": 2.7, "shank": 0.7}  # [kg]

# lower and upper end [degrees], largest speed [rad/s], torque [N m]
HIP_ROLL = (-45.0, 30.0, 8.0, 80.0)
HIP_PITCH = (-110.0, 110.0, 8.0, 80.0)
KNEE = (-155.0, 155.0, 8.0, 80.0)
BEND = 0.7  # of the standing posture: angle of each thigh from the vertical [rad]


def quadruped(name: str = "quadruped") -> Robot:
    """Build the quadruped; its knees bend towards the middle of the body.

    Args:
        name: File stem of URDF and model file.
    """
    legs = [*_leg_links("front"), *_leg_links("hind")]
    joints = [*_leg_joints("front", 1.0), *_leg_joints("hind", -1.0)]
    feet = {"front": _foot("front"), "hind": _foot("hind")}
    surfaces = {}
    for end, foot in feet.items():
        surfaces[f"left_{end}_foot"] = foot.mirrored()
        surfaces[f"right_{end}_foot"] = foot
    torques = {joint.name: joint.effort for joint in [*joints, *(j.mirrored() for j in joints)] if joint.axis}
    return Robot(
        name=name,
        description="quadruped of ANYmal's build, 42 kg, 12 joints, ball feet",
        root="free_flyer",
        links=(_trunk(), *legs, *(link.mirrored() for link in legs)),
        joints=(*joints, *(joint.mirrored() for joint in joints)),
        materials=MATERIALS,
        color=(0.72, 0.14, 0.13),
        surfaces=surfaces,
        postures={"standing": _posture(BEND), "crouching": _posture(1.0), "stretched": _posture(0.35)},
        effort_limits={"robot": torques},
        self_collisions=_watched(),
        notes={
            "postures": "joint angles [rad]; the feet are below the hips and point down in `standing`",
            "surfaces": "a foot touches with the lowest point of its ball in `standing`; +z out of the body",
        },
    )


def _posture(bend: float) -> dict[str, float]:
    """Feet below the hips; at the front the knees point back, behind ahead."""
    angle = float(np.arcsin(THIGH * sin(bend) / SHANK))
    angles = {}
    for side in "RL":
        for end, sense in (("FRONT", 1.0), ("HIND", -1.0)):
            angles[f"{side}_{end}_HIP_P"] = round(sense * bend, 6)
            angles[f"{side}_{end}_KNEE_P"] = round(-sense * (bend + angle), 6)
    return angles


def _shank_tilt(end: str) -> float:
    """Pitch of the shank in the standing posture [rad]."""
    posture = _posture(BEND)
    return posture[f"R_{end.upper()}_HIP_P"] + posture[f"R_{end.upper()}_KNEE_P"]


def _foot(end: str) -> SurfaceModel:
    """The ball's lowest point in the standing posture, with the normal downwards."""
    tilt = _shank_tilt(end)
    down = (sin(tilt), 0.0, -cos(tilt))  # the world's -z in the shank's frame
    place = (FOOT_RADIUS * down[0], 0.0, FOOT_RADIUS * down[2] - SHANK)
    return SurfaceModel(f"r_{end}_shank_link", place, (pi, -tilt, 0.0))


def _leg_joints(end: str, ahead: float) -> list[JointModel]:
    upper, lower = f"R_{end.upper()}_", f"r_{end}_"
    chain = (
        ("HIP_R", "base_link", "hip_link", (ahead * HIP[0], HIP[1], HIP[2]), "x", HIP_ROLL),
        ("HIP_P", f"{lower}hip_link", "thigh_link", (0.0, -ROLL_TO_PITCH, 0.0), "y", HIP_PITCH),
        ("KNEE_P", f"{lower}thigh_link", "shank_link", (0.0, 0.0, -THIGH), "y", KNEE),
    )
    joints = [
        JointModel(upper + name, parent, lower + child, xyz, axis, radians(low), radians(high), velocity, effort)
        for name, parent, child, xyz, axis, (low, high, velocity, effort) in chain
    ]
    foot = JointModel(f"{lower}foot_fixed", f"{lower}shank_link", f"{lower}foot", (0.0, 0.0, -SHANK))
    return [*joints, foot]


def _leg_links(end: str) -> list[Link]:
    name = f"r_{end}_"
    ahead = 1.0 if end == "front" else -1.0
    hip = Capsule((0.0, 0.0, 0.0), (0.0, -ROLL_TO_PITCH + 0.02, 0.0), 0.05)
    thigh = Capsule((0.0, 0.0, 0.0), (0.0, 0.0, -THIGH), 0.045)
    shank = Capsule((0.0, 0.0, 0.0), (0.0, 0.0, -SHANK + 0.02), 0.022)
    x, _, z = _foot(end).xyz
    inwards = (FOOT_RADIUS - TIP_RADIUS) / FOOT_RADIUS
    ball = Sphere((inwards * x, 0.0, -SHANK + inwards * (z + SHANK)), TIP_RADIUS)
    return [
        Link(f"{name}hip_link", MASSES["hip"], collisions=(hip,), visuals=_hip_shells(name)),
        Link(f"{name}thigh_link", MASSES["thigh"], collisions=(thigh,), visuals=_thigh_shells(name)),
        Link(f"{name}shank_link", MASSES["shank"], collisions=(shank, ball), visuals=_shank_shells(name, ahead)),
        Link(f"{name}foot"),
    ]


def _trunk() -> Link:
    body = Box((0.0, 0.0, 0.0), TRUNK)
    head = Box((0.34, 0.0, 0.01), (0.12, 0.15, 0.12))
    tail = Box((-0.34, 0.0, 0.01), (0.12, 0.15, 0.12))
    return Link("base_link", MASSES["base"], collisions=(body, head, tail), visuals=_trunk_shells())


def _trunk_shells() -> tuple[Visual, ...]:
    half, side, up = TRUNK[0] / 2, TRUNK[1] / 2, TRUNK[2] / 2
    hull = [
        Section(-half + 0.02, up - 0.01, up - 0.02, side - 0.012, side - 0.012, power=3.6),
        Section(-0.10, up, up, side, side, power=4.0),
        Section(0.10, up, up, side, side, power=4.0),
        Section(half - 0.02, up - 0.01, up - 0.02, side - 0.012, side - 0.012, power=3.6),
    ]
    back = patch(
        hull, angle=pi, half_angle=0.62, low=-half + 0.05, high=half - 0.05, thickness=0.012, power=4.0, frame=AHEAD
    )
    faces = [_bumper(sense) for sense in (1.0, -1.0)]
    eyes = [rod((0.398, y, 0.022), (0.407, y, 0.022), 0.019, segments=18) for y in (-0.036, 0.036)]
    rails = [rod((-0.2, y, up + 0.038), (0.2, y, up + 0.038), 0.009, segments=12) for y in (-0.062, 0.062)]
    posts = [
        rod((x, y, up - 0.01), (x, y, up + 0.038), 0.008, segments=12) for x in (-0.185, 0.185) for y in (-0.062, 0.062)
    ]
    return (
        Visual("trunk", loft(hull, start_cap=0.02, end_cap=0.02, frame=AHEAD, rings=12, segments=32), "tint"),
        Visual("back", back, "shell"),
        Visual("bumpers", merged(faces), "dark"),
        Visual("eyes", merged(eyes), "visor"),
        Visual("rails", merged([*rails, *posts]), "dark"),
    )


def _bumper(sense: float):  # type: ignore[no-untyped-def]
    """The block at one end of the trunk that carries its cameras."""
    return rounded_box((sense * 0.345, 0.0, 0.01), (0.12, 0.15, 0.12), 0.028, steps=3)


def _hip_shells(name: str) -> tuple[Visual, ...]:
    drum = loft([ring(-0.035, 0.056), ring(0.055, 0.056)], start_cap=0.012, end_cap=0.012, rings=3, frame=AHEAD)
    motor = loft(
        [ring(0.0, 0.05), ring(ROLL_TO_PITCH - 0.022, 0.054)], start_cap=0.0, end_cap=0.012, rings=3, frame=ASIDE
    )
    return Visual(f"{name}hip", drum, "dark"), Visual(f"{name}hip_motor", motor, "shell")


def _thigh_shells(name: str) -> tuple[Visual, ...]:
    sections = [
        ring(-0.90 * THIGH, 0.043, side=0.026, power=2.6),
        ring(-0.55 * THIGH, 0.040, side=0.028, power=2.8),
        ring(-0.12 * THIGH, 0.052, side=0.031, power=2.6),
    ]
    shell = loft(sections, start_cap=0.03, end_cap=0.05, rings=10, segments=20)
    plate = patch(sections, angle=-pi / 2, half_angle=0.9, low=-0.86 * THIGH, high=-0.16 * THIGH, thickness=0.004)
    drum = loft([ring(-0.034, 0.058), ring(0.034, 0.058)], start_cap=0.01, end_cap=0.014, rings=3, frame=ASIDE)
    knee = loft([ring(-0.03, 0.044), ring(0.03, 0.044)], start_cap=0.01, end_cap=0.01, rings=3, frame=ASIDE)
    return (
        Visual(f"{name}thigh", shell, "shell"),
        Visual(f"{name}thigh_plate", plate, "tint"),
        Visual(f"{name}thigh_motors", merged([drum, knee.moved((0.0, 0.0, -THIGH))]), "dark"),
    )


def _shank_shells(name: str, ahead: float) -> tuple[Visual, ...]:
    sections = [
        ring(-SHANK + 0.03, 0.014, side=0.013),
        ring(-0.5 * SHANK, 0.018, side=0.016, power=2.3),
        ring(-0.2 * SHANK, 0.028, side=0.020, power=2.4, x=0.004 * ahead),
        ring(-0.06 * SHANK, 0.032, side=0.021, power=2.4),
    ]
    shell = loft(sections, start_cap=0.012, end_cap=0.03, rings=12, segments=18)
    ball = ellipsoid((0.0, 0.0, -SHANK), (FOOT_RADIUS, FOOT_RADIUS, FOOT_RADIUS), rings=9, segments=18)
    return Visual(f"{name}shank", shell, "shell"), Visual(f"{name}foot_ball", ball, "dark")


def _watched() -> tuple[tuple[str, str], ...]:
    """Shanks and thighs of neighbouring legs, and feet against the trunk."""
    pairs = []
    for end in ("front", "hind"):
        pairs.append((f"r_{end}_shank_link", f"l_{end}_shank_link"))
        pairs.append((f"r_{end}_thigh_link", f"l_{end}_thigh_link"))
    for side in "rl":
        pairs.append((f"{side}_front_shank_link", f"{side}_hind_shank_link"))
        pairs.append((f"{side}_front_shank_link", f"{side}_hind_thigh_link"))
        pairs.append((f"{side}_front_thigh_link", f"{side}_hind_shank_link"))
        pairs += [(f"{side}_{end}_shank_link", "base_link") for end in ("front", "hind")]
    return tuple(pairs)
