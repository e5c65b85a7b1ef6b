"""A handwheel with a spinning grip on a pedestal: two parallel joints without a motor."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np

from .loft import ellipsoid, loft, ring
from .mesh import merged, rounded_box
from .robot import JointModel, Link, Robot, SurfaceModel, Visual
from .rods import hoop, rod
from .solids import Box, Capsule, Sphere

TURNS = 20.0  # either way [rad]; a threaded stem has many
RIM = 0.028  # thickness of the rim [m]
GRIP_RADIUS = 0.018
GRIP_LENGTH = 0.12
GRIP_MASS = 0.25
GRIP_GAP = 0.025  # rim to grip, the length of its pin [m]
BACKWARDS = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
"""Loft axis along -x."""


def valve(height: float = 1.10, radius: float = 0.14, mass: float = 4.0) -> Robot:
    """A valve whose stem points to negative x; its base is on the floor below the wheel.

    A positive valve angle turns the wheel clockwise as seen from the front; at angle 0 the grip is at the bottom. A
    counterweight balances the wheel at any angle.

    Args:
        height: Of the stem above the floor [m].
        radius: Stem to grip [m].
        mass: Of the wheel [kg].
    """
    start = -RIM / 2 - GRIP_GAP
    middle = start - GRIP_LENGTH / 2
    grip = Capsule((start - GRIP_RADIUS, 0.0, 0.0), (start - GRIP_LENGTH + GRIP_RADIUS, 0.0, 0.0), GRIP_RADIUS)
    return Robot(
        name="valve",
        description=f"handwheel of radius {radius:g} m with a spinning grip, {height:.2f} m above the floor",
        root="fixed",
        links=(_pedestal(height, radius), _wheel(radius, mass), _grip(grip, start)),
        joints=(
            JointModel("stem", "pedestal", "wheel", (-0.20, 0.0, height), "x", -TURNS, TURNS, velocity=10.0),
            JointModel("spin", "wheel", "sleeve", (0.0, 0.0, -radius), "x", -TURNS, TURNS, velocity=20.0),
        ),
        materials={
            "tint": (0.78, 0.16, 0.13),
            "iron": (0.25, 0.36, 0.42),
            "steel": (0.70, 0.72, 0.75),
            "dark": (0.13, 0.14, 0.16),
        },
        surfaces={"grip": SurfaceModel("sleeve", (middle, 0.0, 0.0), radius=0.02, length=0.08, encloses=False)},
        passive_joints={"stem": {"damping": 3.0}, "spin": {"damping": 0.002}},
        notes={"passive_joints": "[N m s/rad]"},
    )


def _pedestal(height: float, radius: float) -> Link:
    """A flanged column with the valve's body on it."""
    foot = Box((0.0, 0.0, 0.015), (0.34, 0.34, 0.03))
    column = Capsule((0.0, 0.0, 0.06), (0.0, 0.0, height), 0.06)
    body = Capsule((-0.07, 0.0, height), (0.07, 0.0, height), 0.09)
    profile = [ring(0.03, 0.115), ring(0.06, 0.075), ring(height - 0.2, 0.058), ring(height - 0.08, 0.062)]
    bonnet = [
        rod((-0.125, 0.0, height), (-0.105, 0.0, height), 0.085),
        rod((-0.105, 0, height), (0.1, 0, height), 0.075),
    ]
    bolts = [
        rod((-0.133, 0.065 * cos(a), height + 0.065 * sin(a)), (-0.12, 0.065 * cos(a), height + 0.065 * sin(a)), 0.009)
        for a in (k * pi / 3 for k in range(6))
    ]
    visuals = (
        Visual("foot", rounded_box(foot.center, foot.size, 0.008), "iron"),
        Visual("column", loft(profile, start_cap=0.0, end_cap=0.02, rings=20, segments=28), "iron"),
        Visual("bonnet", merged(bonnet), "iron"),
        Visual("bolts", merged(bolts), "steel"),
        Visual("stem", rod((-0.12, 0.0, height), (-0.19, 0.0, height), 0.018), "steel"),
    )
    return Link("pedestal", collisions=(foot, column, body), visuals=visuals)


def _wheel(radius: float, mass: float) -> Link:
    """Rim, hub, three spokes, the grip's pin, and a counterweight that outweighs grip and pin."""
    rim = hoop((0.0, 0.0, 0.0), radius, RIM)
    spokes = []
    for angle in (pi / 2, pi / 2 + 2 * pi / 3, pi / 2 - 2 * pi / 3):
        spokes.append(rod((0.02, 0.0, 0.0), (0.0, radius * cos(angle), -radius * sin(angle)), 0.010))
    hub = rod((-0.03, 0.0, 0.0), (0.035, 0.0, 0.0), 0.032, rim=0.008)
    weight = ellipsoid((0.0, 0.0, radius), (0.021, 0.045, 0.024), power=2.5)
    pin = rod((0.0, 0.0, -radius), (-RIM / 2 - GRIP_GAP, 0.0, -radius), 0.010)
    around = [(radius * cos(k * pi / 4), radius * sin(k * pi / 4)) for k in range(8)]
    segments = tuple(Capsule((0.0, *around[k]), (0.0, *around[(k + 1) % 8]), RIM / 2) for k in range(8))
    # masses are proportional to volumes: a ball opposite the grip with the same first moment of mass
    ring_volume = sum(s.volume for s in segments)
    share = GRIP_MASS / (mass - GRIP_MASS)
    counter = Sphere((0.0, 0.0, radius), (ring_volume * share * 3.0 / (4.0 * pi)) ** (1.0 / 3.0))
    visuals = (
        Visual("rim", merged([rim, weight]), "tint"),
        Visual("spokes", merged([*spokes, hub]), "tint"),
        Visual("pin", pin, "steel"),
    )
    return Link("wheel", mass, segments, (*segments, counter), visuals)


def _grip(capsule: Capsule, start: float) -> Link:
    """The spinning grip around its pin."""
    body = [
        ring(0.006, 0.8 * GRIP_RADIUS),
        ring(0.3 * GRIP_LENGTH, GRIP_RADIUS),
        ring(0.75 * GRIP_LENGTH, GRIP_RADIUS),
        ring(GRIP_LENGTH - 0.008, 0.85 * GRIP_RADIUS),
    ]
    mesh = loft(body, start_cap=0.006, end_cap=0.008, frame=BACKWARDS, rings=14).moved((start, 0.0, 0.0))
    return Link("sleeve", GRIP_MASS, (capsule,), visuals=(Visual("grip", mesh, "dark"),))
