"""Visible shells of the right arm, each in its link's frame."""

from __future__ import annotations

from .humanoid_figures import Proportions
from .loft import ASIDE, Section, ellipsoid, loft, ring
from .mesh import Mesh, merged
from .robot import Visual


def shoulder_joint(p: Proportions) -> tuple[Visual, ...]:
    """Drum between chest and shoulder cap."""
    g = p.girth
    drum = loft([ring(-0.05, 0.044 * g), ring(0.0, 0.044 * g)], start_cap=0.004, end_cap=0.004, rings=3, frame=ASIDE)
    return (Visual("r_shoulder_joint", drum, "dark"),)


def shoulder(p: Proportions) -> tuple[Visual, ...]:
    """Shoulder cap."""
    g = p.girth
    sections = [
        ring(-0.056, 0.045 * g, 0.045 * g, 0.044 * g, power=2.15),
        ring(-0.025, 0.051 * g, 0.051 * g, 0.050 * g, power=2.15),
        ring(-0.002, 0.052 * g, 0.052 * g, 0.051 * g, power=2.1),
    ]
    return (Visual("r_shoulder", loft(sections, start_cap=0.005, end_cap=0.050, rings=6, cap_rings=8), "tint"),)


def upper_arm(p: Proportions) -> tuple[Visual, ...]:
    """Upper arm and the elbow's drum."""
    g, n = p.girth, p.upper_arm
    sections = [
        ring(-0.87 * n, 0.035 * g, 0.034 * g, 0.034 * g, power=2.2),
        ring(-0.70 * n, 0.040 * g, 0.038 * g, 0.037 * g, power=2.2),
        ring(-0.45 * n, 0.044 * g, 0.042 * g, 0.041 * g, power=2.2),
        ring(-0.22 * n, 0.043 * g, 0.043 * g, 0.042 * g, power=2.2),
    ]
    drum = loft(
        [ring(-0.024, 0.034 * g), ring(0.024, 0.034 * g)],
        start_cap=0.01,
        end_cap=0.01,
        rings=3,
        segments=20,
        frame=ASIDE,
    )
    return (
        Visual(
            "r_upper_arm",
            loft(sections, start_cap=0.012, end_cap=0.02, rings=10, cap_rings=4, segments=20),
            "shell",
        ),
        Visual("r_elbow", drum.moved((0.0, 0.0, -n)), "dark"),
    )


def forearm(p: Proportions) -> tuple[Visual, ...]:
    """Upper half of the forearm."""
    g, n = p.girth, p.elbow_to_wrist_yaw
    sections = [
        ring(-n + 0.004, 0.037 * g, 0.036 * g, 0.036 * g, power=2.2),
        ring(-0.55 * n, 0.042 * g, 0.041 * g, 0.040 * g, power=2.2),
        ring(-0.24 * n, 0.040 * g, 0.038 * g, 0.038 * g, power=2.2),
    ]
    return (
        Visual(
            "r_forearm",
            loft(sections, start_cap=0.003, end_cap=0.014, rings=8, cap_rings=4, segments=20),
            "tint",
        ),
    )


def wrist(p: Proportions) -> tuple[Visual, ...]:
    """Lower half of the forearm, turning with the wrist."""
    g, n = p.girth, p.forearm - p.elbow_to_wrist_yaw
    sections = [
        ring(-0.80 * n, 0.028 * g, 0.028 * g, 0.026 * g, power=2.2),
        ring(-0.45 * n, 0.032 * g, 0.032 * g, 0.030 * g, power=2.2),
        ring(-0.004, 0.036 * g, 0.035 * g, 0.035 * g, power=2.2),
    ]
    return (
        Visual(
            "r_cuff",
            loft(sections, start_cap=0.006, end_cap=0.003, rings=8, cap_rings=4, segments=20),
            "shell",
        ),
    )


def wrist_joint(p: Proportions) -> tuple[Visual, ...]:
    """Ball of the wrist."""
    n = p.forearm - p.elbow_to_wrist_yaw
    ball = ellipsoid((0.0, 0.0, 0.0), (0.023, 0.019, 0.023), rings=9, segments=16)
    column = loft(
        [ring(0.0, 0.02, side=0.017), ring(0.22 * n, 0.022, side=0.019)],
        start_cap=0.0,
        end_cap=0.003,
        rings=3,
        segments=16,
    )
    return (Visual("r_wrist_joint", merged([ball, column]), "dark"),)


def hand(p: Proportions, depth: float) -> tuple[Visual, ...]:
    """Flat hand, fingers together, the palm in the plane y = depth / 2.

    Args:
        p: Proportions.
        depth: Thickness of the hand across the palm [m].
    """
    half, tip = depth / 2, p.hand
    knuckle = -0.56 * tip
    palm = loft(
        [
            ring(knuckle + 0.004, 0.039, side=half, power=3.6),
            ring(-0.36 * tip, 0.0385, side=half, power=3.6),
            ring(-0.17 * tip, 0.027, side=half, power=3.0),
        ],
        start_cap=0.004,
        end_cap=0.010,
        rings=9,
    )
    fingers = [
        _finger(x, knuckle, -reach * tip, half)
        for x, reach in ((0.0292, 0.945), (0.0097, 1.0), (-0.0097, 0.975), (-0.0292, 0.89))
    ]
    return (Visual("r_hand", merged([palm, _thumb(tip, half), *fingers]), "shell"),)


def _finger(x: float, start: float, tip: float, half: float) -> Mesh:
    """One straight finger whose inner side lies in the plane of the palm."""
    sections = [
        Section(tip + 0.009, 0.0076, 0.0076, half, half - 0.0070, power=2.6, x=x),
        Section(0.5 * (start + tip), 0.0094, 0.0094, half, half - 0.0050, power=2.8, x=x),
        Section(start + 0.012, 0.0098, 0.0098, half, half - 0.0030, power=2.8, x=x),
    ]
    return loft(sections, start_cap=0.009, end_cap=0.006, rings=4, cap_rings=4, segments=12)


def _thumb(tip: float, half: float) -> Mesh:
    """Thumb along the front edge of the palm."""
    sections = [
        Section(-0.60 * tip, 0.0085, 0.0085, half - 0.001, half - 0.007, power=2.4, x=0.047),
        Section(-0.46 * tip, 0.0105, 0.0105, half - 0.001, half - 0.004, power=2.4, x=0.045),
        Section(-0.26 * tip, 0.0125, 0.0125, half - 0.001, half - 0.002, power=2.4, x=0.030),
    ]
    return loft(sections, start_cap=0.009, end_cap=0.010, rings=6, cap_rings=4, segments=12)
