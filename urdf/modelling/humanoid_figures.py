"""Parameters of the humanoid: proportions, masses, limits, postures. Sources: docs/models.md."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import radians

DEG = radians(1.0)


@dataclass(frozen=True)
class Proportions:
    """Positions of the joints at the zero posture [m]. The defaults give a height of 1.51 m.

    Attributes:
        sole_to_ankle: Height of the ankle above the sole.
        shank: Knee to ankle.
        thigh: Hip to knee.
        hip_half_width: Sagittal plane to hip.
        hip_to_chest: Hip axis to the waist joints.
        chest_to_shoulder: Waist joints to shoulder axis, vertically.
        chest_to_neck: Waist joints to neck yaw joint.
        neck: Neck yaw joint to neck pitch joint.
        neck_to_crown: Neck pitch joint to the top of the head.
        shoulder_half_width: Sagittal plane to shoulder.
        upper_arm: Shoulder to elbow.
        elbow_to_wrist_yaw: Elbow to the frame of the wrist's yaw joint, halfway down the forearm.
        forearm: Elbow to wrist.
        hand: Wrist to finger tips.
        palm: Wrist to the centre of the palm.
        foot_length: Along x.
        foot_width: Along y.
        foot_ahead: Ankle to the middle of the sole, along x.
        foot_outwards: Ankle to the middle of the sole, away from the sagittal plane.
        girth: Thickness of trunk and limbs relative to the default figure.
    """

    sole_to_ankle: float = 0.085
    shank: float = 0.33
    thigh: float = 0.33
    hip_half_width: float = 0.08
    hip_to_chest: float = 0.13
    chest_to_shoulder: float = 0.345
    chest_to_neck: float = 0.415
    neck: float = 0.045
    neck_to_crown: float = 0.175
    shoulder_half_width: float = 0.185
    upper_arm: float = 0.265
    elbow_to_wrist_yaw: float = 0.11
    forearm: float = 0.23
    hand: float = 0.165
    palm: float = 0.09
    foot_length: float = 0.235
    foot_width: float = 0.115
    foot_ahead: float = 0.025
    foot_outwards: float = 0.005
    girth: float = 1.0

    @property
    def hip_height(self) -> float:
        """Hip axis above the sole [m]."""
        return self.sole_to_ankle + self.shank + self.thigh

    @property
    def height(self) -> float:
        """Crown above the sole [m]."""
        return self.hip_height + self.hip_to_chest + self.chest_to_neck + self.neck + self.neck_to_crown


@dataclass(frozen=True)
class Masses:
    """Masses of the links [kg]; those of an arm and of a leg count twice."""

    base: float = 6.0
    chest_pitch: float = 1.0
    torso: float = 9.3
    neck_yaw: float = 0.3
    head: float = 1.8
    hip_yaw: float = 0.8
    hip_roll: float = 1.0
    thigh: float = 3.1
    shank: float = 1.9
    ankle_pitch: float = 0.3
    foot: float = 0.85
    shoulder_pitch: float = 0.45
    shoulder_roll: float = 0.4
    upper_arm: float = 0.6
    forearm: float = 0.4
    wrist_yaw: float = 0.3
    wrist_pitch: float = 0.05
    hand: float = 0.15

    @property
    def total(self) -> float:
        """Mass of the whole body [kg]."""
        middle = self.base + self.chest_pitch + self.torso + self.neck_yaw + self.head
        leg = self.hip_yaw + self.hip_roll + self.thigh + self.shank + self.ankle_pitch + self.foot
        arm = self.shoulder_pitch + self.shoulder_roll + self.upper_arm + self.forearm
        return middle + 2.0 * (leg + arm + self.wrist_yaw + self.wrist_pitch + self.hand)

    def times(self, factor: float) -> Masses:
        """All masses multiplied by a factor."""
        return Masses(**{name: round(factor * value, 3) for name, value in vars(self).items()})


@dataclass(frozen=True)
class Limits:
    """Limits of one joint of the right side or of the middle.

    Attributes:
        lower: Smallest angle [degrees].
        upper: Largest angle [degrees].
        velocity: Largest speed [rad/s].
        robot: Torque of the robot's motor [N m].
        animation: Torque of a strong person's joint [N m].
    """

    lower: float
    upper: float
    velocity: float
    robot: float
    animation: float


LIMITS: dict[str, Limits] = {
    "HIP_Y": Limits(-45, 45, 8.0, 60, 110),
    "HIP_R": Limits(-50, 30, 8.0, 100, 210),
    "HIP_P": Limits(-125, 45, 10.0, 120, 290),
    "KNEE_P": Limits(-1, 150, 10.0, 150, 300),
    "ANKLE_P": Limits(-70, 45, 10.0, 90, 230),
    "ANKLE_R": Limits(-30, 45, 8.0, 50, 110),
    "CHEST_P": Limits(-15, 60, 6.0, 110, 300),
    "CHEST_Y": Limits(-50, 50, 6.0, 60, 130),
    "NECK_Y": Limits(-80, 80, 6.0, 10, 20),
    "NECK_P": Limits(-35, 45, 6.0, 12, 40),
    "SHOULDER_P": Limits(-180, 60, 8.0, 45, 110),
    "SHOULDER_R": Limits(-110, 30, 8.0, 45, 110),
    "SHOULDER_Y": Limits(-95, 95, 8.0, 30, 70),
    "ELBOW_P": Limits(-138, 1, 8.0, 35, 90),
    "WRIST_Y": Limits(-100, 100, 8.0, 12, 25),
    "WRIST_P": Limits(-75, 75, 8.0, 12, 25),
    "WRIST_R": Limits(-75, 75, 8.0, 12, 25),
}
"""By joint, without the side. Signs are those of the right side."""

LEG = ("HIP_Y", "HIP_R", "HIP_P", "KNEE_P", "ANKLE_P", "ANKLE_R")
MIDDLE = ("CHEST_P", "CHEST_Y", "NECK_Y", "NECK_P")
ARM = ("SHOULDER_P", "SHOULDER_R", "SHOULDER_Y", "ELBOW_P", "WRIST_Y", "WRIST_P", "WRIST_R")


def joint_order() -> list[str]:
    """All actuated joints in HRP-4's order."""
    legs = [f"{side}_{joint}" for side in "RL" for joint in LEG]
    arms = [f"{side}_{joint}" for side in "RL" for joint in ARM]
    return [*legs, *MIDDLE, *arms]


