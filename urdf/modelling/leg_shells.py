"""Visible shells of the right leg, each in its link's frame."""

from __future__ import annotations

from .humanoid_figures import Proportions
from .loft import ASIDE, ellipsoid, loft, patch, ring
from .mesh import merged
from .robot import Visual


def hip(p: Proportions) -> tuple[Visual, ...]:
    """Ball of the hip with a cover on its outer side."""
    g = p.girth
    ball = ellipsoid((0.0, 0.0, 0.0), (0.061 * g, 0.056 * g, 0.061 * g))
    cover = loft(
        [ring(0.04 * g, 0.036 * g), ring(0.058 * g, 0.034 * g)],
        start_cap=0.0,
        end_cap=0.005,
        rings=3,
        frame=ASIDE,
    )
    return Visual("r_hip", ball, "dark"), Visual("r_hip_cover", cover, "tint")


def thigh(p: Proportions) -> tuple[Visual, ...]:
    """Thigh shell with a panel in front, and the knee's ball."""
    g, n = p.girth, p.thigh
    sections = [
        ring(-0.925 * n, 0.047 * g, 0.043 * g, 0.046 * g, power=2.2),
        ring(-0.80 * n, 0.054 * g, 0.049 * g, 0.050 * g, power=2.2),
        ring(-0.52 * n, 0.064 * g, 0.058 * g, 0.058 * g, power=2.2),
        ring(-0.25 * n, 0.069 * g, 0.065 * g, 0.063 * g, power=2.2),
        ring(-0.11 * n, 0.066 * g, 0.064 * g, 0.062 * g, power=2.2),
    ]
    panel = patch(sections, angle=-0.55, half_angle=0.75, low=-0.87 * n, high=-0.17 * n, thickness=0.0035, power=2.8)
    ball = loft([ring(-0.03, 0.043 * g), ring(0.03, 0.043 * g)], start_cap=0.012, end_cap=0.012, rings=3, frame=ASIDE)
    return (
        Visual("r_thigh", loft(sections, start_cap=0.016, end_cap=0.034, rings=14, cap_rings=4), "shell"),
        Visual("r_thigh_panel", panel, "tint"),
        Visual("r_knee", ball.moved((0.0, 0.0, -n)), "dark"),
    )


def shank(p: Proportions) -> tuple[Visual, ...]:
    """Shank with a calf, a shin guard and a knee cap."""
    g, n = p.girth, p.shank
    sections = [
        ring(-0.88 * n, 0.034 * g, 0.036 * g, 0.034 * g, power=2.2),
        ring(-0.66 * n, 0.040 * g, 0.046 * g, 0.040 * g, power=2.2),
        ring(-0.38 * n, 0.047 * g, 0.062 * g, 0.049 * g, power=2.2),
        ring(-0.20 * n, 0.050 * g, 0.060 * g, 0.050 * g, power=2.2),
        ring(-0.09 * n, 0.050 * g, 0.046 * g, 0.048 * g, power=2.2),
    ]
    guard = patch(sections, angle=0.0, half_angle=0.95, low=-0.84 * n, high=-0.14 * n, thickness=0.005, power=2.8)
    cap = ellipsoid((0.026 * g, 0.0, -0.004), (0.028 * g, 0.036 * g, 0.043), power=2.3, segments=18, rings=9)
    return (
        Visual("r_shank", loft(sections, start_cap=0.012, end_cap=0.014, rings=14, cap_rings=4), "shell"),
        Visual("r_shin", guard, "tint"),
        Visual("r_knee_cap", cap, "shell"),
    )


def ankle(p: Proportions) -> tuple[Visual, ...]:
    """Ball and column of the ankle."""
    ball = ellipsoid((0.0, 0.0, 0.0), (0.031, 0.031, 0.031), rings=9, segments=16)
    column = loft(
        [ring(0.0, 0.027), ring(0.14 * p.shank, 0.029)],
        start_cap=0.0,
        end_cap=0.005,
        rings=3,
        cap_rings=2,
        segments=16,
    )
    return (Visual("r_ankle", merged([ball, column]), "dark"),)


def foot(p: Proportions) -> tuple[Visual, ...]:
    """Boot on a dark sole; the sole's underside is the sole plane."""
    half, side, drop = p.foot_length / 2, p.foot_width / 2, p.sole_to_ankle
    x = p.foot_ahead
    sole = [ring(0.006, half - 0.003, side=side - 0.003, power=3.2), ring(0.013, half, side=side, power=3.2)]
    upper = [
        ring(0.016, half - 0.005, half - 0.005, side - 0.004, power=3.2, x=x),
        ring(0.032, half - 0.012, half - 0.008, side - 0.006, power=3.0, x=x),
        ring(0.050, 0.092, 0.080, side - 0.011, power=2.6, x=0.6 * x),
        ring(0.068, 0.062, 0.062, side - 0.017, power=2.3, x=0.2 * x),
        ring(0.086, 0.047, 0.051, side - 0.020, power=2.2),
        ring(drop + 0.016, 0.042, 0.046, side - 0.021, power=2.2),
    ]
    shoe = loft(upper, start_cap=0.002, end_cap=0.004, rings=14, cap_rings=2, segments=28)
    down = (0.0, -p.foot_outwards, -drop)
    plate = loft(sole, start_cap=0.006, end_cap=0.006, rings=3, cap_rings=5, segments=32)
    return (
        Visual("r_sole_plate", plate.moved((x, -p.foot_outwards, -drop)), "dark"),
        Visual("r_foot", shoe.moved(down), "shell"),
    )
