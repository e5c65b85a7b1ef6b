"""Visible shells of pelvis, waist, chest, neck and head, each in its link's frame."""

from __future__ import annotations

from math import pi

from .humanoid_figures import Proportions
from .loft import ASIDE, dome, dome_rest, loft, patch, ring
from .mesh import merged
from .robot import Visual


def pelvis(p: Proportions) -> tuple[Visual, ...]:
    """A brief-like shell, wide at the hips' height and narrow between the legs."""
    g, top = p.girth, p.hip_to_chest
    sections = [
        ring(-0.048, 0.038 * g, 0.062 * g, 0.036 * g, power=2.4),
        ring(-0.015, 0.058 * g, 0.083 * g, 0.066 * g, power=2.5),
        ring(0.03, 0.074 * g, 0.090 * g, 0.118 * g, power=2.6),
        ring(0.055, 0.078 * g, 0.086 * g, 0.127 * g, power=2.5),
        ring(top - 0.056, 0.075 * g, 0.077 * g, 0.117 * g, power=2.4),
    ]
    belt = [
        ring(top - 0.060, 0.078 * g, 0.080 * g, 0.120 * g, power=2.4),
        ring(top - 0.040, 0.074 * g, 0.076 * g, 0.115 * g, power=2.4),
    ]
    return (
        Visual("pelvis", loft(sections, start_cap=0.022, end_cap=0.008, rings=13, segments=28), "shell"),
        Visual("belt", loft(belt, start_cap=0.006, end_cap=0.008, rings=4, segments=32), "tint"),
    )


def waist(p: Proportions) -> tuple[Visual, ...]:
    """Ribbed bellows around the waist joints."""
    ribs, depth = 5, 0.16 / 11
    sections = []
    for k in range(2 * ribs + 1):
        width = p.girth * (1.0 if k % 2 else 0.93)
        sections.append(ring((k - ribs) * depth, 0.072 * width, 0.068 * width, 0.092 * width, power=2.3))
    return (Visual("waist", loft(sections, start_cap=0.01, end_cap=0.01, rings=31), "dark"),)


def torso(p: Proportions) -> tuple[Visual, ...]:
    """Chest shell with a breast plate, and the flat yoke of the shoulders."""
    g, axis, half = p.girth, p.chest_to_shoulder, p.shoulder_half_width
    sections = [
        ring(0.055, 0.074 * g, 0.070 * g, 0.098 * g, power=2.4),
        ring(0.11, 0.088 * g, 0.080 * g, 0.112 * g, power=2.5),
        ring(axis - 0.14, 0.107 * g, 0.093 * g, 0.130 * g, power=2.6),
        ring(axis - 0.075, 0.110 * g, 0.098 * g, 0.134 * g, power=2.6),
        ring(axis - 0.02, 0.092 * g, 0.092 * g, 0.130 * g, power=2.6),
        ring(axis + 0.02, 0.062 * g, 0.072 * g, 0.118 * g, power=2.5),
    ]
    yoke = [
        ring(axis - 0.01, 0.050 * g, 0.056 * g, half - 0.025, power=3.2),
        ring(axis + 0.038, 0.052 * g, 0.056 * g, half - 0.022, power=3.2),
    ]
    plate = patch(
        sections,
        angle=0.0,
        half_angle=0.98,
        low=axis - 0.165,
        high=axis + 0.002,
        thickness=0.0055,
        power=3.4,
        segments=48,
    )
    light = patch(
        sections,
        angle=0.0,
        half_angle=0.12,
        low=axis - 0.062,
        high=axis - 0.034,
        thickness=0.007,
        power=2.0,
        rings=6,
        segments=24,
    )
    spine = patch(sections, angle=pi, half_angle=0.36, low=0.09, high=axis - 0.01, thickness=0.005, power=3.0)
    return (
        Visual("torso", loft(sections, start_cap=0.016, end_cap=0.03, rings=16, segments=32), "tint"),
        Visual("yoke", loft(yoke, start_cap=0.01, end_cap=0.012, rings=4, segments=36), "tint"),
        Visual("breast_plate", plate, "shell"),
        Visual("chest_light", light, "visor"),
        Visual("spine", spine, "dark"),
    )


def neck(p: Proportions) -> tuple[Visual, ...]:
    """Slim column with a collar."""
    column = loft(
        [ring(-0.02, 0.036), ring(p.neck, 0.033)],
        start_cap=0.006,
        end_cap=0.02,
        rings=3,
        cap_rings=3,
        segments=20,
    )
    collar = loft(
        [ring(-0.022, 0.048, power=2.2), ring(-0.008, 0.043, power=2.2)],
        start_cap=0.01,
        end_cap=0.006,
        rings=2,
        cap_rings=3,
    )
    return (Visual("neck", merged([column, collar]), "dark"),)


def head(p: Proportions) -> tuple[Visual, ...]:
    """Helmet with a wide visor, ears and a nape in the character's colour."""
    crown = p.neck_to_crown
    widest = ring(crown - 0.094, 0.099, 0.088, 0.076, power=2.15)
    sections = [
        ring(crown - 0.194, 0.050, 0.032, 0.036, power=2.15),
        ring(crown - 0.168, 0.078, 0.052, 0.058, power=2.15),
        ring(crown - 0.130, 0.095, 0.077, 0.072, power=2.15),
        widest,
        *dome(widest, 0.094),
    ]
    cap = 0.094 * dome_rest()
    visor = patch(
        sections,
        angle=0.0,
        half_angle=1.28,
        low=crown - 0.15,
        high=crown - 0.064,
        thickness=0.004,
        power=3.2,
        rings=11,
        segments=48,
    )
    nape = patch(sections, angle=pi, half_angle=0.55, low=crown - 0.165, high=crown - 0.05, thickness=0.0035, power=2.6)
    ears = [
        loft(
            [ring(side - 0.007, 0.021), ring(side + 0.007, 0.021)],
            start_cap=0.003,
            end_cap=0.003,
            rings=2,
            cap_rings=3,
            segments=20,
            frame=ASIDE,
        ).moved((-0.004, 0.0, crown - 0.108))
        for side in (-0.075, 0.075)
    ]
    return (
        Visual(
            "helmet",
            loft(sections, start_cap=0.014, end_cap=cap, rings=24, cap_rings=3, segments=32),
            "shell",
        ),
        Visual("visor", visor, "visor"),
        Visual("ears", merged(ears), "tint"),
        Visual("nape", nape, "tint"),
    )


def eye_height(p: Proportions) -> float:
    """Middle of the visor above the neck's pitch joint [m]."""
    return p.neck_to_crown - 0.105
