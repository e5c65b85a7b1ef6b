"""A straight sword with a hilt for two hands."""

from __future__ import annotations

import numpy as np

from .loft import Section, ellipsoid, loft, ring
from .mesh import Mesh, merged, rounded_box
from .robot import JointModel, Link, Robot, SurfaceModel, Visual
from .solids import Box, Capsule, Sphere, Triple

AHEAD = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
"""Loft axis along +x; sections extend towards +y (ahead), -y (behind), +z (left), -z (right)."""
GRIP_RADIUS = 0.018
GUARD_HALF_WIDTH = 0.095
BLADE_HALF_WIDTH = 0.021
BLADE_HALF_THICKNESS = 0.0045
POMMEL_RADIUS = 0.026


def sword(
    hilt: float = 0.30,
    blade: float = 0.74,
    between_hands: float = 0.17,
    mass: float = 1.5,
    blade_share: float = 0.5,
) -> Robot:
    """A rigid two-handed sword; x runs from the middle of the hilt to the tip, z along the blade's width.

    Args:
        hilt: Length from pommel to guard [m].
        blade: Length from guard to tip [m].
        between_hands: Distance of the middles of the two hands on the hilt [m].
        mass: Mass of the whole [kg].
        blade_share: Part of the mass that is the blade's.
    """
    guard = hilt / 2
    tip = guard + blade
    radius = BLADE_HALF_WIDTH + 0.002
    edge = Capsule((guard + 0.03, 0.0, 0.0), (tip - radius, 0.0, 0.0), radius)
    metal = Box(((guard + tip) / 2, 0.0, 0.0), (blade, 2 * BLADE_HALF_THICKNESS, 2 * BLADE_HALF_WIDTH))
    return Robot(
        name="sword",
        description=f"two-handed sword, {hilt + blade:.2f} m, {mass:g} kg; x points to the tip",
        root="free_flyer",
        links=(
            Link("hilt", (1 - blade_share) * mass, solids=_hilt_solids(guard), visuals=_hilt_visuals(guard)),
            Link("blade", blade_share * mass, (edge,), (metal,), _blade_visuals(guard, tip)),
            Link("tip"),
        ),
        joints=(JointModel("blade_fixed", "hilt", "blade"), JointModel("tip_fixed", "blade", "tip", (tip, 0.0, 0.0))),
        materials={
            "tint": (0.45, 0.13, 0.12),
            "steel": (0.80, 0.82, 0.85),
            "fuller": (0.58, 0.61, 0.65),
            "guard": (0.30, 0.31, 0.34),
        },
        surfaces={
            "upper_grip": _handle((between_hands / 2, 0.0, 0.0)),
            "lower_grip": _handle((-between_hands / 2, 0.0, 0.0)),
        },
        notes={"surfaces": "handles for the hands: cylinders along x, towards the tip"},
    )


def _handle(xyz: Triple) -> SurfaceModel:
    """A place for one hand."""
    return SurfaceModel("hilt", xyz, radius=GRIP_RADIUS, length=0.08, encloses=False)


def _hilt_solids(guard: float) -> tuple[Capsule | Box | Sphere, ...]:
    """Grip, cross-guard and pommel, as masses."""
    return (
        Capsule((-guard, 0.0, 0.0), (guard, 0.0, 0.0), GRIP_RADIUS),
        Box((guard, 0.0, 0.0), (0.025, 0.025, 2 * GUARD_HALF_WIDTH)),
        Sphere((-guard - 0.01, 0.0, 0.0), POMMEL_RADIUS),
    )


def _hilt_visuals(guard: float) -> tuple[Visual, ...]:
    """A grip that swells slightly in the middle, a cross-guard and a pommel."""
    sections = [ring(-guard, 0.014), ring(-0.4 * guard, GRIP_RADIUS), ring(guard, 0.0155)]
    grip = loft(sections, start_cap=0.004, end_cap=0.004, frame=AHEAD)
    cross = rounded_box((guard, 0.0, 0.0), (0.022, 0.022, 2 * GUARD_HALF_WIDTH), 0.008)
    pommel = ellipsoid((-guard - 0.012, 0.0, 0.0), (0.022, POMMEL_RADIUS, POMMEL_RADIUS))
    return Visual("grip", grip, "tint"), Visual("guard", merged([cross, pommel]), "guard")


def _blade_visuals(guard: float, tip: float) -> tuple[Visual, ...]:
    """A blade of lens section with a fuller on either side."""
    w, t = BLADE_HALF_WIDTH, BLADE_HALF_THICKNESS
    along = [(guard, w, t), (tip - 0.16, 0.86 * w, 0.85 * t), (tip - 0.04, 0.55 * w, 0.7 * t)]
    sections = [_lens(at, width, thickness) for at, width, thickness in along]
    blade = loft(sections, start_cap=0.002, end_cap=0.04, frame=AHEAD, rings=16)
    return Visual("blade", blade, "steel"), Visual("fuller", _fuller(guard + 0.01, tip - 0.28), "fuller")


def _lens(at: float, half_width: float, half_thickness: float) -> Section:
    """A flat, edged cross-section of the blade."""
    return ring(at, half_thickness, side=half_width, power=1.5)


def _fuller(start: float, end: float) -> Mesh:
    """A darker stripe, just proud of both faces."""
    size = (end - start, 2 * BLADE_HALF_THICKNESS + 0.0006, 0.011)
    return rounded_box(((start + end) / 2, 0.0, 0.0), size, 0.002)