def effort_set(kind: str, factor: float = 1.0) -> dict[str, float]:
    """One torque set, "robot" or "animation", for every joint in order, times a factor [N m]."""
    return {name: factor * getattr(LIMITS[bare(name)], kind) for name in joint_order()}


def bare(joint: str) -> str:
    """Joint name without its side."""
    return joint[2:] if joint[:2] in ("R_", "L_") else joint


def symmetric(right: dict[str, float], middle: dict[str, float]) -> dict[str, float]:
    """A left-right symmetric posture from the angles of the right side, in joint order [rad]."""
    angles = {}
    for name in joint_order():
        joint = bare(name)
        value = right.get(joint, 0.0) if name != joint else middle.get(joint, 0.0)
        if name.startswith("L_") and not joint.endswith("_P"):
            value = -value
        if value:
            angles[name] = value
    return angles


@dataclass(frozen=True)
class HumanoidFigures:
    """Parameters of one humanoid.

    Attributes:
        name: File stem of URDF and model file.
        description: One line.
        color: Default tint.
        proportions: Positions of the joints.
        masses: Masses of the links.
        motors: Torques of the robot's motors relative to LIMITS.
        postures: Joint angles by posture [rad].
    """

    name: str = "humanoid"
    description: str = "humanoid of HRP-4's build, 1.51 m, 39 kg, 30 joints, flat hands"
    color: tuple[float, float, float] = (0.16, 0.42, 0.72)
    proportions: Proportions = field(default_factory=Proportions)
    masses: Masses = field(default_factory=Masses)
    motors: float = 1.0
    postures: dict[str, dict[str, float]] = field(
        default_factory=lambda: {
            "half_sitting": symmetric(
                {
                    "HIP_P": -0.27,
                    "KNEE_P": 0.52,
                    "ANKLE_P": -0.25,
                    "SHOULDER_P": 0.06,
                    "SHOULDER_R": -0.14,
                    "ELBOW_P": -0.5,
                },
                {},
            ),
            "ready": symmetric(
                {
                    "HIP_P": -0.27,
                    "KNEE_P": 0.52,
                    "ANKLE_P": -0.25,
                    "SHOULDER_P": 0.05,
                    "SHOULDER_R": -0.13,
                    "SHOULDER_Y": -0.06,
                    "ELBOW_P": -1.37,
                    "WRIST_Y": -0.14,
                    "WRIST_P": -0.24,
                    "WRIST_R": 0.085,
                },
                {},
            ),
        }
    )
