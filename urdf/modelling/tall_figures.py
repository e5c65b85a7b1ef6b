"""Parameters of the second humanoid: long legs and arms, 1.76 m, 70 kg."""

from __future__ import annotations

from .humanoid_figures import HumanoidFigures, Masses, Proportions

MASS = 70.0  # [kg]


def tall() -> HumanoidFigures:
    """A humanoid whose legs are 29 % longer than HRP-4's and whose trunk is 9 % longer."""
    return HumanoidFigures(
        name="tall_humanoid",
        description="humanoid of a grown man's build, 1.76 m, 70 kg, 30 joints, flat hands",
        color=(0.80, 0.33, 0.12),
        proportions=Proportions(
            sole_to_ankle=0.09,
            shank=0.42,
            thigh=0.43,
            hip_half_width=0.095,
            hip_to_chest=0.14,
            chest_to_shoulder=0.375,
            chest_to_neck=0.447,
            neck=0.05,
            neck_to_crown=0.18,
            shoulder_half_width=0.205,
            upper_arm=0.315,
            elbow_to_wrist_yaw=0.13,
            forearm=0.27,
            hand=0.18,
            palm=0.098,
            foot_length=0.265,
            foot_width=0.12,
            foot_ahead=0.028,
            foot_outwards=0.006,
            girth=1.12,
        ),
        masses=Masses().times(MASS / Masses().total),
        motors=2.2,
    )
